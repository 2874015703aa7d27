#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports small networks of well-known shapes with PyTorch, as users do, and writes them to tests/data/exported.

Run without arguments; it needs torch 2.8, torchvision 0.23, onnx and onnxscript. The files are committed, so tests need no Python.
Weights are random with fixed seeds. Both exporters are used: `dynamo` says which. Texts that only say where a node came from are
dropped, so that files stay small and hold no paths.
"""
import os
import warnings

import onnx
import torch
import torchvision
from torch import nn
from torch.nn import functional as F

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "exported")
MOST_BYTES = 100_000
MODELS = {}


def model(*shapes, dynamo=False, opset=17, **options):
    """Registers a function that gives a module; it is exported with inputs of these shapes. A shape of integers is ("i", ...)."""
    def register(make):
        MODELS[make.__name__] = (make, shapes, dynamo, opset, options)
        return make
    return register


def example(shape):
    if shape[0] == "i":
        return torch.ones(shape[1:], dtype=torch.int64)
    if shape[0] == "b":
        return torch.tensor(True)
    return torch.randn(shape)


# ---- Convolutional networks ------------------------------------------------------------------------------------------------------------

class Basic(nn.Module):
    """A residual block, as in ResNet-18."""

    def __init__(self, inner, outer, stride):
        super().__init__()
        self.a, self.b = nn.Conv2d(inner, outer, 3, stride, 1, bias=False), nn.Conv2d(outer, outer, 3, 1, 1, bias=False)
        self.na, self.nb = nn.BatchNorm2d(outer), nn.BatchNorm2d(outer)
        self.down = nn.Sequential(nn.Conv2d(inner, outer, 1, stride, bias=False), nn.BatchNorm2d(outer)) if stride > 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.nb(self.b(F.relu(self.na(self.a(x))))) + self.down(x))


@model((1, 3, 32, 32))
def resnet():
    return nn.Sequential(nn.Conv2d(3, 8, 7, 2, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1), Basic(8, 8, 1), Basic(8, 16, 2),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


@model((1, 3, 32, 32), opset=18, dynamo=True, optimize=False)
def resnet_with_batch_norm():
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), Basic(8, 8, 1), Basic(8, 16, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))


@model((1, 3, 32, 32))
def mobilenet_v2():
    whole = torchvision.models.MobileNetV2(num_classes=10, width_mult=0.1, round_nearest=4, dropout=0,
                                           inverted_residual_setting=[[1, 80, 1, 1], [4, 120, 2, 2], [4, 160, 1, 2]])
    whole.features[-1] = torchvision.ops.Conv2dNormActivation(16, 32, 1, activation_layer=nn.ReLU6)  # 1280 channels at any width
    whole.classifier[1] = nn.Linear(32, 10)
    return whole


class Squeeze(nn.Module):
    """An inverted residual with squeeze-and-excitation and hard activations, as in MobileNetV3."""

    def __init__(self, channels):
        super().__init__()
        wide = 2 * channels
        self.enter, self.deep, self.leave = nn.Conv2d(channels, wide, 1), nn.Conv2d(wide, wide, 5, 1, 2, groups=wide), nn.Conv2d(wide, channels, 1)
        self.down, self.up = nn.Conv2d(wide, 4, 1), nn.Conv2d(4, wide, 1)

    def forward(self, x):
        y = F.hardswish(self.deep(F.hardswish(self.enter(x))))
        return x + self.leave(y * F.hardsigmoid(self.up(F.relu(self.down(F.adaptive_avg_pool2d(y, 1))))))


@model((1, 3, 24, 24), opset=18, dynamo=True)
def mobilenet_v3():
    return nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.Hardswish(), Squeeze(8), Squeeze(8), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))


@model((1, 3, 24, 24))
def shufflenet():
    return torchvision.models.ShuffleNetV2([2, 2, 1], [8, 16, 24, 24, 32], num_classes=10)


@model((1, 3, 16, 16))
def densenet():
    return torchvision.models.DenseNet(4, (2, 2), 8, num_classes=10)


class Unet(nn.Module):
    def __init__(self):
        super().__init__()
        self.enter, self.deep = nn.Conv2d(3, 8, 3, 1, 1), nn.Conv2d(8, 16, 3, 1, 1)
        self.norm, self.up = nn.GroupNorm(4, 16), nn.ConvTranspose2d(16, 8, 2, 2)
        self.join, self.leave = nn.Conv2d(16, 8, 3, 1, 1), nn.Conv2d(8, 2, 1)

    def forward(self, x):
        skip = F.silu(self.enter(x))
        low = F.silu(self.norm(self.deep(F.max_pool2d(skip, 2))))
        both = torch.cat([skip, self.up(low)], 1)
        return torch.sigmoid(self.leave(F.silu(self.join(both)) + F.interpolate(low[:, :8], scale_factor=2.0, mode="nearest")))


@model((1, 3, 16, 16))
def unet():
    return Unet()


class Depthwise(nn.Module):
    """A block as in ConvNeXt: a large depthwise convolution, a normalisation and products over the last axis."""

    def __init__(self, channels):
        super().__init__()
        self.deep, self.norm = nn.Conv2d(channels, channels, 7, 1, 3, groups=channels), nn.LayerNorm(channels)
        self.enter, self.leave = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.full((channels,), 0.1))

    def forward(self, x):
        y = self.norm(self.deep(x).permute(0, 2, 3, 1))
        return x + (self.scale * self.leave(F.gelu(self.enter(y)))).permute(0, 3, 1, 2)


@model((1, 3, 32, 32))
def convnext():
    return nn.Sequential(nn.Conv2d(3, 12, 4, 4), Depthwise(12), Depthwise(12), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 10))


class Segment(nn.Module):
    """Dilated convolutions side by side, one over the whole image, and a bilinear resize, as in DeepLab."""

    def __init__(self):
        super().__init__()
        self.enter = nn.Conv2d(3, 8, 3, 2, 1)
        self.near, self.far, self.all = nn.Conv2d(8, 4, 1), nn.Conv2d(8, 4, 3, 1, 4, 4), nn.Conv2d(8, 4, 1)
        self.leave = nn.Conv2d(12, 5, 1)

    def forward(self, x):
        y = F.relu(self.enter(x))
        whole = F.interpolate(self.all(F.adaptive_avg_pool2d(y, 1)), size=y.shape[2:], mode="nearest")
        scores = self.leave(F.relu(torch.cat([self.near(y), self.far(y), whole], 1)))
        scores = F.interpolate(scores, size=x.shape[2:], mode="bilinear", align_corners=False)
        return scores, scores.argmax(1)


@model((1, 3, 20, 20))
def deeplab():
    return Segment()


class Detect(nn.Module):
    """Two levels of features, boxes and scores of each cell, and the best of them."""

    def __init__(self):
        super().__init__()
        self.low, self.high, self.side = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 2, 1), nn.Conv2d(8, 8, 1)
        self.boxes, self.scores = nn.Conv2d(8, 4, 3, 1, 1), nn.Conv2d(8, 3, 3, 1, 1)

    def forward(self, x):
        low = F.leaky_relu(self.low(x), 0.1)
        high = F.leaky_relu(self.high(low), 0.1)
        low = self.side(low) + F.interpolate(high, scale_factor=2.0, mode="nearest")
        boxes = torch.cat([self.boxes(y).flatten(2) for y in (low, high)], 2).transpose(1, 2)
        scores = torch.cat([self.scores(y).flatten(2) for y in (low, high)], 2).transpose(1, 2).sigmoid()
        best, index = scores.max(2)[0].topk(10, 1)
        middle, size = boxes[..., :2].sigmoid() * 2 - 0.5, boxes[..., 2:].exp().clamp(max=4)
        boxes = torch.cat([middle - size / 2, middle + size / 2], 2)
        return boxes.gather(1, index.unsqueeze(2).expand(-1, -1, 4)), best, index


@model((1, 3, 16, 16))
def detector():
    return Detect()


@model((1, 12))
def generator():
    return nn.Sequential(nn.Linear(12, 128), nn.Unflatten(1, (8, 4, 4)), nn.InstanceNorm2d(8, affine=True), nn.ReLU(), nn.ConvTranspose2d(8, 8, 4, 2, 1),
                         nn.InstanceNorm2d(8, affine=True), nn.LeakyReLU(0.2), nn.ReflectionPad2d(1), nn.Conv2d(8, 3, 3), nn.Tanh())


class Gated(nn.Module):
    """Causal convolutions over time with gates, as in WaveNet."""

    def __init__(self):
        super().__init__()
        self.enter, self.leave = nn.Conv1d(2, 8, 1), nn.Conv1d(8, 4, 1)
        self.gates = nn.ModuleList(nn.Conv1d(8, 16, 2, dilation=2**i) for i in range(3))
        self.skips = nn.ModuleList(nn.Conv1d(8, 8, 1) for i in range(3))

    def forward(self, x):
        x, total = self.enter(x), 0
        for i, (gate, skip) in enumerate(zip(self.gates, self.skips)):
            a, b = gate(F.pad(x, (2**i, 0))).chunk(2, 1)
            y = skip(torch.tanh(a) * torch.sigmoid(b))
            x, total = x + y, total + y
        return F.log_softmax(self.leave(F.elu(total)), 1)


@model((1, 2, 32))
def wavenet():
    return Gated()


class Quantized(nn.Module):
    """Fake-quantised weights and activations, which the exporter writes as QuantizeLinear and DequantizeLinear."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, 1, 1), nn.Linear(8, 10)
        for layer in (self.a, self.b, self.c):
            layer.register_buffer("scale", layer.weight.detach().abs().flatten(1).amax(1) / 127)
            layer.register_buffer("zero", torch.zeros(len(layer.scale), dtype=torch.int32))

    @staticmethod
    def activation(x, scale):
        return torch.fake_quantize_per_tensor_affine(x, scale, 0, -128, 127)

    @staticmethod
    def weight(layer):
        return torch.fake_quantize_per_channel_affine(layer.weight, layer.scale, layer.zero, 0, -128, 127)

    def forward(self, x):
        x = self.activation(x, 0.03)
        x = self.activation(F.relu(F.conv2d(x, self.weight(self.a), self.a.bias, 2, 1)), 0.02)
        y = self.activation(F.conv2d(x, self.weight(self.b), self.b.bias, 1, 1), 0.02)
        x = self.activation(F.relu(x + y), 0.03)
        x = self.activation(F.adaptive_avg_pool2d(x, 1).flatten(1), 0.01)
        return F.linear(x, self.weight(self.c), self.c.bias)


