#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: test-stat.py BUILD: perfctr stat as programs that were written for perf use it. Counts
this machine's software events. Prints TAP."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import harness
from harness import check, test

PERFCTR = os.path.join(sys.argv[1], "bin/perfctr")
STAT = PERFCTR, "stat", "-d", "local"
# programs that work, for ever and for a moment
BUSY = "sh", "-c", "while :; do :; done"
BRIEF = "sh", "-c", "n=0; while [ $n -lt 100000 ]; do n=$((n + 1)); done"


def run(*words, **more):
    return harness.run(*STAT, *words, **more)


class Controlled:
    """stat -D -1 of a program that works, with pipes for commands and answers"""

    def __init__(self, answers=True):
        (theirs, self.commands), (self.answers, ack) = os.pipe(), os.pipe()
        # pylint: disable-next=consider-using-with
        self.process = subprocess.Popen(
            [*STAT, "-j", "-D", "-1", "--control", f"fd:{theirs},{ack}", "-e", "cpu-clock", "--",
             *BUSY], pass_fds=(theirs, ack), text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        os.close(theirs)
        os.close(ack)
        if not answers:
            os.close(self.answers)

    def tell(self, command):
        os.write(self.commands, command)
        answer = os.read(self.answers, 64)
        check(answer == b"ack\n\0", f"{command}: {answer}")

    def end(self, status=143):
        """What it counted, and its messages, ended by a signal."""
        os.close(self.commands)
        self.process.terminate()
        text, errors = self.process.communicate(timeout=60)
        check(self.process.returncode == status, f"{self.process.returncode} {errors}")
        return json.loads(text), errors


@test
def clients_of_perf_control():
    """--control: a zero byte ends a command, as a line feed; one that is whole needs neither"""
    stat = Controlled()
    for command in (b"enable\n\0", b"disable\0", b"\n\n\0ping\n", b"enable", b"disable",
                    b"wrong\0", b"enable cpu-clock\n"):
        stat.tell(command)
    os.write(stat.commands, b"pi")
    stat.tell(b"ng\n")
    stat.tell(b"enable")
    time.sleep(0.2)
    # of perf record: they end nothing
    os.write(stat.commands, b"snapshot\n")
    stat.tell(b"stop")
    stat.tell(b"evlist -v\n")
    time.sleep(0.1)
    check(stat.process.poll() is None, "stop ended it")
    result, errors = stat.end()
    check(errors.count("is no command") == 2 and "'wrong'" in errors, errors)
    check("\ncpu-clock\n" in errors, errors)
    check(result["counters"][0]["value"] > 0, f"{result}")
    # a file that ends, as of a shell's pipe
    done = run("-j", "-D", "-1", "--control", "fd:0", "-e", "cpu-clock", "--", *BRIEF,
               input="ping\nenable")
    check(json.loads(done.stdout)["counters"][0]["value"] > 0, done.stdout)


@test
def clients_that_read_no_answers():
    """--control: neither a reader that is gone nor a full pipe stops the counting"""
    for answers, commands in (False, b"enable\n"), (True, b"ping\n" * 20000 + b"enable\n"):
        stat = Controlled(answers=answers)
        # on stderr, once all before it was taken
        for start in range(0, len(commands), 4096):
            os.write(stat.commands, commands[start:start + 4096])
        os.write(stat.commands, b"evlist\n")
        check(stat.process.stderr.readline() == "cpu-clock\n", f"{answers}: evlist")
        time.sleep(0.1)
        check(stat.end()[0]["counters"][0]["value"] > 0, f"{answers}: nothing is counted")
        if answers:
            os.close(stat.answers)


@test
def spellings_of_perf():
    """--no-big-num and -B; -d, -dd, -ddd are none of ours"""
    def value(*options):
        done = run(*options, "-e", "cpu-clock", "--", *BRIEF)
        return next(line for line in done.stderr.splitlines() if "cpu-clock" in line).split()[0]
    for options, commas in (((), True), (("--no-big-num",), False), (("-r", "2"), True),
                            (("-r", "2", "--no-big-num"), False),
                            (("-I", "60s", "--no-big-num"), False),
                            (("--no-big-num", "-B"), True)):
        check(("," in value(*options)) == commas, f"{options}: {value(*options)}")
    for words, status in ((("-d", "true"), 4), (("-dd", "true"), 2), (("-d", "--", "true"), 2),
                          (("-ddd", "-e", "cs", "true"), 2), (("-d", "-e", "cs", "true"), 2)):
        check("perf's -d is -e" in run(*words, status=status).stderr, words)
    check("perf's" not in run("-d", "nosuch", status=4).stderr, "nosuch")


# written for perf stat -x, as its manual page has the fields: sums of an event, by column
AWK = """
/^$/ || /^#/ || /^Events / { next }
$2 != "" && $2 != "msec" { exit 1 }
$1 == "<not counted>" || $1 == "<not supported>" { missing[$3]++; next }
$1 !~ /^[0-9]+([.][0-9]+)?$/ { exit 2 }
{ sums[$3] += $1; ran[$3] += $4; part[$3] = $5 }
END {
    for (event in sums)
        print event, (sums[event] > 0), (ran[event] > 0), part[event]
    for (event in missing) print event, "missing"
}"""


def fields_for_perf(text, interval=False, per_cpu=False, cgroup=False, repeat=False):
    """What a program that was written for perf finds in each line, without numbers that differ."""
    found = []
    for line in text.splitlines():
        if not line or line[0] == "#" or line.startswith("Events "):
            continue
        fields = line.split(",")
        row = {}
        if interval:
            check(re.fullmatch(r" *\d+\.\d{9}", fields.pop(0)), line)
        if per_cpu:
            row["cpu"] = fields.pop(0)
        value, row["unit"], row["event"] = fields[:3]
        # how often a sleeping program is counted is chance
        row["form"] = "missing" if value[0] == "<" else re.sub(r"\d+", "N", value)
        fields = fields[3:]
        if cgroup:
            row["cgroup"] = fields.pop(0)
        if repeat:
            check(re.fullmatch(r"\d+\.\d\d%", fields.pop(0)), line)
        ran, part, metric, unit = fields[:4]
        check(ran.isdigit() and 0 <= float(part) <= 100 and re.fullmatch(r"\d+\.\d\d", part), line)
        check(not metric or float(metric) >= 0, line)
        check(bool(metric) == bool(unit), line)
        check(row["form"] != "missing" or (ran, part) == ("0", "100.00"), line)
        found.append(row)
    # how many intervals there are, the load of the machine says
    return [row for n, row in enumerate(found) if not interval or row not in found[:n]]


CASES = {
    ("-e", "cs,faults,task-clock,cpu-clock", "--", *BRIEF): {},
    ("-e", "{page-faults:u,context-switches}", "-e", "minor-faults", "--", *BRIEF): {},
    ("-e", "cs,context-switches,page-faults,faults,cs:u,context-switches:u", "--", *BRIEF): {},
    ("-e", "page-faults,cpu-clock", "-e", "faults", "--", *BRIEF): {},
    # on a machine without a PMU these are not supported
    ("-e", "cycles,faults,instructions:u,branches", "--", *BRIEF): {},
    ("-r", "3", "-e", "faults,task-clock", "--", *BRIEF): {"repeat": True},
    ("-I", "100", "-e", "task-clock", "--", "timeout", "0.25", *BUSY): {"interval": True},
    ("-D", "300", "-e", "cs,cpu-clock", "--", "true"): {},
    ("-D", "300", "-r", "2", "-e", "cs,cpu-clock", "--", "true"): {"repeat": True},
    ("-D", "-1", "-I", "100", "-e", "cs,task-clock", "--", "sleep", "0.25"): {"interval": True},
    ("-A", "-a", "-e", "cs,cpu-clock", "--", *BRIEF): {"per_cpu": True},
    ("-A", "-a", "-I", "100", "-e", "cpu-clock", "--", "sleep", "0.25"):
        {"per_cpu": True, "interval": True},
}


def both(words):
    """stderr of perf, and ours, which the command's own output is no part of"""
    texts = []
    for program in ("perf", "stat"), STAT:
        with tempfile.TemporaryFile() as control:
            ours = program == STAT and "-1" in words
            more = ("--control", f"fd:{control.fileno()}") if ours else ()
            done = subprocess.run([*program, "-x,", *more, *words], pass_fds=(control.fileno(),),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                  env={**os.environ, "LC_ALL": "C"}, timeout=60, check=False)
        check(not done.stdout, f"{words}: {done.stdout}")
        # with -A, perf of Debian 13 has the PMU's name behind the event
        texts.append(re.sub(r" \[\w+\](?=,)", "", done.stderr))
    return texts


@test
def scripts_for_perf_read_ours():
    """stat -x: what scripts for perf find in its rows, they find in ours"""
    if not shutil.which("perf"):
        return "no perf here"
    for words, form in CASES.items():
        if "-a" in words and os.geteuid():
            continue
        theirs, ours = both(words)
        forms = [fields_for_perf(text, **form) for text in (theirs, ours)]
        check(forms[0] == forms[1] and forms[0], f"{words}:\n{theirs}\n{ours}")
        if not form:
            found = [sorted(subprocess.run(["awk", "-F,", AWK], input=text,
                                           capture_output=True, text=True,
                                           check=True).stdout.splitlines())
                     for text in (theirs, ours)]
            check(found[0] == found[1], f"{words}: {found}")
    return None


@test
def several_processes():
    """--pid A,B and -t A,B count the sum, each once, until both have ended; record does, too"""
    def clock(*options):
        return json.loads(run("-j", *options, "-e", "task-clock").stdout)["counters"][0]["value"]
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(BUSY) as a, \
            subprocess.Popen(BUSY) as b:
        try:
            for option in "--pid", "-t":
                wait = "--timeout", "300"
                one = clock(option, str(a.pid), *wait)
                both_of = clock(option, f"{a.pid},{b.pid},{a.pid}", *wait)
                check(both_of > 0 and one > 0, f"{one} {both_of}")
                # of two that work in turns on one CPU, the sum is that of the CPU
                check(len(os.sched_getaffinity(0)) < 2 or both_of > 1.2 * one, f"{one} {both_of}")
                text = run(option, f"{a.pid},{b.pid}", *wait, "-e", "task-clock").stdout
                check(f"{a.pid}, {b.pid} and their children" in text, text)
                for wrong in "", "x", "1,", ",1", "1,x", "0", "-1", "1;2", "99999999999":
                    check("numbers such as 12,34" in
                          run(option, wrong, "-e", "cs", status=2).stderr, wrong)
                for command in (), ("--", "true"):
                    check("no process or thread 2147483647" in
                          run(option, f"{a.pid},2147483647", "-e", "cs", *command,
                              status=1).stderr, command)
            # as perf: of processes that ended a warning, of threads an error
            with subprocess.Popen(["true"]) as zombie:
                os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)
                both_of = f"{a.pid},{zombie.pid}"
                text = run("--pid", both_of, "-e", "cs,faults", "--", "true").stderr
                check(text.count(f"process {zombie.pid} has ended") == 1, text)
                text = run("-t", both_of, "-e", "cs", "--", "true", status=1).stderr
                check("no such process" in text, text)
            capture = folder + "/capture"
            harness.run(PERFCTR, "record", "-o", capture, "--pid", f"{a.pid},{b.pid}", "-e",
                        "task-clock", "--", "sleep", "0.2")
            check("2 processes" in harness.run(PERFCTR, "report", capture).stdout, "report")
        finally:
            a.kill()
            b.kill()
    with subprocess.Popen(["sleep", "0.2"]) as a, subprocess.Popen(["sleep", "0.6"]) as b:
        begin = time.monotonic()
        with subprocess.Popen([*STAT, "--pid", f"{b.pid},{a.pid}", "-e", "cs"],
                              stdout=subprocess.DEVNULL) as stat:
            # who is not waited for has not ended for the kernel
            a.wait()
            b.wait()
            check(stat.wait(60) == 0 and time.monotonic() - begin > 0.5, "the last one")


