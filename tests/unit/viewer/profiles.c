/* SPDX-License-Identifier: Apache-2.0 */
/* Pages of a plan with several profiles: a graph for each, and results that belong to one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/file_temp.h"
#include "harness/model_builder.h"
#include "viewer/page.h"

typedef struct pages {
    char *plan, *times;
    pgy_page *page;
    pgy_error err;
} pages;

/* A plan with a profile of 1 row and one of 16. */
static void build(pages *c)
{
    static const int64_t SMALL[] = {1, 3}, LARGE[] = {16, 3};
    const pgy_profile_range ranges[] = {{"x", 2, SMALL, SMALL, SMALL},
                                        {"x", 2, LARGE, LARGE, LARGE}};
    const pgy_profile profiles[] = {{&ranges[0], 1}, {&ranges[1], 1}};
    const pgy_build_config config = {.size = sizeof config,
                                     .profiles = profiles,
                                     .profile_count = 2,
                                     .profiling_verbosity = PGY_VERBOSITY_DETAILED};
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "rows, 3");
    builder_floats(&b, "w", "3, 4", NULL);
    builder_node(&b, "MatMul", "x w", "m")->name = "product";
    builder_node(&b, "Softmax", "m", "y")->name = "shares";
    builder_output(&b, "y", PGY_F32, "rows, 4");
    pgy_model *model = builder_finish_bytes(&b);
    assert_int_equal(file_temp_path(&c->plan, ".plan", &c->err), PGY_OK);
    if (pgy_plan_build(c->plan, model, &config, &c->err)) fail_msg("%s", c->err.text);
    pgy_model_destroy(model);
}

static void open_page(pages *c, size_t profile)
{
    const pgy_page_options options = {.size = sizeof options, .profile = profile};
    if (!c->plan) build(c);
    if (pgy_page_create(&c->page, &options, &c->err)) fail_msg("%s", c->err.text);
}

static void complete(pages *c)
{
    if (page_complete(c->page, &c->err)) fail_msg("%s", c->err.text);
}

/* Times of both layers, as trtexec exports them. */
static void add_times(pages *c, pgy_page_owner owner, size_t profile)
{
    static const char TIMES[] =
        "[{\"count\": 4},"
        " {\"name\": \"product\", \"timeMs\": 0.4, \"averageMs\": 0.1, \"medianMs\": 0.1, "
        "\"percentage\": 50},"
        " {\"name\": \"shares\", \"timeMs\": 0.4, \"averageMs\": 0.1, \"medianMs\": 0.1, "
        "\"percentage\": 50}]";
    assert_int_equal(file_temp_path(&c->times, ".json", &c->err), PGY_OK);
    assert_int_equal(file_write_all(c->times, TIMES, strlen(TIMES), &c->err), PGY_OK);
    if (pgy_page_add_results(c->page, c->times, owner, profile, &c->err))
        fail_msg("%s", c->err.text);
}

static void close_page(pages *c)
{
    pgy_page_destroy(c->page);
    if (c->plan) file_temp_release(c->plan);
    if (c->times) file_temp_release(c->times);
}

static const char *shape_of(const view_graph *g, const char *tensor)
{
    const uint32_t at = view_graph_tensor(g, tensor);
    assert_int_not_equal(at, VIEW_NONE);
    return g->tensors[at].shape;
}

static void test_profiles__each_program_is_a_graph(void **state)
{
    (void)state;
    pages c = {0};
    open_page(&c, 0);
    if (pgy_page_add_as(c.page, c.plan, "rows.plan", &c.err)) fail_msg("%s", c.err.text);
    complete(&c);
    assert_int_equal(c.page->graph_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_string_equal(c.page->graphs[i]->role, "profile");
        assert_int_equal(c.page->graphs[i]->profile, i);
    }
    assert_string_equal(shape_of(c.page->graphs[0], "y"), "1x4");
    assert_string_equal(shape_of(c.page->graphs[1], "y"), "16x4");
    assert_int_equal(pgy_page_warning_count(c.page), 0);
    close_page(&c);
}

static void test_profiles__chosen_one_comes_first(void **state)
{
    (void)state;
    pages c = {0};
    open_page(&c, 1);
    if (pgy_page_add(c.page, c.plan, &c.err)) fail_msg("%s", c.err.text);
    complete(&c);
    assert_int_equal(c.page->graph_count, 2);
    assert_int_equal(c.page->graphs[0]->profile, 1);
    assert_string_equal(shape_of(c.page->graphs[0], "y"), "16x4");
    assert_int_equal(c.page->graphs[1]->profile, 0);
    close_page(&c);
}

static void test_profiles__results_belong_to_one(void **state)
{
    (void)state;
    pages c = {0};
    open_page(&c, 0);
    if (pgy_page_add(c.page, c.plan, &c.err)) fail_msg("%s", c.err.text);
    add_times(&c, PGY_PAGE_PROFILE, 1);
    complete(&c);
    assert_null(view_quantity_find(&c.page->results, "time", 0));
    const view_quantity *time = view_quantity_find(&c.page->results, "time", 1);
    assert_non_null(time);
    const uint32_t product = view_graph_node(c.page->graphs[1], "product");
    assert_true(time->is_measured[product]);
    assert_true(time->values[product] > 99 && time->values[product] < 101);
    const view_table *t = view_table_find(&c.page->results, "layers_p1");
    assert_non_null(t);
    assert_int_equal(t->graph, 1);
    assert_int_equal(t->row_count, 2);
    close_page(&c);
}

static void test_profiles__absent_ones_are_errors(void **state)
{
    (void)state;
    pages c = {0};
    open_page(&c, 7);
    assert_int_equal(pgy_page_add_as(c.page, c.plan, "rows.plan", &c.err), PGY_E_ARGUMENT);
    assert_non_null(strstr(c.err.text, "has no profile 7; it has 2, counted from 0"));
    pgy_page_destroy(c.page);
    open_page(&c, 0);
    if (pgy_page_add(c.page, c.plan, &c.err)) fail_msg("%s", c.err.text);
    add_times(&c, PGY_PAGE_PROFILE, 2);
    assert_int_equal(page_complete(c.page, &c.err), PGY_E_ARGUMENT);
    assert_non_null(strstr(c.err.text, "the page shows no such profile"));
    close_page(&c);
}

static void test_profiles__two_plans_compare_one(void **state)
{
    (void)state;
    pages c = {0};
    open_page(&c, 1);
    for (int i = 0; i < 2; i++)
        if (pgy_page_add_as(c.page, c.plan, "rows.plan", &c.err)) fail_msg("%s", c.err.text);
    complete(&c);
    assert_int_equal(c.page->graph_count, 3);
    assert_string_equal(c.page->graphs[2]->role, "merged");
    assert_string_equal(shape_of(c.page->graphs[1], "y"), "16x4");
    assert_int_equal(pgy_page_warning_count(c.page), 2);
    assert_non_null(strstr(pgy_page_warning(c.page, 0), "the comparison is of profile 1"));
    close_page(&c);
}
