#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The unmodified v3d of Debian's kernel source on a model of its GPU: jobs, their performance
monitors and the global one against the model's truth, and what is wrong in the driver. Prints TAP.
Runs as root in the guest, under lab/v3d/start."""

import errno
import os
import subprocess
import sys
import time

import v3d
from v3d import (BIN, COMPUTE, CYCLES, JOBS, PRIMITIVES, QUADS, QUADS_PER_TILE, RESETS, STEP_CYCLES,
                 Device, Global, errno_of, job, model, truth)
import harness
from harness import check, run, test, wait_for

VERSION = int(v3d.read("/sys/module/v3d_model/parameters/version"))
GLOBAL = v3d.MISSING is None and v3d.has_global()
NO_GLOBAL = "this kernel's v3d has no global performance monitor"
FRAME = ("draw=30", "tiles=5,6")
# ms that the GPU stays awake after its last use
AWAKE_MS = 50


def difference(before, names=JOBS):
    now = truth()
    return {name: now[name] - before[name] for name in names}


def settings(**values):
    """The model's files, reset to what they were afterwards."""
    class Settings:
        """A context."""

        def __init__(self):
            self.before = {}

        def __enter__(self):
            for name, value in values.items():
                self.before[name] = model(name)
                model(name, value)

        def __exit__(self, *_):
            for name, value in self.before.items():
                model(name, value)
    return Settings()


def only_global(function):
    """A test of kernels that have the global performance monitor."""
    def run_it():
        return function() if GLOBAL else NO_GLOBAL
    run_it.__doc__ = function.__doc__
    return test(run_it)


# --- jobs ----------------------------------------------------------------------------------------

@test
def all_kinds_of_jobs():
    """jobs of bin, render, compute and TFU, with and without cleaning caches, end"""
    before = truth()
    job("-n", "10", *FRAME)
    job("-n", "3", *FRAME, "clean", "compute=20", "tfu=64,64")
    job("-n", "20", "-f", "8", "draw=5,2", "tiles=2,2")
    check(difference(before) == {PRIMITIVES: 13 * 30 + 20 * 10,
                                 QUADS: (13 * 30 + 20 * 4) * QUADS_PER_TILE,
                                 COMPUTE: 3 * 20 * STEP_CYCLES}, difference(before))


@test
def binner_out_of_memory():
    """the binner asks for memory until it has enough, and draws each primitive once"""
    before = truth()
    with settings(tile_bytes=4096):
        job("-n", "2", "draw=500")
    check(difference(before, [PRIMITIVES]) == {PRIMITIVES: 1000}, difference(before))


@test
def names_of_events():
    """each event of the model has its name in the driver"""
    with Device() as device:
        check(device.param(v3d.MAX_COUNTERS) == (93 if VERSION == 71 else 87), "number")
        for name in truth():
            check(device.counter(device.number(name))[0] == name, name)
        check(errno_of(device.counter, device.param(v3d.MAX_COUNTERS)) == errno.EINVAL, "too large")


@test
def hung_job():
    """a job without an end is given up after a reset of the GPU; others run"""
    resets = model("resets")
    job("hang")
    check(model("resets") == resets + 1, f"{model('resets') - resets} resets")
    job(*FRAME)


@test
def page_fault():
    """a list at an address that is not mapped: the same"""
    resets = model("resets")
    job("fault", status=(0, 1))
    check(model("resets") > resets, "no reset")
    job(*FRAME)


# --- performance monitors of jobs ----------------------------------------------------------------

@test
def monitor_of_jobs():
    """a job's own monitor, alone: the model's truth"""
    before = truth()
    counted = v3d.counts_of(job("-n", "10", "-p", ",".join(JOBS), *FRAME, "compute=7"))
    check(counted == difference(before), f"{counted}, truth {difference(before)}")


