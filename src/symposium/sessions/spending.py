"""Saved spending of a session's agent, and the known currencies."""

from pathlib import Path
from typing import Final

from msgspec import DecodeError, Struct, ValidationError, field, json

from localio.files import write_whole

FILE: Final = "spent.json"


class Spending(Struct):
    """Total spending of an agent, across restarts.

    Attributes:
        costs: reported costs by currency, such as `usd`; may be empty.
        seconds: total duration of turns.
        turns: number of completed turns.
        session: the agent's session id of the last report.
        reported: last cumulative costs of that session; each session starts at zero.
    """

    costs: dict[str, float] = field(default_factory=dict[str, float])
    seconds: float = 0.0
    turns: int = 0
    session: str = ""
    reported: dict[str, float] = field(default_factory=dict[str, float], name="told")


def read_spending(directory: Path) -> Spending:
    """Read the saved spending, or an empty one."""
    try:
        return json.decode((directory / FILE).read_bytes(), type=Spending)
    except (OSError, DecodeError, ValidationError):
        return Spending()


def write_spending(directory: Path, spending: Spending) -> None:
    """Save the spending.

    Raises:
        OSError: it cannot be written.
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
"""Currency codes (ISO 4217) in lower case, as in a budget."""
