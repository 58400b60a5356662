# SPDX-License-Identifier: MIT
"""Events and metrics of perf PMUs in the form of the kernel's tools/perf/pmu-events: its "sys"
folders, whose rows perf finds by the PMU's identifier in sysfs."""
import json

from formulas import Text, names_of, walk

# where perf's source has the other files of a chip, below pmu-events/arch/arm64
FOLDERS = {"TEGRA410": "nvidia/t410", "TEGRA241": "nvidia/t241"}
# PMUs with the name <prefix><socket>_rc_<root complex>: perf's pattern has the parts between
OF_ROOT_COMPLEX = ("PCIE", "PCIE_TGT")


def unit(page):
    prefix = page.head["pmu"]
    return f"{prefix},rc_" if page.head["block"] in OF_ROOT_COMPLEX else prefix.removesuffix("_")


def expression(page, formula):
    """The formula in perf's words. An event without its PMU is of all that have it: their sum."""
    block = page.head["block"].lower()
    counters = [name for name in names_of(formula) if "." not in name and
                not name.startswith("elapsed")]
    variables = {
        "elapsed_s": "duration_time", "elapsed_ns": "(duration_time * 1000000000)",
        "block.count": f"source_count({block}.{counters[-1]})"}
    return walk(formula, Text(lambda name: variables.get(name, f"{block}.{name}")))


def rows(page):
    block = page.head["block"].lower()
    of_pmu = {"Unit": unit(page), "Compat": page.head["identifier"]}
    for c in sorted(page.counters, key=lambda c: c["bit"]):
        yield {"EventName": f"{block}.{c['name']}", "EventCode": f"{c['event']:#x}",
               "BriefDescription": f"{c['short']} [{c['unit']}]", "PublicDescription": c["long"],
               **of_pmu}
    for m in page.metrics:
        # perf adds up these PMUs by socket, and its source_count() is that of all sockets
        if page.head["block"] in OF_ROOT_COMPLEX and "block.count" in names_of(m["formula"]):
            continue
        yield {"MetricName": f"{block}.{m['name']}", "MetricExpr": expression(page, m["formula"]),
               "BriefDescription": m["short"], "PublicDescription": m["long"],
               "MetricGroup": block, "ScaleUnit": f"1{m['unit']}", **of_pmu}


def files(pages):
    """{path: text} of the products that are such PMUs."""
    found = {}
    for page in pages:
        if "identifier" in page.head:
            name = page.head["block"].lower()
            path = f"{FOLDERS[page.head['product']]}/sys/{name}.json"
            found[path] = json.dumps(list(rows(page)), indent=4) + "\n"
    return found
