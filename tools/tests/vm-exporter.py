#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr exporter under Debian's Prometheus. Prints TAP. Runs as root in the guest; usage:
tools/tests/exporter"""

import collections
import contextlib
import fcntl
import json
import os
import re
import socket
import struct
import subprocess
import sys
import time
import urllib.error
import urllib.parse

import harness
from harness import NOBODY, answers, check, drop, fetch, run, test, wait_for, write
from vsoc_truth import ALL_GPU, FOLDER, MISSING, MOVED_BY_MEASURING, counted, truth

TOOLS = os.environ.get("PERFCTR_PROMETHEUS", "") + "/usr/bin/"
FILES = os.path.realpath(os.path.dirname(harness.__file__) + "/../../packaging/prometheus/")
RULES = FILES + "/perfctr.rules.yml"
ADDRESS = "127.0.0.1:9738"
METRICS = f"http://{ADDRESS}/metrics"
PROMETHEUS = "http://127.0.0.1:9090/"
DRIVER = "/sys/bus/platform/drivers/vsoc/"
# of the comparison with the truth: a quarter before and after each event
SECONDS = int(os.environ.get("PERFCTR_EXPORTER_S", "20"))


def get(url=METRICS, **options):
    return fetch(url, **options)


@contextlib.contextmanager
def background(*command, url=None, uid=None):
    """A process that answers at url, until a signal ends it"""
    with subprocess.Popen(command, stderr=subprocess.DEVNULL,
                          preexec_fn=drop(uid) if uid else None) as process:
        try:
            wait_for(lambda: not url or answers(url), f"{command}: no answer")
            yield process
        finally:
            process.terminate()
            process.wait(timeout=30)
    # node_exporter does not catch the signal
    check(process.returncode in (0, -15), f"{command}: {process.returncode}")


def exporter(*options, uid=None):
    return background("perfctr", "exporter", "--listen", ADDRESS, *options, url=METRICS, uid=uid)


def values(text=None):
    """{name: value}, added up over labels"""
    found = collections.Counter()
    for name, value in re.findall(r"^(\w+)\{.*\} (\S+)$", text or get(), re.MULTILINE):
        found[name] += float(value)
    return found


def settle():
    """After this, the exporter has a sample of what the GPU did until now"""
    before = values()["perfctr_samples_total"]
    wait_for(lambda: values()["perfctr_samples_total"] >= before + 2, "no new samples")


def work(seed):
    run("vsoc-job", "-q", "--random", "60", "--seed", str(seed), "-c", "3")


def query(text):
    reply = json.loads(get(f"{PROMETHEUS}api/v1/query?query={urllib.parse.quote(text)}"))
    check(reply["status"] == "success", f"{reply}")
    return reply["data"]["result"]


def wait_for_scrape():
    """Return: a time before the last scrape"""
    now = time.time()
    wait_for(lambda: any(t > now for s in query("perfctr_up[10m]") for t, _ in s["values"]),
             "no scrape")
    return now


def compare_with(expected, begin):
    """The last raw sample in Prometheus minus the first after begin is as expected."""
    compared = []
    for series in query('{__name__=~".*_total",index!=""}[10m]'):
        labels = series["metric"]
        raw = [int(value) for at, value in series["values"] if at >= begin]
        check(raw == sorted(raw), f"{labels} went back: {raw}")
        name = labels["__name__"][len(f"perfctr_{labels['block']}_"):-len("_total")].upper()
        key = labels["block"], int(labels["index"]), name
        # names of cycles end with the unit; they also count without work, before and after
        if raw and key in expected and name not in MOVED_BY_MEASURING:
            check(raw[-1] - raw[0] == expected[key], f"{key}: {raw}, truth {expected[key]}")
            compared.append(expected[key])
    check(len(compared) > 60 and len([v for v in compared if v]) > 30, f"compared {compared}")


@test
def prometheus_has_the_truth():
    """for a while: last minus first raw sample in Prometheus is the truth, per lifetime of the
    exporter, with a GPU reset in the first and a device that is unbound in the second; rules and
    dashboard have results"""
    write("/tmp/prometheus.yml", f"""
