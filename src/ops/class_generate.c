/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of text generation: attributes, the small inputs, and their limits, which are those of
 * ONNX Runtime. */
#include "ops/class_generate.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_loop.h"

pgy_status generate_no_memory(const generate *g, pgy_error *err)
{
    return rule_no_memory(g->c->node, err);
}

/* ---- Shapes --------------------------------------------------------------------------------- */

pgy_status generate_infer_graphs(op_infer *c, pgy_error *err)
{
    static const char *const NAMES[] = {"encoder", "init_decoder", "decoder"};
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < sizeof NAMES / sizeof *NAMES; i++) {
        bool known;
        st = loop_infer_graph(c, NAMES[i], NULL, 0, NULL, 0, &known, err);
    }
    return st;
}

dim generate_batch(op_infer *c)
{
    return rank_known(c, 0) && c->inputs[0].rank > 0
               ? c->inputs[0].dims[0]
               : dim_unknown(c->dims, "the batch is not known");
}

dim generate_number(op_infer *c, size_t i, const char *why)
{
    const dim *value;
    size_t count;
    if (rule_values(c, i, &value, &count) && count == 1 && dim_is_const(*value) &&
        value->value > 0 && value->value <= GENERATE_MAX_LENGTH)
        return *value;
    return dim_unknown(c->dims, why);
}

/* ---- Parameters ----------------------------------------------------------------------------- */

/* Reads an integer of one element that must lie in [least, most]. INT32_MIN: there is no least. */
static pgy_status read_number(int64_t *out, const generate *g, size_t input, const char *name,
                              int64_t fallback, int64_t least, int64_t most, pgy_error *err)
{
    const int64_t *values = &fallback;
    size_t count = 1;
    pgy_status st = PGY_OK;
    if (input && op_has_value(g->c, input)) st = op_eval_ints(g->c, input, &values, &count, err);
    if (st) return st;
    if (count != 1)
        return op_error(g->c->node, err, PGY_E_SHAPE, "input %zu (%s) has %zu elements, expected 1",
                        input, name, count);
    *out = *values;
    if (*out >= least && *out <= most) return PGY_OK;
    if (least == INT32_MIN)
        return op_error(g->c->node, err, PGY_E_ARGUMENT,
                        "input %zu (%s) is %" PRId64 ", but must be at most %" PRId64, input, name,
                        *out, most);
    return op_error(g->c->node, err, PGY_E_ARGUMENT,
                    "input %zu (%s) is %" PRId64 ", but must lie in [%" PRId64 ", %" PRId64 "]",
                    input, name, *out, least, most);
}

static pgy_status read_float(float *out, const generate *g, size_t input, const char *name,
                             float fallback, bool positive, pgy_error *err)
{
    *out = fallback;
    if (!input || !op_has_value(g->c, input)) return PGY_OK;
    if (in_count(g->c, input) != 1 || pgy_tensor_dtype(g->c->inputs[input].value) != PGY_F64)
        return op_error(g->c->node, err, PGY_E_SHAPE, "input %zu (%s) must be one float", input,
                        name);
    *out = (float)*in_f64(g->c, input);
    if (isfinite(*out) && (!positive || *out > 0)) return PGY_OK;
    return op_error(g->c->node, err, PGY_E_ARGUMENT,
                    "input %zu (%s) is %g, but must be a finite number%s", input, name,
                    (double)*out, positive ? " above 0" : "");
}

/* A mask of the batch's or the vocabulary's size; its last dim is checked with the first scores. */
static pgy_status read_mask(const int64_t **out, const generate *g, size_t input, const char *name,
                            size_t rank, pgy_error *err)
{
    *out = NULL;
    if (!input || !op_has_value(g->c, input)) return PGY_OK;
    if (pgy_tensor_dtype(g->c->inputs[input].value) != PGY_I64)
        return op_error(g->c->node, err, PGY_E_TYPE, "input %zu (%s) must be int32", input, name);
    if (in_rank(g->c, input) != rank || (rank == 2 && in_shape(g->c, input)[0] != g->batch))
        return op_error(g->c->node, err, PGY_E_SHAPE, "input %zu (%s) must have %zu dimensions%s",
                        input, name, rank, rank == 2 ? " with the batch of input_ids first" : "");
    *out = in_i64(g->c, input);
    return PGY_OK;
}

