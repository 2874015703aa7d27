/* SPDX-License-Identifier: Apache-2.0 */
/* The caller's comparison functions, including scripts. They decide themselves which outputs belong
 * together. Their verdicts must be complete: one for each output of the first side (under its name
 * or its partner's), one for each output of the second side that has no partner, and no others. */
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "compare/compare.h"

static const char LOG_PATH[] = "compare/callback.c";

typedef struct coverage {
    const pgy_iteration *a, *b;
    const pgy_verdicts *verdicts;
    compare_gaps *gaps;
    const char *function; /* "The comparison function f" */
    size_t *partners;
    bool compat;
} coverage;

enum { NAMES_SHOWN = 4 };

static void note_name(str *names, size_t before, const char *output, const char *runner)
{
    if (before == NAMES_SHOWN) str_append(names, ", ...");
    if (before >= NAMES_SHOWN) return;
    str_printf(names, "%s'%s'%s%s", before ? ", " : "", output, runner ? " of " : "",
               runner ? runner : "");
}

static bool has_verdict(const coverage *c, const char *output)
{
    for (size_t i = 0; i < pgy_verdicts_count(c->verdicts); i++)
        if (!strcmp(pgy_verdicts_at(c->verdicts, i)->output, output)) return true;
    return false;
}

static void require(coverage *c, const pgy_iteration *side, const char *output)
{
    str why = {0};
    str_printf(&why, "%s gave no verdict on it", c->function);
    gaps_note_unmatched(c->gaps, side, output, c->compat, str_text(&why));
    str_deinit(&why);
}

static bool is_partner(const coverage *c, size_t k)
{
    for (size_t i = 0; i < pgy_tensor_map_count(c->a->outputs); i++)
        if (c->partners[i] == k) return true;
    return false;
}

static void find_missing(coverage *c)
{
    for (size_t i = 0; i < pgy_tensor_map_count(c->a->outputs); i++) {
        const char *name = pgy_tensor_map_name(c->a->outputs, i);
        size_t k = c->partners[i];
        if (has_verdict(c, name)) continue;
        if (k == NO_PARTNER || !has_verdict(c, pgy_tensor_map_name(c->b->outputs, k)))
            require(c, c->a, name);
    }
    for (size_t k = 0; k < pgy_tensor_map_count(c->b->outputs); k++) {
        const char *name = pgy_tensor_map_name(c->b->outputs, k);
        if (!is_partner(c, k) && !has_verdict(c, name)) require(c, c->b, name);
    }
}

static void find_foreign(coverage *c)
{
    for (size_t i = 0; i < pgy_verdicts_count(c->verdicts); i++) {
        const char *name = pgy_verdicts_at(c->verdicts, i)->output;
        if (pgy_tensor_map_find(c->a->outputs, name) || pgy_tensor_map_find(c->b->outputs, name))
            continue;
        note_name(&c->gaps->foreign_names, c->gaps->foreign++, name, NULL);
        pgy_log_write(c->compat ? PGY_LOG_WARNING : PGY_LOG_ERROR, LOG_PATH, __LINE__,
                      "%s returned a verdict on '%s', which is not an output of %s or %s",
                      c->function, name, c->a->runner_name, c->b->runner_name);
    }
}

pgy_status callback_compare(pgy_verdicts *out, compare_gaps *gaps, const pgy_compare *c,
                            const pgy_iteration *a, const pgy_iteration *b, bool compat,
                            pgy_error *err)
{
    const char *label = c->options.label;
    str function = {0};
    pgy_status st = c->options.callback(out, a, b, c->options.user, err);
    if (st) return st;
    str_printf(&function, "The comparison function%s%s", label ? " " : "", label ? label : "");
    coverage run = {.a = a,
                    .b = b,
                    .verdicts = out,
                    .gaps = gaps,
                    .function = str_text(&function),
                    .compat = compat};
    st = compare_find_partners(&run.partners, a, b, false, err);
    if (!st) {
        find_missing(&run);
        find_foreign(&run);
    }
    mem_free(run.partners);
    str_deinit(&function);
    return st;
}

/* ---- Gaps ----------------------------------------------------------------------------------- */

void gaps_note_unmatched(compare_gaps *gaps, const pgy_iteration *side, const char *output,
                         bool compat, const char *why)
{
    note_name(&gaps->unmatched_names, gaps->unmatched++, output, side->runner_name);
    pgy_log_write(compat ? PGY_LOG_WARNING : PGY_LOG_ERROR, LOG_PATH, __LINE__,
                  "Output: '%s' of %s was not compared: %s", output, side->runner_name, why);
}

void compare_gaps_deinit(compare_gaps *gaps)
{
    str_deinit(&gaps->unmatched_names);
    str_deinit(&gaps->foreign_names);
    *gaps = (compare_gaps){0};
}
