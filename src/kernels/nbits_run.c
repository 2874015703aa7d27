/* SPDX-License-Identifier: Apache-2.0 */
/* Runs products with packed weights of a few bits. Few rows, and rows of bytes, multiply the packed
 * weights; many rows of floats unpack a panel block by block into memory, as kernels/matmul.h asks
 * for it. */
#include <string.h>

#include "base/cancel.h"
#include "kernels/nbits_matmul.h"

enum {
    FUSED_ROWS = 6, /* most rows of floats that multiply packed weights */
    UNIT_ROWS = 128 /* rows of bytes in a unit of work */
};

static bool is_fused(const nbits_matmul *p)
{
    return p->a_bytes || p->m <= FUSED_ROWS;
}

/* With two rows floats take the same time, because they share the work of looking up codes. */
static bool uses_digits(const nbits_matmul *p)
{
    return p->digits && p->m == 1;
}

bool nbits_matmul_reads(const nbits_matmul *p)
{
    return p->a_bytes || p->copies || uses_digits(p) || (p->has_zeros && is_fused(p));
}

/* The product as kernels/matmul.h sees it. */
static matmul_shape shape_of(const nbits_matmul *p)
{
    const uint64_t k = p->blocks * p->block;
    return (matmul_shape){.m = p->m,
                          .n = p->n,
                          .k = k,
                          .a_row = p->copies ? k : p->k,
                          .a_column = 1,
                          .b_row = p->n,
                          .b_column = 1,
                          .batch = 1,
                          .alpha = 1,
                          .beta = 1,
                          .bias = p->has_bias ? MATMUL_BIAS_COLUMN : MATMUL_NO_BIAS};
}

static const matmul_tile *tile_of(const nbits_matmul *p)
{
    return matmul_tile_of((cpu_level)p->level);
}

static uint64_t panel_bytes(const nbits_matmul *p)
{
    const uint64_t numbers = (p->half ? 2 : 4) * (uint64_t)(1 + p->has_zeros);
    return p->blocks * tile_of(p)->columns * (p->block * p->bits / 8 + numbers);
}

/* ---- Sizes ---------------------------------------------------------------------------------- */

uint64_t nbits_matmul_rows(nbits_matmul *p, uint64_t m)
{
    const uint64_t codes = extent_mul(p->blocks, p->block);
    p->m = m;
    const bool digits = uses_digits(p), bytes = p->a_bytes || digits;
    const uint64_t blocks = extent_mul3(m, p->blocks, sizeof(float));
    const uint64_t a = extent_mul3(m, codes, p->a_bytes ? 1 : sizeof(float));
    const uint64_t each = extent_round_up(blocks, 64);
    const uint64_t offsets = extent_mul(each, digits ? NBITS_DIGITS : 1);
    p->at_sums = bytes || p->copies ? extent_round_up(a, 64) : 0;
    p->at_factors = extent_add(p->at_sums, p->has_zeros ? each : 0);
    p->at_offsets = extent_add(p->at_factors, bytes ? each : 0);
    p->at_strange = extent_add(p->at_offsets, bytes ? offsets : 0);
    return extent_add(p->at_strange, digits ? extent_round_up(extent_mul(m, p->blocks), 64) : 0);
}

uint64_t nbits_matmul_scratch_bytes(const nbits_matmul *p)
{
    const matmul_shape s = shape_of(p);
    return matmul_half_scratch_count(&s, tile_of(p)) * sizeof(float);
}

uint64_t nbits_matmul_units(const nbits_matmul *p)
{
    const matmul_shape s = shape_of(p);
    if (!is_fused(p)) return matmul_unit_count(&s, tile_of(p), 1);
    return (p->m + UNIT_ROWS - 1) / UNIT_ROWS * matmul_panel_count(&s, tile_of(p));
}

bool nbits_matmul_extent(kernel_extent *e, const nbits_matmul *p)
{
    const uint64_t most = INT32_MAX;
    const uint32_t flags[] = {p->a_bytes,   p->copies,   p->ordered, p->half,
                              p->has_zeros, p->has_bias, p->digits};
    if (!extent_level(e, p->level)) return false;
    if (p->bits != 2 && p->bits != 4 && p->bits != 8) return extent_refuse(e, "number of bits");
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i] > 1) return extent_refuse(e, "flag");
    if (p->half && p->level == CPU_PORTABLE) return extent_refuse(e, "type of the scales");
    if (p->digits && (p->a_bytes || p->level == CPU_PORTABLE)) return extent_refuse(e, "digits");
    if (!p->m || !p->n || !p->k || p->m > most || p->n > most || p->k > most ||
        p->block < 32 / p->bits || p->block > NBITS_MAX_BLOCK || p->block & (p->block - 1) ||
        !p->blocks || p->blocks > most)
        return extent_refuse(e, "shape");
    if (!p->copies && (p->ordered || p->blocks * p->block != p->k))
        return extent_refuse(e, "number of blocks");
    nbits_matmul again = *p;
    e->workspace = nbits_matmul_rows(&again, p->m);
    if (memcmp(&again, p, sizeof again)) return extent_refuse(e, "place in the workspace");
    e->scratch = nbits_matmul_scratch_bytes(p);
    e->packed = nbits_matmul_packed_bytes(p);
    return true;
}

