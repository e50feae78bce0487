# foretell: GNU make, pkg-config, C11. `make help` lists the targets.
#
#   BUILD=dir       where everything made goes (build, or build-asan with SANITIZE)
#   CC=clang        another compiler; CFLAGS, LDFLAGS and LDLIBS are honoured as usual
#   SANITIZE=list   build with these sanitizers, for example address,undefined
#   STRIP=          keep debugging symbols in what `make install` copies (strip)
#   V=1             print whole commands

SANITIZE ?=
BUILD    ?= $(if $(SANITIZE),build-asan,build)
CFLAGS   ?= $(if $(SANITIZE),-O1 -g,-O2 -g)
PREFIX   ?= /usr/local
TIME     ?= 600
MAKEFLAGS += --no-builtin-rules

# Packages that are linked, and those of which only headers are: the library loads them when it needs them (base/library.h).
PACKAGES   := libprotobuf-c jansson zlib libxxhash
LOADED     := openblas cairo yaml-0.1
ONNX_PROTO ?= /usr/include/onnx/onnx.proto
VERSION    := $(shell sed -n 's/^.define FT_VERSION_M[AI][JN]OR *//p; s/^.define FT_VERSION_PATCH *//p' \
                include/foretell/foretell.h | paste -sd.)
SONAME     := libforetell.so.$(firstword $(subst ., ,$(VERSION)))

# pkg-config runs with the first command, which is after setup has installed the packages.
PKG_CFLAGS = $(eval PKG_CFLAGS := $$(shell pkg-config --cflags $(PACKAGES) $(LOADED)))$(PKG_CFLAGS)
PKG_LIBS   = $(eval PKG_LIBS := $$(shell pkg-config --libs $(PACKAGES)))$(PKG_LIBS)

SANITIZE_FLAGS = $(if $(SANITIZE),-fsanitize=$(SANITIZE) -fno-sanitize-recover=all -fno-omit-frame-pointer)
INCLUDES   = -Iinclude -Isrc -I$(BUILD)/gen
LANGUAGE   = -std=c11 -D_GNU_SOURCE
ALL_CFLAGS = $(LANGUAGE) -Wall -Wextra -Wpedantic -Werror -fPIC -fvisibility=hidden $(INCLUDES) $(PKG_CFLAGS) \
             $(CFLAGS) $(SANITIZE_FLAGS)
ALL_LDFLAGS = $(CFLAGS) $(SANITIZE_FLAGS) $(LDFLAGS)
ALL_LDLIBS  = $(PKG_LIBS) -lm -lpthread -ldl $(LDLIBS)

