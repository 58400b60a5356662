# SPDX-License-Identifier: MIT
"""Performance counters of GPUs and SoCs.

    with perfctr.Session("shader/FRAGMENTS", period=0.001) as session:
        draw()
    print(session.totals()["shader/FRAGMENTS"].value)

    capture = perfctr.open("perfctr.capture")
    numpy.asarray(capture.table["shader0/FRAGMENTS"])

Times named _ns are nanoseconds of CLOCK_MONOTONIC_RAW, the clock of samples, unless their name says
another clock; arguments are seconds. Values are exact integers. Errors are OSError, and ValueError
for a name or number that is wrong; their text says what to do.
"""

import contextlib
import itertools
import math
import os
import re
import typing
import warnings

from perfctr import _perfctr
from perfctr._perfctr import Column, Table

__all__ = ["Capture", "Column", "Mark", "Metric", "Metrics", "Session", "Span", "Table", "Total",
           "Totals", "devices", "frame", "now_ns", "open", "phase", "point"]

LOCAL = "local"
KEEP_AWAKE, AUTOMATIC, SKIP_UNSUPPORTED = 1 << 0, 1 << 1, 1 << 16
POINT, FRAME, BEGIN, END = range(4)
MOST_SECONDS = 10**9


class Total(typing.NamedTuple):
    """A counter added up."""

    event: str  # "shader/FRAGMENTS", as perfctr report names it
    block: str
    counter: str
    unit: str  # of number; empty: unknown
    value: int | None  # exact; None: not measured, had no turn, or beyond 64 bits
    number: float | None  # in the unit, extrapolated if it ran for a part of the time
    rate: float | None  # number per second; None for levels
    minimum: int | None  # of a sample
    maximum: int | None
    measured: int  # samples in which it was measured
    missed: int
    running: float  # part of the time in which it ran; 0: not measured


class Metric(typing.NamedTuple):
    """A value computed from counters."""

    event: str  # "metric:shader.ipc"
    value: float | None
    unit: str
    state: str  # why there is no value


class Span(typing.NamedTuple):
    """The samples that were added up."""

    samples: int
    start_ns: int
    end_ns: int
    elapsed_ns: int
    merged_periods: int
    lost_ns: int
    missing_samples: int


class Mark(typing.NamedTuple):
    """A point, frame or phase that was marked, paired as by perfctr report."""

    kind: str  # point, frame, phase
    name: str
    start_ns: int
    end_ns: int | None  # None: a phase without an end; of a point its start
    pid: int
    tid: int


class Metrics(dict[str, Metric]):
    """Metrics by event."""


class Totals(dict[str, Total]):
    """Totals by event, with metrics and the span."""

    def __init__(self, counters, metrics, span):
        super().__init__((c["event"], Total(**c)) for c in counters)
        self.metrics = Metrics((m["event"], Metric(**m)) for m in metrics)
        self.span = Span(**span)


def _ns(seconds, what):
    if not (isinstance(seconds, (int, float)) and math.isfinite(seconds) and
            0 <= seconds < MOST_SECONDS):
        raise ValueError(f"{what} is a number of seconds, not {seconds!r}")
    return round(seconds * 1e9)


class Session:
    """Counts events.

    events: as -e of perfctr stat, "shader/FRAGMENTS,metric:shader.*", or a list of them.
    period: seconds between samples; 0: a sample for each sample() and one at the end.
    device: node, driver or name; None: the first GPU that offers counters, or "local", the perf
    PMUs of the machine. broker: socket of perfctr serve, "" for the system's.
    pid, cgroup: count only this process and its future children, or the folder of a cgroup, not
    both; of the local device.
    columns: keep all samples for table(); False: totals only, whose memory does not grow.
    """

    def __init__(self, events: str | typing.Iterable[str], *, period: float = 0,
                 device: str | None = None, broker: str | None = None, pid: int = 0,
                 cgroup: str | os.PathLike | None = None, slots: int = 0, flags: int = 0,
                 columns: bool = True):
        if not isinstance(events, str):
            events = ",".join(events)
        self._session = _perfctr.session(
            events, device=device, broker=broker, pid=pid, cgroup=cgroup, slots=slots, flags=flags,
            period_ns=_ns(period, "the period"), columns=columns)
        self._counts = False

    def start(self, user_data: int = 0) -> None:
        """Begin to count."""
        self._session.start(user_data)
        self._counts = True

    def sample(self, user_data: int = 0) -> None:
        """Take a sample now."""
        self._session.sample(user_data)

    def stop(self, user_data: int = 0) -> None:
        """Take the last sample and stop counting."""
        self._session.stop(user_data)
        self._counts = False

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for a sample, at most timeout seconds; other threads run meanwhile, and handlers of
        signals, which can stop the session but not close it. OSError: the device is gone, and all
        samples were read. Return: False if there is none, and none will come if the session does
        not count."""
        return self._session.wait(timeout)

    def read(self) -> int:
        """Take all samples from the ring, which has room for a quarter of a second unless slots
        says another number; without it, periods are merged. Return: how many there were."""
        return self._session.read()

    def table(self) -> Table:
        """The samples since the last call."""
        return self._session.table()

    def totals(self, per_block: bool = False) -> Totals:
        """All samples since the session was made, by type of block or by block."""
        return Totals(*self._session.totals(per_block))

    def status(self) -> dict[str, int]:
        """The kernel's own totals."""
        return self._session.status()

    def run(self, seconds: float) -> "Session":
        """Read samples for that time."""
        end = now_ns() + _ns(seconds, "the time")
        while (left := end - now_ns()) > 0:
            self.wait(left / 1e9)
            self.read()
        return self

    def close(self) -> None:
        """Free it; what table() returned stays."""
        self._session.close()

    @property
    def device(self) -> str:
        """Name of the device."""
        return self._session.device

    @property
    def driver(self) -> str:
        """Name of its driver."""
        return self._session.driver

    def __enter__(self) -> "Session":
        self.start()
        return self

    def __exit__(self, *exception) -> None:
        """Stop; totals() and table() then have all."""
        if self._counts:
            self.stop()


