# SPDX-License-Identifier: Apache-2.0
"""Two models: side by side, in one picture, and as a list of differences."""
import onnx_file as onnx
from harness import go_to, middle, selected, state

A = [("Relu", "first"), ("Tanh", "second"), ("Exp", "third"), ("Neg", "fourth")]


def chain(steps, **attributes):
    nodes = [onnx.node(op, [f"t_{steps[i - 1][1]}" if i else "x"], [f"t_{name}"], name, **attributes.get(name, {})) for i, (op, name) in enumerate(steps)]
    return onnx.model(nodes, [onnx.tensor("x", [1, 4])], [onnx.tensor(f"t_{steps[-1][1]}", [1, 4])])


def edited():
    """`second` is gone, `new` is there, `third` became Log."""
    nodes = [onnx.node("Relu", ["x"], ["t_first"], "first"), onnx.node("Log", ["t_first"], ["t_third"], "third"),
             onnx.node("Abs", ["t_third"], ["t_new"], "new"), onnx.node("Neg", ["t_new"], ["t_fourth"], "fourth")]
    return onnx.model(nodes, [onnx.tensor("x", [1, 4])], [onnx.tensor("t_fourth", [1, 4])])


def open_pair(t, a=None, b=None, **more):
    return t.open(t.view(t.model("a.onnx", a or chain(A)), t.model("b.onnx", b or edited())), **more)


def rows(page):
    page.click("[data-view=diff]")
    page.wait("document.querySelectorAll('#view-diff tr[data-place]').length > 0 || /No difference|switched off/.test(document.querySelector('#view-diff').innerText)")
    return page.run("() => [...document.querySelectorAll('#view-diff tr[data-place]')].map(r => [...r.children].map(c => c.innerText.trim()))")


def test_both_models_stand_side_by_side_and_d_merges_them(t):
    page = open_pair(t)
    assert page.is_shown("#half-b")
    page.click("#canvas")
    page.key("Escape")
    page.key("d")
    page.frames(4)
    assert not page.is_shown("#half-b")
    assert "diff" in state(page).get("show", "")
    page.key("d")
    page.frames(4)
    assert page.is_shown("#half-b")


def test_list_names_exactly_what_changed(t):
    page = open_pair(t)
    found = {(r[0], r[2]) for r in rows(page)}
    assert ("second", "removed") in found, found
    assert ("new", "added") in found, found
    assert any(name == "third" and change == "changed" for name, change in found), found
    assert not any(name in ("first", "fourth") for name, _ in found), found


def test_list_is_filtered_by_kinds_of_changes(t):
    page = open_pair(t)
    everything = len(rows(page))
    page.click_text("#view-diff .chip", "removed 1")
    assert len(rows(page)) == everything - 1
    assert page.attribute("#view-diff .chip[aria-pressed=false]", "aria-pressed") == "false"


def test_row_shows_both_sides_and_selects_in_the_picture(t):
    page = open_pair(t)
    rows(page)
    page.click_text("#view-diff td", "third")
    page.wait("document.querySelectorAll('#view-diff .side').length === 2")
    sides = page.texts("#view-diff .side")
    assert "Exp" in sides[0] and "Log" in sides[1], sides
    assert selected(page) == "third"


def test_equal_models_have_no_row(t):
    page = open_pair(t, chain(A), chain(A))
    assert rows(page) == []
    assert "No difference" in page.text("#view-diff")


def test_models_without_a_common_node_say_so(t):
    page = open_pair(t, onnx.chain(["Sigmoid"]), onnx.model([onnx.node("Flatten", ["image"], ["r"], "q"), onnx.node("Softmax", ["r"], ["z"], "s")],
                                                            [onnx.tensor("image", [1, 3, 8, 8])], [onnx.tensor("z")]))
    rows(page)
    assert "no node in common" in page.text("#view-diff")


def test_selection_in_one_half_is_the_counterparts_too(t):
    page = open_pair(t)
    go_to(page, "fourth")
    assert selected(page) == "fourth"
    assert "B: fourth" in page.text("#sidebar"), page.text("#sidebar")


def test_fused_nodes_stand_in_a_frame(t):
    inputs, outputs = [onnx.tensor("x", [2, 4])], [onnx.tensor("y", [2, 4])]
    weights = [onnx.weight("w", [4, 4], 1.0), onnx.weight("b", [4], 2.0)]
    a = onnx.model([onnx.node("MatMul", ["x", "w"], ["p"], "mul"), onnx.node("Add", ["p", "b"], ["s"], "add"), onnx.node("Relu", ["s"], ["y"], "relu")],
                   inputs, outputs, weights)
    b = onnx.model([onnx.node("Gemm", ["x", "w", "b"], ["s"], "gemm"), onnx.node("Relu", ["s"], ["y"], "relu")], inputs, outputs, weights)
    page = open_pair(t, a, b)
    found = rows(page)
    assert len(found) == 1 and found[0][2] == "fused", found
    assert "mul (MatMul), add (Add)" in " ".join(found[0]), found


def test_click_in_the_second_half_selects_a_node_of_b(t):
    page = open_pair(t)
    page.click("#canvas")
    page.key("Escape")
    left, top, width, height = page.box("#canvas-b")
    found = None
    for y in range(int(top) + 20, int(top + height) - 20, 12):
        page.click((left + width / 2, y))
        found = state(page)
        if found.get("node") == "new":
            break
    assert found.get("node") == "new" and found.get("graph") == "1", found
