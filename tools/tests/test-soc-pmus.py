#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: test-soc-pmus.py BUILD KERNEL: the command on a made-up Grace, whose sysfs is what the
driver's source in the folder KERNEL says. Prints TAP; no device."""

import json
import re
import sys

import harness
from harness import check, test
from machine import Machine

BUILD, KERNEL = sys.argv[1:]
DRIVER = "drivers/perf/arm_cspmu/nvidia_cspmu.c"
CYCLES = 1 << 32  # ARM_CSPMU_EVT_CYCLES_DEFAULT
NVIDIA = 0x36b
# the driver's kinds with a catalogue: {name without socket: type name in perfctr}
GRACE = {"nvidia_scf_pmu_": "scf", "nvidia_pcie_pmu_": "grace_pcie",
         "nvidia_nvlink_c2c0_pmu_": "nvlink_c2c0", "nvidia_nvlink_c2c1_pmu_": "nvlink_c2c1",
         "nvidia_cnvlink_pmu_": "cnvlink"}
VERA = {"nvidia_ucf_pmu_": "ucf", "nvidia_pcie_pmu_0_rc_": "pcie",
        "nvidia_pcie_tgt_pmu_0_rc_": "pcie_tgt"}
RATE = 1000000


class Kind:
    """A PMU as the driver describes it: name in sysfs, identifier, events, formats."""

    def __init__(self, text, match):
        field = lambda name: re.search(rf"\.{name} = \"?([\w%]+)", match)[1]
        number = int(field("prodid"), 0)
        self.name = re.sub(r"^(.*?)%u(?:_rc_%u)?$", r"\1", field("name_pattern"))
        if "_rc_" in field("name_pattern"):
            self.name += "0_rc_"
        self.identifier = f"{number | NVIDIA:x}"
        events, formats = (re.search(rf"\*{field(a)}\[\] = \{{(.*?)NULL", text, re.S)[1]
                           for a in ("event_attr", "format_attr"))
        self.events = {}
        for four, name, suffix, value in re.findall(
                r"EVENT_ATTR(_4)?\((\w+),\s*(?:(\w+),\s*)?(\w+)\)", events):
            value = {"ARM_CSPMU_EVT_CYCLES_DEFAULT": hex(CYCLES),
                     "NV_PCIE_TGT_EV_TYPE_CC": "0x4"}.get(value, value)
            for n in range(4 if four else 1):
                self.events[f"{name}_{n}_{suffix}" if four else name] = int(value, 0) + n
        self.formats = dict(re.findall(r"FORMAT_ATTR\((\w+), \"([\w:-]+)\"", formats))
        self.formats.setdefault("event", "config:0-32")


def kinds():
    with open(f"{KERNEL}/{DRIVER}", encoding="utf-8") as f:
        text = f.read()
    table = text[text.index("nv_cspmu_match nv_cspmu_match[] = {"):]
    found = [Kind(text, m) for m in re.findall(r"\{\s*\.prodid = 0x.*?\n\t\},", table, re.S)]
    return {kind.name: kind for kind in found}


KINDS = kinds()


def with_kinds(wanted, sockets=(0, 1)):
    """A machine with a PMU of each kind on each socket; each event counts at its own rate."""
    m, rows = Machine(BUILD), []
    for base, name in enumerate(wanted, 2):
        for socket in sockets:
            add(m, name + str(socket), 10 * base + socket, KINDS[name])
            rows += [f"{10 * base + socket} {number:#x} * rate {rate(number, socket)}"
                     for number in KINDS[name].events.values()]
    m.perf(*rows)
    return m


def rate(number, socket):
    return RATE * (1 + number % 97 + socket)


def add(m, name, number, kind, identifier=True):
    m.pmu(name, number, {"cpumask": "0", **({"identifier": kind.identifier} if identifier else {}),
                         **{f"format/{f}": bits for f, bits in kind.formats.items()},
                         **{f"events/{e}": f"event={n:#x}" for e, n in kind.events.items()}})


def listed(m):
    """Events of the list by text."""
    done = m.run("list", "-d", "local", "-j")
    check(done.returncode == 0, done.stderr)
    document = json.loads(done.stdout)
    return {e["event"]: e for e in document["events"]}, document["metrics"]


def label(kind, socket):
    separator = "_" if kind[-1].isdigit() else "_rc" if kind.startswith("pcie") else ""
    return f"{kind}0_rc{socket}" if separator == "_rc" else f"{kind}{separator}{socket}"


def check_names(wanted):
    with with_kinds(wanted) as m:
        events, _ = listed(m)
        for name, kind in wanted.items():
            for socket in 0, 1:
                for event in KINDS[name].events:
                    row = events.get(f"{label(kind, socket)}/{event}/")
                    check(row and row["name"] == event, f"{name}{socket}/{event}/: {row}")
                    check(row["id"] and row["id"].endswith(f".{kind}.{event}"), row)
                    check(row["unit"] and row["short"], row)


