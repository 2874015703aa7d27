/* SPDX-License-Identifier: Apache-2.0 */
/* A Transpose that only moves axes of size 1 becomes a Reshape, which costs nothing. A Transpose
 * before an elementwise node moves behind it if another Transpose follows there; folding joins the
 * two. Between a convolution and rows of channels, a Transpose stands next to the convolution, so
 * that it converts from or to its blocks of channels. A product of channels between Transposes that
 * bring them last and back becomes a convolution. */
#include "base/alloc.h"
#include "engine/passes/pass.h"
#include "transform/pattern.h"

static bool read_order(size_t *order, const pgy_node *n, size_t rank)
{
    const pgy_onnx_attribute *perm = node_attribute(n, "perm");
    uint32_t seen = 0;
    if (rank > PGY_MAX_RANK || (perm && perm->int_count != rank)) return false;
    for (size_t i = 0; i < rank; i++) {
        const int64_t d = perm ? perm->ints[i] : (int64_t)(rank - 1 - i);
        if (d < 0 || d >= (int64_t)rank || seen >> d & 1) return false;
        seen |= 1u << d;
        order[i] = (size_t)d;
    }
    return true;
}

/* Does Transpose n keep all axes of x whose size is not 1 in order, so that no element moves? */
static bool keeps_order(const pgy_node *n, const pgy_value *x)
{
    size_t order[PGY_MAX_RANK], last = 0;
    const size_t rank = (size_t)pattern_rank(x);
    if (!read_order(order, n, rank)) return false;
    for (size_t i = 0; i < rank; i++) {
        if (pattern_size(x, (int32_t)order[i]) == 1) continue;
        if (order[i] < last) return false;
        last = order[i];
    }
    return true;
}

static bool become_reshape(pattern *p, pgy_node *n)
{
    int64_t shape[PGY_MAX_RANK];
    pgy_value *x = pattern_input(n, 0);
    if (!pattern_is(n, "Transpose") || pattern_rank(x) < 1 ||
        pattern_rank(n->outputs[0]) != pattern_rank(x) || !keeps_order(n, x))
        return false;
    const op_value *y = fold_known(n->outputs[0]);
    if (!fold_constant_shape(shape, fold_known(x), y->dims, (size_t)y->rank)) return false;
    pgy_value *const inputs[] = {x, pattern_list(p, n, "shape", shape, (size_t)y->rank)};
    return inputs[1] && pattern_put(p, n, "Reshape", inputs, 2);
}

static bool is_elementwise(pattern *p, const pgy_node *n, const pgy_value *x)
{
    static const char *const UNARY[] = {"Relu", "Gelu", "Sigmoid", "Tanh",
                                        "Erf",  "Sqrt", "Exp",     "com.microsoft:QuickGelu",
                                        "Neg",  "Abs",  "Cast",    "HardSwish"};
    static const char *const BINARY[] = {"Add", "Sub", "Mul", "Div"};
    double factor;
    for (size_t i = 0; n->input_count == 1 && i < sizeof UNARY / sizeof *UNARY; i++)
        if (pattern_is(n, UNARY[i])) return true;
    for (size_t i = 0; n->input_count == 2 && i < 4; i++)
        if (pattern_is(n, BINARY[i]))
            return pattern_scalar(p, pattern_other(n, x), &factor) &&
                   pattern_rank(pattern_other(n, x)) == 0;
    return false;
}

/* Does another Transpose follow t, with only elementwise nodes in between, whose results nothing
 * else uses? */
static bool is_awaited(pattern *p, const pgy_node *t)
{
    const pgy_node *n = t;
    for (int i = 0; i < 8; i++) {
        const pgy_node *user = pattern_user(n);
        if (!user || user->output_count != 1 || !user->outputs[0]) return false;
        if (pattern_is(user, "Transpose")) return i > 0;
        if (!is_elementwise(p, user, n->outputs[0])) return false;
        n = user;
    }
    return false;
}

