#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debian's perf on the virtual SoC's PMUs: every count equals the truth.

usage, in the guest: perf_stat.py [forms|wide|atomic|pci|cpu-peer]; prints TAP

A case is a perf stat command around a workload with all kinds of traffic. Each event must have the
model's truth (debugfs) for the requested filters.
"""

import glob
import json
import os
import re
import subprocess
import sys
import tempfile

SYSFS = "/sys/bus/event_source/devices"
RESULTS = {"ok": 0, "not ok": 0}

# Sizes differ, so that a wrong filter does not give the right sum by chance.
MIXED = """
copy bytes=64Ki read initiator=cpu home=cmem socket=0
copy bytes=72Ki read write initiator=cpu home=cmem socket=0
copy bytes=96Ki write initiator=noncpu home=cmem socket=0
copy bytes=20Ki read initiator=noncpu home=remote socket=0
copy bytes=36Ki read initiator=cpu home=gmem gpu=0 socket=0
copy bytes=44Ki read write initiator=cpu home=gmem gpu=1 socket=0
copy bytes=52Ki read initiator=cpu home=cxl socket=0
copy bytes=12Ki read initiator=remote home=cmem socket=0
copy bytes=28Ki read write initiator=gpu home=cmem socket=0
copy bytes=40Ki read initiator=noncpu home=remote socket=1
copy bytes=60Ki write initiator=noncpu home=remote socket=1
copy bytes=24Ki read initiator=cpu home=remote socket=1
copy bytes=68Ki read write initiator=cpu home=cmem socket=1
copy bytes=76Ki read initiator=remote home=cmem socket=1
pcie bytes=100Ki write socket=0 rc=1 rp=0 bdf=0x0100 home=cmem
pcie bytes=104Ki write socket=0 rc=1 rp=1 bdf=0x0108 home=cmem
pcie bytes=108Ki write socket=0 rc=1 rp=2 bdf=0x0200 home=cmem
pcie bytes=112Ki write socket=0 rc=1 rp=0 bdf=0x0100 home=gmem
pcie bytes=116Ki read socket=0 rc=4 rp=3 bdf=0x0108 home=cmem
pcie bytes=120Ki read socket=0 rc=4 rp=3 bdf=0x0180 home=cmem
pcie bytes=124Ki read socket=0 rc=4 rp=3 bdf=0x0108 home=remote
pcie bytes=8Ki read socket=0 rc=4 rp=5 bdf=0x0300 home=peer
pcie bytes=4Ki read socket=0 rc=4 rp=5 bdf=0x0300 home=cxl
pcie bytes=16Ki read target socket=0 rc=0 rp=0 address=0x20000000 home=peer initiator=cpu
pcie bytes=32Ki read target socket=0 rc=0 rp=1 address=0x20010000 home=peer initiator=cpu
pcie bytes=48Ki read target socket=0 rc=0 rp=2 address=0x20020000 home=peer initiator=noncpu
pcie bytes=80Ki read target socket=0 rc=0 rp=0 address=0x30000000 home=cxl initiator=cpu
pcie bytes=512 write target socket=0 rc=1 rp=0 address=0xff00 home=peer initiator=cpu
pcie bytes=4Ki write target socket=0 rc=1 rp=0 address=0x110000 home=peer initiator=cpu
pcie bytes=84Ki write target socket=0 rc=1 rp=4 address=0x40000000 home=peer initiator=cpu
copy bytes=128Ki dataless initiator=cpu home=cmem socket=0
copy bytes=128Ki dataless initiator=cpu home=cmem socket=1
copy bytes=128Ki atomic dataless initiator=cpu home=cxl socket=0
"""
HUGE = """
copy bytes=12Gi read write initiator=cpu home=cmem socket=0
pcie bytes=6Gi read socket=0 rc=4 rp=3 bdf=0x0108 home=cmem
"""


def report(passed, name, detail=""):
    RESULTS["ok" if passed else "not ok"] += 1
    number = sum(RESULTS.values())
    print(f"{'ok' if passed else 'not ok'} {number} - {name}", flush=True)
    for line in detail.splitlines() if not passed else ():
        print(f"# {line}")


def truth():
    """{pmu: (state, [(tags, totals)])} from debugfs"""
    path = glob.glob("/sys/kernel/debug/dri/*/vsoc/soc")[0]
    pmus, rows = {}, None
    with open(path, encoding="ascii") as soc:
        for line in soc:
            if line.startswith("["):
                state, rows = {}, []
                pmus[line.strip()[1:-1]] = (state, rows)
                continue
            words = dict(word.split("=") if "=" in word else (word, "") for word in line.split())
            if "state" in words:
                state.update((k, int(v)) for k, v in words.items() if v)
                continue
            tags = {k: words.pop(k) for k in ("src", "dst", "rp", "bdf", "address", "gpu")
                    if k in words}
            tags.update((k, int(v, 0)) for k, v in tags.items()
                        if k in ("rp", "bdf", "address", "gpu"))
            rows.append((tags, {k: int(v) for k, v in words.items() if v}))
    return pmus


def total(pmus, pmu, event, **wanted):
    """an event's total over the rows with wanted tags"""
    if event == "cycles":
        return pmus[pmu][0]["cycles"]
    return sum(totals[event] for tags, totals in pmus[pmu][1]
               if all(tags[key] in values for key, values in wanted.items()))


