#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: bench-growth.py [--small] [KIND...]: how CPU time and memory grow with the bytes of a
capture, the captures of a directory, the blocks of a sample, the clients of a GPU (in a made-up
machine) and the readers of an exporter. An exponent is that between the second size and the last: 1
is in proportion. --small: a tenth of the bytes and captures, for a busy machine. Prints JSON."""

import json
import math
import os
import random
import socket
import subprocess
import sys
import tempfile
import time

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
sys.path.insert(0, os.path.join(TOP, "tools/tests"))
import capture_bytes as cb  # noqa: E402
import fleet  # noqa: E402
from machine import Machine  # noqa: E402

BUILD = os.environ.get("BUILD") or os.path.join(TOP, "build")
PERIOD, REALTIME = 10**6, 1_700_000_000 * 10**9
TRIES, SHORT_S = 3, 20
SIZES = {"bytes": (10**7, 10**8, 10**9), "captures": (100, 1000, 10_000, 100_000),
         "blocks": (64, 512, 4096), "clients": (10, 100, 1000, 2000), "readers": (1, 10, 100, 300)}
SMALL = {**SIZES, "bytes": (10**6, 10**7, 10**8), "captures": (100, 1000, 10_000)}
EXPORTS = "export -f csv", "export -f json", "export -f perfetto"
LOCAL = "-d local -e hwmon/*/ --per-client"
COMMANDS = {"bytes": ("report", "report --html", "diff A", *EXPORTS),
            "captures": ("report -j", "diff --by host --per shader/FRAMES", "export -f csv"),
            "blocks": ("report -A", "report -A -j", "report --html", "diff -A A", "diff -A -j A",
                       "diff -A A --against", *EXPORTS),
            "clients": (f"exporter --once -p 100ms {LOCAL}", f"stat {LOCAL} --timeout 100ms")}
READINGS = 20
# of one kind, so that a fleet's captures differ by the host only
KINDS, HOST = 50, "host0000000"


def write_samples(path, blocks, counters, count):
    chance = random.Random(blocks)
    with open(path, "wb") as f:
        f.write(cb.HEADER + cb.record(cb.TEXT, cb.texts("host", "bench")))
        f.write(cb.record(cb.REQUEST, cb.block_request(cb.SHADER, 0xffff, (1 << counters) - 1)))
        for n in range(counters):
            f.write(cb.counter(cb.UNHEARD_OF, cb.SHADER, n, f"COUNTER_{n}", "cycles"))
        f.write(cb.metric(cb.UNHEARD_OF, cb.SHADER, "ratio", "", "COUNTER_1 / COUNTER_2"))
        f.write(cb.anchor(PERIOD, REALTIME))
        kinds = [[cb.block(cb.SHADER, index, {n: chance.randrange(10**6) for n in range(counters)},
                           product=cb.UNHEARD_OF) for index in range(blocks)] for _ in range(5)]
        for n in range(count):
            f.write(cb.record(cb.SAMPLE, cb.sample(n, PERIOD * (n + 1), PERIOD * (n + 2),
                                                   kinds[n % len(kinds)])))
        f.write(cb.status(count))


def write_bytes(path, size):
    sample = len(cb.record(cb.SAMPLE, cb.sample(0, 0, 0, [
        cb.block(cb.SHADER, 0, dict.fromkeys(range(16), 0), product=cb.UNHEARD_OF)] * 4)))
    write_samples(path, 4, 16, size // sample)


def write_captures(path, count):
    """One capture of each host, a thousand in a directory."""
    chance = random.Random(3)
    kinds = [fleet.capture(HOST, chance) for _ in range(KINDS)]
    for n in range(count):
        folder = os.path.join(path, f"{n // 1000:03}")
        if not n % 1000:
            os.makedirs(folder)
        with open(os.path.join(folder, f"{n % 1000:03}"), "wb") as f:
            f.write(kinds[n % KINDS].replace(HOST.encode(), b"host%07d" % n))


WRITERS = {"bytes": write_bytes, "captures": write_captures,
           "blocks": lambda path, count: write_samples(path, count, 4, 20)}


# Linux adds the memory of the program before exec: a small one, which env makes smaller
LAUNCHER = ("import os, sys; "
            "pid = os.posix_spawnp('env', sys.argv[1:], os.environ, "
            "file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]); "
            "_, status, u = os.wait4(pid, 0); "
            "print(u.ru_utime + u.ru_stime, u.ru_maxrss); sys.exit(status != 0)")


def measure_once(words, environment):
    done = subprocess.run([sys.executable, "-I", "-S", "-c", LAUNCHER, "env", *environment,
                           os.path.join(BUILD, "bin/perfctr"), *words],
                          stdout=subprocess.PIPE, text=True, check=True)
    cpu_s, memory_kb = done.stdout.split()
    return {"cpu_s": float(cpu_s), "memory_mb": int(memory_kb) / 1024}


def measure(words, environment=()):
    """The least of several tries, if they are short: a host may be slow at times."""
    tries = [measure_once(words, environment)]
    while tries[0]["cpu_s"] < SHORT_S and len(tries) < TRIES:
        tries.append(measure_once(words, environment))
    return min(tries, key=lambda one: one["cpu_s"])


def measure_captures(kind, size, folder):
    path = os.path.join(folder, f"{kind}{size}")
    WRITERS[kind](path, size)
    for words in COMMANDS[kind]:
        yield words, measure([path if word == "A" else word for word in words.split()] + [path])
    subprocess.run(["rm", "-rf", path], check=True)


class Clients(Machine):
    """A machine with a sensor and so many clients of its GPU, each in a pod of its own."""

    def __init__(self, count):
        super().__init__(BUILD)
        self.put("/sys/class/hwmon/hwmon0/name", "coretemp")
        self.put("/sys/class/hwmon/hwmon0/temp1_input", "40000")
        for pid in range(1000, 1000 + count):
            self.put(f"/proc/{pid}/cgroup", f"0::/kubepods/pod{pid:032x}/{pid:064x}")
            self.client(pid, 3, "drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\n"
                        f"drm-client-id:\t{pid}\ndrm-engine-render:\t5000000 ns\n",
                        comm=f"app{pid}")


def measure_clients(kind, size, _folder):
    with Clients(size) as m:
        environment = [f"{name}={value}" for name, value in m.environment().items()
                       if os.environ.get(name) != value]
        for words in COMMANDS[kind]:
            yield words, measure(words.split(), environment)


def read_all(port, count):
    """So many readers at once."""
    crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(count)]
    for s in crowd:
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
    for s in crowd:
        reply = b""
        while chunk := s.recv(65536):
            reply += chunk
        assert reply.startswith(b"HTTP/1.1 200"), reply[:80]
        s.close()


def measure_readers(_kind, size, _folder):
    """An exporter of a GPU with 100 clients; its CPU time for READINGS readings of each reader."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with Clients(100) as m, m.start("exporter", "--listen", f"127.0.0.1:{port}", "-p", "1s",
                                    *LOCAL.split()) as process:
        def cpu_s():
            with open(f"/proc/{process.pid}/schedstat", encoding="ascii") as f:
                return int(f.read().split()[0]) * 1e-9
        while True:
            try:
                read_all(port, 1)
                break
            except OSError:
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.05)
        begin = cpu_s()
        for _ in range(READINGS):
            read_all(port, size)
        row = {"cpu_s": cpu_s() - begin}
        with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
            status = dict(line.split(":", 1) for line in f)
        row["memory_mb"] = int(status["VmHWM"].split()[0]) / 1024
        process.terminate()
        process.communicate()
    yield "exporter --per-client", row


