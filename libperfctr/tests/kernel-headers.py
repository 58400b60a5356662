#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""usage: kernel-headers.py [newest]
The library's own declarations of kernel interfaces, against the headers of 6.12 or of the newest
kernel. Prints TAP."""

import os
import re
import struct
import subprocess
import sys
import tempfile

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
BUILD = os.environ.get("BUILD") or os.path.join(TOP, "build")
sys.path.insert(0, os.path.join(TOP, "tools/tests"))
from harness import check, main, test  # noqa: E402  (found through the path above)

WHICH = sys.argv[1:2]

HEADER = "drivers/gpu/drm/amd/include/kgd_pp_interface.h"
# what the library leaves out, see gpu_metrics.c
LEFT_OUT = re.compile(r"(.*\.)?(common_header|padding\d?(-\d+)?|system_clock_counter|fan_pwm|"
                      r"firmware_timestamp|mem_max_bandwidth|time_filter_alphavalue)")
MEMBER = re.compile(r"^\s*(u?int(\d+)_t|struct (\w+))\s+(\w+)(?:\[(\w+)\])?;", re.M)
CHUNKS = r"^#define (?:NUM|MAX)_\w+ +\d+$|^#define AMDGPU_METRICS_(?:[^\n]*\\\n)*[^\n]*|" \
    r"^(?:struct|enum) (?:metrics_table_header|amdgpu_metrics_\w+|amdgpu_xcp_metrics\w*|" \
    r"gpu_metrics_v\d_\d) \{.*?^\};"


class Kernel:
    """The header's structures, as the compiler lays them out."""

    def __init__(self, folder, work):
        with open(os.path.join(folder, HEADER), encoding="utf-8") as f:
            self.text = f.read()
        self.chunks = re.findall(CHUNKS, self.text, re.M | re.S)
        self.structs = {m[1]: m[2] for m in re.finditer(r"struct (\w+) \{(.*?)^\};",
                                                        "\n".join(self.chunks), re.M | re.S)}
        self.numbers = dict(re.findall(r"#define ((?:NUM|MAX)_\w+) +(\d+)", self.text))
        self.work = work

    def run(self, body):
        """Standard output of C statements that know the header."""
        source, program = (os.path.join(self.work, name) for name in ("truth.c", "truth"))
        with open(source, "w", encoding="ascii") as f:
            f.write("#include <stdio.h>\n#include <stdint.h>\n#include <stddef.h>\n"
                    "typedef uint64_t u64;\nstruct gpu_metrics_attr { u64 a; void *b; };\n" +
                    "\n".join(self.chunks).encode("ascii", "ignore").decode() +
                    f"\nint main(void) {{ {body} return 0; }}\n")
        subprocess.run([os.environ.get("CC", "cc"), "-o", program, source], check=True)
        return subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout

    def members(self, name, prefix=""):
        """The values of a structure, each with its C expression."""
        for _, bits, inner, member, count in MEMBER.findall(self.structs[name]):
            indices = range(int(self.numbers.get(count, count))) if count else [None]
            for n in indices:
                text = member if n is None else f"{member}-{n}"
                c = member if n is None else f"{member}[{n}]"
                if not inner:
                    yield prefix + text, c, int(bits) // 8
                elif inner != "metrics_table_header":
                    for a, b, size in self.members(inner):
                        yield f"{text}.{a}", f"{c}.{b}", size

    def formats(self):
        return sorted(n[len("gpu_metrics_v"):] for n in self.structs
                      if n.startswith("gpu_metrics_v"))


def build_printer(work):
    program = os.path.join(work, "print-gpu-metrics")
    flags = subprocess.run(["pkg-config", "--cflags", "libdrm"], stdout=subprocess.PIPE, text=True,
                           check=True).stdout.split()
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-D_GNU_SOURCE", *flags,
                    *(f"-I{TOP}/{folder}" for folder in ("libperfctr/src", "libperfctr/include",
                                                         "include/uapi")),
                    "-o", program, f"{TOP}/libperfctr/tests/print-gpu-metrics.c",
                    f"{BUILD}/lib/libperfctr.a", "-lm", "-pthread"], check=True)
    return program


