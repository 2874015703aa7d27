/* SPDX-License-Identifier: Apache-2.0 */
/* Folds Shape, Size, and Gather and Slice of a Shape, by declared shapes. Only the dimensions that
 * a node reads must be static; Gather and Slice are folded first, because they read fewer of them
 * than Shape. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "gs/fold/fold.h"

static const char LOG_PATH[] = "gs/fold/shape.c";

/* The dimensions that a Shape node returns. */
typedef struct shape_part {
    const pgy_dim *dims;
    int64_t count;
} shape_part;

/* What a Gather or Slice reads of a Shape: dimension at[i] becomes element i of a result of this
 * shape. */
typedef struct selection {
    int64_t *at;
    size_t count, rank;
    int64_t shape[PGY_MAX_RANK];
} selection;

static int64_t clamp(int64_t x, int64_t low, int64_t high)
{
    return x < low ? low : x > high ? high : x;
}

static bool shape_of(shape_part *out, const gs_folder *f, const pgy_gs_node *n)
{
    if (!gs_fold_is(n, "Shape") || n->input_count != 1 || n->output_count != 1) return false;
    const pgy_gs_tensor *x = n->inputs[0];
    if (x->rank < 0 || x->type_kind != PGY_VALUE_TENSOR || gs_fold_is_excluded(f, n)) return false;
    int64_t start = pgy_gs_attr_as_int(n, "start", 0), end = pgy_gs_attr_as_int(n, "end", x->rank);
    const pgy_gs_attribute *attributes = n->attributes;
    for (size_t i = 0; i < n->attribute_count; i++)
        if (attributes[i].value && *attributes[i].value->ref_attr_name) return false;
    start = clamp(start < 0 ? start + x->rank : start, 0, x->rank);
    end = clamp(end < 0 ? end + x->rank : end, 0, x->rank);
    *out = (shape_part){x->dims + start, end > start ? end - start : 0};
    return true;
}

/* Finds the Shape node that makes input 0 of n. */
static bool shape_behind(shape_part *out, const gs_folder *f, const pgy_gs_node *n)
{
    const pgy_gs_tensor *data = n->input_count ? n->inputs[0] : NULL;
    if (!data || n->output_count != 1 || !gs_fold_makes(f, n, n->outputs[0])) return false;
    return data->producer_count == 1 && !gs_fold_is_input(f, data) &&
           shape_of(out, f, data->producers[0]);
}

static void warn(const pgy_gs_node *n, const char *text)
{
    str line = {0};
    LOG(WARNING, "%s", gs_fold_describe(&line, n, text));
    str_deinit(&line);
}

/* ---- Dimensions that a Gather or Slice reads ------------------------------------------------- */

static bool gathered(selection *s, pgy_gs_node *n, const shape_part *from)
{
    const int64_t axis = pgy_gs_attr_as_int(n, "axis", 0);
    if (n->input_count != 2 || (axis != 0 && axis != -1) ||
        !gs_fold_ints(n->inputs[1], &s->at, &s->count, &s->rank, s->shape))
        return false;
    for (size_t i = 0; i < s->count; i++) {
        if (s->at[i] < 0) s->at[i] += from->count;
        if (s->at[i] >= 0 && s->at[i] < from->count) continue;
        warn(n, "an index is out of range of the shape that it reads");
        return false;
    }
    return true;
}

/* Reads a 1-D constant with one number; false: t is something else. */
static bool single(int64_t *out, pgy_gs_tensor *t)
{
    int64_t *items = NULL, shape[PGY_MAX_RANK];
    size_t count = 0, rank;
    if (!gs_fold_ints(t, &items, &count, &rank, shape)) return false;
    if (count == 1) *out = *items;
    mem_free(items);
    return count == 1;
}

static bool slice_input(int64_t *out, const pgy_gs_node *n, size_t i, bool required)
{
    if (i >= n->input_count || pgy_gs_is_omitted(n->inputs[i])) return !required;
    return single(out, n->inputs[i]);
}

static bool slice_attribute(int64_t *out, const pgy_gs_node *n, const char *name, bool required)
{
    const pgy_gs_attribute *a = pgy_gs_find_attr(n, name);
    if (!a) return !required;
    if (!a->value || *a->value->ref_attr_name || a->value->int_count != 1) return false;
    *out = a->value->ints[0];
    return true;
}

static bool slice_bounds(int64_t *start, int64_t *end, int64_t *step, const pgy_gs_node *n)
{
    int64_t axis = 0;
    *step = 1;
    const bool known = n->input_count > 1
                           ? slice_input(start, n, 1, true) && slice_input(end, n, 2, true) &&
                                 slice_input(&axis, n, 3, false) && slice_input(step, n, 4, false)
                           : slice_attribute(start, n, "starts", true) &&
                                 slice_attribute(end, n, "ends", true) &&
                                 slice_attribute(&axis, n, "axes", false);
    return known && (axis == 0 || axis == -1) && *step != 0;
}

