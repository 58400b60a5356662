#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: test-tool.py PERFCTR
The commands on the two GPUs of tool.c at once. Prints TAP."""
import csv
import io
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
# found through the path above
from tool import JOB, run  # noqa: E402
from harness import check, main, test  # noqa: E402

INTEL, MALI, LOCAL = ("-d", "i915"), ("-d", "mali0"), ("-d", "local")
BOTH = INTEL + MALI
EVENTS = "oa/VS_THREADS,tiler/TRIANGLES,shader/FRAG_ACTIVE"
# what a unit of work counts
UNITS = {"renderD128:oa/VS_THREADS": 2, "mali0:tiler/TRIANGLES": 1, "mali0:shader/FRAG_ACTIVE": 3}


class Jobs:
    """A program that has the GPUs work, so that counts are known. .command(units, ...)"""

    def __init__(self):
        self.work = tempfile.TemporaryDirectory()
        self.pipes = {name: os.path.join(self.work.name, name) for name in ("GPU_JOBS", "GPU_DONE")}
        for path in self.pipes.values():
            os.mkfifo(path)
        self.job = self.path("job")
        with open(self.job, "w", encoding="ascii") as f:
            f.write(JOB)
        os.chmod(self.job, 0o755)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.work.cleanup()

    def path(self, name):
        return os.path.join(self.work.name, name)

    def command(self, *units):
        script = " && sleep 0.1 && ".join(f"{self.job} {n}" for n in units)
        return "--", "sh", "-c", script + " && sleep 0.1"

    def run(self, *arguments, **more):
        return run(*arguments, **self.pipes, **more)


def rows_of(text):
    """{event: row} of all devices in the JSON of stat, which messages may follow."""
    found = json.JSONDecoder().raw_decode(text)[0]
    rows = {}
    for device in found.get("devices", [found]):
        rows.update({row["event"]: row for row in device["counters"]})
    return rows


def values_of(text):
    return {event: row["value"] for event, row in rows_of(text).items()}


@test
def sums():
    """stat of two devices has the sums of single runs, each event where it exists"""
    with Jobs() as jobs:
        both = values_of(jobs.run("stat", *BOTH, "-j", "-e", EVENTS, *jobs.command(1000, 234)))
        check(both == {event: 1234 * times for event, times in UNITS.items()}, f"{both}")
        for device, node, event in ((INTEL, "renderD128", "oa/VS_THREADS"),
                                    (MALI, "mali0", "tiler/TRIANGLES")):
            single = values_of(jobs.run("stat", *device, "-j", "-e", event,
                                        *jobs.command(1000, 234)))
            # alone it has no device in its name
            check(single == {event: both[f"{node}:{event}"]}, f"{single} {both}")


@test
def table():
    """the table has one line for each event, and what is to be known of each device"""
    with Jobs() as jobs:
        text = jobs.run("stat", *BOTH, "-e", EVENTS, *jobs.command(7000))
        check("14,000  threads" in text and "7,000  primitives" in text, text)
        for node in "renderD128", "mali0":
            check(f"\n {node}:\n" in text, text)
        check(text.count("seconds counted") == 2, text)
        check("Intel Tiger Lake (/dev/dri/renderD128), Mali-G610 (/dev/mali0)" in text, text)


@test
def repeated():
    """-r, -I, -x and --jsonl name the device of each event"""
    with Jobs() as jobs:
        text = jobs.run("stat", *BOTH, "-r", "2", "-x", ",", "-e", EVENTS, *jobs.command(500))
        rows = {row[2]: row for row in csv.reader(io.StringIO(text)) if len(row) > 9}
        check({event: int(row[0]) for event, row in rows.items()} ==
              {event: 500 * times for event, times in UNITS.items()}, text)
        lines = jobs.run("stat", *BOTH, "-I", "50", "--jsonl", "-e", EVENTS,
                         *jobs.command(300, 40)).splitlines()
        records = [json.loads(line) for line in lines if line.startswith("{")]
        sums_of = {}
        intervals = [r for r in records if r["record"] == "interval"]
        for interval in intervals:
            for row in interval["counters"]:
                check(row["event"].startswith(interval["node"] + ":"), f"{interval}")
                sums_of[row["event"]] = sums_of.get(row["event"], 0) + (row["value"] or 0)
        check(sums_of == {event: 340 * times for event, times in UNITS.items()}, f"{sums_of}")
        nodes = {i["node"] for i in intervals}
        check(nodes == {"renderD128", "mali0"} and len(intervals) > 4, f"{len(intervals)} {nodes}")


@test
def captures():
    """one capture has the samples of both; report, export and diff agree with stat"""
    with Jobs() as jobs:
        path, again = jobs.path("capture"), jobs.path("again")
        done = json.loads(jobs.run("record", *BOTH, "-q", "-j", "-p", "10ms", "-o", path, "-e",
                                   EVENTS, *jobs.command(1000, 11)))
        check([d["node"] for d in done["devices"]] == ["renderD128", "mali0"], f"{done}")
        published = sum(d["kernel"]["samples"] for d in done["devices"])
        check(done["samples"] == published and not done["samples_not_in_file"], f"{done}")
        expected = {event: 1011 * times for event, times in UNITS.items()}
        found = {}
        for report in json.loads(run("report", "-j", path)):
            check(report["capture"]["finished"], f"{report['capture']}")
            found.update({row["event"]: row["value"] for row in report["counters"]})
        check({event: found[event] for event in UNITS} == expected, f"{found}")
        # of single blocks, by time
        rows = list(csv.DictReader(io.StringIO(run("export", "-f", "csv", path))))
        ends = [int(row["end_ns"]) for row in rows]
        check(ends == sorted(ends), "samples are not in the order of their ends")
        devices = [row["device"] for row in rows]
        check(len(set(devices)) == 2 and devices != sorted(devices), "one device after the other")
        total = sum(int(row["value"]) for row in rows if "VS_THREADS" in row["event"])
        check(total == 2022, f"{total}")
        lines = [json.loads(line) for line in run("export", "-j", path).splitlines()]
        check([line["node"] for line in lines if line["record"] == "end"] ==
              ["renderD128", "mali0"], "ends")
        # a name with its device, and without
        for pattern in "mali0:*", "tiler/*":
            text = run("report", "-e", pattern, path)
            check("mali0:tiler/TRIANGLES" in text and "renderD128:" not in text, text)
        check("matches 'nothing'" in run("report", "-e", "nothing", path, status=2), "no match")
        jobs.run("record", *BOTH, "-q", "-p", "10ms", "-o", again, "-e", EVENTS,
                 *jobs.command(1000, 11))
        text = run("diff", path, again)
        check("renderD128:oa/VS_THREADS" in text and "mali0:tiler/TRIANGLES" in text, text)
        text = run("diff", "--by", "command", path, again, status=2)
        check("nothing to compare" in text, text)


@test
def pages():
    """a page, a picture and a Perfetto trace have both devices"""
    with Jobs() as jobs:
        path = jobs.path("capture")
        jobs.run("record", *BOTH, "-q", "-p", "10ms", "-o", path, "-e", EVENTS, *jobs.command(1000))
        page = run("report", "--html", path)
        data = json.loads(page.split('id="data">')[1].split("</script>")[0])
        check(len(data["sessions"]) == 2, f"{data['sessions']}")
        for line in data["lines"]:
            bins = data["sessions"][line["session"]]
            check(len(line["mean"]) == len(bins["from"]) == len(bins["to"]), f"{line}")
            check(min(bins["from"]) >= 0, f"{bins}")
            event = line["event"]
            check(event not in UNITS or sum(line["count"]) == 1000 * UNITS[event], f"{line}")
        check({line["group"] for line in data["lines"]} >= {"renderD128:oa", "mali0:tiler"}, page)
        picture = run("report", "--svg", path)
        check("renderD128:oa" in picture and "mali0:tiler" in picture, picture)
        trace = jobs.path("trace")
        run("export", "-f", "perfetto", "-o", trace, path)
        with open(trace, "rb") as f:
            content = f.read()
        for name in b"Intel Tiger Lake", b"Mali-G610", b"VS_THREADS", b"TRIANGLES":
            check(name in content, f"{name}")


@test
def flight():
    """the flight recorder keeps the samples of both"""
    with Jobs() as jobs:
        path = jobs.path("capture")
        jobs.run("record", *BOTH, "-q", "-F", "20s", "-p", "10ms", "-o", path, "-e", EVENTS,
                 *jobs.command(900))
        found = {}
        for report in json.loads(run("report", "-j", path)):
            found.update({row["event"]: row["value"] for row in report["counters"]})
        check({event: found[event] for event in UNITS} ==
              {event: 900 * times for event, times in UNITS.items()}, f"{found}")


@test
def live():
    """top shows both, the exporter counts all devices"""
    top = json.loads(run("top", *BOTH, "--snapshot", "-j"))
    check([d["node"] for d in top["devices"]] == ["renderD128", "mali0"], f"{top['devices']}")
    events = {item["event"] for item in top["items"]}
    check({"renderD128:oa/VS_THREADS", "mali0:cshw/GPU_ACTIVE"} <= events, f"{events}")
    # two updates are two of each device
    text = run("top", *BOTH, "--plain", "-n", "2", "-I", "100", "-e", EVENTS)
    check(text.count("VS_THREADS") == 2 and text.count("TRIANGLES") == 2, text)
    text = run("--once", "-p", "200", "-d", "all", program="-exporter")
    check('device="mali0"' in text and 'device="local"' in text, text)


@test
def every_device():
    """-d all: what can be counted, the rest is said; what harms has to be named"""
    text = run("stat", "-d", "all", "-e", "tiler/TRIANGLES,cpu-clock,oa/VS_THREADS", "--", "true",
               status=2)
    check("only counted by -d i915" in text, text)
    text = run("stat", "-d", "all", "-e", "tiler/TRIANGLES,cpu-clock", "--", "true")
    check("mali0:tiler/TRIANGLES" in text and "local:software/cpu-clock/" in text, text)
    text = run("stat", "-d", "i915", "-d", "all", "-e", EVENTS + ",cpu-clock", "--", "true")
    for event in [*UNITS, "local:software/cpu-clock/"]:
        check(event in text, text)
    # one that is named too is counted once, in any order
    for words in (("-d", "all", "-d", "mali0"), ("-d", "local", "-d", "all")):
        rows = rows_of(run("stat", "-j", *words, "-e", "tiler/TRIANGLES,cpu-clock", "--", "true"))
        check(sorted(rows) == ["local:software/cpu-clock/", "mali0:tiler/TRIANGLES"], f"{[*rows]}")
    # the machine is counted once, without -e too
    rows = rows_of(run("stat", "-a", "-j", "-d", "i915", "-d", "all", "--", "true"))
    check([e for e in rows if "faults" in e] == ["local:software/page-faults/"], f"{[*rows]}")
    rows = rows_of(run("stat", "-j", *BOTH, "-e", "cpu-clock,oa/VS_THREADS,tiler/TRIANGLES", "--",
                       "true"))
    check([e for e in rows if "cpu-clock" in e] == ["renderD128:software/cpu-clock/"], f"{[*rows]}")


@test
def events():
    """an event may be one device's; without any that has it, it is an error"""
    rows = rows_of(run("stat", "-j", *BOTH, "-e", "mali0:tiler/TRIANGLES,renderD128:oa/VS_THREADS",
                       "--", "true"))
    check(set(rows) == {"mali0:tiler/TRIANGLES", "renderD128:oa/VS_THREADS"}, f"{[*rows]}")
    text = run("stat", *BOTH, "-e", "mali0:oa/VS_THREADS", "--", "true", status=2)
    check("oa" in text, text)
    text = run("stat", *BOTH, "-e", "tiler/TRIANGLES,NO_SUCH_EVENT", "--", "true", status=2)
    check("NO_SUCH_EVENT" in text, text)
    # of one device only: the other one has nothing to count
    text = run("stat", *BOTH, "-e", "tiler/TRIANGLES", "--", "true")
    check("renderD128 has none of the events, and is left out" in text, text)
    check("  tiler/TRIANGLES" in text, text)


