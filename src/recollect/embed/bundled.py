"""Model files that come inside installed packages: found, and checked to be the published ones. The packages' code is never run."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ..errors import EmbedderError


@dataclass(frozen=True, slots=True)
class Bundle:
    """The files of a model in a package, each with its hash, and the command that installs them."""

    name: str
    package: str
    folder: Path
    sha256: dict[str, str]
    install: str

    def path(self, name: str) -> Path:
        """Where a file lies, once the package is there."""
        spec = importlib.util.find_spec(self.package)
        for place in (spec.submodule_search_locations or ()) if spec else ():
            folder = Path(place) / self.folder
            if all((folder / each).is_file() for each in self.sha256):
                return folder / name
        raise EmbedderError(
            f"the model {self.name!r} is not installed (no {self.folder.as_posix()!r} in a package {self.package!r}): {self.install}"
        )

    def read(self, name: str) -> bytes:
        """The bytes of a file, if they are the published ones."""
        path = self.path(name)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise EmbedderError(f"the file {str(path)!r} of {self.name!r} cannot be read ({error.strerror}): {self.install}") from error
        self.check(data, self.sha256[name], path)
        return data

    def check(self, data: bytes, expected: str, path: Path) -> None:
        """Refuse bytes of another hash."""
        if sha256(data).hexdigest() != expected:
            raise EmbedderError(f"the file {str(path)!r} of {self.name!r} is not the published one: {self.install}")
