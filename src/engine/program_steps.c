/* SPDX-License-Identifier: Apache-2.0 */
/* From nodes to steps: every kernel that knows the operator is asked, the cheapest one is taken,
 * what it reads is brought into the layout it wants. Where no kernel helps, the reference
 * definition does the node. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "engine/build.h"
#include "engine/reference_step.h"

static const char LOG_PATH[] = "backend/trt/algorithm_selector.py";

static const double REFERENCE_NS = 20; /* for an element: so slow that it is never a rival */

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while building the program");
}

/* ---- Steps ---------------------------------------------------------------------------------- */

static pgy_status add_step(builder *b, const program_step *step, pgy_error *err)
{
    program *p = b->p;
    if (!mem_grow((void **)&p->steps, &b->step_capacity, p->step_count + 1, sizeof *p->steps))
        return no_memory(err);
    p->steps[p->step_count++] = *step;
    return PGY_OK;
}

/* Packed bytes move into the constants. */
static pgy_status keep_packed(program_step *step, builder *b, pgy_error *err)
{
    kernel_plan *plan = &step->plan;
    if (!plan->packed) return PGY_OK;
    const pgy_status st = build_constant_room(&step->packed_offset, b, plan->packed_bytes, err);
    if (!st)
        memcpy((char *)b->p->constants + step->packed_offset, plan->packed, plan->packed_bytes);
    mem_free(plan->packed);
    plan->packed = NULL;
    return st;
}

static pgy_status prepare(program_step *step, builder *b, const kernel_use *use, pgy_error *err)
{
    program *p = b->p;
    pgy_status st = step->kernel->prepare(&step->plan, use, err);
    if (st) return pgy_error_prefix(err, st, "%s '%s': ", step->op_type, step->label);
    st = keep_packed(step, b, err);
    if (step->plan.workspace_bytes > p->workspace_bytes)
        p->workspace_bytes = step->plan.workspace_bytes;
    if (step->plan.scratch_bytes > p->scratch_bytes) p->scratch_bytes = step->plan.scratch_bytes;
    return st;
}

static kernel_tensor describe(const builder *b, uint32_t tensor)
{
    if (tensor == PROGRAM_NO_TENSOR) return (kernel_tensor){0};
    const build_tensor *t = &b->tensors[tensor], *root = &b->tensors[t->root];
    return (kernel_tensor){.dtype = t->t.dtype,
                           .rank = t->t.rank,
                           .shape = t->t.shape,
                           .layout = t->t.layout,
                           .data = root->constant ? pgy_tensor_data(root->constant) : NULL};
}

pgy_status build_move(builder *b, uint32_t from, uint32_t to, pgy_error *err)
{
    const bool same = b->tensors[from].t.layout == b->tensors[to].t.layout;
    kernel_use use = {.input_count = 1, .output_count = 1};
    use.inputs[0] = describe(b, from);
    use.outputs[0] = describe(b, to);
    program_step step = {.label = b->tensors[from].t.name,
                         .op_type = same ? "Copy" : "Reorder",
                         .kernel = kernel_find(same ? "copy" : "reorder", 1),
                         .input_count = 1,
                         .output_count = 1};
    uint32_t *tensors = arena_alloc_array(&b->p->memory, 2, sizeof *tensors);
    if (!tensors) return no_memory(err);
    tensors[0] = from;
    tensors[1] = to;
    step.tensors = tensors;
    if (!kernel_accept(step.kernel, &use, &step.cost_ns))
        return pgy_error_set(err, PGY_E_INTERNAL, "'%s' cannot be moved to another layout",
                             step.label);
    pgy_status st = build_store_constant(b, from, err);
    if (!st) st = prepare(&step, b, &use, err);
    if (!st) st = add_step(b, &step, err);
    if (st) kernel_plan_deinit(&step.plan);
    return st;
}

