// What a launch moves between the memory of one rank and its workgroups, operand by operand.
#pragma once

#include "lowering/Check/Boxes.h"
#include "llvm/ADT/MapVector.h"

namespace mono {

/// Bytes of one operand, each element once however many tasks touch it. What data chooses at run
/// time, rows of a gather or a scatter and matrices of a list of groups, counts as if every choice
/// were another one, as far as the operand has so many: an upper bound. The rest is exact.
struct OperandTraffic {
  std::string name;
  int64_t readBytes = 0, readByData = 0; ///< all, and those of them that data chooses
  int64_t writtenBytes = 0, writtenByData = 0;
};

/// Counts the operands of some accesses, those to other memory left out.
class TrafficCounter {
public:
  void add(const MemoryAccess &access);
  /// What was counted of an operand.
  OperandTraffic of(OperandOp operand);
  /// Bytes read of weights and their scales.
  int64_t weightBytes();

private:
  /// Where boxes of a matrix begin and end, and how many matrices each takes.
  struct Edge {
    int64_t element, matrices;
  };
  /// One direction of an operand.
  struct Touched {
    std::vector<Edge> edges; ///< of boxes
    int64_t matrices = 1;    ///< that groups choose from
    int64_t chosen = 0;      ///< elements of rows that a tensor of indices names

    bool hasGroups() const { return matrices > 1; }
    int64_t boxElements();
  };
  struct Operand {
    Touched read, written;
  };
  void addBoxes(const MemoryAccess &access, Touched &touched, std::pair<int64_t, int64_t> block);

  llvm::MapVector<mlir::Operation *, Operand> operands;
};

} // namespace mono
