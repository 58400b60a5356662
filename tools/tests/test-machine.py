#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: test-machine.py BUILD: perf events of made-up machines. Prints TAP; no device."""

import errno
import json
import os
import re
import resource
import signal
import sys

import harness
from harness import check, test
from machine import Machine

BUILD = sys.argv[1]
LOCAL = "-d", "local", "-a"
LISTS = ",".join(str(8 * n) for n in range(100)), "0-799:1/8", "1000-1099", "4096-4195"
HYBRID = {"cpu_core": (4, "0-1"), "cpu_atom": (10, "2-3")}
CYCLES = {"format/event": "config:0-7", "events/cpu-cycles": "event=0x3c"}


def counters(done):
    """Counters of stat -j by event."""
    check(done.returncode == 0, f"status {done.returncode}: {done.stderr}")
    return {c["event"]: c for c in json.loads(done.stdout)["counters"]}


@test
def machine_counts():
    """a made-up machine counts an event on each CPU"""
    with Machine(BUILD) as m:
        m.pmu("cpu", 4, {"format/event": "config:0-7", "events/cpu-cycles": "event=0x3c"})
        m.perf("4 0x3c * rate 1000000")
        c = counters(m.run("stat", *LOCAL, "-j", "-e", "cpu/cpu-cycles/", "--", "sleep", "0.2"))
        value = c["cpu/cpu-cycles/"]["value"]
        check(800000 <= value < 4000000, f"{value} cycles of 4 CPUs in 0.2 s and a bit")
        calls = m.calls()
        for cpu in range(4):
            check(any(f" cpu {cpu} " in line for line in calls), f"CPU {cpu}: {calls}")


def stat(m, events, *more, command=("true",)):
    return m.run("stat", *LOCAL, *more, "-e", events, "--", *command)


def refused(done, *texts):
    """An error with these texts."""
    check(done.returncode, f"no error: {done.stdout}{done.stderr}")
    for text in texts:
        check(text in done.stderr, f"'{text}' is not in: {done.stderr}")


def cpus_of(m):
    return {line.split(" cpu ")[1].split()[0] for line in m.calls()}


@test
def lists_of_cpus():
    """lists of CPUs of any length, with strides and large numbers, are counted on each CPU"""
    for cpus in LISTS:
        for uncore in (False, True):
            with Machine(BUILD) as m:
                m.put("/sys/devices/system/cpu/online", "0-9999" if uncore else cpus)
                m.pmu("core_imc" if uncore else "cpu", 9,
                      {"format/event": "config:0-31", "events/cyc": "event=0x28",
                       **({"cpumask": cpus} if uncore else {})})
                m.perf("9 * * rate 1000")
                name = "core_imc/cyc/" if uncore else "cpu/cyc/"
                c = counters(stat(m, name, "-j"))
                check(c[name]["state"] == "ok", c)
                check(len(cpus_of(m)) == 100, f"{cpus[:40]}: {len(cpus_of(m))} CPUs")


@test
def damaged_lists_of_cpus():
    """a list of CPUs that makes no sense is an error, not a smaller sum"""
    for path in "devices/system/cpu/online", "bus/event_source/devices/cpu/cpus":
        for text in "0-3,x", "3-0", "0-", "0-3;5", "999999999", "0-7:0/2", "1" * (2 << 20):
            with Machine(BUILD) as m:
                m.pmu("cpu", 9, {**CYCLES, "cpus": "0-3"})
                m.put("/sys/" + path, text)
                m.perf("9 * * rate 1000")
                refused(stat(m, "cpu/cpu-cycles/"), "CPUs")


@test
def long_texts_of_sysfs():
    """long formats, events and units are read whole"""
    bits = ",".join(str(n) for n in range(0, 64, 2))
    event = ",".join(f"{'f' * 60}{n}=1" for n in range(8))
    with Machine(BUILD) as m:
        m.pmu("cpu", 9, {"format/spread": "config:" + bits + " " * 0, "events/long": event,
                         **{f"format/{'f' * 60}{n}": f"config1:{n}" for n in range(8)},
                         "events/long.unit": "megabytes of a long unit",
                         "events/long.scale": "0.0000009536743164062500000000000000000000000000"})
        m.perf("9 * * rate 1000000000")
        c = counters(stat(m, "cpu/long,spread=0xffffffff/", "-j"))
        check("config 0x5555555555555555 config1 0xff " in m.calls()[0], m.calls()[0])
        row = c["cpu/long,spread=0xffffffff/"]
        check(row["unit"] == "megabytes of a long unit", row["unit"])
        check(abs(row["scale"] - 2**-20) < 1e-12, row["scale"])
        m.put("/sys/bus/event_source/devices/cpu/events/long.unit", "u" * 64)
        refused(stat(m, "cpu/long/"), "a unit of 64 characters")
        m.put("/sys/bus/event_source/devices/cpu/events/long.unit", "MiB")
        m.put("/sys/bus/event_source/devices/cpu/events/long.scale", "1 MiB")
        refused(stat(m, "cpu/long/"), "is no factor")


def with_fabric(core=True):
    m = Machine(BUILD)
    if core:
        m.pmu("armv8_pmuv3_0", 10, {"cpus": "0-3", "format/event": "config:0-15",
                                    "events/cpu_cycles": "event=0x11",
                                    "events/inst_retired": "event=0x8"})
    for number, name in (20, "nvidia_ucf_pmu_0"), (30, "nvidia_pcie_pmu_0_rc_0"):
        m.pmu(name, number, {"cpumask": "0", "format/event": "config:0-32",
                             "events/cycles": "event=0x100000000"})
    m.perf("10 * * rate 1000", "20 * * rate 1000", "30 * * rate 1000")
    return m


@test
def generic_names_are_of_cpus():
    """cycles and instructions are events of CPU cores also where a fabric has such names"""
    with with_fabric() as m:
        for names in "cycles,instructions", "CYCLES,Instructions":
            c = counters(stat(m, names, "-j"))
            check(list(c) == ["armv8_pmuv3_0/cpu_cycles/", "armv8_pmuv3_0/inst_retired/"], list(c))
        c = counters(stat(m, "ucf0/cycles/", "-j"))
        check(list(c) == ["ucf0/cycles/"], list(c))
    with with_fabric(core=False) as m:
        for name in "cycles", "CYCLES", "branches", "L1-dcache-load-misses", "r1c0":
            refused(stat(m, name), "no CPU PMU")
        # beside others, as perf's
        done = stat(m, "cycles:u,nvidia_ucf_pmu_0/cycles/,r1c0,L1-dcache-load-misses", "-x,")
        check([line.split(",")[:3] for line in done.stderr.splitlines() if "supported" in line] ==
              [["<not supported>", "", name]
               for name in ("cycles:u", "r1c0", "L1-dcache-load-misses")], done.stderr)
        check(done.stderr.count("ucf0/cycles/") == 1, done.stderr)
        # perf may have what sysfs does not show
        m.perf("0 0 * rate 1000000", "20 * * rate 1000", "30 * * rate 1000")
        c = counters(stat(m, "cycles,instructions", "-j"))
        check([(name, row["state"]) for name, row in c.items()] ==
              [("cpu/cycles/", "ok"), ("cpu/instructions/", "not supported")], c)


