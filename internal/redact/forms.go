package redact

import (
	"regexp"
	"slices"
	"strings"
)

// Removed stands where something stood that had the form of a secret.
const Removed = "[removed]"

// form is a shape of credentials that we know, whatever their value. The first group of its pattern is kept.
type form struct {
	pattern *regexp.Regexp
	marks   []string // one of them is in each match, in the line in which that begins; in small letters where fold is set
	fold    bool     // case does not count
	breaks  int      // how often a match may go on behind the end of a line
}

var forms = []form{ //nolint:gochecknoglobals // compiled once, never written
	exact(`(\b[a-zA-Z][a-zA-Z0-9+.-]*://)[^\s/@"']+@`, "://"),
	exact(`()v1\.[A-Za-z0-9_-]{1,64}\.[A-Za-z0-9_=-]{16,}`, "v1."),
	exact(`()\bsk-[A-Za-z0-9_-]{8,}`, "sk-"),
	exact(`()\b(?:ghp|gho|ghu|ghs|ghr|github_pat)_[A-Za-z0-9_]{8,}`, "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"),
	exact(`()\b(?:omoi|sk_live)_[A-Za-z0-9_-]{16,}`, "omoi_", "sk_live_"),
	exact(`()\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`, "eyJ"),
	folded(1, `(\bbearer\s+)[^\s"',;]+`, "bearer"),
	folded(3, `(\bauthorization["']?\s*[:=]\s*["']?(?:basic\s+|token\s+)?)[^\s"',;]+`, "authorization"),
	folded(2, `((?:\b|_)(?:password|passwd|secret|token|api[_-]?key)["']?\s*[:=]\s*["']?)[^\s"',;&]+`,
		"password", "passwd", "secret", "token", "apikey", "api_key", "api-key"),
}

func exact(pattern string, marks ...string) form {
	return form{pattern: regexp.MustCompile(pattern), marks: marks}
}

func folded(breaks int, pattern string, marks ...string) form {
	return form{pattern: regexp.MustCompile(`(?i)` + pattern), marks: marks, fold: true, breaks: breaks}
}

// remove takes what has the form out of text. A pattern is slow where it is tried at every byte, so it is tried only on lines with one
// of its marks, each together with those behind it into which a match may go on.
func (f form) remove(text string) string {
	if !f.marked(text) {
		return text
	}
	var out, hot strings.Builder
	left := -1 // lines with text that hot still takes; negative: none, nor blank ones
	for line := range strings.Lines(text) {
		switch {
		case f.marked(line):
			left = f.breaks
		case left >= 0 && strings.TrimSpace(line) != "":
			left--
		}
		if left < 0 {
			out.WriteString(f.hide(&hot))
			out.WriteString(line)
			continue
		}
		hot.WriteString(line)
	}
	return out.String() + f.hide(&hot)
}

// marked reports whether a match may begin in a text. Where case does not count, two letters outside of ASCII are an s and a k.
func (f form) marked(text string) bool {
	if f.fold {
		if strings.ContainsAny(text, "\u017f\u212a") {
			return true
		}
		text = strings.ToLower(text)
	}
	return slices.ContainsFunc(f.marks, func(mark string) bool { return strings.Contains(text, mark) })
}

// hide empties hot and returns what was in it, without what has the form.
func (f form) hide(hot *strings.Builder) string {
	if hot.Len() == 0 {
		return ""
	}
	defer hot.Reset()
	return f.pattern.ReplaceAllString(hot.String(), "${1}"+Removed)
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
		text = form.remove(text)
	}
	return text
}
