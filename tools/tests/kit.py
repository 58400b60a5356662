# SPDX-License-Identifier: MIT
"""libperfctr's API of <perfctr/perfkit.h> for tests, from the shared library."""

import ctypes
import os

BUILD = os.environ.get("PERFCTR_BUILD") or os.path.join(
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))), "build")
OK, NOT_MEASURED = 0, 2
UPDATED, OVERFLOW = 1, 2


class Counter(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("text", ctypes.c_char_p), ("unit", ctypes.c_char_p),
                ("desc", ctypes.c_void_p), ("metric", ctypes.c_void_p), ("kind", ctypes.c_uint32),
                ("passes", ctypes.c_uint32), ("first_pass", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32)]


class Value(ctypes.Structure):
    _fields_ = [("numerator", ctypes.c_int64), ("denominator", ctypes.c_int64),
                ("cycles", ctypes.c_uint64),
                ("elapsed_ns", ctypes.c_uint64), ("state", ctypes.c_uint32),
                ("flags", ctypes.c_uint32)]


class Kit:
    """A kit on a device; functions that return a negative errno raise OSError."""

    def __init__(self, device, counters):
        self.library = ctypes.CDLL(os.path.join(BUILD, "lib/libperfctr.so.1"))
        self.library.perfctr_perfkit_counter.restype = ctypes.POINTER(Counter)
        self.library.perfctr_perfkit_counter.argtypes = ctypes.c_void_p, ctypes.c_size_t
        self.library.perfctr_perfkit_count.restype = ctypes.c_size_t
        self.library.perfctr_perfkit_count.argtypes = ctypes.c_void_p,
        self.ctx, self.device, self.kit = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.call("ctx_new", ctypes.byref(self.ctx))
        self.call("device_open", self.ctx, device.encode(), ctypes.byref(self.device))
        self.call("perfkit_new", self.device, ctypes.byref(self.kit))
        self.call("perfkit_add", self.kit, counters.encode())

    def call(self, name, *arguments):
        result = getattr(self.library, f"perfctr_{name}")(*arguments)
        if result < 0:
            raise OSError(-result, f"{name}: {os.strerror(-result)}")
        return result

    def close(self):
        for name, pointer in ("perfkit", self.kit), ("device", self.device), ("ctx", self.ctx):
            getattr(self.library, f"perfctr_{name}_unref")(pointer)

    def begin_experiment(self):
        passes = ctypes.c_uint()
        self.call("perfkit_begin_experiment", self.kit, ctypes.byref(passes))
        return passes.value

    def __getattr__(self, name):
        """begin_pass, end_pass, begin_object, end_object, end_experiment, sample"""
        return lambda *numbers: self.call(f"perfkit_{name}", self.kit, *map(ctypes.c_uint, numbers))

    def end_sampling(self):
        self.library.perfctr_perfkit_end_sampling(self.kit)

    def counters(self):
        """[(block, counter, first pass), ...]"""
        found = []
        for n in range(self.library.perfctr_perfkit_count(self.kit)):
            c = self.library.perfctr_perfkit_counter(self.kit, n).contents
            found.append((*c.name.decode().split("/"), c.first_pass))
        return found

    def value(self, n, part=0):
        value = Value()
        self.call("perfkit_value", self.kit, ctypes.c_size_t(n), ctypes.c_uint(part),
                  ctypes.byref(value))
        return value
