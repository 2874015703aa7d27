/* SPDX-License-Identifier: Apache-2.0 */
/* From an open plan to what runs: the program's tables are filled with pointers into the file, its
 * kernels are looked up by name and version, and steps without kernel are tied to the nodes of the
 * stored graph. */
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "engine/plan_file.h"
#include "engine/reference_step.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while opening the plan");
}

const char *plan_kernel_name(const plan_file *p, size_t step)
{
    const plan_step *steps = p->at[PLAN_STEPS];
    return steps[step].kernel == PLAN_NO_TEXT ? NULL : plan_text(p, steps[step].kernel);
}

/* ---- Inputs and outputs --------------------------------------------------------------------- */

static pgy_status add_value(pgy_metadata *out, const plan_file *p, const plan_value *v,
                            pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    const char *names[PGY_MAX_RANK];
    const plan_dim *dims = p->at[PLAN_DIMS];
    for (int32_t i = 0; i < v->rank; i++) {
        const plan_dim *d = &dims[v->dims + (uint32_t)i];
        shape[i] = d->value;
        names[i] = d->name == PLAN_NO_TEXT ? NULL : plan_text(p, d->name);
    }
    const pgy_tensor_info info = {.name = plan_text(p, v->name),
                                  .dtype = v->dtype ? pgy_dtype_from_onnx(v->dtype) : 0,
                                  .rank = v->rank,
                                  .shape = shape,
                                  .dim_names = names,
                                  .form = (pgy_form)v->form};
    return pgy_metadata_set(out, &info, err);
}

pgy_status plan_metadata(pgy_metadata **out, const plan_file *p, bool outputs, pgy_error *err)
{
    const size_t first = outputs ? p->info->input_count : 0;
    const size_t count = outputs ? p->info->output_count : p->info->input_count;
    const plan_value *values = p->at[PLAN_VALUES];
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < count; i++) st = add_value(m, p, &values[first + i], err);
    if (!st && pgy_metadata_count(m) != count)
        st = pgy_error_set(err, PGY_E_FORMAT, "the plan is damaged: two inputs have one name");
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

/* ---- The program ---------------------------------------------------------------------------- */

static void read_tensor(program_tensor *out, const plan_file *p, const plan_tensor *t)
{
    *out = (program_tensor){.name = plan_text(p, t->name),
                            .dtype = pgy_dtype_from_onnx(t->dtype),
                            .rank = t->rank,
                            .shape = (const int64_t *)p->at[PLAN_SHAPES] + t->shape,
                            .layout = (kernel_layout)t->layout,
                            .place = (program_place)t->place,
                            .offset = t->offset,
                            .size_bytes = t->size_bytes};
}

static void read_step(program_step *out, const plan_file *p, const plan_step *s)
{
    *out = (program_step){.label = plan_text(p, s->label),
                          .op_type = plan_text(p, s->op_type),
                          .packed_offset = s->packed_offset,
                          .tensors = (const uint32_t *)p->at[PLAN_REFS] + s->refs,
                          .input_count = s->input_count,
                          .captured_count = s->captured_count,
                          .output_count = s->output_count,
                          .cost_ns = s->cost_ns};
    out->workspace_offset = (uint64_t)s->workspace_place * 64;
    out->plan = (kernel_plan){
        .params = s->kernel == PLAN_NO_TEXT
                      ? NULL
                      : (unsigned char *)p->at[PLAN_PARAMS] + s->params_offset,
        .params_bytes = s->params_bytes,
        .packed_bytes = s->packed_bytes,
        .packed_inputs = s->packed_inputs,
        .workspace_bytes = s->workspace_bytes,
        .scratch_bytes = s->scratch_bytes,
        .phases = s->phases,
        .parts = s->parts,
        .in_place = (int8_t)s->in_place,
    };
}

static pgy_status read_program(program *out, const plan_file *p, pgy_error *err)
{
    const plan_tensor *tensors = p->at[PLAN_TENSORS];
    const plan_step *steps = p->at[PLAN_STEPS];
    out->tensor_count = p->counts[PLAN_TENSORS];
    out->step_count = p->counts[PLAN_STEPS];
    out->tensors = arena_alloc_array(&out->memory, out->tensor_count, sizeof *out->tensors);
    out->steps = mem_calloc(out->step_count + 1, sizeof *out->steps);
    if (!out->tensors || !out->steps) return no_memory(err);
    for (size_t i = 0; i < out->tensor_count; i++) read_tensor(&out->tensors[i], p, &tensors[i]);
    for (size_t i = 0; i < out->step_count; i++) read_step(&out->steps[i], p, &steps[i]);
    out->constants = (void *)p->at[PLAN_CONSTANTS];
    out->constant_bytes = p->counts[PLAN_CONSTANTS];
    out->arena_bytes = p->info->arena_bytes;
    out->arena_bound = p->info->arena_bound;
    out->workspace_bytes = p->info->workspace_bytes;
    out->scratch_bytes = p->info->scratch_bytes;
    out->input_count = p->info->input_count;
    out->output_count = p->info->output_count;
    out->outputs = (const uint32_t *)p->at[PLAN_REFS] + p->info->output_refs;
    return PGY_OK;
}

const char *plan_level_name(uint32_t level)
{
    return level <= CPU_AVX512 ? cpu_level_name((cpu_level)level) : "a newer processor";
}

