/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and destroys documents, and holds what a main graph, its subgraphs and functions share:
 * memory, lists of graphs, opsets and marks of edited graphs. Removed nodes and tensors stay in
 * memory as long as the document; exported models keep that memory alive. */
#include <string.h>

#include "base/alloc.h"
#include "base/suggest.h"
#include "gs/graph/document.h"
#include "onnx/text_check.h"

enum { DEFAULT_OPSET = 11, FIRST_CAPACITY = 2 };

static const char DEFAULT_NAME[] = "onnx_graphsurgeon_graph";

pgy_status gs_no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while editing the graph");
}

void *gs_alloc(gs_document *d, size_t count, size_t item_bytes)
{
    return pgy_model_alloc(d->store, count ? count : 1, item_bytes);
}

const char *gs_strdup(gs_document *d, const char *text)
{
    return *text ? pgy_model_strdup(d->store, text) : "";
}

pgy_status gs_keep_text(const char **out, gs_document *d, const char *text, pgy_error *err)
{
    const uint8_t *bad = text_find_bad((const uint8_t *)text, strlen(text));
    if (bad)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the text is not UTF-8: '%.*s' is followed by byte 0x%02x",
                             (int)(bad - (const uint8_t *)text), text, *bad);
    const char *kept = gs_strdup(d, text);
    if (!kept) return gs_no_memory(err);
    *out = kept;
    return PGY_OK;
}

pgy_status gs_grow(gs_document *d, void *items, size_t count, size_t *capacity, pgy_error *err)
{
    if (count < *capacity) return PGY_OK;
    const size_t wanted = *capacity ? *capacity * 2 : FIRST_CAPACITY;
    void **grown = gs_alloc(d, wanted, sizeof(*grown));
    if (!grown) return gs_no_memory(err);
    void *old;
    memcpy(&old, items, sizeof(old));
    if (count) memcpy(grown, old, count * sizeof(*grown));
    memcpy(items, &grown, sizeof(grown));
    *capacity = wanted;
    return PGY_OK;
}

/* ---- Documents ------------------------------------------------------------------------------- */

pgy_status gs_document_create(gs_document **out, pgy_error *err)
{
    gs_document *d = mem_calloc(1, sizeof(*d));
    if (!d) return gs_no_memory(err);
    const pgy_status st = pgy_model_create(&d->store, err);
    if (st) {
        mem_free(d);
        return st;
    }
    *out = d;
    return PGY_OK;
}

void gs_document_destroy(gs_document *d)
{
    if (!d) return;
    gs_names_deinit(&d->tensor_names);
    gs_names_deinit(&d->node_names);
    pgy_model_destroy(d->store);
    mem_free(d);
}

void pgy_gs_destroy(pgy_gs_graph *g)
{
    if (g && graph_box(g)->document->top == g) gs_document_destroy(graph_box(g)->document);
}

pgy_status pgy_gs_create(pgy_gs_graph **out, pgy_error *err)
{
    gs_document *d = NULL;
    if (!out)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'out' must not be NULL: it takes the new graph");
    pgy_status st = gs_document_create(&d, err);
    if (!st) st = gs_graph_create(&d->top, d, NULL, DEFAULT_NAME, err);
    if (!st) st = pgy_gs_set_opset(d->top, DEFAULT_OPSET, err);
    if (st) {
        gs_document_destroy(d);
        return st;
    }
    *out = d->top;
    return PGY_OK;
}

/* ---- Levels ---------------------------------------------------------------------------------- */

const pgy_gs_graph *gs_root(const pgy_gs_graph *g)
{
    while (g->parent) g = g->parent;
    return g;
}

static void inherit(pgy_gs_graph *g, const pgy_gs_graph *from)
{
    g->opset = from->opset;
    g->imports = from->imports;
    g->import_count = from->import_count;
    g->ir_version = from->ir_version;
}

