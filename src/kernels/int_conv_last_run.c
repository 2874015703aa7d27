/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution of bytes whose channels are last: the copy of the image, and tiles of positions and
 * output channels. */
#include "base/cancel.h"
#include "kernels/int_conv_last.h"

/* ---- The image ------------------------------------------------------------------------------ */

/* Copies the channels of `count` pixels as unsigned bytes, those of each group filled up with
 * zeros. */
static void copy_pixels(const int_conv_last *p, uint8_t *to, const uint8_t *from, size_t count)
{
    const size_t in = p->c.in, group = int_conv_last_channels(p), runs = count * p->c.groups;
    const uint8_t flip = p->c.x_signed ? 0x80 : 0;
    if (in == group) {
        if (!flip) {
            memcpy(to, from, runs * in);
            return;
        }
        for (size_t i = 0; i < runs * in; i++) to[i] = from[i] ^ flip;
        return;
    }
    for (size_t i = 0; i < runs; i++, to += group, from += in) {
        for (size_t k = 0; k < in; k++) to[k] = from[k] ^ flip;
        for (size_t k = in; k < group; k++) to[k] = 0;
    }
}

/* Pixels of the padding. */
static void fill_pixels(const int_conv_last *p, uint8_t *to, size_t count, uint8_t zero)
{
    const size_t in = p->c.in, group = int_conv_last_channels(p), runs = count * p->c.groups;
    memset(to, zero, runs * group);
    if (in == group) return;
    for (size_t i = 0; i < runs; i++, to += group) memset(to + in, 0, group - in);
}

/* Copies row `index`, counted over slices and images, with its padding. */
static void copy_row(const int_conv_last *p, const kernel_run *r, size_t index, uint8_t zero)
{
    const int_conv *c = &p->c;
    const int64_t width = (int64_t)p->width[2];
    const int64_t y = (int64_t)(index % p->width[1]) - c->pad[1];
    const int64_t z = (int64_t)(index / p->width[1] % p->width[0]) - c->pad[0];
    const size_t image = index / p->width[1] / p->width[0];
    uint8_t *to = (uint8_t *)r->workspace + index * p->width[2] * p->pixel;
    /* A negative padding cuts pixels off. */
    const int64_t first = c->pad[2] < 0 ? -c->pad[2] : 0;
    int64_t left = c->pad[2] < 0 ? 0 : c->pad[2], right = c->pad[2] + c->size[2];
    if (left > width) left = width;
    if (right > width) right = width;
    if (y < 0 || y >= c->size[1] || z < 0 || z >= c->size[0] || right <= left) {
        fill_pixels(p, to, (size_t)width, zero);
        return;
    }
    const size_t line = (image * (size_t)c->size[0] + (size_t)z) * (size_t)c->size[1] + (size_t)y;
    const size_t from = line * (size_t)c->size[2] + (size_t)first;
    fill_pixels(p, to, (size_t)left, zero);
    copy_pixels(p, to + (size_t)left * p->pixel,
                (const uint8_t *)r->tensors[0] + from * c->groups * c->in, (size_t)(right - left));
    fill_pixels(p, to + (size_t)right * p->pixel, (size_t)(width - right), zero);
}

static void int_conv_last_copy(const int_conv_last *p, const kernel_run *r)
{
    const uint8_t zero = int_conv_x_zero(&p->c, r);
    size_t from, to;
    kernel_share(&from, &to, p->c.batch * p->width[0] * p->width[1], r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) copy_row(p, r, i, zero);
}

/* ---- Tiles ---------------------------------------------------------------------------------- */

/* A panel of output channels, and the pieces of lines for which it is computed. */
typedef struct strip {
    const int_conv_last *p;
    const kernel_run *r;
    const int_tile *tile;
    const int_amx_use *amx;
    size_t group, first, count, vectors; /* channels of the group */
} strip;

