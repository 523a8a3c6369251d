"""A certificate that nobody trusts, made for the occasion with the openssl program."""

import shutil
import ssl
import subprocess
import tempfile
from pathlib import Path


def self_signed() -> ssl.SSLContext:
    """A server's TLS context with a fresh self-signed certificate; raises RuntimeError where openssl is missing."""
    openssl = shutil.which("openssl")
    if openssl is None:
        raise RuntimeError("a self-signed certificate needs the openssl program, which isn't on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        key, certificate = Path(folder, "key.pem"), Path(folder, "certificate.pem")
        request = [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"]
        command = [*request, *names, "-keyout", str(key), "-out", str(certificate)]
        subprocess.run(command, check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
    return context
