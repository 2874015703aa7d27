/* SPDX-License-Identifier: Apache-2.0 */
/* The page of `run --report page.html`. */
#include "cli/run_page.h"

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"

static const char LOG_PATH[] = "cli/run_page.c";

static bool is_page(const char *path)
{
    const char *extension = path_extension(path);
    return str_equal_nocase(extension, ".html") || str_equal_nocase(extension, ".htm");
}

bool run_page_asked(const char *const *reports, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (is_page(reports[i])) return true;
    return false;
}

static pgy_status out_of_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static pgy_status make_files(run_page *r, const pgy_run_options *o, pgy_error *err)
{
    pgy_status st = file_temp_folder(&r->folder, err);
    if (st) return st;
    r->keeps_outputs = o->save_outputs != NULL;
    r->verdicts = path_join(r->folder, "report.json");
    r->outputs =
        r->keeps_outputs ? mem_strdup(o->save_outputs) : path_join(r->folder, "outputs.json");
    return r->verdicts && r->outputs ? PGY_OK : out_of_memory(err);
}

/* Copies the list without the page. */
static pgy_status take_page(run_page *r, const char **rest, size_t *count, const pgy_run_options *o,
                            pgy_error *err)
{
    *count = 0;
    for (size_t i = 0; i < o->report_count; i++) {
        if (!is_page(o->reports[i]))
            rest[(*count)++] = o->reports[i];
        else if (!r->path)
            r->path = o->reports[i];
        else
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "argument --report: '%s' and '%s' are both pages; give one",
                                 r->path, o->reports[i]);
    }
    return PGY_OK;
}

pgy_status run_page_begin(run_page *r, pgy_run_options *o, args *line, pgy_error *err)
{
    size_t count = 0;
    *r = (run_page){0};
    if (!run_page_asked(o->reports, o->report_count)) return PGY_OK;
    if (!o->model_path)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument --report: a page shows a model, but the run has none");
    const char **rest = arena_alloc_array(&line->memory, o->report_count + 1, sizeof *rest);
    pgy_status st = rest ? take_page(r, rest, &count, o, err) : out_of_memory(err);
    if (!st) st = make_files(r, o, err);
    if (st) return st;
    rest[count++] = r->verdicts;
    o->reports = rest;
    o->report_count = count;
    o->save_outputs = r->outputs;
    return PGY_OK;
}

static pgy_status add_results(pgy_page *page, const run_page *r, pgy_error *err)
{
    pgy_status st = pgy_page_add_as(page, r->verdicts, "verdicts of this run", err);
    if (st || !file_exists(r->outputs)) return st;
    return r->keeps_outputs ? pgy_page_add(page, r->outputs, err)
                            : pgy_page_add_as(page, r->outputs, "outputs of this run", err);
}

pgy_status run_page_write(const run_page *r, pgy_model *edited, const char *path, args *line,
                          pgy_error *err)
{
    const pgy_page_options options = {.size = sizeof options, .command = page_command(line)};
    pgy_page *page = NULL;
    pgy_status st = pgy_page_create(&page, &options, err);
    if (!st)
        st = edited ? pgy_page_add_model(page, edited, path_basename(path), err)
                    : pgy_page_add(page, path, err);
    if (!st) st = add_results(page, r, err);
    if (!st) st = pgy_page_save(page, r->path, err);
    if (!st) page_warn(page);
    if (!st) LOG(INFO, "Page saved to %s", r->path);
    pgy_page_destroy(page);
    return st;
}

void run_page_end(run_page *r)
{
    mem_free(r->verdicts);
    mem_free(r->outputs);
    file_temp_release(r->folder);
    *r = (run_page){0};
}
