//! Any text as numbers to judge: read or refused, and never a verdict on what is no number.
#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_judge::json::{self, Test};

fuzz_target!(|text: &str| {
    // Long series take long, and read no other way than short ones.
    if text.len() > 400 {
        return;
    }
    for test in Test::ALL {
        if let Ok(verdict) = json::judge_text(*test, text.to_owned(), None) {
            let estimate = verdict.get("estimate").and_then(serde_json::Value::as_f64);
            assert!(estimate.is_none_or(f64::is_finite), "{verdict}");
        }
    }
});
