#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the names of options beside those of the original: options.py RUNNER, or options.py --write

RUNNER is build/release/tests/option_runner. Every option of every tool of the original is known here, and every beginning of it
that the original accepts finds the same option: 'ambiguous' there is 'ambiguous' here, except where all candidates are spellings
of one option. --write makes the two files that are derived from the original's parsers, which are checked otherwise:
tests/data/cli/options.txt (all options of all tools) and src/cli/args/original.inc (all spellings of each tool). Needs polygraphy 0.53.6.
"""
import argparse
import os
import subprocess
import sys
import textwrap

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = os.path.join(ROOT, "tests/data/cli/options.txt")
NAMES = os.path.join(ROOT, "src/cli/args/original.inc")


def parsers():
    """{"inspect model": (its parser, is it a tool that can be run)}, all tools of the original"""
    from polygraphy.tools.registry import TOOL_REGISTRY

    top = argparse.ArgumentParser()
    tools = top.add_subparsers()
    for tool in TOOL_REGISTRY:
        tool.setup_parser(tools)
    found = {}

    def walk(parser, path):
        below = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        if path:
            found[" ".join(path)] = (parser, not below)
        for name, child in below[0].choices.items() if below else ():
            walk(child, path + [name])

    walk(top, [])
    return found


def options(parser):
    return [a for a in parser._actions if a.option_strings]


def arity(action):
    return {None: "one", 0: "none", "...": "rest", "A...": "rest"}.get(action.nargs, str(action.nargs))


def table_text(tools):
    lines = ["# Options of polygraphy 0.53.6, written by tests/parity/options.py: tool | spellings | words it takes\n"]
    for tool, (parser, can_run) in sorted(tools.items()):
        if can_run:
            lines += [f"{tool} | {' '.join(a.option_strings)} | {arity(a)}\n" for a in options(parser)]
    return "".join(lines)


def names_text(tools):
    lines = ["/* SPDX-License-Identifier: Apache-2.0 */", "/* Options of each tool of the original (PGY_PARITY_VERSION), written by tests/parity/options.py: do not edit. */"]
    for tool, (parser, can_run) in sorted(tools.items()):
        if can_run:
            words = textwrap.wrap(" ".join(sorted(parser._option_string_actions)), 92, break_long_words=False, break_on_hyphens=False)
            lines += [f'OPTIONS("{tool}",', *(f'        "{line} "' for line in words)]
            lines[-1] += ")"
    return "\n".join(lines) + "\n"


# Whole names, of older releases or our own, that are beginnings of others; both meanings work, told apart by the value.
BOTH = {("inspect model", "--mode"), ("run", "--quantization"), ("convert", "--quantization"), ("template trt-config", "--quantization")}


def meant(parser, word):
    """The spellings of all options that a word may mean there, one list for each option."""
    if word in parser._option_string_actions:
        return [parser._option_string_actions[word].option_strings]
    actions = {id(m[0]): m[0] for m in (parser._get_option_tuples(word) if parser.allow_abbrev else [])}
    return [a.option_strings for a in actions.values()]


def words_of(parser):
    return sorted({n[:size] for n in parser._option_string_actions for size in range(3 if n.startswith("--") else 2, len(n) + 1)})


def check(tools, runner):
    cases = [(tool, word, meant(parser, word)) for tool, (parser, _) in sorted(tools.items()) for word in words_of(parser)]
    asked = "".join(f"{tool}\t{word}\n" for tool, word, _ in cases)
    answers = subprocess.run([runner], input=asked, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(answers) == len(cases), "an answer for each question"
    wrong = single = 0
    for (tool, word, candidates), answer in zip(cases, answers):
        kind, _, name = answer.partition("\t")
        if kind == "no command":  # a tool that is missing as a whole; tests/unit/cli/missing.c sees that it says so
            continue
        single += len(candidates) == 1
        good = kind in ("option", "missing") and name in candidates[0] if len(candidates) == 1 else kind == ("ambiguous" if candidates else "none")
        if not candidates and kind in ("option", "ambiguous", "missing") or (tool, word) in BOTH:  # options of our own, or older ones
            good = True
        if not good:
            print(f"{tool} {word}: the original takes it for {candidates or 'nothing'}, we for {answer}")
            wrong += 1
    print(f"{len(cases)} words of {len(tools)} tools, {single} of them accepted by the original, {wrong} taken otherwise here")
    return wrong


def main():
    tools = parsers()
    stale = 0
    for path, text in ((TABLE, table_text(tools)), (NAMES, names_text(tools))):
        if "--write" in sys.argv:
            open(path, "w", encoding="utf-8").write(text)
        elif open(path, encoding="utf-8").read() != text:
            print(f"{os.path.relpath(path, ROOT)} is stale; run tests/parity/options.py --write")
            stale = 1
    return stale if "--write" in sys.argv else int(bool(stale or check(tools, sys.argv[1])))


if __name__ == "__main__":
    sys.exit(main())
