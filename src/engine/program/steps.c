/* SPDX-License-Identifier: Apache-2.0 */
/* From nodes to steps. First every node gets its tensors, then selection chooses kernels for all
 * nodes (select.h), then the steps are made, with reorders into the layouts that the kernels want.
 * Nodes without a kernel run by their reference definition. */
#include <string.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "engine/build/progress.h"
#include "engine/program/build.h"
#include "engine/program/flops.h"
#include "engine/program/range_parts.h"
#include "engine/program/reference_step.h"
#include "engine/select/select.h"

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

/* Adds packed weights to the constants of the program. */
static pgy_status keep_packed(program_step *step, builder *b, pgy_error *err)
{
    kernel_plan *plan = &step->plan;
    if (!plan->packed) return PGY_OK;
    const pgy_status st = packed_table_adopt(b->packed, plan, err);
    if (st) return st;
    return program_add_piece(&step->packed_offset, b->p, step->space,
                             packed_piece_retain(plan->piece), err);
}

static pgy_status prepare(program_step *step, builder *b, const kernel_problem *problem,
                          pgy_error *err)
{
    program *p = b->p;
    pgy_status st = kernel_prepare(&step->plan, step->kernel, problem, err);
    if (st) return pgy_error_prefix(err, st, "%s '%s': ", step->op_type, step->label);
    st = keep_packed(step, b, err);
    if (step->plan.workspace_bytes > p->workspace_bytes)
        p->workspace_bytes = step->plan.workspace_bytes;
    if (step->plan.scratch_bytes > p->scratch_bytes) p->scratch_bytes = step->plan.scratch_bytes;
    return st;
}

/* Adds a step that copies between the host and a device, in the same layout. */
static pgy_status copy_between(builder *b, uint32_t from, uint32_t to, pgy_error *err)
{
    const program_tensor *x = &b->tensors[from].t, *y = &b->tensors[to].t;
    program_step step = {.label = x->name,
                         .op_type = "Copy",
                         .act = PROGRAM_COPY,
                         .space = x->space ? x->space : y->space,
                         .input_count = 1,
                         .output_count = 1};
    uint32_t *tensors = arena_alloc_array(&b->p->memory, 2, sizeof *tensors);
    if (!tensors) return no_memory(err);
    tensors[0] = from;
    tensors[1] = to;
    step.tensors = tensors;
    step.cost_ns = program_copy_ns(b->p, step.space, (double)x->size_bytes);
    const pgy_status st = build_store_constant(b, from, err);
    return st ? st : add_step(b, &step, err);
}

/* The kernel of a space's device that copies or changes layouts; NULL: it has none. */
static const kernel *find_mover(const builder *b, const char *op, uint32_t space)
{
    const device *d = b->p->spaces[space].device;
    const kernel *k;
    for (size_t i = 0; (k = kernel_for("pgy", op, i)); i++)
        if (space ? k->device && strcmp(k->device, d->kind) == 0 : !k->device) return k;
    return NULL;
}

pgy_status build_move(builder *b, uint32_t from, uint32_t to, pgy_error *err)
{
    if (b->tensors[from].t.space != b->tensors[to].t.space) return copy_between(b, from, to, err);
    const char *op = b->tensors[from].t.layout == b->tensors[to].t.layout ? "Copy" : "Reorder";
    const uint32_t space = b->tensors[from].t.space;
    kernel_problem problem = build_problem(b);
    problem.space = space;
    problem.input_count = problem.output_count = 1;
    problem.inputs[0] = build_describe(b, from);
    problem.outputs[0] = build_describe(b, to);
    program_step step = {.label = b->tensors[from].t.name,
                         .op_type = op,
                         .space = space,
                         .kernel = find_mover(b, op, space),
                         .input_count = 1,
                         .output_count = 1};
    uint32_t *tensors = arena_alloc_array(&b->p->memory, 2, sizeof *tensors);
    if (!tensors) return no_memory(err);
    tensors[0] = from;
    tensors[1] = to;
    step.tensors = tensors;
    if (!step.kernel || !kernel_accept(step.kernel, &problem, &step.cost_ns))
        return pgy_error_set(err, PGY_E_INTERNAL, "no kernel can change the layout of tensor '%s'",
                             step.label);
    pgy_status st = build_store_constant(b, from, err);
    if (!st && b->options->range)
        st = range_note_step(b, NULL, &problem, step.kernel, tensors, err);
    if (!st) st = prepare(&step, b, &problem, err);
    if (!st) st = add_step(b, &step, err);
    if (st) kernel_plan_deinit(&step.plan);
    return st;
}

