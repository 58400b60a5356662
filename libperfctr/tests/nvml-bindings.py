#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: nvml-bindings.py
The library's own declarations of NVML, against those that bindgen made of NVIDIA's header for
Debian's package librust-nvml-wrapper-sys-dev. Prints TAP."""

import glob
import os
import re
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path.insert(0, os.path.join(TOP, "tools/tests"))
from harness import check, main, test  # noqa: E402  (found through the path above)

OURS = "libperfctr/src/local/nvml.h"
BINDINGS = "/usr/share/cargo/registry/nvml-wrapper-sys-*/src/bindings.rs"
STRUCTS = {
    "nvml_utilization": "nvmlUtilization_t", "nvml_memory": "nvmlMemory_t",
    "nvml_process": "nvmlProcessInfo_t", "nvml_process_use": "nvmlProcessUtilizationSample_t",
    "nvml_field": "nvmlFieldValue_t", "nvml_gpm_support": "nvmlGpmSupport_t",
    "nvml_gpm_metric": "nvmlGpmMetric_t", "nvml_gpm": "nvmlGpmMetricsGet_t"}
NUMBERS = {
    "NVML_OK": "SUCCESS", "NVML_NOT_SUPPORTED": "ERROR_NOT_SUPPORTED",
    "NVML_NO_PERMISSION": "ERROR_NO_PERMISSION", "NVML_NOT_FOUND": "ERROR_NOT_FOUND",
    "NVML_TOO_SMALL": "ERROR_INSUFFICIENT_SIZE", "NVML_NO_DRIVER": "ERROR_DRIVER_NOT_LOADED",
    "NVML_NO_FUNCTION": "ERROR_FUNCTION_NOT_FOUND", "NVML_GPU_LOST": "ERROR_GPU_IS_LOST",
    "NVML_OTHER_VERSION": "ERROR_LIB_RM_VERSION_MISMATCH", "NVML_NO_DATA": "ERROR_NO_DATA",
    "NVML_TEMPERATURE_GPU": "TEMPERATURE_GPU", "NVML_CLOCK_GRAPHICS": "CLOCK_GRAPHICS",
    "NVML_CLOCK_SM": "CLOCK_SM", "NVML_CLOCK_MEMORY": "CLOCK_MEM",
    "NVML_CLOCK_VIDEO": "CLOCK_VIDEO", "NVML_U32": "VALUE_TYPE_UNSIGNED_INT",
    "NVML_ULONG": "VALUE_TYPE_UNSIGNED_LONG", "NVML_U64": "VALUE_TYPE_UNSIGNED_LONG_LONG",
    "NVML_FIELD_THROTTLE_POWER": "FI_DEV_PERF_POLICY_POWER",
    "NVML_FIELD_THROTTLE_THERMAL": "FI_DEV_PERF_POLICY_THERMAL",
    "NVML_FIELD_THROTTLE_SYNC_BOOST": "FI_DEV_PERF_POLICY_SYNC_BOOST",
    "NVML_FIELD_THROTTLE_BOARD_LIMIT": "FI_DEV_PERF_POLICY_BOARD_LIMIT",
    "NVML_FIELD_THROTTLE_LOW_UTILIZATION": "FI_DEV_PERF_POLICY_LOW_UTILIZATION",
    "NVML_FIELD_THROTTLE_RELIABILITY": "FI_DEV_PERF_POLICY_RELIABILITY",
    "NVML_FIELD_THROTTLE_APP_CLOCKS": "FI_DEV_PERF_POLICY_TOTAL_APP_CLOCKS",
    "NVML_FIELD_THROTTLE_BASE_CLOCKS": "FI_DEV_PERF_POLICY_TOTAL_BASE_CLOCKS",
    "NVML_FIELD_NVLINK_TX": "FI_DEV_NVLINK_THROUGHPUT_DATA_TX",
    "NVML_FIELD_NVLINK_RX": "FI_DEV_NVLINK_THROUGHPUT_DATA_RX",
    "NVML_GPM_VERSION": "GPM_METRICS_GET_VERSION"}
# of NVML 12 and 13, which Debian's bindings do not have
UNKNOWN = {"NVML_FIELD_PCIE_TX", "NVML_FIELD_PCIE_RX", "NVML_GPM_SM_CYCLES", "NVML_GPM_SM_ACTIVE",
           "NVML_GPM_TENSOR_ACTIVE"}
C_TYPES = {"raw::c_uint": "unsigned int", "raw::c_int": "int", "u32": "unsigned int",
           "raw::c_ulong": "unsigned long", "raw::c_ulonglong": "unsigned long long",
           "raw::c_longlong": "long long", "f64": "double", "raw::c_char": "char"}


class Bindings:
    """Rust's declarations, in C"""

    def __init__(self, path):
        with open(path, encoding="utf-8") as f:
            self.text = f.read()
        self.aliases = dict(re.findall(r"^pub type (\w+) = ([^;]+);", self.text, re.M))
        self.aliases |= {new: old for old, new in re.findall(
            r"^pub use self::(\w+) as (\w+);", self.text, re.M)}
        self.bodies = {name: (kind, body) for kind, name, body in re.findall(
            r"^pub (struct|union) (\w+) \{\n(.*?)^\}", self.text, re.M | re.S)}

    def members(self, name):
        return re.findall(r"^    pub (\w+): ([^,]+),", self.bodies[self.resolve(name)][1], re.M)

    def resolve(self, name):
        while name in self.aliases:
            name = self.aliases[name]
        return name

    def c_type(self, rust, name=""):
        """A C declaration of that type."""
        rust = self.resolve(rust)
        array = re.fullmatch(r"\[(.+); (\d+)usize\]", rust)
        if array:
            return self.c_type(array[1], f"{name}[{array[2]}]")
        if rust.startswith("*"):
            return f"void *{name}"
        if rust in C_TYPES:
            return f"{C_TYPES[rust]} {name}"
        kind, _ = self.bodies[rust]
        inner = " ".join(self.c_type(t, n) + ";" for n, t in self.members(rust))
        return f"{kind} {{ {inner} }} {name}"

    def number(self, name):
        found = set(re.findall(rf"pub const (?:\w+_)?NVML_{name}: \w+ = (\d+);", self.text))
        check(len(found) == 1, f"{name}: {found}")
        return int(found.pop())

    def arguments(self, name):
        """The C types of a function's arguments, None: not in this version."""
        found = re.search(rf"pub unsafe fn {name}\(\s*&self,?(.*?)\)", self.text, re.S)
        return found and re.findall(r"\w+:\s*([^,]+?)(?:,|$)", found[1])


