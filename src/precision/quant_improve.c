/* SPDX-License-Identifier: Apache-2.0 */
/* Adaptive rounding and bias correction, one layer at a time, on rows of what it reads.
 *
 * Adaptive rounding chooses for each weight the number above or below. The error of one output
 * channel over the rows X, with their quantized numbers Y, is |Y v - X w|^2 for its weights w and
 * rounded weights v. With e = v - w that is e'He + 2 b'e + const, where H = Y'Y and b = Y'(Y - X)w.
 * Each weight in turn takes the other number if that makes the error less, until none does.
 * AdaRound finds the same choice by gradients. A small multiple of the identity in H keeps rounding
 * to nearest where rows say nothing.
 *
 * Bias correction adds what the channel loses on average over the rows: mean(X w - Y v). */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/progress.h"
#include "precision/quant.h"

static const char LOG_PATH[] = "precision/quant_improve.c";

enum { BLOCK = 512, SWEEPS = 6 };
static const float DAMP = 0.01f;

/* One group of channels of a layer, and the part of the depth that is rounded together. */
typedef struct block {
    const quant_form *form;
    const float *x, *y;       /* [row][depth of block]: as they are, and quantized */
    size_t rows, first, size; /* depth from `first` on */
    float *h;                 /* size x size */
    float *e, *b;             /* size */
    float *lost;              /* for each row: (Y - X) w */
} block;

/* ---- Rows of a group ------------------------------------------------------------------------ */

/* The numbers that the rounded weight multiplies, for the columns from `first` on. `x`: before
 * quantizing. */
static void take_columns(float *x, float *y, const quantizer *q, const quant_fit *f, size_t site,
                         const quant_rows *rows, const quant_form *form, size_t first, size_t size)
{
    const size_t port = q->sites[site].ports[0];
    const float *shrink = f->shrink[port];
    for (size_t r = 0; r < rows->count; r++) {
        float *to = x + r * size;
        memcpy(to, rows->data + r * rows->width + first, size * sizeof *to);
        for (size_t k = 0; shrink && k < size; k++) to[k] *= shrink[(first + k) / form->area];
        quant_round(y + r * size, to, size, q->type, f->grids[port]);
    }
}

/* ---- Adaptive rounding ---------------------------------------------------------------------- */

static void fill_products(const block *b)
{
    const size_t n = b->size;
    double trace = 0;
    memset(b->h, 0, n * n * sizeof *b->h);
    for (size_t r = 0; r < b->rows && !cancel_requested(); r++) {
        const float *y = b->y + r * n;
        for (size_t i = 0; i < n; i++) {
            float *row = b->h + i * n;
            const float at = y[i];
            if (at == 0) continue;
            for (size_t k = 0; k < n; k++) row[k] += at * y[k];
        }
    }
    for (size_t i = 0; i < n; i++) trace += (double)b->h[i * n + i];
    for (size_t i = 0; i < n; i++) b->h[i * n + i] += DAMP * (float)(trace / (double)n) + 1e-30f;
}

/* b->b = Y'(Y - X) w */
static void fill_loss(const block *b, const float *w, size_t step)
{
    memset(b->b, 0, b->size * sizeof *b->b);
    for (size_t r = 0; r < b->rows; r++) {
        const float *x = b->x + r * b->size, *y = b->y + r * b->size;
        float lost = 0;
        for (size_t k = 0; k < b->size; k++) lost += (y[k] - x[k]) * w[k * step];
        for (size_t k = 0; k < b->size; k++) b->b[k] += lost * y[k];
    }
}

/* Rounds the weights w of one channel into v; `g` becomes H e + b. Returns the number of weights
 * that are not rounded to nearest. */
static size_t round_channel(const block *b, const float *w, float *v, size_t step, float scale,
                            pgy_dtype type, float *g)
{
    const size_t n = b->size;
    size_t moved = 0;
    fill_loss(b, w, step);
    memcpy(g, b->b, n * sizeof *g);
    for (size_t i = 0; i < n; i++) {
        b->e[i] = v[i * step] - w[i * step];
        const float e = b->e[i], *row = b->h + i * n;
        for (size_t k = 0; e != 0 && k < n; k++) g[k] += e * row[k];
    }
    for (size_t sweep = 0, flips = 1; flips && sweep < SWEEPS; sweep++) {
        flips = 0;
        for (size_t i = 0; i < n; i++) {
            float low, high;
            quant_neighbours(&low, &high, type, w[i * step] / scale);
            const float now = v[i * step], up = high * scale, down = low * scale;
            const float other = fabsf(now - up) < fabsf(now - down) ? down : up;
            const float by = other - now, *row = b->h + i * n;
            if (by == 0 || !(2 * by * g[i] + by * by * row[i] < 0)) continue;
            v[i * step] = other;
            flips++;
            for (size_t k = 0; k < n; k++) g[k] += by * row[k];
        }
    }
    for (size_t i = 0; i < n; i++) moved += fabsf(v[i * step] - w[i * step]) > fabsf(b->e[i]);
    return moved;
}

typedef struct improvement {
    quantizer *q;
    quant_fit *f;
    size_t site;
    quant_form form;
    quant_rows rows;
    pgy_tensor *exact;       /* the weight, not rounded */
    float *x, *y, *h, *line; /* memory for one block */
} improvement;

