/* SPDX-License-Identifier: Apache-2.0 */
/* Loops. The body is a subgraph that is filled while the loop is open; closing turns it into one
 * ONNX Loop. TensorRT evaluates a while condition before an iteration, but ONNX at the end of the
 * previous one. So the nodes that compute it are copied twice: outside, on the initial values of
 * the recurrences, and inside, on their next values. */
#include <string.h>

#include "engine/network/network.h"

enum { MAX_PARTS = 64, MAX_COPIED = 256 };

typedef struct recurrence {
    pgy_layer *layer;
    pgy_value *initial, *inside, *next;
} recurrence;

typedef struct loop_output {
    pgy_layer *layer;
    pgy_value *v;
    pgy_loop_output_kind kind;
    int32_t axis;
    size_t recurrence; /* index of the recurrence whose last value it is */
} loop_output;

struct pgy_loop {
    pgy_network *net, *body;
    pgy_value *iteration, *running; /* inputs of the body: iteration number and condition */
    pgy_layer *count_layer, *while_layer;
    pgy_value *count, *condition;
    recurrence recurrences[MAX_PARTS];
    loop_output outputs[MAX_PARTS];
    pgy_layer *iterators[MAX_PARTS];
    size_t recurrence_count, output_count, iterator_count;
    bool closed;
};

/* ---- Opening -------------------------------------------------------------------------------- */

pgy_status pgy_network_add_loop(pgy_loop **out, pgy_network *net, pgy_error *err)
{
    static const op_value COUNTER = {.dtype = PGY_I64}, CONDITION = {.dtype = PGY_BOOL};
    if (!out || !net || net->closed || net->root->refused)
        return pgy_error_set(
            err, PGY_E_ARGUMENT,
            "layers cannot be added: the network is NULL, closed or not editable%s%s",
            net && net->root->refused ? ": " : "",
            net && net->root->refused ? net->root->refused : "");
    graph_state *s = state_of(net->level);
    pgy_loop *loop = arena_alloc(&s->memory, sizeof *loop);
    const size_t number = net->root->layer_numbers++;
    char *counter = arena_printf(&s->memory, "Loop_%zu_iteration", number);
    char *running = arena_printf(&s->memory, "Loop_%zu_running", number);
    if (!loop || !counter || !running) return network_no_memory(err);
    loop->net = net;
    pgy_status st = build_open_level(&loop->body, net, err);
    if (!st)
        st = network_declare_input(&loop->iteration, loop->body->level, counter, &COUNTER, err);
    if (!st)
        st = network_declare_input(&loop->running, loop->body->level, running, &CONDITION, err);
    if (st) return st;
    net->open_count++;
    *out = loop;
    return PGY_OK;
}

pgy_network *pgy_loop_body(pgy_loop *loop)
{
    return loop->body;
}

static builder start_part(pgy_loop *loop, pgy_network *net, pgy_layer_type type, pgy_value *v,
                          pgy_error *err)
{
    builder b = build_with(loop ? net : NULL, type, v, err);
    if (!b.status && loop->closed) build_fail(&b, PGY_E_ARGUMENT, "its loop is already closed");
    if (!b.status) b.box->owner = loop;
    return b;
}

static void check_scalar(builder *b, const pgy_value *v)
{
    for (int32_t i = 0; !b->status && i < build_rank(b, v); i++)
        if (build_size(b, v, i) != 1)
            build_fail(b, PGY_E_SHAPE, "the trip count or condition of a loop must be a scalar");
}