static bool is_last(kernel_layout a)
{
    return a == KERNEL_CHANNELS_LAST;
}

/* Finds the intermediate layout and space when one step cannot reach the target. Devices change
 * between linear and channels last, the host makes all other changes; blocks change to other blocks
 * by way of linear, and data between two devices pass through the host. False: one step is enough.
 */
static bool find_detour(kernel_layout *layout, uint32_t *space, const program_tensor *from)
{
    const bool far = from->space != *space;
    const bool to_last = is_last(*layout),
               by_linear = is_last(from->layout) != to_last &&
                           (from->layout == KERNEL_LINEAR || *layout == KERNEL_LINEAR);
    if (far && from->layout == *layout && (!from->space || !*space)) return false;
    if (!far && by_linear) return false;
    if (!far && !*space && (from->layout == KERNEL_LINEAR || *layout == KERNEL_LINEAR))
        return false;
    if (far && from->space && is_last(from->layout)) {
        *layout = KERNEL_LINEAR;
        *space = from->space;
        return true;
    }
    if (far && !from->space && to_last) {
        *layout = KERNEL_LINEAR;
        if (from->layout != KERNEL_LINEAR) *space = 0;
        return true;
    }
    if (from->space)
        *layout = from->layout;
    else if (!far)
        *layout = KERNEL_LINEAR;
    *space = 0;
    return true;
}

/* Returns the tensor with the same elements in this layout and space: itself, or a copy that is
 * made once. For a constant the copy is a constant too, without a step. */
static pgy_status bring(uint32_t *out, builder *b, uint32_t tensor, kernel_layout layout,
                        uint32_t space, pgy_error *err)
{
    uint32_t from = tensor, at = space;
    kernel_layout by = layout;
    *out = tensor;
    if (tensor == PROGRAM_NO_TENSOR ||
        (b->tensors[tensor].t.layout == layout && b->tensors[tensor].t.space == space))
        return PGY_OK;
    if (b->tensors[tensor].moved[space][layout]) {
        *out = b->tensors[tensor].moved[space][layout];
        return PGY_OK;
    }
    const bool stored = b->tensors[build_root(b, tensor)].constant && space;
    pgy_status st = PGY_OK;
    if (!stored && find_detour(&by, &at, &b->tensors[tensor].t)) {
        st = bring(&from, b, tensor, by, at, err);
        if (!st) st = bring(out, b, from, layout, space, err);
    } else {
        st = build_tensor_copy(out, b, tensor, layout, space, err);
        if (!st && !stored) st = build_move(b, tensor, *out, err);
    }
    if (!st) b->tensors[tensor].moved[space][layout] = *out;
    return st;
}

pgy_status build_deliver(builder *b, uint32_t from, uint32_t output, pgy_error *err)
{
    const program_tensor *t = &b->tensors[from].t;
    if (!t->space || t->layout == KERNEL_LINEAR) return build_move(b, from, output, err);
    const uint32_t space = is_last(t->layout) ? t->space : 0; /* where the layout changes */
    const pgy_status st = bring(&from, b, from, KERNEL_LINEAR, space, err);
    return st ? st : build_move(b, from, output, err);
}

/* ---- Views ---------------------------------------------------------------------------------- */

