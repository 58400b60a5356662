#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr perfkit against the virtual SoC's truth. Prints TAP. Runs as root in the guest."""

import contextlib
import fractions
import glob
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

import harness
import kit
import units_truth
import vsoc_truth
from harness import check, run, test, write
from vsoc_truth import MOVED_BY_MEASURING, counted

TRUTH = (glob.glob("/sys/kernel/debug/dri/*/vsoc/truth") or [None])[0]
JOB = "/tmp/perfkit.job"

# a frame of a scene: many draws, a compute pass, a copy
FRAMES = """
draw vertices=3000 primitives=1000 fragments=50000 texels=20000
x4 draw vertices=900 primitives=300 fragments=12345
sync
compute threads=10000
copy read write bytes=256Ki
sync
"""


def truth():
    """{(block type, counter): total of all blocks}, of all counter sets"""
    return vsoc_truth.totals(TRUTH)


def frames():
    return ("vsoc-job", "-q", "-f", JOB)


def perfkit(*arguments, **options):
    return json.loads(run("perfctr", "perfkit", "--json", *arguments, **options).stdout)


def exact(value):
    """integers that a 64-bit reader cannot represent are strings"""
    return fractions.Fraction(int(value["numerator"]), int(value["denominator"]))


def by_name(result):
    return {c["name"]: c for c in result["counters"]}


