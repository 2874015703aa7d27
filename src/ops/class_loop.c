/* SPDX-License-Identifier: Apache-2.0 */
/* Runs and infers the subgraphs of If, Loop and Scan. Shapes in loops are found by iteration: if a
 * carried value has another dimension after the body than before, this dimension becomes unknown
 * and the body is inferred again. */
#include "ops/class_loop.h"

#include "base/alloc.h"
#include "ops/class_sequence.h"
#include "ops/move.h"

enum { MAX_ROUNDS = 8 };

pgy_status loop_infer_graph(op_infer *c, const char *attr, const op_value *inputs,
                            size_t input_count, op_value *outputs, size_t output_count, bool *known,
                            pgy_error *err)
{
    const op_attr *a = op_attr_find(c->node, attr);
    *known = c->host && c->host->infer_graph && a && a->graph;
    for (size_t i = 0; i < output_count; i++) outputs[i] = (op_value){.rank = -1};
    if (!*known) return PGY_OK;
    return c->host->infer_graph(a->graph, inputs, input_count, outputs, output_count, c->host->user,
                                err);
}

/* Is d an unknown without an upper bound, so that it stands for every size? */
static bool is_open(dim d)
{
    int64_t most;
    return dim_is_unknown(d) && !dim_upper(&most, d);
}

static bool merge_dims(op_infer *c, op_value *to, const op_value *from, const char *why)
{
    bool changed = false;
    dim *dims = NULL;
    for (int32_t d = 0; d < to->rank; d++) {
        if (is_open(to->dims[d]) || dim_equal(to->dims[d], from->dims[d])) continue;
        if (!dims) dims = rule_copy_dims(c, to);
        if (!dims) {
            to->rank = -1;
            return true;
        }
        dims[d] = dim_unknown(c->dims, why);
        changed = true;
    }
    if (dims) to->dims = dims;
    return changed;
}

static bool same_elements(const op_value *a, const op_value *b)
{
    if (!a->elements || !b->elements || a->element_count != b->element_count) return false;
    for (size_t i = 0; i < a->element_count; i++)
        if (!dim_equal(a->elements[i], b->elements[i])) return false;
    return true;
}

/* loop_merge for the elements of two sequences. */
static bool merge_sequence(op_infer *c, op_value *to, const op_value *from, const char *why)
{
    op_value *element = arena_alloc(c->memory, sizeof *element);
    if (!element || !from->sequence || to->optional != from->optional) {
        to->sequence = NULL;
        to->optional = false;
        return true;
    }
    *element = *to->sequence;
    const bool changed = loop_merge(c, element, from->sequence, why);
    if (changed) to->sequence = element;
    return changed;
}

bool loop_merge(op_infer *c, op_value *to, const op_value *from, const char *why)
{
    bool changed = false;
    if (to->sequence && (to->sequence != from->sequence || to->optional != from->optional))
        changed = merge_sequence(c, to, from, why);
    if (to->data != from->data) to->data = NULL;
    if (!same_elements(to, from)) to->elements = NULL;
    if (to->dtype != from->dtype) {
        changed |= to->dtype != PGY_DTYPE_NONE;
        to->dtype = PGY_DTYPE_NONE;
    }
    if (from->rank == SEQUENCE_NO_ITEMS) return changed;
    if (to->rank == SEQUENCE_NO_ITEMS) {
        to->rank = from->rank;
        to->dims = from->dims;
        return true;
    }
    if (to->rank < 0) return changed;
    if (to->rank == from->rank) return merge_dims(c, to, from, why) || changed;
    to->rank = -1;
    to->dims = NULL;
    return true;
}

op_value loop_varying(const op_value *v)
{
    op_value varying = *v;
    varying.data = NULL;
    varying.elements = NULL;
    varying.element_count = 0;
    return varying;
}

pgy_status loop_infer_body(op_infer *c, op_value *inputs, size_t input_count, size_t first_in,
                           op_value *outputs, size_t output_count, size_t first_out, size_t count,
                           bool *known, pgy_error *err)
{
    for (size_t k = 0; k < count; k++) inputs[first_in + k] = loop_varying(&inputs[first_in + k]);
    for (int round = 0;; round++) {
        bool changed = false;
        pgy_status st =
            loop_infer_graph(c, "body", inputs, input_count, outputs, output_count, known, err);
        if (st || !*known) return st;
        for (size_t k = 0; k < count; k++) {
            op_value *in = &inputs[first_in + k];
            if (loop_merge(c, in, &outputs[first_out + k],
                           "it changes from one iteration to the next"))
                changed = true;
            if (round == MAX_ROUNDS && changed) in->rank = -1;
        }
        if (!changed || round > MAX_ROUNDS) return PGY_OK;
    }
}

