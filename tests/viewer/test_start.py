# SPDX-License-Identifier: Apache-2.0
"""The first picture comes before the panels: keys work at once, and the picture stays where it is."""
from harness import READY, ROOT, state

DATA = ROOT / "tests/data/viewer"
PICTURE = "document.body.dataset.ready === 'true'"

# After the first picture no frame begins until the test says so: the panels wait for frames.
HOLD = """const next = window.requestAnimationFrame.bind(window), held = [];
window.requestAnimationFrame = (f) => document.body && document.body.dataset.ready && held ? held.push(f) : next(f);
window.pgyTestRelease = () => { window.requestAnimationFrame = next; for (const f of held.splice(0)) next(f); };"""


def open_picture(t, width=1200, height=800, fragment=""):
    """A page that has its first picture and no panels."""
    page = t.browser.page(width, height)
    t.pages.append(page)
    page.before(HOLD)
    page.open(t.view(DATA / "net.onnx", DATA / "where.json").resolve().as_uri() + fragment, PICTURE)
    assert page.js("document.body.dataset.panels === undefined"), "the panels are there already"
    return page


def press(page, key):
    """A key without the frame that the browser's protocol waits for."""
    page.run("(key) => document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}))", key)


def release(page):
    page.js("window.pgyTestRelease()")
    page.wait(READY)
    page.frames(2)


def test_key_before_the_panels_makes_what_it_needs(t):
    page = open_picture(t)
    press(page, "/")
    assert page.focused() == "input#find-box", page.focused()
    release(page)
    page.type("/layer.2/matmul")
    page.key("Enter")
    page.wait("document.querySelector('#sidebar .subject')?.innerText.trim() === '/layer.2/matmul'")


def test_keys_and_clicks_before_the_panels_are_not_lost(t):
    page = open_picture(t)
    press(page, "c")
    press(page, "ArrowDown")
    page.js("document.querySelector('#zoom-in').click()")
    page.js("document.querySelector('#help-button').click()")
    assert page.js("document.querySelector('#help').open")
    page.js("document.querySelector('#help').close()")
    release(page)
    now = state(page)
    assert now["node"] == "x" and now["q"] == "passed", now
    assert page.text("#sidebar .subject").strip() == "x"


def test_picture_stays_where_it_is_when_the_panels_come(t):
    for width in (1400, 900):
        page = open_picture(t, width, 700)
        before = page.box("#canvas")
        picture = page.js("document.querySelector('#canvas').toDataURL()")
        release(page)
        assert page.box("#canvas") == before, width
        assert page.js("document.querySelector('#canvas').toDataURL()") == picture, width


def test_link_to_a_table_shows_no_picture_first(t):
    page = open_picture(t, fragment="#view=where")
    assert not page.is_shown("#canvas") and page.is_shown("#view-table")
    release(page)
    assert page.texts("#view-table tbody tr[data-place]")
