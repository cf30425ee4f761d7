"""Model files that come inside installed packages: found, and checked to be the published ones. The packages' code is never run."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ..errors import EmbedderError


@dataclass(frozen=True, slots=True)
class Bundle:
    """The files of a model in a package, each with its hash; the package's requirement, and the command that installs it."""

    name: str
    package: str
    folder: Path
    sha256: dict[str, str]
    requirement: str
    install: str

    def path(self, name: str) -> Path:
        """Where a file lies, once the package is there and has all of them."""
        spec = importlib.util.find_spec(self.package)
        if spec is None:
            raise EmbedderError(f"the model {self.name!r} is not installed: {self.install}")
        folders = [Path(place) / self.folder for place in spec.submodule_search_locations or ()]
        for folder in folders:
            if all((folder / each).is_file() for each in self.sha256):
                return folder / name
        raise EmbedderError(f"the files of the model {self.name!r} are not all in {[str(folder) for folder in folders]}: {self._repair}")

    def read(self, name: str) -> bytes:
        """The bytes of a file, if they are the published ones."""
        return self.read_part(name, start=0, length=-1, expected=self.sha256[name])

    def read_part(self, name: str, *, start: int, length: int, expected: str) -> bytes:
        """Some of the bytes of a file, if their hash is the expected one."""
        path = self.path(name)
        try:
            with path.open("rb") as file:
                file.seek(start)
                data = file.read(length)
        except OSError as error:
            raise EmbedderError(f"the file {str(path)!r} of {self.name!r} cannot be read ({error.strerror}): {self._repair}") from error
        if sha256(data).hexdigest() != expected:
            raise EmbedderError(f"the file {str(path)!r} of {self.name!r} is not the published one: {self._repair}")
        return data

    @property
    def _repair(self) -> str:
        """A plain install does nothing where the package is there but damaged."""
        return f"pip install --force-reinstall --no-deps {self.requirement}"
