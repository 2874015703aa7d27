/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the routes of an expression. A route names every knob of the expression, in its order, so
 * equal routes have equal texts. */
#include <string.h>

#include "base/alloc.h"
#include "perf/route.h"

enum { MOST_LIST_BYTES = 64 << 20 };

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for routes");
}

/* ---- Creation ------------------------------------------------------------------------------- */

/* A knob with one value keeps it in all routes; one with a list begins with what the configuration
 * says. */
static pgy_status set_initial(pgy_route_space *s, const pgy_build_config *config,
                              const pgy_calibration *calibration, pgy_error *err)
{
    const size_t count = s->expression.count;
    s->initial = arena_alloc_array(&s->memory, count, sizeof *s->initial);
    if (!s->initial) return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const route_choice *c = &s->expression.items[i];
        str value = {0};
        if (c->is_list)
            route_knob_get(&value, c->knob, c->name, config, calibration);
        else
            str_append(&value, c->values[0]);
        s->initial[i] = value.failed ? NULL : arena_strdup(&s->memory, str_text(&value));
        str_deinit(&value);
        if (!s->initial[i]) return no_memory(err);
    }
    return PGY_OK;
}

pgy_status pgy_route_space_create(pgy_route_space **out, const char *expression,
                                  const pgy_build_config *config,
                                  const pgy_calibration *calibration, pgy_error *err)
{
    pgy_route_space *s = mem_calloc(1, sizeof *s);
    if (!s) return no_memory(err);
    pgy_status st = route_expression_parse(&s->expression, span_of(expression), &s->memory, err);
    if (st) pgy_error_prefix(err, st, "build routes: ");
    if (!st) st = set_initial(s, config, calibration, err);
    if (st)
        pgy_route_space_destroy(s);
    else
        *out = s;
    return st;
}

void pgy_route_space_destroy(pgy_route_space *s)
{
    if (!s) return;
    for (size_t i = 0; i < 2; i++) strvec_deinit(&s->lists[i]);
    arena_deinit(&s->memory);
    mem_free(s);
}

/* ---- Texts ---------------------------------------------------------------------------------- */

/* values[i] of each knob; NULL: the initial ones. */
static void set_route(str *out, const pgy_route_space *s, const char *const *values)
{
    str_clear(out);
    for (size_t i = 0; i < s->expression.count; i++)
        str_printf(out, "%s-%s=%s", i ? " " : "", s->expression.items[i].name,
                   values ? values[i] : s->initial[i]);
}

static pgy_status push(strvec *list, const str *route, pgy_error *err)
{
    if (list->count >= ROUTE_MAX_LIST || (list->count + 1) * route->size > MOST_LIST_BYTES)
        return pgy_error_set(err, PGY_E_UNSUPPORTED,
                             "build routes: there are more than %zu routes; name fewer knobs and "
                             "values",
                             list->count);
    return !route->failed && strvec_push(list, str_text(route)) ? PGY_OK : no_memory(err);
}

/* ---- One change at a time ------------------------------------------------------------------- */

bool route_space_variant(str *out, const pgy_route_space *s, size_t knob, size_t value)
{
    const char *changed = s->expression.items[knob].values[value];
    str_clear(out);
    for (size_t i = 0; i < s->expression.count; i++)
        str_printf(out, "%s-%s=%s", i ? " " : "", s->expression.items[i].name,
                   i == knob ? changed : s->initial[i]);
    return strcmp(changed, s->initial[knob]) != 0;
}

static pgy_status list_fast(strvec *out, const pgy_route_space *s, pgy_error *err)
{
    str route = {0};
    set_route(&route, s, NULL);
    pgy_status st = push(out, &route, err);
    for (size_t i = 0; !st && i < s->expression.count; i++)
        for (size_t k = 0; !st && k < s->expression.items[i].count; k++)
            if (route_space_variant(&route, s, i, k)) st = push(out, &route, err);
    str_deinit(&route);
    return st;
}

/* ---- Combinations --------------------------------------------------------------------------- */

/* The values of a knob to combine. */
typedef struct axis {
    const char **values;
    size_t count, at;
} axis;

