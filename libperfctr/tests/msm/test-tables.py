#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: test-tables.py KERNEL
The pages of Adreno against the tables of a kernel's source. Prints TAP."""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parents[3]
PAGES = TOP / "libperfctr/counters/adreno"
MSM = Path(sys.argv[1]) / "drivers/gpu/drm/msm/registers"
sys.path.insert(0, str(TOP / "libperfctr/counters"))
import generate  # noqa: E402

NUMBER = 0


def report(good, name, text=""):
    global NUMBER
    NUMBER += 1
    if not good:
        print("# " + str(text).replace("\n", "\n# "))
    print(f"{'ok' if good else 'not ok'} {NUMBER} - {name}")


def kernels_own(generation):
    """Group -> {selector: name}, as the kernel's own generator prints them."""
    out = subprocess.run(
        [sys.executable, MSM / "gen_header.py", "--no-validate", "--rnn", MSM, "--xml",
         MSM / "adreno/a6xx.xml", "perfcntrs", "--json",
         MSM / f"adreno/a{generation}xx_perfcntrs.json"],
        stdout=subprocess.PIPE, text=True, check=True).stdout
    lists = {name: {int(value): text for text, value in
                    re.findall(r'\{ "(\w+)", (\d+) \}', body)}
             for name, body in re.findall(r"countable (\w+)_countables\[\] = \{(.*?)\};", out,
                                          re.S)}
    return {group: lists[countables] for group, countables in
            re.findall(r'GROUP\("(\w+)", \w+, \w+, (\w+)_countables\)', out)}


def main():
    print("1..7")
    with tempfile.TemporaryDirectory() as work:
        subprocess.run([PAGES / "import.py", sys.argv[1], work], check=True)
        for made in sorted(Path(work).iterdir()):
            report(made.read_text(encoding="utf-8") ==
                   (PAGES / made.name).read_text(encoding="utf-8"),
                   f"{made.name} is what import.py makes of this kernel")
    database = generate.Database([generate.HERE], generate.Uapi(
        TOP / "include/uapi/drm", *{h.parent for h in generate.HERE.rglob("*.h")}))
    report(not database.errors.found, "the database has no mistake", database.errors.found)
    for generation in (6, 7, 8):
        ours = {page.head["block"]: {c["bit"]: c["name"] for c in page.counters}
                for page in database.pages
                if page.head["product"] == f"ADRENO_A{generation}XX"}
        theirs = {group: {n: text for n, text in rows.items()
                          if not re.search("NEVER_COUNT|_RESERVED_", text)}
                  for group, rows in kernels_own(generation).items()}
        wrong = [(group, n, text, ours.get(group, {}).get(n)) for group, rows in theirs.items()
                 for n, text in rows.items()
                 if not text.endswith(re.sub(r"(_FULL)_\d+$", r"\1",
                                             ours.get(group, {}).get(n, "-").replace("-", "_")))]
        report(not wrong and {g: len(r) for g, r in ours.items()} ==
               {g: len(r) for g, r in theirs.items()},
               f"a{generation}xx: each counter has the selector of the kernel's own list",
               wrong or {g: (len(ours.get(g, ())), len(r)) for g, r in theirs.items()})


if __name__ == "__main__":
    main()
