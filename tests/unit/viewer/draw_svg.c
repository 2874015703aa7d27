/* SPDX-License-Identifier: Apache-2.0 */
/* Drawings as SVG: what stands in them, hostile names, and that states are told apart by shape. */
#include "drawing_case.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"

static char *svg_of(drawing_case *c, const view_draw_options *options)
{
    picture_list list;
    str out = {0};
    case_draw(c, &list, options);
    GOOD(c, svg_write(&out, &list, options->theme, 1, &c->err));
    picture_list_deinit(&list);
    return str_take(&out);
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;
    for (const char *p = text; (p = strstr(p, word)); p += strlen(word)) count++;
    return count;
}

/* The text of one group: from its first line to the end of the document's next card. */
static char *group_of(const char *svg, const char *class, uint32_t ref)
{
    char head[64];
    snprintf(head, sizeof head, "<g class=\"%s\" data-ref=\"%u\">", class, (unsigned)ref);
    const char *begin = strstr(svg, head);
    if (!begin) fail_msg("no %s", head);
    const char *end = strstr(begin + strlen(head), "\" data-ref=");
    return mem_strndup(begin, end ? (size_t)(end - begin) : strlen(begin));
}

static void assert_in_group(const char *svg, const char *class, uint32_t ref, const char *wanted)
{
    char *group = group_of(svg, class, ref);
    if (!strstr(group, wanted)) fail_msg("'%s' is not in: %s", wanted, group);
    mem_free(group);
}

/* ---- Content -------------------------------------------------------------------------------- */

static void test_draw_svg__cards(void **state)
{
    (void)state;
    drawing_case c;
    case_begin(&c);
    case_errors(&c);
    char *svg = svg_of(&c, &(view_draw_options){0});
    assert_in_group(svg, "card", N_CONV, ">Conv</text>");
    assert_in_group(svg, "card", N_CONV, ">1.25e-6</text>");
    assert_in_group(svg, "card", N_CONV, "fill=\"#3b64a8\""); /* stripe of layers */
    /* The name is shortened in the middle on the card, and whole in its title. */
    assert_in_group(svg, "card", N_CONV, "layer/conv</text>");
    assert_in_group(svg, "card", N_CONV, "…");
    assert_in_group(svg, "card", N_CONV,
                    "<title>Conv /stem/a_rather_long_name_of_a_layer/conv&#10;");
    assert_in_group(svg, "card", N_ADD, "fill=\"#ffe94e\""); /* the largest error */
    assert_in_group(svg, "card", N_ADD, "&#10;fails: tolerance 1e-5");
    assert_in_group(svg, "card", N_ADD, "<title>first to fail</title>");
    assert_in_group(svg, "card", N_IMAGE, "rx=\"20\"");
    assert_in_group(svg, "card folded", C_REPEAT, ">×24</text>");
    assert_in_group(svg, "card folded", C_REPEAT, ">layer.0 to layer.23</text>");
    assert_in_group(svg, "card folded", C_REPEAT, ">2e-4</text>"); /* the larger of two */
    assert_in_group(svg, "card folded", C_CALL, ">If</text>");
    assert_in_group(svg, "header", C_STEM, ">stem</text>");
    assert_in_group(svg, "header", C_FUSED, ">0.0371</text>"); /* one value for the layer */
    mem_free(svg);
    case_end(&c);
}

static void test_draw_svg__edges(void **state)
{
    (void)state;
    drawing_case c;
    case_begin(&c);
    char *svg = svg_of(&c, &(view_draw_options){.hide_legend = true});
    assert_int_equal(count_of(svg, "class=\"s-edge line"), 8);
    assert_int_equal(count_of(svg, "<path d=\"M160 "), 0);      /* moved by the margin */
    assert_int_equal(count_of(svg, "Z\" class=\"f-edge\""), 8); /* an arrowhead each */
    /* A line that ends at a frame has none; one that begins there has no label. */
    c.lines[0].ends_there = false;
    char *ends = svg_of(&c, &(view_draw_options){.hide_legend = true});
    assert_int_equal(count_of(ends, "Z\" class=\"f-edge\""), 7);
    c.lines[0].points[1] = 60;
    mem_free(ends);
    ends = svg_of(&c, &(view_draw_options){.hide_legend = true});
    assert_int_equal(count_of(ends, ">1×3×224×224 f32</text>"), 0);
    mem_free(ends);
    assert_int_equal(count_of(svg, "class=\"s-edge line dashed\""), 1);
    assert_int_equal(count_of(svg, ">1×3×224×224 f32</text>"), 1);
    assert_int_equal(count_of(svg, ">1×64×112×112 f32</text>"), 1); /* once, not for each reader */
    assert_int_equal(count_of(svg, ">1×64×112×112 f32 (file: 1×64×56×56)</text>"), 1);
    assert_int_equal(count_of(svg, ">run: 1x1000 float32</text>"), 1);
    assert_int_equal(count_of(svg, ">Nx1000 f32</text>"), 1);
    mem_free(svg);
    case_end(&c);
}

