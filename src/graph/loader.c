/* SPDX-License-Identifier: Apache-2.0 */
/* Lazy loaders of models: each is one step (read, edit, save), and a chain of them is linked from
 * the last step to the first. A loader calls the one that it wraps and then applies its own step to
 * the model. To a runner, a chain that only reads a file passes the path; any other passes the
 * model with its bytes, or a temporary file with the weights beside it if the model exceeds the
 * size limit of a protobuf. */
#include <polygraphy/loader.h>

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/cancel.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sized.h"

static const char LOG_PATH[] = "graph/loader.c";
static const char ORIGINAL_PATH[] = "backend/onnx/loader.py";

/* A little below the limit of protobuf, which counts the bytes of a message in a signed 32-bit
 * number. */
static const uint64_t MAX_BYTES = 2000000000;

struct pgy_loader {
    atomic_size_t refs;
    pgy_loader *inner; /* the loader before this one; NULL: `step` makes the model */
    pgy_status (*step)(pgy_model **model, const pgy_loader *self, pgy_error *err);
    arena memory;         /* texts and lists of the step's arguments */
    const char *path;     /* from_path, save */
    pgy_model *model;     /* from_model */
    pgy_metadata *inputs; /* infer_shapes */
    pgy_model_load_options load;
    pgy_model_save_options save;
    pgy_output_selection selection;
    pgy_half_options half;
    pgy_loader_step custom;
    void *user;
};

void pgy_loader_destroy(pgy_loader *loader)
{
    while (loader && atomic_fetch_sub_explicit(&loader->refs, 1, memory_order_acq_rel) == 1) {
        pgy_loader *inner = loader->inner;
        pgy_model_destroy(loader->model);
        pgy_metadata_destroy(loader->inputs);
        arena_deinit(&loader->memory);
        mem_free(loader);
        loader = inner;
    }
}

pgy_loader *pgy_loader_retain(pgy_loader *loader)
{
    atomic_fetch_add_explicit(&loader->refs, 1, memory_order_relaxed);
    return loader;
}

pgy_status pgy_loader_call(pgy_model **out, const pgy_loader *loader, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_status st = loader->inner ? pgy_loader_call(&model, loader->inner, err) : PGY_OK;
    if (!st) st = loader->step(&model, loader, err);
    if (st)
        pgy_model_destroy(model);
    else
        *out = model;
    return st;
}

static pgy_status out_of_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static pgy_loader *create(pgy_status (*step)(pgy_model **, const pgy_loader *, pgy_error *))
{
    pgy_loader *l = mem_calloc(1, sizeof *l);
    if (!l) return NULL;
    atomic_init(&l->refs, 1);
    l->step = step;
    return l;
}

/* ---- Beginnings ----------------------------------------------------------------------------- */

static pgy_status step_load(pgy_model **model, const pgy_loader *self, pgy_error *err)
{
    LOG_ORIGINAL(INFO, "Loading model: %s", self->path);
    if (self->load.external_data_dir)
        LOG_ORIGINAL(VERBOSE, "Loading external data from: %s", self->load.external_data_dir);
    return pgy_model_load(model, self->path, &self->load, err);
}

pgy_status pgy_loader_from_path(pgy_loader **out, const char *path,
                                const pgy_model_load_options *options, pgy_error *err)
{
    if (!path || !*path)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'path' must be the name of a model file");
    pgy_loader *l = create(step_load);
    if (!l) return out_of_memory(err);
    l->load.size = sizeof l->load;
    const pgy_status st = SIZED_TAKE(pgy_model_load_options, &l->load, options, err);
    if (st) {
        pgy_loader_destroy(l);
        return st;
    }
    bool ok = (l->path = arena_strdup(&l->memory, path)) != NULL;
    if (ok && l->load.external_data_dir)
        ok = (l->load.external_data_dir = arena_strdup(&l->memory, l->load.external_data_dir)) !=
             NULL;
    if (!ok) {
        pgy_loader_destroy(l);
        return out_of_memory(err);
    }
    *out = l;
    return PGY_OK;
}

static pgy_status step_give(pgy_model **model, const pgy_loader *self, pgy_error *err)
{
    (void)err;
    *model = pgy_model_retain(self->model);
    return PGY_OK;
}

pgy_status pgy_loader_from_model(pgy_loader **out, pgy_model *model, pgy_error *err)
{
    if (!model) return pgy_error_set(err, PGY_E_ARGUMENT, "'model' must not be NULL");
    pgy_loader *l = create(step_give);
    if (!l) return out_of_memory(err);
    l->model = pgy_model_retain(model);
    *out = l;
    return PGY_OK;
}

/* ---- Steps ---------------------------------------------------------------------------------- */

/* Replaces *loader by `outer`, a step that owns the old *loader as its input. */
static void wrap(pgy_loader **loader, pgy_loader *outer)
{
    outer->inner = *loader;
    *loader = outer;
}

