/* SPDX-License-Identifier: Apache-2.0 */
/* For libcuda.c with FAKE_CUDA_RUNS: the C compiler makes a shared object of a module's text, and
 * launches run in it (emulation.h, emulation.c). */
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static inline void run_give_up(const char *what)
{
    fprintf(stderr, "running libcuda: %s\n", what);
    abort();
}

static inline int run_idle(void)
{
    return getenv("FAKE_CUDA_IDLE") != NULL;
}

/* A fork would copy the page tables of gigabytes for each of hundreds of kernels. Most of the time
 * is the compiler's, so it optimises little and links nothing. */
static inline void run_compiler(const char *source, const char *object)
{
    const char *const words[] = {FAKE_CUDA_RUNS,
                                 "-x",
                                 "c",
                                 "-std=gnu11",
                                 "-Og",
                                 "-w",
                                 "-shared",
                                 "-nostdlib",
                                 "-Wno-psabi",
                                 "-fPIC",
                                 "-fvisibility=hidden",
                                 "-ffp-contract=off",
                                 "-fno-math-errno",
                                 "-fno-stack-protector",
                                 "-U_FORTIFY_SOURCE",
                                 "-include",
                                 FAKE_CUDA_EMULATION,
                                 "-o",
                                 object,
                                 source,
                                 NULL};
    pid_t child;
    int status;
    if (posix_spawnp(&child, words[0], NULL, NULL, (char *const *)words, environ))
        run_give_up("no process for the compiler");
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status)) {
        fprintf(stderr, "running libcuda: '%s' does not compile\n", source);
        abort();
    }
}

/* A compiled module's shared object and source text. It stays open as long as the process. */
typedef struct run_object {
    struct run_object *next;
    void *handle;
    char text[];
} run_object;

static inline void *run_known(run_object *list, const char *text)
{
    for (; list; list = list->next)
        if (strcmp(list->text, text) == 0) return list->handle;
    return NULL;
}

/* FAKE_CUDA_SAVE=FOLDER saves all module sources there, for tests/gpu/compile. */
static inline void run_save(const char *text)
{
    static unsigned count;
    const char *folder = getenv("FAKE_CUDA_SAVE");
    char path[1024];
    if (!folder) return;
    snprintf(path, sizeof path, "%s/%05u.cu", folder, count++);
    FILE *f = fopen(path, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) run_give_up("no file for a text");
}

/* Mixes bytes into a hash (FNV-1a). */
static inline uint64_t run_hash(uint64_t hash, const void *data, size_t size_bytes)
{
    const unsigned char *bytes = data;
    for (size_t i = 0; i < size_bytes; i++) hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Objects are kept between runs, because a test compiles hundreds of them. The file name is a hash
 * of all that the object depends on: source, compiler, compiler options and emulation.h. */
static inline void run_object_path(char path[1024], const char *text)
{
    struct stat emulation, compiler; /* the compiler of kernels is not that of this file */
    const int options_version = 2;   /* raise it whenever the options in run_compiler change */
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    if (stat(FAKE_CUDA_EMULATION, &emulation)) run_give_up("no emulation");
    if (stat(FAKE_CUDA_RUNS, &compiler)) run_give_up("no compiler");
    if (mkdir(FAKE_CUDA_OBJECTS, 0777) && errno != EEXIST) run_give_up("no folder for objects");
    hash = run_hash(hash, FAKE_CUDA_RUNS, sizeof FAKE_CUDA_RUNS);
    hash = run_hash(hash, &compiler.st_mtim, sizeof compiler.st_mtim);
    hash = run_hash(hash, &emulation.st_mtim, sizeof emulation.st_mtim);
    hash = run_hash(hash, &options_version, sizeof options_version);
    snprintf(path, 1024, "%s/%016llx%016llx.so", FAKE_CUDA_OBJECTS,
             (unsigned long long)run_hash(hash, text, strlen(text)),
             (unsigned long long)run_hash(~hash, text, strlen(text)));
}

static inline void run_make_object(const char *object, const char *text)
{
    char source[1024], made[1100];
    snprintf(source, sizeof source, "%s/cuda_kernel_XXXXXX",
             getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    const int file = mkstemp(source);
    if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text))
        run_give_up("no file for a kernel");
    close(file);
    snprintf(made, sizeof made, "%s.%d", object, (int)getpid());
    run_compiler(source, made);
    if (rename(made, object)) run_give_up("an object cannot be renamed");
    unlink(source);
}

/* A name of emulation.c. Kernels find its names and libm's because its object is global. */
static inline void *run_emulation(const char *name)
{
    static void *library;
    if (!library) library = dlopen(FAKE_CUDA_EMULATION_LIBRARY, RTLD_NOW | RTLD_GLOBAL);
    void *found = library ? dlsym(library, name) : NULL;
    if (!found) run_give_up(dlerror());
    return found;
}

/* Compiles a module's source, which begins with one line per option, and opens the object.
 */
static inline void *run_compile(const char *text)
{
    static run_object *known;
    char object[1024];
    while (*text == '-') text = strchr(text, '\n') + 1;
    if (run_known(known, text)) return run_known(known, text);
    run_save(text);
    run_object *o = malloc(sizeof *o + strlen(text) + 1);
    if (!o) run_give_up("out of memory");
    run_object_path(object, text);
    if (access(object, R_OK)) run_make_object(object, text);
    run_emulation("emulated_launch");
    void *handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (!handle) run_give_up(dlerror());
    o->next = known;
    o->handle = handle;
    memcpy(o->text, text, strlen(text) + 1);
    known = o;
    return handle;
}

/* A kernel launch. Every kernel has one argument, a struct, which is copied here. */
typedef struct run_call {
    void (*launch)(void (*kernel)(void *const *), void *const *given, const unsigned *blocks,
                   const unsigned *block);
    void (*kernel)(void *const *);
    uint64_t argument[512];
} run_call;

static inline run_call run_call_of(void *object, const char *entry, void **arguments)
{
    run_call c;
    char name[160];
    snprintf(name, sizeof name, "%s_argument_bytes", entry);
    *(void **)&c.launch = run_emulation("emulated_launch");
    *(void **)&c.kernel = dlsym(object, entry);
    const size_t *size = dlsym(object, name);
    if (!c.launch || !c.kernel || !size || *size > sizeof c.argument) run_give_up(entry);
    memcpy(c.argument, arguments[0], *size);
    return c;
}

static inline void run_launch(const run_call *c, const unsigned *grid, const unsigned *threads)
{
    void *const given[] = {(void *)c->argument};
    c->launch(c->kernel, given, grid, threads);
}
