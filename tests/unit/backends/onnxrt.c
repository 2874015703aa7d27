/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <polygraphy/runner.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "harness/model_builder.h"

extern const pgy_backend BACKEND_onnxrt;

/* Skips the test, with the sentence that a user would read, where there is no ONNX Runtime. */
#define NEED_RUNTIME()                               \
    do {                                             \
        char why[2048];                              \
        if (BACKEND_onnxrt.probe(why, sizeof why)) { \
            print_message("%s\n", why);              \
            skip();                                  \
        }                                            \
    } while (0)

/* ---- Help ----------------------------------------------------------------------------------- */

typedef struct bytes {
    void *data;
    size_t size;
} bytes;

static pgy_status open_bytes(pgy_backend_model *out, void *user, pgy_error *err)
{
    const bytes *b = user;
    (void)err;
    out->data = b->data;
    out->data_size = b->size;
    return PGY_OK;
}

static void free_bytes(void *user)
{
    bytes *b = user;
    pgy_text_free(b->data);
    free(b);
}

/* Options by name; NULL ends the list. */
typedef struct named_value {
    const char *name, *value;
} named_value;

static pgy_backend_options *options_of(const named_value *list)
{
    pgy_backend_options *o = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_backend_options_create(&o, &BACKEND_onnxrt, &err), PGY_OK);
    for (; list && list->name; list++)
        if (pgy_backend_options_set(o, list->name, list->value, &err)) fail_msg("%s", err.text);
    return o;
}

/* An inactive runner of the model, which is consumed; from memory. Options move in. */
static pgy_runner *runner_of(model_builder *m, pgy_backend_options *options)
{
    pgy_error err = {0};
    pgy_runner *r = NULL;
    bytes *b = calloc(1, sizeof *b);
    pgy_model *model = builder_finish(m);
    assert_int_equal(pgy_model_serialize(&b->data, &b->size, model, &err), PGY_OK);
    pgy_model_destroy(model);
    pgy_model_source source = {.open = open_bytes, .destroy = free_bytes, .user = b};
    assert_int_equal(pgy_runner_create(&r, &BACKEND_onnxrt, &source, options, "ort", &err), PGY_OK);
    pgy_backend_options_destroy(options);
    return r;
}

static pgy_runner *active_runner_of(model_builder *m)
{
    pgy_error err = {0};
    pgy_runner *r = runner_of(m, NULL);
    if (pgy_runner_activate(r, &err)) fail_msg("%s", err.text);
    return r;
}

static pgy_tensor_map *feed_of(const char *name, pgy_dtype dtype, size_t rank, const int64_t *shape,
                               const void *data)
{
    pgy_tensor_map *feed = NULL;
    pgy_tensor *t = NULL;
    assert_int_equal(pgy_tensor_map_create(&feed, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&t, dtype, rank, shape, NULL), PGY_OK);
    if (data) memcpy(pgy_tensor_data(t), data, pgy_tensor_size_bytes(t));
    assert_int_equal(pgy_tensor_map_adopt(feed, name, t, NULL), PGY_OK);
    return feed;
}

static pgy_tensor_map *infer(pgy_runner *r, pgy_tensor_map *feed)
{
    pgy_error err = {0};
    pgy_tensor_map *out = NULL;
    if (pgy_runner_infer(&out, r, feed, &err)) fail_msg("%s", err.text);
    pgy_tensor_map_destroy(feed);
    return out;
}

static model_builder doubling(void)
{
    model_builder m = builder_start(17);
    builder_input(&m, "x", PGY_F32, "N, 2");
    builder_node(&m, "Add", "x x", "y");
    builder_output(&m, "y", PGY_F32, "N, 2");
    return m;
}

static model_builder identity(pgy_dtype dtype, const char *shape)
{
    model_builder m = builder_start(21);
    builder_input(&m, "x", dtype, shape);
    builder_node(&m, "Identity", "x", "y");
    builder_output(&m, "y", dtype, shape);
    return m;
}

/* The message of an activation that must fail. */
static const char *activation_error(pgy_backend_options *options, pgy_status expected)
{
    static pgy_error err;
    model_builder m = doubling();
    pgy_runner *r = runner_of(&m, options);
    err = (pgy_error){0};
    assert_int_equal(pgy_runner_activate(r, &err), expected);
    pgy_runner_destroy(r);
    return err.text;
}

