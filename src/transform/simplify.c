/* SPDX-License-Identifier: Apache-2.0 */
/* Repeats three stages until nothing changes: fold, apply the rules to a copy, measure the copy
 * against its source. A rewrite that fails is remembered by rule and place, and the copy is made
 * again without it, so nothing has to be undone. At the end the outputs are compared with those of
 * the original model. */
#include "transform/simplify.h"

#include <math.h>
#include <string.h>

#include <polygraphy/transform.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/sized.h"
#include "transform/fuse/fuse.h"

static const char LOG_PATH[] = "transform/simplify.c";

enum { MAX_STAGES = 8, OLDEST_OPSET = 7 };

static const pattern_rule FUSIONS[] = {
#define FUSION(name, opset, kind, text) fuse_##name,
#include "transform/fuse/fusions.def"
#undef FUSION
    NULL,
};

/* ---- State ---------------------------------------------------------------------------------- */

/* The report, and the memory of its texts. */
typedef struct report_box {
    pgy_simplify_report report;
    arena memory;
    pgy_simplify_change *changes;
    pgy_simplify_refusal *refusals;
    size_t change_room, refusal_room;
} report_box;

typedef struct simplifier {
    const pgy_simplify_options *options;
    bool wanted[SIMPLIFY_RULE_COUNT];
    pgy_model *original;
    simplify_samples samples;
    bool sampled, exact_only, fresh; /* fresh: `outputs` were computed by the current model */
    strmap refused;           /* rewrites not to try again: "<rule> <name of the node's output>" */
    pgy_tensor_map **outputs; /* outputs of the current model, one map per sample */
    report_box *box;
} simplifier;

/* One copy of the model, and the rewrites made in it. */
typedef struct attempt {
    simplifier *s;
    const pgy_graph *graph;
    simplify_rewrite *items;
    size_t count, capacity;
} attempt;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while simplifying the model");
}

static const char *keep(simplifier *s, const char *text)
{
    return arena_strdup(&s->box->memory, text);
}

/* Makes room for one more entry in an array of the report; the old array stays in the arena. */
static void *grow(arena *memory, void *items, size_t count, size_t *room, size_t size)
{
    if (count < *room) return items;
    void *made = arena_alloc_array(memory, 2 * count + 16, size);
    if (!made) return NULL;
    if (count) memcpy(made, items, count * size);
    *room = 2 * count + 16;
    return made;
}

/* ---- One attempt ---------------------------------------------------------------------------- */

static char *refusal_key(size_t rule, const char *at, arena *memory)
{
    return arena_printf(memory, "%s %s", simplify_rules[rule].name, at);
}

static bool admits(size_t rule, const pgy_node *n, void *user)
{
    const attempt *a = user;
    const simplifier *s = a->s;
    str key = {0};
    if (!s->wanted[rule] || pgy_graph_opset(n->graph, "") < simplify_rules[rule].opset)
        return false;
    if (s->exact_only && simplify_rules[rule].kind != PGY_SIMPLIFY_EXACT) return false;
    str_printf(&key, "%s %s", simplify_rules[rule].name, n->outputs[0]->name);
    const bool refused = key.failed || strmap_has(&s->refused, str_text(&key));
    str_deinit(&key);
    return !refused;
}

static pgy_status note(size_t rule, const pgy_value *at, const pattern *p, void *user,
                       pgy_error *err)
{
    attempt *a = user;
    void *items = a->items;
    size_t replaced = 0;
    for (const pattern_part *part = p->parts; part; part = part->next) replaced++;
    if (!p->made || !p->made->output_count) return PGY_OK;
    if (!mem_grow(&items, &a->capacity, a->count + 1, sizeof *a->items)) return no_memory(err);
    a->items = items;
    a->items[a->count++] = (simplify_rewrite){.rule = rule,
                                              .at = at->name,
                                              .output = p->made->outputs[0],
                                              .replaced = replaced,
                                              .error = 0};
    return PGY_OK;
}

