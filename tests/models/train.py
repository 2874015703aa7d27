#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the four small networks of the tests and writes them as ONNX, with the digits that they are judged on.

    python3 tests/models/train.py [NAME...]     # writes into this folder; needs torch, onnx, onnxscript, numpy, scikit-learn

Data: the 1797 handwritten digits (8 x 8 pixels, 0 to 16) that scikit-learn ships. 1437 train the networks; 240 of the other 360 are written as
12 samples of 20. All seeds are set; a network takes half a minute to two minutes on one core.

resnet     residual blocks of 3x3 convolutions
mobilenet  MobileNetV3's blocks: depthwise convolutions, hard-swish, squeeze and excitation. Its batch normalizations start with scales from 1/32 to
           32, so the channels of its folded weights and of its activations have ranges as different as those of the large network: one int8 scale
           for a tensor leaves most channels no digits
vit        patches of 2 x 2 pixels, pre-norm attention
bert       64 pixels as tokens of a vocabulary of 17, embeddings, post-norm attention, pooler of the first token
"""
import json
import os
import sys
import time

import numpy as np
import onnx
import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES, BATCH = 12, 20


class Residual(nn.Module):
    def __init__(self, c_in, c_out, stride):
        super().__init__()
        self.a, self.b = nn.Conv2d(c_in, c_out, 3, stride, 1, bias=False), nn.Conv2d(c_out, c_out, 3, 1, 1, bias=False)
        self.na, self.nb = nn.BatchNorm2d(c_out), nn.BatchNorm2d(c_out)
        self.skip = nn.Identity() if c_in == c_out and stride == 1 else nn.Sequential(nn.Conv2d(c_in, c_out, 1, stride, bias=False), nn.BatchNorm2d(c_out))

    def forward(self, x):
        return F.relu(self.skip(x) + self.nb(self.b(F.relu(self.na(self.a(x))))))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 12, 3, 1, 1, bias=False), nn.BatchNorm2d(12), nn.ReLU())
        self.blocks = nn.Sequential(Residual(12, 12, 1), Residual(12, 24, 2), Residual(24, 48, 2))
        self.head = nn.Linear(48, 10)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


def spread(norm):
    """Gives the channels scales from 1/32 to 32."""
    with torch.no_grad():
        norm.weight.copy_(2 ** (10 * torch.rand(norm.num_features) - 5))
        norm.bias.copy_(norm.weight * 0.3)
    return norm


class SqueezeExcite(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.down, self.up = nn.Conv2d(c, c // 4, 1), nn.Conv2d(c // 4, c, 1)

    def forward(self, x):
        return x * F.hardsigmoid(self.up(F.relu(self.down(F.adaptive_avg_pool2d(x, 1)))))


class Inverted(nn.Module):
    def __init__(self, c_in, wide, c_out, stride, squeeze, swish):
        super().__init__()
        act = nn.Hardswish if swish else nn.ReLU
        self.same = stride == 1 and c_in == c_out
        self.body = nn.Sequential(
            nn.Conv2d(c_in, wide, 1, bias=False), nn.BatchNorm2d(wide) if swish else spread(nn.BatchNorm2d(wide)), act(),
            nn.Conv2d(wide, wide, 3, stride, 1, groups=wide, bias=False), spread(nn.BatchNorm2d(wide)), SqueezeExcite(wide) if squeeze else nn.Identity(), act(),
            nn.Conv2d(wide, c_out, 1, bias=False), nn.BatchNorm2d(c_out))

    def forward(self, x):
        return x + self.body(x) if self.same else self.body(x)


class MobileNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish())
        self.blocks = nn.Sequential(Inverted(16, 32, 16, 1, False, False), Inverted(16, 48, 24, 2, True, False), Inverted(24, 64, 24, 1, True, True),
                                    Inverted(24, 64, 32, 2, True, True), Inverted(32, 96, 32, 1, True, True))
        self.last = nn.Sequential(nn.Conv2d(32, 96, 1, bias=False), nn.BatchNorm2d(96), nn.Hardswish())
        self.head = nn.Sequential(nn.Linear(96, 64), nn.Hardswish(), nn.Linear(64, 10))

    def forward(self, x):
        return self.head(F.adaptive_avg_pool2d(self.last(self.blocks(self.stem(x))), 1).flatten(1))


class Attention(nn.Module):
    def __init__(self, width, heads, length):
        super().__init__()
        self.heads, self.length, self.size = heads, length, width // heads
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))

    def split(self, x):
        return x.reshape(-1, self.length, self.heads, self.size).transpose(1, 2)

    def forward(self, x):
        q, k, v = self.split(self.q(x)), self.split(self.k(x)), self.split(self.v(x))
        p = torch.softmax(torch.matmul(q, k.transpose(2, 3)) * self.size ** -0.5, -1)
        return self.o(torch.matmul(p, v).transpose(1, 2).reshape(-1, self.length, self.heads * self.size))


class Block(nn.Module):
    def __init__(self, width, heads, length, pre_norm):
        super().__init__()
        self.attention, self.na, self.nb, self.pre_norm = Attention(width, heads, length), nn.LayerNorm(width), nn.LayerNorm(width), pre_norm
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        if self.pre_norm:
            x = x + self.attention(self.na(x))
            return x + self.mlp(self.nb(x))
        x = self.na(x + self.attention(x))
        return self.nb(x + self.mlp(x))


class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch = nn.Conv2d(1, 48, 2, 2)
        self.place = nn.Parameter(0.1 * torch.randn(1, 16, 48))
        self.blocks = nn.Sequential(*(Block(48, 4, 16, True) for _ in range(2)))
        self.norm, self.head = nn.LayerNorm(48), nn.Linear(48, 10)

    def forward(self, x):
        x = self.patch(x * 0.125 - 1).reshape(-1, 48, 16).transpose(1, 2) + self.place
        return self.head(self.norm(self.blocks(x)).mean(1))


class Bert(nn.Module):
    def __init__(self):
        super().__init__()
        self.word, self.place = nn.Embedding(17, 40), nn.Parameter(torch.randn(1, 64, 40))
        self.norm, self.blocks = nn.LayerNorm(40), nn.Sequential(*(Block(40, 4, 64, False) for _ in range(2)))
        self.pooler, self.head = nn.Linear(40, 40), nn.Linear(40, 10)

    def forward(self, ids):
        x = self.blocks(self.norm(self.word(ids) + self.place))
        return self.head(torch.tanh(self.pooler(x[:, 0])))


NETWORKS = {"resnet": (ResNet, 12, 3e-3), "mobilenet": (MobileNet, 14, 5e-3), "vit": (ViT, 60, 3e-3), "bert": (Bert, 45, 4e-3)}


def data(name):
    digits = load_digits()
    order = np.random.RandomState(0).permutation(len(digits.target))
    x = digits.images[order]
    x = x.reshape(-1, 64).astype(np.int32) if name == "bert" else x.reshape(-1, 1, 8, 8).astype(np.float32)
    return x[360:], digits.target[order][360:], x[:360], digits.target[order][:360]


def train(name):
    torch.manual_seed(0)
    make, epochs, rate = NETWORKS[name]
    x, y, test, wanted = (torch.from_numpy(v) for v in data(name))
    net = make()
    steps = epochs * (len(x) // 48)
    optimizer = torch.optim.AdamW(net.parameters(), lr=rate, weight_decay=0)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, rate, steps)
    for epoch in range(epochs):
        net.train()
        order = torch.randperm(len(x))
        for i in range(len(x) // 48):
            at = order[48 * i:48 * i + 48]
            loss = F.cross_entropy(net(x[at]), y[at])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    net.eval()
    with torch.no_grad():
        right = (net(test).argmax(1) == wanted).double().mean().item()
    return net, test[:BATCH], right


def export(name, net, example, right):
    path = os.path.join(HERE, f"{name}.onnx")
    source = "ids" if name == "bert" else "image"
    torch.onnx.export(net, (example,), path, input_names=[source], output_names=["logits"], opset_version=17, dynamo=False,
                      dynamic_axes={source: {0: "batch"}, "logits": {0: "batch"}})
    model = onnx.load(path)
    model.producer_name, model.producer_version = "tests/models/train.py", ""
    for node in model.graph.node:
        del node.metadata_props[:]
        node.doc_string = ""
    onnx.helper.set_model_props(model, {"accuracy": f"{right:.4f} of 360 held-out digits"})
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return os.path.getsize(path)


def feeds(name, values):
    """The program's feed-list JSON: arrays as base64 .npy files."""
    import base64
    import io
    made = []
    for i in range(SAMPLES):
        file = io.BytesIO()
        np.save(file, values[BATCH * i:BATCH * (i + 1)], allow_pickle=False)
        made.append({name: {"array": base64.b64encode(file.getvalue()).decode(), "polygraphy_class": "ndarray"}})
    return json.dumps(made)


def main():
    torch.set_num_threads(1)  # the networks are too small for two
    for name in sys.argv[1:] or NETWORKS:
        start = time.time()
        net, example, right = train(name)
        size = export(name, net, example, right)
        print(f"{name}: {100 * right:.1f} % of 360 held-out digits, {size} bytes, {time.time() - start:.0f} s")
    for file, name in (("images.json", "image"), ("tokens.json", "ids")):
        with open(os.path.join(HERE, file), "w") as out:
            out.write(feeds(name, data("bert" if name == "ids" else "vit")[2]) + "\n")
    with open(os.path.join(HERE, "labels.json"), "w") as out:
        out.write(json.dumps(data("vit")[3][:SAMPLES * BATCH].tolist()) + "\n")


if __name__ == "__main__":
    main()
