//! Drawing of the screen. Labels and figures have columns of their own, so that none is broken; the rest goes to bars and sentences,
//! which are cut off where it is not enough.

use std::time::Duration;

use plimsoll_model::observation::Arm;
use plimsoll_model::verdict::Outcome;
use plimsoll_report::tone::Tone;
use plimsoll_report::{figure, seconds};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Paragraph};

use super::{Choice, Skip};
use crate::output::full_screen::cut;
use crate::progress::spark;
use crate::progress::view::{CPU_KINDS, RECENT, View};

/// The columns from which on phases stand beside figures.
const TWO_COLUMNS: u16 = 100;
/// The keys, in full and where there is little room.
const KEYS: [&str; 2] = [
    "q end now   e end after this trial   s skip this phase   o open the report   ? help",
    "q end  e end after trial  s skip phase  o report  ? help",
];

struct Styles {
    colour: bool,
    title: Style,
    quiet: Style,
    treatment: Style,
    control: Style,
    wrong: Style,
}

impl Styles {
    fn new(colour: bool) -> Self {
        let of = |color| if colour { Style::new().fg(color) } else { Style::new() };
        Self {
            colour,
            title: Style::new().add_modifier(Modifier::BOLD),
            quiet: Style::new().add_modifier(Modifier::DIM),
            treatment: of(Color::Cyan),
            control: of(Color::Yellow),
            wrong: of(Color::Red),
        }
    }

    fn outcome(&self, outcome: Outcome) -> Style {
        let style = Style::new().add_modifier(Modifier::BOLD);
        if self.colour { style.fg(Color::Indexed(Tone::of(outcome).ansi_index())) } else { style }
    }
}

pub(super) fn draw(frame: &mut Frame<'_>, view: &View, choice: Choice, colour: bool) {
    let styles = Styles::new(colour);
    let area = frame.area();
    let judge = judge(view, &styles, usize::from(area.width));
    let judge_rows = u16::try_from(judge.len()).unwrap_or(u16::MAX).min(area.height / 4).max(1) + 1;
    let rows = Layout::vertical([
        Constraint::Length(2),
        Constraint::Min(7),
        Constraint::Length(judge_rows),
        Constraint::Length((area.height / 5).clamp(2, 8)),
        Constraint::Length(1),
    ])
    .split(area);
    frame.render_widget(Paragraph::new(header(view, &styles, usize::from(area.width))), rows[0]);
    body(frame, view, &styles, rows[1]);
    section(frame, "Verdict so far", judge, &styles, rows[2]);
    happened(frame, view, &styles, rows[3]);
    let keys = footer(view, choice, usize::from(area.width));
    frame.render_widget(Paragraph::new(Line::styled(keys, styles.quiet)), rows[4]);
    if choice.help {
        help(frame, area);
    }
}

/// The choice in effect, else the keys; no key is cut off.
fn footer(view: &View, choice: Choice, width: usize) -> String {
    let phase = view.phase.as_ref().map_or("the phase", |phase| phase.name.as_str());
    let asked = |begin: &str, end: &str| {
        let room = width.saturating_sub(begin.chars().count() + end.chars().count());
        format!("{begin}{}{end}", cut(phase, room))
    };
    let chosen = match choice {
        Choice { ending: true, .. } => {
            return cut("ending: the hosts are taken down; Ctrl-C again does not wait", width);
        }
        Choice { skip: Skip::Sure, .. } => return asked("skipping ", "; what it is doing comes to its end"),
        Choice { skip: Skip::Asked, .. } => {
            return asked("s again skips ", ": this trial will not be counted");
        }
        Choice { report: true, .. } if view.trials_done > 0 => {
            return cut("report after this trial (o: now, may disturb; Esc: no)", width);
        }
        Choice { report: true, .. } => "report after this trial (o: no)   ",
        Choice { after_trial: true, .. } => "ends after this trial (e takes it back)   ",
        _ => "",
    };
    let fits = |keys: &&&str| chosen.chars().count() + keys.chars().count() <= width;
    match KEYS.iter().find(fits) {
        Some(keys) => format!("{chosen}{keys}"),
        None => cut(chosen.trim_end(), width),
    }
}

