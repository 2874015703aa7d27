#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports well-known architectures with random weights to ONNX

    export_models.py FOLDER [--exporter classic|dynamo|both] [--force] [--list] [NAME...]

Needs torch, torchvision, timm and transformers, and nothing from the network. Models are made by this script and never
stored in the repository. FOLDER gets NAME.onnx (TorchScript exporter, opset 11 to 18) and NAME.dynamo.onnx (torch.export,
opset 18 to 23); for about a third of the architectures also NAME.dynamic.onnx and NAME.dynamo.dynamic.onnx, whose batch
or sequence axes are named. The opset of an export follows from its place in the list, so that all of them get models.
An exporter's failure is not ours: it is printed, kept in FOLDER/failures.json, and the next one comes.
Architectures are in models_*.py: models_vision.py, models_pictures.py and models_timm.py (pictures), models_text.py, models_mixed.py, models_encoders.py
and models_decoders.py (transformers), models_plain.py (structures that no library has ready).
NAME, of an architecture or a file, may have * and ?; without names all are made.
"""
import argparse
import contextlib
import fnmatch
import importlib
import inspect
import io
import json
import os
import signal
import sys
import tempfile
import time
import warnings

CLASSIC_OPSETS = [17, 13, 16, 14, 18, 15, 12, 11]
DYNAMO_OPSETS = [18, 20, 21, 22, 23, 19, 20, 21, 22, 23]
SECONDS = 400  # for one export
# An architecture's place decides its opsets, so new ones go to the end.
MODULES = ["models_vision", "models_text", "models_plain", "models_mixed", "models_timm", "models_decoders", "models_encoders", "models_pictures"]


def listed():
    return {m.name: m for module in MODULES for m in importlib.import_module(module).MODELS}


def preload(exporter):
    """Before the first child is forked, or each of them spends most of its time on this."""
    wanted = ["torchvision", "timm", "transformers"] + (["onnxscript", "torch._dynamo", "torch.onnx._internal.exporter._core"] if exporter != "classic" else [])
    for name in wanted:
        importlib.import_module(name)
    if exporter != "classic":  # reads its tables of operators
        import torch
        with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
            torch.onnx.export(torch.nn.Linear(2, 2).eval(), (torch.rand(1, 2),), os.path.join(folder, "tiny.onnx"), dynamo=True, verbose=False)


def opset_of(model, index, exporter):
    if exporter == "dynamo":
        return DYNAMO_OPSETS[index % len(DYNAMO_OPSETS)]
    return model.opset or CLASSIC_OPSETS[index % len(CLASSIC_OPSETS)]


def build(model):
    import torch
    torch.manual_seed(0)
    torch.set_num_threads(1)
    module, inputs = model.build()
    module.eval()
    for p in module.parameters():  # heads that start at zero would make every output zero
        if p.ndim > 1 and not p.any():
            torch.nn.init.normal_(p, std=0.02)
    return module, inputs


def classic(model, path, opset, dynamic):
    import torch
    module, inputs = build(model)
    torch.onnx.export(module, tuple(inputs.values()), path, input_names=list(inputs), output_names=model.outputs,
                      dynamic_axes=model.dynamic if dynamic else None, opset_version=opset, dynamo=False)


def dynamo(model, path, opset, dynamic):
    import torch
    module, inputs = build(model)
    shapes = None
    if dynamic:
        names = {n: torch.export.Dim(n, min=2, max=4096) for axes in model.dynamic.values() for n in axes.values()}
        shapes = tuple({axis: names[n] for axis, n in model.dynamic.get(i, {}).items()} or None for i in inputs)
        if any(p.kind is p.VAR_POSITIONAL for p in inspect.signature(module.forward).parameters.values()):
            shapes = (shapes,)
    torch.onnx.export(module, tuple(inputs.values()), path, input_names=list(inputs), output_names=model.outputs,
                      dynamic_shapes=shapes, opset_version=opset, dynamo=True, external_data=False, verbose=False)


def refusal(path):
    """Why ONNX's checker and ONNX Runtime both refuse what an exporter wrote, or None: then it is no model to hold anyone against.
    The checker does not see all shapes that do not fit each other, ONNX Runtime does once it has folded constants; it lacks operators
    of valid models."""
    import onnx
    import onnxruntime
    invalid = None
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as e:
        invalid = e
    try:
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
        onnxruntime.InferenceSession(path, options)
    except Exception as e:
        return invalid or (e if "[ShapeInferenceError]" in str(e) else None)
    return None


def attempt(export, model, path, opset, dynamic):
    """In a child process: exporters crash, hang and change global state. Returns None, or why there is no model."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        signal.alarm(SECONDS)
        warnings.simplefilter("ignore")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
        code = 0
        try:
            export(model, path + ".part", opset, dynamic)
            invalid = refusal(path + ".part")
            if invalid:
                raise invalid
            os.replace(path + ".part", path)
        except BaseException as e:
            while e.__cause__:  # the exporter's own says only in which step it failed
                e = e.__cause__
            line = next((l for l in str(e).split("\n") if l.strip()), "")
            os.write(writer, f"{type(e).__name__}: {line.strip()}"[:400].encode())
            code = 1
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        text = pipe.read().decode(errors="replace")
    _, status = os.waitpid(pid, 0)
    if status == 0:
        return None
    return text or ("took too long" if status == signal.SIGALRM else f"the exporter ended with status {status}")


