#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr validate: evidence that looks like one for a counter and is none. Prints TAP; needs no
device."""

import hashlib
import json
import os
import re
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
        """@readings: {event: [value at each N, None: not measured, or a list of runs]}"""
        sizes = WORK[0]["parameters"]["N"]
        return self.write("data.csv", "benchmark,N,event,run,value\n" + "".join(
            f"work,{n},{name},{run},{value}\n" for name, values in readings.items()
            for n, of in zip(sizes, values)
            for run, value in enumerate(of if isinstance(of, list) else [of])
            if value is not None))

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


@test
def a_relation_of_medians():
    """a relation that holds for the medians only trusts no counter: it is violated by readings, or
    they differ by more than the acceptance of the event"""
    b = [100, 200, 400]
    check_verdict(related("c", "b", {"b": b, "c": [[n, 0, n, 987654, n] for n in b]}),
                  "UNTRUSTED", "relation violated: r", "any count")
    for i in range(3):
        c = [[n, n, n - (i == at)] for at, n in enumerate(b)]
        check_verdict(related("c", "b", {"b": b, "c": c}), "UNTRUSTED", "violated", f"{c}")
    relation = {"name": "r", "left": "c", "right": "b", "accept": {"relative_ppm": 50000}}
    for accept, verdict in ({}, "QUARANTINED"), ({"absolute": 5}, "TRUSTED"):
        found = judge({"b": b, "c": [[n - 4, n, n + 4] for n in b]}, relations=[relation],
                      events=[BY_B["events"][0], {"name": "c", "accept": accept}])["c"]
        check_verdict(found, verdict, "differ by up to 8" if not accept else "", f"{accept}")


@test
def a_violated_relation():
    """a violated relation speaks against each event in it, unless it would hold if the others that
    are off at that point counted as documented; then the verdict says so"""
    b = [100, 200, 400]
    events = [{"name": "a", "documented": ["n"]}, {"name": "b", "documented": ["n"]},
              {"name": "c"}, {"name": "d", "documented": ["n"]}]
    relations = [{"name": "r", "left": "c", "right": "b"}, {"name": "s", "left": "c", "right": "d"}]
    for d, c, verdict, words in (
            # d lost a count: c is what b and d are documented to be
            ([99, 200, 400], b, "TRUSTED", "; relation violated, by other events: s"),
            # nothing that d lost explains what c counted, at the same point or another one
            ([99, 200, 400], [100, 200, 401], "UNTRUSTED", "relation violated: r, s"),
            ([99, 200, 400], [98, 200, 400], "UNTRUSTED", "relation violated: r, s"),
            ([99, 200, None], [100, 200, 400], "TRUSTED", "; relation violated, by")):
        found = judge({"b": b, "c": c, "d": d}, events=events, relations=relations)
        check_verdict(found["c"], verdict, words, f"c {c}, d {d}")
    # d counts twice as much as documented, as c does; once it lost something
    found = judge({"c": [200, 400, 800], "d": [199, 400, 800]}, events=[events[2], events[3]],
                  relations=relations[1:])
    check_verdict(found["c"], "UNTRUSTED", "violated: s", "neither documented nor what d counts")
    found = judge({"c": [100, 400, 800], "d": [99, 400, 800]}, events=[events[2], events[3]],
                  relations=relations[1:])
    check_verdict(found["c"], "MEASURED", "nothing to compare", "where it holds as measured")
    # d is right at 400, where the relation is violated as well
    found = judge({"a": b, "d": [99, 200, 400]}, events=[events[0], events[3]],
                  relations=[{"name": "r", "left": "a + d", "right": "min(2 * N, 700)"}])
    check_verdict(found["a"], "UNTRUSTED", "relation violated: r", "at another point")


@test
def a_relation_that_left_points_out():
    """a relation's result names the points at which an event of it was not measured"""
    b = [100, 200, 400]
    relation = [{"name": "r", "left": "c", "right": "b"}]
    for c, words in (([100, 200, None], "holds at 2 of 3 points (not measured: work N=400)"),
                     ([100, 250, None],
                      "violated at 1 point; measured at 2 of 3 points (not measured: work N=400)"),
                     (b, "holds at 3 points")):
        with tempfile.TemporaryDirectory() as path:
            own = Folder(path, **BY_B, relations=relation)
            data = own.measure({"b": b, "c": c})
            page = os.path.join(path, "page.html")
            text = run("-m", data, "--html", page, own.campaign, status=(FINE, DOUBT)).stdout
            check(words in text, text)
            result = json.loads(run("-j", "-m", data, own.campaign, status=(FINE, DOUBT)).stdout)
            at = result["campaigns"][0]["relations"][0]["measured_at"]
            with open(page, encoding="utf-8") as f:
                check(at in words and at in f.read(), at)


