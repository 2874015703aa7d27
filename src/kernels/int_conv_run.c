/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of bytes: copying the image, computing its tiles, and the epilogue of a tile. */
#include <string.h>

#include "base/cancel.h"
#include "kernels/int_conv.h"
#include "kernels/int_problem.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/* ---- The image ------------------------------------------------------------------------------ */

#if defined(__x86_64__)
/* Interleaves 16 pixels of four channels. */
static inline void put_pixels(uint8_t *to, const uint8_t *const *rows, size_t at, __m128i mask)
{
    __m128i r[4], pair[4], *out = (__m128i *)to;
    for (int k = 0; k < 4; k++)
        r[k] = _mm_xor_si128(_mm_loadu_si128((const __m128i *)(rows[k] + at)), mask);
    pair[0] = _mm_unpacklo_epi8(r[0], r[1]);
    pair[1] = _mm_unpackhi_epi8(r[0], r[1]);
    pair[2] = _mm_unpacklo_epi8(r[2], r[3]);
    pair[3] = _mm_unpackhi_epi8(r[2], r[3]);
    _mm_storeu_si128(out, _mm_unpacklo_epi16(pair[0], pair[2]));
    _mm_storeu_si128(out + 1, _mm_unpackhi_epi16(pair[0], pair[2]));
    _mm_storeu_si128(out + 2, _mm_unpacklo_epi16(pair[1], pair[3]));
    _mm_storeu_si128(out + 3, _mm_unpackhi_epi16(pair[1], pair[3]));
}
#endif

/* Interleaves four channels: four bytes per pixel. */
static void interleave(uint8_t *to, const uint8_t *const *rows, size_t count, uint8_t flip)
{
    size_t i = 0;
#if defined(__x86_64__)
    const __m128i mask = _mm_set1_epi8((char)flip);
    for (; i + 16 <= count; i += 16) put_pixels(to + INT_GROUP * i, rows, i, mask);
    if (count >= 16 && i < count) {
        put_pixels(to + INT_GROUP * (count - 16), rows, count - 16, mask);
        return;
    }
#endif
    for (; i < count; i++)
        for (int k = 0; k < INT_GROUP; k++) to[INT_GROUP * i + (size_t)k] = rows[k][i] ^ flip;
}

/* Copies `count` pixels of four bytes; those of `from` are `step` apart. */
static inline void copy_pixels(uint32_t *to, const uint32_t *from, size_t count, size_t step)
{
    size_t i = 0;
#if defined(__x86_64__)
    if (step == 1) {
        for (; i + 4 <= count; i += 4)
            _mm_storeu_si128((__m128i *)(to + i), _mm_loadu_si128((const __m128i *)(from + i)));
    } else if (step == 2) {
        for (; i + 4 < count; i += 4) { /* no read behind the last pixel */
            const __m128 low = _mm_loadu_ps((const float *)(from + 2 * i));
            const __m128 high = _mm_loadu_ps((const float *)(from + 2 * i + 4));
            _mm_storeu_ps((float *)(to + i), _mm_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0)));
        }
    }
#endif
    for (; i < count; i++) to[i] = from[i * step];
}

static inline void fill_pixels(uint32_t *to, size_t count, uint32_t pixel)
{
    for (size_t i = 0; i < count; i++) to[i] = pixel;
}

/* One axis of a phase: its positions [from, to) lie inside the input, the others in the padding.
 * Position `from` has input coordinate `first`. */
typedef struct run_of {
    int64_t from, to, first;
} run_of;

static run_of int_conv_find_run(const int_conv *p, size_t d, int64_t residue, int64_t count)
{
    const int64_t start = residue - p->pad[d], step = p->stride[d];
    run_of r = {.from = start < 0 ? (-start + step - 1) / step : 0};
    r.to = start < p->size[d] ? (p->size[d] - start + step - 1) / step : 0;
    if (r.to > count) r.to = count;
    if (r.from > r.to) r.from = r.to;
    r.first = start + r.from * step;
    return r;
}

/* Writes one slice of one phase of one quad of channels from its interleaved plane. */
static void lay_slice(const int_conv *p, uint32_t *to, const uint32_t *plane, const run_of *v,
                      const run_of *h, uint32_t zero)
{
    const size_t columns = p->columns;
    for (int64_t r = 0; r < (int64_t)p->rows; r++, to += columns) {
        if (r < v->from || r >= v->to) {
            fill_pixels(to, columns, zero);
            continue;
        }
        const int64_t line = (v->first + (r - v->from) * p->stride[1]) * p->size[2] + h->first;
        fill_pixels(to, (size_t)h->from, zero);
        if (h->from < h->to)
            copy_pixels(to + h->from, plane + line, (size_t)(h->to - h->from),
                        (size_t)p->stride[2]);
        fill_pixels(to + h->to, columns - (size_t)h->to, zero);
    }
}

