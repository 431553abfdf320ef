package latchkey

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const wellKnown = "/.well-known/oauth-protected-resource"

var (
	originOf = regexp.MustCompile(`^(https?://[^/?#]+)/?$`).FindStringSubmatch
	isScope  = regexp.MustCompile(`^[!#-\[\]-~]{1,255}$`).MatchString // RFC 6749 §3.3
	declared sync.Map                                                 // *resource, by identifier: those of this process
)

// resource is an API that programs of third parties use (RFC 9728).
type resource struct {
	origin, path, scope string
	document            []byte
}

// challenge returns parameters of WWW-Authenticate; addresses are never of a request's Host.
func (r *resource) challenge() string {
	return fmt.Sprintf(`resource_metadata="%s%s"`, r.origin, r.path)
}

// identifier returns the form in which two of them are compared: an origin has no slash.
func identifier(text string) string {
	if origin := originOf(text); origin != nil {
		return origin[1]
	}
	return text
}

func findResource(audience string) *resource {
	found, _ := declared.Load(identifier(audience))
	r, _ := found.(*resource)
	return r
}

// ProtectedResource declares an API for programs of third parties (RFC 9728), and serves its metadata; other requests
// are for next. It comes before Middleware. From then on, errors with status 401 name the metadata and these scopes,
// for which programs ask the user. It panics for a resource that is not in Options.Audience, and without scopes.
func (v *Verifier) ProtectedResource(next http.Handler, identity string, scopes ...string) http.Handler {
	address, err := url.Parse(identity)
	if err != nil || !isAddress(identity) || !slices.Contains(v.audience, identity) {
		panic("latchkey: a protected resource is an http(s) address without query, and in Options.Audience")
	}
	checkScopes(scopes)
	r := &resource{origin: address.Scheme + "://" + address.Host, scope: strings.Join(scopes, " ")}
	r.path = wellKnown + address.EscapedPath()
	if address.Path == "/" { // RFC 9728 §3.1
		r.path = wellKnown
	}
	r.document, _ = json.Marshal(map[string]any{
		"resource":                 identity,
		"authorization_servers":    []string{v.Issuer},
		"scopes_supported":         scopes,
		"bearer_methods_supported": []string{"header"},
	})
	declared.Store(identifier(identity), r)
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		isRead := request.Method == http.MethodGet || request.Method == http.MethodHead
		if !isRead || !r.isAt(request.URL.EscapedPath()) {
			next.ServeHTTP(w, request)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Access-Control-Allow-Origin", "*") // clients in browsers read it, too
		_, _ = w.Write(r.document)                         // net/http sends no body to HEAD
	})
}

// isAt returns whether the metadata is at a path. The root of a host is that of its only API.
func (r *resource) isAt(path string) bool {
	isOnly := true
	declared.Range(func(_, other any) bool {
		isOnly = other == any(r) || other.(*resource).origin != r.origin
		return isOnly
	})
	return path == r.path || path == wellKnown && isOnly
}

// challenged adds metadata and scopes to an error with 401, unless several of the verifier's APIs have some.
func (v *Verifier) challenged(err error) error {
	var found *resource
	for _, audience := range v.audience {
		if r := findResource(audience); r != nil && found != nil && r != found {
			return err
		} else if r != nil {
			found = r
		}
	}
	e, _ := err.(*Error)
	if found == nil || e == nil || e.Status != 401 {
		return err
	}
	header := e.Header["WWW-Authenticate"]
	if strings.Contains(header, "=") {
		header += ","
	}
	header = fmt.Sprintf(`%s %s, scope="%s"`, header, found.challenge(), found.scope)
	return &Error{e.Status, e.Code, e.Description, map[string]string{"WWW-Authenticate": header}, e.Cause}
}

// RequireScope lets programs pass to which the user has allowed all of the scopes, after Middleware, and the
// application's own pages; others get 403 with the scopes to ask for. It panics without scopes.
func RequireScope(next http.Handler, scopes ...string) http.Handler {
	checkScopes(scopes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := FromContext(r.Context()).RequireScope(scopes...); err != nil {
			err.(*Error).ServeHTTP(w, r)
		} else {
			next.ServeHTTP(w, r)
		}
	})
}

// RequireScope returns an *Error with status 403 if the user has not allowed all of the scopes to the program. Tokens
// of the application itself need none.
func (c Claims) RequireScope(scopes ...string) error {
	if c.isOfApplication() {
		return nil
	}
	all := slices.DeleteFunc(strings.Split(c.Text("scope"), " "), func(one string) bool { return !isScope(one) })
	granted := len(all)
	for _, scope := range scopes {
		if !slices.Contains(all[:granted], scope) {
			all = append(all, scope)
		}
	}
	if len(all) == granted {
		return nil
	}
	known := ""
	if r := findResource(c.Text("aud")); r != nil {
		known = ", " + r.challenge()
	}
	return challenge(403, errNoRole.Code, errNoRole.Description, fmt.Sprintf(
		` error="insufficient_scope"%s, scope="%s"`, known, strings.Join(all, " "))) // clients ask for exactly these
}

func checkScopes(scopes []string) {
	if len(scopes) == 0 || slices.ContainsFunc(scopes, func(one string) bool { return !isScope(one) }) {
		panic("latchkey: a scope is needed, without spaces and quotes")
	}
}

// isOfApplication returns whether a token is of the application itself, not of a program that acts for the user.
func (c Claims) isOfApplication() bool { return c.Text("aud") != "" && c.Text("aud") == c.Text("iss") }

// carriesClaims returns whether a token has any claim of the user.
func (c Claims) carriesClaims() bool {
	return slices.ContainsFunc(append(slices.Clone(topLevel), "claims"), func(name string) bool {
		_, has := c[name]
		return has
	})
}

// accepted returns all values of `aud` for the audiences: origins with and without a slash.
func accepted(audience []string) (all []string) {
	for _, one := range audience {
		if all = append(all, identifier(one)); originOf(one) != nil {
			all = append(all, identifier(one)+"/")
		}
	}
	return all
}