@test
def a_relation_with_an_explained_event():
    """what an event counts instead of what it is documented to count tests no other one"""
    twice = [200, 400, 800]
    events = [{"name": "b", "documented": ["n"], "candidates": ["n"]}, {"name": "c"}]
    found = judge({"b": twice, "c": twice}, events=events,
                  relations=[{"name": "r", "left": "c", "right": "b"}])
    check(found["b"]["verdict"] == "EXPLAINED", f"{found['b']}")
    check_verdict(found["c"], "MEASURED", "as little is known")


@test
def a_guess():
    """a rule that no document has is called a guess; one that does not fit says nothing against
    its counter, readings that differ and relations do, and another event is not excused by it"""
    def guess(c, rule="n", **campaign):
        return judge({"b": b, "c": c}, **{"events": [{"name": "b", "documented": ["n"]}, {
            "name": "c", "documented": [rule], "guess": True}], **campaign})
    b = [100, 200, 400]
    relations = [{"name": "r", "left": "c", "right": "b"}]
    for c, rule, verdict, words in (
            (b, "n", "EXPLAINED", "as guessed at 3 points, and the only rule of 27 that fits"),
            (b, "m", "EXPLAINED", "not as guessed, but one rule is left"),
            ([200, 400, 800], "n", "EXPLAINED", "not as guessed, but one rule is left"),
            ([7, 9000, 3], "n", "QUARANTINED", "not as guessed, and no other rule"),
            ([0] * 3, "n", "MEASURED", "it never counted"),
            ([[100, 101], 200, 400], "n", "UNTRUSTED", "readings of the same work differ")):
        found = guess(c, rule)["c"]
        check_verdict(found, verdict, words, f"{c} {rule}")
        check(found["guess"] and not found["faults"] and "documented" not in
              found["reason"] + "".join(found["reasoning"]), f"{found}")
    check(guess(b)["c"]["definition"] == "n", "a guess that fits is the definition")
    found = guess([7, 9000, 3], relations=relations)
    for name in "bc":
        check_verdict(found[name], "UNTRUSTED", "relation violated: r", name)
    check_verdict(guess([200, 400, 800], relations=relations)["c"], "UNTRUSTED",
                  "relation violated: r", "though a rule is left")
    # a relation excludes a guess, as nothing protects it
    work = [{"name": "work", "parameters": {"N": [100, 200, 400]},
             "quantities": {"n": "N", "k": "min(N, 200)"}}]
    found = guess([100, 200, None], "k", relations=relations, benchmarks=work)["c"]
    check_verdict(found, "EXPLAINED", "not as guessed, but one rule is left, by the relation 'r'")
    check(found["definition"] == "n", found["definition"])
    # what another counter should count is not known by a guess
    found = judge({"b": b, "c": [100, 400, 1600]}, events=[
        {"name": "b", "documented": ["m"], "max_weight": 1},
        {"name": "c", "documented": ["n"], "guess": True}])["b"]
    check_verdict(found, "EXPLAINED", "one rule is left", "no swap with a guess")
    with tempfile.TemporaryDirectory() as path:
        folder = Folder(path, events=[{"name": "e", "documented": ["FMUL"], "guess": True,
                                       "candidates": ["FMUL", "FMUL:off"], "max_weight": 1}],
                        benchmarks=[{"name": n, "listing": f"{n}.lst", "threads": "8"}
                                    for n in "ab"])
        folder.write("a.lst", "\tFMUL R1\n\t@P0{0} FMUL R1\n\tEXIT\n")
        folder.write("b.lst", "\tFMUL R1\n\tFMUL R1\n\t@P0{0} FMUL R1\n\tEXIT\n")
        data = folder.write("d.csv", "benchmark,event,value\na,e,16\nb,e,24\n")
        done = run("-j", "-m", data, folder.campaign, status=FINE)
        found = json.loads(done.stdout)["campaigns"][0]["events"][0]
        check_verdict(found, "EXPLAINED", "not as guessed, but one rule is left", "false guards")
        check(not found["faults"] and found["definition"] == "FMUL + FMUL:off", f"{found}")
        folder = Folder(path, events=[{"name": "a", "guess": True}])
        error = run("-m", folder.measure({"a": b}), folder.campaign, status=FAILED).stderr
        check("campaign.json:1:" in error and "'guess' is about 'documented'" in error, error)


