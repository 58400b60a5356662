# SPDX-License-Identifier: MIT
"""Layouts: counters that products share, each text written once.

A folder with a names.toml has names.toml (unit, short and long text of each counter by block),
metrics.toml (formulas by range of layouts) and one file for each layout (positions). README.md
describes the keys.
"""
import functools
import os
import re
import tomllib

from formulas import VARIABLE_UNITS, Text, Units, dimension, names_of, unit_text, walk

LAYOUT_KEYS = {"product": str, "words": int, "gpus": list, "like": str}
GPU_KEYS = {"name": str, "id": int, "mask": int, "wide": bool, "cores": list, "ray_tracing": bool}
COUNTER_KEYS = {"bit": int, "shift": int, "availability": str}
METRIC_KEYS = {"name": str, "unit": str, "short": str, "long": str, "formula": dict}
UNIT_KEYS = {"name": str, "advice": str, "busy": dict, "waits": dict}
BLOCKS = {
    "JM": ("TOP", "Job manager: job slots, interrupts, cache flushes."),
    "CSHW": ("TOP", "Command stream front end: work queues, streams, firmware, cache flushes."),
    "TILER": ("COREGROUP", "Tiler: primitives, culling, vertex shading requests, its bus."),
    "MEMSYS": ("COREGROUP", "One slice of the L2 cache with its bus; the MMU in the first one."),
    "SHADER": ("SHADER", "Shader core: warps, instructions, fragments, textures, its bus."),
    "NEURAL": ("SHADER", "Neural engine: tasks, units, transactions."),
}
# what a name stands for beside counters, constants and metrics: its variable, its block
COUNTS = {"core_count": "SHADER", "l2_count": "MEMSYS"}


LIMITS = {"name": 48, "unit": 24, "short": 56, "long": 300, "formula": 600, "advice": 300}


class Lines:
    """The line of each key and table of a TOML file, which tomllib does not report."""

    def __init__(self, at):
        self.at = at

    @staticmethod
    def parse(text):
        at, counts, where, quotes = {}, {}, None, None
        for number, line in enumerate(text.splitlines(), 1):
            if quotes:
                if quotes in line:
                    quotes = None
                continue
            header = re.match(r"\s*(\[\[?)\s*([\w.]+)\s*\]\]?", line)
            if header:
                # a table below an element of an array has the element's number
                top = header[2].split(".")[0]
                counts[top] = counts.get(top, -1) + (header[2] == top)
                where = (header[2], counts[top])
                at[where] = number
                continue
            key = re.match(r'\s*"?([^"#=]+?)"?\s*=\s*(.*)', line)
            if key and where:
                at[where + (key[1],)] = number
                for mark in ('"""', "'''"):
                    if key[2].startswith(mark) and mark not in key[2][3:]:
                        quotes = mark
        return Lines(at)

    def of(self, table, index=0, key=None):
        line = self.at.get((table, index, key)) if key else None
        return line or self.at.get((table, index), 1)


def check(error, name, data, keys, needed):
    """Whether a table has what is needed and nothing else; error(key, text) for each mistake."""
    wrong = [(None, f"missing {key}") for key in needed if data.get(key, "") == ""]
    for key, value in data.items():
        most = LIMITS.get(key, 1000)
        if key not in keys:
            wrong.append((key, f"unknown key '{key}'"))
        elif isinstance(value, str) and len(value) > most:
            wrong.append((key, f"{key} has {len(value)} characters, at most {most}"))
        elif type(value) is not keys[key]:
            wrong.append((key, f"{key} must be {keys[key].__name__}"))
    for key, text in wrong:
        error(key, f"{name}: {text}")
    return not wrong


class Source:
    """A TOML file: its data, and the line of each key."""

    def __init__(self, path, errors):
        self.path, self.shown, self.errors = path, os.path.relpath(path), errors
        text = path.read_text(encoding="utf-8")
        self.lines, self.data = Lines.parse(text), {}
        try:
            self.data = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            line = re.search(r"line (\d+)", str(error))
            errors.add(self.shown, int(line[1]) if line else len(text.splitlines()) or 1,
                       str(error))

    def error(self, table, key, text, nth=0):
        self.errors.add(self.shown, self.lines.of(table, nth, key), text)

    def check(self, table, data, keys, needed, nth=0, at=None):
        return check(lambda key, text: self.error(table, at or key, text, nth), at or table, data,
                     keys, needed)


class Names:
    """names.toml"""

    def __init__(self, source):
        self.source = source
        for block, rows in source.data.items():
            for name, row in rows.items():
                if block not in BLOCKS:
                    source.error(block, name, f"unknown block '{block}'")
                elif type(row) is not list or [type(text) for text in row] != [str] * 3:
                    source.error(block, name, f"counter '{name}': expected [unit, short, long]")
                    rows[name] = ["", "", ""]

    def of(self, block, name):
        return self.source.data.get(block, {}).get(name)


