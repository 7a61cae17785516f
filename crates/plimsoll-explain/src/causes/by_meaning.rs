//! What functions are for, where their names say more to an expert than to others: a probe, a locale, a search of a directory.

use plimsoll_model::observation::FrameKind;
use plimsoll_model::report::{GrownFunction, ProfileReport};

/// Beginnings of functions, and what these do.
type Meaning = (&'static [&'static str], &'static str);

/// From this share of the added time on, what functions of the kernel do together is worth a mention.
const LEAST: f64 = 0.2;

/// How many callers of a function may say what it is for.
const NEAREST: usize = 2;

/// Functions of the kernel, by its folders: kernel/events, kernel/trace, kernel/seccomp.c, kernel/ptrace.c, kernel/auditsc.c, fs, mm, net, crypto, lib.
const OF_KERNEL: [Meaning; 25] = [
    (
        &["uprobe_", "handle_swbp", "arch_uprobe_", "exc_int3", "exc_debug_user", "asm_exc_int3"],
        "breakpoints of a probe on a function (uprobe), or of a debugger",
    ),
    (
        &[
            "trace_call_bpf",
            "kprobe_",
            "bpf_trace_run",
            "perf_trace_",
            "perf_syscall_",
            "ftrace_",
            "rethook_",
        ],
        "probes of a tracer in the kernel",
    ),
    (
        &["perf_output_", "perf_callchain", "perf_prepare_sample", "__perf_event_overflow", "perf_swevent_"],
        "samples of a profiler",
    ),
    (&["__seccomp_filter", "seccomp_run_filters", "__secure_computing"], "a seccomp filter of system calls"),
    (&["ptrace_", "do_jobctl_trap", "wait_task_stopped"], "a tracer (ptrace)"),
    (&["audit_", "__audit_", "syscall_exit_work"], "audit of system calls"),
    (&["fanotify_"], "a program that watches files (fanotify)"),
    (&["inotify_", "fsnotify"], "watches of files"),
    (&["ZSTD_", "zstd_", "lzo1x_", "LZ4_", "lz4_", "lzorle_"], "compression by the kernel"),
    (&["crypt_convert", "aesni_", "aes_", "xts_", "kcryptd"], "encryption by the kernel"),
    (&["fuse_"], "a file system in user space (FUSE)"),
    (&["ovl_"], "an overlay of file systems"),
    (
        &[
            "ext4_find_dest_de",
            "ext4_search_dir",
            "search_dirblock",
            "ext4_dx_",
            "dx_probe",
            "__ext4_check_dir_entry",
        ],
        "searches of a large directory",
    ),
    (&["__d_lookup", "d_alloc_parallel"], "look-ups of names in the cache of directory entries"),
    (
        &["ext4_mb_", "mb_find_", "xfs_alloc_", "find_free_extent"],
        "searches for free blocks of a file system",
    ),
    (&["fib_table_lookup", "fib6_", "ip6_pol_route"], "look-ups of routes"),
    (&["nf_conntrack_", "__nf_conntrack_", "nf_ct_", "nf_nat_"], "tracking of connections"),
    (&["xfrm_", "esp_", "chacha20", "poly1305", "wg_"], "encryption of packets"),
    (&["skb_segment", "tcp_gso_segment", "__skb_gso_segment"], "segments that the kernel cuts itself"),
    (&["ep_send_events", "do_sys_poll", "do_select", "do_poll"], "polls of many descriptors"),
    (&["hrtimer_", "timerqueue_", "posix_timer_"], "timers"),
    (&["get_signal", "__setup_rt_frame", "handle_signal", "restore_sigcontext", "__send_signal"], "signals"),
    (&["chacha_block", "extract_crng", "get_random_bytes_user"], "random numbers of the kernel"),
    (&["show_map_vma", "show_smap", "smaps_", "seq_put", "proc_pid_", "format_decode"], "texts of /proc"),
    (&["clear_page", "clear_huge_page", "clear_user_highpage"], "pages that are cleared at their first use"),
];

