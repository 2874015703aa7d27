/* SPDX-License-Identifier: Apache-2.0 */
/* Files of debug tensors: 0000_<name>.npy, .str and .raw, and tensor_summary.json. Types that NumPy
 * lacks are widened: floats to float32, integers under 8 bits to int8. */
#include "cli/trtexec/debug.h"

#include <polygraphy/runtime.h>

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/json.h"
#include "base/log.h"

static const char LOG_PATH[] = "cli/trtexec/debug.c";

enum { EDGE = 5 };
typedef struct forms {
    bool summary, numpy, string, raw;
} forms;

typedef struct saver {
    trtexec_session *s;
    forms forms;
    trtexec_pair *wanted; /* of --saveDebugTensors */
    size_t wanted_count, found, number;
    json_output summary;
    pgy_status st;
    pgy_error *err;
} saver;

/* ---- Options -------------------------------------------------------------------------------- */

static pgy_status read_forms(forms *f, const char *text, pgy_error *err)
{
    *f = (forms){0};
    if (!text) return PGY_OK;
    for (const char *at = text;;) {
        const span word = {at, strcspn(at, ",")};
        if (span_equals(word, "summary"))
            f->summary = true;
        else if (span_equals(word, "numpy"))
            f->numpy = true;
        else if (span_equals(word, "string"))
            f->string = true;
        else if (span_equals(word, "raw"))
            f->raw = true;
        else
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "--saveAllDebugTensors: '%.*s' is not one of summary, numpy, "
                                 "string, raw",
                                 (int)word.size, word.data);
        if (!at[word.size]) return PGY_OK;
        at += word.size + 1;
    }
}

pgy_status debug_options(trtexec_session *s, pgy_error *err)
{
    forms f;
    return read_forms(&f, s->a->all_debug, err);
}

/* ---- One tensor ----------------------------------------------------------------------------- */

static void append_file(str *out, size_t number, const char *name, const char *suffix)
{
    str_printf(out, "%04zu_", number);
    for (const char *c = name; *c && out->size < 150; c++)
        str_append_char(out, isalnum((unsigned char)*c) || strchr("._-", *c) ? *c : '_');
    str_append(out, suffix);
}

/* The type that a value is saved in, and what that adds to the name of the file. */
static pgy_dtype saved_type(pgy_dtype dtype, const char **suffix)
{
    const pgy_dtype_info *info = pgy_dtype_describe(dtype);
    *suffix = "";
    if (info->npy) return dtype;
    *suffix = info->kind == PGY_KIND_FLOAT ? "_to_float" : "_to_int8";
    return info->kind == PGY_KIND_FLOAT      ? PGY_F32
           : info->kind == PGY_KIND_UNSIGNED ? PGY_U8
                                             : PGY_I8;
}

static void put_real(json_writer *w, const char *key, double v)
{
    if (key) json_key(w, key);
    json_real_or_text(w, v);
}

static pgy_status write_statistics(json_writer *w, pgy_view v, pgy_error *err)
{
    pgy_tensor *wide = NULL;
    const pgy_status st = pgy_tensor_cast(&wide, v, PGY_F64, err);
    if (st) return st;
    const double *x = pgy_tensor_data(wide);
    const size_t n = pgy_tensor_count(wide);
    double min = n ? x[0] : 0, max = min, sum = 0;
    for (size_t i = 0; i < n; i++) {
        if (!(x[i] >= min)) min = isnan(min) ? min : x[i];
        if (!(x[i] <= max)) max = isnan(max) ? max : x[i];
        sum += x[i];
    }
    json_key(w, "statistics");
    json_begin_object(w);
    put_real(w, "min", min);
    put_real(w, "max", max);
    put_real(w, "avg", n ? sum / (double)n : 0);
    json_key(w, "elements");
    json_begin_array(w);
    for (size_t i = 0; i < n; i++)
        if (i < EDGE || i + EDGE >= n) put_real(w, NULL, x[i]);
    json_end_array(w);
    json_end_object(w);
    pgy_tensor_release(wide);
    return PGY_OK;
}

static const char *assigned_file(saver *v, const char *name)
{
    for (size_t i = 0; i < v->wanted_count; i++)
        if (!strcmp(v->wanted[i].name, name)) return v->wanted[i].value;
    return NULL;
}

static pgy_status save_forms(saver *v, const char *name, pgy_view value, json_writer *w)
{
    const char *suffix;
    pgy_tensor *t = NULL;
    pgy_status st = pgy_tensor_cast(&t, value, saved_type(value.dtype, &suffix), v->err);
    static const char *const ENDS[] = {".npy", ".str", ".raw"};
    static const char *const KEYS[] = {"numpy", "string", "raw"};
    const bool wanted[] = {v->forms.numpy, v->forms.string, v->forms.raw};
    for (size_t i = 0; !st && i < 3; i++) {
        str path = {0};
        char *text = NULL;
        const pgy_text_options all = {.size = sizeof all, .threshold = INT64_MAX};
        if (!wanted[i]) continue;
        append_file(&path, v->number, name, suffix);
        str_append(&path, ENDS[i]);
        if (i == 0) st = pgy_npy_save(str_text(&path), pgy_tensor_view(t), v->err);
        if (i == 1) st = pgy_view_text(&text, pgy_tensor_view(t), &all, v->err);
        if (i == 1 && !st) st = file_write_all(str_text(&path), text, strlen(text), v->err);
        if (i == 2) st = pgy_raw_save(str_text(&path), pgy_tensor_view(t), v->err);
        if (w && !st) json_put_text(w, KEYS[i], str_text(&path));
        pgy_text_free(text);
        str_deinit(&path);
    }
    pgy_tensor_release(t);
    return st;
}

