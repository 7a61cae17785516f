//! `plimsoll trace`: where the time went in a packet file.

mod pair;

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;

use plimsoll_import::packets::ReadError;
use plimsoll_model::trace::{Class, ConnectionReport, Stall, TraceReport};
use plimsoll_model::units::counted;

use crate::args::{TraceArgs, TraceFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;
use plimsoll_assess::capture;

pub(crate) fn run(args: &TraceArgs) -> Result<Exit, Failure> {
    if let Some(other) = &args.other {
        return pair::run(args, other);
    }
    if args.format == TraceFormat::Html {
        return page(args);
    }
    let unreadable = |error| unreadable(&args.file, &error);
    let (report, _) = if is_stdin(&args.file) {
        capture::analyze(io::stdin().lock(), 0).map_err(unreadable)?
    } else {
        capture::analyze(open(&args.file)?, 0).map_err(unreadable)?
    };
    match args.format {
        TraceFormat::Json => output::json(&report),
        TraceFormat::Text | TraceFormat::Html => output::text(|out| {
            let left_out = text(out, &report, args.connections, args.stalls)?;
            if left_out > 0 {
                writeln!(out, "\n{}", more_connections(left_out))?;
            }
            if report.connections.iter().any(|connection| connection.stall_count > args.stalls as u64) {
                writeln!(out, "\n--stalls N shows more stalls of each connection")?;
            }
            Ok(())
        }),
    }?;
    Ok(Exit::Holds)
}

/// Which connections are worth a time-sequence graph is known only when all packets were read; then they are read again.
fn page(args: &TraceArgs) -> Result<Exit, Failure> {
    let mut file = if is_stdin(&args.file) { kept_stdin()? } else { open(&args.file)? };
    let unreadable = |error| unreadable(&args.file, &error);
    let (report, choice) = capture::analyze(&mut file, args.connections).map_err(unreadable)?;
    let time_sequences = if choice.is_empty() {
        Vec::new()
    } else {
        file.rewind().map_err(|error| Failure::io("read", &args.file, &error))?;
        capture::paint(&mut file, &report, &choice).map_err(unreadable)?
    };
    let name = args.file.file_name().unwrap_or_default().to_string_lossy();
    output::document(|out| plimsoll_report::html::trace(out, &name, &report, &time_sequences))?;
    Ok(Exit::Holds)
}

fn is_stdin(file: &Path) -> bool {
    file == Path::new("-")
}

fn open(file: &Path) -> Result<File, Failure> {
    File::open(file).map_err(|error| Failure::Usage(format!("cannot read {}: {error}", file.display())))
}

fn unreadable(file: &Path, error: &ReadError) -> Failure {
    Failure::Usage(format!("{}: {error}", file.display()))
}

/// A private file with all of standard input, at its beginning.
fn kept_stdin() -> Result<File, Failure> {
    let keep = || {
        let mut file = tempfile::tempfile()?;
        io::copy(&mut io::stdin().lock(), &mut file)?;
        file.rewind()?;
        Ok(file)
    };
    keep().map_err(|error: io::Error| Failure::could_not(format!("standard input cannot be kept: {error}")))
}

/// Where the time went, then the connections that stood still longest, each with its longest stalls. The number of connections that are left out.
pub(in crate::command) fn text(
    out: &mut dyn Write,
    report: &TraceReport,
    most: usize,
    most_stalls: usize,
) -> io::Result<u64> {
    let stalled: f64 = report.time_share.values().sum();
    writeln!(
        out,
        "{}, {} ({}), {}, {}",
        counted(report.packets, "packet"),
        counted(report.bytes, "byte"),
        report.format,
        counted(report.tcp_connections, "TCP connection"),
        counted(report.udp_flows, "UDP flow")
    )?;
    for missing in &report.missing {
        writeln!(out, "note: {missing}")?;
    }
    if report.tcp_connections == 0 {
        return Ok(0);
    }
    writeln!(out, "\nWhere the time went (share of all connections' lifetimes)")?;
    let mut shares: Vec<_> = report.time_share.iter().filter(|(_, share)| **share > 0.0).collect();
    shares.sort_by(|a, b| is_answered(*a.0).cmp(&is_answered(*b.0)).then(b.1.total_cmp(a.1)));
    for (class, share) in shares {
        writeln!(out, "  {:>6.2} %  {}", share * 100.0, class.name())?;
    }
    writeln!(out, "  {:>6.2} %  no stall", (1.0 - stalled).max(0.0) * 100.0)?;
    for (class, share) in &report.may_be_share {
        writeln!(
            out,
            "{:.2} % are in stalls of other classes that may also be {class}: the packets alone cannot tell",
            share * 100.0
        )?;
    }
    let mut connections: Vec<&ConnectionReport> = report.connections.iter().collect();
    let is_complete =
        |connection: &ConnectionReport| connection.stalls.iter().all(|stall| is_answered(stall.class));
    connections.sort_by(|a, b| is_complete(a).cmp(&is_complete(b)).then(b.stalled_s.total_cmp(&a.stalled_s)));
    for connection in connections.iter().take(most) {
        describe(out, connection, most_stalls)?;
    }
    Ok(report.tcp_connections.saturating_sub(connections.len().min(most) as u64))
}

/// States that connections are not listed.
fn more_connections(left_out: u64) -> String {
    format!("{}; --connections N shows more, --format json all", counted(left_out, "more connection"))
}

/// Stalls of a class are regular if there are at least this many, and the longest is at most this many times the
/// shortest.
const REGULAR: usize = 4;
const ALIKE: f64 = 1.1;

/// Stalls of unanswered requests come first: they are what users look for first.
fn is_answered(class: Class) -> bool {
    class != Class::Unanswered
}

/// Stalls of a class that all last about as long, with their lengths in order: a timer's time rather than a program's.
fn regular(connection: &ConnectionReport) -> Vec<(Class, Vec<f64>)> {
    let of_class = |class: Class| {
        let stalls = connection.stalls.iter().filter(|stall| stall.class == class);
        let mut lengths: Vec<f64> = stalls.map(|stall| stall.length_ms).collect();
        lengths.sort_by(f64::total_cmp);
        let is_regular = lengths.len() >= REGULAR && lengths[lengths.len() - 1] <= lengths[0] * ALIKE;
        is_regular.then_some((class, lengths))
    };
    Class::ALL.iter().copied().filter_map(of_class).collect()
}

/// A rate, as it follows the time of a connection.
fn rate(bytes_per_s: f64) -> String {
    if bytes_per_s < 1e5 {
        return format!(", {:.3} kB/s", bytes_per_s / 1e3);
    }
    format!(", {:.3} MB/s", bytes_per_s / 1e6)
}

fn describe(out: &mut dyn Write, connection: &ConnectionReport, most_stalls: usize) -> io::Result<()> {
    let rtt = connection.rtt_ms.map_or_else(|| "unknown".to_owned(), |ms| format!("{ms:.3} ms"));
    let rate = connection.rate_bytes_per_s.filter(|rate| *rate > 0.0).map_or_else(String::new, rate);
    let selective = match connection.from_client.selective_acks + connection.from_server.selective_acks {
        0 => String::new(),
        count => format!(", {} with SACK blocks", counted(count, "acknowledgement")),
    };
    let sent_again = connection.from_client.retransmissions + connection.from_server.retransmissions;
    let stalls = match connection.stall_count {
        0 => "no stall".to_owned(),
        1 => format!("1 stall of {:.3} s", connection.stalled_s),
        count => format!("{count} stalls of {:.3} s together", connection.stalled_s),
    };
    writeln!(
        out,
        "\n{} -> {}: {} in {:.3} s{rate}, RTT {rtt}, {}{selective}, {stalls}",
        connection.client,
        connection.server,
        counted(connection.bytes, "byte"),
        connection.duration_s,
        counted(sent_again, "retransmission"),
    )?;
    if connection.handshake.refused {
        writeln!(out, "  refused: the server answered the SYN with a reset")?;
    }
    if let Some(too_big) = connection.packets_too_big {
        writeln!(
            out,
            "  {} that packets were too big for a link (MTU {})",
            counted(too_big.reports, "ICMP report"),
            too_big.mtu
        )?;
    }
    for (class, stalls) in regular(connection) {
        let [first, .., last] = stalls.as_slice() else { continue };
        writeln!(
            out,
            "  regular: {} stalls of {class} last {:.1} ms each ({first:.1} to {last:.1})",
            stalls.len(),
            stalls[stalls.len() / 2]
        )?;
    }
    let shown = longest(&connection.stalls, most_stalls);
    for stall in &shown {
        writeln!(
            out,
            "  at {:>10.6} s  {:>9.3} ms  {:15} waiting for the {}: {}{}",
            stall.start_s,
            stall.length_ms,
            stall.class.name(),
            stall.waiting_for,
            stall.evidence,
            stall.may_be.map_or_else(String::new, |class| format!(" (may also be {class})"))
        )?;
    }
    match connection.stall_count.saturating_sub(shown.len() as u64) {
        0 => Ok(()),
        rest => writeln!(out, "  and {}", counted(rest, "shorter stall")),
    }
}

/// The longest stalls, in order of time.
fn longest(stalls: &[Stall], most: usize) -> Vec<&Stall> {
    let mut chosen: Vec<&Stall> = stalls.iter().collect();
    chosen.sort_by(|a, b| b.length_ms.total_cmp(&a.length_ms));
    chosen.truncate(most);
    chosen.sort_by(|a, b| a.start_s.total_cmp(&b.start_s));
    chosen
}
