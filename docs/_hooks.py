"""What ``mkdocs build`` adds: pages generated from the program and the schema, and equations as MathML."""

import re
from pathlib import Path
from typing import Any

import typer
from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

from deepergcn.cli.main import app
from deepergcn.recipes.keys import recipe_keys, recipe_sections

_ROOT = Path(__file__).parents[1]
_DISPLAY = re.compile(r"\$\$(.+?)\$\$", re.DOTALL)
_INLINE = re.compile(r"(?<![\\$`])\$([^$\n`]+?)\$(?!\$)")
_ROLE = re.compile(r":(?:class|data|func|meth|mod):(?=<code[ >])")
_LONG = re.compile(r"<code>([^<\n]{38,})</code>")
_SEVERAL = re.compile(r"<code>(\w+(?:, \w+)+)</code>(?=\s*</td>)")
_OTHERS = re.compile(r"</code>\s*</td>\s*<td>\s*</td>.*?</tr>", re.DOTALL)
_STYLE = re.compile(r"<style>.*?</style>\n", re.DOTALL)
_CELL = re.compile(r"<td>[^<]*</td>")
_UNIT = re.compile(r"(?<=\d) (?=(?:s|ms|GB|MB|seeds?)\b|±)|(?<=±) | (?=[\u00b9\u00b2])")
_CODE = re.compile(r"(```.*?```|`[^`\n]+`)", re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that the program, the results and the examples know best."""
    pages = {
        "reference/commands.md": commands(),
        "reference/recipes.md": recipe_page(),
        "paper.md": paper(),
        "examples.md": examples(),
        "changes.md": (_ROOT / "CHANGELOG.md").read_text(encoding="utf-8").replace("](docs/", "]("),
    }
    for path, text in pages.items():
        files.append(File.generated(config, path, content=text))
    for picture in sorted((_ROOT / "benchmarks" / "results").glob("*.png")):
        files.append(File.generated(config, f"pictures/{picture.name}", abs_src_path=str(picture)))
    return files


def paper() -> str:
    """The README of the results, and how to read it."""
    text = (_ROOT / "results" / "README.md").read_text(encoding="utf-8")
    return _pictures(text.replace("# Results", "# Results compared with the paper", 1))


def examples() -> str:
    """Every script of ``examples/``: what it shows, what it prints, and its code."""
    lines = ["# Examples", "", "Scripts in `examples/`. The tests run each and compare what it prints.", ""]
    for path in sorted((_ROOT / "examples").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        told, _, code = text.removeprefix('"""').partition('"""\n')
        told, _, printed = told.partition("It prints::\n")
        title, _, rest = told.strip().partition("\n")
        shown = "\n".join(line.removeprefix("    ") for line in printed.strip("\n").splitlines())
        lines += [f"## {title.rstrip('.')}", "", rest.strip().replace("``", "`"), ""]
        lines += [
            f"`python examples/{path.name}` prints",
            "",
            "```text",
            shown,
            "```",
            "",
            "```python",
            code.strip(),
            "```",
            "",
        ]
    return "\n".join(lines)


def _pictures(text: str) -> str:
    """The text with charts drawn into the page, where they take the colours of its scheme."""

    def drawn(found: re.Match[str]) -> str:
        chart = (_ROOT / "results" / found[1]).read_text(encoding="utf-8").strip()
        return f'<div class="picture">\n{_STYLE.sub("", chart)}\n</div>'

    return re.sub(r"!\[[^\]]*\]\((?:results/)?([\w.+-]+\.svg)\)", drawn, text)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Equations between dollars become MathML, which browsers show without a script; code stays as it is."""
    parts = _CODE.split(markdown)
    for place in range(0, len(parts), 2):
        text = _DISPLAY.sub(lambda found: "\n\n" + convert(found[1].strip(), display="block") + "\n\n", parts[place])
        # In a span, since Markdown takes an element that it does not know for a block of its own.
        parts[place] = _INLINE.sub(lambda found: f"<span>{convert(found[1].strip())}</span>", text)
    return "".join(parts)


def on_page_content(html: str, **_: Any) -> str:
    """Docstrings name classes and functions by Sphinx's roles, which a reader need not see.

    A parameter without a type is one of several in a line, or of another class: its default is in the signature. Code
    that is wider than the screen of a telephone may be broken there; a number stays with its unit, a note's mark with
    its word.
    """
    html = _OTHERS.sub(lambda found: found[0].replace("<em>required</em>", ""), html)
    html = _SEVERAL.sub(lambda found: ", ".join(f"<code>{name}</code>" for name in found[1].split(", ")), html)
    html = _LONG.sub(r'<code class="long">\1</code>', html)
    html = _CELL.sub(lambda found: _UNIT.sub("\N{NO-BREAK SPACE}", found[0]), html)
    return _ROLE.sub("", html).replace("Example::</p>", "Example:</p>")


def commands() -> str:
    """Every command with its arguments and options, from the help texts of the program."""
    program = typer.main.get_command(app)
    lines = ["# Commands", "", "`deepergcn COMMAND --help` prints the same in the terminal.", ""]
    for name, command in program.commands.items():  # type: ignore[attr-defined]
        inner = {f"{name} {sub}": one for sub, one in getattr(command, "commands", {}).items()}
        for title, one in {name: command, **inner}.items():
            lines += [f"## deepergcn {title}", "", (one.help or "").strip(), ""]
            panels: dict[str | None, list[Any]] = {}
            for parameter in one.params:
                if parameter.name != "help":
                    panels.setdefault(getattr(parameter, "rich_help_panel", None), []).append(parameter)
            for panel, parameters in panels.items():
                lines += [] if panel is None else [f"**{panel}**", ""]
                lines += ["| option | meaning |", "|---|---|", *map(_option, parameters), ""]
    return "\n".join(lines)


def _option(parameter: Any) -> str:
    """The row of an argument or option."""
    shown = "`, `".join([*parameter.opts, *parameter.secondary_opts]) or str(parameter.name)
    if parameter.param_type_name == "argument":
        shown = (parameter.metavar or str(parameter.name)).upper()
    elif parameter.metavar:
        shown += f"` `{parameter.metavar}"
    return f"| `{shown}` | {_cell(getattr(parameter, 'help', '') or '')} |"


def recipe_page() -> str:
    """Every key of a recipe, with its type, default and meaning."""
    lines = [
        "# Recipe keys",
        "",
        "A recipe is a YAML file with a `name`, a `summary` and the sections below. `deepergcn train FILE` trains it,",
        "`--set section.key=value` changes one key, and `base: NAME` at the top takes everything else from another",
        "recipe. If the default of a key of `model` is `None`, the network has its own default.",
        "`deepergcn recipes --keys SECTION` prints the keys of a section.",
        "",
    ]
    for section, summary in recipe_sections().items():
        summary = summary.replace("``", "`")
        lines += [f"## {section}", "", summary, "", "| key | meaning | type | default |", "|---|---|---|---|"]
        for key in recipe_keys(f"{section}."):
            default = key.default if key.default == "required" else f"`{key.default}`"
            lines.append(f"| `{key.name}` | {_cell(key.meaning)} | {_cell(key.type)} | {default} |")
        lines.append("")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
