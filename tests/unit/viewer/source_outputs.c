/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "compare/stats.h"
#include "sources_support.h"
#include "viewer/sources/output_pair.h"

static void open_both(pgy_page *p)
{
    support_page(p, DATA "net.onnx");
    support_add_good(p, "outputs", DATA "outputs_good.json");
    assert_false(p->results.is_judged); /* one runner: nothing to compare */
    assert_int_equal(p->results.table_count, 0);
    support_add_good(p, "outputs", DATA "outputs_wrong.json");
}

/* The quantities are those of the file of verdicts that `run` wrote for the same outputs, bit by
 * bit. */
static void test_source_outputs__errors_are_those_of_run(void **state)
{
    (void)state;
    static const char *const IDS[] = {"maxabs", "meanabs", "maxrel", "cosine", "snr", "passed"};
    pgy_page mine, theirs;
    open_both(&mine);
    support_page(&theirs, DATA "net.onnx");
    support_add_good(&theirs, "accuracy", DATA "accuracy.json");
    for (size_t i = 0; i < sizeof IDS / sizeof *IDS; i++) {
        size_t measured = 0;
        for (uint32_t at = 0; at < mine.graphs[0]->tensor_count; at++) {
            assert_int_equal(is_measured(&mine, IDS[i], at), is_measured(&theirs, IDS[i], at));
            if (!is_measured(&mine, IDS[i], at)) continue;
            measured++;
            assert_true(value_at(&mine, IDS[i], at) == value_at(&theirs, IDS[i], at));
        }
        assert_int_equal(measured, 13);
    }
    assert_true(value_at(&mine, "beyond", tensor_at(&mine, "m2")) == 12.5); /* 2 of 16 */
    assert_true(value_at(&mine, "beyond", tensor_at(&mine, "y")) == 100);
    assert_true(value_at(&mine, "beyond", tensor_at(&mine, "r1")) == 0);
    assert_int_equal(mark_count(&mine, VIEW_MARK_FAIL), 7);
    assert_non_null(
        mark_at(&mine, VIEW_MARK_FIRST, VIEW_OF_NODE, node_at(&mine, "/layer.2/matmul")));
    assert_false(mine.results.passed);
    assert_string_equal(summary_of(&mine, "Outputs", "runner A"),
                        "opref-runner-N0, outputs_good.json");
    assert_string_equal(summary_of(&mine, "Outputs", "runner B"),
                        "opref-runner-N0, outputs_wrong.json");
    /* The verdicts of the run come on top: same tensors, same rows. */
    support_add_good(&mine, "accuracy", DATA "accuracy.json");
    assert_int_equal(table_of(&mine, "accuracy")->row_count, 13);
    assert_int_equal(mark_count(&mine, VIEW_MARK_FAIL), 7);
    support_close(&mine);
    support_close(&theirs);
}

/* The statistics are the line that `run` prints, and four bins together are one of its ten. */
static void test_source_outputs__statistics_are_those_of_run(void **state)
{
    (void)state;
    pgy_page p;
    open_both(&p);
    assert_int_equal(p.results.stats_count, 13);
    const view_stats *s = view_stats_find(&p.results, tensor_at(&p, "m2"));
    assert_non_null(s);
    pgy_results *good = NULL;
    assert_int_equal(pgy_results_load(&good, DATA "outputs_good.json", NULL), PGY_OK);
    const pgy_tensor *m2 = pgy_tensor_map_find(pgy_results_at(good, 0, 0)->outputs, "m2");
    char *line = NULL, mine[200];
    assert_int_equal(pgy_statistics_text(&line, pgy_tensor_view(m2), NULL), PGY_OK);
    snprintf(mine, sizeof mine, "mean=%.5g, std-dev=%.5g, ", s->side[0].mean, s->side[0].std);
    assert_int_equal(strncmp(line, mine, strlen(mine)), 0);
    snprintf(mine, sizeof mine, ", max=%.5g at ", s->side[0].max);
    assert_non_null(strstr(line, mine));
    snprintf(mine, sizeof mine, ", min=%.5g at ", s->side[0].min);
    assert_non_null(strstr(line, mine));
    pgy_text_free(line);

    char *histogram = NULL;
    assert_int_equal(pgy_histogram_text(&histogram, pgy_tensor_view(m2), s->low, s->high, NULL),
                     PGY_OK);
    const char *row = strstr(histogram, ") | ");
    uint64_t total = 0;
    for (int ten = 0; ten < 10; ten++) {
        uint64_t sum = 0;
        for (int i = 0; i < 4; i++) sum += s->bins[0][ten * 4 + i];
        assert_non_null(row);
        assert_int_equal(strtoull(row + 4, NULL, 10), sum);
        total += sum;
        row = strstr(row + 4, ") | ");
    }
    assert_int_equal(total, 16);
    pgy_text_free(histogram);
    pgy_results_destroy(good);
    assert_string_equal(s->side[1].shape, "2x8");
    assert_string_equal(s->side[1].dtype, "float32");
    assert_int_equal(s->side[0].count, 16);
    support_close(&p);
}

