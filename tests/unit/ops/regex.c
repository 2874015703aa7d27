/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions: the automaton gives the answers of the program, also at its limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/alloc.h"
#include "ops/class_regex.h"
#include "ops/class_regex_nfa.h"
#include "ops/op.h"

/* An expression, and its program alone. */
typedef struct both {
    regex *r;
    regex_program program;
    nfa n;
} both;

static both compile(const char *pattern)
{
    both b = {0};
    pgy_error err = {0};
    if (regex_compile(&b.r, span_of(pattern), &err)) fail_msg("%s", err.text);
    assert_int_equal(regex_program_init(&b.program, span_of(pattern), NULL), PGY_OK);
    assert_int_equal(nfa_init(&b.n, &b.program, NULL), PGY_OK);
    return b;
}

static void destroy(both *b)
{
    regex_destroy(b->r);
    nfa_deinit(&b->n);
    regex_program_deinit(&b->program);
}

static void expect_match(both *b, span text)
{
    assert_int_equal(regex_matches(b->r, text), nfa_matches(&b->n, &b->program, text));
}

static void expect_search(both *b, span text, size_t from)
{
    size_t begin = 0, end = 0, wanted_begin = 0, wanted_end = 0;
    const bool found = regex_search(&begin, &end, b->r, text, from);
    assert_int_equal(found, nfa_search(&wanted_begin, &wanted_end, &b->n, &b->program, text, from));
    if (!found) return;
    assert_int_equal(begin, wanted_begin);
    assert_int_equal(end, wanted_end);
}

/* The next of pseudo-random numbers. */
static uint32_t draw(uint32_t *seed)
{
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 16;
}

/* Characters of one to four bytes, some of them broken. */
static size_t draw_text(char *text, size_t most, uint32_t *seed)
{
    static const char *const PIECES[] = {"a",        "b",
                                         "A",        "1",
                                         "_",        " ",
                                         "-",        "\n",
                                         "\xc3\xa9", "\xc3",
                                         "@",        ".",
                                         "c",        "\xe6\x97\xa5",
                                         "\xff",     "\xf0\x9f\x98\x80"};
    size_t size = 0;
    for (size_t count = draw(seed) % 24; count; count--) {
        const char *piece = PIECES[draw(seed) % (sizeof PIECES / sizeof *PIECES)];
        if (size + strlen(piece) > most) break;
        memcpy(text + size, piece, strlen(piece));
        size += strlen(piece);
    }
    return size;
}

static void test_regex__automaton_agrees_with_the_program(void **state)
{
    (void)state;
    static const char *const PATTERNS[] = {"",
                                           "a",
                                           "a*",
                                           "(a|b)+",
                                           "[a-c1]+@[^ ]+\\.c?",
                                           ".*a.b",
                                           "^a",
                                           "a$",
                                           "(?m)^.+$",
                                           "\\bab?\\b",
                                           "\\B[^a]",
                                           "(?i)ab|B1",
                                           "(?i)[^a-b]",
                                           "\xc3\xa9",
                                           "[\xc3\xa9-\xe6\x97\xa5]+",
                                           "(?s).{3}",
                                           "\\W+",
                                           "a|aba|b.*\\n",
                                           "(a?){4}b",
                                           "(?i:\xe6\x97\xa5|a)$",
                                           "[[:punct:]]\\d|\\z",
                                           "x{FFFD}|\\x{FFFD}+"};
    uint32_t seed = 1;
    for (size_t i = 0; i < sizeof PATTERNS / sizeof *PATTERNS; i++) {
        both b = compile(PATTERNS[i]);
        for (int draws = 0; draws < 300; draws++) {
            char text[64];
            const span drawn = {text, draw_text(text, sizeof text, &seed)};
            expect_match(&b, drawn);
            for (size_t from = 0; from <= drawn.size; from++) expect_search(&b, drawn, from);
        }
        destroy(&b);
    }
}

/* Each of the last 17 characters is in the state, so the automaton has more states than it may
 * keep. */