static void read_attributes(generate *g)
{
    const op_node *n = g->c->node;
    g->model = op_attr_int(n, "model_type", 0);
    g->eos = op_attr_int(n, "eos_token_id", -1);
    g->pad = op_attr_int(n, "pad_token_id", -1);
    g->start = op_attr_int(n, "decoder_start_token_id", -1);
    g->ngram = op_attr_int(n, "no_repeat_ngram_size", 0);
    g->early_stopping = op_attr_int(n, "early_stopping", 0) == 1;
    g->temperature = (float)op_attr_float(n, "temperature", 1);
}

static pgy_status read_inputs(generate *g, pgy_error *err)
{
    const generate_inputs *at = g->at;
    const int64_t *unused;
    int64_t processor = 0;
    pgy_status st = read_number(&g->max_length, g, at->max_length, "max_length",
                                GENERATE_MAX_LENGTH, g->prompt + 1, GENERATE_MAX_LENGTH, err);
    if (!st)
        st = read_number(&g->min_length, g, at->min_length, "min_length", 0, INT32_MIN,
                         g->max_length - 1, err);
    if (!st) st = read_number(&g->beams, g, at->beams, "num_beams", 1, 1, GENERATE_MAX_BEAMS, err);
    if (!st)
        st =
            read_number(&g->returned, g, at->returned, "num_return_sequences", 1, 1, g->beams, err);
    if (!st)
        st = read_float(&g->length_penalty, g, at->length_penalty, "length_penalty", 1, false, err);
    if (!st)
        st = read_float(&g->repetition_penalty, g, at->repetition_penalty, "repetition_penalty", 1,
                        true, err);
    if (!st && at->temperature)
        st = read_float(&g->temperature, g, at->temperature, "temperature", 1, false, err);
    if (!st)
        st = read_number(&processor, g, at->logits_processor, "logits_processor", 0, 0, INT32_MAX,
                         err);
    g->has_times = g->model == GENERATE_WHISPER && processor == 1;
    if (!st) st = read_mask(&g->vocab_mask, g, at->vocab_mask, "vocab_mask", 1, err);
    if (!st) st = read_mask(&g->prefix_mask, g, at->prefix_mask, "prefix_vocab_mask", 2, err);
    if (!st) st = read_mask(&unused, g, at->presence_mask, "presence_mask", 2, err);
    return st;
}

static pgy_status check_model(const generate *g, pgy_error *err)
{
    const int64_t most = g->at->newest_model;
    if (g->model >= g->at->oldest_model && g->model <= most) return PGY_OK;
    return op_error(g->c->node, err, PGY_E_UNSUPPORTED,
                    "attribute model_type is %" PRId64 "; this operator runs %s", g->model,
                    g->at->oldest_model ? "2 (Whisper)"
                    : most ? "0 (decoder only), 1 (encoder and decoder) and 2 (Whisper)"
                           : "0 (decoder only)");
}

/* Whisper's encoder takes features, and its decoder starts with the words of decoder_input_ids. */
static pgy_status read_features(generate *g, pgy_error *err)
{
    const op_eval *c = g->c;
    const size_t ids = g->at->decoder_ids;
    if (!op_has_value(c, 0) || in_rank(c, 0) != 3 || in_shape(c, 0)[0] < 1 ||
        pgy_tensor_dtype(c->inputs[0].value) != PGY_F64)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input 0 (input_ids) must be floats [batch, features, frames] for Whisper");
    if (op_has_value(c, g->at->attention_mask))
        return op_error(c->node, err, PGY_E_UNSUPPORTED,
                        "input %d (attention_mask) is given, but the encoder of Whisper takes none",
                        g->at->attention_mask);
    g->batch = in_shape(c, 0)[0];
    g->prompt = 1;
    if (!op_has_value(c, ids)) return PGY_OK;
    if (in_rank(c, ids) != 2 || in_shape(c, ids)[0] != g->batch || in_shape(c, ids)[1] < 1 ||
        pgy_tensor_dtype(c->inputs[ids].value) != PGY_I64)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input %zu (decoder_input_ids) must be int32 [%" PRId64
                        ", length] with a length of at least 1",
                        ids, g->batch);
    g->prompt = in_shape(c, ids)[1];
    return PGY_OK;
}