fn header(view: &View, styles: &Styles, width: usize) -> Vec<Line<'static>> {
    let elapsed = seconds(view.since.elapsed().as_secs_f64());
    let left = match view.remaining() {
        Some((least, most)) if most > least + Duration::from_secs(1) => {
            format!("about {} left, at most {}", rounded(least), rounded(most))
        }
        Some((least, _)) => format!("about {} left", rounded(least)),
        None => "time left not known yet".to_owned(),
    };
    let right = format!("{elapsed}, {left}");
    let name = cut(
        &format!("{}  run {}", view.experiment, view.run),
        width.saturating_sub(right.chars().count() + 2),
    );
    let gap = width.saturating_sub(name.chars().count() + right.chars().count());
    vec![
        Line::from(vec![Span::styled(name, styles.title), Span::raw(" ".repeat(gap)), Span::raw(right)]),
        Line::styled(cut(&view.question, width), styles.quiet),
    ]
}

fn body(frame: &mut Frame<'_>, view: &View, styles: &Styles, area: Rect) {
    let (left, right) = if area.width >= TWO_COLUMNS {
        let columns = Layout::horizontal([Constraint::Percentage(38), Constraint::Percentage(62)])
            .spacing(2)
            .split(area);
        (columns[0], columns[1])
    } else {
        let rows =
            Layout::vertical([Constraint::Length((area.height / 3).max(3)), Constraint::Min(4)]).split(area);
        (rows[0], rows[1])
    };
    let title = match view.trial {
        (0, _) => "Before the first trial".to_owned(),
        (number, of) => format!("Trial {number} of at most {of}"),
    };
    let room = usize::from(left.height.saturating_sub(1));
    section(frame, &title, phases(view, styles, usize::from(left.width), room), styles, left);
    let mut lines = figures(view, styles, usize::from(right.width));
    lines.extend(cpus(view, styles, usize::from(right.width)));
    section(frame, "Rate, latency, CPU", lines, styles, right);
}

/// The phases of the trial around the one that is under way.
fn phases(view: &View, styles: &Styles, width: usize, room: usize) -> Vec<Line<'static>> {
    let (all, done) = (&view.forecast.all, view.forecast.done);
    let first = done.saturating_sub(room / 2).min(all.len().saturating_sub(room));
    let line = |(index, phase): (usize, &crate::progress::forecast::PlannedPhase)| {
        let expected = view.forecast.takes(phase);
        let (mark, time, style) = match index {
            _ if index < done => {
                ("✓", view.over.get(index).map_or(String::new(), |took| rounded(*took)), styles.quiet)
            }
            _ if index == done && view.phase.is_some() => {
                let elapsed = view.phase.as_ref().map_or(Duration::ZERO, |it| it.since.elapsed());
                let left = match expected {
                    Some(all) if all > elapsed => format!(" of ~{}", rounded(all)),
                    Some(all) => format!(", usually {}", rounded(all)),
                    None => String::new(),
                };
                ("▶", format!("{}{left}", rounded(elapsed)), styles.title)
            }
            _ => (" ", expected.map_or(String::new(), |all| format!("~{}", rounded(all))), Style::new()),
        };
        let name = match view.phase.as_ref().filter(|_| index == done) {
            Some(running) => running.title(),
            None => phase.name.clone(),
        };
        let room = width.saturating_sub(time.chars().count() + 4);
        Line::styled(format!("{mark} {:room$} {time}", cut(&name, room)), style)
    };
    all.iter().enumerate().skip(first).take(room.max(1)).map(line).collect()
}

fn figures(view: &View, styles: &Styles, width: usize) -> Vec<Line<'static>> {
    let bars = width.saturating_sub(34).max(4);
    let mut lines = Vec::new();
    for (arm, rig) in &view.rigs {
        let (name, style) = match arm {
            Arm::Treatment => ("treatment", styles.treatment),
            Arm::Control => ("control", styles.control),
        };
        let row = |name: &str, values: &std::collections::VecDeque<f64>, unit: &str| {
            let now = values.back().map_or("–".to_owned(), |value| figure(*value));
            let label = format!("{name:<10} {now:>9} {unit:<8} ");
            Line::from(vec![Span::raw(label), Span::styled(spark(values.iter().copied(), bars), style)])
        };
        lines.push(row(name, &rig.rate, "/s"));
        if !rig.latency.is_empty() {
            lines.push(row(&format!("last {} s", RECENT.as_secs()), &rig.latency, "ms p99"));
        }
        if rig.errors > 0 {
            lines.push(Line::styled(
                format!("           {:>9} errors", figure(rig.errors as f64)),
                styles.wrong,
            ));
        }
    }
    if lines.is_empty() {
        lines.push(Line::styled("nothing measured yet", styles.quiet));
    }
    lines
}

