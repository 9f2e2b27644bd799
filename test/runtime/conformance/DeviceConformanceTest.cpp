// What every implementation of the device interface must do. A backend is one row at the end; where
// its hardware is missing, its tests are skipped with the reason. With --device=hip, for a machine
// that has the hardware, only the tests on it run, and what is missing is a failure.
#include "runtime/EmulatorDevice.h"
#include "runtime/hip/HipNode.h"
#include "test/runtime/Assembler.h"

#include "llvm/Support/Endian.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <functional>

using namespace mono;
using namespace mono::test;

namespace {

/// Two devices of one backend, or the reason why there are none.
struct Devices {
  std::shared_ptr<void> owner;
  std::vector<Device *> devices;
  std::string missing;
};

struct Backend {
  const char *name;
  std::function<Devices()> open;
};

void PrintTo(const Backend &backend, std::ostream *out) { *out << backend.name; }

bool hardwareRequired = false;

class DeviceConformance : public testing::TestWithParam<Backend> {
protected:
  void SetUp() override {
    opened = GetParam().open();
    if (!opened.missing.empty() && hardwareRequired)
      FAIL() << opened.missing;
    if (!opened.missing.empty())
      GTEST_SKIP() << opened.missing;
    ASSERT_EQ(opened.devices.size(), 2u);
  }
  Device &device(unsigned index = 0) { return *opened.devices[index]; }
  DeviceBuffer buffer(uint64_t bytes, MemoryKind kind = MemoryKind::Local, unsigned index = 0) {
    llvm::Expected<DeviceBuffer> made =
        DeviceBuffer::allocate(device(index), bytes, "test memory", kind);
    EXPECT_TRUE(bool(made)) << llvm::toString(made.takeError());
    return std::move(*made);
  }
  Devices opened;
};

/// out[i] = in[i] + 1 for 64 lanes of each workgroup; arguments in, out.
std::vector<uint8_t> incrementCodeObject() {
  KernelText kernel;
  kernel.name = "increment";
  kernel.kernargBytes = 16;
  kernel.body = R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_lshl_add_u32 v1, s2, 6, v0
  v_lshlrev_b32_e32 v1, 2, v1
  s_waitcnt lgkmcnt(0)
  global_load_dword v2, v1, s[4:5]
  s_waitcnt vmcnt(0)
  v_add_u32_e32 v2, 1, v2
  global_store_dword v1, v2, s[6:7]
)";
  return assemble(kernelAssembly(kernel));
}

/// Waits until in[0] is not 0 and copies it to out[0 .. 64); arguments in, out.
std::vector<uint8_t> awaitCodeObject() {
  KernelText kernel;
  kernel.name = "await";
  kernel.kernargBytes = 16;
  kernel.body = R"(
  s_load_dwordx4 s[4:7], s[0:1], 0x0
  v_mov_b32_e32 v1, 0
  v_lshlrev_b32_e32 v2, 2, v0
  s_waitcnt lgkmcnt(0)
poll:
  global_load_dword v3, v1, s[4:5] sc0 sc1
  s_waitcnt vmcnt(0)
  v_readfirstlane_b32 s8, v3
  s_cmp_lg_u32 s8, 0
  s_cbranch_scc1 seen
  s_sleep 1
  s_branch poll
seen:
  global_store_dword v2, v3, s[6:7]
)";
  return assemble(kernelAssembly(kernel));
}

std::vector<uint8_t> arguments(DevicePtr in, DevicePtr out) {
  std::vector<uint8_t> bytes(16);
  llvm::support::endian::write64le(&bytes[0], in);
  llvm::support::endian::write64le(&bytes[8], out);
  return bytes;
}

TEST_P(DeviceConformance, SaysWhatItIs) {
  const DeviceProperties &properties = device().properties();
  EXPECT_EQ(properties.arch, "gfx950");
  EXPECT_EQ(properties.computeUnits, 256u);
  EXPECT_EQ(properties.ldsBytes, 163840u);
  EXPECT_NE(properties.name, "");
}

TEST_P(DeviceConformance, CopiesBack) {
  DeviceBuffer memory = buffer(1000);
  EXPECT_EQ(memory.ptr() % 256, 0u);
  std::vector<uint8_t> in(1000), out(1000);
  for (size_t i = 0; i < in.size(); ++i)
    in[i] = static_cast<uint8_t>(i * 7);
  ASSERT_EQ(llvm::toString(device().write(memory.ptr(), in)), "");
  ASSERT_EQ(llvm::toString(device().read(memory.ptr(), out)), "");
  EXPECT_EQ(in, out);
}

