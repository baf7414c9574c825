"""The rules of redaction, in the order they apply. Each was written against the twenty kinds of secret that the tests
plant and against the native text of seven compilers, where ``x@w.T`` is no address and ``ld.local`` no host."""

from __future__ import annotations

import re
from collections.abc import Callable

from tensor_assets.evidence.identity import Identity

_SECRET, _HOME, _USER, _HOST, _ADDRESS = "<secret>", "<home>", "<user>", "<host>", "<address>"
PLACEHOLDER = re.compile(r"<(?:secret|home|user|host|address|path|packages|email|pid)>")


class Rule:
    """``hints``: in lower case, text that the pattern matches holds at least one of them. ``clue``: a pattern that
    begins with a literal, and matches somewhere in such text. Looking for them first makes most rules cost nothing."""

    def __init__(
        self, name: str, pattern: str, replace: str | Callable[[re.Match[str]], str], *hints: str, clue: str = ""
    ) -> None:
        self.name, self.replace, self.hints = name, replace, tuple(hint.lower() for hint in hints)
        self.pattern, self.clue = re.compile(pattern), re.compile(clue)

    def may_match(self, lowered: str) -> bool:
        return any(hint in lowered for hint in self.hints) and self.clue.search(lowered) is not None


def all_rules(identity: Identity) -> tuple[Rule, ...]:
    """Every rule in the order it applies, with those for the words that this host, account and environment are known
    by. A user's name is looked for after the paths it may be part of."""
    return (
        *(_literal("secret", word, _SECRET) for word in identity.secrets),
        *(Rule("home", rf"{re.escape(home)}(?![\w.-]|/\w)", _HOME, home) for home in identity.homes),
        *_RULES,
        *(_literal("host", word, _HOST) for word in identity.hosts),
        *(_literal("user", word, _USER) for word in identity.users),
    )


def _literal(name: str, word: str, placeholder: str) -> Rule:
    return Rule(name, rf"(?<!\w){re.escape(word)}(?!\w)", placeholder, word)


# Formats that their issuers made recognizable, so that they can be found: what each begins with, and all of it.
_TOKENS = {
    "AKIA": r"\bAKIA[A-Z0-9]{16}\b",
    "ASIA": r"\bASIA[A-Z0-9]{16}\b",
    "gh": r"\bgh[pousr]_[A-Za-z0-9]{30,}",
    "github_pat_": r"\bgithub_pat_\w{22,}",
    "glpat-": r"\bglpat-[\w-]{20,}",
    "xox": r"\bxox[abeoprs]-[\w-]{10,}",
    "hooks.": r"\bhooks[.][\w.-]+/services/[\w/]+",
    "hf_": r"\bhf_[A-Za-z0-9]{30,}",
    "sk-": r"\bsk-[\w-]{20,}",
    "k_live_": r"\b[rs]k_live_\w{16,}",
    "AIza": r"\bAIza[\w-]{35}",
    "npm_": r"\bnpm_[A-Za-z0-9]{36}\b",
    "pypi-": r"\bpypi-[\w-]{40,}",
    "eyJ": r"\beyJ[\w-]{8,}[.]eyJ[\w-]{8,}[.][\w-]*",
    "dapi": r"\bdapi[0-9a-f]{32}\b",
    "dckr_pat_": r"\bdckr_pat_[\w-]{20,}",
    "SG.": r"\bSG[.][\w-]{16,}[.][\w-]{16,}",
    "AccountKey": r"\bAccountKey=[A-Za-z0-9+/=]{40,}",
    "ak-": r"\bak-[A-Za-z0-9]{20,}\b",
    "as-": r"\bas-[A-Za-z0-9]{20,}\b",
    "ssh-": r"\bssh-(?:rsa|ed25519|dss) AAAA[A-Za-z0-9+/=]{20,}(?: [^\s\"]+)?",
    "AGE-SECRET-KEY-": r"\bAGE-SECRET-KEY-[A-Z0-9]{20,}",
}

