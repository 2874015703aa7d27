# SPDX-License-Identifier: Apache-2.0
"""A small client of Chromium's DevTools protocol, over a pipe: no port, no packages.

    with Browser() as browser:
        page = browser.page(1200, 800)
        page.open("file:///tmp/page.html")
        page.click("#find input")
        page.type("conv")
        assert page.js("document.title") == "model"

The network is off: names do not resolve, and only 127.0.0.1 answers. A page keeps what went wrong in it: exceptions, messages of the console,
violations of its Content-Security-Policy, and every request beyond itself.
"""
import base64
import fcntl
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from base_page import ALT, CONTROL, META, WATCH, BasePage, Failure, guess_key

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = (
    "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--no-default-browser-check", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-extensions", "--disable-default-apps", "--disable-dev-shm-usage",
    "--disable-features=Translate,OptimizationHints,MediaRouter", "--metrics-recording-only", "--mute-audio", "--hide-scrollbars",
    "--force-color-profile=srgb", "--font-render-hinting=none", "--disable-lcd-text", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--proxy-server=direct://", "--disable-gpu",
)


def find_browser():
    """The path of a Chromium, or None. POLYGRAPHY_BROWSER names another one; empty: there is none."""
    wanted = os.environ.get("POLYGRAPHY_BROWSER")
    if wanted is not None:
        return shutil.which(wanted) if wanted else None
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    has_kept_pictures = True

    def __init__(self, program=None, flags=()):
        self.program = program or find_browser()
        if not self.program:
            raise Failure("no Chromium found; install it with tools/setup browser")
        self.deadline = None
        self._ids = itertools.count(1)
        self._answers, self._pages = {}, {}
        self._changed = threading.Condition()
        self._closed = False
        self._send_lock = threading.Lock()
        self.folder = tempfile.mkdtemp(prefix="pgy-browser-")
        self._start(list(flags))

    def _start(self, flags):
        command = [self.program, *FLAGS, "--user-data-dir=" + os.path.join(self.folder, "profile"), *flags]
        if os.geteuid() == 0:
            command.append("--no-sandbox")
        read_end, self._write = os.pipe()
        self._read, write_end = os.pipe()
        # Both ends move out of the way of 3 and 4 first, which may be among them.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (read_end, write_end)]

        def connect():
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        environment = {**os.environ, "HOME": self.folder, "TZ": "UTC", "LC_ALL": "C.UTF-8"}
        environment.pop("DISPLAY", None)
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, pass_fds=(3, 4),
                                        preexec_fn=connect, env=environment, start_new_session=True)
        for end in (read_end, write_end, *ends):
            os.close(end)
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        rest = b""
        while True:
            try:
                data = os.read(self._read, 1 << 16)
            except OSError:
                data = b""
            if not data:
                break
            *messages, rest = (rest + data).split(b"\0")
            for text in messages:
                self._take(json.loads(text))
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _take(self, message):
        with self._changed:
            if "id" in message:
                self._answers[message["id"]] = message
            else:
                page = self._pages.get(message.get("sessionId"))
                if page:
                    page._event(message["method"], message["params"])
            self._changed.notify_all()

    def time_left(self, wanted):
        left = wanted if self.deadline is None else min(wanted, self.deadline - time.monotonic())
        if left <= 0:
            raise Failure("the time limit of the test was reached")
        return left

    def wait_for(self, what, condition, seconds=10):
        """Waits until condition(), which the listener's news may change, is true."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._closed or condition(), self.time_left(seconds)):
                raise Failure(f"{what}: not within {seconds} s")
            if self._closed and not condition():
                raise Failure(f"{what}: the browser ended")

    def send(self, method, session=None, **params):
        number = next(self._ids)
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        text = json.dumps(message).encode() + b"\0"
        with self._send_lock:
            while text:
                text = text[os.write(self._write, text):]
        return number

    def call(self, method, session=None, seconds=30, **params):
        number = self.send(method, session, **params)
        self.wait_for(method, lambda: number in self._answers, seconds)
        answer = self._answers.pop(number)
        if "error" in answer:
            raise Failure(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def page(self, width=1200, height=800, dark=False, touch=False):
        context = self.call("Target.createBrowserContext", disposeOnDetach=True)["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context, width=width, height=height)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, context, os.path.join(self.folder, "downloads-" + context))
        with self._changed:
            self._pages[session] = page
        page._prepare(width, height, dark, touch)
        return page

    def close(self):
        if self.process.poll() is None:
            try:
                self.send("Browser.close")
                self.process.wait(5)
            except (OSError, subprocess.TimeoutExpired):
                os.killpg(self.process.pid, signal.SIGKILL)  # its own session: nothing else is in it
                self.process.wait()
        os.close(self._write)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Page(BasePage):
    def __init__(self, browser, session, context, downloads):
        super().__init__(browser, downloads)
        self.session, self.context = session, context
        self._events = []

    # ---- Events

    def _event(self, method, params):
        self._events.append(method)
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "assert", "warning"):
            self.errors.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            entry = params["entry"]
            is_policy = entry["source"] == "security" or "Content Security Policy" in entry["text"]
            (self.violations if is_policy else self.errors).append(f"{entry['source']}: {entry['text']} {entry.get('url', '')}")
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Page.javascriptDialogOpening":
            self.errors.append("dialog: " + params["message"])
            self.browser.send("Page.handleJavaScriptDialog", self.session, accept=True)

    def before(self, source):
        """A script that runs before the page's own in all that is opened from now on."""
        self.call("Page.addScriptToEvaluateOnNewDocument", source=source)

    def _prepare(self, width, height, dark, touch):
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.call(domain + ".enable")
        self.before(WATCH)
        self.resize(width, height)
        self.media(dark=dark)
        if touch:
            self.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
        os.makedirs(self.downloads, exist_ok=True)
        self.browser.call("Browser.setDownloadBehavior", behavior="allow", browserContextId=self.context, downloadPath=self.downloads)

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    # ---- Where it is

    def resize(self, width, height, scale=1):
        self.width, self.height = width, height
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def media(self, dark=False, reduced_motion=True, print_=False):
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                    {"name": "prefers-reduced-motion", "value": "reduce" if reduced_motion else "no-preference"}]
        self.call("Emulation.setEmulatedMedia", media="print" if print_ else "", features=features)

    def allow_scripts(self, allowed):
        self.call("Emulation.setScriptExecutionDisabled", value=not allowed)

    def open(self, url, ready="document.readyState === 'complete'", seconds=30):
        self.url = url
        self._events.clear()
        answer = self.call("Page.navigate", url=url, seconds=seconds)
        if answer.get("errorText"):
            raise Failure(f"{url}: {answer['errorText']}")
        if "loaderId" in answer:  # else only the fragment changed
            self.browser.wait_for("load of the page", lambda: "Page.loadEventFired" in self._events, seconds)
        if ready:
            self.wait(ready, seconds)

    def reload(self, ready="document.readyState === 'complete'"):
        self._events.clear()
        self.call("Page.reload")
        self.browser.wait_for("load of the page", lambda: "Page.loadEventFired" in self._events)
        self.wait(ready)

    def back(self, steps=-1):
        self.js(f"history.go({int(steps)})")
        self.frames(2)

    # ---- Scripts

    def js(self, expression, seconds=30):
        """The value of an expression, or of its promise. An exception fails the test."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, userGesture=True, seconds=seconds)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Failure(f"{expression[:200]}: {details.get('exception', {}).get('description') or details['text']}")
        return answer["result"].get("value")

    def aria(self):
        """What a screen reader gets: [(role, name)], without what is ignored."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes if not n["ignored"] and "role" in n]

    # ---- Input

    def _mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def move(self, target):
        x, y = self._place(target)
        self._mouse("mouseMoved", x, y)
        self.frames()

    def click(self, target, count=1, modifiers=0, button="left"):
        """Clicks an element (selector) or a place (x, y)."""
        x, y = self._place(target)
        self._mouse("mouseMoved", x, y, modifiers=modifiers)
        for i in range(1, count + 1):
            self._mouse("mousePressed", x, y, button=button, clickCount=i, modifiers=modifiers, buttons=1)
            self._mouse("mouseReleased", x, y, button=button, clickCount=i, modifiers=modifiers)
        self.frames(2)

    def drag(self, start, end, steps=8):
        x, y = self._place(start)
        to_x, to_y = self._place(end)
        self._mouse("mouseMoved", x, y)
        self._mouse("mousePressed", x, y, button="left", clickCount=1, buttons=1)
        for i in range(1, steps + 1):
            self._mouse("mouseMoved", x + (to_x - x) * i / steps, y + (to_y - y) * i / steps, button="left", buttons=1)
        self._mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)
        self.frames(2)

    def wheel(self, target, dx=0, dy=0, modifiers=0):
        x, y = self._place(target)
        self._mouse("mouseWheel", x, y, deltaX=dx, deltaY=dy, modifiers=modifiers)
        self.frames(2)

    def key(self, name, modifiers=0):
        """Presses a key by the name that events give it: "a", "?", "ArrowDown"."""
        code, number = guess_key(name)
        writes = len(name) == 1 and not modifiers & (CONTROL | ALT | META)
        text = name if writes else "\r" if name == "Enter" else ""
        common = {"key": name, "code": code, "windowsVirtualKeyCode": number, "modifiers": modifiers}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)
        self.frames(2)

    def clipboard(self):
        self.browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"], browserContextId=self.context)
        return self.js("navigator.clipboard.readText()")

    def allow_clipboard(self):
        self.browser.call("Browser.grantPermissions", permissions=["clipboardReadWrite", "clipboardSanitizedWrite"], browserContextId=self.context)

    # ---- Pictures

    def screenshot(self, clip=None):
        """A PNG of the page, or of [left, top, width, height], or of an element."""
        params = {"format": "png"}
        if clip:
            left, top, width, height = self.box(clip) if isinstance(clip, str) else clip
            params["clip"] = {"x": left, "y": top, "width": width, "height": height, "scale": 1}
        self.frames(2)
        return base64.b64decode(self.call("Page.captureScreenshot", **params)["data"])

    def close(self):
        with self.browser._changed:
            self.browser._pages.pop(self.session, None)
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)
