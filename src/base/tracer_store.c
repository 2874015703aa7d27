/* SPDX-License-Identifier: Apache-2.0 */
/* Records, labels and rows of a recording. */
#include <string.h>

#include "base/alloc.h"
#include "base/tracer_state.h"

void store_open(tracer_store *s, const tracer_limits *limits)
{
    s->limits = *limits;
    s->residual_ns = -1;
}

void store_close(tracer_store *s)
{
    mem_free(s->records);
    mem_free(s->labels);
    mem_free(s->rows);
    mem_free(s->runs);
    mem_free(s->processes);
    strmap_deinit(&s->names);
    arena_deinit(&s->memory);
    const pthread_mutex_t lock = s->lock;
    *s = (tracer_store){.lock = lock};
}

/* At the limit, runs that will not be kept make room first. */
void store_add(tracer_store *s, const trace_record *records, size_t count)
{
    if (s->record_count + count > s->limits.records && s->record_count > s->shrunk)
        store_shrink_now(s, false);
    const size_t room =
        s->limits.records > s->record_count ? (size_t)(s->limits.records - s->record_count) : 0;
    size_t fits = count < room ? count : room;
    if (!mem_grow((void **)&s->records, &s->record_capacity, s->record_count + fits + 1,
                  sizeof *s->records))
        fits = 0;
    if (fits) memcpy(s->records + s->record_count, records, fits * sizeof *records);
    s->record_count += fits;
    s->dropped += count - fits;
}

uint32_t store_label(tracer_store *s, const trace_label *label)
{
    if (!mem_grow((void **)&s->labels, &s->label_capacity, s->label_count + 1, sizeof *s->labels))
        return TRACE_NONE;
    trace_label copy = *label;
    copy.name = arena_strdup(&s->memory, label->name);
    copy.args = arena_strdup(&s->memory, label->args ? label->args : "");
    copy.category = label->category ? arena_strdup(&s->memory, label->category) : NULL;
    if (!copy.name || !copy.args || (label->category && !copy.category)) return TRACE_NONE;
    s->labels[s->label_count] = copy;
    return (uint32_t)s->label_count++;
}

uint32_t store_name(tracer_store *s, const char *name)
{
    const trace_label label = {.name = name};
    const uintptr_t known = (uintptr_t)strmap_get(&s->names, name);
    if (known) return (uint32_t)(known - 1);
    const uint32_t made = store_label(s, &label);
    if (made != TRACE_NONE) (void)strmap_put(&s->names, name, (void *)(uintptr_t)(made + 1ull));
    return made;
}

uint32_t store_row(tracer_store *s, int64_t process, const char *process_name, int64_t thread,
                   const char *name)
{
    for (size_t i = 0; i < s->row_count; i++) {
        if (s->rows[i].process == process && s->rows[i].thread == thread) return (uint32_t)i;
        if (s->rows[i].process == process) process_name = s->rows[i].process_name;
    }
    if (!mem_grow((void **)&s->rows, &s->row_capacity, s->row_count + 1, sizeof *s->rows))
        return TRACE_NONE;
    const trace_row made = {.process = process,
                            .thread = thread,
                            .process_name =
                                arena_strdup(&s->memory, process_name ? process_name : "host"),
                            .name = arena_strdup(&s->memory, name)};
    if (!made.process_name || !made.name) return TRACE_NONE;
    s->rows[s->row_count] = made;
    return (uint32_t)s->row_count++;
}

bool store_take(tracer_take *out, tracer_store *s)
{
    arena *memory = mem_calloc(1, sizeof *memory);
    if (!memory) return false;
    store_shrink_now(s, true);
    *memory = s->memory;
    *out = (tracer_take){.records = s->records,
                         .record_count = s->record_count,
                         .labels = s->labels,
                         .label_count = s->label_count,
                         .rows = s->rows,
                         .row_count = s->row_count,
                         .runs = s->runs,
                         .run_count = s->run_count,
                         .dropped = s->dropped,
                         .start_ns = s->start_ns,
                         .cost_ns = s->cost_ns,
                         .residual_ns = s->residual_ns,
                         .memory = memory};
    for (size_t i = 0; i < s->record_count; i++)
        out->left_out += s->records[i].kind == TRACE_RUN && !s->records[i].words[2];
    s->records = NULL;
    s->labels = NULL;
    s->rows = NULL;
    s->runs = NULL;
    s->memory = (arena){0};
    return true;
}

void tracer_take_deinit(tracer_take *t)
{
    mem_free(t->records);
    mem_free(t->labels);
    mem_free(t->rows);
    mem_free(t->runs);
    if (t->memory) arena_deinit(t->memory);
    mem_free(t->memory);
    *t = (tracer_take){0};
}
