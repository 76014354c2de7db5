"""For tests only: bodies for functions that Wine 8 exports and has not written, so that numpy and torch can be loaded.

Python runs a module of this name by itself. On real Windows, which has no `wine_get_version`, it does nothing.
"""

import ctypes
import importlib
import os
from typing import Any

BODIES = {
    # Complex numbers of the C library, which numpy 2 uses: the real or imaginary part, out of the argument's registers.
    "ucrtbase.dll": {
        b"crealf": "660f6ec1c3",
        b"cimagf": "48c1e920660f6ec1c3",
        b"creal": "f20f1001c3",
        b"cimag": "f20f104108c3",
    },
    # Intel's OpenMP, which torch uses, gives up where this fails: one group with two processors.
    "kernelbase.dll": {b"GetNumaNodeProcessorMaskEx": "48c7020300000048c7420800000000b801000000c3"},
}
WRITABLE = 0x40
LIBRARY = getattr(ctypes, "WinDLL", ctypes.CDLL)
"""How libraries of Windows are opened, which is there on Windows only."""


def is_wine() -> bool:
    """Return whether this is Wine."""
    try:
        return hasattr(LIBRARY("ntdll"), "wine_get_version")
    except (AttributeError, OSError):
        return False


def give_bodies() -> None:
    """Overwrite the functions in the memory of this process."""
    kernel = LIBRARY("kernel32")
    kernel.GetModuleHandleW.restype = kernel.GetProcAddress.restype = ctypes.c_void_p
    kernel.GetModuleHandleW.argtypes = [ctypes.c_wchar_p]
    kernel.GetProcAddress.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
    kernel.VirtualProtect.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_uint32,
        ctypes.POINTER(ctypes.c_uint32),
    ]
    for library, functions in BODIES.items():
        module = kernel.GetModuleHandleW(library)
        for name, code in functions.items():
            address, body = kernel.GetProcAddress(module, name), bytes.fromhex(code)
            if address and kernel.VirtualProtect(address, len(body), WRITABLE, ctypes.byref(ctypes.c_uint32())):
                ctypes.memmove(address, body, len(body))


def getppid() -> int:
    """Return the number of the process that started this one; Python asks for it in a way that ends it under Wine 8."""
    # Of six fields of eight bytes, the last is the parent.
    facts = (ctypes.c_uint64 * 6)()
    LIBRARY("ntdll").NtQueryInformationProcess(ctypes.c_void_p(-1), 0, facts, ctypes.sizeof(facts), None)
    return facts[5]


def copy_file_by_file() -> None:
    """Let `shutil` copy as it does elsewhere: the function of Windows that it prefers ends the process under Wine 8."""
    windows: Any = importlib.import_module("_winapi")
    if hasattr(windows, "CopyFile2"):
        del windows.CopyFile2


if is_wine():
    give_bodies()
    copy_file_by_file()
    os.getppid = getppid