/* ---- Inference ------------------------------------------------------------------------------ */

static void test_onnxrt__runs(void **state)
{
    (void)state;
    NEED_RUNTIME();
    const pgy_metadata *in = NULL, *out = NULL;
    char *text = NULL;
    model_builder m = doubling();
    pgy_runner *r = active_runner_of(&m);
    assert_int_equal(pgy_runner_inputs(&in, r, NULL), PGY_OK);
    assert_int_equal(pgy_metadata_text(&text, in, NULL), PGY_OK);
    assert_string_equal(text, "{x [dtype=float32, shape=('N', 2)]}");
    pgy_text_free(text);
    assert_int_equal(pgy_runner_outputs(&out, r, NULL), PGY_OK);
    assert_string_equal(pgy_metadata_at(out, 0)->name, "y");

    float x[] = {1, 2, -3, 0.5f};
    pgy_tensor_map *y = infer(r, feed_of("x", PGY_F32, 2, (int64_t[]){2, 2}, x));
    assert_true(pgy_runner_last_time_ns(r) > 0);
    pgy_runner_destroy(r); /* outputs outlive the session */
    const float *v = pgy_tensor_data(pgy_tensor_map_find(y, "y"));
    for (int i = 0; i < 4; i++) assert_float_equal(v[i], 2 * x[i], 0);
    pgy_tensor_map_destroy(y);
}

/* The runtime gives an output that is an input in the input's own memory. `infer` releases the
 * feed. */
static void test_onnxrt__outputs_outlive_the_feed(void **state)
{
    (void)state;
    NEED_RUNTIME();
    model_builder m = doubling();
    builder_output(&m, "x", PGY_F32, "N, 2");
    pgy_runner *r = active_runner_of(&m);
    float x[] = {1, 2, -3, 0.5f};
    pgy_tensor_map *y = infer(r, feed_of("x", PGY_F32, 2, (int64_t[]){2, 2}, x));
    const float *v = pgy_tensor_data(pgy_tensor_map_find(y, "x"));
    for (int i = 0; i < 4; i++) assert_float_equal(v[i], x[i], 0);
    pgy_tensor_map_destroy(y);
    pgy_runner_destroy(r);
}

static void test_onnxrt__runs_from_a_path_and_again(void **state)
{
    (void)state;
    NEED_RUNTIME();
    pgy_error err = {0};
    const char *path = TEST_BINARY_DIR "/test-onnxrt.onnx";
    pgy_model_source source;
    pgy_runner *r = NULL;
    float x[] = {1, 2};
    model_builder m = doubling();
    pgy_model *model = builder_finish_bytes(&m);
    pgy_model_save_options o = pgy_model_save_options_default();
    assert_int_equal(pgy_model_save(model, path, &o, &err), PGY_OK);
    pgy_model_destroy(model);
    assert_int_equal(pgy_source_from_path(&source, path, &err), PGY_OK);
    assert_int_equal(pgy_runner_create(&r, &BACKEND_onnxrt, &source, NULL, NULL, &err), PGY_OK);
    assert_int_equal(strncmp(pgy_runner_name(r), "onnxrt-runner-N", 15), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pgy_runner_activate(r, &err), PGY_OK);
        pgy_tensor_map *y = infer(r, feed_of("x", PGY_F32, 2, (int64_t[]){1, 2}, x));
        assert_float_equal(((float *)pgy_tensor_data(pgy_tensor_map_at(y, 0)))[1], 4, 0);
        pgy_tensor_map_destroy(y);
        pgy_runner_deactivate(r);
    }
    pgy_runner_destroy(r);
    unlink(path);
}

