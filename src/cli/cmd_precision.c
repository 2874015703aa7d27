/* SPDX-License-Identifier: Apache-2.0 */
/* precision: searches the layers that may compute in a type of 16 or 8 bits, prints what the search
 * found, and writes the model with Casts or Q/DQ at their borders. */
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/file.h"
#include "base/log.h"
#include "base/str.h"
#include "cli/groups/data.h"
#include "cli/groups/model.h"
#include "cli/groups/precision.h"

static const char LOG_PATH[] = "cli/cmd_precision.c";

static const option_group *const GROUPS[] = {&GROUP_PRECISION, &GROUP_LOGGING,    &GROUP_MODEL_DATA,
                                             &GROUP_DATA,      &GROUP_ONNX_WRITE, NULL};

/* ---- What the search found ------------------------------------------------------------------ */

static void append_error(str *out, double error)
{
    if (error < 0)
        str_append(out, "         -");
    else
        str_printf(out, "%10.3g", error);
}

static void append_layers(str *out, const pgy_precision *p, const precision_args *s)
{
    const bool time = s->options.cost == PGY_PRECISION_TIME;
    str_append(out, "\nLayers:\n");
    str_printf(out, "    %-10s %10s %12s", "type", "error", "saves bytes");
    if (time) str_printf(out, " %9s", "saves ms");
    str_append(out, "  name (operator)\n");
    for (size_t i = 0; i < pgy_precision_layer_count(p); i++) {
        const pgy_precision_layer *l = pgy_precision_layer_at(p, i);
        /* of a layer that stays float32: what it would have in the last type that was tried */
        const bool rest = s->options.rest_type && l->type != s->options.type &&
                          (l->type == s->options.rest_type || l->rest_error >= 0);
        str_printf(out, "    %-10s ", precision_type_name(l->type));
        append_error(out, rest ? l->rest_error : l->error);
        str_printf(out, " %12llu",
                   (unsigned long long)(rest ? l->rest_saved_bytes : l->saved_bytes));
        if (time) str_printf(out, " %9.4f", rest ? l->rest_saved_ms : l->saved_ms);
        str_printf(out, "  %s (%s)\n", l->name, l->op_type);
    }
}

static void append_methods(str *out, const pgy_precision *p)
{
    if (!pgy_precision_method_count(p)) return;
    str_append(out, "\nMethods, with all layers:\n");
    str_printf(out, "    %10s %12s %8s  %s\n", "error", "noise/signal", "kept", "method");
    for (size_t i = 0; i < pgy_precision_method_count(p); i++) {
        const pgy_precision_method *m = pgy_precision_method_at(p, i);
        str_printf(out, "    %10.3g %12.3g %8s  %s\n", m->error, m->noise, m->kept ? "yes" : "no",
                   m->name);
    }
}

/* Comparison lines for the table of sets. */
static void append_baselines(str *out, const pgy_precision *p, bool time)
{
    for (size_t i = 0; i < pgy_precision_baseline_count(p); i++) {
        const pgy_precision_baseline *at = pgy_precision_baseline_at(p, i);
        if (time) str_printf(out, "    %9s", "-");
        str_printf(out, "    %12llu %10.3g %6zu  all %s%s\n", (unsigned long long)at->bytes,
                   at->error, at->layers, pgy_dtype_name(at->type),
                   at->type == PGY_I8 ? ", plain" : "");
    }
}