static pgy_status apply(pgy_graph **out, attempt *a, pgy_model *model, pgy_error *err)
{
    const pattern_watch watch = {admits, note, a};
    pgy_graph *g = NULL;
    size_t changes = 0;
    a->count = 0;
    pgy_status st = pgy_graph_import(&g, model, err);
    if (!st && pgy_graph_opset(g, "") >= OLDEST_OPSET)
        st = pattern_run_watched(g, "simplify", FUSIONS, &watch, &changes, err);
    if (st)
        pgy_graph_destroy(g);
    else
        *out = g;
    return st;
}

static pgy_status refuse(simplifier *s, const simplify_rewrite *r, pgy_error *err)
{
    report_box *box = s->box;
    const pgy_simplify_rule *rule = &simplify_rules[r->rule];
    const char *at = keep(s, r->at), *reason = keep(s, r->reason),
               *key = refusal_key(r->rule, r->at, &box->memory);
    void *items = grow(&box->memory, box->refusals, box->report.refusal_count, &box->refusal_room,
                       sizeof *box->refusals);
    if (!at || !reason || !key || !items || !strmap_put(&s->refused, key, s)) return no_memory(err);
    box->report.refusals = box->refusals = items;
    box->refusals[box->report.refusal_count++] =
        (pgy_simplify_refusal){rule->name, at, reason, r->error};
    LOG(VERBOSE, "Undid rule %s at '%s': %s", rule->name, at, reason);
    return PGY_OK;
}

static void drop_outputs(simplifier *s)
{
    for (size_t i = 0; s->outputs && i < s->samples.count; i++) {
        pgy_tensor_map_destroy(s->outputs[i]);
        s->outputs[i] = NULL;
    }
    s->fresh = false;
}

/* Fails rewrites that no sample reached, except those that are exact by definition. */
static void judge_unseen(attempt *a)
{
    if (!a->s->fresh) return; /* the run failed before its end */
    for (size_t i = 0; i < a->count; i++) {
        simplify_rewrite *r = &a->items[i];
        if (r->failed || r->measured || !simplify_rewrite_lives(r)) continue;
        if (simplify_rules[r->rule].kind == PGY_SIMPLIFY_EXACT) {
            r->error = -1;
            continue;
        }
        r->failed = true;
        r->error = -1;
        r->reason = "no sample reached it, so its error cannot be measured";
    }
}

static pgy_status measure(attempt *a, pgy_graph *after, pgy_model *model, pgy_error *err)
{
    simplifier *s = a->s;
    simplify_regions *regions = NULL;
    pgy_graph *before = NULL;
    pgy_status st = pgy_graph_import(&before, model, err);
    if (!st)
        st = simplify_regions_create(&regions, before, after, a->items, a->count,
                                     s->options->max_steps, err);
    drop_outputs(s);
    s->fresh = true;
    progress_begin("Measuring rewrites on sample", s->samples.count);
    for (size_t i = 0; !st && s->fresh && i < s->samples.count; i++) {
        st = simplify_regions_run(&s->outputs[i], regions, s->samples.items[i].feed, err);
        s->fresh = s->outputs[i] != NULL;
        progress_advance(i + 1);
    }
    progress_end();
    judge_unseen(a);
    simplify_regions_destroy(regions);
    pgy_graph_destroy(before);
    return st;
}

/* Forbids the failed rewrites in the next attempt; of several with the same output, only the last
 * one. */
static pgy_status refuse_failed(size_t *count, attempt *a, pgy_error *err)
{
    pgy_status st = PGY_OK;
    *count = 0;
    for (size_t i = a->count; !st && i-- > 0;) {
        simplify_rewrite *r = &a->items[i];
        if (!r->failed) continue;
        bool later = false;
        for (size_t k = i + 1; k < a->count; k++) later |= a->items[k].output == r->output;
        if (later) continue;
        st = refuse(a->s, r, err);
        ++*count;
    }
    return st;
}

