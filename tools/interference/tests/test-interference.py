#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""perfctr interference on readings and on programs of this machine, and perfctr-load. Prints TAP;
needs no device."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../tests"), HERE]
import harness
import scenarios
from harness import check, test, write

BUILD = os.environ.get("BUILD") or os.path.join(HERE, "../../../build")
PERFCTR = os.path.join(BUILD, "bin/perfctr")
LOAD = os.path.join(BUILD, "bin/perfctr-load")
WORK = tempfile.mkdtemp()
SEED = int(os.environ.get("PERFCTR_SEED", "0"))
CPU = str(max(os.sched_getaffinity(0)))
HEADER = "aggressor,level,run,reading,value\n"


def run(*words, status=0, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=300, check=False, **options)
    check(done.returncode == status, f"{words}: {done.returncode}, {done.stderr}{done.stdout}")
    return done


def interference(specification, *options, readings=None, status=0):
    path = os.path.join(WORK, "file.json")
    write(path, json.dumps(specification))
    if readings is not None:
        write(os.path.join(WORK, "readings.csv"), readings)
        options += ("--readings", os.path.join(WORK, "readings.csv"))
    return run(PERFCTR, "interference", path, *options, status=status)


def programs(task, command, levels=(1, 2, 3, 4, 5), **more):
    """a file whose only channel is others' time on the CPU"""
    return {"task": task, "runs": 1,
            "channels": [{"name": "the CPU", "kind": "others", "counts": "run-delay"}],
            "aggressors": [{"name": "somebody", "command": command, "levels": list(levels)}],
            **more}


@test
def scenarios_by_seed():
    """24 scenarios of four seeds: no channel is lost above 1.5 times the time, none is wrong"""
    for seed in range(4 * SEED, 4 * SEED + 4):
        for name in scenarios.names():
            specification, readings, full = scenarios.make(name, seed)
            done = interference(specification, "--json", readings=readings)
            a = json.loads(done.stdout)["aggressors"][0]
            named = set(a["named"])
            check(named <= set(full), f"{name}, seed {seed}: {named}, not {full}: {a}")
            check(a["slowdown"] <= 1.5 or named == set(full), f"{name}, seed {seed}: lost: {a}")
            check(a["slower"] == bool(full), f"{name}, seed {seed}: {a}")


@test
def missing_readings_are_said():
    """a channel without readings is not measured; the file's configuration is that of the report"""
    specification, readings, _ = scenarios.make("link, quiet", 1)
    rows = [line for line in readings.split("\n") if "memory 0 requests" not in line]
    readings = "# configuration: board=orin devkit\n" + "\n".join(rows)
    out = interference(specification, readings=readings).stdout
    check(re.search(r"^memory 0: not measured: memory 0 requests is not in ", out, re.M), out)
    check("interference channel: link (100 % of the added time, 0 % unexplained)\n" in out and
          "board orin devkit" in out, out)
    check(os.uname().release not in out, f"of this machine: {out}")
    found = json.loads(interference(specification, "--json", readings=readings).stdout)
    missing = {c["name"]: c["missing"] for c in found["aggressors"][0]["channels"]}
    check(missing["memory 0"] and not missing["link"], f"{missing}")
    check("memory 0" not in found["aggressors"][0]["points"][0]["shown"], "a value of nothing")


@test
def numbers_for_people():
    """times have a unit in which they are short; one run has no spread; a verdict says how much of
    the added time its channels explain; the page shows all numbers"""
    page = os.path.join(WORK, "numbers.html")
    specification = programs("task", "load")
    for part, words in (
            (0.6, "(60 % of the added time, 40 % unexplained)"),
            (1.5, "(150 % of the added time: waits overlap, or a window is too small)")):
        for seconds, unit in ((1e-3, "us"), (1, "ms"), (10, "s")):
            rows = [f"{'somebody' if n else ''},{n},0,{name},{round(1e9 * seconds * value)}\n"
                    for n in range(6) for name, value in (("time", 2 + n), ("run-delay", part * n))]
            readings = HEADER + "".join(rows)
            out = interference(specification, "--html", page, readings=readings).stdout
            scale = {"us": 1e3, "ms": 1e3, "s": 10}[unit]
            check(f"alone {2 * scale:.3f} {unit}," in out and words in out and
                  f"{7 * scale:.3f} {unit}  " in out and
                  f"adds {5 * part * scale:.3f} of {5 * scale:.3f} {unit}; " in out and
                  f" {5 * part * scale:.1f} {unit} of others, 0.0 alone" in out, f"{unit}: {out}")
            check(out.count("only one run") == 6 and "+0.0 %" not in out, out)
            with open(page, encoding="utf-8") as f:
                text = f.read()
            check(f"<span>{unit}</span>" in text and '<pre class="whole">' in text and
                  "pre.whole { max-height: none; }" in text and "bars" not in text, text[-3000:])
    done = interference(specification, "--json", readings=readings)
    a = json.loads(done.stdout)["aggressors"][0]
    check(a["explained"] == 1.5 and {p["runs"] for p in a["points"]} == {1}, f"{a}")


