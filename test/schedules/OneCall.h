// One call of a routine with tensors as arguments and results, on one workgroup: for tests of
// what a routine computes.
#pragma once

#include "test/lowering/Device/OneGpu.h"

namespace mono::test {

class OneCall {
public:
  struct Tensor {
    std::string name;
    std::vector<int64_t> shape;
    std::string element = "f32";

    std::string type() const {
      std::string text = "tensor<";
      for (int64_t size : shape)
        text += std::to_string(size) + "x";
      return text + element + ">";
    }
    size_t elements() const {
      size_t count = 1;
      for (int64_t size : shape)
        count *= size_t(size);
      return count;
    }
    /// "[a, b, c]", every entry by `entry(axis)`.
    template <typename Entry> std::string box(Entry entry) const {
      std::string text;
      for (size_t axis = 0; axis < shape.size(); ++axis)
        text += (axis ? ", " : "[") + entry(axis);
      return text + "]";
    }
    std::string sizes() const {
      return box([&](size_t axis) { return std::to_string(shape[axis]); });
    }
    std::string zeros() const {
      return box([](size_t) { return std::string("0"); });
    }
  };

  /// @`routine` of schedules/`file`.mlir. An argument is the name of an input, which stands for its
  /// tensor or with "&" before it for the operand, or a number: an index, with a point in it an
  /// f32.
  OneCall(const std::string &file, const std::string &routine, std::vector<Tensor> inputs,
          const std::vector<std::string> &arguments, std::vector<Tensor> outputs)
      : results(std::move(outputs)), gpu(schedule(file, routine, inputs, arguments, results)) {}

  template <typename T> OneCall &with(const std::string &input, const std::vector<T> &values) {
    gpu.write(input, values);
    return *this;
  }

  OneCall &run() {
    gpu.launchOnAnyMemory();
    return *this;
  }

  template <typename T> std::vector<T> result(const std::string &name) {
    for (const Tensor &tensor : results)
      if (tensor.name == name)
        return gpu.read<T>(name, tensor.elements());
    ADD_FAILURE() << "no result " << name;
    return {};
  }

private:
  static std::string schedule(const std::string &file, const std::string &routine,
                              const std::vector<Tensor> &inputs,
                              const std::vector<std::string> &arguments,
                              const std::vector<Tensor> &outputs) {
    std::string head, body, names, values, types, resultTypes;
    for (const Tensor &t : inputs) {
      head += "  %" + t.name + "Operand = mono.operand \"" + t.name + "\" read " + t.sizes() +
              " : " + t.element + "\n";
      body += "    %" + t.name + " = mono.load %" + t.name + "Operand" + t.zeros() + " " +
              t.sizes() + " : " + t.type() + "\n";
    }
    std::string store;
    for (const Tensor &t : outputs) {
      head += "  %" + t.name + "Operand = mono.operand \"" + t.name + "\" write " + t.sizes() +
              " : " + t.element + "\n";
      names += (names.empty() ? "%" : ", %") + t.name;
      resultTypes += (resultTypes.empty() ? "" : ", ") + t.type();
      store += "    mono.store %" + t.name + ", %" + t.name + "Operand" + t.zeros() + " : " +
               t.type() + "\n";
    }
    for (size_t i = 0; i < arguments.size(); ++i) {
      std::string text = arguments[i], type = "!mono.buffer";
      if (text[0] == '&') {
        text = text.substr(1) + "Operand";
      } else if (isalpha(text[0])) {
        for (const Tensor &t : inputs)
          type = t.name == text ? t.type() : type;
      } else {
        type = text.find('.') == std::string::npos ? "index" : "f32";
        head += "  %n" + std::to_string(i) + " = arith.constant " + text + " : " + type + "\n";
        text = "n" + std::to_string(i);
      }
      values += (i ? ", %" : "%") + text;
      types += (i ? ", " : "") + type;
    }
    return "mono.import \"schedules/" + file + ".mlir\"\n" +
           "mono.schedule @one_call target(\"gfx950\") grid(1 x 256) {\n" + head +
           "  mono.stage \"s\" (%t) tasks [1] base [0] {\n" + body + "    " + names +
           " = mono.call @" + routine + "(" + values + ") : (" + types + ") -> (" + resultTypes +
           ")\n" + store + "  }\n}\n";
  }

  std::vector<Tensor> results;
  OneGpu gpu;
};

} // namespace mono::test
