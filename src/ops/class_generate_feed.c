/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of the graphs. Decoder-only models (GPT-2):
 *
 *     (input_ids, position_ids, attention_mask, past_0...) -> (logits, present_0...)
 *
 * with caches [2, rows, heads, length, size]. */
#include "ops/class_generate.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_generate_feed.h"
#include "ops/class_loop.h"
#include "ops/move.h"

enum { INPUT_IDS, POSITION_IDS, ATTENTION_MASK, PAST };

void *feed_graph(const generate *g, const char *attr)
{
    const op_attr *a = op_attr_find(g->c->node, attr);
    return a ? a->graph : NULL;
}

size_t feed_count(const generate *g, const char *attr, bool of_outputs)
{
    op_graph_port port;
    size_t count = 0;
    void *graph = feed_graph(g, attr);
    if (!graph || !g->c->host || !g->c->host->graph_port) return 0;
    while (g->c->host->graph_port(&port, graph, of_outputs, count)) count++;
    return count;
}

pgy_status feed_port(op_graph_port *out, const generate *g, const char *attr, bool of_outputs,
                     size_t i, pgy_error *err)
{
    void *graph = feed_graph(g, attr);
    if (graph && g->c->host && g->c->host->graph_port &&
        g->c->host->graph_port(out, graph, of_outputs, i))
        return PGY_OK;
    return op_error(g->c->node, err, PGY_E_FORMAT, "the graph '%s' has no %s %zu", attr,
                    of_outputs ? "output" : "input", i);
}

pgy_status feed_ints(op_tensor *out, const generate *g, int64_t rows, int64_t columns,
                     pgy_error *err)
{
    const int64_t shape[] = {rows, columns};
    pgy_tensor *t = NULL;
    const pgy_status st = pgy_tensor_create(&t, PGY_I64, 2, shape, err);
    if (st) return pgy_error_prefix(err, st, "%s: ", g->c->node->def->name);
    op_tensor_release(out);
    *out = (op_tensor){.dtype = PGY_I32, .value = t};
    return PGY_OK;
}

pgy_status feed_empty(op_tensor *out, const generate *g, const op_value *like, size_t rows_axis,
                      pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    const size_t rank = rows_axis + 4;
    bool known = like->rank == (int32_t)rank;
    for (size_t d = 0; known && d < rank; d++) {
        shape[d] = d == rows_axis ? g->rows : 0;
        if (d == rows_axis || d == rows_axis + 2) continue;
        known = dim_is_const(like->dims[d]) && like->dims[d].value > 0;
        shape[d] = like->dims[d].value;
    }
    if (!known || (rows_axis && shape[0] != 2))
        return op_error(g->c->node, err, PGY_E_FORMAT,
                        "the graph declares no usable shape for its first cache; expected %s",
                        rows_axis ? "[2, batch, heads, length, size] with known heads and size"
                                  : "[batch, heads, length, size] with known heads and size");
    pgy_tensor *t = NULL;
    const pgy_status st = pgy_tensor_create(&t, PGY_F64, rank, shape, err);
    if (st) return st;
    op_tensor_release(out);
    *out = (op_tensor){.dtype = like->dtype ? like->dtype : PGY_F32, .value = t};
    return PGY_OK;
}

pgy_status feed_take_rows(op_tensor *out, const generate *g, const op_tensor *in, size_t axis,
                          int64_t have, const int64_t *from, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    size_t outer = 1, inner, made = 0;
    const pgy_tensor *t = in->value;
    if (!t || pgy_tensor_rank(t) <= axis || pgy_tensor_shape(t)[axis] != have)
        return op_error(g->c->node, err, PGY_E_SHAPE,
                        "a value that the graph gave for the next step lacks dim %zu of %lld rows",
                        axis, (long long)have);
    bool same = have == g->rows;
    for (int64_t r = 0; r < g->rows && same; r++) same = from[r] == r;
    if (same) {
        op_tensor kept = op_tensor_retain(in);
        op_tensor_release(out);
        *out = kept;
        return PGY_OK;
    }
    memcpy(shape, pgy_tensor_shape(t), pgy_tensor_rank(t) * sizeof *shape);
    shape[axis] = g->rows;
    for (size_t d = 0; d < axis; d++) outer *= (size_t)shape[d];
    inner = move_size(pgy_tensor_dtype(t));
    for (size_t d = axis + 1; d < pgy_tensor_rank(t); d++) inner *= (size_t)shape[d];
    pgy_tensor *y = NULL;
    const pgy_status st =
        pgy_tensor_create(&y, pgy_tensor_dtype(t), pgy_tensor_rank(t), shape, err);
    if (st) return st;
    for (size_t o = 0; o < outer; o++)
        for (int64_t r = 0; r < g->rows; r++, made++)
            memcpy((char *)pgy_tensor_data(y) + made * inner,
                   (char *)pgy_tensor_data(t) + (o * (size_t)have + (size_t)from[r]) * inner,
                   inner);
    const op_tensor result = {.dtype = in->dtype, .value = y};
    op_tensor_release(out);
    *out = result;
    return PGY_OK;
}