global: {{scrape_interval: 500ms, evaluation_interval: 1s}}
rule_files: [{RULES}]
scrape_configs:
- {{job_name: perfctr, static_configs: [{{targets: ["{ADDRESS}"]}}]}}
""")
    options = "-p", "250ms", "-d", "vsoc", "-A", "-e", ALL_GPU, "-e", "metric:*"
    begin = time.monotonic()
    with background(TOOLS + "prometheus", "--config.file=/tmp/prometheus.yml",
                    "--storage.tsdb.path=/tmp/tsdb", "--web.listen-address=127.0.0.1:9090",
                    url=PROMETHEUS + "-/ready"):
        for lifetime in 1, 2:
            with exporter(*options):
                settle()
                first, before, n, earlier = wait_for_scrape(), truth(), 100 * lifetime, {}
                while time.monotonic() < begin + (2 * lifetime - 1) * SECONDS / 4:
                    work(n := n + 1)
                settle()
                if lifetime == 1:
                    write(FOLDER + "/reset", "1")
                else:
                    earlier = counted(before, truth())
                    write(DRIVER + "unbind", "vsoc.0")
                    wait_for(lambda: values()["perfctr_up"] == 0, "up without a device")
                    write(DRIVER + "bind", "vsoc.0")
                    wait_for(lambda: values()["perfctr_up"] == 1, "not up")
                    before = truth()
                while time.monotonic() < begin + lifetime * SECONDS / 2:
                    work(n := n + 1)
                settle()
                wait_for_scrape()
                after = counted(before, truth())
                compare_with({k: after[k] + earlier.get(k, 0) for k in after}, first)
                check(values()["perfctr_device_resets_total"] == (lifetime == 1) and
                      values()["perfctr_device_restarts_total"] == (lifetime == 2), get())
                with open(FILES + "/perfctr-dashboard.json", encoding="utf-8") as f:
                    panels = [t["expr"] for p in json.load(f)["panels"] for t in p["targets"]]
                with open(RULES, encoding="ascii") as f:
                    panels += re.findall("record: (.*)", f.read())
                for text in panels:
                    text = text.replace("$counter", "perfctr_shader_fragments_total")
                    text = re.sub(r"\$(host|device)", ".*", text)
                    check(query(text.replace("$__rate_interval", "30s")), f"{text} has no result")


@test
def promtool_is_silent():
    """promtool check metrics and check rules find nothing; OpenMetrics ends with # EOF"""
    with exporter("-p", "100ms", "-e", ALL_GPU, "-e", "metric:*"):
        settle()
        done = run(TOOLS + "promtool", "check", "metrics", input=get())
        check(not done.stdout + done.stderr, done.stdout + done.stderr)
        text = get(headers={"Accept": "application/openmetrics-text;version=1.0.0"})
        check(text.endswith("\n# EOF\n") and
              "# UNIT perfctr_cshw_gpu_active_cycles cycles\n" in text, text)
        # a ratio of 0/0
        check(not "l2_read_hit_ratio" in text and values()["perfctr_not_measured"] > 0, text)
    run(TOOLS + "promtool", "check", "rules", RULES)


@test
def slow_and_hostile_scrapers():
    """a hundred readers that send and read nothing, or a byte a second, neither delay others nor
    make the exporter grow, and are gone after ten seconds; bad requests get an error"""
    with exporter("-p", "100ms", "-A", "-e", ALL_GPU) as process:
        settle()
        crowd = []
        for n in range(150):
            s = socket.create_connection(("127.0.0.1", 9738))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            s.setblocking(False)
            s.send((b"", b"G", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")[n % 3])
            crowd.append(s)
        files = f"/proc/{process.pid}/fd"
        begin = time.monotonic()
        while time.monotonic() < begin + 13:
            at = time.monotonic()
            get()
            check(time.monotonic() - at < 2, f"{time.monotonic() - at} s for a scrape")
            check(len(os.listdir(files)) < 200, "too many connections")
            for s in crowd[::3]:
                with contextlib.suppress(OSError):
                    s.send(b"x")
            time.sleep(0.5)
        with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
            peak = int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1))
        check(peak < 32768, f"{peak} KiB")
        wait_for(lambda: len(os.listdir(files)) < 20, f"{os.listdir(files)} stay", 10)
        for path, options, status in (("", {}, 404), ("metrics", {"data": b"x" * 99999}, 405),
                                      ("metrics", {"headers": {"X": "x" * 99999}}, 431)):
            try:
                check(not get(f"http://{ADDRESS}/{path}", **options), f"/{path} is accepted")
            except urllib.error.HTTPError as error:
                check(error.code == status, f"/{path}: {error.code}, expected {status}")
                check(error.headers["Allow"] == ("GET, HEAD" if status == 405 else None), path)
            except ConnectionError:
                check(status != 404, f"/{path}: connection")


