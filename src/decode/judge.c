/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a step of two runners by the rules of the search for the first wrong tensor: each tensor
 * against the largest magnitude of the reference's, or against the noise floor. The floor is that
 * of a step that reads exact caches, so by it a runner is judged with the reference's caches: how
 * far the rounding of earlier steps is amplified depends on the model, not on the runner. */
#include <math.h>
#include <string.h>

#include "base/cancel.h"
#include "decode/decode.h"

pgy_status judge_open(decode_judge *j, const pgy_decode_options *o, pgy_error *err)
{
    str rules = {0};
    *j = (decode_judge){
        .rule = where_judge_find(o->judge), .options = o, .floor_times = o->floor_times};
    if (!j->rule) {
        where_judge_list(&rules);
        const pgy_status st = pgy_error_set(
            err, PGY_E_ARGUMENT, "decode.judge is '%s'; expected %s", o->judge, str_text(&rules));
        str_deinit(&rules);
        return st;
    }
    if (!j->rule->needs_floor) return PGY_OK;
    if (!o->model)
        return pgy_error_set(err, PGY_E_ARGUMENT, "decode.judge is '%s', which needs an ONNX model",
                             j->rule->name);
    return PGY_OK;
}

void judge_close(decode_judge *j)
{
    pgy_floor_destroy(j->floor);
    *j = (decode_judge){0};
}

pgy_status judge_begin_step(decode_judge *j, const pgy_tensor_map *feed, pgy_error *err)
{
    if (!j->rule->needs_floor) return PGY_OK;
    pgy_floor_destroy(j->floor);
    j->floor = NULL;
    pgy_status st = pgy_floor_create(&j->floor, j->options->model, j->options->floor, err);
    if (!st) st = pgy_floor_add(j->floor, feed, err);
    return st ? pgy_error_prefix(err, st, "the noise floor cannot be computed: ") : PGY_OK;
}

bool judge_needs_repeat(const decode_judge *j)
{
    return j->rule->needs_floor;
}

/* ---- One tensor ------------------------------------------------------------------------------ */

/* The entry of a tensor, else that of all others; NaN: none. */
static double number_for(const pgy_number_map *m, const char *name)
{
    double found = NAN;
    for (size_t i = 0; i < m->count; i++) {
        if (!strcmp(m->entries[i].name, name)) return m->entries[i].value.real;
        if (!m->entries[i].name[0]) found = m->entries[i].value.real;
    }
    return found;
}

static pgy_status judge_tensors(where_verdict *out, const decode_judge *j, const where_judge *rule,
                                const char *name, pgy_tensor *a, pgy_tensor *b, pgy_error *err)
{
    if (!pgy_view_same_shape(pgy_tensor_view(a), pgy_tensor_view(b))) {
        *out = (where_verdict){
            .error = INFINITY, .difference = INFINITY, .differs = true, .times = NAN};
        return PGY_OK;
    }
    const pgy_where_options options = {.size = sizeof options,
                                       .rtol = number_for(&j->options->rtol, name),
                                       .atol = number_for(&j->options->atol, name),
                                       .worst_count = 1,
                                       .floor_times = j->floor_times};
    const where_terms terms = {.options = &options, .floor = j->floor, .name = name};
    pgy_tensor *left = NULL, *right = NULL;
    pgy_status st = pgy_tensor_load(&left, a, err);
    if (!st) st = pgy_tensor_load(&right, b, err);
    if (!st) st = rule->judge(out, &terms, left, right, err);
    pgy_tensor_release(left);
    pgy_tensor_release(right);
    return st;
}

/* How far a tensor is towards what is allowed: over 1 differs. */
static double ratio_of(double error, double allowed)
{
    if (!(error > 0)) return isnan(error) ? INFINITY : 0;
    return allowed > 0 ? error / allowed : INFINITY;
}

/* Adds how far the tensors differ, whatever is allowed. */
static void add_figures(pgy_decode_difference *io, const char *name, const where_verdict *v)
{
    const double abs_error = v->nans ? INFINITY : v->difference;
    if (abs_error > io->max_abs) io->max_abs = abs_error;
    if (v->error > io->max_rel) io->max_rel = v->error;
    if (!io->tensor) io->tensor = name;
}

/* Keeps the tensor that is farthest towards what is allowed. */
static void add_verdict(pgy_decode_difference *io, const char *name, const where_verdict *v)
{
    const bool first = !(io->allowed > 0) && !io->differs;
    io->differs = io->differs || v->differs;
    if (!first && ratio_of(v->error, v->allowed) <= ratio_of(io->error, io->allowed)) return;
    io->tensor = name;
    io->error = v->error;
    io->allowed = v->allowed;
    io->floor_times = v->times;
}

/* ---- One step -------------------------------------------------------------------------------- */

static bool feeds_cache(const decode_plan *p, const char *output)
{
    for (size_t i = 0; i < p->cache_count; i++)
        if (!strcmp(p->caches[i].output, output)) return true;
    return false;
}

