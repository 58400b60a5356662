#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: test-writes.py BUILD: commands that write, and files that cannot be written: what was lost
is what was said. Prints TAP, and at its end a table of commands and faults; no device."""

import errno
import fcntl
import json
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import harness
from harness import check, test
from machine import Machine

BUILD = os.path.abspath(sys.argv[1])
TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
COUNT = "-d", "local", "-e", "cpu/work/"
MEASURED = os.path.join(TOP, "campaigns/measured/xavier-gpu-tables.csv")
# a call that fails, its errno
FAULTS = [("write", errno.ENOSPC), ("write", errno.EDQUOT), ("write", errno.EIO),
          ("write", errno.EFBIG), ("fsync", errno.EIO), ("close", errno.EDQUOT)]
OLD = b"old contents\n"
# command, fault, status, what was said, what is there
TABLE = []


class World:
    machine = folder = capture = None


def run(*words, fault=None, after=0, where=None, **options):
    """Run perfctr in the made-up machine. fault: (call, errno) of files in where."""
    environment = World.machine.environment()
    if fault:
        environment["LD_PRELOAD"] = f"{BUILD}/tests/faults.so {environment['LD_PRELOAD']}"
        environment.update(FAULT_FOLDER=where or World.folder, FAULT_CALL=fault[0],
                           FAULT_ERRNO=str(fault[1]), FAULT_BYTES=str(after))
    options.setdefault("stdout", subprocess.PIPE)
    return subprocess.run([f"{BUILD}/bin/perfctr", *words], env=environment, check=False,
                          stderr=subprocess.PIPE, timeout=60, cwd=World.folder, **options)


def says(done, path, number):
    """One message names the file and the error."""
    name = f"({errno.errorcode[number]})"
    text = done.stderr.decode()
    return [line for line in text.splitlines() if path in line and name in line]


def row(command, fault, done, there):
    """A line of the table, once each."""
    said = re.findall(rb"\(E[A-Z]+\)|[0-9,]+ samples? (?:is|are) NOT in the file", done.stderr)
    line = (command, fault, f"status {done.returncode}" if done.returncode >= 0 else
            signal.Signals(-done.returncode).name,
            "; ".join(part.decode() for part in dict.fromkeys(said)) or "-", there)
    if line not in TABLE:
        TABLE.append(line)


def samples(path):
    """Samples that report finds in a file."""
    done = run("report", "-j", path)
    return json.loads(done.stdout)["capture"]["samples"] if done.stdout else 0


def until(condition):
    """A command that ends once the shell's condition holds."""
    return "sh", "-c", f"until {condition}; do sleep 0.1; done 2>/dev/null"


def set_up():
    World.machine = m = Machine(BUILD)
    m.pmu("cpu", 4, {"format/event": "config:0-7", "events/work": "event=0x3c"})
    m.perf("4 0x3c * rate 1000000")
    World.folder = tempfile.mkdtemp(prefix="writes-")
    World.capture = os.path.join(m.root, "capture")
    done = run("record", *COUNT, "-a", "-p", "2ms", "-o", World.capture, "--", "sleep", "0.4")
    check(done.returncode == 0, done.stderr)


# those whose file appears as a whole: path of the file after the words
WHOLE = {
    "export csv": ("export", "-f", "csv", None, "-o"),
    "export json": ("export", "-f", "json", None, "-o"),
    "export perfetto": ("export", "-f", "perfetto", None, "-o"),
    "report": ("report", "-A", None, "-o"),
    "report json": ("report", "-j", None, "-o"),
    "report svg": ("report", "--svg", None, "-o"),
    "report html": ("report", "--html", None, "-o"),
    "diff": ("diff", None, None, "-o"),
    "stat": ("stat", *COUNT, "-a", "-o"),
    "stat csv": ("stat", "-x", ",", "-r", "2", *COUNT, "-a", "-o"),
    "stat json": ("stat", "-j", *COUNT, "-a", "-o"),
    "exporter": ("exporter", "--once", "-p", "50ms", *COUNT, "--textfile"),
    "validate": ("validate", "-m", MEASURED, "-o"),
    "validate html": ("validate", "-m", MEASURED, "--html"),
}


