# SPDX-License-Identifier: MIT
"""The cache directory, and Debian's amd64 kernels in it.

Checkouts share the cache. Its entries are keyed by their inputs and never stale. See
lab/vm/README.md. """

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

# Debian's name of this machine's architecture, and its name in the kernel
DEBIAN_ARCH, ARCH = {"aarch64": ("arm64", "arm64")}.get(os.uname().machine, ("amd64", "x86_64"))
# series name -> package name patterns; the number group orders the releases
DEBIAN_SERIES = {
    "6.12": rf"6\.12\.(\d+)\+deb\d+-{DEBIAN_ARCH}",
    "6.12-rt": rf"6\.12\.(\d+)\+deb\d+-rt-{DEBIAN_ARCH}",
    "6.1": rf"6\.1\.0-(\d+)-{DEBIAN_ARCH}",
}
# the release of Debian whose kernel it is: any release can take it from there
HOME_SUITE = {"6.12": "trixie", "6.12-rt": "trixie", "6.1": "bookworm"}
SETUP = os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../scripts/setup")
# depmod and others, which the PATH of users may lack
os.environ["PATH"] = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"


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
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise KernelError(f"the cache needs a directory, and {path} cannot be made "
                          f"({error.strerror}): set PERFCTR_CACHE to one") from None
    return os.path.realpath(path)


@contextlib.contextmanager
def lock(name):
    """Serialise work on one cache entry between processes."""
    path = os.path.join(cache_dir(), f".lock-{name}")
    with open(path, "w", encoding="ascii") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def merge_usr(tree):
    """Move lib to usr/lib, behind a link: depmod of Debian 12 looks in one, that of 13 in the
    other."""
    os.makedirs(os.path.join(tree, "usr"), exist_ok=True)
    if os.path.isdir(os.path.join(tree, "lib")):
        os.rename(os.path.join(tree, "lib"), os.path.join(tree, "usr/lib"))
    os.makedirs(os.path.join(tree, "usr/lib"), exist_ok=True)
    os.symlink("usr/lib", os.path.join(tree, "lib"))


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


def headers_root(kver):
    """Where the packages of a kernel's headers are unpacked."""
    return os.path.join(cache_dir(), "headers", kver)


def headers_dir(kver):
    return f"{headers_root(kver)}/usr/src/linux-headers-{kver}"


def debian_dir(kver):
    return os.path.join(cache_dir(), "kernels", kver)


def debian_cached(series):
    """Cached releases of a series with their headers, newest first."""
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


def apt_download(packages, what, work):
    """The files of packages, without those that they depend on."""
    sizes = re.findall(r"^Size: (\d+)", run("apt-cache", "show", "--no-all-versions", *packages),
                       re.MULTILINE)
    note(f"fetching {what} into the cache ({sum(map(int, sizes)) / 1e6:.0f} MB)")
    with tempfile.TemporaryDirectory(dir=work) as debs:
        run("apt-get", "-q", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=3",
            "download", *packages, cwd=debs)
        for deb in glob.glob(f"{debs}/*.deb"):
            run("dpkg", "-x", deb, f"{work}/tree")
    return f"{work}/tree"


def relocate_headers(tree, name, kbuild):
    """Headers name the directory of their common part, which is in the same tree here, and links
    lead to the programs of linux-kbuild, which is in the directory kbuild."""
    makefile = f"{tree}/usr/src/{name}/Makefile"
    with open(makefile, encoding="ascii") as f:
        text = f.read()
    with open(makefile, "w", encoding="ascii") as f:
        f.write(text.replace(" /usr/src/", " $(dir $(lastword $(MAKEFILE_LIST)))../"))
    if not os.path.isdir(f"{tree}/usr/lib/{os.path.basename(kbuild)}"):
        os.makedirs(f"{tree}/usr/lib", exist_ok=True)
        os.symlink(kbuild, f"{tree}/usr/lib/{os.path.basename(kbuild)}")


def fetch_headers(kver):
    """Unpack a kernel's headers into the cache. Installed they would bring the image along, which
    becomes the kernel that this machine boots."""
    if os.path.isdir(headers_dir(kver)):
        return
    name = f"linux-headers-{kver}"
    packages = [name, *re.findall(r"Depends: (linux-headers-\S+|linux-kbuild-\S+)",
                                  run("apt-cache", "depends", name))]
    os.makedirs(os.path.dirname(headers_root(kver)), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(headers_root(kver)),
                                     prefix=".fetch-") as work:
        tree = apt_download(packages, name, work)
        kbuild = os.path.basename(glob.glob(f"{tree}/usr/lib/linux-kbuild-*")[0])
        relocate_headers(tree, name, kbuild)
        publish(tree, headers_root(kver))


def raw_image(vmlinuz, image):
    """An arm64 kernel as QEMU loads it; Debian's may be a compressed Image."""
    with open(vmlinuz, "rb") as f:
        start = f.read(64)
    if start.startswith(b"\x1f\x8b"):
        with open(image, "wb") as f:
            subprocess.run(["gzip", "-dc", vmlinuz], stdout=f, check=True)
    elif start[56:60] == b"ARM\x64":
        shutil.copyfile(vmlinuz, image)
    else:
        raise KernelError(f"{vmlinuz}: not an arm64 image")


def unpack_image(kver, vmlinuz, image):
    """The kernel of a package as an emulator loads it."""
    (raw_image if kver.endswith("-arm64") else extract_vmlinux)(vmlinuz, image)


def fetch_debian(kver, package):
    """Unpack an image package into the cache, never installing it."""
    final = debian_dir(kver)
    if is_cached(kver):
        return
    os.makedirs(os.path.dirname(final), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(final), prefix=".fetch-") as work:
        tree = apt_download([package], package, work)
        unpack_image(kver, f"{tree}/boot/vmlinuz-{kver}", f"{tree}/vmlinux")
        shutil.rmtree(f"{tree}/boot")
        shutil.rmtree(f"{tree}/usr/share", ignore_errors=True)
        merge_usr(tree)
        run("depmod", "-b", tree, kver)
        publish(tree, final)


def update_lists():
    subprocess.run([SETUP, "--lists"], check=False)


def fetch_own(series):
    """The newest release that this machine's apt offers, cached with its headers; None if it offers
    none."""
    offered = debian_offered(series)
    errors = []
    for attempt in range(2):
        for kver, package in offered[:2]:
            try:
                fetch_debian(kver, package)
                fetch_headers(kver)
                return kver
            except KernelError as error:
                errors.append(str(error))
        if attempt == 0 and (errors or not run("apt-cache", "pkgnames", "linux-")):
            # stale package lists have releases that the archive lacks
            update_lists()
            offered = debian_offered(series)
    if errors:
        raise KernelError(f"Debian's {series} kernel cannot be installed:\n{errors[-1]}")
    return None


def is_cached(kver):
    return os.path.exists(os.path.join(debian_dir(kver), ".complete"))


def find_debian(name):
    """The newest cached kernel of a series, or the cached release of that name."""
    kver = name
    if name in DEBIAN_SERIES:
        cached = debian_cached(name)
        if not cached:
            raise KernelError(f"no Debian {name} kernel in {cache_dir()}: run scripts/setup {name}")
        kver = cached[0]
    elif not is_cached(name):
        raise KernelError(f"unknown kernel '{name}': run lab/vm/run --help for the list, or use a "
                          f"Debian release that is in {cache_dir()}/kernels")
    tree = debian_dir(kver)
    return Kernel(name, kver, ARCH, headers_dir(kver), f"{tree}/vmlinux", tree, True)
