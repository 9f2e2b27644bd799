// Entry points for streams and events.
#include "runtime/emulator/hip/Graph.h"

#include <chrono>

using namespace mono::hipemu;

// ---- streams -----------------------------------------------------------------------------------

/// Priorities are kept and told, but all work of a device runs in the order of submission.
static constexpr int leastPriority = 1, greatestPriority = -1;

static hipError_t createStream(hipStream_t *stream, unsigned flags, int priority) {
  return api([&](Runtime &runtime) {
    if (!stream || flags > hipStreamNonBlocking)
      return hipErrorInvalidValue;
    int clamped = std::clamp(priority, greatestPriority, leastPriority);
    *stream = runtime.queue().createStream(Runtime::currentDevice(), flags, clamped);
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipStreamCreate(hipStream_t *stream) { return createStream(stream, 0, 0); }
HIP_EXPORT hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags) {
  return createStream(stream, flags, 0);
}
HIP_EXPORT hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags,
                                                  int priority) {
  return createStream(stream, flags, priority);
}

/// The mask is ignored: the emulated device always gives all compute units.
HIP_EXPORT hipError_t hipExtStreamCreateWithCUMask(hipStream_t *stream, uint32_t words,
                                                   const uint32_t *mask) {
  if (!words || !mask)
    return remember(hipErrorInvalidValue);
  return createStream(stream, 0, 0);
}

HIP_EXPORT hipError_t hipStreamDestroy(hipStream_t stream) {
  return api([&](Runtime &runtime) {
    return stream ? runtime.queue().destroyStream(stream) : hipErrorInvalidHandle;
  });
}

HIP_EXPORT hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
  if (least)
    *least = leastPriority;
  if (greatest)
    *greatest = greatestPriority;
  return hipSuccess;
}

/// Calls fn with the live stream behind a handle that may not be capturing.
template <typename Fn> static hipError_t withStream(Runtime &runtime, hipStream_t handle, Fn fn) {
  Stream *stream = runtime.resolve(handle);
  if (!stream)
    return fail(hipErrorInvalidHandle, "{}: not a stream", static_cast<void *>(handle));
  return fn(*stream);
}

static hipError_t refuseCapture(const Stream &stream) {
  if (!stream.capture)
    return hipSuccess;
  stream.capture->valid = false;
  return hipErrorStreamCaptureUnsupported;
}

static hipError_t synchronize(hipStream_t handle) {
  return api([&](Runtime &runtime) {
    return withStream(runtime, handle, [&](Stream &stream) {
      hipError_t status = refuseCapture(stream);
      return status ? status : runtime.queue().waitStream(stream);
    });
  });
}

static hipError_t query(hipStream_t handle) {
  return apiQuery([&](Runtime &runtime) {
    return withStream(runtime, handle, [&](Stream &stream) {
      hipError_t status = refuseCapture(stream);
      return status ? status : runtime.queue().queryStream(stream);
    });
  });
}

HIP_EXPORT hipError_t hipStreamSynchronize(hipStream_t stream) { return synchronize(stream); }
HIP_EXPORT hipError_t hipStreamSynchronize_spt(hipStream_t stream) {
  return synchronize(perThread(stream));
}
HIP_EXPORT hipError_t hipStreamQuery(hipStream_t stream) { return query(stream); }
HIP_EXPORT hipError_t hipStreamQuery_spt(hipStream_t stream) { return query(perThread(stream)); }

HIP_EXPORT hipError_t hipStreamGetFlags(hipStream_t handle, unsigned *flags) {
  return api([&](Runtime &runtime) {
    return withStream(runtime, handle, [&](Stream &stream) {
      if (!flags)
        return hipErrorInvalidValue;
      *flags = stream.flags;
      return hipSuccess;
    });
  });
}

HIP_EXPORT hipError_t hipStreamGetPriority(hipStream_t handle, int *priority) {
  return api([&](Runtime &runtime) {
    return withStream(runtime, handle, [&](Stream &stream) {
      if (!priority)
        return hipErrorInvalidValue;
      *priority = stream.priority;
      return hipSuccess;
    });
  });
}

HIP_EXPORT hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t *device) {
  return api([&](Runtime &runtime) {
    return withStream(runtime, handle, [&](Stream &stream) {
      if (!device)
        return hipErrorInvalidValue;
      *device = int(stream.device);
      return hipSuccess;
    });
  });
}

HIP_EXPORT int hipGetStreamDeviceId(hipStream_t handle) {
  int device = -1;
  hipStreamGetDevice(handle, &device);
  return device;
}

HIP_EXPORT hipError_t hipStreamWaitEvent(hipStream_t stream, hipEvent_t event, unsigned) {
  return api([&](Runtime &runtime) { return waitForEvent(runtime, stream, event); });
}
HIP_EXPORT hipError_t hipStreamWaitEvent_spt(hipStream_t stream, hipEvent_t event, unsigned) {
  return api([&](Runtime &runtime) { return waitForEvent(runtime, perThread(stream), event); });
}

