#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Conversion to 16 bits against onnx.checker and ONNX Runtime: half.py PROGRAM NODE_TESTS_FOLDER

Every valid model of ONNX's node cases (from node_tests.py), and a family of models of attributes, branches, loops and outputs that are hard to
convert, goes through --fp-to-fp16 and --fp-to-bf16. What comes out must pass onnx.checker with full checks, must load in ONNX Runtime where the
original does and there are kernels of the types, and `check lint --static` must agree with onnx.checker.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

F, I, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
KINDS = ("fp16", "bf16")


def info(name, shape=None, kind=F):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, weights=(), opset=18, values=()):
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), list(weights), value_info=list(values))
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)
    known = onnx.shape_inference.infer_shapes(made)
    for output, inferred in zip(made.graph.output, known.graph.output):  # full checks want shapes of outputs
        output.CopyFrom(inferred)
        output.type.tensor_type.shape.SetInParent()
        if not inferred.type.tensor_type.HasField("shape"):
            output.type.tensor_type.shape.dim.add().dim_param = "count"
    return made


def node(op, inputs, outputs, **attributes):
    return helper.make_node(op, inputs.split(), outputs.split(), **attributes)


def weight(name, values, dtype=np.float32):
    return numpy_helper.from_array(np.array(values, dtype), name)


def generator(op, inputs="", weights=(), opset=20, shape=(4,), **attributes):
    """An operator whose output's type comes from an attribute or its default, added to an input."""
    return model([node(op, inputs, "made", **attributes), node("Add", "x made", "y")], [info("x", shape)], [info("y")], weights, opset)


def random(op, opset, **attributes):
    made = helper.make_node(op, [], ["made"], shape=[4], **attributes)
    return model([made, node("Add", "x made", "y")], [info("x", [4])], [info("y")], opset=opset)


def generators():
    four, size = weight("four", [4], np.int64), weight("size", 4, np.int64)
    for opset in (9, 13, 20, 21):
        yield f"constant_of_shape_{opset}", generator("ConstantOfShape", "four", [four], opset)
        yield f"constant_of_shape_value_{opset}", generator("ConstantOfShape", "four", [four], opset, value=weight("", [2]))
    for opset in (14, 22):
        yield f"random_normal_{opset}", random("RandomNormal", opset)
        yield f"random_normal_typed_{opset}", random("RandomNormal", opset, dtype=F)
        yield f"random_uniform_{opset}", random("RandomUniform", opset)
        for op in ("RandomNormalLike", "RandomUniformLike", "Bernoulli", "EyeLike"):
            if op != "Bernoulli" or opset > 14:
                yield f"{op}_{opset}", generator(op, "x", opset=opset, shape=(4, 4))
                yield f"{op}_typed_{opset}", generator(op, "x", opset=opset, shape=(4, 4), dtype=F)
        yield f"eye_like_ints_{opset}", generator("EyeLike", "ints", [weight("ints", np.zeros((4, 4)), np.int64)], opset, (4, 4), dtype=F)
    for op in ("HannWindow", "HammingWindow", "BlackmanWindow"):
        yield op, generator(op, "size", [size])
        yield f"{op}_typed", generator(op, "size", [size], output_datatype=F)
    mel = [weight(n, v, np.int64) for n, v in (("a", 4), ("b", 8), ("c", 8000))] + [weight("d", 0.0), weight("e", 4000.0)]
    yield "MelWeightMatrix", generator("MelWeightMatrix", "a b c d e", mel, shape=(5, 4))
    for name, given in (("value", weight("", [1, 2, 3, 4])), ("value_float", 1.5), ("value_floats", [1.0, 2.0, 3.0, 4.0])):
        yield f"constant_{name}", generator("Constant", **{name: given})
    yield "range", generator("Range", "from to by", [weight("from", 0.0), weight("to", 4.0), weight("by", 1.0)])
    yield "cast", generator("Cast", "four", [four], to=F)
    yield "cast_like", generator("CastLike", "four x", [four])
    yield "bit_cast", generator("BitCast", "bits", [weight("bits", [1, 2, 3, 4], np.int32)], 26, to=F)
    yield "one_hot", generator("OneHot", "four depth values", [four, weight("depth", 4, np.int64), weight("values", [0, 1])])
    yield "bit_cast_to_ints", model([node("BitCast", "x", "made", to=TensorProto.INT32), node("Cast", "made", "y", to=F)], [info("x", [4])], [info("y")], opset=26)
    scale, q = weight("scale", 0.5), weight("q", [1, 2, 3, 4], np.int8)
    for opset in (13, 19, 21, 23):
        yield f"dequantize_{opset}", generator("DequantizeLinear", "q scale", [q, scale], opset)
    yield "dequantize_typed", generator("DequantizeLinear", "q scale", [q, scale], 23, output_dtype=F)
    yield "dequantize_narrow_scale", generator("DequantizeLinear", "q scale", [q, weight("scale", 0.5, np.float16)], 23, output_dtype=F)


