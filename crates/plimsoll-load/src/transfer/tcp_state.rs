//! State of a connection in the kernel: `TCP_INFO`.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use plimsoll_model::observation::TcpState;

/// Longer than `struct tcp_info` of any kernel so far; what a kernel does not fill stays zero.
const LONGEST: usize = 320;

/// Reads the state of a connection.
///
/// # Errors
/// When the descriptor is no TCP socket.
pub(crate) fn read(socket: &impl AsFd, at_ns: u64) -> io::Result<TcpState> {
    let mut info = [0; LONGEST];
    let mut length = LONGEST as libc::socklen_t;
    #[expect(unsafe_code, reason = "neither libc nor nix know the fields that newer kernels added")]
    // SAFETY: the kernel writes at most `length` bytes to `info`, which has that many.
    let done = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            info.as_mut_ptr().cast(),
            &raw mut length,
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(parse(&info, at_ns))
}

/// The fields of `struct tcp_info` (include/uapi/linux/tcp.h), by their offset, which never changes: new ones are added at the end.
fn parse(info: &[u8; LONGEST], at_ns: u64) -> TcpState {
    let u32_at = |at: usize| u32::from_ne_bytes(info[at..at + 4].try_into().expect("four bytes"));
    let u64_at = |at: usize| u64::from_ne_bytes(info[at..at + 8].try_into().expect("eight bytes"));
    TcpState {
        at_ns,
        rto_us: u32_at(8),
        mss: u32_at(16),
        unacked: u32_at(24),
        srtt_us: u32_at(68),
        ssthresh: u32_at(76),
        cwnd: u32_at(80),
        retransmits: u32_at(100),
        acked_bytes: u64_at(120),
        received_bytes: u64_at(128),
        unsent_bytes: u32_at(144),
        min_rtt_us: u32_at(148),
        segments_out: u32_at(156),
        delivery_rate: u64_at(160),
        busy_us: u64_at(168),
        rwnd_limited_us: u64_at(176),
        sndbuf_limited_us: u64_at(184),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn bytes_that_were_sent_and_received_are_seen_on_either_side() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(&[1; 5000]).unwrap();
        server.read_exact(&mut [0; 5000]).unwrap();
        server.write_all(&[2; 300]).unwrap();
        client.read_exact(&mut [0; 300]).unwrap();
        let (of_client, of_server) = (read(&client, 7).unwrap(), read(&server, 7).unwrap());
        // The kernel counts the SYN as a byte that was acknowledged.
        assert!((5000..=5001).contains(&of_client.acked_bytes), "{of_client:?}");
        assert_eq!((of_client.received_bytes, of_server.received_bytes), (300, 5000));
        assert_eq!((of_client.at_ns, of_client.retransmits), (7, 0));
        assert!(of_client.cwnd > 0 && of_client.mss > 500 && of_client.srtt_us > 0, "{of_client:?}");
        assert!(of_client.segments_out >= 1 && of_client.rto_us >= 200_000, "{of_client:?}");
    }

    #[test]
    fn what_is_no_connection_is_an_error() {
        assert!(read(&std::fs::File::open("/dev/null").unwrap(), 0).is_err());
    }
}
