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
                  recorded, run, served)
from harness import check, main, test  # noqa: E402

UNITS = 1e6  # per second, by live.h: less on a busy machine


@test
def listing():
    """list and info show the GPU's blocks, events and metrics"""
    text = run("list", "tiler/*")
    check("tiler/TRIANGLES" in text and "kbase" in text, text)
    text = run("info")
    check("Mali-G610" in text and "cshw" in text, text)
    check("300.0 MHz now, at most 900.0 MHz\n  coregroup    frequency unknown\n" in text, text)


@test
def stat():
    """stat counts the GPU; a metric has the model's ratio"""
    found = events_of(run("stat", "-j", "-e", "cshw/GPU_ACTIVE,tiler/TRIANGLES,metric:*", "--",
                          "sleep", "0.5"))
    active = found["cshw/GPU_ACTIVE"]["value"]
    check(0 < active < UNITS and found["tiler/TRIANGLES"]["value"] == active, str(found))
    check("cshw/" in run("stat", "--", "sleep", "0.2"), "stat without events")


@test
def captures():
    """record, report and export agree"""
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "capture")
        run("record", "-p", "20ms", "-o", path, "-e", "tiler/TRIANGLES", "--", "sleep", "0.3")
        total = recorded(path)
        check(total and total % 1000 == 0, str(total))
        check(f"{total:,}" in run("report", path), "report")


@test
def live():
    """top and check work"""
    text = run("top", "--snapshot")
    check("GPU_ACTIVE" in text and "lost" not in text, text)
    check("Mali-G610, driver kbase" in run("check"), "check")


@test
def units():
    """perfkit: the tiler works in each other cycle, more than the other units, and what to try"""
    text = run("perfkit", "-e", "* SOL,* Bottleneck", "--", "sleep", "0.3")
    found = {line[:line.index("  ")]: float(line.split()[-4]) for line in text.splitlines()
             if line.endswith(" %")}
    names = {"CS", "TILER", "ALU", "LS", "TEX", "VARY", "EXTRD", "EXTWR"}
    check(found.keys() == {f"{unit} {kind}" for unit in names for kind in ("SOL", "Bottleneck")},
          text)
    check({name for name, share in found.items() if share} == {"TILER SOL", "TILER Bottleneck"} and
          found["TILER SOL"] == found["TILER Bottleneck"] == 50, text)
    check("GPU bottleneck: TILER, busy for" in text and "\n Triangles limit." in text, text)


@test
def shared():
    """who may not count does through "perfctr serve", and the exporter has totals"""
    row, = json.loads(served("kbase", "stat", "-j", "-e", "tiler/TRIANGLES", "--", "sleep",
                             "0.5"))["counters"]
    check(row["state"] == "ok" and 0 < row["value"] < UNITS and row["value"] % 1000 == 0, f"{row}")
    series = exported("-e", "tiler/TRIANGLES")
    check(series["perfctr_tiler_triangles_total"] > 0, f"{series}")


@test
def validated():
    """validate finds what counts as documented, and what counts another multiple"""
    event = check_validate("kbase", "tiler/TRIANGLES", 1, "shader/FRAG_ACTIVE")
    check(event["definition"] == "3 units", f"{event}")


@test
def killed():
    """SIGKILL leaves nothing behind"""
    check_killed("kbase", "tiler/TRIANGLES")


if __name__ == "__main__":
    sys.exit(main())
