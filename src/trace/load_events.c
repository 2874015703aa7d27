/* SPDX-License-Identifier: Apache-2.0 */
/* Events of Chrome's form. Layers and runs of other programs get the categories of ours. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "trace/load_args.h"

static const int64_t FIRST_WORD_ID =
    1000000000; /* numbers of processes and threads that are texts */

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a trace");
}

/* The text of a member; NULL: it has none, or memory is short. */
static const char *text_of(trace_reader *r, const json_value *object, const char *member)
{
    const json_value *v = json_get(object, member);
    return v && v->type == JSON_STRING ? json_string(v, &r->item, NULL) : NULL;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

/* pid or tid. Some programs write texts. */
static pgy_status read_id(int64_t *out, trace_reader *r, const json_value *item, const char *member,
                          pgy_error *err)
{
    const json_value *v = json_get(item, member);
    *out = 0;
    if (!v) return PGY_OK;
    *out = v->integer;
    if (v->type == JSON_INT) return PGY_OK;
    if (v->type != JSON_STRING) return trace_wrong(item, member, "a number or a text", err);
    uintptr_t known = (uintptr_t)strmap_get_n(&r->words, v->raw.data, v->raw.size);
    if (!known) {
        known = r->words.count + 1;
        if (!strmap_put_n(&r->words, v->raw.data, v->raw.size, (void *)known))
            return no_memory(err);
    }
    *out = FIRST_WORD_ID + (int64_t)known;
    return PGY_OK;
}

static pgy_status find_row(size_t *out, trace_reader *r, const json_value *item, pgy_error *err)
{
    pgy_trace_row row = {.process_name = "", .name = ""};
    char key[64];
    pgy_status st = read_id(&row.process, r, item, "pid", err);
    if (!st) st = read_id(&row.thread, r, item, "tid", err);
    if (st) return st;
    snprintf(key, sizeof key, "%lld/%lld", (long long)row.process, (long long)row.thread);
    *out = (uintptr_t)strmap_get(&r->rows, key);
    if (*out) {
        --*out;
        return PGY_OK;
    }
    if (r->trace->row_count >= TRACE_MOST_ROWS)
        return pgy_error_set(err, PGY_E_FORMAT, "line %u: more than %d threads", item->line,
                             TRACE_MOST_ROWS);
    st = pgy_trace_add_row(out, r->trace, &row, err);
    if (!st && !strmap_put(&r->rows, key, (void *)(uintptr_t)(*out + 1))) st = no_memory(err);
    return st;
}

/* Names of processes and threads; other metadata only concerns viewers. */
static pgy_status read_name(trace_reader *r, const json_value *item, pgy_error *err)
{
    const char *what = text_of(r, item, "name");
    const char *name = text_of(r, json_get(item, "args"), "name");
    char *copy = name ? arena_strdup(&r->trace->memory, name) : NULL;
    size_t row = 0;
    int64_t process = 0;
    if (!what || !name) return PGY_OK;
    if (!copy) return no_memory(err);
    if (!strcmp(what, "process_name")) {
        char key[32];
        const pgy_status st = read_id(&process, r, item, "pid", err);
        snprintf(key, sizeof key, "%lld", (long long)process);
        if (!st && !strmap_put(&r->processes, key, copy)) return no_memory(err);
        return st;
    }
    if (strcmp(what, "thread_name")) return PGY_OK;
    const pgy_status st = find_row(&row, r, item, err);
    if (!st) r->trace->rows[row].name = copy;
    return st;
}

/* ---- What other programs call layers and runs ------------------------------------------------ */

/* A name without its ending; the text is the reader's own. */
static bool cut(char *name, const char *ending)
{
    if (!str_ends_with(name, ending)) return false;
    name[strlen(name) - strlen(ending)] = 0;
    return true;
}

static pgy_status take_ort(trace_reader *r, pgy_trace_event *e, const json_value *args,
                           pgy_error *err)
{
    const char *op = text_of(r, args, "op_name");
    if (!strcmp(e->category, "Session")) {
        r->ort++;
        if (!strcmp(e->name, "model_run")) e->category = "iteration";
        return PGY_OK;
    }
    char *name = arena_strdup(&r->item, e->name);
    if (!name) return no_memory(err);
    if (strcmp(e->category, "Node") || !op || !cut(name, "_kernel_time")) return PGY_OK;
    r->ort++;
    e->category = "layer";
    e->name = name;
    if (*name) return PGY_OK;
    const char *index = text_of(r, args, "node_index");
    e->name = arena_printf(&r->item, "node %s", index ? index : "?");
    return e->name ? PGY_OK : no_memory(err);
}

static void take_torch(trace_reader *r, pgy_trace_event *e, const json_value *args, str *made)
{
    static const char STEP[] = "ProfilerStep#";
    const bool is_op = !strcmp(e->category, "cpu_op") || !strcmp(e->category, "Operator");
    r->torch += is_op;
    if (!strncmp(e->name, STEP, strlen(STEP)) && !strcmp(e->category, "user_annotation"))
        e->category = "iteration";
    if (!is_op) return;
    e->category = "layer";
    if (json_get(args, "op")) return;
    made->size -= made->size > 0;
    str_append(made, made->size > 1 ? ",\"op\":" : "\"op\":");
    trace_text(made, e->name);
    str_append_char(made, '}');
}

/* Facts of our own layers and runs that are in the args. */
static double number_of(const json_value *args, const char *name)
{
    const json_value *v = json_get(args, name);
    return v && (v->type == JSON_INT || v->type == JSON_REAL) && v->real > 0 && v->real < 1e18
               ? v->real
               : 0;
}

static pgy_status take_ours(trace_reader *r, pgy_trace_event *e, const json_value *args,
                            pgy_error *err)
{
    const bool is_run = !strcmp(e->category, "iteration");
    const json_value *run = json_get(args, is_run ? "index" : "run");
    const json_value *warm = json_get(args, "warmup");
    const trace_row *row = &r->trace->rows[e->row];
    char key[96];
    if (!strcmp(e->category, "layer")) {
        r->mine += json_get(args, "layer_id") != NULL;
        e->flops = number_of(args, "flops");
        e->bytes = (uint64_t)(number_of(args, "bytes_in") + number_of(args, "bytes_out") +
                              number_of(args, "bytes_weights"));
    }
    if (!run || run->type != JSON_INT) return PGY_OK;
    e->has_run = true;
    e->run = run->integer;
    snprintf(key, sizeof key, "%lld/%lld/%lld", (long long)row->process,
             (long long)(row->thread / TRACE_ROWS_PER_STREAM), (long long)e->run);
    if (is_run && warm && warm->type == JSON_BOOL && warm->boolean && !strmap_put(&r->warm, key, r))
        return no_memory(err);
    e->is_warm_up = strmap_has(&r->warm, key);
    return PGY_OK;
}

/* ---- Events --------------------------------------------------------------------------------- */

static pgy_status add(trace_reader *r, pgy_trace_event *e, const json_value *args, pgy_error *err)
{
    str made = {0};
    trace_put_args(&made, args, &r->item);
    pgy_status st = take_ours(r, e, args, err);
    if (!st) st = take_ort(r, e, args, err);
    if (!st) take_torch(r, e, args, &made);
    if (!st && made.failed) st = no_memory(err);
    if (!st) st = pgy_trace_add(r->trace, e, str_text(&made), err);
    if (!st && e->start_ns < r->first_ns) r->first_ns = e->start_ns;
    str_deinit(&made);
    return st;
}

static pgy_status read_timed(trace_reader *r, const json_value *item, pgy_trace_kind kind,
                             char letter, pgy_error *err)
{
    const bool has_duration = kind == PGY_TRACE_SLICE && letter == 'X';
    const bool is_end = letter == 'E' || letter == 'e';
    pgy_trace_event e = {.kind = kind};
    e.name = text_of(r, item, "name");
    e.category = text_of(r, item, "cat");
    if (!e.name && is_end && !json_get(item, "name")) e.name = "";
    if (!e.name) return trace_wrong(item, "name", "a text", err);
    if (!e.category) e.category = "";
    if (!trace_us_to_ns(&e.start_ns, json_get(item, "ts")))
        return trace_wrong(item, "ts", "a time in microseconds", err);
    if (has_duration &&
        (!trace_us_to_ns(&e.duration_ns, json_get(item, "dur")) || e.duration_ns < 0))
        return trace_wrong(item, "dur", "a duration in microseconds", err);
    const pgy_status st = find_row(&e.row, r, item, err);
    return st ? st : add(r, &e, json_get(item, "args"), err);
}

/* Asynchronous slices with the same category and id belong together; ids of "id2.local" belong to
 * their process. */
static pgy_status find_id(uintptr_t *out, trace_reader *r, const json_value *item, pgy_error *err)
{
    const json_value *id2 = json_get(item, "id2"), *cat = json_get(item, "cat");
    const json_value *global = json_get(id2, "global"), *local = json_get(id2, "local");
    const json_value *id = global ? global : local ? local : json_get(item, "id");
    const json_value *scope = json_get(item, "scope");
    int64_t process = 0;
    str key = {0};
    if (!id || !id->raw.size)
        return trace_wrong(item, "id", "the id of an asynchronous slice", err);
    const pgy_status st = global ? PGY_OK : read_id(&process, r, item, "pid", err);
    if (st) return st;
    str_printf(&key, "%lld%c", (long long)process, 1);
    if (cat) str_append_n(&key, cat->raw.data, cat->raw.size);
    str_append_char(&key, 1);
    if (scope) str_append_n(&key, scope->raw.data, scope->raw.size);
    str_append_char(&key, 1);
    str_append_n(&key, id->raw.data, id->raw.size);
    *out = key.failed ? 0 : (uintptr_t)strmap_get(&r->ids, str_text(&key));
    if (!*out && !key.failed && strmap_put(&r->ids, str_text(&key), (void *)(r->ids.count + 1)))
        *out = r->ids.count;
    str_deinit(&key);
    return *out ? PGY_OK : no_memory(err);
}

/* Of a slice that two events make, one of them; load_pairs.c puts them together. */
static pgy_status read_edge(trace_reader *r, const json_value *item, char letter, pgy_error *err)
{
    trace_edge edge = {.record = r->trace->record_count, .is_end = strchr("EeF", letter) != NULL};
    pgy_status st = letter == 'B' || letter == 'E' ? PGY_OK : find_id(&edge.id, r, item, err);
    if (!st)
        st = read_timed(r, item, edge.is_end ? PGY_TRACE_INSTANT : PGY_TRACE_SLICE, letter, err);
    if (st) return st;
    if (!mem_grow((void **)&r->edges, &r->edge_capacity, r->edge_count + 1, sizeof *r->edges))
        return no_memory(err);
    r->edges[r->edge_count++] = edge;
    return PGY_OK;
}

pgy_status trace_read_event(trace_reader *r, const json_value *item, pgy_error *err)
{
    const json_value *ph = json_get(item, "ph");
    if (item->type != JSON_OBJECT)
        return pgy_error_set(err, PGY_E_FORMAT, "line %u: an event is not an object", item->line);
    if (!ph || ph->type != JSON_STRING || ph->raw.size != 1)
        return trace_wrong(item, "ph", "the letter of a kind, such as 'X'", err);
    switch (ph->raw.data[0]) {
    case 'X': return read_timed(r, item, PGY_TRACE_SLICE, 'X', err);
    case 'i':
    case 'I':
    case 'R': return read_timed(r, item, PGY_TRACE_INSTANT, 'i', err);
    case 'C': return read_timed(r, item, PGY_TRACE_COUNTER, 'C', err);
    case 'M': return read_name(r, item, err);
    case 'B':
    case 'E':
    case 'b':
    case 'e':
    case 'S':
    case 'F': return read_edge(r, item, ph->raw.data[0], err);
    default: return PGY_OK; /* arrows, samples and states of objects have no duration */
    }
}

/* ---- After the last event -------------------------------------------------------------------- */

static void name_processes(trace_reader *r)
{
    for (size_t i = 0; i < r->trace->row_count; i++) {
        char key[32];
        snprintf(key, sizeof key, "%lld", (long long)r->trace->rows[i].process);
        const char *name = strmap_get(&r->processes, key);
        if (name) r->trace->rows[i].process_name = name;
    }
}

/* Runs of other programs have no numbers, and their layers do not tell their run: a layer belongs
 * to the run in which it began. If runs overlap, this is not known. */
static bool can_number(const pgy_trace *t)
{
    int64_t end = INT64_MIN;
    for (size_t i = 0; i < t->record_count; i++) {
        const trace_record *rec = &t->records[i];
        if (strcmp(t->labels[rec->label].category, "iteration")) continue;
        if (rec->words[0] || rec->start_ns < end) return false;
        end = rec->end_ns;
    }
    return end != INT64_MIN;
}

static void number_runs(pgy_trace *t)
{
    int64_t index = -1, end = INT64_MIN;
    if (!can_number(t)) return;
    for (size_t i = 0; i < t->record_count; i++) {
        trace_record *rec = &t->records[i];
        const char *category = t->labels[rec->label].category;
        const bool is_run = !strcmp(category, "iteration");
        if (is_run) {
            index++;
            end = rec->end_ns;
        }
        if (!is_run && (strcmp(category, "layer") || rec->start_ns >= end)) continue;
        rec->words[0] = true;
        rec->words[1] = (uint64_t)index;
    }
}

pgy_status trace_read_end(trace_reader *r, pgy_error *err)
{
    pgy_trace *t = r->trace;
    const pgy_status st = trace_pair_edges(r, err);
    if (st) return st;
    name_processes(r);
    if (t->record_count && !r->mine) t->start_ns = r->first_ns;
    pgy_trace_sort(t);
    if (!t->source)
        t->source = pgy_trace_fact(t, "trace_version") ? "Polygraphy"
                    : r->ort                           ? "ONNX Runtime"
                    : r->torch                         ? "PyTorch"
                                                       : "unknown";
    number_runs(t);
    return PGY_OK;
}
