/* SPDX-License-Identifier: Apache-2.0 */
/* Sums up a trace: first a list of the slices that count, with their own time; summary_sums.c sorts
 * it by layer and by op. */
#include "trace/summary_sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/sized.h"

enum { CHECK_EVERY = 4096, NAMED = 12 };
static const size_t NONE = SIZE_MAX;
static const double DEFAULT_GAP_US = 1;

/* ---- Labels --------------------------------------------------------------------------------- */

static double fact_number(const pgy_trace *t, const char *name, double absent)
{
    const char *text = pgy_trace_fact(t, name);
    char *end = NULL;
    const double v = text ? strtod(text, &end) : absent;
    return text && end != text && isfinite(v) && v >= 0 ? v : absent;
}

static const char *text_fact(summer *m, const json_value *v, arena *memory)
{
    const char *text = v && v->type == JSON_STRING ? json_string(v, memory, NULL) : NULL;
    const char *kept = text ? arena_strdup(&m->s->memory, text) : NULL;
    return kept ? kept : "";
}

static const label_facts *facts_of(summer *m, size_t label)
{
    label_facts *f = &m->facts[label];
    const char *args = m->t->labels[label].args;
    arena memory = {0};
    json_value *root = NULL;
    str text = {0};
    if (f->op) return f;
    *f = (label_facts){"", "", "", 0};
    str_printf(&text, "{%s}", args ? args : "");
    if (!text.failed && !json_parse(&root, text.data, text.size, &memory, NULL)) {
        const json_value *inputs = json_get(root, "inputs"), *threads = json_get(root, "threads");
        const bool has_inputs = inputs && inputs->type == JSON_ARRAY && inputs->first;
        f->op = text_fact(m, json_get(root, "op"), &memory);
        f->device = text_fact(m, json_get(root, "device"), &memory);
        f->type = text_fact(m, has_inputs ? json_get(inputs->first, "dtype") : NULL, &memory);
        if (threads && threads->type == JSON_INT && threads->integer > 0)
            f->threads = threads->integer;
    }
    arena_deinit(&memory);
    str_deinit(&text);
    return f;
}

/* ---- Processes ------------------------------------------------------------------------------ */

static pgy_status find_processes(summer *m)
{
    const pgy_trace *t = m->t;
    pgy_trace_summary *s = m->s;
    s->processes = arena_alloc_array(&s->memory, t->row_count + 1, sizeof *s->processes);
    m->process_of_row = mem_calloc(t->row_count + 1, sizeof *m->process_of_row);
    m->tops = mem_calloc(t->row_count + 1, sizeof *m->tops);
    m->lasts = mem_calloc(t->row_count + 1, sizeof *m->lasts);
    m->facts = mem_calloc(t->label_count + 1, sizeof *m->facts);
    if (!s->processes || !m->process_of_row || !m->tops || !m->lasts || !m->facts)
        return summary_no_memory(m->err);
    for (size_t i = 0; i < t->row_count; i++) {
        size_t k = 0;
        m->tops[i] = m->lasts[i] = NONE;
        while (k < s->process_count && s->processes[k].id != t->rows[i].process) k++;
        m->process_of_row[i] = k;
        if (k < s->process_count) continue;
        const char *name = t->rows[i].process_name;
        s->processes[k].id = t->rows[i].process;
        s->processes[k].name =
            *name ? arena_strdup(&s->memory, name)
                  : arena_printf(&s->memory, "process %lld", (long long)t->rows[i].process);
        if (!s->processes[k].name) return summary_no_memory(m->err);
        s->process_count++;
    }
    return PGY_OK;
}

/* ---- Slices --------------------------------------------------------------------------------- */

