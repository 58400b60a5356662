#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: vm-perfetto.py: traces of perfctr export, concatenated with one that Debian sid's Perfetto
records in the same VM. Prints TAP. Needs root and the network: installs Perfetto in a fresh sid."""

import ctypes
import importlib.util
import os
import pathlib
import struct
import subprocess
import sys
import time

import harness
from harness import check, run, test, wait_for, write

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
ROOT = os.path.join(os.environ.get("PERFCTR_BUILD", os.path.join(TOP, "build")), "test/sid-root")
EVENTS = "/sys/kernel/tracing/events/drm_perfctr"
MS = 10**6
BOOTTIME = 6  # in traces
ADJ_TICK, TICK, TIMEX_BYTES = 0x4000, 88, 208
TRACED = "sched/sched_process_exec", "sched/sched_process_exit", "drm_perfctr/drm_perfctr_publish"
# beside the messages of perfetto.proto: field numbers of Perfetto's published schema, and the one
# that it gives to the only event it has no message for
PROTO = """
message Ftrace { repeated FtraceEvent event = 2; }
message FtraceEvent {
    optional uint64 timestamp = 1;
    optional uint32 pid = 2;
    optional Exec exec = 237;
    optional Exit exit = 238;
    optional Publish publish = 65536;
}
message Exec { optional string filename = 1; }
message Exit { optional string comm = 1; }
message Publish { optional uint64 start_ns = 5; optional uint64 end_ns = 6; }
"""


def decode(path):
    """A trace, read by Python's protobuf."""
    if not os.path.exists("/tmp/merged_pb2.py"):
        with open(os.path.join(TOP, "tools/perfctr/export/perfetto.proto"), encoding="ascii") as f:
            text = f.read().replace("message TracePacket {",
                                    "message TracePacket { optional Ftrace ftrace = 1;", 1)
        write("/tmp/merged.proto", text + PROTO)
        run("protoc", "-I/tmp", "--python_out=/tmp", "merged.proto")
    spec = importlib.util.spec_from_file_location("merged_pb2", "/tmp/merged_pb2.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with open(path, "rb") as f:
        return module.Trace.FromString(f.read()).packet


def in_sid(*command):
    sockets = {f"PERFETTO_{name}_SOCK_NAME": f"/tmp/{name}" for name in ("PRODUCER", "CONSUMER")}
    return subprocess.Popen(["chroot", ROOT, *command], stderr=subprocess.DEVNULL,
                            env={**os.environ, **sockets})


def skew():
    """CLOCK_BOOTTIME gains 1 % on the clock of samples, as if NTP corrected it."""
    timex = ctypes.create_string_buffer(TIMEX_BYTES)
    struct.pack_into("I", timex, 0, ADJ_TICK)
    struct.pack_into("q", timex, TICK, 10100)
    check(ctypes.CDLL(None).adjtimex(timex) >= 0, "adjtimex")


def is_skewed():
    """Whether the new rate is in effect: an idle kernel sets it late, and then times between two
    anchors are no straight line."""
    def both():
        return [time.clock_gettime_ns(clock)
                for clock in (time.CLOCK_BOOTTIME, time.CLOCK_MONOTONIC_RAW)]
    before = both()
    time.sleep(0.2)
    boot, raw = (b - a for a, b in zip(before, both()))
    return abs(boot / raw - 1.01) < 0.001


def record():
    """Perfetto, a session of the GPU and one of the CPUs, around a job; then cat."""
    skew()
    wait_for(is_skewed, "CLOCK_BOOTTIME keeps its rate")
    for name in "proc", "sys", "dev", "tmp":
        run("mount", "--rbind", "/" + name, f"{ROOT}/{name}")
    service = in_sid("traced")
    wait_for(lambda: os.path.exists("/tmp/PRODUCER"), "traced does not listen")
    probes = in_sid("traced_probes")
    time.sleep(2)
    client = in_sid("perfetto", "-o", "/tmp/system.pftrace", "-t", "8s", *TRACED)
    enabled = pathlib.Path(EVENTS, "drm_perfctr_publish/enable")
    wait_for(lambda: "1" in enabled.read_text(encoding="ascii"), "Perfetto does not trace")
    run("perfctr", "record", "-q", "-p", "5ms", "-e", "shader0/FRAGMENTS", "-o", "/tmp/gpu.cap",
        "--", "perfctr", "record", "-q", "-d", "local", "-e", "page-faults,task-clock", "-o",
        "/tmp/cpu.cap", "--", "sh", "-c", "sleep 0.5; vsoc-job -q draw fragments=900000; sleep 0.5")
    check(client.wait(30) == 0, "perfetto failed")
    for process in probes, service:
        process.terminate()
        process.wait(30)
    for name in "gpu", "cpu":
        run("perfctr", "export", "-f", "perfetto", "--counts", "-o", f"/tmp/{name}.pftrace",
            f"/tmp/{name}.cap")
    run("sh", "-c", "cd /tmp; cat system.pftrace gpu.pftrace cpu.pftrace >merged.pftrace")


def ftrace(packets, kind):
    return [event for p in packets for event in p.ftrace.event if event.HasField(kind)]


def snapshots(packets):
    """[({clock: ns}, what its clocks are)] in the order of the file"""
    return [({c.clock_id: c.timestamp for c in p.clock_snapshot.clocks},
             tuple((c.clock_id, p.trusted_packet_sequence_id if c.clock_id >= 64 else 0)
                   for c in p.clock_snapshot.clocks))
            for p in packets if p.HasField("clock_snapshot")]


@test
def nothing_collides():
    """a system trace and two of perfctr, concatenated: sequences, tracks, clock snapshots"""
    record()
    parts = [decode(f"/tmp/{name}.pftrace") for name in ("system", "gpu", "cpu")]
    merged = decode("/tmp/merged.pftrace")
    check(len(merged) == sum(map(len, parts)), "packets are lost")
    for what, of in (("sequences", lambda p: p.trusted_packet_sequence_id),
                     ("tracks", lambda p: p.track_descriptor.uuid)):
        sets = [{of(p) for p in part} - {0} for part in parts]
        check(len(set().union(*sets)) == sum(map(len, sets)), f"{what} collide: {sets}")
        check(len(sets[1]) and len(sets[2]), f"no {what}")
    last = {}
    for clocks, kind in snapshots(merged):
        check(clocks[BOOTTIME] >= last.get(kind, 0), f"trace_processor refuses {clocks}")
        last[kind] = clocks[BOOTTIME]
    check(len(last) == 3, f"kinds of snapshots: {list(last)}")
    clocks = [c for c, _ in snapshots(parts[1])]
    check(clocks[-1][BOOTTIME] - clocks[-1][5] > clocks[0][BOOTTIME] - clocks[0][5] + 5 * MS,
          "both clocks run at the same rate, so that this test proves little")


@test
def samples_are_where_the_system_saw_them():
    """each sample in the merged trace ends just before the driver's tracepoint; the counter moves
    while the system sees the job's process"""
    system, gpu = decode("/tmp/system.pftrace"), decode("/tmp/gpu.pftrace")
    events = [p for p in gpu if p.HasField("track_event") and p.track_event.type == 4]
    times = [p.timestamp for p in events]
    published = [e.timestamp for e in ftrace(system, "publish")]
    # a sample ends where the next one begins; the last value is at the end of the last one
    check(len(published) == len(times) - 1 > 50, f"{len(published)} published, {len(times)} values")
    late = [p - t for p, t in zip(published, times[1:])]
    half = len(late) // 2
    check(all(-MS < min(part) < 3 * MS for part in (late[:half], late[half:])),
          f"published late by {late} ns")
    begin = [e.timestamp for e in ftrace(system, "exec") if e.exec.filename.endswith("vsoc-job")]
    end = [e.timestamp for e in ftrace(system, "exit") if e.exit.comm == "vsoc-job"]
    busy = [t for t, p in zip(times, events) if p.track_event.counter_value]
    check(begin and end and busy, "no job")
    print(f"# job of {(end[-1] - begin[0]) / MS:.1f} ms, counted from "
          f"{(busy[0] - begin[0]) / MS:.1f} ms on; {len(late)} samples, published "
          f"{min(late[:half])} ns late, in the second half {min(late[half:])}")
    # 0 follows the last busy sample
    idle = times[times.index(busy[-1]) + 1]
    check(begin[0] - 50 * MS < busy[0] < idle < end[-1] + 50 * MS, "the job is at another time")


def main():
    if os.path.isdir(EVENTS):
        return harness.main()
    try:
        run(f"{TOP}/packaging/clean-root", ROOT, "sid", timeout=900)
        run(f"{TOP}/lab/vm/in-root", ROOT, "--", "apt-get", "install", "-y", "-q",
            "--no-install-recommends", "perfetto", timeout=300)
        return subprocess.run([f"{TOP}/lab/vm/run", "--kernel", "6.12", "--", __file__]).returncode
    finally:
        subprocess.run(["rm", "-rf", "--one-file-system", ROOT])


if __name__ == "__main__":
    sys.exit(main())
