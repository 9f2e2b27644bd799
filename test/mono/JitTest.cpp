// The public interface as a host application sees it: mono/jit.h and mono/mono.h over libmono.so.
#include "mono/jit.h"
#include "test/mono/Schedules.h"
#include "test/mono/TemporaryDirectory.h"

#include <gmock/gmock.h>

#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sys/stat.h>
#include <unistd.h>

using namespace mono::jit;
using namespace mono::test;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

CompileOptions withRows(int64_t rows) {
  CompileOptions options;
  options.parameters = {{"ROWS", rows}};
  options.cacheDirectory = "";
  return options;
}

Kernel scaleKernel() {
  auto kernel = Kernel::compileText(scaleSchedule(), withRows(4));
  if (!kernel)
    ADD_FAILURE() << kernel.error().text();
  return std::move(*kernel);
}

Node emulator(uint32_t devices = 1) {
  auto node = Node::emulator(devices);
  if (!node)
    ADD_FAILURE() << node.error().text();
  return std::move(*node);
}

/// "STATUS: TEXT".
template <typename T> std::string failureOf(const Result<T> &result) {
  return result ? "" : std::to_string(result.error().status()) + ": " + result.error().text();
}
std::string failureOf(const Error &error) {
  return error ? std::to_string(error.status()) + ": " + error.text() : "";
}
std::string failureOf(mono_error *error) { return failureOf(Error::take(error)); }

/// Device memory of one rank, freed at the end.
class DeviceFloats {
public:
  DeviceFloats(Node &node, uint32_t rank, std::vector<float> values) : node(node), rank(rank) {
    auto memory = node.allocate(rank, values.size() * sizeof(float));
    EXPECT_EQ(failureOf(memory), "");
    address = *memory;
    EXPECT_EQ(failureOf(node.write(rank, address, std::span<const float>(values))), "");
    count = values.size();
  }
  ~DeviceFloats() { EXPECT_EQ(failureOf(node.free(rank, address)), ""); }
  std::vector<float> read() const {
    std::vector<float> values(count);
    EXPECT_EQ(failureOf(node.read(rank, std::span(values), address)), "");
    return values;
  }
  uint64_t bytes() const { return count * sizeof(float); }
  void *address = nullptr;

private:
  Node &node;
  uint32_t rank;
  size_t count = 0;
};

std::vector<float> countFrom(float first, size_t count = 256) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = first + static_cast<float>(i);
  return values;
}

std::vector<float> doubled(std::vector<float> values) {
  for (float &value : values)
    value *= 2;
  return values;
}

TEST(Version, IsThatOfTheHeader) {
  EXPECT_EQ(mono_abi_version(), static_cast<uint32_t>(MONO_ABI_VERSION));
  EXPECT_THAT(mono_version(), testing::MatchesRegex("monoc .* .LLVM .*, gfx950."));
}

/// What lies in arrays or inside of others can't grow. 64-bit fields and pointers.
TEST(Version, FrozenStructuresKeepTheirSize) {
  EXPECT_EQ(sizeof(mono_parameter), 2u * 8);
  EXPECT_EQ(sizeof(mono_workspace), 2u * 8);
  EXPECT_EQ(sizeof(mono_workspace_size), 7u * 8);
  // Behind two pointers, six 32-bit fields, a size and the workspace.
  EXPECT_EQ(offsetof(mono_kernel_info, cache_note), 2u * 8 + 6 * 4 + 8 + 7 * 8);
}

TEST(Kernels, DescribeThemselves) {
  Kernel kernel = scaleKernel();
  const mono_kernel_info &info = kernel.info();
  EXPECT_STREQ(info.name, "scale");
  EXPECT_STREQ(info.target, "gfx950");
  EXPECT_EQ(info.ranks, 1u);
  EXPECT_EQ(info.workgroups, 4u);
  EXPECT_EQ(info.threads, 64u);
  EXPECT_EQ(info.from_cache, 0);
  EXPECT_STREQ(info.cache_note, "switched off by the options");
  ASSERT_EQ(info.parameter_count, 1u);
  EXPECT_STREQ(kernel.parameter(0).name, "ROWS");
  EXPECT_EQ(kernel.parameter(0).value, 4);
  ASSERT_EQ(info.operand_count, 2u);
  const mono_operand &y = kernel.operand(1);
  EXPECT_STREQ(y.name, "y");
  EXPECT_EQ(y.access, MONO_WRITE);
  EXPECT_EQ(y.element, MONO_F32);
  EXPECT_EQ(y.is_weight, 0);
  ASSERT_EQ(y.rank, 2u);
  EXPECT_EQ(y.shape[0], 4);
  EXPECT_EQ(y.shape[1], 64);
  EXPECT_STREQ(y.layout, "row_major");
  EXPECT_EQ(y.bytes, 4u * 64 * 4);
  EXPECT_EQ(mono_kernel_get_operand(kernel.handle(), 2), nullptr);
  EXPECT_EQ(mono_kernel_get_parameter(kernel.handle(), 1), nullptr);
}

