//! The formats: each is one file here and one line in this list.

use super::error::ReadError;
use super::format::Format;

/// Imports that every format needs.
mod prelude {
    pub(super) use super::super::format::{
        Checked, Document, Fit, Format, Options, Out, Reader, Start, side,
    };
    pub(super) use super::super::json::Json;
    pub(super) use super::super::line::Line;
    pub(super) use super::super::number::{Decimal, clock, count, duration, leading, number, plain};
    pub(super) use super::super::rules::{self, impossible_shares};
    pub(super) use super::super::sysstat::{self, Clocked};
    pub(super) use super::super::unit::{self, HeadingTime};
}

/// Declares a module for each format, and the list of them.
macro_rules! formats {
    ($($name:ident,)+) => {
        $(mod $name;)+

        /// Every format, in the order in which they are tried.
        pub const ALL: &[&Format] = &[$(&$name::FORMAT,)+];
    };
}

formats! {
    ab,
    benchstat,
    cross_table,
    csv,
    mmtests,
    lkp,
    perf_report,
    perf_bench,
    schbench,
    dd,
    gnu_time,
    time,
    boom,
    artillery,
    autocannon,
    bombardier,
    siege,
    stream,
    unixbench,
    cryptsetup,
    sevenzip,
    openssl_speed,
    ioping,
    rados_bench,
    stress_ng,
    ycsb,
    ping,
    cyclictest,
    criterion,
    fio,
    flent,
    go_bench,
    google_benchmark,
    h2load,
    hackbench,
    hdparm,
    hey,
    hyperfine,
    iostat,
    iperf3,
    iperf,
    jmh,
    k6,
    memtier,
    locust,
    mpstat,
    mtr,
    netperf,
    npad,
    nstat,
    numbers,
    oha,
    pathchar,
    pchar,
    perf_script,
    perf_stat,
    pgbench,
    pidstat,
    postal,
    pytest_benchmark,
    redis_benchmark,
    sockperf,
    sar,
    ss,
    sysbench,
    table,
    tcpdump,
    tiotest,
    top,
    turbostat,
    vegeta,
    vmstat,
    vmstat_bsd,
    wrk,
}

/// The format of this name.
///
/// # Errors
/// There is none.
pub fn named(name: &str) -> Result<&'static Format, ReadError> {
    ALL.iter().copied().find(|format| format.name == name).ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|format| format.name).collect();
        ReadError::NoFormat { name: name.to_owned(), known: known.join(", ") }
    })
}
