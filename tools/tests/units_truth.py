# SPDX-License-Identifier: MIT
"""Expected metrics and units of perfkit, computed from the truth of the virtual SoC.

By the definitions in docs/perfkit.md and in the database's texts, not by their formulas. A
counter's ratio is its share of its clock's cycles. A unit's SOL is the share in which it was busy,
its Bottleneck the share in which it was busy without waiting."""

import fractions
import json
import subprocess

# NVPerfKit's names of units, and the prefixes of their counters
NV50_UNITS = {"IDX": "input_assembler", "GEOM": "geom", "SHD": "shader", "TEX": "texture",
              "ROP": "rop"}
# block, busy, waits
CSF_UNITS = {
    "CS": ("cshw", "CS_ACTIVE", ("CS_WAIT",)),
    "TILER": ("tiler", "TILER_ACTIVE", ("TILER_STALL",)),
    "SHD": ("shader", "EXEC_ACTIVE", ()),
    "L2": ("memsys", "L2_ACTIVE", ("EXT_READ_STALL", "EXT_WRITE_STALL")),
}
PERCENT = 100


def frequencies(node, truth_path):
    """{PCOUNTER counter: Hz of its domain's clock}"""
    done = subprocess.run(("perfctr", "info", "--json", "-d", node), stdout=subprocess.PIPE,
                          check=True)
    device, = json.loads(done.stdout)["devices"]
    clocks = {c["clock"]: c["frequency_hz"] for c in device["clocks"]}
    domains = {b["index"]: clocks[b["clock"]] for b in device["blocks"] if b["type"] == "pcounter"}
    with open(truth_path, encoding="ascii") as f:
        return {name: domains[int(index)] for kind, index, _, name,
                _ in map(str.split, f) if kind == "PCOUNTER"}


def share(part, *others):
    return PERCENT * fractions.Fraction(part, sum((part, *others)))


def nv50_metrics(pm, mp):
    """{metric: its value, computed as its text in the database defines it}"""
    return {
        "mp.branch_efficiency": lambda: share(mp("branch"), mp("divergent_branch")),
        "mp.branch_rate": lambda: fractions.Fraction(mp("branch"), mp("instructions")),
        "mp.instructions_per_cta": lambda: fractions.Fraction(mp("instructions"),
                                                              mp("sm_cta_launched")),
        "pcounter.shaded_pixel_count": lambda: sum(pm(f"shaded_pixel_count_{n}") for n in range(3)),
        "pcounter.rasterizer_pixels_out_count": lambda: fractions.Fraction(
            pm("rasterizer_pixels_out_count_1"), pm("rasterizer_pixels_out_count_0")),
        "pcounter.rop_samples_in_count": lambda: fractions.Fraction(
            pm("rop_samples_in_count_1"), pm("rop_samples_in_count_0")),
        "pcounter.zcull_kill_rate": lambda: PERCENT * fractions.Fraction(
            pm("rasterizer_tiles_killed_by_zcull_count"), pm("rasterizer_tiles_in_count")),
        "pcounter.setup_cull_rate": lambda: PERCENT * fractions.Fraction(
            pm("setup_primitive_culled_count"), pm("setup_primitive_count")),
        "pcounter.texture_sample_base_level_rate": lambda: PERCENT * fractions.Fraction(
            pm("texture_sample_base_level_count"), pm("texture_sample_count")),
        "pcounter.rop_earlyz_kill_rate": lambda: PERCENT * fractions.Fraction(
            pm("rop_samples_killed_by_earlyz_count"),
            pm("rop_samples_in_count_1") + pm("rop_samples_killed_by_earlyz_count")),
    }


