#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The local device, on a stock kernel or beside a kernel session. Prints TAP."""

import fcntl
import glob
import grp
import json
import os
import random
import signal
import struct
import subprocess
import sys
import time

import harness
from harness import NOBODY, check, run, test
from vsoc_truth import FOLDER, NODE, truth_of_contexts

STOCK = not os.path.exists("/sys/module/drm_perfctr")
BYTES = ("ucf0/mem_bytes_rd/,ucf0/mem_bytes_wr/,ucf1/mem_bytes_rd/,ucf1/mem_bytes_wr/,"
         "ucf/mem_bytes_rd/")


def a_stock_kernel_is_useful():
    """list, stat, top, record, report, check, info: status 0 on a kernel without our modules"""
    check("counters can be used here" in run("perfctr", "check").stdout, "check")
    check("software/page-faults/" in run("perfctr", "list").stdout, "list")
    shown = run("perfctr", "info").stdout
    check("this machine" in shown and "interface version" not in shown, "info")
    shown = run("perfctr", "top", "--snapshot").stdout
    check("context-switches" in shown and "task-clock" not in shown, "top")
    run("perfctr", "record", "-o", "/tmp/local.perfctr", "--", "sleep", "0.3")
    check("software/task-clock/" in run("perfctr", "report", "/tmp/local.perfctr").stdout, "report")
    report = json.loads(run("perfctr", "report", "-j", "/tmp/local.perfctr").stdout)
    most = [c["sample_max"] for c in report["counters"] if "task-clock" in c["event"]][0]
    check(most <= 4e9 * os.cpu_count(), f"a sample of {most} ns of CPU time per second")
    done = run("perfctr", "stat", "--", "true")
    check("software events only" in done.stderr, done.stderr)
    result = json.loads(run("perfctr", "stat", "-a", "-e", "task-clock", "-j", "--", "sleep",
                            "0.3").stdout)
    clock = [c for c in result["counters"] if c["event"] == "software/task-clock/"][0]["value"]
    # all CPUs together, over the counted time
    wanted = result["elapsed_ns"] * os.cpu_count()
    check(0.9 * wanted <= clock <= 1.1 * wanted and clock, f"{clock} ns of {wanted}")


def a_node_that_may_not_be_opened():
    """check, info: how to open a node, by its group and mode; the local device counts"""
    run("modprobe", "vgem")
    node = glob.glob("/dev/dri/renderD*")[0]
    video = grp.getgrnam("video").gr_gid
    for gid, mode, fix in ((0, 0o600, f"mode 0600: sudo chgrp render {node}; sudo chmod g+rw {node}"
                                      "; sudo usermod -aG render $USER"),
                           (video, 0o660, "mode 0660: sudo usermod -aG video $USER"),
                           (4242, 0o660, f"mode 0660: sudo chgrp render {node}; sudo usermod")):
        os.chown(node, 0, gid)
        os.chmod(node, mode)
        shown = (run("perfctr", "info", uid=NOBODY).stdout +
                 run("perfctr", "check", uid=NOBODY, status=(0, 3)).stdout)
        check(shown.count(fix) == 2 and "\nlocal: this machine" in shown, shown)


@test
def what_perf_refuses_comes_with_a_fix():
    """stat: without permission the message names the sysctl; it names an unknown event"""
    done = run("perfctr", "stat", "-ad", "local", "-e", "software/page-faults/", "--", "true",
               status=3, uid=NOBODY)
    check("kernel.perf_event_paranoid" in done.stderr, done.stderr)
    done = run("perfctr", "stat", "-d", "local", "-e", "software/config=999/", "--", "true",
               status=1)
    check("no such event" in done.stderr, done.stderr)
    done = run("perfctr", "stat", "-d", "local", "-e", "software/page-faults,cpu=77/", "--", "true",
               status=2)
    check("CPU 77 is not online" in done.stderr, done.stderr)


FAULTS = "import mmap; m = mmap.mmap(-1, 4096 * 3000); m[::4096] = b'x' * 3000"