static pgy_status take_samples(simplifier *s, pgy_error *err)
{
    report_box *box = s->box;
    if (s->sampled || s->options->no_check) return PGY_OK;
    s->sampled = true;
    pgy_status st = simplify_samples_take(&s->samples, s->original, s->options, err);
    if (st) return st;
    box->report.samples = s->samples.count;
    if (s->samples.count) {
        s->outputs = mem_calloc(s->samples.count, sizeof(pgy_tensor_map *));
        box->report.checked = true;
        return s->outputs ? PGY_OK : no_memory(err);
    }
    s->exact_only = true;
    box->report.unchecked = keep(s, s->samples.why);
    return box->report.unchecked ? PGY_OK : no_memory(err);
}

static pgy_status add_changes(attempt *a, pgy_error *err)
{
    report_box *box = a->s->box;
    for (size_t i = 0; i < a->count; i++) {
        const simplify_rewrite *r = &a->items[i];
        if (!simplify_rewrite_lives(r)) continue;
        bool later = false;
        for (size_t k = i + 1; k < a->count; k++) later |= a->items[k].output == r->output;
        if (later) continue;
        void *items = grow(&box->memory, box->changes, box->report.change_count, &box->change_room,
                           sizeof *box->changes);
        const pgy_node *n = r->output->producer;
        const pgy_simplify_change made = {.rule = simplify_rules[r->rule].name,
                                          .node = keep(a->s, node_label(n)),
                                          .op_type = keep(a->s, n->op_type),
                                          .output = keep(a->s, r->output->name),
                                          .replaced = r->replaced,
                                          .error = r->measured ? r->error : -1};
        if (!items || !made.node || !made.op_type || !made.output) return no_memory(err);
        box->report.changes = box->changes = items;
        box->changes[box->report.change_count++] = made;
    }
    return PGY_OK;
}

/* Applies the rules to *model until none of them fails. */
static pgy_status rewrite_model(simplifier *s, pgy_model **model, bool *changed, pgy_error *err)
{
    attempt a = {.s = s};
    pgy_graph *g = NULL;
    pgy_model *made = NULL;
    size_t failed = 1;
    pgy_status st = PGY_OK;
    *changed = false;
    while (!st && failed) {
        failed = 0;
        pgy_graph_destroy(g);
        g = NULL;
        st = apply(&g, &a, *model, err);
        if (st || a.count == 0) break;
        const bool sampled = s->sampled || s->options->no_check;
        st = take_samples(s, err);
        if (!st && s->exact_only && !sampled)
            failed = 1; /* try again with exact rules only */
        else if (!st && s->box->report.checked)
            st = measure(&a, g, *model, err);
        if (!st && s->box->report.checked) st = refuse_failed(&failed, &a, err);
    }
    if (!st && a.count) st = add_changes(&a, err);
    if (!st && a.count) st = pgy_graph_export(&made, g, err);
    if (made) {
        pgy_model_destroy(*model);
        *model = made;
        *changed = true;
    }
    pgy_graph_destroy(g);
    mem_free(a.items);
    return st;
}

/* ---- Folding -------------------------------------------------------------------------------- */

static size_t count_nodes(const pgy_graph *g)
{
    size_t count = g->node_count;
    for (size_t i = 0; i < g->node_count; i++)
        for (size_t k = 0; k < g->nodes[i]->subgraph_count; k++)
            count += count_nodes(g->nodes[i]->subgraphs[k]);
    return count;
}

