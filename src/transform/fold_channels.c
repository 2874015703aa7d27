/* SPDX-License-Identifier: Apache-2.0 */
/* Moves scales and shifts of channels behind a convolution or Gemm into its weights: Mul, Div, Add
 * and Sub with a constant, and BatchNormalization. One operator is merged at a time, and each step
 * is rounded to the type of the weights, as ONNX Runtime does when it loads a model; so its results
 * do not change. The weights must have no other use and keep their names; the node then makes the
 * output of the operator. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "onnx/computed.h"
#include "transform/channels.h"

/* A Conv, ConvTranspose or Gemm, and the operator behind it that moves into its weights. */
typedef struct site {
    folder *f;
    pgy_node *n, *user;
    pgy_value *weight, *bias; /* bias: NULL if there is none */
    pgy_dtype dtype;
    size_t count;      /* number of output channels */
    channel_view view; /* output channels of the weight */
    /* The next two are float64, with one number per channel. */
    pgy_tensor *scale; /* factor for the weight, or NULL */
    pgy_tensor *shift; /* the new bias, or NULL */
    bool divide;       /* the weight is divided by `scale`, not multiplied */
} site;

typedef enum step { ADD, SUB, MUL, DIV } step;

/* ---- Where ---------------------------------------------------------------------------------- */

/* True if only n reads the weight v, so that its elements may be changed in place. */
static bool is_own(const folder *f, const pgy_value *v, const pgy_node *n)
{
    return v->initializer && fold_is_constant(f, v) && !v->is_output && v->consumer_count == 1 &&
           v->consumers[0] == n;
}

static bool is_operator(const folder *f, const pgy_node *n)
{
    const node_box *box = node_box_of(n);
    return !box->function && !box->has_refs && !fold_refusal(f, n) && box->opset >= 7;
}

/* Reads the sizes of the weight and the number of channels. */
static bool measure(site *s)
{
    const int32_t rank = pattern_rank(s->weight);
    int64_t shape[PGY_MAX_RANK];
    if (rank < (node_is(s->n, "Gemm") ? 2 : 3) || rank > PGY_MAX_RANK) return false;
    for (int32_t d = 0; d < rank; d++) {
        shape[d] = pattern_size(s->weight, d);
        if (shape[d] < 1) return false;
    }
    if (!channels_view(&s->view, s->n, (size_t)rank, shape)) return false;
    s->count = s->view.channels * s->view.groups;
    return true;
}

/* True if the bias is missing, or a constant with one number per channel. */
static bool has_plain_bias(const site *s)
{
    const pgy_value *b = s->bias;
    return !b || (fold_is_constant(s->f, b) && !b->sparse && b->dtype == s->dtype &&
                  pattern_rank(b) == 1 && pattern_size(b, 0) == (int64_t)s->count);
}

static bool is_suitable(site *s)
{
    const pgy_node *n = s->n;
    const bool gemm = node_is(n, "Gemm");
    if (!(gemm || node_is(n, "Conv") || node_is(n, "ConvTranspose")) || n->input_count < 2 ||
        !n->inputs[1] || !is_operator(s->f, n))
        return false;
    if (gemm && (pattern_float(n, "alpha", 1) != 1 || pattern_float(n, "beta", 1) != 1))
        return false;
    s->weight = n->inputs[1];
    s->bias = pattern_input(n, 2);
    s->dtype = s->weight->dtype;
    return pattern_is_float(s->weight) && is_own(s->f, s->weight, n) && measure(s) &&
           has_plain_bias(s);
}

/* ---- What ----------------------------------------------------------------------------------- */

/* x = x OP y, where `what` is OP, rounded to the type of the weights. The elements of x and y have
 * been rounded to it already. */
static void apply(const site *s, pgy_tensor *x, step what, const pgy_tensor *y)
{
    double *to = op_f64(x);
    const double *by = op_f64(y);
    for (size_t i = 0; what == ADD && i < s->count; i++) to[i] += by[i];
    for (size_t i = 0; what == SUB && i < s->count; i++) to[i] -= by[i];
    for (size_t i = 0; what == MUL && i < s->count; i++) to[i] *= by[i];
    for (size_t i = 0; what == DIV && i < s->count; i++) to[i] /= by[i];
    op_conform(x, s->dtype, true);
}

