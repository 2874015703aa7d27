#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models in float16 on a GPU, torch beside the engine: gpu_models.py PROGRAM [options] [LINE...]; needs torch, torchvision and onnx with CUDA

PROGRAM is polygraphy. A line is a model and a batch, such as resnet50:1; --list prints all. torch: the median of replays of a CUDA graph, by
events on the device, of the model as it is (eager), compiled (compile) and compiled with max-autotune; convolutions in channels_last; attention
by scaled_dot_product_attention. The engine: the mean time of a whole inference of a plan, with the copies of input and output and the wait
for them. Large inputs are made on the device, in torch and in the engine alike: a constant plus an input of one element per channel.
Random weights and inputs. --before prints each round of both builds. --int8, --int4 and --fp8: such models have no torch's figure, because torch runs none on a GPU. `build` is the time of `polygraphy convert`, the first with an empty cache of kernels.
"""
import argparse
import base64
import copy
import io
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

import numpy
import torch
import torchvision
from torch import nn
from torch.nn import functional as F

EXPORTING = False


# ---- Transformers: written out for the export, by torch's own kernels otherwise ----

def attend(q, k, v, mask=None):
    if not EXPORTING:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    scores = q @ k.transpose(-1, -2) * (1 / math.sqrt(q.shape[-1]))
    if mask is not None:
        scores = scores + mask
    return torch.softmax(scores, -1) @ v


class Attention(nn.Module):
    def __init__(self, width, heads, joined=False):
        super().__init__()
        self.heads, self.joined = heads, joined
        if joined:
            self.qkv = nn.Linear(width, 3 * width)
        else:
            self.q, self.k, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, width)
        self.out = nn.Linear(width, width)

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, mask=None, past=None):
        q, k, v = self.qkv(x).chunk(3, -1) if self.joined else (self.q(x), self.k(x), self.v(x))
        q, k, v = self.split(q), self.split(k), self.split(v)
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        y = attend(q, k, v, mask).transpose(1, 2)
        return self.out(y.reshape(x.shape))


class Layer(nn.Module):
    def __init__(self, width, heads, first, approximate="none", joined=False):
        super().__init__()
        self.attention = Attention(width, heads, joined)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.n1, self.n2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.first, self.approximate = first, approximate

    def forward(self, x, mask=None, past=None):
        if self.first:  # as GPT-2 and ViT; BERT normalises behind
            x = x + self.attention(self.n1(x), mask, past)
            return x + self.down(F.gelu(self.up(self.n2(x)), approximate=self.approximate))
        x = self.n1(x + self.attention(x, mask, past))
        return self.n2(x + self.down(F.gelu(self.up(x), approximate=self.approximate)))


class Bert(nn.Module):
    def __init__(self, layers, width, heads, length):
        super().__init__()
        self.words, self.places = nn.Embedding(30522, width), nn.Parameter(torch.randn(1, length, width) * 0.02)
        self.norm = nn.LayerNorm(width)
        self.layers = nn.ModuleList(Layer(width, heads, False) for _ in range(layers))

    def forward(self, ids, mask):
        x = self.norm(self.words(ids) + self.places)
        bias = (1 - mask.to(x.dtype))[:, None, None, :] * -10000.0
        for layer in self.layers:
            x = layer(x, bias)
        return x[:, 0]


class Vit(nn.Module):
    def __init__(self, batch):
        super().__init__()
        self.image = nn.Buffer(torch.randn(batch, 3, 224, 224)) if batch > 1 else None
        self.patches = nn.Conv2d(3, 768, 16, 16)
        self.token, self.places = nn.Parameter(torch.randn(1, 1, 768) * 0.02), nn.Parameter(torch.randn(1, 197, 768) * 0.02)
        self.layers = nn.ModuleList(Layer(768, 12, True, joined=True) for _ in range(12))
        self.norm, self.head = nn.LayerNorm(768), nn.Linear(768, 1000)
        self.batch = batch

    def forward(self, x):
        if self.batch > 1:
            x = self.image + x
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(self.batch, -1, -1), x], 1) + self.places
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x[:, 0]))


class Gpt2Step(nn.Module):
    """One token behind 1023 others, whose keys and values are constants."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50257, 768)
        self.layers = nn.ModuleList(Layer(768, 12, True, "tanh", joined=True) for _ in range(12))
        self.past = nn.Buffer(torch.randn(12, 2, 1, 12, 1023, 64))
        self.norm = nn.LayerNorm(768)

    def forward(self, ids):
        x = self.words(ids)
        for i, layer in enumerate(self.layers):
            x = layer(x, None, (self.past[i, 0], self.past[i, 1]))
        return F.linear(self.norm(x), self.words.weight)


