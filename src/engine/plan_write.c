/* SPDX-License-Identifier: Apache-2.0 */
/* Small sections are gathered in memory, the large ones are borrowed; then the table is laid out
 * and everything is written in order. Records are cleared before they are filled, so that equal
 * programs give equal bytes. */
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "engine/plan.h"
#include "engine/plan_format.h"

typedef struct section {
    plan_kind kind;
    uint64_t alignment;
    str bytes;        /* small ones */
    const void *bulk; /* large ones */
    size_t bulk_bytes;
} section;

typedef struct writer {
    const plan_source *source;
    section sections[PLAN_KIND_END]; /* by kind */
    strmap texts;                    /* -> offset in STRINGS + 1 */
    plan_info_record info;
    cpu_level needs;
    bool failed;
} writer;

static str *bytes_of(writer *w, plan_kind kind)
{
    return &w->sections[kind].bytes;
}

static void put(writer *w, plan_kind kind, const void *record, size_t size)
{
    str_append_n(bytes_of(w, kind), record, size);
}

/* The number of the record that comes next. */
static uint32_t next(writer *w, plan_kind kind, size_t record_bytes)
{
    const size_t place = bytes_of(w, kind)->size / record_bytes;
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

/* ---- The model's inputs and outputs --------------------------------------------------------- */

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

/* ---- The program ---------------------------------------------------------------------------- */

static void add_tensor(writer *w, const program_tensor *from)
{
    plan_tensor t;
    memset(&t, 0, sizeof t);
    t.name = text(w, from->name);
    t.dtype = type_number(from->dtype);
    t.rank = from->rank;
    t.shape = next(w, PLAN_SHAPES, sizeof(int64_t));
    t.layout = (uint32_t)from->layout;
    t.place = (uint32_t)from->place;
    t.offset = from->offset;
    t.size_bytes = from->size_bytes;
    put(w, PLAN_SHAPES, from->shape, (size_t)from->rank * sizeof(int64_t));
    put(w, PLAN_TENSORS, &t, sizeof t);
}

static void add_kernel(writer *w, plan_step *s, const program_step *from)
{
    str *params = bytes_of(w, PLAN_PARAMS);
    const kernel_plan *plan = &from->plan;
    if (!from->kernel) return;
    if (from->kernel->needs > w->needs) w->needs = from->kernel->needs;
    s->kernel = text(w, from->kernel->name);
    s->kernel_version = from->kernel->version;
    s->phases = plan->phases;
    s->parts = plan->parts;
    s->packed_inputs = plan->packed_inputs;
    s->in_place = plan->in_place;
    s->packed_offset = plan->packed_bytes ? from->packed_offset : 0;
    s->packed_bytes = plan->packed_bytes;
    s->workspace_bytes = plan->workspace_bytes;
    s->workspace_place = (uint32_t)(from->workspace_offset / 64);
    s->scratch_bytes = plan->scratch_bytes;
    str_append_fill(params, '\0', (PLAN_ALIGN - params->size % PLAN_ALIGN) % PLAN_ALIGN);
    s->params_offset = params->size;
    s->params_bytes = plan->params_bytes;
    if (plan->params_bytes) put(w, PLAN_PARAMS, plan->params, plan->params_bytes);
}

static void add_step(writer *w, const program_step *from)
{
    plan_step s;
    memset(&s, 0, sizeof s);
    s.label = text(w, from->label);
    s.op_type = text(w, from->op_type);
    s.kernel = PLAN_NO_TEXT;
    s.node = from->node ? (uint32_t)from->node->index : PLAN_NO_NODE;
    s.refs = next(w, PLAN_REFS, sizeof(uint32_t));
    s.input_count = from->input_count;
    s.captured_count = from->captured_count;
    s.output_count = from->output_count;
    s.phases = s.parts = 1;
    s.in_place = -1;
    s.cost_ns = from->cost_ns;
    add_kernel(w, &s, from);
    const size_t count = (size_t)s.input_count + s.captured_count + s.output_count;
    put(w, PLAN_REFS, from->tensors, count * sizeof *from->tensors);
    put(w, PLAN_STEPS, &s, sizeof s);
}

static void add_program(writer *w)
{
    const program *p = w->source->program;
    if (!p) return;
    for (size_t i = 0; i < p->tensor_count; i++) add_tensor(w, &p->tensors[i]);
    for (size_t i = 0; i < p->step_count; i++) add_step(w, &p->steps[i]);
    w->info.has_program = 1;
    w->info.output_refs = next(w, PLAN_REFS, sizeof(uint32_t));
    w->info.arena_bytes = p->arena_bytes;
    w->info.arena_bound = p->arena_bound;
    w->info.workspace_bytes = p->workspace_bytes;
    w->info.scratch_bytes = p->scratch_bytes;
    put(w, PLAN_REFS, p->outputs, p->output_count * sizeof *p->outputs);
    w->sections[PLAN_CONSTANTS].bulk = p->constants;
    w->sections[PLAN_CONSTANTS].bulk_bytes = p->constant_bytes;
}

/* ---- The file ------------------------------------------------------------------------------- */

static uint64_t round_up(uint64_t offset, uint64_t alignment)
{
    return (offset + alignment - 1) / alignment * alignment;
}

static const void *data_of(const section *s, size_t *size)
{
    *size = s->bulk ? s->bulk_bytes : s->bytes.size;
    return s->bulk ? s->bulk : str_text(&s->bytes);
}

static void lay_out(plan_header *h, plan_section *table, const writer *w)
{
    memset(h, 0, sizeof *h);
    memcpy(h->magic, PLAN_MAGIC, sizeof h->magic);
    h->major = PLAN_MAJOR;
    h->minor = PLAN_MINOR;
    h->section_count = PLAN_KIND_END - 1;
    h->header_bytes = (uint32_t)(sizeof *h + h->section_count * sizeof *table);
    h->cpu_level = (uint32_t)w->needs;
    uint64_t end = h->header_bytes;
    for (uint32_t i = 0; i < h->section_count; i++) {
        const section *s = &w->sections[i + 1];
        const bool bulk = i + 1 >= PLAN_CONSTANTS;
        size_t size;
        const void *data = data_of(s, &size);
        memset(&table[i], 0, sizeof table[i]);
        table[i].kind = i + 1;
        table[i].version = 1;
        table[i].offset = round_up(end, bulk ? PLAN_BULK_ALIGN : PLAN_ALIGN);
        table[i].size_bytes = size;
        table[i].hash = hash_xxh64(data, size, 0);
        end = table[i].offset + size;
    }
    h->file_bytes = end;
}

/* Of the header and the table behind it, with the field for itself as 0. */
static uint64_t hash_header(const plan_header *h, const plan_section *table)
{
    plan_header clean = *h;
    clean.hash = 0;
    return hash_xxh64(table, h->section_count * sizeof *table, hash_xxh64(&clean, sizeof clean, 0));
}

/* A file, or memory of the right size. */
typedef struct sink {
    file_writer *file;
    unsigned char *data;
    uint64_t size;
} sink;

static pgy_status put_bytes(sink *to, const void *data, size_t size, pgy_error *err)
{
    if (!size) return PGY_OK;
    if (to->file) {
        to->size += size;
        return file_writer_write(to->file, data, size, err);
    }
    memcpy(to->data + to->size, data, size);
    to->size += size;
    return PGY_OK;
}

static pgy_status fill(sink *to, uint64_t end, pgy_error *err)
{
    static const char ZEROS[PLAN_BULK_ALIGN];
    return put_bytes(to, ZEROS, (size_t)(end - to->size), err);
}

static pgy_status put_plan(sink *to, const plan_header *header, const plan_section *table,
                           const writer *w, pgy_error *err)
{
    pgy_status st = put_bytes(to, header, sizeof *header, err);
    if (!st) st = put_bytes(to, table, header->section_count * sizeof *table, err);
    for (uint32_t i = 0; !st && i < header->section_count; i++) {
        size_t size;
        const void *data = data_of(&w->sections[i + 1], &size);
        st = fill(to, table[i].offset, err);
        if (!st) st = put_bytes(to, data, size, err);
    }
    return st;
}

static pgy_status write_to(const char *path, void **data, size_t *size, const writer *w,
                           pgy_error *err)
{
    plan_header header;
    plan_section table[PLAN_KIND_END - 1];
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
    void *model = NULL;
    size_t model_bytes = 0;
    pgy_status st = pgy_model_serialize(&model, &model_bytes, s->model, err);
    if (st) return st;
    w.sections[PLAN_MODEL].bulk = model;
    w.sections[PLAN_MODEL].bulk_bytes = model_bytes;
    add_values(&w);
    add_program(&w);
    w.info.name = text(&w, s->graph->name ? s->graph->name : "");
    w.info.library = text(&w, pgy_version());
    w.info.model_hash = s->model_hash;
    put(&w, PLAN_INFO, &w.info, sizeof w.info);
    for (size_t i = 0; i < PLAN_KIND_END; i++) w.failed |= w.sections[i].bytes.failed;
    st = w.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory while writing the plan")
                  : write_to(path, data, size, &w, err);
    for (size_t i = 0; i < PLAN_KIND_END; i++) str_deinit(&w.sections[i].bytes);
    strmap_deinit(&w.texts);
    pgy_text_free(model);
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
