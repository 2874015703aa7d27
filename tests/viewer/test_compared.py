# SPDX-License-Identifier: Apache-2.0
"""Two models with results of both: each side has its own values, and the merged picture those of both."""
from harness import ROOT

DATA = ROOT / "tests/data/viewer"


def test_times_of_both_models_are_shown_side_by_side_and_merged(t):
    page = t.open(t.view(DATA / "net.onnx", DATA / "net_wrong.onnx", DATA / "trace_a.json", options=["--results-of", f"b={DATA / 'trace_b.json'}"]))
    chosen = "document.querySelector('#quantity-choice').selectedOptions[0]?.textContent"
    names = page.js("[...document.querySelectorAll('#quantity-choice option')].map((o) => o.textContent)")
    assert "time, median, of B" in " ".join(names) and "time, median, B / A" in " ".join(names), names
    page.run("() => { const s = document.querySelector('#quantity-choice'); s.value = [...s.options].find((o) => o.textContent.includes('B / A')).value;"
             " s.dispatchEvent(new Event('change', {bubbles: true})); }")
    page.frames(4)
    assert "/layer.2/matmul" in page.text("#worst"), page.text("#worst")
    page.click("#canvas")
    page.key("Escape")
    page.key("d")
    page.frames(4)
    assert "B / A" in page.js(chosen), page.js(chosen)  # the merged picture keeps the quantity
    page.click("[data-view=compared]")
    page.frames(4)
    rows = page.run("() => [...document.querySelectorAll('#view-table tr[data-place]')].map(r => r.innerText)")
    assert "/layer.2/matmul" in rows[0] and "slower" in rows[0], rows[:2]