@test
def two_names_of_an_event():
    """cs,context-switches are two rows in all formats, a name or a pattern again is none more"""
    def names(*events):
        events = [word for event in events for word in ("-e", event)]
        found = json.loads(run("-j", *events, "--", "true").stdout)["counters"]
        table = run(*events, "--", "true").stderr
        check(all(f" software/{c['counter']}" in table for c in found), f"{table} {found}")
        lines = run("--jsonl", *events, "--", "true").stdout.splitlines()
        check([c["event"] for c in json.loads(lines[-1])["counters"]] ==
              [c["event"] for c in found], lines)
        return [c["event"].split("/")[1] for c in found]
    check(names("cs,context-switches") == ["cs", "context-switches"], "both")
    check(names("context-switches", "cs") == ["context-switches", "cs"], "the other way")
    check(names("cs,cs,software/context-sw*/,cs") == ["context-switches"], "again")
    check(names("software/page-faults/,page-faults,faults") == ["page-faults", "faults"], "PMU")
    with tempfile.TemporaryDirectory() as folder:
        file = folder + "/capture"
        harness.run(PERFCTR, "record", "-o", file, "-e", "faults,page-faults", "--", "true")
        found = json.loads(harness.run(PERFCTR, "report", "-j", file).stdout)["counters"]
        check(len({c["event"] for c in found}) == 2 and found[0]["value"] > 0, found)


