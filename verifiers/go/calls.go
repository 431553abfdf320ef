package latchkey

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

const (
	callTimeout = 2500 * time.Millisecond // a later answer is outdated
	longest     = 65_536                  // bytes of an answer, and of a line or an event of the feed
	mostCalls   = 100                     // introspections at a time
	mostAsked   = 10_000                  // tokens that are introspected in a second
	mostKeys    = 1000                    // that are withdrawn
	keysFresh   = 5 * time.Minute         // older keys are used while new ones are fetched
	keysUsable  = time.Hour               // while the service is away
	mostWaiting = 4                       // requests for a fetch of keys: made-up key ids must not occupy an API
)

// call is a call whose answer several requests wait for.
type call struct {
	done   chan struct{}
	answer map[string]any
	err    error
}

func (c *call) wait(ctx context.Context) (map[string]any, error) {
	select {
	case <-c.done:
		return c.answer, c.err
	case <-ctx.Done():
		return nil, unavailable(ctx.Err(), "")
	}
}

// send makes a GET, or a POST with a body, with the service key. Its errors, also for other statuses than 200, are of
// type *Error.
func (v *Verifier) send(ctx context.Context, path, body string, header http.Header) (*http.Response, error) {
	method := "GET"
	if body != "" {
		method = "POST"
	}
	request, err := http.NewRequestWithContext(ctx, method, v.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, unavailable(err, "")
	}
	request.Header = header
	header["Idempotency-Key"] = nil // not sent; net/http repeats the call if an idle connection was closed
	if v.ServiceKey != "" {
		header.Set("Authorization", "Bearer "+v.ServiceKey)
	}
	response, err := v.Transport.RoundTrip(request) // without redirects: the key is for the service alone
	if err != nil {
		return nil, unavailable(err, "")
	}
	if response.StatusCode == http.StatusOK {
		return response, nil
	}
	defer response.Body.Close()
	if response.StatusCode == 401 || response.StatusCode == 403 {
		return response, errRefused
	}
	err = fmt.Errorf("the service answered with %d", response.StatusCode)
	return response, unavailable(err, response.Header.Get("Retry-After"))
}

// fetch returns a whole answer.
func (v *Verifier) fetch(ctx context.Context, path, body string, header http.Header) (map[string]any, error) {
	response, err := v.send(ctx, path, body, header)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var answer map[string]any
	if err := json.NewDecoder(io.LimitReader(response.Body, longest)).Decode(&answer); err != nil {
		return nil, unavailable(err, "")
	}
	return answer, nil
}

// introspect asks the service about a token (RFC 7662), at most once a second.
func (v *Verifier) introspect(ctx context.Context, token string) (Claims, error) {
	v.mu.Lock()
	c := v.asked[token]
	if c == nil && len(v.asked) < mostAsked {
		c = &call{done: make(chan struct{})}
		v.asked[token] = c
		forget := func() {
			v.mu.Lock()
			defer v.mu.Unlock()
			if v.asked[token] == c {
				delete(v.asked, token)
			}
		}
		time.AfterFunc(time.Second, forget)
		go func() {
			defer close(c.done)
			if c.answer, c.err = v.ask(token); c.err != nil {
				forget() // the next request asks again
			}
		}()
	}
	v.mu.Unlock()
	if c == nil {
		return nil, unavailable(nil, "")
	}
	answer, err := c.wait(ctx)
	if err == nil && answer["active"] == false {
		err = invalidToken("the session of the access token has ended")
	}
	return answer, err
}

func (v *Verifier) ask(token string) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout) // not a request's: others wait, too
	defer cancel()
	select {
	case v.slots <- struct{}{}:
		defer func() { <-v.slots }()
	case <-ctx.Done():
		return nil, unavailable(ctx.Err(), "")
	}
	body, _ := json.Marshal(map[string]string{"token": token})
	header := http.Header{"Content-Type": {"application/json"}}
	answer, err := v.fetch(ctx, "/oauth2/introspect", string(body), header)
	if _, isKnown := answer["active"].(bool); err == nil && !isKnown {
		err = unavailable(nil, "")
	}
	return answer, err
}

// keySet has the service's public keys, fetched at the first use, and at most once a second. A request may wait for a
// fetch, never for the pause before the next one (docs/ended-sessions.md#keys).
type keySet struct {
	keys       map[string]any // *ecdsa.PublicKey, by kid
	keysAt     time.Time
	keysBegun  time.Time
	keysFailed bool  // the last fetch
	fetching   *call // nil if there is none
	waiting    int   // for it
	withdrawn  []string
}

func (v *Verifier) findKey(ctx context.Context, kid string) (any, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	age, key := time.Since(v.keysAt), v.keys[kid]
	isUsable := age <= keysUsable
	switch {
	case slices.Contains(v.withdrawn, kid):
		return nil, errInvalid
	case key != nil && age <= keysFresh:
		return key, nil
	}
	isFirst := v.beginFetch()
	if key != nil && isUsable {
		return key, nil
	}
	// While the service is away, one request waits, and only if no other could be answered.
	mayWait := !isUsable || v.waiting < mostWaiting
	if v.keysFailed {
		mayWait = isFirst && !isUsable
	}
	if v.fetching == nil || !mayWait {
		return nil, unavailable(nil, "")
	}
	c := v.fetching
	v.waiting++
	v.mu.Unlock()
	keys, err := c.wait(ctx)
	v.mu.Lock()
	v.waiting--
	switch {
	case err != nil:
		return nil, unavailable(err, "")
	case keys[kid] != nil:
		return keys[kid], nil
	case isFirst:
		return nil, errInvalid
	}
	return nil, unavailable(nil, "") // the service may have made the key since
}

// beginFetch returns false during a fetch, and in the pause after its begin. The caller holds the lock.
func (v *Verifier) beginFetch() bool {
	now := time.Now()
	if v.fetching != nil || now.Sub(v.keysBegun) < time.Second {
		return false
	}
	c := &call{done: make(chan struct{})}
	v.fetching, v.keysBegun = c, now
	go func() {
		defer close(c.done)
		c.answer, c.err = v.downloadKeys()
		v.mu.Lock()
		defer v.mu.Unlock()
		maps.DeleteFunc(c.answer, func(kid string, _ any) bool { return slices.Contains(v.withdrawn, kid) })
		if v.fetching, v.keysFailed = nil, c.err != nil; c.err == nil {
			v.keys, v.keysAt = c.answer, now
		}
	}()
	return true
}

func (v *Verifier) downloadKeys() (map[string]any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	noCache := http.Header{"Cache-Control": {"no-cache"}} // a cached answer may lack a new key
	answer, err := v.fetch(ctx, "/.well-known/jwks.json", "", noCache)
	keys, all := map[string]any{}, []any{}
	if err == nil {
		all, _ = answer["keys"].([]any)
	}
	for _, one := range all {
		var jwk jose.JSONWebKey
		text, _ := json.Marshal(one)
		if jwk.UnmarshalJSON(text) != nil { // of another kind (RFC 7517 §5)
			continue
		}
		if key, is := jwk.Key.(*ecdsa.PublicKey); is && key.Curve == elliptic.P256() {
			keys[jwk.KeyID] = key
		}
	}
	return keys, err
}
