# SPDX-License-Identifier: MIT
"""Capture files made from the documented format, independent of the writer."""

import struct

REQUEST, LABEL, ANCHOR, TEXT, SESSION, COUNTER, METRIC, STATUS, NAMING, MARK = range(4, 14)
SAMPLE, OF_SESSION = 16, 17
SHADER, GENERIC_PMU = 5, 32
VSOC_CSF, MALI_V10, PERF_PMU, UNHEARD_OF = 0x0100, 0x020a, 0x0500, 0x7777
PERIODIC, FINAL, STRETCHED, RESET = 1 << 1, 1 << 3, 1 << 5, 1 << 8
FRAGMENTS = 8  # position in the shader block of the virtual SoC, see libperfctr/counters


def record(kind, content):
    content += bytes(-len(content) % 8)
    return struct.pack("<II", 8 + len(content), kind) + content


def content_of(whole):
    """Type and content of a record."""
    return struct.unpack_from("<I", whole, 4)[0], whole[8:]


def texts(*words):
    return b"".join(word.encode() + b"\0" for word in words)


def block(kind, index, values, valid=None, product=VSOC_CSF, states=1, pmu=None, running=None,
          mask=None):
    """values: {position: count}; all in section 0."""
    if mask is None:
        mask = sum(1 << p for p in values)
    if valid is None:
        valid = mask
    head = 48 if pmu is None else 128
    body = b"".join(struct.pack("<Q", values[p]) for p in sorted(values))
    extra = b""
    if pmu is not None:
        enabled = pmu.get("enabled", 1000)
        extra = struct.pack("<QQQQQIi", enabled, pmu.get("running", enabled), pmu["config"], 0, 0,
                            1, -1)
        extra += pmu["name"].encode().ljust(32, b"\0")
        body += b"".join(struct.pack("<Q", (running or {}).get(p, enabled)) for p in sorted(values))
    size = head + len(body)
    # running times and the identity of a PMU
    form = 0 if pmu is None else 3
    return struct.pack("<IHHBBBBIQQQiHH", size, kind, index, 0, form, 0, 2, states, 1000, mask,
                       valid, 0, head, product) + extra + body


def sample(seq, start, end, blocks, flags=PERIODIC, merged=0, lost=0, user_data=0):
    body = b"".join(blocks)
    return struct.pack("<IHHQQQQIIQIIQ", 72 + len(body), 72, len(blocks), seq, start, end,
                       user_data, flags, merged, lost, 0, 0, 0) + body


def block_request(kind, index, mask, pmu_type=0, config=0):
    return struct.pack("<HHHBBIiQIIQQQ", kind, index, 0, 0, 0, 2 if pmu_type else 0,
                       -1 if pmu_type else 0, mask, pmu_type, 0, config, 0, 0)


def counter(product, kind, position, name, unit, level=False):
    fixed = struct.pack("<QIHHHBBBBH", 0, 1, product, kind, position, 0xff, 4 if level else 0, 0, 0,
                        24)
    return record(COUNTER,
                  fixed + texts(f"x.{name}", name, f"short {name}", f"long {name}", unit, ""))


def metric(product, kind, name, unit, formula):
    fixed = struct.pack("<HHBBH", product, kind, 0, 0, 8)
    return record(METRIC, fixed +
                  texts(f"x.m.{name}", name, f"short {name}", f"long {name}", unit, formula))


def anchor(raw, realtime):
    return record(ANCHOR, struct.pack("<QQQQQ", raw, raw + 5, raw + 1000, realtime, 10))


def status(samples, merged=0, lost=0):
    return record(STATUS, struct.pack("<IIQQQQQQQQQQQ", 0, 16, samples, samples, merged, 0, lost, 0,
                                      0, 0, 0, 0, 0))


def mark(kind, name, time, tid=1, pid=1, lost=0):
    name = name.encode() + b"\0"
    return record(MARK, struct.pack("<QIIIHBB", time, pid, tid, lost, 24 + len(name),
                                    ("point", "frame", "begin", "end").index(kind), 0) + name)


HEADER = b"perfctr\n" + struct.pack("<Q", 3)
