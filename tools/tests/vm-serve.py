#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr serve with unprivileged and hostile users. Prints TAP. Runs as root in the guest."""

import array
import contextlib
import ctypes
import errno
import fcntl
import functools
import glob
import json
import mmap
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

import harness
from harness import FABRIC, NOBODY, check, drop, run, test, wait_for
from vsoc_truth import MISSING, MOVED_BY_MEASURING, NODE, truth

USER, OTHER = NOBODY, 33
RUN = "/run/serve-test"
SOCKET = RUN + "/socket"
SYSTEM_SOCKET = "/run/perfctr/serve"
PARANOID = "/proc/sys/kernel/perf_event_paranoid"
POLICY = """
[limits]
clients = 12
clients_per_user = 4

[rule tester]
users = nobody
devices = vsoc
blocks = fw cshw tiler memsys shader
min_period = 2ms
sessions = 3
ring_bytes = 64Ki
"""

# perfctr/broker.h and perfctr_drm.h
HEADER = struct.Struct("=IHHiIIIII")
VERSION = 3
OPEN, QUERY, SESSION, START, SAMPLE, STOP, STATUS, CLOSE = range(1, 9)
OPEN_STRUCT = struct.Struct("=IIQiIQIIQIIQQ")
LAYOUT = struct.Struct("=6I")
COMMAND = struct.Struct("=QII")
REQUEST = struct.Struct("=HHHBBIiQIIQQQ")
SHADER, UCF, GENERIC = 5, 33, 32
CHECK_ONLY, KEEP_AWAKE = 1, 2
REQUEST_PMU = 2
SPLICE_F_NONBLOCK = 2
# the kernel's half of the control area: insert_idx, state, slots, slot_stride, ring_offset,
# sample_size; what insert_idx begins with
CONTROL, CONTROL_AT = struct.Struct("=6I"), 64
RING_FIRST = 0xfffffff0
RING_ACTIVE = 1
SAMPLE_HEADER = struct.Struct("=IHHQQQQII")
SAMPLE_FINAL = 8
QUERY_DEVICE, QUERY_BLOCKS, QUERY_CLOCKS = range(3)


class Broker:
    """perfctr serve, with its log in a file"""

    def __init__(self, policy=POLICY, options=(), path=SOCKET):
        for directory in RUN, os.path.dirname(path):
            os.makedirs(directory, exist_ok=True)
            os.chmod(directory, 0o755)
        self.policy = RUN + "/policy"
        self.write_policy(policy)
        self.log_path = RUN + "/log"
        self.log_file = open(self.log_path, "w+", encoding="utf-8")
        self.process = subprocess.Popen(["perfctr", "serve", "--socket", path, "--policy",
                                         self.policy, *options], stderr=self.log_file)
        wait_for(lambda: "listening" in self.log(), "the broker does not listen: " + self.log())

    def write_policy(self, text):
        with open(self.policy, "w", encoding="utf-8") as f:
            f.write(text)

    def log(self):
        with open(self.log_path, encoding="utf-8") as f:
            return f.read()

    def children(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="ascii") as f:
            return [int(pid) for pid in f.read().split()]

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        self.process.wait(timeout=60)
        self.log_file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()


class Client:
    """the protocol, and violations of it"""

    def __init__(self, uid=USER, device=b"\0"):
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(15)
        # the credentials of a connection are those of connect()
        os.seteuid(0)
        groups = os.getgroups()
        os.setgroups([])
        os.setegid(uid)
        os.seteuid(uid)
        try:
            self.socket.connect(SOCKET)
        finally:
            os.seteuid(0)
            os.setegid(0)
            os.setgroups(groups)
        if device is not None:
            error, self.opened, _, _ = self.ask(OPEN, content=device)
            check(error == 0, f"OPEN: {error} {self.opened}")

    def ask(self, kind, code=0, handle=0, count=0, stride=0, content=b"", first=0):
        """(errno or 0, content, header, files)"""
        with contextlib.suppress(BrokenPipeError):
            self.socket.send(HEADER.pack(HEADER.size + len(content), VERSION, kind, 0, code, handle,
                                         first, count, stride) + content)
        return self.reply()

    def reply(self):
        files = array.array("i")
        room = socket.CMSG_SPACE(8 * files.itemsize)
        try:
            data, ancillary, _, _ = self.socket.recvmsg(1 << 18, room)
        except ConnectionResetError:
            # a broker may reply and close before it reads the request
            data, ancillary, _, _ = self.socket.recvmsg(1 << 18, room)
        for level, kind, content in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                files.frombytes(content)
        if not data:
            raise ConnectionError("the broker hung up")
        header = HEADER.unpack_from(data)
        check(header[0] == len(data), "size in the header")
        return -header[3], data[HEADER.size:], header, list(files)

    def ask_session(self, block=SHADER, flags=0, period_ns=0, slots=16, mask=0x10, pmu_type=0,
                    config=0):
        """as ask(), for a session of one request"""
        content = OPEN_STRUCT.pack(flags, slots, period_ns, -1, 1, 0, 1, REQUEST.size, 0, 0, 0, 0,
                                   0)
        is_pmu = block >= 32
        content += REQUEST.pack(block, 0xffff if block != GENERIC else 0, 0, 0, 0,
                                REQUEST_PMU if is_pmu else 0,
                                -1 if is_pmu else 0, mask, pmu_type, 0, config, 0, 0)
        return self.ask(SESSION, count=1, stride=REQUEST.size, content=content)

    def session(self, **options):
        """(handle, files: reader and eventfd, bytes to map)"""
        error, content, header, files = self.ask_session(**options)
        check(error == 0 and len(files) == 2, f"SESSION: {error} {content} {files}")
        slots, stride, sample, _, ring_offset, map_bytes = LAYOUT.unpack(content)
        check(slots == options.get("slots", 16) and stride >= sample > 72 and
              ring_offset == mmap.PAGESIZE and map_bytes >= ring_offset + slots * stride,
              f"{LAYOUT.unpack(content)}")
        return header[5], files, map_bytes

    def command(self, kind, handle, user_data=0):
        return self.ask(kind, handle=handle, content=COMMAND.pack(user_data, 0, 0))

    def status(self, handle):
        return self.ask(STATUS, handle=handle)

    def end_session(self, handle):
        return self.ask(CLOSE, handle=handle)

    def close(self):
        self.socket.close()


