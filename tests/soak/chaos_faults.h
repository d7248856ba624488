/* What goes wrong in make chaos, one thing after the other. */
#ifndef CHAOS_FAULTS_H
#define CHAOS_FAULTS_H

#include "tests/soak/chaos_run.h"

/* faults_count - how many kinds there are. faults_name, faults_done - of the kind
 *                `i`: its name, how often it was done since the program's start.
 * faults_fit   - can it be done in this place?
 * faults_one   - one that was never done yet, else any; then a while without. All is
 *                mended on return, but for a failover's roles. */
int faults_count(void);
const char *faults_name(int i);
unsigned faults_done(int i);
bool faults_fit(int i, const struct place *place);
void faults_one(struct run *r);

#endif
