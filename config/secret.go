package config

import (
	"log/slog"
	"net/url"
)

// Secret is a value that is never printed. A URL is printed without its password.
type Secret string

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String returns the masked value; an empty value stays empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	u, err := url.Parse(string(s))
	if err != nil || u.Scheme == "" || u.Host == "" {
		return "********"
	}
	return maskURL(u)
}

// GoString keeps %#v from printing the value.
func (s Secret) GoString() string { return s.String() }

// LogValue keeps the value out of logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText keeps the value out of JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func maskURL(u *url.URL) string {
	masked := *u
	if _, has := u.User.Password(); has {
		masked.User = url.UserPassword(u.User.Username(), "xxxxx")
	}
	query := u.Query()
	for key := range query {
		if key != "sslmode" && key != "host" {
			query.Set(key, "xxxxx")
		}
	}
	masked.RawQuery = query.Encode()
	return masked.String()
}
