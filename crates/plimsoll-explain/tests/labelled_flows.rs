//! Real flows with one fault injected into each: is the class that took the most time the one that was injected?

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use plimsoll_explain::stalls::{Analyzer, Class};

/// The class that took the most time in a capture; `None` where nothing stood still.
fn dominant(path: &Path) -> Option<Class> {
    let mut analyzer = Analyzer::new();
    let file = File::open(path).expect("the capture is there");
    let capture =
        plimsoll_import::packets::read(file, |packet| analyzer.packet(packet)).expect("it is readable");
    let shares = analyzer.finish(capture).time_share;
    shares.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)).map(|(class, _)| class)
}

/// The captures of a folder, each with the class that its name tells.
fn labelled(folder: &Path) -> Vec<(Class, PathBuf)> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut flows: Vec<_> = entries
        .map(|entry| entry.expect("the folder is readable").path())
        .filter_map(|path| {
            let name = path.file_stem()?.to_str()?.rsplit_once('-')?.0.to_owned();
            let class = Class::ALL.iter().copied().find(|class| class.name() == name)?;
            Some((class, path))
        })
        .collect();
    flows.sort();
    flows
}

/// F1 of each class, from pairs of what was injected and what was found.
fn f1(pairs: &[(Class, Option<Class>)]) -> BTreeMap<Class, f64> {
    let score = |class: Class| {
        let right = pairs.iter().filter(|&&pair| pair == (class, Some(class))).count();
        let injected = pairs.iter().filter(|(injected, _)| *injected == class).count();
        let found = pairs.iter().filter(|(_, found)| *found == Some(class)).count();
        2.0 * right as f64 / (injected + found).max(1) as f64
    };
    pairs.iter().map(|&(class, _)| (class, score(class))).collect()
}

/// One flow of each class, made by `tests/flows/generate.py`.
#[test]
fn the_class_of_a_kept_flow_is_the_one_that_was_injected() {
    let flows = labelled(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"));
    assert_eq!(flows.len(), Class::ALL.len(), "one flow for each class");
    for (class, path) in flows {
        assert_eq!(dominant(&path), Some(class), "{}", path.display());
    }
}

/// Runs `PLIMSOLL_FLOWS` flows for each class; the default is ten.
#[test]
#[ignore = "needs root, /dev/net/tun and python3; cargo xtask test runs it"]
fn fresh_flows_are_told_apart() {
    let folder = tempfile::tempdir().expect("a folder for the captures");
    let count = std::env::var("PLIMSOLL_FLOWS").unwrap_or_else(|_| "10".to_owned());
    let made = Command::new("python3")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/flows/generate.py"))
        .arg(folder.path())
        .args(["--per-class", &count])
        .status()
        .expect("python3 is installed");
    assert!(made.success(), "the flows could be made");
    let pairs: Vec<_> =
        labelled(folder.path()).iter().map(|(class, path)| (*class, dominant(path))).collect();
    let scores = f1(&pairs);
    let macro_f1 = scores.values().sum::<f64>() / scores.len() as f64;
    println!("{} flows, macro-F1 {macro_f1:.3}: {scores:.3?}", pairs.len());
    assert!(macro_f1 >= 0.90, "macro-F1 {macro_f1:.3}: {scores:.3?}");
    assert!(scores.values().all(|&score| score >= 0.80), "{scores:.3?}");
}
