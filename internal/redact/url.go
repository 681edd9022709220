package redact

import (
	"net/url"
	"slices"
	"strings"
)

// URL is a link without what logs in: its user, and the values in query and fragment whose name or form says that they are
// secret. What is no link of the web is empty.
func URL(link string) string {
	u, err := url.Parse(link)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	u.User = nil
	u.RawQuery = pairs(u.RawQuery)
	u.RawFragment = pairs(u.EscapedFragment())
	if u.Fragment, err = url.PathUnescape(u.RawFragment); err != nil {
		u.Fragment, u.RawFragment = "", ""
	}
	return Scrub(u.String(), nil)
}

// pairs hides values in names and values as a query has them.
func pairs(query string) string {
	parts := strings.FieldsFunc(query, func(r rune) bool { return r == '&' || r == ';' })
	for n, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		plain, err := url.QueryUnescape(name)
		if meant, errValue := url.QueryUnescape(value); value != "" && (err != nil || errValue != nil || secretPair(plain, meant)) {
			parts[n] = name + "=" + Removed
		}
	}
	return strings.Join(parts, "&")
}

// secretPair reports whether a value of a link lets whoever has it in. A signature does: it is what a signed link is worth.
func secretPair(name, value string) bool {
	parts := words(name)
	signed := slices.ContainsFunc(parts, func(w string) bool { return slices.Contains([]string{"sig", "signature", "code", "session"}, w) })
	return signed || SecretName(name) || knownForm(value) || Scrub(value, nil) != value
}
