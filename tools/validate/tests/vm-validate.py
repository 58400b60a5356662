#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr validate live on the virtual SoC. Prints TAP. Runs as root in the guest."""

import glob
import json
import os
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tests"))
import harness
from harness import check, test
from vsoc_truth import FOLDER, MISSING

FINE, FAILED, NO_DEVICE, DOUBT = 0, 1, 4, 5
BALANCING = "/proc/sys/kernel/numa_balancing"
GPU_EVENTS = {"integer", "fp32", "ld_st", "control", "bit_convert", "misc", "total"}


def run(*arguments, status=FINE, **options):
    return harness.run("perfctr", "validate", *arguments, status=status, **options)


def live(name, *options, status=FINE):
    return json.loads(run("--json", *options, name, status=status).stdout)["campaigns"][0]


def choose(file, value):
    with open(os.path.join(FOLDER, file), "w", encoding="ascii") as f:
        f.write(value)


def verdicts(campaign):
    return {e["event"]: e["verdict"] for e in campaign["events"]}


def event(campaign, name):
    return next(e for e in campaign["events"] if e["event"] == name)


def weights(of):
    return {t["feature"]: t["weight"] for t in of["rule"] if t["weight"]}


# thread instructions as published: misc, integer, fp_32, ld_st, control, bit_convert, total
MEASURED = {
    "matrix-copy": (6291456, 5242880, 0, 2097152, 1048576, 0, 14680064),
    "float-loop N=0": (5120, 4096, 3072, 3072, 2048, 0, 17408),
    "float-loop N=1": (7168, 9216, 7168, 3072, 1024, 1024, 28672),
    "float-loop N=2": (8192, 12288, 10240, 3072, 2048, 2048, 37888),
    "float-loop N=10": (16384, 36864, 34816, 3072, 10240, 10240, 111616),
}
COLUMNS = ("inst_misc", "inst_integer", "inst_fp_32", "inst_compute_ld_st", "inst_control",
           "inst_bit_convert", "inst_total")


@test
def published_kernels():
    """xavier-gpu: every measured cell of the published tables, live; EXIT and BRA distinguished"""
    choose("profile", "xavier")
    campaign = live("xavier-gpu", "--runs", "2")
    for n, name in enumerate(COLUMNS):
        points = {p["point"]: p["measured"] for p in event(campaign, name)["points"]}
        for point, row in MEASURED.items():
            check(points[point] == row[n], f"{name} at {point}: {points[point]}, not {row[n]}")
    # figure 4's column for two rounds, which the publication mentions but does not print
    two = next(p for p in event(campaign, "inst_misc")["points"] if p["point"] == "float-loop N=2")
    check((two["expected"], two["hypotheses"]["S2R + NOP + MOV"], two["hypotheses"]["S2R + MOV"],
           two["measured"]) == (9216, 15360, 8192, 8192), f"{two}")
    for name, verdict in verdicts(campaign).items():
        # the campaign names no counter of DMOV
        expected = "SELECTED" if name == "DMOV" else "EXPLAINED" if name in (
            "inst_misc", "inst_control", "inst_total") else "TRUSTED"
        check(verdict == expected, f"{name} is {verdict}")
    check(weights(event(campaign, "inst_misc")) == {"MOV": 1, "S2R": 1, "NOP": 1}, "inst_misc")
    control = event(campaign, "inst_control")
    check(weights(control) == {"BRA": 1, "EXIT": 1}, f"inst_control counts {control['definition']}")
    left = [r["remaining"] for r in control["search"]["rounds"]]
    check(left == [2, 1, 1] and len(campaign["constructed"]) == 2, f"left {left}")
    check(control["search"]["rounds"][1]["after"] == "constructed-1", "no constructed benchmark")
    # documented instructions that no listing of the campaign has
    left = [r["remaining"] for r in event(campaign, "inst_compute_ld_st")["search"]["rounds"]]
    check(left == [9, 9, 1], f"LDS and STS: left {left}")


@test
def progress_on_a_terminal():
    """a terminal shows each run while it is measured; elsewhere -v does, and nothing without it"""
    words = "perfctr", "validate", "--runs", "2", "-o", "/dev/null", "xavier-gpu"
    runs = [f"xavier-gpu: run {n} of 2 on " for n in (1, 2)]

    def shown(lines):
        return [line for line in lines if " of 2 on " in line]
    lines = shown(harness.lines_in_columns(80, *words, errors=True))
    check(len(lines) == 2 and all(map(str.startswith, lines, runs)), f"{lines}")
    check(not shown(harness.run(*words).stderr.splitlines()), "without a terminal")
    lines = shown(harness.run(*words, "-v").stderr.splitlines())
    check(len(lines) == 2, f"-v: {lines}")


