// Finding a HIP library and devices: every way in which there is none.
#include "test/runtime/hip-device/StubFixture.h"

#include <cstdlib>

using namespace mono;
using namespace mono::hip;
using namespace mono::test;

namespace {

std::string openError(const std::string &file) {
  auto library = HipLibrary::open(file);
  return library ? "" : llvm::toString(library.takeError());
}

TEST(HipLibrary, AMissingLibraryIsNamed) {
  std::string error = openError("/nowhere/libamdhip64.so.9");
  EXPECT_EQ(error.find("no HIP library: /nowhere/libamdhip64.so.9: "), 0u) << error;
}

TEST(HipLibrary, TheVariableNamesTheOnlyFile) {
  ASSERT_EQ(setenv("MONO_HIP_LIBRARY", "/nowhere/hip.so", 1), 0);
  auto missing = HipLibrary::open();
  EXPECT_FALSE(bool(missing));
  EXPECT_EQ(llvm::toString(missing.takeError()).find("no HIP library: /nowhere/hip.so: "), 0u);
  ASSERT_EQ(setenv("MONO_HIP_LIBRARY", MONO_STUB_HIP, 1), 0);
  auto stub = HipLibrary::open();
  ASSERT_TRUE(bool(stub)) << llvm::toString(stub.takeError());
  EXPECT_EQ((*stub)->name(), MONO_STUB_HIP);
  unsetenv("MONO_HIP_LIBRARY");
}

TEST(HipLibrary, OtherLibrariesAreRefused) {
  EXPECT_EQ(openError("libm.so.6"),
            "libm.so.6: not a usable HIP library: it has no function hipRuntimeGetVersion");
}

class HipNodeTest : public StubHipTest {};

TEST_F(HipNodeTest, OldHipIsRefused) {
  stub->version = 4'30'00000;
  EXPECT_EQ(::openError(MONO_STUB_HIP),
            std::string(MONO_STUB_HIP) + ": expected HIP 5 or newer, but got 4.30");
  stub->version = 5'00'00000;
  EXPECT_EQ(::openError(MONO_STUB_HIP), "");
}

TEST_F(HipNodeTest, ErrorsNameCallAndCode) {
  stub->failing = "hipGetDeviceCount";
  EXPECT_EQ(openError({}), "hipGetDeviceCount: HIP error (999): no description");
}

TEST_F(HipNodeTest, NoDeviceIsSaid) {
  stub->devices = 0;
  EXPECT_EQ(openError({}), std::string("no device: ") + MONO_STUB_HIP + " (HIP 6.2) finds no GPU");
}

TEST_F(HipNodeTest, OtherChipsArePassedOver) {
  std::strcpy(stub->arch, "gfx942:xnack-");
  stub->devices = 2;
  stub->computeUnits = 304;
  EXPECT_EQ(openError({}), "too few devices: expected 1 of gfx950 with 256 compute units or more, "
                           "but got 0 (device 0: gfx942 with 304 compute units, device 1: gfx942 "
                           "with 304 compute units)");
}

TEST_F(HipNodeTest, PartsOfAChipArePassedOver) {
  stub->devices = 3;
  stub->firstSmallDevice = 2;
  HipSelection selection;
  selection.count = 3;
  std::string error = openError(selection);
  EXPECT_NE(error.find("but got 2 ("), std::string::npos) << error;
  EXPECT_NE(error.find("device 2: gfx950 with 64 compute units"), std::string::npos) << error;
  selection.computeUnits = 64;
  EXPECT_EQ(openError(selection), "");
}

TEST_F(HipNodeTest, TheFirstCanBeSkipped) {
  HipSelection selection;
  selection.first = 5;
  auto one = open(selection);
  ASSERT_TRUE(bool(one)) << llvm::toString(one.takeError());
  EXPECT_EQ((*one)->device(0).context().ordinal, 5);
  selection.first = 8;
  std::string error = openError(selection);
  EXPECT_NE(error.find("behind the first 8, but got 0"), std::string::npos) << error;
}

TEST_F(HipNodeTest, DevicesMustReachEachOther) {
  stub->canAccessPeer = false;
  HipSelection selection;
  EXPECT_EQ(openError(selection), "");
  selection.count = 2;
  EXPECT_EQ(openError(selection), "device 0 cannot reach the memory of device 1");
}

TEST_F(HipNodeTest, PeerAccessThatIsThereIsFine) {
  stub->failing = "hipDeviceEnablePeerAccess";
  stub->failure = api::ErrorPeerAccessAlreadyEnabled;
  EXPECT_NE(node(2), nullptr);
  EXPECT_EQ(stub->failing, nullptr);
}

TEST_F(HipNodeTest, DevicesSayWhatTheyAre) {
  auto opened = node(8);
  ASSERT_EQ(opened->devices().size(), 8u);
  const DeviceProperties &properties = opened->devices()[7]->properties();
  EXPECT_EQ(properties.name, "stub");
  EXPECT_EQ(properties.arch, "gfx950");
  EXPECT_EQ(properties.computeUnits, 256u);
  EXPECT_EQ(properties.ldsBytes, 163840u);
}

/// Whatever call fails, nothing stays behind.
TEST_F(HipNodeTest, AFailureAtAnyCallLeavesNothing) {
  HipSelection selection;
  selection.count = 3;
  long call = 0;
  std::string error;
  do {
    stub->failAtCall = ++call;
    error = openError(selection);
    EXPECT_EQ(alive(), 0) << "after a failure at call " << call << ": " << error;
  } while (!error.empty());
  // Three devices and six directed pairs make more calls than this.
  EXPECT_GT(call, 20);
}

} // namespace
