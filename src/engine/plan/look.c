/* SPDX-License-Identifier: Apache-2.0 */
/* The public side of plans: building a plan in a single call, and describing one. A plan is read
 * completely when it is opened. */
#include "engine/plan/look.h"
#include "engine/build/config_fields.h"

#include <string.h>

#include "base/alloc.h"
#include "engine/plan/plan.h"

/* A program of the plan, or of an engine that is described as if it were a plan. */
typedef struct looked_at {
    program *program;
    pgy_plan_profile view;
} looked_at;

struct pgy_plan {
    plan_file *file; /* NULL: it describes an engine */
    pgy_plan_info info;
    pgy_metadata *inputs, *outputs;
    const profile_set *profiles;
    profile_set *own_profiles;
    arena memory;
    looked_at *programs; /* indexed by profile: its program */
    size_t profile_count;
};

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while looking at a plan");
}

pgy_status pgy_plan_build(const char *path, pgy_model *model, const pgy_build_config *config,
                          pgy_error *err)
{
    engine *e = NULL;
    program *p = NULL;
    pgy_status st = engine_build(&e, model, config, err);
    if (!st) st = engine_save(e, path, err);
    if (!st) st = engine_program_for(&p, e, 0, err);
    if (!st) st = engine_save_tactics(e, p, err);
    program_release(p);
    engine_release(e);
    return st;
}

bool pgy_plan_is_plan(const char *path)
{
    return plan_is_plan_file(path);
}

void pgy_plan_close(pgy_plan *p)
{
    if (!p) return;
    for (size_t i = 0; p->programs && i < p->profile_count; i++)
        program_release(p->programs[i].program);
    mem_free(p->programs);
    profiles_destroy(p->own_profiles);
    pgy_metadata_destroy(p->inputs);
    pgy_metadata_destroy(p->outputs);
    arena_deinit(&p->memory);
    plan_close(p->file);
    mem_free(p);
}

/* ---- Layers --------------------------------------------------------------------------------- */

/* Lists the tensors of a step that are constants, or those that are not. */
static bool add_tensors(const pgy_plan_tensor **out, size_t *count, pgy_plan *p,
                        const program *from, const uint32_t *refs, size_t ref_count, bool constant)
{
    pgy_plan_tensor *made = arena_alloc_array(&p->memory, ref_count, sizeof *made);
    if (!made) return false;
    *out = made;
    *count = 0;
    for (size_t i = 0; i < ref_count; i++) {
        if (refs[i] == PROGRAM_NO_TENSOR) continue;
        const program_tensor *t = &from->tensors[refs[i]];
        if ((t->place == PROGRAM_CONSTANT) != constant) continue;
        made[(*count)++] = (pgy_plan_tensor){
            .name = t->name,
            .dtype = t->dtype,
            .rank = t->rank,
            .shape = t->shape,
            .block = t->layout == KERNEL_CHANNELS_LAST ? 0 : kernel_block(t->layout)};
    }
    return true;
}

/* The label of a fused node joins the names of its source nodes. */
static bool add_sources(pgy_plan_layer *l, pgy_plan *p)
{
    static const char JOINT[] = " + ";
    const size_t size = sizeof JOINT - 1;
    size_t count = 1;
    for (const char *at = l->name; (at = strstr(at, JOINT)); at += size) count++;
    const char **sources = arena_alloc_array(&p->memory, count, sizeof *sources);
    if (!sources) return false;
    const char *from = l->name;
    for (size_t i = 0; i < count; i++) {
        const char *end = strstr(from, JOINT);
        sources[i] = arena_strndup(&p->memory, from, end ? (size_t)(end - from) : strlen(from));
        if (!sources[i]) return false;
        if (end) from = end + size;
    }
    l->sources = sources;
    l->source_count = count;
    return true;
}

static const char *tactic_of(const pgy_plan *p, const program_step *s, size_t index, size_t step)
{
    static const char *const ACTS[] = {
        [PROGRAM_COPY] = "copy", [PROGRAM_RECORD] = "record", [PROGRAM_WAIT] = "wait"};
    if (s->act != PROGRAM_RUN) return ACTS[s->act];
    if (p->file) return plan_kernel_name(p->file, index, step);
    return s->kernel ? s->kernel->name : NULL;
}

