; The training environment below the data folder, and what uv fetched for it.
RMDir /r "$LOCALAPPDATA\${APP}\env"
RMDir /r "$LOCALAPPDATA\${APP}\cache\uv"
RMDir "$LOCALAPPDATA\${APP}\cache"
