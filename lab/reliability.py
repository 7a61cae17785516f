#!/usr/bin/env python3
"""How often a cause is right that is said to be sure by so much, by where the observations come from.

    python3 reliability.py said.tsv

The isotonic map (pool adjacent violators, each pool with one right and one wrong case more) is fitted on the first half of the
faults and judged on the second. Brier's score is 0 for who is always sure and right, and 0.25 for who always says 50 %.
"""

import csv
import sys

BANDS = [(0, 50), (50, 65), (65, 80), (80, 101)]


def read(path):
    with open(path) as file:
        rows = csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")
        return [{**row, "sure": int(row["sure"]) / 100, "right": int(row["right"])} for row in rows]


def isotonic(rows):
    pools = []
    for row in sorted(rows, key=lambda row: row["sure"]):
        pools.append([row["sure"], row["right"], 1])
        while len(pools) > 1 and pools[-2][1] / pools[-2][2] >= pools[-1][1] / pools[-1][2]:
            _, right, number = pools.pop()
            pools[-1][1] += right
            pools[-1][2] += number
    return [(low, (right + 1) / (number + 2)) for low, right, number in pools]


def mapped(steps, sure):
    return next((said for low, said in reversed(steps) if sure >= low), steps[0][1])


def table(title, rows, said):
    print(f"\n{title}\n\n| said | cases | said on average | right |\n| --- | --- | --- | --- |")
    for low, high in BANDS:
        within = [row for row in rows if low <= 100 * row["sure"] < high]
        if within:
            mean = sum(map(said, within)) / len(within)
            right = sum(row["right"] for row in within)
            print(f"| {low} to {min(high, 100)} % | {len(within)} | {100 * mean:.0f} % | {right} ({100 * right / len(within):.0f} %) |")
    score = sum((said(row) - row["right"]) ** 2 for row in rows) / len(rows)
    print(f"\nBrier's score: {score:.3f}")


def main():
    rows = read(sys.argv[1])
    for sources in (["recordings"], ["commands", "one state"]):
        of = [row for row in rows if row["source"] in sources]
        halves = [[row for row in of if row["half"] == half] for half in "12"]
        name = " and ".join(sources)
        table(f"{name}, as said", of, lambda row: row["sure"])
        steps = isotonic(halves[0])
        print("\nfitted on the first half:", ", ".join(f"from {100 * low:.0f} %: {100 * said:.0f} %" for low, said in steps))
        table(f"{name}, second half, as said", halves[1], lambda row: row["sure"])
        table(f"{name}, second half, mapped", halves[1], lambda row: mapped(steps, row["sure"]))


main()
