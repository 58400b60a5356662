#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""SoC events in the ring, beside GPU blocks and beside perf, and in captures: sums, metrics,
agreement.

usage, in the guest: ring.py [listing|consistency|metrics|beside|captures|hotplug|traces]...; prints
TAP

perfctr stat counts with one session. The model's truth has the expected counts. The expected
metrics are computed here, not by the formulas of the database.
"""

import glob
import json
import os
import random
import re
import subprocess
import sys
import tempfile

from perf_stat import MIXED, RESULTS, counts, report, total, truth, workload

LINE_BYTES = 64
CMEM_REQUEST_BYTES = 32
NO_VALUE = "division by zero"
SEEDS = range(1, 11)
SOCKETS = (0, 1)
ROOT_COMPLEXES = range(6)
# everything but peer to peer, which does not enter the coherent fabric
INTO_FABRIC = "dst_loc_cmem=1,dst_loc_gmem=1,dst_loc_pcie_cxl=1,dst_rem=1"


def gpu_truth(counter):
    """sum of a MEMSYS counter over its blocks"""
    with open(glob.glob("/sys/kernel/debug/dri/*/vsoc/truth")[0], encoding="ascii") as f:
        return sum(int(line.split()[4]) for line in f if line.split()[3] == counter)


def stat(events, command, *options):
    done = subprocess.run(["perfctr", "stat", "--json", *options, "-e", ",".join(events), "--",
                           *command],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False, text=True,
                          timeout=120)
    if done.returncode:
        raise RuntimeError(f"perfctr stat: exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def values(counters):
    """{event: value}; a count that is not exact and complete is an error"""
    for c in counters:
        if c["state"] != "ok" or c["running_percent"] != 100 or c["samples_missed"]:
            raise RuntimeError(f"{c['event']} is {c['state']}, ran {c['running_percent']} %, "
                               f"missed {c['samples_missed']} samples")
    return {c["event"]: c["value"] for c in counters}


# --- one session, four places that count the same bytes ---------------------------------------

def random_jobs(seed):
    """Jobs of the GPU, of PCIe devices and of CPUs; there is no other traffic."""
    r = random.Random(seed)
    jobs = []
    for n in range(r.randint(15, 35)):
        socket, lines = r.choice(SOCKETS), r.randint(1, 3000)
        # the first ones make every place count something
        jobs.append((r.choice if n >= 6 else lambda kinds: kinds[min(n, 4)])([
            f"draw vertices={r.randint(3, 9000)} primitives={r.randint(1, 3000)} "
            f"fragments={r.randint(1, 60000)} texels={r.randint(0, 90000)}",
            f"compute threads={r.randint(1, 5000)} instructions={r.randint(1, 400)}",
            f"copy bytes={LINE_BYTES * lines} {r.choice(['read', 'write', 'read write'])} "
            f"initiator=gpu home={r.choice(['cmem', 'cmem', 'cxl', 'remote'])} "
            f"socket={socket} window={r.randint(1, 128)}",
            f"copy bytes={LINE_BYTES * lines} address={LINE_BYTES * r.randint(0, lines)} "
            f"{r.choice(['read', 'write'])} initiator=cpu "
            f"home={r.choice(['cmem', 'gmem', 'remote'])} "
            f"socket={socket} window={r.randint(1, 128)}",
            f"pcie bytes={LINE_BYTES * lines} "
            f"{r.choice(['read', 'write']) if n >= 6 else ['read', 'write'][n % 2]} "
            f"socket={socket} "
            f"rc={r.choice(ROOT_COMPLEXES)} rp={r.randint(0, 7)} bdf={r.randint(1, 0xffff)} "
            f"home={r.choice(['cmem', 'gmem', 'cxl', 'remote', 'peer']) if n >= 6 else 'cmem'} "
            f"window={r.randint(1, 128)}",
        ]))
    file = tempfile.NamedTemporaryFile("w", suffix=".jobs", delete=False)
    file.write("\n".join(jobs) + "\n")
    file.close()
    return ["vsoc-job", "-q", "-f", file.name]


CONSISTENCY = {
    "gpu_rd": "memsys/EXT_READ", "gpu_wr": "memsys/EXT_WRITE",
    "link_rd": "nvlink_c2c/in_rd_req/", "link_wr": "nvlink_c2c/in_wr_req/",
    "fabric_rd": "ucf/slc_bytes_rd,src_loc_noncpu=1/",
    "fabric_wr": "ucf/slc_bytes_wr,src_loc_noncpu=1/",
    "to_cmem": "ucf/mem_bytes_rd,dst_loc_cmem=1/", "cmem": "cmem_latency/rd_req/",
    "pcie_rd": f"pcie/rd_bytes,{INTO_FABRIC}/", "pcie_wr": f"pcie/wr_bytes,{INTO_FABRIC}/",
}


def really():
    """the same from the truth"""
    soc = truth()
    ucf, pcie = [f"nvidia_ucf_pmu_{s}" for s in SOCKETS], [f"nvidia_pcie_pmu_{s}_rc_{rc}"
                                                           for s in SOCKETS
                                                           for rc in ROOT_COMPLEXES]
    into = {"dst": ["cmem", "gmem", "cxl", "rem"]}

    def add(pmus, event, **tags):
        return sum(total(soc, pmu, event, **tags) for pmu in pmus)

    return {
        "gpu_rd": gpu_truth("EXT_READ"), "gpu_wr": gpu_truth("EXT_WRITE"),
        "link_rd": add([f"nvidia_nvlink_c2c_pmu_{s}" for s in SOCKETS], "in_rd_req"),
        "link_wr": add([f"nvidia_nvlink_c2c_pmu_{s}" for s in SOCKETS], "in_wr_req"),
        "fabric_rd": add(ucf, "slc_bytes_rd", src=["loc_noncpu"]),
        "fabric_wr": add(ucf, "slc_bytes_wr", src=["loc_noncpu"]),
        "to_cmem": add(ucf, "mem_bytes_rd", dst=["cmem"]),
        "cmem": add([f"nvidia_cmem_latency_pmu_{s}" for s in SOCKETS], "rd_req"),
        "pcie_rd": add(pcie, "rd_bytes", **into), "pcie_wr": add(pcie, "wr_bytes", **into),
    }


def consistency():
    for seed in SEEDS:
        for _ in range(5):
            before = really()
            result = stat(CONSISTENCY.values(), random_jobs(seed), "-p", "1ms", "-I", "5")
            after = really()
            # on a busy host some PMU may be read too late for a sample of 1 ms
            if not any(c["samples_missed"] for c in result["counters"]):
                break
        got = values(result["counters"])
        n = {key: got[event] for key, event in CONSISTENCY.items()}
        wrong = [f"{key}: counted {n[key]}, really {after[key] - before[key]}"
                 for key in n if n[key] != after[key] - before[key]]
        for way in ("rd", "wr"):
            if n["gpu_" + way] != n["link_" + way]:
                wrong.append(f"{way}: lines out of the L2 {n['gpu_' + way]}, "
                             f"over the link {n['link_' + way]}")
            bytes_in = LINE_BYTES * n["gpu_" + way] + n["pcie_" + way]
            if bytes_in != n["fabric_" + way]:
                wrong.append(f"{way}: GPU and PCIe moved {bytes_in}, "
                             f"the fabric saw {n['fabric_' + way]}")
        if CMEM_REQUEST_BYTES * n["cmem"] != n["to_cmem"]:
            wrong.append(f"the fabric read {n['to_cmem']}, "
                         f"memory saw {CMEM_REQUEST_BYTES * n['cmem']}")
        # the intervals add up to the total
        for at, counter in enumerate(result["counters"]):
            parts = sum(interval["counters"][at]["value"] for interval in result["intervals"])
            if parts != counter["value"]:
                wrong.append(f"{counter['event']}: {parts} in {len(result['intervals'])} intervals")
        if result["samples"] < 2 or not all(n.values()):
            wrong.append(f"hardly a test: {result['samples']} samples, {n}")
        report(not wrong,
               f"seed {seed}: L2, link, fabric, PCIe and memory agree "
               f"in {result['samples']} samples",
               "\n".join(wrong))


def latency_cycles(way):
    return lambda n, ns: n[f"{way}cum_outs"] / n[f"{way}req"]


def latency_ns(way):
    # cycles of latency over the frequency in GHz, which is cycles over nanoseconds
    return lambda n, ns: n[f"{way}cum_outs"] / n[f"{way}req"] / (n["cycles"] / ns)


def in_flight(way):
    return lambda n, ns: n[f"{way}cum_outs"] / n["cycles"]


def rate(event):
    return lambda n, ns: n[event] / n["cycles"]


def bandwidth(event):
    return lambda n, ns: n[event] * 1e9 / ns


def latencies(prefix, *ways):
    """the four metrics of each direction of a link"""
    found = {}
    for way in ways:
        found.update({f"{prefix}{way}latency_cycles": latency_cycles(way),
                      f"{prefix}{way}latency": latency_ns(way),
                      f"{prefix}{way}in_flight": in_flight(way),
                      f"{prefix}{way}request_rate": rate(f"{way}req")})
    return found


# block: (PMU of block 0, whose truth is compared, {metric: formula})
METRICS = {
    "ucf0": ("nvidia_ucf_pmu_0", {
        "slc_read_bandwidth": bandwidth("slc_bytes_rd"),
        "slc_write_bandwidth": bandwidth("slc_bytes_wr"),
        "mem_read_bandwidth": bandwidth("mem_bytes_rd"),
        "mem_write_bandwidth": bandwidth("mem_bytes_wr"),
        "slc_read_rate": rate("slc_access_rd"), "slc_write_rate": rate("slc_access_wr"),
        "mem_read_rate": rate("mem_access_rd"), "mem_write_rate": rate("mem_access_wr"),
        "slc_read_hit_ratio": lambda n, ns: 100 * n["slc_hit_rd"] / n["slc_access_rd"],
        "frequency": bandwidth("cycles")}),
    "pcie0_rc4": ("nvidia_pcie_pmu_0_rc_4", {
        "read_bandwidth": bandwidth("rd_bytes"), "write_bandwidth": bandwidth("wr_bytes"),
        "write_request_rate": rate("wr_req"),
        "read_latency_cycles": latency_cycles("rd_"), "read_latency": latency_ns("rd_"),
        "read_in_flight": in_flight("rd_"), "read_request_rate": rate("rd_req")}),
    "pcie_tgt0_rc0": ("nvidia_pcie_tgt_pmu_0_rc_0", {
        "tgt_read_bandwidth": bandwidth("rd_bytes"), "tgt_write_bandwidth": bandwidth("wr_bytes"),
        "tgt_read_request_rate": rate("rd_req"), "tgt_write_request_rate": rate("wr_req")}),
    "cmem_latency0": ("nvidia_cmem_latency_pmu_0", {
        "cmem_read_bandwidth": lambda n, ns: CMEM_REQUEST_BYTES * n["rd_req"] * 1e9 / ns,
        "cmem_read_latency_cycles": latency_cycles("rd_"), "cmem_read_latency": latency_ns("rd_"),
        "cmem_read_in_flight": in_flight("rd_"), "cmem_read_request_rate": rate("rd_req")}),
    "nvlink_c2c0": ("nvidia_nvlink_c2c_pmu_0",
                    latencies("c2c_", "in_rd_", "in_wr_", "out_rd_", "out_wr_")),
    "nvclink0": ("nvidia_nvclink_pmu_0", latencies("clink_", "in_rd_", "out_rd_")),
    "nvdlink0": ("nvidia_nvdlink_pmu_0", latencies("dlink_", "in_rd_")),
}
# as many as a PMU can count at the same time
METRICS_AT_ONCE = 4


def close(a, b):
    return a is not None and abs(a - b) <= 1e-12 * abs(b)


def metric_values(result, block):
    return {m["name"]: m for m in result["metrics"] if m["block"] == block}


def try_metrics(block, names, jobs):
    """(counts of the block, values of the metrics, time in which the block counted)"""
    kind = block.rstrip("0123456789")
    kind = kind[:-len("0_rc")] if kind.endswith("_rc") else kind
    result = stat([f"metric:{kind}.{name}" for name in names], jobs, "-A")
    counters = {c["counter"]: c for c in result["counters"] if c["block"] == block}
    # PMUs are read one after the other
    elapsed_ns = [c["elapsed_ns"] for c in counters.values()]
    return counters, metric_values(result, block), elapsed_ns[0]


def check_metrics(block, pmu, formulas):
    names = list(formulas)
    wrong = []
    for at in range(0, len(names), METRICS_AT_ONCE):
        some = names[at:at + METRICS_AT_ONCE]
        before = truth()
        counters, metrics, elapsed_ns = try_metrics(block, some, workload(MIXED))
        after = truth()
        n = values(counters.values()) and {name: c["value"] for name, c in counters.items()}
        # BARs and CXL memory are both behind the target side; without a filter only BARs count
        tags = {"dst": ["pcie_peer"]} if "tgt" in pmu else {}
        for name, value in n.items():
            is_really = total(after, pmu, name, **tags) - total(before, pmu, name, **tags)
            if value != is_really and name != "cycles":
                wrong.append(f"{name}: counted {value}, really {is_really}")
        for name in some:
            try:
                by_hand = formulas[name](n, elapsed_ns)
            except ZeroDivisionError:
                by_hand = None
            value = metrics[name]["value"]
            if not (value is None and metrics[name]["state"] == NO_VALUE if by_hand is None else
                    close(value, by_hand)):
                wrong.append(f"{name}: {value} ({metrics[name]['state']}), "
                             f"by hand {by_hand} of {n}")
    return wrong


def metrics():
    listed = json.loads(subprocess.run(["perfctr", "list", "--json"], stdout=subprocess.PIPE,
                                       check=True,
                                       text=True).stdout)["metrics"]
    known = {name for _, formulas in METRICS.values() for name in formulas}
    have = {m["name"] for m in listed if m["id"].startswith("tegra410.")}
    report(have == known, "every metric of the SoC blocks is in this test",
           f"differ: {have ^ known}")
    for block, (pmu, formulas) in METRICS.items():
        wrong = check_metrics(block, pmu, formulas)
        report(not wrong,
               f"{block}: {len(formulas)} metrics are what the formulas give, the counts exact",
               "\n".join(wrong))

    # no traffic: bandwidths are zero, quotients have no value
    for block, (_, formulas) in METRICS.items():
        names = [name for name in formulas
                 if name.endswith(("latency", "latency_cycles", "hit_ratio"))]
        if not names:
            continue
        _, found, _ = try_metrics(block, names[:METRICS_AT_ONCE], ["true"])
        wrong = [f"{name}: {m['value']} ({m['state']})" for name, m in found.items()
                 if m["value"] is not None or m["state"] != NO_VALUE]
        report(not wrong and found, f"{block}: no requests, no latency", "\n".join(wrong))

    multiplexed()


def multiplexed():
    """Nine events of a UCF with eight counters: estimates, marked as such, near the truth."""
    names = [n for n in METRICS["ucf0"][1] if n != "frequency"]
    jobs = ["vsoc-job", "-q", "-r", "300",
            *("copy bytes=1Mi read write initiator=cpu home=cmem socket=0 "
              "copy bytes=1Mi dataless initiator=cpu home=cmem socket=0").split()]
    before = truth()
    counters, metrics_of, elapsed_ns = try_metrics("ucf0", names, jobs)
    after = truth()
    wrong = []
    part = [c for c in counters.values() if c["running_percent"] < 100]
    if not part or any("multiplexed" not in c["block_states"] for c in part):
        wrong.append("not multiplexed: "
                     f"{[(c['counter'], c['running_percent']) for c in counters.values()]}")
    pmu = METRICS["ucf0"][0]
    n = {name: total(after, pmu, name) - total(before, pmu, name) for name in counters
         if name != "cycles"}
    for name in ("mem_read_bandwidth", "slc_write_bandwidth"):
        m = metrics_of[name]
        by_hand = METRICS["ucf0"][1][name](n, elapsed_ns)
        # steady traffic; the estimate depends on its share in a counter's slots
        if not m["value"] or not 0.5 < m["value"] / by_hand < 2:
            wrong.append(f"{name}: {m['value']}, really {by_hand}")
    for name, event in (("mem_read_bandwidth", "mem_bytes_rd"),
                        ("slc_write_bandwidth", "slc_bytes_wr")):
        if metrics_of[name]["estimated"] != (counters[event]["running_percent"] < 100):
            wrong.append(f"{name}: {metrics_of[name]}, but {counters[event]}")
    report(not wrong, "more events than counters: marked as estimates", "\n".join(wrong))


SOCKET_1 = [("nvidia_ucf_pmu_1", "mem_bytes_rd", "", {}),
            ("nvidia_cmem_latency_pmu_1", "rd_req", "", {}),
            ("nvidia_nvclink_pmu_1", "in_rd_req", "", {})]
BESIDE = [("nvidia_ucf_pmu_0", "mem_bytes_rd", "", {}),
          ("nvidia_ucf_pmu_0", "slc_bytes_wr", ",src_loc_cpu=1",
                                                         {"src": ["loc_cpu"]}),
          ("nvidia_cmem_latency_pmu_0", "rd_req", "", {}),
          ("nvidia_pcie_pmu_0_rc_4", "rd_bytes", ",src_bdf=0x0108,src_bdf_en=1", {"bdf": [0x0108]}),
          ("nvidia_nvlink_c2c_pmu_0", "out_rd_req", ",gpu_mask=0x2", {"gpu": [1]}),
          ("nvidia_nvclink_pmu_0", "in_rd_req", "", {}),
          ("nvidia_nvdlink_pmu_0", "in_rd_cum_outs", "", {}),
          ("nvidia_pcie_tgt_pmu_0_rc_0", "rd_bytes", "", {"dst": ["pcie_peer"]})]


def both(command, name, events_of=None):
    """perf stat around perfctr stat around the workload: both count the truth"""
    wanted = events_of or BESIDE
    events = [f"{pmu}/{event}{filters}/" for pmu, event, filters, _ in wanted]
    before = truth()
    with tempfile.NamedTemporaryFile("r") as out:
        arguments = [word for event in events for word in ("-e", event)]
        done = subprocess.run(["perf", "stat", "-a", "-x,", "-o", out.name, *arguments, "--",
                               "perfctr", "stat",
                               "--json", "-p", "2ms", "-e", ",".join(events), "--", *command],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              text=True)
        perf = counts(out.read())
    after = truth()
    expected = [total(after, pmu, event, **tags) - total(before, pmu, event, **tags)
                for pmu, event, _, tags in wanted]
    try:
        ring = list(values(json.loads(done.stdout)["counters"]).values())
    except (ValueError, RuntimeError) as error:
        report(False, name, f"{error}\n{done.stderr}")
        return
    # perfctr shows its rows block by block
    report(sorted(ring) == sorted(expected) and perf == expected and all(expected), name,
           f"perf {perf}\nring {ring}\nreally {expected}")


def hotplug():
    """the CPU that owns socket 1's PMUs goes offline and comes back while both count; the drivers
    count nothing while they move events, so no work is done then"""
    work = " ".join(workload(MIXED))
    with open("/sys/bus/event_source/devices/nvidia_ucf_pmu_1/cpumask", encoding="ascii") as f:
        cpu = f"/sys/devices/system/cpu/cpu{int(f.read())}/online"
    both(["sh", "-c", f"{work}; echo 0 >{cpu}; {work}; echo 1 >{cpu}; {work}"],
         "the owning CPU goes offline and comes back: perf and the ring lose nothing", SOCKET_1)


def beside():
    both(workload(MIXED), "eight events of seven PMUs, in perf and in the ring at the same time")
    both(["sh", "-c", "for i in 1 2 3 4; do sleep 0.05; " + " ".join(workload(MIXED)) + "; done"],
         "and when the work comes in parts")


def captures():
    """a file of the same events: what report and export say of it is the truth"""
    events = [f"{pmu}/{event}{filters}/" for pmu, event, filters, _ in BESIDE]
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "soc.cap")

        def read(*command):
            return subprocess.run(["perfctr", *command, file], stdout=subprocess.PIPE, check=True,
                                  text=True).stdout

        for _ in range(5):
            before = truth()
            subprocess.run(["perfctr", "record", "-q", "-p", "2ms", "-e", ",".join(events), "-o",
                            file, "--", *workload(MIXED)], check=True)
            after = truth()
            shown = json.loads(read("report", "-j"))
            # as in consistency()
            if not any(c["samples_missed"] for c in shown["counters"]):
                break
        expected = sorted(total(after, pmu, event, **tags) - total(before, pmu, event, **tags)
                          for pmu, event, _, tags in BESIDE)
        samples = [json.loads(line) for line in read("export", "-f", "json").splitlines()][1:-1]
    report(sorted(values(shown["counters"]).values()) == expected and all(expected),
           "report of a capture: eight events of seven PMUs", f"{shown}\nreally {expected}")
    sums = {}
    for sample in samples:
        for name, value in sample["counters"].items():
            sums[name] = sums.get(name, 0) + (value or 0)
    report(sorted(sums.values()) == expected and len(samples) > 1,
           f"export of it: the sums of {len(samples)} samples", f"{sums}\nreally {expected}")


def listing():
    """perfctr list has the events of sysfs, and no others"""
    devices = "/sys/bus/event_source/devices"
    wanted = {(pmu, event) for pmu in os.listdir(devices) if pmu.startswith("nvidia_")
              for event in os.listdir(f"{devices}/{pmu}/events")}
    listed = set()
    for event in json.loads(subprocess.run(["perfctr", "list", "--json"], stdout=subprocess.PIPE,
                                           check=True, text=True).stdout)["events"]:
        if event["product"] != "tegra410":
            continue
        for block in event["blocks"]:
            kind, socket, rc = re.fullmatch(r"(\w+?)(\d)(?:_rc(\d))?", block).groups()
            listed.add((f"nvidia_{kind}_pmu_{socket}" + (f"_rc_{rc}" if rc else ""),
                        event["name"]))
    report(listed == wanted and len({pmu for pmu, _ in wanted}) == 34,
           f"perfctr list: the {len(wanted)} events of all 34 PMUs", f"differ: {listed ^ wanted}")


def traced(names, *options):
    """Samples of a session, and the core's tracepoints during it, counted by perf."""
    arguments = [word for name in names for word in ("-e", f"drm_perfctr:drm_perfctr_{name}")]
    with tempfile.NamedTemporaryFile("r") as out:
        done = subprocess.run(["perf", "stat", "-a", "-x,", "-o", out.name, *arguments, "--",
                               "perfctr", "stat", "--json", "-e", "memsys/EXT_READ", *options],
                              stdout=subprocess.PIPE, check=True, text=True)
        return json.loads(done.stdout)["samples"], *counts(out.read())


