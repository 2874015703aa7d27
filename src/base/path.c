/* SPDX-License-Identifier: Apache-2.0 */
/* Paths as text, by the rules of Python's os.path. Only path_absolute makes a system call: it asks
 * for the working directory. */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"

char *path_join(const char *dir, const char *name)
{
    str s = {0};
    if (name[0] != '/') {
        str_append(&s, dir);
        if (s.size && s.data[s.size - 1] != '/') str_append_char(&s, '/');
    }
    str_append(&s, name);
    return str_take(&s);
}

char *path_dirname(const char *path)
{
    size_t n = (size_t)(path_basename(path) - path);
    if (n == 0) return mem_strdup(".");
    while (n > 1 && path[n - 1] == '/') n--;
    return mem_strndup(path, n);
}

const char *path_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *path_extension(const char *path)
{
    const char *name = path_basename(path);
    name += strspn(name, ".");
    const char *dot = strrchr(name, '.');
    return dot ? dot : name + strlen(name);
}

/* Appends the components of `path` to an absolute path that has no slash at its end ("" is the
 * root). */
static void append_components(str *out, const char *path)
{
    while (*path) {
        const size_t n = strcspn(path, "/");
        if (n == 2 && path[0] == '.' && path[1] == '.') {
            while (out->size && out->data[--out->size] != '/') {
            }
            if (out->data) out->data[out->size] = '\0';
        } else if (n && !(n == 1 && path[0] == '.')) {
            str_append_char(out, '/');
            str_append_n(out, path, n);
        }
        path += n;
        path += *path == '/';
    }
}

char *path_absolute(const char *path)
{
    str s = {0};
    if (path[0] != '/') {
        char *here = getcwd(NULL, 0);
        if (!here) return NULL;
        append_components(&s, here);
        mem_free(here);
    }
    append_components(&s, path);
    if (s.size == 0) str_append_char(&s, '/');
    return str_take(&s);
}
