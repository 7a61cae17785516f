#!/usr/bin/env python3
"""Errors of `ab`'s rule in generated and in recorded noise, by a second implementation of it.

    python3 lab/ab_rule.py GATES            # generated noise of many kinds, and normal noise with changes of many sizes
    python3 lab/ab_rule.py GATES FILE...    # noise that `plimsoll ab X X --format json` recorded of a program against itself

Programs run in blocks of four, in random order. A difference needs evidence and an estimate beyond the margin; "the same" needs evidence for both ends of the margin.

The first table has 50 pairs a gate. It shows how many gates have evidence that equal programs differ, at the level of one benchmark (1 %) and of one of ten and of one
hundred, and how many call them different. Then it shows how many call programs the same that differ by just the margin, and how many call equal programs the same, after how
many pairs. The margin is what three of four differences of the noise do not exceed. A recorded gate begins at a random block, and its blocks follow each other.
Sequential runs of the same figures, the first half as base, are judged by the Mann-Whitney test at 5 %. Needs numpy and scipy.
"""

import json
import sys

import numpy
from scipy.special import betainc, betaln, logsumexp
from scipy.stats import mannwhitneyu

BLOCKS = 25
FIRST = 8
MARGIN = numpy.log(1.01)
BUDGET = 200
LEVELS = [0.01, 0.001, 0.0001]
SAME = 0.05
PRIOR = 0.25
LOG_ODDS = [0.4, 1.2, 4, 12]
LOG_2 = numpy.log(2)


def bursts(random, gates, runs):
    """Bursts of a Pareto size without a mean, which last 12 runs on average."""
    noise, level = 0.005 * random.standard_normal((gates, runs)), numpy.zeros(gates)
    for run in range(runs):
        ends, begins = random.random((2, gates))
        level[ends < 1 / 12] = 0
        level = numpy.where((level == 0) & (begins < 0.03), 0.05 * (1 + random.pareto(1.0, gates)), level)
        noise[:, run] += numpy.log1p(level * random.uniform(0.5, 1.5, gates))
    return noise


def neighbour(mean):
    """A neighbour that takes half of the CPU, comes and goes, and stays for Pareto times."""

    def noise(random, gates, runs):
        found, is_there, left = numpy.zeros((gates, runs)), random.random(gates) < 0.5, random.exponential(mean, gates)
        for run in range(runs):
            work = numpy.ones(gates)
            while (work > 1e-12).any():
                speed = numpy.where(is_there, 0.5, 1.0)
                step = numpy.where(work > 1e-12, numpy.minimum(left, work / speed), 0)
                work, left = work - step * speed, left - step
                found[:, run] += step
                turns = left <= 1e-12
                is_there ^= turns
                left = numpy.where(turns, mean / 2 * (1 + random.pareto(1.5, gates)), left)
        return numpy.log(found) + 0.005 * random.standard_normal((gates, runs))

    return noise


def plain(noise):
    return lambda random, gates, runs: noise(random, (gates, runs), numpy.arange(runs))


KINDS = {
    "normal": plain(lambda random, shape, at: random.standard_normal(shape)),
    "Student's t, 2 degrees of freedom": plain(lambda random, shape, at: random.standard_t(2, shape)),
    "Cauchy": plain(lambda random, shape, at: random.standard_cauchy(shape)),
    "Pareto bursts that last 12 runs": bursts,
    "a neighbour on and off, 0.7 runs long": neighbour(0.7),
    "a neighbour on and off, 3 runs long": neighbour(3),
    "a neighbour on and off, 20 runs long": neighbour(20),
    "spread that changes like a random walk": plain(
        lambda random, shape, at: numpy.exp(numpy.cumsum(0.3 * random.standard_normal(shape), 1)) * random.standard_normal(shape)
    ),
    "one of two values": plain(lambda random, shape, at: random.choice([0.0, 0.1], shape)),
    "every other run slower by 5 %": plain(lambda random, shape, at: 0.05 * (at % 2) + 1e-4 * random.standard_normal(shape)),
    "each run slower by 2 %": plain(lambda random, shape, at: 0.02 * at + 1e-4 * random.standard_normal(shape)),
}


