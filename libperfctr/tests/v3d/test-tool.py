#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: test-tool.py PERFCTR
The commands on the GPU of tool.c, which do not know it. Prints TAP."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
# found through the path above
from tool import (check_killed, check_validate, events_of, exported,  # noqa: E402
                  recorded, run, served, validate)
from harness import check, main, test  # noqa: E402

UNITS = 1e6  # per second, by live.h: less on a busy machine
PRIMITIVES, BYTES = "v3d/PTB_primitives_binned", "v3d/AXI_read_bytes_seen_watch_0"


@test
def listing():
    """list and info show the GPU's block, events and metrics"""
    text = run("list", "-d", "v3d", "v3d/*")
    check(PRIMITIVES in text and "V3D 4.2" in run("info", "-d", "v3d"), text)


@test
def stat():
    """stat counts the GPU; without -e, too"""
    found = events_of(run("stat", "-d", "v3d", "-j", "-e", f"{PRIMITIVES},{BYTES}", "--", "sleep",
                          "0.5"))
    count = found[PRIMITIVES]["value"]
    check(0 < count < UNITS and found[BYTES]["value"] == 3 * count, str(found))
    check("v3d/" in run("stat", "-d", "v3d", "--", "sleep", "0.2"), "stat without events")


@test
def captures():
    """record, report and export agree"""
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "capture")
        run("record", "-d", "v3d", "-p", "20ms", "-o", path, "-e", PRIMITIVES, "--", "sleep", "0.3")
        total = recorded(path)
        check(total and total % 1000 == 0, str(total))
        check(f"{total:,}" in run("report", path), "report")


@test
def live():
    """top and check work"""
    text = run("top", "-d", "v3d", "--snapshot")
    check("v3d" in text and "lost" not in text, text)
    check("ok    sample" in run("check", "-d", "v3d"), "check")


@test
def unnamed():
    """who does not name the GPU does not count it, and learns its name"""
    for command in (("check",), ("list",), ("stat", "--", "true"), ("top", "--snapshot")):
        text = run(*command, V3D_UNTOUCHED="1")
        check("/dev/dri/renderD128: V3D 4.2, only counted by -d v3d" in text, text)
    text = run("stat", "-e", "task-clock", "--", "true", V3D_UNTOUCHED="1")
    check("V3D" not in text, text)


@test
def units():
    """perfkit: the renderer works most of the time, and what to try"""
    text = run("perfkit", "-d", "v3d", "-e", "* SOL,* Bottleneck", "--", "sleep", "0.5")
    found = {line[:line.index("  ")]: float(line.split()[-4]) for line in text.splitlines()
             if line.endswith(" %")}
    check(found.keys() == {f"{unit} {kind}" for unit in ("BIN", "RENDER", "COMPUTE")
                           for kind in ("SOL", "Bottleneck")}, text)
    # the driver in memory adds cycles to each read
    check(80 < found["RENDER SOL"] < 100 and found["RENDER SOL"] == found["RENDER Bottleneck"] and
          not found["BIN SOL"] and not found["COMPUTE SOL"], text)
    check("GPU bottleneck: RENDER, busy for" in text and "\n Rendering limits." in text, text)


@test
def shared():
    """who may not count does through "perfctr serve", and the exporter has totals"""
    row, = json.loads(served("v3d", "stat", "-j", "-e", PRIMITIVES, "--", "sleep",
                             "0.5"))["counters"]
    check(row["state"] == "ok" and 0 < row["value"] < UNITS and row["value"] % 1000 == 0, f"{row}")
    series = exported("-d", "v3d", "-e", PRIMITIVES)
    check(max(series.values()) > 0, f"{series}")


@test
def validated():
    """validate finds what counts as documented, and what counts another multiple"""
    event = check_validate("v3d", PRIMITIVES, 1, BYTES)
    check(event["definition"] == "3 units", f"{event}")
    # as each read of the hardware loses a moment
    error = validate("v3d", {PRIMITIVES: 1}, status=(1,), V3D_LATE="0")
    check("the hardware lost counts, in each of 3 tries" in error, error)
    for factor, verdict in ((1, "TRUSTED"), (2, "EXPLAINED")):
        found = validate("v3d", {PRIMITIVES: factor}, accept=5000, V3D_LATE="0")
        check(found[PRIMITIVES]["verdict"] == verdict, f"{found}")


@test
def lost():
    """a burst that the hardware lost in a read is not held against the counter"""
    for bursts, verdict in (("2", "TRUSTED"), ("99", "SELECTED")):
        found = validate("v3d", {PRIMITIVES: 1, BYTES: 3}, accept=5000, V3D_LATE=bursts)
        check(found[PRIMITIVES]["verdict"] == verdict and found[BYTES]["verdict"] == "TRUSTED",
              f"{found}")
    check(found[PRIMITIVES]["reason"] == "not measured: at job N=1000 the hardware lost counts, "
          "in each of 3 tries", f"{found}")


@test
def killed():
    """SIGKILL leaves nothing behind, no guard either, which was there"""
    check_killed("v3d", PRIMITIVES, "perfctr-guard")


if __name__ == "__main__":
    sys.exit(main())
