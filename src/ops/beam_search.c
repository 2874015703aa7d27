/* SPDX-License-Identifier: Apache-2.0 */
/* BeamSearch (com.microsoft): the most likely texts that a decoder continues a prompt with, or that
 * an encoder and a decoder give for it. As in ONNX Runtime, decoder_input_ids and logits_processor
 * have a meaning for Whisper only; other models ignore them. */
#include "ops/class_generate.h"

static const op_attr_def ATTRS[] = {
    {"decoder", OP_ATTR_GRAPH, true, NULL},
    {"init_decoder", OP_ATTR_GRAPH, false, NULL},
    {"encoder", OP_ATTR_GRAPH, false, NULL},
    {"eos_token_id", OP_ATTR_INT, true, NULL},
    {"pad_token_id", OP_ATTR_INT, true, NULL},
    {"decoder_start_token_id", OP_ATTR_INT, false, "-1"},
    {"early_stopping", OP_ATTR_INT, false, "0"},
    {"model_type", OP_ATTR_INT, false, "0"},
    {"no_repeat_ngram_size", OP_ATTR_INT, false, "0", NULL, "0.."},
    {"vocab_size", OP_ATTR_INT, false, "-1"},
    {NULL},
};

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
                                       .newest_model = GENERATE_WHISPER};

static pgy_status eval(op_eval *c, pgy_error *err)
{
    generate g;
    pgy_status st = generate_init(&g, c, &INPUTS, err);
    if (!st) st = generate_beams(&g, err);
    generate_deinit(&g);
    return st;
}

const op_def OP_beam_search[] = {
    {.name = "BeamSearch",
     .domain = "com.microsoft",
     .since = 1,
     .min_inputs = 5,
     .max_inputs = 12,
     .min_outputs = 1,
     .max_outputs = 3,
     .flags = OP_HAS_GRAPHS,
     .attrs = ATTRS,
     .types = "float32 int32 float16",
     .infer = generate_infer_beams,
     .eval = eval,
     .flops = rule_no_flops,
     .signature = "T = float32 float16; F = float32 int32 float16; I = int32; input_ids:F, "
                  "max_length:I, ?min_length:I, num_beams:I, num_return_sequences:I, "
                  "?length_penalty:T, ?repetition_penalty:T, ?vocab_mask:I, ?prefix_vocab_mask:I, "
                  "?attention_mask:I, ?decoder_input_ids:I, ?logits_processor:I "
                  "-> sequences:I, ?sequences_scores:T, ?scores:T"},
    {NULL},
};
