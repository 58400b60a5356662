# SPDX-License-Identifier: MIT
"""What tests on a model of a Mali GPU share. They run as root in the guest, under
kernel/mali/start."""

import glob
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)) + "/../../../tools/tests")

from harness import check, run, wait_for, write  # pylint: disable=wrong-import-position

DEVICE = "panthor"
DRIVER = "/sys/bus/platform/drivers/panthor"
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
    """a job that never ends: timed out after the driver's five seconds, another one works beside"""
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
