#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The memory system of the virtual SoC: laws that hold whatever the latencies are. Prints TAP. Runs
as root in the guest, in stepped time. --sweep FILE.svg draws latency against load instead."""

import glob
import os
import re
import subprocess
import sys

import harness
from harness import check, test, wait_for, write

DRIVER = "/sys/bus/platform/drivers/vsoc/"
LINE = 64
# jobs of the GPU, and of initiators beside it
GPU = "copy read initiator=gpu address=0x80000000 bytes="
CPU = "--concurrent copy read initiator=cpu bytes="
DEVICE = "--concurrent copy read initiator=noncpu address=0x40000000 bytes="


class Soc:
    """A device in stepped time, and the jobs that were given to it."""

    def __init__(self, memory):
        write(DRIVER + "new_device", f"7 memory={memory} stepped=1")
        self.node = glob.glob("/sys/bus/platform/devices/vsoc.7/drm/renderD*")[0].split("/")[-1]
        self.folder = f"/sys/kernel/debug/dri/{self.node[len('renderD'):]}/vsoc/"
        self.jobs = []
        self.started = []
        self.time_ns = 0

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        for job in self.jobs:
            job.kill()
            job.wait()
        write(DRIVER + "del_device", "7")

    def read(self, name):
        with open(self.folder + name, encoding="ascii") as f:
            return f.read()

    def start(self, words):
        self.started.append(words + " window=64")
        self.jobs.append(subprocess.Popen(["vsoc-job", "-q", "-d", self.node, *words.split()]))
        wait_for(lambda: self.waits(self.jobs[-1]) and self.read("idle") == "0\n", words)

    def waits(self, job):
        """the job was submitted: its process sleeps in WAIT, as no time passes"""
        with open(f"/proc/{job.pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] == "S" and any(
                self.node in os.readlink(fd) for fd in glob.glob(f"/proc/{job.pid}/fd/*"))

    def step(self, ns):
        write(self.folder + "step_ns", str(ns))
        self.time_ns += ns

    def finish(self, step_ns=20000):
        """step until all is done"""
        while self.read("idle") == "0\n":
            self.step(step_ns)
        for job in self.jobs:
            check(job.wait() == 0, f"a job failed: {job.args}")
        self.jobs = []

    def flows(self):
        """{(kind, initiator, operation): {offered, completed, latency_ps, outstanding_ps}}"""
        return {tuple(line.split()[1:4]): {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", line)}
                for line in self.read("memory").splitlines() if line.startswith("flow")}

    def servers(self):
        return {line.split()[1]: {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", line)}
                for line in self.read("memory").splitlines() if line.startswith("server")}

    def counts(self, pmu, event, **tags):
        """sum of the truth of an event over the rows with these tags"""
        block = self.read("soc").split(f"[{pmu}]\n")[1].split("\n[")[0]
        rows = [row.split() for row in block.splitlines()[1:]]
        return sum(int(word.split("=")[1]) for row in rows for word in row
                   if word.split("=")[0] == event and
                   all(f"{k}={v}" in row for k, v in tags.items()))

    def check_laws(self):
        """what must hold when nothing is in flight"""
        for key, f in self.flows().items():
            check(f["offered"] == f["completed"], f"{key}: {f}")
            check(f["latency_ps"] == f["outstanding_ps"], f"{key}: Little's law: {f}")
            # no more in flight than the windows; each job may begin with one that is full
            jobs = [words for words in self.started if f"initiator={key[1].lower()} " in words]
            window = sum(int(words.split("window=")[1].split()[0]) for words in jobs)
            check(f["outstanding_ps"] <= window * (self.time_ns + 1000) * 1000,
                  f"{key}: more than {window} in flight in {self.time_ns} ns: {f}")
        for name, s in self.servers().items():
            check(s["busy_ps"] <= s["units"] * self.time_ns * 1000,
                  f"{name} was busy for longer than {self.time_ns} ns: {s}")


def victim(memory, *others, lines=4096):
    """time and latency of a copy by the GPU beside others"""
    with Soc(memory) as soc:
        for job in others:
            soc.start(job)
        soc.start(GPU + str(LINE * lines))
        key = "MEM", "GPU", "read"
        while soc.flows()[key]["completed"] < lines:
            soc.step(1000)
        f, took = soc.flows()[key], soc.time_ns
        soc.finish()
        soc.check_laws()
    return took, f["latency_ps"] / lines


def in_both(function):
    for memory in "coarse", "exact":
        function(memory)


@test
def others_slow_a_copy_down():
    """beside a CPU, and beside that and a device, a copy takes longer, and each read too"""
    def compare(memory):
        size = LINE * 40000
        runs = [victim(memory), victim(memory, CPU + str(size)),
                victim(memory, CPU + str(size), DEVICE + str(size))]
        for less, more in zip(runs, runs[1:]):
            check(more[0] >= less[0] and more[1] > less[1], f"{memory}: {runs}")
        check(runs[2][0] > 1.2 * runs[0][0], f"{memory}: hardly slower: {runs}")
    in_both(compare)


@test
def modes_agree():
    """coarse and exact: a copy beside two others takes as long, within 15 %"""
    size = LINE * 40000
    times = [victim(memory, CPU + str(size), DEVICE + str(size))[0]
             for memory in ("coarse", "exact")]
    check(0.85 < times[0] / times[1] < 1.15, f"coarse, exact: {times} ns")


@test
def same_steps_same_counts():
    """two devices with the same jobs and steps have the same truth, to the last bit"""
    def compare(memory):
        seen = []
        for _ in range(2):
            with Soc(memory) as soc:
                for job in (CPU + str(LINE * 3000), DEVICE + str(LINE * 5000),
                            GPU + str(LINE * 2000)):
                    soc.start(job)
                for ns in (1, 999, 12345, 70000):
                    soc.step(ns)
                middle = soc.read("memory")
                soc.finish()
                rows = "\n".join(line for line in soc.read("soc").splitlines()
                                 if not line.startswith("state"))
                seen.append((middle, soc.read("memory"), rows, soc.read("truth")))
        check(seen[0] == seen[1], f"{memory} differs")
    in_both(compare)


@test
def remote_read_counts_everywhere():
    """1 MiB from the other socket: both fabrics, both ends of the link, its memory"""
    def measure(memory):
        lines = (1 << 20) // LINE
        with Soc(memory) as soc:
            soc.start(f"copy read initiator=cpu home=remote socket=0 bytes={LINE * lines}")
            soc.finish()
            soc.check_laws()
            seen = {
                "ucf 0": soc.counts("nvidia_ucf_pmu_0", "mem_bytes_rd", src="loc_cpu", dst="rem"),
                "out": LINE * soc.counts("nvidia_nvclink_pmu_0", "out_rd_req"),
                "in": LINE * soc.counts("nvidia_nvclink_pmu_1", "in_rd_req"),
                "ucf 1": soc.counts("nvidia_ucf_pmu_1", "mem_bytes_rd", src="rem", dst="cmem"),
                "cmem 1": 32 * soc.counts("nvidia_cmem_latency_pmu_1", "rd_req"),
            }
            check(set(seen.values()) == {1 << 20}, f"{memory}: {seen}")
            # this end of the link waits for the whole way of the other
            check(soc.counts("nvidia_nvclink_pmu_0", "out_rd_cum_outs") >
                  soc.counts("nvidia_nvclink_pmu_1", "in_rd_cum_outs") > 0, memory)
    in_both(measure)


@test
def cache_keeps_what_fits():
    """1 MiB is read again from the cache, until somebody else needs the space"""
    def measure(memory):
        small, large = LINE * 16384, LINE * 70000
        hits = []
        with Soc(memory) as soc:
            for words in (f"copy read initiator=cpu bytes={small}",) * 2 + (
                    f"copy write initiator=noncpu address=0x40000000 bytes={large}",
                    f"copy read initiator=cpu bytes={small}"):
                before = soc.counts("nvidia_ucf_pmu_0", "slc_hit_rd")
                soc.start(words)
                soc.finish()
                hits.append(soc.counts("nvidia_ucf_pmu_0", "slc_hit_rd") - before)
            check(hits == [0, 16384, 0, 0], f"{memory}: {hits}")
            written = soc.counts("nvidia_ucf_pmu_0", "slc_wb")
            check(written == 70000 + 16384 - 65536, f"{memory}: {written} written back")
            soc.check_laws()
    in_both(measure)


@test
def closed_files_leave_nothing_in_flight():
    """jobs that are killed in the middle: what was offered completes, and the GPU goes on"""
    def measure(memory):
        with Soc(memory) as soc:
            soc.start(DEVICE + str(LINE * 100000) + " window=256 rate=40000000000")
            for job in (CPU, GPU) * 5:
                soc.start(job + str(LINE * 300000) + " window=1")
                soc.step(20000)
                check(any(f["offered"] > f["completed"] for key, f in soc.flows().items()
                          if key[1].lower() in job), "not started")
                soc.jobs[-1].kill()
                soc.jobs.pop().wait()
            soc.finish()
            soc.check_laws()
            soc.start(GPU + str(LINE * 100))
            soc.finish()
    in_both(measure)


RATES = [n * 10 ** 9 for n in (1, 3, 5, 7, 9, 11, 13, 14, 15, 16, 17, 18, 19, 20, 22, 24)]


def sweep(memory, lines=20000):
    """[(offered, reached in bytes per ns, latency in ns)] of two CPUs that read together"""
    points = []
    for rate in RATES:
        with Soc(memory) as soc:
            for n in range(2):
                soc.start(f"--concurrent copy read initiator=cpu address={n << 40 | 8192 * n} "
                          f"bytes={LINE * lines} rate={rate // 2}")
            soc.finish(5000)
            soc.check_laws()
            f = soc.flows()["MEM", "CPU", "read"]
            points.append((rate / 1e9, 2 * LINE * lines / soc.time_ns, f["latency_ps"] / 1000 /
                           (2 * lines)))
    return points


@test
def latency_has_a_knee():
    """more load never shortens a read; at the end it waits, and no more bytes arrive"""
    def measure(memory):
        points = sweep(memory)
        for less, more in zip(points, points[1:]):
            check(more[2] >= 0.98 * less[2], f"{memory}: {points}")
        check(points[-1][2] > 2 * points[0][2], f"{memory}: no knee: {points}")
        check(points[-1][1] < 1.03 * points[-3][1], f"{memory}: no limit: {points}")
        check(abs(points[2][1] / points[2][0] - 1) < 0.05, f"{memory}: {points[2]}")
    in_both(measure)


def draw(path):
    """latency against load as a picture"""
    curves = {memory: sweep(memory) for memory in ("exact", "coarse")}
    wide, high, most = 640, 320, max(p[2] for c in curves.values() for p in c)

    def place(load, latency):
        return f"{60 + load * 22:.1f},{high - 40 - latency / most * (high - 70):.1f}"

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" '
           'font-family="sans-serif" font-size="12">',
           '<title>Latency of reads against load</title>',
           f'<rect width="{wide}" height="{high}" fill="#fff"/>',
           f'<path d="M60,20V{high - 40}H600" fill="none" stroke="#555"/>',
           f'<text x="330" y="{high - 6}" text-anchor="middle">offered load in GB/s</text>',
           '<text x="66" y="16">latency of a read from DRAM in ns</text>']
    for load in range(0, 25, 4):
        out.append(f'<text x="{60 + 22 * load}" y="{high - 24}" text-anchor="middle">{load}</text>')
    for latency in range(100, int(most) + 1, 100):
        x, y = place(0, latency).split(",")
        out.append(f'<text x="{float(x) - 6}" y="{float(y) + 4}" text-anchor="end">{latency}</text>'
                   f'<path d="M{x},{y}H600" stroke="#ddd"/>')
    for (memory, curve), colour in zip(curves.items(), ("#06c", "#c40")):
        out.append(f'<polyline fill="none" stroke="{colour}" stroke-width="2" points="' +
                   " ".join(place(p[0], p[2]) for p in curve) + '"/>')
        x, y = place(curve[-1][0], curve[-1][2]).split(",")
        out.append(f'<text x="{float(x) - 50}" y="{float(y) + (16 if memory == "coarse" else -6)}" '
                   f'fill="{colour}">{memory}</text>')
    with open(path, "w", encoding="ascii") as f:
        f.write("\n".join([*out, "</svg>"]) + "\n")


if len(sys.argv) == 3 and sys.argv[1] == "--sweep":
    draw(sys.argv[2])
else:
    sys.exit(harness.main())
