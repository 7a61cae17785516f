#!/usr/bin/env python3
"""How often a cause is right that is said to be sure by so much, and whether a map from one to the other helps.

    python3 reliability.py ROWS... [--fit FILE]

ROWS are `faults/measured.jsonl` and `said.tsv`. Two maps are fitted: an isotonic one (pool adjacent violators, each pool with one right and
one wrong case more), and Platt's logistic one on the log odds, of two numbers. Both are judged on cases that they were not fitted on: each fault in turn is
left out with all its cases; with --fit, the cases that FILE names are fitted on, and all others judged. Brier's score is 0 for who is always sure and
right, and 0.25 for who always says 50 %.
"""

import argparse
import csv
import json
import math
import random

BANDS = [(0, 50), (50, 65), (65, 80), (80, 90), (90, 101)]
ROUNDS = 2000


def read(path):
    with open(path) as file:
        if path.endswith(".tsv"):
            rows = csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")
            return [
                {"case": f"{row['source']}: {row['fault']}", "fault": row["fault"], "kind": row["source"],
                 "sure": int(row["sure"]) / 100, "right": int(row["right"])}
                for row in rows
            ]
        rows = [json.loads(line) for line in file]
        return [
            {"case": row["case"], "fault": row["case"].split("/")[0], "kind": row["kind"],
             "sure": row["causes"][0]["confidence"], "right": int(row["grade"] == "right")}
            for row in rows
            if row["causes"]
        ]


def isotonic(rows):
    pools = []
    for row in sorted(rows, key=lambda row: row["sure"]):
        pools.append([row["sure"], row["right"], 1])
        while len(pools) > 1 and pools[-2][1] / pools[-2][2] >= pools[-1][1] / pools[-1][2]:
            _, right, number = pools.pop()
            pools[-1][1] += right
            pools[-1][2] += number
    steps = [(low, (right + 1) / (number + 2)) for low, right, number in pools]
    text = ", ".join(f"from {100 * low:.0f} %: {100 * said:.0f} %" for low, said in steps)
    return lambda sure: next((said for low, said in reversed(steps) if sure >= low), steps[0][1]), text


def logit(sure):
    return math.log(sure / (1 - sure))


def platt(rows):
    """Newton's method. The targets are Platt's, which keep a fit to few cases from being certain."""
    ups = sum(row["right"] for row in rows)
    high, low = (ups + 1) / (ups + 2), 1 / (len(rows) - ups + 2)
    points = [(logit(row["sure"]), high if row["right"] else low) for row in rows]
    a, b = 0.0, 1.0
    for _ in range(50):
        said = [1 / (1 + math.exp(-(a + b * x))) for x, _ in points]
        ga, gb = sum(t - p for (_, t), p in zip(points, said)), sum((t - p) * x for (x, t), p in zip(points, said))
        weights = [(p * (1 - p), x) for (x, _), p in zip(points, said)]
        haa, hab, hbb = (sum(w * x**power for w, x in weights) for power in (0, 1, 2))
        det = haa * hbb - hab**2
        if det < 1e-9:
            break
        a, b = a + (hbb * ga - hab * gb) / det, b + (haa * gb - hab * ga) / det
    # A surer cause stays the surer one.
    b = max(b, 0.0)
    return lambda sure: 1 / (1 + math.exp(-(a + b * logit(sure)))), f"log odds of {a:.2f} + {b:.2f} times those said"


MAPS = {"isotonic": isotonic, "logistic": platt}


def left_out(rows, fit):
    """What each row is mapped to by a fit to the other faults."""
    said = {}
    for fault in {row["fault"] for row in rows}:
        mapped, _ = fit([row for row in rows if row["fault"] != fault])
        said.update({row["case"]: mapped(row["sure"]) for row in rows if row["fault"] == fault})
    return [said[row["case"]] for row in rows]


def brier(rows, said):
    return [(sure - row["right"]) ** 2 for row, sure in zip(rows, said)]


def gain(before, after):
    """Mean gain of a map, and the middle 95 % of it over resampled cases."""
    rng = random.Random(1)
    gains = [b - a for b, a in zip(before, after)]
    means = sorted(sum(rng.choices(gains, k=len(gains))) / len(gains) for _ in range(ROUNDS))
    return sum(gains) / len(gains), means[ROUNDS // 40], means[-ROUNDS // 40]


def table(title, rows, said):
    print(f"\n{title}\n\n| said | cases | said on average | right |\n| --- | --- | --- | --- |")
    for low, high in BANDS:
        within = [(row["right"], sure) for row, sure in zip(rows, said) if low <= 100 * sure < high]
        if within:
            rights, sures = (sum(column) for column in zip(*within))
            print(f"| {low} to {min(high, 100)} % | {len(within)} | {100 * sures / len(within):.0f} % | {rights} ({100 * rights / len(within):.0f} %) |")


def judge(title, rows, mapped):
    before = brier(rows, [row["sure"] for row in rows])
    print(f"\n{title}, {len(rows)} answers: Brier's score {sum(before) / len(rows):.3f} as said")
    for name, said in mapped.items():
        mean, low, high = gain(before, brier(rows, said))
        print(f"  {name}: {sum(brier(rows, said)) / len(rows):.3f}, {mean:+.3f} better ({low:+.3f} to {high:+.3f})")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("rows", nargs="+")
    parser.add_argument("--fit")
    args = parser.parse_args()
    rows = [row for path in args.rows for row in read(path)]
    for kind in sorted({row["kind"] for row in rows}):
        of = [row for row in rows if row["kind"] == kind]
        table(f"{kind}, as said", of, [row["sure"] for row in of])
        judge(kind, of, {})
    judge("each fault left out in turn", rows, {name: left_out(rows, fit) for name, fit in MAPS.items()})
    if args.fit:
        with open(args.fit) as file:
            names = set(file.read().split())
        fitted = [row for row in rows if row["case"] in names]
        others = [row for row in rows if row["case"] not in names]
        maps = {name: fit(fitted) for name, fit in MAPS.items()}
        for name, (_, text) in maps.items():
            print(f"\n{name}, fitted on {len(fitted)} answers: {text}")
        if others:
            judge("the others", others, {name: [m(row["sure"]) for row in others] for name, (m, _) in maps.items()})


main()