@test
def software_takes_no_turns():
    """times of a software event that differ, as at a switch of a cgroup, are no estimate"""
    with Machine(BUILD) as m:
        m.pmu("software", 1, {})
        m.perf("1 * * rate 1000000 0.5")
        c = counters(stat(m, "cs,faults", "-j"))
        check(all("estimate" not in row and row["running_percent"] == 100 for row in c.values()), c)


@test
def generic_names_by_number():
    """names that sysfs lacks count by perf's number, on each kind of cores"""
    plain = {"format/event": "config:0-15"}
    with Machine(BUILD) as m:
        m.pmu("cpu", 11, plain)
        m.perf("0 0 * rate 1000", "0 4 * rate 1000", "3 0x10000 * rate 1000")
        names = "cycles,branches,branch-instructions,L1-dcache-load-misses,cpu/cpu-cycles/"
        c = counters(stat(m, names, "-j"))
        check(list(c) == ["cpu/cycles/", "cpu/branches/", "cpu/L1-dcache-load-misses/"], list(c))
        check(all(row["state"] == "ok" for row in c.values()), c)
        check(cpus_of(m) == {"0", "1", "2", "3"}, m.calls())
    for kernel_knows_kinds in (True, False):
        with Machine(BUILD) as m:
            m.pmu("armv8_cortex_a53", 11, {**plain, "cpus": "0-1",
                                           "events/pc_write_retired": "event=0xc"})
            m.pmu("armv8_cortex_a72", 12, {**plain, "cpus": "2-3"})
            m.perf("11 0xc * rate 1", "0 0xc00000004 2 rate 1" if kernel_knows_kinds else
                   "0 4 2 rate 1", "0 0xc00000004 3 rate 1" if kernel_knows_kinds else
                   "0 4 3 rate 1")
            c = counters(stat(m, "branches", "-j"))
            check(list(c) == ["armv8_cortex_a53/pc_write_retired/", "armv8_cortex_a72/branches/"],
                  list(c))


@test
def pmus_of_cpus():
    """on s390 only cpum_cf counts generic events; no PMU is a kind of cores by "cpu" alone"""
    with Machine(BUILD) as m:
        m.pmu("cpum_cf", 8, {"format/event": "config:0-63", "events/CPU_CYCLES": "event=0x0000"})
        for number, name in (9, "cpum_sf"), (11, "cpum_cf_diag"), (12, "cpu_fabric"):
            m.pmu(name, number, {"format/event": "config:0-63"})
        m.perf("0 0 * rate 1000", "8 * * rate 1000")
        c = counters(stat(m, "cycles,r10", "-j"))
        check([(n, row["state"]) for n, row in c.items()] ==
              [("cpum_cf/cycles/", "ok"), ("cpum_cf/r10/", "ok")], c)


@test
def syntax_of_perf():
    """modifiers, raw events and name= count as with perf, or are refused by their name"""
    with Machine(BUILD) as m:
        m.pmu("cpu", 4, {"format/event": "config:0-7", "format/umask": "config:8-15",
                         "events/cpu-cycles": "event=0x3c", "events/instructions": "event=0xc0"})
        m.pmu("software", 1, {})
        m.pmu("tracepoint", 2, {})
        m.put("/sys/kernel/tracing/events/sched/sched_switch/id", "300")
        m.pmu("imc", 9, {"cpumask": "0", "format/event": "config:0-7", "events/rd": "event=1"})
        m.perf(*(f"{number} * * rate 1000" for number in (0, 1, 2, 3, 4, 9)))
        for event, row, config, excludes in (
                ("instructions:u", "cpu/instructions/u", "0xc0", "kh"),
                ("cpu/instructions/k", "cpu/instructions/k", "0xc0", "uh"),
                ("cpu/instructions/:uk", "cpu/instructions/uk", "0xc0", "h"),
                ("instructions:G", "cpu/instructions/G", "0xc0", "H"),
                ("instructions:uH", "cpu/instructions/uH", "0xc0", "khG"),
                ("r1c0", "cpu/r1c0/", "0x1c0", "-"), ("cpu/r1c0/", "cpu/r1c0/", "0x1c0", "-"),
                ("r1c0:k", "cpu/r1c0/k", "0x1c0", "uh"),
                ("cpu/cycles,umask=1,name=foo/", "cpu/foo/", "0x13c", "-"),
                ("cpu/cycles,umask=2/u", "cpu/cycles,umask=2/u", "0x23c", "kh"),
                ("cpu/branches,name='a b'/", "cpu/a b/", "0x4", "-"),
                ("g1:{instructions:u}", "cpu/instructions/u", "0xc0", "kh"),
                ("LLC-misses", "cpu/LLC-misses/", "0x10002", "-"),
                ("cs", "software/context-switches/", "0x3", "-"),
                ("faults", "software/page-faults/", "0x2", "-"),
                ("migrations", "software/cpu-migrations/", "0x4", "-"),
                ("sched:sched_switch", "tracepoint/sched:sched_switch/", "0x12c", "-"),
                ("sched:sched_switch:u", "tracepoint/sched:sched_switch/u", "0x12c", "kh"),
                ("cpu/event=0xc0,umask=1,name=foo/", "cpu/foo/", "0x1c0", "-")):
            c = counters(stat(m, event, "-j"))
            check(list(c) == [row] and c[row]["state"] == "ok", f"{event}: {c}")
            last = m.calls()[-1]
            check(f"config {config} " in last and f" excludes {excludes} " in last,
                  f"{event}: {last}")
        c = counters(stat(m, "instructions:u,instructions:k,instructions", "-j"))
        check(len(c) == 3, f"three events are one: {list(c)}")
        c = counters(stat(m, "cpu/event=1,name=a/,cpu/event=1,name=b/,cpu/event=1,name=a/", "-j"))
        check(list(c) == ["cpu/a/", "cpu/b/"], f"two names of one event: {list(c)}")
        for event, text in (
                ("cpu/branches,umask=1/", "write event=N instead"),
                ("mem:0x1234:rw", "mem:0x1234:rw is not supported"),
                ("duration_time", "duration_time is not supported"),
                ("user_time", "user_time is not supported"),
                ("sched:*", "sched:* is not supported"),
                ("instructions:p", "modifier \"p\" is not supported"),
                ("cpu/instructions/uD", "modifier \"D\" is not supported"),
                ("{instructions,r1c0}:u", "modifiers of a group are not supported"),
                ("{instructions,r1c0", "no closing brace"), ("r1c0}", "a brace too many"),
                ("{r1c0,{r1c1}}", "a brace too many"),
                ("imc/rd/u", "modifiers have no meaning"),
                ("cpu/instructions,period=10/", "\"period\" is not supported"),
                ("cpu/event=0x1g/", "\"0x1g\" is no number"),
                ("cpu/event=8 GiB/", "\"8 GiB\" is no number"),
                ("cpu/event=5%/", "\"5%\" is no number")):
            refused(stat(m, event), text)


