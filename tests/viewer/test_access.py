# SPDX-License-Identifier: Apache-2.0
"""Without a mouse, without sight, without scripts."""
import re

from base_page import SHIFT
from harness import ROOT

DATA = ROOT / "tests/data/viewer"


def open_where(t, **more):
    return t.open(t.view(DATA / "net.onnx", DATA / "where.json"), **more)


def test_tab_reaches_every_part_and_comes_back(t):
    page = open_where(t)
    page.js("document.body.focus()")
    seen = []
    for _ in range(40):
        page.key("Tab")
        seen.append(page.focused())
    joined = " ".join(seen)
    for part in ("canvas", "input#find-box", "button#help-button", "select"):
        assert part in joined, (part, seen)
    page.key("Tab", SHIFT)


def test_focus_is_visible(t):
    page = open_where(t)
    for _ in range(4):
        page.key("Tab")
        outline = page.js("(() => { const s = getComputedStyle(document.activeElement); return s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0 || s.boxShadow !== 'none'; })()")
        assert outline, page.focused()


def test_screen_reader_gets_names_roles_and_tables(t):
    tree = open_where(t).aria()
    roles = {role for role, _ in tree}
    assert {"grid", "row", "tab", "tablist", "searchbox", "application", "complementary"} <= roles, roles
    nameless = [role for role, name in tree if role in ("button", "tab", "searchbox", "combobox", "checkbox", "link", "textbox") and not name.strip()]
    assert not nameless, nameless


def test_selection_is_announced(t):
    page = open_where(t)
    page.key("f")
    page.frames(2)
    assert "/layer.2/matmul" in page.text("#announcer"), page.text("#announcer")


def luminance(colour):
    parts = [int(v) / 255 for v in colour[:3]]
    r, g, b = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


CONTRASTS = """() => { const out = []; const rgb = s => (s.match(/[\\d.]+/g) || []).map(Number);
  for (const e of document.querySelectorAll('#app *')) {
    const has = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!has || !e.checkVisibility({visibilityProperty: true, opacityProperty: true}) || e.closest('canvas, svg, .unseen')) continue;
    const colour = rgb(getComputedStyle(e).color); let back = [255, 255, 255], at = e;
    for (; at; at = at.parentElement) { const c = rgb(getComputedStyle(at).backgroundColor); if (c.length === 3 || c[3] === 1) { back = c; break; } if (c[3] > 0) { back = null; break; } }
    if (back) out.push([e.localName + '.' + e.className, e.innerText.slice(0, 30), colour, back, parseFloat(getComputedStyle(e).fontSize)]);
  } return out; }"""


def test_texts_have_contrast_in_light_and_dark(t):
    for dark in (False, True):
        page = open_where(t, dark=dark)
        page.key("f")
        page.frames(2)
        poor = []
        for name, text, colour, back, size in page.run(CONTRASTS):
            high, low = sorted((luminance(colour), luminance(back)), reverse=True)
            if (high + 0.05) / (low + 0.05) < 4.5:
                poor.append((name, text, colour, back))
        assert not poor, (dark, poor[:8])


def test_page_without_scripts_has_a_table(t):
    file = t.view(DATA / "net.onnx", DATA / "where.json")
    page = t.browser.page(1000, 700)
    t.pages.append(page)
    page.allow_scripts(False)
    page.open(file.resolve().as_uri(), ready=None)
    text = " ".join(name for role, name in page.aria())
    page.allow_scripts(True)
    assert "matmul" in text.lower() or "MatMul" in text, text[:500]
    assert re.search(r"script", text, re.I), text[:300]


def test_page_works_in_a_small_window(t):
    page = open_where(t, width=900, height=560)
    assert page.js("document.documentElement.scrollWidth <= innerWidth + 1"), page.js("document.documentElement.scrollWidth")
    left, top, width, height = page.box("#canvas")
    assert width >= 200 and height >= 150, (width, height)