@test
def monitor_beside_others():
    """a job's own monitor beside compute jobs of a process without one: 7.3 counts the job's
    primitives and nothing else, 6.12 stops counting when the other's job starts"""
    with settings(step_ns=100000):
        with subprocess.Popen(["v3d-job", "-n", "100000", "compute=1"],
                              stdout=subprocess.DEVNULL) as other:
            try:
                counted = v3d.counts_of(job("-n", "2", "-p", f"{PRIMITIVES},{COMPUTE}",
                                            "draw=400"))
            finally:
                other.kill()
    if GLOBAL:
        check(counted == {PRIMITIVES: 800, COMPUTE: 0}, counted)
    else:
        check(counted[PRIMITIVES] < 800, f"6.12 has been mended: {counted}")


@test
def monitor_counts_on():
    """between the end of a job and the read of its monitor, 6.12 counts what the TFU does for
    others; 7.3 does not"""
    with Device() as device:
        event = "AXI-write-bytes-seen-watch-0"
        perfmon = device.create([event])
        check(device.values(perfmon, 1) == [0], "not zero at first")
    before = truth()[event]
    with subprocess.Popen(["v3d-job", "-n", "2", "-s", "400", "-p", event, "compute=1"],
                          stdout=subprocess.PIPE, text=True) as counting:
        time.sleep(0.2)
        job("tfu=64,64")
        counted = v3d.counts_of(counting.communicate()[0])[event]
    check(truth()[event] - before == 4 * 64 * 64, "the TFU's bytes")
    check(counted == (0 if GLOBAL else 4 * 64 * 64), f"{counted} bytes")


# --- the global performance monitor --------------------------------------------------------------

@test
def no_global_monitor():
    """6.12: SET_GLOBAL is an unknown number, EINVAL"""
    if GLOBAL:
        return "this kernel has it"
    with Device() as device:
        check(errno_of(device.set_global, device.create([CYCLES])) == errno.EINVAL, "errno")
    return None


@only_global
def global_monitor():
    """all processes' jobs, read often or once: the model's truth"""
    for period in (0.002, 0.05, None):
        before = truth()
        with Global(*JOBS) as counting:
            with subprocess.Popen(["v3d-job", "-n", "10", "-s", "5", *FRAME],
                                  stdout=subprocess.DEVNULL) as first, \
                    subprocess.Popen(["v3d-job", "-n", "10", "-s", "7", "draw=3", "compute=50"],
                                     stdout=subprocess.DEVNULL) as second:
                while first.poll() is None or second.poll() is None:
                    time.sleep(period or 0.05)
                    if period:
                        counting.read()
            counted = counting.clear()
        check(counted == difference(before), f"{period}: {counted}, truth {difference(before)}")


@only_global
def global_monitor_over_suspends():
    """nothing is lost over runtime suspends, and a read wakes nothing"""
    before, asleep = truth(), v3d.suspended_ms()
    with Global(*JOBS) as counting:
        for _ in range(6):
            job(*FRAME)
            wait_for(v3d.is_suspended, "not suspended", seconds=5)
            counting.read()
            check(v3d.is_suspended(), "a read woke the GPU")
        counted = counting.clear()
    check(counted == difference(before), f"{counted}, truth {difference(before)}")
    check(v3d.suspended_ms() > asleep, "never suspended")


@only_global
def cycles_only_grow_with_power():
    """cycles of the clock: those of the model while it has power, but for what reads lose"""
    before = truth()[CYCLES]
    with Global(CYCLES) as counting:
        for _ in range(5):
            job(*FRAME)
            time.sleep(0.1)
        counted = counting.clear()[CYCLES]
    real = truth()[CYCLES] - before
    check(real / 2 < counted <= real, f"{counted} of {real}")