@test
def a_dead_counter():
    """a counter that never counted is not trusted: not if it is documented so, nor if the
    acceptance allows it, nor if it counted no more than is accepted of 0"""
    for what, one, words in (
            ("[]", {"documented": []}, "as documented"),
            ("[] with candidates", {"documented": [], "candidates": ["n"]}, "as documented"),
            ("k", {"documented": ["k"], "accept": {"absolute": 2000}}, "acceptance allows")):
        found = judge({"e": [0, 0, 0]}, events=[{"name": "e", **one}])["e"]
        check_verdict(found, "MEASURED", f"never counted, {words}" if words[0] == "a" and
                      one["documented"] == [] else words, what)
    for documented, accept, readings, verdict, words in (
            ([], 50, [0, 1, 0], "MEASURED", "of 0, as documented; a counter that is stuck there"),
            ([], 50, [2, 2, 2], "MEASURED", "a counter that is stuck there"),
            # another rule fits as well: which one it is can be measured
            ([], 250, [1, 2, None], "QUARANTINED", "2 rules fit, the documented one among them"),
            (["n"], 500, [0, 1, 0], "QUARANTINED", "2 rules fit, the documented one among them")):
        found = judge({"e": readings}, events=[
            {"name": "e", "documented": documented, "candidates": ["n"], "max_weight": 1,
             "accept": {"absolute": accept}}])["e"]
        check_verdict(found, verdict, words, f"{documented}, {readings}")


@test
def a_stuck_counter():
    """a count that is the same at all points, within the acceptance, proves nothing; a point with
    another count is proposed, and decides"""
    sizes = [{"name": "work", "parameters": {"N": [100, 110, 120]},
              "quantities": {"n": "N", "k": "N * N"}},
             {"name": "large", "parameters": {"N": [120, 400]}, "quantities": {"n": "N"}}]
    event = {"name": "e", "documented": ["n"], "candidates": ["n"]}
    for accept, same in (({"absolute": 10}, [110] * 3), ({"relative_ppm": 100000}, [110] * 3),
                         ({"absolute": 10}, [101, 110, 119])):
        with tempfile.TemporaryDirectory() as path:
            own = Folder(path, events=[{**event, "accept": accept}], benchmarks=sizes)
            data = "benchmark,N,event,value\n" + "".join(
                f"work,{n},e,{v}\n" for n, v in zip((100, 110, 120), same))
            for more, verdict in (("", "QUARANTINED"), ("large,400,e,401\n", "TRUSTED"),
                                  ("large,400,e,110\n", "UNTRUSTED")):
                done = run("-j", "-m", own.write("d.csv", data + more), own.campaign,
                           status=(FINE, DOUBT))
                result = json.loads(done.stdout)["campaigns"][0]
                check_verdict(result["events"][0], verdict, "a counter that always reads 1"
                              if not more else "", f"{accept}, {same}{more}")
                if not more:
                    check(result["next"]["parameters"] == {"N": 400}, f"{result['next']}")
    # exactly: another work with the same count; a listing is constructed that has another one
    programs = {"one": "\tLDG R1\n\tLDG R2\n\tEXIT\n", "two": "\tLDG R1\n\tLDG R2\n\tMOV R3\n"
                                                           "\tEXIT\n"}
    with tempfile.TemporaryDirectory() as path:
        own = Folder(path, events=[{"name": "e", "documented": ["LDG"], "candidates": ["LDG"]}],
                     benchmarks=[{"name": n, "listing": f"{n}.lst", "threads": "1024"}
                                 for n in programs])
        for name, text in programs.items():
            own.write(f"{name}.lst", text)
        data = own.write("d.csv", "benchmark,event,value\none,e,2048\ntwo,e,2048\n")
        result = json.loads(run("-j", "-m", data, own.campaign, status=DOUBT).stdout)
        result = result["campaigns"][0]
        check_verdict(result["events"][0], "QUARANTINED", "always reads 2048", "same count")
        check(result["next"]["listing"].startswith("\t3 * LDG\n"), f"{result['next']}")


