#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr counts a V3D through the kernel's own driver: the model's truth, or a refusal with the
reason. Prints TAP. Runs as root in the guest, under lab/v3d/start."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import v3d
from v3d import COMPUTE, PRIMITIVES, QUADS, Device, counts, events, model, stat, truth
import harness
from harness import check, run, test

GLOBAL = v3d.MISSING is None and v3d.has_global()
FRAME = ("draw=30", "tiles=5,6")


def only(condition):
    """A test for some kernels."""
    return test if condition else lambda function: function


@only(not GLOBAL)
def refused_by_generation():
    """6.12: refused with the reason; engines' times are counted"""
    error = stat(*events(PRIMITIVES), "--", "true", status=(1, 3, 4)).stderr
    check("no counters for all programs (Linux 7.3 has)" in error, error)
    check('the device "local" has the engines\' times' in error, error)
    with subprocess.Popen(["v3d-job", "-n", "1000", "-s", "5", *FRAME],
                          stdout=subprocess.DEVNULL) as busy:
        time.sleep(0.2)
        run("perfctr", "stat", "-x", ",", "-o", "/tmp/engines", "-a", "-e",
            "drm/v3d:engine-render/", "--", "sleep", "1")
        busy.kill()
    check(int(v3d.read("/tmp/engines").split(",")[0]) > 0, v3d.read("/tmp/engines"))
    return None


@test
def engines_for_all():
    """gpu_stats: jobs and time of another user's programs, which have ended by then"""
    command = "perfctr", "stat", "-d", "local", "-j", "-a", "-e", "gpu_stats/*/", "--", "cat"
    # pylint: disable-next=subprocess-popen-preexec-fn
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                          preexec_fn=harness.drop()) as stat_:
        time.sleep(0.5)
        begin = time.monotonic_ns()
        for _ in range(2):
            v3d.job("-n", "200", *FRAME)
        elapsed = time.monotonic_ns() - begin
        out = stat_.communicate()[0]
    counted = {c["event"].split(":")[1].rstrip("/"): c["value"]
               for c in json.loads(out)["counters"]}
    check(counted["jobs-bin"] == counted["jobs-render"] == 400 and not counted["jobs-csd"], counted)
    # the kernel's clock has steps that are longer than a job
    times = [counted["engine-bin"], counted["engine-render"]]
    check(0 < sum(times) and max(times) < elapsed and not counted["engine-csd"], counted)


@test
def never_by_default():
    """without its name another device is counted; a user without rights is refused"""
    error = run("perfctr", "stat", "--", "true", status=(0, 1, 2, 3, 4)).stderr
    check("only counted by -d v3d" in error and "v3d/" not in error.replace("gpu_stats/v3d:", ""),
          error)
    os.chmod(v3d.NODE, 0o666)
    error = stat(*events(PRIMITIVES), "--", "true", uid=harness.NOBODY, status=(1, 3, 4)).stderr
    check("counting needs the right to see all programs' files" in error, error)
    os.chmod(v3d.NODE, 0o660)
    job = v3d.job("-n", "3", "-p", PRIMITIVES, *FRAME)
    check(v3d.counts_of(job) == {PRIMITIVES: 90}, job)


@only(GLOBAL)
def equals_truth():
    """counts of jobs are those of the model, over suspends and with a period"""
    names = (PRIMITIVES, QUADS, COMPUTE)
    script = f"v3d-job -n 5 -s 70 {' '.join(FRAME)}; sleep 0.3; v3d-job -n 10 -s 10 compute=20"
    for _ in range(2):
        real, seen = counts(names, "sh", "-c", script)
        check(real == seen and real[PRIMITIVES] == 150, f"{seen}, truth {real}")
    before = truth()
    stat("-I", "60", *events(*names), "-o", "/tmp/periodic", "--", "sh", "-c", script)
    with open("/tmp/periodic", encoding="utf-8") as f:
        rows = [line.split() for line in f if "v3d/PTB_primitives_binned" in line and "#" in line]
    check(sum(int(row[1].replace(",", "")) for row in rows) ==
          truth()[PRIMITIVES] - before[PRIMITIVES], rows)


