"""Asks language models behind OpenAI-compatible endpoints, for JSON or for a text; nothing is asked before somebody has a question."""

from __future__ import annotations

from ..endpoint import SERVICES, address_of
from ..errors import InvalidInput
from ..ports import Llm
from ..settings import LlmSettings
from .http import HttpLlm

__all__ = ["HttpLlm", "configured"]


def configured(options: LlmSettings) -> Llm | None:
    """The language model of the settings; None where there is none."""
    if options.model in (None, "", "none"):
        return None
    address = address_of(options.model, base_url=options.base_url, api_key=options.api_key)
    if address is None:
        allowed = " or ".join(f"'{service}:MODEL'" for service in SERVICES)
        raise InvalidInput(f"llm.model is {options.model!r}: use {allowed}; 'openai' with llm.base_url is any server of that protocol")
    model, url = address
    return HttpLlm(
        model,
        base_url=url,
        api_key=options.api_key,
        timeout_s=options.timeout_s,
        answer_timeout_s=options.answer_timeout_s,
        silence_timeout_s=options.silence_timeout_s,
    )
