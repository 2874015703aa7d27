/* SPDX-License-Identifier: Apache-2.0 */
/* The state of measuring kernels, and the keys of timing caches. */
#include "engine/tactics/timing.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/str.h"

static const char LOG_PATH[] = "engine/tactics/timing.c";
static const char ORIGINAL_PATH[] = "backend/trt/config.py";

enum { DEFAULT_LEVEL = 3 };
/* Indexed by builder optimisation level: seconds that measuring may take. */
static const double BUDGET[] = {0, 0, 3, 6, 30, 600};
/* Devices have many tactics, and each must be compiled first. */
static const double DEVICE_FACTOR = 5;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* ---- Life ----------------------------------------------------------------------------------- */

/* A missing file is an empty cache; a damaged one is an error. */
static pgy_status load_cache(timing *t, const char *path, pgy_error *err)
{
    pgy_timing_cache *loaded = NULL;
    pgy_error why = {0};
    LOG_ORIGINAL(INFO, "Loading tactic timing cache from %s", path);
    pgy_status st = pgy_timing_cache_load(&loaded, path, &why);
    if (st == PGY_E_NOT_FOUND) {
        LOG_ORIGINAL(WARNING, "Timing cache file %s not found, falling back to empty timing cache.",
                     path);
        return PGY_OK;
    }
    if (st) return pgy_error_set(err, st, "%s", why.text);
    if (strcmp(pgy_timing_cache_device(loaded), t->device) != 0)
        LOG(WARNING, "Timing cache '%s' was measured on '%s'; its times do not apply to '%s'", path,
            pgy_timing_cache_device(loaded), t->device);
    st = pgy_timing_cache_combine(t->cache, loaded, true, err);
    if (!st)
        LOG(VERBOSE, "Loaded timing cache '%s' with %zu entries", path,
            pgy_timing_cache_count(loaded));
    pgy_timing_cache_destroy(loaded);
    return st;
}

pgy_status timing_create(timing **out, const pgy_build_config *config, pgy_error *err)
{
    timing *t = mem_calloc(1, sizeof *t);
    if (!t) return no_memory(err);
    t->config = config;
    t->level = config->has_optimization_level ? config->optimization_level : DEFAULT_LEVEL;
    if (t->level < 0) t->level = 0;
    if (t->level > 5) t->level = 5;
    t->left_ns = (int64_t)(BUDGET[t->level] * (config->devices.count ? DEVICE_FACTOR : 1) * 1e9);
    t->threads = config->threads ? config->threads : cpu_count();
    timing_device(t->device, sizeof t->device);
    pgy_status st = config->timing_cache ? PGY_OK : pgy_timing_cache_create(&t->own, err);
    t->cache = config->timing_cache ? config->timing_cache : t->own;
    if (!st && config->load_timing_cache) st = load_cache(t, config->load_timing_cache, err);
    if (st)
        timing_destroy(t);
    else
        *out = t;
    return st;
}

void timing_destroy(timing *t)
{
    if (!t) return;
    pgy_timing_cache_destroy(t->own);
    mem_free(t);
}

pgy_status timing_save(timing *t, pgy_error *err)
{
    const char *path = t->config->save_timing_cache;
    if (!path) return PGY_OK;
    LOG_ORIGINAL(INFO, "Saving tactic timing cache to %s", path);
    const pgy_status st = pgy_timing_cache_save_merged(t->cache, path, err);
    return st ? pgy_error_prefix(err, st, "saving the timing cache: ") : PGY_OK;
}

/* ---- Keys ----------------------------------------------------------------------------------- */

static void put(str *s, const void *data, size_t size_bytes)
{
    str_append_n(s, data, size_bytes);
}

static void put_number(str *s, int64_t n)
{
    put(s, &n, sizeof n);
}

static void put_span(str *s, const char *data, size_t size)
{
    put_number(s, (int64_t)size);
    put(s, data, size);
}

static void put_attr(str *s, const op_attr *a)
{
    put_span(s, a->name, strlen(a->name));
    put_number(s, (int64_t)a->kind);
    put_number(s, a->i);
    put(s, &a->f, sizeof a->f);
    put_span(s, a->s.data, a->s.size);
    put_number(s, (int64_t)a->count);
    if (a->ints) put(s, a->ints, a->count * sizeof *a->ints);
    if (a->floats) put(s, a->floats, a->count * sizeof *a->floats);
    for (size_t i = 0; a->strings && i < a->count; i++)
        put_span(s, a->strings[i].data, a->strings[i].size);
    put_number(s, (int64_t)a->tensor_dtype);
    if (a->tensor && pgy_tensor_dtype(a->tensor) != PGY_STRING)
        put(s, pgy_tensor_data(a->tensor), pgy_tensor_size_bytes(a->tensor));
}

static int by_name(const void *a, const void *b)
{
    const op_attr *const *p = a, *const *q = b;
    return strcmp((*p)->name, (*q)->name);
}

static bool put_attrs(str *s, const op_node *n)
{
    const op_attr **sorted = mem_calloc(n->attr_count + 1, sizeof *sorted);
    if (!sorted) return false;
    for (size_t i = 0; i < n->attr_count; i++) sorted[i] = &n->attrs[i];
    qsort(sorted, n->attr_count, sizeof *sorted, by_name);
    for (size_t i = 0; i < n->attr_count; i++) put_attr(s, sorted[i]);
    mem_free(sorted);
    return true;
}

/* Adds a tensor to a key, with the elements of a small constant, since kernels may read them. */
static void put_tensor(str *s, const kernel_tensor *t)
{
    put_number(s, (int64_t)t->dtype);
    if (!t->dtype) return;
    put_number(s, t->rank);
    put(s, t->shape, (size_t)t->rank * sizeof *t->shape);
    put_number(s, (int64_t)t->layout);
    if (t->space) put_number(s, (int64_t)t->space);
    put_number(s, t->data != NULL);
    if (t->data && kernel_count(t) <= KERNEL_READABLE) put(s, t->data, kernel_size_bytes(t));
}

bool timing_key(pgy_timing_key *out, const timing *t, const kernel_problem *u, const char *domain,
                const char *op, uint64_t kernels)
{
    str s = {0};
    put_span(&s, t->device, strlen(t->device));
    put_number(&s, (int64_t)t->threads);
    put_span(&s, domain, strlen(domain));
    put_span(&s, op, strlen(op));
    bool room = true;
    if (u->node) {
        put_number(&s, u->node->def ? u->node->def->since : 0);
        room = put_attrs(&s, u->node);
    }
    put_number(&s, (int64_t)u->input_count);
    for (size_t i = 0; i < u->input_count; i++) put_tensor(&s, &u->inputs[i]);
    for (size_t i = 0; i < u->output_count; i++) put_tensor(&s, &u->outputs[i]);
    put_number(&s, (int64_t)kernels);
    room = room && !s.failed;
    const uint64_t halves[2] = {hash_xxh64(s.data, s.size, 1), hash_xxh64(s.data, s.size, 2)};
    memcpy(out->bytes, halves, sizeof out->bytes);
    str_deinit(&s);
    return room;
}
