// Package render renders objects of the API as text. All text from a sandbox is cleaned first, since a terminal
// executes control characters.
package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Clean makes text safe for a terminal: a tab becomes two spaces, another control character one space. Format
// characters, for example those that change the direction of writing, are removed, as is invalid UTF-8.
func Clean(s string) string {
	if strings.IndexFunc(s, unprintable) < 0 && utf8.ValidString(s) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\t':
			b.WriteString("  ")
		case unicode.Is(unicode.Cf, r) || r == utf8.RuneError:
		case unprintable(r):
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

func unprintable(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }

// Cut shortens s to at most n characters. A shortened text ends with an ellipsis.
func Cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return strings.TrimRight(string(runes[:max(n-1, 0)]), " ") + "…"
}

// Question returns the text of a question with its options.
func Question(text string, options []string) string {
	if len(options) == 0 {
		return text
	}
	return text + " (" + strings.Join(options, " / ") + ")"
}

// OneLine returns s cleaned, on one line, with at most n characters.
func OneLine(s string, n int) string {
	return Cut(strings.Join(strings.Fields(Clean(s)), " "), n)
}

// Short returns the last 8 characters of an ID, as lists show it: IDs of the same minute have the same beginning.
func Short(id string) string { return id[max(len(id)-8, 0):] }

// Name returns the key of an object, or its short ID if the server is older than keys.
func Name(key, id string) string { return cmp.Or(key, Short(id)) }

// ShortIDs shortens the given IDs in a text; see [Rename].
func ShortIDs(text string, ids ...string) string {
	for _, id := range ids {
		text = Rename(text, id, Short(id))
	}
	return text
}

// Rename replaces an ID in a text with a name. An ID in a path stays: git needs the whole ref.
func Rename(text, id, name string) string {
	if id == "" {
		return text
	}
	parts := strings.Split(text, id)
	text = parts[0]
	for _, next := range parts[1:] {
		shown := name
		if strings.HasSuffix(text, "/") || strings.HasPrefix(next, "/") {
			shown = id
		}
		text += shown + next
	}
	return text
}

// Elapsed formats a duration: 0.4s, 59.9s, 3m04s, 2h05m, 3d04h. A negative duration is 0.0s.
func Elapsed(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Truncate(100*time.Millisecond).Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d < 24*time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%dd%02dh", int(d.Hours())/24, int(d.Hours())%24)
}

// Bytes formats a size: 12 B, 3.4 KiB, 5.6 MiB.
func Bytes(n int64) string {
	if n < 1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	size, unit := float64(n)/(1<<10), 0
	for units := "KMGT"; size >= 1<<10 && unit < len(units)-1; unit++ {
		size /= 1 << 10
	}
	return fmt.Sprintf("%.1f %ciB", size, "KMGT"[unit])
}
