#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""usage: test-vulkan.py BUILD: perfctr's Vulkan layer, on Mesa's driver for the CPU in an X server.

Programs are our own "present" and Debian's vkcube. Khronos' validation layer is below ours, and
judges what both call. Prints TAP; no device and no kernel module."""

import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../..")
sys.path.insert(0, os.path.join(TOP, "tools/tests"))
import harness  # noqa: E402
from harness import check, run, test  # noqa: E402

BUILD = os.path.realpath(sys.argv[1])
PERFCTR = f"{BUILD}/bin/perfctr"
PRESENT = f"{BUILD}/tests/vulkan/present"
VALIDATION = "VK_LAYER_KHRONOS_validation"
SAID = "perfctr's Vulkan layer: "
NOBODY = "setpriv", "--reuid", str(harness.NOBODY), "--regid", str(harness.NOBODY), "--clear-groups"


def start_server():
    """An X server, which writes its number when it is ready."""
    reader, writer = os.pipe()
    server = subprocess.Popen(("Xvfb", "-displayfd", str(writer), "-screen", "0", "320x240x24",
                               "-nolisten", "tcp", "-noreset"), pass_fds=(writer,),
                              stderr=subprocess.DEVNULL)
    os.close(writer)
    with os.fdopen(reader) as f:
        os.environ["DISPLAY"] = ":" + f.readline().strip()
    check(os.environ["DISPLAY"] != ":", "Xvfb does not start")
    return server


def program(*command, status=0, validation=True, **variables):
    """Run a Vulkan program with the layer of this build, if variables want it."""
    environment = {**os.environ, "XDG_DATA_HOME": BUILD, **variables}
    if validation:
        environment["VK_INSTANCE_LAYERS"] = VALIDATION
    return run(*command, status=status, env=environment)


def record(*command, wanted=True, recorder=(), **variables):
    """{(kind, name): its marks} of a recording of the program, and what was printed."""
    if wanted:
        variables["PERFCTR_VULKAN"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        capture = os.path.join(folder, "c")
        done = program(PERFCTR, "record", *recorder, "-q", "-d", "local", "-p", "10ms", "-e",
                       "software/task-clock/", "-o", capture, "--", *command, **variables)
        marks = json.loads(run(PERFCTR, "report", "--json", capture).stdout)["marks"]
    found = collections.defaultdict(list)
    for mark in marks:
        found[mark["kind"], mark["name"]].append(mark)
    return found, done


def quiet(done):
    """Neither the layer nor the validation layer says anything."""
    check(SAID not in done.stderr and "Validation" not in done.stdout + done.stderr,
          done.stdout + done.stderr)


def counts(found, kind):
    return {name: len(marks) for (k, name), marks in found.items() if k == kind}


@test
def judge():
    """the validation layer is below ours, and complains about a program's error"""
    done = program(PRESENT, "2", "1", "wrong", status=1, PERFCTR_VULKAN="1",
                   VK_LOADER_DEBUG="layer")
    layers = re.findall(r"(?:LAYER: +|<)(VK_LAYER_PERFCTR_marks|VK_LAYER_KHRONOS_validation)\b",
                        done.stderr)
    check(layers and layers[0] == "VK_LAYER_PERFCTR_marks" and layers[-1] == VALIDATION, layers)
    check("VUID-VkPresentInfoKHR-pImageIndices" in done.stderr, done.stderr[-2000:])


@test
def absent():
    """without PERFCTR_VULKAN=1, or with DISABLE_PERFCTR_VULKAN=1, nothing is marked"""
    for wanted, variables in (False, {}), (False, {"PERFCTR_VULKAN": "0"}), \
                             (True, {"DISABLE_PERFCTR_VULKAN": "1"}):
        found, done = record(PRESENT, "3", wanted=wanted, **variables)
        quiet(done)
        check(not found, found)