static bool is_view(const pgy_node *n)
{
    static const char *const VIEWS[] = {"Reshape", "Squeeze", "Unsqueeze", "Flatten", "Identity"};
    for (size_t i = 0; i < sizeof VIEWS / sizeof *VIEWS; i++)
        if (node_is(n, VIEWS[i])) return true;
    return false;
}

/* Makes the view of a constant a constant now; other views wait until selection knows the
 * layouts. */
static pgy_status open_view(build_node *n, builder *b, pgy_error *err)
{
    n->is_view = true;
    n->input_count = n->output_count = 1;
    n->tensors = arena_alloc_array(&b->p->memory, 2, sizeof *n->tensors);
    if (!n->tensors) return no_memory(err);
    pgy_status st = build_tensor_of(&n->tensors[0], b, n->node->inputs[0], err);
    if (!st) st = build_tensor_add(&n->tensors[1], b, n->node->outputs[0], PROGRAM_ARENA, err);
    if (st) return st;
    const build_tensor *source = &b->tensors[n->tensors[0]];
    if (b->tensors[source->root].constant) b->tensors[n->tensors[1]].root = source->root;
    return build_bind(b, n->node->outputs[0], n->tensors[1], err);
}

static pgy_status emit_view(build_node *n, builder *b, pgy_error *err)
{
    uint32_t from;
    const kernel_tensor *wanted = &n->problem.inputs[0];
    const pgy_status st = bring(&from, b, n->tensors[0], wanted->layout, wanted->space, err);
    if (st) return st;
    build_tensor *view = &b->tensors[n->tensors[1]];
    const build_tensor *source = &b->tensors[from];
    if (view->t.dtype != source->t.dtype ||
        (source->t.layout == KERNEL_LINEAR && view->t.size_bytes != source->t.size_bytes))
        return node_error(n->node, err, PGY_E_INTERNAL,
                          "the size or type of the view differs from its source");
    view->root = source->root;
    view->t.layout = source->t.layout;
    view->t.space = source->t.space;
    view->t.size_bytes = source->t.size_bytes;
    return PGY_OK;
}

/* ---- Tensors of nodes ----------------------------------------------------------------------- */

