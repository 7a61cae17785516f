//! `plimsoll trace`: where the time went in a packet file.

mod pair;

use std::fs::File;
use std::io::{self, Seek, Write};
use std::path::Path;

use plimsoll_import::packets::ReadError;
use plimsoll_model::trace::{Class, ConnectionReport, TraceReport};

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
        TraceFormat::Json => output::document(|out| plimsoll_report::json::pretty(out, &report)),
        TraceFormat::Text | TraceFormat::Html => output::text(|out| text(out, &report, args.connections)),
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

/// Where the time went, then the connections that stood still longest.
fn text(out: &mut dyn Write, report: &TraceReport, most: usize) -> io::Result<()> {
    let stalled: f64 = report.time_share.values().sum();
    writeln!(
        out,
        "{} packets, {} bytes ({}), {} TCP connections, {} UDP flows",
        report.packets, report.bytes, report.format, report.tcp_connections, report.udp_flows
    )?;
    for missing in &report.missing {
        writeln!(out, "missing: {missing}")?;
    }
    if report.tcp_connections == 0 {
        return Ok(());
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
            "{:.2} % of other classes may be {class} as well: the packets alone cannot tell",
            share * 100.0
        )?;
    }
    let mut connections: Vec<&ConnectionReport> = report.connections.iter().collect();
    let is_complete =
        |connection: &ConnectionReport| connection.stalls.iter().all(|stall| is_answered(stall.class));
    connections.sort_by(|a, b| is_complete(a).cmp(&is_complete(b)).then(b.stalled_s.total_cmp(&a.stalled_s)));
    for connection in connections.iter().take(most) {
        describe(out, connection)?;
    }
    let left_out = report.tcp_connections.saturating_sub(connections.len().min(most) as u64);
    if left_out > 0 {
        writeln!(out, "\n{left_out} more connections; --connections N shows more, --format json all")?;
    }
    Ok(())
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
    Class::ALL.into_iter().filter_map(of_class).collect()
}

fn describe(out: &mut dyn Write, connection: &ConnectionReport) -> io::Result<()> {
    let rtt = connection.rtt_ms.map_or_else(|| "unknown".to_owned(), |ms| format!("{ms:.3} ms"));
    let rate =
        connection.rate_bytes_per_s.map_or_else(String::new, |rate| format!(", {:.3} MB/s", rate / 1e6));
    let selective = connection.from_client.selective_acks + connection.from_server.selective_acks;
    let selective = match selective {
        0 => String::new(),
        count => format!(", {count} acknowledgements with SACK blocks"),
    };
    let sent_again = connection.from_client.retransmissions + connection.from_server.retransmissions;
    writeln!(
        out,
        "\n{} -> {}: {} bytes in {:.3} s{rate}, RTT {rtt}, {sent_again} retransmissions{selective}, {} stalls of {:.3} s together",
        connection.client,
        connection.server,
        connection.bytes,
        connection.duration_s,
        connection.stall_count,
        connection.stalled_s
    )?;
    if let Some(too_big) = connection.packets_too_big {
        writeln!(
            out,
            "  {} ICMP reports that packets were too big for a link (MTU {})",
            too_big.reports, too_big.mtu
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
    for stall in &connection.stalls {
        writeln!(
            out,
            "  at {:>10.6} s  {:>9.3} ms  {:15} waiting for the {}: {}{}",
            stall.start_s,
            stall.length_ms,
            stall.class.name(),
            stall.waiting_for,
            stall.evidence,
            stall.may_be.map_or_else(String::new, |class| format!(" (or {class}: its length fits as well)"))
        )?;
    }
    Ok(())
}
