#!/usr/bin/python3
"""Tries what a program in the sandbox could reach, and prints a number with one bit for each attempt.

usage: probe.py names | probe.py OUTSIDER SCRATCH FOLDER TOKEN
  OUTSIDER  process id of a process outside of the run
  SCRATCH   folder that the program may write to; with `-` the one that Plimsoll gave to the program that started this
  FOLDER    folder where Plimsoll was started, with `secret`, `socket` and `fifo`
  TOKEN     name of a file in /tmp, of a folder in /opt with `socket` and `fifo`, of an abstract socket and of a key in the caller's session keyring
"""
import ctypes, os, platform, re, resource, socket, stat, sys

libc = ctypes.CDLL(None, use_errno=True)
ARM = platform.machine() == "aarch64"
NUMBERS = {
    "add_key": 217 if ARM else 248, "bpf": 280 if ARM else 321, "init_module": 105 if ARM else 175,
    "io_uring_setup": 425, "keyctl": 219 if ARM else 250, "pidfd_open": 434,
    "perf_event_open": 241 if ARM else 298, "process_vm_readv": 270 if ARM else 310,
    "request_key": 218 if ARM else 249, "userfaultfd": 282 if ARM else 323, "syslog": 116 if ARM else 103,
    "settimeofday": 170 if ARM else 164, "fsopen": 430, "open_tree": 428,
}
attempts = []


def call(name, *arguments):
    return libc.syscall(NUMBERS[name], *arguments) >= 0


def read(path):
    with open(path, "rb") as file:
        return file.read(4096)


def write(path):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    return True


def opened(path):
    os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY))
    return True


def sock(family, kind=socket.SOCK_DGRAM, protocol=0):
    with socket.socket(family, kind, protocol):
        return True


def connect(address):
    with socket.socket(socket.AF_UNIX) as unix:
        unix.connect(address)
        return True


def status(name):
    return [line.split()[1] for line in read("/proc/self/status").decode().splitlines() if line.startswith(name)]


def words(pid):
    try:
        return read(f"/proc/{pid}/cmdline").split(b"\0")
    except OSError:
        return []


def parent(pid):
    try:
        return int(read(f"/proc/{pid}/stat").rsplit(b")", 1)[1].split()[1])
    except (OSError, IndexError):
        return 0


def line(pid):
    """The process and its ancestors, up to process 1 or the agent."""
    pids = []
    while pid > 1 and not is_plimsoll(pid):
        pids.append(pid)
        pid = parent(pid)
    return pids


def others():
    """Processes beside the program that the file names, and what that has started."""
    program = line(os.getpid())[-1]
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if pid != 1 and program not in line(pid)]


def own_folder():
    named = b"\0".join([*words(os.getppid()), os.environb.get(b"MAIL_CONFIG", b""), os.environb.get(b"HOME", b"")])
    found = re.search(rb"/[^\0]*plimsoll-(?:service|scratch)[^\0/]*", named)
    return found[0].decode() if found else "/nowhere"


def add(name, function):
    attempts.append((name, function))


def apart(function):
    """In a process of its own, as what is tried changes what the process may do next."""
    child = os.fork()
    if child == 0:
        os._exit(not reached(function))
    return os.waitpid(child, 0)[1] == 0


# Files.
add("read /etc/passwd", lambda: read("/etc/passwd"))
add("read /etc/shadow", lambda: read("/etc/shadow"))
add("read a file that the caller alone may read", lambda: read(folder + "/secret"))
add("write to /etc", lambda: write("/etc/plimsoll-was-here"))
add("write to the folder where Plimsoll was started", lambda: write(folder + "/plimsoll-was-here"))
add("write to its own file", lambda: os.close(os.open(__file__, os.O_WRONLY)) is None)
add("write to its scratch folder", lambda: write(scratch + "/file"))
add("write to /tmp", lambda: write("/tmp/plimsoll-probe-wrote"))
add("write to /dev/shm", lambda: write("/dev/shm/plimsoll-probe-wrote"))
add("see files of others in /tmp", lambda: os.path.exists("/tmp/" + token))
add("see what is in /run", lambda: os.listdir("/run") != [])
# Devices and terminals.
add("write to /dev/null", lambda: write("/dev/null"))
add("read /dev/urandom", lambda: read("/dev/urandom"))
add("open a pair of terminals", lambda: os.openpty())
add("open /dev/tty", lambda: opened("/dev/tty"))
add("see terminals of the machine", lambda: set(os.listdir("/dev/pts")) - {"ptmx", "0"})
add("open /dev/kmsg", lambda: opened("/dev/kmsg"))
add("open a device of virtual machines, tunnels or user file systems",
    lambda: any(os.path.exists("/dev/" + name) for name in ("kvm", "net/tun", "fuse")))
