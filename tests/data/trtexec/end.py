# SPDX-License-Identifier: Apache-2.0
"""end.py SIGNAL COMMAND...: sends the signal to the command when the fake trtexec that it starts waits, and tells how both ended."""
import os
import signal
import subprocess
import sys
import time


def ends(pid):
    """True when the process has ended, or is only not reaped yet."""
    for _ in range(100):
        try:
            if ") Z " in open(f"/proc/{pid}/stat").read():
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


run = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
while run.poll() is None and not (os.path.exists("waits") and open("waits").read()):
    time.sleep(0.01)
run.send_signal(getattr(signal, "SIG" + sys.argv[1]))
print(f"status {run.wait()}, trtexec", "has ended" if ends(open("waits").read()) else "runs on")
