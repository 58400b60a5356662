#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The ACPI table (SSDT) that describes the PMUs of the virtual SoC.

usage: lab/tegra410/ssdt.py FILE [GPU-MASK]

Write the compiled table to FILE. GPU-MASK: GPUs on NVLink-C2C, a bit for each of 2, or 0: another
SoC; 3 by default. QEMU takes the table by -acpitable file=FILE.
"""

import os
import subprocess
import sys
import tempfile

SOCKETS = 2
ROOT_COMPLEXES = 6
# Where the models of each PMU have their windows, as in lab/vsoc/driver/fabric/soc_host.c.
BASE = 0x7000000000
PMU_BYTES = 1 << 21
WINDOW_STRIDE = 1 << 16
WINDOW_BYTES = 0x1000
SOCKET_PMUS = 32
CMEM, NVLINK_C2C, NVCLINK, NVDLINK, PCIE, PCIE_TGT = 1, 2, 3, 4, 8, 16
# of PCIE-TGT: after the two pages of the CoreSight PMU
ADDRESS_FILTER = 2
# instances of each kind; the broadcast window follows
CMEM_INSTANCES, C2C_INSTANCES, CLINK_INSTANCES, DLINK_INSTANCES = 14, 14, 12, 16
# the format of _DSD properties
PROPERTIES = "daffd814-6eba-4d8c-8a91-bc9bbf4aa301"


def window(socket, pmu, number):
    start = BASE + (socket * SOCKET_PMUS + pmu) * PMU_BYTES + number * WINDOW_STRIDE
    return (f"QWordMemory(ResourceConsumer, PosDecode, MinFixed, MaxFixed, NonCacheable, "
            f"ReadWrite, 0, {start:#x}, {start + WINDOW_BYTES - 1:#x}, 0, {WINDOW_BYTES:#x})")


def device(name, hid, uid, windows=(), properties=None):
    lines = [f"Device({name})", "{",
             f'Name(_HID, "{hid}")', f"Name(_UID, {uid})", "Method(_STA) { Return(0xf) }"]
    if windows:
        lines += ["Name(_CRS, ResourceTemplate()", "{", *windows, "})"]
    if properties:
        pairs = ", ".join(f'Package() {{"{key}", {value:#x}}}' for key, value in properties.items())
        lines += [f'Name(_DSD, Package() {{ToUUID("{PROPERTIES}"), Package() {{{pairs}}}}})']
    return [*lines, "}"]


def instances(socket, pmu, count):
    return [window(socket, pmu, number) for number in range(count + 1)]


def c2c_peers(gpu_mask):
    if not gpu_mask:
        return {"cpu_en_mask": (1 << C2C_INSTANCES) - 1}
    half = C2C_INSTANCES // 2
    return {f"gpu{gpu}_en_mask": ((1 << half) - 1) << gpu * half
            for gpu in (0, 1) if gpu_mask >> gpu & 1}


def socket_devices(socket, gpu_mask):
    lines = device(f"CMM{socket}", "NVDA2021", socket, instances(socket, CMEM, CMEM_INSTANCES))
    lines += device(f"NVL{socket}", "NVDA2023", socket,
                    instances(socket, NVLINK_C2C, C2C_INSTANCES), c2c_peers(gpu_mask))
    lines += device(f"NVC{socket}", "NVDA2022", socket,
                    instances(socket, NVCLINK, CLINK_INSTANCES),
                    {"cpu_en_mask": (1 << CLINK_INSTANCES) - 1})
    lines += device(f"NVD{socket}", "NVDA2020", socket,
                    instances(socket, NVDLINK, DLINK_INSTANCES))
    for rc in range(ROOT_COMPLEXES):
        uid = socket * ROOT_COMPLEXES + rc
        lines += device(f"PC{socket}{rc}", "NVDA20F0", uid, properties={"instance_id": rc})
        lines += device(f"PT{socket}{rc}", "NVDA20F1", uid,
                        [window(socket, PCIE_TGT + rc, ADDRESS_FILTER)], {"instance_id": rc})
    return lines


def source(gpu_mask):
    lines = ['DefinitionBlock("", "SSDT", 2, "PERFCT", "T410", 1)', "{", "Scope(\\_SB)", "{"]
    for socket in range(SOCKETS):
        lines += socket_devices(socket, gpu_mask)
    return "\n".join([*lines, "}", "}", ""])


def compile_table(path, gpu_mask):
    with tempfile.TemporaryDirectory() as work:
        asl = os.path.join(work, "ssdt.asl")
        with open(asl, "w", encoding="ascii") as f:
            f.write(source(gpu_mask))
        done = subprocess.run(["iasl", "-p", os.path.join(work, "ssdt"), asl],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              check=False)
        if done.returncode:
            raise RuntimeError(f"iasl: {done.stdout}")
        os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        with open(os.path.join(work, "ssdt.aml"), "rb") as f, \
                open(f"{path}.{os.getpid()}", "wb") as out:
            out.write(f.read())
        os.rename(out.name, path)


def main(argv):
    if len(argv) not in (1, 2) or argv[0].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    compile_table(argv[0], int(argv[1], 0) if argv[1:] else 3)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