/* Expands a constant to one number per channel. */
static pgy_status read_channels(pgy_tensor **out, const site *s, pgy_value *v, pgy_error *err)
{
    pgy_tensor *stored = NULL, *held = NULL, *t = NULL;
    const int64_t shape[1] = {(int64_t)s->count};
    pgy_status st = fold_constant(&stored, s->f, v, err);
    if (!st) st = op_to_storage(&held, stored, err);
    if (!st) st = pgy_tensor_create(&t, PGY_F64, 1, shape, err);
    if (!st) {
        const size_t stride = pgy_tensor_count(held) > 1;
        for (size_t i = 0; i < s->count; i++) op_f64(t)[i] = op_f64(held)[i * stride];
        *out = t;
    }
    pgy_tensor_release(held);
    pgy_tensor_release(stored);
    return st;
}

static bool is_constant(const site *s, const pgy_value *v)
{
    return v && fold_is_constant(s->f, v) && v->dtype == s->dtype;
}

static pgy_status read_arithmetic(site *s, bool *good, pgy_error *err)
{
    static const char *const OPS[] = {[ADD] = "Add", [SUB] = "Sub", [MUL] = "Mul", [DIV] = "Div"};
    const pgy_value *x = s->n->outputs[0];
    pgy_tensor *c = NULL;
    unsigned what = 0;
    *good = false;
    while (what < 4 && !node_is(s->user, OPS[what])) what++;
    pgy_value *v = what < 4 ? pattern_other(s->user, x) : NULL;
    if (!is_constant(s, v) || (what % 2 && s->user->inputs[0] != x) ||
        !channels_match(v, pattern_rank(s->weight), 1, (int64_t)s->count))
        return PGY_OK;
    pgy_status st = read_channels(&c, s, v, err);
    if (!st && s->bias) st = read_channels(&s->shift, s, s->bias, err);
    if (!st && s->shift) apply(s, s->shift, what, c);
    if (!st && what >= MUL) {
        s->scale = c;
        s->divide = what == DIV;
        c = NULL;
    } else if (!st && !s->shift) {
        for (size_t i = 0; what == SUB && i < s->count; i++) op_f64(c)[i] = -op_f64(c)[i];
        s->shift = c;
        c = NULL;
    }
    pgy_tensor_release(c);
    *good = !st;
    return st;
}

/* True for BatchNormalization in inference mode that uses only its first output. */
static bool is_plain_batch_norm(const site *s)
{
    const pgy_node *u = s->user;
    if (!node_is(u, "BatchNormalization") || u->input_count != 5 ||
        u->inputs[0] != s->n->outputs[0] || pattern_int(u, "training_mode", 0) != 0 ||
        pattern_int(u, "spatial", 1) != 1)
        return false;
    for (size_t i = 1; i < u->output_count; i++)
        if (u->outputs[i]) return false;
    for (size_t i = 1; i < 5; i++)
        if (!is_constant(s, u->inputs[i]) || pattern_rank(u->inputs[i]) != 1 ||
            pattern_size(u->inputs[i], 0) != (int64_t)s->count)
            return false;
    return true;
}

/* With s = scale / sqrt(variance + epsilon), the weight is multiplied by s, and the bias becomes
 * (bias - mean) * s + shift, or shift - mean * s if there was none. */
static pgy_status read_batch_norm(site *s, pgy_error *err)
{
    pgy_tensor *t[4] = {0};
    const double epsilon = pattern_float(s->user, "epsilon", 1e-5F);
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < 4; i++) st = read_channels(&t[i], s, s->user->inputs[1 + i], err);
    if (!st && s->bias) st = read_channels(&s->shift, s, s->bias, err);
    if (!st) {
        double *variance = op_f64(t[3]);
        for (size_t i = 0; i < s->count; i++) variance[i] += epsilon;
        op_conform(t[3], s->dtype, true);
        for (size_t i = 0; i < s->count; i++) variance[i] = sqrt(variance[i]);
        op_conform(t[3], s->dtype, true);
        apply(s, t[0], DIV, t[3]);
        if (s->shift) {
            apply(s, s->shift, SUB, t[2]);
            apply(s, s->shift, MUL, t[0]);
            apply(s, s->shift, ADD, t[1]);
        } else {
            apply(s, t[2], MUL, t[0]);
            apply(s, t[1], SUB, t[2]);
            s->shift = pgy_tensor_retain(t[1]);
        }
        s->scale = pgy_tensor_retain(t[0]);
    }
    for (size_t i = 0; i < 4; i++) pgy_tensor_release(t[i]);
    return st;
}

