"""Small workbooks of Excel, made by hand."""

import zipfile
from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import escape

_RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"


def write_workbook(path: Path, **sheets: Sequence[Sequence[object]]) -> Path:
    """A workbook with these sheets of rows; None is a cell that is not there."""
    names = list(sheets)
    listed = "".join(f'<sheet name="{n}" sheetId="{i}" r:id="r{i}"/>' for i, n in enumerate(names, start=1))
    linked = "".join(
        f'<Relationship Id="r{i}" Type="{_RELATIONS}/worksheet" Target="worksheets/sheet{i}.xml"/>'
        for i in range(1, len(names) + 1)
    )
    files = {
        "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r1" '
        f'Type="{_RELATIONS}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook {_MAIN} xmlns:r="{_RELATIONS}"><sheets>{listed}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships">{linked}</Relationships>',
    }
    for number, rows in enumerate(sheets.values(), start=1):
        data = "".join(
            f'<row r="{r}">{"".join(_cell(r, c, cell) for c, cell in enumerate(row) if cell is not None)}</row>'
            for r, row in enumerate(rows, start=1)
        )
        files[f"xl/worksheets/sheet{number}.xml"] = f"<worksheet {_MAIN}><sheetData>{data}</sheetData></worksheet>"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{content}')
    return path


def _cell(row: int, column: int, value: object) -> str:
    place = f"{chr(ord('A') + column)}{row}"
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, int | float):
        return f'<c r="{place}"><v>{value}</v></c>'
    return f'<c r="{place}" t="inlineStr"><is><t xml:space="preserve">{escape(str(value))}</t></is></c>'
