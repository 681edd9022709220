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

// Login is what a signed login says of who shows it.
type Login struct {
	User           string   // its subject: the name of a user
	OrganizationID string   // empty: the one that the installation starts with
	Scopes         []string // nil: it names none
}

// Logins judges JWTs that somebody else signs with a secret that is shared (HS256). Nothing is
// stored: each is good until it expires, or until its secret is none of ours any more.
type Logins struct {
	keys   jwt.VerificationKeySet
	parser *jwt.Parser
}

// NewLogins judges by a secret of at least 32 bytes and, while that is changed, by the one before
// it; a shorter one is [task.CodeInvalid].
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

// LooksSigned reports whether a credential has the form of a JWT, good or not.
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

// scopes are a list, or a text with blanks; nil only where a login does not speak of them: one that
// names none on purpose may do nothing.
type scopes []string

// UnmarshalJSON implements [json.Unmarshaler], for null too.
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
		return errors.New("it is for somebody else")
	case c.Subject == "" || utf8.RuneCountInString(c.Subject) > maxSubject || strings.ContainsFunc(c.Subject, unicode.IsControl):
		return errors.New("its sub names no user")
	}
	return nil
}

// Verify answers who shows a login; [task.CodeUnauthorized] if it is not good, or not any more.
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