pgy_status loop_run_graph(const op_eval *c, const char *attr, const op_tensor *inputs,
                          size_t input_count, op_tensor *outputs, size_t output_count,
                          pgy_error *err)
{
    const op_attr *a = op_attr_find(c->node, attr);
    if (!a || !a->graph)
        return op_error(c->node, err, PGY_E_FORMAT, "attribute '%s' lacks its graph", attr);
    if (!c->host || !c->host->run_graph)
        return op_error(c->node, err, PGY_E_UNSUPPORTED, "subgraphs cannot be run here");
    return c->host->run_graph(a->graph, inputs, input_count, outputs, output_count, c->host->user,
                              err);
}

void loop_set_output(op_eval *c, size_t i, op_tensor *result)
{
    op_tensor_release(&c->outputs[i]);
    c->outputs[i] = *result;
    *result = (op_tensor){0};
}

void loop_stack_deinit(loop_stack *s)
{
    for (size_t i = 0; i < s->count; i++) pgy_tensor_release(s->items[i]);
    mem_free(s->items);
    *s = (loop_stack){0};
}

static bool same_kind(const pgy_tensor *a, const pgy_tensor *b)
{
    return pgy_tensor_dtype(a) == pgy_tensor_dtype(b) &&
           pgy_view_same_shape(pgy_tensor_view(a), pgy_tensor_view(b));
}

pgy_status loop_stack_push(loop_stack *s, const op_eval *c, const op_tensor *t, pgy_error *err)
{
    if (!t->value)
        return op_error(c->node, err, PGY_E_TYPE,
                        "a value that is collected over iterations must be a tensor");
    if (s->count && !same_kind(s->items[0], t->value))
        return op_error(c->node, err, PGY_E_SHAPE,
                        "a value that is collected over iterations changes its shape or type");
    if (!mem_grow((void **)&s->items, &s->capacity, s->count + 1, sizeof *s->items))
        return rule_no_memory(c->node, err);
    s->items[s->count++] = pgy_tensor_retain(t->value);
    s->dtype = t->dtype;
    return PGY_OK;
}

static pgy_status join_nothing(op_eval *c, size_t output, pgy_error *err)
{
    const int64_t empty[] = {0};
    if (c->outputs[output].value || !c->wanted[output]) return PGY_OK;
    if (!c->outputs[output].dtype)
        return op_error(c->node, err, PGY_E_UNSUPPORTED,
                        "the type of output %zu is unknown, because there are no iterations",
                        output);
    return op_output(c, output, PGY_DTYPE_NONE, 1, empty, err);
}

pgy_status loop_stack_join(const loop_stack *s, op_eval *c, size_t output, int64_t axis,
                           bool reverse, pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK + 1];
    size_t at;
    move_box box, whole;
    if (!s->count) return join_nothing(c, output, err);
    const size_t rank = pgy_tensor_rank(s->items[0]) + 1;
    pgy_status st = rule_check_rank(c->node, (int64_t)rank, err);
    if (!st) st = op_axis(&at, c->node, axis, (int32_t)rank, err);
    if (st) return st;
    for (size_t d = 0, from = 0; d < rank; d++)
        shape[d] = d == at ? (int64_t)s->count : pgy_tensor_shape(s->items[0])[from++];
    st = op_output(c, output, s->dtype, rank, shape, err);
    if (st) return st;
    pgy_tensor *y = c->outputs[output].value;
    const size_t bytes = move_size(pgy_tensor_dtype(y));
    move_box_init(&whole, rank, shape);
    move_box_init(&box, rank - 1, pgy_tensor_shape(s->items[0]));
    for (size_t d = 0; d + 1 < rank; d++) box.to[d] = whole.to[d < at ? d : d + 1];
    for (size_t i = 0; i < s->count; i++) {
        const size_t place = reverse ? s->count - 1 - i : i;
        char *to = (char *)pgy_tensor_data(y) + place * (size_t)whole.to[at] * bytes;
        move_copy(to, pgy_tensor_data(s->items[i]), bytes, &box);
    }
    return move_own(y, err);
}
