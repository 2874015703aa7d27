/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding with the small models of tests/data/decode, whose caches have many forms. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <polygraphy/decode.h>
#include <polygraphy/loader.h>

#include "base/alloc.h"
#include "base/file.h"

static const char FOLDER[] = TEST_SOURCE_DIR "/tests/data/decode/";

/* ---- Help ------------------------------------------------------------------------------------ */

typedef struct setup {
    pgy_runner *runners[3];
    size_t count;
    pgy_tensor *ids;
    pgy_error err;
} setup;

/* "model@backend" for each runner, separated by blanks. */
static pgy_status open_setup(setup *s, const char *words)
{
    char list[128];
    pgy_status st = PGY_OK;
    *s = (setup){0};
    snprintf(list, sizeof list, "%s", words);
    for (char *word = strtok(list, " "); !st && word; word = strtok(NULL, " ")) {
        char path[512];
        pgy_model_source source = {0};
        char *at = strchr(word, '@');
        *at = 0;
        snprintf(path, sizeof path, "%s%s.onnx", FOLDER, word);
        st = pgy_source_from_path(&source, path, &s->err);
        if (!st)
            st = pgy_runner_create(&s->runners[s->count], pgy_backend_find(at + 1), &source, NULL,
                                   s->count ? "second" : "first", &s->err);
        if (!st) s->count++;
    }
    return st;
}

static void close_setup(setup *s)
{
    for (size_t i = 0; i < s->count; i++) pgy_runner_destroy(s->runners[i]);
    pgy_tensor_release(s->ids);
}

static pgy_status give_ids(setup *s, const char *ids)
{
    return pgy_decode_ids_parse(&s->ids, ids, strlen(ids), "ids", &s->err);
}

/* Decodes `steps` steps; NULL ids: random ones. *out is NULL after an error, which is in s->err. */
static pgy_status decode(pgy_decode_report **out, setup *s, const char *words, const char *ids,
                         const pgy_decode_options *options)
{
    pgy_decode_options o = *options;
    *out = NULL;
    pgy_status st = open_setup(s, words);
    if (!st && ids) st = give_ids(s, ids);
    o.ids = s->ids;
    return st ? st : pgy_decode(out, s->runners, s->count, &o, &s->err);
}

static pgy_decode_options steps(size_t count)
{
    pgy_decode_options o = pgy_decode_options_default();
    o.steps = count;
    return o;
}

static bool no_memory(pgy_status st)
{
    return st == PGY_E_MEMORY;
}

/* Decodes and expects that all steps agree. */
static void expect_agreement(const char *words, const char *ids, const pgy_decode_options *o,
                             size_t step_count)
{
    setup s;
    pgy_decode_report *r = NULL;
    const pgy_status st = decode(&r, &s, words, ids, o);
    if (!no_memory(st)) {
        if (st) print_error("%s: %s\n", words, s.err.text);
        assert_int_equal(st, PGY_OK);
        if (!pgy_decode_report_passed(r))
            print_error("%s: %s\n", words, pgy_decode_report_reason(r));
        assert_true(pgy_decode_report_passed(r));
        assert_string_equal(pgy_decode_report_reason(r), "");
        assert_int_equal(pgy_decode_report_step_count(r), step_count);
        for (size_t i = 0; i < step_count; i++) {
            const pgy_decode_comparison *c = pgy_decode_report_at(r, 0, i);
            assert_true(c->compared && !c->differs);
            assert_non_null(c->logits.tensor);
            assert_int_equal(c->same_top1, c->positions);
        }
    }
    pgy_decode_report_destroy(r);
    close_setup(&s);
}

static void expect_refusal(const char *words, const char *ids, const pgy_decode_options *o,
                           pgy_status status, const char *text)
{
    setup s;
    pgy_decode_report *r = NULL;
    const pgy_status st = decode(&r, &s, words, ids, o);
    if (!no_memory(st)) {
        assert_int_equal(st, status);
        if (!strstr(s.err.text, text)) print_error("%s\n", s.err.text);
        assert_non_null(strstr(s.err.text, text));
        assert_null(r);
    }
    pgy_decode_report_destroy(r);
    close_setup(&s);
}