@test
def names_of_the_machine():
    """a web page whose name points here reads nothing: requests for addresses and the machine's
    names are answered, all others get 421"""
    def status(host):
        with socket.create_connection(("127.0.0.1", 9738)) as s:
            s.settimeout(5)
            s.send(b"GET /metrics HTTP/1.1\r\nHost: " + host.encode() + b"\r\n\r\n" if host else
                   b"GET /metrics HTTP/1.0\r\n\r\n")
            reply = b""
            with contextlib.suppress(OSError):
                while chunk := s.recv(65536):
                    reply += chunk
            code = int(reply.split()[1])
            check((b"perfctr_up{" in reply) == (code == 200), f"{host}: {reply}")
            return code

    socket.sethostname("Machine")
    with exporter("-p", "100ms", "-e", "FRAGMENTS", "--host-name", "gpu1.example", "--host-name",
                  "gpu2.example"):
        for host in ("127.0.0.1", "127.0.0.1:9738", "192.0.2.7:80", "[::1]:9738", "localhost",
                     "LOCALHOST.:9738", "machine:9738", "gpu1.example", "GPU2.example:9738", None):
            check(status(host) == 200, f"{host} is refused")
        for host in ("evil.example", "evil.example:9738", "127.0.0.1.evil.example",
                     "localhost.evil.example", "machine.evil.example", "gpu1", "1", "::1", "[::1",
                     "[::1]x", "[evil.example]", "localhost:x", ":9738", ".",
                     "gpu1.example@evil.example", "localhost " + 300 * "a", 300 * "a"):
            check(status(host) == 421, f"{host} is answered: {status(host)}")


@test
def node_exporter_reads_the_file():
    """--textfile: always whole, tried again after a failure; node_exporter's textfile collector has
    its values; --once"""
    os.mkdir("/tmp/text")
    # the second has no files without a name
    for path in "/tmp/text/perfctr.prom", os.environ["PERFCTR_OUT"] + "/perfctr.prom":
        with background("perfctr", "exporter", "-p", "10ms", "-e", "shader/*", "--textfile", path):
            wait_for(lambda p=path: os.path.exists(p), "no file")
            for _ in range(300):
                with open(path, encoding="ascii") as f:
                    check(f.read().splitlines()[-1].startswith("perfctr_up{"), "not whole")
        check("perfctr.prom" not in "".join(os.listdir(os.path.dirname(path))), "it stays")
    node = "http://127.0.0.1:9100/metrics"
    with background("perfctr", "exporter", "-e", "FRAGMENTS", "-p", "9s", "--textfile",
                    "/tmp/text/perfctr.prom"), background(
                    TOOLS + "prometheus-node-exporter", "--collector.disable-defaults",
                    "--collector.textfile", "--collector.textfile.directory=/tmp/text",
                    "--web.listen-address=127.0.0.1:9100", url=node):
        work(7)
        wait_for(lambda: os.path.exists("/tmp/text/perfctr.prom"), "no sample")
        with open("/tmp/text/perfctr.prom", encoding="ascii") as f:
            ours, theirs = values(f.read()), values(get(node))
        check(ours["perfctr_shader_fragments_total"] > 0, f"{ours}")
        check(all(ours[name] == theirs[name] for name in ours), f"{theirs}")
    path, errors = "/tmp/gone/perfctr.prom", "/tmp/text-errors"
    error = run("perfctr", "exporter", "-e", "FRAGMENTS", "--textfile", path, status=1).stderr
    check(f"{path}: No such file or directory" in error, error)
    os.mkdir("/tmp/gone")
    with background("sh", "-c", f"exec perfctr exporter --listen {ADDRESS} -p 50ms -e FRAGMENTS "
                    f"--textfile {path} 2>{errors}", url=METRICS):
        for failures in 1, 2:
            wait_for(lambda: os.path.exists(path), "no file after a failure")
            settle()
            # at once: a write between two removals would be a success
            os.rename("/tmp/gone", f"/tmp/gone{failures}")
            settle()
            with open(errors, encoding="ascii") as f:
                check(f.read().count(f"{path}: No such") == failures, "a failure is printed once")
            os.mkdir("/tmp/gone")
        wait_for(lambda: os.path.exists(path), "no file after a failure")
        with open(errors, encoding="ascii") as f:
            check(f.read().count("is written again") == 2, "a success is printed")
        os.rename("/tmp/gone", "/tmp/gone3")
    once = "perfctr", "exporter", "--once", "-p", "50ms", "-e", "FRAGMENTS"
    run(*once, "--textfile", path, status=1)
    check("\nperfctr_shader_fragments_total{" in run(*once).stdout, "--once")
    result = json.loads(run(*once, "--json").stdout)
    check(result["devices"][0]["counters"][0]["value"] == 0, f"{result}")


