#!/usr/bin/env python3
"""Makes real TCP flows, each with one fault injected, and captures each into a pcap named after the fault.

    generate.py DIRECTORY [--per-class N] [--class NAME ...] [--seed S]

Two network namespaces are joined by two TUN devices and a relay in this process. The relay delays packets, drops those
that a flow's fault says, and writes the capture, as tcpdump at one end of the way would. The kernel does all the TCP.
Needs root (or a user namespace with a network namespace) and /dev/net/tun. Nothing is left behind: namespaces and
devices live as long as the process.
"""

import argparse
import ctypes
import fcntl
import heapq
import os
import random
import select
import socket
import struct
import subprocess
import sys
import threading
import time

CLIENT, SERVER = "10.77.0.1", "10.77.0.2"
MTU = 16000
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
MSG_MORE, TCP_CORK, TCP_QUICKACK = 0x8000, 3, 12
libc = ctypes.CDLL(None, use_errno=True)


def call(function, *arguments):
    if function(*arguments) != 0:
        raise OSError(ctypes.get_errno(), f"{function.__name__} failed")


class Host:
    """A network namespace with one TUN device."""

    def __init__(self, address, peer):
        call(libc.unshare, CLONE_NEWNET)
        self.namespace = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        self.tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.tun, TUNSETIFF, struct.pack("16sH22x", b"lab0", IFF_TUN | IFF_NO_PI))
        for command in (
            "link set lo up",
            f"address add {address} peer {peer} dev lab0",
            f"link set lab0 mtu {MTU} txqueuelen 10000 up",
        ):
            subprocess.run(["ip", *command.split()], check=True)

    def socket(self):
        """A socket that lives in this namespace. Threads are moved one by one."""
        call(libc.setns, self.namespace, CLONE_NEWNET)
        made = socket.socket()
        made.settimeout(20)
        return made


class Segment:
    """The fields of a packet that faults look at."""

    def __init__(self, packet, from_client):
        header = (packet[0] & 15) * 4
        self.from_client = from_client
        ports = struct.unpack_from("!HH", packet, header)
        self.port = ports[1] if from_client else ports[0]
        self.seq = struct.unpack_from("!I", packet, header + 4)[0]
        self.flags = packet[header + 13]
        total = struct.unpack_from("!H", packet, 2)[0]
        self.payload = total - header - (packet[header + 12] >> 4) * 4


