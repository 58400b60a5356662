#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr record against the virtual SoC's truth. Prints TAP. Runs as root in the guest."""

import contextlib
import csv
import fcntl
import io
import json
import os
import re
import shlex
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

import harness
from harness import NOBODY, check, drop, run, test
from vsoc_truth import ALL_GPU, MISSING, compare, counted, truth

WORK = tempfile.mkdtemp()
JOB = ("vsoc-job", "-q", "--random", "150", "--seed", "11", "-c", "3")


def path(name):
    return os.path.join(WORK, name)


def report(name, *options):
    return json.loads(run("perfctr", "report", "-j", "-A", *options, path(name)).stdout)


def wait_for_samples(name, count):
    """The file is written twice per second, later on a busy machine."""
    end = time.monotonic() + 30
    while not os.path.exists(path(name)) or not os.path.getsize(path(name)) or \
            report(name)["capture"]["samples"] < count:
        check(time.monotonic() < end, f"{name}: nothing is recorded")
        time.sleep(0.1)


def record(*words, status=0):
    """The result of a recording, from record's JSON."""
    done = run("perfctr", "record", "-j", *words, status=status)
    return json.loads(done.stdout), done.stderr


def record_against_truth(name, *options):
    before = truth()
    ended, line = record("-e", ALL_GPU, "-o", path(name), *options, "--", *JOB)
    expected = counted(before, truth())
    check(ended["whole"] and ended["samples"] == ended["kernel"]["samples"], f"recorded {ended}")
    check(ended["bytes"] == os.path.getsize(path(name)), f"bytes {ended['bytes']}")
    result = report(name)
    check(result["capture"]["finished"] and not result["capture"]["missing_samples"], "not whole")
    check(result["capture"]["samples"] == ended["samples"], "samples")
    check(result["capture"]["merged_periods"] == ended["kernel"]["merged_periods"], "merged")
    compare(result["block_counters"], expected)
    check(any(c["value"] for c in result["counters"]), "nothing was counted")
    return ended, line


@test
def totals_equal_truth():
    """record: totals of every GPU counter in the file equal the truth exactly"""
    ended, line = record_against_truth("a.cap", "-p", "5ms")
    check(f"{ended['samples']:,} sample" in line and "no counts lost" in line,
          f"end line {line!r}")


@test
def fast_and_single_samples_equal_truth():
    """record -p 500us and -p 0: exact with thousands of samples per second and with one sample"""
    check(record_against_truth("fast.cap", "-p", "500us")[0]["samples"] > 3, "too few samples")
    check(record_against_truth("one.cap", "-p", "0")[0]["samples"] == 1, "more than one sample")


@test
def switched_files_equal_truth():
    """record --switch-output: the sums of all files equal the truth exactly"""
    before = truth()
    # the pause is longer than a file: on a fast machine one job is not
    ended, _ = record("-e", ALL_GPU, "-p", "2ms", "--switch-output", "200ms", "-o", path("w"), "--",
                      "sh", "-c", f"{shlex.join(JOB)} && sleep 0.5 && {shlex.join(JOB)}")
    expected = counted(before, truth())
    names = sorted(name for name in os.listdir(WORK) if name.startswith("w."))
    check(ended["whole"] and ended["files"] == len(names) > 1, f"{names} {ended}")
    sums, samples = {}, 0
    for name in names:
        result = report(name)
        check(result["capture"]["finished"] and not result["capture"]["samples_not_in_file"],
              f"{result['capture']}")
        samples += result["capture"]["samples"]
        for counter in result["block_counters"]:
            key = counter["type"], counter["index"], counter["counter"]
            if key in sums:
                sums[key]["value"] += counter["value"]
            else:
                sums[key] = counter
    check(samples == ended["samples"] == ended["kernel"]["samples"], f"{samples} {ended}")
    compare(list(sums.values()), expected)


@test
def compressed_files_equal_truth():
    """record --compress: exact, a file smaller than half of its contents"""
    ended, _ = record_against_truth("packed.cap", "-p", "2ms", "--compress")
    check(ended["bytes"] < report("packed.cap")["capture"]["bytes"] / 2, f"{ended}")


