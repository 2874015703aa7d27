/* SPDX-License-Identifier: Apache-2.0 */
#include "harness/fake_cuda.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[4096];

void fake_cuda_use(const char *binary_dir)
{
    static const char *const SETTINGS[] = {"FAKE_CUDA_FAIL",   "FAKE_CUDA_GPUS",
                                           "FAKE_CUDA_NAME",   "FAKE_CUDA_VERSION",
                                           "FAKE_CUDA_MEMORY", "FAKE_NVRTC_VERSION"};
    snprintf(folder, sizeof folder, "%s/tests/cuda", binary_dir);
    setenv("POLYGRAPHY_CUDA_PATH", folder, 1);
    setenv("POLYGRAPHY_CUDA_CACHE", "off", 1);
    for (size_t i = 0; i < sizeof SETTINGS / sizeof *SETTINGS; i++) unsetenv(SETTINGS[i]);
}

void fake_cuda_use_running(const char *binary_dir)
{
    fake_cuda_use(binary_dir);
    snprintf(folder, sizeof folder, "%s/tests/cuda_running", binary_dir);
    setenv("POLYGRAPHY_CUDA_PATH", folder, 1);
}

/* ---- Children ------------------------------------------------------------------------------- */

__attribute__((noreturn)) static void run_child(void (*scenario)(str *out), int to)
{
    str out = {0};
    scenario(&out);
    const bool written = write(to, str_text(&out), out.size) == (ssize_t)out.size;
    str_deinit(&out);
    _exit(!written);
}

const char *fake_cuda_child(void (*scenario)(str *out))
{
    static char text[65536];
    int ends[2], status;
    size_t size = 0;
    fflush(NULL);
    if (pipe(ends)) abort();
    const pid_t child = fork();
    if (child < 0) abort();
    if (!child) run_child(scenario, ends[1]);
    close(ends[1]);
    for (ssize_t n; (n = read(ends[0], text + size, sizeof text - 1 - size)) > 0;)
        size += (size_t)n;
    close(ends[0]);
    text[size] = '\0';
    if (waitpid(child, &status, 0) != child) abort();
    if (WIFSIGNALED(status)) snprintf(text, sizeof text, "killed by signal %d", WTERMSIG(status));
    return text;
}

/* ---- The libraries -------------------------------------------------------------------------- */

static void *find(const char *library, const char *symbol)
{
    char path[sizeof folder + 32];
    snprintf(path, sizeof path, "%s/%s", folder, library);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    void *found = handle ? dlsym(handle, symbol) : NULL;
    if (handle) dlclose(handle);
    return found;
}

unsigned long fake_cuda_calls(const char *function)
{
    const bool is_driver = strncmp(function, "cu", 2) == 0;
    unsigned long (*count)(const char *name) = NULL;
    *(void **)&count = is_driver ? find("libcuda.so.1", "fake_cuda_count")
                                 : find("libnvrtc.so.13", "fake_nvrtc_count");
    return count ? count(function) : 0;
}

size_t fake_cuda_live_bytes(void)
{
    size_t (*live)(void);
    *(void **)&live = find("libcuda.so.1", "fake_cuda_live_bytes");
    return live ? live() : 0;
}

void fake_cuda_set_kernel(const char *entry, const int *sizes,
                          void (*run)(void **arguments, const unsigned grid[3],
                                      const unsigned block[3]))
{
    void (*set)(const char *name, void (*f)(void **a, const unsigned g[3], const unsigned b[3]),
                const int *bytes);
    *(void **)&set = find("libcuda.so.1", "fake_cuda_kernel");
    if (!set) abort();
    set(entry, run, sizes);
}

void *fake_cuda_reach(const void *address)
{
    void *(*reach)(const void *p);
    *(void **)&reach = find("libcuda.so.1", "fake_cuda_reach");
    return reach ? reach(address) : NULL;
}
