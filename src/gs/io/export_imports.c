/* SPDX-License-Identifier: Apache-2.0 */
/* The versions that a model declares: opset imports for the domains of its nodes, and the IR
 * version that supports the opset and the types in use. */
#include <string.h>

#include "base/str.h"
#include "gs/io/export.h"

typedef struct first_version {
    int64_t from, ir;
} first_version;

/* The opset with which each IR version came, newest first. IR 4 is the least, because only since
 * then may weights be no inputs. */
static const first_version IR_OF_OPSET[] = {{28, 14}, {25, 13}, {24, 12}, {23, 11}, {21, 10},
                                            {19, 9},  {15, 8},  {12, 7},  {11, 6},  {10, 5}};
enum { OLDEST_IR = 4 };

int64_t export_ir_of_opset(int64_t opset)
{
    for (size_t i = 0; i < sizeof(IR_OF_OPSET) / sizeof(IR_OF_OPSET[0]); i++)
        if (opset >= IR_OF_OPSET[i].from) return IR_OF_OPSET[i].ir;
    return OLDEST_IR;
}

int64_t export_ir_of_type(pgy_dtype dtype)
{
    switch (dtype) {
    case PGY_F8E4M3FN:
    case PGY_F8E4M3FNUZ:
    case PGY_F8E5M2:
    case PGY_F8E5M2FNUZ: return 9;
    case PGY_I4:
    case PGY_U4: return 10;
    case PGY_F4E2M1: return 11;
    case PGY_F8E8M0: return 12;
    case PGY_I2:
    case PGY_U2: return 13;
    case PGY_F6E2M3:
    case PGY_F6E3M2: return 14;
    default: return OLDEST_IR;
    }
}

/* ---- Imports --------------------------------------------------------------------------------- */

typedef struct domains {
    const pgy_gs_graph *root;
    strmap missing;
} domains;

static pgy_status note_domains(pgy_gs_graph *g, void *user, pgy_error *err)
{
    domains *d = user;
    const char *last = NULL;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < g->node_count && !st; i++) {
        const pgy_gs_node *n = g->nodes[i];
        const char *domain = gs_is_default_domain(n->domain) ? "" : n->domain;
        const bool known = last && strcmp(last, domain) == 0;
        if (!known && !gs_find_import(d->root, domain) && !strmap_put(&d->missing, domain, d))
            st = gs_no_memory(err);
        last = domain;
        if (!st) st = gs_each_subgraph(n, note_domains, user, err);
    }
    return st;
}

static pgy_onnx_opset *make_import(exporter *x, const char *domain, int64_t version)
{
    pgy_onnx_opset *o = export_alloc(x, 1, sizeof(*o));
    if (!o) return NULL;
    o->domain = domain;
    o->version = version;
    o->message.present = 1u << 1 | 1u << 2;
    return o;
}

/* Reuses the imported message if it has the same domain and version. */
static pgy_onnx_opset *export_import(exporter *x, const pgy_gs_opset *from,
                                     pgy_onnx_opset *const *stored, size_t stored_count)
{
    for (size_t i = 0; i < stored_count; i++)
        if (stored[i]->version == from->version && strcmp(stored[i]->domain, from->domain) == 0)
            return stored[i];
    return make_import(x, from->domain, from->version);
}

pgy_status export_imports(pgy_onnx_opset *const **out, size_t *count, exporter *x, pgy_gs_graph *g,
                          pgy_onnx_opset *const *stored, size_t stored_count)
{
    domains d = {.root = g};
    pgy_onnx_opset **list = NULL;
    size_t n = 0;
    pgy_status st = note_domains(g, &d, x->err);
    if (st) goto done;
    list = export_alloc(x, g->import_count + d.missing.count, sizeof(*list));
    for (size_t i = 0; list && i < g->import_count; i++)
        if (!(list[n++] = export_import(x, &g->imports[i], stored, stored_count))) list = NULL;
    for (size_t i = 0; list && i < d.missing.count; i++) {
        const char *key = d.missing.entries[i].key;
        const char *domain = *key ? pgy_model_strdup(x->model, key) : "";
        if (!domain || !(list[n++] = make_import(x, domain, *key ? 1 : g->opset))) list = NULL;
    }
    if (!list) st = export_no_memory(x);
    if (st) goto done;
    *out = list;
    *count = n;
done:
    strmap_deinit(&d.missing);
    return st;
}