HIP_EXPORT hipError_t hipLaunchHostFunc(hipStream_t stream, hipHostFn_t fn, void *userData) {
  return api([&](Runtime &runtime) {
    if (!fn)
      return hipErrorInvalidValue;
    HostOp op;
    op.fn = fn;
    op.userData = userData;
    op.run = [=] {
      fn(userData);
      return hipSuccess;
    };
    return send(runtime, stream, std::move(op));
  });
}

HIP_EXPORT hipError_t hipStreamAddCallback(hipStream_t stream, hipStreamCallback_t fn,
                                           void *userData, unsigned flags) {
  return api([&](Runtime &runtime) {
    if (!fn || flags)
      return hipErrorInvalidValue;
    HostOp op;
    op.run = [=] {
      fn(stream, hipSuccess, userData);
      return hipSuccess;
    };
    return send(runtime, stream, std::move(op));
  });
}

/// Managed memory is visible to all streams anyway.
HIP_EXPORT hipError_t hipStreamAttachMemAsync(hipStream_t, void *ptr, size_t, unsigned) {
  return api([&](Runtime &runtime) {
    auto block = runtime.memory().find(ptr);
    return block && block->isHostVisible() ? hipSuccess : hipErrorInvalidValue;
  });
}

/// A value written in stream order. The waiting counterpart is not supported: it would have to
/// let other streams pass.
template <typename T> static hipError_t writeValue(hipStream_t stream, void *to, T value) {
  return api([&](Runtime &runtime) {
    if (!runtime.memory().findRange(to, sizeof(T)))
      return hipErrorInvalidValue;
    HostOp op;
    op.run = [&runtime, to, value] {
      return toStatus(runtime.machine().copy(reinterpret_cast<uint64_t>(to),
                                             reinterpret_cast<uint64_t>(&value), sizeof(T)),
                      hipErrorInvalidValue);
    };
    return send(runtime, stream, std::move(op));
  });
}

HIP_EXPORT hipError_t hipStreamWriteValue32(hipStream_t stream, void *to, uint32_t value,
                                            unsigned) {
  return writeValue(stream, to, value);
}
HIP_EXPORT hipError_t hipStreamWriteValue64(hipStream_t stream, void *to, uint64_t value,
                                            unsigned) {
  return writeValue(stream, to, value);
}

// ---- events ------------------------------------------------------------------------------------

static hipError_t createEvent(hipEvent_t *event, unsigned flags) {
  return api([&](Runtime &runtime) {
    if (!event)
      return hipErrorInvalidValue;
    *event = runtime.createEvent(flags);
    return hipSuccess;
  });
}

HIP_EXPORT hipError_t hipEventCreate(hipEvent_t *event) { return createEvent(event, 0); }
HIP_EXPORT hipError_t hipEventCreateWithFlags(hipEvent_t *event, unsigned flags) {
  return createEvent(event, flags);
}

HIP_EXPORT hipError_t hipEventDestroy(hipEvent_t event) {
  return api([&](Runtime &runtime) {
    return runtime.destroyEvent(event) ? hipSuccess : hipErrorInvalidHandle;
  });
}

HIP_EXPORT hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return api([&](Runtime &runtime) { return recordEvent(runtime, event, stream); });
}
HIP_EXPORT hipError_t hipEventRecord_spt(hipEvent_t event, hipStream_t stream) {
  return api([&](Runtime &runtime) { return recordEvent(runtime, event, perThread(stream)); });
}
HIP_EXPORT hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream, unsigned) {
  return api([&](Runtime &runtime) { return recordEvent(runtime, event, stream); });
}

HIP_EXPORT hipError_t hipEventSynchronize(hipEvent_t event) {
  return api([&](Runtime &runtime) {
    if (!runtime.isLive(event))
      return hipErrorInvalidHandle;
    if (event->capture)
      return hipErrorCapturedEvent;
    return runtime.queue().wait(event->command);
  });
}

HIP_EXPORT hipError_t hipEventQuery(hipEvent_t event) {
  return apiQuery([&](Runtime &runtime) {
    if (!runtime.isLive(event))
      return hipErrorInvalidHandle;
    if (event->capture)
      return hipErrorCapturedEvent;
    return runtime.queue().query(event->command);
  });
}

/// Time of the host clock between the ends of two records: it tells what the emulation took, not
/// what a device would take.
HIP_EXPORT hipError_t hipEventElapsedTime(float *milliseconds, hipEvent_t start, hipEvent_t stop) {
  return api([&](Runtime &runtime) -> hipError_t {
    if (!milliseconds)
      return hipErrorInvalidValue;
    if (!runtime.isLive(start) || !runtime.isLive(stop) || !start->command || !stop->command ||
        ((start->flags | stop->flags) & hipEventDisableTiming))
      return hipErrorInvalidHandle;
    for (Event *event : {start, stop})
      if (hipError_t status = runtime.queue().query(event->command))
        return status;
    std::chrono::duration<float, std::milli> elapsed =
        stop->command->finished - start->command->finished;
    *milliseconds = elapsed.count();
    return hipSuccess;
  });
}
