#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr against the virtual SoC's truth. Prints TAP. Runs as root in the guest."""

import contextlib
import csv
import glob
import io
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

import harness
import kit
from harness import FABRIC, NOBODY, check, drop, run, test, test_of_fabric, wait_for, write
from vsoc_truth import (ALL_GPU, FOLDER, MISSING, MOVED_BY_MEASURING, NODE, compare, counted, truth,
                        truth_of_contexts)


def stat_against_truth(*options):
    before = truth()
    out = run("perfctr", "stat", "--json", "-A", "-e", ALL_GPU, *options, "--",
              "vsoc-job", "-q", "--random", "150", "--seed", "11", "-c", "3").stdout
    result = json.loads(out)
    check(result["exit_status"] == 0 and result["missing_samples"] == 0, "bad run")
    compare(result["counters"], counted(before, truth()))
    return result


@test
def fast_period_totals_equal_truth():
    """stat -p 1: a thousand samples per second add up to the truth"""
    check(stat_against_truth("-p", "1ms")["samples"] > 3, "too few samples")


@test
def intervals_add_up():
    """stat -I: the values of the intervals add up to the summary"""
    result = stat_against_truth("-I", "20", "-p", "5ms")
    check(any(c["value"] for c in result["counters"]), "nothing was counted")
    check(len(result["intervals"]) >= 2, "too few intervals")
    for n, c in enumerate(result["counters"]):
        total = sum(i["counters"][n]["value"] for i in result["intervals"])
        check(total == c["value"], f"{c['event']}: {total} in intervals, {c['value']} in all")


@test
def node_of_pmus():
    """stat: a node that has only PMUs counts them; its defaults are metrics, not all events"""
    before = set(glob.glob("/dev/dri/renderD*"))
    run("insmod", os.path.join(os.environ["PERFCTR_KMOD"], "perfctr_soc.ko"))
    try:
        node, = set(glob.glob("/dev/dri/renderD*")) - before
        # a process has faults, and the system's are not fewer
        event, = json.loads(run("perfctr", "stat", "-j", "-d", node, "-e",
                                "software/page-faults/", "--", "true").stdout)["counters"]
        check(event["state"] == "ok" and event["value"] > 0, f"{event}")
        if FABRIC:
            blocks = {c["block"] for c in json.loads(
                run("perfctr", "stat", "-j", "-d", node, "--", "true").stdout)["counters"]}
            check("ucf" in blocks and "nvclink" not in blocks, f"{blocks}")
    finally:
        run("rmmod", "perfctr_soc")


@test
def partition_is_the_whole():
    """stat: cores of another partition are no part of a sum, of its clock and of a metric"""
    partition = os.path.join(FOLDER, "partition")
    with open(partition, encoding="ascii") as f:
        whole = f.read()
    write(partition, "0x1")
    try:
        result = json.loads(run("perfctr", "stat", "-j", "-e", "shader/CORE_ACTIVE",
                                "-e", "metric:shader_utilization", "--", "vsoc-job", "-q",
                                "--random", "40").stdout)
    finally:
        write(partition, whole)
    core, = result["counters"]
    metric, = result["metrics"]
    check(core["value"] and not core.get("samples_missed"), f"{core}")
    check(0 < metric["value"] <= 100, f"{metric}")


@test_of_fabric
def pmus_of_another_device():
    """list, stat: each device offers the fabric, whose PMUs are the machine's"""
    def events(node, *words):
        result = json.loads(run("perfctr", "stat", "-j", "-d", node, *words, "--", "true").stdout)
        return {c["block"] for c in result["counters"]}

    before = set(glob.glob("/dev/dri/renderD*"))
    write("/sys/bus/platform/drivers/vsoc/new_device", "9")
    try:
        other, = set(glob.glob("/dev/dri/renderD*")) - before
        for node in NODE, other:
            check({"ucf", "shader"} <= events(node), f"defaults of {node}")
            check("nvidia_ucf" in run("perfctr", "list", "-d", node).stdout, f"list of {node}")
            check("ucf0" in events(node, "-e", "ucf0/mem_bytes_rd/"), f"named on {node}")
    finally:
        write("/sys/bus/platform/drivers/vsoc/del_device", "9")


