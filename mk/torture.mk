# Other lock clients, and holdfast, under real faults, before the judge: docs/torture.md.
torture_B := $(BUILD)/tests/torture/holdfast_client $(BUILD)/tests/torture/step_clock.so

$(BUILD)/tests/torture/holdfast_client: %: %.o $(LIBS)
	$(call say,link $@)
	$(Q)$(CC) $(LINK) $^ $(TLS_LIBS) -o $@

# Loaded into a server, which has no sanitizer.
$(BUILD)/tests/torture/step_clock.so: tests/torture/step_clock.c
	@mkdir -p $(@D)
	$(call say,link $@)
	$(Q)$(COMPILE) -fno-sanitize=all -fvisibility=default -shared $< -o $@

# 50 runs of each fault, about an hour; runs that are in the results are not repeated.
# Options of torture.py: TORTURE='--runs 5 --faults client-stopped,failover --rows naive'.
#: make torture           lock clients under faults, before the judge: docs/torture.md
torture: deps all $(BUILD)/judge $(torture_B)
	@tests/torture/run.sh $(BUILD) $(TORTURE)

# Some seconds: the judge finds P1 for a naive client that is stopped, and nothing for
# holdfast.
torture-check: $(BUILD)/judge $(torture_B)
	@! command -v python3 >/dev/null || \
	    python3 tests/torture/torture.py $(BUILD) --self-test

.PHONY: torture torture-check
