# foretell: GNU make, pkg-config, C11. `make help` lists the targets.

BUILD  ?= build
CC     ?= cc
CFLAGS ?= -O2 -g
PACKAGES := libprotobuf-c jansson zlib

ALL_CFLAGS  = -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -fPIC -fvisibility=hidden \
              -Iinclude -Isrc -I$(BUILD)/gen $(shell pkg-config --cflags $(PACKAGES)) $(CFLAGS)
ALL_LDLIBS  = $(shell pkg-config --libs $(PACKAGES)) -lm $(LDLIBS)

LIB_SOURCES  := $(sort $(wildcard src/*/*.c))
CLI_SOURCES  := $(sort $(wildcard cli/*.c))
TEST_SOURCES := $(sort $(wildcard tests/*/test_*.c))
TEST_SUPPORT := $(sort $(wildcard tests/support/*.c))

object = $(patsubst %.c,$(BUILD)/obj/%.o,$(1))

LIB_OBJECTS  := $(call object,$(LIB_SOURCES)) $(BUILD)/gen/onnx.pb-c.o
TESTS        := $(patsubst tests/%.c,$(BUILD)/tests/%,$(TEST_SOURCES))

.PHONY: all lib tests test clean
.SECONDARY:

all: $(BUILD)/foretell $(BUILD)/libforetell.so
lib: $(BUILD)/libforetell.a
tests: $(TESTS)

test: all tests
	@for t in $(TESTS); do $$t || exit 1; done

ONNX_PROTO ?= /usr/include/onnx/onnx.proto

$(BUILD)/gen/onnx.pb-c.c $(BUILD)/gen/onnx.pb-c.h &: $(ONNX_PROTO)
	@mkdir -p $(BUILD)/gen
	protoc-c -I$(dir $(ONNX_PROTO)) --c_out=$(BUILD)/gen $(notdir $(ONNX_PROTO))

$(BUILD)/gen/onnx.pb-c.o: $(BUILD)/gen/onnx.pb-c.c
	$(CC) $(filter-out -Werror -Wpedantic,$(ALL_CFLAGS)) -c $< -o $@

$(BUILD)/obj/%.o: %.c | $(BUILD)/gen/onnx.pb-c.h
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c $< -o $@

$(BUILD)/libforetell.a: $(LIB_OBJECTS)
	@rm -f $@
	$(AR) rcs $@ $^

$(BUILD)/libforetell.so: $(LIB_OBJECTS)
	$(CC) -shared $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(ALL_LDLIBS)

$(BUILD)/foretell: $(call object,$(CLI_SOURCES)) $(BUILD)/libforetell.a
	$(CC) $(ALL_CFLAGS) $(LDFLAGS) -o $@ $^ $(ALL_LDLIBS)

$(BUILD)/tests/%: tests/%.c $(TEST_SUPPORT) $(BUILD)/libforetell.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -Itests $(LDFLAGS) -MMD -MP -o $@ $(filter %.c %.a,$^) $(ALL_LDLIBS) -lcmocka

clean:
	rm -rf $(BUILD)

-include $(LIB_OBJECTS:.o=.d)