TEST(Kernels, SayWhatWorkspaceTheyNeed) {
  CompileOptions options;
  options.cacheDirectory = "";
  auto kernel = Kernel::compileText(kSumSchedule, options);
  ASSERT_EQ(failureOf(kernel), "");
  const mono_workspace_size &size = kernel->info().workspace;
  // A tagged word has 8 bytes for an f32: 2 slots of 2 x 64 words.
  EXPECT_EQ(size.peer_mailbox_bytes, 2u * 2 * 64 * 8);
  EXPECT_EQ(size.device_mailbox_bytes, 0u);
  EXPECT_EQ(size.epoch_bytes, 4u);
  EXPECT_EQ(size.peer_table_bytes, 24u); // two addresses and the slot stride
  EXPECT_GE(size.peer_bytes, size.peer_mailbox_bytes);
  EXPECT_GE(size.local_bytes, size.epoch_bytes + size.peer_table_bytes);
  EXPECT_EQ(size.alignment & (size.alignment - 1), 0u);
}

TEST(Kernels, GoToAFileAndBack) {
  Kernel kernel = scaleKernel();
  auto loaded = Kernel::load(kernel.codeObject());
  ASSERT_EQ(failureOf(loaded), "");
  EXPECT_STREQ(loaded->info().name, "scale");
  EXPECT_TRUE(std::ranges::equal(loaded->codeObject(), kernel.codeObject()));
}

TEST(Kernels, PackWeights) {
  CompileOptions options;
  options.cacheDirectory = "";
  auto kernel = Kernel::compileText(kProjectSchedule, options);
  ASSERT_EQ(failureOf(kernel), "");
  EXPECT_STREQ(kernel->findOperand("w")->layout, "mfma_rows<16>");
  EXPECT_EQ(kernel->findOperand("w")->is_weight, 1);
  std::vector<uint16_t> rowMajor(16 * 32), packed(16 * 32), back(16 * 32);
  for (size_t i = 0; i < rowMajor.size(); ++i)
    rowMajor[i] = static_cast<uint16_t>(i);
  auto bytes = [](std::vector<uint16_t> &words) {
    return std::span(reinterpret_cast<uint8_t *>(words.data()), words.size() * 2);
  };
  ASSERT_EQ(failureOf(kernel->pack("w", bytes(rowMajor), bytes(packed))), "");
  // docs/manifest.md, with N = 16 and K = 32.
  for (size_t n = 0; n < 16; ++n)
    for (size_t k = 0; k < 32; ++k)
      EXPECT_EQ(packed[k / 8 * 128 + n * 8 + k % 8], rowMajor[n * 32 + k]);
  ASSERT_EQ(failureOf(kernel->unpack("w", bytes(packed), bytes(back))), "");
  EXPECT_EQ(back, rowMajor);
}

TEST(Groups, RunOnDeviceMemoryOfTheCaller) {
  Kernel kernel = scaleKernel();
  Node node = emulator();
  auto group = Group::create(kernel, node);
  ASSERT_EQ(failureOf(group), "");
  DeviceFloats x(node, 0, countFrom(5)), y(node, 0, std::vector<float>(256));
  ASSERT_EQ(failureOf(group->bind(0, "x", x.address, x.bytes())), "");
  ASSERT_EQ(failureOf(group->bind(0, "y", y.address, y.bytes())), "");
  ASSERT_EQ(failureOf(group->launch()), "");
  ASSERT_EQ(failureOf(group->synchronize()), "");
  EXPECT_EQ(y.read(), doubled(countFrom(5)));
  // Another input at the next launch.
  DeviceFloats other(node, 0, countFrom(-3));
  ASSERT_EQ(failureOf(group->bind(0, "x", other.address, other.bytes())), "");
  ASSERT_EQ(failureOf(group->launch()), "");
  ASSERT_EQ(failureOf(group->synchronize()), "");
  EXPECT_EQ(y.read(), doubled(countFrom(-3)));
}

