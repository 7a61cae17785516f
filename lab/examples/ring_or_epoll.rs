//! Whether io_uring would serve a generator better than epoll: the same closed loop on both, in turns, on one server:
//!
//! `ring_or_epoll ADDRESS [seconds=1] [rounds=7] [connections=50]`
//!
//! Each loop does the least that a generator can do: it sends a request, receives the answer, whose length it has learnt beforehand, and
//! begins again, on kept connections or on a new one each time. The figure is the number of requests per second of its own
//! CPU time (user and system, of its thread). To be run pinned to a CPU (taskset) that the server does not use.
//!
//! The ring's loop hands the kernel a chain (connect, send and receive) in one entry of the queue each, and gets a completion for the end of the chain alone.

use std::error::Error;
use std::io::{self, Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::{Duration, Instant};

use io_uring::{IoUring, opcode, squeue, types};
use nix::errno::Errno;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockType, SockaddrIn, connect, recv, send, socket,
};
use plimsoll_lab::rounds::{median, ratio};

type Failed = Box<dyn Error>;

/// The room for an answer.
const ANSWER: usize = 16_384;

/// A request to repeat, and for how long.
struct Task {
    target: SocketAddrV4,
    request: &'static [u8],
    /// The length of an answer.
    answer: usize,
    kept: bool,
    connections: usize,
    length: Duration,
}

impl Task {
    fn new(target: SocketAddrV4, kept: bool, connections: usize, length: Duration) -> Result<Self, Failed> {
        let request: &[u8] = if kept {
            b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
        } else {
            b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        };
        let mut stream = TcpStream::connect(target)?;
        stream.write_all(request)?;
        // The whole answer of a small document is there at once.
        let answer = stream.read(&mut [0; ANSWER])?;
        Ok(Self { target, request, answer, kept, connections, length })
    }
}

fn main() -> Result<(), Failed> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let target: SocketAddrV4 = words.first().ok_or("which address?")?.parse()?;
    let setting = |name: &str, default: f64| -> Result<f64, Failed> {
        let given = words.iter().find_map(|word| word.strip_prefix(&format!("{name}=")));
        Ok(given.map_or(Ok(default), str::parse)?)
    };
    let length = Duration::from_secs_f64(setting("seconds", 1.0)?);
    let (rounds, connections) = (setting("rounds", 7.0)? as usize, setting("connections", 50.0)? as usize);
    println!(
        "| connections | epoll, per CPU second | io_uring | io_uring/epoll, median and range of {rounds} rounds |"
    );
    println!("| --- | --- | --- | --- |");
    for (name, kept) in [("kept", true), ("one for each request", false)] {
        let task = Task::new(target, kept, connections, length)?;
        let (mut epoll, mut ring) = (Vec::new(), Vec::new());
        for _ in 0..rounds {
            epoll.push(per_cpu_second(&task, by_epoll)?);
            ring.push(per_cpu_second(&task, by_ring)?);
        }
        println!(
            "| {name} | {:.0} | {:.0} | {} |",
            median(&epoll),
            median(&ring),
            ratio(&format!("io_uring, {name}, epoll"), &ring, &epoll)
        );
    }
    Ok(())
}

fn per_cpu_second(task: &Task, by: fn(&Task) -> Result<u64, Failed>) -> Result<f64, Failed> {
    let before = cpu_seconds()?;
    let done = by(task)?;
    Ok(done as f64 / (cpu_seconds()? - before))
}

fn cpu_seconds() -> Result<f64, Failed> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

fn open(flags: SockFlag) -> Result<OwnedFd, Failed> {
    let opened = socket(AddressFamily::Inet, SockType::Stream, flags | SockFlag::SOCK_CLOEXEC, None)?;
    nix::sys::socket::setsockopt(&opened, nix::sys::socket::sockopt::TcpNoDelay, &true)?;
    Ok(opened)
}

/// A connection of the epoll loop; `None` before its request is sent.
struct Polled {
    socket: OwnedFd,
    received: Option<usize>,
}

fn by_epoll(task: &Task) -> Result<u64, Failed> {
    let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
    let interest = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLET;
    let begin = |n: usize| -> Result<Polled, Failed> {
        let socket = open(SockFlag::SOCK_NONBLOCK)?;
        match connect(socket.as_raw_fd(), &SockaddrIn::from(task.target)) {
            Ok(()) | Err(Errno::EINPROGRESS) => {}
            Err(errno) => return Err(errno.into()),
        }
        epoll.add(&socket, EpollEvent::new(interest, n as u64))?;
        Ok(Polled { socket, received: None })
    };
    let ask = |polled: &mut Polled| -> Result<(), Failed> {
        send(polled.socket.as_raw_fd(), task.request, MsgFlags::MSG_NOSIGNAL)?;
        polled.received = Some(0);
        Ok(())
    };
    let mut all = (0..task.connections).map(begin).collect::<Result<Vec<_>, _>>()?;
    let mut events = [EpollEvent::empty(); 256];
    let mut buffer = [0; ANSWER];
    let (start, mut done) = (Instant::now(), 0);
    while start.elapsed() < task.length {
        // A ring of the round before is still being taken down, and interrupts the wait.
        let number = match epoll.wait(&mut events, EpollTimeout::try_from(Duration::from_secs(1))?) {
            Err(Errno::EINTR) => continue,
            number => number?,
        };
        for event in &events[..number] {
            let n = event.data() as usize;
            let polled = &mut all[n];
            let Some(received) = &mut polled.received else {
                if event.events().contains(EpollFlags::EPOLLOUT) {
                    ask(polled)?;
                }
                continue;
            };
            if !event.events().contains(EpollFlags::EPOLLIN) {
                continue;
            }
            *received += match recv(polled.socket.as_raw_fd(), &mut buffer, MsgFlags::empty()) {
                Ok(length) => length,
                Err(Errno::EAGAIN) => 0,
                Err(errno) => return Err(errno.into()),
            };
            if *received >= task.answer {
                done += 1;
                if task.kept {
                    ask(polled)?;
                } else {
                    all[n] = begin(n)?;
                }
            }
        }
    }
    Ok(done)
}

