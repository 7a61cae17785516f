#!/usr/bin/env python3
"""Real programs slowed by real code: `plimsoll ab` against the rules that people use, with as much machine time.

    python3 lab/ab_gate.py run PLIMSOLL FILE [--minutes 20] [--budget 20] [--effects 0 2] [--neighbours]
    python3 lab/ab_gate.py table FILE...

A program in C, Rust and Python does 0, 1, 2, 5 or 10 % more work. Each trial runs `plimsoll ab`, then all of the base and all of the head for as long.
These sequential runs are judged by benchstat itself, Welch's t test (hyperfine's own script), criterion's comparison, the rules of
github-action-benchmark, and Bencher's t test against the bases of earlier trials. `--neighbours` starts and stops one or two busy loops at random.
`run` appends one line of JSON for each trial. Needs cc, rustc, hyperfine, benchstat, numpy and scipy.
"""

import argparse
import collections
import csv
import io
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

import numpy
from scipy import stats

EFFECTS = [0, 1, 0, 2, 0, 5, 0, 10]
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
WORDS = {"C": ["{}", "12000"], "Rust": ["{}", "1000"], "Python": [sys.executable, "-I", "-S", "{}", "250"]}


def build(folder, language, work):
    """A program with `work` thousandths of the full work."""
    suffix, text = {"C": ("c", C), "Rust": ("rs", RUST), "Python": ("py", PYTHON)}[language]
    source, program = folder / f"{language}-{work}.{suffix}", folder / f"{language}-{work}"
    source.write_text(text % work)
    if language == "C":
        subprocess.run(["cc", "-O1", "-o", program, source], check=True)
    if language == "Rust":
        subprocess.run(["rustc", "-O", "--crate-name", "r", "-o", program, source], check=True)
    return str(source if language == "Python" else program)


def programs(folder, effects):
    """By language and effect. The start of a program is no part of its work, so that the work grows by more than the effect."""
    found, shares = {}, {}
    for language, words in WORDS.items():
        base = build(folder, language, 1000)
        whole, empty = (min(hyperfine(words, program, 1)) for program in (base, build(folder, language, 1)))
        shares[language] = (whole - empty) / whole
        found[language, 0] = base
        for effect in sorted(set(effects) - {0}):
            found[language, effect] = build(folder, language, round(1000 + 10 * effect / shares[language]))
    print(f"share of the work in the time: {shares}", file=sys.stderr)
    return found


def ab(plimsoll, words, base, head, budget):
    command = [plimsoll, "ab", base, head, "--budget", f"{budget}s", "--format", "json", "--", *words]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    took = time.monotonic() - start
    if done.returncode not in (0, 1, 4):
        sys.exit(done.stderr)
    return json.loads(done.stdout), took


def hyperfine(words, program, seconds):
    """The times of as many runs as fit, of at least two."""
    times, end = [], time.monotonic() + seconds
    while not times or time.monotonic() < end:
        with tempfile.NamedTemporaryFile() as file:
            line = " ".join(words).replace("{}", program)
            fitting = min(20, int((end - time.monotonic()) / numpy.mean(times)) + 1) if times else 2
            command = ["hyperfine", "-N", "--runs", str(max(2, fitting)), "--export-json", file.name, line]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            times += json.load(open(file.name))["results"][0]["times"]
    return times


def benchstat(base, head):
    """Whether benchstat shows a change, at its own level of 5 %."""
    with tempfile.TemporaryDirectory() as folder:
        files = [pathlib.Path(folder, name) for name in ("base", "head")]
        for file, times in zip(files, (base, head)):
            file.write_text("".join(f"BenchmarkX 1 {1e9 * time:.0f} ns/op\n" for time in times))
        done = subprocess.run(["benchstat", "-format", "csv", *files], check=True, capture_output=True, text=True)
    row = next(row for row in csv.reader(io.StringIO(done.stdout)) if row and row[0] == "X")
    return row[5] != "~"


def criterion(base, head, resamples=10_000):
    """Its comparison: a t test by resamples of both together at 5 %, and a 95 % interval of the change beyond 1 %."""
    random_numbers = numpy.random.default_rng(1)
    base, head = numpy.array(base), numpy.array(head)

    def t(a, b):
        return (b.mean(-1) - a.mean(-1)) / numpy.sqrt(a.var(-1, ddof=1) / a.shape[-1] + b.var(-1, ddof=1) / b.shape[-1])

    def draws(values, size):
        return random_numbers.choice(values, (resamples, size))

    both = numpy.concatenate([base, head])
    p = (abs(t(draws(both, len(base)), draws(both, len(head)))) >= abs(t(base, head))).mean()
    changes = draws(head, len(head)).mean(-1) / draws(base, len(base)).mean(-1) - 1
    low, high = numpy.percentile(changes, [2.5, 97.5])
    return 0 if p >= 0.05 else 1 if low > 0.01 else -1 if high < -0.01 else 0


