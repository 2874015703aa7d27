/* SPDX-License-Identifier: Apache-2.0 */
/* Beam search. Each step rates every word after every beam of a batch entry and takes the best
 * 2 * beams of them: those that end the text become hypotheses, the others go on. A hypothesis is
 * rated by its sum of logarithms divided by length ^ length_penalty. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/class_generate.h"

typedef struct candidate {
    float score;
    int64_t index; /* beam * vocabulary + word */
} candidate;

typedef struct hypothesis {
    float score;
    int64_t length;
    size_t slot; /* in `texts` */
} hypothesis;

typedef struct beam_state {
    generate *g;
    float *sums, *new_sums;  /* per row */
    candidate *best;         /* [batch, 2 * beams], best first */
    hypothesis *finished;    /* [batch, beams], best first */
    int64_t *texts;          /* [batch * beams, max_length] */
    int64_t *finished_count; /* per batch entry */
    bool *done;              /* per batch entry */
    double *all_scores;      /* output 2, or NULL */
} beam_state;

static pgy_status beams_init(beam_state *s, generate *g, pgy_error *err)
{
    const size_t rows = (size_t)g->rows, batch = (size_t)g->batch;
    size_t words;
    *s = (beam_state){.g = g};
    if (!size_mul(&words, rows, (size_t)g->max_length)) return generate_no_memory(g, err);
    pgy_status st = workspace_alloc((void **)&s->sums, g->c, rows, sizeof *s->sums, err);
    if (!st) st = workspace_alloc((void **)&s->new_sums, g->c, rows, sizeof *s->sums, err);
    if (!st) st = workspace_alloc((void **)&s->best, g->c, 2 * rows, sizeof *s->best, err);
    if (!st) st = workspace_alloc((void **)&s->finished, g->c, rows, sizeof *s->finished, err);
    if (!st) st = workspace_alloc((void **)&s->texts, g->c, words, sizeof *s->texts, err);
    if (!st)
        st = workspace_alloc((void **)&s->finished_count, g->c, batch, sizeof *s->finished_count,
                             err);
    if (!st) st = workspace_alloc((void **)&s->done, g->c, batch, sizeof *s->done, err);
    /* all beams start alike, so only the first one is in the race */
    for (size_t r = 0; !st && r < rows; r++) s->sums[r] = r % (size_t)g->beams ? -1e9f : 0;
    return st;
}

static void beams_deinit(beam_state *s)
{
    mem_free(s->sums);
    mem_free(s->new_sums);
    mem_free(s->best);
    mem_free(s->finished);
    mem_free(s->texts);
    mem_free(s->finished_count);
    mem_free(s->done);
}

/* ---- Hypotheses ----------------------------------------------------------------------------- */

/* Keeps row r as a finished text if it is among the best ones. */
static void finish_row(beam_state *s, int64_t entry, int64_t r, float sum)
{
    const generate *g = s->g;
    hypothesis *all = s->finished + entry * g->beams;
    const float score = sum / powf((float)g->length, g->length_penalty);
    int64_t at = s->finished_count[entry];
    size_t slot = (size_t)(entry * g->beams + at);
    if (at == g->beams) {
        if (!(score > all[at - 1].score)) return;
        slot = all[--at].slot;
    } else {
        s->finished_count[entry]++;
    }
    for (; at > 0 && score > all[at - 1].score; at--) all[at] = all[at - 1];
    all[at] = (hypothesis){.score = score, .length = g->length, .slot = slot};
    memcpy(s->texts + slot * (size_t)g->max_length, g->words + r * g->max_length,
           (size_t)g->length * sizeof *s->texts);
}

/* Can no open beam of the entry become better than its worst finished text? As in ONNX Runtime, the
 * window of candidates starts at entry * beams, although each entry has 2 * beams of them. */
static bool is_done(const beam_state *s, int64_t entry)
{
    const generate *g = s->g;
    if (s->finished_count[entry] < g->beams) return false;
    if (g->early_stopping) return true;
    float best = -INFINITY;
    for (int64_t i = 0; i < 2 * g->beams; i++)
        best = fmaxf(best, s->best[entry * g->beams + i].score);
    return s->finished[(entry + 1) * g->beams - 1].score >=
           best / powf((float)g->length, g->length_penalty);
}

/* ---- Steps ---------------------------------------------------------------------------------- */

/* The best 2 * beams words after the beams of an entry; of equal ones the first. */
static void find_best(const beam_state *s, int64_t entry)
{
    const generate *g = s->g;
    const int64_t most = 2 * g->beams, count = g->beams * g->vocabulary;
    const float *scores = g->scores + entry * count;
    candidate *best = s->best + entry * most;
    int64_t have = 0;
    for (int64_t i = 0; i < count; i++) {
        if (have == most && !(scores[i] > best[most - 1].score)) continue;
        int64_t at = have < most ? have++ : most - 1;
        for (; at > 0 && scores[i] > best[at - 1].score; at--) best[at] = best[at - 1];
        best[at] = (candidate){scores[i], i};
    }
}

