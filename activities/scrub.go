package activities

import (
	"strings"
	"unicode/utf8"

	"github.com/omoi-dev/omoi/internal/agent/textcut"
	"github.com/omoi-dev/omoi/internal/redact"
)

func (a *Activities) scrub(text string) string { return redact.Scrub(text, a.cfg.Secrets) }

// brief is text as it may travel in a history: scrubbed, on one line, of at most 200 characters.
func (a *Activities) brief(text string) string {
	return cutRunes(strings.Join(strings.Fields(a.scrub(text)), " "), maxReasonRunes)
}

// cutRunes keeps at most limit characters.
func cutRunes(s string, limit int) string {
	s = strings.ToValidUTF8(s, "?")
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-1]) + "…"
}

// cutBytes keeps at most limit bytes, whole characters only.
func cutBytes(s string, limit int) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) <= limit {
		return s
	}
	const dots = "…"
	return textcut.First(s, limit-len(dots)) + dots
}
