package token

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/golang-jwt/jwt/v5"

	"github.com/omoi-dev/omoi/internal/task"
)

const (
	audience     = "omoi"
	accessType   = "access"
	maxSubject   = 200 // characters
	signedPrefix = "eyJ"
)

// Login holds the claims of a verified JWT.
type Login struct {
	User           string   // the claim sub: the name of a user
	OrganizationID string   // empty: the installation's first organization
	Scopes         []string // nil: no scope claim
}

// Logins verifies JWTs that an identity provider signs with a shared secret (HS256). Nothing is stored: a JWT is valid
// until it expires, or until its secret is removed from the configuration.
type Logins struct {
	keys   jwt.VerificationKeySet
	parser *jwt.Parser
}

// NewLogins returns a verifier with a secret of at least 32 bytes and, during a change of the secret, the previous one;
// a shorter secret is [task.CodeInvalid].
func NewLogins(secret string, previous ...string) (*Logins, error) {
	l := &Logins{parser: jwt.NewParser(jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithExpirationRequired())}
	for n, one := range append([]string{secret}, previous...) {
		if len(one) < minSecret {
			field := [...]string{"api.jwt_secret", "api.jwt_previous_secret"}[min(n, 1)]
			return nil, task.Invalid(field, "The secret of JWTs has %d bytes; it must have %d or more. Make one: openssl rand -base64 48", len(one), minSecret)
		}
		l.keys.Keys = append(l.keys.Keys, []byte(one))
	}
	return l, nil
}

// LooksSigned reports whether a credential has the form of a JWT, valid or not.
func LooksSigned(credential string) bool {
	const dots = 2
	return strings.HasPrefix(credential, signedPrefix) && strings.Count(credential, ".") == dots
}

type claims struct {
	jwt.RegisteredClaims

	Type         string `json:"type"`
	Organization string `json:"org"`
	Scopes       scopes `json:"scopes"`
	Scope        scopes `json:"scope"`
}

// scopes are a list, or a text with blanks; nil only if the claim is absent: a JWT with an empty claim grants no
// access.
type scopes []string

// UnmarshalJSON implements [json.Unmarshaler], also for null.
func (s *scopes) UnmarshalJSON(raw []byte) error {
	*s = scopes{}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*s = append(*s, strings.Fields(text)...)
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(s))
}

func (c claims) named() []string {
	if c.Scope == nil && c.Scopes == nil {
		return nil
	}
	return append(append([]string{}, c.Scope...), c.Scopes...)
}

// Validate implements [jwt.ClaimsValidator].
func (c claims) Validate() error {
	switch {
	case c.Type != "" && c.Type != accessType:
		return errors.New("it is no access token")
	case len(c.Audience) > 0 && !slices.Contains(c.Audience, audience):
		return errors.New("it is for another audience")
	case c.Subject == "" || utf8.RuneCountInString(c.Subject) > maxSubject || strings.ContainsFunc(c.Subject, unicode.IsControl):
		return errors.New("its sub names no user")
	}
	return nil
}

// Verify returns the claims of a JWT; [task.CodeUnauthorized] if it is invalid or expired.
func (l *Logins) Verify(credential string) (Login, error) {
	var said claims
	_, err := l.parser.ParseWithClaims(credential, &said, func(*jwt.Token) (any, error) { return l.keys, nil })
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return Login{}, task.Errorf(task.CodeUnauthorized, "The JWT has expired. Get a new one where this one came from.").WithCause(err)
	case err != nil:
		return Login{}, task.Errorf(task.CodeUnauthorized,
			"The JWT is not good here: it needs HS256 with the secret of this server, sub, exp, and no other type than access.").WithCause(err)
	}
	return Login{User: said.Subject, OrganizationID: said.Organization, Scopes: said.named()}, nil
}
