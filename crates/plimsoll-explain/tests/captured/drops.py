"""Packets that are lost on the way: which ones is decided beforehand, and counted."""

from pauses import IDLE, THINK, WAITED, length
from scenario import Drop, Scenario

TAIL, TIMEOUT, FAST = "tail_loss", "rto", "fast_retransmit"
SEGMENT = 1448

# What a capture behind the loss can say of a silence before segments that it never saw before.
LOOKS_LIKE = [TAIL, TIMEOUT, WAITED, "sender_held", THINK]
CUT = ["veth", "delayed"]


def asking(sizes):
    def client(program):
        side = program.connect()
        for size in sizes:
            side.send(90)
            side.read(size)
        side.close()

    return client


def answering(sizes, think=0):
    def server(program):
        side = program.accept()
        for size in sizes:
            side.read(90)
            if think:
                side.pause(think, THINK)
            side.send(size)
        side.read(None)
        side.close()

    return server


def lonely_segment(rng):
    """An answer of one segment is lost once or twice."""
    sizes = [rng.randint(200, 400), rng.randint(500, 900), rng.randint(200, 400)]
    count = rng.randint(1, 2)
    return Scenario(
        "lost answer of one segment",
        "drops",
        answering(sizes),
        asking(sizes),
        transport=TAIL,
        also=[TIMEOUT],
        drop=Drop("client", "tail", count, payload=sizes[1]),
        seen_at={"client": LOOKS_LIKE},
        links=CUT,
        shortest=0.1,
    )


def lost_tail(rng):
    """The last segment of an answer of several is lost, and the probe for it as well where `count` is two."""
    size = SEGMENT * rng.randint(3, 9) + rng.randint(300, 1200)
    sizes = [5000, size, 3000]
    count = rng.choice([1, 2, 2])
    return Scenario(
        "lost tail",
        "drops",
        answering(sizes),
        asking(sizes),
        transport=TAIL,
        also=[TIMEOUT] if count > 1 else [],
        drop=Drop("client", "tail", count, payload=size % SEGMENT),
        seen_at={"client": LOOKS_LIKE},
        links=CUT,
        shortest=0.05,
    )


def blackout(rng):
    """All of an answer is lost, with the probe and one or two timeouts."""
    segments = rng.randint(3, 8)
    sizes = [SEGMENT * segments]
    return Scenario(
        "lost flight",
        "drops",
        answering(sizes),
        asking(sizes),
        transport=TIMEOUT,
        drop=Drop("client", "data", segments + rng.randint(2, 3)),
        seen_at={"client": LOOKS_LIKE},
        links=CUT,
        shortest=0.1,
    )


def lost_in_the_middle(rng):
    """One segment amid many is lost, and sent again soon; others go on meanwhile, so that there may be no silence at
    all."""
    size = SEGMENT * rng.randint(60, 140)
    return Scenario(
        "lost segment",
        "drops",
        answering([size]),
        asking([size]),
        transport=FAST,
        drop=Drop("client", "data", 1, rng.randint(12, 40)),
        links=CUT,
        shortest=0.035,
        required=False,
    )


def lost_in_the_last_flight(rng):
    """One of few segments is lost; behind it come enough to tell of that, and then nothing until it is repaired."""
    segments = rng.randint(7, 9)
    size = SEGMENT * segments
    return Scenario(
        "lost in the last flight",
        "drops",
        answering([size]),
        asking([size]),
        transport=FAST,
        drop=Drop("client", "data", 1, rng.randint(0, segments - 5)),
        links=["delayed"],
        shortest=0.035,
    )


def lost_twice(rng):
    """One segment amid many is lost, and the one that repairs it is lost too. Others go on until a timer has to run
    out."""
    size, count = SEGMENT * rng.randint(60, 120), rng.randint(2, 3)
    return Scenario(
        "lost segment, lost again",
        "drops",
        answering([size]),
        asking([size]),
        transport=FAST,
        also=[TIMEOUT],
        drop=Drop("client", "data", count, rng.randint(12, 30), again=True),
        links=["delayed"],
        shortest=0.2,
    )


def lost_request(rng):
    """A request of one segment is lost."""
    ask, answer, idle = rng.randint(150, 600), rng.randint(100, 6000), length(rng)

    def server(program):
        side = program.accept()
        for size in (90, ask, 90):
            side.read(size)
            side.send(answer)
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        for size in (90, ask, 90):
            side.pause(idle, IDLE)
            side.send(size)
            side.read(answer)
        side.close()

    return Scenario(
        "lost request",
        "drops",
        server,
        client,
        transport=TAIL,
        also=[TIMEOUT],
        sender="client",
        drop=Drop("server", "tail", 1, payload=ask),
        seen_at={"server": [TAIL, TIMEOUT, IDLE]},
        links=CUT,
        shortest=0.1,
    )


def lost_acknowledgements(rng):
    """The acknowledgements of a client are lost for a while: the server's timer runs out though all has arrived. The
    probe for the tail may bring something new; then a late acknowledgement is all that a capture shows."""
    size = SEGMENT * rng.randint(60, 100)
    return Scenario(
        "lost acknowledgements",
        "drops",
        answering([size]),
        asking([size]),
        transport=TIMEOUT,
        also=[TAIL],
        drop=Drop("server", "ack", skip=8, seconds=rng.uniform(0.4, 0.8)),
        seen_at={"client": [TIMEOUT, TAIL, WAITED, "sender_held"], "server": [TIMEOUT, TAIL, "delayed_ack"]},
        links=["delayed"],
    )


def lost_syn(rng):
    sizes = [rng.randint(100, 5000)]
    return Scenario(
        "lost SYN",
        "drops",
        answering(sizes),
        asking(sizes),
        opening="syn_retry",
        drop=Drop("server", "syn", 1),
        seen_at={"server": None},
        links=CUT,
    )


def lost_synack(rng):
    """To the client it is as if its SYN had been lost; the server sees both."""
    sizes = [rng.randint(100, 5000)]
    return Scenario(
        "lost SYN-ACK",
        "drops",
        answering(sizes),
        asking(sizes),
        opening="synack_retry",
        also=["syn_retry"],
        drop=Drop("client", "synack", 1),
        seen_at={"client": ["syn_retry", "synack_retry"]},
        links=CUT,
    )


def lost_end_of_handshake(rng):
    """The server speaks first, and never got the acknowledgement of its SYN-ACK."""

    def server(program):
        side = program.accept()
        side.send(70)
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        side.read(70)
        side.close()

    return Scenario(
        "lost end of the handshake",
        "drops",
        server,
        client,
        opening="synack_retry",
        drop=Drop("server", "ack", 1),
        links=CUT,
    )


FAMILY = [
    lonely_segment,
    lost_tail,
    blackout,
    lost_in_the_middle,
    lost_in_the_last_flight,
    lost_twice,
    lost_request,
    lost_acknowledgements,
    lost_syn,
    lost_synack,
    lost_end_of_handshake,
]
