/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of bytes: quantising and copying A, packing B, tiles and their epilogues. */
#include <string.h>

#include "base/cancel.h"
#include "kernels/int_amx.h"
#include "kernels/int_matmul.h"
#include "kernels/int_problem.h"
#include "kernels/quantize_loops.h"

static uint64_t product_offset(const int_matmul *p, const uint64_t *strides, size_t product)
{
    uint64_t offset = 0;
    for (uint32_t d = p->batch_rank; d-- > 0; product /= p->batch_shape[d])
        offset += product % p->batch_shape[d] * strides[d];
    return offset;
}

/* Scale and zero point of a float32 A that this kernel quantises; valid after phase 0, which finds
 * the range. */
static quantize_to dynamic_of(const int_matmul *p, const kernel_run *r)
{
    const float *ranges = (const float *)((const char *)r->workspace + p->at_range);
    float low = 0, high = 0;
    for (uint32_t i = 0; i < r->parts; i++) {
        low = ranges[2 * i] < low ? ranges[2 * i] : low;
        high = ranges[2 * i + 1] > high ? ranges[2 * i + 1] : high;
    }
    return quantize_dynamic(low, high);
}

/* ---- Before the product --------------------------------------------------------------------- */

/* Interleaves four rows of B, and adds them to the sums of the columns. */
static void pack_group(uint8_t *restrict to, int32_t *restrict sums, const uint8_t *restrict b,
                       size_t row, size_t count, uint8_t flip)
{
    const uint8_t *b1 = b + row, *b2 = b1 + row, *b3 = b2 + row;
    for (size_t j = 0; j < count; j++) {
        const uint8_t v0 = b[j] ^ flip, v1 = b1[j] ^ flip, v2 = b2[j] ^ flip, v3 = b3[j] ^ flip;
        to[4 * j] = v0;
        to[4 * j + 1] = v1;
        to[4 * j + 2] = v2;
        to[4 * j + 3] = v3;
        sums[j] += (int8_t)v0 + (int8_t)v1 + (int8_t)v2 + (int8_t)v3;
    }
}

/* Does the same for columns of B that are contiguous. */
static void pack_turned(uint8_t *to, int32_t *sums, const uint8_t *b, size_t column, size_t count,
                        uint8_t flip)
{
    const uint32_t flips = flip * UINT32_C(0x01010101);
    for (size_t j = 0; j < count; j++) {
        uint32_t four;
        memcpy(&four, b + j * column, sizeof four);
        four ^= flips;
        memcpy(to + INT_GROUP * j, &four, sizeof four);
        for (size_t i = 0; i < INT_GROUP; i++) sums[j] += (int8_t)to[INT_GROUP * j + i];
    }
}

void int_matmul_pack(const int_matmul *p, uint8_t *packed, const uint8_t *b, size_t from, size_t to)
{
    const int_tile *t = int_tile_of((cpu_level)p->level);
    const size_t width = t->vectors * t->lanes;
    const size_t row = p->turn_b ? 1 : p->n, column = p->turn_b ? p->k : 1;
    const uint8_t flip = p->b_signed ? 0 : 0x80;
    int32_t *sums = (int32_t *)(packed + p->b_bytes);
    for (size_t panel = from; panel < to; panel++) {
        const size_t first = panel * width;
        const size_t count = p->n - first < width ? p->n - first : width;
        /* The last panel is only as wide as the vectors that it fills. */
        const size_t wide = (count + t->lanes - 1) / t->lanes * t->lanes;
        uint8_t *lines = packed + first * p->groups * INT_GROUP;
        memset(lines, 0, wide * p->groups * INT_GROUP);
        memset(sums + first, 0, width * sizeof *sums);
        size_t k = 0;
        for (; column == 1 && k + INT_GROUP <= p->k; k += INT_GROUP)
            pack_group(lines + k * wide, sums + first, b + k * row + first, row, count, flip);
        for (; column != 1 && k + INT_GROUP <= p->k; k += INT_GROUP)
            pack_turned(lines + k * wide, sums + first, b + k + first * column, column, count,
                        flip);
        for (; k < p->k; k++) {
            uint8_t *line = lines + k / INT_GROUP * wide * INT_GROUP + k % INT_GROUP;
            const uint8_t *source = b + k * row + first * column;
            for (size_t j = 0; j < count; j++) {
                const int8_t v = (int8_t)(source[j * column] ^ flip);
                line[j * INT_GROUP] = (uint8_t)v;
                sums[first + j] += v;
            }
        }
    }
}

