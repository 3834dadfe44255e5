/* judge_policy.h: the two judges of a policy, and what they share. judge_policy.c asks whether the
 * policy keeps its promises, judge_goodput.c how many requests it serves well. */
#ifndef SERVELAB_GRADER_LAB02_JUDGE_POLICY_H
#define SERVELAB_GRADER_LAB02_JUDGE_POLICY_H

#include "lab02/lab02.h"
#include "lab02/play.h"

/* Plays p with the submission's policy. True when there was no violation; otherwise *r shows it. */
bool lab02_play_well(struct dialogue *d, struct check_result *r, struct play *p,
                     struct play_result *out);

/* Sets the outcome to lost, with a message. */
void lab02_lose(struct check_result *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Sets *r by the goodput on the plays of the check's kind. */
void lab02_judge_goodput(const struct check_def *def, struct dialogue *d, struct check_result *r);

#endif
