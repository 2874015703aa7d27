/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the outputs of all sides against a reference, after everything is measured: loading the
 * reference earlier would change the memory, and perhaps the times, of the sides. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/sized.h"
#include "perf/bench_sweep.h"

static const char LOG_PATH[] = "perf/bench_check.c";

/* What the reference gave for the last inputs. Sides often have equal ones. */
typedef struct reference_run {
    pgy_tensor_map *feed, *outputs;
} reference_run;

typedef struct checking {
    const bench_checker *checker;
    pgy_compare *compare;
    reference_run last;
} checking;

/* ---- Settings -------------------------------------------------------------------------------- */

static pgy_status check_reference(const pgy_bench_reference *r, const pgy_bench_axes *a,
                                  pgy_error *err)
{
    if (!r->name || !r->runner == !r->results)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "bench.reference needs a name, and either a runner or results");
    if (r->runner && pgy_runner_is_active(r->runner))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "bench.reference: the runner is active; deactivate it");
    if (r->results && a->count)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "bench.reference: '%s' has outputs for one shape, but a sweep has "
                             "several; give a runner",
                             r->name);
    if (r->results &&
        (!pgy_results_runner_count(r->results) || !pgy_results_iteration_count(r->results, 0)))
        return pgy_error_set(err, PGY_E_ARGUMENT, "bench.reference: '%s' has no outputs", r->name);
    if (r->tolerances && r->tolerances->kind != PGY_COMPARE_SIMPLE)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "bench.reference: the tolerances must be of the kind simple");
    return PGY_OK;
}

pgy_status bench_checker_init(bench_checker *c, const pgy_bench_options *o, const pgy_bench_axes *a,
                              pgy_error *err)
{
    c->reference = (pgy_bench_reference){.size = sizeof c->reference};
    if (!o->reference) return PGY_OK;
    const pgy_status st = SIZED_TAKE(pgy_bench_reference, &c->reference, o->reference, err);
    return st ? st : check_reference(&c->reference, a, err);
}

/* ---- What was found -------------------------------------------------------------------------- */