@test
def flight_recorder_keeps_the_last_seconds():
    """record -F: SIGUSR1 and the end write the last second and report the numbers of samples"""
    process = subprocess.Popen(["perfctr", "record", "-F", "1s", "-p", "10ms", "-e", "FRAGMENTS",
                                "-o", path("f.cap")], stderr=subprocess.PIPE, text=True)
    time.sleep(3.5)
    process.send_signal(signal.SIGUSR1)
    for _ in range(100):
        if os.path.exists(path("f.cap.1")):
            break
        time.sleep(0.05)
    # the file gets its name when it is complete
    first = report("f.cap.1")["capture"]
    run("vsoc-job", "-q", "draw", "fragments=4321")
    process.send_signal(signal.SIGINT)
    line = process.communicate(timeout=20)[1]
    check(process.returncode == 0 and "the last 1.000 s of" in line,
          f"{process.returncode} {line!r}")
    last = report("f.cap")
    for capture in (first, last["capture"]):
        check(capture["finished"] and 0.5e9 < capture["elapsed_ns"] < 1.6e9,
              f"kept {capture['elapsed_ns']} ns")
        check(capture["samples_not_in_file"] > 50 and not capture["missing_samples"],
              "older samples")
    check(last["counters"][0]["value"] == 4321, f"counted {last['counters'][0]}")
    check(first["start_ns"] < last["capture"]["start_ns"], "the same time twice")


@test
def samples_in_the_stream():
    """record --in-stream: samples of a job attribute counts to each command"""
    script = ("vsoc-job -q --fd $PERFCTR_FD draw fragments=1000 "
              "sample session=$PERFCTR_SESSION user_data=7"
              " draw fragments=5 sample session=$PERFCTR_SESSION user_data=8")
    record("--in-stream", "-e", "FRAGMENTS", "-o", path("s.cap"), "--", "sh", "-c", script)
    lines = run("perfctr", "export", "-f", "json", path("s.cap")).stdout.splitlines()
    samples = [json.loads(line) for line in lines][1:-1]
    tagged = {s["user_data"]: sum(s["counters"].values()) for s in samples}
    check(tagged == {7: 1000, 8: 5, 0: 0}, f"{tagged}")