/* The shape of the prompt; encoder-decoder models start with one token instead. */
static pgy_status read_prompt(generate *g, pgy_error *err)
{
    const op_eval *c = g->c;
    const pgy_status st = check_model(g, err);
    if (st || g->model == GENERATE_WHISPER) return st ? st : read_features(g, err);
    const int64_t least = g->at->empty_batch ? 0 : 1;
    if (!op_has_value(c, 0) || in_rank(c, 0) != 2 || in_shape(c, 0)[0] < least ||
        in_shape(c, 0)[1] < 1)
        return op_error(c->node, err, PGY_E_SHAPE,
                        "input 0 (input_ids) must be [batch, length], both at least 1");
    g->batch = in_shape(c, 0)[0];
    g->prompt = g->model == GENERATE_DECODER ? in_shape(c, 0)[1] : 1;
    if (pgy_tensor_dtype(c->inputs[0].value) != PGY_I64)
        return op_error(c->node, err, PGY_E_TYPE, "input 0 (input_ids) must be int32");
    return PGY_OK;
}

static pgy_status check_mask_shape(const generate *g, pgy_error *err)
{
    const size_t i = g->at->attention_mask;
    const bool same =
        !i || !op_has_value(g->c, i) ||
        (in_rank(g->c, i) == in_rank(g->c, 0) &&
         !memcmp(in_shape(g->c, i), in_shape(g->c, 0), in_rank(g->c, 0) * sizeof(int64_t)));
    if (same) return PGY_OK;
    return op_error(g->c->node, err, PGY_E_SHAPE,
                    "input %zu (attention_mask) must have the shape of input 0", i);
}

pgy_status generate_init(generate *g, op_eval *c, const generate_inputs *at, pgy_error *err)
{
    *g = (generate){.c = c, .at = at};
    read_attributes(g);
    pgy_status st = read_prompt(g, err);
    if (!st) st = read_inputs(g, err);
    if (!st) st = check_mask_shape(g, err);
    if (!st) st = read_mask(&g->attention_mask, g, at->attention_mask, "attention_mask", 2, err);
    if (!st && !i64_mul(&g->rows, g->batch, g->beams)) st = generate_no_memory(g, err);
    size_t words = 0;
    if (!st && !size_mul(&words, (size_t)g->rows, (size_t)g->max_length))
        st = generate_no_memory(g, err);
    const size_t rows = (size_t)g->rows;
    if (!st) st = workspace_alloc((void **)&g->words, c, words, sizeof *g->words, err);
    if (!st) st = workspace_alloc((void **)&g->other_words, c, words, sizeof *g->words, err);
    if (!st) st = workspace_alloc((void **)&g->next, c, rows, sizeof *g->next, err);
    if (!st) st = workspace_alloc((void **)&g->from, c, rows, sizeof *g->from, err);
    if (!st) st = workspace_alloc((void **)&g->positions, c, rows, sizeof *g->positions, err);
    for (size_t r = 0; !st && r < rows; r++) g->from[r] = (int64_t)r;
    return st;
}

void generate_deinit(generate *g)
{
    for (size_t i = 0; g->in && i < g->in_count; i++) op_tensor_release(&g->in[i]);
    for (size_t i = 0; g->out && i < g->out_count; i++) op_tensor_release(&g->out[i]);
    mem_free(g->in);
    mem_free(g->out);
    mem_free(g->words);
    mem_free(g->other_words);
    mem_free(g->next);
    mem_free(g->from);
    mem_free(g->positions);
    mem_free(g->scores);
}

void generate_append(generate *g)
{
    int64_t *old = g->words;
    for (int64_t r = 0; r < g->rows; r++) {
        int64_t *to = g->other_words + r * g->max_length;
        memcpy(to, old + g->from[r] * g->max_length, (size_t)g->length * sizeof *to);
        to[g->length] = g->next[r];
    }
    g->words = g->other_words;
    g->other_words = old;
    g->length++;
}