@test
def documented_profile():
    """the same campaign on a device that counts as documented: events with a counter are trusted"""
    choose("profile", "documented")
    try:
        campaign = live("xavier-gpu", "--runs", "1")
    finally:
        choose("profile", "xavier")
    for name in ("inst_misc", "inst_integer", "inst_fp_32", "inst_compute_ld_st", "inst_control",
                 "inst_bit_convert", "inst_total"):
        check(event(campaign, name)["verdict"] == "TRUSTED",
              f"{name}: {event(campaign, name)['reason']}")


@test
def lost_counts_are_no_findings():
    """a measurement of which the hardware lost counts is repeated"""
    for seed in range(1, 30):
        choose("fail_seed", str(seed))
        choose("fail_overflow", "500 1")
        # the sample of START may be the one that is lost
        done = run("--json", "--runs", "1", "vsoc-gpu", status=(FINE, FAILED, DOUBT))
        if done.returncode != FAILED or "cannot start" not in done.stderr:
            break
    choose("fail_overflow", "0 0")
    check(done.returncode == FINE, f"status {done.returncode}: {done.stderr}")
    check(set(verdicts(json.loads(done.stdout)["campaigns"][0]).values()) == {"TRUSTED"}, "doubt")


@test
def right_device_is_trusted():
    """vsoc-gpu, vsoc-memory, vsoc-pmus, cpu without a fault: everything measured is trusted"""
    # pages that the kernel unmaps to see which node uses them are page faults, too
    if os.path.exists(BALANCING):
        harness.write(BALANCING, "0")
    done = run("--json", "--runs", "2", "vsoc-gpu", "vsoc-memory", "vsoc-pmus", "cpu",
               status=(FINE, DOUBT))
    result = json.loads(done.stdout)
    for campaign in result["campaigns"]:
        allowed = {"TRUSTED", "SELECTED"} if campaign["campaign"] == "cpu" else {"TRUSTED"}
        doubted = [(e["event"], e["verdict"], e["reason"], e["points"]) for e in campaign["events"]
                   if e["verdict"] not in allowed]
        check(not doubted, f"{campaign['campaign']}: {doubted}")
        check("TRUSTED" in verdicts(campaign).values(),
              f"{campaign['campaign']}: nothing was measured")
        check(not any(r["violated"] for r in campaign["relations"]), "a relation is violated")
        check(all(r["points"] for r in campaign["relations"]), "a relation was not measured")
        check(campaign["rows"] and campaign["configuration"].get("perfctr"), "no evidence")
    check(done.returncode == FINE, f"status {done.returncode}: {done.stderr}")
    gpu = result["campaigns"][0]
    for e in gpu["events"]:
        check(e["search"]["space"].startswith("63 features") and e["search"]["remaining"] == 1,
              f"{e['event']}: {e['search']['remaining']} rules left")
    # three counter sets, joined by the anchor
    memory = result["campaigns"][1]
    check(len({r["run"] for r in memory["rows"] if r["event"] == "L2_ACTIVE"}) == 3 * 2 * 8 and
          not memory["dropped_readings"], "the anchor is not in every run")


@test
def table_6_live():
    """a53-copy: caches and bus of a modelled core give table VI; L2D_CACHE as it is switched"""
    for counting, verdict in (("evictions", "UNTRUSTED"), ("refills", "TRUSTED"),
                              ("speculative", "EXPLAINED")):
        choose("l2_counting", counting)
        campaign = live("a53-copy", "--runs", "1", status=(FINE, DOUBT))
        for name, is_verdict in verdicts(campaign).items():
            check(is_verdict == (verdict if name == "L2D_CACHE" else "TRUSTED"),
                  f"{counting}: {name}: {event(campaign, name)['reason']}")


def with_fault(fault):
    choose("miscount", fault)
    try:
        return json.loads(subprocess.run(["perfctr", "validate", "--json", "--runs", "1",
                                          "vsoc-gpu"],
                                         stdout=subprocess.PIPE, text=True, timeout=120,
                                         check=False).stdout)["campaigns"][0]
    finally:
        choose("miscount", "none")


