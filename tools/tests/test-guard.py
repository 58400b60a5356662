#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: test-guard.py PERFCTR: mistakes in budgets of perfctr guard. Prints TAP; no device."""

import ctypes
import json
import os
import random
import subprocess
import sys
import tempfile
import time

import harness
from harness import check, test

PERFCTR = sys.argv[1]
GOOD = "event=software/page-faults/ limit=5M window=10ms device=local"


def guard(*words, status=2):
    done = harness.run(PERFCTR, "guard", *words, status=status, text=False)
    return done.stderr.decode(errors="replace")


@test
def mistakes_have_advice():
    """each mistake in a budget is refused with its name and what to write"""
    for text, wanted in (
            ("", "no event"), ("event=a", "no limit"), ("nonsense", "is no KEY=VALUE"),
            (GOOD, "no target"), ("event=a limit=x", "its limit is no integer"),
            ("window=0", "a time such as 10ms"), (GOOD + " period=11ms", "longer than"),
            (GOOD + " limit=1", "this key twice"),
            (GOOD + " colour=red", "no such key"), (GOOD + " pid=0", "number of a process"),
            (GOOD + " context=-1", "number of a context"), (GOOD + " action=x", "report, freeze"),
            (GOOD + " action=cpu.max:0%", "report, freeze"), (GOOD + " on_loss=pray", "freeze or"),
            (GOOD + " allow_untrusted=maybe", "yes or no"),
            (GOOD + " allow_explained=maybe", "yes or no"), (GOOD + " cgroup=../x", "a path below"),
            (GOOD + " cgroup=a pid=1", "another target"), (GOOD + " pid=1 action=freeze", "cgroup"),
            (GOOD + " pid=1", "its cgroup (freeze) or its context (hold)"),
            (GOOD + " cgroup=/tmp/x", "a path below"), (GOOD + " cgroup=" + "x" * 4001, "a path"),
            (GOOD + " pid=1 action=stop", "report, freeze, cpu.max:PERCENT% or hold"),
            (GOOD + " action=cpu.max:100000%", "below 100 for each CPU"),
            ("event=metric:x limit=1", "a metric is no count")):
        error = guard("-b", text)
        check(wanted in error, f"{text!r}: {error}")
    check("no budget" in guard(), "without a budget")
    check("-g needs a command" in guard("-b", GOOD, "-g", "x"), "-g")
    check("cgroup.freeze: " in guard("-b", GOOD + " cgroup=none-such", status=1), "no cgroup")
    many = ["-b", GOOD] * 17
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("[budget 2]\nevent = a\n")
        file.flush()
        check("give -b first" in guard("-c", file.name, "-b", GOOD), "merged")
    check("one budget" in guard("--in-stream", *many[:4], "--", "true"), "--in-stream")
    good = ["-b", GOOD + " pid=1 action=report"] * 40
    check("budget 41: it has no event" in guard(*good, "-b", "limit=1"), "no room for 41 budgets")
    check("--stay needs a command" in guard("-b", GOOD, "--stay"), "--stay")


@test
def configuration_is_robust():
    """a configuration file: each mistake has its line; random bytes and cuts do no harm"""
    lines = ["; a comment", "[budget hog]", "device = local", "event = software/page-faults/",
             "limit = 2G/s", "window = 10ms", "pid = 1", "action = hold", "on_loss = release"]
    with tempfile.NamedTemporaryFile() as file:
        def config(data, status=2):
            file.seek(0)
            file.truncate()
            file.write(data)
            file.flush()
            return guard("-c", file.name, status=status)

        for at in range(1, len(lines)):
            wrong = lines[:at] + ["wrong line"] + lines[at:]
            check(f"{file.name}:{at + 1}: " in config("\n".join(wrong).encode()), f"line {at}")
        check("in no section [budget NAME]" in config(b"limit = 1\n"), "no section")
        # what would be cut, joined or dropped without a word
        whole = "\n".join(lines)
        long_ = "cgroup = " + "x/" * 100
        for wrong, line, words in (
                (whole.replace("pid = 1", long_), 7, "longer than"),
                (whole.replace("pid = 1", "event" + " " * 200 + "= a"), 7, "longer than"),
                (whole.replace("hog", "h" * 43), 2, "at most 49 bytes"),
                (whole.replace("hog]", "hog] limit = 1"), 2, "in one line"),
                (whole.replace("[budget", "[bugdet"), 2, "is no section: write [budget NAME]"),
                (whole.replace("hog]", "hog"), 2, "a section is [NAME]"),
                (whole + "\n[limits]\n", 10, "is no section"),
                (whole.replace("pid = 1", "pid = 1\0 2"), 7, "a byte in it is 0"),
                # of two mistakes the first one
                (whole.replace("window = 10ms", "wrong line\nwindow = x"), 6, "neither")):
            error = config(wrong.encode())
            check(f"{file.name}:{line}: " in error and words in error, f"{words}: {error}")
        check("budget empty: it has no event" in config(("[budget empty]\n" + whole).encode()),
              "an empty section")
        rng = random.Random(25)
        for _ in range(60):
            data = bytearray("\n".join(lines).encode())
            for _ in range(rng.randint(1, 8)):
                data[rng.randrange(len(data))] = rng.randrange(256)
            # without a target that exists, nothing begins
            data = bytes(data[:rng.randrange(len(data))]).replace(b"pid", b"xid")
            config(data)
    check("No such file" in guard("-c", "/none/such"), "no file")
    check("Is a directory" in guard("-c", "/"), "a folder")


