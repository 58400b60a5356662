#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Mesa's counter sessions on panthor (mesa/upstream/panthor), called by a program, on a model of a
Mali GPU: every block and position equals the model's truth. Prints TAP. Runs as root in the guest,
under lab/mali/start, after mesa/tests/kmod/build."""

import os
import signal
import subprocess
import sys
import time

TOP = os.path.dirname(os.path.realpath(__file__)) + "/../../.."
sys.path.insert(0, TOP + "/lab/mali/tests")

# pylint: disable=wrong-import-position
import mali
from mali import MODEL, fail, jobs, node, read, run_job, suspended
from counts import EXPECTED, WORK, kernel_sessions, truth
import counts
import harness
from harness import NOBODY, check, drop, test, wait_for

PROGRAM = os.environ.get("PERFCTR_BUILD", TOP + "/build") + "/tests/mesa/kmod-perf"
BLOCKS = ("cshw", "memsys", "shader", "tiler")
HEADER_WORDS = 4
PERIOD_NS = 5_000_000
# the driver wakes the GPU, and lets it sleep, before and after it can count
WAKING = ("GPU_ACTIVE", "MCU_ACTIVE", "GPU_IRQ_ACTIVE", "GPU_IRQ_COUNT", "MMU_FLUSH_COUNT",
          "CACHE_FLUSH", "MMU_REQUESTS", "MMU_TABLE_READS_L3", "MMU_TABLE_READS_L2")
# what the counter that is not measured beside its neighbours has in a dump
NOT_MEASURED = 0


def counted():
    """The truth by type, dense index and position, of the blocks that Mesa has."""
    values, indices = {}, {}
    for line in read(f"{MODEL}/truth").splitlines():
        kind, index, position, value = line.split()
        if kind in BLOCKS:
            indices.setdefault(kind, set()).add(int(index))
            values[kind, int(index), int(position)] = int(value)
    dense = {kind: sorted(numbers) for kind, numbers in indices.items()}
    return {(kind, dense[kind].index(index), position): value
            for (kind, index, position), value in values.items()}


def position_of(event):
    """Its type and position."""
    kind, name = event.split("/")
    return next(key for key, value in counts.NAMES.items() if (key[0], value) == (kind, name))


def asleep():
    """Cycles count while the GPU is awake, and no session ends when the truth is read."""
    wait_for(suspended, "does not suspend")


class Session:
    """kmod-perf with counters enabled: sums of all its dumps."""

    def __init__(self, period=PERIOD_NS, uid=None, enabled="0"):
        truth()  # reads the names, too
        asleep()
        self.before = counted()
        self.sums, self.dumps, self.end_ns = {}, 0, 0
        # pylint: disable=consider-using-with
        self.process = subprocess.Popen((PROGRAM, node(), str(period)), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        preexec_fn=drop(uid) if uid else None)
        created = self.process.stdout.readline()
        check(created == "created 1000000\n", created)
        result = self.ask("enable")
        check(result == enabled, f"enable: {result}")

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def dump(self):
        """Spans follow each other in the GPU's time, and end before now."""
        start_ns, end_ns, now_ns = map(int, self.ask("dump").split())
        # drivers before panthor 1.1 do not tell the GPU's time
        now_ns = now_ns or time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        # both clocks are compared anew for each dump
        check(start_ns <= end_ns <= now_ns < end_ns + 60e9 and
              abs(start_ns - (self.end_ns or start_ns)) < 1e6,
              f"{self.end_ns} {start_ns} {end_ns} {now_ns}")
        self.end_ns = end_ns
        self.dumps += 1
        values = {}
        for line in iter(self.process.stdout.readline, "end\n"):
            kind, index, position, value = line.split()
            values[kind, int(index), int(position)] = int(value)
        for key, value in values.items():
            self.sums[key] = self.sums.get(key, 0) + value
        return values

    def end(self):
        """Disables when nothing counts any more, and dumps what came until then."""
        asleep()
        check(self.ask("disable") == "0", "disable")
        self.dump()
        errors = self.process.communicate(timeout=60)[1]
        check(self.process.returncode == 0 and not errors, f"{self.process.returncode} {errors}")

    def compare(self, number, exact=True):
        """With the truth, and with what that number of jobs does."""
        after, same, wrong = counted(), 0, []
        for key, value in after.items():
            expected, got = value - self.before.get(key, 0), self.sums.get(key, 0)
            name = counts.NAMES.get((key[0], key[2]))
            at_most = not exact or name in WAKING
            good = got <= expected if at_most else got in (expected, NOT_MEASURED)
            if key[2] >= HEADER_WORDS and not good:
                wrong.append(f"{key} {name}: {got}, truth {expected}")
            same += bool(expected) and got == expected
        check(not wrong, "\n".join(wrong))
        check(not set(self.sums) - set(after), set(self.sums) - set(after))
        for event, each in EXPECTED.items():
            kind, position = position_of(event)
            if kind not in BLOCKS or not exact:
                continue
            total = sum(value for key, value in self.sums.items()
                        if (key[0], key[2]) == (kind, position))
            check(total == each * number, f"{event}: {total}, expected {each * number}")
        return same


