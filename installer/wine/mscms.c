/* For tests only: the functions of mscms.dll that Qt is linked to and Wine 8 lacks. No screen has a colour profile. */
#include <windows.h>

#define EXPORT __declspec(dllexport)

static HANDLE refuse(void) {
    SetLastError(ERROR_NOT_SUPPORTED);
    return NULL;
}

EXPORT HANDLE WINAPI WcsOpenColorProfileW(void *a, void *b, void *c, DWORD d, DWORD e, DWORD f, DWORD g) {
    return refuse();
}
EXPORT HANDLE WINAPI OpenColorProfileW(void *a, DWORD b, DWORD c, DWORD d) { return refuse(); }
EXPORT BOOL WINAPI CloseColorProfile(HANDLE profile) { return TRUE; }
EXPORT HANDLE WINAPI WcsCreateIccProfile(HANDLE profile, DWORD options) { return refuse(); }
EXPORT BOOL WINAPI GetColorProfileFromHandle(HANDLE profile, PBYTE data, PDWORD length) {
    if (length) *length = 0;
    return refuse() != NULL;
}
EXPORT BOOL WINAPI GetColorDirectoryW(LPCWSTR machine, LPWSTR buffer, DWORD *length) { return FALSE; }
EXPORT BOOL WINAPI WcsGetDefaultColorProfile(int s, LPCWSTR d, int t, int u, DWORD i, DWORD n, LPWSTR name) {
    return FALSE;
}
EXPORT BOOL WINAPI WcsGetDefaultColorProfileSize(int s, LPCWSTR d, int t, int u, DWORD i, DWORD *size) {
    return FALSE;
}
EXPORT BOOL WINAPI IsColorProfileValid(HANDLE profile, BOOL *valid) {
    if (valid) *valid = FALSE;
    return FALSE;
}