def fault_is_named(miscount, name, wrong, verdict):
    campaign = with_fault(miscount)
    for e in campaign["events"]:
        named = [f["fault"] for f in e["faults"]]
        if e["event"] in wrong:
            check(e["verdict"] == verdict and named == [name],
                  f"{miscount}: {e['event']} is {e['verdict']}, {named}: {e['reason']}")
        else:
            check(e["verdict"] == "TRUSTED" and not named,
                  f"{miscount}: {e['event']} is {e['verdict']}, {named}")
    return campaign


@test
def doubled():
    """fault: doubled count"""
    campaign = fault_is_named("double", "multiple", {"integer"}, "EXPLAINED")
    check(set(weights(event(campaign, "integer")).values()) == {2}, "the weights are not 2")


@test
def swapped():
    """fault: two classes swapped"""
    campaign = fault_is_named("swap", "swap", {"integer", "fp32"}, "EXPLAINED")
    check(set(weights(event(campaign, "fp32"))) == {"IMAD", "IADD3", "SHF", "LOP3", "ISETP"},
          "fp32")


@test
def named():
    """faults: stale multiplexer; dead code counted; lost swap, the preceding kernel is reported"""
    fault_is_named("mux", "stale-multiplexer", {"integer"}, "EXPLAINED")
    fault_is_named("dead", "dead", GPU_EVENTS, "EXPLAINED")
    fault_is_named("stale", "stale", {"integer"}, "UNTRUSTED")


@test
def saturated():
    """fault: saturation, with its width"""
    campaign = fault_is_named("saturate", "saturated", {"integer"}, "UNTRUSTED")
    check("2^16 - 1" in event(campaign, "integer")["reason"], event(campaign, "integer")["reason"])


@test
def wrapped():
    """fault: wrap, with its width"""
    campaign = fault_is_named("wrap", "wrapped", {"integer"}, "UNTRUSTED")
    check("modulo 2^16" in event(campaign, "integer")["reason"],
          event(campaign, "integer")["reason"])


@test
def off_by_one():
    """fault: one too many for each kernel in each core"""
    campaign = fault_is_named("off-by-one", "off-by-one", {"integer"}, "EXPLAINED")
    check(weights(event(campaign, "integer")).get("@unit") == 1, "not by unit")


NV50 = "9"


def tell_driver(file, text):
    with open(f"/sys/bus/platform/drivers/vsoc/{file}", "w", encoding="ascii") as f:
        f.write(text)


@test
def nv50_counters():
    """vsoc-pcounter: MP and PCOUNTER counters are as documented"""
    done = run("vsoc-pcounter", status=NO_DEVICE)
    check("no vsoc with counters of nv50" in done.stderr, done.stderr)
    # another number of cores than the campaign's default
    tell_driver("new_device", f"{NV50} product=nv50 shader_present=0x15")
    try:
        campaign = live("vsoc-pcounter")
        node = os.path.basename(glob.glob(f"/sys/bus/platform/devices/vsoc.{NV50}/drm/renderD*")[0])
        csf = next(n for n in map(os.path.basename, glob.glob("/dev/dri/renderD*")) if n != node)
        check("no device with counters of nv50" in run("-d", csf, "vsoc-pcounter",
                                                       status=NO_DEVICE).stderr, "csf")
        check("no device with counters of vsoc_csf" in run("-d", node, "vsoc-gpu",
                                                           status=NO_DEVICE).stderr, "nv50")
        nv50_wrong_definitions()
    finally:
        tell_driver("del_device", NV50)
    for name, verdict in verdicts(campaign).items():
        check(verdict == "TRUSTED", f"{name} is {verdict}: {event(campaign, name)['reason']}")
    check(len(campaign["relations"]) == 10 and
          all(r["points"] and not r["violated"] for r in campaign["relations"]),
          f"{campaign['relations']}")
    # ten passes, each of which has the anchor; twice at each of 28 points
    check(len({r["run"] for r in campaign["rows"]
               if r["event"] == "instructions"}) == 10 * 2 * 28 and
          not campaign["dropped_readings"], "the anchor is not in every run")
    # the result has the number of cores
    path = "/tmp/nv50.json"
    with open(path, "w", encoding="utf-8") as f:
        json.dump({n: campaign[n] for n in ("campaign", "configuration", "rows")}, f)
    again = json.loads(run("--json", "--measured", path).stdout)["campaigns"][0]
    check(verdicts(again) == verdicts(campaign), "verdicts differ")
    campaign["configuration"]["cores"] = "three"
    with open(path, "w", encoding="utf-8") as f:
        json.dump({n: campaign[n] for n in ("campaign", "configuration", "rows")}, f)
    check("'cores' is 'three'" in run("--measured", path, status=1).stderr, "a mask that is none")