/// The ring, and the memory that the kernel uses: it must outlive the ring's work.
struct Ring<'t> {
    task: &'t Task,
    ring: IoUring,
    address: Box<libc::sockaddr_in>,
    sockets: Vec<OwnedFd>,
    buffers: Vec<Box<[u8; ANSWER]>>,
}

impl<'t> Ring<'t> {
    fn new(task: &'t Task) -> Result<Self, Failed> {
        let ring = IoUring::builder().setup_single_issuer().setup_defer_taskrun().build(1024)?;
        let address = libc::sockaddr_in {
            sin_family: libc::AF_INET as libc::sa_family_t,
            sin_port: task.target.port().to_be(),
            sin_addr: libc::in_addr { s_addr: u32::from(*task.target.ip()).to_be() },
            sin_zero: [0; 8],
        };
        let sockets =
            (0..task.connections).map(|_| open(SockFlag::empty())).collect::<Result<Vec<_>, _>>()?;
        let buffers = (0..task.connections).map(|_| Box::new([0; ANSWER])).collect();
        Ok(Self { task, ring, address: Box::new(address), sockets, buffers })
    }

    fn push(&mut self, entry: &squeue::Entry) -> io::Result<()> {
        loop {
            #[expect(
                unsafe_code,
                reason = "what an entry points to has to outlive its work, which no type says"
            )]
            // SAFETY: entries point to the request, which is static, and to the address and the buffers of this struct, whose places on
            // the heap do not move; the ring is dropped, and with it what it still does, before them: it is declared before them.
            let pushed = unsafe { self.ring.submission().push(entry) };
            if pushed.is_ok() {
                return Ok(());
            }
            self.ring.submit()?;
        }
    }

    fn connect(&mut self, n: usize) -> io::Result<()> {
        let (fd, address) = (types::Fd(self.sockets[n].as_raw_fd()), &raw const *self.address);
        let length = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        self.push(&opcode::Connect::new(fd, address.cast(), length).build().flags(quiet_link()))
    }

    fn ask(&mut self, n: usize) -> io::Result<()> {
        let fd = types::Fd(self.sockets[n].as_raw_fd());
        let request = self.task.request;
        self.push(
            &opcode::Send::new(fd, request.as_ptr(), request.len() as u32)
                .flags(libc::MSG_NOSIGNAL)
                .build()
                .flags(quiet_link()),
        )?;
        self.receive(n)
    }

    fn receive(&mut self, n: usize) -> io::Result<()> {
        let fd = types::Fd(self.sockets[n].as_raw_fd());
        let buffer = self.buffers[n].as_mut_ptr();
        self.push(&opcode::Recv::new(fd, buffer, ANSWER as u32).build().user_data(n as u64 + 1))
    }
}

/// Links the next entry to this one, which has a completion only if it fails.
fn quiet_link() -> squeue::Flags {
    squeue::Flags::IO_LINK | squeue::Flags::SKIP_SUCCESS
}

fn by_ring(task: &Task) -> Result<u64, Failed> {
    let mut ring = Ring::new(task)?;
    for n in 0..task.connections {
        ring.connect(n)?;
        ring.ask(n)?;
    }
    let mut received = vec![0; task.connections];
    let (start, mut done) = (Instant::now(), 0);
    while start.elapsed() < task.length {
        ring.ring.submit_and_wait(1)?;
        let ended: Vec<(u64, i32)> =
            ring.ring.completion().map(|entry| (entry.user_data(), entry.result())).collect();
        for (number, result) in ended {
            let Some(n) = (number as usize).checked_sub(1) else {
                return Err(format!("connecting or sending: {}", Errno::from_raw(-result)).into());
            };
            if result <= 0 {
                return Err(format!("receiving: {}", Errno::from_raw(-result)).into());
            }
            received[n] += result as usize;
            if received[n] < task.answer {
                ring.receive(n)?;
                continue;
            }
            (received[n], done) = (0, done + 1);
            if !task.kept {
                ring.sockets[n] = open(SockFlag::empty())?;
                ring.connect(n)?;
            }
            ring.ask(n)?;
        }
    }
    Ok(done)
}