static pgy_status check_machine(const plan_file *p, pgy_error *err)
{
    const uint64_t limit = memory_limit_bytes();
    const plan_info_record *i = p->info;
    if (p->header->cpu_level > (uint32_t)cpu_features())
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "the plan was built for processors with %s; this one has %s: please "
                             "convert the model again on this machine",
                             plan_level_name(p->header->cpu_level), cpu_level_name(cpu_features()));
    if (i->arena_bytes > limit || i->workspace_bytes > limit || i->scratch_bytes > limit)
        return pgy_error_set(err, PGY_E_MEMORY,
                             "the plan needs %llu bytes of memory, more than the limit of %llu",
                             (unsigned long long)i->arena_bytes, (unsigned long long)limit);
    return PGY_OK;
}

static pgy_status find_kernels(program *out, const plan_file *p, pgy_error *err)
{
    const plan_step *steps = p->at[PLAN_STEPS];
    for (size_t i = 0; i < out->step_count; i++) {
        const char *name = plan_kernel_name(p, i);
        if (!name) continue;
        out->steps[i].kernel = kernel_find(name, (uint16_t)steps[i].kernel_version);
        if (!out->steps[i].kernel)
            return pgy_error_set(
                err, PGY_E_UNSUPPORTED,
                "the plan (written by version %s) uses kernel '%s' of version %u, "
                "which %s",
                p->public.library, name, steps[i].kernel_version,
                strchr(name, '/') ? "is a plug-in's: --plugins loads its library"
                                  : "this library does not have: please convert the model again");
    }
    return PGY_OK;
}

pgy_status plan_program(program **out, const plan_file *p, bool runnable, pgy_error *err)
{
    *out = NULL;
    if (!p->info->has_program) return PGY_OK;
    program *made = mem_calloc(1, sizeof *made);
    if (!made) return no_memory(err);
    atomic_init(&made->users, 1);
    made->mapped = true;
    pgy_status st = runnable ? check_machine(p, err) : PGY_OK;
    if (!st) st = read_program(made, p, err);
    if (!st && runnable) st = find_kernels(made, p, err);
    if (st)
        program_release(made);
    else
        *out = made;
    return st;
}

pgy_status plan_program_inputs(pgy_metadata **out, const program *p, pgy_error *err)
{
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < p->input_count; i++) {
        const program_tensor *t = &p->tensors[i];
        const pgy_tensor_info info = {
            .name = t->name, .dtype = t->dtype, .rank = t->rank, .shape = t->shape};
        st = pgy_metadata_set(m, &info, err);
    }
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

/* ---- The graph ------------------------------------------------------------------------------ */

pgy_status plan_graph(pgy_graph **out, const plan_file *p, pgy_error *err)
{
    const plan_section *s = p->sections[PLAN_MODEL];
    const void *bytes = p->at[PLAN_MODEL];
    pgy_model *model = NULL;
    pgy_graph *g = NULL;
    if (hash_xxh64(bytes, s->size_bytes, 0) != s->hash)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "the plan is damaged: the checksum of its graph differs");
    pgy_status st = pgy_model_parse(&model, bytes, s->size_bytes, true, NULL, err);
    if (!st) st = pgy_graph_import(&g, model, err);
    if (!st) st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st && (g->input_count != p->info->input_count || g->output_count != p->info->output_count))
        st = pgy_error_set(err, PGY_E_FORMAT,
                           "the plan is damaged: its graph has other inputs or outputs");
    pgy_model_destroy(model);
    if (st)
        pgy_graph_destroy(g);
    else
        *out = g;
    return st ? pgy_error_prefix(err, st, "the graph in the plan: ") : PGY_OK;
}

bool plan_needs_nodes(const program *p)
{
    for (size_t i = 0; i < p->step_count; i++)
        if (!p->steps[i].kernel) return true;
    return false;
}

/* What a step reads and writes must be what its node has. */
static bool is_of(const program *p, const program_step *s, const pgy_node *n)
{
    const node_box *box = node_box_of(n);
    if (strcmp(s->op_type, n->op_type) != 0 || s->input_count != n->input_count ||
        s->output_count != n->output_count || s->captured_count != box->captured_count)
        return false;
    for (size_t i = 0; i < box->captured_count; i++) {
        const uint32_t t = s->tensors[s->input_count + i];
        if (t != PROGRAM_NO_TENSOR && strcmp(p->tensors[t].name, box->captured[i]->name) != 0)
            return false;
    }
    return true;
}

pgy_status plan_bind(program *p, const plan_file *file, pgy_graph *g, pgy_error *err)
{
    const plan_step *steps = file->at[PLAN_STEPS];
    for (size_t i = 0; i < p->step_count; i++) {
        program_step *s = &p->steps[i];
        if (s->kernel) continue;
        if (steps[i].node >= g->node_count)
            return pgy_error_set(err, PGY_E_FORMAT, "the plan is damaged: node %u is missing",
                                 steps[i].node);
        pgy_node *n = g->nodes[steps[i].node];
        pgy_status st = node_prepare(n, err);
        if (!st) st = node_captures(n, err);
        if (!st && !is_of(p, s, n))
            st = pgy_error_set(err, PGY_E_FORMAT, "the plan is damaged: step '%s' is of no node",
                               s->label);
        if (!st) st = reference_step_bind(s, n, steps[i].node, &p->memory, err);
        if (st) return st;
    }
    return PGY_OK;
}
