/* SPDX-License-Identifier: Apache-2.0 */
/* Programs are kept by the shapes of the inputs, the latest ones. A graph whose shapes depend on
 * data is interpreted by the reference's executor. */
#include "engine/session.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"
#include "engine/pass.h"
#include "evaluate/execute.h"
#include "evaluate/interface.h"

static const char LOG_PATH[] = "backend/trt/runner.py";

enum { MAX_PROGRAMS = 8 };

/* A program for certain input shapes; program NULL: such inputs are interpreted. */
typedef struct prepared {
    int64_t *shapes; /* of all inputs, one after the other, each behind its rank */
    size_t length;
    program *program;
    program_context *context;
    uint64_t used; /* when, to forget the oldest */
} prepared;

struct session {
    pgy_graph *graph;
    team *team;
    arena plans; /* of interpretation */
    bool planned;
    prepared kept[MAX_PROGRAMS];
    size_t kept_count;
    uint64_t runs;
    const program *last;
    pgy_metadata *inputs, *outputs;
};

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static void forget(prepared *p)
{
    program_context_destroy(p->context);
    program_destroy(p->program);
    mem_free(p->shapes);
    *p = (prepared){0};
}

void session_destroy(session *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->kept_count; i++) forget(&s->kept[i]);
    team_destroy(s->team);
    pgy_metadata_destroy(s->inputs);
    pgy_metadata_destroy(s->outputs);
    pgy_graph_destroy(s->graph);
    arena_deinit(&s->plans);
    mem_free(s);
}

static pgy_status describe(pgy_metadata **out, pgy_value *const *values, size_t count,
                           pgy_error *err)
{
    pgy_status st = pgy_metadata_create(out, err);
    for (size_t i = 0; !st && i < count; i++) {
        int64_t shape[PGY_MAX_RANK];
        const char *names[PGY_MAX_RANK];
        const pgy_tensor_info info = interface_describe(values[i], shape, names);
        st = pgy_metadata_set(*out, &info, err);
    }
    return st;
}

pgy_status session_create(session **out, pgy_model *model, size_t threads, pgy_error *err)
{
    session *s = mem_calloc(1, sizeof *s);
    if (!s) return no_memory(err);
    pgy_status st = pgy_graph_import(&s->graph, model, err);
    if (!st) st = pgy_graph_infer_shapes(s->graph, NULL, err);
    if (!st) st = describe(&s->inputs, s->graph->inputs, s->graph->input_count, err);
    if (!st) st = describe(&s->outputs, s->graph->outputs, s->graph->output_count, err);
    if (!st) st = passes_run(s->graph, err);
    if (!st) st = team_create(&s->team, threads, err);
    if (st)
        session_destroy(s);
    else
        *out = s;
    return st;
}

static pgy_status copy_metadata(pgy_metadata *out, const pgy_metadata *from, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < pgy_metadata_count(from); i++)
        st = pgy_metadata_set(out, pgy_metadata_at(from, i), err);
    return st;
}

pgy_status session_inputs(session *s, pgy_metadata *out, pgy_error *err)
{
    return copy_metadata(out, s->inputs, err);
}

pgy_status session_outputs(session *s, pgy_metadata *out, pgy_error *err)
{
    return copy_metadata(out, s->outputs, err);
}

const program *session_program(const session *s)
{
    return s->last;
}

/* ---- Programs by shape ---------------------------------------------------------------------- */

/* The shapes of what feeds the graph, in its order; *out NULL: an input is not one tensor. */
static pgy_status shapes_of(int64_t **out, size_t *length, const session *s,
                            const pgy_tensor_map *feed, pgy_error *err)
{
    const pgy_graph *g = s->graph;
    size_t count = 0;
    *out = NULL;
    for (size_t i = 0; i < g->input_count; i++) {
        const pgy_tensor *t = pgy_tensor_map_find(feed, g->inputs[i]->name);
        if (!t || g->inputs[i]->kind != PGY_VALUE_TENSOR || pgy_tensor_dtype(t) == PGY_STRING)
            return PGY_OK;
        count += 1 + pgy_tensor_rank(t);
    }
    int64_t *shapes = mem_calloc(count + 1, sizeof *shapes);
    if (!shapes) return no_memory(err);
    *length = 0;
    for (size_t i = 0; i < g->input_count; i++) {
        const pgy_tensor *t = pgy_tensor_map_find(feed, g->inputs[i]->name);
        shapes[(*length)++] = (int64_t)pgy_tensor_rank(t);
        for (size_t d = 0; d < pgy_tensor_rank(t); d++)
            shapes[(*length)++] = pgy_tensor_shape(t)[d];
    }
    *out = shapes;
    return PGY_OK;
}

static pgy_status infer_for(session *s, const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_metadata *given = NULL;
    pgy_status st = pgy_metadata_create(&given, err);
    for (size_t i = 0; !st && i < s->graph->input_count; i++) {
        const char *name = s->graph->inputs[i]->name;
        const pgy_tensor *t = pgy_tensor_map_find(feed, name);
        const pgy_tensor_info info = {.name = name,
                                      .dtype = pgy_tensor_dtype(t),
                                      .rank = (int32_t)pgy_tensor_rank(t),
                                      .shape = pgy_tensor_shape(t)};
        st = pgy_metadata_set(given, &info, err);
    }
    const pgy_infer_options o = {.size = sizeof o, .inputs = given};
    if (!st) st = pgy_graph_infer_shapes(s->graph, &o, err);
    pgy_metadata_destroy(given);
    return st;
}

