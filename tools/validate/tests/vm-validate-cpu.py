#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr validate cpu with a PMU (lab/vm/run --kernel arm64 --count-instructions). Prints TAP.
Runs
as root in the guest."""

import ctypes
import json
import os
import platform
import re
import struct
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tests"))
import harness
from harness import check, test

SYS_PERF_EVENT_OPEN = {"aarch64": 241, "x86_64": 298}[platform.machine()]
PINNED_EXCLUDE_HV = 1 << 2 | 1 << 6
HARDWARE, INSTRUCTIONS = 0, 1
FINE, DOUBT = 0, 5


def validate(*arguments):
    """campaign, its events by name, exit status"""
    done = subprocess.run(["perfctr", "validate", "--json", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=120, check=False)
    check(done.returncode in (FINE, DOUBT), f"{arguments}: status {done.returncode}: {done.stderr}")
    campaign = json.loads(done.stdout)["campaigns"][0]
    return campaign, {e["event"]: e for e in campaign["events"]}, done.returncode


def loop(documented):
    """verdict on the instructions of a loop of 2 N, whose documentation is @documented

    QEMU counts about 2500 instructions of the kernel in a timer interrupt, although the kernel is
    excluded: one in a hundred.
    """
    path = "/tmp/loop.json"
    campaign = {"campaign": "loop", "device": "cpu", "events": [{
        "name": "e", "counter": "cpu/instructions/", "documented": ["said"],
        "candidates": ["said"] if documented == "2 * N" else ["instructions", "said"],
        "max_weight": 1, "accept": {"relative_ppm": 10000}}],
        "benchmarks": [{"name": "loop", "command": "loop N",
                        "parameters": {"N": [1000000, 4000000]},
                        "quantities": {"instructions": "2 * N", "said": documented}}]}
    with open(path, "w", encoding="ascii") as f:
        json.dump(campaign, f)
    _, events, status = validate(path)
    return events["e"], status


def perf_event_open(cpu):
    """an event that occupies a counter of a processor"""
    attr = struct.pack("<IIQQQQQ", HARDWARE, 112, INSTRUCTIONS, 0, 0, 0,
                       PINNED_EXCLUDE_HV).ljust(112, b"\0")
    return ctypes.CDLL(None, use_errno=True).syscall(SYS_PERF_EVENT_OPEN, attr, -1, cpu, -1, 8)


@test
def builtin():
    """cpu: the PMU counts exactly the instructions of each loop, without those of interrupts"""
    campaign, events, _ = validate("cpu")
    points = {p["point"]: (p["expected"], p["min"], p["max"])
              for p in events["instructions"]["points"]}
    check({name.split()[0] for name in points} ==
          {"loop", "alu", "branch", "load", "store", "copy", "chase"}, f"{points}")
    # the switch-off of the event, the same for all
    extra = {n - expected for expected, *found in points.values() for n in found}
    check(len(extra) <= 2 and 0 < min(extra) and max(extra) < 40, f"{points}")
    check(events["instructions"]["verdict"] == "TRUSTED", events["instructions"]["reason"])
    for name in "branches", "loads", "load-misses":
        check(events[name]["verdict"] == "SELECTED" and "no PMU" in events[name]["reason"],
              events[name]["reason"])
    for name in "cpu", "pinned", "frequency", "prefetchers", "interrupts":
        check(campaign["configuration"][name], f"the evidence has no {name}")
    print("# interrupts:", campaign["configuration"]["interrupts"])


@test
def interrupts():
    """a loop that no interrupt spares: subtracted if readings agree on what one counts; reported"""
    path = "/tmp/long.json"
    campaign = {"campaign": "long", "device": "cpu", "runs": 2, "events": [{
        "name": "e", "counter": "cpu/instructions/", "documented": ["instructions"],
        "accept": {"relative_ppm": 10000}}],
        "benchmarks": [{"name": "loop", "command": "loop N", "parameters": {"N": [40000000]},
                        "quantities": {"instructions": "2 * N"}}]}
    with open(path, "w", encoding="ascii") as f:
        json.dump(campaign, f)
    result, events, _ = validate(path)
    point, = events["e"]["points"]
    said = [int(n) for n in re.findall(r"\d+", result["configuration"]["interrupts"])]
    print("#", result["configuration"]["interrupts"], point)
    # each of two readings had 19 more attempts, and was corrected or could not be
    check(said[0] == 38 and said[1] + said[-1] == 2, result["configuration"]["interrupts"])
    check(events["e"]["verdict"] == "QUARANTINED" and
          "counts at one point" in events["e"]["reason"], events["e"]["reason"])


@test
def any_pmu():
    """an event of a PMU by its name in sysfs; memory that is no power of two is refused"""
    pmu = next(d for d in os.listdir("/sys/bus/event_source/devices") if d.startswith("armv8"))
    path = "/tmp/any.json"
    campaign = {"campaign": "any", "device": "cpu", "events": [{
        "name": "e", "counter": f"{pmu}/inst_retired/", "documented": ["instructions"],
        "accept": {"absolute": 200}}],
        "benchmarks": [{"name": "copy", "command": "copy N, 8192", "parameters": {"N": [5000, 400]},
                        "quantities": {"instructions": "6 * N"}}]}
    with open(path, "w", encoding="ascii") as f:
        json.dump(campaign, f)
    check(validate(path)[1]["e"]["verdict"] == "TRUSTED", "not trusted")
    campaign["benchmarks"][0]["command"] = "copy N, 5000"
    with open(path, "w", encoding="ascii") as f:
        json.dump(campaign, f)
    done = harness.run("perfctr", "validate", path, status=1)
    check("a power of two" in done.stderr, done.stderr)


# counts the odd numbers below x0: what aarch64-linux-gnu-objdump -d prints
ODD = """
odd:     file format elf64-littleaarch64

