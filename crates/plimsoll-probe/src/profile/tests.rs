//! The profiler against programs whose time is known to go one way. It needs the right to profile all CPUs, as root has it.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use plimsoll_model::observation::{CallCount, Frame, FrameKind, TracedCall};

use super::*;
use crate::thread_cpu_time;

/// Ends the process when the test does.
struct Busy(Child);

impl Busy {
    fn run(program: &str, args: &[&str]) -> Self {
        let child = Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self(child.expect("the program starts"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn profiled(work: impl FnOnce()) -> Profile {
    let profiler = Profiler::open("1:2:3").expect("root may profile all CPUs");
    let here = std::fs::metadata("/proc/self/ns/net").map(|it| std::os::unix::fs::MetadataExt::ino(&it));
    profiler.start(HostNamespaces::from([(here.expect("there is a namespace"), "here".to_owned())]));
    work();
    profiler.stop(Arm::Treatment);
    let mut profiles = profiler.take();
    assert!(profiler.take().is_empty(), "what was taken is not told again");
    assert_eq!(profiles.len(), 1);
    profiles.remove(0)
}

/// The samples of a process, and those of them that have a frame of which this is true.
fn of_process(profile: &Profile, name: &str, is_it: impl Fn(&Frame) -> bool) -> (u64, u64) {
    let owner = [Frame::new(FrameKind::Host, "here"), Frame::new(FrameKind::Process, name)];
    let its =
        profile.stacks().filter(|(stack, _)| stack.len() > 2 && owner.iter().eq(stack[..2].iter().copied()));
    its.fold((0, 0), |(all, with), (stack, samples)| {
        (all + samples, with + if stack.into_iter().any(&is_it) { samples } else { 0 })
    })
}

#[test]
fn a_program_that_only_asks_the_kernel_for_zeros_is_found_there() {
    // A name that no other process has.
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("zeroreader");
    std::os::unix::fs::symlink("/bin/dd", &program).unwrap();
    let profile = profiled(|| {
        let _busy = Busy::run(program.to_str().unwrap(), &["if=/dev/zero", "of=/dev/null", "bs=1M"]);
        thread::sleep(Duration::from_secs(2));
    });
    let (all, reads) = of_process(&profile, "zeroreader", |frame| {
        frame.kind == FrameKind::Kernel && frame.name.contains("read")
    });
    assert!(all >= 10, "{all} samples in 2 s");
    assert!(
        reads * 10 >= all * 9,
        "{reads} of {all} samples are in a read of the kernel: {:?}",
        profile.frames
    );
}

#[test]
fn nothing_is_left_of_the_moment_after_a_window() {
    let profiler = Profiler::open("1:2:3").expect("root may profile all CPUs");
    let here = std::fs::metadata("/proc/self/ns/net").map(|it| std::os::unix::fs::MetadataExt::ino(&it));
    let here = HostNamespaces::from([(here.expect("there is a namespace"), "here".to_owned())]);
    let busy = Busy::run("sha1sum", &["/dev/zero"]);
    let window = || {
        profiler.start(here.clone());
        thread::sleep(Duration::from_millis(200));
        profiler.stop(Arm::Treatment);
        of_process(&profiler.take()[0], "sha1sum", |_| true).0
    };
    let running = window();
    // The process keeps running until the kernel stops sampling.
    thread::sleep(3 * DISABLED_AFTER);
    kill(Pid::from_raw(busy.0.id().cast_signed()), Signal::SIGSTOP).unwrap();
    let stopped = window();
    assert!(running > 0 && stopped == 0, "{stopped} samples of a stopped process, {running} before");
}

#[test]
fn no_sample_of_an_idle_cpu_or_of_a_thread_of_the_kernel_is_lost() {
    let profile = profiled(|| thread::sleep(Duration::from_secs(1)));
    assert_eq!(profile.lost, 0, "{} were read", profile.samples());
}

#[test]
fn idle_time_is_what_busy_programs_leave_of_all_cpus() {
    let mut samples = 0;
    let profile = profiled(|| {
        // On each CPU alone. What else runs on this machine takes idle time too.
        for cpu in cpus().unwrap() {
            let _busy = Busy::run("taskset", &["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"]);
            thread::sleep(Duration::from_millis(500));
            samples += u64::from(HERTZ) / 2;
        }
    });
    let cpus = cpus().unwrap().len() as u64;
    let all = samples * cpus;
    let with_idle = profile.samples() + profile.idle;
    assert!(profile.samples() * 10 >= samples * 5, "{} samples of {samples}", profile.samples());
    assert!((all / 2..=all * 13 / 10).contains(&with_idle), "{with_idle} of {all}: {}", profile.idle);
}

#[test]
fn children_that_are_gone_at_once_are_told_by_the_program_that_they_ran() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("shortlived");
    std::os::unix::fs::symlink("/bin/dd", &program).unwrap();
    let profile = profiled(|| {
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until {
            let args = ["if=/dev/zero", "of=/dev/null", "bs=1M", "count=40"];
            let _ = Busy::run(program.to_str().unwrap(), &args).0.wait();
        }
    });
    let (all, _) = of_process(&profile, "shortlived", |_| true);
    assert!(all >= 5, "{all} samples: {:?}", profile.frames);
}

#[test]
fn whoever_makes_a_file_durable_is_named() {
    let folder = tempfile::tempdir_in(".").unwrap();
    let program = folder.path().join("durable");
    std::os::unix::fs::symlink("/bin/dd", &program).unwrap();
    let file = format!("of={}", folder.path().join("file").display());
    let profile = profiled(|| {
        for _ in 0..5 {
            let args = ["if=/dev/zero", &file, "bs=4k", "count=1", "conv=fsync"];
            assert!(Busy::run(program.to_str().unwrap(), &args).0.wait().unwrap().success());
        }
    });
    let of_it: Vec<&CallCount> = profile.calls.iter().filter(|it| it.process == "durable").collect();
    assert!(
        matches!(of_it.as_slice(), [one] if one.call == TracedCall::FileSync && one.count == 5),
        "{:?}",
        profile.calls
    );
    assert_eq!(of_it[0].owner, Frame::new(FrameKind::Host, "here"));
}

#[test]
fn functions_of_a_program_have_their_names() {
    let profile = profiled(|| {
        // Other tests take CPUs as well.
        let (until, began) = (Instant::now() + Duration::from_secs(20), thread_cpu_time());
        let mut state = 1;
        while thread_cpu_time() - began < Duration::from_millis(300) && Instant::now() < until {
            state = burn_without_end(state);
        }
        assert_ne!(state, 0);
    });
    let functions = profile.functions();
    let burnt = functions.iter().find(|(frame, _)| frame.name.contains("burn_without_end"));
    let (frame, samples) = burnt.unwrap_or_else(|| panic!("{:?}", functions.keys()));
    assert_eq!(frame.kind, FrameKind::User);
    assert!(samples.own >= 5, "{samples:?}");
}

#[inline(never)]
fn burn_without_end(mut state: u64) -> u64 {
    let mut left = 1_000_000;
    // Without optimisation a call in the loop, as of an iterator, takes most of its time.
    while left > 0 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        left -= 1;
    }
    state
}

#[test]
fn nothing_is_sampled_while_nothing_is_measured() {
    let profiler = Profiler::open("1:2:3").expect("root may profile all CPUs");
    thread::sleep(Duration::from_millis(300));
    assert!(profiler.take().is_empty());
}

#[test]
fn a_short_command_is_told_with_the_line_that_it_was_in() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("spin.c"), folder.path().join("spin"));
    let text = "int main(void) {\n volatile unsigned x = 1;\n for (int i = 0; i < 80000000; i++)\n  x = x * 3;\n return 0;\n}\n";
    std::fs::write(&source, text).unwrap();
    let built = Command::new("cc").args(["-g", "-O0", "-o"]).args([&program, &source]).status();
    assert!(built.expect("there is a C compiler").success());
    let profiler = Profiler::of_commands(997, "command").unwrap();
    let here = std::fs::metadata("/proc/self/ns/net").map(|it| std::os::unix::fs::MetadataExt::ino(&it));
    profiler.start(HostNamespaces::from([(here.unwrap(), "here".to_owned())]));
    for _ in 0..20 {
        Busy::run(program.to_str().unwrap(), &[]).0.wait().unwrap();
    }
    profiler.stop(Arm::Control);
    let (profile, lines) = profiler.take_with_lines().remove(0);
    let (all, in_main) = of_process(&profile, "spin (command)", |frame| frame.name == "main");
    assert!(
        all >= 100 && in_main * 10 >= all * 8,
        "{in_main} of {all} samples are in main: {:?}",
        profile.frames
    );
    let in_loop = lines
        .iter()
        .filter(|it| it.function == "main" && it.file.ends_with("spin.c") && [3, 4].contains(&it.line));
    let in_loop: u64 = in_loop.map(|it| it.samples).sum();
    assert!(in_loop * 10 >= all * 8, "{in_loop} of {all} samples are in the loop: {lines:?}");
}

