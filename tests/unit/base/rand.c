/* SPDX-License-Identifier: Apache-2.0 */
/* Golden values are those of numpy.random.RandomState. */
#include "support.h"

#include "base/rand.h"

static void test_rand__first_words(void **state)
{
    (void)state;
    static const uint32_t ONE[] = {1791095845u, 4282876139u, 3093770124u, 4005303368u};
    static const uint32_t LAST[] = {419326371u, 479346978u, 3918654476u, 2416749639u};
    mt19937 g;
    mt19937_seed(&g, 1);
    for (int i = 0; i < 4; i++) assert_int_equal(mt19937_u32(&g), ONE[i]);
    mt19937_seed(&g, 4294967295u);
    for (int i = 0; i < 4; i++) assert_int_equal(mt19937_u32(&g), LAST[i]);
}

static void test_rand__doubles(void **state)
{
    (void)state;
    static const double ONE[] = {0.417022004702574, 0.7203244934421581, 0.00011437481734488664,
                                 0.30233257263183977};
    static const double TWO[] = {0.43599490214200376, 0.025926231827891333, 0.5496624778787091};
    mt19937 g;
    mt19937_seed(&g, 1);
    for (int i = 0; i < 4; i++) assert_true(mt19937_double(&g) == ONE[i]);
    mt19937_seed(&g, 2);
    for (int i = 0; i < 3; i++) assert_true(mt19937_double(&g) == TWO[i]);
}

static void test_rand__far_words(void **state)
{
    (void)state;
    enum { COUNT = 100000 };
    static const struct {
        int index;
        uint32_t word;
    } KNOWN[] = {{0, 1791095845u},    {623, 2006116153u},  {624, 1104314680u},
                 {1247, 1926754611u}, {1248, 3239719367u}, {99999, 2160364578u}};
    uint32_t *words = malloc(COUNT * sizeof *words), all = 0;
    mt19937 g;
    mt19937_seed(&g, 1);
    mt19937_fill_u32(&g, words, COUNT);
    for (int i = 0; i < COUNT; i++) all ^= words[i];
    assert_int_equal(all, 3078205725u);
    for (size_t i = 0; i < 6; i++) assert_int_equal(words[KNOWN[i].index], KNOWN[i].word);
    free(words);
}

static void test_rand__pieces_are_the_same_stream(void **state)
{
    (void)state;
    enum { COUNT = 4000 };
    static uint32_t words[COUNT];
    mt19937 whole, parts;
    mt19937_seed(&whole, 12345);
    mt19937_seed(&parts, 12345);
    mt19937_fill_u32(&parts, words, 0);
    size_t at = 0;
    for (size_t n = 1; at + n <= COUNT; at += n, n = n * 2 + 1)
        mt19937_fill_u32(&parts, words + at, n);
    while (at < COUNT) words[at++] = mt19937_u32(&parts);
    for (at = 0; at < COUNT; at++) assert_int_equal(words[at], mt19937_u32(&whole));
}