pgy_status pgy_loop_add_trip_count(pgy_layer **out, pgy_loop *loop, pgy_value *count,
                                   pgy_error *err)
{
    pgy_layer *layer = NULL;
    builder b = start_part(loop, loop ? loop->net : NULL, PGY_LAYER_TRIP_LIMIT, count, err);
    if (!b.status && loop->count)
        build_fail(&b, PGY_E_ARGUMENT, "the loop already has a trip count");
    if (!b.status && !pgy_dtype_is_integer(build_dtype(&b, count)))
        build_fail(&b, PGY_E_TYPE, "the trip count is %s; expected an integer",
                   pgy_dtype_name(count->dtype));
    check_scalar(&b, count);
    const pgy_status st = build_finish(&b, &layer);
    if (st) return st;
    loop->count = count;
    loop->count_layer = layer;
    if (out) *out = layer;
    return PGY_OK;
}

pgy_status pgy_loop_add_while(pgy_layer **out, pgy_loop *loop, pgy_value *condition, pgy_error *err)
{
    pgy_layer *layer = NULL;
    builder b = start_part(loop, loop ? loop->body : NULL, PGY_LAYER_TRIP_LIMIT, condition, err);
    if (!b.status && loop->condition)
        build_fail(&b, PGY_E_ARGUMENT, "the loop already has a condition");
    if (!b.status && build_dtype(&b, condition) != PGY_BOOL)
        build_fail(&b, PGY_E_TYPE, "the condition is %s; expected bool",
                   pgy_dtype_name(condition->dtype));
    check_scalar(&b, condition);
    const pgy_status st = build_finish(&b, &layer);
    if (st) return st;
    loop->condition = condition;
    loop->while_layer = layer;
    if (out) *out = layer;
    return PGY_OK;
}

/* ---- Recurrences and iterators -------------------------------------------------------------- */

static void check_outside(builder *b, const pgy_loop *loop, const pgy_value *v)
{
    if (!b->status && !network_can_see(loop->net, v))
        build_fail(b, PGY_E_ARGUMENT, "tensor '%s' is not available outside of the loop", v->name);
}

pgy_status pgy_loop_add_recurrence(pgy_layer **out, pgy_loop *loop, pgy_value *initial,
                                   pgy_error *err)
{
    pgy_layer *layer = NULL;
    pgy_value *inside = NULL;
    builder b = start_part(loop, loop ? loop->body : NULL, PGY_LAYER_RECURRENCE, initial, err);
    if (!b.status) check_outside(&b, loop, initial);
    if (!b.status && loop->recurrence_count == MAX_PARTS)
        build_fail(&b, PGY_E_UNSUPPORTED, "a loop has at most %d recurrences", MAX_PARTS);
    (void)build_rank(&b, initial);
    if (b.status) return build_finish(&b, NULL);
    char *name = arena_printf(&state_of(loop->body->level)->memory, "%s_output", b.box->layer.name);
    if (!name) return network_no_memory(err);
    pgy_status st =
        network_declare_input(&inside, loop->body->level, name, &box_of(initial)->known, err);
    if (st) return st;
    build_output(&b, inside);
    b.box->slot = loop->recurrence_count;
    st = build_finish(&b, &layer);
    if (st) return st;
    loop->recurrences[loop->recurrence_count++] =
        (recurrence){.layer = layer, .initial = initial, .inside = inside};
    if (out) *out = layer;
    return PGY_OK;
}

pgy_status pgy_loop_set_next(pgy_layer *layer, pgy_value *next, pgy_error *err)
{
    if (!layer || layer->type != PGY_LAYER_RECURRENCE)
        return pgy_error_set(err, PGY_E_ARGUMENT, "layer '%s' is not a recurrence of a loop",
                             layer ? layer->name : "");
    const layer_box *box = layer->internal;
    pgy_loop *loop = box->owner;
    const pgy_value *inside = layer->outputs[0];
    if (loop->closed || !next || !network_can_see(loop->body, next) || !network_is_linked(next))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "layer '%s' (RECURRENCE): tensor '%s' is not available in the loop, "
                             "or the loop is closed",
                             layer->name, next ? next->name : "");
    bool same = next->dtype == inside->dtype && next->rank == inside->rank;
    for (int32_t i = 0; same && i < next->rank; i++)
        same = next->dims[i].value < 0 || inside->dims[i].value < 0 ||
               next->dims[i].value == inside->dims[i].value;
    if (!same) {
        str a = {0}, b = {0};
        network_describe_value(&a, inside);
        network_describe_value(&b, next);
        pgy_error_set(err, PGY_E_SHAPE,
                      "layer '%s' (RECURRENCE): the recurrence is %s, but its next value is %s; "
                      "type and shape must agree",
                      layer->name, str_text(&a), str_text(&b));
        str_deinit(&a);
        str_deinit(&b);
        return PGY_E_SHAPE;
    }
    loop->recurrences[box->slot].next = next;
    return PGY_OK;
}

