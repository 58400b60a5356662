#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr in the VM against the virtual SoC's own truth. Prints TAP. Runs as root in the guest."""

import csv
import glob
import io
import json
import os
import signal
import subprocess
import sys
import time

TRUTH = (glob.glob("/sys/kernel/debug/dri/*/vsoc/truth") or [None])[0]
TESTS = []
ALL_GPU = "fw/*,cshw/*,tiler/*,memsys/*,shader/*"
NOBODY = 65534


def test(function):
    TESTS.append(function)
    return function


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def run(*command, status=0, **options):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=60, check=False, **options)
    check(done.returncode == status,
          f"{' '.join(command)}: status {done.returncode}, expected {status}: {done.stderr}")
    return done


def truth():
    """{(block type, index, counter): total}"""
    values = {}
    with open(TRUTH, encoding="ascii") as f:
        for line in f:
            kind, index, _, name, value = line.split()
            values[kind.lower(), int(index), name] = int(value)
    return values


def counted(before, after):
    return {key: after[key] - before[key] for key in after}


# counters that the act of measuring moves between reading the truth and START or STOP
MOVED_BY_MEASURING = {"MCU_ACTIVE", "MCU_SLEEP", "DOORBELLS", "HOST_INTERRUPTS", "SCHED_TICKS",
                      "CORE_POWER_UPS", "CORE_POWER_DOWNS", "SAMPLE_COMMANDS"}


def compare(counters, expected):
    compared = 0
    for c in counters:
        key = (c["type"], c["index"], c["counter"])
        if c["counter"] in MOVED_BY_MEASURING or key not in expected:
            continue
        check(c["state"] == "ok", f"{key} is {c['state']}")
        check(c["value"] == expected[key], f"{key}: counted {c['value']}, truth {expected[key]}")
        compared += 1
    check(compared > 100, f"only {compared} counters were compared")


def stat_against_truth(*options):
    before = truth()
    out = run("perfctr", "stat", "--json", "-A", "-e", ALL_GPU, *options, "--",
              "vsoc-job", "-q", "--random", "150", "--seed", "11", "-c", "3").stdout
    result = json.loads(out)
    check(result["exit_status"] == 0 and result["missing_samples"] == 0, "bad run")
    compare(result["counters"], counted(before, truth()))
    return result


@test
def totals_equal_truth():
    """stat: totals of every GPU counter equal the truth exactly"""
    result = stat_against_truth()
    check(any(c["value"] for c in result["counters"]), "nothing was counted")


@test
def fast_period_totals_equal_truth():
    """stat -p 1: a thousand samples per second add up to the truth"""
    check(stat_against_truth("-p", "1ms")["samples"] > 3, "too few samples")


@test
def intervals_add_up():
    """stat -I: the values of the intervals add up to the summary"""
    result = stat_against_truth("-I", "20", "-p", "5")
    check(len(result["intervals"]) >= 2, "too few intervals")
    for n, c in enumerate(result["counters"]):
        total = sum(i["counters"][n]["value"] for i in result["intervals"])
        check(total == c["value"], f"{c['event']}: {total} in intervals, {c['value']} in all")


@test
def ends_with_its_command():
    """stat -I 1 -p 1: ends with its command, although samples come faster than they are shown"""
    check(len(stat_against_truth("-I", "1", "-p", "1")["intervals"]) > 5, "too few intervals")


@test
def sums_equal_single_blocks():
    """stat: a type of block is the sum of its blocks"""
    before = truth()
    result = json.loads(run("perfctr", "stat", "--json", "-e", "shader/FRAGMENTS", "vsoc-job", "-q",
                            "draw", "fragments=123457").stdout)
    expected = sum(v for k, v in counted(before, truth()).items() if k[2] == "FRAGMENTS")
    values = [c["value"] for c in result["counters"]]
    check(values == [123457] and expected == 123457, f"counted {values}, truth {expected}")


@test
def csv_fields():
    """stat -x: a row of eight fields for each counter, quoted where needed"""
    out = run("perfctr", "stat", "-x", ",", "-e", "FRAGMENTS,software/context-switches,cpu=0/",
              "vsoc-job", "-q", "draw", "fragments=1000").stdout
    rows = list(csv.reader(io.StringIO(out)))
    check([len(r) for r in rows] == [8, 8], f"fields: {rows}")
    check(rows[0][:3] == ["1000", "fragments", "shader/FRAGMENTS"], f"row: {rows[0]}")
    check(rows[1][2] == "software/context-switches,cpu=0/", f"row: {rows[1]}")


@test
def exit_status_is_the_commands():
    """stat: exit status of the command, 128 + signal, 127 if it is missing"""
    run("perfctr", "stat", "-e", "FRAGMENTS", "--", "sh", "-c", "exit 7", status=7)
    run("perfctr", "stat", "-e", "FRAGMENTS", "--", "sh", "-c", "kill -9 $$", status=137)
    run("perfctr", "stat", "-e", "FRAGMENTS", "no-such-command", status=127)
    run("perfctr", "stat", "-e", "nonsense", "true", status=2)


