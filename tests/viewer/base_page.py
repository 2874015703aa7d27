# SPDX-License-Identifier: Apache-2.0
"""What a page of a browser offers to the tests, apart from the protocol of the browser.

`chromium.py` and `firefox.py` add js(), click(), drag(), wheel(), move(), key(), screenshot() and the life of a page.
"""
import json
import os
import time

SHIFT, CONTROL, ALT, META = 8, 2, 1, 4
KEYS = {  # name: code, number
    "Enter": ("Enter", 13), "Escape": ("Escape", 27), "Tab": ("Tab", 9), "Backspace": ("Backspace", 8), "Delete": ("Delete", 46), " ": ("Space", 32),
    "ArrowUp": ("ArrowUp", 38), "ArrowDown": ("ArrowDown", 40), "ArrowLeft": ("ArrowLeft", 37), "ArrowRight": ("ArrowRight", 39),
    ".": ("Period", 190), ",": ("Comma", 188), "/": ("Slash", 191), "?": ("Slash", 191), "-": ("Minus", 189), "=": ("Equal", 187), "+": ("Equal", 187),
    "[": ("BracketLeft", 219), "]": ("BracketRight", 221),
    "Home": ("Home", 36), "End": ("End", 35), "PageUp": ("PageUp", 33), "PageDown": ("PageDown", 34),
}


class Failure(AssertionError):
    """What a test reports as its reason."""


class Failure(AssertionError):
    """What a test reports as its reason."""


class Unsupported(Exception):
    """What a browser's protocol does not offer. The test is skipped, and says why."""


def guess_key(name):
    """The code and the number of a key by the name that events give it."""
    is_plain = len(name) == 1 and name.isascii() and name.isalnum()
    guess = ("Key" + name.upper() if name.isalpha() else "Digit" + name, ord(name.upper())) if is_plain else ("", 0)
    return KEYS.get(name, guess)


class BasePage:
    def __init__(self, browser, downloads):
        self.browser, self.downloads = browser, downloads
        self.errors = []      # exceptions and errors of the console
        self.violations = []  # of the Content-Security-Policy
        self.requests = []    # addresses, in order
        self.url = None

    def outside_requests(self):
        """Requests beyond the page itself. Addresses with data in them are none."""
        own = self.url.split("#")[0] if self.url else None
        return [u for u in self.requests if u.split("#")[0] != own and not u.startswith(("data:", "blob:", "about:"))]

    def problems(self):
        return [*self.errors, *("policy: " + v for v in [*self.violations, *self.js("window.pgyTestViolations || []")])]

    # ---- Scripts

    def run(self, function, *arguments):
        """Calls a function of JavaScript with values as arguments."""
        return self.js(f"({function})({', '.join(map(json.dumps, arguments))})")

    def wait(self, expression, seconds=10):
        """Waits until an expression is true; gives its value."""
        end = time.monotonic() + self.browser.time_left(seconds)
        while True:
            value = self.js(expression)
            if value:
                return value
            if time.monotonic() > end:
                raise Failure(f"not true within {seconds} s: {expression}")
            time.sleep(0.02)

    def frames(self, count=1):
        """Waits until the page was drawn."""
        for _ in range(count):
            self.js("new Promise(done => requestAnimationFrame(() => done(true)))")

    # ---- What it shows

    def exists(self, selector):
        return self.run("s => !!document.querySelector(s)", selector)

    def is_shown(self, selector):
        return self.run("s => { const e = document.querySelector(s); return !!e && e.checkVisibility({visibilityProperty: true}); }", selector)

    def text(self, selector):
        """The text of an element as it is shown."""
        value = self.run("s => { const e = document.querySelector(s); return e ? e.innerText : null; }", selector)
        if value is None:
            raise Failure(f"the page has no element {selector}")
        return value

    def texts(self, selector):
        return self.run("s => [...document.querySelectorAll(s)].map(e => e.innerText)", selector)

    def attribute(self, selector, name):
        return self.run("(s, n) => document.querySelector(s)?.getAttribute(n)", selector, name)

    def box(self, selector):
        """Left, top, width, height of an element, which is scrolled into view."""
        box = self.run("""s => { const e = document.querySelector(s); if (!e) return null; e.scrollIntoView({block: 'nearest', inline: 'nearest'});
            const r = e.getBoundingClientRect(); return [r.left, r.top, r.width, r.height]; }""", selector)
        if not box:
            raise Failure(f"the page has no element {selector}")
        return box

    # ---- Input

    def _place(self, target):
        if not isinstance(target, str):
            return target
        left, top, width, height = self.box(target)
        return left + width / 2, top + height / 2

    def click_text(self, selector, text, seconds=3):
        """Clicks the first shown element with exactly this text or label, as soon as there is one."""
        find = """(s, t) => { for (const e of document.querySelectorAll(s)) {
            if (e.innerText.trim() !== t && e.getAttribute('aria-label') !== t && e.value !== t || !e.checkVisibility()) continue;
            e.scrollIntoView({block: 'nearest', inline: 'nearest'}); const r = e.getBoundingClientRect(); return [r.left + r.width / 2, r.top + r.height / 2]; } return null; }"""
        try:
            place = self.wait(f"({find})({json.dumps(selector)}, {json.dumps(text)})", seconds)
        except Failure:
            raise Failure(f"no {selector} with the text '{text}', among {self.texts(selector)[:20]}") from None
        self.click(place)

    def type(self, text):
        """Types into what has the focus."""
        for c in text:
            self.key(c)

    def focused(self):
        """Selector-like name of what has the focus: "button#help-button"."""
        return self.js("""(() => { const e = document.activeElement; if (!e) return ''; const c = typeof e.className === 'string' ? e.className : '';
            return e.localName + (e.id ? '#' + e.id : '') + (c ? '.' + c.split(/\\s+/).join('.') : ''); })()""")

    def download(self, action, seconds=15):
        """Runs action(), and gives the bytes and name of the file that the page saves."""
        before = set(os.listdir(self.downloads))
        action()
        end = time.monotonic() + self.browser.time_left(seconds)
        while time.monotonic() < end:
            new = [f for f in set(os.listdir(self.downloads)) - before if not f.endswith((".crdownload", ".tmp", ".part")) and not f.startswith(".")]
            path = os.path.join(self.downloads, new[0]) if new else ""
            if new and os.path.getsize(path) > 0:  # an empty file holds the name until the other is whole
                with open(path, "rb") as file:
                    return file.read(), new[0]
            time.sleep(0.05)
        raise Failure(f"the page saved no file within {seconds} s")


# Violations are events of the document, too: those of inline styles write nothing to the log.
WATCH = """window.pgyTestViolations = [];
document.addEventListener('securitypolicyviolation', e => window.pgyTestViolations.push(e.violatedDirective + ' ' + e.blockedURI + ' ' + e.sample));
window.addEventListener('unhandledrejection', e => console.error('unhandled: ' + (e.reason && e.reason.stack || e.reason)));"""
