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
def many_clients():
    """stat --per-client has the time of each of 300 clients, and of all"""
    with Machine(BUILD) as m:
        def work(times):
            for pid in range(1000, 1300):
                m.client(pid, 3, "drm-driver:\ti915\ndrm-pdev:\t0000:03:00.0\n"
                         f"drm-client-id:\t{pid}\ndrm-engine-render:\t{times * pid} ns\n")

        work(1)
        done = m.script(["stat", "-d", "local", "--per-client", "-j", "-e", "drm/*:engine-*/"],
                        [(3, lambda: work(2))], settle=3)
        found = {}
        for row in json.loads(done.stdout)["counters"]:
            pid = re.search(r"pid=(\d+)", row["event"])
            found[int(pid[1]) if pid else 0] = row["value"]
        check(found == {0: sum(range(1000, 1300)), **{n: n for n in range(1000, 1300)}},
              f"{len(found)} clients: {found}")


@test
def time_of_readings():
    """the running time of a reading in CSV is that in which it had a value"""
    with Machine(BUILD) as m:
        m.put("/sys/class/hwmon/hwmon0/name", "coretemp")
        m.put("/sys/class/hwmon/hwmon0/energy1_input", "100000")

        def client():
            m.client(70, 4, "drm-driver:\ti915\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t9\n"
                     "drm-engine-video:\t0 ns\n")

        done = m.script(["stat", "-x,", "-I", "100", "-d", "local", "-e",
                         I915 + "engine-video/,hwmon/*/"], [(0.4, client)], settle=0.45)
        before, span = 0, {}
        for row in [line.split(",") for line in done.stderr.splitlines()]:
            end = round(float(row[0]) * 1e9)
            before, span = (before, span) if end in span else (end, {end: end - before})
            ns = 0 if "not counted" in row[1] else span[end]
            # the first sample begins a moment after START
            check(abs(int(row[4]) - ns) < 1e6, f"{row}: {ns}")
        check("<not counted>" in done.stderr and ",0,ns," in done.stderr, done.stderr)


@test
def losses():
    """an energy or a client's time that falls is said to be lost in every output"""
    with Machine(BUILD) as m:
        energy = "/sys/class/hwmon/hwmon0/energy1_input"

        def client(ns):
            m.client(70, 4, "drm-driver:\ti915\ndrm-pdev:\t0000:03:00.0\ndrm-client-id:\t9\n"
                     f"drm-engine-video:\t{ns} ns\n")

        m.put("/sys/class/hwmon/hwmon0/name", "coretemp")
        cases = {"hwmon/*/": lambda fallen: m.put(energy, "1000" if fallen else "90000000"),
                 I915 + "engine-video/": lambda fallen: client(1000 if fallen else 90000000)}
        m.put(energy, "1")
        for event, put in cases.items():
            def script(*words, event=event, put=put):
                put(False)
                done = m.script([*words, "-d", "local", "-e", event],
                                [(0.4, lambda: put(True))], settle=0.5)
                check(done.returncode == 0, f"{words}: {done.stderr}")
                return done

            done = script("stat")
            check("seconds at most whose counts" in done.stdout + done.stderr, f"{event}: {done}")
            done = script("stat", "-x,")
            check(re.search(r"counts of up to 0\.\d+ s were lost", done.stderr), f"{done}")
            check(["lost" in line for line in done.stderr.splitlines()].count(True) == 1 and
                  all(line[0] == "#" or "lost" not in line for line in done.stderr.splitlines()),
                  done.stderr)
            check(json.loads(script("stat", "-j").stdout)["lost_ns"] > 0, "JSON")
            capture = m.root + "/a.pctr"
            done = script("record", "-o", capture)
            check("LOST" in done.stderr, f"record: {done.stderr}")
            text = m.run("report", capture).stdout
            check(" lost counts of up to" in text and "between two readings" in text and
                  not re.search("hardware", text + done.stderr), f"report: {text} {done.stderr}")


@test
def names_apart():
    """names that do not fit differ in pictures and top: keys of memory, and pid="""
    with Machine(BUILD) as m:
        for pid in 70, 71:
            m.client(pid, 4, "drm-driver:\ti915\ndrm-pdev:\t0000:03:00.0\n"
                     f"drm-client-id:\t{pid}\ndrm-engine-render:\t0 ns\n"
                     "drm-resident-stolen-system0:\t4 KiB\ndrm-resident-stolen-local0:\t4 KiB\n"
                     "drm-purgeable-stolen-local0:\t4 KiB\n")
        words = "-d", "local", "-e", f"drm/*stolen*/,{I915}purgeable-stolen-local0,pid=*/"
        m.run("record", *words, "-o", m.root + "/a.pctr", "--", "sleep", "0.2")
        picture = m.run("report", "--svg", m.root + "/a.pctr").stdout
        names = re.findall(r'class="name"[^>]*>([^<]*)<', picture)
        check(len(names) == 5 == len({*names}), f"picture: {names}")
        check(any("pid=70" in name for name in names), names)
        check(re.search(r'class="quiet small edged"[^>]* paint-order="stroke"', picture), "edge")
        text = m.run("top", "--snapshot", *words).stdout
        names = re.findall(r"^. (\S*\.\.\.\S*)", text, re.M)
        check(len(names) == len({*names}) and len(names) >= 3, f"top: {text}")


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
        text = m.run("stat", "-x,", *events, "--", "true").stderr
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


