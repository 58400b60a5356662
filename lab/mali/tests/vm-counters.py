#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Our series for panthor or panfrost, the core and perfctr on a model of a Mali GPU: what is
counted equals the model's truth. Prints TAP. Runs as root in the guest, under lab/mali/start."""

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter

import mali
from mali import DEVICE, MODEL, POWER, bind, fail, jobs, node, read, run_job, suspended
from counts import (CSG, FRAGMENT_JOBS, HAS_128, JM, METADATA, PERIOD_NS, PRODUCT, WORK,
                    Stat, count_exactly, device_info, truth)
import harness
from harness import check, run, test, wait_for, write

def test_csf(function):
    return function if JM else test(function)


def test_jm(function):
    return test(function) if JM else function


@test
def describes():
    """info: the GPU's name, frequencies of all clocks, timestamps"""
    text = run("perfctr", "info", "-d", node()).stdout
    check("Mali" in text and "at most 0 Hz" not in text, text)
    check(JM or "timestamp" in json.dumps(device_info()), device_info())


@test
def version_stays():
    """the driver's minor version is that of the kernel's source: Mesa compares it"""
    source = f"{os.environ['PERFCTR_KMOD']}/linux/drivers/gpu/drm/{DEVICE}"
    minor = re.search(r"\.minor\s+= (\d+),", read(f"{source}/{DEVICE}_drv.c")).group(1)
    check(f"Initialized {DEVICE} 1.{minor}.0" in run("dmesg").stdout, f"not 1.{minor}.0")


@test
def lists():
    """list: counters by name, those without one by number, metrics"""
    text = run("perfctr", "list", "-d", node()).stdout
    for name in (("jm/GPU_ACTIVE", "metric:") if JM else
                 ("cshw/GPU_ACTIVE", "fw/C4", "metric:shader.alu_util")):
        check(name in text, f"{name}: {text}")


@test
def default_events():
    """stat without -e counts the GPU by names"""
    out = run("perfctr", "stat", "-d", node(), "--json", "--",
              "mali-job", "-d", node(), "-q", *WORK).stdout
    result = {c["event"]: c["value"] for c in json.loads(out)["counters"]}
    check(result.get(FRAGMENT_JOBS) == 1, result)


@test
def exact():
    """stat: 100 jobs, what they count equals the truth in each block"""
    count_exactly("-n", "100", number=100)


@test_csf
def group_slots():
    """CSG blocks: none, or the counts of each group slot equal the truth"""
    info = device_info()
    check([b["type"] for b in info["blocks"]].count("csg") == (8 if CSG else 0), info["blocks"])
    if CSG:
        stat = Stat("-e", "csg/C4,csg/C6")
        jobs("-g", "12", "-n", "5", *WORK, groups=12)
        totals = stat.compare(stat.end())
        check(totals["csg/C5"] == 180 and totals["csg/C4"] > 60 * 20 and
              totals["csg/C6"] >= 60, totals)


@test_csf
def power_of_cores():
    """states, and samples when cores get or lose power: with metadata; otherwise refused"""
    info = device_info()
    check([info["features"][name] for name in ("states", "automatic")] == 2 * [METADATA], info)
    event, before = "tiler/TRIANGLES" if HAS_128 else "shader/FRAG_PTILES", truth()
    with tempfile.TemporaryDirectory() as folder:
        capture = f"{folder}/cores.perfctr"
        run("perfctr", "record", "-d", node(), "-o", capture, "--automatic", "-p", "10s",
            "-e", event, "--", "mali-job", "-d", node(), "-n", "3", "-s", "100",
            "draw=33", "fragment=70,50", status=0 if METADATA else 1)
        if METADATA:
            rows = run("perfctr", "export", "-f", "csv", capture).stdout
            sums = {"": Counter(), "automatic": Counter()}
            for row in csv.DictReader(rows.splitlines()):
                for flag, blocks in sums.items():
                    blocks[row["event"]] += int(row["value"]) if flag in row["flags"] else 0
            check(rows.count("automatic") >= 4 and sums["automatic"].total() > 0, rows)
            expected = {f"{kind}{index}/{name}": n - before.get((kind, index, name), 0)
                        for (kind, index, name), n in truth().items() if f"{kind}/{name}" == event}
            check(dict(sums[""]) == expected, f"{expected}: {rows}")


@test
def not_valid():
    """counters that depend on running shaders or on caches are invalid, not zero"""
    # of a GPU that is off they are valid, and zero
    write(f"{POWER}/control", "on")
    events = "shader/C9,tiler/C12,memsys/L2_EXT_READ_BEATS,memsys/L2_EXT_WRITE_BEATS"
    if JM:
        events = ",".join(f"{kind}/C{n}" for kind, n in
                          (("shader", 63), ("tiler", 40), ("memsys", 40), ("memsys", 60)))
    out = run("perfctr", "stat", "-d", node(), "--json", "-p", "60s", "-e", events,
              "--", "mali-job", "-d", node(), "-q", *WORK).stdout
    write(f"{POWER}/control", "auto")
    counters = json.loads(out)["counters"]
    check(len(counters) == 4 and all(c["samples_missed"] and not c["value"] for c in counters), out)


