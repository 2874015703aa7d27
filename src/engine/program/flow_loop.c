/* SPDX-License-Identifier: Apache-2.0 */
/* Loop and Scan. A carried value is the tensor that the body made in the iteration before; a slice
 * of a scanned input is read where it lies; what is collected is written where it belongs. */
#include <string.h>

#include "base/alloc.h"
#include "engine/program/flow_collect.h"
#include "ops/move.h"
#include "tensor/tensor.h"

/* A loop that runs. The body's outputs are: some that are neither, the carried ones, then those
 * that are collected. */
typedef struct loop {
    flow *f;
    flow_frame *outer, *frame;
    pgy_node *n;
    op_node node;
    const pgy_graph *g;
    op_tensor *values;  /* of the carried inputs */
    op_tensor *results; /* of the body's outputs */
    flow_collected *collected;
    size_t skipped; /* outputs of the body before the carried ones */
    size_t carried, output_count;
    size_t path; /* length of f->path outside */
} loop;

static void set_path(const loop *l, int64_t iteration)
{
    str *path = &l->f->path;
    if (!l->f->watch) return;
    flow_path_cut(l->f, l->path);
    str_printf(path, "%s/iter_%lld/", node_label(l->n), (long long)iteration);
}

static size_t body_outputs(const loop *l)
{
    return l->skipped + l->output_count;
}

static pgy_status begin(loop *l, flow *f, flow_frame *outer, pgy_node *n, size_t inputs,
                        pgy_error *err)
{
    l->f = f;
    l->outer = outer;
    l->n = n;
    l->node = node_op(n);
    l->output_count = n->output_count;
    l->path = f->path.size;
    if (n->subgraph_count != 1)
        return op_error(&l->node, err, PGY_E_FORMAT, "attribute 'body' lacks its graph");
    l->g = n->subgraphs[0];
    const size_t declared = level_of(l->g)->declared_count;
    if (inputs > declared || body_outputs(l) > l->g->output_count)
        return pgy_error_set(
            err, PGY_E_FORMAT,
            "subgraph '%s' has %zu inputs and %zu outputs, but the node needs %zu and %zu",
            l->g->name, declared, l->g->output_count, inputs, body_outputs(l));
    l->values = mem_calloc(l->carried + 1, sizeof *l->values);
    l->results = mem_calloc(body_outputs(l) + 1, sizeof *l->results);
    l->collected = mem_calloc(l->output_count + 1, sizeof *l->collected);
    if (!l->values || !l->results || !l->collected) return flow_no_memory(err);
    return flow_frame_enter(&l->frame, f, l->g, outer, err);
}

static void end(loop *l)
{
    for (size_t i = 0; l->values && i < l->carried; i++) op_tensor_release(&l->values[i]);
    for (size_t i = 0; l->results && i < body_outputs(l); i++) op_tensor_release(&l->results[i]);
    flow_frame_leave(l->frame);
    for (size_t i = 0; l->collected && i < l->output_count; i++)
        flow_collect_deinit(&l->collected[i]);
    mem_free(l->values);
    mem_free(l->results);
    mem_free(l->collected);
    if (l->f) flow_path_cut(l->f, l->path);
}

static void set_input(const loop *l, size_t i, op_tensor *t)
{
    flow_store(l->f, l->frame, level_of(l->g)->declared[i], t);
}

/* Passes the carried values on; each is given up here, so that a body may release it early. */
static void set_carried(const loop *l, size_t first)
{
    for (size_t i = 0; i < l->carried; i++) set_input(l, first + i, &l->values[i]);
}

/* Does the body read input i? */
static bool reads(const loop *l, size_t i)
{
    return l->frame->left[plan_slot(&l->f->plan, level_of(l->g)->declared[i])] != 0;
}

static pgy_status run_body(loop *l, pgy_error *err)
{
    flow *f = l->f;
    for (size_t i = l->carried; i < l->output_count; i++) {
        const pgy_value *v = l->g->outputs[l->skipped + i];
        if (v->graph == l->g)
            l->frame->places[plan_slot(&f->plan, v)] = flow_collect_place(&l->collected[i]);
    }
    pgy_status st = f->run_level(f, l->frame, err);
    for (size_t i = 0; !st && i < body_outputs(l); i++) {
        op_tensor t;
        st = flow_fetch(&t, f, l->frame, l->g->outputs[i], err);
        if (!st) l->results[i] = op_tensor_retain(&t);
    }
    for (size_t i = l->carried; !st && i < l->output_count; i++)
        if (l->n->outputs[i])
            st = flow_collect(&l->collected[i], &l->node, &l->results[l->skipped + i], err);
    flow_frame_renew(l->frame);
    for (size_t i = 0; !st && i < l->carried; i++) {
        op_tensor_release(&l->values[i]);
        l->values[i] = l->results[l->skipped + i];
        l->results[l->skipped + i] = (op_tensor){0};
    }
    return st;
}

