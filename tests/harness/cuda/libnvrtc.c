/* SPDX-License-Identifier: Apache-2.0 */
/* A stand-in for NVRTC. Its machine code is an ELF file that holds the options and the source. A
 * source with "#error" does not compile. FAKE_NVRTC_VERSION=12.8 makes it another version;
 * FAKE_CUDA_FAIL is in fault.h. */
#include <elf.h>
#include <stdio.h>

#include "device/cuda/driver.h"
#include "fault.h"

#define EXPORT __attribute__((visibility("default")))
#define BEGIN(name)                      \
    do {                                 \
        const int code = fault_of(name); \
        if (code) return code;           \
    } while (0)

struct _nvrtcProgram {
    char *source, *name, *log;
    char *cubin;
    size_t cubin_size;
};

enum { COMPILATION_FAILED = 6, INVALID = 3, TEXT_AT = sizeof(Elf64_Ehdr) + sizeof(Elf64_Shdr) };

EXPORT unsigned long fake_nvrtc_count(const char *name)
{
    return fault_counter_of(name)->count;
}

EXPORT int nvrtcVersion(int *major, int *minor)
{
    BEGIN("nvrtcVersion");
    const char *text = getenv("FAKE_NVRTC_VERSION");
    *major = 13;
    *minor = 0;
    if (text) (void)!sscanf(text, "%d.%d", major, minor);
    return 0;
}

EXPORT int nvrtcCreateProgram(rtc_program *out, const char *source, const char *name, int count,
                              const char *const *headers, const char *const *names)
{
    BEGIN("nvrtcCreateProgram");
    (void)headers, (void)names;
    rtc_program p = calloc(1, sizeof *p);
    if (!p || count) return INVALID;
    p->source = strdup(source);
    p->name = strdup(name);
    *out = p;
    return 0;
}

static char *join_text(const rtc_program p, int count, const char *const *options, size_t *size)
{
    char *text = NULL;
    FILE *f = open_memstream(&text, size);
    if (!f) abort();
    for (int i = 0; i < count; i++) fprintf(f, "%s\n", options[i]);
    fputs(p->source, f);
    fputc('\0', f);
    fclose(f);
    return text;
}

static int refuse(rtc_program p, const char *at)
{
    int line = 1;
    char *log = malloc(256);
    if (!log) abort();
    for (const char *c = p->source; c < at; c++) line += *c == '\n';
    snprintf(log, 256, "%s(%d): warning #1: a stand-in\n%s(%d): error: %.*s\n\n1 error detected",
             p->name, line, p->name, line, (int)strcspn(at, "\n"), at);
    p->log = log;
    return COMPILATION_FAILED;
}

EXPORT int nvrtcCompileProgram(rtc_program p, int count, const char *const *options)
{
    BEGIN("nvrtcCompileProgram");
    const char *wrong = strstr(p->source, "#error");
    size_t size = 0;
    if (wrong) return refuse(p, wrong);
    char *text = join_text(p, count, options, &size);
    const Elf64_Ehdr header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64},
                               .e_shoff = sizeof(Elf64_Ehdr),
                               .e_shentsize = sizeof(Elf64_Shdr),
                               .e_shnum = 1};
    const Elf64_Shdr section = {.sh_type = SHT_PROGBITS, .sh_offset = TEXT_AT, .sh_size = size};
    p->cubin_size = TEXT_AT + size;
    p->cubin = malloc(p->cubin_size);
    if (!p->cubin) abort();
    memcpy(p->cubin, &header, sizeof header);
    memcpy(p->cubin + sizeof header, &section, sizeof section);
    memcpy(p->cubin + TEXT_AT, text, size);
    free(text);
    return 0;
}

EXPORT int nvrtcGetCUBINSize(rtc_program p, size_t *size)
{
    BEGIN("nvrtcGetCUBINSize");
    *size = p->cubin_size;
    return 0;
}

EXPORT int nvrtcGetCUBIN(rtc_program p, char *cubin)
{
    BEGIN("nvrtcGetCUBIN");
    memcpy(cubin, p->cubin, p->cubin_size);
    return 0;
}

EXPORT int nvrtcGetProgramLogSize(rtc_program p, size_t *size)
{
    BEGIN("nvrtcGetProgramLogSize");
    *size = p->log ? strlen(p->log) + 1 : 1;
    return 0;
}

EXPORT int nvrtcGetProgramLog(rtc_program p, char *log)
{
    BEGIN("nvrtcGetProgramLog");
    memcpy(log, p->log ? p->log : "", p->log ? strlen(p->log) + 1 : 1);
    return 0;
}

EXPORT int nvrtcDestroyProgram(rtc_program *program)
{
    BEGIN("nvrtcDestroyProgram");
    rtc_program p = *program;
    free(p->source);
    free(p->name);
    free(p->log);
    free(p->cubin);
    free(p);
    *program = NULL;
    return 0;
}
