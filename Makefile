# make            the libraries and build/holdfast
# make check      installs what is missing, builds, runs every test
# make demo       two processes, one lock, on a private server
# make help       the other targets
#
# CC CFLAGS LDFLAGS PREFIX DESTDIR are the user's; ours are appended.
#   SANITIZE=address,undefined or thread   EVENTS=epoll or poll   BUILD=folder
#   V=1 shows the commands

CFLAGS  ?= -O2 -g
PREFIX  ?= /usr/local
EVENTS  ?= epoll
comma   := ,
BUILD   ?= build$(if $(SANITIZE),-$(subst $(comma),-,$(SANITIZE)))$(if \
           $(filter poll,$(EVENTS)),-poll)
VERSION := 0.1.0

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes \
        -Wmissing-prototypes -Wpointer-arith -Wwrite-strings -Wundef -Wvla \
        -Werror
SAN  := $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all \
        -fno-omit-frame-pointer)
OURS := -std=c11 -D_GNU_SOURCE -I. -fvisibility=hidden -fPIC -pthread \
        -MMD -MP -DHF_VERSION='"$(VERSION)"' $(WARN) $(SAN)
Q    := $(if $(V),,@)
LINK := $(CFLAGS) $(LDFLAGS) -pthread $(SAN)

# ---- what there is ----

RESP := status parse value encode
NET  := mem error random clock wheel poller_$(EVENTS) loop drive url resolve \
        socket greet conn link pubsub
LOCK := scripts names wait hold call table op holding acquire release query \
        watchdog client lock
