#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: bench-growth.py [--small] [KIND...]: how CPU time and memory grow with the bytes of a
capture, the captures of a directory and the blocks of a sample. An exponent is that between the
second size and the last: 1 is in proportion. --small: a tenth of the bytes and captures, for a busy
machine. Prints JSON."""

import json
import math
import os
import random
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
sys.path.insert(0, os.path.join(TOP, "tools/tests"))
import capture_bytes as cb  # noqa: E402
import fleet  # noqa: E402

BUILD = os.environ.get("BUILD") or os.path.join(TOP, "build")
PERIOD, REALTIME = 10**6, 1_700_000_000 * 10**9
TRIES, SHORT_S = 3, 1
SIZES = {"bytes": (10**7, 10**8, 10**9), "captures": (100, 1000, 10_000, 100_000),
         "blocks": (64, 512, 4096)}
SMALL = {**SIZES, "bytes": (10**6, 10**7, 10**8), "captures": (100, 1000, 10_000)}
EXPORTS = "export -f csv", "export -f perfetto"
COMMANDS = {"bytes": ("report", "report --html", "diff A", *EXPORTS),
            "captures": ("report -j", "diff --by host --per shader/FRAMES", "export -f csv"),
            "blocks": ("report -A", "report --html", "diff -A A", *EXPORTS)}
# of one kind, so that a fleet's captures differ by the host only
KINDS, HOST = 50, "host0000000"


def write_samples(path, blocks, counters, count):
    chance = random.Random(blocks)
    with open(path, "wb") as f:
        f.write(cb.HEADER + cb.record(cb.TEXT, cb.texts("host", "bench")))
        f.write(cb.record(cb.REQUEST, cb.block_request(cb.SHADER, 0xffff, (1 << counters) - 1)))
        for n in range(counters):
            f.write(cb.counter(cb.UNHEARD_OF, cb.SHADER, n, f"COUNTER_{n}", "cycles"))
        f.write(cb.metric(cb.UNHEARD_OF, cb.SHADER, "ratio", "", "COUNTER_1 / COUNTER_2"))
        f.write(cb.anchor(PERIOD, REALTIME))
        kinds = [[cb.block(cb.SHADER, index, {n: chance.randrange(10**6) for n in range(counters)},
                           product=cb.UNHEARD_OF) for index in range(blocks)] for _ in range(5)]
        for n in range(count):
            f.write(cb.record(cb.SAMPLE, cb.sample(n, PERIOD * (n + 1), PERIOD * (n + 2),
                                                   kinds[n % len(kinds)])))
        f.write(cb.status(count))


def write_bytes(path, size):
    sample = len(cb.record(cb.SAMPLE, cb.sample(0, 0, 0, [
        cb.block(cb.SHADER, 0, dict.fromkeys(range(16), 0), product=cb.UNHEARD_OF)] * 4)))
    write_samples(path, 4, 16, size // sample)


def write_captures(path, count):
    """One capture of each host, a thousand in a directory."""
    chance = random.Random(3)
    kinds = [fleet.capture(HOST, chance) for _ in range(KINDS)]
    for n in range(count):
        folder = os.path.join(path, f"{n // 1000:03}")
        if not n % 1000:
            os.makedirs(folder)
        with open(os.path.join(folder, f"{n % 1000:03}"), "wb") as f:
            f.write(kinds[n % KINDS].replace(HOST.encode(), b"host%07d" % n))


WRITERS = {"bytes": write_bytes, "captures": write_captures,
           "blocks": lambda path, count: write_samples(path, count, 4, 20)}


def measure_once(path, words):
    words = [path if word == "A" else word for word in words]
    with subprocess.Popen([os.path.join(BUILD, "bin/perfctr"), *words, path],
                          stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    # Linux adds the memory of this process, before exec
    return {"cpu_s": usage.ru_utime + usage.ru_stime, "memory_mb": usage.ru_maxrss / 1024}


def measure(path, words):
    """The least of several tries, if they are short."""
    tries = [measure_once(path, words)]
    while tries[0]["cpu_s"] < SHORT_S and len(tries) < TRIES:
        tries.append(measure_once(path, words))
    return min(tries, key=lambda one: one["cpu_s"])


def grow(kind, folder):
    sizes, rows = CHOSEN[kind], {words: [] for words in COMMANDS[kind]}
    for size in sizes:
        path = os.path.join(folder, f"{kind}{size}")
        WRITERS[kind](path, size)
        for words, row in rows.items():
            row.append(measure(path, words.split()))
        subprocess.run(["rm", "-rf", path], check=True)
    return {words: {"sizes": row, "exponent":
                    math.log(row[-1]["cpu_s"] / row[1]["cpu_s"]) / math.log(sizes[-1] / sizes[1])}
            for words, row in rows.items()}


arguments = sys.argv[1:]
CHOSEN = SMALL if "--small" in arguments else SIZES
with tempfile.TemporaryDirectory(dir=BUILD) as work:
    kinds_ = {kind: grow(kind, work) for kind in
              [kind for kind in arguments if kind != "--small"] or SIZES}
print(json.dumps({"sizes": CHOSEN, "kinds": kinds_,
                  "exponent": max(command["exponent"] for kind in kinds_.values()
                                  for command in kind.values()),
                  "least_memory_mb": min(size["memory_mb"] for kind in kinds_.values()
                                         for command in kind.values()
                                         for size in command["sizes"]),
                  **{f"{name}_memory_mb": max(size["memory_mb"] for command in kind.values()
                                              for size in command["sizes"])
                     for name, kind in kinds_.items()}}))
