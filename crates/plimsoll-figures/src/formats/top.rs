//! The head of `top`: load, tasks, the CPUs' time and memory, today's and that of 2001.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "top",
    tool: "top (procps)",
    command: "top -b -n 10 -d 1",
    measured: &[
        "plain load_average,minutes: `load average`, of 1, 5 and 15 minutes",
        "plain cpu,mode %: `%Cpu(s)`, by the letters that stand there (`us`, `sy` ...); in 2001 `CPU states`",
        "plain tasks,state: `Tasks`; in 2001 `processes`",
        "plain memory,of MiB: `Mem`: total, free, used ...",
        "plain swap,of MiB: `Swap`",
    ],
    main: &["cpu,mode=sy", "cpu,mode=system"],
    checked: Checked::Run("procps-ng 4.0.2"),
    marks: &["load average:"],
    start: |line| line.text.contains("load average:").then_some(Start::Within),
    reader: Some(|_| Box::<Top>::default()),
    ..Format::EMPTY
};

#[derive(Default)]
struct Top {
    at: Option<f64>,
    /// Whether the lines of processes follow, which are not read.
    processes: bool,
}

impl Reader for Top {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        let text = line.text;
        if let Some((before, load)) = text.split_once("load average:") {
            self.processes = false;
            // The time of day stands first; what follows is how long the machine has been up.
            let first = before.trim_start_matches("top -").split_whitespace().next();
            self.at = first.and_then(|word| clock(word, None));
            // Text may follow the last number.
            let values = load.split(", ").map_while(|value| Some(leading(value.trim())?.0));
            let values: Vec<f64> = values.collect();
            for (minutes, value) in ["1", "5", "15"].iter().zip(&values) {
                out.put_at(self.at, "load_average", *value, "", &[("minutes", minutes)]);
            }
            return if values.is_empty() { Fit::Foreign } else { Fit::Mine };
        }
        if text.starts_with("PID ") {
            self.processes = true;
            return Fit::Mine;
        }
        if self.processes && number(line.words().next().unwrap_or_default()).is_some() {
            return Fit::Mine;
        }
        let Some((key, rest)) = text.split_once(':') else { return self.old(text, out) };
        let key = key.trim();
        match key {
            "Tasks" => self.parts("tasks", "", "state", rest, out),
            "%Cpu(s)" | "Cpu(s)" | "CPU states" => self.parts("cpu", "%", "mode", rest, out),
            _ => {
                let (unit, what) =
                    key.split_once(' ').map_or(("KiB", key), |(unit, what)| (unit, what.trim()));
                match what {
                    "Mem" => self.parts("memory", unit, "of", rest, out),
                    "Swap" => self.parts("swap", unit, "of", rest, out),
                    _ => self.old(text, out),
                }
            }
        }
    }

    fn blank(&mut self) {
        self.processes = false;
    }
}

impl Top {
    /// `45 processes: 44 sleeping, 1 running`, as it was in 2001.
    fn old(&self, text: &str, out: &mut Out<'_>) -> Fit {
        match text.split_once(" processes:") {
            Some((_, rest)) => self.parts("tasks", "", "state", rest, out),
            None => Fit::Foreign,
        }
    }

    /// `45.3 us,  6.5 sy, ...`, `1.2%us, ...` or `12.0% user, ...`: a number and what it is of, again and again.
    fn parts(&self, metric: &str, unit: &str, label: &'static str, rest: &str, out: &mut Out<'_>) -> Fit {
        let mut found = false;
        // Where it was pasted, tabs may stand for spaces.
        let rest = rest.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in rest.split(", ").flat_map(|part| part.split(". ")) {
            let mut part = part.trim();
            while let Some((value, rest)) = leading(part) {
                // `% user`, `%us`, `K used`, `k used`.
                let rest = rest.strip_prefix(['%', 'K', 'k']).unwrap_or(rest).trim_start();
                // In 2001 the last one stands behind blanks alone: `264552K free 131224K cached`.
                let mut next = rest.match_indices(' ').map(|(at, _)| at + 1);
                let end = next.find(|at| rest[*at..].starts_with(|c: char| c.is_ascii_digit()));
                let (name, behind) = rest.split_at(end.unwrap_or(rest.len()));
                part = behind;
                let name = name.trim_end_matches([',', '.', ' ']);
                if name.starts_with(char::is_alphabetic) {
                    found = true;
                    // The page cache, and what is available of the memory, stand in the line of the swap.
                    let of_memory = name.strip_suffix(" Mem").or((name == "cached").then_some(name));
                    let (metric, name) = of_memory
                        .filter(|_| metric == "swap")
                        .map_or((metric, name), |name| ("memory", name));
                    out.put_at(self.at, metric, value, unit, &[(label, name)]);
                }
            }
        }
        if found { Fit::Mine } else { Fit::Foreign }
    }
}