/* Runs an edit on the graph of *model and replaces the model by the result. */
static pgy_status edit(pgy_model **model, const pgy_loader *self,
                       pgy_status (*change)(pgy_graph *, const pgy_loader *, pgy_error *),
                       pgy_error *err)
{
    pgy_graph *graph = NULL;
    pgy_model *edited = NULL;
    pgy_status st = pgy_graph_import(&graph, *model, err);
    if (!st) st = change(graph, self, err);
    if (!st) st = pgy_graph_export(&edited, graph, err);
    pgy_graph_destroy(graph);
    if (st) return st;
    pgy_model_destroy(*model);
    *model = edited;
    return PGY_OK;
}

static pgy_status change_infer(pgy_graph *graph, const pgy_loader *self, pgy_error *err)
{
    pgy_infer_options options = {.size = sizeof options, .inputs = self->inputs};
    return pgy_graph_infer_shapes(graph, &options, err);
}

/* If inference fails, the model is used without inferred shapes, as in the original. */
static pgy_status step_infer(pgy_model **model, const pgy_loader *self, pgy_error *err)
{
    pgy_error why = {0};
    pgy_status st = edit(model, self, change_infer, &why);
    if (status_ends_all(st)) return pgy_error_set(err, st, "%s", why.text);
    if (st)
        LOG(WARNING, "Shape inference failed; the model is used as it is. Note: %s", why.text);
    else
        LOG_ORIGINAL(VERBOSE, "Shape inference completed successfully");
    return PGY_OK;
}

pgy_status pgy_loader_infer_shapes(pgy_loader **loader, const pgy_metadata *input_shapes,
                                   pgy_error *err)
{
    pgy_loader *l = create(step_infer);
    if (!l) return out_of_memory(err);
    pgy_status st = input_shapes ? pgy_metadata_create(&l->inputs, err) : PGY_OK;
    for (size_t i = 0; !st && input_shapes && i < pgy_metadata_count(input_shapes); i++)
        st = pgy_metadata_set(l->inputs, pgy_metadata_at(input_shapes, i), err);
    if (st)
        pgy_loader_destroy(l);
    else
        wrap(loader, l);
    return st;
}

static pgy_status change_outputs(pgy_graph *graph, const pgy_loader *self, pgy_error *err)
{
    return pgy_graph_select_outputs(graph, &self->selection, err);
}

static pgy_status step_select(pgy_model **model, const pgy_loader *self, pgy_error *err)
{
    return edit(model, self, change_outputs, err);
}

static bool copy_names(const char *const **names, size_t count, arena *a)
{
    if (!*names) return true;
    const char **copy = arena_alloc_array(a, count ? count : 1, sizeof *copy);
    if (!copy) return false;
    for (size_t i = 0; i < count; i++)
        if (!(copy[i] = arena_strdup(a, (*names)[i]))) return false;
    *names = copy;
    return true;
}

pgy_status pgy_loader_select_outputs(pgy_loader **loader, const pgy_output_selection *selection,
                                     pgy_error *err)
{
    if (!selection) return pgy_error_set(err, PGY_E_ARGUMENT, "'selection' must not be NULL");
    pgy_loader *l = create(step_select);
    if (!l) return out_of_memory(err);
    pgy_output_selection *s = &l->selection;
    s->size = sizeof *s;
    const pgy_status st = SIZED_TAKE(pgy_output_selection, s, selection, err);
    if (st) {
        pgy_loader_destroy(l);
        return st;
    }
    if (!copy_names(&s->names, s->name_count, &l->memory) ||
        !copy_names(&s->op_types, s->op_type_count, &l->memory) ||
        !copy_names(&s->exclude, s->exclude_count, &l->memory)) {
        pgy_loader_destroy(l);
        return out_of_memory(err);
    }
    wrap(loader, l);
    return PGY_OK;
}

static pgy_status change_half(pgy_graph *graph, const pgy_loader *self, pgy_error *err)
{
    return pgy_graph_convert_half(graph, &self->half, err);
}

static pgy_status step_half(pgy_model **model, const pgy_loader *self, pgy_error *err)
{
    return edit(model, self, change_half, err);
}

pgy_status pgy_loader_convert_half(pgy_loader **loader, const pgy_half_options *options,
                                   pgy_error *err)
{
    pgy_loader *l = create(step_half);
    if (!l) return out_of_memory(err);
    l->half = pgy_half_options_default();
    const pgy_status st = SIZED_TAKE(pgy_half_options, &l->half, options, err);
    if (st) {
        pgy_loader_destroy(l);
        return st;
    }
    if (!copy_names(&l->half.keep, l->half.keep_count, &l->memory)) {
        pgy_loader_destroy(l);
        return out_of_memory(err);
    }
    wrap(loader, l);
    return PGY_OK;
}