def pairs(noise, random):
    """The differences of both pairs of each block, its order drawn at random."""
    blocks = random.permuted(noise.reshape(len(noise), -1, 4), axis=2)
    return (blocks[..., 2:] - blocks[..., :2]).reshape(len(noise), -1)


def ranks(d):
    """The rank of each difference among those so far, with the sign of the difference."""
    size = abs(d)
    rank = numpy.stack(
        [
            ((size[:, :at] < size[:, at : at + 1]).sum(1) + 0.5 * (size[:, :at] == size[:, at : at + 1]).sum(1) + 1) / (at + 1)
            for at in range(d.shape[1])
        ],
        axis=1,
    )
    return numpy.sign(d) * rank


def one_sided(d):
    """The logarithm of the capital of bets on positive signs, and of bets on negative ones, after each pair."""
    signed, found = ranks(d), []
    for side in (1, -1):
        won, lost = (side * d > 0).cumsum(1) + PRIOR, (side * d < 0).cumsum(1) + PRIOR
        with numpy.errstate(divide="ignore"):
            above_half = numpy.log(2 * betainc(lost, won, 0.5))
        by_sign = betaln(won, lost) - betaln(PRIOR, PRIOR) + (won + lost - 2 * PRIOR) * LOG_2 + above_half
        by_rank = [((d != 0) * (LOG_2 - numpy.logaddexp(0, -odds * side * signed))).cumsum(1) for odds in LOG_ODDS]
        found.append(numpy.logaddexp(by_sign, logsumexp(by_rank, axis=0) - numpy.log(len(by_rank))) - LOG_2)
    return found


def difference(d):
    return numpy.logaddexp(*one_sided(d)) - LOG_2


def first(is_reached):
    """After how many pairs a gate has what it needs for the first time, or infinity. Fewer than eight pairs decide nothing."""
    is_reached[:, : FIRST - 1] = False
    return numpy.where(is_reached.any(1), is_reached.argmax(1) + 1.0, numpy.inf)


def same(d, margin):
    """After how many pairs a gate calls the programs the same, or infinity."""
    above_lower, below_upper = one_sided(d + margin)[0], one_sided(d - margin)[1]
    both = numpy.minimum(numpy.maximum.accumulate(above_lower, 1), numpy.maximum.accumulate(below_upper, 1))
    return first(both >= -numpy.log(SAME))


def hodges_lehmann(d):
    """The median of the means of all two differences, each with itself as well."""
    one, other = numpy.triu_indices(len(d))
    return numpy.median((d[one] + d[other]) / 2)


def judge(d, margin, level=LEVELS[0]):
    """How many pairs a gate takes to call head slower, faster and the same, or infinity: the least counts. The fourth row is what evidence alone takes."""
    positive, negative = one_sided(d)
    is_shown = numpy.logaddexp(positive, negative) - LOG_2 >= -numpy.log(level)
    by_evidence, same_after = first(is_shown), same(d, margin)
    different = numpy.full((2, len(d)), numpy.inf)
    for gate in numpy.flatnonzero(by_evidence < same_after):
        for at in numpy.flatnonzero(is_shown[gate]):
            if at + 1 >= same_after[gate]:
                break
            side = 0 if positive[gate, at] > negative[gate, at] else 1
            if (1 - 2 * side) * hodges_lehmann(d[gate, : at + 1]) > margin:
                different[side, gate] = at + 1
                break
    return numpy.stack([*different, same_after, by_evidence])


def shares(found, pairs):
    """The shares of gates that end as slower, faster, the same and undecided, those that evidence alone calls different, and the mean number of pairs."""
    slower, faster, same_after, by_evidence = found
    ends = numpy.stack([slower, faster, same_after]).min(0)
    counts = [slower == ends, faster == ends, same_after == ends]
    counts = [(is_so & numpy.isfinite(ends)).mean() for is_so in counts] + [numpy.isinf(ends).mean(), (by_evidence < same_after).mean()]
    return [f"{100 * share:.2f} %" for share in counts] + [f"{numpy.minimum(ends, pairs).mean():.0f}"]


