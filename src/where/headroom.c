/* SPDX-License-Identifier: Apache-2.0 */
/* Each float value is measured when the node that makes or first reads it has run. The limits of a
 * format are those of rounding to nearest: a value overflows from half a step above the largest
 * finite value, and becomes 0 up to half of the smallest subnormal. */
#include <polygraphy/noise.h>

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "graph/side_table.h"
#include "where/noise_walk.h"

typedef struct limits {
    pgy_dtype dtype;
    double largest, overflow, normal, zero; /* zero: largest value that rounds to 0 */
} limits;

/* A tie at the overflow threshold rounds to infinity (the largest code is odd) except where the
 * largest code is even, as float8e4m3fn's is. */
static const limits LIMITS[PGY_HEADROOM_FORMATS] = {
    {PGY_F16, 65504, 65520, 0x1p-14, 0x1p-25},
    {PGY_BF16, 0x1.fep127, 0x1.ffp127, 0x1p-126, 0x1p-134},
    {PGY_F8E4M3FN, 448, 0x1.d000000000001p8, 0x1p-6, 0x1p-10},
    {PGY_F8E5M2, 57344, 61440, 0x1p-14, 0x1p-17},
};

struct pgy_headroom {
    noise_walk walk;
    strmap rows; /* path -> pgy_headroom_tensor */
    arena memory;
    id_marks weights; /* weights that were measured; their values do not change */
    id_marks inputs;  /* graph inputs that this sample has measured */
};

pgy_dtype pgy_headroom_format(size_t i)
{
    return i < PGY_HEADROOM_FORMATS ? LIMITS[i].dtype : PGY_DTYPE_NONE;
}

static void measure(pgy_headroom_tensor *row, const pgy_tensor *t)
{
    const size_t count = pgy_tensor_count(t);
    const pgy_dtype held = pgy_tensor_dtype(t);
    const char *data = pgy_tensor_data(t);
    for (size_t i = 0; i < count; i++) {
        double a = 0;
        float narrow;
        if (held == PGY_F64) {
            a = fabs(op_f64(t)[i]);
        } else { /* a weight, which may be unaligned */
            memcpy(&narrow, data + i * sizeof narrow, sizeof narrow);
            a = fabs((double)narrow);
        }
        if (!(i & 0xffff) && cancel_requested()) return;
        if (!isfinite(a)) {
            row->non_finite++;
            continue;
        }
        if (a > row->max_abs) row->max_abs = a;
        if (a > 0 && (row->min_abs == 0 || a < row->min_abs)) row->min_abs = a;
        for (size_t f = 0; f < PGY_HEADROOM_FORMATS; f++) {
            const limits *l = &LIMITS[f];
            row->fits[f].overflows += a >= l->overflow;
            row->fits[f].underflows += a > 0 && a <= l->zero;
            row->fits[f].subnormals += a > l->zero && a < l->normal;
        }
    }
    row->count += count;
}

static pgy_status add(pgy_headroom *h, const pgy_node *n, const pgy_value *v, const op_tensor *t,
                      pgy_error *err)
{
    const bool held = t->value && (pgy_tensor_dtype(t->value) == PGY_F64 ||
                                   pgy_tensor_dtype(t->value) == PGY_F32);
    str path = {0};
    if (!held || !pgy_dtype_is_float(t->dtype)) return PGY_OK;
    noise_walk_path(&path, &h->walk, v->name, false);
    pgy_headroom_tensor *row = strmap_get(&h->rows, str_text(&path));
    if (!row && !path.failed && (row = arena_alloc(&h->memory, sizeof *row))) {
        row->name = arena_strdup(&h->memory, str_text(&path));
        row->node = n ? node_label(n) : "";
        row->op_type = n ? n->op_type : "";
        row->dtype = t->dtype;
        if (!row->name || !strmap_put(&h->rows, row->name, row)) row = NULL;
    }
    str_deinit(&path);
    if (!row) return graph_no_memory(err);
    measure(row, t->value);
    return cancel_check(err);
}

static bool is_weight(const pgy_value *v)
{
    return v->initializer || v->sparse || (v->producer && node_constant(v->producer));
}

/* Measures the inputs that no node computed: weights once, graph inputs once per sample. */
static pgy_status add_sources(pgy_headroom *h, const pgy_node *n, const op_tensor *inputs,
                              pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < n->input_count; i++) {
        const pgy_value *v = n->inputs[i];
        if (!v) continue;
        const bool weight = is_weight(v), input = v->is_input && !v->graph->parent;
        id_marks *seen = weight ? &h->weights : &h->inputs;
        if ((!weight && !input) || level_of(v->graph)->is_function ||
            id_marks_get(seen, value_id(v)))
            continue;
        if (!id_marks_set(seen, value_id(v))) return graph_no_memory(err);
        st = add(h, NULL, v, &inputs[i], err);
    }
    return st;
}

static pgy_status ran(pgy_node *n, const op_tensor *inputs, const op_tensor *outputs, void *user,
                      pgy_error *err)
{
    pgy_headroom *h = user;
    pgy_status st = add_sources(h, n, inputs, err);
    for (size_t i = 0; !st && i < n->output_count; i++)
        if (n->outputs[i]) st = add(h, n, n->outputs[i], &outputs[i], err);
    noise_walk_ran(&h->walk);
    return st;
}

static pgy_status starts(pgy_node *n, void *user, pgy_error *err)
{
    pgy_headroom *h = user;
    return noise_walk_starts(&h->walk, n, err);
}

pgy_status pgy_headroom_create(pgy_headroom **out, pgy_model *model, pgy_error *err)
{
    pgy_headroom *h = mem_calloc(1, sizeof *h);
    if (!h) return graph_no_memory(err);
    const pgy_status st = noise_walk_init(&h->walk, model, err);
    if (st) {
        mem_free(h);
        return st;
    }
    h->walk.limit = "pgy_headroom_set_max_steps";
    *out = h;
    return PGY_OK;
}

void pgy_headroom_set_max_steps(pgy_headroom *h, uint64_t max_steps)
{
    h->walk.max_steps = max_steps;
}

void pgy_headroom_destroy(pgy_headroom *h)
{
    if (!h) return;
    noise_walk_deinit(&h->walk);
    strmap_deinit(&h->rows);
    arena_deinit(&h->memory);
    id_marks_deinit(&h->weights);
    id_marks_deinit(&h->inputs);
    mem_free(h);
}

pgy_status pgy_headroom_add(pgy_headroom *h, const pgy_tensor_map *feed, pgy_error *err)
{
    const execute_watch watch = {.ran = ran, .user = h, .starts = starts};
    id_marks_clear(&h->inputs);
    const pgy_status st = noise_walk_run(&h->walk, feed, false, 1, NULL, &watch, err);
    for (size_t i = 0; i < h->rows.count; i++) {
        pgy_headroom_tensor *row = h->rows.entries[i].value;
        for (size_t f = 0; f < PGY_HEADROOM_FORMATS; f++)
            row->fits[f].bits = log2(LIMITS[f].largest / row->max_abs);
    }
    return st;
}

size_t pgy_headroom_count(const pgy_headroom *h)
{
    return h->rows.count;
}

const pgy_headroom_tensor *pgy_headroom_at(const pgy_headroom *h, size_t i)
{
    return i < h->rows.count ? h->rows.entries[i].value : NULL;
}
