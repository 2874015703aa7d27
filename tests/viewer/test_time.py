# SPDX-License-Identifier: Apache-2.0
"""The timeline and the steps of a search: linked with the graph both ways. The blocks are put into a page by hand, so that each slice is known."""
import json
import re


def with_blocks(t, **blocks):
    """A page of a small model with further blocks of data."""
    path = t.view(t.example("nan_source.onnx"))
    text = path.read_text(encoding="utf-8")
    escape = lambda value: json.dumps(value).replace("<", "\\u003c")
    found = re.search(r'(<script type="application/json" id="pgy-head">)(.*?)(</script>)', text, re.S)
    head = json.loads(found.group(2))
    head["blocks"] += list(blocks)
    more = "".join(f'<script type="application/json" id="pgy-{name}">{escape(block)}</script>' for name, block in blocks.items())
    text = text[:found.start()] + found.group(1) + escape(head) + found.group(3) + more + text[found.end():]
    path.write_text(text, encoding="utf-8")
    return t.open(path, 1400, 900)


def node_index(t, name):
    graph = t.data(t.path("page.html"))["graph-0"]
    return next(i for i, s in enumerate(graph["node"]["name"]) if graph["strings"][s] == name)


def timeline(nodes, runs=2, synthetic=False):
    """Runs of 100 us; in each, one layer of 10 us for each node, and a kernel in the first layer."""
    rows, start, duration, name, category, node, run = [], [], [], [], [], [], []
    strings = ["", "iteration", "layer", "kernel", "run", "k<b>1"]

    def add(*values):
        for column, value in zip((rows, start, duration, name, category, node, run), values):
            column.append(value)

    for r in range(runs):
        add(0, 100 * r, 95, 4, 1, -1, r)
        for i, n in enumerate(nodes):
            add(1, 100 * r + 10 * i, 10, 2, 2, n, r)
        add(1, 100 * r + 2, 5, 5, 3, nodes[0], r)
    return {"source": "test", "synthetic": synthetic, "note": None, "rows": [{"process": "runner", "name": "iterations"}, {"process": "runner", "name": "layers"}],
            "strings": strings, "slice": {"row": rows, "start": start, "duration": duration, "name": name, "category": category, "node": node, "run": run}}


def test_slice_selects_its_node_and_the_graph_its_slice(t):
    page = with_blocks(t, timeline=timeline([3, 4, 5]))
    names = t.data(t.path("page.html"))["graph-0"]
    name = lambda n: names["strings"][names["node"]["name"][n]]
    page.click("[data-view=timeline]")
    page.frames(3)
    page.js("document.querySelector('canvas.timeline').focus()")
    page.key("ArrowDown")  # the first slice: the run, which has no node
    page.key("ArrowDown")  # the layer below it
    page.key("ArrowRight")
    page.frames(2)
    assert page.text("#sidebar .subject") == name(4), page.text("#sidebar .subject")
    page.key("Enter")
    page.frames(3)
    assert page.attribute("[data-view=graph]", "aria-selected") == "true"
    page.click_text("#sidebar button", "Timeline")
    page.frames(3)
    assert page.is_shown("canvas.timeline")
    page.js("document.querySelector('canvas.timeline').focus()")
    page.key("ArrowRight")
    page.frames(2)
    assert page.text("#sidebar .subject") == name(5), "the slice of the selected node is the current one"


