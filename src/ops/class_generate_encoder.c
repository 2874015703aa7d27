/* SPDX-License-Identifier: Apache-2.0 */
/* Models with an encoder (T5, BART, Whisper). The encoder runs once per batch entry, not per beam;
 * its caches are then repeated for the beams. It comes in two forms:
 *
 *     (input_ids, attention_mask, decoder_input_ids)
 *         -> (logits, encoder_hidden_states, present_self..., present_cross...)
 *     (input_ids, attention_mask) -> (present_cross...)
 *
 * Whisper's is the first one without a mask, and may take several words of the decoder:
 *
 *     (features, decoder_input_ids)
 *         -> (logits, encoder_hidden_states, present_self..., present_cross...)
 *
 * The decoder keeps the cross caches and gets new self caches from itself:
 *
 *     (input_ids, encoder_attention_mask, [encoder_hidden_states], past_self..., past_cross...)
 *         -> (logits, present_self...)                   with caches [rows, heads, length, size]
 *
 * That of Whisper has no mask. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_generate_feed.h"
#include "ops/class_loop.h"

enum { INPUT_IDS, MASK, MOST_IN = 3 };

typedef struct encoder_run {
    op_tensor in[MOST_IN], *out;
    size_t in_count, out_count;
    bool decodes; /* it gives the first logits and self caches */
} encoder_run;

static void encoder_deinit(encoder_run *e)
{
    for (size_t i = 0; i < MOST_IN; i++) op_tensor_release(&e->in[i]);
    for (size_t i = 0; e->out && i < e->out_count; i++) op_tensor_release(&e->out[i]);
    mem_free(e->out);
}

/* Padding before the first word is masked; later padding may be an end that is padding, too. */
static void fill_mask(const generate *g, int64_t *mask)
{
    const int64_t length = in_shape(g->c, 0)[1], *words = in_i64(g->c, 0);
    for (int64_t b = 0; b < g->batch; b++) {
        bool started = false;
        for (int64_t i = b * length; i < (b + 1) * length; i++) {
            started |= words[i] != g->pad;
            mask[i] = g->attention_mask ? g->attention_mask[i] : started;
        }
    }
}

static bool has_mask(const generate *g)
{
    return g->model != GENERATE_WHISPER;
}

/* The decoder's first words, which are the start word unless decoder_input_ids gives them. */
static pgy_status feed_first_words(op_tensor *out, const generate *g, pgy_error *err)
{
    const pgy_status st = feed_ints(out, g, g->batch, g->prompt, err);
    for (int64_t i = 0; !st && i < g->batch * g->prompt; i++)
        op_i64(out->value)[i] = g->words[i / g->prompt * g->beams * g->max_length + i % g->prompt];
    return st;
}

static pgy_status run_encoder(encoder_run *e, generate *g, pgy_error *err)
{
    const size_t least = 2, most = has_mask(g) ? MOST_IN : 2;
    pgy_status st = PGY_OK;
    e->in_count = feed_count(g, "encoder", false);
    e->out_count = feed_count(g, "encoder", true);
    e->decodes = e->in_count == MOST_IN || !has_mask(g);
    if (e->in_count < least || e->in_count > most)
        return op_error(g->c->node, err, PGY_E_FORMAT,
                        "model_type %lld needs a graph 'encoder' with 2%s inputs; it has %zu",
                        (long long)g->model, most > 2 ? " or 3" : "", e->in_count);
    e->out = mem_calloc(e->out_count + 1, sizeof *e->out);
    if (!e->out) return generate_no_memory(g, err);
    e->in[INPUT_IDS] = op_tensor_retain(&g->c->inputs[0]);
    if (has_mask(g)) st = feed_ints(&e->in[MASK], g, g->batch, in_shape(g->c, 0)[1], err);
    if (!st && has_mask(g)) fill_mask(g, op_i64(e->in[MASK].value));
    if (!st) st = feed_first_words(&e->in[has_mask(g) ? MASK + 1 : MASK], g, err);
    if (st) return st;
    return loop_run_graph(g->c, "encoder", e->in, e->in_count, e->out, e->out_count, err);
}

/* Learns the decoder's inputs, and checks that the encoder's outputs fit them. */
static pgy_status lay_out(generate *g, const encoder_run *e, pgy_error *err)
{
    op_graph_port port;
    const size_t ins = feed_count(g, "decoder", false), outs = feed_count(g, "decoder", true);
    const size_t after = has_mask(g) ? MASK + 1 : MASK;
    pgy_status st = feed_port(&port, g, "decoder", false, after, err);
    if (st) return st;
    const bool hidden = !strcmp(port.name, "encoder_hidden_states");
    g->past = hidden ? after + 1 : after;
    g->present = 1;
    g->caches = outs ? outs - 1 : 0;
    const size_t given = e->decodes ? 2 + 2 * g->caches : g->caches;
    if (!g->caches || g->caches % 2 || ins != g->past + 2 * g->caches || e->out_count != given ||
        (hidden && !e->decodes))
        return op_error(g->c->node, err, PGY_E_FORMAT,
                        "the graph 'decoder' has %zu inputs and %zu outputs and the graph "
                        "'encoder' %zu outputs, which do not fit: every layer needs a key and a "
                        "value cache for itself and for the encoder",
                        ins, outs, e->out_count);
    st = feed_port(&port, g, "decoder", false, INPUT_IDS, err);
    g->feeds_words = port.declared.rank != 2 || !dim_is_const(port.declared.dims[1]) ||
                     port.declared.dims[1].value != 1;
    return st ? st : feed_alloc(g, ins, outs, err);
}