#[test]
fn the_caller_of_a_function_without_a_name_is_found_without_frame_pointers() {
    let folder = tempfile::tempdir().unwrap();
    let (source, program) = (folder.path().join("library.c"), folder.path().join("library"));
    let text = "static __attribute__((noinline)) unsigned inner(unsigned n) {\n\
                 volatile unsigned x = n; for (int i = 0; i < 1000000; i++) x = x * 3; return x; }\n\
                 __attribute__((noinline)) unsigned known_outside(unsigned n) { return inner(n) + 1; }\n\
                 int main(void) { unsigned n = 1; for (int i = 0; i < 40; i++) n += known_outside(n); return n == 7; }\n";
    std::fs::write(&source, text).unwrap();
    let args = ["-O1", "-fomit-frame-pointer", "-rdynamic", "-s", "-o"];
    assert!(Command::new("cc").args(args).args([&program, &source]).status().unwrap().success());
    let profiler = Profiler::of_commands(997, "command").unwrap();
    profiler.start(HostNamespaces::new());
    for _ in 0..10 {
        Busy::run(program.to_str().unwrap(), &[]).0.wait().unwrap();
    }
    profiler.stop(Arm::Control);
    let profile = profiler.take().remove(0);
    let is_it = |frame: &&Frame| frame.name == "library (command)";
    let its: Vec<_> = profile.stacks().filter(|(stack, _)| stack.iter().any(&is_it)).collect();
    let of = |wanted: fn(&[&Frame]) -> bool| -> u64 {
        its.iter().filter(|(stack, _)| wanted(stack)).map(|(_, samples)| samples).sum()
    };
    let nameless = of(|stack| stack.last().is_some_and(|frame| frame.name == "[library]"));
    let called = of(|stack| {
        stack.last().is_some_and(|frame| frame.name == "[library]")
            && stack.iter().any(|frame| frame.name == "known_outside")
    });
    assert!(nameless >= 50 && called * 10 >= nameless * 9, "{called} of {nameless}: {:?}", profile.frames);
}