/* The tensor in a layout: itself, or a copy that is made once. */
static pgy_status in_layout(uint32_t *out, builder *b, uint32_t tensor, kernel_layout layout,
                            pgy_error *err)
{
    *out = tensor;
    if (tensor == PROGRAM_NO_TENSOR || b->tensors[tensor].t.layout == layout) return PGY_OK;
    if (b->tensors[tensor].reordered[layout]) {
        *out = b->tensors[tensor].reordered[layout];
        return PGY_OK;
    }
    pgy_status st = build_tensor_copy(out, b, tensor, layout, err);
    if (st) return st;
    b->tensors[tensor].reordered[layout] = *out;
    return build_move(b, tensor, *out, err);
}

/* ---- Views ---------------------------------------------------------------------------------- */

static bool is_view(const pgy_node *n)
{
    static const char *const VIEWS[] = {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"};
    for (size_t i = 0; i < sizeof VIEWS / sizeof *VIEWS; i++)
        if (node_is(n, VIEWS[i])) return true;
    return false;
}

static pgy_status build_view(builder *b, pgy_node *n, pgy_error *err)
{
    uint32_t from, to;
    pgy_status st = build_tensor_of(&from, b, n->inputs[0], err);
    if (!st && !node_is(n, "Identity")) st = in_layout(&from, b, from, KERNEL_LINEAR, err);
    if (!st) st = build_tensor_add(&to, b, n->outputs[0], PROGRAM_ARENA, err);
    if (st) return st;
    build_tensor *view = &b->tensors[to];
    const build_tensor *source = &b->tensors[from];
    if (view->t.dtype != source->t.dtype ||
        (source->t.layout == KERNEL_LINEAR && view->t.size_bytes != source->t.size_bytes))
        return node_error(n, err, PGY_E_INTERNAL, "the view is not of the size of its source");
    view->root = source->root;
    view->t.layout = source->t.layout;
    view->t.size_bytes = source->t.size_bytes;
    build_bind(n->outputs[0], to);
    return PGY_OK;
}

/* ---- Nodes ---------------------------------------------------------------------------------- */

/* A node with the tensors of what it reads. */
typedef struct candidate {
    pgy_node *node;
    op_node op;
    uint32_t *tensors; /* inputs, captured, outputs */
    size_t captured_count;
    kernel_use use; /* with the layouts that the chosen kernel wants */
    const kernel *kernel;
    double cost_ns;
} candidate;

static double reorder_cost(const kernel_use *offered, const kernel_use *wanted)
{
    double cost = 0;
    for (size_t i = 0; i < offered->input_count; i++)
        if (offered->inputs[i].layout != wanted->inputs[i].layout)
            cost += 0.5 * (double)kernel_size_bytes(&wanted->inputs[i]);
    return cost;
}

static bool is_possible(const kernel_use *offered, const kernel_use *wanted)
{
    for (size_t i = 0; i < offered->input_count; i++)
        if (offered->inputs[i].data && wanted->inputs[i].layout != KERNEL_LINEAR) return false;
    return true;
}

/* The kernel that a replay names, or the reference. */
static pgy_status replay_kernel(candidate *c, const kernel_use *offered, const tactic *t,
                                pgy_error *err)
{
    const char *domain = domain_is_default(c->node->domain) ? "" : c->node->domain;
    c->kernel = NULL;
    if (tactic_is(t, NULL)) return PGY_OK;
    for (size_t i = 0;; i++) {
        const kernel *k = kernel_for(domain, c->node->op_type, i);
        if (!k) break;
        kernel_use use = *offered;
        double cost = 0;
        if (!tactic_is(t, k) || !kernel_accept(k, &use, &cost) || !is_possible(offered, &use)) continue;
        c->kernel = k;
        c->cost_ns = cost + reorder_cost(offered, &use);
        c->use = use;
        return PGY_OK;
    }
    return node_error(c->node, err, PGY_E_NOT_FOUND,
                      "the tactic replay wants '%s', which is no choice for this node here",
                      tactic_name(t));
}

static void choose_kernel(candidate *c, const kernel_use *offered)
{
    const char *domain = domain_is_default(c->node->domain) ? "" : c->node->domain;
    c->kernel = NULL;
    for (size_t i = 0;; i++) {
        const kernel *k = kernel_for(domain, c->node->op_type, i);
        if (!k) return;
        kernel_use use = *offered;
        double cost = 0;
        if (!kernel_accept(k, &use, &cost) || !is_possible(offered, &use)) continue;
        const double whole = cost + reorder_cost(offered, &use);
        if (c->kernel && whole >= c->cost_ns) continue;
        c->kernel = k;
        c->cost_ns = whole;
        c->use = use;
    }
}

static pgy_status select_kernel(candidate *c, const kernel_use *offered, const tactics *replay,
                                pgy_error *err)
{
    const tactic *t = replay ? tactics_find(replay, node_label(c->node)) : NULL;
    if (t) return replay_kernel(c, offered, t, err);
    if (replay)
        LOG_ONCE(WARNING, "The tactic replay does not name '%s'; its kernel is chosen freely",
                 node_label(c->node));
    choose_kernel(c, offered);
    return PGY_OK;
}

static pgy_status gather_inputs(candidate *c, builder *b, pgy_error *err)
{
    pgy_node *n = c->node;
    const node_box *box = node_box_of(n);
    pgy_status st = node_captures(n, err);
    c->captured_count = box->captured_count;
    const size_t count = n->input_count + c->captured_count + n->output_count;
    c->tensors = arena_alloc_array(&b->p->memory, count, sizeof *c->tensors);
    if (!st && !c->tensors) st = no_memory(err);
    for (size_t i = 0; !st && i < n->input_count; i++)
        st = build_tensor_of(&c->tensors[i], b, n->inputs[i], err);
    for (size_t i = 0; !st && i < c->captured_count; i++)
        st = build_tensor_of(&c->tensors[n->input_count + i], b, box->captured[i], err);
    return st;
}

static pgy_status add_outputs(candidate *c, builder *b, pgy_error *err)
{
    pgy_node *n = c->node;
    uint32_t *tensors = c->tensors + n->input_count + c->captured_count;
    for (size_t i = 0; i < n->output_count; i++) {
        tensors[i] = PROGRAM_NO_TENSOR;
        if (!n->outputs[i]) continue;
        const pgy_status st = build_tensor_add(&tensors[i], b, n->outputs[i], PROGRAM_ARENA, err);
        if (st) return st;
    }
    return PGY_OK;
}

static pgy_status describe_use(kernel_use *use, candidate *c, const builder *b)
{
    const pgy_node *n = c->node;
    *use = (kernel_use){
        .node = &c->op, .input_count = n->input_count, .output_count = n->output_count};
    if (n->input_count > KERNEL_MAX_INPUTS || n->output_count > KERNEL_MAX_OUTPUTS)
        return PGY_E_UNSUPPORTED;
    for (size_t i = 0; i < n->input_count; i++) use->inputs[i] = describe(b, c->tensors[i]);
    for (size_t i = 0; i < n->output_count; i++)
        use->outputs[i] = describe(b, c->tensors[n->input_count + c->captured_count + i]);
    return PGY_OK;
}

static void place_outputs(const candidate *c, builder *b)
{
    const pgy_node *n = c->node;
    for (size_t i = 0; i < n->output_count; i++) {
        if (!n->outputs[i]) continue;
        const uint32_t index = c->tensors[n->input_count + c->captured_count + i];
        program_tensor *t = &b->tensors[index].t;
        const kernel_tensor *wanted = &c->use.outputs[i];
        t->layout = c->kernel ? wanted->layout : KERNEL_LINEAR;
        const kernel_tensor k = {
            .dtype = t->dtype, .rank = t->rank, .shape = t->shape, .layout = t->layout};
        t->size_bytes = kernel_size_bytes(&k);
        build_bind(n->outputs[i], index);
        if (!n->outputs[i]->is_output || t->layout != KERNEL_LINEAR) continue;
        for (size_t o = 0; o < b->graph->output_count; o++) {
            if (b->graph->outputs[o] != n->outputs[i]) continue;
            t->place = PROGRAM_OUTPUT;
            t->offset = o;
            break;
        }
    }
}

static pgy_status bring_inputs(candidate *c, builder *b, pgy_error *err)
{
    const size_t count = c->node->input_count;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count + c->captured_count; i++)
        st = in_layout(&c->tensors[i], b, c->tensors[i],
                       c->kernel ? c->use.inputs[i].layout : KERNEL_LINEAR, err);
    return st;
}

