/* nfc.h: Unicode's normalisation form C (Unicode Standard Annex #15), which Qwen2's tokenizer
 * applies to a text before it splits it: characters are taken apart, marks are ordered by their
 * class, and what has a composed form is composed. Tables: nfc_data.c.
 */
#ifndef SERVELAB_MODEL_NFC_H
#define SERVELAB_MODEL_NFC_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Normalises text[0..n). A byte that is not part of well-formed UTF-8 stays, and nothing joins
 * across it. 0 with *out NULL when the text has nothing to change, or malloc'ed text of *n_out
 * bytes; -1 and *e when memory is out. Time is linear in n. */
int nfc_normalise(const char *text, size_t n, char **out, size_t *n_out, struct err *e);

/* ---- nfc_data.c ---- */

extern const uint32_t nfc_parts[]; /* a character, its first part, its second or 0; ascending */
extern const uint16_t nfc_composites[]; /* rows of nfc_parts by their parts, ascending */
extern const uint32_t nfc_classes[];    /* first and last character of a range, and its class */
extern const int nfc_n_parts, nfc_n_composites, nfc_n_classes;

#endif