/* ---- Forms of caches --------------------------------------------------------------------------
 */

static void test_decode__caches_of_all_forms_agree_in_two_runners(void **state)
{
    static const char *const MODELS[] = {"llama", "llama_half", "torch", "gpt2",
                                         "gqa",   "merged",     "whole", "state"};
    (void)state;
    for (size_t i = 0; i < sizeof MODELS / sizeof *MODELS; i++) {
        char words[64];
        const pgy_decode_options o = steps(6);
        const bool one = !strcmp(MODELS[i], "state");
        snprintf(words, sizeof words, "%s@opref %s@trt", MODELS[i], MODELS[i]);
        expect_agreement(words, one ? "3" : "3 1 4 1", &o, 7);
    }
}

static void test_decode__a_batch(void **state)
{
    (void)state;
    const pgy_decode_options o = steps(5);
    expect_agreement("llama@opref llama@trt", "1 2 3\n4 5 6\n7 8 9", &o, 6);
    expect_agreement("gpt2@opref gpt2@trt", "1 2 3\n4 5 6", &o, 6);
    expect_agreement("merged@opref merged@trt", "1 2 3\n4 5 6", &o, 6);
}

static void test_decode__steps_equal_one_long_prefill(void **state)
{
    (void)state;
    setup s, whole = {0};
    pgy_decode_report *r = NULL, *all = NULL;
    pgy_decode_options o = steps(6);
    pgy_status st = decode(&r, &s, "llama@opref", "3 1 4", &o);
    if (!st) {
        char ids[128] = "3 1 4";
        for (size_t i = 0; i < 6; i++)
            snprintf(ids + strlen(ids), sizeof ids - strlen(ids), " %lld",
                     (long long)pgy_decode_report_choice(r, 0, 0, i));
        o.steps = 1;
        st = decode(&all, &whole, "llama@opref", ids, &o);
        if (!st)
            assert_int_equal(pgy_decode_report_choice(all, 0, 0, 0),
                             pgy_decode_report_choice(r, 0, 0, 6));
        pgy_decode_report_destroy(all);
        close_setup(&whole);
    }
    if (!no_memory(st)) assert_int_equal(st, PGY_OK);
    pgy_decode_report_destroy(r);
    close_setup(&s);
}

/* ---- Errors that begin late --------------------------------------------------------------------
 */

static void test_decode__a_late_error_is_found_at_its_step(void **state)
{
    (void)state;
    /* positions are wrong from 7 on, which step 8 - n reads after a prompt of n */
    static const char *const PROMPTS[] = {"1 2", "1 2 3 4", "1 2 3 4 5 6 7", "1 2 3 4 5 6 7 8"};
    static const size_t FIRST[] = {6, 4, 1, 0};
    for (size_t i = 0; i < 4; i++) {
        setup s;
        pgy_decode_report *r = NULL;
        const pgy_decode_options o = steps(8);
        const pgy_status st = decode(&r, &s, "llama@opref llama_late@opref", PROMPTS[i], &o);
        if (!no_memory(st)) {
            assert_int_equal(st, PGY_OK);
            assert_false(pgy_decode_report_passed(r));
            const pgy_decode_comparison *first = pgy_decode_report_first(r, 0);
            assert_non_null(first);
            assert_int_equal(first->step, FIRST[i]);
            assert_true(first->makes);
            assert_true(first->made > 0.01);
            for (size_t k = 0; k < FIRST[i]; k++)
                assert_true(pgy_decode_report_at(r, 0, k)->logits.max_abs == 0);
        }
        pgy_decode_report_destroy(r);
        close_setup(&s);
    }
}

