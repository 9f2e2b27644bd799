// One HIP device: memory for peers, what is checked before a launch, and what a launch does.
#include "runtime/Error.h"
#include "runtime/hip/HipGraph.h"
#include "test/runtime/Assembler.h"
#include "test/runtime/hip-device/StubFixture.h"

#include <dlfcn.h>

using namespace mono;
using namespace mono::hip;
using namespace mono::test;

namespace {

std::vector<uint8_t> emptyKernel(unsigned ldsBytes = 0) {
  KernelText kernel;
  kernel.name = "empty";
  kernel.kernargBytes = 16;
  kernel.ldsBytes = ldsBytes;
  return assemble(kernelAssembly(kernel));
}

class HipDeviceTest : public StubHipTest {
protected:
  void SetUp() override {
    StubHipTest::SetUp();
    opened = node(2);
  }
  void TearDown() override {
    opened.reset();
    StubHipTest::TearDown();
  }
  HipDevice &device(unsigned index = 0) { return opened->device(index); }

  std::string allocateError(MemoryKind kind) {
    auto buffer = DeviceBuffer::allocate(device(), 1000, "boxes", kind);
    return buffer ? "" : llvm::toString(buffer.takeError());
  }
  std::string kernelError(unsigned ldsBytes = 0) {
    auto code = device().load(emptyKernel(ldsBytes));
    EXPECT_TRUE(bool(code)) << llvm::toString(code.takeError());
    return llvm::toString((*code)->kernel("empty").takeError());
  }
  /// The launch that is right, for tests to spoil.
  LaunchConfig launchable(LoadedCodeObject &code) {
    LaunchConfig config;
    auto kernel = code.kernel("empty");
    EXPECT_TRUE(bool(kernel)) << llvm::toString(kernel.takeError());
    config.kernel = *kernel;
    config.workgroups = {256, 1, 1};
    config.threads = {512, 1, 1};
    config.kernargs = sixteen;
    config.resident = true;
    return config;
  }
  std::string launchError(const LaunchConfig &config) {
    return llvm::toString(device().launch(config));
  }

