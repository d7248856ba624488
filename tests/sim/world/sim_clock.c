/* In place of net/loop/clock.c: the clock of the process whose code runs. And
 * one processor, so that nobody looks in a circle for what cannot come while
 * time stands still (spin.h). */
#include <unistd.h>

#include "net/loop/clock.h"
#include "tests/sim/world/inner.h"

int64_t hf_clock_us(void)
{
    must(the_world->current);
    return process_clock_us(the_world->current);
}

int64_t hf_clock_ms(void)
{
    return hf_clock_us() / 1000;
}

/* Computing takes no time (WORLD-1). */
int64_t hf_clock_thread_us(void)
{
    return 0;
}

long __real_sysconf(int name);
long __wrap_sysconf(int name);
long __wrap_sysconf(int name)
{
    return name == _SC_NPROCESSORS_ONLN ? 1 : __real_sysconf(name);
}