static pgy_status store_constants(candidate *c, builder *b, uint32_t packed_inputs, pgy_error *err)
{
    const size_t count = c->node->input_count + c->captured_count;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < count; i++) {
        if (i < KERNEL_MAX_INPUTS && (packed_inputs >> i & 1)) c->tensors[i] = PROGRAM_NO_TENSOR;
        if (c->tensors[i] != PROGRAM_NO_TENSOR) st = build_store_constant(b, c->tensors[i], err);
    }
    return st;
}

static double reference_cost(const candidate *c)
{
    double count = 0;
    for (size_t i = 0; i < c->use.output_count && i < KERNEL_MAX_OUTPUTS; i++)
        if (c->use.outputs[i].dtype) count += (double)kernel_count(&c->use.outputs[i]);
    return count * REFERENCE_NS;
}

static pgy_status emit(candidate *c, builder *b, pgy_error *err)
{
    pgy_node *n = c->node;
    program_step step = {.label = arena_strdup(&b->p->memory, node_label(n)),
                         .op_type = arena_strdup(&b->p->memory, n->op_type),
                         .kernel = c->kernel,
                         .node = n,
                         .tensors = c->tensors,
                         .input_count = (uint32_t)n->input_count,
                         .captured_count = (uint32_t)c->captured_count,
                         .output_count = (uint32_t)n->output_count,
                         .cost_ns = c->kernel ? c->cost_ns : reference_cost(c)};
    if (!step.label || !step.op_type) return no_memory(err);
    pgy_status st = c->kernel ? prepare(&step, b, &c->use, err) : reference_step_prepare(n, err);
    if (!st) st = store_constants(c, b, step.plan.packed_inputs, err);
    if (!st) st = add_step(b, &step, err);
    if (st) kernel_plan_deinit(&step.plan);
    return st;
}

