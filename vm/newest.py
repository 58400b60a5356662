#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The newest kernel that Debian ships, in the cache: image, headers and a root to build in.

usage: vm/newest.py fetch [RELEASE]  make the recorded release, or another, available; print it;
                                     arm64-newest: the recorded release for arm64
       vm/newest.py offered          print the releases in the recorded suites, newest first

vm/newest has the release and its suites. Debian 12's compiler and C library are too old for the
headers, so the packages are unpacked beside a compiler of the same suite, from this machine's
archive. Nothing is installed.
"""

import glob
import os
import re
import sys
import tempfile

from arm64 import raw_image
from debian import Apt, finish_root, unpack
from debian_kernels import (Kernel, KernelError, cache_dir, extract_vmlinux, lock, note, publish,
                            run)

NAME = "newest"
ARM64 = "arm64-newest"
RECORD = os.path.join(os.path.dirname(os.path.realpath(__file__)), "newest")
# packages that kbuild runs, and those that it needs; the headers depend on the compiler
ROOT_PACKAGES = ["bash", "binutils", "coreutils", "dash", "diffutils", "findutils", "grep", "kmod",
                 "make", "mawk", "perl-base", "sed", "util-linux"]
NUMBERS = r"(\d+)\.(\d+)\.(\d+)\+deb\d+-"


def record():
    """The release under test and the suites that have it."""
    with open(RECORD, encoding="ascii") as f:
        words = [line.split() for line in f if not line.startswith("#")]
    release, *suites = words[0]
    return release, suites


def archive():
    """The address of Debian's archive, from this machine's apt."""
    known = run("apt-get", "indextargets", "--format", "$(ORIGIN) $(CODENAME) $(REPO_URI)",
                "Created-By: Packages")
    for line in known.splitlines():
        origin, codename, address = line.split()
        if origin == "Debian" and "-" not in codename:
            return address
    raise KernelError("apt knows no archive of Debian: run apt-get update")


def sources(suites):
    return [f"deb {archive()} {suite} main" for suite in suites]


def offered(apt, arch="amd64"):
    """Releases with image and headers, newest first."""
    names = set(apt.cache("pkgnames", "linux-").split())
    found = [re.fullmatch(rf"linux-headers-({NUMBERS}{arch})", name) for name in names]
    releases = [(tuple(map(int, m.groups()[1:])), m.group(1)) for m in found
                if m and f"linux-image-{m.group(1)}" in names]
    return [release for _, release in sorted(releases, reverse=True)]


def image_packages(apt, release):
    """From 7.2 on the image is an empty package that depends on its parts."""
    depends = apt.cache("depends", f"linux-image-{release}")
    parts = re.findall(r"Depends: (linux-(?:binary|modules)-" + re.escape(release) + ")", depends)
    return parts or [f"linux-image-{release}"]


def source_version():
    return record()[0].removesuffix("-amd64")


def source_package():
    return "linux-source-" + ".".join(record()[0].split(".")[:2])


def unpack_source(tree):
    """The source of the recorded release, from its package."""
    release, suites = record()
    with tempfile.TemporaryDirectory(dir=cache_dir(), prefix=".source-") as work:
        apt = Apt(os.path.join(work, "apt"), "amd64", sources(suites))
        apt("update")
        deb = apt.download(source_package())[0]
        version = os.path.basename(deb).split("_")[1].split("-")[0]
        if not release.startswith(version + "+"):
            raise KernelError(f"{source_package()} of Debian's archive is {version}, but vm/newest "
                              f"has {release}: write a release of vm/newest.py offered into it")
        run("dpkg-deb", "-x", deb, f"{work}/tree")
        run("tar", "-C", tree, "--strip-components=1", "-xf",
            glob.glob(f"{work}/tree/usr/src/*.tar.xz")[0])


def make(final, release, suites):
    os.makedirs(os.path.dirname(final), exist_ok=True)
    note(f"fetching Debian's kernel {release} and a compiler for it (once, about a minute)")
    with tempfile.TemporaryDirectory(dir=os.path.dirname(final), prefix=".newest-") as work:
        arch = architecture(release)
        # headers for arm64 depend on a compiler that runs here
        architectures = "amd64" if arch == "amd64" else f"amd64,{arch}"
        apt = Apt(os.path.join(work, "apt"), architectures, sources(suites))
        apt("update")
        if release not in offered(apt, arch):
            raise KernelError(f"Debian's suites {' '.join(suites)} have no kernel {release}. "
                              f"They have {', '.join(offered(apt, arch)[:3])}: write one of them "
                              "into vm/newest, and run make next")
        apt("--download-only", "install", *ROOT_PACKAGES, f"linux-headers-{release}")
        tree = os.path.join(work, "tree")
        root = os.path.join(tree, "root")
        unpack(glob.glob(f"{apt.archives}/*.deb"), root)
        finish_root(root, {"usr/bin/sh": "dash", "usr/bin/awk": "mawk"}, ("dev", "proc", "tmp"))
        unpack(apt.download(*image_packages(apt, release)), tree)
        images = glob.glob(f"{tree}/boot/vmlinuz-*") + glob.glob(f"{tree}/lib/modules/*/vmlinuz")
        (raw_image if arch == "arm64" else extract_vmlinux)(images[0], f"{tree}/vmlinux")
        os.unlink(images[0])
        run("depmod", "-b", tree, release)
        publish(tree, final)


def directory(release):
    return os.path.join(cache_dir(), "newest", release)


def architecture(release):
    return release.rpartition("-")[2]


def release_of(name):
    recorded = record()[0]
    return {NAME: recorded, ARM64: recorded.replace("-amd64", "-arm64")}.get(name, name)


def fetch(name=NAME):
    release = release_of(name)
    with lock(NAME):
        if not is_cached(release):
            make(directory(release), release, record()[1])
    return release


def is_cached(release):
    return os.path.exists(os.path.join(directory(release), ".complete"))


def find(name=NAME):
    release = release_of(name)
    top = directory(release)
    if not is_cached(release):
        raise KernelError(f"Debian's kernel {release} is not in the cache: run vm/newest.py fetch "
                          f"{name if name == ARM64 else release}")
    arch = architecture(release).replace("amd64", "x86_64")
    return Kernel(name, release, arch, f"/usr/src/linux-headers-{release}", f"{top}/vmlinux", top,
                  True, root=f"{top}/root")


def main(argv):
    try:
        if argv[:1] == ["fetch"] and len(argv) <= 2:
            print(fetch(*argv[1:]))
        elif argv == ["offered"]:
            with tempfile.TemporaryDirectory() as work:
                apt = Apt(work, "amd64", sources(record()[1]))
                apt("update")
                print("\n".join(offered(apt)))
        else:
            print(__doc__, file=sys.stderr)
            return 2
    except (KernelError, OSError) as error:
        print(f"newest: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