def close_all(files):
    for fd in files:
        os.close(fd)


def no_session_is_left():
    """Another counter set can be used only while no session of the first one counts."""
    return subprocess.run(["perfctr", "stat", "--set", "1", "-e", "shader/*", "true"], check=False,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode == 0


def open_files():
    """number of open DRM files, from the kernel"""
    count = 0
    for path in glob.glob("/sys/kernel/debug/dri/*/clients"):
        if os.path.exists(os.path.dirname(path) + "/vsoc"):
            with open(path, encoding="ascii") as f:
                count = max(count, len(f.read().splitlines()) - 1)
    return count


def ring_files():
    """descriptors and mappings of sessions and rings in all processes"""
    count = 0
    for pid in (p for p in os.listdir("/proc") if p.isdigit()):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as f:
                count += f.read().count("anon_inode:[perfctr")
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    count += "anon_inode:[perfctr" in os.readlink(f"/proc/{pid}/fd/{fd}")
    return count


def check_all_released(broker=None):
    if broker:
        wait_for(lambda: not broker.children(), f"processes remain: {broker.children()}")
    wait_for(no_session_is_left, "a session is left in the kernel")
    wait_for(lambda: open_files() == 0, lambda: f"{open_files()} DRM files are open")
    wait_for(lambda: ring_files() == 0,
             lambda: f"{ring_files()} descriptors and mappings of sessions remain")


def start_counting(*options, uid=USER):
    """start perfctr stat; returns once it counts"""
    process = subprocess.Popen(["perfctr", "stat", "--jsonl", "--via", SOCKET, "-I", "100", "-e",
                                "FRAGMENTS", *options], preexec_fn=drop(uid), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    first = process.stdout.readline()
    check('"begin"' in first,
          f"no beginning: {first!r} {process.stderr.read() if not first else ''}")
    check('"interval"' in process.stdout.readline(), "no interval")
    return process


@test
def totals_equal_truth():
    """counters of a user without access to the node equal the truth"""
    with Broker() as broker:
        run("perfctr", "stat", "-e", "FRAGMENTS", "true", uid=USER, status=3)
        before = truth()
        process = subprocess.Popen(["perfctr", "stat", "--json", "-A", "--via", SOCKET, "-p", "5ms",
                                    "-e", "fw/*,cshw/*,tiler/*,memsys/*,shader/*", "--timeout",
                                    "3s"], preexec_fn=drop(USER), stdout=subprocess.PIPE, text=True)
        wait_for(lambda: "session" in broker.log(), "no session")
        time.sleep(0.3)
        run("vsoc-job", "-q", "--random", "100", "--seed", "5")
        result = json.loads(process.communicate(timeout=30)[0])
        after = truth()
        check(process.returncode == 0 and result["missing_samples"] == 0, "bad run")
        compared = moved = 0
        for c in result["counters"]:
            key = (c["type"], c["index"], c["counter"])
            # cycles also count without work, before and after
            if c["counter"] in MOVED_BY_MEASURING or c["unit"] == "cycles" or key not in after:
                continue
            expected = after[key] - before[key]
            check(c["value"] == expected, f"{key}: counted {c['value']}, truth {expected}")
            compared += 1
            moved += expected != 0
        check(compared > 80 and moved > 40, f"{compared} compared, {moved} not zero")
        check_all_released(broker)


@test
def fallback_says_so():
    """stat without --via uses the system's broker and reports that"""
    with Broker(path=SYSTEM_SOCKET):
        done = run("perfctr", "stat", "-e", "FRAGMENTS", "true", uid=USER)
        check(f"through the broker at {SYSTEM_SOCKET}" in done.stderr, done.stderr)
        done = run("perfctr", "stat", "-e", "FRAGMENTS", "true", uid=OTHER, status=3)
        check("nor through the broker" in done.stderr and "names neither user 33" in done.stderr,
              done.stderr)
        items = json.loads(run("perfctr", "top", "--snapshot", "--json", uid=USER).stdout)["items"]
        check(any(i["event"] == "shader/FRAGMENTS" for i in items), "top shows no fragments")
        events = json.loads(run("perfctr", "list", "--json", uid=USER).stdout)["events"]
        check({e["block"] for e in events if e["id"]} >= {"shader", "memsys"}, "list")
        result = json.loads(run("perfctr", "check", "--json", uid=USER).stdout)
        check(result["usable"] and result["checks"][-2]["check"] == "broker" and
              result["checks"][-1]["verdict"] == "ok" and
              all(c["verdict"] != "bad" for c in result["checks"]), f"check {result['checks']}")
        result = json.loads(run("perfctr", "check", "--json", uid=OTHER, status=3).stdout)
        check(not result["usable"] and "adduser" in result["checks"][-1]["fix"], f"check {result}")
    check(not os.path.exists(SYSTEM_SOCKET), "the socket stays behind")
    result = json.loads(run("perfctr", "check", "--json", uid=USER, status=3).stdout)
    check("systemctl enable --now perfctr-serve.socket" in result["checks"][-1]["fix"], f"{result}")


@test
def policy_forbids():
    """refusals name what the policy forbids: user, device, block, PMU, period, power"""
    with Broker() as broker:
        for options, text in ((("-e", "software/cpu-clock/"), "events of perf PMUs"),
                              *([(("-e", "ucf*/mem_bytes_rd"), "ucf")] if FABRIC else []),
                              (("-e", "FRAGMENTS", "-p", "1ms"), "1.000 ms"),
                              (("-e", "FRAGMENTS", "--keep-awake"), "keep the GPU awake")):
            done = run("perfctr", "stat", "--via", SOCKET, *options, "true", uid=USER, status=3)
            check("policy" in done.stderr and text in done.stderr, done.stderr)
        done = run("perfctr", "stat", "--via", SOCKET, "-e", "FRAGMENTS", "true", uid=OTHER,
                   status=3)
        check("names neither user 33" in done.stderr, done.stderr)
        done = run("perfctr", "stat", "--via", SOCKET, "-d", "nodriver", "-e", "FRAGMENTS", "true",
                   uid=USER, status=4)
        check("has no device nodriver" in done.stderr, done.stderr)
        # a client without libperfctr's checks gets the same error
        client = Client()
        for options in ({"block": UCF}, {"block": GENERIC, "pmu_type": 1, "mask": 1},
                        {"period_ns": 1999999}, {"flags": KEEP_AWAKE}, {"block": 99}):
            error, content, _, files = client.ask_session(**options)
            check(error == errno.EACCES and b"policy" in content and not files,
                  f"{options}: {error} {content}")
            error, content, _, files = client.ask_session(**{**options, "flags":
                                                       options.get("flags", 0) | CHECK_ONLY})
            check(error == errno.EACCES, f"{options}, CHECK_ONLY: {error}")
        _, files, _ = client.session(period_ns=2000000)
        close_all(files)
        client.close()
        # the broker opens only devices, not files that a client names
        check(run("perfctr", "stat", "--via", SOCKET, "-d", "/dev/watchdog", "-e", "FRAGMENTS",
                  "true", uid=USER, status=4).stderr.count("/dev/watchdog"), "watchdog")
        check_all_released(broker)
    with Broker(POLICY.replace("devices = vsoc", "devices = other*")):
        for options, text in ((("-d", "vsoc"), "device vsoc"), ((), "any of the devices here")):
            done = run("perfctr", "stat", "--via", SOCKET, *options, "-e", "FRAGMENTS", "true",
                       uid=USER, status=3)
            check("does not allow " + text in done.stderr, done.stderr)
    with Broker(POLICY.replace(" shader", "")):
        done = run("perfctr", "stat", "--via", SOCKET, "-e", "FRAGMENTS", "true", uid=USER,
                   status=2)
        check("which the device lacks, or the broker's policy" in done.stderr, done.stderr)


@test
def users_of_own_processes_learn_of_it():
    """a user who may count the own processes only learns of a broker that lets count more"""
    with open(PARANOID, encoding="ascii") as file:
        before = file.read()
    harness.write(PARANOID, "2")
    try:
        with Broker(POLICY.replace("devices = vsoc", "devices = local\npmus = software"),
                    path=SYSTEM_SOCKET):
            done = run("perfctr", "stat", "-d", "local", "-e", "page-faults", "--", "true",
                       uid=USER)
            check("the broker (perfctr serve) lets this user count more" in done.stderr,
                  done.stderr)
            done = run("perfctr", "check", "-d", "local", uid=USER)
            check("lets this user count on this machine, the whole of it" in done.stdout,
                  done.stdout)
        done = run("perfctr", "stat", "-d", "local", "-e", "page-faults", "--", "true", uid=USER)
        check("broker" not in done.stderr, done.stderr)
    finally:
        harness.write(PARANOID, before)


def local_values(via):
    """a served local session and one of the kernel count the same of the fabric"""
    events = "ucf0/mem_bytes_rd/,ucf0/mem_bytes_wr/,ucf1/mem_bytes_rd/"
    user = subprocess.Popen(["perfctr", "stat", "--jsonl", *via, "-p", "5ms", "-I", "50", "-e",
                             events], preexec_fn=drop(USER), stdout=subprocess.PIPE, text=True)
    while json.loads(user.stdout.readline())["record"] != "interval":
        pass
    kernel = json.loads(run("perfctr", "stat", "-j", "-e", events, "--", "vsoc-job", "-q",
                            "--random", "60", "--seed", "9").stdout)
    user.send_signal(signal.SIGINT)
    last = json.loads(user.stdout.read().splitlines()[-1])
    check(user.wait(timeout=60) == 0, f"status {user.returncode}")
    values = [{c["event"]: c["value"] for c in r["counters"]} for r in (last, kernel)]
    check(values[0] == values[1] and all(values[0].values()), f"{values}")


@test
def local_sessions_are_served():
    """the local device counts perf PMUs of the policy, as a kernel session does; its rings keep
    their size, and their memory ends with the session"""
    policy = POLICY.replace("devices = vsoc", "devices = local\npmus = software nvidia_ucf_pmu_*"
                            "\ncounters = 4")
    via = "--via", SOCKET, "-d", "local"
    with Broker(policy) as broker:
        if FABRIC:
            local_values(via)
        # a command is not counted alone
        done = run("perfctr", "stat", *via, "-j", "-e", "page-faults", "--", "true", uid=USER)
        check(json.loads(done.stdout)["counters"][0]["value"] > 0, done.stdout)
        done = run("perfctr", "stat", *via, "-e", "msr/tsc/", "true", uid=USER, status=3)
        check("perf PMU msr" in done.stderr, done.stderr)
        shown = run("perfctr", "list", *via, uid=USER).stdout
        check("page-faults" in shown and ("ucf0/mem_bytes_rd" in shown) == FABRIC, shown)
        check("msr/" not in shown, shown)
        client = Client(device=b"local\0")
        other = int(open("/sys/bus/event_source/devices/msr/type", encoding="ascii").read())
        for block in GENERIC, UCF:
            error, content, _, _ = client.ask_session(block=block, mask=1, pmu_type=other)
            check(error == errno.EACCES and b"policy" in content, f"{block}: {error} {content}")
        error, content, _, _ = client.ask_session(block=GENERIC, mask=31, pmu_type=1, config=2)
        check(error == errno.E2BIG and b"4 counters" in content, f"{error} {content}")
        for _ in range(5):
            handle, files, _ = client.session(block=GENERIC, mask=1, pmu_type=1, config=2)
            check(client.command(START, handle)[0] == 0, "START")
            check(client.command(SAMPLE, handle, 1)[0] == 0, "SAMPLE")
            with contextlib.suppress(PermissionError):
                os.ftruncate(files[0], 0)
                check(False, "the ring could be truncated")
            check(os.fstat(files[0]).st_blocks > 0, "an empty ring")
            check(client.end_session(handle)[0] == 0, "CLOSE")
            check(os.fstat(files[0]).st_blocks == 0, "the broker's memory stays")
        client.close()
        check_all_released(broker)
    with Broker():
        done = run("perfctr", "stat", *via, "-e", "page-faults", "true", uid=USER, status=3)
        check("does not allow device local" in done.stderr, done.stderr)


@test
def policy_of_a_program():
    """a set-group-ID program has its group's rule, the same program without the bit its user's"""
    program = RUN + "/perfctr"
    os.makedirs(RUN, exist_ok=True)
    shutil.copy(shutil.which("perfctr"), program)
    with Broker("[rule program]\ngroups = audio\ndevices = *\nblocks = shader\n" +
                POLICY.replace(" shader\n", "\n")):
        for mode, event in ((0o755, "cshw/*"), (0o2755, "shader/*")):
            os.chown(program, 0, 29)
            os.chmod(program, mode)
            for tried in ("cshw/*", "shader/*"):
                # other blocks are not visible
                run(program, "stat", "--via", SOCKET, "-e", tried, "true", uid=USER,
                    status=0 if tried == event else 2)
    os.unlink(program)


@test
def bucket_of_a_client():
    """a client may send 100 requests at once, then one each millisecond"""
    with Broker():
        client = Client()
        begin = time.monotonic()
        for _ in range(600):
            check(client.ask(QUERY, QUERY_CLOCKS, count=8, stride=64)[0] == 0, "QUERY")
        took = time.monotonic() - begin
        check(took > 0.49, f"600 requests in {took:.3f} s")
        client.close()


@test
def ring_cannot_be_written():
    """the ring cannot be made writable; only the control page can be written"""
    with Broker() as broker:
        client = Client()
        handle, files, map_bytes = client.session()
        ring, _ = files
        page = mmap.PAGESIZE
        ring_bytes = map_bytes - page
        os.seteuid(USER)
        try:
            for prot in (mmap.PROT_READ | mmap.PROT_WRITE, mmap.PROT_WRITE):
                for size, offset in ((ring_bytes, page), (page + ring_bytes, 0)):
                    try:
                        mmap.mmap(ring, size, mmap.MAP_SHARED, prot, offset=offset)
                        check(False, "the ring could be mapped for writing")
                    except PermissionError:
                        pass
            mapped = mmap.mmap(ring, ring_bytes, mmap.MAP_SHARED, mmap.PROT_READ, offset=page)
            libc = ctypes.CDLL(None, use_errno=True)
            libc.mmap.restype = ctypes.c_void_p
            libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
            libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                                  ctypes.c_int, ctypes.c_long]
            address = libc.mmap(None, page, mmap.PROT_READ, mmap.MAP_SHARED, ring, page)
            check(libc.mprotect(address, page, mmap.PROT_READ | mmap.PROT_WRITE) == -1 and
                  ctypes.get_errno() == errno.EACCES, "mprotect made the ring writable")
            libc.munmap(ctypes.c_void_p(address), ctypes.c_size_t(page))
            for path in (f"/proc/self/fd/{ring}",):
                try:
                    os.close(os.open(path, os.O_RDWR))
                    check(False, "the ring could be opened again for writing")
                except OSError:
                    pass
            try:
                os.pwrite(ring, b"x", 0)
                check(False, "the ring could be written")
            except OSError:
                pass
            indices = mmap.mmap(ring, page, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        finally:
            os.seteuid(0)
        check(client.command(START, handle)[0] == 0, "START")
        check(client.command(SAMPLE, handle, 77)[0] == 0, "SAMPLE")
        check(client.command(STOP, handle)[0] == 0, "STOP")
        insert = CONTROL.unpack_from(indices, CONTROL_AT)[0]
        check(insert == RING_FIRST + 2, f"index {insert:#x}")
        size, _, blocks, sequence = struct.unpack_from("=IHHQ", mapped, 0)
        check(size >= 72 and blocks == 4 and sequence == 0, f"sample {size} {blocks} {sequence}")
        check(struct.unpack_from("=Q", mapped, 32)[0] == 77, "user_data of the sample")
        mapped.close()
        indices.close()
        close_all(files)
        client.close()
        check_all_released(broker)


@test
def killed_client_leaves_nothing():
    """a client killed with -9: its session, DRM file, memory and process are released"""
    with Broker() as broker:
        process = start_counting()
        check(not no_session_is_left(), "the probe does not see a session")
        check(open_files() == 1 and ring_files() > 0,
              f"{open_files()} files, {ring_files()} of rings")
        process.kill()
        process.communicate()
        check_all_released(broker)
        process = start_counting()
        os.kill(broker.children()[0], signal.SIGKILL)
        # communicate() also empties the pipe that the process writes into
        error = process.communicate(timeout=60)[1]
        check(process.returncode != 0, "a client whose process was killed ends well")
        check("the broker ended the connection" in error, "no reason")
        check_all_released(broker)
        check("ended by signal 9" in broker.log(), "no log line")
        start_counting().kill()


@test
def killed_broker_leaves_nothing():
    """SIGKILL of the broker ends clients with a reason and frees sessions; a new broker takes
    over"""
    broker = Broker()
    clients = [start_counting(), start_counting()]
    children = broker.children()
    check(len(children) == 2, f"processes {children}")
    broker.end(signal.SIGKILL)
    for process in clients:
        error = process.communicate(timeout=60)[1]
        status = process.returncode
        check(status not in (0, -9) and "the broker ended the connection" in error,
              f"status {status}: {error}")
    wait_for(lambda: not any(os.path.exists(f"/proc/{pid}") for pid in children),
             "processes of the broker live on")
    check_all_released()
    check(os.path.exists(SOCKET), "the file of the socket is expected to stay")
    with Broker() as again:
        run("perfctr", "stat", "--via", SOCKET, "-e", "FRAGMENTS", "true", uid=USER)
        second = subprocess.run(["perfctr", "serve", "--socket", SOCKET, "--policy", again.policy],
                                stderr=subprocess.PIPE, text=True, check=False)
        check(second.returncode == 1 and "another broker" in second.stderr, second.stderr)
        run("perfctr", "stat", "--via", SOCKET, "-e", "FRAGMENTS", "true", uid=USER)


@test
def killed_broker_and_exporter():
    """an exporter of the local device is not up without a broker, and up with the next one; stat
    ends"""
    policy = POLICY.replace("devices = vsoc", "devices = local\npmus = software")
    path = "/tmp/local.prom"

    def is_up():
        with contextlib.suppress(FileNotFoundError), open(path, encoding="ascii") as f:
            return "\nperfctr_up{device=\"local\"} 1\n" in f.read()

    broker = Broker(policy)
    with subprocess.Popen(["perfctr", "exporter", "--via", SOCKET, "-d", "local", "-e",
                           "page-faults", "-p", "200ms", "--textfile", path],
                          preexec_fn=drop(USER)) as user, contextlib.ExitStack() as stack:
        stack.callback(user.kill)
        wait_for(is_up, "not up")
        stat = subprocess.Popen(
            ["perfctr", "stat", "--via", SOCKET, "-d", "local", "-e", "page-faults", "-I", "100"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=drop(USER))
        stack.callback(stat.kill)
        check(stat.stdout.readline() + stat.stdout.readline(), "nothing")
        broker.end(signal.SIGKILL)
        error = stat.communicate(timeout=60)[1]
        check(stat.returncode == 1 and "ended the connection" in error, error)
        wait_for(lambda: not is_up(), "up without a broker")
        with Broker(policy):
            wait_for(is_up, "not up again")
            user.terminate()
            check(not user.wait(timeout=60) and not os.path.exists(path), f"{user.returncode}")


@test
def limits_hold():
    """sessions, memory and connections are limited; a ring that a client keeps counts"""
    with Broker() as broker:
        client = Client()
        content = client.ask(QUERY, QUERY_DEVICE, count=1, stride=152)[1]
        check(struct.unpack_from("=I", content, 40)[0] == 3, "QUERY does not tell the limit")
        sessions = [client.session() for _ in range(3)]
        error, content, _, _ = client.ask_session()
        check(error == errno.ENOSPC and b"3 sessions" in content, f"{error} {content}")
        for handle, _, _ in sessions:
            check(client.end_session(handle)[0] == 0, "CLOSE")
            check(client.status(handle)[0] == errno.ENOENT, "still there")
        # memory counts while the client has the files
        check(client.ask_session()[0] == errno.ENOSPC, "rings that are kept do not count")
        for _, files, _ in sessions:
            close_all(files)
        handle, files, _ = client.session()
        close_all(files)
        error, content, _, _ = client.ask_session(slots=4096)
        check(error == errno.ERANGE and b"65536 bytes" in content, f"{error} {content}")
        # a kept ring also occupies the slot of a connection that has ended
        handle, files, _ = client.session()
        client.close()
        time.sleep(0.6)
        check(len(broker.children()) == 1 and no_session_is_left(), "kept ring")
        clients = [Client() for _ in range(3)]
        try:
            Client()
            check(False, "a fifth connection")
        except AssertionError as reason:
            check("has 4 connections" in str(reason), reason)
        close_all(files)
        wait_for(lambda: len(broker.children()) == 3, "the place is not given back")
        clients.append(Client())
        for c in clients:
            c.close()
        check_all_released(broker)


def ring_bytes_of_kernel():
    """bytes of all rings that the kernel has mapped, each with a guard page"""
    with open("/proc/vmallocinfo", encoding="ascii") as f:
        return sum(int(line.split()[1]) - mmap.PAGESIZE for line in f
                   if "[drm_perfctr]" in line and " vmap" in line)


def free_bytes():
    """memory that nobody uses, also in the CPUs' lists, after the kernel dropped its caches"""
    os.sync()
    harness.write("/proc/sys/vm/drop_caches", "3")
    with open("/proc/zoneinfo", encoding="ascii") as f:
        text = f.read()
    return mmap.PAGESIZE * sum(map(int, re.findall(r"(?:pages free|count:) +(\d+)", text)))


class Mapping:
    """a ring in the address space, by its address"""

    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                          ctypes.c_int, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.vmsplice.restype = ctypes.c_ssize_t
    libc.vmsplice.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint]

    def __init__(self, reader, size):
        self.size = size
        self.address = self.libc.mmap(None, size, mmap.PROT_READ, mmap.MAP_SHARED, reader, 0)
        check(self.address != ctypes.c_void_p(-1).value, "the ring cannot be mapped")

    def splice_into(self, pipe):
        """bytes whose pages the pipe took"""
        vector = (ctypes.c_size_t * 2)(self.address, self.size)
        return max(0, self.libc.vmsplice(pipe, vector, 1, SPLICE_F_NONBLOCK))

    def close(self):
        self.libc.munmap(self.address, self.size)


@test
def kept_pages_count():
    """pages of ended sessions in pipes, readers and mappings: the broker counts what the kernel
    holds, and no client holds more than its rule allows"""
    limit, slots, rounds = 4 << 20, 4096, 50
    policy = POLICY.replace("sessions = 3", "sessions = 64").replace("64Ki", str(limit))
    with Broker(policy) as broker:
        client = Client()
        pipes = []
        free = spliced = 0
        for n in range(rounds):
            # the first round also allocates what later ones use again
            free = free_bytes() if n == 1 else free
            handle, files, size = client.session(slots=slots)
            mapping = Mapping(files[0], size)
            pipes += os.pipe()
            fcntl.fcntl(pipes[-1], fcntl.F_SETPIPE_SZ, 1 << 20)
            spliced += mapping.splice_into(pipes[-1])
            mapping.close()
            close_all(files)
            check(client.end_session(handle)[0] == 0, "CLOSE")
        used = free - free_bytes()
        check(rounds * size > 8 * limit, f"{rounds} rings of {size} bytes prove little")
        check(used < 2 * limit and ring_bytes_of_kernel() == 0,
              f"pipes have {spliced} bytes of ended rings, {used} bytes of memory are gone, "
              f"{ring_bytes_of_kernel()} are rings")
        close_all(pipes)

        for keeps_mapping in False, True:
            kept = []
            while (len(kept) + 1) * size <= limit:
                handle, files, _ = client.session(slots=slots)
                if keeps_mapping:
                    kept.append(Mapping(files[0], size).close)
                    close_all(files)
                else:
                    os.close(files[1])
                    kept.append(functools.partial(os.close, files[0]))
                check(client.end_session(handle)[0] == 0, "CLOSE")
                check(ring_bytes_of_kernel() == len(kept) * size,
                      f"{len(kept)} rings of {size} are {ring_bytes_of_kernel()} in the kernel")
            error, content, _, _ = client.ask_session(slots=slots)
            check(error == errno.ERANGE and f"{limit} bytes".encode() in content,
                  f"{len(kept)} kept, then: {error} {content}")
            kept.pop()()
            for release in kept:
                handle, files, _ = client.session(slots=slots)
                release()
                close_all(files)
                check(client.end_session(handle)[0] == 0, "CLOSE")
            check(ring_bytes_of_kernel() == 0, f"{ring_bytes_of_kernel()} bytes of rings remain")
        client.close()
        check_all_released(broker)


def garbage(client, number):
    """Send a request that is wrong in one way. The reply does not matter."""
    good = HEADER.pack(HEADER.size, VERSION, QUERY, 0, 1, 0, 0, 1, 64)
    messages = [b"", b"x", b"\0" * 31, b"\xff" * 32, b"\xff" * 4096, os.urandom(200), good[:-1],
                good + b"x", HEADER.pack(HEADER.size, VERSION - 1, QUERY, 0, 0, 0, 0, 0, 0),
                HEADER.pack(HEADER.size, VERSION, 99, 0, 0, 0, 0, 0, 0), os.urandom(131072),
                HEADER.pack(HEADER.size, VERSION, SESSION, 0, 0, 0, 0, 0xffffffff, 0xffffffff),
                HEADER.pack(HEADER.size + 4, VERSION, SESSION, 0, 0, 0, 0, 1, 0) + bytes(4),
                HEADER.pack(HEADER.size + 200, VERSION, SESSION, 0, 0, 0, 0, 1,
                            64) + os.urandom(200),
                HEADER.pack(HEADER.size, VERSION, QUERY, 0, 2, 0, 0xffffffff, 0xffffffff,
                            0xffffffff),
                HEADER.pack(HEADER.size, VERSION, START, 0, 0, 0xffffffff, 0, 0, 0),
                HEADER.pack(HEADER.size, VERSION, CLOSE, 0, 0, 0xffffffff, 0, 0, 0),
                HEADER.pack(HEADER.size + 300, VERSION, OPEN, 0, 0, 0, 0, 0, 0) + b"A" * 300]
    with contextlib.suppress(OSError):
        client.socket.settimeout(1)
        client.socket.send(messages[number % len(messages)])
        client.socket.recv(1 << 18)
    return len(messages)


@test
def hostile_clients():
    """garbage, foreign files, half a request, thousands of connections: others are unaffected"""
    with Broker() as broker:
        good = start_counting()
        number = total = 0
        while number < max(total, 1) * 2:
            client = Client(device=None if number % 2 else b"\0")
            total = garbage(client, number // 2)
            client.close()
            number += 1
        check(total > 10, "few messages")
        # unexpected files are closed
        client = Client()
        worker = [p for p in broker.children()][-1]
        before = len(os.listdir(f"/proc/{worker}/fd"))
        pipe = os.pipe()
        for _ in range(100):
            client.socket.sendmsg([HEADER.pack(HEADER.size, VERSION, QUERY, 0, QUERY_CLOCKS, 0, 0,
                                               8, 64)],
                                  [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", pipe))])
            check(client.reply()[0] == 0, "QUERY with files")
        check(len(os.listdir(f"/proc/{worker}/fd")) == before, "files pile up in the broker")
        close_all(pipe)
        client.close()
        wait_for(lambda: len(broker.children()) == 1, f"processes {broker.children()}")
        rss = int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{broker.process.pid}/status",
                                                    encoding="ascii").read()).group(1))
        for _ in range(1500):
            with contextlib.suppress(OSError, AssertionError):
                Client(uid=OTHER, device=None).close()
        for _ in range(500):
            with contextlib.suppress(OSError, AssertionError):
                Client(device=None).close()
        wait_for(lambda: len(broker.children()) == 1, f"processes {broker.children()}")
        after = int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{broker.process.pid}/status",
                                                      encoding="ascii").read()).group(1))
        check(after < rss + 512, f"the broker grew from {rss} to {after} KiB")
        check(len(os.listdir(f"/proc/{broker.process.pid}/fd")) < 12, "files pile up")
        # the first line of a later second has the number of suppressed lines

        def left_out_is_said():
            with contextlib.suppress(OSError, AssertionError):
                Client(uid=OTHER, device=None).close()
            return "lines left out" in broker.log()

        wait_for(left_out_is_said, "nothing was left out of the log")
        check(len(broker.log().splitlines()) < 900, "log flood")
        good.send_signal(signal.SIGINT)
        out, error = good.communicate(timeout=60)
        last = json.loads(out.splitlines()[-1])
        check(good.returncode == 0 and last["missing_samples"] == 0, f"disturbed: {error}")
        check_all_released(broker)