static bool save_tensor(void *user, const char *name, pgy_view value)
{
    saver *v = user;
    json_writer *w = v->forms.summary ? v->summary.json : NULL;
    const char *assigned = assigned_file(v, name), *path = NULL;
    if (w) {
        json_begin_object(w);
        json_put_text(w, "name", name);
        json_put_ints(w, "shape", value.shape, (size_t)value.rank);
        json_put_text(w, "type", pgy_dtype_name(value.dtype));
        v->st = write_statistics(w, value, v->err);
        json_key(w, "files");
        json_begin_object(w);
        if (assigned) json_put_text(w, "assigned", assigned);
    }
    if (assigned && !v->st) {
        v->found++;
        v->st = trtexec_path(&path, assigned, &v->s->line->memory, v->err);
        if (!v->st) v->st = pgy_raw_save(path, value, v->err);
    }
    if (!v->st) v->st = save_forms(v, name, value, w);
    if (w) {
        json_end_object(w);
        json_end_object(w);
    }
    v->number++;
    return !v->st;
}

/* ---- The run -------------------------------------------------------------------------------- */

static void begin_summary(saver *v)
{
    json_writer *w = v->summary.json;
    const trtexec_args *a = v->s->a;
    const time_t now = time(NULL);
    struct tm parts;
    char stamp[32];
    str line = {0};
    localtime_r(&now, &parts);
    strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%S", &parts);
    str_append(&line, "trtexec");
    for (size_t i = 0; i < a->word_count; i++) {
        str_printf(&line, " %s", a->words[i].name);
        if (a->words[i].value) str_printf(&line, "=%s", a->words[i].value);
    }
    json_begin_object(w);
    json_key(w, "metadata");
    json_begin_object(w);
    json_put_text(w, "title", "Debug tensors");
    json_put_text(w, "time_generated", stamp);
    json_put_text(w, "engine_name", pgy_engine_name(v->s->engine));
    json_put_text(w, "command_line", str_text(&line));
    json_end_object(w);
    json_key(w, "tensors");
    json_begin_array(w);
    str_deinit(&line);
}

static pgy_status run(saver *v, const pgy_tensor_map *feed, pgy_error *err)
{
    const pgy_debug_listener listener = {.size = sizeof listener, .user = v, .tensor = save_tensor};
    pgy_context *context = NULL;
    pgy_tensor_map *outputs = NULL;
    pgy_error why = {0};
    pgy_status st = pgy_context_create(&context, v->s->engine, NULL, err);
    if (!st) st = pgy_context_set_debug_listener(context, &listener, err);
    if (!st) st = pgy_tensor_map_create(&outputs, err);
    if (!st) {
        st = pgy_context_run(context, feed, outputs, &why);
        if (st && v->st)
            st = v->st; /* `err` has the text of the file that could not be written */
        else if (st)
            pgy_error_set(err, st, "%s", why.text);
    }
    pgy_tensor_map_destroy(outputs);
    pgy_context_destroy(context);
    return st;
}

pgy_status debug_save(trtexec_session *s, const pgy_tensor_map *feed, pgy_error *err)
{
    saver v = {.s = s, .err = err};
    if (!s->a->debug_files && !s->a->all_debug) return PGY_OK;
    pgy_status st = read_forms(&v.forms, s->a->all_debug, err);
    if (!st && s->a->debug_files)
        st = trtexec_pairs(&v.wanted, &v.wanted_count, s->a->debug_files, "--saveDebugTensors",
                           &s->line->memory, err);
    if (!st && v.forms.summary) st = json_output_open(&v.summary, "tensor_summary.json", err);
    if (!st && v.forms.summary) begin_summary(&v);
    if (!st) st = run(&v, feed, err);
    if (!st && v.found < v.wanted_count)
        st = pgy_error_set(err, PGY_E_NOT_FOUND,
                           "--saveDebugTensors: %zu of %zu names are no debug tensors of the "
                           "engine; build with --markDebug=NAME",
                           v.wanted_count - v.found, v.wanted_count);
    if (!st && v.forms.summary) {
        json_end_array(v.summary.json);
        json_end_object(v.summary.json);
        st = json_output_commit(&v.summary, err);
    }
    json_output_close(&v.summary);
    if (!st) LOG(INFO, "Saved %zu debug tensors.", v.number);
    return st;
}
