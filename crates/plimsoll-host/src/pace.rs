//! Capacity of an emulator on this machine.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use plimsoll_model::experiment::{HostKind, LinkShaper};

use crate::error::HostError;
use crate::process::Pipes;
use crate::reexec::{self, Stage};
use crate::rig::Rig;
use crate::spec::{AgentStderr, HostSpec, LinkShape, LinkSpec, RigSpec};

/// Long enough for tens of thousands of frames.
const DURATION: Duration = Duration::from_millis(300);
/// Bytes of each datagram: as small as TCP's acknowledgements, as the cost is per packet.
const SIZE: usize = 24;

/// The number of small frames per second that an emulator can carry here. Two hosts are created to measure it for a
/// third of a second.
///
/// To be called after [`enter`](crate::enter).
///
/// # Errors
/// When no hosts can be made, or nothing came through.
pub fn emulator_pace() -> Result<u64, HostError> {
    let shape = LinkShape { delay_ns: 1, ..LinkShape::default() };
    let shaper = Some(LinkShaper::Emulator);
    let mut rig = Rig::build(&RigSpec {
        hosts: ["sender", "receiver"].map(|name| HostSpec::new(name, HostKind::Namespace)).into(),
        links: vec![LinkSpec {
            shape: [shape.clone(), shape],
            shaper,
            ..LinkSpec::new("sender", "receiver")
        }],
        volumes: Vec::new(),
        program: PathBuf::from(reexec::THIS_EXECUTABLE),
        args: Stage::Pour.args().map(Into::into).into(),
        stderr: AgentStderr::Inherit,
        supervisor: None,
    })?;
    let failed = |source| HostError::Process { operation: "measuring what an emulator carries", source };
    let to = SocketAddr::new(rig.address_towards("sender", "receiver")?, 9);
    let Pipes { mut stdin, stdout, .. } = rig.pipes("sender")?;
    writeln!(stdin, "{to}").map_err(failed)?;
    BufReader::new(stdout).read_line(&mut String::new()).map_err(failed)?;
    let counts = rig.emulators()?;
    let pace = counts.first().and_then(|(_, counts)| counts.frames_per_second_at_most());
    rig.close()?;
    pace.ok_or_else(|| failed(io::Error::other("nothing came through")))
}

/// The stage that sends datagrams to each address it reads, and reports when it is done. It ends when its standard
/// input is closed.
pub(crate) fn pour() -> ExitCode {
    let poured = io::stdin().lines().try_for_each(|line| {
        let to: SocketAddr = line?.parse().map_err(io::Error::other)?;
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        let began = Instant::now();
        while began.elapsed() < DURATION {
            // No socket listens there, and the kernel reports that now and then.
            let _refused = socket.send_to(&[0; SIZE], to);
        }
        println!("poured");
        io::stdout().flush()
    });
    if poured.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
