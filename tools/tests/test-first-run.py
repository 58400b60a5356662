#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: test-first-run.py BUILD: the reasons of docs/first-run.md, each on a made-up machine that
has it: the command of its row prints the row's text, and perfctr check what the last column says.
Prints TAP; no device."""

import os
import re
import shlex
import sys

import harness
from harness import NOBODY, check, test
from machine import Machine

BUILD = sys.argv[1]
PAGE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../docs/first-run.md")
GPU = "fde60000.gpu"


def rows():
    """{number: (command, its text, texts of check)} of the page's table"""
    found = {}
    with open(PAGE, encoding="utf-8") as f:
        for line in f:
            cells = re.split(r" \| ", line.strip("| \n"))
            if cells[0].isdigit():
                seen, said = (re.findall(r"`([^`]+)`", cells[n]) for n in (1, 4))
                check(len(cells) == 5 and len(seen) == 2 and said, line)
                found[int(cells[0])] = (shlex.split(seen[0]), seen[1], said)
    return found


def prints(done, text):
    """Whether a command said this text, in which ... is anything."""
    pattern = ".*".join(map(re.escape, text.split("...")))
    said = " ".join((done.stdout + done.stderr).split())
    return re.search(re.sub(r"(\\ )+", " ", pattern), said)


def causes(number, m, **options):
    """The row's texts are printed on this machine."""
    command, text, said = rows()[number]
    check(command[0] == "perfctr", command)
    done = m.run(*command[1:], **options)
    check(prints(done, text), f"{command}: {done}")
    done = m.run("check", **options)
    for text in said:
        check(prints(done, text), f"no \"{text}\": {done}")


def plain():
    """A machine without a GPU and with the kernel's own events only."""
    m = Machine(BUILD)
    m.pmu("software", 1, {})
    m.perf("1 * * rate 1000000")
    return m


def with_gpu(driver, status="active"):
    m = plain()
    m.put(f"/sys/devices/platform/{GPU}/power/runtime_status", status)
    m.link(f"/sys/devices/platform/{GPU}/driver", f"../../bus/platform/drivers/{driver}")
    for name in "card0", "renderD128":
        m.link(f"/sys/class/drm/{name}/device", f"../../../devices/platform/{GPU}")
    m.put("/dev/dri/renderD128", "x")
    return m


@test
def ten_rows():
    """the page has ten reasons, and a test here causes each"""
    numbers = [int(n[1]) for t in harness.TESTS for n in [re.match(r"(\d+): ", t.__doc__)] if n]
    check([*rows()] == numbers == [*range(1, 11)], f"{[*rows()]} {numbers}")


@test
def permission():
    """1: perf refuses this user"""
    with plain() as m:
        m.put("/proc/sys/kernel/perf_event_paranoid", "3")
        m.perf("1 * * err 13")
        causes(1, m)


@test
def node():
    """2: the GPU's node is not for this user"""
    with with_gpu("panthor") as m:
        os.chmod(m.root + "/dev/dri/renderD128", 0o600)
        if os.geteuid():
            return "a file that its owner cannot open takes another user"
        m.for_others()
        causes(2, m, user=NOBODY, group=NOBODY, extra_groups=[])
    return None


@test
def no_pmu():
    """3: a virtual machine has no PMU"""
    with plain() as m:
        causes(3, m)


@test
def no_perf():
    """4: the kernel shows no perf"""
    with Machine(BUILD) as m:
        causes(4, m)


@test
def asleep():
    """5: the GPU sleeps"""
    with with_gpu("xe", "suspended") as m:
        causes(5, m)


@test
def no_client():
    """6: no program uses the GPU"""
    with with_gpu("amdgpu") as m:
        causes(6, m)


@test
def switches():
    """7: the driver's switches are off, and the one that is first is named first"""
    with with_gpu("panfrost") as m:
        m.client(100, 3, "drm-driver:\tpanfrost\ndrm-client-id:\t3\ndrm-engine-fragment:\t10 ns\n")
        m.put("/sys/module/panfrost/parameters/unstable_ioctls", "N")
        m.put(f"/sys/bus/platform/drivers/panfrost/{GPU}/profiling", "0")
        causes(7, m)
        check(prints(m.run("check"), "sudo tee /sys/module/panfrost/parameters"), "the first")
        m.put("/sys/module/panfrost/parameters/unstable_ioctls", "Y")
        done = m.run("check")
        check(prints(done, f"echo 1 | sudo tee /sys/bus/platform/drivers/panfrost/{GPU}/profiling")
              and not prints(done, "they are off"), done.stdout)
        m.put(f"/sys/bus/platform/drivers/panfrost/{GPU}/profiling", "1")
        check(not prints(m.run("check"), "sudo tee"), "both are on")


@test
def no_switches():
    """a kernel whose driver has no switch for engine times is not said to have it"""
    with with_gpu("panthor") as m:
        done = m.run("check")
        check(prints(done, "this kernel's panthor shows no engine times")
              and not prints(done, "profiling"), done.stdout)
        m.put(f"/sys/bus/platform/drivers/panthor/{GPU}/profiling", "0")
        done = m.run("check")
        check(prints(done, "while the switch profiling is on") and prints(done, "echo 3 | sudo tee")
              and not prints(done, "no engine times"), done.stdout)
    with with_gpu("panfrost") as m:
        check(prints(m.run("check"), "if this kernel's panfrost shows them"), "panfrost")


@test
def by_name_only():
    """8: the GPU is counted by its name only"""
    with with_gpu("i915") as m:
        causes(8, m)
    with with_gpu("v3d") as m:
        check(prints(m.run("check"), "and -d v3d only"), "v3d")


@test
def no_interface():
    """9: the driver has no counters"""
    with with_gpu("nouveau") as m:
        causes(9, m)
        check(prints(m.run("check"), "nothing: the driver shows no engine times"), "its line")
    with plain() as m:
        m.put("/sys/bus/pci/drivers/nvidia/0000:01:00.0/power/runtime_status", "active")
        done = m.run("stat", "-d", "local", "-e", "nvml/*:power/", "--", "true")
        check(prints(done, "libnvidia-ml.so.1 of the NVIDIA driver cannot be loaded"), done)


@test
def in_use():
    """10: another program has the counters"""
    with plain() as m:
        m.perf("1 * * err 16")
        causes(10, m)


sys.exit(harness.main())
