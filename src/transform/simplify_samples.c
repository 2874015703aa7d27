/* SPDX-License-Identifier: Apache-2.0 */
/* Makes sets of inputs to measure rewrites with. Each dynamic dimension gets a size; dimensions of
 * the same name get the same one. Two sets of sizes reveal rewrites that are right for one size
 * only; if the model runs with neither, a third set has batches and lengths of 1. */
#include "transform/simplify.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "base/memory.h"
#include "evaluate/interface.h"

static const char LOG_PATH[] = "transform/simplify_samples.c";

enum { SETS = 2, FALLBACK = 2, MAX_SAMPLES = 64, MAX_NAMES = 64 };

/* ---- Sizes ---------------------------------------------------------------------------------- */

typedef struct named_size {
    const char *name;
    int64_t size;
} named_size;

typedef struct sizes {
    named_size items[MAX_NAMES];
    size_t count;
    size_t set;
    const pgy_metadata *given; /* shapes of some inputs; may be NULL */
} sizes;

/* Are the last two of at least four axes dynamic? They are then taken as the sides of an image. */
static bool is_image(const pgy_value *v)
{
    return v->rank >= 4 && v->dims[v->rank - 1].value < 0 && v->dims[v->rank - 2].value < 0;
}

/* Batches are small, sides of images large. */
static int64_t choose(const sizes *s, const pgy_value *v, int32_t axis)
{
    static const int64_t BATCH[] = {2, 3, 1}, LENGTH[] = {7, 5, 1}, SIDE[] = {64, 96, 224};
    if (axis == 0) return BATCH[s->set];
    return axis >= 2 && is_image(v) ? SIDE[s->set] : LENGTH[s->set];
}

static const int64_t *find(const sizes *s, const char *name, size_t length)
{
    for (size_t i = 0; i < s->count; i++)
        if (strlen(s->items[i].name) == length && memcmp(s->items[i].name, name, length) == 0)
            return &s->items[i].size;
    return NULL;
}

/* Evaluates sums of products of numbers and known names, as exporters write them: "past + 1",
 * "2*N". */
static bool evaluate(int64_t *out, const sizes *s, const char *text)
{
    int64_t sum = 0, product = 1;
    for (bool more = true; more;) {
        while (*text == ' ') text++;
        const size_t length = strcspn(text, " +*");
        const int64_t *known = find(s, text, length);
        if (!known && !isdigit((unsigned char)*text)) return false;
        product *= known ? *known : strtoll(text, NULL, 10);
        for (text += length; *text == ' ';) text++;
        if (product < 0 || product > 1 << 20) return false;
        more = *text == '+' || *text == '*';
        if (*text != '*') {
            sum += product;
            product = 1;
        }
        if (more) text++;
    }
    *out = sum;
    return *text == '\0';
}

/* The total length in a model with a cache: cached length plus new length, which is 1 if no input
 * has a sequence length. */
static bool total(int64_t *out, const sizes *s, const char *name)
{
    const named_size *past = NULL, *length = NULL;
    if (!strstr(name, "total")) return false;
    for (size_t i = 0; i < s->count; i++) {
        if (strstr(s->items[i].name, "past"))
            past = &s->items[i];
        else if (strstr(s->items[i].name, "seq"))
            length = &s->items[i];
    }
    if (past) *out = past->size + (length ? length->size : 1);
    return past != NULL;
}

static int64_t size_of(sizes *s, const char *name, const pgy_value *v, int32_t axis)
{
    int64_t size;
    if (!name) return choose(s, v, axis);
    const int64_t *known = find(s, name, strlen(name));
    if (known) return *known;
    if (strpbrk(name, "+*") && evaluate(&size, s, name)) return size;
    if (total(&size, s, name)) return size;
    size = choose(s, v, axis);
    if (s->count < MAX_NAMES) s->items[s->count++] = (named_size){name, size};
    return size;
}

