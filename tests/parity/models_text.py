# SPDX-License-Identifier: Apache-2.0
"""Architectures of transformers for export_models.py: few layers at realistic widths."""
import torch
from models_vision import Model

LENGTH = 24


class Call(torch.nn.Module):
    """A transformers model with positional inputs and a tuple of tensors as output."""

    def __init__(self, model, names, wanted, options):
        super().__init__()
        self.model, self.names, self.wanted, self.options = model, names, wanted, options

    def forward(self, *inputs):
        out = self.model(**dict(zip(self.names, inputs)), return_dict=True, **self.options)
        return tuple(out[w] for w in self.wanted)


def ids(batch=1, length=LENGTH, words=900):
    return torch.randint(5, words, (batch, length))


def tokens(batch=1, length=LENGTH):
    mask = torch.ones(batch, length, dtype=torch.int64)
    if batch > 1:
        mask[1, length - 4:] = 0
    return {"input_ids": ids(batch, length), "attention_mask": mask}


def pixels(size=64):
    return {"pixel_values": torch.rand(1, 3, size, size)}


SEQUENCE = {"input_ids": {0: "batch", 1: "sequence"}, "attention_mask": {0: "batch", 1: "sequence"}}


def model(name, kind, config, inputs, wanted=("last_hidden_state",), dynamic=None, opset=None, attention="eager", call=None, part=None, **fields):
    def build():
        import transformers
        settings = getattr(transformers, config)(**fields)
        settings._attn_implementation = attention
        built = getattr(transformers, kind)(settings)
        if part:
            built = getattr(built, part)()
        given = inputs()
        return Call(built, list(given), wanted, call or {}), given
    return Model(name, build, list(wanted), dynamic or {}, opset)


def text(name, kind, config, dynamic=False, wanted=("last_hidden_state",), layers="num_hidden_layers", **fields):
    return model(name, kind, config, lambda: tokens(2 if dynamic else 1), wanted, SEQUENCE if dynamic else None, **{layers: 2}, **fields)


NO_CACHE = {"use_cache": False}
SMALL = dict(hidden_size=256, num_attention_heads=4, intermediate_size=512, vocab_size=1000)
LLAMA = dict(SMALL, num_hidden_layers=2, num_key_value_heads=2, max_position_embeddings=128)


def decoder(name, kind, config, dynamic=False, **fields):
    return model(name, kind, config, lambda: tokens(2 if dynamic else 1), ("logits",), SEQUENCE if dynamic else None, call=NO_CACHE, **fields)


def bert_base():
    """Full size, as the benchmarks use it."""
    base = model("bert_base", "BertModel", "BertConfig",
                 lambda: {"input_ids": ids(1, 64, 1000), "attention_mask": torch.ones(1, 64, dtype=torch.int64)},
                 ("last_hidden_state", "pooler_output"), opset=17)
    base.outputs = ["hidden", "pooled"]
    return base


def seq2seq(name, kind, config, **fields):
    return model(name, kind, config,
                 lambda: dict(tokens(), decoder_input_ids=ids(1, 8), decoder_attention_mask=torch.ones(1, 8, dtype=torch.int64)),
                 ("logits",), call=NO_CACHE, **fields)


def speech(name, kind, config, **fields):
    return model(name, kind, config, lambda: {"input_values": torch.randn(1, 4000)}, num_hidden_layers=2, hidden_size=192,
                 num_attention_heads=4, intermediate_size=384, conv_dim=(64,) * 7, vocab_size=32, **fields)


WHISPER = dict(d_model=128, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=256,
               decoder_ffn_dim=256, vocab_size=1000, max_source_positions=100, max_target_positions=64, pad_token_id=0, bos_token_id=1,
               eos_token_id=2, decoder_start_token_id=1, num_mel_bins=40)


def whisper_inputs():
    return {"input_features": torch.randn(1, 40, 200), "decoder_input_ids": ids(1, 6)}


def landmarks():
    """Of rank 4, a mask is taken as it is; transformers would make one row for each token, where there are fewer landmarks."""
    return {"input_ids": ids(), "attention_mask": torch.zeros(1, 1, 1, LENGTH)}


def gpt2_with_cache():
    """One step of decoding: keys and values come in and go out one longer."""
    import transformers
    from transformers.cache_utils import DynamicCache

    class Step(torch.nn.Module):
        def __init__(self):
            super().__init__()
            config = transformers.GPT2Config(n_layer=2, n_embd=192, n_head=4, vocab_size=1000, n_positions=128)
            config._attn_implementation = "eager"
            self.model = transformers.GPT2LMHeadModel(config)

        def forward(self, input_ids, attention_mask, key_0, value_0, key_1, value_1):
            cache = DynamicCache()
            cache.update(key_0, value_0, 0)
            cache.update(key_1, value_1, 1)
            out = self.model(input_ids=input_ids, attention_mask=attention_mask, past_key_values=cache, use_cache=True)
            kept = out.past_key_values
            return out.logits, kept.layers[0].keys, kept.layers[0].values, kept.layers[1].keys, kept.layers[1].values

    past = {f"{kind}_{i}": torch.randn(2, 4, 7, 48) for i in range(2) for kind in ("key", "value")}
    return Step(), {"input_ids": ids(2, 1), "attention_mask": torch.ones(2, 8, dtype=torch.int64), **past}


