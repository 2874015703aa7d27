# SPDX-License-Identifier: Apache-2.0
"""More architectures of timm for export_models.py: the smallest one or two of each of its modules."""
from models_vision import timm_model

# Picture sizes of architectures that take only one size.
FIXED = {
    "eca_botnext26ts_256": 256, "coat_tiny": 224, "coat_lite_tiny": 224, "convit_tiny": 224, "convit_small": 224, "crossvit_9_240": 240,
    "crossvit_9_dagger_240": 240, "deit_small_patch16_224": 224, "deit3_small_patch16_224": 224, "efficientformer_l3": 224,
    "efficientformerv2_s0": 224, "efficientformerv2_s1": 224, "efficientvit_m0": 224, "efficientvit_m1": 224, "gcvit_xxtiny": 224,
    "gcvit_xtiny": 224, "hiera_tiny_224": 224, "levit_conv_128s": 224, "levit_128": 224, "coatnet_pico_rw_224": 224,
    "coatnet_nano_cc_224": 224, "coatnet_nano_rw_224": 224, "coatnet_0_224": 224, "gmlp_ti16_224": 224, "gmixer_12_224": 224,
    "mvitv2_tiny": 224, "nest_tiny": 224, "nest_tiny_jx": 224, "pit_ti_distilled_224": 224, "pit_xs_224": 224, "sequencer2d_s": 224,
    "swiftformer_xs": 224, "swiftformer_s": 224, "swin_tiny_patch4_window7_224": 224, "swin_s3_tiny_224": 224,
    "swinv2_tiny_window16_256": 256, "swinv2_tiny_window8_256": 256, "swinv2_cr_tiny_224": 224, "tnt_s_legacy_patch16_224": 224,
    "tnt_s_patch16_224": 224, "twins_svt_small": 224, "twins_pcpvt_small": 224, "visformer_tiny": 224, "vit_tiny_r_s16_p8_224": 224,
    "vit_srelpos_small_patch16_224": 224, "vit_relpos_small_patch16_rpn_224": 224, "vitamin_small_224": 224, "xcit_nano_12_p8_224": 224,
}

OTHERS = """
    halonet_h1 mobileone_s1 mobileone_s0 mobileone_s2 gernet_s convmixer_1024_20_ks9_p14 convnext_atto_rms convnext_atto cpubone_nano
    cpubone_t0 cs3darknet_focus_s cs3darknet_s cspnext_tiny cspnext_s davit_tiny densenet121 densenetblur121d dla46x_c dla46_c dpn48b dpn68
    edgenext_x_small edgenext_small efficientnet_b0 efficientnet_b0_gn efficientnet_b1_pruned efficientnet_b0_g8_gn efficientvim_m1
    efficientvim_m1_dist efficientvit_b0 efficientvit_b1 fasternet_t0 fasternet_t1 fastvit_t12 fastvit_s12 focalnet_tiny_srf
    focalnet_tiny_lrf ghostnet_050 ghostnetv3_050 hardcorenas_b hardcorenas_a hgnetv2_b0 hgnetv2_b1 hrnet_w18_small_v2 hrnet_w18_ssld
    iformer_t iformer_s inception_next_atto inception_next_tiny inception_v3 lcnetv2_small lcnetv2_base lowformer_b0 lowformer_b1
    mambaout_femto mambaout_kobe poolformer_s24 caformer_s18 convformer_s18 mobilenetv3_small_050 lcnet_035 mobilevit_xs mobilevitv2_075
    nextvit_small nf_ecaresnet26 eca_nfnet_l0 pvt_v2_b0 pvt_v2_b1 rdnet_tiny regnetx_002 regnetx_004 repghostnet_050 repghostnet_058
    repvit_m1 repvit_m0_9 res2next50 res2net50_14w_8s resnest26d resnest50d_1s4x24d resnet10t resnet14t resnet18 resnet18d resnetv2_18
    resnetv2_18d rexnet_100 rexnetr_100 selecsls42 selecsls60 legacy_seresnet18 legacy_seresnext26_32x4d shvit_s1 shvit_s2 skresnet18
    skresnet34 starnet_s050 starnet_s100 tiny_vit_5m_224 tiny_vit_11m_224 tresnet_m ese_vovnet19b_slim_dw ese_vovnet19b_slim legacy_xception
    xception41p xception41
""".split()

MODELS = [timm_model(n, size) for n, size in FIXED.items()] + [timm_model(n, 128) for n in OTHERS]
