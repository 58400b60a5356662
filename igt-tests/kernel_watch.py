# SPDX-License-Identifier: MIT
"""The kernel log and taint while a subtest runs."""

import os
import re

# libigt's mark in the kernel log where a subtest begins
BEGINS = re.compile(r"^\[IGT\] \S+: starting subtest (\S+)")
# igt_emit_ignore_dmesg_regex(): messages to ignore until the next subtest begins
EXPECTED = re.compile(r"^\[IGT\] (?:[\w-]+: )?add ignored dmesg regex: (.+)")
# backslashes and unprintable characters in /dev/kmsg
ESCAPED = re.compile(r"\\x([0-9a-f]{2})")
# KERN_WARNING and worse; errors of users are logged at debug level
WARNING_LEVEL = 4
TAINT_WARN = 1 << 9
TAINT_DIE = 1 << 7
OUR_LINES = re.compile(r"perfctr|vsoc|\bcsf\b|tegra410|WARNING|\bBUG\b|Oops|KASAN|UBSAN|lockdep|"
                       r"rcu.*stall|blocked for more|refcount|sysfs: cannot|debugfs: |Call Trace|"
                       r"general protection|unable to handle", re.I)


class Kernel:
    """The kernel log since the last call."""

    def __init__(self):
        self.unwatched = []  # reasons for what is not watched
        try:
            self.log = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
            os.lseek(self.log, 0, os.SEEK_END)
        except OSError as error:
            self.log = None
            self.unwatched.append(f"the kernel log is not watched: {error}; run as root")
        self.next_record = None  # of the next subtest
        self.expected = []
        self.taint = 0
        try:
            self.taint = self.tainted()
        except OSError as error:
            self.unwatched.append(f"the kernel's taint is not watched: {error}")
            self.tainted = lambda: 0

    @staticmethod
    def tainted():
        with open("/proc/sys/kernel/tainted", encoding="ascii") as f:
            return int(f.read())

    def record(self):
        """The next record, or None."""
        record, self.next_record = self.next_record, None
        try:
            return record or os.read(self.log, 8192).decode(errors="replace")
        except BlockingIOError:
            return None

    def said(self, subtest=None):
        """The log until the next subtest, or until now, and its complaints."""
        lines, found = [], []
        while self.log is not None:
            waited = self.next_record
            try:
                record = self.record()
            except OSError:  # overwritten
                found.append("kernel log overflowed")
                continue
            if not record:
                break
            head, _, text = record.partition(";")
            flags, _, usec = head.split(",")[:3]
            level = int(flags) & 7
            text = ESCAPED.sub(lambda code: chr(int(code.group(1), 16)), text.splitlines()[0])
            begins, announced = BEGINS.match(text), EXPECTED.match(text)
            if begins and subtest and begins.group(1) != subtest and not waited:
                self.next_record = record
                break
            lines.append(f"<{level}> [{int(usec) / 1e6:.6f}] {text}")
            if begins:
                self.expected = []
            elif announced:
                self.expected.append(re.compile(announced.group(1)))
            elif (level <= WARNING_LEVEL and OUR_LINES.search(text)
                  and not any(line.search(text) for line in self.expected)):
                found.append(text)
        taint = self.tainted()
        if taint & ~self.taint & (TAINT_WARN | TAINT_DIE):
            found.append(f"kernel taint went from {self.taint} to {taint}")
        self.taint = taint
        return lines, found
