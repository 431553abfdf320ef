package latchkey

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestVectors runs verifiers/vectors. Its clocks are those of testing/synctest, so no test waits.
func TestVectors(t *testing.T) {
	var keys struct {
		Issuer string
		Start  int64
		Keys   map[string]json.RawMessage
	}
	var tokens map[string]struct{ Token string }
	readVectors(t, "keys", &keys)
	readVectors(t, "tokens", &tokens)
	for _, file := range []string{"signatures", "sessions", "claims", "away", "wire", "agents"} {
		var vectors struct{ Cases []vector }
		readVectors(t, file, &vectors)
		if len(vectors.Cases) == 0 {
			t.Errorf("%s.json has no cases", file)
		}
		for _, c := range vectors.Cases {
			t.Run(file+"/"+c.Name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := &runner{t: t, keys: keys.Keys, streams: make(chan *fakeStream)}
					r.setKeys("k1")
					o := Options{Issuer: keys.Issuer, Transport: r, SignatureOnly: !c.Options.ServiceKey}
					o.WhenAway = map[string]WhenAway{"accept": Accept, "refuse": Refuse}[c.Options.WhenAway]
					o.Audience = textsOf(c.Options.Audience)
					o.ClockTolerance = time.Duration(c.Options.ClockTolerance) * time.Second
					if c.Options.ServiceKey {
						o.ServiceKey = "k"
					}
					r.setWall(keys.Start)
					defer func() { r.verifier.Close() }()
					r.verifier = start(o, func() time.Time { return time.Now().Add(time.Duration(r.offset.Load())).Round(0) })
					for _, one := range c.Options.Resources {
						r.resources = append(r.resources, r.verifier.ProtectedResource(http.NotFoundHandler(), one.Resource, one.Scopes...))
					}
					now := keys.Start
					for i, s := range c.Steps {
						time.Sleep(time.Duration(max(0, s.Now-now)) * time.Millisecond)
						now = s.Now
						r.setWall(now)
						synctest.Wait()
						if err := r.run(s, tokens[s.Token].Token); err != nil {
							t.Fatalf("step %d (%s): %v", i, s.Do, err)
						}
						synctest.Wait()
					}
				})
			})
		}
	}
}

type vector struct {
	Name    string
	Options struct {
		ServiceKey     bool
		WhenAway       string
		ClockTolerance int
		Audience       json.RawMessage
		Resources      []struct {
			Resource string
			Scopes   []string
		}
	}
	Steps []step
}

type step struct {
	Now             int64
	Do, Token       string
	Type, Body      *string
	Text            string
	Status, Count   int
	Headers         map[string]string
	Bytes           []json.RawMessage
	Keys, Scopes    []string
	Path            string
	Cursor          json.RawMessage
	Expect          json.RawMessage
	Notified        *bool
	Sessions, Users *int
	Introspections  *int
	MostKeyRequests *int
}

// textsOf decodes a text, or a list; nil for none.
func textsOf(raw json.RawMessage) (texts []string) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []string{text}
	}
	_ = json.Unmarshal(raw, &texts)
	return texts
}

// bytesOf decodes a text, or an object with base64.
func bytesOf(raw json.RawMessage) []byte {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []byte(text)
	}
	var encoded struct{ Base64 []byte }
	if err := json.Unmarshal(raw, &encoded); err != nil {
		panic(err)
	}
	return encoded.Base64
}