static bool all_finite(const pgy_tensor *t)
{
    bool good = true;
    for (size_t i = 0; t && i < pgy_tensor_count(t); i++) good &= isfinite(op_f64(t)[i]) != 0;
    return good;
}

static pgy_status read_user(site *s, bool *good, pgy_error *err)
{
    pgy_status st = PGY_OK;
    *good = is_plain_batch_norm(s);
    if (*good)
        st = read_batch_norm(s, err);
    else
        st = read_arithmetic(s, good, err);
    *good = !st && *good && all_finite(s->scale) && all_finite(s->shift);
    return st;
}

/* ---- Weights -------------------------------------------------------------------------------- */

static uint64_t own_bytes(const site *s, const pgy_value *v, const pgy_node *n)
{
    return v && is_own(s->f, v, n) ? weight_bytes(v->initializer) : 0;
}

static pgy_status check_limits(const site *s, bool *kept, pgy_error *err)
{
    const uint64_t weight = s->scale ? weight_bytes(s->weight->initializer) : 0;
    const uint64_t bias = s->shift ? s->count * (pgy_dtype_describe(s->dtype)->bits / 8) : 0;
    const uint64_t larger = weight > bias ? weight : bias;
    uint64_t freed = weight + (s->shift ? own_bytes(s, s->bias, s->n) : 0);
    *kept = false;
    if (larger > s->f->options.max_result_bytes)
        return fold_refuse_size(s->f, s->user, larger, err);
    for (size_t i = 0; i < s->user->input_count; i++)
        freed += own_bytes(s, s->user->inputs[i], s->user);
    return fold_limits_growth(kept, s->f, s->user, weight + bias, freed, err);
}

/* A weight whose elements are scaled when they are written. */
typedef struct scaling {
    channel_view view;
    pgy_dtype dtype;
    bool divide;
    const double *scale; /* one factor for each channel of each group */
    const float *narrow; /* the same factors in float32 */
} scaling;

/* Index of the factor for run `run` of the weight's elements (channel_view). Later runs of the same
 * repetition have the factors that follow. */
static size_t scale_index(const scaling *s, size_t run)
{
    const channel_view *v = &s->view;
    return run / v->channels / (v->outer / v->groups) * v->channels + run % v->channels;
}

/* Scales `count` elements, each by its own factor. */
static void scale_each(float *x, size_t count, const float *by, bool divide)
{
    for (size_t i = 0; divide && i < count; i++) x[i] /= by[i];
    for (size_t i = 0; !divide && i < count; i++) x[i] *= by[i];
}

static void scale_run(float *x, size_t count, float by, bool divide)
{
    for (size_t i = 0; divide && i < count; i++) x[i] /= by;
    for (size_t i = 0; !divide && i < count; i++) x[i] *= by;
}

/* Scales `count` float32 elements of the weight, of which x[0] has index `first`; it may lie inside
 * a run (channel_view). */
static void scale_narrow(float *x, size_t first, size_t count, const scaling *s)
{
    const size_t inner = s->view.inner, channels = s->view.channels;
    for (size_t i = 0, n; i < count; i += n) {
        const size_t at = first + i, run = at / inner;
        const size_t left = inner > 1 ? inner - at % inner : channels - run % channels;
        n = left < count - i ? left : count - i;
        if (inner > 1)
            scale_run(x + i, n, s->narrow[scale_index(s, run)], s->divide);
        else
            scale_each(x + i, n, s->narrow + scale_index(s, run), s->divide);
    }
}

/* Scales any type in float64, which represents products of the narrower types exactly. */
static pgy_status scale_wide(void *elements, size_t first, size_t count, const scaling *s,
                             pgy_error *err)
{
    pgy_tensor *w = NULL, *held = NULL, *t = NULL, *again = NULL;
    const int64_t shape[1] = {(int64_t)count};
    pgy_status st = pgy_tensor_wrap(&w, elements, s->dtype, 1, shape, NULL, NULL, err);
    if (!st) st = op_to_storage(&held, w, err);
    if (!st) st = pgy_tensor_copy(&t, pgy_tensor_view(held), err);
    if (!st) {
        double *x = op_f64(t);
        for (size_t i = 0; i < count; i++) {
            const double by = s->scale[scale_index(s, (first + i) / s->view.inner)];
            x[i] = s->divide ? x[i] / by : x[i] * by;
        }
        op_conform(t, s->dtype, true);
        st = op_from_storage(&again, t, s->dtype, err);
    }
    if (!st) memcpy(elements, pgy_tensor_data(again), pgy_tensor_size_bytes(again));
    pgy_tensor_release(again);
    pgy_tensor_release(t);
    pgy_tensor_release(held);
    pgy_tensor_release(w);
    return st;
}

