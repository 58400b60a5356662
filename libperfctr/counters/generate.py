#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Check the counter database and generate everything that is made from it.

    generate.py --uapi FOLDER check                      only the self-checks
    generate.py --uapi FOLDER tables FILE.c              C tables of the library
    generate.py --uapi FOLDER kernel PRODUCT FILE.h      positions for kernel code
    generate.py --uapi FOLDER docs FILE.md               one page for people
    generate.py --uapi FOLDER man FOLDER                 man pages, one for each product
    generate.py --uapi FOLDER perf FOLDER                events and metrics of PMUs for perf
    generate.py --uapi FOLDER trust FILE                 take over what validate --save noted

Each TOML file below the folder of this program (or each --database DIR) is one page:
the counters of one block type of one product. See libperfctr/counters/pages.md for the keys.
"""
import argparse
import json
import os
import re
import sys
from pathlib import Path

import layouts
import lists
import perf_json
from formulas import (VARIABLE_UNITS, Text, Units, dimension, names_of, singular, unit_text,
                      walk)

HERE = Path(__file__).resolve().parent
HEADER_POSITIONS = 4  # words 0-3 of a CSF block are its header, never counters
SECTION_COUNTERS = 64
MAX_POSITION = 4 * SECTION_COUNTERS - 1
# blocks that share a catalogue in the uAPI header
CATALOGUES = {"NVLINK_C2C": "C2C", "NVCLINK": "C2C", "NVDLINK": "C2C"}
KINDS = ("count", "cycles", "bytes", "time", "level")
TRUST = ("unvalidated", "trusted", "quarantined", "explained", "untrusted")
AVAILABILITY = ("always", "device")
SCOPES = ("block", "device")
PAGE_KEYS = {"product": str, "block": str, "clock": str, "text": str, "pmu": str,
             "identifier": str}
COUNTER_KEYS = {
    "bit": int, "id": str, "name": str, "short": str, "long": str, "unit": str, "kind": str,
    "sets": list, "availability": str, "trust": str, "event": int, "config": int,
    "definition": str, "recipe": dict, "shift": int,
}
# what a counter of an NVIDIA block is made of
RECIPE_KEYS = {
    "PCOUNTER": {"domain": (0, 7), "event": (0, 0xFFFFFFFF), "event_op": (0, 0xFFFF),
                 "start": (0, 0xFFFFFFFF), "start_op": (0, 0xFFFF)},
    "MP": {"unit": (0, 5), "signal": (0, 255)},
}
RECIPE_NEEDED = {"PCOUNTER": ("domain", "mode", "event", "event_op"),
                 "MP": ("mode", "unit", "signal")}
RECIPE_MODES = {"PCOUNTER": ("SIMPLE", "EVENT_B4", "EVENT_B6"), "MP": ("LOGOP", "LOGOP_PULSE")}
# products of PMUs that have filters
FILTERED = ("TEGRA410", "TEGRA241")
MAX_MUXES = 2
# beside a page with recipes: what they are in other chipset families
CHIPSETS = "chipsets.toml"
CHIPSET_KEYS = {"name", "numbers", "domains", "without", "recipes"}
FILTER_KEYS = {"name": str, "bits": str, "short": str, "hex": bool, "needs": str, "excludes": str}
METRIC_KEYS = {"id": str, "name": str, "short": str, "long": str, "formula": str, "unit": str,
               "scope": str, "trust": str}
UNIT_KEYS = {"name": str, "busy": str, "waits": list, "cycles": str, "advice": str}


class Uapi:
    """The numbers in the uAPI headers, by kind and short name."""

    NAMES = {
        "BLOCK": r"DRM_PERFCTR_(?:[A-Z0-9]+_)?BLOCK_(\w+)",
        # the short name has the family: MALI_V10
        "PRODUCT": r"DRM_(?:PERFCTR_)?((?:[A-Z0-9]+_)?PRODUCT(?:_\w+)?)",
        "CLOCK": r"DRM_PERFCTR_(?:[A-Z0-9]+_)?CLOCK_(\w+)",
        "SET": r"DRM_PERFCTR_SET_(\w+)",
    }

    def __init__(self, *folders):
        text = "\n".join(p.read_text(encoding="utf-8")
                         for folder in folders for p in sorted(Path(folder).glob("*.h")))
        self.kinds = {}
        for kind, name in self.NAMES.items():
            found = re.findall(rf"^(?:\s*{name}\s*=|#define\s+{name}\s)\s*(0x[0-9a-fA-F]+|\d+),?"
                               r"(?: /\*.*)?$", text, re.M)
            if not found:
                raise SystemExit(f"{folders[0]}: no numbers of kind {kind} found")
            self.kinds[kind] = {(a or b).replace("PRODUCT_",
                                                 "").replace("_PRODUCT", ""): int(value, 0)
                                for a, b, value in found}
        # catalogues of PMU blocks: enum drm_perfctr_tegra410_ucf_event and the like
        self.events = {}
        for name, body in re.findall(r"^enum drm_perfctr_(\w+)_event \{(.*?)^\};", text,
                                     re.M | re.S):
            rows = re.findall(rf"^\s*DRM_PERFCTR_{name.upper()}_(\w+)\s*=\s*(\d+),", body, re.M)
            self.events[name.upper()] = {event: int(value) for event, value in rows}


class Errors:
    def __init__(self):
        self.found = []

    def add(self, path, line, text):
        self.found.append((str(path), line, text))

    def print(self):
        for path, line, text in sorted(self.found):
            print(f"{path}:{line}: {text}", file=sys.stderr)


class Page:
    """One TOML file."""

    def __init__(self, source, uapi, data=None, lines=None):
        self.source, self.path, self.shown = source, source.path, source.shown
        self.counters, self.metrics, self.filters, self.units = [], [], [], []
        self.ok, self.own_units = False, data is None
        self.lines, self.shared = lines or source.lines, data is not None
        data = data or source.data
        if not data:
            return
        for key in data:
            if key not in ("page", "counter", "filter", "metric", "unit"):
                self.error(key, 0, None,
                           f"unknown table '{key}'; known: page, counter, filter, metric, unit")
        self.head = data.get("page", {})
        if not self.table("page", 0, self.head, PAGE_KEYS, ("product", "block", "text")):
            return
        self.product = self.enumerator("PRODUCT", "product", uapi)
        self.block = self.enumerator("BLOCK", "block", uapi)
        self.clock = self.enumerator("CLOCK", "clock", uapi) if "clock" in self.head else 0xFF
        if None in (self.product, self.block, self.clock):
            return
        self.catalogue = uapi.events.get(
            f'{self.head["product"]}_{CATALOGUES.get(self.head["block"], self.head["block"])}')
        self.sets_known = uapi.kinds["SET"]
        self.pmu = self.head.get("pmu", "")
        self.prefix = f'{self.head["product"]}.{self.head["block"]}'.lower()
        if self.head["block"] == "GENERIC_PMU":
            self.prefix += "." + self.pmu
        for index, counter in enumerate(data.get("counter", [])):
            self.counter(index, counter)
        for index, row in enumerate(data.get("filter", [])):
            self.filter(index, row)
        self.filter_rules()
        for index, metric in enumerate(data.get("metric", [])):
            self.metric(index, metric)
        for index, unit in enumerate(data.get("unit", [])):
            self.unit(index, unit)
        self.ok = True

    def error(self, table, index, key, text):
        self.source.errors.add(self.shown, self.lines.of(table, index, key), text)

    def enumerator(self, kind, key, uapi):
        value = uapi.kinds[kind].get(self.head[key])
        if value is None:
            known = ", ".join(uapi.kinds[kind])
            self.error("page", 0, key,
                       f"unknown {key} '{self.head[key]}'; the uAPI header has: {known}")
        return value

    def table(self, table, index, data, keys, needed):
        name = f"{table} '{data['name']}'" if "name" in data else table
        return layouts.check(lambda key, text: self.error(table, index, key, text), name, data,
                             keys, needed)

    def names(self, table, index, data, **choices):
        """Checks id, name and what is a choice; returns what reports an error at a key."""
        wrong = lambda key, text: self.error(table, index, key, f"{table} '{data['id']}': {text}")
        if not re.fullmatch(r"[a-z][a-z0-9_]*", data["id"]):
            wrong("id", "an id is lower-case letters, digits and _")
        if not re.fullmatch(r"[A-Za-z][\w-]*", data["name"]):
            wrong("name", f"'{data['name']}' is no name")
        for key, allowed in choices.items():
            if data[key] not in allowed:
                wrong(key, f"{key} '{data[key]}' is none of {', '.join(allowed)}")
        return wrong

    def counter(self, index, data):
        data = dict(data)
        generic = self.head["block"] == "GENERIC_PMU"
        needed = ["name", "short", "unit"] + (["config"] if generic else ["bit"])
        if not self.table("counter", index, data, COUNTER_KEYS, needed):
            return
        unit = data["unit"]
        for key, value in (("id", data["name"].lower()), ("long", data["short"]),
                           ("kind", unit if unit in ("cycles", "bytes") else "count"),
                           ("sets", ["PRIMARY"]), ("availability", "always"),
                           ("trust", "unvalidated"), ("event", None), ("config", 0), ("bit", 0),
                           ("definition", ""), ("shift", 0)):
            data.setdefault(key, value)
        wrong = self.names("counter", index, data, kind=KINDS, trust=TRUST,
                           availability=AVAILABILITY)
        bit, shift = data["bit"], data["shift"]
        if not 0 <= bit <= MAX_POSITION:
            wrong("bit", f"bit {bit} is not in 0..{MAX_POSITION}")
        if self.block < 16 and bit < HEADER_POSITIONS:
            wrong("bit", f"bits 0..{HEADER_POSITIONS - 1} are the block's header")
        known = self.catalogue.get(data["name"].upper(), "none") if self.catalogue else bit
        if known != bit:
            wrong("bit", f"the uAPI header has bit {known} for it, not {bit}")
        if not 0 <= shift <= 16:
            wrong("shift", f"shift {shift} is not in 0..16")
        self.recipe(data, lambda text: wrong("recipe", f"recipe: {text}"))
        data["set_mask"] = 0
        for name in data["sets"]:
            if name not in self.sets_known:
                wrong("sets", f"unknown set '{name}'")
            else:
                data["set_mask"] |= 1 << self.sets_known[name]
        data["index"] = index
        data["full_id"] = f"{self.prefix}.{data['id']}"
        self.counters.append(data)

    def recipe(self, data, wrong):
        """What the hardware is set to for a counter of an NVIDIA block."""
        block = self.head["block"]
        recipe = data.setdefault("recipe", None)
        if block not in RECIPE_KEYS:
            if recipe is not None:
                wrong(f"{block} blocks have none")
            return
        if recipe is None:
            wrong("missing")
            return
        for key in RECIPE_NEEDED[block]:
            if key not in recipe:
                wrong(f"missing {key}")
        for key, value in recipe.items():
            if key == "mode":
                if value not in RECIPE_MODES[block]:
                    wrong(f"mode '{value}' is none of {', '.join(RECIPE_MODES[block])}")
            elif key == "mux":
                if not isinstance(value, dict) or len(value) > MAX_MUXES:
                    wrong(f"mux must be a table of at most {MAX_MUXES} registers")
                elif not all(re.fullmatch(r"0x[0-9a-f]+|MPC", k) and type(v) is int and
                             0 <= v <= 0xFFFFFFFF for k, v in value.items()):
                    wrong("mux must be registers, 0x400c0c or MPC, with values of 32 bits")
            elif key not in RECIPE_KEYS[block]:
                wrong(f"unknown key '{key}'")
            elif type(value) is not int or not (
                    RECIPE_KEYS[block][key][0] <= value <= RECIPE_KEYS[block][key][1]):
                low, high = RECIPE_KEYS[block][key]
                wrong(f"{key} is not in {low:#x}..{high:#x}")
        if recipe.get("mode", "").startswith("EVENT_B") and not ("start" in recipe and
                                                                 "start_op" in recipe):
            wrong(f"mode '{recipe['mode']}' needs start and start_op")

    def filter(self, index, data):
        """Bits of a perf event that select what is counted, named as in the PMU's format
        directory."""
        if not self.table("filter", index, data, FILTER_KEYS, ("name", "bits", "short")):
            return
        data, name = dict(data), data["name"]
        wrong = lambda key, text: self.error("filter", index, key, f"filter '{name}' {text}")
        bits = re.fullmatch(r"config([12]?):(\d+)(?:-(\d+))?", data["bits"])
        low, high = (int(bits[2]), int(bits[3] or bits[2])) if bits else (0, 0)
        if not bits or not low <= high <= 63:
            wrong("bits", f"has bits '{data['bits']}', not as config1:8 or config1:8-23")
            return
        if not re.fullmatch(r"[a-z][a-z0-9_]*", name):
            wrong("name", "is no name")
        if self.head["product"] not in FILTERED:
            wrong("name", f"but {self.head['block']} blocks have no filters")
        data.update(word=int(bits[1] or 0), low=low, width=high - low + 1,
                    hex=data.get("hex", False))
        for other in self.filters:
            if other["name"] == name:
                wrong("name", "is there already")
            elif (other["word"] == data["word"] and low < other["low"] + other["width"] and
                  other["low"] <= high):
                wrong("bits", f"has bits {data['bits']}, those of '{other['name']}'")
        self.filters.append(data)

    def filter_rules(self):
        names = {f["name"] for f in self.filters}
        for index, f in enumerate(self.filters):
            for key in ("needs", "excludes"):
                if f.get(key, f["name"]) != f["name"] and f[key] not in names:
                    self.error("filter", index, key,
                               f"filter '{f['name']}': the page has no filter '{f[key]}'")

    def metric(self, index, data):
        data = dict(data)
        if not self.table("metric", index, data, METRIC_KEYS,
                          ("name", "short", "formula", "unit")):
            return
        for key, value in (("id", data["name"].lower()), ("long", data["short"]),
                           ("scope", "block"), ("trust", "unvalidated")):
            data.setdefault(key, value)
        self.names("metric", index, data, scope=SCOPES, trust=TRUST)
        data["index"] = index
        data["full_id"] = f"{self.prefix}.{data['id']}"
        self.metrics.append(data)

    def unit(self, index, data):
        """A unit of the block, for perfctr perfkit: when it is busy, and what it waits for."""
        if not self.table("unit", index, data, UNIT_KEYS, ("name", "busy")):
            return
        cycles = {c["name"] for c in self.counters if c["unit"] == "cycles"}
        wrong = lambda key, text: self.error("unit", index, key,
                                             f"unit '{data['name']}': {key}: {text}")
        row = {"waits": [], **data}
        for key, formulas in (("busy", [row["busy"]]), ("waits", row["waits"]),
                              ("cycles", [row["cycles"]] if "cycles" in row else [])):
            try:
                for name in sorted({n for f in formulas for n in names_of(f)} - cycles):
                    wrong(key, f"'{name}' is no counter of this page in cycles")
            except ValueError as error:
                wrong(key, error)
        self.units.append(row)


class Database:
    """All pages, checked against each other."""

    def __init__(self, folders, uapi):
        self.errors = Errors()
        self.pages, self.layouts, self.lists, self.chipsets = [], [], [], {}
        for folder in folders:
            self.add_pages(folder, uapi)
        self.pages.sort(key=lambda p: (p.product, p.block, p.pmu))
        for path in (path for folder in folders for path in folder.rglob(CHIPSETS)):
            self.add_chipsets(layouts.Source(path, self.errors))
        self.positions()
        self.unique("id", "full_id")
        self.unique("name", "name", within=True)
        self.formulas()

    def add_pages(self, folder, uapi):
        files = sorted(p for p in folder.rglob("*.toml") if p.name != CHIPSETS)
        if not files:
            self.errors.add(folder, 1, "no TOML file here")
        self.layouts += layouts.load(folder, Page, uapi, self.errors)
        self.lists += lists.load(folder, Page, uapi, self.errors)
        for product in self.layouts + self.lists:
            self.pages += [page for page in product.pages if page not in self.pages]
        own = layouts.folders(files) | lists.folders(files)
        for path in files:
            if path.parent in own:
                continue
            page = Page(layouts.Source(path, self.errors), uapi)
            if page.ok:
                self.pages.append(page)

    def add_chipsets(self, source):
        """Chipset families of the product of the file's folder, by name."""
        page = next((p for p in self.pages if p.path.parent == source.path.parent and
                     p.head["block"] == "PCOUNTER"), None)
        names = {c["name"] for c in page.counters} if page else set()
        numbers = set()
        for index, chipset in enumerate((source.data or {}).get("chipset", [])):
            def wrong(key, text, line=source.lines.of("chipset", index, None)):
                self.errors.add(source.shown, line, f"chipset: {key}: {text}")

            for key in chipset.keys() ^ CHIPSET_KEYS:
                if key not in ("without", "recipes"):
                    wrong(key, "missing or unknown")
            if numbers & set(chipset.get("numbers", ())):
                wrong("numbers", "another chipset has one of them")
            numbers |= set(chipset.get("numbers", ()))
            for name in (*chipset.get("recipes", ()), *chipset.get("without", ())):
                if name not in names:
                    wrong(name, "no counter of the page")
            for name, recipe in chipset.get("recipes", {}).items():
                page.recipe({"recipe": recipe}, lambda text, name=name: wrong(name, text))
                if recipe.get("domain", 0) >= chipset.get("domains", 0):
                    wrong(name, "there is no such domain")
            self.chipsets[chipset.get("name")] = chipset

    @staticmethod
    def once(seen, key, page, table, row, at, text):
        """Only one row has a key; an error is at a TOML key."""
        other, other_table, first = seen.setdefault(key, (page, table, row))
        if first is not row:
            line = other.lines.of(other_table, first["index"], at)
            page.error(table, row["index"], at, f"{table} '{row['id']}': {at} {text} is taken "
                       f"by '{first['id']}' ({other.shown}:{line})")

    def positions(self):
        seen = {}
        for page in self.pages:
            what = "config" if page.head["block"] == "GENERIC_PMU" else "bit"
            for c in page.counters:
                for number in (n for n in range(32) if c["set_mask"] >> n & 1):
                    key = (page.product, page.block, page.pmu, number, c["bit"], c["config"])
                    self.once(seen, key, page, "counter", c, what, c[what])

    def unique(self, key, attribute, within=False):
        seen = {}
        for page in self.pages:
            for table, rows in (("counter", page.counters), ("metric", page.metrics)):
                for row in rows:
                    value = (within and page.prefix, row[attribute].lower())
                    self.once(seen, value, page, table, row, key, f"'{row[attribute]}'")

    def formulas(self):
        units = {}
        for page in self.pages:
            rows = units.setdefault((page.product, page.head["block"]), {})
            rows.update((c["name"], c["unit"]) for c in page.counters)
        for page in self.pages:
            for m in page.metrics:
                wrong = lambda text: page.error("metric", m["index"], "formula",
                                                f"metric '{m['id']}': {text}")

                def unit_of(name):
                    if name in VARIABLE_UNITS:
                        return VARIABLE_UNITS[name]
                    block, dot, counter = name.rpartition(".")
                    block = block if dot else page.head["block"]
                    if counter not in units.get((page.product, block), ()):
                        raise ValueError(f"no counter '{name}' in {page.head['product']}.{block}")
                    return units[page.product, block][counter]

                try:
                    if not [n for n in names_of(m["formula"]) if n not in VARIABLE_UNITS]:
                        wrong("uses no counter")
                    found = walk(m["formula"], Units(unit_of) if page.own_units else Text(unit_of))
                    # of layouts: checked with the units of their constants
                    if page.own_units and found not in (None, dimension(m["unit"])):
                        wrong(f"the formula is in {unit_text(found)}, not in {m['unit']}")
                    m["formula"] = walk(m["formula"], Text())
                except ValueError as error:
                    wrong(error)


