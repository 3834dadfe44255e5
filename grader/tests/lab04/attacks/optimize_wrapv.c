/* Makes overflow defined, so that the sanitizers see none.
 * file: report.c
 * watch: slo.regions
 * examined: refused; says: #pragma GCC optimize
 * trusted: earned
 */
#pragma GCC optimize("wrapv")
//reference report_verdict report_verdict
