#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other opset versions of ONNX's own node tests: opset.py LIBRARY_FOLDER WORK_FOLDER

WORK_FOLDER holds the cases that node_tests.py made. opset_runner.c converts each to the newest version and downward until something
cannot be expressed, and runs what it makes with the reference against the case's own outputs. Cases that fail at their own version are
left out. Forms of older versions that the package has no cases of are added, with ONNX Runtime's results. Many operators can go down only with constant inputs, so cases with more than one input are tried again with all but the first
as weights. What was made must pass onnx.checker; and where onnx.version_converter makes a valid model that computes the same, there must
be one of ours, too, except for the operators listed in opset.expected: `operator from to: reason`.
"""
import collections
import concurrent.futures
import glob
import os
import shutil
import subprocess
import sys

import numpy as np
import onnx
from onnx import checker, helper, numpy_helper, version_converter

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
NEWEST = 28


def operator_of(model):
    return next((n.op_type for n in model.graph.node if n.op_type != "Constant"), "")


def freeze(folder, target):
    """The same case with all inputs but the first as weights, if its data are one set of tensors."""
    model = onnx.load(f"{folder}/model.onnx")
    data = f"{folder}/test_data_set_0"
    if len(model.graph.input) < 2 or os.path.exists(f"{folder}/test_data_set_1") or any(not i.type.HasField("tensor_type") for i in model.graph.input):
        return False
    for i, info in list(enumerate(model.graph.input))[1:]:
        with open(f"{data}/input_{i}.pb", "rb") as f:
            tensor = onnx.TensorProto.FromString(f.read())
        tensor.name = info.name
        model.graph.initializer.append(tensor)
    del model.graph.input[1:]
    model.ir_version = max(model.ir_version, 4)
    os.makedirs(f"{target}/test_data_set_0")
    with open(f"{target}/model.onnx", "wb") as f:
        f.write(model.SerializeToString())
    shutil.copy(f"{folder}/tolerance", target)
    for path in [f"{data}/input_0.pb", *glob.glob(f"{data}/output_*.pb")]:
        shutil.copy(path, f"{target}/test_data_set_0")
    return True


def old_models():
    """Forms that the package's own cases do not have any more: name, opset, operator, inputs, attributes."""
    rng = np.random.default_rng(7)
    f = lambda *shape: rng.standard_normal(shape).astype(np.float32)  # noqa: E731
    u = lambda *shape: rng.random(shape, dtype=np.float32) + 0.5  # noqa: E731
    ints = lambda *values: np.array(values, np.int64)  # noqa: E731
    x = f(2, 3, 4, 5)
    for opset in (7, 9, 10):
        yield f"clip_{opset}", opset, "Clip", [x], {"min": -0.5, "max": 0.75}
        yield f"pad_{opset}", opset, "Pad", [x], {"pads": [0, 1, 0, 2, 0, 0, 1, 1], "value": 1.5}
        yield f"pad_reflect_{opset}", opset, "Pad", [x], {"pads": [0, 0, 1, 2, 0, 0, 1, 1], "mode": "reflect"}
    yield "slice_7", 7, "Slice", [x], {"starts": [1, -3], "ends": [2, -1], "axes": [0, 3]}
    yield "slice_9", 9, "Slice", [x], {"starts": [0, 1], "ends": [1, 1000]}
    yield "top_k_7", 7, "TopK", [x], {"k": 2, "axis": 1}
    yield "upsample_7", 7, "Upsample", [x], {"scales": [1.0, 1.0, 2.0, 3.0]}
    yield "upsample_linear_7", 7, "Upsample", [x], {"scales": [1.0, 1.0, 2.0, 2.0], "mode": "linear"}
    yield "upsample_9", 9, "Upsample", [x, np.array([1, 1, 1.5, 2], np.float32)], {}
    yield "resize_grow_10", 10, "Resize", [x, np.array([1, 1, 2, 1.5], np.float32)], {}
    yield "resize_shrink_10", 10, "Resize", [x, np.array([1, 1, 0.5, 0.6], np.float32)], {}
    yield "resize_linear_10", 10, "Resize", [x, np.array([1, 1, 0.5, 2], np.float32)], {"mode": "linear"}
    yield "resize_nn_11", 11, "Resize", [x, f(0), np.array([1, 1, 2, 1.7], np.float32)], {"coordinate_transformation_mode": "tf_half_pixel_for_nn", "nearest_mode": "floor"}
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        for axis in (0, 1, 2, 3):
            yield f"{op.lower()}_{axis}_9", 9, op, [x], {"axis": axis}
        yield f"{op.lower()}_default_11", 11, op, [x], {}
        yield f"{op.lower()}_negative_11", 11, op, [x], {"axis": -2}
        yield f"{op.lower()}_negative_13", 13, op, [x], {"axis": -2}
    for op in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod", "Sum", "SumSquare"):
        yield f"reduce_{op.lower()}_8", 8, "Reduce" + op, [np.abs(x) + 0.1], {"axes": [1, 2]}
        yield f"reduce_{op.lower()}_11", 11, "Reduce" + op, [np.abs(x) + 0.1], {"axes": [-1], "keepdims": 0}
        yield f"reduce_{op.lower()}_all_8", 8, "Reduce" + op, [np.abs(x) + 0.1], {}
    yield "squeeze_8", 8, "Squeeze", [f(1, 3, 1, 2)], {"axes": [0, 2]}
    yield "unsqueeze_8", 8, "Unsqueeze", [x], {"axes": [0, 5]}
    yield "unsqueeze_11", 11, "Unsqueeze", [x], {"axes": [-1, 0]}
    yield "split_8", 8, "Split", [x], {"axis": 3, "split": [2, 3]}
    yield "split_equal_11", 11, "Split", [x], {"axis": -2}
    yield "split_equal_13", 13, "Split", [x], {"axis": 2}
    yield "batch_normalization_7", 7, "BatchNormalization", [x, u(3), f(3), f(3), u(3)], {"epsilon": 0.01}
    yield "batch_normalization_9", 9, "BatchNormalization", [x, u(3), f(3), f(3), u(3)], {}
    yield "batch_normalization_14", 14, "BatchNormalization", [x, u(3), f(3), f(3), u(3)], {}
    yield "dropout_7", 7, "Dropout", [x], {"ratio": 0.25}
    yield "dropout_10", 10, "Dropout", [x], {}
    yield "scatter_9", 9, "Scatter", [f(3, 3), np.array([[1, 0, 2]], np.int64), f(1, 3)], {"axis": 0}
    yield "gemm_7", 7, "Gemm", [f(2, 3), f(3, 4), f(4)], {"alpha": 0.5}
    yield "gemm_13", 13, "Gemm", [f(2, 3), f(3, 4)], {}
    yield "sum_8", 8, "Sum", [x, f(5), f(4, 1)], {}
    yield "mean_8", 8, "Mean", [x, f(5), f(4, 1)], {}
    yield "max_8", 8, "Max", [x, f(2, 3, 4, 5)], {}
    yield "depth_to_space_7", 7, "DepthToSpace", [f(1, 8, 2, 3)], {"blocksize": 2}
    yield "arg_max_11", 11, "ArgMax", [x], {"axis": -1}
    yield "flatten_11", 11, "Flatten", [x], {"axis": -2}
    yield "gather_11", 11, "Gather", [x, ints(0, 2)], {"axis": -3}
    yield "grid_sample_16", 16, "GridSample", [f(1, 2, 4, 5), (rng.random((1, 3, 4, 2)) * 2 - 1).astype(np.float32)], {"mode": "bicubic"}
    yield "dft_17", 17, "DFT", [f(1, 6, 4, 1)], {"axis": 1}
    yield "lstm_8", 8, "LSTM", [f(3, 2, 4), f(1, 20, 4), f(1, 20, 5)], {"hidden_size": 5}
    yield "layer_normalization_17", 17, "LayerNormalization", [x, u(4, 5), f(4, 5)], {"axis": 2}
    yield "gelu_20", 20, "Gelu", [x], {"approximate": "tanh"}
    yield "roi_align_10", 10, "RoiAlign", [f(1, 2, 8, 8), np.array([[0, 0, 6, 6], [1, 2, 4, 7]], np.float32), ints(0, 0)], {"output_height": 3, "output_width": 3, "spatial_scale": 1.0}
    yield "quantize_13", 13, "QuantizeLinear", [x, np.array([0.05], np.float32), np.array([3], np.uint8)], {"axis": 0}
    yield "quantize_axis_13", 13, "QuantizeLinear", [x, u(3), np.array([3, 0, 9], np.int8)], {"axis": 1}
    yield "dequantize_axis_13", 13, "DequantizeLinear", [rng.integers(0, 255, (2, 3, 4)).astype(np.uint8), u(4), np.array([3, 0, 9, 200], np.uint8)], {"axis": -1}
    yield "resize_mixed_10", 10, "Resize", [x, np.array([1, 1, 2, 0.6], np.float32)], {}
    yield "equal_11", 11, "Equal", [np.array([1, 2, np.nan], np.float32), np.array([2, 2, np.nan], np.float32)], {}
    yield "not_less_12", 12, "GreaterOrEqual", [np.array([1, 2, np.nan], np.float32), np.array([2, 2, 1], np.float32)], {}
    yield "hard_swish_14", 14, "HardSwish", [x], {}
    yield "shape_15", 15, "Shape", [x], {"start": 1, "end": -1}


