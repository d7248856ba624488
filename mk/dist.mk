# The tarball of a release.
DIST := holdfast-$(VERSION)

# The commit's own time is that of each file, and the compressed file has none.
#: make dist              $(BUILD)/$(DIST).tar.gz, of the last commit
dist:
	@git rev-parse --verify -q HEAD >/dev/null || { echo 'dist: needs the git repository' >&2; exit 1; }
	@mkdir -p $(BUILD)
	@git -c tar.umask=0022 archive --format=tar --prefix=$(DIST)/ HEAD | gzip -9n \
	    > $(BUILD)/$(DIST).tar.gz.new
	@mv $(BUILD)/$(DIST).tar.gz.new $(BUILD)/$(DIST).tar.gz
	$(call say,write $(BUILD)/$(DIST).tar.gz)

#: make distcheck         builds, tests, installs and uninstalls what dist has written
distcheck:
	+@tests/distcheck.sh $(BUILD)/$(DIST).tar.gz $(MAKE)

#: make packages          of the last commit, those that can be built here: Debian (debhelper,
#:                        lintian), RPM (rpmbuild); packages/ has the recipes
packages: dist
	@tests/packages.sh $(BUILD) $(BUILD)/$(DIST).tar.gz $(VERSION)

# Bare roots of these suites. Not part of the gate: each takes minutes, and Debian's packages.
SUITES ?= bookworm trixie

#: make packages-check    as root: the documents' commands, the packages and the bindings, on bare
#:                        roots of SUITES=$(SUITES) (mmdebstrap)
packages-check: dist
	@for suite in $(SUITES); do \
	    tests/bare.sh $$suite $(BUILD)/$(DIST).tar.gz || exit 1; done

#: make html              README, docs/ and the manual pages as HTML: $(BUILD)/html/README.html
html: deps-html $(BUILD)/man3/holdfast.3
	@mk/html.sh $(BUILD)/html $(BUILD)/man3
	@tests/links.sh $(BUILD)/html

#: make release           checks everything that a release needs, and says what a person does
#:                        then; REHEARSAL=yes: before its date is in CHANGELOG.md
release: all
	+@tests/release.sh $(BUILD) $(MAKE)

.PHONY: dist distcheck packages packages-check html release
