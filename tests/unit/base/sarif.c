/* SPDX-License-Identifier: Apache-2.0 */
/* What is written of rules and results, and how paths become URI references. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/sarif.h"

static const sarif_rule RULES[] = {{"first", "The first rule."}, {"second", "The \"second\"."}};

/* The JSON tree of a file with these results. */
static json_value *written(const sarif_result *results, size_t count, str *text, arena *memory)
{
    json_writer *w = NULL;
    json_value *tree = NULL;
    pgy_error err = {0};
    assert_int_equal(json_writer_create_str(&w, text, &err), PGY_OK);
    sarif_begin(w, RULES, 2);
    for (size_t i = 0; i < count; i++) sarif_add(w, RULES, &results[i]);
    sarif_end(w);
    assert_int_equal(json_writer_finish(w, &err), PGY_OK);
    json_writer_destroy(w);
    assert_int_equal(json_parse(&tree, text->data, text->size, memory, &err), PGY_OK);
    return tree;
}

static const char *text_of(const json_value *object, const char *key, arena *memory)
{
    const json_value *v = json_get(object, key);
    return v ? json_string(v, memory, NULL) : NULL;
}

static void test_sarif__results_refer_to_their_rules(void **state)
{
    (void)state;
    str text = {0};
    arena memory = {0};
    const sarif_result results[] = {{.rule = 1,
                                     .level = "note",
                                     .message = "what \"it\" is",
                                     .path = "a dir/m\xc3\xa4.onnx",
                                     .name = "Add_2",
                                     .full_name = "If_3/then_branch/Add_2",
                                     .kind = "function"},
                                    {.rule = 0, .level = "error", .message = "alone"}};
    json_value *tree = written(results, 2, &text, &memory);
    assert_string_equal(text_of(tree, "version", &memory), "2.1.0");
    json_value *run = json_at(json_get(tree, "runs"), 0);
    json_value *rules = json_get(json_get(json_get(run, "tool"), "driver"), "rules");
    assert_int_equal(rules->count, 2);
    assert_string_equal(text_of(json_at(rules, 1), "id", &memory), "second");
    json_value *one = json_at(json_get(run, "results"), 0);
    assert_string_equal(text_of(one, "ruleId", &memory), "second");
    assert_int_equal(json_get(one, "ruleIndex")->integer, 1);
    assert_string_equal(text_of(one, "level", &memory), "note");
    assert_string_equal(text_of(json_get(one, "message"), "text", &memory), "what \"it\" is");
    json_value *place = json_at(json_get(one, "locations"), 0);
    json_value *file = json_get(json_get(place, "physicalLocation"), "artifactLocation");
    assert_string_equal(text_of(file, "uri", &memory), "a%20dir/m%C3%A4.onnx");
    json_value *node = json_at(json_get(place, "logicalLocations"), 0);
    assert_string_equal(text_of(node, "fullyQualifiedName", &memory), "If_3/then_branch/Add_2");
    assert_string_equal(text_of(node, "name", &memory), "Add_2");
    assert_null(json_get(json_at(json_get(run, "results"), 1), "locations"));
    arena_deinit(&memory);
    str_deinit(&text);
}

static void test_sarif__no_results_is_an_empty_list(void **state)
{
    (void)state;
    str text = {0};
    arena memory = {0};
    json_value *tree = written(NULL, 0, &text, &memory);
    json_value *results = json_get(json_at(json_get(tree, "runs"), 0), "results");
    assert_non_null(results);
    assert_int_equal(results->count, 0);
    arena_deinit(&memory);
    str_deinit(&text);
}
