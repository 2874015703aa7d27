#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One inference of many exported models on one processor, the engine beside ONNX Runtime.

    exports.py PROGRAM FOLDER [--processors 0,1] [--duration SECONDS] [--results FILE] [--markdown FILE] [NAME...]

FOLDER has models of tests/parity/export_models.py, or any other ones. Each model is measured by `PROGRAM bench MODEL@onnxrt MODEL`, in
slices in turn, in a process that may use one processor only, so both sides have one thread; as many models at a time as --processors
has. The ratio is that of the medians, our time over ONNX Runtime's. Results are kept in --results, so a stopped run goes on where it
was; what cannot be measured is listed with its error. Needs onnx and taskset; PROGRAM finds ONNX Runtime as it always does.
"""
import argparse
import concurrent.futures
import fnmatch
import glob
import json
import math
import os
import queue
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "parity"))
from families import input_words, program_run  # noqa: E402: sizes of named axes, ranges of whole numbers

SECONDS = 400  # for one model
LIMIT = 1.2


def measure(program, path, processor, duration):
    """{'ours', 'theirs': median ms} or {'error': text}."""
    with tempfile.TemporaryDirectory() as folder:
        report, inputs = os.path.join(folder, "report.json"), os.path.join(folder, "inputs.json")
        command = ["taskset", "-c", processor, program, "bench", path + "@onnxrt", path, "--onnxrt-threads", "1", "--duration", str(duration), "-o", report, "-q", "--load-inputs", inputs]
        try:
            program_run(program, path, "--onnxrt", "--save-inputs", inputs, *input_words(path))
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return {"error": f"took more than {SECONDS} s"}
        if done.returncode or not os.path.exists(report):
            errors = [line for line in (done.stderr + done.stdout).split("\n") if line.startswith(("[E]", "[!]"))] or [f"exit status {done.returncode}"]
            return {"error": errors[0][4:].strip().replace(path, os.path.basename(path))}
        theirs, ours = json.load(open(report))["sides"]
        result = {"ours": ours["figures"]["median_ms"], "theirs": theirs["figures"]["median_ms"]}
        result["best_ours"], result["best_theirs"] = (min(min(s["times_ns"]) for s in side["slices"] if s["times_ns"]) / 1e6 for side in (ours, theirs))
        return result


def markdown(results):
    rows = sorted((r["ours"] / r["theirs"], name, r) for name, r in results.items() if "ours" in r)
    mean = math.exp(sum(math.log(ratio) for ratio, _, _ in rows) / len(rows))
    best = math.exp(sum(math.log(r["best_ours"] / r["best_theirs"]) for _, _, r in rows) / len(rows))
    over = [name for ratio, name, _ in rows if ratio > LIMIT]
    lines = [f"{len(rows)} models: geometric mean of our time over ONNX Runtime's {mean:.3f} (of the best times {best:.3f}); {sum(r <= 1 for r, _, _ in rows)} not slower, {len(over)} over {LIMIT}.",
             "", "| model | ours (ms) | ONNX Runtime (ms) | ratio | of the best |", "| --- | ---: | ---: | ---: | ---: |"]
    lines += [f"| {name} | {r['ours']:.3f} | {r['theirs']:.3f} | {ratio:.2f} | {r['best_ours'] / r['best_theirs']:.2f} |" for ratio, name, r in reversed(rows)]
    missing = sorted((name, r["error"]) for name, r in results.items() if "error" in r)
    if missing:
        lines += ["", "Not measured:", ""] + [f"- {name}: {error[:200]}" for name, error in missing]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*", help="names of models, with * and ?")
    parser.add_argument("--processors", default="0")
    parser.add_argument("--duration", type=float, default=1)
    parser.add_argument("--results")
    parser.add_argument("--markdown")
    args = parser.parse_intermixed_args()
    results = json.load(open(args.results)) if args.results and os.path.exists(args.results) else {}
    paths = {os.path.basename(p).removesuffix(".onnx"): p for p in sorted(glob.glob(os.path.join(args.folder, "*.onnx")))}
    wanted = [n for n in paths if n not in results and (not args.names or any(fnmatch.fnmatch(n, pattern) for pattern in args.names))]
    free = queue.Queue()
    for processor in args.processors.split(","):
        free.put(processor)

    def one(name):
        processor = free.get()
        try:
            return name, measure(args.program, paths[name], processor, args.duration)
        finally:
            free.put(processor)

    with concurrent.futures.ThreadPoolExecutor(free.qsize()) as pool:
        for done in concurrent.futures.as_completed([pool.submit(one, n) for n in wanted]):
            name, result = done.result()
            results[name] = result
            print(name, f"{result['ours']:.3f} {result['theirs']:.3f} {result['ours'] / result['theirs']:.2f}" if "ours" in result else result["error"], flush=True)
            if args.results:
                with open(args.results + ".part", "w") as out:
                    json.dump(results, out, indent=1, sort_keys=True)
                os.replace(args.results + ".part", args.results)
    text = markdown({n: r for n, r in results.items() if not args.names or any(fnmatch.fnmatch(n, p) for p in args.names)})
    print(text, end="")
    if args.markdown:
        open(args.markdown, "w").write(text)


if __name__ == "__main__":
    main()
