/* 600 MB of a tentative definition, which is in no section of the object.
 * examined: refused
 * trusted: nothing
 */
//reference engine_step right_step

__attribute__((common)) char engine_step_huge[600u << 20];

enum engine_progress engine_step(struct engine *g, int64_t *wake_ns, struct err *e) {
    engine_step_huge[0] = 1;
    return right_step(g, wake_ns, e);
}
