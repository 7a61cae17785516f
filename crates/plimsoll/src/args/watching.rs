//! Arguments of `watch`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::FalseyValueParser;
use plimsoll_model::units::{ByteSize, Span};

use super::PlainFormat;

/// The part of the machine to look at, beside all of it.
#[derive(Debug, clap::Args)]
pub struct TargetArgs {
    /// Count what this network namespace counts: its name (as `ip netns` has it) or the id of a process in it. Needs root.
    #[arg(long, value_name = "NAME|PID", conflicts_with_all = ["cgroup", "pid"])]
    pub netns: Option<String>,
    /// Look at this control group, of version 1 or 2, beside the machine: a folder, or its path below /sys/fs/cgroup.
    #[arg(long, value_name = "PATH", conflicts_with = "pid")]
    pub cgroup: Option<PathBuf>,
    /// Look at this process and its children: what they use, and their network namespace and control group beside the machine. Needs root where the
    /// namespace is another one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub pid: Option<u32>,
}

/// Arguments of `record`.
#[derive(Debug, clap::Args)]
pub struct RecordArgs {
    /// The part of the machine to look at.
    #[command(flatten)]
    pub target: TargetArgs,
    /// How long to record. Ctrl-C ends it earlier, and the file is complete.
    #[arg(long = "for", value_name = "TIME", default_value = "60s")]
    pub length: Span,
    /// The file to write: gzip of JSON lines [default: plimsoll-TIME.jsonl.gz in this folder].
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace addresses, names of hosts, users, programs, groups and mounts by pseudonyms. The same name has the same one in all recordings of this
    /// machine.
    #[arg(long)]
    pub redact: bool,
    /// Keep the TCP and UDP headers of all packets for this long, at the beginning or once a counter got worse: 1 s to 30 s. No payload is kept.
    /// Needs root or CAP_NET_RAW.
    #[arg(long, value_name = "TIME")]
    pub packets: Option<Span>,
    /// Record until this counter gets worse: keep the minute before and half a minute after. A counter is named as in a recording, such as
    /// netstat.TcpExt.ListenOverflows, or is one of: cpu, cpu-wait, memory-wait, io-wait, retransmits, listen-queue, memory.
    #[arg(long, value_name = "METRIC", conflicts_with = "length")]
    pub until_worse: Option<String>,
}

/// Arguments of `watch`.
#[derive(Debug, clap::Args)]
pub struct WatchArgs {
    /// The part of the machine to look at.
    #[command(flatten)]
    pub target: TargetArgs,
    /// How often to look.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "1s",
        env = "PLIMSOLL_EVERY",
        conflicts_with = "replay"
    )]
    pub every: Span,
    /// Look this number of times, and end.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,
    /// Write what was read to this file, to be replayed.
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub record: Option<PathBuf>,
    /// Show what was recorded, by `watch --record` or by `record`. On a terminal the arrow keys go back and forth in time.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["netns", "cgroup", "pid"])]
    pub replay: Option<PathBuf>,
    /// Keep what is seen for this long (400d): seconds for a day, minutes for a month, hours for all of them, in a file of bounded size. What
    /// changes beside the cycles of days and weeks is printed, one line each.
    #[arg(long, value_name = "DAYS", value_parser = days, conflicts_with_all = ["replay", "record", "every"])]
    pub keep: Option<Duration>,
    /// The file in which it is kept [default: plimsoll/weeks.sqlite in the user's state folder].
    #[arg(long, value_name = "FILE", requires = "keep")]
    pub into: Option<PathBuf>,
    /// The most that the file may take on disk.
    #[arg(long, value_name = "SIZE", default_value = "95M")]
    pub bound: ByteSize,
    /// Keep what another monitor kept, and end: a file of `rrdtool dump` or `rrdtool fetch`, a CSV file of collectd, `sadf -d` or `sar -f`. A name before it
    /// is that of its series. May be given several times.
    #[arg(long, value_name = "[NAME=]FILE", requires = "keep")]
    pub import: Vec<String>,
    /// Print a systemd unit that keeps what this machine does, and end.
    #[arg(long, conflicts_with_all = ["replay", "record", "into", "kept"])]
    pub unit: bool,
    /// Print the changes in the kept values and the limits that come near, and end.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["replay", "record", "keep"])]
    pub kept: Option<PathBuf>,
    /// Print lines on a terminal, too, instead of using the whole screen.
    #[arg(long, env = "PLIMSOLL_NO_LIVE", value_parser = FalseyValueParser::new(), action = clap::ArgAction::SetTrue)]
    pub no_live: bool,
    /// How to print it: JSON is one object a line (schema plimsoll.watch/1).
    #[arg(long, value_enum, default_value_t, env = "PLIMSOLL_FORMAT")]
    pub format: PlainFormat,
}

/// A number of days, as `400d`.
fn days(text: &str) -> Result<Duration, String> {
    const DAY: u64 = 86_400;
    let number = text.strip_suffix('d').and_then(|number| number.parse::<u64>().ok());
    let days = number.filter(|days| (1..=4_000).contains(days));
    days.map(|days| Duration::from_secs(days * DAY))
        .ok_or_else(|| "1d to 4000d was expected, a number of days".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_need_their_unit() {
        assert_eq!(days("400d"), Ok(Duration::from_secs(400 * 86_400)));
        for wrong in ["400", "0d", "4001d", "-1d", "d", "1.5d", "400h"] {
            assert!(days(wrong).is_err(), "{wrong}");
        }
    }
}
