# Test programs, and the targets that run them.

# $(call once,NAME,COMMAND): COMMAND's output. It runs at the first use of NAME alone: by then
# the packages are installed.
once = $(eval $(1) := $$(shell $(2)))$($(1))
check_cflags = $(call once,check_cflags,$(PKG_CONFIG) --cflags check)
check_libs   = $(call once,check_libs,$(PKG_CONFIG) --libs check)
CHECK_CFLAGS = $(check_cflags)
CHECK_LIBS   = $(check_libs) -lhiredis
# There are some 230 test programs. GNU gold links them in half the CPU time of the default
# linker. Static programs, and the product, are linked by the user's linker. AddressSanitizer
# describes each global variable and each string: at a fixed address (-no-pie) these tables need
# no relocations, and a program is linked in half the time.
gold    = $(call once,gold,$(CC) -fuse-ld=gold -Wl$(comma)--version >/dev/null 2>&1 && echo -fuse-ld=gold)
TEST_LD = $(if $(STATIC),,$(gold) $(if $(findstring address,$(SANITIZE)),-no-pie))
unit_T := $(UNIT:%=$(BUILD)/tests/test_%) $(VECTORS:%=$(BUILD)/tests/vectors/test_%)
# The programs of tests/live/ are in folders by subject. LIVE and $(call live,lock* ls) name
# them without their folder.
live   = $(addprefix $(BUILD)/,$(basename $(wildcard $(1:%=tests/live/*/test_%.c))))
live_T := $(foreach name,$(LIVE),$(or $(call live,$(name)),$(error \
          there is no tests/live/*/test_$(name).c)))
# Only where there is such a server (make servers).
each_T := $(call live,lock_injected)
fuzz_T := $(FUZZ:%=$(BUILD)/fuzz/fuzz_%)
support_O := $(call objects,$(SUPPORT:%=tests/support/%))
bytewise_T := $(patsubst %,$(BUILD)/tests/test_resp_%_bytewise,parse random)

$(patsubst %,$(BUILD)/tests/test_%,$(tls_tests_yes)): \
    $(call objects,$(addprefix tests/support/,certs tls_peer))
$(call live,$(tls_live_yes)): $(call objects,tests/support/certs)

$(BUILD)/tests/test_support: $(call objects,$(addprefix tests/support/self/,\
    lateness memory peer plain proxy server))
$(patsubst %,$(BUILD)/tests/test_net_%,resolve dial link_connect): \
    $(call objects,tests/support/names)
$(filter $(BUILD)/tests/test_net_conn%,$(unit_T)): \
    $(call objects,tests/support/conn_kit)
$(filter $(BUILD)/tests/test_net_router%,$(unit_T)): \
    $(call objects,$(addprefix tests/support/,loop_kit router_kit))
$(patsubst %,$(BUILD)/tests/test_net_%,sentinel sentinel_news replicas): \
    $(call objects,$(addprefix tests/support/,loop_kit sentinel_kit))
$(filter $(BUILD)/tests/test_net_loop%,$(unit_T)): \
    $(call objects,$(addprefix tests/support/,loop_kit turn_kit))
$(filter $(BUILD)/tests/test_net_link_% $(BUILD)/tests/test_net_pubsub \
    $(BUILD)/tests/test_net_tls_link $(BUILD)/tests/test_net_replace,$(unit_T)): \
    $(call objects,$(addprefix tests/support/,loop_kit link_kit))

# The judge of histories: it knows nothing of holdfast.
$(patsubst %,$(BUILD)/tests/test_%,history judge judge_naive judge_overlap judge_verdicts): $(judge_O)
$(BUILD)/tests/test_chaos_model: $(judge_O) $(call objects,\
    $(addprefix tests/soak/chaos_,commands model monitor said watch))

# System calls that fail, clocks that jump, where a test says so.
wrapped = $(patsubst %,-Wl$(comma)--wrap=%,$(1))
$(BUILD)/tests/test_net_faults: LINK += $(call wrapped,socket connect \
    setsockopt getsockopt getsockname getpeername recv send close read write \
    pipe2 epoll_create1 epoll_ctl epoll_wait poll pthread_create)
$(BUILD)/tests/test_net_spin: LINK += $(call wrapped,clock_gettime epoll_wait \
    poll sched_yield sysconf)
$(patsubst %,$(BUILD)/tests/test_net_%,sentinel sentinel_news replicas replace): \
    LINK += $(call wrapped,hf_clock_us hf_clock_ms)
$(BUILD)/tests/test_cli_secret: LINK += $(call wrapped,pthread_cond_timedwait)
$(BUILD)/tests/test_net_pace: LINK += $(call wrapped,clock_gettime connect recv)
$(call live,lock_clock): LINK += $(call wrapped,clock_gettime \
    gettimeofday time)

# The vectors of tests/vectors/: the ways of running them, and a score.
ways_O  := $(call objects,$(addprefix tests/vectors/,vectors ways))
score_O := $(ways_O) $(call objects,$(addprefix tests/vectors/,score))
$(BUILD)/tests/test_resp_vectors: $(ways_O) $(BUILD)/tests/vectors/holdfast.o
$(BUILD)/tests/vectors/test_score: $(score_O) $(BUILD)/tests/vectors/holdfast.o

$(BUILD)/tests/%.o: OURS += $(CHECK_CFLAGS) -DHF_BUILD='"$(BUILD)"' \
                            -DVEC_LOCALES='"$(BUILD)/tests/locale"'
# Optimizing the tests would triple the time to compile them; most of them wait, these
# compute. What the user says counts.
computing_O := $(patsubst %,$(BUILD)/tests/test_%.o,\
    net_spin net_wheel lock_lease lock_quorum_turn lock_share)
ifeq ($(origin CFLAGS),file)
$(BUILD)/tests/%.o: CFLAGS := -O0 -g
$(computing_O): CFLAGS := -O2 -g
endif
# The gate has own flags for the library, and says those of the tests that wait as well.
ifdef TEST_CFLAGS
its_cflags := $(CFLAGS)
$(BUILD)/tests/test_%.o $(BUILD)/tests/live/%.o $(BUILD)/tests/support/%.o: \
    override CFLAGS := $(TEST_CFLAGS)
$(computing_O): override CFLAGS := $(its_cflags)
endif

redisson_T := $(BUILD)/tests/redisson/test_redisson
redisson_soak_T := $(BUILD)/tests/redisson/soak
$(redisson_T): $(call objects,$(addprefix tests/redisson/,both counts driver fair \
    fair_mix fair_order monitor multi quorum rw turnstile))
$(redisson_soak_T): $(judge_O) $(call objects,$(addprefix tests/redisson/,both driver \
    soak_history soak_worker))
writer_among_T := $(BUILD)/tests/redisson/writer
$(writer_among_T): $(call objects,$(addprefix tests/redisson/,both driver))
others_T := $(addprefix $(BUILD)/tests/others/test_,others others_quorum)
$(others_T): $(call objects,tests/redisson/driver)
cli_T := $(filter $(BUILD)/tests/test_cli_% $(BUILD)/tests/test_tools_%,$(unit_T))
run_T := $(filter $(BUILD)/tests/live/cli/% $(BUILD)/tests/live/example/%,$(live_T)) \
         $(call live,sentinel sentinel_failover nat lock_acl tls_cluster tls_refused)
$(cli_T) $(call live,waiting): $(filter-out $(BUILD)/cli/main.o,$(cli_O)) \
    $(filter-out $(BUILD)/tools/resp/main.o,$(resp_tool_O))
$(run_T): $(BUILD)/tests/live/test_run_kit.o
$(call live,quorum*): $(BUILD)/tests/live/set/test_quorum_kit.o
$(call live,examples): | $(examples_B)
writer_T := $(BUILD)/tests/fencing/writer
$(call live,fencing): | $(fenced_B) $(writer_T)
$(writer_T): %: %.o $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(LINK) $^ $(TLS_LIBS) -o $@

soak_T := $(addprefix $(BUILD)/tests/soak/,chaos failover silence one_address) $(redisson_soak_T) $(writer_among_T)

# libcheck: programs are run in parts (tests/support/parts.c), and note fewer places (marks.c).
$(unit_T) $(live_T) $(each_T) $(redisson_T) $(others_T) $(soak_T) $(bytewise_T): \
    LINK += $(call wrapped,_tcase_add_test _mark_point)

$(unit_T) $(live_T) $(each_T) $(redisson_T) $(others_T) $(soak_T): \
    %: %.o $(support_O) $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(TEST_LD) $(LINK) $(filter %.o,$^) $(LIBS) $(TLS_LIBS) $(CHECK_LIBS) -o $@

# The parser's twin that reads digits one by one.
$(BUILD)/bytewise/%.o: %.c
	@mkdir -p $(@D)
	$(call say,compile $< bytewise)
	$(Q)$(COMPILE) -DHF_RESP_BYTEWISE -c $< -o $@

$(bytewise_T): $(BUILD)/tests/test_resp_%_bytewise: $(BUILD)/tests/test_resp_%.o \
               $(call objects,$(RESP:%=bytewise/resp/%)) $(support_O) $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(TEST_LD) $(LINK) $(filter %.o,$^) $(LIBS) $(TLS_LIBS) $(CHECK_LIBS) -o $@

# As many jobs as processors, unless the user says how many.
jobs = $(if $(findstring -j,$(MAKEFLAGS)),,-j$(shell nproc))

# Warnings are errors in the repository. In a tarball, the compiler and its flags are those of
# the packager, and nobody has seen what they warn of.
werror = WERROR=$(if $(filter undefined,$(origin WERROR)),$(if $(wildcard .git),-Werror),$(WERROR))

#: make check             every test, against servers that it starts itself
check: deps
	+@$(MAKE) --no-print-directory $(jobs) $(werror) check-built

check_T = $(live_T) $(unit_T) $(bytewise_T) $(fuzz_T)

# libcheck ends a test after 4 s, or as many as the test says: too soon for a
# machine with much else to do.
export CK_DEFAULT_TIMEOUT ?= 60
export CK_TIMEOUT_MULTIPLIER ?= 5

#: make build-tests       the test programs, without a run
build-tests: all $(examples_B) $(BUILD)/tests/locale/comma $(check_T) \
             $(if $(SANITIZE),,$(soak_T) $(each_T) $(redisson_T) $(others_T))

# A trap shows the stack, with file and line.
ifeq ($(TRAPS),yes)
export ASAN_OPTIONS ?= handle_sigill=1
endif

# tests/run.sh runs the tests of these programs in one process.
export TEST_TOGETHER := $(if $(SANITIZE),$(TOGETHER))

# What reads the source has the same result with a sanitizer, and is not repeated.
source_checks = layers shape-check docs-check exports rules-check tests-named sources faults-check servers-check \
                texts-check words mutants-apply deps-check install-check pages-check torture-check

check-built: build-tests $(if $(SANITIZE),,$(source_checks))
	@tests/run.sh $(check_T)

# A test that a busy machine fails has a fault: it looks at the clock where it
# should await an event.
N ?= 20

#: make check-busy        the tests, N=$(N) times, beside busy processes
check-busy: build-tests
	@tests/busy.sh $(N) $(BUILD)/busy $(check_T)

#: make live              the tests against real servers alone
live: deps
	+@$(MAKE) --no-print-directory $(jobs) $(werror) live-built

live-built: all $(live_T)
	@tests/run.sh $(live_T)

# For sanitizers and other event loops: no checks of the source, no simulation (it has
# one thread and a poller of its own).
#: make check-these       runs only the tests of UNIT=... and LIVE=...
check-these: deps
	+@$(MAKE) --no-print-directory $(jobs) $(werror) these-built

# The library is tested as it was compiled; to optimize the tests would triple the time.
#: make check-unit        the unit tests: for packages; installs nothing, and needs no network
#:                        but the loopback interface
check-unit: TEST_CFLAGS ?= -O0 -U_FORTIFY_SOURCE
check-unit:
	+@$(MAKE) --no-print-directory $(jobs) LIVE= TEST_CFLAGS='$(TEST_CFLAGS)' these-built

these-built: all $(unit_T) $(live_T)
	@tests/run.sh $(live_T) $(unit_T)

#: make refused           prints each script, each command refused in it, the answer, and
#:                        what becomes of the keys
refused: $(call live,refused)
	@HF_TABLE=1 $<

#: make terminal          Ctrl-C, Ctrl-Z and Ctrl-S on a terminal of tmux
terminal: all
	@tests/deps.sh deps-terminal
	@tests/live/cli/terminal.sh $(BUILD)/holdfast

# The same locks, and clusters, over mutual TLS; but for what talks to scripted
# peers or by sockets of its own, and what finds its server at another address
# than the certificate's.
over_tls_T := $(filter-out %_errors %_absent %_forged %_orphans %_network %_map, \
                  $(filter $(call live,lock* cluster*),$(live_T)))

#: make live-tls          the tests of locks and clusters, over mutual TLS
live-tls: deps all $(over_tls_T)
	@tests/live/tls/over_tls.sh $(over_tls_T)

# A locale with a decimal comma; in UTF-8 it takes four times the time. Where none can be made the
# folder is empty, and the tests in it say that they are skipped.
$(BUILD)/tests/locale/comma:
	@mkdir -p $(@D)
	@localedef --no-archive -i de_DE -f ISO-8859-1 $@ 2>/dev/null || mkdir -p $@

.PHONY: build-tests check check-built check-busy live live-built \
        check-these check-unit these-built refused terminal live-tls