@only(GLOBAL)
def thirty_events():
    """30 events at a time are exact, more are estimated"""
    with Device() as device:
        names = [device.counter(i)[0].replace("-", "_") for i in range(33)]
    names = [name for name in names if name != "cycle_count"]
    text = stat(*events(*names[:30]), "--", "v3d-job", *FRAME).stderr
    check("estimated" not in text, text)
    # nothing is estimated while the GPU sleeps: zero is exact
    script = f"for i in $(seq 20); do v3d-job {' '.join(FRAME)}; sleep 0.03; done"
    text = stat(*events(*names[:31]), "--", "sh", "-c", script).stderr
    check(len(re.findall(r"estimated: ran \d\d\.", text)) == 31, text)


@only(GLOBAL)
def hanging_program_is_freed():
    """a program with a monitor of its own hangs for less than a second, and perfctr says which"""
    begin = time.monotonic()
    done = stat(*events(PRIMITIVES), "--", "v3d-job", "-p", PRIMITIVES, *FRAME)
    took = time.monotonic() - begin
    check("1 of 1 jobs" in done.stdout, done.stdout + done.stderr)
    check("counting has ended, as v3d-job (" in done.stderr, done.stderr)
    print(f"# freed after {took:.2f} s")
    check(took < 1.5, f"{took} s")
    # also if another name of the node was opened
    os.symlink(v3d.NODE, "/tmp/node")
    done = run("perfctr", "stat", "-d", "/tmp/node", *events(PRIMITIVES), "--", "v3d-job", "-p",
               PRIMITIVES, *FRAME)
    check("counting has ended, as v3d-job (" in done.stderr, done.stderr)
    # and if it was the primary node, as a display server opens it
    done = stat(*events(PRIMITIVES), "--", "v3d-job", "-d", "/dev/dri/card0", "-p", PRIMITIVES,
                *FRAME)
    check("counting has ended, as v3d-job (" in done.stderr, done.stderr)


@only(GLOBAL)
def stopped():
    """who counts is stopped, or killed: a program with a monitor goes on within a second"""
    for number in signal.SIGSTOP, signal.SIGKILL:
        with subprocess.Popen(["perfctr", "stat", "-d", "v3d", *events(PRIMITIVES), "--", "sleep",
                               "5"], stderr=subprocess.DEVNULL) as first:
            time.sleep(0.7)
            first.send_signal(number)
            begin = time.monotonic()
            text = v3d.job("-p", PRIMITIVES, *FRAME)
            took = time.monotonic() - begin
            check("1 of 1 jobs" in text and took < 1.5, f"{number}: {took} s, {text}")
            print(f"# signal {number}: {took:.2f} s")
            first.kill()
    text = stat(*events(PRIMITIVES), "--", "v3d-job", *FRAME).stderr
    check(" 30  primitives" in text, text)


@only(GLOBAL)
def busy_program_is_none():
    """a program that burns time without jobs does not end the counting"""
    program = "import sys, time; sys.path.insert(0, sys.argv[1]); import v3d; " \
        "d = v3d.Device(); end = time.monotonic() + 2\nwhile time.monotonic() < end: pass"
    with subprocess.Popen([sys.executable, "-B", "-c", program,
                           os.path.dirname(os.path.realpath(__file__))]) as busy:
        done = stat(*events(PRIMITIVES), "--", "sleep", "2")
        busy.wait()
    check("has ended" not in done.stderr, done.stderr)


@only(GLOBAL)
def reset_and_theft():
    """a reset and a clear by others are marked, and counting goes on"""
    with subprocess.Popen(["perfctr", "stat", "-d", "v3d", "-I", "100", *events(PRIMITIVES), "-o",
                           "/tmp/marked", "--", "sleep", "4"]):
        time.sleep(0.5)
        v3d.job("hang")
        time.sleep(0.3)
        with Device() as thief:
            thief.clear_global(thief.create([v3d.CYCLES]))
        time.sleep(0.5)
        v3d.job(*FRAME)
    text = v3d.read("/tmp/marked")
    check("reset" in text and "error" in text, text)
    check(" 30  primitives" in text, text)


@only(GLOBAL)
def others_exclusive():
    """one program at a time: the second learns who has the node open"""
    with subprocess.Popen(["perfctr", "stat", "-d", "v3d", *events(PRIMITIVES), "--", "sleep",
                           "2"], stderr=subprocess.DEVNULL) as first:
        time.sleep(0.7)
        error = stat(*events(PRIMITIVES), "--", "true", status=(1, 3, 4)).stderr
        first.wait()
    check("one program at a time" in error and "perfctr (" in error, error)
    check(model("unpowered") == 0, "accesses without power")


if __name__ == "__main__":
    sys.exit(harness.main(v3d.MISSING))
