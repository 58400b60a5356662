#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kernels to build for and to boot: Debian's own packages and our builds from linux-source-6.12.

Everything lives in one cache directory outside the checkout, keyed by what it is made of, so that
several checkouts share it and nothing in it ever needs invalidating. See vm/README.md.
"""

import contextlib
import dataclasses
import fcntl
import glob
import gzip
import hashlib
import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time

VM_DIR = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(VM_DIR)

# series name -> package name patterns; the number group orders the releases
DEBIAN_SERIES = {
    "6.12": r"6\.12\.(\d+)\+deb12-amd64",
    "6.12-rt": r"6\.12\.(\d+)\+deb12-rt-amd64",
    "6.1": r"6\.1\.0-(\d+)-amd64",
}
SOURCE_PACKAGE = "linux-source-6.12"

# tier -> (kernel architecture, configuration fragments)
TIERS = {
    "fast": ("x86_64", ["base", "x86"]),
    "debug": ("x86_64", ["base", "x86", "sanitize", "sanitize-x86"]),
    "uml": ("um", ["base", "uml"]),
    "uml-debug": ("um", ["base", "uml", "sanitize"]),
    "kcsan": ("x86_64", ["base", "x86", "kcsan"]),
}
# Variables for the kernel's make. Races between parts of the kernel that are not ours are not ours to
# report; modules are built without this, and what races with them without instrumentation is still
# seen, as a value that changes.
BUILD_ARGS = {"kcsan": ["KCSAN_SANITIZE=n"]}


class KernelError(Exception):
    """Something the user can mend; the text says what and how."""


@dataclasses.dataclass(frozen=True)
class Kernel:
    name: str  # what the user asked for: 6.12, 6.1, fast, uml, ... or a full version
    kver: str  # kernel release, what uname -r prints
    arch: str  # x86_64, arm64 or um
    kdir: str  # directory to build modules against
    image: str  # ELF to boot
    modules: str  # root of a lib/modules/<kver> tree, "" if all in-kernel code is built in
    initramfs: bool  # whether the root file system needs modules


def note(text):
    print(text, file=sys.stderr, flush=True)


def cache_dir():
    path = os.environ.get("PERFCTR_CACHE")
    if not path:
        path = "/var/cache/perfctr"
        with contextlib.suppress(OSError):
            os.makedirs(path, exist_ok=True)
        if not os.access(path, os.W_OK):
            home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
            path = os.path.join(home, "perfctr")
    os.makedirs(path, exist_ok=True)
    return os.path.realpath(path)


@contextlib.contextmanager
def lock(name):
    """Serialise work on one cache entry between processes."""
    path = os.path.join(cache_dir(), f".lock-{name}")
    with open(path, "w", encoding="ascii") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def run(*argv, **kwargs):
    """Run a command; a failure carries its output."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False, **kwargs)
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-15:])
        raise KernelError(f"'{' '.join(argv)}' failed with status {done.returncode}:\n{tail}")
    return done.stdout


def run_with_progress(argv, env, what, log_path):
    """Run a long make; on stderr what it is, how many objects are done, how long it takes."""
    started = shown = time.monotonic()
    live = sys.stderr.isatty()
    note(f"{what}, log: {log_path}")
    objects = 0
    with open(log_path, "w", encoding="utf-8") as log, subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", env=env) as process:
        for line in process.stdout:
            log.write(line)
            objects += bool(re.match(r"\s+(CC|AS|HOSTCC)\b", line))
            now = time.monotonic()
            if now - shown > (1 if live else 60):
                shown = now
                text = f"  {objects} objects, {now - started:.0f} s"
                print("\r" + text if live else text, end="" if live else "\n", file=sys.stderr,
                      flush=True)
    if live:
        note("")
    if process.returncode:
        with open(log_path, encoding="utf-8", errors="replace") as f:
            tail = "".join(f.readlines()[-15:])
        raise KernelError(f"{what} failed, see {log_path}:\n{tail}")


# --- Debian kernels ---------------------------------------------------------------------------

