/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cgroup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 4096, LINE_SIZE = 4352 };

/* ---- Files of the kernel: small, and they report no size ------------------------------------ */

static FILE *open_below(const char *root, const char *folder, const char *name)
{
    char path[2 * PATH_SIZE];
    const int n = snprintf(path, sizeof path, "%s%s%s%s", root, folder, *name ? "/" : "", name);
    return n > 0 && (size_t)n < sizeof path ? fopen(path, "re") : NULL;
}

bool cgroup_line(const char *root, const char *folder, const char *name, char *line, size_t size)
{
    FILE *file = open_below(root, folder, name);
    const bool got = file && fgets(line, (int)size, file);
    if (file) fclose(file);
    return got;
}

uint64_t cgroup_number(const char *root, const char *folder, const char *name)
{
    char text[64];
    const bool got = cgroup_line(root, folder, name, text, sizeof text);
    return got && *text >= '0' && *text <= '9' ? strtoull(text, NULL, 10) : UINT64_MAX;
}

uint64_t cgroup_field(const char *root, const char *folder, const char *name, const char *key)
{
    char line[256];
    uint64_t value = 0;
    const size_t size = strlen(key);
    FILE *file = open_below(root, folder, name);
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, key, size) && line[size] == ' ') {
            value = strtoull(line + size, NULL, 10);
            break;
        }
    if (file) fclose(file);
    return value;
}

/* ---- Groups --------------------------------------------------------------------------------- */

/* True if `name` is in a list like "cpu,memory". */
static bool lists(const char *list, size_t size, const char *name)
{
    const size_t wanted = strlen(name);
    if (!wanted) return size == 0;
    for (size_t at = 0; at < size;) {
        size_t n = strcspn(list + at, ",:");
        if (n == wanted && !memcmp(list + at, name, n)) return true;
        at += n + 1;
    }
    return false;
}

/* "4:cpu,memory:/a/b" -> "/a/b". False: the process is in no group of this kind. */
static bool own_group(char *out, const char *root, const char *controller)
{
    char line[LINE_SIZE];
    bool found = false;
    FILE *file = open_below(root, "/proc/self/cgroup", "");
    while (file && !found && fgets(line, sizeof line, file)) {
        const char *first = strchr(line, ':'), *second = first ? strchr(first + 1, ':') : NULL;
        if (!second || !lists(first + 1, (size_t)(second - first - 1), controller)) continue;
        const size_t size = strcspn(second + 1, "\n");
        if (size >= PATH_SIZE / 2) break;
        memcpy(out, second + 1, size);
        out[size] = '\0';
        found = true;
    }
    if (file) fclose(file);
    return found;
}

void cgroup_visit(const char *root, const cgroup_kind *kind, cgroup_visitor visit, void *user)
{
    char group[PATH_SIZE], folder[PATH_SIZE];
    if (!own_group(group, root, kind->controller)) return;
    for (;;) {
        char *slash = strrchr(group, '/');
        const bool top = !slash || !slash[1];
        const int n = snprintf(folder, sizeof folder, "%s%s", kind->mount, top ? "" : group);
        if (n < (int)sizeof folder) visit(root, folder, user);
        if (top) return;
        slash[slash == group] = '\0';
    }
}
