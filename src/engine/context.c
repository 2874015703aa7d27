/* SPDX-License-Identifier: Apache-2.0 */
/* What was prepared is kept by the shapes of the inputs, the latest ones. A graph whose shapes
 * depend on data is interpreted by the reference's executor, in a copy of one's own. */
#include "engine/context.h"

#include <string.h>

#include "base/alloc.h"
#include "base/system.h"
#include "engine/interpret.h"
#include "engine/shapes.h"
#include "evaluate/execute.h"

enum { MAX_PREPARED = 8 };

/* Memory for a program at certain input shapes; NULL: such inputs are interpreted. */
typedef struct prepared {
    pgy_metadata *shapes; /* of all inputs, in order */
    program *program;
    program_context *memory;
    uint64_t used; /* when, to forget the oldest */
} prepared;

struct context {
    engine *engine;
    team *team;
    size_t profile;
    pgy_graph *graph; /* to be interpreted; NULL until it is needed */
    arena plans;      /* of interpretation */
    interpreter *interpreter;
    prepared kept[MAX_PREPARED];
    size_t kept_count;
    uint64_t clock;
    const program *last;
};

static pgy_status no_memory(pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
}

static void forget(prepared *p)
{
    program_context_destroy(p->memory);
    program_release(p->program);
    pgy_metadata_destroy(p->shapes);
    *p = (prepared){0};
}

pgy_status context_create(context **out, engine *e, size_t threads, pgy_error *err)
{
    context *c = mem_calloc(1, sizeof *c);
    if (!c) return no_memory(err);
    c->profile = PROFILE_ANY;
    c->engine = engine_retain(e);
    const pgy_status st = team_create(&c->team, threads ? threads : engine_config(e)->threads, err);
    if (st)
        context_destroy(c);
    else
        *out = c;
    return st;
}

void context_destroy(context *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->kept_count; i++) forget(&c->kept[i]);
    interpreter_destroy(c->interpreter);
    team_destroy(c->team);
    pgy_graph_destroy(c->graph);
    arena_deinit(&c->plans);
    engine_release(c->engine);
    mem_free(c);
}

void context_set_profile(context *c, size_t profile)
{
    c->profile = profile;
}

const program *context_program(const context *c)
{
    return c->last;
}

/* ---- Programs by shape ---------------------------------------------------------------------- */

static prepared *find_room(context *c)
{
    if (c->kept_count < MAX_PREPARED) return &c->kept[c->kept_count++];
    prepared *oldest = &c->kept[0];
    for (size_t i = 1; i < c->kept_count; i++)
        if (c->kept[i].used < oldest->used) oldest = &c->kept[i];
    forget(oldest);
    return oldest;
}

/* Takes the shapes, also on failure. */
static pgy_status prepare(prepared **out, context *c, pgy_metadata *shapes, pgy_error *err)
{
    prepared made = {.shapes = shapes};
    pgy_status st = engine_program(&made.program, c->engine, shapes, err);
    if (!st && made.program) st = program_context_create(&made.memory, made.program, c->team, err);
    if (st) {
        forget(&made);
        return st;
    }
    *out = find_room(c);
    **out = made;
    return PGY_OK;
}

static pgy_status find_prepared(prepared **out, context *c, const pgy_tensor_map *feed,
                                pgy_error *err)
{
    pgy_metadata *shapes = NULL;
    *out = NULL;
    for (size_t i = 0; i < c->kept_count; i++) {
        if (!shapes_fit(c->kept[i].shapes, feed)) continue;
        *out = &c->kept[i];
        return PGY_OK;
    }
    const pgy_status st = shapes_of(&shapes, engine_inputs(c->engine), feed, err);
    return st || !shapes ? st : prepare(out, c, shapes, err);
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

static pgy_status run_program(context *c, prepared *p, const pgy_tensor_map *feed,
                              pgy_tensor_map *out, int64_t *time_ns, pgy_error *err)
{
    const pgy_metadata *in = engine_inputs(c->engine), *to = engine_outputs(c->engine);
    const size_t input_count = pgy_metadata_count(in), output_count = pgy_metadata_count(to);
    arena memory = {0};
    const void **inputs = arena_alloc_array(&memory, input_count, sizeof *inputs);
    void **data = arena_alloc_array(&memory, output_count, sizeof *data);
    pgy_tensor **made = arena_alloc_array(&memory, output_count, sizeof *made);
    pgy_status st = inputs && data && made ? PGY_OK : no_memory(err);
    for (size_t i = 0; !st && i < input_count; i++)
        inputs[i] = pgy_tensor_data(pgy_tensor_map_find(feed, pgy_metadata_at(in, i)->name));
    if (!st) st = create_outputs(made, data, p->program, err);
    const int64_t start = clock_ns();
    if (!st) st = program_execute(p->memory, inputs, data, err);
    *time_ns = clock_ns() - start;
    for (size_t i = 0; !st && i < output_count; i++)
        st = pgy_tensor_map_set(out, pgy_metadata_at(to, i)->name, made[i], err);
    for (size_t i = 0; made && i < output_count; i++) pgy_tensor_release(made[i]);
    arena_deinit(&memory);
    c->last = p->program;
    return st;
}

/* Nodes with subgraphs that run alone leave no plan behind. */
static pgy_status prepare_interpreter(context *c, pgy_error *err)
{
    pgy_status st = c->graph ? PGY_OK : engine_copy_graph(&c->graph, c->engine, err);
    if (!st && !c->interpreter) st = interpreter_create(&c->interpreter, c->team, err);
    if (st || plan_of(c->graph)) return st;
    plan_clear(state_of(c->graph));
    arena_deinit(&c->plans);
    return plan_build(c->graph, &c->plans, err);
}

static pgy_status interpret(context *c, const pgy_tensor_map *feed, pgy_tensor_map *out,
                            int64_t *time_ns, pgy_error *err)
{
    pgy_status st = prepare_interpreter(c, err);
    if (st) return st;
    const execute_limits limits = {.max_bytes = memory_limit_bytes(),
                                   .operators = interpreter_operators(c->interpreter)};
    c->last = NULL;
    const int64_t start = clock_ns();
    st = execute_graph(c->graph, feed, out, false, &limits, err);
    *time_ns = clock_ns() - start;
    return st;
}

pgy_status context_run(context *c, const pgy_tensor_map *feed, pgy_tensor_map *out,
                       int64_t *time_ns, pgy_error *err)
{
    const profile_set *profiles = engine_profiles(c->engine);
    prepared *p = NULL;
    int64_t unused;
    if (!time_ns) time_ns = &unused;
    pgy_status st = profiles ? profiles_check(profiles, c->profile, feed, err) : PGY_OK;
    if (!st) st = find_prepared(&p, c, feed, err);
    if (st) return st;
    if (p) p->used = ++c->clock;
    return p && p->program ? run_program(c, p, feed, out, time_ns, err)
                           : interpret(c, feed, out, time_ns, err);
}
