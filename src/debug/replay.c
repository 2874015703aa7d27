/* SPDX-License-Identifier: Apache-2.0 */
#include "debug/replay.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json.h"

/* Names that a search may attach. A file's names are compared with them, so that trials need no
 * memory of their own. */
static const char *const STATE_NAMES[] = {"num_nodes", "num_layers", "max_layers", "max_nodes",
                                          "model_key"};

void debug_replay_deinit(debug_replay *r)
{
    for (size_t i = 0; i < r->trials.count; i++) mem_free(r->trials.entries[i].value);
    strmap_deinit(&r->trials);
}

void debug_replay_append_key(str *out, int64_t index, const char *phase)
{
    str_printf(out, "_N%lld", (long long)index);
    if (phase) str_printf(out, "_%s", phase);
}

const pgy_debug_trial *debug_replay_find(const debug_replay *r, const char *key)
{
    return strmap_get(&r->trials, key);
}

pgy_status debug_replay_put(debug_replay *r, const char *key, const pgy_debug_trial *trial,
                            pgy_error *err)
{
    pgy_debug_trial *known = strmap_get(&r->trials, key);
    if (known) {
        *known = *trial;
        return PGY_OK;
    }
    known = mem_alloc(sizeof *known);
    if (known) *known = *trial;
    if (known && strmap_put(&r->trials, key, known)) return PGY_OK;
    mem_free(known);
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory for a replay");
}

/* ---- Reading -------------------------------------------------------------------------------- */

static pgy_status refuse(const json_value *at, const char *what, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_FORMAT, "line %u, column %u: %s", at->line, at->column, what);
}

static bool is_context(const json_value *v)
{
    const json_value *marker = json_get(v, "polygraphy_class");
    if (marker && marker->type == JSON_STRING && span_equals(marker->raw, "IterationContext"))
        return true;
    return json_get(v, "__polygraphy_encoded_IterationContext") != NULL;
}

static const char *state_name(span name)
{
    for (size_t i = 0; i < sizeof STATE_NAMES / sizeof *STATE_NAMES; i++)
        if (span_equals(name, STATE_NAMES[i])) return STATE_NAMES[i];
    return NULL;
}

static pgy_status read_state(pgy_debug_trial *t, const json_value *state, pgy_error *err)
{
    for (const json_value *v = state->first; v; v = v->next) {
        const char *name = state_name(v->key);
        if (!name) return refuse(v, "the state has an unknown member", err);
        if (v->type != JSON_INT) return refuse(v, "a member of the state is not an integer", err);
        if (t->state_count == PGY_DEBUG_NUMBERS)
            return refuse(v, "the state has too many members", err);
        t->state[t->state_count++] = (pgy_debug_number){name, v->integer};
    }
    return PGY_OK;
}

static pgy_status read_trial(pgy_debug_trial *t, const json_value *v, pgy_error *err)
{
    const json_value *state = json_get(v, "state"), *info = json_get(v, "iteration_info");
    const json_value *success = json_get(v, "success");
    const json_value *index = info ? json_get(info, "iteration") : NULL;
    *t = (pgy_debug_trial){0};
    if (!is_context(v)) return refuse(v, "an IterationContext is expected", err);
    if (!success || success->type != JSON_BOOL)
        return refuse(v, "'success' is not true or false", err);
    if (!index || index->type != JSON_INT || index->integer < 0)
        return refuse(v, "'iteration_info' has no 'iteration' of 0 or more", err);
    if (state && state->type != JSON_OBJECT) return refuse(state, "'state' is not an object", err);
    t->index = index->integer;
    t->passed = success->boolean;
    return state ? read_state(t, state, err) : PGY_OK;
}

pgy_status debug_replay_parse(debug_replay *r, const char *text, size_t size_bytes, pgy_error *err)
{
    arena memory = {0};
    json_value *root = NULL;
    str key = {0};
    pgy_status st = json_parse(&root, text, size_bytes, &memory, err);
    if (!st && root->type != JSON_OBJECT) st = refuse(root, "an object is expected", err);
    for (const json_value *v = st ? NULL : root->first; !st && v; v = v->next) {
        pgy_debug_trial t;
        st = read_trial(&t, v, err);
        if (st) break;
        str_clear(&key);
        str_append_n(&key, v->key.data, v->key.size);
        st = key.failed ? pgy_error_set(err, PGY_E_MEMORY, "out of memory for a replay")
                        : debug_replay_put(r, str_text(&key), &t, err);
    }
    str_deinit(&key);
    arena_deinit(&memory);
    return st;
}

pgy_status debug_replay_load(debug_replay *r, const char *path, pgy_error *err)
{
    str text = {0};
    pgy_status st = file_read(&text, path, err);
    if (!st) {
        st = debug_replay_parse(r, str_text(&text), text.size, err);
        if (st == PGY_E_FORMAT) st = pgy_error_prefix(err, st, "'%s' is not a replay: ", path);
    }
    str_deinit(&text);
    return st;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static void write_trial(json_writer *w, const pgy_debug_trial *t)
{
    json_begin_object(w);
    json_key(w, "state");
    json_begin_object(w);
    for (size_t i = 0; i < t->state_count; i++)
        json_put_int(w, t->state[i].name, t->state[i].value);
    json_end_object(w);
    json_key(w, "iteration_info");
    json_begin_object(w);
    json_put_int(w, "iteration", t->index);
    json_end_object(w);
    json_put_bool(w, "success", t->passed);
    json_put_text(w, "polygraphy_class", "IterationContext");
    json_end_object(w);
}

static pgy_status write_all(json_writer *w, const void *user, pgy_error *err)
{
    const debug_replay *r = user;
    (void)err;
    json_begin_object(w);
    for (size_t i = 0; i < r->trials.count; i++) {
        json_key(w, r->trials.entries[i].key);
        write_trial(w, r->trials.entries[i].value);
    }
    json_end_object(w);
    return PGY_OK;
}

pgy_status debug_replay_save(const debug_replay *r, const char *path, pgy_error *err)
{
    return json_save(path, write_all, r, err);
}
