/* Verdicts from a table that knows a few kinds of points.
 * file: report.c
 * watch: slo.verdict
 * examined: lost; says: case
 * trusted: nothing
 */
//reference report_verdict right_verdict

enum slo_answer report_verdict(const struct objective *o, const struct report_point *p) {
    (void)o, (void)right_verdict;
    return p->useful == 0 || !p->load.stable ? SLO_MISSED : SLO_MET;
}