static void drop_results(loop *l)
{
    for (size_t i = 0; i < body_outputs(l); i++)
        if (l->results[i].value || l->results[i].sequence) op_tensor_release(&l->results[i]);
}

static pgy_status hand_over(loop *l, const int64_t *axes, size_t axis_count, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < l->carried; i++) {
        st = flow_collect_own(&l->values[i], err);
        if (st) break;
        l->outer->out[i] = l->values[i];
        l->values[i] = (op_tensor){0};
    }
    for (size_t i = l->carried; !st && i < l->output_count; i++) {
        const size_t k = i - l->carried;
        if (!l->n->outputs[i]) continue;
        const flow_nothing about = {.dtype = box_of(l->n->outputs[i])->known.dtype,
                                    .item = l->g->outputs[l->skipped + i],
                                    .sizes = &l->f->described};
        if (!l->collected[i].count) st = flow_note_sizes(l->f, l->outer, l->n, err);
        if (!st)
            st = flow_collect_join(&l->outer->out[i], &l->collected[i], &l->node, &about, i,
                                   k < axis_count ? axes[k] : 0, err);
    }
    for (size_t i = 0; st && i < l->output_count; i++) op_tensor_release(&l->outer->out[i]);
    return st;
}

/* Values that are no whole bytes, and text, run by the definition. */
static bool is_simple(const pgy_value *v)
{
    const pgy_dtype t = box_of((pgy_value *)v)->known.dtype;
    return t && t != PGY_STRING && pgy_dtype_describe(t)->bits >= 8;
}

/* Are all that the loop collects simple? */
static bool collects_simply(const pgy_node *n, size_t skipped, size_t carried)
{
    const pgy_graph *g = n->subgraph_count == 1 ? n->subgraphs[0] : NULL;
    if (!g || n->output_count + skipped > g->output_count) return true; /* an error tells why */
    for (size_t i = carried; i < n->output_count; i++)
        if (!is_simple(g->outputs[skipped + i])) return false;
    return true;
}

bool flow_loop_can(const pgy_node *n)
{
    return collects_simply(n, 1, n->input_count > 2 ? n->input_count - 2 : 0);
}

bool flow_scan_can(const pgy_node *n)
{
    const op_node node = node_op(n);
    const int64_t given = op_attr_int(&node, "num_scan_inputs", 0);
    if (node.opset < 9) return false; /* it runs over a batch */
    if (given < 1 || (uint64_t)given > n->input_count) return true;
    const size_t carried = n->input_count - (size_t)given;
    for (size_t i = carried; i < n->input_count; i++)
        if (!n->inputs[i] || !is_simple(n->inputs[i])) return false;
    return collects_simply(n, 0, carried);
}

/* ---- Loop ----------------------------------------------------------------------------------- */

static pgy_status scalar(op_tensor *out, pgy_dtype dtype, int64_t value, pgy_error *err)
{
    *out = (op_tensor){.dtype = dtype};
    const pgy_status st = tensor_create_raw(&out->value, dtype, 0, NULL, err);
    if (st) return st;
    if (dtype == PGY_BOOL)
        *(uint8_t *)pgy_tensor_data(out->value) = value != 0;
    else
        *(int64_t *)pgy_tensor_data(out->value) = value;
    return PGY_OK;
}

static pgy_status trip_count(int64_t *most, const loop *l, pgy_error *err)
{
    const pgy_tensor *m = l->n->input_count ? l->outer->in[0].value : NULL;
    *most = INT64_MAX;
    if (!m) return PGY_OK;
    if (pgy_tensor_count(m) != 1)
        return op_error(&l->node, err, PGY_E_SHAPE,
                        "input 0 (M) has %zu elements, but must have one", pgy_tensor_count(m));
    if (pgy_tensor_dtype(m) != PGY_I64)
        return op_error(&l->node, err, PGY_E_TYPE, "input 0 (M) is %s, but must be int64",
                        pgy_dtype_name(pgy_tensor_dtype(m)));
    *most = *(const int64_t *)pgy_tensor_data(m);
    return PGY_OK;
}

static bool is_true(const pgy_tensor *t)
{
    return *(const uint8_t *)pgy_tensor_data(t) != 0;
}