@test
def every_position():
    """a period, and dumps while jobs run: each block and position equals the truth"""
    session = Session()
    for _ in range(5):
        jobs("-n", "20", *WORK)
        session.dump()
    session.end()
    same = session.compare(100)
    check(same > 3, f"only {same} counters that are not 0")


@test
def manual():
    """a period of 0: each dump is a sample of its own, with what was done until then"""
    session = Session(period=0)
    for _ in range(70):
        jobs("-n", "1", *WORK)
        values = session.dump()
        kind, position = position_of("cshw/ITER_FRAG_TASK_COMPLETED")
        each = sum(v for k, v in values.items() if (k[0], k[2]) == (kind, position))
        check(each == EXPECTED["cshw/ITER_FRAG_TASK_COMPLETED"], each)
    session.end()
    session.compare(70)


@test
def late_dumps():
    """no dump for many times the ring, at the least period: nothing is lost"""
    session = Session(period=1_000_000)
    jobs("-n", "20", "-s", "20", *WORK)
    session.end()
    session.compare(20)
    check(session.dumps == 1, session.dumps)


@test
def last_counts():
    """what was counted between the last period and disable is in the next dump"""
    session = Session(period=60_000_000_000)
    jobs("-n", "3", *WORK)
    session.end()
    session.compare(3)


@test
def again():
    """a session is enabled a second time, after the GPU slept: only what came then"""
    session = Session()
    jobs("-n", "5", *WORK)
    check(session.ask("enable") == "-1", "enabled twice")
    session.ask("disable")
    session.dump()
    asleep()
    session.sums, session.before, session.end_ns = {}, counted(), 0
    check(session.ask("enable") == "0", "enable")
    jobs("-n", "7", *WORK)
    session.end()
    session.compare(7)


@test
def two():
    """two programs at once: both have everything"""
    first, second = Session(), Session(period=1_000_000)
    jobs("-n", "10", *WORK)
    for session in first, second:
        session.end()
        session.compare(10)


@test
def reset():
    """a reset: no more is counted than happened, and it is said"""
    session = Session()
    jobs("-n", "10", *WORK)
    fail("unrecoverable")
    run_job("store", status=1)
    jobs("-n", "10", *WORK)
    check(session.ask("disable") == "0", "disable")
    session.dump()
    errors = session.process.communicate(timeout=60)[1]
    check("lost counts" in errors, errors)
    session.compare(20, exact=False)


@test
def nobody():
    """an unprivileged user: refused, with what would allow it"""
    os.chmod(node(), 0o666)
    session = Session(uid=NOBODY, enabled="-1")
    errors = session.process.communicate(timeout=60)[1]
    check("CAP_PERFMON" in errors, errors)


@test
def killed():
    """a program that is killed leaves no session behind"""
    session = Session()
    check(kernel_sessions() == 1, "no session")
    session.process.send_signal(signal.SIGKILL)
    session.process.communicate()
    wait_for(lambda: kernel_sessions() == 0, "the session is still there")


if __name__ == "__main__":
    # firmware's group slots are no blocks of Mesa's
    EXPECTED.pop("csg/C5", None)
    sys.exit(harness.main(mali.MISSING))
