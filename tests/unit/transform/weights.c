/* SPDX-License-Identifier: Apache-2.0 */
/* Weights as a whole: 2:4 sparsity found and made, elements taken out and put in again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <polygraphy/graph.h>
#include <polygraphy/transform.h>
#include <polygraphy/weights.h>

#include "base/alloc.h"
#include "harness/model_builder.h"
#include "harness/test_folder.h"

/* ---- Helpers -------------------------------------------------------------------------------- */

/* Different magnitudes, both signs, some equal ones. */
static float value_at(size_t i)
{
    const float v = (float)(i * 2654435761u % 1000) / 125 - 4;
    return i % 7 == 3 ? 0.5f : i % 11 == 4 ? -0.5f : v;
}

static pgy_tensor *make_values(pgy_dtype dtype, size_t rank, const int64_t *shape)
{
    pgy_error err = {0};
    pgy_tensor *floats = NULL, *t = NULL;
    if (pgy_tensor_create(&floats, PGY_F32, rank, shape, &err)) fail_msg("%s", err.text);
    float *x = pgy_tensor_data(floats);
    for (size_t i = 0; i < pgy_tensor_count(floats); i++) x[i] = value_at(i);
    if (pgy_tensor_cast(&t, pgy_tensor_view(floats), dtype, &err)) fail_msg("%s", err.text);
    pgy_tensor_release(floats);
    return t;
}

static void put_weight(model_builder *b, const char *name, pgy_dtype dtype, size_t rank,
                       const int64_t *shape)
{
    pgy_tensor *t = make_values(dtype, rank, shape);
    builder_initializer(b, name, t);
    pgy_tensor_release(t);
}

static const pgy_onnx_tensor *find_in(const pgy_onnx_graph *g, const char *name)
{
    for (size_t i = 0; i < g->initializer_count; i++)
        if (!strcmp(g->initializers[i]->name, name)) return g->initializers[i];
    fail_msg("no initializer '%s'", name);
    return NULL;
}

static const pgy_onnx_tensor *find(pgy_model *m, const char *name)
{
    return find_in(pgy_model_proto(m)->graph, name);
}

/* Elements as float32, of the model as it is read back from its bytes. */
static pgy_tensor *floats_of(pgy_model *m, const char *name)
{
    pgy_error err = {0};
    pgy_tensor *t = NULL, *floats = NULL;
    if (pgy_onnx_tensor_load(&t, m, find(m, name), &err)) fail_msg("%s", err.text);
    if (pgy_tensor_cast(&floats, pgy_tensor_view(t), PGY_F32, &err)) fail_msg("%s", err.text);
    pgy_tensor_release(t);
    return floats;
}

static pgy_model *reread(pgy_model *m)
{
    pgy_error err = {0};
    void *bytes = NULL;
    size_t size = 0;
    pgy_model *again = NULL;
    if (pgy_model_serialize(&bytes, &size, m, &err)) fail_msg("%s", err.text);
    if (pgy_model_parse(&again, bytes, size, false, NULL, &err)) fail_msg("%s", err.text);
    pgy_text_free(bytes);
    pgy_model_destroy(m);
    return again;
}

