"""monoc for Python programs: mono.h through ctypes, in one file and without a build step.

    kernel = mono.compile("layer.mlir", params={"S": 4})
    node = mono.Node.emulator(kernel.ranks)
    group = mono.Group(kernel, node)
    group.bind(0, "x", array)        # NumPy, PyTorch, anything with DLPack or a writable buffer
    group.launch()
    group.synchronize()

The library is found by the environment variable MONO_LIBRARY, beside this file, or by the loader.
What fails raises mono.Error, whose `status` is one of the constants below.
"""
import ctypes
import os
import pathlib

_ABI_VERSION = 1

(OK, INVALID_ARGUMENT, FILE_ERROR, COMPILE_ERROR, CODE_OBJECT_ERROR, NO_DEVICE, DEVICE_ERROR,
 OUT_OF_MEMORY, INTERNAL_ERROR) = range(9)

_ACCESS = ("read", "write", "update")
_ELEMENTS = ("bf16", "f32", "i32", "f4E2M1FN", "f8E8M0FNU", "f8E4M3FN")


class Error(Exception):
    """What a function of the library returned: a status and a text with names and numbers."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


# ---- The C interface ------------------------------------------------------------------------


class _Parameter(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("value", ctypes.c_int64)]


class _CompileOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("parameters", ctypes.POINTER(_Parameter)),
                ("parameter_count", ctypes.c_size_t), ("linker", ctypes.c_char_p),
                ("watchdog_cycles", ctypes.c_int64), ("cache_dir", ctypes.c_char_p),
                ("cache_max_bytes", ctypes.c_uint64)]


class WorkspaceSize(ctypes.Structure):
    """Bytes of memory a rank needs besides its operands; see mono_workspace_size."""
    _fields_ = [(name, ctypes.c_uint64) for name in
                ("local_bytes", "peer_bytes", "alignment", "device_mailbox_bytes", "epoch_bytes",
                 "peer_table_bytes", "peer_mailbox_bytes")]


class _Workspace(ctypes.Structure):
    _fields_ = [("local", ctypes.c_void_p), ("peer", ctypes.c_void_p)]


class _KernelInfo(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("target", ctypes.c_char_p), ("ranks", ctypes.c_uint32),
                ("workgroups", ctypes.c_uint32), ("threads", ctypes.c_uint32),
                ("operand_count", ctypes.c_uint32), ("parameter_count", ctypes.c_uint32),
                ("from_cache", ctypes.c_int32), ("lds_bytes", ctypes.c_uint64),
                ("workspace", WorkspaceSize), ("cache_note", ctypes.c_char_p)]


class _Operand(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("access", ctypes.c_int), ("element", ctypes.c_int),
                ("is_weight", ctypes.c_int32), ("rank", ctypes.c_uint32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("layout", ctypes.c_char_p),
                ("bytes", ctypes.c_uint64)]


def _whole(value, ctype):
    """`value`, which ctypes would cut to what `ctype` holds."""
    if ctype(value).value != value:
        raise Error(INVALID_ARGUMENT, f"expected an integer of {8 * ctypes.sizeof(ctype)} bits, "
                    f"but got {value}")
    return value


def _text(value):
    """`value`, a string or a path, as C takes it, which would end at the first NUL."""
    data = os.fsencode(value)
    if b"\0" in data:
        raise Error(INVALID_ARGUMENT, f"expected a text without NUL, but got {value!r}")
    return data


def _checked(function):
    """`function`, which looks at its integers before they become those of C."""
    integers = [(index, ctype) for index, ctype in enumerate(function.argtypes)
                if ctype in (ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t)]

    def call(*arguments):
        for index, ctype in integers:
            _whole(arguments[index], ctype)
        return function(*arguments)

    return call if integers else function


def _signatures():
    text, pointer, size, word = (ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t,
                                 ctypes.c_uint32)
    bytes_, out = ctypes.c_uint64, ctypes.POINTER(ctypes.c_void_p)
    options = ctypes.POINTER(_CompileOptions)
    # name: (result, arguments); a result of None is a mono_error to be checked.
    return {
        "mono_abi_version": (word, []),
        "mono_version": (text, []),
        "mono_error_status": (ctypes.c_int, [pointer]),
        "mono_error_text": (text, [pointer]),
        "mono_error_destroy": (..., [pointer]),
        "mono_compile_file": (None, [text, options, out]),
        "mono_compile_text": (None, [text, size, text, text, options, out]),
        "mono_kernel_load": (None, [text, size, out]),
        "mono_kernel_destroy": (..., [pointer]),
        "mono_kernel_code_object": (pointer, [pointer, ctypes.POINTER(size)]),
        "mono_kernel_get_info": (ctypes.POINTER(_KernelInfo), [pointer]),
        "mono_kernel_get_parameter": (ctypes.POINTER(_Parameter), [pointer, size]),
        "mono_kernel_get_operand": (ctypes.POINTER(_Operand), [pointer, size]),
        "mono_pack": (None, [pointer, text, pointer, pointer, bytes_]),
        "mono_unpack": (None, [pointer, text, pointer, pointer, bytes_]),
        "mono_node_create_emulator": (None, [word, out]),
        "mono_node_create_hip": (None, [word, word, out]),
        "mono_node_destroy": (..., [pointer]),
        "mono_node_device_count": (word, [pointer]),
        "mono_allocate": (None, [pointer, word, bytes_, ctypes.c_int, out]),
        "mono_free": (None, [pointer, word, pointer]),
        "mono_copy_to_device": (None, [pointer, word, pointer, pointer, bytes_]),
        "mono_copy_from_device": (None, [pointer, word, pointer, pointer, bytes_]),
        "mono_map_host": (None, [pointer, pointer, bytes_]),
        "mono_unmap_host": (None, [pointer, pointer]),
        "mono_group_create": (None, [pointer, pointer, ctypes.POINTER(_Workspace), out]),
        "mono_group_create_sharing": (None, [pointer, pointer, out]),
        "mono_group_destroy": (..., [pointer]),
        "mono_group_bind": (None, [pointer, word, text, pointer, bytes_]),
        "mono_group_launch": (None, [pointer, out]),
        "mono_group_synchronize": (None, [pointer]),
        "mono_group_check": (None, [pointer]),
    }


def _open_library():
    """The file MONO_LIBRARY names, else the one beside this module, else what the loader finds."""
    beside = pathlib.Path(__file__).resolve().parent / "libmono.so.1"
    path = os.environ.get("MONO_LIBRARY") or str(beside if beside.exists() else beside.name)
    try:
        return ctypes.CDLL(path)
    except OSError as error:
        where = ("which MONO_LIBRARY names" if os.environ.get("MONO_LIBRARY") else
                 f"expected it as {beside}, in the path of the loader, or where MONO_LIBRARY says")
        raise ImportError(f"can't load {path}, {where}: {error}") from None


def _check(error, *_):
    """Raises what a function returned, if it is an error."""
    if error:
        try:
            text = _lib.mono_error_text(error).decode(errors="replace")
            raise Error(_lib.mono_error_status(error), text)
        finally:
            _lib.mono_error_destroy(error)


def _load():
    library = _open_library()
    for name, (result, arguments) in _signatures().items():
        function = getattr(library, name)
        function.argtypes = arguments
        function.restype = None if result is ... else result or ctypes.c_void_p
        if result is None:
            function.errcheck = _check
        setattr(library, name, _checked(function))
    version = library.mono_abi_version()
    if version != _ABI_VERSION:
        raise ImportError(f"expected libmono of ABI version {_ABI_VERSION}, but got {version}")
    return library


_lib = _load()


def version():
    """For people, e.g. "monoc 0.1.0 (LLVM 22.1.8, gfx950)"."""
    return _lib.mono_version().decode()


class _Handle:
    """Owns a handle of the library; `close` may be called early and more than once."""
    _destroy = None

    def __init__(self, create, *arguments):
        self._as_parameter_ = None
        handle = ctypes.c_void_p()
        create(*arguments, ctypes.byref(handle))
        self._as_parameter_ = handle

    def close(self):
        if self._as_parameter_:
            self._destroy(self._as_parameter_)
        self._as_parameter_ = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_as_parameter_", None):
            self.close()


# ---- Kernels --------------------------------------------------------------------------------


class Operand:
    """A kernel argument: name, access, element, shape, layout, bytes, is_weight."""

    def __init__(self, raw):
        self.name = raw.name.decode()
        self.access = _ACCESS[raw.access]
        self.element = _ELEMENTS[raw.element]
        self.shape = tuple(raw.shape[:raw.rank])
        self.layout = raw.layout.decode()
        self.bytes = raw.bytes
        self.is_weight = bool(raw.is_weight)

    def __repr__(self):
        return f"<{self.name}: {self.access} {self.element} {list(self.shape)}, {self.layout}>"


class Kernel(_Handle):
    """A compiled schedule."""
    _destroy = _lib.mono_kernel_destroy

    def __init__(self, create, *arguments):
        super().__init__(create, *arguments)
        info = _lib.mono_kernel_get_info(self).contents
        self.name, self.target = info.name.decode(), info.target.decode()
        self.ranks, self.workgroups, self.threads = info.ranks, info.workgroups, info.threads
        self.lds_bytes, self.workspace = info.lds_bytes, info.workspace
        self.from_cache, self.cache_note = bool(info.from_cache), info.cache_note.decode()
        self.operands = {}
        for index in range(info.operand_count):
            operand = Operand(_lib.mono_kernel_get_operand(self, index).contents)
            self.operands[operand.name] = operand
        self.params = {}
        for index in range(info.parameter_count):
            parameter = _lib.mono_kernel_get_parameter(self, index).contents
            self.params[parameter.name.decode()] = parameter.value

    @property
    def code_object(self):
        size = ctypes.c_size_t()
        return ctypes.string_at(_lib.mono_kernel_code_object(self, ctypes.byref(size)), size.value)

    def pack(self, operand, row_major):
        """Bytes in row-major order as bytes in the operand's layout."""
        return self._rearrange(_lib.mono_pack, operand, row_major)

    def unpack(self, operand, packed):
        """Inverse of pack()."""
        return self._rearrange(_lib.mono_unpack, operand, packed)

    def _rearrange(self, function, operand, data):
        data = bytes(memoryview(data))  # an integer would be as many zeros
        result = ctypes.create_string_buffer(len(data))
        function(self, _text(operand), data, result, len(data))
        return result.raw


