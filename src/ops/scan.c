/* SPDX-License-Identifier: Apache-2.0 */
/* Scan: runs a body graph over slices of its scan inputs, carries states between steps and collects
 * outputs. Version 8 runs over axis 1 for every item of a batch (axis 0), with the number of steps
 * in its first input.
 *
 *     body(states..., slices...) -> states..., collected... */
#include "base/alloc.h"
#include "ops/class_loop.h"
#include "ops/move.h"

static const op_attr_def ATTRS[] = {
    {"body", OP_ATTR_GRAPH, true, NULL},
    {"num_scan_inputs", OP_ATTR_INT, true, NULL, NULL, "1.."},
    {"scan_input_axes", OP_ATTR_INTS, false, NULL},
    {"scan_input_directions", OP_ATTR_INTS, false, NULL},
    {"scan_output_axes", OP_ATTR_INTS, false, NULL},
    {"scan_output_directions", OP_ATTR_INTS, false, NULL},
    {0},
};

/* Gives the number of states. All inputs after the states are scanned, all outputs after them
 * collected. */
static pgy_status state_count(size_t *out, const op_node *n, pgy_error *err)
{
    const int64_t scanned = op_attr_int(n, "num_scan_inputs", 0);
    if (scanned < 1 || (uint64_t)scanned > n->input_count ||
        n->input_count - (size_t)scanned > n->output_count)
        return op_error(
            n, err, PGY_E_ARGUMENT,
            "attribute num_scan_inputs is %lld, which does not fit %zu inputs and %zu outputs",
            (long long)scanned, n->input_count, n->output_count);
    *out = n->input_count - (size_t)scanned;
    return PGY_OK;
}

/* Entry k of an optional list attribute; the default is 0. */
static int64_t entry(const op_node *n, const char *attr, size_t k)
{
    size_t count;
    const int64_t *list = op_attr_ints(n, attr, &count);
    return list && k < count ? list[k] : 0;
}

static pgy_status scan_axis(size_t *out, const op_node *n, size_t k, int64_t rank, pgy_error *err)
{
    if (rank < 1) return op_error(n, err, PGY_E_SHAPE, "scan input %zu is a scalar", k);
    return op_axis(out, n, entry(n, "scan_input_axes", k), (int32_t)rank, err);
}

static pgy_status slice_of(op_infer *c, op_value *out, const op_value *v, size_t k, dim *length,
                           pgy_error *err)
{
    size_t axis;
    *out = (op_value){.dtype = v->dtype, .rank = -1};
    if (v->rank < 0) return PGY_OK;
    pgy_status st = scan_axis(&axis, c->node, k, v->rank, err);
    if (st) return st;
    dim *dims = op_dims(c, (size_t)v->rank);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t d = 0, n = 0; d < (size_t)v->rank; d++)
        if (d != axis) dims[n++] = v->dims[d];
    out->rank = v->rank - 1;
    out->dims = dims;
    if (!op_unify(length, dim_is_unknown(*length) ? v->dims[axis] : *length, v->dims[axis]))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "scan input %zu has another length than the other scan inputs", k);
    return PGY_OK;
}

static pgy_status set_collected(op_infer *c, size_t i, const op_value *item, size_t k, dim length,
                                pgy_error *err)
{
    size_t axis;
    if (item->rank < 0) {
        op_set_unknown(c, i, item->dtype, -1,
                       "the shape of a value that the scan collects is not known");
        return PGY_OK;
    }
    pgy_status st =
        op_axis(&axis, c->node, entry(c->node, "scan_output_axes", k), item->rank + 1, err);
    if (st) return st;
    dim *dims = op_dims(c, (size_t)item->rank + 1);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t d = 0, from = 0; d <= (size_t)item->rank; d++)
        dims[d] = d == axis ? length : item->dims[from++];
    op_set_output(c, i, item->dtype, item->rank + 1, dims);
    return PGY_OK;
}

