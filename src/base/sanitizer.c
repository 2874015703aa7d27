/* SPDX-License-Identifier: Apache-2.0 */
/* Options of programs with sanitizers: a hostile size must come back as NULL there too. Only what
 * an executable itself defines counts, not what its shared objects do. */
#ifdef __SANITIZE_ADDRESS__
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}
#endif
#ifdef __SANITIZE_THREAD__
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
    return "allocator_may_return_null=1";
}
#endif

typedef int sanitizer_options; /* without them the file would be empty */