def wait_until_counting(process):
    """stat blocks its signals before it counts; a busy machine takes its time until then"""
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
    """stat --json: what the command prints does not get into the document"""
    done = run("perfctr", "stat", "--json", "-e", "FRAGMENTS", "echo", "hello")
    json.loads(done.stdout)
    check("hello" in done.stderr, "output of the command is lost")


@test
def denied_says_why():
    """without privilege: status 3 and the command that helps"""
    def drop():
        os.setgroups([os.stat(glob.glob("/dev/dri/renderD*")[0]).st_gid])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    node = glob.glob("/dev/dri/renderD*")[0]
    os.chmod(node, 0o666)
    done = run("perfctr", "stat", "-e", "FRAGMENTS", "true", status=3, preexec_fn=drop)
    check("dev.perfctr.paranoid=0" in done.stderr, f"no fix in {done.stderr!r}")
    result = json.loads(run("perfctr", "check", "--json", status=3, preexec_fn=drop).stdout)
    fixes = [c["fix"] for c in result["checks"] if c["verdict"] == "bad"]
    check(not result["usable"] and len(fixes) == 1 and "paranoid=0" in fixes[0], f"fixes {fixes}")


def drop_privileges():
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


PARANOID = "/proc/sys/dev/perfctr/paranoid"
PERF_PARANOID = "/proc/sys/kernel/perf_event_paranoid"


@test
def everyone_may_count_but_perf_pmus():
    """dev.perfctr.paranoid = 0: who may not open perf's PMUs counts all the rest, and is told"""
    os.chmod(glob.glob("/dev/dri/renderD*")[0], 0o666)
    with open(PERF_PARANOID, encoding="ascii") as f:
        before = f.read()
    write(PARANOID, "0")
    try:
        for level in ("3", "1", "0"):
            write(PERF_PARANOID, level)
            open_to_all = level == "0"
            done = run("perfctr", "stat", "-x", ";", "--", "true", preexec_fn=drop_privileges)
            told = f"without ucf, pcie, cmem_latency: kernel.perf_event_paranoid = {level} keeps"
            check((told in done.stderr) != open_to_all, f"{level}: stderr {done.stderr!r}")
            check(("metric:ucf" in done.stdout) == open_to_all, f"{level}: {done.stdout}")
            check("cshw/GPU_ACTIVE" in done.stdout, f"{level}: {done.stdout}")
            run("perfctr", "top", "--snapshot", preexec_fn=drop_privileges)
            result = json.loads(run("perfctr", "check", "-j", preexec_fn=drop_privileges).stdout)
            line = next(c for c in result["checks"] if c["check"] == "perf PMUs")
            check(result["usable"], f"{level}: {result}")
            check(line["verdict"] == ("ok" if open_to_all else "note"), f"{level}: {line}")
            check(open_to_all or "perf_event_paranoid=0" in line["fix"], f"{level}: {line}")
            done = run("perfctr", "stat", "-e", "ucf0/mem_bytes_rd/", "true",
                       status=0 if open_to_all else 3, preexec_fn=drop_privileges)
            check(open_to_all or f"kernel.perf_event_paranoid = {level}" in done.stderr,
                  f"{level}: {done.stderr}")
    finally:
        write(PARANOID, "1")
        write(PERF_PARANOID, before)


@test
def refusals_are_explained():
    """stat: what the kernel refuses is named, with status 2"""
    cases = {
        "pcie0_rc4/rd_bytes,src_bdf=0x0108/": "src_bdf does nothing without src_bdf_en=1",
        "software/context-switches,cpu=77/": "CPU 77 is not online",
        "msr/event=0xff/": "the PMU msr refuses msr/event=0xff/",
    }
    for event, text in cases.items():
        done = run("perfctr", "stat", "-e", event, "true", status=2)
        check(text in done.stderr, f"{event}: {done.stderr!r}")
    done = run("perfctr", "stat", "-p", "1us", "-e", "GPU_ACTIVE", "true", status=2)
    check("the period of 1000 ns is not within" in done.stderr, done.stderr)


def counters_of(*arguments):
    out = run("perfctr", "stat", "--json", *arguments).stdout
    return json.loads(out)["counters"]


