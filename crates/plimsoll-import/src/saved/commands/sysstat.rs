//! `iostat -x`, `mpstat -P ALL` and `pidstat` (sysstat), read by the readers of `plimsoll import`.

use plimsoll_figures::Figure;

use super::{Format, Out, Section, command_words};

pub(super) const IOSTAT: Format = Format {
    program: "iostat -x",
    is_command: |command| command_words(command).0 == "iostat",
    starts: |lines| {
        begins(lines, |line| {
            line.starts_with("Device") && line.contains("/s") || line.starts_with("avg-cpu:")
        })
    },
    read: |section, out| figures("iostat", section, out, iostat),
};
pub(super) const MPSTAT: Format = Format {
    program: "mpstat -P ALL",
    is_command: |command| command_words(command).0 == "mpstat",
    starts: |lines| {
        // sar has the same columns with interrupts behind stolen time.
        begins(lines, |line| {
            let interrupts = line.find("%irq").zip(line.find("%steal"));
            line.contains(" CPU ") && interrupts.is_some_and(|(irq, steal)| irq < steal)
        })
    },
    read: |section, out| figures("mpstat", section, out, mpstat),
};
pub(super) const PIDSTAT: Format = Format {
    program: "pidstat",
    is_command: |command| command_words(command).0 == "pidstat",
    starts: |lines| begins(lines, |line| line.contains(" PID ") && line.ends_with("Command")),
    read: |section, out| figures("pidstat", section, out, pidstat),
};

/// Whether the heading stands here, or below the line that names the machine.
fn begins(lines: &[&str], is_heading: fn(&str) -> bool) -> bool {
    let is_banner = lines[0].starts_with("Linux ") && lines[0].contains("CPU)");
    is_heading(lines[0]) || is_banner && lines.iter().skip(1).take(2).any(|line| is_heading(line))
}

/// A figure by the name that causes know it by; `None` if it is a mean that repeats others, or of no use.
type Name = fn(&Figure<'_>) -> Option<String>;

fn figures(format: &'static str, section: &Section<'_>, out: &mut Out, name: Name) {
    let text = section.lines.join("\n");
    let options = plimsoll_figures::Options { only: Some(format.to_owned()), ..Default::default() };
    let found = plimsoll_figures::stream(text.as_bytes(), &options, &mut |figure: &Figure<'_>| {
        let is_mean = figure.labels.iter().any(|(label, _)| matches!(*label, "since" | "stat"));
        if let Some(name) = name(figure).filter(|_| !is_mean) {
            out.reading.level(name, figure.value);
        }
    });
    if found.is_err() {
        section.numbered().for_each(|(index, line)| out.unread.note(index, line));
    }
}

fn label<'f>(figure: &Figure<'f>, wanted: &str) -> Option<&'f str> {
    figure.labels.iter().find(|(label, _)| *label == wanted).map(|(_, value)| *value)
}

fn cpu_state(column: &str) -> Option<&'static str> {
    Some(match column {
        "%usr" | "%user" => "user",
        "%nice" => "nice",
        "%sys" | "%system" => "system",
        "%iowait" => "iowait",
        "%irq" => "irq",
        "%soft" => "softirq",
        "%steal" => "steal",
        "%idle" => "idle",
        _ => return None,
    })
}

fn iostat(figure: &Figure<'_>) -> Option<String> {
    let Some(device) = label(figure, "device") else {
        return cpu_state(figure.metric).map(|state| format!("cpu.all.{state}_share"));
    };
    let field = match figure.metric {
        "%util" => "busy_share",
        "r_await" => "read_ms",
        "w_await" => "write_ms",
        "f_await" => "flush_ms",
        "await" => "request_ms",
        "r/s" => "reads_per_s",
        "w/s" => "writes_per_s",
        "f/s" => "flushes_per_s",
        "aqu-sz" | "avgqu-sz" => "queue",
        _ => return None,
    };
    Some(format!("disk.{device}.{field}"))
}

fn mpstat(figure: &Figure<'_>) -> Option<String> {
    let (cpu, state) = (label(figure, "cpu")?, cpu_state(figure.metric)?);
    Some(if cpu == "all" { format!("cpu.all.{state}_share") } else { format!("cpu.{cpu}.{state}_share") })
}

fn pidstat(figure: &Figure<'_>) -> Option<String> {
    let field = match figure.metric {
        "%CPU" => "cpu_share",
        "%wait" => "wait_share",
        "kB_rd/s" => "read_kib_per_s",
        "kB_wr/s" => "written_kib_per_s",
        "majflt/s" => "major_faults_per_s",
        _ => return None,
    };
    // Kernel threads differ by a number alone.
    let command = label(figure, "command")?;
    let name = command.split(['/', ':']).next().filter(|_| super::top::is_kernel_thread(command));
    Some(format!("process.{}.{field}", name.unwrap_or(command).replace(' ', "_")))
}