CLI  := $(basename $(notdir $(wildcard cli/*.c)))

SCRIPTS := acquire force_release inspect release renew
SUPPORT := feed greeting keeper local lua_client memory peer proxy request \
           server witness

UNIT := resp_parse resp_value resp_encode resp_vectors resp_random \
        net_mem net_wheel net_url net_loop net_resolve net_greet net_conn \
        net_link lock_names lock_hold lock_wait \
        cli_values cli_json cli_options cli_secret cli_run_state cli_resp \
        cli_resp_check support
LIVE := lock lock_wait lock_watchdog lock_errors lock_late \
        lock_forged lock_memory lock_end lock_soak lifecycle run run_loss \
        run_signals run_status resp_check

# ---- libraries and the command ----

all: $(BUILD)/libhf_lock.a $(BUILD)/libhf_net.a $(BUILD)/libhf_resp.a \
     $(BUILD)/libholdfast.so $(BUILD)/holdfast

objects = $(patsubst %,$(BUILD)/%.o,$(1))
resp_O := $(call objects,$(RESP:%=resp/%))
net_O  := $(call objects,$(NET:%=net/%))
lock_O := $(call objects,$(LOCK:%=lock/%))
cli_O  := $(call objects,$(CLI:%=cli/%))
LIBS   := $(BUILD)/libhf_lock.a $(BUILD)/libhf_net.a $(BUILD)/libhf_resp.a

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(if $(V),,@echo '  compile $<')
	$(Q)$(CC) $(CFLAGS) $(OURS) -c $< -o $@

$(BUILD)/lock/scripts.c: lock/scripts/embed.sh $(SCRIPTS:%=lock/scripts/%.lua)
	@mkdir -p $(@D)
	$(Q)lock/scripts/embed.sh $(filter %.lua,$^) > $@.new && mv $@.new $@

$(BUILD)/lock/scripts.o: $(BUILD)/lock/scripts.c
	$(if $(V),,@echo '  compile $<')
	$(Q)$(CC) $(CFLAGS) $(OURS) -c $< -o $@

$(BUILD)/libhf_resp.a: $(resp_O)
$(BUILD)/libhf_net.a: $(net_O)
$(BUILD)/libhf_lock.a: $(lock_O)
$(BUILD)/libhf_%.a:
	@rm -f $@
	$(Q)$(AR) rcs $@ $^

$(BUILD)/libholdfast.so: $(lock_O) $(net_O) $(resp_O)
	$(if $(V),,@echo '  link $@')
	$(Q)$(CC) $(LINK) -shared -Wl,-soname,libholdfast.so.0 $^ -o $@

$(BUILD)/holdfast: $(cli_O) $(LIBS)
	$(if $(V),,@echo '  link $@')
	$(Q)$(CC) $(LINK) $^ -o $@

# ---- programs a user would copy ----

examples_B := $(BUILD)/examples/hold

$(examples_B): %: %.o $(LIBS)
	$(if $(V),,@echo '  link $@')
	$(Q)$(CC) $(LINK) $^ -o $@

# ---- tests ----

CHECK_CFLAGS = $(shell pkg-config --cflags check)
CHECK_LIBS   = $(shell pkg-config --libs check) -lhiredis
unit_T := $(UNIT:%=$(BUILD)/tests/test_%)
live_T := $(LIVE:%=$(BUILD)/tests/live/test_%)
support_O := $(call objects,$(SUPPORT:%=tests/support/%))

$(BUILD)/tests/test_support: $(call objects,$(addprefix tests/support/self/,\
    memory peer plain proxy server))

$(BUILD)/tests/%.o: OURS += $(CHECK_CFLAGS) -DHF_BUILD='"$(BUILD)"'

redisson_T := $(BUILD)/tests/redisson/test_redisson
cli_T := $(filter $(BUILD)/tests/test_cli_%,$(unit_T))
run_T := $(filter $(BUILD)/tests/live/test_run% \
                  $(BUILD)/tests/live/test_resp%,$(live_T))
$(cli_T): $(filter-out $(BUILD)/cli/main.o,$(cli_O))
$(run_T): $(BUILD)/tests/live/test_run_kit.o

$(unit_T) $(live_T) $(redisson_T): %: %.o $(support_O) $(LIBS)
	$(if $(V),,@echo '  link $@')
	$(Q)$(CC) $(LINK) $(filter %.o,$^) $(LIBS) $(CHECK_LIBS) -o $@

check: deps
	+@$(MAKE) --no-print-directory check-built

check-built: all $(examples_B) layers exports $(unit_T) $(live_T)
	@tests/run.sh $(unit_T) $(live_T)

live: deps
	+@$(MAKE) --no-print-directory live-built

live-built: all $(live_T)
	@tests/run.sh $(live_T)

# Arrows only downwards: a floor includes its own headers and the public ones of
# the floors below.
layers:
	@tests/layers.sh

# What the shared library exports is what tests/exports.txt says.
exports: $(BUILD)/libholdfast.so $(LIBS)
	@tests/exports.sh $^

# Servers of eight Debian suites, unpacked and not installed; then the live tests
# against each that is there.
servers:
	@tests/servers/fetch.sh

live-each: deps all $(live_T)
	@tests/servers/each.sh $(BUILD)

# Beside a real Redisson; skipped where there is no JDK or Maven.
redisson: deps all $(redisson_T)
	@tests/redisson/run.sh $(BUILD)

valgrind: deps all $(live_T)
	@tests/valgrind.sh $(BUILD)

# ---- fuzzing, with clang's libFuzzer ----

FUZZ       := $(basename $(notdir $(wildcard fuzz/fuzz_*.c)))
FUZZ_CC    ?= clang
FUZZ_TIME  ?= 30
fuzz_B     := $(FUZZ:%=build-fuzz/%)

build-fuzz/fuzz_cli_resp: cli/resp_decode.c cli/resp_walk.c cli/resp_text.c \
                          cli/resp_json.c cli/resp_utf8.c net/mem.c

build-fuzz/%: fuzz/%.c $(RESP:%=resp/%.c) net/url.c net/error.c
	@mkdir -p $(@D)
	$(if $(V),,@echo '  fuzz harness $@')
	$(Q)$(FUZZ_CC) -g -O1 -std=c11 -D_GNU_SOURCE -I. -fno-sanitize-recover=all \
	    -fsanitize=fuzzer,address,undefined $^ -o $@

fuzz: deps-fuzz
	+@$(MAKE) --no-print-directory $(fuzz_B)
	@fuzz/run.sh $(FUZZ_TIME) $(fuzz_B)

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

BENCH   := $(basename $(notdir $(wildcard bench/bench_*.c)))
bench_B := $(BENCH:%=$(BUILD)/bench/%)

$(bench_B): %: %.o $(LIBS)
	$(if $(V),,@echo '  link $@')
	$(Q)$(CC) $(LINK) $^ -lhiredis -luv -lm -o $@

bench: deps-bench
	+@$(MAKE) --no-print-directory $(bench_B)
	@bench/run.sh $(BUILD)

# ---- the rest ----

demo: deps
	+@$(MAKE) --no-print-directory all
	@examples/demo.sh $(BUILD)/holdfast

deps deps-bench deps-embed deps-fuzz:
	@tests/deps.sh $@

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/pkgconfig \
	    $(DESTDIR)$(PREFIX)/include/holdfast/resp \
	    $(DESTDIR)$(PREFIX)/include/holdfast/net \
	    $(DESTDIR)$(PREFIX)/include/holdfast/lock \
	    $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(BUILD)/holdfast $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(LIBS) $(DESTDIR)$(PREFIX)/lib
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
	    holdfast.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/holdfast.pc

clean:
	rm -rf build build-*

help:
	@echo 'make            the libraries and the command, in $(BUILD)/'
	@echo 'make check      every test, against servers that it starts itself'
	@echo 'make live       those against real servers alone'
	@echo 'make demo       what it does, shown'
	@echo 'make bench      beside hiredis, with ratios'
	@echo 'make fuzz       each harness for FUZZ_TIME=$(FUZZ_TIME) seconds'
	@echo 'make servers    unpacks servers of other Debian suites, for live-each'
	@echo 'make live-each  the live tests against each of them'
	@echo 'make redisson   the same locks as a real Redisson (needs a JDK, Maven)'
	@echo 'make valgrind   a client that loses its server, under valgrind'
	@echo 'make amalgamation  resp/ as one pair of files, to be copied'
	@echo 'make embed      is that pair what docs/embedding-resp.md says?'
	@echo 'make cross      the tests of resp/ on i386, armhf, s390x and musl'
	@echo 'make layers     do all includes point downwards?'
	@echo 'make exports    does the library export what it should?'
	@echo 'make deps       installs Debian packages, or says which'
	@echo 'make install    PREFIX=$(PREFIX) DESTDIR=$(DESTDIR)'
	@echo 'make clean'

-include $(wildcard $(BUILD)/*/*.d $(BUILD)/*/*/*.d $(BUILD)/*/*/*/*.d)
.SECONDARY:
.PHONY: all check check-built live live-built layers exports servers live-each \
        redisson valgrind fuzz bench demo amalgamation embed cross deps \
        deps-bench deps-embed deps-fuzz install clean help
