#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perf with the database's JSON, on the virtual SoC's PMUs: its events and metrics have the
values that the model's truth makes.

usage, in the guest: vm-perf.py PERF; prints TAP"""

import json
import os
import re
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
sys.path.insert(0, os.path.join(TOP, "kernel/tests/perf"))
from perf_stat import MIXED, RESULTS, report, total, truth, workload  # noqa: E402

PERF = sys.argv[1]
# each kind's PMUs
KINDS = {"ucf": r"nvidia_ucf_pmu_\d", "pcie": r"nvidia_pcie_pmu_\d_rc_\d",
         "pcie_tgt": r"nvidia_pcie_tgt_pmu_\d_rc_\d", "cmem_latency": r"nvidia_cmem_latency_pmu_\d",
         "nvlink_c2c": r"nvidia_nvlink_c2c_pmu_\d", "nvclink": r"nvidia_nvclink_pmu_\d",
         "nvdlink": r"nvidia_nvdlink_pmu_\d"}


def run(*words):
    return subprocess.run([PERF, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, text=True).stdout


class Count:
    """perf stat around the workload: what it printed, and what there really was."""

    def __init__(self, *words):
        before = truth()
        self.text = run("stat", "-a", "-j", *words, "--", *workload(MIXED))
        after = truth()
        rows = [json.loads(line) for line in self.text.splitlines() if line.startswith("{")]
        self.counts = {}
        for row in rows:
            # PMUs of root complexes have a row for each socket: PMU/EVENT/
            event = row.get("event", "").rstrip("/").split("/")[-1]
            if row.get("counter-value", "<")[0] != "<":
                self.counts[event] = self.counts.get(event, 0) + float(row["counter-value"])
        self.metrics = [(float(row["metric-value"]), row["metric-unit"]) for row in rows
                        if row.get("metric-unit")]
        self.before, self.after = before, after

    def really(self, kind, event):
        # without an address PCIE-TGT counts BARs only
        tags = {"dst": ["pcie_peer"]} if kind == "pcie_tgt" else {}
        return sum(total(self.after, pmu, event, **tags) - total(self.before, pmu, event, **tags)
                   for pmu in self.after if re.fullmatch(KINDS[kind], pmu))

    def pmus(self, kind):
        return sum(bool(re.fullmatch(KINDS[kind], pmu)) for pmu in self.after)


def close(a, b, within=1e-4):
    return abs(a - b) <= within * abs(b)


def listed():
    text = run("list", "--no-desc", "metric")
    for name in ("ucf.mem_read_bandwidth", "pcie.read_bandwidth", "cmem_latency.cmem_read_latency",
                 "nvlink_c2c.c2c_in_rd_latency", "nvdlink.dlink_in_rd_latency"):
        report(re.search(rf"^\s*{re.escape(name)}\b", text, re.M) is not None,
               f"perf list metric: {name}", text[-1500:])
    report("scf." not in text, "perf list metric has none of Grace's", text[-1500:])
    text = run("list", "--no-desc", "pcie.rd_bytes")
    report("pcie.rd_bytes" in text, "perf list: pcie.rd_bytes", text)


def events():
    names = [f"{kind}.{event}" for kind, event in (
        ("ucf", "mem_bytes_rd"), ("pcie", "rd_bytes"), ("pcie_tgt", "rd_bytes"),
        ("cmem_latency", "rd_req"), ("nvlink_c2c", "in_rd_req"), ("nvclink", "out_rd_req"),
        ("nvdlink", "in_rd_req"))]
    for name in names:
        c = Count("-e", name)
        wanted = c.really(*name.split("."))
        report(wanted > 0 and c.counts.get(name) == wanted,
               f"{name} counts all PMUs of its kind", f"really {wanted}\n{c.text}")


def metric(name, events, value, within=1e-4):
    """value(count, seconds): what the metric is, from the model's truth of its events"""
    kind = name.split(".")[0]
    c = Count("-M", name)
    wrong = [f"{event}: really {c.really(kind, event)}" for event in events
             if c.counts.get(f"{kind}.{event}") != c.really(kind, event)]
    seconds = c.counts.get("duration_time", 0) / 1e9
    wanted = value(lambda event: c.counts.get(f"{kind}.{event}", 0), seconds, c.pmus(kind))
    values = [v for v, _ in c.metrics]
    report(not wrong and wanted > 0 and any(close(v, wanted, within) for v in values),
           f"perf stat -M {name}", f"{wrong}\nwanted {wanted}, has {c.metrics}\n{c.text}")


def metrics():
    metric("ucf.mem_read_bandwidth", ["mem_bytes_rd"], lambda n, s, _: n("mem_bytes_rd") / s)
    metric("ucf.slc_read_hit_ratio", ["slc_hit_rd", "slc_access_rd"],
           lambda n, *_: 100 * n("slc_hit_rd") / n("slc_access_rd"))
    metric("pcie.read_bandwidth", ["rd_bytes"], lambda n, s, _: n("rd_bytes") / s)
    # the workload's devices are all on socket 0
    metric("pcie.read_latency_cycles", ["rd_cum_outs", "rd_req"],
           lambda n, *_: n("rd_cum_outs") / n("rd_req"))
    metric("pcie_tgt.tgt_read_bandwidth", ["rd_bytes"], lambda n, s, _: n("rd_bytes") / s)
    metric("cmem_latency.cmem_read_bandwidth", ["rd_req"], lambda n, s, _: 32 * n("rd_req") / s)
    metric("cmem_latency.cmem_read_latency_cycles", ["rd_cum_outs", "rd_req"],
           lambda n, *_: n("rd_cum_outs") / n("rd_req"))
    metric("cmem_latency.cmem_read_latency", ["rd_cum_outs", "rd_req"],
           lambda n, s, pmus: n("rd_cum_outs") * s * 1e9 * pmus / (n("rd_req") * n("cycles")))
    metric("nvlink_c2c.c2c_in_rd_latency_cycles", ["in_rd_cum_outs", "in_rd_req"],
           lambda n, *_: n("in_rd_cum_outs") / n("in_rd_req"))
    metric("ucf.frequency", [], lambda n, s, _: 2.5e9, within=0.05)


def main():
    listed()
    events()
    metrics()
    print(f"1..{sum(RESULTS.values())}")
    print(f"{RESULTS['ok']} passed, {RESULTS['not ok']} failed, 0 skipped")
    return RESULTS["not ok"] != 0


sys.exit(main())
