# holdfast in other languages.

#: make check-python      builds and installs the binding for Python, and runs its tests
check-python: deps
	@tests/deps.sh deps-python || :
	@tests/python.sh $(BUILD)

.PHONY: check-python
