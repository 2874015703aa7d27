/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling (com.microsoft): generates text by drawing each word from the likely ones. Words outside
 * of the smallest set whose probabilities reach top_p get filter_value before the draw.
 *
 * The operator's random numbers are those of ONNX Runtime on Linux, so that equal seeds give equal
 * texts: a linear congruential generator x -> 16807 x mod (2^31 - 1), started with input `seed` or
 * 0, two numbers of which make one uniform number in [0, 1). Each row draws one per step. */
#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "ops/class_generate.h"

enum { MULTIPLIER = 16807, MODULUS = INT32_MAX };

static const op_attr_def ATTRS[] = {
    {"decoder", OP_ATTR_GRAPH, true, NULL},
    {"init_decoder", OP_ATTR_GRAPH, false, NULL},
    {"encoder", OP_ATTR_GRAPH, false, NULL},
    {"custom", OP_ATTR_INT, false, "0"},
    {"eos_token_id", OP_ATTR_INT, true, NULL},
    {"filter_value", OP_ATTR_FLOAT, false, "-1e20"},
    {"min_tokens_to_keep", OP_ATTR_INT, false, "0", NULL, "0.."},
    {"pad_token_id", OP_ATTR_INT, true, NULL},
    {"decoder_start_token_id", OP_ATTR_INT, false, "-1"},
    {"model_type", OP_ATTR_INT, false, "0"},
    {"no_repeat_ngram_size", OP_ATTR_INT, false, "0", NULL, "0.."},
    {"presence_penalty", OP_ATTR_FLOAT, false, "0"},
    {"temperature", OP_ATTR_FLOAT, false, "1"},
    {"top_p", OP_ATTR_FLOAT, false, "0"},
    {"vocab_size", OP_ATTR_INT, false, "-1"},
    {NULL},
};

static const generate_inputs INPUTS = {.max_length = 1,
                                       .min_length = 2,
                                       .repetition_penalty = 3,
                                       .vocab_mask = 4,
                                       .prefix_mask = 5,
                                       .attention_mask = 6,
                                       .presence_mask = 7,
                                       .seed = 8};

typedef struct rated_word {
    float score;
    int64_t word;
} rated_word;

typedef struct sampler {
    uint32_t state;
    rated_word *words; /* of one row, sorted */
    double *sums;      /* of one row */
    bool custom;
    int64_t kept;
    float top_p, filter;
} sampler;

static double draw(sampler *s)
{
    const double range = MODULUS - 1;
    double low, high;
    s->state = (uint32_t)((uint64_t)s->state * MULTIPLIER % MODULUS);
    low = s->state - 1;
    s->state = (uint32_t)((uint64_t)s->state * MULTIPLIER % MODULUS);
    high = s->state - 1;
    const double x = (low + high * range) / (range * range);
    return x < 1 ? x : nextafter(1, 0);
}

static int rising(const void *a, const void *b)
{
    const rated_word *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? -1 : 1;
    return x->word < y->word ? -1 : x->word > y->word;
}

static int falling(const void *a, const void *b)
{
    const rated_word *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->word < y->word ? -1 : x->word > y->word;
}

/* Filters the words behind those that reach top_p together (custom), or the least likely ones that
 * make up 1 - top_p at most. */
static void filter(sampler *s, float *scores, int64_t count)
{
    double most = -INFINITY, total = 0;
    float sum = 0;
    for (int64_t w = 0; w < count; w++) {
        s->words[w] = (rated_word){scores[w], w};
        most = fmax(most, scores[w]);
    }
    for (int64_t w = 0; w < count; w++) total += exp(scores[w] - most);
    qsort(s->words, (size_t)count, sizeof *s->words, s->custom ? falling : rising);
    for (int64_t i = 0; i < count; i++) {
        sum += (float)(exp(s->words[i].score - most) / total);
        if (s->custom && i + 1 < count && sum > s->top_p)
            scores[s->words[i + 1].word] = s->filter;
        else if (!s->custom && (!i || i < count - s->kept) && sum <= 1 - s->top_p)
            scores[s->words[i].word] = s->filter;
    }
}