@only_global
def global_monitor_of_nobody():
    """SET_GLOBAL needs no right: a process of nobody with access to the node does it"""
    program = ("import sys; sys.path.insert(0, sys.argv[1]); import v3d; "
               "print(v3d.Global(v3d.CYCLES).slots()[0] >= 0)")
    os.chmod(v3d.NODE, 0o666)
    out = run(sys.executable, "-B", "-c", program, os.path.dirname(os.path.realpath(__file__)),
              uid=harness.NOBODY).stdout
    os.chmod(v3d.NODE, 0o660)
    check(out == "True\n", out)


@only_global
def one_global_monitor():
    """a second one: EBUSY; one beside a running job that has its own: EBUSY"""
    with Global(CYCLES):
        check(errno_of(Global, CYCLES) == errno.EBUSY, "second")
    with settings(step_ns=100000):
        with subprocess.Popen(["v3d-job", "-p", PRIMITIVES, "draw=1000"],
                              stdout=subprocess.DEVNULL) as counting:
            time.sleep(0.05)
            check(errno_of(Global, CYCLES) == errno.EBUSY, "beside a job")
            counting.wait()


@only_global
def jobs_with_monitors_hang():
    """while there is a global one, a program whose jobs have their own spins in SUBMIT, as libdrm
    repeats EAGAIN; it goes on when it is cleared"""
    with Global(PRIMITIVES) as counting:
        check("busy" in job("-1", "-p", PRIMITIVES, *FRAME, status=3), "not EAGAIN")
        with subprocess.Popen(["v3d-job", "-p", PRIMITIVES, *FRAME], stdout=subprocess.PIPE,
                              text=True) as hung:
            time.sleep(0.5)
            check(hung.poll() is None, "it did not hang")
            with open(f"/proc/{hung.pid}/stat", encoding="ascii") as f:
                ticks = sum(int(word) for word in f.read().split()[13:15])
            check(ticks > 0.2 * os.sysconf("SC_CLK_TCK"), f"{ticks} ticks: it does not spin")
            counting.clear()
            check("1 of 1 jobs" in hung.communicate()[0], "still hung")


@only_global
def anybody_may_clear():
    """CLEAR by another file: the owner's reads succeed and do not grow; SET says so"""
    with Global(*JOBS) as counting, Device() as thief:
        job(*FRAME)
        counted = counting.slots()
        thief.clear_global(thief.create([CYCLES]))
        job(*FRAME)
        check(counting.slots() == counted, "it counts on")
        check(errno_of(counting.device.set_global, counting.id) == 0, "not taken back")
        check(errno_of(counting.device.set_global, counting.id) == errno.EBUSY, "still ours")
        job(*FRAME)
        check(counting.slots()[0] == counted[0] + 30, "counts again")


@only_global
def reset_loses():
    """a reset of the GPU loses what was counted since the last read; GET_PARAM 15 has grown"""
    with Global(PRIMITIVES) as counting:
        job(*FRAME)
        resets = counting.device.param(RESETS)
        job("hang")
        check(counting.device.param(RESETS) == resets + 1, "GET_PARAM")
        check(counting.read() == {PRIMITIVES: 0}, counting.read())
        job(*FRAME)
        check(counting.read() == {PRIMITIVES: 30}, counting.read())


@only_global
def wraps_are_lost():
    """registers have 32 bits: what wraps between two reads is lost, read often all is counted"""
    with settings(scale=1 << 26):
        for pause, lost in ((True, False), (False, True)):
            before = truth()
            with Global(PRIMITIVES) as counting:
                for _ in range(4):
                    job("draw=30")
                    if pause:
                        counting.read()
                    # no suspend, which captures, too
                    time.sleep(0)
                counted = counting.clear()
            real = difference(before, [PRIMITIVES])
            check(real[PRIMITIVES] == 4 * 30 << 26, real)
            check((counted != real) == lost, f"{counted}, truth {real}")
            check((real[PRIMITIVES] - counted[PRIMITIVES]) % (1 << 32) == 0, "not whole wraps")


