//! The output of `hdparm -t`, `-T` and `-tT`, of one call or of many.

use super::super::format::{Checked, Fit, Format, Measured, Out, Reader, Start, Text};
use super::super::line::Line;
use super::super::number::number;
use super::super::unit;

pub(super) const FORMAT: Format = Format {
    name: "hdparm",
    tool: "hdparm",
    command: "hdparm -tT /dev/sda",
    measured: &[
        Measured::higher(
            "buffered_read",
            "MiB/s",
            &["device"],
            "`Timing buffered disk reads`, or `O_DIRECT disk reads`",
        ),
        Measured::higher(
            "cached_read",
            "MiB/s",
            &["device"],
            "`Timing cached reads`, or `buffer-cache reads` as it was called in 2001",
        ),
    ],
    main: &["buffered_read", "cached_read"],
    checked: Checked::Run("9.65"),
    text: Some(Text {
        marks: &["Timing ", "/dev/"],
        start: |line| {
            let timing = metric(line.text).is_some() && line.text.contains(" MB in");
            (timing || device(line.text).is_some()).then_some(Start::Within)
        },
        opening: None,
        reader: |_| Box::<Hdparm>::default(),
    }),
    ..Format::EMPTY
};

fn metric(text: &str) -> Option<&'static str> {
    let what = text.strip_prefix("Timing ")?;
    if what.starts_with("cached reads")
        || what.starts_with("buffer-cache reads")
        || what.starts_with("O_DIRECT cached")
    {
        Some("cached_read")
    } else if what.starts_with("buffered disk reads") || what.starts_with("O_DIRECT disk reads") {
        Some("buffered_read")
    } else {
        None
    }
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