def workload(jobs):
    file = tempfile.NamedTemporaryFile("w", suffix=".jobs", delete=False)
    # one job, so that virtual time passes once
    file.write(" ".join(jobs.split("\n")).strip() + "\n")
    file.close()
    return ["vsoc-job", "-q", "-f", file.name]


def perf_stat(options, events, command):
    """[(event text, count)] in the order of events; count None: not counted"""
    with tempfile.NamedTemporaryFile("r") as out:
        arguments = [word for event in events for word in ("-e", event)]
        done = subprocess.run(["perf", "stat", "-o", out.name, *options, *arguments, "--",
                               *command],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              text=True)
        if done.returncode:
            raise RuntimeError(f"perf stat: exit {done.returncode}: {done.stdout}")
        return out.read()


def counts(text):
    found = []
    for line in text.splitlines():
        fields = line.split(",")
        if line.startswith("#") or len(fields) < 5:
            continue
        found.append(int(fields[0]) if fields[0].isdigit() else None)
    return found


def case(name, events, wanted, jobs=MIXED, options=("-a",)):
    """events: perf's -e arguments; wanted: (pmu, event, tags) for each count, in perf's order"""
    command = workload(jobs)
    before = truth()
    try:
        text = perf_stat([*options, "-x,"], events, command)
    except RuntimeError as error:
        report(False, name, str(error))
        return
    after = truth()
    expected = [total(after, pmu, event, **tags) - total(before, pmu, event, **tags)
                for pmu, event, tags in wanted]
    got = counts(text)
    report(got == expected and any(expected), name,
           f"perf counted {got}\nreally     {expected}\n{text}")


UCF0, UCF1 = "nvidia_ucf_pmu_0", "nvidia_ucf_pmu_1"
CMEM, C2C = "nvidia_cmem_latency_pmu_0", "nvidia_nvlink_c2c_pmu_0"
CLINK, DLINK = "nvidia_nvclink_pmu_0", "nvidia_nvdlink_pmu_0"
ALL = {}


