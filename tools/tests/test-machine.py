#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: test-machine.py BUILD: perf events of made-up machines. Prints TAP; no device."""

import json
import sys

import harness
from harness import check, test
from machine import Machine

BUILD = sys.argv[1]
LOCAL = "-d", "local", "-a"


def counters(done):
    """Counters of stat -j by event."""
    check(done.returncode == 0, f"status {done.returncode}: {done.stderr}")
    return {c["event"]: c for c in json.loads(done.stdout)["counters"]}


@test
def machine_counts():
    """a made-up machine counts an event on each CPU"""
    with Machine(BUILD) as m:
        m.pmu("cpu", 4, {"format/event": "config:0-7", "events/cpu-cycles": "event=0x3c"})
        m.perf("4 0x3c * rate 1000000")
        c = counters(m.run("stat", *LOCAL, "-j", "-e", "cpu/cpu-cycles/", "--", "sleep", "0.2"))
        value = c["cpu/cpu-cycles/"]["value"]
        check(800000 <= value < 4000000, f"{value} cycles of 4 CPUs in 0.2 s and a bit")
        calls = m.calls()
        for cpu in range(4):
            check(any(f" cpu {cpu} " in line for line in calls), f"CPU {cpu}: {calls}")


sys.exit(harness.main())
