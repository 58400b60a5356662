#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: test-cuda.py BUILD
perfctr validate on a GPU that libraries of ours pretend, in place of NVIDIA's driver and CUPTI, and
with helpers that die, hang and lie. No silicon was seen. Prints TAP."""

import functools
import json
import os
import re
import shutil
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tests"))
import harness
from harness import check, test

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
BUILD = sys.argv[1] if len(sys.argv) > 1 else os.path.join(TOP, "build")
PERFCTR = os.path.join(BUILD, "bin/perfctr")
VALIDATE = os.path.join(BUILD, "bin/perfctr-validate")
STUBS = os.path.join(BUILD, "tests/cuda")
FINE, FAILED, DENIED, NO_DEVICE, DOUBT = 0, 1, 3, 4, 5
NAMES = ("nvidia-warp", "nvidia-thread", "nvidia-memory")
LANES = 32
UNIFORM = ("ULDC", "UMOV", "ULEA", "UIADD3", "ULOP3", "S2UR")


def load(name):
    with open(os.path.join(TOP, f"campaigns/{name}.json"), encoding="utf-8") as f:
        return json.load(f)


# --- a model of the GPU, without perfctr's readers: what each launch counts ----------


@functools.lru_cache
def programs():
    """{kernel: [(address, guard, mnemonic, target)]} of the listing"""
    found, code = {}, None
    with open(os.path.join(TOP, "listings/nvidia-sm90.lst"), encoding="utf-8") as f:
        for line in f:
            name = re.match(r"\s+Function : (\w+)", line)
            if name:
                code = found.setdefault(name[1], [])
            row = re.match(r"\s+/\*([0-9a-f]{4})\*/ +(@!?\w+ )?(\w+)[\w.]*(.*?) ;", line)
            if row:
                target = re.search(r"0x([0-9a-f]+)$", row[4])
                code.append((int(row[1], 16), (row[2] or "").strip(), row[3],
                             int(target[1], 16) if target else None))
    return found


def formula(text, values):
    return int(eval(text.replace("/", "//"), {"min": min, "max": max}, values))


def execute(kernel, taken):
    """What a thread executes: {(mnemonic, guard is true): times}"""
    code = {row[0]: row for row in programs()[kernel]}
    at, visits, counts = 0, {}, {}
    while True:
        address, guard, name, target = code[at]
        visits[address] = visits.get(address, 0) + 1
        on = guard in ("", "@PT") or visits[address] <= taken.get(address, 0)
        counts[name, on] = counts.get((name, on), 0) + 1
        if name == "EXIT" and on:
            return counts
        at = target if name == "BRA" and on else at + 16


def points(campaign):
    for benchmark in campaign["benchmarks"]:
        values = [{}]
        for name, list_ in benchmark.get("parameters", {}).items():
            values = [{**v, name: n} for v in values for n in list_]
        for v in values:
            yield benchmark, v


def words(benchmark, values):
    return re.sub(r"\{(.*?)\}", lambda m: str(formula(m[1], values)), benchmark["command"]).split()


def signature(benchmark, values):
    """A launch as the stub writes it."""
    _, _, kernel, grid, block, *arguments = words(benchmark, values)

    def sizes(text):
        return "x".join((text.split("x") + ["1", "1"])[:3])
    for i, a in enumerate(arguments):
        if a.startswith("buffer:"):
            arguments[i] = "w" + (a.split(":") + ["0"])[2]
    return " ".join([kernel, sizes(grid), sizes(block), *arguments])


def features(benchmark, values):
    if "quantities" in benchmark:
        return {(n, True): formula(f, values) for n, f in benchmark["quantities"].items()}
    taken = {int(a, 16): formula(f, values) for a, f in benchmark.get("taken", {}).items()}
    warps = formula(benchmark["threads"], values)
    return {k: n * warps for k, n in execute(benchmark["symbol"], taken).items()}


def value_of(event, classes, counts, planted):
    """What the model's counter counts: as documented, with planted differences."""
    total = 0
    for term in event["documented"]:
        weight, _, name = term.rpartition(" ")
        name, _, state = name.partition(":")
        members = classes.get(name, [name])
        if planted and event["name"].endswith("op_misc_pred_on"):
            members = [*members, "MOV"]
        for (mnemonic, on), n in counts.items():
            if (name == "*" or mnemonic in members) and on == (state != "off"):
                once = planted and event["name"].endswith("inst_executed_op_uniform_pred_on") and \
                    mnemonic in UNIFORM
                total += n * (1 if once else int(weight or 1))
    return total


@functools.lru_cache
def model(name, planted=True):
    campaign, lines = load(name), []
    for benchmark, values in points(campaign):
        counts, key = features(benchmark, values), signature(benchmark, values)
        for event in campaign["events"]:
            counter = event["counter"]
            if "documented" in event:
                value = value_of(event, campaign.get("classes", {}), counts, planted)
            elif "inst_issued" in counter:
                value = sum(counts.values()) + 7
            else:  # of no known number: alike in hardware and patched code; on + off = all
                lanes = LANES if "thread" in counter else 1
                value = counts["warps", True] * lanes * (30 if "pred_on" in counter else
                                                         3 if "pred_off" in counter else 33)
            # caches and refresh: no two launches move the same bytes of DRAM
            if counter.startswith("dram__"):
                value += 32 * (len(lines) % 250)
            lines.append(f"{key}|{counter} {value}")
    return "\n".join(lines) + "\n"