LIB_SOURCES     := $(sort $(wildcard src/*/*.c src/*/*/*.c))
CLI_SOURCES     := $(sort $(wildcard cli/*.c))
SERVE_SOURCES   := $(sort $(wildcard serve/*.c))
TEST_SOURCES    := $(sort $(wildcard tests/*/test_*.c))
TEST_SCRIPTS    := $(sort $(wildcard tests/*/test_*.sh))
SUPPORT_SOURCES := $(sort $(wildcard tests/support/*.c))
FUZZ_SOURCES    := $(sort $(wildcard fuzz/fuzz_*.c))
EXAMPLE_SOURCES := $(sort $(wildcard examples/*.c))
BENCH_SOURCES   := $(sort $(wildcard bench/*.c))
TOOL_SOURCES    := $(sort $(wildcard tools/*.c))
ALL_SOURCES     := $(LIB_SOURCES) $(CLI_SOURCES) $(SERVE_SOURCES) $(TEST_SOURCES) $(SUPPORT_SOURCES) $(wildcard tests/torture/*.c tests/measure/standin/*.c) $(FUZZ_SOURCES) \
                   $(wildcard fuzz/replay.c) $(EXAMPLE_SOURCES) $(BENCH_SOURCES) $(TOOL_SOURCES)
HEADERS         := $(sort $(wildcard include/foretell/*.h src/*/*.h src/*/*/*.h cli/*.h serve/*.h tests/*/*.h bench/*.h tools/*.h))

object = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

ONNX_OBJECT  := $(BUILD)/gen/onnx.pb-c.o
GRAPHDEF     := src/read/tensorflow/graphdef.proto
PROTO_OBJECTS := $(ONNX_OBJECT) $(BUILD)/gen/graphdef.pb-c.o
PROTO_HEADERS := $(PROTO_OBJECTS:.o=.h)
RULE_FILES   := $(sort $(wildcard rules/*.json))
DEVICE_FILES := $(sort $(wildcard devices/*.json))
CATALOGUE    := catalogue/models.csv $(sort $(wildcard catalogue/*.json))
HOST_FILES   := $(sort $(wildcard hosts/*.json))
EMBEDDED     := $(BUILD)/gen/rules.o $(BUILD)/gen/device.o $(BUILD)/gen/host.o $(BUILD)/gen/catalogue.o
LIB_OBJECTS  := $(call object,$(LIB_SOURCES)) $(PROTO_OBJECTS) $(EMBEDDED)
TEST_ROOMS   := $(sort $(patsubst tests/%/,%,$(dir $(TEST_SOURCES))))
TESTS        := $(TEST_ROOMS:%=$(BUILD)/tests/%)
REPLAYS      := $(FUZZ_SOURCES:fuzz/fuzz_%.c=$(BUILD)/fuzz/replay_%)
FUZZERS      := $(FUZZ_SOURCES:%.c=$(BUILD)/%)
EXAMPLES     := $(EXAMPLE_SOURCES:%.c=$(BUILD)/%)
BENCHES      := $(BENCH_SOURCES:%.c=$(BUILD)/%)
MAKEMODEL    := $(BUILD)/makemodel
COMMAND      := $(BUILD)/foretell

# $(call brief,CC,name) says in a few columns what the rest of the line does, unless V=1 shows the line itself.
brief = $(if $(V),,@printf '%-6s %s\n' '$(1)' '$(2)';)

.PHONY: deps-measure all lib tests test check sanitize torture thread-check clang-build tidy cppcheck format format-check mutate fuzz fuzzers bench predictors demo demo-serve \
        dist install uninstall clean help setup-build setup-test setup-check setup-fuzz FORCE
.SECONDARY:
.DELETE_ON_ERROR:

all: $(COMMAND) $(BUILD)/libforetell.a $(BUILD)/libforetell.so $(MAKEMODEL)
lib: $(BUILD)/libforetell.a
tests: $(TESTS) $(REPLAYS) $(EXAMPLES)

help:
	@sed -n 's/^#: //p' Makefile

#: make                       the command, the static and the shared library, into build/
#: make demo                  build, make example models, and run the main commands on them
#: make demo-serve            start the HTTP service, ask it with curl, and scrape its metrics with Prometheus
#: make test                  build and run all tests; SANITIZE=address,undefined runs them under sanitizers
#: make check                 tests under sanitizers, a clang build, clang-tidy (TIDY=changed: of what changed), cppcheck, format
#: make format                format the sources with clang-format
#: make mutate                mutation testing: change the library in COUNT=200 places, print what no test notices
#: make fuzz                  fuzz every reader for TIME=600 seconds each, or only TARGET=name
#: make torture               let every allocation and system call of whole commands fail in turn; CASES="predict merge": of some
#: make predictors            train the predictors that ship, from ../shared/data; can be stopped and started again
#: make bench                 speed and memory, as tables and as bench/results/*.csv; PARTS="predict nn" runs only some
#: make deps-measure          fetch ONNX Runtime with npm into build/, for `foretell measure`
#: make install PREFIX=dir    command, libraries, headers, predictors, schemas, docs, completion; DESTDIR is honoured; STRIP= keeps symbols
#: make dist                  a release as build/foretell-VERSION.tar.gz, which builds without git
#: make clean                 remove what was built
#:
#: Every target first installs the Debian packages it lacks (scripts/setup). Variables: BUILD, CC, CFLAGS, V=1.

# --- Packages --------------------------------------------------------------------------------------------------------

setup-build setup-test setup-check setup-fuzz: setup-%:
	@scripts/setup $*

# --- Compiling -------------------------------------------------------------------------------------------------------

# Objects depend on the flags they were made with, so that another CC or SANITIZE never mixes with old objects.
$(BUILD)/flags: FORCE | setup-build
	@mkdir -p $(BUILD)/gen
	@printf '%s\n' '$(CC) $(ALL_CFLAGS)' | cmp -s - $@ || printf '%s\n' '$(CC) $(ALL_CFLAGS)' > $@

$(ONNX_PROTO): | setup-build
	@test -f $@ || { echo 'foretell: $@ is missing: install libonnx-dev, or set ONNX_PROTO=' >&2; exit 1; }

$(BUILD)/gen/onnx.pb-c.c $(BUILD)/gen/onnx.pb-c.h &: $(ONNX_PROTO) | $(BUILD)/flags
	$(call brief,GEN,$(BUILD)/gen/onnx.pb-c.c)protoc-c -I$(dir $<) --c_out=$(BUILD)/gen $(notdir $<)

$(BUILD)/gen/graphdef.pb-c.c $(BUILD)/gen/graphdef.pb-c.h &: $(GRAPHDEF) | $(BUILD)/flags
	$(call brief,GEN,$(BUILD)/gen/graphdef.pb-c.c)protoc-c -I$(dir $<) --c_out=$(BUILD)/gen $(notdir $<)

# The fusion rules, the devices and the hosts travel inside the library.
$(BUILD)/gen/rules.c: scripts/embed $(RULE_FILES) | $(BUILD)/flags
	$(call brief,GEN,$@)scripts/embed rules $(RULE_FILES) > $@

$(BUILD)/gen/host.c: scripts/embed $(HOST_FILES) | $(BUILD)/flags
	$(call brief,GEN,$@)scripts/embed host $(HOST_FILES) > $@

$(BUILD)/gen/device.c: scripts/embed $(DEVICE_FILES) | $(BUILD)/flags
	$(call brief,GEN,$@)scripts/embed device $(DEVICE_FILES) > $@

# Graphs without weights, made here, and configurations.
$(BUILD)/gen/catalogue.c: scripts/embed-models $(CATALOGUE) $(BUILD)/makemodel | $(BUILD)/flags
	$(call brief,GEN,$@)scripts/embed-models $(firstword $(CATALOGUE)) $(BUILD)/makemodel > $@

# Generated code is compiled as it comes: its warnings are not ours.
$(PROTO_OBJECTS) $(EMBEDDED): $(BUILD)/gen/%.o: $(BUILD)/gen/%.c $(PROTO_HEADERS) $(BUILD)/flags
	$(call brief,CC,$<)$(CC) $(filter-out -Werror -Wpedantic,$(ALL_CFLAGS)) -MMD -MP -c $< -o $@

$(BUILD)/obj/%.o: %.c $(BUILD)/flags | $(PROTO_HEADERS)
	@mkdir -p $(@D)
	$(call brief,CC,$<)$(CC) $(ALL_CFLAGS) $(EXTRA_CFLAGS) -MMD -MP -c $< -o $@

# The loops of nn/ (and those of one predictor) are to become vector code, which -O2 of gcc does only where it costs no byte; nor does it with square
# roots that have to set errno, or with choices (x > 0 ? x : 0) that have to raise floating-point exceptions.
$(call object,$(wildcard src/nn/*.c src/nn/math/*.c) src/predictor/torch/torch_cost.c src/predictor/torch/torch_net.c): \
    private EXTRA_CFLAGS = -O3 -fno-math-errno -fno-trapping-math
# Loops at the peak of the processor are multiply-adds.
$(BUILD)/obj/src/measure/speed_kernel.o: private EXTRA_CFLAGS = -O3 -ffp-contract=fast
$(BUILD)/obj/src/forecast/predictor_set.o: private EXTRA_CFLAGS = '-DFORETELL_DATADIR="$(PREFIX)/share/foretell"'
$(BUILD)/obj/tests/%.o: private EXTRA_CFLAGS = -Itests
$(call object,$(TEST_SOURCES) $(SUPPORT_SOURCES)): | setup-test
# The command and the examples see the public headers alone. `private`: prerequisites ($(BUILD)/flags) must not inherit it.
$(call object,$(CLI_SOURCES) $(SERVE_SOURCES) $(EXAMPLE_SOURCES)): private INCLUDES = -Iinclude
# It contains the file.
$(BUILD)/obj/serve/openapi.o: serve/openapi.json

# --- Linking ---------------------------------------------------------------------------------------------------------

link = $(call brief,LD,$@)$(CC) $(ALL_LDFLAGS) -o $@ $(filter %.o,$^) $(filter %.a,$^) $(ALL_LDLIBS)

$(BUILD)/libforetell.a: $(LIB_OBJECTS)
	@rm -f $@
	$(call brief,AR,$@)$(AR) rcs $@ $^

$(BUILD)/libforetell.so: $(LIB_OBJECTS) scripts/exports.map
	$(call brief,LD,$@)$(CC) -shared -Wl,-soname,$(SONAME) -Wl,--version-script=scripts/exports.map \
	    $(if $(SANITIZE),,-Wl,-z,defs) $(ALL_LDFLAGS) -o $@ $(LIB_OBJECTS) $(ALL_LDLIBS)
	@ln -sf libforetell.so $(BUILD)/$(SONAME)

$(BUILD)/foretell: $(call object,$(CLI_SOURCES) $(SERVE_SOURCES)) $(BUILD)/libforetell.a
	$(link)

# Tests stand between the library and malloc, to let it fail (tests/support/failing.h).
WRAP = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc

# One program per room. `main` of each test file is renamed after the file (-Dmain=test_bind_main); the program's own main
# (tests/support/room_main.c) runs them all, each in a process of its own, or those named on its command line.
$(call object,$(TEST_SOURCES)): private EXTRA_CFLAGS = -Itests -Dmain=$(notdir $(basename $<))_main

$(BUILD)/gen/tests_%.c: $(TEST_SOURCES) scripts/test-list | $(BUILD)/flags
	$(call brief,GEN,$@)scripts/test-list $(filter tests/$*/%,$(TEST_SOURCES)) > $@

$(BUILD)/gen/tests_%.o: $(BUILD)/gen/tests_%.c tests/support/room_main.h $(BUILD)/flags
	$(call brief,CC,$<)$(CC) $(ALL_CFLAGS) -Itests -c $< -o $@

define test_program
$(BUILD)/tests/$(1): $(call object,$(filter tests/$(1)/%,$(TEST_SOURCES))) $(BUILD)/gen/tests_$(1).o
endef
$(foreach room,$(TEST_ROOMS),$(eval $(call test_program,$(room))))

$(TESTS): $(call object,$(SUPPORT_SOURCES)) $(BUILD)/libforetell.a
	@mkdir -p $(@D)
	$(link) -lcmocka $(WRAP)
# Libraries that take the place of ONNX Runtime and say so in their names.
STANDINS := $(patsubst tests/measure/standin/%.c,$(BUILD)/standin/lib%_standin.so,$(wildcard tests/measure/standin/*.c))
$(STANDINS): $(BUILD)/standin/lib%_standin.so: tests/measure/standin/%.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call brief,CC,$<)$(CC) $(LANGUAGE) -Wall -Wextra -Wpedantic -Werror -O2 -g -fPIC -shared -o $@ $<
$(BUILD)/tests/measure: | $(STANDINS)
$(BUILD)/tests/cli: $(call object,$(filter-out cli/main.c,$(CLI_SOURCES)) $(SERVE_SOURCES))
$(BUILD)/bench/serve_empty: private LDLIBS += -lmicrohttpd
# Tests read the pixels of a page.
$(BUILD)/tests/report: private LDLIBS += -lcairo

$(REPLAYS): $(BUILD)/fuzz/replay_%: $(BUILD)/obj/fuzz/fuzz_%.o $(BUILD)/obj/fuzz/replay.o $(BUILD)/libforetell.a
	@mkdir -p $(@D)
	$(link)

$(FUZZERS): $(BUILD)/fuzz/%: $(BUILD)/obj/fuzz/%.o $(BUILD)/libforetell.a
	@mkdir -p $(@D)
	$(link) -fsanitize=fuzzer

$(EXAMPLES) $(BENCHES): $(BUILD)/%: $(BUILD)/obj/%.o $(BUILD)/libforetell.a
	@mkdir -p $(@D)
	$(link)

$(BUILD)/makemodel: $(call object,$(TOOL_SOURCES)) $(ONNX_OBJECT)
	$(link)

# --- Runtimes to measure with -----------------------------------------------------------------------------------------

# Package scripts would download builds for GPUs: the library for CPUs is in the package itself.
deps-measure:
	npm install --prefix $(BUILD) --no-save --no-audit --no-fund --ignore-scripts onnxruntime-node
	@ls $(BUILD)/node_modules/onnxruntime-node/bin/*/linux/*/libonnxruntime.so*

# --- Testing ---------------------------------------------------------------------------------------------------------

test: all tests
	@BUILD=$(BUILD) COMPILE='$(CC) $(CFLAGS) $(SANITIZE_FLAGS)' scripts/run-tests \
	    $(TESTS) $(REPLAYS) $(TEST_SCRIPTS)

check: sanitize thread-check clang-build tidy cppcheck format-check
	@echo 'check: sanitizers, threads, clang, clang-tidy, cppcheck and format are clean'

sanitize:
	@$(MAKE) --no-print-directory BUILD=build-asan SANITIZE=address,undefined test

clang-build: | setup-check
	@$(MAKE) --no-print-directory BUILD=build-clang CC=clang all tests $(BENCHES:$(BUILD)/%=build-clang/%)

# Tests are left out: the analyser does not know that cmocka's assertions do not come back. TIDY=changed: only sources that
# changed since the last commit of documents alone (scripts/changed-sources).
TIDY ?= all
TIDY_SOURCES := $(filter-out tests/%,$(ALL_SOURCES))
tidy: $(PROTO_HEADERS) | setup-check
	@list=$(BUILD)/tidy-list; \
	 if [ '$(TIDY)' = changed ]; then scripts/changed-sources $(TIDY_SOURCES); else printf '%s\n' $(TIDY_SOURCES); fi > $$list; \
	 echo "TIDY   $$(wc -l < $$list) files"; \
	 xargs -a $$list -r -P "$$(nproc)" -n 1 scripts/tidy $(LANGUAGE) $(INCLUDES) $(PKG_CFLAGS)

# Threads that share a predictor set, and those of folders, under ThreadSanitizer.
thread-check:
	@$(MAKE) --no-print-directory BUILD=build-tsan SANITIZE=thread build-tsan/tests/forecast build-tsan/tests/base build-tsan/tests/cli
	@BUILD=build-tsan scripts/run-tests build-tsan/tests/forecast:test_threads build-tsan/tests/base:test_pool \
	    build-tsan/tests/cli:test_model_queue build-tsan/tests/cli:test_model_walk

# varFuncNullUB speaks of systems whose NULL is a plain 0; POSIX has a pointer.
cppcheck: | setup-check
	@echo 'CPPCHK src cli serve tools bench fuzz examples'
	@cppcheck --quiet --std=c11 --enable=warning,performance,portability --suppress=varFuncNullUB --error-exitcode=1 \
	    -D_GNU_SOURCE -Iinclude -Isrc -j "$$(nproc)" \
	    $(LIB_SOURCES) $(CLI_SOURCES) $(SERVE_SOURCES) $(TOOL_SOURCES) $(BENCH_SOURCES) $(FUZZ_SOURCES) $(EXAMPLE_SOURCES)

format: | setup-check
	@clang-format -i $(ALL_SOURCES) $(HEADERS)

format-check: | setup-check
	@echo 'FORMAT $(words $(ALL_SOURCES) $(HEADERS)) files'
	@clang-format --dry-run -Werror $(ALL_SOURCES) $(HEADERS)

# --- Mutation testing ------------------------------------------------------------------------------------------------

COUNT ?= 200
mutate: $(BUILD)/libforetell.a $(TESTS) all
	@BUILD=$(BUILD) CC='$(CC)' CFLAGS='$(CFLAGS)' FLAGS='$(ALL_CFLAGS)' LIBS='$(ALL_LDLIBS)' scripts/mutate $(COUNT) $(SEED)

# --- Torture tests ---------------------------------------------------------------------------------------------------

# The library is preloaded into the command: its flags are its own. SAMPLE=N: so many points of each case and kind.
$(BUILD)/torture/fault.so: tests/torture/fault.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(call brief,CC,$<)$(CC) $(LANGUAGE) -Wall -Wextra -Wpedantic -Werror -O2 -g -fPIC -shared -o $@ $<

SAMPLE ?= 0
torture: all $(BUILD)/torture/fault.so
	@BUILD=$(BUILD) SAMPLE=$(SAMPLE) scripts/torture $(CASES)

# --- Fuzzing ---------------------------------------------------------------------------------------------------------

fuzz: $(MAKEMODEL) | setup-fuzz
	@$(MAKE) --no-print-directory BUILD=build-fuzz CC=clang SANITIZE=fuzzer-no-link,address,undefined fuzzers
	@MAKEMODEL=$(MAKEMODEL) scripts/fuzz $(TIME) $(or $(TARGET),$(FUZZ_SOURCES:fuzz/fuzz_%.c=%))

fuzzers: $(FUZZERS)

# --- Benches and demo ------------------------------------------------------------------------------------------------

bench: all $(BENCHES)
	@BUILD=$(BUILD) bench/run $(PARTS)

predictors: all
	@BUILD=$(BUILD) scripts/predictors

demo: all
	@BUILD=$(BUILD) scripts/demo

demo-serve: all
	@scripts/setup demo-serve
	@BUILD=$(BUILD) scripts/demo-serve

# --- Installing ------------------------------------------------------------------------------------------------------

BINDIR     ?= $(PREFIX)/bin
LIBDIR     ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include
MANDIR     ?= $(PREFIX)/share/man
DATADIR    ?= $(PREFIX)/share/foretell
BASH_DIR   ?= $(PREFIX)/share/bash-completion/completions
ZSH_DIR    ?= $(PREFIX)/share/zsh/site-functions
FISH_DIR   ?= $(PREFIX)/share/fish/vendor_completions.d
DOCDIR     ?= $(PREFIX)/share/doc/foretell
STRIP      ?= strip
UNIT_DIR   ?= $(PREFIX)/lib/systemd/system
SHARED     := libforetell.so.$(VERSION)
MAN_PAGE   := docs/man/foretell.1
DOCS       := CHANGELOG.md LICENSE $(wildcard docs/*.md docs/*.svg docs/*.png)
SCHEMAS    := $(wildcard docs/schema/*.json)
FORMATS    := $(wildcard docs/formats/*.md)
RECIPES    := $(wildcard docs/recipes/*.md)
PREDICTORS := $(wildcard predictors/*.ftm)
PROGRAM_PREDICTORS := $(wildcard predictors/programs/*.ftm)

$(BUILD)/foretell.pc: foretell.pc.in include/foretell/foretell.h FORCE
	@mkdir -p $(@D)
	@sed -e 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@INCLUDEDIR@|$(INCLUDEDIR)|; s|@VERSION@|$(VERSION)|' \
	    -e 's|@PACKAGES@|$(PACKAGES)|' $< > $@

install: all $(BUILD)/foretell.pc
	install -d '$(DESTDIR)$(BINDIR)' '$(DESTDIR)$(LIBDIR)/pkgconfig' '$(DESTDIR)$(INCLUDEDIR)/foretell'
	install -m 755 $(COMMAND) '$(DESTDIR)$(BINDIR)'
	install -m 644 $(BUILD)/libforetell.a '$(DESTDIR)$(LIBDIR)'
	install -m 755 $(BUILD)/libforetell.so '$(DESTDIR)$(LIBDIR)/$(SHARED)'
	$(if $(STRIP),$(STRIP) '$(DESTDIR)$(BINDIR)/$(notdir $(COMMAND))' '$(DESTDIR)$(LIBDIR)/$(SHARED)')
	$(if $(STRIP),$(STRIP) --strip-debug '$(DESTDIR)$(LIBDIR)/libforetell.a')
	ln -sf $(SHARED) '$(DESTDIR)$(LIBDIR)/$(SONAME)'
	ln -sf $(SONAME) '$(DESTDIR)$(LIBDIR)/libforetell.so'
	install -m 644 include/foretell/*.h '$(DESTDIR)$(INCLUDEDIR)/foretell'
	install -m 644 $(BUILD)/foretell.pc '$(DESTDIR)$(LIBDIR)/pkgconfig'
	install -d '$(DESTDIR)$(UNIT_DIR)'
	sed 's|/usr/local/bin|$(BINDIR)|' examples/foretell.service > '$(DESTDIR)$(UNIT_DIR)/foretell.service'
	install -D -m 644 $(MAN_PAGE) '$(DESTDIR)$(MANDIR)/man1/foretell.1'
	install -d '$(DESTDIR)$(DATADIR)/predictors'
	$(if $(PREDICTORS),install -m 644 $(PREDICTORS) '$(DESTDIR)$(DATADIR)/predictors')
	$(if $(PROGRAM_PREDICTORS),install -D -m 644 -t '$(DESTDIR)$(DATADIR)/predictors/programs' $(PROGRAM_PREDICTORS))
	install -d '$(DESTDIR)$(BASH_DIR)' '$(DESTDIR)$(ZSH_DIR)' '$(DESTDIR)$(FISH_DIR)'
	$(COMMAND) --completion bash > '$(DESTDIR)$(BASH_DIR)/foretell'
	$(COMMAND) --completion zsh > '$(DESTDIR)$(ZSH_DIR)/_foretell'
	$(COMMAND) --completion fish > '$(DESTDIR)$(FISH_DIR)/foretell.fish'
	install -D -m 644 -t '$(DESTDIR)$(DATADIR)/schema' $(SCHEMAS)
	install -D -m 644 -t '$(DESTDIR)$(DOCDIR)' $(DOCS)
	install -D -m 644 -t '$(DESTDIR)$(DOCDIR)/formats' $(FORMATS)
	install -D -m 644 -t '$(DESTDIR)$(DOCDIR)/recipes' $(RECIPES)

# What is committed, nothing else; the same commit gives the same bytes.
DIST := foretell-$(VERSION)
dist:
	@mkdir -p $(BUILD)
	git archive --format=tar --prefix=$(DIST)/ HEAD | gzip -9n > $(BUILD)/$(DIST).tar.gz
	@echo '$(BUILD)/$(DIST).tar.gz'

uninstall:
	rm -f '$(DESTDIR)$(BINDIR)/foretell' '$(DESTDIR)$(LIBDIR)/libforetell.a' '$(DESTDIR)$(LIBDIR)/'libforetell.so*
	rm -rf '$(DESTDIR)$(INCLUDEDIR)/foretell'
	rm -f '$(DESTDIR)$(LIBDIR)/pkgconfig/foretell.pc' '$(DESTDIR)$(MANDIR)/man1/foretell.1'
	rm -f '$(DESTDIR)$(BASH_DIR)/foretell' '$(DESTDIR)$(ZSH_DIR)/_foretell' '$(DESTDIR)$(FISH_DIR)/foretell.fish'
	rm -f '$(DESTDIR)$(UNIT_DIR)/foretell.service'
	rm -rf '$(DESTDIR)$(DOCDIR)'
	rm -rf '$(DESTDIR)$(DATADIR)'

clean:
	rm -rf $(BUILD) build-asan build-tsan build-clang build-fuzz

-include $(patsubst %.o,%.d,$(call object,$(ALL_SOURCES)) $(PROTO_OBJECTS) $(EMBEDDED))