@test
def ends_with_its_command():
    """stat -I 1 -p 1: ends with its command even if samples arrive faster than they are shown"""
    check(len(stat_against_truth("-I", "1", "-p", "1ms")["intervals"]) > 5, "too few intervals")


def contexts_of(result):
    """{tag or kind: {(block type, index, counter): value}}"""
    return {c["user_data"] if c["kind"] == "context" else c["kind"]:
            {(k["type"], k["index"], k["counter"]): k["value"] for k in c["counters"]}
            for c in result["contexts"]}


@test
def contexts_equal_truth():
    """stat --per-context: counts of each context are exact beside other clients, and add up"""
    jobs = 60
    before = truth()
    stat = subprocess.Popen(["perfctr", "stat", "-j", "-A", "--per-context", "-e", ALL_GPU, "--",
                             "vsoc-job", "-v", "--tag-contexts", "-c", "3", "-f", "-"], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    stat.stdin.write("draw\nsync\n")
    stat.stdin.flush()
    check("done" in stat.stderr.readline(), "the first job is not done")
    begun = truth()
    other = subprocess.Popen(["vsoc-job", "-q", "--random", "400", "--seed", "5"])
    wait_for(lambda: truth()["cshw", 0, "JOBS"] > begun["cshw", 0, "JOBS"] + 5,
             "the other client does nothing")
    for n in range(jobs):
        stat.stdin.write(
            f"draw vertices={3 * n} fragments={1000 + n} compute threads={n} instructions=9\n")
    stat.stdin.write("sync\n")
    stat.stdin.flush()
    for _ in range(jobs):
        check("done" in stat.stderr.readline(), "a job is not done")
    other.wait(timeout=60)
    accounts = truth_of_contexts()
    result = json.loads(stat.communicate(timeout=60)[0])
    total = {(c["type"], c["index"], c["counter"]): c["value"] for c in result["counters"]}
    compare(result["counters"], counted(before, truth()))
    parts = contexts_of(result)
    check(sorted(parts, key=str) == [1, 2, 3, "others"], f"{sorted(parts, key=str)}")
    for key, value in total.items():
        check(sum(p[key] for p in parts.values()) == value, f"{key}: the parts are not {value}")
    for tag in (1, 2, 3):
        account = next(a for n, a in accounts.items() if n.startswith(f"{stat.pid}/") and
                       n.endswith(f"/{tag - 1}"))
        for key, value in parts[tag].items():
            # the cost of a job's start and end is outside of its samples
            if key[0] in ("shader", "tiler", "memsys") and key[2] not in MOVED_BY_MEASURING:
                check(value == account.get(key, 0),
                      f"context {tag}, {key}: {value}, truth {account.get(key, 0)}")
        check(parts[tag]["shader", 0, "FRAGMENTS"] > 1000, f"{parts[tag]}")
    check(parts["others"]["shader", 0, "FRAGMENTS"] > 1000, "the other client did nothing")


@test
def full_ring_mixes_contexts():
    """stat --per-context: samples that a full ring merged are reported as mixed, and the total
    is exact"""
    done = run("perfctr", "stat", "-j", "--per-context", "-e", "FRAGMENTS", "--", "sh", "-c",
               "kill -STOP $PPID; vsoc-job -q --tag-contexts -r 700 draw fragments=10; "
               "kill -CONT $PPID")
    result = json.loads(done.stdout)
    values = {tag: sum(counters.values()) for tag, counters in contexts_of(result).items()}
    check(result["counters"][0]["value"] == 7000 == sum(values.values()), f"{values}")
    check(0 < values["mixed"] < 7000 and 0 < values[1] < 7000, f"{values}")
    for words, text in ((["-p", "5ms", "--per-context", "true"], "without -I, -p and -r"),
                        (["--per-context"], "of a COMMAND")):
        check(text in run("perfctr", "stat", *words, status=2).stderr, text)
    done = run("perfctr", "stat", "--per-context", "-e", "FRAGMENTS", "true")
    check("no job carried a tagged sample" in done.stderr, done.stderr)


@test
def info_fits_the_terminal():
    """info in 60 columns: no line is longer, nothing is left out"""
    lines = harness.lines_in_columns(60, "perfctr", "info")
    for line in lines:
        check(len(line) <= 60, f"{len(line)}: '{line}'")
    check("\n".join(lines).split() == run("perfctr", "info").stdout.split(), "words differ")
    check(lines[0].startswith("/dev/dri/") and lines[1].startswith("    "),
          f"not indented as it should: {lines[:2]}")


@test
def csv_fields():
    """stat -x: a row of nine fields for each counter, quoted where needed"""
    out = run("perfctr", "stat", "-x", ",", "-e", "FRAGMENTS,software/context-switches,cpu=0/",
              "vsoc-job", "-q", "draw", "fragments=1000").stderr
    rows = list(csv.reader(io.StringIO(out)))
    check([len(r) for r in rows] == [9, 9], f"fields: {rows}")
    check(rows[0][:3] == ["1000", "fragments", "shader/FRAGMENTS"], f"row: {rows[0]}")
    check(rows[1][2] == "software/context-switches,cpu=0/", f"row: {rows[1]}")


@test
def exit_status_is_the_commands():
    """stat: exit status of the command, 128 + signal, 127 if not found"""
    run("perfctr", "stat", "-e", "FRAGMENTS", "--", "sh", "-c", "exit 7", status=7)
    run("perfctr", "stat", "-e", "FRAGMENTS", "--", "sh", "-c", "kill -9 $$", status=137)
    run("perfctr", "stat", "-e", "FRAGMENTS", "no-such-command", status=127)
    run("perfctr", "stat", "-e", "nonsense", "true", status=2)


def wait_until_counting(process):
    """Wait until stat has blocked its signals, which it does before it counts."""
    for _ in range(200):
        with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
            blocked = next(int(line.split()[1], 16) for line in f if line.startswith("SigBlk"))
        if blocked >> (signal.SIGTERM - 1) & 1:
            break
        time.sleep(0.05)
    time.sleep(0.3)


@test
def interrupt_leaves_valid_json():
    """stat --json and --jsonl: valid after SIGINT and SIGTERM"""
    for option in ("--json", "--jsonl"):
        for number in (signal.SIGINT, signal.SIGTERM):
            process = subprocess.Popen(["perfctr", "stat", option, "-I", "20", "-e", "FRAGMENTS"],
                                       stdout=subprocess.PIPE, text=True)
            wait_until_counting(process)
            process.send_signal(number)
            out = process.communicate(timeout=20)[0]
            check(process.returncode == 0, f"status {process.returncode}")
            documents = [out] if option == "--json" else out.splitlines()
            last = [json.loads(d) for d in documents][-1]
            check(last["counters"][0]["value"] == 0, f"counted {last['counters']}")


@test
def command_output_is_apart():
    """stat --json: the document has no output of the command"""
    done = run("perfctr", "stat", "--json", "-e", "FRAGMENTS", "echo", "hello")
    json.loads(done.stdout)
    check("hello" in done.stderr, "output of the command is lost")


PARANOID = "/proc/sys/dev/perfctr/paranoid"
PERF_PARANOID = "/proc/sys/kernel/perf_event_paranoid"


@test
def denied_counts_the_rest():
    """a user without permission for the GPU counts own processes; messages say why"""
    with open(PERF_PARANOID, encoding="ascii") as f:
        before = f.read()
    write(PERF_PARANOID, "2")
    try:
        for mode in 0o600, 0o666:
            os.chmod(NODE, mode)
            done = run("perfctr", "stat", "-j", "--", "true", uid=NOBODY)
            check(json.loads(done.stdout)["device"]["driver"] == "local", done.stdout)
            check("may not count on the GPU" in done.stderr, done.stderr)
            done = run("perfctr", "stat", "-e", "FRAGMENTS", "--", "true", uid=NOBODY, status=3)
            check(("-d local" if mode == 0o600 else "dev.perfctr.paranoid=0") in done.stderr,
                  done.stderr)
            done = run("perfctr", "check", "-j", uid=NOBODY, status=3)
            note, = (c for c in json.loads(done.stdout)["checks"] if c["check"] == "local")
            check("own processes" in note["text"], f"{note}")
    finally:
        write(PERF_PARANOID, before)


@test
def denied_says_why():
    """without privilege: status 3 and the command that fixes it"""
    os.chmod(NODE, 0o666)
    become = drop(NOBODY, [os.stat(NODE).st_gid])
    done = run("perfctr", "stat", "-e", "FRAGMENTS", "true", status=3, preexec_fn=become)
    check("dev.perfctr.paranoid=0" in done.stderr, f"no fix in {done.stderr!r}")
    result = json.loads(run("perfctr", "check", "--json", status=3, preexec_fn=become).stdout)
    fixes = [c["fix"] for c in result["checks"] if c["verdict"] == "bad"]
    check(not result["usable"] and len(fixes) == 1 and "paranoid=0" in fixes[0], f"fixes {fixes}")



@test
def everyone_may_count_but_perf_pmus():
    """dev.perfctr.paranoid = 0: a user without access to perf's PMUs counts everything else"""
    os.chmod(NODE, 0o666)
    with open(PERF_PARANOID, encoding="ascii") as f:
        before = f.read()
    write(PARANOID, "0")
    try:
        for level in ("3", "1", "0"):
            write(PERF_PARANOID, level)
            open_to_all = level == "0"
            done = run("perfctr", "stat", "-x", ";", "--", "true", uid=NOBODY)
            if FABRIC:
                reported = ("without ucf, pcie, cmem_latency: "
                            f"kernel.perf_event_paranoid = {level} ")
                check((reported in done.stderr) != open_to_all, f"{level}: stderr {done.stderr!r}")
                check(("metric:ucf" in done.stderr) == open_to_all, f"{level}: {done.stderr}")
            check("cshw/GPU_ACTIVE" in done.stderr, f"{level}: {done.stderr}")
            run("perfctr", "top", "--snapshot", uid=NOBODY)
            result = json.loads(run("perfctr", "check", "-j", uid=NOBODY).stdout)
            line = next(c for c in result["checks"] if c["check"] == "perf PMUs")
            check(result["usable"], f"{level}: {result}")
            if FABRIC:
                check(line["verdict"] == ("ok" if open_to_all else "note"), f"{level}: {line}")
                check(open_to_all or "perf_event_paranoid=0" in line["fix"], f"{level}: {line}")
            else:
                check(line["verdict"] == "note" and "not tried" in line["text"], f"{line}")
            done = run("perfctr", "stat", "-e", "software/context-switches/", "true", status=3,
                       uid=NOBODY)
            check("need CAP_PERFMON" in done.stderr, f"{level}: {done.stderr}")
            if not FABRIC:
                continue
            done = run("perfctr", "stat", "-e", "ucf0/mem_bytes_rd/", "true",
                       status=0 if open_to_all else 3, uid=NOBODY)
            check(open_to_all or f"kernel.perf_event_paranoid = {level}" in done.stderr,
                  f"{level}: {done.stderr}")
    finally:
        write(PARANOID, "1")
        write(PERF_PARANOID, before)


@test
def refusals_are_explained():
    """stat: names what the kernel refuses, with status 2"""
    cases = {"software/context-switches,cpu=77/": "CPU 77 is not online"}
    if FABRIC:
        # the driver would accept these, and count nothing
        cases["pcie0_rc4/rd_bytes,src_bdf=0x0108/"] = "src_bdf does nothing without src_bdf_en=1"
        cases["pcie0_rc4/rd_bytes,src_rp_mask=1,src_bdf=0x0108,src_bdf_en=1/"] = \
            "src_bdf_en and src_rp_mask exclude each other"
    if os.path.exists("/sys/bus/event_source/devices/msr"):  # of x86
        cases["msr/event=0xff/"] = "the PMU msr refuses msr/event=0xff/"
    for event, text in cases.items():
        done = run("perfctr", "stat", "-e", event, "true", status=2)
        check(text in done.stderr, f"{event}: {done.stderr!r}")
    done = run("perfctr", "stat", "-p", "1us", "-e", "GPU_ACTIVE", "true", status=2)
    check("the period of 1 us is not within" in done.stderr, done.stderr)


def counters_of(*arguments):
    out = run("perfctr", "stat", "--json", *arguments).stdout
    return json.loads(out)["counters"]


@test
def what_is_named_is_a_row():
    """stat -e memsys0/...: a separate row of that name; only types are added up"""
    before = truth()
    fabric = ("ucf/cycles/", "ucf0/mem_bytes_rd/", "ucf1/mem_bytes_rd/") if FABRIC else ()
    events = "memsys0/L2_READ", "shader0/FRAGMENTS", "shader1?/FRAGMENTS", *fabric
    counters = counters_of("-e", ",".join(events), "--",
                           "vsoc-job", "-q", "--random", "30", "--seed", "3")
    expected = counted(before, truth())
    rows = {c["event"]: c for c in counters}
    check(sorted(rows) == ["memsys0/L2_READ", "shader0/FRAGMENTS", "shader16/FRAGMENTS",
                           "shader18/FRAGMENTS", *fabric], f"rows {sorted(rows)}")
    for event, c in rows.items():
        if c["index"] is not None:
            check(c["block_names"] == [event.split("/")[0]] == [c["block"]], f"{c}")
        key = (c["type"], c["index"], c["counter"])
        check(key not in expected or c["value"] == expected[key], f"{c}: truth {expected.get(key)}")
    if FABRIC:
        check(rows["ucf/cycles/"]["block_names"] == ["ucf0", "ucf1"], f"{rows['ucf/cycles/']}")
    both = counters_of("-e", "shader/FRAGMENTS,shader16/FRAGMENTS", "--",
                       "vsoc-job", "-q", "draw", "fragments=1000")
    check([(c["event"], c["value"]) for c in both] ==
          [("shader/FRAGMENTS", 1000), ("shader16/FRAGMENTS", 250)], f"{both}")


@test_of_fabric
def ranges_are_rates():
    """stat: min, mean and max are rates over true spans"""
    result = json.loads(run("perfctr", "stat", "-j", "-p", "20ms", "--timeout", "1s", "-e",
                            "ucf0/cycles/").stdout)
    c = result["counters"][0]
    check(c["min_rate"] <= c["mean_rate"] <= c["max_rate"], f"{c}")
    check(0.9 < c["mean_rate"] / c["rate"] < 1.1, f"mean {c['mean_rate']} of {c['rate']}")
    check(c["intervals"] > 5, f"{c}")
    # most of the time is in intervals too short to compare
    c = counters_of("-p", "10s", "-e", "GPU_ACTIVE", "true")[0]
    check(c["intervals"] == 0 and "min_rate" not in c, f"{c}")


def rate_in(text, event):
    """Number and prefix before "/s" in a line of stat, report or diff."""
    line = next(line for line in text.splitlines() if f" {event}" in line)
    number, prefix = re.search(r" ([0-9.]+) ?([kMG]?)/s", line).groups()
    return float(number) * {"": 1, "k": 1e3, "M": 1e6, "G": 1e9}[prefix], line


@test_of_fabric
def one_rule_of_rates():
    """stat, top, report and diff: the rate of several blocks is their sum, beside one clock"""
    events = "ucf/cycles/,ucf0/cycles/"
    stat = run("perfctr", "stat", "-e", events, "--timeout", "1s").stdout
    both, line = rate_in(stat, "ucf/cycles/")
    one, line_of_one = rate_in(stat, "ucf0/cycles/")
    check(1.98 < both / one < 2.02, f"{both} {one}")
    check("/s in each of 2 blocks)" in line and "in each" not in line_of_one, stat)
    with tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "a.cap")
        run("perfctr", "record", "-q", "-p100ms", "-e", events, "-o", capture, "--timeout", "1s")
        text = run("perfctr", "report", capture).stdout
        diff = json.loads(run("perfctr", "diff", "-j", capture, capture).stdout)
    recorded, line = rate_in(text, "ucf/cycles/")
    check(0.98 < recorded / both < 1.02, f"stat {both}, report {recorded}")
    check("/s in each of 2 blocks" in line, text)
    numbers = [c["a"] for c in diff["changes"] if c["event"] == "ucf/cycles/"]
    check(len(numbers) == 1 and 0.98 < numbers[0]["number"] / both < 1.02,
          f"stat {both}, diff {numbers}")
    top = json.loads(run("perfctr", "top", "--snapshot", "-j", "-e", events).stdout)
    shown = {i["event"]: i["value"] for i in top["items"]}
    check(0.98 < shown["ucf/cycles/"] / both < 1.02, f"stat {both}, top {shown}")