static bool is_move(const pgy_plan_layer *l)
{
    static const char *const TYPES[] = {"Reorder", "Copy", "Record", "Wait"};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++)
        if (strcmp(l->type, TYPES[i]) == 0) return true;
    return false;
}

static bool add_spaces(pgy_plan_profile *to, pgy_plan *p, const program *from)
{
    pgy_plan_space *spaces = arena_alloc_array(&p->memory, from->space_count, sizeof *spaces);
    if (!spaces) return false;
    for (uint32_t i = 0; i < from->space_count; i++) {
        const program_space *s = &from->spaces[i];
        spaces[i] = (pgy_plan_space){.device = i ? s->name : NULL,
                                     .arena_bytes = s->arena_bytes,
                                     .constant_bytes = s->constant_bytes};
        to->arena_bytes += s->arena_bytes;
        to->arena_bound += s->arena_bound;
    }
    to->spaces = spaces;
    to->space_count = from->space_count;
    return true;
}

static bool add_layers(pgy_plan *p, looked_at *to, size_t index)
{
    const program *from = to->program;
    pgy_plan_layer *layers = arena_alloc_array(&p->memory, from->step_count, sizeof *layers);
    bool ok = layers != NULL;
    for (size_t i = 0; ok && i < from->step_count; i++) {
        const program_step *s = &from->steps[i];
        pgy_plan_layer *l = &layers[i];
        const size_t reads = (size_t)s->input_count + s->captured_count;
        l->name = s->label;
        l->type = s->op_type;
        l->tactic = tactic_of(p, s, index, i);
        l->packed_bytes = s->plan.packed_bytes;
        l->device = s->space ? from->spaces[s->space].name : NULL;
        ok = add_tensors(&l->inputs, &l->input_count, p, from, s->tensors, reads, false) &&
             add_tensors(&l->constants, &l->constant_count, p, from, s->tensors, reads, true) &&
             add_tensors(&l->outputs, &l->output_count, p, from, s->tensors + reads,
                         s->output_count, false) &&
             (is_move(l) || add_sources(l, p));
    }
    to->view =
        (pgy_plan_profile){.is_built = true, .layers = layers, .layer_count = from->step_count};
    return ok && add_spaces(&to->view, p, from);
}

/* ---- Opening -------------------------------------------------------------------------------- */

static void describe(pgy_plan *p)
{
    const plan_info *i = plan_describe(p->file);
    p->info = (pgy_plan_info){
        .name = i->name,
        .library = i->library,
        .cpu = plan_level_name(i->needs),
        .model_hash = i->model_hash,
        .file_bytes = i->file_bytes,
        .constant_bytes = i->constant_bytes,
        .refittable = i->flags & PLAN_REFITTABLE,
        .stripped = i->flags & PLAN_STRIPPED,
        .version_compatible = i->flags & PLAN_VERSION_COMPATIBLE,
    };
}

static pgy_status make_room(pgy_plan *p, pgy_error *err)
{
    p->profile_count = profiles_count(p->profiles);
    p->programs = mem_calloc(p->profile_count + 1, sizeof *p->programs);
    return p->programs ? PGY_OK : no_memory(err);
}

static pgy_status read_programs(pgy_plan *p, pgy_error *err)
{
    pgy_status st = make_room(p, err);
    for (size_t i = 0; !st && i < p->profile_count; i++) {
        looked_at *to = &p->programs[i];
        const uint32_t index = plan_profile_program(p->file, i);
        if (index == PLAN_NO_PROGRAM) continue;
        st = plan_program_at(&to->program, p->file, index, false, err);
        if (!st && !add_layers(p, to, index)) st = no_memory(err);
    }
    return st;
}

static void set_verbosity(pgy_plan *p, const pgy_build_config *config)
{
    const config_field *f = config_field_find("profiling_verbosity");
    p->info.verbosity = f->names[config->profiling_verbosity];
}