@test
def values_of_the_user():
    """an event with a question mark is listed with it and counts with the user's value"""
    with Machine(BUILD) as m:
        m.pmu("hv_24x7", 8, {
            "cpumask": "0", "format/domain": "config:0-3", "format/chip": "config:16-31",
            "format/lpar": "config1:0-15", "format/offset": "config:32-63",
            "events/PM_PB_CYC": "domain=1,offset=0x80,chip=?,lpar=0x0",
            "events/PM_TWO": "domain=2,chip=?,lpar=?"})
        m.perf("8 * * rate 1000")
        listed = m.run("list", "-d", "local").stdout
        for name in "hv_24x7/PM_PB_CYC,chip=?/", "hv_24x7/PM_TWO,chip=?,lpar=?/":
            check(name in listed, listed)
        for event in "PM_PB_CYC,chip=3", "chip=3,PM_PB_CYC":
            counters(stat(m, f"hv_24x7/{event}/", "-j"))
            check("config 0x8000030001 config1 0 " in m.calls()[-1], m.calls()[-1])
        refused(stat(m, "hv_24x7/PM_PB_CYC/"), "give chip, as hv_24x7/PM_PB_CYC,chip=N/")
        refused(stat(m, "hv_24x7/PM_TWO,chip=1/"), "give lpar,")
        refused(stat(m, "hv_24x7/PM_TWO/"), "give chip, lpar,")
        refused(stat(m, "hv_24x7/PM_PB_CYC,chip=?/"), "give a number for \"chip\"")
        refused(stat(m, "hv_24x7/PM_PB_CYC,chip=65536/"), "does not fit")


def with_level(cpus="0"):
    m = Machine(BUILD)
    m.put("/sys/devices/system/cpu/online", cpus)
    m.pmu("msr", 6, {"format/event": "config:0-63", "events/margin": "event=0x07",
                     "events/margin.snapshot": "1", "events/margin.unit": "C"})
    m.perf("6 7 * level 45 45 44 43 40 38")
    return m


@test
def levels():
    """an event with .snapshot is a level in stat, captures, the exporter: no rate, no sum"""
    name = "msr/margin/"
    with with_level() as m:
        c = counters(stat(m, name, "-j", command=("sleep", "0.8")))[name]
        check((c["value"], c["rate"], c["kind"]) == (38, None, "level"), c)
        check(c["max"] <= 45 and c["min"] >= 38, c)
        file = m.root + "/capture"
        done = m.run("record", *LOCAL, "-o", file, "-e", name, "--", "sleep", "0.8")
        check(done.returncode == 0, done.stderr)
        done = m.run("report", "--json", file)
        row = json.loads(done.stdout)["counters"][0]
        check((row["value"], row["rate"], row["kind"]) == (38, None, "level"), row)
        text = m.run("exporter", "-d", "local", "--once", "-p", "1s", "-e", name).stdout
        check("# TYPE perfctr_msr_margin gauge" in text, text)
        check('perfctr_msr_margin{device="local",block="msr",event="msr/margin/"} 38\n' in text,
              text)
    with with_level("0-1") as m:
        c = counters(stat(m, name, "-j", command=("sleep", "0.8")))
        check([(n, row["value"]) for n, row in c.items()] ==
              [("msr/margin,cpu=0/", 38), ("msr/margin,cpu=1/", 38)], c)


@test
def levels_of_tasks():
    """a level is that of a CPU: for a task it is refused, not summed over the threads"""
    with with_level() as m:
        refused(m.run("stat", "-d", "local", "-e", "msr/margin/", "--", "true"),
                "msr/margin/ is a level", "(-a)")
    with Machine(BUILD) as m:
        m.pmu("power", 7, {"cpumask": "0,2", "format/event": "config:0-7", "events/t": "event=1",
                           "events/t.snapshot": "1"})
        m.perf("7 1 * level 40")
        c = counters(m.run("stat", "-d", "local", "-j", "-e", "power/t/", "--", "sleep", "0.1"))
        check([(n, row["value"]) for n, row in c.items()] ==
              [("power/t,cpu=0/", 40), ("power/t,cpu=2/", 40)], f"of the machine: {c}")


def with_hybrid(*lines):
    m = Machine(BUILD)
    for name, (number, cpus) in HYBRID.items():
        m.pmu(name, number, {**CYCLES, "events/branches": "event=0xc4", "cpus": cpus})
    m.perf(*lines)
    return m


def of_task(m, events):
    """Sums of counts and of what is shown."""
    c = counters(m.run("stat", "-d", "local", "-j", "-e", events, "--", "sleep", "0.4"))
    return c, sum(row["value"] or 0 for row in c.values()), sum(
        row.get("estimate") or row["value"] or 0 for row in c.values())


@test
def hybrid_tasks():
    """a task on several kinds of cores is scaled only if its events were multiplexed"""
    with with_hybrid("4 * * rate 1000000 0.18", "10 * * rate 1000000 0.82") as m:
        _, true, shown = of_task(m, "cycles")
        check(true <= shown < 1.05 * true, f"{shown} shown for {true}")
        c, true, shown = of_task(m, "cpu_core/cpu-cycles/")
        check(true <= shown < 1.05 * true, f"one kind: {shown} shown for {true}")
        row = c["cpu_core/cpu-cycles/"]
        check(17.5 < row["running_percent"] < 18.5 and row["partial"], f"a part is whole: {row}")
        done = m.run("stat", "-d", "local", "-e", "cpu_core/cpu-cycles/", "--", "sleep", "0.1")
        check("ran 18" in done.stderr and "multiplexed" in done.stderr, done.stderr)
    with with_hybrid("4 60 * rate 1000000 0.09", "10 60 * rate 1000000 0.41") as m:
        _, true, shown = of_task(m, "cycles")
        check(1.9 * true < shown < 2.1 * true, f"half the time: {shown} shown for {true}")
    with with_hybrid("4 60 * rate 1000000 0.2", "4 * * rate 1000000 0.1",
                     "10 * * rate 1000000 0.8") as m:
        c, _, _ = of_task(m, "cycles,branches")
        row = c["cpu_core/branches/"]
        check(1.9 * row["value"] < row["estimate"] < 2.1 * row["value"], row)
        check("estimate" not in c["cpu_core/cpu-cycles/"], c)
    with with_hybrid("4 * * rate 1000000 0", "10 * * rate 1000000 1") as m:
        c, _, _ = of_task(m, "cycles")
        row = c["cpu_core/cpu-cycles/"]
        check((row["value"], row["state"]) == (0, "ok"), f"never there: {row}")
    with with_hybrid("4 * * rate 1000000 0") as m:
        c, _, _ = of_task(m, "cpu_core/cpu-cycles/,cpu_atom/cpu-cycles/")
        row = c["cpu_core/cpu-cycles/"]
        check(row["state"] == "not measured", f"never on a counter: {row}")
    with with_hybrid("4 * * rate 1000000 0.5", "10 * * rate 1000000 0.5") as m:
        c = counters(stat(m, "cycles", "-j", command=("sleep", "0.2")))
        for row in c.values():
            check(1.9 * row["value"] < row["estimate"] < 2.1 * row["value"], row)


