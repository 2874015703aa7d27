/* SPDX-License-Identifier: Apache-2.0 */
/* A timing cache makes builds fast and reproducible: known kernels are not measured again, and the
 * builder chooses the same kernels, so two plans have the same bytes. An edited cache selects
 * kernels (as IAlgorithmSelector did): one entry gets another kernel, and the engine uses it.
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

/* Prints, for each cached use of an operator, the kernel that the builder chooses. */
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

/* Selects a softmax kernel with narrower vectors in the entry that has one. */
static bool choose_other(pgy_timing_cache *cache, char *name, size_t size, pgy_error *err)
{
    static const char *const NARROWER[][2] = {{"_avx512", "_avx2"}, {"_avx2", "_portable"}, {"_portable", "_avx2"}};
    pgy_timing_key keys[64];
    const size_t count = pgy_timing_cache_keys(cache, keys, 64);
    for (size_t i = 0; i < count && i < 64; i++) {
        pgy_timing_entry entry;
        const char *old = pgy_timing_cache_query(&entry, cache, &keys[i]) ? pgy_timing_tactic_name(entry.tactic) : NULL;
        if (!old || strncmp(old, "softmax", 7) != 0) continue;
        for (int k = 0; k < 3; k++) {
            const char *suffix = strstr(old, NARROWER[k][0]);
            if (!suffix) continue;
            snprintf(name, size, "%.*s%s", (int)(suffix - old), old, NARROWER[k][1]);
            entry.tactic = pgy_timing_tactic(name);
            return entry.tactic && pgy_timing_cache_update(cache, &keys[i], &entry, err) == PGY_OK;
        }
    }
    return false;
}

/* Counts how often a kernel's name is in the engine's description. */
static size_t uses_of(const void *plan, size_t size, const char *kernel)
{
    pgy_engine *engine = NULL;
    char *text = NULL;
    size_t count = 0;
    if (pgy_engine_load(&engine, plan, size, false, NULL) == PGY_OK && pgy_engine_inspect(&text, engine, PGY_INSPECT_JSON, NULL) == PGY_OK)
        for (const char *at = text; (at = strstr(at, kernel)); at++) count++;
    pgy_text_free(text);
    pgy_engine_release(engine);
    return count;
}

/* Builds with the edited cache; true if the chosen kernel occurs more often. */
static pgy_status build_edited(bool *right, pgy_model *model, pgy_timing_cache *cache, const void *plan, size_t size, pgy_error *err)
{
    char kernel[128] = "";
    void *other = NULL;
    size_t other_size = 0;
    if (!choose_other(cache, kernel, sizeof kernel, err)) {
        puts("this processor has one softmax only");
        return PGY_OK;
    }
    const pgy_status st = build(&other, &other_size, model, cache, false, err);
    if (st) return st;
    const size_t before = uses_of(plan, size, kernel), after = uses_of(other, other_size, kernel);
    printf("%s: %zu uses before, %zu after the cache was edited\n", kernel, before, after);
    *right = after > before;
    pgy_engine_free_bytes(other);
    return PGY_OK;
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
    /* Uses only the file: a kernel whose time is not in it would be an error. */
    if (!st) st = build(&plans[1], &sizes[1], model, loaded, true, &err);
    bool chosen = true;
    if (!st) st = build_edited(&chosen, model, loaded, plans[0], sizes[0], &err);
    const bool same = !st && sizes[0] == sizes[1] && memcmp(plans[0], plans[1], sizes[0]) == 0;
    if (st) fprintf(stderr, "error: %s\n", err.text);
    else printf("the two plans are %s\n", same ? "the same" : "different");
    for (int i = 0; i < 2; i++) pgy_engine_free_bytes(plans[i]);
    pgy_timing_cache_destroy(cache);
    pgy_timing_cache_destroy(loaded);
    pgy_model_destroy(model);
    return st || !same || !count || !chosen;
}
