# SPDX-License-Identifier: MIT
"""What tests on a model of a V3D GPU share: the driver's ioctls, the model's files. They run as
root in the guest, under lab/v3d/start."""

import ctypes
import errno
import fcntl
import os
import struct
import sys

sys.path.insert(0, os.path.dirname(os.path.realpath(__file__)) + "/../../../tools/tests")

from harness import run, write  # pylint: disable=wrong-import-position

NODE = "/dev/dri/renderD128"
DRIVER = "/sys/bus/platform/drivers/v3d"
PLATFORM = "/sys/bus/platform/devices/v3d"
MODEL = "/sys/kernel/debug/v3d_model"

PRIMITIVES = "PTB-primitives-binned"
QUADS = "TLB-quads-written-to-color-buffer"
COMPUTE = "compute-active-cycles"
CYCLES = "cycle-count"
BIN = "CLE-bin-thread-active-cycles"
JOBS = (PRIMITIVES, QUADS, COMPUTE)

QUADS_PER_TILE = 1024
STEP_CYCLES = 100
SLOTS = 32

IDENT1, MAX_COUNTERS, RESETS = 1, 13, 15
CLEAR_GLOBAL = 1


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read().strip()


def model(name, value=None):
    """A file of the model: its number, or set it."""
    if value is None:
        return int(read(f"{MODEL}/{name}"))
    write(f"{MODEL}/{name}", str(value))
    return value


def truth():
    return {name: int(count) for name, count in
            (line.split() for line in read(f"{MODEL}/truth").splitlines())}


def suspended_ms():
    return int(read(f"{PLATFORM}/power/runtime_suspended_time"))


def is_suspended():
    return read(f"{PLATFORM}/power/runtime_status") == "suspended"


def bind(how="bind"):
    write(f"{DRIVER}/{how}", "v3d")


def job(*arguments, status=0, **options):
    return run("v3d-job", *arguments, status=status, **options).stdout


def counts_of(text):
    """What v3d-job -p printed."""
    return {line.split()[0]: int(line.split()[1]) for line in text.splitlines()[:-1]}


def events(*names):
    return [word for name in names for word in ("-e", "v3d/" + name.replace("-", "_"))]


def stat(*arguments, **options):
    return run("perfctr", "stat", "-d", "v3d", *arguments, **options)


def counts(names, *command):
    """Differences of truth, and what stat counted."""
    before = truth()
    stat("-x", ",", "-o", "/tmp/counts", *events(*names), "--", *command)
    now = truth()
    rows = [line.split(",") for line in read("/tmp/counts").splitlines()]
    seen = {row[2].split("/")[1]: int(row[0]) for row in rows}
    return ({name: now[name] - before[name] for name in names},
            {name: seen[name.replace("-", "_")] for name in names})


class Device:
    """An open render node, with performance monitors."""

    def __init__(self):
        self.fd = os.open(NODE, os.O_RDWR | os.O_CLOEXEC)
        self.numbers = None

    def close(self):
        os.close(self.fd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def call(self, number, layout, *values, reads=True):
        """Values of the structure afterwards."""
        data = bytearray(struct.pack(layout, *values))
        direction = 3 if reads else 1
        fcntl.ioctl(self.fd, direction << 30 | len(data) << 16 | ord("d") << 8 | 0x40 + number,
                    data, True)
        return struct.unpack(layout, data)

    def param(self, which):
        return self.call(4, "IIQ", which, 0, 0)[2]

    def counter(self, number):
        """Name, category and description of an event."""
        return [text.split(b"\0")[0].decode() for text in
                self.call(0xc, "B64s32s256s7s", number, b"", b"", b"", b"")[1:4]]

    def number(self, name):
        if self.numbers is None:
            self.numbers = {self.counter(i)[0]: i for i in range(self.param(MAX_COUNTERS))}
        return self.numbers[name]

    def create(self, names):
        numbers = bytes(self.number(name) for name in names)
        return self.call(8, "II32s", 0, len(numbers), numbers)[0]

    def values(self, perfmon, number):
        """Values of a perfmon with that number of events."""
        values = (ctypes.c_uint64 * number)()
        self.call(0xa, "IIQ", perfmon, 0, ctypes.addressof(values))
        return list(values)

    def set_global(self, perfmon, flags=0):
        self.call(0xd, "II", flags, perfmon, reads=False)

    def clear_global(self, perfmon):
        self.set_global(perfmon, CLEAR_GLOBAL)


class Global:
    """A global performance monitor."""

    def __init__(self, *names):
        self.device = Device()
        self.names = names
        try:
            self.id = self.device.create(names)
            self.device.set_global(self.id)
        except OSError:
            self.device.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.device.close()

    def read(self):
        return dict(zip(self.names, self.slots()))

    def slots(self):
        return self.device.values(self.id, len(self.names))

    def clear(self):
        """The sums at the end."""
        self.device.clear_global(self.id)
        return self.read()


def errno_of(function, *arguments):
    """The error of a call, or 0."""
    try:
        function(*arguments)
    except OSError as error:
        return error.errno
    return 0


def has_global():
    """The DRM core answers EINVAL to a number that it does not know."""
    return errno_of(lambda: Global(CYCLES).device.close()) != errno.EINVAL


MISSING = None if os.path.exists(NODE) else "no render node"