def write_old(out):
    """The models above as cases whose outputs are ONNX Runtime's; those that it does not have are left out."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    folders = []
    for name, opset, op, inputs, attributes in old_models():
        count = 2 if op in ("TopK", "Split") else 1
        node = helper.make_node(op, [f"i{k}" for k in range(len(inputs))], [f"o{k}" for k in range(count)], **attributes)
        infos = [helper.make_tensor_value_info(f"i{k}", helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in enumerate(inputs)]
        graph = helper.make_graph([node], "g", infos, [helper.make_empty_tensor_value_info(f"o{k}") for k in range(count)])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8 if opset < 19 else 10)
        try:
            model = onnx.shape_inference.infer_shapes(model, strict_mode=True)
            session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
            results = session.run(None, {f"i{k}": v for k, v in enumerate(inputs)})
        except Exception:  # noqa: BLE001
            print(f"ONNX Runtime does not run {name}")
            continue
        folder = f"{out}/old_{name}"
        os.makedirs(f"{folder}/test_data_set_0")
        with open(f"{folder}/model.onnx", "wb") as f:
            f.write(model.SerializeToString())
        with open(f"{folder}/tolerance", "w") as f:
            f.write("1e-4 1e-5\n")
        for kind, values in (("input", inputs), ("output", results)):
            for k, v in enumerate(values):
                with open(f"{folder}/test_data_set_0/{kind}_{k}.pb", "wb") as f:
                    f.write(numpy_helper.from_array(v, f"{kind[0]}{k}").SerializeToString())
        folders.append(folder)
    return folders


def build(source, library, target):
    subprocess.run([os.environ.get("CC", "cc"), "-std=c11", "-O1", "-D_GNU_SOURCE", "-I" + os.path.join(ROOT, "include"), os.path.join(HERE, source), "-o", target,
                    "-L" + library, "-Wl,-rpath," + library, "-lpolygraphy", "-lm"], check=True)


def run(command, folders):
    """Lines of the runner, split in five; a crash ends it: it is counted, and the rest is run by another."""
    lines = []
    while folders:
        done = subprocess.run([*command, *folders], capture_output=True, text=True, errors="replace")
        mine = [(line.split(" ", 4) + [""])[:5] for line in done.stdout.splitlines()]
        lines += mine
        if not done.returncode:
            break
        at = folders.index(next(f for f in folders if os.path.basename(f) == mine[-1][1])) if mine else 0
        crashed = folders[at if not mine else min(at + 1, len(folders) - 1)]
        lines.append(["failed", os.path.basename(crashed), "0", "0", f"the process ended with {done.returncode}"])
        folders = folders[folders.index(crashed) + 1:]
    return lines


def invalid(path):
    try:
        checker.check_model(path)
    except Exception as e:  # noqa: BLE001  (its errors have no common class)
        return str(e).splitlines()[0]
    return ""


def peer_models(job):
    """What onnx.version_converter makes of a case: (name, version, path) of each valid model."""
    folder, versions, out = job
    name, made = os.path.basename(folder), []
    model = onnx.load(f"{folder}/model.onnx")
    for version in versions:
        try:
            other = version_converter.convert_version(model, version)
            checker.check_model(other)
        except Exception:  # noqa: BLE001
            continue
        target = f"{out}/{name}.{version}"
        os.makedirs(target)
        with open(f"{target}/model.onnx", "wb") as f:
            f.write(other.SerializeToString())
        shutil.copy(f"{folder}/tolerance", target)
        for data in glob.glob(f"{folder}/test_data_set_*"):
            os.symlink(os.path.abspath(data), f"{target}/{os.path.basename(data)}")
        made.append((name, version, target))
    return made


def expected():
    with open(os.path.join(HERE, "opset.expected"), encoding="utf-8") as f:
        rows = [line.strip().partition(": ") for line in f if line.strip() and not line.startswith("#")]
    return {key: reason for key, _, reason in rows}


def main():
    library, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    scratch = work + "-opset"
    shutil.rmtree(scratch, ignore_errors=True)
    for part in ("cases", "out", "peer"):
        os.makedirs(os.path.join(scratch, part))
    build("opset_runner.c", library, os.path.join(scratch, "opset_runner"))
    build("node_runner.c", library, os.path.join(scratch, "node_runner"))
    cases = sorted(e.path for e in os.scandir(work) if e.name.startswith("test_") and not e.name.endswith("_expanded"))
    cases += write_old(os.path.join(scratch, "cases"))
    own = {line.split(" ")[1] for line in subprocess.run([os.path.join(scratch, "node_runner"), "opref", *cases], capture_output=True, text=True, errors="replace").stdout.splitlines()
           if line.startswith("passed ")}
    cases = [c for c in cases if os.path.basename(c) in own]
    frozen = []
    for case in cases:
        target = os.path.join(scratch, "cases", os.path.basename(case) + "_fixed")
        if freeze(case, target):
            frozen.append(target)
    folders = {os.path.basename(f): f for f in cases + frozen}
    half = sorted(folders.values())
    command = [os.path.join(scratch, "opset_runner"), os.path.join(scratch, "out")]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        lines = [line for part in pool.map(lambda part: run(command, part), (half[0::2], half[1::2])) for line in part]

    operators = {name: operator_of(onnx.load(f"{folder}/model.onnx")) for name, folder in folders.items()}
    bad = []
    counts = collections.defaultdict(collections.Counter)
    for outcome, name, start, to, why in lines:
        counts[operators[name]][outcome] += 1
        if outcome == "failed":
            bad.append(f"failed {name} from {start} to {to}: {why}")
    made = sorted(glob.glob(f"{scratch}/out/*.onnx"))
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        bad += [f"onnx.checker refuses {os.path.basename(p)}: {why}" for p, why in zip(made, pool.map(invalid, made, chunksize=200)) if why]
        stopped = collections.defaultdict(list)  # versions at which a case ended, and the next ones on the way down
        for outcome, name, start, to, _ in lines:
            if outcome == "impossible":
                stopped[name] += [int(to)] if int(to) > int(start) else [v for v in (int(to), int(to) - 2, int(to) - 4) if v >= 7]
        jobs = [(folders[name], versions, os.path.join(scratch, "peer")) for name, versions in stopped.items()]
        peers = [m for part in pool.map(peer_models, jobs, chunksize=50) for m in part]
    works = {line.split(" ")[1] for line in subprocess.run([os.path.join(scratch, "node_runner"), "opref", *(p for _, _, p in peers)], capture_output=True, text=True,
                                                           errors="replace").stdout.splitlines() if line.startswith("passed ")} if peers else set()
    reasons, used, fewer = expected(), set(), collections.Counter()
    for name, version, path in peers:
        key = f"{operators[name]} {version}"
        if os.path.basename(path) not in works:
            continue
        if key in reasons:
            used.add(key)
        else:
            fewer[f"{key} ({name})"] += 1
    bad += [f"onnx.version_converter can, this library cannot: {key}" for key in sorted(fewer)]
    for op in sorted(counts):
        c = counts[op]
        print(f"{op}: {c['passed']} conversions pass, {c['failed']} fail; {c['impossible']} cases reach a version that cannot express them")
    for line in bad:
        print(line)
    for key in sorted(set(reasons) - used):
        print(f"opset.expected lists {key}, which is not needed any more")
    total = sum(counts.values(), collections.Counter())
    print(f"opset conversions of {len(folders)} cases: {total['passed']} pass, {total['failed']} fail, {total['impossible']} cases reach a version that cannot "
          f"express them; {len(made)} models checked by onnx.checker; onnx.version_converter makes {len(works)} models that are not among them")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