@test
def what_is_named_is_a_row():
    """stat -e memsys0/...: a row of its own under that name; only types are added up"""
    before = truth()
    counters = counters_of("-e", "memsys0/L2_READ,shader0/FRAGMENTS,shader1?/FRAGMENTS,"
                           "ucf0/mem_bytes_rd/,ucf1/mem_bytes_rd/,ucf/cycles/", "--",
                           "vsoc-job", "-q", "--random", "30", "--seed", "3")
    expected = counted(before, truth())
    rows = {c["event"]: c for c in counters}
    check(sorted(rows) == ["memsys0/L2_READ", "shader0/FRAGMENTS", "shader16/FRAGMENTS",
                           "shader18/FRAGMENTS", "ucf/cycles/", "ucf0/mem_bytes_rd/",
                           "ucf1/mem_bytes_rd/"], f"rows {sorted(rows)}")
    for event, c in rows.items():
        if c["index"] is not None:
            check(c["block_names"] == [event.split("/")[0]] == [c["block"]], f"{c}")
        key = (c["type"], c["index"], c["counter"])
        check(key not in expected or c["value"] == expected[key], f"{c}: truth {expected.get(key)}")
    check(rows["ucf/cycles/"]["block_names"] == ["ucf0", "ucf1"], f"{rows['ucf/cycles/']}")
    both = counters_of("-e", "shader/FRAGMENTS,shader16/FRAGMENTS", "--",
                       "vsoc-job", "-q", "draw", "fragments=1000")
    check([(c["event"], c["value"]) for c in both] ==
          [("shader/FRAGMENTS", 1000), ("shader16/FRAGMENTS", 250)], f"{both}")


@test
def ranges_are_rates():
    """stat: min, mean and max are rates over true spans; clocks of many are shown as of one"""
    result = json.loads(run("perfctr", "stat", "-j", "-p", "20", "--timeout", "1s", "-e",
                            "ucf0/cycles/").stdout)
    c = result["counters"][0]
    check(c["min_rate"] <= c["mean_rate"] <= c["max_rate"], f"{c}")
    check(0.9 < c["mean_rate"] / c["rate"] < 1.1, f"mean {c['mean_rate']} of {c['rate']}")
    check(c["intervals"] > 5, f"{c}")
    # most of the time is in intervals that are too short to compare
    c = counters_of("-p", "10s", "-e", "GPU_ACTIVE", "true")[0]
    check(c["intervals"] == 0 and "min_rate" not in c, f"{c}")
    out = run("perfctr", "stat", "-e", "ucf/cycles/,ucf0/cycles/", "true").stderr
    lines = [line for line in out.splitlines() if "cycles/" in line]
    check("(rate of one of 2)" in lines[0] and "(rate" not in lines[1], out)
    rates = [line.split()[3] for line in lines]
    check(abs(float(rates[0]) - float(rates[1])) < 0.1, f"clocks {rates}")


@test
def device_that_goes_leaves_a_result():
    """stat: the result until the device went, the command ends by itself, status 4"""
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
def counters_of_other_sets_are_told():
    """stat: a counter of another set is answered with --set"""
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
    check(out.count("src_bdf_en=0..1") == 1 and "dst_addr_base" in out, "filters")
    check("Trust: unvalidated:" in out, "trust")


@test
def usage_is_told_once():
    """bad options: one line that names them; perfctr help COMMAND"""
    for arguments, name in (("stat -Z", "-Z"), ("stat --nonsense", "--nonsense"),
                            ("top -n", "-n"), ("list --zz", "--zz")):
        done = run("perfctr", *arguments.split(), status=2)
        command = arguments.split()[0]
        check(done.stderr == f"perfctr {command}: unknown or incomplete option {name}; "
              f"see perfctr {command} --help\n", done.stderr)
    check(run("perfctr", "help", "stat").stdout == run("perfctr", "stat", "--help").stdout, "help")
    run("perfctr", "help", "nonsense", status=2)


@test
def list_info_check():
    """list, info and check: valid JSON that agrees with itself"""
    events = json.loads(run("perfctr", "list", "--json").stdout)["events"]
    check(all(e["short"] and e["long"] and e["unit"] for e in events if e["id"]), "texts missing")
    device = json.loads(run("perfctr", "info", "--json").stdout)["devices"][0]
    check([b["block"] for b in device["blocks"] if b["type"] == "shader"]
          == ["shader0", "shader2", "shader16", "shader18"], "shader blocks")
    check(json.loads(run("perfctr", "check", "--json").stdout)["usable"], "not usable")
    for name in ("info", "list", "stat", "top", "check"):
        lines = run("perfctr", name, "--help").stdout.splitlines()
        check(len(lines) <= 40 and all(len(l) <= 90 for l in lines), f"help of {name} is too long")


@test
def top_snapshot():
    """top --snapshot: rates of one interval"""
    out = run("perfctr", "top", "--snapshot", "--json", "-e", "software/task-clock/,FRAGMENTS").stdout
    items = {i["event"]: i for i in json.loads(out)["items"]}
    check(items["shader/FRAGMENTS"]["value"] == 0, "fragments on an idle GPU")
    check(items["software/task-clock/"]["value"] > 0, "no task clock")


def main():
    if not TRUTH:
        print("Bail out! no vsoc in debugfs")
        return 1
    failed = 0
    print(f"1..{len(TESTS)}", flush=True)
    for number, function in enumerate(TESTS, 1):
        try:
            function()
            print(f"ok {number} - {function.__doc__}", flush=True)
        except (AssertionError, OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            failed += 1
            print(f"not ok {number} - {function.__doc__}")
            for line in str(error).splitlines()[:10]:
                print(f"# {line}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
