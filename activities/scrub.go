package activities

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

// removed stands where a secret stood.
const removed = "[removed]"

// secretForms are the shapes of credentials that we know, whatever their value. The first
// group of each is kept.
var secretForms = []*regexp.Regexp{ //nolint:gochecknoglobals // compiled once, never written
	regexp.MustCompile(`(\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@"']+@`),
	regexp.MustCompile(`()v1\.[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_=-]{16,}`),
	regexp.MustCompile(`()\bsk-[A-Za-z0-9_-]{8,}`),
	regexp.MustCompile(`()\b(?:ghp|gho|ghu|ghs|ghr|github_pat)_[A-Za-z0-9_]{8,}`),
	regexp.MustCompile(`()\bomoi_[A-Za-z0-9_-]{16,}`),
	regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`),
	regexp.MustCompile(`(?i)(\bbearer\s+)[^\s"',;]+`),
	regexp.MustCompile(`(?i)(\bauthorization["']?\s*[:=]\s*["']?(?:basic\s+|token\s+)?)[^\s"',;]+`),
	regexp.MustCompile(`(?i)(\b(?:password|passwd|secret|token|api[_-]?key)["']?\s*[:=]\s*["']?)[^\s"',;&]+`),
}

// minSecret is the length from which a given secret is cut out; a shorter one would take
// ordinary words with it.
const minSecret = 6

// Scrub returns text without the given secrets and without anything that has the shape of
// a known credential.
func Scrub(text string, secrets []string) string {
	for _, s := range secrets {
		if len(s) >= minSecret {
			text = strings.ReplaceAll(text, s, removed)
		}
	}
	for _, form := range secretForms {
		text = form.ReplaceAllString(text, "${1}"+removed)
	}
	return text
}

func (a *Activities) scrub(text string) string { return Scrub(text, a.cfg.Secrets) }

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
	cut := limit - len(dots)
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + dots
}