def lists():
    x = info("x", [4])
    yield "sequence_empty", model([node("SequenceEmpty", "", "s"), node("Neg", "x", "n"), node("SequenceInsert", "s n", "t"),
                                   node("ConcatFromSequence", "t", "c", axis=0), node("Neg", "c", "y")], [x], [info("y")])
    yield "optional", model([node("Neg", "x", "n"), node("Optional", "n", "o"), node("OptionalGetElement", "o", "e"), node("Neg", "e", "y")],
                            [x], [info("y")])
    yield "layer_norm_mean", model([node("Neg", "x", "n"), node("LayerNormalization", "n w", "l mean"), node("Add", "l mean", "y")],
                                   [info("x", [2, 4])], [info("y")], [weight("w", [1, 1, 1, 1])])
    yield "group_norm", model([node("GroupNormalization", "x w w", "y", num_groups=2)], [info("x", [1, 4, 2])], [info("y")], [weight("w", [1, 2, 3, 4])], 21)


def outputs():
    x = info("x", [1, 1, 4, 4])
    twice = weight("twice", [1, 1, 2, 2])
    yield "wide_output_read", model([node("Resize", "x none twice", "y"), node("Neg", "y", "z")], [x], [info("y"), info("z")],
                                    [weight("none", []), twice])
    yield "weight_output", model([node("Add", "x w", "y")], [info("x", [2])], [info("y"), info("w", [2])], [weight("w", [1, 2])])
    yield "declared", model([node("Neg", "x", "n"), node("Neg", "n", "y")], [info("x", [4])], [info("y")], values=[info("n", [4])])


def branch(name, nodes, out, weights=(), values=(), kind=F):
    return helper.make_graph(list(nodes), name, [], [info(out, None, kind)], list(weights), value_info=list(values))


def branches():
    x, c = info("x", [2]), info("c", [], B)

    def chosen(yes, no, after="Neg"):
        return model([node("If", "c", "b", then_branch=yes, else_branch=no), node(after, "b", "y")], [c, x], [info("y")])

    plain = branch("no", [node("Neg", "x", "e")], "e")
    yield "if_plain", chosen(branch("yes", [node("Abs", "x", "t")], "t"), plain)
    yield "if_inner", model([node("Neg", "x", "n"), node("If", "c", "b", then_branch=branch("yes", [node("Abs", "n", "t")], "t"),
                                                         else_branch=branch("no", [node("Neg", "n", "e")], "e")), node("Neg", "b", "y")], [c, x], [info("y")])
    yield "if_identity", chosen(branch("yes", [node("Identity", "x", "t")], "t"), plain)
    yield "if_constant", chosen(branch("yes", [node("Constant", "", "t", value=weight("", [1, 2]))], "t"), plain)
    yield "if_constants", chosen(branch("yes", [node("Constant", "", "t", value_floats=[1.0, 2.0])], "t"),
                                 branch("no", [node("Constant", "", "e", value_floats=[3.0, 4.0])], "e"))
    yield "if_weight", chosen(branch("yes", [], "t", [weight("t", [1, 2])]), plain)
    yield "if_constant_of_shape", chosen(branch("yes", [node("Shape", "x", "s"), node("ConstantOfShape", "s", "t")], "t"), plain)
    yield "if_wide", chosen(branch("yes", [node("CumSum", "x zero", "t")], "t", [weight("zero", 0, np.int64)]), plain)
    yield "if_wide_read", chosen(branch("yes", [node("CumSum", "x zero", "u"), node("Neg", "u", "t")], "t", [weight("zero", 0, np.int64)],
                                        [info("u", [2])]), plain, "Abs")
    inner = node("If", "c", "t", then_branch=branch("a", [node("Neg", "x", "t1")], "t1"), else_branch=branch("b", [node("Abs", "x", "t2")], "t2"))
    yield "if_nested", chosen(branch("yes", [inner], "t"), plain)
    yield "if_output", model([node("If", "c", "y", then_branch=branch("yes", [node("Abs", "x", "t")], "t"), else_branch=plain)], [c, x], [info("y")])
    ints = branch("yes", [node("Cast", "x", "t", to=I)], "t", kind=I), branch("no", [node("Cast", "x", "e", to=I)], "e", kind=I)
    yield "if_ints", model([node("If", "c", "b", then_branch=ints[0], else_branch=ints[1]), node("Cast", "b", "f", to=F), node("Add", "x f", "y")],
                           [c, x], [info("y")])