add("find a block device", lambda: any(stat.S_ISBLK(os.stat("/dev/" + name).st_mode) for name in os.listdir("/dev")))
add("make a device", lambda: os.mknod(scratch + "/node", stat.S_IFCHR | 0o666, os.makedev(1, 11)) is None)
# Sockets.
add("make a pair of Unix sockets", lambda: socket.socketpair())
add("listen on port 80", lambda: socket.create_server(("", 80)).close() is None)
add("make a socket of AF_INET6", lambda: sock(socket.AF_INET6))
add("ask the kernel for routes (AF_NETLINK)", lambda: sock(socket.AF_NETLINK, socket.SOCK_RAW, 0))
add("make another netlink socket", lambda: sock(socket.AF_NETLINK, socket.SOCK_RAW, 15))
add("make a raw socket", lambda: sock(socket.AF_INET, socket.SOCK_RAW, 1))
add("make a socket of AF_PACKET", lambda: sock(socket.AF_PACKET, socket.SOCK_RAW))
add("make a socket of AF_VSOCK", lambda: sock(40, socket.SOCK_STREAM))
add("make a socket of AF_ALG", lambda: sock(38, socket.SOCK_SEQPACKET))
add("make a socket of AF_KEY", lambda: sock(15, socket.SOCK_RAW, 2))
add("make a socket of AF_CAN", lambda: sock(29, socket.SOCK_RAW, 1))
add("make a socket of AF_TIPC", lambda: sock(30, socket.SOCK_SEQPACKET))
add("make a socket of AF_BLUETOOTH", lambda: sock(31, socket.SOCK_RAW, 1))
add("connect to an abstract Unix socket of the machine", lambda: connect("\0" + token))
add("connect to a Unix socket in the folder where Plimsoll was started, if its mode allows", lambda: connect(folder + "/socket"))
add("write to a FIFO there", lambda: os.close(os.open(folder + "/fifo", os.O_WRONLY | os.O_NONBLOCK)) is None)
add("connect to a Unix socket elsewhere, if its mode allows", lambda: connect("/opt/" + token + "/socket"))
add("write to a FIFO elsewhere", lambda: os.close(os.open("/opt/" + token + "/fifo", os.O_WRONLY | os.O_NONBLOCK)) is None)
# Keys.
add("find a key of the caller's session", lambda: call("keyctl", 10, -3, b"user", token.encode(), 0))
add("add a key", lambda: call("add_key", b"user", b"probe", b"x", 1, -3))
add("ask for a key", lambda: call("request_key", b"user", token.encode(), None, 0))
# Descriptors, signals and other processes.
add("find a descriptor beside the standard streams",
    lambda: inherited != [])