static pgy_status fold(simplifier *s, pgy_model **model, bool *changed, pgy_error *err)
{
    pgy_simplify_report *to = &s->box->report;
    pgy_fold_options o = pgy_fold_options_default();
    pgy_fold_report report = {0};
    pgy_error why = {0};
    pgy_graph *g = NULL;
    pgy_model *made = NULL;
    *changed = false;
    o.keep_separate = true; /* the rules of simplification merge nodes instead */
    pgy_status st = pgy_graph_import(&g, *model, err);
    if (st) return st;
    const size_t before = count_nodes(g);
    const pgy_status failed = pgy_graph_fold_constants(g, &o, &report, &why);
    /* A malformed model ends simplification; other failures only skip folding. */
    if (status_ends_all(failed) || failed == PGY_E_FORMAT)
        st = pgy_error_set(err, failed, "%s", why.text);
    else if (failed)
        LOG(WARNING, "Skipped constant folding, because it failed: %s", why.text);
    *changed = !failed && (report.passes > 1 || report.nodes_before != report.nodes_after);
    if (!st && *changed) st = pgy_graph_export(&made, g, err);
    if (!st && *changed) {
        const size_t after = count_nodes(g);
        if (before > after) to->nodes_folded += before - after;
        pgy_model_destroy(*model);
        *model = made;
    }
    pgy_graph_destroy(g);
    return st;
}

/* ---- All stages ----------------------------------------------------------------------------- */

static pgy_status convert(simplifier *s, pgy_model **model, pgy_error *err)
{
    pgy_graph *g = NULL;
    pgy_model *made = NULL;
    pgy_status st = pgy_graph_import(&g, *model, err);
    if (!st) st = pgy_graph_convert_opset(g, s->options->opset, NULL, err);
    if (!st) st = pgy_graph_export(&made, g, err);
    pgy_graph_destroy(g);
    if (st) return st;
    pgy_model_destroy(*model);
    *model = made;
    return PGY_OK;
}

static pgy_status run_stages(simplifier *s, pgy_model **model, pgy_error *err)
{
    pgy_status st = PGY_OK;
    bool more = true;
    for (size_t stage = 0; !st && more && stage < MAX_STAGES; stage++) {
        bool folded = false;
        st = fold(s, model, &folded, err);
        if (folded) drop_outputs(s);
        if (!st) st = rewrite_model(s, model, &more, err);
        more |= folded; /* after folding, inference may find more */
    }
    return st;
}

static double output_distance(const simplifier *s, const char *name)
{
    double most = 0;
    for (size_t i = 0; i < s->samples.count; i++) {
        pgy_tensor *a = NULL, *b = NULL, *old, *now;
        double error = INFINITY;
        old = pgy_tensor_map_find(s->samples.items[i].outputs, name);
        now = pgy_tensor_map_find(s->outputs[i], name);
        if (!old && !now) continue; /* this sample's sequence has fewer elements */
        if (old && now && pgy_tensor_dtype(old) == pgy_tensor_dtype(now) &&
            !op_to_storage(&a, old, NULL) && !op_to_storage(&b, now, NULL))
            error = simplify_distance(a, b, pgy_tensor_dtype(old), false);
        if (error > most) most = error;
        pgy_tensor_release(a);
        pgy_tensor_release(b);
    }
    return most;
}

static pgy_status judge_outputs(simplifier *s, pgy_error *err)
{
    pgy_simplify_report *report = &s->box->report;
    const pgy_tensor_map *names = s->samples.items[0].outputs;
    const size_t count = pgy_tensor_map_count(names);
    pgy_simplify_output *outputs = arena_alloc_array(&s->box->memory, count, sizeof *outputs);
    if (count && !outputs) return no_memory(err);
    report->passed = true;
    for (size_t i = 0; i < count; i++) {
        outputs[i].name = keep(s, pgy_tensor_map_name(names, i));
        if (!outputs[i].name) return no_memory(err);
        outputs[i].error = output_distance(s, outputs[i].name);
        outputs[i].passed = outputs[i].error <= PGY_SIMPLIFY_MODEL_UNITS;
        report->passed &= outputs[i].passed;
    }
    report->outputs = outputs;
    report->output_count = count;
    return PGY_OK;
}

