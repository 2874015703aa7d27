/* SPDX-License-Identifier: Apache-2.0 */
/* What a candidate's process writes for the search: its figures as JSON, and its outputs. */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "base/sized.h"
#include "perf/route.h"

char *route_outputs_path(const char *answer)
{
    str path = {0};
    str_printf(&path, "%s.npz", answer);
    return str_take(&path);
}

/* ---- Writing -------------------------------------------------------------------------------- */

void route_losses_write(json_writer *w, const pgy_route_loss *losses, size_t count)
{
    json_key(w, "accuracy_loss");
    json_begin_object(w);
    for (size_t i = 0; i < count; i++) json_put_real(w, losses[i].name, losses[i].loss);
    json_end_object(w);
}

static pgy_status write_answer(json_writer *w, const void *user, pgy_error *err)
{
    const pgy_route_answer *a = user;
    (void)err;
    json_begin_object(w);
    json_put_real(w, "gpu_time_ms", a->gpu_time_ms);
    json_put_bool(w, "accuracy_failed", a->accuracy_failed);
    route_losses_write(w, a->losses, a->loss_count);
    json_end_object(w);
    return PGY_OK;
}

/* Texts and empty outputs cannot be compared. NumPy lacks some types, whose values float32 has. */
static pgy_status add_output(pgy_tensor_map *to, const char *name, pgy_tensor *t, pgy_error *err)
{
    const pgy_dtype_info *info = pgy_dtype_describe(pgy_tensor_dtype(t));
    pgy_tensor *wide = NULL;
    if (pgy_tensor_dtype(t) == PGY_STRING || !pgy_tensor_count(t)) return PGY_OK;
    const pgy_status st =
        pgy_tensor_cast(&wide, pgy_tensor_view(t), info->npy ? pgy_tensor_dtype(t) : PGY_F32, err);
    return st ? st : pgy_tensor_map_adopt(to, name, wide, err);
}

static pgy_status save_outputs(const char *answer, const pgy_tensor_map *outputs, pgy_error *err)
{
    pgy_tensor_map *plain = NULL;
    char *path = route_outputs_path(answer);
    pgy_status st = path ? PGY_OK : pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    if (!st) st = pgy_tensor_map_create(&plain, err);
    for (size_t i = 0; !st && i < pgy_tensor_map_count(outputs); i++)
        st = add_output(plain, pgy_tensor_map_name(outputs, i), pgy_tensor_map_at(outputs, i), err);
    if (!st) st = pgy_npz_save(path, plain, err);
    pgy_tensor_map_destroy(plain);
    mem_free(path);
    return st;
}

pgy_status pgy_route_answer_save(const char *path, const pgy_route_answer *answer, pgy_error *err)
{
    pgy_route_answer a = {.size = sizeof a};
    pgy_status st = SIZED_TAKE(pgy_route_answer, &a, answer, err);
    if (!st && a.outputs) st = save_outputs(path, a.outputs, err);
    return st ? st : json_save(path, write_answer, &a, err);
}

/* ---- Reading -------------------------------------------------------------------------------- */

pgy_status route_losses_read(pgy_route_result *out, const json_value *object, const char *path,
                             arena *a, pgy_error *err)
{
    const json_value *losses = json_get(object, "accuracy_loss");
    size_t count = 0;
    out->loss = NAN;
    if (!losses) return PGY_OK;
    if (losses->type != JSON_OBJECT)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "%s: line %u: 'accuracy_loss' is no object of losses", path,
                             losses->line);
    pgy_route_loss *items = arena_alloc_array(a, losses->count + 1, sizeof *items);
    if (!items) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
    for (const json_value *v = losses->first; v; v = v->next, count++) {
        items[count] = (pgy_route_loss){arena_strndup(a, v->key.data, v->key.size), v->real};
        if (!items[count].name) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        if (v->type != JSON_REAL && v->type != JSON_INT)
            return pgy_error_set(err, PGY_E_FORMAT, "%s: line %u: the loss of '%s' is no number",
                                 path, v->line, printable_name(items[count].name));
        if (!count || isnan(v->real) || v->real > out->loss) /* false if out->loss is NaN */
            out->loss = v->real;
    }
    out->losses = items;
    out->loss_count = count;
    return PGY_OK;
}

static pgy_status read_answer(pgy_route_result *out, const json_value *root, const char *path,
                              arena *a, pgy_error *err)
{
    const json_value *time = json_get(root, "gpu_time_ms");
    const json_value *failed = json_get(root, "accuracy_failed");
    if (!time || (time->type != JSON_REAL && time->type != JSON_INT) || !isfinite(time->real) ||
        time->real < 0)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "%s: 'gpu_time_ms' is missing, or no time of at least 0", path);
    if (!failed || failed->type != JSON_BOOL)
        return pgy_error_set(err, PGY_E_FORMAT, "%s: 'accuracy_failed' is neither true nor false",
                             path);
    out->gpu_time_ms = time->real;
    out->accuracy_failed = failed->boolean;
    return route_losses_read(out, root, path, a, err);
}

pgy_status route_answer_parse(pgy_route_result *out, span text, const char *path, arena *a,
                              pgy_error *err)
{
    arena memory = {0};
    json_value *root = NULL;
    pgy_status st = json_parse(&root, text.data, text.size, &memory, err);
    if (st)
        pgy_error_prefix(err, st, "%s: ", path);
    else
        st = read_answer(out, root, path, a, err);
    arena_deinit(&memory);
    return st;
}