/* ---- Reading A ------------------------------------------------------------------------------ */

/* Gathers block `b` of a row. An index of the packed data may be any number. */
static void gather_block(float *to, const nbits_matmul *p, const float *row, const uint32_t *order,
                         size_t b)
{
    const size_t first = b * p->block;
    if (!order) {
        const size_t count = first >= p->k ? 0 : p->k - first < p->block ? p->k - first : p->block;
        memcpy(to, row + (count ? first : 0), count * sizeof *to);
        memset(to + count, 0, (p->block - count) * sizeof *to);
        return;
    }
    for (size_t i = 0; i < p->block; i++)
        to[i] = order[first + i] < p->k ? row[order[first + i]] : 0;
}

static float sum_of(const float *x, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (double)x[i];
    return (float)sum;
}

static const uint32_t *order_of(const nbits_matmul *p, const nbits_operands *o)
{
    const uint64_t panels = (p->n + tile_of(p)->columns - 1) / tile_of(p)->columns;
    return p->ordered ? (const void *)(o->packed + panel_bytes(p) * panels) : NULL;
}

/* Reads block i of all rows, x, as digits. */
static void read_digits(const nbits_matmul *p, const nbits_operands *o, const float *x, size_t i)
{
    int32_t *offsets = (int32_t *)(o->workspace + p->at_offsets) + i * NBITS_DIGITS;
    int8_t *to = (int8_t *)o->workspace + i * p->block * NBITS_DIGITS;
    int32_t sums[NBITS_DIGITS];
    float *step = (float *)(o->workspace + p->at_factors) + i;
    const bool possible =
        nbits_tile_of((cpu_level)p->level)->split(to, x, p->block, p->bits, step, sums);
    double all = 0;
    for (size_t d = 0; d < NBITS_DIGITS; d++) {
        offsets[d] = -sums[d] * (1 << (p->bits - 1));
        all = all * 256 + sums[d];
    }
    if (p->has_zeros) ((float *)(o->workspace + p->at_sums))[i] = (float)all;
    o->workspace[p->at_strange + i] = !possible;
}

void nbits_matmul_read(const nbits_matmul *p, const nbits_operands *o, size_t part, size_t parts)
{
    const nbits_tile *t = nbits_tile_of((cpu_level)p->level);
    const uint32_t *order = order_of(p, o);
    float *sums = (float *)(o->workspace + p->at_sums);
    float *factors = (float *)(o->workspace + p->at_factors);
    int32_t *offsets = (int32_t *)(o->workspace + p->at_offsets);
    float room[NBITS_MAX_BLOCK];
    size_t from, to;
    kernel_share(&from, &to, p->m * p->blocks, (uint32_t)part, (uint32_t)parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const float *row = o->a + i / p->blocks * p->k;
        const bool kept = p->copies && !p->a_bytes && !uses_digits(p);
        float *x = kept ? (float *)o->workspace + i * p->block : room;
        gather_block(x, p, row, order, i % p->blocks);
        if (uses_digits(p)) {
            read_digits(p, o, x, i);
        } else if (p->a_bytes) {
            int32_t sum;
            factors[i] =
                t->quantise((int8_t *)o->workspace + i * p->block, x, p->block, p->bits, &sum);
            offsets[i] = -sum * (1 << (p->bits - 1));
            if (p->has_zeros) sums[i] = (float)sum;
        } else if (p->has_zeros) {
            sums[i] = sum_of(x, p->block);
        }
    }
}

/* ---- Few rows ------------------------------------------------------------------------------- */

static void finish_rows(const nbits_matmul *p, const nbits_operands *o, size_t row, size_t rows,
                        size_t column, const float *edge)
{
    const size_t width = tile_of(p)->columns;
    const size_t columns = p->n - column < width ? p->n - column : width;
    for (size_t r = 0; r < rows; r++) {
        float *c = o->c + (row + r) * p->n + column;
        if (edge) memcpy(c, edge + r * width, columns * sizeof *c);
        for (size_t j = 0; o->bias && j < columns; j++) c[j] += o->bias[column + j];
    }
}

