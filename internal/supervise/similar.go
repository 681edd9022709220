package supervise

import (
	"strings"
	"unicode"
)

// Likeness of the work of two subjects, 0 to 1: of the words of what they were told to do, and
// of the files that they changed where both have changed some. It is cheap, and meant to find
// candidates.
func Likeness(a, b Subject) float64 {
	words := overlap(wordsOf(a), wordsOf(b))
	mine, theirs := filesIn(a), filesIn(b)
	if len(mine) == 0 || len(theirs) == 0 {
		return words
	}
	return 0.6*words + 0.4*overlap(mine, theirs)
}

// overlap of two sets: what they share, of what either has.
func overlap(a, b map[string]bool) float64 {
	shared := 0
	for word := range a {
		if b[word] {
			shared++
		}
	}
	if all := len(a) + len(b) - shared; all > 0 {
		return float64(shared) / float64(all)
	}
	return 0
}

// wordsOf are the telling words of a task, without their endings.
func wordsOf(s Subject) map[string]bool {
	set := map[string]bool{}
	text := strings.ToLower(s.Title + " " + s.Description)
	for word := range strings.FieldsFuncSeq(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if len(word) > 2 && !common[word] {
			set[stem(word)] = true
		}
	}
	return set
}

func stem(word string) string {
	for _, end := range []string{"ing", "ed", "es", "s"} {
		if short, ok := strings.CutSuffix(word, end); ok && len(short) > 3 {
			return short
		}
	}
	return word
}

func filesIn(s Subject) map[string]bool {
	set := map[string]bool{}
	for i := range s.Events {
		if s.Events[i].Edit != nil {
			set[s.Events[i].Path] = true
		}
	}
	return set
}

//nolint:gochecknoglobals // a table
var common = map[string]bool{
	"the": true, "and": true, "for": true, "with": true, "that": true, "this": true, "from": true, "into": true, "all": true, "new": true,
	"are": true, "not": true, "has": true, "have": true, "its": true, "should": true, "must": true, "when": true, "where": true, "which": true,
	"add": true, "make": true, "use": true, "fix": true, "please": true, "can": true, "will": true, "but": true, "only": true, "one": true,
}
