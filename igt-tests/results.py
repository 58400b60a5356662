# SPDX-License-Identifier: MIT
"""Results of subtests: TAP and results.json, after each subtest."""

import collections
import json
import os
import subprocess
import time

# a program's verdict -> igt_runner's
VERDICTS = {"SUCCESS": "pass", "FAIL": "fail", "SKIP": "skip", "CRASH": "crash",
            "TIMEOUT": "timeout"}
# all of igt_runner's verdicts, from good to bad
ORDER = ["pass", "skip", "notrun", "warn", "dmesg-warn", "fail", "dmesg-fail", "timeout", "crash",
         "abort", "incomplete"]
GOOD = ("pass", "skip")
RESULTS_VERSION = 10
OUTPUT_LINES = 40


def skip_reason(output):
    """The last line of the output: the requirement that was not met."""
    reasons = [line.strip() for line in output if line.strip()
               and not line.startswith("Last errno")]
    return reasons[-1] if reasons else ""


def duration(seconds, start=0.0):
    return {"__type__": "TimeAttribute", "start": start, "end": start + seconds}


def commit():
    """The commit of this tree, with "-dirty" if it is changed; None without git."""
    # by size and time only: a guest sees other inodes
    git = subprocess.run(["git", "-c", "core.checkStat=minimal", "-c", "safe.directory=*",
                          "describe", "--always",
                          "--dirty", "--abbrev=12", "--exclude=*"], check=False,
                         capture_output=True, text=True,
                         cwd=os.path.dirname(os.path.realpath(__file__)))
    return git.stdout.strip() or None


class Results:
    def __init__(self, directory=None, cmdline=(), unwatched=()):
        """Raises OSError early if @directory is not writable."""
        self.all = []  # (program, subtest, entry), in the order in which they were run
        self.tests = {}  # by igt_runner's name: the worst result of repeated runs
        self.runtimes = collections.Counter()
        self.directory = directory
        self.start = time.time()
        self.head = {"__type__": "TestrunResult", "results_version": RESULTS_VERSION,
                     "name": "perfctr",
                     "uname": " ".join(os.uname()), "cmdline": list(cmdline),
                     "unwatched": list(unwatched)}
        if directory:
            os.makedirs(directory, exist_ok=True)
            self.file = open(os.path.join(directory, "results.json"), "wb", buffering=0)
            try:
                self.head["commit"] = commit()
            except OSError:  # no git
                self.head["commit"] = None
            self.save_all()

    def add(self, program, name, verdict, seconds, output, said=((), ()), version=""):
        """One result; @said: lines of the kernel log, and the complaints among them."""
        lines, complaints = said
        if complaints:
            verdict = {"pass": "dmesg-warn", "skip": "dmesg-warn",
                       "fail": "dmesg-fail"}.get(verdict, verdict)
        # both streams, in their order
        entry = {"result": verdict, "out": "".join(line + "\n" for line in output), "err": "",
                 "dmesg": "".join(line + "\n" for line in lines), "time": duration(seconds),
                 "igt-version": version}
        if complaints:
            entry["dmesg-warnings"] = "".join(line + "\n" for line in complaints)
        self.all.append((program, name, entry))
        key = f"igt@{program}@{name}".lower()
        before = self.tests.get(key)
        if not before or ORDER.index(before["result"]) <= ORDER.index(verdict):
            self.tests[key] = entry
        if self.directory and before:
            self.save_all()
        elif self.directory:
            self.save(json.dumps(key) + ": " + json.dumps(entry))
        self.report(program, name, verdict, [*output, *("kernel: " + line for line in complaints)])

    def report(self, program, name, verdict, output):
        good = verdict in GOOD
        reason = ""
        if verdict == "skip":
            reason = " # SKIP " + (skip_reason(output) or "no reason given")
        elif not good:
            for line in output[-OUTPUT_LINES:]:
                print("# " + line)
        print(f"{'ok' if good else 'not ok'} {len(self.all)} - {program}@{name}{reason}",
              flush=True)
        if not good and verdict != "fail":
            print(f"# {verdict}", flush=True)

    def count(self, *verdicts):
        return sum(entry["result"] in verdicts for _, _, entry in self.all)

    def failures(self):
        return collections.Counter(f"{program}@{name}" for program, name, entry in self.all
                                   if entry["result"] not in GOOD)

    def rest(self):
        """The members of results.json that follow the tests."""
        totals = {key: dict.fromkeys(ORDER, 0) for key in ("", "root")}
        for key, entry in self.tests.items():
            program = key.rpartition("@")[0]
            totals.setdefault(program, dict.fromkeys(ORDER, 0))
            for group in ("", "root", program):
                totals[group][entry["result"]] += 1
        return {"totals": totals, "time_elapsed": duration(time.time() - self.start, self.start),
                "runtimes": {f"igt@{program}".lower(): {"time": duration(seconds)}
                             for program, seconds in self.runtimes.items()}}

    def save(self, text):
        """Appends a test. The file is complete after each one."""
        separator = ", " if self.is_begun else ""
        self.is_begun = True
        body = (separator + text).encode()
        os.pwrite(self.file.fileno(), body + b"}, " + json.dumps(self.rest())[1:].encode(),
                  self.end)
        self.end += len(body)

    def save_all(self):
        text = json.dumps(self.head)[:-1] + ', "tests": {' + json.dumps(self.tests)[1:-1]
        self.file.truncate(0)
        self.is_begun = bool(self.tests)
        self.end = len(text)
        os.pwrite(self.file.fileno(), text.encode() + b"}, " + json.dumps(self.rest())[1:].encode(),
                  0)

    def finish(self):
        if self.directory:
            self.save_all()
