#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: test-tool.py PERFCTR
The commands on the GPU of tool.c, which do not know it. Prints TAP."""
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
# found through the path above
from tool import (check_killed, check_validate, events_of, exported,  # noqa: E402
                  recorded, run, served)
from harness import check, main, test  # noqa: E402

# per second, by tool.c: less on a busy machine
CLOCK, BUSY = 2e6, 1e6


@test
def listing():
    """list and info show the GPU's blocks, events and metrics"""
    text = run("list", "cp/*BUSY*")
    check("cp of adreno_a7xx, counted by msm" in text and "cp/BUSY_CYCLES" in text, text)
    text = run("list", "-a", "*gpu_clock*")
    check("bv_sp" in run("info") and "cp.gpu_clock" in text, text)


@test
def stat():
    """stat without -e counts the GPU; its metrics have the model's ratio"""
    found = events_of(run("stat", "-j", "--", "sleep", "0.5"))
    clock, busy = (found[f"cp/{name}"]["value"] for name in ("ALWAYS_COUNT", "BUSY_CYCLES"))
    check(clock == 2 * busy and CLOCK / 20 < clock < CLOCK, f"{clock} {busy}")
    check(abs(found["metric:cp.cp_busy"]["value"] - 50) < 1e-6, str(found))
    check(found["sp/BUSY_CYCLES"]["value"] == busy and not found["tp/BUSY_CYCLES"]["value"],
          str(found))


@test
def sleeping():
    """a GPU that sleeps now and then: less is counted, and the samples say so"""
    text = run("stat", "-e", "cp/BUSY_CYCLES", "--", "sleep", "0.5", GPU_SLEEPS="1")
    check("suspended" in text and "lost" in text, text)


@test
def captures():
    """record, report and export agree; another machine can read the capture"""
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "capture")
        run("record", "-o", path, "-e", "cp/BUSY_CYCLES", "--", "sleep", "0.3")
        total = recorded(path)
        check(total % 1000 == 0 and BUSY / 100 < total < BUSY, str(total))
        check(f"{total:,}" in run("report", path), "report")


@test
def live():
    """top and check work"""
    check("cp.gpu_clock" in run("top", "--snapshot"), "top")
    check("Adreno X1-85, driver msm" in run("check"), "check")


@test
def shared():
    """who may not count does through "perfctr serve", and the exporter has totals and metrics"""
    row, = json.loads(served("msm", "stat", "-j", "-e", "cp/BUSY_CYCLES", "--", "sleep",
                             "0.5"))["counters"]
    check(row["state"] == "ok" and BUSY / 20 < row["value"] < BUSY, f"{row}")
    series = exported("-d", "msm", "-e", "metric:cp.cp_busy,cp/BUSY_CYCLES")
    check(abs(series["perfctr_cp_cp_busy_ratio"] - 0.5) < 0.1 and
          series["perfctr_cp_busy_cycles_total"] > BUSY / 100, f"{series}")


@test
def turns():
    """events that a block has too few counters for are estimated, with the part of the time"""
    text = run("stat", "-e", "vsc/*,sp/BUSY_CYCLES", "--", "sleep", "1")
    check(len(re.findall(r"vsc/.*ran [0-9.]+%", text)) == 5, text)
    check(not re.search("sp/.*ran", text), text)


@test
def validated():
    """validate finds what counts as documented, and that a counter counts three times as much"""
    event = check_validate("msm", "cp/BUSY_CYCLES", 1, "sp/BUSY_CYCLES")
    check(event["definition"] == "3 units", f"{event}")


@test
def killed():
    """SIGKILL leaves nothing behind"""
    check_killed("msm", "cp/BUSY_CYCLES")


if __name__ == "__main__":
    sys.exit(main())
