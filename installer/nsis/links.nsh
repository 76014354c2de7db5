; Links that Windows takes for the same program as the window that it opens, so that a pinned one starts the program and
; not the Python that runs it: they bear the id that the window gives itself (APP_ID in desktop/taskbar.py).

!include "Win\COM.nsh"
!include "Win\Propkey.nsh"
!define APP_ID "DiffusionForce.App"

!macro MakeLink path
  CreateShortCut "${path}" "$INSTDIR\${APP}.exe" "" "$INSTDIR\${APP}.exe" 0 SW_SHOWNORMAL "" "$(WHAT_IT_IS)"
  !insertmacro ComHlpr_CreateInProcInstance ${CLSID_ShellLink} ${IID_IShellLink} r0 ""
  ${If} $0 P<> 0
    StrCpy $5 1
    ${IUnknown::QueryInterface} $0 '("${IID_IPersistFile}",.r1)'
    ${If} $1 P<> 0
      ${IPersistFile::Load} $1 '("${path}", 2).r5'
      ${IUnknown::QueryInterface} $0 '("${IID_IPropertyStore}",.r2)'
      ${If} $2 P<> 0
      ${AndIf} $5 = 0
        System::Call '*(&w64 "${APP_ID}")p.r3'
        System::Call '*${SYSSTRUCT_PROPERTYKEY}(${PKEY_AppUserModel_ID})p.r4'
        System::Call '*${SYSSTRUCT_PROPVARIANT}(${VT_LPWSTR},,p r3)p.r5'
        ${IPropertyStore::SetValue} $2 '($4,$5)'
        ${IPropertyStore::Commit} $2 ""
        ${IPersistFile::Save} $1 '("${path}",1)'
        System::Free $3
        System::Free $4
        System::Free $5
      ${EndIf}
      ${If} $2 P<> 0
        ${IUnknown::Release} $2 ""
      ${EndIf}
      ${IUnknown::Release} $1 ""
    ${EndIf}
    ${IUnknown::Release} $0 ""
  ${EndIf}
!macroend
