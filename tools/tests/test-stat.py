#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: test-stat.py BUILD: perfctr stat as programs that were written for perf use it. Counts
this machine's software events. Prints TAP."""

import json
import os
import subprocess
import sys
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
        """What it counted, and its messages; stop ends the program with SIGTERM."""
        os.close(self.commands)
        text, errors = self.process.communicate(timeout=60)
        check(self.process.returncode == status, f"{self.process.returncode} {errors}")
        return json.loads(text), errors


@test
def clients_of_perf_control():
    """--control: a zero byte ends a command, as a line feed; one that is whole needs neither"""
    stat = Controlled()
    for command in (b"enable\n\0", b"disable\0", b"\n\n\0ping\n", b"enable", b"disable"):
        stat.tell(command)
    os.write(stat.commands, b"wrong\0pi")
    stat.tell(b"ng\n")
    stat.tell(b"enable")
    time.sleep(0.2)
    os.write(stat.commands, b"stop")
    result, errors = stat.end()
    check(errors.count("is no command") == 1 and "'wrong'" in errors, errors)
    check(result["counters"][0]["value"] > 0, f"{result}")
    # a file that ends, as of a shell's pipe
    done = run("-j", "-D", "-1", "--control", "fd:0", "-e", "cpu-clock", "--", *BRIEF,
               input="ping\nenable")
    check(json.loads(done.stdout)["counters"][0]["value"] > 0, done.stdout)


@test
def clients_that_read_no_answers():
    """--control: neither a reader that is gone nor a full pipe stops the counting"""
    stat = Controlled(answers=False)
    os.write(stat.commands, b"enable\nstop\n")
    check(stat.end()[0]["counters"], "without a reader")
    stat = Controlled()
    os.write(stat.commands, b"ping\n" * 10000)
    os.write(stat.commands, b"ping\n" * 10000 + b"enable\nstop\n")
    check(stat.end()[0]["counters"], "a full pipe")
    os.close(stat.answers)


@test
def spellings_of_perf():
    """--no-big-num and -B; a second -G is refused, not forgotten"""
    def value(*options):
        done = run(*options, "-e", "cpu-clock", "--", *BRIEF)
        return next(line for line in done.stderr.splitlines() if "cpu-clock" in line).split()[0]
    for options, commas in (((), True), (("--no-big-num",), False), (("-r", "2"), True),
                            (("-r", "2", "--no-big-num"), False),
                            (("-I", "60s", "--no-big-num"), False),
                            (("--no-big-num", "-B"), True)):
        check(("," in value(*options)) == commas, f"{options}: {value(*options)}")
    done = run("-G", "a", "-G", "b", "-e", "cs", "--", "true", status=2)
    check("-G 'b'" in done.stderr and "--for-each-cgroup" in done.stderr, done.stderr)


if __name__ == "__main__":
    sys.exit(harness.main())
