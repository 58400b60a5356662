#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Layouts that products share: counts of each product, and every mistake that is refused."""
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "libperfctr/counters"))
import generate  # noqa: E402

UAPI = generate.Uapi(TOP / "include/uapi/drm")

# front end, tiler, memory system, shader core, neural engine; metrics, constants and variables
COUNTS = {
    (11, 11, 8, 31, 0, 34, 8): "T720",
    (23, 21, 17, 34, 0, 35, 8): "T760 T860 T880",
    (23, 11, 17, 34, 0, 35, 8): "T820 T830",
    (27, 25, 48, 57, 0, 91, 13): "G71 G72 G51 G31",
    (27, 25, 48, 59, 0, 93, 13): "G76 G52",
    (27, 26, 48, 59, 0, 99, 13): "G77 G57",
    (27, 26, 48, 59, 0, 100, 13): "G78 G68 G78AE",
    (35, 23, 45, 57, 0, 107, 13): "G710 G510 G310 G610",
    (35, 23, 45, 76, 0, 111, 13): "G715 Immortalis-G715 G615",
    (35, 26, 45, 84, 0, 110, 13): "G720 Immortalis-G720 G620",
    (40, 25, 45, 102, 0, 118, 13): "G725 Immortalis-G925 G625",
    (40, 25, 42, 110, 0, 124, 13): "G1-Ultra G1-Premium G1-Pro",
    (45, 25, 42, 117, 67, 69, 13): "G2-Ultra G2-Premium G2-Pro",
}
VARIABLES = 3  # cores, L2 slices, bytes of a bus beat
SHIFTED = {("G715", "FRAG_SHADER_THREADS", 2), ("G720", "FRAG_SHADER_THREADS", 2),
           ("G725", "FRAG_SHADER_THREADS", 2), ("G1", "FRAG_SHADER_THREADS", 2),
           ("G725", "VBU_HIT", 4), ("G725", "VCACHE_HIT", 4),
           ("G1", "VBU_HIT", 4), ("G1", "VCACHE_HIT", 4)}

# the sum of position x length of the name x number of the block, of all counters
PLACES = {
    "G710": 305257, "G715": 425874, "G720": 549105, "G725": 803503, "G1": 879008, "G2":
    1277115, "T720": 57426, "T760": 149236, "T830": 143248, "T880": 149236, "G71": 309852,
    "G72": 309852, "G31": 329797, "G51": 329767, "G52": 332732, "G76": 332702, "G77":
    326639, "G78": 326639,
}

NAMES = """\
[TILER]
ONE = ["things", "One", "The first."]
TWO = ["things", "Two", "The second."]
"""
LAYOUT = """\
[layout]
product = "MALI_V10"
words = 64
gpus = [{ name = "GPU", id = 0xa002, mask = 0xf00f }]

[constants]
size = 16

[TILER]
ONE = 4
TWO = { bit = 5, shift = 2 }
"""
METRICS = """\
[metrics]
layouts = ["a"]

[constants]
size = "bytes/thing"

[[metric]]
name = "rate"
unit = "bytes/s"
short = "Rate"
long = "The rate."
[metric.formula]
"a" = "ONE * size / elapsed_s"

[[metric]]
name = "other"
unit = "bytes"
short = "Other"
long = "The other."
[metric.formula]
"a" = "rate * elapsed_s"

[[unit]]
name = "U"
advice = "Try."
[unit.busy]
"a" = "ONE[cycles]"
[unit.waits]
"a" = "TWO[cycles]"
"""
# file, text, replacement, line, part of the message
MISTAKES = [
    ("a", "TWO = { bit = 5", "TWO = { bit = 4", 11, "bit 4 is taken by 'one'"),
    ("a", "ONE = 4", "ONE = 64", 10, "bit 64 is not in 0..63"),
    ("a", "ONE = 4", "THREE = 4", 10, "'THREE': not in names.toml"),
    ("a", "ONE = 4", "ONE = false", 10, "no such counter to remove"),
    ("a", "shift = 2", "shift = true", 11, "shift must be int"),
    ("a", "words = 64", "words = 64\nlike = \"b\"", 4, "no layout 'b' before"),
    ("a", "0xf00f", "0xf000", 4, "id 0xa002 is not in its mask"),
    ("a", "MALI_V10", "MALI_X", 2, "unknown product 'MALI_X'"),
    ("a", "[TILER]", "[TILERS]", 9, "unknown table 'TILERS'"),
    ("names", '"The second."', "2", 3, "expected [unit, short, long]"),
    ("metrics", "rate * elapsed_s", "other * elapsed_s", 21, "a cycle: other -> other"),
    ("metrics", "ONE * size", "other * size", 13, "a cycle: rate -> other -> rate"),
    ("metrics", "ONE * size", "THREE * size", 13, "'THREE' is no counter, constant or metric of a"),
    ("metrics", "ONE * size /", "ONE * size *", 13, "is in byte x s, not in bytes/s"),
    ("metrics", "ONE * size", "ONE + size", 13, "'+' of thing and byte/s/thing"),
    ("metrics", "rate * elapsed_s", "size[bytes]", 21, "uses no counter"),
    ("metrics", "rate * elapsed_s", "core_count[bytes] * ONE[]", 21, "counts blocks of SHADER"),
    ("metrics", '"a" = "rate', '"b" = "rate', 21, "no layouts 'b'"),
    ("metrics", '["a"]', '["a", "b"]', 2, "layout 'b' is not in both"),
    ("metrics", 'short = "Other"\n', "", 15, "missing short"),
    ("metrics", "ONE[cycles]", "ONE", 27, "unit 'U' of a: the formula is in thing, not in cycles"),
    ("metrics", "TWO[cycles]", "elapsed_ns[cycles]", 29, "needs counters of one block"),
    ("metrics", '"a" = "ONE[cycles]"', '"b" = "ONE[cycles]"', 27, "no layouts 'b'"),
    ("metrics", 'advice = "Try."\n', "", 23, "missing advice"),
]


