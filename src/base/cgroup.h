/* SPDX-License-Identifier: Apache-2.0 */
/* The control groups (cgroup v1 or v2) that contain this process, and the small files of the kernel
 * that state their limits. */
#ifndef BASE_CGROUP_H
#define BASE_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In all of these, `root` is the folder that has proc/ and sys/; only tests pass something other
 * than "". Nothing is allocated, because memory may be short. */

/* The first line of <root><folder>/<name>, with its newline. @return false if there is none */
bool cgroup_line(const char *root, const char *folder, const char *name, char *line, size_t size);
/* The number in a file. UINT64_MAX for "max", for text that is no number, and for a missing file.
 */
uint64_t cgroup_number(const char *root, const char *folder, const char *name);
/* The number after `key` ("MemAvailable:", "inactive_file"); 0 if the key is absent. */
uint64_t cgroup_field(const char *root, const char *folder, const char *name, const char *key);

/* A hierarchy of control groups. */
typedef struct cgroup_kind {
    const char *controller; /* controller in /proc/self/cgroup; "": cgroup v2 */
    const char *mount;
} cgroup_kind;

/* Calls visit with the folder of the process's group in this hierarchy, and with those of all its
 * ancestors. A container may see its own group as the root; then the folders of its path do not
 * exist, and the root has the limit. */
typedef void (*cgroup_visitor)(const char *root, const char *folder, void *user);
void cgroup_visit(const char *root, const cgroup_kind *kind, cgroup_visitor visit, void *user);

#endif
