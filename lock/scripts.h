/* The scripts of lock/scripts/, made into C by the build. Private to lock/. */
#ifndef HF_SCRIPTS_H
#define HF_SCRIPTS_H

#include <stddef.h>

struct hf_script {
    const char *name;
    char sha[41];                 /* SHA-1 of the text, as EVALSHA wants it */
    const char *text;
    size_t len;
};

extern const struct hf_script hf_script_acquire;
extern const struct hf_script hf_script_fenced_acquire;
extern const struct hf_script hf_script_release;
extern const struct hf_script hf_script_renew;
extern const struct hf_script hf_script_force_release;
extern const struct hf_script hf_script_inspect;
extern const struct hf_script hf_script_read_acquire;
extern const struct hf_script hf_script_read_release;
extern const struct hf_script hf_script_read_renew;
extern const struct hf_script hf_script_rw_force_release;
extern const struct hf_script hf_script_write_acquire;
extern const struct hf_script hf_script_write_release;

#endif