def extract_vmlinux(bzimage, vmlinux):
    """Write the ELF inside a bzImage: booting it skips the decompressor, the slowest part under TCG."""
    with open(bzimage, "rb") as f:
        data = f.read()
    if data[0x202:0x206] != b"HdrS":
        raise KernelError(f"{bzimage}: not a bzImage")
    setup_sectors = data[0x1F1] or 4
    offset, length = struct.unpack_from("<II", data, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    payload = data[start:start + length]
    if payload.startswith(b"\xfd7zXZ"):
        elf = lzma.LZMADecompressor().decompress(payload)
    elif payload.startswith(b"\x1f\x8b"):
        # the four bytes after the stream are the size, for the boot loader
        elf = gzip.decompress(payload[:-4])
    elif payload.startswith(b"\x28\xb5\x2f\xfd"):
        elf = subprocess.run(["zstd", "-dcq"], input=payload[:-4], stdout=subprocess.PIPE,
                             check=True).stdout
    else:
        raise KernelError(f"{bzimage}: unknown compression {payload[:4].hex()}")
    if not elf.startswith(b"\x7fELF"):
        raise KernelError(f"{bzimage}: payload is not an ELF file")
    with open(vmlinux, "wb") as f:
        f.write(elf)


def headers_dir(kver):
    return f"/usr/src/linux-headers-{kver}"


def debian_dir(kver):
    return os.path.join(cache_dir(), "kernels", kver)


def debian_cached(series):
    """Cached releases of a series whose headers are installed, newest first."""
    found = []
    for path in glob.glob(os.path.join(cache_dir(), "kernels", "*", ".complete")):
        kver = os.path.basename(os.path.dirname(path))
        match = re.fullmatch(DEBIAN_SERIES[series], kver)
        if match and os.path.isdir(headers_dir(kver)):
            found.append((int(match.group(1)), kver))
    return [kver for _, kver in sorted(found, reverse=True)]


def debian_offered(series):
    """Releases apt can download with both image and headers, newest first: (kver, image package)."""
    names = set(run("apt-cache", "pkgnames", "linux-").split())
    found = []
    for name in names:
        match = re.fullmatch(r"linux-image-(" + DEBIAN_SERIES[series] + r")(-unsigned)?", name)
        if match and f"linux-headers-{match.group(1)}" in names:
            # of one release prefer the signed package, which every Debian machine boots
            found.append((int(match.group(2)), not match.group(3), match.group(1), name))
    return [(kver, package) for _, _, kver, package in sorted(found, reverse=True)]


def root_command():
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo"):
        return ["sudo"]
    raise KernelError("installing packages needs root: run scripts/setup as root or install sudo")


def install_headers(kver):
    if os.path.isdir(headers_dir(kver)):
        return
    note(f"installing linux-headers-{kver}")
    run(*root_command(), "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "install", "-y", "-q",
        "--no-install-recommends", f"linux-headers-{kver}")


def fetch_debian(kver, package):
    """Unpack an image package into the cache, never installing it."""
    final = debian_dir(kver)
    if os.path.exists(os.path.join(final, ".complete")):
        return
    note(f"unpacking {package} into the cache")
    os.makedirs(os.path.dirname(final), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(final), prefix=".fetch-") as work:
        run("apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package, cwd=work)
        deb = glob.glob(os.path.join(work, "*.deb"))[0]
        tree = os.path.join(work, "tree")
        run("dpkg", "-x", deb, tree)
        extract_vmlinux(f"{tree}/boot/vmlinuz-{kver}", f"{tree}/vmlinux")
        run("depmod", "-b", tree, kver)
        shutil.rmtree(f"{tree}/boot")
        shutil.rmtree(f"{tree}/usr", ignore_errors=True)
        with open(f"{tree}/.complete", "w", encoding="ascii") as f:
            f.write(package + "\n")
        shutil.rmtree(final, ignore_errors=True)
        os.rename(tree, final)


def fetch_series(series, update=False):
    """Make sure that a kernel of the series is cached with its headers; returns its release."""
    with lock("debian-" + series):
        cached = debian_cached(series)
        if cached and not update:
            return cached[0]
        errors = []
        for attempt in range(2):
            for kver, package in debian_offered(series)[:2]:
                try:
                    fetch_debian(kver, package)
                    install_headers(kver)
                    return kver
                except KernelError as error:
                    errors.append(str(error))
            if attempt == 0:
                # stale package lists name releases that the mirror no longer has
                with contextlib.suppress(KernelError):
                    run(*root_command(), "apt-get", "-q", "update")
        if cached:
            note(f"no newer {series} kernel can be had from apt; using cached {cached[0]}")
            return cached[0]
        raise KernelError(f"apt offers no Debian {series} kernel that can be installed. Enable the "
                          "bookworm-security archive (its main section) and run scripts/setup again"
                          + "".join("\n" + error for error in errors[-1:]))


def find_debian(name):
    if name in DEBIAN_SERIES:
        cached = debian_cached(name)
        if not cached:
            raise KernelError(f"no Debian {name} kernel in {cache_dir()}: run scripts/setup")
        kver = cached[0]
    else:
        kver = name
        if not os.path.exists(os.path.join(debian_dir(kver), ".complete")):
            known = ", ".join(list(DEBIAN_SERIES) + list(TIERS))
            raise KernelError(f"unknown kernel '{name}': use one of {known}, or a Debian release "
                              f"that is in {cache_dir()}/kernels")
    tree = debian_dir(kver)
    return Kernel(name, kver, "x86_64", headers_dir(kver), f"{tree}/vmlinux", tree, True)


# --- our own builds ---------------------------------------------------------------------------

def source_version():
    done = subprocess.run(["dpkg-query", "-W", "-f", "${Version}", SOURCE_PACKAGE],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if done.returncode or not done.stdout:
        raise KernelError(f"package {SOURCE_PACKAGE} is not installed: run scripts/setup")
    return done.stdout


def source_tree():
    """Unpacked and patched source, shared by all tiers and by checkpatch and kernel-doc."""
    patches = sorted(glob.glob(os.path.join(glob.escape(VM_DIR), "kernels", "*.patch")))
    key = hashlib.sha256()
    for patch in patches:
        with open(patch, "rb") as f:
            key.update(f.read())
    tree = os.path.join(cache_dir(), "src", f"linux-{source_version()}-{key.hexdigest()[:12]}")
    if os.path.exists(os.path.join(tree, "Makefile")):
        return tree
    with lock("source"):
        if not os.path.exists(os.path.join(tree, "Makefile")):
            note(f"unpacking {SOURCE_PACKAGE} into the cache")
            os.makedirs(os.path.dirname(tree), exist_ok=True)
            with tempfile.TemporaryDirectory(dir=os.path.dirname(tree), prefix=".unpack-") as work:
                run("tar", "-C", work, "--strip-components=1", "-xf",
                    f"/usr/src/{SOURCE_PACKAGE}.tar.xz")
                for patch in patches:
                    run("patch", "-s", "-p1", "-d", work, "-i", patch)
                os.chmod(work, 0o755)
                os.rename(work, tree)
                os.makedirs(work)  # the context manager wants something to remove
    return tree


def tier_config(tier):
    parts = []
    for fragment in TIERS[tier][1]:
        with open(os.path.join(VM_DIR, "kernels", fragment + ".config"), encoding="ascii") as f:
            parts.append(f.read())
    parts.append(f'CONFIG_LOCALVERSION="-{tier}"\n')
    return "".join(parts)


def tier_dir(tier):
    key = hashlib.sha256(tier_config(tier).encode())
    key.update("".join(BUILD_ARGS.get(tier, [])).encode())
    if TIERS[tier][0] == "um":
        for patch in sorted(glob.glob(os.path.join(glob.escape(VM_DIR), "kernels", "uml-*.patch"))):
            with open(patch, "rb") as f:
                key.update(f.read())
    return os.path.join(cache_dir(), "kernels", f"{tier}-{source_version()}-{key.hexdigest()[:12]}")


def find_tier(tier):
    build = os.path.join(tier_dir(tier), "build")
    if not os.path.exists(os.path.join(tier_dir(tier), ".complete")):
        raise KernelError(f"kernel '{tier}' is not built yet: run 'vm/kernel_cache.py build {tier}'")
    source_tree()  # modules are built against both
    with open(f"{build}/include/config/kernel.release", encoding="ascii") as f:
        kver = f.read().strip()
    arch = TIERS[tier][0]
    image = f"{build}/linux" if arch == "um" else f"{build}/vmlinux"
    modules = os.path.join(tier_dir(tier), "root")
    return Kernel(tier, kver, arch, build, image, modules, False)


def check_config(config, wanted):
    """Every option of the fragments must have survived Kconfig; a dropped one is a silent loss."""
    with open(config, encoding="ascii") as f:
        have = set(f.read().splitlines())
    lost = []
    for line in wanted.splitlines():
        if not line.startswith("CONFIG_"):
            continue
        option, value = line.split("=", 1)
        if value == "n":
            lost += [h for h in have if h.startswith(option + "=")]
        elif line not in have:
            lost.append(line)
    return lost


def build_tier(tier, jobs=None):
    if tier not in TIERS:
        raise KernelError(f"unknown kernel '{tier}': use one of "
                          f"{', '.join([*DEBIAN_SERIES, *TIERS])}, or a Debian release such as "
                          "6.12.5+deb12-amd64")
    final = tier_dir(tier)
    if os.path.exists(os.path.join(final, ".complete")):
        return
    tree = source_tree()
    with lock("build-" + tier):
        if os.path.exists(os.path.join(final, ".complete")):
            return
        build = os.path.join(final, "build")
        os.makedirs(build, exist_ok=True)
        arch = TIERS[tier][0]
        wanted = tier_config(tier)
        fragment = os.path.join(final, "fragment.config")
        with open(fragment, "w", encoding="ascii") as f:
            f.write(wanted)
        make = ["make", "-s", "-C", tree, f"ARCH={arch}", f"O={build}", *BUILD_ARGS.get(tier, [])]
        env = {k: v for k, v in os.environ.items()
               if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "V", "O", "W")}
        env["KCONFIG_ALLCONFIG"] = fragment
        if not os.path.exists(f"{build}/.config"):
            run(*make, "allnoconfig", env=env)
        for line in check_config(f"{build}/.config", wanted):
            note(f"warning: kernel '{tier}': {line} is not in effect (its dependencies are not met)")
        targets = ["linux", "modules"] if arch == "um" else ["vmlinux", "modules"]
        make_verbose = ["nice", "-n", "10"] + [a for a in make if a != "-s"]
        run_with_progress([*make_verbose, f"-j{jobs or os.cpu_count() or 1}", *targets], env,
                          f"building kernel '{tier}' (once, several minutes)",
                          os.path.join(final, "build.log"))
        run(*make, f"INSTALL_MOD_PATH={final}/root", "modules_install", env=env)
        with open(os.path.join(final, ".complete"), "w", encoding="ascii"):
            pass


def find(name):
    """The kernel that a name or version stands for."""
    if name == "arm64":
        # it knows the rest of an arm64 machine too, and needs this module for that
        import arm64
        return arm64.find()
    return find_tier(name) if name in TIERS else find_debian(name)


# --- command line -----------------------------------------------------------------------------

USAGE = """usage: vm/kernel_cache.py COMMAND [ARGUMENT...]
  fetch [--update] SERIES...  make Debian kernels (6.12, 6.1) and their headers available
  build TIER...               build our own kernels (fast, debug, kcsan, uml, uml-debug)
  get FIELD[,FIELD...] NAME   print fields of a kernel: kver, arch, kdir, image, modules
  source                      print the unpacked kernel source's directory
  dir                         print the cache directory"""


def main(argv):
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
            for tier in args:
                build_tier(tier, jobs)
        elif command == "get" and len(args) == 2:
            kernel = find(args[1])
            fields = dataclasses.asdict(kernel)
            for field in args[0].split(","):
                if field not in fields:
                    raise KernelError(f"unknown field '{field}': use one of {', '.join(fields)}")
                print(fields[field])
        elif command == "source" and not args:
            print(source_tree())
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