TEST_P(DeviceConformance, FillsAPart) {
  DeviceBuffer memory = buffer(64);
  ASSERT_FALSE(bool(device().fill(memory.ptr(), 1, 64)));
  ASSERT_FALSE(bool(device().fill(memory.ptr() + 16, 0xAB, 32)));
  std::vector<uint8_t> out(64);
  ASSERT_FALSE(bool(device().read(memory.ptr(), out)));
  for (size_t i = 0; i < 64; ++i)
    EXPECT_EQ(out[i], i >= 16 && i < 48 ? 0xAB : 1) << i;
}

TEST_P(DeviceConformance, PoisonForgetsTheContents) {
  DeviceBuffer memory = buffer(64);
  ASSERT_FALSE(bool(device().fill(memory.ptr(), 7, 64)));
  ASSERT_FALSE(bool(device().poison(memory.ptr() + 32, 32)));
  std::vector<uint8_t> kept(32), forgotten(32);
  ASSERT_EQ(llvm::toString(device().read(memory.ptr(), kept)), "");
  EXPECT_EQ(kept, std::vector<uint8_t>(32, 7));
  // Either the device knows that nobody wrote them, or they are NaN.
  if (llvm::Error error = device().read(memory.ptr() + 32, forgotten))
    llvm::consumeError(std::move(error));
  else
    EXPECT_EQ(forgotten, std::vector<uint8_t>(32, 0xFF));
}

TEST_P(DeviceConformance, RefusesRangesOutsideAnAllocation) {
  DeviceBuffer memory = buffer(256);
  std::vector<uint8_t> bytes(257);
  EXPECT_NE(llvm::toString(device().write(memory.ptr(), bytes)), "");
  EXPECT_NE(llvm::toString(device().read(memory.ptr(), bytes)), "");
  EXPECT_NE(llvm::toString(device().fill(memory.ptr(), 0, 257)), "");
  EXPECT_NE(llvm::toString(device().free(memory.ptr() + 8)), "");
}

TEST_P(DeviceConformance, RunsAKernelOverItsGrid) {
  auto code = device().load(incrementCodeObject());
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  llvm::Expected<const Kernel *> kernel = (*code)->kernel("increment");
  ASSERT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());
  EXPECT_EQ((*kernel)->info().kernargBytes, 16u);
  EXPECT_EQ((*kernel)->info().scratchBytes, 0u);

  DeviceBuffer in = buffer(3 * 256), out = buffer(3 * 256);
  std::vector<uint8_t> bytes(3 * 256), result(3 * 256);
  for (unsigned i = 0; i < 192; ++i)
    llvm::support::endian::write32le(&bytes[4 * i], 1000 * i);
  ASSERT_FALSE(bool(device().write(in.ptr(), bytes)));
  std::vector<uint8_t> kernargs = arguments(in.ptr(), out.ptr());
  LaunchConfig config;
  config.kernel = *kernel;
  config.workgroups = {3, 1, 1};
  config.threads = {64, 1, 1};
  config.kernargs = kernargs;
  ASSERT_EQ(llvm::toString(device().launch(config)), "");
  ASSERT_EQ(llvm::toString(device().synchronize()), "");
  ASSERT_EQ(llvm::toString(device().read(out.ptr(), result)), "");
  for (unsigned i = 0; i < 192; ++i)
    EXPECT_EQ(llvm::support::endian::read32le(&result[4 * i]), 1000 * i + 1);
}

TEST_P(DeviceConformance, RunsLaunchesInOrder) {
  auto code = device().load(incrementCodeObject());
  ASSERT_TRUE(bool(code));
  DeviceBuffer memory = buffer(256);
  ASSERT_FALSE(bool(device().fill(memory.ptr(), 0, 256)));
  std::vector<uint8_t> kernargs = arguments(memory.ptr(), memory.ptr());
  LaunchConfig config;
  config.kernel = (*code)->kernel("increment").get();
  config.threads = {64, 1, 1};
  config.kernargs = kernargs;
  for (int i = 0; i < 10; ++i)
    ASSERT_FALSE(bool(device().launch(config)));
  ASSERT_EQ(llvm::toString(device().synchronize()), "");
  std::vector<uint8_t> out(256);
  ASSERT_FALSE(bool(device().read(memory.ptr(), out)));
  EXPECT_EQ(llvm::support::endian::read32le(&out[252]), 10u);
}

