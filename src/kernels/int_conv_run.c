/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of bytes: laying the image out, walking over its tiles, and the end of a tile. */
#include <string.h>

#include "kernels/int_conv.h"
#include "kernels/int_use.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/* ---- The image ------------------------------------------------------------------------------ */

/* Four channels side by side: `count` pixels, `step` apart in the rows. */
static void interleave(uint8_t *to, const uint8_t *const *rows, size_t count, size_t step,
                       uint8_t flip)
{
    size_t i = 0;
#if defined(__x86_64__)
    const __m128i mask = _mm_set1_epi8((char)flip);
    for (; step == 1 && i + 16 <= count; i += 16) {
        __m128i r[4], pair[4];
        for (int k = 0; k < 4; k++)
            r[k] = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(rows[k] + i)), mask);
        pair[0] = _mm_unpacklo_epi8(r[0], r[1]);
        pair[1] = _mm_unpackhi_epi8(r[0], r[1]);
        pair[2] = _mm_unpacklo_epi8(r[2], r[3]);
        pair[3] = _mm_unpackhi_epi8(r[2], r[3]);
        __m128i *out = (__m128i *)(to + INT_GROUP * i);
        _mm_storeu_si128(out, _mm_unpacklo_epi16(pair[0], pair[2]));
        _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(pair[0], pair[2]));
        _mm_storeu_si128(out + 2, _mm_unpacklo_epi16(pair[1], pair[3]));
        _mm_storeu_si128(out + 3, _mm_unpackhi_epi16(pair[1], pair[3]));
    }
#endif
    for (; i < count; i++)
        for (int k = 0; k < INT_GROUP; k++)
            to[INT_GROUP * i + (size_t)k] = rows[k][i * step] ^ flip;
}

/* One axis of a phase: positions [from, to) lie in the input, the first of them at `first`. */
typedef struct run_of {
    int64_t from, to, first;
} run_of;

static run_of find_run(const int_conv *p, size_t d, int64_t residue, int64_t count)
{
    const int64_t start = residue - p->pad[d], step = p->stride[d];
    run_of r = {.from = start < 0 ? (-start + step - 1) / step : 0};
    r.to = start < p->size[d] ? (p->size[d] - start + step - 1) / step : 0;
    if (r.to > count) r.to = count;
    if (r.from > r.to) r.from = r.to;
    r.first = start + r.from * step;
    return r;
}

static void lay_phase(const int_conv *p, uint8_t *to, const uint8_t *const *planes, int64_t y,
                      int64_t x, uint8_t zero, uint8_t flip)
{
    const size_t columns = p->columns, row_bytes = columns * INT_GROUP;
    const run_of v = find_run(p, 0, y, (int64_t)p->rows);
    const run_of h = find_run(p, 1, x, (int64_t)columns);
    if ((uint64_t)(v.to - v.from) == p->rows && (uint64_t)(h.to - h.from) == columns &&
        p->stride[1] == 1 && p->stride[0] == 1 && (uint64_t)p->size[1] == columns) {
        const uint8_t *rows[INT_GROUP];
        for (int k = 0; k < INT_GROUP; k++) rows[k] = planes[k] + v.first * p->size[1];
        interleave(to, rows, p->rows * columns, 1, flip);
        return;
    }
    for (int64_t r = 0; r < (int64_t)p->rows; r++, to += row_bytes) {
        const uint8_t *rows[INT_GROUP];
        if (r < v.from || r >= v.to || h.from == h.to) {
            memset(to, zero, row_bytes);
            continue;
        }
        const int64_t line = (v.first + (r - v.from) * p->stride[0]) * p->size[1] + h.first;
        for (int k = 0; k < INT_GROUP; k++) rows[k] = planes[k] + line;
        memset(to, zero, (size_t)h.from * INT_GROUP);
        interleave(to + h.from * INT_GROUP, rows, (size_t)(h.to - h.from), (size_t)p->stride[1],
                   flip);
        memset(to + h.to * INT_GROUP, zero, (columns - (size_t)h.to) * INT_GROUP);
    }
}

static uint8_t x_zero(const int_conv *p, const kernel_run *r)
{
    return (uint8_t)int_use_unsigned(p->x_zero_input ? r->tensors[p->x_zero_input] : NULL,
                                     p->x_signed);
}