@test
def results_are_whole_or_not_there():
    """a result whose file cannot be written: the error by its name with the path, status 1, the old
    file as it was, nothing beside it"""
    for name, words in WHOLE.items():
        path = os.path.join(World.folder, "result.prom")
        words = [World.capture if word is None else word for word in words] + [path]
        if name.startswith("stat"):
            words += ["--", "true"]
        for call, number in FAULTS:
            for old in (None, OLD):
                if old:
                    with open(path, "wb") as f:
                        f.write(old)
                # a partial write, too
                done = run(*words, fault=(call, number), after=20)
                what = f"{name}, {call}, {errno.errorcode[number]}"
                check(done.returncode == 1, f"{what}: status {done.returncode}: {done.stderr}")
                check(len(says(done, path, number)) == 1, f"{what}: {done.stderr}")
                # close() fails when the file has its name
                whole = call == "close"
                check(sorted(os.listdir(World.folder)) == (["result.prom"] if old or whole else []),
                      f"{what}: {os.listdir(World.folder)}")
                if old and not whole:
                    with open(path, "rb") as f:
                        check(f.read() == OLD, f"{what}: the old file is lost")
                row(f"{name} -o", f"{call} {errno.errorcode[number]}", done,
                    "all" if whole else "what was there before")
                if os.path.exists(path):
                    os.unlink(path)


@test
def recordings_count_what_is_in_the_file():
    """record on a full disk, over a quota and so on: samples in JSON and in the last line are those
    that report finds; the others are named"""
    path = os.path.join(World.folder, "capture")
    words = "record", *COUNT, "-a", "-p", "1ms", "-o", path
    for call, number in FAULTS:
        for after in ((0, 10, 4000, 20000) if number == errno.ENOSPC else (9001, )):
            for form in (("-j", ), ()) if number == errno.ENOSPC else (("-j", ), ):
                what = f"{call}, {errno.errorcode[number]}, {after} bytes, {form}"
                done = run(*words, *form, "--", "sleep", "0.4", fault=(call, number), after=after)
                check(done.returncode == 1, f"{what}: status {done.returncode}: {done.stderr}")
                check(len(says(done, path, number)) == 1, f"{what}: {done.stderr}")
                found = samples(path) if os.path.exists(path) else 0
                check(os.path.exists(path) or not after, f"{what}: no file")
                text = re.search(r"capture: ([0-9,]+) sample", done.stderr.decode())
                check(int(text[1].replace(",", "")) == found, f"{what}: {found}, {done.stderr}")
                lost = re.search(r"([0-9]+) samples? (?:is|are) NOT in the file",
                                 done.stderr.decode())
                check(bool(lost) == (call == "write"), f"{what}: {done.stderr}")
                row("record -o", f"{call} {errno.errorcode[number]} after {after}", done,
                    f"{found} samples, of which {text[1]} were said")
                if form:
                    said = json.loads(done.stdout)
                    check(said["samples"] == found and not said["whole"] and
                          said["exit_status"] == 1, f"{what}: {found}, {said}")
                    check(said["samples_not_in_file"] == (int(lost[1]) if lost else 0) and
                          found + said["samples_not_in_file"] == said["kernel"]["samples"],
                          f"{what}: {said}")
                    check(not os.path.exists(path) or os.path.getsize(path) == said["bytes"],
                          f"{what}: {said}")
                if os.path.exists(path):
                    os.unlink(path)