@model((1, 3, 16, 16))
def quantized():
    return Quantized()


# ---- Transformers ----------------------------------------------------------------------------------------------------------------------

@model((2, 10, 16))
def encoder():
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, 0.0, "gelu", batch_first=True), 2, enable_nested_tensor=False)


class Attend(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads, self.qkv, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, mask=None):
        n, length, width = x.shape
        q, k, v = self.qkv(x).view(n, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-1, -2) / (width // self.heads)**0.5
        if mask is not None:
            scores = scores.masked_fill(mask, float("-inf"))
        return self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(n, length, width))


class Gpt(nn.Module):
    """Token and position embeddings, causal attention, tied output weights."""

    def __init__(self, width=16, heads=4, words=40, length=12):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(length, width)
        self.attend, self.enter, self.leave = Attend(width, heads), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.first, self.second, self.last = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)

    def forward(self, ids):
        length = ids.shape[1]
        x = self.words(ids) + self.places(torch.arange(length))
        x = x + self.attend(self.first(x), torch.ones(length, length, dtype=torch.bool).triu(1))
        x = x + self.leave(F.gelu(self.enter(self.second(x)), approximate="tanh"))
        return self.last(x) @ self.words.weight.T


@model(("i", 1, 12))
def gpt():
    return Gpt()


