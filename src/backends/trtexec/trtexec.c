/* SPDX-License-Identifier: Apache-2.0 */
/* The runner that calls the program trtexec, NVIDIA's or this project's, for each inference: inputs
 * go into raw files, and the outputs come back as the program's JSON. All files are in a private
 * temporary folder. The model is built by each call; from the second inference on the plan is kept
 * and loaded, as long as it fits the shapes. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "backends/trtexec/answer.h"
#include "backends/trtexec/line.h"
#include "backends/trtexec/model.h"
#include "backends/trtexec/options.h"
#include "backends/trtexec/outputs.h"
#include "base/alloc.h"
#include "base/cancel.h"
#include "base/child_start.h"
#include "base/file.h"
#include "base/log.h"

#include <polygraphy/backend.h>

extern const pgy_backend BACKEND_trtexec;

static const char LOG_PATH[] = "backends/trtexec/trtexec.c";

enum { KEPT_OUTPUT_BYTES = 8 << 20 };

typedef struct trtexec {
    const pgy_backend_model *source;
    trtexec_options options; /* its pointers outlive the runner */
    double timeout_s;
    /* The members below are valid while the runner is active. */
    char *program, *folder, *output;
    trtexec_model model;
    bool fits_all; /* one plan serves all shapes that are allowed */
    size_t runs;
    char *logged;             /* the last command */
    char *plan, *plan_shapes; /* the plan that was built, and the shapes it was built for */
} trtexec;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* ---- The program ---------------------------------------------------------------------------- */

/* The program beside the one that runs; NULL if there is none. */
static char *find_neighbour(void)
{
    char self[4096];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0) return NULL;
    self[n] = '\0';
    char *folder = path_dirname(self);
    char *path = folder ? path_join(folder, "trtexec") : NULL;
    mem_free(folder);
    if (path && access(path, X_OK) == 0) return path;
    mem_free(path);
    return NULL;
}

static pgy_status find_program(char **out, const char *path, pgy_error *err)
{
    const char *name = path ? path : "trtexec";
    const int failure = child_find_program(out, name);
    if (!failure && file_is_dir(*out))
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "trtexec.trtexec_path: '%s' is a folder; give the program in it",
                             name);
    if (!failure && access(*out, X_OK) == 0) return PGY_OK;
    mem_free(*out);
    *out = path ? NULL : find_neighbour();
    if (*out) return PGY_OK;
    return pgy_error_set(err, PGY_E_NOT_FOUND,
                         "trtexec.trtexec_path: trtexec not found in given path: %s; give the path "
                         "of the program, or a name that is in PATH",
                         name);
}

static pgy_status probe(char *why, size_t why_size)
{
    char *program = NULL;
    const pgy_status st = find_program(&program, NULL, NULL);
    if (why_size)
        snprintf(why, why_size, "%s",
                 st ? "there is no program 'trtexec' in PATH, nor beside this one" : "");
    mem_free(program);
    return st;
}

/* ---- Life ----------------------------------------------------------------------------------- */

static pgy_status create(void **out, const pgy_backend_model *model, const void *options,
                         pgy_error *err)
{
    if (!model)
        return pgy_error_set(err, PGY_E_ARGUMENT, "trtexec needs a model, and none was given");
    trtexec *r = mem_calloc(1, sizeof *r);
    if (!r) return no_memory(err);
    r->source = model;
    trtexec_options_defaults(&r->options);
    if (options) r->options = *(const trtexec_options *)options;
    const pgy_status st = trtexec_options_check(&r->timeout_s, &r->options, err);
    if (st)
        mem_free(r);
    else
        *out = r;
    return st;
}

static void deactivate(void *runner)
{
    trtexec *r = runner;
    char **const texts[] = {&r->program, &r->output, &r->logged, &r->plan, &r->plan_shapes};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        mem_free(*texts[i]);
        *texts[i] = NULL;
    }
    file_temp_release(r->folder);
    r->folder = NULL;
    trtexec_model_close(&r->model);
    r->runs = 0;
}

static void destroy(void *runner)
{
    if (runner) deactivate(runner);
    mem_free(runner);
}

/* The lists of trtexec have no way to quote a path. */
static pgy_status make_folder(trtexec *r, pgy_error *err)
{
    pgy_status st = file_temp_folder(&r->folder, err);
    if (!st && strpbrk(r->folder, ",:'"))
        st = pgy_error_set(err, PGY_E_UNSUPPORTED,
                           "the folder of temporary files, '%s', has a comma, a colon or a single "
                           "quote, which trtexec's options cannot express; set TMPDIR to another",
                           r->folder);
    if (!st && !(r->output = path_join(r->folder, "output.json"))) st = no_memory(err);
    return st;
}

