"""Signs a user in with requests-oauthlib, and verifies the access token with PyJWT: stock libraries, as they are."""

import base64, hashlib, json, os, secrets, sys

os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"  # the address of a test is not https

import jwt, requests
from requests_oauthlib import OAuth2Session
from urllib.parse import parse_qs, urlencode, urlsplit

base, redirect_uri, user = sys.argv[1:]
server = requests.get(base + "/.well-known/oauth-authorization-server").json()
session = OAuth2Session("an app", redirect_uri=redirect_uri, scope=["profile"])
verifier = secrets.token_urlsafe(32)
challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
url, state = session.authorization_url(
    server["authorization_endpoint"], code_challenge=challenge, code_challenge_method="S256"
)


def redirect_of(address):
    return requests.get(address, allow_redirects=False).headers["Location"]


# What the browser does: the stub provider makes the code's text the user's id.
asked = parse_qs(urlsplit(redirect_of(url)).query)
callback = asked["redirect_uri"][0] + "?" + urlencode({"code": user, "state": asked["state"][0]})
back = redirect_of(callback)

tokens = session.fetch_token(
    server["token_endpoint"], authorization_response=back, code_verifier=verifier, include_client_id=True
)
refreshed = session.refresh_token(server["token_endpoint"], refresh_token=tokens["refresh_token"])
key = jwt.PyJWKClient(server["jwks_uri"]).get_signing_key_from_jwt(refreshed["access_token"]).key
claims = jwt.decode(refreshed["access_token"], key, algorithms=["ES256"], issuer=base, audience=base)
me = session.get(base + "/me").json()
requests.post(server["revocation_endpoint"], data={"token": refreshed["refresh_token"]}).raise_for_status()
print(json.dumps({
    "user_id": tokens["user_id"],
    "claims": claims,
    "me": me,
    "iss": parse_qs(urlsplit(back).query)["iss"],
    "kept": refreshed["refresh_token"] == tokens["refresh_token"],
    "after": session.get(base + "/me").status_code,
}))
