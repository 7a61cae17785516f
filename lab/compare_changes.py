#!/usr/bin/env python3
"""Compares the changes that Plimsoll, Otava and PELT find in the same simulated histories.

    pip install apache-otava ruptures
    cargo run --release -p plimsoll-judge --example change_series -- 500 > series.jsonl
    python3 compare_changes.py series.jsonl

Otava runs with its defaults. PELT runs with least squares on values scaled by the noise (the median absolute difference of
neighbours), penalty 3 ln n, and with the rbf kernel and the same penalty. A found change counts when it lies within five
indices of a true one; each true one counts once. Each tool runs on one core.
"""

import json
import math
import sys
import time

import numpy as np
import ruptures
from otava.analysis import compute_change_points

TOLERANCE = 5


def otava(values):
    return [point.index for point in compute_change_points(values)[0]]


def pelt_l2(values):
    series = np.array(values)
    noise = np.median(np.abs(np.diff(series))) * 1.4826 / math.sqrt(2)
    fitted = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(series / noise)
    return fitted.predict(pen=3 * math.log(len(series)))[:-1]


def pelt_rbf(values):
    series = np.array(values)
    fitted = ruptures.Pelt(model="rbf", min_size=2, jump=1).fit(series)
    return fitted.predict(pen=3 * math.log(len(series)))[:-1]


def matches(truth, found):
    """Distances of matched pairs, the nearest pairs first."""
    near = sorted((abs(t - f), i, j) for i, t in enumerate(truth) for j, f in enumerate(found))
    used_truth, used_found, distances = set(), set(), []
    for distance, i, j in near:
        if distance <= TOLERANCE and i not in used_truth and j not in used_found:
            used_truth.add(i)
            used_found.add(j)
            distances.append(distance)
    return distances


def score(histories, answers):
    distances = [d for h, a in zip(histories, answers) for d in matches(h["truth"], a)]
    named = sum(len(h["truth"]) for h in histories) + sum(map(len, answers))
    unchanged = [a for h, a in zip(histories, answers) if not h["truth"]]
    return (
        2 * len(distances) / max(named, 1),
        sum(d == 0 for d in distances) / max(len(distances), 1),
        sum(map(bool, unchanged)) / max(len(unchanged), 1),
    )


def main():
    with open(sys.argv[1], encoding="utf-8") as lines:
        histories = [json.loads(line) for line in lines]
    ours = sum(h["seconds"] for h in histories)
    print(f"| tool, {len(histories)} series | F1 | exact index | false alarms | seconds | times Plimsoll |")
    print("| --- | --- | --- | --- | --- | --- |")
    runs = [("Plimsoll", [h["found"] for h in histories], ours)]
    for name, find in (("Otava", otava), ("PELT, least squares", pelt_l2), ("PELT, rbf", pelt_rbf)):
        begin = time.perf_counter()
        answers = [find(h["series"]) for h in histories]
        runs.append((name, answers, time.perf_counter() - begin))
    for name, answers, seconds in runs:
        f1, exact, alarms = score(histories, answers)
        print(f"| {name} | {f1:.3f} | {exact:.1%} | {alarms:.1%} | {seconds:.3f} | {seconds / ours:.0f} |")


if __name__ == "__main__":
    main()
