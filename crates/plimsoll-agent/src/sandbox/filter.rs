//! Landlock (Documentation/userspace-api/landlock.rst), and the system call filter (seccomp(2)).
//!
//! The filter is a deny list: an allow list would have to follow every program and C library. What it denies is what systemd's `@system-service` and the
//! default profiles of containers leave out; io_uring because its operations pass no filter, so a socket of any family could be made by it.

use std::collections::BTreeMap;
use std::io;

use landlock::{ABI, Access, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, Scope, path_beneath_rules};
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
};

use super::tree::{NODES, WRITABLE};
use super::{Wrong, at};

/// Denied with EPERM: what changes the kernel, the machine or other processes.
const DENIED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_fanotify_init,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    libc::SYS_kcmp,
    libc::SYS_kexec_file_load,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_lookup_dcookie,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_name_to_handle_at,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pivot_root,
    libc::SYS_process_madvise,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_ptrace,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_sysfs,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ustat,
];
/// Denied as if the kernel lacked them, so that programs use an older call. C libraries make threads by `clone` then, whose flags a filter can read.
const UNKNOWN: &[i64] =
    &[libc::SYS_clone3, libc::SYS_io_uring_enter, libc::SYS_io_uring_register, libc::SYS_io_uring_setup];
/// Namespaces that a program could make.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWUTS,
];
/// Socket families that a program may use.
const FAMILIES: [i32; 4] = [libc::AF_UNIX, libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
/// Bit of the numbers of x32, a second set of system calls on x86-64.
#[cfg(target_arch = "x86_64")]
const X32: i64 = 0x4000_0000;
/// Numbers that only x32 has (arch/x86/entry/syscalls/syscall_64.tbl).
#[cfg(target_arch = "x86_64")]
const X32_ONLY: std::ops::RangeInclusive<i64> = 512..=547;

/// Denies writing, making and removing files outside of `writable` and the program's own folders, opening of FIFOs and devices for writing among them; and
/// signals and abstract sockets that lead out of the program. Kernels deny what their version of Landlock knows (Linux 5.13 to 6.12).
pub(super) fn landlock(writable: &[std::path::PathBuf]) -> Result<(), Wrong> {
    // Version 6 has scopes; nothing of a later one is handled here.
    let abi = ABI::V6;
    let own = writable.iter().cloned().chain(WRITABLE.map(Into::into));
    let nodes = NODES.map(|name| format!("/dev/{name}").into());
    let rules = path_beneath_rules(own.chain(nodes), AccessFs::from_write(abi));
    let restricted = Ruleset::default()
        .handle_access(AccessFs::from_write(abi))
        .and_then(|ruleset| ruleset.scope(Scope::from_all(abi)))
        .and_then(Ruleset::create)
        .and_then(|ruleset| ruleset.add_rules(rules))
        .and_then(landlock::RulesetCreated::restrict_self);
    restricted.map(drop).map_err(|error| at("restrict it by Landlock")(io::Error::other(error)))
}

/// Filters the system calls of this process and all that it starts.
pub(super) fn system_calls() -> Result<(), Wrong> {
    for (errno, rules) in [
        (libc::EPERM, denied().map_err(broken)?),
        (libc::ENOSYS, UNKNOWN.iter().map(|&number| (number, Vec::new())).collect()),
        (libc::EAFNOSUPPORT, sockets().map_err(broken)?),
    ] {
        let program = compile(errno, with_x32(rules)).map_err(broken)?;
        seccompiler::apply_filter(&program).map_err(broken)?;
    }
    Ok(())
}

fn broken(error: impl std::error::Error + Send + Sync + 'static) -> Wrong {
    at("filter its system calls")(io::Error::other(error))
}

/// Rules by number of the system call; a call without rules is always denied.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

fn denied() -> Result<Rules, seccompiler::BackendError> {
    let mut rules: Rules = DENIED.iter().map(|&number| (number, Vec::new())).collect();
    for number in [libc::SYS_clone, libc::SYS_unshare] {
        let namespaces = NAMESPACES.map(|flag| {
            // A flag of clone(2) is a bit of a positive number.
            let flag = u64::from(flag.unsigned_abs());
            condition(0, SeccompCmpOp::MaskedEq(flag), flag).and_then(|made| SeccompRule::new(vec![made]))
        });
        rules.insert(number, namespaces.into_iter().collect::<Result<_, _>>()?);
    }
    Ok(rules)
}

/// Denies all socket families except a few. Of netlink it allows routes only.
fn sockets() -> Result<Rules, seccompiler::BackendError> {
    let number = |value: i32| u64::from(value.unsigned_abs());
    let others = FAMILIES.map(|family| condition(0, SeccompCmpOp::Ne, number(family)));
    let others = SeccompRule::new(others.into_iter().collect::<Result<_, _>>()?)?;
    let netlink = SeccompRule::new(vec![
        condition(0, SeccompCmpOp::Eq, number(libc::AF_NETLINK))?,
        condition(2, SeccompCmpOp::Ne, number(libc::NETLINK_ROUTE))?,
    ])?;
    Ok([(libc::SYS_socket, vec![others, netlink])].into())
}

fn condition(
    argument: u8,
    operator: SeccompCmpOp,
    value: u64,
) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(argument, SeccompCmpArgLen::Dword, operator, value)
}

/// Denies by the numbers of x32, too.
#[cfg(target_arch = "x86_64")]
fn with_x32(mut rules: Rules) -> Rules {
    let second: Rules = rules.iter().map(|(number, rule)| (number | X32, rule.clone())).collect();
    rules.extend(second);
    rules.extend(X32_ONLY.map(|number| (number | X32, Vec::new())));
    rules
}

#[cfg(not(target_arch = "x86_64"))]
fn with_x32(rules: Rules) -> Rules {
    rules
}

fn compile(errno: i32, rules: Rules) -> Result<BpfProgram, seccompiler::BackendError> {
    let denied = SeccompAction::Errno(errno.unsigned_abs());
    let architecture = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, SeccompAction::Allow, denied, architecture)?.try_into()
}