/* ---- Scores --------------------------------------------------------------------------------- */

static pgy_status check_vocabulary(const generate *g, pgy_error *err)
{
    const size_t masks[] = {g->at->vocab_mask, g->at->prefix_mask, g->at->presence_mask};
    for (size_t i = 0; i < 3; i++) {
        const size_t rank = masks[i] ? in_rank(g->c, masks[i]) : 0;
        if (rank && in_shape(g->c, masks[i])[rank - 1] != g->vocabulary)
            return op_error(g->c->node, err, PGY_E_SHAPE,
                            "input %zu is a mask of %lld words, but the vocabulary has %lld",
                            masks[i], (long long)in_shape(g->c, masks[i])[rank - 1],
                            (long long)g->vocabulary);
    }
    for (int64_t i = 0; i < g->rows * g->length; i++) {
        const int64_t word = g->words[i / g->length * g->max_length + i % g->length];
        if ((word < 0 || word >= g->vocabulary) && word != g->pad)
            return op_error(g->c->node, err, PGY_E_ARGUMENT,
                            "the prompt has id %lld, but the vocabulary has %lld words",
                            (long long)word, (long long)g->vocabulary);
    }
    return PGY_OK;
}

static pgy_status start_vocabulary(generate *g, int64_t given, pgy_error *err)
{
    const int64_t wanted = op_attr_int(g->c->node, "vocab_size", -1);
    size_t count;
    if (wanted > given)
        return op_error(g->c->node, err, PGY_E_SHAPE,
                        "attribute vocab_size is %lld, but the logits have %lld words",
                        (long long)wanted, (long long)given);
    g->vocabulary = wanted > 0 ? wanted : given;
    pgy_status st = check_vocabulary(g, err);
    if (!st) st = generate_check_times(g, err);
    if (st) return st;
    if (!size_mul(&count, (size_t)g->rows, (size_t)g->vocabulary))
        return generate_no_memory(g, err);
    return workspace_alloc((void **)&g->scores, g->c, count, sizeof *g->scores, err);
}

pgy_status feed_read_scores(generate *g, const op_tensor *logits, pgy_error *err)
{
    const pgy_tensor *t = logits->value;
    const int64_t *shape = t ? pgy_tensor_shape(t) : NULL;
    if (!t || pgy_tensor_rank(t) != 3 || pgy_tensor_dtype(t) != PGY_F64 || shape[1] < 1 ||
        shape[2] < 1 || (shape[0] != g->rows && shape[0] != g->batch))
        return op_error(g->c->node, err, PGY_E_SHAPE,
                        "the graph's first output (logits) must be floats [%lld, length, words]",
                        (long long)g->rows);
    pgy_status st = g->vocabulary ? PGY_OK : start_vocabulary(g, shape[2], err);
    if (st) return st;
    if (shape[2] < g->vocabulary)
        return op_error(g->c->node, err, PGY_E_SHAPE,
                        "the logits have %lld words, but the vocabulary has %lld",
                        (long long)shape[2], (long long)g->vocabulary);
    for (int64_t r = 0; r < g->rows; r++) {
        const int64_t row = shape[0] == g->rows ? r : r / g->beams;
        const double *from = op_f64(t) + ((row + 1) * shape[1] - 1) * shape[2];
        for (int64_t w = 0; w < g->vocabulary; w++) {
            if (isnan(from[w]))
                return op_error(g->c->node, err, PGY_E_ARGUMENT,
                                "logit %lld of row %lld is NaN after %lld words, so no next word "
                                "can be chosen",
                                (long long)w, (long long)r, (long long)g->length);
            g->scores[r * g->vocabulary + w] = (float)from[w];
        }
    }
    g->step++;
    return PGY_OK;
}

pgy_status feed_alloc(generate *g, size_t in_count, size_t out_count, pgy_error *err)
{
    g->in_count = in_count;
    g->out_count = out_count;
    g->in = mem_calloc(in_count + 1, sizeof *g->in);
    g->out = mem_calloc(out_count + 1, sizeof *g->out);
    return g->in && g->out ? PGY_OK : generate_no_memory(g, err);
}

