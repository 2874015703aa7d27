/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the optimization level of ONNX Runtime from which on outputs differ, the optimizers of it
 * that make them differ, and the nodes that these change in the optimized model. */
#include <string.h>

#include <polygraphy/onnx.h>

#include "backends/onnxruntime/optimizers.h"
#include "base/alloc.h"
#include "base/file.h"
#include "where/passes_report.h"

static const char *const LEVELS[] = {"ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED",
                                     "ORT_ENABLE_LAYOUT", "ORT_ENABLE_ALL"};
enum { LEVEL_COUNT = sizeof LEVELS / sizeof *LEVELS, MAX_OPTIMIZERS = 128 };

typedef struct ort_search {
    trials trials;
    pgy_rewrite_report *report;
    pgy_backend_options *options, *own; /* own: made here because the caller gave none */
    strvec given;                       /* optimizers that the caller switches off */
    const char *level;                  /* of the next trial */
    size_t top, count;                  /* the caller's level; the number of optimizers */
    char *before, *after; /* temporary files: the optimized models without and with a culprit */
} ort_search;

/* ---- Trials --------------------------------------------------------------------------------- */

/* Runs with the optimizers of on[], and saves the optimized model to `path`. */
static pgy_status run_set_to(bool *agrees, ort_search *s, const bool *on, const char *path,
                             pgy_error *err)
{
    const char *names[2 * MAX_OPTIMIZERS];
    size_t count = 0, off = 0;
    str what = {0};
    for (size_t i = 0; i < s->given.count && count < MAX_OPTIMIZERS; i++)
        names[count++] = s->given.items[i];
    for (size_t i = 0; on && i < s->count; i++)
        if (!on[i]) names[count++] = ort_optimizer_at(i)->name, off++;
    str_printf(&what, "level %s", s->level);
    if (off == 1) str_printf(&what, " without %s", names[count - 1]);
    if (off > 1) str_printf(&what, " without %zu optimizers", off);
    pgy_status st = pgy_backend_options_set(s->options, "graph_optimization_level", s->level, err);
    if (!st) st = pgy_backend_options_set(s->options, "save_optimized_model", path, err);
    if (!st)
        st = pgy_backend_options_set_words(s->options, "disabled_optimizers", names, count, err);
    if (!st) st = trials_run(agrees, &s->trials, s->options, str_text(&what), err);
    str_deinit(&what);
    return st;
}

static pgy_status run_set(bool *agrees, const bool *on, void *user, pgy_error *err)
{
    ort_search *s = user;
    return run_set_to(agrees, s, on, s->after, err);
}

/* ---- What an optimizer changed --------------------------------------------------------------- */

static pgy_status label_of(char **out, const pgy_onnx_node *n, pgy_error *err)
{
    str text = {0};
    const char *output = n->output_count ? n->outputs[0] : "";
    str_printf(&text, "%s (%s)", n->name && n->name[0] ? n->name : output, n->op_type);
    return str_give(out, &text, err);
}

static pgy_status list_nodes(strvec *out, const char *path, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_status st = pgy_model_load(&model, path, NULL, err);
    if (st) return st;
    const pgy_onnx_graph *g = pgy_model_proto(model)->graph;
    for (size_t i = 0; !st && g && i < g->node_count; i++) {
        char *label = NULL;
        st = label_of(&label, g->nodes[i], err);
        if (!st && !strvec_push(out, label)) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        pgy_text_free(label);
    }
    pgy_model_destroy(model);
    return st;
}

/* The labels of `of` that `other` lacks. */
static pgy_status subtract(const char *const **out, size_t *count, const strvec *of,
                           const strvec *other, arena *a, pgy_error *err)
{
    strmap there = {0};
    const char **list = arena_alloc_array(a, of->count + 1, sizeof *list);
    bool failed = !list;
    for (size_t i = 0; !failed && i < other->count; i++)
        failed = !strmap_put(&there, other->items[i], &there);
    *count = 0;
    for (size_t i = 0; !failed && i < of->count; i++) {
        if (strmap_has(&there, of->items[i])) continue;
        list[*count] = arena_strdup(a, of->items[i]);
        failed = !list[(*count)++];
    }
    strmap_deinit(&there);
    if (failed) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    *out = list;
    return PGY_OK;
}

static pgy_status compare_models(pgy_rewrite_culprit *c, const ort_search *s, pgy_error *err)
{
    strvec before = {0}, after = {0};
    arena *a = &s->report->memory;
    pgy_status st = list_nodes(&before, s->before, err);
    if (!st) st = list_nodes(&after, s->after, err);
    if (!st) st = subtract(&c->nodes, &c->node_count, &before, &after, a, err);
    if (!st) st = subtract(&c->new_nodes, &c->new_node_count, &after, &before, a, err);
    strvec_deinit(&before);
    strvec_deinit(&after);
    return st;
}

/* Runs once more without the culprit i, whose changes are then seen in the optimized model. on[]:
 * the culprit and the optimizers before it. */
