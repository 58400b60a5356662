#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/evidence.md followed to the letter: its commands are run, its outputs must come. Prints TAP;
needs gcc and objdump, no device."""

import os
import platform
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tests"))
import harness
from harness import check, test

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
BUILD = os.environ.get("BUILD") or os.path.join(TOP, "build")
PAGE = os.path.join(TOP, "docs/evidence.md")


def example():
    """[(commands, lines of output that follow)] of the page's example"""
    with open(PAGE, encoding="utf-8") as f:
        text = f.read().split("## The example\n")[1].split("\n## ")[0]
    steps, commands, output = [], [], None
    for line in text.splitlines():
        if line == "```":
            if output is not None:
                steps.append((commands, output))
                commands, output = [], None
            else:
                output = []
        elif output and line.startswith(8 * " "):
            output[-1] += " " + line.strip()
        elif output is not None:
            output.append(line)
        elif line.startswith("    ") or (not line and commands):
            commands.append(line[4:])
    return steps + [(commands, [])]


def pattern(line):
    """a line of the page as a regular expression: any blanks, and anything for ..."""
    words = " ".join(line.split())
    return ".*".join(re.escape(part) for part in words.split("..."))


@test
def the_page():
    """the commands of docs/evidence.md succeed in an empty folder and print what it says"""
    environment = {**os.environ, "PATH": f"{BUILD}/lab/bin:{os.environ['PATH']}"}
    steps = example()
    check(len(steps) == 3 and sum(len(out) for _, out in steps) >= 8, f"{len(steps)} steps")
    with tempfile.TemporaryDirectory() as folder:
        for number, (commands, output) in enumerate(steps):
            done = subprocess.run(["bash", "-e", "-c", "\n".join(commands)], cwd=folder, text=True,
                                  env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=110, check=False)
            printed = [" ".join(line.split()) for line in done.stdout.splitlines()]
            missing = [line for line in output
                       if not any(re.fullmatch(pattern(line), p) for p in printed)]
            version = subprocess.run(["gcc", "-dumpversion"], stdout=subprocess.PIPE, text=True,
                                     check=True).stdout.strip()
            if not number and missing and (version != "12" or platform.machine() != "x86_64"):
                return f"gcc {version} for {platform.machine()} makes other branches"
            check(done.returncode == 0, f"{done.returncode}: {done.stdout[-2000:]}")
            check(not missing, f"{missing}: {done.stdout[-3000:]}")
        # the last step shows the form
        check("Reviewer" in done.stdout, done.stdout[-500:])
    return None


if __name__ == "__main__":
    sys.exit(harness.main())
