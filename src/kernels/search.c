/* SPDX-License-Identifier: Apache-2.0 */
/* ArgMax, ArgMin, TopK and CumSum along an axis, for float32, int64 and int32. NaN ranks before
 * every number. Of equal numbers the one with the lower index ranks first, unless the node selects
 * the last index. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "kernels/search_top.h"

/* Neighbouring lines that TopK copies, and whose sums are made, together. */
enum { TOP_LINES = 16, SUM_COLUMNS = 2048 };
typedef enum kind { ARG, TOP, RUNNING } kind;

typedef struct params {
    uint64_t outer, length, inner, k;
    uint32_t kind, type, smallest, last;          /* type: search_type */
    uint32_t exclusive, reverse, inputs, outputs; /* outputs: bit i: output i is given */
    uint32_t level, wide;                         /* wide: neighbouring lines are read together */
} params;

static bool constant_int(int64_t *out, const kernel_tensor *t)
{
    if (!t->data || kernel_count(t) != 1) return false;
    if (t->dtype != PGY_I64 && t->dtype != PGY_I32) return false;
    *out = t->dtype == PGY_I64 ? *(const int64_t *)t->data : *(const int32_t *)t->data;
    return true;
}

static bool search_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0];
    const char *op = u->node->def->name;
    *p = (params){.outer = 1, .inner = 1, .inputs = (uint32_t)u->input_count};
    p->kind = op[0] == 'A' ? ARG : op[0] == 'T' ? TOP : RUNNING;
    int64_t axis = op_attr_int(u->node, "axis", p->kind == TOP ? -1 : 0), k = 1;
    if (x->dtype != PGY_F32 && x->dtype != PGY_I64 && x->dtype != PGY_I32) return false;
    p->type = x->dtype == PGY_F32 ? SEARCH_F32 : x->dtype == PGY_I64 ? SEARCH_I64 : SEARCH_I32;
    if (p->kind == RUNNING && !constant_int(&axis, &u->inputs[1])) return false;
    if (p->kind == TOP && (u->input_count < 2 || !constant_int(&k, &u->inputs[1]))) return false;
    if (axis < 0) axis += x->rank;
    if (axis < 0 || axis >= x->rank || !kernel_count(x)) return false;
    for (int64_t d = 0; d < axis; d++) p->outer *= (uint64_t)x->shape[d];
    for (int64_t d = axis + 1; d < x->rank; d++) p->inner *= (uint64_t)x->shape[d];
    p->length = (uint64_t)x->shape[axis];
    if (p->length > INT32_MAX) return false;
    p->level = u->self->needs;
    if (k < 1 || (uint64_t)k > p->length) return false;
    p->k = (uint64_t)k;
    p->smallest = p->kind == TOP ? !op_attr_int(u->node, "largest", 1) : strcmp(op, "ArgMin") == 0;
    p->last = p->kind == ARG && op_attr_int(u->node, "select_last_index", 0);
    p->exclusive = p->kind == RUNNING && op_attr_int(u->node, "exclusive", 0);
    p->reverse = p->kind == RUNNING && op_attr_int(u->node, "reverse", 0);
    for (size_t i = 0; i < u->output_count; i++)
        if (u->outputs[i].dtype) p->outputs |= 1u << i;
    return p->outputs != 0;
}

static bool search_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!search_describe(&p, u)) return false;
    for (size_t i = 0; i < u->input_count; i++) u->inputs[i].layout = KERNEL_LINEAR;
    for (size_t i = 0; i < u->output_count; i++) u->outputs[i].layout = KERNEL_LINEAR;
    const double count = (double)(p.outer * p.length * p.inner);
    *cost_ns = 100 + count * (p.kind == RUNNING && p.inner == 1 ? 1 : u->self->rates[0]);
    if (p.kind == TOP) *cost_ns += (double)(p.outer * p.inner) * (50 + 20 * (double)p.k);
    return true;
}

/* How many neighbouring lines are a unit of work. */
static uint64_t search_group(const params *p)
{
    if (p->inner == 1) return 1;
    return p->kind == TOP ? TOP_LINES : p->kind == ARG ? SEARCH_COLUMNS : SUM_COLUMNS;
}

