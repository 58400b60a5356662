#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The local device, on a stock kernel or beside a kernel session. Prints TAP."""

import json
import os
import sys
import time

import harness
from harness import NOBODY, check, run, test

STOCK = not os.path.exists("/sys/module/drm_perfctr")
BYTES = ("ucf0/mem_bytes_rd/,ucf0/mem_bytes_wr/,ucf1/mem_bytes_rd/,ucf1/mem_bytes_wr/,"
         "ucf/mem_bytes_rd/")


def a_stock_kernel_is_useful():
    """list, stat, top, record, report, check, info: status 0 on a kernel without our modules"""
    check("counters can be used here" in run("perfctr", "check").stdout, "check")
    check("software/page-faults/" in run("perfctr", "list").stdout, "list")
    check("this machine" in run("perfctr", "info").stdout, "info")
    check("context-switches" in run("perfctr", "top", "--snapshot").stdout, "top")
    run("perfctr", "record", "-o", "/tmp/local.perfctr", "--", "sleep", "0.3")
    check("software/task-clock/" in run("perfctr", "report", "/tmp/local.perfctr").stdout, "report")
    done = run("perfctr", "stat", "--", "true")
    check("software events only" in done.stderr, done.stderr)
    result = json.loads(run("perfctr", "stat", "--json", "--", "sleep", "0.3").stdout)
    clock = [c for c in result["counters"] if c["event"] == "software/task-clock/"][0]["value"]
    # all CPUs together, over the counted time
    wanted = result["elapsed_ns"] * os.cpu_count()
    check(0.9 * wanted <= clock <= 1.1 * wanted and clock, f"{clock} ns of {wanted}")


@test
def what_perf_refuses_comes_with_a_fix():
    """stat: without permission the message names the sysctl; it names an unknown event"""
    done = run("perfctr", "stat", "-d", "local", "-e", "software/page-faults/", "--", "true",
               status=3, uid=NOBODY)
    check("kernel.perf_event_paranoid" in done.stderr, done.stderr)
    done = run("perfctr", "stat", "-d", "local", "-e", "software/config=999/", "--", "true",
               status=1)
    check("no such event" in done.stderr, done.stderr)
    done = run("perfctr", "stat", "-d", "local", "-e", "software/page-faults,cpu=77/", "--", "true",
               status=2)
    check("CPU 77 is not online" in done.stderr, done.stderr)


def local_and_kernel_session_agree():
    """stat: a local and a kernel session count the same bytes of the same work"""
    for seed in "3", "5", "7":
        done = run("perfctr", "stat", "-d", "local", "--json", "-p", "1ms", "-o", "/tmp/local.json",
                   "-e", BYTES, "--", "perfctr", "stat", "--json", "-p", "1ms", "-e", BYTES, "--",
                   "vsoc-job", "-q", "--random", "100", "--seed", seed)
        with open("/tmp/local.json", encoding="utf-8") as file:
            local = json.load(file)
        kernel = json.loads(done.stdout)
        values = [{c["event"]: c["value"] for c in r["counters"]} for r in (local, kernel)]
        check(values[0] == values[1], f"seed {seed}: {values}")
        check(all(values[0].values()) and len(values[0]) == 5, f"nothing counted: {values[0]}")
        check(local["samples"] > 3, f"{local['samples']} samples")


test(a_stock_kernel_is_useful if STOCK else local_and_kernel_session_agree)

if __name__ == "__main__":
    time.sleep(0.1)
    sys.exit(harness.main())