static void test_onnxrt__scalars_and_empty_tensors(void **state)
{
    (void)state;
    NEED_RUNTIME();
    model_builder m = builder_start(17);
    builder_input(&m, "x", PGY_F32, "N, 2");
    builder_attr_int(&m, builder_node(&m, "ReduceSum", "x", "sum"), "keepdims", 0);
    builder_node(&m, "Neg", "x", "n");
    builder_output(&m, "sum", PGY_F32, "");
    builder_output(&m, "n", PGY_F32, "N, 2");
    pgy_runner *r = active_runner_of(&m);
    pgy_tensor_map *out = infer(r, feed_of("x", PGY_F32, 2, (int64_t[]){0, 2}, NULL));
    assert_int_equal(pgy_tensor_rank(pgy_tensor_map_find(out, "sum")), 0);
    assert_float_equal(*(float *)pgy_tensor_data(pgy_tensor_map_find(out, "sum")), 0, 0);
    assert_int_equal(pgy_tensor_count(pgy_tensor_map_find(out, "n")), 0);
    assert_int_equal(pgy_tensor_shape(pgy_tensor_map_find(out, "n"))[1], 2);
    pgy_tensor_map_destroy(out);
    pgy_runner_destroy(r);
}

static void test_onnxrt__element_types(void **state)
{
    (void)state;
    NEED_RUNTIME();
    static const pgy_dtype TYPES[] = {
        PGY_BOOL, PGY_I8,       PGY_U8,     PGY_I16,        PGY_U16,       PGY_I32,
        PGY_U32,  PGY_I64,      PGY_U64,    PGY_F16,        PGY_BF16,      PGY_F32,
        PGY_F64,  PGY_F8E4M3FN, PGY_F8E5M2, PGY_F8E4M3FNUZ, PGY_F8E5M2FNUZ};
    static const uint8_t BYTES[24] = {1, 0, 1, 1, 0, 1};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        model_builder m = identity(TYPES[i], "3");
        pgy_runner *r = active_runner_of(&m);
        pgy_tensor_map *out = infer(r, feed_of("x", TYPES[i], 1, (int64_t[]){3}, BYTES));
        const pgy_tensor *y = pgy_tensor_map_at(out, 0);
        assert_int_equal(pgy_tensor_dtype(y), TYPES[i]);
        assert_memory_equal(pgy_tensor_data(y), BYTES, pgy_tensor_size_bytes(y));
        pgy_tensor_map_destroy(out);
        pgy_runner_destroy(r);
    }
}

/* Four-bit numbers go in packed: 1, -2, 7. */
static void test_onnxrt__packed_types(void **state)
{
    (void)state;
    NEED_RUNTIME();
    static const uint8_t PACKED[] = {0xe1, 0x07};
    static const float EXPECTED[] = {1, -2, 7};
    model_builder m = builder_start(21);
    builder_input(&m, "x", PGY_I4, "3");
    builder_attr_int(&m, builder_node(&m, "Cast", "x", "y"), "to", 1);
    builder_output(&m, "y", PGY_F32, "3");
    pgy_runner *r = active_runner_of(&m);
    pgy_tensor_map *out = infer(r, feed_of("x", PGY_I4, 1, (int64_t[]){3}, PACKED));
    assert_memory_equal(pgy_tensor_data(pgy_tensor_map_at(out, 0)), EXPECTED, sizeof EXPECTED);
    pgy_tensor_map_destroy(out);
    pgy_runner_destroy(r);
}

static void test_onnxrt__strings(void **state)
{
    (void)state;
    NEED_RUNTIME();
    pgy_error err = {0};
    static const char *const TEXTS[] = {"h\xc3\xa9llo", "", "a b"};
    model_builder m = identity(PGY_STRING, "3");
    pgy_runner *r = active_runner_of(&m);
    pgy_tensor_map *feed = feed_of("x", PGY_STRING, 1, (int64_t[]){3}, NULL), *out = NULL;
    pgy_tensor *x = pgy_tensor_map_at(feed, 0);
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(pgy_tensor_set_string(x, i, TEXTS[i], strlen(TEXTS[i]), &err), PGY_OK);
    out = infer(r, feed);
    const pgy_string *s = pgy_tensor_data(pgy_tensor_map_at(out, 0));
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(s[i].size, strlen(TEXTS[i]));
        assert_memory_equal(s[i].data, TEXTS[i], s[i].size);
    }
    pgy_tensor_map_destroy(out);

    feed = feed_of("x", PGY_STRING, 1, (int64_t[]){3}, NULL);
    assert_int_equal(pgy_tensor_set_string(pgy_tensor_map_at(feed, 0), 2, "a\0b", 3, &err), PGY_OK);
    assert_int_equal(pgy_runner_infer(&out, r, feed, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "input 'x': the string in element 2 has a zero byte"));
    pgy_tensor_map_destroy(feed);
    pgy_runner_destroy(r);
}

