"""A proxy that moves bytes with splice(2) and SPLICE_F_MORE, also the last ones: the kernel waits for more that never
comes."""

import os

from corks import HELD, answers, idles
from pauses import IDLE, THINK, length
from scenario import Scenario


def proxy(rng):
    """An origin, a proxy and a client. On a link of two ends the proxy stands at one of them or on the router
    between."""
    sizes = answers(rng, rng.choice([60_000, 1_500_000]))
    thinks = [length(rng) if rng.random() < 0.3 else 0 for _ in sizes]
    waits = idles(rng, sizes)
    piece = rng.choice([16384, 65536])

    def origin(program):
        side = program.accept(0)
        for size, think in zip(sizes, thinks):
            side.read(120)
            if think:
                side.pause(think, THINK)
            side.send(size)
        side.read(None)
        side.close()

    def between(program):
        front = program.accept(1)
        back = program.connect("server", 0)
        for size in sizes:
            back.rest(IDLE)
            front.read(120)
            back.send(120)
            front.rest(THINK)
            front.splice(back, size, os.SPLICE_F_MORE | os.SPLICE_F_MOVE, piece)
        back.rest(IDLE)
        front.read(None)
        front.close()
        back.close()

    def client(program):
        side = program.connect("middle", 1)
        for size, wait in zip(sizes, waits):
            if wait:
                side.pause(wait, IDLE)
            side.send(120)
            side.read(size)
        side.close()

    return Scenario(
        "splicing proxy",
        "splice",
        origin,
        client,
        middle=between,
        middle_setup=lambda p: p.listen(1),
        transport=HELD,
        transport_port=1,
        shortest=0.1,
    )


FAMILY = [proxy, proxy]