/* The phase with index `phase`. */
static void lay_phase(const int_conv *p, uint32_t *to, const uint32_t *volume, size_t phase,
                      uint32_t zero)
{
    const uint32_t *counts = p->phase_counts;
    const size_t x = phase % counts[2], y = phase / counts[2] % counts[1],
                 z = phase / counts[2] / counts[1], slice = p->rows * p->columns;
    const run_of d = int_conv_find_run(p, 0, p->phase_starts[0][z], (int64_t)p->slices);
    const run_of v = int_conv_find_run(p, 1, p->phase_starts[1][y], (int64_t)p->rows);
    const run_of h = int_conv_find_run(p, 2, p->phase_starts[2][x], (int64_t)p->columns);
    for (int64_t s = 0; s < (int64_t)p->slices; s++, to += slice) {
        if (s < d.from || s >= d.to) {
            fill_pixels(to, slice, zero);
            continue;
        }
        const int64_t from = d.first + (s - d.from) * p->stride[0];
        lay_slice(p, to, volume + from * p->size[1] * p->size[2], &v, &h, zero);
    }
}

/* Is the padded copy of a quad of channels identical to its interleaved plane? */
static bool is_plain(const int_conv *p)
{
    for (size_t d = 0; d < INT_CONV_AXES; d++)
        if (p->stride[d] != 1 || p->pad[d]) return false;
    return p->phases == 1 && p->taps == 1 && p->slices == (uint64_t)p->size[0] &&
           p->rows == (uint64_t)p->size[1] && p->columns == (uint64_t)p->size[2];
}

uint8_t int_conv_x_zero(const int_conv *p, const kernel_run *r)
{
    return (uint8_t)int_problem_unsigned(p->x_zero_input ? r->tensors[p->x_zero_input] : NULL,
                                         p->x_signed);
}

/* Writes all phases of one quad of channels. */
static void lay_quad(const int_conv *p, const kernel_run *r, size_t index)
{
    const size_t quad = index % p->quads, image = index / p->quads;
    const size_t plane = int_conv_phase_pixels(p) * INT_GROUP;
    const size_t in_plane = int_conv_in_plane(p);
    const uint8_t *x = (const uint8_t *)r->tensors[0] + image * p->in * in_plane;
    uint8_t *to = (uint8_t *)r->workspace + image * int_conv_image_bytes(p) + quad * plane;
    const uint8_t *planes[INT_GROUP], flip = p->x_signed ? 0x80 : 0;
    for (size_t k = 0; k < INT_GROUP; k++) {
        /* Beyond the last channel, any plane will do: its weights are 0. */
        const size_t c = quad * INT_GROUP + k;
        planes[k] = x + (c < p->in ? c : quad * INT_GROUP) * in_plane;
    }
    if (is_plain(p)) {
        interleave(to, planes, in_plane, flip);
        return;
    }
    interleave(r->scratch, planes, in_plane, flip);
    for (size_t i = 0; i < p->phases; i++)
        lay_phase(p, (uint32_t *)(to + i * p->quads * plane), r->scratch, i,
                  int_conv_x_zero(p, r) * UINT32_C(0x01010101));
}

void int_conv_find_offsets(const int_conv *p, const kernel_run *r)
{
    const char *packed = r->packed;
    const uint32_t *zeros = (const uint32_t *)(packed + p->at_zeros);
    const uint32_t *sums = (const uint32_t *)(packed + p->at_sums);
    const uint32_t *bias = (const uint32_t *)(packed + p->at_bias);
    uint32_t *offsets = (uint32_t *)((char *)r->workspace + p->at_offsets);
    const uint32_t depth = (uint32_t)(p->in * p->taps), zero = int_conv_x_zero(p, r);
    size_t from, to;
    kernel_share(&from, &to, p->groups * p->out, r->part, r->parts);
    for (size_t i = from; i < to; i++) offsets[i] = bias[i] + zero * (depth * zeros[i] - sums[i]);
}

/* ---- The epilogue of a tile ----------------------------------------------------------------- */

enum { MAX_RUNS = INT_MAX_COLUMNS };

/* A run of positions of a tile that are contiguous in the output. at: index in the tile; out: index
 * in the output plane. */
