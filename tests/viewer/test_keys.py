# SPDX-License-Identifier: Apache-2.0
"""Keys: the list that `?` shows is what they do."""
import re

from base_page import ALT, CONTROL, SHIFT
from harness import ROOT, go_to, selected, state

DATA = ROOT / "tests/data/viewer"


def open_where(t, **more):
    page = t.open(t.view(DATA / "net.onnx", DATA / "where.json"), **more)
    page.click("#canvas")
    page.key("Escape")
    return page


def test_question_mark_lists_keys_and_closes(t):
    page = open_where(t)
    page.key("?")
    text = page.text("#help")
    for key in ("↑", "Ctrl+F", "next failing", "Shift+Backspace"):
        assert key in text, key
    page.key("Escape")
    assert not page.is_shown("#help")


ARROWS = {"↑": "ArrowUp", "↓": "ArrowDown", "←": "ArrowLeft", "→": "ArrowRight"}


def test_each_key_of_the_list_does_something_without_an_error(t):
    page = open_where(t)
    page.allow_clipboard()
    page.key("?")
    listed = page.run("() => [...document.querySelectorAll('#help kbd')].map(k => k.innerText.trim())")
    page.key("Escape")
    keys = [k for k in listed if re.fullmatch(r"(Ctrl\+|Alt\+|Shift\+)*(\S|[A-Z][a-zA-Z]+)", k)]
    assert len(keys) > 35, keys
    for key in keys:
        *held, name = key.split("+") if not key.endswith("+") else ["+"]
        name = ARROWS.get(name, name)
        modifiers = sum({"Ctrl": CONTROL, "Alt": ALT, "Shift": SHIFT}[h] for h in held)
        go_to(page, "/layer.1/add")
        page.key(name, modifiers)
        page.key("Escape")
        assert not page.problems(), (key, page.problems())


def test_arrows_walk_along_edges(t):
    page = open_where(t)
    go_to(page, "/layer.2/add")
    page.js("document.querySelector('#canvas').focus()")
    page.key("ArrowUp")
    assert selected(page) == "/layer.2/matmul", selected(page)
    page.key("ArrowDown")
    page.key("ArrowDown")
    assert selected(page) == "/layer.2/relu", selected(page)


def test_zoom_keys_and_whole_graph(t):
    page = open_where(t)
    first = float(state(page)["z"])
    page.key("+")
    page.key("+")
    larger = float(state(page)["z"])
    page.key("-")
    smaller = float(state(page)["z"])
    page.key("0")
    assert larger > smaller > first * 0.99, (first, larger, smaller)


def test_wheel_zooms_with_control_and_moves_without(t):
    page = open_where(t)
    before = state(page)
    page.wheel("#canvas", dy=120)
    moved = state(page)
    assert float(moved["z"]) == float(before["z"]) and moved["y"] != before["y"], (before, moved)
    page.wheel("#canvas", dy=-240, modifiers=CONTROL)
    assert float(state(page)["z"]) > float(before["z"])


def test_drag_moves_the_picture(t):
    page = open_where(t)
    before = state(page)
    left, top, width, height = page.box("#canvas")
    page.drag((left + 60, top + 60), (left + 160, top + 110))
    after = state(page)
    assert int(after["x"]) < int(before["x"]) and int(after["y"]) < int(before["y"]), (before, after)


def test_switches_of_netron_work(t):
    page = open_where(t)
    for key, name in (("d", "attributes"), ("i", "weights"), ("u", "names"), ("k", "horizontal"), ("m", "zoom_by_wheel")):
        page.key(key, CONTROL)
        assert name in state(page).get("show", "").split(), (key, state(page))
        page.key(key, CONTROL)
        assert name not in state(page).get("show", "").split(), (key, state(page))


def test_ctrl_f_finds(t):
    page = open_where(t)
    page.key("f", CONTROL)
    assert page.focused().startswith("input#find"), page.focused()


def test_commands_are_copied_as_they_are_shown(t):
    page = open_where(t)
    page.allow_clipboard()
    go_to(page, "/layer.2/matmul")
    page.js("[...document.querySelectorAll('#sidebar button')].filter(b => b.innerText.trim() === 'Copy')[1].scrollIntoView()")
    place = page.run("""() => { const r = [...document.querySelectorAll('#sidebar button')].filter(b => b.innerText.trim() === 'Copy')[1].getBoundingClientRect();
        return [r.left + r.width / 2, r.top + r.height / 2]; }""")
    page.click(place)
    command = page.clipboard()
    assert command == "polygraphy surgeon extract net.onnx --outputs m2:auto -o upto.onnx", command
    t.write("net.onnx", (DATA / "net.onnx").read_bytes())
    t.run(*command.split()[1:])
    assert t.path("upto.onnx").stat().st_size > 0