static bool add_key(size_t *out, summer *m, bool is_op, size_t process, const char *name,
                    const char *op, const label_facts *facts)
{
    strmap *known = is_op ? &m->op_names : &m->names;
    pgy_trace_times **times = is_op ? &m->op_times : &m->layers;
    size_t *count = is_op ? &m->op_count : &m->layer_count;
    size_t *capacity = is_op ? &m->op_capacity : &m->layer_capacity;
    size_t **owner = is_op ? &m->op_process : &m->layer_process;
    size_t *owner_capacity = is_op ? &m->op_process_capacity : &m->layer_process_capacity;
    str key = {0};
    str_printf(&key, "%zu%c%s%c%s", process, 1, name, 1, op);
    uintptr_t found = key.failed ? 0 : (uintptr_t)strmap_get(known, str_text(&key));
    if (!found && !key.failed && mem_grow((void **)times, capacity, *count + 1, sizeof **times) &&
        mem_grow((void **)owner, owner_capacity, *count + 1, sizeof **owner)) {
        const pgy_trace_times made = {.name = arena_strdup(&m->s->memory, name),
                                      .op = arena_strdup(&m->s->memory, op),
                                      .device = facts->device,
                                      .type = facts->type,
                                      .threads = facts->threads};
        (*times)[*count] = made;
        (*owner)[*count] = process;
        if (made.name && made.op &&
            strmap_put(known, str_text(&key), (void *)(uintptr_t)(*count + 1)))
            found = ++*count;
    }
    str_deinit(&key);
    *out = found - 1;
    return found;
}

/* The time of a slice is not that of the slice around it. */
static void nest(summer *m, size_t index, size_t row)
{
    slice *s = &m->slices[index];
    size_t top = m->tops[row];
    while (top != NONE && m->slices[top].end <= s->start) top = m->slices[top].parent;
    s->parent = top;
    m->tops[row] = index;
    if (top == NONE) return;
    const int64_t end = s->end < m->slices[top].end ? s->end : m->slices[top].end;
    m->slices[top].own -= end - s->start;
    if (m->slices[top].own < 0) m->slices[top].own = 0;
}

static pgy_status add_slice(summer *m, size_t i, const pgy_trace_event *e, bool is_run)
{
    slice **list = is_run ? &m->runs : &m->slices;
    size_t *count = is_run ? &m->run_count : &m->slice_count;
    size_t *capacity = is_run ? &m->run_capacity : &m->slice_capacity;
    const size_t process = m->process_of_row[e->row];
    if (!mem_grow((void **)list, capacity, *count + 1, sizeof **list))
        return summary_no_memory(m->err);
    slice *s = &(*list)[*count];
    *s = (slice){.start = e->start_ns,
                 .end = e->start_ns + e->duration_ns,
                 .own = e->duration_ns,
                 .process = process,
                 .parent = NONE,
                 .has_run = e->has_run,
                 .run = e->run,
                 .bytes = e->bytes,
                 .flops = e->flops};
    /* Streams of one of our runners number their runs apart. */
    if (!m->t->source) s->stream = m->t->rows[e->row].thread / TRACE_ROWS_PER_STREAM;
    if (!is_run) {
        const label_facts *facts = facts_of(m, m->t->records[i].label);
        const char *op = facts->op;
        if (!add_key(&s->layer, m, false, process, e->name, op, facts) ||
            !add_key(&s->op, m, true, process, *op ? op : e->name, "", facts))
            return summary_no_memory(m->err);
    }
    ++*count;
    if (is_run) return PGY_OK;
    nest(m, *count - 1, e->row);
    return summary_note_gap(m, *count - 1, e->row) ? PGY_OK : summary_no_memory(m->err);
}

static pgy_status count_category(summer *m, strmap *known, const pgy_trace_event *e, size_t calls)
{
    pgy_trace_summary *s = m->s;
    uintptr_t found = (uintptr_t)strmap_get(known, e->category);
    if (!found) {
        char *name = arena_strdup(&s->memory, e->category);
        found = s->category_count + 1;
        if (!name || !strmap_put(known, e->category, (void *)found))
            return summary_no_memory(m->err);
        if (!mem_grow((void **)&s->categories, &m->category_capacity, found, sizeof *s->categories))
            return summary_no_memory(m->err);
        s->categories[s->category_count++] = (pgy_trace_category){.name = name};
    }
    s->categories[found - 1].count += calls;
    s->categories[found - 1].total_us += (double)e->duration_ns / 1e3;
    return PGY_OK;
}

