#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: fleet.py DIRECTORY: write 1,000 captures, ten of each of 100 hosts, with random numbers
of frames. Two hosts read more or fewer bytes a frame than all others."""

import os
import random
import sys

import capture_bytes as cb

HOSTS, EACH, SAMPLES, PERIOD, START = 100, 10, 20, 10**7, 10**12
FRAME_BYTES = 8_000_000
ODD = {"host007": 1.2, "host042": 0.95}


def capture(host, chance):
    parts = [cb.HEADER, cb.record(cb.TEXT, cb.texts("host", host)),
             cb.record(cb.REQUEST, cb.block_request(cb.SHADER, 0xffff, 0x300)),
             cb.counter(cb.UNHEARD_OF, cb.SHADER, 8, "READ", "bytes"),
             cb.counter(cb.UNHEARD_OF, cb.SHADER, 9, "FRAMES", "frames"),
             cb.metric(cb.UNHEARD_OF, cb.SHADER, "read_per_frame", "bytes/frame", "READ / FRAMES"),
             cb.anchor(START, 1_700_000_000 * 10**9)]
    for n in range(SAMPLES):
        frames = chance.randrange(1, 5)
        read = int(frames * FRAME_BYTES * ODD.get(host, 1) * chance.gauss(1, 0.03))
        parts.append(cb.record(cb.SAMPLE, cb.sample(
            n, START + n * PERIOD, START + (n + 1) * PERIOD,
            [cb.block(cb.SHADER, index, {8: part, 9: count}, product=cb.UNHEARD_OF)
             for index, part, count in ((0, read // 3, frames), (16, read - read // 3, 0))])))
    return b"".join(parts) + cb.status(SAMPLES)


def write(folder):
    chance = random.Random(26)
    for number in range(HOSTS * EACH):
        host = f"host{number % HOSTS:03}"
        os.makedirs(os.path.join(folder, host), exist_ok=True)
        with open(os.path.join(folder, host, f"{number // HOSTS}.capture"), "wb") as f:
            f.write(capture(host, chance))


if __name__ == "__main__":
    write(sys.argv[1])
