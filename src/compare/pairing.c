/* SPDX-License-Identifier: Apache-2.0 */
/* One iteration of two runners under one comparison function: which output is compared with which
 * (semantics 2.5), the lines around it, and the statistics of what was compared. Outputs of either
 * side that were compared with nothing are counted, so that a verdict cannot be formed by leaving
 * them out. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/pytext.h"
#include "compare/compare.h"
#include "compare/judge.h"
#include "compare/stats.h"

static const char LOG_PATH[] = "comparator/compare.py";

/* ---- Partners
 * ---------------------------------------------------------------------------------------- */

/* The output of b that belongs to output i of a, or NULL. Every name contains itself. */
static const char *find_partner(const pgy_iteration *a, const pgy_iteration *b, size_t i)
{
    const char *name = pgy_tensor_map_name(a->outputs, i);
    size_t count = pgy_tensor_map_count(b->outputs);
    if (pgy_tensor_map_find(b->outputs, name)) return name;
    for (size_t k = 0; k < count; k++) {
        const char *other = pgy_tensor_map_name(b->outputs, k);
        if (str_contains_nocase(other, name) || str_contains_nocase(name, other)) return other;
    }
    return i < count ? pgy_tensor_map_name(b->outputs, i) : NULL;
}

/* A partner with an exact counterpart of its own is not taken away from it. */
static bool is_taken(const pgy_iteration *a, const char *name, const char *partner)
{
    return strcmp(name, partner) != 0 && pgy_tensor_map_find(a->outputs, partner) != NULL;
}

typedef struct pairing_run {
    const pgy_compare *compare;
    const pgy_iteration *a, *b;
    bool compat;
    pgy_verdicts *out;
    strvec matched, mismatched;
    bool *used; /* per output of b */
    size_t left_over;
    bool stopped; /* by the function's own fail_fast */
} pairing_run;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while comparing outputs");
}

static const char *label_prefix(const pgy_compare *c, char *room, size_t size)
{
    const char *label = pgy_compare_kind_label(c->options.kind);
    size_t n = strlen(label) < size - 4 ? strlen(label) : size - 4;
    room[0] = 0;
    if (n) {
        memcpy(room, label, n);
        memcpy(room + n, " | ", 4);
    }
    return room;
}

static pgy_status load_side(compare_side *side, const pgy_iteration *it, const char *output,
                            pgy_error *err)
{
    side->runner = it->runner_name;
    side->output = output;
    pgy_status st = pgy_tensor_load(&side->tensor, pgy_tensor_map_find(it->outputs, output), err);
    return st ? pgy_error_prefix(err, st, "output '%s' of %s: ", output, it->runner_name) : PGY_OK;
}

static void log_start(const compare_job *job)
{
    char prefix[64];
    str a = {0}, b = {0};
    if (!LOG_IS_ON(START)) return;
    compare_describe(&a, job->a.tensor);
    compare_describe(&b, job->b.tensor);
    LOG(START, "%sComparing Output: '%s' %s with '%s' %s",
        label_prefix(job->compare, prefix, sizeof prefix), job->a.output, str_text(&a),
        job->b.output, str_text(&b));
    str_deinit(&a);
    str_deinit(&b);
}

static pgy_status compare_pair(bool *passed, pairing_run *run, const char *name,
                               const char *partner, pgy_error *err)
{
    compare_job job = {.compare = run->compare, .compat = run->compat};
    pgy_verdict v = {.output = (char *)name, .kind = run->compare->options.kind};
    pgy_status st = load_side(&job.a, run->a, name, err);
    if (!st) st = load_side(&job.b, run->b, partner, err);
    if (st) goto done;
    log_start(&job);
    pgy_log_indent(1);
    switch (v.kind) {
    case PGY_COMPARE_SIMPLE: st = simple_compare(&v, &job, err); break;
    case PGY_COMPARE_INDICES: st = indices_compare(&v, &job, err); break;
    default: st = metric_compare(&v, &job, err);
    }
    pgy_log_indent(-1);
    if (!st) st = verdicts_put(run->out, &v, err);
    *passed = v.passed;
done:
    pgy_tensor_release(job.a.tensor);
    pgy_tensor_release(job.b.tensor);
    return st;
}