def ucf_forms():
    # lines of the kernel's document are in document.py
    case("UCF: event=0x123, local CPU to CMEM",
         [f"{UCF0}/event=0x123,src_loc_cpu=0x1,dst_loc_cmem=0x1/"],
         [(UCF0, "mem_bytes_rd", {"src": ["loc_cpu"], "dst": ["cmem"]})])
    case("UCF: socket 1, non-CPU to remote",
         [f"{UCF1}/event=0x113,src_loc_noncpu=0x1,dst_rem=0x1/"],
         [(UCF1, "slc_bytes_rd", {"src": ["loc_noncpu"], "dst": ["rem"]})])
    case("UCF: a group of reads, writes, cycles",
         [f"{{{UCF0}/mem_bytes_rd/,{UCF0}/mem_bytes_wr/,{UCF0}/cycles/}}"],
         [(UCF0, "mem_bytes_rd", ALL), (UCF0, "mem_bytes_wr", ALL), (UCF0, "cycles", ALL)])
    case("UCF: only a source", [f"{UCF0}/slc_bytes_rd,src_rem=1/"],
         [(UCF0, "slc_bytes_rd", {"src": ["rem"]})])
    case("UCF: only a destination", [f"{UCF0}/slc_bytes_rd,dst_loc_gmem=1/"],
         [(UCF0, "slc_bytes_rd", {"dst": ["gmem"]})])
    case("UCF: CXL memory is dst_loc_other", [f"{UCF0}/mem_bytes_rd,dst_loc_other=1/"],
         [(UCF0, "mem_bytes_rd", {"dst": ["cxl", "pcie_peer"]})])
    case("UCF: several bits are either",
         [f"{UCF0}/slc_bytes_rd,src_loc_cpu=1,src_loc_noncpu=1,dst_loc_cmem=1,dst_loc_gmem=1/"],
         [(UCF0, "slc_bytes_rd", {"src": ["loc_cpu", "loc_noncpu"], "dst": ["cmem", "gmem"]})])
    names = ["slc_allocate", "slc_wb", "slc_refill_rd", "slc_refill_wr", "slc_hit_rd",
             "slc_access_dataless",
             "slc_access_atomic", "slc_access_rd"]
    more = ["slc_access_wr", "slc_bytes_rd", "slc_bytes_wr", "mem_access_rd", "mem_access_wr",
            "mem_bytes_rd",
            "mem_bytes_wr", "local_snoop"]
    for some in (names, more, ["ext_snp_access", "ext_snp_evict"]):
        case(f"UCF: named events {some[0]} .. {some[-1]}", [f"{UCF0}/{name}/" for name in some],
             [(UCF0, name, ALL) for name in some])


def pcie_forms():
    pmu = "nvidia_pcie_pmu_0_rc_4"
    case("PCIE: a device to each destination",
         [f"{pmu}/rd_bytes,src_bdf=0x0108,src_bdf_en=1,dst_rem=1/",
          f"{pmu}/rd_bytes,src_bdf=0x0108,src_bdf_en=1,dst_loc_cmem=1/"],
         [(pmu, "rd_bytes", {"bdf": [0x0108], "dst": ["rem"]}),
          (pmu, "rd_bytes", {"bdf": [0x0108], "dst": ["cmem"]})])
    case("PCIE: a member without filter has the leader's device",
         [f"{{{pmu}/rd_req,src_bdf=0x0108,src_bdf_en=1/,{pmu}/rd_cum_outs/,{pmu}/cycles/}}"],
         [(pmu, "rd_req", {"bdf": [0x0108]}), (pmu, "rd_cum_outs", {"bdf": [0x0108]}),
          (pmu, "cycles", ALL)])
    beside_a_device(pmu)
    case("PCIE: peer to peer and CXL",
         [f"{pmu}/rd_bytes,dst_loc_pcie_p2p=1/", f"{pmu}/rd_bytes,dst_loc_pcie_cxl=1/"],
         [(pmu, "rd_bytes", {"dst": ["pcie_peer"]}), (pmu, "rd_bytes", {"dst": ["cxl"]})])
    names = ["rd_bytes", "wr_bytes", "rd_req", "wr_req", "rd_cum_outs", "cycles"]
    case("PCIE: named events", [f"{pmu}/{name}/" for name in names],
         [(pmu, name, ALL) for name in names])


def beside_a_device(pmu):
    """perfctr: an event without a device counts all of them, though one beside it has a device"""
    jobs = ["vsoc-job", "-q", "-r", "3000", *(
        "pcie bytes=16Ki read socket=0 rc=4 rp=1 bdf=0x0108 home=cmem "
        "pcie bytes=48Ki read socket=0 rc=4 rp=2 bdf=0x0208 home=cmem").split()]
    before = truth()
    done = subprocess.run(["perfctr", "stat", "-d", "local", "-a", "-j", "-e",
                           f"{pmu}/rd_bytes,src_bdf=0x0108,src_bdf_en=1/,{pmu}/rd_bytes/", "--",
                           *jobs], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          text=True)
    after = truth()
    rows = json.loads(done.stdout)["counters"] if not done.returncode else []
    wrong = [f"exit {done.returncode}: {done.stderr}"] if len(rows) != 2 else []
    for row, tags in zip(rows, ({"bdf": [0x0108]}, ALL)):
        really = total(after, pmu, "rd_bytes", **tags) - total(before, pmu, "rd_bytes", **tags)
        # the events take turns: of steady traffic an estimate is near the truth
        if row["value"] != really and not (row["running_percent"] < 100 and
                                           0.5 < row["estimate"] / really < 2):
            wrong.append(f"{row['event']}: {row['value']} in {row['running_percent']} % of the "
                         f"time, really {really}")
    report(not wrong, "perfctr: an event without a device, beside one with a device, counts all",
           "\n".join(wrong))


