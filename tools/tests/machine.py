# SPDX-License-Identifier: MIT
"""A made-up machine for tests of the tools: files of /proc, /sys and /dev/dri, and perf events.

    with Machine(build) as m:
        m.pmu("cpu", 4, {"format/event": "config:0-7", "events/cpu-cycles": "event=0x3c"})
        m.perf("4 0x3c * rate 1000")
        done = m.run("stat", "-d", "local", "-a", "-j", "-e", "cycles", "--", "true")

Tests write what the kernel would show; machine.c, a library for LD_PRELOAD, lets a command see it
and describes the table of m.perf(). It shows what our code does with such files, not that a
kernel has such files."""

import os
import shutil
import signal
import subprocess
import tempfile
import time

import harness

PMUS = "/sys/bus/event_source/devices"


class Machine:
    """Four CPUs, no PMU, no GPU, until a test adds some. Remove it with close() or by "with"."""

    def __init__(self, build, perfctr=None):
        self.library = os.path.join(build, "tests/machine.so")
        self.perfctr = perfctr or os.path.join(build, "bin/perfctr")
        self.libraries = None  # a folder with a vendor's library of the machine
        self.root = tempfile.mkdtemp(prefix="machine-")
        self.put("/sys/devices/system/cpu/online", "0-3")
        self.put("/proc/sys/kernel/perf_event_paranoid", "-1")
        self.put("/sys/class/drm/version", "drm")
        self.put("/proc/stat", "")
        self.perf()
        os.makedirs(self.root + PMUS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.rmtree(self.root + "-programs", ignore_errors=True)

    def for_others(self):
        """Let other users run perfctr: copies, because the folder of the build may be closed to
        them, as root's is."""
        programs = self.root + "-programs"
        os.makedirs(programs)
        for name in "perfctr", "perfctr-exporter":
            shutil.copy(os.path.join(os.path.dirname(self.perfctr), name), programs)
        self.library = shutil.copy(self.library, programs)
        self.perfctr = os.path.join(programs, "perfctr")
        os.chmod(programs, 0o755)
        os.chmod(self.root, 0o755)
        self.put("/perf.log", b"")
        os.chmod(self.root + "/perf.log", 0o666)

    def put(self, path, content):
        """Write a file at once: bytes as they are, a text with a line feed at its end."""
        path = self.root + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(content, str):
            content = content.encode() + (b"" if content.endswith("\n") else b"\n")
        with open(path + ".new", "wb") as f:
            f.write(content)
        os.rename(path + ".new", path)

    def drop(self, path):
        """Remove a file, link or folder."""
        path = self.root + path
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)

    def link(self, path, target):
        path = self.root + path
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path):
            os.unlink(path)
        os.symlink(target, path)

    def client(self, pid, fd, fdinfo, node="/dev/dri/renderD128", comm=None):
        """A DRM client: an open file of a process."""
        self.put(f"/proc/{pid}/fdinfo/{fd}", fdinfo)
        self.link(f"/proc/{pid}/fd/{fd}", node)
        if comm is not None:
            self.put(f"/proc/{pid}/comm", comm)

    def pmu(self, name, number, files):
        """A PMU of perf with its type number and files: {"events/x": "event=1"}."""
        self.put(f"{PMUS}/{name}/type", str(number))
        for path, content in files.items():
            self.put(f"{PMUS}/{name}/{path}", content)

    def perf(self, *lines):
        """The table of perf events; machine.c has its format."""
        self.put("/perf.txt", "".join(f"{line}\n" for line in lines) or b"")

    def calls(self):
        """The lines of perf.log since the machine was made."""
        try:
            with open(self.root + "/perf.log", encoding="ascii") as f:
                return f.read().splitlines()
        except FileNotFoundError:
            return []

    def environment(self):
        folders = filter(None, (self.libraries, os.environ.get("LD_LIBRARY_PATH")))
        return dict(os.environ, MACHINE_ROOT=self.root, LD_PRELOAD=self.library,
                    HOME="/nonexistent", LD_LIBRARY_PATH=":".join(folders))

    def run(self, *words, text=True, timeout=60, **options):
        """Run perfctr. Return: its CompletedProcess; text=False: with bytes."""
        done = subprocess.run([self.perfctr, *words], env=self.environment(), check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=timeout,
                              encoding="utf-8" if text else None,
                              errors="replace" if text else None, **options)
        harness.check_output(("perfctr", *words), done.stdout)
        return done

    def start(self, *words, **options):
        """Start perfctr. Return: its Popen with pipes of bytes."""
        return subprocess.Popen([self.perfctr, *words], env=self.environment(),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)

    def script(self, words, steps, settle=0.3):
        """Start perfctr, after settle seconds do the steps (seconds, function or None), waiting
        after each, then interrupt it. Return: as of run()."""
        with self.start(*words) as process:
            time.sleep(settle)
            for seconds, step in steps:
                if step:
                    step()
                time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=30)
        return subprocess.CompletedProcess(process.args, process.returncode,
                                           out.decode(errors="replace"),
                                           error.decode(errors="replace"))
