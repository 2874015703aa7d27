/* SPDX-License-Identifier: Apache-2.0 */
/* Files of shard hints: what Polygraphy 0.53.6 wrote is read and written back byte for byte, what
 * 0.49 wrote is converted, and everything else is refused in one line. */
#include <cmocka.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <polygraphy/shard.h>

#include "base/alloc.h"
#include "base/file.h"
#include "base/str.h"

#define FOLDER TEST_SOURCE_DIR "/tests/data/shard/"

static void test_shard_hints__bytes(void **state)
{
    static const char *const NAMES[] = {"attention", "fused", "decoder"};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        pgy_error err = {0};
        pgy_shard_hints *h = NULL;
        str path = {0}, before = {0}, after = {0};
        char *copy = NULL;
        str_printf(&path, FOLDER "hints_%s.json", NAMES[i]);
        assert_int_equal(file_temp_path(&copy, ".json", &err), PGY_OK);
        if (pgy_shard_hints_load(&h, str_text(&path), &err)) fail_msg("%s", err.text);
        assert_int_equal(pgy_shard_hints_save(h, copy, &err), PGY_OK);
        assert_int_equal(file_read(&before, str_text(&path), &err), PGY_OK);
        assert_int_equal(file_read(&after, copy, &err), PGY_OK);
        assert_string_equal(str_text(&after), str_text(&before));
        pgy_shard_hints_destroy(h);
        file_temp_release(copy);
        str_deinit(&after);
        str_deinit(&before);
        str_deinit(&path);
    }
}

static void test_shard_hints__old_layout(void **state)
{
    (void)state;
    pgy_error err = {0};
    pgy_shard_hints *h = NULL;
    if (pgy_shard_hints_load(&h, FOLDER "old.json", &err)) fail_msg("%s", err.text);
    assert_int_equal(h->parallelism, PGY_PARALLEL_CONTEXT);
    assert_int_equal(h->layer_count, 2);
    assert_string_equal(h->layers[1].q, "b_q");
    assert_null(h->layers[1].replace);
    assert_int_equal(h->root, 0);
    assert_int_equal(h->nb_rank, 1);
    assert_string_equal(h->reduce_op, "max");
    assert_int_equal(h->kv_rank, -1);
    pgy_shard_hints_destroy(h);
}

#define HEAD "{\"polygraphy_class\": \"ShardHints\", \"parallelism\": \"CP\", "
#define TAIL                                                                            \
    "\"attention_layers\": [], \"inputs\": [], \"outputs\": [], \"k_seq_len_idx\": 0, " \
    "\"v_seq_len_idx\": 0, \"kv_rank\": null}"
#define COLLECTIVE "\"dist_collectives\": {\"polygraphy_class\": \"DistCollective\"}, "

static void refuse(const char *text, const char *part)
{
    pgy_error err = {0};
    pgy_shard_hints *h = NULL;
    assert_int_equal(pgy_shard_hints_parse(&h, "hints", text, strlen(text), &err), PGY_E_FORMAT);
    assert_null(h);
    if (!strstr(err.text, part)) fail_msg("'%s' lacks '%s'", err.text, part);
    assert_null(strchr(err.text, '\n'));
}

static void test_shard_hints__hostile(void **state)
{
    (void)state;
    refuse("", "hints");
    refuse("[]", "ShardHints");
    refuse("{\"polygraphy_class\": \"RunResults\"}", "RunResults");
    refuse("{\"polygraphy_class\": \"ShardHints\", \"dist_collectives\": {}}", "'parallelism'");
    refuse("{\"polygraphy_class\": \"ShardHints\", \"parallelism\": \"XP\"}",
           "line 1: 'parallelism' is neither CP nor TP");
    refuse(HEAD "\"attention_layers\": 1}", "'attention_layers' is not a list");
    refuse(HEAD "\"attention_layers\": [1]}", "AttentionLayerHint");
    refuse(HEAD TAIL, "'group_size' is missing");
    refuse(HEAD "\"dist_collectives\": {\"polygraphy_class\": \"DistCollective\", \"reduce_op\": "
                "\"mean\"}, " TAIL,
           "'reduce_op' is not one of");
    refuse(HEAD "\"dist_collectives\": {\"polygraphy_class\": \"DistCollective\", \"groups\": "
                "[1, \"a\"]}, " TAIL,
           "'groups' is not a list of integers");
    refuse(HEAD "\"dist_collectives\": {\"polygraphy_class\": \"DistCollective\", \"nb_rank\": "
                "0}, " TAIL,
           "'nb_rank' is not between 1 and 4096");
    refuse(HEAD COLLECTIVE "\"attention_layers\": [], \"inputs\": [], \"outputs\": [], "
                           "\"k_seq_len_idx\": 0, \"v_seq_len_idx\": 0, \"kv_rank\": 65}",
           "'kv_rank' is neither null nor a valid rank");
}

static void test_shard_hints__what_may_be_missing(void **state)
{
    (void)state;
    static const char TEXT[] = HEAD COLLECTIVE TAIL;
    pgy_error err = {0};
    pgy_shard_hints *h = NULL;
    if (pgy_shard_hints_parse(&h, "hints", TEXT, sizeof TEXT - 1, &err)) fail_msg("%s", err.text);
    assert_int_equal(h->root, -1);
    assert_int_equal(h->nb_rank, 1);
    assert_string_equal(h->reduce_op, "max");
    assert_int_equal(h->group_count, 0);
    pgy_shard_hints_destroy(h);
}

static void test_shard_hints__refused_allocations(void **state)
{
    (void)state;
    pgy_status st = PGY_E_MEMORY;
    for (uint64_t n = 1; st; n++) {
        pgy_error err = {0};
        pgy_shard_hints *h = NULL;
        if (!mem_fail_nth(n)) skip();
        st = pgy_shard_hints_load(&h, FOLDER "hints_fused.json", &err);
        mem_fail_nth(0);
        pgy_shard_hints_destroy(h);
        if (st && st != PGY_E_MEMORY) fail_msg("allocation %d: %s", (int)n, err.text);
    }
}
