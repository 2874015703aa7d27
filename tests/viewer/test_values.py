# SPDX-License-Identifier: Apache-2.0
"""Values in a served page: pictures of weights and of runs' outputs, fetched in pieces, and saved as files."""
import onnx_file as onnx


def served(t, model, *files, options=()):
    address, _ = t.serve(model, *files, options=("--no-browser", *options))
    return t.open(address, 1400, 900)


def two_runs(t):
    path = t.model("transformer_block.onnx", None)
    t.run("run", path, "--opref", "--trt", "--onnx-outputs", "mark", "all", "--trt-outputs", "mark", "all", "--save-outputs", "out.json", status=None)
    return served(t, path, t.path("out.json"))


def caption(page):
    page.wait("document.querySelector('#sidebar canvas.plane') !== null")
    return page.text("#sidebar .plane-box + .note")


def test_weight_is_fetched_when_it_is_looked_at(t):
    nodes = [onnx.node("MatMul", ["x", "blk/w"], ["y"], "product")]
    model = t.model("big.onnx", onnx.model(nodes, [onnx.tensor("x", [1, 300])], [onnx.tensor("y", [1, 400])], [onnx.weight("blk/w", [300, 400])]))
    page = served(t, model)
    assert not any("values" in request for request in page.requests), page.requests
    page.click("#find-box")
    page.type("product")
    page.key("Enter")
    page.frames(3)
    page.click_text("#sidebar .ports .link", "blk/w")
    assert caption(page).startswith("256 rows, 256 columns, between"), caption(page)
    page.js("(() => { const i = document.querySelector(\"#sidebar input[aria-label^='First column']\"); i.value = '256'; i.dispatchEvent(new Event('input', {bubbles: true})); })()")
    page.wait("document.querySelector('#sidebar .plane-box + .note').textContent.includes('144 columns')")
    assert "from row 0 and column 256" in caption(page)
    saved, name = page.download(lambda: page.click_text("#sidebar button", "Save A.npy"))
    assert name == "blk_w_A.npy" and saved[:6] == b"\x93NUMPY" and b"(300, 400)" in saved[:128] and len(saved) == 128 + 4 * 300 * 400


def test_outputs_of_both_runners_and_their_difference(t):
    page = two_runs(t)
    page.click_text("#worst td", "y")
    assert caption(page).startswith("1 row, 8 columns, between"), caption(page)
    first = caption(page)
    page.js("(() => { const c = document.querySelector(\"#sidebar select[aria-label='Values shown']\"); c.selectedIndex = 2; c.dispatchEvent(new Event('input', {bubbles: true})); })()")
    page.wait(f"document.querySelector('#sidebar .plane-box + .note').textContent !== {first!r}")
    assert "e-" in caption(page), caption(page)
    assert page.attribute("#sidebar canvas.plane", "aria-label").startswith("B \u2212 A of y"), page.attribute("#sidebar canvas.plane", "aria-label")


def test_node_is_saved_as_a_model(t):
    page = two_runs(t)
    page.click("#find-box")
    page.type("op:Softmax")
    page.key("Enter")
    page.wait("[...document.querySelectorAll('#sidebar a.link')].some((a) => a.textContent === 'Save this node as a model')")
    saved, name = page.download(lambda: page.click_text("#sidebar a.link", "Save this node as a model"))
    assert name == "part.onnx"
    t.write("part.onnx", saved)
    assert "1 Node(s)" in t.run("inspect", "model", "part.onnx", "--show", "layers")