typedef struct run_out {
    size_t at, count, out;
} run_out;

/* State of a tile's epilogue. Row i of the tile is output channel `channel` + i and is stored in
 * output plane `plane` + i. */
typedef struct tile_end {
    const int_conv *p;
    const kernel_run *r;
    const int_tile *tile;
    const int32_t *offsets, *zeros;
    const double *scales;
    size_t channel, plane, rows, count, size; /* size: number of elements in an output plane */
    run_out runs[MAX_RUNS];
    size_t run_count;
} tile_end;

/* Finds the runs of positions [first, first + e->count). */
static void find_runs(tile_end *e, size_t first)
{
    const size_t columns = e->p->columns, width = (size_t)e->p->out_size[2];
    const size_t rows = e->p->rows, height = (size_t)e->p->out_size[1];
    e->run_count = 0;
    if (int_conv_is_flat(e->p)) {
        e->runs[e->run_count++] = (run_out){.count = e->count, .out = first};
        return;
    }
    size_t line = first / columns, slice = 0, column = first % columns;
    if (e->p->slices > 1) {
        slice = line / rows;
        line %= rows;
    }
    for (size_t at = 0; at < e->count; column = 0) {
        const size_t left = columns - column < e->count - at ? columns - column : e->count - at;
        if (column < width && line < height) {
            const size_t n = width - column < left ? width - column : left;
            const size_t out = (slice * height + line) * width + column;
            e->runs[e->run_count++] = (run_out){.at = at, .count = n, .out = out};
        }
        if (++line == rows) {
            line = 0;
            slice++;
        }
        at += left;
    }
}

static void finish_bytes(const tile_end *e, const int32_t *sums, uint8_t *lines)
{
    uint8_t *y = (uint8_t *)e->r->tensors[e->p->inputs] + e->plane * e->size;
    const int_finish *f = &e->p->finish;
    if (e->run_count == 1) {
        const run_out *run = &e->runs[0];
        e->tile->finish_rows(y + run->out, e->size, sums + run->at, e->rows, run->count, f,
                             e->offsets, e->scales);
        return;
    }
    e->tile->finish_rows(lines, INT_MAX_COLUMNS, sums, e->rows, e->count, f, e->offsets, e->scales);
    for (size_t i = 0; i < e->rows; i++, y += e->size, lines += INT_MAX_COLUMNS)
        for (size_t k = 0; k < e->run_count; k++)
            int_conv_copy(y + e->runs[k].out, lines + e->runs[k].at, e->runs[k].count);
}

static void finish_ints(const tile_end *e, const int32_t *sums)
{
    int32_t *y = (int32_t *)e->r->tensors[e->p->inputs] + e->plane * e->size;
    for (size_t i = 0; i < e->rows; i++, y += e->size, sums += INT_MAX_COLUMNS)
        for (size_t k = 0; k < e->run_count; k++) {
            const run_out *run = &e->runs[k];
            for (size_t j = 0; j < run->count; j++)
                y[run->out + j] = (int32_t)((uint32_t)sums[run->at + j] + (uint32_t)e->offsets[i]);
        }
}

static void int_conv_finish_floats(const tile_end *e, const int32_t *sums)
{
    const int_conv *p = e->p;
    const float *bias = p->bias_input ? e->r->tensors[p->bias_input] : NULL;
    const float *more = p->sum_input ? e->r->tensors[p->sum_input] : NULL;
    for (size_t i = 0; i < e->rows; i++, sums += INT_MAX_COLUMNS) {
        int_floats f = {.offset = e->offsets[i],
                        .scale = e->scales[i],
                        .shift = bias ? bias[e->channel + i] : 0,
                        .relu = p->relu};
        for (size_t k = 0; k < e->run_count; k++) {
            const run_out *run = &e->runs[k];
            const size_t at = (e->plane + i) * e->size + run->out;
            f.more = more ? more + at : NULL;
            e->tile->row_floats((float *)e->r->tensors[p->inputs] + at, sums + run->at, run->count,
                                &f);
        }
    }
}

/* Applies the epilogue to a tile. `ones`: for each position, the sum of the image bytes under all
 * taps; NULL if the weights have no zero point. */
