"""What the agent of a session has spent, and the currencies of it."""

from pathlib import Path
from typing import Final

from msgspec import DecodeError, Struct, ValidationError, field, json

from localio.files import write_whole

FILE: Final = "spent.json"


class Spending(Struct):
    """All lives of an agent together.

    Attributes:
        costs: what it has told, by currency: `usd` and the like; empty if it has told none.
        seconds: in turns.
        turns: that have ended.
        told: the last sums that it has told for its session of that name, which begin anew with
            each session.
    """

    costs: dict[str, float] = field(default_factory=dict[str, float])
    seconds: float = 0.0
    turns: int = 0
    session: str = ""
    told: dict[str, float] = field(default_factory=dict[str, float])


def read_spending(directory: Path) -> Spending:
    """What is known; nothing spent where nothing is written."""
    try:
        return json.decode((directory / FILE).read_bytes(), type=Spending)
    except (OSError, DecodeError, ValidationError):
        return Spending()


def write_spending(directory: Path, spending: Spending) -> None:
    """Write it down.

    Raises:
        OSError: that is not possible.
    """
    write_whole(directory / FILE, json.encode(spending).decode())


CURRENCIES: Final = frozenset(
    (
        *("aed", "afn", "all", "amd", "ang", "aoa", "ars", "aud", "awg", "azn", "bam", "bbd"),
        *("bdt", "bgn", "bhd", "bif", "bmd", "bnd", "bob", "brl", "bsd", "btn", "bwp", "byn"),
        *("bzd", "cad", "cdf", "chf", "clp", "cny", "cop", "crc", "cup", "cve", "czk", "djf"),
        *("dkk", "dop", "dzd", "egp", "ern", "etb", "eur", "fjd", "fkp", "gbp", "gel", "ghs"),
        *("gip", "gmd", "gnf", "gtq", "gyd", "hkd", "hnl", "htg", "huf", "idr", "ils", "inr"),
        *("iqd", "irr", "isk", "jmd", "jod", "jpy", "kes", "kgs", "khr", "kmf", "kpw", "krw"),
        *("kwd", "kyd", "kzt", "lak", "lbp", "lkr", "lrd", "lsl", "lyd", "mad", "mdl", "mga"),
        *("mkd", "mmk", "mnt", "mop", "mru", "mur", "mvr", "mwk", "mxn", "myr", "mzn", "nad"),
        *("ngn", "nio", "nok", "npr", "nzd", "omr", "pab", "pen", "pgk", "php", "pkr", "pln"),
        *("pyg", "qar", "ron", "rsd", "rub", "rwf", "sar", "sbd", "scr", "sdg", "sek", "sgd"),
        *("shp", "sle", "sos", "srd", "ssp", "stn", "svc", "syp", "szl", "thb", "tjs", "tmt"),
        *("tnd", "top", "try", "ttd", "twd", "tzs", "uah", "ugx", "usd", "uyu", "uzs", "ved"),
        *("ves", "vnd", "vuv", "wst", "xaf", "xcd", "xof", "xpf", "yer", "zar", "zmw", "zwg"),
    )
)
"""By their codes (ISO 4217), as people write them in a budget."""
