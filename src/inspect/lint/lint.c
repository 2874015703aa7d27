/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the three steps of a lint in order, and gives access to the findings. */
#include "base/alloc.h"
#include "base/printable.h"
#include "base/sized.h"
#include "inspect/lint/linter.h"

static void linter_deinit(linter *l)
{
    pgy_tensor_map_destroy(l->values);
    pgy_metadata_destroy(l->inputs);
    strmap_deinit(&l->first_of_node);
    pgy_graph_destroy(l->graph);
    pgy_model_destroy(l->model);
}

static pgy_status check_and_run(linter *l, pgy_error *err)
{
    pgy_status st = lint_take_shapes(l, err);
    if (!st) st = lint_check_names(l->report, l->stored, l->graph->node_count, err);
    if (!st) st = lint_check(l, err);
    if (st) return st;
    if (!l->options.static_only) {
        const bool is_graph = !lint_add_as_checker(l);
        st = lint_run(l, is_graph, err);
    } else {
        for (size_t i = 0; i < l->graph->node_count; i++)
            lint_pass(l->report, l->graph->nodes[i]->name);
    }
    if (st) return st;
    lint_add_errors(l);
    lint_add_warnings(l);
    return PGY_OK;
}

pgy_status pgy_lint_create(pgy_lint **out, const pgy_loader *model, const pgy_lint_options *options,
                           pgy_error *err)
{
    pgy_lint_options o = {.size = sizeof o};
    pgy_random_options random = pgy_random_options_default();
    pgy_status st = SIZED_TAKE(pgy_lint_options, &o, options, err);
    if (!st) st = SIZED_TAKE(pgy_random_options, &random, o.random, err);
    if (st) return st;
    o.random = &random;
    pgy_lint *lint = mem_calloc(1, sizeof *lint);
    if (!lint) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    linter l = {.report = &lint->report, .options = o};
    lint->report.found = l.options.found;
    lint->report.user = l.options.user;
    st = lint_load(&l, model, err);
    if (!st && l.graph) st = check_and_run(&l, err);
    if (!st && lint->report.failed) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    linter_deinit(&l);
    if (st) {
        pgy_lint_destroy(lint);
        return st;
    }
    *out = lint;
    return PGY_OK;
}

void pgy_lint_destroy(pgy_lint *l)
{
    if (!l) return;
    report_deinit(&l->report);
    mem_free(l);
}

bool pgy_lint_passed(const pgy_lint *l)
{
    for (size_t i = 0; i < l->report.count; i++)
        if (l->report.findings[i].level == PGY_LINT_EXCEPTION) return false;
    return true;
}

size_t pgy_lint_count(const pgy_lint *l)
{
    return l->report.count;
}

const pgy_lint_finding *pgy_lint_at(const pgy_lint *l, size_t i)
{
    return i < l->report.count ? &l->report.findings[i] : NULL;
}

bool pgy_lint_node_passed(const pgy_lint *l, const char *node)
{
    return strmap_has(&l->report.passing, node) && !strmap_has(&l->report.failing, node);
}

pgy_status pgy_lint_finding_text(char **out, const pgy_lint_finding *finding, pgy_error *err)
{
    str text = {0};
    if (finding->node[0] && finding->op_type[0])
        str_printf(&text, "Name: %s, Op: %s | ", printable_name(finding->node),
                   printable_name(finding->op_type));
    str_append(&text, finding->message);
    return str_give(out, &text, err);
}
