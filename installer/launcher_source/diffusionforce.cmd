@rem The command line of DiffusionForce: diffusionforce.cmd --help
@"%~dp0python\python.exe" -I -X utf8 -m diffusionforce.cli %*
