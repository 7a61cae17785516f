"""Scenarios on which nothing was tuned: other programs, other ranges, and some in which nothing at all must be
found."""

import os
import tempfile

from corks import HELD
from endpoint import MSG_MORE
from pauses import IDLE, THINK, WAITED
from scenario import Drop, Scenario
from windows import CLOSED, SMALL

TCP_WINDOW_CLAMP = 10


def wait(rng):
    """30 ms to 1.5 s."""
    return 0.03 * 50 ** rng.random()


def conversation(rng):
    """Either side speaks next, after a pause of its own, as often as it likes."""
    steps = [
        (rng.choice(["client", "server"]), rng.choice([1, 30, 700, 6000, 60_000]), wait(rng) / 2)
        for _ in range(rng.randint(5, 9))
    ]

    def part(mine):
        def body(program):
            side = program.accept() if mine == "server" else program.connect()
            spoke = None
            for who, size, pause in steps:
                if who == mine:
                    name = WAITED if spoke == who else THINK if who == "server" else IDLE
                    side.pause(pause, name)
                    side.send(size)
                else:
                    side.read(size)
                spoke = who
            if mine == "server":
                side.read(None)
            side.close()

        return body

    return Scenario("conversation", "others", part("server"), part("client"))


def heartbeats(rng):
    """A client that says a few bytes now and then, and gets no answer."""
    beats = [(rng.randint(1, 40), rng.uniform(0.1, 0.6)) for _ in range(rng.randint(3, 6))]

    def server(program):
        side = program.accept()
        side.read(sum(size for size, _ in beats))
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        for number, (size, pause) in enumerate(beats):
            side.pause(pause, WAITED if number else IDLE)
            side.send(size)
        side.close()

    return Scenario("heartbeats", "others", server, client)


def file_in_parts(rng):
    """sendfile(2) behind a header with MSG_MORE, with pauses of the disk between."""
    parts = [rng.randint(30_000, 200_000) for _ in range(rng.randint(2, 4))]
    pauses = [wait(rng) for _ in parts]

    def server(program):
        with tempfile.TemporaryFile() as file:
            file.write(os.urandom(max(parts)))
            file.flush()
            side = program.accept()
            side.read(200)
            for number, (part, pause) in enumerate(zip(parts, pauses)):
                if number:
                    side.pause(pause, WAITED)
                else:
                    side.send(250, MSG_MORE)
                done = 0
                while done < part:
                    begun = side.begin()
                    size = os.sendfile(side.plug.fileno(), file.fileno(), done, part - done)
                    side.wrote(begun, size)
                    done += size
            side.read(None)
            side.close()

    def client(program):
        side = program.connect()
        side.send(200)
        side.read(250 + sum(parts))
        side.close()

    return Scenario("file in parts", "others", server, client)


def proxy_of_a_slow_origin(rng):
    """A proxy splices what an origin sends in two parts: its kernel holds the end of the first, and then the proxy has
    nothing."""
    first, second, pause = rng.randint(20, 60) * 1448 + 700, rng.randint(20, 60) * 1448 + 300, rng.uniform(0.35, 1.2)

    def origin(program):
        side = program.accept(0)
        side.read(120)
        side.send(first)
        side.pause(pause, WAITED)
        side.send(second)
        side.read(None)
        side.close()

    def between(program):
        front = program.accept(1)
        back = program.connect("server", 0)
        back.rest(IDLE)
        front.read(120)
        back.send(120)
        front.rest(THINK)
        front.splice(back, first, os.SPLICE_F_MORE)
        front.rest(WAITED)
        front.splice(back, second, 0)
        back.rest(IDLE)
        front.read(None)
        front.close()
        back.close()

    def client(program):
        side = program.connect("middle", 1)
        side.send(120)
        side.read(first + second)
        side.close()

    return Scenario(
        "proxy of a slow origin",
        "others",
        origin,
        client,
        middle=between,
        middle_setup=lambda p: p.listen(1),
        transport=HELD,
        transport_port=1,
        shortest=0.1,
    )


