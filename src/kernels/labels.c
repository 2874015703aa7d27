/* SPDX-License-Identifier: Apache-2.0 */
/* LabelEncoder and OneHotEncoder of ai.onnx.ml on numbers: a table of the keys' hashes is made
 * once, and lies among the packed data with keys and values. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "kernels/extent.h"
#include "kernels/kernel.h"
#include "ops/class_label.h"
#include "ops/rule.h"

/* What a found entry gives. */
typedef enum label_result { LABEL_VALUE, LABEL_MARK } label_result;

typedef struct params {
    uint64_t count, keys, slots; /* elements; entries; places of the table, a power of two */
    uint64_t fallback;           /* the value of an element without a key */
    uint32_t inputs, outputs;    /* element types */
    uint32_t result, zeros; /* LABEL_MARK: rows of `keys` marks; zeros 0: each element has a key */
} params;

/* The packed data: an entry's number plus 1 in each place, keys and values of the entries. */
typedef struct table {
    const uint32_t *slots;
    const uint64_t *keys, *values;
} table;

static table table_of(const params *p, const void *packed)
{
    const uint64_t *keys = (const uint64_t *)((const char *)packed + p->slots * sizeof(uint32_t));
    return (table){packed, keys, keys + p->keys};
}

static uint64_t table_bytes(const params *p)
{
    return extent_add(extent_mul(p->slots, sizeof(uint32_t)), extent_mul(p->keys, 16));
}

static uint64_t place_of(const params *p, uint64_t key)
{
    const uint64_t mixed = (key ^ key >> 32) * UINT64_C(0x9E3779B97F4A7C15);
    return mixed >> 32 & (p->slots - 1);
}

/* The entry with this key plus 1, or 0. The table can be any bytes. */
static inline __attribute__((always_inline)) uint64_t find(const params *p, const table *t,
                                                           uint64_t key)
{
    uint64_t at = place_of(p, key);
    for (uint64_t tried = 0; tried < p->slots; tried++, at = (at + 1) & (p->slots - 1)) {
        const uint32_t entry = t->slots[at];
        if (!entry || entry > p->keys) return 0;
        if (t->keys[entry - 1] == key) return entry;
    }
    return 0;
}

/* ---- The problem ---------------------------------------------------------------------------- */

static bool is_number(pgy_dtype dtype)
{
    return dtype == PGY_F32 || dtype == PGY_F64 || dtype == PGY_I64 || dtype == PGY_I32 ||
           dtype == PGY_I16;
}

