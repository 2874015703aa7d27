/* SPDX-License-Identifier: Apache-2.0 */
/* Unique: the distinct slices along an axis, or without one the distinct elements, sorted or in
 * order of appearance, with optional first positions, inverse positions and counts. NaN equals NaN
 * and sorts last, as in NumPy. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "ops/move.h"
#include "ops/rule.h"

static const op_attr_def ATTRS[] = {
    {"axis", OP_ATTR_INT, false, NULL},
    {"sorted", OP_ATTR_INT, false, "1"},
    {0},
};

static pgy_status infer(op_infer *c, pgy_error *err)
{
    static const char WHY[] = "it depends on the values of the input";
    const op_value *x = &c->inputs[0];
    size_t axis = 0;
    const bool flat = !op_attr_find(c->node, "axis");
    op_set_unknown(c, 0, x->dtype, flat ? 1 : x->rank, WHY);
    for (size_t i = 1; i < c->node->output_count; i++) op_set_unknown(c, i, PGY_I64, 1, WHY);
    if (x->rank < 0) return PGY_OK;
    pgy_status st =
        flat ? PGY_OK : op_axis(&axis, c->node, op_attr_int(c->node, "axis", 0), x->rank, err);
    if (st) return st;
    dim *dims = flat ? op_dims(c, 1) : rule_copy_dims(c, x), *lists = op_dims(c, 2), most;
    if (!dims || !lists) return rule_no_memory(c->node, err);
    if (flat)
        (void)rule_count(c, &most, x->rank, x->dims);
    else
        most = x->dims[axis];
    lists[0] = dims[axis] = dim_unknown_upto(c->dims, WHY, most);
    lists[1] = most;
    op_set_output(c, 0, x->dtype, flat ? 1 : x->rank, dims);
    /* First positions of the values, index of each element's value, and counts. */
    for (size_t i = 1; i < c->node->output_count; i++)
        op_set_output(c, i, PGY_I64, 1, &lists[i == 2]);
    return PGY_OK;
}

/* The input as [outer, size, inner]; slice i has index i in the middle. */
typedef struct slices {
    pgy_dtype storage;
    const char *data;
    size_t outer, size, inner, bytes;
    uint64_t *prefixes; /* of texts: the first eight bytes, which order as numbers; else NULL */
} slices;

static uint64_t prefix_of(pgy_string s)
{
    uint64_t prefix = 0;
    for (size_t i = 0; i < 8; i++)
        prefix = prefix << 8 | (i < s.size ? (unsigned char)s.data[i] : 0);
    return prefix;
}

static int compare_elements(pgy_dtype storage, const void *a, const void *b)
{
    switch (storage) {
    case PGY_F64: {
        const double x = *(const double *)a, y = *(const double *)b;
        if (isnan(x) || isnan(y)) return isnan(x) - isnan(y);
        return (x > y) - (x < y);
    }
    case PGY_I64: {
        const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
        return (x > y) - (x < y);
    }
    case PGY_U64: {
        const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
        return (x > y) - (x < y);
    }
    case PGY_STRING: {
        const pgy_string *x = a, *y = b;
        const size_t n = x->size < y->size ? x->size : y->size;
        const int order = n ? memcmp(x->data, y->data, n) : 0;
        return order ? order : (x->size > y->size) - (x->size < y->size);
    }
    default: return (int)*(const uint8_t *)a - (int)*(const uint8_t *)b;
    }
}

/* Texts as memcmp orders them. */
static int compare_texts(const slices *s, size_t a, size_t b)
{
    const pgy_string *x = (const pgy_string *)(const void *)s->data + a,
                     *y = (const pgy_string *)(const void *)s->data + b;
    if (s->prefixes[a] != s->prefixes[b]) return s->prefixes[a] < s->prefixes[b] ? -1 : 1;
    if (x->size == y->size && x->size <= sizeof *s->prefixes) return 0;
    return compare_elements(PGY_STRING, x, y);
}

static int compare_slices(const slices *s, size_t a, size_t b)
{
    if (s->prefixes) return compare_texts(s, a, b);
    for (size_t o = 0; o < s->outer; o++)
        for (size_t i = 0; i < s->inner; i++) {
            const char *base = s->data + (o * s->size * s->inner + i) * s->bytes;
            const int order = compare_elements(s->storage, base + a * s->inner * s->bytes,
                                               base + b * s->inner * s->bytes);
            if (order) return order;
        }
    return 0;
}

/* Breaks ties by position, so equal slices stay in order of appearance. */
static int compare_positions(const void *a, const void *b, void *user)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const int order = compare_slices(user, x, y);
    return order ? order : (x > y) - (x < y);
}

static int compare_first(const void *a, const void *b, void *user)
{
    const size_t *first = user;
    const size_t x = first[*(const size_t *)a], y = first[*(const size_t *)b];
    return (x > y) - (x < y);
}

/* Groups of equal slices. The arrays have one entry per slice or group and share one allocation. */
typedef struct groups {
    size_t count;
    size_t *order, *group_of, *first, *members, *rank_of, *by_rank;
} groups;

