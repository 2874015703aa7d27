/* SPDX-License-Identifier: Apache-2.0 */
/* The report of `run --decode`. */
#include "sources_support.h"

static const char LLAMA[] = TEST_SOURCE_DIR "/examples/models/llama_late.onnx";

static void test_source_decode__a_row_for_each_step(void **state)
{
    (void)state;
    pgy_page p;
    support_page(&p, LLAMA);
    support_add_good(&p, "decode", DATA "decode.json");
    const view_table *t = table_of(&p, "decode");
    assert_int_equal(t->row_count, 6);
    static const double PAST[] = {0, 4, 5, 6, 7, 8};
    for (size_t i = 0; i < 6; i++) {
        assert_true(cell_at(t, i, 1)->number == (double)i);
        assert_true(cell_at(t, i, 2)->number == PAST[i]);
        assert_string_equal(cell_at(t, i, 4)->text, i < 4 ? "pass" : "fail");
    }
    assert_int_equal(cell_at(t, 4, 9)->ref, tensor_at(&p, "present.1.key"));
    assert_non_null(mark_at(&p, VIEW_MARK_FAIL, VIEW_OF_TENSOR, tensor_at(&p, "present.1.key")));
    assert_int_equal(table_of(&p, "decode_times")->row_count, 2);
    assert_false(p.results.passed);
    assert_non_null(strstr(p.results.verdict, "the first is step 4"));
    assert_string_equal(summary_of(&p, "Decoding", "steps"), "6");
    support_close(&p);
}

static void test_source_decode__of_another_model(void **state)
{
    (void)state;
    pgy_page p;
    pgy_error err = {0};
    support_page(&p, DATA "states.onnx");
    assert_int_equal(support_add(&p, "decode", DATA "decode.json", &err), PGY_E_FORMAT);
    assert_non_null(strstr(err.text, "it is of another model"));
    support_close(&p);
}

static void test_source_decode__damaged_reports(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        pgy_status status;
    } CASES[] = {
        {"{\"format\": \"polygraphy-decode\"}", PGY_OK},
        {"{\"format\": \"polygraphy-decode\", \"pairs\": 3, \"runners\": 4, \"steps\": 5}", PGY_OK},
        {"{\"format\": \"polygraphy-decode\", \"pairs\": [{}]}", PGY_E_FORMAT},
        {"{\"format\": \"polygraphy-decode\", \"pairs\": [{\"second\": \"b\", \"steps\": [{}]}]}",
         PGY_E_FORMAT},
        {"{\"format\": \"polygraphy-decode\", \"pairs\": [{\"second\": \"b\", \"steps\": [3]}]}",
         PGY_E_FORMAT},
        {"{\"format\": \"polygraphy-decode\", \"runners\": [{}, {\"tokens\": [7]}], \"pairs\": "
         "[{\"second\": \"b\", \"steps\": [{\"step\": 1e300, \"logits\": 3}]}]}",
         PGY_OK},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        pgy_page p;
        pgy_error err = {0};
        support_page(&p, LLAMA);
        assert_int_equal(support_add_text(&p, "decode", CASES[i].text, &err), CASES[i].status);
        support_close(&p);
    }
}
