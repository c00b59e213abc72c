"""The mod that wants nothing: what a place in a chain costs by itself."""

from symposium.chain.mod import ComponentSpec, Mod

spec = ComponentSpec(
    name="pass",
    summary="Lets everything pass and looks at nothing.",
    make=Mod,
)
