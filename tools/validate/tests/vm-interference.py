#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr validate --interference: it names the channel that the model made. Prints TAP. Runs as
root in the guest, in stepped time."""

import json
import os
import random
import sys
import tempfile
import threading

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))))
sys.path.insert(0, os.path.join(TOP, "tools/tests"))

import harness  # noqa: E402
import vsoc_truth  # noqa: E402
from harness import check, run, test, write  # noqa: E402

WORK = tempfile.mkdtemp()
DEBUG = vsoc_truth.FOLDER
SEED = int(os.environ.get("PERFCTR_SEED", "3"))
STREAM = "copy read initiator=cpu bytes=4Gi window=256 rate={LEVEL} "
RATES = [4 * 10**9, 10 * 10**9, 16 * 10**9, 24 * 10**9]
GPU = "copy read address=0x80000000 "
# channel, server of the model that is full (None: none is), task, command, levels
SCENARIOS = (
    ("DRAM, socket 0", "dram_0", GPU + "bytes=6400000", STREAM, RATES),
    ("DRAM, socket 1", "dram_1", GPU + "home=remote bytes=6400000", STREAM + "home=remote", RATES),
    ("link to CXL memory", "dlink_in_0", GPU + "home=cxl bytes=6400000", STREAM + "home=cxl",
     [2 * 10**9, 4 * 10**9, 8 * 10**9, 16 * 10**9]),
    ("GPU memory and its link", "c2c_in_0", GPU + "home=gmem gpu=1 bytes=6400000",
     STREAM + "home=gmem gpu=1", [8 * 10**9, 16 * 10**9, 26 * 10**9, 40 * 10**9]),
    ("SLC capacity, socket 0", None, GPU + "bytes=3200000 window=4",
     "copy write initiator=cpu bytes=4Gi rate={LEVEL}",
     [2 * 10**9, 4 * 10**9, 6 * 10**9, 8 * 10**9]),
    ("GPU cores", None, GPU + "bytes=640000", "compute threads={LEVEL} instructions=64",
     [4000, 16000, 64000]),
    (None, None, GPU + "bytes=6400000", STREAM + "home=remote", RATES),
)
SERVERS = {channel: server for channel, server, *_ in SCENARIOS}
SERVERS["link between the sockets"] = "clink_1"


def step_on(stop):
    """Virtual time passes, whatever the host does."""
    while not stop.is_set():
        write(f"{DEBUG}/step_ns", "20000")


def servers():
    with open(f"{DEBUG}/memory", encoding="ascii") as f:
        rows = [line.split() for line in f if line.startswith("server")]
    return {row[1]: int(row[-1].split("=")[1]) / int(row[2].split("=")[1]) for row in rows}


def interference(specification, *options, status=0):
    name = os.path.join(WORK, "spec.json")
    write(name, json.dumps(specification))
    return run("perfctr", "validate", f"--interference={name}", *options, status=status,
               timeout=200)


def builtin():
    with open(os.path.join(TOP, "campaigns/interference.json"), encoding="utf-8") as f:
        return json.load(f)


@test
def scenarios_chosen_by_seed():
    """six scenarios: the channel is that of the model, and none where nothing is slower"""
    specification = builtin()
    write(f"{DEBUG}/stepped", "1")
    stop = threading.Event()
    thread = threading.Thread(target=step_on, args=(stop,))
    thread.start()
    try:
        for channel, server, task, command, levels in random.Random(SEED).sample(SCENARIOS, 6):
            specification.update(task=task, jobs=3, runs=1, aggressors=[{
                "name": "somebody", "command": command, "levels": levels,
                "concurrent": command.startswith("copy")}])
            before = servers()
            page = os.path.join(WORK, "page.html")
            found = json.loads(interference(specification, "--json", "--html", page).stdout)
            busy = {name: busy - before[name] for name, busy in servers().items()}
            a = found["aggressors"][0]
            print(f"# {task} | {command}: {a['slowdown']}, {a['channel']}; busy "
                  f"{max(busy, key=busy.get)}", flush=True)
            if server:
                # memory and link of the other socket are nearly as fast: both may be full
                full = [name for name in busy if busy[name] >= 0.9 * max(busy.values())]
                check(server in full and SERVERS.get(a["channel"]) in full,
                      f"{channel}, {busy}: {json.dumps(a)}")
            else:
                check(a["channel"] == channel, f"{channel}: {json.dumps(a)}")
            check(a["slower"] == (channel is not None), f"{a}")
            with open(page, encoding="utf-8") as f:
                check("<polyline" in f.read(), "no plot")
    finally:
        stop.set()
        thread.join()
        write(f"{DEBUG}/stepped", "0")


@test
def mistakes_have_a_place():
    """a wrong file is refused, with line and column or the name of the event"""
    for change, text in (({"task": 1}, "task"), ({"colour": "red"}, "colour"),
                         ({"aggressors": []}, "no aggressor"),
                         ({"aggressors": [{"name": "a", "command": "b", "levels": [1]}]}, "3 to"),
                         ({"channels": [{"name": "a", "counts": "x"}]}, "needs 'per'"),
                         ({"channels": [{"name": "a", "counts": "x", "kind": "y"}]}, "kind 'y'")):
        error = interference({**builtin(), **change}, status=2).stderr
        check(text in error, f"{change}: {error}")
    unknown = {"name": "a", "counts": "none", "per": "none"}
    error = interference({**builtin(), "channels": [unknown]}, status=1).stderr
    check("none" in error, error)


if __name__ == "__main__":
    sys.exit(harness.main(vsoc_truth.MISSING))
