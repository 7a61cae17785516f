//! Stacks as lines of text, as tools for flame graphs read them: frames from the outermost to the innermost with `;` between, and the number of
//! samples. Frames of the kernel end in `_[k]` (<https://github.com/brendangregg/FlameGraph>, stackcollapse-perf.pl).

use std::collections::BTreeMap;
use std::io::{self, Write};

use plimsoll_model::observation::{Frame, FrameKind, Profile};

use crate::escape;

/// The stacks of two sides, with the samples of each, as difffolded.pl prints them. Those of the first are scaled to as many operations as the second
/// had: `operations` are those of the two sides.
///
/// # Errors
/// When it cannot be written.
pub fn difference(
    out: &mut dyn Write,
    [before, after]: &[Profile; 2],
    operations: [u64; 2],
) -> io::Result<()> {
    let scale = operations[1] as f64 / operations[0].max(1) as f64;
    let mut lines: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for (side, profile) in [before, after].into_iter().enumerate() {
        for (stack, samples) in profile.stacks() {
            lines.entry(line(&stack)).or_default()[side] += samples;
        }
    }
    for (stack, [before, after]) in lines {
        writeln!(out, "{stack} {} {after}", (before as f64 * scale).round())?;
    }
    Ok(())
}

/// Stacks with their samples.
///
/// # Errors
/// When it cannot be written.
pub fn all(out: &mut dyn Write, profile: &Profile) -> io::Result<()> {
    let mut lines: BTreeMap<String, u64> = BTreeMap::new();
    for (stack, samples) in profile.stacks() {
        *lines.entry(line(&stack)).or_default() += samples;
    }
    lines.into_iter().try_for_each(|(stack, samples)| writeln!(out, "{stack} {samples}"))
}

fn line(stack: &[&Frame]) -> String {
    let names: Vec<String> = stack.iter().map(|frame| name(frame)).collect();
    names.join(";")
}

/// A frame's name, which may hold no `;`: the names of C++ and Rust do.
fn name(frame: &Frame) -> String {
    let name = escape::terminal(&frame.name).to_string().replace(';', ":");
    match frame.kind {
        FrameKind::Kernel => format!("{name}_[k]"),
        FrameKind::User => name,
        FrameKind::Host
        | FrameKind::Shared
        | FrameKind::Others
        | FrameKind::Plimsoll
        | FrameKind::Process => format!("[{name}]"),
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_model::observation::{Arm, ProfileBuilder, ProfileClock};

    use super::*;

    fn profile(stacks: &[(&str, u64)]) -> Profile {
        let mut builder = ProfileBuilder::new(Arm::Treatment, ProfileClock::CpuClock, 99);
        for (function, samples) in stacks {
            let frames = [
                Frame::new(FrameKind::Host, "firewall"),
                Frame::new(FrameKind::User, "<impl [T; 3]>::walk"),
                Frame::new(FrameKind::Kernel, *function),
            ];
            builder.add(&frames, *samples);
        }
        builder.build()
    }

    fn text(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
        let mut out = Vec::new();
        write(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn two_sides_stand_beside_each_other_for_as_many_operations() {
        let sides = [profile(&[("connect", 40), ("send", 6)]), profile(&[("connect", 90), ("lookup\n1", 7)])];
        assert_eq!(
            text(|out| difference(out, &sides, [2000, 1000])),
            "[firewall];<impl [T: 3]>::walk;connect_[k] 20 90\n\
             [firewall];<impl [T: 3]>::walk;lookup\\n1_[k] 0 7\n\
             [firewall];<impl [T: 3]>::walk;send_[k] 3 0\n"
        );
    }

    #[test]
    fn one_profile_has_one_number() {
        let text = text(|out| all(out, &profile(&[("connect", 4), ("connect", 2)])));
        assert_eq!(text, "[firewall];<impl [T: 3]>::walk;connect_[k] 6\n");
    }
}