static pgy_status infer(op_infer *c, pgy_error *err)
{
    const op_node *n = c->node;
    size_t states;
    bool known;
    dim length = dim_unknown(c->dims, "the length of a scan is not known");
    pgy_status st = state_count(&states, n, err);
    if (st) return st;
    op_value *in = arena_alloc_array(c->memory, n->input_count, sizeof *in);
    op_value *out = arena_alloc_array(c->memory, n->output_count, sizeof *out);
    if (!in || !out) return rule_no_memory(n, err);
    for (size_t k = 0; k < n->input_count && !st; k++) {
        if (k < states)
            in[k] = c->inputs[k];
        else
            st = slice_of(c, &in[k], &c->inputs[k], k - states, &length, err);
    }
    if (!st)
        st =
            loop_infer_body(c, in, n->input_count, 0, out, n->output_count, 0, states, &known, err);
    if (st || !known) return st;
    for (size_t i = 0; i < n->output_count && !st; i++) {
        if (i < states)
            c->outputs[i] = loop_varying(&in[i]);
        else
            st = set_collected(c, i, &out[i], i - states, length, err);
    }
    return st;
}

/* Slice `at` of a scan input along its axis, as a new tensor. */
static pgy_status take_slice(op_tensor *out, const op_tensor *from, size_t axis, size_t at,
                             pgy_error *err)
{
    const pgy_tensor *x = from->value;
    const size_t rank = pgy_tensor_rank(x), bytes = move_size(pgy_tensor_dtype(x));
    int64_t shape[PGY_MAX_RANK];
    ptrdiff_t strides[PGY_MAX_RANK];
    move_box box;
    for (size_t d = 0, n = 0; d < rank; d++)
        if (d != axis) shape[n++] = pgy_tensor_shape(x)[d];
    out->dtype = from->dtype;
    pgy_status st = pgy_tensor_create(&out->value, pgy_tensor_dtype(x), rank - 1, shape, err);
    if (st) return st;
    move_strides(strides, rank, pgy_tensor_shape(x));
    move_box_init(&box, rank - 1, shape);
    for (size_t d = 0; d + 1 < rank; d++) box.from[d] = strides[d < axis ? d : d + 1];
    move_copy(pgy_tensor_data(out->value),
              (const char *)pgy_tensor_data(x) + at * (size_t)strides[axis] * bytes, bytes, &box);
    return move_own(out->value, err);
}

typedef struct scan_state {
    op_tensor *in, *out;
    loop_stack *collected;
    size_t states, length;
} scan_state;

static pgy_status state_init(scan_state *s, const op_eval *c, pgy_error *err)
{
    const op_node *n = c->node;
    pgy_tensor *t;
    pgy_status st = state_count(&s->states, n, err);
    if (st) return st;
    s->in = mem_calloc(n->input_count, sizeof *s->in);
    s->out = mem_calloc(n->output_count, sizeof *s->out);
    s->collected = mem_calloc(n->output_count, sizeof *s->collected);
    if (!s->in || !s->out || !s->collected) return rule_no_memory(n, err);
    for (size_t k = 0; k < n->input_count && !st; k++) {
        size_t axis;
        st = rule_input(c, k, &t, err);
        if (st) return st;
        if (k < s->states) {
            s->in[k] = op_tensor_retain(&c->inputs[k]);
            continue;
        }
        st = scan_axis(&axis, n, k - s->states, (int64_t)pgy_tensor_rank(t), err);
        if (st) return st;
        const size_t length = (size_t)pgy_tensor_shape(t)[axis];
        if (k > s->states && length != s->length)
            return op_error(n, err, PGY_E_SHAPE,
                            "two scan inputs have lengths %zu and %zu, which must be equal",
                            s->length, length);
        s->length = length;
    }
    return st;
}

static void state_deinit(scan_state *s, const op_node *n)
{
    for (size_t i = 0; s->in && i < n->input_count; i++) op_tensor_release(&s->in[i]);
    for (size_t i = 0; s->out && i < n->output_count; i++) op_tensor_release(&s->out[i]);
    for (size_t i = 0; s->collected && i < n->output_count; i++)
        loop_stack_deinit(&s->collected[i]);
    mem_free(s->in);
    mem_free(s->out);
    mem_free(s->collected);
}