TEST(Groups, RunOnHostMemoryOfTheEmulator) {
  Kernel kernel = scaleKernel();
  Node node = emulator();
  auto group = Group::create(kernel, node);
  ASSERT_EQ(failureOf(group), "");
  alignas(16) float x[256], y[256];
  std::ranges::copy(countFrom(1), x);
  ASSERT_EQ(failureOf(node.mapHost(x, sizeof x)), "");
  ASSERT_EQ(failureOf(node.mapHost(y, sizeof y)), "");
  ASSERT_EQ(failureOf(node.mapHost(y, sizeof y)), "");
  ASSERT_EQ(failureOf(group->bind(0, "x", x, sizeof x)), "");
  ASSERT_EQ(failureOf(group->bind(0, "y", y, sizeof y)), "");
  ASSERT_EQ(failureOf(group->launch()), "");
  ASSERT_EQ(failureOf(group->synchronize()), "");
  EXPECT_EQ(std::vector(std::begin(y), std::end(y)), doubled(countFrom(1)));
  ASSERT_EQ(failureOf(node.unmapHost(y)), "");
  ASSERT_EQ(failureOf(node.unmapHost(y)), "");
  EXPECT_THAT(failureOf(node.unmapHost(y)),
              StartsWith("1: expected the start of mapped host memory, but got 0x"));
}

/// On the emulator, too, where launches run when somebody waits.
TEST(Groups, RunBeforeTheCopiesBehindTheirLaunch) {
  Kernel kernel = scaleKernel();
  Node node = emulator();
  auto group = Group::create(kernel, node);
  ASSERT_EQ(failureOf(group), "");
  DeviceFloats x(node, 0, countFrom(5)), y(node, 0, countFrom(0));
  ASSERT_EQ(failureOf(group->bind(0, "x", x.address, x.bytes())), "");
  ASSERT_EQ(failureOf(group->bind(0, "y", y.address, y.bytes())), "");
  ASSERT_EQ(failureOf(group->launch()), "");
  std::vector<float> next(256, 50);
  ASSERT_EQ(failureOf(node.write(0, x.address, std::span<const float>(next))), "");
  EXPECT_EQ(y.read(), doubled(countFrom(5)));
  ASSERT_EQ(failureOf(group->launch()), "");
  EXPECT_EQ(y.read(), doubled(next));
}

TEST(Groups, RunBeforeTheirHostMemoryIsUnmapped) {
  Kernel kernel = scaleKernel();
  Node node = emulator();
  auto group = Group::create(kernel, node);
  ASSERT_EQ(failureOf(group), "");
  alignas(16) float x[256];
  std::ranges::copy(countFrom(1), x);
  DeviceFloats y(node, 0, countFrom(0));
  ASSERT_EQ(failureOf(node.mapHost(x, sizeof x)), "");
  ASSERT_EQ(failureOf(group->bind(0, "x", x, sizeof x)), "");
  ASSERT_EQ(failureOf(group->bind(0, "y", y.address, y.bytes())), "");
  ASSERT_EQ(failureOf(group->launch()), "");
  ASSERT_EQ(failureOf(node.unmapHost(x)), "");
  ASSERT_EQ(failureOf(group->synchronize()), "");
  EXPECT_EQ(y.read(), doubled(countFrom(1)));
}

/// Workspaces for the ranks of a node, freed at the end.
class Workspaces {
public:
  Workspaces(Node &node, const mono_workspace_size &size) : node(node) {
    for (uint32_t rank = 0; rank < node.devices(); ++rank)
      each.push_back({*node.allocate(rank, size.local_bytes),
                      *node.allocate(rank, size.peer_bytes, MONO_PEER_VISIBLE)});
  }
  ~Workspaces() {
    for (uint32_t rank = 0; rank < each.size(); ++rank) {
      EXPECT_EQ(failureOf(node.free(rank, each[rank].local)), "");
      EXPECT_EQ(failureOf(node.free(rank, each[rank].peer)), "");
    }
  }
  std::vector<mono_workspace> each;

private:
  Node &node;
};

/// Binds x and y of all ranks.
void bindAll(Group &group, const std::vector<const DeviceFloats *> &x,
             const std::vector<const DeviceFloats *> &y) {
  for (uint32_t rank = 0; rank < x.size(); ++rank) {
    ASSERT_EQ(failureOf(group.bind(rank, "x", x[rank]->address, x[rank]->bytes())), "");
    ASSERT_EQ(failureOf(group.bind(rank, "y", y[rank]->address, y[rank]->bytes())), "");
  }
}