@test
def all_counters_equal_truth():
    """every counter of the GPU equals the truth, in the reported number of passes"""
    passes = json.loads(run("perfctr", "perfkit", "--json", "--passes").stdout)["passes"]
    before = truth()
    run(*frames())
    once = counted(before, truth())
    before = truth()
    result = perfkit("--", *frames())
    all_passes = counted(before, truth())
    check(result["passes"] == passes and passes == 3, f"{result['passes']} of {passes}")
    problems = units_truth.problems(result,
                                    lambda c: {key: n // passes for key, n in all_passes.items()})
    check(not problems, f"{problems}")
    compared = 0
    for c in result["counters"]:
        if c["kind"] != "counter":
            continue
        key = tuple(c["name"].split("/"))
        check(c["state"] == "ok" and not c["estimated"] and not c["partial"], f"{key}: {c}")
        # latency depends on what the system level cache still has
        if key[1] in MOVED_BY_MEASURING | {"EXT_READ_OUTSTANDING"}:
            continue
        check(all_passes[key] == passes * once[key],
              f"{key}: {once[key]} in one run, {all_passes[key]} in {passes}")
        check(exact(c["mean"]) == once[key], f"{key}: {c['mean']}, truth {once[key]}")
        compared += 1
    check(compared > 100, f"only {compared} counters were compared")


@test
def ratios_are_exact():
    """metrics are exact fractions of the counters"""
    c = by_name(perfkit("-e", "INSTR_DIVERGED,INSTR_FMA,INSTR_CVT,INSTR_SFU,INSTR_MSG,"
                              "shader.warp_divergence", "--", *frames()))
    diverged, *all_of = (exact(c["shader/" + n]["mean"]) for n in
                         ("INSTR_DIVERGED", "INSTR_FMA", "INSTR_CVT", "INSTR_SFU", "INSTR_MSG"))
    check(diverged > 0, "nothing diverged")
    check(exact(c["shader.warp_divergence"]["mean"]) == 100 * diverged / sum(all_of), f"{c}")


@test
def repetitions_agree():
    """-r 3: mean, min and max of constant work are equal; 100 * mean / cycles is the share"""
    result = perfkit("-r", "3", "-e", "FRAGMENTS,GPU_ACTIVE,gpu_utilization", "--", *frames())
    check(result["experiments"] == 3, f"{result}")
    c = by_name(result)
    fragments, active, share = (c[name] for name in ("shader/FRAGMENTS", "cshw/GPU_ACTIVE",
                                                     "cshw.gpu_utilization"))
    check(fragments["measured"] == 3 and exact(fragments["mean"]) == exact(fragments["min"]) ==
          exact(fragments["max"]) > 0, f"{fragments}")
    check(exact(share["min"]) <= 100 * exact(active["mean"]) / exact(active["cycles"]) <=
          exact(share["max"]) and active["cycles"] == share["cycles"], f"{c}")


@test
def what_no_slice_reached_is_not_measured():
    """-I: passes without a whole slice are not measured"""
    done = run("perfctr", "perfkit", "--json", "-I", "10s", "-e", "FRAGMENTS,L2_HITS", "--", "true",
               status=1)
    result = json.loads(done.stdout)
    check(result["intervals"] == 0 and "first slice" in done.stderr, f"{result} {done.stderr}")
    check(all(c["state"] != "ok" and c["measured"] == 0 and
              "mean" not in c for c in result["counters"]), f"{result}")
    result = perfkit("-I", "1s", "-e", "FRAGMENTS,L2_HITS", "--", "sleep", "1.4")
    check(result["intervals"] >= 1, f"{result}")
    for c in result["counters"]:
        expected = (result["intervals"] + 1 - c["first_pass"]) // 2
        check(c["measured"] == expected and (c["state"] == "ok") == (expected > 0), f"{c}")


@test
def a_slice_that_was_cut_short_is_left_out():
    """-I: a slice that was cut short is left out"""
    c = perfkit("-I", "500", "-e", "GPU_ACTIVE", "--", "sleep", "0.6")["counters"][0]
    check(c["measured"] >= 1 and exact(c["elapsed_ns"]) >= 500 * 1000 * 1000, f"{c}")


@test
def a_crash_is_not_a_measurement():
    """the pass whose command fails is not measured, earlier passes are"""
    once = "test -e /tmp/crash && kill -SEGV $$; touch /tmp/crash"
    if os.path.exists("/tmp/crash"):
        os.remove("/tmp/crash")
    result = perfkit("-e", "FRAGMENTS,L2_HITS", "--", "sh", "-c", once, status=128 + signal.SIGSEGV)
    states = {c["first_pass"]: (c["state"] == "ok", c["measured"]) for c in result["counters"]}
    check(result["experiments"] == 0 and states == {0: (True, 1), 1: (False, 0)}, f"{result}")


@test
def passes_rotate_over_slices():
    """-I: one run; each slice counts one pass; slices of a single pass add up to the truth"""
    before = truth()
    # the slice that ends with the workload is left out: it has no work
    result = perfkit("-I", "5", "-e", "FRAGMENTS", "--", "sh", "-c",
                     "vsoc-job -q --random 60; sleep 0.1")
    fragments = counted(before, truth())["shader", "FRAGMENTS"]
    c = result["counters"][0]
    check(result["passes"] == 1 and c["measured"] == result["intervals"] > 1, f"{result}")
    check(exact(c["mean"]) * c["measured"] == fragments, f"{c}, truth {fragments}")
    result = perfkit("-I", "5", "-e", "FRAGMENTS,L2_HITS", "--", "vsoc-job", "-q", "--random", "60")
    check(result["passes"] == 2, f"{result}")
    slices_of = [c["measured"] for c in result["counters"]]
    check(sum(slices_of) == result["intervals"] and slices_of[0] - slices_of[1] in (0, 1),
          f"{result}")


@test
def table_goes_to_stderr():
    """without --json a table on stderr, and the command's own output on stdout"""
    done = run("perfctr", "perfkit", "-e", "FRAGMENTS", "--", "echo", "hello")
    check(done.stdout == "hello\n", f"{done.stdout}")
    check("shader/FRAGMENTS" in done.stderr and "1 pass" in done.stderr, f"{done.stderr}")


@test
def errors_have_advice():
    """errors name the problem and have the manual's status"""
    stderr = run("perfctr", "perfkit", "-e", "SHD Bottlenek", "true", status=2).stderr
    check("(renderD128)" in stderr and "--passes -d renderD128" in stderr, stderr)
    check("--passes" in run("perfctr", "perfkit", "--passes", "true", "-e", "FRAGMENTS",
                            status=2).stderr, "a command")
    stderr = run("perfctr", "perfkit", "-e", "FRAGMENTS", "--", "false", status=1).stderr
    check("1 counter in 1 pass" in stderr and "the only one" in stderr, stderr)
    stderr = run("perfctr", "perfkit", "-e", "FRAGMENTS,L2_HITS", "--", "sh", "-c", "kill -SEGV $$",
                 status=139).stderr
    check("139 = 128 + SIGSEGV" in stderr and "other passes" in stderr, stderr)
    check("--passes" in run("perfctr", "perfkit", "-e", "FRAGMENTS", status=2).stderr, "")
    run("perfctr", "perfkit", "-r", "2", "-I", "5", "true", status=2)
    run("perfctr", "perfkit", "-I", "never", "true", status=2)
    run("perfctr", "perfkit", "--frames", "0", "true", status=2)
    run("perfctr", "perfkit", "--frames", "2", "-I", "5", "true", status=2)
    check("--frames" in run("perfctr", "perfkit", "--skip", "2", "true", status=2).stderr, "")
    check("pass 1 of 2" in run("perfctr", "perfkit", "-e", "FRAGMENTS,L2_HITS", "sh", "-c",
                               "exit 7", status=7).stderr, "which pass failed")
    run("perfctr", "perfkit", "-e", "FRAGMENTS", "/no/such/command", status=127)
    run("perfctr", "perfkit", "-e", "FRAGMENTS", "/tmp", status=126)


@test
def signal_ends_it():
    """SIGTERM ends the command, and the result up to then is complete"""
    with subprocess.Popen(("perfctr", "perfkit", "--json", "-I", "10", "-e", "FRAGMENTS", "--",
                           "sh",
                           "-c", "echo up >&2; exec sleep 1000"), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as p:
        check(p.stderr.readline() == "up\n", "the command does not run")
        time.sleep(0.05)
        p.send_signal(signal.SIGTERM)
        out = p.communicate(timeout=60)[0]
    check(p.returncode == 128 + signal.SIGTERM, f"status {p.returncode}")
    check(json.loads(out)["counters"][0]["name"] == "shader/FRAGMENTS", out)


@test
def an_interrupt_is_reported():
    """SIGINT in a repetition is reported; values are those of earlier repetitions"""
    with tempfile.TemporaryDirectory() as folder:
        # the second repetition waits for the signal
        script = f"cd {folder}; test -e first || {{ touch first; exit; }}; echo up >&2; " \
                 "exec sleep 1000"
        with subprocess.Popen(("perfctr", "perfkit", "--json", "-r", "5", "-e", "FRAGMENTS", "--",
                               "sh", "-c", script),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
            check(p.stderr.readline() == "up\n", "the command does not run")
            p.send_signal(signal.SIGINT)
            out, stderr = p.communicate(timeout=60)
    check(p.returncode == 128 + signal.SIGINT, f"status {p.returncode}")
    check("interrupted" in stderr and "this repetition" in stderr and
          "nothing is known" not in stderr, stderr)
    check(json.loads(out)["experiments"] == 1, out)


DRIVER = "/sys/bus/platform/drivers/vsoc"


def truths():
    return set(glob.glob("/sys/kernel/debug/dri/*/vsoc/truth"))


@contextlib.contextmanager
def nvidia_device():
    """Yields the node and the path of its truth."""
    nodes, before = set(glob.glob("/dev/dri/renderD*")), truths()
    write(f"{DRIVER}/new_device", "9 product=nv50")
    try:
        node, = set(glob.glob("/dev/dri/renderD*")) - nodes
        yield node, min(truths() - before)
    finally:
        write(f"{DRIVER}/del_device", "9")


@test
def nvidia_counters_equal_truth():
    """every counter of an NVIDIA-style GPU equals the truth of its pass; fewer passes than
    counters"""
    with nvidia_device() as (node, path):
        # the truth before and after the work of each pass
        script = f"cat {path} >>/tmp/snapshots; echo >>/tmp/snapshots; " \
                 f"vsoc-job -q -d {node} -f {JOB} && cat {path} >>/tmp/snapshots; " \
                 "echo >>/tmp/snapshots"
        if os.path.exists("/tmp/snapshots"):
            os.remove("/tmp/snapshots")
        result = perfkit("-d", node, "--", "sh", "-c", script)
        with open("/tmp/snapshots", encoding="ascii") as f:
            snapshots = [vsoc_truth.add_up(text.splitlines())
                         for text in f.read().strip().split("\n\n")]
        check(len(snapshots) == 2 * result["passes"], f"{len(snapshots)} of {result['passes']}")
        counters = [c for c in result["counters"] if c["kind"] == "counter"]
        check(1 < result["passes"] <= len(counters) // 4, f"{result['passes']} passes")
        for c in counters:
            key = tuple(c["name"].split("/"))
            expected = counted(*snapshots[2 * c["first_pass"]:2 * c["first_pass"] + 2])[key]
            check(c["state"] == "ok" and c["passes"] == 1 and not c["estimated"], f"{key}: {c}")
            # also counts while the truth is read: see units_truth
            if key[1] == "gpu_idle":
                continue
            check(exact(c["mean"]) == expected, f"{key}: {c['mean']}, truth {expected}")
        passes = [counted(*snapshots[n:n + 2]) for n in range(0, len(snapshots), 2)]
        problems = units_truth.problems(result, lambda c: passes[c["first_pass"]],
                                        units_truth.frequencies(node, path))
        check(not problems, f"{problems}")
        for c in result["counters"]:
            if c["kind"] in ("sol", "bottleneck"):
                check(exact(c["mean"]) > 0, f"{c['name']} is 0, which any formula is")
        check(result["bottleneck"] == "SHD Bottleneck", f"{result['bottleneck']}")


@test
def info_lists_each_domain():
    """perfctr info: domains of PCOUNTER with their own counters and clocks"""
    with nvidia_device() as (node, _):
        lines = [line.split() for line in run("perfctr", "info", "-d", node).stdout.splitlines()
                 if " pcounter " in line]
        check(len(lines) == 8, f"{lines}")
        check({(line[-1], line[4].rstrip(","))
               for line in lines} >= {("pcounter1", "core-a"), ("pcounter3", "shader")}, f"{lines}")
        check(sum(int(line[1]) for line in lines) == 40, f"{lines}")


APP = os.path.join(os.path.dirname(os.path.realpath(__file__)), "frames_app.py")


def truth_of_frame(folder, n):
    before, after = (vsoc_truth.totals(os.path.join(folder, f"{n}.{when}"), [""])
                     for when in ("before", "after"))
    return counted(before, after)


def check_frames(result, folder, skip, clocks):
    """Each counter equals the work of its pass's frames; metrics and units of a round match that
    truth."""
    if result["frames_per_pass"] == 1:
        problems = units_truth.problems(result, lambda c: truth_of_frame(folder, skip +
                                                                         c["first_pass"]), clocks)
        check(not problems, f"{problems}")
    for c in result["counters"]:
        check(c["state"] == "ok" and not c["estimated"] and
              c["measured"] == result["frames_per_pass"], f"{c}")
        key = tuple(c["name"].split("/"))
        # gpu_idle also counts while the truth is read
        if c["kind"] != "counter" or key[1] == "gpu_idle":
            continue
        frames_of_pass = range(skip + c["first_pass"], result["frames_needed"], result["passes"])
        expected = [truth_of_frame(folder, n)[key] for n in frames_of_pass]
        check([exact(c[name]) for name in ("mean", "min", "max")] ==
              [fractions.Fraction(sum(expected), len(expected)), min(expected), max(expected)],
              f"{key}: {c}, truth {expected}")


def check_software(result, skip):
    """What the application says of its frames, beside the counters of the same frames."""
    values = {s["name"]: s for s in result["software"]}
    drawn = range(skip, result["frames_needed"])
    for name, unit, amounts in (("draw-calls", "", [n + 1 for n in drawn]),
                                ("uploaded", "bytes", [64 * n for n in drawn])):
        s = values[name]
        found = [fractions.Fraction(s[k]["numerator"], s[k]["denominator"])
                 for k in ("mean", "min", "max")]
        check(s["unit"] == unit and s["measured"] == len(amounts) and found ==
              [fractions.Fraction(sum(amounts), len(amounts)), min(amounts), max(amounts)], f"{s}")
    # without the first frame of all, which includes the start of the program
    time, fps = values["OGL frame time"], values["OGL FPS"]
    check(time["measured"] == fps["measured"] == len(drawn) - (not skip), f"{time}")
    for a, b in ("mean", "mean"), ("min", "max"), ("max", "min"):
        check(fps[a]["numerator"] * time[b]["numerator"] ==
              1000000 * fps[a]["denominator"] * time[b]["denominator"], f"{fps} {time}")


@test
def frames_equal_truth():
    """--frames: mean, min and max of every counter equal the truth of its pass's frames"""
    with nvidia_device() as (node, path):
        for skip, count in (0, 1), (2, 3):
            options = "-d", node, "--frames", str(count), "--skip", str(skip)
            reported = perfkit(*options, "--passes")
            needed = skip + count * reported["passes"]
            check(reported["passes"] > 1 and reported["frames_needed"] == needed, f"{reported}")
            # work after the counted frames is not counted
            with tempfile.TemporaryDirectory() as folder:
                result = perfkit(*options, "--", APP, node, str(needed + 2), path, folder)
                check((result["frames"], result["frames_reported"], result["frames_needed"],
                       result["exit_status"]) == (needed - skip, needed, needed, 0), f"{result}")
                check_frames(result, folder, skip, units_truth.frequencies(node, path))
                check_software(result, skip)


@test
def frames_of_a_mali_equal_truth():
    """--frames: counter sets rotate from frame to frame, and a script may start the application"""
    result = perfkit("--frames", "2", "-e", "FRAGMENTS,L2_HITS,gpu_utilization", "--", "sh", "-c",
                     f"{APP} renderD128 4; exit")
    c = by_name(result)
    check(result["passes"] == 2 and all(n["measured"] == 2 for n in c.values()), f"{result}")
    first = c["shader/FRAGMENTS"]["first_pass"]
    frames_of_pass = [4000 + 500 * n for n in (first, first + 2)]
    check([exact(c["shader/FRAGMENTS"][n]) for n in ("min", "max", "mean")] ==
          [*frames_of_pass, fractions.Fraction(sum(frames_of_pass), 2)], f"{c}")


@test
def too_few_frames_are_reported():
    """--frames with too few frames: both numbers, counters without a frame are not measured, an
    incomplete frame does not count"""
    arguments = "--json", "--frames", "2", "--skip", "1", "-e", "FRAGMENTS,L2_HITS", "--"
    done = run("perfctr", "perfkit", *arguments, APP, "renderD128", "2", status=1)
    result = json.loads(done.stdout)
    check("after 2 frames, 5 are needed" in done.stderr, done.stderr)
    check({c["first_pass"]: (c["state"] == "ok", c["measured"]) for c in result["counters"]} ==
          {0: (True, 1), 1: (False, 0)}, f"{result}")
    done = run("perfctr", "perfkit", *arguments, "sh", "-c", f"{APP} renderD128 4; kill -KILL $$",
               status=128 + signal.SIGKILL)
    result = json.loads(done.stdout)
    check("after 4 frames, 5 are needed" in done.stderr, done.stderr)
    check(sorted(c["measured"] for c in result["counters"]) == [1, 2], f"{result}")


@test
def the_end_of_the_command_is_reported():
    """--frames: a crash is reported before the advice; JSON is written without frames, too"""
    for command, words in ("kill -SEGV $$",
                           "killed by signal 11"), ("exit 3", "ended with status 3"), (":", None):
        done = subprocess.run(("perfctr", "perfkit", "--json", "--frames", "2", "-e", "FRAGMENTS",
                               "--", "sh", "-c", command),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=120, check=False)
        result = json.loads(done.stdout)
        check(result["frames"] == 0 and result["counters"][0]["state"] != "ok", f"{result}")
        check(done.returncode == (result["exit_status"] or 1),
              f"status {done.returncode}: {result}")
        reported = done.stderr.find(words or "reported no frame")
        check(0 <= reported <= done.stderr.find("reported no frame"), done.stderr)
        check(words or "ended with" not in done.stderr, done.stderr)
        check("-I" in done.stderr and "Mesa" in done.stderr, done.stderr)


@test
def frames_that_move_nothing_are_reported():
    """--frames: frames of another device are reported; Mesa uses perfkit's device unless the
    user chose one"""
    script = f"echo MESA=$GALLIUM_PERFCTR; {APP} renderD128 3"
    with nvidia_device() as (node, _):
        def draw(device, events, chosen):
            environment = {k: v for k, v in os.environ.items() if k != "GALLIUM_PERFCTR"} | chosen
            return run("perfctr", "perfkit", "-d", device, "--frames", "3", "-e", events, "--",
                       "sh", "-c", script, env=environment)
        name = os.path.basename(node)
        done = draw(node, "shaded_pixel_count_0,gpu_idle", {})
        check("no counter of the GPU moved in 3 frames" in done.stderr and node in done.stderr,
              done.stderr)
        check(f"MESA={name}\n" in done.stdout, done.stdout)
        done = draw("renderD128", "FRAGMENTS", {"GALLIUM_PERFCTR": "1"})
        check("moved" not in done.stderr and "MESA=renderD128\n" in done.stdout,
              f"{done.stdout} {done.stderr}")
        for chosen in "0", name:
            done = draw("renderD128", "FRAGMENTS", {"GALLIUM_PERFCTR": chosen})
            check(f"MESA={chosen}\n" in done.stdout, f"{done.stdout}")


@test
def another_session_does_not_end_the_command():
    """--frames, -I: if the next pass cannot count, the command continues; counts so far and a
    fix are shown"""
    script = f"""import subprocess, sys, time
sys.path.insert(0, "{os.path.dirname(APP)}")
import frames_app
frames = frames_app.Frames()
# its session counts in the set of the first pass, as this frame does
p = subprocess.Popen(("perfctr", "stat", "-I", "10", "-e", "FRAGMENTS", "--", "sleep", "1000"),
                     stderr=subprocess.PIPE)
p.stderr.readline()
frames_app.draw("renderD128", 0)
frames.end()
p.terminate()
p.communicate()
frames_app.draw("renderD128", 1)
frames.end()
print("drew all", frames.reported)
"""
    done = run("perfctr", "perfkit", "--json", "--frames", "3", "-e", "FRAGMENTS,L2_HITS", "--",
               "python3", "-c", script, status=1)
    result = json.loads(done.stdout)
    check("another session uses another counter set" in done.stderr and "--passes" in done.stderr,
          done.stderr)
    check("drew all 1" in done.stderr and result["exit_status"] == 0, done.stderr)
    check({c["first_pass"]: c["measured"] for c in result["counters"]} == {0: 1, 1: 0}, f"{result}")
    check(exact(by_name(result)["shader/FRAGMENTS"]["mean"]) == 4000, f"{result}")
    # the other session begins in a slice of its set and is active when the next slice is due
    script = "until perfctr stat -e FRAGMENTS -- sleep 0.3 2>/dev/null; do :; done; echo through"
    done = run("perfctr", "perfkit", "--json", "-I", "20", "-e", "FRAGMENTS,L2_HITS", "--", "sh",
               "-c", script, status=1)
    check("another session uses another counter set" in done.stderr and "through" in done.stderr,
          done.stderr)
    check(len(json.loads(done.stdout)["counters"]) == 2, done.stdout)


@test
def the_application_outlives_the_tool():
    """--frames: a tool that is killed does not stop the application"""
    script = f"""import os, signal, sys
sys.path.insert(0, "{os.path.dirname(APP)}")
import frames_app
frames = frames_app.Frames()
frames.end()
os.kill(os.getppid(), signal.SIGKILL)
for _ in range(3):
    frames.end()
print(frames.reported, frames.connection)
"""
    with subprocess.Popen(("perfctr", "perfkit", "--frames", "9", "-e", "FRAGMENTS", "--",
                           "python3", "-c", script), stdout=subprocess.PIPE, text=True) as p:
        # ends with the application
        out = p.stdout.read()
    check(p.returncode == -signal.SIGKILL and out in ("1 None\n", "2 None\n"),
          f"status {p.returncode}: {out}")


# four integers of domain 2 exclude each other; as many MP counters as fit
MANY = ("setup_primitive_count,shader_busy,rop_busy,rop_samples_in_count_1,texture_busy,"
        "instructions,branch")
SMALL = "draw", "vertices=300", "primitives=100", "fragments=4000", "texels=1000"
LARGE = "draw", "vertices=900", "primitives=300", "fragments=20000", "texels=7000"
OTHER = "draw", "vertices=60", "primitives=20", "fragments=1000", "texels=500"


def work(node, path, job):
    """The truth of a job's work."""
    before = vsoc_truth.totals(path, [""])
    run("vsoc-job", "-q", "-d", node, *job)
    return counted(before, vsoc_truth.totals(path, [""]))


@test
def nvidia_objects_equal_truth():
    """objects of every pass have exactly the truth of their work"""
    with nvidia_device() as (node, path):
        k = kit.Kit(node, MANY)
        passes = k.begin_experiment()
        check(passes >= 2, f"{passes} passes")
        objects = []
        for n in range(passes):
            k.begin_pass(n)
            work(node, path, OTHER)
            done = {}
            for part, job in (2, SMALL), (0, LARGE), (2, SMALL):
                k.begin_object(part)
                amounts = work(node, path, job)
                k.end_object()
                work(node, path, OTHER)
                done[part] = {key: amounts[key] + done.get(part, amounts)[key] * (part in done)
                              for key in amounts}
            k.end_pass()
            objects.append(done)
        k.end_experiment()
        for n, (*key, first_pass) in enumerate(k.counters()):
            for part in 0, 2:
                value, expected = k.value(n, part), objects[first_pass][part][tuple(key)]
                check(value.state == kit.OK and value.flags == kit.UPDATED and
                      value.denominator == 1,
                      f"{key}, object {part}: state {value.state}, flags {value.flags}")
                check(value.numerator == expected > 0,
                      f"{key}, object {part}: {value.numerator}, truth {expected}")
            for part in 1, 3:
                value = k.value(n, part)
                check((value.state, value.flags) == (kit.NOT_MEASURED, 0),
                      f"{key}, object {part}, which never began")
        k.close()


@test
def nvidia_samples_equal_truth():
    """each sample adds the truth of its frame to the counters of its pass, and marks only these"""
    with nvidia_device() as (node, path):
        k = kit.Kit(node, MANY)
        check(k.sample() == 0, "the first call only begins")
        counters = k.counters()
        passes = 1 + max(first_pass for *_, first_pass in counters)
        check(passes >= 2, f"{passes} passes")
        latest = {}
        for frame in range(2 * passes + 1):
            amounts = work(node, path, (SMALL, LARGE, OTHER)[frame % 3])
            updated = k.sample()
            marked = 0
            for n, (*key, first_pass) in enumerate(counters):
                value = k.value(n)
                if first_pass == frame % passes:
                    latest[n] = amounts[tuple(key)]
                    marked += 1
                check(bool(value.flags & kit.UPDATED) == (first_pass == frame % passes),
                      f"frame {frame}: {key}")
                if n not in latest:
                    check((value.state, value.flags) == (kit.NOT_MEASURED, 0),
                          f"frame {frame}: {key}")
                    continue
                check(value.state == kit.OK and value.numerator == latest[n] > 0,
                      f"frame {frame}: {key}: {value.numerator}, truth {latest[n]}")
            check(updated == marked, f"frame {frame}: {updated} reported, {marked} marked")
        k.end_sampling()
        k.close()


if __name__ == "__main__":
    if not TRUTH:
        print("1..0 # SKIP no virtual SoC")
        sys.exit(0)
    write(JOB, FRAMES)
    # words in the names of tests, by default all
    harness.TESTS[:] = [t for t in harness.TESTS if not sys.argv[1:] or
                        any(word in t.__name__ for word in sys.argv[1:])]
    sys.exit(harness.main())
