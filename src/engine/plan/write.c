/* SPDX-License-Identifier: Apache-2.0 */
/* Small sections are gathered in memory; large ones are lists of borrowed pieces. Records are
 * cleared before they are filled, so that equal programs give equal bytes. */
#include "engine/plan/write.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "engine/build/config_store.h"
#include "engine/plan/weights.h"

static void put(plan_writer *w, plan_kind kind, const void *record, size_t size)
{
    str_append_n(&w->small[kind], record, size);
}

/* The index that the section's next record gets. */
static uint32_t next(plan_writer *w, plan_kind kind, size_t record_bytes)
{
    const size_t place = w->small[kind].size / record_bytes;
    w->failed |= place >= UINT32_MAX;
    return (uint32_t)place;
}

static uint32_t text(plan_writer *w, const char *t)
{
    if (!t) return PLAN_NO_TEXT;
    const uintptr_t known = (uintptr_t)strmap_get(&w->texts, t);
    if (known) return (uint32_t)(known - 1);
    const uint32_t place = next(w, PLAN_STRINGS, 1);
    w->failed |= !strmap_put(&w->texts, t, (void *)((uintptr_t)place + 1));
    put(w, PLAN_STRINGS, t, strlen(t) + 1);
    return place;
}

static int32_t type_number(pgy_dtype dtype)
{
    return dtype ? pgy_dtype_describe(dtype)->onnx : 0;
}

/* ---- The configuration ---------------------------------------------------------------------- */

static bool add_setting(const config_setting *from, void *user)
{
    plan_writer *w = user;
    plan_setting s;
    memset(&s, 0, sizeof s);
    s.field = text(w, from->field);
    s.text = text(w, from->text);
    s.value = from->value;
    put(w, PLAN_SETTINGS, &s, sizeof s);
    return true;
}

static void add_config(plan_writer *w)
{
    const pgy_build_config *c = w->source->config;
    const struct {
        bool on;
        uint32_t flag;
    } FLAGS[] = {
        {c->refittable || c->strip_plan, PLAN_REFITTABLE},
        {w->source->stripped, PLAN_STRIPPED},
        {w->source->whole, PLAN_WHOLE},
        {c->version_compatible, PLAN_VERSION_COMPATIBLE},
    };
    for (size_t i = 0; i < sizeof FLAGS / sizeof *FLAGS; i++)
        if (FLAGS[i].on) w->info.flags |= FLAGS[i].flag;
    w->failed |= !config_save(c, add_setting, w);
}

/* ---- The model's inputs and outputs, profiles ------------------------------------------------ */

static void add_value(plan_writer *w, const pgy_tensor_info *info)
{
    plan_value v;
    memset(&v, 0, sizeof v);
    v.name = text(w, info->name);
    v.dtype = type_number(info->dtype);
    v.rank = info->rank;
    v.form = (uint32_t)info->form;
    v.dims = next(w, PLAN_DIMS, sizeof(plan_dim));
    for (int32_t i = 0; i < info->rank; i++) {
        plan_dim d;
        memset(&d, 0, sizeof d);
        d.value = info->shape[i];
        d.name = text(w, info->dim_names ? info->dim_names[i] : NULL);
        put(w, PLAN_DIMS, &d, sizeof d);
    }
    put(w, PLAN_VALUES, &v, sizeof v);
}

static void add_values(plan_writer *w)
{
    const plan_source *s = w->source;
    w->info.input_count = (uint32_t)pgy_metadata_count(s->inputs);
    w->info.output_count = (uint32_t)pgy_metadata_count(s->outputs);
    for (size_t i = 0; i < pgy_metadata_count(s->inputs); i++)
        add_value(w, pgy_metadata_at(s->inputs, i));
    for (size_t i = 0; i < pgy_metadata_count(s->outputs); i++)
        add_value(w, pgy_metadata_at(s->outputs, i));
}