@test
def rotating_events_of_tasks():
    """twelve events of each kind of cores are no whole counts, with and without the other kind"""
    of_core = ",".join(f"cpu_core/event={n}/" for n in range(1, 13))
    with with_hybrid("4 * * rate 1000000 0.66", "10 * * rate 1000000 0") as m:
        c, true, shown = of_task(m, of_core)
        check(len(c) == 12 and shown == true, f"scaled, though the task may be elsewhere: {c}")
        for row in c.values():
            check(row["partial"] and 65 < row["running_percent"] < 67, f"a part is whole: {row}")
    with with_hybrid("4 * * rate 1000000 0.33", "10 * * rate 1000000 0.33") as m:
        c, true, shown = of_task(m, of_core + "," + of_core.replace("core", "atom"))
        check(len(c) == 24 and 1.45 * true < shown < 1.55 * true, f"{shown} shown for {true}")
    with with_hybrid("4 * * rate 1000000 1") as m:
        c, _, _ = of_task(m, "cpu_core/cpu-cycles/")
        row = c["cpu_core/cpu-cycles/"]
        check(row["running_percent"] == 100 and not row["partial"], f"all the time: {row}")
    with Machine(BUILD) as m:
        m.pmu("cpu", 4, CYCLES)
        m.perf("4 * 1 rate 1000000 0.25", "4 * -1 rate 1000000 1")
        c, true, shown = of_task(m, "cpu/cpu-cycles,cpu=1/")
        row, = c.values()
        check(shown == true and row["partial"], f"of one CPU: {row}")


@test
def sleeping_tasks():
    """a task that sleeps counts 0 in no time, and its rates are those of the time awake"""
    # an emulator (qemu-user) has a thread of its own in each process, which counts, too
    threads = len(os.listdir("/proc/self/task"))
    with Machine(BUILD) as m:
        m.pmu("cpu", 4, CYCLES)
        words = "-d", "local", "-e", "cpu/cpu-cycles/"
        for part, percent in (1, "100.00"), (0.5, "50.00"):
            m.perf(f"4 * * rate 1000000 {part} 0.35")
            rows = [line.split(",") for line in
                    m.run("stat", *words, "-x,", "-I", "100", "sleep", "0.9").stderr.splitlines()]
            ran = sum(int(row[4]) for row in rows) / threads
            # counting begins a moment after perf's time
            check(0.25e9 < ran / part <= 0.35e9, f"ran {ran} ns: {rows}")
            check(all(row[1:2] + row[4:6] == ["<not counted>", "0", "100.00"] for row in rows[5:]),
                  rows)
            row = m.run("stat", *words, "-x,", "sleep", "0.9").stderr.split(",")
            check(0.25e9 < int(row[3]) / threads / part <= 0.35e9 and row[4] == percent, row)
            check(abs(float(row[0]) / int(row[3]) * part * 1e3 - 1) < 1e-3, row)
            m.run("record", *words, "-o", m.root + "/a.pctr", "sleep", "0.9")
            row, = json.loads(m.run("report", "--json", m.root + "/a.pctr").stdout)["counters"]
            check(row["state"] == "ok" and row["sample_min"] == 0, row)
            check(0.9e6 < row["sample_max"] / threads < 1.2e6, row)
            check(0.3e6 < row["rate"] / threads < 0.45e6, row)


@test
def misunderstood_options():
    """options that do nothing, or something else than meant, say so"""
    with Machine(BUILD) as m:
        m.pmu("cpu", 4, CYCLES)
        m.perf("4 * * rate 1000000")
        words = "stat", "-d", "local", "-e", "cpu/cpu-cycles/"
        for option in "--timeout", "-I", "-p":
            done = m.run(*words, option, "0.3", "--", "true")
            refused(done, f"{option} '0.3'", "in ms", "0.3s or 0.3ms")
            check(done.returncode == 2, f"status {done.returncode}")
        check(m.run(*words, "-p", "0.3s", "--", "true").returncode == 0, "0.3s")
        done = m.run(*words, "-A", "--", "true")
        check(done.returncode == 0 and "-A changes nothing" in done.stderr, done.stderr)
        check("changes nothing" not in m.run(*words, "-A", "-a", "--", "true").stderr, "-A -a")
        done = m.run(*words, "--per-context", "--", "true")
        refused(done, "only jobs of a DRM device carry samples")
        check("broker" not in done.stderr, done.stderr)


@test
def events_of_the_whole_machine():
    """what a PMU counts of the whole machine is said where CPUs or a cgroup are counted, and is
    no event for each of several cgroups"""
    with Machine(BUILD) as m:
        m.pmu("imc", 9, {"cpumask": "0", "format/event": "config:0-7", "events/rd": "event=1"})
        m.pmu("cpu", 4, CYCLES)
        m.perf(*(f"{pmu} * * rate 1000000" for pmu in (1, 4, 9)))
        m.put("/proc/self/mountinfo", "26 1 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw")
        for name in "a", "b":
            m.put(f"/sys/fs/cgroup/{name}/cgroup.procs", "")
        for options, what in ((("-C", "0"), "some CPUs"), (("-G", "a"), "a cgroup")):
            words = "stat", *options, "-e", "imc/rd/,cpu/cpu-cycles/"
            done = m.run(*words, "--", "true")
            check(f"of the whole machine, as the PMU cannot count {what}: imc/rd/\n" in
                  done.stderr, f"{done}")
        done = m.run("stat", "--for-each-cgroup", "a,b", "-e", "cpu/cpu-cycles/,imc/rd/", "--",
                     "true")
        refused(done, "imc counts the whole machine, which each cgroup")
        check(done.returncode == 2, f"{done}")
        done = m.run("stat", "-j", "--for-each-cgroup", "a,b", "--", "true")
        found = [row["event"] for d in json.loads(done.stdout)["devices"] for row in d["counters"]]
        check(found == ["a:cpu/cpu-cycles/", "b:cpu/cpu-cycles/"], f"{found} {done.stderr}")


