/* SPDX-License-Identifier: Apache-2.0 */
/* Heatmaps and error plots: which files appear, under which names, and that they are what they say.
 */
#include "judging.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "compare/error_plot.h"
#include "compare/heatmap.h"

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

/* ---- What is in a picture ------------------------------------------------------------------- */

/* Is `xml` well-formed: every element closed by its own name, no bare markup in texts, no control
 * characters? */
static bool well_formed(const char *xml)
{
    char open[16][32];
    size_t depth = 0, seen = 0;
    for (const char *p = xml; *p;) {
        if (*p != '<') {
            if ((unsigned char)*p < ' ' && *p != '\n') return false;
            if (*p == '&' && !strchr(p, ';')) return false;
            p++;
            continue;
        }
        const char *end = strchr(p, '>'), *next = strchr(p + 1, '<');
        if (!end || (next && next < end)) return false;
        const char *name = p + (p[1] == '/' ? 2 : 1);
        size_t size = strcspn(name, " />\n");
        if (!size || size >= sizeof open[0]) return false;
        if (p[1] == '/') {
            if (!depth || strlen(open[--depth]) != size || memcmp(open[depth], name, size))
                return false;
        } else if (end[-1] != '/') {
            if (depth == sizeof open / sizeof open[0] || (!depth && seen++)) return false;
            memcpy(open[depth], name, size);
            open[depth++][size] = 0;
        }
        p = end + 1;
    }
    return !depth && seen == 1;
}

/* The next text of a class, or NULL; *from moves behind it. */
static bool next_text(char out[256], const char **from, const char *class)
{
    char start[64];
    snprintf(start, sizeof start, "<text class=\"%s\"", class);
    const char *p = strstr(*from, start);
    if (!p) return false;
    p = strchr(p, '>') + 1;
    size_t size = (size_t)(strchr(p, '<') - p);
    assert_in_range(size, 1, 255);
    memcpy(out, p, size);
    out[size] = 0;
    *from = p + size;
    return true;
}

static void assert_text(const char *svg, const char *class, const char *expected)
{
    char text[256];
    while (next_text(text, &svg, class))
        if (strstr(text, expected)) return;
    fail_msg("no %s with '%s'", class, expected);
}

static size_t count_texts(const char *svg, const char *class)
{
    char text[256];
    size_t n = 0;
    while (next_text(text, &svg, class)) n++;
    return n;
}

static heatmap errors_map(pgy_tensor **t, const double *values, size_t n, bool logarithmic)
{
    GOOD(pgy_tensor_create(t, PGY_F64, 1, (int64_t[]){(int64_t)n}, &judging_error));
    heatmap h = heatmap_of(*t, values, logarithmic);
    h.kind = logarithmic ? "Relative Error" : "Absolute Error";
    h.unit = "units";
    h.output = "a <b> & \"c\"\x1b";
    h.sides = "output0: r | a <b>, output1: s | z";
    return h;
}

/* Draws both scales; returns the logarithmic one's text, to be freed. */
static str check_heatmap(const double *values, size_t n)
{
    str svg = {0};
    for (int logarithmic = 0; logarithmic < 2; logarithmic++) {
        pgy_tensor *t = NULL;
        heatmap h = errors_map(&t, values, n, logarithmic);
        assert_int_equal(heatmap_figures(&h), 1);
        str_deinit(&svg);
        svg = (str){0};
        GOOD(heatmap_draw(&svg, &h, 0, &judging_error));
        const char *text = str_text(&svg);
        assert_true(well_formed(text));
        assert_text(text, "title", h.kind);
        assert_text(text, "title", "a &lt;b&gt; &amp; &quot;c&quot;\\x1b");
        assert_text(text, "sides", "output1: s");
        assert_text(text, "axis", "Down: ");
        assert_text(text, "axis", h.scale.logarithmic ? "(units, log scale)" : "(units)");
        assert_text(text, "coordinates", "(0,0:1,0:");
        char ticks[8][256];
        size_t count = 0;
        for (const char *p = text; next_text(ticks[count], &p, "tick"); count++) {
            for (size_t i = 0; i < count; i++) assert_string_not_equal(ticks[i], ticks[count]);
            if (h.scale.logarithmic) assert_true(strtod(ticks[count], NULL) > 0);
        }
        assert_in_range(count, 1, 5);
        pgy_tensor_release(t);
    }
    return svg;
}

static void test_plots__heatmaps_of_any_errors(void **state)
{
    (void)state;
    static const double DATA[][4] = {{0, 0, 0, 0},
                                     {3, 3, 3, 3},
                                     {0, 1e-9, 1e-3, 1},
                                     {0, 0, 0, 7},
                                     {NAN, NAN, NAN, NAN},
                                     {4.9406564584124654e-324, 0, 1e-310, 1e-320},
                                     {1, 1 + 1e-15, 1 + 2e-15, 1 + 3e-15},
                                     {1.7e308, 1e308, 0, 1}};
    str svg = {0};
    for (size_t i = 0; i < sizeof DATA / sizeof DATA[0]; i++) {
        svg = check_heatmap(DATA[i], 4);
        assert_int_equal(count_texts(str_text(&svg), "swatch") != 0, i != 1 && i != 6 && i != 0);
        str_deinit(&svg);
    }
    svg = check_heatmap((double[]){0.5}, 1);
    str_deinit(&svg);
    svg = check_heatmap((double[]){0, NAN, INFINITY, 0.25}, 4);
    assert_text(str_text(&svg), "swatch", "0 (equal)");
    assert_text(str_text(&svg), "swatch", "NaN");
    assert_text(str_text(&svg), "swatch", "infinite");
    str_deinit(&svg);
}

