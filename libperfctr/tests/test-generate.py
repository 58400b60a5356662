#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The generator reports every kind of mistake in the database with its file and line."""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
GENERATE = [sys.executable, TOP / "libperfctr/counters/generate.py",
            "--uapi", TOP / "include/uapi/drm"]

PAGE = """\
[page]
product = "VSOC_CSF"
block = "SHADER"
clock = "SHADER"
text = "Cores."

[[counter]]
bit = 4
id = "one"
name = "ONE"
short = "First"
unit = "things"
kind = "count"

[[counter]]
bit = 5
id = "two"
name = "TWO"
short = "Second"
unit = "things"
kind = "count"

[[metric]]
id = "ratio"
name = "ratio"
short = "Ratio"
formula = "ONE / TWO"
unit = "%"
"""

FILTERS = """\
[page]
product = "TEGRA410"
block = "PCIE"
pmu = "nvidia_pcie_pmu_"
text = "PCIe."

[[filter]]
name = "one"
bits = "config1:0-7"
short = "One"

[[filter]]
name = "two"
bits = "config1:8"
short = "Two"
"""

FILTER_MISTAKES = [
    ('config1:8', 'config1:8', 0, ""),
    ('config1:8', 'config1:7', 14, "bits config1:7, those of 'one'"),
    ('config1:8', 'config2:0-64', 14, "bits 'config2:0-64', not as"),
    ('config1:8', 'config2:9-8', 14, "bits 'config2:9-8', not as"),
    ('config1:8', 'config3:0', 14, "bits 'config3:0', not as"),
    ('name = "two"', 'name = "one"', 13, "filter 'one' is there already"),
    ('name = "two"', 'name = "a b"', 13, "filter 'a b' is no name"),
    ('short = "Two"', '', 12, "missing short"),
    ('"TEGRA410"\nblock = "PCIE"', '"VSOC_CSF"\nblock = "SHADER"', 8,
     "SHADER blocks have no filters"),
]

# replaced text, replacement, line of the message, part of the message
MISTAKES = [
    ('bit = 5', 'bit = 4', 16, "bit 4 is taken by 'one' ({page}:8)"),
    ('bit = 5', 'bit = 3', 16, "bits 0..3 are the block's header"),
    ('bit = 5', 'bit = 256', 16, "bit 256 is not in 0..255"),
    ('bit = 5', 'bit = "5"', 16, "bit must be int"),
    ('bit = 5\n', '', 15, "counter 'TWO': missing bit"),
    ('id = "two"', 'id = "one"', 17, "id 'vsoc_csf.shader.one' is taken by 'one' ({page}:9)"),
    ('id = "two"', 'id = "Two"', 17, "an id is lower-case"),
    ('name = "TWO"', 'name = "ONE"', 18, "name 'ONE' is taken by 'one' ({page}:10)"),
    ('name = "TWO"', 'name = "2"', 18, "'2' is no name"),
    ('unit = "things"\nkind = "count"\n\n[[metric]]', 'kind = "count"\n\n[[metric]]', 15,
     "counter 'TWO': missing unit"),
    ('kind = "count"\n\n[[metric]]', 'kind = "many"\n\n[[metric]]', 21, "kind 'many' is none of"),
    ('short = "Second"', 'shrot = "Second"', 19, "unknown key 'shrot'"),
    ('formula = "ONE / TWO"', 'formula = "ONE / THREE"', 27,
     "no counter 'THREE' in VSOC_CSF.SHADER"),
    ('formula = "ONE / TWO"', 'formula = "ONE / TILER.ONE"', 27, "no counter 'TILER.ONE'"),
    ('formula = "ONE / TWO"', 'formula = "ONE /"', 27, "a value expected"),
    ('formula = "ONE / TWO"', 'formula = "ONE $ TWO"', 27, "'$' has no place"),
    ('formula = "ONE / TWO"', 'formula = "avg(ONE, TWO)"', 27, "unknown function 'avg'"),
    ('formula = "ONE / TWO"', 'formula = "min(ONE)"', 27, "',' expected"),
    ('formula = "ONE / TWO"', 'formula = "1 + elapsed_s"', 27, "uses no counter"),
    ('formula = "ONE / TWO"', 'formula = "ONE / elapsed_s"', 27, "is in thing/s, not in %"),
    ('formula = "ONE / TWO"', 'formula = "ONE + elapsed_s"', 27, "'+' of thing and s"),
    ('formula = "ONE / TWO"', 'formula = "ONE[bytes]"', 27, "is in byte, not in %"),
    ('short = "Second"', f'short = "{"x" * 57}"', 19, "short has 57 characters, at most 56"),
    ('short = "Second"', 'short = "Second"\nshift = 17', 20, "shift 17 is not in 0..16"),
    ('unit = "%"', '', 23, "metric 'ratio': missing unit"),
    ('block = "SHADER"', 'block = "CORE"', 3, "unknown block 'CORE'"),
    ('product = "VSOC_CSF"', 'product = "X"', 2, "unknown product 'X'"),
    ('clock = "SHADER"', 'clock = "FAST"', 4, "unknown clock 'FAST'"),
    ('text = "Cores."', '', 1, "missing text"),
    ('bit = 5', 'bit = ', 16, "line 16"),
    ('[[metric]]', '[[metrics]]', 23, "unknown table 'metrics'"),
    ('bit = 5', 'bit = 5\nsets = ["FOURTH"]', 17, "unknown set 'FOURTH'"),
    ('bit = 5', 'bit = 5\ntrust = "sure"', 17, "trust 'sure' is none of"),
]