def plan(args, models):
    """(file, model, exporter, opset, dynamic) of everything asked for."""
    for index, (name, model) in enumerate(models.items()):
        for exporter in ("classic", "dynamo"):
            if args.exporter not in (exporter, "both"):
                continue
            opset = opset_of(model, index, exporter)
            for dynamic in (False, True) if model.dynamic else (False,):
                file = name + (".dynamo" if exporter == "dynamo" else "") + (".dynamic" if dynamic else "") + ".onnx"
                if not args.names or any(fnmatch.fnmatch(n, pattern) for pattern in args.names for n in (name, file)):
                    yield file, model, exporter, opset, dynamic


def make(args, file, model, exporter, opset, dynamic):
    path = os.path.join(args.folder, file)
    if os.path.exists(path) and not args.force:
        return None
    start = time.time()
    export = dynamo if exporter == "dynamo" else classic
    why = attempt(export, model, path, opset, dynamic)
    if why and exporter == "classic" and opset < 17:  # many operators cannot be said in old opsets
        first, opset = why, 17
        why = attempt(export, model, path, opset, dynamic)
        if not why:
            print(f"{file}: opset {opset} after: {first}", flush=True)
    if why:
        print(f"{file}: opset {opset} could not be exported: {why}", flush=True)
    else:
        print(f"{file}: opset {opset}, {os.path.getsize(path) / 1e6:.1f} MB, {time.time() - start:.1f} s", flush=True)
    return why


def keep(folder, file, why):
    """Read and written again for each file: another process may be making others."""
    note = os.path.join(folder, "failures.json")
    failures = json.load(open(note)) if os.path.exists(note) else {}
    failures.pop(file, None)
    if why:
        failures[file] = why
    with open(note + ".part", "w") as out:
        json.dump(failures, out, indent=1, sort_keys=True)
    os.replace(note + ".part", note)


def main():
    parser = argparse.ArgumentParser(description="Exports architectures with random weights to ONNX")
    parser.add_argument("folder")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--exporter", choices=["classic", "dynamo", "both"], default="classic")
    parser.add_argument("--force", action="store_true", help="make models that are there already again")
    parser.add_argument("--list", action="store_true", help="print what would be made")
    args = parser.parse_intermixed_args()
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    os.makedirs(args.folder, exist_ok=True)
    if not args.list:
        preload(args.exporter)
    for file, model, exporter, opset, dynamic in plan(args, listed()):
        if args.list:
            print(file, "opset", opset)
            continue
        keep(args.folder, file, make(args, file, model, exporter, opset, dynamic))


if __name__ == "__main__":
    main()