class Flow:
    """One connection: its fault, its relay settings, and its capture."""

    def __init__(self, name, port, path, random_source):
        self.name, self.port, self.random = name, port, random_source
        self.delay = random_source.uniform(0.0005, 0.015)
        self.at_client = random_source.random() < 0.5
        self.drop = lambda segment: False
        self.hidden = lambda segment: False
        self.lock = threading.Lock()
        self.capture = open(path, "wb")
        self.capture.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 96, 101))

    def record(self, packet, segment):
        if self.hidden(segment):
            return
        now = time.time_ns()
        kept = packet[:96]
        head = struct.pack("<IIII", now // 10**9, now % 10**9, len(kept), len(packet))
        with self.lock:
            if not self.capture.closed:
                self.capture.write(head + kept)

    def close(self):
        with self.lock:
            self.capture.close()


class Relay(threading.Thread):
    """Carries packets from one TUN device to the other."""

    def __init__(self, client, server, flows):
        super().__init__(daemon=True)
        self.tuns = {client.tun: (True, server.tun), server.tun: (False, client.tun)}
        self.flows, self.queue, self.count = flows, [], 0

    def run(self):
        while True:
            wait = max(0, self.queue[0][0] - time.monotonic()) if self.queue else 0.5
            for tun in select.select(list(self.tuns), [], [], wait)[0]:
                self.take(tun)
            while self.queue and self.queue[0][0] <= time.monotonic():
                _, _, packet, segment, flow, out = heapq.heappop(self.queue)
                if flow.at_client != segment.from_client:
                    flow.record(packet, segment)
                try:
                    os.write(out, packet)
                except OSError:
                    pass

    def take(self, tun):
        from_client, out = self.tuns[tun]
        for _ in range(64):
            try:
                packet = os.read(tun, 65536)
            except BlockingIOError:
                return
            if packet[0] >> 4 != 4 or packet[9] != 6:
                continue
            segment = Segment(packet, from_client)
            flow = self.flows.get(segment.port)
            if flow is None:
                continue
            if flow.at_client == from_client:
                flow.record(packet, segment)
            if not flow.drop(segment):
                self.count += 1
                due = time.monotonic() + flow.delay
                heapq.heappush(self.queue, (due, self.count, packet, segment, flow, out))


class Lab:
    """Both hosts, and what a fault needs to open its connection."""

    def __init__(self):
        self.client_host = Host(CLIENT, SERVER)
        self.server_host = Host(SERVER, CLIENT)
        self.flows = {}
        Relay(self.client_host, self.server_host, self.flows).start()

    def listen(self, flow, segment_size=1448, receive_buffer=None):
        made = self.server_host.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, segment_size)
        if receive_buffer:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        made.bind((SERVER, flow.port))
        made.listen()
        return made

    def connect(self, flow, receive_buffer=None, port=0):
        made = self.client_host.socket()
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if receive_buffer:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        made.bind((CLIENT, port))
        made.connect((SERVER, flow.port))
        return made

    def pair(self, flow, serve, **options):
        """Connects, runs `serve(connection)` in a thread, and returns the client's socket and the thread."""
        listener = self.listen(flow, options.get("segment_size", 1448), options.get("server_buffer"))

        def accept():
            connection = listener.accept()[0]
            connection.settimeout(20)
            listener.close()
            with connection:
                serve(connection)
                # The client closes first: a FIN right behind the data would push out what is held, and tell of losses.
                connection.recv(1)

        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        return self.connect(flow, options.get("client_buffer")), thread


def receive(connection, count):
    while count > 0:
        got = len(connection.recv(min(count, 65536)))
        if got == 0:
            raise ConnectionError("closed too early")
        count -= got


def ask(lab, flow, answer, rounds=1, between=lambda: None, **options):
    """A client that asks `rounds` times, and a server whose `answer(connection)` returns how much it sent."""
    sizes = []

    def serve(connection):
        for _ in range(rounds):
            receive(connection, 100)
            answer(connection, sizes)

    client, thread = lab.pair(flow, serve, **options)
    with client:
        for turn in range(rounds):
            client.sendall(b"q" * 100)
            size = options["size"]
            receive(client, size)
            if turn + 1 < rounds:
                between()
    thread.join(20)


def once(test):
    """True for the first segment that passes the test."""
    done = []

    def check(segment):
        if done or not test(segment):
            return False
        done.append(True)
        return True

    return check


def nth_data(of_client, number):
    """The first sending of the data segment of that number."""
    seen = set()

    def test(segment):
        if segment.from_client != of_client or segment.payload == 0:
            return False
        seen.add(segment.seq)
        return len(seen) == number

    return once(test)


def delayed_ack(lab, flow):
    rounds, part = flow.random.randint(4, 12), flow.random.randint(20, 600)

    def serve(connection):
        for _ in range(rounds):
            receive(connection, 2 * part)
            connection.sendall(b"a" * 50)

    client, thread = lab.pair(flow, serve)
    with client:
        for _ in range(rounds):
            client.sendall(b"h" * part)
            client.sendall(b"b" * part)
            receive(client, 50)
    thread.join(20)