static void test_source_outputs__differences_worst_elements_and_curve(void **state)
{
    (void)state;
    pgy_page p;
    open_both(&p);
    const view_stats *s = view_stats_find(&p.results, tensor_at(&p, "m2"));
    assert_non_null(s);
    /* Printed by run: 14 equal elements, 0.14164591 at [0, 7], 0.23353148 at [1, 7]. */
    assert_int_equal(s->worst_count, 2);
    assert_string_equal(s->worst[0].index, "1, 7");
    assert_float_equal(fabs(s->worst[0].a - s->worst[0].b), 0.23353148, 1e-8);
    assert_string_equal(s->worst[1].index, "0, 7");
    assert_float_equal(fabs(s->worst[1].a - s->worst[1].b), 0.14164591, 1e-8);
    assert_int_equal(s->difference[0], 14);
    assert_int_equal(s->difference[VIEW_BINS - 1], 1);
    assert_true(s->difference_low == 0);
    assert_int_equal(s->curve_count, VIEW_CURVE);
    assert_true(s->curve[VIEW_CURVE - 1].share == 0);
    assert_true(s->curve[0].share == 0.125);
    for (uint32_t i = 1; i < VIEW_CURVE; i++) {
        assert_true(s->curve[i].tolerance > s->curve[i - 1].tolerance);
        assert_true(s->curve[i].share <= s->curve[i - 1].share);
        const double expected = s->curve[i].tolerance < 0.14164   ? 0.125
                                : s->curve[i].tolerance < 0.23353 ? 0.0625
                                                                  : 0;
        assert_true(s->curve[i].share == expected);
    }
    const view_stats *same = view_stats_find(&p.results, tensor_at(&p, "m1"));
    assert_int_equal(same->worst_count, 0);
    assert_int_equal(same->curve_count, 0);
    assert_null(s->plane[0]); /* not asked for */
    support_close(&p);
}

static void test_source_outputs__values_of_small_tensors_are_kept(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    p.options.embed_values = 64; /* 16 floats */
    support_add_good(&p, "outputs", DATA "outputs_good.json");
    support_add_good(&p, "outputs", DATA "outputs_wrong.json");
    const view_stats *s = view_stats_find(&p.results, tensor_at(&p, "m2"));
    assert_non_null(s->plane[0]);
    assert_non_null(s->plane[1]);
    assert_int_equal(s->plane_rank, 2);
    assert_int_equal(s->plane_shape[1], 8);
    assert_float_equal(fabs(s->plane[0][15] - s->plane[1][15]), 0.23353148, 1e-8);
    assert_true(s->plane[0][15] == s->worst[0].a && s->plane[1][15] == s->worst[0].b);
    support_close(&p);
    support_page(&p, DATA "net.onnx");
    p.options.embed_values = 63;
    support_add_good(&p, "outputs", DATA "outputs_good.json");
    assert_null(view_stats_find(&p.results, tensor_at(&p, "m2"))->plane[0]);
    support_close(&p);
}

static void test_source_outputs__health_of_each_tensor(void **state)
{
    (void)state;
    static const char *const WANTED[][2] = {{"not_a_number", "nan"},    {"infinite", "inf"},
                                            {"zeros", "zero"},          {"constants", "constant"},
                                            {"saturated", "saturated"}, {"normal", "normal"}};
    pgy_page p;
    support_page(&p, DATA "states.onnx");
    support_add_good(&p, "outputs", DATA "outputs_states.json");
    for (size_t i = 0; i < 6; i++)
        assert_string_equal(category_at(&p, "state", tensor_at(&p, WANTED[i][0])), WANTED[i][1]);
    assert_string_equal(mark_at(&p, VIEW_MARK_NAN, VIEW_OF_TENSOR, tensor_at(&p, "not_a_number")),
                        "opref-runner-N0: 4 of 4 elements are NaN");
    assert_non_null(mark_at(&p, VIEW_MARK_INF, VIEW_OF_TENSOR, tensor_at(&p, "infinite")));
    assert_int_equal(mark_count(&p, VIEW_MARK_NAN) + mark_count(&p, VIEW_MARK_INF), 2);
    const view_stats *s = view_stats_find(&p.results, tensor_at(&p, "not_a_number"));
    assert_int_equal(s->side[0].nan, 4);
    assert_true(s->low > s->high); /* no finite value: no histogram */
    assert_null(s->side[1].runner);
    assert_int_equal(view_stats_find(&p.results, tensor_at(&p, "zeros"))->side[0].zeros, 4);
    support_close(&p);
}