PAST = {"input_ids": {0: "batch"}, "attention_mask": {0: "batch", 1: "total"},
        **{f"{kind}_{i}": {0: "batch", 2: "past"} for i in range(2) for kind in ("key", "value")}}
VIT = dict(num_hidden_layers=2, hidden_size=192, num_attention_heads=3, intermediate_size=384, image_size=64, patch_size=16)

MODELS = [
    bert_base(),
    text("bert", "BertForSequenceClassification", "BertConfig", dynamic=True, wanted=("logits",)),
    text("distilbert", "DistilBertModel", "DistilBertConfig", layers="n_layers", dynamic=True, n_heads=4, dim=256, hidden_dim=512, vocab_size=1000),
    text("roberta", "RobertaModel", "RobertaConfig", dynamic=True, **SMALL),
    text("albert", "AlbertModel", "AlbertConfig", dynamic=True, embedding_size=64, **SMALL),
    text("electra", "ElectraModel", "ElectraConfig", **SMALL),
    text("deberta", "DebertaV2Model", "DebertaV2Config", relative_attention=True, pos_att_type=["p2c", "c2p"], position_buckets=32, **SMALL),
    text("mpnet", "MPNetModel", "MPNetConfig", **SMALL),
    text("convbert", "ConvBertModel", "ConvBertConfig", **SMALL),
    text("xlnet", "XLNetModel", "XLNetConfig", layers="n_layer", d_model=128, n_head=4, d_inner=256, vocab_size=1000),
    text("funnel", "FunnelBaseModel", "FunnelConfig", layers="num_decoder_layers", block_sizes=[1, 1], d_model=128, n_head=4, d_head=32, d_inner=256, vocab_size=1000),
    text("squeezebert", "SqueezeBertModel", "SqueezeBertConfig", embedding_size=256, **SMALL),
    text("mobilebert", "MobileBertModel", "MobileBertConfig", vocab_size=1000),
    text("modernbert", "ModernBertModel", "ModernBertConfig", dynamic=True, pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2, **SMALL),
    text("fnet", "FNetModel", "FNetConfig", hidden_size=128, intermediate_size=256, vocab_size=1000),
    model("nystromformer", "NystromformerModel", "NystromformerConfig", landmarks, num_hidden_layers=2, segment_means_seq_len=LENGTH, num_landmarks=6, **SMALL),
    text("rembert", "RemBertModel", "RemBertConfig", **SMALL),
    model("layoutlm", "LayoutLMModel", "LayoutLMConfig", lambda: dict(tokens(), bbox=torch.randint(0, 100, (1, LENGTH, 4)).sort(-1).values), num_hidden_layers=2, **SMALL),
    decoder("gpt2", "GPT2LMHeadModel", "GPT2Config", dynamic=True, n_layer=2, n_embd=192, n_head=4, vocab_size=1000),
    Model("gpt2_with_cache", gpt2_with_cache, ["logits", "key_0_out", "value_0_out", "key_1_out", "value_1_out"], PAST),
    decoder("gpt_neox", "GPTNeoXForCausalLM", "GPTNeoXConfig", num_hidden_layers=2, **SMALL),
    decoder("gptj", "GPTJForCausalLM", "GPTJConfig", n_layer=2, n_embd=128, n_head=4, rotary_dim=16, vocab_size=1000),
    decoder("opt", "OPTForCausalLM", "OPTConfig", num_hidden_layers=2, hidden_size=128, num_attention_heads=4, ffn_dim=256, word_embed_proj_dim=128, vocab_size=1000),
    decoder("bloom", "BloomForCausalLM", "BloomConfig", n_layer=2, hidden_size=128, n_head=4, vocab_size=1000),
    decoder("llama", "LlamaForCausalLM", "LlamaConfig", dynamic=True, **LLAMA),
    decoder("mistral", "MistralForCausalLM", "MistralConfig", sliding_window=8, **LLAMA),
    decoder("qwen2", "Qwen2ForCausalLM", "Qwen2Config", dynamic=True, **LLAMA),
    decoder("qwen3", "Qwen3ForCausalLM", "Qwen3Config", head_dim=64, **LLAMA),
    decoder("phi", "PhiForCausalLM", "PhiConfig", **LLAMA),
    decoder("gemma", "GemmaForCausalLM", "GemmaConfig", head_dim=64, **LLAMA),
    decoder("gemma2", "Gemma2ForCausalLM", "Gemma2Config", head_dim=64, sliding_window=8, **LLAMA),
    decoder("falcon", "FalconForCausalLM", "FalconConfig", num_hidden_layers=2, hidden_size=128, num_attention_heads=4, vocab_size=1000),
    decoder("stablelm", "StableLmForCausalLM", "StableLmConfig", **LLAMA),
    decoder("mixtral", "MixtralForCausalLM", "MixtralConfig", num_local_experts=4, num_experts_per_tok=2, experts_implementation="batched_mm", **LLAMA),
    model("mamba", "MambaModel", "MambaConfig", lambda: {"input_ids": ids(1, 8)}, call=NO_CACHE, num_hidden_layers=2, hidden_size=64, state_size=8, vocab_size=1000),
    model("rwkv", "RwkvModel", "RwkvConfig", lambda: {"input_ids": ids(1, 8)}, call=NO_CACHE, num_hidden_layers=2, hidden_size=64, vocab_size=1000),
    seq2seq("t5", "T5ForConditionalGeneration", "T5Config", num_layers=2, d_model=128, d_ff=256, d_kv=32, num_heads=4, vocab_size=1000),
    model("t5_encoder", "T5EncoderModel", "T5Config", lambda: tokens(2), dynamic=SEQUENCE, num_layers=2, d_model=128, d_ff=256, d_kv=32, num_heads=4, vocab_size=1000),
    seq2seq("bart", "BartForConditionalGeneration", "BartConfig", encoder_layers=2, decoder_layers=2, d_model=128, encoder_ffn_dim=256, decoder_ffn_dim=256,
            encoder_attention_heads=4, decoder_attention_heads=4, vocab_size=1000),
    seq2seq("marian", "MarianMTModel", "MarianConfig", encoder_layers=2, decoder_layers=2, d_model=128, encoder_ffn_dim=256, decoder_ffn_dim=256,
            encoder_attention_heads=4, decoder_attention_heads=4, vocab_size=1000, pad_token_id=0, decoder_start_token_id=0),
    model("whisper_encoder", "WhisperModel", "WhisperConfig", lambda: {"input_features": torch.randn(1, 40, 200)}, part="get_encoder", **WHISPER),
    model("whisper", "WhisperForConditionalGeneration", "WhisperConfig", whisper_inputs, ("logits",), call=NO_CACHE, **WHISPER),
    speech("wav2vec2", "Wav2Vec2ForCTC", "Wav2Vec2Config", wanted=("logits",)),
    speech("hubert", "HubertModel", "HubertConfig"),
    speech("wavlm", "WavLMModel", "WavLMConfig"),
    model("vit", "ViTModel", "ViTConfig", pixels, **VIT),
    model("deit", "DeiTModel", "DeiTConfig", pixels, **VIT),
    model("dinov2", "Dinov2Model", "Dinov2Config", pixels, dynamic={"pixel_values": {0: "batch"}}, **dict(VIT, patch_size=8)),
    model("beit", "BeitModel", "BeitConfig", pixels, **VIT),
    model("clip_text", "CLIPTextModel", "CLIPTextConfig", lambda: tokens(2), ("last_hidden_state", "pooler_output"), dynamic=SEQUENCE, num_hidden_layers=2,
          eos_token_id=2, **SMALL),
    model("clip_vision", "CLIPVisionModel", "CLIPVisionConfig", pixels, ("last_hidden_state", "pooler_output"), **VIT),
    model("siglip_vision", "SiglipVisionModel", "SiglipVisionConfig", pixels, **VIT),
    model("swin", "SwinModel", "SwinConfig", pixels, image_size=64, patch_size=4, embed_dim=48, depths=[2, 2], num_heads=[3, 6], window_size=4),
    model("segformer", "SegformerForSemanticSegmentation", "SegformerConfig", pixels, ("logits",), depths=[1, 1, 1, 1], hidden_sizes=[32, 64, 96, 128]),
    model("mobilevit", "MobileViTModel", "MobileViTConfig", pixels, image_size=64, initializer_range=0.15),
    model("detr", "DetrForObjectDetection", "DetrConfig", lambda: pixels(96), ("logits", "pred_boxes"), use_timm_backbone=False, use_pretrained_backbone=False,
          backbone=None, encoder_layers=2, decoder_layers=2, d_model=128, num_queries=20, encoder_ffn_dim=256, decoder_ffn_dim=256),
    model("yolos", "YolosForObjectDetection", "YolosConfig", lambda: pixels(64), ("logits", "pred_boxes"), num_detection_tokens=10, **dict(VIT, image_size=[64, 64])),
    model("dpt", "DPTForDepthEstimation", "DPTConfig", pixels, ("predicted_depth",), neck_hidden_sizes=[24, 48, 96, 96], fusion_hidden_size=32,
          backbone_out_indices=[0, 1, 2, 3], is_hybrid=False, **dict(VIT, num_hidden_layers=4)),
    model("sam_vision", "SamVisionModel", "SamVisionConfig", lambda: pixels(128), hidden_size=96, num_hidden_layers=2, num_attention_heads=4, image_size=128,
          patch_size=16, window_size=5, global_attn_indexes=[1], output_channels=32, mlp_ratio=2.0),
    model("convnextv2", "ConvNextV2Model", "ConvNextV2Config", pixels, depths=[1, 1, 1, 1], hidden_sizes=[32, 64, 96, 128]),
    model("vilt", "ViltModel", "ViltConfig", lambda: dict(tokens(), **pixels()), **dict(VIT, vocab_size=1000)),
]