/* Subtracts the zero points of the weights, times the sums of the bytes under all taps. */
static void subtract_zeros(const strip *s, int_job j, size_t kind, size_t rows)
{
    /* Each lane adds all bytes of a position. */
    static const uint8_t ONES[64] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
                                     1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    const int_conv *c = &s->p->c;
    const uint32_t *zeros =
        (const uint32_t *)((const char *)s->r->packed + c->at_zeros) + s->group * c->out + s->first;
    int32_t *sums = j.c;
    j.b = ONES;
    j.b_step = 0;
    j.c = sums + INT_MAX_ROWS * INT_MAX_COLUMNS;
    s->tile->run[0][kind][0](&j);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < s->count; k++) {
            int32_t *sum = sums + i * INT_MAX_COLUMNS + k;
            *sum = (int32_t)((uint32_t)*sum - zeros[k] * (uint32_t)j.c[i * INT_MAX_COLUMNS]);
        }
}

/* Are only tiles of seven and eight rows left if the next one has seven? */
static bool takes_seven(const strip *s, size_t left)
{
    const size_t tiles = (left + s->tile->rows - 1) / s->tile->rows;
    const size_t missing = tiles * s->tile->rows - left;
    return missing && missing <= tiles && s->tile->seven[s->vectors - 1] && !s->p->c.w_has_zero;
}

/* Computes the sums of up to `left` positions, or the bytes of a full tile with `finish`, which
 * j->finish then holds. @return their number */
static size_t int_conv_last_sums(const strip *s, int_job *j, size_t left, const int_finish *finish)
{
    enum { FEW = 4 };
    /* Behind the copy there is room for positions that do not count. */
    const bool fills = s->p->copies && left > FEW && left < INT_AMX_ROWS;
    size_t kind, rows = int_amx_run(s->amx, j, fills ? INT_AMX_ROWS : left, s->vectors);
    j->finish = NULL;
    if (rows) return rows < left ? rows : left;
    if (takes_seven(s, left)) {
        j->finish = finish;
        s->tile->seven[s->vectors - 1](j);
        return s->tile->rows - 1;
    }
    rows = int_tile_rows(s->tile, left, &kind);
    if (rows == s->tile->rows) j->finish = finish;
    if (s->p->copies && rows < left && left < s->tile->rows) {
        rows = left;
        kind++;
        while ((size_t)1 << kind < left) kind++;
    }
    s->tile->run[0][kind][s->vectors - 1](j);
    if (s->p->c.w_has_zero) subtract_zeros(s, *j, kind, rows);
    return rows;
}

/* Lines of the output, computed in one go: x is the pixel of the first position, y its output,
 * whose rows are y_row bytes apart. Of `pitch` positions in the image, the first `line` belong to a
 * line, and the others do not count. */
typedef struct lines_of {
    const uint8_t *x, *r; /* r: what will be added to the first output, or NULL */
    uint8_t *y;
    size_t y_row, lines, line, pitch;
} lines_of;

/* Finishes `rows` positions from `at` on. */
static void int_conv_last_finish(const strip *s, const lines_of *l, const int32_t *sums, size_t at,
                                 size_t rows)
{
    const int_conv *c = &s->p->c;
    const char *packed = s->r->packed;
    const size_t channel = s->group * c->out + s->first;
    const int32_t *offsets =
        (const int32_t *)((const char *)s->r->workspace + c->at_offsets) + channel;
    for (size_t n; rows > 0; rows -= n, at += n, sums += n * INT_MAX_COLUMNS) {
        const size_t line = l->lines == 1 ? 0 : at / l->pitch, column = at - line * l->pitch;
        n = l->pitch - column < rows ? l->pitch - column : rows;
        if (column >= l->line) continue;
        const size_t counted = l->line - column < n ? l->line - column : n;
        s->tile->finish_columns(l->y + (line * l->line + column) * l->y_row, l->y_row, sums,
                                counted, s->count, &c->finish, offsets,
                                (const double *)(packed + c->at_scales) + channel,
                                (const float *)(packed + c->at_factors) + channel);
    }
}

