"""What a family of scenarios hands to the generator."""


class Drop:
    """Packets that the way between both ends loses: `count` of those that match, after the first `skip`."""

    def __init__(self, toward, kind, count=1, skip=0, payload=None, again=False, seconds=None):
        self.toward, self.kind, self.count, self.skip, self.payload = toward, kind, count, skip, payload
        # The segment number `skip` is lost `count` times; only a forwarder that knows segments can do it.
        self.again = again
        # All that match for so long; likewise.
        self.seconds = seconds

    def was(self, dropped):
        """Whether so many packets are what should have been dropped."""
        return dropped > 0 if self.seconds else dropped == self.count

    def matches(self, payload, flags):
        """For a TCP segment with a payload of so many bytes and these flags."""
        syn, ack, ends = flags & 2, flags & 16, flags & 5
        return {
            "data": payload > 0,
            "tail": payload == self.payload,
            "ack": payload == 0 and not syn and not ends,
            "syn": syn and not ack,
            "synack": syn and ack,
        }[self.kind]

    def rule(self, port):
        """The same in words of nft. A header of IPv4 and TCP with time stamps has 52 bytes, an acknowledgement with
        SACK up to 80."""
        side = "dport" if self.toward == "server" else "sport"
        kinds = {
            "data": "meta length > 100",
            "tail": f"meta length {(self.payload or 0) + 52}",
            "ack": "meta length <= 80 tcp flags & (syn|rst|fin) == 0",
            "syn": "tcp flags & (syn|ack) == syn",
            "synack": "tcp flags & (syn|ack) == (syn|ack)",
        }
        last = self.skip + self.count - 1
        which = f"{self.skip}" if last == self.skip else f"{self.skip}-{last}"
        return f"tcp {side} {port} {kinds[self.kind]} numgen inc mod 1000000 {which}"


class Scenario:
    """Programs, and what the packets between them must show."""

    def __init__(
        self,
        name,
        family,
        server,
        client,
        setup=None,
        middle=None,
        middle_setup=None,
        transport=None,
        also=(),
        sender="server",
        shortest=None,
        required=True,
        drop=None,
        opening=None,
        seen_at=None,
        links=None,
        transport_port=0,
        ambient=(),
    ):
        self.name, self.family = name, family
        # Bodies of the programs by their place, and what each does before the others start.
        self.bodies = {"server": (server, setup or (lambda p: p.listen())), "client": (client, None)}
        if middle:
            self.bodies["middle"] = (middle, middle_setup)
        # The class of silences in which the receiver waited though the sender had written, on connections to this port
        # of the scenario's.
        self.transport, self.also, self.sender = transport, also, sender
        self.shortest, self.required = shortest, required
        self.drop, self.opening, self.seen_at = drop, opening, seen_at or {}
        self.links, self.transport_port = links, transport_port
        # Classes that may be reported at any time.
        self.ambient = list(ambient)
        self.congestion = None
