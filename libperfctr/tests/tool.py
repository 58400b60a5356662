# SPDX-License-Identifier: MIT
"""Runs perfctr, given as the program's argument, on a GPU of a test's own."""
import json
import os
import pwd
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(TOP, "tools/tests"))
from harness import check, wait_for  # noqa: E402  (found through the path above)

PERFCTR = sys.argv[1]
BUILD = os.environ.get("BUILD") or os.path.join(TOP, "build")


POLICY = f"""[rule all]
users = {pwd.getpwuid(os.getuid()).pw_name}
devices = *
blocks = *
"""


def environment_of(**more):
    # the program ends with its threads running
    return {**os.environ, "ASAN_OPTIONS": "detect_leaks=0", **more}


def run(*arguments, status=0, program="", **environment):
    """program: "-exporter", "-validate" """
    done = subprocess.run([PERFCTR + program, *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60, check=False,
                          env=environment_of(**environment))
    check(done.returncode == status, f"{arguments}: {done.returncode} {done.stderr}{done.stdout}")
    check("Sanitizer" not in done.stderr, done.stderr)
    return done.stdout + done.stderr


def served(device, *arguments):
    """What the product's own perfctr prints, which has no such GPU, through "perfctr serve"."""
    with tempfile.TemporaryDirectory() as work:
        policy, place = os.path.join(work, "policy"), os.path.join(work, "socket")
        with open(policy, "w", encoding="ascii") as f:
            f.write(POLICY)
        broker = subprocess.Popen([PERFCTR, "serve", "-s", place, "--policy", policy],
                                  stderr=subprocess.PIPE, text=True, env=environment_of())
        try:
            wait_for(lambda: os.path.exists(place), "perfctr serve does not listen")
            done = subprocess.run([os.path.join(BUILD, "bin/perfctr"), *arguments[:1], "--via",
                                   place, "-d", device, *arguments[1:]], stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        finally:
            broker.terminate()
        errors = broker.communicate(timeout=60)[1]
    check(done.returncode == 0, f"{done.stderr}{errors}")
    check("Sanitizer" not in errors, errors)
    return done.stdout + done.stderr


def exported(*arguments):
    """{series without labels: value} of the exporter, once."""
    text = run("--once", "-p", "200", *arguments, program="-exporter")
    lines = [line for line in text.splitlines() if line.startswith("perfctr_")]
    return {line.split("{")[0]: float(line.split()[-1]) for line in lines}


def events_of(text):
    found = json.loads(text)
    return {row.get("event") or row["metric"]: row for row in found["counters"] + found["metrics"]}
