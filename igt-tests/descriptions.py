# SPDX-License-Identifier: MIT
"""Subtests and what they show, from the programs, which alone have these.

As comments for IGT's igt_doc.py: a SUBTEST and its Description for each igt_describe().
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


def document(text, program):
    """The source of a program, with a SUBTEST for each in the comment of its TEST."""
    changed, count = re.subn(r"(/\*\*\n \* TEST: .*?)( \*/\n)",
                             lambda m: m[1] + comment(program) + m[2], text, count=1, flags=re.S)
    if not count:
        sys.exit(f"{program}: its source has no comment with a TEST")
    return changed
