# SPDX-License-Identifier: Apache-2.0
"""A small client of WebDriver BiDi, the remote protocol of Firefox. It offers what `chromium.py` does, as far as the protocol has it.

The network is off: a proxy that is not there answers for every host but this one.
"""
import base64
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from base_page import ALT, CONTROL, META, SHIFT, WATCH, BasePage, Failure, Unsupported
from websocket import WebSocket

NAMES = ("firefox-esr", "firefox")
PREFERENCES = {
    "app.update.enabled": False, "browser.shell.checkDefaultBrowser": False, "browser.startup.homepage_override.mstone": "ignore",
    "browser.aboutwelcome.enabled": False, "browser.safebrowsing.malware.enabled": False, "browser.safebrowsing.phishing.enabled": False,
    "datareporting.policy.dataSubmissionEnabled": False, "toolkit.telemetry.enabled": False, "extensions.update.enabled": False,
    "network.proxy.type": 1, "network.proxy.http": "127.0.0.1", "network.proxy.http_port": 9, "network.proxy.ssl": "127.0.0.1",
    "network.proxy.ssl_port": 9, "network.proxy.no_proxies_on": "127.0.0.1", "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False, "browser.download.folderList": 2, "browser.download.alwaysOpenPanel": False,
    "browser.download.useDownloadDir": True, "dom.events.testing.asyncClipboard": True, "ui.prefersReducedMotion": 1,
    "remote.active-protocols": 1, "gfx.color_management.mode": 0,
}
SPECIAL = {
    "Enter": "\ue007", "Escape": "\ue00c", "Tab": "\ue004", "Backspace": "\ue003", "Delete": "\ue017", "ArrowUp": "\ue013", "ArrowDown": "\ue015",
    "ArrowLeft": "\ue012", "ArrowRight": "\ue014", "Home": "\ue011", "End": "\ue010", "PageUp": "\ue00e", "PageDown": "\ue00f",
}
MODIFIERS = {SHIFT: "\ue008", CONTROL: "\ue009", ALT: "\ue00a", META: "\ue03d"}
BUTTONS = {"left": 0, "middle": 1, "right": 2}