/* Repeats what the encoder gave for the beams of each batch entry. */
static pgy_status spread(generate *g, const encoder_run *e, pgy_error *err)
{
    op_graph_port port;
    const size_t after = has_mask(g) ? MASK + 1 : MASK;
    const size_t first = e->decodes ? 2 : 0, selves = e->decodes ? 0 : g->caches;
    int64_t *entry = NULL;
    pgy_status st = workspace_alloc((void **)&entry, g->c, (size_t)g->rows, sizeof *entry, err);
    for (int64_t r = 0; !st && r < g->rows; r++) entry[r] = r / g->beams;
    if (!st && has_mask(g))
        st = feed_take_rows(&g->in[MASK], g, &e->in[MASK], 0, g->batch, entry, err);
    if (!st && g->past > after)
        st = feed_take_rows(&g->in[after], g, &e->out[1], 0, g->batch, entry, err);
    for (size_t i = 0; !st && i < selves; i++) {
        st = feed_port(&port, g, "decoder", false, g->past + i, err);
        if (!st) st = feed_empty(&g->in[g->past + i], g, &port.declared, 0, err);
    }
    for (size_t i = first; !st && i < e->out_count; i++)
        st = feed_take_rows(&g->in[g->past + selves + i - first], g, &e->out[i], 0, g->batch, entry,
                            err);
    mem_free(entry);
    return st;
}

/* Gives the decoder the last word of each row, or all of them. */
static pgy_status feed_last_words(generate *g, pgy_error *err)
{
    const int64_t count = g->feeds_words ? g->length : 1;
    const pgy_status st = feed_ints(&g->in[INPUT_IDS], g, g->rows, count, err);
    for (int64_t r = 0; !st && r < g->rows; r++)
        memcpy(op_i64(g->in[INPUT_IDS].value) + r * count,
               g->words + r * g->max_length + g->length - count, (size_t)count * sizeof(int64_t));
    return st;
}

/* Rows start with decoder_input_ids (Whisper) or decoder_start_token_id. */
static void start_rows(generate *g)
{
    const size_t ids = g->model == GENERATE_WHISPER ? g->at->decoder_ids : 0;
    const int64_t *given = ids && op_has_value(g->c, ids) ? in_i64(g->c, ids) : NULL;
    for (int64_t r = 0; r < g->rows; r++)
        for (int64_t i = 0; i < g->prompt; i++)
            g->words[r * g->max_length + i] =
                given ? given[r / g->beams * g->prompt + i] : g->start;
    g->length = g->prompt;
}

/* Probability of no_speech_token_id by the logits of the first words. */
static pgy_status rate_silence(const generate *g, pgy_error *err)
{
    const int64_t token = op_attr_int(g->c->node, "no_speech_token_id", -1);
    if (!g->silence) return PGY_OK;
    if (token < 0 || token >= g->vocabulary)
        return op_error(g->c->node, err, PGY_E_ARGUMENT,
                        "attribute no_speech_token_id is %lld, but output non_speech_probs needs "
                        "one of the %lld words",
                        (long long)token, (long long)g->vocabulary);
    for (int64_t b = 0; b < g->batch; b++) {
        const float *scores = g->scores + b * g->beams * g->vocabulary;
        double most = -INFINITY, sum = 0;
        for (int64_t w = 0; w < g->vocabulary; w++) most = fmax(most, scores[w]);
        for (int64_t w = 0; w < g->vocabulary; w++) sum += exp(scores[w] - most);
        g->silence[b] = exp(scores[token] - most) / sum;
    }
    return PGY_OK;
}

static pgy_status first_of_encoder(generate *g, pgy_error *err)
{
    encoder_run e = {0};
    if (g->start < 0)
        return op_error(g->c->node, err, PGY_E_ARGUMENT,
                        "attribute decoder_start_token_id is %lld; model_type %lld needs one that "
                        "is not negative",
                        (long long)g->start, (long long)g->model);
    start_rows(g);
    pgy_status st = run_encoder(&e, g, err);
    if (!st) st = lay_out(g, &e, err);
    if (!st) st = spread(g, &e, err);
    if (!st && e.decodes) st = feed_read_scores(g, &e.out[0], err);
    if (!st) st = rate_silence(g, err);
    if (!st && !e.decodes) st = feed_last_words(g, err);
    if (!st && !e.decodes) st = feed_run(g, "decoder", err);
    encoder_deinit(&e);
    return st;
}

static pgy_status next_of_encoder(generate *g, pgy_error *err)
{
    const bool first = !g->out[0].value; /* the caches are those of the encoder */
    pgy_status st = feed_last_words(g, err);
    for (size_t i = 0; !st && !first && i < g->caches; i++)
        st = feed_take_rows(&g->in[g->past + i], g, &g->out[g->present + i], 0, g->rows, g->from,
                            err);
    return st ? st : feed_run(g, "decoder", err);
}

pgy_status generate_first(generate *g, pgy_error *err)
{
    return g->model == GENERATE_DECODER ? feed_first_of_decoder(g, err) : first_of_encoder(g, err);
}

pgy_status generate_next(generate *g, pgy_error *err)
{
    return g->model == GENERATE_DECODER ? feed_next_of_decoder(g, err) : next_of_encoder(g, err);
}
