/* DiffusionForce.exe: starts the program with the Python beside it, without a console.
 *
 *     <folder>\python\pythonw.exe -I -X utf8 -m diffusionforce.cli <what we were given, or "gui">
 *
 * and ends with its exit code. Without arguments there is one window: a second start brings the first to the front.
 * What goes wrong before Python runs has no other place to be told, so it is told in a message box.
 */
#define _WIN32_WINNT 0x0A00
#include <stdlib.h>
#include <wchar.h>
#include <windows.h>

#define CAPACITY 32768 /* The longest command line that Windows takes, in characters. */
#define APP_MUTEX L"Local\\DiffusionForce.App"           /* Held by the window. */
#define LAUNCHER_MUTEX L"Local\\DiffusionForce.Launcher" /* Held by us from the start, before there is a window. */
#define EARLY_END_MS 20000                               /* An end with an error so soon was no use of the program. */
#define WINDOW_WAIT_MS 30000

static int is_german(void) {
    return PRIMARYLANGID(GetUserDefaultUILanguage()) == LANG_GERMAN;
}

static void show(const wchar_t *text) {
    if (!GetEnvironmentVariableW(L"DIFFUSIONFORCE_NO_DIALOG", NULL, 0))
        MessageBoxW(NULL, text, L"DiffusionForce", MB_ICONERROR | MB_OK | MB_SETFOREGROUND);
}

/* Tell why the program cannot be started, and end. */
static void stop(const wchar_t *english, const wchar_t *german, const wchar_t *path, DWORD error) {
    static wchar_t text[CAPACITY];
    wchar_t *reason = NULL;
    FormatMessageW(FORMAT_MESSAGE_ALLOCATE_BUFFER | FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL,
                   error, 0, (LPWSTR)&reason, 0, NULL);
    const wchar_t *form = is_german()
        ? L"DiffusionForce kann nicht gestartet werden.\n\n%ls\n%ls\n\n%ls\nF\x00FChren Sie das Setup noch einmal aus: "
          L"Es repariert das Programm. Ihre Daten bleiben, wie sie sind."
        : L"DiffusionForce cannot be started.\n\n%ls\n%ls\n\n%ls\nRun the set-up program again: it repairs the "
          L"program. Your data stay as they are.";
    _snwprintf(text, CAPACITY - 1, form, is_german() ? german : english, path, reason ? reason : L"");
    show(text);
    ExitProcess(error ? error : 1);
}

/* What follows the program's own name on the command line, as it was written. */
static const wchar_t *arguments_of(const wchar_t *line) {
    int quoted = *line == L'"';
    if (quoted) line++;
    while (*line && (quoted ? *line != L'"' : (*line != L' ' && *line != L'\t'))) line++;
    if (quoted && *line) line++;
    while (*line == L' ' || *line == L'\t') line++;
    return line;
}

struct search {
    const wchar_t *program;
    HWND found;
};

static BOOL CALLBACK look_at_window(HWND window, LPARAM given) {
    static wchar_t image[CAPACITY];
    struct search *search = (struct search *)given;
    DWORD process_id = 0, length = CAPACITY;
    if (!IsWindowVisible(window) || GetWindow(window, GW_OWNER) != NULL || !GetWindowTextLengthW(window)) return TRUE;
    GetWindowThreadProcessId(window, &process_id);
    HANDLE process = OpenProcess(PROCESS_QUERY_LIMITED_INFORMATION, FALSE, process_id);
    if (!process) return TRUE;
    if (QueryFullProcessImageNameW(process, 0, image, &length) && !_wcsicmp(image, search->program))
        search->found = window;
    CloseHandle(process);
    return search->found == NULL;
}

/* Bring the window of the program that runs already to the front, waiting for it while it starts. */
static void bring_to_front(const wchar_t *program) {
    struct search search = {program, NULL};
    ULONGLONG until = GetTickCount64() + WINDOW_WAIT_MS;
    do {
        EnumWindows(look_at_window, (LPARAM)&search);
        if (search.found) {
            if (IsIconic(search.found)) ShowWindow(search.found, SW_RESTORE);
            SetForegroundWindow(search.found);
            return;
        }
        Sleep(200);
    } while (GetTickCount64() < until);
}

