#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr validate: what TRUSTED needs, the way of a proposal to a board and back, evidence and
verdicts of older versions. Prints TAP; needs no device."""

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
MEASURED = os.path.join(TOP, "campaigns/measured")
FINE, FAILED, DOUBT = 0, 1, 5

PROGRAM = "\tMOV R1\n\tMOV R2\n\tLDG R1\n\tSTG R2\n\tEXIT\n"
# the same with another proportion of each
OTHER = "\tMOV R1\n\tLDG R1\n\tLDG R2\n\tSTG R1\n\tSTG R2\n\tSTG R3\n\tEXIT\n"


def run(*arguments, status, **options):
    return harness.run(PERFCTR, "validate", *arguments, status=status, **options)


def event(result, name):
    return next(e for e in result["campaigns"][0]["events"] if e["event"] == name)


class Folder:
    """A campaign of one's own with its listings and measurements."""

    def __init__(self, parent, events, **listings):
        self.path = parent
        self.campaign = os.path.join(parent, "campaign.json")
        benchmarks = [{"name": name, "listing": f"{name}.lst", "threads": "1024"}
                      for name in listings]
        self.write("campaign.json", json.dumps({"campaign": "own", "events": events,
                                                "benchmarks": benchmarks}))
        for name, text in listings.items():
            self.write(f"{name}.lst", text)

    def write(self, name, text):
        path = os.path.join(self.path, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def evaluate(self, text, status):
        data = self.write("data.csv", text)
        done = run("-j", "-m", data, self.campaign, status=status)
        return json.loads(done.stdout), run("-m", data, self.campaign, status=status).stdout


THREE = [{"name": name.lower(), "documented": [name]} for name in ("LDG", "STG", "EXIT")]


@test
def same_counts_prove_nothing():
    """three events with the same counts are not trusted: the verdict has the number of rules, and
    what always came together, as text and JSON"""
    with tempfile.TemporaryDirectory() as parent:
        own = Folder(parent, THREE, one=PROGRAM, two=PROGRAM.replace("MOV R2", "MOV R2\n\tMOV R3"))
        rows = [f"{b},{e},1024" for b in ("one", "two") for e in ("ldg", "stg", "exit")]
        result, text = own.evaluate("\n".join(["benchmark,event,value", *rows]) + "\n", DOUBT)
        for name in ("ldg", "stg", "exit"):
            found = event(result, name)
            check(found["verdict"] == "QUARANTINED" and found["search"]["remaining"] == 3 and
                  found["reason"] == "3 rules fit, the documented one among them; LDG, STG and "
                  "EXIT always came together", f"{name}: {found['verdict']}: {found['reason']}")
            together = [[f["feature"] for f in g] for g in found["search"]["together"]]
            check(together == [["LDG", "STG", "EXIT"]], f"{together}")
        check(text.count("LDG, STG and EXIT always came together") >= 6, text)
        following = result["campaigns"][0]["next"]
        check(following["listing"] and following["threads"] == "1024" and
              following["events"] == ["ldg", "stg", "exit"], f"{following}")


@test
def table_two_alone():
    """of table II, with every feature as a candidate, loads and stores have 16 rules"""
    with open(os.path.join(TOP, "campaigns/xavier-gpu.json"), encoding="utf-8") as f:
        campaign = json.load(f)
    for e in campaign["events"]:
        e.pop("candidates", None)
        e["documented"] = [d for d in e.get("documented", []) if d != "LD_ST"] + \
            (["LDG", "STG"] if e["name"] == "inst_compute_ld_st" else [])
    campaign["benchmarks"] = campaign["benchmarks"][:1]
    del campaign["relations"]
    campaign["events"] = [e for e in campaign["events"] if e["name"] == "inst_compute_ld_st"]
    with tempfile.TemporaryDirectory() as parent:
        path = os.path.join(parent, "campaign.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(campaign, f)
        data = os.path.join(parent, "data.csv")
        with open(data, "w", encoding="utf-8") as f:
            f.write("benchmark,event,value\nmatrix-copy,inst_compute_ld_st,2097152\n")
        found = event(json.loads(run("-j", "-m", data, path, status=DOUBT).stdout),
                      "inst_compute_ld_st")
    check(found["verdict"] == "QUARANTINED" and found["search"]["remaining"] == 16 and
          found["reason"] == "16 rules fit, the documented one among them; LDG, STG, 2 MOV, "
          "SHFL:off, EXIT and BRA:dead always came together", found["reason"])


@test
def one_point_is_not_enough():
    """the only rule that fits is not trusted at one point, nor at the same work twice; a second
    point is proposed, if the campaign has none as a listing"""
    events = [{"name": "ldg", "documented": ["LDG"], "candidates": ["LDG"]}]
    with tempfile.TemporaryDirectory() as parent:
        own = Folder(parent, events, one=PROGRAM, again=PROGRAM, two=OTHER)
        text = "benchmark,event,value\none,ldg,1024\n"
        for more, point in (("", "two"), ("again,ldg,1024\n", "two")):
            result, _ = own.evaluate(text + more, DOUBT)
            found = event(result, "ldg")
            check(found["verdict"] == "QUARANTINED" and "it takes a second" in found["reason"],
                  found["reason"])
            check(more == "" or result["campaigns"][0]["next"]["benchmark"] == point,
                  f"{result['campaigns'][0]['next']}")
        result, _ = own.evaluate(text + "two,ldg,2048\n", FINE)
        check(event(result, "ldg")["reason"] == "as documented at 2 of 3 points (not measured: "
              "again), and the only rule of 3 that fits", event(result, "ldg")["reason"])
        # no other benchmark: a listing is constructed
        own = Folder(parent, events, one=PROGRAM)
        result, _ = own.evaluate(text, DOUBT)
        check("LDG" in result["campaigns"][0]["next"]["listing"], "no second listing")


@test
def documented_and_not_measured():
    """a documented instruction that no benchmark had keeps the verdict open"""
    events = [{"name": "ld_st", "documented": ["LDG", "STG", "LDS"], "candidates": ["LDG", "STG"]}]
    with tempfile.TemporaryDirectory() as parent:
        own = Folder(parent, events, one=PROGRAM, two=OTHER)
        result, _ = own.evaluate("benchmark,event,value\none,ld_st,2048\ntwo,ld_st,5120\n", DOUBT)
        check(event(result, "ld_st")["reason"] == "3 rules fit, the documented one among them; no "
              "benchmark had: LDS", event(result, "ld_st")["reason"])


@test
def weights_as_a_set():
    """weights 0, 1 and 32: a counter of warps' lanes; 0 must be one of them"""
    events = [{"name": "lanes", "documented": ["LDG"], "candidates": ["LDG", "STG", "MOV"],
               "weights": [0, 1, 32]}]
    with tempfile.TemporaryDirectory() as parent:
        own = Folder(parent, events, one=PROGRAM, two=OTHER)
        # 32 for each load, 1 for each store
        result, _ = own.evaluate("benchmark,event,value\n"
                                 f"one,lanes,{1024 * 33}\ntwo,lanes,{1024 * (64 + 3)}\n", FINE)
        found = event(result, "lanes")
        check(found["verdict"] == "EXPLAINED" and found["definition"] == "32 LDG + STG" and
              found["search"]["space"] == "3 features, weights 0|1|32: 27 rules",
              f"{found['definition']}, {found['search']['space']}")
        events[0]["weights"] = [1, 32]
        own = Folder(parent, events, one=PROGRAM, two=OTHER)
        error = run("-m", own.write("d.csv", "benchmark,event,value\none,lanes,1\n"),
                    own.campaign, status=FAILED).stderr
        check("'weights' has no 0" in error, error)


# what the counters of the board count, for the way there and back
COUNTED = {"DMOV": (), "inst_misc": ("MOV", "S2R", "NOP"),
           "inst_integer": ("IMAD", "IADD3", "SHF", "LOP3", "ISETP"),
           "inst_fp_32": ("FSETP", "FMUL", "FADD", "FSEL"),
           "inst_compute_ld_st": ("LDS", "LDG", "STS", "STG"), "inst_control": ("BRA", "EXIT"),
           "inst_bit_convert": ("I2F",)}


def board(folder, path):
    """Measure what a proposal asks for: fill in its rows, from a count of the listing."""
    rows = []
    for line in open(path, encoding="utf-8").read().splitlines():
        cells = line.split(",")
        if line.startswith("benchmark"):
            head = cells
        if line.startswith("#") or cells == head or cells[-1]:
            rows.append(line)
            continue
        row = dict(zip(head, cells))
        counts, ended = {}, False
        for step in open(os.path.join(folder, row["listing"]), encoding="utf-8"):
            words = step.split()
            times = int(words[0]) if words[1:2] == ["*"] else 1
            words = words[2:] if words[1:2] == ["*"] else words
            if words[0] != "@!PT" and not ended:
                counts[words[0]] = counts.get(words[0], 0) + times
            ended |= words[0] == "EXIT"
        names = [n for e in COUNTED.values() for n in e] if row["event"] == "inst_total" else \
            COUNTED[row["event"]]
        value = int(row["threads"]) * sum(counts.get(n, 0) for n in names)
        rows.append(",".join(cells[:-1] + [str(value)]))
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(rows) + "\n")


@test
def to_the_board_and_back():
    """propose, measure elsewhere, feed back by CSV alone, until no rule is open"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "next.csv")
        data, seen = os.path.join(MEASURED, "xavier-gpu-all.csv"), []
        for _ in range(4):
            done = run("-j", "--propose", path, "-m", data, status=(FINE, DOUBT))
            result = json.loads(done.stdout)
            seen.append({e["event"]: e["verdict"] for e in result["campaigns"][0]["events"]})
            if not result["campaigns"][0]["next"]:
                break
            name = result["campaigns"][0]["next"]["benchmark"]
            check(os.path.exists(os.path.join(folder, f"{name}.lst")), f"no {name}.lst")
            waiting = run("-m", path, status=DOUBT).stdout
            check("8 rows without a value yet" in waiting, waiting[:200])
            board(folder, path)
            data = path
        check(seen[0]["inst_integer"] == "QUARANTINED" and seen[0]["inst_control"] == "QUARANTINED",
              f"{seen[0]}")
        last = seen[-1]
        check(last == {"DMOV": "UNTRUSTED", "inst_misc": "EXPLAINED", "inst_integer": "TRUSTED",
                       "inst_fp_32": "TRUSTED", "inst_compute_ld_st": "TRUSTED",
                       "inst_control": "EXPLAINED", "inst_bit_convert": "TRUSTED",
                       "inst_total": "EXPLAINED"}, f"{last}")
        # a program that a compiler made of the proposal, as cuobjdump prints it
        with open(os.path.join(folder, "real.lst"), "w", encoding="utf-8") as f:
            f.write(" /*0000*/ LDS R1 ;\n /*0010*/ EXIT ;\n /*0020*/ BRA 0x20;\n")
        with open(os.path.join(folder, "real.csv"), "w", encoding="utf-8") as f:
            f.write("# campaign: xavier-gpu\n# configuration: board=B, rev. 2\n"
                    "benchmark,listing,threads,event,value\n"
                    "real,real.lst,64,inst_compute_ld_st,64\n")
        result = json.loads(run("-j", "-m", os.path.join(folder, "real.csv"), status=DOUBT).stdout)
        campaign = result["campaigns"][0]
        check(campaign["configuration"] == {"board": "B, rev. 2"} and
              campaign["constructed"][0]["listing"].startswith(" /*0000*/") and
              event(result, "inst_compute_ld_st")["points"][0]["expected"] == 64, f"{campaign}")
        # and the result file brings it again
        again = os.path.join(folder, "again.json")
        with open(again, "w", encoding="utf-8") as f:
            json.dump(result, f)
        check(event(json.loads(run("-j", "-m", again, status=DOUBT).stdout), "inst_compute_ld_st")
              ["points"][0]["expected"] == 64, "the listing is lost")
        for cells, words in (("real,,64", "bring one: real"), ("real,none.lst,64", "No such file"),
                             ("real,real.lst,", "'threads' is missing"),
                             ("matrix-copy,real.lst,64", "the campaign says what")):
            with open(os.path.join(folder, "real.csv"), "w", encoding="utf-8") as f:
                f.write("# campaign: xavier-gpu\nbenchmark,listing,threads,event,value\n"
                        f"{cells},inst_misc,64\n")
            error = run("-m", os.path.join(folder, "real.csv"), status=FAILED).stderr
            check(":3:" in error and words in error, error)


@test
def evidence_again():
    """a pack is read again, as a folder too, and its proposal goes on; a changed file is refused"""
    with tempfile.TemporaryDirectory() as parent:
        first, second = (os.path.join(parent, n) for n in ("first", "second"))
        table = os.path.join(MEASURED, "xavier-gpu-all.csv")
        run("-o", "/dev/null", "-m", table, "--evidence", first, status=DOUBT)
        for file in ("readings.json", "result.json"):
            run("-o", "/dev/null", "-m", os.path.join(first, file),
                os.path.join(first, "campaign.json"), status=DOUBT)
        run("-o", "/dev/null", "-m", first, "--evidence", second, status=DOUBT)
        results = [json.load(open(os.path.join(f, "result.json"), encoding="utf-8"))["campaigns"]
                   for f in (first, second)]
        check(results[0] == results[1], "another result")
        with open(os.path.join(first, "readings.json"), "a", encoding="utf-8") as f:
            f.write("\n")
        error = run("-m", first, status=FAILED).stderr
        check("are not those that its SHA256SUMS names" in error, error)
        check("has its campaign" in run("-m", second, "xavier-gpu", status=2).stderr, "two")


@test
def older_packs():
    """a result of an older version, with its proposal twice, shows what its verdicts become"""
    with tempfile.TemporaryDirectory() as parent:
        table = os.path.join(MEASURED, "xavier-gpu-table2.csv")
        result = json.loads(run("-j", "-m", table, status=DOUBT).stdout)
        del result["schema"]
        result["tool"] = "perfctr validate 0.1"
        event(result, "inst_integer")["verdict"] = "TRUSTED"
        made = {"benchmark": "constructed-1", "listing": "\tEXIT\n"}
        result["campaigns"][0]["constructed"] = [made, made]
        path = os.path.join(parent, "old.json")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(result, f)
        text = run("-m", path, status=DOUBT).stdout
        check("was TRUSTED (perfctr validate 0.1)" in text and text.count(" was ") == 1, text)
        found = event(json.loads(run("-j", "-m", path, status=DOUBT).stdout), "inst_integer")
        check(found["was"] == {"verdict": "TRUSTED", "tool": "perfctr validate 0.1"} and
              "rules fit" in found["reason"], f"{found['was']}")
        # what a later version writes may mean something else
        result["schema"] = 3
        with open(path, "w", encoding="utf-8") as f:
            json.dump(result, f)
        for option in (("-m", path), ("-m", table, "--from", path)):
            check("newer perfctr" in run(*option, status=FAILED).stderr, "schema 3 was read")


@test
def verdicts_lapse():
    """a saved verdict counts on its machine, kernel and firmware only; an older one lapsed"""
    pattern = "context-switches"
    with tempfile.TemporaryDirectory() as parent:
        path = os.path.join(parent, "verdicts.json")
        environment = {**os.environ, "PERFCTR_VERDICTS": path}

        def listed(form, **changes):
            note = {"trust": "trusted", "campaign": "cpu", "time": "2026-01-31", **harness.place()}
            note.update(changes)
            with open(path, "w", encoding="utf-8") as f:
                json.dump({"format": f"perfctr verdicts {form}",
                           "verdicts": {"perf_pmu.generic_pmu.software.context_switches":
                                        {k: v for k, v in note.items() if v}}}, f)
            done = harness.run(PERFCTR, "list", "-j", "-d", "local", pattern, env=environment)
            found = [e for e in json.loads(done.stdout)["events"] if e["name"] == pattern]
            return found[0]["trust"], found[0]["lapsed"] or ""

        check(listed(2) == ("trusted", ""), f"{listed(2)}")
        for part in ("machine", "kernel", "firmware"):
            trust, lapsed = listed(2, **{part: "another"})
            check(trust == "unvalidated" and f"it is of {part} another, this is " in lapsed and
                  lapsed.startswith("trusted by cpu, 2026-01-31, lapsed"), f"{part}: {lapsed}")
        trust, lapsed = listed(1, machine=None, kernel=None, firmware=None)
        check(trust == "unvalidated" and "asked less of a trusted counter" in lapsed, lapsed)
        text = harness.run(PERFCTR, "list", "-d", "local", pattern, env=environment).stdout
        check("lapsed: it names no machine" in text, text)


if __name__ == "__main__":
    sys.exit(harness.main())
