#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr validate: evidence that looks like one for a counter and is none. Prints TAP; needs no
device."""

import json
import os
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tests"))
import harness
from harness import check, test

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
BUILD = os.environ.get("BUILD") or os.path.join(TOP, "build")
PERFCTR = os.path.join(BUILD, "lab/bin/perfctr")
FINE, FAILED, DOUBT = 0, 1, 5

# work of which n is counted; n, k and m are in no fixed proportion
WORK = [{"name": "work", "parameters": {"N": [100, 200, 400]},
         "quantities": {"n": "N", "k": "N * N / 100", "m": "1000 - N"}}]


def run(*arguments, status, **options):
    return harness.run(PERFCTR, "validate", *arguments, status=status, **options)


class Folder:
    """A campaign with a file of measurements, in a folder of its own."""

    def __init__(self, path, **campaign):
        self.path = path
        self.campaign = self.write("campaign.json", json.dumps(
            {"campaign": "own", "benchmarks": WORK, **campaign}))

    def write(self, name, text):
        path = os.path.join(self.path, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def measure(self, readings):
        """@readings: {event: [value at each N, None: not measured]}"""
        sizes = WORK[0]["parameters"]["N"]
        return self.write("data.csv", "benchmark,N,event,value\n" + "".join(
            f"work,{n},{name},{value}\n" for name, values in readings.items()
            for n, value in zip(sizes, values) if value is not None))

    def judge(self, readings, *options, status=(FINE, DOUBT)):
        """{event: its result}"""
        done = run("-j", "-m", self.measure(readings), *options, self.campaign, status=status)
        return {e["event"]: e for e in json.loads(done.stdout)["campaigns"][0]["events"]}


def judge(readings, **campaign):
    with tempfile.TemporaryDirectory() as path:
        return Folder(path, **campaign).judge(readings)


def check_verdict(found, verdict, words, what=""):
    check(found["verdict"] == verdict and words in found["reason"],
          f"{what}: {found['verdict']}: {found['reason']}")


# what a relation says of c: another event has the rule, and counts by it
BY_B = {"events": [{"name": "b", "documented": ["n"]}, {"name": "c"}]}


def related(left, right, readings, **campaign):
    """the result of c, which a relation alone judges"""
    relation = {"name": "r", "left": left, "right": right}
    return judge(readings, **{**BY_B, **campaign, "relations": [relation]})["c"]


@test
def a_relation_at_one_point():
    """a relation that is tested at one point trusts no counter, whatever it counts elsewhere; nor
    does it exclude rules of one"""
    b, c = [100, 200, 400], [100, 250, 400]
    check_verdict(related("c", "b", {"b": [100, 200, None], "c": [100, None, 250]}),
                  "QUARANTINED", "tests this one at one point", "elsewhere")
    check_verdict(related("c", "b", {"b": b, "c": b}), "TRUSTED", "hold", "all points")
    check_verdict(related("c", "b", {"b": b, "c": c}), "UNTRUSTED", "violated", "violated")
    # the same reading at all points can be that of a counter that is stuck
    check_verdict(related("c", "min(b, 100)", {"b": b, "c": [100] * 3}), "QUARANTINED",
                  "at one point", "stuck")
    found = judge({"a": [100, 200, None], "b": [100, None, None], "t": [200, 400, None]},
                  events=[{"name": "a", "documented": ["n"], "candidates": ["n"]},
                          {"name": "b", "documented": ["n"], "candidates": ["n", "k", "m"]},
                          {"name": "t", "documented": ["2 n"], "candidates": ["n"]}],
                  relations=[{"name": "sum", "left": "a + b", "right": "t"}])["b"]
    check(found["search"]["relations"] is None and found["verdict"] == "QUARANTINED",
          f"{found['search']}")


@test
def relations_that_say_nothing():
    """a relation that would hold with other counts, or with events that are not known to count
    right, trusts nothing"""
    b = [100, 200, 400]
    for left, right, c in (("c", "c", b), ("c - c", "0", b), ("c + b", "b + c", b),
                           ("min(c, 50)", "50", b), ("max(c, 1000)", "1000", b),
 ("max(c, b)", "b", b), ("c * (b - b)", "0", b),
                           ("min(c, b)", "b", [300, 900, 500])):
        check_verdict(related(left, right, {"b": b, "c": c}), "MEASURED", "would hold as well",
                      f"{left} = {right}")
    # the partner is dead, its rule is open, it was not compared, it is itself judged by c
    dead = [{"name": "b", "documented": ["k"]}, {"name": "c"}]
    events = [{"name": "b", "documented": ["n"], "candidates": ["n", "k", "m"]}, {"name": "c"}]
    for what, found in (
            ("dead", related("c + b", "N", {"b": [0] * 3, "c": b}, events=dead,
                             benchmarks=[{**WORK[0], "quantities": {"n": "N", "k": "0"}}])),
            ("open", related("c", "b", {"b": [100, None, None], "c": b}, events=events)),
            ("no rule", related("c", "b", {"b": b, "c": b},
                                events=[{"name": "b"}, {"name": "c"}]))):
        check_verdict(found, "MEASURED", "as little is known", what)
    # a chain, whatever the order of events and relations is
    events = [{"name": "d"}, {"name": "c"}, {"name": "b", "documented": ["n"]}]
    found = judge({"b": b, "c": [200, 400, 800], "d": [300, 600, 1200]}, events=events,
                  relations=[{"name": "2", "left": "d", "right": "c + b"},
                             {"name": "1", "left": "c", "right": "2 * b"}])
    check([found[e]["verdict"] for e in "bcd"] == ["TRUSTED"] * 3, f"{found}")


if __name__ == "__main__":
    sys.exit(harness.main())