pgy_status gs_graph_create(pgy_gs_graph **out, gs_document *d, pgy_gs_graph *parent,
                           const char *name, pgy_error *err)
{
    gs_graph *box = gs_alloc(d, 1, sizeof(*box));
    const char *kept = "";
    if (!box) return gs_no_memory(err);
    pgy_status st = name ? gs_keep_text(&kept, d, name, err) : PGY_OK;
    if (!st) st = gs_grow(d, &d->graphs, d->graph_count, &d->graph_capacity, err);
    if (st) return st;
    pgy_gs_graph *g = &box->graph;
    g->name = kept;
    g->doc_string = g->producer_name = g->producer_version = g->domain = g->overload = "";
    g->parent = parent;
    g->internal = box;
    g->functions = d->functions;
    g->function_count = d->function_count;
    box->document = d;
    if (parent) inherit(g, gs_root(parent));
    d->graphs[d->graph_count++] = g;
    *out = g;
    return PGY_OK;
}

void gs_set_parent(pgy_gs_graph *sub, pgy_gs_graph *parent)
{
    pgy_gs_graph *up = parent;
    while (up && up->parent != sub) up = up->parent;
    if (up) up->parent = sub->parent;
    sub->parent = parent;
}

void gs_publish_functions(gs_document *d)
{
    for (size_t i = 0; i < d->graph_count; i++) {
        d->graphs[i]->functions = d->functions;
        d->graphs[i]->function_count = d->function_count;
    }
}

void gs_touch(pgy_gs_graph *g)
{
    if (g) graph_box(g)->document->edits++;
    for (; g; g = g->parent) graph_box(g)->changed = true;
}

static void touch_users(pgy_gs_node *const *nodes, size_t count)
{
    const pgy_gs_graph *last = NULL;
    for (size_t i = 0; i < count; i++) {
        if (nodes[i]->graph != last) gs_touch(nodes[i]->graph);
        last = nodes[i]->graph;
    }
}

void gs_touch_tensor(pgy_gs_tensor *t)
{
    tensor_box(t)->document->edits++;
    touch_users(t->producers, t->producer_count);
    touch_users(t->consumers, t->consumer_count);
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static pgy_status set_text(const char **field, pgy_gs_graph *g, const char *text, pgy_error *err)
{
    if (!g || !text)
        return pgy_error_set(err, PGY_E_ARGUMENT, "the graph and the text must not be NULL");
    const pgy_status st = gs_keep_text(field, graph_box(g)->document, text, err);
    if (st) return st;
    gs_touch(g);
    return PGY_OK;
}

pgy_status pgy_gs_set_name(pgy_gs_graph *g, const char *name, pgy_error *err)
{
    return set_text(&g->name, g, name, err);
}

pgy_status pgy_gs_set_doc(pgy_gs_graph *g, const char *text, pgy_error *err)
{
    return set_text(&g->doc_string, g, text, err);
}

pgy_status pgy_gs_set_producer(pgy_gs_graph *g, const char *name, const char *version,
                               pgy_error *err)
{
    if (!name || !version)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "the name and the version of the producer must not be NULL");
    const pgy_status st = set_text(&g->producer_name, g, name, err);
    return st ? st : set_text(&g->producer_version, g, version, err);
}

void pgy_gs_set_ir_version(pgy_gs_graph *g, int64_t version)
{
    gs_document *d = graph_box(g)->document;
    for (size_t i = 0; i < d->graph_count; i++) {
        d->graphs[i]->ir_version = version;
        graph_box(d->graphs[i])->ir_version_set = version != 0;
    }
    gs_touch(d->top);
}

bool gs_weights_are_inputs(const gs_document *d)
{
    enum { WEIGHTS_ARE_NO_INPUTS = 4 };
    const int64_t ir = d->top ? d->top->ir_version : 0;
    return ir > 0 && ir < WEIGHTS_ARE_NO_INPUTS;
}

/* ---- Opsets ---------------------------------------------------------------------------------- */

bool gs_is_default_domain(const char *domain)
{
    return !domain || !*domain || strcmp(domain, "ai.onnx") == 0;
}

static bool same_domain(const char *a, const char *b)
{
    if (gs_is_default_domain(a) || gs_is_default_domain(b))
        return gs_is_default_domain(a) && gs_is_default_domain(b);
    return strcmp(a, b) == 0;
}