fn cpus(view: &View, styles: &Styles, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (host, cpu) in view.cpus.iter().filter(|(_, cpu)| !cpu.busy.is_empty()) {
        let mut kinds: Vec<(&str, f64)> = CPU_KINDS
            .into_iter()
            .zip(cpu.now)
            .filter(|(kind, share)| *kind != "idle" && *share >= 0.005)
            .collect();
        kinds.sort_by(|a, b| b.1.total_cmp(&a.1));
        let busy = cpu.busy.back().map_or(0.0, |busy| 100.0 * busy);
        let label = format!("{:<10} {busy:>8.0}% CPU      ", cut(host, 10));
        let bars = (width.saturating_sub(34) / 2).clamp(4, 30);
        let kinds: Vec<String> =
            kinds.iter().map(|(kind, share)| format!("{kind} {:.0}%", 100.0 * share)).collect();
        let kinds = cut(&kinds.join(" "), width.saturating_sub(label.chars().count() + bars + 1));
        let row = spark(cpu.busy.iter().copied().chain([1.0]), bars + 1);
        // The full bar at the end only says what a full bar is.
        let row: String = row.chars().take(row.chars().count() - 1).collect();
        lines.push(Line::from(vec![
            Span::raw(label),
            Span::raw(format!("{row:<bars$} ")),
            Span::styled(kinds, styles.quiet),
        ]));
    }
    lines
}

fn judge(view: &View, styles: &Styles, width: usize) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    if let Some(so_far) = &view.so_far {
        lines.push(Line::raw(cut(so_far, width)));
    }
    for verdict in &view.verdicts {
        let interval = verdict.interval.map_or_else(String::new, |interval| {
            format!(" [{}, {}]", figure(interval.lo()), figure(interval.hi()))
        });
        let estimate = verdict.estimate.map_or_else(String::new, |estimate| format!(" {}", figure(estimate)));
        let claim = format!("{} {}: ", verdict.title(), verdict.metric);
        let outcome = verdict.outcome.name().replace('_', " ");
        let rest = format!("{estimate}{interval}, n = {}", verdict.n);
        let whole = cut(&format!("{claim}{outcome}{rest}"), width);
        let at = |n: usize| whole.char_indices().nth(n).map_or(whole.len(), |(at, _)| at);
        let (start, end) = (claim.chars().count(), claim.chars().count() + outcome.chars().count());
        let style = styles.outcome(verdict.outcome);
        lines.push(Line::from(vec![
            Span::raw(whole[..at(start)].to_owned()),
            Span::styled(whole[at(start)..at(end)].to_owned(), style),
            Span::raw(whole[at(end)..].to_owned()),
        ]));
        lines.push(Line::styled(cut(&format!("  {}", verdict.reason), width), styles.quiet));
    }
    let (fewest, most) = view.limits;
    let wanted = fewest.saturating_sub(view.trials_done);
    let needs = match wanted {
        0 => format!("ends when all claims are decided, at the latest after {most} trials"),
        trials => {
            format!("at least {trials} more trial{} before it may end", if trials == 1 { "" } else { "s" })
        }
    };
    lines.push(Line::styled(cut(&needs, width), styles.quiet));
    lines
}

fn happened(frame: &mut Frame<'_>, view: &View, styles: &Styles, area: Rect) {
    let room = usize::from(area.height.saturating_sub(1));
    let width = usize::from(area.width);
    let skipped = view.lines.len().saturating_sub(room);
    let lines = view.lines.iter().skip(skipped).map(|line| {
        let text = format!("{:>9}  {}", rounded(line.at), line.text);
        Line::styled(cut(&text, width), if line.matters { styles.wrong } else { Style::new() })
    });
    section(frame, "What happened", lines.collect(), styles, area);
}

