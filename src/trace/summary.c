/* SPDX-License-Identifier: Apache-2.0 */
/* Sums up the slices of a trace: first a list of those that count, with their own time, then the
 * same list sorted by layer and by op. */
#include "trace/summary.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/sized.h"

enum { THREADS_OF_STREAM = 4, CHECK_EVERY = 4096, NAMED = 12 };
static const size_t NONE = SIZE_MAX;

/* A slice that counts. */
typedef struct slice {
    int64_t start, end, own; /* own: without the slices inside it */
    size_t layer, op, key;   /* key: that of the grouping that is being made */
    size_t process, parent;
    int64_t stream, run;
    bool has_run;
} slice;

typedef struct summer {
    const pgy_trace *t;
    pgy_trace_summary *s;
    const char *category;
    bool with_warm_up;
    const char **ops;       /* of each label; NULL: not read yet */
    size_t *process_of_row; /* index of the process; rows of one process share it */
    size_t *tops;           /* of each row: its innermost open slice */
    slice *slices, *runs;
    size_t slice_count, run_count, slice_capacity, run_capacity;
    strmap names, op_names; /* key -> index + 1 */
    pgy_trace_times *layers, *op_times;
    size_t layer_count, op_count, layer_capacity, op_capacity;
    size_t *layer_process, *op_process; /* process of each */
    size_t layer_process_capacity, op_process_capacity, category_capacity;
    pgy_error *err;
} summer;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a summary");
}

/* ---- Labels --------------------------------------------------------------------------------- */

static double fact_number(const pgy_trace *t, const char *name, double absent)
{
    const char *text = pgy_trace_fact(t, name);
    char *end = NULL;
    const double v = text ? strtod(text, &end) : absent;
    return text && end != text && isfinite(v) && v >= 0 ? v : absent;
}

/* Reads the op of a label from its args. */
static const char *op_of(summer *m, size_t label)
{
    const char *args = m->t->labels[label].args;
    arena memory = {0};
    json_value *root = NULL;
    str text = {0};
    if (m->ops[label]) return m->ops[label];
    str_printf(&text, "{%s}", args ? args : "");
    if (!text.failed && !json_parse(&root, text.data, text.size, &memory, NULL)) {
        const json_value *op = json_get(root, "op");
        if (op && op->type == JSON_STRING) {
            const char *found = json_string(op, &memory, NULL);
            m->ops[label] = found ? arena_strdup(&m->s->memory, found) : NULL;
        }
    }
    if (!m->ops[label]) m->ops[label] = "";
    arena_deinit(&memory);
    str_deinit(&text);
    return m->ops[label];
}

/* ---- Processes ------------------------------------------------------------------------------ */

static pgy_status find_processes(summer *m)
{
    const pgy_trace *t = m->t;
    pgy_trace_summary *s = m->s;
    s->processes = arena_alloc_array(&s->memory, t->row_count + 1, sizeof *s->processes);
    m->process_of_row = mem_calloc(t->row_count + 1, sizeof *m->process_of_row);
    m->tops = mem_calloc(t->row_count + 1, sizeof *m->tops);
    m->ops = mem_calloc(t->label_count + 1, sizeof *m->ops);
    if (!s->processes || !m->process_of_row || !m->tops || !m->ops) return no_memory(m->err);
    for (size_t i = 0; i < t->row_count; i++) {
        size_t k = 0;
        m->tops[i] = NONE;
        while (k < s->process_count && s->processes[k].id != t->rows[i].process) k++;
        m->process_of_row[i] = k;
        if (k < s->process_count) continue;
        const char *name = t->rows[i].process_name;
        s->processes[k].id = t->rows[i].process;
        s->processes[k].name =
            *name ? arena_strdup(&s->memory, name)
                  : arena_printf(&s->memory, "process %lld", (long long)t->rows[i].process);
        if (!s->processes[k].name) return no_memory(m->err);
        s->process_count++;
    }
    return PGY_OK;
}

/* ---- Slices --------------------------------------------------------------------------------- */

static bool add_key(size_t *out, summer *m, bool is_op, size_t process, const char *name,
                    const char *op)
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
                                      .op = arena_strdup(&m->s->memory, op)};
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
    if (!mem_grow((void **)list, capacity, *count + 1, sizeof **list)) return no_memory(m->err);
    slice *s = &(*list)[*count];
    *s = (slice){.start = e->start_ns,
                 .end = e->start_ns + e->duration_ns,
                 .own = e->duration_ns,
                 .process = process,
                 .parent = NONE,
                 .has_run = e->has_run,
                 .run = e->run};
    /* Streams of one of our runners number their runs apart. */
    if (!m->t->source) s->stream = m->t->rows[e->row].thread / THREADS_OF_STREAM;
    if (!is_run) {
        const char *op = op_of(m, m->t->records[i].label);
        if (!add_key(&s->layer, m, false, process, e->name, op) ||
            !add_key(&s->op, m, true, process, *op ? op : e->name, ""))
            return no_memory(m->err);
    }
    ++*count;
    if (!is_run) nest(m, *count - 1, e->row);
    return PGY_OK;
}

