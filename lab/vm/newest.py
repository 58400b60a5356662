#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The newest kernel that Debian ships, in the cache: image, headers and a root to build in.

usage: lab/vm/newest.py fetch [RELEASE | FILE.deb...]  make the recorded release, or another, ready;
                              print it; arm64-newest: the recorded release for arm64
       lab/vm/newest.py offered   print the releases in the recorded suites, newest first

lab/vm/newest has the release and its suites; PERFCTR_NEWEST, with the same words or a release and
its source tree, replaces them. If the archive has gone on, its newest release takes the place of
that of lab/vm/newest, with a warning. Debian 12's compiler and C library are too old for the
headers, so the packages are unpacked beside a compiler of the same suite. Nothing is installed.
"""

import glob
import os
import re
import sys
import tempfile

from debian import Apt, finish_root, unpack
from debian_kernels import (DEBIAN_ARCH, Kernel, KernelError, cache_dir, lock, note, publish, run,
                            unpack_image)

NAME = "newest"
ARM64 = "arm64-newest"
RECORD = os.path.join(os.path.dirname(os.path.realpath(__file__)), "newest")
# packages that kbuild runs, and those that it needs; the headers depend on the compiler
ROOT_PACKAGES = ["bash", "binutils", "coreutils", "dash", "diffutils", "findutils", "grep", "kmod",
                 "make", "mawk", "perl-base", "sed", "util-linux"]
NUMBERS = r"(\d+)\.(\d+)\.(\d+)(?:\+deb\d+|-(\d+))-"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


def wanted():
    """The release that is asked for, and the suites that have it or its source tree."""
    with open(RECORD, encoding="ascii") as f:
        lines = [line for line in f if not line.startswith("#")]
    release, *suites = os.environ.get("PERFCTR_NEWEST", lines[0]).split()
    return release, suites


def record():
    """The release under test: another one if the archive has that no more."""
    release, suites = wanted()
    return replaced(release), suites


def replaced(release):
    """The release that is in its place in the cache; see make()."""
    return os.path.basename(os.path.realpath(directory(release)))


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
    key = f"[signed-by={KEYRING}] " if os.path.exists(KEYRING) else ""
    return [f"deb {key}{archive()} {suite} main" for suite in suites]


def offered(apt, arch="amd64"):
    """Releases with image and headers, newest first."""
    names = set(apt.cache("pkgnames", "linux-").split())
    found = [re.fullmatch(rf"linux-headers-({NUMBERS}{arch})", name) for name in names]
    releases = [(tuple(map(int, m.groups("0")[1:])), m.group(1)) for m in found
                if m and f"linux-image-{m.group(1)}" in names]
    return [release for _, release in sorted(releases, reverse=True)]


def image_packages(apt, release):
    """From 7.2 on the image is an empty package that depends on its parts."""
    depends = apt.cache("depends", f"linux-image-{release}")
    parts = re.findall(r"Depends: (linux-(?:binary|modules)-" + re.escape(release) + ")", depends)
    return parts or [f"linux-image-{release}"]


def source_version():
    return record()[0].removesuffix("-amd64")


def unpack_source(tree):
    """The source of the release under test, from its package or tree."""
    release, suites = record()
    if os.path.isdir(suites[0]):
        run("rsync", "-a", "--exclude=/.git", "--exclude=*.o", f"{suites[0]}/", tree)
        run("make", "-s", "-C", tree, "mrproper")
        return
    with tempfile.TemporaryDirectory(dir=cache_dir(), prefix=".source-") as work:
        apt = Apt(os.path.join(work, "apt"), "amd64", sources(suites))
        apt("update")
        # the recorded release's series, or else the newest
        names = re.findall(r"^linux-source-(\d+)\.(\d+)$", apt.cache("pkgnames", "linux-source-"),
                           re.MULTILINE)
        series = max(names, key=lambda s: (release.startswith(".".join(s) + "."), *map(int, s)))
        deb = apt.download("linux-source-" + ".".join(series))[0]
        version = os.path.basename(deb).split("_")[1].split("-")[0]
        if not release.startswith(version + "+"):
            text = f"Debian's archive has the source of {version}, but not of {release}"
            if "PERFCTR_NEWEST" in os.environ:
                raise KernelError(text)
            note(f"warning: {text}: tests that need it use it")
        run("dpkg-deb", "-x", deb, f"{work}/tree")
        run("tar", "-C", tree, "--strip-components=1", "-xf",
            glob.glob(f"{work}/tree/usr/src/*.tar.xz")[0])


def make(release, suites, files=()):
    """From the archive, or from files of packages and the archive."""
    os.makedirs(directory(""), exist_ok=True)
    note(f"fetching Debian's kernel {release} and a compiler for it (once, about a minute)")
    with tempfile.TemporaryDirectory(dir=directory(""), prefix=".newest-") as work:
        arch = architecture(release)
        # headers for another architecture depend on a compiler that runs here
        architectures = DEBIAN_ARCH if arch == DEBIAN_ARCH else f"{DEBIAN_ARCH},{arch}"
        apt = Apt(os.path.join(work, "apt"), architectures, sources(suites))
        apt("update")
        known = offered(apt, arch)
        has_headers = f"linux-headers-{release}" in apt.cache("pkgnames", "linux-headers-").split()
        if not has_headers and not files:
            if (not known or "PERFCTR_NEWEST" in os.environ
                    or release not in (record()[0], release_of(ARM64, record()[0]))):
                raise KernelError(f"Debian's suites {' '.join(suites)} have no kernel {release}. "
                                  f"They have {', '.join(known[:3])}")
            os.symlink(known[0], directory(release))
            release = known[0]
            if is_cached(release):
                return
        images = [f for f in files if re.search(r"/linux-(image|binary|modules)-", f)]
        headers = [f for f in files if f not in images]
        apt("--download-only", "install", *ROOT_PACKAGES, *(["gcc"] if files else []),
            *(headers or [f"linux-headers-{release}"]))
        tree = os.path.join(work, "tree")
        root = os.path.join(tree, "root")
        unpack(glob.glob(f"{apt.archives}/*.deb") + headers, root)
        finish_root(root, {"usr/bin/sh": "dash", "usr/bin/awk": "mawk"}, ("dev", "proc", "tmp"))
        unpack(images or apt.download(*image_packages(apt, release)), tree)
        images = glob.glob(f"{tree}/boot/vmlinuz-*") + glob.glob(f"{tree}/lib/modules/*/vmlinuz")
        if not images:
            raise KernelError("no vmlinuz: name linux-binary-*.deb and linux-modules-*.deb, too")
        unpack_image(release, images[0], f"{tree}/vmlinux")
        os.unlink(images[0])
        run("depmod", "-b", tree, release)
        publish(tree, directory(release))


def directory(release):
    return os.path.join(cache_dir(), "newest", release)


def architecture(release):
    return "arm64" if release.endswith("-arm64") else "amd64"


def release_of(name, recorded):
    return {NAME: recorded, ARM64: recorded.replace("-amd64", "-arm64")}.get(name, name)


def fetch(name=NAME, *more):
    suites = record()[1]
    with lock(NAME):
        if name.endswith(".deb"):
            files = [os.path.realpath(f) for f in (name, *more)]
            found = re.findall(r"/linux-image-(\d[^/_]*?)(?:-unsigned)?(?<!-dbg)_", " ".join(files))
            if not found:
                raise KernelError("no kernel in the packages: add linux-image-RELEASE_*.deb, too")
            make(found[0], suites, files)
            return found[0]
        release = release_of(name, record()[0])
        if not is_cached(release):
            make(release, suites)
    release = replaced(release)
    if release != release_of(name, wanted()[0]):
        note(f"warning: Debian's archive has gone on: the tests of the newest kernel use {release},"
             f" not {release_of(name, wanted()[0])} of lab/vm/newest. Write it there.")
    return release


def cached(pattern):
    """Releases in the cache whose whole name matches; the first group of the newest is the
    greatest."""
    names = [name for name in os.listdir(directory("")) if is_cached(name)] \
        if os.path.isdir(directory("")) else []
    found = [re.fullmatch(pattern, name) for name in names]
    return [m.group() for m in sorted(filter(None, found), key=lambda m: -int(m.group(1)))]


def fetch_series(pattern, suite):
    """The newest release of a suite whose name matches, like the newest kernel."""
    with lock(NAME):
        with tempfile.TemporaryDirectory() as work:
            apt = Apt(work, DEBIAN_ARCH, sources([suite]))
            apt("update")
            found = [re.fullmatch(f"linux-headers-({pattern})", name)
                     for name in apt.cache("pkgnames", "linux-headers-").split()]
        if not any(found):
            raise KernelError(f"Debian's suite {suite} has no kernel {pattern}")
        release = max(filter(None, found), key=lambda m: int(m.group(2))).group(1)
        if not is_cached(release):
            make(release, [suite])


def is_cached(release):
    return os.path.exists(os.path.join(directory(release), ".complete"))


def find(name=NAME):
    release = replaced(release_of(name, record()[0]))
    top = directory(release)
    if not is_cached(release):
        raise KernelError(f"Debian's kernel {release} is not in the cache: run "
                          f"lab/vm/newest.py fetch "
                          f"{name if name == ARM64 else release}")
    arch = architecture(release).replace("amd64", "x86_64")
    return Kernel(name, release, arch, f"/usr/src/linux-headers-{release}", f"{top}/vmlinux", top,
                  True, root=f"{top}/root")


def main(argv):
    if argv[:1] in (["--help"], ["-h"]):
        print(__doc__)
        return 0
    try:
        if argv[:1] == ["fetch"]:
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
