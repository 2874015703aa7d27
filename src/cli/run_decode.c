/* SPDX-License-Identifier: Apache-2.0 */
/* `run --decode`: turns the line's options into those of pgy_decode, and shows its report. */
#include "cli/run_decode.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/groups/compare.h"
#include "cli/groups/data.h"
#include "cli/groups/decode.h"
#include "cli/groups/model.h"
#include "cli/page.h"
#include "cli/run_page.h"

static const char LOG_PATH[] = "cli/run_decode.c";

/* What the options of pgy_decode point to. */
typedef struct decode_parts {
    pgy_decode_options options;
    pgy_random_options random;
    pgy_floor_options floor;
    pgy_data_loader *data;
    pgy_tensor *ids;
    pgy_model *model;
} decode_parts;

static bool is_json(const char *path)
{
    return str_equal_nocase(path_extension(path), ".json");
}

pgy_status run_decode_check(args *line, pgy_error *err)
{
    const pgy_text_list *reports = &ARGS_OF(line, compare_args)->reports;
    size_t pages = 0;
    for (size_t i = 0; i < reports->count; i++) {
        const bool page = run_page_asked(&reports->items[i], 1);
        pages += page;
        if (!page && !is_json(reports->items[i]))
            return pgy_error_set(
                err, PGY_E_ARGUMENT,
                "argument --report: '%s' has no format of decoding; expected .json "
                "or .html",
                reports->items[i]);
    }
    if (pages > 1) return pgy_error_set(err, PGY_E_ARGUMENT, "argument --report: give one page");
    return PGY_OK;
}

/* The type that an engine of 16 bits computes in, although its model declares float32. */
static pgy_dtype narrow_type(const pgy_build_config *c)
{
    if (!c) return PGY_DTYPE_NONE;
    return c->bf16 ? PGY_BF16 : c->fp16 ? PGY_F16 : PGY_DTYPE_NONE;
}

/* The noise floor reads the model that the runners run. */
static pgy_status load_model(decode_parts *p, const args *line, pgy_model *edited,
                             const pgy_build_config *config, pgy_error *err)
{
    const model_args *given = ARGS_OF(line, model_args);
    if (!p->options.judge || strcmp(p->options.judge, "floor")) return PGY_OK;
    if (model_is_engine(given))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "argument --decode-judge: 'floor' needs an ONNX model, but '%s' is a "
                             "plan",
                             given->path);
    p->floor = (pgy_floor_options){.size = sizeof p->floor, .assume = narrow_type(config)};
    p->options.floor = &p->floor;
    if (edited)
        p->model = pgy_model_retain(edited);
    else
        return pgy_model_load(&p->model, given->path, NULL, err);
    return PGY_OK;
}

static pgy_status make_parts(decode_parts *p, args *line, pgy_model *edited,
                             const pgy_build_config *config, pgy_error *err)
{
    const decode_args *s = ARGS_OF(line, decode_args);
    const pgy_metadata *shapes = ARGS_OF(line, model_args)->shapes;
    pgy_status st = decode_options(&p->options, line, err);
    p->random = data_random_options(line);
    p->random.inputs = shapes;
    p->options.random = &p->random;
    if (!st && s->prompt_path) st = pgy_decode_ids_load(&p->ids, s->prompt_path, err);
    if (!st && data_is_given(line)) st = data_loader_create(&p->data, line, shapes, err);
    if (!st) st = load_model(p, line, edited, config, err);
    p->options.ids = p->ids;
    p->options.data = p->data;
    p->options.model = p->model;
    return st;
}

static void release_parts(decode_parts *p)
{
    pgy_data_loader_destroy(p->data);
    pgy_tensor_release(p->ids);
    pgy_model_destroy(p->model);
}

/* ---- Reports ----------------------------------------------------------------------------------
 */

static pgy_status make_page(const pgy_decode_report *r, const char *path, pgy_model *edited,
                            args *line, const char *json, pgy_error *err)
{
    const char *model = ARGS_OF(line, model_args)->path;
    const pgy_page_options options = {.size = sizeof options, .command = page_command(line)};
    pgy_page *page = NULL;
    pgy_status st = pgy_decode_report_save(r, json, model, err);
    if (!st) st = pgy_page_create(&page, &options, err);
    if (!st)
        st = edited ? pgy_page_add_model(page, edited, path_basename(model), err)
                    : pgy_page_add(page, model, err);
    if (!st) st = pgy_page_add_as(page, json, "steps of this run", err);
    if (!st) st = pgy_page_save(page, path, err);
    if (!st) page_warn(page);
    if (!st) LOG(INFO, "Page saved to %s", path);
    pgy_page_destroy(page);
    return st;
}

static pgy_status write_page(const pgy_decode_report *r, const char *path, pgy_model *edited,
                             args *line, pgy_error *err)
{
    char *folder = NULL;
    pgy_status st = file_temp_folder(&folder, err);
    char *json = st ? NULL : path_join(folder, "decode.json");
    if (!st && !json) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) st = make_page(r, path, edited, line, json, err);
    mem_free(json);
    file_temp_release(folder);
    return st;
}

static pgy_status write_reports(const pgy_decode_report *r, pgy_model *edited, args *line,
                                pgy_error *err)
{
    const pgy_text_list *reports = &ARGS_OF(line, compare_args)->reports;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < reports->count; i++) {
        const char *path = reports->items[i];
        if (is_json(path)) {
            LOG(INFO, "Saving report to %s", path);
            st = pgy_decode_report_save(r, path, ARGS_OF(line, model_args)->path, err);
        } else {
            st = write_page(r, path, edited, line, err);
        }
    }
    return st;
}

pgy_status run_decode(args *line, pgy_runner *const *runners, size_t count, pgy_model *edited,
                      const pgy_build_config *config, bool *passed, pgy_error *err)
{
    decode_parts parts = {0};
    pgy_decode_report *report = NULL;
    char *text = NULL;
    pgy_status st = make_parts(&parts, line, edited, config, err);
    if (!st) st = pgy_decode(&report, runners, count, &parts.options, err);
    const bool all = ARGS_OF(line, decode_args)->all_steps;
    if (!st) st = pgy_decode_report_text(&text, report, all, err);
    if (!st) LOG(INFO, "%s", text);
    if (!st) st = write_reports(report, edited, line, err);
    if (!st) *passed = pgy_decode_report_passed(report);
    if (!st && !*passed) LOG(ERROR, "Decoding failed: %s", pgy_decode_report_reason(report));
    pgy_text_free(text);
    pgy_decode_report_destroy(report);
    release_parts(&parts);
    return st;
}
