"""Mod without any handlers, to measure the cost of a place in a chain."""

from symposium.chain.mod import ComponentSpec, Mod

spec = ComponentSpec(
    name="pass",
    summary="Forwards everything without reading it.",
    make=Mod,
)