static void test_source_outputs__shapes_of_the_run_and_contradictions(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    view_tensor *t = p.graphs[0]->tensors;
    t[tensor_at(&p, "m0")].shape = "2x8";
    t[tensor_at(&p, "a0")].shape = "batchx8";
    t[tensor_at(&p, "r0")].shape = "3x8";
    t[tensor_at(&p, "m1")].shape = "2x8";
    t[tensor_at(&p, "m1")].dtype = "int32";
    t[tensor_at(&p, "a1")].shape = "2x8";
    t[tensor_at(&p, "a1")].dtype = "bfloat16"; /* files of outputs have no such type */
    support_add_good(&p, "outputs", DATA "outputs_good.json");
    assert_string_equal(t[tensor_at(&p, "m0")].seen, "2x8 float32");
    assert_int_equal(mark_count(&p, VIEW_MARK_CONTRADICTION), 2);
    assert_string_equal(mark_at(&p, VIEW_MARK_CONTRADICTION, VIEW_OF_TENSOR, tensor_at(&p, "r0")),
                        "a run saw 2x8 float32; the graph says 3x8 float32");
    assert_non_null(mark_at(&p, VIEW_MARK_CONTRADICTION, VIEW_OF_TENSOR, tensor_at(&p, "m1")));
    support_close(&p);
}

static void test_source_outputs__shapes_with_names(void **state)
{
    (void)state;
    static const struct {
        const char *shape;
        bool fits;
    } CASES[] = {{"2x8", true},  {"?x8", true},   {"?x?", true},   {"maxlenx8", true},
                 {"xxx8", true}, {"2x?", true},   {"axbx8", true}, {"2n x8", true},
                 {"8x2", false}, {"2x80", false}, {"2", false},    {"2x8x1", false},
                 {"", false},    {"12x8", false}, {"lenx9", false}};
    pgy_tensor *t = NULL, *scalar = NULL;
    assert_int_equal(pgy_tensor_create(&t, PGY_F32, 2, (int64_t[]){2, 8}, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_create(&scalar, PGY_F32, 0, NULL, NULL), PGY_OK);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++)
        if (shape_may_be(CASES[i].shape, t) != CASES[i].fits) fail_msg("'%s'", CASES[i].shape);
    assert_true(shape_may_be("", scalar));
    assert_false(shape_may_be("1", scalar));
    pgy_tensor_release(t);
    pgy_tensor_release(scalar);
}

/* Saves outputs of two runners with two iterations; the second one has the larger error. */
static void save_two_runners(const char *path)
{
    static const float VALUES[2][2][2] = {{{1, 2}, {3, 4}}, {{1, 2.5f}, {3, 9}}};
    pgy_results *r = NULL;
    assert_int_equal(pgy_results_create(&r, NULL), PGY_OK);
    for (size_t runner = 0; runner < 3; runner++) {
        assert_int_equal(pgy_results_add_runner(r,
                                                runner == 0   ? "good"
                                                : runner == 1 ? "bad"
                                                              : "third",
                                                NULL, NULL),
                         PGY_OK);
        for (size_t it = 0; it < 2; it++) {
            pgy_tensor_map *map = NULL;
            pgy_tensor *t = NULL;
            assert_int_equal(pgy_tensor_map_create(&map, NULL), PGY_OK);
            assert_int_equal(pgy_tensor_create(&t, PGY_F32, 1, (int64_t[]){2}, NULL), PGY_OK);
            memcpy(pgy_tensor_data(t), VALUES[runner ? 1 : 0][it], 8);
            assert_int_equal(pgy_tensor_map_set(map, "y", t, NULL), PGY_OK);
            if (runner == 1) assert_int_equal(pgy_tensor_map_set(map, "m0", t, NULL), PGY_OK);
            assert_int_equal(pgy_results_add(r, runner, map, 0.001, NULL), PGY_OK);
            pgy_tensor_release(t);
            pgy_tensor_map_destroy(map);
        }
    }
    assert_int_equal(pgy_results_save(r, path, NULL), PGY_OK);
    pgy_results_destroy(r);
}

