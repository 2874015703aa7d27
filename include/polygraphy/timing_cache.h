/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Timing caches: what the built-in engine's builder has measured, so that it need not measure again
 * and chooses the same kernels again.
 *
 *     pgy_timing_cache *cache = NULL;
 *     if (pgy_timing_cache_load(&cache, "net.cache", &err)) ...
 *     const pgy_build_config config = {.size = sizeof config, .timing_cache = cache};
 *     ... build plans ...
 *     if (pgy_timing_cache_save_merged(cache, "net.cache", &err)) ...
 *     pgy_timing_cache_destroy(cache);
 *
 * An entry says for one use of an operator (attributes, shapes, types, layouts, processor, threads)
 * which kernel is to do it and how long that took. To overwrite an entry is to choose the kernel.
 * All functions may be called from several threads at once, but for destroy.
 */
#ifndef POLYGRAPHY_TIMING_CACHE_H
#define POLYGRAPHY_TIMING_CACHE_H

#include <polygraphy/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct pgy_timing_cache pgy_timing_cache;

/** A hash of the use. */
typedef struct pgy_timing_key {
    uint8_t bytes[16];
} pgy_timing_key;

typedef struct pgy_timing_entry {
    uint64_t tactic;    /**< pgy_timing_tactic of a kernel */
    float milliseconds; /**< not negative */
} pgy_timing_entry;

typedef enum pgy_timing_form {
    PGY_TIMING_BINARY,
    PGY_TIMING_TEXT /**< a line for each entry: key, tactic, milliseconds, and the kernel's name
                       behind a '#' */
} pgy_timing_form;

/** An empty one, for this processor. */
PGY_API PGY_MUST_CHECK pgy_status pgy_timing_cache_create(pgy_timing_cache **out, pgy_error *err);
PGY_API void pgy_timing_cache_destroy(pgy_timing_cache *c); /**< NULL is fine */

/** Either form. @return PGY_E_FORMAT: damaged, or no timing cache; PGY_E_UNSUPPORTED: of a newer
 * format */
PGY_API PGY_MUST_CHECK pgy_status pgy_timing_cache_parse(pgy_timing_cache **out, const void *data,
                                                         size_t size_bytes, pgy_error *err);
/** Free *out with pgy_text_free. Equal caches give equal bytes. */
PGY_API PGY_MUST_CHECK pgy_status pgy_timing_cache_serialize(void **out, size_t *size_bytes,
                                                             const pgy_timing_cache *c,
                                                             pgy_timing_form form, pgy_error *err);

/** Reads a file under its lock, `<path>.lock`. @return PGY_E_NOT_FOUND: there is none */
PGY_API PGY_MUST_CHECK pgy_status pgy_timing_cache_load(pgy_timing_cache **out, const char *path,
                                                        pgy_error *err);
/** Writes a file under its lock; it appears whole or not at all. */
PGY_API PGY_MUST_CHECK pgy_status pgy_timing_cache_save(const pgy_timing_cache *c, const char *path,
                                                        pgy_timing_form form, pgy_error *err);
/** The same, but entries of a cache that is there already are kept (in `c` too), and so is its
 * form. What is there and cannot be used is replaced, with a warning. */
PGY_API PGY_MUST_CHECK pgy_status pgy_timing_cache_save_merged(pgy_timing_cache *c,
                                                               const char *path, pgy_error *err);

/** Adds the entries that `c` has not. @param ignore_mismatch  false: a cache that was made on
 * another processor is PGY_E_UNSUPPORTED; its entries would do no harm and be of no use here */
PGY_API PGY_MUST_CHECK pgy_status pgy_timing_cache_combine(pgy_timing_cache *c,
                                                           const pgy_timing_cache *other,
                                                           bool ignore_mismatch, pgy_error *err);
PGY_API void pgy_timing_cache_reset(pgy_timing_cache *c); /**< removes all entries */

/** The processor that it was made on, such as "AMD EPYC, avx512". */
PGY_API const char *pgy_timing_cache_device(const pgy_timing_cache *c);
PGY_API size_t pgy_timing_cache_count(const pgy_timing_cache *c);
/** Copies up to `capacity` keys in ascending order. @return how many there are */
PGY_API size_t pgy_timing_cache_keys(const pgy_timing_cache *c, pgy_timing_key *out,
                                     size_t capacity);
/** @return false if there is no such entry */
PGY_API bool pgy_timing_cache_query(pgy_timing_entry *out, const pgy_timing_cache *c,
                                    const pgy_timing_key *key);
/** Overwrites or adds an entry. A tactic that cannot do the use is not an error here: the builder
 * measures anew. */
PGY_API PGY_MUST_CHECK pgy_status pgy_timing_cache_update(pgy_timing_cache *c,
                                                          const pgy_timing_key *key,
                                                          const pgy_timing_entry *entry,
                                                          pgy_error *err);

/** The hash that stands for a kernel, by its name as in `inspect model`; 0: no kernel of this
 * library and processor. */
PGY_API uint64_t pgy_timing_tactic(const char *kernel);
/** The other way round; NULL: none of this library and processor. */
PGY_API const char *pgy_timing_tactic_name(uint64_t tactic);

#ifdef __cplusplus
}
#endif
#endif
