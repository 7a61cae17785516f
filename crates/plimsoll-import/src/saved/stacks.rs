//! The output of `perf script`: a line for each sample, below it the frames from the innermost to the outermost, and an empty line.

use std::collections::BTreeMap;

use plimsoll_figures::perf_script::{self, Head, head};
use plimsoll_model::observation::{Arm, Frame, FrameKind, Profile, ProfileBuilder, ProfileClock};

use super::SavedError;

pub(super) const PROGRAM: &str = "perf script";

/// Functions that begin a softirq: what runs below them is no idle CPU's, even where it interrupts one.
const SOFTIRQS: [&str; 3] = ["handle_softirqs", "__do_softirq", "irq_exit_rcu"];
/// Name of idle CPUs.
const IDLE: &str = "swapper";
/// Events that are a clock's and not a counter of cycles.
const CLOCKS: [&str; 2] = ["cpu-clock", "task-clock"];

/// Samples of stacks.
#[derive(Clone, Debug)]
pub struct Stacks {
    /// The stacks; each begins with the name of the process.
    pub profile: Profile,
    /// From the first sample to the last, in seconds.
    pub seconds: f64,
}

pub(super) fn is_it(text: &str) -> bool {
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .find(|line| !line.trim().is_empty())
        .is_some_and(|line| head(line).is_some())
}

/// A frame of a line, by the name that reports give it.
fn frame(line: &str) -> Option<Frame> {
    let found = perf_script::frame(line)?;
    Some(match (found.is_kernel(), found.name) {
        (true, "[unknown]") => Frame::new(FrameKind::Kernel, "[kernel]"),
        (true, name) => Frame::new(FrameKind::Kernel, name.split_once('.').map_or(name, |(name, _)| name)),
        (false, "[unknown]") => {
            let file = found.module.rsplit('/').next().unwrap_or(found.module);
            Frame::new(FrameKind::User, format!("[{file}]"))
        }
        (false, name) => Frame::new(FrameKind::User, name),
    })
}

pub(super) fn read(text: &str) -> Result<Stacks, SavedError> {
    let mut samples: Vec<(Head<'_>, Vec<Frame>)> = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
        if line.trim().is_empty() {
            continue;
        }
        match (frame(line), samples.last_mut()) {
            (Some(frame), Some((_, stack))) => stack.push(frame),
            _ => {
                let what = "a sample (`comm pid [cpu] time: event:`) or a frame (`address function (module)`) was expected";
                let head = head(line).ok_or_else(|| SavedError::line(index, what))?;
                samples.push((head, Vec::new()));
            }
        }
    }
    let (first, last) =
        samples.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(first, last), (head, _)| {
            (first.min(head.at), last.max(head.at))
        });
    let hertz = hertz(&samples).filter(|_| samples.iter().any(|(_, stack)| !stack.is_empty()));
    let hertz = hertz.ok_or_else(|| SavedError::TooLittle {
        what: "too few samples with stacks; `perf record -F 99 -a -g` makes them".to_owned(),
    })?;
    let is_clock =
        samples.first().is_some_and(|(head, _)| CLOCKS.iter().any(|clock| head.event.starts_with(clock)));
    let clock = if is_clock { ProfileClock::CpuClock } else { ProfileClock::Cycles };
    let mut profile = ProfileBuilder::new(Arm::Treatment, clock, hertz);
    let mut idle = 0;
    for (head, stack) in &samples {
        if head.process == IDLE && !stack.iter().any(|frame| SOFTIRQS.contains(&frame.name.as_str())) {
            idle += 1;
            continue;
        }
        let process = Frame::new(FrameKind::Process, head.process);
        profile.add(std::iter::once(&process).chain(stack.iter().rev()), 1);
    }
    profile.miss(0, idle);
    Ok(Stacks { profile: profile.build(), seconds: last - first })
}

/// How often each CPU was sampled per second, from the median gap between two of its samples. If the CPUs are unknown,
/// the gaps are those of each process.
fn hertz(samples: &[(Head<'_>, Vec<Frame>)]) -> Option<u32> {
    let mut last: BTreeMap<&str, f64> = BTreeMap::new();
    let mut gaps: Vec<f64> = Vec::new();
    for (head, _) in samples {
        if let Some(before) = last.insert(head.cpu.unwrap_or(head.process), head.at) {
            gaps.extend(Some(head.at - before).filter(|gap| *gap > 0.0));
        }
    }
    gaps.sort_by(f64::total_cmp);
    let median = gaps.get(gaps.len() / 2)?;
    let hertz = (1.0 / median).round();
    (1.0..=1e6).contains(&hertz).then_some(hertz as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLES: &str = "\
# captured on: Mon Nov 23
relay fast 1234/1235 [001]  100.010000:   10101010 cpu-clock:pppH: 
\tffffffff81a2b3c4 fib_rules_lookup+0x84 ([kernel.kallsyms])
\tffffffffc0a2b3c4 nft_do_chain.isra.0+0x4 ([nf_tables])
\t    7f00deadbeef connect+0x1f (/usr/lib/libc.so.6)
\t    5500deadbeef [unknown] (/usr/bin/relay)

swapper     0 [000]  100.010000:   10101010 cpu-clock:pppH: 
\tffffffff81f2b3c4 pv_native_safe_halt+0x84 ([kernel.kallsyms])

swapper     0 [000]  100.020000:   10101010 cpu-clock:pppH: 
\tffffffff81f2b3c4 net_rx_action+0x84 ([kernel.kallsyms])
\tffffffff81f2b3c4 handle_softirqs+0x84 ([kernel.kallsyms])

relay fast 1234/1235 [001]  100.020000:   10101010 cpu-clock:pppH: 
\tffffffff81a2b3c4 fib_rules_lookup+0x90 ([kernel.kallsyms])

:-1    -1 [001]  100.030000:   10101010 cpu-clock:ppp: 
\tffffffff8135c556 release_task+0x346 ([kernel.kallsyms])
";

    #[test]
    fn stacks_are_read_from_the_outermost_frame_on_and_idle_cpus_are_counted() {
        let read = read(SAMPLES).unwrap();
        let stacks: Vec<String> = read
            .profile
            .stacks()
            .map(|(stack, _)| stack.iter().map(|frame| frame.name.as_str()).collect::<Vec<_>>().join(";"))
            .collect();
        assert!(
            stacks.contains(&"relay fast;[relay];connect;nft_do_chain;fib_rules_lookup".to_owned()),
            "{stacks:?}"
        );
        assert!(stacks.contains(&"swapper;handle_softirqs;net_rx_action".to_owned()), "{stacks:?}");
        assert_eq!((read.profile.samples(), read.profile.idle, read.profile.hertz), (4, 1, 100));
        assert_eq!(read.profile.clock, ProfileClock::CpuClock);
        assert!((read.seconds - 0.02).abs() < 1e-9);
    }

    #[test]
    fn what_is_no_sample_and_no_frame_is_refused_with_its_line() {
        let broken =
            SAMPLES.replace("\tffffffffc0a2b3c4 nft_do_chain.isra.0+0x4 ([nf_tables])", "\twhat is this");
        assert!(read(&broken).unwrap_err().to_string().starts_with("line 4: a sample"));
        assert!(!is_it("procs ---memory---\n"));
    }
}