def cork_used_well(rng):
    """Corked, written in parts, and the cork pulled at once: nothing stands still."""
    sizes = [rng.randint(2000, 90_000) for _ in range(rng.randint(8, 20))]

    def server(program):
        side = program.accept()
        for size in sizes:
            side.read(150)
            side.cork(True)
            side.send(300)
            side.send(size)
            side.cork(False)
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        for size in sizes:
            side.send(150)
            side.read(300 + size)
        side.close()

    return Scenario("cork used well", "others", server, client)


def bulk(rng):
    """Some megabytes without a pause, one way or the other."""
    size, up = rng.randint(1_000_000, 4_000_000), rng.random() < 0.5

    def server(program):
        side = program.accept()
        side.read(size if up else 10)
        side.send(10 if up else size)
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        side.send(size if up else 10)
        side.read(10 if up else size)
        side.close()

    return Scenario("bulk", "others", server, client)


def clamped(rng):
    """A reader that clamps its window and naps."""
    total, nap = rng.randint(150_000, 300_000), rng.uniform(0.2, 0.8)

    def server(program):
        side = program.accept()
        side.read(20)
        side.send(total)
        side.close()

    def client(program):
        side = program.connect(buffer=12_000)
        side.option(TCP_WINDOW_CLAMP, 6000)
        side.send(20)
        for _ in range(2):
            side.read(total // 4)
            side.pause(nap, CLOSED, SMALL)
        side.read(None)
        side.close()

    return Scenario("clamped window", "others", server, client, transport=SMALL, also=[CLOSED], ambient=[SMALL, CLOSED])


def upload_with_leave(rng):
    """A client that asks whether it may send, is told so, and then takes its time."""
    ask, body, pauses = rng.randint(100, 900), rng.randint(2000, 300_000), [wait(rng) for _ in range(4)]

    def server(program):
        side = program.accept()
        side.read(ask)
        side.pause(pauses[0], THINK)
        side.send(25)
        side.read(body)
        side.pause(pauses[1], THINK)
        side.send(200)
        side.pause(pauses[2], THINK, WAITED)
        side.shut()
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        side.send(ask)
        side.read(25)
        side.pause(pauses[3], IDLE)
        side.send(body)
        side.read(None)
        side.close()

    return Scenario("upload with leave", "others", server, client)


def corked_lines(rng):
    """A client that sends lines with MSG_MORE, each after a pause, all of them held until the last; then the server
    works."""
    lines, work = [(rng.randint(20, 80), rng.uniform(0.02, 0.05)) for _ in range(3)], wait(rng)
    whole = sum(size for size, _ in lines)

    def server(program):
        side = program.accept()
        side.read(1500)
        side.read(whole)
        side.pause(work, THINK)
        side.send(30)
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        side.send(1500)
        for number, (size, pause) in enumerate(lines):
            side.pause(pause, None)
            side.send(size, MSG_MORE if number < 2 else 0)
        side.read(30)
        side.close()

    # The first line is held from when it is written; before that the program paused.
    return Scenario("corked lines", "others", server, client, transport=HELD, also=[WAITED], sender="client")


def dark(rng):
    """For a while nothing at all comes through toward the client."""
    size = rng.randint(200_000, 400_000)

    def server(program):
        side = program.accept()
        side.read(40)
        side.send(size)
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        side.send(40)
        side.read(size)
        side.close()

    return Scenario(
        "dark",
        "others",
        server,
        client,
        transport="rto",
        also=["tail_loss", "fast_retransmit"],
        links=["delayed"],
        drop=Drop("client", "data", skip=rng.randint(5, 60), seconds=rng.uniform(0.3, 0.9)),
        shortest=0.2,
    )


FAMILY = [
    conversation,
    conversation,
    heartbeats,
    file_in_parts,
    proxy_of_a_slow_origin,
    cork_used_well,
    bulk,
    clamped,
    upload_with_leave,
    corked_lines,
    dark,
]
