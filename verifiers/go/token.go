package latchkey

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// longestToken is in bytes; the service's tokens have about 600, and about 12,000 with the most claims.
const longestToken = 16_384

// verifySignature verifies all but the session. A key is fetched only for a token that may be valid.
func (v *Verifier) verifySignature(ctx context.Context, token string) (kid string, claims Claims, err error) {
	if len(token) > longestToken {
		return "", nil, errInvalid
	}
	signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.ES256})
	if err != nil || json.Unmarshal(signed.UnsafePayloadWithoutVerification(), &claims) != nil {
		return "", nil, errInvalid
	}
	header := signed.Signatures[0].Protected
	typ, _ := header.ExtraHeaders[jose.HeaderType].(string)
	if header.KeyID == "" || strings.TrimPrefix(strings.ToLower(typ), "application/") != "at+jwt" {
		return "", nil, errInvalid
	}
	if err := v.check(claims); err != nil {
		return "", nil, err
	}
	key, err := v.findKey(ctx, header.KeyID)
	if err != nil {
		return "", nil, err
	}
	if _, err := signed.Verify(key); err != nil {
		return "", nil, errInvalid
	}
	return header.KeyID, claims, nil
}

// check checks the claims but for the session (RFC 9068 §4).
func (v *Verifier) check(claims Claims) error {
	now, tolerance, issuer := float64(v.now().Unix()), v.ClockTolerance.Seconds(), any(v.Issuer)
	exp, hasExp := claims["exp"].(float64)
	_, hasIat := claims["iat"].(float64)
	nbf, hasNbf := claims["nbf"].(float64)
	audience, isList := claims["aud"].([]any)
	if !isList {
		audience = []any{claims["aud"]}
	}
	isAccepted := func(one any) bool { text, _ := one.(string); return slices.Contains(v.audience, text) }
	switch {
	case claims["iss"] != issuer:
		return invalidToken("the access token is of another issuer")
	case hasExp && exp+tolerance <= now:
		return invalidToken("the access token has expired")
	case !slices.ContainsFunc(audience, isAccepted), !hasExp, !hasIat,
		claims["nbf"] != nil && (!hasNbf || nbf > now+tolerance),
		!areTexts([]any{claims["sub"], claims["sid"], claims["jti"]}):
		return errInvalid
	}
	return nil
}

// Claims of an access token by their names, as JSON has them.
type Claims map[string]any

// UserID returns the user's id.
func (c Claims) UserID() string { return c.Text("sub") }

// Text returns a claim that is a text; otherwise "".
func (c Claims) Text(name string) string {
	text, _ := c[name].(string)
	return text
}

// HasRole returns whether the user has one of the roles.
func (c Claims) HasRole(roles ...string) bool {
	all, _ := c["roles"].([]any)
	return slices.ContainsFunc(roles, func(role string) bool { return slices.Contains(all, any(role)) })
}

// topLevel has the claims of a user at the top level of a token, lists first; others are members of `claims`.
var topLevel = []string{"roles", "groups", "entitlements", "name", "email", "preferred_username"}

// with replaces the user's claims. Those of a wrong type are left out: fewer rights, never more.
func (c Claims) with(source Claims) Claims {
	result := maps.Clone(c)
	for i, name := range append(topLevel, "claims") {
		list, isValid := source[name].([]any)
		if isValid = isValid && areTexts(list); i > 5 {
			_, isValid = source[name].(map[string]any)
		} else if i > 2 {
			isValid = areTexts([]any{source[name]})
		}
		if result[name] = source[name]; !isValid {
			delete(result, name)
		}
	}
	return result
}

// asInToken arranges the claims of an event as a token carries them.
func asInToken(flat map[string]any) Claims {
	result := Claims{}
	for _, name := range topLevel {
		if value, has := flat[name]; has {
			result[name] = value
			delete(flat, name)
		}
	}
	if len(flat) > 0 {
		result["claims"] = flat
	}
	return result
}

func areTexts(values []any) bool {
	return !slices.ContainsFunc(values, func(value any) bool { _, isText := value.(string); return !isText })
}