static void int_conv_finish(const tile_end *e, int32_t *sums, const int32_t *ones, uint8_t *lines)
{
    for (size_t i = 0; ones && i < e->rows; i++) {
        const uint32_t zero = (uint32_t)e->zeros[i];
        int32_t *row = sums + i * INT_MAX_COLUMNS;
        for (size_t k = 0; k < e->count; k++)
            row[k] = (int32_t)((uint32_t)row[k] - zero * (uint32_t)ones[k]);
    }
    if (e->p->kind == INT_CONV_TO_BYTES) {
        finish_bytes(e, sums, lines);
    } else if (e->p->kind == INT_CONV_TO_INT32) {
        finish_ints(e, sums);
    } else {
        int_conv_finish_floats(e, sums);
    }
}

/* ---- Tiles ---------------------------------------------------------------------------------- */

typedef struct unit {
    size_t image, tile, tile_end, row, row_end; /* image: index over all groups of all images */
    size_t group;
    const uint8_t *laid; /* the padded copy of that group of the image */
} unit;

static unit find_unit(const int_conv *p, const kernel_run *r, size_t index)
{
    const size_t blocks = (p->tiles + p->block - 1) / p->block;
    unit u = {.tile = index / p->chunks % blocks * p->block, .image = index / p->chunks / blocks};
    kernel_share(&u.row, &u.row_end, p->row_groups, (uint32_t)(index % p->chunks),
                 (uint32_t)p->chunks);
    u.tile_end = u.tile + p->block < p->tiles ? u.tile + p->block : p->tiles;
    u.group = u.image % p->groups;
    u.laid = (const uint8_t *)r->workspace + u.image * int_conv_image_bytes(p);
    return u;
}

/* Is the tile full, and are its positions contiguous in the output? */
static bool can_fuse(const tile_end *e)
{
    const int_conv *p = e->p;
    const int_tile *t = e->tile;
    return t->fuses && p->kind == INT_CONV_TO_BYTES && !p->w_has_zero && int_conv_is_flat(p) &&
           e->rows == t->rows && e->count == t->vectors * t->lanes;
}

static void int_conv_tile(tile_end *e, const unit *u, size_t row, size_t tile)
{
    const int_conv *p = e->p;
    const kernel_run *r = e->r;
    const int_tile *t = e->tile;
    const size_t width = t->vectors * t->lanes, first = tile * width, group = u->group;
    const uint64_t weights = p->taps * p->quads * t->rows * INT_GROUP;
    int32_t *sums = r->scratch, *ones = sums + INT_MAX_ROWS * INT_MAX_COLUMNS;
    e->count = p->positions - first < width ? p->positions - first : width;
    const size_t channel = row * t->rows;
    const size_t vectors = e->count > 2 * t->lanes ? 3 : e->count > t->lanes ? 2 : 1;
    int_job j = {.a = (const uint8_t *)r->packed + (group * p->row_groups + row) * weights,
                 .b = u->laid + first * INT_GROUP,
                 .b_taps = p->tap_offsets,
                 .tap_count = p->taps,
                 .groups = p->quads,
                 .a_row = INT_GROUP,
                 .a_step = t->rows * INT_GROUP,
                 .b_step = int_conv_phase_pixels(p) * INT_GROUP,
                 .c = sums};
    e->rows = p->out - channel < t->rows ? p->out - channel : t->rows;
    e->channel = group * p->out + channel;
    e->plane = u->image * p->out + channel;
    e->offsets = (const int32_t *)((const char *)r->workspace + p->at_offsets) + e->channel;
    e->zeros = (const int32_t *)((const char *)r->packed + p->at_zeros) + e->channel;
    e->scales = (const double *)((const char *)r->packed + p->at_scales) + e->channel;
    if (can_fuse(e)) {
        j.finish = &p->finish;
        j.y = (uint8_t *)r->tensors[p->inputs] + e->plane * e->size + first;
        j.y_stride = e->size;
        j.offsets = e->offsets;
        j.scales = e->scales;
        j.small = p->small;
    }
    t->run[1][t->rows == 8 ? 3 : 2][vectors - 1](&j);
    if (j.finish) return;
    if (p->w_has_zero) {
        j.a = (const uint8_t *)r->packed + p->at_ones;
        j.a_step = INT_GROUP;
        j.c = ones;
        t->run[1][0][vectors - 1](&j);
    }
    find_runs(e, first);
    int_conv_finish(e, sums, p->w_has_zero ? ones : NULL, (uint8_t *)(ones + INT_MAX_COLUMNS));
}

/* ---- Turned --------------------------------------------------------------------------------- */

/* Transposes `rows` positions of `columns` channels into output planes, `size` bytes apart. Lines
 * of input are INT_MAX_COLUMNS bytes apart. */
