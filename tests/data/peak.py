#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""peak.py MIB COMMAND...: runs the command and fails if its resident memory, mapped files included, ever was more."""
import resource
import subprocess
import sys

status = subprocess.call(sys.argv[2:])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
if peak > int(sys.argv[1]):
    sys.exit(f"{' '.join(sys.argv[2:])}: peak of {peak} MiB, more than {sys.argv[1]}")
sys.exit(status)
