/* SPDX-License-Identifier: Apache-2.0 */
/* Copies by index tables; each part copies some rows of the output. Every run checks the tables
 * first, because a plan file may hold any indices. */
#include "kernels/axis_tables.h"

#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"

/* Sets the members that follow from the shapes. */
static void axis_tables_place(axis_tables *p)
{
    uint64_t stride = 1;
    for (uint32_t d = p->rank; d-- > 0;) {
        p->strides[d] = stride;
        p->tables[d] = p->entries;
        p->entries += p->shape[d];
        stride *= p->in[d];
        if (d + 1 < p->rank) p->rows *= p->shape[d];
    }
}

bool axis_tables_describe(axis_tables *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const unsigned bits = pgy_dtype_describe(x->dtype)->bits;
    *p = (axis_tables){
        .item = bits / 8, .rank = (uint32_t)x->rank, .inputs = (uint32_t)u->input_count, .rows = 1};
    if (x->rank < 1 || x->rank > WALK_AXES || y->rank != x->rank) return false;
    if (x->dtype == PGY_STRING || (bits != 8 && bits != 16 && bits != 32 && bits != 64))
        return false;
    if (!kernel_count(x) || !kernel_count(y)) return false;
    for (uint32_t d = 0; d < p->rank; d++) {
        if (x->shape[d] > INT32_MAX || y->shape[d] > INT32_MAX) return false;
        p->in[d] = (uint64_t)x->shape[d];
        p->shape[d] = (uint64_t)y->shape[d];
    }
    axis_tables_place(p);
    return true;
}

void axis_tables_cost(kernel_problem *u, const axis_tables *p, double *cost_ns)
{
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)kernel_size_bytes(&u->outputs[0]) / 4 + (double)p->rows * 10;
}

