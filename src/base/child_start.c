/* SPDX-License-Identifier: Apache-2.0 */
/* The search for programs and the environment of children. Copies are freed after the start,
 * because by then the child has its own. */
#include "base/child_start.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

extern char **environ;

static const char DEFAULT_PATH[] = "/usr/local/bin:/usr/bin:/bin";

bool search_path_next(span *entry, const char **rest, const char *separators)
{
    const char *p = *rest + strspn(*rest, separators);
    *entry = (span){p, strcspn(p, separators)};
    *rest = p + entry->size;
    return entry->size != 0;
}

bool search_path_has_empty(const char *list, const char *separators)
{
    for (const char *p = list; *list; p++) {
        const size_t n = strcspn(p, separators);
        if (n == 0) return true;
        p += n;
        if (!*p) return false;
    }
    return false;
}

/* ---- The program ---------------------------------------------------------------------------- */

static bool is_program(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

int child_find_program(char **out, const char *name)
{
    const char *rest = getenv("PATH");
    span folder;
    *out = NULL;
    if (strchr(name, '/')) return (*out = mem_strdup(name)) ? 0 : ENOMEM;
    if (!rest || !*rest) rest = DEFAULT_PATH;
    while (search_path_next(&folder, &rest, ":")) {
        str path = {0};
        str_append_n(&path, folder.data, folder.size);
        str_append_char(&path, '/');
        str_append(&path, name);
        char *made = str_take(&path);
        if (!made) return ENOMEM;
        if (is_program(made)) {
            *out = made;
            return 0;
        }
        mem_free(made);
    }
    return ENOENT;
}

/* ---- The environment ------------------------------------------------------------------------ */

typedef struct environment {
    char **items; /* borrowed, except those in `own` */
    strvec own;
} environment;

static void environment_deinit(environment *e)
{
    mem_free(e->items);
    strvec_deinit(&e->own);
}

static const struct {
    const char *name, *separators; /* NULL: the child does not get the variable */
} CHANGED[] = {
    {"PATH=", ":"},
    {"LD_LIBRARY_PATH=", ":;"},
    {"PYTHONPATH=", ":"},
    {"PYTHONINSPECT=", NULL}, /* it makes Python import modules before the program's first line */
};
enum { CHANGED_COUNT = sizeof CHANGED / sizeof CHANGED[0] };

/* Copies the variable without its empty entries. *out stays NULL if all entries are empty. */
static bool clean(char **out, environment *e, const char *variable, size_t name_size,
                  const char *separators)
{
    str text = {0};
    span entry;
    const char *rest = variable + name_size;
    str_append_n(&text, variable, name_size);
    while (search_path_next(&entry, &rest, separators)) {
        if (text.size > name_size) str_append_char(&text, ':');
        str_append_n(&text, entry.data, entry.size);
    }
    bool good = !text.failed;
    if (good && text.size > name_size) {
        good = strvec_push_n(&e->own, text.data, text.size);
        if (good) *out = e->own.items[e->own.count - 1];
    }
    str_deinit(&text);
    return good;
}

/* Sets *out to the variable as the child gets it, or to NULL if the child does not get it. */
static bool inherit(char **out, environment *e, char *variable)
{
    *out = NULL;
    for (size_t i = 0; i < CHANGED_COUNT; i++) {
        if (!str_starts_with(variable, CHANGED[i].name)) continue;
        const char *separators = CHANGED[i].separators;
        return !separators || clean(out, e, variable, strlen(CHANGED[i].name), separators);
    }
    *out = variable;
    return true;
}

static bool environment_init(environment *e)
{
    size_t count = 0, kept = 0;
    while (environ && environ[count]) count++;
    e->items = mem_calloc(count + 1, sizeof *e->items);
    bool good = e->items != NULL;
    for (size_t i = 0; good && i < count; i++) {
        good = inherit(&e->items[kept], e, environ[i]);
        kept += good && e->items[kept];
    }
    return good;
}

static int start(pid_t *out, char *const *arguments, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes)
{
    environment e = {0};
    char *program = NULL, **words = NULL;
    size_t count = 0;
    while (arguments[count]) count++;
    int failure = child_find_program(&program, arguments[0]);
    if (failure) goto done;
    words = mem_calloc(count + 1, sizeof *words);
    if (!words || !environment_init(&e)) {
        failure = ENOMEM;
        goto done;
    }
    memcpy(words, arguments, count * sizeof *words);
    words[0] = program;
    failure = posix_spawn(out, program, actions, attributes, words, e.items);
done:
    environment_deinit(&e);
    mem_free(words);
    mem_free(program);
    return failure;
}

int child_start(pid_t *out, char *const *arguments, const posix_spawn_file_actions_t *actions)
{
    return start(out, arguments, actions, NULL);
}

int child_start_group(pid_t *out, char *const *arguments, const posix_spawn_file_actions_t *actions)
{
    posix_spawnattr_t attributes;
    int failure = posix_spawnattr_init(&attributes);
    if (failure) return failure;
    failure = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    if (!failure) failure = posix_spawnattr_setpgroup(&attributes, 0);
    if (!failure) failure = start(out, arguments, actions, &attributes);
    posix_spawnattr_destroy(&attributes);
    return failure;
}