static pgy_status set_text(char **to, const char *text, pgy_error *err)
{
    mem_free(*to);
    *to = mem_strdup(text);
    return *to ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* Keeps the first reason. */
static pgy_status blame(bench_accuracy *a, const char *reason, pgy_error *err)
{
    return a->reason ? PGY_OK : set_text(&a->reason, reason, err);
}

static pgy_status add_verdict(bench_accuracy *a, const pgy_verdict *v, pgy_error *err)
{
    str why = {0};
    if (!v->has_metrics) {
        a->measured = false;
        str_printf(&why, "output '%s' cannot be compared: its type or shape differs", v->output);
    } else if (!isfinite(v->max_absdiff)) {
        a->measured = false;
        str_printf(&why, "the largest difference of output '%s' is %s", v->output,
                   isnan(v->max_absdiff) ? "NaN" : "infinite");
    } else if (!v->passed) {
        str_printf(&why, "output '%s' differs by up to %.4g, beyond the tolerances", v->output,
                   v->max_absdiff);
    }
    if (v->has_metrics && v->max_absdiff > a->error) a->error = v->max_absdiff;
    if (v->has_metrics && !(v->max_reldiff <= a->relative_error))
        a->relative_error = isnan(v->max_reldiff) ? INFINITY : v->max_reldiff;
    const pgy_status st = why.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory")
                          : why.size ? blame(a, str_text(&why), err)
                                     : PGY_OK;
    str_deinit(&why);
    return st;
}

static pgy_status take_verdicts(bench_accuracy *a, const pgy_accuracy_results *r, bool passed,
                                pgy_error *err)
{
    const pgy_accuracy *all = pgy_accuracy_results_count(r) ? pgy_accuracy_results_at(r, 0) : NULL;
    const bool compared =
        all && pgy_accuracy_pair_count(all) && pgy_accuracy_iteration_count(all, 0);
    const pgy_verdicts *v = compared ? pgy_accuracy_at(all, 0, 0) : NULL;
    const size_t count = v ? pgy_verdicts_count(v) : 0;
    pgy_status st = PGY_OK;
    a->measured = count > 0;
    for (size_t i = 0; !st && i < count; i++) st = add_verdict(a, pgy_verdicts_at(v, i), err);
    for (size_t i = 0; !st && i < pgy_accuracy_results_failure_count(r); i++) {
        a->measured = false;
        st = blame(a, pgy_accuracy_results_failure(r, i), err);
    }
    if (!st && !passed) st = blame(a, "no output was compared", err);
    return st;
}

/* Lines of the comparison do not say the point; the reason of the verdict has what matters. With
 * VERBOSE they are shown. */
static bool swallow(pgy_severity severity, const char *text, void *user)
{
    (void)severity;
    (void)text;
    (void)user;
    return true;
}

static pgy_status compare(bench_accuracy *a, const checking *c, const char *side,
                          const pgy_tensor_map *wanted, const pgy_tensor_map *found, pgy_error *err)
{
    pgy_results *r = NULL;
    pgy_accuracy_results *accuracy = NULL;
    pgy_judge_options judge = pgy_judge_options_default();
    bool passed = false;
    const pgy_compare *const functions[] = {c->compare};
    judge.comparisons = functions;
    judge.comparison_count = 1;
    pgy_status st = pgy_results_create(&r, err);
    if (!st) st = pgy_results_add_runner(r, c->checker->reference.name, NULL, err);
    if (!st) st = pgy_results_add(r, 0, wanted, NAN, err);
    if (!st) st = pgy_results_add_runner(r, side, NULL, err);
    if (!st) st = pgy_results_add(r, 1, found, NAN, err);
    if (!LOG_IS_ON(VERBOSE)) log_set_listener(swallow, NULL);
    if (!st)
        st = pgy_compare_accuracy(&accuracy, &passed, (const pgy_results *const *)&r, 1, &judge,
                                  err);
    log_set_listener(NULL, NULL);
    if (!st) st = take_verdicts(a, accuracy, passed, err);
    pgy_accuracy_results_destroy(accuracy);
    pgy_results_destroy(r);
    return st;
}

/* ---- The reference --------------------------------------------------------------------------- */

static bool same_tensor(const pgy_tensor *a, const pgy_tensor *b)
{
    const pgy_view x = pgy_tensor_view(a), y = pgy_tensor_view(b);
    if (x.dtype != y.dtype || x.rank != y.rank || x.dtype == PGY_STRING) return false;
    for (int32_t i = 0; i < x.rank; i++)
        if (x.shape[i] != y.shape[i]) return false;
    return memcmp(pgy_tensor_data(a), pgy_tensor_data(b), pgy_tensor_size_bytes(a)) == 0;
}

static bool same_feed(const pgy_tensor_map *a, const pgy_tensor_map *b)
{
    if (!a || pgy_tensor_map_count(a) != pgy_tensor_map_count(b)) return false;
    for (size_t i = 0; i < pgy_tensor_map_count(a); i++) {
        const pgy_tensor *t = pgy_tensor_map_find(b, pgy_tensor_map_name(a, i));
        if (!t || !same_tensor(pgy_tensor_map_at(a, i), t)) return false;
    }
    return true;
}

static void forget(reference_run *r)
{
    pgy_tensor_map_destroy(r->feed);
    pgy_tensor_map_destroy(r->outputs);
    *r = (reference_run){0};
}

/* Runs the reference on a side's inputs. */
static pgy_status run_reference(checking *c, const pgy_tensor_map *given, pgy_error *err)
{
    pgy_runner *r = c->checker->reference.runner;
    const pgy_metadata *inputs = NULL;
    pgy_tensor_map *feed = NULL;
    pgy_status st = pgy_runner_inputs(&inputs, r, err);
    if (!st)
        st = inputs ? pgy_feed_match(&feed, given, inputs, err)
                    : pgy_tensor_map_copy(&feed, given, err);
    if (st || same_feed(c->last.feed, feed)) {
        pgy_tensor_map_destroy(feed);
        return st;
    }
    forget(&c->last);
    c->last.feed = feed;
    st = pgy_runner_infer(&c->last.outputs, r, feed, err);
    if (st) forget(&c->last);
    return st;
}

static pgy_status wanted_outputs(const pgy_tensor_map **out, checking *c,
                                 const pgy_tensor_map *feed, pgy_error *err)
{
    if (c->checker->reference.results) {
        *out = pgy_results_at(c->checker->reference.results, 0, 0)->outputs;
        return PGY_OK;
    }
    const pgy_status st = run_reference(c, feed, err);
    *out = c->last.outputs;
    return st;
}

/* ---- All sides at all points ----------------------------------------------------------------- */

static pgy_status check_side(checking *c, size_t point, size_t i, pgy_error *err)
{
    const bench_checker *k = c->checker;
    const pgy_bench_side *side = &k->sides[i];
    bench_accuracy *a = &k->sweep->points[point]->sides[i].accuracy;
    const bool sweeps = k->sweep->axes->count > 0;
    pgy_tensor_map *feed = sweeps ? NULL : k->feeds[i], *outputs = NULL;
    const pgy_tensor_map *wanted = NULL;
    pgy_error why = {0};
    pgy_status st = sweeps ? bench_feed(&feed, side, k->sweep->axes, point, err) : PGY_OK;
    if (!st) st = pgy_runner_infer(&outputs, side->runner, feed, err);
    pgy_status failure = st ? PGY_OK : wanted_outputs(&wanted, c, feed, &why);
    if (status_ends_all(failure)) st = pgy_error_set(err, failure, "%s", why.text);
    if (!st && failure) st = blame(a, why.text, err);
    if (!st && !failure) st = compare(a, c, side->name, wanted, outputs, err);
    pgy_tensor_map_destroy(outputs);
    if (sweeps) pgy_tensor_map_destroy(feed);
    return st ? st : cancel_check(err);
}

/* A reference that cannot be loaded is the reason at all points. */
static pgy_status blame_all(const bench_checker *c, const char *reason, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t p = 0; !st && p < c->sweep->count; p++)
        for (size_t i = 0; !st && i < c->sweep->points[p]->count; i++)
            st = blame(&c->sweep->points[p]->sides[i].accuracy, reason, err);
    return st;
}

