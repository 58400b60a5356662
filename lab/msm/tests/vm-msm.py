#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr counts an Adreno through the kernel's own code of msm's streams, in a kernel: what the
model was given to count, or what is lost and why. Prints TAP. Runs as root in the guest, under
lab/msm/start."""

import json
import os
import signal
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)) + "/../../../tools/tests")

import harness  # pylint: disable=wrong-import-position
from harness import check, run, test, wait_for, write  # pylint: disable=wrong-import-position

WORK = "/sys/kernel/debug/msm_model/work"
POWER = "/sys/bus/platform/devices/3d00000.gpu/power"
# group, countable and name
BUSY = ("CP", 2, "cp/BUSY_CYCLES")
SHADER = ("SP", 0, "sp/BUSY_CYCLES")
EVENTS = ("-e", f"{BUSY[2]},{SHADER[2]}")


def work(*lines):
    write(WORK, "".join(f"{line}\n" for line in lines))


def line(kind, count):
    return f"{kind[0]} {kind[1]} {count}"


def truth(kind):
    with open(WORK, encoding="ascii") as f:
        sums = {tuple(text.split()[:2]): int(text.split()[2]) for text in f}
    return sums.get((kind[0], str(kind[1])), 0)


def stat(*arguments, **options):
    return run("perfctr", "stat", "-d", "msm", *arguments, **options)


def values_of(text):
    """By event, of JSON of stat or report."""
    return {row["event"]: row["value"] for row in json.loads(text)["counters"]}


def counted(script):
    """What both events count while a script runs."""
    return values_of(stat("-j", "--keep-awake", *EVENTS, "--", "sh", "-c", script).stdout)


def is_suspended():
    with open(f"{POWER}/runtime_status", encoding="ascii") as f:
        return f.read().strip() == "suspended"


class Load:
    """Work of both kinds all the time, in parts of 7 and 11."""

    def __init__(self):
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.ends.is_set():
            work(*[line(BUSY, 7), line(SHADER, 11)] * 20)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *unused):
        self.ends.set()
        self.thread.join()


SCRIPT = f"for i in $(seq 50); do printf 'CP 2 1000\\nSP 0 30\\n' >{WORK}; done"


@test
def equals_truth():
    """counts are the work that was done while a program ran, at any period"""
    for options in ("stat", "-j"), ("record", "-p", "5ms", "-o", "/tmp/periods"):
        before = truth(BUSY), truth(SHADER)
        text = run("perfctr", options[0], "-d", "msm", "--keep-awake", *options[1:], *EVENTS, "--",
                   "sh", "-c", f"{SCRIPT}; sleep 0.1; {SCRIPT}").stdout
        if options[0] == "record":
            text = run("perfctr", "report", "-j", "/tmp/periods").stdout
        values = values_of(text)
        real = {BUSY[2]: truth(BUSY) - before[0], SHADER[2]: truth(SHADER) - before[1]}
        check(values == real and real[BUSY[2]] == 100000, f"{options}: {values}, truth {real}")
        check(not json.loads(text).get("lost_ns"), text)


@test
def many_samples():
    """1,000 samples a second beside work: each counts whole parts, none is lost or counted twice"""
    command = "perfctr", "record", "-d", "msm", "--keep-awake", "-p", "1ms", "-o", "/tmp/capture"
    with subprocess.Popen([*command, *EVENTS, "--", "sh", "-c", "sleep 0.2; cat"],
                          stdin=subprocess.PIPE) as record:
        time.sleep(0.5)
        before = truth(BUSY), truth(SHADER)
        with Load():
            time.sleep(1)
        real = {BUSY[2]: truth(BUSY) - before[0], SHADER[2]: truth(SHADER) - before[1]}
    check(record.returncode == 0, "record")
    values = values_of(run("perfctr", "report", "-j", "/tmp/capture").stdout)
    check(values == real and real[BUSY[2]] > 1000, f"{values}, truth {real}")


@test
def sleeping():
    """a GPU that may sleep: what was done between its waking and the first record of its counters
    is lost, and that is said; it sleeps again afterwards"""
    wait_for(is_suspended, "the GPU does not suspend")
    before = truth(BUSY)
    text = run("perfctr", "stat", "-j", "-d", "msm", *EVENTS, "--", "sh", "-c", SCRIPT).stdout
    values, real = values_of(text), truth(BUSY) - before
    check(values[BUSY[2]] <= real == 50000, f"{values}")
    check(json.loads(text)["lost_ns"] > 0, text)
    wait_for(is_suspended, "the GPU does not suspend")


@test
def reset():
    """a reset of the GPU while it has no work loses time, but no counts"""
    script = f"{SCRIPT}; sleep 0.2; echo reset >{WORK}; sleep 0.2; {SCRIPT}"
    text = run("perfctr", "stat", "-j", "-d", "msm", "--keep-awake", *EVENTS, "--", "sh", "-c",
               script).stdout
    check(values_of(text)[BUSY[2]] == 100000 and json.loads(text)["lost_ns"] > 0, text)


@test
def others():
    """a second program learns who counts; it can when that one has ended, killed or not"""
    for number in signal.SIGINT, signal.SIGKILL:
        with subprocess.Popen(["perfctr", "stat", "-d", "msm", *EVENTS, "--", "sleep", "60"],
                              stderr=subprocess.DEVNULL) as first:
            wait_for(lambda: "msm_perfcntrs" in " ".join(
                os.readlink(f"/proc/{first.pid}/fd/{fd}")
                for fd in os.listdir(f"/proc/{first.pid}/fd")), "no stream")
            error = stat(*EVENTS, "--", "true", status=(1, 3, 4)).stderr
            check(f"perfctr ({first.pid})" in error or str(first.pid) in error, error)
            check(run("rmmod", "msm", status=1).stderr, "the module was removed")
            first.send_signal(number)
            first.wait()
        values = counted(SCRIPT)
        check(values[BUSY[2]] == 50000, f"{values}")
        run("pkill", "-x", "sleep", status=(0, 1))


@test
def without_rights():
    """a user without CAP_PERFMON is refused with the reason"""
    os.chmod("/dev/dri/renderD128", 0o666)
    error = stat(*EVENTS, "--", "true", uid=harness.NOBODY, status=(1, 3, 4)).stderr
    os.chmod("/dev/dri/renderD128", 0o660)
    check("CAP_PERFMON" in error, error)


@test
def taken_away():
    """the driver goes when nobody counts, and comes again for other generations"""
    for generation, busy in (6, 2), (8, 3):
        run("rmmod", "msm")
        error = stat("--", "true", status=(1, 2, 3, 4)).stderr
        check("msm" in error, error)
        run("insmod", os.environ["PERFCTR_KMOD"] + "/msm.ko", f"generation={generation}")
        values = counted(SCRIPT.replace("CP 2", f"CP {busy}"))
        check(values[BUSY[2]] == 50000, f"{values}")


if __name__ == "__main__":
    sys.exit(harness.main())