@test
def marks_of_a_command():
    """record, mark, diff --by-mark: phases of a shell have exactly their work; SIGUSR1 and -F keep
    marks; a pipe that is written to by others ends the marks only"""
    script = "".join(f"perfctr mark {name} -- sh -c 'sleep .05; vsoc-job -q draw fragments={n}; "
                     "sleep .05'; " for name, n in (("few", 1000), ("many", 5000)) * 2)
    ended, line = record("-p", "5ms", "-e", "FRAGMENTS", "-o", path("m.cap"), "--", "sh", "-c",
                         f"perfctr mark begin; {script} perfctr mark --begin open")
    check(ended["marks"] == 10 and not ended["marks_lost"] and "; 10 marks" in line, f"{line!r}")
    marks = report("m.cap")["marks"]
    spans = [(m["name"], m["kind"]) for m in marks]
    check(spans == [("begin", "point"), *[("few", "phase"), ("many", "phase")] * 2,
                    ("open", "phase")], f"{spans}")
    # the quarter of a period at the ends of a phase is idle, so nothing is shared
    rates = json.loads(run("perfctr", "diff", "-j", "-a", "--by-mark", path("m.cap")).stdout)
    lengths = {name: [m["end_ns"] - m["start_ns"] for m in marks if m["name"] == name]
               for name in ("few", "many")}
    for change in rates["changes"]:
        if change["event"] == "shader/FRAGMENTS":
            rate = {"few": 2e12, "many": 1e13}[change["mark"]] / sum(lengths[change["mark"]])
            check(abs(change["b"]["median"] / rate - 1) < 1e-9, f"{change} {rate}")
    record("-F", "10s", "-p", "5ms", "-e", "FRAGMENTS", "-o", path("mf.cap"), "--", "perfctr",
           "mark", "all", "--", "vsoc-job", "-q", "draw", "fragments=7")
    check([m["name"] for m in report("mf.cap")["marks"]] == ["all"], "marks of the flight")
    script = ("IFS=/ read pid fd inode <<.\n$PERFCTR_MARKS\n.\nperfctr mark a; "
              "yes nonsense | head -c 3000 >/proc/$pid/fd/$fd; perfctr mark b")
    ended, line = record("-e", "FRAGMENTS", "-o", path("mb.cap"), "--", "sh", "-c",
                         script.replace("\\n", "\n"))
    check(ended["marks_damaged"] and ended["marks"] == 1 and "left out" in line, f"{line!r}")
    capture = report("mb.cap")["capture"]
    check(capture["finished"] and "left out" in capture["texts"]["marks_damaged"], f"{capture}")
    ended, line = record("-F", "10s", "-e", "FRAGMENTS", "-o", path("mc.cap"), "--", "sh", "-c",
                         script.replace("\\n", "\n"))
    check(ended["marks_damaged"] and report("mc.cap")["marks"][0]["name"] == "a", f"{line!r}")
    flood = ("import os, struct\np, fd, _ = os.environ['PERFCTR_MARKS'].split('/')\n"
             "m = 99 * (struct.pack('<QIIIHH', 1, 1, 1, 0, 26, 0) + b'x\\0')\n"
             "with open(f'/proc/{p}/fd/{fd}', 'rb+', 0) as f:\n while 1: f.write(m)")
    ended, line = record("-e", "FRAGMENTS", "--timeout", "4s", "-o", path("md.cap"), "--",
                         "python3", "-c", flood, status=143)
    check(0 < ended["marks"] <= 1000000 and ended["whole"], f"{line!r}")


@test
def spans_of_soc_values():
    """record --in-stream: values of perf PMUs in samples of jobs are of the span before, which
    CSV and JSON name; vsoc-job --fence takes samples whose values are all of the job"""
    amounts = [n << 20 for n in (3, 5, 7)]
    with open(path("jobs"), "w", encoding="ascii") as f:
        f.writelines(f"draw fragments={n} copy bytes={n} read\nsync\n" for n in amounts)
    for option in ("--tag-contexts", "--fence"):
        record("--in-stream", "-e", "FRAGMENTS,ucf/mem_bytes_rd/", "-o", path("s.cap"), "--",
               "vsoc-job", "-q", option, "-f", path("jobs"))
        lines = run("perfctr", "export", "-f", "json", path("s.cap")).stdout.splitlines()
        samples = [json.loads(line) for line in lines][1:-1]
        tagged = [s for s in samples if s["user_data"]]
        check(len(tagged) == len(amounts), f"{option}: {len(tagged)} samples of jobs")
        table = list(csv.DictReader(io.StringIO(
            run("perfctr", "export", "-f", "csv", path("s.cap")).stdout)))
        end = None
        for sample in samples:
            spans = {tuple(span) for name, span in sample["spans"].items() if "ucf" in name}
            rows = {(int(r["counts_start_ns"]), int(r["counts_end_ns"])) for r in table
                    if int(r["seq"]) == sample["seq"] and "ucf" in r["event"]}
            check(spans == rows and all(a <= b <= sample["end_ns"] for a, b in spans),
                  f"{spans} {rows} {sample}")
            check(all(not r["counts_start_ns"] for r in table if "FRAGMENTS" in r["event"]),
                  "the GPU has no span of its own")
            check(end in (None, {a for a, _ in spans}), f"a gap: {end} {spans}")
            end = {b for _, b in spans}
        soc = [sum(v or 0 for name, v in s["counters"].items() if "ucf" in name) for s in tagged]
        gpu = [sum(v or 0 for name, v in s["counters"].items() if "FRAG" in name) for s in tagged]
        check(gpu == amounts, f"{option}: {gpu}")
        if option == "--fence":
            check(all(amount <= n for amount, n in zip(amounts, soc)), f"{soc}")
            base = soc[0] - amounts[0]
            check(soc == [n + base for n in amounts], f"{soc}: more than the same for each job")
        else:
            check(soc[0] < amounts[0], f"the first job's sample has values after it: {soc}")