fn section(frame: &mut Frame<'_>, title: &str, lines: Vec<Line<'static>>, styles: &Styles, area: Rect) {
    let title = Line::styled(format!("{title} "), styles.title);
    let block = Block::new().borders(Borders::TOP).border_style(styles.quiet).title(title);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

fn help(frame: &mut Frame<'_>, area: Rect) {
    let lines = [
        "q       end the run now; what is measured is kept, and",
        "        `plimsoll run --resume` continues it",
        "Ctrl-C  the same; pressed twice, wait for nothing",
        "e       end it after this trial; again: do not",
        "s s     skip the phase under way: the trial goes on, and is not",
        "        counted, since what it measures is not what was asked",
        "o       open the report of the trials so far after this one;",
        "        again: now, which may disturb what is being measured",
        "?       this help; Esc closes it",
        "",
        "Bars: the newest value is at the right; a full bar is the",
        "greatest that is shown. ▶ is the phase that is under way.",
    ];
    let (width, height) = (66.min(area.width), 14.min(area.height));
    let place =
        Rect { x: area.x + (area.width - width) / 2, y: area.y + (area.height - height) / 2, width, height };
    frame.render_widget(Clear, place);
    let text: Vec<Line<'_>> = lines.into_iter().map(Line::raw).collect();
    frame.render_widget(Paragraph::new(text).block(Block::bordered().title(" Keys ")), place);
}

fn rounded(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{:.1} s", time.as_secs_f64()),
        _ => seconds(time.as_secs_f64().round()),
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;
    use crate::progress::view::tests::view;

    fn shown(width: u16, height: u16, choice: Choice) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &view(), choice, true)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn each_size_shows_phase_rates_cpu_and_verdict_whole() {
        for (width, height) in [(60, 16), (80, 24), (120, 40), (200, 60)] {
            let screen = shown(width, height, Choice::default());
            for text in [
                "flood-relay",
                "abcdefgh",
                "Trial 2 of at most 9",
                "▶ flood, cycle 2 of 4",
                "8,765 /s",
                "80% CPU",
            ] {
                assert!(screen.contains(text), "`{text}` at {width}×{height}:\n{screen}");
            }
            let verdict = "undecided 0.934 [0.910, 0.960], n = 3";
            assert!(width < 80 || screen.contains(verdict), "{screen}");
            assert!(width < 80 || screen.contains("user 60%"), "{screen}");
        }
    }

    #[test]
    fn what_was_chosen_is_shown() {
        let ends = |choice| shown(80, 24, choice);
        assert!(ends(Choice { after_trial: true, ..Choice::default() }).contains("ends after this trial"));
        assert!(ends(Choice { ending: true, ..Choice::default() }).contains("taken down"));
        assert!(ends(Choice { help: true, ..Choice::default() }).contains("continues it"));
        let skip = |skip| ends(Choice { skip, ..Choice::default() });
        assert!(skip(Skip::Asked).contains("s again skips flood: this trial will not be counted"));
        assert!(skip(Skip::Sure).contains("skipping flood"));
        assert!(ends(Choice { report: true, ..Choice::default() }).contains("report after this trial"));
    }

    #[test]
    fn each_width_shows_every_key_and_what_was_chosen() {
        let mut view = view();
        for width in [60, 80, 120, 200] {
            for key in ["q end", "e end after", "s skip", "o ", "? help"] {
                let keys = footer(&view, Choice::default(), width);
                assert!(keys.contains(key) && keys.chars().count() <= width, "`{key}` at {width}: {keys}");
            }
            let of = |view: &View, choice| {
                let text = footer(view, choice, width);
                assert!(text.chars().count() <= width, "{text}");
                text
            };
            let skip = Choice { skip: Skip::Asked, ..Choice::default() };
            assert!(of(&view, skip).ends_with("this trial will not be counted"));
            assert!(of(&view, Choice { after_trial: true, ..Choice::default() }).contains("e takes it back"));
            let report = Choice { report: true, ..Choice::default() };
            assert!(of(&view, report).contains("o: no)"));
            view.trials_done = 1;
            assert!(of(&view, report).contains("Esc: no"));
            view.trials_done = 0;
        }
    }

    #[test]
    fn text_from_outside_is_shown_and_not_obeyed() {
        assert_eq!(cut("a\u{1b}[2J", 20), r"a\x1b[2J");
        assert_eq!(cut("abcdef", 4), "abc…");
    }
}