@test
def readings_are_all_used():
    """each line of a CSV is used, or refused with its place"""
    specification, readings, _ = scenarios.make("link, quiet", 1)
    for text, error in (("", "it is empty"), ("a,b\n", "begin with the line"),
                        (HEADER + ",0,0,time\n", "give aggressor,level"),
                        ("# configuration: a=1\n# configuration: a=2\n" + readings, "'a' twice"),
                        (HEADER + ",0,0,time,5.5\n", "5.5"),
                        (HEADER + ",0,0,time,5\n,0,0,time,5\n", "in line 2, too"),
                        (HEADER + ",1,0,time,5\n", "level 0"),
                        (HEADER + "nobody,1,0,time,5\n", "no aggressor of the file"),
                        (HEADER + "somebody,5,0,time,5\n", "no aggressor of the file"),
                        (HEADER + ",0,0,tiem,5\n", "neither time nor an event"),
                        (HEADER, "run 0 has no time"),
                        (readings + ",0,20,time,5\n", "run 20 is not used"),
                        (readings + ",0,9,cpu,5\n", "run 9 is not used"),
                        (re.sub(r"somebody,2,1,cpu,.*\n", "", readings), "run 1 has no cpu")):
        done = interference(specification, readings=text, status=1)
        check(error in done.stderr, f"{error}: {done.stderr}")
    done = run(PERFCTR, "interference", "--readings", "x.csv", status=2)
    check("needs FILE" in done.stderr, done.stderr)


@test
def programs_on_one_cpu():
    """a task beside copies of a program on its CPU: it waits for the CPU, and that is named"""
    task = {"command": "perfctr-load --amount 200000000 spin", "cpus": CPU}
    specification = programs(task, "perfctr-load spin")
    specification["aggressors"][0]["cpus"] = CPU
    page = os.path.join(WORK, "page.html")
    found = json.loads(interference(specification, "--json", "--html", page).stdout)
    a = found["aggressors"][0]
    configuration = found["configuration"]
    check(found["machine"] == "programs" and "kernel" in configuration, f"{found}")
    # the first run and the last one
    check(configuration["begun"] < configuration["date"], f"{configuration}")
    check(found["cpus"] == a["cpus"] == CPU and a["cgroup"] is None, f"{found}")
    # two halves the CPU, others on the machine can only add to that
    check(a["named"] == ["the CPU"] and a["slowdown"] > 1.5, f"{a}")
    with open(page, encoding="utf-8") as f:
        check(f.read().count("<figure>") == 2, "plots")


@test
def waits_that_are_not_for_the_cpu():
    """a task that sleeps longer, or waits for a lock, beside programs does not wait for the CPU"""
    lock = os.path.join(WORK, "lock")
    write(lock, "")
    task = os.path.join(WORK, "locks")
    write(task, f"#!/bin/sh\nexec flock {lock} sleep 0.2\n")
    holder = os.path.join(WORK, "holds")
    write(holder, f"#!/bin/sh\nflock {lock} sleep 0.$(($1 + 4))\nexec sleep 1000\n")
    for path in (task, holder):
        os.chmod(path, 0o755)
    found = json.loads(interference(programs(task, holder + " {LEVEL}"), "--json").stdout)
    a = found["aggressors"][0]
    check(a["slowdown"] > 1.3 and not a["named"], f"{a}")


@test
def a_level_that_is_quicker():
    """is no baseline: nothing is named, all is reported, and the status is 1"""
    specification, readings, _ = scenarios.make("link, quiet", 1)
    other = [line.replace("somebody", "other") for line in readings.split("\n") if "some" in line]
    specification["aggressors"].append({**specification["aggressors"][0], "name": "other"})
    readings = re.sub("^(somebody,2,.,time),.*$", r"\1,1000", readings + "\n".join(other),
                      flags=re.M)
    done = interference(specification, readings=readings, status=1)
    # the baseline is that of the other aggressor, too
    check(done.stdout.count("channel: unknown: at a level the task is quicker") == 2 and
          "somebody, level 2: the task is quicker than alone" in done.stderr, f"{done}")


