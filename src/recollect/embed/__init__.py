"""Opens embedders by name; the libraries that run them are imported when a model is first used, not before."""

from __future__ import annotations

from pathlib import Path

from ..endpoint import SERVICES, address_of
from ..errors import InvalidInput
from ..ports import Embedder
from ..settings import EmbedSettings
from . import granite, minilm
from .granite import bundled_tokens
from .http import HttpEmbedder, HttpLimits
from .onnx import ModelFacts, OnnxEmbedder, open_folder

__all__ = ["HttpEmbedder", "HttpLimits", "ModelFacts", "OnnxEmbedder", "bundled_tokens", "configured", "open_embedder"]

_BUNDLED = {"granite": granite.open_granite, "minilm": minilm.open_minilm}
# A store names the model that filled it by its id, and says to set that one.
_BY_ID = {granite.FACTS.model_id: "granite", minilm.FACTS.model_id: "minilm"}
_ALLOWED = "'granite', 'minilm', the path of a model folder, " + " and ".join(f"'{service}:MODEL'" for service in SERVICES)


def configured(options: EmbedSettings) -> Embedder | None:
    """The embedder of the settings; None for "none"."""
    if options.model == "none":
        return None
    return open_embedder(
        options.model,
        cache_dir=options.cache_dir,
        threads=options.threads,
        base_url=options.base_url,
        api_key=options.api_key,
        limits=HttpLimits(timeout_s=options.timeout_s),
    )


def open_embedder(
    name: str,
    *,
    cache_dir: Path,
    threads: int | None = None,
    base_url: str | None = None,
    api_key: str | None = None,
    dim: int | None = None,
    max_tokens: int | None = None,
    limits: HttpLimits | None = None,
) -> Embedder:
    """The embedder of a name: "granite", "minilm" (or their ids), the path of a model folder, "openai:MODEL" or "ollama:MODEL".

    `base_url` points "openai:MODEL" at any server that speaks OpenAI's protocol. Nothing is loaded or asked yet."""
    bundled = _BUNDLED.get(_BY_ID.get(name, name))
    if bundled:
        return bundled(cache_dir=cache_dir, threads=threads)
    if address := address_of(name, base_url=base_url, api_key=api_key):
        model, url = address
        tokens = bundled_tokens()
        return HttpEmbedder(model, base_url=url, tokens=tokens, api_key=api_key, dim=dim, max_tokens=max_tokens or 512, limits=limits)
    folder = Path(name).expanduser()
    if name and folder.is_dir():
        return open_folder(folder, threads=threads)
    raise InvalidInput(f"there is no embedder {name!r}: use {_ALLOWED}, or the setting 'none' for words alone")
