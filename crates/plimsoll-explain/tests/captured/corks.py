"""Kernels that hold the last partial segment back: TCP_CORK and MSG_MORE."""

from endpoint import MSG_MORE
from pauses import IDLE, THINK, WAITED, length
from scenario import Scenario

HELD = "sender_held"


def answers(rng, largest):
    """Sizes that are no multiple of a segment, and larger than one."""
    return [rng.randint(4, largest // 1448) * 1448 + rng.randint(100, 1300) for _ in range(rng.randint(2, 3))]


def asking(sizes, idles):
    """A client that asks for answers of these sizes."""

    def client(program):
        side = program.connect()
        for size, idle in zip(sizes, idles):
            if idle:
                side.pause(idle, IDLE)
            side.send(120)
            side.read(size)
        side.close()

    return client


def idles(rng, sizes):
    return [length(rng) if rng.random() < 0.3 else 0 for _ in sizes]


def cork_never_pulled(rng):
    """A server that sets TCP_CORK and forgets it: the timer of 200 ms lets the tail go."""
    sizes = answers(rng, rng.choice([40_000, 1_000_000]))

    def server(program):
        side = program.accept()
        side.cork(True)
        for size in sizes:
            side.read(120)
            side.send(size)
        side.read(None)
        side.close()

    return Scenario("cork never pulled", "cork", server, asking(sizes, idles(rng, sizes)), transport=HELD, shortest=0.1)


def cork_pulled_late(rng):
    """A server that corks, writes, works for a while and pulls the cork. To a capture it may as well be a program that
    paused after a write that promised more, or before its last write."""
    sizes = answers(rng, 60_000)
    waits = [rng.uniform(0.03, 0.18) for _ in sizes]

    def server(program):
        side = program.accept()
        for size, wait in zip(sizes, waits):
            side.read(120)
            side.cork(True)
            side.send(size)
            side.pause(wait, None)
            side.cork(False)
        side.read(None)
        side.close()

    return Scenario("cork pulled late", "cork", server, asking(sizes, idles(rng, sizes)), transport=HELD, also=[WAITED])


def cork_on_little(rng):
    """An answer that is smaller than a segment, all of it held: nothing tells that from a server that thinks."""
    sizes = [rng.randint(40, 1300) for _ in range(2)]

    def server(program):
        side = program.accept()
        side.cork(True)
        for size in sizes:
            side.read(120)
            side.send(size)
        side.read(None)
        side.close()

    return Scenario("cork on little", "cork", server, asking(sizes, idles(rng, sizes)), transport=HELD, shortest=0.1)


def more_at_the_end(rng):
    """A server whose last write promises more: MSG_MORE on every write, as a loop that copies does."""
    sizes = answers(rng, rng.choice([40_000, 600_000]))
    piece = rng.choice([None, 4096, 16384, 65536])

    def server(program):
        side = program.accept()
        for size in sizes:
            side.read(120)
            side.send(size, MSG_MORE, piece)
        side.read(None)
        side.close()

    return Scenario(
        "MSG_MORE at the end", "MSG_MORE", server, asking(sizes, idles(rng, sizes)), transport=HELD, shortest=0.1
    )


def more_before_late_body(rng):
    """A header with MSG_MORE, and a body that comes later than the timer that lets the header go."""
    header, body, late = rng.randint(60, 1200), rng.randint(100, 100_000), rng.uniform(0.3, 0.9)

    def server(program):
        side = program.accept()
        side.read(120)
        side.send(header, MSG_MORE)
        side.pause(late, WAITED)
        side.send(body)
        side.read(None)
        side.close()

    return Scenario(
        "MSG_MORE before a late body", "MSG_MORE", server, asking([header + body], [0]), transport=HELD, shortest=0.1
    )


def upload_corked(rng):
    """A client that corks what it sends: the server gets the tail 200 ms late."""
    sizes = answers(rng, 300_000)
    think = length(rng)

    def server(program):
        side = program.accept()
        for size in sizes:
            side.read(size)
            side.pause(think, THINK)
            side.send(50)
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        side.cork(True)
        for size in sizes:
            side.send(size)
            side.read(50)
        side.close()

    return Scenario("upload corked", "cork", server, client, transport=HELD, sender="client", shortest=0.1)


FAMILY = [cork_never_pulled, cork_pulled_late, cork_on_little, more_at_the_end, more_before_late_body, upload_corked]
