/* Status codes as names and as sentences, both from the one list in base.h. */
/* Tests: tests/test_resp_base.c. */
#include <string.h>

#include "resp/base.h"

/* Strings one after the other need half the size of an array of pointers. */
static const short values[] = {
#define VALUE(name, value, text) value,
    HF_RESP_STATUS_MAP(VALUE)
#undef VALUE
};

static const char names[] =
#define NAME(name, value, text) #name "\0"
    HF_RESP_STATUS_MAP(NAME)
#undef NAME
    "HF_?";

static const char texts[] =
#define TEXT(name, value, text) text "\0"
    HF_RESP_STATUS_MAP(TEXT)
#undef TEXT
    "a status that this version does not know";

/* Returns the string of this status among `strings`, or the one after all. */
static const char *find_status_string(const char *strings, hf_status status)
{
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (values[i] == status)
            break;
        strings += strlen(strings) + 1;
    }
    return strings;
}

const char *hf_resp_status_text(hf_status status)
{
    return find_status_string(texts, status);
}

const char *hf_resp_status_name(hf_status status)
{
    return find_status_string(names, status);
}