static void test_source_outputs__two_runners_in_one_file(void **state)
{
    (void)state;
    char *path = NULL;
    pgy_page p;
    assert_int_equal(file_temp_path(&path, ".json", NULL), PGY_OK);
    save_two_runners(path);
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "outputs", path);
    const uint32_t y = tensor_at(&p, "y");
    assert_true(value_at(&p, "maxabs", y) == 5);
    const view_stats *s = view_stats_find(&p.results, y);
    assert_string_equal(s->side[0].runner, "good");
    assert_string_equal(s->side[1].runner, "bad");
    assert_true(s->worst[0].a == 4 && s->worst[0].b == 9); /* of the worst iteration */
    assert_string_equal(summary_of(&p, "Outputs", "iterations"), "2");
    const view_stats *alone = view_stats_find(&p.results, tensor_at(&p, "m0"));
    assert_null(alone->side[0].runner);
    assert_non_null(alone->side[1].runner);
    assert_int_equal(p.warnings.count, 2); /* a third runner; an output that one runner has alone */
    assert_non_null(strstr(p.warnings.items[0], "1 more runner(s) are not shown"));
    support_close(&p);
    file_temp_release(path);
}

static void test_source_outputs__another_model_is_refused(void **state)
{
    (void)state;
    pgy_page p;
    pgy_error err = {0};
    support_page(&p, DATA "net.onnx");
    assert_int_equal(support_add(&p, "outputs", DATA "outputs_states.json", &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "it is of another model"));
    support_close(&p);
}

/* An archive of NumPy with one array for each name. */
static char *save_arrays(const char *const *names, size_t count, float value)
{
    char *path = NULL;
    pgy_tensor_map *map = NULL;
    pgy_error err = {0};
    const int64_t shape[] = {2, 4};
    assert_int_equal(file_temp_path(&path, ".npz", &err), PGY_OK);
    assert_int_equal(pgy_tensor_map_create(&map, &err), PGY_OK);
    for (size_t i = 0; i < count; i++) {
        pgy_tensor *t = NULL;
        assert_int_equal(pgy_tensor_create(&t, PGY_F32, 2, shape, &err), PGY_OK);
        for (int k = 0; k < 8; k++) ((float *)pgy_tensor_data(t))[k] = value + (float)k;
        assert_int_equal(pgy_tensor_map_set(map, names[i], t, &err), PGY_OK);
        pgy_tensor_release(t);
    }
    if (pgy_npz_save(path, map, &err)) fail_msg("%s", err.text);
    pgy_tensor_map_destroy(map);
    return path;
}

static void test_source_outputs__archives_of_arrays_are_two_runners(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"m1", "m2"};
    char *a = save_arrays(NAMES, 2, 1), *b = save_arrays(NAMES, 1, 1.5F);
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    support_add_good(&p, "outputs", a);
    assert_false(p.results.is_judged);
    support_add_good(&p, "outputs", b);
    assert_true(value_at(&p, "maxabs", tensor_at(&p, "m1")) == 0.5);
    assert_false(is_measured(&p, "maxabs", tensor_at(&p, "m2")));
    assert_int_equal(p.warnings.count, 1); /* m2 is of one runner alone */
    assert_string_equal(p.results.stats[0]->side[0].runner, path_basename(a));
    support_close(&p);
    file_temp_release(a);
    file_temp_release(b);
}

static void test_source_outputs__damaged_archives_are_errors(void **state)
{
    (void)state;
    static const char *const NAMES[] = {"nothing"};
    char *path = save_arrays(NAMES, 1, 1);
    str bytes = {0};
    pgy_error err = {0};
    pgy_page p;
    support_page(&p, DATA "net.onnx");
    assert_int_equal(support_add(&p, "outputs", path, &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "it is of another model ('nothing')"));
    assert_int_equal(file_read(&bytes, path, &err), PGY_OK);
    for (size_t cut = 4; cut < bytes.size; cut += 7) {
        assert_int_equal(file_write_all(path, bytes.data, cut, &err), PGY_OK);
        assert_int_not_equal(support_add(&p, "outputs", path, &err), PGY_OK);
    }
    str_deinit(&bytes);
    support_close(&p);
    file_temp_release(path);
}
