//! Chores of the project: `cargo xtask layers | test | bench | wording | docs | charts | kinds | faults | dist | deb | sbom | rows | site | pictures | fuzz | soak`.
//!
//! Few dependencies and no library of the project's own, so that it builds quickly on a machine that has nothing yet.

mod bench;
mod browser;
mod charts;
mod circles;
mod deb;
mod debian;
mod deny;
mod dist;
mod faults;
mod fuzz;
mod guest_kernel;
mod h2spec;
mod kinds;
mod layers;
mod netperf;
mod notices;
mod packages;
mod pictures;
mod prose;
mod python;
mod retries;
mod rows;
mod sbom;
mod shell;
mod site;
mod soak;
mod sources;
mod test_binary;
mod tests;
mod tool;
mod wording;
mod workers;

use std::process::ExitCode;

use faults::Selection;

const USAGE: &str = "\
cargo xtask layers            check that crates import only what they may, that no sibling modules use each other,
                              and that no file is too long
cargo xtask format            check that each file is formatted, also those that cargo fmt does not reach
cargo xtask test [--yes]      install what the tests need, then run everything: format, lints, layers, all tests
cargo xtask test --quick      format, lints, layers, wording, and the tests that only compute; installs nothing
cargo xtask wording           check comments, type names, pages, help and schemas, and lower the limits in xtask/wording.tsv
cargo xtask wording --lengths  print the median and the longest sentence of each page, of the help and of the schemas
cargo xtask docs [--check]    write docs/reference from the program itself, or check that it is up to date
cargo xtask charts            rebuild the program that draws the charts of pages (needs npm)
cargo xtask kinds [--check]   write into CONTRIBUTING.md how many files a kind of something touches, or check that
cargo xtask faults            run cases whose truth is known, and write into docs/causes.md which causes were named (needs root)
cargo xtask faults --rest [PROGRAM]
                              run those that no earlier run has measured, with this build of plimsoll instead of the tree's own
cargo xtask faults NAME [PROGRAM]
                              run those of this fault, workload, case or group (injected, outside), and print the tables
cargo xtask faults --tables   write docs/causes.md from what earlier runs have measured
cargo xtask dist [TARGET]     build the program as one file without shared libraries (by default for x86_64-unknown-linux-gnu)
cargo xtask dist --twice [TARGET]
                              build it twice, in two folders and from nothing, and fail unless both are the same
cargo xtask deb [TARGET]      build it, and pack it as a Debian package with manual, completions, unit and experiments
cargo xtask sbom [TARGET]     write what the program is made of, as CycloneDX (by default for x86_64-unknown-linux-gnu)
cargo xtask rows PROGRAM [PART]  run each row of the reports (or those with PART in their name) and its peer with this build of plimsoll, and
                              write docs/rows.md with this day beside earlier ones (needs root)
cargo xtask bench             repeat the rows of docs/benchmarks.md in short form, and keep the ratios to peers in xtask/bench.tsv (needs root)
cargo xtask bench --before FOLDER
                              run the rows in turns with the lab's programs of an earlier build in FOLDER, and fail where it was faster
cargo xtask bench --check [--before FOLDER]
                              fail where the ratios fell below the kept ones; with FOLDER, or PLIMSOLL_BENCH_BEFORE, also as above
cargo xtask site              make a site of docs
cargo xtask pictures [PAGE]   run the experiments of docs/questions, or of this page, and redraw their pictures (needs root and npm)
cargo xtask fuzz [READER|all [SECONDS]]
                              fuzz every reader of text and packets for 10 s each, or this one for SECONDS
cargo xtask soak [MINUTES [SEED [TRY]]]
                              kill, stop and starve runs for 10 minutes, and look after each try whether anything is lost or left (needs root);
                              with the same seed once more, or a single try of it";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match words.as_slice() {
        ["layers"] => layers::check().and_then(|()| circles::check()).and_then(|()| sources::check_lengths()),
        ["test"] => tests::run(false),
        ["test", "--yes"] => tests::run(true),
        ["test", "--quick"] => tests::quick(),
        ["format"] => tests::format(),
        ["wording"] => wording::check(true),
        ["wording", "--lengths"] => wording::lengths().map(|table| println!("{table}")),
        ["docs"] => shell::cargo(&[
            "run",
            "--quiet",
            "--package",
            "plimsoll",
            "--example",
            "reference",
            "--",
            "docs/reference",
        ]),
        ["charts"] => charts::make(),
        ["kinds"] => kinds::run(false),
        ["kinds", "--check"] => kinds::run(true),
        ["faults"] => faults::run(&Selection::All, None),
        ["faults", "--tables"] => faults::run(&Selection::None, None),
        ["faults", "--rest"] => faults::run(&Selection::Rest, None),
        ["faults", "--rest", program] => faults::run(&Selection::Rest, Some(program)),
        ["faults", name] => faults::run(&Selection::Named(name), None),
        ["faults", name, program] => faults::run(&Selection::Named(name), Some(program)),
        ["fuzz"] => fuzz::run(None, "10"),
        ["fuzz", "all", seconds] => fuzz::run(None, seconds),
        ["fuzz", reader] => fuzz::run(Some(reader), "10"),
        ["fuzz", reader, seconds] => fuzz::run(Some(reader), seconds),
        ["soak"] => soak::run("10", None, None),
        ["soak", minutes] => soak::run(minutes, None, None),
        ["soak", minutes, seed] => soak::run(minutes, Some(seed), None),
        ["soak", minutes, seed, only] => soak::run(minutes, Some(seed), Some(only)),
        ["dist"] => dist::run(dist::HERE),
        ["dist", "--twice"] => dist::twice(dist::HERE),
        ["dist", "--twice", target] => dist::twice(target),
        ["deb"] => deb::run(dist::HERE),
        ["deb", target] => deb::run(target),
        ["dist", target] => dist::run(target),
        ["sbom"] => sbom::run(dist::HERE),
        ["sbom", target] => sbom::run(target),
        ["rows", program] => rows::run(program, ""),
        ["rows", program, part] => rows::run(program, part),
        ["bench"] => bench::record(),
        ["bench", "--check"] => bench::check(None),
        ["bench", "--check", "--before", folder] => bench::check(Some(folder)),
        ["bench", "--before", folder] => bench::before(folder),
        ["site"] => site::run(),
        ["pictures"] => pictures::run(None),
        ["pictures", page] => pictures::run(Some(page)),
        ["docs", "--check"] => tests::docs_are_current(),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}