/* Adds the products of blocks that have no digits to the row `c`. */
static void add_strange(const nbits_matmul *p, const nbits_operands *o, const nbits_job *panel,
                        float *c)
{
    const size_t width = tile_of(p)->columns;
    const char *strange = o->workspace + p->at_strange, *end = strange + p->blocks;
    float x[NBITS_MAX_BLOCK], sum, *part = o->scratch + width;
    for (const char *at = strange; (at = memchr(at, 1, (size_t)(end - at))); at++) {
        const size_t b = (size_t)(at - strange);
        gather_block(x, p, o->a, order_of(p, o), b);
        sum = sum_of(x, p->block);
        nbits_job j = *panel;
        j.b += b * (panel_bytes(p) / p->blocks);
        j.blocks = 1;
        j.a = x;
        j.sums = &sum;
        j.c = part;
        nbits_tile_of((cpu_level)p->level)->floats[nbits_kind(p->bits)][1](&j);
        for (size_t i = 0; i < width; i++) c[i] += part[i];
    }
}

static void digits_unit(const nbits_matmul *p, const nbits_operands *o, nbits_job *j, size_t column)
{
    j->sums = (const float *)(o->workspace + p->at_sums);
    j->factors = (const float *)(o->workspace + p->at_factors);
    j->offsets = (const int32_t *)(o->workspace + p->at_offsets);
    j->bytes = (const int8_t *)o->workspace;
    j->c = o->scratch;
    nbits_digits_of((cpu_level)p->level, nbits_kind(p->bits))(j);
    add_strange(p, o, j, o->scratch);
    finish_rows(p, o, 0, 1, column, o->scratch);
}

static void fused_unit(const nbits_matmul *p, const nbits_operands *o, size_t unit)
{
    const size_t width = tile_of(p)->columns, panels = (p->n + width - 1) / width;
    const size_t panel = unit % panels, codes = p->blocks * p->block;
    const size_t first = unit / panels * UNIT_ROWS, kind = nbits_kind(p->bits);
    const size_t last = p->m - first < UNIT_ROWS ? p->m : first + UNIT_ROWS;
    const bool whole = (panel + 1) * width <= p->n;
    const nbits_tile *t = nbits_tile_of((cpu_level)p->level);
    nbits_job j = {.b = o->packed + panel * panel_bytes(p),
                   .blocks = p->blocks,
                   .words = p->block * p->bits / 32,
                   .half = p->half,
                   .has_zeros = p->has_zeros,
                   .table = p->table,
                   .a_row = p->a_bytes || p->copies ? codes : p->k,
                   .block_row = p->blocks,
                   .c_row = whole ? p->n : width};
    if (uses_digits(p)) {
        digits_unit(p, o, &j, panel * width);
        return;
    }
    for (size_t row = first, rows; row < last && !cancel_requested(); row += rows) {
        rows = last - row < NBITS_ROWS ? last - row : NBITS_ROWS;
        j.sums = (const float *)(o->workspace + p->at_sums) + row * p->blocks;
        j.factors = (const float *)(o->workspace + p->at_factors) + row * p->blocks;
        j.offsets = (const int32_t *)(o->workspace + p->at_offsets) + row * p->blocks;
        j.c = whole ? o->c + row * p->n + panel * width : o->scratch;
        if (p->a_bytes) {
            j.bytes = (const int8_t *)o->workspace + row * codes;
            nbits_bytes_of((cpu_level)p->level, kind, rows)(&j);
        } else {
            j.a = (p->copies ? (const float *)o->workspace : o->a) + row * j.a_row;
            t->floats[kind][rows](&j);
        }
        finish_rows(p, o, row, rows, panel * width, whole ? NULL : o->scratch);
    }
}

/* ---- Many rows ------------------------------------------------------------------------------ */

typedef struct unpacking {
    const nbits_matmul *p;
    const char *packed;
} unpacking;

static void nbits_unpack_panel(float *to, const void *user, size_t panel, size_t k, size_t depth)
{
    const unpacking *u = user;
    const nbits_matmul *p = u->p;
    const size_t first = k / p->block, each = panel_bytes(p) / p->blocks;
    const nbits_job j = {.b = u->packed + panel * panel_bytes(p) + first * each,
                         .blocks = depth / p->block,
                         .words = p->block * p->bits / 32,
                         .half = p->half,
                         .has_zeros = p->has_zeros,
                         .table = p->table};
    nbits_tile_of((cpu_level)p->level)->unpack[nbits_kind(p->bits)](to, &j);
}

void nbits_matmul_unit(const nbits_matmul *p, const nbits_operands *o, size_t unit)
{
    const unpacking u = {.p = p, .packed = o->packed};
    const matmul_shape s = shape_of(p);
    const matmul_data d = {.a = p->copies ? (const float *)o->workspace : o->a,
                           .unpack = nbits_unpack_panel,
                           .user = &u,
                           .b_shared = true,
                           .bias = o->bias,
                           .c = o->c};
    if (is_fused(p))
        fused_unit(p, o, unit);
    else
        matmul_unit(&s, tile_of(p), 1, unit, &d, o->scratch);
}
