/* SPDX-License-Identifier: Apache-2.0 */
/* Starts other programs. In PATH, LD_LIBRARY_PATH and PYTHONPATH an empty entry means the
 * current folder; such entries usually come from joining unset variables, not from a decision of
 * the user. So the search for a program ignores them, and the child's environment omits them. */
#ifndef BASE_CHILD_START_H
#define BASE_CHILD_START_H

#include <spawn.h>
#include <sys/types.h>

#include "base/str.h"

/* Finds the next entry of a list of folders that is not empty, and moves `*rest` behind it. Returns
 * false at the end. `separators` is ":" or, for LD_LIBRARY_PATH, ":;". */
bool search_path_next(span *entry, const char **rest, const char *separators);
bool search_path_has_empty(const char *list, const char *separators);

/* The first line of every Python program that we pass with `-c`. It removes the current folder,
 * which Python puts in front of its module path as "". `sys` is built in, so importing it reads
 * nothing from that folder. */
#define PYTHON_FIRST_LINE "import sys; sys.path[:] = [p for p in sys.path if p]\n"

/* Searches the folders of PATH for a program; a name with a slash is a path already, and is not
 * checked. The caller frees *out (mem_free). @return 0 or an errno; ENOENT: no folder has it */
int child_find_program(char **out, const char *name);
/* Like posix_spawnp, with the search and the environment described above. The child's argv[0] is
 * the path that was found, because interpreters look for their libraries beside it. @return 0 or an
 * errno */
int child_start(pid_t *out, char *const *arguments, const posix_spawn_file_actions_t *actions);
/* Like child_start; the child leads a new process group. */
int child_start_group(pid_t *out, char *const *arguments,
                      const posix_spawn_file_actions_t *actions);

#endif
