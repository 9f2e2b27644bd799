// The manifest of a code object: what a kernel takes and needs, read from the ELF section
// `.mono.manifest` (docs/manifest.md) and checked before anything is allocated or launched.
#pragma once

#include "runtime/Layout.h"

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace mono {

enum class OperandAccess { Read, Write, Update };
enum class Role { Weight, Activation };

/// One kernel argument of the caller.
struct Operand {
  std::string name;
  OperandAccess access = OperandAccess::Read;
  Role role = Role::Activation;
  TensorType type;
};

enum class MailboxKind { Tagged, Counted };
enum class MailboxScope { Device, Peers };

/// One mailbox inside the device or peer mailbox memory. Bytes are of all slots. Slots of a device
/// mailbox lie one behind the other; those of peers mailboxes are peerSlotBytes() apart or more, as
/// the memory has it, with `offset` counted from the beginning of a slot.
struct Mailbox {
  std::string name;
  MailboxKind kind = MailboxKind::Tagged;
  MailboxScope scope = MailboxScope::Device;
  unsigned slots = 1;
  TensorType type;
  uint64_t offset = 0;
  uint64_t bytes = 0;

  uint64_t slotBytes() const { return bytes / slots; }
};

struct Stage {
  std::string name;
  unsigned tasks = 0;
  unsigned base = 0;
  std::vector<std::string> posts; ///< the mailboxes it posts to; empty in old code objects
};

/// A region of LDS, known of builds with markers only.
struct Region {
  std::string name;
  TensorType type;
  uint64_t rowBytes = 0; ///< from one row to the next; more than a row's where it is padded
  uint64_t offset = 0;   ///< in LDS
  unsigned firstStage = 0, lastStage = 0; ///< between which its content matters
  llvm::SmallVector<int64_t> writers; ///< numbers of the stages that write it; empty in old code
                                      ///< objects

  /// Of the last dimension.
  uint64_t rows() const { return type.bytes() / payloadRowBytes(); }
  /// Bytes of a row without its padding.
  uint64_t payloadRowBytes() const;
};

struct Manifest {
  std::string tool;
  std::string sourceFile;
  std::string sourceHash;
  std::string schedule;
  std::string kernel;
  std::string target;
  std::vector<std::pair<std::string, int64_t>> params;
  unsigned ctas = 0;
  unsigned threads = 0;
  unsigned ranks = 0;
  /// All LDS of a workgroup, and the part of it that is not in the kernel descriptor and must be
  /// asked for at launch. The latter is known only from a code object.
  uint64_t ldsBytes = 0;
  uint64_t dynamicLdsBytes = 0;
  std::vector<Operand> operands;
  std::vector<Mailbox> mailboxes;
  uint64_t deviceMailboxBytes = 0;
  uint64_t peerMailboxBytes = 0;
  /// In each launch every rank waits for words of every other one.
  bool hearsAll = false;
  uint64_t epochBytes = 0;
  /// A watchdog build: the budget of a wait in cycles (0: none), and where in the epoch memory the
  /// first wait that failed is recorded.
  uint64_t watchdogCycles = 0;
  uint64_t watchdogOffset = 0;
  std::vector<Stage> stages;
  /// A build with markers: each task begins with s_ttracedata, m0 being its stage's number shifted
  /// left by this, plus its own. 0: a build without.
  unsigned markerTaskBits = 0;
  std::vector<Region> regions;

  /// Null when there is no operand of that name.
  const Operand *operand(llvm::StringRef name) const;
  /// Error naming the operands there are when there is none of that name.
  llvm::Expected<const Operand *> findOperand(llvm::StringRef name) const;
  /// The same for mailboxes.
  llvm::Expected<const Mailbox *> findMailbox(llvm::StringRef name) const;
  /// The number of the first stage that posts to the mailbox; none if the code object does not say.
  std::optional<unsigned> firstPoster(llvm::StringRef mailbox) const;
  /// Null when there is no parameter of that name.
  const int64_t *param(llvm::StringRef name) const;
  /// Slots of the peers mailbox that has most of them; 1 if there are none.
  unsigned peerSlots() const;
  /// The tag of the launch behind `finished` launches, as the kernels count (docs/manifest.md): the
  /// next number, or 1 after the largest multiple of the slots of all peers mailboxes.
  uint32_t nextTag(uint32_t finished) const;
  /// Bytes of one slot of all peers mailboxes.
  uint64_t peerSlotBytes() const { return peerMailboxBytes / peerSlots(); }
  /// Bytes of the peer table: an address a rank, then the bytes from a slot to the next.
  uint64_t peerTableBytes() const { return 8 * (uint64_t(ranks) + 1); }
  /// Bytes of the kernel arguments: 8 for each operand, the device mailboxes, the peer table and
  /// the epoch words, then 4 for the rank.
  uint64_t kernargBytes() const { return 8 * (operands.size() + 3) + 4; }
};

/// Parses and checks manifest text: version, every field's kind and range, bytes against shapes,
/// mailboxes inside their memory and disjoint, unique names.
llvm::Expected<Manifest> parseManifest(llvm::StringRef text);

/// Finds, parses and checks the manifest of a code object, then checks it against the ELF: the chip
/// of e_flags, and kernarg and LDS bytes of the kernel descriptor `KERNEL.kd`
/// (llvm AMDGPUUsage, "Kernel Descriptor"). Any byte string gives a manifest or an error.
llvm::Expected<Manifest> readManifest(llvm::ArrayRef<uint8_t> codeObject);

} // namespace mono
