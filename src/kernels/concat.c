/* SPDX-License-Identifier: Apache-2.0 */
/* Concat and Split: a tensor (the whole) consists of rows of bytes, and each row of one segment
 * from each smaller tensor (piece). Each part of the work copies a byte range of the whole. */
#include <string.h>

#include "base/alloc.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/shared_params.h"

typedef concat_params params;

static bool concat_describe(params *p, const kernel_problem *u)
{
    *p = (params){.splits = strcmp(u->node->def->name, "Split") == 0, .rows = 1};
    const kernel_tensor *whole = p->splits ? &u->inputs[0] : &u->outputs[0];
    const kernel_tensor *pieces = p->splits ? u->outputs : u->inputs;
    const unsigned bits = pgy_dtype_describe(whole->dtype)->bits;
    int64_t axis = op_attr_int(u->node, "axis", 0);
    if (axis < 0) axis += whole->rank;
    if (axis < 0 || axis >= whole->rank || bits % 8 || whole->dtype == PGY_STRING) return false;
    p->segments = (uint32_t)(p->splits ? u->output_count : u->input_count);
    p->first = p->splits ? (uint32_t)u->input_count : 0;
    p->whole = p->splits ? 0 : (uint32_t)u->input_count;
    if (p->segments > KERNEL_MAX_INPUTS) return false;
    uint64_t inner = bits / 8;
    for (int64_t d = axis + 1; d < whole->rank; d++) inner *= (uint64_t)whole->shape[d];
    for (int64_t d = 0; d < axis; d++) p->rows *= (uint64_t)whole->shape[d];
    p->row_bytes = inner * (uint64_t)whole->shape[axis];
    uint64_t end = 0;
    for (uint32_t i = 0; i < p->segments; i++) {
        if (pieces[i].dtype != whole->dtype || pieces[i].rank != whole->rank) return false;
        end += inner * (uint64_t)pieces[i].shape[axis];
        p->ends[i] = end;
    }
    return end == p->row_bytes;
}

static bool concat_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!concat_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)(p.rows * p.row_bytes) / 5 + (double)(p.rows * p.segments) * 5;
    return true;
}

static pgy_status concat_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)concat_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    if (p->rows == 1) out->copies = p->splits ? KERNEL_COPIES_SPLIT : KERNEL_COPIES_JOINED;
    const uint64_t parts = p->rows * p->row_bytes / 32768 + 1;
    out->parts = (uint32_t)(parts < 256 ? parts : 256);
    return PGY_OK;
}

static bool concat_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    uint64_t start = 0;
    if (!p) return false;
    if (p->first != (p->splits ? q->input_count : 0) ||
        p->whole != (p->splits ? 0 : q->input_count) ||
        p->segments > (p->splits ? q->output_count : q->input_count))
        return extent_refuse(e, "number of tensors");
    for (uint32_t i = 0; i < p->segments; start = p->ends[i++]) {
        if (p->ends[i] < start) return extent_refuse(e, "segments");
        extent_tensor(e, p->first + i, p->rows, p->ends[i] - start);
    }
    if (start != p->row_bytes) return extent_refuse(e, "segments");
    extent_tensor(e, p->whole, p->rows, p->row_bytes);
    return true;
}

/* Copies bytes [from, to) of a row. */
static void concat_row(const params *p, const kernel_run *r, uint64_t row, uint64_t from,
                       uint64_t to)
{
    char *whole = (char *)r->tensors[p->whole] + row * p->row_bytes;
    uint64_t start = 0;
    for (uint32_t i = 0; i < p->segments; start = p->ends[i++]) {
        const uint64_t begin = from > start ? from : start, end = to < p->ends[i] ? to : p->ends[i];
        if (begin >= end) continue;
        char *piece = (char *)r->tensors[p->first + i] + row * (p->ends[i] - start);
        if (p->splits)
            memcpy(piece + (begin - start), whole + begin, end - begin);
        else
            memcpy(whole + begin, piece + (begin - start), end - begin);
    }
}

/* Copies `count` pieces that are `bytes` long. Sizes of a few elements are constants, so that a
 * copy is a load and a store instead of a call. */
static void copy_pieces(char *to, size_t to_step, const char *from, size_t from_step, size_t bytes,
                        size_t count)
{
#define COPY_EACH(size) \
    for (; count; count--, to += to_step, from += from_step) memcpy(to, from, size)
    switch (bytes) {
    case 1: COPY_EACH(1); return;
    case 2: COPY_EACH(2); return;
    case 4: COPY_EACH(4); return;
    case 8: COPY_EACH(8); return;
    case 16: COPY_EACH(16); return;
    case 32: COPY_EACH(32); return;
    case 64: COPY_EACH(64); return;
    default: COPY_EACH(bytes);
    }
#undef COPY_EACH
}

enum {
    SHORT_ROW = 512, /* bytes: the longest row that is copied piece by piece */
    SHORT_ROWS = 64  /* rows at a time, which stay in the first-level cache */
};

static void concat_short_rows(const params *p, const kernel_run *r, uint64_t row, size_t rows)
{
    char *whole = (char *)r->tensors[p->whole] + row * p->row_bytes;
    uint64_t start = 0;
    for (uint32_t i = 0; i < p->segments; start = p->ends[i++]) {
        const uint64_t bytes = p->ends[i] - start;
        if (!bytes) continue;
        char *piece = (char *)r->tensors[p->first + i] + row * bytes;
        if (p->splits)
            copy_pieces(piece, bytes, whole + start, p->row_bytes, bytes, rows);
        else
            copy_pieces(whole + start, p->row_bytes, piece, bytes, bytes, rows);
    }
}

static void concat_run(const kernel_run *r)
{
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, p->rows * p->row_bytes, r->part, r->parts);
    while (from < to) {
        const size_t whole_rows =
            p->row_bytes <= SHORT_ROW && !(from % p->row_bytes) ? (to - from) / p->row_bytes : 0;
        if (whole_rows) {
            const size_t rows = whole_rows < SHORT_ROWS ? whole_rows : SHORT_ROWS;
            concat_short_rows(p, r, from / p->row_bytes, rows);
            from += rows * p->row_bytes;
            continue;
        }
        const uint64_t row = from / p->row_bytes, at = from % p->row_bytes;
        const uint64_t rest = to - from, left = p->row_bytes - at;
        const uint64_t n = rest < left ? rest : left;
        concat_row(p, r, row, at, at + n);
        from += n;
    }
}

const kernel KERNELS_concat[] = {
    {.name = "concat",
     .version = 1,
     .ops = "Concat Split",
     .accept = concat_accept,
     .prepare = concat_prepare,
     .run = concat_run,
     .extent = concat_extent},
    {0},
};
