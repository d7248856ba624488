/* The version of holdfast, at compile time and at run time. Part of net/net.h. */
#ifndef HF_VERSION_H
#define HF_VERSION_H

#include "resp/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of these headers. It is written nowhere else: the Makefile, pkg-config and
 * CMake take it from here. */
#define HF_VERSION_MAJOR 0
#define HF_VERSION_MINOR 9
#define HF_VERSION_PATCH 0

/* HF_VERSION_AT_LEAST - returns whether these headers have that version or a later one. It
 *   can be used in #if. */
#define HF_VERSION_AT_LEAST(major, minor, patch)                              \
    (HF_VERSION_MAJOR > (major) ||                                            \
     (HF_VERSION_MAJOR == (major) &&                                          \
      (HF_VERSION_MINOR > (minor) ||                                          \
       (HF_VERSION_MINOR == (minor) && HF_VERSION_PATCH >= (patch)))))

/* The version as a text: "0.9.0". */
#define HF_VERSION HF_VERSION_TEXT(HF_VERSION_MAJOR, HF_VERSION_MINOR, HF_VERSION_PATCH)
#define HF_VERSION_TEXT(major, minor, patch) HF_VERSION_WORDS(major, minor, patch)
#define HF_VERSION_WORDS(major, minor, patch) #major "." #minor "." #patch

/* hf_version - returns the version of the library that runs, in static memory. With a
 *   shared library it may differ from HF_VERSION, with which the program was compiled. Any
 *   thread. */
HF_API const char *hf_version(void);

/* Structs that grow. A later version may append members to a struct whose first member is
 * `size`; a program that was compiled before keeps running. The library therefore needs the
 * size that the struct has in the headers of the program:
 *   options       `size` has it. Begin with HF_..._INIT or hf_..._init, which set it. A
 *                 member that an older program does not have has its default. HF_E_INVAL: the
 *                 struct was not initialised, or a newer program sets a member that this
 *                 library does not have
 *   results       the function is inline and passes it; in a language that cannot call
 *                 inline functions, call the function whose name ends in _sized. `size`
 *                 receives the number of bytes that the library filled in; the remaining bytes
 *                 are 0
 *   in callbacks  `size` is the size that the struct has in the library
 * All other structs keep their members. docs/abi.md has the whole policy. */

#ifdef __cplusplus
}
#endif

#endif
