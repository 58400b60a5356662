# SPDX-License-Identifier: MIT
"""Debian packages of other suites and architectures: fetched and unpacked, never installed."""

import contextlib
import glob
import os
import subprocess
import tempfile

from debian_kernels import KernelError, run


class Apt:
    """apt for another architecture or other archives; the machine's apt is unchanged.

    @work: directory for its lists and packages
    @architecture: or several, separated by commas, the one of the programs first
    @sources: lines of sources.list(5); by default the archives of this machine's apt
"""

    def __init__(self, work, architecture, sources=None):
        self.work, self.archives = work, os.path.join(work, "archives")
        for name in ("archives/partial", "lists/partial", "state"):
            os.makedirs(os.path.join(work, name))
        path = os.path.join(work, "apt.conf")
        options = {
            "APT::Architecture": architecture.split(",")[0], "APT::Architectures": architecture,
            "APT::Install-Recommends": "false", "APT::Sandbox::User": "root",
            "Dir::State": f"{work}/state", "Dir::State::status": f"{work}/state/status",
            "Dir::State::lists": f"{work}/lists",
            "Dir::Cache": work, "Dir::Cache::archives": self.archives,
        }
        if sources:
            options["Dir::Etc::sourcelist"] = f"{work}/sources.list"
            options["Dir::Etc::sourceparts"] = "-"
            with open(f"{work}/sources.list", "w", encoding="ascii") as f:
                f.write("".join(line + "\n" for line in sources))
        with open(f"{work}/state/status", "w", encoding="ascii"), \
                open(path, "w", encoding="ascii") as f:
            f.write("".join(f'{name} "{value}";\n' for name, value in options.items()))
        self.env = {**os.environ, "APT_CONFIG": path, "DEBIAN_FRONTEND": "noninteractive"}

    def __call__(self, *words):
        return run("apt-get", "-q", "-y", *words, env=self.env)

    def cache(self, *words):
        return run("apt-cache", *words, env=self.env)

    def download(self, *packages):
        """Files of the packages, without those that they depend on."""
        directory = tempfile.mkdtemp(dir=self.work)
        run("apt-get", "-q", "download", *packages, env=self.env, cwd=directory)
        return glob.glob(f"{directory}/*.deb")


def unpack(debs, to):
    """Unpack as dpkg would, on a merged /usr and without running scripts."""
    for name in ("bin", "sbin", "lib"):
        os.makedirs(os.path.join(to, "usr", name), exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.symlink(f"usr/{name}", os.path.join(to, name))
    for deb in sorted(debs):
        # tar keeps the links of the merged /usr; dpkg -x would replace them
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as data:
            run("tar", "-C", to, "--keep-directory-symlink", "-xpf", "-", stdin=data.stdout)
            if data.wait():
                raise KernelError(f"{os.path.basename(deb)} cannot be unpacked")


def finish_root(root, links, directories):
    """Links that scripts of the packages would make, and directories to mount on."""
    for link, target in links.items():
        if not os.path.lexists(os.path.join(root, link)):
            os.symlink(target, os.path.join(root, link))
    for name in directories:
        os.makedirs(os.path.join(root, name), exist_ok=True)