@test
def one_sample():
    """one sample is 1 sample, not 1 samples"""
    with Machine(BUILD) as m:
        m.pmu("cpu", 4, CYCLES)
        m.perf("4 * * rate 1000000")
        file = m.root + "/a.pctr"
        done = m.run("record", *LOCAL, "-p", "9s", "-e", "cycles", "-o", file, "--", "true")
        texts = [done.stderr, m.run("report", "--svg", file).stdout]
        texts.append(m.run("stat", *LOCAL, "-p", "9s", "-e", "cycles", "--", "true").stderr)
        for text in texts:
            check("1 sample" in text and "1 samples" not in text, text)


@test
def names_of_record():
    """report -e and diff -e take an event as record -e did, without its PMU"""
    with Machine(BUILD) as m:
        m.pmu("software", 1, {})
        m.perf("1 * * rate 1000000")
        file = m.root + "/a.pctr"
        m.run("record", *LOCAL, "-e", "task-clock,page-faults", "-o", file, "--", "sleep", "0.1")
        for words in ("report", "-e", "task-clock"), ("diff", "-e", "task-clock", file):
            done = m.run(*words, file)
            check(done.returncode == 0 and "task-clock" in done.stdout and
                  "page-faults" not in done.stdout, f"{words}: {done}")


@test
def check_without_software():
    """perfctr check: a kernel without perf events is no problem of permission"""
    with Machine(BUILD) as m:
        done = m.run("check")
        check(done.returncode == 1 and "permission" not in done.stdout and
              "names no PMU of perf" in done.stdout, done.stdout)
        m.pmu("cpu", 4, CYCLES)
        m.perf("4 * * rate 1000000")
        done = m.run("check")
        check(done.returncode == 0 and "may count everything" in done.stdout, done.stdout)
        m.pmu("software", 1, {})
        m.perf(f"1 * * err {errno.ENOSYS}")
        done = m.run("check")
        check(done.returncode == 1 and "permission" not in done.stdout and
              "there is no perf_event_open()" in done.stdout, done.stdout)


@test
def unsupported_events():
    """an event that perf refuses is <not supported> beside others, and an error alone"""
    for number in errno.ENOENT, errno.EOPNOTSUPP, errno.EINVAL:
        with Machine(BUILD) as m:
            m.pmu("cpu", 4, {**CYCLES, "events/stalled": "event=0xa9"})
            m.perf("4 60 * rate 5000", f"4 169 * err {number}")
            names = "cpu/stalled/,cpu/cpu-cycles/"
            done = stat(m, names, command=("sleep", "0.2"))
            check(done.returncode == 0 and "<not supported>" in done.stderr, done.stderr)
            done = stat(m, names, "-x,")
            check("<not supported>,,cpu/stalled/,0,100.00,,," in done.stderr, done.stderr)
            check(stat(m, names, command=("false",)).returncode == 1, "the command's status")
            c = counters(stat(m, names, "-j"))
            check(c["cpu/stalled/"]["state"] == "not supported" and
                  c["cpu/stalled/"]["value"] is None and c["cpu/cpu-cycles/"]["state"] == "ok", c)
            check(c["cpu/stalled/"]["running_percent"] is None, "nothing ran")
            c = counters(m.run("stat", "-d", "local", "-j", "-e", names, "--", "sleep", "0.1"))
            check(c["cpu/stalled/"]["state"] == "not supported", f"of a task: {c}")
            file = m.root + "/capture"
            done = m.run("record", *LOCAL, "-o", file, "-e", names, "--", "sleep", "0.2")
            check(done.returncode == 0, done.stderr)
            text = m.run("report", file).stdout
            check("not supported" in text, text)
            text = m.run("exporter", "-d", "local", "--once", "-p", "100", "-e",
                         names).stdout
            check("perfctr_not_measured{device=\"local\"} 1" in text and
                  "perfctr_cpu_stalled" not in text, text)
            text = m.run("top", "-d", "local", "--snapshot", "-I", "100", "-e", names)
            check(text.returncode == 0 and "stalled" in text.stdout, text)
            done = stat(m, "cpu/stalled/")
            check(done.returncode and "perf refuses cpu/stalled/" in done.stderr, done.stderr)
    with Machine(BUILD) as m:
        m.pmu("imc", 9, {"cpumask": "0,2", "format/event": "config:0-7", "events/a": "event=1",
                         "events/b": "event=2", "events/c": "event=3"})
        m.perf("9 1 * rate 1000", f"9 2 2 err {errno.EOPNOTSUPP}", "9 * * rate 3000")
        c = counters(stat(m, "imc/a/,imc/b/,imc/c/", "-j", command=("sleep", "0.2")))
        check(c["imc/b/"]["state"] == "not supported", c)
        ratio = c["imc/c/"]["value"] / c["imc/a/"]["value"]
        check(2.9 < ratio < 3.1, f"the group without b: {c}")


@test
def refused_cpus():
    """an event that some CPUs of its PMU refuse has no smaller sum, one of no CPU is an error"""
    for number in errno.ENOENT, errno.EINVAL:
        for files in {"cpumask": "0-3"}, {"cpus": "0-3"}, {}:
            with Machine(BUILD) as m:
                m.pmu("cpu", 4, CYCLES)
                m.pmu("other", 9, {"format/event": "config:0-7", "events/a": "event=1", **files})
                m.perf("4 * * rate 1000", f"9 1 2 err {number}", f"9 1 3 err {number}",
                       "9 * * rate 1000")
                c = counters(stat(m, "other/a/,cpu/cpu-cycles/", "-j"))
                row = c["other/a/"]
                check((row["state"], row["value"]) == ("not supported", None), f"{files}: {row}")
                refused(stat(m, "other/a/"), "other/a/")
    with Machine(BUILD) as m:
        m.pmu("cpu", 4, CYCLES)
        m.perf("4 * * rate 1000")
        for event in "cpu/cpu-cycles,cpu=77/", "cpu/cpu-cycles,cpu=77/,cpu/cpu-cycles/":
            refused(stat(m, event), "CPU 77 is not online")
            refused(m.run("stat", "-d", "local", "-e", event, "--", "true"), "CPU 77")
        m.put("/sys/devices/system/cpu/online", "")
        refused(stat(m, "cpu/cpu-cycles/"), "cpu/online")


@test
def limit_of_files():
    """events may take more files than the soft limit, the command keeps it"""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    def limit(soft, most):
        return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (soft, most))

    with Machine(BUILD) as m:
        m.put("/sys/devices/system/cpu/online", "0-199")
        m.pmu("cpu", 4, {"format/event": "config:0-7",
                         **{f"events/e{n}": f"event={n}" for n in range(1, 7)}})
        m.perf("4 * * rate 1000")
        words = "stat", *LOCAL, "-e", ",".join(f"cpu/e{n}/" for n in range(1, 7)), "--", "sh", \
            "-c", "ulimit -Sn"
        done = m.run(*words, preexec_fn=limit(256, hard))
        check(done.returncode == 0 and done.stdout == "256\n", f"{done.stdout}{done.stderr}")
        refused(m.run(*words, preexec_fn=limit(256, 1000)), "here 1200", "1000 open",
                "ulimit -n 1264", "hard limit")


