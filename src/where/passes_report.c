/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of a search for rewrites, as text and JSON. */
#include "where/passes_report.h"

#include <polygraphy/onnx.h>

#include "base/alloc.h"
#include "base/json.h"

/* ---- Life ----------------------------------------------------------------------------------- */

pgy_status report_create(pgy_rewrite_report **out, const trials *t, bool is_engine, pgy_error *err)
{
    pgy_rewrite_report *r = mem_calloc(1, sizeof *r);
    if (!r) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    r->is_engine = is_engine;
    r->cause = PGY_REWRITE_AGREES;
    r->level = r->remedy = "";
    r->reference =
        arena_strdup(&r->memory, t->options.outputs ? "the stored outputs" : t->options.reference);
    r->model = arena_strdup(&r->memory, pgy_model_path(t->model));
    if (!r->reference || !r->model) {
        pgy_rewrite_report_destroy(r);
        return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    *out = r;
    return PGY_OK;
}

pgy_status report_take_trials(pgy_rewrite_report *r, const trials *t, pgy_error *err)
{
    r->trials = t->count;
    r->verdicts = arena_alloc_array(&r->memory, t->verdict_count, sizeof *r->verdicts);
    if (!r->verdicts) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (size_t i = 0; i < t->verdict_count; i++) {
        r->verdicts[i].what = arena_strdup(&r->memory, t->verdicts[i].what);
        r->verdicts[i].agrees = t->verdicts[i].agrees;
        if (!r->verdicts[i].what) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    }
    r->verdict_count = t->verdict_count;
    return PGY_OK;
}

pgy_rewrite_culprit *report_add(pgy_rewrite_report *r, const char *level, pgy_error *err)
{
    if (r->count == MAX_CULPRITS) {
        pgy_error_set(err, PGY_E_MEMORY, "more than %d rewrites make the outputs differ",
                      MAX_CULPRITS);
        return NULL;
    }
    pgy_rewrite_culprit *c = &r->culprits[r->count++];
    *c = (pgy_rewrite_culprit){
        .size = sizeof *c, .name = "", .level = level, .tensor = "", .made = ""};
    return c;
}

void pgy_rewrite_report_destroy(pgy_rewrite_report *r)
{
    if (!r) return;
    arena_deinit(&r->memory);
    mem_free(r);
}

/* ---- Reading -------------------------------------------------------------------------------- */

pgy_rewrite_cause pgy_rewrite_report_cause(const pgy_rewrite_report *r)
{
    return r->cause;
}

const char *pgy_rewrite_report_level(const pgy_rewrite_report *r)
{
    return r->level;
}

size_t pgy_rewrite_report_count(const pgy_rewrite_report *r)
{
    return r->count;
}

const pgy_rewrite_culprit *pgy_rewrite_report_at(const pgy_rewrite_report *r, size_t i)
{
    return i < r->count ? &r->culprits[i] : NULL;
}

size_t pgy_rewrite_report_trials(const pgy_rewrite_report *r)
{
    return r->trials;
}

const char *pgy_rewrite_report_remedy(const pgy_rewrite_report *r)
{
    return r->remedy;
}

/* ---- Text ----------------------------------------------------------------------------------- */

enum { MOST_SHOWN = 12 };

static void append_nodes(str *out, const char *title, const char *const *nodes, size_t count)
{
    if (!count) return;
    str_printf(out, "\n    %s", title);
    for (size_t i = 0; i < count && i < MOST_SHOWN; i++)
        str_printf(out, "%s'%s'", i ? ", " : " ", nodes[i]);
    if (count > MOST_SHOWN) str_printf(out, " and %zu more", count - MOST_SHOWN);
}

static void append_culprit(str *out, const pgy_rewrite_report *r, const pgy_rewrite_culprit *c)
{
    str_printf(out, "\n%s %s", r->is_engine ? "Pass" : "Optimizer", c->name);
    if (c->rewrite)
        str_printf(out, ", rewrite %zu of %zu, at tensor '%s'", c->rewrite, c->rewrite_count,
                   c->tensor);
    else if (r->is_engine)
        str_append(out, ", which is not divided into rewrites");
    if (c->made && c->made[0]) str_printf(out, ", which makes %s", c->made);
    append_nodes(out, "removed:", c->nodes, c->node_count);
    append_nodes(out, "added:", c->new_nodes, c->new_node_count);
}

static void append_finding(str *out, const pgy_rewrite_report *r)
{
    const char *with = r->reference;
    switch (r->cause) {
    case PGY_REWRITE_AGREES:
        str_printf(out, "The outputs agree with %s; there is nothing to find.", with);
        return;
    case PGY_REWRITE_NONE:
        str_printf(out,
                   "The difference from %s does not come from a rewrite: the outputs differ with "
                   "all of them switched off%s, too.",
                   with, r->is_engine ? ", and with portable kernels" : "");
        return;
    case PGY_REWRITE_KERNEL:
        str_printf(out,
                   "No pass makes the outputs differ from %s, but the chosen kernels do: with "
                   "portable kernels the outputs agree (POLYGRAPHY_CPU=portable).",
                   with);
        return;
    case PGY_REWRITE_LEVEL:
        str_printf(out,
                   "The outputs differ from %s from level %s on, but not because of an optimizer "
                   "that can be switched off by name.",
                   with, r->level);
        return;
    case PGY_REWRITE_FOUND: break;
    }
    str_printf(out, "The outputs differ from %s because of %zu %s%s", with, r->count,
               r->is_engine ? "pass" : "optimizer",
               r->count == 1  ? ""
               : r->is_engine ? "es"
                              : "s");
    if (r->level[0]) str_printf(out, " of level %s", r->level);
    str_append(out, ":");
    for (size_t i = 0; i < r->count; i++) append_culprit(out, r, &r->culprits[i]);
}

pgy_status pgy_rewrite_report_text(char **out, const pgy_rewrite_report *r, pgy_error *err)
{
    str text = {0};
    append_finding(&text, r);
    if (r->remedy[0]) str_printf(&text, "\nThe outputs agree with: %s", r->remedy);
    return str_give(out, &text, err);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put_labels(json_writer *w, const char *key, const char *const *items, size_t count)
{
    json_key(w, key);
    json_begin_array(w);
    for (size_t i = 0; i < count; i++) json_text(w, items[i]);
    json_end_array(w);
}

static void put_verdicts(json_writer *w, const pgy_rewrite_report *r)
{
    json_key(w, "verdicts");
    json_begin_array(w);
    for (size_t i = 0; i < r->verdict_count; i++) {
        json_begin_object(w);
        json_put_text(w, "trial", r->verdicts[i].what);
        json_put_bool(w, "agrees", r->verdicts[i].agrees);
        json_end_object(w);
    }
    json_end_array(w);
}

static pgy_status write(json_writer *w, const void *user, pgy_error *err)
{
    static const char *const CAUSES[] = {"agrees", "found", "kernel", "level", "none"};
    const pgy_rewrite_report *r = user;
    str next = {0};
    if (r->remedy[0])
        str_printf(&next, "polygraphy where %s --a opref --b %s %s", r->model,
                   r->is_engine ? "trt" : "onnxrt", r->remedy);
    json_begin_object(w);
    json_put_text(w, "searched", r->is_engine ? "passes" : "onnxruntime optimizers");
    json_put_text(w, "cause", CAUSES[r->cause]);
    json_put_text(w, "reference", r->reference);
    json_put_text(w, "level", r->level[0] ? r->level : NULL);
    json_key(w, "culprits");
    json_begin_array(w);
    for (size_t i = 0; i < r->count; i++) {
        const pgy_rewrite_culprit *c = &r->culprits[i];
        json_begin_object(w);
        json_put_text(w, "name", c->name);
        json_put_uint(w, "rewrite", c->rewrite);
        json_put_uint(w, "rewrite_count", c->rewrite_count);
        json_put_text(w, "tensor", c->tensor);
        json_put_text(w, "made", c->made);
        put_labels(w, "removed", c->nodes, c->node_count);
        put_labels(w, "added", c->new_nodes, c->new_node_count);
        json_end_object(w);
    }
    json_end_array(w);
    json_put_uint(w, "trials", r->trials);
    put_verdicts(w, r);
    json_put_text(w, "remedy", r->remedy[0] ? r->remedy : NULL);
    json_put_text(w, "next", next.size ? str_text(&next) : NULL);
    json_end_object(w);
    const bool failed = next.failed;
    str_deinit(&next);
    return failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory") : PGY_OK;
}

pgy_status pgy_rewrite_report_json(char **out, const pgy_rewrite_report *r, pgy_error *err)
{
    return json_to_text(out, write, r, err);
}
