// A kernel on all devices of a node: the runtime's group with memory and streams of the caller.
#pragma once

#include "mono/Kernel.h"
#include "mono/Node.h"
#include "runtime/Group.h"

#include <memory>

namespace mono::facade {

class NodeGroup {
public:
  /// `workspaces` has memory for each rank; without it the group allocates. Error unless the node
  /// has one device a rank, and whatever Group::create() finds.
  static llvm::Expected<std::unique_ptr<NodeGroup>>
  create(std::shared_ptr<const CompiledKernel> kernel, std::shared_ptr<Node> node,
         std::vector<Workspace> workspaces);
  /// On the node of `other`, with its mailboxes, epoch words and peer tables.
  static llvm::Expected<std::unique_ptr<NodeGroup>>
  createSharing(std::shared_ptr<const CompiledKernel> kernel, const NodeGroup &other);
  /// Waits for what was launched on the node's own streams.
  ~NodeGroup();

  /// Lets an operand be memory of the caller.
  llvm::Error bind(unsigned rank, llvm::StringRef operand, void *memory, uint64_t bytes);
  /// Starts all ranks; `streams` has one per rank, or is null for the node's own. An error that
  /// leaves nothing started does not break the group.
  llvm::Error launch(const StreamHandle *streams);
  /// Waits for the node's own streams, then check(). Failures of other groups are left to them.
  llvm::Error synchronize();
  /// Why the group is broken, or what the watchdogs of launches that have ended recorded.
  llvm::Error check();

private:
  NodeGroup(std::shared_ptr<Node> node, Group group);
  static llvm::Expected<std::unique_ptr<NodeGroup>>
  make(const CompiledKernel &kernel, std::shared_ptr<Node> node, GroupOptions options);
  llvm::Error checkLaunch() const;
  llvm::Error checkEnded();

  std::shared_ptr<Node> node; // outlives the group
  Group group;
  std::vector<StreamHandle> ownStreams; // null for each rank
  std::vector<bool> bound;              // [rank][operand]
  size_t unbound;                       // how many of them are not
};

} // namespace mono::facade
