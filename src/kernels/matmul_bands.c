/* SPDX-License-Identifier: Apache-2.0 */
/* Packing of large constants, band by band: a band is some lines (rows or columns) of B that lie
 * one after the other. So neither an aligned copy of the whole matrix is needed, nor all pages of
 * the file that it lies in. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/matmul.h"

enum { BAND_BYTES = 8 << 20 };

/* The lines of B: rows, or columns if B is transposed. */
typedef struct lines {
    bool are_columns;
    size_t count, length, stride; /* elements of a line, and from one line to the next */
    size_t each;                  /* lines of a band; of columns, whole panels */
} lines;

static lines find_lines(const matmul_shape *s, const matmul_tile *t)
{
    lines l = {.are_columns = s->b_column != 1};
    l.count = l.are_columns ? s->n : s->k;
    l.length = l.are_columns ? s->k : s->n;
    l.stride = l.are_columns ? s->b_column : s->b_row;
    const size_t fit = BAND_BYTES / sizeof(float) / (l.stride ? l.stride : 1);
    const size_t step = l.are_columns ? t->columns : 1;
    l.each = fit < step ? step : fit / step * step;
    if (l.each > l.count) l.each = l.count;
    return l;
}

/* Packs columns from `first` on, which begin a panel. */
static void pack_columns(float *packed, const float *band, const matmul_shape *s,
                         const matmul_tile *t, size_t first, size_t count)
{
    matmul_shape part = *s;
    part.n = count;
    matmul_pack(packed + first * s->k, band, &part, t, 0, matmul_panel_count(&part, t));
}

/* Packs rows from `first` on, each panel's share of them. */
static void pack_rows(float *packed, const float *band, const matmul_shape *s, const matmul_tile *t,
                      size_t first, size_t count)
{
    matmul_shape part = *s;
    part.k = count;
    for (size_t panel = 0; panel < matmul_panel_count(s, t); panel++) {
        const size_t column = panel * t->columns;
        part.n = s->n - column < t->columns ? s->n - column : t->columns;
        matmul_pack(packed + column * s->k + first * t->columns, band + column, &part, t, 0, 1);
    }
}

static bool is_aligned(const char *b)
{
    return (uintptr_t)b % _Alignof(float) == 0;
}

bool matmul_pack_bands(float *packed, const char *b, const matmul_shape *s, const matmul_tile *t,
                       const kernel_problem *u)
{
    const lines l = find_lines(s, t);
    const bool copied = !is_aligned(b);
    if (!copied && l.each == l.count) {
        matmul_pack(packed, (const float *)b, s, t, 0, matmul_panel_count(s, t));
        return true;
    }
    const size_t bytes = ((l.each - 1) * l.stride + l.length) * sizeof(float);
    float *band = copied ? mem_alloc_block(bytes) : NULL;
    if (copied && !band) return false;
    for (size_t i = 0; i < l.count; i += l.each) {
        const size_t count = l.count - i < l.each ? l.count - i : l.each;
        const char *from = b + i * l.stride * sizeof(float);
        if (copied) memcpy(band, from, ((count - 1) * l.stride + l.length) * sizeof(float));
        const float *x = copied ? band : (const float *)from;
        if (l.are_columns)
            pack_columns(packed, x, s, t, i, count);
        else
            pack_rows(packed, x, s, t, i, count);
        if (u->passed && l.each < l.count) u->passed(u->passed_user);
    }
    mem_free_block(band, bytes);
    return true;
}