def pcie_tgt_forms():
    pmu = "nvidia_pcie_tgt_pmu_0_rc_0"
    case("PCIE-TGT: CXL memory by address",
         [f"{pmu}/rd_bytes,dst_addr_base=0x30000000,dst_addr_mask=0xFFF00000,dst_addr_en=1/"],
         [(pmu, "rd_bytes", {"dst": ["cxl"]})])
    case("PCIE-TGT: root port and address",
         [f"{pmu}/rd_bytes,dst_rp_mask=2,dst_addr_base=0x20000000,dst_addr_mask=0xFF000000,"
          "dst_addr_en=1/"],
         [(pmu, "rd_bytes", {"rp": [1], "dst": ["pcie_peer"]})])
    names = ["rd_bytes", "wr_bytes", "rd_req", "wr_req"]
    case("PCIE-TGT: named events", [f"{pmu}/{name}/" for name in [*names, "cycles"]],
         [(pmu, name, {"dst": ["pcie_peer"]}) for name in names] + [(pmu, "cycles", ALL)])
    masked_address("nvidia_pcie_tgt_pmu_0_rc_1")


def masked_address(pmu):
    """Parts of writes by a mask: the truth is coarser, so the expected count is computed here"""
    name = "PCIE-TGT: address mask 0xFFF00 compares bits 8..19"
    text = perf_stat(["-a", "-x,"],
                     [f"{pmu}/event=0x1,dst_addr_base=0x10000,dst_addr_mask=0xFFF00,"
                      "dst_addr_en=0x1/"],
                     workload(MIXED))
    # of 0xff00..0x100ff the second 256 bytes; of 0x110000..0x110fff, bit 20 ignored, the first 256;
    # of 0x40000000..0x40014fff those at 0x10000
    report(counts(text) == [3 * 256], name, text)


def latency_forms():
    case("C2C: one GPU", [f"{C2C}/in_rd_cum_outs,gpu_mask=0x1/", f"{C2C}/out_rd_req,gpu_mask=0x2/",
                          f"{C2C}/out_rd_req,gpu_mask=0x1/", f"{C2C}/out_rd_req,gpu_mask=0x3/"],
         [(C2C, "in_rd_cum_outs", {"gpu": [0]}), (C2C, "out_rd_req", {"gpu": [1]}),
          (C2C, "out_rd_req", {"gpu": [0]}), (C2C, "out_rd_req", ALL)])
    names = ["in_rd_cum_outs", "in_rd_req", "in_wr_cum_outs", "in_wr_req", "out_rd_cum_outs",
             "out_rd_req",
             "out_wr_cum_outs", "out_wr_req", "cycles"]
    # as a group, so that they start together and the cycles are those of the one counter
    case("C2C: named events", ["{" + ",".join(f"{C2C}/{name}/" for name in names) + "}"],
         [(C2C, name, ALL) for name in names])


def counts_of_intervals(text):
    """of -x, -I"""
    return [int(line.split(",")[1]) for line in text.splitlines()
            if line.count(",") > 4 and line.split(",")[1].isdigit()]