/* The size of this axis in the shapes that the caller gave; -1: none. */
static int64_t given_size(const pgy_metadata *given, const pgy_value *v, int32_t axis)
{
    const pgy_tensor_info *info = given ? pgy_metadata_find(given, v->name) : NULL;
    return info && info->rank == v->rank ? info->shape[axis] : -1;
}

/* A given size applies to all dimensions of the same name. */
static void gather_given(sizes *s, const pgy_graph *g)
{
    for (size_t i = 0; i < g->input_count; i++) {
        const pgy_value *v = g->inputs[i];
        for (int32_t d = 0; d < v->rank; d++) {
            const char *name = v->dims[d].value < 0 ? v->dims[d].text : NULL;
            const int64_t size = given_size(s->given, v, d);
            if (name && size >= 0 && s->count < MAX_NAMES && !find(s, name, strlen(name)))
                s->items[s->count++] = (named_size){name, size};
        }
    }
}

/* Chooses sizes for plain names first, because expressions and total lengths refer to them. */
static void gather_names(sizes *s, const pgy_graph *g)
{
    for (size_t i = 0; i < g->input_count; i++) {
        const pgy_value *v = g->inputs[i];
        for (int32_t d = 0; d < v->rank; d++) {
            const char *name = v->dims[d].value < 0 ? v->dims[d].text : NULL;
            if (name && !strpbrk(name, "+*") && !strstr(name, "total"))
                (void)size_of(s, name, v, d);
        }
    }
}

static pgy_status describe(pgy_metadata **out, const pgy_graph *g, const pgy_metadata *given,
                           size_t set, pgy_error *err)
{
    sizes s = {.set = set, .given = given};
    pgy_metadata *made = NULL;
    pgy_status st = pgy_metadata_create(&made, err);
    gather_given(&s, g);
    gather_names(&s, g);
    for (size_t i = 0; !st && i < g->input_count; i++) {
        int64_t shape[PGY_MAX_RANK];
        const char *names[PGY_MAX_RANK];
        pgy_tensor_info info = interface_describe(g->inputs[i], shape, names);
        for (int32_t d = 0; d < info.rank; d++) {
            const int64_t wanted = shape[d] < 0 ? given_size(given, g->inputs[i], d) : -1;
            if (wanted >= 0)
                shape[d] = wanted;
            else if (shape[d] < 0)
                shape[d] = size_of(&s, names[d], g->inputs[i], d);
            names[d] = NULL;
        }
        st = pgy_metadata_set(made, &info, err);
    }
    if (st)
        pgy_metadata_destroy(made);
    else
        *out = made;
    return st;
}

static bool is_dynamic(const pgy_graph *g, const pgy_metadata *given)
{
    for (size_t i = 0; i < g->input_count; i++)
        for (int32_t d = 0; d < g->inputs[i]->rank; d++)
            if (g->inputs[i]->dims[d].value < 0 && given_size(given, g->inputs[i], d) < 0)
                return true;
    return false;
}

/* ---- Runs ----------------------------------------------------------------------------------- */

/* A graph with what running it needs. */
typedef struct runnable {
    pgy_graph *graph;
    graph_plan plan;
} runnable;

static void deinit(runnable *r)
{
    graph_plan_deinit(&r->plan);
    pgy_graph_destroy(r->graph);
}

static pgy_status run_graph(pgy_tensor_map **out, const runnable *r, const pgy_tensor_map *feed,
                            bool model_precision, uint64_t max_steps, pgy_error *err)
{
    const execute_limits limits = {.max_bytes = memory_limit_bytes(), .max_steps = max_steps};
    pgy_tensor_map *made = NULL;
    pgy_status st = pgy_tensor_map_create(&made, err);
    if (!st) st = execute_graph(&r->plan, r->graph, feed, made, model_precision, &limits, err);
    if (st)
        pgy_tensor_map_destroy(made);
    else
        *out = made;
    return st;
}

