/* SPDX-License-Identifier: Apache-2.0 */
/* The public side of plans: building one in a single call, and looking at one. What is looked at is
 * read once, when the plan is opened. */
#include <polygraphy/engine.h>

#include "base/alloc.h"
#include "engine/engine.h"
#include "engine/plan.h"

struct pgy_plan {
    plan_file *file;
    pgy_plan_info info;
    pgy_metadata *inputs, *outputs, *shapes;
    arena memory;
    pgy_plan_layer *layers;
    size_t layer_count;
};

pgy_status pgy_plan_build(const char *path, pgy_model *model, const pgy_build_config *config,
                          pgy_error *err)
{
    engine *e = NULL;
    pgy_status st = engine_build(&e, model, config, err);
    if (!st) st = engine_save(e, path, err);
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
    pgy_metadata_destroy(p->inputs);
    pgy_metadata_destroy(p->outputs);
    pgy_metadata_destroy(p->shapes);
    arena_deinit(&p->memory);
    plan_close(p->file);
    mem_free(p);
}

/* ---- Layers --------------------------------------------------------------------------------- */

/* Tensors of a step, without weights. */
static bool add_tensors(const pgy_plan_tensor **out, size_t *count, pgy_plan *p,
                        const program *from, const uint32_t *refs, size_t ref_count)
{
    pgy_plan_tensor *made = arena_alloc_array(&p->memory, ref_count, sizeof *made);
    if (!made) return false;
    *out = made;
    *count = 0;
    for (size_t i = 0; i < ref_count; i++) {
        if (refs[i] == PROGRAM_NO_TENSOR) continue;
        const program_tensor *t = &from->tensors[refs[i]];
        if (t->place == PROGRAM_CONSTANT) continue;
        made[(*count)++] = (pgy_plan_tensor){.name = t->name,
                                             .dtype = t->dtype,
                                             .rank = t->rank,
                                             .shape = t->shape,
                                             .block = kernel_block(t->layout)};
    }
    return true;
}

static bool add_layers(pgy_plan *p, const program *from)
{
    p->layers = arena_alloc_array(&p->memory, from->step_count, sizeof *p->layers);
    bool ok = p->layers != NULL;
    for (size_t i = 0; ok && i < from->step_count; i++) {
        const program_step *s = &from->steps[i];
        pgy_plan_layer *l = &p->layers[i];
        const size_t reads = (size_t)s->input_count + s->captured_count;
        l->name = s->label;
        l->type = s->op_type;
        l->tactic = plan_kernel_name(p->file, i);
        ok = add_tensors(&l->inputs, &l->input_count, p, from, s->tensors, reads) &&
             add_tensors(&l->outputs, &l->output_count, p, from, s->tensors + reads,
                         s->output_count);
    }
    if (ok) p->layer_count = from->step_count;
    return ok;
}

static pgy_status read_program(pgy_plan *p, pgy_error *err)
{
    program *made = NULL;
    pgy_status st = plan_program(&made, p->file, false, err);
    if (!st && made) {
        st = plan_program_inputs(&p->shapes, made, err);
        if (!st && !add_layers(p, made)) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    program_release(made);
    return st;
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
        .arena_bytes = i->arena_bytes,
        .arena_bound = i->arena_bound,
        .constant_bytes = i->constant_bytes,
        .is_built = i->has_program,
    };
}

pgy_status pgy_plan_open(pgy_plan **out, const char *path, pgy_error *err)
{
    pgy_plan *p = mem_calloc(1, sizeof *p);
    if (!p) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = plan_open(&p->file, path, err);
    if (!st) {
        st = plan_verify(p->file, err);
        if (!st) st = plan_metadata(&p->inputs, p->file, false, err);
        if (!st) st = plan_metadata(&p->outputs, p->file, true, err);
        if (!st) st = read_program(p, err);
        if (st) pgy_error_prefix(err, st, "'%s': ", path);
    }
    if (st) {
        pgy_plan_close(p);
        return st;
    }
    describe(p);
    *out = p;
    return PGY_OK;
}

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

const pgy_metadata *pgy_plan_shapes(const pgy_plan *p)
{
    return p->shapes;
}

size_t pgy_plan_layer_count(const pgy_plan *p)
{
    return p->layer_count;
}

const pgy_plan_layer *pgy_plan_layer_at(const pgy_plan *p, size_t i)
{
    return &p->layers[i];
}
