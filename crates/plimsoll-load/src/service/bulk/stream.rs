//! One connection of the service.

use std::io::{self, ErrorKind, Read};
use std::net::{Shutdown, TcpStream};
use std::path::Path;
use std::thread::{self, Builder, sleep};
use std::time::Duration;

use plimsoll_model::experiment::{BulkLoad, BulkService, Direction};

use super::desk::{Desk, MOST_FLOWS};
use crate::transfer::exchange::Exchange;
use crate::transfer::opening::{self, MAGIC, Opening};
use crate::transfer::{Inlet, Patience, Stop, socket, tcp_limits, tcp_state};

/// How long datagrams may still be on their way when their sender has done.
const QUIET: Duration = Duration::from_millis(150);
/// How long a flow is waited for at most.
const FLOW_WITHIN: Duration = Duration::from_secs(5);
/// How long a connection that announces nothing may be silent.
const SILENCE: Duration = Duration::from_secs(60);

/// Serves a connection to its end.
pub(super) fn attend(mut stream: TcpStream, options: &BulkService, desk: &Desk) -> io::Result<()> {
    stream.set_read_timeout(Some(Patience::POLL))?;
    if !is_announced(&mut stream)? {
        let load = BulkLoad { timeout: plimsoll_model::units::Span(SILENCE), ..BulkLoad::default() };
        return take(&Exchange { stream: &stream, load: &load, stop: Stop::NEVER }, options);
    }
    match opening::receive(&mut stream)? {
        Opening::Stream { id, load } => {
            if let Err(error) = socket::prepare(&stream, &load) {
                return opening::refuse(&mut stream, &error);
            }
            opening::ready(&mut stream)?;
            let exchange = Exchange { stream: &stream, load: &load, stop: Stop::NEVER };
            let done = carry(&exchange, options);
            desk.leave(id, tcp_state::read(&stream, 0)?);
            done
        }
        Opening::States { ids } => {
            opening::ready(&mut stream)?;
            opening::send(&mut stream, &desk.states(&ids))
        }
        Opening::Limits => match tcp_limits::read(Path::new("/")) {
            Ok(limits) => {
                opening::ready(&mut stream)?;
                opening::send(&mut stream, &limits)
            }
            Err(error) => opening::refuse(&mut stream, &error),
        },
        Opening::Datagrams { flow, .. } => {
            if !desk.begin(flow) {
                return opening::refuse(&mut stream, &format!("{MOST_FLOWS} flows are under way already"));
            }
            opening::ready(&mut stream)?;
            let ended = wait_for_byte(&mut stream);
            let counts = desk.end(flow, QUIET, FLOW_WITHIN);
            ended?;
            opening::send(&mut stream, &counts)
        }
    }
}

/// Whether a connection begins as a load's does. One that is silent for long, or says something else, does not.
fn is_announced(stream: &mut TcpStream) -> io::Result<bool> {
    let mut beginning = [0; MAGIC.len()];
    let mut filled = 0;
    while filled < beginning.len() {
        match stream.read(&mut beginning[filled..]) {
            Ok(0) => return Ok(false),
            Ok(n) => filled += n,
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
        if !MAGIC.starts_with(&beginning[..filled]) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Lets the bytes flow as was agreed on.
fn carry(exchange: &Exchange<'_>, options: &BulkService) -> io::Result<()> {
    match (exchange.load.direction, exchange.load.message) {
        (Direction::Send, Some(message)) => {
            let mut inlet = inlet(options);
            exchange.answer(message.0, &mut inlet, &mut |_| pause(options))
        }
        (Direction::Send, None) => take(exchange, options),
        (Direction::Receive, _) => {
            exchange.send(&mut |_| {})?;
            exchange.wait_for_end().map(drop)
        }
        (Direction::Both, _) => thread::scope(|scope| {
            let sending =
                Builder::new().spawn_scoped(scope, || exchange.send_and_see_it_arrive(&mut |_| {}))?;
            let taken = take(exchange, options);
            if taken.is_err() {
                // The thread that sends must not wait for a peer that is gone.
                exchange.stream.shutdown(Shutdown::Both).ok();
            }
            let sent = sending.join().unwrap_or_else(|_| Err(ErrorKind::Other.into()));
            taken.and(sent.map(drop))
        }),
    }
}

fn take(exchange: &Exchange<'_>, options: &BulkService) -> io::Result<()> {
    pause(options);
    exchange.take_all(&mut inlet(options), &mut |_| pause(options)).map(drop)
}

fn inlet(options: &BulkService) -> Inlet {
    Inlet::new(options.take, usize::try_from(options.read_size().0).unwrap_or(usize::MAX))
}

fn pause(options: &BulkService) {
    if !options.pause.0.is_zero() {
        sleep(options.pause.0);
    }
}

/// Waits for the byte with which a load says that it has sent its datagrams, or for its end.
fn wait_for_byte(stream: &mut TcpStream) -> io::Result<()> {
    loop {
        match stream.read(&mut [0]) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => return Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => {}
            Err(error) => return Err(error),
        }
    }
}