const pgy_gs_opset *gs_find_import(const pgy_gs_graph *g, const char *domain)
{
    for (size_t i = 0; i < g->import_count; i++)
        if (same_domain(g->imports[i].domain, domain)) return &g->imports[i];
    return NULL;
}

/* True if g is the root or nested in it. Caches the result in g and the graphs around it for this
 * walk, because nesting may be deep. */
static bool is_below(pgy_gs_graph *g, const pgy_gs_graph *root, uint64_t walk)
{
    const pgy_gs_graph *up = g;
    while (up->parent && graph_box(up)->rooted != walk) up = up->parent;
    const bool below = graph_box(up)->rooted == walk ? graph_box(up)->below : up == root;
    for (; g && graph_box(g)->rooted != walk; g = g->parent) {
        graph_box(g)->rooted = walk;
        graph_box(g)->below = below;
    }
    return below;
}

/* Copies the opset imports of a main graph or function to all its subgraphs. */
static void publish_imports(pgy_gs_graph *root)
{
    gs_document *d = graph_box(root)->document;
    const uint64_t walk = ++d->walk;
    for (size_t i = 0; i < d->graph_count; i++)
        if (is_below(d->graphs[i], root, walk)) inherit(d->graphs[i], root);
    gs_touch(root);
}

pgy_status pgy_gs_set_import(pgy_gs_graph *g, const char *domain, int64_t version, pgy_error *err)
{
    if (!g || version < 0)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "%lld is not an opset version; expected 0 (remove) or more",
                             (long long)version);
    pgy_gs_graph *root = (pgy_gs_graph *)gs_root(g);
    gs_document *d = graph_box(g)->document;
    pgy_gs_opset *list = gs_alloc(d, root->import_count + 1, sizeof(*list));
    const pgy_gs_opset *old = gs_find_import(root, domain);
    const char *kept = old ? old->domain : "";
    if (!list) return gs_no_memory(err);
    const pgy_status st = old || !domain ? PGY_OK : gs_keep_text(&kept, d, domain, err);
    if (st) return st;
    size_t count = 0;
    for (size_t i = 0; i < root->import_count; i++) {
        if (&root->imports[i] == old && version == 0) continue;
        list[count] = root->imports[i];
        if (&root->imports[i] == old) list[count].version = version;
        count++;
    }
    if (!old && version) list[count++] = (pgy_gs_opset){kept, version};
    root->imports = list;
    root->import_count = count;
    if (gs_is_default_domain(domain) && version) root->opset = version;
    publish_imports(root);
    return PGY_OK;
}

pgy_status pgy_gs_set_opset(pgy_gs_graph *g, int64_t version, pgy_error *err)
{
    if (version < 1)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "%lld is not an opset version; expected 1 or more",
                             (long long)version);
    return pgy_gs_set_import(g, "", version, err);
}

/* ---- Messages -------------------------------------------------------------------------------- */

const char *gs_node_label(const pgy_gs_node *n)
{
    if (*n->name) return n->name;
    str text = {0};
    for (size_t i = 0; i < n->output_count && !text.size; i++)
        if (*n->outputs[i]->name)
            str_printf(&text, "(node with output '%.200s')", n->outputs[i]->name);
    const char *kept = text.size && !text.failed
                           ? pgy_model_strdup(gs_node_box(n)->document->store, str_text(&text))
                           : NULL;
    str_deinit(&text);
    return kept ? kept : "(node without name)";
}

pgy_status gs_node_error(const pgy_gs_node *n, pgy_error *err, pgy_status st, const char *format,
                         ...)
{
    str text = {0};
    va_list args;
    va_start(args, format);
    str_vprintf(&text, format, args);
    va_end(args);
    if (*n->name)
        pgy_error_set(err, st, "node '%.200s' (%.100s): %s", n->name, n->op, str_text(&text));
    else
        pgy_error_set(err, st, "%.250s (%.100s): %s", gs_node_label(n), n->op, str_text(&text));
    str_deinit(&text);
    return st;
}

void gs_suggest(str *out, const char *name, const char *const *names, size_t count)
{
    suggestions near = {.wanted = name};
    for (size_t i = 0; i < count; i++) suggest_offer(&near, names[i]);
    suggest_append(out, &near);
}
