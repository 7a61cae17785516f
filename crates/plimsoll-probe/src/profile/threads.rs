//! Where one thread of a process is: running, in a queue for a CPU, or asleep in which functions of the kernel.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::sync::Arc;

use plimsoll_model::observation::WaitSite as Site;

use super::kept::KeptFile;

/// The frames of a stack that are kept, from the innermost on, up to the system call.
const FRAMES: usize = 6;
/// What the functions that system calls enter by begin with (include/linux/syscalls.h, arch/x86/include/asm/syscall_wrapper.h).
const CALLS: [&str; 7] =
    ["__x64_sys_", "__arm64_sys_", "__ia32_sys_", "__riscv_sys_", "__se_sys_", "__do_sys_", "ksys_"];

/// Where a thread waits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum WaitSite {
    /// The thread could run, and another does.
    Cpu,
    /// The thread sleeps in these functions of the kernel, the innermost first.
    Sleep {
        frames: Vec<Arc<str>>,
        /// The system call that it made, where that is known.
        call: Option<Arc<str>>,
    },
}

/// System calls that wait for descriptors, of which they may have none; and where the number of them stands among the arguments.
const WAIT_FOR_DESCRIPTORS: [(&str, usize); 4] = [("select", 0), ("pselect6", 0), ("poll", 1), ("ppoll", 1)];

/// System calls that wait for a lock on the file that is their first argument.
const LOCK_FILES: [&str; 2] = ["flock", "fcntl"];

/// Programs that say in their title that they wait for a lock, and the call that they sleep in meanwhile (PostgreSQL, "Standard Unix Tools": `UPDATE waiting`).
const TITLED: [(&str, &str); 2] = [("postgres", "epoll_wait"), ("postgres", "poll")];

/// Whether the title of a program says so.
fn waits_for_lock(title: &str) -> bool {
    title.trim_end_matches(['\0', ' ']).ends_with(" waiting")
}

/// A thread of a process.
#[derive(Debug)]
pub(super) struct Thread {
    /// The process, and the thread itself.
    ids: (u32, u32),
    wchan: KeptFile,
    /// Absent where it is not allowed.
    stack: Option<KeptFile>,
    schedstat: Option<KeptFile>,
    /// The time that it had waited for a CPU when it was last looked at, in nanoseconds.
    pub(super) delay_ns: Option<u64>,
    /// The time that it had run by then, in nanoseconds.
    ran_ns: Option<u64>,
    pub(super) look: u64,
}

/// What a thread did since it was last looked at.
pub(super) struct Schedule {
    /// For how long it ran, in nanoseconds.
    pub(super) ran_ns: u64,
    /// How long it waited for a CPU, in microseconds; `None` if it did not.
    pub(super) queued_us: Option<u64>,
}

