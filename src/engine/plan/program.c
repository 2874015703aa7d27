/* SPDX-License-Identifier: Apache-2.0 */
/* Makes programs of an open plan runnable: fills a program's tables with pointers into the file,
 * looks up kernels by name and version, and ties steps without kernel to nodes of the stored
 * graph. */
#include <string.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "engine/plan/file.h"
#include "engine/plan/prove.h"
#include "engine/program/reference_step.h"

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while opening the plan");
}

/* ---- The program ---------------------------------------------------------------------------- */

/* Bytes among the constants of a space; NULL in a stripped plan, and for an offset that is refused
 * when the program is proved. */
static void *constant_at(const plan_file *p, uint32_t space, uint64_t offset)
{
    const plan_section *s = p->constants[space];
    if (p->info->flags & PLAN_STRIPPED) return NULL;
    if (!space)
        return area_bytes_hold(&p->host, offset, 0) ? (void *)area_bytes_at(&p->host, offset)
                                                    : NULL;
    return offset > s->size_bytes ? NULL : (unsigned char *)p->data + s->offset + offset;
}

static void read_tensor(program_tensor *out, const plan_file *p, const plan_tensor *t)
{
    *out = (program_tensor){.name = plan_text(p, t->name),
                            .dtype = pgy_dtype_from_onnx(t->dtype),
                            .rank = t->rank,
                            .shape = (const int64_t *)p->at[PLAN_SHAPES] + t->shape,
                            .layout = (kernel_layout)t->layout,
                            .place = (program_place)t->place,
                            .space = t->space,
                            .offset = t->offset,
                            .size_bytes = t->size_bytes};
    if (out->place == PROGRAM_CONSTANT) out->data = constant_at(p, t->space, t->offset);
}

static void read_step(program_step *out, const plan_file *p, const plan_step *s)
{
    *out = (program_step){.label = plan_text(p, s->label),
                          .op_type = plan_text(p, s->op_type),
                          .act = (program_act)s->act,
                          .space = s->space,
                          .event = s->event,
                          .packed_offset = s->packed_offset,
                          .tensors = (const uint32_t *)p->at[PLAN_REFS] + s->refs,
                          .input_count = s->input_count,
                          .captured_count = s->captured_count,
                          .output_count = s->output_count,
                          .cost_ns = s->cost_ns};
    out->workspace_offset = (uint64_t)s->workspace_place * PLAN_ALIGN;
    out->plan = (kernel_plan){
        .params = s->kernel == PLAN_NO_TEXT
                      ? NULL
                      : (unsigned char *)p->at[PLAN_PARAMS] + s->params_offset,
        .params_bytes = s->params_bytes,
        .packed = s->packed_bytes ? constant_at(p, s->space, s->packed_offset) : NULL,
        .packed_bytes = s->packed_bytes,
        .packed_inputs = s->packed_inputs,
        .workspace_bytes = s->workspace_bytes,
        .scratch_bytes = s->scratch_bytes,
        .phases = s->phases,
        .parts = s->parts,
        .in_place = (int8_t)s->in_place,
    };
}

static pgy_status read_spaces(program *out, const plan_file *p, const plan_program *r,
                              pgy_error *err)
{
    const plan_arena *arenas = (const plan_arena *)p->at[PLAN_ARENAS] + r->arenas;
    out->space_count = (uint32_t)p->counts[PLAN_SPACES];
    for (uint32_t i = 0; i < out->space_count; i++) {
        const plan_space *from = plan_space_at(p, i);
        out->spaces[i] = (program_space){
            .device = i ? NULL : device_host(),
            .name = plan_text(p, from->name),
            .fingerprint = plan_text_or_null(p, from->fingerprint),
            .constant_bytes = from->constant_bytes,
            .arena_bytes = arenas[i].size_bytes,
            .arena_bound = arenas[i].bound,
        };
        if (p->info->flags & PLAN_STRIPPED) continue;
        out->spaces[i].pieces = mem_calloc(1, sizeof *out->spaces[i].pieces);
        if (!out->spaces[i].pieces) return no_memory(err);
        out->spaces[i].pieces[0] =
            (program_piece){.data = constant_at(p, i, 0),
                            .size_bytes = i ? from->constant_bytes : p->host.at[0].size};
        out->spaces[i].piece_count = out->spaces[i].piece_capacity = 1;
    }
    return PGY_OK;
}

