//! The screen of a host: usage, causes, and the processes that use it.

use plimsoll_assess::watched::{State, Used};
use plimsoll_report::figure;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Paragraph, Wrap};

use super::lines::{bytes, causes, clock, kinds, lost, percent};
use crate::output::full_screen::cut;
use crate::progress::spark;

/// The last line.
pub(super) enum Foot {
    /// Of a host that goes on.
    Live {
        /// The share of a CPU that this program uses.
        own_cost: f64,
    },
    /// Of a recording.
    Replay {
        /// Which moment is shown.
        place: usize,
        /// The last one.
        last: usize,
        /// Whether it goes on by itself.
        playing: bool,
    },
}

/// Width before the bars, in columns.
const LABEL: usize = 46;
/// CPUs that are left over from this many on have a row.
const LEAST_LEFT: f64 = 0.01;

/// `states` ends with the one that is shown.
pub(super) fn draw(frame: &mut Frame<'_>, name: &str, states: &[State], foot: &Foot, colour: bool) {
    let area = frame.area();
    let width = usize::from(area.width);
    let [bold, quiet] = [Modifier::BOLD, Modifier::DIM].map(|modifier| Style::new().add_modifier(modifier));
    let Some(state) = states.last() else {
        frame.render_widget(Paragraph::new(format!("{name}: looking for the first time ...")), area);
        return;
    };
    let usage = usage(states, state, width, colour);
    let users = users(state, usize::from(area.height / 5).max(1), width);
    let rows = Layout::vertical([
        Constraint::Length(1),
        Constraint::Length(rows(usage.len()).min(area.height / 2)),
        Constraint::Min(4),
        Constraint::Length(rows(users.len().max(1)) + 1),
        Constraint::Length(1),
    ])
    .split(area);
    let right = match foot {
        Foot::Live { own_cost } => format!("{} UTC  itself {:.1} % of a CPU", clock(state), 100.0 * own_cost),
        Foot::Replay { .. } => format!("{} UTC", clock(state)),
    };
    let title = cut(name, width.saturating_sub(right.chars().count() + 2));
    let gap = width.saturating_sub(title.chars().count() + right.chars().count());
    let head = [Span::styled(title, bold), Span::raw(" ".repeat(gap)), Span::styled(right, quiet)];
    frame.render_widget(Paragraph::new(Line::from(head.to_vec())), rows[0]);
    frame.render_widget(Paragraph::new(usage), rows[1]);
    section(frame, "What holds it down", cause_lines(state), true, rows[2]);
    section(frame, &users_title(state), users, false, rows[3]);
    frame.render_widget(Paragraph::new(Line::styled(foot_line(foot, width), quiet)), rows[4]);
}

fn rows(number: usize) -> u16 {
    u16::try_from(number).unwrap_or(u16::MAX)
}