def test_pointer_finds_slices_and_wheel_zooms(t):
    page = with_blocks(t, timeline=timeline([3, 4, 5], synthetic=True))
    page.click("[data-view=timeline]")
    page.frames(3)
    assert "Synthetic" in page.text("#view-timeline")
    left, top, width, _ = page.box("canvas.timeline")
    layers = top + 22 + 18 + 20 + 10  # axis, process, first row, half a row
    at = lambda us: left + 200 + (width - 200) * us / 195
    page.move([at(15), layers])
    page.frames(2)
    assert page.is_shown("#view-timeline .tip")
    assert "at 10 µs" in page.text("#view-timeline .tip") and "iteration 0" in page.text("#view-timeline .tip"), page.text("#view-timeline .tip")
    page.move([at(4), layers + 20])
    page.frames(2)
    assert "k<b>1" in page.text("#view-timeline .tip"), "the kernel lies below its layer, and its name is text"
    page.move([at(15) + 80, layers])
    page.frames(2)
    assert "at 10 µs" not in page.text("#view-timeline .tip"), "80 pixels to the right is another slice"
    for _ in range(4):
        page.wheel([at(15), layers], dy=-1200)
        page.frames(2)
    page.move([at(15), layers])
    page.move([at(15) + 80, layers])
    page.frames(2)
    assert "at 10 µs" in page.text("#view-timeline .tip"), "zoomed in, it is the same slice: " + page.text("#view-timeline .tip")


def test_timeline_as_a_table(t):
    page = with_blocks(t, timeline=timeline([3, 4, 5]))
    page.click("[data-view=timeline]")
    page.frames(3)
    page.click_text("#view-timeline button", "As a table")
    page.frames(2)
    assert page.text("#view-timeline .grid-bar .count") == "10 rows"
    page.click("#view-timeline .filter")
    page.type("kind:layer iteration=1")
    page.frames(2)
    assert page.text("#view-timeline .grid-bar .count") == "3 of 10 rows"


def test_many_slices_pan_without_a_pause(t):
    count = 100000
    many = {"source": "test", "synthetic": False, "note": None, "rows": [{"process": "", "name": "a"}, {"process": "", "name": "b"}], "strings": ["", "x"],
            "slice": {"row": [i % 2 for i in range(2 * count)], "start": [i // 2 * 10 for i in range(2 * count)], "duration": [9] * (2 * count), "name": [1] * (2 * count),
                      "category": [0] * (2 * count), "node": [-1] * (2 * count), "run": [-1] * (2 * count)}}
    page = with_blocks(t, timeline=many)
    page.click("[data-view=timeline]")
    page.frames(3)
    median = page.js("""new Promise((done) => {
        const canvas = document.querySelector('canvas.timeline');
        const times = []; let frames = 0, last = performance.now();
        const step = () => {
            const now = performance.now();
            times.push(now - last);
            last = now;
            if (++frames > 20) return done(times.sort((a, b) => a - b)[10]);
            canvas.dispatchEvent(new WheelEvent('wheel', {deltaX: frames % 2 ? 30 : -20, bubbles: true, cancelable: true}));
            requestAnimationFrame(step);
        };
        step();
    })""")
    assert median < 100, f"half of the frames took more than {median:.0f} ms"


def test_steps_of_a_search_are_those_of_the_data(t):
    steps = [{"title": "nodes 0 to 8", "verdict": "fail", "detail": "exit status 1", "nodes": [2, 3, 4, 5], "seconds": 1.25},
             {"title": "<b>half</b>", "verdict": "pass", "detail": "", "nodes": [2, 3], "seconds": None},
             {"title": "one", "verdict": "skip", "detail": "cannot be cut here", "nodes": [4], "seconds": 0.5}]
    page = with_blocks(t, search={"title": "debug reduce", "found": "node 4 alone fails", "steps": steps})
    page.click("[data-view=search]")
    page.frames(2)
    rows = page.texts("#view-search tbody tr")
    assert len(rows) == 3
    assert "fails" in rows[0] and "exit status 1" in rows[0] and "4 nodes" in rows[0] and "1.25" in rows[0], rows[0]
    assert "passes" in rows[1] and "<b>half</b>" in rows[1] and "–" in rows[1], rows[1]
    assert "skipped" in rows[2] and "cannot be cut here" in rows[2], rows[2]
    assert "node 4 alone fails" in page.text("#view-search .banner")
    page.click_text("#view-search .link", "Show")
    page.frames(3)
    assert page.attribute("[data-view=graph]", "aria-selected") == "true"
