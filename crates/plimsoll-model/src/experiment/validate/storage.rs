//! Checks of volumes, of the loads that aim at them, and of background loads.

use super::{Checked, declared, in_range, one_of, problem};
use crate::experiment::prelude::*;
use crate::experiment::{BackgroundLoad, Experiment, Filesystem, LoopVolume, Volume};

/// The smallest XFS that its mkfs makes, in bytes.
const LEAST_XFS: u64 = 300 << 20;

pub(super) fn volumes(experiment: &Experiment) -> Checked {
    for (name, volume) in &experiment.volumes {
        check_volume(experiment, name, volume)?;
    }
    Ok(())
}

fn check_volume(experiment: &Experiment, name: &String, volume: &Volume) -> Checked {
    let fits = (1..=24).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if !fits {
        let expected = "1 to 24 letters, digits, `-` or `_`";
        return Err(problem(
            path!["volumes", name],
            format!("`{name}` cannot be the name of a volume"),
            expected,
        ));
    }
    declared(&volume.on, &experiment.hosts, "host", path!["volumes", name, "on"])?;
    let kinds = [
        ("folder", volume.folder.is_some()),
        ("loop", volume.image.is_some()),
        ("device", volume.device.is_some()),
    ];
    one_of(&kinds, &format!("the volume `{name}`"), path!["volumes", name])?;
    if let Some(image) = &volume.image {
        check_loop(experiment, name, volume, image)?;
    }
    let device = |device: &String| device.starts_with("/dev/") && !device.contains("/../");
    if !volume.device.as_ref().is_none_or(device) {
        return Err(problem(
            path!["volumes", name, "device"],
            "this is no device",
            "a path such as \"/dev/sdb\"",
        ));
    }
    if volume.device.is_some() && experiment.control.is_some() {
        return Err(problem(
            path!["volumes", name, "device"],
            "the treatment and its control cannot share a device",
            "`loop` or `folder`, or no [control]",
        ));
    }
    if volume.folder.is_some() && !volume.queue.is_default() {
        return Err(problem(
            path!["volumes", name, "queue"],
            "a folder shares the queue of its device with everybody",
            "`queue` beside `loop` or `device`",
        ));
    }
    check_limit(name, volume)?;
    if let Some(depth) = volume.queue.depth {
        in_range(u64::from(depth), 1, 65_536, path!["volumes", name, "queue", "depth"])?;
    }
    if let Some(ncq) = volume.queue.ncq {
        in_range(u64::from(ncq), 1, 1024, path!["volumes", name, "queue", "ncq"])?;
        if volume.device.is_none() {
            return Err(problem(
                path!["volumes", name, "queue", "ncq"],
                "a loop device has no queue of its own",
                "it beside `device`",
            ));
        }
    }
    if let Some(ahead) = volume.queue.read_ahead {
        in_range(ahead.0, 0, 1 << 30, path!["volumes", name, "queue", "read_ahead"])?;
    }
    Ok(())
}

fn check_limit(name: &String, volume: &Volume) -> Checked {
    let limit = &volume.limit;
    let here = |key: &str| path!["volumes", name, "limit", key];
    if volume.folder.is_some() && !limit.is_none() {
        return Err(problem(
            path!["volumes", name, "limit"],
            "a folder shares its device with everybody",
            "`limit` beside `loop` or `device`",
        ));
    }
    if let Some(iops) = limit.iops {
        in_range(u64::from(iops), 1, 1_000_000, here("iops"))?;
    }
    limit.bandwidth.map_or(Ok(()), |bytes| in_range(bytes.0, 64 << 10, 1 << 40, here("bandwidth")))
}

