#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: test-tool.py PERFCTR
The commands on the GPU of tool.c, of whose type of block the library has no name. Prints TAP."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
# found through the path above
from tool import run  # noqa: E402
from harness import check, main, test  # noqa: E402

GPU = ("-d", "vsoc")


@test
def described():
    """info and list have the type by its number"""
    text = run("info", *GPU)
    check("\n  type200        2 counters, clock top, type200.0 type200.1\n" in text, text)
    text = run("list", *GPU)
    check("  type200/C0 " in text and "to type200/C1: counters without names" in text, text)


@test
def counted():
    """stat takes the type, a block of it and, without -e, all that there is"""
    for events, expected in ((("-e", "type200/C0"), ["type200/C0"]),
                             (("-e", "type200"), ["type200/C0", "type200/C1"]),
                             (("-e", "type200.1/C1"), ["type200.1/C1"]),
                             ((), ["type200/C0", "type200/C1"])):
        text = run("stat", "-j", *GPU, *events, "--", "true")
        found = [row["event"] for row in json.JSONDecoder().raw_decode(text)[0]["counters"]]
        check([name for name in found if name.startswith("type")] == expected, text)


@test
def misspelt():
    """a device that is not there: those that are, and nothing about what a machine lacks"""
    text = run("stat", "-d", "vsok", "--", "true", status=4)
    check(text == 'perfctr stat: no device "vsok"; those with counters: renderD128 (vsoc), local\n',
          text)


if __name__ == "__main__":
    sys.exit(main())
