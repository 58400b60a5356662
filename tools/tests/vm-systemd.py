#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr's units, installed, under a systemd that starts them. Prints TAP. Runs as root in the
guest.

systemd is process 1 of a PID, mount and cgroup namespace, whose root is the guest's with a layer
above it that can be written. It has perfctr's units and empty targets in the place of the system's.
"""

import fcntl
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys

import harness
from harness import NOBODY, check, fetch, run, test, wait_for, write
from vsoc_truth import MISSING, MOVED_BY_MEASURING, NODE, truth

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
ROOT = "/tmp/root"
UNITS = "/etc/perfctr-test"
CGROUP = "/sys/fs/cgroup/systemd-test"
SOCKET = "/run/perfctr/serve"
GROUP, RENDER = 995, 994
SERVICES = "perfctr-serve.service", "perfctr-exporter.service"
URL = "http://127.0.0.1:9738/metrics"
OTHER_ADDRESS = "192.0.2.7"
SIOCSIFADDR = 0x8916
CAP_SYS_PTRACE, CAP_PERFMON = 1 << 19, 1 << 38
SECCOMP_FILTER = 2
CLEAN = "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root"
# systemd's root: run in its namespaces, where /proc, /sys and /run are its own
MOUNTS = f"""
mount --make-rprivate /
mount -t proc proc {ROOT}/proc
mount --rbind /sys {ROOT}/sys
umount -l {ROOT}/sys/fs/cgroup
mount -t cgroup2 cgroup2 {ROOT}/sys/fs/cgroup
mount --rbind /dev {ROOT}/dev
mount -t tmpfs tmpfs {ROOT}/run
mount -t tmpfs -o mode=1777 tmpfs {ROOT}/tmp
exec chroot {ROOT} {" ".join(CLEAN)} container=perfctr SYSTEMD_UNIT_PATH={UNITS} \
    /lib/systemd/systemd --unit=perfctr-test.target --show-status=no
"""
systemd = 0  # its process as the guest sees it


def make_root():
    for directory in "/tmp/over/up", "/tmp/over/work", ROOT:
        os.makedirs(directory)
    run("modprobe", "overlay")
    run("mount", "-t", "overlay", "-o", "lowerdir=/,upperdir=/tmp/over/up,workdir=/tmp/over/work",
        "overlay", ROOT)
    run("make", "-s", "-C", os.path.join(TOP, "tools"), "install", f"DESTDIR={ROOT}", "PREFIX=/usr")
    for database in "passwd", "group":
        with open(f"{ROOT}/etc/{database}", encoding="utf-8") as f:
            kept = [line for line in f if line.split(":")[0] not in ("perfctr", "render")]
        if database == "group":  # systemd-sysusers cannot sync a layer's folder
            kept += [f"perfctr:x:{GROUP}:\n", f"render:x:{RENDER}:\n"]
        with open(f"{ROOT}/etc/{database}", "w", encoding="utf-8") as f:
            f.writelines(kept)
    # as udev gives it
    os.chown(NODE, 0, RENDER)
    os.chmod(NODE, 0o660)


def make_units():
    os.makedirs(ROOT + UNITS)
    installed = ROOT + "/usr/lib/systemd/system/"
    for name in os.listdir(installed):
        if name.startswith("perfctr-"):
            write(f"{ROOT}{UNITS}/{name}", read(installed + name))
    for name in "sysinit", "basic", "sockets", "network":
        write(f"{ROOT}{UNITS}/{name}.target", "[Unit]\nDefaultDependencies=no\n")
    write(f"{ROOT}{UNITS}/perfctr-test.target", "[Unit]\nDefaultDependencies=no\n"
          "Requires=perfctr-serve.socket\nAfter=perfctr-serve.socket\n")


def start():
    global systemd
    os.makedirs(CGROUP)
    write("/tmp/mounts", MOUNTS)
    shell = subprocess.Popen(["unshare", "--pid", "--mount", "--cgroup", "--fork", "sh",
                              "/tmp/mounts"],
                             preexec_fn=lambda: write(CGROUP + "/cgroup.procs", "0"))
    children = f"/proc/{shell.pid}/task/{shell.pid}/children"
    wait_for(lambda: "systemd" in [status_of(pid).get("Name") for pid in read(children).split()],
             "systemd does not start")
    systemd = int(read(children))
    wait_for(lambda: os.path.exists(f"/proc/{systemd}/root/run/systemd/private"), "no manager")
    wait_for(lambda: state("perfctr-serve.socket") == "active", "no socket")


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def enter(uid=0, *groups):
    """The beginning of a command where systemd is, as a user of these groups."""
    as_user = ("setpriv", "--reuid", str(uid), "--regid", str(uid),
               *(("--groups", ",".join(map(str, groups))) if groups else ("--clear-groups",)))
    return ("nsenter", "-t", str(systemd), "-p", "-m", "-C", "-r", "-w", *CLEAN,
            *(as_user if uid else ()))


def inside(*command, **options):
    return run(*enter(), *command, **options)


def member(*command, **options):
    """As a user in the group perfctr, without access to any node."""
    return run(*enter(NOBODY, GROUP), *command, **options)


def systemctl(*words, **options):
    return inside("systemctl", "--no-pager", *words, **options).stdout.strip()


def state(unit):
    return systemctl("is-active", unit, status=(0, 3, 4))


def pid_of(service):
    """Number of a service's process, as the guest sees it."""
    number = int(systemctl("show", "-P", "MainPID", service))
    if not number:
        return 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        numbers = status_of(pid).get("NSpid", "").split()
        if len(numbers) == 2 and int(numbers[1]) == number:
            return int(pid)
    return 0


