"""What each desktop does in its own way: starting and ending children, sleep, one window, the taskbar, long paths.

Every module says the same on Windows and on Linux; the branch that calls the system is as small as it can be and takes
the system's library as an argument, so that tests can stand in for a system that is not there. Nothing here knows Qt.
"""
