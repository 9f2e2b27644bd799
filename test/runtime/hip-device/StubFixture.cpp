// Opening and resetting the stub.
#include "test/runtime/hip-device/StubFixture.h"

#include <dlfcn.h>
#include <new>

using namespace mono::hip;

namespace mono::test {

void StubHipTest::SetUp() {
  void *handle = dlopen(MONO_STUB_HIP, RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(handle, nullptr) << dlerror();
  auto *control = reinterpret_cast<StubControlFunction *>(dlsym(handle, stubControlName));
  ASSERT_NE(control, nullptr);
  stub = control();
  stub->~StubControl();
  new (stub) StubControl;
  auto opened = HipLibrary::open(MONO_STUB_HIP);
  ASSERT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
  library = std::move(*opened);
}

void StubHipTest::TearDown() {
  if (stub)
    EXPECT_EQ(alive(), 0);
}

llvm::Expected<std::unique_ptr<HipNode>> StubHipTest::open(const HipSelection &selection) {
  return HipNode::create(library, selection);
}

std::unique_ptr<HipNode> StubHipTest::node(unsigned count) {
  HipSelection selection;
  selection.count = count;
  auto opened = open(selection);
  EXPECT_TRUE(bool(opened)) << llvm::toString(opened.takeError());
  return std::move(*opened);
}

std::string StubHipTest::openError(const HipSelection &selection) {
  auto opened = open(selection);
  stub->failAtCall = 0; // what follows is clean-up
  return opened ? "" : llvm::toString(opened.takeError());
}

long StubHipTest::alive() const {
  return stub->allocations + stub->streams + stub->modules + stub->imports + stub->graphs;
}

} // namespace mono::test
