/* A second judge of small histories, to judge the first: it has all lines before it,
 * tells what is known of a hold by reading all of them again each time, and compares
 * all beliefs and all holds with each other. It knows one server, holds without
 * names of their own, and no faults but suspended and dead clients, deletions and
 * servers that forget; P1 to P4 and P6 to P10 of properties.h. */
#ifndef CHECK_NAIVE_H
#define CHECK_NAIVE_H

#include "tests/judge/history.h"

/* naive_judge - which properties are broken: bit N is PN. */
uint32_t naive_judge(const struct history_event *events, int count,
                     const struct history_header *header);

#endif