pgy_status axis_tables_plan(kernel_plan *out, const axis_tables *p, pgy_error *err)
{
    axis_tables *params = mem_calloc(1, sizeof *params);
    const size_t packed_bytes = p->entries * sizeof(int32_t);
    int32_t *tables = mem_alloc_aligned(64, packed_bytes);
    if (!params || !tables) {
        mem_free(params);
        mem_free(tables);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    *params = *p;
    memset(tables, 0xff, packed_bytes);
    const uint64_t parts = p->rows * p->shape[p->rank - 1] * p->item / 32768 + 1;
    *out = (kernel_plan){.params = params,
                         .params_bytes = sizeof *params,
                         .packed = tables,
                         .packed_bytes = packed_bytes,
                         .phases = 1,
                         .parts = (uint32_t)(parts < p->rows ? parts : p->rows),
                         .in_place = -1};
    if (out->parts > 256) out->parts = 256;
    return PGY_OK;
}

/* Finds the longest run of consecutive source indices. */
static void axis_tables_find_run(axis_tables *p, const int32_t *last)
{
    const uint64_t n = p->shape[p->rank - 1];
    for (uint64_t i = 0; i < n;) {
        uint64_t end = i + 1;
        while (end < n && last[i] >= 0 && last[end] == last[i] + (int32_t)(end - i)) end++;
        if (last[i] >= 0 && end - i > p->run_count) {
            p->run_from = i;
            p->run_count = end - i;
        }
        i = end;
    }
}

void axis_tables_finish(kernel_plan *out)
{
    axis_tables *p = out->params;
    axis_tables_find_run(p, (const int32_t *)out->packed + p->tables[p->rank - 1]);
}

bool axis_tables_keeps_last(const axis_tables *p)
{
    const uint32_t last = p->rank - 1;
    return p->run_from == 0 && p->run_count == p->shape[last] && p->in[last] == p->shape[last];
}

pgy_status axis_tables_turn(kernel_plan *out, pgy_error *err)
{
    axis_tables *p = out->params, new = *p;
    int32_t *tables = mem_alloc_aligned(64, out->packed_bytes);
    if (!tables) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    new.rows = 1;
    new.entries = new.run_from = new.run_count = 0;
    for (uint32_t d = 1; d < p->rank; d++) {
        const uint32_t from = d + 1 < p->rank ? d + 1 : 1;
        new.in[d] = p->in[from];
        new.shape[d] = p->shape[from];
    }
    axis_tables_place(&new);
    for (uint32_t d = 0; d < p->rank; d++) {
        const uint32_t from = d == 0 ? 0 : d + 1 < p->rank ? d + 1 : 1;
        memcpy(tables + new.tables[d], (const int32_t *)out->packed + p->tables[from],
               p->shape[from] * sizeof *tables);
    }
    mem_free(out->packed);
    out->packed = tables;
    *p = new;
    axis_tables_finish(out);
    return PGY_OK;
}

/* Do the members have the values that follow from the shapes of input and output? */
static bool is_consistent(const axis_tables *p)
{
    axis_tables own = {.rank = p->rank, .rows = 1};
    if (!p->rank || p->rank > WALK_AXES) return false;
    for (uint32_t d = 0; d < p->rank; d++)
        if (!p->in[d] || !p->shape[d] || p->in[d] > INT32_MAX || p->shape[d] > INT32_MAX)
            return false;
    if (extent_product(p->in, p->rank) == EXTENT_TOO_MUCH ||
        extent_product(p->shape, p->rank) == EXTENT_TOO_MUCH)
        return false;
    memcpy(own.in, p->in, sizeof own.in);
    memcpy(own.shape, p->shape, sizeof own.shape);
    axis_tables_place(&own);
    return own.rows == p->rows && own.entries == p->entries &&
           !memcmp(own.strides, p->strides, sizeof own.strides) &&
           !memcmp(own.tables, p->tables, sizeof own.tables);
}

bool axis_tables_extent(kernel_extent *e, const kernel_claim *q)
{
    const axis_tables *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (p->inputs != q->input_count || p->value >= p->inputs)
        return extent_refuse(e, "number of inputs");
    if (p->item != 1 && p->item != 2 && p->item != 4 && p->item != 8)
        return extent_refuse(e, "size of an element");
    if (!is_consistent(p)) return extent_refuse(e, "shape");
    const uint64_t n = p->shape[p->rank - 1];
    if (p->run_from > n || p->run_count > n - p->run_from) return extent_refuse(e, "run");
    extent_tensor(e, 0, extent_product(p->in, p->rank), p->item);
    if (p->value) extent_tensor(e, p->value, 1, p->item);
    extent_tensor(e, p->inputs, extent_product(p->shape, p->rank), p->item);
    e->packed = extent_mul(p->entries, sizeof(int32_t));
    return true;
}

/* Checks that all indices are inside the input: tables come from the plan file, which is not
 * trusted. */
static bool axis_tables_are_inside(const axis_tables *p, const int32_t *tables)
{
    for (uint32_t d = 0; d < p->rank; d++)
        for (uint64_t i = 0; i < p->shape[d]; i++)
            if (tables[p->tables[d] + i] < -1 || tables[p->tables[d] + i] >= (int64_t)p->in[d])
                return false;
    const uint32_t last = p->rank - 1;
    if (p->run_count < 4) return true;
    const int32_t first = tables[p->tables[last] + p->run_from];
    return first >= 0 && (uint64_t)first + p->run_count <= p->in[last];
}

/* Copies indices [from, to) of a row one by one. x: NULL if the whole row is padding. */
static void axis_tables_move(const axis_tables *p, char *y, const char *x, const char *value,
                             const int32_t *last, size_t from, size_t to)
{
    static const uint64_t zero;
    const char *fill = value ? value : (const char *)&zero;
    const size_t item = p->item;
    for (size_t i = from; i < to && !cancel_requested(); i++) {
        const char *source = x && last[i] >= 0 ? x + (size_t)last[i] * item : fill;
        if (item == 4)
            memcpy(y + i * 4, source, 4);
        else
            memcpy(y + i * item, source, item);
    }
}

void axis_tables_run(const kernel_run *r)
{
    const axis_tables *p = r->params;
    const int32_t *tables = r->packed, *last = tables + p->tables[p->rank - 1];
    const char *value = p->value ? r->tensors[p->value] : NULL;
    const uint64_t n = p->shape[p->rank - 1], end = p->run_from + p->run_count;
    size_t from, to;
    if (!axis_tables_are_inside(p, tables)) {
        kernel_fault(r);
        return;
    }
    kernel_share(&from, &to, p->rows, r->part, r->parts);
    for (size_t row = from; row < to && !cancel_requested(); row++) {
        const char *x = r->tensors[0];
        char *y = (char *)r->tensors[p->inputs] + row * n * p->item;
        uint64_t rest = row;
        for (uint32_t d = p->rank - 1; d-- > 0 && x; rest /= p->shape[d]) {
            const int32_t at = tables[p->tables[d] + rest % p->shape[d]];
            x = at < 0 ? NULL : x + (uint64_t)at * p->strides[d] * p->item;
        }
        if (!x || p->run_count < 4) {
            axis_tables_move(p, y, x, value, last, 0, n);
            continue;
        }
        axis_tables_move(p, y, x, value, last, 0, p->run_from);
        memcpy(y + p->run_from * p->item, x + (size_t)last[p->run_from] * p->item,
               p->run_count * p->item);
        axis_tables_move(p, y, x, value, last, end, n);
    }
}
