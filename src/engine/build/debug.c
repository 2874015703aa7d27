/* SPDX-License-Identifier: Apache-2.0 */
/* Marked tensors are outputs of the graph while the passes run; afterwards each is looked up in the
 * program. */
#include "engine/build/debug.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* Does the configuration mark a tensor of this name, exactly or (if `wildcards`) by a pattern? */
static bool is_named(const pgy_build_config *config, const char *name, bool wildcards)
{
    for (size_t i = 0; config && i < config->debug_tensors.count; i++) {
        const char *item = config->debug_tensors.items[i];
        if (strcmp(item, name) == 0 || (wildcards && str_match_wildcard(item, name))) return true;
    }
    return false;
}

bool debug_is_on(const pgy_build_config *config)
{
    return config && (config->debug_tensors.count || config->debug_unfused);
}

bool debug_is_marked(const pgy_build_config *config, const char *name)
{
    return config && (config->debug_unfused || is_named(config, name, true));
}

/* ---- Around the passes ---------------------------------------------------------------------- */

static bool can_be_pinned(const pgy_value *v)
{
    return v->producer && !v->is_output && v->name[0];
}

static pgy_status pin(pgy_graph *g, pgy_value *v, size_t *capacity, pgy_error *err)
{
    if (g->output_count == *capacity) {
        const size_t wanted = 2 * *capacity + 8;
        pgy_value **more = arena_alloc_array(&state_of(g)->memory, wanted, sizeof(void *));
        if (!more) return graph_no_memory(err);
        if (g->output_count) memcpy(more, g->outputs, g->output_count * sizeof(void *));
        g->outputs = more;
        *capacity = wanted;
    }
    g->outputs[g->output_count++] = v;
    v->is_output = true;
    return PGY_OK;
}

/* Does the last part of the pattern name this tensor of a body? The path before it, which has the
 * numbers of iterations, is compared when the tensor is shown. */
static bool names_inner(const char *pattern, const pgy_value *v)
{
    const char *last = strrchr(pattern, '/');
    return last && v->producer &&
           (strcmp(last + 1, v->name) == 0 || str_match_wildcard(last + 1, v->name));
}

static bool fits_body(const pgy_graph *g, const char *pattern)
{
    const graph_state *s = state_of(g);
    for (size_t i = 0; i < s->level_count; i++) {
        const pgy_graph *level = s->levels[i];
        const strmap *values = &level_of(level)->values;
        for (size_t k = 0; level->parent && k < values->count; k++)
            if (names_inner(pattern, values->entries[k].value)) return true;
    }
    return false;
}

static bool fits_any(const pgy_graph *g, const char *pattern)
{
    const strmap *values = &level_of(g)->values;
    for (size_t i = 0; i < values->count; i++) {
        const pgy_value *v = values->entries[i].value;
        if (strcmp(pattern, v->name) == 0 || (v->producer && str_match_wildcard(pattern, v->name)))
            return true;
    }
    return false;
}

pgy_status debug_pin(pgy_graph *g, const pgy_build_config *config, size_t *pinned, pgy_error *err)
{
    const strmap *values = &level_of(g)->values;
    size_t capacity = g->output_count;
    pgy_status st = PGY_OK;
    *pinned = 0;
    for (size_t i = 0; config && i < config->debug_tensors.count; i++)
        if (!fits_any(g, config->debug_tensors.items[i]) &&
            !fits_body(g, config->debug_tensors.items[i]))
            return pgy_error_set(err, PGY_E_NOT_FOUND,
                                 "config.debug_tensors: the model has no tensor '%s'",
                                 config->debug_tensors.items[i]);
    for (size_t i = 0; !st && i < values->count; i++) {
        pgy_value *v = values->entries[i].value;
        if (!can_be_pinned(v) || !is_named(config, v->name, true)) continue;
        st = pin(g, v, &capacity, err);
        *pinned += !st;
    }
    return st;
}

void debug_unpin(pgy_graph *g, size_t pinned)
{
    const size_t kept = g->output_count - pinned;
    for (size_t i = kept; i < g->output_count; i++) g->outputs[i]->is_output = false;
    g->output_count = kept;
    for (size_t i = 0; i < kept; i++) g->outputs[i]->is_output = true;
}

/* ---- In a program --------------------------------------------------------------------------- */

static uint32_t root_of(const builder *b, uint32_t tensor)
{
    while (b->tensors[tensor].root != tensor) tensor = b->tensors[tensor].root;
    return tensor;
}

