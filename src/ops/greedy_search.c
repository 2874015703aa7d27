/* SPDX-License-Identifier: Apache-2.0 */
/* GreedySearch (com.microsoft): generates text by taking the most likely word at each step. A row
 * that has ended is filled with the padding word. */
#include "ops/class_generate.h"

static const op_attr_def ATTRS[] = {
    {"decoder", OP_ATTR_GRAPH, true, NULL},
    {"init_decoder", OP_ATTR_GRAPH, false, NULL},
    {"encoder", OP_ATTR_GRAPH, false, NULL},
    {"eos_token_id", OP_ATTR_INT, true, NULL},
    {"pad_token_id", OP_ATTR_INT, true, NULL},
    {"decoder_start_token_id", OP_ATTR_INT, false, "-1"},
    {"model_type", OP_ATTR_INT, false, "0"},
    {"no_repeat_ngram_size", OP_ATTR_INT, false, "0", NULL, "0.."},
    {"vocab_size", OP_ATTR_INT, false, "-1"},
    {NULL},
};

static const generate_inputs INPUTS = {.max_length = 1,
                                       .min_length = 2,
                                       .repetition_penalty = 3,
                                       .vocab_mask = 4,
                                       .prefix_mask = 5,
                                       .attention_mask = 6,
                                       .empty_batch = true};

/* The most likely word of each row; of equal ones the first. */
static pgy_status choose(generate *g, void *user, pgy_error *err)
{
    (void)user, (void)err;
    for (int64_t r = 0; r < g->rows; r++) {
        const float *scores = g->scores + r * g->vocabulary;
        int64_t best = 0;
        for (int64_t w = 1; w < g->vocabulary; w++)
            if (scores[w] > scores[best]) best = w;
        g->next[r] = best;
    }
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    generate g;
    pgy_status st = generate_init(&g, c, &INPUTS, err);
    if (!st) st = generate_rows(&g, choose, NULL, err);
    generate_deinit(&g);
    return st;
}

const op_def OP_greedy_search[] = {
    {.name = "GreedySearch",
     .domain = "com.microsoft",
     .since = 1,
     .min_inputs = 2,
     .max_inputs = 7,
     .min_outputs = 1,
     .max_outputs = 1,
     .flags = OP_HAS_GRAPHS,
     .attrs = ATTRS,
     .types = "int32",
     .infer = generate_infer_rows,
     .eval = eval,
     .flops = rule_no_flops,
     .signature = "T = float32; I = int32; input_ids:I, max_length:I, ?min_length:I, "
                  "?repetition_penalty:T, ?vocab_mask:I, ?prefix_vocab_mask:I, ?attention_mask:I "
                  "-> sequences:I"},
    {NULL},
};