@test
def requests_of_others_are_marked():
    """a counter that has more requests than alone says so"""
    specification, readings, _ = scenarios.make("link, quiet", 1)
    out = interference(specification, readings=readings).stdout
    line = next(line for line in out.split("\n") if line.startswith("  link ("))
    check(line.endswith("; with others' requests") and re.search(r"adds [\d.]+ of [\d.]+ us", line),
          line)
    a = json.loads(interference(specification, "--json", readings=readings).stdout)
    marks = {c["name"]: c["has_others"] for c in a["aggressors"][0]["channels"]}
    check(marks["link"] and not marks["memory 0"] and not marks["CPU"], f"{marks}")


def processes(mark):
    """of programs whose environment has a mark"""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if mark.encode() in f.read():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def default_signals():
    """For a command: also if the tests run under nohup, which ignores SIGHUP."""
    for number in signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT:
        signal.signal(number, signal.SIG_DFL)


@test
def programs_end_with_the_command():
    """task, aggressors and what these started are gone, however the command ended"""
    script = os.path.join(WORK, "forks")
    write(script, "#!/bin/sh\n(setsid sleep 1000 & sleep 1000) &\nsetsid sh -c 'sleep 1000; :' &\n"
                  "exec sleep 1000\n")
    os.chmod(script, 0o755)
    specification = programs("sleep 1000", script)
    path = os.path.join(WORK, "forks.json")
    # alone and beside the aggressor
    for task in ("sleep 1000", None):
        if not task:
            specification["task"] = os.path.join(WORK, "task")
            # the task alone ends, three times
            write(specification["task"], f"#!/bin/sh\necho >>{WORK}/count\n"
                  f"[ $(wc -l <{WORK}/count) -le 3 ] || exec sleep 1000\n")
            os.chmod(specification["task"], 0o755)
        write(path, json.dumps(specification))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL, signal.SIGQUIT,
                       "group", "child"):
            write(os.path.join(WORK, "count"), "")
            mark = f"PERFCTR_MARK={os.getpid()}-{task is None}-{number}"
            environment = dict([mark.split("=")], **os.environ)
            # of the command: two; the task; of the aggressor five
            wanted = 3 if task else 8
            # not "with": a failure does not wait for it
            command = subprocess.Popen([PERFCTR, "interference", path], env=environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                       start_new_session=True, preexec_fn=default_signals)
            try:
                harness.wait_for(lambda m=mark, w=wanted: len(processes(m)) >= w,
                                 lambda m=mark: f"{m}: {processes(m)}")
                if number == "child":
                    with open(f"/proc/{command.pid}/task/{command.pid}/children",
                              encoding="ascii") as f:
                        os.kill(int(f.read().split()[0]), signal.SIGKILL)
                elif number == "group":
                    os.killpg(command.pid, signal.SIGKILL)
                else:
                    command.send_signal(number)
                command.wait(30)
                harness.wait_for(lambda m=mark: not processes(m), f"{number}: {mark} left some")
            finally:
                command.kill()


@test
def programs_that_cannot_be_ended():
    """a program of another user is an error at once, not a part of the next level"""
    if os.getuid():
        return "needs root, to make one"
    path = os.path.join(WORK, "becomes-root")
    run("gcc", "-o", path, "-x", "c", "-", input="#include <unistd.h>\n"
        "int main(void) { return setuid(0) || sleep(8); }\n")
    os.chmod(WORK, 0o755)
    os.chmod(path, 0o4755)
    specification = os.path.join(WORK, "file.json")
    write(specification, json.dumps(programs("sleep 0.1", path)))
    # copies, because the folder of the build may be closed to other users, as root's is
    for program in PERFCTR, PERFCTR + "-interference":
        shutil.copy(program, WORK)
    done = subprocess.run([os.path.join(WORK, "perfctr"), "interference", specification],
                          preexec_fn=harness.drop(), capture_output=True, text=True, timeout=100,
                          check=False)
    check(done.returncode == 1 and "somebody: a process of it belongs to another" in done.stderr,
          f"{done}")
    check(len(harness.processes(path)) <= 1, "more than that one")