@test
def configuration():
    """devices of a file, each with its events; mistakes have a line"""
    write(DRIVER + "new_device", "7")
    path = "/tmp/exporter.conf"
    write(path, f"listen = {ADDRESS}\nperiod = 100ms\ndevice = renderD128\n"
          "event = shader/FRAGMENTS\n  GPU_ACTIVE\nper-core = yes\ndevice = renderD129\n"
          "event = FRAGMENTS\n")
    with background("perfctr", "exporter", "--config", path, url=METRICS):
        settle()
        labels = re.findall(r"^perfctr_shader_fragments_total\{(.*)\}", get(), re.MULTILINE)
        check(len(labels) == 5 and 'device="renderD129",block="shader"' in labels and
              'device="renderD128",block="shader",index="16"' in labels, f"{labels}")
        run("perfctr", "exporter", "--once", "--config", path)
    write(DRIVER + "del_device", "7")
    for text, message in (("period = x", ":1: no valid"), ("\nfoo = x", "no option --foo"),
                          ("\nevent = " + 190 * "x" + "\nx", ":3: no valid"),
                          ("\nevent = " + 191 * "x", ":2: longer than 198 bytes: repeat"),
                          ("\n\nx", ":3: no valid"), ("[a]\nperiod = 1s", ":2: no valid"),
                          ("per-core = no", "--per-core: yes"), ("event = FOO", "FOO"),
                          ("device = vsoc\ndevice = renderD128", "device renderD128 is there")):
        write(path, text + "\n")
        error = run("perfctr", "exporter", "--once", "--config", path, status=2).stderr
        check(message in error, f"{text!r}: {error}")
    for options, message in ((("--listen", "a:70000"), "give HOST:PORT"), (("-j",), "--once"),
                             (("--config", "/tmp"), "Is a directory"),
                             (("--config", "/dev/zero"), "zero:1: a byte in it is 0"),
                             (("--textfile", "a"), "*.prom")):
        check(message in run("perfctr", "exporter", *options, status=2).stderr, f"{options}")
    for address in "1.2.3.4:1", "[]:9738":
        run("perfctr", "exporter", "--listen", address, status=1)


