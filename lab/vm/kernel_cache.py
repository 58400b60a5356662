#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels to build for and to boot: Debian's own packages and our builds from Debian's sources."""

import dataclasses
import glob
import hashlib
import os
import subprocess
import sys
import tempfile

import arm64
import newest
from debian_kernels import (DEBIAN_SERIES, HOME_SUITE, Kernel, KernelError, cache_dir,
                            debian_cached, fetch_own, find_debian, is_cached, lock, merge_usr, note,
                            run, update_lists)

VM_DIR = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(os.path.dirname(VM_DIR))
SOURCE_PACKAGE = "linux-source-6.12"

# tier -> (kernel architecture, configuration fragments); TIER-newest is one of the newest kernel
TIERS = {
    "fast": ("x86_64", ["base", "x86"]),
    "debug": ("x86_64", ["base", "x86", "sanitize", "sanitize-x86"]),
    "uml": ("um", ["base", "uml"]),
    "uml-debug": ("um", ["base", "uml", "sanitize"]),
    "kcsan": ("x86_64", ["base", "x86", "kcsan"]),
    "uml-series": ("um", ["base", "uml", "newest", "series"]),
}
SERIES = "uml-series"  # of the patched tree of scripts/series-check, which names its directory
# Variables for the kernel's make. Only our modules are built with KCSAN, so races inside the kernel
# are not reported. A race of a module with the kernel shows as a changed value.
BUILD_ARGS = {"kcsan": ["KCSAN_SANITIZE=n"]}
NEWEST_SUFFIX = "-" + newest.NAME
FIXED_IN_NEWEST = "/uml-xstate.patch"


def base(tier):
    return tier.removesuffix(NEWEST_SUFFIX)


def is_newest(tier):
    return tier.endswith(NEWEST_SUFFIX)


def run_with_log(argv, env, what, log_path):
    """Run a long make."""
    note(f"{what}, log: {log_path}")
    with open(log_path, "w", encoding="utf-8") as log:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                              env=env, check=False)
    if done.returncode:
        with open(log_path, encoding="utf-8", errors="replace") as f:
            tail = "".join(f.readlines()[-15:])
        raise KernelError(f"{what} failed, see {log_path}:\n{tail}")


def source_version(of_newest=False):
    if of_newest:
        return newest.source_version()
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", SOURCE_PACKAGE],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode or not done.stdout:
        raise KernelError(f"package {SOURCE_PACKAGE} is not installed: run scripts/setup")
    return done.stdout


def kernel_patches(of_newest, kind=""):
    found = glob.glob(os.path.join(glob.escape(VM_DIR), "kernels", kind + "*.patch"))
    return [p for p in sorted(found) if not (of_newest and p.endswith(FIXED_IN_NEWEST))]


def add_patches(key, patches):
    for patch in patches:
        with open(patch, "rb") as f:
            key.update(f.read())


def unpack_source(of_newest, work):
    note(f"unpacking the source of {source_version(of_newest)} into the cache")
    if of_newest:
        newest.unpack_source(work)
    else:
        run("tar", "-C", work, "--strip-components=1", "-xf", f"/usr/src/{SOURCE_PACKAGE}.tar.xz")


def source_tree(of_newest=False):
    """Unpacked and patched source, shared by all tiers and by checkpatch and kernel-doc."""
    patches = kernel_patches(of_newest)
    key = hashlib.sha256()
    add_patches(key, patches)
    tree = os.path.join(cache_dir(), "src",
                        f"linux-{source_version(of_newest)}-{key.hexdigest()[:12]}")
    if os.path.exists(os.path.join(tree, "Makefile")):
        return tree
    with lock("source"):
        if not os.path.exists(os.path.join(tree, "Makefile")):
            os.makedirs(os.path.dirname(tree), exist_ok=True)
            with tempfile.TemporaryDirectory(dir=os.path.dirname(tree), prefix=".unpack-") as work:
                unpack_source(of_newest, work)
                for patch in patches:
                    run("patch", "-s", "-p1", "-d", work, "-i", patch)
                os.chmod(work, 0o755)
                os.rename(work, tree)
                os.makedirs(work)  # the context manager needs a directory to remove
    return tree


