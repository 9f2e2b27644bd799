// Tables and JSON of verdicts and statistics.
#include "models/tools/StatsReport.h"

#include <fmt/format.h>

#include <limits>
#include <map>

using namespace llvm;

namespace mono::tools {

static bool usesLds(const emu::Occupancy &occupancy) {
  return occupancy.byLds != std::numeric_limits<unsigned>::max();
}

static json::Object kernelJson(const Group &group) {
  const KernelInfo &info = group.kernelInfo();
  const Manifest &manifest = group.manifest();
  json::Object params;
  for (const auto &[name, value] : manifest.params)
    params[name] = value;
  return json::Object{{"name", manifest.kernel},
                      {"params", std::move(params)},
                      {"vgprs", info.vgprs},
                      {"agprs", info.agprs},
                      {"sgprs", info.sgprs},
                      {"vgpr_spills", info.vgprSpills},
                      {"sgpr_spills", info.sgprSpills},
                      {"lds_bytes", manifest.ldsBytes},
                      {"scratch_bytes", info.scratchBytes},
                      {"workgroups", manifest.ctas},
                      {"threads", manifest.threads}};
}

static json::Object occupancyJson(const emu::Occupancy &occupancy) {
  json::Object limits{{"threads", occupancy.byWaveSlots}, {"vgprs", occupancy.byVgprs}};
  if (usesLds(occupancy))
    limits["lds"] = occupancy.byLds;
  return json::Object{{"workgroups_per_cu", occupancy.workgroups()},
                      {"waves_per_simd", occupancy.waves()},
                      {"limited_by", occupancy.limits()},
                      {"workgroups_by", std::move(limits)}};
}

static json::Object levelsJson(const emu::Stats &stats) {
  json::Object levels;
  for (unsigned n = 0; n < emu::memoryLevelCount; ++n)
    levels[emu::memoryLevelName(emu::MemoryLevel(n))] = json::Object{
        {"read", stats.levels[n].bytesRead}, {"written", stats.levels[n].bytesWritten}};
  return levels;
}

static json::Object matrixJson(const emu::Stats &stats) {
  json::Object kinds;
  for (const auto &[name, count] : stats.matrix)
    kinds[name] = count;
  return kinds;
}

static json::Object cachesJson(const emu::CacheTraffic &caches) {
  return json::Object{{"l2_lines", caches.l2Lines},
                      {"l2_misses", caches.l2Misses},
                      {"memory_lines", caches.memoryLines},
                      {"hbm_bytes_read", caches.hbmBytesRead}};
}

static json::Object rankJson(const emu::Stats &stats) {
  json::Object instructions;
  for (unsigned i = 0; i < emu::instructionClassCount; ++i)
    instructions[emu::instructionClassName(emu::InstructionClass(i))] = stats.instructions[i];
  json::Array memory;
  for (const emu::AllocationTraffic &traffic : stats.traffic)
    memory.push_back(json::Object{{"name", traffic.name},
                                  {"rank", traffic.rank},
                                  {"bytes_read", traffic.bytesRead},
                                  {"most_bytes_read_by_workgroup", traffic.mostReadByWorkgroup()},
                                  {"bytes_written", traffic.bytesWritten},
                                  {"hbm_bytes_read_modelled", traffic.bytesFromHbm}});
  const emu::LevelTraffic &lds = stats.level(emu::MemoryLevel::Lds);
  return json::Object{{"instructions", std::move(instructions)},
                      {"mfma", stats.count(emu::InstructionClass::Mfma)},
                      {"matrix", matrixJson(stats)},
                      {"barriers", stats.count(emu::InstructionClass::Barrier)},
                      {"waits", stats.count(emu::InstructionClass::Waitcnt)},
                      {"lds_bytes_read", lds.bytesRead},
                      {"lds_bytes_written", lds.bytesWritten},
                      {"lds_accesses", stats.ldsAccesses},
                      {"lds_bank_conflicts_modelled", stats.ldsBankConflicts},
                      {"bytes", levelsJson(stats)},
                      {"caches_modelled", cachesJson(stats.caches)},
                      {"memory", std::move(memory)}};
}

json::Object statsJson(const Group &group, emu::Machine &machine, const RunTime &time) {
  json::Array ranks;
  for (unsigned rank = 0; rank < group.ranks(); ++rank)
    ranks.push_back(rankJson(machine.stats(rank)));
  return json::Object{{"kernel", kernelJson(group)},
                      {"occupancy", occupancyJson(machine.stats(0).occupancy)},
                      {"launches", time.launches},
                      {"host_seconds", time.seconds},
                      {"ranks", std::move(ranks)}};
}

static void printKernel(raw_ostream &out, const Group &group, const RunTime &time) {
  const KernelInfo &info = group.kernelInfo();
  const Manifest &manifest = group.manifest();
  auto s = [](uint64_t number) { return number == 1 ? "" : "s"; };
  out << fmt::format("kernel {}: {} rank{} of {} workgroups of {} threads\n", manifest.kernel,
                     manifest.ranks, s(manifest.ranks), manifest.ctas, manifest.threads)
      << fmt::format("{} VGPRs, {} AGPRs, {} SGPRs, {} spills, {} bytes of LDS, {} of scratch\n",
                     info.vgprs, info.agprs, info.sgprs, info.vgprSpills + info.sgprSpills,
                     manifest.ldsBytes, info.scratchBytes)
      << fmt::format("{} launch{}, {:.2f} s on this host\n", time.launches,
                     time.launches == 1 ? "" : "es", time.seconds);
}

static void printOccupancy(raw_ostream &out, const emu::Occupancy &occupancy) {
  out << fmt::format(
             "{} waves per SIMD ({} workgroups per compute unit), limited by {}; room for {} by "
             "threads, {} by VGPRs",
             occupancy.waves(), occupancy.workgroups(), occupancy.limits(), occupancy.byWaveSlots,
             occupancy.byVgprs)
      << (usesLds(occupancy) ? fmt::format(", {} by LDS\n", occupancy.byLds) : "\n");
}

namespace {

/// One line of a table with a column for each rank.
using RankRow = std::vector<uint64_t>;
using RankTable = std::vector<std::pair<std::string, RankRow>>;

} // namespace

static void printTable(raw_ostream &out, StringRef title, const RankTable &table) {
  size_t ranks = table.empty() ? 0 : table.front().second.size();
  out << fmt::format("{:<32}", title);
  for (size_t rank = 0; rank < ranks; ++rank)
    out << fmt::format("{:>12}", fmt::format("rank {}", rank));
  out << '\n';
  for (const auto &[name, row] : table) {
    out << fmt::format("  {:<30}", name);
    for (uint64_t value : row)
      out << fmt::format("{:>12}", value);
    out << '\n';
  }
}

/// One row a rank has, from a function of its statistics.
static RankRow rowOf(emu::Machine &machine, unsigned ranks,
                     function_ref<uint64_t(const emu::Stats &)> value) {
  RankRow row;
  for (unsigned rank = 0; rank < ranks; ++rank)
    row.push_back(value(machine.stats(rank)));
  return row;
}

static RankTable matrixTable(emu::Machine &machine, unsigned ranks) {
  std::map<std::string, RankRow> rows;
  for (unsigned rank = 0; rank < ranks; ++rank)
    for (const auto &[name, count] : machine.stats(rank).matrix)
      rows.try_emplace(name, ranks).first->second[rank] = count;
  return {rows.begin(), rows.end()};
}

static RankTable levelTable(emu::Machine &machine, unsigned ranks) {
  RankTable table;
  for (unsigned n = 0; n < emu::memoryLevelCount; ++n) {
    std::string name = emu::memoryLevelName(emu::MemoryLevel(n));
    auto add = [&](const char *what, uint64_t emu::LevelTraffic::*bytes) {
      table.emplace_back(name + what, rowOf(machine, ranks, [&](const emu::Stats &stats) {
                           return stats.levels[n].*bytes;
                         }));
    };
    add(" read", &emu::LevelTraffic::bytesRead);
    add(" written", &emu::LevelTraffic::bytesWritten);
  }
  return table;
}

static RankTable ldsTable(emu::Machine &machine, unsigned ranks) {
  return {{"accesses",
           rowOf(machine, ranks, [](const emu::Stats &stats) { return stats.ldsAccesses; })},
          {"bank conflict cycles",
           rowOf(machine, ranks, [](const emu::Stats &stats) { return stats.ldsBankConflicts; })}};
}

static RankTable cacheTable(emu::Machine &machine, unsigned ranks) {
  RankTable table;
  auto add = [&](const char *what, uint64_t emu::CacheTraffic::*value) {
    table.emplace_back(
        what, rowOf(machine, ranks, [&](const emu::Stats &stats) { return stats.caches.*value; }));
  };
  add("L2 lines", &emu::CacheTraffic::l2Lines);
  add("L2 misses", &emu::CacheTraffic::l2Misses);
  add("Infinity Cache lines", &emu::CacheTraffic::memoryLines);
  add("HBM bytes read", &emu::CacheTraffic::hbmBytesRead);
  return table;
}

static RankTable instructionTable(emu::Machine &machine, unsigned ranks) {
  RankTable table;
  for (unsigned i = 0; i < emu::instructionClassCount; ++i)
    table.emplace_back(
        emu::instructionClassName(emu::InstructionClass(i)),
        rowOf(machine, ranks, [&](const emu::Stats &stats) { return stats.instructions[i]; }));
  return table;
}

/// Bytes by allocation; what a rank did to the memory of its peers is summed over them.
static RankTable trafficTable(emu::Machine &machine, unsigned ranks,
                              uint64_t emu::AllocationTraffic::*bytes) {
  std::map<std::string, RankRow> rows;
  for (unsigned rank = 0; rank < ranks; ++rank)
    for (const emu::AllocationTraffic &traffic : machine.stats(rank).traffic) {
      if (traffic.*bytes == 0)
        continue;
      std::string name = traffic.name + (traffic.rank == rank ? "" : " of other ranks");
      RankRow &row = rows.try_emplace(name, ranks).first->second;
      row[rank] += traffic.*bytes;
    }
  return {rows.begin(), rows.end()};
}

void printStats(raw_ostream &out, const Group &group, emu::Machine &machine, const RunTime &time) {
  unsigned ranks = group.ranks();
  printKernel(out, group, time);
  printOccupancy(out, machine.stats(0).occupancy);
  printTable(out, "wave instructions", instructionTable(machine, ranks));
  if (RankTable matrix = matrixTable(machine, ranks); !matrix.empty())
    printTable(out, "matrix instructions", matrix);
  printTable(out, "LDS (modelled)", ldsTable(machine, ranks));
  printTable(out, "bytes by memory level", levelTable(machine, ranks));
  printTable(out, "caches (modelled)", cacheTable(machine, ranks));
  printTable(out, "bytes read from HBM (modelled)",
             trafficTable(machine, ranks, &emu::AllocationTraffic::bytesFromHbm));
  printTable(out, "bytes read", trafficTable(machine, ranks, &emu::AllocationTraffic::bytesRead));
  printTable(out, "bytes written",
             trafficTable(machine, ranks, &emu::AllocationTraffic::bytesWritten));
}

void printReport(raw_ostream &out, const models::Report &report) {
  out << fmt::format("{:<24}{:>16}{:>14}  {}\n", "checked", "measured", "bar", "verdict");
  for (const models::Finding &finding : report.findings())
    out << fmt::format("{:<24}{:>16}{:>14}  {}\n", finding.what, finding.measured, finding.bar,
                       finding.good ? "good" : "BAD");
}

json::Array reportJson(const models::Report &report) {
  json::Array lines;
  for (const models::Finding &finding : report.findings())
    lines.push_back(json::Object{{"what", finding.what},
                                 {"measured", finding.measured},
                                 {"bar", finding.bar},
                                 {"good", finding.good}});
  return lines;
}

} // namespace mono::tools
