/* SPDX-License-Identifier: Apache-2.0 */
/* Lists what an edit changed, by comparing the model before and after it, graph by graph. Nodes are
 * paired by name, unnamed nodes by their first output, and tensors by name. Elements of weights are
 * not read. */
#include <polygraphy/gs_script.h>

#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "gs/edit/changes.h"
#include "onnx/equal.h"

typedef struct comparison {
    arena *memory;
    pgy_gs_change *items;
    size_t count, capacity;
    const char *graph; /* path of the graph that is compared now */
    bool failed;
} comparison;

static void add(comparison *c, pgy_gs_change_kind kind, const char *name, const char *detail)
{
    if (!detail || !name || c->failed ||
        !mem_grow((void **)&c->items, &c->capacity, c->count + 1, sizeof *c->items)) {
        c->failed = true;
        return;
    }
    const char *kept = arena_strdup(c->memory, name);
    if (!kept)
        c->failed = true;
    else
        c->items[c->count++] = (pgy_gs_change){kind, c->graph, kept, detail};
}

static const char *keep(comparison *c, str *s)
{
    const char *kept = s->failed ? NULL : arena_strdup(c->memory, str_text(s));
    str_deinit(s);
    return kept;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static bool same_stored(const pgy_onnx_tensor *a, const pgy_onnx_tensor *b)
{
    if (a == b) return true;
    if (!a || !b || a->data_type != b->data_type) return false;
    if (!array_same(a->dims, a->dim_count, b->dims, b->dim_count, sizeof *a->dims)) return false;
    if (a->message.raw.data && a->message.raw.data == b->message.raw.data) return true;
    return a->raw_data.data && a->raw_data.data == b->raw_data.data;
}

static bool same_attribute(const pgy_gs_attribute *a, const pgy_gs_attribute *b)
{
    if ((a->graphs != NULL) != (b->graphs != NULL)) return false;
    if (a->graphs)
        return a->graph_count == b->graph_count; /* subgraphs are compared on their own */
    if (a->value == b->value) return true;
    const pgy_onnx_attribute *x = a->value, *y = b->value;
    if (x->message.raw.data && y->message.raw.data)
        return bytes_same(x->message.raw, y->message.raw);
    const pgy_onnx_attribute_type kind = pgy_onnx_attribute_kind(x);
    if (kind != pgy_onnx_attribute_kind(y)) return false;
    if (kind == PGY_ATTR_TENSOR)
        return same_stored(x->t, y->t) ||
               (x->t && y->t && x->t->data_type == y->t->data_type && x->t->raw_data.size &&
                x->t->dim_count == y->t->dim_count && bytes_same(x->t->raw_data, y->t->raw_data));
    str p = {0}, q = {0};
    change_put_attribute(&p, a);
    change_put_attribute(&q, b);
    const bool same = !p.failed && !q.failed && strcmp(str_text(&p), str_text(&q)) == 0;
    str_deinit(&p);
    str_deinit(&q);
    return same;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

static void compare_levels(comparison *c, const pgy_gs_graph *before, const pgy_gs_graph *after);

static const char *node_title(const pgy_gs_node *n)
{
    if (*n->name) return n->name;
    for (size_t i = 0; i < n->output_count; i++)
        if (*n->outputs[i]->name) return n->outputs[i]->name;
    return "";
}

/* The key that pairs nodes before and after: the title, plus "#k" for the k-th node with that
 * title. */
static const char *node_key(comparison *c, strmap *seen, const pgy_gs_node *n)
{
    const char *title = arena_printf(c->memory, "%c%s", *n->name ? 'n' : 'o', node_title(n));
    if (!title) return NULL;
    const size_t count = (size_t)(uintptr_t)strmap_get(seen, title) + 1;
    if (!strmap_put(seen, title, (void *)(uintptr_t)count)) return NULL;
    return count == 1 ? title : arena_printf(c->memory, "%s#%zu", title, count);
}

static void put_op(str *s, const pgy_gs_node *n)
{
    if (*n->domain) str_printf(s, "%s.", n->domain);
    str_append(s, n->op);
}

static bool put_changes(str *s, const pgy_gs_node *a, const pgy_gs_node *b)
{
    const size_t start = s->size;
    if (strcmp(a->op, b->op) != 0 || strcmp(a->domain, b->domain) != 0 ||
        strcmp(a->overload, b->overload) != 0) {
        put_op(s, a);
        str_append(s, " -> ");
        put_op(s, b);
    }
    for (size_t i = 0; i < b->attribute_count; i++) {
        const pgy_gs_attribute *now = &b->attributes[i], *was = pgy_gs_find_attr(a, now->name);
        if (was && same_attribute(was, now)) continue;
        str_printf(s, "%s%s=", s->size > start ? ", " : "", now->name);
        if (was) change_put_attribute(s, was);
        if (was) str_append(s, " -> ");
        change_put_attribute(s, now);
    }
    for (size_t i = 0; i < a->attribute_count; i++)
        if (!pgy_gs_find_attr(b, a->attributes[i].name))
            str_printf(s, "%swithout %s", s->size > start ? ", " : "", a->attributes[i].name);
    return s->size > start;
}

static void compare_subgraphs(comparison *c, const pgy_gs_node *a, const pgy_gs_node *b)
{
    const char *outer = c->graph;
    for (size_t i = 0; i < b->attribute_count; i++) {
        const pgy_gs_attribute *now = &b->attributes[i], *was = pgy_gs_find_attr(a, now->name);
        if (!was || !was->graphs || !now->graphs) continue;
        for (size_t k = 0; k < now->graph_count && k < was->graph_count; k++) {
            c->graph = arena_printf(c->memory, "%s%s%s/%s", outer, *outer ? "/" : "", node_title(b),
                                    now->name);
            if (!c->graph)
                c->failed = true;
            else
                compare_levels(c, was->graphs[k], now->graphs[k]);
        }
    }
    c->graph = outer;
}

static void compare_nodes(comparison *c, const pgy_gs_node *a, const pgy_gs_node *b)
{
    str s = {0};
    if (put_changes(&s, a, b)) add(c, PGY_GS_NODE_CHANGED, node_title(b), keep(c, &s));
    str_deinit(&s);
    if (!gs_same_names(a->inputs, a->input_count, b->inputs, b->input_count) ||
        !gs_same_names(a->outputs, a->output_count, b->outputs, b->output_count)) {
        str edges = {0};
        change_put_edges(&edges, a);
        str_append(&edges, " becomes ");
        change_put_edges(&edges, b);
        add(c, PGY_GS_NODE_REWIRED, node_title(b), keep(c, &edges));
    }
    compare_subgraphs(c, a, b);
}

static void note_node(comparison *c, pgy_gs_change_kind kind, const pgy_gs_node *n)
{
    str s = {0};
    put_op(&s, n);
    str_append(&s, " ");
    change_put_edges(&s, n);
    add(c, kind, node_title(n), keep(c, &s));
}

static void compare_node_lists(comparison *c, const pgy_gs_graph *before, const pgy_gs_graph *after)
{
    strmap old = {0}, seen = {0}, met = {0};
    size_t last = 0;
    bool moved = false;
    for (size_t i = 0; i < before->node_count && !c->failed; i++) {
        const char *key = node_key(c, &seen, before->nodes[i]);
        if (!key || !strmap_put(&old, key, (void *)(uintptr_t)(i + 1))) c->failed = true;
    }
    strmap_deinit(&seen);
    for (size_t i = 0; i < after->node_count && !c->failed; i++) {
        const char *key = node_key(c, &seen, after->nodes[i]);
        const size_t place = key ? (size_t)(uintptr_t)strmap_get(&old, key) : 0;
        if (!key || !strmap_put(&met, key, NULL))
            c->failed = true;
        else if (!place)
            note_node(c, PGY_GS_NODE_ADDED, after->nodes[i]);
        else
            compare_nodes(c, before->nodes[place - 1], after->nodes[i]);
        if (place && place < last) moved = true;
        if (place) last = place;
    }
    for (size_t i = 0; i < old.count && !c->failed; i++)
        if (!strmap_has(&met, old.entries[i].key))
            note_node(c, PGY_GS_NODE_REMOVED,
                      before->nodes[(size_t)(uintptr_t)old.entries[i].value - 1]);
    if (moved) add(c, PGY_GS_GRAPH_CHANGED, after->name, "nodes in another order");
    strmap_deinit(&old);
    strmap_deinit(&seen);
    strmap_deinit(&met);
}

/* ---- Tensors --------------------------------------------------------------------------------- */

static bool same_type(const pgy_gs_tensor *a, const pgy_gs_tensor *b)
{
    if (a->dtype != b->dtype || a->rank != b->rank || a->type_kind != b->type_kind) return false;
    for (int32_t i = 0; i < a->rank; i++) {
        const char *p = a->dims[i].text ? a->dims[i].text : "", *q = b->dims[i].text;
        if (a->dims[i].value != b->dims[i].value || strcmp(p, q ? q : "") != 0) return false;
    }
    return true;
}

static const char *type_of(comparison *c, const pgy_gs_tensor *t)
{
    str s = {0};
    change_put_type(&s, t);
    return keep(c, &s);
}

static void compare_tensors(comparison *c, const pgy_gs_tensor *a, const pgy_gs_tensor *b)
{
    const bool was = a && a->kind == PGY_GS_CONSTANT, is = b && b->kind == PGY_GS_CONSTANT;
    if (is && !was)
        add(c, PGY_GS_WEIGHT_ADDED, b->name, type_of(c, b));
    else if (was && !is)
        add(c, PGY_GS_WEIGHT_REMOVED, a->name, type_of(c, a));
    else if (is && (!same_stored(a->stored, b->stored) || a->sparse != b->sparse))
        add(c, PGY_GS_WEIGHT_CHANGED, b->name, type_of(c, b));
    else if (!is && a && b && !same_type(a, b)) {
        str s = {0};
        change_put_type(&s, a);
        str_append(&s, " -> ");
        change_put_type(&s, b);
        add(c, PGY_GS_TENSOR_RETYPED, b->name, keep(c, &s));
    }
}

static void compare_tensor_lists(comparison *c, const pgy_gs_graph *before,
                                 const pgy_gs_graph *after)
{
    pgy_gs_tensor_list old = {0}, now = {0};
    strmap by_name = {0}, met = {0};
    if (pgy_gs_tensors(&old, before, false, NULL) || pgy_gs_tensors(&now, after, false, NULL))
        c->failed = true;
    for (size_t i = 0; i < old.count && !c->failed; i++)
        if (!strmap_put(&by_name, old.items[i]->name, old.items[i])) c->failed = true;
    for (size_t i = 0; i < now.count && !c->failed; i++) {
        compare_tensors(c, strmap_get(&by_name, now.items[i]->name), now.items[i]);
        if (!strmap_put(&met, now.items[i]->name, NULL)) c->failed = true;
    }
    for (size_t i = 0; i < old.count && !c->failed; i++)
        if (!strmap_has(&met, old.items[i]->name)) compare_tensors(c, old.items[i], NULL);
    strmap_deinit(&by_name);
    strmap_deinit(&met);
    pgy_gs_tensor_list_free(&old);
    pgy_gs_tensor_list_free(&now);
}

/* ---- Graphs ---------------------------------------------------------------------------------- */

static void compare_interfaces(comparison *c, const pgy_gs_graph *before, const pgy_gs_graph *after)
{
    for (int i = 0; i < 2; i++) {
        pgy_gs_tensor *const *was = i ? before->outputs : before->inputs;
        pgy_gs_tensor *const *is = i ? after->outputs : after->inputs;
        const size_t was_count = i ? before->output_count : before->input_count;
        const size_t is_count = i ? after->output_count : after->input_count;
        str s = {0};
        if (gs_same_names(was, was_count, is, is_count)) continue;
        str_printf(&s, "%s ", i ? "outputs" : "inputs");
        change_put_names(&s, was, was_count);
        str_append(&s, " become ");
        change_put_names(&s, is, is_count);
        add(c, PGY_GS_GRAPH_CHANGED, after->name, keep(c, &s));
    }
    if (strcmp(before->name, after->name) != 0)
        add(c, PGY_GS_GRAPH_CHANGED, after->name,
            arena_printf(c->memory, "was called '%s'", before->name));
    if (before->opset != after->opset)
        add(c, PGY_GS_GRAPH_CHANGED, after->name,
            arena_printf(c->memory, "opset %lld -> %lld", (long long)before->opset,
                         (long long)after->opset));
}

static bool same_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static int64_t version_of(const pgy_gs_graph *g, const char *domain)
{
    for (size_t i = 0; i < g->import_count; i++)
        if (same_text(g->imports[i].domain, domain)) return g->imports[i].version;
    return 0;
}

/* Compares opset imports, except that of the default domain, which the graph's opset field covers.
 */
static void compare_imports(comparison *c, const pgy_gs_graph *before, const pgy_gs_graph *after)
{
    for (int gone = 0; gone < 2; gone++) {
        const pgy_gs_graph *g = gone ? before : after, *other = gone ? after : before;
        for (size_t i = 0; i < g->import_count; i++) {
            const char *domain = g->imports[i].domain;
            const int64_t now = g->imports[i].version, was = version_of(other, domain);
            if (!domain || !*domain || now == was || (gone && was)) continue;
            add(c, PGY_GS_GRAPH_CHANGED, after->name,
                arena_printf(c->memory, "opset of '%s' %lld -> %lld", domain,
                             (long long)(gone ? now : was), (long long)(gone ? was : now)));
        }
    }
}

/* Compares the fields of the graph and model other than nodes and tensors. */
static void compare_headers(comparison *c, const pgy_gs_graph *before, const pgy_gs_graph *after)
{
    compare_imports(c, before, after);
    if (!same_text(before->doc_string, after->doc_string))
        add(c, PGY_GS_GRAPH_CHANGED, after->name, "has another doc string");
    if (!same_text(before->producer_name, after->producer_name) ||
        !same_text(before->producer_version, after->producer_version))
        add(c, PGY_GS_GRAPH_CHANGED, after->name,
            arena_printf(c->memory, "producer '%s' %s", after->producer_name,
                         after->producer_version));
    if (before->ir_version != after->ir_version)
        add(c, PGY_GS_GRAPH_CHANGED, after->name,
            arena_printf(c->memory, "IR version %lld -> %lld", (long long)before->ir_version,
                         (long long)after->ir_version));
}

static void compare_levels(comparison *c, const pgy_gs_graph *before, const pgy_gs_graph *after)
{
    compare_headers(c, before, after);
    compare_interfaces(c, before, after);
    compare_node_lists(c, before, after);
    compare_tensor_lists(c, before, after);
}

static void compare_functions(comparison *c, const pgy_gs_graph *before, const pgy_gs_graph *after)
{
    for (int back = 0; back < 2; back++) {
        const pgy_gs_graph *from = back ? before : after, *to = back ? after : before;
        for (size_t i = 0; i < from->function_count && !c->failed; i++) {
            const pgy_gs_graph *f = from->functions[i];
            const pgy_gs_graph *other = pgy_gs_find_function(to, f->domain, f->name, f->overload);
            c->graph = arena_printf(c->memory, "%s.%s", f->domain, f->name);
            if (!c->graph)
                c->failed = true;
            else if (!other)
                add(c, PGY_GS_GRAPH_CHANGED, f->name, back ? "function removed" : "function added");
            else if (!back)
                compare_levels(c, other, f);
        }
    }
}

pgy_status pgy_gs_changes(pgy_gs_change_list *out, const pgy_gs_graph *before,
                          const pgy_gs_graph *after, pgy_error *err)
{
    comparison c = {.graph = "", .memory = mem_calloc(1, sizeof(arena))};
    if (!c.memory) return gs_no_memory(err);
    compare_levels(&c, before, after);
    compare_functions(&c, before, after);
    *out = (pgy_gs_change_list){c.items, c.count, c.memory};
    if (!c.failed) return PGY_OK;
    pgy_gs_change_list_free(out);
    return gs_no_memory(err);
}

void pgy_gs_change_list_free(pgy_gs_change_list *list)
{
    if (list->internal) arena_deinit(list->internal);
    mem_free(list->internal);
    mem_free(list->items);
    *list = (pgy_gs_change_list){0};
}

char *pgy_gs_changes_text(const pgy_gs_change_list *list, size_t limit)
{
    static const char *const SIGNS[] = {
        [PGY_GS_GRAPH_CHANGED] = "~ graph",   [PGY_GS_NODE_ADDED] = "+ node",
        [PGY_GS_NODE_REMOVED] = "- node",     [PGY_GS_NODE_CHANGED] = "~ node",
        [PGY_GS_NODE_REWIRED] = "~ node",     [PGY_GS_TENSOR_RETYPED] = "~ tensor",
        [PGY_GS_WEIGHT_ADDED] = "+ weight",   [PGY_GS_WEIGHT_REMOVED] = "- weight",
        [PGY_GS_WEIGHT_CHANGED] = "~ weight",
    };
    str s = {0};
    const size_t shown = limit && limit < list->count ? limit : list->count;
    for (size_t i = 0; i < shown; i++) {
        const pgy_gs_change *x = &list->items[i];
        str_printf(&s, "%s '%s'", SIGNS[x->kind], x->name);
        if (*x->graph) str_printf(&s, " in '%s'", x->graph);
        str_printf(&s, " %s\n", x->detail);
    }
    if (shown < list->count) str_printf(&s, "... and %zu more\n", list->count - shown);
    if (!list->count) str_append(&s, "nothing\n");
    return str_take(&s);
}
