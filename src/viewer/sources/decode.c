/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `run --decode --report`: a table of the steps, one of the times, and the tensors
 * that differ. */
#include <string.h>

#include "viewer/sources/result_file.h"

enum {
    PAIR,
    STEP,
    PAST,
    TOKENS,
    VERDICT,
    LOGITS_ABS,
    LOGITS_REL,
    CACHES_ABS,
    CACHES_REL,
    WORST,
    ERROR,
    ALLOWED,
    TOP1,
    TOP5,
    CHOICE,
    COLUMN_COUNT
};
static const view_column COLUMNS[COLUMN_COUNT] = {{"runner", VIEW_COLUMN_TEXT},
                                                  {"step", VIEW_COLUMN_NUMBER},
                                                  {"past", VIEW_COLUMN_NUMBER},
                                                  {"tokens", VIEW_COLUMN_NUMBER},
                                                  {"verdict", VIEW_COLUMN_VERDICT},
                                                  {"logits, absolute", VIEW_COLUMN_NUMBER},
                                                  {"logits, relative", VIEW_COLUMN_NUMBER},
                                                  {"caches, absolute", VIEW_COLUMN_NUMBER},
                                                  {"caches, relative", VIEW_COLUMN_NUMBER},
                                                  {"worst tensor", VIEW_COLUMN_TENSOR},
                                                  {"error", VIEW_COLUMN_NUMBER},
                                                  {"allowed", VIEW_COLUMN_NUMBER},
                                                  {"same top-1", VIEW_COLUMN_PERCENT},
                                                  {"same top-5", VIEW_COLUMN_PERCENT},
                                                  {"chosen", VIEW_COLUMN_NUMBER}};

static const char *const TIMES[] = {"prefill", "mean", "min", "median", "p90", "p95", "p99", "max"};
enum { TIME_COUNT = sizeof TIMES / sizeof *TIMES };

static bool accept(const char *path, span start, const json_value *json)
{
    (void)path, (void)start;
    const json_value *format = json_get(json, "format");
    return format && format->type == JSON_STRING && span_equals(format->raw, "polygraphy-decode");
}

static pgy_status refuse(const json_value *at, const char *expected, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_FORMAT, "line %u: %s is expected", at ? at->line : 1, expected);
}

static bool is_array(const json_value *v)
{
    return v && v->type == JSON_ARRAY;
}

/* ---- Steps ------------------------------------------------------------------------------------
 */

/* The group of outputs that is farthest beyond what is allowed. */
static const json_value *worst_group(const json_value *step)
{
    static const char *const GROUPS[] = {"logits", "caches", "others"};
    const json_value *best = NULL;
    double largest = -1;
    for (size_t i = 0; i < 3; i++) {
        const json_value *group = json_get(step, GROUPS[i]);
        const double error = result_number(group, "error"),
                     allowed = result_number(group, "allowed");
        const double ratio = isnan(error) || isnan(allowed) ? 0 : error / allowed;
        if (!group || !(ratio > largest || !best)) continue;
        best = group;
        largest = ratio;
    }
    return best;
}

static pgy_status mark(result_file *f, const json_value *worst, const char *tensor, double step,
                       bool passed, pgy_error *err)
{
    const uint32_t at = tensor ? result_tensor(f, tensor) : VIEW_NONE;
    if (at == VIEW_NONE) return PGY_OK;
    pgy_status st = PGY_OK;
    const double error = result_number(worst, "error");
    if (!isnan(error)) st = result_set_worst(f, Q_ERROR, at, error, err);
    if (st || passed) return st;
    return result_mark(f, VIEW_OF_TENSOR, at, VIEW_MARK_FAIL, err,
                       "differs in step %.0f of decoding", step);
}

static pgy_status add_step(view_table *t, result_file *f, const char *runner,
                           const json_value *chosen, const json_value *v, const json_value *about,
                           pgy_error *err)
{
    const double step = result_number(v, "step"), positions = result_number(v, "positions");
    const json_value *worst = worst_group(v), *logits = json_get(v, "logits"),
                     *caches = json_get(v, "caches");
    const char *tensor = worst ? result_text(f, worst, "tensor") : NULL;
    const bool compared = result_bool(v, "compared"), passed = result_bool(v, "passed");
    view_cell cells[COLUMN_COUNT] = {{0}};
    if (isnan(step)) return refuse(v, "a step with 'step'", err);
    const uint32_t at = tensor ? view_graph_tensor(f->graph, tensor) : VIEW_NONE;
    cells[PAIR] = cell_text(runner);
    cells[STEP] = cell_number(step);
    cells[PAST] = cell_measured(result_number(about, "past"));
    cells[TOKENS] = cell_measured(result_number(about, "length"));
    cells[VERDICT] = compared ? cell_verdict(passed) : cell_text(NULL);
    cells[LOGITS_ABS] = cell_measured(result_number(logits, "max_abs"));
    cells[LOGITS_REL] = cell_measured(result_number(logits, "max_rel"));
    cells[CACHES_ABS] = cell_measured(result_number(caches, "max_abs"));
    cells[CACHES_REL] = cell_measured(result_number(caches, "max_rel"));
    cells[WORST] = cell_ref(at, tensor);
    cells[ERROR] = cell_measured(result_number(worst, "error"));
    cells[ALLOWED] = cell_measured(result_number(worst, "allowed"));
    cells[TOP1] = cell_measured(100 * result_number(v, "same_top1") / positions);
    cells[TOP5] = cell_measured(100 * result_number(v, "same_top5"));
    cells[CHOICE] = chosen && chosen->type == JSON_INT ? cell_number((double)chosen->integer)
                                                       : cell_measured(NAN);
    const pgy_status st = view_table_row(f->results, t, cells, err);
    return st ? st : mark(f, worst, tensor, step, passed || !compared, err);
}

