/* SPDX-License-Identifier: Apache-2.0 */
/* Losses against stored outputs. A loss that is NaN, an output without a reference or of a type
 * that cannot be compared fails; with --compat it passes, as in the original. */
#include "cli/trtexec/accuracy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"

static const char LOG_PATH[] = "cli/trtexec/accuracy.c";

static const char *const ALGORITHMS[] = {"l0", "l1", "l2", "lInf", "cos"};

typedef struct criterion {
    pgy_perf_loss_kind kind;
    double atol, rtol, threshold;
} criterion;

typedef struct pair {
    const char *inputs, *references;
    bool numbered;
} pair;

/* ---- Options -------------------------------------------------------------------------------- */

static bool is_wanted(const trtexec_args *a)
{
    return trtexec_given(a, "--loadRefOutputs") || trtexec_given(a, "--refPair");
}

static pgy_status read_criterion(criterion *c, const trtexec_args *a, pgy_error *err)
{
    const char *name = a->algorithm ? a->algorithm : "l0";
    size_t kind = 0;
    *c = (criterion){.atol = 1e-5, .rtol = 1e-5};
    while (kind < 5 && strcmp(ALGORITHMS[kind], name)) kind++;
    if (kind == 5)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--accuracyAlgorithm: '%s' is not one of l0, l1, l2, lInf, cos", name);
    c->kind = (pgy_perf_loss_kind)kind;
    pgy_status st = PGY_OK;
    if (a->threshold) st = trtexec_real(&c->threshold, a->threshold, "--accuracyThreshold", 0, err);
    if (!st && a->threshold && c->threshold == 0)
        st = pgy_error_set(err, PGY_E_ARGUMENT, "--accuracyThreshold: 0 is not positive");
    if (!st && a->atol) st = trtexec_real(&c->atol, a->atol, "--atol", 0, err);
    if (!st && a->rtol) st = trtexec_real(&c->rtol, a->rtol, "--rtol", 0, err);
    return st;
}

/* Without --refPair all files form one pair. */
static pgy_status read_pairs(pair **out, size_t *count, trtexec_session *s, pgy_error *err)
{
    pair *pairs = arena_alloc_array(&s->line->memory, s->a->word_count + 1, sizeof *pairs);
    if (!pairs) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pairs[0] = (pair){0};
    size_t n = 0, numbered = 0;
    for (size_t i = 0; i < s->a->word_count; i++) {
        const trtexec_word *w = &s->a->words[i];
        if (!strcmp(w->name, "--refPair")) {
            n = numbered++;
            pairs[n] = (pair){.numbered = true};
        } else if (!strcmp(w->name, "--loadRefOutputs")) {
            pairs[n].references = w->value;
        } else if (!strcmp(w->name, "--loadInputs")) {
            pairs[n].inputs = w->value;
        }
    }
    *out = pairs;
    *count = numbered ? numbered : 1;
    if (numbered == 1)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--refPair: one pair; give at least two, or none");
    for (size_t i = 0; i < *count; i++)
        if (!pairs[i].references || (numbered && !pairs[i].inputs))
            return pgy_error_set(err, PGY_E_ARGUMENT,
                                 "pair %zu is not complete: it needs --loadInputs and "
                                 "--loadRefOutputs",
                                 i);
    return PGY_OK;
}

pgy_status accuracy_options(trtexec_session *s, pgy_error *err)
{
    criterion c;
    pair *pairs;
    size_t count;
    if (!is_wanted(s->a)) return PGY_OK;
    if (!s->a->threshold)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "--loadRefOutputs needs --accuracyThreshold=X with X > 0");
    const pgy_status st = read_criterion(&c, s->a, err);
    return st ? st : read_pairs(&pairs, &count, s, err);
}

/* Without references a search compares with its baseline. A share of elements beyond 1e-5, which l0
 * is, would call every change of precision a total loss, so the greatest difference is the default.
 */
pgy_status accuracy_for_routes(pgy_route_options *o, const trtexec_session *s, pgy_error *err)
{
    criterion c;
    const pgy_status st = read_criterion(&c, s->a, err);
    if (st) return st;
    o->has_references = is_wanted(s->a);
    if (o->has_references || s->a->algorithm) o->loss = c.kind;
    o->atol = c.atol;
    o->rtol = c.rtol;
    o->threshold = c.threshold;
    return PGY_OK;
}

/* ---- Comparing ------------------------------------------------------------------------------ */

static pgy_status load_reference(pgy_tensor **out, const trtexec_pair *p, pgy_tensor *actual,
                                 trtexec_session *s, pgy_error *err)
{
    const char *path = NULL;
    uint64_t bytes = 0;
    pgy_status st = trtexec_path(&path, p->value, &s->line->memory, err);
    if (!st) st = file_size(&bytes, path, err);
    if (!st && bytes != pgy_tensor_size_bytes(actual))
        return pgy_error_set(
            err, PGY_E_SHAPE, "--loadRefOutputs: output '%s' has %zu bytes, but %s has %llu",
            p->name, pgy_tensor_size_bytes(actual), path, (unsigned long long)bytes);
    if (!st)
        st = pgy_raw_load(out, path, pgy_tensor_dtype(actual), pgy_tensor_rank(actual),
                          pgy_tensor_shape(actual), err);
    return st;
}

