/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles with NVRTC. Sources include no headers, so the result does not depend on CUDA's headers
 * or other files. */
#include "device/cuda/compile.h"

#include <string.h>

#include "base/alloc.h"
#include "base/log.h"

static const char LOG_PATH[] = "device/cuda/compile.c";

enum { MAX_OPTIONS = 64 };

static pgy_status no_memory(const cuda_source *s, pgy_error *err)
{
    return pgy_error_set(err, PGY_E_MEMORY, "out of memory while '%s.cu' is compiled", s->name);
}

/* Reads the compiler's log; NULL: there is none. */
static char *read_log(const cuda_nvrtc *n, rtc_program p)
{
    size_t size = 0;
    if (n->log_size(p, &size) || size < 2) return NULL;
    char *text = mem_calloc(1, size + 1);
    if (text && n->log(p, text)) {
        mem_free(text);
        return NULL;
    }
    return text;
}

/* The first line that says "error", else the first line. */
static span first_error(const char *log)
{
    span first = {.data = log, .size = strcspn(log, "\n")};
    for (const char *line = log; *line;
         line += line[strcspn(line, "\n")] ? strcspn(line, "\n") + 1 : strlen(line)) {
        const span s = {.data = line, .size = strcspn(line, "\n")};
        const char *word = strstr(line, "error");
        if (word && word < line + s.size) return s;
    }
    return first;
}

static pgy_status refuse(const cuda_nvrtc *n, rtc_program p, const cuda_source *s, pgy_error *err)
{
    char *log = read_log(n, p);
    const span line = first_error(log ? log : "the compiler gives no reason");
    if (log) LOG(VERBOSE, "NVRTC on '%s.cu':\n%s", s->name, log);
    pgy_error_set(err, PGY_E_BACKEND, "kernel source '%s.cu' does not compile for %s: %.*s",
                  s->name, s->architecture, (int)(line.size < 400 ? line.size : 400), line.data);
    mem_free(log);
    return PGY_E_BACKEND;
}

static pgy_status take_cubin(void **out, size_t *out_size, const cuda_nvrtc *n, rtc_program p,
                             const cuda_source *s, pgy_error *err)
{
    size_t size = 0;
    if (n->cubin_size(p, &size) || !size)
        return pgy_error_set(err, PGY_E_BACKEND, "NVRTC makes no machine code of '%s.cu' for %s",
                             s->name, s->architecture);
    void *cubin = mem_alloc(size);
    if (!cubin) return no_memory(s, err);
    if (n->cubin(p, cubin)) {
        mem_free(cubin);
        return pgy_error_set(err, PGY_E_BACKEND, "NVRTC does not give the machine code of '%s.cu'",
                             s->name);
    }
    *out = cubin;
    *out_size = size;
    return PGY_OK;
}

static pgy_status compile(void **out, size_t *out_size, const cuda_nvrtc *n, rtc_program p,
                          const cuda_source *s, pgy_error *err)
{
    const char *options[MAX_OPTIONS];
    char architecture[64] = "--gpu-architecture=";
    int count = 0;
    strncat(architecture, s->architecture, sizeof architecture - strlen(architecture) - 1);
    options[count++] = architecture;
    options[count++] = "--std=c++17";
    options[count++] = "--device-as-default-execution-space";
    for (size_t i = 0; s->options[i] && count < MAX_OPTIONS; i++) options[count++] = s->options[i];
    if (n->compile(p, count, options)) return refuse(n, p, s, err);
    return take_cubin(out, out_size, n, p, s, err);
}

pgy_status cuda_compile(void **out, size_t *out_size, const cuda_nvrtc *n, const cuda_source *s,
                        pgy_error *err)
{
    rtc_program p = NULL;
    str file = {0};
    str_printf(&file, "%s.cu", s->name);
    if (file.failed || n->create(&p, s->text, str_text(&file), 0, NULL, NULL)) {
        str_deinit(&file);
        return no_memory(s, err);
    }
    const pgy_status st = compile(out, out_size, n, p, s, err);
    (void)n->destroy(&p);
    str_deinit(&file);
    return st;
}
