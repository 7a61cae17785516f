//! Place of a run's page.

use std::fs;
use std::os::unix::fs::symlink;

use crate::lab::Lab;
use crate::stores::SHORT;

#[test]
fn a_page_that_cannot_be_written_is_named_before_anything_is_measured() {
    let lab = Lab::of_ordinary_user();
    let experiment = lab.file("short.toml", SHORT);
    let file = lab.file("file", "");
    fs::create_dir(lab.path("folder")).expect("allowed");
    let folder = lab.path("folder").display().to_string();
    for page in ["/page.html", "/proc/self/page.html", &format!("{file}/page.html"), &folder] {
        lab.plimsoll(&["run", &experiment, "--html", page]).exits(3).prints_nothing().says(page);
    }
    lab.plimsoll(&["history"]).exits(0).prints_nothing();
}

#[test]
fn a_page_takes_the_place_of_a_link_and_leaves_alone_what_it_leads_to() {
    let lab = Lab::of_ordinary_user();
    let experiment = lab.file("short.toml", SHORT);
    let other = lab.file("other", "kept");
    let page = lab.path("page.html");
    symlink(&other, &page).expect("allowed");
    let named = page.display().to_string();
    lab.plimsoll(&["run", &experiment, "--html", &named]).exits(0);
    assert_eq!(fs::read_to_string(&other).expect("readable"), "kept");
    assert!(fs::read_to_string(&page).expect("readable").contains("How fast is it?"));
    assert!(!page.is_symlink());
    lab.plimsoll(&["run", &experiment, "--html", "/dev/null"]).exits(0);
    let left = |name: &str| name.starts_with(".plimsoll");
    let names = fs::read_dir(lab.folder()).expect("readable").flatten().map(|entry| entry.file_name());
    assert!(!names.into_iter().any(|name| name.to_str().is_some_and(left)), "nothing half written is left");
}
