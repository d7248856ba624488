/* The probe of a busy machine. */
#include "tests/support/lateness.h"

#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SLEEP_MS 10
#define SAMPLES 16384 /* 160 s, if the machine is punctual */

/* Shared with the probe and with the process of each test. Sample I is at
 * I % SAMPLES; the probe writes a sample before it counts it. */
struct probe {
    int64_t begin_ms;
    atomic_llong count;
    struct {
        atomic_llong at_ms;   /* when the probe woke */
        atomic_llong late_ms; /* all delays up to then */
    } samples[SAMPLES];
};

static struct probe *probe;
static pid_t probe_pid;

_Noreturn static void measure(struct probe *p)
{
    int64_t late_ms = 0, due_ms = p->begin_ms + SLEEP_MS;

    for (long long n = 0;; n++) {
        int64_t now_ms;

        local_rest_us(SLEEP_MS * 1000);
        now_ms = local_now_ms();
        if (now_ms > due_ms + 1)
            late_ms += now_ms - due_ms;
        atomic_store(&p->samples[n % SAMPLES].at_ms, now_ms);
        atomic_store(&p->samples[n % SAMPLES].late_ms, late_ms);
        atomic_store(&p->count, n + 1);
        due_ms = local_now_ms() + SLEEP_MS;
    }
}

pid_t lateness_start(void)
{
    struct probe *p = mmap(NULL, sizeof *p, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t parent = getpid();

    if (p == MAP_FAILED)
        return 0;
    p->begin_ms = local_now_ms();
    probe = p;
    probe_pid = fork();
    if (probe_pid != 0)
        return probe_pid > 0 ? probe_pid : 0;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != parent)
        _exit(1);
    measure(p);
}

void lateness_stop(void)
{
    if (probe_pid <= 0)
        return;
    (void)kill(probe_pid, SIGKILL);
    (void)waitpid(probe_pid, NULL, 0);
    probe_pid = 0;
}

/* All delays up to the last sample that is not after at_ms. If the table no longer
 * has that sample, its oldest one counts. */
static int64_t late_before(const struct probe *p, int64_t at_ms)
{
    long long count = atomic_load(&p->count);
    long long oldest = count > SAMPLES - 1 ? count - (SAMPLES - 1) : 0;
    int64_t late_ms = 0;

    for (long long i = count - 1; i >= oldest; i--) {
        late_ms = atomic_load(&p->samples[i % SAMPLES].late_ms);
        if (atomic_load(&p->samples[i % SAMPLES].at_ms) <= at_ms)
            return late_ms;
    }
    return oldest > 0 ? late_ms : 0;
}

/* The delay of the sleep that has not ended yet. */
static int64_t overdue_ms(const struct probe *p, int64_t now_ms)
{
    long long count = atomic_load(&p->count);
    int64_t due_ms = p->begin_ms + SLEEP_MS;

    if (count > 0)
        due_ms =
            atomic_load(&p->samples[(count - 1) % SAMPLES].at_ms) + SLEEP_MS;
    return now_ms > due_ms + 1 ? now_ms - due_ms : 0;
}

int64_t lateness_ms(int64_t from_ms)
{
    int64_t now_ms = local_now_ms();

    if (!probe)
        return 0;
    return LATENESS_HOPS * (late_before(probe, now_ms) -
                            late_before(probe, from_ms) +
                            overdue_ms(probe, now_ms));
}
