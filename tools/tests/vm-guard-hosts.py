#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr guard on hosts of cgroup version 2, elsewhere, hybrid and version 1. Prints TAP. Runs as
root in the guest, whose mounts of cgroups it replaces."""

import errno
import os
import random
import signal
import subprocess
import sys
import tempfile
import time

import harness
from harness import check, run, test, wait_for, write

SEED = int(os.environ.get("PERFCTR_SEED", "5"))
CGROUPS = "/sys/fs/cgroup"
WORK = tempfile.mkdtemp()
LOG = os.path.join(WORK, "log")
ERRORS = os.path.join(WORK, "errors")
FAULTS = """
import mmap
while True:
    with mmap.mmap(-1, 4096 * 50) as m:
        for page in range(50):
            m[4096 * page] = 1
"""
HOG = (sys.executable, "-c", FAULTS)
BUDGET = "device=local event=software/page-faults/ limit=500 window=1s period=20ms on_loss=release"
SLOW = os.strerror(errno.ETIMEDOUT)
# type and options of each mount, and its folder
UNIFIED, FREEZER, PERF = (("cgroup2", ""), ("cgroup", "freezer"), ("cgroup", "perf_event"))
HOSTS = {
    "version 2": {CGROUPS: UNIFIED},
    "version 2 elsewhere": {f"{WORK}/groups": UNIFIED},
    # as JetPack 4 and 5 are
    "hybrid": {f"{CGROUPS}/unified": UNIFIED, f"{CGROUPS}/freezer": FREEZER,
               f"{CGROUPS}/perf_event": PERF},
    "hybrid, perf in version 2": {f"{CGROUPS}/unified": UNIFIED, f"{CGROUPS}/freezer": FREEZER},
    "version 1": {f"{CGROUPS}/freezer": FREEZER, f"{CGROUPS}/perf_event": PERF},
}


def contents(*names):
    with open(os.path.join(*names), encoding="ascii") as f:
        return f.read().strip()


def unmount(folder):
    """A hierarchy without users goes away a moment after its last cgroup."""
    wait_for(lambda: subprocess.run(["umount", folder], check=False,
                                    stderr=subprocess.DEVNULL).returncode == 0, folder)


class Host:
    """The mounts of a kind of host."""

    def __init__(self, name):
        self.name, self.mounts = name, HOSTS[name]

    def __enter__(self):
        unmount(CGROUPS)
        for folder, (kind, options) in self.mounts.items():
            if folder.startswith(CGROUPS + "/") and not os.path.ismount(CGROUPS):
                run("mount", "-t", "tmpfs", "tmpfs", CGROUPS)
            os.makedirs(folder, exist_ok=True)
            arguments = ["mount", "-t", kind, *(["-o", options] if options else []), "cgroup",
                         folder]
            wait_for(lambda a=arguments: subprocess.run(a, check=False).returncode == 0,
                     str(arguments))
        # without a controller, perf has no cgroups of version 2
        for folder in self.place(UNIFIED):
            write(f"{folder}/cgroup.subtree_control", "+cpu")
        return self

    def __exit__(self, *exception):
        for folder in self.place(UNIFIED):
            write(f"{folder}/cgroup.subtree_control", "-cpu")
        for folder in self.mounts:
            unmount(folder)
        if CGROUPS not in self.mounts and os.path.ismount(CGROUPS):
            unmount(CGROUPS)
        wait_for(lambda: subprocess.run(["mount", "-t", "cgroup2", "cgroup2", CGROUPS],
                                        check=False).returncode == 0, "version 2")

    def place(self, mount):
        return [folder for folder, what in self.mounts.items() if what == mount]

    def folders(self, name):
        """Where a cgroup is held, and where it is counted."""
        hold = (self.place(UNIFIED) + self.place(FREEZER))[0]
        count = (self.place(PERF) + self.place(UNIFIED))[0]
        return f"{hold}/{name}", f"{count}/{name}"

    def make(self, name):
        for folder in self.folders(name):
            os.makedirs(folder, exist_ok=True)
        return self.folders(name)

    def remove(self, name):
        for folder in set(self.folders(name)):
            wait_for(lambda f=folder: not contents(f, "cgroup.procs"), f"{folder} has processes")
            os.rmdir(folder)

    def is_frozen(self, name):
        folder = self.folders(name)[0]
        if os.path.exists(f"{folder}/cgroup.events"):
            return "frozen 1" in contents(folder, "cgroup.events")
        return contents(folder, "freezer.state") != "THAWED"

    def spawn(self, name, *command):
        def join():
            for folder in self.folders(name):
                write(f"{folder}/cgroup.procs", str(os.getpid()))
        return subprocess.Popen(command, preexec_fn=join)


def hosts():
    for name in HOSTS:
        print(f"# {name}", flush=True)
        with Host(name) as host:
            yield host


def records(kind):
    return [r for r in harness.whole_lines(LOG) if r["record"] == kind]


def start(*words, command=()):
    if os.path.exists(LOG):
        os.unlink(LOG)
    with open(ERRORS, "w", encoding="utf-8") as errors:
        return subprocess.Popen(
            ["perfctr", "guard", "--allow-untrusted", "-o", LOG, *words,
             *(("--", *command) if command else ())], stderr=errors)


def said():
    return contents(ERRORS)


def watcher_of(guard):
    """The watching process, or none yet."""
    try:
        children = contents(f"/proc/{guard.pid}/task/{guard.pid}/children").split()
        return int(next(c for c in children if contents(f"/proc/{c}/comm") == "perfctr"))
    except (OSError, StopIteration):
        return None


@test
def budgets_hold_on_every_host():
    """a cgroup is counted and frozen, wherever it is mounted; the command's own is made and
    removed in each hierarchy"""
    for host in hosts():
        guard = start("-g", "own", "-b", BUDGET, command=("timeout", "6", *HOG))
        check(guard.wait(60) == 124, said())
        end, begin = records("end")[0], records("begin")[0]
        # an emulated CPU may not run for 500 ms, and freezes nothing in this time
        errors = [r["error"] for r in records("violation")]
        check(None in errors and set(errors) <= {None, SLOW}, f"{errors} {said()}")
        check(all(r["held"] for r in records("violation") if not r["error"]), said())
        check(end["failures"] == errors.count(SLOW) and end["held_ns"] > 0, f"{end} {errors}")
        check(0 < end["worst_reaction_ns"], f"{end}")
        check((begin["cgroup"], begin["counted_in"]) == host.folders("own"), f"{begin}")
        for folder in host.folders("own"):
            check(not os.path.exists(folder), f"{folder} is left")


@test
def nothing_stays_frozen():
    """kill -9 of the watcher, of the supervisor or of both, when counting begins, when the target
    is held, and at random: it is released, by the other one or by the next guard"""
    rng = random.Random(SEED)
    for host in hosts():
        host.make("left")
        hog = host.spawn("left", *HOG)
        for point in ("begin", "held", "random", "random"):
            for who in ("watcher", "supervisor", "both"):
                guard = start("-b", BUDGET + " cgroup=left")
                if point == "random":
                    time.sleep(rng.uniform(0, 1.5))
                else:
                    kind = "begin" if point == "begin" else "violation"
                    wait_for(lambda k=kind: records(k), said)
                watcher = watcher_of(guard)
                if who == "both":
                    guard.send_signal(signal.SIGSTOP)
                if who != "supervisor" and watcher:
                    os.kill(watcher, signal.SIGKILL)
                if who != "watcher":
                    guard.kill()
                guard.terminate()
                guard.wait(30)
                if who == "both":
                    run("perfctr", "guard", "-q", "--allow-untrusted", "-b",
                        "device=local event=software/page-faults/ limit=1T window=1s cgroup=left",
                        "--", "true")
                wait_for(lambda h=host: not h.is_frozen("left"), f"{host.name}, {point}, {who}")
                # what is left of the guard ends, too, and freezes nothing
                time.sleep(0.3)
                check(not host.is_frozen("left"), f"{host.name}, {point}, {who}: frozen again")
        hog.kill()
        hog.wait()
        host.remove("left")


@test
def who_leaves_or_ends_is_named():
    """a process that moves elsewhere, and the end of the last one"""
    for host in hosts():
        host.make("leaves")
        host.make("other")
        first, second = (host.spawn("leaves", "sleep", "1000") for _ in range(2))
        guard = start("-b", BUDGET + " cgroup=leaves")
        wait_for(lambda: records("begin"), said)
        time.sleep(0.6)
        for folder in set(host.folders("other")):
            write(f"{folder}/cgroup.procs", str(first.pid))
        wait_for(lambda: records("left"), said)
        check([r["pid"] for r in records("left")] == [first.pid], f"{records('left')}")
        check(not records("ended"), f"{records('ended')}")
        second.kill()
        second.wait()
        wait_for(lambda: records("ended"), said)
        guard.terminate()
        check(guard.wait(30) == 0 and len(records("left")) == 1, said())
        first.kill()
        first.wait()
        host.remove("leaves")
        host.remove("other")


@test
def guard_stays_after_its_command():
    """--stay: what the command left in the cgroup is still held, and released at the last end"""
    for host in hosts():
        guard = start("--stay", "-g", "stays", "-b", BUDGET,
                      command=("sh", "-c", "timeout 9 \"$@\" & exit 7", "sh", *HOG))
        time.sleep(1)
        check(guard.poll() is None, f"ended with its command: {contents(ERRORS)}")
        wait_for(lambda: records("violation"), said)
        check(guard.wait(60) == 7, said())
        check(records("end")[0]["held_ns"] > 0, f"{records('end')}")
        check(not os.path.exists(host.folders("stays")[0]), "the cgroup is left")


@test
def what_cannot_be_is_refused():
    """a guard in its own cgroup, cpu.max of version 1, processes that perf counts elsewhere"""
    for host in hosts():
        host.make("wrong/inner")

        def refused(text, *words, inside=False):
            def join():
                if inside:
                    for folder in set(host.folders("wrong/inner")):
                        write(f"{folder}/cgroup.procs", str(os.getpid()))
            done = subprocess.run(["perfctr", "guard", "--allow-untrusted", "-b", *words],
                                  stderr=subprocess.PIPE, text=True, timeout=60, check=False,
                                  preexec_fn=join)
            check(done.returncode == 1 and text in done.stderr, f"{host.name}: {done.stderr}")

        for name in "wrong", "wrong/inner":
            refused("would hold itself", BUDGET + f" cgroup={name}", inside=True)
        hold, count = host.folders("wrong/inner")
        if host.name == "version 1":
            refused("action=freeze", BUDGET + " cgroup=wrong action=cpu.max:10%")
        if hold != count:
            with subprocess.Popen(["sleep", "1000"], preexec_fn=lambda: write(
                    f"{hold}/cgroup.procs", str(os.getpid()))) as half:
                refused("where perf counts", BUDGET + " cgroup=wrong")
                half.kill()
        refused("cgroup.freeze: ", BUDGET + " cgroup=none")
        host.remove("wrong/inner")
        host.remove("wrong")


if __name__ == "__main__":
    sys.exit(harness.main())
