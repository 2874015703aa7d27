/* SPDX-License-Identifier: Apache-2.0 */
/* Reads queries, keys and values from their product back to the split into heads: over Transposes,
 * Reshapes that merge heads into the batch, the repetition of heads that several queries share, and
 * constant factors. */
#include "transform/fuse/attention.h"

#include <string.h>

enum { MAX_STEPS = 8 };

bool attention_lead_of(attention_lead *out, const pgy_value *v)
{
    const int32_t rank = pattern_rank(v);
    if (rank < 3 || rank > 5 || (rank == 5 && pattern_size(v, 0) != 1)) return false;
    const dim *dims = fold_known(v)->dims;
    *out = (attention_lead){rank == 3 ? dim_const(1) : dims[rank - 4], dims[rank - 3]};
    return true;
}

bool attention_has_perm(const pgy_node *n, const char *digits)
{
    const pgy_onnx_attribute *perm = n ? node_attribute(n, "perm") : NULL;
    if (!perm || perm->int_count != strlen(digits)) return false;
    for (size_t i = 0; i < perm->int_count; i++)
        if (perm->ints[i] != digits[i] - '0') return false;
    return true;
}

pgy_value *attention_unscaled(pattern *p, pgy_value *v, double *scale)
{
    if (!pattern_is_inner(v)) return v;
    const pattern_product q = pattern_factors(p, v);
    if (q.count != 1) return v;
    *scale *= q.factor;
    return q.values[0];
}

pgy_value *attention_seen_through(pgy_value *v, bool open)
{
    static const char *const VIEWS[] = {"Reshape", "Unsqueeze", "Squeeze"};
    if (!open && !pattern_is_inner(v)) return NULL;
    for (size_t i = 0; i < sizeof VIEWS / sizeof *VIEWS; i++) {
        const pgy_node *n = pattern_from(v, VIEWS[i]);
        pgy_value *x = n ? n->inputs[0] : NULL;
        if (x && pattern_rank(x) >= 3 && pattern_rank(x) <= 5 && pattern_rank(v) >= 3 &&
            pattern_same_size(x, -1, v, -1) && pattern_same_size(x, -2, v, -2))
            return x;
    }
    return NULL;
}

/* If v repeats each head of a value [batch, heads, length, size], returns that value, else NULL. */
static pgy_value *ungrouped(pgy_value *v)
{
    const pgy_node *joined = pattern_from(v, "Reshape"),
                   *expand = joined ? pattern_from(joined->inputs[0], "Expand") : NULL;
    pgy_value *five = expand ? expand->inputs[0] : NULL, *many = expand ? expand->outputs[0] : NULL;
    const int64_t heads = pattern_size(five, 1), times = pattern_size(many, 2);
    if (pattern_rank(v) != 4 || pattern_rank(five) != 5 || pattern_rank(many) != 5 ||
        pattern_size(five, 2) != 1 || heads < 1 || times < 1 || heads > INT32_MAX ||
        times > INT32_MAX || pattern_size(many, 1) != heads || pattern_size(v, 1) != heads * times)
        return NULL;
    const pgy_node *cut = pattern_from(five, "Unsqueeze");
    if (!cut) cut = pattern_from(five, "Reshape");
    pgy_value *x = cut ? cut->inputs[0] : NULL;
    if (pattern_rank(x) != 4 || pattern_size(x, 1) != heads) return NULL;
    for (int32_t d = 0; d < 4; d++)
        if (d != 1 &&
            (!pattern_same_size(x, d, v, d) || !pattern_same_size(x, d, five, d + d / 2) ||
             !pattern_same_size(x, d, many, d + d / 2)))
            return NULL;
    return x;
}

/* Moves operand o back over one node that only reorders axes; false: o->v has no such producer. */
static bool step_back(attention_operand *o, pattern *p, size_t i)
{
    static const char *const SWAP[] = {"021", "0132", "01243"},
                             *const APART[] = {"102", "0213", "01324"},
                             *const TURNED[] = {"120", "0231", "01342"};
    const pgy_node *t = pattern_from(o->v, "Transpose");
    const int32_t rank = pattern_rank(o->v);
    if (rank < 3 || rank > 5) return false;
    if (t && (i == ATTENTION_K || (rank == 3 && pattern_is_inner(o->v))) &&
        attention_has_perm(t, SWAP[rank - 3])) {
        o->v = t->inputs[0];
        o->turned = !o->turned;
        return true;
    }
    if (t && attention_has_perm(t, (o->turned ? TURNED : APART)[rank - 3])) o->apart = t->inputs[0];
    pgy_value *x = t || !p->standard || rank != 3 ? NULL : attention_seen_through(o->v, true);
    if (pattern_rank(x) != 4) return false;
    o->v = x;
    return true;
}

void attention_read_operand(attention *a, pattern *p, size_t i, pgy_value *v, bool apart,
                            bool turned)
{
    attention_operand *o = &a->of[i];
    bool grouped = a->grouped && i != ATTENTION_Q;
    *o = (attention_operand){.v = v, .turned = turned, .lies_apart = apart};
    if (pattern_rank(v) != 4 || apart) a->plain = false;
    for (size_t step = 0; step < MAX_STEPS; step++) {
        pgy_value *x = i == ATTENTION_V ? o->v : attention_unscaled(p, o->v, &a->scale);
        if (x == o->v) x = grouped && !o->turned && !apart ? ungrouped(o->v) : NULL;
        if (x)
            o->v = x;
        else if (apart || !step_back(o, p, i))
            break;
    }
    if (apart) o->apart = o->v;
}

void attention_read_leading(attention *a, pattern *p, size_t i, pgy_value *v)
{
    attention_operand *o = &a->of[i];
    a->plain = false;
    if (i != ATTENTION_V) v = attention_unscaled(p, v, &a->scale);
    *o = (attention_operand){.v = v, .leads = true};
}

bool attention_operand_lead(attention_lead *out, const attention_operand *o)
{
    const int32_t rank = pattern_rank(o->v);
    if (o->leads && rank == 4) {
        *out = (attention_lead){fold_known(o->v)->dims[1], fold_known(o->v)->dims[2]};
        return true;
    }
    if (!o->lies_apart) return attention_lead_of(out, o->v);
    if (rank < 4 || rank > 5 || (rank == 5 && pattern_size(o->v, 0) != 1)) return false;
    const dim *dims = fold_known(o->v)->dims;
    *out = (attention_lead){dims[rank - 4], dims[rank - 2]};
    return true;
}

int32_t attention_length_axis(const attention_operand *o)
{
    return o->leads ? 0 : pattern_rank(o->v) - (o->lies_apart ? 3 : 2);
}
