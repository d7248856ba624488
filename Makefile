# make            the libraries and build/holdfast
# make check      installs what is missing, builds, runs every test
# make demo       two processes, one lock, on a private server
# make help       the other targets
#
# CC CFLAGS LDFLAGS PREFIX DESTDIR are the user's; ours are appended.
#   SANITIZE=address,undefined or thread   EVENTS=epoll or poll   BUILD=folder
#   TLS=yes (by OpenSSL; the default where that is installed) or no
#   WERROR=-Werror makes warnings errors, as make check does
#   V=1 shows the commands

CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
EVENTS  ?= epoll
comma   := ,
hash    := \#

# OpenSSL 1.1.1 or later, if the compiler finds its headers. pkg-config knows of
# those in a place of their own; without it, they are where all others are.
openssl     = $(shell pkg-config $(1) openssl 2>/dev/null)
TLS_CFLAGS := $(call openssl,--cflags)
HAS_TLS    := $(shell printf '%s\n' '$(hash)include <openssl/opensslv.h>' \
              '$(hash)if OPENSSL_VERSION_NUMBER < 0x10101000L' \
              '$(hash)error' '$(hash)endif' | $(CC) $(CFLAGS) $(TLS_CFLAGS) \
              -E - >/dev/null 2>&1 && echo yes || echo no)
TLS        ?= $(HAS_TLS)
BUILD   ?= build$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if \
           $(filter poll,$(EVENTS)),-poll)$(if \
           $(filter no-yes,$(TLS)-$(HAS_TLS)),-notls)
VERSION := 0.1.0

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes \
        -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wundef -Wvla
SAN  := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
        -fno-omit-frame-pointer)
OURS := -std=c11 -D_GNU_SOURCE -I. -fvisibility=hidden -fPIC -fno-semantic-interposition -pthread \
        -MMD -MP -DHF_VERSION='"$(VERSION)"' $(SAN)
# Warnings stand in front of the user's flags, so that -Wno-error and the like
# count.
COMPILE = $(CC) $(WARN) $(WERROR) $(CFLAGS) $(OURS)
Q    := $(if $(V),,@)
say   = $(if $(V),,@echo '  $(1)')
LINK := $(CFLAGS) $(LDFLAGS) -pthread $(SAN)
STATIC := $(filter -static -static-pie,$(CFLAGS) $(LDFLAGS))

# ---- what there is ----

# With TLS, or without.
tls_yes  := tls_openssl tls_openssl_settings tls_openssl_words
tls_no   := tls_none
TLS_LIBS := $(if $(filter yes,$(TLS)),-Wl$(comma)--as-needed \
            $(or $(call openssl,--libs $(if $(STATIC),--static)),-lssl -lcrypto))

RESP := status parse value copy double encode
NET  := mem hash utf8 error random clock wheel histogram spin fork \
        poller_$(EVENTS) loop drive \
        url_scan url_query url resolve race socket dial stream greet conn \
        due room trace link wire pubsub \
        endpoint slot slot_map slot_map_read cluster_info cluster_view \
        redirect refusal \
        sentinel_words \
        server router command listening round discover discover_cluster discover_sentinel \
        $(tls_$(TLS))
LOCK := scripts names wait lease hold call table op holding acquire release wake orphan query \
        watchdog close client lock
CLI  := $(basename $(wildcard cli/*.c cli/*/*.c))

SCRIPTS := acquire force_release inspect release renew
SUPPORT := cluster executor fds feed greeting keeper local lua_client memory \
           network nodes peer proxy reply request resp_ask resp_reading \
           resp_twin sentinels server witness

tls_tests_yes := $(addprefix net_tls_,certs handshake stream memory)
tls_tests_no  := net_tls_none
tls_live_yes  := tls tls_memory tls_refused tls_wire sentinel_tls
UNIT := resp_base resp_parse resp_value resp_copy resp_double resp_encode \
        resp_vectors resp_random \
        net_mem net_hash net_wheel net_histogram net_spin net_url net_loop net_resolve \
        net_race net_dial net_socket net_greet net_conn net_room net_trace \
        net_link net_wire net_cuts net_faults net_pace \
        net_slot net_slot_map net_round net_router net_redirect net_refusal net_sentinel_words \
        net_sentinel \
        lock_names lock_lease lock_hold lock_wait lock_share \
        cli_values cli_json cli_options cli_secret cli_run_state cli_resp \
        cli_resp_check cli_doctor support $(tls_tests_$(TLS))