/* Finds the space's device and compares its fingerprint: compiled code and the choice of kernels
 * hold for this device with these libraries only. */
static pgy_status find_device(program_space *s, pgy_error *err)
{
    device_properties here;
    pgy_status st = device_open(&s->device, s->name, err);
    if (st)
        return pgy_error_prefix(
            err, PGY_E_UNSUPPORTED,
            "the plan was built for device '%s' (%s), which is not available in "
            "this process: ",
            s->name, s->fingerprint);
    st = device_describe(&here, s->device, err);
    if (st) return pgy_error_prefix(err, st, "device '%s': ", s->name);
    if (strcmp(here.fingerprint, s->fingerprint) == 0) return PGY_OK;
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         "the plan was built for device '%s' with %s, but this one has %s: convert "
                         "the model again on this machine",
                         s->name, s->fingerprint, here.fingerprint);
}

static pgy_status find_devices(program *out, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (uint32_t i = 1; !st && i < out->space_count; i++) st = find_device(&out->spaces[i], err);
    return st;
}

static bool is_kernel_for(const program *p, const program_step *s)
{
    const char *kind = s->kernel->device;
    return s->space ? kind && strcmp(kind, p->spaces[s->space].device->kind) == 0 : !kind;
}

static pgy_status read_marks(program *out, const plan_file *p, const plan_program *r,
                             pgy_error *err)
{
    const plan_mark *from = (const plan_mark *)p->at[PLAN_MARKS] + r->marks;
    program_mark *marks = arena_alloc_array(&out->memory, r->mark_count, sizeof *marks);
    if (!marks) return no_memory(err);
    for (uint32_t i = 0; i < r->mark_count; i++)
        marks[i] = (program_mark){.step = from[i].step, .tensor = from[i].tensor};
    out->marks = marks;
    out->mark_count = r->mark_count;
    return PGY_OK;
}

static pgy_status read_program(program *out, const plan_file *p, size_t index, pgy_error *err)
{
    const plan_program *r = plan_record_of(p, index);
    const plan_tensor *tensors = (const plan_tensor *)p->at[PLAN_TENSORS] + r->tensors;
    const plan_step *steps = plan_steps_of(p, index);
    out->tensor_count = r->tensor_count;
    out->step_count = r->step_count;
    out->tensors = arena_alloc_array(&out->memory, out->tensor_count, sizeof *out->tensors);
    out->steps = mem_calloc(out->step_count + 1, sizeof *out->steps);
    if (!out->tensors || !out->steps) return no_memory(err);
    for (size_t i = 0; i < out->tensor_count; i++) read_tensor(&out->tensors[i], p, &tensors[i]);
    for (size_t i = 0; i < out->step_count; i++) read_step(&out->steps[i], p, &steps[i]);
    out->event_count = r->event_count;
    out->workspace_bytes = r->workspace_bytes;
    out->scratch_bytes = r->scratch_bytes;
    out->input_count = p->info->input_count;
    out->output_count = p->info->output_count;
    out->outputs = (const uint32_t *)p->at[PLAN_REFS] + r->outputs;
    const pgy_status st = read_spaces(out, p, r, err);
    return st ? st : read_marks(out, p, r, err);
}

static pgy_status check_machine(const plan_file *p, const plan_program *r, pgy_error *err)
{
    const uint64_t arena_bytes = plan_view(p, r).arenas[0].size_bytes;
    const uint64_t limit = memory_limit_bytes();
    if (p->header->cpu_level > (uint32_t)cpu_features())
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "the plan was built for processors with %s, but this one has %s: "
                             "convert the model again on this machine",
                             plan_level_name(p->header->cpu_level), cpu_level_name(cpu_features()));
    if (arena_bytes > limit || r->workspace_bytes > limit || r->scratch_bytes > limit)
        return pgy_error_set(err, PGY_E_MEMORY,
                             "the plan needs %llu bytes of memory, which exceeds %s",
                             (unsigned long long)arena_bytes, memory_limit_describe().text);
    return PGY_OK;
}