  std::vector<uint8_t> sixteen = std::vector<uint8_t>(16);
  std::unique_ptr<HipNode> opened;
};

// ---- memory ------------------------------------------------------------------------------------

TEST_F(HipDeviceTest, CoarseMemoryForPeersIsRefused) {
  stub->givesCoarse = true;
  std::string error = allocateError(MemoryKind::PeerVisible);
  EXPECT_EQ(error.find("1000 bytes for 'boxes': expected uncached fine-grained memory"), 0u)
      << error;
  EXPECT_EQ(stub->allocations, 0);
  EXPECT_EQ(allocateError(MemoryKind::Local), "");
}

TEST_F(HipDeviceTest, HipWithoutUncachedMemoryIsRefused) {
  stub->knowsUncached = false;
  EXPECT_EQ(allocateError(MemoryKind::PeerVisible),
            "1000 bytes for 'boxes': HIP 6.2 cannot allocate uncached device memory, which "
            "mailboxes between ranks need");
}

TEST_F(HipDeviceTest, MemoryOfTheCallerIsChecked) {
  auto coarse = DeviceBuffer::allocate(device(), 512, "plain", MemoryKind::Local);
  auto fine = DeviceBuffer::allocate(device(), 512, "boxes", MemoryKind::PeerVisible);
  ASSERT_TRUE(coarse && fine);
  std::string error = llvm::toString(device().checkPeerVisible(coarse->ptr(), 512));
  EXPECT_NE(error.find("but got coarse-grained memory"), std::string::npos) << error;
  EXPECT_EQ(llvm::toString(device().checkPeerVisible(fine->ptr() + 256, 256)), "");
  EXPECT_NE(llvm::toString(device().checkPeerVisible(fine->ptr() + 256, 257)), "");
}

/// The HSA runtime knows better than HIP; the test has one of its own that says what HIP's flags do
/// not: memory at odd multiples of 512 is fine-grained.
TEST_F(HipDeviceTest, TheHsaRuntimeDecides) {
  void *hsa = dlopen(MONO_STUB_HSA, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(hsa, nullptr) << dlerror();
  auto *answer = static_cast<uint32_t *>(dlsym(hsa, "monoStubGlobalFlags"));
  ASSERT_NE(answer, nullptr);
  *answer = 4; // coarse-grained
  EXPECT_NE(allocateError(MemoryKind::PeerVisible), "");
  for (uint32_t fineGrained : {2, 8}) {
    *answer = fineGrained;
    EXPECT_EQ(allocateError(MemoryKind::PeerVisible), "");
  }
  *answer = 0; // unknown to HSA: HIP's flags count
  EXPECT_EQ(allocateError(MemoryKind::PeerVisible), "");
  dlclose(hsa);
}

TEST_F(HipDeviceTest, ExportsTheAllocationAroundAnAddress) {
  auto memory = DeviceBuffer::allocate(device(), 4096, "boxes", MemoryKind::PeerVisible);
  ASSERT_TRUE(bool(memory));
  auto exported = device().exportMemory(memory->ptr() + 768);
  ASSERT_TRUE(bool(exported)) << llvm::toString(exported.takeError());
  EXPECT_EQ(exported->offset, 768u);
  {
    auto imported = DeviceBuffer::import(device(1), *exported, 256);
    ASSERT_TRUE(bool(imported)) << llvm::toString(imported.takeError());
    EXPECT_EQ(imported->ptr(), memory->ptr() + 768);
    EXPECT_EQ(stub->imports, 1);
  }
  EXPECT_EQ(stub->imports, 0);
  EXPECT_EQ(llvm::toString(device().releaseImported(0x1000)),
            "release of 0x1000: not memory of another process");
}

TEST_F(HipDeviceTest, OnlyItsOwnMemoryIsFreed) {
  EXPECT_EQ(llvm::toString(device().free(0x1000)),
            "free of 0x1000: not the start of an allocation of device 0");
}

// ---- kernels -----------------------------------------------------------------------------------

TEST_F(HipDeviceTest, CutCodeObjectsNeverReachHip) {
  std::vector<uint8_t> whole = emptyKernel();
  for (size_t size = 0; size < whole.size(); size += 37)
    EXPECT_NE(llvm::toString(device().load(llvm::ArrayRef(whole).take_front(size)).takeError()), "")
        << size << " of " << whole.size() << " bytes";
  EXPECT_EQ(stub->modules, 0);
}

TEST_F(HipDeviceTest, KernelAttributesMustAgree) {
  EXPECT_EQ(kernelError(), "");
  EXPECT_EQ(kernelError(1280),
            "kernel 'empty': expected 1280 bytes of LDS as the code object says, "
            "but HIP reports 0");
  stub->ldsOfKernel = 1280;
  EXPECT_EQ(kernelError(1280), "");
  stub->scratchOfKernel = 16;
  EXPECT_EQ(kernelError(1280),
            "kernel 'empty': expected 0 bytes of scratch a work-item as the code "
            "object says, but HIP reports 16");
  stub->scratchOfKernel = 0;
  stub->registersOfKernel = 513;
  EXPECT_EQ(kernelError(1280),
            "kernel 'empty': expected at most 512 registers per lane, but HIP reports 513");
}

TEST_F(HipDeviceTest, LaunchesAreCheckedBeforeTheyStart) {
  auto code = device().load(emptyKernel());
  ASSERT_TRUE(bool(code));
  LaunchConfig good = launchable(**code);
  EXPECT_EQ(launchError(good), "");
  EXPECT_EQ(stub->launches, 1);

  LaunchConfig config = good;
  config.kernel = nullptr;
  EXPECT_EQ(launchError(config), "expected a kernel to launch, but got none");
  config = good;
  config.workgroups = {257, 1, 1};
  EXPECT_EQ(launchError(config), "kernel 'empty': expected at most 256 resident workgroups (1 on "
                                 "each of 256 compute units), but got 257");
  config.workgroups = {1, 0, 1};
  EXPECT_EQ(launchError(config), "kernel 'empty': expected at least 1 workgroup, but got 0");
  config = good;
  config.threads = {1024, 2, 1};
  EXPECT_EQ(launchError(config),
            "kernel 'empty': expected 1 to 1024 work-items in a workgroup, but got 2048");
  config = good;
  config.kernargs = llvm::ArrayRef(sixteen).drop_back(4);
  EXPECT_EQ(launchError(config),
            "kernel 'empty': expected 16 bytes of kernel arguments, but got 12");
  config = good;
  config.dynamicLdsBytes = 163841;
  EXPECT_EQ(launchError(config),
            "kernel 'empty': expected at most 163840 bytes of LDS, but got 0 and 163841 dynamic");
  EXPECT_EQ(stub->launches, 1);
}

TEST_F(HipDeviceTest, LaunchesUseTheStreamAndKeepTheCurrentDevice) {
  auto code = device(1).load(emptyKernel());
  ASSERT_TRUE(bool(code));
  auto prepared = device(1).prepare(launchable(**code));
  ASSERT_TRUE(bool(prepared)) << llvm::toString(prepared.takeError());
  const api::Functions &hip = library->functions();
  ASSERT_EQ(hip.hipSetDevice(6), api::Success);

  ASSERT_EQ(llvm::toString((*prepared)->start(nullptr)), "");
  EXPECT_EQ(stub->lastStream, device(1).ownStream());
  EXPECT_EQ(stub->lastDevice, 1);
  int mine = 0;
  ASSERT_EQ(llvm::toString((*prepared)->start(&mine)), "");
  EXPECT_EQ(stub->lastStream, &mine);
  int current = -1;
  ASSERT_EQ(hip.hipGetDevice(&current), api::Success);
  EXPECT_EQ(current, 6);
}

TEST_F(HipDeviceTest, AFailedCaptureIsEnded) {
  auto stream = HipStream::create(device());
  ASSERT_TRUE(bool(stream));
  auto graph = HipGraph::capture(*stream, [](StreamHandle) { return makeError("no such kernel"); });
  EXPECT_EQ(llvm::toString(graph.takeError()), "no such kernel");
  EXPECT_EQ(stub->graphs, 0);
}

/// The stub has none, as a HIP library may.
TEST_F(HipDeviceTest, MissingEventsAreSaid) {
  EXPECT_EQ(llvm::toString(HipEvent::create(device()).takeError()), "HIP 6.2 has no events");
}

} // namespace