static pgy_status first_condition(bool *out, const loop *l, pgy_error *err)
{
    const pgy_tensor *t = l->n->input_count > 1 ? l->outer->in[1].value : NULL;
    *out = true;
    if (!t) return PGY_OK;
    if (pgy_tensor_dtype(t) != PGY_BOOL || pgy_tensor_count(t) != 1)
        return op_error(&l->node, err, PGY_E_SHAPE, "input 1 (the condition) must be one bool");
    *out = is_true(t);
    return PGY_OK;
}

static pgy_status iterate(loop *l, int64_t iteration, bool *condition, pgy_error *err)
{
    op_tensor t = {0};
    pgy_status st = flow_check(l->f, err);
    set_path(l, iteration);
    if (!st && reads(l, 0)) {
        st = scalar(&t, PGY_I64, iteration, err);
        if (!st) set_input(l, 0, &t);
    }
    if (!st && reads(l, 1)) {
        st = scalar(&t, PGY_BOOL, *condition, err);
        if (!st) set_input(l, 1, &t);
    }
    if (!st) set_carried(l, 2);
    if (!st) st = run_body(l, err);
    if (st) return st;
    const pgy_tensor *next = l->results[0].value;
    if (!next || pgy_tensor_dtype(next) != PGY_BOOL || pgy_tensor_count(next) != 1)
        return op_error(&l->node, err, PGY_E_TYPE,
                        "the first output of the body (the condition) must be one bool");
    *condition = is_true(next);
    drop_results(l);
    return PGY_OK;
}

pgy_status flow_loop_run(flow *f, flow_frame *frame, pgy_node *n, pgy_error *err)
{
    const flow_place *places = flow_take_places(f);
    loop l = {.skipped = 1, .carried = n->input_count > 2 ? n->input_count - 2 : 0};
    bool condition = true;
    int64_t most = 0;
    const op_node node = node_op(n);
    if (n->output_count < l.carried)
        return op_error(&node, err, PGY_E_FORMAT,
                        "the node has %zu outputs, fewer than its %zu loop-carried values",
                        n->output_count, l.carried);
    pgy_status st = begin(&l, f, frame, n, l.carried + 2, err);
    if (!st) st = trip_count(&most, &l, err);
    if (!st) st = first_condition(&condition, &l, err);
    for (size_t i = 0; !st && i < l.carried; i++) {
        l.values[i] = op_tensor_retain(&frame->in[i + 2]);
        if (!l.values[i].value && !l.values[i].sequence)
            st = op_error(&node, err, PGY_E_ARGUMENT, "input %zu is missing", i + 2);
    }
    for (size_t i = l.carried; !st && i < l.output_count; i++) {
        l.collected[i].most = most < 0 ? 0 : most == INT64_MAX ? UINT64_MAX : (uint64_t)most;
        if (places) l.collected[i].place = places[i];
    }
    for (int64_t i = 0; !st && i < most && condition; i++) st = iterate(&l, i, &condition, err);
    if (!st) st = hand_over(&l, NULL, 0, err);
    end(&l);
    return st;
}

/* ---- Scan ----------------------------------------------------------------------------------- */

/* An input that is scanned, with the scanned axis in front. */
typedef struct scanned {
    op_tensor whole;
    size_t slice_bytes;
    bool backwards;
} scanned;

static int64_t entry(const op_node *n, const char *attr, size_t k)
{
    size_t count;
    const int64_t *list = op_attr_ints(n, attr, &count);
    return list && k < count ? list[k] : 0;
}

static pgy_status move_front(op_tensor *t, size_t axis, pgy_error *err)
{
    const size_t rank = pgy_tensor_rank(t->value);
    const int64_t *from = pgy_tensor_shape(t->value);
    int64_t shape[PGY_MAX_RANK];
    ptrdiff_t strides[PGY_MAX_RANK];
    pgy_tensor *moved = NULL;
    move_box box;
    shape[0] = from[axis];
    for (size_t d = 0, k = 1; d < rank; d++)
        if (d != axis) shape[k++] = from[d];
    const pgy_status st = tensor_create_raw(&moved, t->dtype, rank, shape, err);
    if (st) return st;
    move_strides(strides, rank, from);
    move_box_init(&box, rank, shape);
    box.from[0] = strides[axis];
    for (size_t d = 0, k = 1; d < rank; d++)
        if (d != axis) box.from[k++] = strides[d];
    move_copy(pgy_tensor_data(moved), pgy_tensor_data(t->value),
              pgy_dtype_describe(t->dtype)->bits / 8, &box);
    pgy_tensor_release(t->value);
    t->value = moved;
    return PGY_OK;
}