@test
def a_wide_acceptance():
    """an acceptance above 10 % is refused with its place and the bound"""
    for where in ("events", "relations"):
        accept = {"accept": {"relative_ppm": 100001}}
        campaign = {"events": [{"name": "e", "documented": ["n"]}],
                    "relations": [{"name": "r", "left": "e", "right": "N"}]}
        campaign[where] = [{**campaign[where][0], **accept}]
        with tempfile.TemporaryDirectory() as path:
            own = Folder(path, **campaign)
            error = run("-m", own.measure({"e": [1, 2, 3]}), own.campaign, status=FAILED).stderr
            check("campaign.json:1:" in error and "at most 100000 (10 %)" in error, error)


@test
def a_wide_acceptance_of_counts():
    """a point at which more than 10 % of the count is accepted tests no rule, nor does a relation
    that would hold with a quarter less; what is proposed instead has larger counts"""
    works = [{"name": name, "parameters": {"N": sizes}, "quantities": {"n": "N"}, "reserve": wait}
             for name, sizes, wait in (("work", [100, 399, 599], False),
                                       ("large", [600, 900], True))]
    event = {"name": "e", "documented": ["n"], "candidates": ["n"]}
    small = "work,100,e,100\nwork,399,e,399\nwork,599,e,599\n"
    one, two = small + "large,600,e,600\n", small + "large,600,e,600\nlarge,900,e,900\n"
    with tempfile.TemporaryDirectory() as path:
        own = Folder(path, benchmarks=works, events=[{**event, "accept": {"absolute": 60}}])
        for rows, verdict, words in (
                (small, "QUARANTINED", "at 3 points more than 10 % of the count is accepted, which "
                 "tests nothing; it takes two with a larger count"),
                (one, "QUARANTINED", "it takes another one with a larger count"),
                (two, "TRUSTED", "as documented at 5 points"),
                ("work,100,e,200\nwork,399,e,798\n", "QUARANTINED", "; at 1 point more than 10")):
            data = own.write("d.csv", "benchmark,N,event,value\n" + rows)
            result = json.loads(run("-j", "-m", data, own.campaign, status=(FINE, DOUBT)).stdout)
            result = result["campaigns"][0]
            check_verdict(result["events"][0], verdict, words, rows)
            check(rows not in (small, one) or result["next"]["benchmark"] == "large",
                  f"{result['next']}")
        # a listing that is constructed has enough of what is counted
        own, data = listed(path, events=[{**LISTED["events"][0], "accept": {"absolute": 3000}}],
                           benchmarks=[{**LISTED["benchmarks"][0], "threads": "1024"}])
        own.write("a", "\t40 * LDG R1\n\tEXIT\n")
        own.write("d.csv", "benchmark,event,value\na,e,40960\n")
        result = json.loads(run("-j", "-m", data, own.campaign, status=DOUBT).stdout)
        amount = int(result["campaigns"][0]["next"]["listing"].split()[0])
        check(1024 * amount >= 30000, f"{result['campaigns'][0]['next']}")
    b = [100, 200, 400]
    for accept, verdict in (60, "QUARANTINED"), (20, "TRUSTED"):
        relation = {"name": "r", "left": "c", "right": "b", "accept": {"absolute": accept}}
        found = judge({"b": b, "c": b}, relations=[relation], **BY_B)["c"]
        check_verdict(found, verdict, "", f"relation, {accept}")


