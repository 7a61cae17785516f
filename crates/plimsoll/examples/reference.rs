//! Writes the generated part of the documentation: `cargo xtask docs`.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;

use clap::CommandFactory;
use plimsoll::args::Args;
use plimsoll_import::figures::{Better, Checked, formats::ALL};
use plimsoll_model::cause::CauseId;
use plimsoll_model::event::EventLine;
use plimsoll_model::experiment::{
    BoundExpect, DeliveryExpect, DifferenceExpect, Experiment, InteractionExpect, ModesExpect, PathExpect,
    RecoveryExpect, SearchExpect,
};
use plimsoll_model::report::RunReport;
use plimsoll_model::trace::{PairReport, TraceReport};
use plimsoll_model::verdict::{Expected, Outcome, Standing, Verdict};

fn main() -> io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "docs/reference".into());
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    fs::write(folder.join("cli.md"), command_line())?;
    fs::write(folder.join("causes.md"), causes())?;
    fs::write(folder.join("outcomes.md"), outcomes())?;
    fs::write(folder.join("formats.md"), formats())?;
    for (name, schema) in [
        ("experiment", schemars::schema_for!(Experiment)),
        ("run", schemars::schema_for!(RunReport)),
        ("verdict", schemars::schema_for!(Verdict)),
        ("trace", schemars::schema_for!(TraceReport)),
        ("trace_pair", schemars::schema_for!(PairReport)),
        ("event", schemars::schema_for!(EventLine)),
    ] {
        let text = serde_json::to_string_pretty(&schema)? + "\n";
        fs::write(folder.join(format!("{name}.schema.json")), text)?;
    }
    Ok(())
}

fn command_line() -> String {
    let mut text = "# The command line\n\nMade by `cargo xtask docs` from the program itself.\n".to_owned();
    let mut whole = Args::command().term_width(110);
    whole.build();
    section(&mut text, "plimsoll", &mut whole.clone());
    for command in whole.get_subcommands_mut().filter(|command| command.get_name() != "help") {
        let name = format!("plimsoll {}", command.get_name());
        section(&mut text, &name, &mut command.clone().term_width(110));
    }
    text
}

fn section(text: &mut String, name: &str, command: &mut clap::Command) {
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    // Writing to a string cannot fail.
    let _ = write!(text, "\n## {name}\n\n```text\n{}\n```\n", lines.join("\n"));
}

fn causes() -> String {
    let mut text =
        "# Causes\n\nMade by `cargo xtask docs` from the catalogue. The ids are a public contract.\n"
            .to_owned();
    for cause in CauseId::ALL {
        let page = plimsoll_explain::causes::page(*cause);
        let _ = write!(
            text,
            "\n## {}\n\n{}.\n\n- **For:** {}\n- **Against:** {}\n- **Test:** {}\n- **Intervention:** {}\n- **Remedy:** {}\n",
            cause.id(),
            cause.title(),
            page.evidence_for,
            page.evidence_against,
            page.test,
            plimsoll_explain::causes::intervention(*cause),
            page.remedy
        );
    }
    text
}

/// Goals of the readers, with the commands that measure them.
const GOALS: &str = r"
**What is asked of the readers, and what they reach.** No value is read that is not in its line with that unit, and each line of a known block is read or reported. The commands draw new texts each time, which no reader was written for:

| command | what it tries | reached |
| --- | --- | --- |
| `cargo test -p plimsoll-import --test figures mixed` | 750 texts for each seed, of lines of all samples: shuffled, repeated, cut, quoted, in bold, with other units behind numbers | no wrong value, no wrong unit |
| `cargo test -p plimsoll-import --test figures headings` | each unit in a heading of each sample, changed to each other one and to one that nobody knows | no value keeps the old unit |
| `cargo test -p plimsoll-import --test figures damaged` | 50 damaged copies of each sample for each seed | no panic, no value that is not there |

There are three fixed seeds and one of the clock; `FIGURES_SEEDS=1,2` sets others. A failure names its seed.

Five readers who did not know the code collected 52, 58, 87, 102 and 135 posted texts in some 30 formats, none seen before (28 and 29 November 2026). The first look at each
set counts. What was mended after it says what these texts taught, and nothing about others:

| grade | first set: first look, mended | second set: first look, mended | third set: first look, mended | fourth set: first look | fifth set: first look |
| --- | --- | --- | --- | --- | --- |
| right | 22, 46 | 28, 41 | 48, 72 | 77 | 47 |
| read in part, with the rest reported | 5, 2 | 7, 7 | 7, 7 | 3 | 30 |
| refused, with nothing wrong | 13, 4 | 11, 8 | 16, 8 | 13 | 41 |
| a wrong value, unit or label | 8, 0 | 8, 2 | 11, 0 | 9 | 8 |
| figures left out silently | 4, 0 | 4, 0 | 5, 0 | 0 | 9 |

