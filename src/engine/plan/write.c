/* SPDX-License-Identifier: Apache-2.0 */
/* Small sections are gathered in memory; large ones are lists of borrowed pieces. At the end the
 * table is laid out and everything is written in order. Records are cleared before they are filled,
 * so that equal programs give equal bytes. */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "engine/build/config_store.h"
#include "engine/plan/format.h"
#include "engine/plan/plan.h"
#include "engine/plan/pool.h"
#include "engine/plan/weights.h"
#include "onnx/model.h"

typedef struct writer {
    const plan_source *source;
    str small[PLAN_KIND_END];      /* indexed by kind: sections made in memory */
    plan_pool bulk[PLAN_KIND_END]; /* indexed by kind, from PLAN_CONSTANTS on: large sections */
    plan_pool constants[PLAN_MAX_SPACES]; /* indexed by space: constants of devices; entry 0 is not
                                             used */
    uint32_t space_count;
    plan_piece models[2]; /* PLAN_MODEL and PLAN_SOURCE: bytes that the writer owns */
    pgy_model *bare[2];   /* models whose weights the pieces borrow */
    strmap texts;         /* maps a text to its offset in PLAN_STRINGS + 1 */
    plan_pool params;     /* PLAN_PARAMS: equal layers have equal parameters */
    plan_info_record info;
    cpu_level needs;
    bool failed;
} writer;

static void put(writer *w, plan_kind kind, const void *record, size_t size)
{
    str_append_n(&w->small[kind], record, size);
}

/* The index that the section's next record gets. */
static uint32_t next(writer *w, plan_kind kind, size_t record_bytes)
{
    const size_t place = w->small[kind].size / record_bytes;
    w->failed |= place >= UINT32_MAX;
    return (uint32_t)place;
}

static uint32_t text(writer *w, const char *t)
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
    writer *w = user;
    plan_setting s;
    memset(&s, 0, sizeof s);
    s.field = text(w, from->field);
    s.text = text(w, from->text);
    s.value = from->value;
    put(w, PLAN_SETTINGS, &s, sizeof s);
    return true;
}

static void add_config(writer *w)
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

static void add_value(writer *w, const pgy_tensor_info *info)
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

static void add_values(writer *w)
{
    const plan_source *s = w->source;
    w->info.input_count = (uint32_t)pgy_metadata_count(s->inputs);
    w->info.output_count = (uint32_t)pgy_metadata_count(s->outputs);
    for (size_t i = 0; i < pgy_metadata_count(s->inputs); i++)
        add_value(w, pgy_metadata_at(s->inputs, i));
    for (size_t i = 0; i < pgy_metadata_count(s->outputs); i++)
        add_value(w, pgy_metadata_at(s->outputs, i));
}

static void add_range(writer *w, size_t profile, size_t input)
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

static void add_profiles(writer *w)
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

static plan_pool *pool_of(writer *w, uint32_t space)
{
    return space ? &w->constants[space] : &w->bulk[PLAN_CONSTANTS];
}

/* Returns the bytes' place in the plan: `offset` if they come from a stripped plan, which has none.
 */
static uint64_t keep_constant(writer *w, uint32_t space, const void *data, uint64_t offset,
                              uint64_t size)
{
    uint64_t to = 0;
    if (!data) return offset;
    w->failed |= !plan_pool_add(&to, pool_of(w, space), data, size);
    return to;
}

static uint32_t add_tensor(writer *w, program_map *m, uint32_t tensor)
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

static uint32_t add_refs(writer *w, program_map *m, const uint32_t *tensors, size_t count)
{
    const uint32_t first = next(w, PLAN_REFS, sizeof(uint32_t));
    for (size_t i = 0; i < count; i++) {
        const uint32_t place = add_tensor(w, m, tensors[i]);
        put(w, PLAN_REFS, &place, sizeof place);
    }
    return first;
}

static void add_kernel(writer *w, plan_step *s, const program_step *from)
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

static void add_step(writer *w, program_map *m, const program_step *from)
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
    s.cost_ns = from->cost_ns;
    add_kernel(w, &s, from);
    s.refs =
        add_refs(w, m, from->tensors, (size_t)s.input_count + s.captured_count + s.output_count);
    put(w, PLAN_STEPS, &s, sizeof s);
}

