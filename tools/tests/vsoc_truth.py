# SPDX-License-Identifier: MIT
"""The virtual SoC's record of its true counts."""

import glob
import os

from harness import check

FOLDER = (sorted(glob.glob("/sys/kernel/debug/dri/*/vsoc")) or [None])[0]
NODE = (sorted(glob.glob("/dev/dri/renderD*")) or [None])[0]
MISSING = None if FOLDER else "no vsoc in debugfs"
ALL_GPU = "fw/*,cshw/*,tiler/*,memsys/*,shader/*"

# debugfs has a file for each counter set
SUFFIXES = "", "_secondary", "_tertiary"
# counters that the measurement moves between reading the truth and START or STOP
MOVED_BY_MEASURING = {"MCU_ACTIVE", "MCU_SLEEP", "DOORBELLS", "HOST_INTERRUPTS", "SCHED_TICKS",
                      "CORE_POWER_UPS", "CORE_POWER_DOWNS", "SAMPLE_COMMANDS"}


def truth():
    """{(block type, index, counter): total}"""
    values = {}
    with open(os.path.join(FOLDER, "truth"), encoding="ascii") as f:
        for line in f:
            kind, index, _, name, value = line.split()
            values[kind.lower(), int(index), name] = int(value)
    return values


def add_up(lines):
    """{(block type, counter): total of all blocks} of the lines of one file"""
    values = {}
    for kind, _, _, name, value in map(str.split, lines):
        key = kind.lower(), name
        values[key] = values.get(key, 0) + int(value)
    return values


def totals(path, suffixes=SUFFIXES):
    """The same for all counter sets; path: file of the first set, or a copy of it."""
    values = {}
    for suffix in suffixes:
        with open(path + suffix, encoding="ascii") as f:
            # a counter in several sets has the same value in all
            values = {**add_up(f), **values}
    return values


def truth_of_contexts():
    """{account: {(block type, index, counter): total}}; accounts as in lab/vsoc/README.md"""
    accounts = {}
    with open(os.path.join(FOLDER, "truth_contexts"), encoding="ascii") as f:
        for line in f:
            account, kind, index, _, name, value = line.split()
            accounts.setdefault(account, {})[kind.lower(), int(index), name] = int(value)
    return accounts


def counted(before, after):
    return {key: after[key] - before[key] for key in after}


def compare(counters, expected, least=100):
    """Compare counters of a command's JSON with the truth; at least `least` must be comparable."""
    compared = 0
    for c in counters:
        key = (c["type"], c["index"], c["counter"])
        if c["counter"] in MOVED_BY_MEASURING or key not in expected:
            continue
        check(c["state"] == "ok", f"{key} is {c['state']}")
        check(c["value"] == expected[key], f"{key}: counted {c['value']}, truth {expected[key]}")
        compared += 1
    check(compared > least, f"only {compared} counters were compared")