def _options(params, linker, watchdog_cycles, cache_dir, cache_max_bytes):
    items = list((params or {}).items())
    array = (_Parameter * len(items))(*[_Parameter(_text(name), _whole(value, ctypes.c_int64))
                                        for name, value in items])
    return _CompileOptions(ctypes.sizeof(_CompileOptions), array, len(items), _text(linker),
                           _whole(watchdog_cycles, ctypes.c_int64),
                           None if cache_dir is None else _text(cache_dir),
                           _whole(cache_max_bytes, ctypes.c_uint64))


def compile(path, params=None, linker="lld", watchdog_cycles=0, cache_dir=None, cache_max_bytes=0):
    """Compiles the schedule in a file; `cache_dir` "" switches the cache off."""
    options = _options(params, linker, watchdog_cycles, cache_dir, cache_max_bytes)
    return Kernel(_lib.mono_compile_file, _text(path), ctypes.byref(options))


def compile_text(text, params=None, name="schedule.mlir", directory="", linker="lld",
                 watchdog_cycles=0, cache_dir=None, cache_max_bytes=0):
    """Compiles text; `name` and `directory` stand for where it would be."""
    options = _options(params, linker, watchdog_cycles, cache_dir, cache_max_bytes)
    data = text.encode()
    return Kernel(_lib.mono_compile_text, data, len(data), _text(name), _text(directory),
                  ctypes.byref(options))


