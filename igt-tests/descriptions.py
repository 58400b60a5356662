#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Subtests and what they show, from the programs, which alone have these.

usage: igt-tests/descriptions.py PROGRAM SOURCE adds the comments that IGT's igt_doc.py reads to
the SOURCE of a PROGRAM: a SUBTEST and its Description for each igt_describe().
"""

import re
import subprocess
import sys
import textwrap

NONE = "NO DOCUMENTATION!"
COLUMNS = 100


def subtests(program):
    """(name, description) of each subtest in its order; None: not described."""
    text = subprocess.run([program, "--describe"], check=True, capture_output=True,
                          text=True).stdout
    found = []
    for name, lines in re.findall(r"^SUB (\S+) \S+\n((?:  .*\n)*)", text, re.M):
        words = " ".join(lines.split())
        found.append((name, None if words in ("", NONE) else words))
    return found


def comment(program):
    """Lines for the comment of a TEST."""
    lines = []
    for name, text in subtests(program):
        wrapped = textwrap.wrap(f"Description: {text}", COLUMNS - len(" * "),
                                subsequent_indent="  ")
        lines += ["", f"SUBTEST: {name}", *wrapped]
    return "".join(f" * {line}".rstrip() + "\n" for line in lines)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: igt-tests/descriptions.py PROGRAM SOURCE")
    program, source = sys.argv[1:]
    with open(source, encoding="utf-8") as f:
        text = f.read()
    changed, count = re.subn(r"(/\*\*\n \* TEST: .*?)( \*/\n)",
                             lambda m: m[1] + comment(program) + m[2], text, count=1, flags=re.S)
    if not count:
        sys.exit(f"{source}: no comment with a TEST")
    with open(source, "w", encoding="utf-8") as f:
        f.write(changed)


if __name__ == "__main__":
    main()
