# SPDX-License-Identifier: Apache-2.0
"""Encoders of text, translators, sound and series of transformers for export_models.py."""
import torch
from models_mixed import BART, TINY, sound
from models_text import LENGTH, LLAMA, NO_CACHE, SMALL, decoder, ids, model, seq2seq, text, tokens
from models_vision import Model

T5 = dict(num_layers=2, d_model=128, d_ff=256, d_kv=32, num_heads=4, vocab_size=1000)
CONVS = dict(conv_dim=(64,) * 7, **TINY)
SERIES = dict(prediction_length=8, context_length=24, input_size=1, lags_sequence=[1, 2, 3], num_time_features=2, encoder_layers=2, decoder_layers=2)


def features(length=64, bins=40, name="input_features"):
    return lambda: {name: torch.randn(1, length, bins)}


def seen(count=6, size=48):
    return {"input_ids": ids(), "visual_feats": torch.randn(1, count, size), "visual_pos": torch.rand(1, count, 4)}


def boxes():
    return dict(tokens(), bbox=torch.randint(0, 100, (1, LENGTH, 4)).sort(-1).values)


def series():
    return {"past_values": torch.randn(2, 27), "past_time_features": torch.randn(2, 27, 2), "past_observed_mask": torch.ones(2, 27),
            "future_values": torch.randn(2, 8), "future_time_features": torch.randn(2, 8, 2)}


def episode(steps=6):
    return {"states": torch.randn(1, steps, 17), "actions": torch.randn(1, steps, 4), "rewards": torch.randn(1, steps, 1), "returns_to_go": torch.randn(1, steps, 1),
            "timesteps": torch.arange(steps)[None], "attention_mask": torch.ones(1, steps, dtype=torch.int64)}


def vocoder():
    import transformers
    return transformers.SpeechT5HifiGan(transformers.SpeechT5HifiGanConfig(upsample_initial_channel=64, initializer_range=0.1)), {"spectrogram": torch.randn(1, 20, 80)}