static pgy_status scale_part(const tensor_part *p, void *user, pgy_error *err)
{
    const scaling *s = user;
    const size_t width = pgy_dtype_describe(s->dtype)->bits / 8;
    const size_t first = p->offset / width, count = p->size_bytes / width;
    const pgy_status st = element_reader_get(p->source, p->to, p->offset, p->size_bytes, err);
    if (st || s->dtype != PGY_F32) return st ? st : scale_wide(p->to, first, count, s, err);
    scale_narrow(p->to, first, count, s);
    return PGY_OK;
}

/* Infinity and NaN are the numbers whose exponent bits are all ones. */
static bool part_is_finite(const void *elements, size_t size_bytes, pgy_dtype dtype)
{
    uint64_t found = 0;
    if (dtype == PGY_F64) {
        const uint64_t *x = elements, mask = (uint64_t)0x7ff << 52;
        for (size_t i = 0; i < size_bytes / 8; i++) found |= (x[i] & mask) == mask;
    } else if (dtype == PGY_F32) {
        const uint32_t *x = elements, mask = 0x7f800000u;
        uint32_t any = 0;
        for (size_t i = 0; i < size_bytes / 4; i++) any |= (x[i] & mask) == mask;
        found = any;
    } else {
        const uint16_t *x = elements, mask = dtype == PGY_F16 ? 0x7c00 : 0x7f80;
        uint16_t any = 0;
        for (size_t i = 0; i < size_bytes / 2; i++) any |= (x[i] & mask) == mask;
        found = any;
    }
    return !found;
}

static pgy_status copy_scaling(scaling **out, const site *s, pgy_error *err)
{
    pgy_model *m = s->f->graph->model;
    scaling *to = pgy_model_alloc(m, 1, sizeof *to);
    double *scale = pgy_model_alloc(m, s->count, sizeof *scale);
    float *narrow = pgy_model_alloc(m, s->count, sizeof *narrow);
    if (!to || !scale || !narrow) return graph_no_memory(err);
    for (size_t i = 0; i < s->count; i++) {
        scale[i] = op_f64(s->scale)[i];
        narrow[i] = (float)scale[i];
    }
    *to = (scaling){s->view, s->dtype, s->divide, scale, narrow};
    *out = to;
    return PGY_OK;
}

/* Tests whether all scaled elements are finite. To save memory they are computed once here and
 * again when they are written. */
static pgy_status check_scaled(bool *good, const site *s, scaling *how, pgy_error *err)
{
    element_reader source = {0};
    pgy_status st =
        element_reader_open(&source, s->weight->graph->model, s->weight->initializer, err);
    if (st) return st;
    const size_t size = source.size_bytes < PART_BYTES ? source.size_bytes : PART_BYTES;
    void *buffer = mem_alloc_aligned(64, size);
    if (!buffer) st = graph_no_memory(err);
    *good = true;
    for (size_t at = 0; !st && *good && at < source.size_bytes; at += PART_BYTES) {
        const size_t left = source.size_bytes - at;
        const tensor_part part = {buffer, at, left < PART_BYTES ? left : PART_BYTES, &source, NULL};
        st = scale_part(&part, how, err);
        if (!st) *good = part_is_finite(buffer, part.size_bytes, s->dtype);
    }
    mem_free(buffer);
    element_reader_close(&source);
    return st;
}

/* ---- Edits ---------------------------------------------------------------------------------- */

/* Replaces the elements of a weight. */
static pgy_status set_weight(pgy_value *v, const pgy_onnx_tensor *stored, pgy_error *err)
{
    const pgy_status st = value_describe_tensor(v, stored, err);
    if (st) return st;
    v->initializer = stored;
    box_of(v)->data_tried = false;
    graph_mark_changed(v->graph);
    return PGY_OK;
}

static pgy_status replace_weight(folder *f, pgy_value *v, pgy_tensor *t, pgy_error *err)
{
    const pgy_onnx_tensor *stored = NULL;
    const pgy_status st = weight_create(&stored, f->graph->model, v->name, t, err);
    return st ? st : set_weight(v, stored, err);
}

