#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: bench-captures.py [BYTES]: a capture of 1 GB: report, diff, exports to a pipe and Python's
columns, each from a cold file, beside the disk's own speed. Prints JSON.

Each command is measured beside "cat CAPTURE | wc -l", the least that two programs can do with the
same bytes: CPU time divided by that of as many bytes as the command reads, of exports writes. Both
are the least of three tries in turns, so that a ratio is the same on a host that is slow at times.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
sys.path.insert(0, os.path.join(TOP, "tools/tests"))
import capture_bytes as cb  # noqa: E402

BUILD = os.environ.get("BUILD") or os.path.join(TOP, "build")
BYTES, CHUNK = int(sys.argv[1]) if sys.argv[1:] else 10**9, 1 << 20
BLOCKS, COUNTERS, PERIOD, TRIES = 4, 16, 10**6, 3
COMMANDS = ("report", "report --html", "diff A", "export -f csv", "export -f json",
            "export -f perfetto")
COLUMNS = "columns"  # not of perfctr: a capture opened in Python


def write_capture(f):
    """Samples of four blocks with 16 counters, and two metrics of each block."""
    chance = random.Random(1)
    f.write(cb.HEADER + cb.record(cb.TEXT, cb.texts("host", "bench")))
    f.write(cb.record(cb.REQUEST, cb.block_request(cb.SHADER, 0xffff, (1 << COUNTERS) - 1)))
    for n in range(COUNTERS):
        f.write(cb.counter(cb.UNHEARD_OF, cb.SHADER, n, f"COUNTER_{n}", "cycles"))
    for name, formula in ("ratio", "COUNTER_1 / COUNTER_2"), ("rate", "COUNTER_3 / elapsed_s"):
        f.write(cb.metric(cb.UNHEARD_OF, cb.SHADER, name, "", formula))
    f.write(cb.anchor(PERIOD, 1_700_000_000 * 10**9))
    blocks = [[cb.block(cb.SHADER, index, {n: chance.randrange(10**chance.randrange(3, 9))
                                           for n in range(COUNTERS)}, product=cb.UNHEARD_OF)
               for index in range(BLOCKS)] for _ in range(50)]
    count = BYTES // len(cb.record(cb.SAMPLE, cb.sample(0, 0, 0, blocks[0])))
    for n in range(count):
        f.write(cb.record(cb.SAMPLE, cb.sample(n, PERIOD * (n + 1), PERIOD * (n + 2),
                                               blocks[n % len(blocks)])))
    f.write(cb.status(count))


def evict(path):
    """Write the file to the disk and drop it from memory."""
    with open(path, "rb") as f:
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def drain(stream):
    size, buffer = 0, bytearray(CHUNK)
    while count := stream.readinto(buffer):
        size += count
    return size


def disk(path):
    """MB/s of writing and reading."""
    chunk, begin = random.Random(2).randbytes(CHUNK), time.monotonic()
    with open(path, "wb", buffering=0) as f:
        for _ in range(BYTES // CHUNK):
            f.write(chunk)
        os.fsync(f.fileno())
    written = time.monotonic()
    evict(path)
    read = time.monotonic()
    with open(path, "rb", buffering=0) as f:
        size = drain(f)
    end = time.monotonic()
    os.unlink(path)
    return {"disk_write_mb_s": size / 1e6 / (written - begin),
            "disk_read_mb_s": size / 1e6 / (end - read)}


def read_once(path):
    """In a VM the first one to read a new file from the disk pays for its memory: 1.6 s per GB."""
    evict(path)
    with open(path, "rb", buffering=0) as f:
        drain(f)


def run(*words):
    """Bytes of the output, s of CPU time, MB of memory."""
    env = {**os.environ, "PYTHONPATH": os.path.join(BUILD, "python")}
    with subprocess.Popen(words, stdout=subprocess.PIPE, bufsize=0, env=env) as process:
        size = drain(process.stdout)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    # Linux adds the memory of this process, before exec
    return size, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def try_once(path, name):
    """What a command takes, and the CPU time of its peer."""
    words = [path if word == "A" else word for word in name.split()]
    _, peer_s, _ = run("sh", "-c", 'cat "$0" | wc -l', path)
    evict(path)
    begin = time.monotonic()
    if name == COLUMNS:
        size, cpu_s, memory_mb = run(sys.executable, "-c", "import sys, perfctr; "
                                     "perfctr.open(sys.argv[1])", path)
    else:
        size, cpu_s, memory_mb = run(os.path.join(BUILD, "bin/perfctr"), *words, path)
    end = time.monotonic()
    moved = size if words[0] == "export" else BYTES * (len(words) if words[0] == "diff" else 1)
    return {"s": end - begin, "cpu_s": cpu_s, "memory_mb": memory_mb,
            "mb_s": moved / 1e6 / cpu_s, "moved": moved}, peer_s


def measure(path, name):
    tries = [try_once(path, name) for _ in range(TRIES)]
    least = min((one for one, _ in tries), key=lambda one: one["cpu_s"])
    peer_s = min(peer_s for _, peer_s in tries)
    return {**least, "ratio": least["cpu_s"] / peer_s * BYTES / least["moved"]}


with tempfile.TemporaryDirectory(dir=BUILD) as folder:
    figures = disk(os.path.join(folder, "disk"))
    capture = os.path.join(folder, "capture")
    with open(capture, "wb") as file:
        write_capture(file)
    read_once(capture)
    commands = {name: measure(capture, name) for name in COMMANDS}
    columns = measure(capture, COLUMNS)
print(json.dumps({**figures, "commands": commands,
                  "memory_mb": max(c["memory_mb"] for c in commands.values()),
                  **{f"{name}_s_per_gb": 1e3 / commands[f"export -f {name}"]["mb_s"]
                     for name in ("csv", "json")},
                  **{f"{words.split()[-1].strip('-')}_ratio": commands[words]["ratio"]
                     for words in COMMANDS if words != "diff A"},
                  "columns_s": columns["cpu_s"],
                  "columns_ratio": columns["cpu_s"] / commands["report"]["cpu_s"]}))