@test
def refusals():
    """what cannot be counted together is refused, with what is wrong"""
    text = run("stat", *INTEL, "-d", "renderD128", "--", "true", status=2)
    check("renderD128 is there twice" in text, text)
    text = run("record", "-d", "local", "-d", "local", "-o", "/dev/null", "--", "true", status=2)
    check("local is there twice" in text, text)
    text = run("stat", *BOTH, "-e", EVENTS, "--", "true", status=1, GPU_TAKEN="intel")
    check("renderD128 cannot be counted:" in text, text)
    # of all, it is left out
    text = run("stat", *LOCAL, "-d", "all", "-e", "cpu-clock,tiler/TRIANGLES", "--", "true",
               GPU_TAKEN="mali")
    check("mali0 is left out:" in text and "  software/cpu-clock/" in text, text)
    for more in ("--per-context",), ("-r", "2", "--per-context"):
        run("stat", *BOTH, *more, "--", "true", status=2)
    check("one device" in run("record", *BOTH, "--in-stream", "-e", EVENTS, "-o", "/dev/null",
                              "--", "true", status=2), "in-stream")


@test
def unplugged():
    """of a device that vanishes the end is said; the others' counts are complete"""
    with Jobs() as jobs:
        text = jobs.run("stat", *BOTH, "-j", "-e", EVENTS, *jobs.command(1000, 0, 500),
                        GPU_UNPLUG="mali", status=4)
        check("mali0 is gone: its counts end here, those of the other go on" in text, text)
        values = values_of(text)
        check(values["renderD128:oa/VS_THREADS"] == 3000, f"{values}")
        check(values["mali0:tiler/TRIANGLES"] == 1000, f"{values}")
        path = jobs.path("capture")
        text = jobs.run("record", *BOTH, "-o", path, "-p", "10ms", "-e", EVENTS,
                        *jobs.command(1000, 0, 500), GPU_UNPLUG="mali")
        check("mali0 is gone" in text, text)
        found = {}
        for report in json.loads(run("report", "-j", path)):
            found.update({row["event"]: row["value"] for row in report["counters"]})
        check(found["renderD128:oa/VS_THREADS"] == 3000, f"{found}")
        check(found["mali0:tiler/TRIANGLES"] == 1000, f"{found}")
        text = jobs.run("stat", *BOTH, "-e", EVENTS, *jobs.command(1000, 0, 500),
                        GPU_UNPLUG="intel mali", status=4)
        check(text.count("it is gone") == 2, text)


@test
def taken_between_runs():
    """-r of all devices: counts of one that cannot be opened again are not those of another"""
    with Jobs() as jobs:
        text = jobs.run("stat", "-d", "all", "-r", "3", "-j", "-e", "tiler/TRIANGLES,page-faults",
                        *jobs.command(700, 1), GPU_TAKEN_LATER="mali", status=4)
        check(text.count("mali0 is left out:") == 2, text)
        rows = rows_of(text)
        check(set(rows) == {"mali0:tiler/TRIANGLES", "local:software/page-faults/"}, f"{rows}")
        gpu, faults = (rows[e] for e in ("mali0:tiler/TRIANGLES", "local:software/page-faults/"))
        check((gpu["value"], gpu["runs"]) == (701, 1), f"{gpu}")
        check(faults["runs"] == 3 and faults["value"] > 100, f"{faults}")


if __name__ == "__main__":
    sys.exit(main())