static pgy_status count_category(summer *m, strmap *known, const pgy_trace_event *e)
{
    pgy_trace_summary *s = m->s;
    uintptr_t found = (uintptr_t)strmap_get(known, e->category);
    if (!found) {
        char *name = arena_strdup(&s->memory, e->category);
        found = s->category_count + 1;
        if (!name || !strmap_put(known, e->category, (void *)found)) return no_memory(m->err);
        if (!mem_grow((void **)&s->categories, &m->category_capacity, found, sizeof *s->categories))
            return no_memory(m->err);
        s->categories[s->category_count++] = (pgy_trace_category){.name = name};
    }
    s->categories[found - 1].count++;
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
        st = count_category(m, known, &e);
        if (!st && is_run && e.is_warm_up)
            m->s->processes[m->process_of_row[e.row]].warm_up_runs += !m->with_warm_up;
        if (e.is_warm_up && !m->with_warm_up) continue;
        if (!st && is_run) st = add_slice(m, i, &e, true);
        if (!st && !strcmp(e.category, m->category)) st = add_slice(m, i, &e, false);
    }
    return st;
}

/* ---- Wall and idle time ---------------------------------------------------------------------- */

static int by_run(const void *a, const void *b)
{
    const slice *x = a, *y = b;
    if (x->process != y->process) return x->process < y->process ? -1 : 1;
    if (x->has_run != y->has_run) return x->has_run ? -1 : 1;
    if (x->stream != y->stream) return x->stream < y->stream ? -1 : 1;
    return (x->run > y->run) - (x->run < y->run);
}

typedef struct reach {
    int64_t first, last, covered_to, covered;
    bool any;
} reach;

/* Slices come in the order of their starts. */
static void extend(reach *r, const slice *s)
{
    if (!r->any) *r = (reach){s->start, s->end, s->start, 0, true};
    if (s->start < r->first) r->first = s->start;
    if (s->end > r->last) r->last = s->end;
    const int64_t from = s->start > r->covered_to ? s->start : r->covered_to;
    if (s->end <= from) return;
    r->covered += s->end - from;
    r->covered_to = s->end;
}

static pgy_status measure_cover(summer *m)
{
    const size_t n = m->s->process_count;
    reach *busy = mem_calloc(n + 1, sizeof *busy), *runs = mem_calloc(n + 1, sizeof *runs);
    slice *sorted = mem_calloc(m->slice_count + 1, sizeof *sorted);
    const bool good = busy && runs && sorted;
    if (good && m->slice_count) memcpy(sorted, m->slices, m->slice_count * sizeof *sorted);
    if (good) qsort(sorted, m->slice_count, sizeof *sorted, by_run);
    for (size_t i = 0; good && i < m->slice_count; i++)
        extend(&busy[m->slices[i].process], &m->slices[i]);
    for (size_t i = 0; good && i < m->run_count; i++) {
        const slice *run = &m->runs[i];
        if (!run->has_run || !bsearch(run, sorted, m->slice_count, sizeof *sorted, by_run))
            continue;
        extend(&runs[run->process], run);
        m->s->processes[run->process].runs_with_layers++;
    }
    for (size_t i = 0; good && i < n; i++) {
        pgy_trace_process *p = &m->s->processes[i];
        int64_t first = busy[i].first, last = busy[i].last;
        if (runs[i].any && runs[i].first < first) first = runs[i].first;
        if (runs[i].any && runs[i].last > last) last = runs[i].last;
        p->wall_us = (double)(last - first) / 1e3;
        p->run_us = (double)runs[i].covered / 1e3;
        p->busy_us = (double)busy[i].covered / 1e3;
        p->idle_us = fmax(0, (runs[i].any ? p->run_us : p->wall_us) - p->busy_us);
    }
    mem_free(busy);
    mem_free(runs);
    mem_free(sorted);
    return good ? PGY_OK : no_memory(m->err);
}

/* ---- Groups --------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const slice *x = a, *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    const int order = by_run(a, b);
    return order ? order : (x->start > y->start) - (x->start < y->start);
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double trace_median(double *v, size_t count)
{
    if (!count) return 0;
    qsort(v, count, sizeof *v, ascending);
    return count % 2 ? v[count / 2] : (v[count / 2 - 1] + v[count / 2]) / 2;
}

/* Fills the times of the slices of one group. */
static bool sum_up(pgy_trace_times *out, const slice *s, size_t count, arena *memory)
{
    double *samples = arena_alloc_array(memory, count, sizeof *samples);
    double *calls = mem_calloc(count, sizeof *calls);
    bool by_runs = true;
    for (size_t i = 0; samples && calls && i < count; i++) {
        by_runs = by_runs && s[i].has_run;
        calls[i] = (double)s[i].own / 1e3;
        out->total_us += calls[i];
    }
    for (size_t i = 0; samples && calls && i < count; i++) {
        const bool same = by_runs && i && !by_run(&s[i], &s[i - 1]);
        if (!same) samples[out->sample_count++] = 0;
        samples[out->sample_count - 1] += calls[i];
    }
    if (samples && calls) {
        out->calls = count;
        out->samples = samples;
        out->mean_us = out->total_us / (double)count;
        out->median_us = trace_median(calls, count);
        out->min_us = calls[0];
        out->max_us = calls[count - 1];
    }
    mem_free(calls);
    return samples && out->calls;
}

