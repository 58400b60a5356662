#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr on a panthor that has Arm's PERF_CONTROL and none of our ioctls, on a model of a Mali
GPU: what is counted equals the model's truth. Prints TAP. Runs as root in the guest, under
lab/mali/start, whose panthor has both: a filter of this process's system calls hides ours."""

import csv
import ctypes
import json
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

import mali
from mali import MODEL, POWER, bind, fail, jobs, node, read, run_job, suspended
import counts
from counts import (EXPECTED, FRAGMENT_JOBS, METADATA, PERIOD_NS, WORK, Stat, count_exactly,
                    counting, device_info, kernel_sessions, truth)
import harness
from harness import NOBODY, check, run, test, wait_for, write

NANO = 1_000_000_000
PARANOID = "/proc/sys/dev/perfctr/paranoid"

PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 22, 2
ALLOW, REFUSE = 0x7fff0000, 0x00050000 | 25  # ENOTTY
LOAD, EQUAL, AND, RETURN = 0x20, 0x15, 0x54, 0x06
NR_IOCTL, OFFSET_NR, OFFSET_REQUEST = 16, 0, 24  # x86-64
QUERY, OPEN = (ord("d") << 8 | nr for nr in (0x9a, 0x9b))

# what the kernel's own interface says, from before it is hidden
BY_CORE = {}


def hide_ioctls():
    """QUERY and OPEN fail as if the driver did not have them, for this process and its children."""
    program = b"".join(struct.pack("<HBBI", *step) for step in (
        (LOAD, 0, 0, OFFSET_NR), (EQUAL, 0, 4, NR_IOCTL), (LOAD, 0, 0, OFFSET_REQUEST),
        (AND, 0, 0, 0xffff), (EQUAL, 2, 0, QUERY), (EQUAL, 1, 0, OPEN),
        (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, REFUSE)))
    buffer = ctypes.create_string_buffer(program)
    filter_ = struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.c_char_p(filter_), 0, 0):
        raise OSError(ctypes.get_errno(), "no filter of system calls")


def listed():
    """Events of blocks: name, block, position, texts."""
    events = json.loads(run("perfctr", "list", "-d", node(), "--json").stdout)["events"]
    return [e for e in events if e["position"] is not None and e["block"] != "csg"]


def shape():
    """What info says of the device, its blocks and clocks."""
    info = device_info()
    return {"name": info["name"], "gpu_id": info.get("gpu_id"), "sets": info.get("sets"),
            "clocks": [c["clock"] for c in info["clocks"] if c["clock"] != "timestamp"],
            "blocks": [b for b in info["blocks"] if b["type"] not in ("csg", "perf_pmu", "pmu")]}


@test
def beside():
    """a session of our interface and one of PERF_CONTROL at once: both equal the truth"""
    stat = Stat()
    jobs("-n", "20", *WORK)
    totals = stat.compare(stat.end())
    check(totals[FRAGMENT_JOBS] == 20, totals)
    other = BY_CORE["stat"]
    check(kernel_sessions() == 1, "our interface's session is not there")
    totals = other.compare(other.end())
    check(totals[FRAGMENT_JOBS] == 20, totals)


@test
def describes():
    """info and list say what they say with our interface: product, blocks, cores, names"""
    now, core = shape(), BY_CORE["shape"]
    check(now == core, f"{now}\n{core}")
    now, core = listed(), BY_CORE["listed"]
    check(len(now) > 100 and now == core, f"{len(now)} {len(core)} "
          f"{[e for e in now if e not in core][:3]} {[e for e in core if e not in now][:3]}")


@test
def looking_wakes_nobody():
    """info, list and check leave a GPU asleep"""
    wait_for(suspended, "does not suspend")
    before = read(f"{POWER}/runtime_active_time")
    for command in ("info",), ("list", "-d", node()), ("list",):
        run("perfctr", *command)
    check(read(f"{POWER}/runtime_active_time") == before, "it was woken")
    checks = json.loads(run("perfctr", "check", "--json").stdout)["checks"]
    check({"gpu", "sample"} <= {c["check"] for c in checks} and
          all(c["verdict"] != "bad" for c in checks), checks)


@test
def default_events():
    """stat without -e counts the GPU by names"""
    out = run("perfctr", "stat", "-d", node(), "--json", "--", "mali-job", "-q", *WORK).stdout
    result = {c["event"]: c["value"] for c in json.loads(out)["counters"]}
    check(result.get(FRAGMENT_JOBS) == 1, result)


@test
def exact():
    """stat: 100 jobs, what they count equals the truth in each block"""
    count_exactly("-n", "100", number=100)


@test
def manual():
    """one sample at the end: exact"""
    count_exactly("-n", "20", number=20, period="60s")


