"""Secrets of many kinds, and a record that carries one in every place that leads to a reader."""

from __future__ import annotations

from tensor_worker.artifacts import Capture, Launch, Plan, Stage

from tensor_assets.evidence.identity import Identity
from tensor_assets.evidence.store import EvidenceStore
from tensor_assets.records import CaptureRecord, Key, Outcome, Provenance, StageFile

# Put together from halves, so that a scanner of this repository finds nothing here.
LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zAbCdEfGhIjKl"
HOST = Identity(
    users=("janedoe",),
    hosts=("node17.lab.example",),
    homes=("/data/people/janedoe",),
    secrets=("correct-horse-battery",),
)
PLANTED = {
    "private key": ("-----BEGIN RSA PRIV" + f"ATE KEY-----\n{LETTERS}\n-----END RSA PRIV" + "ATE KEY-----", LETTERS),
    "cloud access key": ("AKI" + "AIOSFODNN7EXAMPLE", "IOSFODNN7"),
    "code host token": ("gh" + f"p_{LETTERS[:36]}", LETTERS[:36]),
    "fine-grained token": ("github_" + f"pat_{LETTERS[:30]}", LETTERS[:30]),
    "model hub token": ("hf" + f"_{LETTERS[:34]}", LETTERS[:34]),
    "model provider key": ("sk" + f"-proj-{LETTERS[:30]}", LETTERS[:30]),
    "compute provider token": ("ak" + f"-{LETTERS[:22]}", LETTERS[:22]),
    "chat token": ("xox" + f"b-123456789012-{LETTERS[:24]}", LETTERS[:24]),
    "package index token": ("py" + f"pi-AgEI{LETTERS}", LETTERS[:20]),
    "signed web token": ("ey" + "JhbGciOiJIUzI1.ey" + f"JzdWIiOiIxMjM0.{LETTERS[:20]}", "zdWIiOiIxMjM0"),
    "bearer header": ("Authorization: Bear" + f"er {LETTERS[:24]}", LETTERS[:24]),
    "token alone in a URL": ("git+https://" + "t0ken4nobody@packages.myhost/simple", "t0ken4nobody"),
    "password in a URL": ("https://deploy:" + "hunter2222@git.example.org/x", "hunter2222"),
    "password assignment": ('"pass' + 'word": "hunter2222"', "hunter2222"),
    "environment variable": ("WANDB_API_K" + "EY=0123456789abcdef0123", "0123456789abcdef0123"),
    "value of this environment": ("passphrase was correct-horse-battery", "correct-horse-battery"),
    "home path": ("/home/janedoe/.cache/torchinductor/ab/cab.py", "janedoe"),
    "home path elsewhere": ("/data/people/janedoe/secret_project/k.cu", "secret_project"),
    "user name": ("compiled by janedoe", "janedoe"),
    "e-mail address": ("jane.doe@corp.example", "jane.doe"),
    "host name": ("ran on node17.lab.example", "node17"),
    "internal host name": ("ip-10-0-3-17.ec2.internal", "10-0-3-17"),
    "IPv4 address": ("connect 10.20.30.40:8443", "10.20.30.40"),
    "IPv6 address": ("inet6 fe80::1ff:fe23:4567:890a", "fe23:4567"),
    "hardware address": ("ether 00:1a:2b:3c:4d:5e", "2b:3c"),
    "boot id": ("boot_id: 123e4567-e89b-42d3-a456-426614174000", "123e4567"),
    "process id": ("pid=31337", "31337"),
}


def comment(text: str) -> bytes:
    return "".join(f"// {line}\n%0 = arith.addf %a, %b : f32\n" for line in text.splitlines()).encode() * 40


def planted_record(store: EvidenceStore, text: str) -> CaptureRecord:
    """The secret in an IR comment, a kernel's name, a reason, a command, a log, a profiler's file, an environment."""
    name = f"kernel {text}"
    stage = Stage(name="s", title="S", level="code", language="mlir", path="s.mlir", produced_by=name)
    return CaptureRecord(
        key=Key(workload="w", compiler="tvm"),
        outcome=Outcome(
            status="crashed",
            reason=f"died at {text}",
            log=store.put_bytes(text.encode(), "text/plain", "worker.log", private=True),
        ),
        provenance=Provenance(
            created="2026-01-01",
            command=("python", "-m", "x", text),
            environment={"NOTE": text},
            packages={"a": "1.2.3"},
        ),
        capture=Capture(stages=(stage,)),
        stages=(StageFile(stage="s", text=store.put_bytes(comment(text), "text/x-mlir", f"{text}.mlir")),),
        plan=Plan(launches=(Launch(kind="kernel", name=name, parameters={"note": text}),), notes=(text,)),
        phases={text: 1.0},
        cache=store.put_bytes(text.encode() * 9, "application/x-nsys", "trace.nsys-rep"),
    )
