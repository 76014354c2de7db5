"""A tiny application to build environments of: two wheels that are called torch and torchvision, and a library.

uv cannot tell them from large ones, and building an environment of them takes a second and no network.
"""

import base64
import hashlib
import sys
import zipfile
from pathlib import Path

TORCH_CODE = """
__version__ = "9.1.0"
class version:
    cuda = None
class cuda:
    @staticmethod
    def is_available():
        return False
"""
VERSIONS = {"torch": "9.1.0", "torchvision": "8.1.0", "tinylib": "1.2.3"}
CODES = {"torch": TORCH_CODE, "torchvision": "import torch\n", "tinylib": "ANSWER = 42\n"}


def make_application(root: Path, *, codes: dict[str, str] | None = None) -> Path:
    """Make the folder of an application, with wheels and lock files, and return it.

    Args:
        root: The folder to make.
        codes: Code of packages that is other than usual.
    """
    wheels, locks = root / "wheels", root / "locks"
    for folder in (wheels, locks):
        folder.mkdir(parents=True)
    hashes = {name: make_wheel(wheels, name, code=(codes or {}).get(name, CODES[name])) for name in VERSIONS}
    for name in ("torch", "torchvision"):
        (locks / f"{name}.txt").write_text(f"# A version.\n{name}=={VERSIONS[name]}\n", encoding="utf-8")
    pin = f"tinylib=={VERSIONS['tinylib']} \\\n    --hash=sha256:{hashes['tinylib']}\n"
    (locks / "runtime.txt").write_text(f"{pin}pyside6-essentials==0.0.1 \\\n    --hash=sha256:{'0' * 64}\n", "utf-8")
    (locks / "musubi.txt").write_text("# Nothing more.\n", encoding="utf-8")
    (locks / "imports.txt").write_text("torch\ntorchvision\ntinylib\n", encoding="utf-8")
    return root


def make_wheel(folder: Path, name: str, *, code: str, version: str | None = None) -> str:
    """Write a wheel with one module and return its SHA-256.

    Args:
        folder: Where to.
        name: Of the package and its module.
        code: Of the module.
        version: Of the package; None takes the usual one.
    """
    version = version or VERSIONS[name]
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},{_record_hash(text)},{len(text.encode())}\n" for path, text in files.items())
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n"
    path = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inner, text in files.items():
            archive.writestr(inner, text)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def use(application: Path, home: Path) -> dict[str, str]:
    """Return the variables with which a process takes an application for its own, and a data folder."""
    return {"DIFFUSIONFORCE_APP": str(application), "DIFFUSIONFORCE_HOME": str(home)}


def _record_hash(text: str) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    return f"sha256={digest}"


if __name__ == "__main__":
    sys.stdout.write(f"{make_application(Path(sys.argv[1]))}\n")
