#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The model page in Chromium, Netron beside it: viewer_page.py PROGRAM [--netron PYTHON] [MODEL.onnx...]; needs onnx and Chromium

PROGRAM is polygraphy, PYTHON one that has netron. Without models: generated ones of 500, 5000 and 50000 nodes, in scopes whose blocks differ. Each
page is opened in a new process of the browser, in turns with Netron's, and the median of the runs is printed. All times are Chromium's own:

    make      the time of `polygraphy view MODEL -o page.html`; Netron needs no such step
    picture   from the start of the navigation to the first frame with the graph
    block     the longest task of the page's main thread, from the start of the navigation on
    pan, zoom frames per second while the wheel turns for two seconds, and the longest time between two frames
"""
import argparse
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import onnx
from onnx import TensorProto, helper

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests/viewer"))
from base_page import Failure  # noqa: E402
from chromium import Browser  # noqa: E402

# A frame callback that sees the picture runs before this frame is shown, so the next callback sets the mark.
# The page is ready when its first picture is drawn; Netron when its graph has nodes and its message of welcome is gone.
OURS = "document.body && document.body.dataset.ready === 'true'"
NETRON = "document.body && document.querySelector('#canvas .node, .canvas .node, g.node') && !document.body.classList.contains('welcome')"
WATCH = """(() => { const seen = () => { if (%s) requestAnimationFrame(() => performance.mark('picture'));
    else requestAnimationFrame(seen); }; seen(); })()"""
FRAMES = """(() => { window.pgyFrames = []; const step = (t) => { window.pgyFrames.push(t); if (window.pgyFrames) requestAnimationFrame(step); };
    requestAnimationFrame(step); return true; })()"""
CATEGORIES = "blink.user_timing,devtools.timeline,disabled-by-default-devtools.timeline"


def generate(path, count, seed=1):
    """Blocks of 6 to 20 nodes with one or two branches, in scopes of up to 12 blocks."""
    rng, nodes, last, block = random.Random(seed), [], "x", 0
    while len(nodes) < count:
        scope, first = f"/stage{block // 12}/block{block}", last
        for i in range(rng.randint(6, 20)):
            kind = rng.choice(("Relu", "Sigmoid", "Tanh", "Abs", "Neg", "Exp", "Add"))
            name = f"{scope}/{kind}_{i}"
            nodes.append(helper.make_node(kind, [last, first] if kind == "Add" else [last], [name + "_out"], name=name))
            last = name + "_out"
            if rng.random() < 0.2:
                first = last
        block += 1
    shape = [1, 64]
    graph = helper.make_graph(nodes, f"{count} nodes", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
                              [helper.make_tensor_value_info(last, TensorProto.FLOAT, shape)])
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)


def trace_of(page):
    """Starts to collect trace events; the list that it gives is whole after `stop_trace`."""
    events, listen = [], page._event

    def take(method, params):
        if method == "Tracing.dataCollected":
            events.extend(params["value"])
        listen(method, params)

    page._event = take
    page.call("Tracing.start", transferMode="ReportEvents", traceConfig={"includedCategories": CATEGORIES.split(",")})
    return events


def stop_trace(page):
    page._events.clear()
    page.call("Tracing.end")
    page.browser.wait_for("end of the trace", lambda: "Tracing.tracingComplete" in page._events, 60)


def frames_while(page, action, seconds=2):
    page.js(FRAMES)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        action()
        time.sleep(1 / 60)
    times = page.js("(() => { const t = window.pgyFrames; window.pgyFrames = null; return t; })()")
    gaps = [b - a for a, b in zip(times, times[1:])]
    return (1000 * len(gaps) / (times[-1] - times[0]), max(gaps)) if gaps else (0.0, seconds * 1000)


def look(url, ready, limit, zoom_key, cookie=None):
    """Figures of one visit; None: no picture within the limit."""
    with Browser() as browser:
        page = browser.page(1400, 900)
        page.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH % ready)
        if cookie:
            page.call("Network.setCookie", name=cookie, value="1", url=url)
        events = trace_of(page)
        try:
            page.open(url, ready, seconds=limit)
            page.wait("performance.getEntriesByName('picture').length > 0", limit)
        except Failure:
            return None
        stop_trace(page)
        start = min(e["ts"] for e in events if e["name"] == "navigationStart" and url.split("#")[0] in str(e.get("args")))
        picture = min(e["ts"] for e in events if e["name"] == "picture" and e["ts"] > start)
        main = {e["pid"]: e["tid"] for e in events if e["name"] == "navigationStart" and e["ts"] == start}
        block = max((e.get("dur", 0) for e in events if e["name"] == "RunTask" and main.get(e["pid"]) == e["tid"] and e["ts"] >= start), default=0)
        middle, turn = (700, 500), [0]

        def wheel(modifiers):
            turn[0] += 1
            page.wheel(middle, 0, 60 if turn[0] // 20 % 2 == 0 else -60, modifiers)

        pan, zoom = frames_while(page, lambda: wheel(0)), frames_while(page, lambda: wheel(zoom_key))
        return {"picture": (picture - start) / 1000, "block": block / 1000, "pan": pan, "zoom": zoom}


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def look_at_ours(program, model, folder, limit):
    page = os.path.join(folder, "page.html")
    start = time.perf_counter()
    subprocess.run([program, "view", model, "-o", page], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    made = (time.perf_counter() - start) * 1000
    figures = look("file://" + page, OURS, limit, 2)
    return figures and {**figures, "make": made, "bytes": os.path.getsize(page)}


def look_at_netron(python, model, limit):
    port = free_port()
    code = f"import netron, time; netron.start({model!r}, address=('127.0.0.1', {port}), browse=False); time.sleep(1e6)"
    server = subprocess.Popen([python, "-c", code], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        return look(f"http://127.0.0.1:{port}/", NETRON, limit, 2, "consent")  # it asks for consent before it shows a model
    finally:
        server.kill()
        server.wait()


def line(name, runs, limit):
    runs = [r for r in runs if r]
    if not runs:
        return f"{name:12} no picture within {limit:.0f} s"

    def median(get):
        return statistics.median(get(r) for r in runs)

    text = f"{name:12} picture {median(lambda r: r['picture']):8.0f} ms   block {median(lambda r: r['block']):7.0f} ms"
    for what in ("pan", "zoom"):
        text += f"   {what} {median(lambda r: r[what][0]):5.1f} /s, longest {median(lambda r: r[what][1]):6.0f} ms"
    if "make" in runs[0]:
        text += f"   make {median(lambda r: r['make']):6.0f} ms, {runs[0]['bytes'] / 1000:.0f} KB"
    return text


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        facts = dict(line.split(":", 1) for line in file if ":" in line)
    facts = {name.strip(): text.strip() for name, text in facts.items()}
    return facts.get("model name", "?") + "".join(" " + flag for flag in ("avx2", "avx512f", "amx_tile") if flag in facts.get("flags", "").split())


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("models", nargs="*")
    p.add_argument("--netron", help="a Python that has netron")
    p.add_argument("--runs", type=int, default=5, help="default: 5")
    p.add_argument("--limit", type=float, default=60, help="seconds for one picture (default: 60)")
    o = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        models = o.models
        if not models:
            models = [os.path.join(folder, f"{count}.onnx") for count in (500, 5000, 50000)]
            for count, path in zip((500, 5000, 50000), models):
                generate(path, count)
        print(f"{processor()}, {os.cpu_count()} processors; medians of {o.runs} runs")
        for model in models:
            ours, theirs = [], []
            for _ in range(o.runs):
                ours.append(look_at_ours(o.program, os.path.abspath(model), folder, o.limit))
                if o.netron and (not theirs or theirs[-1]):
                    theirs.append(look_at_netron(o.netron, os.path.abspath(model), o.limit))
            print(os.path.basename(model))
            print("  " + line("polygraphy", ours, o.limit))
            if o.netron:
                print("  " + line("Netron", theirs, o.limit), flush=True)


if __name__ == "__main__":
    main()
