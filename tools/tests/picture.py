# SPDX-License-Identifier: MIT
"""What a renderer without a browser makes of an SVG: colours of its pixels."""

import collections
import shutil
import struct
import subprocess
import zlib


def available():
    """Whether librsvg's tool is installed."""
    return shutil.which("rsvg-convert") is not None


def pixels(svg, background="black"):
    """Colours as "#rrggbb", on that background, as a dict of colour to its number of pixels."""
    png = subprocess.run(["rsvg-convert", "--background-color", background, "--format", "png"],
                         input=svg, stdout=subprocess.PIPE, check=True).stdout
    width, height, depth, kind = struct.unpack(">IIBB", png[16:26])
    assert depth == 8 and kind in (2, 6), f"PNG of depth {depth}, kind {kind}"
    size_of_pixel = 3 if kind == 2 else 4
    bytes_of_line = size_of_pixel * width
    data, at = b"", 8
    while at < len(png):
        size, name = struct.unpack(">I4s", png[at:at + 8])
        data += png[at + 8:at + 8 + size] if name == b"IDAT" else b""
        at += 12 + size
    data, before, found = zlib.decompress(data), bytearray(bytes_of_line), collections.Counter()
    for y in range(height):
        start = y * (bytes_of_line + 1)
        line = unfilter(data[start], bytearray(data[start + 1:start + 1 + bytes_of_line]), before,
                        size_of_pixel)
        found.update(line[at:at + 3].hex() for at in range(0, bytes_of_line, size_of_pixel))
        before = line
    return {"#" + color: count for color, count in found.items()}


def unfilter(kind, line, before, size):
    """Undo a filter of PNG, in a line of pixels of that many bytes."""
    for n in range(len(line) if kind else 0):
        left, above = line[n - size] if n >= size else 0, before[n]
        corner = before[n - size] if n >= size else 0
        if kind == 4:
            guess = left + above - corner
            add = min((left, above, corner), key=lambda c, g=guess: abs(g - c))
        else:
            add = (0, left, above, (left + above) // 2)[kind]
        line[n] = (line[n] + add) & 255
    return line
