#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the lines that tell of files read and written: file_lines.py PROGRAM

Each command runs here and in the original; the log lines that begin with Saving, Saved, Loading, Loaded, Reading or Writing must be the
same, with their severity, in any order. What is left out stands in EXCEPT with its reason. Needs polygraphy 0.53.6 and onnxruntime.
"""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEER = os.path.join(os.path.dirname(sys.executable), "polygraphy")
MODEL = os.path.join(ROOT, "examples/models/digits.onnx")
ATTENTION = os.path.join(ROOT, "tests/data/shard/attention.onnx")
RUN = f"run {MODEL} --onnxrt"
COMMANDS = [
    f"{RUN} --save-inputs in.json --save-outputs out.json",
    f"{RUN} --save-inputs ind --save-outputs outd --save-input-blob blob -v",
    f"{RUN} --load-inputs in.json --load-outputs out.json --save-accuracy-results acc.json",
    f"{RUN} --load-inputs ind --load-outputs outd",
    f"{RUN} --load-inputs in.json --load-outputs out.json --sequential-runners",
    f"{RUN} --save-inputs s.json --save-outputs t.json --sequential-runners",
    f"{RUN} --save-onnx saved.onnx --onnx-outputs *",
    "check accuracy acc.json --compare l2",
    "data merge in.json in.json -o merged.json",
    "data concat in.json in.json -o chained.json",
    "data concat out.json out.json -o chained_out.json",
    "inspect data in.json",
    "inspect data out.json",
    "inspect data acc.json",
    "inspect data ind",
    "inspect data outd",
    f"inspect model {MODEL}",
    f"inspect sparsity {MODEL}",
    f"convert {MODEL} -o c.onnx",
    f"convert {MODEL} -o e.onnx --save-external-data e.data --external-data-size-threshold 0 -v",
    "inspect model e.onnx -v --external-data-dir .",
    f"check lint {MODEL} -o lint.json",
    f"surgeon extract {MODEL} --outputs logits:auto -o x.onnx",
    f"surgeon sanitize {MODEL} --fold-constants -o f.onnx",
    f"surgeon insert {MODEL} --inputs image --outputs image --op Identity -o i.onnx",
    f"surgeon prune {MODEL} -o p.onnx",
    f"surgeon weight-strip {MODEL} -o w.onnx",
    "surgeon weight-reconstruct w.onnx -o r.onnx",
    f"template onnx-gs {MODEL} -o gs.py",
    f"template shard-hints {ATTENTION} -o hints.json",
    f"multi-device shard {ATTENTION} -s hints.json -o sharded.onnx",
]
LINE = re.compile(r"\[(.)\]\s+((?:Saving|Saved|Loading|Loaded|Reading|Writing|Matching subgraphs saved) .*)")
EXCEPT = [
    (r"Loading inputs from data loader", "written at other points of a run"),
    (r"Loaded extension modules", "extensions of Python"),
    (r"Loaded ONNX Runtime", "ours: which library was found"),
    (r"Writing shape-inferred model|tmp_polygraphy", "a temporary file of the original"),
    (r"Loaded Module", "modules of Python"),
]
# More lines than the original's: tool, what they begin with.
MORE = [
    ("data", r"I Loading (input data|inference results) from"),
    ("data concat", r"I Saving inference (input data|results) to"),
    ("inspect data", r"I Loading (input data|inference results|accuracy results) from"),
]


def lines(program, command, folder):
    env = dict(os.environ, NO_COLOR="1", PYTHONWARNINGS="ignore")
    result = subprocess.run([program, *command.split()], cwd=folder, env=env, capture_output=True, text=True, errors="replace")
    found = [" ".join(m.groups()).rstrip() for m in map(LINE.search, result.stdout.splitlines()) if m]
    found = [re.sub(r"<_io.TextIOWrapper name='(.*?)'.*>", r"\1", line.replace(folder + "/", "")) for line in found]
    skipped = [e for e, _ in EXCEPT] + [m for tool, m in MORE if command.startswith(tool + " ")]
    return result.returncode, sorted(line for line in found if not any(re.search(e, line) for e in skipped)), result.stdout + result.stderr


def main():
    program = os.path.abspath(sys.argv[1])
    wrong = 0
    with tempfile.TemporaryDirectory() as ours, tempfile.TemporaryDirectory() as theirs:
        for command in COMMANDS:
            peer_code, wanted, peer_text = lines(PEER, command, theirs)
            code, got, text = lines(program, command, ours)
            if (code, got) == (peer_code, wanted):
                continue
            wrong += 1
            print(f"polygraphy {command}: exit {code}, there {peer_code}", *(f"    only there: {w}" for w in wanted if w not in got),
                  *(f"    only here:  {g}" for g in got if g not in wanted), sep="\n")
            if len(sys.argv) > 2:
                print(peer_text, text, sep="\n-----\n")
    print(f"{len(COMMANDS)} commands, {wrong} with other lines")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
