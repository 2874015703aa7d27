/* SPDX-License-Identifier: Apache-2.0 */
/* What readers of results share: see result_file.h. */
#include "viewer/sources/result_file.h"

#include <stdarg.h>
#include <string.h>

enum { SHOWN_NAMES = 3, MOST_CATEGORIES = 256 };

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while results are read");
}

pgy_status result_open(result_file *f, pgy_page *p, const char *path, pgy_error *err)
{
    *f = (result_file){
        .page = p, .results = p->own[p->reading] ? p->own[p->reading] : &p->results, .path = path};
    f->json.map.fd = -1;
    if (!p->graph_count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "these are results of a model; give the model or the plan, too");
    f->graph = p->graphs[p->reading];
    return PGY_OK;
}

pgy_status result_open_json(result_file *f, pgy_page *p, const char *path, pgy_error *err)
{
    pgy_status st = result_open(f, p, path, err);
    if (!st) st = json_file_open(&f->json, path, err);
    f->has_json = !st;
    return st;
}

const char *result_earlier(const result_file *f, size_t *at)
{
    const pgy_page *p = f->page;
    if (!p->reading_file) return NULL;
    const view_file *mine = &p->files[p->reading_file];
    while (*at < p->reading_file) {
        const view_file *other = &p->files[(*at)++];
        if (other->source == mine->source && other->owner == mine->owner) return other->path;
    }
    return NULL;
}

void result_close(result_file *f)
{
    if (f->has_json) json_file_close(&f->json);
    f->has_json = false;
    str_deinit(&f->examples);
}

/* ---- Names ---------------------------------------------------------------------------------- */

uint32_t result_counted(result_file *f, uint32_t at, const char *name)
{
    if (at != VIEW_NONE) {
        f->found++;
    } else if (f->missing++ < SHOWN_NAMES) {
        str_append(&f->examples, f->missing > 1 ? ", " : "");
        str_printf(&f->examples, "'%.80s'", name);
    }
    return at;
}

uint32_t result_tensor(result_file *f, const char *name)
{
    return result_counted(f, view_graph_tensor(f->graph, name), name);
}

uint32_t result_node(result_file *f, const char *name)
{
    uint32_t at = view_graph_node(f->graph, name);
    const uint32_t tensor = at == VIEW_NONE ? view_graph_tensor(f->graph, name) : VIEW_NONE;
    if (tensor != VIEW_NONE) at = f->graph->tensors[tensor].producer;
    return result_counted(f, at, name);
}

pgy_status result_warn(result_file *f, pgy_error *err, const char *format, ...)
{
    str text = {0};
    va_list args;
    va_start(args, format);
    str_printf(&text, "%s: ", path_basename(f->path));
    str_vprintf(&text, format, args);
    va_end(args);
    const bool done = !text.failed && strvec_push(&f->page->warnings, str_text(&text));
    str_deinit(&text);
    return done ? PGY_OK : no_memory(err);
}

pgy_status result_end(result_file *f, const char *what, pgy_error *err)
{
    const size_t all = f->found + f->missing;
    const char *more = f->missing > SHOWN_NAMES ? ", ..." : "";
    if (!f->missing) return PGY_OK;
    if (!f->found && !f->may_be_foreign)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "none of its %zu %s is in '%s': it is of another model (%s%s)", all,
                             what, f->graph->name, str_text(&f->examples), more);
    return result_warn(f, err, "%zu of %zu %s are not in '%s': %s%s", f->missing, all, what,
                       f->graph->name, str_text(&f->examples), more);
}

/* ---- Members -------------------------------------------------------------------------------- */

const char *result_text(result_file *f, const json_value *object, const char *key)
{
    const json_value *v = json_get(object, key);
    return v && v->type == JSON_STRING ? json_string(v, &f->json.memory, NULL) : NULL;
}

static bool read_number(double *out, const json_value *v)
{
    static const struct {
        const char *text;
        double value;
    } TEXTS[] = {{"nan", NAN}, {"inf", INFINITY}, {"-inf", -INFINITY}};
    if (v && (v->type == JSON_INT || v->type == JSON_REAL)) {
        *out = v->real;
        return true;
    }
    for (size_t i = 0; v && v->type == JSON_STRING && i < 3; i++)
        if (span_equals(v->raw, TEXTS[i].text)) {
            *out = TEXTS[i].value;
            return true;
        }
    return false;
}

double result_number(const json_value *object, const char *key)
{
    double v = NAN;
    return read_number(&v, json_get(object, key)) ? v : NAN;
}

bool result_has(const json_value *object, const char *key)
{
    double v;
    return read_number(&v, json_get(object, key));
}

bool result_bool(const json_value *object, const char *key)
{
    const json_value *v = json_get(object, key);
    return v && v->type == JSON_BOOL && v->boolean;
}