func readVectors(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile("../vectors/" + name + ".json")
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// runner replaces the service: it is the transport of the verifier.
type runner struct {
	t              *testing.T
	verifier       *Verifier
	keys           map[string]json.RawMessage
	offset         atomic.Int64 // of the clock on the wall, in nanoseconds
	keysStatus     int
	keysBody       string
	introspection  *step // nil: no answer
	introspections int
	keyRequests    int
	resources      []http.Handler
	streams        chan *fakeStream // requests for the feed that wait for a step
	stream         *fakeStream
}

type fakeStream struct {
	begun   time.Time
	request *http.Request
	answer  chan *http.Response
	body    *io.PipeWriter
}

func (r *runner) setWall(ms int64) {
	r.offset.Store(time.UnixMilli(ms).UnixNano() - time.Now().UnixNano())
}

func (r *runner) setKeys(names ...string) {
	texts := []string{}
	for _, name := range names {
		texts = append(texts, string(r.keys[name]))
	}
	r.keysStatus, r.keysBody = 200, `{"keys":[`+strings.Join(texts, ",")+`]}`
}

func (r *runner) RoundTrip(request *http.Request) (*http.Response, error) {
	switch request.URL.Path {
	case "/.well-known/jwks.json":
		r.keyRequests++
		return answer(r.keysStatus, "application/json", r.keysBody), nil
	case "/oauth2/introspect":
		r.introspections++
		if r.introspection == nil {
			return nil, errors.New("the connection was reset")
		}
		return answer(r.introspection.Status, "application/json", *r.introspection.Body), nil
	}
	s := &fakeStream{begun: time.Now(), request: request, answer: make(chan *http.Response)}
	select {
	case r.streams <- s:
	case <-request.Context().Done():
		return nil, request.Context().Err()
	}
	if response := <-s.answer; response != nil {
		return response, nil
	}
	return nil, errors.New("the connection was reset")
}

func answer(status int, contentType, body string) *http.Response {
	header := http.Header{"Content-Type": {contentType}}
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

func (r *runner) run(s step, token string) error {
	switch s.Do {
	case "connect":
		return r.connect(s)
	case "send":
		for _, raw := range s.Bytes {
			_, _ = r.stream.body.Write(bytesOf(raw)) // fails if the verifier has left
			synctest.Wait()
		}
	case "repeat":
		piece := bytes.Buffer{}
		for i := range s.Count {
			piece.WriteString(strings.ReplaceAll(s.Text, "{i}", fmt.Sprintf("%012d", i)))
			if i%1000 == 999 || i == s.Count-1 {
				_, _ = piece.WriteTo(r.stream.body)
			}
		}
	case "end":
		r.stream.body.Close()
	case "keys":
		if r.setKeys(s.Keys...); s.Status != 0 {
			r.keysStatus, r.keysBody = s.Status, ""
		}
	case "introspection":
		r.introspection = &s
	case "verify":
		return r.verify(s, token)
	case "metadata":
		return r.compareMetadata(s)
	case "state":
		return r.compareState(s)
	default:
		return errors.New("an unknown step")
	}
	return nil
}

func (r *runner) connect(s step) error {
	for r.stream = <-r.streams; time.Since(r.stream.begun) > silence; r.stream = <-r.streams {
		r.stream.answer <- nil // it waits since before the time moved
	}
	if cursor := r.stream.request.Header.Get("Last-Event-ID"); s.Cursor != nil {
		var expected *string
		if err := json.Unmarshal(s.Cursor, &expected); err != nil {
			return err
		}
		if expected == nil && cursor != "" || expected != nil && *expected != cursor {
			return fmt.Errorf("Last-Event-ID is %q, not %s", cursor, s.Cursor)
		}
	}
	status, contentType := max(s.Status, 200), "text/event-stream"
	if s.Type != nil {
		contentType = *s.Type
	}
	response := answer(status, contentType, "")
	for name, value := range s.Headers {
		response.Header.Set(name, value)
	}
	if s.Body != nil {
		response.Body = io.NopCloser(strings.NewReader(*s.Body))
	} else {
		body, writer := io.Pipe()
		response.Body, r.stream.body = body, writer
		context.AfterFunc(r.stream.request.Context(), func() { body.CloseWithError(errors.New("canceled")) })
	}
	r.stream.answer <- response
	return nil
}

func (r *runner) verify(s step, token string) error {
	claims, err := r.verifier.Verify(r.t.Context(), token)
	if err == nil && s.Scopes != nil {
		err = claims.RequireScope(s.Scopes...)
	}
	if string(s.Expect) == `"any"` {
		return nil
	}
	var expected struct {
		Claims    Claims
		Error     string
		Status    int
		Challenge string
	}
	if err := json.Unmarshal(s.Expect, &expected); err != nil {
		return err
	}
	if err == nil {
		if !reflect.DeepEqual(claims, expected.Claims) {
			return fmt.Errorf("the claims are %v, not %s", claims, s.Expect)
		}
		return nil
	}
	e := err.(*Error)
	if e.Code != expected.Error || e.Status != expected.Status {
		return fmt.Errorf("%d %v, not %s", e.Status, e, s.Expect)
	}
	if expected.Challenge == "" && e.Status == 401 {
		expected.Challenge = `Bearer error="invalid_token"`
	}
	if e.Header["WWW-Authenticate"] != expected.Challenge || (e.Header["Retry-After"] != "") != (e.Status == 503) {
		return fmt.Errorf("%d with the headers %v", e.Status, e.Header)
	}
	return nil
}

func (r *runner) compareMetadata(s step) error {
	for _, handler := range r.resources {
		request, answer := httptest.NewRequest("GET", s.Path, nil), httptest.NewRecorder()
		if handler.ServeHTTP(answer, request); answer.Code == 200 {
			var found, expected any
			_, _ = json.Unmarshal(answer.Body.Bytes(), &found), json.Unmarshal(s.Expect, &expected)
			if !reflect.DeepEqual(found, expected) {
				return fmt.Errorf("the metadata are %s", answer.Body)
			}
			return nil
		}
	}
	if string(s.Expect) != "null" {
		return errors.New("no metadata")
	}
	return nil
}

func (r *runner) compareState(s step) error {
	v := r.verifier
	if s.Notified != nil && *s.Notified != v.IsNotified() {
		return fmt.Errorf("notified is %v", v.IsNotified())
	}
	for name, pair := range map[string]struct {
		expected *int
		found    int
	}{
		"sessions": {s.Sessions, len(v.ended)}, "users": {s.Users, len(v.changed)},
		"introspections": {s.Introspections, r.introspections},
	} {
		if pair.expected != nil && *pair.expected != pair.found {
			return fmt.Errorf("%s: %d, not %d", name, pair.found, *pair.expected)
		}
	}
	if s.MostKeyRequests != nil && r.keyRequests > *s.MostKeyRequests {
		return fmt.Errorf("%d requests for keys", r.keyRequests)
	}
	return nil
}
