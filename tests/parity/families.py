#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole models of export_models.py against ONNX, ONNX Runtime's symbolic shape inference and ONNX Runtime

    families.py PROGRAM FOLDER [--only shapes|runs] [--markdown FILE] [--force] [NAME...]

Shapes: what the file declares of inner values is removed; then every node output that onnx.shape_inference (strict or not, with data
propagation) or onnxruntime.tools.symbolic_shape_infer (auto_merge) knows, in rank or in all dimensions (numbers or names), must be
known here too, and no two numbers may differ.
Runs: `run --opref --onnxrt` on the same inputs. The error of an output is max |y - ref| / (|ref| + rms(ref)), ref being the float64
reference. What float32 alone costs on this model and these inputs is measured, not chosen: the same error of the reference with
every node's result rounded to its type (--opref-precision model). ONNX Runtime, which also rounds while it accumulates, may have
FACTOR times as much, or FLOOR where hardly anything is rounded. Integers must be equal. Where rounding alone changes the outputs by more
than FLIPPED, it decides something (into which bucket a logarithm falls, the order of near-equal scores): then ONNX Runtime is held
against the rounded reference, and may have FACTOR times FLOOR.
Results are kept in FOLDER/results, so a stopped run goes on where it was; --markdown writes the table.
"""
import argparse
import fnmatch
import glob
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FACTOR, FLOOR, FLIPPED = 16, 2e-6, 1e-4
PEER_SECONDS, RUN_SECONDS = 60, 300
# Generated inputs: floats are in [0, 1), whole numbers need a range that the model accepts.
VALUES = {"input_ids": (5, 900), "decoder_input_ids": (5, 900), "words": (0, 499), "attention_mask": (1, 1), "decoder_attention_mask": (1, 1),
          "bbox": (0, 99), "edges": (0, 9), "step": (0, 999), "inputs": (6, 249), "timesteps": (0, 5), "spatial_shapes": (4, 4), "pixel_attention_mask": (1, 1)}
SIZES = {"batch": 3, "sequence": 13, "height": 64, "width": 96, "time": 21, "rows": 4, "nodes": 10, "edges": 17, "past": 7, "total": 8}


# Where the other side is wrong or works otherwise: {(model, start of the message): why}.
EXPLAINED = {
    ("maskrcnn_resnet50_fpn", "res_append.3:"): "ONNX takes the first iteration's size of what a Loop carries for that of all",
    ("vae_decoder", "output picture:"): "ONNX Runtime computes Resize's positions in float32, which no rounding of results shows",
    ("bit", "output last_hidden_state:"): "ONNX Runtime fuses a Pad of zeros into the MaxPool behind it, which then takes less than zero at the border (not with its optimizer Pad_Fusion disabled)",
    ("fnet", "output last_hidden_state:"): "ONNX Runtime's DFT is less accurate in float32",
    ("llama", "ONNX Runtime: Non-zero status code returned while running RotaryEmbedding"): "the exporter writes tables of one batch, which ONNX Runtime does not broadcast",
    ("deformable_detr", "could not be started: ONNX Runtime, loading the model: Could not find an implementation for GridSample"): "ONNX Runtime has no GridSample of float32 by a float64 grid",
    ("mask2former", "could not be started: ONNX Runtime, loading the model: Could not find an implementation for GridSample"): "ONNX Runtime has no GridSample of float32 by a float64 grid",
}

# ---- Shapes


def strip(path, weights):
    """The model without declarations of inner values and, on request, without the bytes of large weights."""
    def clean(graph):
        del graph.value_info[:]
        for t in graph.initializer if weights else []:
            if np.prod(t.dims, dtype=np.int64) > 1024:
                for name in ("raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data"):
                    t.ClearField(name)
                t.data_location = onnx.TensorProto.EXTERNAL
                t.external_data.add(key="location", value="absent.bin")
        for n in graph.node:
            for a in n.attribute:
                if a.type == onnx.AttributeProto.GRAPH:
                    clean(a.g)
    model = onnx.load(path)
    clean(model.graph)
    return model


def shape_text(value_type):
    t = value_type.tensor_type
    if not t.HasField("shape"):
        return None
    return [d.dim_value if d.HasField("dim_value") else d.dim_param or None for d in t.shape.dim]


def collect(graph, depth=0):
    """{depth and name: [has a type, dims or None]} of tensors that nodes make."""
    made = {o for n in graph.node for o in n.output}
    out = {f"{depth} {v.name}": [v.type.tensor_type.elem_type != 0, shape_text(v.type)]
           for v in list(graph.value_info) + list(graph.output) if v.type.HasField("tensor_type") and v.name in made}
    for n in graph.node:
        for a in n.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                out.update(collect(a.g, depth + 1))
    return out


def peer(kind, model, queue):
    os.chdir(tempfile.gettempdir())  # the symbolic one leaves files where it is
    try:
        start = time.time()
        if kind == "symbolic":
            done = SymbolicShapeInference.infer_shapes(model, auto_merge=True)
        else:
            done = onnx.shape_inference.infer_shapes(model, strict_mode=kind == "strict", data_prop=True)
        queue.put({"seconds": time.time() - start, "shapes": collect(done.graph)})
    except BaseException as e:
        queue.put({"error": f"{type(e).__name__}: {str(e).strip()[:200]}"})


def ask_peer(kind, path):
    """In a child: the symbolic one hangs on some models and prints much."""
    model = strip(path, kind != "symbolic")  # it reads all weights
    queue = multiprocessing.Queue()
    child = multiprocessing.Process(target=peer, args=(kind, model, queue))
    child.start()
    try:
        result = queue.get(timeout=PEER_SECONDS)
    except Exception:
        result = {"error": f"took more than {PEER_SECONDS} s"}
    child.kill()
    child.join()
    return result


def peers_of(path, force):
    result = None if force else kept(path, "peers")
    return result or kept(path, "peers", {kind: ask_peer(kind, path) for kind in ("loose", "strict", "symbolic")})


def our_shapes(counter, model, folder):
    path = os.path.join(folder, "stripped.onnx")
    onnx.save(model, path)
    done = subprocess.run([counter, path], capture_output=True, text=True)
    if done.returncode:
        return None, None, done.stderr.strip()[:300]
    lines = done.stdout.splitlines()
    shapes, why = {}, {}
    for line in lines[1:]:
        depth, name, dtype, shape, reason = line.split("\t")
        dims = None if shape == "?" else [int(d) if d.lstrip("-").isdigit() else None if d == "?" else d for d in split_dims(shape)]
        shapes[f"{depth} {name}"] = [dtype != "?", dims]
        why[f"{depth} {name}"] = reason
    return {"seconds": float(lines[0].split()[1]), "shapes": shapes}, why, None


def split_dims(shape):
    """At commas outside parentheses."""
    out, depth, word = [], 0, ""
    for c in shape[1:-1]:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            out.append(word.strip())
            word = ""
        else:
            word += c
    return out + [word.strip()] if word.strip() else out


def known(entry):
    """0 nothing, 1 type and rank, 2 all dimensions."""
    if not entry or not entry[0] or entry[1] is None:
        return 0
    return 2 if all(d is not None for d in entry[1]) else 1


def assumes_some(ours, number):
    """Is `ours` the smaller of that number and a named size? The others take it that names are never zero."""
    return isinstance(ours, str) and re.fullmatch(rf"Min\({number}, \w+\)|Min\(\w+, {number}\)", ours) is not None


def compare_shapes(ours, why, theirs, who):
    """What the other side knows and we do not, and numbers that differ."""
    out = []
    for name, entry in theirs.items():
        mine = ours.get(name)
        if mine is None:
            continue
        if known(mine) < known(entry):
            out.append(f"{name[2:]}: {mine[1]}, {who} knows {entry[1]}; ours says: {why[name]}")
        elif mine[1] is not None and entry[1] is not None:
            same = len(mine[1]) == len(entry[1]) and all(a == b for a, b in zip(mine[1], entry[1]) if isinstance(a, int) and isinstance(b, int))
            if not same:
                out.append(f"{name[2:]}: {mine[1]}, but {who} has {entry[1]}")
            elif any(isinstance(b, int) and not isinstance(a, int) for a, b in zip(mine[1], entry[1])):
                if not all(b == a or assumes_some(a, b) for a, b in zip(mine[1], entry[1]) if isinstance(b, int)):
                    out.append(f"{name[2:]}: {mine[1]}, {who} has the number in {entry[1]}")
    return out


def count(side):
    if "error" in side:
        return None
    levels = [known(e) for e in side["shapes"].values()]
    return [sum(l > 0 for l in levels), sum(l > 1 for l in levels), len(levels)]


def check_shapes(counter, path, folder, force):
    model = strip(path, True)
    ours, why, error = our_shapes(counter, model, folder)
    if error:
        return {"problems": ["shape inference: " + error]}
    peers = peers_of(path, force)
    lost = []
    for who, side in (("ONNX", "loose"), ("ONNX (strict)", "strict"), ("ONNX Runtime", "symbolic")):
        if "error" not in peers[side]:
            lost += compare_shapes(ours["shapes"], why, peers[side]["shapes"], who)
    unknown = sorted({why[n] for n, e in ours["shapes"].items() if known(e) < 2})
    return {"ours": count(ours), "onnx": count(peers["loose"]) or count(peers["strict"]), "ort": count(peers["symbolic"]),
            "seconds": [ours["seconds"], peers["loose"].get("seconds"), peers["symbolic"].get("seconds")],
            "peer_errors": {k: v["error"] for k, v in peers.items() if "error" in v}, "problems": lost, "unknown": unknown}


# ---- Runs


def program_run(program, *words):
    done = subprocess.run([program, "run", *words], capture_output=True, text=True, errors="replace", timeout=RUN_SECONDS,
                          env=dict(os.environ, NO_COLOR="1"))
    return done.returncode, done.stdout + done.stderr


def input_words(path):
    model = onnx.load(path, load_external_data=False)
    stored = {t.name for t in model.graph.initializer}
    shapes, ranges = [], []
    for i in model.graph.input:
        dims = i.type.tensor_type.shape.dim
        if i.name in stored:
            continue
        if any(not d.HasField("dim_value") for d in dims):
            shapes.append(f"{i.name}:[{','.join(str(d.dim_value if d.HasField('dim_value') else SIZES.get(d.dim_param, 4)) for d in dims)}]")
        if i.name in VALUES:
            ranges.append(f"{i.name}:[{VALUES[i.name][0]},{VALUES[i.name][1]}]")
    return (["--input-shapes", *shapes] if shapes else []) + (["--val-range", *ranges] if ranges else [])


def relative(y, ref):
    """max |y - ref| / (|ref| + rms(ref)), and max |y - ref|; places where both are the same infinity or NaN count as equal."""
    y, ref = np.asarray(y, np.float64), np.asarray(ref, np.float64)
    if not ref.size:
        return 0.0, 0.0
    same = (y == ref) | (np.isnan(y) & np.isnan(ref))
    finite = np.isfinite(ref)
    rms = np.sqrt(np.mean(ref[finite] ** 2)) if finite.any() else 0.0
    with np.errstate(invalid="ignore"):
        error = np.where(same, 0.0, np.abs(y - ref))
    error = np.where(np.isnan(error), np.inf, error)
    with np.errstate(invalid="ignore"):
        scaled = np.where(error == 0, 0.0, error / (np.abs(ref) + rms + 1e-300))
    return float(np.max(scaled)), float(np.max(error))


def load_results(path):
    from polygraphy.comparator import RunResults
    from polygraphy.logger import G_LOGGER
    G_LOGGER.module_severity = G_LOGGER.CRITICAL
    return {name.split("-")[0]: iterations[0] for name, iterations in RunResults.load(path)}


def judge(reference, other, rounded):
    """Where rounding alone changes the whole numbers (an order of near-equal scores), nobody's choice is the right one: it is noted."""
    worst = {"error": 0.0, "abs": 0.0, "float32": 0.0, "allowed": FLOOR}
    problems, notes = [], []
    turned = any(np.asarray(reference[n]).dtype.kind not in "f" and not np.array_equal(reference[n], rounded[n]) for n in reference)
    for name in reference:
        ref, y, z = (np.asarray(r[name]) for r in (reference, other, rounded))
        if ref.shape != y.shape:
            problems.append(f"output {name}: shape {ref.shape}, ONNX Runtime has {y.shape}")
            continue
        if ref.dtype.kind not in "f":
            differ = int((ref != y).sum())
            if differ and not np.array_equal(ref, z):
                notes.append(f"{differ} of {ref.size} choices in output {name} turn on rounding, which changes them in the reference too")
            elif differ:
                problems.append(f"output {name}: {differ} of {ref.size} whole numbers differ")
            continue
        error, absolute = relative(y, ref)
        base = relative(z, ref)[0] if z.shape == ref.shape else 0.0
        allowed = max(FACTOR * (base if base <= FLIPPED else FLOOR), FLOOR)
        if base > FLIPPED and z.shape == y.shape:
            rounding = relative(y, z)
            notes.append(f"rounding alone changes output {name} by {base:.1e}; held against the rounded reference")
            error, absolute = min((error, absolute), rounding)
        if error > allowed and turned:
            notes.append(f"output {name} follows those choices")
        elif error > allowed:
            problems.append(f"output {name}: error {error:.3g}, float32 alone has {base:.3g}, allowed are {allowed:.3g}")
        if error >= worst["error"]:
            worst = {"error": error, "abs": absolute, "float32": base, "allowed": allowed}
    worst["notes"] = notes
    return worst, problems


