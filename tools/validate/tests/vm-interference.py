#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr interference: it names the channel that the model made. Prints TAP. Runs as
root in the guest."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))
sys.path.insert(0, os.path.join(TOP, "tools/tests"))

import harness  # noqa: E402
import vsoc_truth  # noqa: E402
from harness import check, run, test, write  # noqa: E402

WORK = tempfile.mkdtemp()
DEBUG = vsoc_truth.FOLDER
SEED = int(os.environ.get("PERFCTR_SEED", "3"))
STREAM = "copy read initiator=cpu bytes=4Gi window=256 rate={LEVEL} "
RATES = [4 * 10**9, 8 * 10**9, 16 * 10**9, 24 * 10**9, 40 * 10**9]
LOW = [0, 10**9, 2 * 10**9, 3 * 10**9, 4 * 10**9]  # 0: the highest, 16 GB/s
GPU = "copy read address=0x80000000 "
# channel, server of the model that is full (None: none is), task, command, levels
SCENARIOS = (
    ("DRAM, socket 0", "dram_0", GPU + "bytes=6400000", STREAM, RATES),
    ("DRAM, socket 1", "dram_1", GPU + "home=remote bytes=6400000", STREAM + "socket=1", RATES),
    ("link between the sockets", "clink_1", GPU + "home=remote bytes=6400000",
     STREAM.replace("read", "write") + "socket=1 home=remote", RATES),
    ("link to CXL memory", "dlink_in_0", GPU + "home=cxl bytes=6400000", STREAM + "home=cxl", LOW),
    ("GPU memory and its link", "c2c_in_0", GPU + "home=gmem gpu=1 bytes=6400000",
     STREAM + "home=gmem gpu=1", RATES),
    ("SLC capacity, socket 0", None, GPU + "bytes=3200000 window=4",
     "copy write initiator=cpu bytes=4Gi rate={LEVEL}", [10**7, 2 * 10**7] + LOW[2:]),
    ("GPU cores", None, GPU + "bytes=640000", "compute threads={LEVEL} instructions=64",
     [16000, 32000, 64000, 128000, 256000]),
    (None, None, GPU + "bytes=6400000", STREAM + "home=remote", RATES),
)


def aggressor(command, levels):
    return [{"name": "somebody", "command": command, "levels": levels,
             "concurrent": command.startswith("copy")}]


def contents(path):
    with open(path, encoding="ascii") as f:
        return f.read()


def servers():
    with open(f"{DEBUG}/memory", encoding="ascii") as f:
        rows = [line.split() for line in f if line.startswith("server")]
    return {row[1]: int(row[-1].split("=")[1]) / int(row[2].split("=")[1]) for row in rows}


def interference(specification, *options, status=0):
    name = os.path.join(WORK, "spec.json")
    write(name, json.dumps(specification))
    return run("perfctr", "interference", name, *options, status=status,
               timeout=200)


def builtin(**changes):
    with open(os.path.join(TOP, "lab/vsoc/campaigns/interference.json"), encoding="utf-8") as f:
        return {**json.load(f), **changes}


@test
def scenarios_chosen_by_seed():
    """six scenarios: the channel is that of the model, and none where nothing is slower"""
    for channel, server, task, command, levels in random.Random(SEED).sample(SCENARIOS, 6):
        load = aggressor(command, levels)
        specification = builtin(task=task, jobs=2, runs=1, aggressors=load)
        for c in specification["channels"][1:] if "window=4" in task else ():
            c["window"] //= 4
        before = servers()
        page = os.path.join(WORK, "page.html")
        found = json.loads(interference(specification, "--json", "--html", page).stdout)
        busy = {name: busy - before[name] for name, busy in servers().items()}
        a = found["aggressors"][0]
        print(f"# {task} | {command}: {a['slowdown']}, {a['channel']}; busy "
              f"{max(busy, key=busy.get)}", flush=True)
        check(a["channel"] == channel, f"{channel}: {json.dumps(a)}")
        # the link's aggressor writes to another memory, which may be full, too
        check(not server or busy[server] >= 0.9 * max(busy.values()), f"{channel}, {busy}")
        times = [point["time_ns"] for point in a["points"]]
        check(a["slowdown"] == max(times) / times[0] and a["slower"] == bool(channel), f"{a}")
        check(all(p["max_time_ns"] >= p["time_ns"] for p in a["points"]), f"{a}")
        with open(page, encoding="utf-8") as f:
            plots = f.read().split("<figure>")[1:]
        # of the time and of each channel that somebody uses, with a point for each level
        used = sum(any(p["shown"][c["name"]][0] for p in a["points"]) for c in a["channels"])
        check(len(plots) == 1 + used, f"{len(plots)} plots, {used} channels")
        check(plots[0].count("<circle") == len(times), plots[0])
        check(found["configuration"]["time"] == "stepped", f"{found['configuration']}")


@test
def nothing_is_reported_without_evidence():
    """no gaps between jobs, no name for a small part, no report without aggressor or baseline"""
    specification = builtin(task=GPU + "bytes=64", jobs=50, runs=1,
                            aggressors=aggressor(*SCENARIOS[-2][3:]))
    specification["channels"][0]["window"] = 10
    found = json.loads(interference(specification, "--json").stdout)["aggressors"][0]
    check(found["points"][0]["time_ns"] < 50 * 2000, f"gaps: {found}")
    check(found["slower"] and found["channel"] is None, f"a tenth explains it: {found}")
    # the second one brings lines of the task into the cache
    for size, rates, text in (("64", LOW, "ended before the task"),
                              ("2Mi", RATES, "quicker than alone")):
        specification = builtin(task=GPU + "bytes=6400000 window=4", jobs=1, runs=1)
        specification["aggressors"] = aggressor(
            f"copy read initiator=cpu address=0x80000000 bytes={size} rate={{LEVEL}}", rates)
        error = interference(specification, status=1).stderr
        check(text in error, error)


@test
def time_passes_again():
    """a second run does not disturb the first one; if what steps time is killed, time passes, and
    there is no report"""
    with subprocess.Popen(["perfctr", "interference"], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as first:
        children = f"/proc/{first.pid}/task/{first.pid}/children"
        harness.wait_for(lambda: contents(children), "no process steps time")
        error = run("perfctr", "interference", status=1).stderr
        check("somebody steps time" in error and contents(f"{DEBUG}/stepped") == "1\n", error)
        os.kill(int(contents(children)), signal.SIGKILL)
        error = first.communicate(timeout=200)[1]
        check(first.returncode == 1 and contents(f"{DEBUG}/stepped") == "0\n", error)


@test
def mistakes_have_a_place():
    """a wrong file is refused, with line and column or the name of the event"""
    for change, text in (({"task": 1}, "task"), ({"colour": "red"}, "colour"),
                         ({"aggressors": []}, "no aggressor"),
                         ({"aggressors": [{"name": "a", "command": "b", "levels": [1]}]}, "5 to"),
                         ({"aggressors": aggressor("b", [1, 2, 3, 5, 4])}, "ascending"),
                         ({"channels": [{"name": "a", "counts": "x"}]}, "needs 'per'"),
                         ({"channels": [{"name": "a", "counts": "x", "kind": "y"}]}, "kind 'y'")):
        error = interference(builtin(**change), status=2).stderr
        check(text in error, f"{change}: {error}")
    unknown = {"name": "a", "counts": "none", "per": "none", "window": 1}
    error = interference(builtin(channels=[unknown]), status=1).stderr
    check("none" in error, error)


if __name__ == "__main__":
    sys.exit(harness.main(vsoc_truth.MISSING))
