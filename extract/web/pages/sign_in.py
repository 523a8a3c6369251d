"""The page that asks for the token, where a server has one, and the link that brings it along."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from extract.web.safety import SIGN_IN, Door, form_of, signed_in
from extract.web.site import site_of


def ask(request: Request) -> Response:
    """The form; or in, if the address has the token. It is taken out of the address at once."""
    token = request.query_params.get("token")
    return _answer(request, token) if token is not None else site_of(request).render(request, "sign_in.html", wrong="")


def answer(request: Request) -> Response:
    """In with the right token, the form again with a wrong one."""
    return _answer(request, form_of(request).get("token", ""))


def _answer(request: Request, token: str) -> Response:
    door: Door = request.app.state.door
    if door.token is not None and door.admits(token):
        return signed_in(token, RedirectResponse("/", 303))
    return site_of(request).render(request, "sign_in.html", 403, wrong="That is not the token.")


ROUTES = (
    Route(SIGN_IN, ask, name="sign_in"),
    Route(SIGN_IN, answer, methods=["POST"]),
)
