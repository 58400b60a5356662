#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr top on a terminal of tmux. Prints TAP. Runs as root in the guest."""

import json
import os
import re
import subprocess
import sys
import time

import harness
from harness import check, run, test
from vsoc_truth import MISSING

PATIENCE_S = 40


class Terminal:
    """perfctr top in a pane; a shell prints its exit status"""

    def __init__(self, *options, columns=110, rows=30):
        environment = dict(os.environ, TERM="screen", LANG="C.UTF-8", LC_ALL="C.UTF-8")
        self.tmux("kill-server", check=False)
        command = " ".join(["perfctr", "top", "-I", "200", *(f"'{o}'" for o in options)])
        self.tmux("-u", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  f"{command}; echo \"ended $?\"; sleep 1000", env=environment)
        self.tmux("set-option", "-g", "window-size", "manual")

    @staticmethod
    def tmux(*arguments, **options):
        options.setdefault("check", True)
        return subprocess.run(["tmux", "-L", "top", *arguments], timeout=30, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, **options).stdout

    def screen(self):
        return self.tmux("-u", "capture-pane", "-p", "-t", "0").rstrip("\n").split("\n")

    def keys(self, *keys):
        self.tmux("send-keys", "-t", "0", *keys)

    def resize(self, columns, rows):
        self.tmux("resize-window", "-t", "0", "-x", str(columns), "-y", str(rows))

    def wait(self, condition, what):
        end = time.monotonic() + PATIENCE_S
        while True:
            screen = self.screen()
            if condition(screen):
                return screen
            check(time.monotonic() < end, what + ":\n" + "\n".join(screen))
            time.sleep(0.2)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.tmux("kill-server", check=False)


def has(text):
    return lambda screen: any(text in line for line in screen)


def item_of(screen, name):
    """(value, the bar, the sparkline) of a line"""
    for line in screen:
        found = re.match(rf"\s+{re.escape(name)}\s+(.*?)\s*\|(.*)\|(.*)$", line)
        if found:
            return found.group(1), found.group(2), found.group(3)
    return None


@test
def bars_and_lines():
    """a heading, values with bars and sparklines that move with the work, a help line"""
    with Terminal("-e", "FRAGMENTS,GPU_ACTIVE,metric:gpu_utilization") as t:
        screen = t.wait(has("FRAGMENTS"), "no counters")
        check(screen[0].startswith("Virtual SoC: "), f"first line {screen[0]!r}")
        check(screen[-1].startswith("q quit  h help  v view: "), f"last line {screen[-1]!r}")
        check(item_of(screen, "FRAGMENTS")[0].startswith("0 "), "fragments on an idle GPU")
        work = subprocess.Popen(["vsoc-job", "-q", "--random", "100000", "--seed", "3"])
        try:
            screen = t.wait(lambda s: item_of(s, "FRAGMENTS") and
                            "█" in item_of(s, "FRAGMENTS")[1] and
                            len(set(item_of(s, "FRAGMENTS")[2].strip())) > 2, "no bar and no line")
        finally:
            work.kill()
            work.wait()
        check("fragments/s" in item_of(screen, "FRAGMENTS")[0], "unit")


@test
def keys_fold_and_sort():
    """a folds and unfolds all, space one block, s sorts by value and by name, c shows single
    blocks"""
    with Terminal("-e", "VERTICES,PRIMITIVES,TILER_ACTIVE,FRAGMENTS,GPU_ACTIVE") as t:
        t.wait(lambda s: has("FRAGMENTS")(s) and has("GPU_ACTIVE")(s), "no counters")
        t.keys("a")
        screen = t.wait(lambda s: not has("FRAGMENTS")(s) and has("shader")(s), "not folded")
        check(any(line.startswith("+ shader (") for line in screen), "no sign of folding")
        t.keys("a")
        t.wait(has("FRAGMENTS"), "not unfolded")
        t.keys("Space")
        t.wait(lambda s: sum(line.startswith("+ ") for line in s) == 1, "one block is not folded")
        t.keys("Space")
        t.keys("s")
        t.wait(has("sort: by value"), "not sorted by value")
        t.keys("s")
        screen = t.wait(has("sort: by name"), "not sorted by name")
        names = [line.split()[0] for line in screen
                 if line.split()[:1] and
                 line.split()[0] in ("VERTICES", "PRIMITIVES", "TILER_ACTIVE")]
        check(names == ["PRIMITIVES", "TILER_ACTIVE", "VERTICES"], f"order {names}")
        t.keys("c")
        t.wait(lambda s: has("shader16")(s) and has("shader0")(s), "no single blocks")
        t.keys("c")
        t.wait(lambda s: not has("shader16")(s) and has("FRAGMENTS")(s), "single blocks stay")