/* Can full tiles of such lines turn their own sums into bytes? Then *j says how. */
static bool int_conv_last_can_fuse(const strip *s, const lines_of *l, int_job *j)
{
    const int_conv *c = &s->p->c;
    const char *packed = s->r->packed;
    const size_t channel = s->group * c->out + s->first;
    if (!s->tile->fuses || s->amx->amx || c->w_has_zero || l->lines > 1 ||
        s->count < INT_MAX_COLUMNS)
        return false;
    j->y_stride = l->y_row;
    j->offsets = (const int32_t *)((const char *)s->r->workspace + c->at_offsets) + channel;
    j->scales = (const double *)(packed + c->at_scales) + channel;
    j->factors = (const float *)(packed + c->at_factors) + channel;
    j->small = c->small;
    return true;
}

/* Fetches the bytes that will be added to the outputs of a tile. */
static void fetch_added(const strip *s, const uint8_t *r, size_t rows)
{
    const size_t channels = s->p->c.groups * s->p->c.out;
    for (size_t i = 0; i < rows; i++) {
        __builtin_prefetch(r + i * channels, 1);
        __builtin_prefetch(r + i * channels + s->count - 1, 1);
    }
}

static void int_conv_last_lines(const strip *s, const lines_of *l)
{
    const int_conv_last *p = s->p;
    const int_conv *c = &p->c;
    const size_t width = s->tile->vectors * s->tile->lanes;
    const size_t count = (l->lines - 1) * l->pitch + l->line, taps = int_conv_tap_count(c);
    int_job j = {.b = (const uint8_t *)s->r->packed +
                      (s->group * c->tiles * width + s->first) * taps * c->quads * INT_GROUP,
                 .a_taps = c->tap_offsets,
                 .tap_count = taps,
                 .groups = c->quads,
                 .a_row = (size_t)c->stride[2] * p->pixel,
                 .a_step = INT_GROUP,
                 .b_step = s->vectors * s->tile->lanes * INT_GROUP,
                 .c = s->r->scratch};
    const int_finish *finish = int_conv_last_can_fuse(s, l, &j) ? &c->finish : NULL;
    for (size_t at = 0, rows; at < count; at += rows) {
        const size_t ahead = count - at < s->tile->rows ? count - at : s->tile->rows;
        if (l->r && l->lines == 1) fetch_added(s, l->r + at * c->groups * c->out, ahead);
        j.a = l->x + at * j.a_row;
        j.y = l->y + at * l->y_row;
        rows = int_conv_last_sums(s, &j, count - at, finish);
        if (!j.finish) int_conv_last_finish(s, l, j.c, at, rows);
    }
}

/* Positions between the starts of two lines, if lines are so short that tiles of 16 rows (AMX) gain
 * from going through the margin between them; else 0. */
static size_t int_conv_last_pitch(const int_conv_last *p, const int_amx_use *amx)
{
    const int_conv *c = &p->c;
    const size_t apart = (size_t)c->stride[1] * p->width[2];
    if (!amx->amx || !p->copies || p->pieces > 1 || p->per_slice == 1) return 0;
    if (apart % (size_t)c->stride[2]) return 0;
    const size_t pitch = apart / (size_t)c->stride[2];
    return pitch < 2 * p->line || p->line < INT_AMX_ROWS ? pitch : 0;
}

/* Adds the other bytes to those of the convolution; rows of all channels are one row. */
static void add_bytes(const strip *s, const lines_of *l, uint8_t *y)
{
    static const uint32_t BOTH[2] = {1, 1};
    const size_t channels = s->p->c.groups * s->p->c.out, rows = l->lines * l->line;
    const byte_loops *loops = byte_loops_of((cpu_level)s->p->c.level);
    if (s->count == channels)
        loops->binary(y, l->y, l->r, BOTH, rows * channels, &s->p->sum);
    else
        loops->binary_rows(y, channels, l->y, l->r, rows, s->count, &s->p->sum);
}

/* Computes lines whose first output is at y. With bytes to add, which y may be the memory of, the
 * convolution's own are made in scratch memory. */