def first_error(text):
    """Without the runner's name, which has the time in it, and not the line that sums up the command."""
    lines = [l for l in text.split("\n") if l.startswith(("[E]", "[!]")) and "FAILED |" not in l]
    return re.sub(r"^\[.\] (\w+-runner\S* )?", "", lines[0])[:400] if lines else text[-300:]


def check_run(program, path, folder):
    both, rounded, inputs = (os.path.join(folder, n) for n in ("both.json", "rounded.json", "inputs.json"))
    words = [path, "--seed", "1"] + input_words(path)
    try:
        start = time.time()
        _, text = program_run(program, *words, "--opref", "--onnxrt", "--save-outputs", both, "--save-inputs", inputs)
        seconds = time.time() - start
        if os.path.exists(both):
            program_run(program, path, "--load-inputs", inputs, "--opref", "--opref-precision", "model", "--save-outputs", rounded)
        results, again = load_results(both), load_results(rounded)
    except subprocess.TimeoutExpired:
        return {"problems": [f"took more than {RUN_SECONDS} s"]}
    except OSError:
        unsupported = sorted(set(re.findall(r"\[Op: (\w+) ", text)))
        return {"problems": [first_error(text)], "unsupported": unsupported}
    if len(results) < 2:
        return {"problems": [first_error(text)]}
    worst, problems = judge(results["opref"], results["onnxrt"], again["opref"])
    for used in (both, rounded, inputs):
        os.remove(used)
    return {"worst": worst, "problems": problems, "seconds": seconds}


