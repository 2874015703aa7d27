/* SPDX-License-Identifier: Apache-2.0 */
/* Runs mixtures of experts in phases: 0 chooses the experts of each token; 1 sorts the pairs of
 * token and expert; 2 gathers the rows of each expert; 3 is its first layer, and the one that gates
 * it; 4 the activation; 5 the second layer; 6 sums up the results of each token. */
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "kernels/experts.h"
#include "kernels/group_sort.h"

/* A view of the workspace. */
typedef struct rows {
    uint32_t *expert, *pair, *row, *start;
    float *weight, *x, *first, *third, *act, *part;
} rows;

static rows rows_of(const experts *p, const kernel_run *r)
{
    char *w = r->workspace;
    return (rows){.expert = (uint32_t *)(w + p->at_expert),
                  .pair = (uint32_t *)(w + p->at_pair),
                  .row = (uint32_t *)(w + p->at_row),
                  .start = (uint32_t *)(w + p->at_start),
                  .weight = (float *)(w + p->at_weight),
                  .x = (float *)(w + p->at_x),
                  .first = (float *)(w + p->at_first),
                  .third = (float *)(w + p->at_third),
                  .act = (float *)(w + p->at_act),
                  .part = (float *)(w + p->at_part)};
}

/* ---- Sizes ---------------------------------------------------------------------------------- */

uint64_t experts_lay_out(experts *p)
{
    const uint64_t pairs = p->tokens * p->k;
    uint64_t end = 0;
    extent_place(&p->at_expert, &end, pairs, sizeof(uint32_t));
    extent_place(&p->at_weight, &end, pairs, sizeof(float));
    extent_place(&p->at_pair, &end, pairs, sizeof(uint32_t));
    extent_place(&p->at_row, &end, pairs, sizeof(uint32_t));
    extent_place(&p->at_start, &end, p->count + 1, sizeof(uint32_t));
    extent_place(&p->at_x, &end, extent_mul(pairs, p->hidden), sizeof(float));
    extent_place(&p->at_first, &end, extent_mul(pairs, p->layers[0].out), sizeof(float));
    extent_place(&p->at_third, &end, extent_mul(pairs, p->layers[2].out), sizeof(float));
    extent_place(&p->at_act, &end, extent_mul(pairs, p->inter), sizeof(float));
    extent_place(&p->at_part, &end, extent_mul(pairs, p->hidden), sizeof(float));
    for (size_t i = 0; i < EXPERTS_LAYERS; i++) {
        experts_layer *l = &p->layers[i];
        if (!l->few_bits) continue;
        const uint64_t row = nbits_matmul_rows(&l->packed, 1);
        extent_place(&l->room, &end, extent_mul(pairs, row), 1);
    }
    return end;
}

matmul_shape experts_shape(const experts_layer *l, uint64_t m)
{
    return (matmul_shape){.m = m,
                          .n = l->out,
                          .k = l->in,
                          .a_row = l->in,
                          .a_column = 1,
                          .b_row = 1,
                          .b_column = l->in,
                          .batch = 1,
                          .alpha = 1,
                          .beta = 1,
                          .bias = l->bias ? MATMUL_BIAS_COLUMN : MATMUL_NO_BIAS};
}

uint64_t experts_float_bytes(const experts *p, const experts_layer *l)
{
    const uint64_t columns = matmul_tile_of((cpu_level)p->level)->columns;
    return extent_round_up(extent_mul3(extent_round_up(l->out, columns), l->in, sizeof(float)), 64);
}

uint64_t experts_scratch_bytes(const experts *p)
{
    const matmul_tile *t = matmul_tile_of((cpu_level)p->level);
    uint64_t most = p->count; /* marks of the experts that a token has */
    for (size_t i = 0; i < EXPERTS_LAYERS; i++) {
        const experts_layer *l = &p->layers[i];
        const matmul_shape s = experts_shape(l, 1);
        const uint64_t own = l->few_bits ? nbits_matmul_scratch_bytes(&l->packed)
                                         : matmul_scratch_count(&s, t) * sizeof(float);
        if (l->out && own > most) most = own;
    }
    return most;
}

/* ---- Choosing ------------------------------------------------------------------------------- */

/* The expert with the next largest score; among equal scores the first one. */
static size_t take_best(const float *scores, uint8_t *taken, size_t count)
{
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < count; i++)
        if (!taken[i] && (best == SIZE_MAX || scores[i] > scores[best])) best = i;
    taken[best] = 1;
    return best;
}

/* The softmax over those experts whose scores are within 2 % of the best, among all that were not
 * chosen before. */