def find_browser():
    """The path of a Firefox, or None. POLYGRAPHY_FIREFOX names another one; empty: there is none."""
    wanted = os.environ.get("POLYGRAPHY_FIREFOX")
    if wanted is not None:
        return shutil.which(wanted) if wanted else None
    return next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    has_kept_pictures = False

    def __init__(self, dark=False):
        self.program = find_browser()
        if not self.program:
            raise Failure("no Firefox found")
        self.deadline, self.is_dark, self._other = None, dark, None
        self._ids = itertools.count(1)
        self._answers, self._pages = {}, {}
        self._changed = threading.Condition()
        self._closed = False
        self._send_lock = threading.Lock()
        self.folder = tempfile.mkdtemp(prefix="pgy-browser-")
        self.downloads = os.path.join(self.folder, "downloads")
        self._start()

    def _write_profile(self):
        profile = os.path.join(self.folder, "profile")
        os.makedirs(profile)
        os.makedirs(self.downloads)
        chosen = {**PREFERENCES, "browser.download.dir": self.downloads, "layout.css.prefers-color-scheme.content-override": 0 if self.is_dark else 1}
        with open(os.path.join(profile, "user.js"), "w", encoding="utf-8") as file:
            file.writelines(f"user_pref({json.dumps(k)}, {json.dumps(v)});\n" for k, v in chosen.items())
        return profile

    def _start(self):
        command = [self.program, "--headless", "--no-remote", "--remote-debugging-port=0", "--profile", self._write_profile()]
        environment = {**os.environ, "HOME": self.folder, "TZ": "UTC", "LC_ALL": "C.UTF-8"}
        environment.pop("DISPLAY", None)
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                        errors="replace", env=environment, start_new_session=True)
        lines = []
        for line in self.process.stderr:
            lines.append(line)
            port = re.search(r"WebDriver BiDi listening on ws://127\.0\.0\.1:(\d+)", line)
            if port:
                break
        else:
            raise Failure("Firefox did not start:\n" + "".join(lines[-10:]))
        threading.Thread(target=self.process.stderr.read, daemon=True).start()  # else its messages fill the pipe
        self._socket = WebSocket(int(port.group(1)), "/session")
        threading.Thread(target=self._listen, daemon=True).start()
        self.call("session.new", capabilities={"alwaysMatch": {"acceptInsecureCerts": False, "unhandledPromptBehavior": {"default": "ignore"}}})
        self.call("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent", "browsingContext.load", "browsingContext.userPromptOpened"])

    def _listen(self):
        try:
            while True:
                self._take(json.loads(self._socket.receive()))
        except (EOFError, OSError):
            pass
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _take(self, message):
        with self._changed:
            if message.get("id") is not None:
                self._answers[message["id"]] = message
            elif message["type"] == "event":
                params = message["params"]
                page = self._pages.get(params.get("context") or params.get("source", {}).get("context"))
                if page:
                    page._event(message["method"], params)
            self._changed.notify_all()

    def time_left(self, wanted):
        left = wanted if self.deadline is None else min(wanted, self.deadline - time.monotonic())
        if left <= 0:
            raise Failure("the time limit of the test was reached")
        return left

    def wait_for(self, what, condition, seconds=10):
        with self._changed:
            if not self._changed.wait_for(lambda: self._closed or condition(), self.time_left(seconds)):
                raise Failure(f"{what}: not within {seconds} s")
            if self._closed and not condition():
                raise Failure(f"{what}: the browser ended")

    def send(self, method, **params):
        number = next(self._ids)
        with self._send_lock:
            self._socket.send(json.dumps({"id": number, "method": method, "params": params}))
        return number

    def call(self, method, seconds=30, **params):
        number = self.send(method, **params)
        self.wait_for(method, lambda: number in self._answers, seconds)
        answer = self._answers.pop(number)
        if answer["type"] == "error":
            if answer["error"] == "unknown command":
                raise Unsupported(f"this Firefox has no {method}")
            raise Failure(f"{method}: {answer['message']}")
        return answer["result"]

    def _other_scheme(self):
        """The colour scheme is a preference of the whole browser, so dark pages have a browser of their own."""
        if not self._other:
            self._other = Browser(dark=not self.is_dark)
        self._other.deadline = self.deadline
        return self._other

    def page(self, width=1200, height=800, dark=False, touch=False):
        if touch:
            raise Unsupported("WebDriver BiDi cannot make the screen a touch screen")
        if dark != self.is_dark:
            return self._other_scheme().page(width, height, dark)
        user = self.call("browser.createUserContext")["userContext"]
        context = self.call("browsingContext.create", type="tab", userContext=user)["context"]
        page = Page(self, context, user)
        with self._changed:
            self._pages[context] = page
        page._prepare(width, height)
        return page

    def close(self):
        if self._other:
            self._other.close()
        if self.process.poll() is None:
            try:
                self.send("browser.close")
                self.process.wait(10)
            except (OSError, subprocess.TimeoutExpired):
                os.killpg(self.process.pid, signal.SIGKILL)  # its own session: nothing else is in it
                self.process.wait()
        self._socket.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class Page(BasePage):
    def __init__(self, browser, context, user):
        super().__init__(browser, browser.downloads)
        self.context, self.user, self._loads = context, user, 0

    def _event(self, method, params):
        if method == "log.entryAdded" and params["level"] in ("error", "warn"):
            text = params["text"] or ""
            is_policy = "Content-Security-Policy" in text
            (self.violations if is_policy else self.errors).append(text)
        elif method == "network.beforeRequestSent":
            self.requests.append(params["request"]["url"])
        elif method == "browsingContext.load":
            self._loads += 1
        elif method == "browsingContext.userPromptOpened":
            self.errors.append("dialog: " + params["message"])
            self.browser.send("browsingContext.handleUserPrompt", context=self.context, accept=True)

    def before(self, source):
        """A script that runs before the page's own in all that is opened from now on."""
        self.call("script.addPreloadScript", functionDeclaration="() => { " + source + " }", contexts=[self.context], context=None)

    def _prepare(self, width, height):
        self.before(WATCH)
        self.resize(width, height)

    def call(self, method, **params):
        params = {"context": self.context, **params}
        if params["context"] is None:
            del params["context"]
        return self.browser.call(method, **params)

    # ---- Where it is

    def resize(self, width, height, scale=1):
        self.width, self.height = width, height
        self.call("browsingContext.setViewport", viewport={"width": width, "height": height}, devicePixelRatio=scale)

    def allow_scripts(self, allowed):
        self.call("emulation.setScriptingEnabled", context=None, contexts=[self.context], enabled=None if allowed else False)

    def open(self, url, ready="document.readyState === 'complete'", seconds=30):
        self.url = url
        self.call("browsingContext.navigate", url=url, wait="complete", seconds=seconds)
        if ready:
            self.wait(ready, seconds)

    def reload(self, ready="document.readyState === 'complete'"):
        self.call("browsingContext.reload", wait="complete")
        self.wait(ready)

    def back(self, steps=-1):
        self.call("browsingContext.traverseHistory", delta=steps)
        self.frames(2)

    # ---- Scripts

    def js(self, expression, seconds=30):
        """The value of an expression, or of its promise. An exception fails the test."""
        whole = f"(async () => JSON.stringify(await ({expression.rstrip().rstrip(';')})))()"
        answer = self.call("script.evaluate", context=None, expression=whole, target={"context": self.context}, awaitPromise=True, userActivation=True,
                           seconds=seconds)
        if answer["type"] == "exception":
            raise Failure(f"{expression[:200]}: {answer['exceptionDetails']['text']}")
        return json.loads(answer["result"]["value"]) if answer["result"]["type"] == "string" else None

    def aria(self):
        raise Unsupported("WebDriver BiDi does not give the tree that screen readers get")

    # ---- Input

    def _act(self, kind, actions, **parameters):
        source = {"type": kind, "id": kind, "actions": actions}
        if parameters:
            source["parameters"] = parameters
        self.call("input.performActions", actions=[source])

    def _hold(self, modifiers, kind):
        held = [{"type": kind, "value": value} for bit, value in MODIFIERS.items() if modifiers & bit]
        if held:
            self._act("key", held)

    def _pointer(self, actions, modifiers=0):
        self._hold(modifiers, "keyDown")
        self._act("pointer", actions, pointerType="mouse")
        self._hold(modifiers, "keyUp")

    @staticmethod
    def _to(x, y):
        return {"type": "pointerMove", "x": round(x), "y": round(y)}

    def move(self, target):
        self._pointer([self._to(*self._place(target))])
        self.frames()

    def click(self, target, count=1, modifiers=0, button="left"):
        press = [{"type": "pointerDown", "button": BUTTONS[button]}, {"type": "pointerUp", "button": BUTTONS[button]}]
        self._pointer([self._to(*self._place(target)), *press * count], modifiers)
        self.frames(2)

    def drag(self, start, end, steps=8):
        x, y = self._place(start)
        to_x, to_y = self._place(end)
        ways = [self._to(x + (to_x - x) * i / steps, y + (to_y - y) * i / steps) for i in range(1, steps + 1)]
        self._pointer([self._to(x, y), {"type": "pointerDown", "button": 0}, *ways, {"type": "pointerUp", "button": 0}])
        self.frames(2)

    def wheel(self, target, dx=0, dy=0, modifiers=0):
        x, y = self._place(target)
        self._hold(modifiers, "keyDown")
        self._act("wheel", [{"type": "scroll", "x": round(x), "y": round(y), "deltaX": round(dx), "deltaY": round(dy)}])
        self._hold(modifiers, "keyUp")
        self.frames(2)

    def key(self, name, modifiers=0):
        value = SPECIAL.get(name, name)
        self._hold(modifiers, "keyDown")
        self._act("key", [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}])
        self._hold(modifiers, "keyUp")
        self.frames(2)

    def allow_clipboard(self):
        """A preference allows it."""

    def clipboard(self):
        return self.js("navigator.clipboard.readText()")

    # ---- Pictures

    def screenshot(self, clip=None):
        """A PNG of the page, or of [left, top, width, height], or of an element."""
        params = {}
        if clip:
            left, top, width, height = self.box(clip) if isinstance(clip, str) else clip
            params["clip"] = {"type": "box", "x": left, "y": top, "width": width, "height": height}
        self.frames(2)
        return base64.b64decode(self.call("browsingContext.captureScreenshot", **params)["data"])

    def close(self):
        with self.browser._changed:
            self.browser._pages.pop(self.context, None)
        self.browser.call("browser.removeUserContext", userContext=self.user)
