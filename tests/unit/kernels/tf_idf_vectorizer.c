/* SPDX-License-Identifier: Apache-2.0 */
/* TfIdfVectorizer of integers against the reference definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>

#include "harness/reference_case.h"

enum { UNIGRAMS = 30, BIGRAMS = 40, TRIGRAMS = 20, GRAMS = UNIGRAMS + BIGRAMS + TRIGRAMS };

static void start(reference_case *c, const char *mode, int least, int most, int skips)
{
    static const int64_t STARTS[] = {0, UNIGRAMS, UNIGRAMS + 2 * BIGRAMS};
    static int64_t pool[UNIGRAMS + 2 * BIGRAMS + 3 * TRIGRAMS], columns[GRAMS];
    static float weights[GRAMS];
    for (size_t i = 0; i < sizeof pool / sizeof *pool; i++) pool[i] = rand() % 12 - 5;
    for (int i = 0; i < GRAMS; i++) {
        columns[i] = i % 7 ? i : i / 2; /* some share a column */
        weights[i] = (float)(rand() % 100) / 16;
    }
    reference_start(c, "", "TfIdfVectorizer", 9);
    reference_attr_text(c, "mode", mode);
    reference_attr_int(c, "min_gram_length", least);
    reference_attr_int(c, "max_gram_length", most);
    reference_attr_int(c, "max_skip_count", skips);
    reference_attr_ints(c, "ngram_counts", STARTS, 3);
    reference_attr_ints(c, "ngram_indexes", columns, GRAMS);
    reference_attr_ints(c, "pool_int64s", pool, sizeof pool / sizeof *pool);
    reference_attr_floats(c, "weights", weights, GRAMS);
}

static void test_tf_idf_vectorizer__modes(void **state)
{
    (void)state;
    static const char *const MODES[] = {"TF", "IDF", "TFIDF"};
    static const char *const SHAPES[] = {"6 40", "50", "1 1", "3 2", "9 5"};
    srand(4);
    for (int i = 0; i < 120; i++) {
        reference_case c;
        start(&c, MODES[i % 3], 1 + i % 2, 2 + i / 3 % 2, i / 5 % 4);
        reference_input(&c, i % 7 < 4 ? PGY_I64 : PGY_I32, SHAPES[i % 5]);
        assert_true(reference_run(&c, 1, 1e-6) > 0);
    }
}

static void test_tf_idf_vectorizer__nothing_found(void **state)
{
    (void)state;
    reference_case c;
    start(&c, "TFIDF", 1, 3, 0);
    int64_t *x = reference_input(&c, PGY_I64, "2 9");
    for (int i = 0; i < 18; i++) x[i] = INT64_MAX - i;
    assert_true(reference_run(&c, 1, 0) > 0);
}