def ours(printer, data):
    """Values that the library finds: name -> (place, bytes, kind)."""
    out = subprocess.run([printer], input=data, stdout=subprocess.PIPE, check=True).stdout.decode()
    check("refused" not in out, out)
    return {line.split()[0]: tuple(map(int, line.split()[1:])) for line in out.splitlines()}


def with_kernel(function):
    """Call a function with the kernel's header, or skip."""
    done = subprocess.run([os.path.join(TOP, "lab/vm/kernel_cache.py"), "source", *WHICH],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return f"no source of that kernel: {done.stderr.strip()}"
    with tempfile.TemporaryDirectory() as work:
        function(Kernel(done.stdout.strip(), work), build_printer(work))
    return None


@test
def layouts():
    """every value of every format of gpu_metrics is where the kernel's structure has it"""
    def compare(kernel, printer):
        formats = kernel.formats()
        known = [f"1_{n}" for n in range(10)] + [f"2_{n}" for n in range(5)] + ["3_0"]
        check(len(formats) > 10 and set(formats) <= set(known) and
              (formats == known or not WHICH), f"the kernel has the formats {formats}")
        for name in formats:
            if name == "1_9":
                continue
            c = f"struct gpu_metrics_v{name}"
            members = list(kernel.members(c.split()[1]))
            lines = kernel.run(f'printf("%zu\\n", sizeof({c}));' + "".join(
                f'printf("%zu\\n", offsetof({c}, {expression}));' for _, expression, _ in members))
            size, *places = map(int, lines.split())
            truth = {m[0]: (at, m[2]) for m, at in zip(members, places)
                     if not LEFT_OUT.fullmatch(m[0])}
            format_, content = map(int, name.split("_"))
            found = ours(printer, struct.pack("<HBB", size, format_, content) + bytes(size - 4))
            check({n: v[:2] for n, v in found.items()} == truth,
                  f"{name}: {set((n, v[:2]) for n, v in found.items()) ^ set(truth.items())}")
            check(len(truth) > 20, name)
    return with_kernel(compare)


def attributes():
    """the attributes of the format 1.9 have the kernel's numbers, types and units"""
    def compare(kernel, printer):
        def enumerators(name):
            return re.findall(r"\b(AMDGPU_METRICS_\w+)", re.search(
                rf"enum amdgpu_metrics_attr_{name} \{{(.*?)\}};", kernel.text, re.S)[1])

        ids, units, types = map(enumerators, ("id", "unit", "type"))
        check(len(units) == 12 and len(types) == 9, f"{units} {types}")
        # each attribute with two values of each type; degrees, so that all have a meaning
        wanted = [(i, t) for i in ids[:-1] for t in types[:-1]]
        lines = kernel.run("".join(
            f'printf("%llu\\n", (unsigned long long)AMDGPU_METRICS_ENC_ATTR('
            f'AMDGPU_METRICS_UNIT_TEMP_1, {t}, {i}, 2));' for i, t in wanted))
        for (name, type_), code in zip(wanted, map(int, lines.split())):
            size = int(re.search(r"\d+$", type_)[0]) // 8
            data = struct.pack("<HBBiQ", 0, 1, 9, 1, code) + bytes(2 * size)
            found = ours(printer, data)
            text = name[len("AMDGPU_METRICS_ATTR_ID_"):].lower()
            known = ids.index(name) <= ids.index("AMDGPU_METRICS_ATTR_ID_TEMPERATURE_XCD") and \
                not LEFT_OUT.fullmatch(text)
            check({n: v[:2] for n, v in found.items()} ==
                  ({f"{text}-{n}": (16 + n * size, size) for n in range(2)} if known else {}),
                  f"{name} {type_}: {found}")
        # units, of an attribute that has none of its own
        kinds = {}
        lines = kernel.run("".join(
            f'printf("%llu\\n", (unsigned long long)AMDGPU_METRICS_ENC_ATTR({u}, '
            f'AMDGPU_METRICS_TYPE_U32, AMDGPU_METRICS_ATTR_ID_NUM_PARTITION, 1));'
            for u in units[:-1]))
        for unit, code in zip(units, map(int, lines.split())):
            data = struct.pack("<HBBiQI", 0, 1, 9, 1, code, 5)
            kinds[unit] = [v[2] for v in ours(printer, data).values()]
        check([kinds[u] for u in units[:-1]] ==
              [[17], [3], [0], [1], [], [], [15], [15], [8], [9], [4]], f"{kinds}")
    return with_kernel(compare)


def same_as_kernel(header, kernel_header, same):
    """Compile assertions that know our header and the kernel's, or skip."""
    done = subprocess.run([os.path.join(TOP, "lab/vm/kernel_cache.py"), "source", *WHICH],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return f"no source of that kernel: {done.stderr.strip()}"
    uapi = os.path.join(done.stdout.strip(), "include/uapi/drm")
    with tempfile.TemporaryDirectory() as work:
        source = os.path.join(work, "same.c")
        with open(source, "w", encoding="ascii") as f:
            f.write(f"#include <stddef.h>\n#include \"{header}\"\n#include \"{kernel_header}\"\n" +
                    "".join(f'_Static_assert({text}, "{text}");\n' for text in same))
        done = subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-fsyntax-only", "-D__user=",
                               f"-I{TOP}/libperfctr/src", f"-I{uapi}", "-idirafter",
                               f"{uapi}/..", source], stderr=subprocess.PIPE, text=True,
                              check=False)
    check(not done.returncode, done.stderr)
    return None


