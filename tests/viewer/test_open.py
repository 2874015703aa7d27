# SPDX-License-Identifier: Apache-2.0
"""The page as a file: it opens without a network, asks for nothing, and breaks no rule of its policy."""
import re
import socket

import onnx_file as onnx


def test_page_opens_from_a_file_without_a_network(t):
    page = t.open(t.view(t.example("transformer_block.onnx")))
    assert page.js("document.title").startswith("transformer_block.onnx")
    assert not [r for r in page.requests if r != page.url and not r.startswith("data:")], page.requests
    assert page.js("performance.getEntriesByType('resource').length") == 0


def test_policy_forbids_everything_from_outside(t):
    page = t.open(t.view(t.example("attention.onnx")))
    policy = page.attribute("meta[http-equiv='Content-Security-Policy']", "content")
    assert "default-src 'none'" in policy, policy
    assert "unsafe" not in policy, policy
    assert "http" not in re.sub(r"https?-equiv", "", policy), policy


def test_policy_stops_scripts_and_pictures_that_are_not_the_pages_own(t):
    t.allow("policy: |inline script|request: http://127")
    page = t.open(t.view(t.example("attention.onnx")))
    with socket.create_server(("127.0.0.1", 0)) as server:
        page.js("(() => { const s = document.createElement('script'); s.textContent = 'window.owned = 1'; document.body.append(s); })()")
        page.js("(() => { const e = document.createElement('div'); e.setAttribute('onclick', 'window.owned = 2'); document.body.append(e); e.click(); })()")
        page.js(f"(() => {{ const i = new Image(); i.src = 'http://127.0.0.1:{server.getsockname()[1]}/x.png'; }})()")
        page.wait("window.pgyTestViolations.length >= 3")
        server.settimeout(0.3)
        try:
            server.accept()
        except TimeoutError:
            pass
        else:
            raise AssertionError("the page asked for a picture of another place")
    assert page.js("window.owned") is None


def test_file_has_no_address_of_another_place(t):
    text = t.view(t.example("digits.onnx")).read_text(encoding="utf-8")
    outside = re.findall(r"""(?:src|href)\s*=\s*["']?(?!#|data:)[^"'>\s]+""", text.split("<script", 1)[0])
    assert not outside, outside
    assert re.findall("<link[^>]*>", text.split("<script", 1)[0]) == ['<link rel="icon" href="data:,">']


def test_blocks_of_data_are_json(t):
    data = t.data(t.view(t.example("digits.onnx")))
    assert set(data["head"]["blocks"]) <= set(data), data["head"]["blocks"]
    assert data["head"]["version"] == 1
    assert data["graph-0"]["node"]["name"], "no nodes"


def test_page_opens_without_the_file_of_its_weights(t):
    nodes = [onnx.node("MatMul", ["x", "w"], ["y"], "product")]
    model = t.model("away.onnx", onnx.model(nodes, [onnx.tensor("x", [1, 4])], [onnx.tensor("y", [1, 4])], [onnx.weight("w", [4, 4], location="gone.bin")]))
    page = t.open(t.view(model))
    assert page.js("document.title").startswith("away.onnx")


def test_dark_and_light_follow_the_system(t):
    file = t.view(t.example("attention.onnx"))
    shades = []
    for dark in (False, True):
        page = t.open(file, dark=dark)
        colour = page.js("getComputedStyle(document.body).backgroundColor")
        shades.append(sum(map(int, re.findall(r"\d+", colour)[:3])))
    assert shades[0] > 600 and shades[1] < 200, shades