/* The first word whose running sum of probabilities exceeds a random part of their sum. */
static int64_t draw_word(sampler *s, const float *scores, int64_t count)
{
    double most = -INFINITY, sum = 0;
    int64_t low = 0, high = count - 1;
    for (int64_t w = 0; w < count; w++)
        if (isfinite(scores[w])) most = fmax(most, scores[w]);
    for (int64_t w = 0; w < count; w++) {
        if (isfinite(scores[w])) sum += exp(scores[w] - most);
        s->sums[w] = sum;
    }
    const double at = draw(s) * sum;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (s->sums[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static pgy_status choose(generate *g, void *user, pgy_error *err)
{
    sampler *s = user;
    const size_t count = (size_t)g->vocabulary;
    pgy_status st = PGY_OK;
    if (!s->words) st = workspace_alloc((void **)&s->words, g->c, count, sizeof *s->words, err);
    if (!st && !s->sums) st = workspace_alloc((void **)&s->sums, g->c, count, sizeof *s->sums, err);
    for (int64_t r = 0; !st && r < g->rows; r++) {
        float *scores = g->scores + r * g->vocabulary;
        filter(s, scores, g->vocabulary);
        g->next[r] = draw_word(s, scores, g->vocabulary);
    }
    return st;
}

static pgy_status sampler_init(sampler *s, const op_eval *c, pgy_error *err)
{
    const int64_t zero = 0, *seed = &zero;
    size_t count = 1;
    const op_node *n = c->node;
    *s = (sampler){.custom = op_attr_int(n, "custom", 0) != 0,
                   .kept = op_attr_int(n, "min_tokens_to_keep", 0),
                   .top_p = (float)op_attr_float(n, "top_p", 0),
                   .filter = (float)op_attr_float(n, "filter_value", -1e20)};
    const pgy_status st =
        op_has_value(c, INPUTS.seed) ? op_eval_ints(c, INPUTS.seed, &seed, &count, err) : PGY_OK;
    if (st) return st;
    if (count != 1 || *seed < 0)
        return op_error(n, err, PGY_E_ARGUMENT, "input 8 (seed) must be one number of at least 0");
    if (!(s->top_p >= 0 && s->top_p <= 1))
        return op_error(n, err, PGY_E_ARGUMENT, "attribute top_p is %g, but must lie in [0, 1]",
                        (double)s->top_p);
    if (op_has_value(c, INPUTS.presence_mask) && op_attr_float(n, "presence_penalty", 0) != 0)
        return op_error(n, err, PGY_E_UNSUPPORTED,
                        "input 7 (presence_mask) with a presence_penalty has no reproducible "
                        "meaning; set presence_penalty to 0");
    if (s->top_p == 0 && !s->custom && !s->kept)
        return op_error(n, err, PGY_E_UNSUPPORTED,
                        "top_p is 0 with min_tokens_to_keep 0: whether the likeliest word stays "
                        "depends on how the sum of all probabilities, 1, is rounded, so the text "
                        "cannot be reproduced; set top_p above 0, or min_tokens_to_keep to 1");
    if (n->output_count > 1 && c->wanted[1])
        return op_error(n, err, PGY_E_UNSUPPORTED,
                        "output 1 (filtered_logits) is for debugging on GPUs and not computed; "
                        "remove it");
    s->state = (uint32_t)(*seed % MODULUS);
    if (!s->state) s->state = 1;
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    generate g;
    sampler s;
    pgy_status st = sampler_init(&s, c, err);
    if (st) return st;
    st = generate_init(&g, c, &INPUTS, err);
    if (!st) st = generate_rows(&g, choose, &s, err);
    generate_deinit(&g);
    mem_free(s.words);
    mem_free(s.sums);
    return st;
}

const op_def OP_sampling[] = {
    {.name = "Sampling",
     .domain = "com.microsoft",
     .since = 1,
     .min_inputs = 2,
     .max_inputs = 9,
     .min_outputs = 1,
     .max_outputs = 2,
     .flags = OP_HAS_GRAPHS | OP_RANDOM,
     .attrs = ATTRS,
     .types = "int32",
     .infer = generate_infer_rows,
     .eval = eval,
     .flops = rule_no_flops,
     .signature = "T = float32; I = int32; input_ids:I, max_length:I, ?min_length:I, "
                  "?repetition_penalty:T, ?vocab_mask:I, ?prefix_vocab_mask:I, ?attention_mask:I, "
                  "?presence_mask:I, ?seed:I -> sequences:I, ?filtered_logits:T"},
    {NULL},
};