_SAYS = r"([\\\"']*\s*[:=]\s*[\\\"']*)"  # between a name and its value, in code, JSON, JSON in JSON, or a header
_SECRET_NAMES = (
    r"password|passwd|passphrase|client_secret|secret_key|api[_-]?key|(?:auth|access|refresh|session)[_-]?token"
    r"|private[_-]?key|set-cookie|cookie"
)
_SECRET_HINTS = ("passw", "passphrase", "secret", "api", "token", "private", "cookie")
_SHOUTED = (
    r"[A-Z0-9_]{0,64}(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?)[A-Z0-9_]{0,64}"
)
_UUID = r"[0-9a-fA-F]{8}-?(?:[0-9a-fA-F]{4}-?){3}[0-9a-fA-F]{12}"
_TLDS = "io|ai|dev|cloud|tech|info|de|uk|eu|fr|ch|at|nl|se|no|fi|pl|cz|it|es|jp|cn|kr|in|ca|au|br|ru|us|local|test"
_LONG_TLDS = "com|org|net|edu|gov|mil|internal|lan|corp|intranet|example"  # no attribute of an array is called so
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_SEGMENT = r"[^/\s\"'<>:;,|`(){}\[\]=*?$\\]+"
_EXTENSION = re.compile(
    r"[.](?:py|pyc|pyi|c|h|cc|cpp|cxx|hpp|cu|cuh|cl|ptx|cubin|fatbin|sass|so(?:[.]\d+)*|o|a|ll|bc|mlir|td|json|jsonl|txt"
    r"|egg|mojo|rs|s|S|asm|ttir|ttgir|llir|amdgcn|npz|npy|md|toml|yaml|yml|cfg|html|js|css|csv|lock|dot|svg|whl|sh|bin"
    r"|dat|zst|tar|gz|zip|parquet)"
)
# Every machine has these; they say where a tool lies, not whose it is.
_SYSTEM = r"(?!(?:usr|lib|lib64|bin|sbin|dev|etc|sys)/|proc/[a-z])"


def _keep_lines(match: re.Match[str]) -> str:
    return _SECRET + "\n" * match[0].count("\n")


def _shorten_path(match: re.Match[str]) -> str:
    """What identifies the file to a reader, without where it lay: "<packages>/torch/x.py", "<path>/kernel.cu"."""
    path = match[0]
    for marker in ("/site-packages/", "/dist-packages/"):
        if marker in path:
            return "<packages>/" + path.rpartition(marker)[2]
    name = path.rstrip("/").rpartition("/")[2]
    stem, dot, extension = name.partition(".")
    return f"<path>/{name}" if stem and _EXTENSION.fullmatch(dot + extension) else "<path>"


