/* SPDX-License-Identifier: Apache-2.0 */
/* All input data of a sequential run: loaded once, for the first runner, and matched to every
 * runner. If the data does not fit a runner, the loader generates it again for this runner's
 * inputs, if it can. */
#include "base/alloc.h"
#include "base/cancel.h"
#include "base/log.h"
#include "compare/run.h"

static const char LOG_PATH[] = "comparator/data_loader.py";

void feed_cache_deinit(feed_cache *c)
{
    for (size_t i = 0; i < c->count; i++) pgy_tensor_map_destroy(c->feeds[i]);
    mem_free(c->feeds);
    *c = (feed_cache){0};
}

pgy_status feed_cache_adopt(feed_cache *c, pgy_tensor_map *feed, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tensor_map_count(feed); i++)
        st = pgy_tensor_swap_out(pgy_tensor_map_at(feed, i), err);
    if (!st && !mem_grow((void **)&c->feeds, &c->capacity, c->count + 1, sizeof *c->feeds))
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (st)
        pgy_tensor_map_destroy(feed);
    else
        c->feeds[c->count++] = feed;
    return st;
}

static pgy_status load_all(feed_cache *c, pgy_error *err)
{
    pgy_status st = PGY_OK;
    LOG(VERBOSE, "Loading inputs from data loader");
    while (!st) {
        pgy_tensor_map *feed = NULL;
        st = run_check_cancelled(c->options, err);
        if (!st) st = pgy_data_loader_next(&feed, c->loader, err);
        if (st || !feed) break;
        st = feed_cache_adopt(c, feed, err);
    }
    if (!st) c->loaded = true;
    return st;
}

pgy_status feed_cache_begin(feed_cache *c, pgy_runner *r, pgy_error *err)
{
    const pgy_metadata *inputs = NULL;
    c->regenerating = false;
    pgy_status st = pgy_runner_inputs(&inputs, r, err);
    if (!st && inputs) st = pgy_data_loader_set_metadata(c->loader, inputs, err);
    if (!st && !c->loaded) st = load_all(c, err);
    return st;
}

pgy_status feed_cache_get(pgy_tensor_map **out, const feed_cache *c, size_t i, pgy_error *err)
{
    const pgy_tensor_map *kept = c->feeds[i];
    pgy_tensor_map *feed = NULL;
    pgy_status st = pgy_tensor_map_create(&feed, err);
    for (size_t k = 0; !st && k < pgy_tensor_map_count(kept); k++) {
        pgy_tensor *t = NULL;
        st = pgy_tensor_load(&t, pgy_tensor_map_at(kept, k), err);
        if (!st) st = pgy_tensor_map_adopt(feed, pgy_tensor_map_name(kept, k), t, err);
    }
    if (!st)
        *out = feed;
    else
        pgy_tensor_map_destroy(feed);
    return st;
}

/* Takes iteration i from the loader again. Callers ask for iterations in order, so the loader is
 * rewound once per runner. */
static pgy_status regenerate(pgy_tensor_map **out, feed_cache *c, size_t i, pgy_error *err)
{
    pgy_tensor_map *feed = NULL;
    pgy_status st = PGY_OK;
    if (!c->regenerating || c->regenerated > i) {
        st = pgy_data_loader_rewind(c->loader, err);
        c->regenerated = 0;
        c->regenerating = true;
    }
    while (!st && c->regenerated <= i) {
        pgy_tensor_map_destroy(feed);
        feed = NULL;
        st = pgy_data_loader_next(&feed, c->loader, err);
        if (!st && !feed)
            st = pgy_error_set(err, PGY_E_ARGUMENT,
                               "could not reload a replacement from the data loader.");
        c->regenerated++;
    }
    if (!st)
        *out = feed;
    else
        pgy_tensor_map_destroy(feed);
    return st;
}

pgy_status feed_cache_match(pgy_tensor_map **out, feed_cache *c, size_t i, pgy_runner *r,
                            pgy_error *err)
{
    pgy_tensor_map *feed = NULL;
    pgy_error why = {0};
    pgy_status st = feed_cache_get(&feed, c, i, err);
    if (st) return st;
    st = infer_match(out, r, feed, &why);
    pgy_tensor_map_destroy(feed);
    if (!st || status_ends_all(st) || !pgy_data_loader_can_regenerate(c->loader)) {
        if (st) pgy_error_set(err, st, "%s", why.text);
        return st;
    }
    LOG(WARNING, "%s Will load data for %s from the data loader again.", why.text,
        pgy_runner_name(r));
    feed = NULL;
    st = regenerate(&feed, c, i, err);
    if (!st) st = infer_match(out, r, feed, err);
    pgy_tensor_map_destroy(feed);
    return st;
}
