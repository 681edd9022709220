package supervise

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"
)

// SimilarityThreshold is how alike two pieces of work are at least that are taken for the same. It lies in the
// middle of the gap that the labelled pairs of testdata leave.
const SimilarityThreshold = 0.55

// Work is what somebody was told to do, as far as it tells one piece of work from another, and
// the files that were changed for it. It is read only once it is made, and small enough to be kept.
type Work struct {
	title, words, files set
	marks               set    // numbers and short words of the title: versions, languages, codes
	plain               string // for texts without a telling word
	adds, takes         bool   // what the title wants
}

// set is hashes of words, ascending, each once.
type set []uint64

func setOf(words []string) set {
	out := make(set, 0, len(words))
	for _, word := range words {
		out = append(out, digest(word))
	}
	slices.Sort(out)
	return slices.Clip(slices.Compact(out))
}

// longestWork is how much of a description counts: what it is about stands at its beginning.
const longestWork = 4000

// WorkOf reads a title and a description.
func WorkOf(title, description string, files ...string) Work {
	inTitle := telling(title)
	words := append(telling(cut(description, longestWork)), inTitle...)
	paths := make([]string, 0, len(files))
	for _, file := range files {
		paths = append(paths, inWorkspace(file))
	}
	w := Work{title: setOf(inTitle), words: setOf(words), files: setOf(paths), marks: setOf(marksOf(inTitle))}
	if len(w.words) == 0 {
		w.plain = plainOf(title + " " + description)
	}
	for _, word := range wordsIn(strings.ToLower(title)) {
		w.adds, w.takes = w.adds || adding[word], w.takes || taking[word]
	}
	if len(w.title) == 0 {
		w.title = w.words
	}
	return w
}

// Work is what a subject was told to do, and the files that it has changed.
func (s *Subject) Work() Work {
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
	opposed      = 0.5  // is left where one adds what the other takes away, or each has a mark that the other lacks
	elsewhere    = 0.8  // is left where both have changed files, and none of them is the same
	sameFiles    = 0.33 // of what is missing is made up for where all files are the same
)

// Similarity says how alike two pieces of work are, 0 to 1. It is cheap: it counts words and
// understands none, so two who say the same in other words are not alike.
//
// It is the square of the part of one title that the other's text covers, whichever title is
// covered better, times the mean of what both texts share of the words that either has, and of
// those that the shorter one has. The titles weigh so much since texts of one pattern ("page the
// orders", "page the users") agree in all words but those that matter, and these stand in titles.
func (w *Work) Similarity(o *Work) float64 {
	if len(w.words) == 0 && len(o.words) == 0 && w.plain == o.plain {
		return 1
	}
	if len(w.words) == 0 || len(o.words) == 0 {
		return 0
	}
	covered := max(coverage(w.title, o.words), coverage(o.title, w.words))
	if covered < leastCovered {
		return 0
	}
	shared := shares(w.words, o.words)
	either, less := len(w.words)+len(o.words)-shared, min(len(w.words), len(o.words))
	alike := covered * covered * (float64(shared)/float64(either) + float64(shared)/float64(less)) / 2 //nolint:mnd // the mean of two
	if w.opposes(o) || o.opposes(w) || w.marked(o) && o.marked(w) {
		alike *= opposed
	}
	return w.withFiles(o, alike)
}

// opposes reports whether a work adds what another one takes away.
func (w *Work) opposes(o *Work) bool { return w.adds && !w.takes && o.takes && !o.adds }

// marked reports whether a work has a mark of which the other says nothing: another version, another language.
func (w *Work) marked(o *Work) bool { return shares(w.marks, o.words) < len(w.marks) }

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
	n := 0
	for i, k := 0, 0; i < len(a) && k < len(b); {
		switch {
		case a[i] < b[k]:
			i++
		case a[i] > b[k]:
			k++
		default:
			n, i, k = n+1, i+1, k+1
		}
	}
	return n
}

