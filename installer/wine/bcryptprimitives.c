/* For tests only: Wine 8 has no bcryptprimitives.dll, and programs in Rust (uv) ask it for random numbers. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG length); /* RtlGenRandom */

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T length) {
    while (length) {
        ULONG piece = length > 0x10000000 ? 0x10000000 : (ULONG)length;
        if (!SystemFunction036(buffer, piece)) return FALSE;
        buffer += piece;
        length -= piece;
    }
    return TRUE;
}