static uint64_t bits_of_double(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* A value in storage type. */
static uint64_t value_bits(const label_list *l, size_t i)
{
    const pgy_tensor *t = l->a->kind == OP_ATTR_TENSOR ? l->a->tensor : NULL;
    if (op_storage(l->dtype) == PGY_I64) return (uint64_t)(t ? op_i64(t)[i] : l->a->ints[i]);
    return bits_of_double(t ? op_f64(t)[i] : (double)l->a->floats[i]);
}

static uint64_t fallback_bits(const op_node *n, pgy_dtype dtype)
{
    static const char *const NAMES[] = {"default_tensor", NULL};
    const label_list given = label_list_of(n, NAMES);
    if (given.a && given.count && op_storage(given.dtype) == op_storage(dtype))
        return value_bits(&given, 0);
    if (op_storage(dtype) == PGY_I64) return (uint64_t)op_attr_int(n, "default_int64", -1);
    return bits_of_double(op_attr_float(n, "default_float", -0.0));
}

static label_list keys_of(const params *p, const op_node *n)
{
    static const char *const NAMES[] = {"cats_int64s", NULL};
    return p->result == LABEL_MARK ? label_list_of(n, NAMES) : label_keys_of(n);
}

static bool labels_describe(params *p, const kernel_problem *u)
{
    const kernel_tensor *x = &u->inputs[0], *y = &u->outputs[0];
    const bool marks = !strcmp(u->node->def->name, "OneHotEncoder");
    if (u->input_count != 1 || !is_number(x->dtype) || !is_number(y->dtype) || !kernel_count(x) ||
        (!marks && u->node->def->since < 2))
        return false;
    *p = (params){.count = kernel_count(x),
                  .inputs = x->dtype,
                  .outputs = y->dtype,
                  .result = marks ? LABEL_MARK : LABEL_VALUE,
                  .zeros = !marks || op_attr_int(u->node, "zeros", 1)};
    const label_list keys = keys_of(p, u->node), values = label_values_of(u->node);
    if (!keys.a || !keys.count || keys.count >= INT32_MAX || keys.dtype == PGY_STRING) return false;
    p->keys = keys.count;
    p->slots = 4;
    while (p->slots < 2 * p->keys) p->slots *= 2;
    if (marks) return x->dtype != PGY_I16 && y->dtype == PGY_F32;
    p->fallback = fallback_bits(u->node, y->dtype);
    return op_storage(keys.dtype) == op_storage(x->dtype) && values.count == keys.count &&
           op_storage(values.dtype) == op_storage(y->dtype);
}

static bool labels_accept(kernel_problem *u, double *cost_ns)
{
    params p;
    if (!labels_describe(&p, u)) return false;
    u->inputs[0].layout = u->outputs[0].layout = KERNEL_LINEAR;
    *cost_ns = 100 + (double)p.count * 5 + (double)kernel_count(&u->outputs[0]) * 0.2;
    return true;
}

/* The last of equal keys counts. */
static void fill_table(void *packed, const params *p, const op_node *n)
{
    const label_list keys = keys_of(p, n), values = label_values_of(n);
    uint32_t *slots = packed;
    uint64_t *key = (uint64_t *)(void *)((char *)packed + p->slots * sizeof *slots);
    memset(packed, 0, table_bytes(p));
    for (uint64_t i = 0; i < p->keys; i++) {
        key[i] = label_key(&keys, i);
        if (p->result == LABEL_VALUE) key[p->keys + i] = value_bits(&values, i);
        uint64_t at = place_of(p, key[i]);
        while (slots[at] && key[slots[at] - 1] != key[i]) at = (at + 1) & (p->slots - 1);
        slots[at] = (uint32_t)i + 1;
    }
}

static pgy_status labels_prepare(kernel_plan *out, const kernel_problem *u, pgy_error *err)
{
    params *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    (void)labels_describe(p, u); /* cannot fail after `accept` */
    const size_t bytes = table_bytes(p);
    void *packed = mem_alloc_aligned(64, bytes);
    if (!packed) {
        mem_free(p);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    fill_table(packed, p, u->node);
    *out = (kernel_plan){.params = p,
                         .params_bytes = sizeof *p,
                         .packed = packed,
                         .packed_bytes = bytes,
                         .phases = 1,
                         .in_place = -1};
    const uint64_t worth = p->count / 4096 + 1;
    out->parts = (uint32_t)(worth < 256 ? worth : 256);
    return PGY_OK;
}

static uint64_t item_of(uint32_t dtype)
{
    return pgy_dtype_describe((pgy_dtype)dtype)->bits / 8;
}

static bool labels_extent(kernel_extent *e, const kernel_claim *q)
{
    const params *p = extent_params(e, q, sizeof *p);
    if (!p) return false;
    if (q->input_count != 1) return extent_refuse(e, "number of inputs");
    if (!is_number((pgy_dtype)p->inputs) || !is_number((pgy_dtype)p->outputs) ||
        p->result > LABEL_MARK || p->zeros > 1 ||
        (p->result == LABEL_MARK && p->outputs != PGY_F32))
        return extent_refuse(e, "types");
    if (!p->count || !p->keys || p->keys >= INT32_MAX || p->slots < 4 ||
        p->slots > UINT64_C(1) << 34 || p->slots & (p->slots - 1))
        return extent_refuse(e, "sizes");
    extent_tensor(e, 0, p->count, item_of(p->inputs));
    extent_tensor(e, 1, extent_mul(p->count, p->result == LABEL_MARK ? p->keys : 1),
                  item_of(p->outputs));
    e->packed = table_bytes(p);
    return true;
}

/* ---- Running -------------------------------------------------------------------------------- */

static inline double double_at(const params *p, const void *x, uint64_t i)
{
    return p->inputs == PGY_F32 ? (double)((const float *)x)[i] : ((const double *)x)[i];
}

static inline int64_t int_at(const params *p, const void *x, uint64_t i)
{
    if (p->inputs == PGY_I64) return ((const int64_t *)x)[i];
    return p->inputs == PGY_I32 ? ((const int32_t *)x)[i] : ((const int16_t *)x)[i];
}

static inline __attribute__((always_inline)) uint64_t key_at(const params *p, const void *x,
                                                             uint64_t i)
{
    const bool floats = p->inputs == PGY_F32 || p->inputs == PGY_F64;
    if (!floats) return (uint64_t)int_at(p, x, i);
    const double value = double_at(p, x, i);
    return p->result == LABEL_MARK ? (uint64_t)rule_truncate(value) : label_bits_of(value);
}

static void put(const params *p, void *y, uint64_t i, uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    switch (p->outputs) {
    case PGY_F32: ((float *)y)[i] = (float)value; break;
    case PGY_F64: ((double *)y)[i] = value; break;
    case PGY_I64: ((int64_t *)y)[i] = (int64_t)bits; break;
    case PGY_I32: ((int32_t *)y)[i] = (int32_t)(uint32_t)bits; break;
    default: ((int16_t *)y)[i] = (int16_t)(uint16_t)bits; break;
    }
}

/* `inputs` and `result` are those of p, as constants. False: an element must have a key, but has
 * none. */
static inline __attribute__((always_inline)) bool encode(const params *p, const kernel_run *r,
                                                         size_t from, size_t to, uint32_t inputs,
                                                         label_result result)
{
    const params q = {.count = p->count,
                      .keys = p->keys,
                      .slots = p->slots,
                      .fallback = p->fallback,
                      .inputs = inputs,
                      .outputs = p->outputs,
                      .result = result,
                      .zeros = p->zeros};
    const table t = table_of(&q, r->packed);
    float *marks = r->tensors[1];
    if (result == LABEL_MARK)
        memset(marks + from * q.keys, 0, (to - from) * q.keys * sizeof *marks);
    for (size_t i = from; i < to; i++) {
        const uint64_t entry = find(&q, &t, key_at(&q, r->tensors[0], i));
        if (result == LABEL_VALUE)
            put(&q, r->tensors[1], i, entry ? t.values[entry - 1] : q.fallback);
        else if (entry)
            marks[i * q.keys + entry - 1] = 1;
        else if (!q.zeros)
            return false;
    }
    return true;
}

static bool encode_some(const params *p, const kernel_run *r, size_t from, size_t to)
{
    const label_result result = (label_result)p->result;
    if (p->inputs == PGY_I64 && result == LABEL_MARK)
        return encode(p, r, from, to, PGY_I64, LABEL_MARK);
    if (p->inputs == PGY_F32 && result == LABEL_MARK)
        return encode(p, r, from, to, PGY_F32, LABEL_MARK);
    if (p->inputs == PGY_I64) return encode(p, r, from, to, PGY_I64, LABEL_VALUE);
    if (p->inputs == PGY_F32) return encode(p, r, from, to, PGY_F32, LABEL_VALUE);
    return encode(p, r, from, to, p->inputs, result);
}

static void labels_run(const kernel_run *r)
{
    enum { BLOCK = 64 }; /* elements whose marks are cleared together */
    const params *p = r->params;
    size_t from, to;
    kernel_share(&from, &to, p->count, r->part, r->parts);
    for (; from < to && !cancel_requested(); from += BLOCK)
        if (!encode_some(p, r, from, to - from < BLOCK ? to : from + BLOCK)) {
            kernel_fault(r);
            return;
        }
}

const kernel KERNELS_labels[] = {
    {.name = "labels",
     .version = 1,
     .ops = "ai.onnx.ml:LabelEncoder ai.onnx.ml:OneHotEncoder",
     .accept = labels_accept,
     .prepare = labels_prepare,
     .run = labels_run,
     .extent = labels_extent},
    {0},
};