LISTED = {"benchmarks": [{"name": n, "listing": f"{n}.lst", "threads": "8"} for n in ("a", "b")],
          "events": [{"name": "e", "documented": ["LDG"], "candidates": ["LDG"]}]}


def listed(path, name="a", **campaign):
    """a campaign of two listings, one of which may have another name"""
    own = Folder(path, **{**LISTED, **campaign})
    with open(own.campaign, encoding="utf-8") as f:
        text = f.read().replace("a.lst", name)
    own.write("campaign.json", text)
    own.write(name, "\tLDG R1\n\tEXIT\n")
    own.write("b.lst", "\tLDG R1\n\tLDG R2\n\tEXIT\n")
    return own, own.write("d.csv", "benchmark,event,value\na,e,8\nb,e,16\n")


@test
def points_left_out():
    """a verdict names the points of the campaign at which the event was not measured"""
    events = [{"name": "e", "documented": ["n"]}]
    found = judge({"e": [100, 200, None]}, events=events)["e"]
    check_verdict(found, "TRUSTED", "documented at 2 of 3 points (not measured: work N=400), and")
    check("not measured: work N=400" in found["reasoning"], f"{found['reasoning']}")
    many = [{**WORK[0], "parameters": {"N": [100, 200, 400, *range(500, 900, 50)]}}]
    found = judge({"e": [100, 200, None]}, events=events, benchmarks=many)["e"]
    check("2 of 11 points (not measured: work N=400, work N=500, work N=550, work N=600 and 5 more"
          in found["reason"], found["reason"])
    # what the campaign does not measure by itself is not left out
    found = judge({"e": [100, 200, 400]}, events=events,
                  benchmarks=[*WORK, {**WORK[0], "name": "more", "reserve": True}])["e"]
    check("as documented at 3 points, and" in found["reason"], found["reason"])


@test
def a_requirement_that_was_not_measured():
    """the status is 5 if a required event was not measured, and 0 if it is not required"""
    events = [{"name": "e", "documented": ["n"]}, {"name": "f", "documented": ["n"]}]
    for requirements, status in ([], FINE), (["TIM-1"], DOUBT):
        if requirements:
            events[1]["requirements"] = requirements
        with tempfile.TemporaryDirectory() as path:
            found = Folder(path, events=events).judge({"e": [100, 200, 400]}, status=status)
            check(found["f"]["verdict"] == "SELECTED", f"{found['f']}")


