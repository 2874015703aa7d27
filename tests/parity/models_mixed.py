# SPDX-License-Identifier: Apache-2.0
"""Architectures of transformers with structures of their own: mixtures, long attention, sound, video, several inputs."""
import torch
from models_text import LENGTH, LLAMA, SMALL, VIT, decoder, ids, model, pixels, seq2seq, text, tokens

BART = dict(encoder_layers=2, decoder_layers=2, d_model=128, encoder_ffn_dim=256, decoder_ffn_dim=256, encoder_attention_heads=4, decoder_attention_heads=4,
            vocab_size=1000)
TINY = dict(hidden_size=128, num_attention_heads=4, intermediate_size=256, num_hidden_layers=2)


def frames(count, size):
    return {"pixel_values": torch.rand(1, count, 3, size, size)}


def sound(length=4000):
    return {"input_values": torch.randn(1, length)}


MODELS = [
    decoder("phi3", "Phi3ForCausalLM", "Phi3Config", pad_token_id=0, **LLAMA),
    decoder("cohere", "CohereForCausalLM", "CohereConfig", **LLAMA),
    decoder("olmo", "OlmoForCausalLM", "OlmoConfig", **LLAMA),
    decoder("granite", "GraniteForCausalLM", "GraniteConfig", **LLAMA),
    decoder("starcoder2", "Starcoder2ForCausalLM", "Starcoder2Config", **LLAMA),
    decoder("gpt_bigcode", "GPTBigCodeForCausalLM", "GPTBigCodeConfig", n_layer=2, n_embd=128, n_head=4, vocab_size=1000),
    decoder("gpt_neo", "GPTNeoForCausalLM", "GPTNeoConfig", num_layers=2, hidden_size=128, num_heads=4, intermediate_size=256,
            attention_types=[[["global", "local"], 1]], window_size=8, vocab_size=1000),
    decoder("codegen", "CodeGenForCausalLM", "CodeGenConfig", n_layer=2, n_embd=128, n_head=4, rotary_dim=16, vocab_size=1000),
    decoder("xglm", "XGLMForCausalLM", "XGLMConfig", num_layers=2, d_model=128, ffn_dim=256, attention_heads=4, vocab_size=1000),
    decoder("deepseek_v3", "DeepseekV3ForCausalLM", "DeepseekV3Config", n_routed_experts=4, num_experts_per_tok=2, experts_implementation="batched_mm", n_group=2, topk_group=1, q_lora_rank=32,
            kv_lora_rank=32, qk_rope_head_dim=16, qk_nope_head_dim=32, v_head_dim=32, moe_intermediate_size=64, first_k_dense_replace=1,
            **dict(LLAMA, num_key_value_heads=4)),
    decoder("qwen2_moe", "Qwen2MoeForCausalLM", "Qwen2MoeConfig", num_experts=4, num_experts_per_tok=2, experts_implementation="batched_mm", moe_intermediate_size=64,
            shared_expert_intermediate_size=64, **LLAMA),
    model("mamba2", "Mamba2Model", "Mamba2Config", lambda: {"input_ids": ids(1, 8)}, call={"use_cache": False}, num_hidden_layers=2, hidden_size=64,
          state_size=8, num_heads=8, head_dim=16, n_groups=2, chunk_size=8, vocab_size=1000),
    text("longformer", "LongformerModel", "LongformerConfig", attention_window=[8, 8], **SMALL),
    text("big_bird", "BigBirdModel", "BigBirdConfig", attention_type="original_full", **SMALL),
    text("ibert", "IBertModel", "IBertConfig", quant_mode=False, **SMALL),
    text("esm", "EsmModel", "EsmConfig", position_embedding_type="rotary", pad_token_id=0, mask_token_id=1, **SMALL),
    text("camembert", "CamembertModel", "CamembertConfig", **SMALL),
    text("data2vec_text", "Data2VecTextModel", "Data2VecTextConfig", **SMALL),
    text("luke", "LukeModel", "LukeConfig", entity_vocab_size=50, entity_emb_size=64, use_entity_aware_attention=False, **SMALL),
    seq2seq("pegasus", "PegasusForConditionalGeneration", "PegasusConfig", pad_token_id=0, **BART),
    seq2seq("mbart", "MBartForConditionalGeneration", "MBartConfig", **BART),
    seq2seq("blenderbot", "BlenderbotForConditionalGeneration", "BlenderbotConfig", **BART),
    seq2seq("longt5", "LongT5ForConditionalGeneration", "LongT5Config", num_layers=2, d_model=128, d_ff=256, d_kv=32, num_heads=4, vocab_size=1000,
            local_radius=8, decoder_start_token_id=0),
    model("audio_spectrogram", "ASTModel", "ASTConfig", lambda: {"input_values": torch.randn(1, 128, 128)}, max_length=128, **TINY),
    model("unispeech", "UniSpeechModel", "UniSpeechConfig", sound, conv_dim=(64,) * 7, **TINY),
    model("data2vec_audio", "Data2VecAudioModel", "Data2VecAudioConfig", sound, conv_dim=(64,) * 7, **TINY),
    model("wav2vec2_conformer", "Wav2Vec2ConformerModel", "Wav2Vec2ConformerConfig", sound, conv_dim=(64,) * 7, **TINY),
    model("encodec", "EncodecModel", "EncodecConfig", lambda: {"input_values": torch.randn(1, 1, 3200)}, ("audio_values",), num_filters=8, hidden_size=32,
          codebook_size=64, codebook_dim=32, num_lstm_layers=1, upsampling_ratios=[8, 5], target_bandwidths=[12.0]),
    model("timesformer", "TimesformerModel", "TimesformerConfig", lambda: frames(4, 32), image_size=32, num_frames=4, **TINY),
    model("videomae", "VideoMAEModel", "VideoMAEConfig", lambda: frames(4, 32), image_size=32, num_frames=4, **TINY),
    model("vivit", "VivitModel", "VivitConfig", lambda: frames(4, 32), image_size=32, num_frames=4, tubelet_size=[2, 16, 16], **TINY),
    model("swin2sr", "Swin2SRForImageSuperResolution", "Swin2SRConfig", lambda: pixels(32), ("reconstruction",), image_size=32, embed_dim=48, depths=[1, 1],
          num_heads=[3, 3], window_size=8),
    model("glpn", "GLPNForDepthEstimation", "GLPNConfig", pixels, ("predicted_depth",), depths=[1, 1, 1, 1], hidden_sizes=[32, 64, 96, 128],
          num_attention_heads=[1, 2, 3, 4], decoder_hidden_size=32),
    model("pvt", "PvtModel", "PvtConfig", pixels, image_size=64, depths=[1, 1, 1, 1], hidden_sizes=[32, 64, 96, 128], num_attention_heads=[1, 2, 3, 4]),
    model("cvt", "CvtModel", "CvtConfig", pixels, embed_dim=[32, 64, 96], num_heads=[1, 2, 3], depth=[1, 2, 3]),
    model("focalnet", "FocalNetModel", "FocalNetConfig", pixels, image_size=64, embed_dim=32, depths=[1, 1], hidden_sizes=[32, 64], focal_levels=[2, 2],
          focal_windows=[3, 3]),
    model("blip_vision", "BlipVisionModel", "BlipVisionConfig", pixels, **VIT),
    model("layoutlmv3", "LayoutLMv3Model", "LayoutLMv3Config", lambda: dict(tokens(), bbox=torch.randint(0, 100, (1, LENGTH, 4)).sort(-1).values, **pixels()),
          input_size=64, coordinate_size=20, shape_size=24, **dict(TINY, vocab_size=1000)),
    model("patchtst", "PatchTSTModel", "PatchTSTConfig", lambda: {"past_values": torch.randn(1, 32, 2)}, num_input_channels=2, context_length=32, patch_length=8,
          patch_stride=4, d_model=64, num_attention_heads=4, ffn_dim=128, num_hidden_layers=2),
]