class Result:
    """The JSON document, and the truth of each counter's pass."""

    def __init__(self, result, truth_of, clocks):
        self.counters = {c["name"]: c for c in result["counters"]}
        self.truth_of = truth_of
        self.clocks = clocks

    def truth(self, block, name):
        c = self.counters[f"{block}/{name}"]
        return fractions.Fraction(self.truth_of(c)[block, name])

    def exact(self, name, key="mean"):
        value = self.counters[name][key]
        return fractions.Fraction(int(value["numerator"]), int(value["denominator"]))

    def value(self, block, name):
        """The truth; for gpu_idle, which counts while the truth is read, cycles - gpu_busy."""
        if name == "gpu_idle":
            busy = self.truth_of(self.counters["pcounter/gpu_idle"])["pcounter", "gpu_busy"]
            return self.cycles(block, name) - busy
        return self.truth(block, name)

    def cycles(self, block, name):
        return self.exact(f"{block}/{name}", "cycles")

    def ratio(self, name, other):
        """Of the frequencies of their clocks; 1 on a Mali GPU, where both are in one block."""
        return fractions.Fraction(self.clocks[name], self.clocks[other]) if self.clocks else 1

    def unit(self, block, busy, waits, kind):
        cycles = self.cycles(block, busy)
        amount = self.truth(block, busy)
        if kind == "bottleneck":
            amount = max(0, amount - sum(self.truth(block, w) * self.ratio(busy, w) for w in waits))
        return PERCENT * amount / cycles


def expected_unit(r, name, kind, is_nv50):
    unit = name.split()[0]
    if not is_nv50:
        return r.unit(*CSF_UNITS[unit], kind)
    prefix = NV50_UNITS[unit]
    waits = [n.split("/")[1] for n in r.counters if n.startswith(f"pcounter/{prefix}_waits_for_")]
    return r.unit("pcounter", f"{prefix}_busy", waits, kind)


def expected_metric(r, name):
    """The metric's value; None if it is no metric of nv50."""
    block, metric = name.split(".")
    if block not in ("pcounter", "mp"):
        return None
    counter = metric.removesuffix("_ratio")
    if counter != metric:
        return PERCENT * r.value(block, counter) / r.cycles(block, counter)
    try:
        return nv50_metrics(lambda n: r.truth("pcounter", n), lambda n: r.truth("mp", n))[name]()
    except ZeroDivisionError:
        return "no value"


def check_bottleneck(r, result):
    """The unit that was busy without waiting for the longest time is named."""
    times = {}
    for name, c in r.counters.items():
        if c["kind"] != "bottleneck":
            continue
        times[name] = r.exact(name, "time_ns")
        if r.clocks:
            busy = f"{NV50_UNITS[name.split()[0]]}_busy"
            cycles = r.exact(name) * r.exact(name, "cycles") / PERCENT
            if times[name] != cycles * 10**9 / r.clocks[busy]:
                return [f"{name} is {cycles} cycles, but {times[name]} ns"]
    longest = max(times, key=times.get)
    return [] if result[
        "bottleneck"] == longest else [
            f"{result['bottleneck']} is named, but {longest} took longest"]


def problems(result, truth_of, clocks=None):
    """Differences from the truth. truth_of(JSON counter) is the truth of its first pass; clocks:
    from frequencies()."""
    r = Result(result, truth_of, clocks)
    is_nv50 = "pcounter/gpu_idle" in r.counters
    found = []
    compared = {"metric": 0, "sol": 0, "bottleneck": 0}
    if is_nv50 and r.exact("pcounter/gpu_idle") != r.value("pcounter", "gpu_idle"):
        found.append("gpu_idle and gpu_busy are not all cycles of their clock")
    for name, c in r.counters.items():
        if c["kind"] == "counter":
            continue
        expected = expected_metric(r,
                                   name) if c["kind"] == "metric" else expected_unit(r, name,
                                                                                     c["kind"],
                                                                                     is_nv50)
        if expected is None:
            continue
        value = r.exact(name) if c["state"] == "ok" else "no value"
        if value != expected:
            found.append(f"{name}: {value}, by the truth {expected}")
        compared[c["kind"]] += 1
    if result.get("experiments") == 1:
        found += check_bottleneck(r, result)
    least = len(NV50_UNITS) if is_nv50 else len(CSF_UNITS)
    if compared["sol"] != least or compared["bottleneck"] != least or (is_nv50 and
                                                                       compared["metric"] < 27):
        found.append(f"only {compared} were compared")
    return found
