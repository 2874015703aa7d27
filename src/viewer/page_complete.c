/* SPDX-License-Identifier: Apache-2.0 */
/* Completes a page when all of its files are known: containers, layouts, the summary and the list
 * of blocks. */
#include <stdio.h>

#include "base/cancel.h"
#include "base/machine.h"
#include "base/system.h"
#include "viewer/diff.h"
#include "viewer/layout/layout.h"
#include "viewer/page_blocks.h"
#include "viewer/page_files.h"
#include "viewer/page_profiles.h"
#include "viewer/results_join.h"
#include "viewer/results_size.h"

static pgy_status add_warning(pgy_page *p, const char *text, pgy_error *err)
{
    if (strvec_push(&p->warnings, text)) return PGY_OK;
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while a page is made");
}

static pgy_status lay_out(pgy_page *p, view_graph *g, pgy_error *err)
{
    const view_layout_options options = {.seconds = p->options.layout_seconds};
    view_layout_report report = {0};
    char text[256];
    pgy_status st = p->options.flat ? PGY_OK : view_graph_group(g, err);
    if (!st) st = view_layout_run(g, &options, &report, err);
    st = cancel_check_after(st, err);
    if (st || !report.simplified) return st;
    snprintf(text, sizeof text,
             "the layout of '%.100s' is simpler than usual: its time limit of %g s was reached",
             g->name, p->options.layout_seconds);
    return add_warning(p, text, err);
}

/* ---- The summary ---------------------------------------------------------------------------- */

static pgy_status add_row(pgy_page *p, const char *section, const char *name, const char *text,
                          pgy_error *err)
{
    return view_summary_add(&p->results, section, name, text, err);
}

static pgy_status summarise_graph(pgy_page *p, const view_graph *g, pgy_error *err)
{
    char section[256], count[32];
    uint32_t nodes = 0; /* without the cards of inputs and outputs */
    for (uint32_t i = 0; i < g->node_count; i++) nodes += g->nodes[i].kind == VIEW_NODE;
    snprintf(section, sizeof section, "Model %s", p->plan_name ? p->plan_name : g->name);
    snprintf(count, sizeof count, "%u", nodes);
    pgy_status st = add_row(p, section, "Nodes", count, err);
    for (uint32_t i = 0; i < g->property_count && !st; i++)
        st = add_row(p, section, g->properties[i][0], g->properties[i][1], err);
    return st;
}

static pgy_status summarise(pgy_page *p, uint32_t graph_count, pgy_error *err)
{
    char processor[64], threads[32];
    pgy_status st = PGY_OK;
    for (uint32_t i = 0; i < graph_count && !st; i++) st = summarise_graph(p, p->graphs[i], err);
    machine_processor(processor, sizeof processor);
    snprintf(threads, sizeof threads, "%zu", cpu_count());
    if (!st) st = add_row(p, "Made with", "Version", PGY_PACKAGE " " PGY_VERSION, err);
    if (!st) st = add_row(p, "Made with", "Processor", processor, err);
    if (!st) st = add_row(p, "Made with", "Threads", threads, err);
    if (!st && p->options.command) st = add_row(p, "Made with", "Command", p->options.command, err);
    return st;
}

/* ---- All of it ------------------------------------------------------------------------------ */

pgy_status page_complete(pgy_page *p, pgy_error *err)
{
    if (p->is_complete) return PGY_OK;
    pgy_status st = page_add_profiles(p, err);
    if (!st) st = page_files_read(p, err);
    if (!st && !p->graph_count)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "the page has no model: add a model, a plan, or a list of layers");
    if (!st) st = page_files_check(p, err);
    const uint32_t models = p->plan_name ? 1 : p->graph_count;
    if (!st && models == VIEW_COMPARED) st = view_diff_make(p, err);
    if (!st) st = view_results_join(p, err);
    if (!st && models == VIEW_COMPARED) st = view_diff_results(p, err);
    if (!st) st = view_results_size(p, err);
    for (uint32_t i = 0; i < p->graph_count && !st; i++) st = lay_out(p, p->graphs[i], err);
    if (!st) st = summarise(p, models, err);
    if (!st) st = page_blocks_make(p, err);
    p->is_complete = !st;
    return st;
}
