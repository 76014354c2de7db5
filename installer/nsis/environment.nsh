; The training environment below the data folder, what uv fetched for it, and what the window copied from it.
RMDir /r "$LOCALAPPDATA\${APP}\env"
RMDir /r "$LOCALAPPDATA\${APP}\cache\uv"
RMDir /r "$LOCALAPPDATA\${APP}\cache\decoder"
RMDir "$LOCALAPPDATA\${APP}\cache"
