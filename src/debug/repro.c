/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a folder with all that someone else needs to see a failure. */
#include <polygraphy/debug_minimise.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sized.h"
#include "base/str.h"

static const char LOG_PATH[] = "debug/repro.c";

typedef struct repro {
    const char *folder;
    const pgy_debug_minimum *minimum;
    const pgy_debug_repro_options *options;
    bool expected; /* are there expected outputs? */
    pgy_debug_finding finding;
    bool gone;   /* the failure did not come again when the folder was written */
    str command; /* of repro.sh, without the program */
} repro;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for the result folder");
}

static pgy_status prepare_folder(const char *folder, pgy_error *err)
{
    strvec files = {0};
    if (file_exists(folder) && !file_is_dir(folder))
        return pgy_error_set(err, PGY_E_ARGUMENT, "repro.folder: '%s' is a file", folder);
    pgy_status st = file_make_dirs(folder, err);
    if (!st) st = file_list_dir(&files, folder, NULL, err);
    if (!st && files.count)
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "repro.folder: '%s' is not empty; choose another folder", folder);
    strvec_deinit(&files);
    return st;
}

static pgy_status write_text(const repro *r, const char *name, str *text, pgy_error *err)
{
    char *path = path_join(r->folder, name);
    if (!path || text->failed) {
        mem_free(path);
        return no_memory(err);
    }
    const pgy_status st = file_write_all(path, str_text(text), text->size, err);
    mem_free(path);
    return st;
}

static pgy_status write_model(const repro *r, pgy_error *err)
{
    pgy_model_save_options o = pgy_model_save_options_default();
    char *path = path_join(r->folder, "model.onnx");
    o.embed = true;
    if (!path) return no_memory(err);
    const pgy_status st = pgy_model_save(r->minimum->model, path, &o, err);
    mem_free(path);
    return st;
}

static pgy_status write_data(repro *r, pgy_error *err)
{
    const pgy_debug_minimum *m = r->minimum;
    const pgy_tensor_map *const *feeds = (const pgy_tensor_map *const *)m->feeds;
    char *inputs = path_join(r->folder, "inputs.json");
    char *outputs = path_join(r->folder, "expected.json");
    pgy_results *expected = NULL;
    pgy_debug_finding again = m->finding;
    pgy_status st = inputs && outputs ? PGY_OK : no_memory(err);
    if (!st) st = pgy_feeds_save(inputs, feeds, m->feed_count, err);
    if (!st && r->options->judge)
        st = pgy_debug_judge_run(&again, &expected, r->options->judge, m->model, feeds,
                                 m->feed_count, err);
    r->expected = expected != NULL;
    r->gone = again.outcome != m->finding.outcome;
    r->finding = r->gone ? m->finding : again;
    if (!st && expected) st = pgy_results_save(expected, outputs, err);
    pgy_results_destroy(expected);
    mem_free(inputs);
    mem_free(outputs);
    return st;
}

static void append_command(repro *r)
{
    const pgy_debug_repro_options *o = r->options;
    str_printf(&r->command, "run model.onnx --%s --load-inputs inputs.json",
               o->runner ? o->runner : "trt");
    if (r->expected) str_append(&r->command, " --load-outputs expected.json");
    if (r->minimum->finding.outcome == PGY_DEBUG_NAN) str_append(&r->command, " --validate");
    for (size_t i = 0; i < o->argument_count; i++) {
        str_append_char(&r->command, ' ');
        str_append_word(&r->command, o->arguments[i]);
    }
}

static pgy_status write_script(const repro *r, pgy_error *err)
{
    str text = {0};
    str_printf(&text,
               "#!/bin/sh\n# Shows the failure: exits with 0 if it is gone.\n"
               "cd \"$(dirname \"$0\")\" || exit 2\nexec \"${POLYGRAPHY:-polygraphy}\" %s\n",
               str_text(&r->command));
    pgy_status st = write_text(r, "repro.sh", &text, err);
    char *path = st ? NULL : path_join(r->folder, "repro.sh");
    if (path) chmod(path, 0755);
    mem_free(path);
    str_deinit(&text);
    return st;
}

static void append_nodes(str *to, const pgy_model *model)
{
    const pgy_onnx_graph *g = pgy_model_proto(model)->graph;
    enum { SHOWN = 20 };
    for (size_t i = 0; i < g->node_count && i < SHOWN; i++)
        str_printf(to, "- %s `%s`\n", g->nodes[i]->op_type,
                   g->nodes[i]->name && *g->nodes[i]->name ? g->nodes[i]->name : "(no name)");
    if (g->node_count > SHOWN) str_printf(to, "- and %zu more\n", g->node_count - SHOWN);
}

static pgy_status write_report(const repro *r, pgy_error *err)
{
    const pgy_debug_minimum *m = r->minimum;
    struct utsname system = {0};
    str text = {0};
    uname(&system);
    str_printf(&text, "# %s with --%s\n\n", pgy_debug_outcome_name(r->finding.outcome),
               r->options->runner ? r->options->runner : "trt");
    str_printf(&text, "**Verdict.** %s%s%s\n\n", pgy_debug_outcome_name(r->finding.outcome),
               *r->finding.text ? ": " : "", r->finding.text);
    if (r->gone)
        str_append(&text, "The failure did not come again when this folder was written: it does "
                          "not come every time.\n\n");
    str_printf(&text, "**To reproduce.** `sh repro.sh`, or here: `polygraphy %s`\n\n",
               str_text(&r->command));
    str_printf(&text, "**Model.** `model.onnx` has %zu of the %zu nodes of the original%s%s%s:\n\n",
               m->nodes, m->original_nodes, r->options->source ? " (`" : "",
               r->options->source ? path_basename(r->options->source) : "",
               r->options->source ? "`)" : "");
    append_nodes(&text, m->model);
    str_printf(&text, "\n**Data.** `inputs.json`: %zu sample(s)%s\n\n", m->feed_count,
               r->expected ? "; `expected.json`: the outputs of the reference" : "");
    str_printf(&text, "**Versions.** polygraphy %s, %s %s %s, ONNX opset %lld\n", pgy_version(),
               system.sysname, system.release, system.machine,
               (long long)pgy_model_opset(pgy_model_proto(m->model), ""));
    const pgy_status st = write_text(r, "report.txt", &text, err);
    str_deinit(&text);
    return st;
}

pgy_status pgy_debug_repro_save(const char *folder, const pgy_debug_minimum *m,
                                const pgy_debug_repro_options *options, pgy_error *err)
{
    pgy_debug_repro_options o = {.size = sizeof o};
    repro r = {.folder = folder, .minimum = m, .options = &o};
    pgy_status st = SIZED_TAKE(pgy_debug_repro_options, &o, options, err);
    if (!st) st = prepare_folder(folder, err);
    if (!st) st = write_model(&r, err);
    if (!st) st = write_data(&r, err);
    if (!st) {
        append_command(&r);
        st = r.command.failed ? no_memory(err) : write_script(&r, err);
    }
    if (!st) st = write_report(&r, err);
    if (!st) LOG(INFO, "The model, its data, repro.sh and report.txt are in %s", folder);
    str_deinit(&r.command);
    return st;
}
