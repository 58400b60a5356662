#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: test-exporter.py BUILD: perfctr exporter on made-up machines. Prints TAP; no device."""

import contextlib
import os
import pwd
import re
import socket
import sys
import time

import harness
from harness import NOBODY, check, test, wait_for
from machine import Machine

BUILD = sys.argv[1]
ID = "0123456789abcdef" * 4
UID = "12345678-9abc-def0-1234-56789abcdef0"
POD = UID.replace("-", "_")
FAMILY = "perfctr_client_engine_seconds_total"
ENDED = "perfctr_ended_client_engine_seconds_total"
LINE = re.compile(r'(\w+)\{((?:\w+="(?:[^"\\\n]|\\[\\"n])*",?)*)\} (\S+)')
KEYS = "pod_uid", "container_id", "unit", "command"


class Gpu(Machine):
    """A machine with a sensor, and clients of one GPU"""

    def __init__(self):
        super().__init__(BUILD)
        self.put("/sys/class/hwmon/hwmon0/name", "coretemp")
        self.put("/sys/class/hwmon/hwmon0/temp1_input", "40000")

    def job(self, pid, ms, cgroup="0::/", comm="app", client=None):
        """A process whose client used the GPU for so long"""
        # of a process that has files these are there
        self.put(f"/proc/{pid}/cgroup", cgroup)
        self.put(f"/proc/{pid}/comm", comm)
        self.client(pid, 3, "drm-driver:\ti915\ndrm-pdev:\t0000:00:02.0\n"
                    f"drm-client-id:\t{client or pid}\ndrm-engine-render:\t{ms * 1000000} ns\n")

    def once(self, *options):
        done = self.run("exporter", "--once", "-p", "50ms", *LOCAL, *options)
        check(done.returncode == 0 and "Sanitizer" not in done.stderr, done.stderr)
        return done.stdout


LOCAL = "-d", "local", "-e", "hwmon/*/", "--per-client"


def pod(number, container=None):
    uid = f"{number:08x}" + UID[8:]
    return f"0::/kubepods.slice/kubepods-pod{uid.replace('-', '_')}.slice/" \
           f"cri-containerd-{container or ID}.scope"


def series(text, family=FAMILY):
    """{labels: seconds}"""
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        check(match, f"no line of Prometheus: {line!r}")
        if match[1] == family:
            labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2]))
            key = tuple(re.sub(r"\\(.)", r"\1", labels[k]) for k in KEYS
                        ) if family == FAMILY else ()
            check(key not in found, f"{line!r} is there twice")
            found[key] = float(match[3])
    return found


def total(text):
    return round(sum(series(text).values()) + sum(series(text, ENDED).values()), 9)


@contextlib.contextmanager
def exporter(m, *options):
    """Yield: a function that scrapes"""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with m.start("exporter", "--listen", f"127.0.0.1:{port}", "-p", "40ms", *LOCAL,
                 *options) as process:
        try:
            def scrape():
                status, text = request(port)
                check(status == 200, f"{status} {text}")
                return text

            def answers():
                with contextlib.suppress(OSError):
                    return scrape()

            scrape.port = port
            scrape.pid = process.pid
            wait_for(answers, "no answer")
            yield scrape
        finally:
            process.terminate()
            error = process.communicate(timeout=60)[1].decode()
    check(process.returncode == 0 and "Sanitizer" not in error, error)


def request(port):
    with socket.create_connection(("127.0.0.1", port), timeout=30) as s:
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return read(s)


def read(s):
    reply = b""
    while chunk := s.recv(65536):
        reply += chunk
    head, body = reply.split(b"\r\n\r\n", 1)
    length = re.search(rb"Content-Length: (\d+)", head)
    check(length and int(length[1]) == len(body), f"cut: {head} {len(body)}")
    return int(head.split()[1]), body.decode()