def c_string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


class Strings:
    """Texts in one array, found by their offset, so that the tables need no relocations."""

    def __init__(self):
        self.offsets, self.length = {}, 0

    def of(self, text):
        if text not in self.offsets:
            self.offsets[text] = self.length
            self.length += len(text.encode()) + 1
        return self.offsets[text]

    def array(self, name):
        rows = [f"\t{c_string(text)} \"\\0\"" for text in self.offsets]
        return [f"const char {name}[] =", *rows, "\t;", ""]


def array(kind, name, rows):
    return [f"const struct {kind} {name}[] = {{",
            *("\t{ " + ", ".join(str(v) for v in row) + " }," for row in rows), "};", "",
            f"const unsigned int {name}_count = {len(rows)};", ""]


def static_rows(pages):
    """Full descriptions, of pages that share nothing."""
    rows, metric_rows = [], []
    row = lambda page, c, *values: "\t{\n" + "".join(f"\t\t.{k} = {v},\n" for k, v in (
        ("id", c_string(c["full_id"])), ("name", c_string(c["name"])),
        ("short_text", c_string(c["short"])), ("long_text", c_string(c["long"])),
        ("unit", c_string(c["unit"])), ("product", f"{page.product:#06x}"),
        ("block_type", page.block), ("trust", "PERFCTR_TRUST_" + c["trust"].upper()),
        *values)) + "\t},"
    for page in pages:
        for c in sorted(page.counters, key=lambda c: (c["bit"], c["config"])):
            rows.append(row(
                page, c, ("pmu", c_string(page.pmu)),
                ("event", f"{c['event'] if c['event'] is not None else c['config']:#x}ULL"),
                ("sets", f"{c['set_mask']:#x}"), ("position", c["bit"]), ("clock", page.clock),
                ("kind", "PERFCTR_KIND_" + c["kind"].upper()),
                ("optional", int(c["availability"] == "device")), ("shift", c["shift"]),
                ("definition", c_string(c["definition"]) if c["definition"] else "NULL")))
        for m in page.metrics:
            metric_rows.append(row(page, m, ("formula", c_string(m["formula"])),
                                   ("scope", "PERFCTR_SCOPE_" + m["scope"].upper())))
    return rows, metric_rows


