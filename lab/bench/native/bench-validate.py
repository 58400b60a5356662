#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr validate on what the loop of xavier-gpu counts in N = 0, 1, 2 ... rounds, 30,000 readings
of 3,750 kernels: CPU time, and against half of them. Prints JSON."""

import json
import os
import resource
import subprocess

BUILD = os.environ.get("BUILD") or os.path.join(os.path.dirname(__file__), "../../../build")
# counts of a thread: in each round and beside, without any round
COUNTS = {"DMOV": (0, 0, 0), "inst_misc": (1, 6, 5), "inst_integer": (3, 6, 4),
          "inst_fp_32": (3, 4, 3), "inst_compute_ld_st": (0, 3, 3), "inst_control": (1, 0, 2),
          "inst_bit_convert": (1, 0, 0), "inst_total": (9, 19, 17)}
THREADS, TRIES = 1024, 5


def cpu_s(kernels):
    rows = "".join(f"float-loop,{n},{event},{THREADS * (each * n + (beside if n else none))}\n"
                   for n in range(kernels) for event, (each, beside, none) in COUNTS.items())
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # status 5: the campaign has counters that are not as documented
    assert subprocess.run([os.path.join(BUILD, "bin/perfctr"), "validate", "-m", "-", "-o",
                           "/dev/null", "xavier-gpu"], input="benchmark,N,event,value\n" + rows,
                          text=True, check=False).returncode == 5
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


half, whole = (min(cpu_s(kernels) for _ in range(TRIES)) for kernels in (1875, 3750))
print(json.dumps({"s": whole, "growth": whole / half}))