static void mark_used(pairing_run *run, const char *partner)
{
    for (size_t k = 0; k < pgy_tensor_map_count(run->b->outputs); k++)
        if (!strcmp(pgy_tensor_map_name(run->b->outputs, k), partner)) run->used[k] = true;
}

static void log_unmatched(const pairing_run *run, const pgy_iteration *side,
                          const pgy_iteration *other, const char *name, const char *why)
{
    pgy_log_write(run->compat ? PGY_LOG_WARNING : PGY_LOG_ERROR, LOG_PATH, __LINE__,
                  "Output: '%s' of %s was not compared: %s has no output for it%s", name,
                  side->runner_name, other->runner_name, why);
}

static pgy_status compare_output(pairing_run *run, size_t i, pgy_error *err)
{
    const char *name = pgy_tensor_map_name(run->a->outputs, i);
    const char *partner = find_partner(run->a, run->b, i);
    bool passed = false;
    if (partner && is_taken(run->a, name, partner)) {
        LOG(VERBOSE, "Will not compare %s with %s, since the former already has an exact match: %s",
            partner, name, partner);
        partner = NULL;
    }
    if (!partner) {
        run->left_over++;
        log_unmatched(run, run->a, run->b, name, "");
        return PGY_OK;
    }
    if (strcmp(name, partner))
        LOG(WARNING,
            "Output names did not match exactly. Assuming %s output: %s corresponds to output: %s",
            run->b->runner_name, partner, name);
    mark_used(run, partner);
    pgy_status st = compare_pair(&passed, run, name, partner, err);
    if (st) return st;
    if (!strvec_push(passed ? &run->matched : &run->mismatched, name)) return no_memory(err);
    run->stopped = !passed && run->compare->options.fail_fast;
    return PGY_OK;
}

static void log_end(const pairing_run *run)
{
    char prefix[64];
    str names = {0};
    const strvec *list = run->mismatched.count ? &run->mismatched : &run->matched;
    label_prefix(run->compare, prefix, sizeof prefix);
    str_append_py_list(&names, (const char *const *)list->items, list->count);
    if (run->mismatched.count)
        LOG(ERROR, "FAILED | %sMismatched outputs: %s", prefix, str_text(&names));
    else
        LOG(FINISH, "PASSED | %sAll outputs matched | Outputs: %s", prefix, str_text(&names));
    str_deinit(&names);
}

static void append_names(str *s, const pgy_iteration *it)
{
    str_printf(s, " %s outputs: [", it->runner_name);
    for (size_t i = 0; i < pgy_tensor_map_count(it->outputs); i++) {
        str_append(s, i ? ", " : "");
        str_append_py_repr(s, pgy_tensor_map_name(it->outputs, i));
    }
    str_append_char(s, ']');
}

static pgy_status refuse_nothing_common(const pgy_iteration *a, const pgy_iteration *b,
                                        pgy_error *err)
{
    str text = {0};
    append_names(&text, a);
    append_names(&text, b);
    pgy_status st = pgy_error_set(err, PGY_E_ARGUMENT,
                                  "All outputs were skipped, no common outputs found! Note:%s",
                                  str_text(&text));
    str_deinit(&text);
    return st;
}

/* A function of the caller's pairs by itself; but no verdict on anything is no comparison. */
static pgy_status compare_by_callback(pgy_verdicts *out, size_t *unmatched, const pgy_compare *c,
                                      const pgy_iteration *a, const pgy_iteration *b, bool compat,
                                      pgy_error *err)
{
    size_t outputs = pgy_tensor_map_count(a->outputs) + pgy_tensor_map_count(b->outputs);
    pgy_status st = c->options.callback(out, a, b, c->options.user, err);
    if (st || pgy_verdicts_count(out) || !outputs) return st;
    *unmatched += outputs;
    pgy_log_write(compat ? PGY_LOG_WARNING : PGY_LOG_ERROR, LOG_PATH, __LINE__,
                  "The comparison function%s%s gave no verdict on any output of %s and %s",
                  c->options.label ? " " : "", c->options.label ? c->options.label : "",
                  a->runner_name, b->runner_name);
    return PGY_OK;
}