/* Each step adds 4e-5 of the state, less than the 1e-4 that a step may differ. */
static void test_decode__an_error_that_was_handed_on_is_told_apart(void **state)
{
    (void)state;
    setup s;
    pgy_decode_report *r = NULL;
    char *text = NULL;
    const pgy_decode_options o = steps(12);
    pgy_status st = decode(&r, &s, "state@opref state_drift@opref", "3 3 3 3", &o);
    if (!st) st = pgy_decode_report_text(&text, r, true, NULL);
    if (!no_memory(st)) {
        assert_int_equal(st, PGY_OK);
        const pgy_decode_comparison *first = pgy_decode_report_first(r, 0);
        assert_non_null(first);
        assert_true(first->step >= 3);
        assert_false(first->makes);
        assert_true(first->made > 1e-6 && first->made < 1e-4);
        assert_non_null(strstr(text, "the error comes from the caches of earlier steps"));
    }
    pgy_text_free(text);
    pgy_decode_report_destroy(r);
    close_setup(&s);
}

/* ---- Free running ------------------------------------------------------------------------------
 */

static void test_decode__free_texts_part(void **state)
{
    (void)state;
    setup s;
    pgy_decode_report *r = NULL;
    pgy_decode_options o = steps(24);
    o.free_running = true;
    const pgy_status st = decode(&r, &s, "llama@opref llama_late@opref", "5 9", &o);
    if (!no_memory(st)) {
        size_t step = 0, row = 9;
        assert_int_equal(st, PGY_OK);
        assert_true(pgy_decode_report_parting(&step, &row, r, 0));
        assert_int_equal(row, 0);
        assert_true(step >= 6); /* position 7 */
        for (size_t i = 0; i < pgy_decode_report_step_count(r); i++)
            assert_int_equal(pgy_decode_report_at(r, 0, i)->compared, i <= step);
        assert_false(pgy_decode_report_passed(r));
    }
    pgy_decode_report_destroy(r);
    close_setup(&s);
}

/* ---- Prompts -----------------------------------------------------------------------------------
 */

static void test_decode__forced_ids_come_after_the_prompt(void **state)
{
    (void)state;
    setup s;
    pgy_decode_report *r = NULL;
    pgy_decode_options o = steps(5);
    o.prompt_length = 2;
    o.save_inputs = TEST_BINARY_DIR "/decode_inputs.json";
    const pgy_status st = decode(&r, &s, "llama@opref", "1 2 3 4", &o);
    if (!no_memory(st)) {
        static const int64_t PAST[] = {0, 2, 3, 4, 5, 6};
        pgy_tensor_map **maps = NULL;
        size_t count = 0;
        assert_int_equal(st, PGY_OK);
        assert_int_equal(pgy_decode_report_step_count(r), 6);
        for (size_t i = 0; i < 6; i++)
            assert_int_equal(pgy_decode_report_step(r, i)->past, PAST[i]);
        if (!pgy_feeds_load(&maps, &count, o.save_inputs, NULL)) {
            assert_int_equal(count, 6);
            const int64_t wanted[] = {3, 4, pgy_decode_report_choice(r, 0, 0, 2)};
            for (size_t i = 0; i < 3; i++) {
                const pgy_tensor *ids = pgy_tensor_map_find(maps[i + 1], "input_ids");
                assert_int_equal(*(const int64_t *)pgy_tensor_data(ids), wanted[i]);
            }
            const pgy_tensor *mask = pgy_tensor_map_find(maps[5], "attention_mask");
            assert_int_equal(pgy_tensor_count(mask), 7);
            pgy_feeds_free(maps, count);
        }
    }
    pgy_decode_report_destroy(r);
    close_setup(&s);
}

static void test_decode__a_model_of_one_token_reads_the_prompt_one_by_one(void **state)
{
    (void)state;
    setup s, t;
    pgy_decode_report *r = NULL, *all = NULL;
    const pgy_decode_options o = steps(3);
    pgy_status st = decode(&r, &s, "one@opref", "1 2 3 4", &o);
    pgy_status other = decode(&all, &t, "llama@opref", "1 2 3 4", &o);
    if (!st && !other) {
        assert_int_equal(pgy_decode_report_step_count(r), 7);
        for (size_t i = 0; i < 4; i++)
            assert_int_equal(pgy_decode_report_choice(r, 0, 0, 3 + i),
                             pgy_decode_report_choice(all, 0, 0, i));
    }
    pgy_decode_report_destroy(r);
    pgy_decode_report_destroy(all);
    close_setup(&s);
    close_setup(&t);
}

