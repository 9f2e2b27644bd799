// A group of ranks: one loaded kernel on each of several devices, their mailboxes, epoch words and
// peer tables, the operands bound by name, and the launch of the ranks together. All ranks live in
// one process, or each in a process of its own.
#pragma once

#include "runtime/Device.h"
#include "runtime/Manifest.h"

#include <memory>
#include <vector>

namespace mono {

namespace ipc {
class Rendezvous;
struct GroupCard;
} // namespace ipc

/// Bytes of memory a rank needs besides its operands.
struct WorkspaceSize {
  uint64_t local = 0; ///< device mailboxes, epoch words and peer table
  uint64_t peers = 0; ///< peer mailboxes
  /// Of both, in bytes.
  static constexpr uint64_t alignment = 256;
};

WorkspaceSize workspaceSize(const Manifest &manifest);

/// Memory of the caller for a rank, of the sizes workspaceSize() says. It must outlive the group
/// and serve no other; the group fills it with zeros when it is made.
struct Workspace {
  DevicePtr local = 0;
  /// Uncached fine-grained memory; anything else is refused.
  DevicePtr peers = 0;
};

class Group;

struct GroupOptions {
  /// Forget the contents of operands with access write before each launch(), so that an element the
  /// kernel leaves out is found. Costs host work a launch; enqueue() never does it.
  bool poisonOutputs = true;
  /// One for each rank of this process, or none: then the group allocates.
  std::vector<Workspace> workspaces = {};
  /// A group on the same devices whose mailboxes, epoch words and peer tables the new one uses too,
  /// instead of having its own; of the kernels that share, the one that needs most makes the first
  /// group. Launches of all these groups must be ordered, alike on all ranks, and when one fails,
  /// all groups are broken. For join() each process names its part of the same group, which came
  /// from join() too. docs/rationale.md says why this is safe.
  const Group *sharedWith = nullptr;
};

class Group {
public:
  /// Loads `codeObject` on devices[0 .. ranks), one device a rank, and allocates what the manifest
  /// asks for: device mailboxes, peer mailboxes (peer-visible, owned by the receiver), epoch words,
  /// all zero, the table of peer mailboxes, and the operands with access write. Errors: no or wrong
  /// manifest, another number of devices than ranks, another chip, a grid or LDS the device does
  /// not have. The devices must outlive the group.
  static llvm::Expected<Group> create(llvm::ArrayRef<Device *> devices,
                                      llvm::ArrayRef<uint8_t> codeObject,
                                      GroupOptions options = {});
  /// The same for one rank a process: all processes of the rendezvous call this together, and the
  /// group has this one rank. An error on one rank, other code or other parameters among them, is
  /// an error on all. The rendezvous may serve more groups afterwards.
  static llvm::Expected<Group> join(Device &device, llvm::ArrayRef<uint8_t> codeObject,
                                    ipc::Rendezvous &rendezvous, GroupOptions options = {});
  Group(Group &&) = default;
  Group &operator=(Group &&) = default;

  const Manifest &manifest() const { return contract; }
  /// Of the whole group, whatever processes they live in.
  unsigned ranks() const { return contract.ranks; }
  /// Whether the rank lives in this process; what is asked of another one is an error.
  bool isLocal(unsigned rank) const;
  /// Registers, LDS and scratch of the loaded kernel; the same on every rank.
  const KernelInfo &kernelInfo() const { return members.front().kernel->info(); }

  /// Copies `bytes` (in the operand's layout) into the operand's memory on `rank`, allocating it on
  /// first use. The size must be the operand's.
  llvm::Error write(unsigned rank, llvm::StringRef operand, llvm::ArrayRef<uint8_t> bytes);
  /// Lets the operand be `bytes` bytes of the caller's device memory, which must outlive the group.
  llvm::Error bind(unsigned rank, llvm::StringRef operand, DevicePtr memory, uint64_t bytes);
  /// Copies the operand out, in its layout. The size must be the operand's. On the emulator a byte
  /// of an output that the kernel did not write is an error. Work that enqueue() started must have
  /// ended.
  llvm::Error read(unsigned rank, llvm::StringRef operand, llvm::MutableArrayRef<uint8_t> bytes);

  /// Copies out what the last launch posted to a tagged mailbox that `rank` owns, row-major and
  /// without the tags; `bytes` must have the size of the mailbox's tensor. An element that the last
  /// launch did not post is an error. Work that enqueue() started must have ended.
  llvm::Error readMailbox(unsigned rank, llvm::StringRef mailbox,
                          llvm::MutableArrayRef<uint8_t> bytes);

  /// Whether the last launch posted anything to a tagged mailbox that `rank` owns: stages that
  /// parameters switch off leave theirs empty.
  llvm::Expected<bool> isPosted(unsigned rank, llvm::StringRef mailbox);

  /// A slot of a tagged mailbox, whatever launches its words are of.
  struct MailboxSlot {
    std::vector<uint8_t> payload; ///< row-major, as readMailbox() gives it
    std::vector<uint32_t> tags;   ///< of each word of 4 bytes: the launch that posted it, 0: none
  };
  /// Copies out a slot of a mailbox that `rank` owns; launches may have failed or still run.
  llvm::Expected<MailboxSlot> readSlot(unsigned rank, llvm::StringRef mailbox, unsigned slot);

  /// Where a slot of a mailbox lies on a rank of this process that owns it; 0 for other ranks.
  DevicePtr slotMemory(unsigned rank, const Mailbox &mailbox, unsigned slot) const;