LIVE := url slot cluster_map cluster cluster_wait cluster_moves cluster_failover \
        sentinel_words sentinel sentinel_failover \
        lock lock_callbacks lock_wait lock_share lock_watchdog lock_errors lock_late \
        lock_shorter lock_cuts lock_faults lock_clock lock_network \
        lock_forged lock_acl lock_ghosts lock_full lock_replicas lock_memory lock_end lock_close \
        lock_soak lifecycle run run_loss run_signals run_status run_slot \
        resp_check doctor examples $(tls_live_$(TLS))
FUZZ := resp_parse resp_twin resp_encode cli_resp url topology

# ---- libraries and the command ----

all: $(BUILD)/libhf_lock.a $(BUILD)/libhf_net.a $(BUILD)/libhf_resp.a \
     $(BUILD)/libholdfast.a $(BUILD)/libholdfast.so $(BUILD)/holdfast

objects = $(patsubst %,$(BUILD)/%.o,$(1))
resp_O := $(call objects,$(RESP:%=resp/%))
net_O  := $(call objects,$(NET:%=net/%))
lock_O := $(call objects,$(LOCK:%=lock/%))
cli_O  := $(call objects,$(CLI))
LIBS   := $(BUILD)/libhf_lock.a $(BUILD)/libhf_net.a $(BUILD)/libhf_resp.a

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(call say,compile $<)
	$(Q)$(COMPILE) -c $< -o $@

$(BUILD)/lock/scripts.c: lock/scripts/embed.sh $(SCRIPTS:%=lock/scripts/%.lua)
	@mkdir -p $(@D)
	$(Q)lock/scripts/embed.sh $(filter %.lua,$^) > $@.new && mv $@.new $@

$(BUILD)/lock/scripts.o: $(BUILD)/lock/scripts.c
	$(call say,compile $<)
	$(Q)$(COMPILE) -c $< -o $@

# Nothing unwinds through resp/: it calls nobody back. 2.6 KB less.
$(resp_O): OURS += -fno-asynchronous-unwind-tables -fno-inline-functions

$(BUILD)/libhf_resp.a: $(resp_O)
$(BUILD)/libhf_net.a: $(net_O)
$(BUILD)/libhf_lock.a: $(lock_O)
$(BUILD)/libholdfast.a: $(lock_O) $(net_O) $(resp_O)
$(BUILD)/libh%.a:
	@rm -f $@
	$(Q)$(AR) rcs $@ $(filter %.o,$^)

# A shared library is never static, whatever else is to be.
$(BUILD)/libholdfast.so: $(lock_O) $(net_O) $(resp_O)
	$(call say,link $@)
	$(Q)$(CC) $(filter-out $(STATIC),$(LINK)) -shared \
	    -Wl,-soname,libholdfast.so.0 $(filter %.o,$^) $(TLS_LIBS) -o $@

# OpenSSL's headers may come or go between two builds in the same folder: what
# was made in the other way is out of date.
$(BUILD)/libhf_net.a $(BUILD)/libholdfast.a $(BUILD)/libholdfast.so: \
    $(BUILD)/tls-$(TLS)
$(BUILD)/tls-$(TLS):
	@mkdir -p $(@D) && rm -f $(@D)/tls-yes $(@D)/tls-no && touch $@
	$(if $(filter no-no,$(TLS)-$(HAS_TLS)),@echo \
	    '  without TLS: no headers of OpenSSL 1.1.1 or later (libssl-dev)')

$(BUILD)/holdfast: $(cli_O) $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(LINK) $^ $(TLS_LIBS) -o $@

# ---- programs a user would copy ----

loops_B    := $(addprefix $(BUILD)/examples/loop_,epoll event uv)
examples_B := $(BUILD)/examples/hold $(loops_B)

$(loops_B): $(BUILD)/examples/job.o
$(BUILD)/examples/loop_event: LOOP_LIBS := -levent_core
$(BUILD)/examples/loop_uv: LOOP_LIBS := -luv

$(examples_B): %: %.o $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(LINK) $(filter %.o,$^) $(LIBS) $(TLS_LIBS) $(LOOP_LIBS) -o $@

# ---- tests ----