@test
def compressed_recordings_count_what_is_in_the_file():
    """record -z on a full disk, killed, into a pipe: samples are those of the whole frames"""
    path = os.path.join(World.folder, "capture")
    words = "record", "-z", "-j", *COUNT, "-a", "-p", "1ms", "-o", path, "--", "sleep"
    done = run(*words, "2.3")
    said = json.loads(done.stdout)
    size = os.path.getsize(path)
    check(said["whole"] and said["bytes"] == size and said["samples"] == samples(path) > 0,
          f"{said}: {done.stderr}")
    with open(path, "rb") as file:
        check(file.read(4) == b"\x28\xb5\x2f\xfd", "not compressed")
    subprocess.run(["zstd", "-qt", path], check=True)
    os.unlink(path)
    # in the first frame, and in one after that of the first second: until the file is full
    for after, command in ((0, ("sleep", "0.2")), (10, ("sleep", "0.2")),
                           (size, until(f"[ $(stat -c %s {path}) = {size} ]"))):
        done = run(*words[:-1], *command, fault=("write", errno.ENOSPC), after=after)
        said = json.loads(done.stdout)
        check(done.returncode == 1 and len(says(done, path, errno.ENOSPC)) == 1,
              f"{after}: {done.returncode}: {done.stderr}")
        found = samples(path) if os.path.exists(path) else 0
        check(said["samples"] == found and not said["whole"] and
              found + said["samples_not_in_file"] == said["kernel"]["samples"], f"{found}: {said}")
        check(bool(found) == (after > 10), f"{after}: {said}")
        check(said["bytes"] == after == (os.path.getsize(path) if after else 0), f"{said}")
        if after:
            os.unlink(path)
    with World.machine.start(*words[:-1], "sleep", "60") as process:
        harness.wait_for(lambda: os.path.exists(path) and samples(path), "no frame")
        process.kill()
    found = json.loads(run("report", "-j", path).stdout)["capture"]
    check(found["samples"] > 0 and not found["finished"] and not found["damage"], f"{found}")
    os.unlink(path)
    done = run(*words[:2], *COUNT, "-a", "-o", "-", "--", "sleep", "0.2")
    with open(path, "wb") as file:
        file.write(done.stdout)
    check(done.stdout[:4] == b"\x28\xb5\x2f\xfd" and samples(path) > 0, done.stderr)
    os.unlink(path)
    done = run(*words[:2], *COUNT, "-a", "-F", "1s", "-o", path, "--", "sleep", "0.2")
    subprocess.run(["zstd", "-qt", path], check=True)
    check(samples(path) > 0, done.stderr)
    done = run("record", "-z19", "-q", *COUNT, "-a", "-o", path, "--", "true")
    check(done.returncode == 0 and samples(path) > 0, done.stderr)
    for level in ("0", "20", "x"):
        done = run("record", f"--compress={level}", "--", "true")
        check(done.returncode == 2 and b"give a level from 1 to 19" in done.stderr, done.stderr)


def capture_of(path):
    return json.loads(run("report", "-j", path).stdout)


def total(path):
    document = capture_of(path)
    return sum(counter["value"] for counter in document["counters"])


@test
def switched_files_are_whole():
    """record --switch-output: each file is a capture by itself, names sort by time, sums of all are
    those of the recording, phases reach over the cut; --switch-max-files removes the oldest"""
    base = os.path.join(World.folder, "f.zst")
    other = os.path.join(World.folder, "f.20260101T000000.000Z.zst.mine")
    with open(other, "wb") as file:
        file.write(OLD)
    perfctr = f"{BUILD}/bin/perfctr"
    words = "record", "-z", "-j", *COUNT, "-a", "-p", "2ms", "-o", base, "--switch-output"
    script = f"{perfctr} mark few; {perfctr} mark all -- sleep 3.2; {perfctr} mark few"
    done = run(*words, "1s", "--", "sh", "-c", script)
    said = json.loads(done.stdout)
    os.unlink(other)
    names = sorted(os.listdir(World.folder))
    check(done.returncode == 0 and said["files"] == len(names) >= 3 and said["whole"] and
          not said["files_removed"] and not said["file_not_complete"], f"{names} {said}")
    check(all(re.fullmatch(r"f\.[0-9]{8}T[0-9]{6}\.[0-9]{3}Z\.zst", name) for name in names),
          f"{names}")
    files = [capture_of(os.path.join(World.folder, name)) for name in names]
    captures = [f["capture"] for f in files]
    for number, capture in enumerate(captures):
        check(capture["finished"] and not capture["samples_not_in_file"] and capture["samples"] and
              not capture["missing_samples"] and capture["texts"]["part"] == str(number + 1) and
              not capture["marks_unmatched"], f"{capture}")
    check(all(a["end_ns"] == b["start_ns"] for a, b in zip(captures, captures[1:])),
          "a gap between files")
    check(sum(c["samples"] for c in captures) == said["samples"] == said["kernel"]["samples"] and
          not said["samples_not_in_file"], f"{said}")
    check(sum(c["merged_periods"] for c in captures) == said["kernel"]["merged_periods"] and
          sum(c["lost_ns"] for c in captures) == said["kernel"]["lost_ns"], f"{said}")
    check(said["bytes"] == sum(os.path.getsize(os.path.join(World.folder, n)) for n in names),
          f"{said}")
    check(said["marks"] == 4 and not said["marks_lost"], f"{said}")
    # of a file without a part of the phase there is nothing to tell
    phases = [(number, m) for number, f in enumerate(files) for m in f["marks"]
              if m["name"] == "all"]
    numbers = [number for number, _ in phases]
    check(len(phases) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)), f"{phases}")
    check(all(m["start_ns"] == captures[n]["start_ns"] for n, m in phases[1:]) and
          all(m["end_ns"] is None for _, m in phases[:-1]) and phases[-1][1]["end_ns"], f"{phases}")
    # 1,000,000 a second of each of 4 CPUs: nothing between the files is lost
    counted = sum(sum(c["value"] for c in f["counters"]) for f in files)
    span = captures[-1]["end_ns"] - captures[0]["start_ns"]
    check(abs(counted / span / 4e-3 - 1) < 0.02, f"{counted} in {span} ns")
    both = run("report", "-j", World.folder)
    check(both.returncode == 0 and len(json.loads(both.stdout)) == len(names), both.stderr)
    # an earlier recording's files count, too
    done = run(*words, "300ms", "--switch-output", "1G", "--switch-max-files", "2", "--", "sleep",
               "2")
    said = json.loads(done.stdout)
    left = sorted(os.listdir(World.folder))
    check(done.returncode == 0 and len(left) == 2 and left[0] > names[-1] and
          said["files"] + len(names) - 2 == said["files_removed"], f"{left} {said}")
    for name in left:
        os.unlink(os.path.join(World.folder, name))
    done = run(*[w for w in words if w != "-z"], "5k", "--", "sleep", "1.5")
    said = json.loads(done.stdout)
    sizes = [os.path.getsize(os.path.join(World.folder, n)) for n in os.listdir(World.folder)]
    check(said["files"] == len(sizes) > 1 and
          all(size >= 5000 for size in sorted(sizes)[1:]), f"{sizes} {said}")