static prepared *find_room(session *s)
{
    if (s->kept_count < MAX_PROGRAMS) return &s->kept[s->kept_count++];
    prepared *oldest = &s->kept[0];
    for (size_t i = 1; i < s->kept_count; i++)
        if (s->kept[i].used < oldest->used) oldest = &s->kept[i];
    forget(oldest);
    return oldest;
}

static pgy_status prepare(prepared **out, session *s, int64_t *shapes, size_t length,
                          const pgy_tensor_map *feed, pgy_error *err)
{
    pgy_error why = {0};
    prepared made = {.shapes = shapes, .length = length};
    pgy_status st = infer_for(s, feed, err);
    if (st) goto done;
    st = program_build(&made.program, s->graph, &why);
    if (st == PGY_E_UNSUPPORTED) {
        LOG(VERBOSE, "The graph is interpreted: %s", why.text);
        st = PGY_OK;
    } else if (st) {
        pgy_error_set(err, st, "%s", why.text);
    } else {
        st = program_context_create(&made.context, made.program, s->team, err);
    }
done:
    if (st) {
        forget(&made);
        return st;
    }
    *out = find_room(s);
    **out = made;
    return PGY_OK;
}

static pgy_status find_prepared(prepared **out, session *s, const pgy_tensor_map *feed,
                                pgy_error *err)
{
    int64_t *shapes = NULL;
    size_t length = 0;
    *out = NULL;
    const pgy_status st = shapes_of(&shapes, &length, s, feed, err);
    if (st || !shapes) return st;
    for (size_t i = 0; i < s->kept_count; i++) {
        prepared *p = &s->kept[i];
        if (p->length != length || memcmp(p->shapes, shapes, length * sizeof *shapes)) continue;
        mem_free(shapes);
        *out = p;
        return PGY_OK;
    }
    return prepare(out, s, shapes, length, feed, err);
}

/* ---- Running -------------------------------------------------------------------------------- */

static pgy_status create_outputs(pgy_tensor **made, void **data, const program *p, pgy_error *err)
{
    pgy_status st = PGY_OK;
    for (size_t i = 0; !st && i < p->output_count; i++) {
        const program_tensor *t = &p->tensors[p->outputs[i]];
        st = pgy_tensor_create(&made[i], t->dtype, (size_t)t->rank, t->shape, err);
        if (!st) data[i] = pgy_tensor_data(made[i]);
    }
    return st;
}

static pgy_status run_program(session *s, prepared *p, const pgy_tensor_map *feed,
                              pgy_tensor_map *out, int64_t *time_ns, pgy_error *err)
{
    const pgy_graph *g = s->graph;
    arena memory = {0};
    const void **inputs = arena_alloc_array(&memory, g->input_count, sizeof *inputs);
    void **data = arena_alloc_array(&memory, g->output_count, sizeof *data);
    pgy_tensor **made = arena_alloc_array(&memory, g->output_count, sizeof *made);
    pgy_status st = inputs && data && made ? PGY_OK : no_memory(err);
    for (size_t i = 0; !st && i < g->input_count; i++)
        inputs[i] = pgy_tensor_data(pgy_tensor_map_find(feed, g->inputs[i]->name));
    if (!st) st = create_outputs(made, data, p->program, err);
    const int64_t start = clock_ns();
    if (!st) st = program_execute(p->context, inputs, data, err);
    *time_ns = clock_ns() - start;
    for (size_t i = 0; !st && i < g->output_count; i++)
        st = pgy_tensor_map_set(out, g->outputs[i]->name, made[i], err);
    for (size_t i = 0; made && i < g->output_count; i++) pgy_tensor_release(made[i]);
    arena_deinit(&memory);
    s->last = p->program;
    return st;
}

static pgy_status interpret(session *s, const pgy_tensor_map *feed, pgy_tensor_map *out,
                            int64_t *time_ns, pgy_error *err)
{
    const execute_limits limits = {.max_bytes = memory_limit_bytes()};
    pgy_status st = s->planned ? PGY_OK : plan_build(s->graph, &s->plans, err);
    if (st) return st;
    s->planned = true;
    s->last = NULL;
    const int64_t start = clock_ns();
    st = execute_graph(s->graph, feed, out, false, &limits, err);
    *time_ns = clock_ns() - start;
    return st;
}

pgy_status session_run(session *s, const pgy_tensor_map *feed, pgy_tensor_map *out,
                       int64_t *time_ns, pgy_error *err)
{
    prepared *p = NULL;
    int64_t unused;
    if (!time_ns) time_ns = &unused;
    const pgy_status st = find_prepared(&p, s, feed, err);
    if (st) return st;
    if (p) p->used = ++s->runs;
    return p && p->program ? run_program(s, p, feed, out, time_ns, err)
                           : interpret(s, feed, out, time_ns, err);
}