/* Makes a tensor input or output a sequence of such tensors. */
static void make_sequence(pgy_onnx_value_info *v, pgy_onnx_type *type, pgy_onnx_elem_type *element)
{
    *element = (pgy_onnx_elem_type){.elem_type = v->type};
    *type = (pgy_onnx_type){.sequence_type = element, .denotation = ""};
    v->type = type;
}

static void test_onnxrt__sequences_are_one_tensor_per_element(void **state)
{
    (void)state;
    NEED_RUNTIME();
    pgy_error err = {0};
    pgy_onnx_type type;
    pgy_onnx_elem_type element;
    const pgy_metadata *inputs;
    model_builder m = builder_start(17);
    builder_input(&m, "s", PGY_F32, "2");
    make_sequence(m.graph->inputs[0], &type, &element);
    builder_node(&m, "SequenceErase", "s", "t");
    builder_node(&m, "SequenceEmpty", "", "u");
    builder_output(&m, "t", PGY_DTYPE_NONE, NULL);
    builder_output(&m, "u", PGY_DTYPE_NONE, NULL);
    pgy_runner *r = active_runner_of(&m);
    assert_int_equal(pgy_runner_inputs(&inputs, r, &err), PGY_OK);
    assert_int_equal(pgy_metadata_at(inputs, 0)->form, PGY_FORM_SEQUENCE);
    assert_int_equal(pgy_metadata_at(inputs, 0)->dtype, PGY_F32);
    pgy_tensor_map *feed = feed_of("s[0]", PGY_F32, 1, (int64_t[]){2}, NULL), *out = NULL;
    pgy_tensor_map *more = feed_of("s[1]", PGY_F32, 1, (int64_t[]){2}, NULL);
    ((float *)pgy_tensor_data(pgy_tensor_map_at(feed, 0)))[1] = 42;
    assert_int_equal(pgy_tensor_map_set(feed, "s[1]", pgy_tensor_map_at(more, 0), &err), PGY_OK);
    pgy_tensor_map_destroy(more);
    out = infer(r, feed);
    assert_int_equal(pgy_tensor_map_count(out), 2);
    const pgy_tensor *kept = pgy_tensor_map_find(out, "t[0]");
    assert_non_null(kept);
    assert_float_equal(((const float *)pgy_tensor_data(kept))[1], 42, 0);
    assert_int_equal(pgy_tensor_count(pgy_tensor_map_find(out, "u[]")), 0);
    pgy_tensor_map_destroy(out);

    feed = feed_of("s[]", PGY_F32, 1, (int64_t[]){0}, NULL);
    assert_int_equal(pgy_runner_infer(&out, r, feed, &err), PGY_E_UNSUPPORTED);
    assert_non_null(strstr(err.text, "input 's' is an empty sequence"));
    pgy_tensor_map_destroy(feed);
    feed = feed_of("s[1]", PGY_F32, 1, (int64_t[]){2}, NULL);
    assert_int_equal(pgy_runner_infer(&out, r, feed, &err), PGY_E_ARGUMENT);
    assert_non_null(strstr(err.text, "sequence 's' lacks 's[0]'"));
    pgy_tensor_map_destroy(feed);
    pgy_runner_destroy(r);
}

static void test_onnxrt__runtime_errors_are_passed_on(void **state)
{
    (void)state;
    NEED_RUNTIME();
    pgy_error err = {0};
    pgy_tensor_map *out = NULL;
    model_builder m = builder_start(17);
    builder_input(&m, "x", PGY_F32, "A, B");
    builder_node(&m, "MatMul", "x x", "y");
    builder_output(&m, "y", PGY_F32, "A, B");
    pgy_runner *r = active_runner_of(&m);
    pgy_tensor_map *feed = feed_of("x", PGY_F32, 2, (int64_t[]){2, 3}, NULL);
    assert_int_equal(pgy_runner_infer(&out, r, feed, &err), PGY_E_BACKEND);
    assert_non_null(strstr(err.text, "ONNX Runtime, inference: "));
    assert_non_null(strstr(err.text, "MatMul"));
    pgy_tensor_map_destroy(feed);
    pgy_runner_destroy(r);
}

