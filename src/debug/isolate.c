/* SPDX-License-Identifier: Apache-2.0 */
/* The model and its inputs go into temporary files, and the results come back in one. The process
 * is started anew, not forked: a fork of a process with threads may deadlock in a runtime. */
#include "debug/isolate.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/command.h"
#include "base/file.h"

typedef struct files {
    char *model, *inputs, *outputs;
} files;

static void files_deinit(files *f)
{
    file_temp_release(f->model);
    file_temp_release(f->inputs);
    file_temp_release(f->outputs);
}

static pgy_status write_files(files *f, pgy_model *model, const judge_samples *samples,
                              pgy_error *err)
{
    pgy_model_save_options o = pgy_model_save_options_default();
    o.embed = true;
    pgy_status st = file_temp_path(&f->model, ".onnx", err);
    if (!st) st = file_temp_path(&f->inputs, ".json", err);
    if (!st) st = file_temp_path(&f->outputs, ".json", err);
    if (!st) st = pgy_model_save(model, f->model, &o, err);
    return st ? st : pgy_feeds_save(f->inputs, samples->feeds, samples->count, err);
}

static void set_finding(pgy_debug_finding *f, const command_result *r)
{
    const char *text = str_text(&r->err)[0] ? str_text(&r->err) : str_text(&r->out);
    size_t size = strlen(text);
    while (size && text[size - 1] == '\n') size--;
    size_t begin = size; /* the last line says why */
    while (begin && text[begin - 1] != '\n') begin--;
    f->outcome = r->code < 0 ? PGY_DEBUG_CRASH : PGY_DEBUG_RUN_FAIL;
    if (r->code < 0)
        snprintf(f->text, sizeof f->text, "the runner's process was ended by signal %d (%s)",
                 -r->code, strsignal(-r->code));
    else
        snprintf(f->text, sizeof f->text, "the runner's process exited with code %d: %.*s", r->code,
                 (int)(size - begin), text + begin);
}

static pgy_status run_command(command_result *r, const pgy_debug_judge_options *o,
                              const char *runner, const files *f, pgy_error *err)
{
    char flag[128];
    snprintf(flag, sizeof flag, "--%s", runner);
    const char *const own[] = {f->model,         flag,      "--load-inputs", f->inputs,
                               "--save-outputs", f->outputs};
    enum { OWN = sizeof own / sizeof *own };
    const size_t count = o->isolate_count + OWN + o->isolate_option_count;
    const char **words = mem_calloc(count + 1, sizeof *words);
    size_t n = 0;
    if (!words) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a command");
    for (size_t i = 0; i < o->isolate_count; i++) words[n++] = o->isolate[i];
    for (size_t i = 0; i < OWN; i++) words[n++] = own[i];
    for (size_t i = 0; i < o->isolate_option_count; i++) words[n++] = o->isolate_options[i];
    const pgy_status st = command_run(r, words, n, o->timeout_s, err);
    mem_free(words);
    return st;
}

pgy_status isolated_run(pgy_results **out, pgy_debug_finding *f, const pgy_debug_judge_options *o,
                        const char *runner, pgy_model *model, const judge_samples *samples,
                        pgy_error *err)
{
    command_result r = {0};
    files paths = {0};
    pgy_error why = {0};
    pgy_status st = write_files(&paths, model, samples, err);
    if (st) goto done;
    st = run_command(&r, o, runner, &paths, &why);
    if (st == PGY_E_BACKEND) { /* it did not end in time */
        f->outcome = PGY_DEBUG_RUN_FAIL;
        snprintf(f->text, sizeof f->text, "%.*s", (int)sizeof f->text - 1, why.text);
        st = PGY_OK;
    } else if (st) {
        pgy_error_set(err, st, "judge.isolate: %s", why.text);
    } else if (r.code) {
        set_finding(f, &r);
    } else {
        st = pgy_results_load(out, paths.outputs, err);
    }
done:
    command_result_deinit(&r);
    files_deinit(&paths);
    return st;
}