@test
def users_without_the_kernel():
    """stat of a user whom perf_event_paranoid keeps from the kernel: values and names as perf's"""
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as f:
        if os.geteuid() or f.read().strip() != "2" or not shutil.which("perf"):
            return "takes root, perf, and perf_event_paranoid = 2"
    events = "-e", "cs,migrations,faults,task-clock"
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        ours = shutil.copy(PERFCTR, folder)
        found = [harness.run(*words, "stat", "-x,", *events, "--", *BRIEF,
                             uid=harness.NOBODY).stderr
                 for words in (("perf",), (ours,))]
        rows = [[line.split(",") for line in text.splitlines()] for text in found]
        check([row[2] for row in rows[0]] == [row[2] for row in rows[1]] and
              all(row[2].endswith(":u") for row in rows[1]), found)
        check([row[0] for row in rows[1]][:2] == [row[0] for row in rows[0]][:2], found)
        text = harness.run(ours, "stat", *events, "--", "true", uid=harness.NOBODY).stderr
        check("without the kernel" in text and "tasks: 0 without it" in text, text)
        # a capture says it, if one of the counts is one of these
        for recorded in events, ("-e", "faults,task-clock"):
            with tempfile.NamedTemporaryFile(dir=folder, mode="wb") as f:
                f.write(harness.run(ours, "record", "-o", "-", *recorded, "--", "true", text=False,
                                    uid=harness.NOBODY).stdout)
                f.flush()
                notes = json.loads(harness.run(PERFCTR, "report", "-j", f.name).stdout)["notes"]
                check(("of tasks are 0" in "".join(notes)) == (recorded == events), notes)
    return None