/* All phases of one quad of channels. */
static void lay_quad(const int_conv *p, const kernel_run *r, size_t index)
{
    const size_t quad = index % p->quads, image = index / p->quads;
    const size_t plane = p->rows * p->columns * INT_GROUP;
    const size_t in_plane = (size_t)(p->size[0] * p->size[1]);
    const uint8_t *x = (const uint8_t *)r->tensors[0] + image * p->in * in_plane;
    uint8_t *to = (uint8_t *)r->workspace + image * int_conv_image_bytes(p) + quad * plane;
    const uint8_t *planes[INT_GROUP];
    for (size_t k = 0; k < INT_GROUP; k++) {
        const size_t c = quad * INT_GROUP + k; /* weights beyond the channels are zero */
        planes[k] = x + (c < p->in ? c : quad * INT_GROUP) * in_plane;
    }
    for (int64_t y = 0; y < p->stride[0]; y++)
        for (int64_t z = 0; z < p->stride[1]; z++) {
            const int8_t a = p->phase_of[0][y], b = p->phase_of[1][z];
            if (a < 0 || b < 0) continue;
            const size_t phase = (size_t)a * p->phase_counts[1] + (size_t)b;
            lay_phase(p, to + phase * p->quads * plane, planes, y, z, x_zero(p, r),
                      p->x_signed ? 0x80 : 0);
        }
}

/* ---- The end of a tile ---------------------------------------------------------------------- */

/* A tile while it is finished: positions [first, first + count) of one output plane. */
typedef struct tile_end {
    const int_conv *p;
    const kernel_run *r;
    size_t first, count, plane, channel;
    int32_t offset;
} tile_end;

/* The runs of the tile that lie in the output. Where `from` positions are elements at `to`. */
static bool next_run(const tile_end *e, size_t *at, size_t *n, size_t *out)
{
    const size_t columns = e->p->columns, width = (size_t)e->p->out_size[1];
    while (*at < e->count) {
        const size_t row = (e->first + *at) / columns, column = (e->first + *at) % columns;
        if (column >= width) {
            *at += columns - column;
            continue;
        }
        *n = width - column < e->count - *at ? width - column : e->count - *at;
        *out = row * width + column;
        return true;
    }
    return false;
}

static void finish_bytes(const tile_end *e, const int32_t *sums, uint8_t *line)
{
    const int_conv *p = e->p;
    const int_tile *t = int_tile_of((cpu_level)p->level);
    const double *scales = (const double *)((const char *)e->r->packed + p->at_scales);
    const size_t size = (size_t)(p->out_size[0] * p->out_size[1]);
    uint8_t *y = (uint8_t *)e->r->tensors[p->inputs] + e->plane * size;
    if (p->columns == (uint64_t)p->out_size[1]) {
        t->finish_row(y + e->first, sums, e->count, &p->finish, e->offset, scales[e->channel]);
        return;
    }
    t->finish_row(line, sums, e->count, &p->finish, e->offset, scales[e->channel]);
    for (size_t at = 0, n, out; next_run(e, &at, &n, &out); at += n) memcpy(y + out, line + at, n);
}

static void finish_ints(const tile_end *e, const int32_t *sums)
{
    const size_t size = (size_t)(e->p->out_size[0] * e->p->out_size[1]);
    int32_t *y = (int32_t *)e->r->tensors[e->p->inputs] + e->plane * size;
    for (size_t at = 0, n, out; next_run(e, &at, &n, &out); at += n)
        for (size_t i = 0; i < n; i++)
            y[out + i] = (int32_t)((uint32_t)sums[at + i] + (uint32_t)e->offset);
}

static void finish_floats(const tile_end *e, const int32_t *sums)
{
    const int_conv *p = e->p;
    const kernel_run *r = e->r;
    const size_t base = e->plane * (size_t)(p->out_size[0] * p->out_size[1]);
    const double scale = ((const double *)((const char *)r->packed + p->at_scales))[e->channel];
    const float bias = p->bias_input ? ((const float *)r->tensors[p->bias_input])[e->channel] : 0;
    const float *more = p->sum_input ? (const float *)r->tensors[p->sum_input] + base : NULL;
    float *y = (float *)r->tensors[p->inputs] + base;
    for (size_t at = 0, n, out; next_run(e, &at, &n, &out); at += n) {
        for (size_t i = 0; i < n; i++)
            y[out + i] =
                (float)((double)(int32_t)((uint32_t)sums[at + i] + (uint32_t)e->offset) * scale) +
                bias;
        for (size_t i = 0; more && i < n; i++) y[out + i] += more[out + i];
        for (size_t i = 0; p->relu && i < n; i++) y[out + i] = y[out + i] < 0 ? 0 : y[out + i];
    }
}