static void int_conv_last_outputs(const strip *s, lines_of *l, size_t place)
{
    const int_conv_last *p = s->p;
    const size_t channels = p->c.groups * p->c.out;
    const size_t first = place * channels + s->group * p->c.out + s->first;
    uint8_t *y = (uint8_t *)s->r->tensors[p->c.inputs] + first;
    l->r = p->r_input ? (const uint8_t *)s->r->tensors[p->r_input] + first : NULL;
    l->y = l->r ? (uint8_t *)s->r->scratch + INT_CONV_LAST_SUMS : y;
    l->y_row = l->r && s->count < channels ? INT_MAX_COLUMNS : channels;
    int_conv_last_lines(s, l);
    if (l->r) add_bytes(s, l, y);
}

/* Computes pieces [from, to). */
static void int_conv_last_strip(const strip *s, size_t from, size_t to, size_t pitch)
{
    const int_conv_last *p = s->p;
    const int_conv *c = &p->c;
    const uint8_t *all = p->copies ? s->r->workspace : s->r->tensors[0];
    const size_t group = int_conv_last_channels(p);
    for (size_t i = from, lines; i < to; i += lines) {
        const size_t at = i % p->pieces * INT_CONV_LAST_PIECE, line = i / p->pieces;
        const size_t n = p->line - at < INT_CONV_LAST_PIECE ? p->line - at : INT_CONV_LAST_PIECE;
        const size_t row = line % p->per_slice, y = row * (size_t)c->stride[1];
        const size_t z = line % p->lines / p->per_slice * (size_t)c->stride[0];
        const size_t image = line / p->lines;
        const size_t pixel = (z * p->width[1] + y) * p->width[2] + at * (size_t)c->stride[2];
        lines = !pitch ? 1 : p->per_slice - row < to - i ? p->per_slice - row : to - i;
        lines_of l = {.x = all + image * int_conv_last_image_bytes(p) + pixel * p->pixel +
                           s->group * group,
                      .lines = lines,
                      .line = n,
                      .pitch = pitch ? pitch : n};
        int_conv_last_outputs(s, &l, line * p->line + at);
    }
}

/* Computes pieces [from, to) for the panels of one chunk. A few pieces at a time, so that the image
 * stays in the cache for all panels. */
static void int_conv_last_chunk(const int_conv_last *p, const kernel_run *r, size_t chunk,
                                size_t from, size_t to)
{
    enum { BLOCK = INT_CONV_LAST_BLOCK, POSITIONS = 2 * INT_CONV_LAST_PIECE };
    const int_tile *t = int_tile_of((cpu_level)p->c.level);
    const size_t width = t->vectors * t->lanes;
    const int_amx_use amx = int_amx_begin((cpu_level)p->c.level, p->c.quads,
                                          p->c.w_has_zero ? 0
                                          : p->copies     ? INT_AMX_ROWS
                                                          : p->line);
    const size_t pitch = int_conv_last_pitch(p, &amx);
    const size_t block = pitch && pitch < POSITIONS / BLOCK ? POSITIONS / pitch : BLOCK;
    size_t begin, end;
    kernel_share(&begin, &end, p->c.groups * p->c.tiles, (uint32_t)chunk, (uint32_t)p->chunks);
    for (size_t i = from; i < to && !cancel_requested(); i += block)
        for (size_t k = begin; k < end; k++) {
            strip s = {.p = p,
                       .r = r,
                       .tile = t,
                       .amx = &amx,
                       .group = k / p->c.tiles,
                       .first = k % p->c.tiles * width};
            s.count = p->c.out - s.first < width ? p->c.out - s.first : width;
            s.vectors = (s.count + t->lanes - 1) / t->lanes;
            int_conv_last_strip(&s, i, i + block < to ? i + block : to, pitch);
        }
    int_amx_end(&amx);
}

void int_conv_last_run(const kernel_run *r)
{
    const int_conv_last *p = r->params;
    const size_t pieces = int_conv_last_piece_count(p);
    size_t from, to;
    if (r->phase == 0) {
        if (p->copies) int_conv_last_copy(p, r);
        int_conv_find_offsets(&p->c, r);
        return;
    }
    kernel_share(&from, &to, pieces * p->chunks, r->part, r->parts);
    while (from < to) {
        const size_t chunk = from / pieces, at = from % pieces;
        const size_t n = to - from < pieces - at ? to - from : pieces - at;
        int_conv_last_chunk(p, r, chunk, at, at + n);
        from += n;
    }
}