fn usage(states: &[State], state: &State, width: usize, colour: bool) -> Vec<Line<'static>> {
    let style = if colour { Style::new().fg(Color::Cyan) } else { Style::new() };
    let wrong = if colour { Style::new().fg(Color::Red) } else { Style::new().add_modifier(Modifier::BOLD) };
    let label_width = LABEL.min(width.saturating_sub(10));
    let row = |label: String, value: &dyn Fn(&State) -> Option<f64>| {
        let bars = spark(states.iter().map(|it| value(it).unwrap_or(f64::NAN)), width - label_width);
        Line::from(vec![
            Span::raw(format!("{:<label_width$}", cut(&label, label_width - 1))),
            Span::styled(bars, style),
        ])
    };
    let mut lines = Vec::new();
    if let Some(busy) = state.cpu_busy {
        let label = format!("CPU {:>5} of {}  {}", percent(busy), state.cpus, kinds(state));
        lines.push(row(label, &|it| it.cpu_busy));
    }
    if let Some(group) = &state.group {
        let memory = group.memory.map_or_else(String::new, |memory| format!(", {}", bytes(memory)));
        let moved = group
            .read
            .zip(group.written)
            .map(|(read, written)| format!(", disk {}/s", bytes(read + written)));
        let memory = memory + &moved.unwrap_or_default();
        let label =
            format!("group {} CPUs, throttled {}{memory}", figure(group.cpus), percent(group.throttled));
        lines.push(row(label, &|it| it.group.as_ref().map(|group| group.cpus)));
    }
    if let Some(followed) = &state.followed {
        let (cpus, memory) = (figure(followed.cpus), bytes(followed.memory));
        let label = format!("process {cpus} CPUs, {:.0} with children, {memory}", followed.processes);
        lines.push(row(label, &|it| it.followed.as_ref().map(|followed| followed.cpus)));
    }
    if let (Some(runnable), Some(blocked)) = (state.runnable, state.blocked) {
        lines.push(row(format!("tasks {runnable:.0} want a CPU, {blocked:.0} a disk"), &|it| it.runnable));
    }
    for what in ["cpu", "memory", "io"] {
        if let Some(share) = state.pressure.get(what) {
            let label = format!("waited for {what} {:>5} of the time", percent(*share));
            lines.push(row(label, &|it| it.pressure.get(what).copied()));
        }
    }
    if let Some((total, available)) = state.memory_total.zip(state.memory_available) {
        let swapped = state.swapped.filter(|pages| *pages > 0.0);
        let swapped = swapped.map_or_else(String::new, |pages| format!(", swap {}/s", figure(pages)));
        let label = format!("memory {} free of {}{swapped}", percent(available / total), bytes(total));
        lines.push(row(label, &|it| it.memory_available));
    }
    for disk in state.disks.iter().take(2) {
        let label = format!(
            "{} {:>5} busy, {}/s in, {}/s out",
            disk.name,
            percent(disk.busy),
            bytes(disk.written),
            bytes(disk.read)
        );
        let of = |it: &State| it.disks.iter().find(|other| other.name == disk.name).map(|other| other.busy);
        lines.push(row(label, &|it| Some(of(it).unwrap_or(0.0))));
    }
    for interface in state.interfaces.iter().take(2) {
        let label =
            format!("{} {}/s in, {}/s out", interface.name, bytes(interface.received), bytes(interface.sent));
        let of = |it: &State| {
            it.interfaces.iter().find(|other| other.name == interface.name).map(|o| o.received + o.sent)
        };
        lines.push(row(label, &|it| Some(of(it).unwrap_or(0.0))));
    }
    for (what, rate) in lost(state) {
        lines.push(Line::styled(cut(&format!("{what} {}/s", figure(rate)), width), wrong));
    }
    lines
}

fn users_title(state: &State) -> String {
    let used = |it: Used| {
        format!(": {} of {} in the last {:.0} s", figure(it.cpus), state.cpus, it.seconds.max(1.0))
    };
    format!("Who uses the CPUs{}", state.used.map_or_else(String::new, used))
}

/// Rows for the top processes, and one for the rest of the used CPU time.
fn users(state: &State, most: usize, width: usize) -> Vec<Line<'static>> {
    let shown = &state.processes[..most.min(state.processes.len())];
    let row = |pid: String, name: &str, cpus: f64| {
        Line::raw(cut(&format!("{pid:>7}  {name:<39} {cpus:>6.2} CPUs"), width))
    };
    let of_processes: f64 = shown.iter().map(|it| it.cpus).sum();
    // Ticks are counted for processes and CPUs apart, so that a few hundredths may be missing or too many.
    let left = state.used.map(|used| used.cpus - of_processes).filter(|left| *left >= LEAST_LEFT);
    let rest = left.map(|left| row(String::new(), "kernel, other and short-lived processes", left));
    shown.iter().map(|it| row(it.pid.to_string(), &it.name, it.cpus)).chain(rest).collect()
}

