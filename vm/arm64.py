#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debian 12 for arm64 in the cache: kernel, headers, root file system and cross compiler.

usage: vm/arm64.py fetch        make them available
       vm/arm64.py env          shell assignments for a cross build: CC, PKG_CONFIG_*, ...

A private apt downloads the arm64 packages from this machine's archives. They are unpacked, not
installed. So is the cross compiler, whose installation would remove gcc-multilib (32-bit tests).
"""

import glob
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

from debian import Apt, finish_root, unpack
from debian_kernels import (Kernel, KernelError, cache_dir, find_debian, lock, note, publish,
                            run)

NAME = "arm64"
TRIPLE = "aarch64-linux-gnu"
# packages for running the tests, and for building them
ROOT_PACKAGES = ["bash", "coreutils", "dash", "findutils", "grep", "kmod", "libc6-dev", "libcap2",
                 "libdrm-dev", "libgcc-12-dev", "libgmp-dev", "libgsl-dev", "libinih-dev",
                 "libinih1", "libjson-c-dev", "libmicrohttpd-dev", "libncurses-dev",
                 "libprotobuf-c-dev", "linux-libc-dev", "procps", "python3", "sed", "util-linux"]
CROSS_PACKAGES = [f"gcc-12-{TRIPLE}", f"cpp-12-{TRIPLE}", f"binutils-{TRIPLE}",
                  "libgcc-12-dev-arm64-cross"]
GCC = f"usr/bin/{TRIPLE}-gcc-12"


def base_dir():
    key = hashlib.sha256(" ".join(ROOT_PACKAGES + CROSS_PACKAGES
                                  + [amd64_release()]).encode()).hexdigest()[:12]
    return os.path.join(cache_dir(), f"arm64-{key}")


def amd64_release():
    """The release of both architectures, which share the installed headers."""
    return find_debian("6.12").kver.removesuffix("-amd64")


def raw_image(vmlinuz, image):
    """The kernel as QEMU loads it; Debian's may be a compressed Image."""
    with open(vmlinuz, "rb") as f:
        start = f.read(64)
    if start.startswith(b"\x1f\x8b"):
        with open(image, "wb") as f:
            subprocess.run(["gzip", "-dc", vmlinuz], stdout=f, check=True)
    elif start[56:60] == b"ARM\x64":
        shutil.copyfile(vmlinuz, image)
    else:
        raise KernelError(f"{vmlinuz}: not an arm64 image")


def make(final):
    release = amd64_release()
    image, headers = f"linux-image-{release}-arm64-unsigned", f"linux-headers-{release}-arm64"
    os.makedirs(os.path.dirname(final), exist_ok=True)
    note("fetching Debian 12 for arm64 (once, about a minute)")
    with tempfile.TemporaryDirectory(dir=os.path.dirname(final), prefix=".arm64-") as work:
        apt = Apt(os.path.join(work, "apt"), NAME)
        apt("update")
        apt("--download-only", "install", *ROOT_PACKAGES)
        tree = os.path.join(work, "tree")
        root, modules = os.path.join(tree, "root"), os.path.join(tree, "kernel")
        unpack(glob.glob(f"{apt.archives}/*.deb"), root)
        finish_root(root, {"usr/bin/sh": "dash", "usr/bin/python3": "python3.11"},
                    ("dev", "proc", "sys", "tmp", "run", "mnt", "var/tmp", "root", "host"))

        # their dependencies are of another architecture, or not needed
        unpack(apt.download(image), modules)
        unpack(apt.download(headers), os.path.join(tree, "headers"))
        # tools of the build run on this machine
        kbuild = f"usr/lib/linux-kbuild-{release}"
        os.makedirs(os.path.join(tree, "headers/usr/lib"), exist_ok=True)
        os.symlink(f"/{kbuild}", os.path.join(tree, "headers", kbuild))
        raw_image(glob.glob(f"{modules}/boot/vmlinuz-*")[0], os.path.join(tree, "Image"))
        shutil.rmtree(f"{modules}/boot")
        run("depmod", "-b", modules, f"{release}-arm64")

        cross = os.path.join(work, "cross")
        os.makedirs(cross)
        run("apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", *CROSS_PACKAGES,
            cwd=cross)
        unpack(glob.glob(f"{cross}/*.deb"), os.path.join(tree, "cross"))
        publish(tree, final)


def fetch():
    final = base_dir()
    with lock(NAME):
        if not os.path.exists(os.path.join(final, ".complete")):
            make(final)
    return final


def base():
    final = base_dir()
    if not os.path.exists(os.path.join(final, ".complete")):
        raise KernelError("Debian for arm64 is not in the cache: run vm/arm64.py fetch")
    return final


def find():
    top = base()
    kver = f"{amd64_release()}-arm64"
    return Kernel(NAME, kver, NAME, f"{top}/headers/usr/src/linux-headers-{kver}", f"{top}/Image",
                  f"{top}/kernel", True)


def root():
    return os.path.join(base(), "root")


def build_env():
    """The unpacked compiler finds its libraries through LD_LIBRARY_PATH."""
    top = root()
    cross = os.path.join(base(), "cross")
    libraries = f"{cross}/usr/lib/x86_64-linux-gnu"
    return {
        "PATH": f"{cross}/usr/bin:{os.environ.get('PATH', '')}",
        "LD_LIBRARY_PATH": ":".join(p for p in (libraries, os.environ.get("LD_LIBRARY_PATH")) if p),
        "CROSS_COMPILE": f"{TRIPLE}-",
        "CC": f"{cross}/{GCC} --sysroot={top}",
        "AR": f"{TRIPLE}-ar",
        "PKG_CONFIG_SYSROOT_DIR": top,
        "PKG_CONFIG_LIBDIR": f"{top}/usr/lib/{TRIPLE}/pkgconfig:{top}/usr/share/pkgconfig",
    }


def main(argv):
    try:
        if argv == ["fetch"]:
            print(fetch())
        elif argv == ["env"]:
            for name, value in build_env().items():
                print(f"export {name}={shlex.quote(value)}")
        else:
            print(__doc__, file=sys.stderr)
            return 2
    except (KernelError, OSError) as error:
        print(f"arm64: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