SEIZE, INTERRUPT, DETACH = 0x4206, 0x4207, 17


def ptrace(request, thread):
    libc = ctypes.CDLL(None, use_errno=True)
    check(not libc.ptrace(ctypes.c_long(request), ctypes.c_long(thread), None, None),
          f"ptrace {request}: {os.strerror(ctypes.get_errno())}")


def threads(pid):
    return [int(t) for t in os.listdir(f"/proc/{pid}/task")]


def sampler_of(guard_pid):
    """the thread of the watching process that takes the samples, once it is there"""
    found = []

    def there():
        for child in open(f"/proc/{guard_pid}/task/{guard_pid}/children").read().split():
            with open(f"/proc/{child}/cmdline") as f:
                if "guard" in f.read():
                    found[:] = [t for t in threads(child) if t != int(child)]
        return found

    harness.wait_for(there, "no thread that samples")
    return found[0]


def delayed(budget, is_over):
    """A guard whose sampler stands still until is_over(log): its records, its end, the seconds."""
    with tempfile.NamedTemporaryFile("r") as log, subprocess.Popen(
            [PERFCTR, "guard", "-o", log.name, "-b", "event=software/page-faults/ limit=5M "
             f"device=local action=report allow_untrusted=yes {budget}", "--", "sleep", "3"],
            stderr=subprocess.PIPE, text=True) as process:
        harness.wait_for(lambda: "begin" in open(log.name, encoding="ascii").read(), "no begin")
        sampler = sampler_of(process.pid)
        ptrace(SEIZE, sampler)
        begin = time.monotonic()
        ptrace(INTERRUPT, sampler)
        while not is_over(open(log.name, encoding="ascii").read(), time.monotonic() - begin):
            time.sleep(0.005)
        ptrace(DETACH, sampler)
        seconds = time.monotonic() - begin
        process.error = process.communicate(timeout=30)[1]
        return [json.loads(line) for line in log], process, seconds


def no_events():
    """Why nothing can be guarded here; None: it can, or fails for another reason."""
    reason = "this kernel has no perf events"
    done = subprocess.run((PERFCTR, "stat", "-d", "local", "-e", "page-faults", "--", "true"),
                          capture_output=True, text=True, check=False)
    return reason if reason in done.stderr else None


def losses_in(records):
    return [r for r in records if r["record"] == "loss"]


@test
def a_sampler_that_stands_still():
    """a sampler that stands still for longer than the window is a loss: the target is held, or let
    go, as on_loss says, and the guard ends with status 1"""
    reason = no_events()
    if reason:
        return reason
    for policy in "freeze", "release":
        records, process, _ = delayed(f"window=200ms on_loss={policy}", lambda log, seconds:
                                      '"loss"' in log or seconds > 1.5)
        losses = losses_in(records)
        check(len(losses) == 1 and "no sample for" in losses[0]["reason"] and
              losses[0]["on_loss"] == policy, f"{losses}: {records[-3:]}")
        check(process.returncode == 1 and "counts are lost: no sample for" in process.error,
              f"{process.returncode}: {process.error}")
        kinds = [r["record"] for r in records]
        check(records[-1]["silences"] == 1 and "recovered" in kinds, f"{kinds}")
    return None


@test
def the_default_window():
    """a budget without a window has one of a hundred periods; a sampler that a busy host delays by
    40 ms is no loss of it, but one of a window of 10 ms"""
    reason = no_events()
    if reason:
        return reason
    tries = []
    for _ in range(5):
        records, process, seconds = delayed("", lambda log, seconds: seconds > 0.04)
        check((records[0]["window_ns"], records[0]["period_ns"]) == (100_000_000, 1_000_000),
              f"{records[0]}")
        tries.append((seconds, losses_in(records), process.returncode))
        # this host may be so busy that more than that is lost
        if not tries[-1][1]:
            break
    check(tries[-1][1:] == ([], 0), f"{tries}")
    records, process, _ = delayed("window=10ms", lambda log, seconds: seconds > 0.04)
    check(losses_in(records) and records[-1]["silences"] and process.returncode == 1, f"{records}")
    return None


if __name__ == "__main__":
    sys.exit(harness.main())