CHECK_CFLAGS = $(shell pkg-config --cflags check)
CHECK_LIBS   = $(shell pkg-config --libs check) -lhiredis
unit_T := $(UNIT:%=$(BUILD)/tests/test_%) $(BUILD)/tests/vectors/test_score
live_T := $(LIVE:%=$(BUILD)/tests/live/test_%)
# Only where there is such a server (make servers).
each_T := $(BUILD)/tests/live/test_lock_injected
fuzz_T := $(FUZZ:%=$(BUILD)/fuzz/fuzz_%)
support_O := $(call objects,$(SUPPORT:%=tests/support/%))

$(patsubst %,$(BUILD)/tests/test_%,$(tls_tests_yes)): \
    $(call objects,$(addprefix tests/support/,certs tls_peer))
$(tls_live_yes:%=$(BUILD)/tests/live/test_%): $(call objects,tests/support/certs)

$(BUILD)/tests/test_support: $(call objects,$(addprefix tests/support/self/,\
    memory peer plain proxy server))
$(patsubst %,$(BUILD)/tests/test_net_%,resolve dial link): \
    $(call objects,tests/support/names)

# System calls that fail, clocks that jump, where a test says so.
wrapped = $(patsubst %,-Wl$(comma)--wrap=%,$(1))
$(BUILD)/tests/test_net_faults: LINK += $(call wrapped,socket connect \
    setsockopt getsockopt getsockname getpeername recv send close read write \
    pipe2 epoll_create1 epoll_ctl epoll_wait poll pthread_create)
$(BUILD)/tests/test_net_spin: LINK += $(call wrapped,clock_gettime epoll_wait \
    poll sched_yield sysconf)
$(BUILD)/tests/test_net_sentinel: LINK += $(call wrapped,hf_clock_us hf_clock_ms)
$(BUILD)/tests/test_net_pace: LINK += $(call wrapped,clock_gettime connect recv)
$(BUILD)/tests/live/test_lock_clock: LINK += $(call wrapped,clock_gettime \
    gettimeofday time)

# The vectors of tests/vectors/: the ways of running them, and a score.
ways_O  := $(call objects,$(addprefix tests/vectors/,vectors ways))
score_O := $(ways_O) $(call objects,$(addprefix tests/vectors/,score))
$(BUILD)/tests/test_resp_vectors: $(ways_O) $(BUILD)/tests/vectors/holdfast.o
$(BUILD)/tests/vectors/test_score: $(score_O) $(BUILD)/tests/vectors/holdfast.o

$(BUILD)/tests/%.o: OURS += $(CHECK_CFLAGS) -DHF_BUILD='"$(BUILD)"' \
                            -DVEC_LOCALES='"$(BUILD)/tests/locale"'

redisson_T := $(BUILD)/tests/redisson/test_redisson
cli_T := $(filter $(BUILD)/tests/test_cli_%,$(unit_T))
run_T := $(filter $(BUILD)/tests/live/test_run% \
                  $(BUILD)/tests/live/test_resp% \
                  $(BUILD)/tests/live/test_doctor \
                  $(BUILD)/tests/live/test_lock_acl \
                  $(BUILD)/tests/live/test_tls_refused \
                  $(BUILD)/tests/live/test_examples,$(live_T))
$(cli_T): $(filter-out $(BUILD)/cli/main.o,$(cli_O))
$(run_T) $(addprefix $(BUILD)/tests/live/,test_sentinel test_sentinel_failover): \
    $(BUILD)/tests/live/test_run_kit.o
$(BUILD)/tests/live/test_examples: | $(examples_B)

soak_T := $(addprefix $(BUILD)/tests/soak/,chaos failover silence)

$(unit_T) $(live_T) $(each_T) $(redisson_T) $(soak_T): \
    %: %.o $(support_O) $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(LINK) $(filter %.o,$^) $(LIBS) $(TLS_LIBS) $(CHECK_LIBS) -o $@

# The parser's twin that reads digits one by one.
bytewise_T := $(patsubst %,$(BUILD)/tests/test_resp_%_bytewise,parse random)

$(BUILD)/bytewise/%.o: %.c
	@mkdir -p $(@D)
	$(call say,compile $< bytewise)
	$(Q)$(COMPILE) -DHF_RESP_BYTEWISE -c $< -o $@

$(bytewise_T): $(BUILD)/tests/test_resp_%_bytewise: $(BUILD)/tests/test_resp_%.o \
               $(call objects,$(RESP:%=bytewise/resp/%)) $(support_O) $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(LINK) $(filter %.o,$^) $(LIBS) $(TLS_LIBS) $(CHECK_LIBS) -o $@

