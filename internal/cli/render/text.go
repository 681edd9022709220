// Package render turns what the API answers into lines that people read. Everything that
// came out of a sandbox is made harmless first: a terminal obeys control characters.
package render

import (
	"cmp"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Clean replaces what a terminal would obey or hide: control characters become spaces, tabs two of
// them, and marks that turn the direction of writing vanish.
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

// Cut shortens s to at most n characters, the last of them an ellipsis where something is missing.
func Cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	runes := []rune(s)
	return strings.TrimRight(string(runes[:max(n-1, 0)]), " ") + "…"
}

// OneLine is the text in one clean line of at most n characters.
func OneLine(s string, n int) string {
	return Cut(strings.Join(strings.Fields(Clean(s)), " "), n)
}

// Short is the end of an id as lists show it: ids of one minute begin alike.
func Short(id string) string { return id[max(len(id)-8, 0):] }

// Name returns what lists show of an object: its key, or the end of its ID if the server is older than keys.
func Name(key, id string) string { return cmp.Or(key, Short(id)) }

// ShortIDs is a text with ids as lists show them; see [Rename].
func ShortIDs(text string, ids ...string) string {
	for _, id := range ids {
		text = Rename(text, id, Short(id))
	}
	return text
}

// Rename returns a text with a name in the place of an ID. An ID in a path stays: git wants a ref as it is.
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

// Elapsed writes a duration as people read it: 0.4s, 59.9s, 3m04s, 2h05m, 3d04h.
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

// Bytes writes a size: 12 B, 3.4 KiB, 5.6 MiB.
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

// Count is n with its noun: 1 event, 2 events.
func Count[N ~int | ~int64](n N, noun string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case strings.HasSuffix(noun, "x"): // sandbox
		return fmt.Sprintf("%d %ses", n, noun)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
