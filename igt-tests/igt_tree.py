# SPDX-License-Identifier: MIT
"""What becomes of the tests in a tree of IGT; for install-into and series.

All files are in one folder, tests/perfctr, and headers of the kernel in include/drm-uapi, as `make
headers_install` writes them.
"""

import glob
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import sys

from descriptions import document

HERE = os.path.dirname(os.path.realpath(__file__))
TOP = os.path.dirname(HERE)
sys.dont_write_bytecode = True
loader = importlib.machinery.SourceFileLoader("series", os.path.join(TOP, "scripts", "series"))
kernel = importlib.util.module_from_spec(importlib.util.spec_from_loader("series", loader))
loader.exec_module(kernel)
read, write, SeriesError = kernel.read, kernel.write, kernel.SeriesError

TESTS = "tests/perfctr"
UAPI = "include/drm-uapi"
# files of IGT's that change: the build, tests that no Intel machine runs, DRM's ioctls
BUILD = "tests/meson.build"
BLOCKLISTS = ("tests/intel-ci/i915.blocklist.txt", "tests/intel-ci/xe.blocklist.txt")
DRM = f"{UAPI}/drm.h"
# an IGT tree has igt.h instead
MINIGT = "minigt.h"
INCLUDE = re.compile(r'^#include (?:"|<drm/)([\w.]+)[">]', re.M)


def by_name(*patterns):
    return {os.path.basename(path): path for pattern in patterns
            for path in sorted(glob.glob(os.path.join(TOP, pattern)))}


PROGRAMS = by_name("igt-tests/*/perfctr_*.c")
OWN_LIBRARY = by_name("igt-tests/lib/*.[ch]")
LIBRARY = OWN_LIBRARY | by_name("lab/vsoc/igt/*.[ch]")
HEADERS = by_name("include/uapi/drm/*.h", "lab/vsoc/include/drm/*.h")
del LIBRARY[MINIGT], OWN_LIBRARY[MINIGT]


def included(path):
    """Names of our files that a file includes, directly or not."""
    ours = LIBRARY | HEADERS
    names, todo = set(), [path]
    while todo:
        new = set(INCLUDE.findall(read(todo.pop()))) & set(ours) - names
        names |= new
        todo += [ours[name] for name in new]
    return names


def copyright_line():
    """Of debian/copyright."""
    holder = re.search(r"^Files: \*\nCopyright: (.*)", read(os.path.join(TOP, "debian/copyright")),
                       re.M)[1]
    return f"SPDX-FileCopyrightText: Copyright (C) {holder}"


def add_header(tree, name):
    text = kernel.resolve_sections(read(HEADERS[name]))
    write(os.path.join(tree, UAPI, name),
          re.sub(r"^(#ifndef|#define|#endif /\*) _UAPI", r"\1 ", text, flags=re.M))


def add_ioctls(tree):
    """To drm.h, what the series for the kernel add to it."""
    diff = read(os.path.join(kernel.SERIES, "core", "hook.diff"))
    hunk = re.search(r"^\+\+\+ b/include/uapi/drm/drm\.h\n(.*?)(?=^--- |\Z)", diff, re.M | re.S)[1]
    added = "".join(line[1:] for line in hunk.splitlines(keepends=True) if line[0] == "+")
    add(tree, DRM, added, before="/*\n * Device specific ioctls should only be")


def add_source(tree, path):
    name = os.path.basename(path)
    text = kernel.resolve_sections(read(path)).replace(MINIGT, "igt.h")
    text = re.sub(r"^(#include) <drm/((?:perfctr|vsoc)_\w+\.h)>", r'\1 "\2"', text, flags=re.M)
    text = re.sub(r"\A(// |/\* )(.*?)( \*/)?\n",
                  lambda m: f"{m[0]}{m[1]}{copyright_line()}{m[3] or ''}\n", text)
    if name in PROGRAMS:
        build = os.environ.get("BUILD") or os.path.join(TOP, "build")
        text = document(text, os.path.join(build, "tests/igt", name.removesuffix(".c")))
    write(os.path.join(tree, TESTS, name), text)


def add_build(tree):
    """meson.build of the files that are there, and its line in that of the tests."""
    place = os.path.join(tree, TESTS)
    text = read(os.path.join(HERE, "meson.build"))
    for pattern in ("igt_*.c", "perfctr_*.c"):
        names = sorted(os.path.basename(p) for p in glob.glob(os.path.join(place, pattern)))
        if pattern.startswith("perfctr"):
            names = [name.removesuffix(".c") for name in names]
        text = text.replace(f"@{pattern}@", "".join(f"\n\t'{name}'," for name in names) + "\n")
    write(os.path.join(place, "meson.build"), text)
    shutil.copy(os.path.join(HERE, "test_config.json"), place)
    add(tree, BUILD, "\nsubdir('perfctr')\n", after="subdir('panthor')\n")
    for name in BLOCKLISTS:
        if os.path.exists(os.path.join(tree, name)):
            add(tree, name, "igt@perfctr.*\n", after="igt@panthor.*\n")


def add(tree, name, lines, after="", before=""):
    """To a file of IGT's, unless it has them."""
    path = os.path.join(tree, name)
    text = read(path)
    if lines in text:
        return
    if after + before not in text:
        raise SeriesError(f"{name} of IGT has no place for ours: no {after + before!r}")
    write(path, text.replace(after + before, after + lines + before, 1))


def build():
    """The programs here, which know what the comments for igt_doc.py say."""
    subprocess.run(["make", "-s", "-C", HERE], check=True)


def check_tree(tree):
    """int igt_main() and igt_fixture() are newer than IGT 2.2."""
    core = os.path.join(tree, "lib/igt_core.h")
    if not os.path.isdir(tree):
        raise SeriesError(f"{tree}: no such directory")
    if not os.path.exists(core):
        raise SeriesError(f"{tree}: no source tree of igt-gpu-tools, which has lib/igt_core.h")
    if "define igt_fixture()" not in read(core):
        raise SeriesError(f"{tree}: an IGT of 2.2 or before, whose lib/igt_core.h has no "
                          "igt_fixture(): git pull")


def run(main):
    try:
        sys.exit(main())
    except SeriesError as error:
        print(f"{os.path.basename(sys.argv[0])}: {error}", file=sys.stderr)
        sys.exit(1)
