# SPDX-License-Identifier: MIT
"""Lists: counters of which nothing is known but names and positions.

A folder with a lists.toml has what its products share there: texts of blocks, counters in cycles
whose names do not say so, metrics. The other files are products, NAME = position below [BLOCK];
[same] has blocks with another one's counters. Text and unit of a counter come from its name.
"""
import re

from layouts import Lines, Source

LIST_KEYS = {"product": str}
METRIC_KEYS = {"block": str, "name": str, "short": str, "long": str, "formula": str, "unit": str}
# words of four letters and more that are none
ACRONYMS = set("ASTC CBSYNC CCHE CMPDECMP FADD FMUL GBIF GMEM IMUL LPAC PGMEM SPTROC STCHE STPROC "
               "UBWC UCHE VBIF VPCRAM VPCUS".split())


# shorter ones that are
WORDS = set("ALL AND BIN BUS BY END FOR HIT IN LOW MAX MIN NO NOT NUM OF ON OR OUT PER SET "
            "TO".split())


def words_of(name):
    """STALL_CYCLES_VFD: Stall cycles VFD."""
    words = [word.lower() if word in WORDS or
             (len(word) > 3 and word not in ACRONYMS and re.search("[AEIOU]", word) and
              not re.search(r"\d", word)) else word for word in name.split("_")]
    text = " ".join(words)
    return text[0].upper() + text[1:]


class Listed:
    """One product."""

    def __init__(self, source, common, uapi):
        self.source, self.name, self.gpus, self.pages = source, source.path.stem, [], []
        head = source.data.get("list", {})
        if not source.check("list", head, LIST_KEYS, LIST_KEYS):
            return
        self.product = head["product"]
        if self.product not in uapi.kinds["PRODUCT"]:
            source.error("list", "product", f"unknown product '{self.product}'")
            return
        self.same = source.data.get("same", {})
        self.blocks = {block: rows for block, rows in source.data.items()
                       if block not in ("list", "same")}
        for block, other in self.same.items():
            if other in self.blocks:
                self.blocks[block] = self.blocks[other]
            else:
                source.error("same", block, f"no block '{other}'")
        for block in self.blocks:
            if block not in common.data["blocks"]:
                source.error(block, None, f"block '{block}' is not in lists.toml")

    def build(self, Page, uapi, common):
        cycles, metrics = common.data.get("cycles", {}), common.data.get("metric", [])
        for block, rows in self.blocks.items():
            unit = lambda name: ("cycles" if name in cycles.get(block, ()) or
                                 re.search("(^|_)CYCLES?(_|$)", name) else "events")
            data = {"page": {"product": self.product, "block": block,
                             "text": common.data["blocks"][block]},
                    "counter": [{"bit": bit, "name": name, "short": words_of(name),
                                 "unit": unit(name), "availability": "device"}
                                for name, bit in rows.items()],
                    "metric": [{k: v for k, v in m.items() if k != "block"} for m in metrics
                               if m["block"] == block]}
            place = self.same.get(block, block)
            page = Page(self.source, uapi, data, Lines(
                {("counter", n): self.source.lines.of(place, 0, name)
                 for n, name in enumerate(rows)}))
            page.gpus, page.own_units = [], True
            self.pages.append(page)
        self.pages = [page for page in self.pages if page.ok]


def folders(files):
    return {path.parent for path in files if path.name == "lists.toml"}


def load(folder, Page, uapi, errors):
    found = []
    for place in sorted(folders(folder.rglob("lists.toml"))):
        common = Source(place / "lists.toml", errors)
        for nth, row in enumerate(common.data.get("metric", [])):
            common.check("metric", row, METRIC_KEYS, ("block", "name", "short", "formula", "unit"),
                         nth)
        products = [Listed(Source(path, errors), common, uapi)
                    for path in sorted(place.glob("*.toml")) if path.name != "lists.toml"]
        if not errors.found:
            for product in products:
                product.build(Page, uapi, common)
            found += products
    return found
