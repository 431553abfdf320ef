package latchkey

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestMiddleware(t *testing.T) {
	v, err := New(Options{Issuer: "https://id.example/", SignatureOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	api := v.Middleware(http.NotFoundHandler())
	for header, challenge := range map[string]string{
		"": "Bearer", "Basic YTpi": "Bearer", "Bearer a b": "Bearer",
		"Bearer a.b.c": `Bearer error="invalid_token"`, "bearer  x": `Bearer error="invalid_token"`,
	} {
		request, answer := httptest.NewRequest("GET", "/", nil), httptest.NewRecorder()
		request.Header.Set("Authorization", header)
		api.ServeHTTP(answer, request)
		var body struct{ Error string }
		_ = json.Unmarshal(answer.Body.Bytes(), &body)
		found := answer.Header().Get("WWW-Authenticate")
		if answer.Code != 401 || found != challenge || body.Error != "invalid_token" {
			t.Errorf("%q: %d %v %v", header, answer.Code, answer.Header(), body)
		}
	}
}

func TestRequireRole(t *testing.T) {
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for role, status := range map[string]int{"admin": 200, "administrator": 403} {
		ctx := context.WithValue(t.Context(), contextKey{}, Claims{"roles": []any{role}})
		answer := httptest.NewRecorder()
		RequireRole(ok, "owner", "admin").ServeHTTP(answer, httptest.NewRequest("GET", "/", nil).WithContext(ctx))
		if answer.Code != status {
			t.Errorf("%s: %d", role, answer.Code)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, o := range []Options{
		{Issuer: "id.example", SignatureOnly: true},
		{Issuer: "https://id.example/path", SignatureOnly: true},
		{Issuer: "https://id.example"},
		{Issuer: "https://id.example", ServiceKey: "with\nbreak"},
		{Issuer: "https://id.example", ServiceKey: "k", URL: "redis://x"},
		{Issuer: "https://id.example", ServiceKey: "k", WhenAway: "allow"},
		{Issuer: "https://id.example", ServiceKey: "k", ClockTolerance: time.Hour},
		{Issuer: "https://id.example", ServiceKey: "k", Audience: []string{}},
		{Issuer: "https://id.example", ServiceKey: "k", Audience: []string{"https://api.example", ""}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// calls counts calls to the service, which answers none of them.
type calls map[string]int

func (c calls) RoundTrip(request *http.Request) (*http.Response, error) {
	c[request.URL.Path]++
	return nil, errors.New("no answer")
}

func TestUnknownKeysCostOneRequestASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := calls{}
		v := start(Options{Issuer: "https://id.example", SignatureOnly: true, Transport: made}, time.Now)
		began := time.Now()
		for range 20 {
			var group sync.WaitGroup
			for range 100 {
				group.Go(func() { _, _ = v.findKey(t.Context(), "unknown") })
			}
			group.Wait()
		}
		if most := int(time.Since(began).Seconds()) + 1; made["/.well-known/jwks.json"] > most {
			t.Errorf("%v in %d s", made, most)
		}
	})
}

func TestProtectedResource(t *testing.T) {
	const resource = "https://go.example/mcp"
	v, err := New(Options{Issuer: "https://id.example", SignatureOnly: true, Audience: []string{resource, "orders"}})
	if err != nil {
		t.Fatal(err)
	}
	api := v.ProtectedResource(v.Middleware(http.NotFoundHandler()), resource, "orders:read")
	get := func(method, path string) *httptest.ResponseRecorder {
		request, answer := httptest.NewRequest(method, "http://evil.example"+path, nil), httptest.NewRecorder()
		api.ServeHTTP(answer, request)
		return answer
	}
	for method, status := range map[string]int{"GET": 200, "HEAD": 200, "POST": 401} {
		answer := get(method, wellKnown+"/mcp?x=y")
		if answer.Code != status || status == 200 && answer.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %v", method, answer.Code, answer.Header())
		}
	}
	const challenge = `Bearer resource_metadata="https://go.example/.well-known/oauth-protected-resource/mcp", scope="orders:read"`
	if found := get("GET", "/mcp").Header().Get("WWW-Authenticate"); found != challenge {
		t.Error(found)
	}
	ok := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	for scope, status := range map[string]int{"orders:read orders:write": 200, "orders:read": 403} {
		ctx := context.WithValue(t.Context(), contextKey{}, Claims{"aud": resource, "scope": scope})
		answer := httptest.NewRecorder()
		RequireScope(ok, "orders:write").ServeHTTP(answer, httptest.NewRequest("GET", "/", nil).WithContext(ctx))
		if answer.Code != status {
			t.Errorf("%s: %d", scope, answer.Code)
		}
	}
	for name, f := range map[string]func(){
		"another resource": func() { v.ProtectedResource(ok, "https://other.example", "a") },
		"no address":       func() { v.ProtectedResource(ok, "orders", "a") },
		"no scopes":        func() { v.ProtectedResource(ok, resource) },
		"a space":          func() { v.ProtectedResource(ok, resource, "a b") },
		"a quote":          func() { RequireScope(ok, `a", error="x`) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is accepted", name)
				}
			}()
			f()
		}()
	}
}