@test
def frames_and_labels():
    """each present is a frame, each label of a queue a phase, whose name fits into a mark"""
    found, done = record(PRESENT, "12")
    quiet(done)
    check(counts(found, "frame") == {"frame": 12}, counts(found, "frame"))
    long = "x" + 63 * "\u00e4"
    phases = {"whole": 12, "inner": 12, long: 1, "label": 1, "last": 1,
              **{f"deep {n}": 1 for n in range(16)}}
    check(counts(found, "phase") == phases, counts(found, "phase"))
    check(counts(found, "point") == {"submitted": 12}, counts(found, "point"))
    # an end belongs to the last beginning; that of "last" is the end of the device
    for inner, whole in zip(found["phase", "inner"], found["phase", "whole"]):
        check(whole["start_ns"] <= inner["start_ns"] <= inner["end_ns"] <= whole["end_ns"],
              f"{inner} {whole}")
    check(all(mark["end_ns"] for marks in found.values() for mark in marks), "a phase is open")
    # frames follow one another, and each has its label within
    frames = found["frame", "frame"]
    for frame, after in zip(frames, frames[1:]):
        check(frame["end_ns"] == after["start_ns"], frames)
    for frame, whole in zip(frames, found["phase", "whole"]):
        check(frame["start_ns"] <= whole["start_ns"] <= whole["end_ns"] <= frame["end_ns"],
              f"{frame} {whole}")


@test
def threads():
    """threads with an instance, a device and a window each have frames of their own"""
    found, done = record(PRESENT, "20", "4")
    quiet(done)
    threads = collections.Counter(mark["tid"] for mark in found["frame", "frame"])
    check(sorted(threads.values()) == [20] * 4, threads)
    check(len(found["phase", "whole"]) == 80, len(found["phase", "whole"]))


@test
def waits():
    """PERFCTR_VULKAN_WAIT=1: the GPU has done a label's work at its end, else it has not"""
    _, done = record(PRESENT, "8", PERFCTR_VULKAN_WAIT="1")
    quiet(done)
    check(done.stdout == "8\n", done.stdout)
    _, done = record(PRESENT, "8")
    check(int(done.stdout) < 8, f"the program's own frames are too short to tell: {done.stdout}")


@test
def stuck():
    """a queue that waits for what the program does next is waited for 5 s, and not again"""
    found, done = record(PRESENT, "5", "1", "stuck", PERFCTR_VULKAN_WAIT="1")
    check(done.stderr.count(SAID) == 1 and "not idle after 5 s" in done.stderr, done.stderr)
    check("Validation" not in done.stderr and done.stdout != "5\n", done.stderr + done.stdout)
    check(counts(found, "frame") == {"frame": 5}, counts(found, "frame"))


@test
def recording():
    """PERFCTR_VULKAN_RECORDING=1: labels of command buffers are phases of their recording"""
    found, done = record(PRESENT, "12", PERFCTR_VULKAN_RECORDING="1")
    quiet(done)
    phases = counts(found, "phase")
    check(phases["record clear"] == 12 and phases["whole"] == 12, phases)
    # without an end of its own: that of the recording, before it is submitted
    check(phases["record open"] == 3, phases)
    for n, mark in enumerate(found["phase", "record open"]):
        check(mark["end_ns"] <= found["phase", "whole"][4 * n + 3]["start_ns"], mark)
    check(counts(found, "point") == {"record here": 12, "submitted": 12}, counts(found, "point"))
    for clear, whole in zip(found["phase", "record clear"], found["phase", "whole"]):
        check(clear["end_ns"] <= whole["start_ns"], "recorded after it was submitted")