static void test_decode__wrong_prompts(void **state)
{
    (void)state;
    pgy_decode_options o = steps(2);
    expect_refusal("llama@opref", "1 32", &o, PGY_E_ARGUMENT,
                   "prompt: id 1 of row 0 is 32, but the vocabulary has 32 ids");
    expect_refusal("llama@opref", "1\n-4", &o, PGY_E_ARGUMENT,
                   "prompt: id 0 of row 1 is -4, but token ids are not negative");
    o.prompt_length = 3;
    expect_refusal("llama@opref", "1 2", &o, PGY_E_ARGUMENT,
                   "decode.prompt_length is 3, but there are only 2 ids");
}

/* Numbers that int64 lacks are shown as they are. */
static void test_decode__ids_of_64_bits_without_sign(void **state)
{
    const uint64_t ids[] = {3, 9223372036854775813U};
    const int64_t shape[] = {2};
    setup s;
    pgy_tensor *t = NULL;
    pgy_decode_report *r = NULL;
    pgy_decode_options o = steps(2);
    (void)state;
    pgy_status st = open_setup(&s, "llama@opref");
    if (!st) st = pgy_tensor_copy(&t, pgy_view_of((void *)ids, PGY_U64, 1, shape), &s.err);
    o.ids = t;
    if (!st) st = pgy_decode(&r, s.runners, s.count, &o, &s.err);
    if (!no_memory(st)) {
        assert_int_equal(st, PGY_E_ARGUMENT);
        assert_non_null(strstr(s.err.text, "decode.ids: element 1 is 9223372036854775813"));
    }
    pgy_tensor_release(t);
    close_setup(&s);
}

/* Names of shapes are wildcards, as elsewhere, and the last one counts. */
static void test_decode__shapes_by_wildcards(void **state)
{
    static const struct {
        const char *names[2];
        size_t batch, count;
    } CASES[] = {{{"input_ids", NULL}, 3, 5},
                 {{"input*", NULL}, 3, 5},
                 {{"*_ids", "in*"}, 2, 4},
                 {{"output*", NULL}, 1, 8}};
    const int64_t shapes[][2] = {{3, 5}, {2, 4}};
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        setup s;
        pgy_decode_report *r = NULL;
        pgy_metadata *given = NULL;
        pgy_decode_options o = steps(2);
        pgy_random_options random = pgy_random_options_default();
        pgy_status st = pgy_metadata_create(&given, NULL);
        for (size_t k = 0; !st && k < 2 && CASES[i].names[k]; k++) {
            const pgy_tensor_info info = {.name = CASES[i].names[k], .rank = 2, .shape = shapes[k]};
            st = pgy_metadata_set(given, &info, NULL);
        }
        random.inputs = given;
        o.random = &random;
        s = (setup){0};
        if (!st) st = decode(&r, &s, "llama@opref", NULL, &o);
        if (!no_memory(st)) {
            size_t count = 0;
            assert_int_equal(st, PGY_OK);
            assert_int_equal(pgy_decode_report_batch(r), CASES[i].batch);
            (void)pgy_decode_report_prompt(&count, r, 0);
            assert_int_equal(count, CASES[i].count);
        }
        pgy_decode_report_destroy(r);
        pgy_metadata_destroy(given);
        close_setup(&s);
    }
}

/* ---- Wrong models and options ------------------------------------------------------------------
 */