@test
def programs_of_validate_keep_limits():
    """validate raises its limit of files; programs keep the caller's, and default signals"""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    with Machine(BUILD) as m:
        m.put("/sys/devices/system/cpu/online", "0-199")
        m.pmu("cpu", 4, {"format/event": "config:0-7",
                         **{f"events/e{n}": f"event={n}" for n in range(1, 7)}})
        m.perf("4 * * rate 1000")
        seen = os.path.join(m.root, "seen")
        m.put("/work.sh", f"ulimit -Sn >{seen}\ngrep SigIgn /proc/self/status >>{seen}")
        m.put("/campaign.json", json.dumps({
            "campaign": "limits", "device": "local",
            "events": [{"name": f"e{n}", "counter": f"cpu/e{n}/", "documented": ["n"]}
                       for n in range(1, 7)],
            "benchmarks": [{"name": "b", "command": f"run sh {m.root}/work.sh",
                            "parameters": {"N": [1]}, "quantities": {"n": "N"}}]}))
        done = m.run("validate", "--run-programs", m.root + "/campaign.json",
                     preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard)))
        check(os.path.exists(seen), done.stdout + done.stderr)
        check("not measured" not in done.stdout + done.stderr, done.stdout + done.stderr)
        with open(seen, encoding="ascii") as f:
            files, ignored = f.read().split("\n")[:2]
        check(files == "256", f"{files} files")
        check(not int(ignored.split()[1], 16) >> (signal.SIGXFSZ - 1) & 1, ignored)


@test
def perfkit_of_perf_events():
    """perfkit counts perf events without a GPU, which nothing need keep awake"""
    with Machine(BUILD) as m:
        m.pmu("cpu", 4, {**CYCLES, "events/instructions": "event=0xc0"})
        m.perf("4 60 * rate 1000000", "4 192 * rate 2000000")
        done = m.run("perfkit", "-d", "local", "-j", "-e", "cycles,instructions",
                     "--", "sleep", "0.2")
        check(done.returncode == 0, done.stderr)
        mean = {c["name"]: c["mean"]["number"] for c in json.loads(done.stdout)["counters"]}
        check(1.9 < mean["instructions"] / mean["cpu-cycles"] < 2.1, mean)


def with_power():
    """A machine with an energy in counts of 2^-32 J and a sensor below zero."""
    m = Machine(BUILD)
    m.pmu("power", 9, {"cpumask": "0", "format/event": "config:0-7",
                       "events/energy-pkg": "event=2", "events/energy-pkg.unit": "Joules",
                       "events/energy-pkg.scale": "2.3283064365386962890625e-10"})
    m.pmu("software", 1, {})
    m.perf("9 * * rate 42949672960", "1 * * rate 1000")
    m.put("/sys/class/hwmon/hwmon0/name", "outside")
    m.put("/sys/class/hwmon/hwmon0/temp1_input", "-5500")
    return m


@test
def perfkit_has_units():
    """perfkit prints values in the units of their events, and says that they are the machine's"""
    events = "power/energy-pkg/,hwmon/*:temp1_input/,task-clock"
    with with_power() as m:
        done = m.run("perfkit", "-d", "local", "-j", "-e", events, "--", "sleep", "0.3")
        check(done.returncode == 0, done.stderr)
        document = json.loads(done.stdout)
        check(document["whole_machine"] is True, document)
        energy, sensor, clock = document["counters"]
        check(energy["unit"] == "Joules", energy)
        check(2.9 < energy["mean"]["number"] < 20, energy)
        check(sensor["unit"] == "degC" and sensor["mean"]["numerator"] == -11 and
              sensor["mean"]["denominator"] == 2, sensor)
        check(clock["unit"] == "ns", clock)
        done = m.run("perfkit", "-d", "local", "-e", events, "--", "sleep", "0.3")
        check("of the whole machine" in done.stderr and "-5.500" in done.stderr, done.stderr)
        done = m.run("perfkit", "-d", "local", "-e", "power/energy-x/", "--", "true")
        check(done.returncode == 2 and 'energy-x' in done.stderr and "power" in done.stderr,
              done.stderr)


@test
def limits_of_scaled_events():
    """guard says what the counts of a limit are if they are no whole units"""
    with with_power() as m:
        for limit in "1", "1G/s":
            done = m.run("guard", "-b", f"device=local event=power/energy-pkg/ limit={limit} "
                         "window=100ms action=report allow_untrusted=yes", "--", "sleep", "0.3")
            check("2.328306437e-10 J" in done.stderr, done.stdout + done.stderr)
        done = m.run("guard", "-b", "device=local event=context-switches limit=1G window=100ms "
                     "action=report allow_untrusted=yes", "--", "sleep", "0.1")
        check("each of which" not in done.stderr, done.stderr)


@test
def validate_without_permission():
    """validate names the permission that the machine's own campaign lacks, not another device"""
    with Machine(BUILD) as m:
        m.pmu("software", 1, {})
        m.perf("1 2 * err 2", "1 * * err 13")
        done = m.run("validate")
        check(done.returncode == 3, f"{done.returncode}: {done.stderr}")
        check("cpu: perf events" in done.stderr and "Permission denied" in done.stderr,
              done.stderr)


@test
def engines_of_i915():
    """the engine time of i915's PMU is a share, as that of DRM clients"""
    with Machine(BUILD) as m:
        m.pmu("i915", 9, {"cpumask": "0", "format/i915_eventid": "config:0-20",
                          "events/rcs0-busy": "config=0x0", "events/rcs0-busy.unit": "ns"})
        m.perf("9 * * rate 500000000")
        done = stat(m, "i915/rcs0-busy/", command=("sleep", "0.3"))
        check(re.search(r"rcs0-busy/ +(49|50)\.\d* %", done.stderr), done.stdout + done.stderr)


@test
def separators_as_perf():
    """-x '\\t' separates by tabs; -C counts on some CPUs"""
    with Machine(BUILD) as m:
        m.pmu("cpu", 4, CYCLES)
        m.pmu("imc", 9, {"cpumask": "0", "format/event": "config:0-7", "events/rd": "event=1"})
        m.perf(*(f"4 * {cpu} rate {10 ** cpu * 1000000}" for cpu in range(4)),
               "9 * * rate 1000", "4 * -1 rate 1000")
        done = stat(m, "cycles", "-x", "\\t")
        check("\\t" not in done.stdout + done.stderr and "\t" in done.stdout + done.stderr,
              done.stdout + done.stderr)
        c = counters(stat(m, "cycles,imc/rd/", "-j", "-C", "1-2", command=("sleep", "0.2")))
        check(1.09e8 < c["cpu/cpu-cycles/"]["rate"] < 1.11e8, f"{c}")
        check(900 < c["imc/rd/"]["rate"] < 1100, f"a PMU with a cpumask: {c}")
        c = counters(stat(m, "cycles", "-j", "-A", "-C", "1-2", command=("sleep", "0.2")))
        check(list(c) == [f"cpu/cpu-cycles,cpu={cpu}/" for cpu in (1, 2)], list(c))
        done = m.run("stat", "-C", "9", "--", "true")
        check(done.returncode == 2 and "CPU 9 is not online" in done.stderr, done.stderr)