static void append_points(str *out, const pgy_precision *p, const precision_args *s)
{
    const bool time = s->options.cost == PGY_PRECISION_TIME;
    str_printf(out, "\nSets that no other set beats in both %s and error:\n",
               time ? "time" : "bytes");
    if (time) str_printf(out, "    %9s", "ms");
    str_printf(out, "    %12s %10s %6s", "bytes", "error", "layers");
    if (s->options.rest_type)
        str_printf(out, "  %8s %8s", precision_type_name(s->options.type),
                   precision_type_name(s->options.rest_type));
    str_append(out, "\n");
    for (size_t i = 0; i < pgy_precision_point_count(p); i++) {
        const pgy_precision_point *at = pgy_precision_point_at(p, i);
        if (time) str_printf(out, "    %9.4f", at->ms);
        str_printf(out, "    %12llu %10.3g %6zu", (unsigned long long)at->bytes, at->error,
                   at->narrow);
        if (s->options.rest_type) str_printf(out, "  %8zu %8zu", at->narrow - at->rest, at->rest);
        str_append(out, "\n");
    }
    if (pgy_precision_baseline_count(p)) str_append(out, "To compare with:\n");
    append_baselines(out, p, time);
}

/* "9 of 12 layers in int8", in a mix with ", 3 in float16" */
static void append_count(str *out, const pgy_precision_summary *sum, const precision_args *s)
{
    str_printf(out, "%zu of %zu layers in %s", sum->narrow - sum->rest, sum->layers,
               precision_type_name(s->options.type));
    if (s->options.rest_type)
        str_printf(out, ", %zu in %s", sum->rest, precision_type_name(s->options.rest_type));
}

static pgy_status show(const pgy_precision *p, const precision_args *s, pgy_error *err)
{
    const pgy_precision_summary *sum = pgy_precision_summarize(p);
    str out = {0};
    append_count(&out, sum, s);
    str_printf(&out, ", %zu other nodes fixed; error %.3g on %zu samples, limit %.3g\n", sum->fixed,
               sum->error, sum->samples - sum->held_out, sum->limit_error);
    if (sum->held_out_error >= 0)
        str_printf(&out, "Error on %zu held-out samples: %.3g\n", sum->held_out,
                   sum->held_out_error);
    str_printf(&out, "Weights and outputs: %llu bytes; as float32: %llu\n",
               (unsigned long long)sum->bytes, (unsigned long long)sum->wide_bytes);
    if (s->options.cost == PGY_PRECISION_TIME)
        str_printf(&out, "Layers and Casts: %.4f ms; as float32: %.4f ms\n", sum->ms, sum->wide_ms);
    append_methods(&out, p);
    append_layers(&out, p, s);
    append_points(&out, p, s);
    if (out.failed) {
        str_deinit(&out);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    LOG(INFO, "==== Precisions ====\n%s", str_text(&out));
    LOG(INFO, "%zu trials in %.2f s", sum->trials, sum->seconds);
    str_deinit(&out);
    return PGY_OK;
}

/* ---- What is written ------------------------------------------------------------------------ */

static pgy_status write_text(str *text, const char *path, pgy_error *err)
{
    pgy_status st = text->failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : PGY_OK;
    if (!st) st = file_write_all(path, str_text(text), strlen(str_text(text)), err);
    str_deinit(text);
    return st;
}

static pgy_status write_lists(const pgy_precision *p, const precision_args *s, pgy_error *err)
{
    str keep = {0}, words = {0};
    for (size_t i = 0; i < pgy_precision_layer_count(p); i++) {
        const pgy_precision_layer *l = pgy_precision_layer_at(p, i);
        if (!l->narrow) str_printf(&keep, "%s\n", l->name);
        str_printf(&words, "%s:%s\n", l->name, precision_type_name(l->type));
    }
    pgy_status st = PGY_OK;
    if (s->keep_list)
        st = write_text(&keep, s->keep_list, err);
    else
        str_deinit(&keep);
    if (!st && s->layer_list)
        st = write_text(&words, s->layer_list, err);
    else
        str_deinit(&words);
    return st;
}

static pgy_status check_and_write(pgy_precision *p, const args *line, pgy_error *err)
{
    static const char *const USUAL[] = {"onnxrt", "trt"};
    const precision_args *s = args_get(line, &GROUP_PRECISION);
    const char *const *names = s->check_with.count ? s->check_with.items : USUAL;
    const size_t count = s->check_with.count ? s->check_with.count : 2;
    const pgy_precision_summary *sum = pgy_precision_summarize(p);
    const size_t narrow = sum->narrow, rest = sum->rest;
    const pgy_backend **backends = mem_calloc(count, sizeof *backends);
    pgy_model *typed = NULL;
    if (!backends) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < count; i++) backends[i] = pgy_backend_find(names[i]);
    pgy_status st = pgy_precision_settle(&typed, p, backends, count, err);
    if (st && st != PGY_E_CANCELLED)
        st = pgy_error_prefix(err, st, "'%s' is not written: ", s->output);
    if (!st && (sum->narrow != narrow || sum->rest != rest)) st = show(p, s, err);
    if (!st) st = model_save(typed, line, s->output, NULL, err);
    if (!st) LOG(INFO, "The typed model is in %s", s->output);
    pgy_model_destroy(typed);
    mem_free(backends);
    return st;
}

