# SPDX-License-Identifier: Apache-2.0
"""Architectures of torchvision and timm for export_models.py, at sizes that keep the reference fast."""
from dataclasses import dataclass, field

import torch


@dataclass
class Model:
    name: str
    build: object  # () -> module, {input: tensor}
    outputs: list = None
    dynamic: dict = field(default_factory=dict)  # {input: {axis: name}}: a second export names these axes
    opset: int = None  # of the classic exporter, where it must be this one


def image(size, channels=3, batch=1):
    return {"image": torch.rand(batch, channels, size, size)}


BATCH = {"image": {0: "batch"}}


def classifier(name, size=96, dynamic=None, opset=None, **options):
    def build():
        import torchvision
        return getattr(torchvision.models, name)(weights=None, **options), image(size, batch=2 if dynamic else 1)
    return Model(name, build, ["logits"], dynamic or {}, opset)


def full_size(name, file=None):
    model = classifier(name, 224, opset=17)
    model.name = file or name
    return model


class Flat(torch.nn.Module):
    """Detectors and segmenters return dictionaries and lists of them."""

    def __init__(self, model, listed):
        super().__init__()
        self.model, self.listed = model, listed

    def forward(self, image):
        out = self.model([image[0]] if self.listed else image)
        out = out[0] if self.listed else out
        return tuple(out.values())


def segmenter(name, size=96, dynamic=None, **options):
    def build():
        import torchvision
        model = getattr(torchvision.models.segmentation, name)(weights=None, weights_backbone=None, **options)
        return Flat(model, False), image(size, batch=2 if dynamic else 1)
    return Model(name, build, None, dynamic or {})


def detector(name, size=128, **options):
    def build():
        import torchvision
        model = getattr(torchvision.models.detection, name)(weights=None, weights_backbone=None, **options)
        for module in model.modules():  # random weights find nothing at the usual thresholds
            for threshold in ("score_thresh", "box_score_thresh"):
                if hasattr(module, threshold):
                    setattr(module, threshold, 0.01)
        return Flat(model, True), image(size)
    return Model(name, build)


def raft():
    import torchvision

    class Last(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.model = torchvision.models.optical_flow.raft_small(weights=None)

        def forward(self, first, second):
            return self.model(first, second, num_flow_updates=2)[-1]

    return Last(), {"first": torch.rand(1, 3, 128, 128), "second": torch.rand(1, 3, 128, 128)}


def video(name, frames=8, size=64):
    def build():
        import torchvision
        model = getattr(torchvision.models.video, name)(weights=None)
        for module in model.modules():  # the small weights that some start with leave nothing of the input
            if isinstance(module, torch.nn.Conv3d):
                torch.nn.init.kaiming_normal_(module.weight)
        return model, {"clip": torch.rand(1, 3, frames, size, size)}
    return Model(name, build, ["logits"])


def timm_model(name, size=96, dynamic=None, opset=None, **options):
    def build():
        import timm
        return timm.create_model(name, pretrained=False, **options), image(size, batch=2 if dynamic else 1)
    return Model("timm_" + name, build, ["logits"], dynamic or {}, opset)


MODELS = [
    full_size("resnet50"), full_size("mobilenet_v2"), full_size("densenet121"), full_size("vit_b_16"),
    full_size("squeezenet1_1", "squeezenet"), full_size("efficientnet_b0"),
    classifier("alexnet", 224), classifier("vgg11", 224), classifier("resnet18", dynamic=BATCH), classifier("resnext50_32x4d"),
    classifier("wide_resnet50_2"), classifier("googlenet", aux_logits=False, init_weights=False, dynamic=BATCH),
    classifier("inception_v3", 128, aux_logits=False, init_weights=False), classifier("mnasnet1_0", dynamic=BATCH),
    classifier("shufflenet_v2_x1_0", dynamic=BATCH), classifier("regnet_y_400mf"), classifier("regnet_x_400mf"),
    classifier("mobilenet_v3_large", dynamic={"image": {0: "batch", 2: "height", 3: "width"}}), classifier("convnext_tiny", 64),
    classifier("efficientnet_v2_s"), classifier("swin_t", 64), classifier("swin_v2_t", 64), classifier("maxvit_t", 224),
    classifier("vit_b_32", 64, image_size=64, dynamic=BATCH),
    segmenter("deeplabv3_mobilenet_v3_large", 128), segmenter("fcn_resnet50", 64),
    segmenter("lraspp_mobilenet_v3_large", 128, dynamic={"image": {0: "batch", 2: "height", 3: "width"}}),
    detector("ssdlite320_mobilenet_v3_large"), detector("ssd300_vgg16"),
    detector("retinanet_resnet50_fpn", min_size=128, max_size=128), detector("fcos_resnet50_fpn", min_size=128, max_size=128),
    detector("fasterrcnn_mobilenet_v3_large_320_fpn", min_size=128, max_size=128, rpn_post_nms_top_n_test=50),
    detector("maskrcnn_resnet50_fpn", min_size=128, max_size=128, rpn_post_nms_top_n_test=30, box_detections_per_img=10),
    detector("keypointrcnn_resnet50_fpn", min_size=128, max_size=128, rpn_post_nms_top_n_test=30, box_detections_per_img=10),
    Model("raft_small", raft, ["flow"]), video("r3d_18"), video("mc3_18"), video("r2plus1d_18"), video("s3d", 16, 224),
    timm_model("resnetv2_50"), timm_model("resnest14d"), timm_model("ecaresnet26t"), timm_model("dla34"),
    timm_model("hrnet_w18_small"), timm_model("ghostnet_100", dynamic=BATCH), timm_model("mixer_s32_224", 224),
    timm_model("gmlp_s16_224", 224), timm_model("deit_tiny_patch16_224", 224, depth=4),
    timm_model("beit_base_patch16_224", 224, depth=2), timm_model("pit_ti_224", 224), timm_model("cait_xxs24_224", 224, depth=3),
    timm_model("levit_128s", 224), timm_model("edgenext_xx_small", 128), timm_model("mobilevit_xxs", 128),
    timm_model("mobilevitv2_050", 128), timm_model("poolformer_s12", dynamic=BATCH), timm_model("efficientformer_l1", 224),
    timm_model("fastvit_t8", 128), timm_model("repvgg_a0", 64), timm_model("tf_efficientnet_lite0"), timm_model("nfnet_l0", 64),
    timm_model("convmixer_768_32", 64), timm_model("coatnet_0_rw_224", 224), timm_model("xcit_nano_12_p16_224", 224, depth=3),
    timm_model("volo_d1_224", 224, opset=18), timm_model("eva02_tiny_patch14_224", 224, depth=3), timm_model("res2net50_26w_4s", 64),
    timm_model("crossvit_tiny_240", 240, depth=((1, 2, 0), (1, 2, 0), (1, 2, 0))), timm_model("lambda_resnet26t", 128), timm_model("botnet26t_256", 256),
]
