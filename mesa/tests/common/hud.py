# SPDX-License-Identifier: MIT
"""Shared by tests of the scene: its runs, the HUD's dump files, and TAP."""

import itertools
import os
import subprocess

BUILD = os.environ.get("PERFCTR_BUILD") or os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))),
    "build")
SCENE = os.path.join(BUILD, "tests/mesa/scene")
# runs of the scene until the GPU does each frame in time
TRIES = 10
# jobs that may be queued; a frame has one
QUEUE = 64

failed = 0
number = 0


def report(name, problems):
    global failed, number
    number += 1
    failed += bool(problems)
    for problem in problems[:8]:
        print(f"# {problem}")
    print(f"{'not ok' if problems else 'ok'} {number} - {name}", flush=True)


def end():
    """Exit status."""
    print(f"1..{number}")
    return 1 if failed else 0


def start(hud, dump, *options):
    os.makedirs(dump)
    env = dict(os.environ, GALLIUM_HUD=hud, GALLIUM_HUD_PERIOD="0", GALLIUM_HUD_DUMP_DIR=dump)
    # line by line, to show progress
    return subprocess.Popen(["stdbuf", "-oL", SCENE, *options], env=env, stdout=subprocess.PIPE,
                            text=True)


def finish(process, output=""):
    """The numbers of output and of the scene's remaining output, a list for each frame."""
    output += process.communicate()[0]
    if process.returncode:
        raise RuntimeError(f"the scene ends with status {process.returncode}")
    return [[int(word) for word in line.split()] for line in output.splitlines()]


def dumped(dump, name):
    with open(os.path.join(dump, name), encoding="ascii") as f:
        return [float(line) for line in f]


def differences(name, got, expected):
    # the HUD has no result of the last frame yet
    problems = [] if len(got) >= len(expected) - 1 else [f"{name}: {len(got)} of {len(expected)} "
                                                         f"frames"]
    return problems + [f"{name}, frame {n}: {a}, expected {b}"
                       for n, (a, b) in enumerate(zip(got, expected)) if a != b]


def late(got, drawn):
    """A job counts in the frame in which it runs, which may be a later one; never in one before."""
    sums = list(itertools.accumulate(got)), list(itertools.accumulate(drawn))
    problems = [f"frame {n}: {a} until then, drawn {b}" for n, (a, b) in enumerate(zip(*sums))
                if a > b]
    # No count is lost between frames: a missing one is still in the queue. This holds for runs with
    # more frames than the queue; tests of shorter runs compare their sums with the truth.
    return problems + ([] if sum(got) >= sum(drawn[:-QUEUE])
                       else [f"{sum(got)} of {sum(drawn)} were counted"])
