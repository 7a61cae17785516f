//! Any text as an experiment file: read into a plan, or refused at places that are in the file.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_model::plan::{Plan, Settings};

fuzz_target!(|text: &str| {
    for quick in [false, true] {
        match Plan::read("fuzzed", text, &Settings { quick, ..Settings::default() }) {
            Ok(plan) => assert!(!plan.cells.is_empty()),
            Err(error) => {
                for error in error.all() {
                    assert!(!error.message.is_empty());
                    let inside = |span: &std::ops::Range<usize>| error.text.get(span.clone()).is_some();
                    assert!(error.span.as_ref().is_none_or(inside), "{error:?}");
                }
            }
        }
    }
});
