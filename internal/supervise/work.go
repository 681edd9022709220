package supervise

import (
	"strings"
	"unicode"
)

// Alike is how alike two pieces of work are at least that are taken for the same. It lies in the
// middle of the gap that the labelled pairs of testdata leave.
const Alike = 0.55

// Work is what somebody was told to do, as far as it tells one piece of work from another, and
// the files that were changed for it. It is read only once it is made.
type Work struct {
	title, words, files set
	plain               string // for texts without a telling word
	adds, takes         bool   // what the title wants
}

type set map[string]bool

// longestWork is how much of a description counts: what it is about stands at its beginning.
const longestWork = 4000

// WorkOf reads a title and a description.
func WorkOf(title, description string, files ...string) Work {
	description = cut(description, longestWork)
	w := Work{title: telling(title), words: telling(title + " " + description), files: set{}, plain: strings.Join(wordsIn(title+" "+description), " ")}
	for _, word := range wordsIn(title) {
		w.adds, w.takes = w.adds || adding[word], w.takes || taking[word]
	}
	if len(w.title) == 0 {
		w.title = w.words
	}
	for _, file := range files {
		w.files[inWorkspace(file)] = true
	}
	return w
}

// Likeness of the work of two subjects; see [Work.Like].
func Likeness(a, b Subject) float64 {
	mine, theirs := workOf(a), workOf(b)
	return mine.Like(&theirs)
}

func workOf(s Subject) Work {
	var files []string
	for i := range s.Events {
		if s.Events[i].Edit != nil {
			files = append(files, s.Events[i].Path)
		}
	}
	return WorkOf(s.Title, s.Description, files...)
}

// Shares of a likeness.
const (
	leastCovered = 0.5  // of a title's words; below that nothing is alike
	opposed      = 0.5  // is left where one adds what the other takes away
	elsewhere    = 0.8  // is left where both have changed files, and none of them is the same
	sameFiles    = 0.33 // of what is missing is made up for where all files are the same
)

// Like says how alike two pieces of work are, 0 to 1. It is cheap: it counts words and
// understands none, so two who say the same in other words are not alike.
//
// It is the square of the part of one title that the other's text covers, whichever title is
// covered better, times the mean of what both texts share of the words that either has, and of
// those that the shorter one has. The titles weigh so much since texts of one pattern ("page the
// orders", "page the users") agree in all words but those that matter, and these stand in titles.
func (w *Work) Like(o *Work) float64 {
	if len(w.words) == 0 || len(o.words) == 0 {
		if w.plain == o.plain {
			return 1
		}
		return 0
	}
	covered := max(coverage(w.title, o.words), coverage(o.title, w.words))
	if covered < leastCovered {
		return 0
	}
	shared := shares(w.words, o.words)
	either, less := len(w.words)+len(o.words)-shared, min(len(w.words), len(o.words))
	alike := covered * covered * (float64(shared)/float64(either) + float64(shared)/float64(less)) / 2 //nolint:mnd // the mean of two
	if w.adds && !w.takes && o.takes && !o.adds || o.adds && !o.takes && w.takes && !w.adds {
		alike *= opposed
	}
	return w.withFiles(o, alike)
}

// withFiles lets the files speak where both have changed some.
func (w *Work) withFiles(o *Work, alike float64) float64 {
	if len(w.files) == 0 || len(o.files) == 0 {
		return alike
	}
	shared := shares(w.files, o.files)
	if shared == 0 {
		return alike * elsewhere
	}
	return alike + (1-alike)*sameFiles*float64(shared)/float64(len(w.files)+len(o.files)-shared)
}

// coverage is the part of a that b has.
func coverage(a, b set) float64 { return float64(shares(a, b)) / float64(len(a)) }

func shares(a, b set) int {
	if len(a) > len(b) {
		a, b = b, a
	}
	n := 0
	for one := range a {
		if b[one] {
			n++
		}
	}
	return n
}

func wordsIn(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// telling are the words that tell works apart, without their endings: long ones and numbers.
func telling(text string) set {
	words := set{}
	for _, word := range wordsIn(text) {
		isNumber := word[0] >= '0' && word[0] <= '9'
		if (len(word) > 2 || isNumber) && !common[word] {
			words[stem(word)] = true
		}
	}
	return words
}

func stem(word string) string {
	for _, end := range []string{"ing", "ed", "es", "s"} {
		if short, ok := strings.CutSuffix(word, end); ok && len(short) > 3 {
			return short
		}
	}
	return word
}

// inWorkspace is a file's path as it is in every sandbox.
func inWorkspace(file string) string {
	if _, inside, ok := strings.Cut(file, "/workspace/"); ok {
		return inside
	}
	return strings.TrimPrefix(file, "./")
}

//nolint:gochecknoglobals // tables
var (
	common = set{
		"the": true, "and": true, "for": true, "with": true, "that": true, "this": true, "from": true, "into": true, "all": true, "new": true,
		"are": true, "not": true, "has": true, "have": true, "its": true, "should": true, "must": true, "when": true, "where": true, "which": true,
		"add": true, "make": true, "use": true, "fix": true, "please": true, "can": true, "will": true, "but": true, "only": true, "one": true,
	}
	adding = set{"add": true, "enable": true, "introduce": true, "implement": true, "create": true}
	taking = set{"remove": true, "delete": true, "drop": true, "disable": true, "revert": true, "undo": true}
)