TEST_P(DeviceConformance, StartsAPreparedLaunchAgainAndAgain) {
  auto code = device().load(incrementCodeObject());
  ASSERT_TRUE(bool(code));
  DeviceBuffer memory = buffer(256);
  ASSERT_FALSE(bool(device().fill(memory.ptr(), 0, 256)));
  std::vector<uint8_t> kernargs = arguments(memory.ptr(), memory.ptr());
  LaunchConfig config;
  config.kernel = (*code)->kernel("increment").get();
  config.threads = {64, 1, 1};
  config.kernargs = kernargs;
  auto prepared = device().prepare(config);
  ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
  // The arguments were copied.
  std::fill(kernargs.begin(), kernargs.end(), 0xFF);
  for (int i = 0; i < 3; ++i)
    ASSERT_EQ(llvm::toString((*prepared)->start(nullptr)), "");
  ASSERT_EQ(llvm::toString(device().synchronize()), "");
  for (int i = 0; i < 4; ++i)
    ASSERT_EQ(llvm::toString((*prepared)->start(nullptr)), "");
  ASSERT_EQ(llvm::toString(device().synchronize()), "");
  std::vector<uint8_t> out(256);
  ASSERT_FALSE(bool(device().read(memory.ptr(), out)));
  EXPECT_EQ(llvm::support::endian::read32le(&out[128]), 7u);
}

/// A launch that copies `in` plus one to `out` has been started, `in` being full of `old`.
class CopyBehindALaunch : public DeviceConformance {
protected:
  void SetUp() override {
    DeviceConformance::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    auto loaded = device().load(incrementCodeObject());
    ASSERT_TRUE(bool(loaded)) << llvm::toString(loaded.takeError());
    code = std::move(*loaded);
    in = buffer(256), out = buffer(256);
    std::vector<uint8_t> kernargs = arguments(in.ptr(), out.ptr());
    LaunchConfig config;
    config.kernel = (*code).kernel("increment").get();
    config.threads = {64, 1, 1};
    config.kernargs = kernargs;
    ASSERT_EQ(llvm::toString(device().fill(in.ptr(), 1, 256)), "");
    ASSERT_EQ(llvm::toString(device().fill(out.ptr(), 0, 256)), "");
    ASSERT_EQ(llvm::toString(device().launch(config)), "");
  }
  void expectOutOfOld() {
    std::vector<uint8_t> bytes(256);
    ASSERT_EQ(llvm::toString(device().read(out.ptr(), bytes)), "");
    for (unsigned i = 0; i < 64; ++i)
      EXPECT_EQ(llvm::support::endian::read32le(&bytes[4 * i]), 0x01010102u) << i;
  }
  std::unique_ptr<LoadedCodeObject> code;
  DeviceBuffer in, out;
};

TEST_P(CopyBehindALaunch, ReadsWhatItWrote) { expectOutOfOld(); }

TEST_P(CopyBehindALaunch, DoesNotChangeItsInput) {
  ASSERT_EQ(llvm::toString(device().write(in.ptr(), std::vector<uint8_t>(256, 50))), "");
  expectOutOfOld();
}

TEST_P(CopyBehindALaunch, FillsBehindIt) {
  ASSERT_EQ(llvm::toString(device().fill(in.ptr(), 50, 256)), "");
  expectOutOfOld();
}

TEST_P(CopyBehindALaunch, PoisonsBehindIt) {
  ASSERT_EQ(llvm::toString(device().poison(in.ptr(), 256)), "");
  expectOutOfOld();
}

TEST_P(CopyBehindALaunch, FreesBehindIt) {
  in = DeviceBuffer();
  expectOutOfOld();
}

TEST_P(DeviceConformance, TellsPeerVisibleMemory) {
  DeviceBuffer local = buffer(512), peers = buffer(512, MemoryKind::PeerVisible);
  EXPECT_EQ(llvm::toString(device().checkPeerVisible(peers.ptr(), 512)), "");
  EXPECT_EQ(llvm::toString(device().checkPeerVisible(peers.ptr() + 256, 256)), "");
  EXPECT_NE(llvm::toString(device().checkPeerVisible(peers.ptr() + 256, 257)), "");
  EXPECT_NE(llvm::toString(device().checkPeerVisible(local.ptr(), 512)), "");
}

