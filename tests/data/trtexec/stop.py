# SPDX-License-Identifier: Apache-2.0
"""Starts `trtexec --duration=-1 ARGUMENTS`, stops it by Ctrl-C while it measures, and prints how it ended."""
import signal
import subprocess
import sys
import threading
import time

program = subprocess.Popen(["trtexec", "--duration=-1", *sys.argv[1:]], stdout=subprocess.PIPE, text=True,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
watchdog = threading.Timer(30, program.kill)
watchdog.start()
for line in program.stdout:
    if "Starting inference" in line:
        break
time.sleep(0.5)
program.send_signal(signal.SIGINT)
begin = time.monotonic()
rest = program.stdout.read()
status = program.wait()
took = time.monotonic() - begin
watchdog.cancel()
print(f"status {status}, " + ("soon" if took < 2 else f"after {took:.3f} s"))
print(*(f"{w}: {'yes' if w in rest else 'no'}" for w in ("Throughput", "&&&& PASSED", "&&&& FAILED")), sep=", ")