static void count_unused(pairing_run *run)
{
    for (size_t k = 0; k < pgy_tensor_map_count(run->b->outputs); k++) {
        if (run->used[k]) continue;
        run->left_over++;
        log_unmatched(run, run->b, run->a, pgy_tensor_map_name(run->b->outputs, k), "");
    }
}

pgy_status compare_iteration(pgy_verdicts *out, size_t *unmatched, const pgy_compare *c,
                             const pgy_iteration *a, const pgy_iteration *b, bool compat,
                             pgy_error *err)
{
    if (c->options.kind == PGY_COMPARE_CALLBACK)
        return compare_by_callback(out, unmatched, c, a, b, compat, err);
    pairing_run run = {.compare = c, .a = a, .b = b, .compat = compat, .out = out};
    size_t count = pgy_tensor_map_count(a->outputs), others = pgy_tensor_map_count(b->outputs);
    pgy_status st = PGY_OK;
    run.used = mem_calloc(others + 1, sizeof *run.used);
    if (!run.used) return no_memory(err);
    compare_warn_extra_names(c, a, b);
    if (c->options.no_shape_check && c->options.kind != PGY_COMPARE_INDICES)
        LOG_ONCE(INFO, "Strict shape checking disabled. Will attempt to match output shapes before "
                       "comparisons");
    for (size_t i = 0; i < count && !run.stopped; i++) {
        st = compare_output(&run, i, err);
        if (st) goto done;
    }
    if (run.stopped) goto done;
    log_end(&run);
    if (!run.matched.count && !run.mismatched.count && (count || others)) {
        st = refuse_nothing_common(a, b, err);
        goto done;
    }
    count_unused(&run);
    *unmatched += run.left_over;
done:
    mem_free(run.used);
    strvec_deinit(&run.matched);
    strvec_deinit(&run.mismatched);
    return st;
}

/* ---- Shapes
 * ------------------------------------------------------------------------------------------ */

static void log_shapes(const compare_job *job)
{
    str a = {0}, b = {0};
    str_append_py_tuple(&a, pgy_tensor_shape(job->a.tensor), pgy_tensor_rank(job->a.tensor));
    str_append_py_tuple(&b, pgy_tensor_shape(job->b.tensor), pgy_tensor_rank(job->b.tensor));
    LOG(ERROR,
        "FAILED | Output: `%s` | Will not compare outputs of different shapes.\nNote: Output "
        "shapes are %s and %s.",
        job->a.output, str_text(&a), str_text(&b));
    LOG_ONCE(ERROR, "Note: Use --no-shape-check or set check_shapes=False to attempt to compare "
                    "values anyway.");
    str_deinit(&a);
    str_deinit(&b);
}

pgy_status pairing_match_shapes(bool *same, pgy_tensor **a, pgy_tensor **b, const compare_job *job,
                                pgy_error *err)
{
    pgy_tensor *first = job->a.tensor, *second = job->b.tensor, *x = NULL, *y = NULL;
    pgy_status st = PGY_OK;
    *same = pgy_view_same_shape(pgy_tensor_view(first), pgy_tensor_view(second));
    if (*same) {
        *a = pgy_tensor_retain(first);
        *b = pgy_tensor_retain(second);
        return PGY_OK;
    }
    if (!job->compare->options.no_shape_check) {
        log_shapes(job);
        return PGY_OK;
    }
    st = pgy_match_shape(&y, second, pgy_tensor_rank(first), pgy_tensor_shape(first), err);
    if (st) return st;
    if (pgy_tensor_count(first) != pgy_tensor_count(y)) {
        LOG(ERROR, "FAILED | Output: `%s` | Cannot compare %zu elements with %zu.", job->a.output,
            pgy_tensor_count(first), pgy_tensor_count(y));
        pgy_tensor_release(y);
        return PGY_OK;
    }
    st = pgy_tensor_reshape(&x, first, pgy_tensor_rank(y), pgy_tensor_shape(y), err);
    if (st) {
        pgy_tensor_release(y);
        return st;
    }
    *same = true;
    *a = x;
    *b = y;
    return PGY_OK;
}