static void find_range(const int_matmul *p, const kernel_run *r)
{
    float *ranges = (float *)((char *)r->workspace + p->at_range), low = 0, high = 0;
    size_t from, to;
    /* Read each element of A once, even if batches share A. */
    uint64_t count = p->m * p->k;
    for (uint32_t d = 0; d < p->batch_rank; d++)
        if (p->a_batch[d]) count *= p->batch_shape[d];
    kernel_share(&from, &to, count, r->part, r->parts);
    quantize_loops_of((cpu_level)p->level)
        ->range((const float *)r->tensors[0] + from, to - from, &low, &high);
    ranges[2 * r->part] = low;
    ranges[2 * r->part + 1] = high;
}

static void copy_row(const int_matmul *p, const kernel_run *r, uint8_t *to, size_t row,
                     const quantize_to *q)
{
    const size_t product = row / p->m, i = row % p->m, size = p->groups * INT_GROUP;
    const uint64_t offset = product_offset(p, p->a_batch, product);
    const uint8_t flip = p->a_signed ? 0x80 : 0;
    if (p->a_float) {
        quantize_loops_of((cpu_level)p->level)
            ->to_8(to, (const float *)r->tensors[0] + offset + i * p->k, p->k, q);
    } else if (p->turn_a) {
        const uint8_t *a = (const uint8_t *)r->tensors[0] + offset + i;
        for (size_t k = 0; k < p->k; k++) to[k] = a[k * p->m] ^ flip;
    } else {
        const uint8_t *a = (const uint8_t *)r->tensors[0] + offset + i * p->k;
        for (size_t k = 0; k < p->k; k++) to[k] = a[k] ^ flip;
    }
    memset(to + p->k, 0, size - p->k);
}

/* Returns row `row` of A, counted over all products, as unsigned bytes. */
static const uint8_t *int_matmul_row_of(const int_matmul *p, const kernel_run *r, size_t row)
{
    if (p->copies_a) return (const uint8_t *)r->workspace + p->at_a + row * p->groups * INT_GROUP;
    return (const uint8_t *)r->tensors[0] + product_offset(p, p->a_batch, row / p->m) +
           row % p->m * p->k;
}

static void read_rows(const int_matmul *p, const kernel_run *r)
{
    const quantize_to q = p->a_float ? dynamic_of(p, r) : (quantize_to){0};
    int32_t *sums = (int32_t *)((char *)r->workspace + p->at_rows);
    size_t from, to;
    kernel_share(&from, &to, p->batch * p->m, r->part, r->parts);
    for (size_t row = from; row < to && !cancel_requested(); row++) {
        const uint8_t *a = int_matmul_row_of(p, r, row);
        if (p->copies_a) copy_row(p, r, (uint8_t *)a, row, &q);
        if (!p->sums_rows) continue;
        uint32_t sum = 0;
        for (size_t k = 0; k < p->k; k++) sum += a[k];
        sums[row] = (int32_t)sum;
    }
}

static void int_matmul_run_pack(const int_matmul *p, const kernel_run *r)
{
    size_t from, to;
    kernel_share(&from, &to, p->b_count * p->panels, r->part, r->parts);
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const size_t product = i / p->panels, panel = i % p->panels;
        const uint64_t offset = p->b_count > 1 ? product_offset(p, p->b_batch, product) : 0;
        int_matmul_pack(p, (uint8_t *)r->workspace + p->at_b + product * p->b_stride,
                        (const uint8_t *)r->tensors[p->at.b] + offset, panel, panel + 1);
    }
}

/* ---- The product ---------------------------------------------------------------------------- */

/* Columns of a panel with their sums, offsets and scales. */
typedef struct panel {
    const int_matmul *p;
    const kernel_run *r;
    const int_tile *tile;
    size_t first, count;
    const int32_t *column_sums;
    int32_t *offsets;
    double *scales;
    float *factors; /* scales in float32 */
    int32_t *zeros; /* zero points of B, as it is packed */
    double a_scale;
    int32_t a_zero; /* zero point of A, if all rows share one */
} panel;