def series_dir():
    if "PERFCTR_SERIES" not in os.environ:
        raise KernelError(f"kernel '{SERIES}': scripts/series-check builds and runs it")
    return os.environ["PERFCTR_SERIES"]


def tier_source(tier):
    return os.path.join(series_dir(), "source") if tier == SERIES else source_tree(is_newest(tier))


def tier_config(tier):
    parts = []
    for fragment in TIERS[base(tier)][1] + ["newest"] * is_newest(tier):
        with open(os.path.join(VM_DIR, "kernels", fragment + ".config"), encoding="ascii") as f:
            parts.append(f.read())
    parts.append(f'CONFIG_LOCALVERSION="-{tier}"\n')
    return "".join(parts)


def tier_dir(tier):
    if tier == SERIES:
        return os.path.join(series_dir(), SERIES)
    key = hashlib.sha256(tier_config(tier).encode())
    key.update("".join(BUILD_ARGS.get(base(tier), [])).encode())
    if TIERS[base(tier)][0] == "um":
        add_patches(key, kernel_patches(is_newest(tier), "uml-"))
    version = source_version(is_newest(tier))
    return os.path.join(cache_dir(), "kernels", f"{tier}-{version}-{key.hexdigest()[:12]}")


def find_tier(tier):
    build = os.path.join(tier_dir(tier), "build")
    if not os.path.exists(os.path.join(tier_dir(tier), ".complete")):
        raise KernelError(
            f"kernel '{tier}' is not built yet: run 'lab/vm/kernel_cache.py build {tier}'")
    tier_source(tier)  # modules are built against both
    with open(f"{build}/include/config/kernel.release", encoding="ascii") as f:
        kver = f.read().strip()
    arch = TIERS[base(tier)][0]
    image = f"{build}/linux" if arch == "um" else f"{build}/vmlinux"
    modules = os.path.join(tier_dir(tier), "root")
    return Kernel(tier, kver, arch, build, image, modules, False)


def check_config(config, wanted, tree):
    """All options that the tree has must be in the configuration: Kconfig drops them silently."""
    known = set(run("grep", "-rhoE", "--include=Kconfig*", r"config\s+\w+", tree).split())
    with open(config, encoding="ascii") as f:
        have = set(f.read().splitlines())
    lost = []
    # a later fragment overrides an earlier one
    options = dict(line.split("=", 1) for line in wanted.splitlines() if line.startswith("CONFIG_"))
    for option, value in options.items():
        line = f"{option}={value}"
        if value == "n":
            lost += [h for h in have if h.startswith(option + "=")]
        elif line not in have and option.removeprefix("CONFIG_") in known:
            lost.append(line)
    return lost


def build_tier(tier, jobs=None):
    if base(tier) not in TIERS:
        raise KernelError(f"unknown kernel '{tier}': use one of "
                          f"{', '.join([*DEBIAN_SERIES, *TIERS])}, TIER{NEWEST_SUFFIX}, "
                          "or a Debian release such as 6.12.5+deb12-amd64")
    final = tier_dir(tier)
    if os.path.exists(os.path.join(final, ".complete")):
        return
    tree = tier_source(tier)
    with lock("build-" + tier):
        if os.path.exists(os.path.join(final, ".complete")):
            return
        build = os.path.join(final, "build")
        os.makedirs(build, exist_ok=True)
        arch = TIERS[base(tier)][0]
        wanted = tier_config(tier)
        fragment = os.path.join(final, "fragment.config")
        with open(fragment, "w", encoding="ascii") as f:
            f.write(wanted)
        make = ["make", "-s", "-C", tree, f"ARCH={arch}", f"O={build}",
                *BUILD_ARGS.get(base(tier), [])]
        env = {k: v for k, v in os.environ.items()
               if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "V", "O", "W")}
        env["KCONFIG_ALLCONFIG"] = fragment
        # the options of the tree of a series are others after each of its patches
        if tier == SERIES or not os.path.exists(f"{build}/.config"):
            run(*make, "allnoconfig", env=env)
        for line in check_config(f"{build}/.config", wanted, tree):
            text = f"kernel '{tier}': {line} is not in effect (unmet dependencies)"
            if tier == SERIES:
                raise KernelError(text)
            note(f"warning: {text}")
        targets = ["linux", "modules"] if arch == "um" else ["vmlinux", "modules"]
        run_with_log(["nice", "-n", "10", *make, f"-j{jobs or os.cpu_count() or 1}", *targets],
                     env, f"building kernel '{tier}' (once, several minutes)",
                     os.path.join(final, "build.log"))
        if not os.path.lexists(f"{final}/root/lib"):
            merge_usr(f"{final}/root")
        run(*make, f"INSTALL_MOD_PATH={final}/root", "modules_install", env=env)
        open(os.path.join(final, ".complete"), "w", encoding="ascii").close()


