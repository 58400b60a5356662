#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The unmodified panthor of Debian's kernel source on a model of a Mali GPU. Prints TAP. Runs as
root in the guest, under lab/mali/start."""

import subprocess
import sys
import time
from contextlib import suppress

import mali
from mali import MODEL, Log, bind, broken_job, fail, jobs, node, run_job, truth
import harness
from harness import check, test, write


test(mali.many_jobs)


@test
def more_groups_than_slots():
    """12 groups with VMs of their own share 8 group slots and 8 address spaces"""
    jobs("-g", "12", "-n", "8", "store", groups=12)


test(mali.suspend_and_resume)


@test
def page_fault():
    """an address that is not mapped: the group ends, another one works"""
    broken_job("fault", "Unhandled Page fault in AS")


@test
def invalid_instruction():
    """instructions that do not exist, or that the model does not execute: CS_FATAL"""
    # RUN_TILING, RUN_FULLSCREEN, PROGRESS_*, PROT_REGION, RUN_COMPUTE_INDIRECT
    for opcode in (255, 5, 8, 24, 42, 43, 41, 44):
        broken_job(f"invalid={opcode}", "CS_INSTR_INVALID")


@test
def unrecoverable():
    """CS_UNRECOVERABLE: the driver resets the GPU, which works again"""
    log = Log()
    fail("unrecoverable")
    run_job("store", status=1)
    log.expect("CS_UNRECOVERABLE")
    jobs("store")


CHUNK_TRIANGLES = (128 << 10) // 64


def twelve_groups():
    """Full heaps while groups lose their slots. If that happens while the driver allocates a chunk,
    it answers the repeated request twice, and may end the group: then try again."""
    for _ in range(5):
        log, full = Log(), truth("csg", 7)
        out = run_job("-g", "12", "-n", "3", f"tile={6 * CHUNK_TRIANGLES}", status=(0, 1)).stdout
        if "Failed to extend the tiler heap" not in log.text():
            break
    check(out.count(", done") == 12, out)
    check(truth("csg", 7) - full == 12 * 2, "not 2 requests each")


@test
def tiler_heap():
    """a tiler heap that is full: the driver adds chunks, up to its limit; then the handler runs"""
    write(f"{MODEL}/tiler_bytes", "64")
    full, triangles, rendered = truth("csg", 7), truth("tiler", 6), truth("cshw", 33)
    # three chunks are added, the first by the first triangle; later jobs use them again
    jobs("-n", "5", f"tile={3 * 3 * CHUNK_TRIANGLES}")
    check(truth("csg", 7) - full == 3, "not 3 requests")
    check(truth("tiler", 6) - triangles == 5 * 3 * CHUNK_TRIANGLES, "not all triangles")
    check(truth("cshw", 33) - rendered == 5, "not all rendered")
    twelve_groups()
    rendered = truth("cshw", 33)
    jobs("handler", f"tile={3 * 7 * CHUNK_TRIANGLES}")
    # of the job, and two of the handler
    check(truth("cshw", 33) - rendered == 1 + 2, "handler")
    broken_job(f"tile={3 * 7 * CHUNK_TRIANGLES}", "(OOM)")
    write(f"{MODEL}/tiler_bytes", "0")


test(mali.hung_job)
test(mali.does_not_halt)


@test
def mute_firmware():
    """firmware that answers nothing: the GPU is reset, and works when firmware does"""
    fail("answers")
    with subprocess.Popen(["mali-job", "-d", node(), "store"], stdout=subprocess.DEVNULL) as job:
        time.sleep(1)
        fail("answers", 0)
        job.wait(60)
    jobs("store")


@test
def unplug_while_working():
    """unbind while 4 groups have jobs that do not end: the next bind works"""
    with subprocess.Popen(["mali-job", "-d", node(), "-g", "4", "-n", "4", "store", "hang"]) as job:
        time.sleep(0.5)
        bind("unbind")
        check(not node(), "the node stays")
        check(job.poll() is None, "jobs ended")
        job.kill()
    bind()
    jobs("store")


@test
def probe_fails():
    """firmware that does not boot: probe fails, and works later"""
    bind("unbind")
    fail("boot")
    log = Log()
    with suppress(OSError):
        bind()
    fail("boot", 0)
    check(not node(), "probe without firmware")
    log.expect("Failed to boot MCU")
    bind()
    jobs("store")


test(mali.probe_loop)


if __name__ == "__main__":
    sys.exit(harness.main(mali.MISSING))