/* ---- Quantities ----------------------------------------------------------------------------- */

pgy_status result_set(result_file *f, known_quantity which, uint32_t at, double value,
                      pgy_error *err)
{
    view_quantity *q = NULL;
    if (at == VIEW_NONE) return PGY_OK;
    pgy_status st = view_quantity_add(&q, f->results, f->graph, known_quantity_like(which), err);
    if (!st) view_quantity_set(q, at, value);
    return st;
}

pgy_status result_set_worst(result_file *f, known_quantity which, uint32_t at, double value,
                            pgy_error *err)
{
    const view_quantity *q = view_quantity_find(f->results, known_quantity_like(which)->id, 0);
    if (q && at < q->count && q->is_measured[at]) value = worse_value(which, q->values[at], value);
    return result_set(f, which, at, value, err);
}

/* Finds a category, or the place of a new one. Of too many categories the rest is one. */
static uint32_t category_place(const view_quantity *q, const char **name)
{
    uint32_t i = 0;
    while (i < q->name_count && strcmp(q->names[i], *name) != 0) i++;
    if (i < MOST_CATEGORIES - 1 || i < q->name_count) return i;
    *name = "other";
    for (i = 0; i < q->name_count && strcmp(q->names[i], *name) != 0;) i++;
    return i;
}

pgy_status result_set_category(result_file *f, const view_quantity *like, uint32_t at,
                               const char *name, pgy_error *err)
{
    view_quantity *q = NULL;
    if (at == VIEW_NONE) return PGY_OK;
    pgy_status st = view_quantity_add(&q, f->results, f->graph, like, err);
    if (st) return st;
    const uint32_t i = category_place(q, &name);
    if (i == q->name_count) {
        const char **names = arena_alloc_array(&f->results->memory, i + 1ull, sizeof *names);
        if (!names || !(names[i] = view_text(f->results, name))) return no_memory(err);
        if (i) memcpy(names, q->names, i * sizeof *names);
        q->names = names;
        q->name_count = i + 1;
    }
    view_quantity_set(q, at, i);
    return PGY_OK;
}

/* ---- Marks, verdict, summary ---------------------------------------------------------------- */

pgy_status result_mark(result_file *f, view_of of, uint32_t at, view_mark_kind kind, pgy_error *err,
                       const char *format, ...)
{
    str text = {0};
    va_list args;
    if (at == VIEW_NONE) return PGY_OK;
    va_start(args, format);
    str_vprintf(&text, format, args);
    va_end(args);
    const view_mark mark = {.at = at, .of = of, .kind = kind, .text = str_text(&text)};
    pgy_status st = text.failed ? no_memory(err) : view_mark_once(f->results, &mark, err);
    str_deinit(&text);
    return st;
}

pgy_status result_mark_first(result_file *f, uint32_t node, bool decisive, const char *text,
                             pgy_error *err)
{
    view_results *r = f->results;
    const view_mark mark = {.at = node, .of = VIEW_OF_NODE, .kind = VIEW_MARK_FIRST, .text = text};
    if (node == VIEW_NONE) return PGY_OK;
    for (size_t i = 0; i < r->mark_count; i++) {
        view_mark *m = &r->marks[i];
        if (m->kind != VIEW_MARK_FIRST || m->graph) continue;
        if (!decisive && m->at <= node) return PGY_OK;
        *m = mark;
        m->text = view_text(r, text);
        return m->text ? PGY_OK : no_memory(err);
    }
    return view_mark_add(r, &mark, err);
}

pgy_status result_judge(result_file *f, bool passed, bool decisive, const char *text,
                        pgy_error *err)
{
    view_results *r = f->results;
    if (r->is_judged && (passed || (!r->passed && !decisive))) return PGY_OK;
    r->is_judged = true;
    r->passed = passed;
    r->verdict = view_text(r, text);
    return r->verdict ? PGY_OK : no_memory(err);
}

pgy_status result_summary(result_file *f, const char *section, const char *name, pgy_error *err,
                          const char *format, ...)
{
    str text = {0};
    va_list args;
    va_start(args, format);
    str_vprintf(&text, format, args);
    va_end(args);
    pgy_status st = text.failed ? no_memory(err)
                                : view_summary_add(f->results, section, name, str_text(&text), err);
    str_deinit(&text);
    return st;
}

pgy_status result_table(view_table **out, result_file *f, const char *id, const char *title,
                        const view_column *columns, uint32_t count, pgy_error *err)
{
    const view_table like = {
        .id = id, .title = title, .columns = (view_column *)columns, .column_count = count};
    *out = view_table_find(f->results, id);
    return *out ? PGY_OK : view_table_add(out, f->results, &like, err);
}