UCF = """\
[page]
product = "TEGRA410"
block = "UCF"
pmu = "nvidia_ucf_pmu_"
text = "Fabric."

[[counter]]
bit = 1
event = 0x100000000
name = "cycles"
short = "Cycles"
unit = "cycles"
"""

PCOUNTER = """\
[page]
product = "NV50"
block = "PCOUNTER"
text = "Macro signals."

[[counter]]
bit = 0
name = "one"
short = "First"
unit = "cycles"
recipe = { domain = 1, mode = "EVENT_B4", event = 0xec, event_op = 0x5555, \
start = 0x76, start_op = 0xffff, mux = { MPC = 3 } }
"""

RECIPE_MISTAKES = [
    ("domain = 1", "domain = 8", "domain is not in 0x0..0x7"),
    ("EVENT_B4", "EVENT_B5", "mode 'EVENT_B5' is none of"),
    (", start_op = 0xffff", "", "mode 'EVENT_B4' needs start and start_op"),
    ("event = 0xec, ", "", "missing event"),
    ("MPC = 3", "MPD = 3", "mux must be registers"),
    ("MPC = 3", '"0x1" = 1, "0x2" = 2, MPC = 3', "at most 2 registers"),
    ("domain = 1", "domain = 1, colour = 1", "unknown key 'colour'"),
    ("PCOUNTER", "MP", "unknown key 'domain'"),
    ("PCOUNTER", "FW", "FW blocks have none"),
    ("recipe =", "#", "recipe: missing"),
]

results = []


def report(good, name, text=""):
    results.append(good)
    if not good:
        print("# " + text.replace("\n", "\n# "))
    print(f"{'ok' if good else 'not ok'} {len(results)} - {name}")


def run(folder, *arguments):
    done = subprocess.run([*GENERATE, "--database", folder, *arguments], capture_output=True,
                          text=True)
    return done.returncode, done.stdout, done.stderr


def page_of(folder, text):
    path = Path(folder) / "page.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refuses(folder, page, rows, kind=""):
    """Rows are what to replace, by what, perhaps the line, and the message; "": no mistake."""
    for old, new, *line, text in rows:
        at = page.rindex(old)
        page_of(folder, page[:at] + new + page[at + len(old):])
        status, _, errors = run(folder, "check")
        place = f"page.toml:{line[0]}: " if line else "page.toml:"
        shown = any(place in found and all(part in found for part in text.split("{page}"))
                    for found in errors.splitlines())
        report(status == bool(text) and shown == bool(text),
               f"{kind}{old.splitlines()[0]} -> {new.splitlines()[0] if new else 'nothing'}",
               f"expected line {line}: {text}\n{errors}")