@test
def apart_by_cpu():
    """-A has a line for each CPU that an event is counted on"""
    with Machine(BUILD) as m:
        m.pmu("cpu", 4, CYCLES)
        m.pmu("imc", 9, {"cpumask": "0,2", "format/event": "config:0-7", "events/rd": "event=1"})
        m.pmu("one", 8, {"cpumask": "0", "format/event": "config:0-7", "events/rd": "event=1"})
        m.perf(*(f"4 * {cpu} rate {(cpu + 1) * 1000000}" for cpu in range(4)),
               "9 * * rate 1000", "8 * * rate 1000", "4 * -1 rate 1000")
        c = counters(stat(m, "cycles:u,imc/rd/,one/rd/", "-j", "-A", command=("sleep", "0.2")))
        check(list(c) == [f"cpu/cpu-cycles,cpu={cpu}/u" for cpu in range(4)] +
              ["imc/rd,cpu=0/", "imc/rd,cpu=2/", "one/rd/"], list(c))
        ratio = c["cpu/cpu-cycles,cpu=3/u"]["value"] / c["cpu/cpu-cycles,cpu=0/u"]["value"]
        check(3.9 < ratio < 4.1, f"CPU 3 counts four times as fast: {ratio}")
        c = counters(m.run("stat", "-d", "local", "-A", "-j", "-e", "cycles", "--", "true"))
        check(list(c) == ["cpu/cpu-cycles/"], f"a task has no CPUs: {list(c)}")


@test
def long_names():
    """events whose texts differ only far behind are told apart everywhere"""
    terms = ",".join(f"field_with_a_long_name{n}=1" for n in range(8))
    names = [f"cpu/{terms},last={n}/" for n in (1, 2)]
    with Machine(BUILD) as m:
        m.pmu("cpu", 4, {**{f"format/field_with_a_long_name{n}": f"config:{n}" for n in range(8)},
                         "format/last": "config:8-15"})
        m.perf("4 0x1ff * rate 1000", "4 * * rate 9000")
        check(list(counters(stat(m, ",".join(names), "-j"))) == names, "stat")
        check(all(name in stat(m, ",".join(names)).stderr for name in names), "text of stat")
        file = m.root + "/capture"
        m.run("record", *LOCAL, "-o", file, "-e", ",".join(names), "--", "sleep", "0.2")
        rows = json.loads(m.run("report", "--json", file).stdout)["counters"]
        check([row["event"] for row in rows] == names, rows)
        text = m.run("export", "-f", "csv", file).stdout
        check(all(name in text for name in names), text[:2000])


@test
def equal_names():
    """events and PMUs that would have the same name are told apart, or refused"""
    with Machine(BUILD) as m:
        m.pmu("cpu", 4, {"format/event": "config:0-7", "events/instructions": "event=0xc0"})
        first = "pmu_of_a_very_long_name_on_socket_"
        for n in 0, 1:
            m.pmu(f"{first}{n}", 20 + n, {"cpumask": "0", "format/event": "config:0-7",
                                          "events/rd": "event=1"})
        m.perf("4 * * rate 1000", "20 * * rate 1000000", "21 * * rate 5000000")
        c = counters(stat(m, f"{first}*/rd/", "-j", command=("sleep", "0.2")))
        check([name[-7:] for name in c] == ["~20/rd/", "~21/rd/"], list(c))
        ratio = c[list(c)[1]]["value"] / c[list(c)[0]]["value"]
        check(4.9 < ratio < 5.1, f"the second counts five times as fast: {ratio}")
        for events in ("cpu/event=1,name=foo/,cpu/event=2,name=foo/",
                       "cpu/event=1,name=instructions/,instructions",
                       "instructions,cpu/event=1,name=instructions/"):
            refused(stat(m, events), "another event has this name")
        events = "cpu/event=1,name=foo/,cpu/event=1,name=bar/,cpu/event=1,name=foo/u"
        check(len(counters(stat(m, events, "-j"))) == 3, "three names")


@test
def unreadable_events():
    """a pattern has the events of the list, without those that sysfs describes wrongly"""
    with Machine(BUILD) as m:
        m.pmu("odd", 9, {"format/event": "config:0-7", "events/good": "event=1",
                         "events/field": "nothing=1", "events/wide": "event=0x100",
                         "events/scaled": "event=2", "events/scaled.scale": "1,5",
                         "events/unit": "event=3", "events/unit.unit": "u" * 200})
        m.perf("9 * * rate 1000")
        listed = m.run("list", "-d", "local").stdout
        check([line.strip() for line in listed.splitlines()[1:]] == ["odd/good/"], listed)
        check(list(counters(stat(m, "odd/*/", "-j"))) == ["odd/good/"], "the pattern")
        refused(stat(m, "odd/field/"), "odd/field/ is \"nothing=1\" by sysfs")
        refused(stat(m, "odd/[fw]*/"), "odd has no counter or event")


@test
def suggestions():
    """an error names an event that can be written that way, and never the text itself"""
    with Machine(BUILD) as m:
        m.pmu("msr", 6, {"format/event": "config:0-63", "events/tsc": "event=0x00"})
        m.pmu("odd", 7, {"events/tsc": "event=0x00"})
        m.perf("6 * * rate 1")
        refused(stat(m, "tsc"), "did you mean msr/tsc/;")
        refused(stat(m, "msr/tsx/"), "did you mean tsc;")
        refused(stat(m, "msr"), "did you mean msr/*/;")
        refused(stat(m, "mrs"), "did you mean msr/*/;")
        refused(stat(m, "mrs/tsc/"), "did you mean msr;")
        refused(stat(m, "odd/tsc/"), "odd/tsc/ is \"event=0x00\" by sysfs",
                "no event or field \"event\"")


