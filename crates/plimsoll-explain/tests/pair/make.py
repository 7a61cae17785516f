#!/usr/bin/env python3
"""Makes pairs of captures of the same connections, with what is true of them.

    make.py DIRECTORY [--seed N] [--count N]

A small simulation of TCP over a path with two capture points; Scapy writes the packets. Needs `pip install scapy`. NN.json beside
NN.a.pcap.gz and NN.b.pcap.gz has the clocks, the delays, the losses and the silences, all from the simulation. Nothing is read from the packets.
"""

import argparse
import heapq
import json
import os
import random

from scapy.all import IP, TCP, Ether, wrpcap

SEGMENT = 1448
EDGE = 0.0002  # from a host to the capture point beside it
SPACING = 0.0012  # of packets that leave a queue
HELD = 0.7  # for which the path holds packets back


class Path:
    """Delays and losses between the points, and of the way between a host and its point."""

    def __init__(self, rng, there, back):
        self.rng, self.base = rng, {"c": there, "s": back}
        self.jitter = rng.choice([0.0, 0.0005, 0.003])
        self.held_until = {"c": 0.0, "s": 0.0}

    def arrival(self, side, now):
        at = now + self.base[side] + self.rng.expovariate(1 / self.jitter) if self.jitter else now + self.base[side]
        if at < self.held_until[side]:
            at = self.held_until[side] + SPACING  # nothing overtakes
        self.held_until[side] = at
        return at


class Connection:
    """One conversation of requests and answers, and its truth."""

    def __init__(self, world, rng, port, rounds):
        self.world, self.rng, self.port = world, rng, port
        self.isn = {"c": rng.getrandbits(32), "s": rng.getrandbits(32)}
        self.next = {"c": 1, "s": 1}
        self.received = {"c": 0, "s": 0}  # bytes in order that came to a side's peer
        self.unacked = {"c": [], "s": []}
        self.early = {"c": {}, "s": {}}
        self.ids = {"c": rng.randrange(1, 40000), "s": rng.randrange(1, 40000)}
        self.timer = {"c": None, "s": None}
        self.backoff = {"c": 1, "s": 1}
        self.rounds, self.waits, self.open = rounds, None, False
        self.drop = []  # (side, where): the next packet with data of that side is lost there
        self.fault = {"c": None, "s": None}

    def start(self, now):
        self.send("c", now, "S", 0, 0)

    # The wire ------------------------------------------------------------------------------------------------------------------

    def send(self, side, now, flags, offset, length, again=False):
        world = self.world
        self.ids[side] = self.ids[side] % 65535 + 1
        other = "s" if side == "c" else "c"
        packet = {
            "conn": self, "side": side, "flags": flags, "seq": offset, "length": length, "ack": self.received[other], "id": self.ids[side],
            "ts": (int(now * 1000) + 7 & 0xFFFFFFFF, 0),
        }
        where = None
        if "S" in flags or length or "F" in flags:
            if self.drop and self.drop[0][0] == side and not again:
                where = self.drop.pop(0)[1]
                self.fault[side] = (now, where)
            if not again:
                self.unacked[side].append((offset, length, flags))
            self.arm(side, now)
        if where == "own edge":
            return
        near, far = ("a", "b") if side == "c" else ("b", "a")
        now += EDGE
        world.see(near, now, packet)
        if where == "between":
            world.lost[side] += 1
            return
        if where == "held":
            world.path.held_until[side] = now + world.path.base[side] + HELD
        at = world.path.arrival(side, now)
        world.see(far, at, packet)
        world.delays[side].append(at - now)
        if where != "far edge":
            world.later(at + EDGE, self.deliver, packet)

    def arm(self, side, now):
        self.timer[side] = due = now + (0.25 + world_rtt(self.world)) * self.backoff[side]
        self.world.later(due, self.expire, side, due)

    def expire(self, now, side, due):
        if self.timer[side] != due or not self.unacked[side]:
            return
        self.backoff[side] *= 2
        offset, length, flags = self.unacked[side][0]
        self.send(side, now, flags, offset, length, again=True)
        self.ended(side, now)

    def ended(self, side, now):
        """A loss or a hold ends with the packet that is sent again; the silence is in the truth."""
        if self.fault[side]:
            began, where = self.fault[side]
            own, far = ("client", "server") if side == "c" else ("server", "client")
            if where == "held":
                now = began + EDGE + HELD + self.world.path.base[side]
            part = {"own edge": own, "between": "between", "held": "between", "far edge": far}[where]
            self.world.truth.append((self.port, began, now, part))
            self.fault[side] = None

    def deliver(self, now, packet):
        side, length = packet["side"], packet["length"]
        other = "s" if side == "c" else "c"
        self.acknowledged(other, packet["ack"], now)
        if "R" in packet["flags"]:
            return
        takes = length + ("S" in packet["flags"]) + ("F" in packet["flags"])
        if not takes:
            if side == "c" and not self.open:
                self.open = True
            return
        self.early[side][packet["seq"]] = takes
        while self.received[side] in self.early[side]:
            self.received[side] += self.early[side].pop(self.received[side])
        if "S" in packet["flags"]:
            if side == "c":
                self.send("s", now, "SA", 0, 0, again=self.received["s"] > 0 or bool(self.unacked["s"]))
            else:
                self.send("c", now, "A", 1, 0)
                self.turn(now)
            return
        self.send(other, now, "A", self.next[other], 0)
        self.turn(now)

    def acknowledged(self, side, ack, now):
        kept = [entry for entry in self.unacked[side] if entry[0] + max(entry[1], 1) > ack]
        if len(kept) != len(self.unacked[side]):
            self.backoff[side] = 1
            if self.fault[side] and self.fault[side][1] == "held":
                self.ended(side, now)
            self.unacked[side] = kept
            self.timer[side] = None
            if kept:
                self.arm(side, now)

    # The programs --------------------------------------------------------------------------------------------------------------

    def turn(self, now):
        """Goes on with the conversation where one side has all that it waits for."""
        if self.waits is None:
            if not self.rounds:
                return
            pause = self.rounds[0]["client"]
            self.waits = ("s", 1 + sum(done["request"] for done in self.world.done(self)) + self.rounds[0]["request"])
            self.world.later(now + pause, self.write, "c", self.rounds[0]["request"], pause, now)
            return
        reader, target = self.waits
        if self.received["c" if reader == "s" else "s"] < target:
            return
        round_ = self.rounds[0]
        if reader == "s":
            answered = sum(done["answer"] for done in self.world.done(self))
            self.waits = ("c", 1 + answered + round_["answer"])
            self.world.later(now + round_["server"], self.write, "s", round_["answer"], round_["server"], now)
        else:
            self.world.finished.setdefault(self.port, []).append(self.rounds.pop(0))
            self.waits = None
            self.turn(now)

    def write(self, now, side, length, pause, since):
        if pause > 0.05:
            self.world.truth.append((self.port, since, now, "client" if side == "c" else "server"))
        if side in self.rounds[0]["faults"]:
            self.drop.append((side, self.rounds[0]["faults"].pop(side)))
        while length:
            size = min(length, SEGMENT)
            self.send(side, now, "PA" if size == length else "A", self.next[side], size)
            self.next[side] += size
            length -= size