@test
def switched_files_are_never_half():
    """record --switch-output: the file in work has another name, which directories leave out and
    say so; it is readable after kill -9 and on a full disk; what makes no sense is refused"""
    base = os.path.join(World.folder, "f")
    words = "record", *COUNT, "-a", "-p", "2ms", "-o", base, "--switch-output"

    def parts(suffix=".part"):
        return [os.path.join(World.folder, name) for name in sorted(os.listdir(World.folder))
                if name.endswith(suffix)]

    with World.machine.start(*words, "1s", "--", "sleep", "60") as process:
        harness.wait_for(lambda: len(parts("Z")) > 1 and parts() and samples(parts()[0]), "no file")
        done = run("report", "-j", World.folder)
        check(done.returncode == 0 and b"is left out: it is being written" in done.stderr and
              len(json.loads(done.stdout)) >= 2, f"{done.returncode}: {done.stderr}")
        process.kill()
    complete, part = parts("Z"), parts()
    check(len(part) == 1 and part[0] > complete[-1], f"{part} {complete}")
    done = run("report", "-j", World.folder)
    check(done.returncode == 1 and f"{part[0]} is left out: it is a part whose recording did not "
          "end; give its name to read it" in done.stderr.decode(), done.stderr)
    done = run("report", "-j", *part)
    capture = json.loads(done.stdout)["capture"]
    check(done.returncode == 0 and capture["samples"] and not capture["finished"], f"{capture}")
    # the next recording counts it as one of its files
    done = run(*words, "10M", "--switch-max-files", "1", "--", "sleep", "0.2")
    check(done.returncode == 0 and not parts() and len(parts("Z")) == 1 and b"1 file, 3" in
          done.stderr.replace(f"{len(complete) + 1} removed".encode(), b"3"), done.stderr)
    os.unlink(parts("Z")[0])
    full = until(f"[ $(cat {base}.* | wc -c) = 40000 ]")
    done = run(*words, "8k", "-j", "--", *full, fault=("write", errno.ENOSPC), after=40000)
    said = json.loads(done.stdout)
    left = parts()
    check(done.returncode == 1 and left == [said["file_not_complete"]] and
          len(says(done, left[0], errno.ENOSPC)) == 1, f"{said} {done.stderr}")
    found = sum(samples(path) for path in parts("Z") + left)
    check(said["samples"] == found and parts("Z") and
          found + said["samples_not_in_file"] == said["kernel"]["samples"], f"{found} {said}")
    for name in parts(""):
        os.unlink(name)
    done = run(*words[:-3], "-o", os.path.join(World.folder, "no/f"), "--switch-output", "1s", "--",
               "true")
    check(done.returncode == 1 and len(says(done, "no/f.", errno.ENOENT)) == 1, done.stderr)
    done = run(*words, "1s", "--", "no-such-command")
    check(done.returncode == 127 and not parts(""), f"{done.returncode} {parts('')}")
    for options, text in ((("1s", "-F", "1s"), "give one of them"), (("1s", "-o", "-"), "with -o"),
                          (("1s", "-F", "99"), "perf's frequency is a period, -p"),
                          (("1s", "-p", "0"), "a period"), (("100", ), "such as 100M"),
                          (("0s", ), "such as 100M"), (("x", ), "such as 100M"),
                          (("1s", "--switch-max-files", "0"), "from 1")):
        done = run(*words, *options, "--", "true", stdout=subprocess.PIPE)
        check(done.returncode == 2 and text in done.stderr.decode(), f"{options}: {done.stderr}")
    done = run("record", "--switch-max-files", "2", "--", "true")
    check(done.returncode == 2 and b"--switch-output 100M" in done.stderr, done.stderr)
    check(not parts(""), f"{parts('')}")


