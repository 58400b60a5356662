#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr guard: budgets hold, in stepped virtual time and on cgroups. Prints TAP. Runs as root in
the guest.

"vm-guard.py hogs LOG RESULT" is the command that a guard runs: two contexts of the file that it
shares.
"""

import ctypes
import fcntl
import json
import os
import random
import re
import signal
import struct
import subprocess
import sys
import tempfile
import time

import harness
import vsoc_truth
from harness import check, run, test, wait_for, write

WORK = tempfile.mkdtemp()
DEBUG = vsoc_truth.FOLDER
CGROUPS = "/sys/fs/cgroup"
BEAT = 16
STEP_NS = 100_000
WINDOW_STEPS = 40
STEPS = 12
SEEDS = 20
MAX_COPY = 128 << 10


def path(name):
    return os.path.join(WORK, name)


def records(name, kind=None):
    """The whole lines of a log."""
    return [r for r in harness.whole_lines(path(name)) if kind in (None, r["record"])]


# --- the virtual SoC -----------------------------------------------------------------------

SAMPLE, COPY, READ, CONCURRENT = 6, 3, 1, 1
# DRM_PERFCTR_IOCTL_STATUS
STATUS, STATUS_BYTES = 0x807064e3, 0x70
IOCTLS = {"submit": (0x41, 40), "wait": (0x42, 32), "create": (0x43, 8)}


def vsoc(fd, name, layout, *values):
    """An ioctl of vsoc_drm.h. Return: the fields after it."""
    number, size = IOCTLS[name]
    data = bytearray(struct.pack(layout, *values).ljust(size, b"\0"))
    fcntl.ioctl(fd, 0xc0006400 | number | size << 16, data)
    return struct.unpack_from(layout, data)


def submit(fd, ctx, commands):
    text = b"".join(c.ljust(96, b"\0") for c in commands)
    buffer = ctypes.create_string_buffer(text, len(text))
    return vsoc(fd, "submit", "=IIQIIQiI", 0, ctx, ctypes.addressof(buffer), len(commands), 96, 0,
                0, 0)[5]


def done(fd, job):
    try:
        vsoc(fd, "wait", "=Qq", job, 0)
    except OSError:
        return False
    return True


def copy(size, initiator=0):
    return struct.pack("=IIQQQII", COPY, 0, size, 0x80000000, 0, READ, initiator)


def sample(session, ctx):
    """The counts since the last sample belong to @ctx; None: to nobody."""
    return struct.pack("=IIQI", SAMPLE, 0, 0 if ctx is None else 1 + ctx, session)


def beats_of(ctx):
    """EXT_READ_BEATS of a context of the guard's file: the truth."""
    with open(f"{DEBUG}/truth_contexts", encoding="ascii") as f:
        lines = [line.split() for line in f if " EXT_READ_BEATS " in line]
    return sum(int(line[-1]) for line in lines
               if line[0].startswith(f"{os.getppid()}/") and line[0].endswith(f"/{ctx}"))


class Guard:
    """The guard that runs this process, seen by its log."""

    def __init__(self, log):
        self.log = open(path(log), encoding="ascii")
        self.read, self.part = 0, ""

    def step(self, ns=STEP_NS):
        """Let virtual time pass, then wait until the guard has dealt with all samples."""
        write(f"{DEBUG}/step_ns", str(ns))
        status = bytearray(STATUS_BYTES)
        fcntl.ioctl(SESSION, STATUS, status)
        published = struct.unpack_from("=Q", status, 8)[0]
        end = time.monotonic() + 20
        while self.read < published:
            *lines, self.part = (self.part + self.log.read()).split("\n")
            self.read += sum('"record":"sample"' in line for line in lines)
            check(time.monotonic() < end, "the guard does not read")
            time.sleep(0.001)


def latency_of_cpu():
    """(sum in ps, number) of the CPU's reads: the truth"""
    with open(f"{DEBUG}/memory", encoding="ascii") as f:
        line = [line for line in f if line.startswith("flow MEM CPU read")][0]
    return [int(re.search(key + r"=(\d+)", line)[1]) for key in ("latency_ps", "completed")]