static pgy_status take_events(summer *m, strmap *known)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < m->t->record_count; i++) {
        const pgy_trace_event e = pgy_trace_event_at(m->t, i);
        const bool is_run = !strcmp(e.category, "iteration");
        if (i % CHECK_EVERY == 0) st = cancel_check(m->err);
        if (st || e.kind != PGY_TRACE_SLICE) continue;
        st = count_category(m, known, &e, 1);
        if (!st && is_run && e.is_warm_up)
            m->s->processes[m->process_of_row[e.row]].warm_up_runs += !m->with_warm_up;
        if (e.is_warm_up && !m->with_warm_up) continue;
        if (!st && is_run) st = add_slice(m, i, &e, true);
        if (!st && !strcmp(e.category, m->category)) st = add_slice(m, i, &e, false);
    }
    return st;
}

/* ---- Sums ----------------------------------------------------------------------------------- */

static double both(double a, double b, bool greater)
{
    return isnan(a) || isnan(b) ? NAN : greater ? fmax(a, b) : fmin(a, b);
}

/* Of two rows with one name the median is not known. */
static void merge(pgy_trace_times *to, const trace_sum *s)
{
    const bool first = !to->calls;
    to->calls += s->calls;
    to->total_us += s->total_us;
    to->mean_us = to->total_us / (double)to->calls;
    to->p90_us = to->p99_us = NAN;
    to->median_us = first ? s->median_us : NAN;
    to->min_us = first ? s->min_us : both(to->min_us, s->min_us, false);
    to->max_us = first ? s->max_us : both(to->max_us, s->max_us, true);
}

static pgy_status take_sum(summer *m, const trace_sum *sum)
{
    const trace_label *l = &m->t->labels[sum->label];
    const label_facts *facts = facts_of(m, sum->label);
    const size_t process = m->process_of_row[sum->row];
    size_t layer = 0, op = 0;
    if (!add_key(&layer, m, false, process, l->name, facts->op, facts) ||
        !add_key(&op, m, true, process, *facts->op ? facts->op : l->name, "", facts))
        return summary_no_memory(m->err);
    merge(&m->layers[layer], sum);
    merge(&m->op_times[op], sum);
    m->s->processes[process].has_sums_only = true;
    return PGY_OK;
}

/* If a file also has the single slices, its sums say the same again. */
static pgy_status take_sums(summer *m, strmap *known)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < m->t->sum_count; i++) {
        const trace_sum *sum = &m->t->sums[i];
        const char *category = m->t->labels[sum->label].category;
        const pgy_trace_event e = {.category = category,
                                   .duration_ns = (int64_t)(sum->total_us * 1e3)};
        st = count_category(m, known, &e, sum->calls);
        if (!st && !m->slice_count && !strcmp(category, m->category)) st = take_sum(m, sum);
    }
    return st;
}

/* Processes without slices and runs are left out. */
static pgy_status keep_used(summer *m)
{
    pgy_trace_summary *s = m->s;
    size_t kept = 0;
    str have = {0};
    for (size_t i = 0; i < s->process_count; i++)
        if (s->processes[i].layer_count || s->processes[i].runs.calls)
            s->processes[kept++] = s->processes[i];
    s->process_count = kept;
    if (kept) return PGY_OK;
    for (size_t i = 0; i < s->category_count && i < NAMED; i++)
        str_printf(&have, "%s'%s'", i ? ", " : "", s->categories[i].name);
    const pgy_status st = pgy_error_set(
        m->err, PGY_E_NOT_FOUND, "%s: has no runs and no slices of the category '%s'; it has %s",
        s->name, s->category, have.size ? str_text(&have) : "no slices at all");
    str_deinit(&have);
    return st;
}

