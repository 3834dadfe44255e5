/* lab_todo.h: ends the program with "not attempted" where the learner's code is still missing.
 *
 *   LAB_TODO("intervals_compute");
 *
 * prints one line that names the function and its section of the handout, and ends the program with
 * exit status 3, "not attempted". It never returns, so a starter compiles without a return
 * statement. This header also silences warnings about unused parameters, of which a starter has
 * many; remove the include when the file is done, and the compiler warns again.
 *
 * A data file (record.json, objective.json) has blanks instead: null, or the text "TODO". A file
 * with a "TODO" in it counts as not attempted; lab_todo_find reports where.
 */
#ifndef SERVELAB_BASE_LAB_TODO_H
#define SERVELAB_BASE_LAB_TODO_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { LAB_NOT_ATTEMPTED = 3 }; /* exit status, as CLI_NOT_ATTEMPTED in cli.h */

/* `file` is the starter's __FILE__. The handout is README.md in the same folder, with one section
 * per function. */
void lab_todo(const char *file, int line, const char *function) __attribute__((noreturn));
#define LAB_TODO(function) lab_todo(__FILE__, __LINE__, function)

/* Finds a blank, a string value that is exactly "TODO", anywhere in *doc. If there is one, path
 * (cap bytes, cut if too long) gets the place of the first: "events[2].source". */
bool lab_todo_find(const cJSON *doc, char *path, unsigned long cap);

#endif
