package redact

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// SecretName reports whether the name of a variable says that its value is a secret, as
// API_KEY, GithubToken and DB_PASSWORD do. MAX_TOKENS does too: it is the value that tells.
func SecretName(name string) bool {
	parts := words(name)
	if len(parts) == 0 || slices.Contains([]string{"path", "file", "dir", "url", "uri", "name", "type", "mode"}, parts[len(parts)-1]) {
		return false // where it is, or what it is called
	}
	return slices.ContainsFunc(parts, secretWord) || (len(parts) > 1 && slices.Contains(parts, "pwd"))
}

func secretWord(word string) bool {
	if slices.Contains([]string{"key", "keys", "pass", "auth", "creds", "cookie", "jwt", "pat", "private"}, word) {
		return true
	}
	ends := []string{"token", "tokens", "apikey", "accesskey", "privatekey", "passwd", "passphrase"}
	return strings.Contains(word, "secret") || strings.Contains(word, "password") || strings.Contains(word, "credential") ||
		slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(word, end) })
}

// words splits a name at everything that is no letter or digit, and before capitals that
// follow a small letter.
func words(name string) []string {
	var split strings.Builder
	var last rune
	for _, r := range name {
		if unicode.IsUpper(r) && unicode.IsLower(last) {
			split.WriteByte(' ')
		}
		split.WriteRune(r)
		last = r
	}
	return strings.FieldsFunc(strings.ToLower(split.String()), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// secretsOf are the parts of a variable's value that nobody may read.
func secretsOf(name, value string) []string {
	switch {
	case len(value) < least:
		return nil
	case knownForm(value), SecretName(name) && !innocent(name, value):
		return []string{value}
	}
	return passwordOf(value)
}

// knownForm reports whether a value looks like a credential, whatever its name.
func knownForm(value string) bool {
	forms := []string{"sk-", "sk_live_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "xoxb-", "xoxp-", "eyJ", "omoi_", "-----BEGIN "}
	return len(value) >= 2*least && slices.ContainsFunc(forms, func(form string) bool { return strings.HasPrefix(value, form) })
}

// innocent reports whether the value of a variable with the name of a secret is none: a
// number that is no password, or a path. A random text in base64 may begin like a path, but
// it does not go on in small letters only.
func innocent(name, value string) bool {
	const digits = "0123456789"
	if strings.Trim(value, digits) == "" {
		return !strings.Contains(strings.ToLower(name), "pass")
	}
	path := strings.HasPrefix(strings.TrimLeft(value, "~."), "/")
	return path && strings.Trim(value, "abcdefghijklmnopqrstuvwxyz"+digits+"~._-/") == ""
}

// passwordOf is the password of a URL, as it is written there and as it is meant; with all
// before it where it is too short to stand alone. A long user without one is a token.
func passwordOf(value string) []string {
	scheme, rest, _ := strings.Cut(value, "://")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	at := strings.LastIndexByte(rest, '@')
	if at < 0 {
		return nil
	}
	user, password, found := strings.Cut(rest[:at], ":")
	switch meant, err := url.PathUnescape(password); {
	case !found && len(user) < 2*least, found && password == "":
		return nil
	case !found:
		return []string{user}
	case len(password) < least:
		return []string{scheme + "://" + rest[:at+1]}
	case err == nil && len(meant) >= least && meant != password:
		return []string{password, meant}
	}
	return []string{password}
}