@test
def device_that_goes_leaves_a_result():
    """stat: the result up to the device's removal, the command ends by itself, status 4"""
    driver = "/sys/bus/platform/drivers/vsoc/"
    command = ["perfctr", "stat", "-j", "-I", "100", "-e", "GPU_ACTIVE", "--", "sh", "-c",
               f"sleep 1; echo vsoc.0 > {driver}unbind; sleep 1; echo finished >&2"]
    try:
        done = run(*command, status=4)
    finally:
        write(driver + "bind", "vsoc.0")
    result = json.loads(done.stdout)
    check("finished" in done.stderr, f"the command was not left alone: {done.stderr}")
    check("the device is gone" in done.stderr, done.stderr)
    check(result["ended_by"] == "device" and result["exit_status"] == 0, f"{result}")
    check(len(result["intervals"]) >= 3, f"{len(result['intervals'])} intervals")
    check(0.3e9 < result["elapsed_ns"] < 2.5e9, f"{result['elapsed_ns']} ns")


@test
def counters_of_other_sets_are_reported():
    """stat: the message about a counter of another set names --set"""
    done = run("perfctr", "stat", "-e", "FRAGMENTS_KILLED", "true", status=2)
    check("--set 2" in done.stderr, done.stderr)
    done = run("perfctr", "stat", "--set", "1", "-e", "shader/FRAGMENTS", "true", status=2)
    check("--set 0" in done.stderr, done.stderr)
    run("perfctr", "stat", "--set", "2", "-e", "FRAGMENTS_KILLED", "true")


