/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the recognised nodes by Attention: with three axes and the heads side by side if
 * queries, keys, values and the result all have that order, else with four axes. */
#include "transform/fuse/attention.h"

enum { FLOAT32 = 1 }; /* code of FLOAT in TensorProto.DataType */

/* The last node that Attention replaces, and the order of its result's axes. */
typedef struct ending {
    pgy_node *node;
    int32_t rank;  /* rank of its result */
    bool leads;    /* the result is [length, batch, heads, size] */
    bool together; /* the result is [batch, length, heads, size], of three axes without the batch */
} ending;

/* ---- Helpers -------------------------------------------------------------------------------- */

static pgy_value *transpose(pattern *p, pgy_node *n, pgy_value *v, const int64_t *perm)
{
    pgy_value *made = pattern_make(p, n, NULL, "Transpose", &v, 1);
    if (made) pattern_set_ints(p, made->producer, "perm", perm, 4);
    return made;
}

/* ---- Heads side by side --------------------------------------------------------------------- */

/* The size of axis d of v, or -1, which makes Reshape infer it. */
static int64_t known_size(const pgy_value *v, int32_t d)
{
    const int64_t size = pattern_size(v, d);
    return size > 0 ? size : -1;
}

/* Turns [batch, length, heads, size] into [batch, length, heads * size]. Often v itself is a
 * Reshape of such a value, which is then used. */
static pgy_value *flat(pattern *p, pgy_node *n, pgy_value *v)
{
    const pgy_node *cut = pattern_from(v, "Reshape");
    const int32_t rank = pattern_rank(v);
    const int64_t width = pattern_size(v, -2) * pattern_size(v, -1);
    if (rank == 4 && cut && pattern_rank(cut->inputs[0]) == 3 &&
        pattern_same_size(cut->inputs[0], 0, v, 0) && pattern_same_size(cut->inputs[0], 1, v, 1) &&
        pattern_size(cut->inputs[0], 2) == width)
        return cut->inputs[0];
    int64_t shape[] = {0, 0, width};
    if (rank != 4) {
        shape[0] = rank == 3 ? 1 : known_size(v, 1);
        shape[1] = known_size(v, -3);
    }
    pgy_value *const inputs[] = {v, pattern_list(p, n, NULL, shape, 3)};
    return pattern_make(p, n, NULL, "Reshape", inputs, 2);
}

/* The shape input of a Reshape that splits the heads of the result again. */
static pgy_value *apart_shape(pattern *p, const pgy_node *n, const pgy_value *result, int64_t heads)
{
    const int64_t last = pattern_size(result, -1), length = known_size(result, -3);
    const int64_t three[] = {length, heads, last}, four[] = {0, 0, heads, last},
                  five[] = {1, known_size(result, 1), length, heads, last};
    const int64_t *const shapes[] = {three, four, five};
    const size_t rank = (size_t)pattern_rank(result);
    return pattern_list(p, n, NULL, shapes[rank - 3], rank);
}

/* Do all operands have the order [batch, length, heads, size], with known sizes? */
static bool is_apart(const attention *a, const ending *e)
{
    if (!e->together || a->gain || pattern_size(e->node->outputs[0], -1) < 1) return false;
    for (size_t i = 0; i < ATTENTION_OPERANDS; i++) {
        const pgy_value *v = a->of[i].apart;
        const int64_t heads = pattern_size(v, -2), size = pattern_size(v, -1);
        if (!v || heads < 1 || size < 1 || size > INT64_MAX / heads ||
            (pattern_rank(v) == 5 && known_size(v, 1) < 0 && known_size(v, -3) < 0))
            return false;
    }
    return true;
}

static const char *operator_of(const attention *a)
{
    return a->column && a->mask_count ? "pgy:Attention" : "Attention";
}

static void set_numbers(const attention *a, pattern *p, pgy_node *made, bool causal)
{
    if (causal) pattern_set_int(p, made, "is_causal", 1);
    pattern_set_float(p, made, "scale", a->scale);
    if (a->cap > 0) pattern_set_float(p, made, "softcap", a->cap);
    if (a->wide) pattern_set_int(p, made, "softmax_precision", FLOAT32);
}

/* Inputs: queries, keys, values, mask, caches; outputs: the result and the new caches. */
typedef struct ends {
    pgy_value *in[6], *out[3];
    size_t out_count;
} ends;

static void add_caches(ends *e, const attention *a, pattern *p)
{
    e->out_count = 1;
    for (size_t i = ATTENTION_K; i <= ATTENTION_V && a->of[i].joined; i++) {
        attention_free_shapes(p, a->of[i].joined);
        e->in[3 + i] = a->of[i].joined->inputs[0];
        e->out[e->out_count++] = a->of[i].joined->outputs[0];
    }
}

/* Drops the Concats whose outputs Attention makes now. */
static void drop_caches(const attention *a, pattern *p)
{
    for (size_t i = ATTENTION_K; i <= ATTENTION_V; i++)
        if (a->of[i].joined && !p->status) pattern_drop(p, a->of[i].joined);
}

