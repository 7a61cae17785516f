"""The same captures as other programs would have left them: as text of tcpdump, new and of 2001, as pcapng, and with
half of it filtered away. The truth stays, but for what half a capture cannot tell."""

import copy
import json
import os
import struct
import subprocess

THINK, IDLE, WAITED, HELD, GAP = "server_think", "client_idle", "sender_waited", "sender_held", "capture_gap"


def make(directory):
    """Views of the captures that are there; each has a truth file of its own."""
    for base, suffix, write in (
        ("veth-server", ".pcapng", as_pcapng),
        ("loopback-both", ".txt", lambda source, target: as_text(source, target, [])),
        ("offload-client", ".dated.txt", lambda source, target: as_text(source, target, ["-tttt"])),
        ("veth-client", ".old.txt", as_old_text),
        ("delayed-server", ".old.txt", as_old_text),
        ("wide-client", ".old.txt", as_old_text),
        ("no-probe-server", ".txt", lambda source, target: as_text(source, target, ["-tt", "-S"])),
        ("far-server", ".txt", lambda source, target: as_text(source, target, ["-tttt", "-v"])),
    ):
        source = os.path.join(directory, base + ".pcap")
        if os.path.exists(source):
            target = os.path.join(directory, base + suffix)
            write(source, target)
            keep_truth(source, target, lambda connection: connection)
    for base, side in (("veth-server", "server"), ("veth-client", "client")):
        source = os.path.join(directory, base + ".pcap")
        if os.path.exists(source):
            target = os.path.join(directory, f"{base}-from-{side}.pcap")
            address = {"server": "10.2.0.2", "client": "10.1.0.2"}[side]
            shell("tcpdump", "-n", "-r", source, "-w", target, f"src host {address}")
            keep_truth(
                source,
                target,
                lambda connection, side=side: half(connection, side),
                shift=first_time(target) - first_time(source),
            )


def shell(*words, **options):
    subprocess.run(words, check=True, stderr=subprocess.DEVNULL, **options)


def as_pcapng(source, target):
    shell("editcap", "-F", "pcapng", source, target)


def as_text(source, target, options):
    with open(target, "w") as file:
        shell("tcpdump", "-nn", *options, "-r", source, stdout=file)


def keep_truth(source, target, change, shift=0.0):
    with open(source.replace(".pcap", ".json")) as file:
        truth = json.load(file)
    truth["capture"] = os.path.basename(target)
    truth["at"] += " " + os.path.basename(target).partition("-")[2]
    truth["connections"] = [changed for changed in map(change, copy.deepcopy(truth["connections"])) if changed]
    for connection in truth["connections"]:
        connection["both_ends_agree"] = False
        for stall in connection["stalls"]:
            stall["start_s"] = round(stall["start_s"] - shift, 6)
    with open(target + ".json", "w") as file:
        json.dump(truth, file, indent=1)


def half(connection, side):
    """What the packets of one side alone can tell of pauses and of held segments."""
    if connection["family"] not in ("pauses", "cork", "MSG_MORE"):
        return None
    for stall in connection["stalls"]:
        if stall["class"] in (THINK, IDLE):
            stall["also"] += [THINK, IDLE, GAP]
        elif stall["who"] == side:
            stall["also"] += [WAITED, GAP]
        else:
            stall["also"] += [WAITED, THINK, IDLE, GAP]
    return connection


def frames(path):
    """Time and IPv4 packet of each frame of a pcap file of Ethernet or of bare IP."""
    with open(path, "rb") as file:
        magic, *_, kind = struct.unpack("<IHHiIII", file.read(24))
        unit = 1e-9 if magic == 0xA1B23C4D else 1e-6
        skip = {1: 14, 12: 0, 101: 0, 276: 20}[kind]
        while header := file.read(16):
            seconds, fraction, length, _ = struct.unpack("<IIII", header)
            yield seconds + fraction * unit, file.read(length)[skip:]


def first_time(path):
    return next(frames(path))[0]


def as_old_text(source, target):
    """What tcpdump 3.6 printed in 2001."""
    conversations = {}
    with open(target, "w") as file:
        for moment, packet in frames(source):
            if packet[0] >> 4 == 4 and packet[9] == 6:
                file.write(old_line(moment, packet, conversations) + "\n")


def old_line(moment, packet, conversations):
    """One packet. Numbers are relative to the first packet of a conversation that acknowledges something, which itself
    has them whole."""
    ip = 4 * (packet[0] & 15)
    (whole,) = struct.unpack_from("!H", packet, 2)
    ports = struct.unpack_from("!HH", packet, ip)
    number, acked, offset, flags, window = struct.unpack_from("!IIBBH", packet, ip + 4)
    hosts = [".".join(map(str, packet[at : at + 4])) for at in (12, 16)]
    near, far = (f"{host}.{port}" for host, port in zip(hosts, ports))
    payload = whole - ip - 4 * (offset >> 4)
    base = {}
    if flags & 16:
        known = conversations.get(frozenset((near, far)))
        if known is None or flags & 2:
            conversations[frozenset((near, far))] = {near: number, far: acked - 1}
        else:
            base = known
    shown = (number - base.get(near, 0)) % (1 << 32)
    words = "".join(name for bit, name in ((2, "S"), (1, "F"), (4, "R"), (8, "P")) if flags & bit) or "."
    parts = [f"{clock(moment)} {near} > {far}: {words}"]
    if payload or flags & 7:
        parts.append(f"{shown}:{(shown + payload) % (1 << 32)}({payload})")
    if flags & 16:
        parts.append(f"ack {(acked - base.get(far, 0)) % (1 << 32)}")
    parts.append(f"win {window}")
    options = old_options(packet[ip + 20 : ip + 4 * (offset >> 4)], base.get(far, 0))
    if options:
        parts.append(f"<{options}>")
    if packet[6] & 0x40:
        parts.append("(DF)")
    return " ".join(parts)


def clock(moment):
    micro = round(moment * 1e6) % 86_400_000_000
    second, fraction = divmod(micro, 1_000_000)
    return f"{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02}.{fraction:06}"


def old_options(data, base):
    words = []
    while data:
        kind = data[0]
        if kind == 0:
            words.append("eol")
            break
        if kind == 1:
            words.append("nop")
            data = data[1:]
            continue
        body, data = data[2 : data[1]], data[data[1] :]
        if kind == 2:
            words.append(f"mss {struct.unpack('!H', body)[0]}")
        elif kind == 3:
            words.append(f"wscale {body[0]}")
        elif kind == 4:
            words.append("sackOK")
        elif kind == 5:
            edges = [(edge - base) % (1 << 32) for edge in struct.unpack(f"!{len(body) // 4}I", body)]
            words.append(
                f"sack sack {len(edges) // 2} " + "".join(f"{{{a}:{b}}}" for a, b in zip(edges[::2], edges[1::2])) + " "
            )
        elif kind == 8:
            words.append("timestamp {} {}".format(*struct.unpack("!II", body)))
        else:
            words.append(f"opt-{kind}:{body.hex()}")
    return ",".join(words)