# As many jobs as processors, unless the user says how many.
jobs = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

check: deps
	+@$(MAKE) --no-print-directory $(jobs) WERROR=-Werror check-built

# The slowest first, so that nobody waits for one of them alone at the end.
SLOW    := lock_watchdog cluster_failover lock_errors lock_late lock_memory \
           tls_wire tls_refused net_tls_memory net_link lock_forged sentinel \
           lock_end tls lock_network cluster_moves sentinel_failover \
           cluster_wait lock_faults
check_T  = $(live_T) $(unit_T) $(bytewise_T) $(fuzz_T)
slow_T   = $(foreach name,$(SLOW),$(filter %/test_$(name),$(check_T)))

# libcheck ends a test after 4 s: too soon for a machine with much else to do.
export CK_DEFAULT_TIMEOUT ?= 60

check-built: all $(examples_B) layers exports rules-check faults-check deps-check \
             $(BUILD)/tests/locale/comma $(unit_T) $(bytewise_T) $(fuzz_T) \
             $(live_T) $(soak_T)
	@tests/run.sh $(slow_T) $(filter-out $(slow_T),$(check_T))

live: deps
	+@$(MAKE) --no-print-directory $(jobs) WERROR=-Werror live-built

live-built: all $(live_T)
	@tests/run.sh $(live_T)

# The same locks, and clusters, over mutual TLS; but for what talks to scripted
# peers or by sockets of its own, and what finds its server at another address
# than the certificate's.
over_tls_T := $(filter-out %_errors %_forged %_ghosts %_network %_map, \
                  $(filter $(BUILD)/tests/live/test_lock% \
                           $(BUILD)/tests/live/test_cluster%,$(live_T)))

live-tls: deps all $(over_tls_T)
	@tests/live/over_tls.sh $(over_tls_T)

# Arrows only downwards: a floor includes its own headers and the public ones of
# the floors below.
layers:
	@tests/layers.sh

# What the shared library exports is what tests/exports.txt says.
exports: $(BUILD)/libholdfast.so $(LIBS)
	@tests/exports.sh $^

# A locale with a decimal comma. Where none can be made the folder is empty, and
# the tests in it say that they are skipped.
$(BUILD)/tests/locale/comma:
	@mkdir -p $(@D)
	@localedef --no-archive -i de_DE -f UTF-8 $@ 2>/dev/null || mkdir -p $@

# Each rule of RESP-CONFORMANCE and what tests it; fails on a rule without a test
# and on a vector without a rule.
rules:
	@tests/vectors/rules.sh

rules-check:
	@tests/vectors/rules.sh -q

# Each fault and what tests it (docs/faults.md); fails on a name that dangles.
faults-check:
	@tests/faults.sh

# Nobody's machine is changed without being asked.
deps-check:
	@tests/deps_asks.sh

# What the vectors say of holdfast and of hiredis: the installed one, and the
# newest of Debian (bench/peers.sh).
vectors: deps
	@bench/peers.sh
	+@$(MAKE) --no-print-directory vectors-built

scores := holdfast hiredis $(if $(wildcard build-peers/usr),hiredis_newest)
score_B := $(scores:%=$(BUILD)/tests/vectors/score_%)

# The adapter of docs/resp-vectors.md, as its reader would copy it.
$(BUILD)/tests/vectors/example.c: docs/resp-vectors.md
	@mkdir -p $(@D)
	@awk '/^```c$$/ {on = 1; next} /^```$$/ {on = 0} on' $< >$@

$(BUILD)/tests/vectors/example.o: $(BUILD)/tests/vectors/example.c
	$(Q)$(COMPILE) -c $< -o $@

vectors-built: $(score_B) $(BUILD)/tests/vectors/score_example \
               $(BUILD)/tests/locale/comma
	@tests/vectors/report.sh $(score_B)

$(BUILD)/tests/vectors/hiredis_newest.o: tests/vectors/hiredis.c
	@mkdir -p $(@D)
	$(Q)$(COMPILE) -Ibuild-peers/usr/include -c $< -o $@