static pgy_status put_scaled(const site *s, scaling *how, pgy_error *err)
{
    pgy_value *v = s->weight;
    const pgy_onnx_tensor *t = v->initializer;
    pgy_onnx_tensor *made = NULL;
    pgy_model *m = s->f->graph->model;
    const pgy_onnx_tensor like = {.name = pgy_model_strdup(m, v->name),
                                  .doc_string = "",
                                  .dims = t->dims,
                                  .dim_count = t->dim_count,
                                  .data_type = t->data_type};
    const parts_maker maker = {.make = scale_part,
                               .user = how,
                               .source = t,
                               .unit_bytes = pgy_dtype_describe(s->dtype)->bits / 8};
    if (!like.name) return graph_no_memory(err);
    const pgy_status st = computed_parts_tensor(&made, m, &like, &maker, err);
    return st ? st : set_weight(v, made, err);
}

static pgy_status set_bias(pgy_node *n, pgy_value *v, pgy_error *err)
{
    if (n->input_count < 3) {
        pgy_value **inputs = arena_alloc_array(&state_of(n->graph)->memory, 3, sizeof *inputs);
        if (!inputs) return graph_no_memory(err);
        memcpy(inputs, n->inputs, n->input_count * sizeof *inputs);
        n->inputs = inputs;
        n->input_count = 3;
    }
    return node_set_input(n, 2, v, err);
}

static pgy_status put_bias(const site *s, pgy_error *err)
{
    const pgy_onnx_tensor *stored = NULL;
    pgy_tensor *t = NULL;
    pgy_value *v = NULL;
    pgy_status st = op_from_storage(&t, s->shift, s->dtype, err);
    if (!st && s->bias && is_own(s->f, s->bias, s->n)) {
        st = replace_weight(s->f, s->bias, t, err);
    } else if (!st) {
        const bool arithmetic = s->user->input_count == 2;
        const pgy_value *like = s->bias      ? s->bias
                                : arithmetic ? pattern_other(s->user, s->n->outputs[0])
                                             : s->user->inputs[2];
        v = value_create_unique(s->n->graph, like->name, err);
        if (!v) st = PGY_E_MEMORY;
        if (!st) st = weight_create(&stored, s->f->graph->model, v->name, t, err);
        if (!st) st = value_set_weight(v, stored, err);
        if (!st) st = set_bias(s->n, v, err);
    }
    pgy_tensor_release(t);
    return st;
}

static pgy_status move(const site *s, bool *done, pgy_error *err)
{
    const int64_t growth = s->f->growth;
    scaling *how = NULL;
    bool good = true;
    pgy_status st = check_limits(s, &good, err);
    if (!st && good && s->scale) {
        st = copy_scaling(&how, s, err);
        if (!st) st = check_scaled(&good, s, how, err);
    }
    if (st || !good) {
        s->f->growth = growth;
    } else {
        pgy_value *x = s->n->outputs[0], *y = s->user->outputs[0];
        if (s->shift) st = put_bias(s, err);
        if (!st && how) st = put_scaled(s, how, err);
        if (!st) fold_drop_node(s->f, s->user);
        if (!st) st = value_take_over(x, y, err);
        *done = !st;
    }
    return st;
}

static pgy_status try_node(folder *f, pgy_node *n, bool *done, pgy_error *err)
{
    site s = {.f = f, .n = n};
    bool good = false;
    *done = false;
    if (!n->graph || !(s.user = pattern_user(n))) return PGY_OK;
    pgy_status st = node_prepare(n, err);
    if (!st) st = node_prepare(s.user, err);
    if (st || !is_suitable(&s) || !is_operator(f, s.user)) return st;
    st = read_user(&s, &good, err);
    if (!st && good) st = move(&s, done, err);
    pgy_tensor_release(s.scale);
    pgy_tensor_release(s.shift);
    return st;
}

pgy_status fold_channels(folder *f, pgy_graph *level, pgy_error *err)
{
    pgy_status st = PGY_OK;
    const size_t before = f->changes;
    if (f->options.keep_separate || level_of(level)->is_function) return PGY_OK;
    for (size_t i = 0; !st && i < level->node_count; i++) {
        bool again = true;
        while (!st && again) st = try_node(f, level->nodes[i], &again, err);
    }
    if (f->changes != before) graph_sweep(level);
    return st;
}
