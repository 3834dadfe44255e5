/* explain.h: the page of definitions, common/DEFINITIONS.md, as part of the program. */
#ifndef SERVELAB_REPORT_EXPLAIN_H
#define SERVELAB_REPORT_EXPLAIN_H

/* The page's text, Markdown. */
const char *report_definitions(void);

#endif
