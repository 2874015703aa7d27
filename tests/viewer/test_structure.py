# SPDX-License-Identifier: Apache-2.0
"""Folding, repetitions, subgraphs, shared constants, paths."""
import onnx_file as onnx
from harness import go_to, selected, state


def transformer(layers):
    """x -> (per layer: four projections, attention, an MLP) -> y, with names as exporters write them."""
    nodes, before = [], "x"
    for i in range(layers):
        at = lambda name: f"/model/layers.{i}/{name}"
        for part in ("q", "k", "v"):
            nodes.append(onnx.node("MatMul", [before, "w"], [at(part) + "_out"], at(f"attention/{part}/MatMul")))
        nodes += [onnx.node("Mul", [at("q_out"), at("k_out")], [at("scores")], at("attention/Mul")), onnx.node("Softmax", [at("scores")], [at("p")], at("attention/Softmax")),
                  onnx.node("Mul", [at("p"), at("v_out")], [at("a")], at("attention/Mul_1")), onnx.node("Add", [at("a"), before], [at("sum")], at("Add")),
                  onnx.node("MatMul", [at("sum"), "w"], [at("up")], at("mlp/up/MatMul")), onnx.node("Relu", [at("up")], [at("r")], at("mlp/Relu")),
                  onnx.node("Add", [at("r"), at("sum")], [at("out")], at("Add_1"))]
        before = at("out")
    nodes.append(onnx.node("Identity", [before], ["y"], "/model/end"))
    return onnx.model(nodes, [onnx.tensor("x", [4, 4])], [onnx.tensor("y", [4, 4])], [onnx.weight("w", [4, 4], 1.0)])


def open_model(t, data, **more):
    page = t.open(t.view(t.model("m.onnx", data)), **more)
    page.click((page.box("#canvas")[0] + 5, page.box("#canvas")[1] + 5))
    page.key("Escape")
    return page


def test_24_equal_layers_are_one_block(t):
    file = t.view(t.model("m.onnx", transformer(24)))
    graph = t.data(file)["graph-0"]
    repeats = [i for i, kind in enumerate(graph["container"]["kind"]) if kind == 2]
    sizes = [sum(1 for k, p in zip(graph["container"]["kind"], graph["container"]["parent"]) if k == 3 and p == r) for r in repeats]
    assert 24 in sizes, sizes
    page = t.open(file)
    page.frames(2)
    assert not page.problems()


def test_unfolding_keeps_the_selection_and_folding_goes_back(t):
    page = open_model(t, transformer(6))
    go_to(page, "/model/layers.3/mlp/Relu")
    assert selected(page) == "/model/layers.3/mlp/Relu"
    before = state(page)
    page.js("document.querySelector('#canvas').focus()")
    page.key("[")
    folded = state(page)
    assert folded != before, folded
    page.key("]")
    page.frames(3)
    assert not page.problems()


def test_a_constant_that_500_nodes_read_has_no_edges(t):
    nodes = [onnx.node("Add", [f"t{i}" if i else "x", "one"], [f"t{i + 1}"], f"add{i}") for i in range(500)]
    data = onnx.model(nodes, [onnx.tensor("x", [4])], [onnx.tensor("t500", [4])], [onnx.weight("one", [1], 1.0)])
    file = t.view(t.model("m.onnx", data), options=["--flat"])
    graph = t.data(file)["graph-0"]
    one = next(i for i, n in enumerate(graph["tensor"]["name"]) if graph["strings"][n] == "one")
    edges = [e for layout in graph["container"]["layout"] if layout and "edges" in layout for e in layout["edges"]]
    assert len(edges) >= 500 and not any(e[0] == one for e in edges)
    t.open(file)


def test_nested_subgraphs_open_by_themselves(t):
    inner = onnx.graph([onnx.node("Relu", ["h"], ["r"], "innermost")], [], [onnx.tensor("r")], name="then")
    other = onnx.graph([onnx.node("Neg", ["h"], ["n"], "negated")], [], [onnx.tensor("n")], name="else")
    body = onnx.graph([onnx.node("Identity", ["c"], ["c2"], "go on"), onnx.node("If", ["c"], ["h2"], "choose", then_branch=inner, else_branch=other)],
                      [onnx.tensor("i", [], onnx.INT64), onnx.tensor("c", [], onnx.BOOL), onnx.tensor("h", [4])],
                      [onnx.tensor("c2", [], onnx.BOOL), onnx.tensor("h2", [4])], name="body")
    data = onnx.model([onnx.node("Loop", ["n", "yes", "x"], ["y"], "again", body=body)],
                      [onnx.tensor("n", [], onnx.INT64), onnx.tensor("yes", [], onnx.BOOL), onnx.tensor("x", [4])], [onnx.tensor("y", [4])])
    page = open_model(t, data)
    go_to(page, "innermost")
    assert selected(page) == "innermost"
    assert "again" in page.text("#sidebar") and "choose" in page.text("#sidebar"), page.text("#sidebar")[:600]


def diamond():
    nodes = [onnx.node("Relu", ["x"], ["a"], "top"), onnx.node("Exp", ["a"], ["l"], "left"), onnx.node("Neg", ["a"], ["r"], "right"),
             onnx.node("Add", ["l", "r"], ["y"], "bottom"), onnx.node("Tanh", ["x"], ["z"], "aside")]
    return onnx.model(nodes, [onnx.tensor("x", [4])], [onnx.tensor("y", [4]), onnx.tensor("z", [4])])


def test_ancestors_descendants_and_same_operator_are_counted(t):
    page = open_model(t, diamond())
    go_to(page, "bottom")
    page.js("document.querySelector('#canvas').focus()")
    page.key("a")
    assert page.text("#announcer").startswith("5 ancestors"), page.text("#announcer")
    go_to(page, "top")
    page.js("document.querySelector('#canvas').focus()")
    page.key("s")
    assert page.text("#announcer").startswith("5 descendants"), page.text("#announcer")
    page.key("t")
    assert "1" in page.text("#announcer") or "1 found" in page.text("#hits"), page.text("#announcer")


def test_neighbourhood_hides_the_rest(t):
    page = open_model(t, transformer(3))
    go_to(page, "/model/layers.1/attention/Softmax")
    page.js("document.querySelector('#canvas').focus()")
    page.key("k")
    assert state(page).get("near") == "1", state(page)
    for _ in range(3):
        page.key("k")
    assert "near" not in state(page), state(page)
