#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A local session beside perf: CPU time a reading at 1 kHz, and of "stat -- true". Prints JSON."""

import json
import os
import resource
import statistics
import subprocess

BUILD = os.environ.get("BUILD") or os.path.join(os.path.dirname(__file__), "../../../build")
PERFCTR = os.path.join(BUILD, "bin/perfctr")
# every machine has the twelve events of the software PMU; it ignores config1
EVENTS = ",".join(f"software/config={n % 12},config1={n // 12}/" for n in range(64))
SECONDS, ROUNDS, STARTS = "2", 3, 30
INTERVALS = os.path.join(BUILD, "bench", "perf-intervals.csv")


def cpu_us(*command):
    """CPU time with that of the workload, and standard output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e6 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime), done.stdout


def perf_reading():
    used, _ = cpu_us("perf", "stat", "-a", "-I", "1", "-x,", "-o", INTERVALS, "-e",
                     EVENTS, "--", "sleep", SECONDS)
    with open(INTERVALS, encoding="ascii") as f:
        return used / len({line.split(",")[0] for line in f if line.strip() and line[0] != "#"})


def local_reading():
    used, out = cpu_us(PERFCTR, "record", "-ad", "local", "-p1ms", "-j", "-o", "/dev/null", "-e",
                       EVENTS, "--", "sleep", SECONDS)
    return used / json.loads(out)["samples"]


def starts():
    """Medians of both programs, started one after the other, so that other work slows both."""
    pairs = [[cpu_us(command, "stat", "--", "true")[0] for command in (PERFCTR, "perf")]
             for _ in range(STARTS)]
    return [statistics.median(times) for times in zip(*pairs)]


def main():
    os.makedirs(os.path.dirname(INTERVALS), exist_ok=True)
    perf, local = zip(*((perf_reading(), local_reading()) for _ in range(ROUNDS)))
    start_us, start_peer_us = starts()
    figures = {"counters": EVENTS.count("/,") + 1, "cpus": os.cpu_count(), "reading_us": min(local),
               "reading_peer_us": min(perf), "start_us": start_us,
               "start_peer_us": start_peer_us}
    print(json.dumps({**figures, "reading_ratio": min(local) / min(perf),
                      "start_ratio": figures["start_us"] / figures["start_peer_us"]}))


if __name__ == "__main__":
    main()
