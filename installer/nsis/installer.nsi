; The set-up program of DiffusionForce: for one user, without administrator's rights.
;
; Exit codes when silent: 0 done, 2 cancelled or a wrong folder, 3 Windows too old, 4 not enough space,
; 5 DiffusionForce is running, 6 a file could not be written.
;
; Given by nsis.py: VERSION, FOUR (0.1.0.0), FILES (generated lists of what to unpack), SIZE_KB, ART, OUT, COMPRESSION,
; and SIGN where a certificate is there.
Unicode true
Target amd64-unicode

!define APP "DiffusionForce"
!define AUTHORS "DiffusionForce authors"
!define APP_KEY "Software\${APP}"
!define UNINSTALL_KEY "Software\Microsoft\Windows\CurrentVersion\Uninstall\${APP}"
!define PATHS_KEY "Software\Microsoft\Windows\CurrentVersion\App Paths\${APP}.exe"

Name "${APP}"
OutFile "${OUT}"
InstallDir "$LOCALAPPDATA\Programs\${APP}"
InstallDirRegKey HKCU "${APP_KEY}" "InstallDir"
RequestExecutionLevel user
ManifestDPIAware true
ManifestLongPathAware true
ManifestSupportedOS Win10
!if "${COMPRESSION}" == "lzma"
  SetCompressor /SOLID lzma
  SetCompressorDictSize 32
!else
  SetCompressor ${COMPRESSION}
!endif
SetOverwrite try
SetDateSave on
CRCCheck force
AllowSkipFiles off
; Thousands of names would pass by too quickly to be read, and take longer to be drawn than the files to be written.
ShowInstDetails nevershow
ShowUninstDetails nevershow
BrandingText "${APP} ${VERSION}"
VIProductVersion "${FOUR}"
VIAddVersionKey "ProductName" "${APP}"
VIAddVersionKey "CompanyName" "${AUTHORS}"
VIAddVersionKey "FileDescription" "${APP} ${VERSION} Setup"
VIAddVersionKey "FileVersion" "${VERSION}"
VIAddVersionKey "ProductVersion" "${VERSION}"
VIAddVersionKey "LegalCopyright" "${AUTHORS}, Apache License 2.0"
!ifdef SIGN
  !uninstfinalize '${SIGN}'
  !finalize '${SIGN}'
!endif

!include "MUI2.nsh"
!include "FileFunc.nsh"
!include "LogicLib.nsh"
!include "WinVer.nsh"

Var Known     ; The version that is installed already; empty for none.
Var Title
Var Text

!define MUI_ICON "${ART}/app.ico"
!define MUI_UNICON "${ART}/app.ico"
!define MUI_WELCOMEFINISHPAGE_BITMAP "${ART}/welcome.bmp"
!define MUI_UNWELCOMEFINISHPAGE_BITMAP "${ART}/welcome.bmp"
!define MUI_HEADERIMAGE
!define MUI_HEADERIMAGE_RIGHT
!define MUI_HEADERIMAGE_BITMAP "${ART}/header.bmp"
!define MUI_HEADERIMAGE_UNBITMAP "${ART}/header.bmp"
!define MUI_ABORTWARNING
!define MUI_WELCOMEPAGE_TITLE "$Title"
!define MUI_WELCOMEPAGE_TITLE_3LINES
!define MUI_WELCOMEPAGE_TEXT "$Text"
!insertmacro MUI_PAGE_WELCOME
!define MUI_PAGE_CUSTOMFUNCTION_PRE SkipWhenKnown
!insertmacro MUI_PAGE_DIRECTORY
!define MUI_COMPONENTSPAGE_NODESC
!define MUI_PAGE_CUSTOMFUNCTION_PRE SkipWhenKnown
!insertmacro MUI_PAGE_COMPONENTS
!insertmacro MUI_PAGE_INSTFILES
!define MUI_FINISHPAGE_TEXT "$(FINISH_TEXT)"
!define MUI_FINISHPAGE_RUN "$INSTDIR\${APP}.exe"
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_COMPONENTS
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"
!insertmacro MUI_LANGUAGE "German"
!include "words.nsh"
!include "links.nsh"

; --- Looking before anything is done

