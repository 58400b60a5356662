#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An application for perfctr perfkit --frames whose frames are jobs of the virtual GPU.

usage: frames_app.py NODE FRAMES [TRUTH FOLDER]

Each frame draws and computes a bit more than the previous one, and reports its end by the protocol
of perfctr-perfkit(1). Copies the file TRUTH to FOLDER/n.before and FOLDER/n.after. Prints the
numbers of frames that it drew and reported."""

import os
import shutil
import socket
import struct
import subprocess
import sys


class Frames:
    """The application's side of the protocol."""

    def __init__(self):
        self.reported = 0
        self.connection = None
        name = os.environ.get("PERFCTR_FRAMES")
        if name:
            self.connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            self.connection.connect(name.replace("@", "\0", 1))
            # after the tool's exit its socket name is free for others
            _, uid, _ = struct.unpack("3i", self.connection.getsockopt(socket.SOL_SOCKET,
                                                                       socket.SO_PEERCRED, 12))
            if uid not in (0, os.geteuid()):
                raise PermissionError(f"user {uid} listens at {name}")

    def end(self, values=""):
        """Report the end of a frame, with values: "\\nNAME NUMBER UNIT" each."""
        if not self.connection:
            return
        try:
            self.connection.send(b"frame" + values.encode())
            self.reported += 1
            answer = self.connection.recv(64)
        except OSError:
            answer = b""
        if answer != b"go":
            self.connection.close()
            self.connection = None


def draw(node, n):
    work = f"vertices={300 + 30 * n} primitives={100 + 10 * n} fragments={4000 + 500 * n} " \
           f"texels={1000 + 7 * n}"
    for job in ("draw", *work.split()), ("compute", f"threads={100 + 32 * n}"):
        subprocess.run(("vsoc-job", "-q", "-d", node, *job), check=True)


def main():
    node, count, *truth = sys.argv[1:]
    frames = Frames()
    for n in range(int(count)):
        if truth:
            shutil.copyfile(truth[0], os.path.join(truth[1], f"{n}.before"))
        draw(node, n)
        if truth:
            shutil.copyfile(truth[0], os.path.join(truth[1], f"{n}.after"))
        frames.end(f"\ndraw-calls {n + 1}\nuploaded {64 * n} bytes")
    print(count, frames.reported, flush=True)


if __name__ == "__main__":
    main()
