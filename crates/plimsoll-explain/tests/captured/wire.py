"""A link with a delay: two TUN devices, and a program that carries packets between them after a while, or loses those
that it is told to."""

import fcntl
import heapq
import os
import pickle
import select
import struct
import tempfile
import time

import lab

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000

# The forwarder says where it was later than this with a packet.
LATE = 0.008


class Wire:
    captures = ["client", "server"]

    def __init__(self, sysctls, delay, device="tun0"):
        self.name, self.delay, self.rules = f"{2e3 * delay:.0f} ms", delay, {}
        self.client, self.server = lab.Namespace(), lab.Namespace()
        self.places = {"client": self.client, "server": self.server, "middle": self.client}
        self.addresses = {"client": "10.3.0.1", "server": "10.3.0.2", "middle": "10.3.0.1"}
        self.devices = {"client": (self.client, device), "server": (self.server, device)}
        self.sysctls = sysctls
        self.log = tempfile.NamedTemporaryFile()
        self.found = None

    def drop(self, drops):
        """Starts the forwarder, with what it has to drop."""
        ready, tell = os.pipe()
        goes_on, self.hold = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            lab.die_with_parent()
            os.close(self.hold)
            devices = [self.make_device(end) for end in (self.client, self.server)]
            os.write(tell, b"x")
            forwarder = Forwarder(devices, self.delay, drops)
            forwarder.run(goes_on)
            with open(self.log.name, "wb") as file:
                pickle.dump((forwarder.dropped, forwarder.late, forwarder.holes), file)
            os._exit(0)
        os.close(tell)
        if os.read(ready, 1) != b"x":
            raise RuntimeError("the forwarder did not start")
        for end, near, far in ((self.client, "10.3.0.1", "10.3.0.2"), (self.server, "10.3.0.2", "10.3.0.1")):
            end.run("ip", "address", "add", near, "peer", far, "dev", "tun0")
            end.run("ip", "link", "set", "tun0", "txqueuelen", "20000", "up")
            end.sysctl(**self.sysctls)

    def make_device(self, end):
        end.enter()
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH", b"tun0", IFF_TUN | IFF_NO_PI))
        return device

    def result(self):
        if self.found is None:
            os.close(self.hold)
            os.waitpid(self.pid, 0)
            with open(self.log.name, "rb") as file:
                self.found = pickle.load(file)
        return self.found

    def drops(self):
        return self.result()[0]

    def late(self):
        """When the forwarder did not keep up, as spans that do not touch."""
        spans = []
        for begun, ended in sorted(self.result()[1]):
            if spans and begun <= spans[-1][1] + LATE:
                spans[-1] = (spans[-1][0], max(spans[-1][1], ended))
            else:
                spans.append((begun, ended))
        return spans

    def holes(self):
        """The places in the streams, by port, of the segments that were lost."""
        return self.result()[2]

    def sees(self, capture, near, far):
        """Connections of an end with itself do not come by here."""
        return near != far

    def end(self):
        self.client.end()
        self.server.end()


class Forwarder:
    def __init__(self, devices, delay, drops):
        self.devices, self.delay, self.drops = devices, delay, drops
        self.seen, self.since, self.dropped, self.late = {}, {}, {}, []
        self.first, self.holes = {}, {}

    def run(self, goes_on):
        toward = {self.devices[0]: ("server", self.devices[1]), self.devices[1]: ("client", self.devices[0])}
        waiting, number = [], 0
        while True:
            now = time.time()
            while waiting and waiting[0][0] <= now:
                due, _, target, packet = heapq.heappop(waiting)
                if now - due > LATE:
                    self.late.append((due, now))
                try:
                    os.write(target, packet)
                except OSError:
                    self.late.append((due, now))
            left = max(0.0, waiting[0][0] - time.time()) if waiting else 1.0
            for source in select.select([*self.devices, goes_on], [], [], left)[0]:
                if source == goes_on:
                    return
                side, target = toward[source]
                for packet in packets(source):
                    if not self.is_lost(side, packet):
                        number += 1
                        heapq.heappush(waiting, (time.time() + self.delay, number, target, packet))

    def is_lost(self, side, packet):
        if packet[0] >> 4 != 4 or packet[9] != 6:
            return False
        ip = 4 * (packet[0] & 15)
        source, destination, sequence = struct.unpack_from("!HHI", packet, ip)
        payload = len(packet) - ip - 4 * (packet[ip + 12] >> 4)
        port = destination if side == "server" else source
        drop = self.drops.get(port)
        if packet[ip + 13] & 2:
            self.first[port, side] = sequence + 1
        if drop is None or drop.toward != side or not drop.matches(payload, packet[ip + 13]):
            return False
        number = self.seen.get(port, 0)
        if drop.again:
            # One segment, as often as it is sent, is what is lost.
            order = self.seen.setdefault((port, "segments"), [])
            if sequence not in order:
                order.append(sequence)
            if order.index(sequence) != drop.skip or number >= drop.count:
                return False
            self.seen[port] = number + 1
        else:
            self.seen[port] = number + 1
            if drop.seconds:
                since = self.since.setdefault(port, time.time()) if number >= drop.skip else None
                if since is None or time.time() - since > drop.seconds:
                    return False
            elif not drop.skip <= number < drop.skip + drop.count:
                return False
        self.dropped[port] = self.dropped.get(port, 0) + 1
        if payload:
            self.holes.setdefault(port, set()).add((sequence - self.first[port, side]) % (1 << 32))
        return True


def packets(device):
    """What is there to read, at most some packets at once."""
    for _ in range(64):
        try:
            yield os.read(device, 65536)
        except BlockingIOError:
            return
