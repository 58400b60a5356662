# SPDX-License-Identifier: MIT
"""Contention made up by seed: a task whose requests wait in queues that an aggressor fills, as a
file of channels and aggressors, readings in CSV, and the channels that are full.

Each channel is a queue with a service time. A request waits longer the busier it is (M/D/1), up to
as many requests as the queue holds. Counters of waits have the aggressor's requests, too."""

import random

RUNS = 3
LEVELS = (1, 2, 3, 4, 6, 8)
WAITS = ("memory 0", "memory 1", "link")
WINDOW = 8
REQUESTS = 200_000
KINDS = ("memory 0", "memory 1", "link", "memory 0+link", "cache", "cache+memory 0", "CPU",
         "elsewhere")
VARIANTS = ("quiet", "noisy", "saturating")


def names():
    """of the 24 scenarios"""
    return [f"{kind}, {variant}" for kind in KINDS for variant in VARIANTS]


class Machine:
    """A task, and what it meets at a level."""

    def __init__(self, kind, variant, chance):
        self.chance = chance
        self.noise = {"quiet": 0.001, "noisy": 0.02, "saturating": 0.005}[variant]
        # how much of a channel the aggressor takes at level 1
        self.step = chance.uniform(0.25, 0.4) if variant == "saturating" else \
            chance.uniform(0.1, 0.13)
        self.full = [] if kind == "elsewhere" else kind.split("+")
        self.service = {name: chance.uniform(20, 40) for name in WAITS}
        self.depth = chance.uniform(12, 20)
        self.compute = chance.uniform(0.5, 1.5) * 1e6
        # part of the requests that use a channel; nobody else's traffic is seen by the task
        self.uses = {name: chance.uniform(0.3, 0.5) for name in WAITS}
        if kind == "elsewhere":
            self.uses["link"] = 0
            self.full = ["link"]
        self.hit = chance.uniform(0.8, 0.95) if "cache" in self.full else 0.3

    def waits(self, name, level):
        """ns that a request waits"""
        busy = 0.1 + (self.step * level if name in self.full else 0)
        if busy >= 1:
            return self.service[name] * self.depth
        return self.service[name] * min(busy / (2 * (1 - busy)), self.depth)

    def run(self, level):
        """readings of a run: time in ns, counts"""
        hit = self.hit * max(1 - 1.2 * self.step * level, 0.1) if "cache" in self.full else self.hit
        time = self.compute
        counts = {}
        hits = REQUESTS * hit
        missed = REQUESTS - hits
        for name in WAITS:
            mine = missed * self.uses[name]
            latency = 60 + self.waits(name, level)
            time += mine * latency / WINDOW
            others = 100_000 * level * (name in self.full)
            counts[name + " waits"] = (mine + others) * self.vary(latency)
            counts[name + " requests"] = mine + others
        counts["cache hits"] = hits
        counts["cache accesses"] = REQUESTS
        mine = time
        if "CPU" in self.full:
            time *= 1 + 4 * self.step * level
        # what disturbs a run only adds time
        time *= 1 + self.chance.expovariate(1) * self.noise
        counts["cpu"] = min(mine * self.vary(1), time)
        return int(time), {name: int(count) for name, count in counts.items()}

    def vary(self, value):
        return value * (1 + self.chance.gauss(0, self.noise / 2))


def make(name, seed):
    """(file as an object, CSV, the channels that slow the task down)"""
    kind, variant = name.split(", ")
    machine = Machine(kind, variant, random.Random(f"{name} {seed}"))
    lost = 60 + sum(machine.uses[n] * machine.service[n] for n in WAITS)
    channels = [{"name": "CPU", "kind": "others", "counts": "time", "minus": "cpu"},
                {"name": "cache", "kind": "hits", "ns": int(lost), "window": WINDOW,
                 "counts": "cache hits", "per": "cache accesses"}]
    channels += [{"name": n, "window": WINDOW, "counts": n + " waits", "per": n + " requests"}
                 for n in WAITS]
    specification = {"title": name, "task": "a task", "channels": channels,
                     "aggressors": [{"name": "somebody", "levels": list(LEVELS)}]}
    lines = ["aggressor,level,run,reading,value"]
    for level in (0,) + LEVELS:
        for run in range(3 * RUNS if not level else RUNS):
            time, counts = machine.run(level)
            who = "somebody" if level else ""
            for reading, value in [("time", time), *counts.items()]:
                lines.append(f"{who},{level},{run},{reading},{value}")
    return specification, "\n".join(lines) + "\n", [] if kind == "elsewhere" else machine.full