def amd_card(m, card, place, data):
    """A card of amdgpu with a file gpu_metrics."""
    folder = f"/sys/devices/pci0000:00/{place}"
    m.put(f"{folder}/gpu_metrics", data)
    m.put(f"{folder}/power/runtime_status", "active")
    m.link(f"{folder}/driver", "../../../bus/pci/drivers/amdgpu")
    m.link(f"/sys/class/drm/card{card}/device", f"../../../devices/pci0000:00/{place}")


def gpu_metrics(format_, content, size, **fields):
    """A file whose fields are named by place and bytes, as at22_2=85."""
    data = bytearray(b"\xff" * size)
    data[:4] = size.to_bytes(2, "little") + bytes((format_, content))
    for name, value in fields.items():
        at, length = map(int, name[2:].split("_"))
        data[at:at + length] = value.to_bytes(length, "little")
    return bytes(data)


@test
def amd_gpus():
    """values of amdgpu's firmware are listed, counted and, with a known unit, a default"""
    with Machine(BUILD) as m:
        amd_card(m, 0, "0000:03:00.0", gpu_metrics(1, 4, 288, at10_2=85, at24_8=1 << 40))
        amd_card(m, 1, "0000:43:00.0", gpu_metrics(1, 3, 120, at22_2=33, at24_8=7))
        text = m.run("list", "-d", "local", "amdgpu").stdout
        check("amdgpu/0000:03:00.0:curr_socket_power/" in text and
              "amdgpu/0000:43:00.0:average_socket_power/" in text and "_activity" not in text, text)
        found = counters(m.run("stat", "-d", "local", "-j", "-e", "amdgpu/*power/", "--", "true"))
        check([(name, c["value"], c["unit"], c["scale"]) for name, c in sorted(found.items())] ==
              [("average_socket_power/", 33000, "W", 0.001),
               ("curr_socket_power/", 85000, "W", 0.001)], f"{found}")
        text = m.run("top", "--snapshot", "-d", "local", "--view", "gpu").stdout
        check("85" in text and "33" in text, text)
        found = m.run("stat", "-d", "local", "-j", "--", "true").stdout
        check("03:00.0:energy_accumulator" in found and "43:00.0:energy" not in found, found)
        amd_card(m, 1, "0000:43:00.0", gpu_metrics(9, 1, 200))
        done = m.run("stat", "-d", "local", "-e", "amdgpu/0000:43:00.0:*/", "--", "true")
        check(done.returncode and "format 9.1 of 200 bytes" in done.stderr, done.stderr)
        text = m.run("check", "-d", "local").stdout
        check("0000:03:00.0, amdgpu: drm/*:engine-*/" in text and
              "amdgpu/0000:03:00.0:*/ by gpu_metrics, 2 values: any user" in text and
              "format 9.1 of 200 bytes" in text, text)


@test
def nvidia_gpus():
    """events of NVML are listed without its library, and a missing one or sleep is explained"""
    with Machine(BUILD) as m:
        folder = "/sys/bus/pci/drivers/nvidia/0000:01:00.0/power"
        m.put(f"{folder}/runtime_status", "active")
        m.put(f"{folder}/control", "on")
        m.pmu("software", 1, {})
        m.perf("1 0x1 * rate 1000", "1 0x0 * rate 1000")
        text = m.run("list", "-d", "local", "nvml").stdout
        check("nvml/0000:01:00.0:energy/" in text and "sm-cycles-active" in text, text)
        check(m.run("stat", "-d", "local", "--", "true").returncode == 0, "stat")
        done = m.run("stat", "-d", "local", "-e", "nvml/*:power/", "--", "true")
        check("libnvidia-ml.so.1" in done.stderr, done.stderr)
        text = m.run("check", "-d", "local").stdout
        check("0000:01:00.0, nvidia: nvml/0000:01:00.0:*/ by NVML" in text and
              "does not sleep while one is counted" in text, text)
        m.put(f"{folder}/runtime_status", "suspended")
        done = m.run("stat", "-d", "local", "-e", "nvml/*:power/", "--", "true")
        check("0000:01:00.0 sleeps, and NVML would wake it" in done.stderr, done.stderr)
        check("0000:01:00.0, nvidia, asleep" in m.run("check", "-d", "local").stdout, "check")


