/* SPDX-License-Identifier: Apache-2.0 */
/* Compares one iteration of two runners with one function: each output with its partner
 * (partners.c), with the log lines. Outputs of either side that were not compared are
 * noted, so that no verdict silently ignores them. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/pytext.h"
#include "compare/compare.h"
#include "compare/judge.h"

static const char LOG_PATH[] = "comparator/compare.py";

typedef struct pairing_run {
    const pgy_compare *compare;
    const pgy_iteration *a, *b;
    bool compat;
    pgy_verdicts *out;
    compare_gaps *gaps;
    size_t *partners; /* indexed by output of a: the output of b, or NO_PARTNER */
    strvec matched, mismatched;
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

static void leave_out(pairing_run *run, size_t i)
{
    const char *name = pgy_tensor_map_name(run->a->outputs, i);
    const char *refused = compare_refused_partner(run->a, run->b, i);
    str why = {0};
    if (refused)
        LOG(VERBOSE, "Will not compare %s with %s, since the former already has an exact match: %s",
            refused, name, refused);
    str_printf(&why, "%s has no matching output", run->b->runner_name);
    gaps_note_unmatched(run->gaps, run->a, name, run->compat, str_text(&why));
    str_deinit(&why);
}

static pgy_status compare_output(pairing_run *run, size_t i, pgy_error *err)
{
    const char *name = pgy_tensor_map_name(run->a->outputs, i);
    bool passed = false;
    if (run->partners[i] == NO_PARTNER) {
        leave_out(run, i);
        return PGY_OK;
    }
    const char *partner = pgy_tensor_map_name(run->b->outputs, run->partners[i]);
    if (strcmp(name, partner))
        LOG(WARNING,
            "Output names did not match exactly. Assuming %s output: %s corresponds to output: %s",
            run->b->runner_name, partner, name);
    pgy_status st = compare_pair(&passed, run, name, partner, err);
    if (st) return st;
    if (!strvec_push(passed ? &run->matched : &run->mismatched, name)) return no_memory(err);
    run->stopped = !passed && run->compare->options.fail_fast;
    return PGY_OK;
}

static bool is_narrow(const pgy_iteration *it, const char *output)
{
    pgy_tensor *t = pgy_tensor_map_find(it->outputs, output);
    return t && (pgy_tensor_dtype(t) == PGY_F16 || pgy_tensor_dtype(t) == PGY_BF16);
}

/* If a mismatched output is a 16-bit float, the two runtimes may only round at different places. */
static void explain_rounding(const pairing_run *run)
{
    bool narrow = false;
    for (size_t i = 0; i < run->mismatched.count; i++)
        narrow = narrow || is_narrow(run->a, run->mismatched.items[i]) ||
                 is_narrow(run->b, run->mismatched.items[i]);
    if (narrow)
        LOG(INFO,
            "The outputs are 16-bit floats. Runtimes round at different places: after every node, "
            "or only at the end of fused nodes. With additive masks or rotary embeddings, correct "
            "results can differ by more than 1. opref rounds only the outputs; with "
            "opref.opref_precision model it rounds after every node. If these two runs agree with "
            "different runtimes, rounding is the cause (docs/disagreements.md)");
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
    if (run->mismatched.count) explain_rounding(run);
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

static bool is_partner(const pairing_run *run, size_t k)
{
    for (size_t i = 0; i < pgy_tensor_map_count(run->a->outputs); i++)
        if (run->partners[i] == k) return true;
    return false;
}

static void note_unused(pairing_run *run)
{
    str why = {0};
    str_printf(&why, "%s has no matching output", run->a->runner_name);
    for (size_t k = 0; k < pgy_tensor_map_count(run->b->outputs); k++)
        if (!is_partner(run, k))
            gaps_note_unmatched(run->gaps, run->b, pgy_tensor_map_name(run->b->outputs, k),
                                run->compat, str_text(&why));
    str_deinit(&why);
}

static pgy_status compare_outputs(pairing_run *run, pgy_error *err)
{
    const pgy_iteration *a = run->a, *b = run->b;
    size_t count = pgy_tensor_map_count(a->outputs), others = pgy_tensor_map_count(b->outputs);
    const pgy_compare_options *o = &run->compare->options;
    pgy_status st = compare_find_partners(&run->partners, a, b, run->compat, err);
    if (st) return st;
    compare_warn_extra_names(run->compare, a, b);
    if (o->no_shape_check && o->kind != PGY_COMPARE_INDICES)
        LOG_ONCE(INFO, "Strict shape checking disabled. Will attempt to match output shapes before "
                       "comparisons");
    for (size_t i = 0; i < count && !run->stopped; i++) {
        st = compare_output(run, i, err);
        if (st) return st;
    }
    if (run->stopped) return PGY_OK;
    log_end(run);
    if (!run->matched.count && !run->mismatched.count && (count || others))
        return refuse_nothing_common(a, b, err);
    note_unused(run);
    return PGY_OK;
}

pgy_status compare_iteration(pgy_verdicts *out, compare_gaps *gaps, const pgy_compare *c,
                             const pgy_iteration *a, const pgy_iteration *b, bool compat,
                             pgy_error *err)
{
    if (c->options.kind == PGY_COMPARE_CALLBACK)
        return callback_compare(out, gaps, c, a, b, compat, err);
    pairing_run run = {.compare = c, .a = a, .b = b, .compat = compat, .out = out, .gaps = gaps};
    pgy_status st = compare_outputs(&run, err);
    mem_free(run.partners);
    strvec_deinit(&run.matched);
    strvec_deinit(&run.mismatched);
    return st;
}
