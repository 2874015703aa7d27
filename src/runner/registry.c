/* SPDX-License-Identifier: Apache-2.0 */
/* The list of backends: the built-in ones, then those opened from shared objects. An opened object
 * is checked for every function that the host calls, so that a faulty one is refused with an error
 * and does not crash later. */
#include "runner/registry.h"

#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "base/dl.h"
#include "base/sized.h"
#include "base/str.h"

static struct {
    pthread_mutex_t lock;
    const pgy_backend **loaded;
    size_t count, capacity;
    strmap names; /* maps a prefix to the number of names given, as a pointer-sized integer */
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

__attribute__((weak)) size_t backends_builtin(const pgy_backend *const **out)
{
    *out = NULL;
    return 0;
}

size_t pgy_backend_count(void)
{
    const pgy_backend *const *builtin;
    return backends_builtin(&builtin) + registry.count;
}

const pgy_backend *pgy_backend_at(size_t i)
{
    const pgy_backend *const *builtin;
    size_t count = backends_builtin(&builtin);
    if (i < count) return builtin[i];
    return i - count < registry.count ? registry.loaded[i - count] : NULL;
}

const pgy_backend *pgy_backend_find(const char *name)
{
    for (size_t i = 0, n = pgy_backend_count(); name && i < n; i++)
        if (!strcmp(pgy_backend_at(i)->name, name)) return pgy_backend_at(i);
    return NULL;
}

bool pgy_backend_has(const pgy_backend *b, pgy_backend_trait trait)
{
    const size_t end = offsetof(pgy_backend, traits) + sizeof b->traits;
    return b && b->size >= end && (b->traits & trait);
}

const pgy_backend *pgy_backend_find_trait(pgy_backend_trait trait)
{
    for (size_t i = 0, n = pgy_backend_count(); i < n; i++)
        if (pgy_backend_has(pgy_backend_at(i), trait)) return pgy_backend_at(i);
    return NULL;
}

pgy_status registry_take(pgy_backend *out, const pgy_backend *given, pgy_error *err)
{
    *out = (pgy_backend){.size = sizeof *out};
    const pgy_status st = SIZED_TAKE(pgy_backend, out, given, err);
    if (st) return st;
    const bool whole = out->name && out->runner_prefix && out->create && out->activate &&
                       out->inputs && out->outputs && out->infer && out->deactivate && out->destroy;
    return whole ? PGY_OK
                 : pgy_error_set(err, PGY_E_BACKEND,
                                 "it lacks a name, a runner prefix or a required callback");
}

/* The first defect of a backend from a shared object, or NULL. */
static const char *defect(const pgy_backend *b)
{
    if (b->abi != PGY_BACKEND_ABI)
        return "it was built for another version of the backend interface; rebuild it";
    if (!*b->name || strspn(b->name, "abcdefghijklmnopqrstuvwxyz0123456789-_") != strlen(b->name))
        return "its name has other characters than lower-case letters, digits, '-' and '_'";
    if (!*b->runner_prefix) return "it has no runner prefix";
    if (b->options && !b->options_size) return "it has options, but its 'options_size' is 0";
    if (pgy_backend_find(b->name)) return "another backend already has this name";
    return NULL;
}

/* Adds a copy of a backend for the life of the process. */
static pgy_status add(const pgy_backend *b, pgy_error *err)
{
    pgy_backend *kept = mem_alloc(sizeof *kept);
    if (kept) *kept = *b;
    pthread_mutex_lock(&registry.lock);
    const bool ok = kept && mem_grow((void **)&registry.loaded, &registry.capacity,
                                     registry.count + 1, sizeof *registry.loaded);
    if (ok) registry.loaded[registry.count++] = kept;
    pthread_mutex_unlock(&registry.lock);
    if (ok) return PGY_OK;
    mem_free(kept);
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

pgy_status pgy_backend_load(const char *path, pgy_error *err)
{
    void *handle = NULL;
    union {
        void *address;
        pgy_backend_entry call;
    } entry = {NULL};
    const dl_symbol symbols[] = {{PGY_BACKEND_SYMBOL, &entry.address, true}};

    if (!path)
        return pgy_error_set(err, PGY_E_ARGUMENT,
                             "'path' must not be NULL: it names the backend's library");
    pgy_status st = dl_open(&handle, &path, 1, NULL, err);
    if (!st) st = dl_resolve(handle, symbols, 1, err);
    if (st) return pgy_error_prefix(err, st, "backend '%s': ", path);

    const pgy_backend *b = entry.call(pgy_backend_host_table());
    if (!b)
        return pgy_error_set(
            err, PGY_E_BACKEND,
            "backend '%s': it does not support this host (its entry function returned NULL)", path);
    pgy_backend known;
    st = registry_take(&known, b, err);
    if (st) return pgy_error_prefix(err, st, "backend '%s': ", path);
    const char *wrong = defect(&known);
    if (wrong)
        return pgy_error_set(err, PGY_E_BACKEND, "backend '%s' (%s): %s", path, known.name, wrong);
    return add(&known, err);
}

pgy_status registry_count_name(size_t *out, const char *prefix, pgy_error *err)
{
    pgy_status st = PGY_OK;
    pthread_mutex_lock(&registry.lock);
    size_t n = (size_t)(uintptr_t)strmap_get(&registry.names, prefix);
    if (strmap_put(&registry.names, prefix, (void *)(uintptr_t)(n + 1)))
        *out = n;
    else
        st = pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    pthread_mutex_unlock(&registry.lock);
    return st;
}
