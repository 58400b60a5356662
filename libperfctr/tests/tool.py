# SPDX-License-Identifier: MIT
"""Runs perfctr, given as the program's argument, on a GPU of a test's own."""
import json
import os
import subprocess
import sys

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(TOP, "tools/tests"))
from harness import check  # noqa: E402  (found through the path above)

PERFCTR = sys.argv[1]


def run(*arguments, status=0, **environment):
    # the program ends with its threads running
    environment = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0", **environment}
    done = subprocess.run([PERFCTR, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env=environment, timeout=60, check=False)
    check(done.returncode == status, f"{arguments}: {done.returncode} {done.stderr}{done.stdout}")
    check("Sanitizer" not in done.stderr, done.stderr)
    return done.stdout + done.stderr


def events_of(text):
    found = json.loads(text)
    return {row.get("event") or row["metric"]: row for row in found["counters"] + found["metrics"]}