@test
def flight_recordings_are_whole():
    """record --flight: a file that cannot be written is not there, is not counted, and fails the
    command; also one that a signal wanted"""
    path = os.path.join(World.folder, "capture")
    words = "record", *COUNT, "-a", "-p", "2ms", "-F", "1s", "-j", "-o", path, "--"
    for call, number in FAULTS:
        done = run(*words, "sleep", "0.3", fault=(call, number), after=500)
        said = json.loads(done.stdout)
        check(done.returncode == 1 and says(done, path, number), f"{call}: {done.stderr}")
        check(said["samples"] == 0 and said["bytes"] == 0 and said["samples_not_in_file"] > 0 and
              not said["whole"], f"{call}: {said}")
        check(not os.listdir(World.folder), f"{call}: {os.listdir(World.folder)}")
    # the first file finds a folder in its place
    os.mkdir(path + ".1")
    done = run(*words, "sh", "-c", "kill -USR1 $PPID; sleep 0.3")
    said = json.loads(done.stdout)
    check(done.returncode == 1 and (said["flight_dumps"], said["flight_dumps_failed"]) == (0, 1),
          f"{said}: {done.stderr}")
    check(said["samples"] == samples(path) > 0, f"{said}")
    os.rmdir(path + ".1")
    os.unlink(path)


# results on standard output
PRINTED = {
    "help": ("--help", ), "list": ("list", "-d", "local"), "info": ("info", ),
    "stat": ("stat", "-j", *COUNT, "-a", "--", "true"),
    "intervals": ("stat", "-I", "100", "--jsonl", *COUNT, "-a", "--", "sleep", "0.3"),
    "export": ("export", "-f", "csv", None), "trace": ("export", "-f", "perfetto", None),
    "report": ("report", None), "page": ("report", "--html", None), "diff": ("diff", None, None),
    "exporter": ("exporter", "--once", "-p", "50ms", *COUNT),
    "top": ("top", "-d", "local", "-e", "cpu/work/", "--snapshot"),
    "record": ("record", *COUNT, "-a", "-p", "2ms", "-o", "-", "--", "sleep", "0.2"),
    "record json": ("record", "-j", *COUNT, "-a", "-o", "capture", "--", "true"),
    "campaigns": ("validate", "--list"), "verdicts": ("validate", "-m", MEASURED),
}


def printed(name):
    return [World.capture if word is None else word for word in PRINTED[name]]


@test
def standard_output_is_checked():
    """every command: standard output that is full, closed or over a quota is an error, status 1"""
    for name in PRINTED:
        with open("/dev/full", "wb") as full:
            done = run(*printed(name), stdout=full)
        check(done.returncode == 1 and len(says(done, "standard output", errno.ENOSPC)) == 1,
              f"{name}: {done.returncode}, {done.stderr}")
        row(name, "full standard output", done, "nothing")
        done = run(*printed(name), stdout=None, preexec_fn=lambda: os.close(1))
        check(done.returncode == 1 and len(says(done, "standard output", errno.EBADF)) == 1,
              f"{name}: {done.returncode}, {done.stderr}")
        if name == "record":
            continue
        done = run(*printed(name), fault=("write", errno.EDQUOT), after=20, where="stdout")
        check(done.returncode == 1 and len(says(done, "standard output", errno.EDQUOT)) == 1,
              f"{name}: {done.returncode}, {done.stderr}")
    # the table of a command is on standard error
    done = subprocess.run(["sh", "-c", f"exec {BUILD}/bin/perfctr stat -d local -a -e cpu/work/ "
                           "true 2>/dev/full"], env=World.machine.environment(), check=False)
    check(done.returncode == 1, f"{done.returncode}")