def faults(*options, **more):
    out = "/tmp/faults.json"
    subprocess.run(["perfctr", "stat", "-d", "local", "-jo", out, "-e", "minor-faults", *options],
                   check=True, **more)
    with open(out, encoding="utf-8") as file:
        return json.load(file)["counters"][0]["value"]


@test
def a_process_is_counted_alone():
    """stat: a command or --pid counts that process, its threads and children; -a all processes"""
    # the command asks another process for faults and waits for them
    with subprocess.Popen([sys.executable, "-c", f"while input():\n {FAULTS}\n print(flush=True)"],
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        counts = [faults(*options, "--", "sh", "-c", "echo go; read line", stdin=other.stdout,
                         stdout=other.stdin) for options in ((), ("-a",))]
        other.kill()
    check(counts[0] < 1000 < 3000 < counts[1], f"command: {counts[0]}, machine: {counts[1]}")
    in_child = faults("--", "sh", "-c", f'"{sys.executable}" -c "{FAULTS}"; true')
    check(in_child > 3000, f"child: {in_child}")
    thread = ("import threading\ndef f():\n input()\n " + FAULTS +
              "\nt = threading.Thread(target=f)\nt.start(); print(flush=True); t.join()")
    with subprocess.Popen([sys.executable, "-c", thread], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        process.stdout.readline()
        with subprocess.Popen(["perfctr", "stat", "-p", "50ms", "--jsonl", "-I", "50", "-e",
                               "minor-faults", "--pid", str(process.pid)], text=True,
                              stdout=subprocess.PIPE) as stat:
            while json.loads(stat.stdout.readline())["record"] != "interval":
                pass
            process.stdin.write("\n")
            process.stdin.close()
            last = json.loads(stat.stdout.read().splitlines()[-1])
    check(last["counters"][0]["value"] > 3000 and stat.returncode == 0, f"thread: {last}")


@test
def users_count_their_own_processes():
    """stat: perf_event_paranoid = 2 leaves users their processes without the kernel, 3 nothing"""
    path = "/proc/sys/kernel/perf_event_paranoid"
    with open(path, encoding="ascii") as file:
        before = file.read()
    harness.write(path, "2")
    try:
        done = run("perfctr", "stat", "-d", "local", "--", "true", uid=NOBODY)
        check("without the kernel" in done.stderr and
              "switches and migrates tasks" in done.stderr, done.stderr)
        done = run("perfctr", "stat", "-d", "local", "-j", "--", "true", uid=NOBODY)
        check(json.loads(done.stdout)["excludes"] == "kernel", done.stdout)
        # Debian's default
        harness.write(path, "3")
        done = run("perfctr", "stat", "-d", "local", "--", "true", status=3, uid=NOBODY)
        check("nothing, not even their own" in done.stderr, done.stderr)
    finally:
        harness.write(path, before)


@test
def a_cpu_that_left_is_counted_again():
    """stat: a CPU that leaves and comes back is counted again, and the loss is reported"""
    online = "/sys/devices/system/cpu/cpu1/online"
    done = run("perfctr", "stat", "-ajd", "local", "-p", "10ms", "-e", "software/task-clock,cpu=1/",
               "--", "sh", "-c", f"sleep 1; echo 0 >{online}; echo 1 >{online}; sleep 3")
    result = json.loads(done.stdout)
    clock = result["counters"][0]["value"]
    # a second before, and after the return all but the second until the next look for CPUs
    check(2.5e9 <= clock <= result["elapsed_ns"], f"{clock} ns of {result['elapsed_ns']}")
    lost = result["elapsed_ns"] - clock
    check(0 < lost <= result["lost_ns"] + 0.8e9, f"{lost} ns lost, reported: {result['lost_ns']}")


def local_and_kernel_session_agree():
    """stat: a local and a kernel session count the same bytes of the same work"""
    for seed in "3", "5", "7":
        done = run("perfctr", "stat", "-d", "local", "--json", "-p", "1ms", "-o", "/tmp/local.json",
                   "-e", BYTES, "--", "perfctr", "stat", "--json", "-p", "1ms", "-e", BYTES, "--",
                   "vsoc-job", "-q", "--random", "100", "--seed", seed)
        with open("/tmp/local.json", encoding="utf-8") as file:
            local = json.load(file)
        kernel = json.loads(done.stdout)
        values = [{c["event"]: c["value"] for c in r["counters"]} for r in (local, kernel)]
        check(values[0] == values[1], f"seed {seed}: {values}")
        check(all(values[0].values()) and len(values[0]) == 5, f"nothing counted: {values[0]}")
        check(local["samples"] > 3, f"{local['samples']} samples")


def truth_of_clients():
    """{PID: cycles in which its jobs kept the GPU busy}"""
    cycles = {}
    for account, counts in truth_of_contexts().items():
        pid = account.split("/")[0]
        cycles[pid] = cycles.get(pid, 0) + counts.get(("cshw", 0, "GPU_ACTIVE"), 0)
    return cycles


def do_work(client, chance):
    jobs = 10
    for _ in range(jobs):
        client.stdin.write(f"draw vertices={chance.randrange(9999)} "
                           f"fragments={chance.randrange(99999)}\n")
    client.stdin.write("sync\n")
    client.stdin.flush()
    for _ in range(jobs):
        check("done" in client.stderr.readline(), "a job is not done")


def fdinfo_equals_the_truth():
    """stat: engine times, cycles and memory of DRM clients in fdinfo equal the truth"""
    chance, mib = random.Random(7), 1 << 20
    clients = [subprocess.Popen(["vsoc-job", "-v", "-c", "2", "-f", "-"], stdin=subprocess.PIPE,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
               for _ in range(2)]
    for client in clients:
        do_work(client, chance)
    # a platform device: without drm-pdev, others of the driver have other names
    device = f"drm/vsoc@{os.path.basename(os.path.realpath('/sys/class/drm/renderD128/device'))}"
    events = [f"{device}:engine-gpu/", f"{device}:total-memory/"]
    events += [f"{device}:{key}-gpu,pid={c.pid}/" for c in clients for key in ("engine", "cycles")]
    with open(NODE, "wb") as node:
        # DRM_IOCTL_VSOC_BO_CREATE
        fcntl.ioctl(node, 0xc0186445, struct.pack("QQII", mib, 0, 0, 0))
        with subprocess.Popen(["perfctr", "stat", "-d", "local", "--jsonl", "-p20ms", "-I", "20",
                               "-e", ",".join(events)], text=True, stdout=subprocess.PIPE) as stat:
            while json.loads(stat.stdout.readline())["record"] != "interval":
                pass
            truths = [truth_of_clients()]
            # at half the speed each cycle takes twice as long
            for hz in 400000000, 800000000:
                harness.write(os.path.join(FOLDER, "coregroup_hz"), str(hz))
                do_work(clients[0], chance)
                do_work(clients[1], chance)
                truths.append(truth_of_clients())
            shown = run("perfctr", "top", "-d", "local", "--snapshot", "--per-client").stdout
            check(all(f"pid={c.pid} (v" in shown for c in clients), shown)
            stat.send_signal(signal.SIGINT)
            last = json.loads(stat.stdout.read().splitlines()[-1])
    for client in clients:
        client.communicate()
    slow, fast = ([b[str(c.pid)] - a[str(c.pid)] for c in clients]
                  for a, b in zip(truths, truths[1:]))
    expected = [2 * sum(slow) + sum(fast), mib]
    for a, b in zip(slow, fast):
        expected += [2 * a + b, a + b]
    values = [c["value"] for c in last["counters"]]
    check(values == expected and min(slow + fast) > 0, f"{values}, truth {expected}")


if STOCK:
    test(a_stock_kernel_is_useful)
    test(a_node_that_may_not_be_opened)
else:
    test(local_and_kernel_session_agree)
    test(fdinfo_equals_the_truth)

if __name__ == "__main__":
    time.sleep(0.1)
    sys.exit(harness.main())