static void test_draw_svg__legend(void **state)
{
    (void)state;
    drawing_case c;
    case_begin(&c);
    case_errors(&c);
    char *svg = svg_of(&c, &(view_draw_options){0});
    static const char *const WANTED[] = {">small.onnx<",
                                         ">largest absolute error<",
                                         ">1.25e-6<",
                                         ">2.15e-4<",
                                         ">0.0371<",
                                         ">logarithmic<",
                                         ">exactly 0<",
                                         ">NaN or infinite<",
                                         ">not measured<",
                                         ">fails<",
                                         ">first to fail<",
                                         ">contradiction<",
                                         ">from outside the subgraph<"};
    for (size_t i = 0; i < LENGTH(WANTED); i++)
        if (!strstr(svg, WANTED[i])) fail_msg("the legend lacks %s", WANTED[i]);
    assert_null(strstr(svg, ">unsupported<")); /* only what is drawn */
    mem_free(svg);
    c.results.is_judged = true;
    c.results.verdict = "2 of 3 outputs differ";
    svg = svg_of(&c, &(view_draw_options){0});
    assert_non_null(strstr(svg, ">Failed: 2 of 3 outputs differ<"));
    mem_free(svg);
    case_end(&c);
}

static void test_draw_svg__themes(void **state)
{
    (void)state;
    drawing_case c;
    case_begin(&c);
    char *both = svg_of(&c, &(view_draw_options){0}),
         *dark = svg_of(&c, &(view_draw_options){.theme = VIEW_THEME_DARK}),
         *light = svg_of(&c, &(view_draw_options){.theme = VIEW_THEME_LIGHT});
    assert_int_equal(count_of(both, "@media (prefers-color-scheme:dark)"), 1);
    assert_int_equal(count_of(both, ".f-page{"), 2);
    assert_null(strstr(dark, "@media"));
    assert_null(strstr(light, "@media"));
    assert_non_null(strstr(dark, ".f-page{fill:#14181d}"));
    assert_non_null(strstr(light, ".f-page{fill:#ffffff}"));
    mem_free(both);
    mem_free(dark);
    mem_free(light);
    case_end(&c);
}

/* ---- Quantities ----------------------------------------------------------------------------- */

static void test_draw_svg__zero_is_not_unmeasured(void **state)
{
    (void)state;
    drawing_case c;
    case_begin(&c);
    case_errors(&c);
    char *svg = svg_of(&c, &(view_draw_options){.hide_legend = true});
    assert_in_group(svg, "card", N_IMAGE, "fill=\"#e1eaf4\"");
    assert_in_group(svg, "card", N_IMAGE, ">0</text>");
    assert_in_group(svg, "card", N_RELU, "fill=\"#c2185b\"");
    assert_in_group(svg, "card", N_RELU, ">NaN</text>");
    assert_in_group(svg, "card folded", C_CALL, "url(#pgy-hatch)");
    assert_in_group(svg, "card folded", C_CALL, ": not measured</title>");
    assert_int_equal(count_of(svg, "url(#pgy-hatch)"), 1);
    mem_free(svg);
    case_end(&c);
}

