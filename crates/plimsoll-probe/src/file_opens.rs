//! Which files processes open, as the kernel reports it (fanotify(7)). That needs CAP_SYS_ADMIN.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use nix::errno::Errno;
use nix::fcntl::AT_FDCWD;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::fanotify::{EventFFlags, Fanotify, FanotifyEvent, InitFlags, MarkFlags, MaskFlags};

use crate::settings::mount_points;
use crate::small_file;
use crate::tree::parent_of;

/// Number of opens by program and path. It is a lower bound: the kernel merges unread opens of one file by one process.
pub type FileOpens = BTreeMap<(String, String), u64>;

/// How many milliseconds pass at most until the end is noticed.
const NOTICED_WITHIN: u16 = 10;
/// How far up the process tree a process is followed.
const MOST_ANCESTORS: usize = 32;

/// Collects what is opened until it is ended.
pub struct OpenWatch {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<FileOpens>,
}

impl OpenWatch {
    /// Watches what this process starts, these other processes, and what they start. Processes that have ended before their event is read are left out.
    ///
    /// # Errors
    /// The kernel does not report opens, or does not allow it.
    pub fn begin(others: &BTreeSet<u32>) -> io::Result<Self> {
        let init = InitFlags::FAN_CLASS_NOTIF
            | InitFlags::FAN_CLOEXEC
            | InitFlags::FAN_NONBLOCK
            | InitFlags::FAN_UNLIMITED_QUEUE
            | InitFlags::FAN_UNLIMITED_MARKS;
        let events =
            Fanotify::init(init, EventFFlags::O_RDONLY | EventFFlags::O_LARGEFILE | EventFFlags::O_CLOEXEC)?;
        let how = MarkFlags::FAN_MARK_ADD | MarkFlags::FAN_MARK_FILESYSTEM;
        let mark = |point: &Path| events.mark(how, MaskFlags::FAN_OPEN, AT_FDCWD, Some(point));
        let marked = mount_points().iter().filter(|point| mark(point.as_path()).is_ok()).count();
        if marked == 0 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, others) = (Arc::clone(&is_over), others.clone());
        let thread = thread::Builder::new()
            .name("opens".into())
            .spawn(move || collect(&events, &over, Tree::below(others)))?;
        Ok(Self { is_over, thread })
    }

    /// Ends the watch and returns how often each file was opened.
    pub fn end(self) -> FileOpens {
        self.is_over.store(true, Ordering::Release);
        // A thread that panicked has reported it already.
        self.thread.join().unwrap_or_default()
    }
}

fn collect(events: &Fanotify, is_over: &AtomicBool, mut tree: Tree) -> FileOpens {
    let mut opens = FileOpens::new();
    loop {
        let is_last = is_over.load(Ordering::Acquire);
        match events.read_events() {
            Ok(batch) => {
                for open in batch.iter().filter_map(|event| opened(event, &mut tree)) {
                    *opens.entry(open).or_default() += 1;
                }
            }
            Err(Errno::EAGAIN) if !is_last => {
                // Whatever woke it up, it reads again.
                let _ = poll(
                    &mut [PollFd::new(events.as_fd(), PollFlags::POLLIN)],
                    PollTimeout::from(NOTICED_WITHIN),
                );
            }
            Err(Errno::EINTR) => {}
            Err(_) => return opens,
        }
    }
}

/// The program and the path of an event, if the process is watched.
fn opened(event: &FanotifyEvent, tree: &mut Tree) -> Option<(String, String)> {
    let program = tree.program(event.pid().try_into().ok()?)?;
    let path = fs::read_link(format!("/proc/self/fd/{}", event.fd()?.as_raw_fd())).ok()?;
    Some((program, path.into_os_string().into_string().ok()?))
}

/// The processes that are watched.
struct Tree {
    own: u32,
    others: BTreeSet<u32>,
    /// The latest name of each process that was asked; `None` for those that are not watched.
    known: HashMap<u32, Option<String>>,
}

impl Tree {
    fn below(others: BTreeSet<u32>) -> Self {
        Self { own: std::process::id(), others, known: HashMap::new() }
    }

    /// The program of a process, if that is watched. One that has ended keeps the name that it had at its last event.
    fn program(&mut self, pid: u32) -> Option<String> {
        let is_watched = self.known.get(&pid).map_or_else(|| self.has(pid), Option::is_some);
        let name = || small_file::text(Path::new(&format!("/proc/{pid}/comm"))).ok();
        let known = self.known.entry(pid).or_default();
        if let Some(name) = is_watched.then(name).flatten() {
            *known = Some(name.trim_end().to_owned());
        }
        known.clone()
    }

    fn has(&self, pid: u32) -> bool {
        let is_root = |at: u32| at == self.own || self.others.contains(&at);
        let mut above = std::iter::successors(Some(pid), |at| parent_of(*at)).take(MOST_ANCESTORS);
        pid != self.own && above.any(is_root)
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    #[ignore = "needs root"]
    fn files_that_a_child_and_its_children_open_are_counted_and_those_of_strangers_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        for name in ["own", "others"] {
            fs::write(file(name), "text").unwrap();
        }
        let watch = OpenWatch::begin(&BTreeSet::new()).unwrap();
        // A process that ends at once may be gone before its event is read.
        let line = format!("read x < {0}; timeout 0.3 tail -f {0}; true", file("own"));
        assert!(Command::new("bash").args(["-c", &line]).output().unwrap().status.success());
        fs::read(file("others")).unwrap();
        let opens = watch.end();
        let of = |program: &str, name: &str| opens.get(&(program.to_owned(), file(name))).copied();
        assert_eq!((of("bash", "own"), of("tail", "own")), (Some(1), Some(1)), "{opens:?}");
        assert!(opens.keys().all(|(_, path)| *path != file("others")), "{opens:?}");
    }
}
