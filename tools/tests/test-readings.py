#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: test-readings.py BUILD: engines and sensors of made-up machines. Prints TAP; no device."""

import ctypes
import json
import os
import re
import sys
import threading
import time

import harness
from harness import check, test
from machine import Machine

BUILD = sys.argv[1]
I915 = "drm/i915@0000:03:00.0:"
IN_OPEN = 0x20


def counters(done):
    """Counters of stat -j by the last part of their event."""
    check(done.returncode == 0, f"status {done.returncode}: {done.stderr}")
    return {c["event"].rsplit(":", 1)[1]: c for c in json.loads(done.stdout)["counters"]}


class BusyEngines:
    """Both engines of a class are busy all the time."""

    def __init__(self, m):
        self.machine = m
        self.begin = time.monotonic()
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.feed)

    def put(self):
        ns = int((time.monotonic() - self.begin) * 2e9)
        self.machine.client(70, 4, "drm-driver:\ti915\ndrm-pdev:\t0000:03:00.0\n"
                            f"drm-client-id:\t9\ndrm-engine-video:\t{ns} ns\n"
                            "drm-engine-capacity-video:\t2\n", comm="player")

    def feed(self):
        while not self.stop.is_set():
            self.put()
            time.sleep(0.01)

    def __enter__(self):
        self.put()
        self.thread.start()

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def share(text, what):
    """The first percentage behind an engine."""
    found = re.search(r"engine-video\S* +(?:\S+ +)??([\d.]+) %", text)
    check(found, f"{what} has no share: {text}")
    check(80 <= float(found[1]) <= 120, f"{what}: {found[1]} %")


@test
def capacity():
    """two busy engines of a class are 100 % in stat, top, captures and the exporter"""
    with Machine(BUILD) as m, BusyEngines(m):
        events = "-d", "local", "-e", "drm/*:engine-video/"
        share(m.run("stat", *events, "--", "sleep", "1").stderr, "stat")
        share(m.run("top", "--snapshot", *events).stdout, "top")
        c = counters(m.run("stat", "-j", *events, "--", "sleep", "1"))["engine-video/"]
        check(1.8e9 <= c["value"] <= 2.6e9, f"the time of both engines: {c['value']} ns")
        check(c["scale"] == 0.5, f"scale {c['scale']}")
        check(0.8e9 <= c["rate"] <= 1.2e9, f"rate {c['rate']} ns/s")
        capture = m.root + "/a.pctr"
        m.run("record", *events, "-o", capture, "--", "sleep", "1")
        share(m.run("report", capture).stdout, "report")
        text = m.run("exporter", "--once", "-p", "1000", *events).stdout
        found = re.search(r"^perfctr_drm_engine_video_seconds_total\S* ([\d.]+)", text, re.M)
        check(found and 0.8 <= float(found[1]) <= 1.2, f"exporter: {text}")


@test
def late_capacity():
    """so they are for a client that comes after START, also in an exporter from boot on"""
    with Machine(BUILD) as m:
        events = "-d", "local", "-e", I915 + "engine-video/"

        def client(ns):
            m.client(70, 4, "drm-driver:\ti915\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t9\n"
                     f"drm-engine-video:\t{ns} ns\ndrm-engine-capacity-video:\t2\n")

        steps = [(0.3, lambda: client(0)), (0.3, lambda: client(200000001))]
        c = counters(m.script(["stat", "-j", *events], steps))["engine-video/"]
        check(c["value"] == 100000000 and "scale" not in c, f"the time of one: {c}")
        m.drop("/proc/70")
        file = m.root + "/metrics.prom"
        texts = []

        def read():
            with open(file, encoding="ascii") as f:
                texts.append(f.read())

        done = m.script(["exporter", "--textfile", file, "-p", "100", *events],
                        [*steps, (0.1, read)], settle=0.5)
        check(texts, f"exporter: {done.stderr}")
        found = re.search(r"^perfctr_drm_engine_video_seconds_total\S* ([\d.]+)", texts[0], re.M)
        check(found and float(found[1]) == 0.1, f"exporter: {texts[0]}")


