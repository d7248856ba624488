# The judge of histories (tests/judge/): a program of its own, which knows nothing
# of holdfast.

judge_O := $(call objects,$(addprefix tests/judge/,history state count properties cause_set \
    watch lines clients servers queue violation cause cause_hold \
    sight judge))
# What prints its verdict.
report_O := $(call objects,$(addprefix tests/judge/,report overlap overlap_text overlap_svg))
judge_main_O := $(BUILD)/tests/judge/main.o $(report_O)

# Millions of lines are judged.
ifeq ($(origin CFLAGS),file)
$(judge_O) $(judge_main_O) $(BUILD)/tests/judge/naive.o: CFLAGS := -O2 -g
endif

$(BUILD)/judge: $(judge_main_O) $(judge_O)
	$(call say,link $@)
	$(Q)$(CC) $(LINK) $^ -o $@

$(BUILD)/fuzz/fuzz_judge: $(judge_O) $(report_O)
$(BUILD)/tests/test_judge_naive: $(BUILD)/tests/judge/naive.o
$(patsubst %,$(BUILD)/tests/test_%,judge judge_overlap judge_verdicts): | $(BUILD)/judge

#: make judge             build/judge: is a history of a lock service right?
judge: $(BUILD)/judge

.PHONY: judge

#: make judge-examples    judges locks of others: a naive one, redis-py, redsync
judge-examples: $(BUILD)/judge
	@tests/judge/examples/run.sh $(BUILD)

.PHONY: judge-examples