def load(code_object):
    """Takes the bytes of a finished code object."""
    return Kernel(_lib.mono_kernel_load, code_object, len(code_object))


# ---- Memory of other libraries --------------------------------------------------------------


class _DLTensor(ctypes.Structure):
    # DLManagedTensor begins with its DLTensor (dlpack.h).
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_DL_CPU, _DL_ROCM = 1, 10
_DL_INT, _DL_UINT, _DL_FLOAT, _DL_BFLOAT, _DL_FLOAT8_E4M3FN, _DL_FLOAT8_E8M0FNU = 0, 1, 2, 4, 10, 14
# What may stand for an element; NumPy has no bf16, so its bits may come as 16-bit integers. FP4 comes
# as bytes of two elements each, so that the last axis is half as long.
_DL_TYPES = {
    "bf16": {(_DL_BFLOAT, 16), (_DL_INT, 16), (_DL_UINT, 16)},
    "f32": {(_DL_FLOAT, 32)},
    "i32": {(_DL_INT, 32)},
    "f8E8M0FNU": {(_DL_UINT, 8), (_DL_FLOAT8_E8M0FNU, 8)},
    "f8E4M3FN": {(_DL_UINT, 8), (_DL_FLOAT8_E4M3FN, 8)},
    "f4E2M1FN": {(_DL_UINT, 8)},
}
_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]


