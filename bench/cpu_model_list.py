# SPDX-License-Identifier: Apache-2.0
"""The models of bench/cpu_models.py with random weights, exported by torch in float32 at batch 1 (needs torch, torchvision and onnx)."""
import os

import numpy as np
import onnx
import torch
import torchvision
from onnx import TensorProto, helper
from torch import nn
from torch.nn import functional as F
from torch.utils.flop_counter import FlopCounterMode

import gpu_models
from gpu_models import Bert, Gpt2Step, Layer, Unet, Vit, Yolo


class Gpt2(nn.Module):
    """GPT-2 small over 128 tokens."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(50257, 768), nn.Parameter(torch.randn(1, 128, 768) * 0.02)
        self.layers = nn.ModuleList(Layer(768, 12, True, "tanh", joined=True) for _ in range(12))
        self.norm, self.mask = nn.LayerNorm(768), nn.Buffer(torch.full((128, 128), -10000.0).triu(1))

    def forward(self, ids):
        x = self.words(ids) + self.places
        for layer in self.layers:
            x = layer(x, self.mask)
        return F.linear(self.norm(x), self.words.weight)


class Whisper(nn.Module):
    """The encoder of Whisper tiny."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv1d(80, 384, 3, 1, 1), nn.Conv1d(384, 384, 3, 2, 1)
        self.places, self.norm = nn.Parameter(torch.randn(1, 1500, 384) * 0.02), nn.LayerNorm(384)
        self.layers = nn.ModuleList(Layer(384, 6, True) for _ in range(4))

    def forward(self, x):
        x = F.gelu(self.second(F.gelu(self.first(x)))).transpose(1, 2) + self.places
        for layer in self.layers:
            x = layer(x)
        return self.norm(x)


class Detector(nn.Module):
    """SSDlite320 without the selection of boxes."""

    def __init__(self):
        super().__init__()
        whole = torchvision.models.detection.ssdlite320_mobilenet_v3_large(weights=None, weights_backbone=None)
        self.backbone, self.head = whole.backbone, whole.head

    def forward(self, x):
        found = self.head(list(self.backbone(x).values()))
        return found["bbox_regression"], found["cls_logits"]


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.cells = nn.LSTM(512, 512, 2)

    def forward(self, x):
        return self.cells(x)[0]


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def digits():
    return nn.Sequential(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(),
                         nn.Linear(128, 10))


def picture(side=224):
    return lambda: torch.randn(1, 3, side, side)


def tokens(length):
    return lambda: torch.randint(0, 30522, (1, length))


def classifier(name):
    return lambda: getattr(torchvision.models, name)(weights=None)


MODELS = {  # name: how it is made, its inputs, the goal of one or two threads and of more, in times of the best other runtime
    "resnet50": (classifier("resnet50"), [picture()], 1.35, 1.3),
    "densenet121": (classifier("densenet121"), [picture()], 1.35, 1.3),
    "convnext_tiny": (classifier("convnext_tiny"), [picture()], 1.35, 1.3),
    "mobilenet_v2": (classifier("mobilenet_v2"), [picture()], 1.4, 1.3),
    "ssdlite320": (Detector, [picture(320)], 1.4, 1.3),
    "efficientnet_b0": (classifier("efficientnet_b0"), [picture()], 1.8, 1.6),
    "vgg16": (classifier("vgg16"), [picture()], 2.0, 1.6),
    "unet64": (lambda: Unet(1), [lambda: torch.randn(1, 4, 64, 64)], 2.0, 1.6),
    "yolov8n": (lambda: Yolo(1), [picture(1)], 1.6, 1.4),
    "vit_b_16": (lambda: Vit(1), [picture()], 1.05, 1.1),
    "bert_base_128": (lambda: Bert(12, 768, 12, 128), [tokens(128), lambda: torch.ones(1, 128, dtype=torch.int64)], 1.05, 1.1),
    "minilm6_128": (lambda: Bert(6, 384, 12, 128), [tokens(128), lambda: torch.ones(1, 128, dtype=torch.int64)], 1.1, 1.2),
    "gpt2_prefill_128": (Gpt2, [tokens(128)], 1.1, 1.2),
    "gpt2_decode": (Gpt2Step, [tokens(1)], 1.0, 1.0),
    "whisper_tiny_encoder": (Whisper, [lambda: torch.randn(1, 80, 3000)], 1.1, 1.2),
    "lstm_2x512": (Lstm, [lambda: torch.randn(128, 1, 512)], 1.15, 1.1),
    "mlp": (mlp, [lambda: torch.randn(1, 784)], 5, 1),
    "digits": (digits, [lambda: torch.randn(1, 1, 28, 28)], 3, 1),
    "elementwise_50": (None, [lambda: torch.randn(16)], 4, 1),
}


def chain(path):
    """50 elementwise operators on 16 numbers."""
    kinds = ("Relu", "Sigmoid", "Tanh", "Neg", "Abs")
    nodes = [helper.make_node(kinds[i % len(kinds)], [f"x{i}"], [f"x{i + 1}"]) for i in range(50)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [16]) for name in ("x0", "x50")]
    onnx.save(helper.make_model(helper.make_graph(nodes, "chain", ends[:1], ends[1:]), opset_imports=[helper.make_opsetid("", 17)], ir_version=10), path)


def operations_of(model, given):
    """Of its products and convolutions."""
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        model(*given)
    return counter.get_total_flops()


def export(name, folder):
    """Path of the model, whose inputs lie beside it as .npz, and the number of its floating-point operations."""
    make, inputs = MODELS[name][:2]
    path = os.path.join(folder, name + ".onnx")
    kept = path + ".operations"
    if os.path.exists(kept):
        return path, int(open(kept).read())
    torch.manual_seed(0)
    gpu_models.EXPORTING = True
    given, operations = tuple(x() for x in inputs), 0
    if make:
        model = make().eval()
        with torch.no_grad():
            torch.onnx.export(model, given, path, opset_version=17, dynamo=False, input_names=[f"x{i}" for i in range(len(given))])
        operations = operations_of(model, given)
    else:
        chain(path)
    np.savez(path + ".npz", **{f"x{i}": x.numpy() for i, x in enumerate(given)})
    with open(kept, "w") as f:
        f.write(str(operations))
    return path, operations