static bool move_behind(pattern *p, pgy_node *t)
{
    pgy_node *f = pattern_is(t, "Transpose") && is_awaited(p, t) ? pattern_user(t) : NULL;
    if (!f) return false;
    pgy_value *inputs[2] = {NULL, NULL};
    for (size_t i = 0; i < f->input_count; i++)
        inputs[i] = f->inputs[i] == t->outputs[0] ? t->inputs[0] : f->inputs[i];
    const char *op = f->op_type;
    if (!domain_is_default(f->domain))
        op = arena_printf(&p->f.state->memory, "%s:%s", f->domain, f->op_type);
    if (!op) p->status = graph_no_memory(p->err);
    pgy_value *made = op ? pattern_make(p, f, NULL, op, inputs, f->input_count) : NULL;
    if (!made) return false;
    for (size_t i = 0; i < f->attribute_count; i++)
        pattern_copy(p, made->producer, f, f->attributes[i]->name);
    pgy_node *second = pattern_put(p, f, "Transpose", &made, 1);
    pattern_copy(p, second, t, "perm");
    return true;
}

static bool is_conv(const pgy_node *n)
{
    return pattern_is(n, "Conv") || pattern_is(n, "com.microsoft:FusedConv") ||
           pattern_is(n, "pgy:FusedConv");
}

/* Is t a Transpose of [N, a, b] to [N, b, a]? */
static bool turns_rows(const pgy_node *t)
{
    size_t order[3];
    return pattern_is(t, "Transpose") && pattern_rank(pattern_input(t, 0)) == 3 &&
           read_order(order, t, 3) && order[0] == 0 && order[1] == 2;
}

/* Does image [N, C, spatial...] have the elements of rows [N, P, C], in sizes that are known? */
static bool is_image_of(const pgy_value *image, const pgy_value *rows)
{
    const int32_t rank = pattern_rank(image);
    if (rank < 4 || rank > PGY_MAX_RANK || pattern_rank(rows) != 3) return false;
    int64_t pixels = 1;
    for (int32_t i = 0; i < rank; i++) {
        const int64_t size = pattern_size(image, i);
        if (size < 1) return false;
        if (i >= 2 && !i64_mul(&pixels, pixels, size)) return false;
    }
    return pattern_size(rows, 0) == pattern_size(image, 0) && pattern_size(rows, 1) == pixels &&
           pattern_size(rows, 2) == pattern_size(image, 1);
}

/* Reshapes x to the image with its channels last. */
static pgy_value *shape_value(pattern *p, const pgy_node *before, const pgy_value *image,
                              bool channels_last, const pgy_value *rows)
{
    int64_t shape[PGY_MAX_RANK];
    const int32_t rank = channels_last ? pattern_rank(image) : 3;
    for (int32_t i = 0; i < rank; i++)
        shape[i] = !channels_last  ? pattern_size(rows, i)
                   : i == 0        ? pattern_size(image, 0)
                   : i + 1 == rank ? pattern_size(image, 1)
                                   : pattern_size(image, i + 1);
    return pattern_list(p, before, "shape", shape, (size_t)rank);
}

static void set_order(pattern *p, pgy_node *n, int32_t rank, bool channels_last)
{
    int64_t order[PGY_MAX_RANK] = {0};
    for (int32_t i = 1; i < rank; i++)
        order[i] = channels_last ? (i + 1 < rank ? i + 1 : 1) : (i == 1 ? rank - 1 : i - 1);
    pattern_set_ints(p, n, "perm", order, (size_t)rank);
}

/* Conv, Reshape to [N, C, P], Transpose to [N, P, C]: the Transpose first. */
static bool turn_behind_conv(pattern *p, pgy_node *t)
{
    pgy_node *r = turns_rows(t) ? pattern_from(t->inputs[0], "Reshape") : NULL;
    if (!r || pattern_user(r) != t || !r->inputs[0] || !r->inputs[0]->producer ||
        !is_conv(r->inputs[0]->producer) || !is_image_of(r->inputs[0], t->outputs[0]))
        return false;
    pgy_value *image = r->inputs[0];
    pgy_value *const inputs[] = {pattern_make(p, t, NULL, "Transpose", &image, 1),
                                 shape_value(p, t, image, false, t->outputs[0])};
    if (!inputs[0] || !inputs[1]) return false;
    set_order(p, inputs[0]->producer, pattern_rank(image), true);
    return pattern_put(p, t, "Reshape", inputs, 2) != NULL;
}

