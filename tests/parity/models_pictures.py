# SPDX-License-Identifier: Apache-2.0
"""Pictures for export_models.py: transformers' backbones, detectors, segmenters, depth and keypoints, and more of torchvision."""
import torch
from models_text import VIT, model, pixels
from models_vision import BATCH, Model, classifier, segmenter, video

RESNET = dict(model_type="resnet", embedding_size=32, hidden_sizes=[32, 64, 96, 128], depths=[1, 1, 1, 1], layer_type="basic", out_features=["stage2", "stage3", "stage4"])
HGNET = dict(model_type="hgnet_v2", hidden_sizes=[32, 64, 96, 128], stem_channels=[3, 16, 16], stage_in_channels=[16, 32, 64, 96], stage_mid_channels=[16, 16, 32, 48],
             stage_out_channels=[32, 64, 96, 128], stage_numb_of_layers=[2, 2, 2, 2], stage_num_blocks=[1, 1, 1, 1], out_features=["stage2", "stage3", "stage4"])
STAGES = ["stage1", "stage2", "stage3", "stage4"]
SWIN = dict(model_type="swin", image_size=64, embed_dim=32, depths=[1, 1, 1, 1], num_heads=[1, 2, 4, 8], window_size=2, out_features=STAGES)
DINO = dict(model_type="dinov2", image_size=56, patch_size=14, hidden_size=96, num_hidden_layers=4, num_attention_heads=3, out_features=STAGES, reshape_hidden_states=False)
DETR = dict(encoder_layers=2, decoder_layers=2, d_model=128, num_queries=20, encoder_ffn_dim=256, decoder_ffn_dim=256, encoder_attention_heads=4, decoder_attention_heads=4)
REAL_TIME = dict(encoder_hidden_dim=64, encoder_in_channels=[64, 96, 128], encoder_ffn_dim=128, encoder_attention_heads=4, decoder_in_channels=[64, 64, 64], d_model=64,
                 num_queries=20, decoder_ffn_dim=128, decoder_layers=2, decoder_attention_heads=4, num_denoising=0, anchor_image_size=None)
BOXES = ("logits", "pred_boxes")
MASKS = ("class_queries_logits", "masks_queries_logits")
TEXT = dict(hidden_size=128, intermediate_size=256, num_hidden_layers=2, num_attention_heads=4, vocab_size=1000)
SQUARE = dict(hidden_size=192, num_hidden_layers=2, num_attention_heads=3, image_size=64, patch_size=16)


def detector(name, kind, config, backbone=RESNET, wanted=BOXES, size=96, channels=3, **fields):
    return model(name, kind, config, lambda: {"pixel_values": torch.rand(1, channels, size, size)}, wanted, backbone_config=dict(backbone), **fields)


def drawn(architecture):
    """With wider weights: the small ones that some start with leave nothing of the input."""
    def build():
        module, inputs = architecture.build()
        for part in module.modules():
            if isinstance(part, (torch.nn.Conv2d, torch.nn.Linear)):
                part.weight.data.normal_(0, (2 / part.weight[0].numel()) ** 0.5)
            elif isinstance(part, torch.nn.BatchNorm2d):
                part.weight.data.uniform_(0.5, 1.5)
        return module, inputs
    return Model(architecture.name, build, architecture.outputs, architecture.dynamic, architecture.opset)


def words_and_pixels(size=64):
    return {"input_ids": torch.randint(5, 900, (2, 12)), **pixels(size)}


def pair(name, kind, config, vision, wanted=("logits_per_image",), inputs=words_and_pixels, words=TEXT, **fields):
    return model(name, kind, config, inputs, wanted, text_config=dict(words), vision_config=dict(vision), **fields)


def patches():
    return {"pixel_values": torch.rand(1, 16, 768), "pixel_attention_mask": torch.ones(1, 16, dtype=torch.int64), "spatial_shapes": torch.tensor([[4, 4]])}


class Prompted(torch.nn.Module):
    """The decoder of masks beside an encoder: embeddings of a picture and points come in."""

    def __init__(self, kind, config, fields):
        super().__init__()
        import transformers
        settings = getattr(transformers, config)(**fields)
        settings._attn_implementation = "eager"
        self.model = getattr(transformers, kind)(settings)

    def forward(self, image_embeddings, input_points, input_labels):
        out = self.model(image_embeddings=image_embeddings, input_points=input_points, input_labels=input_labels, multimask_output=True)
        return out.iou_scores, out.pred_masks


