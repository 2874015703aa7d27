# SPDX-License-Identifier: Apache-2.0
"""Programs of ranges of shapes beside programs for exact shapes: ranges.py LIBRARY_FOLDER WORK_FOLDER [DRAWS[:fp16|:bf16] [EXPORTS...]]

Takes ONNX's node cases with fixed shapes, makes every size of an input a symbol (equal sizes are the same one), and runs each model with DRAWS random
sizes (3 by default) by an engine with ranges and by one without (range_runner.c). Both must succeed or fail alike. Results are equal bit for bit, or close
where the two chose other kernels. EXPORTS are files with symbolic sizes of their own, which run as they are, or folders of NAME.dynamic.onnx
(export_models.py makes them)."""
import collections
import concurrent.futures
import glob
import os
import subprocess
import sys
import warnings

import onnx
from onnx.backend.test.case.node import collect_testcases

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
CLOSE = {"": 1e-4, "fp16": 1e-2, "bf16": 8e-2}  # Winograd convolutions round most
# The first two read memory that nothing wrote when a batch is empty, with ranges or without. Expand is given sizes that do not broadcast: that is found
# where the node runs alone, but a program whose result has a known size does not look at them.
LEFT_OUT = ("test_batchnorm_epsilon_training_mode", "test_batchnorm_example_training_mode")


def symbolic(model):
    """The model with sizes of inputs as symbols; None: an input is no tensor."""
    model = onnx.ModelProto.FromString(model.SerializeToString())
    for value in model.graph.input:
        if not value.type.HasField("tensor_type"):
            return None
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_value >= 1:
                dim.dim_param = f"d_{dim.dim_value}"
    for value in model.graph.output:
        if value.type.HasField("tensor_type"):
            value.type.tensor_type.ClearField("shape")
    del model.graph.value_info[:]
    return model


def run(runner, draws, paths):
    try:
        done = subprocess.run([runner, draws, *paths], capture_output=True, text=True, errors="replace",
                              timeout=600 + 10 * int(draws.partition(":")[0]))
    except subprocess.TimeoutExpired as e:
        text = e.stdout or b""
        return (text.decode(errors="replace") if isinstance(text, bytes) else text).splitlines() + [f"{len(paths)} models: late"]
    if done.returncode:
        return done.stdout.splitlines() + [f"{os.path.basename(p)}: crashed {done.returncode}" for p in paths[len(done.stdout.splitlines()):][:1]]
    return done.stdout.splitlines()


def main():
    library, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    draws = sys.argv[3] if len(sys.argv) > 3 else "3"
    close = CLOSE[draws.partition(":")[2]]
    os.makedirs(work, exist_ok=True)
    runner = os.path.join(work, "range_runner")
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O1", "-D_GNU_SOURCE", "-I" + os.path.join(ROOT, "include"), os.path.join(HERE, "range_runner.c"), "-o", runner,
                    "-L" + library, "-Wl,-rpath," + library, "-lpolygraphy", "-lm"], check=True)
    warnings.simplefilter("ignore")
    paths = []
    for case in collect_testcases(None):
        model = symbolic(case.model) if case.model is not None and case.name not in LEFT_OUT else None
        if model is not None:
            paths.append(os.path.join(work, case.name + ".onnx"))
            onnx.save(model, paths[-1])
    paths.sort()
    parts = [paths[i:i + 10] for i in range(0, len(paths), 10)]
    for given in sys.argv[4:]:
        parts += [[p] for p in (sorted(glob.glob(os.path.join(glob.escape(given), "*.dynamic.onnx"))) if os.path.isdir(given) else [given])]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        lines = [line for part in pool.map(lambda p: run(runner, draws, p), parts) for line in part]
    found = collections.Counter(line.split(": ", 1)[1].split()[0] for line in lines if ": " in line)
    bad = [line for line in lines if ": differ" in line or ": crashed" in line or line.endswith(": late") or (": close" in line and float(line.split()[2]) > close)]
    print(", ".join(f"{count} {what}" for what, count in sorted(found.items())), f"({draws} draws each)")
    for line in bad:
        print("   ", line)
    sys.exit(bool(bad))


main()
