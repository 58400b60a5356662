# SPDX-License-Identifier: MIT
"""Shared by the tests of the tools: list of tests, checks, running commands, TAP."""

import fcntl
import json
import os
import struct
import subprocess
import sys
import termios
import time
import urllib.request

try:
    import jsonschema
except ImportError:  # a machine of the test has it; a guest that boots something else may not
    jsonschema = None

TESTS = []
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../schema/perfctr.json")
VALIDATORS = {}
MOST_CHECKED = 300_000
NOBODY = 65534
ERROR_LINES = 40
# the kernel's drivers of the virtual SoC's PMUs are built for x86, from 6.12 on
FABRIC = (os.uname().machine == "x86_64" and
          tuple(map(int, os.uname().release.split(".")[:2])) >= (6, 12))


def test(function):
    """A test; its docstring is its name. It returns None, or the reason for a skip."""
    TESTS.append(function)
    return function


def test_of_fabric(function):
    """A test that is left out where the virtual SoC's PMUs have no driver."""
    return test(function) if FABRIC else function


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def drop(uid=NOBODY, groups=()):
    """For preexec_fn: become an unprivileged user."""
    def now():
        os.setgroups(groups)
        os.setgid(uid)
        os.setuid(uid)
    return now


def check_schema(words, text):
    """All that any test gets as JSON is what tools/schema says; the schema allows nothing else."""
    name, lines = words[0], words[0] == "export" or "--jsonl" in words
    documents = [json.loads(part) for part in (text.splitlines() if lines else [text])]
    if isinstance(documents[0], list):
        documents = documents[0]
    for document in documents:
        kind = (name + "_line" if name == "stat" and lines else
                name + "_check" if "mistakes" in document else
                name + "_groups" if name == "diff" and "groups" in document else name)
        if kind not in VALIDATORS:
            with open(SCHEMA, encoding="utf-8") as f:
                schema = json.load(f)
            VALIDATORS[kind] = jsonschema.Draft202012Validator(
                {"$ref": f"#/$defs/{kind}", "$defs": schema["$defs"]})
        for error in VALIDATORS[kind].iter_errors(document):
            raise AssertionError(f"{kind}: {list(error.absolute_path)}: {error.message[:300]} "
                                 f"{[e.message[:200] for e in error.context[:3]]}")


def check_output(command, output):
    """Check what a command printed, if it is JSON that tools/schema describes."""
    words = command[1:] or ("",)
    has_schema = (words[:3] == ("export", "-f", "json") or
                  words[0] in ("stat", "list", "info", "check", "top", "report", "diff") and
                  {"-j", "--json", "--json-output", "--jsonl"} & set(words))
    # what a report of a defect has is the machine's
    has_schema = has_schema and "--report" not in words
    if (jsonschema and os.path.basename(command[0]) == "perfctr" and has_schema and
            0 < len(output) < MOST_CHECKED):
        check_schema(words, output if isinstance(output, str) else output.decode())


def run(*command, status=0, uid=None, timeout=120, text=True, **options):
    """Run a command, as another user with uid, and check its status (one or several)."""
    if uid is not None:
        options["preexec_fn"] = drop(uid)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=text,
                          timeout=timeout, check=False, **options)
    error = done.stderr if text else done.stderr.decode(errors="replace")
    check(done.returncode in (status if isinstance(status, tuple) else (status,)),
          f"{' '.join(command)}: status {done.returncode}, expected {status}: {error[-1500:]}")
    check_output(command, done.stdout)
    return done


def fetch(url, **options):
    """What an HTTP server answers; options: of a Request."""
    with urllib.request.urlopen(urllib.request.Request(url, **options), timeout=10) as reply:
        return reply.read().decode()


def answers(url):
    """The same; None: it does not answer."""
    try:
        return fetch(url)
    except OSError:
        return None


def place():
    """machine, kernel and firmware, found without the program's own reader"""
    def first(path):
        try:
            with open(path, encoding="utf-8", errors="replace") as f:
                return f.readline().strip(" \t\r\n\0")
        except OSError:
            return ""
    cpu = {}
    for line in open("/proc/cpuinfo", encoding="utf-8"):
        key, _, value = line.partition(":")
        cpu.setdefault(key.strip(), value.strip())
    dmi = "/sys/class/dmi/id/"
    machine = " ".join(filter(None, (first(dmi + "sys_vendor"), first(dmi + "product_name"))))
    machine = machine or first("/proc/device-tree/model")
    if "model name" in cpu:
        machine = f"{machine}, model name {cpu['model name']}" if machine else \
            f"model name {cpu['model name']}"
    firmware = " ".join(filter(None, (first(dmi + "bios_version"),
                                      first("/proc/device-tree/chosen/u-boot,version"))))
    if "microcode" in cpu:
        firmware = f"{firmware}, microcode {cpu['microcode']}" if firmware else \
            f"microcode {cpu['microcode']}"
    return {"machine": machine or os.uname().machine, "kernel": os.uname().release,
            "firmware": firmware or "not known"}


def lines_in_columns(columns, *command, errors=False, env=None, status=0):
    """Output of a command on a terminal with that many columns, or what it says on stderr there."""
    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with subprocess.Popen(command, stdout=subprocess.DEVNULL if errors else theirs, env=env,
                          stderr=theirs if errors else subprocess.DEVNULL) as process:
        os.close(theirs)
        text = b""
        try:
            while chunk := os.read(ours, 65536):
                text += chunk
        except OSError:  # the other end is closed
            pass
    os.close(ours)
    check(process.returncode == status, f"{' '.join(command)}: status {process.returncode}")
    return text.decode().replace("\r", "").splitlines()


def processes(program):
    """Numbers of processes that run a program, but those that have ended."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{pid}/exe") == os.path.realpath(program):
                found.append(int(pid))
        except OSError:
            pass
    return found


def whole_lines(path):
    """The whole lines of a log in JSON, if it exists, that are there now: who writes it may be
    faster than they are read."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="ascii") as f:
        whole = f.read(os.fstat(f.fileno()).st_size).rpartition("\n")[0]
    return [json.loads(line) for line in whole.splitlines()]


def wait_for(condition, what, seconds=40):
    """Wait until condition(); what: a text, or a function that returns one."""
    end = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < end, what() if callable(what) else what)
        time.sleep(0.05)


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(text)


def main(bail_out=None, attempt=lambda function: function()):
    """Run all tests, print TAP. attempt: runs one, raises if it fails. Return: an exit status."""
    if bail_out:
        print(f"Bail out! {bail_out}")
        return 1
    failed = 0
    print(f"1..{len(TESTS)}", flush=True)
    for number, function in enumerate(TESTS, 1):
        name = " ".join(function.__doc__.split())
        begin = time.monotonic()
        try:
            skip = attempt(function)
            print(f"ok {number} - {name}{f' # SKIP {skip}' if skip else ''}")
        except Exception as error:  # any error fails this test only
            failed += 1
            print(f"not ok {number} - {name}")
            for line in f"{type(error).__name__}: {error}".splitlines()[:ERROR_LINES]:
                print(f"# {line}")
        print(f"# {time.monotonic() - begin:.1f} s", flush=True)
    sys.stdout.flush()
    return 1 if failed else 0