static pgy_status iterate(scan_state *s, const op_eval *c, size_t step, pgy_error *err)
{
    const op_node *n = c->node;
    pgy_status st = PGY_OK;
    for (size_t k = s->states; k < n->input_count && !st; k++) {
        size_t axis;
        const bool backwards = entry(n, "scan_input_directions", k - s->states) == 1;
        op_tensor_release(&s->in[k]);
        st = scan_axis(&axis, n, k - s->states, (int64_t)pgy_tensor_rank(c->inputs[k].value), err);
        if (!st)
            st = take_slice(&s->in[k], &c->inputs[k], axis, backwards ? s->length - 1 - step : step,
                            err);
    }
    if (!st) st = loop_run_graph(c, "body", s->in, n->input_count, s->out, n->output_count, err);
    for (size_t i = 0; i < n->output_count && !st; i++) {
        if (i < s->states) {
            op_tensor_release(&s->in[i]);
            s->in[i] = s->out[i];
            s->out[i] = (op_tensor){0};
        } else {
            st = loop_stack_push(&s->collected[i], c, &s->out[i], err);
        }
    }
    for (size_t i = 0; i < n->output_count; i++) op_tensor_release(&s->out[i]);
    return st;
}

static pgy_status eval(op_eval *c, pgy_error *err)
{
    scan_state s = {0};
    pgy_status st = state_init(&s, c, err);
    for (size_t step = 0; !st && step < s.length; step++) st = iterate(&s, c, step, err);
    for (size_t i = 0; !st && i < c->node->output_count; i++) {
        if (i < s.states)
            loop_set_output(c, i, &s.in[i]);
        else
            st = loop_stack_join(&s.collected[i], c, i,
                                 entry(c->node, "scan_output_axes", i - s.states),
                                 entry(c->node, "scan_output_directions", i - s.states) == 1, err);
    }
    state_deinit(&s, c->node);
    return st;
}

/* ---- Version 8 ------------------------------------------------------------------------------ */

static const op_attr_def ATTRS_8[] = {
    {"body", OP_ATTR_GRAPH, true, NULL},
    {"directions", OP_ATTR_INTS, false, NULL},
    {"num_scan_inputs", OP_ATTR_INT, true, NULL, NULL, "1.."},
    {0},
};

/* Gives the number of states of version 8, whose input 0 holds the sequence lengths. */
static pgy_status batched_states(size_t *out, const op_node *n, pgy_error *err)
{
    const int64_t scanned = op_attr_int(n, "num_scan_inputs", 0);
    if (scanned < 1 || (uint64_t)scanned >= n->input_count ||
        n->input_count - 1 - (size_t)scanned > n->output_count)
        return op_error(n, err, PGY_E_ARGUMENT,
                        "attribute num_scan_inputs is %lld, which does not fit %zu inputs",
                        (long long)scanned, n->input_count);
    *out = n->input_count - 1 - (size_t)scanned;
    return PGY_OK;
}

/* Sets output i to the type and shape of `item` with `count` axes of sizes `front` prepended. */
static pgy_status set_batched(op_infer *c, size_t i, const op_value *item, const dim *front,
                              size_t count, pgy_error *err)
{
    if (item->rank < 0) {
        op_set_unknown(c, i, item->dtype, -1,
                       "the shape of a value that the scan computes is not known");
        return PGY_OK;
    }
    dim *dims = op_dims(c, (size_t)item->rank + count);
    if (!dims) return rule_no_memory(c->node, err);
    for (size_t d = 0; d < count; d++) dims[d] = front[d];
    for (int32_t d = 0; d < item->rank; d++) dims[count + (size_t)d] = item->dims[d];
    op_set_output(c, i, item->dtype, item->rank + (int32_t)count, dims);
    return PGY_OK;
}

static pgy_status infer_batched(op_infer *c, pgy_error *err)
{
    const op_node *n = c->node;
    size_t states;
    bool known;
    pgy_status st = batched_states(&states, n, err);
    if (st) return st;
    const size_t count = n->input_count - 1;
    dim front[2] = {dim_unknown(c->dims, "the batch of a scan is not known"),
                    dim_unknown(c->dims, "the length of a scan is not known")};
    op_value *in = arena_alloc_array(c->memory, count, sizeof *in);
    op_value *out = arena_alloc_array(c->memory, n->output_count, sizeof *out);
    if (!in || !out) return rule_no_memory(n, err);
    for (size_t k = 0; k < count; k++) {
        const op_value *v = &c->inputs[k + 1];
        const int32_t axes = k < states ? 1 : 2;
        in[k] = (op_value){.dtype = v->dtype, .rank = -1};
        if (v->rank < 0) continue;
        if (v->rank < axes)
            return op_error(
                n, err, PGY_E_SHAPE,
                "input %zu has rank %d, but needs the batch axis and, if scanned, the scan axis",
                k + 1, v->rank);
        in[k].rank = v->rank - axes;
        in[k].dims = v->dims + axes;
        for (int32_t d = 0; d < axes; d++)
            if (!op_unify(&front[d], front[d], v->dims[d]))
                return op_error(n, err, PGY_E_SHAPE,
                                "input %zu has another batch or length than the other inputs",
                                k + 1);
    }
    st = loop_infer_body(c, in, count, 0, out, n->output_count, 0, states, &known, err);
    for (size_t i = 0; !st && known && i < n->output_count; i++)
        st = set_batched(c, i, i < states ? &in[i] : &out[i], front, i < states ? 1 : 2, err);
    return st;
}

