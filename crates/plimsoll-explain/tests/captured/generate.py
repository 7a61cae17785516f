#!/usr/bin/env python3
"""Makes captures whose stalls are known, for programs that read them.

    generate.py DIRECTORY [--seed N] [--scale N] [--set usual|other] [--families NAME,...]

Programs with an open log talk in network namespaces, tcpdump captures them, and each capture gets a truth file beside
it. Needs root, tcpdump, editcap, nft, iproute2 and /dev/net/tun. docs/stalls.md says how the truth is made.
"""

import argparse
import json
import os
import pickle
import random
import struct
import tempfile
import time

import corks
import drops
import endpoint
import lab
import nagle
import others
import pauses
import splicing
import truth
import views
import windows
import wire

FAMILIES = {
    "pauses": pauses.FAMILY,
    "corks": corks.FAMILY,
    "splicing": splicing.FAMILY,
    "nagle": nagle.FAMILY,
    "windows": windows.FAMILY,
    "drops": drops.FAMILY,
}
# What is made: links, each by its kind, name and maker, and families. Nothing was tuned on the links and the families
# of `other`.
SETS = {
    "usual": (
        [
            ("loopback", "loopback", lambda: lab.Loopback({})),
            ("veth", "veth", lambda: lab.Routed({}, False)),
            ("offload", "offload", lambda: lab.Routed({}, True)),
            ("delayed", "delayed", lambda: wire.Wire({}, 0.020)),
        ],
        list(FAMILIES),
    ),
    "other": (
        [
            ("loopback", "loopback", lambda: lab.Loopback({"tcp_autocorking": 0})),
            ("plain", "wide", lambda: lab.Routed({"tcp_sack": 0}, False, 9000)),
            ("plain", "narrow", lambda: lab.Routed({}, False, 576)),
            ("veth", "no-probe", lambda: lab.Routed({"tcp_early_retrans": 0}, False)),
            ("delayed", "near", lambda: wire.Wire({}, 0.004)),
            ("delayed", "far", lambda: wire.Wire({}, 0.060, "any")),
        ],
        [*FAMILIES, "others"],
    ),
}
FAMILIES["others"] = others.FAMILY

# One of two ends captures headers alone.
SNAPLEN = {"client": ["-s", "128"]}
FIRST_PORT = 20_000
AT_ONCE = 16


def main():
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("directory")
    words.add_argument("--seed", type=int, default=1)
    words.add_argument("--scale", type=int, default=2, help="how often each scenario is made on each link")
    words.add_argument("--set", default="usual", choices=list(SETS))
    words.add_argument("--families", default="", help="only these, with commas between")
    given = words.parse_args()
    os.makedirs(given.directory, exist_ok=True)
    lab.unshare_network()
    links, families = SETS[given.set]
    for kind, name, make_link in links:
        rng = random.Random(f"{given.seed} {name}")
        scenarios = []
        for family in given.families.split(",") if given.families else families:
            for make in FAMILIES[family]:
                for _ in range(given.scale):
                    scenario = make(rng)
                    scenario.congestion = rng.choice(["cubic", "cubic", "bbr", "reno"])
                    if not scenario.links or kind in scenario.links:
                        scenarios.append(scenario)
        rng.shuffle(scenarios)
        run(make_link, name, scenarios, given.directory)
    views.make(given.directory)


def run(make_link, name, scenarios, directory):
    """All scenarios of one link, some at a time, in one capture at each of its ends."""
    link = make_link()
    try:
        ports = {FIRST_PORT + 10 * number: scenario for number, scenario in enumerate(scenarios)}
        link.drop({port: s.drop for port, s in ports.items() if s.drop})
        captures = [
            lab.Capture(end, *link.devices[end], os.path.join(directory, f"{name}-{end}.pcap"), SNAPLEN.get(end, []))
            for end in link.captures
        ]
        with tempfile.TemporaryDirectory() as scratch:
            talk(link, ports, scratch)
            # The kernel hands packets to tcpdump once a second.
            time.sleep(1.2)
            for capture in captures:
                capture.end()
            lost = link.drops()
            connections = {}
            trouble = link.late()
            for port, scenario in ports.items():
                if scenario.drop and not scenario.drop.was(lost.get(port, 0)):
                    lab.complain(
                        f"{scenario.name} at port {port}: {lost.get(port, 0)} packets dropped, not {scenario.drop.count}"
                    )
                    continue
                for connection in paired(scratch, port, scenario):
                    connections[connection.client["address"], connection.client["peer"]] = (scenario, connection)
        for capture in captures:
            write_truth(capture, link, connections, trouble)
    finally:
        link.end()


