# SPDX-License-Identifier: Apache-2.0
"""The query language: the number of hits of each form."""
from harness import ROOT, state

DATA = ROOT / "tests/data/viewer"
QUERIES = [  # of 13 nodes: MatMul, Add, Relu of layers 0 to 3, and Softmax; and of the cards of input and output
    ("op:MatMul", 4), ("op:mat*", 4), ("matmul", 4), ("layer.2", 3), ("layer.2 relu", 1), ('"/softmax"', 1), ("-op:Add op:*", 11), ("op:Add OR op:Relu", 8),
    ("(op:Add OR op:Relu) layer.1", 2), ("name:layer.3", 3), ("shape:2x8", 15), ("dtype:float32", 15), ("dtype:float16", 0), ("first", 1), ("err>1e-3", 8),
    ("err>1e-3 op:Add", 2), ("weight:w2", 1), ("nothing-has-this-name", 0),
]


def hits(page):
    return int(page.text("#hits").split(" found")[0].split()[-1].replace(",", ""))


def test_queries_find_what_the_list_of_keys_says(t):
    page = t.open(t.view(DATA / "net.onnx", DATA / "where.json"))
    wrong = []
    for query, wanted in QUERIES:
        page.key("Escape")
        page.key("Escape")
        page.key("/")
        assert page.focused().startswith("input"), page.focused()
        page.key("a", modifiers=2)
        page.key("Backspace")
        page.type(query)
        page.js("new Promise(done => setTimeout(() => done(true), 200))")
        found = hits(page)
        if found != wanted:
            wrong.append((query, found, wanted))
    assert not wrong, wrong


def test_enter_goes_to_the_first_hit_and_escape_ends(t):
    page = t.open(t.view(DATA / "net.onnx"))
    page.key("/")
    page.type("softmax")
    page.key("Enter")
    assert state(page).get("node") == "/softmax", state(page)
    page.key("Escape")
    page.key("Escape")
    page.key("Escape")
    assert "find" not in state(page)


def test_broken_queries_say_what_is_wrong(t):
    page = t.open(t.view(DATA / "net.onnx"))
    for query in ("(", "op:", '"open', "err>", "AND", "a OR", ")", "-", "shape:x", "((((((((((" * 20):
        page.key("/")
        page.key("a", modifiers=2)
        page.key("Backspace")
        page.type(query[:40])
        page.js("new Promise(done => setTimeout(() => done(true), 150))")
        page.key("Escape")
    assert not page.problems()
