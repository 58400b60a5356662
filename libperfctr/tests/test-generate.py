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
            "--uapi", TOP / "include/uapi/drm", "--uapi", TOP / "lab/vsoc/include/drm"]

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
    ('unit = "%"', 'unit = "%"\n\n[[unit]]\nname = "U"\nbusy = "ONE + 1"', 32,
     "unit 'U': busy: 'ONE' is no counter of this page in cycles"),
    ('unit = "%"', 'unit = "%"\n\n[[unit]]\nname = "U"\nbusy = "1"\ncycles = "block.count"', 33,
     "unit 'U': cycles: 'block.count' is no counter"),
    ('unit = "%"', 'unit = "%"\n\n[[unit]]\nname = "U"\nbusy = "1 +"', 32, "a value expected"),
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


# as published by Nouveau: domain, mode, EVENT and its table, START, multiplexers
PUBLISHED = {
    ("G84", "input_assembler_busy"): (1, "SIMPLE", 0x68697d7e, 0xf888, 0, {"400C0C": 1}),
    ("G84", "stream_out_busy"): (1, "SIMPLE", 0xecec5f5e, 0x8888, 0, {}),
    ("G84", "setup_line_count"): (1, "SIMPLE", 0xecd9d8d4, 0x8080, 0, {}),
    ("G84", "shader_busy"): (3, "SIMPLE", 0x2c2c0400, 0xeeee, 0, {"MPC": 0x100}),
    ("G84", "rop_samples_killed_by_earlyz_count"):
        (2, "EVENT_B6", 0x05048c07, 0xaaaa, 0x03020100, {"408E50": 0x8000001a}),
    ("G80", "gpu_idle"): (1, "SIMPLE", 0xeeeeeec8, 0xaaaa, 0, {}),
    ("G80", "setup_point_count"): (1, "SIMPLE", 0xeee3e2dd, 0x8080, 0, {}),
    ("GT200", "stream_out_busy"): (1, "SIMPLE", 0xecec8584, 0x8888, 0, {}),
    ("GT200", "rop_busy"): (2, "SIMPLE", 0x05040302, 0xf888, 0, {"408750": 0x80000000}),
    ("GT215", "geom_vertex_in_count"):
        (1, "EVENT_B4", 0xecececec, 0x5555, 0xec565554, {"400C0C": 0}),
}
# signals that Nouveau names in domains 1 and 2, which all recipes there are made of; zero included
NAMED = {
    "G80": ({*range(0x20, 0x40), *range(0xdc, 0xe0), 0xe2, 0xe3, 0x7c, 0x7d, 0x7f, 0x80, 0xae,
             0xc8, 0xee}, {*range(8), *range(0x52, 0x56), *range(0x70, 0x74), *range(0x40, 0x43),
                     *range(0x6c, 0x70), 0xee}),
    "G84": ({*range(7, 13), *range(0x5c, 0x80), *range(0xd2, 0xd6), 0xd8, 0xd9, 0xa4, 0xbd, 0xec},
            {*range(8), *range(0x30, 0x34), *range(0x48, 0x4c), *range(0x1a, 0x1d),
             *range(0x44, 0x48), 0x8c}),
    "GT200": ({*range(7, 13), *range(0x46, 0x60), *range(0x82, 0x86), *range(0xde, 0xe2), 0xe4,
               0xe5, 0xb0, 0xc9, 0xec},
              {*range(8), *range(0x55, 0x59), *range(0x78, 0x7c), *range(0x32, 0x35),
               *range(0x74, 0x78), 0xec}),
}
UNPUBLISHED = {f"shaded_pixel_count_{n}" for n in range(3)}


