#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr record at 10 kHz on a device (in the VM: the virtual SoC).

Two figures: the recorder's CPU time, and the share of requested samples that arrived. Under
emulation the device is the slow side. Prints JSON; lab/bench/run has the goals.
"""

import json
import os
import subprocess
import sys
import tempfile

PERIOD_NS = 100_000
SECONDS = 5
# 64 counters, as in the other benchmarks: two shader cores of 32
EVENTS = "shader0/*,shader2/*"


def main():
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(["perfctr", "record", "-q", "-j", "-p", f"{PERIOD_NS}ns",
                                    "--timeout", f"{SECONDS}s",
                                    "-e", EVENTS, "-o", os.path.join(folder, "capture")],
                                   stdout=subprocess.PIPE, text=True)
        out = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
    if status:
        print(f"bench-record: perfctr record ended with status {status}", file=sys.stderr)
        return 1
    result = json.loads(out)
    seconds = result["duration_ns"] / 1e9
    cpu_s = used.ru_utime + used.ru_stime
    print(json.dumps({
        "hz": 1e9 / PERIOD_NS,
        "samples_per_s": result["samples"] / seconds,
        "merged_periods": result["kernel"]["merged_periods"],
        "lost_ns": result["kernel"]["lost_ns"],
        "cpu_percent": 100 * cpu_s / seconds,
        "cpu_us_per_sample": 1e6 * cpu_s / result["samples"],
    }))
    return 0


if __name__ == "__main__":
    sys.exit(main())
