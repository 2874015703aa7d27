/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes of inputs: the five options in the order of the command line become profiles for the build
 * and shapes for the run. What is missing of min, opt and max is taken from the others. */
#include <string.h>

#include "base/log.h"
#include "cli/trtexec/trtexec.h"

static const char LOG_PATH[] = "cli/trtexec/shapes.c";

enum { MIN, OPT, MAX, KINDS };
static const char *const OPTIONS[KINDS] = {"--minShapes", "--optShapes", "--maxShapes"};

typedef struct given_shape {
    const char *option, *name;
    int64_t *dims;
    size_t rank, profile;
    int kind; /* KINDS: --shapes */
} given_shape;

typedef struct given_shapes {
    given_shape *items;
    size_t count, profile_count;
} given_shapes;

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

void append_shape(str *out, size_t rank, const int64_t *shape)
{
    if (!rank) str_append(out, "scalar");
    for (size_t i = 0; i < rank; i++) str_printf(out, "%s%lld", i ? "x" : "", (long long)shape[i]);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static pgy_status read_list(given_shapes *g, const trtexec_word *w, size_t profile, arena *a,
                            pgy_error *err)
{
    trtexec_pair *pairs;
    size_t count;
    int kind = 0;
    while (kind < KINDS && strcmp(OPTIONS[kind], w->name)) kind++;
    pgy_status st = trtexec_pairs(&pairs, &count, w->value, w->name, a, err);
    for (size_t i = 0; !st && i < count; i++) {
        given_shape *s = &g->items[g->count];
        *s = (given_shape){.option = w->name, .name = pairs[i].name, .kind = kind};
        s->profile = profile;
        st = trtexec_dims(&s->dims, &s->rank, pairs[i].value, w->name, a, err);
        g->count += !st;
    }
    return st;
}

static pgy_status read_all(given_shapes *g, trtexec_session *s, pgy_error *err)
{
    size_t most = 0, profile = 0;
    pgy_status st = PGY_OK;
    for (size_t i = 0; i < s->a->word_count; i++)
        if (s->a->words[i].value) most += strlen(s->a->words[i].value) + 1;
    g->items = arena_alloc_array(&s->line->memory, most + 1, sizeof *g->items);
    if (!g->items) return no_memory(err);
    for (size_t i = 0; !st && i < s->a->word_count; i++) {
        const trtexec_word *w = &s->a->words[i];
        if (w->row->offset != offsetof(trtexec_args, shapes)) continue;
        if (strcmp(w->name, "--profile")) {
            st = read_list(g, w, profile, &s->line->memory, err);
            if (!st && g->profile_count <= profile) g->profile_count = profile + 1;
            continue;
        }
        double number = 0;
        st = trtexec_real(&number, w->value, w->name, 0, err);
        if (!st && number != (double)profile && number != (double)(g->profile_count))
            st = pgy_error_set(err, PGY_E_ARGUMENT,
                               "--profile: %s does not follow; expected %zu, because profiles are "
                               "numbered from 0 on",
                               w->value, g->profile_count);
        profile = (size_t)number;
    }
    return st;
}

/* ---- Matching ------------------------------------------------------------------------------- */

static bool names_input(const given_shape *g, const char *input)
{
    return !strcmp(g->name, input) || (strchr(g->name, '*') && str_match_wildcard(g->name, input));
}

/* The last shape given for an input. */
static given_shape *find(given_shapes *g, const char *input, int kind, size_t profile)
{
    given_shape *found = NULL;
    for (size_t i = 0; i < g->count; i++) {
        given_shape *s = &g->items[i];
        if (s->kind != kind || (kind != KINDS && s->profile != profile) || !names_input(s, input))
            continue;
        found = s;
    }
    return found;
}

static pgy_status check_names(given_shapes *g, const pgy_metadata *inputs, pgy_error *err)
{
    for (size_t i = 0; i < g->count; i++) {
        bool known = false;
        for (size_t k = 0; k < pgy_metadata_count(inputs); k++)
            known = known || names_input(&g->items[i], pgy_metadata_at(inputs, k)->name);
        if (!known)
            return pgy_error_set(err, PGY_E_NOT_FOUND, "%s: the model has no input '%s'",
                                 g->items[i].option, g->items[i].name);
    }
    return PGY_OK;
}

/* ---- Profiles ------------------------------------------------------------------------------- */

static const int FILL[KINDS][2] = {{OPT, MAX}, {MAX, MIN}, {OPT, MIN}};

/* A shape for an input without any: 1 for each dynamic dimension. */
static pgy_status default_range(pgy_profile_range *r, const pgy_tensor_info *info, arena *a,
                                pgy_error *err)
{
    int64_t *dims = arena_alloc_array(a, (size_t)(info->rank > 0 ? info->rank : 1), sizeof *dims);
    bool dynamic = false;
    str text = {0};
    if (!dims) return no_memory(err);
    for (int32_t i = 0; i < info->rank; i++) {
        dynamic = dynamic || info->shape[i] < 0;
        dims[i] = info->shape[i] < 0 ? 1 : info->shape[i];
    }
    append_shape(&text, (size_t)info->rank, dims);
    if (dynamic)
        LOG(WARNING,
            "Dynamic dimensions required for input: %s, but no shapes were provided. Automatically "
            "overriding shape to: %s",
            info->name, str_text(&text));
    str_deinit(&text);
    r->count = (size_t)info->rank;
    r->min = r->opt = r->max = dims;
    return PGY_OK;
}

static pgy_status fill_range(pgy_profile_range *r, given_shapes *g, const pgy_tensor_info *info,
                             size_t profile, arena *a, pgy_error *err)
{
    given_shape *at[KINDS], *run = find(g, info->name, KINDS, profile);
    const given_shape *filled[KINDS];
    r->name = info->name;
    for (int k = 0; k < KINDS; k++) at[k] = find(g, info->name, k, profile);
    if (!at[MIN] && !at[OPT] && !at[MAX]) {
        if (!run) return default_range(r, info, a, err);
        at[MIN] = at[OPT] = at[MAX] = run;
    }
    for (int k = 0; k < KINDS; k++) {
        filled[k] = at[k] ? at[k] : at[FILL[k][0]] ? at[FILL[k][0]] : at[FILL[k][1]];
        if (!at[k])
            LOG(WARNING, "%s has no shape for input '%s'; the one of %s is used", OPTIONS[k],
                info->name, filled[k]->option);
        if (filled[k]->rank != filled[0]->rank)
            return pgy_error_set(
                err, PGY_E_SHAPE, "input '%s': %s has %zu dimensions, but %s has %zu", info->name,
                filled[k]->option, filled[k]->rank, filled[0]->option, filled[0]->rank);
    }
    r->count = filled[0]->rank;
    r->min = filled[MIN]->dims;
    r->opt = filled[OPT]->dims;
    r->max = filled[MAX]->dims;
    return PGY_OK;
}

bool shapes_is_initializer(const pgy_onnx_graph *g, const char *name)
{
    for (size_t i = 0; i < g->initializer_count; i++)
        if (!strcmp(g->initializers[i]->name, name)) return true;
    return false;
}

static pgy_status model_inputs(pgy_metadata **out, pgy_model *model, pgy_error *err)
{
    const pgy_onnx_graph *g = pgy_model_proto(model)->graph;
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && g && i < g->input_count; i++) {
        pgy_tensor_info info = {0};
        if (shapes_is_initializer(g, g->inputs[i]->name)) continue;
        st = pgy_onnx_value_info_describe(&info, model, g->inputs[i], err);
        if (!st) st = pgy_metadata_set(m, &info, err);
    }
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

static pgy_status fill_profile(pgy_profile *out, given_shapes *g, const pgy_metadata *inputs,
                               size_t profile, arena *a, pgy_error *err)
{
    const size_t count = pgy_metadata_count(inputs);
    pgy_profile_range *ranges = arena_alloc_array(a, count + 1, sizeof *ranges);
    pgy_status st = ranges ? PGY_OK : no_memory(err);
    out->ranges = ranges;
    out->range_count = 0;
    for (size_t i = 0; !st && i < count; i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        if (info->rank < 0 || info->form != PGY_FORM_TENSOR) continue;
        pgy_tensor_info kept = *info;
        kept.name = arena_strdup(a, info->name);
        if (!kept.name) return no_memory(err);
        st = fill_range(&ranges[out->range_count++], g, &kept, profile, a, err);
    }
    return st;
}

pgy_status shapes_profiles(const pgy_profile **out, size_t *count, trtexec_session *s,
                           pgy_model *model, pgy_error *err)
{
    given_shapes g = {0};
    pgy_metadata *inputs = NULL;
    pgy_profile *profiles = NULL;
    pgy_status st = read_all(&g, s, err);
    if (!st) st = model_inputs(&inputs, model, err);
    if (!st) st = check_names(&g, inputs, err);
    if (!g.profile_count) g.profile_count = 1;
    if (!st) profiles = arena_alloc_array(&s->line->memory, g.profile_count, sizeof *profiles);
    if (!st && !profiles) st = no_memory(err);
    for (size_t i = 0; !st && i < g.profile_count; i++)
        st = fill_profile(&profiles[i], &g, inputs, i, &s->line->memory, err);
    pgy_metadata_destroy(inputs);
    *out = profiles;
    *count = g.profile_count;
    return st;
}

pgy_status shapes_wanted(pgy_metadata **out, trtexec_session *s, const pgy_metadata *inputs,
                         pgy_error *err)
{
    given_shapes g = {0};
    pgy_metadata *m = NULL;
    pgy_status st = read_all(&g, s, err);
    if (!st) st = check_names(&g, inputs, err);
    if (!st) st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(inputs); i++) {
        const pgy_tensor_info *info = pgy_metadata_at(inputs, i);
        const given_shape *wanted = find(&g, info->name, KINDS, 0);
        const pgy_tensor_info one = {.name = info->name,
                                     .dtype = info->dtype,
                                     .rank = wanted ? (int32_t)wanted->rank : 0,
                                     .shape = wanted ? wanted->dims : NULL};
        if (wanted) st = pgy_metadata_set(m, &one, err);
    }
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}
