#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: test-report.py BUILD: perfctr check --report of a made-up machine that has private data in
every place. Prints TAP; no device."""

import json
import os
import re
import sys

import harness
from harness import check, test
from machine import Machine

BUILD = sys.argv[1]
HOST = os.uname().nodename
GPU = "/sys/devices/pci0000:00/0000:03:00.0"
# for files that are not read, and for those that are
UNREAD = {"serial": "SN-4711-8899", "unique": "a5b1c2d3e4f56789", "label": "Lena's desk",
          "program": "secret-game", "command": "--password=hunter2"}
READ = {"user": "lenamuster", "home": "/home/lena/my-project", "mac": "52:54:00:ab:cd:ef",
        "dashed": "52-54-00-AB-CD-EF", "uuid": "6ba7b810-9dad-11d1-80b4-00c04fd430c8"}


def plant(m):
    """Facts that a report needs, with private data beside and inside of them."""
    m.put("/proc/sys/kernel/perf_event_paranoid", "2")
    m.put("/proc/device-tree/model", f"Board of {READ['user']} at {HOST}\0")
    m.put("/proc/device-tree/compatible", "vendor,board\0vendor,soc\0")
    m.put("/proc/device-tree/serial-number", UNREAD["serial"])
    m.put("/sys/class/dmi/id/product_serial", UNREAD["serial"])
    m.put("/sys/class/net/eth0/address", READ["mac"])
    m.put("/sys/module/amdgpu/version", f"6.8 {READ['home']}/build by {READ['user'].upper()}")
    m.put("/sys/module/amdgpu/srcversion", "0123456789ABCDEF")
    m.put(f"{GPU}/vendor", "0x1002")
    m.put(f"{GPU}/device", "0x73bf")
    m.put(f"{GPU}/unique_id", UNREAD["unique"])
    m.put(f"{GPU}/serial_number", UNREAD["serial"])
    m.put(f"{GPU}/power/runtime_status", "active")
    m.put(f"{GPU}/gpu_busy_percent", "7")
    m.link(f"{GPU}/driver", "../../../bus/pci/drivers/amdgpu")
    m.link(f"{GPU}/subsystem", "../../../bus/pci")
    m.link("/sys/class/drm/card0/device", "../../../devices/pci0000:00/0000:03:00.0")
    m.put("/sys/class/drm/card0-DP-1/edid", UNREAD["serial"])
    m.put("/sys/class/hwmon/hwmon0/name", f"usb_{READ['mac']}")
    m.put("/sys/class/hwmon/hwmon0/temp1_input", "40000")
    m.put("/sys/class/hwmon/hwmon0/temp1_label", UNREAD["label"])
    m.put("/sys/class/hwmon/hwmon1/name", f"{READ['dashed']} {READ['uuid']}")
    m.pmu("cpu", 4, {"format/event": "config:0-7", "events/cpu-cycles": "event=0x3c",
                     "cpus": "0-3"})
    m.pmu(f"uncore_{READ['user']}", 5, {"format/event": "config:0-7", "cpumask": "0"})
    m.client(70, 4, "drm-driver:\tamdgpu\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t7\n"
             "drm-engine-gfx:\t1 ns\n", comm=UNREAD["program"])
    m.put("/proc/70/cmdline", UNREAD["command"])
    m.perf("4 0x3c * rate 1000")


def report(m, *options):
    os.environ["SUDO_USER"] = READ["user"]
    done = m.run("check", "--report", *options)
    del os.environ["SUDO_USER"]
    check(done.returncode in (0, 1, 3, 4), f"{done.returncode} {done.stderr}")
    return done.stdout


def check_private(text):
    low = text.lower()
    for what, value in {**UNREAD, **READ, "program's home": "my-project"}.items():
        check(value.lower() not in low, f"{what}: {text}")
    check(not re.search(rf"(?<![a-z0-9]){re.escape(HOST.lower())}(?![a-z0-9])", low),
          f"{HOST}: {text}")


@test
def has_no_private_data():
    """text and JSON have none of it, also where it is part of a fact"""
    with Machine(BUILD) as m:
        plant(m)
        for options in (), ("-j",), ("-d", "local"), ("-j", "-d", "local"):
            text = report(m, *options)
            check_private(text)
            for instead in "USER", "HOST", "HOME", "MAC", "UUID":
                check(instead in text, f"{options} {instead}: {text}")


@test
def has_the_facts():
    """what a defect needs is there: kernel, settings, drivers, GPUs, PMUs, sensors, checks"""
    with Machine(BUILD) as m:
        plant(m)
        found = json.loads(report(m, "-j", "-d", "local"))
    check(found["kernel"] == os.uname().release and found["machine"] == os.uname().machine, found)
    check(found["board"] == "Board of USER at HOST", found["board"])
    check(found["compatible"] == "vendor,board,vendor,soc", found["compatible"])
    check(found["settings"]["kernel/perf_event_paranoid"] == "2", found["settings"])
    check({"module": "amdgpu", "version": "6.8 HOME by USER", "srcversion": "0123456789ABCDEF"} in
          found["modules"], found["modules"])
    gpu, = found["gpus"]
    check((gpu["place"], gpu["driver"], gpu["bus"], gpu["vendor"], gpu["device"], gpu["has"]) ==
          ("0000:03:00.0", "amdgpu", "pci", "0x1002", "0x73bf", ["gpu_busy_percent"]), gpu)
    pmus = {p["pmu"]: p for p in found["pmus"]}
    check(pmus["cpu"] == {"pmu": "cpu", "type": "4", "cpus": "0-3", "events": 1,
                          "format": ["event"]} and "uncore_USER" in pmus, pmus)
    check(found["sensors"] == [{"chip": "usb_MAC", "values": ["temp1_input"]},
                               {"chip": "MAC UUID", "values": []}], found["sensors"])
    checks = found["checks"]
    check({"kernel", "gpu"} <= {c["check"] for c in checks} and
          not any("fix" in c for c in checks), checks)


@test
def text_has_the_same():
    """the text has every value of JSON"""
    with Machine(BUILD) as m:
        plant(m)
        found, text = json.loads(report(m, "-j")), report(m)

    def values(value):
        if isinstance(value, dict):
            value = list(value.values())
        if isinstance(value, list):
            return [v for member in value for v in values(member)]
        return [] if value is None or isinstance(value, bool) else [str(value)]

    # how long it counted differs
    missing = [v for v in values(found) if v not in text and "through the ring" not in v]
    check(len(values(found)) > 30 and not missing, f"{missing} {text}")


@test
def no_fix_and_no_change():
    """without --report check is as before, with the commands that fix something"""
    with Machine(BUILD) as m:
        plant(m)
        done = m.run("check", "-j", "-d", "local")
        check(all("fix" in c for c in json.loads(done.stdout)["checks"]), done.stdout)
        check("gpus" not in json.loads(done.stdout), done.stdout)


if __name__ == "__main__":
    sys.exit(harness.main())
