package supervise

import (
	"cmp"
	"slices"
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