def loops():
    x, trips = info("x", [2]), weight("trips", 3, np.int64)

    def loop(body, ops=(), outs="last all", after=()):
        return model([node("Neg", "x", "n"), *ops, helper.make_node("Loop", ["trips", "", "n"], outs.split(), body=body), *after],
                     [x], [info("last")] + ([info("all")] if "all" in outs else []), [trips, weight("w", [0.5, 3e38])])

    def body(nodes, weights=(), inner=(), kept=None):
        return helper.make_graph(list(nodes), "body", [info("i", [], I), info("go", [], B), info("s", kept)],
                                 [info("go2", [], B), info("s2", kept), info("o", kept)], list(weights), value_info=list(inner))

    same = node("Identity", "go", "go2")
    yield "loop_plain", loop(body([same, node("Add", "s w", "s2"), node("Neg", "s", "o")]))
    yield "loop_declared", loop(body([same, node("Add", "s w", "s2"), node("Neg", "s", "o")], kept=[2]))
    yield "loop_constant", loop(body([same, node("Constant", "", "k", value_float=2.0), node("Mul", "s k", "s2"), node("ConstantOfShape", "two", "o")],
                                     [weight("two", [2], np.int64)]))
    yield "loop_weight", loop(body([same, node("Mul", "s o", "s2")], [weight("o", [1, 2])]))
    yield "loop_wide", loop(body([same, node("CumSum", "s zero", "s2"), node("Max", "s w", "o")], [weight("zero", 0, np.int64)]))
    yield "loop_counter", loop(body([same, node("Cast", "i", "f", to=F), node("Add", "s f", "s2"), node("Identity", "s2", "o")]))
    scan = helper.make_graph([node("Add", "s e", "s2"), node("Neg", "s2", "o")], "body", [info("s", [2]), info("e", [2])], [info("s2", [2]), info("o", [2])])
    yield "scan", model([node("Neg", "x", "n"), node("Scan", "start n", "last all", body=scan, num_scan_inputs=1)], [info("x", [3, 2])],
                        [info("last"), info("all")], [weight("start", [0, 0])])
    yield "sequence_map", model([node("SequenceConstruct", "x x", "q"), node("SequenceMap", "q", "r", body=helper.make_graph(
        [node("Neg", "a", "b")], "body", [info("a")], [info("b")])), node("ConcatFromSequence", "r", "y", axis=0)], [x], [info("y")])


def family():
    for part in (generators, lists, outputs, branches, loops):
        yield from part()


def node_cases(folder):
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name, "model.onnx")
        if os.path.exists(path):
            m = onnx.load(path)
            if all(o.version >= 7 or o.domain not in ("", "ai.onnx") for o in m.opset_import):
                yield name, m


def checker_says(m):
    try:
        onnx.checker.check_model(m, full_check=True)
        return ""
    except Exception as e:  # noqa: BLE001
        return str(e).strip().replace("\n", " ") or "?"


def runtime_says(m):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        onnxruntime.InferenceSession(m.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return ""
    except Exception as e:  # noqa: BLE001
        text = str(e).strip().replace("\n", " ")
        # Errors about operators that are not in the model come from what it writes functions like Clip out to.
        named = re.findall(r"(?:operator|Optype) \((\w+)\)", text)
        if named and not any(n.op_type in named for n in m.graph.node):
            return ""
        # Where it has no kernel of the type it puts Casts in, of which some contradict its own type rules.
        return "" if any(sign in text for sign in ("NOT_IMPLEMENTED", "Could not find an implementation", "InsertedPrecisionFreeCast")) else text


def run(program, *words):
    return subprocess.run([program, *words], capture_output=True, text=True, errors="replace")


def judge(program, folder, name, m, kind):
    """What is wrong with the conversion; None: the model could not be judged."""
    path, to = f"{folder}/{name}.onnx", f"{folder}/{name}.{kind}.onnx"
    done = run(program, "convert", path, "-o", to, "--convert-to", "onnx", f"--fp-to-{kind}")
    if done.returncode:
        why = next((line for line in done.stdout.splitlines() + done.stderr.splitlines() if "[!]" in line or "[E]" in line), done.stderr[-300:])
        return None if "bfloat16 needs opset" in why else f"is not converted: {why}"
    half = onnx.load(to)
    wrong = checker_says(half)
    if wrong:
        lint = run(program, "check", "lint", to, "--static")
        return f"onnx.checker: {wrong[:300]}" + ("" if lint.returncode else " (check lint --static passes it)")
    wrong = runtime_says(half)
    return f"ONNX Runtime: {wrong[:300]}" if wrong else ""


def main():
    program, work = sys.argv[1:3]
    models = dict(family())
    if os.path.isdir(work):
        models.update(node_cases(work))
    bad = judged = 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
        valid = []
        for name, m in models.items():
            if checker_says(m) or runtime_says(m):
                if name in dict.fromkeys(n for n, _ in family()):
                    print(f"{name} of the family is not valid itself: {checker_says(m) or runtime_says(m)}"[:300])
                    bad += name != "bit_cast"
                continue
            onnx.save(m, f"{folder}/{name}.onnx")
            valid += [(name, m, kind) for kind in KINDS]
        for (name, _, kind), wrong in zip(valid, pool.map(lambda v: judge(program, folder, *v), valid)):
            judged += wrong is not None
            bad += bool(wrong)
            if wrong:
                print(f"{name} {kind}: {wrong}")
    print(f"{judged} conversions of {len(valid) // len(KINDS)} valid models, {bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