class Images(nn.Module):
    def __init__(self, model, batch):
        super().__init__()
        self.model, self.batch = model, batch
        self.image = nn.Buffer(torch.randn(batch, 3, 224, 224)) if batch > 1 else None

    def forward(self, x):
        return self.model(self.image + x if self.batch > 1 else x)


class Block(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.n1, self.c1 = nn.GroupNorm(32, a), nn.Conv2d(a, b, 3, padding=1)
        self.n2, self.c2 = nn.GroupNorm(32, b), nn.Conv2d(b, b, 3, padding=1)
        self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x):
        return self.skip(x) + self.c2(F.silu(self.n2(self.c1(F.silu(self.n1(x))))))


class Unet(nn.Module):
    """Three levels of residual blocks on 64 x 64, as diffusion models have them, without attention."""

    def __init__(self, batch):
        super().__init__()
        self.start, self.end = nn.Conv2d(4, 128, 3, padding=1), nn.Conv2d(128, 4, 3, padding=1)
        self.down = nn.ModuleList([Block(128, 128), Block(128, 256), Block(256, 512)])
        self.shrink = nn.ModuleList([nn.Conv2d(128, 128, 3, 2, 1), nn.Conv2d(256, 256, 3, 2, 1)])
        self.up = nn.ModuleList([Block(1024, 256), Block(512, 128), Block(256, 128)])

    def forward(self, x):
        x, kept = self.start(x), []
        for i, block in enumerate(self.down):
            x = block(x)
            kept.append(x)
            if i < 2:
                x = self.shrink[i](x)
        for i, block in enumerate(self.up):
            x = block(torch.cat([x, kept[2 - i]], 1))
            if i < 2:
                x = F.interpolate(x, scale_factor=2, mode="nearest")
        return self.end(x)