/* Runs a model again on sample i, in its own precision. */
static pgy_status rerun(pgy_tensor_map **to, const simplifier *s, size_t i, pgy_model *model,
                        pgy_error *err)
{
    pgy_tensor_map_destroy(*to);
    *to = NULL;
    return simplify_run(to, model, s->samples.items[i].feed, true, s->options->max_steps, err);
}

/* Folding computes in the precision of the model. If the model then decides something by the
 * result, such as rounding to an integer, float64 may decide otherwise; so only a run in the
 * model's own precision can judge. */
static pgy_status judge_again(simplifier *s, pgy_model *model, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < s->samples.count; i++) {
        st = rerun(&s->samples.items[i].outputs, s, i, s->original, err);
        if (!st) st = rerun(&s->outputs[i], s, i, model, err);
    }
    s->box->report.own_precision = true;
    return st ? st : judge_outputs(s, err);
}

/* Compares the outputs of the original and the present model on all samples. */
static pgy_status check_model(simplifier *s, pgy_model *model, pgy_error *err)
{
    pgy_status st = take_samples(s, err);
    if (st || !s->box->report.checked) return st;
    if (!s->fresh) {
        drop_outputs(s);
        for (size_t i = 0; !st && i < s->samples.count; i++)
            st = simplify_run(&s->outputs[i], model, s->samples.items[i].feed, false,
                              s->options->max_steps, err);
    }
    if (!st) st = judge_outputs(s, err);
    return st || s->box->report.passed ? st : judge_again(s, model, err);
}

/* Counts the nodes of a model; fails if `shapes` (may be NULL) do not fit its inputs. */
static pgy_status count_model(size_t *out, pgy_model *model, const pgy_metadata *shapes,
                              pgy_error *err)
{
    pgy_graph *g = NULL;
    pgy_status st = pgy_graph_import(&g, model, err);
    if (!st) st = graph_check_inputs(g, shapes, true, err);
    if (!st) *out = count_nodes(g);
    pgy_graph_destroy(g);
    return st;
}

pgy_status pgy_model_simplify(pgy_model **out, pgy_model *model,
                              const pgy_simplify_options *options, pgy_simplify_report **report,
                              pgy_error *err)
{
    pgy_simplify_options o = pgy_simplify_options_default();
    pgy_status st = SIZED_TAKE(pgy_simplify_options, &o, options, err);
    if (st) return st;
    simplifier s = {.options = &o, .original = model};
    pgy_model *made = pgy_model_retain(model);
    s.box = mem_calloc(1, sizeof *s.box);
    st = s.box ? simplify_choose_rules(s.wanted, s.options, err) : no_memory(err);
    if (st) goto done;
    pgy_simplify_report *to = &s.box->report;
    to->passed = true;
    if (s.options->no_check) to->unchecked = "the check is turned off";
    st = count_model(&to->nodes_before, model, s.options->inputs, err);
    if (!st && s.options->opset) st = convert(&s, &made, err);
    if (!st) st = run_stages(&s, &made, err);
    if (!st && made != model) st = check_model(&s, made, err);
    if (!st) st = count_model(&to->nodes_after, made, NULL, err);
    if (st) goto done;
    to->functions = pgy_model_proto(made)->function_count;
    *out = made;
    made = NULL;
    *report = to;
    s.box = NULL;
done:
    drop_outputs(&s);
    mem_free(s.outputs);
    simplify_samples_deinit(&s.samples);
    strmap_deinit(&s.refused);
    pgy_simplify_report_destroy(s.box ? &s.box->report : NULL);
    pgy_model_destroy(made);
    return st;
}

void pgy_simplify_report_destroy(pgy_simplify_report *report)
{
    report_box *box = (report_box *)report;
    if (!box) return;
    arena_deinit(&box->memory);
    mem_free(box);
}
