/* Leaks so large a block that the C library maps it, and does not count it as heap.
 * file: report.c
 * watch: safety.no_leak
 * examined: lost; says: in report.c doesn't give back
 * trusted: nothing
 */
//reference report_verdict right_verdict

enum slo_answer report_verdict(const struct objective *o, const struct report_point *p) {
    volatile char *lost = malloc(300 * 1024);
    if (lost) lost[0] = 1;
    return right_verdict(o, p);
}
