#!/usr/bin/env python3
"""Writes the hours of a simulated machine, with what truly happened to it, as JSON.

    python3 years.py SEED DAYS [still]

Made without a look at what judges it: hours that remember the one before (AR(1), heavy tails), office hours and lunch, backups by night, weekends,
holidays that go like Sundays, odd hours, gaps, slow growth, and values rounded to what a kernel counts in. Cycles are factors in some series and add up in
others. One series rises by 5 % for good; memory leaks until the owner runs out of it and is started again, mended. Nothing happens to the other ten, and to a
machine that is still nothing at all.
"""

import json
import math
import random
import sys

DAY, WEEK = 24, 168


def week_of(rng, day, night, weekend):
    """What each hour of a week differs by, as a share of the level; mean 0."""
    begin, end, lunch = rng.uniform(7, 9), rng.uniform(16, 19), rng.uniform(11.5, 13)
    backup, nightly = rng.randrange(1, 5), night * rng.uniform(0.5, 1.5)
    hours = []
    for of_week in range(WEEK):
        weekday, hour = divmod(of_week, DAY)
        rise = 1 / (1 + math.exp(-1.8 * (hour - begin))) - 1 / (1 + math.exp(-1.2 * (hour - end)))
        rise -= 0.3 * math.exp(-((hour - lunch) ** 2))
        busy = day * rise * (1 if weekday < 5 else weekend)
        busy += nightly if hour == backup else 0
        hours.append(busy)
    middle = sum(hours) / WEEK
    return [hour - middle for hour in hours]


def student(rng, freedom=4):
    chi = sum(rng.gauss(0, 1) ** 2 for _ in range(freedom))
    return rng.gauss(0, 1) / math.sqrt(chi / freedom) / math.sqrt(freedom / (freedom - 2))


def series(rng, days, holidays, name, level, step, day, night, weekend, noise, adds=False, alike=None, growth=0.0):
    """Hours, with nothing happening to them but what happens to all machines."""
    week = week_of(rng, day, night, weekend)
    rho = rng.uniform(0.3, 0.8) if alike is None else alike
    sd, now, odd, off = noise * math.sqrt(1 - rho * rho), 0.0, 0, 0
    hours = []
    for hour in range(days * DAY):
        now = rho * now + sd * student(rng)
        of_week = (6 * DAY + hour % DAY) if hour // DAY in holidays else hour % WEEK
        cycle = week[of_week]
        grown = level * (1 + growth * hour / (365 * DAY))
        value = grown + level * cycle + level * now if adds else grown * (1 + cycle) * (1 + now)
        if odd == 0 and rng.random() < 0.002:
            odd, height = rng.randrange(1, 4), rng.uniform(0.1, 0.5)
        if odd > 0:
            odd, value = odd - 1, value * (1 + height) if day >= 0 else value * (1 - height / 3)
        if off == 0 and rng.random() < 0.0005:
            off = rng.randrange(1, 9)
        off = max(0, off - 1)
        hours.append(None if off else value)
    return {"name": name, "step": step, "hours": hours, "truth": []}


def counted(rng, days, name, mean):
    """Events that are rare: counts of each hour."""
    hours = []
    for _ in range(days * DAY):
        limit, product, count = math.exp(-mean), rng.random(), 0
        while product > limit:
            product, count = product * rng.random(), count + 1
        hours.append(float(count))
    return {"name": name, "step": 1, "hours": hours, "truth": []}


def change(one, of):
    one["hours"] = [value if value is None else of(hour, value) for hour, value in enumerate(one["hours"])]


def machine(seed, days, still):
    rng = random.Random(seed)
    holidays = {rng.randrange(days) for _ in range(max(1, days // 36))}
    of = lambda *about, **more: series(rng, days, holidays, *about, **more)
    cpu = of("cpu.busy", 0.3, 0.001, 0.35, 0.05, 0.3, 0.01)
    rises = rng.randrange(int(days * 0.35), int(days * 0.5)) * DAY + rng.randrange(DAY)
    if not still:
        change(cpu, lambda hour, value: value * 1.05 if hour >= rises else value)
        cpu["truth"].append({"kind": "step", "hour": rises, "rises": True})
    total = 16e9
    memory = of("memory.available", 0.6 * total, 4096, -0.04, -0.02, 0.4, 0.003, adds=True, alike=0.6)
    leaks = rng.randrange(int(days * 0.55), int(days * 0.65)) * DAY + rng.randrange(DAY)
    # In a short simulation it leaks faster, so that its end is in it.
    an_hour = total * 0.00075 * max(1.0, 150 / days)
    ends = leaks + int((0.6 - 0.08) * total / an_hour)
    if not still:
        change(memory, lambda hour, value: value - an_hour * (hour - leaks) if leaks <= hour < ends else value)
        memory["truth"].append({"kind": "leak", "hour": leaks, "ends": ends, "rises": False})
    rest = [
        of("net.eth0.received", 2.5e6, 1, 0.6, 0.3, 0.2, 0.03, growth=0.1),
        of("net.eth0.sent", 9e6, 1, 0.7, 0.2, 0.15, 0.02),
        of("disk.sda.written", 8e5, 512, 0.3, 1.0, 0.5, 0.04),
        of("disk.sda.busy", 0.04, 0.0001, 0.5, 1.5, 0.5, 0.05),
        of("tasks.runnable", 1.4, 0.01, 0.3, 0.1, 0.5, 0.02, adds=True),
        of("memory.cached", 5e9, 4096, 0.02, 0.05, 0.6, 0.004, adds=True, alike=0.9),
        of("free./var", 4e11, 4096, -0.01, -0.01, 0.5, 0.001, adds=True, growth=-0.05),
        of("interrupts", 2200, 1, 0.2, 0.05, 0.4, 0.006),
        counted(rng, days, "tcp.retransmits", 3.0),
        counted(rng, days, "memory.swapped", 0.02),
    ]
    everything = [cpu, memory, *rest]
    for one in everything:
        step = one.pop("step")
        one["hours"] = [value if value is None else round(value / step) * step for value in one["hours"]]
    return everything


if __name__ == "__main__":
    json.dump({"series": machine(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] == ["still"])}, sys.stdout)