The first look at the second set was before the mends of the first. Wrong in it still: iperf 2 without the words sender and receiver, and an iperf3 excerpt that ends within its last line. Eight texts of the fourth hold no figures; their refusal counts as right. Wrong at its first look: three of iperf3, and one each of wrk2, ping, pytest-benchmark, perf report, schbench and a drawn table. The fifth set was graded by two further readers, cell by cell: columns that a read line leaves out count as silent, and titles of another block as in part. 20 of its 41 refused texts are read since then (siege, STREAM, UnixBench, openssl speed, cryptsetup, 7z, ioping, rados bench, GNU time, tables of three kernels and more); it was not graded again.

Lines of a known tool from which no figure is taken are listed (`without_figures` in JSON). Up to four values, or calls of a tool, are listed one by one; of more
there is a median.
";

fn formats() -> String {
    let mut text = "# Formats\n\nMade by `cargo xtask docs` from the readers. What `plimsoll import` reads from what other tools print; the name is that \
                    of `--as`. Where a metric is `*`, the columns keep the names that the tool gives them. Values keep the tool's unit; the column has the \
                    usual one.\n"
        .to_owned();
    text.push_str(GOALS);
    for format in ALL {
        let checked = match format.checked {
            Checked::Run(version) => {
                format!("Tests run the tool, and read what version {version} printed.")
            }
            Checked::Kept(version) => format!("Tests read what the tool printed, version {version}."),
            Checked::Documented(source) => {
                format!("From its documentation, since the tool cannot be had: {source}.")
            }
            Checked::Rule(rule) => format!("No tool of its own: {rule}."),
        };
        let _ = write!(text, "\n## {}\n\n{}: `{}`. {checked}\n", format.name, format.tool, format.command);
        if let Some(command) = format.elsewhere() {
            let _ =
                writeln!(text, "\n`import` recognises it, and names the command that reads it: `{command}`.");
            continue;
        }
        text.push_str(
            "\n| metric | unit | better | labels | what it is |\n| --- | --- | --- | --- | --- |\n",
        );
        for measured in format.measured() {
            let better = match measured.better {
                Better::Higher => "higher",
                Better::Lower => "lower",
                Better::Unknown => "",
            };
            let labels: Vec<String> = measured.labels.iter().map(|label| format!("`{label}`")).collect();
            let what = measured.what.replace('|', "\\|");
            let _ = writeln!(
                text,
                "| `{}` | {} | {better} | {} | {what} |",
                measured.metric,
                measured.unit,
                labels.join(", ")
            );
        }
        let main: Vec<String> = format.main.iter().map(|main| format!("`{main}`")).collect();
        let _ = writeln!(text, "\nJudged unless another is named: {}.", main.join(", else "));
    }
    text
}

fn outcomes() -> String {
    let mut text = "# Outcomes\n\nMade by `cargo xtask docs`. What each outcome of a verdict means for the exit status where nothing is expected: of \
                    `judge` and `compare`, and of claims without sides.\n\n\
                    | outcome | standing | exit status |\n| --- | --- | --- |\n"
        .to_owned();
    for &outcome in Outcome::ALL {
        let (standing, status) = match outcome.standing() {
            Standing::Holds => ("holds", 0),
            Standing::Fails => ("fails", 1),
            Standing::Open => ("open", 4),
        };
        let _ = writeln!(text, "| `{outcome}` | {standing} | {status} |");
    }
    text.push_str(
        "\nA claim of an experiment may say what it expects (`expect`, by default the first of its kind). It holds with these outcomes and fails with \
         the others; `undecided`, `too_few` and `invalid` leave it open.\n\n| claim | expect | holds with |\n| --- | --- | --- |\n",
    );
    for (claim, expectations) in expectations() {
        for expected in expectations {
            let outcomes: Vec<String> = expected.outcomes.iter().map(|it| format!("`{it}`")).collect();
            let _ = writeln!(text, "| {claim} | `{}` | {} |", expected.name, outcomes.join(", "));
        }
    }
    text
}

/// What each kind of claim may expect, the default first.
fn expectations() -> [(&'static str, Vec<Expected>); 8] {
    fn all<E: Copy + Into<Expected>>(kinds: &[E]) -> Vec<Expected> {
        kinds.iter().map(|expect| (*expect).into()).collect()
    }
    [
        ("recovery, hysteresis", all(RecoveryExpect::ALL)),
        ("difference", all(DifferenceExpect::ALL)),
        ("interaction", all(InteractionExpect::ALL)),
        ("modes", all(ModesExpect::ALL)),
        ("delivery", all(DeliveryExpect::ALL)),
        ("diagnose", all(PathExpect::ALL)),
        ("limit of a figure", all(BoundExpect::ALL)),
        ("limit by a search, with `at_least`", all(SearchExpect::ALL)),
    ]
}
