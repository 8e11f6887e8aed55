"""The documents are true: their programs run and print what they say, their links lead somewhere."""

import re
from pathlib import Path

import pytest

from imp2tf import errors
from tests.markdown_programs import Block, blocks, run
from tests.project_modules import ROOT, module_paths

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), *(ROOT / "examples").glob("*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)?(#[^)\s]+)?\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
ERRORS = (ROOT / "docs" / "errors.md").read_text(encoding="utf-8")


def error_classes(base: type = errors.ConversionError) -> list[type]:
    """A class of errors and all its subclasses."""
    return [base, *(found for below in base.__subclasses__() for found in error_classes(below))]


def section(error: type) -> str:
    """What docs/errors.md says of a class of errors."""
    _, found, rest = ERRORS.partition(f"\n## {error.code} {error.__name__}\n")
    assert found, f"docs/errors.md has no section '## {error.code} {error.__name__}'"
    return rest.partition("\n## ")[0]


def anchor(heading: str) -> str:
    """The anchor under which a heading is found."""
    return "#" + re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("error", error_classes(), ids=lambda error: error.code)
def test_every_error_has_a_section_that_shows_it(error):
    programs = blocks(section(error))
    assert all(program.output and error.code in program.output for program in programs)


@pytest.mark.parametrize("error", error_classes(), ids=lambda error: error.code)
def test_every_error_is_in_the_list(error):
    assert f"| [{error.code}]({anchor(f'{error.code} {error.__name__}')}) | `{error.__name__}` |" in ERRORS


def test_every_section_is_of_an_error():
    written = re.findall(r"^## (\w+) (\w+)$", ERRORS, re.MULTILINE)
    assert sorted(written) == sorted((error.code, error.__name__) for error in error_classes())


def test_the_design_names_every_module():
    text = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    names = [name.removeprefix("imp2tf.") for name, path in module_paths().items() if path.name != "__init__.py"]
    missing = [name for name in names if not name.startswith("converters.") and f"`{name}`" not in text]
    assert not missing, f"add to the table of modules in docs/design.md: {missing}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document):
    text = document.read_text(encoding="utf-8")
    for place, part in LINK.findall(text):
        if place.startswith(("http:", "https:")):
            continue
        target = document.parent / place if place else document
        assert target.exists(), f"{place} is not there"
        if part:
            assert part in map(anchor, HEADING.findall(target.read_text(encoding="utf-8")))


class Programs:
    """The programs of a document, run once for all tests."""

    def __init__(self, document: str) -> None:
        self.document = document
        self.blocks = blocks((ROOT / document).read_text(encoding="utf-8"))
        self.problems: dict[Block, str] = {}

    def problem(self, block: Block, folder: Path) -> str:
        """What is wrong with a program."""
        if not self.problems:
            self.problems = dict(zip(self.blocks, run(self.blocks, folder)))
        return self.problems[block]


ALL_PROGRAMS = [Programs(document) for document in ("README.md", "docs/errors.md", "docs/converters.md")]


@pytest.mark.slow
@pytest.mark.parametrize(("programs", "block"), [
    pytest.param(programs, block, id=f"{programs.document}:{block.line}")
    for programs in ALL_PROGRAMS for block in programs.blocks
])
def test_programs_print_what_the_document_says(programs, block, tmp_path):
    problem = programs.problem(block, tmp_path)
    assert not problem, problem
