# SPDX-License-Identifier: Apache-2.0
"""A narrow window: nothing lies outside, and everything can be reached."""
from harness import ROOT

DATA = ROOT / "tests/data/viewer"

OUTSIDE = """[...document.querySelectorAll('#toolbar *, #sidebar, #list, #legend, #zoom, .menu *')].filter((e) => {
    const box = e.getBoundingClientRect();
    return box.width > 0 && !e.closest('.unseen, details:not([open]) > :not(summary)') && (box.left < -0.5 || box.right > innerWidth + 0.5);
}).map((e) => e.tagName + ' ' + (e.id || e.className || e.textContent))"""


def open_where(t, width, **more):
    return t.open(t.view(DATA / "net.onnx", DATA / "where.json", DATA / "trace.json"), width=width, height=700, **more)


def test_bar_and_panels_fit_into_the_window(t):
    for width in (860, 640, 360):
        page = open_where(t, width)
        assert page.js(OUTSIDE) == [], (width, page.js(OUTSIDE))
        assert page.js("document.documentElement.scrollWidth") <= width
        left, top, wide, high = page.box("#canvas")
        assert wide >= min(width, 300) and high >= 220, (width, wide, high)
        assert len(page.texts("#views [role=tab]")) >= 4


def test_menus_open_inside_the_window(t):
    for width in (640, 360):
        page = open_where(t, width)
        for menu in ("#switches", "#export"):
            page.click(menu + " summary")
            assert page.js(OUTSIDE) == [], (width, menu, page.js(OUTSIDE))
            page.click(menu + " summary")


def test_details_open_below_the_picture(t):
    page = open_where(t, 360)
    assert not page.is_shown("#sidebar .sidebar-content")
    page.key("g")
    page.type("/layer.2/matmul")
    page.key("Enter")
    page.wait("document.querySelector('#sidebar .subject')?.innerText.trim() === '/layer.2/matmul'")
    assert page.box("#sidebar")[1] >= page.box("#canvas")[1] + page.box("#canvas")[3] - 1
    assert page.box("#sidebar")[2] == 360
    page.click("#sidebar .close")
    assert not page.is_shown("#sidebar .sidebar-content")
    assert page.js("document.activeElement.textContent") == "Details", "the focus is lost"
    page.click_text("#sidebar button", "Details")
    assert page.is_shown("#sidebar .subject")


def test_views_can_be_read_in_a_narrow_window(t):
    page = open_where(t, 360)
    for tab in page.texts("#views [role=tab]"):
        page.click_text("#views [role=tab]", tab)
        page.frames(3)
        assert page.js("document.documentElement.scrollWidth") <= 360, tab
        assert page.js("[...document.querySelectorAll('.view')].every((v) => v.hidden || v.getBoundingClientRect().height > 200)"), tab