class Llama(nn.Module):
    """RMS normalisation, rotary positions, fewer heads of keys than of queries, a gated product, and a cache of keys and values."""

    def __init__(self, width=16, heads=4, groups=2):
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.q, self.k, self.v = (nn.Linear(width, n * self.size, bias=False) for n in (heads, groups, groups))
        self.out, self.gate, self.up, self.down = (nn.Linear(a, b, bias=False) for a, b in ((width, width), (width, 40), (width, 40), (40, width)))
        self.first, self.second = nn.Parameter(torch.ones(width)), nn.Parameter(torch.ones(width))
        angles = torch.outer(torch.arange(16.0), 10000.0**(-torch.arange(0, self.size, 2) / self.size))
        self.register_buffer("cos", torch.cat([angles.cos()] * 2, -1))
        self.register_buffer("sin", torch.cat([angles.sin()] * 2, -1))

    @staticmethod
    def norm(x, weight):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * weight

    def turn(self, x, start):
        half = self.size // 2
        turned = torch.cat([-x[..., half:], x[..., :half]], -1)
        end = start + x.shape[2]
        return x * self.cos[start:end] + turned * self.sin[start:end]

    def split(self, x, heads):
        return x.view(x.shape[0], x.shape[1], heads, self.size).transpose(1, 2)

    def forward(self, x, keys, values):
        y, past = self.norm(x, self.first), keys.shape[2]
        q = self.turn(self.split(self.q(y), self.heads), past)
        k = torch.cat([keys, self.turn(self.split(self.k(y), self.groups), past)], 2)
        v = torch.cat([values, self.split(self.v(y), self.groups)], 2)
        wide = [t.repeat_interleave(self.heads // self.groups, 1) for t in (k, v)]
        z = (q @ wide[0].transpose(-1, -2) / self.size**0.5).softmax(-1) @ wide[1]
        x = x + self.out(z.transpose(1, 2).flatten(2))
        y = self.norm(x, self.second)
        return x + self.down(F.silu(self.gate(y)) * self.up(y)), k, v


@model((1, 3, 16), (1, 2, 5, 4), (1, 2, 5, 4), opset=18, dynamo=True)
def llama():
    return Llama()


@model((1, 3, 16, 16))
def vit():
    return torchvision.models.VisionTransformer(16, 4, 2, 2, 16, 32, num_classes=10)


@model((1, 3, 32, 32), opset=18, dynamo=True)
def swin():
    return torchvision.models.SwinTransformer([4, 4], 8, [2, 1], [2, 2], [4, 4], 2.0, num_classes=10, stochastic_depth_prob=0.0)


# ---- Recurrent and other networks ------------------------------------------------------------------------------------------------------

class Tagger(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.words, self.rnn, self.out = nn.Embedding(30, 8), kind(8, 12, batch_first=True, bidirectional=True), nn.Linear(24, 5)

    def forward(self, ids):
        return self.out(self.rnn(self.words(ids))[0]).softmax(-1)


@model(("i", 1, 9))
def lstm():
    return Tagger(nn.LSTM)


@model(("i", 1, 9))
def gru():
    return Tagger(nn.GRU)


class Rank(nn.Module):
    """Embeddings of categories, their products with each other, and dense layers, as in DLRM."""

    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(20, 8) for i in range(4))
        self.low, self.high, self.out = nn.Linear(5, 8), nn.Linear(18, 16), nn.Linear(16, 1)
        rows, columns = torch.tril_indices(5, 5, -1)
        self.register_buffer("pairs", rows * 5 + columns)

    def forward(self, x, ids):
        dense = F.relu(self.low(x))
        all = torch.stack([dense] + [t(ids[:, i]) for i, t in enumerate(self.tables)], 1)
        pairs = (all @ all.transpose(1, 2)).flatten(1)[:, self.pairs]
        return torch.sigmoid(self.out(F.relu(self.high(torch.cat([dense, pairs], 1)))))


@model((3, 5), ("i", 3, 4))
def dlrm():
    return Rank()


class Graph(nn.Module):
    """Messages along edges, summed by node, as in graph networks."""

    def __init__(self):
        super().__init__()
        self.message, self.update = nn.Linear(16, 8), nn.Linear(16, 8)

    def forward(self, x, edges):
        for _ in range(2):
            sent = F.relu(self.message(torch.cat([x[edges[0]], x[edges[1]]], 1)))
            got = torch.zeros_like(x).scatter_add(0, edges[1].unsqueeze(1).expand(-1, 8), sent)
            x = torch.tanh(self.update(torch.cat([x, got], 1)))
        return x.sum(0)


@model((6, 8), ("i", 2, 9))
def graph_network():
    return Graph()


@torch.jit.script
def refine(x: torch.Tensor, w: torch.Tensor, often: int) -> torch.Tensor:
    for _ in range(often):
        x = torch.tanh(x @ w) + x
    return x


class Choose(nn.Module):
    """A loop and a branch, both of which stay in the model."""

    def __init__(self):
        super().__init__()
        self.weight, self.enter, self.leave = nn.Parameter(torch.randn(8, 8) / 4), nn.Linear(6, 8), nn.Linear(8, 4)

    def forward(self, x, often, wanted):
        x = refine(F.relu(self.enter(x)), self.weight, int(often))
        if bool(wanted):
            y = torch.sigmoid(self.leave(x))
        else:
            y = self.leave(x) * 2
        return torch.softmax(y, 1)


@model((2, 6), ("i",), ("b",))
def loop_and_branch():
    return torch.jit.script(Choose())


# ---- Writing ---------------------------------------------------------------------------------------------------------------------------

def strip(graph):
    graph.doc_string = ""
    del graph.metadata_props[:]
    for node in graph.node:
        node.doc_string = ""
        del node.metadata_props[:]
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                strip(attribute.g)
    for value in [*graph.input, *graph.output, *graph.value_info, *graph.initializer]:
        value.doc_string = ""
        del value.metadata_props[:]


def write(name):
    make, shapes, dynamo, opset, options = MODELS[name]
    torch.manual_seed(sum(map(ord, name)))
    module = make().eval()
    for m in module.modules():
        if isinstance(m, nn.BatchNorm2d):  # as if it had been trained
            nn.init.normal_(m.running_mean, 0, 0.1)
            nn.init.uniform_(m.running_var, 0.5, 1.5)
    path = os.path.join(HERE, name + ".onnx")
    inputs = tuple(example(s) for s in shapes)
    if dynamo:
        torch.onnx.export(module, inputs, path, opset_version=opset, dynamo=True, external_data=False, **options)
    else:
        torch.onnx.export(module, inputs, path, opset_version=opset, dynamo=False, **options)
    exported = onnx.load(path)
    strip(exported.graph)
    for f in exported.functions:
        f.doc_string = ""
        del f.metadata_props[:]
        for node in f.node:
            node.doc_string = ""
            del node.metadata_props[:]
    del exported.metadata_props[:]
    onnx.checker.check_model(exported, full_check=True)
    onnx.save(exported, path)
    size = os.path.getsize(path)
    assert size < MOST_BYTES, f"{name} has {size} bytes"
    print(f"{name}: {size} bytes, {len(exported.graph.node)} nodes")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    os.makedirs(HERE, exist_ok=True)
    for name in MODELS:
        write(name)