@only_global
def reads_lose_little():
    """what happens between the read of a slot and the clear is lost; cycles in the first and in the
    last slot bound it"""
    with settings(race=3, step_ns=20000):
        before = truth()
        with Global(CYCLES, PRIMITIVES, BIN, *[QUADS] * 28, CYCLES) as counting:
            with subprocess.Popen(["v3d-job", "draw=1500"], stdout=subprocess.DEVNULL) as busy:
                while busy.poll() is None:
                    time.sleep(0.002)
                    counting.read()
            counting.device.clear_global(counting.id)
            slots = counting.slots()
        lost = truth()[BIN] - before[BIN] - slots[2]
    check(lost > 0, "nothing lost: no race")
    bound = slots[-1] - slots[0]
    check(lost <= bound, f"lost {lost}, bound {bound}")
    primitives = truth()[PRIMITIVES] - before[PRIMITIVES] - slots[1]
    check(0 < primitives <= bound / STEP_CYCLES, f"{primitives} primitives, {bound} cycles")


@only_global
def reads_do_not_stop():
    """this generation goes on counting after a read: cycles grow in all of eight pairs"""
    with Global(CYCLES) as counting:
        counting.device.param(v3d.IDENT1)
        for _ in range(8):
            first = counting.slots()
            check(counting.slots() > first, "a read stopped it")


@only_global
def gauges_are_added():
    """7.1's maximum of outstanding reads is added up at each read"""
    if VERSION < 71:
        return "4.2 has no gauges"
    with Global("AXI-max-outstanding-reads") as counting:
        for _ in range(3):
            job(*FRAME)
            counting.read()
        counted = counting.slots()[0]
    check(counted == 3, f"three times one unit: {counted}")
    return None


# --- wrong in the driver -------------------------------------------------------------------------

@test
def measure_clock_ruins_a_monitor():
    """debugfs measure_clock programs slot 0 for itself and leaves it so"""
    if not GLOBAL:
        return NO_GLOBAL
    with Global(PRIMITIVES, QUADS) as counting:
        v3d.read("/sys/kernel/debug/dri/0/measure_clock")
        before = truth()
        job(*FRAME)
        counted = counting.read()
    # slot 0 has counted cycles; a suspend in between sets all up again
    check(counted[PRIMITIVES] > difference(before)[PRIMITIVES], f"it has been mended: {counted}")
    return None


@test
def first_job_after_probe():
    """7.3.4: probe enables the core's interrupts for `cores` cores before it has read how many
    there are; a job before the first suspend ends only by a reset of the GPU"""
    v3d.bind("unbind")
    resets = model("resets")
    v3d.bind()
    begin = time.monotonic()
    job("compute=1")
    took = time.monotonic() - begin
    check(model("resets") - resets == (1 if GLOBAL else 0),
          f"{model('resets') - resets} resets, {took:.2f} s: it has been mended")


@test
def no_access_without_power():
    """the driver reads and writes registers only while the GPU has a clock and power"""
    check(model("unpowered") == 0, f"{model('unpowered')} accesses")


# the last one: the GPU cannot be used afterwards
@only_global
def power_off_fails():
    """7.1: a suspend that fails stops the global monitor, and no job can be submitted any more,
    though the driver turns the GPU's interrupts on again"""
    if VERSION < 71:
        return "4.2 has no power sequence"
    with Global(PRIMITIVES) as counting:
        wait_for(v3d.is_suspended, "not suspended", seconds=5)
        with settings(fail_power_off=1):
            log = len(run("dmesg").stdout)
            job("draw=1")
            wait_for(lambda: "Failed to power off SMS" in run("dmesg").stdout[log:],
                     "no failed suspend", seconds=5)
        job(*FRAME, status=2)
        check(counting.slots() == [1], f"it has been mended: {counting.slots()}")
    check(v3d.read(f"{v3d.PLATFORM}/power/runtime_status") == "error", "it has been mended")
    return None


if __name__ == "__main__":
    sys.exit(harness.main(v3d.MISSING))
