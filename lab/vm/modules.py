# SPDX-License-Identifier: MIT
"""Modules that a guest loads, the kernel's and ours, in order."""

import glob
import lzma
import os
import re
import tempfile

from kernel_cache import KernelError, TOP, VM_DIR


def module_name(path):
    return os.path.basename(path).split(".ko")[0].replace("-", "_")


class KernelModules:
    """The kernel's own modules: what each depends on, and an uncompressed copy of each."""

    def __init__(self, kernel):
        self.root = os.path.join(kernel.modules, "lib/modules", kernel.kver)
        self.copies = os.path.join(kernel.modules, "ko")
        self.depends = {}
        self.paths = {}
        try:
            with open(os.path.join(self.root, "modules.dep"), encoding="ascii") as f:
                for line in f:
                    path, _, depends = line.partition(":")
                    self.paths[module_name(path)] = path
                    # modules.dep lists the closest dependency first
                    self.depends[module_name(path)] = [module_name(p) for p in depends.split()]
        except FileNotFoundError:
            pass

    def file(self, name):
        """An uncompressed module file: a guest would decompress it slowly."""
        path = os.path.join(self.root, self.paths[name])
        if path.endswith(".ko"):
            return path
        copy = os.path.join(self.copies, name + ".ko")
        if not os.path.exists(copy):
            os.makedirs(self.copies, exist_ok=True)
            with lzma.open(path) as f:
                data = f.read()
            with tempfile.NamedTemporaryFile(dir=self.copies, delete=False) as f:
                f.write(data)
            os.chmod(f.name, 0o644)
            os.rename(f.name, copy)
        return copy

    def closure(self, names):
        """Names and their dependencies in load order. Unknown names are built in."""
        order = []
        for name in names:
            if name in self.paths:
                order += [n for n in [*reversed(self.depends[name]), name] if n not in order]
        return order


def read_depends(path):
    with open(path, "rb") as f:
        match = re.search(rb"\0depends=([^\0]*)\0", f.read())
    return [d.replace("-", "_") for d in match.group(1).decode().split(",") if d] if match else []


def read_modules_list():
    """lab/vm/modules.list: [(name, parameters)], and the names that must not be loaded."""
    wanted, unwanted = [], set()
    with open(os.path.join(VM_DIR, "modules.list"), encoding="ascii") as f:
        for line in f:
            words = line.split("#")[0].split(None, 1)
            if words and words[0].startswith("-"):
                unwanted.add(words[0][1:])
            elif words:
                wanted.append((words[0], words[1].strip() if len(words) > 1 else ""))
    return wanted, unwanted


def changed_source(directory):
    """A source that has changed since scripts/build-modules built the modules, or None."""
    stamp = os.path.join(directory, ".built")
    try:
        built_ns = os.stat(stamp).st_mtime_ns
    except FileNotFoundError:
        # a failed build leaves earlier modules
        if os.path.exists(stamp + ".new"):
            raise KernelError(
                f"the last build of the modules in {directory} failed, or is not over") from None
        return None
    # the build directory has links to the sources; folders of tests without a Kbuild have programs
    tests = os.path.join(directory, "tests")
    for folder, _, names in os.walk(directory):
        if folder.startswith(tests) and "Kbuild" not in names:
            continue
        for name in names:
            path = os.path.join(folder, name)
            if os.path.islink(path) and re.search(r"\.[chS]$|^Kbuild$", name) and \
                    os.stat(path).st_ctime_ns > built_ns:
                return os.path.realpath(path)
    return None


def plan(kernel, directory, parameters):
    """[(file, parameters)] of everything to load, in order."""
    own = {module_name(p): p for p in sorted(glob.glob(os.path.join(glob.escape(directory),
                                                                    "*.ko")))}
    target = "arm64" if kernel.arch == "arm64" else f"modules KVER={kernel.name}"
    if not own:
        raise KernelError(f"{directory} has no modules: run make {target}, or use --no-modules")
    # outdated modules would be tested unnoticed
    changed = changed_source(directory)
    if changed:
        raise KernelError(f"{os.path.relpath(changed, TOP)} is newer than the modules in "
                         f"{directory}: "
                         f"run make {target}")
    in_kernel = KernelModules(kernel)
    listed, unwanted = read_modules_list()
    options = {name: text for name, text in listed if text}
    for text in parameters:
        name, _, option = text.partition(".")
        if not option or name not in own:
            raise KernelError(f"--param {text}: expected MODULE.NAME=VALUE with a module from "
                             f"{directory}")
        options[name] = f"{options.get(name, '')} {option}".strip()
    plan = []

    def add(name, chain=()):
        if any(done == name for done, _ in plan) or name in chain:
            return
        if name in own:
            for depends in read_depends(own[name]):
                add(depends, (*chain, name))
            plan.append((name, own[name]))
            return
        for other in in_kernel.closure([name]):
            if not any(done == other for done, _ in plan):
                plan.append((other, in_kernel.file(other)))

    for name in [n for n, _ in listed] + [n for n in own if n not in unwanted]:
        add(name)
    return [(os.path.realpath(path), options.get(name, "")) for name, path in plan]