TEST(Groups, TakeAWorkspaceOfTheCaller) {
  CompileOptions options;
  options.cacheDirectory = "";
  auto kernel = Kernel::compileText(kSumSchedule, options);
  ASSERT_EQ(failureOf(kernel), "");
  Node node = emulator(2);
  Workspaces workspaces(node, kernel->info().workspace);
  auto group = Group::create(*kernel, node, workspaces.each);
  ASSERT_EQ(failureOf(group), "");
  DeviceFloats x0(node, 0, countFrom(1, 64)), x1(node, 1, countFrom(100, 64));
  DeviceFloats y0(node, 0, countFrom(0, 64)), y1(node, 1, countFrom(0, 64));
  ASSERT_NO_FATAL_FAILURE(bindAll(*group, {&x0, &x1}, {&y0, &y1}));
  for (int launch = 0; launch < 3; ++launch) {
    ASSERT_EQ(failureOf(group->launch()), "");
    ASSERT_EQ(failureOf(group->synchronize()), "");
  }
  for (size_t i = 0; i < 64; ++i) {
    EXPECT_EQ(y0.read()[i], 101.0f + 2.0f * i);
    EXPECT_EQ(y1.read()[i], 101.0f + 2.0f * i);
  }
}

TEST(Groups, RefuseCoarseGrainedMailboxes) {
  CompileOptions options;
  options.cacheDirectory = "";
  auto kernel = Kernel::compileText(kSumSchedule, options);
  ASSERT_EQ(failureOf(kernel), "");
  Node node = emulator(2);
  const mono_workspace_size &size = kernel->info().workspace;
  std::vector<mono_workspace> workspaces;
  for (uint32_t rank = 0; rank < 2; ++rank)
    workspaces.push_back(
        {*node.allocate(rank, size.local_bytes), *node.allocate(rank, size.peer_bytes)});
  EXPECT_THAT(failureOf(Group::create(*kernel, node, workspaces)), StartsWith("6: rank 0"));
}

TEST(Groups, ShareANodeAndOutliveHandles) {
  std::optional<Group> first, second;
  auto node = std::make_unique<Node>(emulator());
  DeviceFloats *x = new DeviceFloats(*node, 0, countFrom(1));
  DeviceFloats *y = new DeviceFloats(*node, 0, countFrom(0));
  DeviceFloats *z = new DeviceFloats(*node, 0, countFrom(0));
  {
    Kernel kernel = scaleKernel();
    first.emplace(std::move(*Group::create(kernel, *node)));
    second.emplace(std::move(*Group::create(kernel, *node)));
  }
  // Two layers: y = 2 x, z = 2 y, in the order of their launches.
  ASSERT_EQ(failureOf(first->bind(0, "x", x->address, 1024)), "");
  ASSERT_EQ(failureOf(first->bind(0, "y", y->address, 1024)), "");
  ASSERT_EQ(failureOf(second->bind(0, "x", y->address, 1024)), "");
  ASSERT_EQ(failureOf(second->bind(0, "y", z->address, 1024)), "");
  ASSERT_EQ(failureOf(first->launch()), "");
  ASSERT_EQ(failureOf(second->launch()), "");
  ASSERT_EQ(failureOf(second->synchronize()), "");
  EXPECT_EQ(z->read(), doubled(doubled(countFrom(1))));
  delete x;
  delete y;
  delete z;
  node.reset();
  EXPECT_THAT(failureOf(first->bind(0, "nothing", reinterpret_cast<void *>(16), 1024)),
              StartsWith("1: kernel 'scale' has no operand 'nothing'"));
}

TEST(CompileErrors, CarryTheDiagnostics) {
  EXPECT_EQ(failureOf(Kernel::compileText(scaleSchedule(), withRows(65), "layer.mlir")),
            "3: compilation failed\n"
            "layer.mlir:2:11: error: expected parameter 'ROWS' in 1 to 64, but got 65\n"
            "  %ROWS = mono.param \"ROWS\" in [1 to 64]\n"
            "          ^");
  EXPECT_THAT(failureOf(Kernel::compileText("mono.schedule", {}, "layer.mlir")),
              StartsWith("3: compilation failed\nlayer.mlir:1:"));
  EXPECT_THAT(failureOf(Kernel::compileText("", {})),
              HasSubstr("expected a mono.schedule in the file"));
  CompileOptions unknown = withRows(4);
  unknown.parameters.push_back({"T", 1});
  EXPECT_THAT(failureOf(Kernel::compileText(scaleSchedule(), unknown)),
              HasSubstr("the schedule has no parameter 'T'"));
}

TEST(CompileErrors, NameFilesThatCannotBeRead) {
  TemporaryDirectory directory;
  EXPECT_EQ(failureOf(Kernel::compileFile(directory.path() + "/none.mlir")),
            "2: " + directory.path() + "/none.mlir: No such file or directory");
  EXPECT_THAT(failureOf(Kernel::compileText("mono.import \"none.mlir\"", {}, "a.mlir", "dir")),
              HasSubstr("expected a file to import, but 'dir/none.mlir' does not exist"));
}

