/* SPDX-License-Identifier: Apache-2.0 */
/* Signatures: the table of ONNX's operators, texts of others, and what the type check says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "ops/signature.h"

static const op_signature *find(const char *name, int64_t version)
{
    const op_signature *s = op_signature_find("", name, version);
    if (!s) fail_msg("no signature of %s %d", name, (int)version);
    return s;
}

static void test_signature__versions(void **state)
{
    (void)state;
    assert_int_equal(find("Conv", 7)->since, 1);
    assert_int_equal(find("Conv", 21)->since, 11);
    assert_int_equal(find("Conv", 22)->since, 22);
    assert_int_equal(find("Conv", 1000)->since, 22);
    assert_null(op_signature_find("", "Conv", 0));
    assert_null(op_signature_find("", "Convx", 22));
    assert_null(op_signature_find("com.example", "Conv", 22));
    assert_ptr_equal(op_signature_find("ai.onnx", "Conv", 22), find("Conv", 22));
    assert_int_equal(op_newest_opset(), 28);
    for (size_t i = 0; i + 1 < op_signature_count(); i++) {
        const op_signature *a = op_signature_at(i), *b = op_signature_at(i + 1);
        const int order = strcmp(a->name, b->name);
        assert_true(order < 0 || (order == 0 && a->since < b->since));
    }
}

static void test_signature__parameters(void **state)
{
    (void)state;
    const op_signature *conv = find("Conv", 11);
    assert_int_equal(conv->input_count, 3);
    assert_string_equal(op_signature_input(conv, 1)->name, "W");
    assert_int_equal(op_signature_input(conv, 2)->flags, OP_PARAM_OPTIONAL);
    assert_null(op_signature_input(conv, 3));
    assert_string_equal(op_signature_output(conv, 0)->name, "Y");
    const op_signature *concat = find("Concat", 13), *loop = find("Loop", 16);
    assert_string_equal(op_signature_input(concat, 40)->name, "inputs");
    assert_int_equal(op_signature_input(concat, 40)->variable, 1);
    assert_int_equal(op_signature_input(loop, 5)->flags, OP_PARAM_VARIADIC | OP_PARAM_MIXED);
    assert_int_equal(op_signature_input(loop, 5)->variable, 0);
    str text = {0};
    op_type_set_print(&text, op_parameter_set(conv, op_signature_input(conv, 0)));
    assert_string_equal(str_text(&text), "float16, float32, float64");
    op_type_set_print(&text, op_parameter_set(find("SequenceAt", 11),
                                              op_signature_input(find("SequenceAt", 11), 0)));
    assert_string_equal(str_text(&text), "any sequence");
    str_deinit(&text);
}

/* How many parameters of a list must be there, and whether there may be any number. */
static size_t required(const op_parameter *list, size_t count)
{
    size_t least = 0;
    for (size_t i = 0; i < count; i++)
        if (!(list[i].flags & (OP_PARAM_OPTIONAL | OP_PARAM_VARIADIC))) least = i + 1;
    return least;
}

static void check_counts(const char *name, const op_parameter *list, size_t count, bool variadic,
                         size_t least, size_t most)
{
    const bool open = count && (list[count - 1].flags & OP_PARAM_VARIADIC);
    if (open != variadic) fail_msg("%s: a variadic list stands against none", name);
    if (!open && count != most) fail_msg("%s: %zu parameters, at most %zu", name, count, most);
    const size_t needed = required(list, count);
    if (open ? needed > least || count > least + 1 : needed != least)
        fail_msg("%s: %zu of %zu parameters are required, at least %zu", name, needed, count,
                 least);
}

static void test_signature__every_row_outside_onnx_has_a_sound_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < op_table_count(); i++) {
        const op_def *def = op_table_at(i);
        arena memory = {0};
        pgy_error err = {0};
        op_signature s;
        if (!def->signature && !*def->domain) continue;
        if (!def->signature) fail_msg("%s of %s has no signature", def->name, def->domain);
        if (op_signature_parse(&s, def->signature, &memory, &err))
            fail_msg("%s: %s", def->name, err.text);
        check_counts(def->name, s.parameters, s.input_count, def->flags & OP_VARIADIC_INPUTS,
                     def->min_inputs, def->max_inputs);
        check_counts(def->name, s.parameters + s.input_count, s.output_count,
                     def->flags & OP_VARIADIC_OUTPUTS, def->min_outputs, def->max_outputs);
        assert_non_null(op_signature_find(def->domain, def->name, def->since));
        arena_deinit(&memory);
    }
}