def traces():
    names = ["publish", "collect", "stretch", "error"]
    samples, *got = traced(names, "-p", "5ms", "--", "sleep", "0.5")
    report(got[0] == samples > 2 and got[1] >= samples and not got[3],
           "perf counts a publish for each sample, and the collections",
           f"{samples} samples; {dict(zip(names, got))}")
    # the reader stops: samples without a slot stretch; unanswered requests of firmware are errors
    script = ("kill -STOP $PPID; sleep 1; set -- /sys/kernel/debug/dri/*/vsoc/fail_no_ack; "
              "echo 1000 >$1; sleep 1; echo 0 >$1; kill -CONT $PPID")
    samples, *got = traced(names, "-p", "100us", "--", "sh", "-c", script)
    report(got[0] == samples and got[2] > 0 and got[3] > 0,
           "perf counts stretched samples and errors of the hardware",
           f"{samples} samples; {dict(zip(names, got))}")


def main():
    for name in sys.argv[1:] or ["listing", "consistency", "metrics", "beside", "captures",
                                 "traces"]:
        {"listing": listing, "consistency": consistency, "metrics": metrics, "beside": beside,
         "captures": captures, "hotplug": hotplug, "traces": traces}[name]()
    print(f"{RESULTS['ok']} passed, {RESULTS['not ok']} failed, 0 skipped")
    return 1 if RESULTS["not ok"] else 0


if __name__ == "__main__":
    sys.exit(main())
