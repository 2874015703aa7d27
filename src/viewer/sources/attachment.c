/* SPDX-License-Identifier: Apache-2.0 */
/* Netron's attachments: figures that any program wrote for nodes, values and tensors become
 * quantities; ours (viewer/attachment.c) become what they were. */
#include "viewer/attachment.h"

#include <ctype.h>
#include <string.h>

#include "base/cancel.h"
#include "viewer/sources/result_file.h"

static const char OWN_GROUP[] = "attachment";
enum { MOST_QUANTITIES = 64, LONGEST_NAME = 200 };

/* A figure's name, and the quantity that its values go to. */
typedef struct figure {
    view_quantity like;
    bool is_known;    /* described by the file */
    bool is_named;    /* its values are texts */
    double low, high; /* of finite values */
    double least;     /* positive one */
} figure;

typedef struct attachment {
    result_file file;
    strmap figures[2]; /* of nodes, of tensors: name to figure */
    size_t figure_count, dropped, mismatched;
} attachment;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while an attachment is read");
}

static bool accept(const char *path, span start, const json_value *json)
{
    const json_value *signature = json_get(json, "signature");
    (void)path, (void)start;
    return signature && signature->type == JSON_STRING &&
           span_equals(signature->raw, ATTACHMENT_SIGNATURE);
}

/* ---- Figures -------------------------------------------------------------------------------- */

static bool find_name(const char *const *names, const char *name, int *out)
{
    for (int i = 0; name && names[i]; i++)
        if (!strcmp(names[i], name)) {
            *out = i;
            return true;
        }
    return false;
}

/* "Latency [ms]" becomes latency_ms_. Ids of nodes and tensors differ. */
static const char *make_id(arena *a, const char *name, view_of of)
{
    const size_t size = strnlen(name, LONGEST_NAME);
    char *id = arena_printf(a, "%.*s%s", (int)size, name, of == VIEW_OF_NODE ? "" : "_of_tensor");
    for (char *c = id; c && *c; c++)
        *c = isalnum((unsigned char)*c) ? (char)tolower((unsigned char)*c) : '_';
    return id;
}

static pgy_status new_figure(figure **out, attachment *a, view_of of, const char *name,
                             pgy_error *err)
{
    figure *f = arena_alloc(&a->file.json.memory, sizeof *f);
    if (!f || !strmap_put(&a->figures[of], name, f)) return no_memory(err);
    *f = (figure){.like = {.id = make_id(&a->file.json.memory, name, of),
                           .label = name,
                           .unit = "",
                           .group = OWN_GROUP,
                           .of = of,
                           .fold = VIEW_FOLD_MAX},
                  .low = INFINITY,
                  .high = -INFINITY,
                  .least = INFINITY};
    if (!f->like.id) return no_memory(err);
    a->figure_count++;
    *out = f;
    return PGY_OK;
}

static bool read_names(view_quantity *q, result_file *f, const json_value *list)
{
    const char **names = NULL;
    if (!list || list->type != JSON_ARRAY) return true;
    names = arena_alloc_array(&f->json.memory, list->count, sizeof *names);
    if (!names) return false;
    for (const json_value *v = list->first; v; v = v->next) {
        const char *name = v->type == JSON_STRING ? json_string(v, &f->json.memory, NULL) : "";
        if (!name) return false;
        names[q->name_count++] = name;
    }
    q->names = names;
    return true;
}