@test
def slow_reader():
    """a client that never reads replies is disconnected and blocks no others; one that never
    reads the ring loses nothing"""
    with Broker() as broker:
        slow = Client()
        handle, files, map_bytes = slow.session(period_ns=2000000, slots=4)
        check(slow.command(START, handle)[0] == 0, "START")
        slow.socket.setblocking(False)
        sent = 0
        with contextlib.suppress(BlockingIOError, ConnectionError):
            while sent < 100000:
                slow.socket.send(HEADER.pack(HEADER.size, VERSION, QUERY, 0, QUERY_BLOCKS, 0, 0,
                                             1000, 200))
                sent += 1
        check(0 < sent < 100000, f"{sent} requests without a reply taken")
        begin = time.monotonic()
        run("perfctr", "stat", "--via", SOCKET, "-e", "FRAGMENTS", "true", uid=USER)
        check(time.monotonic() - begin < 9, "others wait for the slow one")
        wait_for(lambda: "slow: does not take its replies" in broker.log(), "not hung up", 60)
        ring = mmap.mmap(files[0], map_bytes, mmap.MAP_SHARED, mmap.PROT_READ)
        wait_for(lambda: not CONTROL.unpack_from(ring, CONTROL_AT)[1] & RING_ACTIVE,
                 "the session counts on")
        insert, _, slots, stride, offset, _ = CONTROL.unpack_from(ring, CONTROL_AT)
        check((insert, slots) == (RING_FIRST + 4, 4), f"index {insert:#x} of {slots} slots")
        samples = [SAMPLE_HEADER.unpack_from(ring, offset + n * stride) for n in range(slots)]
        flags, merged = samples[-1][7:]
        check(flags & SAMPLE_FINAL and merged > 100, f"no final sample of all: {samples[-1]}")
        check([s[3] for s in samples] == [0, 1, 2, 3] and
              all(a[5] == b[4] for a, b in zip(samples, samples[1:])), f"gaps: {samples}")
        ring.close()
        close_all(files)
        slow.close()
        check_all_released(broker)