@test
def every_end_leaves_a_file():
    """record: SIGINT and SIGTERM leave a complete file, SIGKILL one that is readable up to its
    last complete sample"""
    for number, status in ((signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -9)):
        process = subprocess.Popen(["perfctr", "record", "-q", "-p", "2ms", "-e", "shader/*", "-o",
                                    path("e.cap")])
        wait_for_samples("e.cap", 60)
        process.send_signal(number)
        check(process.wait(timeout=20) == status,
              f"status {process.returncode} after signal {number}")
        capture = report("e.cap")["capture"]
        check(capture["finished"] == (number != signal.SIGKILL), f"finished after signal {number}")
        check(capture["samples"] > 50 and capture["damage"] is None,
              f"{capture['samples']} samples")
        os.unlink(path("e.cap"))


@test
def through_the_broker():
    """record --via: an unprivileged user records what the policy allows, equal to the truth"""
    policy, socket, folder = path("policy"), path("socket"), path("open")
    with open(policy, "w", encoding="utf-8") as f:
        f.write("[rule tester]\nusers = nobody\ndevices = vsoc\nblocks = shader\n"
                "min_period = 2ms\n")
    os.chmod(WORK, 0o755)
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    broker = subprocess.Popen(["perfctr", "serve", "--socket", socket, "--policy", policy],
                              stderr=subprocess.PIPE, text=True)
    check("listening" in broker.stderr.readline(), "the broker does not listen")

    words = ("perfctr", "record", "-q", "--via", socket, "-e", "FRAGMENTS", "-o",
             os.path.join(folder, "b.cap"))
    recorder = subprocess.Popen([*words, "-p", "10ms", "--timeout", "3s"], preexec_fn=drop(NOBODY))
    time.sleep(1)
    run("vsoc-job", "-q", "draw", "fragments=98765")
    check(recorder.wait(timeout=20) == 0, "recorder failed")
    result = report("open/b.cap")
    check(result["capture"]["finished"] and result["counters"][0]["value"] == 98765,
          f"{result['counters']}")
    done = run(*words, "--in-stream", "true", status=3, preexec_fn=drop(NOBODY))
    check("through a broker there is none" in done.stderr, done.stderr)
    broker.terminate()
    broker.wait(timeout=20)


@test
def status_of_the_command():
    """record: exit status of the command, 128 + signal, 127; a full disk is an error"""
    options = ("-q", "-e", "FRAGMENTS", "-o", path("x.cap"))
    run("perfctr", "record", *options, "--", "sh", "-c", "exit 7", status=7)
    check(report("x.cap")["capture"]["texts"]["command"] == "sh -c exit 7", "command")
    run("perfctr", "record", *options, "--", "sh", "-c", "kill -9 $$", status=137)
    run("perfctr", "record", *options, "no-such-command", status=127)
    run("perfctr", "record", "-e", "nonsense", "true", status=2)
    done = run("perfctr", "record", "-e", "FRAGMENTS", "-o", "/dev/full", "true", status=1)
    check("No space left" in done.stderr and "ended early" in done.stderr, done.stderr)
    run("perfctr", "record", "-o", path("no/such/folder"), "true", status=1)
    # a capture on stdout has no output of the workload
    done = subprocess.run("perfctr record -q -o - -e FRAGMENTS echo hello | perfctr report -j -",
                          shell=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60,
                          check=True)
    check(json.loads(done.stdout)["capture"]["finished"] and "hello" in done.stderr, done.stderr)