def output_forms():
    before = truth()
    text = perf_stat(["-a", "-x,", "-I", "100"], [f"{UCF0}/mem_bytes_rd/"],
                     ["sh", "-c", "for i in 1 2 3; do sleep 0.15; " + " ".join(workload(MIXED))
                      + "; done"])
    after = truth()
    expected = total(after, UCF0, "mem_bytes_rd") - total(before, UCF0, "mem_bytes_rd")
    intervals = counts_of_intervals(text)
    report(sum(intervals) == expected and len(intervals) > 3, "-I: the intervals add up",
           f"{intervals}, really {expected}\n{text}")

    before = truth()
    text = perf_stat(["-a", "-j"], [f"{UCF0}/mem_bytes_rd/", f"{CMEM}/rd_req/"], workload(MIXED))
    after = truth()
    got = [int(float(json.loads(line)["counter-value"])) for line in text.splitlines()
           if line.startswith("{")]
    expected = [total(after, pmu, event) - total(before, pmu, event)
                for pmu, event in ((UCF0, "mem_bytes_rd"), (CMEM, "rd_req"))]
    report(got == expected, "-j: JSON", f"{got}, really {expected}\n{text}")

    before = truth()
    text = perf_stat(["-a", "-x,"], ["nvidia_ucf_pmu/mem_bytes_rd/"], workload(MIXED))
    after = truth()
    expected = sum(total(after, pmu, "mem_bytes_rd") - total(before, pmu, "mem_bytes_rd")
                   for pmu in (UCF0, UCF1))
    report(sum(counts(text)) == expected, "a name without socket is both sockets",
           f"{counts(text)}, really {expected}\n{text}")

    case("without -a it is system-wide too", [f"{UCF0}/mem_bytes_rd/"],
         [(UCF0, "mem_bytes_rd", ALL)], options=())


def refused(name, pattern, *command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          text=True)
    report(re.search(pattern, done.stdout, re.MULTILINE) is not None, name, done.stdout)


def refusals():
    # the driver opens these two, and they never count: kernel/tegra410/README.md
    refused("perf stat: RP and BDF filters together", "<not counted>",
            "perf", "stat", "-a", "-e",
            "nvidia_pcie_pmu_0_rc_4/rd_req,src_rp_mask=1,src_bdf=0x108,src_bdf_en=1/", "true")
    refused("perf stat: a BDF without its enable bit", r"^\s*0\s+nvidia_pcie_pmu_0_rc_4/",
            "perf", "stat", "-a", "-e", "nvidia_pcie_pmu_0_rc_4/rd_req,src_bdf=0x108/",
            *workload(MIXED))
    refused("perf stat: a value outside of its format", "too big|out of range|value",
            "perf", "stat", "-a", "-e", f"{UCF0}/mem_bytes_rd,src_rem=2/", "true")
    refused("perf record: no sampling", "sampling",
            "perf", "record", "-o", "/tmp/perf.data", "-a", "-e", f"{UCF0}/mem_bytes_rd/", "true")