@test
def many_groups():
    """12 groups on 8 slots: nothing is counted twice or lost in suspend buffers"""
    count_exactly("-g", "12", "-n", "5", number=60, groups=12)


@test
def across_suspend():
    """a period of 1 ms while the GPU suspends and resumes: exact"""
    before = int(read(f"{POWER}/runtime_suspended_time"))
    count_exactly("-n", "6", "-s", "200", number=6, period="1ms")
    check(int(read(f"{POWER}/runtime_suspended_time")) > before, "never suspended")


@test
def hung_job():
    """a job that never ends, and others beside it: exact"""
    count_exactly(number=22, period="1s", work=mali.hung_job)


@test_csf
def slow_boot():
    """firmware that does not halt, so that the next boot is slow: exact"""
    count_exactly(number=2, period="10s", work=mali.does_not_halt)


@test
def faults():
    """page faults and invalid instructions: exact up to them"""
    stat = Stat()
    # see vm-panfrost.py about faults of addresses on a G57
    for what in ("invalid",) if PRODUCT == "g57" else ("fault", "invalid"):
        jobs(*WORK, what, *WORK, state="fatal")
    jobs(*WORK)
    totals = stat.compare(stat.end())
    # a job manager's chain of fragment jobs, two of them, is not the one that faults
    check(totals[FRAGMENT_JOBS] == {"g57": 3}.get(PRODUCT, 5 if JM else 3), totals)