def factor(formula):
    """The formula as a part of another one."""
    return formula if re.fullmatch(r"[\w.]+", formula) else f"({formula})"


def unit_rows(pages):
    """SOL (speed of light) of a unit: the share of cycles in which it was busy. Bottleneck: the
    part of it in which it did not wait for another unit. Names as in NVPerfKit."""
    rows = []
    for page in pages:
        for u in page.units:
            waits = "".join(f" - {factor(formula)}" for formula in u["waits"])
            cycles = u.get("cycles", "block.cycles")
            for name, short, text, share in (
                    ("SOL", "busy", "Share of the cycles in which the unit had work.",
                     factor(u["busy"])),
                    ("Bottleneck", "busy, waits for no other unit", u.get("advice", ""),
                     f"max(0, {u['busy']}{waits})")):
                rows.append("\t{\n" + "".join(f"\t\t.{k} = {v},\n" for k, v in (
                    ("name", c_string(f"{u['name']} {name}")),
                    ("short_text", c_string(f"{u['name']} {short}")),
                    ("long_text", c_string(text)),
                    ("unit", c_string("%")),
                    ("formula", c_string(f"100 * {share} / {factor(cycles)}")),
                    ("product", f"{page.product:#06x}"), ("block_type", page.block))) + "\t},")
    return rows


