package redact

import (
	"regexp"
	"strings"
)

// Removed stands where something stood that had the form of a secret.
const Removed = "[removed]"

// forms are the shapes of credentials that we know, whatever their value. The first group of
// each is kept.
var forms = []*regexp.Regexp{ //nolint:gochecknoglobals // compiled once, never written
	regexp.MustCompile(`(\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@"']+@`),
	regexp.MustCompile(`()v1\.[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_=-]{16,}`),
	regexp.MustCompile(`()\bsk-[A-Za-z0-9_-]{8,}`),
	regexp.MustCompile(`()\b(?:ghp|gho|ghu|ghs|ghr|github_pat)_[A-Za-z0-9_]{8,}`),
	regexp.MustCompile(`()\b(?:omoi|sk_live)_[A-Za-z0-9_-]{16,}`),
	regexp.MustCompile(`()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`),
	regexp.MustCompile(`(?i)(\bbearer\s+)[^\s"',;]+`),
	regexp.MustCompile(`(?i)(\bauthorization["']?\s*[:=]\s*["']?(?:basic\s+|token\s+)?)[^\s"',;]+`),
	regexp.MustCompile(`(?i)((?:\b|_)(?:password|passwd|secret|token|api[_-]?key)["']?\s*[:=]\s*["']?)[^\s"',;&]+`),
}

// minSecret is the length from which a given secret is cut out; a shorter one would take
// ordinary words with it.
const minSecret = 6

// Scrub returns text without the given secrets and without anything that has the shape of
// a known credential.
func Scrub(text string, secrets []string) string {
	for _, s := range secrets {
		if len(s) >= minSecret {
			text = strings.ReplaceAll(text, s, Removed)
		}
	}
	for _, form := range forms {
		text = form.ReplaceAllString(text, "${1}"+Removed)
	}
	return text
}