/// What never ends, never comes, or is too large to be a schedule is not read.
TEST(CompileErrors, RefuseWhatIsNoFile) {
  EXPECT_EQ(failureOf(Kernel::compileFile("/dev/zero")),
            "2: /dev/zero: expected a file, but it is a device");
  TemporaryDirectory directory;
  std::string pipe = directory.path() + "/pipe", large = directory.path() + "/large.mlir";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(failureOf(Kernel::compileFile(pipe)),
            "2: " + pipe + ": expected a file, but it is a pipe");
  std::ofstream(large).close();
  ASSERT_EQ(truncate(large.c_str(), (64 << 20) + 1), 0);
  EXPECT_EQ(failureOf(Kernel::compileFile(large)),
            "2: " + large + ": expected at most 67108864 bytes, but got 67108865");
}

TEST(CompileErrors, NameWrongOptions) {
  CompileOptions options = withRows(4);
  options.linker = "gold";
  EXPECT_EQ(failureOf(Kernel::compileText(scaleSchedule(), options)),
            "1: expected linker 'lld' or 'comgr', but got 'gold'");
  options = withRows(4);
  options.watchdogCycles = -1;
  EXPECT_EQ(failureOf(Kernel::compileText(scaleSchedule(), options)),
            "1: expected 0 or more watchdog cycles, but got -1");
  setenv("MONO_CACHE_SIZE", "much", 1);
  EXPECT_THAT(failureOf(Kernel::compileText(scaleSchedule(), withRows(4))),
              StartsWith("1: MONO_CACHE_SIZE: expected a number of bytes"));
  unsetenv("MONO_CACHE_SIZE");
}

/// What the C interface says to these options.
std::string failureWith(const mono_compile_options &options) {
  mono_kernel *kernel = nullptr;
  return failureOf(mono_compile_text("", 0, nullptr, nullptr, &options, &kernel));
}

TEST(CompileErrors, RefuseOptionsOfAnotherHeader) {
  mono_compile_options options = {};
  EXPECT_EQ(failureWith(options),
            "1: expected compile options of 8 to 56 bytes, but got 0 (is the library older than "
            "the header?)");
  options.size = sizeof(options) + 8;
  EXPECT_THAT(failureWith(options), HasSubstr("but got 64"));
  options.size = sizeof(options);
  options.parameter_count = 2;
  EXPECT_EQ(failureWith(options), "1: expected 2 parameters, but got NULL");
  mono_parameter nameless = {nullptr, 1};
  options.parameters = &nameless;
  options.parameter_count = 1;
  EXPECT_EQ(failureWith(options), "1: parameter 0: expected a name, but got NULL");
  // A header from before there were caches.
  options = {offsetof(mono_compile_options, cache_dir), nullptr, 0, "lld", 0, "garbage", 7};
  EXPECT_THAT(failureWith(options), StartsWith("3: "));
}

TEST(KernelErrors, RefuseWhatIsNoCodeObject) {
  Kernel kernel = scaleKernel();
  std::vector<uint8_t> bytes(kernel.codeObject().begin(), kernel.codeObject().end());
  EXPECT_THAT(failureOf(Kernel::load({})), StartsWith("1: expected 'code_object', but got NULL"));
  EXPECT_THAT(failureOf(Kernel::load(std::span(bytes).first(100))), StartsWith("4: "));
  bytes[0] = 'X';
  EXPECT_THAT(failureOf(Kernel::load(bytes)), StartsWith("4: "));
}

TEST(KernelErrors, CheckPacking) {
  Kernel kernel = scaleKernel();
  std::vector<uint8_t> a(1024), b(1024);
  EXPECT_EQ(failureOf(kernel.pack("x", std::span(a).first(1020), std::span(b).first(1020))),
            "1: operand 'x': expected 1024 bytes (f32 [4, 64], row_major), but got 1020");
  EXPECT_EQ(failureOf(kernel.pack("x", a, std::span(b).first(1020))),
            "1: expected two buffers of the same size, but got 1024 and 1020 bytes");
  EXPECT_EQ(failureOf(kernel.unpack("q", a, b)),
            "1: kernel 'scale' has no operand 'q'; it has x, y");
}

TEST(NodeErrors, CheckTheNumberOfDevices) {
  EXPECT_EQ(failureOf(Node::emulator(0)), "1: expected 1 to 8 emulated devices, but got 0");
  EXPECT_EQ(failureOf(Node::emulator(9)), "1: expected 1 to 8 emulated devices, but got 9");
  EXPECT_EQ(failureOf(Node::hip(0, 0)), "1: expected at least 1 GPU, but got 0");
}

TEST(NodeErrors, SayThatThereIsNoHip) {
  setenv("MONO_HIP_LIBRARY", "/no/such/library.so", 1);
  EXPECT_THAT(failureOf(Node::hip(0, 1)), StartsWith("5: "));
  unsetenv("MONO_HIP_LIBRARY");
}