def world_rtt(world):
    return 4 * EDGE + sum(world.path.base.values())


class World:
    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        there = rng.choice([0.0003, 0.005, 0.02, 0.06])
        self.path = Path(rng, there, there)
        self.queue, self.number = [], 0
        self.seen = {"a": [], "b": []}
        self.lost, self.delays = {"c": 0, "s": 0}, {"c": [], "s": []}
        self.truth, self.finished = [], {}
        self.offset = rng.choice([0.0, 0.8, -3.2, 7200.0]) + rng.random() * 0.01
        self.ppm = rng.choice([0.0, 35.0, -80.0, 140.0])
        self.translated, self.randomised = rng.random() < 0.4, rng.random() < 0.25
        self.stamps = self.randomised or rng.random() < 0.7
        self.numbers = rng.choice(["kept", "kept", "zero", "rewritten"])
        self.merges = rng.random() < 0.4

    def later(self, at, what, *args):
        self.number += 1
        heapq.heappush(self.queue, (at, self.number, what, args))

    def done(self, connection):
        return self.finished.get(connection.port, [])

    def see(self, point, now, packet):
        self.seen[point].append((now, packet))

    def run(self):
        while self.queue:
            now, _, what, args = heapq.heappop(self.queue)
            what(now, *args)

    def clock(self, point, now):
        return now if point == "a" else now * (1 + self.ppm * 1e-6) + self.offset

    def header(self, point, packet):
        conn, side = packet["conn"], packet["side"]
        other = "s" if side == "c" else "c"
        client, server = ("192.168.7.20", 30000 + conn.port), ("203.0.113.9", 443)
        shift = {"c": 0, "s": 0}
        if point == "b":
            if self.translated:
                client = ("198.51.100.77", 61000 - conn.port)
            if self.randomised:
                shift = {"c": 0x5BD1E995, "s": 0x1B873593}
        source, target = (client, server) if side == "c" else (server, client)
        options = [("Timestamp", packet["ts"])] if self.stamps else []
        if "S" in packet["flags"]:
            options = [("MSS", 1460), ("SAckOK", b""), ("WScale", 7), *options]
        seq = (conn.isn[side] + packet["seq"] + shift[side]) % 2**32
        ack = (conn.isn[other] + packet["ack"] + shift[other]) % 2**32 if "A" in packet["flags"] else 0
        number = {"kept": packet["id"], "zero": 0, "rewritten": packet["id"] if point == "a" else packet["id"] * 7 % 65536}[self.numbers]
        ip = IP(src=source[0], dst=target[0], id=number, flags="DF")
        tcp = TCP(sport=source[1], dport=target[1], seq=seq, ack=ack, flags=packet["flags"], window=60000, options=options)
        return Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / ip / tcp / (b"x" * packet["length"])

    def write(self, path, point, begin):
        """Only headers are kept, as with `tcpdump -s`; a card with segmentation offload hands on what was written at once."""
        seen = sorted((entry for entry in self.seen[point] if entry[0] >= begin), key=lambda entry: entry[0])
        own = "c" if point == "a" else "s"
        frames = []
        merged = None
        for now, packet in seen:
            same = merged and merged[1]["conn"] is packet["conn"] and merged[0] == now
            if self.merges and same and packet["side"] == own and merged[1]["length"] and packet["length"] \
                    and merged[1]["seq"] + merged[1]["length"] == packet["seq"]:
                merged[1]["length"] += packet["length"]
                merged[1]["flags"] = packet["flags"]
                continue
            merged = [now, dict(packet)]
            frames.append(merged)
        written = []
        for now, packet in frames:
            frame = self.header(point, packet)
            frame.time = 1_700_000_000 + self.clock(point, now)
            frame.wirelen = len(frame)
            cut = Ether(bytes(frame)[:96])
            cut.time, cut.wirelen = frame.time, frame.wirelen
            written.append(cut)
        wrpcap(path, written, gz=True)
        return len(written)