# ---- The whole


def describe(path):
    model = onnx.load(path, load_external_data=False)
    name = os.path.basename(path)[: -len(".onnx")]
    dynamic, name = name.endswith(".dynamic"), name.removesuffix(".dynamic")
    dynamo, name = name.endswith(".dynamo"), name.removesuffix(".dynamo")
    def nodes(g):
        return sum(1 + sum(nodes(a.g) for a in n.attribute if a.type == onnx.AttributeProto.GRAPH) for n in g.node)
    return {"name": name, "exporter": "new" if dynamo else "classic", "dynamic": dynamic,
            "opset": next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 0), "nodes": nodes(model.graph)}


def cell(counts):
    return f"{counts[1]}/{counts[2]}" if counts else "fails"


def markdown(results, failures):
    rows = sorted(results.values(), key=lambda r: (r["name"], r["exporter"], r["dynamic"]))
    lines = ["| model | exporter | opset | nodes | shapes: ours | ONNX | ONNX Runtime | inference ms: ours | ONNX | ONNX Runtime | error | float32's own | max abs error | agrees |",
             "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
    for r in rows:
        s, run = r.get("shapes", {}), r.get("run", {})
        w = run.get("worst", {})
        times = [f"{1000 * t:.1f}" if t is not None else "" for t in s.get("seconds", [None] * 3)]
        agrees = "; ".join(["yes", *w.get("notes", [])]) if run and not run["problems"] else run["problems"][0] if run else ""
        lines.append(f"| {r['name']} | {r['exporter']}{', dynamic' if r['dynamic'] else ''} | {r['opset']} | {r['nodes']} | {cell(s.get('ours'))} | {cell(s.get('onnx'))} | "
                     f"{cell(s.get('ort'))} | {times[0]} | {times[1]} | {times[2]} | {w.get('error', float('nan')):.1e} | {w.get('float32', float('nan')):.1e} | "
                     f"{w.get('abs', float('nan')):.1e} | {agrees.replace('|', '/')[:120]} |")
    return lines


def document(results, failures):
    rows = list(results.values())
    architectures = sorted({r["name"] for r in rows})
    agree = [r for r in rows if r.get("run") and not r["run"]["problems"]]
    complete = [r for r in rows if r.get("shapes", {}).get("ours") and r["shapes"]["ours"][1] == r["shapes"]["ours"][2]]
    fewer = [r for r in rows if unexplained(r["name"], r.get("shapes", {}).get("problems", []))]
    lines = ["# Models", "",
             "`tests/parity/families.py PROGRAM FOLDER --markdown docs/models.md` makes this page from the exports of `tests/parity/export_models.py FOLDER --exporter both`:",
             "well-known architectures with random weights and few layers, exported by PyTorch's TorchScript exporter (\"classic\") and its torch.export exporter (\"new\");",
             "\"dynamic\" ones have named batch, sequence or picture sizes.", "",
             f"{len(rows)} exports of {len(architectures)} architectures ({by_exporter(rows)}): {len(agree)} agree with ONNX Runtime, {len(complete)} have all shapes known,",
             f"{len(fewer)} have a shape that ONNX or ONNX Runtime's symbolic inference knows better.", "",
             "The columns of shapes count the node outputs whose dimensions are all known, as numbers or names, among the outputs that the tool reports (\"fails\": an error, or more than 60 s), with the",
             "declarations of inner values removed from the file. The error of ONNX Runtime is max |y - ref| / (|ref| + rms(ref)) over all outputs against the",
             f"float64 reference. It may be {FACTOR} times the error of float32 rounding alone (the reference with every node's result rounded), or {FLOOR:g}. If rounding",
             f"alone changes an output by more than {FLIPPED:g}, it decides a result (a bucket, the order of nearly equal scores), and the outputs must agree with the rounded",
             "reference instead. Times were measured beside other work on the machine and show orders of magnitude only.", ""]
    lines += markdown(results, failures)
    notes = [(r, p) for r in rows for p in r.get("run", {}).get("problems", []) + r.get("shapes", {}).get("problems", [])]
    if notes:
        reasons = {p: why for r, p in notes for (n, start), why in EXPLAINED.items() if r["name"] == n and p.startswith(start)}
        lines += ["", "## Disagreements", ""] + [f"- {title(r)}: {p}{' (' + reasons[p] + ')' if p in reasons else ''}" for r, p in notes[:60]]
    if failures:
        lines += ["", "## Failed exports", "", "The messages are PyTorch's, or say why the exported model is invalid. An export had 400 s, beside other work on the machine.", ""]
        lines += [f"- {exported(f)}: {reason(why)}" for f, why in sorted(failures.items())]
    return "\n".join(lines) + "\n"


def by_exporter(rows):
    words = []
    for exporter in ("classic", "new"):
        own = [r for r in rows if r["exporter"] == exporter]
        opsets = sorted({r["opset"] for r in own})
        if own:
            words.append(f"{exporter}: {len(own)} of {len({r['name'] for r in own})}, opsets {opsets[0]} to {opsets[-1]}")
    return "; ".join(words)


def exported(file):
    """The title of a file that could not be made."""
    name, *rest = file.removesuffix(".onnx").split(".")
    return f"{name} ({'new' if 'dynamo' in rest else 'classic'}{', dynamic' if 'dynamic' in rest else ''})"


def reason(why):
    """Up to the sentence or bracket that goes on about something else."""
    why = re.sub(r' at "/[^"]*":\d+', "", why.replace("took too long", "took more than 400 s"))
    return re.split(r"  \[|\. (?=Please|Support|This)", why)[0][:240].rstrip()


def title(r):
    return f"{r['name']} ({r['exporter']}{', dynamic' if r['dynamic'] else ''})"


def build_counter(program, folder):
    if os.environ.get("PGY_SHAPES"):  # built already
        return os.environ["PGY_SHAPES"]
    library = os.path.join(os.path.dirname(os.path.dirname(program)), "lib")
    counter = os.path.join(folder, "shapes")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O1", "-D_GNU_SOURCE", "-I" + os.path.join(ROOT, "include"), os.path.join(HERE, "shapes.c"),
                    "-o", counter, "-L" + library, "-Wl,-rpath," + library, "-lpolygraphy"], check=True)
    return counter