def bencher(history, mean):
    """Its t test: beyond the 99 % quantile of the last 64 results of the base."""
    values = numpy.array(history[-64:])
    if len(values) < 3:
        return None
    off = stats.t.ppf(0.99, len(values) - 1) * values.std(ddof=1)
    return 1 if mean > values.mean() + off else -1 if mean < values.mean() - off else 0


def rules(base, head, history):
    """What each rule says of sequential runs: 1 slower, -1 faster, 0 neither."""
    sign = 1 if numpy.mean(head) > numpy.mean(base) else -1
    ratio = numpy.mean(head) / numpy.mean(base)
    by_median = 1 if numpy.median(head) > numpy.median(base) else -1
    return {
        "benchstat": by_median * int(benchstat(base, head)),
        "hyperfine": sign * int(stats.ttest_ind(base, head, equal_var=False).pvalue < 0.05),
        "criterion": criterion(base, head),
        "Bencher": bencher(history, numpy.mean(head)),
        "150 %": int(ratio > 1.5),
        "200 %": int(ratio > 2),
    }


def neighbours(end):
    """None, one or two busy loops, each time for some 15 s."""
    while time.monotonic() < end:
        length = min(60, random.expovariate(1 / 15))
        loop = ["timeout", f"{length:.1f}", "sh", "-c", "while :; do :; done"]
        loops = [subprocess.Popen(loop) for _ in range(random.choice([0, 1, 2]))]
        time.sleep(length)
        for one in loops:
            one.wait()


def run(args):
    end = time.monotonic() + 60 * args.minutes
    if args.neighbours:
        threading.Thread(target=neighbours, args=[end], daemon=True).start()
    history = collections.defaultdict(list)
    with tempfile.TemporaryDirectory() as name, open(args.file, "a") as file:
        built = programs(pathlib.Path(name), args.effects)
        trials = [(language, effect) for effect in args.effects for language in WORDS]
        while time.monotonic() < end:
            language, effect = trials[args.start % len(trials)]
            args.start += 1
            words, base, head = WORDS[language], built[language, 0], built[language, effect]
            found, took = ab(args.plimsoll, words, base, head, args.budget)
            benchmark = found["benchmarks"][0]
            a, b = (hyperfine(words, side, took / 2) for side in (base, head))
            said = {"ab": {"slower": 1, "faster": -1}.get(benchmark["verdict"]["outcome"], 0), **rules(a, b, history[language])}
            history[language].append(numpy.mean(a))
            trial = {"effect": effect, "language": language, "outcome": benchmark["verdict"]["outcome"], "took": took}
            trial |= {"blocks": found["blocks"], "sequential": [len(a), len(b)], "sequential_took": sum(a) + sum(b), "spread": benchmark["spread"], "estimate": benchmark["verdict"]["estimate"], "said": said}
            print(json.dumps(trial), file=file, flush=True)


def table(args):
    trials = [json.loads(line) for file in args.files for line in open(file)]
    names = list(trials[0]["said"])
    for language in [None, *WORDS]:
        print(f"\n{language or 'All'}: called slower (faster)\n")
        print("| slowed by | trials | seconds: `ab`, others | " + " | ".join(names) + " | `ab` same | `ab` undecided |")
        print("| ---: |" + " ---: |" * (len(names) + 4))
        for effect in sorted({trial["effect"] for trial in trials}):
            of = [trial for trial in trials if trial["effect"] == effect and language in (None, trial["language"])]
            if of:
                row(effect, of, names)


def row(effect, of, names):
    def count(name):
        said = [trial["said"][name] for trial in of]
        faster = f" ({said.count(-1)})" if -1 in said else ""
        return f"{said.count(1)}{faster}" + (f" of {len(said) - said.count(None)}" if None in said else "")

    took = [numpy.mean([trial[key] for trial in of]) for key in ("took", "sequential_took")]
    ends = [str(sum(trial["outcome"] == outcome for trial in of)) for outcome in ("same", "undecided")]
    cells = [f"{effect} %", str(len(of)), f"{took[0]:.1f}, {took[1]:.1f}", *map(count, names), *ends]
    print("| " + " | ".join(cells) + " |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(required=True)
    running = commands.add_parser("run")
    running.add_argument("plimsoll")
    running.add_argument("file")
    running.add_argument("--minutes", type=float, default=20)
    running.add_argument("--budget", type=float, default=20)
    running.add_argument("--effects", type=int, nargs="+", default=EFFECTS, help="the changes of the cycle, in percent")
    running.add_argument("--start", type=int, default=0, help="the trial of the cycle to begin with")
    running.add_argument("--neighbours", action="store_true")
    running.set_defaults(do=run)
    printing = commands.add_parser("table")
    printing.add_argument("files", nargs="+")
    printing.set_defaults(do=table)
    args = parser.parse_args()
    args.do(args)


main()