static pgy_status find_kernels(program *out, const plan_file *p, size_t index, pgy_error *err)
{
    const plan_step *steps = plan_steps_of(p, index);
    for (size_t i = 0; i < out->step_count; i++) {
        const char *name = plan_kernel_name(p, index, i);
        if (!name) continue;
        out->steps[i].kernel = plan_step_kernel(p, index, i);
        if (!out->steps[i].kernel)
            return pgy_error_set(
                err, PGY_E_NOT_FOUND,
                "the plan (written by version %s) uses kernel '%s' of version %u, which %s",
                p->public.library, name, steps[i].kernel_version,
                strchr(name, '/') ? "belongs to a plug-in: load its library with pgy_operators_load"
                                  : "this version lacks: build the plan again");
        if (!is_kernel_for(out, &out->steps[i]))
            return pgy_error_set(
                err, PGY_E_FORMAT,
                "the plan is damaged: step '%s' has kernel '%s', which does not run on device '%s'",
                out->steps[i].label, name, out->spaces[out->steps[i].space].name);
    }
    return PGY_OK;
}

pgy_status plan_program_at(program **out, const plan_file *p, size_t i, bool runnable,
                           pgy_error *err)
{
    program *made = mem_calloc(1, sizeof *made);
    if (!made) return no_memory(err);
    atomic_init(&made->users, 1);
    made->mapped = true;
    pgy_status st = runnable ? check_machine(p, plan_record_of(p, i), err) : PGY_OK;
    if (!st) st = read_program(made, p, i, err);
    if (!st && runnable) st = find_devices(made, err);
    if (!st && runnable) st = find_kernels(made, p, i, err);
    /* Plug-ins loaded since the plan was opened may supply its kernels. */
    if (!st && runnable) st = plan_prove_program(p, i, err);
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

/* ---- Steps without kernel -------------------------------------------------------------------- */

bool plan_needs_nodes(const program *p)
{
    for (size_t i = 0; i < p->step_count; i++)
        if (p->steps[i].act == PROGRAM_RUN && !p->steps[i].kernel) return true;
    return false;
}

/* Has the step the inputs and outputs of its node? Definitions rely on required inputs; they check
 * types and shapes themselves when they run. */
static bool is_of(const program *p, const program_step *s, const pgy_node *n)
{
    const node_box *box = node_box_of(n);
    if (strcmp(s->op_type, n->op_type) != 0 || s->input_count != n->input_count ||
        s->output_count != n->output_count || s->captured_count != box->captured_count)
        return false;
    for (size_t i = 0; i < n->input_count; i++)
        if ((s->tensors[i] == PROGRAM_NO_TENSOR) != !n->inputs[i]) return false;
    for (size_t i = 0; i < box->captured_count; i++) {
        const uint32_t t = s->tensors[s->input_count + i];
        if (t == PROGRAM_NO_TENSOR || strcmp(p->tensors[t].name, box->captured[i]->name) != 0)
            return false;
    }
    return true;
}

pgy_status plan_bind(program *p, const plan_file *file, size_t index, pgy_graph *g, pgy_error *err)
{
    const plan_step *steps = plan_steps_of(file, index);
    for (size_t i = 0; i < p->step_count; i++) {
        program_step *s = &p->steps[i];
        if (s->kernel || s->act != PROGRAM_RUN) continue;
        if (steps[i].node >= g->node_count)
            return pgy_error_set(
                err, PGY_E_FORMAT,
                "the plan is damaged: a step refers to node %u, which its graph does not have",
                steps[i].node);
        pgy_node *n = g->nodes[steps[i].node];
        pgy_status st = node_prepare(n, err);
        if (!st) st = node_captures(n, err);
        if (!st && !is_of(p, s, n))
            st = pgy_error_set(
                err, PGY_E_FORMAT,
                "the plan is damaged: step '%s' does not match its node in the graph of the plan",
                s->label);
        if (!st) st = reference_step_bind(s, n, steps[i].node, &p->memory, err);
        if (st) return st;
    }
    return PGY_OK;
}