static pgy_status take_scanned(scanned *s, const loop *l, size_t k, int64_t *length, pgy_error *err)
{
    size_t axis;
    s->whole = op_tensor_retain(&l->outer->in[l->carried + k]);
    s->backwards = entry(&l->node, "scan_input_directions", k) == 1;
    if (!s->whole.value)
        return op_error(&l->node, err, PGY_E_ARGUMENT, "input %zu is missing", l->carried + k);
    pgy_status st = flow_settle(&s->whole, err);
    if (st) return st;
    const size_t rank = pgy_tensor_rank(s->whole.value);
    if (!rank) return op_error(&l->node, err, PGY_E_SHAPE, "scan input %zu is a scalar", k);
    st = op_axis(&axis, &l->node, entry(&l->node, "scan_input_axes", k), (int32_t)rank, err);
    if (st) return st;
    const int64_t size = pgy_tensor_shape(s->whole.value)[axis];
    if (k && size != *length)
        return op_error(&l->node, err, PGY_E_SHAPE,
                        "two scan inputs have lengths %zu and %zu, which must be equal",
                        (size_t)*length, (size_t)size);
    *length = size;
    if (axis) st = move_front(&s->whole, axis, err);
    s->slice_bytes = size ? pgy_tensor_size_bytes(s->whole.value) / (size_t)size : 0;
    return st;
}

static void keep(void *data, void *user)
{
    (void)data, (void)user;
}

static pgy_status set_slice(const loop *l, const scanned *s, size_t k, int64_t step, int64_t length,
                            pgy_error *err)
{
    op_tensor t = {.dtype = s->whole.dtype};
    const size_t at = (size_t)(s->backwards ? length - 1 - step : step);
    if (!reads(l, l->carried + k)) return PGY_OK;
    const pgy_status st = pgy_tensor_wrap(
        &t.value, (char *)pgy_tensor_data(s->whole.value) + at * s->slice_bytes, s->whole.dtype,
        pgy_tensor_rank(s->whole.value) - 1, pgy_tensor_shape(s->whole.value) + 1, keep, NULL, err);
    if (!st) set_input(l, l->carried + k, &t);
    return st;
}

static pgy_status scan(loop *l, scanned *inputs, size_t count, const flow_place *places,
                       pgy_error *err)
{
    int64_t length = 0;
    size_t axis_count;
    const int64_t *axes = op_attr_ints(&l->node, "scan_output_axes", &axis_count);
    pgy_status st = PGY_OK;
    for (size_t k = 0; !st && k < count; k++) st = take_scanned(&inputs[k], l, k, &length, err);
    for (size_t i = 0; !st && i < l->carried; i++) {
        l->values[i] = op_tensor_retain(&l->outer->in[i]);
        if (!l->values[i].value && !l->values[i].sequence)
            st = op_error(&l->node, err, PGY_E_ARGUMENT, "input %zu is missing", i);
    }
    for (size_t i = l->carried; !st && i < l->output_count; i++) {
        const size_t k = i - l->carried;
        l->collected[i].most = (uint64_t)length;
        l->collected[i].backwards = entry(&l->node, "scan_output_directions", k) == 1;
        if (places && !(k < axis_count && axes[k])) l->collected[i].place = places[i];
    }
    for (int64_t step = 0; !st && step < length; step++) {
        st = flow_check(l->f, err);
        set_path(l, step);
        for (size_t k = 0; !st && k < count; k++)
            st = set_slice(l, &inputs[k], k, step, length, err);
        if (!st) set_carried(l, 0);
        if (!st) st = run_body(l, err);
        drop_results(l);
    }
    return st ? st : hand_over(l, axes, axis_count, err);
}

pgy_status flow_scan_run(flow *f, flow_frame *frame, pgy_node *n, pgy_error *err)
{
    const flow_place *places = flow_take_places(f);
    const op_node node = node_op(n);
    const int64_t given = op_attr_int(&node, "num_scan_inputs", 0);
    loop l = {0};
    if (given < 1 || (uint64_t)given > n->input_count ||
        n->input_count - (size_t)given > n->output_count)
        return op_error(
            &node, err, PGY_E_ARGUMENT,
            "attribute num_scan_inputs is %lld, which does not fit %zu inputs and %zu outputs",
            (long long)given, n->input_count, n->output_count);
    const size_t count = (size_t)given;
    l.carried = n->input_count - count;
    scanned *inputs = mem_calloc(count, sizeof *inputs);
    pgy_status st = inputs ? begin(&l, f, frame, n, n->input_count, err) : flow_no_memory(err);
    if (!st) st = scan(&l, inputs, count, places, err);
    end(&l);
    for (size_t k = 0; inputs && k < count; k++) op_tensor_release(&inputs[k].whole);
    mem_free(inputs);
    return st;
}