def report(good, name, text=""):
    report.count += 1
    if not good:
        print("# " + str(text).replace("\n", "\n# "))
    print(f"{'ok' if good else 'not ok'} {report.count} - {name}")


def errors_of(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / f"{name}.toml").write_text(text, encoding="utf-8")
        return generate.Database([Path(folder)], UAPI).errors.found


report.count = 0
print(f"1..{len(MISTAKES) + 7}")
database = generate.Database([generate.HERE], UAPI)
found = {}
for layout in database.layouts:
    front = {**layout.blocks.get("JM", {}), **layout.blocks.get("CSHW", {})}
    counts = [len(front)] + [len(layout.blocks.get(block, ()))
                             for block in ("TILER", "MEMSYS", "SHADER", "NEURAL")]
    extra = len(layout.constants) + VARIABLES if layout.metrics else 0
    for gpu in layout.gpus:
        found[gpu["name"]] = (*counts, len(layout.metrics), extra)
expected = {name: counts for counts, names in COUNTS.items() for name in names.split()}
report(found == expected and len(found) == 36, "each product has the counters of the reference",
       {name: (found.get(name), expected.get(name)) for name in {**found, **expected}
        if found.get(name) != expected.get(name)})
shifted = {(layout.name, name, row["shift"]) for layout in database.layouts
           for rows in layout.blocks.values() for name, row in rows.items() if "shift" in row}
report({row for row in shifted if row[0] != "G2"} == SHIFTED, "and its shifts", shifted)
places = {layout.name: sum(row["bit"] * len(name) * UAPI.kinds["BLOCK"][block]
                           for block, rows in layout.blocks.items()
                           for name, row in rows.items()) for layout in database.layouts}
report(places == PLACES, "every counter is at its position", places)
long = [m["name"] for layout in database.layouts for page in layout.pages for m in page.metrics
        if len(m["formula"]) > generate.layouts.LIMITS["formula"]]
report(not long, "expanded formulas are within limits", long)

pages = generate.docs(database)
unseen = [gpu["name"] for layout in database.layouts for gpu in layout.gpus
          if not any(line.startswith("GPUs: ") and gpu["name"] in line.rstrip(".")[6:].split(", ")
                     for line in pages.splitlines())]
report(not unseen, "the page for people has each product", unseen)
manual = generate.manual(database)
unseen = [gpu["name"] for layout in database.layouts for gpu in layout.gpus
          for page in (manual[manual[f"perfctr-{gpu['name'].lower()}"]],) for block in layout.pages
          if not all(f'.BR {generate.roff(row["name"])} " " [{row["unit"]}]' in page
                     for row in block.counters + block.metrics)]
report(not unseen, "the man pages have each product", unseen)

FILES = {"names": NAMES, "a": LAYOUT, "metrics": METRICS}
report(not errors_of(FILES), "a layout without mistakes passes", errors_of(FILES))
for file, old, new, line, text in MISTAKES:
    assert old in FILES[file], old
    errors = errors_of({**FILES, file: FILES[file].replace(old, new)})
    report(any(path.endswith(f"{file}.toml") and at == line and text in message
               for path, at, message in errors), f"{file}: {old} -> {new}".replace("\n", " "),
           f"expected line {line}: {text}: {errors}")