static pgy_status gather_inputs(build_node *c, builder *b, pgy_error *err)
{
    pgy_node *n = c->node;
    const node_box *box = node_box_of(n);
    pgy_status st = node_captures(n, err);
    c->input_count = n->input_count;
    c->output_count = n->output_count;
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

static pgy_status add_outputs(build_node *c, builder *b, pgy_error *err)
{
    pgy_node *n = c->node;
    uint32_t *tensors = c->tensors + n->input_count + c->captured_count;
    for (size_t i = 0; i < n->output_count; i++) {
        tensors[i] = PROGRAM_NO_TENSOR;
        if (!n->outputs[i]) continue;
        pgy_status st = build_tensor_add(&tensors[i], b, n->outputs[i], PROGRAM_ARENA, err);
        if (!st) st = build_bind(b, n->outputs[i], tensors[i], err);
        if (st) return st;
    }
    return PGY_OK;
}

/* Nodes with too many tensors for kernels keep an empty problem. */
static bool describe_use(build_node *n, builder *b)
{
    const uint32_t *outputs = n->tensors + n->input_count + n->captured_count;
    n->problem = build_problem(b);
    n->problem.node = &n->op;
    if (n->input_count > KERNEL_MAX_INPUTS || n->output_count > KERNEL_MAX_OUTPUTS) return false;
    n->problem.input_count = n->input_count;
    n->problem.output_count = n->output_count;
    for (size_t i = 0; i < n->input_count; i++) {
        kernel_tensor *t = &n->problem.inputs[i];
        *t = build_describe(b, n->tensors[i]);
        t->narrow = build_narrow_weight(b, n->node, i, t);
    }
    for (size_t i = 0; i < n->output_count; i++)
        n->problem.outputs[i] = build_describe(b, outputs[i]);
    return true;
}

static bool computes_nothing(const builder *b, const pgy_node *n)
{
    for (size_t i = 0; i < n->output_count; i++)
        if (n->outputs[i] && !build_is_constant(b, n->outputs[i])) return false;
    return true;
}

static pgy_status open_step(build_node *n, builder *b, pgy_error *err)
{
    const node_box *box = node_box_of(n->node);
    if (!box->def && !box->function)
        return node_error(n->node, err, PGY_E_UNSUPPORTED, "the engine does not know its operator");
    n->op = (op_node){.def = box->def,
                      .name = node_label(n->node),
                      .opset = box->opset,
                      .input_count = n->node->input_count,
                      .output_count = n->node->output_count};
    pgy_status st = node_attrs(&n->op.attrs, &n->op.attr_count, n->node, NULL, &b->p->memory, err);
    if (!st) st = gather_inputs(n, b, err);
    return st ? st : add_outputs(n, b, err);
}

static pgy_status open_node(build_node *n, builder *b, pgy_error *err)
{
    const pgy_status st = is_view(n->node) ? open_view(n, b, err) : open_step(n, b, err);
    if (st) return st;
    const bool fits = describe_use(n, b);
    n->free = fits && !n->is_view && !n->node->subgraph_count && !node_box_of(n->node)->function;
    return PGY_OK;
}

/* ---- Steps of nodes ------------------------------------------------------------------------- */

static void place_outputs(const build_node *c, builder *b)
{
    const pgy_node *n = c->node;
    for (size_t i = 0; i < n->output_count; i++) {
        if (!n->outputs[i]) continue;
        program_tensor *t = &b->tensors[c->tensors[c->input_count + c->captured_count + i]].t;
        t->layout = c->kernel ? c->problem.outputs[i].layout : KERNEL_LINEAR;
        t->space = c->kernel ? c->problem.outputs[i].space : 0;
        const kernel_tensor k = {
            .dtype = t->dtype, .rank = t->rank, .shape = t->shape, .layout = t->layout};
        t->size_bytes = kernel_size_bytes(&k);
        if (!n->outputs[i]->is_output || t->layout != KERNEL_LINEAR || t->space) continue;
        for (size_t o = 0; o < b->graph->output_count; o++) {
            if (b->graph->outputs[o] != n->outputs[i]) continue;
            t->place = PROGRAM_OUTPUT;
            t->offset = o;
            break;
        }
    }
}

static pgy_status bring_inputs(build_node *c, builder *b, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->input_count + c->captured_count; i++) {
        const kernel_tensor *wanted = c->kernel ? &c->problem.inputs[i] : NULL;
        st = bring(&c->tensors[i], b, c->tensors[i], wanted ? wanted->layout : KERNEL_LINEAR,
                   wanted ? wanted->space : 0, err);
    }
    return st;
}

static pgy_status store_constants(build_node *c, builder *b, uint32_t packed_inputs, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < c->input_count + c->captured_count; i++) {
        if (i < KERNEL_MAX_INPUTS && (packed_inputs >> i & 1)) c->tensors[i] = PROGRAM_NO_TENSOR;
        if (c->tensors[i] != PROGRAM_NO_TENSOR) st = build_store_constant(b, c->tensors[i], err);
    }
    return st;
}

static pgy_status bind_node(program_step *step, builder *b, pgy_node *n, pgy_error *err)
{
    uint32_t index = 0;
    while (b->graph->nodes[index] != n) index++;
    return reference_step_bind(step, n, index, &b->p->memory, err);
}

static double flops_of(const build_node *c)
{
    const kernel_problem *u = &c->problem;
    if (!c->kernel || u->input_count < 2 || !u->output_count) return 0;
    flops_shape inputs[FLOPS_INPUTS];
    for (size_t i = 0; i < FLOPS_INPUTS; i++)
        inputs[i] = i < u->input_count && u->inputs[i].dtype
                        ? (flops_shape){u->inputs[i].rank, u->inputs[i].shape}
                        : (flops_shape){-1, NULL};
    const kernel_tensor *y = &u->outputs[0];
    return program_flops(c->node->op_type, inputs, (flops_shape){y->rank, y->shape});
}

