# holdfast in other languages.

#: make check-python      builds and installs the binding for Python, and runs its tests
check-python: deps $(BUILD)/lock/script/scripts.c $(BUILD)/lock/script/script_names.h
	@tests/deps.sh deps-python || :
	@tests/python.sh $(BUILD)

# The compilers of Go and Rust are not installed: too large.
#: make check-go          the example in Go; check-rust: in Rust
check-go check-rust: check-%: deps all
	@tests/languages.sh $(BUILD) $* $(MAKE)

.PHONY: check-python check-go check-rust