static int32_t int_matmul_b_zero(const int_matmul *p, const kernel_run *r, size_t j)
{
    const int8_t *zeros = p->at.b_zero ? r->tensors[p->at.b_zero] : NULL;
    const int32_t zero =
        int_problem_unsigned(zeros ? zeros + (p->b_zeros == 1 ? 0 : j) : NULL, p->b_signed);
    return zero - 128; /* packed B is signed */
}

static int32_t int_matmul_a_zero(const int_matmul *p, const kernel_run *r, size_t i)
{
    const int8_t *zeros = p->at.a_zero ? r->tensors[p->at.a_zero] : NULL;
    if (p->a_float) return dynamic_of(p, r).zero;
    return int_problem_unsigned(zeros ? zeros + (p->a_zeros == 1 ? 0 : i) : NULL, p->a_signed);
}

static double int_matmul_scalar(const kernel_run *r, uint8_t place)
{
    return place ? (double)*(const float *)r->tensors[place] : 1;
}

static void int_matmul_prepare_columns(panel *c)
{
    const int_matmul *p = c->p;
    const kernel_run *r = c->r;
    const float *b_scales = p->at.b_scale ? r->tensors[p->at.b_scale] : NULL;
    const int32_t *bias = p->bias_ints ? r->tensors[p->at.bias] : NULL;
    c->a_zero = p->a_zeros > 1 ? 0 : int_matmul_a_zero(p, r, 0);
    c->a_scale = p->a_float ? (double)dynamic_of(p, r).scale : int_matmul_scalar(r, p->at.a_scale);
    for (size_t j = 0; j < c->count; j++) {
        const size_t column = c->first + j;
        c->zeros[j] = int_matmul_b_zero(p, r, column);
        const uint32_t zero = (uint32_t)c->zeros[j], a = (uint32_t)c->a_zero;
        uint32_t offset = a * ((uint32_t)p->k * zero - (uint32_t)c->column_sums[column]);
        if (bias) offset += (uint32_t)bias[column];
        c->offsets[j] = (int32_t)offset;
        if (!b_scales) continue;
        c->scales[j] = p->alpha * c->a_scale * (double)b_scales[p->b_scales == 1 ? 0 : column];
        if (p->kind == INT_MATMUL_TO_BYTES) c->scales[j] /= int_matmul_scalar(r, p->at.y_scale);
        c->factors[j] = (float)c->scales[j];
    }
}

/* Corrects sums for zero points: those of B need the row sums of A, and a zero point per row of A
 * needs the column sums of B. */
static void shift_row(const panel *c, size_t row, int32_t *sums)
{
    const int_matmul *p = c->p;
    const int32_t *row_sums = (const int32_t *)((const char *)c->r->workspace + p->at_rows);
    const uint32_t zero = p->a_zeros > 1 ? (uint32_t)int_matmul_a_zero(p, c->r, row % p->m) : 0;
    const uint32_t sum = p->sums_rows ? (uint32_t)row_sums[row] : 0;
    if (!p->sums_rows && p->a_zeros <= 1) return;
    const int32_t *zeros = c->zeros, *columns = c->column_sums + c->first;
    if (!zero && p->b_zeros <= 1) {
        const uint32_t shift = (uint32_t)zeros[0] * sum;
#pragma GCC ivdep
        for (size_t j = 0; j < c->count; j++) sums[j] = (int32_t)((uint32_t)sums[j] - shift);
        return;
    }
    if (!zero) {
#pragma GCC ivdep
        for (size_t j = 0; j < c->count; j++)
            sums[j] = (int32_t)((uint32_t)sums[j] - (uint32_t)zeros[j] * sum);
        return;
    }
#pragma GCC ivdep
    for (size_t j = 0; j < c->count; j++)
        sums[j] = (int32_t)((uint32_t)sums[j] - (uint32_t)zeros[j] * sum +
                            zero * ((uint32_t)p->k * (uint32_t)zeros[j] - (uint32_t)columns[j]));
}

static void int_matmul_finish_floats(const panel *c, size_t at, const int32_t *sums)
{
    const int_matmul *p = c->p;
    const float *bias = p->at.bias && !p->bias_ints ? c->r->tensors[p->at.bias] : NULL;
    const float *more = p->at.sum ? (const float *)c->r->tensors[p->at.sum] + at : NULL;
    float *y = (float *)c->r->tensors[p->inputs] + at;
    if (bias) bias += c->first;
    c->tile->column_floats(y, sums, c->count, c->offsets, c->scales, bias);
    for (size_t j = 0; more && j < c->count; j++) y[j] += more[j];
    for (size_t j = 0; p->relu && j < c->count; j++) y[j] = y[j] < 0 ? 0 : y[j];
}