/* Does one plan serve all feeds: are no dimensions dynamic, or does a profile limit them? */
static bool plan_fits_all(const trtexec *r)
{
    const pgy_build_config *c = r->options.config;
    bool dynamic = false;
    for (size_t i = 0; i < pgy_metadata_count(r->model.inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(r->model.inputs, i);
        for (int32_t d = 0; d < info->rank; d++) dynamic |= info->shape[d] < 0;
        dynamic |= info->rank < 0;
    }
    return !dynamic || (c && c->profile_count);
}

static pgy_status activate(void *runner, pgy_error *err)
{
    trtexec *r = runner;
    pgy_status st = find_program(&r->program, r->options.path, err);
    if (!st) st = make_folder(r, err);
    if (!st) st = trtexec_model_open(&r->model, r->source, r->folder, err);
    if (!st && !r->model.is_plan) st = line_warn(r->options.config, err);
    if (!st && !r->model.is_plan) r->fits_all = plan_fits_all(r);
    if (st) deactivate(r);
    return st;
}

static pgy_status add_all(pgy_metadata *out, const pgy_metadata *from, pgy_error *err)
{
    pgy_status st = from ? PGY_OK : PGY_E_UNSUPPORTED;
    for (size_t i = 0; !st && i < pgy_metadata_count(from); i++)
        st = pgy_metadata_set(out, pgy_metadata_at(from, i), err);
    return st;
}

static pgy_status inputs(void *runner, pgy_metadata *out, pgy_error *err)
{
    return add_all(out, ((const trtexec *)runner)->model.inputs, err);
}

static pgy_status outputs(void *runner, pgy_metadata *out, pgy_error *err)
{
    return add_all(out, ((const trtexec *)runner)->model.outputs, err);
}

/* ---- Inputs --------------------------------------------------------------------------------- */

/* Writes "<number>.bin" and appends "name:path" to the list. */
static pgy_status write_input(str *list, const trtexec *r, size_t i, const char *name,
                              const pgy_tensor *t, pgy_error *err)
{
    str path = {0};
    str_printf(&path, "%s/%zu.bin", r->folder, i);
    pgy_status st = path.failed ? no_memory(err) : line_name(list, name, err);
    if (!st) st = pgy_raw_save(str_text(&path), pgy_tensor_view(t), err);
    if (!st) str_append(list, str_text(&path));
    str_deinit(&path);
    return st;
}

static pgy_status write_inputs(str *list, const trtexec *r, const pgy_tensor_map *feed,
                               pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(feed); i++)
        st = write_input(list, r, i, pgy_tensor_map_name(feed, i), pgy_tensor_map_at(feed, i), err);
    return !st && list->failed ? no_memory(err) : st;
}

/* ---- The call ------------------------------------------------------------------------------- */

/* A command that is called again is not news. */
static void log_command(trtexec *r, const strvec *words)
{
    str text = {0};
    for (size_t i = 0; i < words->count; i++) {
        if (i) str_append_char(&text, ' ');
        str_append_word(&text, words->items[i]);
    }
    const bool known = r->logged && !strcmp(r->logged, str_text(&text));
    pgy_log_write(known ? PGY_LOG_VERBOSE : PGY_LOG_INFO, LOG_PATH, __LINE__,
                  "The trtexec command being run: %s", str_text(&text));
    mem_free(r->logged);
    r->logged = str_take(&text);
}

static void log_output(const trtexec *r, const command_result *c)
{
    const pgy_severity severity =
        trtexec_options_dump(&r->options) ? PGY_LOG_INFO : PGY_LOG_VERBOSE;
    if (c->out.size) pgy_log_write(severity, LOG_PATH, __LINE__, "%s", str_text(&c->out));
    if (c->err.size) LOG(VERBOSE, "%s", str_text(&c->err));
}

/* Only NVIDIA's program runs on GPUs. */
static void warn_of_host(const trtexec *r, const command_result *c)
{
    const pgy_build_config *config = r->options.config;
    if (config && config->devices.count && answer_is_host(c))
        LOG(WARNING, "config.devices: this trtexec ran on the host, not on %s",
            config->devices.items[0]);
}

static pgy_status call(int64_t *time_ns, trtexec *r, const strvec *words, pgy_error *err)
{
    const command_options o = {
        .timeout_s = r->timeout_s, .apart = true, .keep_bytes = KEPT_OUTPUT_BYTES};
    command_result result = {0};
    double median_ms = 0;
    log_command(r, words);
    pgy_status st =
        command_run_with(&result, (const char *const *)words->items, words->count, &o, err);
    if (st) return status_ends_all(st) ? st : pgy_error_prefix(err, st, "trtexec: ");
    log_output(r, &result);
    st = answer_check(&result, err);
    if (!st) st = answer_latency(&median_ms, &result, err);
    if (!st) warn_of_host(r, &result);
    if (!st) *time_ns = (int64_t)(median_ms * 1e6);
    command_result_deinit(&result);
    return st;
}

