# SPDX-License-Identifier: Apache-2.0
"""Starts a search for build routes, `trtexec ARGUMENTS`. `stop N` as the first arguments: Ctrl-C in candidate N. `kill N`: candidate N
is ended by a signal, as if it had crashed. Prints how the search ended and which routes its cache holds."""
import json
import os
import signal
import subprocess
import sys
import threading
import time

what, number = sys.argv[1], int(sys.argv[2])
program = subprocess.Popen(["trtexec", *sys.argv[3:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=subprocess.DEVNULL,
                           preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
watchdog = threading.Timer(60, program.kill)
watchdog.start()


def candidate():
    """The process of the candidate, as soon as it runs."""
    while program.poll() is None:
        for child in open(f"/proc/{program.pid}/task/{program.pid}/children").read().split():
            return int(child)
        time.sleep(0.001)


text = ""
for line in program.stdout:
    text += line
    if f"TASK_BEGIN [iter={number}]" in line:
        child = candidate()
        begin = time.monotonic()
        if what == "kill":
            os.kill(child, signal.SIGABRT)  # SIGSEGV would reach a sanitizer, which exits instead
        else:
            time.sleep(0.1)
            program.send_signal(signal.SIGINT)
status = program.wait()
watchdog.cancel()
print("status", status)
print("crash:", "its process was ended by signal 6" in text, "aborted:", f"TASK_ABORT [iter={number}]" in text, "says how to go on:", "--continue" in text)
print([json.loads(line)["crash"] for line in open("best_config.json").read().splitlines()[1:]])
