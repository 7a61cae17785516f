//! The output of `hdparm -t`, `-T` and `-tT`, of one call or of many.

use super::prelude::*;

pub(super) const FORMAT: Format = Format {
    name: "hdparm",
    tool: "hdparm",
    command: "hdparm -tT /dev/sda",
    measured: &[
        "higher buffered_read,device MiB/s: `Timing buffered disk reads`",
        "higher cached_read,device MiB/s: `Timing cached reads`, or `buffer-cache reads` as it was called in 2001",
        "higher direct_read,device MiB/s: `Timing O_DIRECT disk reads` of `--direct`",
        "higher direct_cached_read,device MiB/s: `Timing O_DIRECT cached reads`: of the same blocks again, from the device",
    ],
    main: &["buffered_read", "cached_read"],
    checked: Checked::Run("9.65"),
    marks: &["Timing ", "/dev/"],
    start: |line| {
        let timing = metric(line.text).is_some() && line.text.contains(" MB in");
        (timing || device(line.text).is_some()).then_some(Start::Within)
    },
    reader: Some(|_| Box::<Hdparm>::default()),
    ..Format::EMPTY
};

fn metric(text: &str) -> Option<&'static str> {
    let what = text.strip_prefix("Timing ")?;
    let names = [
        ("cached reads", "cached_read"),
        ("buffer-cache reads", "cached_read"),
        ("buffered disk reads", "buffered_read"),
        ("O_DIRECT disk reads", "direct_read"),
        ("O_DIRECT cached reads", "direct_cached_read"),
    ];
    names.into_iter().find_map(|(name, metric)| what.starts_with(name).then_some(metric))
}

/// The device of a line that names one: `/dev/sda:`.
fn device(text: &str) -> Option<&str> {
    let name = text.strip_suffix(':')?;
    (name.starts_with("/dev/") && !name.contains(char::is_whitespace)).then_some(name)
}

#[derive(Default)]
struct Hdparm {
    device: Option<String>,
}

impl Reader for Hdparm {
    fn line(&mut self, line: &Line<'_>, out: &mut Out<'_>) -> Fit {
        if let Some(name) = device(line.text) {
            self.device = Some(name.to_owned());
            return Fit::Mine;
        }
        let Some(metric) = metric(line.text) else { return Fit::Foreign };
        let Some((_, rate)) = line.text.rsplit_once('=') else { return Fit::Foreign };
        let mut words = rate.split_whitespace();
        // Old versions say `~` of their own result.
        let value = words.next().and_then(|word| number(word.trim_start_matches('~')));
        let its_unit = words.next().and_then(unit::bytes_per_second);
        let (Some(value), Some(its_unit)) = (value, its_unit) else { return Fit::Foreign };
        let device = self.device.as_deref().map(|device| ("device", device));
        out.put(metric, value, its_unit, device.as_slice());
        Fit::Mine
    }
}
