package redact

import (
	"slices"
	"strings"
)

// remove takes what has the form out of text. A pattern is slow where it is tried at every byte, so it is tried only on lines with one
// of its marks, each together with those behind it into which a match may go on.
func (f form) remove(text string) string {
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

// marked reports whether a match may begin in a line. Where case does not count, two letters outside of ASCII are an s and a k.
func (f form) marked(line string) bool {
	if f.fold {
		if strings.ContainsAny(line, "\u017f\u212a") {
			return true
		}
		line = strings.ToLower(line)
	}
	return slices.ContainsFunc(f.marks, func(mark string) bool { return strings.Contains(line, mark) })
}

// hide empties hot and returns what was in it, without what has the form.
func (f form) hide(hot *strings.Builder) string {
	if hot.Len() == 0 {
		return ""
	}
	defer hot.Reset()
	return f.pattern.ReplaceAllString(hot.String(), "${1}"+Removed)
}
