#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Debian for arm64 in the cache: kernel, headers, root file system and cross compiler.

usage: lab/vm/arm64.py fetch        make them available
       lab/vm/arm64.py env          shell assignments for a cross build: CC, PKG_CONFIG_*, ...

A private apt downloads the arm64 packages from this machine's archives, so they are of the same
release. They are unpacked, not installed. So is the cross compiler, of the version of gcc here.
"""

import glob
import hashlib
import os
import shlex
import shutil
import sys
import tempfile

from debian import Apt, finish_root, unpack
from debian_kernels import (Kernel, KernelError, cache_dir, find_debian, headers_root, lock, note,
                            publish, raw_image, relocate_headers, run)

NAME = "arm64"
TRIPLE = "aarch64-linux-gnu"
# version of the release's compiler
GCC_VERSION = run("gcc", "-dumpversion").split(".")[0].strip() if shutil.which("gcc") else ""
# packages for running the tests, and for building them
ROOT_PACKAGES = ["bash", "coreutils", "dash", "findutils", "grep", "kmod", "libc6-dev", "libcap2",
                 "libdrm-dev", f"libgcc-{GCC_VERSION}-dev", "libgmp-dev", "libinih-dev",
                 "libinih1", "libjson-c-dev", "libmicrohttpd-dev", "libncurses-dev",
                 "libprotobuf-c-dev", "libzstd-dev", "linux-libc-dev", "procps", "python3", "sed",
                 "util-linux"]
CROSS_PACKAGES = [f"gcc-{GCC_VERSION}-{TRIPLE}", f"cpp-{GCC_VERSION}-{TRIPLE}",
                  f"binutils-{TRIPLE}", f"libgcc-{GCC_VERSION}-dev-arm64-cross"]
GCC = f"usr/bin/{TRIPLE}-gcc-{GCC_VERSION}"


def base_dir():
    # 2: the headers are relocated
    key = hashlib.sha256(" ".join(ROOT_PACKAGES + CROSS_PACKAGES
                                  + [amd64_release(), "2"]).encode()).hexdigest()[:12]
    return os.path.join(cache_dir(), f"arm64-{key}")


def amd64_release():
    """The release of both architectures, which share the common part of the headers."""
    return find_debian("6.12").kver.removesuffix("-amd64")


def make(final):
    release = amd64_release()
    image, headers = f"linux-image-{release}-arm64-unsigned", f"linux-headers-{release}-arm64"
    os.makedirs(os.path.dirname(final), exist_ok=True)
    note("fetching Debian for arm64 (once, about a minute)")
    with tempfile.TemporaryDirectory(dir=os.path.dirname(final), prefix=".arm64-") as work:
        apt = Apt(os.path.join(work, "apt"), NAME)
        apt("update")
        apt("--download-only", "install", *ROOT_PACKAGES)
        tree = os.path.join(work, "tree")
        root, modules = os.path.join(tree, "root"), os.path.join(tree, "kernel")
        unpack(glob.glob(f"{apt.archives}/*.deb"), root)
        python = os.path.basename(glob.glob(f"{root}/usr/bin/python3.[0-9]*")[0])
        finish_root(root, {"usr/bin/sh": "dash", "usr/bin/python3": python},
                    ("dev", "proc", "sys", "tmp", "run", "mnt", "var/tmp", "root", "host"))

        # their dependencies are of another architecture, or not needed
        unpack(apt.download(image), modules)
        shared = headers_root(f"{release}-amd64")
        unpack(apt.download(headers, f"linux-headers-{release}-common"), f"{tree}/headers")
        # tools of the build run on this machine
        relocate_headers(f"{tree}/headers", headers, f"{shared}/usr/lib/linux-kbuild-{release}")
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
        raise KernelError("Debian for arm64 is not in the cache: run lab/vm/arm64.py fetch")
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
    if argv[:1] in (["--help"], ["-h"]):
        print(__doc__)
        return 0
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
