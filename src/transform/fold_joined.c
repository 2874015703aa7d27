/* SPDX-License-Identifier: Apache-2.0 */
/* Joins products that share an input, such as queries, keys and values: one product with the
 * weights side by side, and a Split. This needs three products, or two with an added bias;
 * otherwise there would not be fewer nodes. Each element is still the same sum in the same order. A
 * constant factor of one product, as queries have, goes into its weights. Only few products are
 * joined, because the whole result stays in memory until its last use. */
#include <string.h>

#include "onnx/computed.h"
#include "transform/pattern.h"

enum { MAX_MEMBERS = 4, MAX_USERS = 64 };

typedef struct member {
    pgy_node *product, *last; /* last: the last node to replace: a Mul or Div, the Add of the bias,
                                 or the product */
    pgy_value *weight, *bias; /* bias: NULL if there is none */
    double scale;             /* constant factor of weight and bias */
    int64_t depth, width;     /* sizes of the weight: along the summed axis, and of the output */
    bool gemm, turned;
} member;

typedef struct group {
    pgy_value *x;
    member members[MAX_MEMBERS];
    size_t count;
} group;

/* ---- Looking -------------------------------------------------------------------------------- */

static bool is_own(const pattern *p, const pgy_value *v)
{
    return pattern_is_constant(p, v) && v->initializer && !v->is_output && v->consumer_count == 1;
}

static bool is_row(const pattern *p, const pgy_value *v, const member *m)
{
    return pattern_is_constant(p, v) && v->initializer && v->dtype == m->weight->dtype &&
           pattern_rank(v) == 1 && pattern_size(v, 0) == m->width;
}

/* The bias of a Gemm, or of the Add that alone uses a MatMul. */
static bool read_bias(member *m, const pattern *p)
{
    pgy_node *user = m->gemm ? NULL : pattern_user(m->product);
    m->last = m->product;
    m->bias = m->gemm ? pattern_input(m->product, 2) : NULL;
    if (m->bias) return is_row(p, m->bias, m);
    if (user && pattern_is(user, "Add") && user->input_count == 2) {
        pgy_value *c = pattern_other(user, m->product->outputs[0]);
        if (!pattern_is_constant(p, c)) return true;
        m->bias = c;
        m->last = user;
        return is_row(p, c, m);
    }
    return true;
}

/* Reads a Mul or Div that scales down all results by one constant. */
static void read_scale(member *m, pattern *p)
{
    static const double LEAST = 1e-6;
    pgy_node *user = pattern_user(m->last);
    const pgy_value *y = m->last->outputs[0];
    const bool divides = user && pattern_is(user, "Div") && user->inputs[0] == y;
    double x;
    m->scale = 1;
    if (m->weight->dtype != PGY_F32 || !(divides || (user && pattern_is(user, "Mul"))) ||
        user->input_count != 2 || !pattern_scalar(p, pattern_other(user, y), &x) ||
        !pattern_same_shape(user->outputs[0], y))
        return;
    const double scale = divides ? 1 / x : x;
    if (!(scale >= LEAST && scale <= 1)) return;
    m->scale = scale;
    m->last = user;
}

/* True if all consumers move or multiply the result, as attention does. Other consumers may be
 * activations that ONNX Runtime fuses with the product; joining would prevent that. */
static bool is_looked_at(const member *m)
{
    static const char *const LOOKS[] = {"Reshape", "Transpose", "Unsqueeze", "Squeeze", "Flatten",
                                        "Split",   "Slice",     "Gather",    "Concat",  "MatMul"};
    const pgy_value *y = m->last->outputs[0];
    for (size_t i = 0; i < y->consumer_count && i < MAX_USERS; i++) {
        bool looks = false;
        for (size_t k = 0; !looks && k < sizeof LOOKS / sizeof *LOOKS; k++)
            looks = pattern_is(y->consumers[i], LOOKS[k]);
        if (!looks) return false;
    }
    return y->consumer_count <= MAX_USERS;
}

/* Excludes float64, where ONNX Runtime's order of summation depends on the width. */
static bool has_suitable_type(const pgy_value *v)
{
    return v->dtype == PGY_F32 || v->dtype == PGY_F16 || v->dtype == PGY_BF16;
}