@test
def nvidia_library():
    """a library with NVML's symbols is counted by stat, top, captures, exporter and check"""
    gpu = "nvml/0000:01:00.0:"
    with Machine(BUILD) as m:
        m.libraries = os.path.join(BUILD, "tests/nvml")
        m.put("/sys/bus/pci/drivers/nvidia/0000:01:00.0/power/runtime_status", "active")
        m.put("/sys/bus/pci/drivers/nvidia/0000:01:00.0/power/control", "on")
        m.put("/proc/70/comm", "trainer")
        events = ",".join(gpu + e for e in ("energy/", "pcie-rx/", "power/", "sm-cycles/",
                                            "sm-cycles-active/", "process-memory,pid=*/"))
        done = m.run("stat", "-d", "local", "-j", "-e", events, "--", "sleep", "1")
        found = counters(done)
        for event, rate in (("energy/", 70.5), ("pcie-rx/", 3e9), ("sm-cycles/", 1980e6),
                            ("sm-cycles-active/", 495e6)):
            # the last sample of GPM may be as old as a period
            low = 0.8 if "cycles" in event else 0.95
            check(low <= found[event]["rate"] / rate <= 1.05, f"{event}: {found[event]}")
            check(found[event]["samples_missed"] <= 3, f"{event}: {found[event]}")
        check(found["power/"]["value"] == 70500, f"{found['power/']}")
        process, = (c for c in found.values() if "process-memory" in c["event"])
        check(process["value"] == 512 << 20 and "trainer" in str(process), f"{process}")
        text = m.run("top", "--snapshot", "-d", "local", "-e", gpu + "power/").stdout
        check("70.5" in text, text)
        views = {view: m.run("top", "--snapshot", "-d", "local", "--view", view).stdout
                 for view in ("gpu", "memory", "pcie")}
        check("utilization-gpu" in views["gpu"] and "70.5" in views["gpu"] and
              "memory-used" in views["memory"] and "utilization-gpu" not in views["memory"] and
              "pcie-rx" in views["pcie"], f"{views}")
        capture = m.root + "/a.pctr"
        done = m.run("record", "-d", "local", "-e", gpu + "energy/", "-p", "50ms", "-o", capture,
                     "--", "sleep", "1")
        check(done.returncode == 0, done.stderr)
        energy, = json.loads(m.run("report", "--json", capture).stdout)["counters"]
        check(65e6 <= energy["value"] <= 90e6, f"{energy}")
        text = m.run("exporter", "--once", "-p", "1000", "-d", "local", "-e", gpu + "energy/," +
                     gpu + "temperature/").stdout
        check(re.search(r'^perfctr_nvml_energy_joules_total\{.*\} \d', text, re.M) and
              re.search(r'^perfctr_nvml_temperature_celsius\{.*\} 43\.0', text, re.M), text)
        text = m.run("check", "-d", "local").stdout
        check("by NVML (libnvidia-ml.so.1)" in text and "counters can be used here" in text, text)
        # utilisation, bandwidth and energy without -e, the latter also of a GPU's sensors
        m.put("/sys/class/hwmon/hwmon3/name", "xe")
        m.put("/sys/class/hwmon/hwmon3/energy1_input", "5")
        text = m.run("stat", "-d", "local", "--", "true").stderr
        check(all(gpu + e in text for e in ("energy/", "memory-used/", "utilization-gpu/",
                                            "pcie-rx/")), text)
        check("hwmon/hwmon3-xe:energy1_input/" in text, text)


@test
def switched_off():
    """a GPU whose driver does not measure its engines leaves the others counted"""
    panthor = "drm-driver:\tpanthor\ndrm-client-id:\t3\ndrm-engine-panthor:\t10 ns\n"
    busy = ("drm-driver:\tamdgpu\ndrm-pdev:\t0000:08:00.0\ndrm-client-id:\t7\n"
            "drm-engine-gfx:\t%d ns\n")
    with Machine(BUILD) as m:
        m.put("/sys/bus/platform/drivers/panthor/fb000000.gpu/profiling", "0")
        m.client(100, 3, panthor)
        m.client(101, 3, busy % 5)
        done = m.script(["stat", "-d", "local", "-j", "-e", "drm/*:engine-*/"],
                        [(0.3, lambda: m.client(101, 3, busy % 1005))])
        check(done.returncode == 0, done.stderr)
        rows = {c["event"]: (c["value"], c["state"]) for c in json.loads(done.stdout)["counters"]}
        check(rows == {"drm/panthor:engine-panthor/": (None, "not supported"),
                       "drm/amdgpu@0000:08:00.0:engine-gfx/": (1000, "ok")}, rows)
        done = m.run("stat", "-d", "local", "-e", "drm/panthor:engine-panthor/", "--", "true")
        check(done.returncode and "echo 3 | sudo tee" in done.stderr, done.stderr)


sys.exit(harness.main())