static double mixed_weight(const float *scores, const uint8_t *taken, size_t count, size_t best)
{
    const double top = (double)scores[best];
    double sum = 1;
    for (size_t i = 0; i < count; i++) {
        const double score = (double)scores[i];
        if (!taken[i] && !(top - score > 0.02 * fmax(fabs(score), top))) sum += exp(score - top);
    }
    return 1 / sum;
}

static void choose(const experts *p, const kernel_run *r, const rows *w, size_t token)
{
    const float *scores = (const float *)r->tensors[EXPERTS_ROUTER] + token * p->count;
    const float *given =
        p->weights ? (const float *)r->tensors[p->weights] + token * p->count : NULL;
    double top = -INFINITY, sum = 0;
    memset(r->scratch, 0, p->count);
    for (size_t i = 0; i < p->count; i++) top = fmax(top, (double)scores[i]);
    for (size_t i = 0; i < p->count; i++) sum += exp((double)scores[i] - top);
    for (size_t n = 0; n < p->k; n++) {
        const size_t best = take_best(scores, r->scratch, p->count);
        w->expert[token * p->k + n] = (uint32_t)best;
        w->weight[token * p->k + n] = given ? given[best]
                                      : p->mixes
                                          ? (float)mixed_weight(scores, r->scratch, p->count, best)
                                          : (float)(exp((double)scores[best] - top) / sum);
    }
}

static void sort_pairs(const experts *p, const rows *w)
{
    const size_t pairs = p->tokens * p->k;
    group_sort(w->start, w->pair, w->expert, pairs, p->count);
    for (size_t row = 0; row < pairs; row++) w->row[w->pair[row]] = (uint32_t)row;
}

/* ---- Layers --------------------------------------------------------------------------------- */

/* The product of one expert. */
typedef struct product {
    nbits_matmul packed;
    nbits_operands o;
    size_t first, count; /* rows */
} product;

static product product_of(const experts *p, const kernel_run *r, const rows *w, size_t layer,
                          size_t expert)
{
    const experts_layer *l = &p->layers[layer];
    const float *a = layer == 1 ? w->act : w->x;
    float *c = layer == 0 ? w->first : layer == 1 ? w->part : w->third;
    product j = {.packed = l->packed, .first = w->start[expert]};
    j.count = w->start[expert + 1] - j.first;
    const uint64_t at = l->few_bits ? j.first * nbits_matmul_rows(&j.packed, 1) : 0;
    j.o = (nbits_operands){.a = a + j.first * l->in,
                           .packed = (const char *)r->packed + l->at + expert * l->each,
                           .c = c + j.first * l->out,
                           .workspace = l->few_bits ? (char *)r->workspace + l->room + at : NULL,
                           .scratch = r->scratch};
    if (l->bias) j.o.bias = (const float *)r->tensors[l->bias] + expert * l->out;
    if (l->few_bits) (void)nbits_matmul_rows(&j.packed, j.count);
    return j;
}

/* Reads a row of A for a layer whose weights have few bits. */
static void read_row(const experts *p, const kernel_run *r, const rows *w, size_t layer, size_t row)
{
    const size_t expert = w->expert[w->pair[row]];
    if (!p->layers[layer].few_bits) return;
    const product j = product_of(p, r, w, layer, expert);
    if (nbits_matmul_reads(&j.packed)) nbits_matmul_read(&j.packed, &j.o, row - j.first, j.count);
}

static size_t units_of(const experts *p, const product *j, const experts_layer *l)
{
    const matmul_shape s = experts_shape(l, j->count);
    if (!j->count) return 0;
    return l->few_bits ? nbits_matmul_units(&j->packed)
                       : matmul_unit_count(&s, matmul_tile_of((cpu_level)p->level), 1);
}

static void run_unit(const experts *p, const product *j, const experts_layer *l, size_t unit)
{
    const matmul_shape s = experts_shape(l, j->count);
    const matmul_data d = {.a = j->o.a,
                           .packed = (const float *)(const void *)j->o.packed,
                           .b_shared = true,
                           .bias = j->o.bias,
                           .c = j->o.c};
    if (l->few_bits)
        nbits_matmul_unit(&j->packed, &j->o, unit);
    else
        matmul_unit(&s, matmul_tile_of((cpu_level)p->level), 1, unit, &d, j->o.scratch);
}

/* Shares the units of work of all experts and of the layers in `which`, one bit for each. */
static void run_layers(const experts *p, const kernel_run *r, const rows *w, unsigned which)
{
    size_t all = 0, from, to, at = 0;
    for (int run = 0; run < 2; run++) {
        if (run) kernel_share(&from, &to, all, r->part, r->parts);
        for (size_t i = 0; i < EXPERTS_LAYERS; i++)
            for (size_t e = 0; (which >> i & 1) && p->layers[i].out && e < p->count; e++) {
                if (w->start[e] == w->start[e + 1]) continue;
                const product j = product_of(p, r, w, i, e);
                const size_t units = units_of(p, &j, &p->layers[i]);
                all += run ? 0 : units;
                for (size_t k = 0; run && k < units && !cancel_requested(); k++, at++)
                    if (at >= from && at < to) run_unit(p, &j, &p->layers[i], k);
            }
    }
}