@test
def one_rate_for_each_user():
    """clients of a user share a rate: commands are a period apart, at most four periodic
    sessions"""
    with Broker(POLICY.replace("min_period = 2ms", "min_period = 20ms")) as broker:
        clients = [Client(), Client()]
        opened = [c.session() for c in clients]
        begin = time.monotonic()
        for client, (handle, _, _) in zip(clients, opened):
            check(client.command(START, handle)[0] == 0, "START")
        for n in range(40):
            client, (handle, _, _) = clients[n % 2], opened[n % 2]
            check(client.command(SAMPLE, handle)[0] in (0, errno.ENOSPC), "SAMPLE")
        took = time.monotonic() - begin
        # 42 commands without a burst
        check(took > 0.8, f"40 samples of two clients in {took:.3f} s")
        for _, files, _ in opened:
            close_all(files)
        for client in clients:
            client.close()
        # a later client inherits the time of a session that has ended
        wait_for(lambda: not broker.children(), "processes remain")
        clients = [Client(), Client()]
        opened = [clients[n % 2].session(period_ns=20000000) for n in range(4)]
        for client in clients:
            error, content, _, files = client.ask_session(period_ns=20000000)
            check(error == errno.EDQUOT and b"4 samples" in content and not files,
                  f"{error} {content}")
        check(clients[0].end_session(opened[0][0])[0] == 0, "CLOSE")
        opened.append(clients[1].session(period_ns=40000000))
        for _, files, _ in opened:
            close_all(files)
        for client in clients:
            client.close()
        check_all_released(broker)