static pgy_decode_difference *group_of(pgy_decode_comparison *c, const decode_plan *p,
                                       const char *output)
{
    if (!strcmp(output, p->logits->name)) return &c->logits;
    return feeds_cache(p, output) ? &c->caches : &c->others;
}

static pgy_status fail(strvec *failures, str *text, pgy_error *err)
{
    const bool known = strvec_contains(failures, str_text(text));
    const bool kept = !text->failed && (known || strvec_push(failures, str_text(text)));
    str_deinit(text);
    return kept ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static pgy_status compare_output(pgy_decode_comparison *io, strvec *failures, const decode_judge *j,
                                 const decode_lane *a, const decode_lane *b, size_t i,
                                 pgy_error *err)
{
    const char *name = pgy_tensor_map_name(a->outputs, i);
    pgy_tensor *left = pgy_tensor_map_at(a->outputs, i);
    pgy_tensor *right = pgy_tensor_map_find(b->outputs, name);
    pgy_decode_difference *group = group_of(io, &a->plan, name);
    str text = {0};
    where_verdict v = {0};
    if (!right) {
        str_printf(&text, "Output '%s' of %s is missing in %s", name, lane_name(a), lane_name(b));
        return fail(failures, &text, err);
    }
    if (pgy_tensor_dtype(left) == PGY_STRING || pgy_tensor_dtype(right) == PGY_STRING) {
        str_printf(&text, "Output '%s' holds texts, which decoding does not compare", name);
        return fail(failures, &text, err);
    }
    const pgy_status st = judge_tensors(&v, j, where_judge_find(NULL), name, left, right, err);
    if (st) return st;
    add_figures(group, name, &v);
    if (!j->rule->needs_floor || v.nans) add_verdict(group, name, &v);
    return PGY_OK;
}

static pgy_status note_extra(strvec *failures, const decode_lane *a, const decode_lane *b,
                             pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(b->outputs); i++) {
        const char *name = pgy_tensor_map_name(b->outputs, i);
        str text = {0};
        if (pgy_tensor_map_find(a->outputs, name)) continue;
        str_printf(&text, "Output '%s' of %s is missing in %s", name, lane_name(b), lane_name(a));
        st = fail(failures, &text, err);
    }
    return st;
}

static bool has_id(const top_ids *t, int64_t id)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->ids[i] == id) return true;
    return false;
}

static pgy_status compare_top(pgy_decode_comparison *io, const decode_lane *a, const decode_lane *b,
                              pgy_error *err)
{
    const pgy_tensor *left = pgy_tensor_map_find(a->outputs, a->plan.logits->name);
    const pgy_tensor *right = pgy_tensor_map_find(b->outputs, b->plan.logits->name);
    const size_t rows = top_rows(left);
    double shared = 0;
    if (!right || rows != top_rows(right)) return PGY_OK;
    for (size_t i = 0; i < rows; i++) {
        top_ids x, y;
        size_t found = 0;
        const pgy_status st = cancel_check(err);
        if (st) return st;
        top_find(&x, left, i);
        top_find(&y, right, i);
        for (size_t k = 0; k < x.count; k++) found += has_id(&y, x.ids[k]);
        io->same_top1 += x.count && y.count && x.ids[0] == y.ids[0];
        shared += x.count ? (double)found / (double)x.count : 0;
    }
    io->positions = rows;
    io->same_top5 = rows ? shared / (double)rows : 0;
    return PGY_OK;
}

pgy_status judge_compare(pgy_decode_comparison *io, strvec *failures, const decode_judge *j,
                         const decode_lane *a, const decode_lane *b, pgy_error *err)
{
    pgy_status st = PGY_OK;
    io->compared = true;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(a->outputs); i++)
        st = compare_output(io, failures, j, a, b, i, err);
    if (!st) st = note_extra(failures, a, b, err);
    if (!st) st = compare_top(io, a, b, err);
    io->differs = io->logits.differs || io->caches.differs || io->others.differs;
    return st;
}

pgy_status judge_made(pgy_decode_comparison *io, const decode_judge *j, const decode_lane *a,
                      const pgy_tensor_map *outputs, pgy_error *err)
{
    pgy_decode_difference all = {.floor_times = NAN};
    for (size_t i = 0; i < pgy_tensor_map_count(a->outputs); i++) {
        const char *name = pgy_tensor_map_name(a->outputs, i);
        pgy_tensor *left = pgy_tensor_map_at(a->outputs, i);
        pgy_tensor *right = pgy_tensor_map_find(outputs, name);
        where_verdict v = {0};
        if (!right || pgy_tensor_dtype(left) == PGY_STRING || pgy_tensor_dtype(right) == PGY_STRING)
            continue;
        const pgy_status st = judge_tensors(&v, j, j->rule, name, left, right, err);
        if (st) return st;
        if (j->rule->needs_floor) add_verdict(group_of(io, &a->plan, name), name, &v);
        add_verdict(&all, name, &v);
    }
    io->made = all.error;
    io->made_tensor = all.tensor;
    io->makes = all.differs;
    io->differs = io->logits.differs || io->caches.differs || io->others.differs;
    return PGY_OK;
}