!macro CheckRunning un
Function ${un}CheckRunning
  again:
  StrCpy $R1 0
  System::Call 'kernel32::OpenMutexW(i 0x100000, i 0, w "Local\DiffusionForce.App") p .R0'
  ${If} $R0 P<> 0
    System::Call 'kernel32::CloseHandle(p R0)'
    StrCpy $R1 1
  ${EndIf}
  System::Call 'kernel32::OpenMutexW(i 0x100000, i 0, w "Local\DiffusionForce.Launcher") p .R0'
  ${If} $R0 P<> 0
    System::Call 'kernel32::CloseHandle(p R0)'
    StrCpy $R1 1
  ${EndIf}
  ; A training goes on without a window: its Python has this library loaded, which cannot be opened for writing then.
  ${If} ${FileExists} "$INSTDIR\python\python312.dll"
    ClearErrors
    FileOpen $R0 "$INSTDIR\python\python312.dll" a
    ${If} ${Errors}
      StrCpy $R1 1
    ${Else}
      FileClose $R0
    ${EndIf}
    ClearErrors
  ${EndIf}
  ${If} $R1 = 1
    MessageBox MB_RETRYCANCEL|MB_ICONEXCLAMATION "$(RUNNING)" /SD IDCANCEL IDRETRY again
    SetErrorLevel 5
    Quit
  ${EndIf}
FunctionEnd
!macroend
!insertmacro CheckRunning ""
!insertmacro CheckRunning "un."

Function .onInit
  SetShellVarContext current
  ${IfNot} ${AtLeastWin10}
    MessageBox MB_OK|MB_ICONSTOP "$(TOO_OLD)" /SD IDOK
    SetErrorLevel 3
    Quit
  ${EndIf}
  ${If} $INSTDIR == ""
    StrCpy $INSTDIR "$LOCALAPPDATA\Programs\${APP}"
  ${EndIf}
  ReadRegStr $Known HKCU "${APP_KEY}" "Version"
  ${IfNot} ${FileExists} "$INSTDIR\${APP}.exe"
    StrCpy $Known ""
  ${EndIf}
  ${If} $Known == ""
    StrCpy $Title "$(NEW_TITLE)"
    StrCpy $Text "$(NEW_TEXT)"
  ${ElseIf} $Known == "${VERSION}"
    StrCpy $Title "$(REPAIR_TITLE)"
    StrCpy $Text "$(REPAIR_TEXT)"
  ${Else}
    StrCpy $Title "$(UPGRADE_TITLE)"
    StrCpy $Text "$(UPGRADE_TEXT)"
  ${EndIf}
  Call CheckRunning
FunctionEnd

; What is installed stays where it is, with the links that its user chose.
Function SkipWhenKnown
  ${If} $Known != ""
    Abort
  ${EndIf}
FunctionEnd

; NSIS itself compares sizes only where somebody watches.
Function CheckSpace
  ${GetRoot} "$INSTDIR" $R1
  System::Call 'kernel32::GetDiskFreeSpaceExW(w "$R1\", *l .R2, p 0, p 0) i .R3'
  ${If} $R3 <> 0
    System::Int64Op $R2 / 1024
    Pop $R2
    System::Int64Op $R2 < ${SIZE_KB}
    Pop $R4
    ${If} $R4 = 1
      MessageBox MB_OK|MB_ICONSTOP "$(NO_SPACE)" /SD IDOK
      SetErrorLevel 4
      Quit
    ${EndIf}
  ${EndIf}
FunctionEnd

; --- Installing

; A former Python is put aside first: that fails while one of its files is in use, and can be undone.
!macro PutAside
  ${If} ${FileExists} "$INSTDIR\python\*.*"
    RMDir /r "$INSTDIR\python.old"
    ClearErrors
    Rename "$INSTDIR\python" "$INSTDIR\python.old"
    ${If} ${Errors}
      MessageBox MB_OK|MB_ICONSTOP "$(IN_USE)" /SD IDOK
      SetErrorLevel 5
      Quit
    ${EndIf}
  ${EndIf}
!macroend

!macro TakeBack
  RMDir /r "$INSTDIR\python"
  ${If} ${FileExists} "$INSTDIR\python.old\*.*"
    Rename "$INSTDIR\python.old" "$INSTDIR\python"
  ${EndIf}
!macroend