impl Thread {
    pub(super) fn open(pid: u32, tid: u32, look: u64, room: &mut usize) -> Option<Self> {
        let mut open = |name: &str| KeptFile::open(format!("/proc/{pid}/task/{tid}/{name}"), room);
        let (wchan, stack) = (open("wchan").ok()?, open("stack").ok());
        let schedstat = open("schedstat").ok();
        Some(Self { ids: (pid, tid), wchan, stack, schedstat, delay_ns: None, ran_ns: None, look })
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &KeptFile> {
        std::iter::once(&self.wchan).chain(&self.stack).chain(&self.schedstat)
    }

    /// What it did since it was last looked at; `None` if the kernel does not tell.
    pub(super) fn schedule(&mut self, buffer: &mut [u8]) -> Option<Schedule> {
        let text = read(self.schedstat.as_ref()?, buffer).ok()?;
        let mut fields = text.split_ascii_whitespace().map(str::parse::<u64>);
        let (ran_ns, delay_ns) = (fields.next()?.ok()?, fields.next()?.ok()?);
        let before_ns = self.ran_ns.replace(ran_ns);
        let ran_ns = before_ns.map_or(0, |before_ns| ran_ns.saturating_sub(before_ns));
        let queued_ns =
            self.delay_ns.replace(delay_ns).map_or(0, |before_ns| delay_ns.saturating_sub(before_ns));
        Some(Schedule { ran_ns, queued_us: Some(queued_ns / 1000).filter(|us| *us > 0) })
    }

    /// Where it sleeps, as a thread of this program; `None` if it runs, or could.
    pub(super) fn asleep(
        &mut self,
        buffer: &mut [u8],
        names: &mut HashMap<String, Arc<str>>,
        program: &str,
    ) -> Option<WaitSite> {
        let mut name = |text: &str| kept_once(text, names);
        let text = read(&self.wchan, buffer).ok()?;
        if text == "0" || text.is_empty() {
            return None;
        }
        let alone = WaitSite::Sleep { frames: vec![name(as_in_the_source(text))], call: None };
        let Some(stack) = &self.stack else { return Some(alone) };
        match read(stack, buffer) {
            Ok(text) => {
                let (frames, call) = parse_stack(text);
                let frames: Vec<_> = frames.into_iter().map(&mut name).collect();
                let call = call.map(|call| match self.reason(call, program) {
                    Some(reason) => name(&format!("{call}{reason}")),
                    None => name(call),
                });
                // The thread woke between the two reads.
                (!frames.is_empty()).then_some(WaitSite::Sleep { frames, call })
            }
            Err(_) => {
                // The kernel denies the stack, and will deny it the next time.
                self.stack = None;
                Some(alone)
            }
        }
    }

    /// The reason of its sleep in this call, where the kernel's functions do not tell it: the end of the call's name.
    fn reason(&self, call: &str, program: &str) -> Option<String> {
        let (pid, tid) = self.ids;
        if TITLED.contains(&(program, call)) {
            let title = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            return waits_for_lock(&title).then(|| Site::FOR_A_LOCK.to_owned());
        }
        let argument = |at: usize| {
            let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
            u64::from_str_radix(text.split_ascii_whitespace().nth(1 + at)?.strip_prefix("0x")?, 16).ok()
        };
        if LOCK_FILES.contains(&call) {
            let file = fs::read_link(format!("/proc/{pid}/fd/{}", argument(0)?)).ok()?;
            return Some(format!("{}{}", Site::OF_A_FILE, as_in_experiments(&file.to_string_lossy())));
        }
        let (_, at) = WAIT_FOR_DESCRIPTORS.iter().find(|(name, _)| *name == call)?;
        (argument(*at)? == 0).then(|| Site::TIMEOUT_ALONE.to_owned())
    }
}

/// How the name of a service's own folder begins, which is another one in each trial, and what experiment files call it.
const FOLDER: (&str, &str) = ("/plimsoll-service-", "{scratch}");

/// A path as experiment files write it.
fn as_in_experiments(path: &str) -> String {
    match path.split_once(FOLDER.0) {
        Some((_, rest)) => format!("{}{}", FOLDER.1, rest.find('/').map_or("", |at| &rest[at..])),
        None => path.to_owned(),
    }
}

/// A text of which there are few, and which many have.
pub(super) fn kept_once(text: &str, names: &mut HashMap<String, Arc<str>>) -> Arc<str> {
    match names.get(text) {
        Some(known) => Arc::clone(known),
        None => Arc::clone(names.entry(text.to_owned()).or_insert_with(|| text.into())),
    }
}

/// The functions of `/proc/PID/stack`, the innermost first, as far as they are known; and the system call.
fn parse_stack(text: &str) -> (Vec<&str>, Option<&str>) {
    let mut frames = Vec::new();
    for line in text.lines() {
        let Some(symbol) = line.split_ascii_whitespace().nth(1) else { continue };
        let name = as_in_the_source(symbol.split('+').next().unwrap_or(symbol));
        if let Some(call) = CALLS.iter().find_map(|start| name.strip_prefix(start)) {
            return (frames, Some(call));
        }
        if frames.len() < FRAMES {
            frames.push(name);
        }
    }
    (frames, None)
}

/// A name without what the compiler has added to it: `do_select.constprop.0`.
fn as_in_the_source(symbol: &str) -> &str {
    symbol.split('.').next().unwrap_or(symbol)
}

fn read<'b>(file: &KeptFile, buffer: &'b mut [u8]) -> io::Result<&'b str> {
    let length = file.read(buffer)?;
    let text = std::str::from_utf8(&buffer[..length]).map_err(io::Error::other)?;
    Ok(text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_with_its_timeout_alone_or_with_the_lock_of_a_file() {
        let locked = tempfile::NamedTempFile::new().unwrap();
        let path = locked.path().to_str().unwrap();
        let of = |call: &str, script: &str| {
            let script = format!("import fcntl, select; print(flush=True); {script}");
            let mut child = std::process::Command::new("python3");
            let (stdin, stdout) = (std::process::Stdio::piped(), std::process::Stdio::piped());
            let mut child = child.args(["-c", &script]).stdin(stdin).stdout(stdout).spawn().unwrap();
            io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut [0]).unwrap();
            std::thread::sleep(std::time::Duration::from_millis(200));
            let thread = Thread::open(child.id(), child.id(), 0, &mut 8).unwrap();
            let reason = thread.reason(call, "python3");
            child.kill().unwrap();
            child.wait().unwrap();
            reason
        };
        let select = |sets| of("pselect6", &format!("select.select({sets}, [], [], 60)"));
        assert_eq!((select("[]"), select("[0]")), (Some(Site::TIMEOUT_ALONE.to_owned()), None));
        let wait = format!("fcntl.flock(open('{path}'), fcntl.LOCK_EX)");
        let script = format!("held = open('{path}'); fcntl.flock(held, fcntl.LOCK_EX); {wait}");
        assert_eq!(of("flock", &script), Some(format!("{}{path}", Site::OF_A_FILE)));
    }

    #[test]
    fn a_file_of_a_service_has_one_name_in_all_trials() {
        let of = |folder: &str| as_in_experiments(&format!("/dev/shm/plimsoll-service-{folder}/pid/smtp"));
        assert_eq!(
            (of("vjnz8I").as_str(), of("QB0pU5").as_str()),
            ("{scratch}/pid/smtp", "{scratch}/pid/smtp")
        );
        assert_eq!(as_in_experiments("/srv/sess"), "/srv/sess");
    }

    #[test]
    fn a_title_tells_that_a_server_waits_for_a_lock() {
        assert!(waits_for_lock("postgres: me shop [local] UPDATE waiting\0\0"));
        assert!(!waits_for_lock("postgres: me shop [local] idle in transaction\0"));
    }

    #[test]
    fn a_stack_is_told_up_to_the_system_call() {
        let text = "[<0>] jbd2_log_wait_commit+0xe6/0x130 [jbd2]\n[<0>] ext4_sync_file.isra.0+0x2ad/0x3d0\n\
                    [<0>] __x64_sys_fsync+0x3b/0x70\n[<0>] do_syscall_64+0x71/0x280\n";
        assert_eq!(parse_stack(text), (vec!["jbd2_log_wait_commit", "ext4_sync_file"], Some("fsync")));
        assert_eq!(parse_stack(""), (vec![], None));
        let kernel_thread = "[<0>] worker_thread+0x1a/0x30\n[<0>] kthread+0xf/0x20\n";
        assert_eq!(parse_stack(kernel_thread), (vec!["worker_thread", "kthread"], None));
    }
}
