# What reads the tree, and runs no test: each fails where tree and promise differ.

# Arrows only downwards: a floor includes its own headers and the public ones of
# the floors below, a folder of net/ those of the folders below it.
#: make layers            do all includes point downwards, and in no circle?
layers:
	@tests/layers.sh
	@tests/own_header.sh
	@tests/layers_notices.sh

# No file, no function is too long, and every public function is documented.
#: make shape             how long are the functions, how long may they be?
shape:
	@tests/shape.sh -v

shape-check:
	@tests/shape.sh
	@tests/shape_fails.sh

# docs/steps.svg is drawn from docs/architecture.md; the rules of docs/permissions.md are
# what doctor prints; the completions of shells are what the help says; the manual pages are
# complete.
docs-check: $(BUILD)/holdfast $(BUILD)/man3/holdfast.3
	@awk -f docs/steps.awk docs/architecture.md | cmp - docs/steps.svg || \
	    { echo 'docs/steps.svg is not what docs/architecture.md says: make steps' >&2; exit 1; }
	@awk -f docs/growth.awk docs/growth.md | cmp - docs/growth.svg || \
	    { echo 'docs/growth.svg is not what docs/growth.md says: make growth-picture' >&2; exit 1; }
	@tests/acl.sh $(BUILD)/holdfast
	@tests/completions.sh $(BUILD)/holdfast
	@tests/url_page.sh
	@tests/manuals.sh $(BUILD)/man3 $(HEADERS)
	@tests/messages.sh
	@tests/version.sh

# The samples of README.md and docs/ compile, and their commands run (redis-server).
#: make pages-check       do the samples of the documents compile and run?
pages-check: all
	@tests/pages.sh $(BUILD) '$(CC) $(LINK)'

#: make steps             draws the tables of docs/architecture.md: docs/steps.svg
steps:
	@awk -f docs/steps.awk docs/architecture.md >docs/steps.svg

# What the shared library exports is what tests/exports.txt says, and what the
# installed headers declare.
#: make exports           does the library export what it should?
exports: $(BUILD)/libholdfast.so $(LIBS) $(headers_I)
	@tests/exports.sh '$(CC) $(LINK)' $(filter-out $(headers_I),$^)
	@tests/abi/layout.sh $(BUILD) '$(CC)'

# docs/abi.md
#: make abi-check         do programs of older and newer versions run with this library, and does
#:                        abidiff find no difference? abi-record: the interface is what it is now
abi-check: all
	@tests/abi/check.sh $(BUILD) '$(CC)'

abi-record: all
	@tests/abi/layout.sh $(BUILD) '$(CC)' --record
	@tests/abi/abidiff.sh $(BUILD) --record

# Each rule of RESP-CONFORMANCE and what tests it; fails on a rule without a test
# and on a vector without a rule. Then each numbered rule of the source, and the tests
# that name it.
#: make rules             each rule of RESP and of the source, and what tests it
rules:
	@tests/vectors/rules.sh
	@tests/rules.sh -v

rules-check: tests-named
	@tests/vectors/rules.sh -q
	@tests/rules.sh
	@tests/rules_fails.sh

# Each source file names its tests.
tests-named:
	@tests/tests_named.sh

#: make sources           checks that every cited file, test and rule exists
sources:
	@tests/sources.sh

# Each fault and what tests it (docs/faults.md); fails on a name that dangles.
faults-check:
	@tests/faults.sh

#: make servers-check     does each situation of docs/servers.md have a test?
servers-check:
	@tests/servers_page.sh

# No script returns a text of another program at its full length.
#: make texts-check       does each script cut the texts that it returns, and name its keys?
texts-check:
	@tests/script_texts.sh
	@tests/script_keys.sh
	@tests/script_texts_fails.sh

# The pages that users read are in plain English.
#: make words             do the pages avoid the phrases of tests/words.txt?
words:
	@tests/words.sh

# Each planted bug replaces a text that occurs once in the source.
#: make mutants-apply     checks that each planted bug still fits the source
mutants-apply:
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && \
	    for list in tests/mutants/*.txt; do \
	        awk -v out="$$dir" -v tests=none -f tests/mutants/apply.awk $$list \
	            >/dev/null || exit 1; done

# docs/metrics.md
#: make metrics-check     do the parsers of Prometheus accept the metrics? (prometheus_client of
#:                        Python, promtool)
metrics-check: deps all $(BUILD)/tests/live/lock/test_metrics
	@tests/metrics/check.sh $(BUILD)

# Nobody's machine is changed without being asked.
deps-check:
	@tests/deps_users.sh

# Installed files can be read by everyone, whatever the umask is.
install-check: all
	@tests/install.sh $(MAKE)

# Builds as a user may: tests/build.sh, and what is in the tarball, by clang.
#: make builds            -O3, static, musl, clang, with and without OpenSSL, installed
builds: deps deps-musl deps-fuzz deps-packages all
	+@tests/build.sh $(BUILD)
	+@$(MAKE) --no-print-directory distcheck

.PHONY: pages-check
.PHONY: builds metrics-check steps sources tests-named words mutants-apply install-check layers shape shape-check docs-check exports abi-check abi-record rules rules-check faults-check servers-check texts-check deps-check
