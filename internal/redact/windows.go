package redact

import "strings"

// remove takes what has the form out of text. A pattern is slow where it is tried at every byte, so it is tried only where one of its
// marks is: in that line, and in those behind it into which a match may go on.
func (f form) remove(text string) string {
	const kept = "${1}" + Removed
	marked := text
	if f.fold {
		if strings.ContainsAny(text, "\u017f\u212a") { // which are an s and a k where case does not count
			return f.pattern.ReplaceAllString(text, kept)
		}
		marked = small(text)
	}
	var out strings.Builder
	done := 0
	for s := newSeeker(marked, f.marks); ; {
		at := s.next(done)
		if at < 0 {
			break
		}
		first, last := strings.LastIndexByte(text[:at], '\n')+1, f.reach(text, s, at)
		out.WriteString(text[done:first])
		out.WriteString(f.pattern.ReplaceAllString(text[first:last], kept))
		done = last
	}
	if done == 0 {
		return text
	}
	return out.String() + text[done:]
}

// reach is the end of the lines in which matches can end that begin in the line of a mark, or in one of those lines.
func (f form) reach(text string, s *seeker, at int) int {
	for {
		line := lineEnd(text, at)
		end := line
		for breaks := f.breaks; breaks > 0 && end < len(text); {
			next := lineEnd(text, end)
			if strings.TrimSpace(text[end:next]) != "" {
				breaks--
			}
			end = next
		}
		if at = s.next(line); at < 0 || at >= end {
			return end
		}
	}
}

func lineEnd(text string, from int) int {
	if n := strings.IndexByte(text[from:], '\n'); n >= 0 {
		return from + n + 1
	}
	return len(text)
}

// seeker finds marks in a text from its beginning on, and reads it once for each.
type seeker struct {
	text  string
	marks []string
	found []int // where each mark is next; -1: nowhere any more
}

func newSeeker(text string, marks []string) *seeker {
	s := &seeker{text: text, marks: marks, found: make([]int, len(marks))}
	for i, mark := range marks {
		s.found[i] = strings.Index(text, mark)
	}
	return s
}

// next is where the first mark at or behind from begins; -1 if there is none. from never goes back.
func (s *seeker) next(from int) int {
	first := -1
	for i, mark := range s.marks {
		if s.found[i] >= 0 && s.found[i] < from {
			if s.found[i] = strings.Index(s.text[from:], mark); s.found[i] >= 0 {
				s.found[i] += from
			}
		}
		if at := s.found[i]; at >= 0 && (first < 0 || at < first) {
			first = at
		}
	}
	return first
}

// small has small letters in the place of A to Z, each byte where it was.
func small(text string) string {
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
