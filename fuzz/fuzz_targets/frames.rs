//! Any bytes as what a controller and an agent say to each other: read or refused, and what is read is the same once it is written again.
#![no_main]

use std::fmt::Debug;

use libfuzzer_sys::fuzz_target;
use plimsoll_model::frame::{self, FromAgent, ToAgent};
use serde::{Serialize, de::DeserializeOwned};

fuzz_target!(|bytes: &[u8]| {
    read::<ToAgent>(bytes);
    read::<FromAgent>(bytes);
});

fn read<F: Debug + PartialEq + Serialize + DeserializeOwned>(mut bytes: &[u8]) {
    while let Ok(Some(read)) = frame::read::<F>(&mut bytes) {
        let mut written = Vec::new();
        frame::write(&mut written, &read).expect("it was short enough");
        let again = frame::read::<F>(&mut written.as_slice()).expect("it was just written");
        assert_eq!(again.as_ref(), Some(&read));
    }
}