def listing():
    events = {"ucf": 20, "cmem_latency": 3, "nvlink_c2c": 9, "nvclink": 5, "nvdlink": 3}
    wanted = {f"nvidia_{kind}_pmu_{socket}": count for kind, count in events.items()
              for socket in (0, 1)}
    wanted.update((f"nvidia_pcie{kind}_pmu_{socket}_rc_{rc}", count) for kind,
                  count in (("", 6), ("_tgt", 5))
                  for socket in (0, 1) for rc in range(6))
    # without -v perf 6.12 shows PMUs that differ by their last number as one
    found = subprocess.run(["perf", "list", "-v"], stdout=subprocess.PIPE, check=True,
                           text=True).stdout
    listed = {}
    for pmu in re.findall(r"^\s*(nvidia_\w+)/\w+/\s", found, re.M):
        listed[pmu] = listed.get(pmu, 0) + 1
    report(listed == wanted, "perf list shows every event of all 34 PMUs",
           f"{listed}\nwanted {wanted}")

    texts = {f"{UCF0}/identifier": "2cf2036b", "nvidia_pcie_pmu_1_rc_5/identifier": "1030136b",
             "nvidia_pcie_tgt_pmu_1_rc_5/identifier": "1070036b", f"{CMEM}/identifier": "NVDA2021",
             f"{C2C}/identifier": "NVDA2023", f"{CLINK}/identifier": "NVDA2022",
             f"{DLINK}/identifier": "NVDA2020",
             f"{C2C}/peer": "nr_gpu=2", f"{CLINK}/peer": "nr_cpu=1", f"{DLINK}/peer": "nr_cxlmem=1",
             f"{UCF0}/format/event": "config:0-32", f"{UCF0}/format/src_loc_noncpu": "config1:0",
             f"{UCF0}/format/src_loc_cpu": "config1:1", f"{UCF0}/format/src_rem": "config1:2",
             f"{UCF0}/format/dst_loc_cmem": "config1:8", f"{UCF0}/format/dst_rem": "config1:11",
             "nvidia_pcie_pmu_0_rc_0/format/src_bdf": "config1:8-23",
             "nvidia_pcie_pmu_0_rc_0/format/dst_rem": "config2:4",
             "nvidia_pcie_tgt_pmu_0_rc_0/format/dst_rp_mask": "config:3-10",
             "nvidia_pcie_tgt_pmu_0_rc_0/format/dst_addr_en": "config:11",
             "nvidia_pcie_tgt_pmu_0_rc_0/format/dst_addr_mask": "config2:0-63",
             f"{CMEM}/format/event": "config:0-1", f"{C2C}/format/gpu_mask": "config1:0-1",
             f"{UCF0}/events/cycles": "event=0x100000000",
             f"{UCF0}/events/mem_bytes_rd": "event=0x123",
             "nvidia_pcie_tgt_pmu_0_rc_0/events/cycles": "event=0x4"}
    wrong = []
    for path, text in texts.items():
        with open(os.path.join(SYSFS, path), encoding="ascii") as file:
            content = file.read().strip()
        if content != text:
            wrong.append(f"{path}: {content}, not {text}")
    report(not wrong, "sysfs: identifiers, peers, formats", "\n".join(wrong))


def healthy():
    bad = [f"{pmu}: {state}" for pmu, (state, rows) in truth().items()
           if state["bad_accesses"] or state["truth_dropped"]]
    report(not bad, "the drivers only used registers that exist", "\n".join(bad))


def forms():
    listing()
    ucf_forms()
    pcie_forms()
    pcie_tgt_forms()
    latency_forms()
    output_forms()
    refusals()


def wide():
    """Counters narrower than the counts: --param vsoc.soc_width=32"""
    pmu = "nvidia_pcie_pmu_0_rc_4"
    before = truth()
    case("counts beyond 32 bits on UCF",
         [f"{UCF0}/mem_bytes_rd/", f"{UCF0}/mem_bytes_wr,src_loc_cpu=1/", f"{UCF0}/cycles/"],
         [(UCF0, "mem_bytes_rd", ALL), (UCF0, "mem_bytes_wr", {"src": ["loc_cpu"]}),
          (UCF0, "cycles", ALL)], jobs=HUGE)
    case("counts beyond 32 bits on PCIE",
         [f"{pmu}/rd_bytes/", f"{pmu}/rd_cum_outs/", f"{pmu}/rd_req/"],
         [(pmu, "rd_bytes", ALL), (pmu, "rd_cum_outs", ALL), (pmu, "rd_req", ALL)], jobs=HUGE)
    after = truth()
    interrupts = [after[name][0]["interrupts"] - before[name][0]["interrupts"]
                  for name in (UCF0, pmu)]
    report(all(interrupts), "overflow interrupts did it", str(interrupts))
    cycles = perf_stat(["-a", "-x,"], [f"{UCF0}/cycles/"], ["sleep", "4"])
    report(counts(cycles)[0] > 2 << 32, "the cycle counter wraps and goes on", cycles)
    ucf_forms()


def wide_accesses():
    return {pmu: state["wide_accesses"] for pmu, (state, _) in truth().items()
            if re.match("nvidia_(ucf|pcie)", pmu)}