static size_t round_block(improvement *m, size_t group, size_t first, size_t size)
{
    const quant_form *form = &m->form;
    const size_t per_group = form->channels / form->groups, n = size;
    float *v = pgy_tensor_data(m->f->weights[m->site]);
    const float *w = pgy_tensor_data(m->exact);
    const block b = {.form = form,
                     .x = m->x,
                     .y = m->y,
                     .rows = m->rows.count,
                     .first = first,
                     .size = size,
                     .h = m->h,
                     .e = m->line,
                     .b = m->line + n};
    size_t moved = 0;
    take_columns(m->x, m->y, m->q, m->f, m->site, &m->rows, form, group * form->depth + first,
                 size);
    fill_products(&b);
    for (size_t c = group * per_group; c < (group + 1) * per_group && !cancel_requested(); c++) {
        const size_t at = c * form->channel_step + first * form->depth_step;
        moved += round_channel(&b, w + at, v + at, form->depth_step, m->f->steps[m->site][c],
                               m->q->type, m->line + 2 * n);
    }
    return moved;
}

static void round_adaptively(improvement *m)
{
    size_t moved = 0;
    for (size_t g = 0; g < m->form.groups; g++)
        for (size_t first = 0; first < m->form.depth && !cancel_requested(); first += BLOCK) {
            const size_t rest = m->form.depth - first;
            moved += round_block(m, g, first, rest < BLOCK ? rest : BLOCK);
        }
    LOG(VERBOSE, "Layer '%s': %zu of %zu weights are not rounded to the nearest number",
        m->q->sites[m->site].node->name, moved, pgy_tensor_count(m->exact));
}

/* ---- Bias correction ------------------------------------------------------------------------ */

static void add_mean(float *mean, const float *rows, size_t count, size_t width)
{
    for (size_t r = 0; r < count; r++)
        for (size_t k = 0; k < width; k++) mean[k] += rows[r * width + k] / (float)count;
}

static void correct_block(improvement *m, size_t group, size_t first, size_t size)
{
    const quant_form *form = &m->form;
    const size_t per_group = form->channels / form->groups;
    const float *v = pgy_tensor_data(m->f->weights[m->site]), *w = pgy_tensor_data(m->exact);
    float *mean_x = m->line, *mean_y = m->line + size;
    memset(m->line, 0, 2 * size * sizeof *m->line);
    take_columns(m->x, m->y, m->q, m->f, m->site, &m->rows, form, group * form->depth + first,
                 size);
    add_mean(mean_x, m->x, m->rows.count, size);
    add_mean(mean_y, m->y, m->rows.count, size);
    for (size_t c = group * per_group; c < (group + 1) * per_group; c++) {
        double lost = 0;
        for (size_t k = 0; k < size; k++) {
            const size_t at = c * form->channel_step + (first + k) * form->depth_step;
            lost += (double)mean_x[k] * (double)w[at] - (double)mean_y[k] * (double)v[at];
        }
        m->f->shifts[m->site][c] += (float)lost;
    }
}

static pgy_status correct_bias(improvement *m, pgy_error *err)
{
    float *shift = mem_calloc(m->form.channels, sizeof *shift);
    if (!shift) return search_no_memory(err);
    m->f->shifts[m->site] = shift;
    for (size_t g = 0; g < m->form.groups; g++)
        for (size_t first = 0; first < m->form.depth && !cancel_requested(); first += BLOCK) {
            const size_t rest = m->form.depth - first;
            correct_block(m, g, first, rest < BLOCK ? rest : BLOCK);
        }
    return PGY_OK;
}

/* ---- Layers --------------------------------------------------------------------------------- */

static pgy_status improve_site(improvement *m, pgy_error *err)
{
    const size_t n = m->form.depth < BLOCK ? m->form.depth : BLOCK;
    pgy_status st = quant_rows_read(&m->rows, m->q, m->site, &m->form, err);
    if (!st && !m->rows.data) return PGY_OK;
    if (!st) st = quant_weight_scaled(&m->exact, m->q, m->f, m->site, err);
    m->x = mem_calloc(m->rows.count * n + 1, sizeof *m->x);
    m->y = mem_calloc(m->rows.count * n + 1, sizeof *m->y);
    m->h = mem_calloc(n * n, sizeof *m->h);
    m->line = mem_calloc(3 * n, sizeof *m->line);
    if (!st && !(m->x && m->y && m->h && m->line)) st = search_no_memory(err);
    if (!st && m->f->method.adaptive) round_adaptively(m);
    if (!st && m->f->method.bias_correction) st = correct_bias(m, err);
    pgy_tensor_release(m->exact);
    mem_free(m->rows.data);
    mem_free(m->x);
    mem_free(m->y);
    mem_free(m->h);
    mem_free(m->line);
    return cancel_check_after(st, err);
}

pgy_status quant_improve(quantizer *q, quant_fit *f, pgy_error *err)
{
    pgy_status st = PGY_OK;
    progress_begin("layers rounded", q->site_count);
    for (size_t i = 0; !st && i < q->site_count; i++) {
        improvement m = {.q = q, .f = f, .site = i};
        progress_advance(i);
        if (quant_form_of(&m.form, &q->sites[i])) st = improve_site(&m, err);
    }
    progress_end();
    return st;
}
