// monoc --linker=comgr: refusals and failures with a made-up comgr, and the real one where a root
// with it exists (test/setup-comgr.sh makes one; MONO_COMGR_ROOT says where).
#include "test/e2e/Process.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"

#include <cstdlib>

using namespace mono::test;

namespace {

class ComgrTest : public ProcessTest {
protected:
  std::vector<std::string> arguments(const std::string &library, const std::string &version) {
    return {"MONO_COMGR_LIBRARY=" + library,
            "FAKE_COMGR=" + version,
            MONOC,
            MONO_SOURCE_DIR "/examples/01_scale.mlir",
            "--linker=comgr",
            "-o",
            path("out.hsaco")};
  }
  void failsWith(const std::string &message, const std::string &library,
                 const std::string &version = "3.0") {
    fails("/usr/bin/env", 1, message, arguments(library, version));
  }
};

TEST_F(ComgrTest, RefusesVersionsThatDoNotKnowTheChip) {
  failsWith("monoc: error: expected comgr 3.0 or later, but got 2.4, which does not know gfx950 "
            "(use --linker=lld)",
            FAKE_COMGR, "2.4");
  failsWith("but got 1.8, which", FAKE_COMGR, "1.8");
}

TEST_F(ComgrTest, SaysThatThereIsNone) {
  failsWith("expected ROCm's comgr 3 (libamd_comgr.so.3) for --linker=comgr, but it can't be "
            "opened: ",
            "/no/such/library.so");
}

TEST_F(ComgrTest, SaysWhatAnotherLibraryLacks) {
  failsWith("comgr has no function 'amd_comgr_get_version'", "libm.so.6");
}

TEST_F(ComgrTest, RepeatsWhatItsLinkerSays) {
  failsWith("comgr could not link the code object: ERROR: lld: error: undefined symbol: made_up",
            FAKE_COMGR);
}

/// A root of a newer distribution with comgr 3 in it. Its C library is newer than this one's may
/// be, so programs run with its loader.
class ComgrRootTest : public ProcessTest {
protected:
  void SetUp() override {
    ProcessTest::SetUp();
    const char *given = std::getenv("MONO_COMGR_ROOT");
    root = given ? given : MONO_COMGR_DEFAULT_ROOT;
    if (!llvm::sys::fs::exists(libraries() + "/libamd_comgr.so.3"))
      GTEST_SKIP() << "no comgr 3 below '" << root << "'; test/setup-comgr.sh puts it there";
  }

  std::string libraries() const { return root + "/usr/lib/x86_64-linux-gnu"; }

  /// The loadable segments of what `linker` makes of the schedule, and the code object's path.
  std::vector<std::string> link(const std::string &linker, std::string &output) {
    output = path(linker + ".hsaco");
    ProcessResult result = run(libraries() + "/ld-linux-x86-64.so.2",
                               {"--library-path", libraries(), MONOC,
                                MONO_SOURCE_DIR "/models/glm5/attn_out_router.mlir", "-D", "S=2",
                                "-D", "TP=2", "--linker=" + linker, "-o", output});
    EXPECT_EQ(result.status, 0) << result.err;
    return segments(output);
  }

  static std::vector<std::string> segments(const std::string &file) {
    std::vector<std::string> found;
    auto buffer = llvm::MemoryBuffer::getFile(file, false, false);
    if (!buffer)
      return found;
    auto elf = llvm::cantFail(llvm::object::ELF64LEFile::create((*buffer)->getBuffer()));
    for (const auto &header : llvm::cantFail(elf.program_headers()))
      if (header.p_type == llvm::ELF::PT_LOAD)
        found.push_back(llvm::utohexstr(header.p_vaddr) + ":" +
                        llvm::toHex(llvm::cantFail(elf.getSegmentContents(header))));
    return found;
  }

  std::string root;
};

TEST_F(ComgrRootTest, LinksTheSameImage) {
  std::string byLld, byComgr;
  std::vector<std::string> expected = link("lld", byLld);
  EXPECT_GE(expected.size(), 3u);
  EXPECT_EQ(link("comgr", byComgr), expected);
}

TEST_F(ComgrRootTest, LinksWhatRuns) {
  std::string output;
  link("comgr", output);
  ProcessResult result = run(MONORUN, {output, "--verify"});
  EXPECT_EQ(result.status, 0) << result.out << result.err;
}

} // namespace
