/* Any bytes as a server URL. What is taken is written out again, every byte
 * escaped, and must come back the same; what is refused leaves no trace but an
 * error with a position, and the error does not depend on a password. */
#include "fuzz/url_promises.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = strndup((const char *)data, size < FUZZ_LOGIN_MAX ? size : FUZZ_LOGIN_MAX);
    struct hf_seeds seeds;
    struct hf_url u;
    struct hf_error e;

    memset(&u, 0, sizeof u);
    if (hf_url_parse(&u, text, &e) == HF_OK)
        must_be_taken(&u);
    else
        must_be_refused(&u, text, &e);
    hf_url_wipe(&u);
    memset(&seeds, 0, sizeof seeds);
    if (hf_url_parse_seeds(&u, &seeds, text, &e) == HF_OK)
        must_be_taken_seeds(&u, &seeds, text);
    else
        must_be_refused(&u, text, &e);
    hf_url_wipe(&u);
    hf_seeds_wipe(&seeds);
    free(text);
    return 0;
}