static int runs_already(void) {
    CreateMutexW(NULL, FALSE, LAUNCHER_MUTEX); /* Never closed: it goes when we end. */
    if (GetLastError() == ERROR_ALREADY_EXISTS) return 1;
    HANDLE held = OpenMutexW(SYNCHRONIZE, FALSE, APP_MUTEX);
    if (held) CloseHandle(held);
    return held != NULL;
}

/* Start Python and return its exit code. */
static DWORD run(const wchar_t *program, wchar_t *line, int show_command) {
    STARTUPINFOW start;
    PROCESS_INFORMATION child;
    DWORD code = 1;
    /* Handles of our own starter's console or files are not passed on: pythonw dies of some of them. */
    ZeroMemory(&start, sizeof start);
    start.cb = sizeof start;
    start.dwFlags = STARTF_USESTDHANDLES | STARTF_USESHOWWINDOW;
    start.wShowWindow = (WORD)show_command;
    if (!CreateProcessW(program, line, NULL, NULL, FALSE, CREATE_UNICODE_ENVIRONMENT, NULL, NULL, &start, &child))
        stop(L"Its Python could not be run:", L"Sein Python lie\x00DF sich nicht ausf\x00FChren:", program,
             GetLastError());
    AllowSetForegroundWindow(child.dwProcessId);
    WaitForSingleObject(child.hProcess, INFINITE);
    GetExitCodeProcess(child.hProcess, &code);
    return code;
}

static void tell_early_end(DWORD code) {
    static wchar_t text[1024];
    _snwprintf(text, 1023,
               is_german()
                   ? L"DiffusionForce hat sich beim Start mit dem Code %lu beendet.\n\nDen Grund zeigt diffusionforce.cmd "
                     L"im Programmordner, in einer Eingabeaufforderung mit dem Wort gui ausgef\x00FChrt. Das Setup, noch "
                     L"einmal ausgef\x00FChrt, repariert das Programm."
                   : L"DiffusionForce ended with code %lu while it started.\n\nThe reason is shown by diffusionforce.cmd "
                     L"in the program's folder, run in a command prompt with the word gui. The set-up program, run again, "
                     L"repairs the program.",
               code);
    show(text);
}

int WINAPI wWinMain(HINSTANCE instance, HINSTANCE previous, LPWSTR given, int show_command) {
    static wchar_t folder[CAPACITY], program[CAPACITY], line[CAPACITY];
    (void)instance, (void)previous, (void)given;
    DWORD length = GetModuleFileNameW(NULL, folder, CAPACITY);
    wchar_t *end = length && length < CAPACITY ? wcsrchr(folder, L'\\') : NULL;
    if (!end) stop(L"Its folder is not known.", L"Sein Ordner ist nicht bekannt.", L"", GetLastError());
    *end = 0;
    _snwprintf(program, CAPACITY - 1, L"%ls\\python\\pythonw.exe", folder);
    if (GetFileAttributesW(program) == INVALID_FILE_ATTRIBUTES)
        stop(L"A file of the program is missing:", L"Eine Datei des Programms fehlt:", program, GetLastError());
    const wchar_t *arguments = arguments_of(GetCommandLineW());
    int is_window = !*arguments;
    if (is_window && runs_already()) {
        bring_to_front(program);
        return 0;
    }
    int written = _snwprintf(line, CAPACITY - 1, L"\"%ls\" -I -X utf8 -m diffusionforce.cli %ls", program,
                             is_window ? L"gui" : arguments);
    if (written < 0 || written >= CAPACITY - 1)
        stop(L"The command line is too long.", L"Die Befehlszeile ist zu lang.", L"", ERROR_FILENAME_EXCED_RANGE);
    SetEnvironmentVariableW(L"PYTHONHOME", NULL);
    SetEnvironmentVariableW(L"PYTHONPATH", NULL);
    ULONGLONG started = GetTickCount64();
    DWORD code = run(program, line, show_command);
    if (is_window && code && GetTickCount64() - started < EARLY_END_MS) tell_early_end(code);
    return (int)code;
}