/* Keeps the greatest loss of each output, for the search that started this process. */
static pgy_status keep_loss(trtexec_session *s, const char *name, double loss, pgy_error *err)
{
    size_t i = 0;
    if (!s->losses)
        s->losses = arena_alloc_array(
            &s->line->memory, pgy_metadata_count(pgy_engine_outputs(s->engine)), sizeof *s->losses);
    if (!s->losses) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    while (i < s->loss_count && strcmp(s->losses[i].name, name)) i++;
    if (i == s->loss_count) s->losses[s->loss_count++] = (pgy_route_loss){name, loss};
    if (!(loss <= s->losses[i].loss)) s->losses[i].loss = loss;
    return PGY_OK;
}

static pgy_status compare(bool *passed, const trtexec_pair *p, const pgy_tensor_map *outputs,
                          const criterion *c, trtexec_session *s, pgy_error *err)
{
    pgy_tensor *actual = pgy_tensor_map_find(outputs, p->name), *reference = NULL;
    double loss = 0;
    if (!actual)
        return pgy_error_set(err, PGY_E_NOT_FOUND,
                             "--loadRefOutputs: the engine has no output '%s'", p->name);
    pgy_status st = load_reference(&reference, p, actual, s, err);
    if (!st)
        st = pgy_perf_loss(&loss, c->kind, pgy_tensor_view(actual), pgy_tensor_view(reference),
                           c->atol, c->rtol, err);
    pgy_tensor_release(reference);
    if (st) return st;
    const bool good = s->a->compat ? !(loss >= c->threshold) : loss < c->threshold;
    LOG(INFO, "Output %s: %s loss = %g, threshold = %g: %s", p->name, ALGORITHMS[c->kind], loss,
        c->threshold, good ? "passed" : "failed");
    *passed = *passed && good;
    return keep_loss(s, p->name, loss, err);
}

/* Every output needs a reference. */
static void check_complete(bool *passed, const trtexec_session *s, const pgy_tensor_map *outputs,
                           const trtexec_pair *pairs, size_t count)
{
    for (size_t i = 0; i < pgy_tensor_map_count(outputs); i++) {
        size_t k = 0;
        while (k < count && strcmp(pairs[k].name, pgy_tensor_map_name(outputs, i))) k++;
        if (k < count || s->a->compat) continue;
        LOG(ERROR, "Output %s has no reference in --loadRefOutputs",
            pgy_tensor_map_name(outputs, i));
        *passed = false;
    }
}

static pgy_status check_pair(bool *passed, const pair *p, const pgy_tensor_map *feed,
                             const criterion *c, trtexec_session *s, pgy_error *err)
{
    pgy_perf_options once = s->loop;
    pgy_tensor_map *inputs = NULL, *outputs = NULL;
    pgy_perf_trace *trace = NULL;
    trtexec_pair *references = NULL;
    size_t count = 0;
    once.iterations = once.streams = 1;
    once.duration_s = once.warm_up_ms = once.sleep_ms = once.idle_ms = 0;
    pgy_status st = pgy_tensor_map_copy(&inputs, feed, err);
    if (!st) st = infer_load_inputs(inputs, p->inputs, s, err);
    if (!st) st = pgy_perf_measure(&trace, &outputs, s->engine, inputs, &once, err);
    if (!st)
        st = trtexec_pairs(&references, &count, p->references, "--loadRefOutputs", &s->line->memory,
                           err);
    for (size_t i = 0; !st && i < count; i++)
        st = compare(passed, &references[i], outputs, c, s, err);
    if (!st) check_complete(passed, s, outputs, references, count);
    pgy_perf_trace_destroy(trace);
    pgy_tensor_map_destroy(inputs);
    pgy_tensor_map_destroy(outputs);
    return st;
}

pgy_status accuracy_check(trtexec_session *s, const pgy_tensor_map *feed, pgy_error *err)
{
    criterion c;
    pair *pairs = NULL;
    size_t count = 0;
    bool passed = true;
    if (!is_wanted(s->a)) return PGY_OK;
    pgy_status st = read_criterion(&c, s->a, err);
    if (!st) st = read_pairs(&pairs, &count, s, err);
    if (!st) LOG(INFO, "=== Accuracy ===");
    for (size_t i = 0; !st && i < count; i++) st = check_pair(&passed, &pairs[i], feed, &c, s, err);
    s->accuracy_failed = !st && !passed;
    if (!st && !passed)
        st = pgy_error_set(err, PGY_E_BACKEND, "the outputs differ too much from the references");
    return st;
}
