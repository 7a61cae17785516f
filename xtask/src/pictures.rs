//! The pictures on the pages of `docs/questions`: of each a chart of the report of a real run.
//!
//! No part of `cargo xtask test`: the experiments run for minutes, and each time the figures are others.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{browser, packages, shell};

/// A page, its experiment, the chart of the report, and the choice on the page.
const PICTURES: &[(&str, &str, &str, Option<&str>)] = &[
    ("after-a-flood", "recovery/flood-relay-leaky-host", "load-over-time", None),
    ("both-kernels", "web/port-reuse-matrix", "interaction-1", None),
    ("rented-disk", "storage/timed-read", "modes-histogram-2", None),
    ("transfer-stalls", "bulk/splice-stalls", "time-sequence", Some("more_kept")),
    ("which-change", "mail/queue-journal", "levels-1", None),
];
const INTO: &str = "docs/questions/pictures";
/// Script for node that draws a chart.
const DRAW: &str = "xtask/picture.cjs";
const CHROMIUM: &str = "/usr/bin/chromium";
/// The exit statuses of a run that decided: no page shows an invalid or undecided one.
const DECIDED: [i32; 2] = [0, 1];

/// Runs all experiments, or the one of a page, and redraws the pictures.
pub(crate) fn run(only: Option<&str>) -> Result<(), String> {
    if !packages::is_root()? {
        return Err("what a host's kernel keeps is seen by root only: run `sudo -E env PATH=\"$PATH\" cargo xtask pictures`".into());
    }
    let wanted: Vec<_> = PICTURES.iter().filter(|(page, ..)| only.is_none_or(|only| only == *page)).collect();
    if wanted.is_empty() {
        let pages: Vec<&str> = PICTURES.iter().map(|(page, ..)| *page).collect();
        return Err(format!("a page was expected: {}", pages.join(", ")));
    }
    let target = shell::target_folder();
    browser::fetch(&target)?;
    shell::cargo(&["build", "--release", "--locked", "--package", "plimsoll"])?;
    fs::create_dir_all(INTO).map_err(|error| format!("{INTO}: {error}"))?;
    for (page, experiment, figure, choice) in wanted {
        draw(&target, page, experiment, figure, *choice)?;
    }
    Ok(())
}

fn draw(
    target: &Path,
    page: &str,
    experiment: &str,
    figure: &str,
    choice: Option<&str>,
) -> Result<(), String> {
    let report = std::path::absolute(target.join(format!("tmp/{page}.html")))
        .map_err(|error| format!("{page}: {error}"))?;
    let program = target.join("release/plimsoll");
    eprintln!("$ {} run {experiment} --quick", program.display());
    let status = Command::new(&program)
        .args(["run", experiment, "--quick", "--yes", "--html"])
        .arg(&report)
        .status()
        .map_err(|error| format!("cannot run {}: {error}", program.display()))?;
    if !status.code().is_some_and(|code| DECIDED.contains(&code)) {
        return Err(format!("{experiment} decided nothing: {status}"));
    }
    let modules = format!("NODE_PATH={}", target.join("tmp/npm/node_modules").display());
    let (report, picture) = (report.display().to_string(), format!("{INTO}/{page}.png"));
    let mut arguments = vec![modules.as_str(), "node", DRAW, CHROMIUM, &report, figure, &picture];
    arguments.extend(choice);
    shell::run("env", &arguments)
}