static void add_mark(writer *w, program_map *m, const program_mark *from)
{
    plan_mark mark;
    memset(&mark, 0, sizeof mark);
    mark.step = from->step;
    mark.tensor = add_tensor(w, m, from->tensor);
    put(w, PLAN_MARKS, &mark, sizeof mark);
}

static void add_program(writer *w, const program *p)
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
static void add_spaces(writer *w)
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
        to.constant_bytes = pool_of(w, i)->size_bytes;
        for (size_t k = 0; k < s->program_count; k++) {
            const program_space *own = &s->programs[k]->spaces[i];
            if (!own->piece_count && own->constant_bytes > to.constant_bytes)
                to.constant_bytes = own->constant_bytes;
        }
        put(w, PLAN_SPACES, &to, sizeof to);
    }
}

/* ---- The graph and the model ----------------------------------------------------------------- */

static pgy_status add_model(writer *w, plan_kind kind, pgy_model *model, plan_weights_rule rule,
                            pgy_error *err)
{
    plan_piece *piece = &w->models[kind - PLAN_MODEL];
    pgy_model **bare = &w->bare[kind - PLAN_MODEL];
    void *bytes = NULL;
    size_t size = 0;
    if (!model) return PGY_OK;
    pgy_status st = plan_weights_detach(bare, model, &w->bulk[PLAN_CONSTANTS], w->source->packed,
                                        &w->bulk[PLAN_WEIGHTS], rule, err);
    if (!st) st = pgy_model_serialize(&bytes, &size, *bare, err);
    if (!st) *piece = (plan_piece){.data = bytes, .size_bytes = size};
    return st;
}

static pgy_status add_models(writer *w, pgy_error *err)
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

/* ---- The file ------------------------------------------------------------------------------- */

