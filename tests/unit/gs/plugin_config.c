/* SPDX-License-Identifier: Apache-2.0 */
/* Plugin configurations: files of PyYAML are read and written back byte for byte, and what is no
 * configuration is refused; instances are replaced in a graph. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <string.h>

#include <polygraphy/plugin.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"

#define FOLDER TEST_SOURCE_DIR "/tests/data/plugins/"

static void test_plugin_config__bytes(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_plugin_config *c = NULL;
    str before = {0}, after = {0};
    char *copy = NULL;
    if (pgy_plugin_config_load(&c, FOLDER "awkward.yaml", &err)) fail_msg("%s", err.text);
    assert_int_equal(c->count, 2);
    assert_int_equal(file_temp_path(&copy, ".yaml", &err), PGY_OK);
    assert_int_equal(pgy_plugin_config_save(c, copy, &err), PGY_OK);
    assert_int_equal(file_read(&before, FOLDER "awkward.yaml", &err), PGY_OK);
    assert_int_equal(file_read(&after, copy, &err), PGY_OK);
    assert_string_equal(str_text(&after), str_text(&before));
    pgy_plugin_config_destroy(c);
    file_temp_release(copy);
    str_deinit(&after);
    str_deinit(&before);
}

static void test_plugin_config__folded(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_plugin_config *c = NULL;
    if (pgy_plugin_config_load(&c, FOLDER "folded.yaml", &err)) fail_msg("%s", err.text);
    const pgy_plugin_instance *v = &c->plugins[0].instances[0];
    str words = {0};
    for (int i = 0; i < 30; i++) str_append(&words, "word ");
    str_append(&words, "end");
    static const char *const HEADS[] = {"", "'quoted: ", "tab\t"};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(v->attributes[i].kind, PGY_PLUGIN_TEXT);
        assert_int_equal(strncmp(v->attributes[i].text, HEADS[i], strlen(HEADS[i])), 0);
        assert_string_equal(v->attributes[i].text + strlen(HEADS[i]), str_text(&words));
        assert_string_equal(v->inputs[i], v->attributes[i].text);
    }
    str_deinit(&words);
    pgy_plugin_config_destroy(c);
}

static void refuse(const char *text, const char *part)
{
    pgy_error err = {0};
    pgy_plugin_config *c = NULL;
    assert_int_equal(pgy_plugin_config_parse(&c, "config", text, strlen(text), &err), PGY_E_FORMAT);
    assert_null(c);
    if (!strstr(err.text, part)) fail_msg("'%s' lacks '%s'", err.text, part);
}

static void test_plugin_config__hostile(void **state)
{
    (void)state;
    refuse("just a text\n", "config: line 1: expected a plugin with");
    refuse("name: a\nop: B\n", "a list 'instances'");
    refuse("name: ../a\nop: B\ninstances: []\n", "must be the folder of the plugin");
    refuse("name: a\nop: ''\ninstances: []\n", "'name' must be the folder of the plugin");
    refuse("name: a\nop: B\ninstances:\n- outputs: [y]\n", "lists 'inputs' and 'outputs'");
    refuse("name: a\nop: B\ninstances:\n- inputs: []\n  outputs: []\n", "at least one output");
    refuse("name: a\nop: B\ninstances:\n- inputs: [{}]\n  outputs: [y]\n", "the name of a tensor");
    refuse("name: a\nop: B\ninstances:\n- inputs: []\n  outputs: [y]\n  attributes: 1\n",
           "line 6: expected a mapping for 'attributes'");
    refuse("name: a\nop: B\ninstances:\n- inputs: []\n  outputs: [y]\n  attributes:\n"
           "    a: [1, x]\n",
           "line 7: expected a list of strings only or of numbers only");
    refuse("name: a\nop: B\ninstances:\n- inputs: []\n  outputs: [y]\n  attributes: {a: [[1]]}\n",
           "expected a list without nested lists");
    refuse("name: a\nop: B\ninstances:\n- inputs: []\n  outputs: [y]\n  attributes: {a: null}\n",
           "expected a number, a string");
}

static pgy_gs_graph *open_chain(void)
{
    pgy_error err = {0};
    pgy_model *m = NULL;
    pgy_gs_graph *g = NULL;
    if (pgy_model_load(&m, FOLDER "chain.onnx", NULL, &err) || pgy_gs_import(&g, m, &err))
        fail_msg("%s", err.text);
    pgy_model_destroy(m);
    return g;
}

static void test_plugin_config__replace(void **state)
{
    (void)state;
    static const char TEXT[] =
        "name: toy\nop: Toy\ninstances:\n"
        "- inputs: [x]\n  outputs: [n0]\n  attributes: {n: 1, f: [1, 0.5], s: fast, b: true}\n"
        "- inputs: [n0]\n  outputs: [n9]\n"
        "- inputs: [n0]\n  outputs: [n1]\n";
    static const bool EXPECTED[] = {true, false, true};
    pgy_error err = {0};
    pgy_plugin_config *c = NULL;
    pgy_gs_graph *g = open_chain();
    if (pgy_plugin_config_parse(&c, "config", TEXT, sizeof TEXT - 1, &err))
        fail_msg("%s", err.text);
    for (size_t i = 0; i < 3; i++) {
        bool done;
        assert_int_equal(pgy_plugin_replace(&done, g, &c->plugins[0], i, &err), PGY_OK);
        assert_int_equal(done, EXPECTED[i]);
    }
    assert_int_equal(pgy_gs_cleanup(g, NULL, &err), PGY_OK);
    assert_int_equal(pgy_gs_toposort(g, NULL, &err), PGY_OK);
    assert_int_equal(g->node_count, 3);
    const pgy_gs_node *n = g->nodes[0];
    assert_string_equal(n->op, "Toy");
    assert_string_equal(n->name, "onnx_graphsurgeon_node_0");
    assert_string_equal(n->inputs[0]->name, "x");
    assert_int_equal(pgy_gs_attr_as_int(n, "n", 0), 1);
    assert_int_equal(pgy_gs_attr_as_int(n, "b", 0), 1);
    assert_int_equal(pgy_gs_find_attr(n, "f")->value->type, PGY_ATTR_FLOATS);
    assert_int_equal(pgy_gs_find_attr(n, "s")->value->type, PGY_ATTR_STRING);
    assert_string_equal(g->nodes[1]->name, "onnx_graphsurgeon_node_1");
    assert_string_equal(g->nodes[2]->op, "Abs");
    pgy_plugin_config_destroy(c);
    pgy_gs_destroy(g);
}

static pgy_status whole_way(const char *path, pgy_error *err)
{
    pgy_plugin_config *c = NULL;
    pgy_gs_graph *g = NULL;
    pgy_model *m = NULL;
    bool done;
    pgy_status st = pgy_plugin_config_load(&c, FOLDER "awkward.yaml", err);
    if (!st) st = pgy_plugin_config_save(c, path, err);
    if (!st) st = pgy_model_load(&m, FOLDER "chain.onnx", NULL, err);
    if (!st) st = pgy_gs_import(&g, m, err);
    if (!st) st = pgy_plugin_replace(&done, g, &c->plugins[1], 0, err);
    pgy_gs_destroy(g);
    pgy_model_destroy(m);
    pgy_plugin_config_destroy(c);
    return st;
}

static void test_plugin_config__refused_allocations(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_status st = PGY_E_MEMORY;
    char *path = NULL;
    assert_int_equal(file_temp_path(&path, ".yaml", &err), PGY_OK);
    for (uint64_t n = 1; st; n++) {
        if (!mem_fail_nth(n)) {
            file_temp_release(path);
            skip();
        }
        st = whole_way(path, &err);
        mem_fail_nth(0);
        if (st && st != PGY_E_MEMORY) fail_msg("allocation %d: %s", (int)n, err.text);
    }
    file_temp_release(path);
}