static void test_decode__wrong_models(void **state)
{
    (void)state;
    const pgy_decode_options o = steps(2);
    expect_refusal("pooled@opref", "1", &o, PGY_E_ARGUMENT, "no output is known to be the logits");
    expect_refusal("fixed@opref", "1 2 3 4", &o, PGY_E_UNSUPPORTED,
                   "input 'input_ids' has a fixed length of 4 tokens");
    expect_refusal(
        "llama_short@opref", "1 2 3", &o, PGY_E_SHAPE,
        "step 0: output 'present.0.key' has shape (1, 2, 2, 8), but as the next cache it "
        "must have (1, 2, 3, 8)");
}

static void test_decode__a_model_that_cannot_read_empty_caches(void **state)
{
    (void)state;
    setup s;
    pgy_decode_report *r = NULL;
    const pgy_decode_options o = steps(2);
    const pgy_status st = decode(&r, &s, "llama_needy@opref", "1 2 3", &o);
    assert_int_not_equal(st, PGY_OK);
    if (!no_memory(st))
        assert_non_null(strstr(s.err.text, "the caches are empty in this step: if the model needs "
                                           "tokens in them, load first caches as input data"));
    close_setup(&s);
}

static void test_decode__wrong_options(void **state)
{
    (void)state;
    pgy_decode_options o = steps(0);
    expect_refusal("llama@opref", "1", &o, PGY_E_ARGUMENT,
                   "decode.steps is 0; expected 1 to 1048576");
    o = steps(SIZE_MAX);
    expect_refusal("llama@opref", "1", &o, PGY_E_ARGUMENT, "expected 1 to 1048576");
    o = steps(2);
    o.judge = "luck";
    expect_refusal("llama@opref", "1", &o, PGY_E_ARGUMENT,
                   "decode.judge is 'luck'; expected 'tolerance' or 'floor'");
    o.judge = "floor";
    expect_refusal("llama@opref", "1", &o, PGY_E_ARGUMENT, "which needs an ONNX model");
    assert_int_equal(pgy_decode(&(pgy_decode_report *){NULL}, NULL, 0, NULL, NULL), PGY_E_ARGUMENT);
}

static void expect_pairs(const char *model, const char *a, const char *b, pgy_status status,
                         const char *text)
{
    const char *const patterns[] = {a, b};
    pgy_decode_options o = steps(3);
    o.caches = patterns;
    o.cache_count = b ? 2 : 1;
    char words[64];
    snprintf(words, sizeof words, "%s@opref", model);
    if (status)
        expect_refusal(words, "1 2", &o, status, text);
    else {
        snprintf(words, sizeof words, "%s@opref %s@opref", model, model);
        expect_agreement(words, "1 2", &o, 4);
    }
}

static void test_decode__pairs_of_names(void **state)
{
    (void)state;
    expect_pairs("llama", "past_key_values.*=present.*", NULL, PGY_OK, NULL);
    expect_pairs("gpt2", "past_0=present_0", "past_1=present_1", PGY_OK, NULL);
    expect_pairs("llama", "past.*=present.*", NULL, PGY_E_ARGUMENT,
                 "decode.caches: 'past.*=present.*' matches no pair");
    expect_pairs("llama", "past_key_values.*.*=present.*.key*", NULL, PGY_E_ARGUMENT, "matches no");
    expect_pairs("gpt2", "past_0=present_0", "past_1=present_0", PGY_E_ARGUMENT,
                 "output 'present_0' would feed two inputs, 'past_0' and 'past_1'");
    expect_pairs("gpt2", "past_0=present_0", "past_0=present_1", PGY_E_ARGUMENT,
                 "two outputs would feed input 'past_0', 'present_0' and 'present_1'");
    expect_pairs("gpt2", "past_0=present_0", NULL, PGY_E_ARGUMENT,
                 "no output is known to feed the cache 'past_1'");
    expect_pairs("gpt2", "past_0=logits", NULL, PGY_E_TYPE,
                 "output 'logits' cannot be the next 'past_0': it is float32 of rank 3");
    expect_pairs("llama", "input_ids=logits", NULL, PGY_E_ARGUMENT,
                 "decode.caches: 'input_ids=logits' would feed input 'input_ids', which has a role "
                 "of its own");
    expect_pairs("llama", "input_ids=absent", NULL, PGY_E_ARGUMENT, "matches no pair");
}

