/* SPDX-License-Identifier: Apache-2.0 */
/* Makes runners and data from the words PATH@RUNNER of the command bench. */
#include "cli/bench/sides.h"

#include <polygraphy/engine.h>

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "cli/groups/runners.h"

static const char DEFAULT_RUNNER[] = "trt";

/* ---- Words ----------------------------------------------------------------------------------- */

static void append_backends(str *out)
{
    bool first = true;
    for (size_t i = 0; i < pgy_backend_count(); i++) {
        if (!pgy_backend_at(i)->description) continue;
        str_printf(out, "%s%s", first ? "" : ", ", pgy_backend_at(i)->name);
        first = false;
    }
}

/* Splits PATH@RUNNER. A file whose name contains an @ needs no runner. */
static pgy_status split_word(str *path, const pgy_backend **backend, const char *word,
                             pgy_error *err)
{
    const char *at = strrchr(word, '@');
    const char *name = at ? at + 1 : DEFAULT_RUNNER;
    *backend = pgy_backend_find(name);
    if (at && (*backend || !file_exists(word))) {
        str_append_n(path, word, (size_t)(at - word));
    } else {
        str_append(path, word);
        *backend = pgy_backend_find(DEFAULT_RUNNER);
    }
    str names = {0};
    append_backends(&names);
    pgy_status st = PGY_OK;
    if (!*backend)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "'%s': there is no runner '%s'; there are: %s",
                           word, name, str_text(&names));
    else if (!path->size && !pgy_backend_has(*backend, PGY_BACKEND_WITHOUT_MODEL))
        st = pgy_error_set(err, PGY_E_ARGUMENT, "'%s' has no path; expected PATH@RUNNER", word);
    else if (path->failed || names.failed)
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    str_deinit(&names);
    return st;
}

/* A runner of the word PATH@RUNNER. */
static pgy_status create_runner(pgy_runner **out, const args *line, const char *word,
                                pgy_error *err)
{
    str path = {0};
    const pgy_backend *b = NULL;
    pgy_backend_options *options = NULL;
    pgy_model_source source = {0};
    pgy_status st = split_word(&path, &b, word, err);
    if (!st && !file_exists(str_text(&path)) && !pgy_backend_has(b, PGY_BACKEND_WITHOUT_MODEL))
        st = pgy_error_set(err, PGY_E_NOT_FOUND, "'%s': the file '%s' does not exist", word,
                           str_text(&path));
    if (!st) st = runners_options(&options, line, b, err);
    if (!st) st = pgy_source_from_path(&source, str_text(&path), err);
    if (!st) st = pgy_runner_create(out, b, &source, options, word, err);
    pgy_backend_options_destroy(options);
    str_deinit(&path);
    return st;
}

static pgy_status create_data(pgy_data_loader **out, const bench_args *s, pgy_error *err)
{
    pgy_random_options o = pgy_random_options_default();
    if (s->load_inputs.count)
        return pgy_file_loader_create(out, s->load_inputs.items, s->load_inputs.count, err);
    o.seed = (uint32_t)s->options.seed;
    o.inputs = s->shapes;
    o.strict = true; /* times of another shape than the one that was asked for would mislead */
    return pgy_random_loader_create(out, &o, err);
}

/* The word, with a number if the line has it before. */
static pgy_status name_side(char **out, const pgy_text_list *words, size_t i, pgy_error *err)
{
    size_t earlier = 1;
    str name = {0};
    for (size_t k = 0; k < i; k++) earlier += strcmp(words->items[k], words->items[i]) == 0;
    str_append(&name, words->items[i]);
    if (earlier > 1) str_printf(&name, " #%zu", earlier);
    return str_give(out, &name, err);
}

void bench_sides_deinit(bench_sides *l)
{
    for (size_t i = 0; i < l->count && l->sides && l->names; i++) {
        pgy_runner_destroy(l->sides[i].runner);
        pgy_data_loader_destroy(l->sides[i].data);
        mem_free(l->names[i]);
    }
    mem_free(l->sides);
    mem_free(l->names);
}

pgy_status bench_sides_init(bench_sides *l, const args *line, pgy_error *err)
{
    const bench_args *s = ARGS_OF(line, bench_args);
    pgy_status st = PGY_OK;
    l->count = s->models.count;
    l->sides = mem_calloc(l->count, sizeof *l->sides);
    l->names = mem_calloc(l->count, sizeof *l->names);
    if (!l->sides || !l->names) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; !st && i < l->count; i++) {
        pgy_bench_side *side = &l->sides[i];
        st = name_side(&l->names[i], &s->models, i, err);
        side->name = l->names[i];
        if (!st) st = create_runner(&side->runner, line, s->models.items[i], err);
        if (!st) st = create_data(&side->data, s, err);
    }
    return st;
}

/* ---- What outputs are compared with ---------------------------------------------------------- */

/* Joins the first side's model and the runner; "" stays for a runner without model. */
static pgy_status append_model(str *out, const args *line, const char *runner, pgy_error *err)
{
    const bench_args *s = ARGS_OF(line, bench_args);
    const pgy_backend *b = pgy_backend_find(runner), *own = NULL;
    str path = {0};
    pgy_status st = split_word(&path, &own, s->models.items[0], err);
    if (!st && pgy_plan_is_plan(str_text(&path)) && !pgy_backend_has(b, PGY_BACKEND_RUNS_PLANS))
        st = pgy_error_set(err, PGY_E_ARGUMENT,
                           "--check-with: '%s' is a plan, which %s cannot run; give MODEL@%s, with "
                           "the model that it was built from",
                           str_text(&path), runner, runner);
    if (!st) str_printf(out, "%s@%s", str_text(&path), runner);
    str_deinit(&path);
    return st;
}

static bool names_runner(const char *word)
{
    const char *at = strrchr(word, '@');
    return at && pgy_backend_find(at + 1);
}

static pgy_status open_reference(bench_checked *c, const args *line, const char *word,
                                 pgy_error *err)
{
    str side = {0}, names = {0};
    pgy_status st = PGY_OK;
    append_backends(&names);
    if (pgy_backend_find(word))
        st = append_model(&side, line, word, err);
    else if (names_runner(word))
        str_append(&side, word);
    else if (!file_exists(word))
        st = pgy_error_set(err, PGY_E_NOT_FOUND,
                           "--check-with: '%s' is neither a file nor a runner; there are: %s", word,
                           str_text(&names));
    if (!st && (side.failed || names.failed))
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st)
        st = side.size ? create_runner(&c->runner, line, str_text(&side), err)
                       : pgy_results_load(&c->results, word, err);
    str_deinit(&side);
    str_deinit(&names);
    return st;
}

pgy_status bench_checked_init(bench_checked *c, const args *line, pgy_error *err)
{
    const bench_args *s = ARGS_OF(line, bench_args);
    const pgy_status st = open_reference(c, line, s->check_with, err);
    c->reference = (pgy_bench_reference){.size = sizeof c->reference,
                                         .name = s->check_with,
                                         .runner = c->runner,
                                         .results = c->results,
                                         .tolerances = &s->tolerances};
    return st;
}

void bench_checked_deinit(bench_checked *c)
{
    pgy_runner_destroy(c->runner);
    pgy_results_destroy(c->results);
}