static bool computes_nothing(const pgy_node *n)
{
    for (size_t i = 0; i < n->output_count; i++)
        if (n->outputs[i] && !build_is_constant(n->outputs[i])) return false;
    return true;
}

pgy_status build_node(builder *b, pgy_node *n, pgy_error *err)
{
    candidate c = {.node = n};
    kernel_use offered;
    pgy_status st = node_prepare(n, err);
    if (st || computes_nothing(n)) return st;
    if (is_view(n)) return build_view(b, n, err);
    const node_box *box = node_box_of(n);
    if (!box->def && !box->function)
        return node_error(n, err, PGY_E_UNSUPPORTED, "its operator is not known");
    c.op = (op_node){.def = box->def,
                     .name = node_label(n),
                     .opset = box->opset,
                     .input_count = n->input_count,
                     .output_count = n->output_count};
    st = node_attrs(&c.op.attrs, &c.op.attr_count, n, NULL, &b->p->memory, err);
    if (!st) st = gather_inputs(&c, b, err);
    if (!st) st = add_outputs(&c, b, err);
    if (st) return st;
    const bool fits = describe_use(&offered, &c, b) == PGY_OK;
    c.use = offered;
    if (fits && !n->subgraph_count && !box->function)
        st = select_kernel(&c, &offered, b->options->replay, err);
    if (st) return st;
    st = bring_inputs(&c, b, err);
    place_outputs(&c, b);
    return st ? st : emit(&c, b, err);
}