@test
def rows_of_csv():
    """stat -x: fields, names and units without perf beside it; stdout is the command's"""
    done = run("-x,", "-e", "cs,faults,cpu-clock:u", "--", "echo", "hello")
    rows = [line.split(",") for line in done.stderr.splitlines()]
    check(done.stdout == "hello\n", done.stdout)
    # a file named - is none
    to_dash = run("-x,", "-o", "-", "-e", "faults", "--", "true")
    check(",faults," in to_dash.stderr and not os.path.exists("-"), to_dash.stderr)
    check([row[1:3] for row in rows] == [["", "cs"], ["", "faults"], ["msec", "cpu-clock:u"]], rows)
    check({len(row) for row in rows} == {9}, rows)
    done = run("-x;", "-r", "2", "-e", "local:faults,software/minor-faults/", "--", "true")
    rows = [line.split(";") for line in done.stderr.splitlines()]
    check([row[2] for row in rows] == ["faults", "software/minor-faults/"], rows)
    check(all(row[-1] == "2" and row[3].endswith("%") for row in rows), rows)
    # of a pattern and of the defaults, names as perf's
    for words in ("-e", "software/page-f*/"), ():
        text = run("-x,", *words, "--", "true").stderr
        check(words and ",page-faults," in text or not words and "software/" not in text, text)


