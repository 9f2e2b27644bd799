// Code objects, kernels and launches over HIP, checked when they are loaded and prepared so that a
// launch is one call.
#pragma once

#include "runtime/Device.h"
#include "runtime/KernelMetadata.h"
#include "runtime/hip/HipContext.h"
#include "runtime/hip/OwnStream.h"

#include <vector>

namespace mono::hip {

class HipKernel : public Kernel {
public:
  HipKernel(std::string name, api::Function function, KernelMetadata metadata)
      : name(std::move(name)), function(function), metadata(metadata) {}
  const KernelInfo &info() const override { return metadata.info; }

  const std::string name;
  const api::Function function;
  const KernelMetadata metadata;
};

class HipCodeObject : public LoadedCodeObject {
public:
  /// Loads the code object on the context's device.
  static llvm::Expected<std::unique_ptr<LoadedCodeObject>> load(const HipContext &context,
                                                                llvm::ArrayRef<uint8_t> codeObject);
  ~HipCodeObject() override;

  /// Also checks that HIP and the code object agree on LDS and scratch, and that a wavefront can
  /// have the registers.
  llvm::Expected<const Kernel *> kernel(llvm::StringRef name) override;

private:
  HipCodeObject(const HipContext &context, llvm::ArrayRef<uint8_t> bytes)
      : context(context), bytes(bytes.vec()) {}

  const HipContext context;
  const std::vector<uint8_t> bytes; ///< for the metadata of kernels
  api::Module module = nullptr;
  std::vector<std::unique_ptr<HipKernel>> kernels;
};

/// Checks `config` against the kernel and the chip and fixes its arguments. `ownStream` stands for
/// a null stream and must outlive the launch.
///
/// Residency is checked here, by HIP's own count of the workgroups a compute unit can hold, and the
/// launch is an ordinary one: a cooperative launch would make the same check, but goes through
/// another queue, and not every HIP can capture it.
llvm::Expected<std::unique_ptr<PreparedLaunch>> prepareLaunch(const HipContext &context,
                                                              const DeviceProperties &device,
                                                              OwnStream &ownStream,
                                                              const LaunchConfig &config);

} // namespace mono::hip
