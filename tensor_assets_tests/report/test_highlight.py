"""Highlighting keeps every character and every line, escapes everything, and knows the languages compilers print."""

from __future__ import annotations

import html
import re
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pygments.token import Error, Token
from tensor_worker.artifacts import Language

from tensor_assets.report.highlight import OWN, Highlighter, lexer_for
from tensor_assets_tests.report import campaign

NATIVE = sorted({(language, path) for stages in campaign.STAGES.values() for _, _, _, language, path, _ in stages})


def plain(line: str) -> str:
    return html.unescape(re.sub(r"<[^>]*>", "", line))


@pytest.mark.parametrize("language", get_args(Language))
@given(
    text=st.text(
        alphabet=st.characters(blacklist_categories=("Cs", "Cc")) | st.sampled_from("\n\t<>&\"'%@#;({"), max_size=300
    )
)
def test_any_text_in_any_language_comes_back_whole(language, text):
    lines = Highlighter().lines(text, language)
    assert [plain(line) for line in lines] == text.rstrip("\n").split("\n")


@pytest.mark.parametrize(("language", "path"), [pair for pair in NATIVE if pair[0] in OWN])
def test_our_own_lexers_know_every_word_of_their_samples(language, path):
    text = (campaign.NATIVE / path).read_text()
    assert [value for kind, value in lexer_for(language).get_tokens(text) if kind is Error] == []


@pytest.mark.parametrize(("language", "path"), NATIVE)
def test_most_words_of_native_text_get_a_colour(language, path):
    lines = Highlighter().lines((campaign.NATIVE / path).read_text(), language)
    assert sum("<span" in line for line in lines) > len(lines) / 2


@pytest.mark.parametrize(
    ("language", "text", "kind", "word"),
    [
        ("mlir", "%0 = rmo.matmul(%arg0, %1) : !mo.tensor<[8], f16>", Token.Name.Builtin, "rmo.matmul"),
        ("mlir", "%acc:2 = scf.for", Token.Name.Variable, "%acc:2"),
        ("mlir", "tensor<128x64xf16>", Token.Keyword.Type, "tensor"),
        ("egglog", "(rewrite (Add ?a ?b) (Add ?b ?a))", Token.Keyword, "rewrite"),
        ("egglog", "(rewrite (Add ?a ?b) (Add ?b ?a))", Token.Name.Variable, "?a"),
        ("sass", "        /*0060*/  HGMMA.64x64x16.F32 R24, gdesc[UR8], R24 ;", Token.Keyword, "HGMMA.64x64x16.F32"),
        ("sass", "   @!P0 BRA `(.L_x_1) ;", Token.Keyword.Pseudo, "@!P0"),
        ("asm", "      11: c4 e2 79 13 0a \tvcvtph2ps\txmm1, qword ptr [rdx]", Token.Keyword, "vcvtph2ps"),
        ("ptx", "\twgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {%f1}, %rd1;", None, "wgmma"),
    ],
)
def test_the_words_that_matter_are_recognized(language, text, kind, word):
    found = [k for k, value in lexer_for(language).get_tokens(text) if value.startswith(word) or value == word]
    assert found
    assert kind is None or found[0] in kind


def test_a_terminal_escape_in_a_name_is_seen_not_obeyed():
    assert "\x1b" not in "".join(Highlighter().lines("\x1b[31mkernel\x1b[0m", "text"))


def test_kept_results_are_the_same_as_fresh_ones(tmp_path):
    text = (campaign.NATIVE / "llvm.ll").read_text()
    first = Highlighter(tmp_path).lines(text, "llvm")
    assert Highlighter(tmp_path).lines(text, "llvm") == first == Highlighter().lines(text, "llvm")