@test
def list_knows_short_names_and_filters():
    """list: metric:NAME without its block, filters and trust with -l"""
    out = run("perfctr", "list", "metric:l2_read_hit_ratio").stdout
    check("metric:memsys.l2_read_hit_ratio" in out, out)
    out = run("perfctr", "list", "-l").stdout
    check(not FABRIC or out.count("src_bdf_en=0..1") == 1 and "dst_addr_base" in out, "filters")
    check("Trust: unvalidated:" in out, "trust")


@test
def list_info_check():
    """list, info and check: valid JSON that agrees with itself"""
    events = json.loads(run("perfctr", "list", "--json").stdout)["events"]
    check(all(e["short"] and e["long"] and e["unit"] for e in events if e["id"]), "texts missing")
    device = json.loads(run("perfctr", "info", "--json").stdout)["devices"][0]
    check([b["block"] for b in device["blocks"] if b["type"] == "shader"]
          == ["shader0", "shader2", "shader16", "shader18"], "shader blocks")
    check(json.loads(run("perfctr", "check", "--json").stdout)["usable"], "not usable")


def clients_of(user=None):
    """Processes with sessions in the user's info, and whether there may be more."""
    options = {"preexec_fn": drop(user)} if user else {}
    out = subprocess.run(["perfctr", "info", "--json"], stdout=subprocess.PIPE, check=True,
                         **options).stdout
    device = next(d for d in json.loads(out)["devices"] if d["driver"] == "vsoc")
    return device["clients"], device["clients_hidden"]


