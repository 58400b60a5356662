# SPDX-License-Identifier: MIT
"""What tests on a model of a Mali GPU share. They run as root in the guest, under
lab/mali/start."""

import glob
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)) + "/../../../tools/tests")

from harness import check, run, wait_for, write  # pylint: disable=wrong-import-position

DEVICE = "panfrost" if os.path.exists("/sys/bus/platform/devices/panfrost") else "panthor"
DRIVER = f"/sys/bus/platform/drivers/{DEVICE}"
POWER = f"/sys/bus/platform/devices/{DEVICE}/power"
MODEL = "/sys/kernel/debug/mali"


def node():
    """A device that was unbound while jobs ran keeps its number, so there may be another."""
    nodes = sorted(glob.glob("/dev/dri/renderD*"))
    return nodes[-1] if nodes else None


def run_job(*arguments, status=0):
    return run("mali-job", "-d", node(), *arguments, status=status)


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read().strip()


class Log:
    """What the kernel logs from now on."""

    def __init__(self):
        self.begin = len(run("dmesg").stdout)

    def text(self):
        return run("dmesg").stdout[self.begin:]

    def expect(self, text):
        wait_for(lambda: text in self.text(), lambda: f"not logged: {text}\n{self.text()}",
                 seconds=10)


def truth(kind, counter):
    """Counts at a position, in all blocks of that kind."""
    return sum(int(line.split()[3]) for line in read(f"{MODEL}/truth").splitlines()
               if line.split()[0] == kind and int(line.split()[2]) == counter)


def broken_job(what, message):
    """A job that ends with a fault; others work."""
    log = Log()
    jobs("store", what, state="fatal")
    log.expect(message)
    jobs("store")


def probe_loop():
    """unbind and bind 100 times, with a job each tenth time"""
    for n in range(100):
        if n % 10 == 0:
            jobs("store")
            # a job is freed after its end; an unbind before that would lose it
            time.sleep(0.1)
        bind("unbind")
        bind()
    jobs("store")


def many_jobs():
    """500 jobs in a row in one group: what they store is in memory"""
    jobs("-n", "500", "store")


def suspend_and_resume():
    """runtime suspend between jobs: memory and groups stay as they are"""
    before = int(read(f"{POWER}/runtime_suspended_time"))
    jobs("-n", "6", "-s", "150", "store")
    check(int(read(f"{POWER}/runtime_suspended_time")) > before, "never suspended")


def fail(what, on=1):
    write(f"{MODEL}/fail_{what}", str(on))


def bind(how="bind"):
    write(f"{DRIVER}/{how}", DEVICE)


def jobs(*arguments, state="done", groups=1):
    """Run mali-job: all groups end in that state."""
    out = run_job(*arguments, status=0 if state == "done" else 1).stdout.splitlines()
    check(len(out) == groups and all(line.endswith(f", {state}") for line in out),
          f"expected {groups} × {state}: {out}")


def suspended():
    return read(f"{POWER}/runtime_status") == "suspended"


def hung_job(*work):
    """a job that never ends: timed out by the driver, another one works beside"""
    work = work or ("store",)
    with subprocess.Popen(["mali-job", "-d", node(), *work, "hang"], stdout=subprocess.PIPE,
                          text=True) as hung:
        jobs("-n", "20", "-s", "300", *work)
        out = hung.communicate()[0]
    check("timed out" in out, out)
    jobs(*work)


def does_not_halt(*work):
    """firmware that does not halt: the suspend is not clean, the next boot is a slow one"""
    work = work or ("store",)
    log = Log()
    fail("halt")
    jobs(*work)
    log.expect("Failed to cleanly suspend MCU")
    fail("halt", 0)
    jobs(*work)


MISSING = None if node() else "no render node"