@test
def life_of_the_broker():
    """policy errors name their line; SIGHUP reloads the policy; --check, --json, idle exit"""
    os.makedirs(RUN, exist_ok=True)
    bad = RUN + "/bad"
    for text, message in (("[rule x]\nusers = nobody\nbloks = *\n", ":3: [rule x] has no 'bloks'"),
                          ("nonsense\n", ":1: neither"),
                          ("users = nobody\n", ":1: 'users' belongs to no section"),
                          ("[rule x]\ndevices = *\n", "names no users"),
                          ("[rule x]\ngroups = nosuchgroup\n", "there is no group 'nosuchgroup'"),
                          ("[limits]\nclients = 0\n", "from 1 to"),
                          # no line is taken for two, and no text is dropped
                          ("[rule x]\n#" + " " * 197 + "users = *\n", ":2: longer than 198"),
                          ("[rule x] users = nobody\n", ":1: a section and 'users = nobody'"),
                          (f"[rule {45 * 'x'}]\n", ":1: [rule xxxxxxxxxxx...]: the name"),
                          ("[rule x]\nusers = *\nmin_period = soon\n", ":3: min_period = soon")):
        with open(bad, "w", encoding="utf-8") as f:
            f.write(text)
        done = run("perfctr", "serve", "--policy", bad, "--check", status=1)
        check(message in done.stderr, f"{message} not in {done.stderr}")
    for path, message in ((RUN + "/none", "No such file"), (RUN, "Is a directory")):
        check(message in run("perfctr", "serve", "--policy", path, status=1).stderr, path)
    with Broker(options=("--json",)) as broker:
        rules = json.loads(run("perfctr", "serve", "--policy", broker.policy, "--check",
                               "--json").stdout)["rules"]
        check(rules[0]["min_period_ns"] == 2000000 and rules[0]["ring_bytes"] == 65536, rules)
        run("perfctr", "stat", "--via", SOCKET, "-e", "FRAGMENTS", "true", uid=OTHER, status=3)
        broker.write_policy(POLICY.replace("nobody", "www-data"))
        broker.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "policy" in broker.log(), "not read again")
        time.sleep(0.2)
        run("perfctr", "stat", "--via", SOCKET, "-e", "FRAGMENTS", "true", uid=OTHER)
        run("perfctr", "stat", "--via", SOCKET, "-e", "FRAGMENTS", "true", uid=USER, status=3)
        broker.write_policy("nonsense")
        broker.process.send_signal(signal.SIGHUP)
        wait_for(lambda: "stays as it was" in broker.log(), "no word of the bad policy")
        run("perfctr", "stat", "--via", SOCKET, "-e", "FRAGMENTS", "true", uid=OTHER)
        events = [json.loads(l)["event"] for l in broker.log().splitlines() if l.startswith("{")]
        check({"listen", "refused", "open", "session", "end"} <= set(events), f"events {events}")
    broker = Broker(options=("--idle-exit", "1s"))
    check(broker.process.wait(timeout=10) == 0 and not os.path.exists(SOCKET), "idle exit")
    run("perfctr", "serve", "--policy", broker.policy, "--socket", SOCKET, uid=USER, status=3)


