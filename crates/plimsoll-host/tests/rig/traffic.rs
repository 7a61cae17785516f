//! Traffic that shows what a link does: single datagrams that come back, and streams.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

/// Sends every datagram back.
pub(crate) fn echo(address: &str) -> io::Result<String> {
    let socket = UdpSocket::bind(address)?;
    thread::spawn(move || {
        let mut buffer = [0; 2048];
        while let Ok((length, from)) = socket.recv_from(&mut buffer) {
            let _gone = socket.send_to(&buffer[..length], from);
        }
    });
    Ok("ok".into())
}

/// `ADDRESS COUNT PATIENCE`: sends COUNT datagrams, each when the one before it is back or given up after PATIENCE milliseconds. Replies with
/// the number that came back, and the quartile of their times in microseconds, which a busy machine affects least.
pub(crate) fn ping(words: &str) -> io::Result<String> {
    let words: Vec<&str> = words.split(' ').collect();
    let [to, count, patience] = words[..] else { return Err(io::Error::other("ADDRESS COUNT PATIENCE")) };
    let (to, count) = (to.parse::<SocketAddr>().map_err(io::Error::other)?, number(count)?);
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.set_read_timeout(Some(Duration::from_millis(number(patience)?)))?;
    let mut times = Vec::new();
    for n in 0..count {
        let began = Instant::now();
        socket.send_to(&n.to_be_bytes(), to)?;
        let mut answer = [0; 8];
        while let Ok((8, _)) = socket.recv_from(&mut answer) {
            if answer == n.to_be_bytes() {
                times.push(began.elapsed().as_micros());
                break;
            }
        }
    }
    times.sort_unstable();
    Ok(format!("{} {}", times.len(), times.get(times.len() / 4).copied().unwrap_or(0)))
}

/// `ADDRESS COUNT BYTES`: sends COUNT datagrams of this size at once. Replies with the number that came back within a second.
pub(crate) fn volley(words: &str) -> io::Result<String> {
    let words: Vec<&str> = words.split(' ').collect();
    let [to, count, bytes] = words[..] else { return Err(io::Error::other("ADDRESS COUNT BYTES")) };
    let to = to.parse::<SocketAddr>().map_err(io::Error::other)?;
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.set_read_timeout(Some(Duration::from_secs(1)))?;
    let datagram = vec![0; usize::try_from(number(bytes)?).map_err(io::Error::other)?];
    for _ in 0..number(count)? {
        socket.send_to(&datagram, to)?;
    }
    let mut buffer = [0; 2048];
    let mut back = 0;
    while socket.recv_from(&mut buffer).is_ok() {
        back += 1;
    }
    Ok(back.to_string())
}

/// Receives streams, and closes each at its end.
pub(crate) fn sink(address: &str) -> io::Result<String> {
    let listener = TcpListener::bind(address)?;
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            thread::spawn(move || io::copy(&mut stream, &mut io::sink()));
        }
    });
    Ok("ok".into())
}

/// `ADDRESS BYTES`: sends a stream. Replies with the microseconds until the far end had all of it.
pub(crate) fn pour(words: &str) -> io::Result<String> {
    let (to, bytes) = words.split_once(' ').ok_or_else(|| io::Error::other("ADDRESS BYTES"))?;
    let mut stream =
        TcpStream::connect_timeout(&to.parse().map_err(io::Error::other)?, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let began = Instant::now();
    let mut left = number(bytes)?;
    let buffer = [0; 65536];
    while left > 0 {
        let part = usize::try_from(left).map_or(buffer.len(), |left| left.min(buffer.len()));
        stream.write_all(&buffer[..part])?;
        left -= part as u64;
    }
    stream.shutdown(std::net::Shutdown::Write)?;
    stream.read_to_end(&mut Vec::new())?;
    Ok(began.elapsed().as_micros().to_string())
}

fn number(text: &str) -> io::Result<u64> {
    text.parse().map_err(io::Error::other)
}
