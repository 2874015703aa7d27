/* SPDX-License-Identifier: Apache-2.0 */
/* Heatmaps and error plots: which files appear, under which names, and that they are what they say.
 */
#include "judging.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

static void assert_file(const char *dir, const char *name, const char *start, size_t size)
{
    str content = {0};
    char *path = path_join(dir, name);
    GOOD(file_read(&content, path, &judging_error));
    assert_true(content.size > size);
    assert_memory_equal(content.data, start, size);
    assert_int_equal(unlink(path), 0);
    str_deinit(&content);
    mem_free(path);
}

static void draw(const char *dir, const float *a, const float *b, size_t rank, const int64_t *shape)
{
    pgy_iteration x = judging_iteration("a"), y = judging_iteration("b");
    judging_add(&x, "net/out", PGY_F32, a, rank, shape);
    judging_add(&y, "net/out", PGY_F32, b, rank, shape);
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    o.heatmap_dir = o.error_plot_dir = dir;
    verdicts_destroy(judging_compare(&o, &x, &y, false, NULL));
    pgy_tensor_map_destroy(x.outputs);
    pgy_tensor_map_destroy(y.outputs);
}

static void test_plots__files(void **state)
{
    (void)state;
    char dir[] = "plots-test-XXXXXX";
    static const char SVG[] = "<svg xmlns=\"http://www.w3.org/2000/svg\"",
                      PNG[] = "\x89PNG\r\n\x1a\n";
    float a[24], b[24];
    for (int i = 0; i < 24; i++) {
        a[i] = (float)i;
        b[i] = (float)(i + i % 5);
    }
    assert_non_null(mkdtemp(dir));
    judging_listen(PGY_LOG_INFO);
    draw(dir, a, b, 4, (int64_t[]){1, 2, 3, 4});
    assert_logged("Building heatmaps for Absolute Error | net/out. This may take a while...");
    assert_file(dir, "Absolute Error | net_out: (0,0,0:3,0:4) to (0,1,0:3,0:4).svg", SVG,
                sizeof SVG - 1);
    assert_file(dir, "Relative Error | net_out (Log Scale): (0,0,0:3,0:4) to (0,1,0:3,0:4).svg",
                SVG, sizeof SVG - 1);
    assert_file(dir, "error_metrics_net_out.png", PNG, 8);
    draw(dir, a, a, 1, (int64_t[]){24});
    assert_file(dir, "Absolute Error | net_out: (0,0:1,0:24) to (0,0:1,0:24).svg", SVG,
                sizeof SVG - 1);
    assert_file(dir, "Relative Error | net_out: (0,0:1,0:24) to (0,0:1,0:24).svg", SVG,
                sizeof SVG - 1);
    assert_file(dir, "error_metrics_net_out.png", PNG, 8);
    draw(dir, a, a, 1, (int64_t[]){0});
    assert_int_equal(rmdir(dir), 0); /* nothing is drawn of nothing */
    judging_stop();
}

/* More images than fit one figure. */
static void test_plots__several_figures(void **state)
{
    (void)state;
    char dir[] = "plots-test-XXXXXX";
    static float a[99 * 2], b[99 * 2];
    assert_non_null(mkdtemp(dir));
    b[0] = 1;
    draw(dir, a, b, 3, (int64_t[]){99, 1, 2});
    assert_file(dir, "Absolute Error | net_out: (0,0:1,0:2) to (97,0:1,0:2).svg", "<svg", 4);
    assert_file(dir, "Absolute Error | net_out: (98,0:1,0:2) to (98,0:1,0:2).svg", "<svg", 4);
    assert_file(dir, "Relative Error | net_out (Log Scale): (0,0:1,0:2) to (97,0:1,0:2).svg",
                "<svg", 4);
    assert_file(dir, "Relative Error | net_out (Log Scale): (98,0:1,0:2) to (98,0:1,0:2).svg",
                "<svg", 4);
    assert_file(dir, "error_metrics_net_out.png", "\x89PNG", 4);
    assert_int_equal(rmdir(dir), 0);
}

static void test_plots__unwritable_folder_is_an_error(void **state)
{
    (void)state;
    float a[] = {1, 2};
    pgy_iteration x = judging_iteration("a");
    pgy_compare *c = NULL;
    pgy_verdicts *v = NULL;
    size_t unmatched = 0;
    judging_add(&x, "o", PGY_F32, a, 1, (int64_t[]){2});
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    o.heatmap_dir = "/dev/null/plots";
    GOOD(pgy_compare_create(&c, &o, &judging_error));
    GOOD(verdicts_create(&v, &judging_error));
    assert_int_equal(compare_iteration(v, &unmatched, c, &x, &x, false, &judging_error), PGY_E_IO);
    assert_non_null(strstr(judging_error.text, "/dev/null/plots"));
    verdicts_destroy(v);
    pgy_compare_destroy(c);
    pgy_tensor_map_destroy(x.outputs);
}