static uint64_t search_units(const params *p)
{
    return p->outer * ((p->inner - 1) / search_group(p) + 1);
}

/* Scratch memory for TopK: that of a search, indices, and copies of lines that are not contiguous.
 */
static uint64_t search_scratch(const params *p)
{
    if (p->kind != TOP) return 0;
    const uint64_t copied = p->inner > 1 ? extent_mul(p->length, TOP_LINES) : 0;
    return extent_add(search_top_bytes(p->length, p->k),
                      extent_mul(extent_add(p->k, copied), sizeof(int64_t)));
}

static pgy_status search_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)search_describe(p, u); /* cannot fail after `accept` */
    *out = (kernel_plan){.params = p, .params_bytes = sizeof *p, .phases = 1, .in_place = -1};
    out->scratch_bytes = search_scratch(p);
    const uint64_t units = search_units(p), worth = p->outer * p->inner * p->length / 16384 + 1;
    out->parts = (uint32_t)(units < worth ? units : worth);
    if (out->parts > 256) out->parts = 256;
    return PGY_OK;
}

static bool search_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p || !extent_level(e, p->level) || !extent_enum(e, p->kind, RUNNING + 1, "kind") ||
        !extent_enum(e, p->type, SEARCH_TYPES, "type"))
        return false;
    if (p->inputs != q->input_count || !p->inputs) return extent_refuse(e, "number of inputs");
    if (!p->length || p->length > INT32_MAX || !p->inner || !p->k || p->k > p->length)
        return extent_refuse(e, "shape");
    const uint64_t item = p->type == SEARCH_I64 ? 8 : 4;
    const uint64_t count = extent_mul3(p->outer, p->length, p->inner);
    extent_tensor(e, 0, count, item);
    if (p->kind == RUNNING) extent_tensor(e, p->inputs, count, item);
    if (p->kind == ARG)
        extent_tensor(e, p->inputs, extent_mul(p->outer, p->inner), sizeof(int64_t));
    if (p->kind != TOP) return true;
    const uint64_t found = extent_mul3(p->outer, p->k, p->inner);
    if (p->outputs & 1) extent_tensor(e, p->inputs, found, item);
    if (p->outputs & 2) extent_tensor(e, p->inputs + 1, found, sizeof(int64_t));
    e->scratch = search_scratch(p);
    return true;
}

/* ---- Lines ---------------------------------------------------------------------------------- */

/* Copies `lines` neighbouring lines, whose elements are `stride` apart. */
#define COLLECT(name, type)                                                          \
    static void name(type *to, const type *x, size_t n, size_t stride, size_t lines) \
    {                                                                                \
        for (size_t i = 0; i < n; i++)                                               \
            for (size_t k = 0; k < lines; k++) to[k * n + i] = x[i * stride + k];    \
    }
COLLECT(search_collect_4, uint32_t)
COLLECT(search_collect_8, uint64_t)

/* Finds the first k of the line at x and writes them to y and `places`, `step` apart. */
static void search_top_line(const params *p, const kernel_run *r, const char *x, size_t to,
                            size_t step)
{
    const size_t item = p->type == SEARCH_I64 ? 8 : 4;
    int64_t *indices = (int64_t *)((char *)r->scratch + search_top_bytes(p->length, p->k));
    search_top_indices(indices, p->type, (cpu_level)p->level, x, p->length, p->k, p->smallest,
                       r->scratch);
    for (size_t i = 0; i < p->k && !cancel_requested(); i++) {
        const size_t at = to + i * step;
        if (p->outputs & 1)
            memcpy((char *)r->tensors[p->inputs] + at * item, x + (size_t)indices[i] * item, item);
        if (p->outputs & 2) ((int64_t *)r->tensors[p->inputs + 1])[at] = indices[i];
    }
}