static void add_range(plan_writer *w, size_t profile, size_t input)
{
    pgy_profile_range from;
    plan_range r;
    memset(&r, 0, sizeof r);
    r.kind = (uint32_t)profiles_range(&from, w->source->profiles, profile, input);
    r.count = (uint32_t)from.count;
    r.entries = next(w, PLAN_SHAPES, sizeof(int64_t));
    put(w, PLAN_SHAPES, from.min, from.count * sizeof *from.min);
    put(w, PLAN_SHAPES, from.opt, from.count * sizeof *from.opt);
    put(w, PLAN_SHAPES, from.max, from.count * sizeof *from.max);
    put(w, PLAN_RANGES, &r, sizeof r);
}

static void add_profiles(plan_writer *w)
{
    const plan_source *s = w->source;
    for (size_t i = 0; i < profiles_count(s->profiles); i++) {
        plan_profile p;
        memset(&p, 0, sizeof p);
        p.program = s->profile_programs[i];
        put(w, PLAN_PROFILES, &p, sizeof p);
        for (size_t k = 0; k < w->info.input_count; k++) add_range(w, i, k);
    }
}

/* ---- Programs ------------------------------------------------------------------------------- */

/* A program being written. Tensors get new indices, since tensors that no step reads are left
 * out. */
typedef struct program_map {
    const program *p;
    uint32_t *places; /* indexed by tensor: its new index + 1; 0: none yet */
    uint32_t first, count;
} program_map;

/* Returns the bytes' place in the plan: `offset` if they come from a stripped plan, which has none.
 */
static uint64_t keep_constant(plan_writer *w, uint32_t space, const void *data, uint64_t offset,
                              uint64_t size)
{
    uint64_t to = 0;
    if (!data) return offset;
    w->failed |= space ? !plan_pool_add(&to, &w->constants[space], data, size)
                       : !area_pools_add(&to, &w->host, data, size);
    return to;
}

static uint32_t add_tensor(plan_writer *w, program_map *m, uint32_t tensor)
{
    if (tensor == PROGRAM_NO_TENSOR) return tensor;
    if (m->places[tensor]) return m->places[tensor] - 1;
    const program_tensor *from = &m->p->tensors[tensor];
    plan_tensor t;
    memset(&t, 0, sizeof t);
    t.name = text(w, from->name);
    t.dtype = type_number(from->dtype);
    t.rank = from->rank;
    t.shape = next(w, PLAN_SHAPES, sizeof(int64_t));
    t.layout = (uint32_t)from->layout;
    t.place = (uint32_t)from->place;
    t.space = from->space;
    t.offset = from->place == PROGRAM_CONSTANT
                   ? keep_constant(w, from->space, from->data, from->offset, from->size_bytes)
                   : from->offset;
    t.size_bytes = from->size_bytes;
    put(w, PLAN_SHAPES, from->shape, (size_t)from->rank * sizeof(int64_t));
    put(w, PLAN_TENSORS, &t, sizeof t);
    m->places[tensor] = ++m->count;
    return m->count - 1;
}

static uint32_t add_refs(plan_writer *w, program_map *m, const uint32_t *tensors, size_t count)
{
    const uint32_t first = next(w, PLAN_REFS, sizeof(uint32_t));
    for (size_t i = 0; i < count; i++) {
        const uint32_t place = add_tensor(w, m, tensors[i]);
        put(w, PLAN_REFS, &place, sizeof place);
    }
    return first;
}

