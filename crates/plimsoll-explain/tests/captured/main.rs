//! Captures of programs that log what they do, made by `generate.py` beside this file: is every stall read as what it was?

mod books;
mod score;

use std::env;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

use books::Clock;
use plimsoll_explain::stalls::{Analyzer, Class, Limits, TraceReport};
use score::{Score, Truth};

/// Every stall is listed, however many there are.
fn analyzer() -> Analyzer {
    Analyzer::with_limits(Limits { stalls: 100_000, ..Limits::default() })
}

fn read(path: &Path) -> (TraceReport, Clock) {
    let (mut analyzer, mut clock) = (analyzer(), Clock::default());
    let file = File::open(path).expect("the capture is there");
    let summary = plimsoll_import::packets::read(file, |packet| {
        analyzer.packet(packet);
        clock.packet(packet);
    })
    .expect("it is readable");
    (analyzer.finish(summary), clock)
}

/// Makes the captures of a set in `folder`, by the seed and the scale of the environment or the usual ones.
fn generate(folder: &Path, set: &str) {
    let given = |variable: &str, usual: &str| env::var(variable).unwrap_or_else(|_| usual.to_owned());
    let mut command = Command::new("python3");
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captured/generate.py")).arg(folder);
    command.args([
        "--set",
        set,
        "--seed",
        &given("CAPTURED_SEED", "1"),
        "--scale",
        &given("CAPTURED_SCALE", "1"),
    ]);
    let output = command.output().expect("python3 is installed (apt install python3)");
    println!("{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "generate.py: {}", String::from_utf8_lossy(&output.stderr));
}

/// Makes the captures of a set and asserts what is read of them.
fn judge(set: &str, captures: usize) {
    let folder = tempfile::tempdir().expect("there is room for captures");
    generate(folder.path(), set);
    let (mut score, mut faults, mut seen) = (Score::default(), Vec::new(), 0);
    for entry in fs::read_dir(folder.path()).expect("the folder is there") {
        let path = entry.expect("it is readable").path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = fs::read_to_string(&path).expect("a truth file is text");
            let truth: Truth = serde_json::from_str(&text).expect("a truth file is as generate.py writes it");
            let (report, clock) = read(&folder.path().join(&truth.capture));
            let found = clock.audit(&report, truth.slack_s);
            faults.extend(found.into_iter().map(|fault| format!("{}: {fault}", truth.capture)));
            score.add(&truth, &report, &clock);
            seen += 1;
        }
    }
    println!("{score}");
    println!("{}", faults.join("\n"));
    assert!(seen >= captures && score.total.stalls() > 300, "{seen} captures, {:?}", score.total);
    assert!(faults.is_empty(), "{} faults in the accounts, printed above", faults.len());
    let share = |count: u32| f64::from(count) / f64::from(score.total.stalls());
    let told = format!("{:?}\n{}", score.total, score.misses.join("\n"));
    assert!(share(score.total.right) >= 0.95, "{told}");
    assert!(share(score.total.lost) <= 0.025, "{told}");
    assert!(share(score.total.invented) <= 0.01, "{told}");
}

#[test]
#[ignore = "needs root, python3, tcpdump, nft, editcap and /dev/net/tun; cargo xtask test installs and runs it"]
fn the_stalls_of_programs_that_log_what_they_do_are_read_right() {
    judge("usual", 14);
}

#[test]
#[ignore = "needs root, python3, tcpdump, nft, editcap and /dev/net/tun; cargo xtask test installs and runs it"]
fn stalls_are_read_right_on_links_and_of_programs_on_which_nothing_was_tuned() {
    judge("other", 14);
}

/// Old text of tcpdump: two segments, 204 ms, the rest of the answer, an acknowledgement that comes after 40 ms, and what had waited for it.
#[test]
fn nine_lines_of_old_text_show_a_held_segment_and_a_delayed_acknowledgement() {
    let (report, clock) = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captured/nine_lines.txt"));
    let [connection] = &report.connections[..] else { panic!("one connection: {:?}", report.connections) };
    let found: Vec<(Class, f64)> =
        connection.stalls.iter().map(|stall| (stall.class, stall.length_ms.round())).collect();
    assert_eq!(found, [(Class::SenderHeld, 204.0), (Class::DelayedAck, 40.0)]);
    assert_eq!(clock.audit(&report, 0.0), Vec::<String>::new());
}
