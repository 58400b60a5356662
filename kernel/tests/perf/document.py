#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Each perf line of the kernel's document of these PMUs, as it is printed there: its counts are the
model's truth.

usage, in the guest: document.py FILE; FILE: Documentation/admin-guide/perf/nvidia-tegra410-pmu.rst
of a kernel's source; prints TAP
"""

import os
import re
import subprocess
import sys

from perf_stat import (ALL, C2C, CLINK, CMEM, DLINK, RESULTS, UCF0, UCF1, healthy, report, total,
                       truth, workload)

# Of each filter something passes and something does not, in amounts that differ.
JOBS = """
copy bytes=64Ki read write initiator=cpu home=cmem socket=0
copy bytes=20Ki read initiator=noncpu home=remote socket=0
copy bytes=40Ki read initiator=noncpu home=remote socket=1
copy bytes=24Ki read initiator=cpu home=remote socket=1
copy bytes=12Ki read initiator=remote home=cmem socket=0
copy bytes=28Ki read write initiator=gpu home=cmem socket=0
copy bytes=36Ki read initiator=cpu home=gmem gpu=0 socket=0
copy bytes=44Ki read initiator=cpu home=gmem gpu=1 socket=0
copy bytes=52Ki read initiator=cpu home=cxl socket=0
copy bytes=128Ki dataless initiator=cpu home=cmem socket=0
copy bytes=128Ki dataless initiator=cpu home=cxl socket=0
pcie bytes=8Ki read socket=0 rc=0 rp=0 bdf=0x0100 home=cmem
pcie bytes=32Ki read socket=0 rc=0 rp=1 bdf=0x0200 home=cmem
pcie bytes=100Ki write socket=0 rc=1 rp=0 bdf=0x0100 home=cmem
pcie bytes=104Ki write socket=0 rc=1 rp=1 bdf=0x0200 home=cmem
pcie bytes=112Ki write socket=0 rc=1 rp=0 bdf=0x0100 home=gmem
pcie bytes=68Ki read socket=1 rc=2 rp=0 bdf=0x0100 home=cmem
pcie bytes=76Ki read socket=1 rc=2 rp=1 bdf=0x0200 home=cmem
pcie bytes=80Ki write socket=1 rc=3 rp=0 bdf=0x0100 home=cmem
pcie bytes=84Ki write socket=1 rc=3 rp=1 bdf=0x0200 home=cmem
pcie bytes=92Ki write socket=1 rc=3 rp=0 bdf=0x0100 home=remote
pcie bytes=116Ki read socket=0 rc=4 rp=3 bdf=0x0108 home=cmem
pcie bytes=120Ki read socket=0 rc=4 rp=3 bdf=0x0180 home=cmem
pcie bytes=16Ki read target socket=0 rc=0 rp=0 address=0x20000000 home=peer initiator=cpu
pcie bytes=32Ki read target socket=0 rc=0 rp=1 address=0x20010000 home=peer initiator=cpu
pcie bytes=48Ki read target socket=0 rc=0 rp=2 address=0x20020000 home=peer initiator=cpu
pcie bytes=256 write target socket=0 rc=1 rp=0 address=0x10000 home=peer initiator=cpu
pcie bytes=128 write target socket=0 rc=1 rp=0 address=0x110000 home=peer initiator=cpu
pcie bytes=512 write target socket=0 rc=1 rp=0 address=0x20000 home=peer initiator=cpu
"""


def pcie(socket, rc):
    return f"nvidia_pcie_pmu_{socket}_rc_{rc}"


TGT0, TGT1 = "nvidia_pcie_tgt_pmu_0_rc_0", "nvidia_pcie_tgt_pmu_0_rc_1"
# the document's -e: (pmu, event, tags) of each count. None: the number is no event of UCF
LINES = {
    f"{UCF0}/event=0x0/": [(UCF0, None, ALL)],
    f"{UCF0}/event=0x0,src_loc_cpu=0x1,dst_loc_cmem=0x1/":
        [(UCF0, None, {"src": ["loc_cpu"], "dst": ["cmem"]})],
    f"{UCF1}/event=0x0,src_loc_noncpu=0x1,dst_rem=0x1/":
        [(UCF1, None, {"src": ["loc_noncpu"], "dst": ["rem"]})],
    f"{pcie(0, 0)}/event=0x0,src_rp_mask=0x1/": [(pcie(0, 0), "rd_bytes", {"rp": [0]})],
    f"{pcie(0, 1)}/event=0x1,src_rp_mask=0x3,dst_loc_cmem=0x1/":
        [(pcie(0, 1), "wr_bytes", {"rp": [0, 1], "dst": ["cmem"]})],
    f"{pcie(1, 2)}/event=0x2,src_rp_mask=0x1/": [(pcie(1, 2), "rd_req", {"rp": [0]})],
    f"{pcie(1, 3)}/event=0x3,src_rp_mask=0x3,dst_loc_cmem=0x1/":
        [(pcie(1, 3), "wr_req", {"rp": [0, 1], "dst": ["cmem"]})],
    # the document calls it 01:01.0, which by its formula is 0x0108
    f"{pcie(0, 4)}/event=0x4,src_bdf=0x0180,src_bdf_en=0x1/":
        [(pcie(0, 4), "rd_cum_outs", {"bdf": [0x0180]})],
    # a row of the truth is 64 KiB. The mask lets bits from 20 on differ
    f"{TGT0}/event=0x0,dst_rp_mask=0x3/": [(TGT0, "rd_bytes", {"rp": [0, 1]})],
    f"{TGT1}/event=0x1,dst_addr_base=0x10000,dst_addr_mask=0xFFF00,dst_addr_en=0x1/":
        [(TGT1, "wr_bytes", {"address": [0x10000, 0x110000]})],
    f"{{{CMEM}/rd_req/,{CMEM}/rd_cum_outs/,{CMEM}/cycles/}}":
        [(CMEM, "rd_req", ALL), (CMEM, "rd_cum_outs", ALL), (CMEM, "cycles", ALL)],
    f"{C2C}/in_rd_req/": [(C2C, "in_rd_req", ALL)],
    f"{C2C}/in_rd_cum_outs,gpu_mask=0x1/": [(C2C, "in_rd_cum_outs", {"gpu": [0]})],
    f"{C2C}/in_rd_cum_outs,gpu_mask=0x2/": [(C2C, "in_rd_cum_outs", {"gpu": [1]})],
    f"{C2C}/out_rd_req/": [(C2C, "out_rd_req", ALL)],
    f"{C2C}/out_rd_cum_outs,gpu_mask=0x1/": [(C2C, "out_rd_cum_outs", {"gpu": [0]})],
    f"{C2C}/out_rd_cum_outs,gpu_mask=0x2/": [(C2C, "out_rd_cum_outs", {"gpu": [1]})],
    f"{CLINK}/in_rd_req/": [(CLINK, "in_rd_req", ALL)],
    f"{CLINK}/out_rd_req/": [(CLINK, "out_rd_req", ALL)],
    f"{{{DLINK}/in_rd_req/,{DLINK}/in_rd_cum_outs/}}":
        [(DLINK, "in_rd_req", ALL), (DLINK, "in_rd_cum_outs", ALL)],
}
# requests of the other GPU are not modelled: the virtual GPU is GPU 0
SHARES = {f"{C2C}/in_rd_cum_outs,gpu_mask=0x1/": "all",
          f"{C2C}/in_rd_cum_outs,gpu_mask=0x2/": "none"}
# an event of UCF in the place of 0x0
BYTES = ("event=0x113", "slc_bytes_rd")


def lines_of(path):
    with open(path, encoding="utf-8") as document:
        return re.findall(r"^ +(perf stat .*)$", document.read(), re.M)


def event_of(line):
    """what follows -e, as the shell passes it on"""
    return re.fullmatch(r"perf stat -a -e '?([^']+)'?", line)[1]


def run(line):
    """({event: count} as perf prints it, the same as text) of a line with a command after it"""
    work = " ".join(workload(JOBS))
    done = subprocess.run(["sh", "-c", f"{line} -- {work}"], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False, text=True,
                          env={**os.environ, "LC_ALL": "C"})
    found = re.findall(r"^\s*(\d+|<not \w+>)\s+nvidia_\S+", done.stdout, re.M)
    return [int(n) if n.isdigit() else n for n in found], done.stdout


def share(part, whole):
    if not whole:
        return "no traffic"
    return "none" if not part else "all" if part == whole else "some"


def count(name, line, wanted, wanted_share):
    before = truth()
    got, text = run(line)
    after = truth()

    def grown(pmu, event, tags):
        return total(after, pmu, event, **tags) - total(before, pmu, event, **tags)

    really = [grown(*which) if which[1] else 0 for which in wanted]
    # what would be counted without the filters
    whole = [grown(pmu, event or BYTES[1], ALL) for pmu, event, _ in wanted]
    shares = {share(*pair) for pair in zip(really, whole)}
    report(got == really and shares == {wanted_share}, name,
           f"perf counted {got}\nreally     {really}\nunfiltered {whole}\n{text}")


def main():
    lines = lines_of(sys.argv[1])
    events = [event_of(line) for line in lines]
    report(events == list(LINES), "the document has the lines of this test",
           f"{set(events) ^ set(LINES)}")
    for line, event in zip(lines, events):
        wanted = LINES[event]
        filtered = "some" if wanted[0][2] else "all"
        if wanted[0][1]:
            count(line, line, wanted, SHARES.get(event, filtered))
            continue
        count(f"{line}: no event of the model", line, wanted, "none")
        other = line.replace("event=0x0", BYTES[0])
        count(f"{other}: in place of 0x0", other,
              [(pmu, BYTES[1], tags) for pmu, _, tags in wanted], filtered)
    healthy()
    print(f"1..{sum(RESULTS.values())}")
    print(f"{RESULTS['ok']} passed, {RESULTS['not ok']} failed, 0 skipped")
    return RESULTS["not ok"] != 0


if __name__ == "__main__":
    sys.exit(main())
