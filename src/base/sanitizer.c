/* SPDX-License-Identifier: Apache-2.0 */
/* Default options of sanitizer builds: an allocation of a hostile size must return NULL there, too.
 * The sanitizer uses only the definition in the executable, not those in shared objects. */
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

typedef int sanitizer_options; /* ISO C forbids an empty file, which other builds would have */
