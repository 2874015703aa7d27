# SPDX-License-Identifier: Apache-2.0
"""Writes two timelines of net.onnx, trace_a.json and trace_b.json: 12 runs each, of which the first one warms up. In B, layer 2 takes twice as long.

    python make_traces.py
"""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
RUNS, LAYERS = 12, 4


def trace(name, slow):
    events = [
        {"ph": "M", "pid": 10, "tid": 0, "name": "process_name", "args": {"name": "runner 0: trt"}},
        {"ph": "M", "pid": 10, "tid": 0, "name": "thread_name", "args": {"name": "iterations"}},
        {"ph": "M", "pid": 10, "tid": 1, "name": "thread_name", "args": {"name": "layers"}},
    ]
    for run in range(RUNS):
        start = 1000.0 * run
        jitter = 0.1 * ((run * 7) % 11)
        at, layers = start + 1, []
        for i in range(LAYERS):
            nodes = [f"/layer.{i}/matmul", f"/layer.{i}/add", f"/layer.{i}/relu"]
            layers.append((" + ".join(nodes), "FusedMatMul", nodes, (80 if i == 2 and slow else 40) + jitter))
        layers.append(("/softmax", "Softmax", ["/softmax"], 10 + jitter))
        length = sum(duration for _, _, _, duration in layers)
        args = {"index": run, "warmup": run == 0, "latency_us": round(length + 2, 3), "has_layers": True}
        events.append({"ph": "X", "pid": 10, "tid": 0, "ts": start, "dur": round(length + 2, 3), "cat": "iteration", "name": f"run {run}", "args": args})
        for k, (layer, op, nodes, duration) in enumerate(layers):
            args = {"layer_id": k, "op": op, "nodes": nodes, "precision": "float32", "kernel": op.lower(), "device": "host", "run": run}
            events.append({"ph": "X", "pid": 10, "tid": 1, "ts": round(at, 3), "dur": round(duration, 3), "cat": "layer", "name": layer, "args": args})
            at += duration
    with open(os.path.join(HERE, name), "w") as out:
        out.write('{"displayTimeUnit":"ms","traceEvents":[\n' + ",\n".join(json.dumps(e) for e in events))
        out.write('\n],"otherData":{"trace_version":1,"command":"polygraphy run net.onnx --trt","library":"libpolygraphy"}}\n')


trace("trace_a.json", False)
trace("trace_b.json", True)
