/* HF_ASSERT - what only our own mistake can make false: a rule of a machine, a
 * precondition that a contract states. Never for what a server, a caller or the system
 * may do; that is an error with a status.
 *
 * It is checked where HF_ASSERTS is defined: `make ASSERTS=yes`, and with a sanitizer.
 * Elsewhere the expression is compiled, never evaluated, and costs nothing. */
#ifndef HF_ASSERT_H
#define HF_ASSERT_H

#ifdef HF_ASSERTS
#include <assert.h>
#define HF_ASSERT(fact) assert(fact)
#else
#define HF_ASSERT(fact) ((void)(0 && (fact)))
#endif

#endif