TEST(NodeErrors, CheckDeviceMemory) {
  Node node = emulator(2);
  EXPECT_EQ(failureOf(node.allocate(2, 64)), "1: expected a device below 2, but got 2");
  EXPECT_EQ(failureOf(node.allocate(0, 64, static_cast<mono_memory>(5))),
            "1: expected memory of kind 0 or 1, but got 5");
  EXPECT_THAT(failureOf(node.allocate(0, 0)), StartsWith("6: "));
  EXPECT_THAT(failureOf(node.allocate(0, uint64_t(1) << 60)), StartsWith("6: "));
  float value = 0;
  void *memory = *node.allocate(0, 4);
  EXPECT_THAT(failureOf(node.read(0, std::span(&value, 1), memory)), StartsWith("6: "));
  EXPECT_THAT(failureOf(node.write(1, memory, std::span<const float>(&value, 1))),
              StartsWith("6: "));
  EXPECT_EQ(failureOf(node.free(0, memory)), "");
  EXPECT_THAT(failureOf(node.free(0, memory)), StartsWith("6: "));
  EXPECT_EQ(failureOf(node.free(0, nullptr)), "");
}

TEST(NodeErrors, CheckHostMemory) {
  Node node = emulator();
  alignas(16) float memory[64];
  EXPECT_THAT(failureOf(node.mapHost(memory, 0)), StartsWith("1: "));
  ASSERT_EQ(failureOf(node.mapHost(memory, sizeof memory)), "");
  EXPECT_THAT(failureOf(node.mapHost(memory + 16, 64)), HasSubstr("overlap"));
  EXPECT_THAT(failureOf(node.mapHost(memory, 64)), HasSubstr("overlap"));
}

TEST(GroupErrors, CheckTheNode) {
  Kernel kernel = scaleKernel();
  Node node = emulator(2);
  EXPECT_EQ(failureOf(Group::create(kernel, node)),
            "1: kernel 'scale' was compiled for 1 ranks, but the node has 2 devices");
  std::vector<mono_workspace> workspaces(2);
  EXPECT_EQ(failureOf(Group::create(kernel, node, workspaces)),
            "1: expected a workspace for each of 1 ranks, but got 2");
  Node one = emulator();
  workspaces.resize(1);
  EXPECT_THAT(failureOf(Group::create(kernel, one, workspaces)), StartsWith("6: "));
}

TEST(GroupErrors, CheckBindings) {
  Kernel kernel = scaleKernel();
  Node node = emulator();
  auto group = Group::create(kernel, node);
  ASSERT_EQ(failureOf(group), "");
  DeviceFloats x(node, 0, countFrom(5));
  EXPECT_THAT(failureOf(group->bind(1, "x", x.address, 1024)), StartsWith("1: "));
  EXPECT_THAT(failureOf(group->bind(0, "z", x.address, 1024)), StartsWith("1: "));
  EXPECT_THAT(failureOf(group->bind(0, "x", x.address, 1000)), StartsWith("1: "));
  EXPECT_EQ(failureOf(group->bind(0, "x", nullptr, 1024)), "1: expected 'memory', but got NULL");
  EXPECT_THAT(failureOf(group->bind(0, "x", static_cast<char *>(x.address) + 4, 1024)),
              StartsWith("1: operand 'x' of rank 0: expected an address that is a multiple of 16 "
                         "bytes, but got 0x"));
  EXPECT_EQ(failureOf(group->launch()), "1: operand 'x' of rank 0 is not bound");
  ASSERT_EQ(failureOf(group->bind(0, "x", x.address, 1024)), "");
  ASSERT_EQ(failureOf(group->bind(0, "x", x.address, 1024)), "");
  EXPECT_EQ(failureOf(group->launch()), "1: operand 'y' of rank 0 is not bound");
  std::vector<void *> streams(2);
  EXPECT_EQ(failureOf(group->launch(streams)),
            "1: expected a stream for each of 1 ranks, but got 2");
}

TEST(GroupErrors, BreakTheGroupThatFailed) {
  Kernel kernel = scaleKernel();
  Node node = emulator();
  auto group = Group::create(kernel, node);
  ASSERT_EQ(failureOf(group), "");
  void *unwritten = *node.allocate(0, 1024);
  DeviceFloats y(node, 0, countFrom(0));
  ASSERT_EQ(failureOf(group->bind(0, "x", unwritten, 1024)), "");
  ASSERT_EQ(failureOf(group->bind(0, "y", y.address, 1024)), "");
  ASSERT_EQ(failureOf(group->launch()), "");
  std::string failure = failureOf(group->synchronize());
  EXPECT_THAT(failure, StartsWith("6: "));
  EXPECT_EQ(failureOf(group->launch()), "6: the group is broken by an earlier launch; make a new "
                                        "one: " +
                                            failure.substr(3));
  auto next = Group::create(kernel, node);
  ASSERT_EQ(failureOf(next), "");
  ASSERT_EQ(failureOf(next->bind(0, "x", y.address, 1024)), "");
  ASSERT_EQ(failureOf(next->bind(0, "y", unwritten, 1024)), "");
  ASSERT_EQ(failureOf(next->launch()), "");
  ASSERT_EQ(failureOf(next->synchronize()), "");
}