static pgy_status found(size_t i, const bool *on, void *user, pgy_error *err)
{
    ort_search *s = user;
    bool without[MAX_OPTIMIZERS], agrees = false;
    pgy_rewrite_culprit *c = report_add(s->report, s->level, err);
    if (!c) return PGY_E_MEMORY;
    c->name = ort_optimizer_at(i)->name;
    memcpy(without, on, s->count * sizeof *without);
    pgy_status st = run_set_to(&agrees, s, on, s->after, err);
    without[i] = false;
    if (!st) st = run_set_to(&agrees, s, without, s->before, err);
    return st ? st : compare_models(c, s, err);
}

/* ---- The search ------------------------------------------------------------------------------ */

static pgy_status set_remedy(ort_search *s, const char *words, pgy_error *err)
{
    s->report->remedy = arena_strdup(&s->report->memory, words);
    return s->report->remedy ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static pgy_status set_level_remedy(ort_search *s, size_t level, pgy_error *err)
{
    str words = {0};
    str_printf(&words, "--graph-optimization-level %s", LEVELS[level - 1]);
    const pgy_status st = set_remedy(s, str_text(&words), err);
    str_deinit(&words);
    return st;
}

static pgy_status search_optimizers(ort_search *s, size_t level, pgy_error *err)
{
    const rewrite_search search = {.count = s->count, .run = run_set, .found = found, .user = s};
    bool off[MAX_OPTIMIZERS] = {false}, agrees = false;
    str words = {0};
    pgy_status st = run_set(&agrees, off, s, err);
    if (st) return st;
    s->report->cause = agrees ? PGY_REWRITE_FOUND : PGY_REWRITE_LEVEL;
    if (!agrees) return set_level_remedy(s, level, err);
    st = rewrite_search_run(off, &search, err);
    if (level < s->top) str_printf(&words, "--graph-optimization-level %s ", s->level);
    str_append(&words, "--disabled-optimizers");
    for (size_t i = 0; i < s->given.count; i++) str_printf(&words, " %s", s->given.items[i]);
    for (size_t i = 0; i < s->count; i++)
        if (off[i]) str_printf(&words, " %s", ort_optimizer_at(i)->name);
    if (!st) st = set_remedy(s, str_text(&words), err);
    str_deinit(&words);
    return st;
}

static pgy_status search_levels(ort_search *s, pgy_error *err)
{
    bool agrees = false;
    s->level = LEVELS[s->top];
    pgy_status st = run_set(&agrees, NULL, s, err);
    if (st || agrees) return st;
    for (size_t i = 0; i <= s->top; i++) {
        s->level = LEVELS[i];
        if (i < s->top)
            st = run_set(&agrees, NULL, s, err);
        else
            agrees = false; /* as seen above */
        if (st) return st;
        if (agrees) continue;
        s->report->cause = PGY_REWRITE_NONE;
        if (!i) return PGY_OK;
        s->report->level = s->level;
        return search_optimizers(s, i, err);
    }
    return PGY_OK;
}

/* ---- Preparing ------------------------------------------------------------------------------- */

static pgy_status read_level(ort_search *s, pgy_error *err)
{
    char *text = NULL;
    pgy_status st = pgy_backend_options_get(&text, s->options, "graph_optimization_level", err);
    s->top = LEVEL_COUNT - 1;
    for (size_t i = 0; !st && i < LEVEL_COUNT; i++)
        if (str_equal_nocase(text, LEVELS[i])) s->top = i;
    pgy_text_free(text);
    return st;
}

static pgy_status read_disabled(ort_search *s, pgy_error *err)
{
    char *text = NULL;
    pgy_status st = pgy_backend_options_get(&text, s->options, "disabled_optimizers", err);
    for (const char *word = text; !st && word && *word;) {
        const size_t size = strcspn(word, " ");
        if (size && !strvec_push_n(&s->given, word, size))
            st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        word += size + (word[size] == ' ');
    }
    pgy_text_free(text);
    return st;
}

static pgy_status prepare(ort_search *s, pgy_error *err)
{
    pgy_status st = PGY_OK;
    s->options = s->trials.options.runner_options;
    if (!s->options) st = pgy_backend_options_create(&s->own, s->trials.backend, err);
    if (!s->options) s->options = s->own;
    if (!st) st = read_level(s, err);
    if (!st) st = read_disabled(s, err);
    if (!st) st = file_temp_path(&s->before, ".onnx", err);
    if (!st) st = file_temp_path(&s->after, ".onnx", err);
    if (!st) st = report_create(&s->report, &s->trials, false, err);
    while (s->count < MAX_OPTIMIZERS && ort_optimizer_at(s->count)) s->count++;
    return st;
}

pgy_status pgy_bisect_ort(pgy_rewrite_report **out, pgy_model *model,
                          const pgy_rewrite_options *options, pgy_error *err)
{
    ort_search s = {.count = 0};
    if (!out) return pgy_error_set(err, PGY_E_ARGUMENT, "'out' must not be NULL");
    pgy_status st = trials_init(&s.trials, model, "onnxrt", options, err);
    if (!st) st = prepare(&s, err);
    if (!st) st = search_levels(&s, err);
    if (!st) st = report_take_trials(s.report, &s.trials, err);
    if (!st) {
        *out = s.report;
        s.report = NULL;
    }
    pgy_rewrite_report_destroy(s.report);
    pgy_backend_options_destroy(s.own);
    strvec_deinit(&s.given);
    file_temp_release(s.before);
    file_temp_release(s.after);
    trials_deinit(&s.trials);
    return st;
}
