"""Programs that wait, on both sides: nothing is held back by a kernel, and nothing is lost."""

from scenario import Scenario

THINK, IDLE, WAITED = "server_think", "client_idle", "sender_waited"


def length(rng):
    """20 to 900 ms, as often short as long, with some near the timers of kernels."""
    if rng.random() < 0.25:
        return rng.choice([0.195, 0.2, 0.203, 0.208, 0.22, 0.25]) + rng.random() * 0.004
    return 0.02 * (45 ** rng.random())


def size(rng):
    """Of a message: from some bytes to some hundred segments."""
    return int(40 * 5000 ** rng.random())


def dialogue(rng):
    """Requests and answers, with a server that thinks and a client that is idle."""
    turns = [(size(rng) % 3000 + 20, length(rng), size(rng), length(rng)) for _ in range(rng.randint(2, 4))]

    def server(program):
        side = program.accept()
        for ask, think, answer, _ in turns:
            side.read(ask)
            side.pause(think, THINK)
            side.send(answer)
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        for ask, _, answer, idle in turns:
            side.pause(idle, IDLE)
            side.send(ask)
            side.read(answer)
        side.close()

    return Scenario("dialogue", "pauses", server, client)


def late_body(rng):
    """An answer whose header comes at once and whose body comes later; then it is closed."""
    ask, header, body = rng.randint(60, 900), rng.randint(100, 1200), size(rng)
    think, late = length(rng) if rng.random() < 0.5 else 0, length(rng)

    def server(program):
        side = program.accept()
        side.read(ask)
        if think:
            side.pause(think, THINK)
        side.send(header)
        side.pause(late, WAITED)
        side.send(body)
        side.shut()
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        side.send(ask)
        side.read(None)
        side.close()

    return Scenario("late body", "pauses", server, client)


def upload(rng):
    """A client that pauses in the middle of what it sends, and a server that thinks afterwards."""
    parts = [size(rng) for _ in range(rng.randint(2, 4))]
    waits = [length(rng) for _ in parts[1:]]
    think, answer = length(rng), rng.randint(20, 5000)

    def server(program):
        side = program.accept()
        side.read(sum(parts))
        side.pause(think, THINK)
        side.send(answer)
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        side.send(parts[0])
        for part, wait in zip(parts[1:], waits):
            side.pause(wait, WAITED)
            side.send(part)
        side.read(answer)
        side.close()

    return Scenario("upload", "pauses", server, client)


def bursts(rng):
    """A server that sends large pieces with pauses between: the first segment after a pause is a full one, without
    PSH."""
    pieces = [rng.randint(20_000, 400_000) for _ in range(rng.randint(3, 5))]
    waits = [rng.uniform(0.25, 0.9) if rng.random() < 0.7 else length(rng) for _ in pieces[1:]]

    def server(program):
        side = program.accept()
        side.read(100)
        side.send(pieces[0])
        for piece, wait in zip(pieces[1:], waits):
            side.pause(wait, WAITED)
            side.send(piece)
        side.close()

    def client(program):
        side = program.connect()
        side.send(100)
        side.read(sum(pieces))
        side.read(None)
        side.close()

    return Scenario("bursts", "pauses", server, client)


def lonely_header(rng):
    """A header, a pause, and a close: whether the rest was still to come the packets do not say."""
    wait, linger = length(rng), length(rng)

    def server(program):
        side = program.accept()
        side.read(80)
        side.send(300)
        side.pause(wait, THINK, WAITED)
        side.shut()
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        side.send(80)
        side.read(None)
        side.pause(linger, IDLE)
        side.close()

    return Scenario("header and close", "pauses", server, client)


def greeting(rng):
    """A server that speaks first, as mail servers do."""
    before, lines = length(rng), [(length(rng), length(rng)) for _ in range(rng.randint(2, 3))]

    def server(program):
        side = program.accept()
        side.pause(before, THINK)
        side.send(60)
        for think, _ in lines:
            side.read(30)
            side.pause(think, THINK)
            side.send(25)
        side.read(None)
        side.close()

    def client(program):
        side = program.connect()
        side.read(60)
        for _, idle in lines:
            side.pause(idle, IDLE)
            side.send(30)
            side.read(25)
        side.close()

    return Scenario("greeting", "pauses", server, client)


FAMILY = [dialogue, late_body, upload, bursts, lonely_header, greeting]
