#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The programs of examples/gs against onnx-graphsurgeon: gs_cases.py FOLDER_OF_THE_PROGRAMS | gs_cases.py --write FOLDER

Every case is built once more with the real package, from the description of the case; what our program writes must be the same model, node by
node, in the notation of gs_text.py: names, order, attributes, order of weights and value infos. Where the package has a defect, FIXED says what
is put right before comparing. onnx.checker must find no more in our models than in the package's (it wants shapes of outputs, which some cases
leave open). --write makes the golden texts (tests/data/gs).
"""
import os
import subprocess
import sys
import tempfile
import warnings
from typing import List

warnings.simplefilter("ignore")
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
import onnx  # noqa: E402
import onnx_graphsurgeon as gs  # noqa: E402

from gs_text import model_text  # noqa: E402

F = np.float32
gs.logger.G_LOGGER.severity = 50
IMAGE = ["B", 3, 64, 64]


def ones(*shape):
    return np.ones(shape, F)


def pattern(*shape):
    """Values that tell one place from another: (i mod 7) / 4."""
    return (np.arange(int(np.prod(shape))) % 7 / 4).astype(F).reshape(shape)


def var(name, shape=None, dtype=F):
    return gs.Variable(name, dtype, shape)


def save(graph):
    return gs.export_onnx(graph.copy())


def tidy(graph):
    return graph.cleanup().toposort()


# ---- The nine seed cases


def build_a_model():
    x, t1, t2, y = var("tensor0", IMAGE), var("tensor1", ["B", 1, 64, 64]), var("tensor2"), var("tensor3")
    nodes = [gs.Node("Conv", "myConv", inputs=[x, gs.Constant("constant0", ones(1, 3, 3, 3))], outputs=[t1],
                     attrs={"dilations": [1, 1], "kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "strides": [1, 1]}),
             gs.Node("Add", "myAdd", inputs=[t1, gs.Constant("constant1", ones(1))], outputs=[t2]),
             gs.Node("Relu", "myRelu", inputs=[t2], outputs=[y])]
    return [save(tidy(gs.Graph(nodes, [x], [y])))]


def insert_a_node():
    x, t1, t2 = var("tensor0", IMAGE), var("tensor1"), var("tensor2")
    g = gs.Graph([gs.Node("Identity", "myIdentity0", inputs=[x], outputs=[t1]), gs.Node("Identity", "myIdentity1", inputs=[t1], outputs=[t2])], [x], [t2])
    before = save(g)
    first = next(n for n in g.nodes if n.name == "myIdentity0")
    t3 = var("tensor3")
    g.nodes.append(gs.Node("Add", "myAdd", inputs=[first.outputs[0], gs.Constant("constant0", ones(1, 1, 1, 1))], outputs=[t3]))
    first.o().inputs[0] = t3
    return [before, save(tidy(g))]


def three_nodes(inner=None):
    x, t1, t2, y = var("tensor0", IMAGE), var("tensor1", inner), var("tensor2", inner), var("tensor3", inner)
    nodes = [gs.Node("Identity", "myIdentity0", inputs=[x], outputs=[t1]), gs.Node("Add", "myAdd", inputs=[t1, gs.Constant("constant0", ones(1, 1, 1, 1))], outputs=[t2]),
             gs.Node("Identity", "myIdentity1", inputs=[t2], outputs=[y])]
    return gs.Graph(nodes, [x], [y])


def remove_a_node():
    g = three_nodes()
    before = save(g)
    add = g.nodes[1]
    add.o().inputs[0] = add.inputs[0]
    add.outputs.clear()
    return [before, save(tidy(g))]


def replace_a_node():
    g = three_nodes()
    a = g.copy()
    a.nodes[1].op, a.nodes[1].name = "Sub", "mySub"
    b = g.copy()
    old = b.nodes[1]
    b.nodes.append(gs.Node("Sub", "mySub", inputs=old.inputs, outputs=old.outputs))
    old.outputs = []
    a, b = save(tidy(a)), save(tidy(b))
    return [save(g), a, b]


def walk_a_graph():
    return [remove_a_node()[1]]


def fold_clean_sort():
    t = {i: var(f"tensor{i}", s) for i, s in enumerate([IMAGE, IMAGE, IMAGE, IMAGE, ["B", 1, 64, 64], ["B", 1, 64, 64], ["B", 1, 64, 64]])}
    t[7], t[8] = var("tensor7"), var("tensor8")
    w = gs.Constant("w", ones(1, 1, 1, 1))
    nodes = [gs.Node("Add", "myAdd4", inputs=[t[5], w], outputs=[t[6]]), gs.Node("Add", "myAdd3", inputs=[t[1], w], outputs=[t[2]]),
             gs.Node("Add", "myAdd2", inputs=[t[0], t[8]], outputs=[t[1]]), gs.Node("Add", "myAdd1", inputs=[t[7], w], outputs=[t[8]]),
             gs.Node("Add", "myAdd0", inputs=[w, w], outputs=[t[7]])]
    g = gs.Graph(nodes, [t[0], t[3]], [t[2], t[4]])
    models = [save(g)]
    # ONNX Runtime refuses unsorted models, so the values of case 6 are put in place by hand, as folding does.
    for name, value in (("tensor7", 2), ("tensor8", 3)):
        tensor = g.tensors()[name]
        tensor.inputs.clear()
        tensor.to_constant(value * ones(1, 1, 1, 1))
    models.append(save(g))
    g.cleanup()
    models.append(save(g))
    g.toposort()
    g.inputs, g.outputs = [t[0]], [t[2]]
    return models + [save(g)]


def shape_graph(shape):
    x, y3, y8 = var("tensor0", shape), var("tensor3"), var("tensor8")
    t = {i: var(f"tensor{i}", None, np.int64) for i in (1, 2, 4, 5, 6, 7)}
    c0, c1 = gs.Constant("constant0", np.array([0, 1], np.int32)), gs.Constant("constant1", np.array([2, 3], np.int32))
    prod = {"axes": [0], "keepdims": 1}
    nodes = [gs.Node("Shape", "myShape", inputs=[x], outputs=[t[1]]), gs.Node("ReduceProd", "myReduceProd0", dict(prod), [t[1]], [t[2]]),
             gs.Node("Reshape", "myReshape0", inputs=[x, t[2]], outputs=[y3]), gs.Node("Gather", "myGather0", inputs=[t[1], c0], outputs=[t[4]]),
             gs.Node("Gather", "myGather1", inputs=[t[1], c1], outputs=[t[5]]), gs.Node("ReduceProd", "myReduceProd1", dict(prod), [t[5]], [t[6]]),
             gs.Node("Concat", "myConcat", {"axis": 0}, [t[4], t[6]], [t[7]]), gs.Node("Reshape", "myReshape1", inputs=[x, t[7]], outputs=[y8])]
    return gs.Graph(nodes, [x], [y3, y8])


def simplify_shapes():
    models = []
    for fold, shape in ((False, None), (True, [2, 3, 4, 5]), (True, None), (True, ["A", 3, 224, 5])):
        g = tidy(shape_graph(["A", 3, "B", 5]))
        g.ir_version = 10  # else ONNX Runtime refuses it
        if shape:
            g.inputs[0].shape = shape
        models.append(save(tidy(g.fold_constants()) if fold else g))
    return models


def isolate_a_subgraph():
    g = three_nodes(IMAGE)
    before = save(g)
    add = g.nodes[1]
    g.inputs, g.outputs = [add.inputs[0]], list(add.outputs)
    return [before, save(tidy(g))]


def register_operations():
    @gs.Graph.register()
    def add(self, a, b, name):
        return self.layer(op="Add", inputs=[a, b], outputs=[name])

    @gs.Graph.register()
    def mul(self, a, b, name):
        return self.layer(op="Mul", inputs=[a, b], outputs=[name])

    @gs.Graph.register()
    def gemm(self, a, b, name, trans_a=False, trans_b=False):
        return self.layer(op="Gemm", inputs=[a, b], outputs=[name], attrs={"transA": int(trans_a), "transB": int(trans_b)})

    @gs.Graph.register()
    def min(self, a, b, name):
        return self.layer(op="Min", inputs=[a, b], outputs=[name])

    @gs.Graph.register()
    def max(self, a, b, name):
        return self.layer(op="Max", inputs=[a, b], outputs=[name])

    @gs.Graph.register(opsets=[11])
    def relu(self, a, name):
        return self.layer(op="Relu", inputs=[a], outputs=[name])

    @gs.Graph.register(opsets=[1])
    def relu(self, a, name):  # noqa: F811
        raise AssertionError("chosen for another opset")

    @gs.Graph.register()
    def replace_with_clip(self, inputs, outputs):
        for t in inputs:
            t.outputs.clear()
        for t in outputs:
            t.inputs.clear()
        return self.layer(op="Clip", inputs=inputs, outputs=outputs)


def build_with_operations():
    register_operations()
    g = gs.Graph(opset=11)
    x = var("tensor0", [64, 64])
    c = [gs.Constant(f"tensor{i + 1}", v) for i, v in enumerate([ones(64, 64), 0.5 * ones(64, 64), ones(64, 64), 3 * ones(1), -3 * ones(1)])]
    y = g.gemm(c[0], x, "myGgemm", trans_b=True)
    y = g.relu(*g.add(*y, c[1], "myAdd"), "myReLU")
    y = g.max(*g.min(*g.mul(*y, c[2], "myMul"), c[3], "myMin"), c[4], "myMax")
    y[0].dtype = F
    g.inputs, g.outputs = [x], y
    before = save(g)
    tensors = g.tensors()
    g.replace_with_clip([tensors["myMul_6"], tensors["tensor5"], tensors["tensor4"]], [tensors["myMax_10"]])
    return [before, save(tidy(g))]


# ---- The package's own examples


def with_ir(g):
    g.ir_version = 10
    return g


def create_a_model():
    x, y = var("X", (1, 3, 5, 5)), var("Y", (1, 3, 1, 1))
    return [save(with_ir(gs.Graph([gs.Node("GlobalLpPool", attrs={"p": 2}, inputs=[x], outputs=[y])], [x], [y])))]


def create_with_weights():
    x, y = var("X", (1, 3, 224, 224)), var("Y", (1, 5, 222, 222))
    return [save(with_ir(gs.Graph([gs.Node("Conv", inputs=[x, gs.Constant("W", ones(5, 3, 3, 3))], outputs=[y])], [x], [y])))]


def sums(inferred=False):
    shape = [1, 3, 224, 224]
    x0, x1, y = var("x0", shape), var("x1", shape), var("Y", shape)
    m, s = (var(n, shape if inferred else None) for n in ("mul_out", "add_out"))
    nodes = [gs.Node("Mul", inputs=[gs.Constant("a", ones(*shape)), x1], outputs=[m]), gs.Node("Add", inputs=[m, gs.Constant("b", ones(*shape))], outputs=[s]),
             gs.Node("Add", inputs=[x0, s], outputs=[y])]
    return with_ir(gs.Graph(nodes, [x0, x1], [y]))


def isolate_between_tensors():
    g = sums()
    before = save(g)
    t = g.tensors()
    g.inputs, g.outputs = [t["x1"]], [t["add_out"]]  # without to_variable, which would declare scalars
    return [before, save(g.cleanup())]


def modify():
    g = sums(True)
    before = save(g)
    first = [n for n in g.nodes if n.op == "Add"][0]
    first.inputs = [i for i in first.inputs if i.name != "b"]
    first.op = "LeakyRelu"
    first.attrs["alpha"] = 0.02
    out = var("identity_out", [1, 3, 224, 224])
    g.nodes.append(gs.Node("Identity", inputs=first.outputs, outputs=[out]))
    g.outputs = [out]
    return [before, save(g.cleanup(remove_unused_graph_inputs=True).toposort())]


def fold_constants():
    shape = (1, 3)
    x, c, e, y = var("input", shape), var("c"), var("e"), var("output", shape)
    a, b, d = (gs.Constant(n, ones(*shape)) for n in "abd")
    nodes = [gs.Node("Add", inputs=[a, b], outputs=[c]), gs.Node("Add", inputs=[c, d], outputs=[e]), gs.Node("Add", inputs=[x, e], outputs=[y])]
    g = with_ir(gs.Graph(nodes, [x], [y]))
    before = save(g)
    return [before, save(g.fold_constants().cleanup())]


def remove_an_unknown_node():
    shape = (1, 3, 224, 224)
    x, i0, i1, y = var("x", shape), var("i0"), var("i1"), var("y", shape)
    g = with_ir(gs.Graph([gs.Node("Identity", inputs=[x], outputs=[i0]), gs.Node("FakeNodeToRemove", inputs=[i0], outputs=[i1]),
                          gs.Node("Identity", inputs=[i1], outputs=[y])], [x], [y]))
    before = save(g)
    fake = g.nodes[1]
    fake.i().outputs = list(fake.outputs)
    fake.outputs.clear()
    return [before, save(g.cleanup())]


def layers():
    g = with_ir(gs.Graph(opset=11))
    x = var("X", (64, 64))
    y = g.layer(op="Gemm", inputs=[pattern(64, 64), x], outputs=["gemm_out_gs"], attrs={"transA": 0, "transB": 1})
    y = g.layer(op="Add", inputs=[*y, 0.5 * ones(64, 64)], outputs=["add_out_gs"])
    y = g.layer(op="Relu", inputs=y, outputs=["act_out_gs"])
    y = g.layer(op="Mul", inputs=[*y, gs.Constant("C", pattern(64, 64))], outputs=["mul_out_gs"])
    y = g.layer(op="Add", inputs=[*y, ones(64, 64)], outputs=["add_out_gs"])
    y[0].dtype = F
    g.inputs, g.outputs = [x], y
    return [save(g)]


def replace_a_region():
    g = with_ir(gs.Graph(opset=11))
    x = var("input", (4, 4))
    y = g.layer(op="Identity", inputs=[x], outputs=["identity_out"])
    y = g.layer(op="Min", inputs=[*y, np.array(6, F)], outputs=["min_out"])
    y = g.layer(op="Max", inputs=[*y, np.array(0, F)], outputs=["max_out"])
    y = g.layer(op="Identity", inputs=y, outputs=["identity_out"])
    y[0].dtype, y[0].shape = F, (4, 4)
    g.inputs, g.outputs = [x], y
    before = save(g)
    g = gs.import_onnx(before)
    t = g.tensors()
    register_operations()
    g.replace_with_clip([t["identity_out_0"], t["onnx_graphsurgeon_constant_5"], t["onnx_graphsurgeon_constant_2"]], [t["max_out_6"]])
    return [before, save(tidy(g))]


def shape_operations():
    g = with_ir(gs.Graph(opset=11))
    x = var("data", (-1, 3, -1, 5))

    def shape(a):
        return g.layer(op="Shape", inputs=[a], outputs=["shape_out_gs"])[0]

    def reduce_prod(a):
        return g.layer(op="ReduceProd", inputs=[a], outputs=["reduce_prod_out_gs"], attrs={"axes": [0], "keepdims": 1})[0]

    def reshape(a, b, name):
        out = g.layer(op="Reshape", inputs=[a, b], outputs=["reshape_out_gs"])[0]
        out.name, out.dtype = name, F
        return out

    def gather(a, b):
        return g.layer(op="Gather", inputs=[a, b], outputs=["gather_out_gs"])[0]

    s = shape(x)
    flat = reshape(x, reduce_prod(s), "flattened")
    front = gather(s, [0, 1])
    tail = reduce_prod(gather(s, [2, 3]))
    partly = reshape(x, g.layer(op="Concat", inputs=[front, tail], outputs=["concat_out_gs"], attrs={"axis": 0})[0], "partially_flattened")
    g.inputs, g.outputs = [x], [flat, partly]
    return [save(g)]


def dynamic_batch():
    x, c, r, y = var("input_1", [1, 3, 28, 28]), var("conv_out", [1, 32, 26, 26]), var("reshape_out", [1, 21632]), var("output_1", [1, 10])
    nodes = [gs.Node("Conv", "conv", {"kernel_shape": [3, 3]}, [x, gs.Constant("conv_w", pattern(32, 3, 3, 3))], [c]),
             gs.Node("Reshape", "reshape", inputs=[c, gs.Constant("shape", np.array([1, 21632], np.int64))], outputs=[r]),
             gs.Node("MatMul", "matmul", inputs=[r, gs.Constant("matmul_w", pattern(21632, 10))], outputs=[y])]
    g = with_ir(gs.Graph(nodes, [x], [y]))
    before = save(g)
    g.inputs[0].shape[0] = "N"
    g.nodes[1].inputs[1].values = np.array([-1, 21632], np.int64)
    return [before, save(g)]


def local_function():
    f = gs.Function("SelfAttention", domain="onnx_graphsurgeon", opset=18,
                    attrs={"Wq": None, "Wk": None, "Wv": None, "transpose_perm": [0, 2, 1], "sqrt_emb_dim": 1.0})
    x = var("attn_in", ("batch", "seq", 4))

    def weight(name):
        return f.layer(op="Constant", inputs=[], outputs=[name], attrs={"value": gs.Node.AttributeRef(name, gs.Tensor)})[0]

    def product(a, b, name):
        return f.layer(op="MatMul", inputs=[a, b], outputs=[name])[0]

    queries, keys, values = (product(x, weight(w), n) for w, n in (("Wq", "queries"), ("Wk", "keys"), ("Wv", "values")))
    turned = f.layer(op="Transpose", inputs=[keys], outputs=["turned"], attrs={"perm": gs.Node.AttributeRef("transpose_perm", List[int])})[0]
    root = f.layer(op="Constant", inputs=[], outputs=["root"], attrs={"value_float": gs.Node.AttributeRef("sqrt_emb_dim", float)})[0]
    scores = f.layer(op="Div", inputs=[product(queries, turned, "products"), root], outputs=["scores"])[0]
    weights = f.layer(op="Softmax", inputs=[scores], outputs=["weights"], attrs={"axis": 2})[0]
    out = product(weights, values, "attn")
    out.dtype, out.shape = F, ("batch", "seq", 4)
    f.inputs, f.outputs = [x], [out]
    g = gs.Graph(opset=18, functions=[f], import_domains=None)
    g.ir_version = 10
    y = g_in = var("input", ("batch", "seq", 4))
    for i in range(4):
        w = {n: gs.Constant(f"{n}_{i}", (pattern(4, 4) + F(i)) * F(k + 1)) for k, n in enumerate(("Wq", "Wk", "Wv"))}
        a = g.SelfAttention(inputs=[y], attrs={**w, **({"sqrt_emb_dim": 2.0} if i else {})})[0]
        r = g.layer(op="Relu", inputs=[a], outputs=["relu_out"])[0]
        y = g.layer(op="Add", inputs=[r, y], outputs=["add_out"])[0]
    y.dtype, y.shape = F, ("batch", "seq", 4)
    g.inputs, g.outputs = [g_in], [y]
    return [save(g)]


def low_precision_weights():
    models = []
    for dtype in (ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn):
        x, y = var("X", (1, 3, 224, 224)), var("Y", (1, 5, 222, 222))
        g = with_ir(gs.Graph([gs.Node("Conv", inputs=[x, gs.Constant("W", np.full((5, 3, 3, 3), 0.5).astype(dtype))], outputs=[y])], [x], [y]))
        models.append(save(g))
    return models


CASES = [build_a_model, insert_a_node, remove_a_node, replace_a_node, walk_a_graph, fold_clean_sort, simplify_shapes, isolate_a_subgraph, build_with_operations,
         create_a_model, create_with_weights, isolate_between_tensors, modify, fold_constants, remove_an_unknown_node, layers, replace_a_region, shape_operations,
         dynamic_batch, local_function, low_precision_weights]
# Models that are not meant to be well-formed, (case, number of the model).
UNFINISHED = {("fold_clean_sort", 1), ("fold_clean_sort", 2), ("fold_clean_sort", 3), ("remove_an_unknown_node", 1), ("low_precision_weights", 1), ("low_precision_weights", 2)}


def new_batch(text):
    """Stale shapes: what depends on an input whose shape is changed keeps the old batch in the package."""
    return text.replace("[1,32,26,26]", "['N',32,26,26]").replace("reshape_out:FLOAT[1,", "reshape_out:FLOAT['N',").replace("output_1:FLOAT[1,", "output_1:FLOAT['N',")


def negative_unknown(text):
    """The package writes a dynamic dimension of -1 as that number; without value it is what ONNX calls unknown."""
    return text.replace("[-1,3,-1,5]", "[?,3,?,5]")


FIXED = {("dynamic_batch", 2): new_batch, ("shape_operations", 1): negative_unknown}


def wanted(case):
    for i, model in enumerate(case(), 1):
        text = model_text(model)
        yield i, model, FIXED.get((case.__name__, i), lambda x: x)(text)


def file_of(number, case, i):
    return f"{number:02}_{case.__name__}.{i}"


def write(folder):
    for number, case in enumerate(CASES, 1):
        for i, _, text in wanted(case):
            with open(os.path.join(folder, file_of(number, case, i) + ".txt"), "w", encoding="utf-8") as f:
                f.write(text)


def run_program(programs, number, case, folder, count):
    """The models that our program writes."""
    paths = [os.path.join(folder, file_of(number, case, i) + ".onnx") for i in range(1, count + 1)]
    if case is walk_a_graph:
        return [os.path.join(folder, file_of(3, remove_a_node, 2) + ".onnx")]
    subprocess.run([os.path.join(programs, f"{number:02}_{case.__name__}"), *paths], check=True, capture_output=True)
    return paths


def complaint(model):
    try:
        onnx.checker.check_model(model)
    except Exception as e:
        return str(e)
    return ""


def main():
    if sys.argv[1] == "--write":
        return write(sys.argv[2])
    bad, models = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(CASES, 1):
            expected = list(wanted(case))
            for path, (i, theirs, text) in zip(run_program(sys.argv[1], number, case, folder, len(expected)), expected):
                ours = onnx.load(path)
                models += 1
                if model_text(ours) != text:
                    bad.append(f"{file_of(number, case, i)}: ours is\n{model_text(ours)}the package's is\n{text}")
                if (case.__name__, i) not in UNFINISHED:
                    said = complaint(ours)
                    if said and said != complaint(theirs):
                        bad.append(f"{file_of(number, case, i)}: {said}")
    print("\n".join(bad) if bad else f"gs_cases: {models} models of {len(CASES)} programs are as the package writes them")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