/* The beams that go on; an entry that is done goes on with padding. */
static void choose_beams(beam_state *s, int64_t entry)
{
    generate *g = s->g;
    const int64_t first = entry * g->beams;
    int64_t beam = 0;
    if (s->done[entry]) {
        for (; beam < g->beams; beam++) {
            s->new_sums[first + beam] = 0;
            g->next[first + beam] = g->pad;
            g->from[first + beam] = g->beams == 1 ? first : 0;
        }
        return;
    }
    const candidate *best = s->best + entry * 2 * g->beams;
    for (int64_t i = 0; i < 2 * g->beams && beam < g->beams; i++) {
        const int64_t word = best[i].index % g->vocabulary;
        const int64_t row = first + best[i].index / g->vocabulary;
        if (word == g->eos) {
            if (i < g->beams) finish_row(s, entry, row, best[i].score);
            continue;
        }
        s->new_sums[first + beam] = best[i].score;
        g->next[first + beam] = word;
        g->from[first + beam++] = row;
    }
    s->done[entry] = is_done(s, entry);
}

static void rate(beam_state *s)
{
    generate *g = s->g;
    const int64_t count = g->rows * g->vocabulary;
    generate_log_softmax(g);
    generate_penalize(g);
    for (int64_t i = 0; i < count; i++) g->scores[i] += s->sums[i / g->vocabulary];
    for (int64_t i = 0; s->all_scores && i < count; i++)
        s->all_scores[(g->step - 1) * count + i] = g->scores[i];
}

static bool step(beam_state *s)
{
    generate *g = s->g;
    bool all = true;
    rate(s);
    for (int64_t b = 0; b < g->batch; b++) find_best(s, b);
    for (int64_t b = 0; b < g->batch; b++) choose_beams(s, b);
    for (int64_t b = 0; b < g->batch; b++) all &= s->done[b];
    memcpy(s->sums, s->new_sums, (size_t)g->rows * sizeof *s->sums);
    generate_append(g);
    return all;
}

/* ---- Outputs -------------------------------------------------------------------------------- */

static pgy_status start_scores(beam_state *s, pgy_error *err)
{
    generate *g = s->g;
    const int64_t shape[] = {g->max_length - g->prompt, g->batch, g->beams, g->vocabulary};
    if (g->vocabulary < 2)
        return op_error(g->c->node, err, PGY_E_SHAPE,
                        "the vocabulary has %lld words; a beam search needs at least 2",
                        (long long)g->vocabulary);
    if (g->c->node->output_count < 3 || !g->c->wanted[2]) return PGY_OK;
    const pgy_status st = op_output(g->c, 2, PGY_DTYPE_NONE, 4, shape, err);
    if (!st) s->all_scores = out_f64(g->c, 2);
    return st;
}

static pgy_status set_outputs(const beam_state *s, pgy_error *err)
{
    const generate *g = s->g;
    const int64_t shape[] = {g->batch, g->returned, g->max_length};
    const bool scores = g->c->node->output_count > 1 && g->c->wanted[1];
    pgy_status st = op_output(g->c, 0, PGY_I32, 3, shape, err);
    if (!st && scores) st = op_output(g->c, 1, PGY_DTYPE_NONE, 2, shape, err);
    for (int64_t i = 0; !st && i < g->batch * g->returned; i++) {
        const hypothesis *h = s->finished + i / g->returned * g->beams + i % g->returned;
        const int64_t *text = s->texts + h->slot * (size_t)g->max_length;
        for (int64_t w = 0; w < g->max_length; w++)
            out_i64(g->c, 0)[i * g->max_length + w] = w < h->length ? text[w] : g->pad;
        if (scores) out_f64(g->c, 1)[i] = h->score;
    }
    return st;
}

pgy_status generate_beams(generate *g, pgy_error *err)
{
    beam_state s;
    pgy_status st = beams_init(&s, g, err);
    if (!st) st = generate_first(g, err);
    if (!st) st = start_scores(&s, err);
    while (!st) {
        const bool all_done = step(&s);
        if (all_done || g->length >= g->max_length) break;
        st = generate_next(g, err);
    }
    for (int64_t r = 0; !st && r < g->rows; r++)
        if (!s.done[r / g->beams]) finish_row(&s, r / g->beams, r, s.sums[r]);
    if (!st) st = set_outputs(&s, err);
    beams_deinit(&s);
    return st;
}

pgy_status generate_infer_beams(op_infer *c, pgy_error *err)
{
    static const char LENGTH[] = "max_length is not known";
    dim *dims = op_dims(c, 3), *scores = op_dims(c, 4);
    const pgy_status st = generate_infer_graphs(c, err);
    const pgy_dtype type = op_has_input(c, 5) && c->inputs[5].dtype ? c->inputs[5].dtype : PGY_F32;
    if (st || !dims || !scores) return st ? st : rule_no_memory(c->node, err);
    dims[0] = scores[1] = generate_batch(c);
    dims[1] = generate_number(c, 4, "num_return_sequences is not known");
    dims[2] = generate_number(c, 1, LENGTH);
    scores[0] = dim_unknown(c->dims, LENGTH);
    scores[2] = generate_number(c, 3, "num_beams is not known");
    scores[3] = dim_unknown(c->dims, "the size of the vocabulary is not known");
    op_set_output(c, 0, PGY_I32, 3, dims);
    if (c->node->output_count > 1) op_set_output(c, 1, type, 2, dims);
    if (c->node->output_count > 2) op_set_output(c, 2, type, 4, scores);
    return PGY_OK;
}
