/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the masks of attention into one input: conditions stay conditions unless numbers are
 * added, the constant triangle becomes an attribute, and a single row is repeated for every query,
 * as ONNX Runtime needs it. */
#include "transform/fuse/attention.h"

#include <math.h>

/* ---- Looking -------------------------------------------------------------------------------- */

/* True if the leading axes of the mask match batch and heads, so that they need no Reshape. */
static bool fits_lead(const attention *a, const attention_mask *m)
{
    attention_lead lead;
    if (!attention_lead_of(&lead, m->scores)) return false;
    if (dim_equal(lead.batch, a->lead.batch) && dim_equal(lead.heads, a->lead.heads)) return true;
    return pattern_rank(m->scores) == 3 && (pattern_rank(m->v) < 3 || pattern_size(m->v, 0) == 1);
}

static bool has_row_for_each(const attention_mask *m)
{
    return pattern_covers(m->v, -2, m->scores, -2);
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

/* ---- Making --------------------------------------------------------------------------------- */

static pgy_value *number(pattern *p, const pgy_node *n, pgy_dtype dtype, double x)
{
    return pattern_weight(p, n->graph, n->outputs[0]->name, dtype, 0, NULL, &x);
}

/* Makes a Where of condition, `open` and `closed`; a finite `closed` is raised to attention_floor
 * if it is lower. */
static pgy_value *make_choice(pattern *p, pgy_node *n, const pgy_value *like, pgy_value *condition,
                              bool opposite, double closed)
{
    const pgy_dtype dtype = pattern_dtype(like);
    const double finite = isinf(closed) ? closed : fmax(closed, attention_floor(dtype));
    pgy_value *yes = number(p, n, dtype, opposite ? finite : 0),
              *no = number(p, n, dtype, opposite ? 0 : finite);
    pgy_value *inputs[] = {condition, yes, no};
    return pattern_make(p, n, NULL, "Where", inputs, 3);
}

/* Makes a mask without numbers below the floor; a Where between 0 and such a number is made anew.
 */
static pgy_value *make_floored(pattern *p, pgy_node *n, pgy_value *v)
{
    const pgy_node *where = pattern_from(v, "Where");
    double number_of[2];
    if (!attention_needs_floor(p, v)) return v;
    if (where && pattern_scalar(p, where->inputs[1], &number_of[0]) &&
        pattern_scalar(p, where->inputs[2], &number_of[1]))
        for (size_t i = 0; i < 2; i++)
            if (number_of[1 - i] == 0)
                return make_choice(p, n, v, where->inputs[0], i == 0, number_of[i]);
    pgy_value *inputs[] = {v, number(p, n, pattern_dtype(v), attention_floor(pattern_dtype(v)))};
    return pattern_make(p, n, NULL, "Max", inputs, 2);
}

/* Turns mask m into a condition (true keeps the score) or, if `numbers` is set, into numbers to
 * add; at most four axes. */
static pgy_value *make_term(pattern *p, pgy_node *n, const attention_mask *m, bool numbers)
{
    pgy_value *v = m->v;
    if (pattern_rank(v) == 5) v = attention_axis(p, n, "Squeeze", v);
    if (!v) return NULL;
    if (m->chooses && numbers) return make_choice(p, n, m->scores, v, m->opposite, m->closed);
    if (m->chooses) return m->opposite ? pattern_make(p, n, NULL, "Not", &v, 1) : v;
    if (m->factor != 1) {
        pgy_value *factors[] = {
            v, number(p, n, pattern_dtype(m->v), m->negative ? -m->factor : m->factor)};
        v = pattern_make(p, n, NULL, "Mul", factors, 2);
    } else if (m->negative) {
        v = pattern_make(p, n, NULL, "Neg", &v, 1);
    }
    if (!v || v == m->v) return v ? make_floored(p, n, v) : NULL;
    if (!attention_needs_floor(p, m->v)) return v;
    pgy_value *limits[] = {v,
                           number(p, n, pattern_dtype(m->v), attention_floor(pattern_dtype(m->v)))};
    return pattern_make(p, n, NULL, "Max", limits, 2);
}

/* The number of queries, as an int64 tensor of one element. */
static pgy_value *length_of(const attention *a, pattern *p, pgy_node *n)
{
    const int32_t axis = attention_length_axis(&a->of[ATTENTION_Q]);
    pgy_value *made = pattern_make(p, n, NULL, "Shape", &a->of[ATTENTION_Q].v, 1);
    if (!made) return NULL;
    pattern_set_int(p, made->producer, "start", axis);
    pattern_set_int(p, made->producer, "end", axis + 1);
    return made;
}

/* Repeats a mask that has only one row for all queries. */
static pgy_value *widen(const attention *a, pattern *p, pgy_node *n, pgy_value *mask)
{
    static const int64_t ONES[] = {1, 1};
    const attention_operand *q = &a->of[ATTENTION_Q];
    const int64_t length = pattern_size(q->v, attention_length_axis(q)), sizes[] = {length, 1};
    pgy_value *inputs[] = {mask, NULL};
    if (length > 0) {
        inputs[1] = pattern_list(p, n, NULL, sizes, 2);
    } else {
        pgy_value *const parts[] = {length_of(a, p, n), pattern_list(p, n, NULL, ONES, 1)};
        inputs[1] = pattern_make(p, n, NULL, "Concat", parts, 2);
        if (inputs[1]) pattern_set_int(p, inputs[1]->producer, "axis", 0);
    }
    return pattern_make(p, n, NULL, "Expand", inputs, 2);
}

pgy_value *attention_make_mask(const attention *a, pattern *p, pgy_node *n, bool *causal)
{
    const attention_mask *kept[ATTENTION_MAX_MASKS];
    size_t count = 0;
    bool numbers = false, whole = false;
    /* With a cache, is_causal shifts the triangle by the length of the cache. */
    const bool can_be_causal = !a->of[ATTENTION_K].joined;
    pgy_value *mask = NULL;
    *causal = false;
    if (!p->standard) return a->mask_count ? a->masks[0].v : NULL;
    for (size_t i = 0; i < a->mask_count; i++) {
        const attention_mask *m = &a->masks[i];
        if (can_be_causal && has_row_for_each(m) &&
            attention_mask_is_causal(p, m, a->mask_count == 1)) {
            *causal = true;
            continue;
        }
        kept[count++] = m;
        numbers |= !m->chooses || !isinf(m->closed);
        whole |= has_row_for_each(m);
    }
    for (size_t i = 0; i < count; i++) {
        pgy_value *terms[] = {mask, make_term(p, n, kept[i], numbers)};
        mask = mask ? pattern_make(p, n, NULL, numbers ? "Add" : "And", terms, 2) : terms[1];
    }
    return mask && !whole ? widen(a, p, n, mask) : mask;
}