@test
def failing():
    """a mark that fails is no matter of the program, and said once"""
    if os.geteuid():
        return "needs root, which another user's program cannot mark for"
    with tempfile.TemporaryDirectory() as folder:
        # copies, because the folder of the build may be closed to other users, as root's is
        os.chmod(folder, 0o755)
        shutil.copytree(f"{BUILD}/vulkan", f"{folder}/vulkan")
        for manifest in glob.glob(f"{folder}/vulkan/*/*.json"):
            with open(manifest, encoding="utf-8") as f:
                text = f.read()
            harness.write(manifest, text.replace(f"{BUILD}/", f"{folder}/"))
        found, done = record(*NOBODY, shutil.copy(PRESENT, folder), "6", XDG_DATA_HOME=folder)
    check(not found and done.stdout.strip().isdigit(), f"{found} {done}")
    # Mesa may say as much of its cache in root's home
    said = re.findall(SAID + ".*", done.stderr)
    check(len(said) == 1 and ": Permission denied (" in said[0], done.stderr)
    return None


@test
def unloaded():
    """an instance that is destroyed, and the layer with it, leaves no open file"""
    found, done = record(PRESENT, "2", "1", "again")
    quiet(done)
    check(len(found["phase", "whole"]) == 20, counts(found, "phase"))
    # what is between two devices is no frame
    check(counts(found, "frame") == {"frame": 20}, counts(found, "frame"))


@test
def without_recorder():
    """without a recorder the layer is silent"""
    done = program(PRESENT, "3", PERFCTR_VULKAN="1")
    quiet(done)


@test
def perfkit():
    """perfctr perfkit --frames counts presents, without a variable"""
    done = program(PERFCTR, "perfkit", "--json", "-d", "local", "--frames", "3", "--skip", "2",
                   "-e", "software/task-clock/", "--", PRESENT, "9")
    quiet(done)
    # the program's own line follows the document, or precedes it
    result = json.loads(done.stdout[done.stdout.index("{"):done.stdout.rindex("}") + 1])
    check((result["frames"], result["frames_skipped"]) == (3, 2), result)
    counter = result["counters"][0]
    check(counter["measured"] == 3 and counter["state"] == "ok", counter)
    # the user's choice
    done = program(PERFCTR, "perfkit", "-d", "local", "--frames", "1", "-e",
                   "software/task-clock/", "--", PRESENT, "2", status=1, PERFCTR_VULKAN="0")
    check("reported no frame. Vulkan programs do" in done.stderr and
          "0 frames counted of 1 wanted" in done.stderr, done.stderr)


@test
def vkcube():
    """frames of Debian's vkcube are what it presents, with labels in its command buffers"""
    found, done = record("vkcube", "--c", "25", "--validate", "--suppress_popups",
                         PERFCTR_VULKAN_RECORDING="1")
    quiet(done)
    check(counts(found, "frame") == {"frame": 25}, counts(found, "frame"))
    check("record DrawBegin" in counts(found, "phase"), counts(found, "phase"))


@test
def installed():
    """make install: a manifest with the library's path"""
    for prefix in "/usr/local", "/opt/x":
        with tempfile.TemporaryDirectory() as folder:
            run("make", "-s", "-C", f"{TOP}/tools", "install", f"DESTDIR={folder}",
                f"PREFIX={prefix}", f"BUILD={BUILD}",
                f"SYSCONFDIR={prefix}/etc", timeout=300)
            root = folder + prefix
            with open(f"{root}/share/vulkan/implicit_layer.d/VkLayer_perfctr.json",
                      encoding="utf-8") as f:
                layer = json.load(f)["layer"]
            check(layer["library_path"] == f"{prefix}/lib/perfctr/libVkLayer_perfctr.so", layer)
            check(os.path.exists(folder + layer["library_path"]), os.listdir(root))


def main():
    drivers = glob.glob("/usr/share/vulkan/icd.d/lvp_icd*.json")
    check(len(drivers) == 1, f"mesa-vulkan-drivers is not installed: {drivers}")
    # both names: of old and of newer loaders
    os.environ["VK_ICD_FILENAMES"] = os.environ["VK_DRIVER_FILES"] = drivers[0]
    for name in "PERFCTR_VULKAN", "PERFCTR_VULKAN_WAIT", "PERFCTR_VULKAN_RECORDING":
        os.environ.pop(name, None)
    server = start_server()
    try:
        return harness.main()
    finally:
        server.kill()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
