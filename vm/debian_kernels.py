# SPDX-License-Identifier: MIT
"""The cache directory, and Debian's amd64 kernels in it.

Checkouts share the cache. Its entries are keyed by their inputs and never stale. See vm/README.md.
"""

import contextlib
import dataclasses
import fcntl
import glob
import gzip
import lzma
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

# series name -> package name patterns; the number group orders the releases
DEBIAN_SERIES = {
    "6.12": r"6\.12\.(\d+)\+deb12-amd64",
    "6.12-rt": r"6\.12\.(\d+)\+deb12-rt-amd64",
    "6.1": r"6\.1\.0-(\d+)-amd64",
}


class KernelError(Exception):
    """An error with a fix for the user."""


@dataclasses.dataclass(frozen=True)
class Kernel:
    name: str  # as requested: 6.12, 6.1, fast, uml, ... or a full version
    kver: str  # kernel release, what uname -r prints
    arch: str  # x86_64, arm64 or um
    kdir: str  # directory to build modules against
    image: str  # ELF to boot
    modules: str  # root of a lib/modules/<kver> tree, "" if all in-kernel code is built in
    initramfs: bool  # whether the root file system needs modules
    root: str = ""  # root file system to build modules in, if this machine's compiler is too old


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
    """Run a command; an error includes its output."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False, **{"stdin": subprocess.DEVNULL, **kwargs})
    if done.returncode:
        tail = "\n".join(done.stdout.splitlines()[-15:])
        raise KernelError(f"'{' '.join(argv)}' failed with status {done.returncode}:\n{tail}")
    return done.stdout


def publish(tree, final):
    """Make a finished tree an entry of the cache."""
    open(os.path.join(tree, ".complete"), "w", encoding="ascii").close()
    shutil.rmtree(final, ignore_errors=True)
    os.rename(tree, final)


def extract_vmlinux(bzimage, vmlinux):
    """Extract the ELF of a bzImage: the decompressor is slow in TCG."""
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
    """Releases with image and headers in apt, newest first: (kver, image package)."""
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
    if is_cached(kver):
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
        publish(tree, final)


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
                # stale package lists have releases that the mirror lacks
                with contextlib.suppress(KernelError):
                    run(*root_command(), "apt-get", "-q", "update")
        if cached:
            note(f"no newer {series} kernel can be had from apt; using cached {cached[0]}")
            return cached[0]
        raise KernelError(f"apt offers no Debian {series} kernel that can be installed. Enable the "
                          "bookworm-security archive (its main section) and run scripts/setup again"
                          + "".join("\n" + error for error in errors[-1:]))


def is_cached(kver):
    return os.path.exists(os.path.join(debian_dir(kver), ".complete"))


def find_debian(name):
    """The newest cached kernel of a series, or the cached release of that name."""
    kver = name
    if name in DEBIAN_SERIES:
        cached = debian_cached(name)
        if not cached:
            raise KernelError(f"no Debian {name} kernel in {cache_dir()}: run scripts/setup")
        kver = cached[0]
    elif not is_cached(name):
        raise KernelError(f"unknown kernel '{name}': run vm/run --help for the list, or use a "
                          f"Debian release that is in {cache_dir()}/kernels")
    tree = debian_dir(kver)
    return Kernel(name, kver, "x86_64", headers_dir(kver), f"{tree}/vmlinux", tree, True)