static pgy_status name_reference(const bench_checker *c, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t p = 0; !st && p < c->sweep->count; p++)
        for (size_t i = 0; !st && i < c->sweep->points[p]->count; i++)
            st =
                set_text(&c->sweep->points[p]->sides[i].accuracy.reference, c->reference.name, err);
    return st;
}

static pgy_status check_points(checking *c, pgy_error *err)
{
    const pgy_bench_sweep *s = c->checker->sweep;
    pgy_status st = PGY_OK;
    progress_begin("Checking outputs", s->count);
    for (size_t p = 0; !st && p < s->count; p++) {
        for (size_t i = 0; !st && i < s->points[p]->count; i++) st = check_side(c, p, i, err);
        progress_advance(p + 1);
    }
    progress_end();
    return st;
}

pgy_status bench_check_all(const bench_checker *k, pgy_error *err)
{
    checking c = {.checker = k};
    pgy_runner *r = k->reference.runner;
    pgy_error why = {0};
    if (!k->reference.name) return PGY_OK;
    const pgy_compare_options simple = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    const pgy_compare_options *o = k->reference.tolerances;
    pgy_status st = name_reference(k, err);
    if (!st) st = pgy_compare_create(&c.compare, o ? o : &simple, err);
    pgy_status failure = st || !r ? PGY_OK : pgy_runner_activate(r, &why);
    if (status_ends_all(failure))
        st = pgy_error_set(err, failure, "%s", why.text);
    else if (failure)
        st = blame_all(k, why.text, err);
    if (!st && !failure) st = check_points(&c, err);
    if (r && pgy_runner_is_active(r)) pgy_runner_deactivate(r);
    forget(&c.last);
    pgy_compare_destroy(c.compare);
    return st;
}

bool pgy_bench_check(pgy_bench_accuracy *out, const pgy_bench *b, size_t side)
{
    const bench_accuracy *a = side < b->count ? &b->sides[side].accuracy : NULL;
    if (!a || !a->reference) return false;
    *out = (pgy_bench_accuracy){.reference = a->reference,
                                .measured = a->measured,
                                .passed = a->measured && !a->reason,
                                .error = a->measured ? a->error : NAN,
                                .relative_error = a->measured ? a->relative_error : NAN,
                                .reason = a->reason ? a->reason : ""};
    return true;
}
