/* SPDX-License-Identifier: Apache-2.0 */
/* WhisperBeamSearch (com.microsoft): beam search over the texts that Whisper hears. */
#include "ops/class_generate.h"

static const op_attr_def ATTRS[] = {
    {"decoder", OP_ATTR_GRAPH, true, NULL},
    {"init_decoder", OP_ATTR_GRAPH, false, NULL},
    {"encoder", OP_ATTR_GRAPH, false, NULL},
    {"beginning_timestamp_token_id", OP_ATTR_INT, false, "-1"},
    {"decoder_output_cross_qk", OP_ATTR_INT, false, "0"},
    {"decoder_start_token_id", OP_ATTR_INT, false, "-1"},
    {"early_stopping", OP_ATTR_INT, false, "0"},
    {"eos_token_id", OP_ATTR_INT, true, NULL},
    {"model_type", OP_ATTR_INT, false, "2"},
    {"no_repeat_ngram_size", OP_ATTR_INT, false, "0", NULL, "0.."},
    {"no_speech_token_id", OP_ATTR_INT, false, "-1"},
    {"no_timestamps_token_id", OP_ATTR_INT, false, "-1"},
    {"pad_token_id", OP_ATTR_INT, true, NULL},
    {"start_of_lm_token_id", OP_ATTR_INT, false, "-1"},
    {"transcribe_token_id", OP_ATTR_INT, false, "-1"},
    {"translate_token_id", OP_ATTR_INT, false, "-1"},
    {"vocab_size", OP_ATTR_INT, false, "-1"},
    {NULL},
};

enum { EXTRA_IDS = 13, CROSS_QK = 3, SILENCE = 4 };

static const generate_inputs INPUTS = {.max_length = 1,
                                       .min_length = 2,
                                       .beams = 3,
                                       .returned = 4,
                                       .length_penalty = 5,
                                       .repetition_penalty = 6,
                                       .vocab_mask = 7,
                                       .prefix_mask = 8,
                                       .attention_mask = 9,
                                       .decoder_ids = 10,
                                       .logits_processor = 11,
                                       .temperature = 14,
                                       .oldest_model = GENERATE_WHISPER,
                                       .newest_model = GENERATE_WHISPER};

static bool wants(const op_eval *c, size_t output)
{
    return c->node->output_count > output && c->wanted[output];
}

/* The products of the cross attentions come from decoders with shared caches, which run on GPUs. */
static pgy_status check_support(const op_eval *c, pgy_error *err)
{
    if (wants(c, CROSS_QK) || op_attr_int(c->node, "decoder_output_cross_qk", 0))
        return op_error(
            c->node, err, PGY_E_UNSUPPORTED,
            "output 3 (cross_qk) needs a decoder with shared caches for GPUs and is not "
            "computed; remove it and decoder_output_cross_qk");
    if (op_has_value(c, EXTRA_IDS))
        return op_error(c->node, err, PGY_E_UNSUPPORTED,
                        "input 13 (extra_decoding_ids) selects rows of output 3 (cross_qk), which "
                        "is not computed; append its words to decoder_input_ids");
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    generate g = {0};
    pgy_status st = check_support(c, err);
    if (!st) st = generate_init(&g, c, &INPUTS, err);
    if (!st && wants(c, SILENCE)) {
        st = op_output(c, SILENCE, PGY_DTYPE_NONE, 1, &g.batch, err);
        if (!st) g.silence = out_f64(c, SILENCE);
    }
    if (!st) st = generate_beams(&g, err);
    generate_deinit(&g);
    return st;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    static const char WHY[] = "the decoder's attentions are not known";
    const pgy_status st = generate_infer_beams(c, err);
    if (st) return st;
    if (c->node->output_count > CROSS_QK) op_set_unknown(c, CROSS_QK, PGY_F32, 5, WHY);
    if (c->node->output_count > SILENCE)
        op_set_output(c, SILENCE, c->outputs[1].dtype, 1, c->outputs[0].dims);
    return PGY_OK;
}

const op_def OP_whisper_beam_search[] = {
    {.name = "WhisperBeamSearch",
     .domain = "com.microsoft",
     .since = 1,
     .min_inputs = 5,
     .max_inputs = 15,
     .min_outputs = 1,
     .max_outputs = 5,
     .flags = OP_HAS_GRAPHS,
     .attrs = ATTRS,
     .types = "float32 float16",
     .infer = infer,
     .eval = eval,
     .flops = rule_no_flops,
     .signature = "T = float32 float16; F = float32 float16; I = int32; input_ids:F, "
                  "max_length:I, ?min_length:I, num_beams:I, num_return_sequences:I, "
                  "?length_penalty:T, ?repetition_penalty:T, ?vocab_mask:I, ?prefix_vocab_mask:I, "
                  "?attention_mask:I, ?decoder_input_ids:I, ?logits_processor:I, "
                  "?cross_qk_layer_head:I, ?extra_decoding_ids:I, ?temperature:T "
                  "-> sequences:I, ?sequences_scores:T, ?scores:T, ?cross_qk:float32, "
                  "?non_speech_probs:T"},
    {NULL},
};