@test
def places():
    """the pod, container and unit of each form of cgroup, and no name of others in a user's own"""
    user = "/user.slice/user-1000.slice/user@1000.service/"
    forms = (
        ("0::/", "", "", ""),
        ("0::/system.slice/x.service/sub", "", "", "x.service"),
        ("0::/system.slice/cron.service (deleted)", "", "", "cron.service"),
        ("0::/user.slice/user-1000.slice/session-3.scope", "", "", "session-3.scope"),
        (f"0::{user}app.slice/app-a.scope", "", "", "user@1000.service"),
        (f"0::/kubepods.slice/kubepods-pod{POD}.slice/cri-containerd-{ID}.scope", UID, ID, ""),
        ("0::/kubepods.slice/kubepods-besteffort.slice/"
         f"kubepods-besteffort-pod{POD}.slice/crio-{ID}.scope", UID, ID, ""),
        (f"0::/kubepods/burstable/pod{UID}/{ID}", UID, ID, ""),
        (f"0::/../../kubepods.slice/kubepods-pod{POD}.slice/docker-{ID}.scope/init", UID, ID, ""),
        (f"0::/kubepods/pod{ID[:32]}/{ID}", ID[:32], ID, ""),
        (f"12:pids:/system.slice/k.service\n4:memory:/kubepods/pod{UID}/{ID}\n0::/", UID, ID, ""),
        (f"5:cpu:/system.slice/containerd.service/kubepods-pod{POD}.slice:cri-containerd:{ID}",
         "", ID, "containerd.service"),
        (f"0::/system.slice/docker-{ID}.scope", "", ID, ""),
        (f"3:devices:/docker/{ID}\n1:name=systemd:/docker/{ID}\n0::/x.service", "", ID, ""),
        (f"0::/machine.slice/libpod-{ID}.scope/container", "", ID, ""),
        (f"0::{user}user.slice/libpod-{ID}.scope", "", ID, "user@1000.service"),
        (f"0::/machine.slice/libpod-conmon-{ID}.scope", "", "", f"libpod-conmon-{ID}.scope"),
        # what a user makes below the own service is no pod, whatever its name is
        (f"0::{user}kubepods.slice/kubepods-pod{POD}.slice/docker-{ID}.scope", "", ID,
         "user@1000.service"),
        (f"0::/kubepods/pod{UID[:-1]}x/a", "", "", ""),
        ("0::/kubepods/pod/-pod.slice/.scope//", "", "", ""),
        ("no colon", "", "", ""), (":", "", "", ""), ("", "", "", ""),
    )
    with Gpu() as m:
        for n, (cgroup, *_) in enumerate(forms):
            m.job(100 + n, 7, cgroup, comm=f"app{n}")
        found = {key[3]: key[:3] for key in series(m.once())}
        for n, (cgroup, *expected) in enumerate(forms):
            check(found.get(f"app{n}") == tuple(expected), f"{cgroup!r}: {found.get(f'app{n}')}")


@test
def hostile_names():
    """commands and cgroups of any bytes are labels of UTF-8 in one line, at most 256 bytes long"""
    names = (b'"} 1\nevil{a="', b"\\", b"a\\\"b", b"\xff\xfe\xc3", "\u202egnp.exe".encode(),
             b"\x1b[2J", "\u00e4\u4e2d".encode(), b"x" * 15, b"", b"other", b"a\tb\rc")
    with Gpu() as m:
        for n, name in enumerate(names):
            m.job(100 + n, 7, b"0::/system.slice/" + name.replace(b"\n", b"") + b"/x.service",
                  comm=name)
            m.job(200 + n, 7, b"0::/" + (name.replace(b"\n", b"") * 250)[:240] + b".service")
        text = m.once()
        found = series(text)
        check("evil{" not in re.sub(r'"(?:[^"\\]|\\.)*"', "", text), text)
        check("\u202e" not in text and "\x1b" not in text and "\r" not in text, text)
        check("\u00e4\u4e2d" in text, "UTF-8 stays")
        check(all(len(label.encode()) <= 256 for key in found for label in key), "long labels")
        check(len(found) > 15, f"{len(found)} series")


