"""Nagle's algorithm against delayed acknowledgements: the second of two small writes waits for the acknowledgement of
the first."""

from pauses import IDLE, THINK, WAITED, length
from scenario import Scenario


def twice(rng):
    """A client that writes its request in two parts, as the classic case has it."""
    turns = rng.randint(3, 8)
    parts = [(rng.randint(1, 700), rng.randint(1, 700)) for _ in range(turns)]
    think = length(rng) if rng.random() < 0.4 else 0

    def server(program):
        side = program.accept()
        for first, second in parts:
            side.quiet()
            side.read(first + second)
            if think:
                side.pause(think, THINK)
            side.send(40)
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        for first, second in parts:
            side.send(first)
            side.send(second)
            side.read(40)
        side.close()

    return Scenario("write, write, read", "nagle", server, client, transport="delayed_ack", sender="client")


def answer_in_parts(rng):
    """A server that writes a header and then a body, both small, to a client that delays its acknowledgements."""
    turns = [
        (rng.randint(50, 400), rng.randint(50, 900), length(rng) if rng.random() < 0.4 else 0)
        for _ in range(rng.randint(3, 8))
    ]

    def server(program):
        side = program.accept()
        for header, body, _ in turns:
            side.read(60)
            side.send(header)
            side.send(body)
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        for header, body, idle in turns:
            if idle:
                side.pause(idle, IDLE)
            side.send(60)
            side.quiet()
            side.read(header + body)
        side.close()

    return Scenario("answer in two parts", "nagle", server, client, transport="delayed_ack")


def pause_between(rng):
    """Small writes with pauses that are longer than any delay of an acknowledgement: it is the program that waits."""
    waits = [rng.uniform(0.06, 0.7) for _ in range(rng.randint(2, 4))]

    def server(program):
        side = program.accept()
        side.read(60)
        side.send(200)
        for wait in waits:
            side.pause(wait, WAITED)
            side.send(200)
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        side.send(60)
        for _ in range(len(waits) + 1):
            side.quiet()
            side.read(200)
        side.close()

    return Scenario("small writes with pauses", "nagle", server, client)


FAMILY = [twice, answer_in_parts, pause_between]
