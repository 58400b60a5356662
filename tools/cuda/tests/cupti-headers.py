#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: cupti-headers.py [FOLDER]
Our declarations of NVIDIA's driver and CUPTI against NVIDIA's own headers, where these are
installed, else nothing: sizes of arguments, places and sizes of members, numbers, arguments of
functions. Nothing of the headers is kept. Prints TAP."""

import os
import re
import subprocess
import sys
import tempfile

sys.path.append(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../tests"))
import harness
from harness import check, test

TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../../.."))
OURS = os.path.join(TOP, "tools/cuda/cuda.h")
FOLDERS = [*sys.argv[1:], *(os.path.join(os.environ[v], "include") for v in
                            ("CUDA_HOME", "CUDA_PATH") if v in os.environ),
           "/usr/local/cuda/include", "/usr/local/cuda/extras/CUPTI/include", "/usr/include"]
HEADERS = ("cuda.h", "cupti_result.h", "cupti_version.h", "cupti_target.h",
           "cupti_profiler_target.h", "cupti_profiler_host.h", "cupti_range_profiler.h")
NUMBERS = {
    "CUDA_NO_DEVICE": "CUDA_ERROR_NO_DEVICE",
    "CUDA_NO_BINARY": "CUDA_ERROR_NO_BINARY_FOR_GPU",
    "CUDA_CC_MAJOR": "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR",
    "CUDA_CC_MINOR": "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
    "CUPTI_INVALID_PARAMETER": "CUPTI_ERROR_INVALID_PARAMETER",
    "CUPTI_INVALID_OPERATION": "CUPTI_ERROR_INVALID_OPERATION",
    "CUPTI_OVERFLOW": "CUPTI_ERROR_OUT_OF_MEMORY",
    "CUPTI_UNKNOWN_METRIC": "CUPTI_ERROR_INVALID_METRIC_NAME",
    "CUPTI_BUSY": "CUPTI_ERROR_HARDWARE_BUSY",
    "CUPTI_NOT_SUPPORTED": "CUPTI_ERROR_NOT_SUPPORTED",
    "CUPTI_NO_PRIVILEGE": "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES",
    "CUPTI_NO_PRIVILEGE_VGPU": "CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES",
    "CUPTI_CONFIDENTIAL": "CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED",
    "CUPTI_MINING_CARD": "CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED",
    "CUPTI_MIG": "CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED",
    "CUPTI_SLI": "CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED",
    "CUPTI_WSL": "CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED",
    "CUPTI_CHIP_NAME": "CUPTI_ERROR_INVALID_CHIP_NAME",
    "CUPTI_UNKNOWN": "CUPTI_ERROR_UNKNOWN",
    "CUPTI_KIND_RANGE": "CUPTI_PROFILER_TYPE_RANGE_PROFILER",
    "CUPTI_API_RANGE": "CUPTI_PROFILER_RANGE_PROFILING",
    "CUPTI_USER_RANGE": "CUPTI_UserRange",
    "CUPTI_USER_REPLAY": "CUPTI_UserReplay",
    "CUPTI_SUPPORT_DISABLED": "CUPTI_PROFILER_CONFIGURATION_DISABLED",
    "CUPTI_SUPPORTED": "CUPTI_PROFILER_CONFIGURATION_SUPPORTED",
}


def find(name):
    return next((os.path.join(f, name) for f in FOLDERS if os.path.exists(os.path.join(f, name))),
                None)


def read(path):
    """A header without its comments."""
    with open(path, encoding="utf-8", errors="replace") as f:
        return re.sub(r"/\*.*?\*/|//[^\n]*", "", f.read(), flags=re.S)


def functions():
    """{name: types of the arguments} of ours"""
    text = read(OURS).replace("\\\n", " ")
    found = re.findall(r"X\((cu\w+),\s*\(([^()]*)\)\)", text)
    check(len(found) == len(re.findall(r"X\(cu", text)) > 35, f"{len(found)}")
    return {n: [" ".join(a.split()) for a in t.split(",") if a.strip() != "void"] for n, t in found}


def theirs():
    return "\n".join(read(find(h)) for h in HEADERS)


def arguments_of(text, name):
    """Types of the arguments of NVIDIA's function."""
    plain = name if re.search(rf"\b{name}\s*\(", text) else re.sub(r"_v\d$", "", name)
    # a declaration, not its definition as another name
    found = re.findall(rf"\bCU\w*\s+CU\w*API\s+{plain}\s*\(([^()]*)\)\s*;", text)
    check(found, f"{name}: not in the headers")
    return [re.sub(r"\s*\b\w+\s*$", "", " ".join(a.split())) if not a.strip().endswith("*") else
            a.strip() for a in found[0].split(",") if a.strip() != "void"]