static void search_top(const params *p, const kernel_run *r, size_t outer, size_t first, size_t n)
{
    const size_t item = p->type == SEARCH_I64 ? 8 : 4;
    const size_t to = outer * p->k * p->inner + first;
    const char *x = (const char *)r->tensors[0] + (outer * p->length * p->inner + first) * item;
    if (p->inner == 1) {
        search_top_line(p, r, x, to, 1);
        return;
    }
    char *copy = (char *)r->scratch + search_top_bytes(p->length, p->k) + p->k * sizeof(int64_t);
    if (item == 8)
        search_collect_8((uint64_t *)(void *)copy, (const uint64_t *)(const void *)x, p->length,
                         p->inner, n);
    else
        search_collect_4((uint32_t *)(void *)copy, (const uint32_t *)(const void *)x, p->length,
                         p->inner, n);
    for (size_t i = 0; i < n; i++)
        search_top_line(p, r, copy + i * p->length * item, to + i, p->inner);
}

#define T float
#define SUM double
#define RUN search_sum_f32
#include "kernels/search_sum.inc"
#define T int64_t
#define SUM uint64_t
#define RUN search_sum_i64
#include "kernels/search_sum.inc"
#define T int32_t
#define SUM uint32_t
#define RUN search_sum_i32
#include "kernels/search_sum.inc"

static void search_sum(const params *p, const kernel_run *r, size_t line)
{
    if (p->type == SEARCH_F32)
        search_sum_f32(p, r, line);
    else if (p->type == SEARCH_I64)
        search_sum_i64(p, r, line);
    else
        search_sum_i32(p, r, line);
}

static void search_arg(const params *p, const kernel_run *r, const search_loops *loops, size_t line)
{
    const size_t item = p->type == SEARCH_I64 ? 8 : 4;
    const search_order o = {p->smallest, p->last};
    ((int64_t *)r->tensors[p->inputs])[line] =
        (int64_t)loops->best((const char *)r->tensors[0] + line * p->length * item, p->length, o);
}

/* A group of n neighbouring lines from line `first` on. */
static void search_columns(const params *p, const kernel_run *r, const search_loops *loops,
                           size_t outer, size_t first, size_t n)
{
    const size_t from = (outer * p->length * p->inner + first) * (p->type == SEARCH_I64 ? 8 : 4);
    const char *x = (const char *)r->tensors[0] + from;
    if (p->kind == ARG)
        loops->best_of_columns((int64_t *)r->tensors[p->inputs] + outer * p->inner + first, x,
                               p->length, p->inner, n, (search_order){p->smallest, p->last});
    else
        loops->sums_of_columns((char *)r->tensors[p->inputs] + from, x, p->length, p->inner, n,
                               p->exclusive, p->reverse);
}

static void search_run(const kernel_run *r)
{
    const params *p = r->params;
    const search_loops *loops = search_loops_of(p->type, (cpu_level)p->level);
    const size_t group = search_group(p), groups = (p->inner - 1) / group + 1;
    size_t from, to;
    kernel_share(&from, &to, p->outer * groups, r->part, r->parts);
    for (size_t unit = from; unit < to && !cancel_requested(); unit++) {
        const size_t outer = unit / groups, first = unit % groups * group;
        const size_t n = p->inner - first < group ? p->inner - first : group;
        if (p->kind == TOP)
            search_top(p, r, outer, first, n);
        else if (p->inner > 1)
            search_columns(p, r, loops, outer, first, n);
        else if (p->kind == ARG)
            search_arg(p, r, loops, unit);
        else
            search_sum(p, r, unit);
    }
}

#define ROW(suffix, level, each)                                                             \
    {                                                                                        \
        .name = "search_" #suffix, .version = 1, .ops = "ArgMax ArgMin TopK CumSum",         \
        .needs = level, .rates = {each}, .accept = search_accept, .prepare = search_prepare, \
        .run = search_run, .extent = search_extent                                           \
    }
const kernel KERNELS_search[] = {
    ROW(portable, CPU_PORTABLE, 0.8),
    ROW(avx2, CPU_AVX2, 0.4),
    ROW(avx512, CPU_AVX512, 0.3),
    {0},
};
