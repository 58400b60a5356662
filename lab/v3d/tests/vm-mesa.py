#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mesa's driver draws on a V3D while perfctr counts it: the model's truth. Prints TAP. Runs as root
in the guest, under lab/v3d/start."""

import os
import sys
import time

import v3d
from v3d import PRIMITIVES, QUADS, counts, events, stat, truth
import harness
from harness import check, run, test

TOP = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../..")
# of this version Debian 12's EGL loads drivers
MESA = (f"{TOP}/mesa/run", "-m", "22.3.6", "-g", "env", "GALLIUM_PERFCTR=0")
PROGRAMS = f"{TOP}/build/tests/mesa"
MISSING = v3d.MISSING or (None if v3d.has_global() else "this kernel's v3d cannot count")


def monitor(*rectangles):
    """Mesa's own counter of primitives over frames of so many rectangles."""
    return (*MESA, f"{PROGRAMS}/counter", f"V3D counters.{PRIMITIVES}", *map(str, rectangles))


@test
def thirty_frames():
    """30 frames of GL, then two programs beside each other"""
    real, seen = counts((PRIMITIVES, QUADS), *MESA, f"{PROGRAMS}/draws", "3000", "100")
    check(real == seen and real[PRIMITIVES] == 6000 and real[QUADS], f"{seen}, truth {real}")
    two = " ".join(MESA) + f" {PROGRAMS}/draws "
    real, seen = counts((PRIMITIVES, QUADS), "sh", "-c", f"{two} 500 50 & {two} 700 70; wait")
    check(real == seen and real[PRIMITIVES] == 2400, f"{seen}, truth {real}")


@test
def mesas_own_counters():
    """Mesa's own counters count as before, when perfctr has counted and while it does not"""
    before = truth()[PRIMITIVES]
    check(run(*monitor(3, 7)).stdout.split() == ["6", "14"], "GL_AMD_performance_monitor")
    check(truth()[PRIMITIVES] - before == 20, truth())


@test
def hanging_program_is_freed():
    """a program with Mesa's counters hangs for less than a second beside perfctr"""
    begin = time.monotonic()
    done = stat(*events(PRIMITIVES), "--", *monitor(3, 7))
    print(f"# both took {time.monotonic() - begin:.2f} s")
    check(done.stdout.split()[:2] == ["6", "14"], done.stdout)
    check("counting has ended, as counter (" in done.stderr, done.stderr)


if __name__ == "__main__":
    sys.exit(harness.main(MISSING))
