# Benches, beside hiredis.

BENCH   := $(filter-out $(if $(filter no,$(TLS)),bench_tls), \
             $(basename $(notdir $(wildcard bench/bench_*.c))))
bench_B := $(BENCH:%=$(BUILD)/bench/%)
# The newest hiredis that Debian has, or the installed one (bench/peers.sh).
PEER    := $(wildcard build-peers/usr/lib/*/libhiredis.a)
PEER_TLS := $(wildcard build-peers/usr/lib/*/libhiredis_ssl.a)

$(bench_B:%=%.o): OURS += $(if $(PEER),-isystem build-peers/usr/include)
$(addprefix $(BUILD)/bench/bench_,resp net): LINK += \
    -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
$(BUILD)/bench/bench_net: BENCH_LIBS := $(PEER_TLS) -lev

$(BUILD)/bench/bench_push: | $(BUILD)/holdfast

$(BUILD)/bench/bench_tls: $(call objects,$(addprefix tests/support/,\
    certs tls_peer))

$(bench_B): %: %.o $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(LINK) $^ $(BENCH_LIBS) $(or $(PEER),-l:libhiredis.a) \
	    $(TLS_LIBS) -luv -lm -o $@

#: make bench             beside hiredis, with ratios; bench-resp: one of them;
#:                        late-lock, late-net: simulates slow wake-ups
bench: deps-bench
	@bench/peers.sh
	+@$(MAKE) --no-print-directory $(bench_B)
	@bench/run.sh $(BUILD)

# make bench-WHAT: one of them.
bench-%: deps-bench
	@bench/peers.sh $*
	+@$(MAKE) --no-print-directory $(BUILD)/bench/bench_$*
	@bench/run.sh $(BUILD) $*

# The sizes that no machine has are simulated.
#: make bench-growth      what holds, clients, waiting clients and masters cost (docs/growth.md);
#:                        growth-picture: draws the tables of docs/growth.md
bench-growth: deps-bench
	+@$(MAKE) --no-print-directory $(BUILD)/bench/bench_growth $(BUILD)/tests/sim/growth
	@bench/run.sh $(BUILD) growth
	@$(BUILD)/tests/sim/growth

growth-picture:
	@awk -f docs/growth.awk docs/growth.md >docs/growth.svg

# make late-WHAT: the same, as if processors that were idle were woken late.
$(BUILD)/bench/late.so: bench/late.c
	@mkdir -p $(@D)
	$(call say,link $@)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(OURS) -fvisibility=default -shared $< \
	    -ldl -o $@

late-%: $(BUILD)/bench/late.so
	+@BENCH_PRELOAD=$(abspath $<) $(MAKE) --no-print-directory bench-$*

.PHONY: bench bench-growth growth-picture
