# SPDX-License-Identifier: Apache-2.0
"""The address holds the state: a reload, a link and "back" restore it."""
from harness import READY, ROOT, go_to, selected, state

DATA = ROOT / "tests/data/viewer"


def open_where(t, **more):
    return t.open(t.view(DATA / "net.onnx", DATA / "where.json"), **more)


def test_reload_restores_the_view(t):
    page = open_where(t)
    go_to(page, "/layer.2/matmul")
    page.key("c")
    page.key("+")
    page.key("+")
    before = state(page)
    assert before["node"] == "/layer.2/matmul"
    page.reload(READY)
    page.frames(4)
    assert state(page) == before
    assert selected(page) == "/layer.2/matmul"


def test_link_opens_the_same_place_in_a_new_window(t):
    page = open_where(t)
    go_to(page, "m2")
    state(page)
    other = t.open(page.js("location.href"))
    other.frames(4)
    assert selected(other) == selected(page)
    assert state(other) == state(page)


def test_back_and_forward_walk_over_selections(t):
    page = open_where(t)
    page.click("#canvas")
    page.key("Escape")
    state(page)
    names = []
    for _ in range(3):
        page.key("n")
        state(page)
        names.append(selected(page))
    page.back()
    page.wait(f"document.querySelector('#sidebar .subject')?.innerText.trim() === '{names[1]}'")
    page.back()
    page.wait(f"document.querySelector('#sidebar .subject')?.innerText.trim() === '{names[0]}'")
    page.back(1)
    page.wait(f"document.querySelector('#sidebar .subject')?.innerText.trim() === '{names[1]}'")


def test_view_of_a_table_is_in_the_address(t):
    page = open_where(t)
    state(page)
    page.click_text("[role=tab]", "Summary")
    assert state(page)["view"] == "summary"
    page.back()
    page.wait("!document.querySelector('#view-graph').hidden")


def test_link_with_a_name_alone_shows_that_node(t):
    file = t.view(DATA / "net.onnx", DATA / "where.json")
    page = t.open(file.resolve().as_uri() + "#node=%2Flayer.1%2Fmatmul")
    assert selected(page) == "/layer.1/matmul"
    assert state(page).get("at", "").endswith(".1"), "the layer is not the one that is shown"


def test_fragments_that_do_not_fit_are_left_out(t):
    file = t.view(DATA / "net.onnx", DATA / "where.json")
    for fragment in ("node=<img src=x onerror=alert(1)>", "node=%00&graph=99", "q=constructor&root=999999", "fold=0f 99999o -1i", "z=NaN&x=1e999&y=", "range=a_b",
                     "near=99999999999", "view=__proto__", "marked=1 2 3 99999999", "at=0.5 5.99999", "%E0%A4%A", "node=~5&of=7", "show=diff horizontal junk", "&&&==="):
        page = t.open(file.resolve().as_uri() + "#" + fragment)
        assert page.is_shown("#canvas") or page.is_shown(".view"), fragment
        problems = page.problems()
        assert not problems, (fragment, problems)
        t.pages.remove(page)
        page.close()


def test_a_link_to_the_timeline_opens_it_and_the_graph_behind_it(t):
    file = t.view(DATA / "net.onnx", DATA / "trace.json")
    place = lambda page: {name: value for name, value in state(page).items() if name in ("x", "y", "z")}
    wanted = place(t.open(file))
    page = t.open(file.resolve().as_uri() + "#view=timeline")
    assert page.is_shown("canvas.timeline") and not page.is_shown("#canvas")
    page.click_text("[role=tab]", "Graph")
    page.frames(3)
    assert place(page) == wanted, (place(page), wanted)


def test_a_link_to_a_timeline_that_is_not_there_opens_the_graph(t):
    page = t.open(t.view(DATA / "net.onnx").resolve().as_uri() + "#view=timeline")
    assert page.is_shown("#canvas")
