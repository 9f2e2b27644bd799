// Tables and JSON of verdicts and statistics.
#include "models/tools/StatsReport.h"

#include <fmt/format.h>

#include <map>

using namespace llvm;

namespace mono::tools {

static json::Object kernelJson(const Group &group) {
  const KernelInfo &info = group.kernelInfo();
  const Manifest &manifest = group.manifest();
  return json::Object{{"name", manifest.kernel},
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

static json::Object rankJson(const emu::Stats &stats) {
  json::Object instructions;
  for (unsigned i = 0; i < emu::instructionClassCount; ++i)
    instructions[emu::instructionClassName(emu::InstructionClass(i))] = stats.instructions[i];
  json::Array memory;
  for (const emu::AllocationTraffic &traffic : stats.traffic)
    memory.push_back(json::Object{{"name", traffic.name},
                                  {"rank", traffic.rank},
                                  {"bytes_read", traffic.bytesRead},
                                  {"bytes_written", traffic.bytesWritten}});
  return json::Object{{"instructions", std::move(instructions)},
                      {"mfma", stats.count(emu::InstructionClass::Mfma)},
                      {"barriers", stats.count(emu::InstructionClass::Barrier)},
                      {"lds_bytes_read", stats.ldsBytesRead},
                      {"lds_bytes_written", stats.ldsBytesWritten},
                      {"memory", std::move(memory)}};
}

json::Object statsJson(const Group &group, emu::Machine &machine, const RunTime &time) {
  json::Array ranks;
  for (unsigned rank = 0; rank < group.ranks(); ++rank)
    ranks.push_back(rankJson(machine.stats(rank)));
  return json::Object{{"kernel", kernelJson(group)},
                      {"launches", time.launches},
                      {"host_seconds", time.seconds},
                      {"ranks", std::move(ranks)}};
}

static void printKernel(raw_ostream &out, const Group &group, const RunTime &time) {
  const KernelInfo &info = group.kernelInfo();
  const Manifest &manifest = group.manifest();
  out << fmt::format("kernel {}: {} ranks of {} workgroups of {} threads\n", manifest.kernel,
                     manifest.ranks, manifest.ctas, manifest.threads)
      << fmt::format("{} VGPRs, {} AGPRs, {} SGPRs, {} spills, {} bytes of LDS, {} of scratch\n",
                     info.vgprs, info.agprs, info.sgprs, info.vgprSpills + info.sgprSpills,
                     manifest.ldsBytes, info.scratchBytes)
      << fmt::format("{} launches, {:.2f} s on this host\n", time.launches, time.seconds);
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

static RankTable instructionTable(emu::Machine &machine, unsigned ranks) {
  RankTable table;
  for (unsigned i = 0; i < emu::instructionClassCount; ++i) {
    RankRow row;
    for (unsigned rank = 0; rank < ranks; ++rank)
      row.push_back(machine.stats(rank).instructions[i]);
    table.emplace_back(emu::instructionClassName(emu::InstructionClass(i)), std::move(row));
  }
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
  printTable(out, "wave instructions", instructionTable(machine, ranks));
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
