#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: test-fleet.py BUILD: docs/fleet.md with Debian's Prometheus, whose programs are below
$PERFCTR_PROMETHEUS, and made-up machines: "tools/tests/exporter --fleet". Prints TAP."""

import contextlib
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

import harness
from harness import answers, check, fetch, test, wait_for
from machine import Machine

BUILD = sys.argv[1]
TOP = os.path.realpath(os.path.dirname(harness.__file__) + "/../..")
TOOLS = os.environ["PERFCTR_PROMETHEUS"] + "/usr/bin/"
RULES = TOP + "/packaging/prometheus/"
CLIENTS, ROUNDS = 100, 10  # of each round: 1,000 clients come and go


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def promtool(*words, text=None):
    done = subprocess.run([TOOLS + "promtool", *words], input=text, text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    check(done.returncode == 0, f"{words}: {done.stdout}")
    return done.stdout


def documented(target, store):
    """prometheus.yml of docs/fleet.md, with the files and addresses of this test"""
    with open(TOP + "/docs/fleet.md", encoding="utf-8") as f:
        text = re.search(r"^```yaml\n(# prometheus.yml\n.*?)^```", f.read(), re.M | re.S)[1]
    for old, new in (("/usr/share/perfctr/", RULES), ("15s", "500ms"),
                     ("/etc/prometheus/perfctr/*.json", target),
                     ("http://store.example:9090", store)):
        check(old in text, f"{old} is not in docs/fleet.md")
        text = text.replace(old, new)
    return text


@contextlib.contextmanager
def prometheus(folder, port, config, *options):
    """One process; yield it"""
    path = f"{folder}/{port}.yml"
    with open(path, "w", encoding="utf-8") as f:
        f.write(config)
    promtool("check", "config", path)
    with open(f"{folder}/{port}.log", "a", encoding="utf-8") as log, subprocess.Popen(
            [TOOLS + "prometheus", f"--config.file={path}", f"--storage.tsdb.path={folder}/{port}",
             f"--web.listen-address=127.0.0.1:{port}", *options], stderr=log) as process:
        try:
            wait_for(lambda: answers(f"http://127.0.0.1:{port}/-/ready"), "Prometheus", 60)
            yield process
        finally:
            process.kill()


def query(port, text):
    reply = json.loads(fetch(f"http://127.0.0.1:{port}/api/v1/query?"
                             f"query={urllib.parse.quote(text)}"))
    check(reply["status"] == "success", f"{reply}")
    return reply["data"]["result"]


def number(port, text):
    found = query(port, text)
    return round(float(found[0]["value"][1]), 9) if found else None


def job(m, pid, ms, pod):
    m.put(f"/proc/{pid}/cgroup", f"0::/kubepods/pod{pod:032x}/{pod:064x}")
    m.put(f"/proc/{pid}/comm", "app")
    m.client(pid, 3, "drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\n"
             f"drm-client-id:\t{pid}\ndrm-engine-render:\t{ms * 1000000} ns\n")


ALL = "sum(perfctr_client_engine_seconds_total) + sum(perfctr_ended_client_engine_seconds_total)"


@test
def churn_of_a_thousand():
    """1,000 clients of 40 pods come and go under a Prometheus that is killed and writes to another:
    both have the exact sums, which never fall; metrics, rules and configuration are valid"""
    with Machine(BUILD) as m, tempfile.TemporaryDirectory() as folder:
        m.put("/sys/class/hwmon/hwmon0/name", "coretemp")
        m.put("/sys/class/hwmon/hwmon0/temp1_input", "40000")
        listen, scraper, store = free_port(), free_port(), free_port()
        with open(folder + "/targets.json", "w", encoding="ascii") as f:
            json.dump([{"targets": [f"127.0.0.1:{listen}"]}], f)
        config = documented(folder + "/targets.json", f"http://127.0.0.1:{store}")
        with contextlib.ExitStack() as stack:
            exporter = stack.enter_context(m.start(
                "exporter", "--listen", f"127.0.0.1:{listen}", "-p", "100ms", "-d", "local", "-e",
                "hwmon/*/", "--per-client"))
            stack.callback(exporter.terminate)
            metrics = f"http://127.0.0.1:{listen}/metrics"
            wait_for(lambda: answers(metrics), "no exporter")
            stack.enter_context(prometheus(folder, store, "global: {scrape_interval: 1s}\n",
                                           "--web.enable-remote-write-receiver"))
            first = contextlib.ExitStack()
            killed = first.enter_context(prometheus(folder, scraper, config))
            expected = 0
            for n in range(ROUNDS):
                if n == ROUNDS // 2:
                    killed.kill()
                    first.close()
                    stack.enter_context(prometheus(folder, scraper, config))
                pids = range(1000 + CLIENTS * n, 1000 + CLIENTS * (n + 1))
                for pid in pids:
                    job(m, pid, 1 + pid % 7, pid % 40)
                    expected += 1 + pid % 7
                wait_for(lambda: counted(fetch(metrics)) == expected,
                         lambda: f"{counted(fetch(metrics))}, not {expected}", 60)
                for pid in pids:
                    m.drop(f"/proc/{pid}")
            for port in scraper, store:
                wait_for(lambda p=port: number(p, ALL) == expected / 1000,
                         lambda p=port: f"{number(p, ALL)}, not {expected / 1000}", 60)
                check(len(query(port, 'perfctr_client_engine_seconds_total{pod_uid!="other"}'))
                      == 40, "series of 40 pods")
                raw = query(port, "perfctr_client_engine_seconds_total[10m]")
                for line in raw:
                    values = [float(value) for _, value in line["values"]]
                    check(values == sorted(values), f"{line['metric']} fell: {values}")
            for name in "perfctr:client_engines_used:rate5m", "hw_gpu_utilization_ratio":
                wait_for(lambda r=name: query(scraper, r), f"{name} has no result", 30)
            check(not query(scraper, 'ALERTS{alertname!="PerfctrNoExporter"}'), "an alert")
            check(not promtool("check", "metrics", text=fetch(metrics)), "promtool finds something")
            check(len(query(scraper, 'up{job="perfctr"} == 1')) == 1, "up")
    for rules in "perfctr.rules.yml", "perfctr.fleet.rules.yml":
        promtool("check", "rules", RULES + rules)


def counted(text):
    """In ms, of all clients that the exporter has"""
    found = re.findall(r"^perfctr_(?:ended_)?client_engine_seconds_total\{.*\} (\S+)$", text, re.M)
    return round(1000 * sum(map(float, found)))


@test
def textfile():
    """node_exporter has the clients of the textfile"""
    with Machine(BUILD) as m, tempfile.TemporaryDirectory() as folder:
        m.put("/sys/class/hwmon/hwmon0/name", "coretemp")
        m.put("/sys/class/hwmon/hwmon0/temp1_input", "40000")
        port = free_port()
        with m.start("exporter", "--textfile", folder + "/perfctr.prom", "-p", "100ms", "-d",
                     "local", "-e", "hwmon/*/", "--per-client") as exporter, subprocess.Popen(
                         [TOOLS + "prometheus-node-exporter", "--collector.disable-defaults",
                          "--collector.textfile", f"--collector.textfile.directory={folder}",
                          f"--web.listen-address=127.0.0.1:{port}"],
                         stderr=subprocess.DEVNULL) as node:
            try:
                wait_for(lambda: os.path.exists(folder + "/perfctr.prom"), "no file")
                for n in range(50):
                    job(m, 1000 + n, n, n)
                url = f"http://127.0.0.1:{port}/metrics"
                wait_for(lambda: counted(answers(url) or "") == sum(range(50)), "not the sum", 60)
            finally:
                exporter.terminate()
                node.terminate()
                time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(harness.main())