@test
def metrics_as_text():
    """a metric has the same value, least, mean and greatest in tables as in JSON"""
    with Machine(BUILD) as m:
        m.pmu("nvidia_cmem_latency_pmu_0", 40, {"cpumask": "0", "format/event": "config:0-15"})
        m.perf("40 0 * rate 1000000000", "40 1 * rate 20", "40 2 * rate 1000")
        events = "metric:cmem_read_latency,metric:cmem_read_bandwidth,cmem_latency/rd_req/"
        # two runs, but the machine's rates do not change
        text = stat(m, events, command=("sleep", "0.6")).stderr
        found = json.loads(stat(m, events, "-j", command=("sleep", "0.6")).stdout)
        for metric in found["metrics"]:
            line, = (words.split() for words in text.splitlines() if metric["metric"] in words)
            numbers = [float(word.replace(",", "")) for word in line if word[0].isdigit()]
            truth = [metric[k] for k in ("value", "min", "mean", "max")]
            check(len(numbers) == 4 and all(0.2 < a / b < 5 for a, b in zip(numbers, truth)),
                  f"{line}: {truth}")
            check(abs(metric["mean"] / metric["value"] - 1) < 0.3, f"{metric}")
        rate, = (32 * c["mean_rate"] for c in found["counters"] if "rd_req" in c["event"])
        bandwidth, = (c["mean"] for c in found["metrics"] if "bandwidth" in c["metric"])
        check(abs(bandwidth / rate - 1) < 1e-9, f"two means of the same: {bandwidth} {rate}")
        capture = m.root + "/capture"
        done = m.run("record", "-d", "local", "-p", "100ms", "-o", capture, "-e", events, "--",
                     "sleep", "0.6")
        check(done.returncode == 0, done.stderr)
        for line in m.run("report", capture).stdout.splitlines():
            if "latency" in line and " ns " in line:
                numbers = [float(w) for w in line.split() if w[0].isdigit()]
                check(all(0.2 < n / numbers[0] < 5 for n in numbers) and len(numbers) == 3,
                      line)
                break
        else:
            check(False, "report has no latency")


def screen(m, columns, *words, **options):
    """Lines of perfctr on a terminal with that many columns."""
    return harness.lines_in_columns(columns, m.perfctr, *words, env=m.environment(), **options)


def with_small_rates():
    """A machine whose events have long and short names, and rates from 0.0008 to 1,000,000."""
    m = Machine(BUILD)
    m.pmu("uncore_imc", 40, {"cpumask": "0", "format/event": "config:0-7",
                             "events/joules": "event=1", "events/joules.unit": "J",
                             "events/joules.scale": "0.0000000012345",
                             "events/bytes-of-all-channels": "event=2"})
    m.perf("40 0x1 * rate 654321", "40 0x2 * rate 1234567")
    return m


EVENTS = "uncore_imc/joules/,uncore_imc/bytes-of-all-channels/"


@test
def numbers_stand_below_each_other():
    """stat: small rates move no column, with -I either"""
    with with_small_rates() as m:
        words = "stat", *LOCAL, "-e", EVENTS
        lines = screen(m, 200, *words, "--", "sleep", "0.6", errors=True)
        head, *rows = [line for line in lines if "uncore_imc/" in line or " rate" in line]
        check(len(rows) == 2 and re.search(r"0\.000\d+ /s", rows[0]), f"{lines}")
        for row in rows:
            check(row.index("/s") == head.index("rate") + 4, f"rate:\n{head}\n{row}")
            check(len(row) == head.index("/s", head.index("max")), f"range:\n{head}\n{row}")
        lines = screen(m, 200, *words, "-I", "100", "--", "sleep", "0.3", errors=True)
        places = {line.index("  # ") for line in lines if "  # " in line}
        check(len(places) == 1, f"{places}: {lines}")


@test
def lines_fit_the_terminal():
    """stat, check, info and list: no line is longer than a terminal of 40 columns, no number is
    cut, and a name that has no room stands on a line of its own"""
    with with_small_rates() as m:
        m.put("/proc/sys/kernel/perf_event_paranoid", "-1")
        count = "stat", *LOCAL, "-e", EVENTS
        for columns in 40, 60, 80, 120:
            for words in count, (*count, "-I", "100"), ("check", "-d", "local"), \
                    ("info", "-d", "local"), ("list", "-d", "local"):
                is_stat = words[0] == "stat"
                lines = screen(m, columns, *words, *(["--", "sleep", "0.3"] if is_stat else ()),
                               errors=is_stat, status=int(words[0] == "check"))
                for line in lines:
                    check(len(line.rstrip()) <= columns or "fix:" in line,
                          f"{words}: {len(line)} of {columns}: '{line}'")
                if not is_stat:
                    wide = m.run(*words).stdout
                    same = [w for w in wide.split() if not w[0].isdigit()]
                    check([w for w in " ".join(lines).split() if not w[0].isdigit()] == same,
                          f"{words}: {lines} {wide}")
                elif columns == 40:
                    check(sum(line.strip() in EVENTS for line in lines if line.strip()) >= 2 and
                          any(re.search(r"\d[\d,]{5,}  ", line) for line in lines), f"{lines}")
        pmu, = (line for line in screen(m, 40, "info", "-d", "local") if "   any perf PMU" in line)
        periodic, = (line for line in screen(m, 40, "info", "-d", "local") if "periodic s" in line)
        check(pmu.index("any") == periodic.index("periodic s"), f"{pmu} {periodic}")


@test
def keys_of_json():
    """each event of the list has the same keys, and each document a version"""
    with with_fabric() as m:
        m.pmu("msr", 6, {"format/event": "config:0-63", "events/tsc": "event=0x00"})
        m.put("/sys/class/hwmon/hwmon0/name", "acpi")
        m.put("/sys/class/hwmon/hwmon0/temp1_input", "30000")
        found = json.loads(m.run("list", "-d", "local", "-j").stdout)
        kinds = {(e["product"], e["id"] is None) for e in found["events"]}
        check({("perf_pmu", True), ("tegra410", False)} <= kinds, f"{kinds}")
        keys = {frozenset(e) for e in found["events"]}
        check(len(keys) == 1, f"{keys}")
        for words in ("list", "-d", "local"), ("info", "-d", "local"), ("check", "-d", "local"), \
                ("top", "-d", "local", "--snapshot", "-e", "ucf0/cycles/"):
            done = m.run(*words, "-j")
            check(json.loads(done.stdout)["version"] == 1, f"{words}: {done}")


@test
def start_of_a_command():
    """stat opens each default event of a command once: it costs more to ask than to count"""
    with Machine(BUILD) as m:
        m.pmu("software", 1, {})
        m.perf("1 * * rate 1000")
        check(m.run("stat", "-d", "local", "--", "true").returncode == 0, "stat")
        events = [line.split(" config ")[1].split()[0] for line in m.calls()]
        check(sorted(events) == ["0x1", "0x2", "0x3"], m.calls())


@test
def commands_that_never_ran():
    """a command that cannot be executed was not counted: no format shows a value"""
    with Machine(BUILD) as m:
        m.pmu("cpu", 4, CYCLES)
        m.perf("4 60 * rate 5000")
        for command, status in ("nonexistent", 127), ("/etc/passwd", 126):
            for options in (), ("-x,",), ("-r", "3", "-x,"), ("-j",), ("--jsonl",):
                done = stat(m, "cpu/cpu-cycles/", *options, command=(command,))
                check(done.returncode == status and command in done.stderr, done)
                check("cpu-cycles" not in done.stdout + done.stderr, f"{options}: {done}")
                if "-j" in options:
                    check(json.loads(done.stdout)["exit_status"] == status, done.stdout)


sys.exit(harness.main())