typedef struct batched {
    op_tensor *in, *out;
    /* per output: final states of all batch items, or outputs of all steps */
    loop_stack *collected;
    size_t states, count, batch, length;
} batched;

static pgy_status batched_init(batched *s, const op_eval *c, pgy_error *err)
{
    const op_node *n = c->node;
    pgy_status st = batched_states(&s->states, n, err);
    if (st) return st;
    s->count = n->input_count - 1;
    s->in = mem_calloc(s->count, sizeof *s->in);
    s->out = mem_calloc(n->output_count, sizeof *s->out);
    s->collected = mem_calloc(n->output_count, sizeof *s->collected);
    if (!s->in || !s->out || !s->collected) return rule_no_memory(n, err);
    for (size_t k = 0; k < s->count; k++) {
        pgy_tensor *t;
        st = rule_input(c, k + 1, &t, err);
        if (st) return st;
        const bool scanned = k >= s->states;
        const int64_t *shape = pgy_tensor_shape(t);
        if (pgy_tensor_rank(t) < (scanned ? 2 : 1) || (k && (size_t)shape[0] != s->batch) ||
            (k > s->states && (size_t)shape[1] != s->length))
            return op_error(n, err, PGY_E_SHAPE,
                            "input %zu has another batch or length than the other inputs", k + 1);
        s->batch = (size_t)shape[0];
        if (scanned) s->length = (size_t)shape[1];
    }
    return PGY_OK;
}

static void batched_deinit(batched *s, const op_node *n)
{
    for (size_t i = 0; s->in && i < s->count; i++) op_tensor_release(&s->in[i]);
    for (size_t i = 0; s->out && i < n->output_count; i++) op_tensor_release(&s->out[i]);
    for (size_t i = 0; s->collected && i < n->output_count; i++)
        loop_stack_deinit(&s->collected[i]);
    mem_free(s->in);
    mem_free(s->out);
    mem_free(s->collected);
}

static pgy_status batched_step(batched *s, const op_eval *c, size_t item, size_t at, pgy_error *err)
{
    const op_node *n = c->node;
    pgy_status st = PGY_OK;
    for (size_t k = s->states; !st && k < s->count; k++) {
        const bool backwards = entry(n, "directions", k - s->states) == 1;
        op_tensor line = {0};
        op_tensor_release(&s->in[k]);
        st = take_slice(&line, &c->inputs[k + 1], 0, item, err);
        if (!st) st = take_slice(&s->in[k], &line, 0, backwards ? s->length - 1 - at : at, err);
        op_tensor_release(&line);
    }
    if (!st) st = loop_run_graph(c, "body", s->in, s->count, s->out, n->output_count, err);
    for (size_t i = 0; !st && i < n->output_count; i++) {
        if (i >= s->states) {
            st = loop_stack_push(&s->collected[i], c, &s->out[i], err);
            continue;
        }
        op_tensor_release(&s->in[i]);
        s->in[i] = s->out[i];
        s->out[i] = (op_tensor){0};
    }
    for (size_t i = 0; i < n->output_count; i++) op_tensor_release(&s->out[i]);
    return st;
}

