# SPDX-License-Identifier: MIT
"""Devices of the virtual SoC that the tests of Mesa count on."""

import contextlib
import glob
import os

DRIVER = "/sys/bus/platform/drivers/vsoc"
NVIDIA = "8"


def node_of(number):
    """Its render node, for example "renderD128"."""
    path, = glob.glob(f"/sys/bus/platform/devices/vsoc.{number}/drm/renderD*")
    return os.path.basename(path)


def truth_of(node):
    """The file of its truth: debugfs has a folder for each minor, of one name for both nodes."""
    parent = os.path.basename(os.path.realpath(f"/sys/class/drm/{node}/device"))
    for path in glob.glob("/sys/kernel/debug/dri/*/vsoc/truth"):
        with open(os.path.join(os.path.dirname(os.path.dirname(path)), "name"),
                  encoding="ascii") as f:
            if f"dev={parent} " in f.read():
                return path
    raise FileNotFoundError(f"no truth of {node}")


def tell_driver(file, text):
    with open(os.path.join(DRIVER, file), "w", encoding="ascii") as f:
        f.write(text)


@contextlib.contextmanager
def nvidia_device():
    """An NVIDIA-style GPU: its node and the file of its truth."""
    tell_driver("new_device", f"{NVIDIA} product=nv50")
    try:
        node = node_of(NVIDIA)
        yield node, truth_of(node)
    finally:
        tell_driver("del_device", NVIDIA)