static void add_kernel(plan_writer *w, plan_step *s, const program_step *from)
{
    const kernel_plan *plan = &from->plan;
    if (!from->kernel) return;
    if (from->kernel->needs > w->needs) w->needs = from->kernel->needs;
    s->kernel = text(w, from->kernel->name);
    s->kernel_version = from->kernel->version;
    s->phases = plan->phases;
    s->parts = plan->parts;
    s->packed_inputs = plan->packed_inputs;
    s->in_place = plan->in_place;
    if (plan->packed_bytes)
        s->packed_offset =
            keep_constant(w, from->space, plan->packed, from->packed_offset, plan->packed_bytes);
    s->packed_bytes = plan->packed_bytes;
    s->workspace_bytes = plan->workspace_bytes;
    s->workspace_place = (uint32_t)(from->workspace_offset / PLAN_ALIGN);
    s->scratch_bytes = plan->scratch_bytes;
    s->params_bytes = plan->params_bytes;
    if (plan->params_bytes)
        w->failed |=
            !plan_pool_add(&s->params_offset, &w->params, plan->params, plan->params_bytes);
}

static void add_step(plan_writer *w, program_map *m, const program_step *from)
{
    plan_step s;
    memset(&s, 0, sizeof s);
    s.label = text(w, from->label);
    s.op_type = text(w, from->op_type);
    s.act = (uint32_t)from->act;
    s.space = from->space;
    s.event = from->event;
    s.kernel = PLAN_NO_TEXT;
    s.node = from->kernel || from->act != PROGRAM_RUN ? PLAN_NO_NODE : from->node_index;
    s.input_count = from->input_count;
    s.captured_count = from->captured_count;
    s.output_count = from->output_count;
    s.phases = s.parts = 1;
    s.in_place = -1;
    s.cost_ns = ceil(from->cost_ns); /* whole numbers deflate well */
    add_kernel(w, &s, from);
    s.refs =
        add_refs(w, m, from->tensors, (size_t)s.input_count + s.captured_count + s.output_count);
    put(w, PLAN_STEPS, &s, sizeof s);
}

static void add_mark(plan_writer *w, program_map *m, const program_mark *from)
{
    plan_mark mark;
    memset(&mark, 0, sizeof mark);
    mark.step = from->step;
    mark.tensor = add_tensor(w, m, from->tensor);
    put(w, PLAN_MARKS, &mark, sizeof mark);
}

static void add_program(plan_writer *w, const program *p)
{
    program_map m = {.p = p, .places = mem_calloc(p->tensor_count + 1, sizeof *m.places)};
    plan_program r;
    memset(&r, 0, sizeof r);
    w->failed |= !m.places;
    if (w->failed) goto done;
    r.tensors = next(w, PLAN_TENSORS, sizeof(plan_tensor));
    r.steps = next(w, PLAN_STEPS, sizeof(plan_step));
    r.marks = next(w, PLAN_MARKS, sizeof(plan_mark));
    for (uint32_t i = 0; i < p->input_count; i++) (void)add_tensor(w, &m, i);
    for (size_t i = 0; i < p->step_count; i++) add_step(w, &m, &p->steps[i]);
    for (size_t i = 0; i < p->mark_count; i++) add_mark(w, &m, &p->marks[i]);
    r.outputs = add_refs(w, &m, p->outputs, p->output_count);
    r.tensor_count = m.count;
    r.step_count = (uint32_t)p->step_count;
    r.mark_count = (uint32_t)p->mark_count;
    r.event_count = p->event_count;
    r.arenas = next(w, PLAN_ARENAS, sizeof(plan_arena));
    for (uint32_t i = 0; i < p->space_count; i++) {
        const plan_arena a = {.size_bytes = p->spaces[i].arena_bytes,
                              .bound = p->spaces[i].arena_bound};
        put(w, PLAN_ARENAS, &a, sizeof a);
    }
    r.workspace_bytes = p->workspace_bytes;
    r.scratch_bytes = p->scratch_bytes;
    put(w, PLAN_PROGRAMS, &r, sizeof r);
done:
    mem_free(m.places);
}