static pgy_status prepare(runnable *out, pgy_model *model, pgy_error *err)
{
    runnable r = {0};
    pgy_status st = pgy_graph_import(&r.graph, model, err);
    if (!st) st = plan_build(&r.plan, r.graph, err);
    if (!st) st = pgy_graph_infer_shapes(r.graph, NULL, err);
    if (st)
        deinit(&r);
    else
        *out = r;
    return st;
}

pgy_status simplify_run(pgy_tensor_map **out, pgy_model *model, const pgy_tensor_map *feed,
                        bool model_precision, uint64_t max_steps, pgy_error *err)
{
    runnable r = {0};
    pgy_status st = prepare(&r, model, err);
    if (!st) st = run_graph(out, &r, feed, model_precision, max_steps, err);
    deinit(&r);
    return st;
}

/* ---- Samples -------------------------------------------------------------------------------- */

static pgy_status add(simplify_samples *s, pgy_tensor_map **feed, pgy_tensor_map **outputs,
                      pgy_error *err)
{
    void *items = s->items;
    if (!mem_grow(&items, &s->capacity, s->count + 1, sizeof *s->items))
        return graph_no_memory(err);
    s->items = items;
    s->items[s->count++] = (simplify_sample){*feed, *outputs};
    *feed = *outputs = NULL;
    return PGY_OK;
}

/* Takes one sample of size set number `set`. *more: the caller supplied inputs, and the model ran
 * on them. */
static pgy_status take_one(simplify_samples *s, bool *more, const runnable *r, pgy_metadata *inputs,
                           size_t set, const pgy_simplify_options *options, pgy_error *err)
{
    pgy_tensor_map *feed = NULL, *outputs = NULL;
    pgy_error why = {0};
    *more = false;
    pgy_status st = options->sample(&feed, inputs, set, options->user, err);
    if (st || !feed) return st;
    const pgy_status failed = run_graph(&outputs, r, feed, false, options->max_steps, &why);
    if (failed) {
        snprintf(s->why, sizeof s->why, "%.500s", why.text);
        LOG(VERBOSE, "Cannot run the model on input set %zu: %s", set, why.text);
    } else {
        *more = true;
        st = add(s, &feed, &outputs, err);
    }
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(outputs);
    return st;
}

static pgy_status take_set(simplify_samples *s, const runnable *r, size_t set,
                           const pgy_simplify_options *options, pgy_error *err)
{
    pgy_metadata *inputs = NULL;
    pgy_status st = describe(&inputs, r->graph, options->inputs, set, err);
    for (bool more = true; !st && more && s->count < MAX_SAMPLES;)
        st = take_one(s, &more, r, inputs, set, options, err);
    pgy_metadata_destroy(inputs);
    return st;
}

pgy_status simplify_samples_take(simplify_samples *out, pgy_model *model,
                                 const pgy_simplify_options *options, pgy_error *err)
{
    runnable r = {0};
    pgy_error why = {0};
    *out = (simplify_samples){0};
    if (!options->sample) {
        snprintf(out->why, sizeof out->why, "there is no input data to run the model on");
        return PGY_OK;
    }
    pgy_status st = prepare(&r, model, &why);
    if (st) {
        snprintf(out->why, sizeof out->why, "%.500s", why.text);
        return PGY_OK;
    }
    const size_t sets = is_dynamic(r.graph, options->inputs) ? SETS : 1;
    for (size_t set = 0; !st && set < sets; set++) st = take_set(out, &r, set, options, err);
    if (!st && !out->count && sets > 1) st = take_set(out, &r, FALLBACK, options, err);
    if (!st && !out->count && !*out->why)
        snprintf(out->why, sizeof out->why, "there is no input data to run the model on");
    deinit(&r);
    return st;
}

void simplify_samples_deinit(simplify_samples *s)
{
    for (size_t i = 0; i < s->count; i++) {
        pgy_tensor_map_destroy(s->items[i].feed);
        pgy_tensor_map_destroy(s->items[i].outputs);
    }
    mem_free(s->items);
    *s = (simplify_samples){0};
}