fn cause_lines(state: &State) -> Vec<Line<'static>> {
    let mut lines: Vec<Line<'_>> = causes(state).into_iter().map(Line::raw).collect();
    if lines.is_empty() {
        lines.push(Line::raw("no known cause: nothing moved that points to one"));
    }
    lines.push(Line::styled(
        match state.quiet_seconds {
            _ if state.causes_seconds_old >= 1.0 => {
                format!("last seen {:.0} s ago", state.causes_seconds_old)
            }
            0 => "compared with nothing: no quiet time was seen yet".to_owned(),
            seconds => format!("the last 10 seconds against the {seconds} quietest"),
        },
        Style::new().add_modifier(Modifier::DIM),
    ));
    lines
}

fn section(frame: &mut Frame<'_>, title: &str, lines: Vec<Line<'static>>, wrap: bool, area: Rect) {
    let title = Line::styled(format!("{title} "), Style::new().add_modifier(Modifier::BOLD));
    let paragraph = Paragraph::new(lines).block(Block::new().borders(Borders::TOP).title(title));
    frame.render_widget(if wrap { paragraph.wrap(Wrap { trim: false }) } else { paragraph }, area);
}

fn foot_line(foot: &Foot, width: usize) -> String {
    match foot {
        Foot::Live { .. } => "q ends it".to_owned(),
        Foot::Replay { place, last, playing } => {
            let keys = if *playing {
                "  space stops, ← → PgUp PgDn Home End, q"
            } else {
                "  space plays, ← → PgUp PgDn Home End, q"
            };
            let count = format!(" {}/{}", place + 1, last + 1);
            let room = width.saturating_sub(keys.chars().count() + count.chars().count()).max(10);
            let at = (room - 1) * place / (*last).max(1);
            let slider: String = (0..room).map(|column| if column == at { '●' } else { '─' }).collect();
            cut(&format!("{slider}{count}{keys}"), width)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use plimsoll_assess::watched::{Disk, ProcessUse};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    fn shown(width: u16, height: u16, foot: &Foot) -> String {
        let state = |busy: f64| State {
            at_unix_ms: 3_723_000,
            cpu: BTreeMap::from([("user", busy)]),
            cpu_busy: Some(busy),
            cpus: 2,
            pressure: BTreeMap::from([("io", 0.25)]),
            disks: vec![Disk { name: "sda".into(), busy, queue: 1.0, read: 0.0, written: 1e6 }],
            processes: vec![ProcessUse { pid: 7, name: "rustc".into(), cpus: 1.25 }],
            used: Some(Used { cpus: 1.5, seconds: 4.0 }),
            ..State::default()
        };
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, "this machine", &[state(0.1), state(0.8)], foot, true)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn each_size_shows_use_causes_and_users_whole() {
        for (width, height) in [(60, 16), (80, 24), (120, 40), (200, 60)] {
            let screen = shown(width, height, &Foot::Live { own_cost: 0.004 });
            for text in [
                "CPU  80 % of 2  user 80",
                "waited for io  25 %",
                "sda  80 % busy",
                "no known cause",
                "Who uses the CPUs: 1.50 of 2 in the last 4 s",
                "rustc                                     1.25 CPUs",
                "kernel, other and short-lived processes   0.25 CPUs",
                "itself 0.4 %",
            ] {
                assert!(screen.contains(text), "`{text}` at {width}×{height}:\n{screen}");
            }
            assert!(screen.contains("▁█") || screen.contains("▂█"), "{screen}");
        }
    }

    #[test]
    fn a_slider_shows_where_in_a_recording_it_is() {
        let at = |place| shown(80, 24, &Foot::Replay { place, last: 99, playing: false });
        assert!(at(0).contains("\"●─") && at(0).contains("1/100"), "{}", at(0));
        assert!(at(99).contains("─● 100/100"), "{}", at(99));
    }
}