def _nodes(devices, texts):
    """Names of the sessions, as perfctr report has them: no two are the same."""
    nodes = []
    for number, (driver, path) in enumerate(devices):
        node = re.sub("[^A-Za-z0-9._-]", "?", LOCAL if driver == LOCAL else path.split("/")[-1])
        node = texts.get(f"cgroup.{number}") or node or f"device{number}"
        more = itertools.chain([node], (f"{node}.{n}" for n in itertools.count(1)))
        nodes.append(next(name for name in more if name not in nodes))
    return nodes


class Capture:
    """A file of perfctr record, of which a session is read completely; use open()."""

    def __init__(self, path: str | bytes | os.PathLike, session: int | str | None = None):
        self.path = os.fspath(path)
        number = session if isinstance(session, int) else 0
        if number < 0:
            raise ValueError(f"sessions have numbers from 0 on, not {number}")
        read = _perfctr.read(self.path, number)
        self.sessions: list[str] = _nodes(read["sessions"], read["texts"])
        if isinstance(session, str) and session in self.sessions[1:]:
            number = self.sessions.index(session)
            read = _perfctr.read(self.path, number)
        elif number >= len(self.sessions) or session not in (None, number, self.sessions[number]):
            raise ValueError(f"no session {session!r} in {self.path!r}, which has "
                             f"{', '.join(self.sessions)}")
        self.session: str = self.sessions[number]
        self._number = number
        self.table: Table = read["table"]
        self.texts: dict[str, str] = read["texts"]
        self.marks: list[Mark] = [Mark(*mark) for mark in read["marks"]]
        self.marks_lost: int = read["marks_lost"]
        self.anchors: list[tuple[int, int, int, int]] = read["anchors"]
        self.device: str = read["device"]
        self.driver: str = read["driver"]
        self.period_ns: int = read["period_ns"]
        self.complete: bool = read["complete"]
        self.bad_samples: int = read["bad_samples"]
        self.bad_numbers: bool = read["bad_numbers"]
        self.cut_bytes: int = read["cut_bytes"]
        self.damage: str = read["damage"]

    def totals(self, per_block: bool = False) -> Totals:
        """All samples added up, by type of block or by block: the file is read again."""
        return Totals(*_perfctr.totals(self.path, per_block, self._number))


def open(path: str | bytes | os.PathLike = "perfctr.capture",  # as in tarfile, gzip
         session: int | str | None = None) -> Capture:
    """Read a capture, also one that gzip or zstd compressed.

    session: of a capture of several devices or cgroups the one to read, by number or by name:
    sessions has the names. None: the first one, with a warning if there are more.
    What can be read of a damaged file is there, without what no recording has; damage, complete,
    bad_samples, bad_numbers and marks_lost tell.
    """
    capture = Capture(path, session)
    if session is None and len(capture.sessions) > 1:
        warnings.warn(f"{capture.path!r} has {len(capture.sessions)} sessions, and only "
                      f"{capture.session!r} was read: open(path, session) takes one of "
                      f"{capture.sessions}", stacklevel=2)
    return capture


def devices() -> list[dict[str, str]]:
    """The machine's GPUs: path, driver, name, and error, which is empty if it offers counters."""
    return _perfctr.devices()


def now_ns() -> int:
    """The time on the clock of samples."""
    return _perfctr.now()


def point(name: str) -> bool:
    """Mark an instant for perfctr record, which started this program. Return: False if none did."""
    return _perfctr.mark(POINT, name)


def frame(name: str = "frame") -> bool:
    """Mark the end of a frame."""
    return _perfctr.mark(FRAME, name)


@contextlib.contextmanager
def phase(name: str) -> typing.Iterator[None]:
    """Mark what runs inside the with statement."""
    _perfctr.mark(BEGIN, name)
    try:
        yield
    finally:
        _perfctr.mark(END, name)
