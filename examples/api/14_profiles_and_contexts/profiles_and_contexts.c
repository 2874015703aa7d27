/* SPDX-License-Identifier: Apache-2.0 */
/* Uses several profiles, contexts and streams: one engine has a profile for small and one for large
 * batches. Each profile has a context; the contexts run at the same time on separate streams, and
 * one of them uses memory of the caller.
 *
 *     profiles_and_contexts
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <polygraphy/polygraphy.h>

enum { WIDTH = 16, LARGEST = 64 };

/* y = softmax(x) over rows of WIDTH */
static pgy_status make_model(pgy_model **out, pgy_error *err)
{
    static const int64_t DIMS[] = {-1, WIDTH};
    pgy_network *net = NULL;
    pgy_value *x = NULL;
    pgy_layer *softmax = NULL;
    pgy_status st = pgy_network_create(&net, "rows", err);
    if (!st) st = pgy_network_add_input(&x, net, "x", PGY_F32, 2, DIMS, err);
    if (!st) st = pgy_network_set_dimension_name(net, x, 0, "batch", err);
    if (!st) st = pgy_network_add_softmax(&softmax, net, x, PGY_AXIS(1), err);
    if (!st) st = pgy_network_rename_tensor(net, softmax->outputs[0], "y", err);
    if (!st) st = pgy_network_mark_output(net, softmax->outputs[0], err);
    if (!st) st = pgy_network_to_model(out, net, err);
    pgy_network_destroy(net);
    return st;
}

static pgy_status build(pgy_engine **out, pgy_error *err)
{
    static const int64_t ONE[] = {1, WIDTH}, FOUR[] = {4, WIDTH}, EIGHT[] = {8, WIDTH}, MANY[] = {32, WIDTH}, MOST[] = {LARGEST, WIDTH};
    const pgy_profile_range small = {.name = "x", .count = 2, .min = ONE, .opt = FOUR, .max = EIGHT};
    const pgy_profile_range large = {.name = "x", .count = 2, .min = EIGHT, .opt = MANY, .max = MOST};
    const pgy_profile profiles[] = {{&small, 1}, {&large, 1}};
    const pgy_build_config config = {.size = sizeof config, .profiles = profiles, .profile_count = 2, .has_workspace_limit = true, .workspace_bytes = 64 << 20};
    pgy_model *model = NULL;
    pgy_status st = make_model(&model, err);
    if (!st) st = pgy_engine_build(out, model, &config, err);
    pgy_model_destroy(model);
    return st;
}

/* A context with its stream and buffers. */
typedef struct worker {
    pgy_context *context;
    pgy_stream *stream;
    pgy_ticket ticket;
    void *memory;
    float x[LARGEST * WIDTH], y[LARGEST * WIDTH];
    size_t rows;
} worker;

static pgy_status start(worker *w, pgy_engine *engine, size_t profile, size_t rows, bool own_memory, pgy_error *err)
{
    const pgy_context_options options = {.size = sizeof options, .threads = 1, .allocation = own_memory ? PGY_ALLOCATION_USER : PGY_ALLOCATION_PROFILE};
    const int64_t shape[] = {(int64_t)rows, WIDTH};
    const size_t bytes = rows * WIDTH * sizeof(float);
    uint64_t needed = 0;
    w->rows = rows;
    for (size_t i = 0; i < rows * WIDTH; i++) w->x[i] = (float)(i % 7);
    pgy_status st = pgy_context_create(&w->context, engine, &options, err);
    if (!st) st = pgy_context_set_profile(w->context, profile, err);
    if (!st && own_memory) st = pgy_context_profile_memory_bytes(&needed, w->context, profile, err);
    if (!st && own_memory) {
        w->memory = aligned_alloc(64, (size_t)(needed / 64 + 1) * 64);
        if (!w->memory) return pgy_error_set(err, PGY_E_MEMORY, "out of memory");
        st = pgy_context_set_memory(w->context, w->memory, (size_t)(needed / 64 + 1) * 64, err);
    }
    if (!st) st = pgy_context_set_input_shape(w->context, "x", 2, shape, err);
    if (!st) st = pgy_context_set_input(w->context, "x", w->x, bytes, err);
    if (!st) st = pgy_context_set_output(w->context, "y", w->y, bytes, err);
    if (!st) st = pgy_stream_create(&w->stream, err);
    if (!st) st = pgy_context_enqueue(w->context, w->stream, &w->ticket, err);
    return st;
}

static pgy_status finish(worker *w, bool *right, pgy_error *err)
{
    const pgy_status st = pgy_stream_wait(w->stream, w->ticket, err);
    for (size_t i = 0; i < w->rows; i++) {
        double sum = 0;
        for (size_t k = 0; k < WIDTH; k++) sum += (double)w->y[i * WIDTH + k];
        if (fabs(sum - 1) > 1e-5) *right = false;
    }
    return st;
}

static void release(worker *w)
{
    if (!w) return;
    pgy_stream_destroy(w->stream);
    pgy_context_destroy(w->context);
    free(w->memory);
    free(w);
}

int main(void)
{
    static const int64_t TOO_MANY[] = {9, WIDTH};
    pgy_error err = {0}, refusal = {0};
    pgy_engine *engine = NULL;
    worker *small = calloc(1, sizeof *small), *large = calloc(1, sizeof *large);
    bool right = true, refused = false;
    pgy_status st = small && large ? build(&engine, &err) : PGY_E_MEMORY;
    if (!st) st = start(small, engine, 0, 3, false, &err);
    if (!st) st = start(large, engine, 1, LARGEST, true, &err);
    if (!st) st = finish(small, &right, &err);
    if (!st) st = finish(large, &right, &err);
    if (!st) refused = pgy_context_set_input_shape(small->context, "x", 2, TOO_MANY, &refusal) != PGY_OK;
    if (!st)
        printf("%zu profiles; memory of the contexts: %llu and %llu bytes; as it should be: %s\n", pgy_engine_profile_count(engine),
               (unsigned long long)pgy_context_describe_memory(small->context).held_bytes,
               (unsigned long long)pgy_context_describe_memory(large->context).held_bytes, refusal.text);
    if (st) fprintf(stderr, "error: %s\n", err.text);
    release(small);
    release(large);
    pgy_engine_release(engine);
    return st || !right || !refused;
}
