package redact

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Hider takes secrets out of texts. nil hides nothing. It is safe for concurrent use.
type Hider struct {
	forms []string // what is looked for, the longest first
}

// New makes a hider of a token and of the secrets among the variables of an environment.
func New(token string, env map[string]string) *Hider {
	secrets := []string{token, token[strings.LastIndexByte(token, '.')+1:]} // the end alone gives a token away
	for _, name := range slices.Sorted(maps.Keys(env)) {
		secrets = append(secrets, secretsOf(name, env[name])...)
	}
	h := &Hider{}
	for _, secret := range secrets {
		h.add(secret)
		for line := range strings.Lines(secret) { // in a diff each one begins with a sign
			if line = strings.TrimSpace(line); len(line) >= 2*least {
				h.add(line)
			}
		}
	}
	slices.SortStableFunc(h.forms, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return h
}

// add looks for a secret as it is, in JSON, in JSON within JSON, and in a URL.
func (h *Hider) add(secret string) {
	once := quoted(secret)
	for _, form := range []string{secret, once, plain(once), quoted(once), quoted(plain(once)), url.QueryEscape(secret), url.PathEscape(secret)} {
		if len(form) >= least && !slices.Contains(h.forms, form) {
			h.forms = append(h.forms, form)
		}
	}
}

// quoted is text as Go writes it inside a JSON string.
func quoted(text string) string {
	b, err := json.Marshal(text)
	if err != nil { // a string always can be
		return text
	}
	return string(b[1 : len(b)-1])
}

// plain is quoted text as everybody else writes it.
func plain(quoted string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(quoted)
}

// Text is text without the secrets, and without the part of one that was cut at its
// beginning or end.
func (h *Hider) Text(text string) string {
	if h == nil || len(text) < least {
		return text
	}
	for _, form := range h.forms {
		text = strings.ReplaceAll(text, form, Hidden)
	}
	for _, form := range h.forms {
		text = withoutEnd(withoutBeginning(text, form), form)
	}
	return text
}

// withoutBeginning hides the end of a secret with which text begins.
func withoutBeginning(text, secret string) string {
	mark, reach := secret[len(secret)-least:], min(len(text), len(secret)-1)
	for at := strings.LastIndex(text[:reach], mark); at >= 0; at = strings.LastIndex(text[:at+least-1], mark) {
		if end := at + least; strings.HasSuffix(secret, text[:end]) {
			return Hidden + text[end:]
		}
	}
	return text
}

// withoutEnd hides the beginning of a secret with which text ends.
func withoutEnd(text, secret string) string {
	from := max(len(text)-len(secret)+1, 0)
	for at := strings.Index(text[from:], secret[:least]); at >= 0; {
		from += at
		if strings.HasPrefix(secret, text[from:]) {
			return text[:from] + Hidden
		}
		from++
		at = strings.Index(text[from:], secret[:least])
	}
	return text
}
