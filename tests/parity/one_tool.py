# SPDX-License-Identifier: Apache-2.0
"""The original's command line with one of its tools: main() builds the parsers of all tools each time, which takes longer than most commands."""
from polygraphy.tools import main, registry


def keep(name):
    """main(), which knows the tool `name` alone from now on."""
    kept = [tool for tool in registry.TOOL_REGISTRY if tool.name == name]
    if not kept:
        raise SystemExit(f"the original has no tool '{name}'")
    registry.TOOL_REGISTRY[:] = kept
    return main