$(BUILD)/tests/vectors/score_%: $(BUILD)/tests/vectors/%.o $(score_O) \
                                $(BUILD)/tests/vectors/main.o $(BUILD)/libhf_resp.a
	$(call say,link $@)
	$(Q)$(CC) $(LINK) $^ $(if $(findstring newest,$@),$(wildcard \
	    build-peers/usr/lib/*/libhiredis.a),-l:libhiredis.a) -lm -o $@

# Servers of eight Debian suites, unpacked and not installed; then the live tests
# against each that is there.
servers:
	@tests/servers/fetch.sh

live-each: deps all $(live_T) $(each_T)
	@tests/servers/each.sh $(BUILD)

# Slots that move in a circle under a thousand locks, for so many seconds.
SOAK_TIME ?= 300

soak-cluster: deps $(BUILD)/tests/live/test_cluster_moves
	@HF_SOAK_S=$(SOAK_TIME) CK_RUN_CASE=moves \
	    $(BUILD)/tests/live/test_cluster_moves

# ROUNDS masters are killed, with acknowledgement by replicas and without.
ROUNDS ?= 50

soak-failover: deps $(BUILD)/tests/soak/failover
	@HF_ROUNDS=$(ROUNDS) $(BUILD)/tests/soak/failover

# Whatever goes wrong, for CHAOS_TIME seconds, on a cluster and behind sentinels:
# are two owners ever both safe?
CHAOS_TIME ?= 60

soak-chaos: deps $(BUILD)/tests/soak/chaos
	@HF_SECONDS=$(CHAOS_TIME) $(BUILD)/tests/soak/chaos
	@HF_SECONDS=$(CHAOS_TIME) HF_CHAOS=sentinel $(BUILD)/tests/soak/chaos

# TRIALS masters are stopped in each of three ways, and continued after the
# failover.
TRIALS ?= 24

soak-silence: deps $(BUILD)/tests/soak/silence
	@HF_TRIALS=$(TRIALS) $(BUILD)/tests/soak/silence

# The tests of clusters once more, by the servers that fetch.sh has unpacked.
live-each-cluster: deps all $(filter $(BUILD)/tests/live/test_cluster%,$(live_T))
	@HF_TEST_PROGRAMS='cluster*' tests/servers/each.sh $(BUILD)

# Beside a real Redisson; skipped where there is no JDK or Maven.
redisson: deps all $(redisson_T)
	@tests/redisson/run.sh $(BUILD)

valgrind: deps all $(live_T)
	@tests/valgrind.sh $(BUILD)

# Lines, branches and MC/DC of resp/: all but what tests/coverage/exceptions.txt
# names.
coverage: deps deps-coverage
	+@$(MAKE) --no-print-directory BUILD=$(BUILD)/coverage CC=clang-19 \
	    CFLAGS='-g -fprofile-instr-generate -fcoverage-mapping \
	    -fcoverage-mcdc -fcoverage-compilation-dir=.' coverage-built

resp_T := $(filter $(BUILD)/tests/test_resp_%,$(unit_T))

coverage-built: $(resp_T) $(bytewise_T)
	@tests/coverage/run.sh $(BUILD) '$(RESP:%=resp/%.c)' '$(resp_T)' \
	    '$(bytewise_T)'

# Bugs put into resp/ on purpose, one by one: which test notices? The slowest
# is asked last.
mutants: deps
	@tests/mutants/run.sh $(BUILD) \
	    '$(patsubst $(BUILD)/%,%,$(filter-out %_vectors,$(resp_T)) \
	                             $(filter %_vectors,$(resp_T)))' \
	    '$(filter fuzz/fuzz_resp_%,$(FUZZ:%=fuzz/fuzz_%))'

# Instructions per byte, of hostile replies too: those of
# tests/instructions/expected.txt?
instructions:
	@tests/instructions/run.sh $(BUILD)

# ---- fuzzing ----

# A harness is a function; what has main() is the replay of its corpus or, for
# fuzz/build.sh, a fuzzer.
FUZZ_MAIN ?= $(BUILD)/fuzz/replay.o
FUZZ_LD   ?= $(CC)
FUZZ_TIME ?= 30
FUZZ_GOAL ?= 1000000000

$(BUILD)/fuzz/fuzz_resp_parse: $(call objects,$(addprefix tests/support/,\
    resp_reading resp_ask))
$(BUILD)/fuzz/fuzz_resp_twin: $(call objects,$(addprefix tests/support/,\
    resp_reading resp_twin))
$(BUILD)/fuzz/fuzz_cli_resp: $(call objects,$(addprefix cli/resp/,\
    decode walk print_text print_json))

$(fuzz_T): %: %.o $(LIBS) $(filter %.o,$(FUZZ_MAIN))
	$(call say,link $@)
	$(Q)$(FUZZ_LD) $(LINK) $(filter %.o,$^) $(LIBS) \
	    $(TLS_LIBS) $(filter-out %.o,$(FUZZ_MAIN)) -o $@

$(BUILD)/fuzz/seeds: $(call objects,fuzz/seeds tests/vectors/vectors)
	$(Q)$(CC) $(LINK) $^ -lm -o $@

fuzz-built: $(fuzz_T)

build-fuzz/seeds/made: $(BUILD)/fuzz/seeds tests/vectors/resp.txt
	@mkdir -p $(@D)
	@$^ $(@D) && touch $@

fuzz: deps-fuzz build-fuzz/seeds/made
	@fuzz/build.sh guided
	@for name in $(FUZZ); do \
	    fuzz/run.sh guided $$name -max_total_time=$(FUZZ_TIME) || exit; done

# So many executions, on one core, for an hour or more; on a second core run
# fuzz/long.sh beside it.
fuzz-long: deps-fuzz build-fuzz/seeds/made
	@fuzz/build.sh guided
	@fuzz/build.sh fast
	@fuzz/long.sh $(FUZZ_GOAL)

fuzz-afl: deps-fuzz
	@fuzz/afl.sh $(FUZZ_TIME)

# ---- resp/ in other programs, on other machines ----

# The pair hf_resp.h and hf_resp.c; that it is what docs/embedding-resp.md says.
amalgamation:
	@resp/amalgamate.sh $(BUILD)/amalgamation

embed: deps-embed
	@tests/embed/run.sh $(BUILD)

# Each machine brings its packages, or is skipped.
cross:
	@tests/cross/run.sh $(BUILD)

# ---- benches ----

BENCH   := $(filter-out $(if $(filter no,$(TLS)),bench_tls), \
             $(basename $(notdir $(wildcard bench/bench_*.c))))
bench_B := $(BENCH:%=$(BUILD)/bench/%)
# The newest hiredis that Debian has, or the installed one (bench/peers.sh).
PEER    := $(wildcard build-peers/usr/lib/*/libhiredis.a)
PEER_TLS := $(wildcard build-peers/usr/lib/*/libhiredis_ssl.a)

$(bench_B:%=%.o): OURS += $(if $(PEER),-Ibuild-peers/usr/include)
$(addprefix $(BUILD)/bench/bench_,resp net): LINK += \
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
$(BUILD)/bench/bench_net: BENCH_LIBS := $(PEER_TLS) -lev

$(BUILD)/bench/bench_tls: $(call objects,$(addprefix tests/support/,\
    certs tls_peer))

$(bench_B): %: %.o $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(LINK) $^ $(BENCH_LIBS) $(or $(PEER),-l:libhiredis.a) \
	    $(TLS_LIBS) -luv -lm -o $@

bench: deps-bench
	@bench/peers.sh
	+@$(MAKE) --no-print-directory $(bench_B)
	@bench/run.sh $(BUILD)

# make bench-WHAT: one of them.
bench-%: deps-bench
	@bench/peers.sh
	+@$(MAKE) --no-print-directory $(BUILD)/bench/bench_$*
	@bench/run.sh $(BUILD) $*

# make late-WHAT: the same, as if processors that were idle were woken late.
$(BUILD)/bench/late.so: bench/late.c
	@mkdir -p $(@D)
	$(call say,link $@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(OURS) -fvisibility=default -shared $< \
	    -ldl -o $@

late-%: $(BUILD)/bench/late.so
	+@BENCH_PRELOAD=$(abspath $<) $(MAKE) --no-print-directory bench-$*

# ---- the rest ----

# It needs a server, and nothing else: the user's, or one of its own.
demo:
	@[ -n "$$HOLDFAST_URL" ] || command -v redis-server >/dev/null || \
	    tests/deps.sh deps-demo
	+@$(MAKE) --no-print-directory $(jobs) all
	@examples/demo.sh $(BUILD)/holdfast

deps deps-bench deps-coverage deps-embed deps-fuzz:
	@tests/deps.sh $@

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig \
	    $(DESTDIR)$(PREFIX)/include/holdfast/resp \
	    $(DESTDIR)$(PREFIX)/include/holdfast/net \
	    $(DESTDIR)$(PREFIX)/include/holdfast/lock \
	    $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(BUILD)/holdfast $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(BUILD)/libholdfast.a $(BUILD)/libhf_resp.a \
	    $(DESTDIR)$(PREFIX)/lib
	install -m 755 $(BUILD)/libholdfast.so \
	    $(DESTDIR)$(PREFIX)/lib/libholdfast.so.0
	ln -sf libholdfast.so.0 $(DESTDIR)$(PREFIX)/lib/libholdfast.so
	install -m 644 holdfast.h $(DESTDIR)$(PREFIX)/include/holdfast
	install -m 644 resp/base.h resp/resp.h \
	    $(DESTDIR)$(PREFIX)/include/holdfast/resp
	install -m 644 net/net.h $(DESTDIR)$(PREFIX)/include/holdfast/net
	install -m 644 lock/lock.h $(DESTDIR)$(PREFIX)/include/holdfast/lock
	install -m 644 docs/holdfast.1 $(DESTDIR)$(PREFIX)/share/man/man1
	sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@VERSION@|$(VERSION)|' \
	    -e 's|@TLS@|$(if $(filter yes,$(TLS)),$(or \
	        $(call openssl,--static --libs),-lssl -lcrypto))|' \
	    holdfast.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/holdfast.pc
	@[ -n '$(DESTDIR)' ] || [ "$$(id -u)" != 0 ] || \
	    PATH="$$PATH:/sbin" ldconfig 2>/dev/null || :

clean:
	rm -rf build build-*

help:
	@echo 'make            the libraries and the command, in $(BUILD)/'
	@echo 'make check      every test, against servers that it starts itself'
	@echo 'make live       those against real servers alone'
	@echo 'make live-tls   those of locks and clusters again, over mutual TLS'
	@echo 'make demo       what it does, shown'
	@echo 'make bench      beside hiredis, with ratios; bench-resp: one of them;'
	@echo '                late-lock, late-net: as if waking up were dear'
	@echo 'make fuzz       each harness for FUZZ_TIME=$(FUZZ_TIME) seconds'
	@echo 'make fuzz-afl   the same under AFL++'
	@echo 'make fuzz-long  until FUZZ_GOAL=$(FUZZ_GOAL) executions are done'
	@echo 'make servers    unpacks servers of other Debian suites, for live-each'
	@echo 'make live-each  the live tests against each of them'
	@echo 'make live-each-cluster  those of clusters alone'
	@echo 'make soak-cluster  locks while slots move, for SOAK_TIME=$(SOAK_TIME) s'
	@echo 'make soak-chaos  faults of all kinds: are two owners ever both safe?'
	@echo 'make soak-failover  locks while ROUNDS=$(ROUNDS) masters are killed'
	@echo 'make soak-silence  locks while TRIALS=$(TRIALS) masters are stopped'
	@echo 'make redisson   the same locks as a real Redisson (needs a JDK, Maven)'
	@echo 'make valgrind   a client that loses its server, under valgrind'
	@echo 'make coverage   lines, branches and MC/DC of resp/ (needs clang 19)'
	@echo 'make mutants    bugs put into resp/ on purpose: which test notices?'
	@echo 'make instructions  what a byte costs the parser, against a file'
	@echo 'make amalgamation  resp/ as one pair of files, to be copied'
	@echo 'make embed      is that pair what docs/embedding-resp.md says?'
	@echo 'make cross      the tests of resp/ on i386, armhf, s390x and musl'
	@echo 'make vectors    what the RESP vectors say of holdfast and of hiredis'
	@echo 'make rules      each rule of RESP, and what tests it'
	@echo 'make layers     do all includes point downwards?'
	@echo 'make exports    does the library export what it should?'
	@echo 'make deps       as root, or with SUDO=sudo: installs Debian packages;'
	@echo '                otherwise says which are missing'
	@echo 'make install    PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)'
	@echo 'make clean'

-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d $(BUILD)/*/*/*/*.d)
.PHONY: all check check-built live live-built layers exports rules rules-check faults-check \
        deps-check vectors vectors-built servers live-each live-each-cluster live-tls \
        soak-chaos soak-cluster soak-failover soak-silence redisson valgrind coverage \
        coverage-built mutants instructions fuzz fuzz-built fuzz-long fuzz-afl bench demo \
        amalgamation embed cross deps deps-bench deps-coverage deps-embed \
        deps-fuzz install clean help
