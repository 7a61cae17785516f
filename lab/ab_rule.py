#!/usr/bin/env python3
"""False alarms of `ab`'s rule in generated noise, by a second implementation of it.

    python3 lab/ab_rule.py [GATES]

Equal programs run in blocks of four, in random order, with 50 pairs. The table has the share of gates that call them different, at the level of one benchmark (1 %), and
of one of ten and of one hundred benchmarks. "t mixture" is the rule that was used before: half the t mixture, half the sign mixture. Needs numpy and scipy.
"""

import sys

import numpy
from scipy.special import betaln, logsumexp

BLOCKS = 25
FIRST = 8
LEVELS = [0.01, 0.001, 0.0001]
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


def signs(d, prior):
    positive, negative = (d > 0).cumsum(1), (d < 0).cumsum(1)
    return betaln(positive + prior, negative + prior) - betaln(prior, prior) + (positive + negative) * LOG_2


def ranks(d):
    size = abs(d)
    rank = numpy.stack(
        [
            ((size[:, :at] < size[:, at : at + 1]).sum(1) + 0.5 * (size[:, :at] == size[:, at : at + 1]).sum(1) + 1) / (at + 1)
            for at in range(d.shape[1])
        ],
        axis=1,
    )
    signed = numpy.sign(d) * rank
    capitals = [(LOG_2 * (d != 0) - (d != 0) * numpy.logaddexp(0, -odds * signed)).cumsum(1) for one in LOG_ODDS for odds in (one, -one)]
    return logsumexp(capitals, axis=0) - numpy.log(len(capitals))


def t_mixture(d):
    n = numpy.arange(1, d.shape[1] + 1)
    mean = d.cumsum(1) / n
    with numpy.errstate(all="ignore"):
        spread = numpy.sqrt(((d * d).cumsum(1) - n * mean**2) / (n - 1))
        ratio = n * (mean / spread) ** 2 / (n - 1)
        found = 0.5 * (n * (numpy.log1p(ratio) - numpy.log1p(ratio / (1 + n))) - numpy.log(1 + n))
    return numpy.where(spread > 1e-9 * abs(mean), found, 0)


def main():
    gates = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    columns = [f"{name}: {100 * level:g} %" for name in ("`ab`", "t mixture") for level in LEVELS]
    print(f"| noise | {' | '.join(columns)} |\n| --- |{' ---: |' * len(columns)}")
    for kind, noise in KINDS.items():
        random, alarms = numpy.random.default_rng(1), numpy.zeros(2 * len(LEVELS))
        for _ in range(gates // 1000):
            d = pairs(noise(random, 1000, 4 * BLOCKS), random)
            rules = [(ranks(d), signs(d, 0.25)), (t_mixture(d), signs(d, 1))]
            most = [(numpy.logaddexp(*rule) - LOG_2)[:, FIRST - 1 :].max(1) for rule in rules]
            alarms += [(found >= -numpy.log(level)).sum() for found in most for level in LEVELS]
        print(f"| {kind} | {' | '.join(f'{100 * count / gates:.3f} %' for count in alarms)} |", flush=True)


if __name__ == "__main__":
    main()