static void test_decode__buffers_that_are_too_small(void **state)
{
    (void)state;
    const pgy_decode_options o = steps(13), fits = steps(12);
    expect_refusal("gqa@opref", "1 2 3 4", &o, PGY_E_ARGUMENT,
                   "cache 'past_key_values.0.key' has room for 16 tokens, but the prompt and the "
                   "steps need 17");
    expect_agreement("gqa@opref gqa@opref", "1 2 3 4", &fits, 13);
}

static void test_decode__roles(void **state)
{
    (void)state;
    pgy_decode_role roles[] = {{"position_ids", "luck"}};
    pgy_decode_options o = steps(2);
    o.roles = roles;
    o.role_count = 1;
    expect_refusal("llama@opref", "1", &o, PGY_E_ARGUMENT,
                   "decode.roles: there is no role 'luck'; expected one of tokens, positions");
    roles[0] = (pgy_decode_role){"nobody", "mask"};
    expect_refusal("llama@opref", "1", &o, PGY_E_ARGUMENT, "there is no input 'nobody'");
    roles[0] = (pgy_decode_role){"nobody", "logits"};
    expect_refusal("llama@opref", "1", &o, PGY_E_ARGUMENT, "there is no output 'nobody'");
    roles[0] = (pgy_decode_role){"present.0.key", "logits"};
    expect_refusal("llama@opref", "1", &o, PGY_E_TYPE,
                   "output 'present.0.key' cannot be the logits");
    roles[0] = (pgy_decode_role){"past_key_values.0.key", "tokens"};
    expect_refusal("llama@opref", "1", &o, PGY_E_ARGUMENT, "several inputs are token ids");
    roles[0] = (pgy_decode_role){"input_ids", "tokens"};
    expect_agreement("llama@opref llama@opref", "1", &o, 3);
}

static void test_decode__nan_fails_also_alone(void **state)
{
    (void)state;
    setup s;
    pgy_decode_report *r = NULL;
    const pgy_decode_options o = steps(6);
    const pgy_status st = decode(&r, &s, "llama_nan@opref", "1 2 3", &o);
    if (!no_memory(st)) {
        assert_int_equal(st, PGY_OK);
        assert_false(pgy_decode_report_passed(r));
        assert_string_equal(pgy_decode_report_reason(r), "The logits of first have NaN");
    }
    pgy_decode_report_destroy(r);
    close_setup(&s);
}

/* ---- The floor ---------------------------------------------------------------------------------
 */

static void test_decode__the_noise_floor_judges(void **state)
{
    (void)state;
    for (int wrong = 0; wrong < 2; wrong++) {
        setup s;
        pgy_decode_report *r = NULL;
        pgy_model *model = NULL;
        pgy_decode_options o = steps(6);
        char path[512];
        snprintf(path, sizeof path, "%sllama.onnx", FOLDER);
        pgy_status st = pgy_model_load(&model, path, NULL, NULL);
        o.judge = "floor";
        o.model = model;
        if (st) return;
        st = decode(&r, &s, wrong ? "llama@opref llama_late@trt" : "llama@opref llama@trt",
                    "1 2 3 4", &o);
        if (!no_memory(st)) {
            assert_int_equal(st, PGY_OK);
            assert_int_equal(pgy_decode_report_passed(r), !wrong);
            assert_true(pgy_decode_report_at(r, 0, 1)->logits.floor_times < 3);
            if (wrong) assert_int_equal(pgy_decode_report_first(r, 0)->step, 4);
        }
        pgy_decode_report_destroy(r);
        close_setup(&s);
        pgy_model_destroy(model);
    }
}

/* ---- Reports and interruptions ------------------------------------------------------------------
 */

static bool stop_at_third(void *user)
{
    size_t *asked = user;
    return ++*asked == 3;
}

