# SPDX-License-Identifier: MIT
"""Runs perfctr, given as the program's argument, on a GPU of a test's own."""
import json
import os
import pwd
import subprocess
import sys
import tempfile
import time

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(TOP, "tools/tests"))
from harness import check, processes, wait_for  # noqa: E402  (found through the path above)

PERFCTR = sys.argv[1]
BUILD = os.environ.get("BUILD") or os.path.join(TOP, "build")
sys.path.insert(0, os.path.join(BUILD, "python"))
import perfctr  # noqa: E402


UNITS = (1000, 70000)
JOB = '''#!/bin/sh
echo "$1" >"$GPU_JOBS"
read -r done <"$GPU_DONE"
'''

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


def recorded(path):
    """The counters of a capture added up, as the Python package reads it."""
    columns = perfctr.open(path).table.columns
    return sum(column.total() for name, column in columns.items() if "/" in name)


def exported(*arguments):
    """{series without labels: value} of the exporter, once."""
    text = run("--once", "-p", "200", *arguments, program="-exporter")
    lines = [line for line in text.splitlines() if line.startswith("perfctr_")]
    return {line.split("{")[0]: float(line.split()[-1]) for line in lines}


def validate(device, rules, accept=0, status=(0, 5), **environment):
    """{counter: its entry of the report}, of programs that ask for work on a GPU of live.h, each
    for UNITS; a message if it fails. rules: {counter: how often it is documented to count in a
    unit}; accept: ppm"""
    with tempfile.TemporaryDirectory() as work:
        job, campaign = os.path.join(work, "job"), os.path.join(work, "campaign.json")
        pipes = {name: os.path.join(work, name) for name in ("GPU_JOBS", "GPU_DONE")}
        for path in pipes.values():
            os.mkfifo(path)
        with open(job, "w", encoding="ascii") as f:
            f.write(JOB)
        os.chmod(job, 0o755)
        with open(campaign, "w", encoding="ascii") as f:
            json.dump({"campaign": "gpu", "device": device, "runs": 2,
                       "events": [{"name": counter, "counter": counter, "max_weight": 7,
                                   "accept": {"relative_ppm": accept},
                                   "documented": [f"{times} units"]}
                                  for counter, times in rules.items()],
                       "benchmarks": [{"name": "job", "command": f"run {job} {{N}}",
                                       "quantities": {"units": "N"},
                                       "parameters": {"N": UNITS}}]}, f)
        done = subprocess.run([PERFCTR + "-validate", "--run-programs", "--json", campaign],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=120, check=False,
                              env=environment_of(**pipes, **environment))
    check(done.returncode in status and "Sanitizer" not in done.stderr,
          f"{done.returncode} {done.stderr}{done.stdout}")
    if done.returncode == 1:
        return done.stderr
    report, = json.loads(done.stdout)["campaigns"]
    return {event["event"]: event for event in report["events"]}


def check_validate(device, right, factor, wrong, **environment):
    """An event that is documented as it counts, factor times a unit, and one that is not."""
    found = validate(device, {right: factor, wrong: 1}, **environment)
    event = found[right]
    measured = [point["measured"] for point in event["points"]]
    check(event["verdict"] == "TRUSTED" and measured == [factor * n for n in UNITS], f"{event}")
    event = found[wrong]
    check(event["verdict"] in ("EXPLAINED", "UNTRUSTED"), f"{event}")
    return event


def names(program):
    """The same processes' own names: a fork may have another."""
    found = set()
    for pid in processes(program):
        try:
            with open(f"/proc/{pid}/comm", encoding="utf-8") as f:
                found.add(f.read().strip())
        except OSError:
            pass
    return found


def size_of(path):
    return os.path.getsize(path) if os.path.exists(path) else 0


def check_killed(device, event, beside=None):
    """SIGKILL of whatever counts leaves no process, and a capture up to then.
    beside: the name of a process that is there while it counts"""
    with tempfile.TemporaryDirectory() as work:
        policy, path = os.path.join(work, "policy"), os.path.join(work, "capture")
        socket = os.path.join(work, "socket")
        client = [os.path.join(BUILD, "bin/perfctr"), "stat", "--via", socket, "-d", device, "-e",
                  event, "--", "sleep", "1"]
        with open(policy, "w", encoding="ascii") as f:
            f.write(POLICY)
        for program, *arguments in (
                ("", "stat", "-d", device, "-e", event, "-I", "10"),
                ("", "top", "-d", device),
                ("", "record", "-d", device, "-e", event, "-p", "10ms", "-o", path),
                ("", "serve", "-s", socket, "--policy", policy),
                ("-exporter", "-d", device, "-e", event, "--listen", "127.0.0.1:0")):
            command = [PERFCTR + program, *arguments]
            with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  text=True, env=environment_of()) as running:
                if "serve" in command:
                    wait_for(lambda: os.path.exists(socket), "perfctr serve does not listen")
                    # pylint: disable-next=consider-using-with
                    counting = subprocess.Popen(client, stdout=subprocess.DEVNULL,
                                                stderr=subprocess.DEVNULL)
                time.sleep(0.5)
                end = time.monotonic() + 40
                there = names(command[0])
                while running.poll() is None and time.monotonic() < end and (
                        ("record" in command and not size_of(path)) or
                        (beside and beside not in there)):
                    time.sleep(0.05)
                    there = names(command[0])
                ended = running.poll()
                running.kill()
                errors = running.communicate(timeout=60)[1]
            check(ended is None, f"{command}: {ended} {errors}")
            check(not beside or beside in there, f"{command} has {there}")
            wait_for(lambda: not processes(command[0]), f"{command} left {processes(command[0])}")
        check(counting.wait(timeout=60), "the client of a broker that is gone")
        check(event.split("/")[1] in run("report", path), "report")


def events_of(text):
    found = json.loads(text)
    return {row.get("event") or row["metric"]: row for row in found["counters"] + found["metrics"]}