# --- running -------------------------------------------------------------------------


def validate(*arguments, status, text=None, fault=None, program=PERFCTR, seconds=None, **options):
    with tempfile.NamedTemporaryFile("w", suffix=".model") as f:
        f.write(text or "".join(model(n) for n in NAMES))
        f.flush()
        environment = {**os.environ, "CUDA_STUB": f.name, "LD_LIBRARY_PATH":
                       f"{STUBS}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
        environment.pop("CUDA_STUB_FAULT", None)
        if fault:
            environment["CUDA_STUB_FAULT"] = fault
        if seconds:
            environment["PERFCTR_CUDA_WAIT_S"] = str(seconds)
        # another program's folder has no perfctr
        command = [program, "validate"] if program == PERFCTR else [program]
        return harness.run(*command, *arguments, status=status, env=environment, **options)


def result(*arguments, status, **options):
    return json.loads(validate("--json", *arguments, status=status, **options).stdout)


def event(campaign, name):
    return next(e for e in campaign["events"] if e["event"] == name)


@test
def three_campaigns():
    """one command: warps, threads and memory; the planted differences are found, and no others"""
    campaigns = result(*NAMES, status=DOUBT)["campaigns"]
    verdicts = {}
    for campaign in campaigns:
        check(len(campaign["rows"]) > 100, f"{campaign['campaign']}: {len(campaign['rows'])}")
        for e in campaign["events"]:
            verdicts[campaign["campaign"], e["event"]] = e["verdict"]
        for r in campaign["relations"]:
            check(r["points"] >= 18 and not r["violated"], f"{r}")
    misc = event(campaigns[1], "smsp__sass_thread_inst_executed_op_misc_pred_on")
    check(misc["definition"] == "32 MOV + 32 S2R + 32 NOP" and misc["verdict"] == "EXPLAINED",
          f"{misc['verdict']} {misc['definition']}")
    uniform = event(campaigns[1], "smsp__sass_thread_inst_executed_op_uniform_pred_on")
    check(uniform["verdict"] == "QUARANTINED" and "documented" not in uniform["reason"],
          f"{uniform['verdict']} {uniform['reason']}")
    counts = {v: sum(x == v for x in verdicts.values()) for v in set(verdicts.values())}
    print("#", counts)
    check(not counts.get("UNTRUSTED"), f"{[k for k, v in verdicts.items() if v == 'UNTRUSTED']}")
    guessed = [e["event"] for c in campaigns for e in c["events"]
               if e["verdict"] == "EXPLAINED" and e["reason"].startswith("as guessed at ")]
    check(counts["TRUSTED"] >= 20 and len(guessed) >= 14 and
          counts["EXPLAINED"] == len(guessed) + 1, f"{counts} {guessed}")


@test
def guesses_are_named():
    """what no document says is a guess in the campaigns, and docs/silicon.md lists all of them"""
    with open(os.path.join(TOP, "docs/silicon.md"), encoding="utf-8") as f:
        text = f.read()
    for name in NAMES:
        part = re.search(rf"^- `{name}`: (.*?)\n(?=- |\n)", text, re.M | re.S)[1]
        listed = [re.escape(n).replace(r"\*", r"\w+") for n in re.findall(r"`([\w*]+)`", part)]
        for e in load(name)["events"]:
            named = any(re.fullmatch(n, e["name"]) for n in listed)
            check(named == e.get("guess", False), f"{name}: {e['name']}: {named}")


@test
def the_page_as_it_stands():
    """the line of docs/silicon.md makes a report and a folder of each campaign"""
    with open(os.path.join(TOP, "docs/silicon.md"), encoding="utf-8") as f:
        block = re.findall(r"^    (.*)$", f.read(), re.M)
    check(len(block) > 1 and block[0].startswith("for "), f"one command: {block}")
    with tempfile.TemporaryDirectory() as folder:
        shell = os.path.join(folder, "shell")
        with open(shell, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\nPATH={os.path.dirname(PERFCTR)}:$PATH\n"
                    f"cd {folder}\n{block[0]}\n")
        os.chmod(shell, 0o755)
        done = validate(status=DOUBT, program=shell)
        lines = done.stdout.splitlines()
        check(len(lines) == len(NAMES) and not done.stderr, f"{done.stdout} {done.stderr}")
        for name in NAMES:
            short = name.replace("nvidia-", "")
            # each line is the last one of its report, with as many verdicts as this has
            with open(os.path.join(folder, short + ".txt"), encoding="utf-8") as f:
                text = f.read()
            line = lines[NAMES.index(name)]
            check(text.endswith(f"\n\n{line}\n"), f"{line}: {text[-300:]}")
            verdicts = re.findall(r"^  \w+ +([A-Z]{4,}) ", text, re.M)
            counts = dict((v, int(n)) for n, v in re.findall(r"(\d+) ([A-Z]+)", line))
            check(line.startswith(f"{name}: {len(verdicts)} counters: ") and counts ==
                  {v: verdicts.count(v) for v in set(verdicts)} and len(verdicts) > 20 and
                  re.search(r"; (\d+) of \1 relations? holds?$", line), f"{line} {verdicts}")
            check(os.path.exists(os.path.join(folder, short, "SHA256SUMS")), short)
            check("TRUSTED" in validate("-m", os.path.join(folder, short), status=DOUBT).stdout,
                  f"{short} is not read again")


NCU = """#!{python}
import os, subprocess, sys
sys.path.insert(0, {folder!r})
assert sys.argv[1:4] == ["--csv", "--print-units", "base"], sys.argv
metrics = sys.argv[sys.argv.index("--metrics") + 1]
program = sys.argv[sys.argv.index("--metrics") + 2:]
log = {folder!r} + "/launches"
environment = {{**os.environ, "CUDA_STUB_LAUNCHES": log}}
assert not subprocess.run(program, env=environment, check=True, capture_output=True).stdout
known = dict(line.rsplit(" ", 1) for line in open(os.environ["CUDA_STUB"]).read().splitlines())
print("==PROF== Connected to process 7")
print('"ID","Process ID","Kernel Name","Block Size","Grid Size","Device","CC","Metric Name",'
      '"Metric Unit","Metric Value"')
for number, line in enumerate(open(log).read().splitlines()):
    kernel, grid, block = line.split()[:3]
    block, grid = (f"({{s.replace('x', ', ')}})" for s in (block, grid))
    for m in metrics.split(","):
        value = f"{{int(known[line + '|' + m.removesuffix('.sum')]):,}}"
        print(",".join(f'"{{c}}"' for c in (number, 7, kernel, block, grid, 0, "9.0", m, "inst",
                                            value)))
"""


@test
def with_ncu():
    """the commands of docs/silicon.md for ncu, of which a script of ours plays the part: without
    CUPTI each kernel is launched once, and the readings are those of a run with CUPTI"""
    with open(os.path.join(TOP, "docs/silicon.md"), encoding="utf-8") as f:
        block = "\n".join(re.findall(r"^    (.*)$", f.read(), re.M)[1:])
    for name in NAMES:
        with tempfile.TemporaryDirectory() as folder:
            for script, text in (("ncu", NCU.format(python=sys.executable, folder=folder)), (
                    "shell", f"#!/bin/sh\nset -e\nPATH={folder}:{os.path.dirname(PERFCTR)}:$PATH\n"
                    f"cd {folder}\nexport PERFCTR_CUPTI=/nowhere\n"
                    f"{block.replace('nvidia-warp', name)}\n")):
                with open(os.path.join(folder, script), "w", encoding="utf-8") as f:
                    f.write(text)
                os.chmod(os.path.join(folder, script), 0o755)
            # one file has all: the first line for a launch counts
            validate(status=DOUBT, program=os.path.join(folder, "shell"), text=model(name))
            with open(os.path.join(folder, "warp-ncu/result.json"), encoding="utf-8") as f:
                found = json.load(f)["campaigns"][0]
        known = result(name, status=DOUBT)["campaigns"][0]
        check(sorted(map(comparable, found["rows"])) == sorted(map(comparable, known["rows"])) and
              len(found["rows"]) > 300, name)
        check([e["verdict"] for e in found["events"]] == [e["verdict"] for e in known["events"]],
              name)
    check("is not for cuda" in validate("--launch", "cpu", status=FAILED).stderr, "cpu")
    check("for one campaign" in validate("--launch", status=2).stderr, "none")
    check("module: error 209 of the driver, STUB_ERROR: it is for another GPU" in validate(
        "--launch", NAMES[0], status=NO_DEVICE, fault="other-gpu").stderr, "another GPU")
    check("GPU of that number" in validate("--launch", "-d", "1", NAMES[0],
                                           status=NO_DEVICE).stderr, "no such GPU")
    error = validate("--launch", "nvidia-warp", status=FAILED, fault="die").stderr
    check("killed by signal 11, at: launching a kernel" in error, error)


def comparable(row):
    """A reading without its run: those of ncu are numbered otherwise."""
    return (row["benchmark"], str(sorted(row.get("parameters", {}).items())), row["event"],
            row["value"])


@test
def all_counts_arrive():
    """each reading is the model's number, in each of three runs, with the number of passes"""
    for name in NAMES:
        campaign = result(name, status=DOUBT)["campaigns"][0]
        known = dict(line.rsplit(" ", 1) for line in model(name).splitlines())
        rows, wanted = {}, {}
        for r in campaign["rows"]:
            key = (r["benchmark"], tuple(sorted(r.get("parameters", {}).items())), r["event"])
            rows.setdefault(key, []).append(r["value"])
        for benchmark, values in points(load(name)):
            for e in load(name)["events"]:
                if e["name"] in benchmark.get("events", [e["name"]]):
                    key = (benchmark["name"], tuple(sorted(values.items())), e["name"])
                    wanted[key] = [int(known[f"{signature(benchmark, values)}|{e['counter']}"])] * 3
        check(rows == wanted, f"{name}: {[k for k in wanted if rows.get(k) != wanted[k]][:5]}")
        hardware = sum("_sass_" not in e["name"] for e in load(name)["events"])
        passes = 1 + (hardware + 3) // 4
        text = campaign["configuration"]["passes of group 0"]
        check(text == f"{passes}, for {len(load(name)['events'])} events", text)
        for key, value in (("chip", "GH100"), ("gpu", "Stub GPU"), ("place", "0000:01:00.0"),
                           ("uuid", "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf"),
                           ("GPU number", "0 of 1 that the driver shows"),
                           ("CUPTI file", f"{STUBS}/libcuda.so.1")):  # it is both
            check(campaign["configuration"].get(key) == value, f"{campaign['configuration']}")
        check("CUDA_VISIBLE_DEVICES" not in campaign["configuration"], "not set")


@test
def ncu_has_the_same():
    """what ncu prints of the same launches makes the same readings"""
    head = ("ID", "Process ID", "Kernel Name", "Block Size", "Grid Size", "Metric Name",
            "Metric Unit", "Metric Value")
    for name in NAMES:
        campaign = load(name)
        known = dict(line.rsplit(" ", 1) for line in model(name).splitlines())
        rows, wanted = [head], {}
        for number, (benchmark, values) in enumerate(points(campaign)):
            kernel, grid, block = signature(benchmark, values).split()[:3]
            sizes = [f"({s.replace('x', ', ')})" for s in (block, grid)]
            for e in campaign["events"]:
                count = int(known[f"{signature(benchmark, values)}|{e['counter']}"])
                rows.append((str(number), "7", f"{kernel}(int *)", *sizes, e["counter"] + ".sum",
                             "inst", f"{count:,}"))
                if e["name"] in benchmark.get("events", [e["name"]]):
                    wanted[benchmark["name"], tuple(sorted(values.items())), e["name"]] = count
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as f:
            f.writelines(",".join(f'"{c}"' for c in row) + "\n" for row in rows)
            f.flush()
            done = harness.run(PERFCTR, "validate", "-j", "-m", f.name, name, status=DOUBT)
        found = {(r["benchmark"], tuple(sorted(r.get("parameters", {}).items())), r["event"]):
                 r["value"] for r in json.loads(done.stdout)["campaigns"][0]["rows"]}
        check(found == wanted, f"{name}: {[k for k in wanted if found.get(k) != wanted[k]][:5]}")


@test
def module_is_the_listing():
    """the listing has the bytes of the module's instructions"""
    with open(os.path.join(TOP, "listings/nvidia-sm90.cubin"), "rb") as f:
        module = f.read()
    with open(os.path.join(TOP, "listings/nvidia-sm90.lst"), encoding="utf-8") as f:
        text = f.read()
    for part in text.split("Function : ")[1:]:
        code = [int(w, 16) for w in re.findall(r"/\* 0x([0-9a-f]{16}) \*/", part)]
        name = part.split()[0]
        check(len(code) == 2 * len(programs()[name]) > 20, f"{name}: {len(code)}")
        check(module.count(struct.pack(f"<{len(code)}Q", *code)) == 1, name)


@test
def hardware_and_patched_differ():
    """a counter of the hardware that misses a store is a violated relation, and named"""
    text = re.sub(r"(\|smsp__inst_executed_op_global_st )(\d+)",
                  lambda m: f"{m[1]}{int(m[2]) - 1}", model("nvidia-memory"))
    campaign = result("nvidia-memory", status=DOUBT, text=text)["campaigns"][0]
    relation = next(r for r in campaign["relations"] if r["relation"].endswith("global_st"))
    check(relation["violated"] == relation["points"], f"{relation}")
    check(event(campaign, "smsp__inst_executed_op_global_st")["verdict"] == "UNTRUSTED" and
          event(campaign, "smsp__sass_inst_executed_op_global_st")["verdict"] == "TRUSTED",
          "verdicts")


@test
def other_chips():
    """metrics that the chip lacks are not measured; a campaign of another chip is not run"""
    text = "".join(line + "\n" for line in model("nvidia-memory").splitlines()
                   if "|dram__" not in line)
    campaign = result("nvidia-memory", status=DOUBT, text=text)["campaigns"][0]
    found = event(campaign, "dram__bytes_read")
    check(found["verdict"] == "SELECTED" and found["reason"].endswith(
        "GH100 has no metric dram__bytes_read.sum (result 1 of CUPTI)"), f"{found}")
    with own({"product": "GB202"}) as folder:
        error = validate("--run-programs", "./own.json", status=NO_DEVICE, cwd=folder).stderr
    check("it is for a GB202, and here is only GH100" in error, error)
    # beside others it is left out, and the report has it
    with own({"product": "GB202"}) as folder:
        done = validate("--run-programs", "./own.json", "nvidia-memory", status=DOUBT, cwd=folder)
        check("./own.json is not run: it is for a GB202" in done.stderr and
              "own: not run: it is for a GB202" in done.stdout and
              "smsp__warps_launched" in done.stdout, f"{done.stderr} {done.stdout[-500:]}")
        error = validate("--run-programs", "./own.json", "./own.json", status=NO_DEVICE,
                         cwd=folder).stderr
        check("no campaign can be run here; own: it is for a GB202" in error, error)
    error = validate("-d", "1", "nvidia-memory", status=NO_DEVICE).stderr
    check("GPU of that number" in error, error)
    error = validate("-d", "renderD128", "nvidia-memory", status=FAILED).stderr
    check("no number of a GPU" in error, error)


class own:
    """A campaign in a folder, with a module of its own."""

    def __init__(self, more, **benchmark):
        self.more, self.benchmark = more, benchmark

    def __enter__(self):
        self.folder = tempfile.mkdtemp()
        shutil.copy(os.path.join(TOP, "listings/nvidia.ptx"), f"{self.folder}/mine.ptx")
        benchmark = {"name": "copy", "parameters": {"B": [64, 1024]},
                     "command": "launch mine.ptx copy {B} 256 buffer:{1024 * B} buffer:{1024 * B}",
                     "quantities": {"LDG": "8 * B"}, **self.benchmark}
        with open(f"{self.folder}/own.json", "w", encoding="utf-8") as f:
            json.dump({"campaign": "own", "device": "cuda", "runs": 1, "events": [
                {"name": "loads", "counter": "smsp__inst_executed_op_global_ld",
                 "documented": ["LDG"]}], "benchmarks": [benchmark], **self.more}, f)
        return self.folder

    def __exit__(self, *unused):
        shutil.rmtree(self.folder)


@test
def own_campaigns():
    """a campaign of one's own has its module beside it, and runs only if that is allowed"""
    with own({}) as folder:
        error = validate("./own.json", status=FAILED, cwd=folder).stderr
        check("--run-programs" in error, error)
        found = result("--run-programs", "./own.json", status=FINE, cwd=folder)["campaigns"][0]
        check(event(found, "loads")["verdict"] == "TRUSTED", f"{found['events']}")
        os.remove(f"{folder}/mine.ptx")
        error = validate("--run-programs", "./own.json", status=FAILED, cwd=folder).stderr
        check("mine.ptx" in error and "No such file" in error, error)
    for command, part in (("launch mine.ptx copy 64", "MODULE KERNEL GRID BLOCK"),
                          ("launch mine.ptx copy 64x0 256", "up to three sizes"),
                          ("launch mine.ptx copy 1x1x1x1 256", "up to three sizes"),
                          ("launch mine.ptx copy 64 2048", "at most 1024"),
                          ("launch mine.ptx copy 64 256 buffer:3", "whole words"),
                          ("launch mine.ptx copy 64 256 4294967296", "number of 32 bits"),
                          ("copy 64", "work on cuda is"),
                          ("launch mine.ptx nothing 64 256", "nothing: error 500")):
        with own({}, command=command) as folder:
            error = validate("--run-programs", "./own.json", status=FAILED, cwd=folder).stderr
        check(part in error, f"{part}: {error}")


# --- libraries that fail -------------------------------------------------------------

FAULTS = {"no-device": (NO_DEVICE, "start of the driver: error 100"),
          "noperm": (DENIED, "docker run --cap-add SYS_ADMIN"),
          "mig": (NO_DEVICE, "not on a GPU with MIG"),
          "unsupported": (NO_DEVICE, "the range profiler is disabled"),
          "busy": (FAILED, "another program uses the counters"),
          "overflow": (FAILED, "counts: a counter or buffer overflowed"),
          "dropped": (FAILED, "1 ranges instead of 1, and dropped 1"),
          "endless": (FAILED, "more than the 12 passes that it announced"),
          "die": (FAILED, "cuda-counter was killed by signal 11, at: pass 5 of 12"),
          "hang": (FAILED, "cuda-counter does not answer for 5 s, at: pass 1 of 12")}


STRICT = """
import ctypes, re, sys
stub = ctypes.CDLL(sys.argv[1])
text = open(sys.argv[2]).read()
P, Z = ctypes.c_void_p, ctypes.c_size_t
stub.cuInit(0)
stub.cuptiProfilerInitialize((Z * 2)(16))
# sizeof() has padding behind the last member
print("cuptiRangeProfilerStop", 48, stub.cuptiRangeProfilerStop((Z * 600)(48)))
for name in re.findall(r"X\\((cupti\\w+),\\s*\\(struct", text):
    for size in (0, 8, 15, 4096):
        call = (Z * 600)(size)
        print(name, size, getattr(stub, name)(call))
image = ctypes.create_string_buffer(b"Z" * 24, 24)
def host():
    call = (Z * 6)(48, 0, 0, ctypes.cast(ctypes.c_char_p(b"GH100"), P).value,
                   ctypes.addressof(image))
    assert not stub.cuptiProfilerHostInitialize(call)
    return call[5]
def add(host, *names):
    list_ = (ctypes.c_char_p * len(names))(*names)
    return stub.cuptiProfilerHostConfigAddMetrics((Z * 5)(40, 0, host, ctypes.addressof(list_),
                                                          len(names)))
good, other = b"smsp__inst_executed_op_global_ld.sum", b"smsp__inst_executed_op_global_st.sum"
for names in ([b"nothing.sum"], [good[:-4]], [good, b"nothing.sum"]):
    poisoned = host()
    print("poisoned", add(poisoned, *names), add(poisoned, good))
def passes(*calls):
    h = host()
    for names in calls:
        assert not add(h, *names)
    size = (Z * 4)(32, 0, h)
    stub.cuptiProfilerHostGetConfigImageSize(size)
    config = ctypes.create_string_buffer(size[3])
    stub.cuptiProfilerHostGetConfigImage((Z * 5)(40, 0, h, size[3], ctypes.addressof(config)))
    call = (Z * 5)(40, 0, size[3], ctypes.addressof(config))
    stub.cuptiProfilerHostGetNumOfPasses(call)
    return call[4]
print("passes", passes([good, other]), passes([good], [other]))
"""


@test
def strict_stubs():
    """the stubs refuse what NVIDIA's library refuses: sizes, and host objects after a wrong name"""
    with tempfile.NamedTemporaryFile("w") as f:
        f.write(model("nvidia-memory"))
        f.flush()
        lines = harness.run(sys.executable, "-c", STRICT, os.path.join(STUBS, "libcuda.so.1"),
                            os.path.join(TOP, "tools/cuda/cuda.h"),
                            env={**os.environ, "CUDA_STUB": f.name}).stdout.splitlines()
    sizes = [line for line in lines if line.startswith("cupti")]
    check(len(sizes) > 80 and all(line.endswith(" 1") for line in sizes),
          f"{[line for line in sizes if not line.endswith(' 1')]} of {len(sizes)}")
    check(lines[len(sizes):] == ["poisoned 1 999", "poisoned 1 999", "poisoned 1 999",
                                 "passes 1 2"], f"{lines[len(sizes):]}")


@test
def failing_libraries():
    """each failure of the libraries, death and a hang included, has a clear error"""
    hardware = sum("_sass_" not in e["name"] for e in load("nvidia-memory")["events"])
    passes = 1 + (hardware + 3) // 4
    for fault, (status, part) in FAULTS.items():
        begin = time.monotonic()
        # a busy machine is no hang
        error = validate("nvidia-memory", status=status, fault=fault,
                         seconds=5 if fault == "hang" else None).stderr
        check(part.replace("12", str(passes)) in error, f"{fault}: {error}")
        check(time.monotonic() - begin < 55, f"{fault}: too long")
    # none of them is left
    left = harness.processes(os.path.join(BUILD, "bin/cuda-counter"))
    check(not left, f"left: {left}")


@test
def slow_reads():
    """passes that take longer together than one answer may are no hang"""
    with own({}, parameters={"B": [64]}) as folder:
        with open(f"{folder}/own.json", encoding="utf-8") as f:
            campaign = json.load(f)
        others = [e["counter"] for e in load("nvidia-memory")["events"]
                  if e["name"] != "smsp__inst_executed_op_global_ld"]
        campaign["events"] += [{"name": n, "counter": n} for n in others]
        with open(f"{folder}/own.json", "w", encoding="utf-8") as f:
            json.dump(campaign, f)
        begin = time.monotonic()
        found = result("--run-programs", "./own.json", status=DOUBT, cwd=folder, fault="slow",
                       seconds=3)["campaigns"][0]
    check(time.monotonic() - begin > 3, "not slow")
    known = dict(line.rsplit(" ", 1) for line in model("nvidia-memory").splitlines())
    rows = {r["event"]: r["value"] for r in found["rows"]}
    check(rows.pop("loads") == 512 and rows == {
        n: int(known[f"copy 64x1x1 256x1x1 w0 w0|{n}"]) for n in others}, f"{rows}")


@test
def no_counts():
    """a fraction, or more than a double holds exactly, is no count: the event is given up; without
    any other one nothing was measured, which is no success"""
    for fault, part in (("fraction", "512.5"), ("large", "1e+18")):
        with own({}) as folder:
            done = validate("--json", "--run-programs", "./own.json", status=DOUBT, cwd=folder,
                            fault=fault)
        check("own: no counter was measured" in done.stderr, done.stderr)
        found = json.loads(done.stdout)["campaigns"][0]
        loads = event(found, "loads")
        check(loads["verdict"] == "SELECTED" and part in loads["reason"] and not found["rows"],
              f"{loads}")


@test
def without_libraries():
    """without a driver, or without CUPTI, the error says what is missing"""
    environment = {k: v for k, v in os.environ.items() if k != "PERFCTR_CUPTI"}
    with tempfile.TemporaryDirectory() as folder, \
            tempfile.NamedTemporaryFile("w") as f:
        f.write("\n")
        f.flush()
        os.symlink(os.path.join(STUBS, "libcuda.so.1"), f"{folder}/libcuda.so.1")
        environment |= {"LD_LIBRARY_PATH": folder, "CUDA_STUB": f.name,
                        "PERFCTR_CUPTI": f"{folder}/none.so"}
        error = harness.run(PERFCTR, "validate", "nvidia-memory", status=NO_DEVICE,
                            env=environment).stderr
        check(f"PERFCTR_CUPTI names another file ({folder}/none.so: cannot open" in error, error)
        # a CUPTI that lacks functions is refused by name, and the next one taken
        subprocess.run(["cc", "-shared", "-xc", "-o", f"{folder}/libcupti.so.13", "/dev/null"],
                       check=True)
        environment["PERFCTR_CUPTI"] = f"{folder}/libcupti.so.13"
        error = harness.run(PERFCTR, "validate", "nvidia-memory", status=NO_DEVICE,
                            env=environment).stderr
        reason = f"{folder}/libcupti.so.13: it is older than CUDA 12.6, or not CUPTI: it has no cu"
        check("PERFCTR_CUPTI names another file" in error and reason in error, error)
        # one that is not whole is named, not taken for one that is not there
        os.symlink("libcuda.so.1", f"{folder}/libcupti.so.12")
        subprocess.run(["cc", "-shared", "-xc", "-o", f"{folder}/libgone.so", "/dev/null"],
                       check=True)
        subprocess.run(["cc", "-shared", "-xc", "-o", f"{folder}/libcupti.so.13", "/dev/null",
                        "-xnone", "-Wl,--no-as-needed", f"-L{folder}", "-lgone"], check=True)
        os.remove(f"{folder}/libgone.so")
        del environment["PERFCTR_CUPTI"]
        environment["CUDA_VISIBLE_DEVICES"] = "3"
        f.write(model("nvidia-memory"))
        f.flush()
        done = harness.run(PERFCTR, "validate", "-j", "nvidia-memory", status=DOUBT,
                           env=environment)
        known = json.loads(done.stdout)["campaigns"][0]["configuration"]
        check(known["CUPTI file"] == f"{folder}/libcuda.so.1" and
              "libcupti.so.13: libgone.so: cannot open" in known["CUPTI refused"] and
              known["CUDA_VISIBLE_DEVICES"] == "3", f"{known}")
        # a library that is none of NVIDIA's
        os.remove(f"{folder}/libcuda.so.1")
        open(f"{folder}/libcuda.so.1", "w", encoding="ascii").close()
        error = harness.run(PERFCTR, "validate", "nvidia-memory", status=NO_DEVICE,
                            env=environment).stderr
        check("no driver of an NVIDIA GPU" in error, error)


# --- helpers that lie ----------------------------------------------------------------

# what a helper answers to a request; {n}: number of events
HONEST = {"open": "ok\\ngpu=Liar\\nchip=GH100\\n", "module": "ok", "events": "ok 1\\n+\\n",
          "measure": "ok 1\\n512\\n"}
LIES = (
    ("open", "hello", "neither ok nor an error"), ("open", "okay", "neither ok nor an error"),
    ("open", "ok\\nchip=GH100\\n", "no name of the GPU"),
    ("open", "ok\\ngpu\\n", "without a value"),
    ("open", "error odd nothing", "an error of no kind"), ("open", "a\\0b", "it is no text"),
    ("open", "x" * 70000, "it is too long"), ("open", None, "ended without an answer"),
    ("open", "error absent \\x1b[2Jgone\\nmore", "?[2Jgone"),
    ("events", "ok many\\n+\\n", "no number of passes"), ("events", "ok 1\\n", "fewer events"),
    ("events", "ok 1\\n+\\n+\\n", "do not fit"), ("events", "ok 0\\n+\\n", "do not fit"),
    ("events", "ok 9999\\n+\\n", "no number of passes"),
    ("measure", "ok 2\\n512\\n", "not as many as its passes"),
    ("measure", "ok 1\\n", "fewer values"), ("measure", "ok 1\\n512\\n512\\n", "more values"),
    ("measure", "ok 1\\nmany\\n", "no number"), ("measure", "ok 1\\n512 \\n", "no number"),
    ("measure", "steps", "it never ends"), ("measure", "error failed why\\n", "why"))

HELPER = """#!{python}
import socket, sys, time
s = socket.socket(fileno=3)
answers = {answers!r}
left = 0
while True:
    request = s.recv(1 << 17)
    if not request:
        break
    if left:
        left -= len(request)
        if left:
            continue
        word = "module"
    else:
        word = request.split()[0].decode()
        if word == "module":
            left = int(request.split()[1])
            continue
    answer = answers[word]
    if answer is None:
        sys.exit(0)
    for i in range(1 << 20 if answer == "steps" else 0):
        s.send(b"at the work")
    s.send(answer.encode())
"""


def lie(to, answer):
    """What perfctr validate says of a helper with that answer."""
    with own({}, parameters={"B": [64]}) as folder:
        shutil.copy(VALIDATE, f"{folder}/perfctr-validate")
        answers = {k: v.encode().decode("unicode_escape") for k, v in HONEST.items()}
        answers[to] = answer and answer.encode().decode("unicode_escape")
        with open(f"{folder}/cuda-counter", "w", encoding="utf-8") as f:
            f.write(HELPER.format(python=sys.executable, answers=answers))
        os.chmod(f"{folder}/cuda-counter", stat.S_IRWXU)
        status = NO_DEVICE if to in ("open", "events") else FAILED
        if to == "none":
            status = (FINE, DOUBT)
        return validate("--run-programs", "./own.json", status=status, cwd=folder, seconds=20,
                        program=f"{folder}/perfctr-validate")


@test
def lying_helpers():
    """a helper whose answer cannot be right is an error that says which; an honest one is not"""
    check("Liar" in lie("none", None).stdout, "the honest helper")
    for to, answer, part in LIES:
        error = lie(to, answer).stderr
        check(part in error and "\x1b" not in error, f"{to} {answer!r:.60}: {error}")


@test
def deaf_helper():
    """a helper that reads nothing, or cannot be started, ends in an error"""
    with own({}) as folder:
        shutil.copy(VALIDATE, f"{folder}/perfctr-validate")
        error = validate("--run-programs", "./own.json", status=NO_DEVICE, cwd=folder,
                         program=f"{folder}/perfctr-validate").stderr
        check("cuda-counter: No such file" in error and "install perfctr again" in error, error)
        for text, part in (("#!/bin/sh\nexec sleep 100\n", "does not answer for 1 s"),
                           ("no program", "ended without an answer, at: the start")):
            with open(f"{folder}/cuda-counter", "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(f"{folder}/cuda-counter", stat.S_IRWXU)
            error = validate("--run-programs", "./own.json", status=NO_DEVICE, cwd=folder,
                             seconds=1, program=f"{folder}/perfctr-validate").stderr
            check(part in error, error)
        error = validate("--run-programs", "./own.json", status=NO_DEVICE, cwd=folder,
                         seconds="-1").stderr
        check("PERFCTR_CUDA_WAIT_S" in error, error)


@test
def inherited_descriptors():
    """the helper has the socket and the standard descriptors, and nothing else"""
    ours, theirs = os.pipe()
    with own({}, parameters={"B": [64]}) as folder:
        shutil.copy(VALIDATE, f"{folder}/perfctr-validate")
        with open(f"{folder}/cuda-counter", "w", encoding="utf-8") as f:
            f.write(f"#!{sys.executable}\nimport os, socket\n"
                    "s = socket.socket(fileno=3)\ns.recv(99)\n"
                    "kept = [n for n in range(4096) if os.path.exists(f'/proc/self/fd/{n}')]\n"
                    "s.send(f'error failed kept {kept}'.encode())\n")
        os.chmod(f"{folder}/cuda-counter", stat.S_IRWXU)
        error = validate("--run-programs", "./own.json", status=NO_DEVICE, cwd=folder,
                         program=f"{folder}/perfctr-validate", pass_fds=[ours, theirs]).stderr
    os.close(ours)
    os.close(theirs)
    check("kept [0, 1, 2, 3]" in error, error)


@test
def stopped_and_interrupted():
    """Ctrl-Z for longer than an answer may take is no hang, nor is a signal with a handler"""
    handler = ("#include <signal.h>\nstatic void on(int s) { (void)s; }\n"
               "__attribute__((constructor)) static void begin(void)\n"
               "{ sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = on }, 0); }\n")
    with own({}, parameters={"B": [64]}) as folder, \
            tempfile.NamedTemporaryFile("w", suffix=".model") as f:
        f.write(model("nvidia-memory"))
        f.flush()
        subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-o", f"{folder}/on.so", "-"],
                       input=handler, text=True, check=True)
        environment = {**os.environ, "CUDA_STUB": f.name, "CUDA_STUB_FAULT": "slow",
                       "PERFCTR_CUDA_WAIT_S": "2", "LD_PRELOAD": f"{folder}/on.so",
                       "LD_LIBRARY_PATH": f"{STUBS}:{os.environ.get('LD_LIBRARY_PATH', '')}"}
        for what in ("stopped", "interrupted", "interrupted while it sends"):
            program = VALIDATE
            if what.endswith("sends"):
                program = shutil.copy(VALIDATE, f"{folder}/perfctr-validate")
                with open(f"{folder}/mine.ptx", "a", encoding="utf-8") as module:
                    module.write("// more than a socket takes\n" * 50000)
                with open(f"{folder}/cuda-counter", "w", encoding="utf-8") as helper:
                    helper.write(HELPER.format(python=sys.executable, answers={
                        k: v.encode().decode("unicode_escape") for k, v in HONEST.items()}).replace(
                            "int(request.split()[1])", "int(request.split()[1]); time.sleep(1.5)"))
                os.chmod(f"{folder}/cuda-counter", stat.S_IRWXU)
            with subprocess.Popen([program, "-n", "3", "--run-programs", "./own.json"],
                                  cwd=folder, env=environment, stdout=subprocess.PIPE, text=True,
                                  stderr=subprocess.PIPE, start_new_session=True) as process:
                time.sleep(0.5)
                check(process.poll() is None, f"{what}: it was too quick")
                if what == "stopped":
                    os.killpg(process.pid, signal.SIGSTOP)
                    time.sleep(3)
                    os.kill(process.pid, signal.SIGCONT)
                    time.sleep(0.3)
                    os.killpg(process.pid, signal.SIGCONT)
                elif what == "interrupted":
                    # the helper waits for a request
                    os.kill(process.pid, signal.SIGSTOP)
                    time.sleep(1)
                    os.killpg(process.pid, signal.SIGUSR1)
                    os.kill(process.pid, signal.SIGCONT)
                for _ in range(0 if what == "stopped" else 20):
                    os.killpg(process.pid, signal.SIGUSR1)
                    time.sleep(0.05)
                out, error = process.communicate(timeout=60)
            check(process.returncode == DOUBT and "QUARANTINED" in out, f"{what}: {error} {out}")


@test
def vendor_stays_outside():
    """perfctr-validate never has NVIDIA's libraries in its process"""
    seen = []
    done = threading.Event()

    def watch():
        while not done.is_set():
            for pid in filter(str.isdigit, os.listdir("/proc")):
                try:
                    program = os.readlink(f"/proc/{pid}/exe")
                    with open(f"/proc/{pid}/maps", encoding="ascii", errors="replace") as f:
                        seen.append((os.path.basename(program), STUBS in f.read()))
                except OSError:
                    pass
            time.sleep(0.02)
    thread = threading.Thread(target=watch)
    thread.start()
    with own({}) as folder:
        result("--run-programs", "./own.json", status=FINE, cwd=folder, fault="slow")
    done.set()
    thread.join()
    check(("cuda-counter", True) in seen and ("perfctr-validate", False) in seen and
          ("perfctr-validate", True) not in seen, f"{set(seen)}")


if __name__ == "__main__":
    sys.exit(harness.main())