@test
def intervals_share_their_time():
    """stat -I of several devices: rows of an interval have one time, in text, CSV and JSON"""
    with tempfile.TemporaryDirectory() as folder, Cgroups() as names:
        if not names:
            return "no cgroups can be made here"
        for options in (("-x,", "-o", f"{folder}/out"), ("--jsonl",), ("-o", f"{folder}/out")):
            text = harness.run(PERFCTR, "stat", "--for-each-cgroup", ",".join(names), "-e", "cs",
                               "-I", "100", *options, "--", "sleep", "0.45").stdout
            if "-o" in options:
                with open(f"{folder}/out", encoding="utf-8") as f:
                    text = f.read()
            times = [match.group(1) for match in
                     re.finditer(r'(?:^ *|"time_s": ?)(\d+\.\d+)(?:,| +0 .* # )', text, re.M)]
            check(len(times) >= 2 * len(names), text)
            # of a machine that is busy, an interval of one may be two of the other
            later = sorted({float(time) for time in times})
            check(all(b - a > 0.002 for a, b in zip(later, later[1:])), f"{options}: {text}")
        # the whole name, which begins as another
        done = harness.run(PERFCTR, "stat", "-x,", "--for-each-cgroup", ",".join(names), "-e",
                           "cs", "--", "true")
        check([line.split(",")[2:4] for line in done.stderr.splitlines()] ==
              [["cs", name] for name in names], done.stderr)
    return None


