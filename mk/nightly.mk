# Random runs: fresh seeds, real servers with faults, fuzzing. They do not gate a
# change; what they find becomes a recorded plan or a test, and that gates.

HOURS ?= 1

nightly_B := tests/sim/sim $(harness_tests:%=tests/sim/%) $(chaos_B:$(BUILD)/%=%) \
             tests/soak/one_address holdfast judge
asserts_BUILD := $(patsubst %-asserts,%,$(BUILD))-asserts

# Its programs have assertions: a rule that the code breaks ends a run, and is a finding.
#: make nightly           random runs of all kinds for HOURS=$(HOURS), continuing after
#:                        the last; writes build/nightly/report.html
nightly: deps deps-fuzz build-fuzz/seeds/made
	+@$(MAKE) --no-print-directory $(jobs) ASSERTS=yes BUILD=$(asserts_BUILD) \
	    $(addprefix $(asserts_BUILD)/,$(nightly_B))
	@fuzz/build.sh guided
	@ASSERTS=yes tests/nightly.sh $(BUILD) $(asserts_BUILD) $$(($(HOURS) * 3600))

#: make nightly-short     a few seconds of each kind; only a crash or two holders fail
nightly-short: deps
	+@$(MAKE) --no-print-directory $(jobs) $(addprefix $(BUILD)/,$(nightly_B))
	@tests/nightly.sh $(BUILD) $(BUILD) 0 short

#: make check-trixie      make check in a root of Debian 13 (as root; mmdebstrap)
check-%:
	@tests/root.sh $*

.PHONY: nightly nightly-short
