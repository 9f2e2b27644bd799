# How lit runs the .mlir and .test files: tools from the build tree, FileCheck and friends from LLVM.
import os
import lit.formats

config.name = "monoc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "data"]
config.test_source_root = os.path.dirname(__file__)
build = lit_config.params["build"]
config.test_exec_root = os.path.join(build, "test", "lit")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(build, "bin"), lit_config.params["llvm_tools"], os.environ["PATH"]])
config.substitutions.append(("%models", os.path.join(config.test_source_root, "..", "models")))
config.substitutions.append(("%schedules", os.path.join(config.test_source_root, "..", "schedules")))