/* ---- The activation ------------------------------------------------------------------------- */

/* gate / (1 + exp(-alpha gate)) * (x + beta) in `y`, which may be `gate` or `x`. */
static void swiglu(const experts *p, float *y, const float *gate, size_t step, const float *x)
{
    const vec_math *v = vec_math_of((cpu_level)p->level);
    enum { PIECE = 128 };
    float gates[PIECE], values[PIECE], factors[PIECE];
    for (size_t from = 0; from < p->inter; from += PIECE) {
        const size_t count = p->inter - from < PIECE ? p->inter - from : PIECE;
        for (size_t i = 0; i < count; i++) {
            gates[i] = gate[(from + i) * step];
            values[i] = x ? x[(from + i) * step] : 1;
            if (p->clamps) {
                gates[i] = fminf(gates[i], p->limit);
                values[i] = fmaxf(fminf(values[i], p->limit), -p->limit);
            }
            factors[i] = p->alpha * gates[i];
        }
        v->sigmoid(factors, factors, count);
        for (size_t i = 0; i < count; i++)
            y[from + i] = gates[i] * factors[i] * (values[i] + p->beta);
    }
}

static void activate(const experts *p, const rows *w, size_t row)
{
    const vec_math *v = vec_math_of((cpu_level)p->level);
    const float *h = w->first + row * p->layers[0].out;
    const float *other = p->layers[2].out ? w->third + row * p->inter : NULL;
    float *y = w->act + row * p->inter;
    switch ((experts_activation)p->activation) {
    case EXPERTS_SWIGLU:
        if (p->fusion == 1)
            swiglu(p, y, h, 2, h + 1);
        else
            swiglu(p, y, h, 1, p->fusion == 2 ? h + p->inter : other);
        return;
    case EXPERTS_RELU:
        for (size_t i = 0; i < p->inter; i++) y[i] = h[i] < 0 ? 0 : h[i];
        break;
    case EXPERTS_GELU: v->gelu(y, h, p->inter); break;
    case EXPERTS_SILU: v->silu(y, h, p->inter); break;
    case EXPERTS_IDENTITY: memcpy(y, h, p->inter * sizeof *y); break;
    }
    for (size_t i = 0; other && i < p->inter; i++) y[i] *= other[i];
}

/* ---- Phases --------------------------------------------------------------------------------- */

static void sum_token(const experts *p, const kernel_run *r, const rows *w, size_t token)
{
    float *y = (float *)r->tensors[p->inputs] + token * p->hidden, all = 0;
    memset(y, 0, p->hidden * sizeof *y);
    for (size_t n = 0; n < p->k; n++) {
        const float weight = w->weight[token * p->k + n];
        const float *x = w->part + w->row[token * p->k + n] * p->hidden;
        all += weight;
        for (size_t i = 0; i < p->hidden; i++) y[i] += weight * x[i];
    }
    for (size_t i = 0; p->normalises && i < p->hidden; i++) y[i] /= all;
}

static void gather_row(const experts *p, const kernel_run *r, const rows *w, size_t row)
{
    memcpy(w->x + row * p->hidden,
           (const float *)r->tensors[EXPERTS_X] + w->pair[row] / p->k * p->hidden,
           p->hidden * sizeof(float));
    read_row(p, r, w, 0, row);
    if (p->layers[2].out) read_row(p, r, w, 2, row);
}

static void run_rows(const experts *p, const kernel_run *r, const rows *w)
{
    const bool tokens = r->phase == 0 || r->phase == 6;
    size_t from, to;
    kernel_share(&from, &to, tokens ? p->tokens : p->tokens * p->k, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        if (r->phase == 0) choose(p, r, w, i);
        if (r->phase == 2) gather_row(p, r, w, i);
        if (r->phase == 4) {
            activate(p, w, i);
            read_row(p, r, w, 1, i);
        }
        if (r->phase == 6) sum_token(p, r, w, i);
    }
}

void experts_run(const kernel_run *r)
{
    const experts *p = r->params;
    const rows w = rows_of(p, r);
    if (r->phase == 1 && !r->part) sort_pairs(p, &w);
    if (r->phase == 3) run_layers(p, r, &w, 1u << 0 | 1u << 2);
    if (r->phase == 5) run_layers(p, r, &w, 1u << 1);
    if (r->phase % 2 == 0) run_rows(p, r, &w);
}
