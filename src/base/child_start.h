/* SPDX-License-Identifier: Apache-2.0 */
/* Other programs that are started. In PATH, LD_LIBRARY_PATH and PYTHONPATH an empty entry means the
 * current folder; such entries come from joining variables that are not set, not from a decision of
 * the user, so neither the search for a program nor what it inherits takes them into account. */
#ifndef BASE_CHILD_START_H
#define BASE_CHILD_START_H

#include <spawn.h>
#include <sys/types.h>

#include "base/str.h"

/* The next entry that is not empty of a list of folders; `*rest` moves behind it. False: none is
 * left. `separators`: ":" or, for LD_LIBRARY_PATH, ":;". */
bool search_path_next(span *entry, const char **rest, const char *separators);
bool search_path_has_empty(const char *list, const char *separators);

/* Begins every Python program that we give as `-c`: Python puts the current folder, as "", in front
 * of its module path. `sys` is built in, so nothing is imported from there before. */
#define PYTHON_FIRST_LINE "import sys; sys.path[:] = [p for p in sys.path if p]\n"

/* posix_spawnp with the search and the environment above. The child's argv[0] is the path that was
 * found, because interpreters look for their libraries beside it. @return 0 or an errno */
int child_start(pid_t *out, char *const *arguments, const posix_spawn_file_actions_t *actions);

#endif