fn check_loop(experiment: &Experiment, name: &String, volume: &Volume, image: &LoopVolume) -> Checked {
    let here = |key: &str| path!["volumes", name, "loop", key];
    in_range(image.size.0, 1 << 20, 1 << 40, here("size"))?;
    if image.filesystem == Some(Filesystem::Xfs) && image.size.0 < LEAST_XFS {
        return Err(problem(here("size"), "XFS does not fit", "300M or more"));
    }
    if image.filesystem.is_none() && (!image.options.is_empty() || image.at.is_some()) {
        let key = if image.at.is_some() { "at" } else { "options" };
        return Err(problem(here(key), "there is nothing to mount", "`filesystem` beside it"));
    }
    let kind = experiment.hosts[&volume.on].kind;
    if image.filesystem.is_some() && !kind.own().network {
        return Err(problem(
            path!["volumes", name, "on"],
            format!("`{}` is a {} host, which has no mounts of its own", volume.on, kind.name()),
            "a host of kind \"namespace\", a `loop` without a file system, or a `folder`",
        ));
    }
    match &image.at {
        Some(at) if !at.starts_with('/') || at.split('/').any(|part| part == "..") => {
            Err(problem(here("at"), "this is no folder of the host", "a path from the root on"))
        }
        _ => Ok(()),
    }
}

pub(super) fn background(experiment: &Experiment, names: &BTreeMap<String, Option<&str>>) -> Checked {
    for (name, background) in &experiment.background {
        let here = |key: &str| path!["background", name, key];
        declared(&background.load, &experiment.loads, "load", here("load"))?;
        for (index, phase) in background.during.iter().enumerate() {
            declared(phase, names, "phase", path!["background", name, "during", index])?;
        }
        comes_and_goes(background, here)?;
    }
    Ok(())
}

fn comes_and_goes(background: &BackgroundLoad, here: impl Fn(&str) -> [Part; 3]) -> Checked {
    match (background.every, background.stays) {
        (None, None) => Ok(()),
        (Some(every), Some(stays)) if !stays.0.is_zero() && stays < every => Ok(()),
        (Some(_), Some(_)) => Err(problem(
            here("stays"),
            "a background load that comes and goes is there for a part of the time",
            "more than 0, and less than `every`",
        )),
        (Some(_), None) => {
            Err(problem(here("every"), "it does not say how long it stays", "`stays` beside it"))
        }
        (None, Some(_)) => {
            Err(problem(here("stays"), "it does not say how often it comes", "`every` beside it"))
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::experiment::parse;

    const TEXT: &str = r#"
question = "how fast?"
[hosts.box]
[volumes.disk]
on = "box"
loop = { size = "64M", filesystem = "ext4" }
[loads.read]
from = "box"
to = "disk"
storage = { duration = "1s" }
[[phases]]
name = "read"
measure = "read"
[[claims]]
source = { phase = "read" }
"#;

    fn refusal(from: &str, to: &str) -> String {
        let text = TEXT.replace(from, to);
        assert_ne!(text, TEXT, "{from}");
        let error = parse(&text, &[]).expect_err(to);
        format!("{error}; expected {}", error.expected.clone().unwrap_or_default())
    }

    #[test]
    fn a_storage_experiment_needs_no_service() {
        assert!(parse(TEXT, &[]).is_ok());
    }

    #[test]
    fn what_cannot_be_is_refused_with_what_was_expected() {
        let cases = [
            ("to = \"disk\"", "to = \"dsk\"", "there is no volume `dsk`"),
            ("duration = \"1s\"", "depth = 4, duration = \"1s\"", "one operation after the other"),
            ("duration = \"1s\"", "engine = \"mmap\", direct = true, duration = \"1s\"", "is the page cache"),
            ("duration = \"1s\"", "touch_every = 8, duration = \"1s\"", "64"),
            ("duration = \"1s\"", "operations = 5, duration = \"1s\"", "does not state its length"),
            ("duration = \"1s\"", "reads = 0, duration = \"1s\"", "nothing is read"),
            ("[hosts.box]", "[hosts.box]\nkind = \"local\"", "no mounts of its own"),
            ("\"ext4\"", "\"xfs\"", "XFS does not fit"),
            ("loop = {", "device = \"/dev/sdb\"\nloop = {", "loop and device at once"),
            (
                "[loads.read]",
                "[background.n]\nload = \"read\"\nstays = \"1s\"\n[loads.read]",
                "how often it comes",
            ),
        ];
        for (from, to, expected) in cases {
            let message = refusal(from, to);
            assert!(message.contains(expected), "expected `{expected}`, was `{message}`");
        }
    }
}
