/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the layers of a plan into a view: the program of one of its profiles. */
#include <math.h>
#include <string.h>

#include "base/pytext.h"
#include "viewer/graph_type.h"

typedef struct plan_reader {
    graph_parts *b;
    const pgy_plan *plan;
    size_t profile;
    strmap tensors; /* name -> index + 1, of the tensor that has the name at this step */
    bool is_detailed;
} plan_reader;

/* ---- Tensors -------------------------------------------------------------------------------- */

static uint32_t find_tensor(const plan_reader *r, const char *name)
{
    const size_t at = (size_t)(uintptr_t)strmap_get(&r->tensors, name);
    return at ? (uint32_t)(at - 1) : VIEW_NONE;
}

static uint32_t add_tensor(plan_reader *r, const char *name, pgy_dtype dtype, const int64_t *shape,
                           int32_t rank, view_tensor_kind kind)
{
    graph_parts *b = r->b;
    const view_tensor like = {.name = collect_text(b, name),
                              .kind = kind,
                              .dtype = dtype == PGY_DTYPE_NONE ? "" : pgy_dtype_name(dtype),
                              .shape = rank < 0 ? NULL : graph_shape_text(b, shape, (size_t)rank),
                              .bytes = rank < 0 ? 0 : graph_type_bytes(dtype, shape, (size_t)rank),
                              .producer = VIEW_NONE};
    const uint32_t t = collect_tensor(b, &like);
    if (kind != VIEW_WEIGHT && !strmap_put(&r->tensors, name, (void *)((uintptr_t)t + 1)))
        b->failed = true;
    return t;
}

static uint32_t add_plan_tensor(plan_reader *r, const pgy_plan_tensor *t, view_tensor_kind kind)
{
    return add_tensor(r, t->name, t->dtype, t->shape, t->rank, kind);
}

/* Layers fill the shapes of inputs that the plan declares as dynamic. */
static uint32_t read_tensor(plan_reader *r, const pgy_plan_tensor *t)
{
    const uint32_t known = find_tensor(r, t->name);
    return known != VIEW_NONE ? known : add_plan_tensor(r, t, VIEW_VALUE);
}

/* ---- Layers --------------------------------------------------------------------------------- */

static const char *const *copy_members(graph_parts *b, const pgy_plan_layer *l)
{
    const char **members = arena_alloc_array(&b->g->memory, l->source_count, sizeof(const char *));
    if (!members) b->failed = true;
    for (size_t i = 0; members && i < l->source_count; i++)
        members[i] = collect_text(b, l->sources[i]);
    return members;
}

static void add_layer(plan_reader *r, const pgy_plan_layer *l)
{
    graph_parts *b = r->b;
    const size_t inputs = l->input_count + l->constant_count;
    view_node n = {.op = collect_op(b, l->type, ""),
                   .name = collect_text(b, l->name),
                   .inputs = collect_list(b, inputs),
                   .outputs = collect_list(b, l->output_count),
                   .input_count = (uint32_t)inputs,
                   .output_count = (uint32_t)l->output_count,
                   .layer = r->is_detailed ? l : NULL,
                   .members = copy_members(b, l),
                   .member_count = (uint32_t)l->source_count,
                   .flops = NAN};
    for (size_t i = 0; i < l->input_count && !b->failed; i++)
        n.inputs[i] = read_tensor(r, &l->inputs[i]);
    for (size_t i = 0; i < l->constant_count && !b->failed; i++)
        n.inputs[l->input_count + i] = add_plan_tensor(r, &l->constants[i], VIEW_WEIGHT);
    for (size_t i = 0; i < l->output_count && !b->failed; i++)
        n.outputs[i] = add_plan_tensor(r, &l->outputs[i], VIEW_VALUE);
    const uint32_t node = collect_node(b, &n);
    for (size_t i = 0; i < l->output_count && !b->failed; i++)
        b->tensors[n.outputs[i]].producer = node;
}

/* ---- Bindings ------------------------------------------------------------------------------- */

static void add_inputs(plan_reader *r)
{
    const pgy_metadata *inputs = pgy_plan_inputs(r->plan);
    for (size_t i = 0; i < pgy_metadata_count(inputs) && !r->b->failed; i++) {
        const pgy_tensor_info *t = pgy_metadata_at(inputs, i);
        const uint32_t tensor =
            add_tensor(r, t->name, t->dtype, t->shape, t->rank, VIEW_GRAPH_INPUT);
        if (!r->b->failed) collect_input(r->b, tensor, 0);
    }
}