def sam_decoder():
    vision = dict(hidden_size=32, num_hidden_layers=1, num_attention_heads=2, image_size=128, patch_size=16, output_channels=64, num_pos_feats=32, global_attn_indexes=[0])
    decoder = dict(hidden_size=64, mlp_dim=128, num_attention_heads=4, iou_head_hidden_dim=64)
    module = Prompted("SamModel", "SamConfig", dict(vision_config=vision, prompt_encoder_config=dict(hidden_size=64, image_size=128), mask_decoder_config=decoder))
    return module, {"image_embeddings": torch.randn(1, 64, 8, 8), "input_points": torch.rand(1, 1, 3, 2) * 128, "input_labels": torch.ones(1, 1, 3, dtype=torch.int64)}


def sam2_vision():
    return dict(backbone_config=dict(model_type="sam2_hiera_det_model", hidden_size=32, num_attention_heads=1, image_size=[128, 128], blocks_per_stage=[1, 1, 2, 1],
                embed_dim_per_stage=[32, 64, 128, 256], num_attention_heads_per_stage=[1, 2, 4, 8], window_size_per_stage=[8, 4, 8, 4], global_attention_blocks=[3],
                window_positional_embedding_background_size=[4, 4]), backbone_channel_list=[256, 128, 64, 32], backbone_feature_sizes=[[32, 32], [16, 16], [8, 8]], fpn_hidden_size=64)