def same_members(driver, members):
    return [f"offsetof(struct {driver}_{name}, {m}) == offsetof(struct drm_{driver}_{name}, {m})"
            for name, all_members in members.items() for m in all_members]


@test
def panfrost():
    """our declarations of panfrost's ioctls are the kernel's"""
    members = {"get_param": ("param", "pad", "value"), "perfcnt_enable": ("enable", "counterset"),
               "perfcnt_dump": ("buf_ptr",)}
    params = ("GPU_PROD_ID", "GPU_REVISION", "SHADER_PRESENT", "L2_PRESENT", "MEM_FEATURES")
    same = [f"PANFROST_{p} == (int)DRM_PANFROST_PARAM_{p}" for p in params]
    # our numbers are made of our structures, so that sizes are compared
    same += [f"PANFROST_{name.upper()} == DRM_IOCTL_PANFROST_{name.upper()}" for name in members]
    return same_as_kernel("host/panfrost_ioctls.h", "panfrost_drm.h",
                          same + same_members("panfrost", members))


@test
def panthor():
    """our declarations of panthor's ioctls are the kernel's"""
    members = {"dev_query": ("type", "size", "pointer"), "bo_create": ("size", "flags", "handle"),
               "bo_mmap_offset": ("handle", "offset"),
               "gpu_info": ("gpu_id", "l2_features", "mem_features", "shader_present",
                            "l2_present", "tiler_present")}
    calls = ("dev_query", "bo_create", "bo_mmap_offset")
    same = ["PANTHOR_DEV_QUERY_GPU_INFO == (int)DRM_PANTHOR_DEV_QUERY_GPU_INFO",
            "sizeof(struct panthor_gpu_info) >= sizeof(struct drm_panthor_gpu_info)"]
    same += [f"sizeof(struct panthor_{name}) == sizeof(struct drm_panthor_{name})"
             for name in calls]
    numbers = [f"(PANTHOR_{name.upper()} & 0xff) == DRM_COMMAND_BASE + DRM_PANTHOR_{name.upper()}"
               for name in calls]
    return same_as_kernel("session/panthor_ioctls.h", "panthor_drm.h",
                          same + numbers + same_members("panthor", members))


