/* SPDX-License-Identifier: Apache-2.0 */
/* A timing cache makes builds reproducible and fast: what was measured once is not measured again, and the same kernels are chosen, so that two plans are
 * the same bytes. Keys are listed, and the kernel of each is looked at.
 *
 *     timing_cache model.onnx net.cache
 */
#include <stdio.h>
#include <string.h>

#include <polygraphy/polygraphy.h>
#include <polygraphy/timing_cache.h>

static pgy_status build(void **plan, size_t *size, pgy_model *model, pgy_timing_cache *cache, bool must_hit, pgy_error *err)
{
    const pgy_build_config config = {.size = sizeof config, .threads = 1, .has_optimization_level = true, .optimization_level = 5, .timing_cache = cache, .error_on_timing_cache_miss = must_hit};
    pgy_engine *engine = NULL;
    pgy_status st = pgy_engine_build(&engine, model, &config, err);
    if (!st) st = pgy_engine_serialize(plan, size, engine, err);
    pgy_engine_release(engine);
    return st;
}

/* Which kernel is to do which use of an operator. */
static void print_entries(const pgy_timing_cache *cache)
{
    pgy_timing_key keys[8];
    const size_t count = pgy_timing_cache_keys(cache, keys, 8);
    printf("%zu entries, made on %s\n", count, pgy_timing_cache_device(cache));
    for (size_t i = 0; i < count && i < 8; i++) {
        pgy_timing_entry entry;
        if (!pgy_timing_cache_query(&entry, cache, &keys[i])) continue;
        const char *name = pgy_timing_tactic_name(entry.tactic);
        printf("  %02x%02x%02x%02x... %s, %.4f ms\n", keys[i].bytes[0], keys[i].bytes[1], keys[i].bytes[2], keys[i].bytes[3], name ? name : "?",
               (double)entry.milliseconds);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s model.onnx net.cache\n", argv[0]);
        return 2;
    }
    pgy_error err = {0};
    pgy_model *model = NULL;
    pgy_timing_cache *cache = NULL, *loaded = NULL;
    void *plans[2] = {NULL, NULL};
    size_t sizes[2] = {0, 0}, count = 0;
    pgy_status st = pgy_model_load(&model, argv[1], NULL, &err);
    if (!st) st = pgy_timing_cache_create(&cache, &err);
    if (!st) st = build(&plans[0], &sizes[0], model, cache, false, &err);
    if (!st) st = pgy_timing_cache_save(cache, argv[2], PGY_TIMING_TEXT, &err);
    if (!st) st = pgy_timing_cache_load(&loaded, argv[2], &err);
    if (!st) print_entries(loaded);
    if (!st) count = pgy_timing_cache_count(loaded);
    /* From the file alone: a use that is not in it would be an error. */
    if (!st) st = build(&plans[1], &sizes[1], model, loaded, true, &err);
    const bool same = !st && sizes[0] == sizes[1] && memcmp(plans[0], plans[1], sizes[0]) == 0;
    if (st) fprintf(stderr, "error: %s\n", err.text);
    else printf("the two plans are %s\n", same ? "the same" : "different");
    for (int i = 0; i < 2; i++) pgy_engine_free_bytes(plans[i]);
    pgy_timing_cache_destroy(cache);
    pgy_timing_cache_destroy(loaded);
    pgy_model_destroy(model);
    return st || !same || !count;
}