@test
def closed_pipes_end_commands():
    """a pipe without a reader: SIGPIPE ends who prints, as always; a recording counts, and a file
    that is a pipe is an error"""
    for name in PRINTED:
        read, write = os.pipe()
        os.close(read)
        done = run(*printed(name), stdout=write)
        os.close(write)
        if name == "record":
            check(done.returncode == 1 and says(done, "standard output", errno.EPIPE), done.stderr)
            check(b" 0 samples" in done.stderr, done.stderr)
        else:
            check(done.returncode == -signal.SIGPIPE, f"{name}: {done.returncode}: {done.stderr}")
        row(name, "pipe without a reader", done, "nothing")
    path = os.path.join(World.folder, "pipe")
    os.mkfifo(path)
    for words in (("report", "--html", World.capture, "-o", path),
                  ("stat", "-x", ",", *COUNT, "-a", "-o", path, "--", "sleep", "0.3")):
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
        environment = World.machine.environment()
        with subprocess.Popen([f"{BUILD}/bin/perfctr", *words], env=environment,
                              stderr=subprocess.PIPE) as process:
            # it opens the pipe at once; a page is longer than what the pipe takes
            time.sleep(0.15 if words[0] == "stat" else 0)
            if words[0] == "report":
                select.select([reader], [], [], 30)
            os.close(reader)
            error = process.communicate(timeout=60)[1].decode()
        check(process.returncode == 1 and f"{path}: Broken pipe (EPIPE)" in error,
              f"{words[0]}: {process.returncode}: {error}")


