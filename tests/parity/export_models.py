#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports well-known architectures with random weights to ONNX: export_models.py FOLDER [NAME...]

Needs torch, torchvision and transformers. Models are made by this script and never stored in the repository.
"""
import os
import sys

import torch
import torchvision


def image_model(build, size=224):
    return lambda: (build(weights=None), (torch.rand(1, 3, size, size),), ["image"], ["logits"])


class Tuple(torch.nn.Module):
    """A transformers model with positional inputs and a tuple of outputs."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, input_ids, attention_mask):
        out = self.model(input_ids=input_ids, attention_mask=attention_mask, return_dict=True, use_cache=False)
        return out.last_hidden_state, out.pooler_output


def bert():
    from transformers import BertConfig, BertModel
    model = Tuple(BertModel(BertConfig(num_hidden_layers=12, attn_implementation="eager")))
    return model, (torch.randint(0, 1000, (1, 64)), torch.ones(1, 64, dtype=torch.int64)), ["input_ids", "attention_mask"], ["hidden", "pooled"]


MODELS = {
    "resnet50": image_model(torchvision.models.resnet50),
    "mobilenet_v2": image_model(torchvision.models.mobilenet_v2),
    "densenet121": image_model(torchvision.models.densenet121),
    "vit_b_16": image_model(torchvision.models.vit_b_16),
    "bert_base": bert,
    "squeezenet": image_model(torchvision.models.squeezenet1_1),
    "shufflenet": image_model(torchvision.models.shufflenet_v2_x1_0),
    "efficientnet_b0": image_model(torchvision.models.efficientnet_b0),
    "convnext_tiny": image_model(torchvision.models.convnext_tiny),
    "swin_t": image_model(torchvision.models.swin_t),
    "regnet": image_model(torchvision.models.regnet_y_400mf),
    "googlenet": lambda: (torchvision.models.googlenet(weights=None, aux_logits=False, init_weights=True), (torch.rand(1, 3, 224, 224),), ["image"], ["logits"]),
}


def main():
    folder, names = sys.argv[1], sys.argv[2:] or list(MODELS)
    os.makedirs(folder, exist_ok=True)
    for name in names:
        torch.manual_seed(0)
        model, inputs, input_names, output_names = MODELS[name]()
        model.eval()
        for p in model.parameters():  # heads that start at zero would make every output zero
            if p.ndim > 1 and not p.any():
                torch.nn.init.normal_(p, std=0.02)
        path = os.path.join(folder, name + ".onnx")
        try:
            torch.onnx.export(model, inputs, path, input_names=input_names, output_names=output_names, opset_version=17, dynamo=False)
            print(name, os.path.getsize(path) >> 20, "MiB", flush=True)
        except Exception as e:  # an exporter's failure is not ours: report and go on
            print(name, "could not be exported:", type(e).__name__, str(e).split("\n")[0], flush=True)


if __name__ == "__main__":
    main()