@test
def socket_activation():
    """systemd may pass the socket; rules match groups; CAP_PERFMON is sufficient, also for local"""
    os.makedirs(RUN, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(SOCKET)
    policy = RUN + "/policy"
    with open(policy, "w", encoding="utf-8") as f:
        f.write(POLICY.replace("users = nobody", "groups = audio").replace(
            "devices = vsoc", "devices = vsoc local\npmus = software"))
    os.chmod(policy, 0o644)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(SOCKET)
    os.chmod(SOCKET, 0o666)
    listener.listen(8)
    # as in the unit: a separate user, one capability, the group of the node
    os.chown(NODE, 0, 109)
    os.chmod(NODE, 0o660)
    process = subprocess.Popen(
        ["setpriv", "--reuid", "108", "--regid", "108", "--groups", "109", "--no-new-privs",
         "--bounding-set", "-all,+perfmon", "--inh-caps", "-all,+perfmon",
         "--ambient-caps", "+perfmon", "sh", "-c",
         f"exec 3<&{listener.fileno()}; LISTEN_PID=$$ LISTEN_FDS=1 "
          f"exec perfctr serve --policy {policy}"],
        pass_fds=[listener.fileno()], stderr=subprocess.PIPE, text=True)
    try:
        def in_group():
            os.setgroups([29])
            os.setgid(USER)
            os.setuid(USER)
        # Debian's kernel demands more than CAP_PERFMON above 2
        for device, event, level, status in (("vsoc", "FRAGMENTS", "3", 0),
                                             ("local", "software/page-faults/", "3", 3),
                                             ("local", "software/page-faults/", "2", 0)):
            harness.write(PARANOID, level)
            done = subprocess.run(["perfctr", "stat", "--via", SOCKET, "-d", device, "-j", "-e",
                                   event, "true"], preexec_fn=in_group, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=30, check=False)
            check(done.returncode == status and ("paranoid=2" in done.stderr) == (status == 3),
                  f"{device} at {level}: {done.returncode} {done.stderr}")
        harness.write(PARANOID, "3")
        check(json.loads(done.stdout)["counters"][0]["value"] > 0, "no faults of the machine")
        run("perfctr", "stat", "--via", SOCKET, "-e", "FRAGMENTS", "true", uid=USER, status=3)
    finally:
        process.terminate()
        process.communicate(timeout=60)
        listener.close()
    check(os.path.exists(SOCKET), "the socket of systemd was removed")
    os.unlink(SOCKET)
    os.chmod(NODE, 0o600)
    check_all_released()


def in_a_process(function):
    """Run a test in a child process, so that a failed test leaves no files open."""
    pid = os.fork()
    if pid:
        status = os.waitpid(pid, 0)[1]
        # processes left by a failed test
        with contextlib.suppress(ProcessLookupError):
            os.killpg(pid, signal.SIGKILL)
        check(status == 0, "the reason is above")
        return
    os.setpgrp()
    status = 1
    try:
        function()
        status = 0
    except Exception as error:  # report any error
        for line in f"{type(error).__name__}: {error}".splitlines()[:harness.ERROR_LINES]:
            print(f"# {line}", flush=True)
    finally:
        os._exit(status)


def main():
    if not MISSING:
        # only root can open the nodes: other users need the broker
        for node in glob.glob("/dev/dri/*"):
            if not os.path.isdir(node):
                os.chmod(node, 0o600)
        resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    return harness.main(MISSING, in_a_process)


if __name__ == "__main__":
    sys.exit(main())