MODELS = [
    # Text
    text("roformer", "RoFormerModel", "RoFormerConfig", **SMALL),
    text("eurobert", "EuroBertModel", "EuroBertConfig", dynamic=True, pad_token_id=0, num_key_value_heads=2, **SMALL),
    text("nomic_bert", "NomicBertModel", "NomicBertConfig", dynamic=True, **SMALL),
    text("jina_embeddings_v3", "JinaEmbeddingsV3Model", "JinaEmbeddingsV3Config", **SMALL),
    text("megatron_bert", "MegatronBertModel", "MegatronBertConfig", **SMALL),
    text("ernie", "ErnieModel", "ErnieConfig", **SMALL),
    text("splinter", "SplinterModel", "SplinterConfig", **SMALL),
    text("xmod", "XmodModel", "XmodConfig", default_language="en_XX", **SMALL),
    text("xlm_roberta_xl", "XLMRobertaXLModel", "XLMRobertaXLConfig", **SMALL),
    text("roberta_prelayernorm", "RobertaPreLayerNormModel", "RobertaPreLayerNormConfig", **SMALL),
    text("deberta_v1", "DebertaModel", "DebertaConfig", relative_attention=True, pos_att_type=["p2c", "c2p"], **SMALL),
    text("markuplm", "MarkupLMModel", "MarkupLMConfig", **SMALL),
    text("tapas", "TapasModel", "TapasConfig", **SMALL),
    text("canine", "CanineModel", "CanineConfig", local_transformer_stride=8, num_hash_buckets=512, **SMALL),
    text("mra", "MraModel", "MraConfig", **SMALL),
    text("xlm", "XLMModel", "XLMConfig", layers="n_layers", emb_dim=128, n_heads=4, vocab_size=1000),
    text("flaubert", "FlaubertModel", "FlaubertConfig", layers="n_layers", emb_dim=128, n_heads=4, vocab_size=1000),
    text("xlm_roberta_token", "XLMRobertaForTokenClassification", "XLMRobertaConfig", dynamic=True, wanted=("logits",), **SMALL),
    text("bert_masked", "BertForMaskedLM", "BertConfig", wanted=("logits",), **SMALL),
    text("electra_answers", "ElectraForQuestionAnswering", "ElectraConfig", dynamic=True, wanted=("start_logits", "end_logits"), **SMALL),
    model("lilt", "LiltModel", "LiltConfig", boxes, num_hidden_layers=2, **dict(SMALL, hidden_size=192)),
    model("visual_bert", "VisualBertModel", "VisualBertConfig", lambda: dict(tokens(), visual_embeds=torch.randn(1, 6, 48)), visual_embedding_dim=48, num_hidden_layers=2, **SMALL),
    model("lxmert", "LxmertModel", "LxmertConfig", seen, ("language_output", "vision_output", "pooled_output"), l_layers=2, x_layers=1, r_layers=1, visual_feat_dim=48, **SMALL),
    model("perceiver_text", "PerceiverForMaskedLM", "PerceiverConfig", lambda: {"inputs": torch.randint(6, 250, (1, 64)), "attention_mask": torch.ones(1, 64, dtype=torch.int64)},
          ("logits",), num_latents=16, d_latents=64, d_model=48, num_self_attends_per_block=2, num_self_attention_heads=4, num_cross_attention_heads=4, max_position_embeddings=64,
          qk_channels=32, v_channels=64),
    decoder("openai_gpt", "OpenAIGPTLMHeadModel", "OpenAIGPTConfig", n_layer=2, n_embd=128, n_head=4, vocab_size=1000),
    decoder("imagegpt", "ImageGPTForCausalImageModeling", "ImageGPTConfig", n_layer=2, n_embd=128, n_head=4, n_positions=64, vocab_size=1001),
    # Translators
    seq2seq("mt5", "MT5ForConditionalGeneration", "MT5Config", **T5),
    seq2seq("umt5", "UMT5ForConditionalGeneration", "UMT5Config", **T5),
    seq2seq("switch_transformers", "SwitchTransformersForConditionalGeneration", "SwitchTransformersConfig", num_experts=4, num_sparse_encoder_layers=1, num_sparse_decoder_layers=1, **T5),
    seq2seq("t5gemma", "T5GemmaForConditionalGeneration", "T5GemmaConfig", vocab_size=1000, encoder=dict(LLAMA, head_dim=64, sliding_window=8), decoder=dict(LLAMA, head_dim=64, sliding_window=8)),
    seq2seq("m2m_100", "M2M100ForConditionalGeneration", "M2M100Config", **BART),
    seq2seq("plbart", "PLBartForConditionalGeneration", "PLBartConfig", **BART),
    seq2seq("blenderbot_small", "BlenderbotSmallForConditionalGeneration", "BlenderbotSmallConfig", **BART),
    seq2seq("pegasus_x", "PegasusXForConditionalGeneration", "PegasusXConfig", block_size=8, num_global_tokens=4, **BART),
    seq2seq("led", "LEDForConditionalGeneration", "LEDConfig", attention_window=8, **BART),
    seq2seq("prophetnet", "ProphetNetForConditionalGeneration", "ProphetNetConfig", hidden_size=128, encoder_ffn_dim=256, num_encoder_layers=2, num_encoder_attention_heads=4, decoder_ffn_dim=256,
            num_decoder_layers=2, num_decoder_attention_heads=4, vocab_size=1000),
    seq2seq("fsmt", "FSMTForConditionalGeneration", "FSMTConfig", langs=["en", "de"], src_vocab_size=1000, tgt_vocab_size=1000, **{k: v for k, v in BART.items() if k != "vocab_size"}),
    # Sound
    model("sew", "SEWModel", "SEWConfig", sound, **dict(CONVS, conv_dim=(64,) * 13)),
    model("sew_d", "SEWDModel", "SEWDConfig", sound, **dict(CONVS, conv_dim=(64,) * 13)),
    model("unispeech_sat", "UniSpeechSatModel", "UniSpeechSatConfig", sound, **CONVS),
    model("wav2vec2_stable", "Wav2Vec2ForCTC", "Wav2Vec2Config", sound, ("logits",), do_stable_layer_norm=True, feat_extract_norm="layer", vocab_size=32, **CONVS),
    model("wav2vec2_bert", "Wav2Vec2BertModel", "Wav2Vec2BertConfig", features(64, 160), feature_projection_input_dim=160, **TINY),
    model("parakeet_ctc", "ParakeetForCTC", "ParakeetCTCConfig", features(96, 80), ("logits",), vocab_size=65, pad_token_id=64, encoder_config=dict(TINY, subsampling_conv_channels=32)),
    model("speech_to_text", "Speech2TextForConditionalGeneration", "Speech2TextConfig", lambda: {"input_features": torch.randn(1, 64, 40), "decoder_input_ids": ids(1, 6)}, ("logits",),
          call=NO_CACHE, input_feat_per_channel=40, conv_channels=64, **BART),
    model("moonshine", "MoonshineForConditionalGeneration", "MoonshineConfig", lambda: {"input_values": torch.randn(1, 6000), "decoder_input_ids": ids(1, 6)}, ("logits",), call=NO_CACHE,
          hidden_size=96, intermediate_size=192, encoder_num_hidden_layers=2, decoder_num_hidden_layers=2, encoder_num_attention_heads=4, decoder_num_attention_heads=4, vocab_size=1000),
    model("clap_audio", "ClapAudioModel", "ClapAudioConfig", lambda: {"input_features": torch.randn(1, 1, 64, 64)}, spec_size=64, num_mel_bins=64, patch_embeds_hidden_size=32, depths=[1, 1],
          num_attention_heads=[2, 4], window_size=4, hidden_size=64, num_classes=10),
    model("dac", "DacModel", "DacConfig", lambda: {"input_values": torch.randn(1, 1, 2048)}, ("audio_values",), encoder_hidden_size=16, downsampling_ratios=[2, 4], upsampling_ratios=[4, 2],
          decoder_hidden_size=64, n_codebooks=2, codebook_size=64, codebook_dim=8, hidden_size=64),
    model("mimi", "MimiModel", "MimiConfig", lambda: {"input_values": torch.randn(1, 1, 3840)}, ("audio_values",), num_filters=8, hidden_size=64, num_hidden_layers=1, num_attention_heads=4,
          num_key_value_heads=4, head_dim=16, intermediate_size=128, codebook_size=64, codebook_dim=16, vector_quantization_hidden_dimension=16, num_quantizers=4, upsample_groups=64),
    model("univnet", "UnivNetModel", "UnivNetConfig", lambda: {"input_features": torch.randn(1, 16, 40), "noise_sequence": torch.randn(1, 16, 32)}, ("waveforms",), num_mel_bins=40,
          model_in_channels=32, model_hidden_channels=16, kernel_predictor_hidden_channels=32),
    Model("hifigan", vocoder, ["wave"]),
    # Series
    model("patchtsmixer", "PatchTSMixerForPrediction", "PatchTSMixerConfig", lambda: {"past_values": torch.randn(2, 32, 3)}, ("prediction_outputs",), num_input_channels=3, d_model=32,
          loss="mse"),
    model("patchtst_prediction", "PatchTSTForPrediction", "PatchTSTConfig", lambda: {"past_values": torch.randn(2, 32, 3)}, ("prediction_outputs",), num_input_channels=3, context_length=32,
          patch_length=8, patch_stride=4, d_model=64, num_attention_heads=4, ffn_dim=128, num_hidden_layers=2, loss="mse", prediction_length=8),
    model("time_series_transformer", "TimeSeriesTransformerModel", "TimeSeriesTransformerConfig", series, call=NO_CACHE, **SERIES),
    model("autoformer", "AutoformerModel", "AutoformerConfig", series, call=NO_CACHE, moving_average=5, label_length=4, **SERIES),
    model("informer", "InformerModel", "InformerConfig", series, call=NO_CACHE, attention_type="full", **SERIES),
    model("decision_transformer", "DecisionTransformerModel", "DecisionTransformerConfig", episode, ("action_preds",), n_layer=2, n_head=4, max_ep_len=64),
]