Section "$(PROGRAM)" SecProgram
  SectionIn RO
  Call CheckRunning
  Call CheckSpace
  SetDetailsPrint textonly
  DetailPrint "$(UNPACKING)"
  SetDetailsPrint none
  !insertmacro PutAside
  RMDir /r "$INSTDIR\licences"
  ClearErrors
  !include "${FILES}/unpack.nsh"
  ${If} ${Errors}
    !insertmacro TakeBack
    SetDetailsPrint both
    MessageBox MB_OK|MB_ICONSTOP "$(NOT_WRITTEN)" /SD IDOK
    SetErrorLevel 6
    Quit
  ${EndIf}
  RMDir /r "$INSTDIR\python.old"
  ; For computers without a network: wheels of this version beside the set-up program come along.
  RMDir /r "$INSTDIR\wheels"
  ${If} ${FileExists} "$EXEDIR\wheels\*.whl"
    CreateDirectory "$INSTDIR\wheels"
    ClearErrors
    CopyFiles /SILENT "$EXEDIR\wheels\*.whl" "$INSTDIR\wheels"
    ${If} ${Errors}
      RMDir /r "$INSTDIR\wheels"
      MessageBox MB_OK|MB_ICONINFORMATION "$(NO_WHEELS)" /SD IDOK
    ${EndIf}
  ${EndIf}
  SetOutPath "$INSTDIR"
  WriteUninstaller "$INSTDIR\Uninstall.exe"
  WriteRegStr HKCU "${APP_KEY}" "InstallDir" "$INSTDIR"
  WriteRegStr HKCU "${APP_KEY}" "Version" "${VERSION}"
  WriteRegStr HKCU "${PATHS_KEY}" "" "$INSTDIR\${APP}.exe"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayName" "${APP}"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayVersion" "${VERSION}"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "Publisher" "${AUTHORS}"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "DisplayIcon" "$INSTDIR\${APP}.exe,0"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "InstallLocation" "$INSTDIR"
  WriteRegStr HKCU "${UNINSTALL_KEY}" "UninstallString" '"$INSTDIR\Uninstall.exe"'
  WriteRegStr HKCU "${UNINSTALL_KEY}" "QuietUninstallString" '"$INSTDIR\Uninstall.exe" /S'
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "EstimatedSize" ${SIZE_KB}
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "NoModify" 1
  WriteRegDWORD HKCU "${UNINSTALL_KEY}" "NoRepair" 1
  ${If} $Known == ""
    !insertmacro MakeLink "$SMPROGRAMS\${APP}.lnk"
  ${EndIf}
  SetDetailsPrint both
SectionEnd

Section "$(DESKTOP_LINK)" SecDesktop
  ${If} $Known == ""
    !insertmacro MakeLink "$DESKTOP\${APP}.lnk"
  ${EndIf}
SectionEnd

; --- Uninstalling

Function un.onInit
  SetShellVarContext current
  Call un.CheckRunning
FunctionEnd

Section "un.$(PROGRAM)" UnProgram
  SectionIn RO
  ${IfNot} ${FileExists} "$INSTDIR\${APP}.exe"
    MessageBox MB_OK|MB_ICONSTOP "$(WRONG_FOLDER)" /SD IDOK
    SetErrorLevel 2
    Quit
  ${EndIf}
  SetDetailsPrint textonly
  DetailPrint "$(DELETING)"
  SetDetailsPrint none
  !include "${FILES}/delete.nsh"
  RMDir /r "$INSTDIR\python.old"
  Delete "$INSTDIR\Uninstall.exe"
  RMDir "$INSTDIR"
  Delete "$SMPROGRAMS\${APP}.lnk"
  Delete "$DESKTOP\${APP}.lnk"
  DeleteRegKey HKCU "${UNINSTALL_KEY}"
  DeleteRegKey HKCU "${PATHS_KEY}"
  DeleteRegKey HKCU "${APP_KEY}"
  SetDetailsPrint both
SectionEnd

; What can be brought again. Runs, datasets, profiles and models are never touched.
Section /o "un.$(ENVIRONMENT)" UnEnvironment
  SetDetailsPrint none
  !include "environment.nsh"
  RMDir "$LOCALAPPDATA\${APP}"
  SetDetailsPrint both
SectionEnd
