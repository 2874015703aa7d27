/* SPDX-License-Identifier: Apache-2.0 */
/* Pages: their life, and what they are made from. */
#include "viewer/page.h"

#include "base/alloc.h"
#include "base/sized.h"
#include "viewer/page_files.h"
#include "viewer/page_folder.h"
#include "viewer/page_graph.h"

static const double LAYOUT_SECONDS = 5;

static pgy_status out_of_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while a page is made");
}

/* ---- Life ----------------------------------------------------------------------------------- */

static bool copy_text(arena *a, const char **text)
{
    if (*text) *text = arena_strdup(a, *text);
    return *text != NULL;
}

pgy_status pgy_page_create(pgy_page **out, const pgy_page_options *options, pgy_error *err)
{
    pgy_page_options o = {.size = sizeof o};
    pgy_status st = SIZED_TAKE(pgy_page_options, &o, options, err);
    if (st) return st;
    if (!(o.layout_seconds >= 0))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "pgy_page_options.layout_seconds is %g; expected 0 or more",
                             o.layout_seconds);
    if (o.layout_seconds == 0) o.layout_seconds = LAYOUT_SECONDS;
    pgy_page *p = mem_calloc(1, sizeof *p);
    if (!p) return out_of_memory(err);
    p->options = o;
    if ((o.title && !copy_text(&p->memory, &p->options.title)) ||
        (o.command && !copy_text(&p->memory, &p->options.command))) {
        pgy_page_destroy(p);
        return out_of_memory(err);
    }
    *out = p;
    return PGY_OK;
}

void pgy_page_destroy(pgy_page *p)
{
    if (!p) return;
    for (uint32_t i = 0; i < p->graph_count; i++) view_graph_destroy(p->graphs[i]);
    for (size_t i = 0; i < p->plan_count; i++) pgy_plan_close(p->plans[i]);
    view_results_deinit(&p->results); /* before the others, whose arenas hold tables of it */
    for (uint32_t i = 0; i < VIEW_GRAPH_LIMIT; i++) {
        if (p->own[i]) view_results_deinit(p->own[i]);
        mem_free(p->own[i]);
    }
    strvec_deinit(&p->warnings);
    mem_free(p->files);
    mem_free(p->blocks);
    arena_deinit(&p->memory);
    mem_free(p);
}

size_t pgy_page_warning_count(const pgy_page *p)
{
    return p->warnings.count;
}

const char *pgy_page_warning(const pgy_page *p, size_t i)
{
    return i < p->warnings.count ? p->warnings.items[i] : "";
}

/* ---- Adding --------------------------------------------------------------------------------- */

pgy_status pgy_page_add(pgy_page *p, const char *path, pgy_error *err)
{
    if (!p || !path)
        return pgy_error_set(err, PGY_E_ARGUMENT, "pgy_page_add: 'p' and 'path' must not be NULL");
    pgy_status st = page_check_open(p, err);
    return st ? st : page_path_add(p, path, NULL, VIEW_OF_A, err);
}

pgy_status pgy_page_add_as(pgy_page *p, const char *path, const char *name, pgy_error *err)
{
    if (!p || !path || !name)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "pgy_page_add_as: 'p', 'path' and 'name' must not be NULL");
    pgy_status st = page_check_open(p, err);
    return st ? st : page_path_add(p, path, name, VIEW_OF_A, err);
}

pgy_status pgy_page_add_results(pgy_page *p, const char *path, pgy_page_owner owner, size_t profile,
                                pgy_error *err)
{
    if (!p || !path)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "pgy_page_add_results: 'p' and 'path' must not be NULL");
    if (owner < PGY_PAGE_A || owner > PGY_PAGE_PROFILE)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "pgy_page_add_results: 'owner' is %d; expected 0 to 2", (int)owner);
    pgy_status st = page_check_open(p, err);
    const size_t of = owner == PGY_PAGE_A   ? VIEW_OF_A
                      : owner == PGY_PAGE_B ? VIEW_OF_B
                                            : VIEW_OF_PROFILE + (profile & INT32_MAX);
    return st ? st : page_path_add(p, path, NULL, of, err);
}

pgy_status pgy_page_add_model(pgy_page *p, pgy_model *model, const char *name, pgy_error *err)
{
    if (!p || !model || !name)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "pgy_page_add_model: 'p', 'model' and 'name' must not be NULL");
    pgy_status st = page_check_open(p, err);
    if (!st) st = page_add_model(p, model, name, err);
    return st ? st : page_files_read(p, err);
}

pgy_status pgy_page_add_plan(pgy_page *p, const pgy_plan *plan, const char *name, pgy_error *err)
{
    if (!p || !plan || !name)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "pgy_page_add_plan: 'p', 'plan' and 'name' must not be NULL");
    pgy_status st = page_check_open(p, err);
    if (!st) st = page_add_plan(p, plan, name, err);
    return st ? st : page_files_read(p, err);
}
