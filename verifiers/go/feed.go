package latchkey

import (
	"encoding/json"
	"errors"
	"maps"
	"regexp"
	"time"
)

const (
	silence        = 2 * time.Second
	connectTimeout = 10 * time.Second // and between two pieces before `ready`
	keep           = 5 * time.Minute  // longer than tokens live: this machine's clock may be set back a little
	commitTime     = 10 * time.Second // a token issued so soon after a change may have the former claims
	longestCursor  = 1024
	mostEnded      = 2_000_000   // sessions; beyond them the feed counts as away
	mostChanged    = 100_000_000 // bytes of claims, with 200 for each user
)

var (
	errSilent     = errors.New("nothing was received for too long")
	errUnreadable = errors.New("an event is unreadable")
	errTooMuch    = errors.New("more than fits into memory")
	errUnclear    = errors.New("the token may have former claims, for some seconds after a change") // never returned
	isKnown       = regexp.MustCompile(`^(ended|key_revoked|claims_changed|claims_voided)$`).MatchString
	isCursor      = regexp.MustCompile(`^[\x21-\x7e]+$`).MatchString
)

// memory has what the feed has told (docs/ended-sessions.md).
type memory struct {
	ended      map[string]time.Time // by session: until
	changed    map[string]change    // by user
	size       int                  // bytes of changed
	sweptAt    time.Time
	completeAt moment // when all sign-outs were known; zero before `ready`
	refused    *Error // service_key_refused, if that was the last answer
}

type change struct {
	at, until time.Time
	text      []byte // the claims as a token carries them; each request gets its own
}

// moment is a time by two clocks: one that cannot be set back, and one that runs while the machine sleeps.
type moment struct{ steady, wall time.Time }

func (v *Verifier) moment() moment { return moment{time.Now(), v.now()} }

func (v *Verifier) since(m moment) time.Duration {
	return max(time.Since(m.steady), v.now().Sub(m.wall))
}

// isFresh, as all methods to the next comment, needs the lock.
func (v *Verifier) isFresh() bool { return v.since(v.completeAt) <= silence && !v.isSetBack() }

// isSetBack returns whether the clock was set back so far that removed sessions may have valid tokens again.
func (v *Verifier) isSetBack() bool { return v.now().Before(v.sweptAt.Add(-keep)) }

func (v *Verifier) isPast(until time.Time) bool {
	return !v.now().Before(until.Add(keep + v.ClockTolerance))
}

func (v *Verifier) forget(user string) {
	if c, isKnown := v.changed[user]; isKnown {
		v.size -= len(c.text) + 200
		delete(v.changed, user)
	}
}

// current returns the user's claims for a token. A program's token is not given those of a change, since only the
// service knows which of them the program may have: errUnclear, or 401 for one that certainly has former claims.
func (v *Verifier) current(claims Claims) (current Claims, err error) {
	c, isKnown := v.changed[claims.UserID()]
	switch iat, _ := claims["iat"].(float64); {
	case !isKnown || iat > float64(c.at.Add(commitTime).Unix()):
		return claims, nil
	case claims.isOfApplication():
		_ = json.Unmarshal(c.text, &current)
		return current, nil
	case !claims.carriesClaims():
		return claims, nil
	case iat < float64(c.at.Unix()) || !v.now().Before(c.at.Add(2*commitTime)):
		return nil, invalidToken("the claims of the user have changed since the access token was issued")
	}
	return nil, errUnclear
}

// sweep removes what no valid token needs, once a minute.
func (v *Verifier) sweep() {
	if v.now().Sub(v.sweptAt).Abs() < time.Minute {
		return
	}
	v.sweptAt = v.now()
	maps.DeleteFunc(v.ended, func(_ string, until time.Time) bool { return v.isPast(until) })
	for user, c := range v.changed {
		if v.isPast(c.until) {
			v.forget(user)
		}
	}
}

// take takes an event. An unreadable one may be a sign-out: the connection fails.
func (v *Verifier) take(name string, data []byte) error {
	var e struct {
		SessionID string    `json:"session_id"`
		UserID    string    `json:"user_id"`
		ChangedAt time.Time `json:"changed_at"`
		VoidedAt  time.Time `json:"voided_at"`
		Until     time.Time
		Kid       string
		Claims    map[string]any
	}
	if !isKnown(name) {
		return nil
	} else if json.Unmarshal(data, &e) != nil {
		return errUnreadable
	}
	switch hasUntil := !e.Until.IsZero(); {
	case len(v.ended) >= mostEnded || v.size > mostChanged:
		return errTooMuch
	case name == "ended" && e.SessionID != "" && hasUntil:
		if e.Until.After(v.ended[e.SessionID]) && !v.isPast(e.Until) {
			v.ended[e.SessionID] = e.Until
		}
	case name == "key_revoked" && e.Kid != "":
		v.withdrawn = append(v.withdrawn[max(0, len(v.withdrawn)-mostKeys+1):], e.Kid)
		delete(v.keys, e.Kid)
	case name == "claims_changed" && e.UserID != "" && e.Claims != nil && hasUntil && !e.ChangedAt.IsZero():
		if v.forget(e.UserID); !v.isPast(e.Until) {
			text, _ := json.Marshal(asInToken(e.Claims))
			v.changed[e.UserID] = change{e.ChangedAt, e.Until, text}
			v.size += len(text) + 200
		}
	case name == "claims_voided" && e.UserID != "" && !e.VoidedAt.IsZero():
		if !v.changed[e.UserID].at.After(e.VoidedAt) { // or else a new user with this id has changed claims
			v.forget(e.UserID)
		}
	default:
		return errUnreadable
	}
	return nil
}

func (v *Verifier) failure() error {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if v.refused != nil {
		return v.refused
	}
	return unavailable(nil, "")
}
