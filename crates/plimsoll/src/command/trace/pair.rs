//! `plimsoll trace FIRST SECOND`: two captures of the same connections.

use std::io::{self, Write};
use std::path::Path;

use plimsoll_assess::capture;
use plimsoll_explain::pair::{self, Capture};
use plimsoll_model::trace::{Clocks, Delay, PairReport, PairedConnection, PairedDirection, SidedSilence};
use plimsoll_model::units::counted;

use super::{is_stdin, more_connections, open, unreadable};
use crate::args::{TraceArgs, TraceFormat};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

pub(super) fn run(args: &TraceArgs, other: &Path) -> Result<Exit, Failure> {
    if args.format == TraceFormat::Html {
        return Err(Failure::Usage(
            "a page shows one capture: give one file, or --format text or json for two".to_owned(),
        ));
    }
    if is_stdin(&args.file) && is_stdin(other) {
        return Err(Failure::Usage("standard input is one capture: name a file for the other".to_owned()));
    }
    let report = pair::compare([record(&args.file)?, record(other)?]);
    match args.format {
        TraceFormat::Json => output::json(&report),
        TraceFormat::Text | TraceFormat::Html => output::text(|out| text(out, &report, args.connections)),
    }?;
    Ok(Exit::Holds)
}

fn record(file: &Path) -> Result<Capture, Failure> {
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy().into_owned();
    let recorded = if is_stdin(file) {
        capture::record(io::stdin().lock(), name)
    } else {
        capture::record(open(file)?, name)
    };
    recorded.map_err(|error| unreadable(file, &error))
}

fn text(out: &mut dyn Write, report: &PairReport, most: usize) -> io::Result<()> {
    for capture in &report.captures {
        writeln!(
            out,
            "{}: {} ({}), {}",
            capture.file,
            counted(capture.packets, "packet"),
            capture.format,
            counted(capture.tcp_connections, "TCP connection")
        )?;
        for missing in &capture.missing {
            writeln!(out, "  note: {missing}")?;
        }
    }
    let Some(clocks) = &report.clocks else {
        return writeln!(
            out,
            "\nThe captures share no connection: no sequence numbers, acknowledgements and time stamps are in both. A proxy ends connections \
             and opens others; `plimsoll trace FILE` reads each capture alone."
        );
    };
    match report.connections.len() {
        1 => writeln!(out, "\n1 connection is in both captures")?,
        count => writeln!(out, "\n{count} connections are in both captures")?,
    }
    describe_clocks(out, clocks)?;
    for connection in report.connections.iter().take(most) {
        describe(out, connection, report)?;
    }
    match report.connections.len().saturating_sub(most) {
        0 => Ok(()),
        more => writeln!(out, "\n{}", more_connections(more as u64)),
    }
}

fn describe_clocks(out: &mut dyn Write, clocks: &Clocks) -> io::Result<()> {
    let round_trip = clocks.shortest_round_trip_ms;
    let (Some(ahead), Some(error), true) = (clocks.ahead_ms, clocks.ahead_error_ms, clocks.consistent) else {
        return match round_trip {
            Some(short) => writeln!(
                out,
                "clocks: not aligned. With one offset and one drift, packets would arrive {:.3} ms before they left: one of the clocks was set, \
                 or changed its rate. There are no one-way delays.",
                -short
            ),
            None => writeln!(
                out,
                "clocks: not aligned, since packets of one direction alone are in both captures. There are no one-way delays."
            ),
        };
    };
    let direction = if ahead < 0.0 { "behind" } else { "ahead" };
    writeln!(
        out,
        "clocks: the second is {:.3} ms {direction}, within {error:.3} ms ({} in {:.3} s); {}",
        ahead.abs(),
        counted(clocks.packets.iter().sum::<u64>(), "packet"),
        clocks.span_s,
        drift(clocks)
    )?;
    writeln!(
        out,
        "The shortest way between the points and back takes {:.3} ms. One-way delays assume that half of it is each direction's; \
         differences between delays of one direction need no assumption.",
        error * 2.0
    )
}

/// Clocks of computers are within 100 ppm of each other, so a bound far above that says nothing.
const WORST_DRIFT: f64 = 1000.0;

fn drift(clocks: &Clocks) -> String {
    match (clocks.drift_ppm, clocks.drift_error_ppm) {
        (Some(drift), Some(error)) => {
            let which = if drift < 0.0 { "slower" } else { "faster" };
            format!("it runs {:.2} ppm {which}, within {error:.2}", drift.abs())
        }
        (_, Some(error)) if 2.0 * error < WORST_DRIFT => {
            format!("they drift apart by less than {:.1} ppm", 2.0 * error)
        }
        (_, Some(_)) => "the time is too short to see a drift".to_owned(),
        _ => "too few packets to see a drift".to_owned(),
    }
}

fn describe(out: &mut dyn Write, connection: &PairedConnection, report: &PairReport) -> io::Result<()> {
    writeln!(out, "\n{} -> {}", connection.client, connection.server)?;
    if let Some([client, server]) = &connection.translated {
        writeln!(out, "  in the second capture {client} -> {server}: translated between the points")?;
    }
    let [near, far] = [connection.nearer_to_client, 1 - connection.nearer_to_client];
    let file = |at: usize| report.captures[at].file.as_str();
    writeln!(out, "  the client's point is {}, the server's {}", file(near), file(far))?;
    describe_direction(out, "client to server", &connection.from_client)?;
    describe_direction(out, "server to client", &connection.from_server)?;
    for silence in &connection.silences {
        describe_silence(out, silence, file(silence.seen_in))?;
    }
    Ok(())
}

fn describe_direction(out: &mut dyn Write, name: &str, direction: &PairedDirection) -> io::Result<()> {
    let PairedDirection { sent, arrived, lost, lost_bytes, only_arrived, resets_from_between, delay } =
        direction;
    write!(out, "  {name}: {} left, {arrived} arrived, ", counted(*sent, "packet"))?;
    match lost {
        0 => write!(out, "none lost")?,
        _ => write!(out, "{lost} lost ({})", counted(*lost_bytes, "byte"))?,
    }
    if *only_arrived > 0 {
        write!(out, ", {only_arrived} arrived without leaving")?;
    }
    if *resets_from_between > 0 {
        write!(
            out,
            " (something between the points sent {} of these)",
            counted(*resets_from_between, "reset")
        )?;
    }
    if let Some(Delay { min_ms, median_ms, p90_ms, p99_ms, max_ms, .. }) = delay {
        write!(
            out,
            "; delay min {min_ms:.3} ms, median {median_ms:.3}, p90 {p90_ms:.3}, p99 {p99_ms:.3}, max {max_ms:.3}"
        )?;
    }
    writeln!(out)
}

fn describe_silence(out: &mut dyn Write, silence: &SidedSilence, file: &str) -> io::Result<()> {
    writeln!(
        out,
        "  at {:>10.6} s of {file}  {:>9.3} ms  {:15} began {}: {}",
        silence.stall.start_s,
        silence.stall.length_ms,
        silence.stall.class.name(),
        silence.began,
        silence.because
    )
}