static void test_regex__too_many_states(void **state)
{
    (void)state;
    enum { LENGTH = 20000 };
    both b = compile("(a|b)*a(a|b){17}");
    char *text = mem_alloc(LENGTH);
    uint32_t seed = 5;
    assert_non_null(text);
    for (size_t i = 0; i < LENGTH; i++) text[i] = draw(&seed) & 1 ? 'a' : 'b';
    for (int again = 0; again < 2; again++) {
        for (size_t size = LENGTH - 8; size <= LENGTH; size++) expect_match(&b, (span){text, size});
        expect_search(&b, (span){text, LENGTH}, 0);
        expect_match(&b, span_of("ab"));
        expect_match(&b, span_of("aaaaaaaaaaaaaaaaaa"));
    }
    mem_free(text);
    destroy(&b);
}

/* Every second character from U+0100 on: more classes than an automaton has. */
static void test_regex__too_many_classes(void **state)
{
    (void)state;
    str pattern = {0};
    str_append(&pattern, "[");
    for (unsigned c = 0x100; c < 0x400; c += 2) str_printf(&pattern, "\\x{%X}", c);
    str_append(&pattern, "]+");
    both b = compile(str_text(&pattern));
    expect_match(&b, span_of("\xc4\x80\xc4\x82"));
    expect_match(&b, span_of("\xc4\x80\xc4\x81"));
    expect_search(&b, span_of("a\xc4\x81\xc4\x82\xc4\x84"), 0);
    destroy(&b);
    str_deinit(&pattern);
}

/* Without a limit, tries that fail at the end of the text would take minutes. */
static void test_regex__late_failures_stay_linear(void **state)
{
    (void)state;
    enum { LENGTH = 1000000 };
    both b = compile("a[ax]*y|bb");
    char *text = mem_alloc(LENGTH);
    assert_non_null(text);
    memset(text, 'a', LENGTH);
    expect_search(&b, (span){text, LENGTH}, 0);
    text[LENGTH - 1] = 'b';
    text[LENGTH - 2] = 'b';
    expect_search(&b, (span){text, LENGTH}, 0);
    mem_free(text);
    destroy(&b);
}

static void test_regex__a_cancelled_search_finds_nothing(void **state)
{
    (void)state;
    size_t begin, end;
    both b = compile("a+");
    assert_true(regex_matches(b.r, span_of("aa")));
    pgy_cancel();
    assert_false(regex_search(&begin, &end, b.r, span_of("aa"), 0));
    pgy_cancel_reset();
    assert_true(regex_search(&begin, &end, b.r, span_of("aa"), 0));
    destroy(&b);
}

/* ---- Kept from run to run ------------------------------------------------------------------- */

static pgy_status run(op_kept *kept, const op_attr *attrs, pgy_tensor *x, pgy_dtype dtype,
                      op_tensor *out, pgy_error *err)
{
    const bool wanted[1] = {true};
    const op_host host = {.kept = kept};
    const op_tensor in = {.dtype = dtype, .value = x};
    const op_node n = {.def = op_find("", "RegexFullMatch", 20),
                       .name = "n",
                       .opset = 20,
                       .attrs = attrs,
                       .attr_count = 1,
                       .input_count = 1,
                       .output_count = 1};
    return op_run(&n, &in, out, wanted, &host, err);
}

static void test_regex__operators_keep_their_expression(void **state)
{
    (void)state;
    static const int64_t SHAPE[1] = {2};
    const op_attr pattern = {.name = "pattern", .kind = OP_ATTR_STRING, .s = span_of("a+")};
    op_kept kept = {0};
    op_tensor out = {0};
    pgy_tensor *x = NULL;
    void *first = NULL;
    pgy_error err = {0};
    assert_int_equal(pgy_tensor_create(&x, PGY_STRING, 1, SHAPE, NULL), PGY_OK);
    assert_int_equal(pgy_tensor_set_string(x, 0, "aa", 2, NULL), PGY_OK);
    for (int runs = 0; runs < 3; runs++) {
        if (run(&kept, &pattern, x, PGY_STRING, &out, &err)) fail_msg("%s", err.text);
        const uint8_t *y = pgy_tensor_data(out.value);
        assert_true(y[0] && !y[1]);
        op_tensor_release(&out);
        if (!first) first = kept.data;
        assert_non_null(first);
        assert_ptr_equal(kept.data, first);
    }
    kept.destroy(kept.data);
    pgy_tensor_release(x);
}
