package supervise

import (
	"cmp"
	"math"
	"slices"
)

// Link joins two works that are alike, by their places in a list; A stands before B.
type Link struct {
	A, B       int
	Similarity float64
}

// mostNear bounds with how many others a work is compared: the earlier ones go first.
const mostNear = 100

// Links answers for each work those before it that are most like it, at most each of them, and
// by least or more; the most alike pairs first. Many of one kind give one link for each of them
// and not one for each pair.
//
// It does not compare each with each. Nothing is alike of whose title the other's text has not
// half the words, so the rarest words of a title, one more than may be missing, lead to all that
// may be alike; of those it looks at the first hundred.
func Links(works []Work, least float64, each int) []Link {
	found := make([][]Link, len(works))
	index := indexOf(works)
	done := map[[2]int]bool{}
	for i := range works {
		for _, k := range index.near(&works[i], i) {
			pair := [2]int{min(i, k), max(i, k)}
			if done[pair] {
				continue
			}
			done[pair] = true
			if alike := works[pair[0]].Similarity(&works[pair[1]]); alike >= least {
				found[pair[1]] = append(found[pair[1]], Link{pair[0], pair[1], alike})
			}
		}
	}
	var all []Link
	for _, links := range found {
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

// index tells which works have a word.
type index struct {
	words map[uint64][]int
	plain map[string][]int // of works without a telling word
}

func indexOf(works []Work) index {
	x := index{words: map[uint64][]int{}, plain: map[string][]int{}}
	for i := range works {
		for _, word := range works[i].words {
			x.words[word] = append(x.words[word], i)
		}
		if len(works[i].words) == 0 {
			x.plain[works[i].plain] = append(x.plain[works[i].plain], i)
		}
	}
	return x
}

// near answers the works whose text may cover enough of a title.
func (x index) near(w *Work, self int) []int {
	if len(w.words) == 0 {
		return others(x.plain[w.plain], self)
	}
	title := slices.Clone(w.title)
	slices.SortFunc(title, func(a, b uint64) int {
		return cmp.Or(cmp.Compare(len(x.words[a]), len(x.words[b])), cmp.Compare(a, b))
	})
	needed := int(math.Ceil(leastCovered * float64(len(title))))
	var near []int
	for _, word := range title[:len(title)-needed+1] {
		near = append(near, others(x.words[word], self)...)
	}
	slices.Sort(near)
	near = slices.Compact(near)
	return near[:min(len(near), mostNear)]
}

// others are the first of a list, and not self.
func others(list []int, self int) []int {
	out := make([]int, 0, min(len(list), mostNear+1))
	for _, one := range list[:min(len(list), mostNear+1)] {
		if one != self {
			out = append(out, one)
		}
	}
	return out
}
