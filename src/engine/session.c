/* SPDX-License-Identifier: Apache-2.0 */
/* Programs are kept by the shapes of the inputs, the latest ones. A graph whose shapes depend on
 * data is interpreted by the reference's executor. */
#include "engine/session.h"

#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "engine/interpret.h"
#include "engine/pass.h"
#include "engine/plan.h"
#include "engine/tactics.h"
#include "evaluate/execute.h"
#include "evaluate/interface.h"

static const char LOG_PATH[] = "backend/trt/runner.py";

enum { MAX_PROGRAMS = 8 };

/* A program for certain input shapes; program NULL: such inputs are interpreted. */
typedef struct prepared {
    pgy_metadata *shapes; /* of all inputs, in order */
    program *program;
    program_context *context;
    uint64_t used; /* when, to forget the oldest */
} prepared;

struct session {
    plan_file *file;  /* it was opened from, or NULL */
    pgy_graph *graph; /* of a plan: NULL until it is needed */
    uint64_t model_hash;
    tactics *tactics; /* to be obeyed; NULL: none */
    team *team;
    arena plans; /* of interpretation */
    interpreter *interpreter;
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
    pgy_metadata_destroy(p->shapes);
    *p = (prepared){0};
}

void session_destroy(session *s)
{
    if (!s) return;
    for (size_t i = 0; i < s->kept_count; i++) forget(&s->kept[i]);
    interpreter_destroy(s->interpreter);
    team_destroy(s->team);
    tactics_destroy(s->tactics);
    pgy_metadata_destroy(s->inputs);
    pgy_metadata_destroy(s->outputs);
    pgy_graph_destroy(s->graph);
    arena_deinit(&s->plans);
    plan_close(s->file);
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

/* Of the file as it was, for those who look at the plan later. */
static uint64_t hash_model(pgy_model *model)
{
    file_map map = {0};
    const char *path = pgy_model_path(model);
    if (!path[0] || file_map_open(&map, path, NULL)) return 0;
    const uint64_t hash = hash_xxh64(map.data, map.size_bytes, 0);
    file_map_close(&map);
    return hash;
}

static pgy_status import(session *s, pgy_model *model, pgy_error *err)
{
    pgy_status st = pgy_graph_import(&s->graph, model, err);
    if (!st) st = pgy_graph_infer_shapes(s->graph, NULL, err);
    if (!st) st = describe(&s->inputs, s->graph->inputs, s->graph->input_count, err);
    if (!st) st = describe(&s->outputs, s->graph->outputs, s->graph->output_count, err);
    return st ? st : passes_run(s->graph, err);
}

pgy_status session_create(session **out, pgy_model *model, size_t threads, pgy_error *err)
{
    session *s = mem_calloc(1, sizeof *s);
    if (!s) return no_memory(err);
    pgy_status st = import(s, model, err);
    if (!st) st = team_create(&s->team, threads, err);
    if (!st) s->model_hash = hash_model(model);
    if (st)
        session_destroy(s);
    else
        *out = s;
    return st;
}

static pgy_status need_graph(session *s, pgy_error *err)
{
    return s->graph ? PGY_OK : plan_graph(&s->graph, s->file, err);
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

pgy_status session_use_tactics(session *s, const char *path, pgy_error *err)
{
    tactics *loaded = NULL;
    const pgy_status st = tactics_load(&loaded, path, err);
    if (st) return st;
    tactics_destroy(s->tactics);
    s->tactics = loaded;
    return PGY_OK;
}

const program *session_program(const session *s)
{
    return s->last;
}

/* ---- Programs by shape ---------------------------------------------------------------------- */

/* Is it a tensor that a program can take? */
static bool is_numeric(pgy_form form, pgy_dtype dtype)
{
    return form == PGY_FORM_TENSOR && dtype != PGY_STRING;
}

/* Is the feed of these types and shapes? */
static bool is_for(const prepared *p, const pgy_tensor_map *feed)
{
    for (size_t i = 0; i < pgy_metadata_count(p->shapes); i++) {
        const pgy_tensor_info *wanted = pgy_metadata_at(p->shapes, i);
        const pgy_tensor *t = pgy_tensor_map_find(feed, wanted->name);
        const size_t rank = (size_t)wanted->rank;
        if (!t || pgy_tensor_dtype(t) != wanted->dtype || pgy_tensor_rank(t) != rank ||
            (rank && memcmp(pgy_tensor_shape(t), wanted->shape, rank * sizeof *wanted->shape) != 0))
            return false;
    }
    return true;
}

static bool has_shapes(const prepared *p, const pgy_metadata *shapes)
{
    for (size_t i = 0; i < pgy_metadata_count(p->shapes); i++) {
        const pgy_tensor_info *a = pgy_metadata_at(p->shapes, i), *b = pgy_metadata_at(shapes, i);
        const size_t rank = (size_t)a->rank;
        if (a->dtype != b->dtype || a->rank != b->rank ||
            (rank && memcmp(a->shape, b->shape, rank * sizeof *a->shape) != 0))
            return false;
    }
    return true;
}

/* The types and shapes of what feeds the graph, in its order; *out NULL: an input is not one
 * tensor of numbers. */
static pgy_status shapes_of(pgy_metadata **out, const session *s, const pgy_tensor_map *feed,
                            pgy_error *err)
{
    pgy_metadata *m = NULL;
    *out = NULL;
    for (size_t i = 0; i < pgy_metadata_count(s->inputs); i++) {
        const pgy_tensor_info *input = pgy_metadata_at(s->inputs, i);
        const pgy_tensor *t = pgy_tensor_map_find(feed, input->name);
        if (!t || !is_numeric(input->form, pgy_tensor_dtype(t))) return PGY_OK;
    }
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(s->inputs); i++) {
        const char *name = pgy_metadata_at(s->inputs, i)->name;
        const pgy_tensor *t = pgy_tensor_map_find(feed, name);
        const pgy_tensor_info info = {.name = name,
                                      .dtype = pgy_tensor_dtype(t),
                                      .rank = (int32_t)pgy_tensor_rank(t),
                                      .shape = pgy_tensor_shape(t)};
        st = pgy_metadata_set(m, &info, err);
    }
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

static pgy_status infer_for(session *s, const pgy_metadata *shapes, pgy_error *err)
{
    const pgy_infer_options o = {.size = sizeof o, .inputs = shapes};
    const pgy_status st = need_graph(s, err);
    return st ? st : pgy_graph_infer_shapes(s->graph, &o, err);
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

/* Takes the shapes, also on failure. */
static pgy_status prepare(prepared **out, session *s, pgy_metadata *shapes, pgy_error *err)
{
    pgy_error why = {0};
    prepared made = {.shapes = shapes};
    pgy_status st = infer_for(s, shapes, err);
    if (st) goto done;
    st = program_build_with(&made.program, s->graph, s->tactics, &why);
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
    pgy_metadata *shapes = NULL;
    *out = NULL;
    for (size_t i = 0; i < s->kept_count; i++) {
        if (!is_for(&s->kept[i], feed)) continue;
        *out = &s->kept[i];
        return PGY_OK;
    }
    const pgy_status st = shapes_of(&shapes, s, feed, err);
    return st || !shapes ? st : prepare(out, s, shapes, err);
}

/* ---- Plan files ----------------------------------------------------------------------------- */

static pgy_status open_program(session *s, pgy_error *err)
{
    prepared made = {0};
    pgy_status st = plan_program(&made.program, s->file, true, err);
    if (st || !made.program) return st;
    st = plan_program_inputs(&made.shapes, made.program, err);
    if (!st && plan_needs_nodes(made.program)) {
        st = infer_for(s, made.shapes, err);
        if (!st) st = plan_bind(made.program, s->file, s->graph, err);
    }
    if (!st) st = program_context_create(&made.context, made.program, s->team, err);
    if (st)
        forget(&made);
    else
        s->kept[s->kept_count++] = made;
    return st;
}

pgy_status session_open(session **out, const char *path, size_t threads, pgy_error *err)
{
    session *s = mem_calloc(1, sizeof *s);
    if (!s) return no_memory(err);
    pgy_status st = plan_open(&s->file, path, err);
    if (!st) {
        s->model_hash = plan_describe(s->file)->model_hash;
        st = team_create(&s->team, threads, err);
    }
    if (!st) st = plan_metadata(&s->inputs, s->file, false, err);
    if (!st) st = plan_metadata(&s->outputs, s->file, true, err);
    if (!st) {
        st = open_program(s, err);
        if (st) pgy_error_prefix(err, st, "'%s': ", path);
    }
    if (st)
        session_destroy(s);
    else
        *out = s;
    return st;
}

static bool has_numeric_inputs(const session *s)
{
    for (size_t i = 0; i < pgy_metadata_count(s->inputs); i++) {
        const pgy_tensor_info *input = pgy_metadata_at(s->inputs, i);
        if (!is_numeric(input->form, input->dtype)) return false;
    }
    return true;
}

/* The model's own shapes, as far as they are not given. */
static pgy_status complete_shapes(pgy_metadata **out, const session *s, const pgy_metadata *shapes,
                                  pgy_error *err)
{
    pgy_metadata *m = NULL;
    pgy_status st = pgy_metadata_create(&m, err);
    for (size_t i = 0; !st && i < pgy_metadata_count(s->inputs); i++) {
        pgy_tensor_info input = *pgy_metadata_at(s->inputs, i);
        const pgy_tensor_info *given = shapes ? pgy_metadata_find(shapes, input.name) : NULL;
        if (given) {
            input.rank = given->rank;
            input.shape = given->shape;
        }
        input.dim_names = NULL;
        input.min_shape = input.max_shape = NULL;
        for (int32_t d = 0; d < input.rank; d++)
            if (input.shape[d] < 0) input.rank = -1;
        st = input.rank < 0
                 ? pgy_error_set(err, PGY_E_SHAPE,
                                 "input '%s' has no fixed shape: a plan needs shapes", input.name)
                 : pgy_metadata_set(m, &input, err);
    }
    if (st)
        pgy_metadata_destroy(m);
    else
        *out = m;
    return st;
}

static prepared *find_kept(session *s, const pgy_metadata *shapes)
{
    for (size_t i = 0; i < s->kept_count; i++)
        if (has_shapes(&s->kept[i], shapes)) return &s->kept[i];
    return NULL;
}

pgy_status session_prepare(session *s, const pgy_metadata *shapes, pgy_error *err)
{
    pgy_metadata *fixed = NULL;
    s->last = NULL;
    if (!has_numeric_inputs(s)) return PGY_OK;
    pgy_status st = complete_shapes(&fixed, s, shapes, err);
    prepared *p = st ? NULL : find_kept(s, fixed);
    if (st || p)
        pgy_metadata_destroy(fixed);
    else
        st = prepare(&p, s, fixed, err);
    if (st) return st;
    p->used = ++s->runs;
    s->last = p->program;
    return PGY_OK;
}

pgy_status session_save(session *s, const char *path, const pgy_metadata *shapes, pgy_error *err)
{
    pgy_model *model = NULL;
    pgy_status st = need_graph(s, err);
    if (!st) st = pgy_graph_infer_shapes(s->graph, NULL, err);
    if (!st) st = pgy_graph_export(&model, s->graph, err);
    if (!st) st = session_prepare(s, shapes, err);
    const plan_source source = {.program = s->last,
                                .graph = s->graph,
                                .model = model,
                                .inputs = s->inputs,
                                .outputs = s->outputs,
                                .model_hash = s->model_hash};
    if (!st && !s->last)
        LOG(WARNING, "Shapes in this model depend on data: the plan holds the graph only, which is "
                     "interpreted");
    if (!st) st = plan_write(path, &source, err);
    pgy_model_destroy(model);
    return st;
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
    const size_t input_count = pgy_metadata_count(s->inputs);
    const size_t output_count = pgy_metadata_count(s->outputs);
    arena memory = {0};
    const void **inputs = arena_alloc_array(&memory, input_count, sizeof *inputs);
    void **data = arena_alloc_array(&memory, output_count, sizeof *data);
    pgy_tensor **made = arena_alloc_array(&memory, output_count, sizeof *made);
    pgy_status st = inputs && data && made ? PGY_OK : no_memory(err);
    for (size_t i = 0; !st && i < input_count; i++)
        inputs[i] = pgy_tensor_data(pgy_tensor_map_find(feed, pgy_metadata_at(s->inputs, i)->name));
    if (!st) st = create_outputs(made, data, p->program, err);
    const int64_t start = clock_ns();
    if (!st) st = program_execute(p->context, inputs, data, err);
    *time_ns = clock_ns() - start;
    for (size_t i = 0; !st && i < output_count; i++)
        st = pgy_tensor_map_set(out, pgy_metadata_at(s->outputs, i)->name, made[i], err);
    for (size_t i = 0; made && i < output_count; i++) pgy_tensor_release(made[i]);
    arena_deinit(&memory);
    s->last = p->program;
    return st;
}

/* Nodes with subgraphs that run alone leave no plan behind. */
static pgy_status prepare_interpreter(session *s, pgy_error *err)
{
    pgy_status st = need_graph(s, err);
    if (!st && !s->interpreter) st = interpreter_create(&s->interpreter, s->team, err);
    if (st || plan_of(s->graph)) return st;
    plan_clear(state_of(s->graph));
    arena_deinit(&s->plans);
    return plan_build(s->graph, &s->plans, err);
}

static pgy_status interpret(session *s, const pgy_tensor_map *feed, pgy_tensor_map *out,
                            int64_t *time_ns, pgy_error *err)
{
    pgy_status st = prepare_interpreter(s, err);
    if (st) return st;
    const execute_limits limits = {.max_bytes = memory_limit_bytes(),
                                   .operators = interpreter_operators(s->interpreter)};
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
