/* What operations there are. Private to lock/. */
#ifndef HF_VERBS_H
#define HF_VERBS_H

#include "lock/records.h"

extern const struct hf_verb hf_verb_acquire, hf_verb_release, hf_verb_force,
    hf_verb_inspect;

#endif