class _Memory:
    """Where somebody's tensor is, and what keeps it alive."""

    def __init__(self, address, size, on_host, owner):
        self.address, self.bytes, self.on_host, self.owner = address, size, on_host, owner


def _from_dlpack(tensor, operand):
    capsule = tensor.__dlpack__()
    view = _DLTensor.from_address(_capsule_pointer(capsule, b"dltensor"))
    shape = tuple(view.shape[:view.ndim])
    expected = operand.shape
    if operand.element == "f4E2M1FN":
        expected = (*expected[:-1], expected[-1] // 2)
    as_bytes = "" if expected == operand.shape else f" as bytes {list(expected)}"
    if shape != expected or view.lanes != 1 or (
            view.code, view.bits) not in _DL_TYPES.get(operand.element, ()):
        raise Error(INVALID_ARGUMENT, f"operand '{operand.name}': expected {operand.element} "
                    f"{list(operand.shape)}{as_bytes}, but got {view.bits}-bit elements of DLPack type "
                    f"{view.code}, {list(shape)}")
    step = 1
    for size, stride in zip(reversed(shape),
                            reversed(view.strides[:view.ndim]) if view.strides else ()):
        if size != 1 and stride != step:
            raise Error(INVALID_ARGUMENT, f"operand '{operand.name}': expected a contiguous tensor")
        step *= size
    if view.device_type not in (_DL_CPU, _DL_ROCM):
        raise Error(INVALID_ARGUMENT, f"operand '{operand.name}': expected a tensor on the CPU or "
                    f"on ROCm, but got DLPack device type {view.device_type}")
    return _Memory((view.data or 0) + view.byte_offset, operand.bytes,
                   view.device_type == _DL_CPU, (tensor, capsule))


# What the elements of a buffer may be, besides bytes: letters of the struct module and size.
_BUFFER_FORMATS = {"f32": ("f", 4), "i32": ("il", 4), "bf16": ("hH", 2)}


def _from_buffer(data, operand):
    view = memoryview(data)
    if view.readonly or not view.c_contiguous:
        raise Error(INVALID_ARGUMENT, f"operand '{operand.name}': expected a writable, contiguous buffer")
    letters, size = _BUFFER_FORMATS.get(operand.element, ("", 0))
    kind = view.format.lstrip("@=<")
    if kind not in set("bBc") and (kind not in set(letters) or view.itemsize != size):
        raise Error(INVALID_ARGUMENT, f"operand '{operand.name}': expected a buffer of bytes or of "
                    f"{operand.element}, but got one of '{view.format}', {view.itemsize} bytes each")
    array = (ctypes.c_char * view.nbytes).from_buffer(data)
    return _Memory(ctypes.addressof(array), view.nbytes, True, (data, array))


def _memory_of(data, operand):
    if isinstance(data, int):
        return _Memory(data, operand.bytes, False, None)
    if hasattr(data, "__dlpack__"):
        return _from_dlpack(data, operand)
    return _from_buffer(data, operand)


# ---- Nodes and groups -----------------------------------------------------------------------


class Node(_Handle):
    """Devices, one per rank."""
    _destroy = _lib.mono_node_destroy

    def __init__(self, create, *arguments):
        super().__init__(create, *arguments)
        self.devices = _lib.mono_node_device_count(self)

    @classmethod
    def emulator(cls, devices):
        """Emulated MI355X, 1 to 8."""
        return cls(_lib.mono_node_create_emulator, devices)

    @classmethod
    def hip(cls, count, first=0):
        """GPUs of this machine that can run a schedule, without the first `first` of them."""
        return cls(_lib.mono_node_create_hip, first, count)

    def allocate(self, device, size, peer_visible=False):
        """Address of new device memory."""
        address = ctypes.c_void_p()
        _lib.mono_allocate(self, device, size, int(peer_visible), ctypes.byref(address))
        return address.value

    def free(self, device, address):
        _lib.mono_free(self, device, address)

    def write(self, device, address, data):
        data = bytes(memoryview(data))  # an integer would be as many zeros
        _lib.mono_copy_to_device(self, device, address, data, len(data))

    def read(self, device, address, size):
        data = ctypes.create_string_buffer(size)
        _lib.mono_copy_from_device(self, device, data, address, size)
        return data.raw


class Group(_Handle):
    """A kernel on the devices of a node."""
    _destroy = _lib.mono_group_destroy

    def __init__(self, kernel, node, workspaces=None, shared_with=None):
        """`workspaces`: (local, peer) addresses for each rank; without them the library allocates.
        `shared_with`: a group on the same node whose workspace this one uses, taking turns."""
        self.kernel, self.node = kernel, node
        self._bound = {}
        self._replaced = []  # what launches that are under way may still use
        if shared_with is not None:
            if workspaces is not None or shared_with.node is not node:
                raise Error(INVALID_ARGUMENT, "expected no workspaces and the same node for a group "
                            "that shares those of another")
            super().__init__(_lib.mono_group_create_sharing, kernel, shared_with)
            return
        array = None
        if workspaces is not None:
            if len(workspaces) != kernel.ranks:
                raise Error(INVALID_ARGUMENT, f"expected a workspace for each of {kernel.ranks} "
                            f"ranks, but got {len(workspaces)}")
            array = (_Workspace * kernel.ranks)(*[_Workspace(*pair) for pair in workspaces])
        super().__init__(_lib.mono_group_create, kernel, node, array)

    def bind(self, rank, operand, data):
        """Lets an operand be an address, a tensor with DLPack, or a writable buffer, which the group
        keeps alive: what was bound before, until synchronize() or check(), since launches may still
        use it. It must be in the operand's layout. Host memory is for emulated devices only."""
        if operand not in self.kernel.operands:
            raise Error(INVALID_ARGUMENT, f"kernel '{self.kernel.name}' has no operand '{operand}'; "
                        f"it has {', '.join(self.kernel.operands)}")
        memory = _memory_of(data, self.kernel.operands[operand])
        if memory.on_host:
            _lib.mono_map_host(self.node, memory.address, memory.bytes)
        try:
            _lib.mono_group_bind(self, rank, _text(operand), memory.address, memory.bytes)
        except Error:
            self._release(memory)
            raise
        old = self._bound.get((rank, operand))
        if old is not None and old.owner is not None:
            self._replaced.append(old)
        self._bound[rank, operand] = memory

    def launch(self, streams=None):
        """Starts all ranks; `streams` are hipStream_t addresses, one per rank."""
        if streams is None:
            return _lib.mono_group_launch(self, None)
        if len(streams) != self.kernel.ranks:
            raise Error(INVALID_ARGUMENT, f"expected a stream for each of {self.kernel.ranks} "
                        f"ranks, but got {len(streams)}")
        return _lib.mono_group_launch(self, (ctypes.c_void_p * len(streams))(*streams))

    def synchronize(self):
        """Waits for the launches on the node's own streams; emulated ones run here. Those on streams
        of the caller must have ended, if anything was bound anew."""
        try:
            _lib.mono_group_synchronize(self)
        finally:
            self._release_replaced()

    def check(self):
        """What watchdogs recorded, once the streams given to launch() have ended."""
        try:
            _lib.mono_group_check(self)
        finally:
            self._release_replaced()

    def close(self):
        super().close()
        for memory in self._bound.values():
            self._release(memory)
        self._bound = {}
        self._release_replaced()

    def _release_replaced(self):
        for memory in self._replaced:
            self._release(memory)
        self._replaced = []

    def _release(self, memory):
        if memory.on_host and self.node._as_parameter_:
            _lib.mono_unmap_host(self.node, memory.address)
