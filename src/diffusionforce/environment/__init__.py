"""The environment for training: a Python with PyTorch and the trainers' libraries, built on the user's computer.

The application is small and opens at once, because it carries Python, the window and our code, but not the gigabytes
that only training needs and that depend on the graphics cards. Those are brought on request, by uv, from inside the
window or with `diffusionforce env create`, into the folder `env` of the data folder. No torch and no Qt in here.

How the installed application looks, as this package expects it:

    <app>/DiffusionForce.exe      the launcher
    <app>/uv.exe                  `uv` elsewhere than on Windows
    <app>/python/python.exe       the Python that runs us; `bin/python3` elsewhere than on Windows. Our code and what
                                  the window needs lie in its site-packages; PyTorch does not
    <app>/locks/*.txt             what is installed; where there is none, the copy in the package (`shipped/locks`)
    <app>/wheels/*.whl            optional: everything to install, for computers without a network
    <app>/engine/musubi-tuner.zip optional: the engine for the real models, at its pinned version

`<app>` is the folder above that of the Python (`sys.base_prefix`) where uv lies in it, or what `DIFFUSIONFORCE_APP`
names. A source checkout has none of this: there its own Python has PyTorch and runs the children, see
`diffusionforce.wire.interpreter`.

The environment finds our code by a path file, `diffusionforce.pth`, in its site-packages. A path file comes after the
environment's own packages, so the libraries that the application carries for its window never take the place of those
that training was locked with, and they need not be installed twice: the window's toolkit is left out of it.

Nothing is used until the stamp is there, which is written last. It holds a hash of the locks, the version of Python,
the level of CUDA, and where application and code were, so that an upgrade, another lock or a moved application is
noticed. A build that was cut short goes on where it was; what was downloaded is kept in uv's cache beside it.
"""