@test
def reset():
    """a reset: each sample that overlaps it reports it; no more is counted than happened"""
    stat = Stat()
    jobs("-n", "20", *WORK)
    if not JM:
        fail("unrecoverable")
    run_job("hang" if JM else "store", status=1)
    jobs("-n", "20", *WORK)
    result = stat.end()
    status = result["kernel"]
    # one, and one for each period that ended meanwhile
    check(1 <= status["resets"] <= 2 + status["lost_ns"] // PERIOD_NS, status)
    # a job manager answers before it is reset
    totals = stat.compare(result, exact=JM)
    check(totals[FRAGMENT_JOBS] >= 20 and (totals[FRAGMENT_JOBS] == 40 or status["lost_ns"]),
          f"{totals}, {status}")


@test_csf
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


def with_failing_samples(value, pause_s):
    """What was counted of three times five jobs, of which samples fail during the second."""
    # a suspend would discard what could not be read, and report it
    write(f"{POWER}/control", "on")
    stat = Stat()
    jobs("-n", "5", *WORK)
    fail("sample", value)
    jobs("-n", "5", *WORK)
    time.sleep(pause_s)
    fail("sample", 0)
    jobs("-n", "5", *WORK)
    result = stat.end()
    write(f"{POWER}/control", "auto")
    return stat, result


@test_jm
def late_samples():
    """samples that the hardware writes half a second late: reported, and exact"""
    stat, result = with_failing_samples(1, 0.5)
    check(stat.compare(result)[FRAGMENT_JOBS] == 15 and result["kernel"]["errors"], result)


@test_jm
def partial_samples():
    """samples that lack blocks: those are reported, the others exact"""
    stat, result = with_failing_samples(2, 0.1)
    cores = [c for c in result["counters"] if c["type"] == "shader"]
    check(cores and all(c["samples_missed"] for c in cores), cores)
    result["counters"] = [c for c in result["counters"] if c["type"] != "shader"]
    check(stat.compare(result)[FRAGMENT_JOBS] == 15, result)


@test_jm
def very_late_sample():
    """a sample that is written after its session: not to the memory of the next file"""
    write(f"{POWER}/control", "on")
    stat = Stat()
    fail("sample")
    stat.end()
    # the source is kept for a second
    time.sleep(1.5)
    with subprocess.Popen(["mali-job", "-d", node(), "-n", "4", "-s", "1000", "store"],
                          stdout=subprocess.PIPE, text=True) as job:
        time.sleep(2.5)
        fail("sample", 0)
        out = job.communicate()[0]
    write(f"{POWER}/control", "auto")
    check("done" in out, out)
    count_exactly("-n", "5", number=5)


@test_jm
def no_samples():
    """hardware that writes no sample for seconds: the time is lost, and it counts again"""
    write(f"{POWER}/control", "on")
    stat = Stat()
    jobs("-n", "5", *WORK)
    fail("sample")
    time.sleep(3)
    fail("sample", 0)
    jobs("-n", "5", *WORK)
    result = stat.end()
    write(f"{POWER}/control", "auto")
    totals = stat.compare(result, exact=False)
    check(totals[FRAGMENT_JOBS] >= 5 and result["kernel"]["lost_ns"] > 1_000_000_000, result)
    count_exactly("-n", "5", number=5)


@test_jm
def ioctls_of_the_driver():
    """sessions and PERFCNT_ENABLE refuse each other with EBUSY, and work after each other"""
    write("/sys/module/panfrost/parameters/unstable_ioctls", "1")
    stat = Stat()
    run_job("-c", "0", "store", status=3)
    stat.compare(stat.end())
    # the source is kept for a second
    wait_for(lambda: run_job("-c", "0", "store", status=(0, 3)).returncode == 0, "stays busy")
    with subprocess.Popen(["mali-job", "-d", node(), "-q", "-c", "0", "-n", "1000", "-s", "10",
                           "store"], stdout=subprocess.DEVNULL) as job:
        time.sleep(0.5)
        errors = run("perfctr", "stat", "-d", node(), "-e", FRAGMENT_JOBS, "--", "true",
                     status=1).stderr
        job.kill()
    check("something other than perfctr uses" in errors, errors)
    count_exactly("-n", "5", number=5)


@test_csf
def overflow():
    """a sample that finds no free slot: reported with the lost time, and exact afterwards"""
    lost = int(read(f"{MODEL}/samples").split()[-1])
    stat = Stat()
    jobs("-n", "5", *WORK)
    fail("overflow")
    jobs("-n", "20", "-s", "2", *WORK)
    result = stat.end()
    totals, status = stat.compare(result, exact=False), result["kernel"]
    check(int(read(f"{MODEL}/samples").split()[-1]) == lost + 1, "no sample lost")
    check(status["overflows"] and status["lost_ns"] and totals[FRAGMENT_JOBS] >= 5,
          f"{totals} {status}")
    count_exactly("-n", "5", number=5)


@test
def unplug():
    """unbind and bind 10 times while counting: sessions end with the device, the last is exact"""
    for n in range(10):
        stat = Stat(period="1ms")
        if n % 2:
            jobs("-n", "5", *WORK)
        bind("unbind")
        out, errors = stat.process.communicate(timeout=60)
        check("gone" in errors, errors)
        if out:
            stat.compare(json.loads(out), exact=False)
        bind()
    count_exactly("-n", "5", number=5)


@test_jm
def close_after_unbind():
    """a file with a job in flight and others behind it: unbind and close do not wait for them, and
    the next driver's GPU suspends"""
    # what the job in flight holds is never freed, as without our series: nor is the device
    with open(node(), "rb") as device:
        # pylint: disable=consider-using-with
        subprocess.Popen(["sleep", "infinity"], stdin=device)
        job = subprocess.Popen(["mali-job", "-d", node(), "-w", "-n", "4", "store", "hang"],
                               stdin=subprocess.PIPE)
    time.sleep(0.2)
    bind("unbind")
    job.stdin.close()
    wait_for(lambda: job.poll() == 0, "close waits", seconds=10)
    bind()
    wait_for(suspended, "does not suspend")


@test
def gives_the_ring_back():
    """without sessions the GPU suspends, and does not wake to give back the last one's ring"""
    wait_for(suspended, "does not suspend")
    stat = Stat()
    jobs("-n", "5", *WORK)
    stat.end()
    wait_for(suspended, "does not suspend")
    awake = int(read(f"{POWER}/runtime_active_time"))
    # the ring is kept for a second after the last session
    time.sleep(2)
    check(int(read(f"{POWER}/runtime_active_time")) == awake, "woken to give the ring back")
    check(suspended(), "not suspended")


@test_csf
def validated_live():
    """perfctr validate: kernels without GL, submitted to panthor, count as documented; a campaign's
    program is not run unasked"""
    path = os.path.join(tempfile.mkdtemp(), "mali.json")
    event = "tiler/TRIANGLES" if HAS_128 else "shader/FRAG_PTILES"
    work = "draw={3 * N}" if HAS_128 else "fragment={16 * N},16"
    campaign = {"campaign": "mali", "device": node(), "runs": 2, "events": [{
        "name": "e", "counter": event, "documented": ["things"], "candidates": ["things"]}],
        "benchmarks": [{"name": "job", "command": f"run mali-job -d {node()} -q {work}",
                        "parameters": {"N": [2, 5, 40]}, "quantities": {"things": "N"}}]}
    with open(path, "w", encoding="ascii") as f:
        json.dump(campaign, f)
    check("--run-programs" in run("perfctr", "validate", path, status=1).stderr, "it was run")
    out = run("perfctr", "validate", "--json", "--run-programs", path, status=(0, 5)).stdout
    found, = json.loads(out)["campaigns"][0]["events"]
    check(found["verdict"] == "TRUSTED" and len(found["points"]) == 3, f"{found}")
    campaign["benchmarks"][0]["command"] = "run false {N}"
    with open(path, "w", encoding="ascii") as f:
        json.dump(campaign, f)
    done = run("perfctr", "validate", "--run-programs", path, status=1)
    check("false ended with status 1" in done.stderr, done.stderr)


if __name__ == "__main__":
    sys.exit(harness.main(mali.MISSING))
