/* SPDX-License-Identifier: Apache-2.0 */
/* Lint as a call: what a caller gets as data, and whose words errors are in. Which findings a model
 * has is the business of tests/cli/check_lint. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <polygraphy/lint.h>

#include "harness/model_builder.h"

static pgy_model *relu_model(const char *read)
{
    model_builder b = builder_start(17);
    builder_input(&b, "x", PGY_F32, "N, 4");
    builder_node(&b, "Relu", read, "y")->name = "relu";
    builder_output(&b, "y", PGY_F32, "N, 4");
    return builder_finish_bytes(&b);
}

static pgy_loader *loader_of(pgy_model *model)
{
    pgy_loader *loader = NULL;
    assert_int_equal(pgy_loader_from_model(&loader, model, NULL), PGY_OK);
    pgy_model_destroy(model);
    return loader;
}

static void count(const pgy_lint_finding *finding, void *user)
{
    assert_non_null(finding->message);
    ++*(size_t *)user;
}

static void test_lint__a_good_model_passes(void **state)
{
    (void)state;
    pgy_loader *loader = loader_of(relu_model("x"));
    const pgy_lint_options o = {.size = sizeof o, .static_only = true};
    pgy_lint *l = NULL;
    assert_int_equal(pgy_lint_create(&l, loader, &o, NULL), PGY_OK);
    assert_true(pgy_lint_passed(l));
    assert_true(pgy_lint_node_passed(l, "relu"));
    assert_false(pgy_lint_node_passed(l, "nobody"));
    assert_null(pgy_lint_at(l, pgy_lint_count(l)));
    pgy_lint_destroy(l);
    pgy_loader_destroy(loader);
}

static void test_lint__findings_come_as_data_text_and_json(void **state)
{
    (void)state;
    pgy_loader *loader = loader_of(relu_model("nobody_makes_this"));
    size_t told = 0;
    char *text = NULL, *json = NULL;
    const pgy_lint_options o = {
        .size = sizeof o, .static_only = true, .found = count, .user = &told};
    pgy_lint *l = NULL;
    assert_int_equal(pgy_lint_create(&l, loader, &o, NULL), PGY_OK);
    assert_false(pgy_lint_passed(l));
    assert_true(pgy_lint_count(l) > 0);
    assert_int_equal(told, pgy_lint_count(l));
    const pgy_lint_finding *f = pgy_lint_at(l, 0);
    assert_int_equal(f->level, PGY_LINT_EXCEPTION);
    assert_string_equal(f->code, "undefined-input");
    assert_string_equal(f->node, "relu");
    assert_int_equal(pgy_lint_finding_text(&text, f, NULL), PGY_OK);
    assert_non_null(strstr(text, "Name: relu, Op: Relu | "));
    assert_int_equal(pgy_lint_json(&json, l, NULL), PGY_OK);
    assert_non_null(strstr(json, "\"code\": \"undefined-input\""));
    assert_false(pgy_lint_node_passed(l, "relu"));
    pgy_text_free(text);
    pgy_text_free(json);
    pgy_lint_destroy(l);
    pgy_loader_destroy(loader);
}

static pgy_status lint_with_shape(const char *name, const int64_t *shape, pgy_error *err)
{
    pgy_loader *loader = loader_of(relu_model("x"));
    pgy_metadata *inputs = NULL;
    const pgy_tensor_info info = {.name = name, .dtype = PGY_F32, .rank = 2, .shape = shape};
    assert_int_equal(pgy_metadata_create(&inputs, NULL), PGY_OK);
    assert_int_equal(pgy_metadata_set(inputs, &info, NULL), PGY_OK);
    const pgy_lint_options o = {.size = sizeof o, .static_only = true, .inputs = inputs};
    pgy_lint *l = NULL;
    const pgy_status st = pgy_lint_create(&l, loader, &o, err);
    pgy_lint_destroy(l);
    pgy_metadata_destroy(inputs);
    pgy_loader_destroy(loader);
    return st;
}

static void test_lint__errors_name_fields_not_options(void **state)
{
    (void)state;
    pgy_error err = {0};
    assert_int_equal(lint_with_shape("x", (const int64_t[]){2, 4}, &err), PGY_OK);
    assert_int_equal(lint_with_shape("x", (const int64_t[]){2, 5}, &err), PGY_E_SHAPE);
    assert_string_equal(err.text, "inputs x:[2,5]: the model declares the shape [N, 4] for this "
                                  "input; give a shape that fits, or change the model first");
    assert_int_equal(lint_with_shape("y", (const int64_t[]){2, 4}, &err), PGY_E_ARGUMENT);
    assert_string_equal(err.text, "inputs y: the tensor is not an input of the model");
}

/* ---- Runtimes ------------------------------------------------------------------------------- */

static pgy_status is_missing(char *why, size_t size)
{
    strncpy(why, "the runtime is not here", size);
    return PGY_E_BACKEND;
}

/* Without the layer of the backends there is no reference that could stand in. */
static void test_lint__a_runtime_is_needed(void **state)
{
    (void)state;
    const pgy_backend missing = {.name = "missing", .probe = is_missing};
    pgy_loader *loader = loader_of(relu_model("x"));
    const pgy_lint_options o = {.size = sizeof o, .backend = &missing};
    pgy_lint *l = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_lint_create(&l, loader, &o, &err), PGY_E_NOT_FOUND);
    assert_string_equal(err.text, "this build has no reference backend");
    pgy_loader_destroy(loader);
}

static void test_lint__a_longer_struct_is_refused_if_it_says_more(void **state)
{
    (void)state;
    struct {
        pgy_lint_options known;
        int more;
    } o = {.known = {.size = sizeof o, .static_only = true}};
    pgy_loader *loader = loader_of(relu_model("x"));
    pgy_lint *l = NULL;
    assert_int_equal(pgy_lint_create(&l, loader, &o.known, NULL), PGY_OK);
    pgy_lint_destroy(l);
    l = NULL;
    o.more = 1;
    assert_int_equal(pgy_lint_create(&l, loader, &o.known, NULL), PGY_E_ARGUMENT);
    assert_null(l);
    pgy_loader_destroy(loader);
}
