// Tests on the stub HIP library: it is reset for each test, and must own nothing after it.
#pragma once

#include "runtime/hip/HipNode.h"
#include "test/runtime/hip-device/StubHip.h"

#include <gtest/gtest.h>

namespace mono::test {

class StubHipTest : public testing::Test {
protected:
  void SetUp() override;
  void TearDown() override;

  llvm::Expected<std::unique_ptr<hip::HipNode>> open(const hip::HipSelection &selection);
  /// A node that must open.
  std::unique_ptr<hip::HipNode> node(unsigned count);
  /// The message of a failure to open, or "".
  std::string openError(const hip::HipSelection &selection);
  /// Memory, streams, modules, mappings and graphs that are alive.
  long alive() const;

  StubControl *stub = nullptr;
  std::shared_ptr<const hip::HipLibrary> library;
};

} // namespace mono::test