static void test_decode__an_interruption_saves_nothing(void **state)
{
    (void)state;
    setup s;
    pgy_decode_report *r = NULL;
    size_t asked = 0;
    pgy_decode_options o = steps(6);
    o.cancelled = stop_at_third;
    o.user = &asked;
    o.save_outputs = TEST_BINARY_DIR "/decode_interrupted.json";
    const pgy_status st = decode(&r, &s, "llama@opref", "1 2", &o);
    if (!no_memory(st)) {
        assert_int_equal(st, PGY_E_CANCELLED);
        assert_null(r);
        assert_false(file_exists(o.save_outputs));
    }
    close_setup(&s);
}

static void test_decode__stored_outputs_are_a_reference(void **state)
{
    (void)state;
    setup s;
    pgy_decode_report *r = NULL;
    static const char PATH[] = TEST_BINARY_DIR "/decode_outputs.json";
    pgy_decode_options save = steps(6), load = steps(6), more = steps(7);
    save.save_outputs = load.load_outputs = more.load_outputs = PATH;
    pgy_status st = decode(&r, &s, "llama@opref", "1 2 3 4", &save);
    pgy_decode_report_destroy(r);
    close_setup(&s);
    if (st) return;
    st = decode(&r, &s, "llama_late@opref", "1 2 3 4", &load);
    if (!no_memory(st)) {
        assert_int_equal(st, PGY_OK);
        assert_int_equal(pgy_decode_report_runner_count(r), 2);
        assert_string_equal(pgy_decode_report_runner_name(r, 0), "first");
        assert_int_equal(pgy_decode_report_first(r, 0)->step, 4);
        assert_true(pgy_decode_report_first(r, 0)->makes);
    }
    pgy_decode_report_destroy(r);
    close_setup(&s);
    expect_refusal("llama@opref", "1 2 3 4", &more, PGY_E_ARGUMENT, "has no outputs of this step");
}

static void test_decode__reports(void **state)
{
    (void)state;
    setup s;
    pgy_decode_report *r = NULL;
    static const char PATH[] = TEST_BINARY_DIR "/decode_report.json";
    const pgy_decode_options o = steps(40);
    pgy_status st = decode(&r, &s, "llama@opref llama_late@opref", "1 2 3 4", &o);
    char *text = NULL;
    if (!st) st = pgy_decode_report_text(&text, r, false, NULL);
    if (!st) {
        assert_non_null(strstr(text, "Decoding: first vs. second\n"));
        assert_non_null(
            strstr(text, "First step that differs: 4 (7 tokens in the caches, 1 read)"));
        assert_non_null(strstr(text, "the step makes the error"));
        assert_non_null(strstr(text, "more steps are not shown"));
        assert_non_null(strstr(text, "Passed: 4/41 steps"));
        pgy_text_free(text);
        st = pgy_decode_report_save(r, PATH, "model.onnx", NULL);
    }
    pgy_decode_latency l;
    if (!st && !pgy_decode_report_latency(&l, r, 1, NULL)) {
        assert_int_equal(l.count, 40);
        assert_true(l.min_ms > 0 && l.min_ms <= l.median_ms && l.median_ms <= l.p90_ms);
        assert_true(l.p90_ms <= l.p95_ms && l.p95_ms <= l.p99_ms && l.p99_ms <= l.max_ms);
    }
    if (r) {
        assert_int_equal(pgy_decode_report_latency(&l, r, 2, NULL), PGY_E_ARGUMENT);
        assert_null(pgy_decode_report_at(r, 1, 0));
        assert_null(pgy_decode_report_at(r, 0, 41));
        assert_int_equal(pgy_decode_report_choice(r, 0, 1, 0), -1);
        assert_int_equal(pgy_decode_report_time_ns(r, 2, 0), -1);
    }
    if (!no_memory(st)) assert_int_equal(st, PGY_OK);
    pgy_decode_report_destroy(r);
    close_setup(&s);
}

/* ---- Caches in place --------------------------------------------------------------------------
 */

