/* SPDX-License-Identifier: Apache-2.0 */
/* The table of rules, and the selection of rules by options. */
#include <string.h>

#include "base/log.h"
#include "base/suggest.h"
#include "transform/simplify.h"

static const char LOG_PATH[] = "transform/simplify_rules.c";

const pgy_simplify_rule simplify_rules[SIMPLIFY_RULE_COUNT] = {
#define FUSION(name, opset, kind, text) {#name, opset, PGY_SIMPLIFY_##kind, text},
#include "transform/fuse/fusions.def"
#undef FUSION
};

size_t pgy_simplify_rule_list(const pgy_simplify_rule **out)
{
    *out = simplify_rules;
    return SIMPLIFY_RULE_COUNT;
}

pgy_simplify_options pgy_simplify_options_default(void)
{
    return (pgy_simplify_options){.size = sizeof(pgy_simplify_options)};
}

static pgy_status find_rule(size_t *out, const char *name, pgy_error *err)
{
    suggestions near = {.wanted = name};
    str text = {0};
    for (size_t i = 0; i < SIMPLIFY_RULE_COUNT; i++) {
        if (strcmp(simplify_rules[i].name, name) == 0) {
            *out = i;
            return PGY_OK;
        }
        suggest_offer(&near, simplify_rules[i].name);
    }
    suggest_append(&text, &near);
    for (size_t i = 0; !near.count && i < SIMPLIFY_RULE_COUNT; i++)
        str_printf(&text, "%s%s", i ? ", " : "; the rules are ", simplify_rules[i].name);
    const pgy_status st =
        pgy_error_set(err, PGY_E_NOT_FOUND, "unknown rule '%s'%s", name, str_text(&text));
    str_deinit(&text);
    return st;
}

pgy_status simplify_choose_rules(bool *wanted, const pgy_simplify_options *o, pgy_error *err)
{
    pgy_status st = PGY_OK;
    size_t at = 0;
    for (size_t i = 0; i < SIMPLIFY_RULE_COUNT; i++) {
        const bool on_request = simplify_rules[i].kind == PGY_SIMPLIFY_ON_REQUEST;
        wanted[i] = on_request ? o->fuse_batch_norm : !o->only;
    }
    for (size_t i = 0; !st && o->only && i < o->only_count; i++) {
        st = find_rule(&at, o->only[i], err);
        if (!st) wanted[at] = true;
    }
    for (size_t i = 0; !st && i < o->skip_count; i++) {
        st = find_rule(&at, o->skip[i], err);
        if (st) break;
        if (o->only && wanted[at])
            LOG(WARNING, "Rule '%s' is both selected and skipped; skipping it",
                simplify_rules[at].name);
        wanted[at] = false;
    }
    return st;
}