/// A node with a kernel whose launch fails in one group and not in others.
class OneOfManyFails : public testing::Test {
protected:
  Group bound(void *from) {
    auto group = Group::create(kernel, node);
    EXPECT_EQ(failureOf(group), "");
    EXPECT_EQ(failureOf(group->bind(0, "x", from, 1024)), "");
    EXPECT_EQ(failureOf(group->bind(0, "y", y.address, 1024)), "");
    return std::move(*group);
  }
  Group failing() { return bound(unwritten); }
  Group good() { return bound(x.address); }
  static void expectBroken(Group &group, const std::string &start) {
    std::string failure = failureOf(group.synchronize());
    EXPECT_THAT(failure, StartsWith("6: " + start));
    EXPECT_EQ(failureOf(group.check()), failure);
    EXPECT_EQ(failureOf(group.launch()), "6: the group is broken by an earlier launch; make a new "
                                         "one: " +
                                             failure.substr(3));
  }
  void expectGood(Group &group) {
    EXPECT_EQ(failureOf(group.launch()), "");
    EXPECT_EQ(failureOf(group.synchronize()), "");
    EXPECT_EQ(y.read(), doubled(countFrom(5)));
  }

  Kernel kernel = scaleKernel();
  Node node = emulator();
  DeviceFloats x{node, 0, countFrom(5)}, y{node, 0, countFrom(0)};
  void *unwritten = *node.allocate(0, 1024);
};

TEST_F(OneOfManyFails, WhoeverWaits) {
  Group bad = failing(), other = good();
  ASSERT_EQ(failureOf(bad.launch()), "");
  EXPECT_EQ(failureOf(other.synchronize()), "");
  EXPECT_EQ(failureOf(other.check()), "");
  expectGood(other);
  expectBroken(bad, "rank 0");
  expectGood(other);
}

TEST_F(OneOfManyFails, WhicheverGroupIsDestroyed) {
  Group bad = failing();
  ASSERT_EQ(failureOf(bad.launch()), "");
  {
    Group other = good();
  }
  expectBroken(bad, "rank 0");
}

TEST_F(OneOfManyFails, WhoeverCopies) {
  Group bad = failing();
  ASSERT_EQ(failureOf(bad.launch()), "");
  float value = 1;
  EXPECT_THAT(failureOf(node.write(0, x.address, std::span<const float>(&value, 1))),
              StartsWith("6: rank 0"));
  ASSERT_EQ(failureOf(node.write(0, y.address, std::span<const float>(&value, 1))), "");
  EXPECT_EQ(x.read(), countFrom(5)); // nothing was written behind the failure
  expectBroken(bad, "rank 0");
}

TEST_F(OneOfManyFails, WhatCameBeforeIsWholeAndWhatComesBehindIsLost) {
  Group before = good(), bad = failing(), behind = good();
  for (Group *group : {&before, &bad, &behind})
    ASSERT_EQ(failureOf(group->launch()), "");
  EXPECT_EQ(failureOf(before.synchronize()), "");
  EXPECT_EQ(y.read(), doubled(countFrom(5)));
  expectGood(before);
  expectBroken(behind, "stopped, because another launch failed: rank 0");
  expectBroken(bad, "rank 0");
}

TEST_F(OneOfManyFails, NobodyWhenNothingWasStarted) {
  Group group = good();
  std::vector<void *> streams{&y};
  EXPECT_EQ(failureOf(group.launch(streams)),
            "1: rank 0: the emulator has no streams, expected a null stream");
  expectGood(group);
}