static pgy_status read_plan(pgy_plan *p, pgy_error *err)
{
    pgy_build_config *config = NULL;
    pgy_status st = plan_verify(p->file, err);
    if (!st) st = plan_metadata(&p->inputs, p->file, false, err);
    if (!st) st = plan_metadata(&p->outputs, p->file, true, err);
    if (!st) st = plan_profiles(&p->own_profiles, p->file, p->inputs, err);
    if (!st) st = plan_config(&config, p->file, &p->memory, err);
    if (st) return st;
    p->profiles = p->own_profiles;
    describe(p);
    set_verbosity(p, config);
    return read_programs(p, err);
}

pgy_status pgy_plan_open(pgy_plan **out, const char *path, pgy_error *err)
{
    pgy_plan *p = mem_calloc(1, sizeof *p);
    if (!p) return no_memory(err);
    pgy_status st = plan_open(&p->file, path, err);
    if (!st) {
        st = read_plan(p, err);
        if (st) pgy_error_prefix(err, st, "'%s': ", path);
    }
    if (st)
        pgy_plan_close(p);
    else
        *out = p;
    return st;
}

static cpu_level level_of_steps(const program *p, cpu_level least)
{
    for (size_t i = 0; i < p->step_count; i++)
        if (p->steps[i].kernel && p->steps[i].kernel->needs > least)
            least = p->steps[i].kernel->needs;
    return least;
}

static pgy_status copy_metadata(pgy_metadata **out, const pgy_metadata *from, pgy_error *err)
{
    pgy_status st = pgy_metadata_create(out, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(from); i++)
        st = pgy_metadata_set(*out, pgy_metadata_at(from, i), err);
    return st;
}

pgy_status plan_look_at_engine(pgy_plan **out, engine *e, pgy_error *err)
{
    pgy_plan *p = mem_calloc(1, sizeof *p);
    cpu_level needs = CPU_PORTABLE;
    if (!p) return no_memory(err);
    p->profiles = engine_profiles(e);
    pgy_status st = copy_metadata(&p->inputs, engine_inputs(e), err);
    if (!st) st = copy_metadata(&p->outputs, engine_outputs(e), err);
    if (!st) st = make_room(p, err);
    p->info = (pgy_plan_info){.name = engine_name(e), .library = pgy_version()};
    p->info.refittable = engine_config(e)->refittable;
    p->info.stripped = engine_is_stripped(e);
    p->info.version_compatible = engine_config(e)->version_compatible;
    set_verbosity(p, engine_config(e));
    for (size_t i = 0; !st && i < p->profile_count; i++) {
        looked_at *to = &p->programs[i];
        st = engine_program_for(&to->program, e, i, err);
        if (st || !to->program) continue;
        needs = level_of_steps(to->program, needs);
        if (!add_layers(p, to, i)) st = no_memory(err);
        if (p->info.constant_bytes < to->program->spaces[0].constant_bytes)
            p->info.constant_bytes = to->program->spaces[0].constant_bytes;
    }
    p->info.cpu = cpu_level_name(needs);
    if (st)
        pgy_plan_close(p);
    else
        *out = p;
    return st;
}

/* ---- Queries --------------------------------------------------------------------------------- */

const pgy_plan_info *pgy_plan_describe(const pgy_plan *p)
{
    return &p->info;
}

const pgy_metadata *pgy_plan_inputs(const pgy_plan *p)
{
    return p->inputs;
}

const pgy_metadata *pgy_plan_outputs(const pgy_plan *p)
{
    return p->outputs;
}

size_t pgy_plan_profile_count(const pgy_plan *p)
{
    return p->profile_count;
}

const pgy_plan_profile *pgy_plan_profile_at(const pgy_plan *p, size_t i)
{
    return &p->programs[i].view;
}

pgy_bound_kind pgy_plan_range(pgy_profile_range *out, const pgy_plan *p, size_t profile, size_t i)
{
    *out = (pgy_profile_range){0};
    if (profile >= p->profile_count || i >= pgy_metadata_count(p->inputs)) return PGY_BOUND_NONE;
    return profiles_range(out, p->profiles, profile, i);
}
