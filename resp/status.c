/* Status codes as names and as sentences, both from the one list in base.h. */
#include "resp/base.h"

const char *hf_status_text(hf_status status)
{
    switch (status) {
#define TEXT(name, value, text)                                               \
    case name:                                                                \
        return text;
        HF_STATUS_MAP(TEXT)
#undef TEXT
    }
    return "a status that this version does not know";
}

const char *hf_status_name(hf_status status)
{
    switch (status) {
#define NAME(name, value, text)                                               \
    case name:                                                                \
        return #name;
        HF_STATUS_MAP(NAME)
#undef NAME
    }
    return "HF_?";
}
