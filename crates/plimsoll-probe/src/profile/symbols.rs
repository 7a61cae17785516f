//! The names of functions: those of the kernel from `/proc/kallsyms`, those of programs from their files.

use std::collections::HashMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use blazesym::MaybeDefault;
use blazesym::helper::read_elf_build_id;
use blazesym::symbolize::source::{Elf, Kernel, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use plimsoll_model::observation::{CallCount, Frame, FrameKind, Profile, ProfileBuilder};

use super::HostNamespaces;
use super::processes::Identity;
use super::rings::Sampled;

/// Where a function is: in the kernel by its address, in a file by the offset.
type Place = (Option<Arc<Path>>, u64);

/// Where Debian and others keep symbols that were taken out of programs, by build id.
const DEBUG_FILES: &str = "/usr/lib/debug/.build-id";
/// What the processes of no host belong to.
const MACHINE: &str = "machine";
/// What threads of the kernel, and interrupts of idle CPUs, belong to.
const KERNEL: &str = "kernel";
/// What softirqs belong to that follow an interrupt.
const SOFTIRQ: &str = "softirq";

/// Finds names, and remembers them.
pub(super) struct Symbols {
    symbolizer: Symbolizer,
    kernel: Source<'static>,
    /// The file that has the names of each program: itself, or one beside it.
    files: HashMap<Arc<Path>, Source<'static>>,
    known: HashMap<Place, Frame>,
}

impl Symbols {
    pub(super) fn new() -> Self {
        let kernel = Kernel {
            vmlinux: MaybeDefault::None,
            kaslr_offset: Some(0),
            debug_syms: false,
            ..Kernel::default()
        };
        Self {
            symbolizer: Symbolizer::builder().enable_code_info(false).enable_inlined_fns(false).build(),
            kernel: Source::Kernel(kernel),
            files: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// What was sampled, with names.
    pub(super) fn name(
        &mut self,
        sampled: &Sampled,
        hosts: &HostNamespaces,
        mut into: ProfileBuilder,
    ) -> Profile {
        let mut idle = 0;
        for (stack, samples) in &sampled.stacks {
            let kernel: Vec<Frame> =
                stack.kernel.iter().rev().map(|address| self.frame((None, *address))).collect();
            let softirq = softirq(&kernel);
            if stack.is_idle_task && softirq.is_none() && !kernel.iter().any(is_interrupt) {
                idle += samples;
                continue;
            }
            let mut whole = Vec::new();
            match softirq {
                Some(Softirq { at, interrupts: true }) => {
                    whole.push(Frame::new(FrameKind::Shared, SOFTIRQ));
                    whole.extend_from_slice(&kernel[at..]);
                }
                _ => {
                    whole.push(owner(&stack.process, hosts));
                    whole.push(Frame::new(FrameKind::Process, &*stack.process.name));
                    whole.extend(
                        stack
                            .user
                            .iter()
                            .rev()
                            .map(|(file, offset)| self.frame((Some(Arc::clone(file)), *offset))),
                    );
                    whole.extend(kernel);
                }
            }
            into.add(&whole, *samples);
        }
        for ((call, process), count) in &sampled.calls {
            into.call(&CallCount {
                call: *call,
                owner: owner(process, hosts),
                process: process.name.to_string(),
                count: *count,
            });
        }
        into.miss(sampled.lost, idle);
        into.build()
    }

    fn frame(&mut self, place: Place) -> Frame {
        if let Some(frame) = self.known.get(&place) {
            return frame.clone();
        }
        let frame = match &place {
            (None, address) => {
                let found = self.symbolizer.symbolize_single(&self.kernel, Input::AbsAddr(*address));
                let name = found.ok().and_then(Symbolized::into_sym).map(|it| it.name.into_owned());
                Frame::new(FrameKind::Kernel, name.as_deref().map_or("[kernel]", as_in_the_source))
            }
            (Some(file), offset) => {
                let source = self.files.entry(Arc::clone(file)).or_insert_with(|| source(file));
                let found = self.symbolizer.symbolize_single(source, Input::FileOffset(*offset));
                let name = found.ok().and_then(Symbolized::into_sym).map(|it| it.name.into_owned());
                Frame::new(FrameKind::User, name.unwrap_or_else(|| unnamed(file)))
            }
        };
        self.known.insert(place, frame.clone());
        frame
    }
}

/// The name of a function of the kernel, without what the compiler adds to parts and copies of it (`.part.0`, `.constprop.0`, `.isra.0`).
fn as_in_the_source(name: &str) -> &str {
    name.split_once('.').map_or(name, |(name, _)| name)
}

/// The file itself, or the one that was split off from it and has more names.
fn source(file: &Path) -> Source<'static> {
    let split_off =
        read_elf_build_id(file).ok().flatten().map(|id| split_off(&id)).filter(|path| path.exists());
    let mut elf = Elf::new(split_off.unwrap_or_else(|| file.to_owned()));
    elf.debug_syms = false;
    Source::Elf(elf)
}

fn split_off(build_id: &[u8]) -> PathBuf {
    let hex = build_id.iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").expect("writing to a string works");
        hex
    });
    let (folder, name) = hex.split_at(hex.len().min(2));
    Path::new(DEBUG_FILES).join(folder).join(format!("{name}.debug"))
}

/// What a function without a name is called: by its file.
fn unnamed(file: &Path) -> String {
    format!("[{}]", file.file_name().unwrap_or(file.as_os_str()).to_string_lossy())
}

/// What a process belongs to.
fn owner(process: &Identity, hosts: &HostNamespaces) -> Frame {
    match process.namespace.and_then(|inode| hosts.get(&inode)) {
        Some(host) => Frame::new(FrameKind::Host, host),
        None if process.is_of_kernel => Frame::new(FrameKind::Shared, KERNEL),
        None => Frame::new(FrameKind::Others, MACHINE),
    }
}

struct Softirq {
    /// The place of its first frame.
    at: usize,
    /// Whether it interrupts whatever runs; else that has called it.
    interrupts: bool,
}

/// The softirq that a kernel stack is in, from the outermost frame on. It is called in `kernel/softirq.c`: at the end of an interrupt
/// (`irq_exit`), by the thread `ksoftirqd`, or by a process that lets softirqs run again (`do_softirq` below `__local_bh_enable_ip`).
fn softirq(kernel: &[Frame]) -> Option<Softirq> {
    let at =
        kernel.iter().position(|frame| matches!(frame.name.as_str(), "handle_softirqs" | "__do_softirq"))?;
    let is_called =
        kernel[..at].iter().any(|frame| matches!(frame.name.as_str(), "do_softirq" | "__local_bh_enable_ip"));
    Some(Softirq { at, interrupts: !is_called })
}

/// The outermost function of an interrupt, on x86 and on Arm.
fn is_interrupt(frame: &Frame) -> bool {
    let name = frame.name.as_str();
    ["common_interrupt", "sysvec_", "el1_interrupt"].iter().any(|start| name.starts_with(start))
}
