/* evidence.h: lab 02's data files, findings.json and protocol.json, examined. They are data: no
 * code of a submission runs.
 *
 * The checks, by what follows "evidence." in their id, with the file that they look at:
 *   findings_valid       the form is whole (findings.h), and holds the handout's setting
 *   findings_numbers     each number is what the simulator gives for the setting stated beside it
 *   findings_answers     each yes or no agrees with those numbers, the break-even set-up is one,
 *                        and the conclusion speaks of both sides
 *   protocol_valid       the form is whole (protocol.h)
 *   protocol_complete    everything is there that a benchmark needs
 *   protocol_consistent  no part contradicts another, one thing varies, no result is claimed
 * The last two of each file are not run until the first is earned.
 */
#ifndef SERVELAB_GRADER_LAB02_EVIDENCE_H
#define SERVELAB_GRADER_LAB02_EVIDENCE_H

#include "core/lab.h"

/* See lab.h. */
void lab02_examine(const struct check_def *def, const char *folder, struct evidence *out);

#endif
