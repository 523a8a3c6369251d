"""The web app of `claimbase serve`: pages over one database, for one person or a few, on loopback.

It shows what the store has and appends what a person decides; it calls no model and holds no state but a cache.

How a page is added:

1. `pages/NAME.py` with `ROUTES`, a tuple of Starlette routes whose endpoints are plain functions of a request (they
   run in threads, so they may wait for the database). An endpoint takes what it needs from `site_of(request)`:
   `site.db` is the path, `site.store` a `Store`, `with site.reads.open() as con` a connection that only reads, `with
   site.reads.writing() as con` a transaction. All of these may raise `StoreError`: the app makes a page of it. Return
   `site.render(request, "NAME.html", **context)`. Queries stand in a module of their own, `NAME_rows.py`.
2. `templates/NAME.html`, which extends `base.html` and fills the blocks `title`, `main` and, if it has a script,
   `scripts`: `<script type="module" src="{{ asset('NAME.js') }}"></script>`. No script or style stands in a page: the
   Content-Security-Policy refuses them (`style="..."` too; set what must be computed by class or by script). A part
   that htmx swaps is a template of its own (`NAME_PART.html`, included by the page), returned when
   `is_partial(request)`. `macros.html` has controls and paging, `cells.html` tables of any rows, `paper_parts.html`
   the marked abstract and its claims.
3. `static/NAME.js`, a module without dependencies; `onKey` of `site.js` gives it keys. `static/site.css` is the one
   style sheet, with the names of colours and sizes at its top. What was fetched from others is in `static/vendor/`,
   listed in its LICENSES.md.
4. One line in `app.PAGES`, and one in `rendering.NAVIGATION` for a page that the head of all pages leads to.

What changes something is a POST. `safety` refuses one without the page's token: a form holds `{{ csrf_field() }}`, a
script sends the header `X-CSRF-Token` with what `<meta name="csrf">` says; htmx does by itself. The endpoint reads the
fields by `form_of(request)`, one text each. A macro that uses `csrf_field` is imported `with context`.

Links are made by `url_for` in Python and by `path_for(name, **parameters)` in templates. The tests' fixtures are in
`tests/browser.py`: `site` (a client without a browser), `served` (a server on loopback), `browser_page` (a chromium).
"""
