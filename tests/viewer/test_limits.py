# SPDX-License-Identifier: Apache-2.0
"""Large graphs: the first picture, moving, and no long block. The limits are those of a quiet machine, with room for a busy one."""
import random

import onnx_file as onnx


def generated(count, seed=1):
    """Nodes that read one of the last ten outputs, without names that could fold."""
    r = random.Random(seed)
    made, nodes = ["x"], []
    for i in range(count):
        op = ("Relu", "Tanh", "Add", "Mul", "Sigmoid")[r.randrange(5)]
        inputs = [made[-1]] + ([made[-min(len(made), r.randrange(1, 10))]] if op in ("Add", "Mul") else [])
        nodes.append(onnx.node(op, inputs, [f"t{i}"], f"n{i}"))
        made.append(f"t{i}")
    return onnx.model(nodes, [onnx.tensor("x", [4])], [onnx.tensor(made[-1], [4])])


def first_picture(t, count, limit_s):
    page = t.open(t.view(t.model("m.onnx", generated(count))))
    seconds = page.js("performance.getEntriesByName('first-picture')[0]?.startTime ?? performance.now()") / 1000
    assert seconds < limit_s, f"{count} nodes: {seconds:.2f} s"
    return page


def test_first_picture_of_500_nodes(t):
    first_picture(t, 500, 2)


def test_first_picture_of_5000_nodes(t):
    first_picture(t, 5000, 5)


def test_first_picture_of_50000_nodes_and_moving_in_it(t):
    page = first_picture(t, 50000, 20)
    longest = page.js("""new Promise(done => { const c = document.querySelector('#canvas'), r = c.getBoundingClientRect(); let last = performance.now(), worst = 0, n = 0;
        const step = () => { const now = performance.now(); worst = Math.max(worst, now - last); last = now;
            c.dispatchEvent(new WheelEvent('wheel', {deltaY: 60, clientX: r.left + 200, clientY: r.top + 200, bubbles: true, cancelable: true}));
            if (++n < 60) requestAnimationFrame(step); else done(worst); };
        requestAnimationFrame(step); })""")
    assert longest < 1000, f"a frame took {longest:.0f} ms"


test_first_picture_of_50000_nodes_and_moving_in_it.limit_s = 120
