# SPDX-License-Identifier: Apache-2.0
"""Names from a model are text, whatever is in them."""
import re

import hostile
import onnx_file as onnx

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


def open_hostile(t, **more):
    return t.open(t.view(t.model("hostile.onnx", hostile.model())), **more)


def test_no_payload_runs_and_the_page_is_intact(t):
    page = open_hostile(t)
    clean = t.open(t.view(t.example("attention.onnx"), name="clean.html"))
    assert page.js("window.owned") is None
    count = "[...document.querySelectorAll('script:not([type=\"application/json\"])')].length"
    assert page.js(count) == clean.js(count)
    for selector in ("iframe", "object", "embed", "img", "link", "base", "form"):
        assert page.js(f"document.querySelectorAll('{selector}').length") == clean.js(f"document.querySelectorAll('{selector}').length"), selector


def test_all_names_are_in_the_data(t):
    data = t.data(t.view(t.model("hostile.onnx", hostile.model())))
    graph = data["graph-0"]
    names = {graph["strings"][i] for i in graph["node"]["name"]}
    for name in hostile.NAMES:
        if isinstance(name, str):
            assert name in names, repr(name[:80])


def test_names_that_are_no_utf8_are_repaired(t):
    data = t.data(t.view(t.model("hostile.onnx", hostile.model())))
    strings = data["graph-0"]["strings"]
    broken = [n for n in hostile.NAMES if isinstance(n, bytes)]
    for name in broken:
        plain = re.search(rb"[a-z]{3,}", name).group(0).decode()
        assert any(plain in s and "\ufffd" in s for s in strings), name


def test_no_name_ends_a_block_of_data(t):
    text = t.view(t.model("hostile.onnx", hostile.model())).read_bytes()
    for block in re.findall(rb'<script type="application/json" id="pgy-[^"]+">(.*?)</script>', text, re.S):
        assert not re.search(rb"[<>&]|\xe2\x80[\xa8\xa9]", block)


def test_titles_and_file_names_are_text(t):
    title = "</title><script>window.owned=1</script>"
    model = t.model("a<b>&'\"c.onnx", onnx.chain(["Relu"]))
    page = t.open(t.view(model, options=["--title", title]))
    assert page.js("document.title").startswith(title), page.js("document.title")
    assert page.js("window.owned") is None
    page = t.open(t.view(model, name="second.html"))
    assert page.js("document.title").startswith("a<b>&'\"c.onnx")


def test_names_are_text_in_small_models_too(t):
    """Folded as they are in a page of their own: the first of each is the graph's name, an input's dimension and a producer."""
    for i in range(0, len(hostile.NAMES), 6):
        page = t.open(t.view(t.model(f"h{i}.onnx", hostile.model(hostile.NAMES[i:i + 6])), name=f"h{i}.html"))
        assert page.js("window.owned") is None, i