def shared_rows(layout, texts, strings, counters, metrics):
    """Counters and metrics of a layout, as numbers of texts."""
    def text(row):
        key = tuple(strings.of(row[k]) for k in ("name", "short", "long", "unit"))
        return texts.setdefault(key, len(texts))

    for page in sorted(layout.pages, key=lambda page: page.block):
        for c in sorted(page.counters, key=lambda c: c["bit"]):
            counters.append((text(c), c["bit"], page.block, page.clock, c["shift"],
                             int(c["availability"] == "device"),
                             "PERFCTR_KIND_" + c["kind"].upper()))
        for m in page.metrics:
            metrics.append((text(m), strings.of(m["formula"]), page.block,
                            "PERFCTR_SCOPE_" + m["scope"].upper()))


def unit_words(db):
    """Words of all units: plural, singular."""
    words = {}
    used = {row["unit"] for page in db.pages for row in page.counters + page.metrics}
    for unit in sorted(used.union(VARIABLE_UNITS.values())):
        for at, part in enumerate(unit.replace("Hz", "cycles/s").split("/")):
            for word in part.split(" x "):
                if word.strip("%") and (not at or singular(word) not in words):
                    words[singular(word)] = word
    return [(c_string(plural), c_string(word)) for word, plural in sorted(words.items())]


