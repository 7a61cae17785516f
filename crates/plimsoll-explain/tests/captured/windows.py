"""Receivers that read slowly, or not at all for a while, and small receive buffers."""

import time

from pauses import IDLE
from scenario import Scenario

CLOSED, SMALL = "zero_window", "small_window"


def stops_reading(rng):
    """A client that stops reading for so long that probes go into the closed window."""
    buffer = rng.choice([16_000, 40_000, 100_000])
    waits = [rng.uniform(0.1, 1.6) for _ in range(rng.randint(1, 2))]
    between = rng.randint(2, 5) * buffer

    def server(program):
        side = program.accept()
        side.read(50)
        side.send(between * (len(waits) + 1) + 12 * buffer)
        side.close()

    def client(program):
        side = program.connect(buffer=buffer)
        side.send(50)
        for wait in waits:
            side.read(between)
            side.pause(wait, CLOSED, SMALL)
        side.read(None)
        side.close()

    return Scenario("stops reading", "windows", server, client, transport=SMALL, also=[CLOSED], ambient=[SMALL, CLOSED])


def server_stops_reading(rng):
    """The same with an upload."""
    buffer = rng.choice([20_000, 60_000])
    wait = rng.uniform(0.15, 1.2)

    def server(program):
        side = program.accept()
        side.read(3 * buffer)
        side.pause(wait, CLOSED, SMALL)
        side.read(12 * buffer)
        side.send(20)
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        side.send(15 * buffer)
        side.read(20)
        side.close()

    return Scenario(
        "server stops reading",
        "windows",
        server,
        client,
        setup=lambda p: p.listen(buffer=buffer),
        transport=SMALL,
        also=[CLOSED],
        ambient=[SMALL, CLOSED],
        sender="client",
    )


def reads_slowly(rng):
    """A client that reads some kilobytes at a time and works on them."""
    buffer, piece, work = rng.choice([16_000, 60_000]), rng.randint(2000, 9000), rng.uniform(0.02, 0.09)
    rounds = int(rng.uniform(1.0, 2.0) / work)
    total = rounds * piece + 12 * buffer

    def server(program):
        side = program.accept()
        side.read(50)
        side.send(total)
        side.close()

    def client(program):
        side = program.connect(buffer=buffer)
        side.send(50)
        side.read(2 * buffer)
        begun = time.time()
        for _ in range(rounds):
            side.pause(work, None)
            side.read(piece)
        side.during(begun, CLOSED, SMALL)
        side.read(None)
        side.close()

    return Scenario("reads slowly", "windows", server, client, transport=SMALL, also=[CLOSED], ambient=[SMALL, CLOSED])


def small_buffer(rng):
    """A receive buffer of few segments, or of less than one, and a client that reads at once."""
    buffer = rng.choice([2304, 3000, 4600, 8000])
    total = rng.randint(9_000, 30_000)

    def server(program):
        side = program.accept()
        side.read(50)
        side.send(total)
        side.close()

    def client(program):
        side = program.connect(buffer=buffer)
        side.send(50)
        side.read(total)
        side.pause(0.1, IDLE)
        side.close()

    return Scenario(
        "small buffer",
        "windows",
        server,
        client,
        transport=SMALL,
        also=[CLOSED],
        ambient=[SMALL, CLOSED],
        shortest=0.025,
    )


FAMILY = [stops_reading, server_stops_reading, reads_slowly, small_buffer]