print(f"1..{len(MISTAKES) + len(FILTER_MISTAKES) + len(RECIPE_MISTAKES) + 11}")
with tempfile.TemporaryDirectory() as folder:
    page_of(folder, PAGE)
    status, _, errors = run(folder, "check")
    report(status == 0 and not errors, "a page without mistakes passes", errors)

    refuses(folder, PAGE, MISTAKES)
    refuses(folder, FILTERS, FILTER_MISTAKES, "filters: ")
    page_of(folder, PCOUNTER)
    status, _, errors = run(folder, "check")
    report(status == 0 and not errors, "a page with recipes passes", errors)
    header = Path(folder) / "recipes.h"
    run(folder, "kernel", "NV50", header)
    text = header.read_text(encoding="utf-8")
    report("X(0, 1, PCOUNTER_EVENT_B4, 0xecu, 0x5555u, 0x76u, 0xffffu, "
           "NV50_MUX_MPC, 0x3u, NV50_MUX_NONE, 0u)" in text
           and "#define NV50_PCOUNTER_DOMAIN1\t0x0000000000000001ULL" in text,
           "recipes for the kernel", text)
    refuses(folder, PCOUNTER, RECIPE_MISTAKES, "recipe: ")

    page_of(folder, UCF)
    status, _, errors = run(folder, "check")
    report(status == 1 and "page.toml:8: " in errors and "the uAPI header has bit 0" in errors,
           "positions of SoC events are those of the uAPI header", errors)

    page_of(folder, PAGE)
    header = Path(folder) / "out.h"
    run(folder, "kernel", "VSOC_CSF", header)
    before = header.read_text(encoding="utf-8")
    report("VSOC_SHADER_TWO = 5," in before and "#define VSOC_SHADER_AVAILABLE" in before,
           "the kernel header has the positions", before)

    verdicts = Path(folder).parent / f"{Path(folder).name}.json"
    verdicts.write_text(json.dumps({"format": "perfctr verdicts 1", "verdicts": {
        "vsoc_csf.shader.one": {"trust": "explained", "definition": 'A "B"'},
        "vsoc_csf.shader.two": {"trust": "trusted", "definition": None}}}), encoding="utf-8")
    status, _, errors = run(folder, "trust", verdicts)
    page = Path(folder) / "page.toml"
    text = page.read_text(encoding="utf-8")
    report(status == 0 and text.count("trust = ") == 2 and 'definition = "A \\"B\\""' in text and
           run(folder, "check")[0] == 0, "verdicts come into the database", text + errors)
    run(folder, "trust", verdicts)
    report(page.read_text(encoding="utf-8") == text, "the same verdicts again change nothing")
    run(folder, "tables", Path(folder) / "out.c")
    tables = (Path(folder) / "out.c").read_text(encoding="utf-8")
    report('.definition = "A \\"B\\""' in tables and ".definition = NULL" in tables and
           "PERFCTR_TRUST_EXPLAINED" in tables, "tables have verdict and definition", tables[:500])
    verdicts.write_text(json.dumps({"format": "perfctr verdicts 1", "verdicts": {
        "vsoc_csf.shader.one": {"trust": "trusted"},
        "vsoc_csf.shader.three": {"trust": "trusted"}}}), encoding="utf-8")
    status, _, errors = run(folder, "trust", verdicts)
    report(status == 1 and "three: not in the database" in errors and
           "definition" not in page.read_text(encoding="utf-8"),
           "a verdict that is replaced takes its definition along; an unknown counter is named",
           errors)
    verdicts.unlink()

# enumerators of the headers have a name in the library, and blocks of PMUs have a PMU
header = "".join(p.read_text(encoding="utf-8")
                 for p in sorted((TOP / "include/uapi/drm").glob("perfctr_*.h")))
for table, name in (("counters/names.c",
                     r"(?:[A-Z0-9]+_)?BLOCK_\w+|SAMPLE_\w+|STATE_\w+"),
                    ("counters/pmu.c", r"TEGRA410_BLOCK_\w+")):
    rows = set(re.findall(r"\bDRM_PERFCTR_\w+",
                          (TOP / "libperfctr/src" / table).read_text(encoding="utf-8")))
    known = set(re.findall(rf"^(?:\t|#define )(DRM_PERFCTR_(?:{name}))(?: =|\t)", header, re.M))
    known -= {"DRM_PERFCTR_PRODUCT_UNKNOWN", "DRM_PERFCTR_BLOCK_INFO_SECTIONS"}
    report(len(known) > 5 and rows.issuperset(known), f"src/{table} knows all of the headers",
           ", ".join(sorted(known - rows)))

sys.exit(not all(results))