static void group(groups *g, const slices *s, bool sorted)
{
    for (size_t i = 0; i < s->size; i++) g->order[i] = i;
    qsort_r(g->order, s->size, sizeof *g->order, compare_positions, (void *)s);
    for (size_t i = 0; i < s->size; i++) {
        const size_t at = g->order[i];
        if (i == 0 || compare_slices(s, g->order[i - 1], at)) {
            g->first[g->count] = at;
            g->members[g->count] = 0;
            g->count++;
        }
        g->group_of[at] = g->count - 1;
        g->members[g->count - 1]++;
    }
    for (size_t k = 0; k < g->count; k++) g->by_rank[k] = k;
    if (!sorted) qsort_r(g->by_rank, g->count, sizeof *g->by_rank, compare_first, g->first);
    for (size_t k = 0; k < g->count; k++) g->rank_of[g->by_rank[k]] = k;
}

static pgy_status write_slices(op_eval *c, const pgy_tensor *x, const slices *s, const groups *g,
                               size_t axis, bool flat, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK] = {0};
    for (size_t d = 0; d < pgy_tensor_rank(x); d++) shape[d] = pgy_tensor_shape(x)[d];
    shape[axis] = (int64_t)g->count;
    pgy_status st = op_output(c, 0, PGY_DTYPE_NONE, flat ? 1 : pgy_tensor_rank(x), shape, err);
    if (st) return st;
    const size_t block = s->inner * s->bytes;
    char *to = pgy_tensor_data(c->outputs[0].value);
    for (size_t o = 0; o < s->outer; o++)
        for (size_t k = 0; k < g->count; k++, to += block)
            memcpy(to, s->data + (o * s->size + g->first[g->by_rank[k]]) * block, block);
    return move_own(c->outputs[0].value, err);
}

static pgy_status write_positions(op_eval *c, const slices *s, const groups *g, pgy_error *err)
{
    for (size_t i = 1; i < c->node->output_count; i++) {
        const size_t count = i == 2 ? s->size : g->count;
        const int64_t shape[] = {(int64_t)count};
        if (!c->wanted[i]) continue;
        pgy_status st = op_output(c, i, PGY_I64, 1, shape, err);
        if (st) return st;
        int64_t *to = pgy_tensor_data(c->outputs[i].value);
        for (size_t k = 0; k < count; k++) {
            if (i == 1) to[k] = (int64_t)g->first[g->by_rank[k]];
            if (i == 2) to[k] = (int64_t)g->rank_of[g->group_of[k]];
            if (i == 3) to[k] = (int64_t)g->members[g->by_rank[k]];
        }
    }
    return PGY_OK;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    pgy_tensor *x;
    size_t axis = 0;
    const bool flat = !op_attr_find(c->node, "axis");
    pgy_status st = rule_input(c, 0, &x, err);
    if (!st && !flat)
        st = op_axis(&axis, c->node, op_attr_int(c->node, "axis", 0), (int32_t)pgy_tensor_rank(x),
                     err);
    if (st) return st;
    const int64_t *shape = pgy_tensor_shape(x);
    slices s = {.storage = pgy_tensor_dtype(x),
                .data = pgy_tensor_data(x),
                .outer = 1,
                .size = pgy_tensor_count(x),
                .inner = 1,
                .bytes = move_size(pgy_tensor_dtype(x))};
    if (!flat) {
        s.outer = move_product(shape, 0, axis);
        s.size = (size_t)shape[axis];
        s.inner = move_product(shape, axis + 1, pgy_tensor_rank(x));
    }
    if (s.storage == PGY_C128)
        return op_error(c->node, err, PGY_E_TYPE, "complex numbers have no order");
    const bool texts = s.storage == PGY_STRING && s.outer * s.inner == 1;
    size_t *memory = mem_calloc(s.size + 1, 6 * sizeof *memory);
    if (texts) s.prefixes = mem_calloc(s.size + 1, sizeof *s.prefixes);
    if (!memory || (texts && !s.prefixes)) {
        mem_free(memory);
        mem_free(s.prefixes);
        return rule_no_memory(c->node, err);
    }
    for (size_t i = 0; texts && i < s.size; i++)
        s.prefixes[i] = prefix_of(((const pgy_string *)pgy_tensor_data(x))[i]);
    groups g = {.order = memory};
    g.group_of = g.order + s.size;
    g.first = g.group_of + s.size;
    g.members = g.first + s.size;
    g.rank_of = g.members + s.size;
    g.by_rank = g.rank_of + s.size;
    group(&g, &s, op_attr_int(c->node, "sorted", 1) != 0);
    st = write_slices(c, x, &s, &g, axis, flat, err);
    if (!st) st = write_positions(c, &s, &g, err);
    mem_free(memory);
    mem_free(s.prefixes);
    return st;
}

const op_def OP_unique[] = {
    {.name = "Unique",
     .domain = "",
     .since = 11,
     .min_inputs = 1,
     .max_inputs = 1,
     .min_outputs = 1,
     .max_outputs = 4,
     .attrs = ATTRS,
     .types = "",
     .infer = infer,
     .eval = eval},
    {0},
};
