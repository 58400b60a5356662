# SPDX-License-Identifier: MIT
"""Results of subtests: TAP and results.json at once, JUnit and a page at the end."""

import collections
import json
import os
import re
import subprocess
import time
import xml.etree.ElementTree as xml

import page

# igt_runner's verdicts for those of a program
VERDICTS = {"SUCCESS": "pass", "FAIL": "fail", "SKIP": "skip", "CRASH": "crash",
            "TIMEOUT": "timeout"}
# all of igt_runner's verdicts, from good to bad
ORDER = ["pass", "skip", "notrun", "warn", "dmesg-warn", "fail", "dmesg-fail", "timeout", "crash",
         "abort", "incomplete"]
GOOD = ("pass", "skip")
# errors of JUnit: not reported by the test itself
ERRORS = ("timeout", "crash", "incomplete")
RESULTS_VERSION = 10
TOLD_LINES = 40
UNPRINTABLE = re.compile(r"[^\t\n\x20-\x7e]")


def skip_reason(output):
    """The line that a requirement gives as its reason comes last."""
    reasons = [line.strip() for line in output if line.strip()
               and not line.startswith("Last errno")]
    return reasons[-1] if reasons else ""


def duration(seconds, start=0.0):
    return {"__type__": "TimeAttribute", "start": start, "end": start + seconds}


def commit():
    """Of this tree, "-dirty" if it is changed; None if it is no git tree."""
    # by size and time only: a guest sees other inodes
    git = subprocess.run(["git", "-c", "core.checkStat=minimal", "-c", "safe.directory=*",
                          "describe", "--always",
                          "--dirty", "--abbrev=12", "--exclude=*"], check=False,
                         capture_output=True, text=True,
                         cwd=os.path.dirname(os.path.realpath(__file__)))
    return git.stdout.strip() or None


class Results:
    def __init__(self, directory=None, cmdline=(), unwatched=()):
        """Raises OSError if @directory cannot be written to: before anything is run."""
        self.all = []  # (program, subtest, entry), in the order in which they were run
        self.tests = {}  # by igt_runner's name: the worst result of repeated runs
        self.runtimes = collections.Counter()
        self.sentences = {}
        self.directory = directory
        self.start = time.time()
        self.head = {"__type__": "TestrunResult", "results_version": RESULTS_VERSION,
                     "name": "perfctr",
                     "uname": " ".join(os.uname()), "cmdline": list(cmdline),
                     "unwatched": list(unwatched),
                     "programs": {}}
        if directory:
            os.makedirs(directory, exist_ok=True)
            for old in ("results.xml", "results.html"):
                if os.path.exists(os.path.join(directory, old)):
                    os.unlink(os.path.join(directory, old))
            self.file = open(os.path.join(directory, "results.json"), "wb", buffering=0)
            try:
                self.head["commit"] = commit()
            except OSError:  # no git
                self.head["commit"] = None
            self.save_all()

    def describe(self, program, text):
        """The descriptions of the program and its subtests."""
        self.head["programs"][program] = text.partition("\n\n")[0].strip()
        for subtest, description in re.findall(r"^SUB (\S+) .*\n((?:  .*\n)*)", text, re.M):
            self.sentences[program, subtest] = " ".join(description.split())

    def add(self, program, name, verdict, seconds, output, said=((), ()), version=""):
        """One result; @said: the lines of the kernel log, and those that are complaints."""
        lines, complaints = said
        if complaints:
            verdict = {"pass": "dmesg-warn", "skip": "dmesg-warn",
                       "fail": "dmesg-fail"}.get(verdict, verdict)
        # both streams, in their order
        entry = {"result": verdict, "out": "".join(line + "\n" for line in output), "err": "",
                 "dmesg": "".join(line + "\n" for line in lines), "time": duration(seconds),
                 "igt-version": version, "description": self.sentences.get((program, name), "")}
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
        self.tell(program, name, verdict, [*output, *("kernel: " + line for line in complaints)])

    def tell(self, program, name, verdict, output):
        good = verdict in GOOD
        reason = ""
        if verdict == "skip":
            reason = " # SKIP " + (skip_reason(output) or "no reason given")
        elif not good:
            for line in output[-TOLD_LINES:]:
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
        """The members after the tests."""
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
        """Appends a test. The file is complete after each one, in case the run is killed."""
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
        if not self.directory:
            return
        self.save_all()
        with open(os.path.join(self.directory, "results.json"), encoding="utf-8") as f:
            results = json.load(f)
        with open(os.path.join(self.directory, "results.html"), "w", encoding="utf-8") as f:
            f.write(page.page(results))
        self.junit().write(os.path.join(self.directory, "results.xml"), encoding="unicode",
                           xml_declaration=True)

    def junit(self):
        def sums(mine):
            verdicts = [entry["result"] for _, _, entry in mine]
            errors, skipped = (sum(v in kind for v in verdicts) for kind in (ERRORS, ("skip",)))
            failures = sum(v not in (*GOOD, *ERRORS) for v in verdicts)
            seconds = sum(entry["time"]["end"] for _, _, entry in mine)
            return {"tests": str(len(mine)), "failures": str(failures), "errors": str(errors),
                    "skipped": str(skipped), "time": f"{seconds:.3f}"}

        root = xml.Element("testsuites", name="perfctr", **sums(self.all))
        for program in sorted({program for program, _, _ in self.all}):
            mine = [result for result in self.all if result[0] == program]
            suite = xml.SubElement(root, "testsuite", name=program, hostname=os.uname().nodename,
                                   timestamp=time.strftime("%Y-%m-%dT%H:%M:%S",
                                                           time.gmtime(self.start)),
                                   **sums(mine))
            for _, name, entry in mine:
                case = xml.SubElement(suite, "testcase", classname=program, name=name,
                                      time=f"{entry['time']['end']:.3f}")
                verdict, out = entry["result"], UNPRINTABLE.sub("?", entry["out"])
                text = out + UNPRINTABLE.sub("?", entry.get("dmesg-warnings", ""))
                if verdict == "skip":
                    xml.SubElement(case, "skipped", message=skip_reason(out.splitlines()))
                elif verdict != "pass":
                    xml.SubElement(case, "error" if verdict in ERRORS else "failure",
                                   message=verdict).text = text
                if out:
                    xml.SubElement(case, "system-out").text = out
        return xml.ElementTree(root)