def msm():
    """our declarations of msm's ioctls are the kernel's"""
    params = ("CHIP_ID", "MAX_FREQ", "SUSPENDS", "SYSPROF")
    numbers = ("GET_PARAM", "SET_PARAM", "PERFCNTR_CONFIG")
    same = [f"MSM_{p} == (int)MSM_PARAM_{p}" for p in params]
    same += [f"MSM_{n} == DRM_IOCTL_MSM_{n}" for n in numbers]
    same += ["MSM_STREAM == MSM_PERFCNTR_STREAM", "MSM_UPDATE == MSM_PERFCNTR_UPDATE",
             "MSM_PIPE_GPU == MSM_PIPE_3D0", "offsetof(struct msm_param_args, len) == "
             "offsetof(struct drm_msm_param, len)", "sizeof(struct msm_perfcntr_group) == "
             "sizeof(struct drm_msm_perfcntr_group)"]
    members = {"perfcntr_group": ("group_name", "nr_countables", "countables"),
               "perfcntr_config": ("flags", "nr_groups", "groups", "period", "bufsz_shift",
                                   "group_stride")}
    return same_as_kernel("host/msm_ioctls.h", "msm_drm.h", same + same_members("msm", members))


def i915():
    """our declarations of i915's ioctls are the kernel's"""
    members = {"getparam": ("param", "value"),
               "perf_open_param": ("flags", "num_properties", "properties_ptr"),
               "perf_oa_config": ("uuid", "n_mux_regs", "n_boolean_regs", "n_flex_regs",
                                  "mux_regs_ptr", "boolean_regs_ptr", "flex_regs_ptr"),
               "perf_record_header": ("type", "pad", "size")}
    same = [f"I915_{p} == I915_PARAM_{p}"
            for p in ("CHIPSET_ID", "EU_TOTAL", "PERF_REVISION", "OA_TIMESTAMP_FREQUENCY")]
    same += [f"I915_{p} == (int)DRM_I915_PERF_PROP_{p}"
             for p in ("SAMPLE_OA", "OA_METRICS_SET", "OA_FORMAT", "OA_EXPONENT",
                       "POLL_OA_PERIOD")]
    same += ["I915_CLOEXEC == I915_PERF_FLAG_FD_CLOEXEC",
             "I915_DISABLED == I915_PERF_FLAG_DISABLED",
             "I915_NONBLOCK == I915_PERF_FLAG_FD_NONBLOCK",
             "I915_SAMPLE == (int)DRM_I915_PERF_RECORD_SAMPLE",
             "I915_REPORT_LOST == (int)DRM_I915_PERF_RECORD_OA_REPORT_LOST",
             "I915_BUFFER_LOST == (int)DRM_I915_PERF_RECORD_OA_BUFFER_LOST",
             "INTEL_STREAM_ENABLE == I915_PERF_IOCTL_ENABLE"]
    same += [f"I915_{n} == DRM_IOCTL_I915_{n}" for n in ("GETPARAM", "PERF_OPEN",
                                                         "PERF_ADD_CONFIG")]
    # numbers of the formats in oa_report.c
    same += ["I915_OA_FORMAT_A32u40_A4u32_B8_C8 == 10", "I915_OA_FORMAT_A24u40_A14u32_B8_C8 == 12"]
    return same_as_kernel("host/intel_ioctls.h", "i915_drm.h", same + same_members("i915", members))