def fetch_series(series, update=False):
    """Make a kernel of the series available: the one of this machine's apt, with its headers, or
    else that of the series' own release of Debian, beside a compiler of that release."""
    with lock("debian-" + series):
        cached = debian_cached(series) or newest.cached(DEBIAN_SERIES[series])
        if cached and not update:
            return
        if update:
            update_lists()
        try:
            if not fetch_own(series):
                newest.fetch_series(DEBIAN_SERIES[series], HOME_SUITE[series])
        except KernelError as error:
            if not cached:
                raise
            note(f"no newer {series} kernel can be had, so {cached[0]} stays: {error}")


def find_series(series):
    elsewhere = newest.cached(DEBIAN_SERIES[series])
    if elsewhere and not debian_cached(series):
        return dataclasses.replace(newest.find(elsewhere[0]), name=series)
    return find_debian(series)


def find(name):
    """The kernel that a name or version stands for."""
    if name in DEBIAN_SERIES:
        return find_series(name)
    if name == arm64.NAME:
        return arm64.find()
    if name in (newest.NAME, newest.ARM64) or newest.is_cached(name):
        return newest.find(name)
    return find_tier(name) if base(name) in TIERS else find_debian(name)


USAGE = """usage: lab/vm/kernel_cache.py COMMAND [ARGUMENT...]
  fetch [--update] SERIES...  make Debian kernels (6.12, 6.1) and their headers available
  build NAME...               make any kernel available: Debian's (6.12, 6.12-rt, 6.1, newest), or
                              our own builds (fast, debug, kcsan, uml, uml-debug; uml-newest ...)
  get FIELD[,FIELD...] NAME   print fields of a kernel: kver, arch, kdir, image, modules
  source [newest]             print the directory of 6.12's unpacked source, or of the newest's
  dir                         print the cache directory"""


def main(argv):
    if argv[:1] in (["--help"], ["-h"]):
        print(USAGE)
        return 0
    try:
        command, *args = argv or [""]
        if command == "fetch" and args:
            update = "--update" in args
            for series in [a for a in args if a != "--update"]:
                if series not in DEBIAN_SERIES:
                    raise KernelError(f"unknown series '{series}': use {', '.join(DEBIAN_SERIES)}")
                fetch_series(series, update)
        elif command == "build" and args:
            jobs = int(os.environ["JOBS"]) if "JOBS" in os.environ else None
            for name in args:
                if name in DEBIAN_SERIES:
                    fetch_series(name)
                elif name in (newest.NAME, newest.ARM64):
                    newest.fetch(name)
                elif base(name) in TIERS or not newest.is_cached(name) and not is_cached(name):
                    build_tier(name, jobs)
        elif command == "get" and len(args) == 2:
            kernel = find(args[1])
            fields = dataclasses.asdict(kernel)
            for field in args[0].split(","):
                if field not in fields:
                    raise KernelError(f"unknown field '{field}': use one of {', '.join(fields)}")
                print(fields[field])
        elif command == "source" and args in ([], [newest.NAME]):
            print(source_tree(bool(args)))
        elif command == "dir" and not args:
            print(cache_dir())
        else:
            print(USAGE, file=sys.stderr)
            return 2
    except KernelError as error:
        print(f"{os.path.basename(sys.argv[0])}: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