static pgy_model *prune(model_builder *b)
{
    pgy_error err = {0};
    pgy_model *model = builder_finish_bytes(b), *pruned = NULL;
    if (pgy_model_prune(&pruned, model, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(model);
    return reread(pruned);
}

/* As the definition says: the smallest of four goes, the first of equal ones, twice. */
static void prune_slowly(float *x, size_t count, size_t axis_length, size_t inner)
{
    for (size_t i = 0; i < count; i++) {
        if (i / inner % axis_length % 4) continue;
        bool gone[4] = {false};
        for (int round = 0; round < 2; round++) {
            size_t least = 4;
            for (size_t k = 0; k < 4; k++)
                if (!gone[k] &&
                    (least == 4 || fabsf(x[i + k * inner]) < fabsf(x[i + least * inner])))
                    least = k;
            gone[least] = true;
        }
        for (size_t k = 0; k < 4; k++)
            if (gone[k]) x[i + k * inner] = 0;
    }
}

static void expect_pruned(const char *op, pgy_dtype dtype, size_t rank, const int64_t *shape,
                          size_t axis)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", dtype, NULL);
    put_weight(&b, "w", dtype, rank, shape);
    builder_node(&b, op, "x w", "y");
    builder_output(&b, "y", dtype, NULL);
    pgy_model *m = prune(&b);
    pgy_tensor *got = floats_of(m, "w"), *wanted = make_values(dtype, rank, shape), *floats = NULL;
    size_t inner = 1;
    for (size_t i = axis + 1; i < rank; i++) inner *= (size_t)shape[i];
    assert_int_equal(pgy_tensor_cast(&floats, pgy_tensor_view(wanted), PGY_F32, NULL), PGY_OK);
    prune_slowly(pgy_tensor_data(floats), pgy_tensor_count(floats), (size_t)shape[axis], inner);
    assert_memory_equal(pgy_tensor_data(got), pgy_tensor_data(floats),
                        pgy_tensor_size_bytes(floats));
    pgy_tensor_release(floats);
    pgy_tensor_release(wanted);
    pgy_tensor_release(got);
    pgy_model_destroy(m);
}

/* ---- Pruning -------------------------------------------------------------------------------- */

static void test_weights__pruning_keeps_the_larger_two_of_four(void **state)
{
    (void)state;
    static const pgy_dtype TYPES[] = {PGY_F32, PGY_F16, PGY_BF16};
    for (size_t i = 0; i < 3; i++) {
        expect_pruned("MatMul", TYPES[i], 2, (const int64_t[]){8, 13}, 0);
        expect_pruned("MatMul", TYPES[i], 2, (const int64_t[]){12, 1}, 0);
        expect_pruned("Conv", TYPES[i], 4, (const int64_t[]){5, 4, 1, 1}, 1);
        expect_pruned("Conv", TYPES[i], 4, (const int64_t[]){3, 8, 3, 3}, 1);
    }
}

/* Weights of this size are made while the model is written. */
static void test_weights__large_weights_are_pruned_as_small_ones_are(void **state)
{
    (void)state;
    expect_pruned("MatMul", PGY_F32, 2, (const int64_t[]){256, 129}, 0);
    expect_pruned("MatMul", PGY_BF16, 2, (const int64_t[]){256, 258}, 0);
}

/* Four rows of these are more than is held: they are read by columns. */
static void test_weights__very_wide_weights_are_pruned_as_small_ones_are(void **state)
{
    (void)state;
    expect_pruned("MatMul", PGY_F16, 2, (const int64_t[]){4, 1100001}, 0);
    expect_pruned("MatMul", PGY_F32, 2, (const int64_t[]){8, 600000}, 0);
}

static void test_weights__what_is_no_weight_stays(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 4");
    put_weight(&b, "w", PGY_F32, 2, (const int64_t[]){4, 4});
    put_weight(&b, "odd", PGY_F32, 2, (const int64_t[]){4, 6});
    put_weight(&b, "odder", PGY_F32, 2, (const int64_t[]){6, 4});
    builder_node(&b, "MatMul", "x w", "a");
    builder_node(&b, "MatMul", "a odd", "b");
    builder_node(&b, "MatMul", "b odder", "c");
    builder_node(&b, "Add", "c w", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    b.proto->producer_name = "someone";
    pgy_model *m = prune(&b);
    pgy_tensor *odder = floats_of(m, "odder"), *odd = floats_of(m, "odd");
    for (size_t i = 0; i < 24; i++) {
        assert_true(((float *)pgy_tensor_data(odder))[i] == value_at(i));
        if (i % 24 >= 6) continue;
        assert_true(isfinite(((float *)pgy_tensor_data(odd))[i]));
    }
    assert_string_equal(pgy_model_proto(m)->producer_name, "polygraphy surgeon prune");
    assert_int_equal(pgy_model_proto(m)->opset_import_count, 1);
    pgy_tensor_release(odd);
    pgy_tensor_release(odder);
    pgy_model_destroy(m);
}

static void test_weights__weights_are_found_through_what_keeps_values(void **state)
{
    (void)state;
    const int64_t perm[] = {1, 0};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 8");
    put_weight(&b, "w", PGY_F16, 2, (const int64_t[]){5, 8});
    builder_attr_int(&b, builder_node(&b, "Cast", "w", "c"), "to", 1);
    builder_attr_ints(&b, builder_node(&b, "Transpose", "c", "t"), "perm", 2, perm);
    builder_node(&b, "MatMul", "x t", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_error err = {0};
    pgy_model *m = builder_finish_bytes(&b);
    pgy_graph *g = NULL;
    const pgy_sparse_weight *weights;
    size_t count;
    bool holds = true;
    assert_int_equal(pgy_graph_import(&g, m, &err), PGY_OK);
    assert_int_equal(pgy_graph_sparse_weights(&weights, &count, g, &err), PGY_OK);
    assert_int_equal(count, 1);
    assert_string_equal(weights[0].value->name, "w");
    assert_int_equal(weights[0].axis, 1);
    assert_int_equal(pgy_sparse_weight_holds(&holds, &weights[0], &err), PGY_OK);
    assert_false(holds);
    pgy_graph_destroy(g);
    pgy_model_destroy(m);
}

static void test_weights__behind_a_transpose_the_axis_is_that_of_the_original(void **state)
{
    (void)state;
    const int64_t perm[] = {3, 2, 0, 1}; /* not its own inverse */
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "1, 4, 5, 5");
    put_weight(&b, "w", PGY_F32, 4, (const int64_t[]){3, 3, 4, 8});
    put_weight(&b, "v", PGY_F32, 2, (const int64_t[]){8, 4});
    builder_attr_ints(&b, builder_node(&b, "Transpose", "w", "t"), "perm", 4, perm);
    builder_node(&b, "Conv", "x t", "y");
    builder_node(&b, "Transpose", "v", "u"); /* without permutation: not looked through */
    builder_node(&b, "MatMul", "y u", "z");
    builder_output(&b, "z", PGY_F32, NULL);
    pgy_error err = {0};
    pgy_model *m = builder_finish_bytes(&b);
    pgy_graph *g = NULL;
    const pgy_sparse_weight *weights;
    size_t count;
    assert_int_equal(pgy_graph_import(&g, m, &err), PGY_OK);
    assert_int_equal(pgy_graph_sparse_weights(&weights, &count, g, &err), PGY_OK);
    assert_int_equal(count, 1);
    assert_string_equal(weights[0].value->name, "w");
    assert_int_equal(weights[0].axis, 3);
    pgy_graph_destroy(g);
    pgy_model_destroy(m);
}

/* ---- Stripping and filling ------------------------------------------------------------------ */

static model_builder small_network(void)
{
    model_builder b = builder_start(17);
    const float sparse[] = {1, 0, 0, 2, 3, 0, 4, 0, 0, 0, 0, 0, 5, 6, 0, 0};
    builder_input(&b, "x", PGY_F32, "N, 4");
    builder_floats(&b, "sparse", "4, 4", sparse);
    put_weight(&b, "dense", PGY_F32, 2, (const int64_t[]){4, 5});
    put_weight(&b, "bias", PGY_F32, 1, (const int64_t[]){5});
    put_weight(&b, "added", PGY_F32, 1, (const int64_t[]){5});
    builder_attr_int(&b, builder_node(&b, "Gemm", "x sparse", "a"), "transB", 1);
    builder_node(&b, "Gemm", "a dense bias", "b");
    builder_node(&b, "Add", "b added", "c");
    builder_node(&b, "SomethingNew", "c added", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    return b;
}

static pgy_model *strip(pgy_model *m, const pgy_strip_options *o, size_t wanted)
{
    pgy_error err = {0};
    pgy_model *stripped = NULL;
    size_t count = 0;
    if (pgy_model_strip_weights(&stripped, &count, m, o, &err)) fail_msg("%s", err.text);
    assert_int_equal(count, wanted);
    pgy_model_destroy(m);
    return reread(stripped);
}

static void expect_mark(pgy_model *m, const char *name, const char *mark)
{
    const pgy_onnx_tensor *t = find(m, name);
    assert_string_equal(t->doc_string, mark);
    if (*mark) assert_int_equal(t->raw_data.size, 0);
}

static void test_weights__stripped_weights_are_empty_and_marked(void **state)
{
    (void)state;
    model_builder b = small_network();
    b.proto->doc_string = "mine";
    pgy_model *m = strip(builder_finish_bytes(&b), NULL, 4);
    expect_mark(m, "sparse", "TRT_WEIGHTLESS/SPARSE_2_4");
    expect_mark(m, "dense", "TRT_WEIGHTLESS/");
    expect_mark(m, "bias", "TRT_WEIGHTLESS/");
    expect_mark(m, "added", "TRT_WEIGHTLESS/");
    assert_string_equal(pgy_model_proto(m)->doc_string, "mine-TRT_WEIGHTLESS");
    assert_int_equal(find(m, "dense")->dim_count, 2);
    m = strip(m, NULL, 0);
    expect_mark(m, "sparse", "TRT_WEIGHTLESS/SPARSE_2_4");
    assert_string_equal(pgy_model_proto(m)->doc_string, "mine-TRT_WEIGHTLESS");
    pgy_model_destroy(m);
}

static void test_weights__excluded_weights_stay(void **state)
{
    (void)state;
    const char *const names[] = {"dense", "nobody"};
    const pgy_strip_options o = {.size = sizeof o, .exclude = names, .exclude_count = 2};
    model_builder b = small_network();
    pgy_model *m = strip(builder_finish_bytes(&b), &o, 3);
    expect_mark(m, "dense", "");
    assert_int_equal(find(m, "dense")->raw_data.size, 80);
    expect_mark(m, "bias", "TRT_WEIGHTLESS/");
    pgy_model_destroy(m);
}

/* Large enough weights of Gather and Slice; what Slice takes besides its data stays, and so does a
 * weight whose quantised form is read by two nodes. */
static void test_weights__only_weights_that_matter_are_stripped(void **state)
{
    (void)state;
    model_builder b = builder_start(17);
    const int64_t zero[] = {0};
    builder_input(&b, "i", PGY_I64, "N");
    put_weight(&b, "small", PGY_F32, 2, (const int64_t[]){10, 4});
    put_weight(&b, "large", PGY_F32, 2, (const int64_t[]){256, 4});
    put_weight(&b, "q", PGY_F32, 2, (const int64_t[]){4, 4});
    put_weight(&b, "q2", PGY_F32, 2, (const int64_t[]){4, 4});
    builder_floats(&b, "scale", "", NULL);
    builder_ints(&b, "start", "1", zero);
    builder_ints(&b, "end", "1", NULL);
    builder_node(&b, "Gather", "small i", "a");
    builder_node(&b, "Slice", "large start end", "s");
    builder_node(&b, "Add", "a s", "b");
    builder_node(&b, "QuantizeLinear", "q scale", "qq");
    builder_node(&b, "DequantizeLinear", "qq scale", "qd");
    builder_node(&b, "MatMul", "b qd", "c");
    builder_node(&b, "QuantizeLinear", "q2 scale", "qq2");
    builder_node(&b, "DequantizeLinear", "qq2 scale", "qd2");
    builder_node(&b, "MatMul", "c qd2", "d");
    builder_node(&b, "Add", "d qd2", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    pgy_model *m = strip(builder_finish_bytes(&b), NULL, 2);
    expect_mark(m, "large", "TRT_WEIGHTLESS/");
    expect_mark(m, "q", "TRT_WEIGHTLESS/");
    expect_mark(m, "q2", "");
    expect_mark(m, "small", "");
    expect_mark(m, "start", "");
    pgy_model_destroy(m);
}

static pgy_model *fill(pgy_model *m, const pgy_reconstruct_options *o)
{
    pgy_error err = {0};
    pgy_model *filled = NULL;
    size_t count = 0;
    if (pgy_model_reconstruct_weights(&filled, &count, m, o, &err)) fail_msg("%s", err.text);
    assert_int_equal(count, 4);
    pgy_model_destroy(m);
    return reread(filled);
}

/* The numbers are numpy.random.RandomState(seed + i).randn(...). */
static void test_weights__stripped_weights_are_filled_as_numpy_does(void **state)
{
    (void)state;
    static const float BIAS[] = {0x1.c9e38e0000000p+0f, 0x1.befc700000000p-2f,
                                 0x1.8b40ee0000000p-4f, -0x1.dd0ddc0000000p+0f,
                                 -0x1.1c0ba80000000p-2f};
    model_builder b = small_network();
    b.proto->doc_string = "mine";
    pgy_model *m = fill(strip(builder_finish_bytes(&b), NULL, 4), NULL);
    pgy_tensor *bias = floats_of(m, "bias"), *sparse = floats_of(m, "sparse");
    assert_memory_equal(pgy_tensor_data(bias), BIAS, sizeof BIAS);
    size_t zeros = 0;
    for (size_t i = 0; i < 16; i++) zeros += ((float *)pgy_tensor_data(sparse))[i] == 0;
    assert_int_equal(zeros, 8);
    expect_mark(m, "sparse", "");
    assert_string_equal(pgy_model_proto(m)->doc_string, "mine");
    pgy_tensor_release(sparse);
    pgy_tensor_release(bias);
    pgy_model_destroy(m);
}

static void test_weights__marks_stay_if_they_are_to(void **state)
{
    (void)state;
    const pgy_reconstruct_options o = {.size = sizeof o, .seed = 9, .keep_marks = true};
    model_builder b = small_network();
    pgy_model *m = fill(strip(builder_finish_bytes(&b), NULL, 4), &o);
    assert_string_equal(find(m, "sparse")->doc_string, "TRT_WEIGHTLESS/SPARSE_2_4");
    assert_string_equal(pgy_model_proto(m)->doc_string, "TRT_WEIGHTLESS");
    pgy_model_destroy(m);
}

static void expect_refused(pgy_model *m, pgy_status status, const char *text)
{
    pgy_error err = {0};
    pgy_model *out = NULL;
    assert_int_equal(pgy_model_reconstruct_weights(&out, NULL, m, NULL, &err), status);
    assert_null(out);
    if (!strstr(err.text, text)) fail_msg("'%s' lacks '%s'", err.text, text);
    pgy_model_destroy(m);
}

static pgy_model *marked(const char *mark, bool empty)
{
    model_builder b = small_network();
    pgy_onnx_tensor *t = (pgy_onnx_tensor *)find_in(b.graph, "dense");
    t->doc_string = mark;
    if (empty) t->raw_data = (pgy_bytes){0};
    return builder_finish_bytes(&b);
}

static void test_weights__marks_that_do_not_fit_are_errors(void **state)
{
    (void)state;
    expect_refused(marked("TRT_WEIGHTLESS/", false), PGY_E_FORMAT, "'dense' is marked");
    expect_refused(marked("TRT_WEIGHTLESS/DENSE", true), PGY_E_FORMAT, "'TRT_WEIGHTLESS/DENSE'");
    expect_refused(marked("a TRT_WEIGHTLESS", true), PGY_E_FORMAT, "'a TRT_WEIGHTLESS'");
    model_builder b = small_network();
    pgy_onnx_tensor *t = (pgy_onnx_tensor *)find_in(b.graph, "bias");
    t->doc_string = "TRT_WEIGHTLESS/SPARSE_2_4";
    t->raw_data = (pgy_bytes){0};
    expect_refused(builder_finish_bytes(&b), PGY_E_SHAPE, "'bias' is marked SPARSE_2_4");
    pgy_error err = {0};
    pgy_model *out = NULL, *m = marked("TRT_WEIGHTLESS/", true);
    assert_int_equal(pgy_model_prune(&out, m, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "weight-reconstruct"));
    pgy_model_destroy(m);
}

/* ---- Memory --------------------------------------------------------------------------------- */

enum { LARGE_MIB = 160, MOST_MIB = 40, PATH_SIZE = TEST_PATH_SIZE + 16 };

/* A model with one weight of LARGE_MIB of zeros, in a file of holes. */
static pgy_model *large_model(const char *folder)
{
    static pgy_onnx_string_entry entries[] = {{.key = "location", .value = "w"}};
    static pgy_onnx_string_entry *list[] = {&entries[0]};
    static const int64_t dims[] = {4096, LARGE_MIB * 64};
    static pgy_onnx_tensor weight = {.name = "w",
                                     .doc_string = "",
                                     .dims = dims,
                                     .dim_count = 2,
                                     .data_type = 1,
                                     .external_data = list,
                                     .external_data_count = 1,
                                     .data_location = 1};
    char path[PATH_SIZE];
    pgy_error err = {0};
    pgy_model *m = NULL;
    snprintf(path, sizeof path, "%s/w", folder);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(ftruncate(fileno(f), (off_t)LARGE_MIB << 20), 0);
    fclose(f);
    /* What is built has the folder of a model that it keeps. */
    model_builder empty = builder_start(17), b = builder_start(17);
    pgy_model *built = builder_finish(&empty);
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    if (pgy_model_save(built, path, NULL, &err)) fail_msg("%s", err.text);
    pgy_model_destroy(built);
    if (pgy_model_load(&m, path, NULL, &err)) fail_msg("%s", err.text);
    assert_int_equal(pgy_model_keep(b.model, m, &err), PGY_OK);
    pgy_model_destroy(m);
    builder_input(&b, "x", PGY_F32, "N, 4096");
    builder_floats(&b, "w", "1", NULL);
    builder_floats(&b, "c", "1", NULL);
    builder_node(&b, "Gemm", "x w", "g");
    builder_node(&b, "Mul", "g c", "y");
    builder_output(&b, "y", PGY_F32, NULL);
    ((pgy_onnx_tensor **)b.graph->initializers)[0] = &weight;
    return builder_finish(&b);
}

static pgy_status fold_model(pgy_model **out, pgy_model *m, pgy_error *err)
{
    pgy_graph *g = NULL;
    pgy_status st = pgy_graph_import(&g, m, err);
    if (!st) st = pgy_graph_fold_constants(g, NULL, NULL, err);
    if (!st && g->node_count != 1) st = pgy_error_set(err, PGY_E_INTERNAL, "nothing was folded");
    if (!st) st = pgy_graph_export(out, g, err);
    pgy_graph_destroy(g);
    return st;
}

static pgy_status halve_model(pgy_model **out, pgy_model *m, pgy_error *err)
{
    pgy_graph *g = NULL;
    pgy_status st = pgy_graph_import(&g, m, err);
    if (!st) st = pgy_graph_convert_half(g, NULL, err);
    if (!st) st = pgy_graph_export(out, g, err);
    pgy_graph_destroy(g);
    return st;
}

static pgy_status strip_model(pgy_model **out, pgy_model *m, pgy_error *err)
{
    return pgy_model_strip_weights(out, NULL, m, NULL, err);
}

static pgy_status refill_model(pgy_model **out, pgy_model *m, pgy_error *err)
{
    pgy_model *stripped = NULL;
    pgy_status st = strip_model(&stripped, m, err);
    if (!st) st = pgy_model_reconstruct_weights(out, NULL, stripped, NULL, err);
    pgy_model_destroy(stripped);
    return st;
}

static long peak_kib(void)
{
    struct rusage used;
    return getrusage(RUSAGE_SELF, &used) ? 0 : used.ru_maxrss;
}

/* In a process of its own, as a peak never falls. */
static int change_and_write(pgy_model *m,
                            pgy_status (*change)(pgy_model **, pgy_model *, pgy_error *))
{
    const long before = peak_kib();
    pgy_error err = {0};
    pgy_model *changed = NULL;
    pgy_model_save_options o = pgy_model_save_options_default();
    o.embed = true;
    pgy_status st = change(&changed, m, &err);
    if (!st) st = pgy_model_save(changed, "/dev/null", &o, &err);
    if (st) fprintf(stderr, "%s\n", err.text);
    const long grown = (peak_kib() - before) >> 10;
    if (grown > MOST_MIB) fprintf(stderr, "%ld MiB\n", grown);
    return st ? 1 : grown > MOST_MIB ? 2 : 0;
}

static void test_weights__changes_hold_parts_of_weights(void **state)
{
    (void)state;
    static pgy_status (*const CHANGES[])(pgy_model **, pgy_model *, pgy_error *) = {
        pgy_model_prune, strip_model, refill_model, fold_model, halve_model};
    char folder[TEST_PATH_SIZE], path[PATH_SIZE];
    test_path(folder, "weights_XXXXXX");
    assert_non_null(mkdtemp(folder));
    pgy_model *m = large_model(folder);
    for (size_t i = 0; i < sizeof CHANGES / sizeof *CHANGES; i++) {
        int status = -1;
        const pid_t child = fork();
        if (child == 0) _exit(change_and_write(m, CHANGES[i]));
        assert_true(child > 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        if (status) fail_msg("change %zu ends with %d", i, WEXITSTATUS(status));
    }
    pgy_model_destroy(m);
    snprintf(path, sizeof path, "%s/w", folder);
    remove(path);
    snprintf(path, sizeof path, "%s/m.onnx", folder);
    remove(path);
    rmdir(folder);
}

/* ---- Failures ------------------------------------------------------------------------------- */

static void test_weights__refused_allocations_are_errors(void **state)
{
    (void)state;
    pgy_status st = PGY_E_MEMORY;
    for (uint64_t n = 1; st; n++) {
        pgy_error err = {0};
        model_builder b = small_network();
        pgy_model *m = builder_finish_bytes(&b), *pruned = NULL, *stripped = NULL, *filled = NULL;
        const bool refuses = mem_fail_nth(n);
        st = pgy_model_prune(&pruned, m, &err);
        if (!st) st = pgy_model_strip_weights(&stripped, NULL, pruned, NULL, &err);
        if (!st) st = pgy_model_reconstruct_weights(&filled, NULL, stripped, NULL, &err);
        mem_fail_nth(0);
        if (st) assert_int_equal(st, PGY_E_MEMORY);
        pgy_model_destroy(filled);
        pgy_model_destroy(stripped);
        pgy_model_destroy(pruned);
        pgy_model_destroy(m);
        if (!refuses) skip();
    }
}