def hogs(log, result, alone):
    """A victim, a CPU that reads, and a hog with a workload for each seed, whose context has a
    budget."""
    guard = Guard(log)
    hog, victim = (vsoc(FD, "create", "=II", flags, 0)[1] for flags in (0, CONCURRENT))
    check((hog, victim) == (1, 2), "contexts")
    queue, beats = [], [0]
    write(f"{DEBUG}/stepped", "1")
    before = latency_of_cpu()
    submit(FD, victim, [copy(4 << 30, 1)])
    for seed in range(SEEDS):
        rng = random.Random(seed)
        least, most = rng.randint(1, 1000), rng.randint(1000, MAX_COPY // 64)
        count = rng.randint(1, 9)
        for _ in range(STEPS):
            queue = [j for j in queue if not done(FD, j)]
            while alone == "no" and len(queue) < 2 + rng.randint(1, 4):
                commands = [sample(SESSION, None)]
                for _ in range(rng.randint(1, count)):
                    commands += [copy(64 * rng.randint(least, most)), sample(SESSION, hog)]
                queue.append(submit(FD, hog, commands))
            guard.step()
            beats.append(beats_of(hog))
    latency = [b - a for a, b in zip(before, latency_of_cpu())]
    write(f"{DEBUG}/stepped", "0")
    wait_for(lambda: all(done(FD, j) for j in queue), "jobs do not end")
    beats.append(beats_of(hog))
    with open(result, "w", encoding="ascii") as f:
        json.dump({"beats": beats, "latency": latency}, f)


def guarded(action, limit, alone="no"):
    """Run hogs() with a budget. Return: its result, the guard's log."""
    for name in "log", "result":
        if os.path.exists(path(name)):
            os.unlink(path(name))
    budget = (f"device=vsoc event=EXT_READ_BEATS limit={limit} context=1 action={action} "
              f"window={WINDOW_STEPS * STEP_NS}ns")
    run("perfctr", "guard", "--in-stream", "--allow-untrusted", "-q", "-v", "-o", path("log"), "-b",
        budget, "--", os.path.realpath(__file__), "hogs", "log", path("result"), alone,
        env={**os.environ, "GUARD_WORK": WORK}, timeout=400)
    with open(path("result"), encoding="ascii") as f:
        return json.load(f), records("log")


@test
def hog_is_held_to_its_quota():
    """20 seeded workloads in stepped time: no window exceeds the limit by more than what a step and
    a command count, though they would; the guard counts exactly the truth; the latency of a
    victim's reads is within 5 % of that alone, though it would not be"""
    limit = 4_000
    free, log = guarded("report", limit)
    most = max(b - a for a, b in zip(free["beats"][:-1], free["beats"][1:-1]))
    check(log[-1]["counted"] == free["beats"][-1], f"{log[-1]}, truth {free['beats'][-1]}")
    check(log[-1]["max_overshoot"] > most, f"no hog: {log[-1]}")
    held, log = guarded("hold", limit)
    beats, end = held["beats"], log[-1]
    for at in range(WINDOW_STEPS, len(beats) - 1):
        count = beats[at] - beats[at - WINDOW_STEPS]
        check(count <= limit + most + MAX_COPY // BEAT,
              f"step {at}: {count} in a window, limit {limit}, {most} in a step")
    check(beats[-1] > limit * (len(beats) // WINDOW_STEPS) // 2, "starved")
    check(end["counted"] == beats[-1], f"{end}, truth {beats[-1]}")
    check(end["losses"] == end["failures"] == 0 < end["violations"], f"{end}")
    for r in log:
        if r["record"] == "violation":
            check(r["counted"] - r["limit"] == r["overshoot"] > 0, f"{r}")
    alone = guarded("report", limit, "yes")[0]["latency"]
    print(f"# ps, reads: alone {alone}, held {held['latency']}, free {free['latency']}")
    for latency, within in (held["latency"], True), (free["latency"], False):
        check((100 * latency[0] * alone[1] <= 105 * alone[0] * latency[1]) == within,
              f"ps, reads: alone {alone}, {'held' if within else 'free'} {latency}")


# --- cgroups and processes -----------------------------------------------------------------

FAULTS = """
import mmap, resource, sys
count = int(sys.argv[1])
while count:
    with mmap.mmap(-1, 4096 * 50) as m:
        for page in range(50):
            m[4096 * page] = 1
    count -= 50
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt)
"""
# a file: commands that are stopped would keep a pipe open
ERRORS = open(path("errors"), "w", encoding="utf-8")
# -50: never equal to zero
ENDLESS = (sys.executable, "-c", FAULTS, "-50")


class Running:
    """A guard in the background, with one budget."""

    def __init__(self, budget, *command, options=()):
        if os.path.exists(path("log")):
            os.unlink(path("log"))
        self.process = subprocess.Popen(
            ["perfctr", "guard", "-q", "-v", "--allow-untrusted", "-o", path("log"), *options, "-b",
             budget, *(("--", *command) if command else ())], stderr=ERRORS)
        self.wait_for("begin")
        pid = self.process.pid
        children = contents(f"/proc/{pid}/task/{pid}/children").split()
        self.watcher = int(next(c for c in children if contents(f"/proc/{c}/comm") == "perfctr"))

    def wait_for(self, kind, count=1):
        def seen():
            if self.process.poll() is not None:
                raise AssertionError(contents(ERRORS.name))
            return len(records("log", kind)) >= count
        wait_for(seen, lambda: f"no record {kind}: {records('log')[-3:]} {contents(ERRORS.name)}")

    def kill_watcher(self, number=signal.SIGKILL):
        os.kill(self.watcher, number)

    def end(self, status=0):
        if not status:
            self.process.terminate()
        check(self.process.wait(timeout=30) == status,
              f"status {self.process.returncode}: {contents(ERRORS.name)}")
        return records("log")


def cgroup(name):
    # a system without a service manager has no controllers, not even perf's
    write(f"{CGROUPS}/cgroup.subtree_control", "+cpu")
    os.makedirs(f"{CGROUPS}/{name}", exist_ok=True)
    return f"{CGROUPS}/{name}"


def contents(*names):
    with open(os.path.join(*names), encoding="ascii") as f:
        return f.read().strip()


def is_frozen(folder):
    return "frozen 1" in contents(folder, "cgroup.events")


def spawn(folder, *command):
    """A process in a cgroup."""
    return subprocess.Popen(
        command, stdout=subprocess.DEVNULL,
        preexec_fn=lambda: write(f"{folder}/cgroup.procs", str(os.getpid())))


def finish(process, folder):
    write(f"{folder}/cgroup.freeze", "0")
    process.kill()
    process.wait()
    os.rmdir(folder)


def held_counts_nothing(log):
    """From the moment that a target is frozen until its release no sample has counts."""
    checked, since = 0, None
    for r in log:
        if r["record"] in ("violation", "release"):
            since = r["raw_ns"] if r["record"] == "violation" else None
        elif r["record"] == "sample" and since and r["held"] and r["start_ns"] >= since:
            check(r["counts"] == 0, f"counted while it was held: {r}")
            checked += 1
    return checked


@test
def cgroup_is_frozen():
    """-g: page faults of a cgroup are counted and held to their budget; frozen, it counts nothing;
    the count is that of the process"""
    log = path("log")
    if os.path.exists(log):
        os.unlink(log)
    os.rmdir(cgroup("hog"))
    done_ = run("perfctr", "guard", "-q", "-v", "--allow-untrusted", "-g", "hog", "-o", log, "-b",
                "device=local event=software/page-faults/ limit=4000 window=1s", "--",
                sys.executable, "-c", FAULTS, "20000")
    end = records("log")[-1]
    faults = int(done_.stdout)
    check(faults - 2000 <= end["counted"] <= faults + 4000, f"{faults} faults: {end}")
    check(end["violations"] > 0 == end["losses"] and not end["failures"], f"{end}")
    check(held_counts_nothing(records("log")) > 0, "never held")
    check(not os.path.exists(f"{CGROUPS}/hog"), "the cgroup is left")


@test
def cpu_is_limited():
    """cpu.max: set while the budget is exceeded, as before at the end, also after a crash"""
    folder = cgroup("limited")
    write(f"{folder}/cpu.max", "50000 60000")
    hog = spawn(folder, *ENDLESS)
    for crash in True, False:
        guard = Running("device=local event=software/task-clock/ limit=1% window=100ms "
                        "cgroup=limited action=cpu.max:5%")
        guard.wait_for("violation")
        check(contents(folder, "cpu.max") == "5000 100000", contents(folder, "cpu.max"))
        check(not records("log", "failure"), "failures")
        if crash:
            guard.process.send_signal(signal.SIGSTOP)
            guard.kill_watcher()
            guard.process.kill()
        guard.end(-signal.SIGKILL if crash else 0)
        check(contents(folder, "cpu.max") == ("5000 100000" if crash else "50000 60000"),
              f"{crash}: {contents(folder, 'cpu.max')}")
    finish(hog, folder)


@test
def budgets_share_a_cgroup():
    """what one budget holds, another does not release; a cgroup made again is held too"""
    folder = cgroup("two")
    budget = "device=local event=software/page-faults/ cgroup=two on_loss=release " \
             "period=50ms limit="
    # the short one is exceeded first, and ends first
    guard = Running(budget + "1 window=1s", options=("-b", budget + "20 window=100s"))
    guard.wait_for("begin", 2)
    os.rmdir(folder)
    cgroup("two")

    def both_count():
        last = {r["budget"]: r["record"] for r in records("log")}
        return len(records("log", "loss")) == 2 and set(last.values()) == {"sample"}

    # otherwise one may hold the task before the other one counts
    wait_for(both_count, "not both have samples of the new cgroup")
    hog = spawn(folder, *ENDLESS)
    last = {1: "release", 20: "violation"}

    def released():
        limits = [r["limit"] for r in records("log") if r["record"] == last.get(r.get("limit"))]
        return 20 in limits and 1 in limits[limits.index(20):]

    wait_for(released, "no release after the other's violation")
    check(any("made again" in r["reason"] for r in records("log", "loss")),
          f"{records('log', 'loss')}")
    write(f"{folder}/cgroup.freeze", "0")
    wait_for(lambda: is_frozen(folder), "thawed by somebody else")
    time.sleep(0.5)
    check(is_frozen(folder), "released by the other budget")
    guard.end()
    wait_for(lambda: not is_frozen(folder), "not released")
    finish(hog, folder)


@test
def cgroup_below_a_frozen_one():
    """a release does not wait for it; other budgets react meanwhile; a new guard thaws it, whatever
    its action"""
    above = cgroup("upper")
    write(f"{above}/cgroup.subtree_control", "+cpu")
    below = cgroup("upper/lower")
    hog = spawn(below, *ENDLESS)
    write(f"{above}/cgroup.freeze", "1")
    begin = time.monotonic()
    guard = Running("device=local event=software/page-faults/ limit=1 window=1s cgroup=upper/lower")
    for _ in range(2):
        guard.wait_for("sample", 20)
    check(time.monotonic() - begin < 20 and not records("log", "failure"), f"{records('log')[-1]}")
    guard.end()
    write(f"{below}/cgroup.freeze", "1")
    write(f"{above}/cgroup.freeze", "0")
    Running("device=local event=software/page-faults/ limit=1T window=1s cgroup=upper/lower "
            "action=cpu.max:10%").end()
    wait_for(lambda: not is_frozen(below), "not thawed")
    finish(hog, below)
    os.rmdir(above)


@test
def a_hold_that_is_tried_again():
    """a hold that fails for a second is in the worst reaction with that second"""
    folder = cgroup("retried")
    # what the guard opens by its path cannot be written
    hog = spawn(folder, "sh", "-c", f"while [ ! -e {path('go')} ]; do sleep 0.1; done; "
                f"exec {sys.executable} -c '{FAULTS}' -50")
    guard = Running("device=local event=software/page-faults/ limit=500 window=1s period=10ms "
                    "cgroup=retried")
    run("mount", "--bind", folder, folder)
    run("mount", "-o", "remount,bind,ro", folder)
    try:
        write(path("go"), "")
        guard.wait_for("failure")
        time.sleep(1)
    finally:
        # lazy: the guard may be writing to it in this moment
        run("umount", "-l", folder)
    guard.wait_for("held")
    guard.process.terminate()
    end = guard.end(1)[-1]
    check(end["failures"] == 1 and end["worst_reaction_ns"] > 1e9, f"{end}")
    finish(hog, folder)


@test
def killed_guard_leaves_what_is_configured():
    """kill -9 of either process: the cgroup is frozen or released, as on_loss says; a new guard
    begins with a release"""
    folder = cgroup("left")
    hog = spawn(folder, *ENDLESS)
    for policy in "freeze", "release":
        budget = (f"device=local event=software/page-faults/ limit=1 window=1s cgroup=left "
                  f"on_loss={policy}")
        for whole in False, True:
            guard = Running(budget)
            guard.wait_for("violation")
            wait_for(lambda: is_frozen(folder), "not frozen")
            if whole:
                guard.process.kill()
            else:
                guard.kill_watcher()
            wait_for(lambda: records("log", "loss"), "no record")
            loss = records("log", "loss")[0]
            check("died" in loss["reason"] or "signal 9" in loss["reason"], f"{loss}")
            check(loss["on_loss"] == policy and not loss["error"], f"{loss}")
            guard.end(-signal.SIGKILL if whole else 1)
            wait_for(lambda: is_frozen(folder) == (policy == "freeze"), f"{policy}: {loss}")
    finish(hog, folder)


@test
def lost_counts_follow_the_policy():
    """full ring, reset, unplug: the target is frozen or released until a window is complete"""
    folder = cgroup("lost")
    idle = spawn(folder, "sleep", "1000")
    bus = "/sys/bus/platform/drivers/vsoc"

    def full_ring(guard):
        guard.kill_watcher(signal.SIGSTOP)
        time.sleep(1)
        guard.kill_watcher(signal.SIGCONT)

    def reset(guard):
        write(f"{DEBUG}/reset", "1")

    def unplug(guard):
        write(f"{bus}/del_device", "9")

        def has_number():
            """The new one has another number until the kernel has freed the old one."""
            write(f"{bus}/new_device", "9")
            if os.path.exists(f"/sys/bus/platform/devices/vsoc.9/drm/{device}"):
                return True
            write(f"{bus}/del_device", "9")
            return False

        wait_for(has_number, "the old device stays")

    for event, reason in ((full_ring, "longer than"), (reset, "RESET"), (unplug, "unplugged")):
        for policy in "freeze", "release":
            device = os.path.basename(vsoc_truth.NODE)
            if event is unplug:
                write(f"{bus}/new_device", "9")
                device = os.listdir("/sys/bus/platform/devices/vsoc.9/drm")
                device = [name for name in device if name.startswith("renderD")][0]
            guard = Running(f"device={device} event=FRAGMENTS limit=1T window=100ms period=10ms "
                            f"cgroup=lost on_loss={policy}")
            event(guard)
            guard.wait_for("recovered")
            wait_for(lambda: not is_frozen(folder), "not released")
            log = guard.end()
            losses = [r for r in log if r["record"] == "loss"]
            check(reason.lower() in losses[0]["reason"].lower(), f"{losses}")
            begin = [r for r in log if r["record"] == "begin"][-1]
            recovered = [r for r in log if r["record"] == "recovered"][-1]
            check(recovered["raw_ns"] - begin["raw_ns"] >= 100e6, f"{begin} {recovered}")
            held = any(r["record"] == "release" for r in log)
            check(held == (policy == "freeze"), f"{event.__name__}, {policy}: {losses}")
            if event is unplug:
                write(f"{bus}/del_device", "9")
    finish(idle, folder)


@test
def contexts_are_held():
    """hold: contexts of a process stand still, those of others run; also after kill -9"""
    def fragments():
        return sum(v for (_, _, name), v in vsoc_truth.truth().items() if name == "FRAGMENTS")

    hog = subprocess.Popen(["vsoc-job", "-q", "-D", "1000", "x9", "draw", "fragments=20000"])
    guard = Running(f"device=vsoc event=FRAGMENTS limit=1 window=100s period=50ms pid={hog.pid} "
                    "context=all")
    guard.wait_for("violation")
    wait_for(lambda: len({fragments() for _ in range(3)}) == 1, "not held")
    before = fragments()
    run("vsoc-job", "-q", "draw", "fragments=1234")
    check(fragments() == before + 1234, "the other process")
    guard.kill_watcher()
    guard.process.wait()
    check(fragments() == before + 1234, "not held after kill -9")
    run("perfctr", "guard", "-q", "--allow-untrusted", "-b",
        f"device=vsoc event=FRAGMENTS limit=1T window=10s context=all pid={hog.pid}", "--",
        "true")
    wait_for(lambda: fragments() > before + 1234, "not released by the next guard")
    hog.kill()
    hog.wait()
    guard.end(1)


# a file whose opener ends, and jobs of a child that loses its parents
ORPHAN = ("(exec 3<>/dev/dri/{}; sh -c 'vsoc-job --fd 3 -q -D 1000 x9 draw fragments=20000 & "
          "echo $! >{}' & wait); exec sleep 1000")
# each file is closed if its job waits
REOPEN = "while :; do timeout 0.3 vsoc-job -q -r 20 draw fragments=2000; done"


@test
def command_cannot_escape():
    """children and orphans of the command are held; the log says what was held, by whom; nothing is
    said to be held that is not, and a hold that fails is an error"""
    def fragments():
        return sum(v for (_, _, name), v in vsoc_truth.truth().items() if name == "FRAGMENTS")

    guard = Running("device=vsoc event=FRAGMENTS limit=20000 window=50s period=50ms context=all",
                    "sh", "-c", ORPHAN.format(os.path.basename(vsoc_truth.NODE), path("pid")))
    guard.wait_for("violation")
    wait_for(lambda: len({fragments() for _ in range(3)}) == 1, "not held")
    violation, begin = records("log", "violation")[0], records("log", "begin")[0]
    check(violation["held"] and violation["reaction_ns"] and not violation["error"], f"{violation}")
    check(begin["command"] == "sh" and begin["node"] and begin["counters"][0]["trust"], f"{begin}")
    numbers = [r["sequence"] for r in records("log")]
    check(numbers == list(range(1, 1 + len(numbers))), f"{numbers}")
    guard.kill_watcher(signal.SIGSTOP)
    guard.process.kill()
    time.sleep(0.3)
    guard.kill_watcher(signal.SIGCONT)
    wait_for(lambda: records("log", "loss"), "no loss")
    guard.process.wait()
    check(not records("log", "loss")[0]["error"] and records("log", "loss")[0]["held"], "not held")
    before = fragments()
    again = run("perfctr", "guard", "-b", "device=vsoc event=FRAGMENTS limit=1T window=10s "
                f"context=all pid={guard.process.pid}", status=1).stderr
    check("left held is released" in again, again)
    wait_for(lambda: fragments() > before, "not released by a guard of the guard")
    os.kill(int(contents(path("pid"))), signal.SIGKILL)
    guard = Running("device=vsoc event=FRAGMENTS limit=20000 window=50s period=50ms context=all",
                    "sh", "-c", REOPEN)
    guard.wait_for("violation")
    wait_for(lambda: len({fragments() for _ in range(3)}) == 1, "not held")
    before = fragments()
    time.sleep(1)
    check(fragments() == before, f"{fragments() - before} with new files")
    guard.process.terminate()
    guard.end(128 + signal.SIGTERM)
    for target, status in (("context=all", 0), ("context=77", 1)):
        run("perfctr", "guard", "-q", "--allow-untrusted", "-o", path("log"), "-b",
            f"device=vsoc event=FRAGMENTS limit=1 window=1s {target}", "--", "sh", "-c",
            "vsoc-job -q -D 1 draw fragments=20000" if status else "sleep 1", status=status)
    end = records("log")[-1]
    check(end["violations"] and end["failures"] and not end["held_ns"], f"{end}")


@test
def broken_log_is_an_error():
    """a full disk, a reader that ends: said once, and status 1; a stopped watcher ends too"""
    budget = "device=vsoc event=FRAGMENTS limit=1 window=9s period=10ms action=report"
    for log in "-o /dev/full -- true", "-j -- sleep 1 | true":
        error = run("bash", "-c", "set -o pipefail; perfctr guard --allow-untrusted -v "
                    f"-b '{budget}' {log}", status=1).stderr
        check(error.count("the log is incomplete") == 1 and "are lost" not in error, error)
    guard = Running(budget)
    guard.kill_watcher(signal.SIGSTOP)
    guard.process.terminate()
    check("not answer" in guard.end(1)[-1]["reason"], "no loss")
    # a reader that stops: the pipe is full, and the guard goes on
    reader, writer = os.pipe()
    fcntl.fcntl(writer, 1031, 4096)
    with subprocess.Popen(["perfctr", "guard", "--allow-untrusted", "-q", "-j", "-v", "-b", budget,
                           "--", "sleep", "2"], stdout=writer, stderr=subprocess.PIPE) as guard_:
        error = guard_.communicate(timeout=60)[1].decode()
    check(guard_.returncode == 1 and "is incomplete" in error and "answer" not in error, error)
    os.close(reader)
    os.close(writer)


@test
def guard_never_holds_itself():
    """a cgroup in which the guard is, and one above it, are refused"""
    os.makedirs(f"{CGROUPS}/above/below", exist_ok=True)
    for name in "above", "above/below":
        guard = subprocess.run(
            ["perfctr", "guard", "-b", f"device=vsoc event=FRAGMENTS limit=1 cgroup={name}"],
            stderr=subprocess.PIPE, timeout=60, check=False,
            preexec_fn=lambda: write(f"{CGROUPS}/above/below/cgroup.procs", str(os.getpid())))
        check(guard.returncode == 1 and b"would hold itself" in guard.stderr, f"{guard.stderr}")


@test
def limits_become_counts():
    """percent of an event's clock and rates per second become counts in the window, once"""
    for budget, text in (("limit=1 limit=2", "twice"), ("limit=101%", "above 100 %"),
                         ("limit=1/s window=10ms", "below 1 in a window"),
                         ("limit=0", "below 1"), ("limit=1 window=100s period=10ms", "4095")):
        done = run("perfctr", "guard", "-b", f"device=vsoc event=FRAGMENTS {budget}", status=2)
        check(text in done.stderr, done.stderr)
    # a busy host can keep the sampler from a window of 10 ms, which is a loss, and status 1
    for event, limit, counts in (("GPU_ACTIVE", "30%", 300_000_000),
                                 ("L2_ACTIVE", "1%", 2 * 8_000_000),
                                 ("ucf0/mem_bytes_rd,src_loc_cpu=1/", "2G/s", 2_000_000_000)):
        budget = f"device=vsoc event={event} limit={limit} window=1s action=report"
        done_ = run("perfctr", "guard", "-q", "-j", "--allow-untrusted", "-b", budget, "--", "true")
        begin = json.loads(done_.stdout.splitlines()[0])
        check(begin["record"] == "begin" and begin["limit"] == counts, f"{begin}")


@test
def counters_must_be_trusted():
    """only counters that validate found trusted, without --allow-untrusted; what an explained one
    counts is said, and needs --allow-explained"""
    store = path("verdicts.json")
    budget = ("-b", "device=vsoc event=FRAGMENTS limit=1 window=1s action=report", "--", "true")
    for trust, status in (None, 1), ("trusted", 0), ("explained", 1), ("quarantined", 1), \
            ("untrusted", 1):
        verdicts = {"vsoc_csf.shader.fragments": {
            "trust": trust, "definition": "twice the fragments", **harness.place()}} \
            if trust else {}
        write(store, json.dumps({"format": "perfctr verdicts 2", "verdicts": verdicts}))
        environment = {**os.environ, "PERFCTR_VERDICTS": store}
        error = run("perfctr", "guard", *budget, status=status, env=environment).stderr
        allowed = "explained" if trust == "explained" else "untrusted"
        check(not status or ("FRAGMENTS" in error and f"--allow-{allowed}" in error), error)
        check((trust == "explained") == ("counts twice the fragments" in error), error)
        run("perfctr", "guard", f"--allow-{allowed}", *budget, env=environment)
    filtered = "device=vsoc event=ucf0/mem_bytes_rd,src_loc_cpu=1/ limit=1 window=1s action=report"
    error = run("perfctr", "guard", "-b", filtered, "--", "true", status=1).stderr
    check("has a filter" in error, error)


if __name__ == "__main__":
    if sys.argv[1:2] == ["hogs"]:
        WORK = os.environ["GUARD_WORK"]
        FD, SESSION = int(os.environ["PERFCTR_FD"]), int(os.environ["PERFCTR_SESSION"])
        sys.exit(hogs(*sys.argv[2:]))
    sys.exit(harness.main(vsoc_truth.MISSING))
