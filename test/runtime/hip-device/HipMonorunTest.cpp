// monorun --device=hip as scripts see it, on the emulated HIP library and without any.
#include "test/e2e/Process.h"
#include "test/runtime/ExchangeKernel.h"

#include <cstdlib>

using namespace mono::test;

namespace {

class HipMonorun : public ProcessTest {
protected:
  void SetUp() override {
    ProcessTest::SetUp();
    kernel = put("exchange.hsaco", exchangeCodeObject());
  }
  void TearDown() override {
    unsetenv("MONO_HIP_LIBRARY");
    unsetenv("MONO_HIP_DEVICES");
    ProcessTest::TearDown();
  }
  std::string kernel;
};

TEST_F(HipMonorun, NoLibraryIsStatusThree) {
  setenv("MONO_HIP_LIBRARY", "/nowhere/libamdhip64.so", 1);
  fails(MONORUN, 3, "monorun: error: no such device: no HIP library: /nowhere/libamdhip64.so: ",
        {kernel, "--device=hip"});
}

TEST_F(HipMonorun, TooFewDevicesAreStatusThree) {
  setenv("MONO_HIP_LIBRARY", MONO_EMULATED_HIP, 1);
  setenv("MONO_HIP_DEVICES", "1", 1);
  fails(MONORUN, 3,
        "monorun: error: no such device: too few devices: expected 2 of gfx950 with 256 compute "
        "units or "
        "more, but got 1",
        {kernel, "--device=hip"});
}

TEST_F(HipMonorun, WhatIsTheEmulatorsAloneIsRefused) {
  fails(MONORUN, 2, "--stats is about the emulator: expected --device=emu",
        {kernel, "--device=hip", "--stats"});
}

TEST_F(HipMonorun, BadInputsAreStatusOne) {
  setenv("MONO_HIP_LIBRARY", MONO_EMULATED_HIP, 1);
  fails(MONORUN, 1, "operand 'in' needs an input", {kernel, "--device=hip"});
  fails(MONORUN, 1, "not a code object", {put("bad.hsaco", "nothing"), "--device=hip"});
}

} // namespace