/* Adds the spaces of the first program: all programs of an engine have the same. */
static void add_spaces(plan_writer *w)
{
    const plan_source *s = w->source;
    const program *first = s->program_count ? s->programs[0] : NULL;
    w->space_count = first ? first->space_count : 1;
    for (uint32_t i = 0; i < w->space_count; i++) {
        const program_space *from = first ? &first->spaces[i] : NULL;
        plan_space to;
        memset(&to, 0, sizeof to);
        to.name = text(w, from && i ? from->name : "host");
        to.fingerprint = text(w, from && i ? from->fingerprint : NULL);
        to.constant_bytes = i ? w->constants[i].size_bytes : area_pools_bytes(&w->host);
        for (size_t k = 0; k < s->program_count; k++) {
            const program_space *own = &s->programs[k]->spaces[i];
            if (!own->piece_count && own->constant_bytes > to.constant_bytes)
                to.constant_bytes = own->constant_bytes;
        }
        put(w, PLAN_SPACES, &to, sizeof to);
    }
}

/* ---- The graph and the model ----------------------------------------------------------------- */

static pgy_status add_model(plan_writer *w, plan_kind kind, pgy_model *model,
                            plan_weights_rule rule, pgy_error *err)
{
    plan_piece *piece = &w->models[kind - PLAN_MODEL];
    pgy_model **bare = &w->bare[kind - PLAN_MODEL];
    void *bytes = NULL;
    size_t size = 0;
    if (!model) return PGY_OK;
    pgy_status st =
        plan_weights_detach(bare, model, &w->host, w->source->packed, &w->weights, rule, err);
    if (!st) st = pgy_model_serialize(&bytes, &size, *bare, err);
    if (!st) *piece = (plan_piece){.data = bytes, .size_bytes = size};
    return st;
}

static pgy_status add_models(plan_writer *w, pgy_error *err)
{
    const plan_source *s = w->source;
    const plan_weights_rule graph = s->stripped ? PLAN_WEIGHTS_STRIP
                                    : s->whole  ? PLAN_WEIGHTS_ALL
                                                : PLAN_WEIGHTS_SMALL;
    pgy_status st = add_model(w, PLAN_MODEL, s->model, graph, err);
    if (!st)
        st = add_model(w, PLAN_SOURCE, s->original,
                       s->stripped ? PLAN_WEIGHTS_STRIP : PLAN_WEIGHTS_ALL, err);
    return st;
}

static pgy_status write_plan(const char *path, void **data, size_t *size, const plan_source *s,
                             pgy_error *err)
{
    plan_writer w = {.source = s, .needs = CPU_PORTABLE};
    area_pools_init(&w.host, s->stripped);
    add_values(&w);
    add_profiles(&w);
    for (size_t i = 0; i < s->program_count; i++) add_program(&w, s->programs[i]);
    pgy_status st = add_models(&w, err);
    add_spaces(&w);
    add_config(&w);
    w.info.name = text(&w, s->name);
    w.info.library = text(&w, pgy_version());
    w.info.model_hash = s->model_hash;
    put(&w, PLAN_INFO, &w.info, sizeof w.info);
    for (size_t i = 0; i < PLAN_KIND_END; i++) w.failed |= w.small[i].failed;
    if (!st)
        st = w.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory while writing the plan")
                      : plan_write_file(path, data, size, &w, err);
    for (size_t i = 0; i < PLAN_KIND_END; i++) str_deinit(&w.small[i]);
    area_pools_deinit(&w.host);
    plan_pool_deinit(&w.weights);
    for (size_t i = 0; i < PLAN_MAX_SPACES; i++) plan_pool_deinit(&w.constants[i]);
    for (size_t i = 0; i < 2; i++) {
        pgy_text_free((void *)w.models[i].data);
        pgy_model_destroy(w.bare[i]);
    }
    strmap_deinit(&w.texts);
    plan_pool_deinit(&w.params);
    return st;
}

pgy_status plan_write(const char *path, const plan_source *s, pgy_error *err)
{
    return write_plan(path, NULL, NULL, s, err);
}

pgy_status plan_serialize(void **out, size_t *size_bytes, const plan_source *s, pgy_error *err)
{
    return write_plan(NULL, out, size_bytes, s, err);
}