@test
def info_lists_owners_of_sessions():
    """info: root and their owner see the processes that prevent a session with another counter
    set"""
    check(clients_of() == ([], False), f"sessions of nobody: {clients_of()}")
    os.chmod(NODE, 0o666)
    write(PARANOID, "0")
    holder = subprocess.Popen(["perfctr", "stat", "--set", "1", "-e", "shader/*", "--", "cat"],
                              preexec_fn=drop(),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        wait_for(lambda: clients_of()[0], "nobody has a session")
        (client,), hidden = clients_of()
        check(not hidden, "root does not see all")
        check((client["pid"], client["command"], client["uid"],
               client["set"]) == (holder.pid, "perfctr", NOBODY, 1), f"{client}")
        check((client["sessions"], client["active"]) == (1, 1) and client["buffers_kib"] > 0,
              f"{client}")
        check(clients_of(NOBODY) == ([client], True), f"its own user: {clients_of(NOBODY)}")
        check(clients_of(NOBODY - 1) == ([], True), f"another user: {clients_of(NOBODY - 1)}")
        refused = run("perfctr", "stat", "--set", "0", "-e", "shader/*", "true", status=1).stderr
        check("another session uses another counter set" in refused and "perfctr info" in refused,
              refused)
        # root may count in that set
        run("perfctr", "check")
        text = run("perfctr", "info").stdout
        check("may count everything" in text, text)
        # the root of arm64 has no names of users
        check(re.search(rf"pid {holder.pid} \(perfctr\) of (nobody|uid {NOBODY}), fd ", text) and
              "uses counter set 1 (secondary)" in text, text)
    finally:
        holder.communicate()
        write(PARANOID, "1")
    check(clients_of() == ([], False), f"after its end: {clients_of()}")
    check(" sessions: none\n" in run("perfctr", "info").stdout, "no line that there are none")


def link_of(path):
    with contextlib.suppress(FileNotFoundError):
        return os.readlink(path)
    return ""


@test
def info_lists_hidden_sessions():
    """info: counts a session whose descriptor is in a message; the kernel's list has its creator"""
    left, right = socket.socketpair()
    counting = kit.Kit(NODE, "FRAGMENTS")
    counting.begin_experiment()
    counting.begin_pass(0)
    session = next(int(fd) for fd in os.listdir("/proc/self/fd")
                   if "anon_inode:[perfctr]" in link_of(f"/proc/self/fd/{fd}"))
    # in the message only; the mappings of this process do not keep the session
    socket.send_fds(right, [b"x"], [session])
    os.close(session)
    right.close()
    device = next(d for d in json.loads(run("perfctr", "info", "-j").stdout)["devices"]
                  if d["driver"] == "vsoc")
    check((device["clients"], device["sessions_unseen"]) == ([], 1),
          f"{device['clients']}, {device['sessions_unseen']}")
    text = run("perfctr", "info").stdout
    file = "/sys/kernel/debug/dri/" + NODE[-3:] + "/perfctr_sessions"
    check(f"  1 that no process has a descriptor of: see {file}" in text, text)
    with open(file, encoding="ascii") as f:
        lines = f.read().splitlines()
    check(len(lines) == 2 and lines[1].split()[:4] == [str(os.getpid()), "0", "yes", "0"] and
          lines[1].endswith(" python3"), f"{os.getpid()}: {lines}")
    left.close()
    check(clients_of() == ([], False), f"after the message's end: {clients_of()}")
    with open(file, encoding="ascii") as f:
        lines = f.read().splitlines()
    check(len(lines) == 1, f"a session is left: {lines}")


if __name__ == "__main__":
    sys.exit(harness.main(MISSING))