def sender_held(lab, flow):
    full, rest = flow.random.randint(2, 8) * 1436, flow.random.randint(50, 1300)
    size, corks = full + rest, flow.random.random() < 0.5

    def answer(connection, _):
        if corks:
            connection.setsockopt(socket.IPPROTO_TCP, TCP_CORK, 1)
            connection.sendall(b"d" * size)
        else:
            # An acknowledgement releases what was promised more: only data behind the last one is held.
            connection.sendall(b"d" * full, MSG_MORE)
            time.sleep(2 * flow.delay + 0.01)
            connection.sendall(b"d" * rest, MSG_MORE)

    ask(lab, flow, answer, rounds=flow.random.randint(1, 4), size=size)


def sender_waited(lab, flow):
    chunks, chunk = flow.random.randint(3, 8), flow.random.randint(200, 20000)
    pauses = [flow.random.choice([0.2, flow.random.uniform(0.07, 0.4)]) for _ in range(chunks)]

    def answer(connection, _):
        for pause in pauses:
            connection.sendall(b"d" * chunk)
            time.sleep(pause)

    ask(lab, flow, answer, size=chunks * chunk)


def rto(lab, flow):
    size, begin = flow.random.randint(300_000, 800_000), flow.random.randint(20, 60)
    dark = flow.random.uniform(0.25, 0.6)
    seen, until = [0], [None]

    def drop(segment):
        if segment.from_client or segment.payload == 0:
            return False
        seen[0] += 1
        if seen[0] == begin:
            until[0] = time.monotonic() + dark
        return until[0] is not None and time.monotonic() < until[0]

    flow.drop = drop
    ask(lab, flow, lambda connection, _: connection.sendall(b"d" * size), size=size)


def fast_retransmit(lab, flow):
    flow.delay = flow.random.uniform(0.005, 0.03)
    size = flow.random.randint(8, 10) * 1448
    flow.drop = nth_data(False, flow.random.randint(2, 5))
    ask(lab, flow, lambda connection, _: connection.sendall(b"d" * size), size=size)


def tail_loss(lab, flow):
    # Where the receiver is, the last of a flight that never came cannot be told from one not sent yet.
    flow.at_client = False
    count = flow.random.randint(1, 9)
    size = (count - 1) * 1436 + flow.random.randint(100, 1436)
    flow.drop = nth_data(False, count)
    ask(lab, flow, lambda connection, _: connection.sendall(b"d" * size), size=size)


def syn_retry(lab, flow):
    flow.at_client = True
    flow.drop = once(lambda segment: segment.flags & SYN and segment.from_client)
    ask(lab, flow, lambda connection, _: connection.sendall(b"d" * 5000), size=5000)


def synack_retry(lab, flow):
    # The server greets: without data of the client, only the server's timer can bring the handshake to its end.
    flow.drop = once(lambda segment: segment.from_client and not segment.flags & SYN)
    client, thread = lab.pair(flow, lambda connection: connection.sendall(b"220 ready\r\n"))
    with client:
        receive(client, 11)
    thread.join(20)


def syn_ignored(lab, flow):
    """The client dies without a word, and comes back from the same port; the server still has the old connection."""
    listener = lab.listen(flow)
    port = 20000 + flow.port % 10000
    client = lab.connect(flow, port=port)
    old = listener.accept()[0]
    client.sendall(b"q" * 100)
    receive(old, 100)
    time.sleep(flow.delay)
    flow.drop = lambda segment: segment.from_client and segment.flags & RST
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.close()
    time.sleep(flow.random.uniform(0.05, 0.2))
    if flow.at_client and flow.random.random() < 0.5:
        # Something on the way that tracks connections takes the SYN for a part of the old one, once.
        flow.drop = once(lambda segment: segment.from_client and segment.flags & SYN)
    else:
        flow.drop = lambda segment: False
    with lab.connect(flow, port=port) as client, listener.accept()[0] as connection:
        client.sendall(b"q" * 100)
        receive(connection, 100)
        connection.sendall(b"a" * 500)
        receive(client, 500)
    old.close()
    listener.close()


