"""The bundled fonts, Inter and JetBrains Mono, so that the window looks the same everywhere. See LICENSE.txt."""
