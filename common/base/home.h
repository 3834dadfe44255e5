/* home.h: finds a file of the project from one of its programs.
 *
 * The folders above the program are searched, nearest first, then the current folder. No path is
 * compiled in, so a checkout can be moved.
 */
#ifndef SERVELAB_BASE_HOME_H
#define SERVELAB_BASE_HOME_H

/* The embedded model, which commands use without --model. Pass it to home_path. */
#define HOME_DEFAULT_MODEL "common/model/embedded/servelab-tiny.gguf"

/* Writes the path of `relative` (such as HOME_DEFAULT_MODEL) into out[0..cap) and returns out. If
 * there is no such file, writes `relative` itself: opening it then gives an error that names it. */
const char *home_path(const char *relative, char *out, unsigned long cap);

#endif
