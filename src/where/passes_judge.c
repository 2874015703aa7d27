/* SPDX-License-Identifier: Apache-2.0 */
/* Judges the outputs of a trial by the rule of `where`, as a comparison function. */
#include "where/passes_trial.h"
#include "where/where.h"

static bool same_shape(const pgy_view *a, const pgy_view *b)
{
    if (a->rank != b->rank) return false;
    for (int32_t i = 0; i < a->rank; i++)
        if (a->shape[i] != b->shape[i]) return false;
    return true;
}

static pgy_status judge_output(bool *passed, const trials_rule *rule, const char *name,
                               pgy_tensor *made, pgy_tensor *wanted, pgy_error *err)
{
    const pgy_view a = pgy_tensor_view(wanted), b = pgy_tensor_view(made);
    where_verdict v = {.differs = true};
    const where_terms terms = {.options = rule->options, .floor = rule->floor, .name = name};
    pgy_status st = same_shape(&a, &b) ? rule->judge->judge(&v, &terms, wanted, made, err) : PGY_OK;
    *passed = !v.differs;
    return st;
}

/* a: the trial, b: the reference. Outputs that one side lacks do not pass. */
static pgy_status judge(struct pgy_verdicts *out, const pgy_iteration *a, const pgy_iteration *b,
                        void *user, pgy_error *err)
{
    const trials_rule *rule = user;
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(b->outputs); i++) {
        const char *name = pgy_tensor_map_name(b->outputs, i);
        pgy_tensor *made = pgy_tensor_map_find(a->outputs, name);
        bool passed = false;
        if (made)
            st = judge_output(&passed, rule, name, made, pgy_tensor_map_at(b->outputs, i), err);
        if (!st) st = pgy_verdicts_set(out, name, passed, err);
    }
    for (size_t i = 0; !st && i < pgy_tensor_map_count(a->outputs); i++) {
        const char *name = pgy_tensor_map_name(a->outputs, i);
        if (!pgy_tensor_map_find(b->outputs, name)) st = pgy_verdicts_set(out, name, false, err);
    }
    return st;
}

pgy_status trials_compare_create(pgy_compare **out, trials_rule *rule, const pgy_where_options *o,
                                 pgy_error *err)
{
    pgy_compare_options c = pgy_compare_options_default(PGY_COMPARE_CALLBACK);
    *rule = (trials_rule){.judge = where_judge_find(o->judge), .options = o};
    if (!rule->judge)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'%s' is not a rule that decides", o->judge);
    c.callback = judge;
    c.user = rule;
    c.label = "where";
    return pgy_compare_create(out, &c, err);
}