def atomic():
    """Registers of 64 bits read at once: --param vsoc.soc_atomic=1. Identified by PMPIDR:
    --param vsoc.soc_pmpidr=1"""
    forms()
    wide = wide_accesses()
    few = [pmu for pmu in (UCF0, UCF1, "nvidia_pcie_pmu_0_rc_4", "nvidia_pcie_tgt_pmu_0_rc_0")
           if not wide[pmu]]
    report(not few, "the counters were read at once", f"{few}: {wide}")
    with open(f"{SYSFS}/{CMEM}/cpumask", encoding="ascii") as f:
        cpu = f.read().strip()
    # the low word wraps every 1.7 s, and each access takes 20 ms
    slow = glob.glob("/sys/kernel/debug/dri/*/vsoc/fail_pmu_slow")[0]
    for count in (1000, 0):
        with open(slow, "w", encoding="ascii") as f:
            f.write(str(count))
        if count:
            text = perf_stat(["-C", cpu, "-x,", "-I", "100"], [f"{CMEM}/cycles/"], ["sleep", "15"])
    got = counts_of_intervals(text)
    report(len(got) > 20 and max(got) < 1 << 32, "no interval has the cycles of a high word",
           f"{got}\n{text}")


def cpu_peer():
    """--param vsoc.soc_gpu_mask=0"""
    names = ["in_rd_cum_outs", "in_rd_req", "out_rd_cum_outs", "out_rd_req", "cycles"]
    case("C2C to another SoC: reads of both directions",
         ["{" + ",".join(f"{C2C}/{name}/" for name in names) + "}"],
         [(C2C, name, ALL) for name in names])
    listed = sorted(os.listdir(f"{SYSFS}/{C2C}/events"))
    report(listed == sorted(names), "C2C to another SoC: five events", str(listed))
    with open(f"{SYSFS}/{C2C}/peer", encoding="ascii") as peer:
        report(peer.read() == "nr_cpu=1\n", "C2C to another SoC: peer")
    # the driver hides the event, but takes its number
    refused("writes are not counted to another SoC", rf"^\s*0\s+{C2C}/",
            "perf", "stat", "-a", "-e", f"{C2C}/event=4/", *workload(MIXED))


def root_port(config):
    """(bus, segment, root port, root complex, socket) from a configuration space"""
    at, word = 0x100, lambda offset: int.from_bytes(config[offset:offset + 4], "little")
    while at:
        if word(at) & 0xffff == 0x23 and word(at + 4) & 0xffff == 0x10de and config[at + 8] == 4:
            return tuple(config[at + 0xc:at + 0x11])
        at = word(at) >> 20
    return None


def pci():
    """--param vsoc.soc_pci=1: root ports name their root complex, as the document maps them"""
    def found():
        ports = {}
        for path in glob.glob("/sys/bus/pci/devices/*/config"):
            with open(path, "rb") as f:
                config = f.read()
            if config[:2] == b"\xde\x10" and len(config) > 0x100:
                ports[path.split("/")[-2]] = root_port(config)
        return ports

    ports = found()
    report(len(ports) == 2 * 6 * 8 and len(set(ports.values())) == len(ports),
           "each root port has a place of its own", str(ports))
    wrong = [(name, place) for name, place in ports.items()
             if name != f"{place[1]:04x}:{place[0]:02x}:{place[2]:02x}.0" or
             not os.path.exists(f"{SYSFS}/nvidia_pcie_pmu_{place[4]}_rc_{place[3]}")]
    report(not wrong, "the place leads to the device and to a PMU", str(wrong))
    info = json.loads(subprocess.run(["perfctr", "info", "-j"], stdout=subprocess.PIPE,
                                     check=True).stdout)["pcie_root_ports"]
    seen = {p["address"]: (p["bus"], p["segment"], p["root_port"], p["root_complex"], p["socket"])
            for p in info}
    report(seen == ports, "perfctr info maps them too", str(seen))
    for name, left in (("unbind", 0), ("bind", len(ports))):
        with open(f"/sys/bus/platform/drivers/vsoc/{name}", "w", encoding="ascii") as f:
            f.write("vsoc.0")
        report(len(found()) == left, f"after {name}: {left} root ports", str(found()))


def main():
    modes = {"forms": forms, "wide": wide, "atomic": atomic, "pci": pci, "cpu-peer": cpu_peer}
    modes[sys.argv[1] if len(sys.argv) > 1 else "forms"]()
    healthy()
    print(f"1..{sum(RESULTS.values())}")
    print(f"{RESULTS['ok']} passed, {RESULTS['not ok']} failed, 0 skipped")
    return RESULTS["not ok"] != 0


if __name__ == "__main__":
    sys.exit(main())
