"""Files that somebody means ill with."""

from __future__ import annotations


def hostile_pdf(kids: int = 40_000) -> bytes:
    """0.4 MB that keep a parser busy for minutes: a list of pages none of which is there. Each is looked for in the
    whole file, and has a line in the log."""
    listed = b" ".join(b"%d 0 R" % (1000 + number) for number in range(kids))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Count %d /Kids [%b] >>" % (kids, listed),
    ]
    out, places = b"%PDF-1.7\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    trailer = b"trailer\n<< /Size 3 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(out)
    return out + b"xref\n0 3\n0000000000 65535 f \n" + table + trailer