/* ---- Options -------------------------------------------------------------------------------- */

static void test_onnxrt__providers_by_part_of_the_name(void **state)
{
    (void)state;
    NEED_RUNTIME();
    static const char *const NAMES[] = {"cpu", "CPUExecutionProvider", "my CPUExecutionProvider"};
    for (int i = 0; i < 3; i++) {
        pgy_error err = {0};
        model_builder m = doubling();
        const named_value one[] = {{"providers", NAMES[i]}, {NULL, NULL}};
        pgy_runner *r = runner_of(&m, options_of(one));
        if (pgy_runner_activate(r, &err)) fail_msg("%s", err.text);
        pgy_runner_destroy(r);
    }
    const char *unknown[] = {"cpu", "abacus"};
    pgy_backend_options *o = options_of(NULL);
    assert_int_equal(pgy_backend_options_set_words(o, "providers", unknown, 2, NULL), PGY_OK);
    const char *text = activation_error(o, PGY_E_NOT_FOUND);
    assert_non_null(strstr(text, "Could not find specified ONNX-Runtime execution provider."));
    assert_non_null(strstr(text, "Requested provider was: abacus, but available providers are: ["));
    assert_non_null(strstr(text, "'CPUExecutionProvider'"));
}

static void test_onnxrt__settings(void **state)
{
    (void)state;
    NEED_RUNTIME();
    pgy_error err = {0};
    model_builder m = doubling();
    const named_value good[] = {
        {"graph_optimization_level", "ort_disable_all"}, {"onnxrt_threads", "1"}, {NULL, NULL}};
    pgy_runner *r = runner_of(&m, options_of(good));
    assert_int_equal(pgy_runner_activate(r, &err), PGY_OK);
    pgy_runner_destroy(r);

    const named_value level[] = {{"graph_optimization_level", "FAST"}, {NULL, NULL}};
    assert_string_equal(
        activation_error(options_of(level), PGY_E_ARGUMENT),
        "onnxrt.graph_optimization_level: 'FAST' is not a level; the levels are: "
        "['ORT_DISABLE_ALL', "
        "'ORT_ENABLE_BASIC', 'ORT_ENABLE_EXTENDED', 'ORT_ENABLE_LAYOUT', 'ORT_ENABLE_ALL']");
    const named_value threads[] = {{"onnxrt_threads", "-1"}, {NULL, NULL}};
    assert_non_null(
        strstr(activation_error(options_of(threads), PGY_E_ARGUMENT), "onnxrt.onnxrt_threads: -1"));
    const named_value custom[] = {{"custom_op_library", "/no/such/ops.so"}, {NULL, NULL}};
    const char *text = activation_error(options_of(custom), PGY_E_BACKEND);
    assert_non_null(strstr(text, "onnxrt.custom_op_library /no/such/ops.so: "));
}

/* A library that registers nothing but is one: proof that the call takes what it is given. */
static void test_onnxrt__custom_op_library_is_called(void **state)
{
    (void)state;
    NEED_RUNTIME();
    pgy_error err = {0};
    const char *object = TEST_BINARY_DIR "/test-onnxrt-ops.so";
    char command[2048];
    snprintf(command, sizeof command,
             "echo 'void *RegisterCustomOps(void *options, const void *api)"
             "{ (void)options; (void)api; return 0; }' | cc -x c -shared -fPIC -o %s -",
             object);
    assert_int_equal(system(command), 0);
    model_builder m = doubling();
    const named_value custom[] = {{"custom_op_library", object}, {NULL, NULL}};
    pgy_runner *r = runner_of(&m, options_of(custom));
    if (pgy_runner_activate(r, &err)) fail_msg("%s", err.text);
    pgy_runner_destroy(r);
    unlink(object);
}

