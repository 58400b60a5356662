#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: held.py NODE EVENT DRIVER: a ring keeps the core's module when the driver's has gone.
Removes DRIVER. Exit status: 0 if the core stays while a reader, then only a mapping exists."""

import ctypes
import mmap
import os
import subprocess
import sys

CORE = "drm_perfctr"
SIZE = mmap.PAGESIZE
# members of struct drm_perfctr_ring_control, in u32
INSERT_IDX, STATE = 16, 17
FIRST, DEAD = 0xfffffff0, 2


def removed(module):
    return subprocess.run(["rmmod", module], stderr=subprocess.DEVNULL, check=False).returncode == 0


def state(control):
    return control[INSERT_IDX] - FIRST, control[STATE]


def main(node, event, driver):
    lib = ctypes.CDLL("libperfctr.so.1", use_errno=True)
    lib.mmap.restype = ctypes.c_void_p
    lib.perfctr_ctx_error.restype = ctypes.c_char_p
    ctx, device, selection, session = (ctypes.c_void_p() for _ in range(4))

    def call(name, *args):
        ret = getattr(lib, f"perfctr_{name}")(*args)
        reason = lib.perfctr_ctx_error(ctx).decode() if ctx else ""
        assert ret >= 0, f"perfctr_{name}: {os.strerror(-ret)}: {reason}"
        return ret

    call("ctx_new", ctypes.byref(ctx))
    call("device_open", ctx, node.encode(), ctypes.byref(device))
    call("selection_new", device, ctypes.byref(selection))
    call("selection_add", selection, event.encode())
    call("session_new", selection, None, ctypes.byref(session))
    call("session_start", session, ctypes.c_uint64(0))
    call("session_sample", session, ctypes.c_uint64(1))
    call("session_stop", session, ctypes.c_uint64(2))
    reader = call("session_reader", session)
    # Python's own mapping would keep a copy of the descriptor
    at = lib.mmap(None, ctypes.c_size_t(SIZE), mmap.PROT_READ, mmap.MAP_SHARED, reader,
                  ctypes.c_long(0))
    control = ctypes.cast(at, ctypes.POINTER(ctypes.c_uint32))
    for unref, what in ((lib.perfctr_session_unref, session),
                        (lib.perfctr_selection_unref, selection),
                        (lib.perfctr_device_unref, device), (lib.perfctr_ctx_unref, ctx)):
        unref(what)
    assert removed(driver), f"{driver} stays without a session"
    assert not removed(CORE), "the core goes while a reader exists"
    os.close(reader)
    assert not removed(CORE), "the core goes while a ring is mapped"
    assert state(control) == (2, DEAD), state(control)
    lib.munmap(ctypes.c_void_p(at), ctypes.c_size_t(SIZE))
    assert removed(CORE), "the core stays when its last ring has gone"


main(*sys.argv[1:])