/// Functions of libraries and runtimes: glibc, OpenSSL, zlib, zstd, PCRE, Perl, CPython, Go, HotSpot, V8.
const OF_PROGRAMS: [Meaning; 14] = [
    (
        &["strcoll", "__strcoll", "wcscoll", "strxfrm", "__strxfrm", "ucol_"],
        "comparisons by the rules of a locale",
    ),
    (
        &[
            "regexec",
            "re_search",
            "pcre2_match",
            "pcre_exec",
            "jit_machine_stack_exec",
            "Perl_regexec",
            "S_regmatch",
            "Perl_pregexec",
            "_sre_",
            "sre_",
        ],
        "regular expressions",
    ),
    (
        &[
            "BN_",
            "bn_",
            "rsaz_",
            "RSA_",
            "rsa_",
            "ossl_rsa",
            "EVP_PKEY_sign",
            "EVP_DigestSign",
            "SSL_do_handshake",
            "SSL_accept",
            "SSL_connect",
        ],
        "public-key operations of TLS handshakes, as with RSA",
    ),
    (&["PKCS5_PBKDF2", "EVP_PBE_scrypt", "kdf_"], "derivation of a key from a password"),
    (&["HMAC_", "HMAC", "SHA", "sha1_", "sha256_", "sha512_", "MD5_", "EVP_Digest"], "hashes of data"),
    (&["AES_", "aes_", "aesni_", "EVP_Encrypt", "EVP_Decrypt", "ChaCha20"], "encryption"),
    (&["deflate", "longest_match", "inflate", "fill_window"], "compression by zlib"),
    (&["ZSTD_", "HUF_", "FSE_", "lzma_", "LZ4_", "BrotliEncoder"], "compression"),
    (
        &[
            "runtime.gc",
            "runtime.scan",
            "runtime.grey",
            "runtime.findObject",
            "runtime.sweep",
            "runtime.(*gc",
            "runtime.(*mspan)",
        ],
        "garbage collection of Go",
    ),
    (
        &[
            "void OopOopIterate",
            "MarkSweep::",
            "PSScavenge",
            "G1",
            "GenCollectedHeap",
            "DefNewGeneration",
            "PSParallel",
        ],
        "garbage collection of Java",
    ),
    (
        &[
            "v8::internal::Scavenger",
            "v8::internal::MarkCompact",
            "v8::internal::Heap::",
            "v8::internal::MinorMark",
        ],
        "garbage collection of JavaScript",
    ),
    (&["Perl_sv_cmp_locale", "Perl__mem_collxfrm"], "comparisons by the rules of a locale"),
    (
        &["_int_malloc", "_int_free", "malloc_consolidate", "malloc", "free", "unlink_chunk"],
        "allocations of memory",
    ),
    (&["gc_collect", "_PyObject_GC", "zend_gc_"], "garbage collection"),
];

fn meaning(of: &[Meaning], name: &str) -> Option<&'static str> {
    of.iter().find(|(starts, _)| starts.iter().any(|start| name.starts_with(start))).map(|(_, what)| *what)
}

/// What a function of a program is for, or one that calls it, or else what functions of this program do in a good part of the added time together.
pub(super) fn of_program(profile: &ProfileReport, function: &GrownFunction) -> Option<&'static str> {
    let of = |function: &GrownFunction| {
        let mut names = std::iter::once(&function.function).chain(function.called_by.iter().rev());
        names.find_map(|name| meaning(&OF_PROGRAMS, name))
    };
    let own = profile.functions.iter().filter(|it| it.kind == FrameKind::User && it.owner == function.owner);
    of(function).or_else(|| largest(own.filter_map(|it| Some((of(it)?, it.share)))))
}

