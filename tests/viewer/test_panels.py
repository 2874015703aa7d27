# SPDX-License-Identifier: Apache-2.0
"""The panels of the page: find, the worst list, tables, sidebars, legend, exports, help; with the mouse and with the keyboard alone."""
import json
import re

SELECTED = "#sidebar .subject"


def judged(t, model="transformer_block.onnx", options=()):
    """A page with the errors of all tensors of a model between two runners."""
    path = t.model(model, None)
    t.run("run", path, "--opref", "--trt", "--onnx-outputs", "mark", "all", "--trt-outputs", "mark", "all", "--save-accuracy-results", "acc.json",
          "--save-outputs", "out.json", status=None)
    return t.open(t.view(path, t.path("acc.json"), t.path("out.json"), options=options), 1400, 900)


def broken(t):
    """A page of a model that makes an infinite value, with the report that names the node."""
    path = t.model("nan_source.onnx", None)
    t.run("where", path, "--a", "opref", "--b", "trt", "--json", "where.json", status=None)
    return t.open(t.view(path, t.path("where.json")), 1400, 900)


def find(page, query):
    page.click("#find-box")
    page.js("document.querySelector('#find-box').value = ''")
    page.type(query)
    page.key("Enter")
    page.frames(2)


# ---- Find

def test_find_lists_marks_and_goes(t):
    page = judged(t)
    find(page, "op:MatMul")
    assert page.text("#hits .count") == "7 found", page.text("#hits .count")
    first = page.texts("#hits .hit")[0]
    assert page.text(SELECTED) in first, (page.text(SELECTED), first)
    page.key("ArrowDown")
    page.key("Enter")
    page.frames(2)
    assert page.text(SELECTED) in page.texts("#hits .hit")[1]
    page.key("Escape")
    page.frames(2)
    assert not page.is_shown("#hits")


def test_find_by_error_finds_what_the_table_says(t):
    page = judged(t)
    rows = {row[0][1]: row[2] for row in t.data(t.path("page.html"))["table-accuracy"]["rows"]}
    expected = sum(1 for value in rows.values() if isinstance(value, (int, float)) and value > 1e-7)
    find(page, "err>1e-7 is:node")
    assert page.text("#hits .count") == f"{expected} found", (page.text("#hits .count"), expected)


def test_a_wrong_query_says_where(t):
    page = judged(t)
    find(page, "op:MatMul err>x")
    assert "Character 15" in page.text("#find-problem"), page.text("#find-problem")
    assert page.text("#find-problem mark") == "x"
    assert page.attribute("#find-box", "aria-invalid") == "true"


# ---- Worst list

def test_three_clicks_to_the_node_that_is_wrong(t):
    page = broken(t)
    assert page.is_shown("#worst"), "a page with errors opens with the list of the worst"
    page.click("#worst tr[data-place='0']")
    page.frames(2)
    assert page.text(SELECTED) == "scale", page.text(SELECTED)
    page.click_text("#sidebar .link", "scale")
    page.frames(2)
    assert "first failing" in page.text("#sidebar") or "beyond tolerance" in page.text("#sidebar"), page.text("#sidebar")


def test_worst_list_follows_the_selection_and_n_and_p_step(t):
    page = judged(t)
    names = page.texts("#worst tr[data-place] td:first-child")
    page.click("#canvas")
    page.key("Escape")
    page.key("n")
    page.frames(3)
    assert page.text(SELECTED) == names[0], (page.text(SELECTED), names[0])
    page.key("n")
    page.frames(3)
    assert page.text("#worst tr[aria-selected='true'] td:first-child") == names[1]
    page.key("p")
    page.frames(3)
    assert page.text(SELECTED) == names[0]


# ---- Tables

def test_table_is_walked_with_the_keyboard_alone(t):
    page = judged(t)
    page.js("document.querySelector('[data-view=accuracy]').focus()")
    page.key("Enter")
    page.frames(2)
    page.js("document.querySelector('#view-table .grid-scroll').focus()")
    page.key("ArrowDown")
    page.key("ArrowDown")
    page.frames(2)
    row = page.js("document.getElementById(document.activeElement.getAttribute('aria-activedescendant')).getAttribute('aria-rowindex')")
    assert row == "3", row
    name = page.text("#view-table tr[aria-selected='true'] td:first-child")
    page.key("Enter")
    page.frames(2)
    assert page.attribute("[data-view=graph]", "aria-selected") == "true"
    assert page.text(SELECTED) == name


def test_table_sorts_and_filters(t):
    page = judged(t)
    page.click("[data-view=accuracy]")
    page.frames(2)
    page.click_text("#view-table th button", "max abs error")
    page.frames(2)
    values = [float(v.replace("\u202f", "")) for v in page.texts("#view-table tr[data-place] td:nth-child(3)")]
    assert values == sorted(values, reverse=True) and values[0] > values[-1], values
    assert page.attribute("#view-table th:nth-child(3)", "aria-sort") == "descending"
    page.click("#view-table .filter")
    page.type("tensor:norm max_abs_error=0")
    page.frames(2)
    shown = page.texts("#view-table tr[data-place] td:first-child")
    assert shown and all("norm" in name for name in shown), shown
    assert page.text("#view-table .count") == f"{len(shown)} of 32 rows"