def generated(gates):
    columns = [f"evidence at {100 * level:g} %" for level in LEVELS] + ["different at 1 %", "same, at the margin", "same, equal", "pairs for that (median)"]
    print(f"| noise | {' | '.join(columns)} |\n| --- |{' ---: |' * len(columns)}")
    for kind, noise in KINDS.items():
        random, counts, pairs_needed, margin = numpy.random.default_rng(1), numpy.zeros(len(LEVELS) + 3), [], None
        for _ in range(gates // 1000):
            d = pairs(noise(random, 1000, 4 * BLOCKS), random)
            margin = margin or numpy.quantile(abs(d), 0.75)
            most = difference(d)[:, FIRST - 1 :].max(1)
            at_margin, found = numpy.concatenate([same(d[:500] + margin, margin), same(d[500:] - margin, margin)]), judge(d, margin)
            equal = found[2]
            ends = [numpy.isfinite(found[:2]).any(0), numpy.isfinite(at_margin), numpy.isfinite(equal)]
            counts += [*((most >= -numpy.log(level)).sum() for level in LEVELS), *(end.sum() for end in ends)]
            pairs_needed.append(equal)
        cells = [f"{100 * count / gates:.{digits}f} %" for count, digits in zip(counts, [3, 3, 3, 3, 2, 1])]
        print(f"| {kind} | {' | '.join(cells)} | {numpy.median(numpy.concatenate(pairs_needed)):g} |", flush=True)


COLUMNS = "slowed by | slower | faster | same | undecided | by evidence alone | pairs (mean) |"


def normal(gates):
    print(f"\n| pairs scatter by | {COLUMNS}\n| ---: |{' ---: |' * 7}")
    for scatter in [0.01, 0.02, 0.04]:
        for effect in [0, 0.003, 0.005, 0.01, 0.015, 0.02, 0.05]:
            d = numpy.log1p(effect) + scatter * numpy.random.default_rng(1).standard_normal((gates, BUDGET))
            found = numpy.concatenate([judge(part, MARGIN) for part in numpy.array_split(d, max(1, gates // 500))], 1)
            print(f"| {100 * scatter:g} % | {100 * effect:g} % | {' | '.join(shares(found, BUDGET))} |", flush=True)


def recorded(gates, files):
    print(f"| noise | {COLUMNS} Mann-Whitney: slower, faster |\n| --- |{' ---: |' * 8}")
    for file in files:
        for series in json.load(open(file))["series"]:
            if series["metric"] not in ("wall_time", "cpu_time"):
                continue
            blocks, random = numpy.log(numpy.array(series["pairs"])).reshape(-1, 4), numpy.random.default_rng(5)
            for effect in [0, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1]:
                found, alarms = [], numpy.zeros(2)
                for _ in range(gates // 500):
                    taken = blocks[(random.integers(0, len(blocks), 500)[:, None] + numpy.arange(BUDGET // 2)) % len(blocks)].reshape(500, -1)
                    found.append(judge(pairs(taken, random) + numpy.log1p(effect), MARGIN))
                    for figures, used in zip(taken, numpy.minimum(found[-1][:3].min(0), BUDGET).astype(int)):
                        base, head = figures[:used], figures[used : 2 * used] + numpy.log1p(effect)
                        if mannwhitneyu(base, head).pvalue < 0.05:
                            alarms[0 if numpy.median(head) > numpy.median(base) else 1] += 1
                cells = [*shares(numpy.concatenate(found, 1), BUDGET), ", ".join(f"{100 * count / gates:.1f} %" for count in alarms)]
                print(f"| {file} {series['metric']} | {100 * effect:g} % | {' | '.join(cells)} |", flush=True)


def main():
    # Gates are judged a thousand at a time.
    gates = max(1, int(sys.argv[1]) // 1000) * 1000 if len(sys.argv) > 1 else 20_000
    if sys.argv[2:]:
        recorded(gates, sys.argv[2:])
    else:
        generated(gates)
        normal(min(gates, 4000))


if __name__ == "__main__":
    main()
