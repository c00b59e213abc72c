"""Archives of packages, made in memory."""

import io
import tarfile
import zipfile
from collections.abc import Mapping


def tar_gz(files: Mapping[str, bytes]) -> bytes:
    """A gzipped tar."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as tar:
        for name, body in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return made.getvalue()


def wheel(files: Mapping[str, bytes]) -> bytes:
    """A zip."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, body in files.items():
            packed.writestr(name, body)
    return made.getvalue()