static void add_outputs(plan_reader *r)
{
    graph_parts *b = r->b;
    const pgy_metadata *outputs = pgy_plan_outputs(r->plan);
    for (size_t i = 0; i < pgy_metadata_count(outputs) && !b->failed; i++) {
        const pgy_tensor_info *t = pgy_metadata_at(outputs, i);
        uint32_t tensor = find_tensor(r, t->name);
        if (tensor == VIEW_NONE)
            tensor = add_tensor(r, t->name, t->dtype, t->shape, t->rank, VIEW_GRAPH_OUTPUT);
        if (b->failed) return;
        if (b->tensors[tensor].kind == VIEW_VALUE) b->tensors[tensor].kind = VIEW_GRAPH_OUTPUT;
        collect_output(b, tensor, 0);
    }
}

/* ---- Properties ----------------------------------------------------------------------------- */

static void put_bytes(graph_parts *b, const char *name, uint64_t bytes)
{
    str s = {0};
    str_append_bytes(&s, bytes);
    collect_property(b, name, str_text(&s));
    if (s.failed) b->failed = true;
    str_deinit(&s);
}

static void put_range(plan_reader *r, size_t profile, size_t input)
{
    pgy_profile_range range;
    str name = {0}, text = {0};
    const pgy_bound_kind kind = pgy_plan_range(&range, r->plan, profile, input);
    if (kind != PGY_BOUND_SHAPE && kind != PGY_BOUND_ELEMENTS) return;
    str_printf(&name, "profile %zu, %s%s", profile, kind == PGY_BOUND_SHAPE ? "" : "elements of ",
               pgy_metadata_at(pgy_plan_inputs(r->plan), input)->name);
    str_append_py_tuple(&text, range.min, range.count);
    str_append(&text, " to ");
    str_append_py_tuple(&text, range.max, range.count);
    str_append(&text, ", usually ");
    str_append_py_tuple(&text, range.opt, range.count);
    collect_property(r->b, str_text(&name), str_text(&text));
    if (name.failed || text.failed) r->b->failed = true;
    str_deinit(&name);
    str_deinit(&text);
}

static void add_properties(plan_reader *r)
{
    graph_parts *b = r->b;
    const pgy_plan_info *info = pgy_plan_describe(r->plan);
    const size_t profiles = pgy_plan_profile_count(r->plan);
    str s = {0};
    collect_property(b, "graph", info->name);
    collect_property(b, "written by version", info->library);
    collect_property(b, "needs", info->cpu);
    put_bytes(b, "file", info->file_bytes);
    put_bytes(b, "weights", info->constant_bytes);
    put_bytes(b, "activation memory", pgy_plan_profile_at(r->plan, r->profile)->arena_bytes);
    collect_property(b, "refittable", info->refittable ? "yes" : "no");
    if (info->stripped) collect_property(b, "stripped", "yes: refit it before it can run");
    str_printf(&s, "%zu", profiles);
    collect_property(b, "profiles", str_text(&s));
    if (s.failed) b->failed = true;
    str_deinit(&s);
    for (size_t p = 0; p < profiles; p++)
        for (size_t i = 0; i < pgy_metadata_count(pgy_plan_inputs(r->plan)); i++)
            put_range(r, p, i);
}

/* ---- The plan ------------------------------------------------------------------------------- */

static void read_layers(plan_reader *r)
{
    graph_parts *b = r->b;
    const char *verbosity = pgy_plan_describe(r->plan)->verbosity;
    const pgy_plan_profile *profile = pgy_plan_profile_at(r->plan, r->profile);
    r->is_detailed = strcmp(verbosity, "DETAILED") == 0;
    if (!profile->is_built)
        collect_warn(b,
                     "profile %zu of the plan has no layers: shapes depend on data, so its "
                     "program is built when it runs",
                     r->profile);
    if (strcmp(verbosity, "NONE") == 0) {
        collect_warn(b, "the plan does not tell its layers: it was built with the profiling "
                        "verbosity NONE");
        return;
    }
    for (size_t i = 0; profile->is_built && i < profile->layer_count && !b->failed; i++)
        add_layer(r, &profile->layers[i]);
}

pgy_status view_graph_from_plan(view_graph **out, const pgy_plan *plan, size_t profile,
                                const char *name, strvec *warnings, pgy_error *err)
{
    graph_parts b;
    const size_t count = pgy_plan_profile_count(plan);
    if (profile >= count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'%s' has no profile %zu; it has %zu, counted from 0", name,
                             profile, count);
    pgy_status st = collect_start(&b, "plan", name, warnings, err);
    plan_reader r = {.b = &b, .plan = plan, .profile = profile};
    if (!st) {
        const view_container graph = {.kind = VIEW_GRAPH,
                                      .name = collect_text(&b, pgy_plan_describe(plan)->name),
                                      .parent = VIEW_NONE,
                                      .node = VIEW_NONE,
                                      .state = VIEW_OPEN};
        collect_container(&b, &graph);
        add_properties(&r);
        add_inputs(&r);
        read_layers(&r);
        add_outputs(&r);
        st = collect_finish(out, &b, err);
    }
    strmap_deinit(&r.tensors);
    collect_deinit(&b);
    return st;
}
