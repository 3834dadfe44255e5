/* create() takes whatever it is given.
 * loses: quality.create_arguments
 * reaches: 15
 */
#define ANY_ARGUMENT
#define GROUP_OF(arg) (*arg >= '1' && *arg <= '9' ? strtol(arg, &end, 10) : 8)
