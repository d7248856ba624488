/* The scripts of lock/script/lua/, made into C by the build. Private to lock/. */
#ifndef HF_SCRIPTS_H
#define HF_SCRIPTS_H

#include <stddef.h>

struct hf_script {
    const char *name;
    const char *title;            /* the verb, for messages: "forced release" */
    char sha[41];                 /* SHA-1 of the text, as EVALSHA wants it */
    const char *text;
    size_t len;
    const char *commands;         /* that it calls, separated by spaces, without
                                     those of token.lua */
};

/* What token.lua calls, which numbers the grants of fenced locks. */
extern const char hf_token_commands[];

#include "lock/script/script_names.h" /* made, too: hf_script_acquire, ... */

#endif
