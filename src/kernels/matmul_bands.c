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

/* Where packed panels go. */
typedef struct target {
    const matmul_shape *s;
    const matmul_tile *t;
    matmul_narrow *narrow; /* NULL: they stay float32 */
    void *packed;
    float *room; /* of panels that are made narrow */
} target;

/* Packs panels of a part of B, of which the first begins at `at`. */
static void pack_part(const target *to, size_t at, const float *b, const matmul_shape *part,
                      size_t panels)
{
    if (!to->narrow) {
        matmul_pack((float *)to->packed + at, b, part, to->t, 0, panels);
        return;
    }
    matmul_pack(to->room, b, part, to->t, 0, panels);
    to->narrow((uint16_t *)to->packed + at, to->room, panels * to->t->columns * part->k);
}

/* Packs columns from `first` on, which begin a panel. */
static void pack_columns(const target *to, const float *band, size_t first, size_t count)
{
    matmul_shape part = *to->s;
    part.n = count;
    pack_part(to, first * part.k, band, &part, matmul_panel_count(&part, to->t));
}

/* Packs rows from `first` on, each panel's share of them. */
static void pack_rows(const target *to, const float *band, size_t first, size_t count)
{
    const matmul_shape *s = to->s;
    const size_t wide = to->t->columns;
    matmul_shape part = *s;
    part.k = count;
    for (size_t panel = 0; panel < matmul_panel_count(s, to->t); panel++) {
        const size_t column = panel * wide;
        part.n = s->n - column < wide ? s->n - column : wide;
        pack_part(to, column * s->k + first * wide, band + column, &part, 1);
    }
}

static void pack_band(const target *to, const lines *l, const float *band, size_t first,
                      size_t count)
{
    if (l->are_columns)
        pack_columns(to, band, first, count);
    else
        pack_rows(to, band, first, count);
}

static size_t room_bytes(const lines *l, const matmul_shape *s, const matmul_tile *t)
{
    const matmul_shape band = {.n = l->each};
    const size_t floats =
        l->are_columns ? matmul_panel_count(&band, t) * t->columns * s->k : t->columns * l->each;
    return floats * sizeof(float);
}

static bool is_aligned(const char *b)
{
    return (uintptr_t)b % _Alignof(float) == 0;
}

bool matmul_pack_bands(void *packed, size_t offset, const matmul_shape *s, const matmul_tile *t,
                       matmul_narrow *narrow, const kernel_problem *u)
{
    const lines l = find_lines(s, t);
    const kernel_tensor *b = &u->inputs[1];
    const bool copied = b->elsewhere || !is_aligned(b->data);
    const size_t bytes = ((l.each - 1) * l.stride + l.length) * sizeof(float);
    const size_t room = room_bytes(&l, s, t);
    float *band = copied ? mem_alloc_block(bytes) : NULL;
    const target to = {s, t, narrow, packed, narrow ? mem_alloc_block(room) : NULL};
    bool fine = (band || !copied) && (to.room || !narrow);
    for (size_t i = 0; fine && i < l.count; i += l.each) {
        const size_t count = l.count - i < l.each ? l.count - i : l.each;
        const size_t from = offset + i * l.stride * sizeof(float);
        if (copied)
            fine = kernel_read_part(band, u, b, from,
                                    ((count - 1) * l.stride + l.length) * sizeof(float));
        if (fine)
            pack_band(&to, &l, copied ? band : (const float *)((const char *)b->data + from), i,
                      count);
        if (u->passed && l.each < l.count) u->passed(u->passed_user);
    }
    mem_free_block(band, bytes);
    mem_free_block(to.room, room);
    return fine;
}