TEST_P(DeviceConformance, ReachesPeerVisibleMemoryOfAnotherDevice) {
  auto code = device(0).load(incrementCodeObject());
  ASSERT_TRUE(bool(code));
  DeviceBuffer in = buffer(256), out = buffer(256, MemoryKind::PeerVisible, 1);
  ASSERT_FALSE(bool(device(0).fill(in.ptr(), 0, 256)));
  std::vector<uint8_t> kernargs = arguments(in.ptr(), out.ptr());
  LaunchConfig config;
  config.kernel = (*code)->kernel("increment").get();
  config.threads = {64, 1, 1};
  config.kernargs = kernargs;
  ASSERT_FALSE(bool(device(0).launch(config)));
  ASSERT_EQ(llvm::toString(device(0).synchronize()), "");
  std::vector<uint8_t> bytes(256);
  ASSERT_EQ(llvm::toString(device(1).read(out.ptr(), bytes)), "");
  EXPECT_EQ(llvm::support::endian::read32le(&bytes[0]), 1u);
}

/// From another device, while a kernel polls the memory.
TEST_P(DeviceConformance, WritesAsideOfLaunches) {
  auto code = device(0).load(awaitCodeObject());
  ASSERT_TRUE(bool(code)) << llvm::toString(code.takeError());
  DeviceBuffer flag = buffer(256, MemoryKind::PeerVisible), out = buffer(256);
  ASSERT_FALSE(bool(device(0).fill(flag.ptr(), 0, 256)));
  std::vector<uint8_t> kernargs = arguments(flag.ptr(), out.ptr());
  LaunchConfig config;
  config.kernel = (*code)->kernel("await").get();
  config.threads = {64, 1, 1};
  config.kernargs = kernargs;
  ASSERT_FALSE(bool(device(0).launch(config)));
  uint8_t low[2] = {0x34, 0x12}, high[2] = {0x78, 0x56};
  ASSERT_EQ(llvm::toString(device(1).writeAside({{flag.ptr() + 2, high}, {flag.ptr(), low}})), "");
  ASSERT_EQ(llvm::toString(device(0).synchronize()), "");
  std::vector<uint8_t> bytes(256);
  ASSERT_EQ(llvm::toString(device(0).read(out.ptr(), bytes)), "");
  // A running kernel may have seen the first half alone.
  EXPECT_EQ(llvm::support::endian::read32le(&bytes[252]) >> 16, 0x5678u);
}

TEST_P(DeviceConformance, LoadingFaultsAreErrors) {
  std::vector<uint8_t> good = incrementCodeObject();
  EXPECT_NE(llvm::toString(device().load(llvm::ArrayRef(good).take_front(200)).takeError()), "");
  auto code = device().load(good);
  ASSERT_TRUE(bool(code));
  std::string error = llvm::toString((*code)->kernel("decrement").takeError());
  EXPECT_NE(error.find("decrement"), std::string::npos) << error;
}

TEST_P(DeviceConformance, ResidentGridsMustFit) {
  auto code = device().load(incrementCodeObject());
  ASSERT_TRUE(bool(code));
  DeviceBuffer memory = buffer(256);
  std::vector<uint8_t> kernargs = arguments(memory.ptr(), memory.ptr());
  LaunchConfig config;
  config.kernel = (*code)->kernel("increment").get();
  config.workgroups = {100000, 1, 1};
  config.threads = {64, 1, 1};
  config.kernargs = kernargs;
  config.resident = true;
  llvm::Error error = device().launch(config);
  error = llvm::joinErrors(std::move(error), device().synchronize());
  EXPECT_NE(llvm::toString(std::move(error)), "");
}

TEST_P(DeviceConformance, RefusesMoreLdsThanThereIs) {
  auto code = device().load(incrementCodeObject());
  ASSERT_TRUE(bool(code));
  DeviceBuffer memory = buffer(256);
  ASSERT_FALSE(bool(device().fill(memory.ptr(), 0, 256)));
  std::vector<uint8_t> kernargs = arguments(memory.ptr(), memory.ptr());
  LaunchConfig config;
  config.kernel = (*code)->kernel("increment").get();
  config.threads = {64, 1, 1};
  config.kernargs = kernargs;
  auto launch = [&](uint64_t bytes) {
    config.dynamicLdsBytes = bytes;
    llvm::Error error = device().launch(config);
    return llvm::toString(llvm::joinErrors(std::move(error), device().synchronize()));
  };
  EXPECT_EQ(launch(163840), "");
  EXPECT_NE(launch(163841), "");
}