/* Outputs of steps beyond an item's length are zeros. */
static pgy_status pad_item(batched *s, const op_eval *c, size_t steps, pgy_error *err)
{
    for (size_t i = s->states; i < c->node->output_count; i++) {
        loop_stack *stack = &s->collected[i];
        op_tensor zeros = {.dtype = stack->dtype};
        if (steps < s->length && !stack->count)
            return op_error(
                c->node, err, PGY_E_UNSUPPORTED,
                "the first batch entry has no steps, so the type of a result is unknown");
        pgy_status st = PGY_OK;
        if (steps < s->length)
            st = pgy_tensor_create(&zeros.value, pgy_tensor_dtype(stack->items[0]),
                                   pgy_tensor_rank(stack->items[0]),
                                   pgy_tensor_shape(stack->items[0]), err);
        for (size_t at = steps; !st && at < s->length; at++)
            st = loop_stack_push(stack, c, &zeros, err);
        op_tensor_release(&zeros);
        if (st) return st;
    }
    return PGY_OK;
}

static pgy_status batched_item(batched *s, const op_eval *c, size_t item, pgy_error *err)
{
    const int64_t *lengths = NULL;
    size_t given = 0, steps = s->length;
    pgy_status st = PGY_OK;
    if (op_has_value(c, 0)) st = op_eval_ints(c, 0, &lengths, &given, err);
    if (st) return st;
    if (lengths && (given != s->batch || lengths[item] < 0 || (size_t)lengths[item] > s->length))
        return op_error(
            c->node, err, PGY_E_SHAPE,
            "input 0 (sequence_lens) does not fit the batch or the length of the inputs");
    if (lengths) steps = (size_t)lengths[item];
    for (size_t k = 0; !st && k < s->states; k++) {
        op_tensor_release(&s->in[k]);
        st = take_slice(&s->in[k], &c->inputs[k + 1], 0, item, err);
    }
    for (size_t at = 0; !st && at < steps; at++) st = batched_step(s, c, item, at, err);
    if (!st) st = pad_item(s, c, steps, err);
    for (size_t i = 0; !st && i < s->states; i++)
        st = loop_stack_push(&s->collected[i], c, &s->in[i], err);
    return st;
}

/* Splits the batch axis off the steps' outputs [batch * length, ...]. */
static pgy_status split_batch(op_eval *c, size_t i, const batched *s, pgy_error *err)
{
    pgy_tensor *joined = c->outputs[i].value, *split = NULL;
    int64_t shape[PGY_MAX_RANK + 1] = {(int64_t)s->batch, (int64_t)s->length};
    const size_t rank = pgy_tensor_rank(joined) + 1;
    pgy_status st = rule_check_rank(c->node, (int64_t)rank, err);
    if (st) return st;
    for (size_t d = 2; d < rank; d++) shape[d] = pgy_tensor_shape(joined)[d - 1];
    st = pgy_tensor_reshape(&split, joined, rank, shape, err);
    if (st) return st;
    pgy_tensor_release(joined);
    c->outputs[i].value = split;
    return PGY_OK;
}

static pgy_status eval_batched(op_eval *c, pgy_error *err)
{
    batched s = {0};
    pgy_status st = batched_init(&s, c, err);
    for (size_t item = 0; !st && item < s.batch; item++) st = batched_item(&s, c, item, err);
    for (size_t i = 0; !st && i < c->node->output_count; i++) {
        const bool made = s.collected[i].count > 0;
        st = loop_stack_join(&s.collected[i], c, i, 0, false, err);
        if (!st && made && i >= s.states) st = split_batch(c, i, &s, err);
    }
    batched_deinit(&s, c->node);
    return st;
}

const op_def OP_scan[] = {
    {.name = "Scan",
     .domain = "",
     .since = 8,
     .min_inputs = 2,
     .max_inputs = 255,
     .min_outputs = 1,
     .max_outputs = 255,
     .flags = OP_VARIADIC_INPUTS | OP_VARIADIC_OUTPUTS | OP_HAS_GRAPHS,
     .attrs = ATTRS_8,
     .types = "",
     .infer = infer_batched,
     .eval = eval_batched,
     .flops = rule_no_flops},
    {.name = "Scan",
     .domain = "",
     .since = 9,
     .min_inputs = 1,
     .max_inputs = 255,
     .min_outputs = 1,
     .max_outputs = 255,
     .flags = OP_VARIADIC_INPUTS | OP_VARIADIC_OUTPUTS | OP_HAS_GRAPHS,
     .attrs = ATTRS,
     .types = "",
     .infer = infer,
     .eval = eval,
     .flops = rule_no_flops},
    {0},
};