static bool put_apart(const attention *a, pattern *p, pgy_node *n, const ending *e)
{
    const int64_t heads = pattern_size(a->of[ATTENTION_Q].apart, -2),
                  shared = pattern_size(a->of[ATTENTION_K].apart, -2);
    pgy_value *y = pattern_value(p, n->graph, n->outputs[0]->name);
    ends put = {.out = {y}};
    bool causal = false;
    for (size_t i = 0; i < ATTENTION_OPERANDS; i++) {
        put.in[i] = flat(p, n, a->of[i].apart);
        if (!put.in[i]) return false;
    }
    put.in[3] = attention_make_mask(a, p, n, &causal);
    if (!y || p->status) return false;
    add_caches(&put, a, p);
    pgy_node *made = pattern_add_outputs(p, n, operator_of(a), put.in, 6, put.out, put.out_count);
    pattern_set_int(p, made, "q_num_heads", heads);
    pattern_set_int(p, made, "kv_num_heads", shared);
    set_numbers(a, p, made, causal);
    pgy_value *inputs[] = {y, apart_shape(p, n, e->node->outputs[0], heads)};
    if (!inputs[1] || !pattern_put(p, e->node, "Reshape", inputs, 2)) return false;
    drop_caches(a, p);
    return true;
}

/* ---- Four axes ------------------------------------------------------------------------------ */

/* Returns operand o in the order [batch, heads, length, size]. */
static pgy_value *whole(pattern *p, pgy_node *n, const attention_operand *o)
{
    static const int64_t APART[] = {0, 2, 1, 3}, TURNED[] = {0, 1, 3, 2}, LEADING[] = {1, 2, 0, 3};
    const int32_t rank = pattern_rank(o->v);
    if (o->leads) return transpose(p, n, o->v, LEADING);
    const bool apart =
        o->apart && (o->turned || o->lies_apart || (rank != 4 && pattern_is_inner(o->v)));
    pgy_value *v = apart ? o->apart : o->v;
    if (rank != 4) v = attention_axis(p, n, rank == 3 ? "Unsqueeze" : "Squeeze", v);
    if (!v || (!apart && !o->turned)) return v;
    return transpose(p, n, v, apart ? APART : TURNED);
}

/* Restores the output shape of the replaced node from [batch, heads, length, size]. */
static bool put_view(pattern *p, pgy_node *n, const ending *e, pgy_value *y)
{
    static const int64_t FIRST[] = {0}, LEADING[] = {2, 0, 1, 3};
    if (e->leads) {
        pgy_node *turn = pattern_put(p, e->node, "Transpose", &y, 1);
        pattern_set_ints(p, turn, "perm", LEADING, 4);
        return turn != NULL;
    }
    pgy_value *inputs[] = {y, pattern_list(p, n, NULL, FIRST, 1)};
    return inputs[1] && pattern_put(p, e->node, e->rank == 3 ? "Squeeze" : "Unsqueeze", inputs, 2);
}

static bool put_whole(const attention *a, pattern *p, pgy_node *n, const ending *e)
{
    const bool direct = e->rank == 4 && !e->leads;
    ends put = {
        .out = {direct ? e->node->outputs[0] : pattern_value(p, n->graph, n->outputs[0]->name)}};
    pgy_node *made;
    bool causal = false;
    for (size_t i = 0; i < ATTENTION_OPERANDS; i++) {
        put.in[i] = whole(p, n, &a->of[i]);
        if (!put.in[i]) return false;
    }
    if (a->gain) {
        put.in[0] = pattern_make(p, n, NULL, "Mul", (pgy_value *const[]){put.in[0], a->gain}, 2);
        if (!put.in[0]) return false;
    }
    put.in[3] = attention_make_mask(a, p, n, &causal);
    if (p->status || !put.out[0]) return false;
    add_caches(&put, a, p);
    made = direct
               ? pattern_put_outputs(p, e->node, operator_of(a), put.in, 6, put.out, put.out_count)
               : pattern_add_outputs(p, n, operator_of(a), put.in, 6, put.out, put.out_count);
    set_numbers(a, p, made, causal);
    if (!made || (!direct && !put_view(p, n, e, put.out[0]))) return false;
    drop_caches(a, p);
    return true;
}

/* ---- The last replaced node ------------------------------------------------------------------ */

/* Do the leading axes of v equal batch and heads of the attention? */
static bool has_lead(const attention *a, const pgy_value *v)
{
    attention_lead own;
    return attention_lead_of(&own, v) && dim_equal(own.batch, a->lead.batch) &&
           dim_equal(own.heads, a->lead.heads);
}

/* Finds the last replaced node: the product, or the Reshape behind it that splits batch and heads;
 * false: neither fits. */
static bool find_end(ending *e, const attention *a, const pattern *p, pgy_node *n)
{
    pgy_node *user = pattern_user(n);
    *e = (ending){.node = n, .rank = pattern_rank(n->outputs[0])};
    if (p->standard && e->rank != 4 && user && user->inputs[0] == n->outputs[0] &&
        attention_seen_through(user->outputs[0], true) == n->outputs[0] &&
        pattern_rank(user->outputs[0]) == 4 && has_lead(a, user->outputs[0]))
        *e = (ending){.node = user, .rank = 4};
    return has_lead(a, e->node->outputs[0]);
}

bool attention_make(const attention *a, pattern *p, pgy_node *n)
{
    static const char *const APART[] = {"102", "0213", "01324"};
    ending e, together;
    if (a->of[ATTENTION_V].lies_apart) {
        together = (ending){.node = n, .rank = pattern_rank(n->outputs[0]), .together = true};
        return is_apart(a, &together) && put_apart(a, p, n, &together);
    }
    if (a->of[ATTENTION_V].leads) {
        e = (ending){.node = n, .rank = 4, .leads = true};
        return put_whole(a, p, n, &e);
    }
    if (!find_end(&e, a, p, n)) return false;
    pgy_node *user = pattern_user(e.node);
    together = (ending){.node = user, .rank = e.rank, .together = true};
    const bool turns = pattern_is(user, "Transpose") && attention_has_perm(user, APART[e.rank - 3]);
    if (turns && is_apart(a, &together)) return put_apart(a, p, n, &together);
    return put_whole(a, p, n, &e);
}