/* Applies the epilogue to `rows` rows from `row` on, counted over all products. */
static void int_matmul_finish_rows(const panel *c, size_t row, size_t rows, int32_t *sums)
{
    const int_matmul *p = c->p;
    const size_t at = row * p->n + c->first;
    for (size_t i = 0; i < rows; i++) shift_row(c, row + i, sums + i * INT_MAX_COLUMNS);
    if (p->kind == INT_MATMUL_TO_BYTES) {
        c->tile->finish_columns((uint8_t *)c->r->tensors[p->inputs] + at, p->n, sums, rows,
                                c->count, &p->finish, c->offsets, c->scales, c->factors);
        return;
    }
    for (size_t i = 0; i < rows; i++, sums += INT_MAX_COLUMNS) {
        if (p->kind == INT_MATMUL_TO_FLOAT) {
            int_matmul_finish_floats(c, at + i * p->n, sums);
            continue;
        }
        int32_t *y = (int32_t *)c->r->tensors[p->inputs] + at + i * p->n;
        for (size_t j = 0; j < c->count; j++)
            y[j] = (int32_t)((uint32_t)sums[j] + (uint32_t)c->offsets[j]);
    }
}

static void int_matmul_unit(const int_matmul *p, const kernel_run *r, size_t index)
{
    const int_tile *t = int_tile_of((cpu_level)p->level);
    const size_t width = t->vectors * t->lanes;
    const size_t first = index / p->chunks % p->panels * width;
    const size_t product = index / p->chunks / p->panels, from = index % p->chunks * p->chunk;
    const size_t to = from + p->chunk < p->m ? from + p->chunk : p->m;
    const uint8_t *b = p->b_constant ? r->packed : (const uint8_t *)r->workspace + p->at_b;
    int32_t *sums = r->scratch;
    b += (p->b_count > 1 ? product : 0) * p->b_stride;
    panel c = {.p = p,
               .r = r,
               .tile = t,
               .first = first,
               .count = p->n - first < width ? p->n - first : width,
               .column_sums = (const int32_t *)(b + p->b_bytes),
               .offsets = sums + INT_AMX_MOST_ROWS * INT_MAX_COLUMNS,
               .scales = (double *)(sums + (INT_AMX_MOST_ROWS + 1) * INT_MAX_COLUMNS)};
    c.factors = (float *)(c.scales + INT_MAX_COLUMNS);
    c.zeros = (int32_t *)(c.factors + INT_MAX_COLUMNS);
    const size_t vectors = (c.count + t->lanes - 1) / t->lanes;
    int_matmul_prepare_columns(&c);
    const int_amx_use amx = int_amx_begin((cpu_level)p->level, p->groups, to - from);
    for (size_t i = from, rows, kind; i < to && !cancel_requested(); i += rows) {
        const int_job j = {.a = int_matmul_row_of(p, r, product * p->m + i),
                           .b = b + first * p->groups * INT_GROUP,
                           .tap_count = 1,
                           .groups = p->groups,
                           .a_row = p->groups * INT_GROUP,
                           .a_step = INT_GROUP,
                           .b_step = vectors * t->lanes * INT_GROUP,
                           .c = sums};
        rows = int_amx_run(&amx, &j, to - i, vectors);
        if (!rows) {
            rows = int_tile_rows(t, to - i, &kind);
            t->run[0][kind][vectors - 1](&j);
        }
        int_matmul_finish_rows(&c, product * p->m + i, rows, sums);
    }
    int_amx_end(&amx);
}

/* Phases: 0 finds the range of A if it must be quantised; 1 packs B and copies rows of A; 2
 * computes the product. Phases that a problem does not need are skipped. */
void int_matmul_run(const kernel_run *r)
{
    const int_matmul *p = r->params;
    const uint32_t phase = r->phase + p->first_phase;
    size_t from, to;
    if (phase == 0) {
        find_range(p, r);
    } else if (phase == 1) {
        if (!p->b_constant) int_matmul_run_pack(p, r);
        if (p->copies_a || p->sums_rows) read_rows(p, r);
    } else {
        kernel_share(&from, &to, int_matmul_unit_count(p), r->part, r->parts);
        for (size_t i = from; i < to; i++) int_matmul_unit(p, r, i);
    }
}