add("see another process", lambda: others() != [])
add("see a process outside of the run", lambda: os.path.exists(f"/proc/{outsider}"))
add("signal a process outside of the run", lambda: os.kill(outsider, 0) is None)
add("signal the agent or the controller", lambda: any(signalled(pid) for pid in others() + [os.getppid()] if is_plimsoll(pid)))
add("take hold of a process outside of the run", lambda: call("pidfd_open", outsider, 0))
add("trace its parent", lambda: libc.ptrace(16, os.getppid(), 0, 0) == 0)
add("read memory of its parent", lambda: libc.syscall(NUMBERS["process_vm_readv"], os.getppid(), None, 0, None, 0, 0) >= 0)
add("read the environment of another process", lambda: any(secret_of(pid) for pid in others()))
# Namespaces and mounts.
add("make a user namespace", lambda: apart(lambda: libc.unshare(0x10000000) == 0))
add("make a network namespace", lambda: apart(lambda: libc.unshare(0x40000000) == 0))
add("enter another namespace", lambda: apart(lambda: libc.setns(os.open("/proc/self/ns/net", os.O_RDONLY), 0) == 0))
add("mount", lambda: libc.mount(b"none", b"/mnt", b"tmpfs", 0, None) == 0)
add("make a file system without a mount", lambda: call("fsopen", b"tmpfs", 0))
add("copy a mount", lambda: call("open_tree", -100, b"/etc", 1))
add("make the machine's files writable", lambda: libc.mount(None, b"/", None, 32 | 4096, None) == 0)
add("change the root", lambda: apart(lambda: os.chroot("/mnt") is None))
# /proc, /sys and the kernel.
add("change a setting of the kernel", lambda: opened("/proc/sys/vm/swappiness"))
add("change a setting of its host's network", lambda: opened("/proc/sys/net/ipv4/ip_forward"))
add("change something in /sys", lambda: opened("/sys/kernel/mm/transparent_hugepage/enabled"))
add("read the kernel's memory", lambda: read("/proc/kcore"))
add("read the kernel's log", lambda: libc.syscall(NUMBERS["syslog"], 3, ctypes.create_string_buffer(64), 64) > 0)
add("load a program into the kernel (bpf)", lambda: call("bpf", 0, ctypes.create_string_buffer(128), 128))
add("load a module", lambda: call("init_module", b"", 0, b""))
add("use io_uring", lambda: call("io_uring_setup", 1, ctypes.create_string_buffer(128)))
add("use userfaultfd", lambda: call("userfaultfd", 1))
add("change the clock", lambda: libc.syscall(NUMBERS["settimeofday"], None, ctypes.create_string_buffer(8)) == 0)
add("change the host's name", lambda: socket.sethostname("mine") is None)
# Rights.
add("be root", lambda: os.getuid() == 0)
add("become root", lambda: apart(lambda: os.setuid(0) is None))
add("have groups of the caller", lambda: set(os.getgroups()) - {65534})
add("have a capability, or get one", lambda: {status("Cap" + set)[0] for set in ("Prm", "Eff", "Bnd", "Amb")} != {16 * "0"})
add("gain rights by a setuid program", lambda: status("NoNewPrivs") != ["1"])
add("raise its limit of descriptors to 4096", lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1])) is None)
# Environment.
add("see a variable of the caller", lambda: "A_SECRET" in os.environ)
add("have a variable of the file", lambda: os.environ["MODE"] == "as named")
add("have its scratch folder as home", lambda: os.environ["HOME"] == os.environ["TMPDIR"] == scratch)


def is_plimsoll(pid):
    """Whether it is the agent or the controller, and no service, load or guardian of theirs."""
    role = words(pid)[1:3]
    return role[:1] == [b"agent"] and role[1:] not in ([b"exec"], [b"service"], [b"load"]) or role[:1] == [b"run"]


def signalled(pid):
    try:
        return os.kill(pid, 0) is None
    except OSError:
        return False


def secret_of(pid):
    try:
        return b"A_SECRET" in read(f"/proc/{pid}/environ")
    except OSError:
        return False


def reached(function):
    try:
        return bool(function())
    except Exception:
        return False


if sys.argv[1:] == ["names"]:
    print("\n".join(name for name, _ in attempts))
    sys.exit()
inherited = [fd for fd in range(3, 1024) if os.path.lexists(f"/proc/self/fd/{fd}")]
outsider, scratch, folder, token = int(sys.argv[1]), *sys.argv[2:]
scratch = own_folder() if scratch == "-" else scratch
bits = sum(reached(function) << number for number, (_, function) in enumerate(attempts))
sys.exit(f"reached {bits:x}.")
