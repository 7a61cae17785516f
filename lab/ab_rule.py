#!/usr/bin/env python3
"""Errors of `ab`'s rule in generated noise, by a second implementation of it.

    python3 lab/ab_rule.py [GATES]

Programs run in blocks of four, in random order, with 50 pairs. The table has the share of gates that call equal programs different, at the level of one benchmark (1 %),
and of one of ten and of one hundred benchmarks. Then it has the share that calls programs the same which differ by just the margin, and how many gates call equal programs
the same, after how many pairs. The margin is what three of four differences of the noise do not exceed. Needs numpy and scipy.
"""

import sys

import numpy
from scipy.special import betainc, betaln, logsumexp

BLOCKS = 25
FIRST = 8
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


def same(d, margin):
    """After how many pairs a gate calls the programs the same, or infinity."""
    above_lower, below_upper = one_sided(d + margin)[0], one_sided(d - margin)[1]
    both = numpy.minimum(numpy.maximum.accumulate(above_lower, 1), numpy.maximum.accumulate(below_upper, 1))
    both[:, : FIRST - 1] = -numpy.inf
    found = both >= -numpy.log(SAME)
    return numpy.where(found.any(1), found.argmax(1) + 1, numpy.inf)


def main():
    gates = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    columns = [f"different at {100 * level:g} %" for level in LEVELS] + ["same at the margin", "equal: same", "pairs (median)"]
    print(f"| noise | {' | '.join(columns)} |\n| --- |{' ---: |' * len(columns)}")
    for kind, noise in KINDS.items():
        random, counts, pairs_needed, margin = numpy.random.default_rng(1), numpy.zeros(len(LEVELS) + 2), [], None
        for _ in range(gates // 1000):
            d = pairs(noise(random, 1000, 4 * BLOCKS), random)
            margin = margin or numpy.quantile(abs(d), 0.75)
            most = difference(d)[:, FIRST - 1 :].max(1)
            at_margin, equal = numpy.concatenate([same(d[:500] + margin, margin), same(d[500:] - margin, margin)]), same(d, margin)
            counts += [*((most >= -numpy.log(level)).sum() for level in LEVELS), *(numpy.isfinite(found).sum() for found in (at_margin, equal))]
            pairs_needed.append(equal)
        shares = [f"{100 * count / gates:.{digits}f} %" for count, digits in zip(counts, [3, 3, 3, 2, 1])]
        print(f"| {kind} | {' | '.join(shares)} | {numpy.median(numpy.concatenate(pairs_needed)):g} |", flush=True)


if __name__ == "__main__":
    main()
