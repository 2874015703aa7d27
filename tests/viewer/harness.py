# SPDX-License-Identifier: Apache-2.0
"""What a test of the page gets: `t` makes pages with the program, opens them, and knows their parts.

    def test_name_is_the_title(t):
        page = t.open(t.view(t.model("m.onnx", onnx_file.chain(["Relu"]))))
        assert page.text("#title") == "m.onnx"

Each test has an empty folder and pages of its own. When it ends, exceptions, messages of the console, violations of the policy and requests beyond
the page fail it; `t.allow` takes those that a test provokes.
"""
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import time
import urllib.parse

import png
from base_page import Failure, Unsupported

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples/models"
READY = "document.body.dataset.ready === 'true' && document.body.dataset.panels === 'true'"  # the first picture is drawn, and the panels are there
SCREENSHOTS = ROOT / "tests/viewer/screenshots"


class Test:
    def __init__(self, program, browser, folder, accept=False, results=None):
        self.program, self.browser, self.folder, self.accept = program, browser, pathlib.Path(folder), accept
        self.results = pathlib.Path(results) if results else self.folder
        self.pages, self.processes, self.allowed = [], [], []

    # ---- Files

    def path(self, name):
        return self.folder / name

    def write(self, name, data):
        path = self.path(name)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return path

    def model(self, name, data):
        """A model of the bytes that onnx_file made, or a copy of one of examples/models."""
        return self.write(name, data) if data else shutil.copy(EXAMPLES / name, self.path(name))

    def example(self, name):
        return EXAMPLES / name

    def run(self, *arguments, status=0):
        """Runs the program in the test's folder; gives what it printed."""
        command = [str(self.program), *map(str, arguments)]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, errors="replace", timeout=self.browser.time_left(300))
        if status is not None and done.returncode != status:
            raise Failure(f"{' '.join(command)}: exit status {done.returncode}, expected {status}\n{(done.stdout + done.stderr)[-2000:]}")
        return done.stdout + done.stderr

    def view(self, *files, options=(), name="page.html"):
        """A page of these files, as a file."""
        self.run("view", *files, *options, "-o", name)
        return self.path(name)

    def data(self, page):
        """The blocks of a page that is a file: {"head": ..., "graph-0": ...}."""
        text = pathlib.Path(page).read_text(encoding="utf-8")
        blocks = re.findall(r'<script type="application/json" id="pgy-([^"]+)">(.*?)</script>', text, re.S)
        return {html.unescape(name): json.loads(body) for name, body in blocks}

    def serve(self, *files, options=()):
        """Starts a server; gives its address and the process."""
        environment = {**os.environ, "BROWSER": "true"}
        process = subprocess.Popen([str(self.program), "view", *map(str, files), "--serve", *options], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
        self.processes.append(process)
        lines = []
        for line in process.stdout:
            lines.append(line)
            found = re.search(r"http://127\.0\.0\.1:\d+\S*", line)
            if found:
                return found.group(0).rstrip(".,;'\""), process
        raise Failure("the server printed no address:\n" + "".join(lines))

    # ---- Pages

    def open(self, place, width=1200, height=800, dark=False, ready=READY, **more):
        """Opens a file or an address, and waits until the page is there."""
        page = self.browser.page(width, height, dark, **more)
        self.pages.append(page)
        address = place if isinstance(place, str) and place.startswith(("http:", "file:")) else pathlib.Path(place).resolve().as_uri()
        page.open(address)
        page.wait(ready)
        page.frames(2)
        return page

    def allow(self, pattern):
        """Problems that match are what the test provokes."""
        self.allowed.append(re.compile(pattern))

    def problems(self):
        found = []
        for page in self.pages:
            found += page.problems()
            if page.url and page.url.startswith("file:"):
                found += ["request: " + r[:200] for r in page.outside_requests()]
        return [p for p in found if not any(a.search(p) for a in self.allowed)]

    def expect_picture(self, page, name, clip=None, share=0.004):
        """Compares with a kept screenshot: at most this share of pixels may differ. `run --accept` keeps new ones, for a person to look at."""
        if not self.browser.has_kept_pictures:
            raise Unsupported("the kept pictures are Chromium's")
        taken = page.screenshot(clip)
        kept = SCREENSHOTS / (name + ".png")
        if self.accept:
            SCREENSHOTS.mkdir(exist_ok=True)
            width, height, rows = png.decode(taken)
            kept.write_bytes(png.encode(width, height, rows))
            return
        if not kept.exists():
            raise Failure(f"{kept.relative_to(ROOT)} is missing: run with --accept, and look at it")
        differs, where = png.difference(kept.read_bytes(), taken)
        if differs <= share:
            return
        (self.results / (name + ".new.png")).write_bytes(taken)
        if isinstance(where, bytes):
            (self.results / (name + ".where.png")).write_bytes(where)
            where = f"{self.results}/{name}.where.png shows where"
        raise Failure(f"picture {name}: {differs:.2%} of the pixels differ, at most {share:.2%} may; {where}")

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(5)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            process.stdout.close()
        for page in self.pages:
            page.close()


def state(page):
    """What the address says of the page's state: {"node": "conv1", "q": "maxabs", ...}. It follows changes after a quarter of a second, so it is read
    until it stays."""
    read = None
    for _ in range(10):
        page.frames(2)
        page.js("new Promise(done => setTimeout(() => done(true), 350))")
        before, read = read, page.js("location.hash")
        if before == read:
            break
    return dict(urllib.parse.parse_qsl(read.lstrip("#"), keep_blank_values=True))


def selected(page):
    """The name of what is selected, as the details show it; None: nothing."""
    page.frames(2)
    return page.text("#sidebar .subject").strip() if page.exists("#sidebar .subject") else None


def go_to(page, name):
    """Selects a node or tensor by its name, as key `g` does; the picture has the focus then."""
    page.js("document.querySelector('#canvas').focus()")
    page.key("Escape")
    page.key("Escape")
    page.key("g")
    page.wait("document.activeElement.id === 'find-box'")
    page.type(name)
    page.key("Enter")
    page.wait(f"document.querySelector('#sidebar .subject')?.innerText.trim() === {json.dumps(name)}")
    page.key("Escape")
    page.js("document.querySelector('#canvas').focus()")
    page.frames(3)


def middle(page, selector="#canvas"):
    left, top, width, height = page.box(selector)
    return left + width / 2, top + height / 2


def wait_until(condition, what, seconds=10):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise Failure(f"{what}: not within {seconds} s")
        time.sleep(0.02)