pgy_status pgy_loop_add_iterator(pgy_layer **out, pgy_loop *loop, pgy_value *tensor, int32_t axis,
                                 bool reverse, pgy_error *err)
{
    builder b = start_part(loop, loop ? loop->body : NULL, PGY_LAYER_ITERATOR, tensor, err);
    if (!b.status) check_outside(&b, loop, tensor);
    const int32_t at = build_axis(&b, axis, build_rank(&b, tensor));
    pgy_value *index = b.status ? NULL : loop->iteration;
    if (reverse) {
        pgy_value *last = build_emit(&b, "Sub", 2, build_dim(&b, tensor, at), build_index(&b, 1));
        index = build_emit(&b, "Sub", 2, last, index);
    }
    build_output(&b, build_int(&b, build_emit(&b, "Gather", 2, tensor, index), "axis", at));
    return build_finish(&b, out);
}

/* ---- Outputs of the loop -------------------------------------------------------------------- */

static size_t find_recurrence(const pgy_loop *loop, const pgy_value *v)
{
    size_t i = 0;
    while (i < loop->recurrence_count && loop->recurrences[i].inside != v) i++;
    return i;
}

pgy_status pgy_loop_add_output(pgy_layer **out, pgy_loop *loop, pgy_value *v,
                               pgy_loop_output_kind kind, int32_t axis, pgy_error *err)
{
    pgy_layer *layer = NULL;
    builder b = start_part(loop, loop ? loop->body : NULL, PGY_LAYER_LOOP_OUTPUT, v, err);
    if (b.status) return build_finish(&b, NULL);
    const size_t r = find_recurrence(loop, v);
    int32_t at = 0;
    if ((size_t)kind > PGY_LOOP_REVERSE)
        build_fail(&b, PGY_E_ARGUMENT, "%d is not a kind of loop output", (int)kind);
    if (kind == PGY_LOOP_LAST_VALUE && r == loop->recurrence_count)
        build_fail(&b, PGY_E_ARGUMENT,
                   "tensor '%s' is not a recurrence of the loop, so it has no last value", v->name);
    if (kind != PGY_LOOP_LAST_VALUE) at = build_axis(&b, axis, build_rank(&b, v) + 1);
    if (loop->output_count == MAX_PARTS)
        build_fail(&b, PGY_E_UNSUPPORTED, "a loop has at most %d outputs", MAX_PARTS);
    b.box->layer.network = loop->net;
    const pgy_status st = build_finish(&b, &layer);
    if (st) return st;
    loop->body->layer_count--; /* the layer belongs to the outer network, not to the body */
    loop->outputs[loop->output_count++] =
        (loop_output){.layer = layer, .v = v, .kind = kind, .axis = at, .recurrence = r};
    if (out) *out = layer;
    return network_add_record(loop->net, layer, err);
}

/* ---- The condition, copied ------------------------------------------------------------------ */

typedef struct copying {
    builder *to;
    const pgy_loop *loop;
    bool inside; /* true: copies read the recurrences' next values; false: their initial ones */
    const pgy_value *from[MAX_COPIED];
    pgy_value *made[MAX_COPIED];
    size_t count;
    int depth;
} copying;

static pgy_value *copy(copying *c, pgy_value *v);

