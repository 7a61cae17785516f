//! Weeks of another monitor.

use std::fmt::Write as _;

use crate::lab::Lab;

/// 26 days of a file system that loses 432 MB a day, of which collectd wrote down a value every ten minutes.
fn filling() -> String {
    let start = 1_803_859_200_u64;
    (0..26 * 144).fold("epoch,value\n".to_owned(), |mut text, n| {
        let free = 2e10 - 3e6 * f64::from(n);
        writeln!(text, "{}.000,{free:.6}", start + 600 * u64::try_from(n).unwrap()).unwrap();
        text
    })
}

#[test]
fn a_disk_that_collectd_saw_fill_is_forecast_at_once_and_what_is_kept_stays() {
    let lab = Lab::new();
    let (file, weeks) = (lab.file("free.csv", &filling()), lab.path("weeks.sqlite").display().to_string());
    let named = format!("free./var={file}");
    let import = ["watch", "--keep", "400d", "--into", &weeks, "--import", &named];
    // 20 GB at 432 MB a day are gone after 46 days: the 16th of April.
    lab.plimsoll(&import).exits(0).prints("/var is full on 16 April 2027, 90 %:");
    lab.plimsoll(&["watch", "--kept", &weeks])
        .exits(0)
        .prints("1 series from 2027-03-01")
        .prints("/var is full on 16 April");
    lab.plimsoll(&import).exits(0).says("3744 values are left out");
    let other = lab.file("other.txt", "hello\n");
    lab.plimsoll(&["watch", "--keep", "9d", "--into", &weeks, "--import", &other])
        .exits(2)
        .says("this is no format of a monitor");
}
