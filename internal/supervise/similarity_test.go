package supervise_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/omoi-dev/omoi/internal/supervise"
)

func works(texts ...[2]string) []supervise.Work {
	var list []supervise.Work
	for _, t := range texts {
		list = append(list, supervise.WorkOf(t[0], t[1]))
	}
	return list
}

func TestSimilarity(t *testing.T) {
	t.Parallel()
	like := func(a, b supervise.Work) float64 { return a.Similarity(&b) }
	limit := supervise.WorkOf("Limit logins", "Answer 429 beyond 5 logins a minute.")
	require.InDelta(t, 1, like(limit, limit), 1e-9)
	pattern := works([2]string{"Page the orders", "Page them by 50."}, [2]string{"Page the users", "Page them by 50."})
	require.Less(t, like(pattern[0], pattern[1]), supervise.SimilarityThreshold, "one pattern of words, two pieces of work")
	opposite := works([2]string{"Add caching to the search", "Cache the search in Redis."}, [2]string{"Remove caching from the search", "No cache in Redis."})
	require.Less(t, like(opposite[0], opposite[1]), supervise.SimilarityThreshold)
	require.Zero(t, like(limit, supervise.WorkOf("Write a poem", "")))
	require.InDelta(t, like(limit, pattern[0]), like(pattern[0], limit), 1e-9, "the order says nothing")

	reworded := works([2]string{"Crash on empty cart at checkout", ""}, [2]string{"Checkout: empty cart crashes", ""})
	require.InDelta(t, 1, like(reworded[0], reworded[1]), 1e-9, "order and endings of words say nothing")
	other := works([2]string{"Dark mode for the settings page", ""}, [2]string{"Night theme for the preferences", ""})
	require.Less(t, like(other[0], other[1]), supervise.SimilarityThreshold, "the same work in other words needs a model")
}

// Texts of one pattern differ in short words and numbers.
func TestSimilarity_ShortWords(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"Translate the checkout page of the shop into FR", "Translate the checkout page of the shop into DE"},
		{"Translate it into FR", "Translate it into US"},
		{"Show prices in EU and UK for the whole catalogue page", "Show prices in EU and US for the whole catalogue page"},
		{"Move the backend from Go to C", "Move the backend from Go to R"},
		{"Upgrade the payment client of the shop to version 3", "Upgrade the payment client of the shop to version 4"},
	} {
		list := works([2]string{pair[0], "As the last time, with tests."}, [2]string{pair[1], "As the last time, with tests."})
		require.Less(t, list[0].Similarity(&list[1]), supervise.SimilarityThreshold, "%v", pair)
		same := works([2]string{pair[0], "As the last time."}, [2]string{pair[0], "As the last time."})
		require.InDelta(t, 1, same[0].Similarity(&same[1]), 1e-9)
	}
	list := works([2]string{"Is it an error in the list of orders?", ""}, [2]string{"An error in it: list the orders", ""})
	require.InDelta(t, 1, list[0].Similarity(&list[1]), 1e-9, "common ones say nothing")
}

func TestSimilarity_WithoutDistinctiveWords(t *testing.T) {
	t.Parallel()
	list := works([2]string{"Do it", ""}, [2]string{"Do it!", ""}, [2]string{"Do so", ""})
	require.Equal(t, []supervise.Link{{A: 0, B: 1, Similarity: 1}}, supervise.Links(list))
}

func TestSimilarity_PunctuationOnly(t *testing.T) {
	t.Parallel()
	list := works([2]string{"...", ""}, [2]string{"!!!", ""}, [2]string{" ...", ""}, [2]string{"🚀", ""})
	require.Equal(t, []supervise.Link{{A: 0, B: 2, Similarity: 1}}, supervise.Links(list))
	require.Zero(t, list[0].Similarity(&list[1]))
}

// Each work has one link, to the most similar earlier one.
func TestLinks(t *testing.T) {
	t.Parallel()
	list := works(
		[2]string{"Export invoices as CSV", "All invoices of a month, with a header and in UTF-8."}, [2]string{"Rotate the keys", "Of integrations."},
		[2]string{"Export invoices as CSV", "All invoices of a month, with a header and UTF-8."}, [2]string{"Export invoices as CSV", "All invoices of a month, with a header."},
	)
	links := supervise.Links(list)
	require.Equal(t, supervise.Link{A: 0, B: 2, Similarity: 1}, links[0], "the most alike first")
	require.Len(t, links, 1, "a missing word in eight is another text")
}

// mixed returns n works, a few of them the same.
func mixed(n int) []supervise.Work {
	verbs := []string{"Cache", "Page", "Sort", "Export", "Translate", "Validate", "Log"}
	things := []string{"orders", "users", "invoices", "teams", "carts", "sessions", "refunds", "labels", "webhooks", "coupons", "reports"}
	var list []supervise.Work
	for i := range n {
		verb, thing, place := verbs[i%len(verbs)], things[i*i%len(things)], things[i%len(things)]
		list = append(list, supervise.WorkOf(fmt.Sprintf("%s the %s of %s", verb, thing, place),
			fmt.Sprintf("People ask for it: %s %s in module %d, with tests and a line in the documentation of %s.", verb, thing, i%5, place)))
	}
	return list
}

// BenchmarkLinks compares 1,000 works of one project.
func BenchmarkLinks(b *testing.B) {
	for name, list := range map[string][]supervise.Work{"mixed": mixed(1000), "the same": same(1000)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				supervise.Links(list)
			}
		})
	}
}

func same(n int) []supervise.Work {
	var list []supervise.Work
	for range n {
		list = append(list, supervise.WorkOf("Mend the build", "The build of the main branch fails since the upgrade. Mend it."))
	}
	return list
}

// A fleet with one common work has one link for each agent.
func TestLinks_ManySimilarWorks(t *testing.T) {
	t.Parallel()
	links := supervise.Links(same(1000))
	require.Len(t, links, 999)
	for _, l := range links {
		require.Zero(t, l.A, "all with the first")
	}
}