/* Are the images equal, whatever the texts say? */
static bool same_image(const double *a, const double *b)
{
    str x = check_heatmap(a, 4), y = check_heatmap(b, 4);
    const char *from_x = strstr(str_text(&x), "<image"), *from_y = strstr(str_text(&y), "<image");
    size_t size = strcspn(from_x, ">");
    bool same = size == strcspn(from_y, ">") && !memcmp(from_x, from_y, size);
    str_deinit(&x);
    str_deinit(&y);
    return same;
}

static void test_plots__zero_nan_and_infinity_have_own_colours(void **state)
{
    (void)state;
    const double plain[] = {1, 2, 2, 1};
    assert_true(same_image(plain, plain));
    assert_false(same_image(plain, (double[]){1, 2, INFINITY, 1}));
    assert_false(same_image(plain, (double[]){1, 2, 2, NAN}));
    assert_false(same_image(plain, (double[]){1, 2, 2, 0}));
}

/* More elements than pixels: small files, and no element that a pixel hides. */
static void test_plots__heatmap_of_a_million_errors(void **state)
{
    (void)state;
    const size_t n = 1000000;
    double *values = mem_calloc(n, sizeof *values);
    str good, bad;
    assert_non_null(values);
    for (size_t i = 0; i < n; i++) values[i] = 1;
    values[0] = 0.5;
    values[n - 1] = 2;
    good = check_heatmap(values, n);
    assert_in_range(good.size, 1, 200000);
    assert_text(str_text(&good), "axis", "A pixel shows the worst of up to 1 x 521 elements");
    values[n / 2] = 1.9;
    bad = check_heatmap(values, n);
    assert_string_not_equal(str_text(&good), str_text(&bad));
    str_deinit(&good);
    str_deinit(&bad);
    mem_free(values);
}

static size_t blue_pixels(const picture *p, size_t from, size_t to)
{
    size_t n = 0;
    for (size_t i = from * p->width; i < to * p->width; i++)
        n += p->rgb[3 * i] == 0x1f && p->rgb[3 * i + 1] == 0x77 && p->rgb[3 * i + 2] == 0xb4;
    return n;
}

/* Points of both panels; a disc of radius 4 has 61 pixels. */
static void assert_points(const double *x, const double *absolute, const double *relative, size_t n,
                          size_t most, bool upper, bool lower)
{
    picture canvas = {0};
    error_plot p = {{"r", "s"}, {"out", "o\xc3\xbct\x1b"}, x, absolute, relative, n};
    GOOD(error_plot_draw(&canvas, &p, &judging_error));
    size_t above = blue_pixels(&canvas, 0, canvas.height / 2),
           below = blue_pixels(&canvas, canvas.height / 2, canvas.height);
    assert_true(upper ? above >= 45 : !above);
    assert_true(lower ? below >= 45 : !below);
    if (most) assert_true(above <= 64 * most && below <= 64 * most);
    picture_deinit(&canvas);
}

static void test_plots__points_can_be_seen(void **state)
{
    (void)state;
    static const double TINY = 4.9406564584124654e-324;
    double zero[3] = {0}, one[] = {1, 1, 1}, nan[] = {NAN, INFINITY, NAN};
    double tiny[] = {TINY, 2 * TINY, 0}, rising[] = {1e-9, 1e-3, 10}, huge[] = {1.7e308, 1e308, 1};
    assert_points(one, zero, zero, 3, 3, true, true);
    assert_points(zero, zero, zero, 1, 1, true, true);
    assert_points(one, one, one, 3, 3, true, true);
    assert_points(rising, nan, nan, 3, 3, false, false);
    assert_points(nan, one, one, 3, 3, false, false);
    assert_points(tiny, tiny, tiny, 3, 3, true, true);
    assert_points(huge, huge, huge, 3, 3, true, true);
    assert_points(huge, rising, nan, 3, 3, true, false);
    const size_t n = 1000000;
    double *many = mem_calloc(n, sizeof *many);
    assert_non_null(many);
    for (size_t i = 0; i < n; i++) many[i] = (double)i * 1e-6;
    assert_points(many, many, many, n, 0, true, true);
    mem_free(many);
}

static void test_plots__unwritable_folder_is_an_error(void **state)
{
    (void)state;
    float a[] = {1, 2};
    pgy_iteration x = judging_iteration("a");
    pgy_compare *c = NULL;
    pgy_verdicts *v = NULL;
    compare_gaps gaps = {0};
    judging_add(&x, "o", PGY_F32, a, 1, (int64_t[]){2});
    pgy_compare_options o = pgy_compare_options_default(PGY_COMPARE_SIMPLE);
    o.heatmap_dir = "/dev/null/plots";
    GOOD(pgy_compare_create(&c, &o, &judging_error));
    GOOD(verdicts_create(&v, &judging_error));
    assert_int_equal(compare_iteration(v, &gaps, c, &x, &x, false, &judging_error), PGY_E_IO);
    assert_non_null(strstr(judging_error.text, "/dev/null/plots"));
    verdicts_destroy(v);
    pgy_compare_destroy(c);
    pgy_tensor_map_destroy(x.outputs);
}