func wordsIn(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// plainOf are the words of a text, or its signs where it has none.
func plainOf(text string) string {
	words := wordsIn(text)
	if len(words) == 0 {
		words = strings.Fields(text)
	}
	return strings.ToLower(strings.Join(words, " "))
}

// telling are the words that tell works apart, without their endings.
func telling(text string) []string {
	words, codes := wordsIn(text), !shouts(text)
	var out []string
	for _, word := range words {
		if low := strings.ToLower(word); !common[low] || codes && isCode(word, low) {
			out = append(out, stem(low))
		}
	}
	return out
}

// shouts reports whether a text is written in capitals, so that they say nothing of a word. Codes alone do not make it so.
func shouts(text string) bool {
	if strings.ContainsFunc(text, unicode.IsLower) {
		return false
	}
	return slices.ContainsFunc(wordsIn(text), func(word string) bool { return len(word) > longestCode && word != strings.ToLower(word) })
}

// longestCode is how many letters a code has: DE, US.
const longestCode = 2

// isCode reports whether a short word is no common one since it stands in capitals: IT and US, not it and us.
func isCode(word, low string) bool {
	return len(word) <= longestCode && word == strings.ToUpper(word) && word != low && word != "A" && word != "I"
}

// marksOf are the numbers and the short words.
func marksOf(words []string) []string {
	return slices.DeleteFunc(slices.Clone(words), func(word string) bool {
		return len(word) > longestCode && (word[0] < '0' || word[0] > '9')
	})
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
	common = map[string]bool{
		"a": true, "an": true, "as": true, "at": true, "be": true, "by": true, "do": true, "he": true, "i": true, "if": true, "in": true,
		"is": true, "it": true, "me": true, "my": true, "no": true, "of": true, "on": true, "or": true, "so": true, "to": true, "up": true,
		"us": true, "we": true, "am": true, "d": true, "ll": true, "m": true, "re": true, "s": true, "t": true, "ve": true,
		"the": true, "and": true, "for": true, "with": true, "that": true, "this": true, "from": true, "into": true, "all": true, "new": true,
		"are": true, "not": true, "has": true, "have": true, "its": true, "should": true, "must": true, "when": true, "where": true, "which": true,
		"add": true, "make": true, "use": true, "fix": true, "please": true, "can": true, "will": true, "but": true, "only": true, "one": true,
	}
	adding = map[string]bool{"add": true, "enable": true, "introduce": true, "implement": true, "create": true}
	taking = map[string]bool{"remove": true, "delete": true, "drop": true, "disable": true, "revert": true, "undo": true}
)

// Link joins two works that are alike, by their places in a list; A stands before B.
type Link struct {
	A, B       int
	Similarity float64
}

// Links answers for each work those before it that are most like it, at most each of them, and
// by least or more; the most alike pairs first. Many of one kind give one link for each of them
// and not one for each pair.
func Links(works []Work, least float64, each int) []Link {
	var all []Link
	for k := range works {
		var links []Link
		for i := range works[:k] {
			if alike := works[i].Similarity(&works[k]); alike >= least {
				links = append(links, Link{i, k, alike})
			}
		}
		slices.SortFunc(links, CompareLinks)
		all = append(all, links[:min(each, len(links))]...)
	}
	slices.SortFunc(all, CompareLinks)
	return all
}

// CompareLinks puts the most alike first, of those as alike the earliest.
func CompareLinks(a, b Link) int {
	return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
}

// WorkText is a piece of work in words, as a model is shown it.
type WorkText struct {
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Phase       string   `json:"phase,omitempty"`
	Focus       string   `json:"current_focus,omitempty"` // what its agent is at
	Files       []string `json:"changed_files,omitempty"`
}

// Comparison is what a model says of two pieces of work.
type Comparison struct {
	Duplicate  bool    `json:"is_duplicate"`
	Similarity float64 `json:"similarity_score"`
	Work       string  `json:"work_description"` // what both are about, or what tells them apart
	Confidence float64 `json:"confidence"`
}

// DuplicateSimilarity is how alike two works are at least that a model calls the same: the
// replaced system's number.
const DuplicateSimilarity = 0.7

// Says reports whether both are the same work, and whether that is sure enough to count.
func (c Comparison) Says(confidence float64) (same, sure bool) {
	return c.Duplicate && c.Similarity > DuplicateSimilarity, c.Confidence >= confidence
}

// Comparer understands whether two pieces of work are the same. What it costs is told also beside an error.
type Comparer interface {
	Compare(ctx context.Context, a, b WorkText) (Comparison, ModelUse, error)
}
