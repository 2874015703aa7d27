/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the tactics that may cause failures, from replays of good and of bad builds: those that a
 * layer has in a bad file and in no good one. */
#include <polygraphy/tactics.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cancel.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"

static const char LOG_PATH[] = "engine/tactics/suspects.c";
static const char ORIGINAL_PATH[] = "tools/inspect/subtool/diff_tactics.py";

enum { DEEPEST = 64 }; /* limit for nested folders: a link may lead back */

/* The algorithms of each layer, each once, in the order of first appearance. */
struct pgy_tactic_set {
    strmap layers; /* maps a layer's name to the strvec of its algorithms */
    strvec paths;
    size_t skipped; /* number of files that were skipped */
};

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

/* ---- Sets ----------------------------------------------------------------------------------- */

void pgy_tactic_set_destroy(pgy_tactic_set *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->layers.count; i++) {
        strvec_deinit(s->layers.entries[i].value);
        mem_free(s->layers.entries[i].value);
    }
    strmap_deinit(&s->layers);
    strvec_deinit(&s->paths);
    mem_free(s);
}

static pgy_status add_algorithm(pgy_tactic_set *s, const char *layer, const char *algorithm,
                                pgy_error *err)
{
    strvec *known = strmap_get(&s->layers, layer);
    if (!known) {
        known = mem_calloc(1, sizeof *known);
        if (!known || !strmap_put(&s->layers, layer, known)) {
            mem_free(known);
            return no_memory(err);
        }
    }
    if (strvec_contains(known, algorithm)) return PGY_OK;
    return strvec_push(known, algorithm) ? PGY_OK : no_memory(err);
}

static pgy_status add_layers(pgy_tactic_set *s, const pgy_tactic_replay *r, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_tactic_replay_count(r); i++) {
        const pgy_tactic_layer *l = pgy_tactic_replay_at(r, i);
        char *algorithm = NULL;
        st = pgy_tactic_layer_text(&algorithm, l, err);
        if (!st) st = add_algorithm(s, l->name, algorithm, err);
        mem_free(algorithm);
    }
    return st;
}

static pgy_status add_file(pgy_tactic_set *s, const char *path, pgy_error *err)
{
    pgy_tactic_replay *r = NULL;
    pgy_error why = {0};
    LOG_ORIGINAL(INFO, "Loading tactic replay file from %s", path);
    pgy_status st = pgy_tactic_replay_load(&r, path, &why);
    if (st == PGY_E_NOT_FOUND && !file_exists(path)) return PGY_OK; /* the caller reports it */
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    if (st) {
        s->skipped++;
        LOG(WARNING, "Skipping a file that is not a readable tactic replay: %s", why.text);
        return PGY_OK;
    }
    st = strvec_push(&s->paths, path) ? PGY_OK : no_memory(err);
    if (!st) st = add_layers(s, r, err);
    pgy_tactic_replay_destroy(r);
    return st;
}

static pgy_status add_path(pgy_tactic_set *s, const char *path, int depth, pgy_error *err)
{
    strvec names = {0};
    if (!file_is_dir(path)) return add_file(s, path, err);
    pgy_status st = depth < DEEPEST ? file_list_dir(&names, path, "", err) : PGY_OK;
    for (size_t i = 0; !st && i < names.count; i++) {
        if (names.items[i][0] == '.') continue;
        char *inside = path_join(path, names.items[i]);
        st = inside ? add_path(s, inside, depth + 1, err) : no_memory(err);
        mem_free(inside);
    }
    strvec_deinit(&names);
    return st;
}

pgy_status pgy_tactic_set_load(pgy_tactic_set **out, const char *path, pgy_error *err)
{
    pgy_tactic_set *s = mem_calloc(1, sizeof *s);
    if (!s) return no_memory(err);
    const pgy_status st = add_path(s, path, 0, err);
    if (st)
        pgy_tactic_set_destroy(s);
    else
        *out = s;
    return st;
}

size_t pgy_tactic_set_count(const pgy_tactic_set *s)
{
    return s->paths.count;
}

const char *const *pgy_tactic_set_paths(const pgy_tactic_set *s)
{
    return (const char *const *)s->paths.items;
}

size_t pgy_tactic_set_skipped(const pgy_tactic_set *s)
{
    return s->skipped;
}

/* ---- Suspects ------------------------------------------------------------------------------- */

struct pgy_tactic_suspects {
    arena memory;
    pgy_tactic_suspect *items;
    size_t count;
};

void pgy_tactic_suspects_destroy(pgy_tactic_suspects *s)
{
    if (!s) return;
    arena_deinit(&s->memory);
    mem_free(s);
}

/* Adds the algorithms that a layer has in bad files only; adds no entry if there are none. */
static bool add_suspect(pgy_tactic_suspects *s, const char *layer, const strvec *bad,
                        const strvec *good)
{
    const char **algorithms = arena_alloc_array(&s->memory, bad->count + 1, sizeof *algorithms);
    size_t count = 0;
    if (!algorithms) return false;
    for (size_t i = 0; i < bad->count; i++) {
        if (good && strvec_contains(good, bad->items[i])) continue;
        algorithms[count] = arena_strdup(&s->memory, bad->items[i]);
        if (!algorithms[count++]) return false;
    }
    if (!count) return true;
    const char *name = arena_strdup(&s->memory, layer);
    s->items[s->count++] = (pgy_tactic_suspect){name, algorithms, count};
    return name != NULL;
}

pgy_status pgy_tactic_suspects_find(pgy_tactic_suspects **out, const pgy_tactic_set *good,
                                    const pgy_tactic_set *bad, pgy_error *err)
{
    pgy_tactic_suspects *s = mem_calloc(1, sizeof *s);
    if (!s) return no_memory(err);
    s->items = arena_alloc_array(&s->memory, bad->layers.count + 1, sizeof *s->items);
    bool ok = s->items != NULL;
    for (size_t i = 0; ok && i < bad->layers.count; i++) {
        const strmap_entry *e = &bad->layers.entries[i];
        ok = add_suspect(s, e->key, e->value, strmap_get(&good->layers, e->key));
    }
    if (!ok) {
        pgy_tactic_suspects_destroy(s);
        return no_memory(err);
    }
    *out = s;
    return PGY_OK;
}

size_t pgy_tactic_suspects_count(const pgy_tactic_suspects *s)
{
    return s->count;
}

const pgy_tactic_suspect *pgy_tactic_suspects_at(const pgy_tactic_suspects *s, size_t i)
{
    return i < s->count ? &s->items[i] : NULL;
}

static pgy_status write_suspects(json_writer *w, const void *user, pgy_error *err)
{
    const pgy_tactic_suspects *s = user;
    (void)err;
    json_begin_object(w);
    json_key(w, "suspects");
    json_begin_array(w);
    for (size_t i = 0; i < s->count; i++) {
        json_begin_object(w);
        json_put_text(w, "layer", s->items[i].layer);
        json_key(w, "algorithms");
        json_begin_array(w);
        for (size_t k = 0; k < s->items[i].algorithm_count; k++)
            json_text(w, s->items[i].algorithms[k]);
        json_end_array(w);
        json_end_object(w);
    }
    json_end_array(w);
    json_end_object(w);
    return PGY_OK;
}

pgy_status pgy_tactic_suspects_json(char **out, const pgy_tactic_suspects *s, pgy_error *err)
{
    return json_to_text(out, write_suspects, s, err);
}