def status_of(pid):
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as f:
            return {key: value.strip() for key, _, value in (line.partition(":") for line in f)}
    except OSError:
        return {}


def drop_in(service, text):
    """As "systemctl edit" does."""
    folder = f"{ROOT}{UNITS}/{service}.d"
    os.makedirs(folder, exist_ok=True)
    write(folder + "/override.conf", text)
    systemctl("daemon-reload")


def edit(path, change):
    text = read(ROOT + path)
    check(change(text) != text, f"{path} has nothing to change")
    write(ROOT + path, change(text))


def journal():
    """Why a service did not do what it should: systemd's own account of it."""
    return systemctl("status", *SERVICES, status=(0, 3))


def sandbox(service, capabilities):
    """The service runs as a user of its own, with these capabilities and a filter."""
    s = status_of(pid_of(service))
    check(s, f"{service} does not run: {journal()}")
    check("0" not in s["Uid"].split() and s["NoNewPrivs"] == "1", f"user: {s['Uid']}")
    for kind in "CapEff", "CapPrm", "CapBnd", "CapAmb":
        check(int(s[kind], 16) == capabilities, f"{kind} {s[kind]}, expected {capabilities:x}")
    check(int(s["Seccomp"]) == SECCOMP_FILTER, "no filter of system calls")
    return s


def opens_in_service(path):
    """Whether the broker's cgroup may open a device, here as root."""
    members = f"{CGROUP}/system.slice/perfctr-serve.service/cgroup.procs"
    return subprocess.run(["dd", f"if={path}", "count=0"], stderr=subprocess.DEVNULL, check=False,
                          preexec_fn=lambda: write(members, "0")).returncode == 0


def scraped():
    """{name and labels: value} of the exporter's page"""
    page = fetch(URL)
    return {name: float(value) for name, _, value in
            (line.rpartition(" ") for line in page.splitlines() if not line.startswith("#"))}


def answers():
    return harness.answers(URL) is not None


def other_address_connects():
    try:
        with socket.create_connection((OTHER_ADDRESS, 9738), 3):
            return True
    except OSError:
        return False


@test
def socket_waits():
    """the socket is there before the service runs"""
    check(state("perfctr-serve.service") == "inactive", "the service runs without a client")
    check(os.path.exists(f"/proc/{systemd}/root{SOCKET}"), "no socket")


@test
def totals_equal_truth():
    """a user of the group, without access to the node, starts it and counts what is true"""
    folder = f"/proc/{systemd}/root/tmp"
    before = truth()
    with subprocess.Popen([*enter(NOBODY, GROUP), "perfctr", "stat", "--json", "-A", "--via",
                           SOCKET, "-p", "5ms", "-e", "tiler/*,memsys/*,shader/*", "--", "sh", "-c",
                           "touch /tmp/begun; while [ ! -e /tmp/worked ]; do sleep 0.1; done"],
                          stdout=subprocess.PIPE, text=True) as process:
        wait_for(lambda: os.path.exists(folder + "/begun"), journal)
        run("vsoc-job", "-q", "--random", "50", "--seed", "7")
        write(folder + "/worked", "")
        result = json.loads(process.communicate(timeout=60)[0])
    after = truth()
    compared = moved = 0
    for c in result["counters"]:
        key = c["type"], c["index"], c["counter"]
        # cycles also count without work, before and after
        if c["counter"] in MOVED_BY_MEASURING or c["unit"] == "cycles" or key not in after:
            continue
        check(c["value"] == after[key] - before[key],
              f"{key}: counted {c['value']}, truth {after[key] - before[key]}")
        compared += 1
        moved += c["value"] != 0
    check(compared > 60 and moved > 30, f"{compared} compared, {moved} not zero")


@test
def broker_is_confined():
    """the service has one capability, the nodes' group and no device else"""
    s = sandbox("perfctr-serve.service", CAP_PERFMON)
    check(str(RENDER) in s["Groups"].split(), f"groups {s['Groups']}")
    check(opens_in_service(NODE) and opens_in_service("/dev/null"), "a node does not open")
    check(not opens_in_service("/dev/kmsg"), "another device opens")


@test
def others_are_refused():
    """the refusal of a user of no group names the file that says who may count"""
    refused = run(*enter(NOBODY), "perfctr", "stat", "--via", SOCKET, "-e", "FRAGMENTS", "--",
                  "true", status=3).stderr
    check("/etc/perfctr/serve.conf" in refused, refused)


