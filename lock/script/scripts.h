/* The scripts of lock/script/lua/, which the build converts to C. Private to lock/. */
#ifndef HF_SCRIPTS_H
#define HF_SCRIPTS_H

#include <stddef.h>

struct hf_script {
    const char *name;
    const char *verb_title;       /* the verb, for messages: "forced release" */
    char sha[41];                 /* SHA-1 of the text, in the form of EVALSHA */
    const char *text;
    size_t len;
    const char *called_commands;  /* the commands that it calls, separated by spaces, without those
                                     of token.lua */
};

/* The commands that token.lua calls. It numbers the grants of fenced locks. */
extern const char hf_token_commands[];

#include "lock/script/script_names.h" /* generated: hf_script_acquire, ... */

#endif