/* ---- Statistics of what was compared
 * ------------------------------------------------------------------ */

typedef struct logged_output {
    str prefix;
    pgy_tensor *tensor, *narrow;
    pgy_view view;
    source s;
    array_stats stats;
} logged_output;

static void logged_deinit(logged_output *l)
{
    str_deinit(&l->prefix);
    pgy_tensor_release(l->tensor);
    pgy_tensor_release(l->narrow);
}

static pgy_status logged_init(logged_output *l, const pgy_iteration *it, const char *output,
                              pgy_error *err)
{
    str_printf(&l->prefix, "%s: %s | Stats: ", it->runner_name, output);
    pgy_status st = pgy_tensor_load(&l->tensor, pgy_tensor_map_find(it->outputs, output), err);
    if (st) return st;
    l->view = pgy_tensor_view(l->tensor);
    if (l->view.dtype == PGY_STRING) return PGY_OK;
    st = arith_compact(&l->narrow, l->tensor, err);
    if (st) return st;
    l->s = source_array(pgy_tensor_view(l->narrow));
    stats_request request = stats_request_line();
    return stats_compute(&l->stats, NULL, &l->s, &request, err);
}

static pgy_status log_logged(const logged_output *l, bool failed, const histogram_range *range,
                             pgy_error *err)
{
    static const char UTIL_PATH[] = "comparator/util.py";
    if (l->view.dtype == PGY_STRING) {
        pgy_log_write(PGY_LOG_INFO, UTIL_PATH, __LINE__, "%s<Error while computing statistics>",
                      str_text(&l->prefix));
        return PGY_OK;
    }
    stats_place place = {str_text(&l->prefix), &l->s,  0,      (size_t)l->view.rank,
                         l->view.shape,        failed, *range, &l->view};
    return stats_log(&place, &l->stats, err);
}

static pgy_status log_pair(const pgy_iteration *a, const pgy_iteration *b, const char *name,
                           const char *partner, bool failed, pgy_error *err)
{
    logged_output x = {0}, y = {0};
    pgy_status st = logged_init(&x, a, name, err);
    if (!st) st = logged_init(&y, b, partner, err);
    if (!st) {
        histogram_range range = {.given = true};
        range.low = y.stats.min < x.stats.min ? y.stats.min : x.stats.min;
        range.high = y.stats.max > x.stats.max ? y.stats.max : x.stats.max;
        st = log_logged(&x, failed, &range, err);
        if (!st) st = log_logged(&y, failed, &range, err);
    }
    logged_deinit(&x);
    logged_deinit(&y);
    return st;
}

/* Is there a verdict on this output, and did it fail in any list? */
static bool find_verdict(bool *failed, const pgy_verdicts *const *verdicts, size_t count,
                         const char *output)
{
    bool found = false;
    *failed = false;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < pgy_verdicts_count(verdicts[i]); k++) {
            const pgy_verdict *v = pgy_verdicts_at(verdicts[i], k);
            if (strcmp(v->output, output)) continue;
            found = true;
            *failed |= !v->passed;
        }
    return found;
}

pgy_status compare_log_outputs(const pgy_iteration *a, const pgy_iteration *b,
                               const pgy_verdicts *const *verdicts, size_t count, pgy_error *err)
{
    if (!pgy_log_is_on(PGY_LOG_INFO, "comparator/util.py")) return PGY_OK;
    for (size_t i = 0; i < pgy_tensor_map_count(a->outputs); i++) {
        const char *name = pgy_tensor_map_name(a->outputs, i), *partner = find_partner(a, b, i);
        bool failed;
        if (!find_verdict(&failed, verdicts, count, name)) continue;
        if (!partner || is_taken(a, name, partner)) continue;
        pgy_status st = log_pair(a, b, name, partner, failed, err);
        if (st) return st;
    }
    return PGY_OK;
}