@test
def driver_was_read():
    """the driver has a PMU of each kind that the database describes"""
    check(set(GRACE) | set(VERA) == set(KINDS), f"{set(KINDS)}")
    check(len(KINDS["nvidia_scf_pmu_"].events) == 54, KINDS["nvidia_scf_pmu_"].events)


@test
def names_of_grace():
    """each event of Grace's PMUs has its name, text and unit"""
    check_names(GRACE)


@test
def names_of_tegra410():
    """and each of those of Tegra410's PMUs that the driver counts"""
    check_names(VERA)


def stat(m, events, *options):
    return m.run("stat", "-d", "local", "-a", *options, "-e", events, "--", "sleep", "0.2")


@test
def filters_of_grace():
    """a filter sets the driver's bits, and a value that does not fit them is refused"""
    for name, kind in GRACE.items():
        (term, bits), = ((t, b) for t, b in KINDS[name].formats.items() if t != "event") \
            if len(KINDS[name].formats) > 1 else [("", "")]
        if not term:
            continue
        low, high = map(int, re.fullmatch(r"config1:(\d+)-(\d+)", bits).groups())
        with with_kinds({name: kind}, sockets=(0,)) as m:
            value = (1 << (high - low + 1)) - 2
            m.perf(f"20 0x0/{value << low:#x} * rate 1000")
            done = stat(m, f"{label(kind, 0)}/rd_bytes_loc,{term}={value:#x}/", "-j")
            check(done.returncode == 0, done.stderr)
            row, = json.loads(done.stdout)["counters"]
            check(row["value"] and row["unit"] == "bytes" and f"{term}={value:#x}" in row["event"],
                  row)
            done = stat(m, f"{label(kind, 0)}/rd_bytes_loc,{term}={2 << (high - low):#x}/")
            check(done.returncode and "does not fit" in done.stderr, done.stderr)


@test
def a_group_has_one_filter():
    """events with different filters share no group: in one, the driver counts an event of PCIE
    without a device as those of its leader's"""
    pmu = "nvidia_pcie_pmu_0_rc_"
    device = "src_bdf=0x0108,src_bdf_en=1"
    with with_kinds({pmu: "pcie"}, sockets=(0,)) as m:
        m.perf("20 * * rate 1000")
        done = stat(m, f"pcie0_rc0/rd_req,{device}/,pcie0_rc0/rd_bytes/,pcie0_rc0/wr_req/,"
                       f"pcie0_rc0/rd_cum_outs,{device}/,pcie0_rc0/wr_bytes,{device},dst_rem=1/")
        check(done.returncode == 0, done.stderr)
        filters, members = {}, 0
        for line in m.calls():
            own, group, fd = re.search(r"(config1.*) pid.* group (\S+).* -> (\d+)", line).groups()
            check(group == "-1" or filters[group] == own, "\n".join(m.calls()))
            filters[fd] = own
            members += group != "-1"
        check(members, "\n".join(m.calls()))


def metric(found, name):
    return next(m["value"] for m in found if m["metric"] == f"metric:{name}")


@test
def metrics_of_grace():
    """metrics of Grace's PMUs are what their events make, over both sockets"""
    with with_kinds(GRACE) as m:
        def sums(pmu, *events):
            numbers = [KINDS[pmu].events[e] for e in events]
            return sum(rate(n, socket) for n in numbers for socket in (0, 1))

        def close(name, truth):
            check(abs(metric(found, name) / truth - 1) < 0.01, f"{name}: {found}, not {truth}")

        done = stat(m, ",".join(f"metric:{kind}.*" for kind in GRACE.values()), "-j")
        check(done.returncode == 0, done.stderr)
        found = json.loads(done.stdout)["metrics"]
        scf = "nvidia_scf_pmu_"
        cycles = sums(scf, "cycles") / 2
        close("scf.frequency", cycles)
        for place, metrics in ("cmem", "mem"), ("gmem", "gmem"), ("remote_socket", "remote"):
            close(f"scf.{metrics}_read_bandwidth", 32 * sums(scf, f"{place}_rd_data"))
            close(f"scf.{metrics}_write_bandwidth", sums(scf, f"{place}_wr_total_bytes"))
            latency = sums(scf, f"{place}_rd_outstanding") / sums(scf, f"{place}_rd_access")
            close(f"scf.{metrics}_read_latency_cycles", latency)
            close(f"scf.{metrics}_read_latency", latency / cycles * 1e9)
            close(f"scf.{metrics}_read_in_flight", sums(scf, f"{place}_rd_outstanding") / cycles)
        for pmu, kind in GRACE.items():
            if pmu == scf:
                continue
            both = lambda name: sums(pmu, f"{name}_loc", f"{name}_rem")
            cycles = sums(pmu, "cycles") / 2
            close(f"{kind}.read_bandwidth", both("rd_bytes"))
            close(f"{kind}.write_bandwidth", both("wr_bytes"))
            close(f"{kind}.read_latency_cycles", both("rd_cum_outs") / both("rd_req"))
            close(f"{kind}.read_latency", both("rd_cum_outs") / both("rd_req") / cycles * 1e9)
            close(f"{kind}.read_in_flight", both("rd_cum_outs") / cycles)
            close(f"{kind}.read_request_rate", both("rd_req") / cycles / 2)
            close(f"{kind}.write_request_rate", both("wr_req") / cycles / 2)
        _, metrics = listed(m)
        check(len(metrics) == len(found) == 16 + 4 * 7, f"{len(metrics)} {len(found)}")