@test
def ring_wraps():
    """a period of 1 ms, so that the ring of 32 samples wraps several times: exact"""
    stat = Stat(period="1ms")
    jobs("-n", "20", "-s", "20", *WORK)
    result = stat.end()
    check(result["kernel"]["samples"] > 100, result["kernel"])
    totals = stat.compare(result)
    check(totals == {event: n * 20 for event, n in EXPECTED.items()}, totals)


@test
def many_groups():
    """12 groups on 8 slots: nothing is counted twice or lost in suspend buffers"""
    count_exactly("-g", "12", "-n", "5", number=60, groups=12)


@test
def across_suspend():
    """a period of 1 ms while the GPU suspends and resumes: exact, and counting wakes nobody"""
    before = int(read(f"{POWER}/runtime_suspended_time"))
    count_exactly("-n", "6", "-s", "200", number=6, period="1ms")
    check(int(read(f"{POWER}/runtime_suspended_time")) > before, "never suspended")
    stat = Stat()
    wait_for(suspended, "does not suspend while it is counted")
    stat.end()


@test
def system_suspend():
    """the system suspends its devices: exact"""
    if "freezer" not in read("/sys/power/pm_test"):
        return "this kernel cannot try a suspend (CONFIG_PM_DEBUG)"
    stat = Stat()
    jobs("-n", "5", *WORK)
    write("/sys/power/pm_test", "devices")
    write("/sys/power/state", "freeze")
    write("/sys/power/pm_test", "none")
    jobs("-n", "5", *WORK)
    totals = stat.compare(stat.end())
    check(totals[FRAGMENT_JOBS] == 10, totals)
    return None


@test
def slow_boot():
    """firmware that does not halt, so that the next boot is slow: exact"""
    count_exactly(number=2, period="10s", work=mali.does_not_halt)


@test
def reset():
    """a reset: its samples report an error and lost time; no more is counted than happened"""
    stat = Stat()
    jobs("-n", "20", *WORK)
    fail("unrecoverable")
    run_job("store", status=1)
    jobs("-n", "20", *WORK)
    result = stat.end()
    totals, status = stat.compare(result, exact=False), result["kernel"]
    check(20 <= totals[FRAGMENT_JOBS] <= 40 and status["errors"] and status["lost_ns"],
          f"{totals} {status}")
    check(status["lost_ns"] < result.get("elapsed_ns", 60 * NANO), status)
    count_exactly("-n", "5", number=5)


@test
def mute_firmware():
    """firmware that acknowledges no counter request: reported, and counted again afterwards"""
    stat = Stat()
    jobs("-n", "5", *WORK)
    fail("counters")
    time.sleep(0.5)
    fail("counters", 0)
    jobs("-n", "5", *WORK)
    result = stat.end()
    totals = stat.compare(result, exact=False)
    check(totals[FRAGMENT_JOBS] == 10 or result["kernel"]["errors"], f"{totals} {result['kernel']}")
    count_exactly("-n", "5", number=5)


@test
def overflow():
    """a sample that finds no free slot in firmware's ring: an error with the lost time"""
    lost = int(read(f"{MODEL}/samples").split()[-1])
    stat = Stat()
    jobs("-n", "5", *WORK)
    fail("overflow")
    jobs("-n", "20", "-s", "2", *WORK)
    result = stat.end()
    totals, status = stat.compare(result, exact=False), result["kernel"]
    check(int(read(f"{MODEL}/samples").split()[-1]) == lost + 1, "no sample lost")
    check(status["errors"] and status["lost_ns"] and totals[FRAGMENT_JOBS] >= 5,
          f"{totals} {status}")
    count_exactly("-n", "5", number=5)


@test
def second_owner():
    """others count too, in the same counter set: both exact; in another set: refused with reason"""
    first, second = Stat(), Stat()
    jobs("-n", "10", *WORK)
    for stat in first, second:
        totals = stat.compare(stat.end())
        check(totals[FRAGMENT_JOBS] == 10, totals)
    stat = Stat()
    errors = run("perfctr", "stat", "-d", node(), "--set", "1", "-e", "shader/C10", "--", "true",
                 status=1).stderr
    check("another program counts in another counter set" in errors, errors)
    jobs("-n", "5", *WORK)
    check(stat.compare(stat.end())[FRAGMENT_JOBS] == 5, "the first one's counts")
    run("perfctr", "stat", "-d", node(), "--set", "1", "-e", "shader/C10", "--", "true")


@test
def sigkill():
    """a perfctr that is killed leaves nothing: no session, and the GPU sleeps"""
    stat = Stat()
    check(kernel_sessions() == 1, "no session")
    stat.process.send_signal(signal.SIGKILL)
    stat.process.wait()
    wait_for(lambda: kernel_sessions() == 0, "a session is left")
    wait_for(suspended, "does not suspend")
    count_exactly("-n", "5", number=5)


