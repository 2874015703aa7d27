#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""peak.py MIB COMMAND...: runs the command and fails if its resident memory, mapped files included, ever was more."""
import os
import resource
import subprocess
import sys

# What was freed counts as free under the address sanitizer, too.
options = f"{os.environ.get('ASAN_OPTIONS', '')}:quarantine_size_mb=1:thread_local_quarantine_size_kb=64"
status = subprocess.call(sys.argv[2:], env=dict(os.environ, ASAN_OPTIONS=options))
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss >> 10
if peak > int(sys.argv[1]):
    sys.exit(f"{' '.join(sys.argv[2:])}: peak of {peak} MiB, more than {sys.argv[1]}")
sys.exit(status)
