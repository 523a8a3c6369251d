"""A query's answer as a CSV file to download, as `claimbase export` writes it."""

import tempfile
from pathlib import Path

from starlette.background import BackgroundTask
from starlette.responses import FileResponse, Response

from extract.web.site import Site
from store.export import export


def csv_of(site: Site, what: str, name: str) -> Response:
    """All rows of a SELECT, in a file called `name`. Raises what `export` does.

    The file is whole before the first byte is sent, so that an error is a page, and it is gone once it has been sent.
    """
    folder = tempfile.TemporaryDirectory(prefix="claimbase-")
    file = Path(folder.name) / "rows.csv"
    try:
        with site.reads.alone():
            export(site.db, what, str(file))
    except BaseException:
        folder.cleanup()
        raise
    done = BackgroundTask(folder.cleanup)
    return FileResponse(file, media_type="text/csv; charset=utf-8", filename=name, background=done)