def read_ours():
    with open(os.path.join(TOP, OURS), encoding="utf-8") as f:
        return f.read()


def compile_asserts(declarations, asserts):
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "compare.c")
        with open(path, "w", encoding="ascii") as f:
            f.write("#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\n"
                    f'#include "{TOP}/{OURS}"\n' + "\n".join(declarations) + "\n" +
                    "".join(f'_Static_assert({a}, "differs");\n' for a in asserts))
        done = subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-fsyntax-only", path],
                              stderr=subprocess.PIPE, text=True, check=False)
    check(done.returncode == 0, done.stderr)


@test
def numbers():
    """the numbers of results, fields, clocks and types are NVIDIA's"""
    bindings = Bindings(PATH)
    names = set(re.findall(r"^\t(NVML_\w+)(?: =|,)", read_ours(), re.M))
    # those before the results are ours
    names -= set(re.findall(r"^\t(NVML_\w+)", read_ours().split("enum {")[1], re.M))
    check(names == set(NUMBERS) | UNKNOWN, f"{names ^ (set(NUMBERS) | UNKNOWN)}")
    compile_asserts([], [f"{a} == {bindings.number(b)}" for a, b in NUMBERS.items()])


@test
def structures():
    """the structures have NVIDIA's sizes, and their members NVIDIA's places, sizes and signs"""
    bindings = Bindings(PATH)
    declarations, asserts = [], []
    for ours, theirs in STRUCTS.items():
        declarations.append(bindings.c_type(theirs, f"the_{ours}") + ";")
        body = re.search(rf"^struct {ours} \{{(.*?)^\}};", read_ours(), re.M | re.S)[1]
        body = re.sub(r"/\*.*?\*/|union \{.*?\}|\[.*?\]", "", body, flags=re.S)
        mine = [re.sub(r"\W", "", name) for line in body.split(";") if line.strip()
                for name in re.sub(r"^.*?(\S+(,|$))", r"\1", line.strip()).split(",")]
        members = bindings.members(theirs)
        if ours == "nvml_gpm_metric":  # three names, of which none is read
            members, mine = members[:-1], mine[:-3]
        check(len(mine) == len(members) > 1, f"{ours}: {mine} {members}")
        for name, (member, _) in zip(mine, members):
            there, here = f"the_{ours}.{member}", f"((struct {ours} *)0)->{name}"
            asserts.append(f"offsetof(struct {ours}, {name}) == "
                           f"offsetof(__typeof__(the_{ours}), {member})")
            if name == "metrics":  # as many as the caller says; NVIDIA's header has room for all
                there, here = there + "[0]", here + "[0]"
            asserts.append(f"sizeof({here}) == sizeof({there})")
        if ours != "nvml_gpm":
            asserts.append(f"sizeof(struct {ours}) == sizeof(the_{ours})")
    for ours, theirs in ("real", "dVal"), ("u32", "uiVal"), ("ulong", "ulVal"), ("u64", "ullVal"):
        asserts.append(f"__builtin_types_compatible_p(__typeof__(((struct nvml_field *)0)->value."
                       f"{ours}), __typeof__(the_nvml_field.value.{theirs}))")
    compile_asserts(declarations, asserts)


@test
def functions():
    """the functions take NVIDIA's arguments"""
    bindings = Bindings(PATH)
    text = re.search(r"#define NVML_FUNCTIONS.*?\n\n", read_ours(), re.S)[0].replace("\\\n", "")
    calls = re.findall(r'X\(\w+, "(\w+)",\s*(?:NULL|"(\w+)"),\s*\(([^()]*)\)\)', text)
    check(len(calls) == text.count("X(") > 15, f"{len(calls)} {text.count('X(')}")
    for name, old, arguments in calls:
        mine = [] if arguments == "void" else [a.strip() for a in arguments.split(",")]
        for function in filter(None, (name, old)):
            theirs = bindings.arguments(function)
            check(theirs is not None and len(theirs) == len(mine), f"{function}: {theirs} {mine}")
            for a, b in zip(mine, theirs):
                b = bindings.resolve(b)
                struct = re.fullmatch(r"struct (\w+) \*", a)
                target = re.sub(r"^\*(?:mut|const) ", "", b)
                known = {STRUCTS[struct[1]], "nvmlProcessInfo_v2_t"} if struct else ()
                same = target in known if struct else \
                    b.startswith("*") if a.endswith("*") else \
                    C_TYPES.get(b) in (a, {"int": "unsigned int"}.get(a))
                check(same, f"{function}: {a} is {b}")


PATH = (glob.glob(BINDINGS) or [""])[-1]
if __name__ == "__main__":
    sys.exit(main(None if PATH else f"no {BINDINGS}: install librust-nvml-wrapper-sys-dev"))