static uint64_t round_up(uint64_t offset, uint64_t alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

/* The pieces that a section consists of; `one` is storage for a section with a single piece. */
static const plan_piece *pieces_of(const writer *w, const plan_section *s, plan_piece *one,
                                   size_t *count)
{
    const uint32_t kind = s->kind;
    *count = 1;
    if (kind == PLAN_CONSTANTS || kind == PLAN_WEIGHTS) {
        const plan_pool *pool = s->space ? &w->constants[s->space] : &w->bulk[kind];
        *count = w->source->stripped ? 0 : pool->count;
        return pool->pieces;
    }
    if (kind == PLAN_PARAMS) {
        *count = w->params.count;
        return w->params.pieces;
    }
    *one = kind >= PLAN_MODEL
               ? w->models[kind - PLAN_MODEL]
               : (plan_piece){.data = str_text(&w->small[kind]), .size_bytes = w->small[kind].size};
    return one;
}

static const char ZEROS[PLAN_BULK_ALIGN];

/* Gives back pages of the models' files from time to time: pieces may lie there. */
static void give_back(uint64_t *read_bytes, const writer *w, uint64_t size_bytes)
{
    enum { TURN_BYTES = 64 << 20 };
    *read_bytes += size_bytes;
    if (*read_bytes < TURN_BYTES) return;
    *read_bytes = 0;
    model_forget_pages(w->source->model);
    if (w->source->original) model_forget_pages(w->source->original);
}

static uint64_t hash_section(const writer *w, const plan_piece *pieces, size_t count,
                             uint64_t *size)
{
    hash_stream h;
    uint64_t read_bytes = 0;
    hash_stream_start(&h);
    for (size_t i = 0; i < count; i++) {
        give_back(&read_bytes, w, pieces[i].size_bytes);
        hash_stream_add(&h, ZEROS, (size_t)(pieces[i].offset - h.total));
        hash_stream_add(&h, pieces[i].data, pieces[i].size_bytes);
    }
    *size = h.total;
    return hash_stream_finish(&h);
}

static void lay_out(plan_header *h, plan_section *table, const writer *w)
{
    memset(h, 0, sizeof *h);
    memcpy(h->magic, PLAN_MAGIC, sizeof h->magic);
    h->major = PLAN_MAJOR;
    h->minor = PLAN_MINOR;
    h->section_count = PLAN_KIND_END - 1 + w->space_count - 1;
    h->header_bytes = (uint32_t)(sizeof *h + h->section_count * sizeof *table);
    h->cpu_level = (uint32_t)w->needs;
    uint64_t end = h->header_bytes;
    for (uint32_t i = 0; i < h->section_count; i++) {
        plan_piece one;
        size_t count;
        memset(&table[i], 0, sizeof table[i]);
        const bool more = i + 1 >= PLAN_KIND_END; /* sections of devices' constants come last */
        table[i].kind = more ? PLAN_CONSTANTS : i + 1;
        table[i].space = more ? i + 2 - PLAN_KIND_END : 0;
        table[i].version = 1;
        const plan_piece *pieces = pieces_of(w, &table[i], &one, &count);
        table[i].hash = hash_section(w, pieces, count, &table[i].size_bytes);
        const bool bulk = table[i].size_bytes >= PLAN_BULK_BYTES;
        table[i].offset = round_up(end, bulk ? PLAN_BULK_ALIGN : PLAN_ALIGN);
        end = table[i].offset + table[i].size_bytes;
    }
    h->file_bytes = end;
}

/* Hash of the header, with its hash field as 0, and of the section table. */
static uint64_t hash_header(const plan_header *h, const plan_section *table)
{
    plan_header clean = *h;
    clean.hash = 0;
    return hash_xxh64(table, h->section_count * sizeof *table, hash_xxh64(&clean, sizeof clean, 0));
}

/* Output of the writer: a file, or memory of the right size. */
typedef struct sink {
    file_writer *file;
    unsigned char *data;
    uint64_t size_bytes;
} sink;

static pgy_status put_bytes(sink *to, const void *data, size_t size, pgy_error *err)
{
    if (!size) return PGY_OK;
    if (to->data) memcpy(to->data + to->size_bytes, data, size);
    to->size_bytes += size;
    return to->file ? file_writer_write(to->file, data, size, err) : PGY_OK;
}

static pgy_status put_section(sink *to, const writer *w, const plan_section *s, pgy_error *err)
{
    plan_piece one;
    size_t count;
    uint64_t read_bytes = 0;
    const plan_piece *pieces = pieces_of(w, s, &one, &count);
    pgy_status st = put_bytes(to, ZEROS, (size_t)(s->offset - to->size_bytes), err);
    for (size_t i = 0; !st && i < count; i++) {
        const uint64_t start = s->offset + pieces[i].offset;
        give_back(&read_bytes, w, pieces[i].size_bytes);
        st = put_bytes(to, ZEROS, (size_t)(start - to->size_bytes), err);
        if (!st) st = put_bytes(to, pieces[i].data, pieces[i].size_bytes, err);
    }
    return st;
}

static pgy_status put_plan(sink *to, const plan_header *header, const plan_section *table,
                           const writer *w, pgy_error *err)
{
    pgy_status st = put_bytes(to, header, sizeof *header, err);
    if (!st) st = put_bytes(to, table, header->section_count * sizeof *table, err);
    for (uint32_t i = 0; !st && i < header->section_count; i++)
        st = put_section(to, w, &table[i], err);
    return st;
}

static pgy_status write_to(const char *path, void **data, size_t *size, const writer *w,
                           pgy_error *err)
{
    plan_header header;
    plan_section table[PLAN_KIND_END - 1 + PLAN_MAX_SPACES];
    sink to = {0};
    lay_out(&header, table, w);
    header.hash = hash_header(&header, table);
    if (path) {
        pgy_status st = file_writer_create(&to.file, path, err);
        if (!st) st = put_plan(&to, &header, table, w, err);
        if (!st) st = file_writer_commit(to.file, err);
        file_writer_destroy(to.file);
        return st;
    }
    to.data = mem_alloc(header.file_bytes);
    if (!to.data) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a plan");
    const pgy_status st = put_plan(&to, &header, table, w, err);
    if (st) {
        mem_free(to.data);
        return st;
    }
    *data = to.data;
    *size = header.file_bytes;
    return PGY_OK;
}

static pgy_status write_plan(const char *path, void **data, size_t *size, const plan_source *s,
                             pgy_error *err)
{
    writer w = {.source = s, .needs = CPU_PORTABLE};
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
                      : write_to(path, data, size, &w, err);
    for (size_t i = 0; i < PLAN_KIND_END; i++) {
        str_deinit(&w.small[i]);
        plan_pool_deinit(&w.bulk[i]);
    }
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
