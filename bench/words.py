# SPDX-License-Identifier: Apache-2.0
"""Command lines of the benchmarks that take words and no options."""
import sys


def words(text, least):
    """The words of the command line. --help prints `text`, the script's documentation; so do fewer than `least` words, and options."""
    given = sys.argv[1:]
    if "-h" in given or "--help" in given:
        print(text.strip())
        sys.exit(0)
    if len(given) < least or any(w.startswith("-") for w in given):
        sys.exit(text.strip())
    return given