static pgy_status group(summer *m, slice *list, size_t count, pgy_trace_times *times)
{
    if (count) qsort(list, count, sizeof *list, by_key);
    for (size_t from = 0, to = 0; from < count; from = to) {
        while (to < count && list[to].key == list[from].key) to++;
        if (!sum_up(&times[list[from].key], list + from, to - from, &m->s->memory))
            return no_memory(m->err);
        const pgy_status st = cancel_check(m->err);
        if (st) return st;
    }
    return PGY_OK;
}

static int by_total(const void *a, const void *b)
{
    const pgy_trace_times *x = a, *y = b;
    if (x->total_us != y->total_us) return x->total_us < y->total_us ? 1 : -1;
    const int order = strcmp(x->name, y->name);
    return order ? order : strcmp(x->op, y->op);
}

/* Gives each process its part of the list. */
static bool share_out(summer *m, const pgy_trace_times *times, const size_t *owner, size_t count,
                      bool is_op)
{
    pgy_trace_summary *s = m->s;
    size_t *starts = mem_calloc(s->process_count + 2, sizeof *starts);
    pgy_trace_times *all = arena_alloc_array(&s->memory, count + 1, sizeof *all);
    for (size_t i = 0; starts && i < count; i++) starts[owner[i] + 1]++;
    for (size_t i = 0; starts && i < s->process_count; i++) starts[i + 1] += starts[i];
    for (size_t i = 0; starts && all && i < s->process_count; i++) {
        const size_t n = starts[i + 1] - starts[i];
        *(is_op ? &s->processes[i].op_count : &s->processes[i].layer_count) = n;
        *(is_op ? &s->processes[i].ops : &s->processes[i].layers) = all + starts[i];
    }
    for (size_t i = 0; starts && all && i < count; i++) all[starts[owner[i]]++] = times[i];
    for (size_t i = 0; starts && all && i < s->process_count; i++) {
        const pgy_trace_process *p = &s->processes[i];
        const size_t n = is_op ? p->op_count : p->layer_count;
        pgy_trace_times *of = all + (starts[i] - n);
        double sum = 0;
        for (size_t k = 0; k < n; k++) sum += of[k].total_us;
        for (size_t k = 0; k < n; k++) of[k].share = sum > 0 ? of[k].total_us / sum : 0;
        if (n) qsort(of, n, sizeof *of, by_total);
    }
    mem_free(starts);
    return starts && all;
}

static pgy_status sum_runs(summer *m)
{
    pgy_trace_times *times = mem_calloc(m->s->process_count + 1, sizeof *times);
    if (!times) return no_memory(m->err);
    for (size_t i = 0; i < m->run_count; i++) {
        m->runs[i].key = m->runs[i].process;
        m->runs[i].has_run = false; /* each run is a sample */
    }
    const pgy_status st = group(m, m->runs, m->run_count, times);
    for (size_t i = 0; !st && i < m->s->process_count; i++) {
        times[i].name = "run";
        times[i].op = "";
        m->s->processes[i].runs = times[i];
    }
    mem_free(times);
    return st;
}

static pgy_status sum_all(summer *m)
{
    pgy_status st = measure_cover(m);
    for (size_t i = 0; i < m->slice_count; i++) m->slices[i].key = m->slices[i].layer;
    if (!st) st = group(m, m->slices, m->slice_count, m->layers);
    for (size_t i = 0; i < m->slice_count; i++) m->slices[i].key = m->slices[i].op;
    if (!st) st = group(m, m->slices, m->slice_count, m->op_times);
    if (!st && (!share_out(m, m->layers, m->layer_process, m->layer_count, false) ||
                !share_out(m, m->op_times, m->op_process, m->op_count, true)))
        st = no_memory(m->err);
    return st ? st : sum_runs(m);
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
    mem_free(m->ops);
    mem_free(m->process_of_row);
    mem_free(m->tops);
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
    if (!s) return no_memory(err);
    *out = s;
    s->name = arena_strdup(&s->memory, o->name ? o->name : "timeline");
    s->category = arena_strdup(&s->memory, o->category ? o->category : "layer");
    s->source = pgy_trace_source(t);
    s->event_count = t->record_count;
    s->overhead_ns = fact_number(t, "overhead_ns_per_slice", -1);
    s->dropped = fact_number(t, "dropped_events", 0);
    return s->name && s->category ? PGY_OK : no_memory(err);
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
    if (!st) st = sum_all(&m);
    if (!st) st = keep_used(&m);
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
