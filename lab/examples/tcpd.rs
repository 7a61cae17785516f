//! Scores the changes that Plimsoll finds in the univariate series of the Turing Change Point Dataset against its annotators:
//! `cargo run --release --example tcpd -- FOLDER`, where FOLDER has `annotations.json` and `datasets/NAME/NAME.json`
//! (github.com/alan-turing-institute/TCPD).
//!
//! F1 and cover are those of van den Burg & Williams 2020, *An Evaluation of Change Point Detection Algorithms*: the first index counts as a change
//! for everybody, a change is found within 5, precision is against all annotators together and recall the mean of each.

use plimsoll_judge::changes::find_changes_with_gaps;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;

const MARGIN: usize = 5;

type Annotations = BTreeMap<String, BTreeMap<String, Vec<usize>>>;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: tcpd FOLDER")?;
    let folder = Path::new(&folder);
    let annotations: Annotations =
        serde_json::from_str(&std::fs::read_to_string(folder.join("annotations.json"))?)?;
    let mut scores = Vec::new();
    println!("| series | found | F1 | cover |\n| --- | --- | --- | --- |");
    for (name, annotators) in &annotations {
        let Some(series) = series(folder, name)? else { continue };
        let found: Vec<usize> = find_changes_with_gaps(&series)?.changes.iter().map(|c| c.index).collect();
        let score = (f1(annotators.values(), &found), cover(annotators.values(), &found, series.len()));
        println!("| {name} | {found:?} | {:.3} | {:.3} |", score.0, score.1);
        scores.push(score);
    }
    let mean = |of: fn(&(f64, f64)) -> f64| scores.iter().map(of).sum::<f64>() / scores.len() as f64;
    println!("| mean of {} | | {:.3} | {:.3} |", scores.len(), mean(|s| s.0), mean(|s| s.1));
    Ok(())
}

/// The values of a univariate series; nothing where the folder does not have it, or it has several columns.
fn series(folder: &Path, name: &str) -> Result<Option<Vec<Option<f64>>>, Box<dyn Error>> {
    let path = folder.join("datasets").join(name).join(format!("{name}.json"));
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(None) };
    let data: Value = serde_json::from_str(&text)?;
    let columns = data["series"].as_array().ok_or("no `series`")?;
    let [column] = &columns[..] else { return Ok(None) };
    let raw = column["raw"].as_array().ok_or("no `raw`")?;
    Ok(Some(raw.iter().map(Value::as_f64).collect()))
}

fn with_start(changes: &[usize]) -> BTreeSet<usize> {
    changes.iter().copied().chain([0]).collect()
}

/// How many of the true changes have one found within the margin, each of which counts once.
fn matched(truth: &BTreeSet<usize>, found: &BTreeSet<usize>) -> f64 {
    let mut left = found.clone();
    let mut count = 0.0;
    for at in truth {
        let near = left.iter().copied().filter(|x| x.abs_diff(*at) <= MARGIN).min_by_key(|x| x.abs_diff(*at));
        if let Some(near) = near {
            left.remove(&near);
            count += 1.0;
        }
    }
    count
}

fn f1<'a>(annotators: impl Iterator<Item = &'a Vec<usize>>, found: &[usize]) -> f64 {
    let found = with_start(found);
    let each: Vec<BTreeSet<usize>> = annotators.map(|changes| with_start(changes)).collect();
    let all: BTreeSet<usize> = each.iter().flatten().copied().collect();
    let precision = matched(&all, &found) / found.len() as f64;
    let recall =
        each.iter().map(|truth| matched(truth, &found) / truth.len() as f64).sum::<f64>() / each.len() as f64;
    2.0 * precision * recall / (precision + recall)
}

fn segments(changes: &[usize], n: usize) -> Vec<(usize, usize)> {
    let edges: Vec<usize> = with_start(changes).into_iter().chain([n]).collect();
    edges.windows(2).map(|pair| (pair[0], pair[1])).collect()
}

fn cover<'a>(annotators: impl Iterator<Item = &'a Vec<usize>>, found: &[usize], n: usize) -> f64 {
    let found = segments(found, n);
    let alike = |a: &(usize, usize), b: &(usize, usize)| {
        let common = a.1.min(b.1).saturating_sub(a.0.max(b.0)) as f64;
        common / ((a.1 - a.0 + b.1 - b.0) as f64 - common)
    };
    let of = |truth: &Vec<usize>| {
        let best = |a: &(usize, usize)| found.iter().map(|b| alike(a, b)).fold(0.0, f64::max);
        segments(truth, n).iter().map(|a| (a.1 - a.0) as f64 * best(a)).sum::<f64>() / n as f64
    };
    let (sum, count) = annotators.fold((0.0, 0.0), |(sum, count), truth| (sum + of(truth), count + 1.0));
    sum / count
}