/* A quantity that this program described. Whatever is wrong keeps its default. */
static pgy_status read_quantity(attachment *a, const json_value *v, pgy_error *err)
{
    result_file *f = &a->file;
    const char *name = result_text(f, v, "name"), *of = result_text(f, v, "of"),
               *id = result_text(f, v, "id"), *label = result_text(f, v, "label"),
               *unit = result_text(f, v, "unit"), *group = result_text(f, v, "group");
    figure *g = NULL;
    int scale = VIEW_LINEAR, fold = VIEW_FOLD_MAX, better = VIEW_BETTER_NONE;
    if (!name || !of || !id || !*id || a->figure_count == MOST_QUANTITIES) return PGY_OK;
    const view_of kind = strcmp(of, "node") ? VIEW_OF_TENSOR : VIEW_OF_NODE;
    if (strmap_has(&a->figures[kind], name)) return PGY_OK;
    if (!find_name(ATTACHMENT_SCALES, result_text(f, v, "scale"), &scale)) return PGY_OK;
    find_name(ATTACHMENT_FOLDS, result_text(f, v, "fold"), &fold);
    find_name(ATTACHMENT_BETTER, result_text(f, v, "better"), &better);
    pgy_status st = new_figure(&g, a, kind, name, err);
    if (st) return st;
    g->is_known = true;
    g->is_named = scale == VIEW_CATEGORY;
    g->like.id = id;
    if (label) g->like.label = label;
    if (unit) g->like.unit = unit;
    if (group) g->like.group = group;
    g->like.scale = (view_scale)scale;
    g->like.fold = (view_fold)fold;
    g->like.better = (view_better)better;
    return g->is_named && !read_names(&g->like, f, json_get(v, "names")) ? no_memory(err) : PGY_OK;
}

/* A quantity of another file may have the id for something else. */
static pgy_status quantity_of(view_quantity **out, attachment *a, figure *g, pgy_error *err)
{
    const view_quantity *other = view_quantity_find(a->file.results, g->like.id, 0);
    if (other && (other->of != g->like.of || (other->scale == VIEW_CATEGORY) != g->is_named)) {
        g->like.id = arena_printf(&a->file.json.memory, "%s_attached", g->like.id);
        if (!g->like.id) return no_memory(err);
        other = view_quantity_find(a->file.results, g->like.id, 0);
        if (other && (other->of != g->like.of || (other->scale == VIEW_CATEGORY) != g->is_named)) {
            a->mismatched++;
            *out = NULL;
            return PGY_OK;
        }
    }
    return view_quantity_add(out, a->file.results, a->file.graph, &g->like, err);
}

/* ---- Values --------------------------------------------------------------------------------- */

static void note_value(figure *g, view_quantity *q, double v)
{
    if (isfinite(v)) {
        g->low = fmin(g->low, v);
        g->high = fmax(g->high, v);
        if (v > 0) g->least = fmin(g->least, v);
    }
    if (g->is_known || strcmp(q->group, OWN_GROUP)) return;
    /* What is known of a foreign figure is its values. */
    q->scale = g->low < 0 && g->high > 0                 ? VIEW_DIVERGING
               : g->low >= 0 && g->high > 100 * g->least ? VIEW_LOG
                                                         : VIEW_LINEAR;
}

static pgy_status set_value(attachment *a, figure *g, uint32_t at, const json_value *item,
                            pgy_error *err)
{
    const bool is_number = result_has(item, "value");
    const char *text = result_text(&a->file, item, "value");
    if ((g->is_named && !text) || (!g->is_named && !is_number)) {
        a->mismatched++;
        return PGY_OK;
    }
    view_quantity *q = NULL;
    pgy_status st = quantity_of(&q, a, g, err);
    if (st || !q) return st;
    if (g->is_named) return result_set_category(&a->file, &g->like, at, text, err);
    const double v = result_number(item, "value");
    view_quantity_set(q, at, v);
    note_value(g, q, v);
    return PGY_OK;
}

/* The node or tensor of an item; false: the item is about something else. */
static bool find_target(attachment *a, const json_value *item, view_of *of, uint32_t *at)
{
    const char *kind = result_text(&a->file, item, "kind"),
               *target = result_text(&a->file, item, "target"),
               *identifier = result_text(&a->file, item, "identifier");
    if (!kind || (!target && !identifier)) return false;
    *of = strcmp(kind, "node") ? VIEW_OF_TENSOR : VIEW_OF_NODE;
    if (*of == VIEW_OF_TENSOR && strcmp(kind, "value") && strcmp(kind, "tensor")) return false;
    if (*of == VIEW_OF_NODE && target) {
        *at = result_node(&a->file, target);
    } else {
        *at = result_tensor(&a->file, target ? target : identifier);
        /* A node without name is known by its first output. */
        if (*of == VIEW_OF_NODE && *at != VIEW_NONE) *at = a->file.graph->tensors[*at].producer;
    }
    return true;
}

