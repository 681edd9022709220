package supervise

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"
)

// SimilarityThreshold is the minimum similarity of duplicates. The value is the middle of the gap between the labelled
// pairs of testdata.
const SimilarityThreshold = 0.45

// Work is a digest of a work description and of the changed files, small enough to keep in memory.
type Work struct {
	title, words, files set
	adds, takes         bool // what the title asks for: to add or to remove
}

// set holds distinct hashes of words in ascending order.
type set []uint64

func setOf(words []string) set {
	out := make(set, 0, len(words))
	for _, word := range words {
		out = append(out, digest(word))
	}
	slices.Sort(out)
	return slices.Clip(slices.Compact(out))
}

// longestWork is the number of bytes of a description that count, because its beginning says what it is about.
const longestWork = 4000

// WorkOf returns the work of a title and a description. The files are the paths that were changed.
func WorkOf(title, description string, files ...string) Work {
	inTitle := telling(title)
	words := append(telling(cut(description, longestWork)), inTitle...)
	paths := make([]string, 0, len(files))
	for _, file := range files {
		paths = append(paths, inWorkspace(file))
	}
	if len(words) == 0 {
		words = allWords(title + " " + description)
	}
	w := Work{title: setOf(inTitle), words: setOf(words), files: setOf(paths)}
	for _, word := range wordsIn(strings.ToLower(title)) {
		w.adds, w.takes = w.adds || adding[word], w.takes || taking[word]
	}
	if len(w.title) == 0 {
		w.title = w.words
	}
	return w
}

// Work returns the work of a subject, with the files that its events report as changed.
func (s *Subject) Work() Work {
	var files []string
	for i := range s.Events {
		if s.Events[i].Edit != nil {
			files = append(files, s.Events[i].Path)
		}
	}
	return WorkOf(s.Title, s.Description, files...)
}

// Factors of the similarity.
const (
	leastCovered = 0.5  // minimum share of a title's words in the other text; below, the similarity is 0
	opposed      = 0.4  // factor if one title adds what the other removes, or each has a word that the other text lacks
	elsewhere    = 0.8  // factor if both changed files, and none in common
	sameFiles    = 0.33 // share of the missing similarity that equal files add
)

// Similarity returns the similarity of two works, 0 to 1. Similarity compares words only, so descriptions of the same
// work in other words score low.
//
// The score is the square of the better coverage of one title by the other text, times the mean of two ratios: shared
// words to all words, and shared words to the words of the shorter text. Titles count most, because descriptions with
// one pattern ("page the orders", "page the users") differ only in the words of their titles.
func (w *Work) Similarity(o *Work) float64 {
	if len(w.words) == 0 || len(o.words) == 0 {
		return float64(count(len(w.words) == len(o.words)))
	}
	covered := max(coverage(w.title, o.words), coverage(o.title, w.words))
	if covered < leastCovered {
		return 0
	}
	shared := shares(w.words, o.words)
	either, less := len(w.words)+len(o.words)-shared, min(len(w.words), len(o.words))
	alike := covered * covered * (float64(shared)/float64(either) + float64(shared)/float64(less)) / 2 //nolint:mnd // the mean of two
	if w.opposes(o) || o.opposes(w) || coverage(w.title, o.words) < 1 && coverage(o.title, w.words) < 1 {
		alike *= opposed
	}
	return w.withFiles(o, alike)
}

// opposes reports whether w adds and o removes.
func (w *Work) opposes(o *Work) bool { return w.adds && !w.takes && o.takes && !o.adds }

// withFiles adjusts a similarity by the changed files, if both works have some.
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

// coverage returns the share of a that b contains.
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

// allWords returns the words of a text, or its other characters if it has no words.
func allWords(text string) []string {
	if words := wordsIn(strings.ToLower(text)); len(words) > 0 {
		return words
	}
	return strings.Fields(text)
}

// telling returns the stems of the distinctive words of text.
func telling(text string) []string {
	var out []string
	for _, word := range wordsIn(strings.ToLower(text)) {
		if !common[word] {
			out = append(out, stem(word))
		}
	}
	return out
}

func stem(word string) string {
	for _, end := range []string{"ing", "ed", "es", "s"} {
		if short, ok := strings.CutSuffix(word, end); ok && len(short) > 3 {
			return short
		}
	}
	return word
}

// inWorkspace returns a path relative to the workspace.
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
		"we": true, "am": true, "d": true, "ll": true, "m": true, "re": true, "s": true, "t": true, "ve": true,
		"the": true, "and": true, "for": true, "with": true, "that": true, "this": true, "from": true, "into": true, "all": true, "new": true,
		"are": true, "not": true, "has": true, "have": true, "its": true, "should": true, "must": true, "when": true, "where": true, "which": true,
		"add": true, "make": true, "use": true, "fix": true, "please": true, "can": true, "will": true, "but": true, "only": true, "one": true,
	}
	adding = map[string]bool{"add": true, "enable": true, "introduce": true, "implement": true, "create": true}
	taking = map[string]bool{"remove": true, "delete": true, "drop": true, "disable": true, "revert": true, "undo": true}
)

// Link joins two similar works by their indexes; A is less than B.
type Link struct {
	A, B       int
	Similarity float64
}

// Links returns for each work up to each earlier works with a similarity of least or more, most similar first. The
// bound keeps the number of links linear if many works are similar.
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

// CompareLinks orders links by descending similarity, then by index.
func CompareLinks(a, b Link) int {
	return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.A, b.A), cmp.Compare(a.B, b.B))
}

// WorkText is a work description as a model is shown it.
type WorkText struct {
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Phase       string   `json:"phase,omitempty"`
	Focus       string   `json:"current_focus,omitempty"` // current focus of the agent
	Files       []string `json:"changed_files,omitempty"`
}

// Comparison is the answer of a model about two works.
type Comparison struct {
	Duplicate  bool    `json:"is_duplicate"`
	Similarity float64 `json:"similarity_score"`
	Work       string  `json:"work_description"` // one sentence: the common work, or the difference
	Confidence float64 `json:"confidence"`
}

// DuplicateSimilarity is the similarity that a model's answer must exceed to count as a duplicate, as in OmoiOS.
const DuplicateSimilarity = 0.7

// Says reports whether the works are the same, and whether the model's confidence suffices.
func (c Comparison) Says(confidence float64) (same, sure bool) {
	return c.Duplicate && c.Similarity > DuplicateSimilarity, c.Confidence >= confidence
}

// Comparer compares two works with a language model. The usage is returned with an error too.
type Comparer interface {
	Compare(ctx context.Context, a, b WorkText) (Comparison, ModelUse, error)
}