static pgy_value *copy_node(copying *c, const pgy_node *n, size_t index)
{
    pgy_value *inputs[16];
    str op = {0};
    if (n->subgraph_count || n->input_count > 16 || n->output_count + c->count > MAX_COPIED ||
        c->depth > MAX_COPIED) {
        build_fail(c->to, PGY_E_UNSUPPORTED,
                   "the condition of the loop depends on '%s', which has too many nodes or a "
                   "subgraph: the condition is copied to a place before the loop",
                   node_label(n));
        return NULL;
    }
    c->depth++;
    for (size_t i = 0; i < n->input_count; i++) inputs[i] = copy(c, n->inputs[i]);
    c->depth--;
    str_printf(&op, "%s%s%s", n->domain, *n->domain ? ":" : "", n->op_type);
    pgy_node *made = build_node(c->to, str_text(&op), inputs, n->input_count, n->output_count);
    str_deinit(&op);
    if (!made) return NULL;
    made->attributes = n->attributes;
    made->attribute_count = n->attribute_count;
    for (size_t i = 0; i < n->output_count; i++) {
        c->from[c->count] = n->outputs[i];
        c->made[c->count++] = made->outputs[i];
    }
    return made->outputs[index];
}

static pgy_value *copy(copying *c, pgy_value *v)
{
    if (c->to->status || !v || v->graph != c->loop->body->level) return v;
    const size_t r = find_recurrence(c->loop, v);
    if (r < c->loop->recurrence_count)
        return c->inside ? c->loop->recurrences[r].next : c->loop->recurrences[r].initial;
    for (size_t i = 0; i < c->count; i++)
        if (c->from[i] == v) return c->made[i];
    if (v->producer && v->producer->graph) {
        for (size_t i = 0; i < v->producer->input_count; i++)
            if (v->producer->inputs[i] == c->loop->iteration) {
                build_fail(c->to, PGY_E_UNSUPPORTED,
                           "the condition of the loop depends on the iterator '%s', which has no "
                           "value before the first iteration",
                           v->name);
                return NULL;
            }
        return copy_node(c, v->producer, v->output_index);
    }
    build_fail(
        c->to, PGY_E_UNSUPPORTED,
        "the condition of the loop depends on '%s', which has no value before the first iteration",
        v->name);
    return NULL;
}

static pgy_value *condition_for(builder *to, const pgy_loop *loop, bool inside)
{
    copying c = {.to = to, .loop = loop, .inside = inside};
    return build_scalar(to, copy(&c, loop->condition));
}

/* ---- Closing -------------------------------------------------------------------------------- */

static pgy_status check_parts(const pgy_loop *loop, pgy_error *err)
{
    if (loop->closed) return pgy_error_set(err, PGY_E_ARGUMENT, "the loop is already closed");
    if (loop->body->open_count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "a loop or conditional inside of the loop is not closed");
    if (!loop->count && !loop->condition)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the loop has neither a trip count nor a condition");
    if (!loop->output_count) return pgy_error_set(err, PGY_E_ARGUMENT, "the loop has no outputs");
    for (size_t i = 0; i < loop->recurrence_count; i++)
        if (!loop->recurrences[i].next)
            return pgy_error_set(
                err, PGY_E_ARGUMENT,
                "layer '%s' (RECURRENCE) has no next value: set it by pgy_loop_set_next",
                loop->recurrences[i].layer->name);
    return PGY_OK;
}

/* Sets the outputs of the body: the condition, next values, and the values to stack. */
static void close_body(builder *b, const pgy_loop *loop)
{
    pgy_value *values[1 + 2 * MAX_PARTS];
    size_t count = 0;
    values[count++] = loop->condition ? condition_for(b, loop, true) : loop->running;
    for (size_t i = 0; i < loop->recurrence_count; i++) values[count++] = loop->recurrences[i].next;
    for (size_t i = 0; i < loop->output_count; i++)
        if (loop->outputs[i].kind != PGY_LOOP_LAST_VALUE) values[count++] = loop->outputs[i].v;
    build_level_outputs(b, values, count);
}