def xe():
    """our declarations of xe's ioctls are the kernel's"""
    members = {"device_query": ("query", "size", "data"),
               "query_topology_mask": ("gt_id", "type", "num_bytes"),
               "query_oa_units": ("num_oa_units",),
               "oa_unit": ("oa_unit_id", "oa_unit_type", "oa_timestamp_freq", "gt_id",
                           "num_engines"),
               "observation_param": ("observation_type", "observation_op", "param"),
               "ext_set_property": ("property", "value"),
               "oa_config": ("uuid", "n_regs", "regs_ptr"),
               "oa_stream_status": ("oa_status",)}
    same = [f"sizeof(struct xe_{name}) == sizeof(struct drm_xe_{name})" for name in members]
    same += [f"XE_QUERY_{n} == DRM_XE_DEVICE_QUERY_{n}"
             for n in ("CONFIG", "GT_TOPOLOGY", "OA_UNITS")]
    same += [f"XE_TOPO_{n} == DRM_XE_TOPO_{n}"
             for n in ("DSS_GEOMETRY", "DSS_COMPUTE", "EU_PER_DSS", "SIMD16_EU_PER_DSS")]
    same += [f"XE_{n} == (int)DRM_XE_OA_PROPERTY_{n}"
             for n in ("OA_UNIT_ID", "SAMPLE_OA", "OA_METRIC_SET", "OA_FORMAT",
                       "OA_PERIOD_EXPONENT", "OA_DISABLED")]
    same += ["XE_OBSERVATION_TYPE_OA == (int)DRM_XE_OBSERVATION_TYPE_OA",
             "XE_OBSERVATION_OPEN == (int)DRM_XE_OBSERVATION_OP_STREAM_OPEN",
             "XE_OBSERVATION_ADD_CONFIG == (int)DRM_XE_OBSERVATION_OP_ADD_CONFIG",
             "XE_BUFFER_OVERFLOW == DRM_XE_OASTATUS_BUFFER_OVERFLOW",
             "XE_DEVICE_QUERY == DRM_IOCTL_XE_DEVICE_QUERY",
             "XE_OBSERVATION == DRM_IOCTL_XE_OBSERVATION",
             "INTEL_STREAM_ENABLE == (int)DRM_XE_OBSERVATION_IOCTL_ENABLE",
             "XE_STREAM_STATUS == (int)DRM_XE_OBSERVATION_IOCTL_STATUS",
             "DRM_XE_OA_UNIT_TYPE_OAG == 0", "DRM_XE_QUERY_CONFIG_REV_AND_DEVICE_ID == 0",
             "sizeof(struct drm_xe_engine_class_instance) == 8",
             "DRM_XE_OA_FORMAT_MASK_COUNTER_SEL == 0xff << 8", "DRM_XE_OA_FMT_TYPE_PEC == 5",
             "DRM_XE_OA_FORMAT_MASK_COUNTER_SIZE == 0xff << 16"]
    return same_as_kernel("host/intel_ioctls.h", "xe_drm.h", same + same_members("xe", members))


# our name: the kernel's lists of device numbers
INTEL = {"tiger_lake": ("TGL_GT1", "TGL_GT2"), "rocket_lake": ("RKL",), "dg1": ("DG1",),
         "alder_lake": ("ADLS", "ADLP", "ADLN"), "raptor_lake": ("RPLS", "RPLU", "RPLP"),
         "meteor_lake": ("MTL_U", "MTL"), "arrow_lake": ("ARL_H", "ARL_U", "ARL_S"),
         "lunar_lake": ("LNL",), "battlemage": ("BMG_G21", "BMG")}


def intel_devices():
    """our device numbers of Intel's GPUs are the kernel's"""
    done = subprocess.run([os.path.join(TOP, "lab/vm/kernel_cache.py"), "source", *WHICH],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        return f"no source of that kernel: {done.stderr.strip()}"
    numbers = lambda text: {int(n, 16) for n in re.findall(r"0x[0-9a-fA-F]{4}", text)}
    with open(os.path.join(done.stdout.strip(), "include/drm/intel/pciids.h"),
              encoding="utf-8") as f:
        lists = dict(re.findall(r"define INTEL_(\w+)_IDS\(.*?\\\n((?:.*\\\n)*.*\n)", f.read()))
    with open(os.path.join(TOP, "libperfctr/src/host/intel_devices.c"), encoding="utf-8") as f:
        ours = dict(re.findall(r"uint16_t (\w+)\[\] = {([^}]*)}", f.read()))
    check(set(ours) == set(INTEL), str(set(ours)))
    for name, theirs in INTEL.items():
        wanted = set().union(*(numbers(lists[t]) for t in theirs))
        check(wanted and numbers(ours[name]) == wanted, f"{name}: {numbers(ours[name]) ^ wanted}")
    return None


if WHICH:  # 6.12 has no format that describes itself, and no streams of msm
    test(attributes)
    test(msm)
    test(i915)
    test(xe)
    test(intel_devices)
if __name__ == "__main__":
    sys.exit(main())