@test
def stopped():
    """a process that stands still: exact when it continues"""
    stat = Stat()
    jobs("-n", "5", *WORK)
    stat.process.send_signal(signal.SIGSTOP)
    jobs("-n", "5", *WORK)
    stat.process.send_signal(signal.SIGCONT)
    totals = stat.compare(stat.end())
    check(totals[FRAGMENT_JOBS] == 10, totals)


@test
def permission():
    """a user without CAP_PERFMON: refused with what it needs; permitted by the kernel's switch"""
    os.chmod(node(), 0o666)
    before = read(PARANOID)
    write(PARANOID, "1")
    errors = run("perfctr", "stat", "-d", node(), "-e", FRAGMENT_JOBS, "--", "true", uid=NOBODY,
                 status=3).stderr
    check("CAP_PERFMON" in errors, errors)
    write(PARANOID, "0")
    out = run("perfctr", "stat", "-d", node(), "--json", "-e", FRAGMENT_JOBS, "-p", "50ms", "--",
              "mali-job", "-q", *WORK, uid=NOBODY).stdout
    write(PARANOID, before)
    os.chmod(node(), 0o600)
    check(json.loads(out)["counters"][0]["value"] == 1, out)


POLICY = """
[rule tester]
users = nobody
devices = panthor
blocks = cshw tiler memsys shader
min_period = 1ms
"""


@test
def served():
    """perfctr serve: several users without permission count, each exactly"""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = f"{folder}/socket"
        with open(f"{folder}/policy", "w", encoding="ascii") as f:
            f.write(POLICY)
        with subprocess.Popen(("perfctr", "serve", "-s", path, "--policy", f"{folder}/policy"),
                              stderr=subprocess.DEVNULL) as broker:
            wait_for(lambda: os.path.exists(path), "the broker does not listen")
            first = Stat("--via", path, uid=NOBODY, by_others=1)
            jobs("-n", "5", *WORK)
            second = Stat("--via", path, uid=NOBODY, by_others=2)
            jobs("-n", "5", *WORK)
            totals = first.compare(first.end())
            check(totals[FRAGMENT_JOBS] == 10, totals)
            totals = second.compare(second.end())
            check(totals[FRAGMENT_JOBS] == 5, totals)
            wait_for(lambda: not counting(), "it counts on")
            broker.terminate()
    wait_for(suspended, "does not suspend")


@test
def captures():
    """record, report, export, top: as of our interface"""
    before = truth()
    with tempfile.TemporaryDirectory() as folder:
        capture = f"{folder}/control.perfctr"
        run("perfctr", "record", "-d", node(), "-o", capture, "-p", "5ms", "-e",
            f"{FRAGMENT_JOBS},tiler/TRIANGLES", "--", "mali-job", "-n", "20", *WORK)
        rows = list(csv.DictReader(run("perfctr", "export", "-f", "csv",
                                       capture).stdout.splitlines()))
        check("TRIANGLES" in run("perfctr", "report", capture).stdout, "report")
    after = truth()
    for block, name in FRAGMENT_JOBS.split("/"), ("tiler", "TRIANGLES"):
        total = sum(int(r["value"]) for r in rows if r["event"] == f"{block}0/{name}")
        check(total == after[block, 0, name] - before.get((block, 0, name), 0), f"{name}: {total}")
    check("Mali" in run("perfctr", "top", "-d", node(), "--snapshot").stdout, "top")


@test
def states():
    """states of blocks are a feature only if firmware writes metadata"""
    check(device_info()["features"]["states"] == METADATA, device_info()["features"])


@test
def unplug():
    """unbind and bind while counting: sessions end with the device, the last is exact"""
    for n in range(4):
        stat = Stat(period="1ms")
        if n % 2:
            jobs("-n", "5", *WORK)
        bind("unbind")
        out, errors = stat.process.communicate(timeout=60)
        check("gone" in errors, f"{stat.process.returncode} {errors}")
        if out:
            stat.compare(json.loads(out), exact=False)
        bind()
    count_exactly("-n", "5", number=5)


def remember():
    """Ask our interface, start a session of it, and hide it."""
    BY_CORE.update(shape=shape(), listed=listed(), stat=Stat(period=f"{10 * PERIOD_NS}ns"))
    hide_ioctls()
    counts.OWN_INTERFACE = True
    # firmware's group slots have no place in samples of PERF_CONTROL
    EXPECTED.pop("csg/C5", None)


if __name__ == "__main__":
    if not mali.MISSING:
        remember()
    sys.exit(harness.main(mali.MISSING))