def make(directory, name, seed):
    world = World(seed)
    rng = world.rng
    connections = rng.randrange(1, 4)
    for port in range(connections):
        rounds = []
        for _ in range(rng.randrange(12, 40)):
            pause = lambda: rng.choice([0.0, 0.0, 0.0, 0.002, 0.12, 0.4]) * rng.uniform(0.8, 1.2)
            faults = {}
            if rng.random() < 0.25:
                faults[rng.choice("cs")] = rng.choice(["own edge", "between", "between", "far edge", *["held"] * (connections == 1)])
            rounds.append({
                "client": pause(), "server": pause(), "request": rng.randrange(40, 900),
                "answer": rng.choice([200, 1448, 9000, 20000]), "faults": faults,
            })
        connection = Connection(world, rng, port, rounds)
        world.later(0.01 + port * rng.random(), connection.start)
    world.run()
    end = max(now for now, _ in world.seen["a"])
    begin = rng.choice([0.0, 0.0, end * 0.2]) if not world.randomised else 0.0
    packets = {point: world.write(os.path.join(directory, f"{name}.{point}.pcap.gz"), point, begin) for point in "ab"}
    truth = {
        "connections": connections, "offset_ms": world.offset * 1e3, "drift_ppm": world.ppm, "begin_s": begin, "packets": packets,
        "translated": world.translated, "merges": world.merges, "lost": None if begin else [world.lost["c"], world.lost["s"]],
        "delay_ms": [world.path.base["c"] * 1e3, max(world.delays["c"]) * 1e3, max(world.delays["s"]) * 1e3],
        "silences": [entry for entry in sorted(world.truth) if entry[1] >= begin],
    }
    with open(os.path.join(directory, f"{name}.json"), "w") as out:
        json.dump(truth, out)
        out.write("\n")


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("directory")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--count", type=int, default=8)
    given = words.parse_args()
    os.makedirs(given.directory, exist_ok=True)
    for number in range(given.count):
        make(given.directory, f"{number:02}", given.seed * 1000 + number)


if __name__ == "__main__":
    main()
