// Package latchkey verifies access tokens of Latchkey, and refuses those of ended sessions within a second.
package latchkey

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// WhenAway is the treatment of a token with a valid signature while sign-outs are not received.
type WhenAway string

const (
	Introspect WhenAway = ""       // asks the service about each token, and fails with 503 if that is impossible
	Accept     WhenAway = "accept" // relies on the signature
	Refuse     WhenAway = "refuse" // fails with 503 at once
)

// Options of New. Issuer is required, and either ServiceKey or SignatureOnly.
type Options struct {
	Issuer         string            // the service's PUBLIC_URL: issuer and audience of its tokens
	Audience       []string          // of tokens that are accepted, if not Issuer alone: for programs of third parties
	URL            string            // address of the service, if it is not reached at Issuer
	ServiceKey     string            // one of the service's SERVICE_KEYS, with the right `read`
	SignatureOnly  bool              // without ServiceKey: tokens of ended sessions are accepted until they expire
	WhenAway       WhenAway          // Introspect by default
	ClockTolerance time.Duration     // for the expiry of tokens, at most 5 minutes
	Transport      http.RoundTripper // for calls to the service
}

// Verifier verifies access tokens. Made by New, one per process; for concurrent use.
type Verifier struct {
	Options
	audience []string         // each origin with and without a slash
	now      func() time.Time // of the wall, without a steady clock
	stop     context.CancelFunc
	slots    chan struct{} // of introspections
	mu       sync.RWMutex  // not held during calls
	keySet
	memory
	asked map[string]*call // introspections of the last second, by token
}

var (
	isOrigin  = regexp.MustCompile(`^https?://[^/?#@\s]+$`).MatchString
	isAddress = regexp.MustCompile(`^https?://[^?#@\s]+$`).MatchString
	isKey     = regexp.MustCompile(`^[\x21-\x7e]*$`).MatchString
)

// New returns a verifier, which follows the feed of ended sessions until Close. It fails for invalid options.
func New(o Options) (*Verifier, error) {
	o.Issuer, o.URL = strings.TrimRight(o.Issuer, "/"), strings.TrimRight(cmp.Or(o.URL, o.Issuer), "/")
	switch isWay := slices.Contains([]WhenAway{Introspect, Accept, Refuse}, o.WhenAway); {
	case !isOrigin(o.Issuer) || !isAddress(o.URL):
		return nil, errors.New("latchkey: Issuer must be an http(s) origin, URL an http(s) address without query")
	case o.Audience != nil && (len(o.Audience) == 0 || slices.Contains(o.Audience, "")): // e.g. of a variable that is not set
		return nil, errors.New("latchkey: Audience must have no empty text; or leave it out")
	case !isKey(o.ServiceKey) || (o.ServiceKey == "") != o.SignatureOnly: // e.g. of a variable that is not set
		return nil, errors.New("latchkey: set a ServiceKey of printable ASCII, or else SignatureOnly")
	case !isWay || o.ClockTolerance < 0 || o.ClockTolerance > 5*time.Minute:
		return nil, errors.New("latchkey: WhenAway must be one of this package, ClockTolerance 0 to 5 minutes")
	}
	if o.Transport == nil {
		o.Transport = &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConnsPerHost: mostCalls}
	}
	return start(o, func() time.Time { return time.Now().Round(0) }), nil
}

func start(o Options, now func() time.Time) *Verifier {
	ctx, stop := context.WithCancel(context.Background())
	v := &Verifier{Options: o, audience: []string{o.Issuer}, now: now, stop: stop, slots: make(chan struct{}, mostCalls)}
	if o.Audience != nil {
		v.audience = accepted(o.Audience)
	}
	v.asked, v.ended, v.changed = map[string]*call{}, map[string]time.Time{}, map[string]change{}
	if o.ServiceKey != "" {
		go v.follow(ctx)
	}
	return v
}

// Close ends the connection to the service.
func (v *Verifier) Close() { v.stop() }

// IsNotified returns whether sign-outs are received at this moment; otherwise WhenAway applies.
func (v *Verifier) IsNotified() bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.isFresh()
}

// Verify returns the claims of a valid access token: the user's current ones, also if the token is older.
// Its errors are of type *Error.
func (v *Verifier) Verify(ctx context.Context, token string) (Claims, error) {
	claims, err := v.verify(ctx, token)
	return claims, v.challenged(err)
}

func (v *Verifier) verify(ctx context.Context, token string) (Claims, error) {
	kid, claims, err := v.verifySignature(ctx, token)
	if err != nil {
		return nil, err
	}
	current, isFresh, err := v.apply(kid, claims)
	isSettled := isFresh || v.ServiceKey == "" || v.WhenAway == Accept
	if err != errUnclear && (err != nil || isSettled) {
		return current, err
	}
	if v.WhenAway == Refuse && !isFresh {
		return nil, v.failure()
	}
	answer, err := v.introspect(ctx, token)
	if err != nil {
		return nil, err
	}
	current, isFresh, err = v.apply(kid, claims)
	if err == errUnclear || err == nil && !isFresh { // or else the feed is as current as the answer, or more so
		return claims.with(answer), nil
	}
	return current, err
}

// apply applies what the feed has told to a token whose signature is valid.
func (v *Verifier) apply(kid string, claims Claims) (current Claims, isFresh bool, err error) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if _, hasEnded := v.ended[claims.Text("sid")]; hasEnded {
		return nil, false, invalidToken("the session of the access token has ended")
	} else if slices.Contains(v.withdrawn, kid) {
		return nil, false, errInvalid
	}
	if err = v.check(claims); err == nil { // again: it may have expired during a wait
		current, err = v.current(claims)
	}
	if err != nil {
		return nil, v.isFresh(), err
	}
	return claims.with(current), v.isFresh(), nil
}
