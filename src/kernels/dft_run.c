/* SPDX-License-Identifier: Apache-2.0 */
/* Running of dft.c: lines are read into a buffer, transformed, and written. */
#include <string.h>

#include "base/cancel.h"
#include "kernels/channels_last.h"
#include "kernels/dft.h"
#include "kernels/squares.h"

/* Lines next to each other: their first elements in the input and in the output, and the distances
 * of lines and of elements there. */
typedef struct dft_lines {
    const float *x;
    float *y;
    size_t count, x_line, x_element, y_line, y_element;
    size_t width; /* of a buffer's rows: DFT_LANES, or 1 for one line */
} dft_lines;

/* Copies `elements` of all lines to rows of the buffer; lanes without a line become zeros. */
static void dft_read(float *to, const dft_lines *l, size_t elements, size_t parts)
{
    if (l->count < l->width) memset(to, 0, elements * parts * l->width * sizeof *to);
    if (l->x_element == parts) {
        squares_transpose(to, l->width, l->x, l->x_line, l->count, elements * parts);
        return;
    }
    for (size_t k = 0; k < elements; k++)
        for (size_t part = 0; part < parts; part++)
            for (size_t i = 0; i < l->count; i++)
                to[(k * parts + part) * l->width + i] =
                    l->x[k * l->x_element + i * l->x_line + part];
}

static void dft_write(const dft_lines *l, const float *from, size_t elements, size_t parts)
{
    if (l->y_element == parts) {
        squares_transpose(l->y, l->y_line, from, l->width, elements * parts, l->count);
        return;
    }
    for (size_t k = 0; k < elements; k++)
        for (size_t part = 0; part < parts; part++)
            for (size_t i = 0; i < l->count; i++)
                l->y[k * l->y_element + i * l->y_line + part] =
                    from[(k * parts + part) * l->width + i];
}

/* Makes pairs of the first n real numbers in the buffer. */
static void dft_pair(float *x, size_t n, size_t width)
{
    for (size_t k = n; k-- > 0;) {
        memmove(x + 2 * k * width, x + k * width, width * sizeof *x);
        memset(x + (2 * k + 1) * width, 0, width * sizeof *x);
    }
}

/* Completes a spectrum whose second half mirrors the first. Numbers that mirror themselves are
 * real. */
static void dft_mirror(float *x, size_t n, size_t width)
{
    memset(x + width, 0, width * sizeof *x);
    if (n % 2 == 0) memset(x + (n + 1) * width, 0, width * sizeof *x);
    for (size_t k = n / 2 + 1; k < n; k++)
        for (size_t i = 0; i < width; i++) {
            x[2 * k * width + i] = x[2 * (n - k) * width + i];
            x[(2 * k + 1) * width + i] = -x[(2 * (n - k) + 1) * width + i];
        }
}

/* Reads the lines as complex ones of the transform's length. */
static void dft_load(const dft_params *p, const dft_lines *l, const float *window,
                     const dft_loops *loops, float *a)
{
    const size_t n = p->length, half = n / 2 + 1, width = l->width, parts = p->in_parts;
    size_t used = p->in_size < n || p->step ? p->step ? n : p->in_size : n;
    if (p->mirrored && used > half) used = half;
    dft_read(a, l, used, parts);
    if (window) loops->window(a, window, used, parts);
    memset(a + used * parts * width, 0, (n - used) * parts * width * sizeof *a);
    if (parts == 1 && !p->halved) dft_pair(a, n, width);
    if (p->mirrored) dft_mirror(a, n, width);
    if (p->inverse) loops->scale(a, n, 1, true);
}

/* The real parts of n pairs, one behind the other. */
static void dft_real(float *x, size_t n, size_t width)
{
    for (size_t k = 1; k < n; k++) memcpy(x + k * width, x + 2 * k * width, width * sizeof *x);
}

static dft_tables dft_tables_of(const dft_params *p, const float *packed)
{
    dft_tables t = {.turns = packed};
    packed += 2 * p->passes.size;
    if (p->halved) {
        t.halves = packed;
        packed += 2 * (p->complex_length + 1);
    }
    if (p->convolves) {
        t.chirp = packed;
        t.spectrum = packed + 2 * p->complex_length;
    }
    return t;
}

static void dft_do(const dft_params *p, const kernel_run *r, const dft_lines *l)
{
    const dft_loops *loops = dft_loops_of(l->width > 1, (cpu_level)p->level);
    const dft_tables t = dft_tables_of(p, r->packed);
    const float *window = p->windowed ? r->tensors[2] : NULL;
    float *a = r->scratch, *b = a + dft_buffer(p) * l->width;
    dft_load(p, l, window, loops, a);
    float *y = loops->transform(a, b, p, &t);
    if (p->halved) {
        float *const other = y == a ? b : a;
        loops->split(other, y, p, &t);
        y = other;
    }
    if (p->inverse) loops->scale(y, p->length, 1 / (float)p->length, true);
    if (p->out_parts == 1) dft_real(y, p->out_size, l->width);
    dft_write(l, y, p->out_size, p->out_parts);
}

/* Line i counts frames of STFT, or inner lines, from `first` in entry `outer`. */
static dft_lines dft_lines_of(const dft_params *p, const kernel_run *r, size_t outer, size_t first,
                              size_t count, size_t width)
{
    dft_lines l = {.count = count, .width = width};
    const float *x = r->tensors[0];
    float *y = r->tensors[p->inputs];
    if (p->step) {
        l.x_line = p->step * p->in_parts;
        l.x_element = p->in_parts;
        l.y_line = p->out_size * p->out_parts;
        l.y_element = p->out_parts;
        l.x = x + outer * p->in_size * p->in_parts + first * l.x_line;
        l.y = y + (outer * p->frames + first) * l.y_line;
        return l;
    }
    l.x_element = p->inner * p->in_parts;
    l.y_element = p->inner * p->out_parts;
    l.x_line = p->inner == 1 ? p->in_size * p->in_parts : p->in_parts;
    l.y_line = p->inner == 1 ? p->out_size * p->out_parts : p->out_parts;
    l.x = x + outer * p->in_size * l.x_element + first * l.x_line;
    l.y = y + outer * p->out_size * l.y_element + first * l.y_line;
    return l;
}

void dft_run(const kernel_run *r)
{
    const dft_params *p = r->params;
    /* With one inner line the outer ones are next to each other. */
    const bool outer_lines = !p->step && p->inner == 1;
    const size_t lines = p->step ? p->frames : outer_lines ? p->outer : p->inner;
    const size_t groups = outer_lines ? 1 : p->outer;
    const size_t width = p->wide ? DFT_LANES : 1, each = (lines - 1) / width + 1;
    size_t from, to;
    kernel_share(&from, &to, groups * each, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const size_t outer = i / each, first = i % each * width;
        const size_t count = lines - first < width ? lines - first : width;
        const size_t step = count > 2 ? count : 1;
        for (size_t k = 0; k < count; k += step) {
            const dft_lines l = dft_lines_of(p, r, outer, first + k, step, step > 1 ? width : 1);
            dft_do(p, r, &l);
        }
    }
}