@test
def a_finding_that_shows_nothing_here():
    """--from: a finding is confirmed by points that would show it, not by readings that a counter
    which is stuck has as well, that do the same work, or of which more than 10 % are accepted"""
    sizes = [100, 110, 120, 400, 600, 900]
    works = [{"name": "work", "parameters": {"N": sizes}, "quantities": {"n": "N", "k": "N * N"}},
             {"name": "again", "parameters": {"N": [400]}, "quantities": {"n": "N", "k": "N * N"}}]
    event = {"name": "e", "documented": ["n"], "candidates": ["n"]}
    # the finding is the rule, or what is left of the rules
    both = {"name": "e", "documented": ["n", "k"], "accept": {"absolute": 100}}
    for there, data in ((event, "work,600,e,600\nwork,900,e,900\n"), (event, "work,900,e,900\n"),
                        (both, "work,900,e,810900\n")):
        for accept, rows, result, words in (
                (10, ((100, 110), (110, 110), (120, 110)), "untested", "always reads 1"),
                (60, ((100, 100), (400, 400), (110, 110)), "untested", "at 3 points more than 10"),
                (0, ((400, 400), (-400, 400)), "untested", "points of the same work"),
                (0, ((100, 100), (400, 400)), "confirmed", "at 2 points")):
            with tempfile.TemporaryDirectory() as path:
                own = Folder(path, events=[there], benchmarks=works)
                first = run("-j", "-m", own.write("a.csv", "benchmark,N,event,value\n" + data),
                            own.campaign, status=(FINE, DOUBT)).stdout
                own.write("first.json", first)
                text = "".join(f"{'work' if n > 0 else 'again'},{abs(n)},e,{value}\n"
                               for n, value in rows)
                own = Folder(path, events=[{**event, "accept": {"absolute": accept}}],
                             benchmarks=works)
                found = json.loads(run("-j", "-m",
                                       own.write("b.csv", "benchmark,N,event,value\n" + text),
                                       "--from", os.path.join(path, "first.json"), own.campaign,
                                       status=(FINE, DOUBT)).stdout)
                found = found["campaigns"][0]["events"][0]["carried"]
                if there == both:
                    result, words = "untested", "counts k, which no rule here may"
                check(found["result"] == result and words in found["text"], f"{rows}: {found}")


@test
def names_in_a_pack():
    """listings that sha256sum or the pack itself would take for something else are refused"""
    for name in (".a.lst", "-", "-c", "SHA256SUMS.new", "review.txt"):
        with tempfile.TemporaryDirectory() as path:
            own, data = listed(path, name)
            error = run("-o", "/dev/null", "-m", data, "--evidence", os.path.join(path, "pack"),
                        own.campaign, status=FAILED).stderr
            check("rename it" in error and not os.path.exists(os.path.join(path, "pack")), error)


@test
def files_of_a_pack():
    """-m PACK refuses a file that has no hash, hashes that are not those of the review, and a pack
    without its review; a pack of a CSV does not say that a program was compared"""
    with tempfile.TemporaryDirectory() as path:
        own, data = listed(path, "a.lst")
        pack = os.path.join(path, "pack")
        run("-o", "/dev/null", "-m", data, "--evidence", pack, own.campaign, status=FINE)
        with open(os.path.join(pack, "README.txt"), encoding="utf-8") as f:
            check("Nothing was compared with the listings" in f.read(), "compared")
        run("-o", "/dev/null", "-m", pack, status=FINE)
        own.write("pack/notes.txt", "somebody's\n")
        error = run("-m", pack, status=FAILED).stderr
        check("notes.txt: it has no hash in SHA256SUMS" in error, error)
        # beside the reviewer's signature
        os.rename(os.path.join(pack, "notes.txt"), os.path.join(pack, "review.txt.asc"))
        run("-o", "/dev/null", "-m", pack, status=FINE)
        sums = os.path.join(pack, "SHA256SUMS")
        with open(sums, encoding="utf-8") as f:
            lines = f.readlines()
        with open(os.path.join(pack, "review.txt"), encoding="utf-8") as f:
            review = f.read()
        os.rename(os.path.join(pack, "review.txt"), os.path.join(path, "review.txt"))
        error = run("-m", pack, status=FAILED).stderr
        check("review.txt: README.txt names it, and it is not there" in error, error)
        # as version 0.1 wrote it
        with open(os.path.join(pack, "README.txt"), encoding="utf-8") as f:
            readme = f.read()
        own.write("pack/README.txt", "Evidence\n")
        digest = hashlib.sha256(b"Evidence\n").hexdigest()
        own.write("pack/SHA256SUMS", "".join(
            f"{digest}  README.txt\n" if x.endswith(" README.txt\n") else x for x in lines))
        run("-o", "/dev/null", "-m", pack, status=FINE)
        own.write("pack/README.txt", readme)
        own.write("pack/review.txt", review)
        for name in ("a.lst", "result.json", "campaign.json", "README.txt"):
            own.write("pack/SHA256SUMS", "".join(x for x in lines if x.split()[1] != name))
            error = run("-m", pack, status=FAILED).stderr
            check("review of another SHA256SUMS" in error, error)
            with open(sums, "rb") as f:
                digest = hashlib.sha256(f.read()).hexdigest()
            own.write("pack/review.txt", re.sub("[0-9a-f]{64}", digest, review))
            error = run("-m", pack, status=FAILED).stderr
            check(f"{name}: it has no hash in SHA256SUMS" in error, error)
            own.write("pack/review.txt", review)


