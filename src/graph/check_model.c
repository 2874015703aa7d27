/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the model's own fields: versions and whether they fit each other, imports, metadata, and
 * whether inputs and outputs are declared completely. */
#include <string.h>

#include "graph/check.h"
#include "ops/signature.h"

enum { NEWEST_IR = 14 };

/* For each IR version, the first opset that requires it. */
static const struct {
    int opset, ir;
} NEEDS[] = {{28, 14}, {25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9},
             {15, 8},  {12, 7},  {11, 6},  {10, 5},  {9, 4},   {1, 3}};

static int needed_ir(int64_t opset)
{
    for (size_t i = 0; i < sizeof NEEDS / sizeof *NEEDS; i++)
        if (opset >= NEEDS[i].opset) return NEEDS[i].ir;
    return 1;
}

static void check_versions(checker *c, const pgy_onnx_model *m)
{
    finding_list *list = &c->list;
    const long long ir = m->ir_version, opset = pgy_graph_opset(c->top, "");
    if (ir <= 0)
        finding_add(list, c->state, CHECK_IR_VERSION_MISSING, NULL, "The model has no IR version");
    if (ir > NEWEST_IR)
        finding_add(list, c->state, CHECK_IR_VERSION_UNKNOWN, NULL,
                    "IR version %lld is newer than %d, the newest known version", ir, NEWEST_IR);
    if (m->opset_import_count == 0)
        finding_add(list, c->state, CHECK_OPSET_IMPORT_MISSING, NULL, "The model imports no opset");
    if (opset > op_newest_opset())
        finding_add(list, c->state, CHECK_OPSET_UNKNOWN, NULL,
                    "Opset %lld is newer than %d, the newest known opset", opset,
                    op_newest_opset());
    if (ir > 0 && opset > 0 && opset <= op_newest_opset() && ir < needed_ir(opset))
        finding_add(list, c->state, CHECK_IR_VERSION_OLD, NULL,
                    "Opset %lld needs IR version %d, but the model has %lld", opset,
                    needed_ir(opset), ir);
}

static pgy_status check_imports(checker *c, const pgy_onnx_model *m, pgy_error *err)
{
    strmap seen = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < m->opset_import_count; i++) {
        const char *domain = m->opset_imports[i]->domain;
        if (domain_is_default(domain)) domain = "";
        if (strmap_has(&seen, domain))
            finding_add(&c->list, c->state, CHECK_DUPLICATE_OPSET_IMPORT, NULL,
                        "Domain '%s' is imported twice", domain);
        ok = strmap_put(&seen, domain, c);
    }
    strmap_deinit(&seen);
    return ok ? PGY_OK : graph_no_memory(err);
}

static pgy_status check_metadata(checker *c, const pgy_onnx_model *m, pgy_error *err)
{
    strmap seen = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < m->metadata_prop_count; i++) {
        const char *key = m->metadata_props[i]->key;
        if (strmap_has(&seen, key))
            finding_add(&c->list, c->state, CHECK_DUPLICATE_METADATA, NULL,
                        "Two metadata properties have the key '%s'", key);
        ok = strmap_put(&seen, key, c);
    }
    strmap_deinit(&seen);
    return ok ? PGY_OK : graph_no_memory(err);
}

/* Says what the type declaration lacks; NULL: it is complete. */
static const char *lacks(const pgy_onnx_type *t, int depth)
{
    if (!t || depth > GRAPH_MAX_DEPTH) return "type";
    const pgy_onnx_tensor_type *tensor = t->tensor_type ? t->tensor_type : t->sparse_tensor_type;
    const pgy_onnx_elem_type *list = t->sequence_type ? t->sequence_type : t->optional_type;
    if (tensor) return !tensor->elem_type ? "element type" : !tensor->shape ? "shape" : NULL;
    if (list) {
        const char *inner = lacks(list->elem_type, depth + 1);
        return inner && strcmp(inner, "shape") != 0 ? inner : NULL;
    }
    return t->map_type || t->opaque_type ? NULL : "type";
}

static void check_declared(checker *c, pgy_onnx_value_info *const *infos, size_t count,
                           const char *what)
{
    for (size_t i = 0; i < count; i++) {
        const char *lack = lacks(infos[i]->type, 0);
        if (lack)
            finding_add_value(&c->list, CHECK_INCOMPLETE_DECLARATION, c->top, infos[i]->name,
                              "%s '%s' is declared without %s", what, infos[i]->name, lack);
    }
}

pgy_status check_model(checker *c, pgy_error *err)
{
    const pgy_onnx_model *m = c->top->model ? pgy_model_proto(c->top->model) : NULL;
    if (!m || !m->graph) return PGY_OK;
    check_versions(c, m);
    pgy_status st = check_imports(c, m, err);
    if (!st) st = check_metadata(c, m, err);
    check_declared(c, m->graph->inputs, m->graph->input_count, "Input");
    check_declared(c, m->graph->outputs, m->graph->output_count, "Output");
    return st;
}

pgy_status check_imports_used(checker *c, pgy_error *err)
{
    const pgy_onnx_model *m = c->top->model ? pgy_model_proto(c->top->model) : NULL;
    str key = {0};
    for (size_t i = 0; m && i < m->function_count && !key.failed; i++) {
        const pgy_onnx_function *f = m->functions[i];
        str_clear(&key);
        str_printf(&key, "%s:%s:%s", f->domain, f->name, f->overload);
        if (!strmap_has(&c->called, str_text(&key)))
            finding_add_value(&c->list, CHECK_UNUSED_FUNCTION, c->top, f->name,
                              "Function '%s' is never called, can be removed.", f->name);
    }
    for (size_t i = 0; m && i < m->opset_import_count; i++) {
        const char *domain = m->opset_imports[i]->domain;
        if (!domain_is_default(domain) && !strmap_has(&c->used_domains, domain))
            finding_add(&c->list, c->state, CHECK_UNUSED_OPSET_IMPORT, NULL,
                        "No node has an operator of the imported domain '%s'", domain);
    }
    const pgy_status st = key.failed ? graph_no_memory(err) : PGY_OK;
    str_deinit(&key);
    return st;
}
