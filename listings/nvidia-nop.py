#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: nvidia-nop.py IN.cubin OUT.cubin
Replaces the PMTRIG of executed_nop by a NOP: PTX has none, and the assembler removes others."""
import struct
import sys

PMTRIG, NOP, BYTES = 0x801, 0x918, 16

with open(sys.argv[1], "rb") as f:
    data = bytearray(f.read())
places = [at for at in range(0, len(data) - BYTES + 1, BYTES)
          if struct.unpack_from("<H", data, at)[0] & 0xfff == PMTRIG]
if len(places) != 1:
    sys.exit(f"{len(places)} instructions PMTRIG, not 1")
_, high = struct.unpack_from("<QQ", data, places[0])
# no operands, guard PT; the upper bits of the second word say when it is issued
struct.pack_into("<QQ", data, places[0], 7 << 12 | NOP, high >> 41 << 41)
with open(sys.argv[2], "wb") as f:
    f.write(data)