class Layout:
    """One layout: positions of the counters of its products, and its metrics."""

    def __init__(self, source, others, names, uapi):
        self.source, self.names, self.pages = source, names, []
        self.name = source.path.stem
        self.gpus, self.constants, self.blocks = [], {}, {}
        head = source.data.get("layout", {})
        if not source.check("layout", head, LAYOUT_KEYS, ("product", "words", "gpus")):
            return
        self.product, self.words = head["product"], head["words"]
        if self.product not in uapi.kinds["PRODUCT"]:
            source.error("layout", "product", f"unknown product '{self.product}'")
        if "like" in head and head["like"] not in others:
            source.error("layout", "like", f"no layout '{head['like']}' before this one")
        base = others.get(head.get("like"))
        if base:
            self.constants = dict(base.constants)
            self.blocks = {block: dict(rows) for block, rows in base.blocks.items()}
        for gpu in head["gpus"]:
            self.gpu(gpu)
        self.constants.update(source.data.get("constants", {}))
        for block, rows in source.data.items():
            if block in BLOCKS:
                self.block(block, rows, self.blocks.setdefault(block, {}))
            elif block not in ("layout", "constants"):
                source.error(block, None, f"unknown table '{block}'")

    def gpu(self, gpu):
        if not self.source.check("layout", gpu, GPU_KEYS, ("name", "id")):
            return
        if "wide" not in gpu and gpu["id"] & ~gpu.get("mask", 0):
            self.source.error("layout", "gpus",
                              f"product '{gpu['name']}': id {gpu['id']:#x} is not in its mask")
        self.gpus.append(gpu)

    def block(self, block, rows, known):
        for name, row in rows.items():
            wrong = lambda text: self.source.error(block, name, f"counter '{name}': {text}")
            if row is False:
                if known.pop(name, None) is None:
                    wrong("the layout has no such counter to remove")
                continue
            row = {"bit": row} if type(row) is int else row
            if not isinstance(row, dict) or not self.names.of(block, name):
                wrong("not in names.toml" if isinstance(row, dict) else "expected a position")
            elif self.source.check(block, row, COUNTER_KEYS, ("bit",), at=name):
                if row["bit"] >= self.words:
                    wrong(f"bit {row['bit']} is not in 0..{self.words - 1}")
                known[name] = row

    def build(self, Page, uapi, metrics, units):
        """Pages of the database, one for each block."""
        for block, rows in self.blocks.items():
            unit = lambda name: self.names.of(block, name)
            data = {"page": {"product": self.product, "block": block, "clock": BLOCKS[block][0],
                             "text": BLOCKS[block][1]},
                    "counter": [{"name": name, "unit": unit(name)[0], "short": unit(name)[1],
                                 "long": unit(name)[2], **row} for name, row in rows.items()],
                    "metric": [m["row"] for m in metrics if m["block"] == block]}
            lines = Lines({("counter", n): self.source.lines.of(block, 0, name)
                           for n, name in enumerate(rows)})
            self.pages.append(Page(self.source, uapi, data, lines))
            self.pages[-1].units = [u for u in units if u["block"] == block]
        self.pages = [page for page in self.pages if page.ok]
        for page in self.pages:
            page.gpus = sorted({gpu["name"] for gpu in self.gpus})


