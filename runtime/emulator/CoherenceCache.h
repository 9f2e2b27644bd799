// One cache of the adversarial memory model: lines of 128 bytes with valid and dirty bits a byte.
#pragma once

#include "llvm/ADT/DenseMap.h"

#include <array>
#include <cstdint>
#include <vector>

namespace mono::emu {

inline constexpr uint64_t cacheLineBytes = 128;

/// A set of bytes of a cache line.
struct ByteMask {
  std::array<uint64_t, 2> bits{};

  static ByteMask range(unsigned first, unsigned count) {
    return below(first + count) & ~below(first);
  }
  /// Bytes 0 to limit - 1.
  static ByteMask below(unsigned limit) {
    auto low = [](unsigned n) { return n >= 64 ? ~uint64_t(0) : (uint64_t(1) << n) - 1; };
    return {{low(limit), limit > 64 ? low(limit - 64) : 0}};
  }
  bool any() const { return bits[0] | bits[1]; }
  bool has(unsigned n) const { return bits[n / 64] >> n % 64 & 1; }
  bool contains(const ByteMask &o) const {
    return (o.bits[0] & ~bits[0]) == 0 && (o.bits[1] & ~bits[1]) == 0;
  }
  ByteMask operator&(const ByteMask &o) const {
    return {{bits[0] & o.bits[0], bits[1] & o.bits[1]}};
  }
  ByteMask operator|(const ByteMask &o) const {
    return {{bits[0] | o.bits[0], bits[1] | o.bits[1]}};
  }
  ByteMask operator~() const { return {{~bits[0], ~bits[1]}}; }
};

struct CacheLine {
  uint64_t address = 0; ///< of byte 0
  ByteMask valid, dirty;
  std::array<uint8_t, cacheLineBytes> bytes;
};

/// A fully associative cache. Lines are found by address and can be drawn by position, so that a
/// random choice depends on nothing but the history.
class Cache {
public:
  explicit Cache(size_t capacity) : capacity(capacity) {}

  /// The line at a line-aligned address, or null. Pointers hold until the next insert() or erase().
  CacheLine *find(uint64_t address) {
    auto it = index.find(address);
    return it == index.end() ? nullptr : &lines[it->second];
  }
  /// A new line without valid bytes; the address must not be there yet and the cache not full.
  CacheLine &insert(uint64_t address) {
    index[address] = lines.size();
    lines.emplace_back().address = address;
    return lines.back();
  }
  void erase(uint64_t address) {
    auto it = index.find(address);
    if (it == index.end())
      return;
    size_t position = it->second;
    index.erase(it);
    if (position + 1 != lines.size()) {
      lines[position] = lines.back();
      index[lines[position].address] = position;
    }
    lines.pop_back();
  }
  void clear() {
    lines.clear();
    index.clear();
  }

  bool isFull() const { return lines.size() >= capacity; }
  size_t size() const { return lines.size(); }
  CacheLine &at(size_t position) { return lines[position]; }

private:
  size_t capacity;
  std::vector<CacheLine> lines;
  llvm::DenseMap<uint64_t, size_t> index;
};

} // namespace mono::emu