static void test_onnxrt__broken_model(void **state)
{
    (void)state;
    NEED_RUNTIME();
    pgy_error err = {0};
    pgy_runner *r = NULL;
    bytes *b = calloc(1, sizeof *b);
    b->data = NULL;
    b->size = 0;
    pgy_model_source source = {.open = open_bytes, .destroy = free_bytes, .user = b};
    assert_int_equal(pgy_runner_create(&r, &BACKEND_onnxrt, &source, NULL, NULL, &err), PGY_OK);
    assert_int_equal(pgy_runner_activate(r, &err), PGY_E_ARGUMENT); /* no model at all */
    pgy_runner_destroy(r);

    const char *path = TEST_BINARY_DIR "/test-onnxrt-broken.onnx";
    assert_int_equal(file_write_all(path, "not a model", 11, &err), PGY_OK);
    assert_int_equal(pgy_source_from_path(&source, path, &err), PGY_OK);
    assert_int_equal(pgy_runner_create(&r, &BACKEND_onnxrt, &source, NULL, NULL, &err), PGY_OK);
    assert_int_equal(pgy_runner_activate(r, &err), PGY_E_BACKEND);
    assert_non_null(strstr(err.text, "ONNX Runtime, loading the model: "));
    pgy_runner_destroy(r);
    unlink(path);
}

/* ---- Where the runtime is ------------------------------------------------------------------- */

static void *cancel_soon(void *user)
{
    usleep(50000);
    pgy_cancel();
    return user;
}

/* Without the request this loop of 2^62 iterations would not end. */
static void test_onnxrt__a_long_run_ends_on_request(void **state)
{
    (void)state;
    NEED_RUNTIME();
    static const int64_t TIMES[] = {INT64_C(1) << 62};
    static const float X[] = {1, 2};
    pgy_error err = {0};
    pgy_tensor_map *out = NULL;
    pthread_t other;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "2");
    builder_ints(&b, "times", "", TIMES);
    model_builder body = builder_subgraph(&b, "body");
    builder_input(&body, "i", PGY_I64, "");
    builder_input(&body, "go", PGY_BOOL, "");
    builder_input(&body, "v", PGY_F32, "2");
    builder_node(&body, "Identity", "go", "on");
    builder_node(&body, "Neg", "v", "w");
    builder_output(&body, "on", PGY_BOOL, "");
    builder_output(&body, "w", PGY_F32, "2");
    pgy_onnx_node *n = builder_node(&b, "Loop", "times - x", "last");
    builder_attr_graph(&b, n, "body", &body);
    builder_output(&b, "last", PGY_F32, "2");
    pgy_runner *r = active_runner_of(&b);
    const int64_t shape[] = {2};
    pgy_tensor_map *feed = feed_of("x", PGY_F32, 1, shape, X);
    assert_int_equal(pthread_create(&other, NULL, cancel_soon, NULL), 0);
    assert_int_equal(pgy_runner_infer(&out, r, feed, &err), PGY_E_CANCELLED);
    pthread_join(other, NULL);
    pgy_cancel_reset();
    assert_null(out);
    pgy_tensor_map_destroy(feed);
    pgy_runner_destroy(r);
}

/* The sentence of probe() in a fresh process with this environment. */
static void probe_elsewhere(char *why, size_t size, const char *named, const char *path)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        char text[2048] = "";
        if (named) setenv("POLYGRAPHY_ONNXRUNTIME", named, 1);
        if (!named) unsetenv("POLYGRAPHY_ONNXRUNTIME");
        setenv("PATH", path, 1);
        BACKEND_onnxrt.probe(text, sizeof text);
        _exit(write(ends[1], text, strlen(text)) < 0);
    }
    close(ends[1]);
    ssize_t n = read(ends[0], why, size - 1);
    close(ends[0]);
    why[n > 0 ? n : 0] = '\0';
    waitpid(child, NULL, 0);
}

/* Runs first, before this process has opened the runtime. */
static int group_setup(void **state)
{
    (void)state;
    char why[2048];
    probe_elsewhere(why, sizeof why, "/no/such/folder", "/nowhere");
    if (!strstr(why, "ONNX Runtime was not found: POLYGRAPHY_ONNXRUNTIME is '/no/such/folder'"))
        return 1;
    probe_elsewhere(why, sizeof why, TEST_SOURCE_DIR, "/nowhere");
    return strstr(why, "that folder has no libonnxruntime.so") == NULL;
}

static void test_onnxrt__version(void **state)
{
    (void)state;
    NEED_RUNTIME();
    assert_int_equal(strncmp(BACKEND_onnxrt.version(), "1.", 2), 0);
}