pgy_status feed_run(generate *g, const char *attr, pgy_error *err)
{
    for (size_t i = 0; i < g->out_count; i++) op_tensor_release(&g->out[i]);
    const pgy_status st = loop_run_graph(g->c, attr, g->in, g->in_count, g->out, g->out_count, err);
    return st ? st : feed_read_scores(g, &g->out[0], err);
}

/* ---- Decoder-only models -------------------------------------------------------------------- */

/* Padding gets mask and position 0; other words count the positions. */
static void fill_prompt(generate *g)
{
    const int64_t *words = in_i64(g->c, 0);
    for (int64_t r = 0; r < g->rows; r++) {
        const int64_t from = r / g->beams * g->prompt, to = r * g->prompt;
        g->positions[r] = 0;
        for (int64_t i = 0; i < g->prompt; i++) {
            const bool real = words[from + i] != g->pad;
            op_i64(g->in[INPUT_IDS].value)[to + i] = words[from + i];
            op_i64(g->in[POSITION_IDS].value)[to + i] = real ? g->positions[r]++ : 0;
            op_i64(g->in[ATTENTION_MASK].value)[to + i] =
                g->attention_mask ? g->attention_mask[from + i] : real;
            g->words[r * g->max_length + i] = words[from + i];
        }
    }
    g->length = g->prompt;
}

static pgy_status check_decoder(const generate *g, const char *attr, size_t ins, size_t outs,
                                pgy_error *err)
{
    if (outs >= 2 && ins == outs + 2) return PGY_OK;
    return op_error(g->c->node, err, PGY_E_FORMAT,
                    "the graph '%s' has %zu inputs and %zu outputs; expected (input_ids, "
                    "position_ids, attention_mask, past...) and (logits, present...)",
                    attr, ins, outs);
}

pgy_status feed_first_of_decoder(generate *g, pgy_error *err)
{
    const char *first = feed_graph(g, "init_decoder") ? "init_decoder" : "decoder";
    const size_t ins = feed_count(g, "decoder", false), outs = feed_count(g, "decoder", true);
    op_graph_port cache;
    pgy_status st = check_decoder(g, "decoder", ins, outs, err);
    if (!st)
        st = check_decoder(g, first, feed_count(g, first, false), feed_count(g, first, true), err);
    if (!st) st = feed_alloc(g, ins, outs, err);
    for (size_t i = INPUT_IDS; !st && i < PAST; i++)
        st = feed_ints(&g->in[i], g, g->rows, g->prompt, err);
    for (size_t i = PAST; !st && i < ins; i++) {
        st = feed_port(&cache, g, first, false, i, err);
        if (!st) st = feed_empty(&g->in[i], g, &cache.declared, 1, err);
    }
    if (st) return st;
    g->past = PAST;
    g->present = 1;
    g->caches = outs - 1;
    fill_prompt(g);
    return feed_run(g, first, err);
}

/* The mask of the words so far: that of the last step, and 1 for the new word. */
static pgy_status grow_mask(generate *g, pgy_error *err)
{
    op_tensor old = g->in[ATTENTION_MASK];
    g->in[ATTENTION_MASK] = (op_tensor){0};
    pgy_status st = feed_ints(&g->in[ATTENTION_MASK], g, g->rows, g->length, err);
    for (int64_t r = 0; !st && r < g->rows; r++) {
        int64_t *to = op_i64(g->in[ATTENTION_MASK].value) + r * g->length;
        memcpy(to, op_i64(old.value) + r * (g->length - 1), (size_t)(g->length - 1) * sizeof *to);
        to[g->length - 1] = 1;
    }
    op_tensor_release(&old);
    return st;
}

pgy_status feed_next_of_decoder(generate *g, pgy_error *err)
{
    pgy_status st = feed_ints(&g->in[INPUT_IDS], g, g->rows, 1, err);
    if (!st) st = feed_ints(&g->in[POSITION_IDS], g, g->rows, 1, err);
    if (!st) st = grow_mask(g, err);
    for (int64_t r = 0; !st && r < g->rows; r++) {
        op_i64(g->in[INPUT_IDS].value)[r] = g->next[r];
        op_i64(g->in[POSITION_IDS].value)[r] = g->positions[r]++;
    }
    for (size_t i = 0; !st && i < g->caches; i++)
        st = feed_take_rows(&g->in[g->past + i], g, &g->out[g->present + i], 1, g->rows, g->from,
                            err);
    return st ? st : feed_run(g, "decoder", err);
}
