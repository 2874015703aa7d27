/* SPDX-License-Identifier: Apache-2.0 */
/* One function for each backend that the line uses, and a call of it for each runner. */
#include <string.h>

#include "cli/c_script/c_script.h"
#include "cli/groups/model.h"
#include "cli/groups/runners.h"

/* "--onnxrt-threads" is "onnxrt_threads" in the API. */
static void put_name(str *out, const char *option)
{
    str_append_char(out, '"');
    c_identifier(out, option + strspn(option, "-"));
    str_append_char(out, '"');
}

static pgy_status put_option(const char *name, const char *const *words, size_t count, void *user,
                             pgy_error *err)
{
    (void)err;
    str *out = user;
    str_printf(out, "    if (!st) st = pgy_backend_options_set%s(options, ",
               count == 1 ? "" : "_words");
    put_name(out, name);
    str_append(out, ", ");
    if (count == 1)
        c_text(out, words[0]);
    else
        c_texts(out, words, count);
    if (count != 1) str_printf(out, ", %zu", count);
    str_append(out, ", err);\n");
    return PGY_OK;
}

/* Does the backend get a model that was changed? */
static bool is_edited(const c_script *s, const char *backend)
{
    return runner_has(backend, PGY_BACKEND_BUILDS_PLANS) ? s->plan->edits_trt : s->plan->edits_onnx;
}

static void put_source(str *out, const c_script *s, bool edited)
{
    if (!model_path(s->line)) return;
    if (!edited) {
        str_append(out, "    if (!st) st = pgy_source_from_path(&source, MODEL, err);\n");
        return;
    }
    str_append(out, "    if (!st) st = pgy_loader_from_model(&loader, model, err);\n"
                    "    if (!st) st = pgy_loader_source(&source, loader, err);\n");
}

static pgy_status put_maker(c_script *s, const char *backend, pgy_error *err)
{
    const bool edited = is_edited(s, backend);
    const bool configured = runner_has(backend, PGY_BACKEND_TAKES_CONFIG);
    str set = {0};
    const pgy_status st =
        runners_visit_options(s->line, pgy_backend_find(backend), put_option, &set, err);
    const bool options = configured || set.size;
    str *out = &s->functions;
    str_append(out, "static pgy_status make_");
    c_identifier(out, backend);
    str_printf(out, "(pgy_runner **out, %spgy_error *err)\n{\n",
               edited ? "pgy_model *model, " : "");
    str_append(out, "    const pgy_backend *backend = pgy_backend_find(");
    c_text(out, backend);
    str_append(out, ");\n");
    if (options) str_append(out, "    pgy_backend_options *options = NULL;\n");
    if (edited) str_append(out, "    pgy_loader *loader = NULL;\n");
    str_printf(out, "    pgy_model_source source = {0};\n    pgy_status st = %s;\n",
               options ? "pgy_backend_options_create(&options, backend, err)" : "PGY_OK");
    str_append(out, str_text(&set));
    if (configured)
        str_append(out, "    if (!st) st = pgy_engine_runner_configure(options, &CONFIG, err);\n");
    put_source(out, s, edited);
    str_printf(out,
               "    if (!st) st = pgy_runner_create(out, backend, &source, %s, NULL, err);\n%s"
               "    return st;\n}\n\n",
               options ? "options" : "NULL",
               options ? "    pgy_backend_options_destroy(options);\n" : "");
    out->failed |= set.failed;
    str_deinit(&set);
    return st;
}

static bool was_made(const pgy_text_list *names, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (!strcmp(names->items[k], names->items[i])) return true;
    return false;
}

static void put_step(c_script *s, const char *backend, size_t i)
{
    const bool trt = runner_has(backend, PGY_BACKEND_BUILDS_PLANS);
    str_append(&s->steps, "    if (!st) st = make_");
    c_identifier(&s->steps, backend);
    str_printf(&s->steps, "(&runners[%zu], %serr);\n", i,
               !is_edited(s, backend) ? ""
               : trt                  ? "engine_model, "
                                      : "model, ");
}

pgy_status c_runners(c_script *s, pgy_error *err)
{
    const pgy_text_list *names = &ARGS_OF(s->line, runner_args)->names;
    pgy_status st = PGY_OK;
    if (!names->count) return PGY_OK;
    for (size_t i = 0; !st && i < names->count; i++) {
        if (!was_made(names, i)) st = put_maker(s, names->items[i], err);
        put_step(s, names->items[i], i);
    }
    str_printf(&s->variables, "    pgy_runner *runners[%zu] = {NULL};\n", names->count);
    c_release(s, "for (size_t i = 0; i < %zu; i++) pgy_runner_destroy(runners[i]);", names->count);
    return st;
}