def kept(path, part, value=None):
    """A result of this very file, from an earlier run or to be kept for a later one."""
    note = os.path.join(os.path.dirname(path), "results", f"{os.path.basename(path)}.{part}.json")
    if value is not None:
        os.makedirs(os.path.dirname(note), exist_ok=True)
        json.dump(value, open(note, "w"))
        return value
    fresh = os.path.exists(note) and os.path.getmtime(note) > os.path.getmtime(path)
    return json.load(open(note)) if fresh else None


def unexplained(path, problems):
    name = os.path.basename(path).split(".")[0]
    return [p for p in problems if not any(name == n and p.startswith(start) for n, start in EXPLAINED)]


def check_model(args, program, counter, path, folder):
    row = {"shapes": kept(path, "shapes") or {}, "run": kept(path, "run") or {}}
    if args.only not in ("runs", "table"):
        row["shapes"] = kept(path, "shapes", check_shapes(counter, path, folder, args.force))
    if args.only not in ("shapes", "table") and (args.force or not row["run"] or row["run"]["problems"]):
        row["run"] = kept(path, "run", check_run(program, path, folder))
    return row


def main():
    parser = argparse.ArgumentParser(description="Whole models against their peers")
    parser.add_argument("program")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--only", choices=["shapes", "runs", "table"], help="table: of what is kept, nothing is run")
    parser.add_argument("--markdown")
    parser.add_argument("--force", action="store_true", help="do not use kept results")
    args = parser.parse_intermixed_args()
    program = os.path.abspath(args.program)
    paths = sorted(glob.glob(os.path.join(args.folder, "*.onnx")), key=os.path.getsize)
    paths = [p for p in paths if not args.names or any(fnmatch.fnmatch(os.path.basename(p), n) for n in args.names)]
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        counter = build_counter(program, folder)
        for path in paths:
            row = check_model(args, program, counter, path, folder)
            problems = unexplained(path, row["shapes"].get("problems", []) + row["run"].get("problems", []))
            bad += bool(problems)
            print(f"{'FAIL' if problems else 'ok  '} {os.path.basename(path)}: shapes {cell(row['shapes'].get('ours'))} onnx {cell(row['shapes'].get('onnx'))} "
                  f"ort {cell(row['shapes'].get('ort'))}; run {row['run'].get('worst', {})}", flush=True)
            for p in problems[:8]:
                print("    ", p)
    failures = os.path.join(args.folder, "failures.json")
    if args.markdown:
        with open(args.markdown, "w", encoding="utf-8") as out:
            rows = {p: dict(kept(p, "about") or kept(p, "about", describe(p)), shapes=kept(p, "shapes") or {}, run=kept(p, "run") or {}) for p in paths}
            absent = json.load(open(failures)) if os.path.exists(failures) else {}
            absent = {f: re.sub(r"\x1b?\[\d+m", "", why) for f, why in absent.items() if not os.path.exists(os.path.join(args.folder, f))}
            out.write(document(rows, absent))
    print(f"{len(paths) - bad} of {len(paths)} models pass")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