/// What functions of the kernel do that take a good part of the added time together.
pub(super) fn of_kernel(profile: &ProfileReport) -> Option<&'static str> {
    let all = profile.functions.iter().filter(|it| it.kind == FrameKind::Kernel);
    let all = all.filter_map(|it| Some((meaning(&OF_KERNEL, &it.function)?, it.share)));
    // With what it calls. Compiled programs of the kernel (BPF) have no names of their own, so that who calls them tells more.
    let narrowest = profile.narrowest.as_ref().filter(|it| it.kind == FrameKind::Kernel);
    let narrowest = narrowest.and_then(|it| {
        let names = std::iter::once(&it.function).chain(it.called_by.iter().rev().take(NEAREST));
        Some((names.into_iter().find_map(|name| meaning(&OF_KERNEL, name))?, it.share))
    });
    largest(all.chain(narrowest))
}

/// The purpose that takes the largest share, summed over functions, if that is worth a mention.
fn largest(functions: impl Iterator<Item = (&'static str, f64)>) -> Option<&'static str> {
    let mut shares: Vec<(&'static str, f64)> = Vec::new();
    for (what, share) in functions {
        match shares.iter_mut().find(|(known, _)| *known == what) {
            Some((_, sum)) => *sum += share,
            None => shares.push((what, share)),
        }
    }
    shares.into_iter().filter(|(_, share)| *share >= LEAST).max_by(|a, b| a.1.total_cmp(&b.1)).map(|it| it.0)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::profile;
    use super::*;

    fn function(name: &str, share: f64, called_by: &[&str]) -> GrownFunction {
        GrownFunction {
            function: name.into(),
            was: None,
            kind: FrameKind::Kernel,
            before_us: 0.0,
            after_us: 1000.0 * share,
            share,
            owner: vec!["host".into(), "bill".into()],
            called_by: called_by.iter().map(|it| (*it).to_owned()).collect(),
        }
    }

    #[test]
    fn functions_of_one_purpose_count_together() {
        let functions = vec![
            function("memcpy", 0.5, &[]),
            function("uprobe_notify_resume", 0.1, &[]),
            function("exc_debug_user", 0.15, &[]),
            function("ovl_open", 0.15, &[]),
        ];
        let found = of_kernel(&ProfileReport { functions, ..profile() });
        assert_eq!(found, Some("breakpoints of a probe on a function (uprobe), or of a debugger"));
        let narrowest = Some(function("bpf_prog_1", 0.8, &["do_syscall_64", "__seccomp_filter"]));
        let found = of_kernel(&ProfileReport { narrowest, ..profile() });
        assert_eq!(found, Some("a seccomp filter of system calls"));
        let functions = vec![function("ovl_open", 0.15, &[])];
        assert_eq!(of_kernel(&ProfileReport { functions, ..profile() }), None, "a small part");
    }

    #[test]
    fn a_function_without_a_name_is_known_by_its_caller_or_by_others_of_its_program() {
        let of = |name, called_by| of_program(&profile(), &function(name, 1.0, called_by));
        let handshakes = Some("public-key operations of TLS handshakes, as with RSA");
        assert_eq!(of("[libcrypto.so.3]", &["main", "SSL_do_handshake"]), handshakes);
        assert_eq!(of("__strcoll_l", &[]), Some("comparisons by the rules of a locale"));
        assert_eq!(of("work", &["main"]), None);
        let work = |share, owner: &str| {
            let of_user = |name, share| {
                let owner = vec!["host".into(), owner.into()];
                GrownFunction { kind: FrameKind::User, owner, ..function(name, share, &[]) }
            };
            let functions =
                vec![of_user("work", 0.5), of_user("SHA1_Update", share), of_user("HMAC_Final", share)];
            of_program(&ProfileReport { functions, ..profile() }, &function("work", 0.5, &[]))
        };
        assert_eq!(work(0.1, "bill"), Some("hashes of data"));
        assert_eq!(work(0.05, "bill"), None, "a small part");
        assert_eq!(work(0.1, "other"), None, "of another program");
    }
}