/* Finds the program's tensor of a value. A constant counts only if its exact name is marked:
 * folding made it from the marked tensor. */
static pgy_status find_tensor(uint32_t *out, builder *b, pgy_value *v, pgy_error *err)
{
    const pgy_build_config *config = b->options->config;
    const bool constant = build_is_constant(b, v), named = is_named(config, v->name, !constant);
    *out = PROGRAM_NO_TENSOR;
    if (!v->name[0] || !(named || (config->debug_unfused && v->producer && !constant)))
        return PGY_OK;
    if (constant) {
        const pgy_status st = build_tensor_of(out, b, v, err);
        return st || *out == PROGRAM_NO_TENSOR ? st : build_store_constant(b, *out, err);
    }
    *out = build_bound(b, v);
    return PGY_OK;
}

/* For each tensor: the first step that writes it, or the tensor that it is a view of. */
static uint32_t *find_writers(const builder *b)
{
    const program *p = b->p;
    uint32_t *writers = mem_alloc((b->tensor_count + 1) * sizeof *writers);
    for (size_t i = 0; writers && i < b->tensor_count; i++) writers[i] = PROGRAM_NO_STEP;
    for (uint32_t i = 0; writers && i < p->step_count; i++) {
        const program_step *s = &p->steps[i];
        const uint32_t *outputs = s->tensors + s->input_count + s->captured_count;
        for (size_t k = 0; k < s->output_count; k++) {
            if (outputs[k] == PROGRAM_NO_TENSOR) continue;
            uint32_t *writer = &writers[root_of(b, outputs[k])];
            if (*writer == PROGRAM_NO_STEP) *writer = i;
        }
    }
    return writers;
}

/* Sorts marks by step. PROGRAM_NO_STEP + 1 is 0, so tensors that are valid from the start come
 * first. */
static int by_step(const void *a, const void *b)
{
    const program_mark *x = a, *y = b;
    const uint32_t i = x->step + 1, k = y->step + 1;
    return i != k ? (i > k) - (i < k) : (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

pgy_status debug_find_marks(builder *b, pgy_error *err)
{
    const strmap *values = &level_of(b->graph)->values;
    program *p = b->p;
    pgy_status st = PGY_OK;
    if (!debug_is_on(b->options->config)) return PGY_OK;
    program_mark *marks = arena_alloc_array(&p->memory, values->count, sizeof *marks);
    if (!marks) return graph_no_memory(err);
    size_t count = 0;
    for (size_t i = 0; !st && i < values->count; i++) {
        uint32_t tensor;
        st = find_tensor(&tensor, b, values->entries[i].value, err);
        if (!st && tensor != PROGRAM_NO_TENSOR) marks[count++].tensor = tensor;
    }
    uint32_t *writers = st ? NULL : find_writers(b);
    if (!st && !writers) st = graph_no_memory(err);
    for (size_t i = 0; !st && i < count; i++) marks[i].step = writers[root_of(b, marks[i].tensor)];
    mem_free(writers);
    if (st) return st;
    if (count) qsort(marks, count, sizeof *marks, by_step);
    p->marks = marks;
    p->mark_count = count;
    return PGY_OK;
}

/* ---- Values --------------------------------------------------------------------------------- */

void *debug_in_rows(const program_tensor *t, const void *data)
{
    const size_t block = kernel_lanes_of(t->layout, t->rank, t->shape);
    const size_t item = pgy_dtype_describe(t->dtype)->bits / 8;
    size_t inner = 1, bytes = 0;
    if (t->rank < 2 || !item) return NULL; /* no kernel has such tensors in blocks */
    for (int32_t d = 2; d < t->rank; d++) inner *= (size_t)t->shape[d];
    const size_t images = (size_t)t->shape[0], channels = (size_t)t->shape[1];
    const size_t blocks = (channels + block - 1) / block;
    if (!size_mul(&bytes, images * channels, inner * item)) return NULL;
    char *rows = mem_alloc(bytes + 1);
    for (size_t n = 0; rows && n < images; n++)
        for (size_t c = 0; c < channels; c++)
            for (size_t i = 0; i < inner; i++)
                memcpy(rows + ((n * channels + c) * inner + i) * item,
                       (const char *)data +
                           (((n * blocks + c / block) * inner + i) * block + c % block) * item,
                       item);
    return rows;
}