static pgy_status add_pair(view_table *t, result_file *f, const json_value *v, size_t index,
                           pgy_error *err)
{
    const json_value *steps = json_get(v, "steps"), *about = json_get(f->json.root, "steps");
    const char *runner = result_text(f, v, "second");
    const json_value *runners = json_get(f->json.root, "runners");
    const json_value *chooser = is_array(runners) ? json_at(runners, index + 1) : NULL;
    const json_value *texts = json_get(chooser, "tokens");
    const json_value *text = is_array(texts) ? texts->first : NULL; /* that of row 0 */
    pgy_status st = PGY_OK;
    if (!is_array(steps) || !runner) return refuse(v, "a pair with 'second' and 'steps'", err);
    const json_value *place = is_array(about) ? about->first : NULL;
    const json_value *chosen = is_array(text) ? text->first : NULL;
    for (const json_value *s = steps->first; !st && s; s = s->next) {
        st = add_step(t, f, runner, chosen, s, place, err);
        place = place ? place->next : NULL;
        chosen = chosen ? chosen->next : NULL;
    }
    return st;
}

/* ---- Times ------------------------------------------------------------------------------------
 */

static pgy_status add_times(result_file *f, pgy_error *err)
{
    view_column columns[TIME_COUNT + 1] = {{"runner", VIEW_COLUMN_TEXT}};
    const json_value *runners = json_get(f->json.root, "runners");
    view_table *t = NULL;
    for (size_t i = 0; i < TIME_COUNT; i++)
        columns[i + 1] = (view_column){TIMES[i], VIEW_COLUMN_US};
    pgy_status st = result_table(&t, f, "decode_times", "Times of decoding steps", columns,
                                 TIME_COUNT + 1, err);
    for (const json_value *v = is_array(runners) ? runners->first : NULL; !st && v; v = v->next) {
        const json_value *latency = json_get(v, "latency_ms");
        view_cell cells[TIME_COUNT + 1] = {{0}};
        cells[0] = cell_text(result_text(f, v, "name"));
        for (size_t i = 0; i < TIME_COUNT; i++)
            cells[i + 1] = cell_measured(1e3 * result_number(latency, TIMES[i]));
        st = view_table_row(f->results, t, cells, err);
    }
    return st;
}

/* ---- The verdict ------------------------------------------------------------------------------
 */

static pgy_status conclude(result_file *f, pgy_error *err)
{
    const json_value *root = f->json.root;
    const char *reason = result_text(f, root, "reason");
    const bool passed = result_bool(root, "passed");
    const json_value *steps = json_get(root, "steps");
    pgy_status st =
        result_summary(f, "Decoding", "steps", err, "%zu", is_array(steps) ? steps->count : 0);
    const double batch = result_number(root, "batch");
    if (!st && !isnan(batch)) st = result_summary(f, "Decoding", "batch", err, "%.0f", batch);
    if (!st && reason && *reason) st = result_summary(f, "Decoding", "reason", err, "%s", reason);
    if (st) return st;
    return result_judge(f, passed, false,
                        passed || !reason || !*reason ? "all steps of decoding agree" : reason,
                        err);
}

static pgy_status add(pgy_page *p, const char *path, pgy_error *err)
{
    result_file f;
    view_table *t = NULL;
    size_t index = 0;
    pgy_status st = result_open_json(&f, p, path, err);
    if (!st) st = result_table(&t, &f, "decode", "Steps of decoding", COLUMNS, COLUMN_COUNT, err);
    const json_value *pairs = st ? NULL : json_get(f.json.root, "pairs");
    for (const json_value *v = is_array(pairs) ? pairs->first : NULL; !st && v; v = v->next)
        st = add_pair(t, &f, v, index++, err);
    if (!st) st = add_times(&f, err);
    if (!st && index) st = result_end(&f, "tensors", err);
    if (!st) st = conclude(&f, err);
    result_close(&f);
    return st;
}

const view_source view_source_decode = {"decode", "steps of run --decode", accept, add};
