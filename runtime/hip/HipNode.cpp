// Choosing devices and joining them.
#include "runtime/hip/HipNode.h"
#include "runtime/Error.h"

using namespace llvm;

namespace mono::hip {

static Expected<unsigned> countDevices(const HipLibrary &library) {
  int count = 0;
  api::Status status = library.functions().hipGetDeviceCount(&count);
  if (status == api::ErrorNoDevice || (status == api::Success && count <= 0))
    return makeError("no device: {} (HIP {}) finds no GPU", library.name(), library.version());
  if (Error error = library.check(status, "hipGetDeviceCount"))
    return error;
  return static_cast<unsigned>(count);
}

static bool matches(const DeviceProperties &device, const HipSelection &selection) {
  return device.arch == selection.arch && device.computeUnits >= selection.computeUnits;
}

static std::string describe(ArrayRef<DeviceProperties> all) {
  std::string text;
  for (size_t i = 0; i < all.size(); ++i)
    text += fmt::format("{}device {}: {} with {} compute units", i ? ", " : "", i, all[i].arch,
                        all[i].computeUnits);
  return text;
}

Expected<std::unique_ptr<HipNode>> HipNode::create(const HipSelection &selection) {
  auto library = HipLibrary::open();
  return library ? create(std::move(*library), selection) : library.takeError();
}

Expected<std::unique_ptr<HipNode>> HipNode::create(std::shared_ptr<const HipLibrary> library,
                                                   const HipSelection &selection) {
  Expected<unsigned> count = countDevices(*library);
  if (!count)
    return count.takeError();
  std::unique_ptr<HipNode> node(new HipNode);
  node->opened = library;
  std::vector<DeviceProperties> seen;
  unsigned skipped = 0;
  for (unsigned i = 0; i < *count && node->members.size() < selection.count; ++i) {
    auto device = HipDevice::create(library, static_cast<int>(i));
    if (!device)
      return addContext(device.takeError(), fmt::format("device {}", i));
    seen.push_back((*device)->properties());
    if (matches(seen.back(), selection) && skipped++ >= selection.first)
      node->members.push_back(std::move(*device));
  }
  if (node->members.size() < selection.count)
    return makeError("too few devices: expected {} of {} with {} compute units or more{}, but got "
                     "{} ({})",
                     selection.count, selection.arch, selection.computeUnits,
                     selection.first ? fmt::format(" behind the first {}", selection.first) : "",
                     node->members.size(), describe(seen));
  for (const auto &member : node->members)
    for (const auto &peer : node->members)
      if (member != peer)
        if (Error error = member->enablePeer(*peer))
          return error;
  return node;
}

std::vector<Device *> HipNode::devices() const {
  std::vector<Device *> pointers;
  for (const auto &member : members)
    pointers.push_back(member.get());
  return pointers;
}

} // namespace mono::hip
