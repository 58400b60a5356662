#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The unmodified panfrost of Debian's kernel source on a model of a Mali GPU with a job manager.
Prints TAP. Runs as root in the guest, under lab/mali/start."""

import subprocess
import sys
import time

import mali
from mali import Log, broken_job, fail, jobs, node, read, run_job, truth
import harness
from harness import check, run, test, wait_for, write

WORK = ("draw=33,2", "fragment=70,50", "compute=5,3,2", "store")
PARAMETERS = "/sys/module/panfrost/parameters"
PLATFORM = "/sys/bus/platform/devices/panfrost"
DEVFREQ = f"{PLATFORM}/devfreq/panfrost"

test(mali.many_jobs)


@test
def more_files_than_address_spaces():
    """12 files share 8 address spaces"""
    jobs("-g", "12", "-n", "8", *WORK, groups=12)


test(mali.suspend_and_resume)


@test
def other_jobs():
    """jobs that do nothing, and that flush caches"""
    jobs("-n", "10", "null", "flush", "store", "null")


@test
def heap_grows():
    """memory that is mapped when a job faults: the job continues"""
    jobs("-n", "3", "heap=8", "store")


# before faults on a G57, which may lose a job with all that it holds. After an unbind the
# unmodified driver never suspends, and enables interrupts of the MMU only at a resume or a reset
test(mali.probe_loop)
test(mali.hung_job)


@test
def page_fault():
    """an address that is not mapped: the job ends, others work"""
    # on a G57 the driver wants a reset, but the scheduler has no job that it could blame: it loses
    # the next one
    log = Log()
    jobs("store", "fault", state="fatal")
    log.expect("Unhandled Page fault in AS")
    log.expect("js fault, js=1, status=JOB_BUS_FAULT")
    run_job("store", status=(0, 1))
    jobs("store")


@test
def invalid_jobs():
    """types that do not exist, or not in this slot: the job ends, others work"""
    for job_type in (0, 6, 8, 9, 12, 127):
        broken_job(f"invalid={job_type}", "js fault, js=1, status=JOB_CONFIG_FAULT")


@test
def exceptions():
    """other exceptions, in the slot of fragment jobs too"""
    for work, slot in (("store", 1), ("fragment=70,50", 0)):
        log = Log()
        fail("job", 0x58)
        jobs(work, state="fatal")
        log.expect(f"js fault, js={slot}, status=DATA_INVALID_FAULT")
        jobs(*WORK)


@test
def hard_reset():
    """a job that ignores a stop, and a soft reset that does not complete: a hard one follows"""
    log = Log()
    fail("soft_stop")
    fail("soft_reset")
    jobs("hang", state="timed out")
    log.expect("gpu soft reset timed out, attempting hard reset")
    fail("soft_stop", 0)
    fail("soft_reset", 0)
    jobs("-n", "10", *WORK)


@test
def clients_that_die():
    """files that are closed while their jobs hang, and while others wait: others work"""
    for _ in range(2):
        with subprocess.Popen(["mali-job", "-g", "3", "-n", "3", "store", "hang"]) as job:
            time.sleep(0.1)
            job.kill()
        jobs("store")


@test
def frequencies():
    """devfreq changes the clock"""
    for hz in read(f"{DEVFREQ}/available_frequencies").split()[::-1]:
        write(f"{DEVFREQ}/max_freq", hz)
        write(f"{DEVFREQ}/min_freq", hz)
        jobs("store")
        wait_for(lambda hz=hz: read(f"{DEVFREQ}/cur_freq") == hz, f"not {hz} Hz")
    write(f"{DEVFREQ}/max_freq", "1000000000")


@test
def profiling():
    """the cycle counter counts while there are jobs, if it is on"""
    write(f"{PLATFORM}/profiling", "1")
    with subprocess.Popen(["mali-job", "-q", "-n", "100000", "-s", "5", *WORK]) as job:
        def cycles():
            text = run("sh", "-c", f"cat /proc/{job.pid}/fdinfo/*").stdout
            lines = [line.split() for line in text.splitlines() if "drm-cycles" in line]
            return len(lines) == 2 and all(int(words[1]) for words in lines)
        wait_for(cycles, "no cycles")
        job.kill()
    write(f"{PLATFORM}/profiling", "0")


@test
def counters_of_the_driver():
    """PERFCNT_ENABLE and PERFCNT_DUMP: for one file at a time; counts equal the truth"""
    write(f"{PARAMETERS}/unstable_ioctls", "1")
    product = read(f"{mali.MODEL}/state").split()[1]
    # positions of jobs, tasks, triangles
    front, tiles, triangles = ((6, 15, 4) if product == "t720" else
                               (8, 20, 4) if product == "t860" else (8, 18, 6))
    before = truth("jm", front), truth("shader", tiles), truth("tiler", triangles)
    out = run_job("-q", "-c", "0", "-n", "10", *WORK).stdout
    counted = [tuple(int(word) for word in line.split()) for line in out.splitlines()]
    block = 7 if product == "t720" else 0
    check((block, front, 10) in counted, out)
    check(sum(n for _, position, n in counted if position == tiles and n < 1000) >= 200, out)
    check(220 in [n for _, position, n in counted if position == triangles], out)
    check((truth("jm", front), truth("shader", tiles), truth("tiler", triangles)) ==
          (before[0] + 10, before[1] + 200, before[2] + 220), "truth")
    with subprocess.Popen(["mali-job", "-q", "-c", "0", "-n", "1000", "-s", "10", "store"]) as job:
        time.sleep(0.5)
        run_job("-c", "0", "store", status=3)
        job.kill()
    run_job("-c", "0", "store")


if __name__ == "__main__":
    sys.exit(harness.main(None if node() else "no render node"))