/* ---- Life ----------------------------------------------------------------------------------- */

static void deinit(summer *m)
{
    mem_free(m->facts);
    mem_free(m->process_of_row);
    mem_free(m->tops);
    mem_free(m->lasts);
    strmap_deinit(&m->gaps.known);
    mem_free(m->gaps.items);
    mem_free(m->gaps.process);
    mem_free(m->slices);
    mem_free(m->runs);
    mem_free(m->layers);
    mem_free(m->op_times);
    mem_free(m->layer_process);
    mem_free(m->op_process);
    strmap_deinit(&m->names);
    strmap_deinit(&m->op_names);
}

static pgy_status start(pgy_trace_summary **out, const pgy_trace *t,
                        const pgy_trace_summary_options *o, pgy_error *err)
{
    pgy_trace_summary *s = mem_calloc(1, sizeof *s);
    if (!s) return summary_no_memory(err);
    *out = s;
    s->name = arena_strdup(&s->memory, o->name ? o->name : "timeline");
    s->is_default_category = !o->category && t->category;
    s->category = arena_strdup(&s->memory, o->category   ? o->category
                                           : t->category ? t->category
                                                         : "layer");
    s->unmatched_begins = fact_number(t, "unmatched_begins", 0);
    s->unmatched_ends = fact_number(t, "unmatched_ends", 0);
    s->is_cut_off = pgy_trace_fact(t, "cut_off") != NULL;
    const char *first = pgy_trace_fact(t, "unmatched_first");
    if (first) s->unmatched_first = arena_strdup(&s->memory, first);
    s->gap_us = o->gap_us > 0 ? o->gap_us : DEFAULT_GAP_US;
    s->has_peaks = o->peaks != NULL;
    if (o->peaks) s->peaks = *o->peaks;
    s->source = pgy_trace_source(t);
    s->event_count = t->record_count;
    s->overhead_ns = fact_number(t, "overhead_ns_per_slice", -1);
    s->dropped = fact_number(t, "dropped_events", 0);
    return s->name && s->category ? PGY_OK : summary_no_memory(err);
}

pgy_status pgy_trace_summary_create(pgy_trace_summary **out, const pgy_trace *t,
                                    const pgy_trace_summary_options *options, pgy_error *err)
{
    pgy_trace_summary_options o = {.size = sizeof o};
    pgy_trace_summary *s = NULL;
    strmap known = {0};
    pgy_status st = SIZED_TAKE(pgy_trace_summary_options, &o, options, err);
    if (st) return st;
    st = start(&s, t, &o, err);
    summer m = {.t = t, .s = s, .with_warm_up = o.with_warm_up, .err = err};
    if (!st) m.category = s->category;
    if (!st) st = find_processes(&m);
    if (!st) st = take_events(&m, &known);
    if (!st) st = take_sums(&m, &known);
    if (!st) st = summary_sum(&m);
    if (!st) st = summary_share_gaps(&m);
    if (!st) st = keep_used(&m);
    if (!st && s->has_peaks) st = trace_find_roofs(s, t, err);
    strmap_deinit(&known);
    deinit(&m);
    if (st)
        pgy_trace_summary_destroy(s);
    else
        *out = s;
    return st;
}

void pgy_trace_summary_destroy(pgy_trace_summary *s)
{
    if (!s) return;
    mem_free(s->categories);
    arena_deinit(&s->memory);
    mem_free(s);
}

size_t pgy_trace_summary_count(const pgy_trace_summary *s)
{
    return s->process_count;
}

const pgy_trace_process *pgy_trace_summary_at(const pgy_trace_summary *s, size_t i)
{
    return i < s->process_count ? &s->processes[i] : NULL;
}

size_t pgy_trace_summary_category_count(const pgy_trace_summary *s)
{
    return s->category_count;
}

const pgy_trace_category *pgy_trace_summary_category_at(const pgy_trace_summary *s, size_t i)
{
    return i < s->category_count ? &s->categories[i] : NULL;
}