static pgy_status step_save(pgy_model **model, const pgy_loader *self, pgy_error *err)
{
    LOG_ORIGINAL(INFO, "Saving ONNX model to: %s", self->path);
    if (self->save.external_data)
        LOG_ORIGINAL(VERBOSE, "Saving external data for ONNX model to: %s",
                     self->save.external_data_path ? self->save.external_data_path : "");
    return pgy_model_save(*model, self->path, &self->save, err);
}

pgy_status pgy_loader_save(pgy_loader **loader, const char *path,
                           const pgy_model_save_options *options, pgy_error *err)
{
    if (!path || !*path)
        return pgy_error_set(err, PGY_E_ARGUMENT, "'path' must be the name of the file to save");
    pgy_loader *l = create(step_save);
    if (!l) return out_of_memory(err);
    l->save = pgy_model_save_options_default();
    const pgy_status st = SIZED_TAKE(pgy_model_save_options, &l->save, options, err);
    if (st) {
        pgy_loader_destroy(l);
        return st;
    }
    bool ok = (l->path = arena_strdup(&l->memory, path)) != NULL;
    if (ok && l->save.external_data_path)
        ok = (l->save.external_data_path = arena_strdup(&l->memory, l->save.external_data_path)) !=
             NULL;
    if (!ok) {
        pgy_loader_destroy(l);
        return out_of_memory(err);
    }
    wrap(loader, l);
    return PGY_OK;
}

static pgy_status step_custom(pgy_model **model, const pgy_loader *self, pgy_error *err)
{
    return self->custom(model, self->user, err);
}

pgy_status pgy_loader_extend(pgy_loader **loader, pgy_loader_step step, void *user, pgy_error *err)
{
    if (!step) return pgy_error_set(err, PGY_E_ARGUMENT, "'step' must not be NULL");
    pgy_loader *l = create(step_custom);
    if (!l) return out_of_memory(err);
    l->custom = step;
    l->user = user;
    wrap(loader, l);
    return PGY_OK;
}

/* ---- As the source of a runner -------------------------------------------------------------- */

typedef struct source {
    pgy_loader *loader;
    char *temporary, *weights; /* files for a model too large for one buffer */
} source;

/* Saves the model to a temporary file and its weights to another one beside it. */
static pgy_status spill(pgy_backend_model *out, source *s, pgy_model *model, pgy_error *err)
{
    pgy_status st = file_temp_path(&s->temporary, ".onnx", err);
    if (!st) st = file_temp_path(&s->weights, ".data", err);
    if (st) return st;
    LOG(VERBOSE, "The model is too large for one buffer, so it is passed in a temporary file: %s",
        s->temporary);
    pgy_model_save_options options = pgy_model_save_options_default();
    options.external_data = true;
    options.external_data_path = path_basename(s->weights);
    st = pgy_model_save(model, s->temporary, &options, err);
    if (!st) out->path = s->temporary;
    return st;
}

static void source_close(pgy_backend_model *model, void *user)
{
    source *s = user;
    pgy_text_free((char *)(uintptr_t)model->data);
    pgy_model_destroy(model->model);
    file_temp_release(s->temporary);
    file_temp_release(s->weights);
    s->temporary = s->weights = NULL;
    *model = (pgy_backend_model){.size = sizeof *model};
}

static pgy_status source_open(pgy_backend_model *out, void *user, pgy_error *err)
{
    source *s = user;
    pgy_model *model = NULL;
    void *bytes = NULL;
    const pgy_loader *l = s->loader;
    if (l->step == step_load && !l->load.external_data_dir && !l->load.ignore_external_data) {
        if (!file_exists(l->path))
            return pgy_error_set(err, PGY_E_NOT_FOUND, "Model path does not exist: %s", l->path);
        out->path = l->path;
        return PGY_OK;
    }
    pgy_status st = pgy_loader_call(&model, l, err);
    if (st) return st;
    if (pgy_model_size_bytes(model) >= MAX_BYTES)
        st = spill(out, s, model, err);
    else
        st = pgy_model_serialize(&bytes, &out->data_size, model, err);
    out->data = bytes;
    out->model = model;
    if (st) source_close(out, s);
    return st;
}

static void source_destroy(void *user)
{
    source *s = user;
    pgy_loader_destroy(s->loader);
    mem_free(s);
}

pgy_status pgy_loader_source(pgy_model_source *out, pgy_loader *loader, pgy_error *err)
{
    source *s = loader ? mem_calloc(1, sizeof *s) : NULL;
    if (!s) {
        pgy_loader_destroy(loader);
        return loader ? out_of_memory(err)
                      : pgy_error_set(err, PGY_E_ARGUMENT, "'loader' must not be NULL");
    }
    s->loader = loader;
    *out = (pgy_model_source){
        .open = source_open, .close = source_close, .destroy = source_destroy, .user = s};
    return PGY_OK;
}
