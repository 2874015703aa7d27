/* SPDX-License-Identifier: Apache-2.0 */
/* The scopes of items, from what exporters leave in names:
 *
 *     /encoder/layer.0/attention/MatMul          folders
 *     encoder.layer.0.attention.MatMul           dots; a number belongs to the part before it
 *     ['', 'encoder', 'encoder.layer.0', 'mm']   the modules that PyTorch keeps as metadata */
#include <string.h>

#include "viewer/groups.h"

enum { DEPTH_LIMIT = 16, NAME_LIMIT = 2000 };

typedef struct path_reader {
    grouping *s;
    strmap scopes; /* "encoder/layer.0" -> index + 1 */
    size_t room;
    str path; /* parts separated by '/' */
} path_reader;

/* ---- Paths ---------------------------------------------------------------------------------- */

static void append_part(str *path, const char *text, size_t size)
{
    if (!size) return;
    if (path->size) str_append_char(path, '/');
    for (size_t i = 0; i < size; i++) str_append_char(path, text[i] == '/' ? '|' : text[i]);
}

/* "['', 'encoder', 'encoder.layer.0', 'mm']": each name extends the one before it. The last one is
 * the node itself in some exporters, and then extends nothing. */
static void read_modules(str *path, const char *list)
{
    const char *before = "";
    size_t before_size = 0;
    for (const char *p = strchr(list, '\''); p;) {
        const char *name = p + 1, *end = strchr(name, '\'');
        if (!end) return;
        const size_t size = (size_t)(end - name);
        if (size && before_size == 0) {
            append_part(path, name, size);
        } else if (size > before_size + 1 && memcmp(name, before, before_size) == 0 &&
                   name[before_size] == '.') {
            append_part(path, name + before_size + 1, size - before_size - 1);
        } else if (size) {
            return;
        }
        if (size) before = name, before_size = size;
        p = strchr(end + 1, '\'');
    }
}

static void read_folders(str *path, const char *name)
{
    for (const char *slash; (slash = strchr(name, '/')); name = slash + 1)
        append_part(path, name, (size_t)(slash - name));
}

static bool is_number(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++)
        if (text[i] < '0' || text[i] > '9') return false;
    return size > 0;
}

static void read_dots(str *path, const char *name)
{
    const char *part = name;
    for (const char *dot = strchr(name, '.'); dot;) {
        const char *next = strchr(dot + 1, '.');
        const size_t size = next ? (size_t)(next - dot - 1) : strlen(dot + 1);
        if (!is_number(dot + 1, size)) {
            append_part(path, part, (size_t)(dot - part));
            part = dot + 1;
        }
        dot = next;
    }
}

static void read_path(str *path, const view_node *n)
{
    str_clear(path);
    for (size_t i = 0; n->source && i < n->source->metadata_prop_count; i++) {
        const pgy_onnx_string_entry *e = n->source->metadata_props[i];
        if (strcmp(e->key, "pkg.torch.onnx.name_scopes") == 0) read_modules(path, e->value);
    }
    if (path->size) return;
    const char *name = n->member_count ? n->members[0] : n->name;
    if (strlen(name) > NAME_LIMIT) return;
    if (strchr(name, '/'))
        read_folders(path, name);
    else
        read_dots(path, name);
}

/* ---- Scopes --------------------------------------------------------------------------------- */

static bool add_scope(path_reader *r, size_t from, size_t to)
{
    grouping *s = r->s;
    if (s->scope_count == r->room) {
        const size_t room = r->room ? 2 * r->room : 64;
        const char **names = arena_alloc_array(&s->memory, room, sizeof *names);
        if (!names) return false;
        if (s->scope_count) memcpy(names, s->scope_names, s->scope_count * sizeof *names);
        s->scope_names = names;
        r->room = room;
    }
    const char *name = arena_strndup(&s->g->memory, r->path.data + from, to - from);
    if (!name) return false;
    s->scope_names[s->scope_count++] = name;
    return strmap_put_n(&r->scopes, r->path.data, to, (void *)(uintptr_t)s->scope_count);
}

static bool take_path(path_reader *r, uint32_t item)
{
    uint32_t scopes[DEPTH_LIMIT], count = 0;
    const char *path = str_text(&r->path);
    if (r->path.failed) return false;
    for (size_t from = 0; from < r->path.size && count < DEPTH_LIMIT;) {
        const char *slash = strchr(path + from, '/');
        const size_t to = slash ? (size_t)(slash - path) : r->path.size;
        size_t at = (size_t)(uintptr_t)strmap_get_n(&r->scopes, path, to);
        if (!at && !add_scope(r, from, to)) return false;
        if (!at) at = r->s->scope_count;
        scopes[count++] = (uint32_t)(at - 1);
        from = to + 1;
    }
    r->s->paths[item] = arena_alloc_array(&r->s->memory, count, sizeof **r->s->paths);
    if (!r->s->paths[item]) return false;
    if (count) memcpy(r->s->paths[item], scopes, count * sizeof *scopes);
    r->s->path_sizes[item] = count;
    return true;
}

/* The node whose name places an item; VIEW_NONE: none does. */
static uint32_t namer_of(const view_graph *g, uint32_t item)
{
    if (item < g->node_count) return g->nodes[item].kind == VIEW_NODE ? item : VIEW_NONE;
    const view_container *c = &g->containers[item - g->node_count];
    if (c->kind == VIEW_CALL) return c->node;
    if (c->kind != VIEW_FUSED || !c->child_count) return VIEW_NONE;
    const view_item first = c->children[0];
    return first.kind == VIEW_ITEM_NODE ? first.ref : g->containers[first.ref].node;
}

pgy_status group_paths(grouping *s, pgy_error *err)
{
    path_reader r = {.s = s};
    s->paths = arena_alloc_array(&s->memory, s->item_count, sizeof *s->paths);
    s->path_sizes = arena_alloc_array(&s->memory, s->item_count, sizeof *s->path_sizes);
    bool ok = s->paths && s->path_sizes;
    for (uint32_t i = 0; ok && i < s->item_count; i++) {
        const uint32_t node = namer_of(s->g, i);
        if (node == VIEW_NONE) continue;
        read_path(&r.path, &s->g->nodes[node]);
        ok = take_path(&r, i);
    }
    strmap_deinit(&r.scopes);
    str_deinit(&r.path);
    return ok ? PGY_OK : group_no_memory(err);
}
