// Lists and reads them.
#include "test/mutation/Sources.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace mlir;

namespace mono::test {

Source parseSource(StringRef text) {
  auto [file, list] = text.split(':');
  SmallVector<StringRef> params;
  list.split(params, ',', -1, /*KeepEmpty=*/false);
  return {file.str(), {params.begin(), params.end()}};
}

Source tinyLayer() {
  return parseSource(
      "models/glm5/layer.mlir:S=4,TP=2,CTX=256,SPLITS=2,HIDDEN=512,HEADS=16,Q_LORA=256,KV_LORA=128,"
      "NOPE=64,ROPE=32,V_DIM=64,INDEX_HEADS=8,INDEX_DIM=64,TOPK=64,EXPERTS=16,MOE=256,CHOSEN=4");
}

std::vector<Source> allSources() {
  std::vector<Source> sources;
  for (StringRef text : {
           "examples/01_scale.mlir",
           "examples/04_graph_replay.mlir",
           "examples/06_all_reduce.mlir:R=4",
           "examples/07_gelu_mlp.mlir:S=2,TP=2",
           "examples/08_rms_over_ranks.mlir:S=2,TP=2",
           "test/mutation/schedules/acknowledge.mlir",
           "test/mutation/schedules/chain.mlir",
           "test/mutation/schedules/experts.mlir",
           "test/mutation/schedules/regions.mlir",
           "test/mutation/schedules/request.mlir",
           "test/mutation/schedules/ring.mlir",
           "test/mutation/schedules/router.mlir:S=2,TP=2",
           "test/mutation/schedules/two_shot.mlir:R=2",
           "test/schedules/all_reduce.mlir:TP=2",
           "test/schedules/linear.mlir:S=3,N=144,K=256",
           "test/lowering/Check/valid.mlir",
           "test/lowering/Check/valid-ranks.mlir",
           "test/lowering/Bind/choice.mlir:TP=4,SHARED=1",
           "test/lowering/Bind/movement.mlir:S=3,N=40",
           "test/lowering/Bind/sink.mlir",
           "test/lowering/Device/block-scaled.mlir:CODES=1",
           "test/lowering/Device/contract.mlir",
           "test/lowering/Device/first-loads.mlir",
           "test/lowering/Device/kernel-arguments.mlir",
           "test/lowering/Device/mailbox.mlir",
           "test/lowering/Device/product.mlir",
           "test/lowering/Device/scaled-stream.mlir:GROUPS=1",
           "test/lowering/Device/select.mlir",
           "test/lowering/Device/tensors.mlir",
           "test/lowering/Device/watchdog-barrier.mlir",
           "test/lowering/Device/watchdog.mlir",
           "test/lowering/Place/orders.mlir",
           "test/lowering/codeobject/in-flight-memory.mlir",
           "test/lowering/codeobject/in-flight.mlir",
           "test/lowering/tools/Inputs/small.mlir:S=2",
           "models/glm5/attn_out_router.mlir:S=1,TP=8",
           "models/llama3/layer.mlir:S=2,TP=2,CTX=64,PAGE=16,SPLITS=2,HIDDEN=256,HEADS=8,"
           "KV_HEADS=2,DIM=64,MLP=512",
           "models/qwen3_moe/layer.mlir:S=2,TP=2,CTX=64,PAGE=16,SPLITS=2,HIDDEN=256,HEADS=8,"
           "KV_HEADS=2,DIM=64,EXPERTS=16,MOE=128,CHOSEN=4",
       })
    sources.push_back(parseSource(text));
  sources.push_back(tinyLayer());
  return sources;
}

std::vector<BoundSource> bindSource(MLIRContext &context, const Source &source) {
  auto file = llvm::MemoryBuffer::getFile(source.file, /*IsText=*/true);
  if (!file) {
    llvm::errs() << "can't open '" << source.file << "': " << file.getError().message() << '\n';
    return {};
  }
  SmallVector<StringRef> texts;
  (*file)->getBuffer().split(texts, "// -----");
  std::vector<BoundSource> bound;
  for (StringRef text : texts) {
    OwningOpRef<ModuleOp> module = bindText(context, text, source.file, source.params);
    if (!module)
      return {};
    std::string name = scheduleOf(*module).getSymName().str();
    if (texts.size() > 1)
      name = (llvm::sys::path::stem(source.file) + "/" + name).str();
    bound.push_back({std::move(name), std::move(module)});
  }
  return bound;
}

} // namespace mono::test