@test
def policy_is_reloaded():
    """"systemctl reload" lets the group count software events, which perf opens in the service"""
    command = ("perfctr", "stat", "--json", "-d", "local", "--via", SOCKET, "-e",
               "software/context-switches/", "--", "sleep", "0.5")
    # at 3 Debian's kernels refuse perf events to all but CAP_SYS_ADMIN
    write("/proc/sys/kernel/perf_event_paranoid", "2")
    refused = member(*command, status=(1, 3)).stderr
    check("policy" in refused, refused)
    edit("/etc/perfctr/serve.conf",
         lambda text: re.sub(r"^pmus =$", "pmus = software", text, flags=re.M))
    before = pid_of("perfctr-serve.service")
    systemctl("reload", "perfctr-serve.service")
    result = json.loads(member(*command).stdout)
    check(result["counters"][0]["value"] > 0, result)
    check(pid_of("perfctr-serve.service") == before, "the service was started anew")


@test
def restarts():
    """a killed service runs again, and an idle one ends until a client connects"""
    count = "perfctr", "stat", "--via", SOCKET, "-e", "FRAGMENTS", "--", "true"
    before = pid_of("perfctr-serve.service")
    os.kill(before, signal.SIGKILL)
    wait_for(lambda: pid_of("perfctr-serve.service") not in (0, before), journal)
    member(*count)
    drop_in("perfctr-serve.service", "[Service]\nExecStart=\n"
            "ExecStart=/usr/bin/perfctr serve --idle-exit 1s\n")
    systemctl("stop", "perfctr-serve.service")
    member(*count)
    wait_for(lambda: state("perfctr-serve.service") == "inactive", journal)
    member(*count)


@test
def exporter_counts():
    """the exporter counts through the broker, without a capability"""
    systemctl("start", "perfctr-exporter.service")
    wait_for(answers, journal)
    sandbox("perfctr-exporter.service", 0)
    up = {name: value for name, value in scraped().items() if name.startswith("perfctr_up{")}
    check(up and set(up.values()) == {1}, f"{up} {journal()}")
    name = f'perfctr_shader_fragments_total{{device="{os.path.basename(NODE)}",block="shader"}}'
    wait_for(lambda: name in scraped(), lambda: fetch(URL))
    before, true_before = scraped(), truth()
    run("vsoc-job", "-q", "--random", "50", "--seed", "8")
    true = sum(value - true_before[key] for key, value in truth().items()
               if key[0] == "shader" and key[2] == "FRAGMENTS")
    check(true > 0, "the job drew nothing")
    wait_for(lambda: scraped()[name] - before[name] == true,
             lambda: f"{name}: {scraped()[name] - before[name]}, truth {true}")


@test
def only_this_machine_scrapes():
    """another address cannot connect to the exporter until IPAddressAllow names it"""
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFADDR, struct.pack(
            "16sHH4s8x", b"lo:1", socket.AF_INET, 0, socket.inet_aton(OTHER_ADDRESS)))
    edit("/etc/perfctr/exporter.conf", lambda text: re.sub(
        r"^listen = .*$", f"listen = :9738\nhost-name = {OTHER_ADDRESS}", text, flags=re.M))
    systemctl("restart", "perfctr-exporter.service")
    wait_for(answers, journal)
    check(not other_address_connects(), "it answers another address")
    drop_in("perfctr-exporter.service", f"[Service]\nIPAddressAllow={OTHER_ADDRESS}\n")
    systemctl("restart", "perfctr-exporter.service")
    wait_for(other_address_connects, journal)
    check("perfctr_up" in fetch(URL.replace("127.0.0.1", OTHER_ADDRESS)), "no page")


@test
def clients_of_all_users():
    """with the manual's lines the exporter has the clients of all users, and one capability"""
    lines = re.search(r"^\\&(\[Service\]\n(?:\w+=\w+\n)+)",
                      read(os.path.join(TOP, "tools/man/perfctr-exporter.h2m")), re.M)[1]
    drop_in("perfctr-exporter.service", lines)
    edit("/etc/perfctr/exporter.conf",
         lambda text: text + "per-client = yes\nshow-clients-to = root\n")
    systemctl("restart", "perfctr-exporter.service")
    wait_for(answers, journal)
    sandbox("perfctr-exporter.service", CAP_SYS_PTRACE)
    with open(NODE, "r+b") as node, \
            subprocess.Popen([*enter(), "sleep", "60"], stdin=node) as client:
        try:
            wait_for(lambda: any('command="sleep"' in name for name in scraped()),
                     lambda: fetch(URL) + journal())
        finally:
            client.kill()


@test
def socket_goes():
    """stopped, the socket's file is gone"""
    systemctl("stop", "perfctr-exporter.service", "perfctr-serve.socket", "perfctr-serve.service")
    check(not os.path.exists(f"/proc/{systemd}/root{SOCKET}"), "it is there")


if __name__ == "__main__":
    if not os.path.exists("/lib/systemd/systemd"):
        print("1..0 # SKIP systemd is not installed")
        sys.exit()
    if not MISSING:
        make_root()
        make_units()
        start()
    sys.exit(harness.main(MISSING))