@test
def progress_on_a_terminal():
    """record: progress on a terminal, removed before the last line; a closed pipe is an error"""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    process = subprocess.Popen(["perfctr", "record", "-e", "FRAGMENTS", "-o", path("p.cap"),
                                "--timeout", "2s"], stderr=theirs)
    os.close(theirs)
    text = b""
    with contextlib.suppress(OSError):  # the end of a terminal
        while part := os.read(ours, 4096):
            text += part
    check(process.wait(timeout=20) == 0, "status")
    screen = text.decode().split("\r\x1b[K")
    check(len(screen) > 2 and all(len(line) < 60 for line in screen[1:-1]) and
          re.fullmatch(r"recording: [0-9.]+ s, [0-9,]+ samples?, [0-9.]+ ?[kM]?B; .*", screen[1]),
          f"progress {screen}")
    check(screen[-1].startswith("perfctr record: ") and "samples" in screen[-1],
          f"end line {screen[-1]!r}")
    done = subprocess.run("set -o pipefail; perfctr record -o - -p 1ms -e 'shader/*' --timeout 10s "
                          "| head -c 1000 | wc -c",
                          shell=True, executable="/bin/bash", stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    check(done.returncode == 1 and "Broken pipe" in done.stderr and "ended early" in done.stderr,
          done.stderr)


@test
def gpu_timestamps():
    """export --json: GPU timestamps advance with the samples' times; info has the last pair of
    clocks"""
    record("-p", "20ms", "-e", "FRAGMENTS", "-o", path("gpu.cap"), "--", "vsoc-job", "-q",
           "--random", "60")
    samples = [line for line in map(json.loads, run("perfctr", "export", "-j",
                                                    path("gpu.cap")).stdout.splitlines())
               if line["record"] == "sample"]
    clock = next(c for c in json.loads(run("perfctr", "info", "-j").stdout)["devices"][0]["clocks"]
                 if c["clock"] == "timestamp")
    check(clock["frequency_hz"] and clock["valid_bits"] and clock["epoch"], f"{clock}")
    check({s["gpu_epoch"] for s in samples} == {samples[0]["gpu_epoch"]}, "one epoch")
    first, last = samples[0], samples[-1]
    ticks, ns = last["gpu_timestamp"] - first["gpu_timestamp"], last["end_ns"] - first["end_ns"]
    # blocks are read a moment before or after the end of a sample
    check(abs(ticks * 1e9 / clock["frequency_hz"] - ns) < 50e6, f"{ticks} ticks in {ns} ns")
    check(all(a["gpu_timestamp"] <= b["gpu_timestamp"] for a, b in zip(samples, samples[1:])),
          "backwards")
    if clock["epoch"] == last["gpu_epoch"]:
        later = (clock["gpu_timestamp"] - last["gpu_timestamp"]) * 1e9 / clock["frequency_hz"]
        check(abs(clock["raw_ns"] - last["end_ns"] - later) < 50e6,
              f"{clock} after {last['end_ns']}")


@test
def unplugged():
    """record while the device is removed: the file has the samples up to then, the command ends
    by itself"""
    # the last test: it removes the device
    driver = "/sys/bus/platform/drivers/vsoc"
    words = ("perfctr", "record", "-p", "10ms", "-e", "FRAGMENTS", "-o")
    alone = subprocess.Popen([*words, path("u1.cap")], stderr=subprocess.PIPE, text=True)
    beside = subprocess.Popen([*words, path("u2.cap"), "--", "sh", "-c", "sleep 6; exit 9"],
                              stderr=subprocess.PIPE, text=True)
    for name in ("u1.cap", "u2.cap"):
        wait_for_samples(name, 30)
    for name in os.listdir(driver):
        if name.startswith("vsoc."):
            with open(os.path.join(driver, "unbind"), "w", encoding="ascii") as f:
                f.write(name)
    for process, status in ((alone, 1), (beside, 9)):
        line = process.communicate(timeout=30)[1]
        check(process.returncode == status and "the device is gone" in line,
              f"{process.returncode} {line!r}")
    for name in ("u1.cap", "u2.cap"):
        capture = report(name)["capture"]
        check(capture["samples"] > 20 and "unplugged" in capture["flags"] and not capture["damage"],
              f"{capture}")


if __name__ == "__main__":
    sys.exit(harness.main(MISSING))