def tables(db):
    strings, texts, shared, shared_metrics, gpus = Strings(), {}, [], [], []
    own = [page for page in db.pages if not page.shared]
    rows, metric_rows = static_rows(own)
    filters = [(c_string(f["name"]), c_string(f["short"]), f"{page.product:#06x}", page.block,
                f["word"], f["low"], f["width"], int(f["hex"]))
               for page in own for f in page.filters]
    rules = [(page.block, *(c_string(f.get(key, "")) for key in ("name", "needs", "excludes")))
             for page in own for f in page.filters if "needs" in f or "excludes" in f]
    products = {}
    counter, metric = 0, 0
    for page in own:
        first = products.setdefault(page.product, [f"{page.product:#06x}", strings.of(
            page.head["product"].lower()), 0, counter, 0, metric, 0, strings.of("")])
        first[4] += len(page.counters)
        first[6] += len(page.metrics)
        counter, metric = counter + len(page.counters), metric + len(page.metrics)
    for layout in db.layouts + db.lists:
        first, first_metric = len(shared), len(shared_metrics)
        shared_rows(layout, texts, strings, shared, shared_metrics)
        product = layout.pages[0].product
        products[product] = [f"{product:#06x}", strings.of(layout.product.lower()), 1, first,
                             len(shared) - first, first_metric, len(shared_metrics) - first_metric,
                             strings.of(", ".join(layout.pages[0].gpus))]
        for g in layout.gpus:
            low, high = g.get("cores", (0, 255))
            # of a GPU_ID of 64 bits: bits 63:56 and 39:32
            number, mask = g["id"] << 16, g.get("mask", 0) << 16 | 0xffffffff << 32
            if g.get("wide"):
                number, mask = g["id"] >> 12 << 56 | (g["id"] & 0xff) << 32, 0xff0000ff << 32
            gpus.append((f"{number:#x}", f"{mask:#x}", strings.of(g["name"]),
                         f"{product:#06x}", low, high, int(g.get("ray_tracing", False))))
    out = ["// SPDX-License-Identifier: MIT",
           "/* Generated by counters/generate.py from the TOML files; do not edit. */",
           '#include "counters/tables.h"', "",
           "const struct perfctr_counter_desc perfctr_counter_table[] = {", *rows, "};", "",
           "const struct perfctr_metric_desc perfctr_metric_table[] = {", *metric_rows, "};", "",
           "const struct perfctr_metric_desc perfctr_unit_table[] = {",
           *(units := unit_rows(db.pages)),
           "};", f"const unsigned int perfctr_unit_table_count = {len(units)};", ""]
    out += array("table_identifier", "table_identifiers", [
        (page.block, c_string(page.head["identifier"])) for page in own
        if "identifier" in page.head])
    out += array("perfctr_filter_desc", "perfctr_filter_table", filters)
    out += array("table_filter_rule", "table_filter_rules", rules)
    out += array("table_product", "table_products", [products[p] for p in sorted(products)])
    out += array("table_text", "table_texts", list(texts))
    out += array("table_counter", "table_counters", shared)
    out += array("table_metric", "table_metrics", shared_metrics)
    out += array("table_gpu", "table_gpus", gpus)
    out += array("table_unit", "table_units", unit_words(db))
    return "\n".join(out + strings.array("table_strings"))