@test
def filter_interval_and_help():
    """/ shows only names with a text until Escape, + and - change the interval, h lists the keys"""
    with Terminal("-e", "VERTICES,PRIMITIVES,FRAGMENTS,GPU_ACTIVE") as t:
        t.wait(lambda s: has("FRAGMENTS")(s) and has("GPU_ACTIVE")(s), "no counters")
        t.keys("/")
        t.keys("x", "BSpace", "f", "r", "a", "g")
        screen = t.wait(lambda s: s[-1].startswith("/frag_"), "no filter")
        check(has("FRAGMENTS")(screen) and not has("GPU_ACTIVE")(screen), screen)
        t.keys("Enter")
        t.wait(lambda s: s[-1].startswith("/frag ") and has("FRAGMENTS")(s), "not kept")
        t.keys("/", "v", "e")
        t.wait(lambda s: has("VERTICES")(s) and not has("FRAGMENTS")(s), "rest of the old filter")
        t.keys("Escape")
        t.wait(lambda s: has("FRAGMENTS")(s) and has("GPU_ACTIVE")(s), "the filter stays")
        t.keys("+")
        t.wait(lambda s: has("every 0.4 s")(s) and item_of(s, "GPU_ACTIVE"), "not slower")
        t.keys("-", "-", "-")
        t.wait(lambda s: has("every 0.05 s")(s) and item_of(s, "GPU_ACTIVE"), "not faster")
        t.keys("h")
        t.wait(has("longer, shorter interval"), "no help")
        t.keys("x")
        t.wait(lambda s: has("GPU_ACTIVE")(s) and not has("shorter interval")(s), "help stays")


@test
def views_of_metrics():
    """1-5 and v choose views of metrics: GPU, memory, PCIe, links"""
    with Terminal() as t:
        t.wait(has("view: overview"), "no help line")
        for key, name, metric, other in (("2", "gpu", "shader_utilization", "ext_read_bandwidth"),
                                         ("3", "memory", "l2_read_hit_ratio", "tiler_utilization")):
            t.keys(key)
            screen = t.wait(lambda s, n=name, m=metric: has("view: " + n)(s) and has(m)(s), name)
            check(not has(other)(screen) and not has("FRAGMENTS ")(screen), f"{name}: {screen}")
        for key, name, metric in (("4", "pcie", "read_bandwidth"),
                                  ("5", "links", "c2c_in_rd_latency")):
            t.keys(key)
            t.wait(lambda s, n=name, m=metric: has("view: " + n)(s) and has(m)(s), name)
        t.keys("1")
        t.wait(lambda s: has("view: overview")(s) and has("FRAGMENTS")(s), "not back")
        t.keys("v")
        t.wait(has("view: gpu"), "v")
    # the same without a screen
    work = subprocess.Popen(["vsoc-job", "-q", "-D", "60s", "draw", "fragments=100000", "copy",
                             "bytes=64Ki", "read",
                             "initiator=remote", "pcie", "bytes=64Ki", "read"])
    try:
        for view, metric in (("gpu", "shader.fragment_rate"), ("memory", "ucf.mem_read_bandwidth"),
                             ("pcie", "pcie.read_bandwidth"),
                             ("links", "clink_in_rd_request_rate")):
            # an interval of a slow machine may have none of the jobs
            for _ in range(10):
                out = run("perfctr", "top", "--snapshot", "--view", view, "--json").stdout
                items = {i["event"]: i["value"] for i in json.loads(out)["items"]}
                check(all(e.startswith("metric:") for e in items), f"{view}: {items}")
                values = [v for e, v in items.items() if e.endswith(metric)]
                if values > [0]:
                    break
            check(values > [0], f"{view}: {items}")
    finally:
        work.kill()
        work.wait()
    bad = run("perfctr", "top", "--view", "x", status=2)
    check("overview, gpu" in bad.stderr, bad.stderr)


@test
def resizing():
    """at any terminal size lines are cut and the help line stays at the bottom"""
    with Terminal() as t:
        t.wait(has("FRAGMENTS"), "no counters")
        for columns, rows in ((60, 12), (132, 43), (20, 5), (10, 2), (80, 24)):
            t.resize(columns, rows)
            t.wait(lambda s, c=columns, r=rows: len(s) == r and s[-1].startswith("q quit"[:c]) and
                   s[0].startswith("Virtual SoC"[:c]) and all(len(l) <= c for l in s),
                   f"{columns}x{rows}")
        screen = t.wait(has("GPU_ACTIVE"), "counters do not come back")
        check(sum(l.startswith("q quit") for l in screen) == 1, "rests of an old help line")


@test
def pause_and_end():
    """p pauses; q and Ctrl-C end with status 0 and restore the terminal"""
    for key in ("q", "C-c"):
        with Terminal("-e", "software/task-clock/") as t:
            t.wait(has("task-clock"), "no counters")
            t.keys("p")
            first = t.wait(has("PAUSED"), "not paused")
            time.sleep(1)
            values = [item_of(s, "task-clock")[0] for s in (first, t.screen())]
            check(values[0] == values[1], f"values change: {values}")
            t.keys("p")
            t.wait(lambda s: not has("PAUSED")(s), "paused for ever")
            t.keys(key)
            screen = t.wait(has("ended"), "does not end")
            check("ended 0" in screen and not has("q quit")(screen), f"after {key}: {screen}")


if __name__ == "__main__":
    sys.exit(harness.main(MISSING))