@test
def exact_by_pod():
    """600 clients of 300 pods each have their time since START, through their end"""
    with Gpu() as m:
        for n in range(600):
            m.job(1000 + n, 5000, pod(n // 2))
        with exporter(m) as scrape:
            wait_for(lambda: len(series(scrape())) == 301, "not all", 60)
            check(total(scrape()) == 0, "what was before does not count")
            for n in range(600):
                m.job(1000 + n, 5000 + n, pod(n // 2))
            expected = sum(range(600)) / 1000
            wait_for(lambda: total(scrape()) == expected, f"{total(scrape())}, not {expected}", 60)
            for (uid, *_), value in series(scrape()).items():
                n = 0 if uid == "other" else 2 * int(uid[:8], 16)
                check(uid == "other" or round(1000 * value) == 2 * n + 1, f"{uid}: {value}")
            check(series(scrape())[("other",) * 4] == 0, "there was room for all")


@test
def ended_pods():
    """a pod that ends keeps its total; the place of one is taken only after that was scraped"""
    with Gpu() as m:
        with exporter(m, "--client-series", "2") as scrape:
            for n in range(2):
                m.job(100 + n, 1000 + n, pod(n))
            wait_for(lambda: total(scrape()) == 2.001, "two pods")
            m.drop("/proc/100")
            wait_for(lambda: "perfctr_client_gaps_total{" in scrape() and re.search(
                r"perfctr_client_gaps_total\{.*\} 1$", scrape(), re.M), "an end is a gap")
            check(len(series(scrape())) == 3 and total(scrape()) == 2.001, scrape())
            m.job(102, 500, pod(2))
            wait_for(lambda: total(scrape()) == 2.501, "a third one", 20)
            found = {key[0][:8]: value for key, value in series(scrape()).items()}
            check(found == {"00000001": 1.001, "00000002": 0.5, "other": 0}, f"{found}")
            check(series(scrape(), ENDED) == {(): 1}, scrape())
            # no room: the others' series has it, at once and exactly
            m.job(103, 250, pod(3))
            wait_for(lambda: total(scrape()) == 2.751, "a fourth one", 20)
            check(series(scrape())[("other",) * 4] == 0.25, scrape())


@test
def churn_and_floods():
    """a program that opens and closes the GPU all the time, under ever new names, takes at most an
    eighth of the series; others stay exact, and sums never fall"""
    with Gpu() as m, exporter(m, "--client-series", "80") as scrape:
        sums, client = [], 5000
        for step in range(60):
            for n in range(8):
                m.job(100 + n, 10 * (step + 1), pod(n))
            m.job(client, 1, "0::/user.slice/user@1000.service/a.scope", comm=f"evil{step}")
            time.sleep(0.05)
            sums.append(total(scrape()))
            m.drop(f"/proc/{client}")
            client += 1
        before = total(scrape())
        for n in range(40):
            m.job(6000 + n, 1, "0::/user.slice/user@1000.service/a.scope", comm=f"flood{n}")
        wait_for(lambda: total(scrape()) == round(before + 0.04, 9), "a flood", 20)
        check(sums == sorted(sums), f"{sums}")
        wait_for(lambda: all(value == 0.6 for key, value in series(scrape()).items()
                             if key[0] not in ("", "other")),
                 lambda: f"pods are not exact: {series(scrape())}")
        found = series(scrape())
        evil = [key for key in found if key[2] == "user@1000.service"]
        check(len([key for key in found if key[0] not in ("", "other")]) == 8, f"{found}")
        check(5 <= len(evil) <= 12, f"{len(evil)} of one user")
        check(found[("other",) * 4] == 0, "the user's own series has what is over")
        check(any(key[3] == "other" for key in evil), f"{evil}")


@test
def many_readers():
    """300 readers at once, 900 in all, are answered or refused with a text, and none is cut"""
    with Gpu() as m:
        for n in range(100):
            m.job(1000 + n, 5000, pod(n))
        with exporter(m) as scrape:
            wait_for(lambda: len(series(scrape())) == 101, "not all", 60)
            for _ in range(3):
                crowd = [socket.create_connection(("127.0.0.1", scrape.port)) for _ in range(300)]
                for s in crowd:
                    s.settimeout(30)
                    s.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
                replies = [read(s) for s in crowd]
                for s in crowd:
                    s.close()
                check({status for status, _ in replies} == {200}, "300 are not too many")
                check({text.count(f"\n{FAMILY}{{") for _, text in replies} == {101}, "not whole")


@test
def too_many_readers():
    """readers that keep 400 connections for less than 2 s have others refused, then make room"""
    with Gpu() as m, exporter(m) as scrape:
        crowd = [socket.create_connection(("127.0.0.1", scrape.port)) for _ in range(400)]
        wait_for(lambda: len(os.listdir(f"/proc/{scrape.pid}/fd")) > 400, "not accepted")
        status, text = request(scrape.port)
        check((status, "try again" in text) in ((503, True), (200, False)), f"{status} {text}")
        begin = time.monotonic()
        while request(scrape.port)[0] != 200:
            check(time.monotonic() - begin < 5, "idle ones keep others out")
            time.sleep(0.1)
        check(status == 503 or time.monotonic() - begin < 1, "it was never refused")
        for s in crowd:
            s.close()


@test
def memory_of_events():
    """an event of a PMU takes at most 4.8 KiB, ring, tables and the made-up perf included"""
    def kib(count):
        with Machine(BUILD) as m:
            m.pmu("imc", 9, {"cpumask": "0", "format/event": "config:0-15",
                             **{f"events/e{n}": f"event={n}" for n in range(count)}})
            m.perf("9 * * rate 1000")
            path, config = m.root + "/a.prom", m.root + "/a.conf"
            m.put("/a.conf", f"period = 1s\ntextfile = {path}\ndevice = local\n" +
                  "".join(f"event = imc/e{n}/\n" for n in range(count)))
            with m.start("exporter", "--config", config) as process:
                try:
                    wait_for(lambda: os.path.exists(path), "no sample", 60)
                    with open(path, encoding="ascii") as f:
                        check(f.read().count("\nperfctr_imc_e") == count, "not all")
                    # not RssFile: the kernel drops pages of programs when it likes
                    with open(f"/proc/{process.pid}/status", encoding="ascii") as f:
                        return sum(map(int, re.findall(r"Rss(?:Anon|Shmem):\s+(\d+)", f.read())))
                finally:
                    process.terminate()

    few, many = kib(100), kib(1000)
    check(many - few <= 4.8 * 900, f"{(many - few) / 900} KiB an event")


@test
def unprivileged():
    """a user without CAP_SYS_PTRACE has the clients of processes that it may inspect, and no others
    through a broker that may inspect all"""
    if os.geteuid():
        return
    with Gpu() as m:
        m.for_others()
        # the last one as CAP_SYS_PTRACE sees it
        for n, (files, texts) in enumerate(((0o700, 0o700), (0o755, 0o755), (0o700, 0o755))):
            m.job(100 + n, 5, pod(n))
            os.chmod(m.root + f"/proc/{100 + n}/fd", files)
            os.chmod(m.root + f"/proc/{100 + n}/fdinfo", texts)
        m.put("/policy", "[rule all]\nusers = " + pwd.getpwuid(NOBODY).pw_name +
              "\ndevices = local\npmus = *\n")
        m.pmu("imc", 9, {"cpumask": "0", "format/event": "config:0-7", "events/x": "event=1"})
        m.perf("9 * * rate 1000")

        def pods(uid, *options):
            done = m.run("exporter", "--once", "-p", "50ms", "-d", "local", "-e", "imc/x/",
                         "--per-client", *options, user=uid, extra_groups=[])
            check(done.returncode == 0 and "Sanitizer" not in done.stderr, done.stderr)
            check("\nperfctr_imc_x_total{" in done.stdout, done.stdout)
            return sorted(int(key[0][:8], 16) for key in series(done.stdout) if key[0] != "other")

        check(pods(0) == [0, 1, 2], "root has all")
        check(pods(NOBODY) == [1, 2], "a user has others' clients")
        path = m.root + "/serve"
        with m.start("serve", "--socket", path, "--policy", m.root + "/policy") as broker:
            try:
                wait_for(lambda: os.path.exists(path), "no broker")
                check(pods(NOBODY, "--via", path) == [1, 2], "the broker shows others' clients")
            finally:
                broker.terminate()


@test
def viewers():
    """clients are shown to root, the exporter's user and those of --show-clients-to"""
    if os.geteuid():
        return
    with Gpu() as m:
        m.job(100, 7, pod(1))

        def seen(uid, *options):
            with exporter(m, *options) as scrape:
                wait_for(lambda: f"\n{FAMILY}{{" in scrape(), "root sees them")
                readable, writable = os.pipe()
                child = os.fork()
                if not child:
                    try:
                        os.setresuid(uid, uid, uid)
                        text = request(scrape.port)[1]
                        shown = re.search(r"^perfctr_clients_shown\{\} (\d)$", text, re.M)[1]
                        os.write(writable, shown.encode() if (shown == "1") ==
                                 (f"\n{FAMILY}{{" in text) else b"?")
                    finally:
                        os._exit(0)
                os.waitpid(child, 0)
                os.close(writable)
                with os.fdopen(readable) as f:
                    return f.read()

        check(seen(0) == "1", "root")
        check(seen(NOBODY) == "0", "another user")
        for who, expected in ((pwd.getpwuid(NOBODY).pw_name, "1"), ("daemon", "0"),
                              ("127.0.0.1", "1"), ("127.0.0.0/8", "1"), ("127.0.0.2", "0"),
                              ("126.0.0.0/7", "1"), ("128.0.0.0/1", "0"), ("0.0.0.0/0", "1"),
                              ("::/0", "0")):
            check(seen(NOBODY, "--show-clients-to", who) == expected, f"{who} is not {expected}")
        for who in "no-such-user", "1.2.3.4/33", "1.2.3", "::1/129", "1.2.3.4/":
            done = m.run("exporter", "--once", *LOCAL, "--show-clients-to", who)
            check(done.returncode == 2 and "neither a user" in done.stderr, done.stderr)


if __name__ == "__main__":
    sys.exit(harness.main())
