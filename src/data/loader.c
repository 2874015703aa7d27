/* SPDX-License-Identifier: Apache-2.0 */
/* The data loader object: a table of functions with their data, and the loaders over lists and
 * callbacks. */
#include "data/loader.h"

#include "base/alloc.h"
#include "base/sized.h"

struct pgy_data_loader {
    pgy_data_loader_functions functions;
    void *user;
    pgy_metadata *inputs; /* own copy of the metadata that the functions got last */
    bool can_regenerate;
};

pgy_status pgy_data_loader_create(pgy_data_loader **out, const pgy_data_loader_functions *functions,
                                  void *user, pgy_error *err)
{
    pgy_data_loader_functions taken = {.size = sizeof taken};
    const pgy_status st = SIZED_TAKE(pgy_data_loader_functions, &taken, functions, err);
    if (st) return st;
    if (!taken.next) return pgy_error_set(err, PGY_E_ARGUMENT, "'functions.next' must not be NULL");
    pgy_data_loader *l = mem_calloc(1, sizeof *l);
    if (!l) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a data loader");
    l->functions = taken;
    l->user = user;
    *out = l;
    return PGY_OK;
}

void loader_set_can_regenerate(pgy_data_loader *l)
{
    l->can_regenerate = true;
}

bool pgy_data_loader_can_regenerate(const pgy_data_loader *l)
{
    return l->can_regenerate;
}

void pgy_data_loader_destroy(pgy_data_loader *l)
{
    if (!l) return;
    if (l->functions.destroy) l->functions.destroy(l->user);
    pgy_metadata_destroy(l->inputs);
    mem_free(l);
}

/* Copies the metadata, because the functions may keep it, and a runner's metadata ends with its
 * activation.
 */
pgy_status pgy_data_loader_set_metadata(pgy_data_loader *l, const pgy_metadata *inputs,
                                        pgy_error *err)
{
    pgy_metadata *copy = NULL;
    if (!l->functions.set_metadata) return PGY_OK;
    pgy_status st = pgy_metadata_create(&copy, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(inputs); i++)
        st = pgy_metadata_set(copy, pgy_metadata_at(inputs, i), err);
    if (!st) st = l->functions.set_metadata(l->user, copy, err);
    pgy_metadata_destroy(st ? copy : l->inputs);
    if (!st) l->inputs = copy;
    return st;
}

pgy_status pgy_data_loader_next(pgy_tensor_map **out, pgy_data_loader *l, pgy_error *err)
{
    pgy_tensor_map *m = NULL;
    pgy_status st = l->functions.next(&m, l->user, err);
    if (!st) *out = m;
    return st;
}

pgy_status pgy_data_loader_rewind(pgy_data_loader *l, pgy_error *err)
{
    if (!l->functions.rewind)
        return pgy_error_set(err, PGY_E_UNSUPPORTED, "this data loader cannot be rewound");
    return l->functions.rewind(l->user, err);
}

/* ---- Lists ---- */

typedef struct list_loader {
    pgy_tensor_map **maps;
    size_t count, next;
} list_loader;

static pgy_status list_next(pgy_tensor_map **out, void *user, pgy_error *err)
{
    list_loader *l = user;
    if (l->next == l->count) {
        *out = NULL;
        return PGY_OK;
    }
    pgy_status st = pgy_tensor_map_copy(out, l->maps[l->next], err);
    if (!st) l->next++;
    return st;
}

static pgy_status list_rewind(void *user, pgy_error *err)
{
    (void)err;
    ((list_loader *)user)->next = 0;
    return PGY_OK;
}

static void list_destroy(void *user)
{
    list_loader *l = user;
    for (size_t i = 0; i < l->count; i++) pgy_tensor_map_destroy(l->maps[i]);
    mem_free(l->maps);
    mem_free(l);
}

pgy_status pgy_list_loader_create(pgy_data_loader **out, const pgy_tensor_map *const *maps,
                                  size_t count, pgy_error *err)
{
    static const pgy_data_loader_functions FUNCTIONS = {sizeof FUNCTIONS, list_next, list_rewind,
                                                        NULL, list_destroy};
    list_loader *l = mem_calloc(1, sizeof *l);
    if (!l) return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a data loader");
    pgy_status st = PGY_OK;
    l->maps = mem_calloc(count + 1, sizeof *l->maps);
    if (!l->maps) st = pgy_error_set(err, PGY_E_MEMORY, "out of memory for %zu inputs", count);
    for (; !st && l->count < count; l->count += !st)
        st = pgy_tensor_map_copy(&l->maps[l->count], maps[l->count], err);
    if (!st) st = pgy_data_loader_create(out, &FUNCTIONS, l, err);
    if (st)
        list_destroy(l);
    else
        loader_set_can_regenerate(*out);
    return st;
}