/* After an interrupt the lists are written, and the typed model is not, because it is not checked.
 */
static pgy_status leave_best(const pgy_precision *p, const precision_args *s, pgy_error *err)
{
    pgy_error why = {0};
    const pgy_precision_summary *sum = pgy_precision_summarize(p);
    str count = {0};
    append_count(&count, sum, s);
    LOG(WARNING,
        "Interrupted after %zu trials: the best set so far has %s and is not checked on held-out "
        "samples",
        sum->trials, str_text(&count));
    str_deinit(&count);
    pgy_cancel_reset(); /* files are not written while a request to stop stands */
    if (write_lists(p, s, &why)) LOG(ERROR, "%s", why.text);
    pgy_cancel();
    return pgy_error_set(err, PGY_E_CANCELLED, "the search was interrupted");
}

static pgy_status run(args *line, bool *passed, pgy_error *err)
{
    const precision_args *s = args_get(line, &GROUP_PRECISION);
    const model_args *m = args_get(line, &GROUP_MODEL_DATA);
    pgy_loader *loader = NULL;
    pgy_model *model = NULL;
    pgy_data_loader *data = NULL;
    pgy_precision *p = NULL;
    (void)passed;
    pgy_status st = pgy_loader_from_path(&loader, m->path, NULL, err);
    if (!st) st = pgy_loader_call(&model, loader, err);
    if (!st) st = data_loader_create(&data, line, m->shapes, err);
    cancel_hold(); /* an interrupted search leaves its best */
    if (!st) st = pgy_precision_search(&p, model, data, &s->options, err);
    if (st == PGY_E_CANCELLED && p) st = leave_best(p, s, err);
    cancel_release();
    if (!st) st = show(p, s, err);
    if (!st && s->save_times) st = pgy_precision_save_times(p, s->save_times, err);
    if (!st && s->output) st = check_and_write(p, line, err);
    if (!st) st = write_lists(p, s, err);
    pgy_precision_destroy(p);
    pgy_data_loader_destroy(data);
    pgy_model_destroy(model);
    pgy_loader_destroy(loader);
    return st;
}

const command COMMAND_precision = {
    .tool = "precision",
    .summary = "Find the layers that may compute in 16 or 8 bits, and write them into the model.",
    .description = "Search the layers of a model that may compute in float16, bfloat16, int8 or "
                   "float8 while its outputs stay as exact as the criterion asks, and write the "
                   "model with Casts at the borders of these layers, or with Q/DQ for 8 bits. "
                   "Trials are emulated, so no engine is built for them.",
    .examples = "  Write a model whose outputs stay within 0.01:\n      {program} precision "
                "model.onnx -o typed.onnx --load-inputs data.json --criterion tolerance:0.01\n\n"
                "  Find the layers that may be int8, with the methods that suit the model best:\n"
                "      {program} precision model.onnx -o typed.onnx --types int8 --try all "
                "--criterion snr:30\n\n"
                "  Give layers that int8 does not suit float16:\n      {program} precision "
                "model.onnx -o typed.onnx --types int8,float16 --criterion snr:40",
    .groups = GROUPS,
    .run = run,
};