@test
def commands_on_grace():
    """check, info and top take Grace's PMUs for what they are"""
    with with_kinds(GRACE) as m:
        for words in ("check", "-d", "local"), ("info", "-d", "local"):
            done = m.run(*words)
            check(done.returncode == 0, f"{words}: {done.stdout}{done.stderr}")
        check("software events only" not in m.run("check", "-d", "local").stdout, "check")
        done = m.run("top", "-d", "local", "--snapshot", "-e", "grace_pcie1/*/")
        check("- grace_pcie1 (15)" in done.stdout and "Mbytes/s" in done.stdout, done.stdout)


@test
def drivers_of_the_fabric():
    """check says which devices of the fabric's PMUs have no driver, and what that driver is"""
    place = "/sys/bus/platform/devices/"
    with with_kinds(GRACE) as m:
        check(" fabric " not in m.run("check", "-d", "local").stdout, "a fabric without devices")
        for name in "arm-cs-arch-pmu.0", "arm-cs-arch-pmu.1", "NVDA2021:00":
            m.link(f"{place}{name}/driver", "/")
        for name in "arm-cs-arch-pmu.2", "NVDA2020:00", "NVDA2023:00", "NVDA2024:00", "serial8250":
            m.put(f"{place}{name}/uevent", "")
        done = m.run("check", "-d", "local")
        check(done.returncode == 0, done.stderr)
        lines = [line.split(None, 2)[2] for line in done.stdout.splitlines()
                 if line.split()[1:2] == ["fabric"]]
        for start, count in zip(lines, ("2 CoreSight", "1 CoreSight", "1 CMEM", "2 C2C"),
                                strict=True):
            check(start.startswith(count), lines)
        check(["without" in line for line in lines] == [False, True, False, True], lines)
        check("sudo modprobe nvidia_t410_c2c_pmu" in done.stdout and
              "NVIDIA_TEGRA410_C2C_PMU" in lines[3], done.stdout)


def is_generic(m, pmu):
    events, metrics = listed(m)
    own = {text: row for text, row in events.items() if text.startswith(f"{pmu}/")}
    return len(own) > 4 and not metrics and all(row["id"] is None and not row["unit"]
                                                for row in own.values())


@test
def never_guessed():
    """a PMU whose name, identifier and events contradict each other has no names of ours"""
    grace, vera = KINDS["nvidia_pcie_pmu_"], KINDS["nvidia_pcie_pmu_0_rc_"]
    for name, kind, shown in (
            # Tegra410 as kernels before 7.1 show it: the name and the events of Grace
            ("nvidia_pcie_pmu_0", grace, vera.identifier),
            ("nvidia_scf_pmu_0", KINDS["nvidia_scf_pmu_"], KINDS["nvidia_ucf_pmu_"].identifier),
            # no identifier: the events decide
            ("nvidia_pcie_pmu_0", vera, None), ("nvidia_pcie_pmu_0_rc_3", grace, None),
            # neither of the names
            ("nvidia_pcie_pmu_0_3", grace, grace.identifier),
            ("nvidia_uncore_pmu_0", grace, grace.identifier)):
        with Machine(BUILD) as m:
            add(m, name, 20, kind, identifier=False)
            if shown:
                m.put(f"/sys/bus/event_source/devices/{name}/identifier", shown)
            m.perf("20 0 * rate 1000")
            check(is_generic(m, name), f"{name} {shown}: {listed(m)[0].keys()}")
            done = stat(m, f"{name}/event=0/", "-j")
            check(done.returncode == 0 and json.loads(done.stdout)["counters"][0]["value"],
                  f"{name}: it counts by number: {done.stderr}")
    for name, kind, text in (("nvidia_pcie_pmu_0", grace, "grace_pcie0/rd_bytes_rem/"),
                             ("nvidia_pcie_pmu_0_rc_3", vera, "pcie0_rc3/wr_bytes/")):
        with Machine(BUILD) as m:
            add(m, name, 20, kind, identifier=False)
            check(listed(m)[0][text]["id"], f"{name} without an identifier")


harness.main()
