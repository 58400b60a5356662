#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What users of perf stat are used to, on software events. Prints TAP. Runs as root in the
guest."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import harness
from harness import check, run, test, write

WORK = tempfile.mkdtemp()
CGROUPS = "/sys/fs/cgroup"
# faults in pages, each counted once, of which a line on stdin asks for; says when they were made
FAULTER = """
import mmap, sys
for line in sys.stdin:
    pages = int(line)
    with mmap.mmap(-1, 4096 * pages) as m:
        for page in range(pages):
            m[4096 * page] = 1
    print(pages, flush=True)
"""
# of the interpreter itself, for a line
OWN = 64


class Faulter:
    """A process that faults when it is asked to; @join: called in it first."""

    def __init__(self, join=None):
        self.process = subprocess.Popen([sys.executable, "-c", FAULTER], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        preexec_fn=join)
        self.fault(1)

    def fault(self, pages):
        self.process.stdin.write(f"{pages}\n")
        self.process.stdin.flush()
        check(self.process.stdout.readline() == f"{pages}\n", "it did not fault")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Stat:
    """perfctr stat of minor faults that runs until stop(), which returns {event: value}."""

    def __init__(self, *options):
        self.stat = subprocess.Popen(
            ["perfctr", "stat", "--jsonl", "-I", "50", "-e", "minor-faults", *options], text=True,
            stdout=subprocess.PIPE)
        line = " "
        while line and (line == " " or json.loads(line)["record"] != "interval"):
            line = self.stat.stdout.readline()
        check(line, f"{options}: no interval")

    def stop(self):
        self.stat.send_signal(2)
        last = json.loads(self.stat.stdout.read().splitlines()[-1])
        check(self.stat.wait() == 0, f"{last}")
        parts = last.get("devices", [last])
        return {c["event"]: c["value"] for p in parts for c in p["counters"]}


def is_about(value, pages):
    return pages <= value <= pages + OWN


@test
def cpus_are_counted_alone():
    """-C: faults of a program that is bound to CPU 0 are those of CPU 0; -A shows them apart"""
    event = "software/minor-faults/"
    with Faulter(lambda: os.sched_setaffinity(0, {0})) as faulter:
        # this script, its children and stat itself
        os.sched_setaffinity(0, {1})
        stats = [Stat("-C", "0"), Stat("-C", "1"), Stat("-a", "--cpu", "0-1"),
                 Stat("-A", "-C", "0")]
        faulter.fault(3000)
        first, second, both, apart = [s.stop() for s in stats]
    check(is_about(first[event], 3000), f"CPU 0: {first}")
    check(both[event] >= 3000 > second[event], f"{first} {second} {both}")
    check(list(apart) == ["software/minor-faults,cpu=0/"] and
          is_about(list(apart.values())[0], 3000), f"{apart}")
    done = run("perfctr", "stat", "-C", "77", "--", "true", status=2)
    check("CPU 77 is not online" in done.stderr, done.stderr)
    done = run("perfctr", "stat", "-C", "0-", "--", "true", status=2)
    check("0-3,8" in done.stderr, done.stderr)


@test
def a_thread_is_counted_alone():
    """-t: faults of one thread of two"""
    program = ("import mmap, threading, sys\n"
               "def f(line):\n"
               " with mmap.mmap(-1, 4096 * line) as m:\n"
               "  for page in range(line): m[4096 * page] = 1\n"
               "def g():\n"
               " print(threading.get_native_id(), flush=True)\n"
               " go.wait(); f(2000); done.set(); end.wait()\n"
               "go, done, end = (threading.Event() for _ in range(3))\n"
               "t = threading.Thread(target=g); t.start()\n"
               "sys.stdin.readline(); f(5000); go.set(); done.wait()\n"
               "print('done', flush=True); sys.stdin.readline(); end.set(); t.join()\n")
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as process:
        try:
            thread = process.stdout.readline().strip()
            stats = [Stat("-t", thread), Stat("--pid", str(process.pid))]
            process.stdin.write("\n")
            process.stdin.flush()
            process.stdout.readline()
            one, all_threads = [list(s.stop().values())[0] for s in stats]
        finally:
            process.kill()
    check(is_about(one, 2000), f"the thread: {one}")
    check(is_about(all_threads, 7000), f"the process: {all_threads}")


@test
def cgroups_are_counted_apart():
    """-G: a cgroup; --for-each-cgroup: each of several, in text, CSV and JSON; unknown names"""
    pages = {"habit-a": 2000, "habit-b": 3000}

    def join(name):
        return lambda: write(f"{CGROUPS}/{name}/cgroup.procs", str(os.getpid()))
    for name in pages:
        os.makedirs(f"{CGROUPS}/{name}", exist_ok=True)
    done = run("perfctr", "stat", "-G", "habit-a", "-e", "cs", "--", "true", status=1)
    check("cgroup.subtree_control" in done.stderr, done.stderr)
    write(f"{CGROUPS}/cgroup.subtree_control", "+cpu")
    with Faulter(join("habit-a")) as a, Faulter(join("habit-b")) as b:
        stats = [Stat("--for-each-cgroup", "habit-a,habit-b"), Stat("-a", "-G", "habit-b")]
        a.fault(2000)
        b.fault(3000)
        each, one = [s.stop() for s in stats]
    event = "software/minor-faults/"
    for name, count in pages.items():
        check(is_about(each[f"{name}:{event}"], count), f"{each}")
    check(is_about(one[event], 3000), f"{one}")
    done = run("perfctr", "stat", "-x,", "--for-each-cgroup", "habit-a,habit-b", "-e", "cs",
               "--timeout", "100ms")
    check([line.split(",")[2:4] for line in done.stderr.splitlines()] ==
          [["cs", name] for name in pages], done.stderr)
    done = run("perfctr", "stat", "--for-each-cgroup", "habit-a,habit-b", "-e", "cs", "--timeout",
               "100ms")
    check("cgroup habit-a (local), cgroup habit-b (local)" in done.stdout, done.stdout)
    for wrong, text in ((("-G", "nowhere"), "nowhere"),
                        (("-G", "habit-a,habit-b"), "more cgroups than -e before it has events, 1"),
                        (("-G", "habit-b", "-G", "habit-a"), "-G before all events is of all"),
                        (("--for-each-cgroup", "habit-a,habit-a"), "habit-a is there twice")):
        done = run("perfctr", "stat", *wrong, "-e", "cs", "--", "true", status=2)
        check(text in done.stderr, done.stderr)
    for name in pages:
        os.rmdir(f"{CGROUPS}/{name}")
    write(f"{CGROUPS}/cgroup.subtree_control", "-cpu")


