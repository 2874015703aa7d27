/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the stand-ins for the driver and NVRTC: counts the calls of each function, and makes
 * chosen calls fail.
 *
 *     FAKE_CUDA_FAIL=cuLaunchKernel:2:719,cuInit:1:100
 *
 * makes the second launch and the first cuInit of the process return these codes. The number 0
 * instead of a count means every call. */
#ifndef HARNESS_CUDA_FAULT_H
#define HARNESS_CUDA_FAULT_H

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { FAULT_NAMES = 64 };

typedef struct fault_counter {
    const char *name;
    unsigned long count;
} fault_counter;

static fault_counter fault_counters[FAULT_NAMES];

static fault_counter *fault_counter_of(const char *name)
{
    for (int i = 0; i < FAULT_NAMES; i++) {
        fault_counter *c = &fault_counters[i];
        if (c->name && strcmp(c->name, name) != 0) continue;
        return c;
    }
    abort();
}

/* Counts a call. @return the error code that FAKE_CUDA_FAIL plants for it; 0: none */
static int fault_count_call(const char *name)
{
    const char *rule = getenv("FAKE_CUDA_FAIL");
    const size_t size = strlen(name);
    fault_counter *c = fault_counter_of(name);
    c->name = name;
    c->count++;
    while (rule && *rule) {
        if (strncmp(rule, name, size) == 0 && rule[size] == ':') {
            char *end;
            const unsigned long nth = strtoul(rule + size + 1, &end, 10);
            if (nth == 0 || nth == c->count) return atoi(end + 1);
        }
        rule = strchr(rule, ',');
        if (rule) rule++;
    }
    return 0;
}

/* The same, from any thread. */
static int fault_of(const char *name)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    const int code = fault_count_call(name);
    pthread_mutex_unlock(&lock);
    return code;
}

#endif
