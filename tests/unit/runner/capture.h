/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what is logged, for tests that look at it. */
#ifndef TEST_CAPTURE_H
#define TEST_CAPTURE_H

#include <polygraphy/base.h>
#include <string.h>

static char captured[1 << 16];
static size_t captured_size;

static void capture_line(pgy_severity severity, const char *text, size_t size, void *user)
{
    (void)severity, (void)user;
    if (captured_size + size >= sizeof captured) return;
    memcpy(captured + captured_size, text, size);
    captured_size += size;
    captured[captured_size] = '\0';
}

static inline void capture_begin(void)
{
    captured_size = 0;
    captured[0] = '\0';
    pgy_log_set_sink(capture_line, NULL);
}

static inline void capture_end(void)
{
    pgy_log_set_sink(NULL, NULL);
}

/* How many times `needle` was logged. */
static inline int captured_count(const char *needle)
{
    int n = 0;
    for (const char *p = captured; (p = strstr(p, needle)); p += strlen(needle)) n++;
    return n;
}

#endif