/// The last tests: after a fault HIP gives the process up.
class DeviceFault : public CopyBehindALaunch {};

/// What goes wrong in a launch is known to its owner, whoever waited for it.
TEST_P(DeviceFault, IsRecordedWithTheLaunch) {
  ASSERT_EQ(llvm::toString(device().synchronize()), "");
  // Memory that is no more.
  std::vector<uint8_t> kernargs = arguments(0x1000, 0x2000);
  LaunchConfig config;
  config.kernel = code->kernel("increment").get();
  config.threads = {64, 1, 1};
  config.kernargs = kernargs;
  config.failure = std::make_shared<LaunchFailure>();
  if (device().properties().name.find("emulated") == std::string::npos)
    GTEST_SKIP() << "a fault on a GPU ends the process";
  ASSERT_EQ(llvm::toString(device().launch(config)), "");
  llvm::Error error = device().synchronize();
  EXPECT_TRUE(error.isA<RecordedLaunchError>());
  std::string text = llvm::toString(std::move(error));
  EXPECT_NE(text, "");
  EXPECT_EQ(config.failure->text(), text);
}

Devices openEmulator() {
  llvm::Expected<std::unique_ptr<EmulatorNode>> node = EmulatorNode::create(2);
  if (!node)
    return {nullptr, {}, llvm::toString(node.takeError())};
  std::shared_ptr<EmulatorNode> shared = std::move(*node);
  return {shared, shared->devices(), ""};
}

using Library = std::shared_ptr<const hip::HipLibrary>;

/// A library, or the reason why there is none.
struct OpenedLibrary {
  Library library;
  std::string missing;
};

OpenedLibrary opened(llvm::Expected<Library> library) {
  return library ? OpenedLibrary{*library, ""}
                 : OpenedLibrary{nullptr, llvm::toString(library.takeError())};
}

/// The HIP of this machine. Opened before the emulated one, which has the same name to the loader.
OpenedLibrary systemHip() {
  static const OpenedLibrary library = opened(hip::HipLibrary::open());
  return library;
}

Devices openNode(const OpenedLibrary &from) {
  if (!from.library)
    return {nullptr, {}, from.missing};
  hip::HipSelection selection;
  selection.count = 2;
  auto node = hip::HipNode::create(from.library, selection);
  if (!node)
    return {nullptr, {}, llvm::toString(node.takeError())};
  std::shared_ptr<hip::HipNode> shared = std::move(*node);
  return {shared, shared->devices(), ""};
}

Devices openHip() { return openNode(systemHip()); }
Devices openEmulatedHip() { return openNode(opened(hip::HipLibrary::open(MONO_EMULATED_HIP))); }

const Backend backends[] = {
    {"emulator", openEmulator}, {"emulated_hip", openEmulatedHip}, {"hip", openHip}};

std::string nameOf(const testing::TestParamInfo<Backend> &info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Backends, DeviceConformance, testing::ValuesIn(backends), nameOf);
INSTANTIATE_TEST_SUITE_P(Backends, CopyBehindALaunch, testing::ValuesIn(backends), nameOf);
INSTANTIATE_TEST_SUITE_P(Backends, DeviceFault, testing::ValuesIn(backends), nameOf);

/// A HIP library without a device, as that of a distribution on a machine without a GPU.
TEST(DeviceConformanceSetup, HipWithoutADeviceSaysSo) {
  OpenedLibrary from = systemHip();
  if (!from.library)
    GTEST_SKIP() << from.missing;
  auto node = hip::HipNode::create(from.library, {});
  if (node)
    GTEST_SKIP() << "there is a device: " << (*node)->device(0).properties().name;
  std::string error = llvm::toString(node.takeError());
  EXPECT_TRUE(llvm::StringRef(error).starts_with("no device: ") ||
              llvm::StringRef(error).starts_with("too few devices: "))
      << error;
  RecordProperty("said", error);
}

} // namespace

int main(int argc, char **argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc == 2 && llvm::StringRef(argv[1]) == "--device=hip") {
    hardwareRequired = true;
    testing::GTEST_FLAG(filter) = "Backends/*/hip";
  } else if (argc > 1) {
    llvm::errs() << "usage: device_conformance_test [--device=hip] [--gtest_...]\n";
    return 2;
  }
  systemHip();
  return RUN_ALL_TESTS();
}
