//! Packages of the system that the tests need.

use std::io::{IsTerminal, Write};
use std::path::Path;

use crate::shell;

/// File of an installed package, or program anywhere in PATH, with the Debian package.
const NEEDED: &[(&str, &str)] = &[
    ("/usr/bin/cc", "gcc"),
    ("go", "golang-go"),
    ("/usr/bin/tshark", "tshark"),
    ("/usr/bin/editcap", "wireshark-common"),
    ("/usr/bin/tcpdump", "tcpdump"),
    ("/usr/bin/setpriv", "util-linux"),
    ("/usr/bin/systemd-analyze", "systemd"),
    ("/usr/bin/python3", "python3"),
    ("/usr/lib/python3/dist-packages/pip/__init__.py", "python3-pip"),
    ("/usr/sbin/ip", "iproute2"),
    ("/usr/sbin/nft", "nftables"),
    ("/usr/sbin/nginx", "nginx-light"),
    ("/usr/lib/nginx/modules/ngx_stream_module.so", "libnginx-mod-stream"),
    ("/usr/sbin/haproxy", "haproxy"),
    ("/usr/sbin/apache2", "apache2-bin"),
    ("/usr/sbin/mkfs.ext4", "e2fsprogs"),
    ("/usr/sbin/mkfs.xfs", "xfsprogs"),
    ("/usr/sbin/postfix", "postfix"),
    ("/usr/sbin/postal", "postal"),
    ("/usr/bin/faketime", "faketime"),
    ("/usr/bin/redis-server", "redis-server"),
    ("/usr/bin/redis-benchmark", "redis-tools"),
    ("/usr/bin/sysbench", "sysbench"),
    ("/usr/bin/wrk", "wrk"),
    ("/usr/bin/curl", "curl"),
    ("/usr/sbin/sshd", "openssh-server"),
    ("/usr/bin/ssh", "openssh-client"),
    ("/usr/bin/strip", "binutils"),
    ("/usr/bin/lintian", "lintian"),
    ("/usr/bin/man", "man-db"),
    ("/usr/bin/shellcheck", "shellcheck"),
    ("/usr/bin/kubectl", "kubernetes-client"),
    ("/usr/sbin/slurmctld", "slurmctld"),
    ("/usr/sbin/slurmd", "slurmd"),
    ("/usr/bin/srun", "slurm-client"),
    ("/usr/sbin/munged", "munge"),
    ("/usr/lib/postgresql", "postgresql"),
    ("/usr/sbin/unbound", "unbound"),
    ("/usr/bin/qemu-system-x86_64", "qemu-system-x86"),
    ("/usr/bin/xz", "xz-utils"),
    ("/usr/bin/zstd", "zstd"),
    ("/usr/bin/cpio", "cpio"),
    ("/usr/bin/ab", "apache2-utils"),
    ("/usr/bin/fio", "fio"),
    ("/usr/bin/tmux", "tmux"),
    ("/usr/bin/chromium", "chromium"),
    ("/usr/bin/node", "nodejs"),
    ("/usr/bin/npm", "npm"),
    ("/usr/bin/hackbench", "rt-tests"),
    ("/usr/bin/hyperfine", "hyperfine"),
    ("/usr/bin/iperf3", "iperf3"),
    ("/usr/bin/mpstat", "sysstat"),
    ("/usr/bin/vmstat", "procps"),
    ("/usr/bin/hey", "hey"),
    ("/usr/bin/h2load", "nghttp2-client"),
    ("/usr/bin/iperf", "iperf"),
    ("/usr/bin/mtr", "mtr-tiny"),
    ("/usr/sbin/pchar", "pchar"),
    ("/usr/sbin/hdparm", "hdparm"),
    ("/usr/bin/perf", "linux-perf"),
    ("/usr/bin/valgrind", "valgrind"),
    ("/usr/bin/flent", "flent"),
    ("/usr/bin/fping", "fping"),
    ("/usr/bin/g++", "g++"),
    ("/usr/include/benchmark/benchmark.h", "libbenchmark-dev"),
    ("/usr/lib/python3/dist-packages/pytest_benchmark/__init__.py", "python3-pytest-benchmark"),
    ("/usr/lib/python3/dist-packages/prometheus_client/__init__.py", "python3-prometheus-client"),
];

/// Installs missing packages, after a question on a terminal.
pub(crate) fn install(yes: bool) -> Result<(), String> {
    let missing: Vec<&str> =
        NEEDED.iter().filter(|(file, _)| !is_there(file)).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.join(" ");
    if !Path::new("/usr/bin/apt-get").exists() {
        return Err(format!(
            "the tests need these Debian packages, and there is no apt-get here to install them: {names}"
        ));
    }
    let in_ci = std::env::var_os("CI").is_some();
    if !yes && !in_ci && !agreed(&names)? {
        return Err(format!("not installed; the tests need: apt-get install {names}"));
    }
    let become_root: &[&str] = if is_root()? { &[] } else { &["sudo"] };
    let with = |args: &[&str]| {
        let words = [become_root, &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"], args].concat();
        shell::run(words[0], &words[1..])
    };
    with(&["update", "--quiet"])?;
    with(&[&["install", "--yes", "--quiet", "--no-install-recommends"], missing.as_slice()].concat())
}

/// Whether a file is there, also where `/usr` is not apart, or a program is in the path.
fn is_there(file: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    match file.starts_with('/') {
        true => Path::new(file).exists() || Path::new(&file.replace("/usr", "")).exists(),
        false => std::env::split_paths(&path).any(|folder| folder.join(file).exists()),
    }
}

fn agreed(names: &str) -> Result<bool, String> {
    if !std::io::stdin().is_terminal() {
        return Err(format!("the tests need `apt-get install {names}`; say --yes to have it done"));
    }
    eprint!("The tests need some packages. Run `apt-get install {names}`? [y/N] ");
    std::io::stderr().flush().map_err(|error| error.to_string())?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer).map_err(|error| error.to_string())?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

pub(crate) fn is_root() -> Result<bool, String> {
    Ok(shell::output("id", &["-u"])?.trim() == "0")
}