@test
def cgroups_of_events():
    """-G: for events before it, one for all, one for each, none, in rows and order as perf's"""
    with Cgroups() as names:
        if not names or not shutil.which("perf"):
            return "no cgroups can be made here, or no perf"
        a, b = names
        for options in (("-e", "cs,faults", "-G", a), ("-e", "cs,faults", "-G", f"{a},{a}"),
                        ("-e", "cs,faults", "-G", f"{a},{b}"), ("-e", "cs,faults", "-G", "/" + a),
                        ("-e", "cs", "-G", a, "-e", "faults", "-G", b),
                        ("-e", "cpu-clock,faults", "-G", "/"),
                        ("-e", "cpu-clock", "-G", b, "-e", "task-clock"),
                        ("-e", "cs,faults,cpu-clock", "-G", f"{a},,{b}"),
                        ("-e", "cs,faults,cpu-clock,task-clock", "-G", f"{a},{b},{a}"),
                        ("-e", "cs,faults", "-G", a, "-e", "cpu-clock", "-G", f",{b}"),
                        ("-e", "cs,faults", "-G", f",{a}"), ("-e", "cs,faults", "-G", f"{a},"),
                        ("-e", "{cs,context-switches},cs", "-G", f"{b},{a},{a}"),
                        ("-e", "cs,context-switches", "-G", a, "-G", b),
                        # empty names, also where no event is left
                        *((*events, "-G", cgroups) for events in (("-e", "cs,faults"),
                                                                  ("-e", "cs", "-e", "faults"))
                          for cgroups in (f"{a},,", f"{a},{b},", ",", ",,,"))):
            # long enough for tasks of / to run on each CPU: what none ran on is not counted
            rows = [fields_for_perf(harness.run(*program, "-x,", "-a", *options, "--", "sleep",
                                                "0.05").stderr, cgroup=True)
                    for program in (("perf", "stat"), (PERFCTR, "stat"))]
            check(rows[0] == rows[1] and len(rows[0]) >= 2, f"{options}: {rows}")
        # without -a, too, which perf refuses
        rows = fields_for_perf(harness.run(PERFCTR, "stat", "-x,", "-e", "local:cs", "-G", a, "-e",
                                           "cs", "--", "true").stderr, cgroup=True)
        check([(row["event"], row["cgroup"]) for row in rows] == [("cs", a), ("cs", "")], rows)
        # each interval has the rows in order, at one time
        text = harness.run(PERFCTR, "stat", "-x,", "-I", "50", "-e", "cs,task-clock,faults", "-G",
                           f"{b},,{a}", "--", "sleep", "0.5").stderr
        rows = [line.split(",") for line in text.splitlines()]
        check([row[3] for row in rows] == ["cs", "task-clock", "faults"] * (len(rows) // 3) and
              len(rows) >= 9 and all(rows[n][0] == rows[n - n % 3][0] for n in range(len(rows))),
              text)
        # in JSON each cgroup is there once
        found = json.loads(harness.run(PERFCTR, "stat", "-j", "-e", "cs,faults,task-clock", "-G",
                                       f"{a},,{a}", "--", "true").stdout)["devices"]
        check([(device["node"], len(device["counters"])) for device in found] ==
              [(a, 2), ("local", 1)], f"{found}")
        def refused(*options):
            return harness.run(PERFCTR, "stat", *options, "--", "true", status=2).stderr
        for expected, *options in (
                ("more cgroups", "-e", "cs", "-G", f"{a},{b}"),
                ("more cgroups", "-e", "cs", "-G", a, "-e", "cs", "-G", f"{a},{b}"),
                ("give no other", "-G", a, "-e", "cs,faults", "-G", b),
                ("of -e, each of one", "-G", f"{a},{b}"),
                ("of -e, each of one", "-e", "cs,faults", "-M", "x", "-G", f"{a},{b}"),
                ("leave out -G", "-e", "cs,faults", "-G", f"{a},{b}", "--per-client"),
                ("a cgroup has no name", "-e", "cs", "--for-each-cgroup", f"{a},,{b}"),
                ("leave out -d", "-d", "local", "-e", "cs,faults", "-G", f"{a},{b}"),
                ("No such file", "-d", "all", "-e", "cs", "-G", "none-such"),
                ("No such file", "-e", "cs,faults", "-G", f"{a},none-such"),
                ("at most 64 devices or cgroups", "-x,", "-e", ",".join(["cs"] * 65), "-G",
                 ",".join([a, b] * 32 + [a])),
                ("exclude", "-e", "cs,faults", "-G", f"{a},{b}", "--for-each-cgroup", a)):
            check(expected in refused(*options), f"{expected}: {options}")
        # all devices: those that count no cgroups are left out
        rows = fields_for_perf(harness.run(PERFCTR, "stat", "-x,", "-d", "all", "-e", "cs", "-G", a,
                                           "--", "true").stderr, cgroup=True)
        check([(row["cgroup"], row["form"]) for row in rows] == [(a, "missing")], rows)
        # in a capture, the machine is no cgroup
        with tempfile.TemporaryDirectory() as folder:
            harness.run(PERFCTR, "record", "-o", f"{folder}/f", "-e", "cs,faults,cs,cpu-clock",
                        "-G", f"{a},,{b},{a}", "--", "true")
            found = json.loads(harness.run(PERFCTR, "report", "-j", f"{folder}/f").stdout)
            check([(of["capture"]["device"]["name"], len(of["counters"]))
                   for of in found] ==
                  [(f"cgroup {a}", 2), ("this machine", 1), (f"cgroup {b}", 1)], f"{found}")
        text = harness.run(PERFCTR, "stat", "-e", "cs", "-G", "/", "--", "true").stderr
        check("cgroup / " in text, text)
    return None


class Cgroups:
    """Two cgroups whose names begin with the same 100 bytes, where perf counts; none: not here."""

    def __enter__(self):
        self.folders, found = [], ""
        for line in open("/proc/self/mounts", encoding="utf-8"):
            _, where, kind, options, *_ = line.split()
            # as perf: its own hierarchy, if there is one
            if "perf_event" in options.split(","):
                found = where
                break
            found = where if kind == "cgroup2" and not found else found
        names = [f"perfctr-{os.getpid()}-{'x' * 100}{n}" for n in range(2)]
        try:
            for name in names if found else ():
                os.mkdir(f"{found}/{name}")
                self.folders.append(f"{found}/{name}")
            done = subprocess.run([PERFCTR, "stat", "-G", names[0], "-e", "cs", "--", "true"],
                                  stderr=subprocess.DEVNULL, check=False)
            return names if not done.returncode else []
        except OSError:
            return []

    def __exit__(self, *_):
        for folder in self.folders:
            os.rmdir(folder)


if __name__ == "__main__":
    sys.exit(harness.main())