class Metrics:
    """metrics.toml: each metric and unit resolved for each layout that has it."""

    def __init__(self, source, layouts):
        self.source, self.layouts = source, layouts
        order = source.data.get("metrics", {}).get("layouts", [])
        self.units = source.data.get("constants", {})
        for name in sorted(set(order) ^ set(layouts)):
            source.error("metrics", "layouts", f"layout '{name}' is not in both, files and list")
        self.formulas = {name: {} for name in layouts}
        self.rows = source.data.get("metric", [])
        for nth, row in enumerate(self.rows):
            if not source.check("metric", row, METRIC_KEYS, METRIC_KEYS, nth):
                continue
            for key, formula in row["formula"].items():
                for name in self.range(key, order, nth):
                    if row["name"] in self.formulas[name]:
                        source.error("metric.formula", key, f"metric '{row['name']}': twice "
                                     f"for {name}", nth)
                    self.formulas[name][row["name"]] = (nth, key, formula)
        # parts of the units by layout and name: {"busy": (number, range, formula)}
        self.parts = {name: {} for name in layouts}
        self.unit_rows = source.data.get("unit", [])
        for nth, row in enumerate(self.unit_rows):
            if not source.check("unit", row, UNIT_KEYS, ("name", "advice", "busy"), nth):
                continue
            for part in "busy", "waits":
                for key, formula in row.get(part, {}).items():
                    for name in self.range(key, order, nth, f"unit.{part}"):
                        parts = self.parts[name].setdefault(row["name"], {})
                        if part in parts:
                            source.error(f"unit.{part}", key, f"unit '{row['name']}': twice for "
                                         f"{name}", nth)
                        parts[part] = (nth, key, formula)

    def range(self, key, order, nth, table="metric.formula"):
        found = []
        for part in key.split():
            first, _, last = part.partition("-")
            if first not in order or (last or first) not in order:
                self.source.error(table, key, f"no layouts '{part}'", nth)
                continue
            found += order[order.index(first):order.index(last or first) + 1]
        return [name for name in found if name in self.layouts]

    def block_of(self, layout, name):
        blocks = [block for block, rows in layout.blocks.items() if name in rows]
        if len(blocks) > 1:
            raise ValueError(f"'{name}' is in {' and '.join(blocks)}: which one?")
        if not blocks:
            raise ValueError(f"'{name}' is no counter, constant or metric of {layout.name}")
        return blocks[0]

    def expand(self, layout, name, parents=()):
        """The formula of a metric, see resolve()."""
        if name in parents:
            raise ValueError("a cycle: " + " -> ".join(parents[parents.index(name):] + (name,)))
        return self.resolve(layout, self.formulas[layout.name][name][2], parents + (name,))

    def resolve(self, layout, formula, parents=()):
        """A formula with full counter names, its metrics and constants replaced; its unit."""
        @functools.cache
        def meaning(word):
            if word in VARIABLE_UNITS:
                return word, VARIABLE_UNITS[word]
            if word in COUNTS:
                return f"count.{COUNTS[word]}", ""
            if word in layout.constants:
                return str(layout.constants[word]), self.units[word]
            if word in self.formulas[layout.name]:
                return (f"({self.expand(layout, word, parents)[0]})",
                        self.rows[self.formulas[layout.name][word][0]]["unit"])
            block = self.block_of(layout, word)
            return f"{block}.{word}", layout.names.of(block, word)[0]

        return (walk(formula, Text(lambda word: meaning(word)[0])),
                walk(formula, Units(lambda word: meaning(word)[1])))

    def of(self, layout):
        """Rows of the metrics of a layout, each with its block."""
        found = []
        for name, (nth, key, formula) in self.formulas[layout.name].items():
            row = self.rows[nth]
            wrong = lambda text: self.source.error(
                "metric.formula", key, f"metric '{name}' of {layout.name}: {text}", nth)
            try:
                text, unit = self.expand(layout, name)
                used = [n.split(".") for n in names_of(text) if n not in VARIABLE_UNITS]
                blocks = [block for block, _ in used if block != "count"]
                if not blocks:
                    raise ValueError("uses no counter")
                if unit is not None and unit != dimension(row["unit"]):
                    raise ValueError(f"the formula is in {unit_text(unit)}, not in {row['unit']}")
                for kind, block in used:
                    if kind == "count" and block != blocks[0]:
                        raise ValueError(f"counts blocks of {block}, but is of {blocks[0]}")
            except ValueError as error:
                wrong(error)
                continue
            home = blocks[0]
            single = set(blocks) == {home} or any(kind == "count" for kind, _ in used)
            text = text.replace(f"count.{home}", "block.count")
            text = re.sub(rf"\b{home}\.(?=\w)", "", text)
            found.append({"block": home, "row": {
                "name": name, "unit": row["unit"], "short": row["short"], "long": row["long"],
                "formula": text, "scope": "block" if single else "device"}})
        return found


    def units_of(self, layout):
        """Rows of the units of a layout, each with its block: cycles in which it was busy, and in
        which it waited for others."""
        found = []
        for name, parts in self.parts[layout.name].items():
            texts, blocks = {}, set()
            for part, (nth, key, formula) in parts.items():
                wrong = lambda text: self.source.error(
                    f"unit.{part}", key, f"unit '{name}' of {layout.name}: {text}", nth)
                try:
                    texts[part], unit = self.resolve(layout, formula)
                    if unit not in (None, dimension("cycles")):
                        wrong(f"the formula is in {unit_text(unit)}, not in cycles")
                    blocks.update(n.split(".")[0] for n in names_of(texts[part]))
                except ValueError as error:
                    wrong(error)
            if "busy" not in texts or len(blocks) != 1:
                wrong("needs counters of one block, and busy")
                continue
            home = blocks.pop()
            plain = {part: re.sub(rf"\b{home}\.(?=\w)", "", text) for part, text in texts.items()}
            found.append({"block": home, "name": name, "busy": plain["busy"],
                          "waits": [plain["waits"]] if "waits" in plain else [],
                          "advice": self.unit_rows[nth]["advice"]})
        return found


def folders(files):
    return {path.parent for path in files if path.name == "names.toml"}


def load(folder, Page, uapi, errors):
    found = []
    for place in sorted(folders(folder.rglob("names.toml"))):
        names = Names(Source(place / "names.toml", errors))
        metrics = Source(place / "metrics.toml", errors)
        order = metrics.data.get("metrics", {}).get("layouts", [])
        files = sorted((path for path in place.glob("*.toml")
                        if path.stem not in ("names", "metrics")),
                       key=lambda path: (order.index(path.stem) if path.stem in order else 99))
        known = {}
        for path in files:
            layout = Layout(Source(path, errors), known, names, uapi)
            known[layout.name] = layout
        if errors.found:
            continue
        rows = Metrics(metrics, known)
        for layout in known.values():
            layout.metrics = rows.of(layout)
            layout.build(Page, uapi, layout.metrics, rows.units_of(layout))
        found += known.values()
    return found