def kernel_set(name, text, counters):
    """What kernel code needs of one page in one counter set."""
    out = [f"/* {text} */", f"enum {name.lower()}_counter {{"]
    for c in counters:
        out.append(f"\t/* {c['short']} [{c['unit']}] */")
        out.append(f"\t{name}_{c['name'].upper().replace('-', '_')} = {c['bit']},")
    out += ["};", "", "/* positions that exist, one mask of 64 for each section */"]
    for section in range(max(c["bit"] for c in counters) // SECTION_COUNTERS + 1):
        mask = sum(1 << c["bit"] % SECTION_COUNTERS for c in counters
                   if c["bit"] // SECTION_COUNTERS == section)
        out.append(f"#define {name}_AVAILABLE{section or ''}\t{mask:#018x}ULL")
    if any(c["event"] is not None for c in counters):
        out += ["", "/* X(position, name, perf event) for every counter */"]
        row = lambda c: f"X({c['bit']}, \"{c['name']}\", {c['event'] or 0:#x}ULL)"
    else:
        out += ["", "/* X(position, name) for every counter */"]
        row = lambda c: f"X({c['bit']}, \"{c['name']}\")"
    out.append(f"#define {name}_COUNTERS(X) \\")
    out += [f"\t{row(c)}" + (" \\" if c is not counters[-1] else "") for c in counters]
    return out + [""]


def recipes(prefix, pages, chipset=None):
    """Recipes of an NVIDIA product or chipset as X-macros of integers, for the kernel."""
    others, without = (chipset or {}).get("recipes", {}), (chipset or {}).get("without", ())
    pages = {page.head["block"]: page for page in pages if page.head["block"] in RECIPE_KEYS}
    if not pages:
        return []

    def counters(block):
        rows = pages[block].counters if block in pages else []
        if block == "PCOUNTER":
            rows = [{**c, "recipe": others.get(c["name"], c["recipe"])} for c in rows
                    if c["name"] not in without]
        return sorted(rows, key=lambda c: c["bit"])

    muxes = sorted({m for block in pages for c in counters(block)
                    for m in c["recipe"].get("mux", {})}, key=lambda m: (m != "MPC", m))
    name = lambda m: f"{prefix}_MUX_{m.removeprefix('0x').upper()}"
    out = ["/* multiplexers of the recipes */", f"enum {prefix.lower()}_mux {{",
           f"\t{prefix}_MUX_NONE,"]
    out += [f"\t{name(m)}," for m in muxes] + [f"\t{prefix}_MUXES,", "};", ""]

    def macro(text, title, rows):
        return [f"/* {text} */", f"#define {title}(X) \\"] + \
            [f"\tX({', '.join(str(v) for v in row)})" +
             (" \\" if row is not rows[-1] else "") for row in rows] + [""]

    def mux(recipe):
        given = [(name(m), f"{v:#x}u") for m, v in recipe.get("mux", {}).items()]
        given += [(f"{prefix}_MUX_NONE", "0u")] * (MAX_MUXES - len(given))
        return [v for pair in given for v in pair]

    out += macro("X(multiplexer, register; 0: not the same for all chips)",
                 f"{prefix}_MUX_REGISTERS", [(name(m), m if m != "MPC" else 0) for m in muxes])
    if "PCOUNTER" in pages:
        out += macro(
            "X(position, domain, mode, event, event_op, start, start_op, mux, value, mux, value)",
                     f"{prefix}_PCOUNTER_RECIPES",
                     [(c["bit"], r["domain"], f"PCOUNTER_{r['mode']}", f"{r['event']:#x}u",
                       f"{r['event_op']:#x}u",
                       f"{r.get('start', 0):#x}u", f"{r.get('start_op', 0):#x}u", *mux(r))
                      for c in counters("PCOUNTER") for r in [c["recipe"]]])
        for domain in range(8):
            mask = sum(1 << c["bit"] for c in counters("PCOUNTER")
                       if c["recipe"]["domain"] == domain)
            if mask >> SECTION_COUNTERS:
                raise SystemExit(f"{prefix}: recipes of more than {SECTION_COUNTERS} counters")
            out += [f"#define {prefix}_PCOUNTER_DOMAIN{domain}\t{mask:#018x}ULL"]
        out += [""]
    if "MP" in pages:
        out += macro("X(position, mode, unit, signal, mux, value, mux, value)",
                     f"{prefix}_MP_RECIPES",
                     [(c["bit"], f"MP_{r['mode']}", r["unit"], f"{r['signal']:#x}", *mux(r))
                      for c in counters("MP") for r in [c["recipe"]]])
    return out


def kernel(db, product, chipset=None):
    """Positions of one product's counters, usable in kernel and user space."""
    if chipset and chipset not in db.chipsets:
        raise SystemExit(f"no chipset '{chipset}'; there are {', '.join(db.chipsets)}")
    prefix = product.removesuffix("_CSF")
    guard = f"_{prefix}_COUNTERS_H_"
    out = ["/* SPDX-License-Identifier: GPL-2.0 OR MIT */",
           "/* Generated by libperfctr/counters/generate.py from the TOML files; do not edit. */",
           f"#ifndef {guard}", f"#define {guard}", ""]
    pages = [page for page in db.pages if page.head["product"] == product]
    if not pages:
        raise SystemExit(f"no page has the product '{product}'")
    for page in pages:
        primary = [c for c in page.counters if c["set_mask"] & 1]
        for set_name, number in page.sets_known.items():
            counters = [c for c in page.counters if c["set_mask"] >> number & 1]
            if not counters:
                continue
            name = f"{prefix}_{page.head['block']}" + (f"_{set_name}" if number else "")
            text = page.head["text"] + (f" Counter set {number}." if number else "")
            out += kernel_set(name, text, sorted(counters, key=lambda c: c["bit"]))
            if number:
                shared = sum(1 << c["bit"] for c in counters if c in primary)
                out += ["/* positions below 64 that mean the same in the primary set */",
                        f"#define {name}_SHARED\t{shared:#018x}ULL", ""]
    out += recipes(prefix, pages, db.chipsets.get(chipset))
    out += [f"#endif /* {guard} */", ""]
    return "\n".join(out)


def roff(text):
    return text.replace("\\", "\\e").replace("-", "\\-")


def manual(db):
    """Man pages of products, and names of GPUs for them: {name: text, or product}."""
    pages = {}
    for page in db.pages:
        name = f"perfctr-{page.head['product'].lower()}"
        gpus = page.gpus if page.shared else []
        if name not in pages:
            pages[name] = [
                '.\\" SPDX-License-Identifier: MIT', f'.TH {name.upper()} 7 "" perfctr', ".SH NAME",
                f"{name} \\- counters of {roff(', '.join(gpus) or page.head['product'])}"]
        pages.update({f"perfctr-{gpu.lower()}": name for gpu in gpus})
        out = pages[name]
        out += [f".SH {page.pmu or page.head['block']}", roff(page.head["text"])]
        for row in (*page.counters, *page.metrics):
            formula = f" = {row['formula']}" if "formula" in row else ""
            out += [".TP", f".BR {roff(row['name'])} \" \" [{roff(row['unit'])}]",
                    roff(row["long"] + formula)]
    return pages


def write_manual(folder, pages):
    for name, text in pages.items():
        path = Path(folder) / f"{name}.7"
        if isinstance(text, list):
            write(path, "\n".join((*text, ".SH SEE ALSO", ".BR perfctr\\-list (1)", "")))
        else:
            path.unlink(missing_ok=True)
            path.symlink_to(f"{text}.7")


def set_key(lines, page, index, key, value):
    """Set or, with None, remove a text of a counter in a page's lines; returns how many it grew."""
    at = page.lines.at.get(("counter", index, key))
    new = [] if value is None else [f"{key} = {json.dumps(value, ensure_ascii=False)}"]
    if at is not None:
        lines[at - 1:at] = new
        return len(new) - 1
    behind = max(n for k, n in page.lines.at.items() if k[:2] == ("counter", index))
    lines[behind:behind] = new
    return len(new)


def trust(db, path):
    """Take verdicts of perfctr validate --save over into the TOML files."""
    verdicts = json.loads(Path(path).read_text(encoding="utf-8"))
    if verdicts.get("format") == "perfctr verdicts 1":
        raise SystemExit(f"{path}: an older perfctr saved it, which asked less of a trusted "
                         "counter; validate again")
    if verdicts.get("format") != "perfctr verdicts 2":
        raise SystemExit(f"{path}: no file of verdicts")
    left = dict(verdicts["verdicts"])
    for page in db.pages:
        lines = page.path.read_text(encoding="utf-8").splitlines()
        # from the end, so that the places of what is before stay right
        for c in sorted(page.counters, key=lambda c: -c["index"]):
            verdict = left.pop(c["full_id"], None)
            if verdict is None:
                continue
            if verdict["trust"] not in TRUST:
                raise SystemExit(f"{path}: {c['full_id']}: '{verdict['trust']}' is no verdict")
            definition = verdict.get("definition") if verdict["trust"] != "trusted" else None
            keys = [("trust", verdict["trust"]), ("definition", definition)]
            # the later line first, for the same reason
            keys.sort(key=lambda k: -page.lines.at.get(("counter", c["index"], k[0]), 1 << 30))
            for key, value in keys:
                set_key(lines, page, c["index"], key, value)
        write(page.path, "\n".join(lines) + "\n")
    for name in left:
        print(f"{name}: not in the database", file=sys.stderr)
    return not left


def write(path, text):
    """Leave an unchanged file alone, so that make does not rebuild what uses it."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and path.read_text(encoding="utf-8") == text:
        os.utime(path)
        return
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def docs(db):
    out = ["# Counters and metrics", "",
           "Generated from the counter database, `libperfctr/counters/`.", ""]
    for page in db.pages:
        out += [f"## {page.head['product']} {page.head['block']} {page.pmu}".rstrip(), "",
                page.head["text"], ""]
        if page.shared and page.gpus:
            out += [f"GPUs: {', '.join(page.gpus)}.", ""]
        out += ["| position | name | unit | meaning |", "|---|---|---|---|"]
        for c in sorted(page.counters, key=lambda c: (c["bit"], c["config"])):
            out.append(f"| {c['bit'] or c['config']} | `{c['name']}` | {c['unit']} | {c['long']} |")
        for m in page.metrics:
            out.append(f"| metric | `{m['name']}` | {m['unit']} | {m['long']} `{m['formula']}` |")
        out.append("")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description="Check the counter database and generate from it.")
    parser.add_argument("--uapi", required=True, action="append",
                        help="a folder of headers, the source of all numbers; may be repeated")
    parser.add_argument("--database", type=Path, action="append",
                        help="a folder of TOML files; may be repeated; default: this program's")
    parser.add_argument("what", choices=("check", "tables", "kernel", "docs", "man", "perf",
                                         "trust"))
    parser.add_argument("arguments", nargs="*")
    options = parser.parse_args()
    counts = {"check": (0,), "kernel": (2, 3)}
    if len(options.arguments) not in counts.get(options.what, (1,)):
        parser.error(f"{options.what}: wrong number of arguments")
    databases = options.database or [HERE]
    # families that the kernel's interface does not have keep their numbers beside their pages
    own = {header.parent for folder in databases for header in folder.rglob("*.h")}
    db = Database(databases, Uapi(*options.uapi, *sorted(own)))
    if db.errors.found:
        db.errors.print()
        return 1
    if options.what == "tables":
        write(options.arguments[0], tables(db))
    elif options.what == "kernel":
        product, path, *chipset = options.arguments
        write(path, kernel(db, product, *chipset))
    elif options.what == "docs":
        write(options.arguments[0], docs(db))
    elif options.what == "man":
        write_manual(options.arguments[0], manual(db))
    elif options.what == "perf":
        for path, text in perf_json.files(db.pages).items():
            write(Path(options.arguments[0]) / path, text)
    elif options.what == "trust":
        return 0 if trust(db, options.arguments[0]) else 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