/* With `helped` NULL the listed values of all knobs, else those of the knobs that helped and their
 * initial values: some of them may be better left alone when others change. */
static pgy_status make_axes(axis *axes, const pgy_route_space *s, const bool *helped, arena *a,
                            pgy_error *err)
{
    for (size_t i = 0; i < s->expression.count; i++) {
        const route_choice *c = &s->expression.items[i];
        axes[i].values = arena_alloc_array(a, c->count + 1, sizeof *axes[i].values);
        if (!axes[i].values) return no_memory(err);
        if (helped) axes[i].values[axes[i].count++] = s->initial[i];
        for (size_t k = 0; k < c->count && (!helped || helped[i]); k++)
            if (!helped || strcmp(c->values[k], s->initial[i]) != 0)
                axes[i].values[axes[i].count++] = c->values[k];
    }
    return PGY_OK;
}

static pgy_status check_count(const axis *axes, size_t count, pgy_error *err)
{
    double all = 1;
    for (size_t i = 0; i < count; i++) all *= (double)axes[i].count;
    if (all <= ROUTE_MAX_LIST) return PGY_OK;
    return pgy_error_set(err, PGY_E_UNSUPPORTED,
                         "build routes: the knobs have %.6g combinations, more than %d; name fewer "
                         "values, or search fast",
                         all, ROUTE_MAX_LIST);
}

/* Steps to the next combination; the last knob changes first. False: that was the last one. */
static bool step(axis *axes, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        if (++axes[i].at < axes[i].count) return true;
        axes[i].at = 0;
    }
    return false;
}

static pgy_status combine(strvec *out, const pgy_route_space *s, axis *axes, pgy_error *err)
{
    const size_t count = s->expression.count;
    const char **values = mem_calloc(count, sizeof *values);
    str baseline = {0}, route = {0};
    pgy_status st = values ? PGY_OK : no_memory(err);
    set_route(&baseline, s, NULL);
    for (bool more = !st; more && !st; more = step(axes, count)) {
        for (size_t i = 0; i < count; i++) values[i] = axes[i].values[axes[i].at];
        set_route(&route, s, values);
        if (strcmp(str_text(&route), str_text(&baseline)) != 0) st = push(out, &route, err);
    }
    str_deinit(&baseline);
    str_deinit(&route);
    mem_free(values);
    return st;
}

pgy_status route_space_combine(strvec *out, const pgy_route_space *s, const bool *helped,
                               pgy_error *err)
{
    arena memory = {0};
    const size_t count = s->expression.count;
    axis *axes = arena_alloc_array(&memory, count, sizeof *axes);
    pgy_status st = axes ? make_axes(axes, s, helped, &memory, err) : no_memory(err);
    if (!st) st = check_count(axes, count, err);
    if (!st) st = combine(out, s, axes, err);
    arena_deinit(&memory);
    return st;
}

static pgy_status list_full(strvec *out, const pgy_route_space *s, pgy_error *err)
{
    str baseline = {0};
    set_route(&baseline, s, NULL);
    pgy_status st = push(out, &baseline, err);
    str_deinit(&baseline);
    return st ? st : route_space_combine(out, s, NULL, err);
}

/* ---- Lists ---------------------------------------------------------------------------------- */

pgy_status pgy_route_space_list(const char *const **routes, size_t *count, pgy_route_space *s,
                                pgy_route_strategy strategy, pgy_error *err)
{
    if (strategy != PGY_ROUTE_FAST && strategy != PGY_ROUTE_FULL)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "route.strategy: the routes of a mixed search depend on its results, "
                             "so they cannot be listed before");
    strvec *list = &s->lists[strategy];
    pgy_status st = PGY_OK;
    if (!list->count)
        st = strategy == PGY_ROUTE_FAST ? list_fast(list, s, err) : list_full(list, s, err);
    if (st) {
        strvec_deinit(list);
        *list = (strvec){0};
        return st;
    }
    *routes = (const char *const *)list->items;
    *count = list->count;
    return PGY_OK;
}