static pgy_node *make_node(builder *b, const pgy_loop *loop)
{
    static const char *const NAMES[] = {"body"};
    pgy_value *inputs[2 + MAX_PARTS];
    size_t outputs = loop->recurrence_count;
    inputs[0] = loop->count ? build_cast(b, build_scalar(b, loop->count), PGY_I64) : NULL;
    inputs[1] = loop->condition ? condition_for(b, loop, false) : build_number(b, PGY_BOOL, 1);
    for (size_t i = 0; i < loop->recurrence_count; i++)
        inputs[2 + i] = loop->recurrences[i].initial;
    for (size_t i = 0; i < loop->output_count; i++)
        outputs += loop->outputs[i].kind != PGY_LOOP_LAST_VALUE;
    pgy_node *n = build_node(b, "Loop", inputs, 2 + loop->recurrence_count, outputs);
    build_attach(b, n, NAMES, &loop->body->level, 1);
    return n;
}

/* ONNX stacks results along axis 0. Moves that axis, or reverses it, as the loop output asks
 * for. */
static pgy_value *arrange(builder *b, const loop_output *o, pgy_value *v)
{
    const int64_t start = -1, end = INT64_MIN, axis = 0;
    int64_t perm[PGY_MAX_RANK];
    if (o->kind == PGY_LOOP_REVERSE)
        v = build_emit(b, "Slice", 5, v, build_vector(b, &start, 1), build_vector(b, &end, 1),
                       build_vector(b, &axis, 1), build_vector(b, &start, 1));
    const int32_t rank = build_rank(b, v);
    for (int32_t i = 0; i < rank; i++) perm[i] = i < o->axis ? i + 1 : i == o->axis ? 0 : i;
    return build_transpose(b, v, perm, rank);
}

static pgy_status give(pgy_loop *loop, builder *b, pgy_value *const *results, pgy_error *err)
{
    pgy_graph *g = loop->net->level;
    pgy_node *const *nodes = g->nodes + b->first_node;
    const size_t count = g->node_count - b->first_node;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < loop->output_count; i++)
        st = build_give(loop->outputs[i].layer, results[i], nodes, count, err);
    if (!st && loop->count_layer) st = build_give(loop->count_layer, NULL, nodes, count, err);
    if (!st && loop->while_layer) st = build_give(loop->while_layer, NULL, nodes, count, err);
    for (size_t i = 0; !st && i < loop->recurrence_count; i++)
        st = build_give(loop->recurrences[i].layer, NULL, nodes, count, err);
    return st;
}

pgy_status pgy_loop_close(pgy_loop *loop, pgy_error *err)
{
    pgy_value *results[MAX_PARTS] = {0};
    if (!loop) return pgy_error_set(err, PGY_E_ARGUMENT, "the loop must not be NULL");
    pgy_status st = check_parts(loop, err);
    if (st) return st;
    builder inner = build_start(loop->body, PGY_LAYER_LOOP, err);
    close_body(&inner, loop);
    st = build_commit(&inner);
    if (st) return st;
    builder outer = build_start(loop->net, PGY_LAYER_LOOP, err);
    pgy_node *n = make_node(&outer, loop);
    size_t next = loop->recurrence_count;
    for (size_t i = 0; n && i < loop->output_count; i++) {
        const loop_output *o = &loop->outputs[i];
        const bool last = o->kind == PGY_LOOP_LAST_VALUE;
        results[i] = last ? n->outputs[o->recurrence] : arrange(&outer, o, n->outputs[next++]);
    }
    st = build_commit(&outer);
    if (st) {
        build_abandon(&inner);
        return st;
    }
    st = network_place_assertions(loop->body, err);
    loop->closed = loop->body->closed = true;
    loop->net->open_count--;
    return st ? st : give(loop, &outer, results, err);
}