static bool read_member(member *m, pattern *p, pgy_node *n, const pgy_value *x)
{
    m->gemm = pattern_is(n, "Gemm");
    if (!(m->gemm || pattern_is(n, "MatMul")) || n->input_count < 2 || n->inputs[0] != x ||
        n->graph != x->graph || !n->outputs[0] || fold_refusal(&p->f, n))
        return false;
    if (m->gemm && (pattern_int(n, "transA", 0) != 0 || pattern_float(n, "alpha", 1) != 1 ||
                    pattern_float(n, "beta", 1) != 1))
        return false;
    m->product = n;
    m->weight = n->inputs[1];
    m->turned = m->gemm && pattern_int(n, "transB", 0) != 0;
    if (!is_own(p, m->weight) || !has_suitable_type(m->weight) || pattern_rank(m->weight) != 2)
        return false;
    m->depth = pattern_size(m->weight, m->turned);
    m->width = pattern_size(m->weight, !m->turned);
    if (m->depth < 1 || m->width < 1 || !read_bias(m, p)) return false;
    read_scale(m, p);
    return is_looked_at(m);
}

static bool alike(const member *a, const member *b)
{
    return a->gemm == b->gemm && a->turned == b->turned && !a->bias == !b->bias &&
           a->depth == b->depth && a->weight->dtype == b->weight->dtype;
}

/* Collects the products like `first`; false: too many, or `first` is not the first of them. */
static bool gather(group *g, pattern *p, pgy_node *first)
{
    member own, m;
    if (g->x->consumer_count > MAX_USERS || !read_member(&own, p, first, g->x)) return false;
    for (size_t i = 0; i < g->x->consumer_count; i++) {
        if (!read_member(&m, p, g->x->consumers[i], g->x) || !alike(&m, &own)) continue;
        if (m.product->index < first->index || g->count == MAX_MEMBERS) return false;
        size_t at = g->count++;
        for (; at && g->members[at - 1].product->index > m.product->index; at--)
            g->members[at] = g->members[at - 1];
        g->members[at] = m;
    }
    return g->count >= (own.bias && !own.gemm ? 2 : 3);
}

/* ---- Making --------------------------------------------------------------------------------- */

static pgy_status check_limits(bool *kept, const group *g, pattern *p)
{
    uint64_t weights = 0, all = 0;
    for (size_t i = 0; i < g->count; i++) {
        const member *m = &g->members[i];
        weights += weight_bytes(m->weight->initializer);
        all += m->bias ? weight_bytes(m->bias->initializer) : 0;
    }
    all += weights;
    *kept = false;
    if (weights > p->f.options.max_result_bytes)
        return fold_refuse_size(&p->f, g->members[0].product, weights, p->err);
    return fold_limits_growth(kept, &p->f, g->members[0].product, all, all, p->err);
}

/* Can the elements be read? A file with external data may be missing. */
static bool is_readable(const pgy_value *v)
{
    element_reader r = {0};
    if (!v) return true;
    if (!weight_bytes(v->initializer) ||
        element_reader_open(&r, v->graph->model, v->initializer, NULL))
        return false;
    element_reader_close(&r);
    return true;
}

static bool are_readable(const group *g)
{
    for (size_t i = 0; i < g->count; i++)
        if (!is_readable(g->members[i].weight) || !is_readable(g->members[i].bias)) return false;
    return true;
}

/* The joined weight, computed when the model is written: the rows of all members' weights side by
 * side. */
typedef struct joined_weight {
    pgy_model *model;
    const pgy_onnx_tensor *parts[MAX_MEMBERS];
    size_t runs[MAX_MEMBERS]; /* bytes of one row of each member's weight */
    double scales[MAX_MEMBERS];
    size_t count, row_bytes;
} joined_weight;

static void scale_run(float *x, size_t count, double scale)
{
    if (scale == 1) return;
    for (size_t i = 0; i < count; i++) x[i] = (float)(x[i] * scale);
}

/* Copies bytes from `offset` of the joined weight, at most up to the end of that member's row. */
static pgy_status copy_run(size_t *done, char *to, size_t offset, size_t most,
                           const joined_weight *j, element_reader *readers, pgy_error *err)
{
    const size_t row = offset / j->row_bytes;
    size_t at = offset % j->row_bytes, i = 0;
    while (at >= j->runs[i]) at -= j->runs[i++];
    const size_t left = j->runs[i] - at, size = left < most ? left : most;
    const pgy_status st = element_reader_get(&readers[i], to, row * j->runs[i] + at, size, err);
    if (!st) scale_run((float *)to, size / sizeof(float), j->scales[i]);
    *done = size;
    return st;
}

static pgy_status make_part(const tensor_part *p, void *user, pgy_error *err)
{
    const joined_weight *j = user;
    element_reader readers[MAX_MEMBERS] = {0};
    pgy_status st = PGY_OK;
    size_t done = 0, size = 0;
    for (size_t i = 0; !st && i < j->count; i++)
        st = element_reader_open(&readers[i], j->model, j->parts[i], err);
    for (; !st && done < p->size_bytes; done += size)
        st = copy_run(&size, (char *)p->to + done, p->offset + done, p->size_bytes - done, j,
                      readers, err);
    for (size_t i = 0; i < j->count; i++) element_reader_close(&readers[i]);
    return st;
}

