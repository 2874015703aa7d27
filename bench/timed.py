# SPDX-License-Identifier: Apache-2.0
"""Time and peak memory of a command, for bench/where and bench/where_large."""
import subprocess
import sys

# A process inherits the peak of the one that started it, so a small one starts the command.
MEASURE = """import os, subprocess, sys, time
begin = time.monotonic()
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(child.pid, 0)
print(time.monotonic() - begin, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime, os.waitstatus_to_exitcode(status))"""


def timed(command):
    """(seconds, peak MB, seconds of processor time, exit status) of a command."""
    words = subprocess.run([sys.executable, "-c", MEASURE, *command], capture_output=True, text=True, check=True).stdout.split()
    return [float(w) for w in words]