/* A time of a fused layer stands at its frame, and at none of the nodes in it. */
static void test_draw_svg__fused_time(void **state)
{
    (void)state;
    drawing_case c;
    view_quantity *q;
    case_begin(&c);
    const view_quantity like = {.id = "time",
                                .label = "time, median",
                                .unit = "us",
                                .group = "time",
                                .of = VIEW_OF_NODE,
                                .scale = VIEW_LOG,
                                .fold = VIEW_FOLD_SUM};
    GOOD(&c, view_quantity_add(&q, &c.results, &c.graph, &like, &c.err));
    view_quantity_set(q, N_ADD, 12.5);
    view_quantity_set(q, N_CONV, 3);
    char *svg = svg_of(&c, &(view_draw_options){.hide_legend = true});
    assert_in_group(svg, "header", C_FUSED, ">12.5 us</text>");
    assert_in_group(svg, "card", N_ADD, "time, median: that of the fused layer</title>");
    assert_in_group(svg, "card", N_CONV, ">3 us</text>");
    assert_int_equal(count_of(svg, ">12.5 us</text>"), 1);
    char *card = group_of(svg, "card", N_ADD);
    assert_null(strstr(card, "hatch")); /* it was measured, with others */
    mem_free(card);
    mem_free(svg);
    case_end(&c);
}

/* A repeat that shows one instance tells of the others in its header. */
static void test_draw_svg__marks_of_hidden_instances(void **state)
{
    (void)state;
    drawing_case c;
    case_begin(&c);
    case_errors(&c);
    case_mark(&c, VIEW_OF_NODE, N_GEMM, VIEW_MARK_UNSUPPORTED, "");
    c.containers[C_REPEAT].state = VIEW_ONE;
    char *svg = svg_of(&c, &(view_draw_options){0});
    assert_in_group(svg, "header", C_REPEAT, "<title>unsupported</title>");
    assert_in_group(svg, "header", C_REPEAT, ">2e-4</text>");
    assert_in_group(svg, "header", C_REPEAT, ">×24</text>");
    assert_non_null(strstr(svg, ">unsupported<")); /* in the legend */
    mem_free(svg);
    c.containers[C_REPEAT].state = VIEW_OPEN;
    svg = svg_of(&c, &(view_draw_options){0});
    assert_null(strstr(svg, ">2e-4</text>"));
    mem_free(svg);
    case_end(&c);
}

static void test_draw_svg__chosen_quantity(void **state)
{
    (void)state;
    drawing_case c;
    picture_list list = {0};
    view_quantity *q;
    static const char *const NAMES[] = {"float32", "float16"};
    case_begin(&c);
    case_errors(&c);
    const view_quantity like = {.id = "precision",
                                .label = "precision",
                                .of = VIEW_OF_NODE,
                                .scale = VIEW_CATEGORY,
                                .fold = VIEW_FOLD_SAME,
                                .names = NAMES,
                                .name_count = 2};
    GOOD(&c, view_quantity_add(&q, &c.results, &c.graph, &like, &c.err));
    view_quantity_set(q, N_CONV, 1);
    view_quantity_set(q, N_GEMM, 1);
    view_quantity_set(q, N_SOFTMAX, 0);
    char *svg = svg_of(&c, &(view_draw_options){.quantity = "precision"});
    assert_in_group(svg, "card", N_CONV, ">float16</text>");
    assert_in_group(svg, "card folded", C_REPEAT, ">mixed</text>");
    assert_null(strstr(svg, "largest absolute error"));
    mem_free(svg);
    svg = svg_of(&c, &(view_draw_options){.quantity = ""});
    assert_null(strstr(svg, "url(#pgy-hatch)"));
    assert_null(strstr(svg, ">float16<"));
    mem_free(svg);
    assert_int_equal(drawing_make(&list, &c.graph, &c.results, &c.scene,
                                  &(view_draw_options){.quantity = "energy"}, "x", &c.err),
                     PGY_E_NOT_FOUND);
    assert_string_equal(c.err.text, "there is no quantity 'energy' in this view; it has: maxabs, "
                                    "precision");
    picture_list_deinit(&list);
    case_end(&c);
}