static pgy_status join(pgy_value **out, pattern *p, const group *g, bool bias)
{
    const member *m = &g->members[0];
    pgy_value *like = bias ? m->bias : m->weight;
    pgy_model *model = like->graph->model;
    const bool tall = bias || m->turned;
    const size_t element = pgy_dtype_describe(like->dtype)->bits / 8;
    pgy_onnx_tensor *made = NULL;
    int64_t width = 0;
    pgy_value *v = pattern_value(p, like->graph, like->name);
    joined_weight *j = pgy_model_alloc(model, 1, sizeof *j);
    if (!v || !j) return graph_no_memory(p->err);
    j->model = model;
    for (; j->count < g->count; j->count++) {
        const member *one = &g->members[j->count];
        j->parts[j->count] = (bias ? one->bias : one->weight)->initializer;
        j->runs[j->count] = weight_bytes(j->parts[j->count]) / (tall ? 1 : (size_t)m->depth);
        j->scales[j->count] = one->scale;
        j->row_bytes += j->runs[j->count];
        width += one->width;
    }
    const int64_t shape[2] = {tall ? width : m->depth, m->turned ? m->depth : width};
    const parts_maker maker = {.make = make_part, .user = j, .unit_bytes = element};
    pgy_onnx_tensor *record =
        weight_renamed(p->f.graph->model, like->initializer, v->name, shape, bias ? 1 : 2);
    if (!record) return graph_no_memory(p->err);
    pgy_status st = computed_parts_tensor(&made, model, record, &maker, p->err);
    if (!st) st = value_set_weight(v, made, p->err);
    *out = v;
    return st;
}

/* A node without a name. */
static pgy_value *add(pattern *p, pgy_node *before, const char *op, pgy_value *const *inputs,
                      size_t count)
{
    pgy_value *y = pattern_make(p, before, "joined", op, inputs, count);
    if (y) y->producer->name = "";
    return y;
}

/* *product is the node that gets the names of all dropped nodes. */
static pgy_value *add_product(pgy_node **product, pattern *p, const group *g)
{
    const member *m = &g->members[0];
    pgy_value *weight = NULL, *bias = NULL;
    p->status = join(&weight, p, g, false);
    if (!p->status && m->bias) p->status = join(&bias, p, g, true);
    if (p->status) return NULL;
    pgy_value *inputs[] = {g->x, weight, m->gemm ? bias : NULL};
    pgy_value *y = add(p, m->product, m->product->op_type, inputs, inputs[2] ? 3 : 2);
    if (!y) return NULL;
    *product = y->producer;
    if (m->turned) pattern_set_int(p, y->producer, "transB", 1);
    return bias && !m->gemm ? add(p, m->last, "Add", (pgy_value *[]){y, bias}, 2) : y;
}

/* Before opset 13 the sizes are an attribute. */
static void add_split(pattern *p, const group *g, pgy_value *y)
{
    pgy_value *outputs[MAX_MEMBERS], *inputs[2] = {y, NULL};
    int64_t sizes[MAX_MEMBERS];
    const bool wide = pgy_graph_opset(g->x->graph, "") >= 13;
    for (size_t i = 0; i < g->count; i++) {
        outputs[i] = g->members[i].last->outputs[0];
        sizes[i] = g->members[i].width;
    }
    if (wide) inputs[1] = pattern_list(p, g->members[0].last, "split", sizes, g->count);
    if (p->status) return;
    pgy_node *split =
        pattern_put_outputs(p, g->members[0].last, "Split", inputs, 1 + wide, outputs, g->count);
    if (split) split->name = "";
    for (size_t i = 1; split && i < g->count; i++) pattern_drop(p, g->members[i].last);
    pattern_set_int(p, split, "axis", pattern_rank(g->x) - 1);
    if (!wide) pattern_set_ints(p, split, "split", sizes, g->count);
}

static bool join_products(pattern *p, pgy_node *n)
{
    group g = {.x = pattern_input(n, 0)};
    bool kept = false;
    if (!g.x || pattern_rank(g.x) < 2 || pgy_graph_opset(g.x->graph, "") < 7 || !gather(&g, p, n) ||
        !are_readable(&g))
        return false;
    p->status = check_limits(&kept, &g, p);
    if (p->status || !kept) return false;
    pgy_node *product = NULL;
    pgy_value *y = add_product(&product, p, &g);
    if (y) add_split(p, &g, y);
    p->made = product;
    return true;
}

pgy_status fold_joined(folder *f, pgy_graph *level, pgy_error *err)
{
    static const pattern_rule RULES[] = {join_products, NULL};
    if (f->options.keep_separate || level_of(level)->is_function) return PGY_OK;
    return pattern_fold_level(f, level, RULES, err);
}
