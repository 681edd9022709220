package activities

import (
	"strings"
	"unicode/utf8"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/redact"
)

func (a *Activities) scrub(text string) string { return redact.Scrub(text, a.cfg.Secrets) }

// brief returns text for a history: without secrets, in one line, at most 200 characters.
func (a *Activities) brief(text string) string {
	return cutRunes(strings.Join(strings.Fields(a.scrub(text)), " "), maxReasonRunes)
}

// cutRunes returns at most limit characters of s.
func cutRunes(s string, limit int) string {
	s = strings.ToValidUTF8(s, "?")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// cutBytes returns at most limit bytes of s, in whole characters.
func cutBytes(s string, limit int) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= limit {
		return s
	}
	const dots = "…"
	return textcut.First(s, limit-len(dots)) + dots
}