@test
def only_the_device_of_the_label():
    """an unbound GPU stays lost, although there is another, which then gets its node, until it is
    back with another node, whose name its totals have at once"""
    write(DRIVER + "new_device", "7")

    def draw(node, count):
        run("vsoc-job", "-q", "-d", f"/dev/dri/{node}", "draw", f"fragments={count}")
        time.sleep(2)
        return values()["perfctr_up"], values()["perfctr_shader_fragments_total"]

    with exporter("-p", "100", "-e", "FRAGMENTS"):
        check(draw("renderD128", 10) == (1, 10), get())
        write(DRIVER + "unbind", "vsoc.0")
        wait_for(lambda: values()["perfctr_up"] == 0, "up without a device")
        write(DRIVER + "new_device", "8")
        for node in "renderD128", "renderD129":
            check(draw(node, 77777) == (0, 10), get())
        write(DRIVER + "bind", "vsoc.0")
        wait_for(lambda: values()["perfctr_up"] == 1, "not up")
        check('device="renderD130"} 1\n' in get() and "renderD128" not in get(), get())
        check(draw("renderD130", 5) == (1, 15), get())
    for name, value in (("del_device", "7"), ("del_device", "8"), ("unbind", "vsoc.0"),
                        ("bind", "vsoc.0")):
        write(DRIVER + name, value)


@test
def devices_that_swap_nodes():
    """of two GPUs that come back with each other's node each keeps its totals, under the name that
    it has; the one that is away meanwhile has the name of what it was attached to"""
    write(DRIVER + "new_device", "7")

    def fragments():
        return dict(re.findall(r'perfctr_shader_fragments_total\{device="(.*?)".*\} (\d+)', get()))

    def draw(node, count):
        run("vsoc-job", "-q", "-d", f"/dev/dri/{node}", "draw", f"fragments={count}")
        time.sleep(2)
        return fragments()

    with exporter("-p", "100", "-d", "renderD128", "-e", "FRAGMENTS", "-d", "renderD129", "-e",
                  "FRAGMENTS"):
        draw("renderD128", 10)
        check(draw("renderD129", 20) == {"renderD128": "10", "renderD129": "20"}, get())
        write(DRIVER + "unbind", "vsoc.0")
        write(DRIVER + "unbind", "vsoc.7")
        wait_for(lambda: values()["perfctr_up"] == 0, "up without devices")
        write(DRIVER + "bind", "vsoc.7")
        wait_for(lambda: values()["perfctr_up"] == 1, "not up")
        check(fragments() == {"vsoc.0": "10", "renderD128": "20"}, get())
        write(DRIVER + "bind", "vsoc.0")
        wait_for(lambda: values()["perfctr_up"] == 2, "not up")
        check(draw("renderD128", 5) == {"renderD129": "10", "renderD128": "25"}, get())
    write(DRIVER + "del_device", "7")
    for name in "unbind", "bind":
        write(DRIVER + name, "vsoc.0")


@test
def unprivileged_through_the_broker():
    """a user of the broker's policy exports; over a restart of the broker no count is forgotten"""
    write("/tmp/policy", "[rule x]\nusers = nobody\ndevices = *\nblocks = *\n")
    broker = "perfctr", "serve", "--socket", "/tmp/serve", "--policy", "/tmp/policy"
    with contextlib.ExitStack() as stack:
        stack.enter_context(background(*broker))
        wait_for(lambda: os.path.exists("/tmp/serve"), "no broker")
        with exporter("--via", "/tmp/serve", "-p", "100ms", "-e", "FRAGMENTS", uid=NOBODY):
            for restarts in 0, 1:
                before = truth()
                work(restarts)
                settle()
                fragments = values()["perfctr_shader_fragments_total"]
                if restarts:
                    break
                stack.close()
                wait_for(lambda: values()["perfctr_up"] == 0, "up without a broker")
                check(values()["perfctr_shader_fragments_total"] == fragments > 0, "counts")
                stack.enter_context(background(*broker))
                wait_for(lambda: values()["perfctr_up"] == 1, "not up")
                kept = fragments
            work_done = counted(before, truth())
            check(fragments - kept == sum(v for (block, _, name), v in work_done.items()
                                          if (block, name) == ("shader", "FRAGMENTS")), "truth")
            check(values()["perfctr_device_restarts_total"] == 1, get())


if __name__ == "__main__":
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as loopback:
        # SIOCSIFFLAGS: up
        fcntl.ioctl(loopback, 0x8914, struct.pack("16sh22x", b"lo", 0x49))
    sys.exit(harness.main(MISSING))