def nv50_wrong_definitions():
    """Three faults: wrong documentation, a wire of another unit, a pass with too many counters."""
    top = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../..")
    with open(os.path.join(top, "lab/vsoc/campaigns/vsoc-pcounter.json"), encoding="utf-8") as f:
        campaign = json.load(f)
    events = {e["name"]: e for e in campaign["events"]}
    events["geom_busy"]["documented"] = ["2 geom_cycles"]
    # as documented by CUPTI
    events["branch"]["documented"] = ["branches"]
    events["instructions"]["documented"] = ["warp_instructions", "exits"]
    events["setup_primitive_count"]["counter"] = "pcounter/setup_primitive_culled_count"
    path = "/tmp/wrong.json"
    with open(path, "w", encoding="utf-8") as f:
        json.dump(campaign, f)
    wrong = live(path, "--runs", "1")
    found = {name: weights(event(wrong, name))
             for name in ("branch", "geom_busy", "instructions", "setup_primitive_count")
             if event(wrong, name)["verdict"] == "EXPLAINED"}
    check(found == {"branch": {"branches": 1, "exits": 1}, "geom_busy": {"geom_cycles": 1},
                    "instructions": {"warp_instructions": 1},
                    "setup_primitive_count": {"culled": 1}}, f"{found}")
    broken = {r["relation"] for r in wrong["relations"] if r["violated"]}
    check(broken == {"primitives out of geometry = primitives into setup",
                     "points + lines + triangles = primitives"}, f"violated: {broken}")
    events["geom_busy"]["group"] = 1
    with open(path, "w", encoding="utf-8") as f:
        json.dump(campaign, f)
    check("was not measured all the time" in run("--runs", "1", path, status=1).stderr,
          "multiplexed counts were taken for exact ones")


@test
def file_then_live():
    """published measurements from a file, then the benchmark that they call for, live"""
    path = os.path.join(os.path.dirname(os.path.realpath(__file__)),
                        "../../../campaigns/measured/xavier-gpu-tables.csv")
    campaign = json.loads(run("--json", "--live", "--measured", path, status=DOUBT).stdout)
    campaign = campaign["campaigns"][0]
    check(event(campaign, "inst_control")["verdict"] == "EXPLAINED",
          event(campaign, "inst_control")["reason"])
    check(event(campaign, "inst_misc")["verdict"] == "EXPLAINED",
          event(campaign, "inst_misc")["reason"])


@test
def result_is_evidence():
    """a live result file, constructed benchmarks included, gives the same verdicts again"""
    choose("miscount", "swap")
    path = "/tmp/result.json"
    run("--json", "--output", path, "--runs", "1", "xavier-gpu", status=FINE)
    choose("miscount", "none")
    with open(path, encoding="utf-8") as f:
        first = json.load(f)["campaigns"][0]
    again = json.loads(run("--json", "--measured", path).stdout)["campaigns"][0]
    check([(e["verdict"], e["definition"]) for e in first["events"]] ==
          [(e["verdict"], e["definition"]) for e in again["events"]], "verdicts differ")


