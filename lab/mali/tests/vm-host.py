#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr on the unmodified panfrost of Debian's kernel source, through its unstable ioctls, on a
model of a Mali GPU: what is counted equals the model's truth. Prints TAP. Runs as root in the
guest, under lab/mali/start --stock."""

import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import mali
from mali import POWER, Log, bind, fail, jobs, node, read, run_job, suspended
from counts import (EXPECTED, FRAGMENT_JOBS, PRODUCT, WORK, Stat, count_exactly, counting,
                    device_info, truth)
import harness
from harness import NOBODY, check, run, test, wait_for, write

SWITCH = "/sys/module/panfrost/parameters/unstable_ioctls"
DEVFREQ = "/sys/bus/platform/devices/panfrost/devfreq/panfrost"
NANO = 1_000_000_000


def checks(*options, status=0):
    done = run("perfctr", "check", "--json", *options, status=status)
    return json.loads(done.stdout)["checks"]


@test
def switched_off():
    """unstable ioctls are off: refused, with the command that root needs; nothing is turned on"""
    for command in "stat", "list", "top", "record":
        done = run("perfctr", command, "-d", "panfrost", status=3)
        check(f"echo 1 | sudo tee {SWITCH}" in done.stderr, done.stderr)
    line, = [c for c in checks(status=(0, 1, 3)) if c["check"] == "gpu"]
    check(SWITCH in line["fix"] and "ioctls of the driver" in line["text"], line)
    check(read(SWITCH) == "N", "it was turned on")


@test
def looking_wakes_nobody():
    """a GPU that sleeps is not opened, unless it is named"""
    write(SWITCH, "1")
    wait_for(suspended, "does not suspend")
    before = read(f"{POWER}/runtime_active_time")
    entry, = [c for c in checks(status=(0, 1)) if c["check"] == "node"][:1]
    check("asleep" in entry["text"], entry)
    run("perfctr", "info", status=(0, 4))
    run("perfctr", "list", status=(0, 4))
    check(read(f"{POWER}/runtime_active_time") == before, "it was woken")


@test
def describes():
    """info, list and check as with counters in the kernel: product, blocks, names, metrics"""
    info = device_info()
    blocks = [b["type"] for b in info["blocks"]]
    check({"jm", "tiler", "memsys", "shader"} <= set(blocks), blocks)
    check(PRODUCT.upper() in info["name"], info["name"])
    check(info["clocks"][0]["max_frequency_hz"] == NANO, info["clocks"])
    text = run("perfctr", "list", "-d", node()).stdout
    for name in "jm/GPU_ACTIVE", "metric:", "tiler/TRIANGLES":
        check(name in text, f"{name}: {text}")
    listed = checks("-d", node())
    check({"gpu", "sample"} <= {c["check"] for c in listed} and
          all(c["verdict"] != "bad" for c in listed), listed)
    line, = [c for c in listed if c["check"] == "gpu"]
    check("does not sleep while" in line["text"], line)


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
def often():
    """a period of 1 ms: exact"""
    count_exactly("-n", "20", "-s", "20", number=20, period="1ms")


@test
def beyond_32_bits():
    """more cycles than 32 bits hold between two samples: all are counted"""
    hz = read(f"{DEVFREQ}/available_frequencies").split()[-1]
    write(f"{DEVFREQ}/min_freq", hz)
    stat = Stat("-e", "jm/GPU_ACTIVE", period="60s")
    jobs(*WORK)
    time.sleep(2 ** 32 / int(hz) + 2)
    write(f"{DEVFREQ}/min_freq", "0")
    result = stat.end()
    cycles, = [c for c in result["counters"] if c["counter"] == "GPU_ACTIVE"]
    key = "jm", 0, "GPU_ACTIVE"
    happened = truth()[key] - stat.begin.get(key, 0)
    check(2 ** 32 < cycles["value"] <= happened, f"{cycles['value']} of {happened}")
    # the model counted for longer than the session: by the time of starting and ending it
    check(cycles["value"] >= 0.9e-9 * cycles["elapsed_ns"] * int(hz), f"{cycles}")
    result["counters"].remove(cycles)
    stat.compare(result)


@test
def keeps_awake():
    """the GPU is awake while it counts, and sleeps afterwards; --keep-awake is no more than that"""
    wait_for(suspended, "does not suspend")
    stat = Stat("--keep-awake")
    time.sleep(1)
    check(not suspended(), "it sleeps while it counts")
    jobs("-n", "3", "-s", "300", *WORK)
    totals = stat.compare(stat.end())
    check(totals == {event: n * 3 for event, n in EXPECTED.items()}, totals)
    wait_for(suspended, "does not suspend afterwards")


@test
def many_files():
    """12 files on 8 address spaces, of which counting takes one: exact"""
    count_exactly("-g", "12", "-n", "5", number=60, groups=12)


@test
def reset():
    """a job that hangs: the reset forgets the set-up, which costs a second that is reported"""
    log, stat = Log(), Stat()
    jobs("-n", "20", *WORK)
    run_job("hang", status=1)
    # a sample that waits for an answer takes a second
    time.sleep(1.5)
    jobs("-n", "20", *WORK)
    result = stat.end()
    totals, status = stat.compare(result, exact=False), result["kernel"]
    check(20 <= totals[FRAGMENT_JOBS] <= 40 and status["errors"] and status["lost_ns"] > NANO,
          f"{totals} {status}")
    check("timed out" in log.text() or "timeout" in log.text(), log.text())
    count_exactly("-n", "5", number=5)


@test
def system_suspend():
    """the system suspends its devices: the time since the last sample is lost, no more"""
    if "freezer" not in read("/sys/power/pm_test"):
        return "this kernel cannot try a suspend (CONFIG_PM_DEBUG)"
    stat = Stat()
    jobs("-n", "5", *WORK)
    write("/sys/power/pm_test", "devices")
    write("/sys/power/state", "freeze")
    write("/sys/power/pm_test", "none")
    time.sleep(1.5)
    jobs("-n", "5", *WORK)
    result = stat.end()
    totals = stat.compare(result, exact=False)
    check(totals[FRAGMENT_JOBS] >= 5 and result["kernel"]["lost_ns"], f"{totals} {result}")
    count_exactly("-n", "5", number=5)
    return None


@test
def no_samples():
    """hardware that writes no sample for seconds: the time is lost, and it counts again"""
    stat = Stat()
    jobs("-n", "5", *WORK)
    fail("sample")
    time.sleep(2)
    fail("sample", 0)
    time.sleep(1.5)
    jobs("-n", "5", *WORK)
    result = stat.end()
    totals = stat.compare(result, exact=False)
    check(totals[FRAGMENT_JOBS] >= 5 and result["kernel"]["lost_ns"] > NANO, result)
    count_exactly("-n", "5", number=5)


@test
def partial_samples():
    """samples that lack blocks: those are reported, the others exact"""
    stat = Stat()
    jobs("-n", "5", *WORK)
    fail("sample", 2)
    jobs("-n", "5", *WORK)
    time.sleep(0.1)
    fail("sample", 0)
    jobs("-n", "5", *WORK)
    result = stat.end()
    cores = [c for c in result["counters"] if c["type"] == "shader"]
    check(cores and all(c["samples_missed"] for c in cores), cores)
    result["counters"] = [c for c in result["counters"] if c["type"] != "shader"]
    check(stat.compare(result)[FRAGMENT_JOBS] == 15, result)


@test
def second_owner():
    """one file has the counters: a refusal names the programs that may be it, either way"""
    with subprocess.Popen(["mali-job", "-q", "-c", "0", "-n", "1000", "-s", "10", "store"],
                          stdout=subprocess.DEVNULL) as job:
        time.sleep(0.5)
        errors = run("perfctr", "stat", "-d", node(), "-e", FRAGMENT_JOBS, "--", "true",
                     status=1).stderr
        job.kill()
    check(f"mali-job ({job.pid})" in errors and "one program at a time" in errors, errors)
    stat = Stat()
    run_job("-c", "0", "store", status=3)
    errors = run("perfctr", "stat", "-d", node(), "--", "true", status=1).stderr
    check(f"perfctr ({stat.process.pid})" in errors, errors)
    stat.compare(stat.end())
    run_job("-c", "0", "store")


@test
def sigkill():
    """a perfctr that is killed leaves nothing: others count, and the GPU sleeps"""
    stat = Stat()
    stat.process.send_signal(signal.SIGKILL)
    stat.process.wait()
    run_job("-c", "0", "store")
    wait_for(suspended, "does not suspend")
    count_exactly("-n", "5", number=5)


@test
def stopped():
    """a process that stands still: the counts come when it continues, within the time of a wrap"""
    stat = Stat()
    jobs("-n", "5", *WORK)
    stat.process.send_signal(signal.SIGSTOP)
    jobs("-n", "5", *WORK)
    stat.process.send_signal(signal.SIGCONT)
    stat.compare(stat.end())


@test
def permission_is_taken():
    """the switch is turned off while it counts: errors, and nothing is counted wrongly later"""
    stat = Stat()
    jobs("-n", "5", *WORK)
    write(SWITCH, "0")
    time.sleep(0.2)
    jobs("-n", "5", *WORK)
    write(SWITCH, "1")
    jobs("-n", "5", *WORK)
    result = stat.end()
    totals = stat.compare(result)
    check(totals[FRAGMENT_JOBS] == 15 and result["kernel"]["errors"], result)
    # for longer than a counter may take to wrap: a loss
    stat = Stat()
    write(SWITCH, "0")
    time.sleep(2)
    write(SWITCH, "1")
    check(stat.end()["kernel"]["lost_ns"] > NANO, "no loss")


@test
def unprivileged():
    """a user who may open the node counts, as the driver asks for no more"""
    os.chmod(node(), 0o666)
    stat = run("perfctr", "stat", "-d", node(), "--json", "-e", FRAGMENT_JOBS, "--", "mali-job",
               "-q", *WORK, uid=NOBODY)
    os.chmod(node(), 0o600)
    check(json.loads(stat.stdout)["counters"][0]["value"] == 1, stat.stdout)
    errors = run("perfctr", "stat", "-d", node(), "--", "true", uid=NOBODY, status=3).stderr
    check("render" in errors, errors)


POLICY = """
[rule tester]
users = nobody
devices = panfrost
blocks = jm tiler memsys shader
min_period = 1ms
"""


@test
def served():
    """perfctr serve: several users count what one file has, each exactly, within the policy"""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = f"{folder}/socket"
        with open(f"{folder}/policy", "w", encoding="ascii") as f:
            f.write(POLICY)
        with subprocess.Popen(("perfctr", "serve", "-s", path, "--policy", f"{folder}/policy"),
                              stderr=subprocess.DEVNULL) as broker:
            wait_for(lambda: os.path.exists(path), "the broker does not listen")
            # the truth is by names, for which a file may not have the counters
            first = Stat("--via", path, uid=NOBODY, by_others=1)
            jobs("-n", "5", *WORK)
            second = Stat("--via", path, uid=NOBODY, by_others=2)
            jobs("-n", "5", *WORK)
            totals = first.compare(first.end())
            check(totals[FRAGMENT_JOBS] == 10, totals)
            jobs("-n", "5", *WORK)
            totals = second.compare(second.end())
            check(totals[FRAGMENT_JOBS] == 10, totals)
            done = run("perfctr", "stat", "--via", path, "-d", node(), "-e", FRAGMENT_JOBS, "-p",
                       "100us", "--", "true", uid=NOBODY, status=3)
            check("a period of" in done.stderr, done.stderr)
            # nobody counts: the driver gives the counters to others
            run_job("-c", "0", "store")
            # a client that is killed
            third = Stat("--via", path, uid=NOBODY, by_others=1)
            third.process.kill()
            third.process.communicate()
            wait_for(lambda: not counting(), "it counts on")
            run_job("-c", "0", "store")
            broker.terminate()
    wait_for(suspended, "does not suspend")


@test
def captures():
    """record, report, export, top: as of a kernel's counters; engines are in the same sample"""
    before = truth()
    write("/sys/bus/platform/devices/panfrost/profiling", "1")
    with tempfile.TemporaryDirectory() as folder:
        capture = f"{folder}/host.perfctr"
        run("perfctr", "record", "-d", node(), "-o", capture, "-p", "5ms", "-e",
            f"{FRAGMENT_JOBS},tiler/TRIANGLES,drm/*:engine-*/", "--", "mali-job", "-n", "20",
            *WORK)
        rows = list(csv.DictReader(run("perfctr", "export", "-f", "csv",
                                       capture).stdout.splitlines()))
        check("TRIANGLES" in run("perfctr", "report", capture).stdout, "report")
    write("/sys/bus/platform/devices/panfrost/profiling", "0")
    after = truth()
    for block, name in ("jm", "JS0_JOBS"), ("tiler", "TRIANGLES"):
        total = sum(int(r["value"]) for r in rows if r["event"] == f"{block}0/{name}")
        check(total == after[block, 0, name] - before.get((block, 0, name), 0), f"{name}: {total}")
    check(any("engine" in r["event"] for r in rows), {r["event"] for r in rows})
    text = run("perfctr", "top", "-d", node(), "--snapshot").stdout
    check("Mali" in text, text)


@test
def complaints():
    """the kernel warns of nothing but what the driver does itself: after a reset, it gives the
    address space of the counters back twice"""
    known = "panfrost_mmu_as_put", "panfrost_perfcnt_disable_locked"
    others = [line for line in run("dmesg").stdout.splitlines()
              if ("WARNING:" in line and not any(name in line for name in known)) or
              any(word in line for word in ("BUG:", "Oops", "refcount_t"))]
    check(not others, others)


@test
def unplug():
    """unbind while it counts: the session ends with the device, nothing is counted twice"""
    # the driver accesses what it has freed when a file is closed after an unbind, and warns
    log, stat = Log(), Stat(period="1ms")
    jobs("-n", "5", *WORK)
    bind("unbind")
    out, errors = stat.process.communicate(timeout=60)
    check("gone" in errors, errors)
    if out:
        stat.compare(json.loads(out), exact=False)
    bind()
    count_exactly("-n", "5", number=5)
    check("Oops" not in log.text(), log.text())


if __name__ == "__main__":
    sys.exit(harness.main(mali.MISSING))