def chipset_recipes(path, chipset):
    """The kernel's table for a chipset: {name: (domain, mode, event, op, start, muxes)}."""
    subprocess.run([*GENERATE, "kernel", "NV50", path, chipset], check=True)
    text = path.read_text()
    names = {int(n): name.lower() for name, n in
             re.findall(r"NV50_PCOUNTER_(\w+) = (\d+)", text)}
    rows = re.search(r"NV50_PCOUNTER_RECIPES\(X\)(.*?)\n\n", text, re.S)[1]
    found = {}
    for row in re.findall(r"X\((.*?)\)", rows):
        bit, domain, mode, event, op, start, _, *mux = row.split(", ")
        muxes = dict(zip(mux[::2], mux[1::2]))
        found[names[int(bit)]] = (
            int(domain), mode.removeprefix("PCOUNTER_"), int(event[:-1], 16), int(op[:-1], 16),
            int(start[:-1], 16), {m.removeprefix("NV50_MUX_"): int(v[:-1], 16)
                                  for m, v in muxes.items() if not m.endswith("NONE")})
    return found


def chipsets(folder):
    path = Path(folder) / "chipset.h"
    tables = {name: chipset_recipes(path, name) for name in ("G80", "G84", "GT200", "GT215")}
    wrong = {key: tables[key[0]].get(key[1]) for key, recipe in PUBLISHED.items()
             if tables[key[0]].get(key[1]) != recipe}
    report(not wrong, "recipes of chipsets are those published", f"{wrong}")
    report(tables["G84"].keys() == tables["GT200"].keys() == tables["GT215"].keys() ==
           tables["G80"].keys() | UNPUBLISHED, "every counter has a recipe in every chipset family",
           f"{ {name: len(t) for name, t in tables.items()} }")
    strange = [(name, counter, hex(signal)) for name, named in NAMED.items()
               for counter, (domain, mode, event, _, start, _) in tables[name].items()
               for word in (event, *([start] if mode != "SIMPLE" else ()))
               for signal in word.to_bytes(4, "big")
               if domain in (1, 2) and signal not in named[domain - 1]]
    report(not strange, "recipes use signals that Nouveau names", f"{strange}")
    done = subprocess.run([*GENERATE, "kernel", "NV50", path, "G7"], capture_output=True, text=True,
                          check=False)
    report(done.returncode and "G80, GT200" in done.stderr, "an unknown chipset", done.stderr)


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


print(f"1..{len(MISTAKES) + len(FILTER_MISTAKES) + len(RECIPE_MISTAKES) + 16}")
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
    chipsets(folder)

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
    verdicts.write_text(json.dumps({"format": "perfctr verdicts 2", "verdicts": {
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
    verdicts.write_text(json.dumps({"format": "perfctr verdicts 2", "verdicts": {
        "vsoc_csf.shader.one": {"trust": "trusted"},
        "vsoc_csf.shader.three": {"trust": "trusted"}}}), encoding="utf-8")
    status, _, errors = run(folder, "trust", verdicts)
    report(status == 1 and "three: not in the database" in errors and
           "definition" not in page.read_text(encoding="utf-8"),
           "a verdict that is replaced takes its definition along; an unknown counter is named",
           errors)
    verdicts.write_text(json.dumps({"format": "perfctr verdicts 1", "verdicts": {
        "vsoc_csf.shader.one": {"trust": "trusted"}}}), encoding="utf-8")
    status, _, errors = run(folder, "trust", verdicts)
    report(status == 1 and "validate again" in errors,
           "verdicts that an older version saved are refused", errors)
    verdicts.unlink()

# enumerators of the headers have a name in the library, and blocks of PMUs have a PMU
header = "".join(p.read_text(encoding="utf-8")
                 for p in sorted((TOP / "include/uapi/drm").glob("perfctr_*.h")))
for table, name in (("counters/names.c",
                     r"(?:[A-Z0-9]+_)?BLOCK_\w+|SAMPLE_\w+|STATE_\w+"),
                    ("counters/pmu_kinds.c", r"TEGRA410_BLOCK_\w+")):
    rows = set(re.findall(r"\bDRM_PERFCTR_\w+",
                          (TOP / "libperfctr/src" / table).read_text(encoding="utf-8")))
    known = set(re.findall(rf"^(?:\t|#define )(DRM_PERFCTR_(?:{name}))(?: =|\t)", header, re.M))
    known -= {"DRM_PERFCTR_PRODUCT_UNKNOWN", "DRM_PERFCTR_BLOCK_INFO_SECTIONS"}
    report(len(known) > 5 and rows.issuperset(known), f"src/{table} knows all of the headers",
           ", ".join(sorted(known - rows)))

sys.exit(not all(results))