MEASURES = {"clients": measure_clients, "readers": measure_readers}


def grow(kind, folder):
    sizes, rows = CHOSEN[kind], {}
    for size in sizes:
        for words, row in MEASURES.get(kind, measure_captures)(kind, size, folder):
            rows.setdefault(words, []).append(row)
    return {words: {"sizes": row, "exponent":
                    math.log(row[-1]["cpu_s"] / row[1]["cpu_s"]) / math.log(sizes[-1] / sizes[1])}
            for words, row in rows.items()}


arguments = sys.argv[1:]
CHOSEN = SMALL if "--small" in arguments else SIZES
with tempfile.TemporaryDirectory(dir=BUILD) as work:
    kinds_ = {kind: grow(kind, work) for kind in
              [kind for kind in arguments if kind != "--small"] or SIZES}
every = [(name, size) for name, kind in kinds_.items() for command in kind.values()
         for size in command["sizes"]]
print(json.dumps({"sizes": CHOSEN, "kinds": kinds_,
                  "exponent": max(command["exponent"] for kind in kinds_.values()
                                  for command in kind.values()),
                  "least_memory_mb": min((size["memory_mb"] for name, size in every
                                          if name != "readers"), default=None),
                  **{f"{kind}_memory_mb": max(size["memory_mb"] for name, size in every
                                              if name == kind)
                     for kind in kinds_}}))
