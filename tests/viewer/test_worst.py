# SPDX-License-Identifier: Apache-2.0
"""Errors on the graph: colours, legend, the worst list, and the way to the first wrong node."""
import re

from harness import ROOT, go_to, middle, selected, state

DATA = ROOT / "tests/data/viewer"


def open_where(t, **more):
    return t.open(t.view(DATA / "net.onnx", DATA / "where.json"), **more)


def worst_rows(page):
    page.wait("document.querySelectorAll('#worst tr[data-place]').length > 0")
    return page.run("() => [...document.querySelectorAll('#worst tr[data-place]')].map(r => r.innerText.split(/\\s+/))")


def chosen_row(page):
    return page.run("() => document.querySelector('#worst tr[aria-selected=true]')?.innerText.split(/\\s+/)[0] ?? null")


def test_worst_list_is_sorted_and_has_all_measured_tensors(t):
    rows = worst_rows(open_where(t))
    values = [float(r[1]) for r in rows]
    assert len(rows) == 13 and rows[0][0] == "m3", rows
    assert values == sorted(values, reverse=True), values


def test_click_in_the_list_centres_and_selects(t):
    page = open_where(t)
    page.click_text("#worst td", "m2")
    assert selected(page) == "m2"
    assert state(page)["tensor"] == "m2"
    page.key("Escape")


def test_click_in_the_graph_selects_the_row(t):
    page = open_where(t)
    go_to(page, "/layer.2/matmul")
    page.key("Escape")
    assert chosen_row(page) is None or selected(page) == "/layer.2/matmul"
    page.click(middle(page))
    assert selected(page) == "/layer.2/matmul", selected(page)
    assert chosen_row(page) == "m2"


def test_n_and_p_walk_the_worst_list(t):
    page = open_where(t)
    page.click("#canvas")
    page.key("Escape")
    seen = []
    for key in "nnnp":
        page.key(key)
        seen.append(selected(page))
    assert seen == ["m3", "m2", "y", "m2"], seen


def test_a_planted_wrong_layer_is_found_with_one_key(t):
    page = open_where(t)
    page.key("f")
    assert selected(page) == "/layer.2/matmul"
    assert "first failing" in page.text("#sidebar") or "first wrong" in page.text("#sidebar")


def test_a_planted_wrong_layer_is_found_with_one_click(t):
    page = open_where(t)
    page.click_text("#legend button", page.run("() => [...document.querySelectorAll('#legend button')].map(b => b.innerText.trim()).find(s => /first failing/.test(s))"))
    assert "/layer.2/matmul" in (selected(page) or "") or "1 found" in page.text("#hits"), page.text("#hits")


def test_legend_tells_zero_from_not_measured(t):
    page = open_where(t)
    text = page.text("#legend")
    assert "zero" in text and "not measured" in text and "log" in text.lower(), text


def test_c_changes_the_quantity_and_the_list(t):
    page = open_where(t)
    page.click("#canvas")
    page.key("Escape")
    seen = [state(page).get("q")]
    for _ in range(4):
        page.key("c")
        seen.append(state(page).get("q"))
    assert len(set(seen)) >= 4, seen
    page.key("C", modifiers=8)
    assert state(page).get("q") == seen[-2], seen


def test_range_of_the_colours_can_be_set(t):
    page = open_where(t)
    page.click("#legend input")
    page.key("a", modifiers=2)
    page.type("0.001")
    page.key("Enter")
    assert state(page).get("range", "").startswith("0.001_"), state(page)


def is_about(a, b):
    """Texts such as 6.8e-8 and 6.75e-8, with the same unit if they have one."""
    (x, unit), (y, other) = (re.fullmatch(r"([-+.e\d]+)\s*(.*)", text.replace("µ", "u").replace("×", "")).groups() for text in (a, b))
    return unit == other and abs(float(x) - float(y)) <= 0.01 * abs(float(y))


def test_range_of_the_colours_is_that_of_the_drawing(t):
    """The same cards have the same colours in the page and in a drawing: both take the range of what is shown."""
    files = [DATA / "net.onnx", DATA / "where.json", DATA / "trace.json"]
    file = t.view(*files)
    data = t.data(file)
    page = t.open(f"{file.resolve().as_uri()}#at={data['graph-0']['container']['kind'].index(2)}.0")  # a drawing shows the first instance of a repeat
    quantities = [q for q in data["results"]["quantities"] if q["graph"] == 0 and q["scale"] != "category"]
    assert {q["id"] for q in quantities} >= {"error", "made", "time"}
    for index, q in enumerate(quantities):
        page.run("(label) => { const s = document.querySelector('#quantity-choice'); s.value = [...s.options].find((o) => o.textContent === label).value;"
                 " s.dispatchEvent(new Event('change', {bubbles: true})); }", q["label"])
        page.frames(3)
        ends = page.js("[...document.querySelectorAll('#legend input.range')].map((i) => i.title.split('; ')[1])")
        drawing = t.view(*files, options=["--quantity", q["id"]], name=f"{index}.svg").read_text()
        texts = re.findall(r'font-size="9.5"[^>]*>([^<]*)<', drawing)
        assert len(ends) == 2 and all(is_about(a, b) for a, b in zip(ends, (texts[0], texts[2]))), (q["id"], ends, texts)


def test_range_of_the_colours_follows_what_is_shown(t):
    page = open_where(t)
    ends = "[...document.querySelectorAll('#legend input.range')].map((i) => Number(i.value))"
    assert state(page).get("q") == "error"
    before = page.js(ends)
    page.key("[")
    page.frames(4)
    folded = page.js(ends)
    assert before[1] == folded[1], "what is worst has the same colour, folded or not"
    assert before != folded, (before, folded)


def test_colours_differ_where_errors_do(t):
    import png
    page = open_where(t)
    page.click("#canvas")
    page.key("Escape")
    page.key("]")
    page.key("0")
    page.frames(3)
    shades = [c for c, n in png.colours(page.screenshot("#canvas")) if n > 300]
    assert len(shades) >= 4, shades


def test_values_equal_those_of_the_file(t):
    import json
    listed = dict((r[0], float(r[1])) for r in worst_rows(open_where(t)))
    text = json.dumps(json.loads((DATA / "where.json").read_text()))
    for name in ("m2", "m3"):
        assert listed[name] > 0
        assert re.search(rf'"{name}"', text)


def test_table_of_errors_links_back(t):
    page = open_where(t)
    page.click_text("[role=tab]", "Where errors start")
    page.click_text("#view-table td *", "m2")
    assert selected(page) == "m2"
