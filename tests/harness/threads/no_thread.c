/* SPDX-License-Identifier: Apache-2.0 */
/* Loaded before a test that the thread sanitizer leaves out (PGY_ONE_THREAD): it must not start a
 * thread, or nothing would look for races in it. */
#include <stdio.h>
#include <stdlib.h>

__attribute__((visibility("default"))) int pthread_create(void);

int pthread_create(void)
{
    fprintf(stderr, "This test starts a thread: remove it from PGY_ONE_THREAD "
                    "(cmake/PgyTests.cmake).\n");
    abort();
}