static bool sliced(selection *s, pgy_gs_node *n, const shape_part *from)
{
    int64_t start = 0, end = 0, step;
    const int64_t count = from->count;
    if (!slice_bounds(&start, &end, &step, n)) return false;
    start += start < 0 ? count : 0;
    end += end < 0 ? count : 0;
    start = step > 0 ? clamp(start, 0, count) : clamp(start, -1, count - 1);
    end = step > 0 ? clamp(end, 0, count) : clamp(end, -1, count - 1);
    s->at = mem_calloc((size_t)count, sizeof *s->at);
    if (!s->at) return false;
    if (step > count) step = count + 1; /* limited, so that no sum below overflows */
    if (step < -count) step = -count - 1;
    for (int64_t i = start; step > 0 ? i < end : i > end; i += step) s->at[s->count++] = i;
    s->rank = 1;
    s->shape[0] = (int64_t)s->count;
    return true;
}

static bool whole(selection *s, pgy_gs_node *n, const shape_part *from)
{
    (void)n;
    s->at = mem_calloc((size_t)from->count, sizeof *s->at);
    if (!s->at) return false;
    for (; (int64_t)s->count < from->count; s->count++) s->at[s->count] = (int64_t)s->count;
    s->rank = 1;
    s->shape[0] = from->count;
    return true;
}

/* ---- Results --------------------------------------------------------------------------------- */

/* Keeps a result above the size threshold for this run only, because other nodes may fold to
 * smaller results with it. */
static pgy_status set_known(gs_folder *f, const pgy_gs_tensor *t, pgy_tensor *values,
                            pgy_error *err)
{
    fold_state *s = gs_fold_state(f, tensor_box(t)->serial);
    if (!s) return gs_no_memory(err);
    if (!s->known) s->known = pgy_tensor_retain(values);
    return PGY_OK;
}

static pgy_status set_result(gs_folder *f, pgy_gs_node *n, const int64_t *items, size_t rank,
                             const int64_t *shape, pgy_error *err)
{
    pgy_tensor *values = NULL;
    bool done = false;
    pgy_status st = pgy_tensor_create(&values, PGY_I64, rank, shape, err);
    if (st) return st;
    const size_t bytes = pgy_tensor_size_bytes(values);
    if (bytes) memcpy(pgy_tensor_data(values), items, bytes);
    st = gs_fold_set(f, n->outputs[0], values, &done, err);
    if (!st) st = done ? gs_fold_drop_outputs(n, err) : set_known(f, n->outputs[0], values, err);
    pgy_tensor_release(values);
    return st;
}

static pgy_status take(gs_folder *f, pgy_gs_node *n, selection *s, const shape_part *from,
                       pgy_error *err)
{
    for (size_t i = 0; i < s->count; i++) {
        s->at[i] = from->dims[s->at[i]].value;
        if (s->at[i] < 0) return PGY_OK;
    }
    return gs_fold_is_excluded(f, n) ? PGY_OK : set_result(f, n, s->at, s->rank, s->shape, err);
}

typedef struct shape_rule {
    const char *op;
    bool behind; /* true: a Shape makes the node's input 0; false: the node is the Shape */
    bool (*select)(selection *s, pgy_gs_node *n, const shape_part *from);
} shape_rule;

static const shape_rule RULES[] = {
    {"Gather", true, gathered}, {"Slice", true, sliced}, {"Shape", false, whole}};

static pgy_status apply(gs_folder *f, pgy_gs_node *n, const shape_rule *rule, pgy_error *err)
{
    shape_part from;
    selection s = {0};
    pgy_status st = PGY_OK;
    if (!gs_fold_is(n, rule->op)) return PGY_OK;
    if (rule->behind ? !shape_behind(&from, f, n)
                     : !shape_of(&from, f, n) || !gs_fold_makes(f, n, n->outputs[0]))
        return PGY_OK;
    if (rule->select(&s, n, &from)) st = take(f, n, &s, &from, err);
    mem_free(s.at);
    return st;
}

static pgy_status fold_size(gs_folder *f, pgy_gs_node *n, pgy_error *err)
{
    int64_t count = 1;
    bool zero = false;
    if (!gs_fold_is(n, "Size") || n->input_count != 1 || n->output_count != 1 ||
        !gs_fold_makes(f, n, n->outputs[0]))
        return PGY_OK;
    const pgy_gs_tensor *x = n->inputs[0];
    if (x->rank < 0 || x->type_kind != PGY_VALUE_TENSOR) return PGY_OK;
    for (int32_t i = 0; i < x->rank; i++) {
        if (x->dims[i].value < 0) return PGY_OK;
        zero |= x->dims[i].value == 0;
    }
    for (int32_t i = 0; !zero && i < x->rank; i++)
        if (!i64_mul(&count, count, x->dims[i].value)) return PGY_OK;
    if (zero) count = 0;
    return gs_fold_is_excluded(f, n) ? PGY_OK : set_result(f, n, &count, 0, NULL, err);
}

pgy_status gs_fold_shapes(gs_folder *f, pgy_gs_graph *g, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (f->options.keep_shapes) return PGY_OK;
    for (size_t r = 0; r < sizeof RULES / sizeof *RULES; r++)
        for (size_t i = 0; !st && i < g->node_count; i++)
            st = apply(f, g->nodes[i], &RULES[r], err);
    for (size_t i = 0; !st && i < g->node_count; i++) st = fold_size(f, g->nodes[i], err);
    return st;
}
