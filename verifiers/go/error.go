package latchkey

import (
	"cmp"
	"encoding/json"
	"net/http"
)

// Error is the error of all methods. Answer with its Status: 401 is about the token and nothing else.
type Error struct {
	Status      int               // 401, 403, 503, 500
	Code        string            // invalid_token, insufficient_scope, temporarily_unavailable, service_key_refused
	Description string            // for people; contains nothing of the token
	Header      map[string]string // WWW-Authenticate, Retry-After
	Cause       error             // why the service could not be reached
}

var (
	errInvalid = invalidToken("the access token is invalid")
	errNoToken = challenge(401, "invalid_token", "an access token is needed, as a bearer token", "")
	errNoRole  = challenge(403, "insufficient_scope", "the user does not have the right to do this",
		` error="insufficient_scope"`)
	errRefused = &Error{500, "service_key_refused",
		"the service does not know the service key, or it has no right `read`", nil, nil}
)

func challenge(status int, code, description, attribute string) *Error {
	return &Error{status, code, description, map[string]string{"WWW-Authenticate": "Bearer" + attribute}, nil}
}

func invalidToken(description string) *Error {
	return challenge(401, "invalid_token", description, ` error="invalid_token"`)
}

func unavailable(cause error, retryAfter string) *Error {
	const description = "the sign-in service cannot be reached at the moment: try again later"
	header := map[string]string{"Retry-After": cmp.Or(retryAfter, "1")}
	return &Error{503, "temporarily_unavailable", description, header, cause}
}

func (e *Error) Error() string { return e.Code + ": " + e.Description }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// ServeHTTP answers with the error, in the format of the service.
func (e *Error) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	for name, value := range e.Header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(e.Status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": e.Code, "error_description": e.Description})
}