def members(text, name):
    body = re.search(rf"typedef\s+struct\s+\w*\s*\{{([^}}]*)\}}\s*{name}\s*;", text)
    check(body, f"{name}: no struct")
    return re.findall(r"(\w+)\s*(?:,|;)", re.sub(r"\[[^]]*\]", "", body[1]))


def compile_asserts(asserts):
    """A failed assertion is named by its text."""
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "compare.cpp")
        with open(path, "w", encoding="ascii") as f:
            f.write("#include <cstddef>\n" + "".join(f"#include <{h}>\n" for h in HEADERS) +
                    f'#include "{OURS}"\n' +
                    "".join(f'static_assert({a}, "{a}");\n' for a in asserts))
        places = sorted({os.path.dirname(find(h)) for h in HEADERS})
        done = subprocess.run([os.environ.get("CXX", "c++"), "-std=c++17", "-fsyntax-only",
                               "-Wno-invalid-offsetof", *(f"-I{p}" for p in places), path],
                              stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 0, done.stderr[:3000])


@test
def structures():
    """arguments of CUPTI have NVIDIA's sizes, and their members NVIDIA's places and sizes"""
    text, own, asserts, seen = theirs(), read(OURS), [], 0
    for name, types in functions().items():
        ours = re.fullmatch(r"struct (cupti_\w+) \*", types[0]) if len(types) == 1 else None
        if not ours:
            continue
        there = re.sub(r"[\s*]", "", arguments_of(text, name)[0])
        body = re.search(rf"struct {ours[1]} \{{(.*?)\}};", own, re.S)[1]
        mine = re.findall(r"(\w+)\s*(?:,|;)", body.replace("CUPTI_HEAD", "size; reserved"))
        list_ = members(text, there)
        check(len(mine) == len(list_), f"{name}: {mine} {list_}")
        for a, b in zip(mine, list_):
            asserts += [f"offsetof(struct {ours[1]}, {a}) == offsetof({there}, {b})",
                        f"sizeof(((struct {ours[1]} *)0)->{a}) == sizeof((({there} *)0)->{b})"]
        asserts.append(f"offsetof(struct {ours[1]}, {mine[-1]}) + "
                       f"sizeof(((struct {ours[1]} *)0)->{mine[-1]}) == {there}_STRUCT_SIZE")
        seen += 1
    check(seen > 20 and len(asserts) > 200, f"{seen} {len(asserts)}")
    compile_asserts(asserts)


@test
def numbers():
    """results, kinds and attributes have NVIDIA's numbers"""
    names = set(re.findall(r"\b(CU[A-Z_]+) = \d+", read(OURS)))
    check(names == set(NUMBERS), f"{names ^ set(NUMBERS)}")
    compile_asserts([f"(int){a} == (int){b}" for a, b in NUMBERS.items()])


@test
def arguments():
    """functions take as many arguments as NVIDIA's, of the same sizes, pointers where those do"""
    text, asserts = theirs(), []
    for name, mine in functions().items():
        list_ = arguments_of(text, name)
        check(len(mine) == len(list_), f"{name}: {mine} {list_}")
        for a, b in zip(mine, list_):
            # handles are pointers, or numbers of the driver
            check(not a.endswith("**") or b.endswith("*"), f"{name}: {a} is {b}")
            asserts.append(f"sizeof({a}) == sizeof({b})")
            if a.endswith("*") and not a.startswith("struct") and "void" not in a and \
                    b.endswith("*"):
                asserts.append(f"sizeof({a[:-1].strip()}) == sizeof({b[:-1].strip()})")
    compile_asserts(asserts)


if __name__ == "__main__":
    MISSING = [h for h in HEADERS if not find(h)]
    if MISSING:
        # nothing that the tests install brings them
        print("# left out: the CUDA toolkit is not installed: no " + ", ".join(MISSING))
        sys.exit(0)
    sys.exit(harness.main())
