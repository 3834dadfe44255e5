/* lab_todo.h: what a starter does where the learner's code is still missing.
 *
 *   LAB_TODO("intervals_compute");
 *
 * prints one friendly line that names the function and its place in the handout, and ends the
 * program with status 3, "not attempted". It never returns, so that a starter without a return
 * statement compiles. Including this header also silences unused parameters, of which a starter has
 * many; take the include out when the file is done, and the compiler watches them again.
 *
 * A data file (record.json, objective.json) has blanks instead: null, or the text "TODO". While it
 * holds one "TODO" it counts as not attempted; lab_todo_find says where.
 */
#ifndef SERVELAB_BASE_LAB_TODO_H
#define SERVELAB_BASE_LAB_TODO_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { LAB_NOT_ATTEMPTED = 3 }; /* the exit status; cli.h's CLI_NOT_ATTEMPTED */

/* `file` is __FILE__ of the starter: the handout is README.md beside it, with one section a
 * function. */
void lab_todo(const char *file, int line, const char *function) __attribute__((noreturn));
#define LAB_TODO(function) lab_todo(__FILE__, __LINE__, function)

/* Is there a blank, a string value that is exactly "TODO", anywhere in *doc? Then path (cap bytes,
 * cut where too long) says where the first one stands: "events[2].source". */
bool lab_todo_find(const cJSON *doc, char *path, unsigned long cap);

#endif
