# Fuzzing: guided by libFuzzer, or AFL++.

# A harness is a function; what has main() is the replay of its corpus or, for
# fuzz/build.sh, a fuzzer.
FUZZ_MAIN ?= $(BUILD)/fuzz/replay.o
FUZZ_LD   ?= $(CC)
FUZZ_TIME ?= 30
FUZZ_GOAL ?= 1000000000

$(BUILD)/fuzz/fuzz_resp_parse: $(call objects,$(addprefix tests/support/,\
    resp_reading resp_answers))
$(BUILD)/fuzz/fuzz_resp_twin: $(call objects,$(addprefix tests/support/,\
    resp_reading resp_twin))
$(BUILD)/fuzz/fuzz_tools_resp: $(call objects,$(addprefix tools/resp/,\
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

#: make fuzz              each harness for FUZZ_TIME=$(FUZZ_TIME) seconds
fuzz: deps-fuzz build-fuzz/seeds/made
	@fuzz/build.sh guided
	+@$(MAKE) --no-print-directory $(jobs) $(FUZZ:%=guided-%)

guided-%:
	@fuzz/run.sh guided $* -max_total_time=$(FUZZ_TIME)

# So many executions, on one core, for an hour or more; on a second core run
# fuzz/long.sh beside it.
#: make fuzz-long         each harness until FUZZ_GOAL=$(FUZZ_GOAL) executions are done
fuzz-long: deps-fuzz build-fuzz/seeds/made
	@fuzz/build.sh guided
	@fuzz/build.sh fast
	@fuzz/long.sh $(FUZZ_GOAL)

#: make fuzz-afl          each harness under AFL++
fuzz-afl: deps-fuzz
	@fuzz/afl.sh $(FUZZ_TIME)

.PHONY: fuzz-built fuzz fuzz-long fuzz-afl