def zero_window(lab, flow):
    size, pause = flow.random.randint(60_000, 200_000), flow.random.uniform(0.15, 0.7)
    client, thread = lab.pair(
        flow, lambda connection: connection.sendall(b"d" * size), client_buffer=flow.random.randint(8000, 20000)
    )
    with client:
        time.sleep(pause)
        receive(client, size)
    thread.join(20)


def small_window(lab, flow):
    flow.delay = flow.random.uniform(0.0002, 0.001)
    size, pause = flow.random.randint(60_000, 120_000), flow.random.choice([0, 0, flow.random.uniform(0, 0.002)])
    options = {"segment_size": flow.random.choice([4000, 8948, 15948]), "client_buffer": 2304}
    client, thread = lab.pair(flow, lambda connection: connection.sendall(b"d" * size), **options)
    with client:
        while size > 0:
            size -= len(client.recv(600))
            time.sleep(pause)
    thread.join(20)


def server_think(lab, flow):
    think, size = flow.random.uniform(0.05, 0.5), flow.random.randint(100, 8000)

    def answer(connection, _):
        time.sleep(think)
        connection.sendall(b"d" * size)

    ask(lab, flow, answer, rounds=flow.random.randint(1, 4), size=size)


def client_idle(lab, flow):
    idle, size = flow.random.uniform(0.07, 0.5), flow.random.randint(100, 8000)
    ask(
        lab,
        flow,
        lambda connection, _: connection.sendall(b"d" * size),
        rounds=flow.random.randint(2, 5),
        between=lambda: time.sleep(idle),
        size=size,
    )


def capture_gap(lab, flow):
    size, first = flow.random.randint(200_000, 400_000), flow.random.randint(20, 60)
    dark = flow.random.uniform(0.1, 0.3)
    seen, until = [0], [None]

    def hidden(segment):
        seen[0] += 1
        if seen[0] == first:
            until[0] = time.monotonic() + dark
        return until[0] is not None and time.monotonic() < until[0]

    flow.hidden = hidden

    def answer(connection, _):
        for _ in range(100):
            connection.sendall(b"d" * (size // 100))
            time.sleep(0.004)

    ask(lab, flow, answer, size=size // 100 * 100)


CLASSES = [
    delayed_ack, sender_held, sender_waited, rto, fast_retransmit, tail_loss, syn_retry, synack_retry, syn_ignored,
    zero_window, small_window, server_think, client_idle, capture_gap,
]  # fmt: skip


def make(lab, fault, number, port, directory, seed):
    flow = Flow(fault.__name__, port, f"{directory}/{fault.__name__}-{number:02}.pcap", random.Random(f"{seed}{port}"))
    lab.flows[port] = flow
    try:
        fault(lab, flow)
        time.sleep(0.1)
    except OSError as error:
        sys.exit(f"{fault.__name__} {number}: {error}") if threading.current_thread() is threading.main_thread() else print(
            f"{fault.__name__} {number}: {error}", file=sys.stderr
        )
    finally:
        flow.close()


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("directory")
    arguments.add_argument("--per-class", type=int, default=50)
    arguments.add_argument("--class", dest="classes", action="append")
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--at-once", type=int, default=5)
    options = arguments.parse_args()
    os.makedirs(options.directory, exist_ok=True)
    try:
        # A busy machine would add pauses of its own to the injected ones.
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    except PermissionError:
        print("without real-time priority: flows may have pauses that nobody injected", file=sys.stderr)
    lab = Lab()
    port = 5000
    for fault in CLASSES:
        if options.classes and fault.__name__ not in options.classes:
            continue
        for first in range(0, options.per_class, options.at_once):
            threads = []
            for number in range(first, min(first + options.at_once, options.per_class)):
                port += 1
                job = (lab, fault, number, port, options.directory, options.seed)
                threads.append(threading.Thread(target=make, args=job))
                threads[-1].start()
            for thread in threads:
                thread.join()


if __name__ == "__main__":
    main()
