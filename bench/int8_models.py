#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whole models in int8 on the processor, ONNX Runtime and OpenVINO beside the engine: int8_models.py LIBRARY [options] [WORD...]

LIBRARY is libpolygraphy.so. Models of torchvision and transformers of gpu_models.py, with random weights, are exported in float32 and quantised by
onnxruntime.quantization: "static" by QuantizeLinear and DequantizeLinear with int8 weights per channel and calibration with random inputs, "dynamic"
by its dynamic way. Each WORD chooses models whose name contains it. All sides run in turn in one process on the same input. Best times in
milliseconds, the peers' times over ours, and the largest difference of our output from ONNX Runtime's, relative to its largest magnitude. Needs
torch, torchvision, onnx and onnxruntime; OpenVINO's columns stay empty without openvino.
"""
import argparse
import ctypes
import os
import tempfile
import time

import numpy as np
import onnxruntime
import torch
import torchvision
from onnxruntime.quantization import CalibrationDataReader, QuantType, quantize_dynamic, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

import gpu_models
from operators import Ours, Theirs, aligned, difference, race

try:
    import openvino
except ImportError:
    openvino = None

IMAGES = ("resnet50", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b0")


class Samples(CalibrationDataReader):
    def __init__(self, feeds):
        self.left = iter(feeds)

    def get_next(self):
        return next(self.left, None)


class OpenVino:
    def __init__(self, path, threads, feed):
        compiled = openvino.Core().compile_model(path, "CPU", {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"})
        self.request = compiled.create_infer_request()
        for name, x in feed.items():
            self.request.set_tensor(name, openvino.Tensor(x, shared_memory=True))

    def run(self):
        self.request.infer()


def image_model(name):
    """A model of torchvision whose normalisations have the statistics of random images, so that no values vanish in bytes."""
    model = getattr(torchvision.models, name)(weights=None)
    for m in model.modules():
        if isinstance(m, torch.nn.BatchNorm2d):
            m.momentum = None
    with torch.no_grad():
        model.train()(torch.randn(4, 3, 224, 224))
    return model


def float_models():
    """Name, a function that makes the model, and one that makes an input."""
    for name in IMAGES:
        yield name, lambda name=name: image_model(name), lambda: (torch.randn(1, 3, 224, 224),)
    yield "vit_b_16", lambda: gpu_models.Vit(1), lambda: (torch.randn(1, 3, 224, 224),)
    yield "bert_base_128", lambda: gpu_models.Bert(12, 768, 12, 128), lambda: (torch.randint(0, 30522, (1, 128)), torch.ones(1, 128, dtype=torch.int64))


def ways(name):
    """How a model is quantised: its name and arguments of quantize_static, or None for quantize_dynamic."""
    yield "static", {"activation_type": QuantType.QInt8}
    yield "static uint8", {"activation_type": QuantType.QUInt8}
    if name in ("vit_b_16", "bert_base_128"):
        yield "dynamic", None


def with_own_norms(model):
    """New normalisations have equal weights, which the export shares by Identity nodes. Not every version of quant_pre_process removes those, and then
    the quantisation leaves out the biases behind them."""
    for m in model.modules():
        if isinstance(m, torch.nn.LayerNorm):
            torch.nn.init.normal_(m.weight, 1, 0.1)
            torch.nn.init.normal_(m.bias, 0, 0.1)
    return model


def exported(folder, name, make, sample):
    """Path of a float32 model that is ready to be quantised, and inputs."""
    torch.manual_seed(0)
    gpu_models.EXPORTING = True
    feeds = [{f"x{i}": x.numpy() for i, x in enumerate(sample())} for _ in range(3)]
    path, ready = (os.path.join(folder, f"{name}{suffix}.onnx") for suffix in (".f32", ""))
    if not os.path.exists(ready):
        with torch.no_grad():
            torch.onnx.export(with_own_norms(make()).eval(), tuple(torch.from_numpy(x) for x in feeds[0].values()), path, opset_version=17, dynamo=False, input_names=list(feeds[0]))
        quant_pre_process(path, ready, skip_symbolic_shape=True)
    return ready, feeds


def quantised(path, feeds, way, static):
    made = path.removesuffix(".onnx") + "_" + way.replace(" ", "_") + ".onnx"
    if os.path.exists(made):
        return made
    if static:
        quantize_static(path, made, Samples(feeds), per_channel=True, weight_type=QuantType.QInt8, **static)
    else:
        quantize_dynamic(path, made)
    return made


def models(folder, words):
    """Name, path and input of each. What `folder` has from an earlier run is not made again."""
    for name, make, sample in float_models():
        wanted = [(way, static) for way, static in ways(name) if not words or any(w in f"{name} {way}" for w in words)]
        if not wanted:
            continue
        path, feeds = exported(folder, name, make, sample)
        for way, static in wanted:
            yield f"{name} {way}", quantised(path, feeds, way, static), feeds[0]


def measure(o, library, path, feed, threads):
    """Best times of the sides, and the difference of our output from ONNX Runtime's."""
    feed = {n: aligned(x) for n, x in feed.items()}
    theirs = Theirs(path, threads, feed)
    wanted = dict(zip(theirs.names, theirs.results()))
    got, results = ({n: aligned(x) for n, x in wanted.items()} for _ in range(2))
    ours = Ours(library, path, threads, feed, got)
    theirs.bind(results, ours.sized)
    sides = [ours, theirs] + ([OpenVino(path, threads, feed)] if openvino else [])
    ours.run()
    apart = difference(got, wanted)
    return race(sides, o.seconds, time.process_time if o.cpu else time.perf_counter), apart


def main():
    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("library")
    a.add_argument("words", nargs="*", metavar="WORD")
    a.add_argument("--threads", type=int, nargs="+", default=[1])
    a.add_argument("--seconds", type=float, default=4, help="for each model and number of threads")
    a.add_argument("--cpu", action="store_true", help="processor time instead of elapsed time, for one thread on a busy machine")
    a.add_argument("--keep", metavar="FOLDER", help="where the models are made and stay")
    o = a.parse_intermixed_args()
    library, ratios = ctypes.CDLL(o.library), []
    print("| model | threads | ours | ONNX Runtime | OpenVINO | ONNX Runtime / ours | OpenVINO / ours | difference |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name, path, feed in models(o.keep or folder, o.words):
            for threads in o.threads:
                (ours, *peers), apart = measure(o, library, path, feed, threads)
                peers = (peers + [np.nan])[:2]
                ratios.append([p / ours for p in peers])
                print(f"| {name} | {threads} | {1e3 * ours:.2f} | {1e3 * peers[0]:.2f} | {1e3 * peers[1]:.2f} | {peers[0] / ours:.2f} | {peers[1] / ours:.2f} | {apart:.0e} |", flush=True)
    if ratios:
        print("\nGeometric means of the peers' times over ours: {:.2f}, {:.2f}".format(*np.exp(np.mean(np.log(ratios), axis=0))))


if __name__ == "__main__":
    main()