@test
def limits_of_a_file_are_errors():
    """RLIMIT_FSIZE: EFBIG by its name instead of SIGXFSZ, which the counted command keeps"""
    path = os.path.join(World.folder, "result")

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))

    done = run("export", "-f", "csv", World.capture, "-o", path, preexec_fn=limit)
    check(done.returncode == 1 and says(done, path, errno.EFBIG), done.stderr)
    check(not os.path.exists(path), "a part of the result")
    done = run("stat", *COUNT, "-a", "-o", path, "--", "grep", "SigIgn", "/proc/self/status")
    ignored = int(done.stdout.split()[1], 16)
    check(not ignored >> (signal.SIGXFSZ - 1) & 1, f"{ignored:x}")
    # the session's ring is a file, too, and not perf's
    done = run("stat", *COUNT, "-a", "--", "true",
               preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    check(done.returncode == 1 and b"the ring" in done.stderr and b"ulimit -f" in done.stderr,
          done.stderr)


def dump_into(path):
    with World.machine.start("record", *COUNT, "-a", "-p", "2ms", "-F", "1s", "-o", path, "--",
                             "sleep", "0.3") as process:
        error = process.communicate(timeout=60)[1]
    check(process.returncode == 0, error)


@test
def results_keep_the_mode():
    """-o FILE onto a file: its mode, owner and group; read-only ones are refused, also for root;
    hard links keep the old contents, a symbolic link stays; record keeps FILE as FILE.old"""
    path = os.path.join(World.folder, "result")
    link, other = path + ".link", path + ".other"
    cases = {"export": ("export", "-f", "csv", World.capture, "-o"),
             "live": ("stat", *COUNT, "-a", "-x", ",", "-I", "100ms", "-o"),
             "record": ("record", *COUNT, "-a", "-p", "2ms", "-o"),
             "flight": ("record", *COUNT, "-a", "-p", "2ms", "-F", "1s", "-o")}
    for name, words in cases.items():
        command = () if name == "export" else ("--", "sleep", "0.3")
        for mode in (0o600, 0o640, 0o664):
            with open(path, "wb") as file:
                file.write(OLD)
            os.chmod(path, mode)
            os.chown(path, 1234, 5678)
            if name == "export":
                os.link(path, other)
            done = run(*words, path, *command)
            info = os.stat(path)
            check(done.returncode == 0, f"{name}: {done.stderr}")
            check((info.st_mode & 0o7777, info.st_uid, info.st_gid) == (mode, 1234, 5678),
                  f"{name}: {info}")
            check(info.st_size > len(OLD), f"{name}: {info}")
            if words[0] == "record":
                with open(path + ".old", "rb") as file:
                    check(file.read() == OLD, f"{name}: the last recording")
                os.unlink(path + ".old")
            if name == "export":
                with open(other, "rb") as file:
                    check(file.read() == OLD, "a hard link")
                os.unlink(other)
        os.unlink(path)
        with open(path, "wb") as file:
            file.write(OLD)
        os.chmod(path, 0o444)
        os.symlink(path, link)
        for named in (path, link):
            done = run(*words, named, *command)
            check(done.returncode == 1 and says(done, named, errno.EACCES),
                  f"{name}: {done.returncode}: {done.stderr}")
        with open(path, "rb") as file:
            check(file.read() == OLD, f"{name}: a read-only file")
        os.chmod(path, 0o600)
        if name == "export":
            check(run(*words, link).returncode == 0 and os.path.islink(link) and
                  os.path.getsize(path) > len(OLD), "a symbolic link")
        os.unlink(link)
        os.unlink(path)
    check(not os.listdir(World.folder), os.listdir(World.folder))


@test
def dumps_take_no_other_name():
    """record -F: what is beside FILE stays as it is, links are not followed"""
    path = os.path.join(World.folder, "dump")
    victim = os.path.join(World.folder, "victim")
    for name in (path + ".part", victim):
        with open(name, "wb") as file:
            file.write(OLD)
    # a name that anybody can guess: the next processes' ones
    for pid in range(os.getpid(), os.getpid() + 40):
        os.symlink(victim, f"{path}.{pid}.part")
    dump_into(path)
    for name in (path + ".part", victim):
        with open(name, "rb") as file:
            check(file.read() == OLD, name)
    check(samples(path) > 0, "no dump")
    shutil.rmtree(World.folder)
    os.mkdir(World.folder)


@test
def textfile_needs_its_folder():
    """exporter --textfile: no folder ends it; one that vanishes is reported, and so is the end"""
    missing = os.path.join(World.folder, "no", "x.prom")
    done = run("exporter", *COUNT, "--textfile", missing)
    check(done.returncode == 1 and says(done, missing, errno.ENOENT), done.stderr)
    folder = os.path.join(World.folder, "folder")
    os.mkdir(folder)
    path = os.path.join(folder, "x.prom")
    with World.machine.start("exporter", *COUNT, "-p", "50ms", "--textfile", path) as process:
        harness.wait_for(lambda: os.path.exists(path), "no file")
        os.rename(folder, folder + "2")
        time.sleep(0.4)
        os.mkdir(folder)
        harness.wait_for(lambda: os.path.exists(path), "no file again")
        os.rename(folder, folder + "3")
        time.sleep(0.4)
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=30)[1].decode()
    check(process.returncode == 1, f"{process.returncode}: {error}")
    check(error.count(f"{path}: No such file or directory (ENOENT)") == 2 and
          error.count("is written again") == 1, error)


@test
def evidence_names_its_files():
    """validate --evidence on a full disk: the file and the error, and no folder, so that the same
    command works once there is room; a folder of the user stays"""
    folder = os.path.join(World.folder, "evidence")
    os.mkdir(folder)
    done = run("validate", "-m", MEASURED, "--evidence", folder)
    check(done.returncode == 1 and b"give the name of a new folder" in done.stderr and
          os.path.isdir(folder), f"{done.stderr}")
    os.rmdir(folder)
    for after in (0, 5000, 60000):
        done = run("validate", "-m", MEASURED, "--evidence", folder,
                   fault=("write", errno.ENOSPC), after=after)
        check(done.returncode == 1 and says(done, "", errno.ENOSPC), f"{done.stderr}")
        check(not os.path.exists(folder), f"{after}: a part of the evidence")
    done = run("validate", "-m", MEASURED, "--evidence", folder)
    check(os.path.exists(os.path.join(folder, "SHA256SUMS")), done.stderr)
    shutil.rmtree(folder)


# characters that change the direction of others, their lines, or show nothing
FORMATS = "\u061c\u200b\u200f\u2028\u202a\u202e\u2060\u2066\u2069\ufeff"


