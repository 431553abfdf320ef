package latchkey

import (
	"context"
	"net/http"
	"regexp"
)

var bearer = regexp.MustCompile(`^(?i:Bearer) +([A-Za-z0-9\-._~+/]+=*)$`)

type contextKey struct{}

// Middleware answers requests without a valid token. Others have their claims in the context: see FromContext.
func (v *Verifier) Middleware(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if claims, err := v.Authenticate(r); err != nil {
			err.(*Error).ServeHTTP(w, r)
		} else {
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), contextKey{}, claims)))
		}
	})
}

// Authenticate verifies the token of a request's Authorization header.
func (v *Verifier) Authenticate(r *http.Request) (Claims, error) {
	match := bearer.FindStringSubmatch(r.Header.Get("Authorization"))
	if match == nil {
		return nil, v.challenged(errNoToken)
	}
	return v.Verify(r.Context(), match[1])
}

// FromContext returns the claims of a request's token, after Middleware; nil without it.
func FromContext(ctx context.Context) Claims {
	claims, _ := ctx.Value(contextKey{}).(Claims)
	return claims
}

// RequireRole lets users with one of the roles pass, after Middleware; others get 403.
func RequireRole(next http.Handler, roles ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if FromContext(r.Context()).HasRole(roles...) {
			next.ServeHTTP(w, r)
		} else {
			errNoRole.ServeHTTP(w, r)
		}
	})
}