@test
def nohup_is_kept():
    """a command that shall outlive its terminal does"""
    path = os.path.join(WORK, "file.json")
    write(path, json.dumps(programs("sleep 0.1", "sleep 1000")))
    command = subprocess.Popen(["nohup", PERFCTR, "interference", path], stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(1)
    os.killpg(command.pid, signal.SIGHUP)
    check(command.wait(100) in (0, 1), "ended by SIGHUP")


@test
def programs_that_fail():
    """what cannot run, fails or ends early is an error with its name"""
    long = "perfctr-load --amount 300000000 spin"
    for specification, error in (
            (programs("/nowhere/task", "sleep 1"), "task: '/nowhere/task' cannot be run: No"),
            (programs("true", "/nowhere/x"), "somebody: '/nowhere/x' cannot be run"),
            (programs("false", "sleep 1"), "the task 'false' ended with status 1"),
            (programs(long, "sleep 0.{LEVEL}1"), "it ended before the task, with status 0"),
            (programs("true", "sleep 1", (1, 2, 3, 4, 5000)), "no {LEVEL}"),
            (programs("true", " "), "somebody: the command is empty"),
            (programs({"command": "true", "cpus": "x"}, "sleep 9"), "cpus 'x': give a list"),
            (programs({"command": "true", "cpus": "1-"}, "sleep 9"), "cpus '1-': give a list"),
            (programs({"command": "true", "cpus": "1023"}, "sleep 9"), "none of them is online"),
            (programs({"command": "true", "cgroup": "/none"}, "sleep 9"), "cgroup '/none': No"),
            (programs("true", "sleep 9", channels=[{"name": "c", "kind": "others",
                                                    "counts": "run-dely"}]),
             "no channel can be measured here: c: no counter"),
            (programs("true", "sleep 9", jobs=4), "jobs are of a device")):
        done = interference(specification, status=1)
        check(error in done.stderr, f"{error}: {done.stderr}")
    # a level is used as it is: no copies
    done = interference(programs("sleep 1", "sleep 1000.{LEVEL}{LEVEL}", (1, 2, 3, 4, 5000)))
    check("interference channel" in done.stdout, done.stdout)
    done = interference(programs("true", "sleep 9", machine="vsoc2"), status=2)
    check("machine 'vsoc2' is not known" in done.stderr, done.stderr)
    done = interference(programs("true", "sleep 9"), "-d", "renderD128", status=1)
    check("without --device" in done.stderr, done.stderr)


@test
def what_a_file_may_say():
    """mistakes in a file have line and column"""
    good = programs("true", "sleep 9")
    channel, aggressor = good["channels"][0], good["aggressors"][0]
    for change, error in (({"task": 1}, "task"), ({"colour": "red"}, "colour"),
                          ({"task": {"command": "true", "cpu": "1"}}, "cpu"),
                          ({"aggressors": []}, "no aggressor"),
                          ({"aggressors": [aggressor] * 2}, "two aggressors 'somebody'"),
                          ({"channels": [channel] * 2}, "two channels 'the CPU'"),
                          ({"channels": [dict(channel, kind="y")]}, "kind 'y'"),
                          ({"channels": [dict(channel, kind="wait")]}, "needs 'per'"),
                          ({"aggressors": [dict(aggressor, levels=[1])]}, "5 to 15"),
                          ({"aggressors": [dict(aggressor, levels=[1, 2, 3, 5, 4])]}, "ascending")):
        done = interference({**good, **change}, status=2)
        check(re.search(r"file\.json:\d+:\d+: ", done.stderr) and error in done.stderr,
              f"{change}: {done.stderr}")


@test
def loads():
    """perfctr-load does the amount of --amount, at most at --rate"""
    for kind, unit in (("read", "bytes"), ("write", "bytes"), ("copy", "bytes"),
                       ("chase", "loads"), ("spin", "rounds")):
        out = run(LOAD, "--size", "1Mi", "--amount", "4Mi", kind).stdout
        check(re.fullmatch(rf"{kind}: 4194304 {unit} in \d+\.\d+ s\n", out), out)
        begin = time.monotonic()
        run(LOAD, "-s", "64Ki", "-n", "1000000", "-r", "2500000", kind)
        took = time.monotonic() - begin
        check(took >= 0.4, f"{kind}: {took} s for 0.4 s")
    check("chase, spin or gpu" in run(LOAD, "x", status=2).stderr, "an unknown kind")
    # without a limit it runs until it is ended
    with subprocess.Popen([LOAD, "-s", "64Ki", "-r", "1000", "write"]) as load:
        time.sleep(0.5)
        check(load.poll() is None, "ended")
        load.terminate()
    # a machine without EGL or without a GPU says what is missing
    done = subprocess.run([LOAD, "-n", "4", "gpu"], capture_output=True, text=True, timeout=300,
                          check=False)
    check((done.returncode == 0 and "gpu: 4 triangles in" in done.stdout) or
          (done.returncode == 1 and re.search("libegl1|no GPU", done.stderr)), f"{done}")
    check(done.returncode or os.path.exists("/dev/dri"), "a GPU of nothing")


if __name__ == "__main__":
    sys.exit(harness.main())