def perfctr(*arguments, status=FINE):
    done = subprocess.run(["perfctr", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True,
                          timeout=60, check=False,
                          env={**os.environ, "PERFCTR_VERDICTS": "/tmp/verdicts.json"})
    check(done.returncode == status, f"{arguments}: status {done.returncode}: {done.stderr}")
    return done


@test
def written_back():
    """--save: list, stat and top mark counters, describe them, and filter"""
    # the verdicts of the database itself on the virtual SoC
    own = perfctr("list", "--trusted-only").stdout
    check("+ shader/THREAD_INST_INTEGER" in own and "+ memsys/L2_READ " in own and
          "FRAGMENTS" not in own and "+ metric:memsys.l2_read_hit_ratio" in own, f"list: {own}")
    perfctr("list", "--trusted-only", "FRAGMENTS", status=1)
    choose("miscount", "swap")
    perfctr("validate", "--save", "--runs", "1", "vsoc-gpu")
    choose("miscount", "none")
    with open("/tmp/verdicts.json", encoding="utf-8") as f:
        saved = json.load(f)["verdicts"]
    check(len(saved) == 7, f"{len(saved)} verdicts")
    check(all(v["kernel"] == os.uname().release and v["machine"] and v["firmware"]
              for v in saved.values()), f"{saved}")
    events = {e["name"]: e
              for e in json.loads(perfctr("list", "--json", "shader/*").stdout)["events"]}
    check(events["THREAD_INST_INTEGER"]["trust"] == "explained" and
          events["THREAD_INST_INTEGER"]["definition"] == "FSETP + FMUL + FADD + FSEL",
          "list: definition")
    check(events["THREAD_INST_MISC"]["trust"] == "trusted" and
          events["FRAGMENTS"]["trust"] == "unvalidated", "list: trust")
    text = perfctr("list", "shader/*").stdout
    check("\n= shader/THREAD_INST_FP32" in text and "\n+ shader/THREAD_INST_MISC" in text and
          "it counts IMAD + IADD3 + SHF + LOP3 + ISETP (vsoc-gpu" in text, "list: marks")
    only = perfctr("list", "--trusted-only").stdout
    check(only.count("\n+ shader/") == 5 and "INTEGER" not in only and "FRAGMENTS" not in only,
          f"list: {only}")
    counters = "shader/THREAD_INST_INTEGER,shader/THREAD_INST_MISC,shader/FRAGMENTS"
    work = ("vsoc-job", "-q", "compute", "threads=1024", "instructions=32")
    stat = perfctr("stat", "-e", counters, *work).stderr
    check("= shader/THREAD_INST_INTEGER" in stat and "+ shader/THREAD_INST_MISC" in stat and
          "swapped: it and fp32 are exchanged" in stat, f"stat: {stat}")
    result = json.loads(perfctr("stat", "--json", "-e", counters, *work).stdout)
    check([c["trust"] for c in result["counters"]] == ["unvalidated", "explained", "trusted"],
          "stat: JSON")
    stat = perfctr("stat", "--trusted-only", "-e", counters, *work).stderr
    check("MISC" in stat and "INTEGER" not in stat and "2 left out" in stat, f"stat: {stat}")
    top = perfctr("top", "--snapshot", "-I", "50", "-e", counters).stdout
    check("\n= THREAD_INST_INTEGER" in top and "it counts FSETP" in top, f"top: {top}")
    top = perfctr("top", "--snapshot", "-I", "50", "--trusted-only", "-e", counters).stdout
    check("MISC" in top and "INTEGER" not in top, f"top: {top}")
    # a new kernel ends what was found with the old one
    with open("/tmp/verdicts.json", "w", encoding="utf-8") as f:
        json.dump({"format": "perfctr verdicts 2",
                   "verdicts": {k: {**v, "kernel": "6.0"} for k, v in saved.items()}}, f)
    events = {e["name"]: e
              for e in json.loads(perfctr("list", "--json", "shader/*").stdout)["events"]}
    check(events["THREAD_INST_INTEGER"]["trust"] == "trusted" and
          "it is of kernel 6.0" in events["THREAD_INST_INTEGER"]["lapsed"], "not lapsed")
    # a correct device replaces the verdict
    perfctr("validate", "--save", "--runs", "1", "vsoc-gpu")
    with open("/tmp/verdicts.json", encoding="utf-8") as f:
        check({v["trust"] for v in json.load(f)["verdicts"].values()} == {"trusted"},
              "not replaced")
    # a campaign with its own definitions is no evidence about the database
    check("not saved" in perfctr("validate", "--save", "--runs", "1", "xavier-gpu").stderr,
          "xavier-gpu was saved")


@test
def broken_verdicts():
    """an invalid file of verdicts is reported and not used"""
    with open("/tmp/verdicts.json", "w", encoding="utf-8") as f:
        f.write("{")
    done = perfctr("list", "shader/FRAGMENTS")
    check("no file of verdicts" in done.stderr and "shader/FRAGMENTS" in done.stdout, done.stderr)


@test
def refused_commands():
    """commands that would be cut or whose memory is too large are refused"""
    for device, counter, command, error in (
            ("cpu", "software/page-faults/", "touch 4503599627370496", "touch takes at most"),
            ("vsoc", "shader/FRAGMENTS", "run true" + 32 * " x", "1 to 32 words"),
            ("vsoc", "shader/FRAGMENTS", "run ", "1 to 32 words")):
        campaign = {"campaign": "refused", "device": device, "events": [{
            "name": "e", "counter": counter, "documented": ["n"]}],
            "benchmarks": [{"name": "b", "command": command, "parameters": {"N": [1]},
                            "quantities": {"n": "N"}}]}
        with open("/tmp/refused.json", "w", encoding="ascii") as f:
            json.dump(campaign, f)
        done = run("--run-programs", "/tmp/refused.json", status=1)
        check(error in done.stderr, done.stderr)


if __name__ == "__main__":
    sys.exit(harness.main(MISSING))