def test_table_as_csv_equals_the_table(t):
    page = judged(t)
    page.click("[data-view=accuracy]")
    page.frames(2)
    text, name = page.download(lambda: page.click_text("#view-table .grid-bar button", "CSV"))
    assert name == "accuracy.csv"
    lines = text.decode().split("\r\n")
    rows = t.data(t.path("page.html"))["table-accuracy"]["rows"]
    assert lines[0].startswith("tensor,verdict,max abs error")
    assert len(lines) == len(rows) + 2
    for line, row in zip(lines[1:], rows):
        assert line.startswith(f"{row[0][1]},{row[1]},"), (line, row)
        assert float(line.split(",")[2]) == row[2]


# ---- Sidebar

def test_statistics_of_a_tensor_equal_the_data(t):
    page = judged(t, options=("--embed-values", "64K"))
    data = t.data(t.path("page.html"))
    graph = data["graph-0"]
    tensor = next(i for i, name in enumerate(graph["tensor"]["name"]) if graph["strings"][name] == "y")
    stats = data[f"stats-{tensor // 256}"][tensor % 256]
    page.click_text("#worst td", "y")
    page.wait("document.querySelector('#sidebar table.sides') !== null")
    cells = {row[0]: row[1:] for row in (re.split(r"\t+|\n", line) for line in page.texts("#sidebar table.sides tbody tr")) if row}
    assert float(cells["max"][0]) == round(stats["a"]["max"], 7) or abs(float(cells["max"][0]) - stats["a"]["max"]) < 1e-6 * abs(stats["a"]["max"])
    assert cells["elements"][0].replace("\u202f", "") == str(stats["a"]["count"])
    assert page.exists("#sidebar svg.chart[role=img]") and page.exists("#sidebar canvas.plane")
    saved, name = page.download(lambda: page.click_text("#sidebar button", "Save A.npy"))
    assert name == "y_A.npy" and saved[:6] == b"\x93NUMPY" and b"'descr': '<f4'" in saved


def test_a_page_without_values_says_so(t):
    page = judged(t)
    page.click_text("#worst td", "scores")
    page.wait("document.querySelector('#sidebar').textContent.includes('only the summary')")


# ---- Legend, exports, help

def test_range_of_the_colours_can_be_set_and_taken_back(t):
    page = judged(t)
    before = page.js("document.querySelector('#legend input.range').value")
    page.js("(() => { const i = document.querySelector('#legend input.range'); i.focus(); i.select(); })()")
    page.type("1e-9")
    page.key("Enter")
    page.frames(3)
    assert page.js("document.querySelector('#legend input.range').value") == "1e-9"
    page.click_text("#legend button", "Automatic")
    page.frames(3)
    assert page.js("document.querySelector('#legend input.range').value") == before


def test_quantity_is_switched_with_a_key(t):
    page = judged(t)
    first = page.js("document.querySelector('#quantity-choice').value")
    page.click("#canvas")
    page.key("c")
    page.frames(2)
    second = page.js("document.querySelector('#quantity-choice').value")
    assert first != second
    assert page.text("#worst h2") == page.js("document.querySelector('#quantity-choice').selectedOptions[0].textContent")


def test_picture_is_saved_as_svg_with_its_texts(t):
    page = broken(t)
    page.click("#export summary")
    svg, name = page.download(lambda: page.click_text("#export button", "Whole graph as SVG"))
    svg = svg.decode()
    assert name == "nan_source.onnx.svg", name
    assert svg.startswith("<?xml") and ">ReduceMean</text>" in svg and ">Inf</text>" in svg
    assert "<script" not in svg


def test_report_of_a_bug_names_node_error_and_command(t):
    page = broken(t)
    page.allow_clipboard()
    page.click("#export summary")
    page.click_text("#export button", "Copy text for a bug report")
    page.wait("document.querySelector('#announcer').textContent === 'Copied'")
    text = page.clipboard()
    assert "First failing node: Add scale" in text, text
    assert "error, of the largest magnitude: Inf" in text, text
    assert "polygraphy view nan_source.onnx where.json" in text, text


def test_netron_attachment_has_the_errors(t):
    page = broken(t)
    page.click("#export summary")
    saved = json.loads(page.download(lambda: page.click_text("#export button", "Netron attachment"))[0])
    assert saved["signature"] == "netron:attachment"
    errors = {metric["target"]: metric["value"] for metric in saved["metrics"] if metric["kind"] == "value" and metric["name"].startswith("error")}
    assert errors["scale"] == "Inf" and errors["mean"] == 0, errors


def test_help_lists_keys_and_queries_and_closes(t):
    page = judged(t)
    page.click("#canvas")
    page.key("?")
    page.frames(2)
    assert page.is_shown("#help")
    keys = page.texts("#help kbd")
    for key in ("/", "n", "p", "f", "c", "d", "[", "]", "0", "?"):
        assert key in keys, (key, keys)
    assert "err>1e-3" in page.text("#help")
    page.key("Escape")
    page.frames(2)
    assert not page.is_shown("#help")


def test_screen_readers_get_tables_with_rows_and_headers(t):
    page = judged(t)
    page.click("[data-view=accuracy]")
    page.frames(2)
    roles = page.aria()
    assert ("grid", "Errors of tensors") in roles, [r for r in roles if r[0] in ("grid", "table")]
    assert any(role == "columnheader" and name.startswith("tensor") for role, name in roles)
    assert any(role in ("cell", "gridcell") and name == "scores" for role, name in roles)
    assert any(role == "tab" and name == "Errors of tensors" for role, name in roles)
    assert page.attribute("#view-table .grid-scroll", "aria-rowcount") == "33"
