/* HF_ASSERT - checks a fact that only a mistake in this library can make false: a rule of a
 * machine, or a precondition that a contract states. Do not use it for anything that a
 * server, a caller or the system may do; that is an error with a status.
 *
 * The fact is checked if HF_ASSERTS is defined: with `make ASSERTS=yes`, and with a
 * sanitizer. Otherwise the expression is compiled, never evaluated, and costs nothing. */
#ifndef HF_ASSERT_H
#define HF_ASSERT_H

#ifdef HF_ASSERTS
#include <assert.h>
#define HF_ASSERT(fact) assert(fact)
#else
#define HF_ASSERT(fact) ((void)(0 && (fact)))
#endif

#endif