static pgy_status emit_step(build_node *c, builder *b, pgy_error *err)
{
    pgy_node *n = c->node;
    pgy_status st = bring_inputs(c, b, err);
    if (st) return st;
    place_outputs(c, b);
    program_step step = {.label = arena_strdup(&b->p->memory, node_label(n)),
                         .op_type = arena_strdup(&b->p->memory, n->op_type),
                         .kernel = c->kernel,
                         .space = c->kernel ? c->problem.space : 0,
                         .tensors = c->tensors,
                         .input_count = (uint32_t)n->input_count,
                         .captured_count = (uint32_t)c->captured_count,
                         .output_count = (uint32_t)n->output_count,
                         .cost_ns = c->cost_ns,
                         .flops = flops_of(c)};
    if (!step.label || !step.op_type) return no_memory(err);
    if (c->kernel && b->options->range)
        st = range_note_step(b, c, &c->problem, c->kernel, c->tensors, err);
    if (!st) st = c->kernel ? prepare(&step, b, &c->problem, err) : bind_node(&step, b, n, err);
    if (!st) st = store_constants(c, b, step.plan.packed_inputs, err);
    if (!st) st = add_step(b, &step, err);
    if (st) kernel_plan_deinit(&step.plan);
    return st;
}

static pgy_status count_uses(build_node *nodes, size_t count, builder *b, arena *memory,
                             pgy_error *err)
{
    for (size_t i = 0; i < count; i++) {
        build_node *n = &nodes[i];
        const size_t reads = n->input_count + n->captured_count;
        n->reads = arena_alloc_array(memory, reads + 1, sizeof *n->reads);
        if (!n->reads) return no_memory(err);
        for (size_t k = 0; k < reads; k++) build_count_use(b, n->reads[k] = n->tensors[k]);
    }
    for (size_t i = 0; i < b->graph->output_count; i++) /* bound after all nodes */
        build_count_use(b, build_bound(b, b->graph->outputs[i]));
    return PGY_OK;
}

/* Makes the steps; kernels pack their weights here. */
static pgy_status emit_nodes(build_node *nodes, size_t count, builder *b, pgy_error *err)
{
    const pgy_build_config *config = b->options->config;
    pgy_status st = PGY_OK;
    progress_expect(1);
    progress_start(config, PROGRESS_PACKING, PROGRESS_PROGRAM, count);
    for (size_t i = 0; !st && i < count; i++) {
        const size_t reads = nodes[i].input_count + nodes[i].captured_count;
        st = nodes[i].is_view ? emit_view(&nodes[i], b, err) : emit_step(&nodes[i], b, err);
        for (size_t k = 0; !st && k < reads; k++) build_drop_use(b, nodes[i].reads[k]);
        if (!st) st = progress_step(config, PROGRESS_PACKING, i, err);
    }
    progress_finish(config, PROGRESS_PACKING);
    return st;
}

pgy_status build_nodes(builder *b, pgy_node *const *order, size_t count, pgy_error *err)
{
    arena memory = {0};
    build_node *nodes = arena_alloc_array(&memory, count + 1, sizeof *nodes);
    size_t opened = 0;
    pgy_status st = nodes ? PGY_OK : no_memory(err);
    for (size_t i = 0; !st && i < count; i++) {
        nodes[opened].node = order[i];
        st = node_prepare(order[i], err);
        if (st || computes_nothing(b, order[i])) continue;
        st = open_node(&nodes[opened++], b, err);
    }
    if (!st) st = select_kernels(b, nodes, opened, &memory, err);
    if (!st) st = build_hold_wide(b, nodes, opened, &memory, err);
    if (!st) st = count_uses(nodes, opened, b, &memory, err);
    if (!st) build_give_back(b);
    if (!st) st = emit_nodes(nodes, opened, b, err);
    arena_deinit(&memory);
    return st;
}
