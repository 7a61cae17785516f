"""Programs at the two ends of connections. Each says with the time of day what it did, and why it waited: the truth is
made of that."""

import os
import pickle
import select
import socket
import struct
import time

import lab

TCP_CORK = 3
TCP_QUICKACK = 12
TCP_CONGESTION = 13
TCP_REPAIR = 19
MSG_MORE = 0x8000
TCP_INFO = 11
# Where `tcpi_total_retrans` stands in `struct tcp_info`.
TOTAL_RETRANS = 100
FILLER = os.urandom(1 << 16) * 64

# A program that does nothing for so long between two operations was not scheduled, and says so.
SLIP = 0.008


class Side:
    """One end of one connection."""

    def __init__(self, plug, role, opened=None):
        self.plug, self.role = plug, role
        self.plug.setblocking(True)
        near, far = plug.getsockname(), plug.getpeername()
        self.address, self.peer = f"{near[0]}:{near[1]}", f"{far[0]}:{far[1]}"
        self.opened = opened
        self.sent = self.received = 0
        self.writes, self.reads, self.pauses, self.slips = [], [], [], []
        self.accepted = self.last = time.time()
        self.resting = None
        # When the kernel sent something again, between two operations of the program.
        self.resent, self.resent_so_far = [], 0

    def log(self):
        names = (
            "role",
            "address",
            "peer",
            "opened",
            "accepted",
            "writes",
            "reads",
            "pauses",
            "slips",
            "resent",
            "sent",
            "received",
        )
        return {name: getattr(self, name) for name in names}

    def look(self, now):
        """Asks the kernel whether it has sent something again since the operation before."""
        info = self.plug.getsockopt(socket.IPPROTO_TCP, TCP_INFO, TOTAL_RETRANS + 4)
        so_far = struct.unpack_from("I", info, TOTAL_RETRANS)[0]
        if so_far > self.resent_so_far:
            self.resent.append((self.last, now))
            self.resent_so_far = so_far

    def begin(self):
        now = time.time()
        self.look(now)
        if self.resting:
            self.pauses.append((self.last, now, self.sent, *self.resting))
            self.resting = None
        elif now - self.last > SLIP:
            self.slips.append((self.last, now))
        return now

    def done(self):
        now = time.time()
        self.look(now)
        self.last = now
        return now

    def option(self, name, value, level=socket.IPPROTO_TCP):
        self.plug.setsockopt(level, name, value)

    def send(self, size, flags=0, piece=None):
        """Writes `size` bytes, in pieces of `piece`."""
        left = size
        while left:
            now = min(left, piece or left, len(FILLER))
            begun = self.begin()
            whole = memoryview(FILLER)[:now]
            more = flags
            while whole:
                whole = whole[self.plug.send(whole, more) :]
            self.wrote(begun, now)
            left -= now

    def wrote(self, begun, size):
        self.sent += size
        self.writes.append((begun, self.done(), self.sent))

    def read(self, size, most=1 << 16):
        """Reads `size` bytes, or up to the end of the stream where that is `None`. Returns what was read."""
        got = 0
        while size is None or got < size:
            begun = self.begin()
            part = self.plug.recv(most if size is None else min(most, size - got))
            if not part:
                if size is not None:
                    raise EOFError(f"{self.role} of {self.address}: the stream ended after {got} of {size} bytes")
                self.done()
                break
            got += len(part)
            self.received += len(part)
            self.reads.append((begun, self.done(), self.received))
        return got

    def quiet(self):
        """Acknowledgements are delayed from here on, as in a dialogue."""
        self.option(TCP_QUICKACK, 0)

    def pause(self, seconds, name, *also):
        """Does nothing for a while, which packets show as `name`, or as one of `also` where they cannot tell."""
        begun = self.begin()
        time.sleep(seconds)
        self.pauses.append((begun, self.done(), self.sent, name, list(also)))

    def rest(self, name, *also):
        """The program turns to something else; until it comes back, packets show `name`, or one of `also`."""
        self.begin()
        self.done()
        self.resting = (name, list(also))

    def during(self, begun, name, *also):
        """From `begun` until now packets show `name`, or one of `also`."""
        self.pauses.append((begun, time.time(), self.sent, name, list(also)))

    def splice(self, source, size, flags, piece=1 << 16):
        """Moves `size` bytes from another connection to this one through a pipe."""
        out, into = os.pipe()
        left = size
        while left:
            begun = source.begin()
            got = os.splice(source.plug.fileno(), into, min(piece, left), flags=flags)
            if not got:
                raise EOFError("the source of a splice ended early")
            source.received += got
            source.reads.append((begun, source.done(), source.received))
            left -= got
            begun = self.begin()
            rest = got
            while rest:
                rest -= os.splice(out, self.plug.fileno(), rest, flags=flags)
            self.wrote(begun, got)
        os.close(out)
        os.close(into)

    def cork(self, on):
        self.option(TCP_CORK, int(on))

    def shut(self):
        self.begin()
        self.plug.shutdown(socket.SHUT_WR)

    def close(self):
        self.begin()
        self.plug.close()

    def reset(self):
        self.plug.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.plug.close()

    def vanish(self):
        """Closes without a word to the other side."""
        self.option(TCP_REPAIR, 1)
        self.plug.close()


class Program:
    """What a program of a scenario knows: where it runs, and which ports are its own."""

    def __init__(self, link, place, port, congestion):
        self.link, self.place, self.port, self.congestion = link, place, port, congestion
        self.sides, self.listeners = [], {}

    def prepare(self, plug, buffer):
        if self.congestion:
            plug.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, self.congestion.encode())
        if buffer:
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)

    def listen(self, number=0, buffer=None):
        plug = socket.socket()
        plug.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.prepare(plug, buffer)
        plug.bind((self.link.addresses[self.place], self.port + number))
        plug.listen(64)
        plug.settimeout(60)
        self.listeners[number] = plug

    def accept(self, number=0):
        plug, _ = self.listeners[number].accept()
        side = Side(plug, "server")
        self.sides.append(side)
        return side

    def connect(self, place="server", number=0, buffer=None, source=None):
        plug = socket.socket()
        self.prepare(plug, buffer)
        if source:
            plug.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            plug.bind((self.link.addresses[self.place], source))
        plug.settimeout(60)
        begun = time.time()
        plug.connect((self.link.addresses[place], self.port + number))
        side = Side(plug, "client", (begun, time.time()))
        self.sides.append(side)
        return side


def start(program, body, namespace, path, setup=None):
    """Runs a program's `body` in a process of its own; its log is found at `path` afterwards. Listening is done before
    this returns."""
    ready, tell = os.pipe()
    pid = os.fork()
    if pid:
        os.close(tell)
        told = select.select([ready], [], [], 20)[0] and os.read(ready, 1)
        os.close(ready)
        if told != b"x":
            raise RuntimeError("a program did not start")
        return pid
    lab.die_with_parent()
    status = 1
    try:
        os.close(ready)
        # On a busy machine the programs are those that wait the least: what they say is the truth.
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        namespace.enter()
        if setup:
            setup(program)
        os.write(tell, b"x")
        body(program)
        status = 0
    except BaseException as error:
        print(f"endpoint at port {program.port}: {type(error).__name__}: {error}", flush=True)
    finally:
        with open(path, "wb") as file:
            pickle.dump([side.log() for side in program.sides], file)
        os._exit(status)