MODELS = [
    # Backbones
    model("vit_msn", "ViTMSNModel", "ViTMSNConfig", pixels, **VIT),
    model("ijepa", "IJepaModel", "IJepaConfig", pixels, **VIT),
    model("dinov2_registers", "Dinov2WithRegistersModel", "Dinov2WithRegistersConfig", pixels, dynamic={"pixel_values": {0: "batch"}}, num_register_tokens=4, **dict(VIT, patch_size=8)),
    model("dinov3_vit", "DINOv3ViTModel", "DINOv3ViTConfig", pixels, num_register_tokens=4, **VIT),
    model("dinov3_convnext", "DINOv3ConvNextModel", "DINOv3ConvNextConfig", pixels, hidden_sizes=[32, 64, 96, 128], depths=[1, 1, 1, 1], layer_scale_init_value=0.5),
    model("aimv2_vision", "Aimv2VisionModel", "Aimv2VisionConfig", pixels, **VIT),
    model("mlcd_vision", "MLCDVisionModel", "MLCDVisionConfig", pixels, **VIT),
    model("pixtral_vision", "PixtralVisionModel", "PixtralVisionConfig", pixels, **VIT),
    model("internvl_vision", "InternVLVisionModel", "InternVLVisionConfig", pixels, **dict(VIT, image_size=[64, 64], patch_size=[16, 16])),
    model("idefics3_vision", "Idefics3VisionTransformer", "Idefics3VisionConfig", pixels, **VIT),
    model("siglip2_vision", "Siglip2VisionModel", "Siglip2VisionConfig", patches, ("last_hidden_state", "pooler_output"), num_patches=16, hidden_size=192, num_hidden_layers=2,
          num_attention_heads=3, intermediate_size=384),
    model("owlvit_vision", "OwlViTVisionModel", "OwlViTVisionConfig", pixels, **VIT),
    model("hiera", "HieraModel", "HieraConfig", pixels, image_size=[64, 64], patch_stride=[4, 4], embed_dim=32, depths=[1, 1, 2, 1], num_heads=[1, 2, 4, 8], masked_unit_size=[8, 8]),
    model("swinv2", "Swinv2Model", "Swinv2Config", pixels, image_size=64, embed_dim=48, depths=[2, 2], num_heads=[3, 6], window_size=4),
    model("donut_swin", "DonutSwinModel", "DonutSwinConfig", pixels, image_size=64, embed_dim=48, depths=[2, 2], num_heads=[3, 6], window_size=4),
    drawn(model("swiftformer", "SwiftFormerModel", "SwiftFormerConfig", pixels, depths=[1, 1, 1, 1], embed_dims=[32, 48, 64, 96], layer_scale_init_value=0.5)),
    drawn(model("levit", "LevitModel", "LevitConfig", lambda: pixels(96), image_size=96, hidden_sizes=[64, 96, 128], num_attention_heads=[2, 3, 4], depths=[1, 1, 1])),
    drawn(model("mobilenet_v1_hf", "MobileNetV1Model", "MobileNetV1Config", pixels, depth_multiplier=0.5)),
    drawn(model("mobilenet_v2_hf", "MobileNetV2Model", "MobileNetV2Config", pixels, depth_multiplier=0.5)),
    drawn(model("mobilevitv2", "MobileViTV2Model", "MobileViTV2Config", pixels, opset=18, image_size=64, width_multiplier=0.5, n_attn_blocks=[1, 1, 1])),
    drawn(model("poolformer", "PoolFormerModel", "PoolFormerConfig", pixels, depths=[1, 1, 1, 1], hidden_sizes=[32, 64, 96, 128], layer_scale_init_value=0.5)),
    model("pvt_v2", "PvtV2Model", "PvtV2Config", pixels, image_size=64, depths=[1, 1, 1, 1], hidden_sizes=[32, 64, 96, 128], num_attention_heads=[1, 2, 3, 4], linear_attention=True),
    drawn(model("regnet", "RegNetModel", "RegNetConfig", pixels, embedding_size=32, hidden_sizes=[32, 64, 96, 128], depths=[1, 1, 2, 1], groups_width=16)),
    model("resnet_hf", "ResNetModel", "ResNetConfig", pixels, embedding_size=32, hidden_sizes=[64, 96, 128, 192], depths=[1, 1, 2, 1],
          dynamic={"pixel_values": {0: "batch", 2: "height", 3: "width"}}),
    model("bit", "BitModel", "BitConfig", pixels, num_groups=8, embedding_size=32, hidden_sizes=[64, 96, 128, 192], depths=[1, 1, 2, 1]),
    model("convnext_hf", "ConvNextModel", "ConvNextConfig", pixels, depths=[1, 1, 2, 1], hidden_sizes=[32, 64, 96, 128], layer_scale_init_value=0.5),
    drawn(model("efficientnet_hf", "EfficientNetModel", "EfficientNetConfig", pixels, width_coefficient=0.5, depth_coefficient=0.5, hidden_dim=640, image_size=64)),
    drawn(model("hgnet_v2", "HGNetV2ForImageClassification", "HGNetV2Config", pixels, ("logits",), **{k: v for k, v in HGNET.items() if not k.startswith(("model", "out"))})),
    drawn(model("pp_lcnet_v3", "PPLCNetV3Backbone", "PPLCNetV3Config", pixels, ("feature_maps",), scale=0.5)),
    drawn(model("textnet", "TextNetModel", "TextNetConfig", pixels, image_size=[64, 64], stem_out_channels=32, hidden_sizes=[32, 32, 48, 64, 96])),
    model("mgp_str", "MgpstrForSceneTextRecognition", "MgpstrConfig", lambda: {"pixel_values": torch.rand(1, 3, 32, 128)}, ("logits",), hidden_size=128, num_hidden_layers=2,
          num_attention_heads=4, num_bpe_labels=500, num_wordpiece_labels=400),
    model("vjepa2", "VJEPA2Model", "VJEPA2Config", lambda: {"pixel_values_videos": torch.rand(1, 4, 3, 32, 32)}, crop_size=32, frames_per_clip=4, hidden_size=96, num_attention_heads=4,
          num_hidden_layers=2, pred_hidden_size=48, pred_num_attention_heads=4, pred_num_hidden_layers=1, call={"skip_predictor": True}),
    model("sam2_vision", "Sam2VisionModel", "Sam2VisionConfig", lambda: pixels(128), **sam2_vision()),
    Model("sam_decoder", sam_decoder, ["scores", "masks"]),
    # Detectors, segmenters, depth, keypoints
    detector("conditional_detr", "ConditionalDetrForObjectDetection", "ConditionalDetrConfig", **DETR),
    detector("table_transformer", "TableTransformerForObjectDetection", "TableTransformerConfig", **DETR),
    detector("dab_detr", "DabDetrForObjectDetection", "DabDetrConfig", **{k: v for k, v in DETR.items() if k != "d_model"}, hidden_size=128),
    detector("deformable_detr", "DeformableDetrForObjectDetection", "DeformableDetrConfig", disable_custom_kernels=True, two_stage=False, num_feature_levels=4, **DETR),
    detector("rt_detr", "RTDetrForObjectDetection", "RTDetrConfig", **REAL_TIME),
    detector("rt_detr_v2", "RTDetrV2ForObjectDetection", "RTDetrV2Config", **REAL_TIME),
    detector("d_fine", "DFineForObjectDetection", "DFineConfig", HGNET, **REAL_TIME),
    detector("deimv2", "Deimv2ForObjectDetection", "Deimv2Config", HGNET, **REAL_TIME),
    detector("rf_detr", "RfDetrForObjectDetection", "RfDetrConfig", dict(model_type="rf_detr_dinov2", hidden_size=96, num_hidden_layers=2, num_attention_heads=3, image_size=112, patch_size=14,
             num_windows=2, out_features=["stage1", "stage2"]), size=112, d_model=64, decoder_ffn_dim=128, decoder_layers=2, decoder_self_attention_heads=4,
             decoder_cross_attention_heads=4, num_queries=20, group_detr=1),
    detector("lw_detr", "LwDetrForObjectDetection", "LwDetrConfig", dict(model_type="lw_detr_vit", hidden_size=96, num_hidden_layers=2, num_attention_heads=3, image_size=128,
             pretrain_image_size=128, num_windows=4, window_block_indices=[0], out_indices=[1, 2]), size=128, projector_scale_factors=[1.0], d_model=64, decoder_ffn_dim=128, decoder_layers=2,
             decoder_self_attention_heads=4, decoder_cross_attention_heads=4, num_queries=20, group_detr=1),
    detector("maskformer", "MaskFormerForInstanceSegmentation", "MaskFormerConfig", SWIN, MASKS, 64, fpn_feature_size=64, mask_feature_size=64,
             decoder_config=dict(model_type="detr", encoder_layers=1, decoder_layers=1, d_model=64, num_queries=12, encoder_ffn_dim=96, decoder_ffn_dim=96,
                                 encoder_attention_heads=4, decoder_attention_heads=4)),
    detector("mask2former", "Mask2FormerForUniversalSegmentation", "Mask2FormerConfig", SWIN, MASKS, 64, feature_size=64, mask_feature_size=64, hidden_dim=64,
             encoder_feedforward_dim=96, encoder_layers=1, decoder_layers=3, num_attention_heads=4, dim_feedforward=96, num_queries=12),
    model("eomt", "EomtForUniversalSegmentation", "EomtConfig", pixels, MASKS, num_blocks=1, num_queries=12, **SQUARE),
    detector("upernet", "UperNetForSemanticSegmentation", "UperNetConfig", SWIN, ("logits",), 64, hidden_size=32, use_auxiliary_head=False, auxiliary_in_channels=128),
    detector("depth_anything", "DepthAnythingForDepthEstimation", "DepthAnythingConfig", DINO, ("predicted_depth",), 56, reassemble_hidden_size=96, neck_hidden_sizes=[16, 32, 48, 64],
             fusion_hidden_size=32, head_hidden_size=16),
    detector("vitmatte", "VitMatteForImageMatting", "VitMatteConfig", dict(model_type="vitdet", num_channels=4, image_size=64, pretrain_image_size=64, hidden_size=96, num_hidden_layers=2,
             num_attention_heads=3, out_features=["stage2"], use_relative_position_embeddings=True, window_size=2, window_block_indices=[0], residual_block_indices=[1]),
             ("alphas",), 64, 4, hidden_size=96, convstream_hidden_sizes=[16, 32, 48], fusion_hidden_sizes=[64, 48, 32, 16]),
    detector("vitpose", "VitPoseForPoseEstimation", "VitPoseConfig", dict(model_type="vitpose_backbone", image_size=[96, 96], hidden_size=96, num_hidden_layers=2, num_attention_heads=3,
             out_features=["stage2"]), ("heatmaps",)),
    model("superpoint", "SuperPointForKeypointDetection", "SuperPointConfig", pixels, ("keypoints", "scores"), encoder_hidden_sizes=[16, 16, 32, 32], decoder_hidden_size=64,
          descriptor_decoder_dim=64),
    # Words and pictures
    pair("clip", "CLIPModel", "CLIPConfig", VIT, projection_dim=64, words=dict(TEXT, eos_token_id=2)),
    pair("siglip", "SiglipModel", "SiglipConfig", VIT, words=dict(TEXT, projection_size=192)),
    pair("aimv2", "Aimv2Model", "Aimv2Config", VIT, words=dict(TEXT, eos_token_id=900), projection_dim=64),
    pair("chinese_clip", "ChineseCLIPModel", "ChineseCLIPConfig", VIT, projection_dim=64),
    pair("clipseg", "CLIPSegForImageSegmentation", "CLIPSegConfig", VIT, ("logits",), words=dict(TEXT, eos_token_id=2), projection_dim=64, extract_layers=[0, 1], reduce_dim=32,
         decoder_intermediate_size=64, inputs=lambda: {"input_ids": torch.randint(5, 900, (1, 12)), **pixels()}),
    pair("owlvit", "OwlViTForObjectDetection", "OwlViTConfig", VIT, BOXES, projection_dim=128, inputs=lambda: {"input_ids": torch.randint(5, 900, (2, 12)),
         "attention_mask": torch.ones(2, 12, dtype=torch.int64), **pixels()}),
    pair("groupvit", "GroupViTModel", "GroupViTConfig", dict(VIT, num_hidden_layers=3, depths=[1, 1, 1], num_group_tokens=[8, 4, 0], num_output_groups=[8, 4, 4]), projection_dim=64,
         projection_intermediate_dim=128, words=dict(TEXT, eos_token_id=2)),
    # torchvision
    classifier("shufflenet_v2_x0_5"), classifier("mnasnet0_5"), classifier("mobilenet_v3_small", dynamic=BATCH), classifier("efficientnet_b1"), classifier("regnet_y_800mf", 64),
    classifier("regnet_x_800mf", 64), classifier("resnet34", 64), classifier("densenet169", 64), classifier("convnext_small", 64), classifier("swin_s", 64),
    segmenter("deeplabv3_resnet50", 64), segmenter("fcn_resnet101", 64), video("swin3d_t", 8, 32),
]
