package supervise

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"
)

// SimilarityThreshold is the minimum similarity of nearly equal texts. Words cannot show the same work in other words; a
// [Finder] finds that.
const SimilarityThreshold = 0.85

// Work is a digest of a work description, small enough to keep in memory.
type Work struct{ title, words set }

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

// WorkOf returns the work of a title and a description.
func WorkOf(title, description string) Work {
	inTitle := telling(title)
	words := append(telling(cut(description, longestWork)), inTitle...)
	if len(words) == 0 {
		words = allWords(title + " " + description)
	}
	w := Work{title: setOf(inTitle), words: setOf(words)}
	if len(w.title) == 0 {
		w.title = w.words
	}
	return w
}

// otherTitle is the factor of a title with a word that the other text lacks: "page the orders" and "page the users" differ
// in one word, and are two pieces of work.
const otherTitle = 0.5

// Similarity returns the similarity of two works, 0 to 1: the share of all distinctive words that both texts have.
func (w *Work) Similarity(o *Work) float64 {
	if len(w.words) == 0 || len(o.words) == 0 {
		return float64(count(len(w.words) == len(o.words)))
	}
	shared := shares(w.words, o.words)
	alike := float64(shared) / float64(len(w.words)+len(o.words)-shared)
	if shares(w.title, o.words) < len(w.title) || shares(o.title, w.words) < len(o.title) {
		alike *= otherTitle
	}
	return alike
}

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

//nolint:gochecknoglobals // table
var common = map[string]bool{
	"a": true, "an": true, "as": true, "at": true, "be": true, "by": true, "do": true, "he": true, "i": true, "if": true, "in": true,
	"is": true, "it": true, "me": true, "my": true, "no": true, "of": true, "on": true, "or": true, "so": true, "to": true, "up": true,
	"we": true, "am": true, "d": true, "ll": true, "m": true, "re": true, "s": true, "t": true, "ve": true,
	"the": true, "and": true, "for": true, "with": true, "that": true, "this": true, "from": true, "into": true, "all": true, "new": true,
	"are": true, "not": true, "has": true, "have": true, "its": true, "should": true, "must": true, "when": true, "where": true, "which": true,
	"add": true, "make": true, "use": true, "fix": true, "please": true, "can": true, "will": true, "but": true, "only": true, "one": true,
}

// Link joins two similar works by their indexes; A is less than B.
type Link struct {
	A, B       int
	Similarity float64
}

// Links returns for each work the most similar earlier one that is nearly equal, most similar first.
func Links(works []Work) []Link {
	var all []Link
	for k := range works {
		best := Link{B: k}
		for i := range works[:k] {
			if alike := works[i].Similarity(&works[k]); alike > best.Similarity {
				best.A, best.Similarity = i, alike
			}
		}
		if best.Similarity >= SimilarityThreshold {
			all = append(all, best)
		}
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
	Title       string `json:"title"`
	Description string `json:"description"`
}

// Match is an open work that a new work repeats, in the opinion of a model.
type Match struct {
	At         int     `json:"number"` // index into the open works
	Similarity float64 `json:"similarity_score"`
	Work       string  `json:"work_description"` // one sentence: the common work
	Confidence float64 `json:"confidence"`
}

// DuplicateSimilarity is the similarity that a model's answer must exceed to count as a duplicate, as in OmoiOS.
const DuplicateSimilarity = 0.7

// Sure reports whether the works are the same, and the model's confidence suffices.
func (m Match) Sure() bool { return m.Similarity > DuplicateSimilarity && m.Confident() }

// Confident reports whether the model's confidence suffices.
func (m Match) Confident() bool { return m.Confidence >= DefaultSettings().Confidence }

// MostTitles is the maximum number of open works with which a model compares a new one.
const MostTitles = 100

// Finder finds with a language model, in one call, the open works that a new work repeats. The open works are given by
// their titles. The usage is returned with an error too.
type Finder interface {
	FindDuplicates(ctx context.Context, work WorkText, open []string) ([]Match, ModelUse, error)
}
