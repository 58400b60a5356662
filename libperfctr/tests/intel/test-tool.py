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

XE = {"INTEL_XE": "1"}


@test
def listing():
    """list and info show the block, events and metrics of the generation"""
    text = run("list", "-d", "i915", "oa/*")
    check("oa/PS_THREADS" in text and "i915" in text and "L3_READS" not in text, text)
    text = run("list", "-d", "xe", "oa/*", **XE)
    check("oa/L3_READS" in text and "PS_THREADS" not in text, text)
    check("Intel Tiger Lake" in run("info", "-d", "i915"), "info")


@test
def units():
    """perfkit: execution units are busy if they run or stall; the bottleneck is their running"""
    for driver, environment in ("i915", {}), ("xe", XE):
        text = run("perfkit", "-d", driver, "-j", "-e", "oa/EU_*,EU SOL,EU Bottleneck", "--",
                   "sleep", "0.3", **environment)
        result = json.loads(text)
        found = {c["name"]: c["mean"]["number"] for c in result["counters"]}
        clocks, active, stall = (found[f"oa/EU_{name}CLOCKS"]
                                 for name in ("", "ACTIVE_", "STALL_"))
        check(result["passes"] == 1 and active and stall, text)
        check(abs(found["EU SOL"] - 100 * (active + stall) / clocks) < 1e-6, text)
        check(abs(found["EU Bottleneck"] - 100 * active / clocks) < 1e-6, text)


def stat(driver, **environment):
    return events_of(run("stat", "-d", driver, "-j", "-e", "oa/*,metric:*", "--", "sleep", "0.5",
                         **environment))


@test
def stat_i915():
    """stat of Gen12: ratios of counters and metrics are the model's"""
    found = stat("i915")
    value = lambda name: found[f"oa/{name}"]["value"]
    check(value("GPU_BUSY_CLOCKS") and value("VS_THREADS") == 2 * value("GPU_BUSY_CLOCKS"),
          str(found))
    check(value("EU_ACTIVE_CLOCKS") == 38 * value("GPU_BUSY_CLOCKS"), str(found))
    check(value("EU_CLOCKS") == 96 * value("GPU_CLOCKS"), str(found))
    busy = 100 * value("GPU_BUSY_CLOCKS") / value("GPU_CLOCKS")
    check(abs(found["metric:oa.gpu_busy"]["value"] - busy) < 1e-6, str(found))
    check(abs(found["metric:oa.gpu_clock"]["value"] / 960e6 - 1) < 0.05, str(found))


@test
def without_events():
    """stat without -e has threads, shares and perf events; of Xe2, those that it has"""
    text = run("stat", "-d", "i915", "--", "sleep", "0.2")
    check("oa/PS_THREADS" in text and "metric:oa.eu_active" in text and
          "not measured" not in text, text)
    text = run("stat", "-d", "xe", "--", "sleep", "0.2", **XE)
    check("PS_THREADS" not in text and "metric:oa.eu_active" in text, text)


@test
def stat_xe():
    """stat of Xe2: the same"""
    found = stat("xe", **XE)
    value = lambda name: found[f"oa/{name}"]["value"]
    check(value("READ_BYTES") and value("READ_BYTES") * 33 == 2 * 58 * value("GPU_BUSY_CLOCKS"),
          str(found))
    check("metric:oa.read_bandwidth" in found, str(found))


@test
def captures():
    """record, report and export agree, without loss"""
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "capture")
        run("record", "-d", "i915", "-p", "20ms", "-o", path, "-e", "oa/PS_THREADS", "--", "sleep",
            "0.3")
        total = recorded(path)
        check(total and total % 7000 == 0, str(total))
        check(f"{total:,}" in run("report", path), "report")


@test
def live():
    """top and check work"""
    text = run("top", "-d", "i915", "--snapshot")
    check("oa.gpu_busy" in text and "oa.eu_stall" in text and "lost" not in text, text)
    check("Intel Tiger Lake" in run("check", "-d", "i915"), "check")


@test
def shared():
    """who may not count does through "perfctr serve", and the exporter has totals and metrics"""
    row, = json.loads(served("i915", "stat", "-j", "-e", "oa/GPU_CLOCKS", "--", "sleep",
                             "0.5"))["counters"]
    check(row["state"] == "ok" and row["value"] > 1e8, f"{row}")
    series = exported("-d", "i915", "-e", "metric:oa.gpu_busy,oa/GPU_CLOCKS")
    check(0 < series["perfctr_oa_gpu_busy_ratio"] < 1 and
          series["perfctr_oa_gpu_clocks_cycles_total"] > 1e7, f"{series}")


@test
def refusals():
    """without permission stat ends with the sysctl that gives it"""
    text = run("stat", "-d", "i915", "-e", "oa/*", "--", "true", status=3, INTEL_DENIED="1")
    check("dev.i915.perf_stream_paranoid=0" in text, text)


@test
def validated():
    """validate finds what counts as documented, and what counts another multiple"""
    event = check_validate("i915", "oa/VS_THREADS", 2, "oa/PS_THREADS")
    check(event["definition"] == "7 units", f"{event}")
    event = check_validate("xe", "oa/GPU_BUSY_CLOCKS", 33, "oa/READ_BYTES", **XE)
    check(event["verdict"] == "UNTRUSTED", f"{event}")


@test
def killed():
    """SIGKILL leaves nothing behind"""
    check_killed("i915", "oa/GPU_CLOCKS")


if __name__ == "__main__":
    sys.exit(main())