@test
def a_proposal_keeps_what_is_there():
    """--propose names the campaign by its path, and overwrites no listing that is another one"""
    with tempfile.TemporaryDirectory() as path:
        own, data = listed(path, "a.lst")
        own.write("d.csv", f"# campaign: {own.campaign}\nbenchmark,event,value\na,e,8\n")
        table = os.path.join(path, "next.csv")
        for arguments in ((data,), (data, own.campaign)):
            run("-o", "/dev/null", "-m", *arguments, "--propose", table, status=DOUBT)
            with open(table, encoding="utf-8") as f:
                check(f.readline() == f"# campaign: {own.campaign}\n", "the path is lost")
            run("-o", "/dev/null", "-m", table, status=DOUBT)
        # of one benchmark only a listing helps
        own, data = listed(path, "a.lst", benchmarks=LISTED["benchmarks"][:1])
        own.write("d.csv", "benchmark,event,value\na,e,8\n")
        for text, status in ((None, DOUBT), (None, DOUBT), ("\tEXIT\n", FAILED)):
            if text:
                own.write("constructed-1.lst", text)
            error = run("-o", "/dev/null", "-m", data, "--propose", table, own.campaign,
                        status=status).stderr
            check(not text or "constructed-1.lst: there is another file" in error, error)
        with open(os.path.join(path, "constructed-1.lst"), encoding="utf-8") as f:
            check(f.read() == "\tEXIT\n", "overwritten")


@test
def measurements_of_something_else():
    """measurements of another campaign, results and configurations that stand twice are refused"""
    with tempfile.TemporaryDirectory() as path:
        own, data = listed(path, "a.lst")
        rows = "benchmark,event,value\na,e,8\nb,e,16\n"
        for head, words in (("# campaign: another\n", "are of campaign another, not of"),
                            ("# campaign: x/other.json\n", "are of campaign x/other.json"),
                            ("# campaign: own\n", ""), ("# campaign: x/campaign.json\n", ""),
                            ("# configuration: board=A\n# configuration: board=B\n",
                             ":2:18: the configuration has 'board' twice")):
            own.write("d.csv", head + rows)
            done = run("-m", data, own.campaign, status=FAILED if words else FINE)
            check(words in done.stderr, done.stderr)
        own.write("d.csv", rows)
        result = json.loads(run("-j", "-m", data, own.campaign, status=FINE).stdout)
        result["campaigns"] *= 2
        error = run("-m", own.write("r.json", json.dumps(result)), own.campaign,
                    status=FAILED).stderr
        check("campaign own stands twice" in error, error)
        one = own.write("r.json", json.dumps({"campaign": "another", "rows": [
            {"benchmark": "a", "event": "e", "value": 8}]}))
        error = run("-m", one, own.campaign, status=FAILED).stderr
        check("are of campaign another" in error, error)


@test
def all_that_fits():
    """if several known faults fit, the verdict names each"""
    found = judge({"a": [200, 400, 800], "b": [200, 400, 800]}, events=[
        {"name": "a", "documented": ["n"], "candidates": ["n"], "max_weight": 1},
        {"name": "b", "documented": ["2 n"], "candidates": ["n"], "max_weight": 1}])["a"]
    check_verdict(found, "QUARANTINED", "known faults fit: ")
    check(len(found["faults"]) > 1 and all(f["text"] in found["reason"] for f in found["faults"]),
          f"{found['faults']}: {found['reason']}")


if __name__ == "__main__":
    sys.exit(harness.main())