/* Transpose of [N, P, C] to [N, C, P], Reshape, Conv: the Reshape first. */
static bool turn_before_conv(pattern *p, pgy_node *r)
{
    pgy_node *t = pattern_is(r, "Reshape") ? pattern_from(r->inputs[0], "Transpose") : NULL;
    const pgy_node *user = pattern_user(r);
    if (!t || !turns_rows(t) || pattern_user(t) != r || !user || !is_conv(user) ||
        user->inputs[0] != r->outputs[0] || !is_image_of(r->outputs[0], t->inputs[0]))
        return false;
    pgy_value *const inputs[] = {t->inputs[0], shape_value(p, r, r->outputs[0], true, NULL)};
    pgy_value *made = pattern_make(p, r, NULL, "Reshape", inputs, 2);
    const int32_t rank = pattern_rank(r->outputs[0]);
    if (!made) return false;
    pgy_node *turned = pattern_put(p, r, "Transpose", &made, 1);
    set_order(p, turned, rank, false);
    return true;
}

/* Does t move axis 1 behind the others (channels_last), or the last one to axis 1? */
static bool moves_channels(const pgy_node *t, bool channels_last)
{
    size_t order[PGY_MAX_RANK];
    const size_t rank = pattern_is(t, "Transpose") ? (size_t)pattern_rank(pattern_input(t, 0)) : 0;
    if (rank < 3 || !read_order(order, t, rank) || order[0] != 0) return false;
    for (size_t i = 1; i < rank; i++) {
        const size_t wanted =
            channels_last ? (i + 1 < rank ? i + 1 : 1) : (i == 1 ? rank - 1 : i - 1);
        if (order[i] != wanted) return false;
    }
    return true;
}

/* Weights of a product [C, D] as those of a convolution, [D, C, 1...]; folding computes them. */
static pgy_value *conv_weights(pattern *p, pgy_node *before, pgy_value *w, int32_t rank)
{
    static const int64_t TURN[2] = {1, 0};
    int64_t shape[PGY_MAX_RANK] = {pattern_size(w, 1), pattern_size(w, 0)};
    for (int32_t i = 2; i < rank; i++) shape[i] = 1;
    pgy_value *turned = pattern_make(p, before, "turned", "Transpose", &w, 1);
    if (!turned) return NULL;
    pattern_set_ints(p, turned->producer, "perm", TURN, 2);
    pgy_value *const inputs[] = {turned, pattern_list(p, before, "shape", shape, (size_t)rank)};
    return pattern_make(p, before, "weights", "Reshape", inputs, 2);
}

/* A product of channels between two Transposes that bring them last and back is a convolution of
 * single pixels. */
static bool become_conv(pattern *p, pgy_node *back)
{
    if (!moves_channels(back, false)) return false;
    pgy_node *add = pattern_inner(back->inputs[0], "Add"), *m = NULL, *t = NULL;
    pgy_value *bias = NULL;
    for (size_t i = 0; add && !m && add->input_count == 2 && i < 2; i++) {
        m = pattern_inner(add->inputs[i], "MatMul");
        bias = m ? add->inputs[1 - i] : NULL;
    }
    if (!add) m = pattern_inner(back->inputs[0], "MatMul");
    if (m) t = pattern_inner(m->inputs[0], "Transpose");
    if (!t || !moves_channels(t, true)) return false;
    pgy_value *x = t->inputs[0], *w = m->inputs[1];
    if (pattern_dtype(x) != PGY_F32 || !pattern_is_constant(p, w) || pattern_rank(w) != 2 ||
        pattern_size(w, 0) < 1 || pattern_size(w, 1) < 1)
        return false;
    if (bias && (!pattern_is_constant(p, bias) || pattern_rank(bias) != 1 ||
                 pattern_size(bias, 0) != pattern_size(w, 1)))
        return false;
    w = conv_weights(p, back, w, pattern_rank(x));
    if (w) pattern_put(p, back, "Conv", (pgy_value *[]){x, w, bias}, 3);
    return w != NULL;
}

static pgy_status run(pgy_graph *g, size_t *changes, pgy_error *err)
{
    static const pattern_rule RULES[] = {become_reshape,   move_behind, turn_behind_conv,
                                         turn_before_conv, become_conv, NULL};
    return pattern_run(g, "move_transposes", RULES, changes, err);
}

const pass PASS_move_transposes = {
    .name = "move_transposes", .summary = "Transpose to where it costs less", .run = run};
