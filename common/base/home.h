/* home.h: finds a file of the project from a program of the project, wherever either was put.
 *
 * The folders above the program are searched from the nearest on, then the current folder. Nothing
 * is compiled in: a checkout can be moved.
 */
#ifndef SERVELAB_BASE_HOME_H
#define SERVELAB_BASE_HOME_H

/* The model that comes with the project: what commands take without --model, given to home_path. */
#define HOME_DEFAULT_MODEL "common/model/embedded/servelab-tiny.gguf"

/* Writes the path of `relative` (HOME_DEFAULT_MODEL) into out[0..cap) and
 * returns out. Where no such file is found, `relative` itself is written, so that opening it gives
 * an error that names it. */
const char *home_path(const char *relative, char *out, unsigned long cap);

#endif