static void test_signature__text_form(void **state)
{
    (void)state;
    arena memory = {0};
    op_signature s;
    assert_int_equal(op_signature_parse(&s,
                                        "T = float16 float32; I = int32 int64;"
                                        " X:T, index:I, ?mask:bool, *rest:T -> Y:T, ~more:int",
                                        &memory, NULL),
                     PGY_OK);
    assert_int_equal(s.input_count, 4);
    assert_int_equal(s.output_count, 2);
    assert_string_equal(op_signature_input(&s, 2)->name, "mask");
    assert_int_equal(op_signature_input(&s, 2)->flags, OP_PARAM_OPTIONAL);
    assert_int_equal(op_signature_input(&s, 2)->variable, 0);
    assert_int_equal(op_parameter_set(&s, op_signature_input(&s, 2))->tensors, 1u << 9);
    assert_int_equal(op_signature_input(&s, 9)->variable, 1);
    assert_int_equal(op_signature_output(&s, 5)->flags, OP_PARAM_VARIADIC | OP_PARAM_MIXED);
    assert_int_equal(op_signature_parse(&s, "-> Y:float32", &memory, NULL), PGY_OK);
    assert_int_equal(s.input_count, 0);
    static const char *const BAD[] = {
        "",          "X:float32",          "T = ; X:T -> Y:T",
        "X -> Y:T",  "X:float33 -> Y:int", "X:int -> Y:int;",
        "T; X:T ->", "X: -> Y:int",        "X:float32 float33 -> Y:int"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        pgy_error err = {0};
        if (op_signature_parse(&s, BAD[i], &memory, &err) != PGY_E_FORMAT)
            fail_msg("'%s' passes", BAD[i]);
        assert_true(err.text[0] != 0);
    }
    arena_deinit(&memory);
}

/* Checks input types (a list ending in NONE) of a node. */
static pgy_status check(const char *op, int64_t opset, const pgy_dtype *types, pgy_error *err)
{
    op_value inputs[8];
    bool present[8];
    op_node n = {.def = op_find("", op, opset), .name = "n3", .opset = opset};
    for (; types[n.input_count]; n.input_count++) {
        inputs[n.input_count] = (op_value){.dtype = types[n.input_count], .rank = -1};
        present[n.input_count] = true;
    }
    const op_infer c = {.node = &n, .inputs = inputs, .present = present};
    assert_non_null(n.def);
    return op_check_inputs(&c, err);
}

static void test_signature__messages_name_input_type_and_opset(void **state)
{
    (void)state;
    pgy_error err = {0};
    const pgy_dtype conv[] = {PGY_F32, PGY_I32, PGY_DTYPE_NONE};
    assert_int_equal(check("Conv", 11, conv, &err), PGY_E_TYPE);
    assert_string_equal(
        err.text, "Conv 'n3': input 1 'W' is int32, but opset 11 allows float16, float32, float64");
    const pgy_dtype add[] = {PGY_F32, PGY_I64, PGY_DTYPE_NONE};
    assert_int_equal(check("Add", 14, add, &err), PGY_E_TYPE);
    assert_string_equal(err.text, "Add 'n3': input 1 'B' is int64, but input 0 'A' is float32; "
                                  "both must have the same type (T) in opset 14");
}

static void test_signature__types_grow_with_the_opset(void **state)
{
    (void)state;
    pgy_error err = {0};
    const pgy_dtype bf16[] = {PGY_BF16, PGY_BF16, PGY_DTYPE_NONE};
    assert_int_equal(check("Conv", 11, bf16, &err), PGY_E_TYPE);
    assert_int_equal(check("Conv", 22, bf16, &err), PGY_OK);
    const pgy_dtype bytes[] = {PGY_U8, PGY_U8, PGY_DTYPE_NONE};
    assert_int_equal(check("Add", 13, bytes, &err), PGY_E_TYPE);
    assert_int_equal(check("Add", 14, bytes, &err), PGY_OK);
    const pgy_dtype gather[] = {PGY_F8E4M3FN, PGY_F32, PGY_DTYPE_NONE};
    assert_int_equal(check("Gather", 13, gather, &err), PGY_E_TYPE);
    assert_non_null(strstr(err.text, "input 0 'data' is float8e4m3fn"));
}

static void test_signature__sequences_are_no_tensors(void **state)
{
    (void)state;
    pgy_error err = {0};
    const op_value element = {.dtype = PGY_F32, .rank = -1};
    const op_value inputs[] = {{.rank = -1, .sequence = &element}, {.dtype = PGY_I64, .rank = -1}};
    const bool present[] = {true, true};
    op_node n = {.def = op_find("", "SequenceAt", 11), .name = "s", .opset = 11, .input_count = 2};
    op_infer c = {.node = &n, .inputs = inputs, .present = present};
    assert_int_equal(op_check_inputs(&c, &err), PGY_OK);
    n.def = op_find("", "Gather", 13);
    n.opset = 13;
    assert_int_equal(op_check_inputs(&c, &err), PGY_E_TYPE);
    assert_non_null(strstr(err.text, "is a sequence of float32"));
}
