/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what an open plan stores beside its programs: inputs and outputs, the configuration,
 * profiles, the names and versions of kernels, and the graph. */
#include "base/alloc.h"
#include "base/hash.h"
#include "engine/build/config_store.h"
#include "engine/plan/file.h"
#include "engine/plan/weights.h"

enum { MAX_THREADS = 4096 };

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while opening the plan");
}

/* ---- Inputs and outputs --------------------------------------------------------------------- */

static pgy_status add_value(pgy_metadata *out, const plan_file *p, const plan_value *v,
                            pgy_error *err)
{
    int64_t shape[PGY_MAX_RANK];
    const char *names[PGY_MAX_RANK];
    const plan_dim *dims = p->at[PLAN_DIMS];
    for (int32_t i = 0; i < v->rank; i++) {
        const plan_dim *d = &dims[v->dims + (uint32_t)i];
        shape[i] = d->value;
        names[i] = d->name == PLAN_NO_TEXT ? NULL : plan_text(p, d->name);
    }
    const pgy_tensor_info info = {.name = plan_text(p, v->name),
                                  .dtype = v->dtype ? pgy_dtype_from_onnx(v->dtype) : 0,
                                  .rank = v->rank,
                                  .shape = shape,
                                  .dim_names = names,
                                  .form = (pgy_form)v->form};
    return pgy_metadata_set(out, &info, err);
}

pgy_status plan_metadata(pgy_metadata **out, const plan_file *p, bool outputs, pgy_error *err)
{
    const size_t first = outputs ? p->info->input_count : 0;
    const size_t count = outputs ? p->info->output_count : p->info->input_count;
    const plan_value *values = p->at[PLAN_VALUES];
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < count; i++) st = add_value(m, p, &values[first + i], err);
    if (!st && pgy_metadata_count(m) != count)
        st = pgy_error_set(err, PGY_E_FORMAT,
                           "the plan is damaged: two inputs or two outputs have the same name");
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

/* ---- Configuration and profiles -------------------------------------------------------------- */

static config_setting setting_at(size_t i, const void *user)
{
    const plan_file *p = user;
    const plan_setting *s = &((const plan_setting *)p->at[PLAN_SETTINGS])[i];
    return (config_setting){
        .field = plan_text(p, s->field), .text = plan_text_or_null(p, s->text), .value = s->value};
}

pgy_status plan_config(pgy_build_config **out, const plan_file *p, arena *memory, pgy_error *err)
{
    const uint32_t facts = p->info->flags;
    pgy_build_config *c = NULL;
    const pgy_status st = config_load(&c, setting_at, p, p->counts[PLAN_SETTINGS], memory, err);
    if (st) return pgy_error_prefix(err, st, "the plan is damaged: ");
    if (c->threads > MAX_THREADS) c->threads = 0;
    c->refittable = facts & PLAN_REFITTABLE;
    c->strip_plan = facts & PLAN_STRIPPED;
    c->version_compatible = facts & PLAN_VERSION_COMPATIBLE;
    *out = c;
    return PGY_OK;
}

pgy_status plan_profiles(profile_set **out, const plan_file *p, const pgy_metadata *inputs,
                         pgy_error *err)
{
    const plan_range *ranges = p->at[PLAN_RANGES];
    const int64_t *entries = p->at[PLAN_SHAPES];
    const size_t count = p->counts[PLAN_RANGES];
    profile_bound *bounds = mem_calloc(count + 1, sizeof *bounds);
    if (!bounds) return no_memory(err);
    for (size_t i = 0; i < count; i++) {
        const int64_t *min = entries + ranges[i].entries;
        bounds[i].kind = (pgy_bound_kind)ranges[i].kind;
        bounds[i].range = (pgy_profile_range){.count = ranges[i].count,
                                              .min = min,
                                              .opt = min + ranges[i].count,
                                              .max = min + 2 * (size_t)ranges[i].count};
    }
    const pgy_status st = profiles_restore(out, bounds, p->counts[PLAN_PROFILES], inputs, err);
    mem_free(bounds);
    return st ? pgy_error_prefix(err, st, "the plan is damaged: ") : PGY_OK;
}

uint32_t plan_profile_program(const plan_file *p, size_t profile)
{
    return ((const plan_profile *)p->at[PLAN_PROFILES])[profile].program;
}

/* ---- Kernels -------------------------------------------------------------------------------- */

const char *plan_kernel_name(const plan_file *p, size_t index, size_t step)
{
    const plan_step *s = &plan_steps_of(p, index)[step];
    return s->kernel == PLAN_NO_TEXT ? NULL : plan_text(p, s->kernel);
}

const kernel *plan_step_kernel(const plan_file *p, size_t index, size_t step)
{
    const char *name = plan_kernel_name(p, index, step);
    const plan_step *s = &plan_steps_of(p, index)[step];
    return name ? kernel_find(name, (uint16_t)s->kernel_version) : NULL;
}

const char *plan_level_name(uint32_t level)
{
    return level <= CPU_AVX512 ? cpu_level_name((cpu_level)level) : "a newer processor";
}

/* ---- The graph ------------------------------------------------------------------------------ */

static pgy_status read_model(pgy_model **out, const plan_file *p, plan_kind kind,
                             packed_table *packed, pgy_error *err)
{
    const plan_section *s = p->sections[kind];
    const plan_weights_bytes bytes = {.constants = p->host,
                                      .weights = {p->at[PLAN_WEIGHTS], p->counts[PLAN_WEIGHTS]}};
    pgy_model *model = NULL;
    if (s && !p->trusted && hash_xxh64(p->data + s->offset, s->size_bytes, 0) != s->hash)
        return pgy_error_set(err, PGY_E_FORMAT,
                             "the plan is damaged: the checksum of its graph differs");
    pgy_status st = pgy_model_parse(&model, p->at[kind], p->counts[kind], true, NULL, err);
    if (!st) st = plan_weights_attach(model, &bytes, packed, err);
    if (st)
        pgy_model_destroy(model);
    else
        *out = model;
    return st;
}

pgy_status plan_graph(pgy_graph **out, const plan_file *p, packed_table *packed, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_graph *g = NULL;
    pgy_status st = read_model(&model, p, PLAN_MODEL, packed, err);
    if (!st) st = pgy_graph_import(&g, model, err);
    if (!st) graph_set_newer(g, NEWER_TAKEN); /* accepts newer operators, as the build did */
    if (!st) st = pgy_graph_infer_shapes(g, NULL, err);
    if (!st && (g->input_count != p->info->input_count || g->output_count != p->info->output_count))
        st = pgy_error_set(
            err, PGY_E_FORMAT,
            "the plan is damaged: the number of inputs or outputs differs from that of its graph");
    pgy_model_destroy(model);
    if (st)
        pgy_graph_destroy(g);
    else
        *out = g;
    return st ? pgy_error_prefix(err, st, "loading the graph in the plan: ") : PGY_OK;
}

pgy_status plan_original(pgy_model **out, const plan_file *p, pgy_error *err)
{
    *out = NULL;
    return p->counts[PLAN_SOURCE] ? read_model(out, p, PLAN_SOURCE, NULL, err) : PGY_OK;
}