@test
def counting_begins_later():
    """-D: what a command does before the delay is not counted; its status stays"""
    fault = FAULTER.strip().replace("sys.stdin", "sys.argv[1:]")
    work = '"$1" -c "$2" 4000 && sleep 6 && "$1" -c "$2" 1000; exit 5'

    def count(*options):
        begin = time.monotonic_ns()
        done = run("perfctr", "stat", "-j", *options, "-e", "minor-faults", "--", "sh", "-c", work,
                   "sh", sys.executable, fault, status=5)
        ns = time.monotonic_ns() - begin
        result = json.loads(done.stdout)
        return result["counters"][0]["value"] / result["runs"], result["elapsed_ns"], ns
    everything = count()[0]
    for options, runs in ((), 1), (("-r", "2"), 2):
        value, late_ns, ns = count("-D", "5s", *options)
        check(1000 <= value <= everything - 4000, f"{options}: {value} of {everything}")
        # on a busy machine, too
        check(0 < late_ns <= ns - runs * 5e9, f"{options}: {late_ns} of {ns}")
    for wrong in ("x", "-2"):
        check("-1" in run("perfctr", "stat", "-D", wrong, "--", "true", status=2).stderr, wrong)
    check("--control" in run("perfctr", "stat", "-D", "-1", "--", "true", status=2).stderr, "-1")


@test
def another_program_controls():
    """--control fd: and fifo: enable, disable, ping and stop, with answers; exact counts"""
    fifos = [os.path.join(WORK, name) for name in ("control", "ack")]
    for path in fifos:
        os.mkfifo(path)
    opened = [os.open(path, os.O_RDWR) for path in fifos]
    for text in (f"fifo:{fifos[0]},{fifos[1]}", f"fd:{opened[0]},{opened[1]}"):
        def tell(command):
            os.write(opened[0], f"{command}\n".encode())
            check(os.read(opened[1], 64) == b"ack\n\0", f"{command} of {text}")
        with Faulter() as faulter, subprocess.Popen(
                ["perfctr", "stat", "-j", "-D", "-1", "--control", text, "-e", "minor-faults",
                 "--pid", str(faulter.process.pid)], pass_fds=opened, text=True,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE) as stat:
            tell("ping")
            faulter.fault(500)
            tell("enable")
            faulter.fault(1000)
            tell("disable")
            faulter.fault(4000)
            tell("enable")
            faulter.fault(300)
            tell("wrong")
            tell("ping")
            tell("stop")
            stat.send_signal(signal.SIGINT)
            result = json.loads(stat.stdout.read())
            errors = stat.stderr.read()
        check(stat.returncode == 0 and "'wrong' is no command" in errors, errors)
        check(is_about(result["counters"][0]["value"], 1300), f"{text}: {result['counters']}")
    for wrong in ("fd:77", "fifo:/nowhere", "x", "fd:0,1,2"):
        done = run("perfctr", "stat", "--control", wrong, "--", "true", status=2)
        check(wrong.rsplit(":", maxsplit=1)[-1].split(",")[0] in done.stderr, done.stderr)


@test
def further_spellings():
    """--append, -M, -v, -B and aliases; a hint for perf's -d"""
    out = os.path.join(WORK, "out")
    for n in range(2):
        run("perfctr", "stat", "-B", "-x", ";", "--append", "-o", out, "-e", "faults,cs,migrations",
            "--", "true")
        with open(out, encoding="utf-8") as f:
            check(len(f.readlines()) == 3 * (n + 1), "lines")
    done = run("perfctr", "stat", "-v", "-e", "page-faults,cpu-clock:u", "--", "true")
    check("perf type 1, config 0x2" in done.stderr, done.stderr)
    check("-e" in run("perfctr", "stat", "-d", "--", "true", status=2).stderr, "-d")
    done = run("perfctr", "stat", "-M", "nothing_like_it", "--", "true", status=2)
    check("nothing_like_it" in done.stderr, done.stderr)


@test
def tracepoints():
    """sched:sched_switch, as many as software/context-switches/ of the same process"""
    done = run("perfctr", "stat", "-j", "-e", "sched:sched_switch,context-switches", "--", "sh",
               "-c", "for i in 1 2 3 4 5; do sleep 0.01; done")
    values = [c["value"] for c in json.loads(done.stdout)["counters"]]
    # the last switch, away from a process that ended, is in one of them
    check(len(values) == 2 and values[1] >= 5 and abs(values[0] - values[1]) <= 8, f"{values}")


if __name__ == "__main__":
    time.sleep(0.1)
    sys.exit(harness.main())
