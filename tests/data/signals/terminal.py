#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a command on a terminal for some seconds: terminal.py TERM SECONDS WORD... Then Ctrl-C; prints what it wrote, escaped."""
import os
import pty
import select
import sys
import time

pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = sys.argv[1]
    os.execvp(sys.argv[3], sys.argv[3:])
out, end, sent = b"", time.monotonic() + float(sys.argv[2]), False
while True:
    if not sent and time.monotonic() > end:
        os.write(fd, b"\x03")
        sent = True
    if not select.select([fd], [], [], 0.05)[0]:
        continue
    try:
        some = os.read(fd, 65536)
    except OSError:
        break
    if not some:
        break
    out += some
print(out.decode(errors="replace").encode("unicode_escape").decode())
print("status", os.waitpid(pid, 0)[1])