/// Ranks that may be at different launches are of no use to the other kernel either.
TEST(GroupErrors, BreakAllThatShareAWorkspace) {
  CompileOptions options;
  options.cacheDirectory = "";
  auto kernel = Kernel::compileText(kSumSchedule, options);
  ASSERT_EQ(failureOf(kernel), "");
  Node node = emulator(2);
  auto first = Group::create(*kernel, node);
  ASSERT_EQ(failureOf(first), "");
  auto second = Group::createSharing(*kernel, *first);
  ASSERT_EQ(failureOf(second), "");
  DeviceFloats x0(node, 0, countFrom(1, 64)), x1(node, 1, countFrom(1, 64));
  DeviceFloats y0(node, 0, countFrom(0, 64)), y1(node, 1, countFrom(0, 64));
  for (auto *group : {&*first, &*second}) {
    ASSERT_NO_FATAL_FAILURE(bindAll(*group, {&x0, &x1}, {&y0, &y1}));
  }
  ASSERT_EQ(failureOf(second->launch()), "");
  ASSERT_EQ(failureOf(second->synchronize()), "");
  // Rank 1 alone fails.
  ASSERT_EQ(failureOf(first->bind(1, "x", *node.allocate(1, 256), 256)), "");
  ASSERT_EQ(failureOf(first->launch()), "");
  std::string failure = failureOf(first->synchronize());
  EXPECT_THAT(failure, StartsWith("6: rank 1"));
  EXPECT_EQ(failureOf(second->launch()), "6: the group is broken by an earlier launch; make a new "
                                         "one: " +
                                             failure.substr(3));
}

TEST(GroupErrors, ReportOperandsThatWereFreed) {
  Kernel kernel = scaleKernel();
  Node node = emulator();
  auto group = Group::create(kernel, node);
  ASSERT_EQ(failureOf(group), "");
  DeviceFloats y(node, 0, countFrom(0));
  {
    DeviceFloats x(node, 0, countFrom(5));
    ASSERT_EQ(failureOf(group->bind(0, "x", x.address, 1024)), "");
  }
  ASSERT_EQ(failureOf(group->bind(0, "y", y.address, 1024)), "");
  std::string failure = failureOf(group->launch());
  if (failure.empty())
    failure = failureOf(group->synchronize());
  EXPECT_THAT(failure, StartsWith("6: "));
}

TEST(NullHandles, AreErrorsOrNothing) {
  mono_kernel *kernel = nullptr;
  mono_node *node = nullptr;
  mono_group *group = nullptr;
  void *memory = nullptr;
  char byte = 0;
  auto isNull = [](mono_error *error, const char *name) {
    EXPECT_EQ(failureOf(error), std::string("1: expected '") + name + "', but got NULL");
  };
  isNull(mono_compile_file(nullptr, nullptr, &kernel), "path");
  isNull(mono_compile_file("x", nullptr, nullptr), "kernel");
  isNull(mono_compile_text(nullptr, 0, nullptr, nullptr, nullptr, &kernel), "text");
  isNull(mono_compile_text("", 0, nullptr, nullptr, nullptr, nullptr), "kernel");
  isNull(mono_kernel_load(&byte, 1, nullptr), "kernel");
  isNull(mono_pack(nullptr, "x", &byte, &byte, 1), "kernel");
  isNull(mono_unpack(nullptr, "x", &byte, &byte, 1), "kernel");
  isNull(mono_node_create_emulator(1, nullptr), "node");
  isNull(mono_node_create_hip(0, 1, nullptr), "node");
  isNull(mono_allocate(nullptr, 0, 1, MONO_LOCAL, &memory), "node");
  isNull(mono_free(nullptr, 0, &byte), "node");
  isNull(mono_copy_to_device(nullptr, 0, &byte, &byte, 1), "node");
  isNull(mono_copy_from_device(nullptr, 0, &byte, &byte, 1), "node");
  isNull(mono_map_host(nullptr, &byte, 1), "node");
  isNull(mono_unmap_host(nullptr, &byte), "node");
  isNull(mono_group_create(nullptr, node, nullptr, &group), "kernel");
  isNull(mono_group_create_sharing(nullptr, group, &group), "kernel");
  isNull(mono_group_bind(nullptr, 0, "x", &byte, 1), "group");
  isNull(mono_group_launch(nullptr, nullptr), "group");
  isNull(mono_group_synchronize(nullptr), "group");
  isNull(mono_group_check(nullptr), "group");
  EXPECT_EQ(mono_kernel_get_info(nullptr), nullptr);
  EXPECT_EQ(mono_kernel_get_operand(nullptr, 0), nullptr);
  EXPECT_EQ(mono_kernel_get_parameter(nullptr, 0), nullptr);
  EXPECT_EQ(mono_kernel_code_object(nullptr, nullptr), nullptr);
  EXPECT_EQ(mono_node_device_count(nullptr), 0u);
  EXPECT_EQ(mono_error_status(nullptr), MONO_OK);
  EXPECT_STREQ(mono_error_text(nullptr), "");
  mono_error_destroy(nullptr);
  mono_kernel_destroy(nullptr);
  mono_node_destroy(nullptr);
  mono_group_destroy(nullptr);
}

} // namespace