000000000040008c <odd>:
  40008c:	52800001 	mov	w1, #0x0                   	// #0
  400090:	36000040 	tbz	w0, #0, 400098 <odd+0xc>
  400094:	11000421 	add	w1, w1, #0x1
  400098:	f1000400 	subs	x0, x0, #0x1
  40009c:	54ffffa1 	b.ne	400090 <odd+0x4>  // b.any
  4000a0:	d65f03c0 	ret
"""


def write_program(path, n):
    """an ELF program without libraries that calls odd(n) and exits"""
    code = [0xd2800000 | n << 5, 0x94000004, 0xd2800000, 0xd2800ba8, 0xd4000001] + \
        [int(word, 16) for word in re.findall(r":\t([0-9a-f]{8}) ", ODD)]
    base, start, size = 0x400000, 0x78, 0x78 + 4 * len(code)
    with open(path, "wb") as f:
        f.write(b"\x7fELF\2\1\1".ljust(16, b"\0") +
                struct.pack("<HHIQQQIHHHHHH", 2, 183, 1, base + start, 64, 0, 0, 64, 56, 1, 0, 0,
                            0) +
                struct.pack("<IIQQQQQQ", 1, 5, 0, base, base, size, size, 0x10000) +
                struct.pack(f"<{len(code)}I", *code))
    os.chmod(path, 0o755)


@test
def own_program():
    """a function of a program: PMU and single steps count the instructions of its listing"""
    if platform.machine() != "aarch64":
        return "the program is of arm64"
    for n in (1000, 10000):
        write_program(f"/tmp/odd-{n}", n)
    with open("/tmp/odd.lst", "w", encoding="ascii") as f:
        f.write(ODD)
    path = "/tmp/odd.json"
    campaign = {
        "campaign": "odd", "device": "cpu", "runs": 2,
        "amounts": {"instructions": ["*"], "jumps": ["BRA", "EXIT"]},
        "events": [{"name": "pmu", "counter": "cpu/instructions/", "documented": ["instructions"],
                    "accept": {"absolute": 4}},
                   {"name": "steps", "counter": "step/instructions/",
                    "documented": ["instructions"]},
                   {"name": "jumps", "counter": "step/jumps/", "documented": ["jumps"]}],
        "benchmarks": [{"name": "odd", "command": "run /tmp/odd-{N}", "listing": "odd.lst",
                        "symbol": "odd", "parameters": {"N": [1000, 10000]},
                        "taken": {"+0x4": "N / 2", "+0x10": "N - 1"}}]}
    with open(path, "w", encoding="ascii") as f:
        json.dump(campaign, f)
    _, events, _ = validate("--run-programs", path)
    for event, per in (("pmu", 3.5), ("steps", 3.5), ("jumps", 1.5)):
        print("#", event, [(p["expected"], p["min"], p["max"]) for p in events[event]["points"]])
        check([p["expected"] for p in events[event]["points"]] ==
              [n * per + 2 * (event != "jumps") for n in (1000, 10000)], f"{events[event]}")
        check(events[event]["verdict"] == "TRUSTED", f"{events[event]['reason']}")
    return None


@test
def verdicts():
    """trusted where the documentation is right, explained where it is wrong, open where the
    loop does not decide"""
    for said, words, verdict, status in (("2 * N", "as documented", "TRUSTED", FINE),
                                         ("3 * N", "one rule is left", "EXPLAINED", FINE),
                                         ("N", "one rule fits, and a known fault as well: doubled",
                                          "QUARANTINED", DOUBT)):
        found, code = loop(said)
        check(found["verdict"] == verdict and words in found["reason"] and code == status,
              f"{said}: {found['verdict']}: {found['reason']} {found['points']}")


@test
def taken():
    """without a free counter of the PMU the event is not measured, with a reason"""
    files = [perf_event_open(cpu) for cpu in range(os.cpu_count()) for _ in range(12)]
    check(min(files) >= 0, "no event for the whole processor")
    try:
        found, _ = loop("2 * N")
    finally:
        for file in files:
            os.close(file)
    check(found["verdict"] == "SELECTED" and "others use the PMU" in found["reason"] and
          not found["points"], f"{found['verdict']}: {found['reason']}")
    check(loop("2 * N")[0]["verdict"] == "TRUSTED", "not measured afterwards")


def loop_program(count):
    """path of a program without a library that executes 2 * count + 5 instructions"""
    code = struct.pack("<7I", 0xd2800000 | (count & 0xffff) << 5, 0xf2a00000 | count >> 16 << 5,
                       0xf1000400, 0x54ffffe1, 0xd2800ba8, 0xd2800000, 0xd4000001)
    size = 120 + len(code)
    elf = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 2, 183, 1, 0x400078, 64, 0, 0, 64, 56,
                      1, 0, 0, 0)
    elf += struct.pack("<IIQQQQQQ", 1, 5, 0, 0x400000, 0x400000, size, size, 4096)
    path = f"/tmp/loop-{count}"
    with open(path, "wb") as f:
        f.write(elf + code)
    os.chmod(path, 0o755)
    return path


@test
def local_session():
    """stat: a user's local session counts exactly a command's instructions, from its exec on"""
    harness.write("/proc/sys/kernel/perf_event_paranoid", "2")
    for count in 1, 3000, 100000:
        # a run may have a timer interrupt, as above
        counts = [json.loads(harness.run(
            "perfctr", "stat", "-d", "local", "-j", "-e", "instructions", "--",
            loop_program(count), uid=harness.NOBODY).stdout)["counters"][0]["value"]
                  for _ in range(3)]
        check(min(counts) == 2 * count + 5, f"{count}: {counts}")


if __name__ == "__main__":
    sys.exit(harness.main())