static void test_decode__caches_stay_in_place(void **state)
{
    static const struct {
        const char *model, *ids;
        size_t kept, count;
    } CASES[] = {{"joined", "3 1 4 1", 4, 4},
                 {"joined", "3 1\n4 1\n5 9", 4, 4},
                 {"joined_half", "3 1 4 1", 4, 4},
                 {"joined_half", "3 1\n4 1\n5 9", 4, 4},
                 {"gqa", "3 1 4 1", 2, 2},
                 {"gqa_growing", "3 1 4 1", 2, 2},
                 {"gqa_growing", "3 1\n4 1\n5 9", 2, 2},
                 {"llama", "3 1 4 1", 4, 4}, /* reads the shape of its new keys for the mask */
                 {"torch", "3 1\n4 1\n5 9", 4, 4},
                 {"gpt2", "3 1 4 1", 0, 2}};
    (void)state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        for (int copies = 0; copies < 2; copies++) {
            setup s;
            char words[64];
            pgy_decode_report *r = NULL;
            pgy_decode_options o = steps(8);
            o.copy_caches = copies;
            snprintf(words, sizeof words, "%s@opref %s@trt", CASES[i].model, CASES[i].model);
            const pgy_status st = decode(&r, &s, words, CASES[i].ids, &o);
            if (!no_memory(st)) {
                assert_int_equal(st, PGY_OK);
                assert_true(pgy_decode_report_passed(r));
                assert_int_equal(pgy_decode_report_cache_count(r), CASES[i].count);
                assert_int_equal(pgy_decode_report_kept_caches(r, 0), 0);
                assert_int_equal(pgy_decode_report_kept_caches(r, 1), copies ? 0 : CASES[i].kept);
                assert_int_equal(pgy_decode_report_kept_caches(r, 2), 0);
            }
            pgy_decode_report_destroy(r);
            close_setup(&s);
        }
    }
}

/* The outputs of a run that copies its caches are those of one that keeps them, bit for bit. */
static void test_decode__caches_in_place_have_the_same_bits(void **state)
{
    static const pgy_number_entry NOTHING = {"", {.real = 0}};
    (void)state;
    for (int i = 0; i < 5; i++) {
        static const char *const WORDS[] = {"joined@trt", "gqa@trt", "llama@trt", "joined_half@trt",
                                            "gqa_growing@trt"};
        char *path = NULL;
        pgy_decode_options o = steps(10);
        setup s;
        pgy_decode_report *r = NULL;
        if (file_temp_path(&path, ".json", NULL)) return;
        o.copy_caches = true;
        o.save_outputs = path;
        pgy_status st = decode(&r, &s, WORDS[i], "3 1 4 1", &o);
        assert_true(!st || no_memory(st));
        pgy_decode_report_destroy(r);
        close_setup(&s);
        o.copy_caches = false;
        o.save_outputs = NULL;
        o.load_outputs = path;
        o.rtol = o.atol = (pgy_number_map){&NOTHING, 1};
        if (!st) expect_agreement(WORDS[i], "3 1 4 1", &o, 11);
        file_temp_release(path);
    }
}

/* A step that differs is repeated with the caches that the reference read, although these are in
 * its buffers. */
static void test_decode__late_error_with_caches_in_place(void **state)
{
    static const char *const WORDS[] = {"joined@trt joined_late@trt",
                                        "joined_late@trt joined@opref"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        setup s;
        pgy_decode_report *r = NULL;
        const pgy_decode_options o = steps(8);
        const pgy_status st = decode(&r, &s, WORDS[i], "3 1 4 1", &o);
        if (!no_memory(st)) {
            assert_int_equal(st, PGY_OK);
            const pgy_decode_comparison *c = pgy_decode_report_first(r, 0);
            assert_non_null(c);
            assert_int_equal(c->step, 4); /* its token is at position 7 */
            assert_true(c->makes);
        }
        pgy_decode_report_destroy(r);
        close_setup(&s);
    }
}
