//! Bulk and UDP loads: bytes and datagrams, as many as go through or at a rate.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::share::share;
use crate::units::{ByteSize, Span};

/// Bytes over TCP, as many as go through: streams side by side, each a connection and a thread of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BulkLoad {
    /// Which way the bytes go, seen from the load.
    pub direction: Direction,
    /// How many streams there are (1 to 256).
    pub streams: u32,
    /// How the side that sends hands its bytes to the kernel.
    pub by: SendBy,
    /// How many bytes each call hands over (1 to 16M).
    pub chunk: ByteSize,
    /// Send messages of so many bytes (1 to 1G), each after the one before it was answered with one byte; without it, a stream that
    /// nobody answers. Only where `direction` is `send`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<ByteSize>,
    /// Wait so long between two calls of a message, or of a stream (at most 10 s), as a program does that waits for its own input.
    pub pause: Span,
    /// Whether the last call of a message, or of a stream, says that nothing more follows. A sender that says `more` with its last byte
    /// as well has it held back by the kernel for up to 200 ms.
    pub release: bool,
    /// How many bytes each stream sends in each direction. Give this or `duration`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<ByteSize>,
    /// How long each stream sends. Give this or `total`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
    /// Whether small segments are sent at once (`TCP_NODELAY`).
    pub no_delay: bool,
    /// The send buffer of both sides (`SO_SNDBUF`); by default the kernel chooses and adapts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_buffer: Option<ByteSize>,
    /// The receive buffer of both sides (`SO_RCVBUF`); by default the kernel chooses and adapts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<ByteSize>,
    /// The congestion control of both sides, such as `cubic` or `bbr`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// How long a stream may stand still before it counts as an error.
    pub timeout: Span,
}

impl Default for BulkLoad {
    fn default() -> Self {
        Self {
            direction: Direction::Send,
            streams: 1,
            by: SendBy::Write,
            chunk: ByteSize(128 << 10),
            message: None,
            pause: Span::default(),
            release: true,
            total: None,
            duration: None,
            no_delay: false,
            send_buffer: None,
            receive_buffer: None,
            congestion: None,
            timeout: Span::secs(10),
        }
    }
}

/// Which way bytes go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the load to the service.
    #[default]
    Send,
    /// From the service to the load.
    Receive,
    /// Both at a time, on the same connection.
    Both,
}

/// How bytes are handed to the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SendBy {
    /// send(2): the kernel copies them.
    #[default]
    Write,
    /// send(2) with `MSG_MORE`: what does not fill a segment waits for more.
    WriteMore,
    /// sendfile(2) from a file in memory: the kernel sends the file's own pages.
    Sendfile,
    /// splice(2) from a file in memory through a pipe.
    Splice,
    /// The same with `SPLICE_F_MORE`.
    SpliceMore,
    /// send(2) with `MSG_ZEROCOPY`: the kernel sends the program's own pages, and tells when it is done with them.
    Zerocopy,
}

impl SendBy {
    /// Whether what does not fill a segment is told to wait for more.
    #[must_use]
    pub fn says_more(self) -> bool {
        matches!(self, Self::WriteMore | Self::SpliceMore)
    }
}

/// Datagrams at a rate, counted where they arrive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct UdpLoad {
    /// How many flows there are, each a socket and a thread of its own (1 to 64).
    pub flows: u32,
    /// Datagrams per second of each flow (1 to 100000000); without it, as many as the system takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packets_per_second: Option<u64>,
    /// The length of a datagram in bytes, without headers (32 to 65507).
    pub size: u32,
    /// How long it goes on.
    pub duration: Span,
    /// How many datagrams are handed over in one call, at most (`sendmmsg`; 1 to 1024).
    pub batch: u32,
    /// Whether the kernel, or the network card, cuts datagrams of equal length out of larger ones (`UDP_SEGMENT`).
    pub gso: bool,
    /// The send and receive buffers (`SO_SNDBUF`, `SO_RCVBUF`); by default the kernel's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buffer: Option<ByteSize>,
}

impl Default for UdpLoad {
    fn default() -> Self {
        Self {
            flows: 1,
            packets_per_second: None,
            size: 1448,
            duration: Span::secs(5),
            batch: 64,
            gso: true,
            buffer: None,
        }
    }
}

impl BulkLoad {
    /// One of `number` parts of it, from 0.
    pub(super) fn part(&self, place: u32, number: u32) -> Self {
        Self {
            total: self.total.map(|all| ByteSize(share(all.0, place, number))),
            duration: self.duration.map(|all| Span(all.0 / number)),
            ..self.clone()
        }
    }

    /// So many messages of it, or as many bytes as so many calls hand over.
    pub(super) fn window(&self, calls: u64) -> Self {
        let each = self.message.unwrap_or(self.chunk).0;
        Self { total: Some(ByteSize(calls.saturating_mul(each))), duration: None, ..self.clone() }
    }
}

impl UdpLoad {
    /// How long a window is where no rate says how long its datagrams take.
    const WINDOW: Span = Span::millis(100);

    /// One of `number` equal parts of it.
    pub(super) fn part(&self, number: u32) -> Self {
        Self { duration: Span(self.duration.0 / number), ..self.clone() }
    }

    /// As long as so many datagrams of a flow take.
    pub(super) fn window(&self, datagrams: u64) -> Self {
        let length = |rate: u64| Span(std::time::Duration::from_secs_f64(datagrams as f64 / rate as f64));
        Self { duration: self.packets_per_second.map_or(Self::WINDOW, length), ..self.clone() }
    }
}