def talk(link, ports, scratch):
    """Runs the programs, at most so many scenarios at once."""
    running = {}
    waiting = list(ports.items())
    deadline = time.time() + 120
    while waiting or running:
        while waiting and len({port for port, _ in running.values()}) < AT_ONCE:
            port, scenario = waiting.pop(0)
            for place in sorted(scenario.bodies, key=["server", "middle", "client"].index):
                body, setup = scenario.bodies[place]
                program = endpoint.Program(link, place, port, scenario.congestion)
                pid = endpoint.start(program, body, link.places[place], f"{scratch}/{port}-{place}", setup)
                running[pid] = (port, place)
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid in running:
            port, place = running.pop(pid)
            if status:
                lab.complain(f"the {place} of {ports[port].name} at port {port} failed")
        elif pid == 0:
            time.sleep(0.005)
        if time.time() > deadline:
            raise RuntimeError(f"programs hang: {sorted(ports[port].name for port, _ in running.values())}")


def paired(scratch, port, scenario):
    """The connections of a scenario: the logs of both ends with the same addresses."""
    sides = []
    for place in scenario.bodies:
        with open(f"{scratch}/{port}-{place}", "rb") as file:
            sides += pickle.load(file)
    servers = {(side["peer"], side["address"]): side for side in sides if side["role"] == "server"}
    for side in sides:
        if side["role"] == "client":
            yield truth.Connection(side, servers.get((side["address"], side["peer"])))


def write_truth(capture, link, connections, trouble):
    origin = first_packet(capture.path)
    listed, holes = [], link.holes()
    for scenario, connection in connections.values():
        if not link.sees(
            capture.name,
            *(words.rpartition(":")[0] for words in (connection.client["address"], connection.client["peer"])),
        ):
            continue
        port = int(connection.client["peer"].rpartition(":")[2])
        stalls = list(truth.of_pauses(connection, link.delay))
        for sender in ("server", "client"):
            name = scenario.transport if sender == scenario.sender and port % 10 == scenario.transport_port else None
            stalls += truth.of_transport(
                connection, sender, name, scenario, link.delay, holes.get(port) if scenario.drop else None
            )
        stalls += truth.of_opening(connection, scenario.opening, scenario.also, scenario.seen_at)
        stalls += truth.of_slips(connection)
        stalls += truth.of_surroundings(connection, scenario)
        stalls = truth.without_overlap(stalls) + [
            truth.Stall(*span, "machine", truth.ANYTHING, None, False) for span in trouble
        ]
        if not scenario.drop:
            truth.excuse(stalls, list(truth.of_resent(connection, link.delay)))
        described = truth.describe(connection, stalls, origin, capture.name, scenario)
        described["congestion"] = scenario.congestion
        listed.append(described)
    with open(capture.path.replace(".pcap", ".json"), "w") as file:
        json.dump(
            {
                "capture": os.path.basename(capture.path),
                "link": link.name,
                "at": capture.name,
                "slack_s": 2 * link.delay,
                "connections": listed,
            },
            file,
            indent=1,
        )


def first_packet(path):
    """The time of the first packet of a pcap file."""
    with open(path, "rb") as file:
        header = file.read(24)
        seconds, fraction = struct.unpack("<II", file.read(8))
    return seconds + fraction / (1e9 if header[:4] == b"\x4d\x3c\xb2\xa1" else 1e6)


if __name__ == "__main__":
    main()
