/* SPDX-License-Identifier: Apache-2.0 */
/* The noise floors that a search judges by. */
#include "base/sized.h"
#include "where/walk.h"

static pgy_status sample(pgy_floor **out, pgy_model *model, const pgy_floor_options *o,
                         pgy_tensor_map *const *feeds, size_t count, pgy_error *err)
{
    pgy_status st = pgy_floor_create(out, model, o, err);
    for (size_t i = 0; !st && i < count; i++) st = pgy_floor_add(*out, feeds[i], err);
    return st ? pgy_error_prefix(err, st, "the noise floor cannot be computed: ") : PGY_OK;
}

/* The 16-bit type that a side may compute in, although its model declares float32. */
static pgy_dtype narrow_type(const where_search *s)
{
    const pgy_where_side *sides[] = {s->b.source.side, s->a.source.side};
    for (size_t i = 0; i < 2; i++) {
        const pgy_build_config *c = sides[i]->config;
        if (!c || !pgy_backend_has(sides[i]->backend, PGY_BACKEND_BUILDS_PLANS)) continue;
        if (c->bf16) return PGY_BF16;
        if (c->fp16) return PGY_F16;
    }
    return PGY_DTYPE_NONE;
}

pgy_status where_floors_prepare(where_search *s, pgy_model *model, pgy_error *err)
{
    const pgy_floor_options *given = s->options.floor;
    pgy_floor_options o = {.size = sizeof o};
    if (!s->judge->needs_floor) return PGY_OK;
    if (!model || (s->a.source.results && s->b.source.results))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "where_options.judge is '%s', which needs a model and its inputs: a "
                             "side must have a runner",
                             s->judge->name);
    pgy_status st = given ? SIZED_TAKE(pgy_floor_options, &o, given, err) : PGY_OK;
    if (!o.assume) o.assume = narrow_type(s);
    if (!o.max_steps) o.max_steps = s->options.max_steps;
    o.own = false;
    if (!st) st = sample(&s->floors.all, model, &o, s->feeds, s->feed_count, err);
    o.own = true;
    return st ? st : sample(&s->floors.own, model, &o, s->feeds, s->feed_count, err);
}

void where_floors_destroy(where_floors *f)
{
    pgy_floor_destroy(f->all);
    pgy_floor_destroy(f->own);
    *f = (where_floors){0};
}
