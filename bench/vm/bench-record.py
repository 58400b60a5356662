#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: bench-record.py [--json]: perfctr record at 10 kHz on a device (in the VM: the virtual SoC).

Two figures: what recording costs the recorder, and whether the samples came as often as asked for. Under emulation
the device's side is what is slow; merged periods are told, not hidden.
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
        process = subprocess.Popen(["perfctr", "record", "-q", "-j", "-p", f"{PERIOD_NS}ns", "--timeout", f"{SECONDS}s",
                                    "-e", EVENTS, "-o", os.path.join(folder, "capture")], stdout=subprocess.PIPE,
                                   text=True)
        out = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
    if status:
        print(f"bench-record: perfctr record ended with status {status}", file=sys.stderr)
        return 1
    result = json.loads(out)
    seconds = result["duration_ns"] / 1e9
    cpu_s = used.ru_utime + used.ru_stime
    figures = {
        "benchmark": "record",
        "period_ns": PERIOD_NS,
        "samples": result["samples"],
        "samples_per_s": result["samples"] / seconds,
        "periods_per_s": (result["samples"] + result["kernel"]["merged_periods"]) / seconds,
        "merged_periods": result["kernel"]["merged_periods"],
        "lost_ns": result["kernel"]["lost_ns"],
        "bytes_per_s": result["bytes"] / seconds,
        "cpu_percent": 100 * cpu_s / seconds,
        "cpu_us_per_sample": 1e6 * cpu_s / result["samples"],
    }
    if "--json" in sys.argv[1:]:
        print(json.dumps(figures))
        return 0
    print(f"record at {1e9 / PERIOD_NS:,.0f} Hz: {figures['samples_per_s']:,.0f} samples/s and "
          f"{figures['merged_periods']:,} of {figures['periods_per_s'] * seconds:,.0f} periods merged, "
          f"{figures['bytes_per_s'] / 1e6:.1f} MB/s, {figures['cpu_percent']:.1f} % of a CPU in perfctr record "
          f"({figures['cpu_us_per_sample']:.1f} us a sample)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