@test
def negative():
    """a temperature of -5 degrees and a rail of -12 V are that in every output"""
    with Machine(BUILD) as m:
        for file, content in {"name": "coretemp", "temp1_input": "-5000", "in5_input": "-11810",
                              "fan1_input": "-7"}.items():
            m.put("/sys/class/hwmon/hwmon0/" + file, content)
        events = "-d", "local", "-e", "hwmon/*/"
        c = counters(m.run("stat", "-j", *events, "--", "true"))
        check(c["temp1_input/"]["value"] == -5000, f"JSON: {c['temp1_input/']}")
        check(c["temp1_input/"]["scaled_value"] == -5, f"JSON: {c['temp1_input/']}")
        check(c["fan1_input/"]["value"] == -7, f"JSON: {c['fan1_input/']}")
        text = m.run("stat", *events, "--", "sleep", "0.4").stderr
        check(re.search(r"-5\.00 +degC .* -5 +-5 +-5 ", text), f"stat: {text}")
        check(re.search(r" -7 +RPM ", text), f"stat: {text}")
        text = m.run("stat", "-x,", *events, "--", "true").stdout
        check("-5,degC," in text and "-11.81,V," in text and "-7,RPM," in text, f"CSV: {text}")
        text = m.run("top", "--snapshot", *events).stdout
        check("-5 degC" in text and "-11.81 V" in text, f"top: {text}")
        text = m.run("exporter", "--once", "-p", "100", *events).stdout
        for value in "celsius{.*} -5.000", "volts{.*} -11.810", "rpm{.*} -7":
            check(re.search(value + "$", text, re.M), f"exporter: {text}")
        capture = m.root + "/a.pctr"
        m.run("record", *events, "-o", capture, "--", "sleep", "0.2")
        check("-11.81 " in m.run("report", capture).stdout, "report")
        check(",V,0.001,-11810," in m.run("export", "-f", "csv", capture).stdout, "export")
        for line in m.run("export", "-f", "json", capture).stdout.splitlines():
            check("18446744" not in line, f"export: {line}")
        check("18446744" not in m.run("report", "--html", capture).stdout, "HTML")
        picture = m.run("report", "--svg", capture).stdout
        check("zero throughout" not in picture and "18446744" not in picture, "SVG")
        lines = re.findall(r'<path class="[^"]*\bmean"', picture)
        check(len(lines) == 3, f"SVG: {len(lines)} lines")


class Opens:
    """Counts who opens a file."""

    def __init__(self, path):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK)
        check(libc.inotify_add_watch(self.fd, path.encode(), IN_OPEN) >= 0, "inotify")

    def any(self):
        """Whether it was opened since the last call."""
        try:
            return bool(os.read(self.fd, 4096))
        except BlockingIOError:
            return False


@test
def asleep():
    """commands that look leave the node of a GPU that sleeps closed, and say so"""
    with Machine(BUILD) as m:
        m.put("/dev/dri/renderD128", "x")
        m.put("/sys/class/drm/renderD128/device/power/runtime_status", "suspended")
        m.link("/sys/class/drm/renderD128/device/driver", "../../bus/pci/drivers/xe")
        opens = Opens(m.root + "/dev/dri/renderD128")
        for words in (["list"], ["check"], ["info"], ["info", "-j"], ["stat", "--", "true"],
                      ["top", "--snapshot"], ["exporter", "--once", "-p", "100"],
                      ["perfkit", "--passes"], ["stat", "-e", "gpu_utilization", "--", "true"],
                      ["exporter", "--once", "-p", "100", "-e", "gpu_utilization"],
                      ["guard", "-b", "event=context-switches limit=1G window=100ms "
                       "action=report allow_untrusted=yes", "--", "true"]):
            done = m.run(*words)
            check(not opens.any(), f"{words[0]} opens the node")
            text = done.stdout + done.stderr
            check("asleep" in text and "-d renderD128" in text and "xe" in text,
                  f"{words[0]}: {text}")
            check(words[0] in ("list", "check", "info") or text.count("asleep") == 1,
                  f"{words[0]} says it again: {text}")
        m.run("info", "-d", "renderD128")
        check(opens.any(), "-d does not open the node")
        m.put("/sys/class/drm/renderD128/device/power/runtime_status", "active")
        m.run("info")
        check(opens.any(), "the node of a GPU that is awake is not opened")


sys.exit(harness.main())
