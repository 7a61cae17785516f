//! The text and the JSON of `iostat` (sysstat).

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "iostat",
    tool: "iostat (sysstat)",
    command: "iostat -x 1 10, iostat -x -o JSON 1 10",
    measured: &[
        "plain *,device,since,table %, 1/s, KiB/s, KiB, ms: each column, by the name that stands above it; of the first report below the line that names the machine, which is the mean since its start, with `since=boot` (in text)",
    ],
    main: &["%util", "util", "tps"],
    checked: Checked::Run("sysstat 12.6.1"),
    marks: &["avg-cpu:", "Device"],
    start: |line| (is_cpu(line.text) || is_devices(line.text)).then_some(Start::Within),
    reader: Some(|_| Box::<Iostat>::default()),
    json: Some(Document::whole(
        |json| {
            let all = sysstat::statistics(json);
            all.first().is_some_and(|first| first.has(&["avg-cpu"]) || first.has(&["disk"]))
        },
        sysstat::document,
    )),
    ..Format::EMPTY
};

fn is_cpu(text: &str) -> bool {
    text.strip_prefix("avg-cpu:").is_some_and(|names| names.trim_start().starts_with('%'))
}

fn is_devices(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().is_some_and(|word| word.trim_end_matches(':') == "Device");
    first && words.next().is_some_and(|word| word.contains("/s") || word == "tps")
}

#[derive(Default)]
struct Iostat {
    names: Vec<String>,
    devices: bool,
    /// Number of reports so far, by their beginning: `avg-cpu` or, without it, the devices.
    reports: u32,
    cpu: bool,
    /// Whether the line that names the machine was there: the output was pasted from its beginning.
    banner: bool,
    at: Option<f64>,
}

impl Reader for Iostat {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if sysstat::is_banner(line.text) {
            self.banner = true;
            return if self.reports > 0 { Fit::Next } else { Fit::Mine };
        }
        let words: Vec<&str> = line.words().collect();
        if is_cpu(line.text) || is_devices(line.text) {
            self.devices = is_devices(line.text);
            self.cpu |= !self.devices;
            self.reports += u32::from(!self.devices || !self.cpu);
            self.names = words[1..].iter().map(|word| (*word).to_owned()).collect();
            return Fit::Mine;
        }
        // With -t, the date and the time of day.
        if let [date, time, half @ ..] = words.as_slice()
            && date.contains(['/', '-'])
            && half.len() < 2
            && let Some(at) = clock(time, half.first().copied())
        {
            self.at = Some(at);
            return Fit::Mine;
        }
        let (device, values) = if self.devices { words.split_at(1) } else { words.split_at(0) };
        // Some people name a device behind its row.
        let remark = values.get(self.names.len()).is_some_and(|word| word.starts_with('('));
        let values = if remark { &values[..self.names.len()] } else { values };
        let values: Option<Vec<f64>> = values.iter().map(|word| number(word)).collect();
        let Some(values) = values.filter(|values| !self.names.is_empty() && values.len() == self.names.len())
        else {
            return Fit::Foreign;
        };
        if !self.devices
            && let Some(why) = impossible_shares(values.iter().copied())
        {
            return out.refuse(why);
        }
        let mut labels: Vec<(&'static str, &str)> = device.iter().map(|device| ("device", *device)).collect();
        labels.extend((self.reports <= 1 && self.banner).then_some(("since", "boot")));
        for (name, value) in self.names.iter().zip(values) {
            out.put_at(self.at, name, value, sysstat::unit(name), &labels);
        }
        Fit::Mine
    }

    fn above(&mut self, text: &str, _gap: bool) {
        self.banner = sysstat::is_banner(text);
    }

    fn goes_on(&self, _line: &Line<'_>) -> bool {
        true
    }
}
