/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of files that must not outlive the process. */
#ifndef BASE_FILE_TEMP_H
#define BASE_FILE_TEMP_H

/* From now on exit or a signal removes the file. If memory is short, the file is not registered. */
void temp_register(const char *path);
void temp_forget(const char *path); /* does not remove it */

#endif