static void test_draw_svg__units(void **state)
{
    (void)state;
    static const struct {
        const char *unit, *text;
        double value;
    } CASES[] = {{"us", "12.5 us", 12.5},
                 {"us", "3.2 ms", 3200},
                 {"us", "1.5 s", 1.5e6},
                 {"bytes", "512 B", 512},
                 {"bytes", "1.5 MiB", 1572864},
                 {"dB", "41.2 dB", 41.2},
                 {"%", "12%", 12},
                 {"", "1e-300", 1e-300},
                 {"", "-2.5e7", -2.5e7},
                 {"", "4.94e-324", 5e-324},
                 {"", "0.05", 0.05},
                 {"", "1e-3", 0.0009999},
                 {"", "Inf", INFINITY},
                 {"", "-Inf", -INFINITY},
                 {"FLOPs", "4.09 GFLOP", 4.09e9}};
    picture_list list = {0};
    for (size_t i = 0; i < LENGTH(CASES); i++) {
        const view_quantity q = {.id = "x", .unit = CASES[i].unit, .scale = VIEW_LINEAR};
        const drawing d = {.list = &list, .q = &q};
        assert_string_equal(drawing_value_text(&d, CASES[i].value), CASES[i].text);
    }
    picture_list_deinit(&list);
}

/* ---- Marks ---------------------------------------------------------------------------------- */

/* A print without colour: the outlines alone must differ. */
static void test_draw_svg__marks_differ_in_shape(void **state)
{
    (void)state;
    char *shapes[VIEW_MARK_COUNT];
    pgy_error err = {0};
    for (uint32_t kind = 0; kind < VIEW_MARK_COUNT; kind++) {
        picture_list list = {.width = 20, .height = 20};
        str out = {0};
        mark_draw(&list, (view_mark_kind)kind, 10, 10, 7);
        assert_true(list.shapes[1].kind == SHAPE_PATH || list.shapes[1].kind == SHAPE_RECT);
        for (size_t i = 0; i < list.count; i++) {
            shape *s = &list.shapes[i];
            if (s->fill.kind == PAINT_RGB) s->fill.rgb = 0x808080;
            if (s->kind == SHAPE_GROUP) s->text = NULL;
            if (s->kind == SHAPE_TEXT) s->text = "";
            s->stroke = (paint){0};
        }
        assert_int_equal(svg_write(&out, &list, VIEW_THEME_LIGHT, 1, &err), PGY_OK);
        shapes[kind] = str_take(&out);
        picture_list_deinit(&list);
        for (uint32_t other = 0; other < kind; other++)
            if (!strcmp(shapes[kind], shapes[other]))
                fail_msg("'%s' looks like '%s'", mark_words((view_mark_kind)kind),
                         mark_words((view_mark_kind)other));
    }
    for (uint32_t kind = 0; kind < VIEW_MARK_COUNT; kind++) mem_free(shapes[kind]);
}

/* ---- Hostile input -------------------------------------------------------------------------- */

static const char READ[] =
    "import re, sys, xml.etree.ElementTree as tree\n"
    "root = tree.parse(sys.argv[1]).getroot()\n"
    "for e in root.iter():\n"
    "    assert e.tag.split('}')[1] in ('svg title style defs pattern path rect g text').split(), "
    "e.tag\n"
    "    for name, value in e.attrib.items():\n"
    "        assert not name.startswith('on') and 'href' not in name, name\n"
    "        if name in ('x', 'y', 'width', 'height', 'rx', 'font-size', 'stroke-width'):\n"
    "            assert re.fullmatch(r'-?\\d+(\\.\\d+)?|100%', value), (name, value)\n"
    "text = ''.join(root.itertext())\n"
    "assert not "
    "re.search('[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u200b-\\u200f\\u202a-\\u202e\\ufeff]', text)\n"
    "print(text)\n";

/* Parses the document with Python's parser; gives all its text. */
static void read_back(str *text, const char *svg)
{
    char script[] = "draw-svg-XXXXXX", picture[] = "draw-svg-XXXXXX", command[160];
    const int files[2] = {mkstemp(script), mkstemp(picture)};
    assert_int_equal(write(files[0], READ, sizeof READ - 1), sizeof READ - 1);
    assert_int_equal(write(files[1], svg, strlen(svg)), strlen(svg));
    close(files[0]);
    close(files[1]);
    snprintf(command, sizeof command, "python3 %s %s", script, picture);
    FILE *p = popen(command, "r");
    assert_non_null(p);
    char line[4096];
    while (fgets(line, sizeof line, p)) str_append(text, line);
    const int rc = pclose(p);
    unlink(script);
    unlink(picture);
    assert_int_equal(rc, 0);
}