/* One row of sums: `ones` are the sums of the unsigned operand alone, or NULL. */
static void finish(tile_end *e, int32_t *sums, const int32_t *ones, uint8_t *line)
{
    const int_conv *p = e->p;
    const char *packed = e->r->packed;
    const uint32_t zero = (uint32_t)((const int32_t *)(packed + p->at_zeros))[e->channel];
    const uint32_t sum = (uint32_t)((const int32_t *)(packed + p->at_sums))[e->channel];
    const uint32_t bias = (uint32_t)((const int32_t *)(packed + p->at_bias))[e->channel];
    const uint32_t depth = (uint32_t)(p->in * p->taps);
    e->offset = (int32_t)(bias + x_zero(p, e->r) * (depth * zero - sum));
    for (size_t i = 0; ones && i < e->count; i++)
        sums[i] = (int32_t)((uint32_t)sums[i] - zero * (uint32_t)ones[i]);
    if (p->kind == INT_CONV_TO_BYTES)
        finish_bytes(e, sums, line);
    else if (p->kind == INT_CONV_TO_INT32)
        finish_ints(e, sums);
    else
        finish_floats(e, sums);
}

/* ---- Tiles ---------------------------------------------------------------------------------- */

typedef struct unit {
    size_t image, tile, tile_end, row, row_end; /* image: of a batch and group; rows: groups */
} unit;

static unit find_unit(const int_conv *p, size_t index)
{
    const size_t blocks = (p->tiles + p->block - 1) / p->block;
    unit u = {.tile = index / p->chunks % blocks * p->block, .image = index / p->chunks / blocks};
    kernel_share(&u.row, &u.row_end, p->row_groups, (uint32_t)(index % p->chunks),
                 (uint32_t)p->chunks);
    u.tile_end = u.tile + p->block < p->tiles ? u.tile + p->block : p->tiles;
    return u;
}

static void run_tile(const int_conv *p, const kernel_run *r, const unit *u, size_t row, size_t tile)
{
    const int_tile *t = int_tile_of((cpu_level)p->level);
    const size_t width = t->vectors * t->lanes, first = tile * width, group = u->image % p->groups;
    const size_t count = p->positions - first < width ? p->positions - first : width;
    const size_t vectors = (count + t->lanes - 1) / t->lanes;
    const uint64_t weights = p->taps * p->quads * t->rows * INT_GROUP;
    int32_t *sums = r->scratch, *ones = sums + INT_MAX_ROWS * INT_MAX_COLUMNS;
    uint8_t *line = (uint8_t *)(ones + INT_MAX_COLUMNS);
    const uint8_t *image = (const uint8_t *)r->workspace + u->image * int_conv_image_bytes(p);
    int_job j = {.a = (const uint8_t *)r->packed + (group * p->row_groups + row) * weights,
                 .b = image + first * INT_GROUP,
                 .taps = p->tap_offsets,
                 .tap_count = p->taps,
                 .groups = p->quads,
                 .a_row = INT_GROUP,
                 .a_step = t->rows * INT_GROUP,
                 .b_step = p->rows * p->columns * INT_GROUP,
                 .c = sums};
    size_t kind;
    (void)int_tile_rows(t, t->rows, &kind);
    t->run[1][kind][vectors - 1](&j);
    if (p->w_has_zero) {
        j.a = (const uint8_t *)r->packed + p->at_ones;
        j.a_step = INT_GROUP;
        j.c = ones;
        t->run[1][0][vectors - 1](&j);
    }
    const size_t channel = row * t->rows;
    const size_t rows = p->out - channel < t->rows ? p->out - channel : t->rows;
    tile_end e = {.p = p, .r = r, .first = first, .count = count};
    for (size_t i = 0; i < rows; i++) {
        e.channel = group * p->out + channel + i;
        e.plane = u->image * p->out + channel + i;
        finish(&e, sums + i * INT_MAX_COLUMNS, p->w_has_zero ? ones : NULL, line);
    }
}

void int_conv_run(const kernel_run *r)
{
    const int_conv *p = r->params;
    size_t from, to;
    if (r->phase == 0) {
        kernel_share(&from, &to, p->batch * p->groups * p->quads, r->part, r->parts);
        for (size_t i = from; i < to; i++) lay_quad(p, r, i);
        return;
    }
    kernel_share(&from, &to, int_conv_unit_count(p), r->part, r->parts);
    for (size_t i = from; i < to; i++) {
        const unit u = find_unit(p, i);
        for (size_t row = u.row; row < u.row_end; row++)
            for (size_t tile = u.tile; tile < u.tile_end; tile++) run_tile(p, r, &u, row, tile);
    }
}