@test
def texts_are_clean():
    """names and arguments of any bytes: all output is UTF-8 without control and
    format characters"""
    World.machine.client(100, 3, "drm-driver:\tamdgpu\ndrm-pdev:\t0000:08:00.0\n"
                         "drm-client-id:\t7\ndrm-engine-gfx:\t1000 ns\n",
                         comm=b"a\x1b[31m\xe5\x90\x8c\xe6\xad\n")
    World.machine.client(101, 3, "drm-driver:\tamdgpu\ndrm-pdev:\t0000:08:00.0\n"
                         "drm-client-id:\t8\ndrm-engine-gfx:\t1000 ns\n",
                         comm="b\u202e\ufeff\u200f\x85\n".encode())
    events = "-d", "local", "-e", "drm/*:engine-gfx,pid=*/"
    path = os.path.join(World.folder, "capture")
    bad = b"\x1b]0;t\x07\xc2\x9b1m\xff" + FORMATS.encode()
    run("record", *events, "-o", path, "--", "sh", "-c", "sleep 0.2", bad)
    outputs = {"stat": run("stat", *events, "--", "true").stderr,
               "csv": run("stat", "-x", ";", *events, "--", "true").stderr,
               "json": run("stat", "-j", *events, "--", "true", bad).stdout,
               "metrics": run("exporter", "--once", "-p", "100ms", *events).stdout,
               "no command": run(b"x" + bad + b"\n").stderr,
               "option": run("stat", b"--" + bad).stderr,
               "event": run("stat", "-e", b"a/" + bad + b"/", "true").stderr,
               "file": run("report", b"no-" + bad).stderr,
               "device": run("stat", "-d", bad, "true").stderr,
               "number": run("stat", "-p", bad, "true").stderr}
    for words in (("report", ), ("report", "-A", "-j"), ("report", "--svg"), ("report", "--html"),
                  ("export", "-f", "csv"), ("export", "-f", "json"), ("diff", path)):
        done = run(*words, path)
        check(done.stdout, f"{words}: {done.stderr}")
        outputs[" ".join(words)] = done.stdout + done.stderr
    for what, output in outputs.items():
        check(output, f"{what}: nothing")
        text = output.decode("utf-8")
        check(not re.search(f"[\0-\x08\x0b-\x1f\x7f-\x9f{FORMATS}]", text), f"{what}: {text!r}")
    trace = run("export", "-f", "perfetto", path).stdout
    check(b"\xe6\xad)" not in trace and b"\x1b[" not in trace and
          b"\x1b]" not in trace and not any(c.encode() in trace for c in FORMATS), "trace")


@test
def repeated_runs_have_one_mean():
    """stat -r: CSV and JSON have the mean of a run, its deviation and the number of runs"""
    words = "stat", "-r", "3", *COUNT, "-a"
    row = run(*words, "-x", ",", "--", "sleep", "0.2").stderr.decode().splitlines()[0].split(",")
    check(len(row) == 11 and row[2] == "cpu/work/" and row[10] == "3", f"{row}")
    # a million a second on each of 4 CPUs
    check(8e5 <= float(row[0]) < 16e5, f"{row}")
    check(row[3][-1] == "%" and 0 <= float(row[3][:-1]) < 50, f"{row}")
    check(8e8 <= float(row[4]) < 16e8 and row[5] == "100.00", f"time: {row}")
    check(abs(float(row[0]) / float(row[4]) * 1e3 - 1) < 0.1, f"count and time: {row}")
    done = json.loads(run(*words, "-j", "--", "sleep", "0.2").stdout)
    counter = done["counters"][0]
    check(done["runs"] == counter["runs"] == 3 and
          abs(3 * counter["run_mean"] - counter["value"]) < 1 and
          counter["run_stddev_percent"] is not None, f"{counter}")
    single = run("stat", *COUNT, "-a", "-x", ",", "--", "true").stderr.decode().split(",")
    check(len(single) == 9, f"{single}")


def main():
    set_up()
    try:
        return harness.main(attempt=attempt)
    finally:
        widths = [max(map(len, column)) for column in zip(*TABLE)]
        for line in TABLE:
            print("#", *(text.ljust(width) for text, width in zip(line, widths)), flush=True)
        World.machine.close()
        shutil.rmtree(World.folder, ignore_errors=True)


def attempt(function):
    try:
        return function()
    finally:
        for name in os.listdir(World.folder):
            path = os.path.join(World.folder, name)
            if os.path.isdir(path):
                shutil.rmtree(path)
            else:
                os.unlink(path)


sys.exit(main())
