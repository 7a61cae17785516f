//! The program that draws the charts of pages: Plotly with the kinds of charts that pages have, from the packages of npm.

use std::fs;
use std::path::Path;

use crate::shell;

const PLOTLY: &str = "3.0.1";
const ESBUILD: &str = "0.25.12";
/// The kinds of charts beside `scatter`, which is always there.
const KINDS: [&str; 4] = ["bar", "heatmap", "histogram", "icicle"];
/// Options for pages: the program sets `Plotly`, and needs no other file.
const OPTIONS: [&str; 9] = [
    "--bundle",
    "--minify",
    "--format=iife",
    "--global-name=Plotly",
    "--target=es2016",
    "--define:global=window",
    "--define:define.amd=false",
    "--legal-comments=eof",
    "--charset=ascii",
];

/// Rebuilds `crates/plimsoll-report/assets/plotly-VERSION.min.js.gz`.
pub(crate) fn make() -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("plimsoll-charts-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let made = make_in(&folder);
    fs::remove_dir_all(&folder).map_err(|error| format!("cannot remove {}: {error}", folder.display()))?;
    made
}

fn make_in(folder: &Path) -> Result<(), String> {
    let text = folder.display().to_string();
    let packages = [format!("plotly.js@{PLOTLY}"), format!("esbuild@{ESBUILD}")];
    shell::run(
        "npm",
        &["install", "--no-audit", "--no-fund", "--prefix", &text, &packages[0], &packages[1]],
    )?;
    let kinds: Vec<String> = KINDS.iter().map(|kind| format!("require('plotly.js/lib/{kind}')")).collect();
    let entry = format!(
        "var Plotly = require('plotly.js/lib/core');\nPlotly.register([{}]);\nmodule.exports = Plotly;\n",
        kinds.join(", ")
    );
    let (from, to) = (folder.join("entry.js"), folder.join("plotly.min.js"));
    fs::write(&from, entry).map_err(|error| format!("cannot write {}: {error}", from.display()))?;
    let banner = format!(
        "--banner:js=/* plotly.js v{PLOTLY}, copyright 2012-2025 Plotly, Inc., MIT licence; scatter, {} alone */",
        KINDS.join(", ")
    );
    let out = format!("--outfile={}", to.display());
    let entry = from.display().to_string();
    let esbuild = folder.join("node_modules/.bin/esbuild").display().to_string();
    // Maps have styles of their own, and are not part of it.
    let words = [&[entry.as_str()], &OPTIONS[..], &["--loader:.css=empty", &banner, &out]].concat();
    shell::run(&esbuild, &words)?;
    shell::run("gzip", &["-9", "-n", "-f", &to.display().to_string()])?;
    let packed = format!("crates/plimsoll-report/assets/plotly-{PLOTLY}.min.js.gz");
    fs::copy(folder.join("plotly.min.js.gz"), &packed)
        .map_err(|error| format!("cannot write {packed}: {error}"))?;
    Ok(())
}
