/* SPDX-License-Identifier: Apache-2.0 */
/* One trial of a minimisation: the verdict comes from the replay, the judge or the caller's test.
 */
#include <string.h>

#include "base/log.h"
#include "debug/minimise.h"
#include "debug/session.h"

static const char LOG_PATH[] = "debug/trial.c";

typedef struct test_call {
    minimisation *m;
    const candidate_part *candidate;
    pgy_debug_finding finding;
} test_call;

static pgy_status run_test(bool *passed, void *user, pgy_error *err)
{
    test_call *c = user;
    const pgy_debug_minimise_options *o = c->m->options;
    const pgy_tensor_map *const *feeds = (const pgy_tensor_map *const *)c->candidate->feeds;
    c->m->evaluations++;
    const pgy_status st =
        o->judge
            ? pgy_debug_judge_run(&c->finding, NULL, o->judge, c->candidate->model, feeds,
                                  c->candidate->count, err)
            : o->test(&c->finding, c->candidate->model, feeds, c->candidate->count, o->user, err);
    if (st) return st;
    *passed = c->finding.outcome != o->on;
    LOG(INFO, "%s%s%s", pgy_debug_outcome_name(c->finding.outcome), *c->finding.text ? ": " : "",
        c->finding.text);
    return PGY_OK;
}

size_t minimise_count_nodes(const pgy_model *model)
{
    return pgy_model_proto(model)->graph->node_count;
}

static pgy_status report(const minimisation *m, pgy_error *err)
{
    const pgy_debug_minimise_options *o = m->options;
    const pgy_debug_minimum best = {.model = m->best.model,
                                    .feeds = m->best.feeds,
                                    .feed_count = m->best.count,
                                    .original_nodes = m->original_nodes,
                                    .nodes = m->nodes,
                                    .evaluations = m->evaluations,
                                    .finding = m->finding};
    return o->improved ? o->improved(&best, o->user, err) : PGY_OK;
}

static int64_t state_of(const pgy_debug_trial *t, const char *name)
{
    for (size_t i = 0; i < t->state_count; i++)
        if (strcmp(t->state[i].name, name) == 0) return t->state[i].value;
    return -1;
}

static pgy_status judge(bool *fails, test_call *c, const char *phase, pgy_error *err)
{
    minimisation *m = c->m;
    const int64_t nodes = (int64_t)minimise_count_nodes(c->candidate->model);
    const debug_trial_test test = {
        .phase = phase, .run = run_test, .user = c, .remaining = m->remaining};
    pgy_debug_trial t = {.index = m->trials,
                         .state = {{"num_nodes", nodes}, {"model_key", m->model_key}},
                         .state_count = 2};
    bool known;
    pgy_log_indent(1);
    pgy_status st = debug_session_try(&known, m->session, &t, &test, err);
    pgy_log_indent(-1);
    if (st) return st;
    if (known && (state_of(&t, "model_key") != m->model_key || state_of(&t, "num_nodes") != nodes))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "debug.load_replay: trial %lld of the replay belongs to another "
                             "model or another search; start without the replay",
                             (long long)m->trials);
    if (known && !t.passed) c->finding.outcome = m->options->on;
    m->trials++;
    if (m->remaining > 1) m->remaining--;
    *fails = !t.passed;
    return PGY_OK;
}

pgy_status minimise_try(bool *fails, minimisation *m, candidate_part *candidate, const char *phase,
                        pgy_error *err)
{
    test_call c = {.m = m, .candidate = candidate};
    *fails = false;
    pgy_status st = candidate->model ? judge(fails, &c, phase, err) : PGY_OK;
    if (!st && *fails) {
        part_free(&m->best);
        m->best = *candidate;
        *candidate = (candidate_part){0};
        m->finding = c.finding;
        m->nodes = minimise_count_nodes(m->best.model);
        st = report(m, err);
    }
    part_free(candidate);
    return st;
}

pgy_status minimise_judge(bool *fails, pgy_debug_finding *finding, minimisation *m,
                          const candidate_part *candidate, const char *phase, pgy_error *err)
{
    test_call c = {.m = m, .candidate = candidate};
    const pgy_status st = judge(fails, &c, phase, err);
    *finding = c.finding;
    return st;
}