def unit(a, b, size=3, stride=1):
    return nn.Sequential(nn.Conv2d(a, b, size, stride, size // 2, bias=False), nn.BatchNorm2d(b), nn.SiLU())


class Crossed(nn.Module):
    """YOLOv8's C2f: parts of the channels pass through `count` bottlenecks, and all are joined."""

    def __init__(self, a, b, count, added):
        super().__init__()
        self.half, self.added = b // 2, added
        self.first, self.last = unit(a, b, 1), unit(b + count * self.half, b, 1)
        self.steps = nn.ModuleList(nn.Sequential(unit(self.half, self.half), unit(self.half, self.half)) for _ in range(count))

    def forward(self, x):
        parts = list(self.first(x).chunk(2, 1))
        for step in self.steps:
            y = step(parts[-1])
            parts.append(parts[-1] + y if self.added else y)
        return self.last(torch.cat(parts, 1))


class Pyramid(nn.Module):
    """YOLOv8's SPPF."""

    def __init__(self, a):
        super().__init__()
        self.first, self.last, self.pool = unit(a, a // 2, 1), unit(a * 2, a, 1), nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        x = self.first(x)
        y = self.pool(x)
        z = self.pool(y)
        return self.last(torch.cat([x, y, z, self.pool(z)], 1))


class Yolo(nn.Module):
    """The convolutions of YOLOv8n on 640 x 640: backbone, neck and heads, and the means over all places in place of boxes."""

    def __init__(self, batch):
        super().__init__()
        self.image = nn.Buffer(torch.randn(batch, 3, 640, 640))
        self.p2 = nn.Sequential(unit(3, 16, 3, 2), unit(16, 32, 3, 2), Crossed(32, 32, 1, True))
        self.p3 = nn.Sequential(unit(32, 64, 3, 2), Crossed(64, 64, 2, True))
        self.p4 = nn.Sequential(unit(64, 128, 3, 2), Crossed(128, 128, 2, True))
        self.p5 = nn.Sequential(unit(128, 256, 3, 2), Crossed(256, 256, 1, True), Pyramid(256))
        self.up4, self.up3 = Crossed(384, 128, 1, False), Crossed(192, 64, 1, False)
        self.to4, self.to5 = unit(64, 64, 3, 2), unit(128, 128, 3, 2)
        self.down4, self.down5 = Crossed(192, 128, 1, False), Crossed(384, 256, 1, False)
        self.boxes = nn.ModuleList(nn.Sequential(unit(c, 64), unit(64, 64), nn.Conv2d(64, 64, 1)) for c in (64, 128, 256))
        self.classes = nn.ModuleList(nn.Sequential(unit(c, 80), unit(80, 80), nn.Conv2d(80, 80, 1)) for c in (64, 128, 256))

    def forward(self, x):
        p3 = self.p3(self.p2(self.image + x))
        p4 = self.p4(p3)
        p5 = self.p5(p4)
        p4 = self.up4(torch.cat([F.interpolate(p5, scale_factor=2, mode="nearest"), p4], 1))
        p3 = self.up3(torch.cat([F.interpolate(p4, scale_factor=2, mode="nearest"), p3], 1))
        p4 = self.down4(torch.cat([self.to4(p3), p4], 1))
        p5 = self.down5(torch.cat([self.to5(p4), p5], 1))
        return torch.cat([torch.cat([b(p), c(p)], 1).flatten(2) for b, c, p in zip(self.boxes, self.classes, (p3, p4, p5))], 2).mean(2)


class RootNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


class LlamaLayer(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.n1, self.n2 = RootNorm(width), RootNorm(width)
        self.q, self.k, self.v, self.out = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up, self.down = nn.Linear(width, inner, bias=False), nn.Linear(width, inner, bias=False), nn.Linear(inner, width, bias=False)

    def split(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.heads, self.size).transpose(1, 2)

    def turn(self, x, cosine, sine):
        a, b = x.chunk(2, -1)
        return x * cosine + torch.cat([-b, a], -1) * sine

    def forward(self, x, past, cosine, sine):
        y = self.n1(x)
        q, k, v = self.turn(self.split(self.q(y)), cosine, sine), self.turn(self.split(self.k(y)), cosine, sine), self.split(self.v(y))
        y = attend(q, torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)).transpose(1, 2)
        x = x + self.out(y.reshape(x.shape))
        y = self.n2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class LlamaStep(nn.Module):
    """One token behind 2047 others in four layers with the sizes of Llama 7B."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(LlamaLayer(4096, 32, 11008) for _ in range(4))
        self.past = nn.Buffer(torch.randn(4, 2, 1, 32, 2047, 128))
        angles = 2047 / 10000 ** (torch.arange(64) / 64)
        self.cosine, self.sine = nn.Buffer(angles.cos().repeat(2)), nn.Buffer(angles.sin().repeat(2))

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = layer(x, (self.past[i, 0], self.past[i, 1]), self.cosine, self.sine)
        return x


def images(make, batch):
    shape = (1, 3, 224, 224) if batch == 1 else (1, 3, 1, 1)
    return Images(make(weights=None), batch), [torch.randn(shape)], True


def bert(layers, width, heads, length, batch):
    ids = torch.randint(0, 30522, (batch, length))
    return Bert(layers, width, heads, length), [ids, torch.ones_like(ids)], False


# Name: function of the batch that makes model and inputs; floating-point operations of an item, for the bound
MODELS = {
    "resnet50": (lambda b: images(torchvision.models.resnet50, b), 8.2e9, (1, 8, 128)),
    "mobilenet_v2": (lambda b: images(torchvision.models.mobilenet_v2, b), 0.6e9, (1, 128)),
    "vit_b16": (lambda b: (Vit(b), [torch.randn((1, 3, 224, 224) if b == 1 else (1, 3, 1, 1))], False), 35.1e9, (1, 8, 128)),
    "bert_base_s128": (lambda b: bert(12, 768, 12, 128, b), 22.3e9, (1, 8, 128)),
    "bert_large_s384": (lambda b: bert(24, 1024, 16, 384, b), 246e9, (1,)),
    "bert_large_s128": (lambda b: bert(24, 1024, 16, 128, b), 79e9, (128,)),
    "unet64": (lambda b: (Unet(b), [torch.randn(b, 4, 64, 64)], True), 0, (2,)),
    "yolov8n": (lambda b: (Yolo(b), [torch.randn(1, 3, 1, 1)], True), 8.7e9, (1, 8)),
    "llama_step": (lambda b: (LlamaStep(), [torch.randn(1, 1, 4096)], False), 1.75e9, (1,)),
    "gpt2_step": (lambda b: (Gpt2Step(), [torch.randint(0, 50257, (1, 1))], False), 0.3e9, (1,)),
}
LINES = [f"{name}:{b}" for name, (_, _, batches) in MODELS.items() for b in batches]


# ---- torch ----

def graph_ms(model, inputs):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), torch.no_grad():
        for _ in range(3):
            model(*inputs)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(graph):
        model(*inputs)
    for _ in range(5):
        graph.replay()
    times = []
    for _ in range(40):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return sorted(times)[20]


def torch_times(model, inputs, images_last, modes, before):
    times = {}
    model = model.cuda().half()
    inputs = [x.cuda().half() if x.is_floating_point() else x.cuda() for x in inputs]
    if images_last:
        model = model.to(memory_format=torch.channels_last)
        inputs = [x.to(memory_format=torch.channels_last) for x in inputs]
    for mode in modes:
        start = time.time()
        torch.cuda.reset_peak_memory_stats()
        try:
            torch.compiler.reset()
            made = model if mode == "eager" else torch.compile(model, mode="max-autotune-no-cudagraphs" if mode == "autotune" else None)
            times[mode] = graph_ms(made, inputs)
        except Exception as e:  # a mode that fails must not end the table
            times[mode] = None
            print(f"  torch {mode}: {str(e).splitlines()[0][:160]}", flush=True)
        times[mode + "_MiB"] = (torch.cuda.max_memory_allocated() - before) / 2**20
        print(f"  torch {mode}: {times[mode]} ms after {time.time() - start:.0f} s, at most {times[mode + '_MiB']:.0f} MiB", flush=True)
    torch.compiler.reset()
    torch.cuda.empty_cache()
    return times


# ---- The engine ----

def export(model, inputs, path):
    global EXPORTING
    EXPORTING = True
    model, inputs = model.cuda().half(), [x.cuda().half() if x.is_floating_point() else x.cuda() for x in inputs]
    with torch.no_grad():
        torch.onnx.export(model, tuple(inputs), path, opset_version=20, dynamo=False, do_constant_folding=False,
                          input_names=[f"x{i}" for i in range(len(inputs))], output_names=["y"])
    EXPORTING = False


INT8 = {"resnet50": "resnet50", "vit_b16": "vit_b_16", "bert_base_s128": "bert_base_128"}  # names of int8_models.py


def export_int8(name, batch, path):
    """The model as onnxruntime.quantization writes it for one image or text, calibrated by random inputs, made wide enough for `batch`."""
    import int8_models
    import onnx
    from onnx import helper, numpy_helper
    folder = os.path.dirname(path)
    for other, make, sample in int8_models.float_models():
        if other == INT8[name]:
            ready, feeds = int8_models.exported(folder, other, make, sample)
            single = int8_models.quantised(ready, feeds, "static", {"activation_type": int8_models.QuantType.QInt8})
    model = onnx.load(single)
    g = model.graph
    del g.value_info[:]
    for n in [n for n in g.node if n.op_type == "Constant"]:
        g.initializer.append(n.attribute[0].t)
        g.initializer[-1].name = n.output[0]
        g.node.remove(n)
    weights = {w.name: w for w in g.initializer}
    makers = {y: n for n in g.node for y in n.output}

    def constant(value):
        while value in makers and makers[value].op_type in ("DequantizeLinear", "QuantizeLinear"):
            value = makers[value].input[0]
        return weights.get(value)

    def rewrite(w, a):
        w.CopyFrom(numpy_helper.from_array(numpy.ascontiguousarray(a), w.name))

    for n in g.node:
        if n.op_type == "Reshape" and n.input[1] in weights:
            shape = numpy_helper.to_array(weights[n.input[1]]).copy()
            if len(shape) == 2 or (len(shape) > 2 and shape[0] == 1):  # rows of all items, or items
                shape[0] = 0 if -1 in shape[1:] else -1
                rewrite(weights[n.input[1]], shape)
        for w in filter(None, map(constant, n.input if n.op_type == "Concat" else [])):
            if len(w.dims) > 2 and w.dims[0] == 1:
                rewrite(w, numpy.repeat(numpy_helper.to_array(w), batch, 0))
    for x in list(g.input) + list(g.output):
        x.type.tensor_type.shape.dim[0].dim_value = batch
    if g.input[0].type.tensor_type.elem_type == onnx.TensorProto.FLOAT and batch > 1:  # as Images: a constant plus a number of each channel
        image, old = numpy.random.default_rng(0).standard_normal((batch, 3, 224, 224), numpy.float32), g.input[0].name
        for n in g.node:
            n.input[:] = [f"{old}_of_{batch}" if i == old else i for i in n.input]
        g.initializer.append(numpy_helper.from_array(image, "image"))
        g.node.insert(0, helper.make_node("Add", ["image", old], [f"{old}_of_{batch}"]))
        for d, size in zip(g.input[0].type.tensor_type.shape.dim, (1, 3, 1, 1)):
            d.dim_value = size
    onnx.save(model, path)


def int8_times(name, batch, folder, o):
    path = os.path.join(folder, f"{name}_b{batch}_int8.onnx")
    export_int8(name, batch, path)
    row = engine_times(o.program, path, o)
    print(f"  engine in int8: {row['engine']:.3f} ms, built in {row['build_s']:.1f} s, {row['layers']}", flush=True)
    return {"int8": row["engine"]}


def narrow_times(kind, path, o):
    """The same model with weights of 4 bits, or with products of float8."""
    import narrow_weights
    import onnx
    model, other = onnx.load(path), f"{path[:-5]}_{kind}.onnx"
    {"int4": narrow_weights.to_int4, "fp8": narrow_weights.to_float8}[kind](model)
    onnx.save(model, other)
    row = engine_times(o.program, other, o)
    print(f"  engine in {kind}: {row['engine']:.3f} ms, built in {row['build_s']:.1f} s, {row['layers']}", flush=True)
    return {kind: row["engine"]}


def run(words, limit=300):
    done = subprocess.run(words, capture_output=True, text=True, timeout=limit)
    if done.returncode:
        raise RuntimeError(" ".join((done.stdout + done.stderr).split())[-600:])
    return done.stdout + done.stderr


class Watch:
    """The most memory of the device that other processes take meanwhile, in MiB."""

    def __enter__(self):
        torch.cuda.empty_cache()
        self.begin = self.least = torch.cuda.mem_get_info()[0]
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def look(self):
        while not self.ended.wait(0.002):
            self.least = min(self.least, torch.cuda.mem_get_info()[0])

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()
        self.MiB = (self.begin - self.least) / 2**20


def bare_memory(program, folder, known={}):
    """What a process takes for a model of one addition: the context and the kernels' own."""
    if not known:
        path = os.path.join(folder, "one.onnx")
        torch.onnx.export(nn.Identity(), (torch.ones(8),), path, dynamo=False, input_names=["x"], output_names=["y"])
        with Watch() as w:
            run([program, "run", path, "--trt", "--device", "cuda", "--iterations", "2000"])
        known["MiB"] = w.MiB
    return known["MiB"]


def average_ms(program, plan, o):
    text = run([program, "run", plan, "--trt", "--warm-up", "10", "--iterations", str(o.iterations)])
    return float(re.search(r"Average inference time: ([\d.]+) ms", text).group(1))


def engine_times(program, path, o):
    plan, start = path[:-5] + ".plan", time.time()
    said = run([program, "convert", path, "-o", plan, "--device", "cuda", *o.engine.split()])
    build = time.time() - start
    layers = re.search(r"Layers: .*", said)
    sides = {program: plan}
    if o.before:
        sides[o.before] = path[:-5] + ".before.plan"
        run([o.before, "convert", path, "-o", sides[o.before], "--device", "cuda", *o.engine.split()])
    rounds = [[average_ms(p, sides[p], o) for p in sides] for _ in range(o.rounds)]
    ms, *before = map(min, zip(*rounds))
    if before:
        print(f"  {os.path.basename(path)}: {', '.join(f'{r[0]:.3f}' for r in rounds)} ms, before {', '.join(f'{r[1]:.3f}' for r in rounds)}", flush=True)
        os.remove(sides[o.before])
    row = {"engine": ms, "build_s": build, "layers": layers.group(0) if layers else ""}
    if o.memory:
        with Watch() as w:
            run([program, "run", plan, "--trt", "--iterations", str(max(o.iterations, int(500 / ms)))])
        row["engine_MiB"] = w.MiB - bare_memory(program, os.path.dirname(path))
        print(f"  engine: {row['engine_MiB']:.0f} MiB", flush=True)
    return row


def saved_arrays(path):
    """The arrays of a file of --save-inputs or --save-outputs, by their order."""
    found = []

    def walk(value):
        if isinstance(value, dict):
            if isinstance(value.get("array"), str):
                found.append(numpy.load(io.BytesIO(base64.b64decode(value["array"]))))
                return
            value = list(value.values())
        if isinstance(value, list):
            for v in value:
                walk(v)

    with open(path, encoding="utf-8") as f:
        walk(json.load(f))
    return found


def errors(program, path, model):
    """The norms of the differences to torch in float32, relative to its result: of the engine, and of torch in float16."""
    plan, given, made = path[:-5] + ".plan", path + ".in.json", path + ".out.json"
    run([program, "run", plan, "--trt", "--save-inputs", given, "--save-outputs", made])
    inputs = [torch.from_numpy(a).cuda() for a in saved_arrays(given)]
    ours = torch.from_numpy(saved_arrays(made)[0]).cuda().double()
    torch.backends.cudnn.allow_tf32 = False
    with torch.no_grad():
        half = model.cuda().half()(*inputs).double()
        wide = copy.deepcopy(model).float()(*[x.float() if x.is_floating_point() else x for x in inputs]).double()
    torch.backends.cudnn.allow_tf32 = True
    return {"error": float((ours - wide).norm() / wide.norm()), "torch_error": float((half - wide).norm() / wide.norm())}


def measure(line, o, folder):
    name, batch = line.split(":")
    torch.manual_seed(0)
    before = torch.cuda.memory_allocated()  # what earlier lines have left
    make, flops, _ = MODELS[name]
    model, inputs, images_last = make(int(batch))
    model = model.eval()
    print(line, flush=True)
    path = os.path.join(folder, f"{name}_b{batch}.onnx")
    row = {"line": line, "bound_ms": flops * int(batch) / 790e12 * 1e3}
    try:
        export(model, inputs, path)
        row.update(engine_times(o.program, path, o))
        print(f"  engine: {row['engine']:.3f} ms, built in {row['build_s']:.1f} s, {row['layers']}", flush=True)
    except Exception as e:
        print(f"  engine: {str(e)[:500]}", flush=True)
    if o.int8 and name in INT8:
        try:
            row.update(int8_times(name, int(batch), folder, o))
        except Exception as e:
            print(f"  engine in int8: {str(e)[:500]}", flush=True)
    for kind in [k for k in ("int4", "fp8") if getattr(o, k) and row.get("engine")]:
        try:
            row.update(narrow_times(kind, path, o))
        except Exception as e:
            print(f"  engine in {kind}: {str(e)[:500]}", flush=True)
    if o.errors and row.get("engine"):
        try:
            row.update(errors(o.program, path, model))
            print(f"  error {row['error']:.2e}, torch in float16 {row['torch_error']:.2e}", flush=True)
        except Exception as e:
            print(f"  error: {str(e)[:300]}", flush=True)
    row.update(torch_times(model, inputs, images_last, o.modes.split(",") if o.modes else [], before))
    if not o.keep:
        for f in (path, path[:-5] + ".plan"):
            if os.path.exists(f):
                os.remove(f)
    return row


def text_of(row, key, form="{:.3f}"):
    return form.format(row[key]) if row.get(key) else "-"


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program")
    p.add_argument("lines", nargs="*")
    p.add_argument("--list", action="store_true", help="print the lines and end")
    p.add_argument("--modes", default="eager,compile", help="of torch: eager, compile, autotune (default: eager,compile)")
    p.add_argument("--iterations", type=int, default=100)
    p.add_argument("--before", metavar="PROGRAM", help="also measure the engine of this other build, in turn with ours")
    p.add_argument("--rounds", type=int, default=1, help="measurements of the engine, of which the fastest counts (default: 1)")
    p.add_argument("--folder", help="folder for models and plans (default: a temporary one)")
    p.add_argument("--keep", action="store_true", help="keep models and plans in --folder")
    p.add_argument("--errors", action="store_true", help="also compare results with torch in float32")
    p.add_argument("--int8", action="store_true", help="also measure the engine with models that onnxruntime.quantization has quantised; needs onnxruntime")
    p.add_argument("--int4", action="store_true", help="also measure the engine with weights of 4 bits (MatMulNBits, blocks of 32), made by this script")
    p.add_argument("--fp8", action="store_true", help="also measure the engine with products of float8 between Q/DQ, made by this script")
    p.add_argument("--memory", action="store_true", help="also measure memory on the device: of the engine's process without that of a process with a tiny model, and torch's peak")
    p.add_argument("--seconds", type=float, default=1e9, help="begin no line after this time")
    p.add_argument("--json", help="write the figures to this file")
    p.add_argument("--engine", default="", help="further options of convert")
    o = p.parse_intermixed_args()
    if o.list:
        print("\n".join(LINES))
        return
    torch.backends.cudnn.benchmark = True
    start, rows = time.time(), []
    with tempfile.TemporaryDirectory() as temporary:
        for line in o.lines or LINES:
            if time.time() - start > o.seconds:
                print(line, "left out: no time")
                continue
            rows.append(measure(line, o, o.folder or temporary))
            if o.json:
                with open(o.json, "w", encoding="utf-8") as f:
                    json.dump(rows, f, indent=1)
    print(f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}, float16; milliseconds")
    print("| line | eager | compile | max-autotune | engine | best of torch / engine | engine in int8 | in int4 | in float8 | arithmetic at 790 TFLOP/s | build s | error | torch's | MiB: engine, eager, compile |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for r in rows:
        torch_ms = [r[m] for m in ("eager", "compile", "autotune") if r.get(m)]
        ratio = f"{min(torch_ms) / r['engine']:.2f}" if torch_ms and r.get("engine") else "-"
        print(f"| {r['line']} | {text_of(r, 'eager')} | {text_of(r, 'compile')} | {text_of(r, 'autotune')} | {text_of(r, 'engine')} | {ratio} | "
              f"{text_of(r, 'int8')} | {text_of(r, 'int4')} | {text_of(r, 'fp8')} | {text_of(r, 'bound_ms')} | {text_of(r, 'build_s', '{:.1f}')} | "
              f"{text_of(r, 'error', '{:.1e}')} | {text_of(r, 'torch_error', '{:.1e}')} | "
              f"{', '.join(text_of(r, k, '{:.0f}') for k in ('engine_MiB', 'eager_MiB', 'compile_MiB'))} |")


if __name__ == "__main__":
    sys.exit(main())