_RULES = (
    Rule(
        "secret",
        r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|\Z)",
        _keep_lines,
        "PRIVATE KEY",
    ),
    *(Rule("secret", pattern, _SECRET, start) for start, pattern in _TOKENS.items()),
    Rule("secret", r"(?<=://)[^/\s:@\"'<]*:[^/\s@\"'<]+(?=@)", _SECRET, "://"),
    Rule("secret", r"(?<=https://)[^/\s:@\"'<]+(?=@)", _SECRET, "https://"),  # over HTTP a token often stands alone
    Rule(
        "secret",
        r"\b(?i:authorization)" + _SAYS + r"(?:\w+ +)?[^\s\"'<\\]{6,}",
        r"Authorization\1<secret>",
        "authorization",
    ),
    Rule("secret", r"\b(?i:bearer) +[A-Za-z0-9._~+/=-]{16,}", _SECRET, "bearer"),
    Rule(
        "secret",
        rf"\b({_SHOUTED}){_SAYS}[^\s\"',;<(%$\\]{{6,}}",
        r"\1\2<secret>",
        *("token", "secret", "passw", "api_key", "apikey", "access", "private", "credential"),
    ),
    Rule("secret", rf"\b((?i:{_SECRET_NAMES})){_SAYS}[^\s\"',;<(%$\\]{{6,}}", r"\1\2<secret>", *_SECRET_HINTS),
    Rule(
        "secret",
        r"\b(machine\s{1,9}\S{1,255}\s{1,9}login\s{1,9}\S{1,255}\s{1,9}password\s{1,9})[^\s<]\S*",
        r"\1<secret>",
        "machine",
    ),
    Rule(
        "home",
        r"/(?:home|Users)/(?!<)[^/\s\"'<>:;,|`(){}\[\]\\]+(?=[\s\"'<>:;,|`(){}\[\]\\]|/?$)",
        _HOME,
        "/home/",
        "/Users/",
    ),
    Rule("home", r"\b[A-Za-z]:\\{1,2}Users\\{1,2}[^\\\s\"'<>]+", _HOME, "Users\\"),
    Rule(
        "path",
        # begins with a literal, so that the search jumps from slash to slash; what stands before it comes second
        r"/(?:(?<![\w.:/<>@~%+&-]/)|(?<=-[ILo]/)|(?<=\w:/)|(?<=>:/)|(?<=file:///))"
        rf"{_SYSTEM}{_SEGMENT}(?:/{_SEGMENT})+/?",
        _shorten_path,
        "/",
    ),
    Rule(
        "email",
        rf"(?<![\w.+-])[\w.+-]{{1,64}}+@(?:[\w-]{{1,63}}[.]){{1,8}}(?:(?:{_TLDS})\b(?![\w(.])|(?:{_LONG_TLDS})\b(?![\w(]))",
        "<email>",
        "@",
    ),
    Rule("user", r"(?<![\w.-])[a-z_][\w.-]{0,63}+@[\w.-]{1,255}(?=:[~/<])", f"{_USER}@{_HOST}", "@"),
    Rule("host", rf"\b((?i:hostname|nodename|slurmd_nodename|computername)){_SAYS}[\w.-]+", rf"\1\2{_HOST}", "name"),
    Rule(
        "host",
        r"(?<![\w.-])(?=[\w.]{0,255}[-\d])(?:[\w-]{1,63}+[.]){1,8}(?:internal|lan|corp|intranet|localdomain)\b(?![(])",
        _HOST,
        *(".internal", ".lan", ".corp", ".intranet", ".localdomain"),
    ),
    Rule("host", r"(?<![\w.-])(?=\w{0,63}-)[\w-]{1,63}+[.]local\b(?![(])", _HOST, ".local"),
    Rule("host", r"\bec2-[\d-]+[.][\w.-]+", _HOST, "ec2-"),
    Rule(
        "host",
        rf"\b((?i:boot|machine|system)[_-]?(?i:id|uuid)){_SAYS}{_UUID}",
        rf"\1\2{_HOST}",
        *("boot", "machine", "system"),
    ),
    Rule(
        "host",
        rf"\b((?i:serial)(?: ?(?i:number|no))?){_SAYS}(?=[\w-]{{0,64}}\d)[\w-]{{6,}}",
        rf"\1\2{_HOST}",
        "serial",
    ),
    Rule(
        "address",
        r"(?<![\w:-])(?:[0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}(?![\w:-])",
        _ADDRESS,
        ":",
        clue=r":[0-9a-f]{2}:[0-9a-f]{2}:",
    ),
    Rule(
        "address",
        rf"(?<![\w.<>~^-])(?<!==)(?<!ersion )(?<!ersion: )(?!127[.]|0[.]0[.]0[.]0|255[.]){_OCTET}(?:[.]{_OCTET}){{3}}"
        r"(?!\w|-\w|[.]\d|[.](?:dev|post|rc))",
        _ADDRESS,
        ".",
        clue=r"[.]\d{1,3}[.]\d{1,3}[.]\d",
    ),
    Rule(
        "address",
        r"(?<![\w:.])(?:(?:[0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|(?:fe80|f[cd][0-9a-f]{2}|2[0-9a-f]{3})(?::[0-9a-f]{1,4}){0,6}"
        r"::(?:[0-9a-f]{1,4}(?::[0-9a-f]{1,4}){0,6})?)(?![\w:])",
        _ADDRESS,
        ":",
        clue=r":(?:[0-9a-f]{1,4}:|:[0-9a-f]{1,4}\b|:(?!\w))",
    ),
    Rule(
        "pid",
        r"\b(p?pid|PID|process id)([\\\"']*(?: ?[:=#] ?| )[\\\"']*)\d{2,}\b",
        r"\1\2<pid>",
        *("pid", "process id"),
    ),
)
