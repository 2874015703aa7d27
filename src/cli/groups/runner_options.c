/* SPDX-License-Identifier: Apache-2.0 */
/* Runners with the options that a line gives them. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/groups/runners.h"
#include "cli/groups/trtexec.h"

/* ---- Options by name ------------------------------------------------------------------------ */

typedef struct option_visit {
    const pgy_option *row;
    runner_option_visitor visit;
    void *user;
    pgy_error *err;
} option_visit;

/* Reports an option with several spellings ("--onnxrt-threads --threads") under its first one. */
static pgy_status visit_words(const option_visit *v, const char *const *words, size_t count)
{
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(v->row->names, " "), v->row->names);
    return v->visit(name, words, count, v->user, v->err);
}

static pgy_status visit_number(const option_visit *v, int64_t value)
{
    char text[32];
    const char *const words[] = {text};
    snprintf(text, sizeof text, "%lld", (long long)value);
    return visit_words(v, words, 1);
}

/* Reports an option once per use. In the list, a NULL item ends the words of each use. */
static pgy_status visit_uses(const option_visit *v, const pgy_text_list *list)
{
    pgy_status st = PGY_OK;
    size_t start = 0;
    for (size_t i = 0; !st && i < list->count; i++) {
        if (list->items[i]) continue;
        st = visit_words(v, list->items + start, i - start);
        start = i + 1;
    }
    return st;
}

static pgy_status visit_row(const option_visit *v, const void *settings, const void *defaults)
{
    static const char *const ON[] = {"true"};
    const void *at = (const char *)settings + v->row->offset;
    const void *usual = (const char *)defaults + v->row->offset;
    const pgy_text_list *list = at;
    switch (v->row->kind) {
    case PGY_OPTION_FLAG: return *(const bool *)at ? visit_words(v, ON, 1) : PGY_OK;
    case PGY_OPTION_INT:
        return *(const int64_t *)at == *(const int64_t *)usual
                   ? PGY_OK
                   : visit_number(v, *(const int64_t *)at);
    case PGY_OPTION_TEXT:
        return *(const char *const *)at == *(const char *const *)usual ? PGY_OK
                                                                       : visit_words(v, at, 1);
    case PGY_OPTION_LIST: return list->given ? visit_words(v, list->items, list->count) : PGY_OK;
    case PGY_OPTION_APPEND: return visit_uses(v, list);
    default: return PGY_OK;
    }
}

pgy_status runners_visit_options(const args *line, const pgy_backend *b,
                                 runner_option_visitor visit, void *user, pgy_error *err)
{
    const void *settings = b->options ? args_find(line, b->name) : NULL;
    option_visit v = {.row = b->options, .visit = visit, .user = user, .err = err};
    if (!settings) return PGY_OK;
    void *defaults = mem_calloc(1, b->options_size);
    if (!defaults) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (b->defaults) b->defaults(defaults);
    pgy_status st = PGY_OK;
    for (; !st && v.row->kind != PGY_OPTION_END; v.row++) st = visit_row(&v, settings, defaults);
    mem_free(defaults);
    return st || strcmp(b->name, "trtexec") ? st : trtexec_visit_options(line, visit, user, err);
}

static pgy_status set_option(const char *name, const char *const *words, size_t count, void *user,
                             pgy_error *err)
{
    return pgy_backend_options_set_words(user, name, words, count, err);
}

pgy_status runners_options(pgy_backend_options **out, const args *line, const pgy_backend *b,
                           pgy_error *err)
{
    pgy_backend_options *o = NULL;
    pgy_status st = pgy_backend_options_create(&o, b, err);
    if (!st) st = runners_visit_options(line, b, set_option, o, err);
    if (st)
        pgy_backend_options_destroy(o);
    else
        *out = o;
    return st;
}

/* ---- Runners -------------------------------------------------------------------------------- */

static pgy_status create_runner(pgy_runner **out, const args *line, const pgy_backend *b,
                                const runner_maker *maker, pgy_error *err)
{
    pgy_backend_options *options = NULL;
    pgy_model_source source;
    pgy_status st = runners_options(&options, line, b, err);
    if (!st && maker->configure) st = maker->configure(options, b->name, maker->user, err);
    if (!st) st = maker->source(&source, b->name, maker->user, err);
    if (!st) st = pgy_runner_create(out, b, &source, options, NULL, err);
    pgy_backend_options_destroy(options);
    return st;
}

pgy_status runners_create(pgy_runner ***out, size_t *count, const args *line,
                          const runner_maker *maker, pgy_error *err)
{
    const runner_args *s = ARGS_OF(line, runner_args);
    pgy_runner **runners = mem_calloc(s->names.count + 1, sizeof *runners);
    if (!runners) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < s->names.count; i++)
        st = create_runner(&runners[i], line, pgy_backend_find(s->names.items[i]), maker, err);
    if (!st) {
        *out = runners;
        *count = s->names.count;
        runners = NULL;
    }
    runners_destroy(runners, s->names.count);
    return st;
}

void runners_destroy(pgy_runner **runners, size_t count)
{
    for (size_t i = 0; runners && i < count; i++) pgy_runner_destroy(runners[i]);
    mem_free(runners);
}