/* ---- Outputs -------------------------------------------------------------------------------- */

/* Keeps the program's file for the user. It appears whole or not at all. */
static pgy_status keep_output(const trtexec *r, pgy_error *err)
{
    str text = {0};
    if (!r->options.export_output) return PGY_OK;
    pgy_status st = file_read(&text, r->output, err);
    if (!st) st = file_write_all(r->options.export_output, str_text(&text), text.size, err);
    str_deinit(&text);
    return st;
}

static pgy_status read_outputs(pgy_tensor_map *out, const trtexec *r, pgy_error *err)
{
    if (!file_exists(r->output))
        return pgy_error_set(err, PGY_E_BACKEND,
                             "trtexec ended well, but wrote no file of outputs (--exportOutput)");
    const pgy_status st = trtexec_read_outputs(out, r->output, r->model.outputs, err);
    return st ? st : keep_output(r, err);
}

/* ---- Inference ------------------------------------------------------------------------------ */

/* The path for the plan that the next call builds; NULL: none is kept. A single inference, the
 * usual case, needs no plan, so the first call does not write one. A plan without weights cannot
 * run. */
static pgy_status choose_plan(char **out, const trtexec *r, pgy_error *err)
{
    const pgy_build_config *c = r->options.config;
    const char *wanted = trtexec_extra(&r->options, "saveEngine");
    *out = NULL;
    if (r->model.is_plan || (c && c->strip_plan) || (!wanted && !r->runs)) return PGY_OK;
    *out = wanted ? mem_strdup(wanted) : path_join(r->folder, "model.plan");
    return *out ? PGY_OK : no_memory(err);
}

static bool can_load(const trtexec *r, const char *shapes)
{
    return r->plan && (r->fits_all || !strcmp(shapes, r->plan_shapes));
}

/* Remembers the plan that a call has built. */
static pgy_status remember(trtexec *r, char **plan, const char *shapes, pgy_error *err)
{
    char *copy = mem_strdup(shapes);
    if (!copy) return no_memory(err);
    mem_free(r->plan);
    mem_free(r->plan_shapes);
    r->plan = *plan;
    r->plan_shapes = copy;
    *plan = NULL;
    return PGY_OK;
}

static pgy_status run_once(int64_t *time_ns, trtexec *r, const pgy_tensor_map *feed,
                           const char *load_inputs, pgy_error *err)
{
    strvec words = {0};
    str shapes = {0};
    char *plan = NULL;
    pgy_status st = line_shapes(&shapes, r->model.inputs, feed, err);
    const bool loads = !st && can_load(r, str_text(&shapes));
    if (!st && !loads) st = choose_plan(&plan, r, err);
    const trtexec_line line = {.program = r->program,
                               .model = loads ? r->plan : r->model.path,
                               .is_plan = loads || r->model.is_plan,
                               .options = &r->options,
                               .inputs = r->model.inputs,
                               .feed = feed,
                               .load_inputs = load_inputs,
                               .output = r->output,
                               .save = plan};
    if (!st) st = line_make(&words, &line, err);
    if (!st) unlink(r->output);
    if (!st) st = call(time_ns, r, &words, err);
    if (!st && plan) st = remember(r, &plan, str_text(&shapes), err);
    mem_free(plan);
    str_deinit(&shapes);
    strvec_deinit(&words);
    return st;
}

static pgy_status infer(void *runner, const pgy_tensor_map *feed, pgy_tensor_map *out,
                        int64_t *time_ns, pgy_error *err)
{
    trtexec *r = runner;
    str list = {0};
    pgy_status st = write_inputs(&list, r, feed, err);
    if (!st) st = run_once(time_ns, r, feed, str_text(&list), err);
    if (!st) st = read_outputs(out, r, err);
    r->runs++;
    str_deinit(&list);
    return st;
}

const pgy_backend BACKEND_trtexec = {
    .size = sizeof(pgy_backend),
    .abi = PGY_BACKEND_ABI,
    .name = "trtexec",
    .runner_prefix = "trtexec-runner",
    .title = "trtexec",
    .description = "run inference with the program trtexec, NVIDIA's or this project's",
    .options = TRTEXEC_OPTIONS,
    .options_size = sizeof(trtexec_options),
    .defaults = trtexec_options_defaults,
    .probe = probe,
    .create = create,
    .activate = activate,
    .inputs = inputs,
    .outputs = outputs,
    .infer = infer,
    .deactivate = deactivate,
    .destroy = destroy,
    .traits = PGY_BACKEND_RUNS_PLANS | PGY_BACKEND_TAKES_CONFIG,
};
