#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What top, stat -I and exporter cost a sample, with what they print: instructions of callgrind,
against a plain loop that reads every counter of the same sample. Each runs with few and with many
samples; the difference is the cost of a sample, without that of starting. Prints JSON."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

BUILD = os.environ.get("BUILD") or os.path.join(os.path.dirname(__file__), "../../../build")
PERFCTR = os.path.join(BUILD, "bin/perfctr")
BENCH = os.path.join(BUILD, "bin/perfctr-bench-tools")
# what the defaults select on this GPU, and so what all of these count
EVENTS = ("GPU_ACTIVE,ITER_FRAG_JOB_COMPLETED,metric:fragment_util,metric:compute_util,"
          "metric:tiler_util,metric:l2_cache_read_hit_rate,metric:bus_read_bytes_per_s,"
          "metric:bus_write_bytes_per_s")
FEW, MANY = 20, 60
TIMEOUT_S = 60


def commands(socket, textfile):
    return {
        "read": (BENCH, "read", socket, EVENTS),
        "top": (PERFCTR, "top", "--plain", "--via", socket, "-e", EVENTS),
        "stat": (PERFCTR, "stat", "-I", "1000", "--via", socket, "-e", EVENTS),
        "exporter": (PERFCTR + "-exporter", "--textfile", textfile, "--via", socket, "-e", EVENTS),
    }


def wait_for(condition, process):
    end = time.monotonic() + TIMEOUT_S
    while not condition():
        if process.poll() is not None or time.monotonic() > end:
            raise ValueError(f"{process.args[-1]}: ended with {process.returncode}, or stuck")
        time.sleep(0.001)


def version(path):
    """Changes with each write of a file, also if it is replaced."""
    try:
        found = os.stat(path)
        return found.st_ino, found.st_size, found.st_mtime_ns
    except FileNotFoundError:
        return None


class Run:
    """A command under callgrind, and the broker that it counts through."""

    def __init__(self, folder, name):
        self.profile = os.path.join(folder, "callgrind.out")
        socket, out = os.path.join(folder, "socket"), os.path.join(folder, "out.prom")
        for path in (self.profile, socket, out):
            if os.path.exists(path):
                os.unlink(path)
        self.server = subprocess.Popen([BENCH, "serve", socket], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE)
        self.server.stdout.readline()
        self.out = out
        stdout = "/dev/null" if name == "exporter" else out
        with open(stdout, "wb") as f:
            self.process = subprocess.Popen(
                ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={self.profile}",
                 *commands(socket, out)[name]], stdout=f)

    def sample(self):
        """Publish one, and wait until the command has taken it and begun to print it."""
        before = version(self.out)
        self.server.stdin.write(b"\n")
        self.server.stdin.flush()
        self.server.stdout.readline()
        wait_for(lambda: version(self.out) != before, self.process)

    def end(self):
        """Return: all instructions of the command."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(TIMEOUT_S)
        self.server.stdin.close()
        self.server.wait(TIMEOUT_S)
        with open(self.profile, encoding="utf-8") as f:
            return next(int(line.split()[1]) for line in f if line.startswith("summary:"))


def instructions(folder, name, samples):
    run = Run(folder, name)
    try:
        for _ in range(samples):
            run.sample()
        return run.end()
    finally:
        for process in (run.process, run.server):
            if process.poll() is None:
                process.kill()


def main():
    folder = tempfile.mkdtemp(prefix="perfctr-bench-")
    try:
        cost = {name: (instructions(folder, name, MANY) - instructions(folder, name, FEW)) /
                (MANY - FEW) for name in commands("", "")}
    finally:
        shutil.rmtree(folder)
    print(json.dumps({**cost, **{f"{name}_ratio": cost[name] / cost["read"]
                                 for name in cost if name != "read"}}))


if __name__ == "__main__":
    main()