  /// Why every later launch is an error: what went wrong in one of this group, or of those that
  /// share its mailboxes. Empty while nothing did.
  const std::string &failure() const { return members.front().exchange->failure->text(); }

  /// Launches every rank of this process and waits for them. Every operand must be bound. May be
  /// called again without any reset: the kernel advances its epoch words itself. After a launch
  /// that failed the group is broken, and those that share its mailboxes, because its ranks may be
  /// at different epochs: every later launch is an error, and new groups must be made.
  llvm::Error launch();

  /// Fixes and checks the launches of the ranks of this process, as far as something was bound
  /// since the last time. enqueue() does it if need be; whoever wants no host work in it does it
  /// before.
  llvm::Error prepare();
  /// Starts one rank on a stream of its device and returns at once; the rank ends only when all
  /// others of the group are started too. May be captured into a graph: all that changes from
  /// launch to launch is in device memory. Two launches of a group, or of groups that share
  /// mailboxes, must not overlap on a rank: give them one stream, or streams that events order.
  /// That they do is not seen here.
  llvm::Error enqueue(unsigned rank, StreamHandle stream);
  /// Starts every rank of this process, in the order of ranks, one stream each. Nothing is started
  /// when a rank cannot be prepared. When one cannot be started after others were, the group is
  /// broken, and if all ranks live here, those that were started end (docs/faults.md).
  llvm::Error enqueue(llvm::ArrayRef<StreamHandle> streams);
  /// What went wrong in launches that enqueue() started, for when their streams have ended: the
  /// waits that outlasted the budget of a watchdog build. Breaks the group as launch() does. Reads
  /// 32 bytes per rank, or nothing when there is no watchdog.
  llvm::Error check();

private:
  /// What a rank exchanges data through. Groups that share have one.
  struct Exchange {
    std::vector<DeviceBuffer> owned; ///< what of it the library allocated or mapped
    DevicePtr deviceMailboxes = 0, peerMailboxes = 0, epochs = 0, peerTable = 0;
    uint64_t deviceBytes = 0;              ///< of the device mailboxes
    uint64_t peerSlotBytes = 0;            ///< from a slot of the peer mailboxes to the next
    std::array<uint8_t, 32> identity = {}; ///< of a joined group, the same on all ranks
    /// Of a launch, the same on all ranks of this process; they may be at different epochs since.
    std::shared_ptr<LaunchFailure> failure;
  };
  /// A rank of this process.
  struct Member {
    unsigned rank = 0;
    Device *device = nullptr;
    std::unique_ptr<LoadedCodeObject> codeObject;
    const Kernel *kernel = nullptr;
    std::shared_ptr<Exchange> exchange;
    std::vector<DeviceBuffer> owned; ///< one an operand; empty where the caller's memory is bound
    std::vector<DevicePtr> operands; ///< one an operand; 0 while unbound
    std::unique_ptr<PreparedLaunch> prepared; ///< null when something was bound since
  };
  Group() = default;

  static llvm::Error checkSharing(const Manifest &manifest, const Group &other,
                                  const GroupOptions &options);
  static llvm::Expected<Group> checked(llvm::ArrayRef<Device *> devices,
                                       llvm::ArrayRef<uint8_t> codeObject, GroupOptions options);
  /// What the watchdogs of the ranks of this process have recorded.
  llvm::Error checkWatchdogs();
  /// Starts all members; after a failure, whatever was started comes to an end.
  llvm::Error startAll(llvm::ArrayRef<StreamHandle> streams);
  llvm::Error release(Member &missing, StreamHandle stream);
  std::vector<uint8_t> slotOfZeros(const Mailbox &mailbox, uint32_t tag) const;
  llvm::Error breakWith(llvm::Error error);
  llvm::Error addMember(unsigned rank, Device &device, llvm::ArrayRef<uint8_t> codeObject);
  llvm::Error makeExchange(Member &member);
  llvm::Error allocateWorkspace(Member &member);
  llvm::Error adoptWorkspace(Member &member, const Workspace &workspace);
  llvm::Error clearWorkspace(Member &member);
  llvm::Error shareExchange(Member &member, const Group &other);
  llvm::Error fillPeerTable(Member &member, llvm::ArrayRef<DevicePtr> mailboxes);

  static llvm::Expected<Group> startJoin(Device &device, llvm::ArrayRef<uint8_t> codeObject,
                                         const ipc::Rendezvous &rendezvous, GroupOptions options,
                                         ipc::GroupCard &card);
  llvm::Error connect(llvm::ArrayRef<ipc::GroupCard> cards);

  llvm::Expected<Member *> findMember(unsigned rank);
  llvm::Expected<uint32_t> finishedLaunches(const Member &member) const;
  llvm::Expected<MailboxSlot> readSlot(const Member &member, const Mailbox &mailbox,
                                       unsigned slot) const;
  /// The slot of a tagged mailbox that the last launch used, and the tag its words must have.
  struct LastSlot {
    MailboxSlot slot;
    uint32_t tag = 0;
  };
  llvm::Expected<LastSlot> readLastSlot(unsigned rank, const Mailbox &mailbox);
  llvm::Expected<size_t> operandIndex(llvm::StringRef name, uint64_t bytes) const;
  llvm::Error allocateOperand(Member &member, size_t index);
  llvm::Error checkBound(const Member &member) const;
  llvm::Error poisonOutputs();
  llvm::Error prepare(Member &member);
  std::vector<uint8_t> kernargs(const Member &member) const;

  Manifest contract;
  GroupOptions options;
  std::vector<Member> members;
};

} // namespace mono
