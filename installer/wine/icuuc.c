/* For tests only: Wine has no icuuc.dll, and Qt is linked to it for text encodings of old, which are refused here. */

#define EXPORT __declspec(dllexport)

typedef int UErrorCode;
enum { UNSUPPORTED = 16 };

#define REFUSE(error) do { if (error) *(error) = UNSUPPORTED; } while (0)

EXPORT void *ucnv_open(const char *n, UErrorCode *e) { REFUSE(e); return 0; }
EXPORT void ucnv_close(void *c) {}
EXPORT void UCNV_FROM_U_CALLBACK_SUBSTITUTE(void) {}
EXPORT void UCNV_TO_U_CALLBACK_SUBSTITUTE(void) {}
EXPORT void ucnv_reset(void *c) {}
EXPORT signed char ucnv_getMaxCharSize(const void *c) { return 1; }
EXPORT const char *ucnv_getName(const void *c, UErrorCode *e) { REFUSE(e); return 0; }
EXPORT void ucnv_getToUCallBack(const void *c, void **a, const void **b) { if(a) *a = 0; if(b) *b = 0; }
EXPORT void ucnv_getFromUCallBack(const void *c, void **a, const void **b) { if(a) *a = 0; if(b) *b = 0; }
EXPORT void ucnv_setToUCallBack(void *c, void *a, const void *b, void **oa, const void **ob,
    UErrorCode *e) { REFUSE(e); }
EXPORT void ucnv_setFromUCallBack(void *c, void *a, const void *b, void **oa, const void **ob,
    UErrorCode *e) { REFUSE(e); }
EXPORT void ucnv_cbToUWriteUChars(void *a, const void *s, int l, int o, UErrorCode *e) { REFUSE(e); }
EXPORT void ucnv_cbFromUWriteUChars(void *a, const void **s, const void *l, int o, UErrorCode *e) { REFUSE(e); }
EXPORT void ucnv_toUnicode(void *c, void **t, const void *tl, const char **s, const char *sl,
    int *o, signed char f, UErrorCode *e) { REFUSE(e); }
EXPORT void ucnv_fromUnicode(void *c, char **t, const char *tl, const void **s, const void *sl,
    int *o, signed char f, UErrorCode *e) { REFUSE(e); }
EXPORT int ucnv_toUCountPending(const void *c, UErrorCode *e) { return 0; }
EXPORT int ucnv_fromUCountPending(const void *c, UErrorCode *e) { return 0; }
EXPORT const char *ucnv_getStandardName(const char *n, const char *s, UErrorCode *e) { REFUSE(e); return 0; }
EXPORT const char *ucnv_getAvailableName(int i) { return 0; }
EXPORT int ucnv_countAvailable(void) { return 0; }
