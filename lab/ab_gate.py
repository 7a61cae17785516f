#!/usr/bin/env python3
"""Real programs slowed by real code: `plimsoll ab` against sequential runs of hyperfine with as much machine time.

    python3 lab/ab_gate.py PLIMSOLL [MINUTES [BUDGET_SECONDS]]

A program in C, Rust and Python does 0, 1, 2, 5 or 10 % more work. Each trial runs `plimsoll ab`, then hyperfine for as long. hyperfine's times are judged
by Welch's t test (as its own script does), by the Mann-Whitney test at 5 % (benchstat), and by a threshold of 150 % (github-action-benchmark).
Prints how often each says that the change is slower. Needs cc, rustc and hyperfine.
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile
import time

EFFECTS = [0, 1, 0, 2, 0, 5, 10]
C = """#include <stdlib.h>
int main(int c, char **v) { volatile unsigned x = 1; long n = atol(v[1]) * %d;
for (long i = 0; i < n; i++) x = x * 1103515245 + 12345; return x == 7; }
"""
RUST = """fn main() { let n: usize = std::env::args().nth(1).unwrap().parse().unwrap();
let mut words = Vec::new();
for i in 0..n * %d { words.push(i.wrapping_mul(2654435761) %% 1000003); if words.len() == 500 { words.sort(); words.clear(); } }
std::process::exit(words.len() as i32 / 1000) }
"""
PYTHON = """import sys
seen = {}
for i in range(int(sys.argv[1]) * %d):
    seen[i %% 1000] = seen.get(i %% 997, 0) + i
"""


def build(folder, effect):
    """The programs that do this percentage more, with the words that run them."""
    work = 100 + effect
    for name, text in {"c.c": C, "r.rs": RUST, "p.py": PYTHON}.items():
        (folder / f"{effect}-{name}").write_text(text % work)
    at = lambda name: str(folder / f"{effect}-{name}")
    subprocess.run(["cc", "-O1", "-o", at("c"), at("c.c")], check=True)
    subprocess.run(["rustc", "-O", "--crate-name", "r", "-o", at("r"), at("r.rs")], check=True)
    return {"C": (at("c"), ["{}", "5000"]), "Rust": (at("r"), ["{}", "11000"]), "Python": (at("p.py"), [sys.executable, "{}", "2200"])}


def two_sided(z):
    return math.erfc(abs(z) / math.sqrt(2))


def welch(a, b):
    mean = lambda x: sum(x) / len(x)
    var = lambda x: sum((v - mean(x)) ** 2 for v in x) / (len(x) - 1)
    return two_sided((mean(b) - mean(a)) / math.sqrt(var(a) / len(a) + var(b) / len(b)))


def mann_whitney(a, b):
    u = sum((y > x) + 0.5 * (y == x) for x in a for y in b)
    n, m = len(a), len(b)
    return two_sided((u - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12))


def ab(plimsoll, words, base, head, budget):
    command = [plimsoll, "ab", base, head, "--budget", f"{budget}s", "--format", "json", "--", *words]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    took = time.monotonic() - start
    if done.returncode not in (0, 1, 4):
        sys.exit(done.stderr)
    found = json.loads(done.stdout)
    verdict = found["benchmarks"][0]["verdict"]
    return verdict["outcome"], took, found


def hyperfine(words, base, head, runs):
    with tempfile.NamedTemporaryFile() as file:
        lines = [" ".join(words).replace("{}", side) for side in (base, head)]
        command = ["hyperfine", "-N", "--warmup", "1", "--runs", str(runs), "--export-json", file.name, *lines]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return [result["times"] for result in json.load(open(file.name))["results"]]


def rules(a, b):
    """What each rule says of sequential runs: whether head is slower, and whether it is different."""
    slower = sum(b) / len(b) > sum(a) / len(a)
    ratio = (sum(b) / len(b)) / (sum(a) / len(a))
    return {"hyperfine, Welch 5 %": slower and welch(a, b) < 0.05, "benchstat, Mann-Whitney 5 %": slower and mann_whitney(a, b) < 0.05, "150 % threshold": ratio > 1.5}


def table(trials):
    names = ["plimsoll ab", "hyperfine, Welch 5 %", "benchstat, Mann-Whitney 5 %", "150 % threshold"]
    print("| slowed by | trials | seconds each | " + " | ".join(names) + " | ab undecided |")
    print("| ---: | ---: | ---: |" + " ---: |" * (len(names) + 1))
    for effect in sorted(set(EFFECTS)):
        of = [trial for trial in trials if trial["effect"] == effect]
        if of:
            counts = [str(sum(trial["slower"][name] for trial in of)) for name in names]
            took = sum(trial["took"] for trial in of) / len(of)
            undecided = sum(trial["outcome"] == "undecided" for trial in of)
            print(f"| {effect} % | {len(of)} | {took:.1f} | " + " | ".join(counts) + f" | {undecided} |")


def main():
    plimsoll = sys.argv[1]
    minutes = float(sys.argv[2]) if len(sys.argv) > 2 else 20
    budget = float(sys.argv[3]) if len(sys.argv) > 3 else 20
    trials = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        programs = {effect: build(folder, effect) for effect in sorted(set(EFFECTS))}
        # The same program under another name is the head without a change.
        end = time.monotonic() + 60 * minutes
        cycle = 0
        while time.monotonic() < end:
            effect = EFFECTS[cycle // 3 % len(EFFECTS)]
            language = ["C", "Rust", "Python"][cycle % 3]
            base, words = programs[0][language]
            head, _ = programs[effect][language]
            outcome, took, found = ab(plimsoll, words, base, head, budget)
            each = sum(pair[0] for pair in found["series"][0]["pairs"]) / len(found["series"][0]["pairs"])
            a, b = hyperfine(words, base, head, max(5, int(took / each / 2)))
            slower = {"plimsoll ab": outcome == "slower", **rules(a, b)}
            trials.append({"effect": effect, "language": language, "outcome": outcome, "took": took, "slower": slower})
            print(json.dumps(trials[-1]), file=sys.stderr, flush=True)
            cycle += 1
    table(trials)


main()