static void int_conv_turn(uint8_t *y, size_t size, const uint8_t *lines, size_t rows,
                          size_t columns)
{
    size_t c = 0;
#if defined(__x86_64__)
    for (; rows == 8 && c + 8 <= columns; c += 8) {
        __m128i a[8], b[4], d[4];
        for (int i = 0; i < 8; i++)
            a[i] = _mm_loadl_epi64((const __m128i *)(lines + i * INT_MAX_COLUMNS + c));
        for (int i = 0; i < 4; i++) b[i] = _mm_unpacklo_epi8(a[2 * i], a[2 * i + 1]);
        for (int i = 0; i < 2; i++) {
            d[2 * i] = _mm_unpacklo_epi16(b[2 * i], b[2 * i + 1]);
            d[2 * i + 1] = _mm_unpackhi_epi16(b[2 * i], b[2 * i + 1]);
        }
        for (size_t i = 0; i < 2; i++) {
            const __m128i low = _mm_unpacklo_epi32(d[i], d[i + 2]);
            const __m128i high = _mm_unpackhi_epi32(d[i], d[i + 2]);
            uint8_t *to = y + (c + 4 * i) * size;
            _mm_storel_epi64((__m128i *)to, low);
            _mm_storel_epi64((__m128i *)(to + size), _mm_unpackhi_epi64(low, low));
            _mm_storel_epi64((__m128i *)(to + 2 * size), high);
            _mm_storel_epi64((__m128i *)(to + 3 * size), _mm_unpackhi_epi64(high, high));
        }
    }
#endif
    for (; c < columns; c++)
        for (size_t i = 0; i < rows; i++) y[c * size + i] = lines[i * INT_MAX_COLUMNS + c];
}

/* Computes a panel of output channels at all positions. */
static void int_conv_panel(const tile_end *e, size_t image, size_t panel)
{
    const int_conv *p = e->p;
    const kernel_run *r = e->r;
    const int_tile *t = e->tile;
    const size_t width = t->vectors * t->lanes, first = panel * width, group = image % p->groups;
    const size_t count = p->out - first < width ? p->out - first : width;
    const size_t vectors = (count + t->lanes - 1) / t->lanes, channel = group * p->out + first;
    const char *packed = r->packed;
    const int32_t *offsets = (const int32_t *)((const char *)r->workspace + p->at_offsets);
    int32_t *sums = r->scratch;
    uint8_t *lines = (uint8_t *)(sums + (INT_MAX_ROWS + 1) * INT_MAX_COLUMNS);
    uint8_t *y = (uint8_t *)r->tensors[p->inputs] + (image * p->out + first) * e->size;
    int_job j = {.b = (const uint8_t *)packed +
                      (group * p->tiles * width + first) * p->taps * p->quads * INT_GROUP,
                 .a_taps = p->tap_offsets,
                 .tap_count = p->taps,
                 .groups = p->quads,
                 .a_row = INT_GROUP,
                 .a_step = int_conv_phase_pixels(p) * INT_GROUP,
                 .b_step = vectors * t->lanes * INT_GROUP,
                 .c = sums};
    for (size_t at = 0, rows, kind; at < p->positions; at += rows) {
        rows = int_tile_rows(t, p->positions - at, &kind);
        j.a = (const uint8_t *)r->workspace + image * int_conv_image_bytes(p) + at * INT_GROUP;
        t->run[0][kind][vectors - 1](&j);
        t->finish_columns(lines, INT_MAX_COLUMNS, sums, rows, count, &p->finish, offsets + channel,
                          (const double *)(packed + p->at_scales) + channel,
                          (const float *)(packed + p->at_factors) + channel);
        int_conv_turn(y + at, e->size, lines, rows, count);
    }
}

void int_conv_run(const kernel_run *r)
{
    const int_conv *p = r->params;
    size_t from, to;
    if (r->phase == 0) {
        kernel_share(&from, &to, p->batch * p->groups * p->quads, r->part, r->parts);
        for (size_t i = from; i < to; i++) lay_quad(p, r, i);
        int_conv_find_offsets(p, r);
        return;
    }
    tile_end e = {
        .p = p, .r = r, .tile = int_tile_of((cpu_level)p->level), .size = int_conv_out_plane(p)};
    kernel_share(&from, &to, int_conv_unit_count(p), r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        if (p->turned) {
            int_conv_panel(&e, i / p->tiles, i % p->tiles);
            continue;
        }
        const unit u = find_unit(p, r, i);
        for (size_t row = u.row; row < u.row_end; row++)
            for (size_t tile = u.tile; tile < u.tile_end; tile++) int_conv_tile(&e, &u, row, tile);
    }
}
