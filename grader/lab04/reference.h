/* reference.h: gives the reference's functions of labs 01, 02 and 04, and the reader of runs, names
 * of their own. reference*.c compile them once more under these names: in a program that is built
 * with a learner's files, the usual names are the learner's code, which must not run in the grader.
 * To be included before anything that declares them. */
#ifndef SERVELAB_GRADER_LAB04_REFERENCE_H
#define SERVELAB_GRADER_LAB04_REFERENCE_H

#define capacity_find           lab04_capacity_find
#define classify_attempt        lab04_classify_attempt
#define classify_good           lab04_classify_good
#define classify_request        lab04_classify_request
#define curve_knee              lab04_curve_knee
#define curve_region            lab04_curve_region
#define curve_saturation        lab04_curve_saturation
#define interval_between        lab04_interval_between
#define interval_divide         lab04_interval_divide
#define intervals_compute       lab04_intervals_compute
#define intervals_itl           lab04_intervals_itl
#define percentile_nearest_rank lab04_percentile_nearest_rank
#define point_classify          lab04_point_classify
#define point_intervals         lab04_point_intervals /* a structure, too */
#define point_measure           lab04_point_measure
#define point_stable            lab04_point_stable
#define point_verdict           lab04_point_verdict
#define report_attempt          lab04_report_attempt /* a structure, too */
#define report_group            lab04_report_group
#define report_measure          lab04_report_measure
#define report_regions          lab04_report_regions /* a structure, too */
#define report_run_read         lab04_report_run_read
#define report_run_release      lab04_report_run_release
#define report_run_same         lab04_report_run_same
#define report_verdict          lab04_report_verdict
#define slo_failure_rate        lab04_slo_failure_rate
#define slo_limit               lab04_slo_limit
#define slo_objective_value     lab04_slo_objective_value
#define slo_quality             lab04_slo_quality
#define slo_throughput          lab04_slo_throughput
#define slo_verdict             lab04_slo_verdict

#endif
