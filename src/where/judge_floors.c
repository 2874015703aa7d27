/* SPDX-License-Identifier: Apache-2.0 */
/* The noise floors that a search judges by. */
#include "base/sized.h"
#include "where/walk.h"

pgy_dtype where_floor_narrow(const pgy_build_config *c)
{
    if (!c) return PGY_DTYPE_NONE;
    return c->bf16 ? PGY_BF16 : c->fp16 ? PGY_F16 : PGY_DTYPE_NONE;
}

pgy_status where_floor_measure(pgy_floor **out, pgy_model *model, const pgy_where_options *options,
                               pgy_dtype narrow, bool own, pgy_tensor_map *const *feeds,
                               size_t count, pgy_error *err)
{
    pgy_floor_options o = {.size = sizeof o};
    pgy_status st =
        options->floor ? SIZED_TAKE(pgy_floor_options, &o, options->floor, err) : PGY_OK;
    if (!o.assume) o.assume = narrow;
    if (!o.max_steps) o.max_steps = options->max_steps;
    o.own = own;
    if (!st) st = pgy_floor_create(out, model, &o, err);
    for (size_t i = 0; !st && i < count; i++) st = pgy_floor_add(*out, feeds[i], err);
    return st ? pgy_error_prefix(err, st, "the noise floor cannot be computed: ") : PGY_OK;
}

/* The 16-bit type that a side may compute in, although its model declares float32. */
static pgy_dtype narrow_type(const where_search *s)
{
    const pgy_where_side *sides[] = {s->b.source.side, s->a.source.side};
    for (size_t i = 0; i < 2; i++)
        if (pgy_backend_has(sides[i]->backend, PGY_BACKEND_BUILDS_PLANS) &&
            where_floor_narrow(sides[i]->config))
            return where_floor_narrow(sides[i]->config);
    return PGY_DTYPE_NONE;
}

pgy_status where_floors_prepare(where_search *s, pgy_model *model, pgy_error *err)
{
    if (!s->judge->needs_floor) return PGY_OK;
    if (!model || (s->a.source.results && s->b.source.results))
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "where_options.judge is '%s', which needs a model and its inputs: a "
                             "side must have a runner",
                             s->judge->name);
    const pgy_dtype narrow = narrow_type(s);
    const pgy_status st = where_floor_measure(&s->floors.all, model, &s->options, narrow, false,
                                              s->feeds, s->feed_count, err);
    return st ? st
              : where_floor_measure(&s->floors.own, model, &s->options, narrow, true, s->feeds,
                                    s->feed_count, err);
}

void where_floors_destroy(where_floors *f)
{
    pgy_floor_destroy(f->all);
    pgy_floor_destroy(f->own);
    *f = (where_floors){0};
}