static void test_draw_svg__hostile_names(void **state)
{
    (void)state;
    static char endless[10241];
    memset(endless, 'n', sizeof endless - 1);
    drawing_case c;
    str text = {0};
    case_begin(&c);
    case_errors(&c);
    c.nodes[N_IMAGE].name = "</text><script>alert(1)</script>";
    c.nodes[N_CONV].name = "a\"b'c&amp;d";
    c.nodes[N_RELU].name = "\x1b[31mred\x07\n\u202Egnp.exe\x7f";
    c.nodes[N_ADD].name = "bad \xff\xc3( utf";
    c.nodes[N_IF].name = endless;
    c.ops[N_ADD].name = "]]><!--";
    c.containers[C_STEM].name = "<svg onload=x>";
    c.containers[C_REPEAT].note = "\u2066note\u2069 \xed\xa0\x80";
    c.tensors[T_RELU].shape = "<b>x\"&\u202e";
    c.tensors[T_IF].seen = "\x01";
    c.graph.name = "title</title><style>*{display:none}</style>";
    case_mark(&c, VIEW_OF_NODE, N_ADD, VIEW_MARK_FINDING, "<img src=x onerror=y>\x02");
    c.results.quantities[0].label = "<i>label</i>";
    char *svg = svg_of(&c, &(view_draw_options){.types = true});
    read_back(&text, svg);
    assert_null(strstr(svg, "<script"));
    assert_non_null(strstr(text.data, "</text><script>alert(1)</script>"));
    assert_non_null(strstr(text.data, "a\"b'c&amp;d"));
    assert_non_null(strstr(text.data, "\\x1b[31mred\\x07\\n\\u202egnp.exe\\x7f"));
    assert_non_null(strstr(text.data, "bad \\xff\\xc3( utf"));
    assert_non_null(strstr(text.data, "title</title><style>*{display:none}</style>"));
    assert_non_null(strstr(text.data, "nnnn…"));
    assert_true(strlen(svg) < 60000); /* 10 KB are cut */
    str_deinit(&text);
    mem_free(svg);
    case_end(&c);
}

static void test_draw_svg__hostile_places(void **state)
{
    (void)state;
    drawing_case c;
    str text = {0};
    case_begin(&c);
    case_errors(&c);
    c.places[2].x = NAN;
    c.places[3].width = -INFINITY;
    c.places[4].height = 1e30f;
    c.lines[0].points[3] = INFINITY;
    c.lines[1].count = 1;
    c.lines[2].tensor = VIEW_NONE;
    char *svg = svg_of(&c, &(view_draw_options){0});
    read_back(&text, svg);
    assert_non_null(strstr(text.data, "Conv"));
    str_deinit(&text);
    mem_free(svg);
    case_end(&c);
}

/* ---- Repeatability -------------------------------------------------------------------------- */

static void test_draw_svg__same_bytes(void **state)
{
    (void)state;
    drawing_case c;
    case_begin(&c);
    case_errors(&c);
    char *one = svg_of(&c, &(view_draw_options){0}), *two = svg_of(&c, &(view_draw_options){0});
    assert_string_equal(one, two);
    mem_free(one);
    mem_free(two);
    case_end(&c);
}

static void test_draw_svg__no_memory(void **state)
{
    (void)state;
    drawing_case c;
    pgy_status st = PGY_E_MEMORY;
    case_begin(&c);
    case_errors(&c);
    for (uint64_t n = 1; st; n++) {
        picture_list list = {0};
        str out = {0};
        if (!mem_fail_nth(n)) {
            case_end(&c);
            skip();
        }
        st = drawing_make(&list, &c.graph, &c.results, &c.scene, &(view_draw_options){0}, "small",
                          &c.err);
        if (!st) st = svg_write(&out, &list, VIEW_THEME_AUTO, 1, &c.err);
        mem_fail_nth(0);
        assert_true(!st || st == PGY_E_MEMORY);
        picture_list_deinit(&list);
        str_deinit(&out);
    }
    case_end(&c);
}
