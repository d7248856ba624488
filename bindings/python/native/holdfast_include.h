/* The headers of holdfast: the installed ones, or those of native/library. */
#ifdef HFPY_SYSTEM
#include <holdfast/holdfast.h>
#else
#include "holdfast.h"
#endif
