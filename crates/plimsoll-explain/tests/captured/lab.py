"""Network namespaces, the links between them, and what captures there. Namespaces have no names: they end with the
processes that hold them."""

import array
import ctypes
import fcntl
import os
import re
import signal
import socket
import struct
import subprocess
import sys

LIBC = ctypes.CDLL(None, use_errno=True)
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1


def check(result, what):
    if result != 0:
        raise OSError(ctypes.get_errno(), f"{what}: {os.strerror(ctypes.get_errno())}")


def unshare_network():
    check(LIBC.unshare(CLONE_NEWNET), "unshare")


def die_with_parent():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Namespace:
    """A network namespace, held by a child that sleeps."""

    def __init__(self):
        ready, tell = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            die_with_parent()
            unshare_network()
            os.write(tell, b"x")
            signal.pause()
        os.close(tell)
        if os.read(ready, 1) != b"x":
            raise RuntimeError("a network namespace could not be made")
        os.close(ready)
        self.run("ip", "link", "set", "lo", "up")

    def path(self):
        return f"/proc/{self.pid}/ns/net"

    def enter(self):
        with open(self.path()) as file:
            check(LIBC.setns(file.fileno(), CLONE_NEWNET), "setns")

    def command(self, *words):
        return ["nsenter", f"--net={self.path()}", *words]

    def run(self, *words, **options):
        return subprocess.run(self.command(*words), check=True, **options)

    def sysctl(self, **settings):
        """Settings of net.ipv4, by their last name."""
        for name, value in settings.items():
            self.run("sh", "-c", f"echo {value} > /proc/sys/net/ipv4/{name}")

    def end(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)


ETHTOOL = {"checksum": 0x17, "tso": 0x1F, "gso": 0x24, "gro": 0x2C}
SIOCETHTOOL = 0x8946


def without_offload(namespace, device, features):
    """Switches offloads of a device off, so that a capture shows the segments of the wire."""
    child = os.fork()
    if child == 0:
        namespace.enter()
        plug = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        for feature in features:
            value = array.array("B", struct.pack("II", ETHTOOL[feature], 0))
            address, _ = value.buffer_info()
            fcntl.ioctl(plug, SIOCETHTOOL, struct.pack("16sP", device.encode(), address))
        os._exit(0)
    if os.waitpid(child, 0)[1] != 0:
        raise RuntimeError(f"the offloads of {device} could not be switched off")


class Capture:
    """tcpdump at one place of a link."""

    def __init__(self, name, namespace, device, path, options=()):
        self.name, self.path = name, path
        self.process = subprocess.Popen(
            namespace.command("tcpdump", "-i", device, "-n", "-U", "-B", "32768", "-w", path, *options, "tcp"),
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=die_with_parent,
        )
        while True:
            line = self.process.stderr.readline()
            if not line:
                raise RuntimeError(f"tcpdump did not start on {device}")
            if "listening on" in line:
                break

    def end(self):
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=20)
        lost = re.search(r"(\d+) packets dropped by kernel", said)
        if not lost or int(lost.group(1)):
            raise RuntimeError(f"tcpdump of {self.name} lost packets: {said}")


class Loopback:
    """Both ends in one namespace: segments of 65483 bytes."""

    name = "loopback"
    delay = 0.0
    captures = ["both"]

    def __init__(self, sysctls):
        self.host = Namespace()
        self.host.sysctl(**sysctls)
        self.places = {"client": self.host, "server": self.host, "middle": self.host}
        self.addresses = {"client": "127.0.0.1", "server": "127.0.0.1", "middle": "127.0.0.1"}
        self.devices = {"both": (self.host, "lo")}

    def drop(self, drops):
        load_rules(self.host, "input", drops)

    def drops(self):
        return count_drops(self.host)

    def late(self):
        return []

    def holes(self):
        return {}

    def sees(self, capture, near, far):
        return True

    def end(self):
        self.host.end()


class Routed:
    """Client and server with a router between them that drops what it is told to: segments of 1448 bytes, or the large
    ones that the kernel leaves whole until the device where `offload`."""

    delay = 0.0
    captures = ["client", "server"]

    def __init__(self, sysctls, offload, mtu=1500):
        self.name = "veth with offload" if offload else "veth" if mtu == 1500 else f"veth, MTU {mtu}"
        self.client, self.router, self.server = Namespace(), Namespace(), Namespace()
        self.places = {"client": self.client, "server": self.server, "middle": self.router}
        self.addresses = {"client": "10.1.0.2", "server": "10.2.0.2", "middle": "10.1.0.1"}
        self.devices = {"client": (self.client, "eth0"), "server": (self.server, "eth0")}
        for end, number in ((self.client, 1), (self.server, 2)):
            self.router.run(
                "ip", "link", "add", f"down{number}", "type", "veth", "peer", "name", "eth0", "netns", str(end.pid)
            )
            self.router.run("ip", "address", "add", f"10.{number}.0.1/24", "dev", f"down{number}")
            self.router.run("ip", "link", "set", f"down{number}", "mtu", str(mtu), "up")
            end.run("ip", "address", "add", f"10.{number}.0.2/24", "dev", "eth0")
            end.run("ip", "link", "set", "eth0", "mtu", str(mtu), "up")
            end.run("ip", "route", "add", "default", "via", f"10.{number}.0.1")
            end.sysctl(**sysctls)
            if not offload:
                without_offload(end, "eth0", ["tso", "gso", "gro"])
        self.router.sysctl(ip_forward=1, **sysctls)

    def drop(self, drops):
        load_rules(self.router, "forward", drops)

    def drops(self):
        return count_drops(self.router)

    def late(self):
        return []

    def holes(self):
        return {}

    def sees(self, capture, near, far):
        """Whether a capture at one end has the connections between two addresses."""
        return self.addresses[capture] in (near, far)

    def end(self):
        for namespace in (self.client, self.router, self.server):
            namespace.end()


def load_rules(namespace, hook, drops):
    """What to drop for the scenario at each port; each is counted by itself."""
    lines = [f'{drop.rule(port)} counter drop comment "{port}"' for port, drop in drops.items()]
    text = "\n".join(
        ["table ip captured {", "chain drops {", f"type filter hook {hook} priority 0;", *lines, "}", "}", ""]
    )
    namespace.run("nft", "-f", "-", input=text, text=True)


def count_drops(namespace):
    """Packets dropped, by port."""
    done = subprocess.run(
        namespace.command("nft", "list", "table", "ip", "captured"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=False,
    )
    found = {}
    for packets, number in re.findall(r"counter packets (\d+) bytes \d+ drop comment \"(\d+)\"", done.stdout):
        found[int(number)] = found.get(int(number), 0) + int(packets)
    return found


def complain(text):
    print(f"generate.py: {text}", file=sys.stderr, flush=True)
