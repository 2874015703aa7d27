/* SPDX-License-Identifier: Apache-2.0 */
/* Text generation in the reference backend: the words that ONNX Runtime 1.31 gives for models of
 * tests/data/generate. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <polygraphy/backend.h>
#include <polygraphy/onnx.h>

extern const pgy_backend BACKEND_opref;

typedef struct settings {
    const char *precision, *substitute;
} settings;

typedef pgy_status (*put_inputs)(pgy_tensor_map *feed);

/* A tensor of `count` elements, of which 2 are a batch if there are more dimensions. */
static pgy_status put(pgy_tensor_map *feed, const char *name, pgy_dtype dtype, int64_t count,
                      size_t rank, const void *values)
{
    const int64_t shape[] = {rank > 1 ? 2 : count, rank == 3 ? 6 : count / 2, count / 12};
    pgy_tensor *t = NULL;
    pgy_status st = pgy_tensor_create(&t, dtype, rank, shape, NULL);
    if (!st) memcpy(pgy_tensor_data(t), values, pgy_tensor_size_bytes(t));
    if (!st) st = pgy_tensor_map_set(feed, name, t, NULL);
    pgy_tensor_release(t);
    return st;
}

static pgy_status put_greedy(pgy_tensor_map *feed)
{
    static const int32_t IDS[] = {3, 7, 1, 23, 5, 9}, LENGTH = 10;
    const pgy_status st = put(feed, "input_ids", PGY_I32, 6, 2, IDS);
    return st ? st : put(feed, "max_length", PGY_I32, 1, 1, &LENGTH);
}

static pgy_status put_search(pgy_tensor_map *feed)
{
    static const int32_t LEAST = 0, BEAMS = 3, TEXTS = 2;
    static const float PENALTY = 1;
    pgy_status st = put(feed, "min_length", PGY_I32, 1, 1, &LEAST);
    if (!st) st = put(feed, "num_beams", PGY_I32, 1, 1, &BEAMS);
    if (!st) st = put(feed, "num_return_sequences", PGY_I32, 1, 1, &TEXTS);
    return st ? st : put(feed, "length_penalty", PGY_F32, 1, 1, &PENALTY);
}

static pgy_status put_beams(pgy_tensor_map *feed)
{
    const pgy_status st = put_greedy(feed);
    return st ? st : put_search(feed);
}

static pgy_status put_whisper(pgy_tensor_map *feed)
{
    static const int32_t WORDS[] = {3, 9, 3, 10}, LENGTH = 12, PROCESSOR = 1;
    float features[60];
    for (size_t i = 0; i < 60; i++) features[i] = 0.5f;
    pgy_status st = put(feed, "input_ids", PGY_F32, 60, 3, features);
    if (!st) st = put(feed, "max_length", PGY_I32, 1, 1, &LENGTH);
    if (!st) st = put(feed, "decoder_input_ids", PGY_I32, 4, 2, WORDS);
    if (!st) st = put(feed, "logits_processor", PGY_I32, 1, 1, &PROCESSOR);
    return st ? st : put_search(feed);
}

/* Runs a model; every call may fail for lack of memory, which must end cleanly. */
static void check(const char *path, put_inputs put_all, const int32_t *expected, size_t count)
{
    const settings options = {0};
    pgy_backend_model source = {.size = sizeof source};
    pgy_tensor_map *feed = NULL, *out = NULL;
    void *runner = NULL;
    int64_t time_ns;
    pgy_error err;
    pgy_model *model = NULL;
    pgy_status st = pgy_model_load(&model, path, NULL, &err);
    source.model = model;
    if (!st) st = BACKEND_opref.create(&runner, &source, &options, &err);
    if (!st) st = BACKEND_opref.activate(runner, &err);
    if (!st) st = pgy_tensor_map_create(&feed, &err);
    if (!st) st = pgy_tensor_map_create(&out, &err);
    if (!st) st = put_all(feed);
    if (!st) st = BACKEND_opref.infer(runner, feed, out, &time_ns, &err);
    if (!st) {
        const pgy_tensor *t = pgy_tensor_map_find(out, "sequences");
        assert_non_null(t);
        assert_int_equal(pgy_tensor_count(t), count);
        assert_memory_equal(pgy_tensor_data(t), expected, count * sizeof *expected);
    }
    pgy_tensor_map_destroy(feed);
    pgy_tensor_map_destroy(out);
    BACKEND_opref.destroy(runner);
    pgy_model_destroy(model);
    assert_int_equal(st, PGY_OK);
}

static void test_generate__greedy(void **state)
{
    static const int32_t WORDS[] = {3,  7, 1, 4,  3, 22, 3,  14, 4, 3,
                                    23, 5, 9, 21, 9, 4,  16, 4,  7, 4};
    (void)state;
    check(TEST_SOURCE_DIR "/tests/data/generate/greedy.onnx", put_greedy, WORDS, 20);
}

static void test_generate__beams(void **state)
{
    static const int32_t WORDS[] = {3, 7,  1,  15, 7, 15, 15, 15, 23, 15, 3,  7, 1,  15,
                                    7, 15, 15, 15, 7, 15, 23, 5,  9,  15, 15, 7, 23, 15,
                                    7, 23, 23, 5,  9, 23, 15, 7,  23, 15, 15, 5};
    (void)state;
    check(TEST_SOURCE_DIR "/tests/data/generate/beams.onnx", put_beams, WORDS, 40);
}

static void test_generate__whisper(void **state)
{
    static const int32_t WORDS[] = {3, 9, 4, 4, 4, 4,  4,  4, 4, 4,  4,  4, 3, 9, 14, 4,
                                    4, 4, 4, 4, 4, 4,  4,  4, 3, 10, 14, 4, 4, 4, 4,  4,
                                    4, 4, 4, 4, 3, 10, 17, 4, 4, 4,  4,  4, 4, 4, 4,  4};
    (void)state;
    check(TEST_SOURCE_DIR "/tests/data/generate/whisper_times.onnx", put_whisper, WORDS, 48);
}
