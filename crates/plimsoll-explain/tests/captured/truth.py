"""From what the two programs of a connection say to the stalls that it really had."""

from bisect import bisect_left

# Shorter silences are not part of the truth: no figure is made of them, found or not.
SHORTEST = 0.020

# A repair of a loss may take no longer than this.
SLIGHT = 0.004
# Classes whose stalls may well last one round trip.
OF_A_ROUND_TRIP = ("fast_retransmit", "small_window")

# What a program that was not scheduled, or a wait for a round trip, may be called: nothing that speaks of a loss.
ANYTHING = ["*"]


# Where the kernel sent something again though nothing was dropped on purpose, a loss may be reported as well.
EVEN_A_LOSS = ["*", "rto", "tail_loss", "fast_retransmit", "syn_retry", "synack_retry"]


class Connection:
    """The logs of both ends, one of which may be missing where the connection was never accepted."""

    def __init__(self, client, server):
        self.client, self.server = client, server

    def other(self, side):
        return self.server if side is self.client else self.client


class Stall:
    def __init__(self, begin, end, name, also=(), who=None, required=True, seen_at=None):
        self.begin, self.end, self.name, self.also = begin, end, name, list(also)
        self.who, self.required = who, required
        # Where a capture at one end shows less: the classes that fit there, by the name of the capture; `None` where it
        # shows nothing.
        self.seen_at = seen_at or {}


def reached(log, what, total):
    """When a side had sent or received `total` bytes, or `None`."""
    steps = log[what]
    place = bisect_left(steps, total, key=lambda step: step[2])
    return steps[place][1] if place < len(steps) else None


def writing_since(log, total):
    """When a side began to write what lies behind the first `total` bytes, or `None`."""
    steps = log["writes"]
    place = bisect_left(steps, total + 1, key=lambda step: step[2])
    return steps[place][0] if place < len(steps) else None


def noticed(delay):
    """The shortest silence that must be found: on a long way, it has to stand out from the round trips."""
    return max(SHORTEST, 3 * delay + 0.01 if delay else 0)


def of_pauses(connection, delay):
    """What the programs did not do. A pause begins when what was written before has arrived."""
    for side in (connection.client, connection.server):
        if side is None:
            continue
        other = connection.other(side)
        for begun, ended, sent, name, also in side["pauses"]:
            if name is None:
                continue
            if sent and other is not None:
                arrived = reached(other, "reads", sent)
                if arrived is None:
                    continue
                begun = max(begun, arrived)
            required = ended - begun >= noticed(delay)
            if ended > begun:
                yield Stall(begun, ended, name, also if required else ANYTHING, side["role"], required)


def of_transport(connection, sender, name, scenario, delay, holes):
    """Silences in which the receiver waited in `read`, though the sender had written: nobody's program was to blame.
    Where it is known at which bytes of the stream segments were lost (`holes`), the others are no losses."""
    source = connection.server if sender == "server" else connection.client
    sink = connection.other(source)
    if source is None or sink is None:
        return
    shortest = (scenario.shortest if name else None) or noticed(delay)
    if name not in OF_A_ROUND_TRIP:
        # A window that grows gives silences of one round trip, and so do repairs after a timeout.
        shortest = max(shortest, noticed(delay))
    last, had = 0.0, 0
    for entered, returned, total in sink["reads"]:
        since = writing_since(source, had)
        begun = max(entered, last, since + delay) if since is not None else returned
        named = name and (holes is None or had in holes)
        if named and returned - begun >= (shortest if holes is None else SLIGHT):
            also = unseen_hold(sink, sender, last, returned) if name == "sender_held" else []
            required = scenario.required and returned - begun >= shortest
            yield Stall(begun, returned, name, [*scenario.also, *also], sender, required, scenario.seen_at)
        elif returned - begun >= min(shortest, SHORTEST):
            yield Stall(begun, returned, "machine", ANYTHING, sender, False)
        last, had = returned, total


def unseen_hold(sink, sender, last, returned):
    """Where all of a message was held, since the other side had spoken, no packet tells of it: the program may as well
    not have written."""
    spoke = any(last <= ended <= returned for _, ended, _ in sink["writes"]) or last == 0.0
    return ["server_think" if sender == "server" else "client_idle"] if spoke else []


def of_surroundings(connection, scenario):
    """Where a scenario allows classes all along, as small windows do on a long way, they may be reported at any
    time."""
    if scenario.ambient:
        sides = [side for side in (connection.client, connection.server) if side]
        begun = connection.client["opened"][0]
        ended = max(step[1] for side in sides for what in ("writes", "reads", "pauses") for step in side[what])
        yield Stall(begun, ended, scenario.ambient[0], scenario.ambient[1:], None, False)


def of_slips(connection):
    """Programs that were not scheduled."""
    for side in (connection.client, connection.server):
        for begun, ended in side["slips"] if side else ():
            yield Stall(begun, ended, "machine", ANYTHING, side["role"], False)


def of_resent(connection, delay):
    """Stretches in which the kernel of either side sent something again, which a packet takes a while to show."""
    for side in (connection.client, connection.server):
        for begun, ended in side["resent"] if side else ():
            yield begun - 2 * delay, ended + 2 * delay


def excuse(stalls, stretches):
    """Where the kernel sent something again needlessly, as on a machine too busy to acknowledge in time, anything may be reported, and nothing need
    be."""
    for begun, ended in stretches:
        for stall in stalls:
            if stall.begin < ended and begun < stall.end:
                stall.required, stall.also = False, EVEN_A_LOSS
        stalls.append(Stall(begun, ended, "machine", EVEN_A_LOSS, None, False))


def of_opening(connection, name, also, seen_at):
    """From the first SYN until both ends have a connection."""
    begun, ended = connection.client["opened"]
    if connection.server:
        ended = max(ended, connection.server["accepted"])
    if name:
        yield Stall(begun, ended, name, also, "client", True, seen_at)
    elif ended - begun > SHORTEST:
        yield Stall(begun, ended, "machine", ANYTHING, "client", False)


def without_overlap(stalls):
    """What is required is kept whole; of two that overlap the later is cut."""
    stalls.sort(key=lambda stall: stall.begin)
    kept, end = [], 0.0
    for stall in stalls:
        if stall.required:
            stall.begin = max(stall.begin, end)
            if stall.end - stall.begin < SHORTEST:
                continue
            end = max(end, stall.end)
        kept.append(stall)
    return kept


def describe(connection, stalls, origin, capture, scenario):
    """A connection for the truth file of one capture, with times from its first packet on."""
    listed = []
    for stall in stalls:
        names = stall.seen_at.get(capture, [stall.name, *stall.also])
        required = stall.required and names is not None
        listed.append(
            {
                "start_s": round(stall.begin - origin, 6),
                "length_ms": round(1e3 * (stall.end - stall.begin), 3),
                "class": names[0] if names else "machine",
                "also": names[1:] if names else ANYTHING,
                "who": stall.who,
                "required": required,
            }
        )
    return {
        "client": connection.client["address"],
        "server": connection.client["peer"],
        "scenario": scenario.name,
        "family": scenario.family,
        "both_ends_agree": scenario.drop is None,
        "stalls": listed,
    }
