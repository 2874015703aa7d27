# SPDX-License-Identifier: Apache-2.0
"""Pictures of states, which a person looked at: `run --accept test_pictures` keeps new ones. Nothing in them depends on the time or the machine's name."""
import onnx_file as onnx
from base_page import CONTROL
from harness import ROOT, go_to
from test_diff import A, chain, edited
from test_structure import transformer

DATA = ROOT / "tests/data/viewer"
SIZE = {"width": 900, "height": 560}


def where(t, **more):
    return t.open(t.view(DATA / "net.onnx", DATA / "where.json"), **SIZE, **more)


def test_picture_of_errors(t):
    page = where(t)
    t.expect_picture(page, "errors")


def test_picture_of_errors_in_the_dark(t):
    page = where(t, dark=True)
    t.expect_picture(page, "errors-dark")


def test_picture_of_a_wrong_node_and_its_details(t):
    page = where(t)
    go_to(page, "/layer.2/matmul")
    t.expect_picture(page, "wrong-node")


def test_picture_from_left_to_right_with_names(t):
    page = where(t)
    page.js("document.querySelector('#canvas').focus()")
    page.key("k", CONTROL)
    page.key("u", CONTROL)
    page.key("0")
    page.frames(4)
    t.expect_picture(page, "left-to-right")


def test_picture_of_a_folded_transformer(t):
    page = t.open(t.view(t.model("transformer.onnx", transformer(24))), **SIZE)
    t.expect_picture(page, "transformer")


def test_picture_of_two_models(t):
    page = t.open(t.view(t.model("a.onnx", chain(A)), t.model("b.onnx", edited())), **SIZE)
    t.expect_picture(page, "two-models")


def test_picture_of_two_models_in_one(t):
    page = t.open(t.view(t.model("a.onnx", chain(A)), t.model("b.onnx", edited())), **SIZE)
    page.js("document.querySelector('#canvas').focus()")
    page.key("Escape")
    page.key("d")
    page.frames(6)
    t.expect_picture(page, "merged")


def test_picture_of_the_list_of_differences(t):
    page = t.open(t.view(t.model("a.onnx", chain(A)), t.model("b.onnx", edited())), **SIZE)
    page.click("[data-view=diff]")
    page.click_text("#view-diff td", "third")
    page.wait("document.querySelectorAll('#view-diff .side').length === 2")
    t.expect_picture(page, "differences")


def test_picture_of_the_table_where_errors_start(t):
    page = where(t)
    page.click_text("[role=tab]", "Where errors start")
    page.wait("document.querySelectorAll('#view-table tr[data-place]').length > 0")
    t.expect_picture(page, "where")


def test_picture_of_found_nodes(t):
    page = where(t)
    page.key("/")
    page.type("op:MatMul")
    page.wait("/4 found/.test(document.querySelector('#hits').innerText)")
    t.expect_picture(page, "found")


def test_picture_of_a_subgraph(t):
    body = onnx.graph([onnx.node("Relu", ["x"], ["r"], "inside")], [], [onnx.tensor("r")], name="then")
    other = onnx.graph([onnx.node("Neg", ["x"], ["n"], "otherwise")], [], [onnx.tensor("n")], name="else")
    data = onnx.model([onnx.node("If", ["c"], ["y"], "choose", then_branch=body, else_branch=other)],
                      [onnx.tensor("x", [4]), onnx.tensor("c", [], onnx.BOOL)], [onnx.tensor("y", [4])])
    page = t.open(t.view(t.model("m.onnx", data)), **SIZE)
    page.js("document.querySelector('#canvas').focus()")
    page.key("]")
    page.key("0")
    page.frames(4)
    t.expect_picture(page, "subgraph")


def test_picture_of_the_keys(t):
    page = where(t)
    page.key("?")
    page.frames(3)
    t.expect_picture(page, "keys")
