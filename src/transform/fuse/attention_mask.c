/* SPDX-License-Identifier: Apache-2.0 */
/* The masks of attention as one input: conditions stay conditions where no number is added, the
 * constant triangle becomes an attribute, and a single row is repeated for every query, as ONNX
 * Runtime wants it. */
#include "transform/fuse/attention.h"

#include <math.h>
#include <string.h>

enum { MAX_TRIANGLE = 1 << 24 };

/* ---- Looking -------------------------------------------------------------------------------- */

/* The sizes of leading axes are those of batch and heads, so that the mask fits as it is. */
static bool fits_lead(const attention *a, const attention_mask *m)
{
    attention_lead lead;
    if (!attention_lead_of(&lead, m->scores)) return false;
    if (dim_equal(lead.batch, a->lead.batch) && dim_equal(lead.heads, a->lead.heads)) return true;
    return pattern_rank(m->scores) == 3 && (pattern_rank(m->v) < 3 || pattern_size(m->v, 0) == 1);
}

static bool has_row_for_each(const attention_mask *m)
{
    return pattern_same_size(m->v, -2, m->scores, -2);
}

bool attention_masks_fit(const attention *a, const pattern *p)
{
    bool single = true, whole = false;
    for (size_t i = 0; i < a->mask_count; i++) {
        if (!fits_lead(a, &a->masks[i])) return false;
        single &= pattern_size(a->masks[i].v, -2) == 1;
        whole |= has_row_for_each(&a->masks[i]);
    }
    return single || whole || !p->standard;
}

/* ---- The triangle --------------------------------------------------------------------------- */

/* Does element i of the constant let the score pass? Neither: 2. */
static int opens(const attention_mask *m, const pgy_tensor *t, size_t i, double most)
{
    if (m->chooses) return (((const uint8_t *)pgy_tensor_data(t))[i] != 0) != m->opposite;
    const double x = op_f64(t)[i];
    return x == 0 ? 1 : x <= most ? 0 : 2;
}

/* A constant that lets every query see the keys up to its own place, and no others. Beside other
 * masks it must close for good. */
static bool is_triangle(pattern *p, const attention_mask *m, bool alone)
{
    const double lowest = pattern_dtype(m->v) == PGY_F16 ? -65504 : -1e30,
                 most = alone ? lowest : -INFINITY;
    const int32_t rank = pattern_rank(m->v);
    const int64_t rows = pattern_size(m->v, -2), keys = pattern_size(m->v, -1);
    pgy_tensor *t = NULL;
    if (m->negative || (m->chooses && !alone && !isinf(m->closed)) || rows < 2 || keys < 1 ||
        rows > MAX_TRIANGLE / keys || !has_row_for_each(m) || !pattern_is_constant(p, m->v))
        return false;
    for (int32_t d = 0; d < rank - 2; d++)
        if (pattern_size(m->v, d) != 1) return false;
    if (!m->chooses)
        t = pattern_floats(p, m->v);
    else if (fold_constant(&t, &p->f, m->v, NULL))
        t = NULL;
    bool good = t && pgy_tensor_count(t) == (size_t)(rows * keys);
    for (size_t i = 0; good && i < (size_t)(rows * keys); i++) {
        const int wanted = (int64_t)i % keys <= (int64_t)i / keys;
        good = opens(m, t, i, most) == wanted;
    }
    pgy_tensor_release(t);
    return good;
}

/* ---- Making --------------------------------------------------------------------------------- */

static pgy_value *number(pattern *p, const pgy_node *n, pgy_dtype dtype, double x)
{
    return pattern_weight(p, n->graph, n->outputs[0]->name, dtype, 0, NULL, &x);
}

static pgy_value *operation(pattern *p, pgy_node *n, const char *op, pgy_value *const *inputs,
                            size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!inputs[i]) return NULL;
    pgy_value *made = attention_value(p, n);
    return made && pattern_add(p, n, op, inputs, count, made) ? made : NULL;
}

/* The mask with at most four axes, as a condition that opens or as numbers. */
static pgy_value *make_term(const attention *a, pattern *p, pgy_node *n, const attention_mask *m,
                            bool numbers)
{
    const pgy_dtype dtype = pattern_dtype(a->of[ATTENTION_Q].v);
    pgy_value *v = m->v;
    if (pattern_rank(v) == 5) v = attention_axis(p, n, "Squeeze", v);
    if (!m->chooses || !v) return v && m->negative ? operation(p, n, "Neg", &v, 1) : v;
    if (!numbers) return m->opposite ? operation(p, n, "Not", &v, 1) : v;
    /* ONNX Runtime takes the lowest number for minus infinity, which is something else where all
     * of a row is closed. */
    const double finite = isinf(m->closed) ? m->closed : fmax(m->closed, -1e30);
    pgy_value *zero = number(p, n, dtype, 0), *closed = number(p, n, dtype, finite);
    pgy_value *inputs[] = {v, m->opposite ? closed : zero, m->opposite ? zero : closed};
    return operation(p, n, "Where", inputs, 3);
}

/* The number of queries as a list of one, made where it is needed. */
static pgy_value *length_of(const attention *a, pattern *p, pgy_node *n)
{
    const int32_t axis = attention_length_axis(&a->of[ATTENTION_Q]);
    pgy_value *made = attention_value(p, n), *from = a->of[ATTENTION_Q].v;
    pgy_node *shape = made ? pattern_add(p, n, "Shape", &from, 1, made) : NULL;
    pattern_set_int(p, shape, "start", axis);
    pattern_set_int(p, shape, "end", axis + 1);
    return shape ? made : NULL;
}

/* A row for each query from a single one. */
static pgy_value *widen(const attention *a, pattern *p, pgy_node *n, pgy_value *mask)
{
    static const int64_t ONES[] = {1, 1};
    const attention_operand *q = &a->of[ATTENTION_Q];
    const int64_t length = pattern_size(q->v, attention_length_axis(q)), sizes[] = {length, 1};
    pgy_value *inputs[] = {mask, NULL};
    if (length > 0) {
        inputs[1] = attention_ints(p, n, sizes, 2);
    } else {
        pgy_value *parts[] = {length_of(a, p, n), attention_ints(p, n, ONES, 1)};
        pgy_value *shape = parts[0] && parts[1] ? attention_value(p, n) : NULL;
        pattern_set_int(p, shape ? pattern_add(p, n, "Concat", parts, 2, shape) : NULL, "axis", 0);
        inputs[1] = shape;
    }
    return operation(p, n, "Expand", inputs, 2);
}

pgy_value *attention_make_mask(const attention *a, pattern *p, pgy_node *n, bool *causal)
{
    const attention_mask *kept[ATTENTION_MAX_MASKS];
    size_t count = 0;
    bool numbers = false, whole = false;
    pgy_value *mask = NULL;
    *causal = false;
    if (!p->standard) return a->mask_count ? a->masks[0].v : NULL;
    for (size_t i = 0; i < a->mask_count; i++) {
        const attention_mask *m = &a->masks[i];
        if (is_triangle(p, m, a->mask_count == 1)) {
            *causal = true;
            continue;
        }
        kept[count++] = m;
        numbers |= !m->chooses || !isinf(m->closed);
        whole |= has_row_for_each(m);
    }
    for (size_t i = 0; i < count; i++) {
        pgy_value *terms[] = {mask, make_term(a, p, n, kept[i], numbers)};
        mask = mask ? operation(p, n, numbers ? "Add" : "And", terms, 2) : terms[1];
    }
    return mask && !whole ? widen(a, p, n, mask) : mask;
}