static pgy_status read_metric(attachment *a, const json_value *item, pgy_error *err)
{
    const char *name = result_text(&a->file, item, "name");
    view_of of;
    uint32_t at;
    pgy_status st = PGY_OK;
    if (!name || !find_target(a, item, &of, &at) || at == VIEW_NONE) return PGY_OK;
    figure *g = strmap_get(&a->figures[of], name);
    if (!g && a->figure_count == MOST_QUANTITIES) {
        a->dropped++;
        return PGY_OK;
    }
    if (!g) {
        st = new_figure(&g, a, of, name, err);
        if (st) return st;
        g->is_named = !result_has(item, "value");
        if (g->is_named) g->like.scale = VIEW_CATEGORY, g->like.fold = VIEW_FOLD_SAME;
    }
    return set_value(a, g, at, item, err);
}

static pgy_status read_metadata(attachment *a, const json_value *item, pgy_error *err)
{
    const char *name = result_text(&a->file, item, "name"),
               *value = result_text(&a->file, item, "value"),
               *kind = result_text(&a->file, item, "kind");
    view_of of;
    uint32_t at;
    int mark;
    if (!name || !value || !kind) return PGY_OK;
    if (!strcmp(kind, "model") || !strcmp(kind, "graph"))
        return result_summary(&a->file, "Attachment", name, err, "%s", value);
    if (!find_name(ATTACHMENT_MARKS, name, &mark)) return PGY_OK;
    if (!find_target(a, item, &of, &at)) return PGY_OK;
    return result_mark(&a->file, of, at, (view_mark_kind)mark, err, "%s", value);
}

/* ---- The file ------------------------------------------------------------------------------- */

static pgy_status read_list(attachment *a, const char *name,
                            pgy_status (*read)(attachment *, const json_value *, pgy_error *),
                            pgy_error *err)
{
    const json_value *list = json_get(a->file.json.root, name);
    pgy_status st = PGY_OK;
    if (!list || list->type != JSON_ARRAY) return PGY_OK;
    for (const json_value *v = list->first; v && !st; v = v->next) {
        if (v->type == JSON_OBJECT) st = read(a, v, err);
        if (!st && cancel_requested()) st = cancel_check(err);
    }
    return st;
}

static pgy_status warn(attachment *a, pgy_error *err)
{
    pgy_status st = PGY_OK;
    if (a->dropped)
        st =
            result_warn(&a->file, err, "%zu values are left out: the file has more than %d figures",
                        a->dropped, (int)MOST_QUANTITIES);
    if (!st && a->mismatched)
        st = result_warn(&a->file, err,
                         "%zu values are left out: they are text where others are numbers, or the "
                         "other way round",
                         a->mismatched);
    return st;
}

static pgy_status add(pgy_page *p, const char *path, pgy_error *err)
{
    attachment a = {0};
    pgy_status st = result_open_json(&a.file, p, path, err);
    if (!st) st = read_list(&a, "quantities", read_quantity, err);
    if (!st) st = read_list(&a, "metrics", read_metric, err);
    if (!st) st = read_list(&a, "metadata", read_metadata, err);
    if (!st) st = warn(&a, err);
    if (!st) st = result_end(&a.file, "nodes and tensors", err);
    strmap_deinit(&a.figures[VIEW_OF_NODE]);
    strmap_deinit(&a.figures[VIEW_OF_TENSOR]);
    result_close(&a.file);
    return st;
}

const view_source view_source_attachment = {
    .name = "attachment", .label = "Netron attachment", .accept = accept, .add = add};
