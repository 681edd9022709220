package supervise_test

import (
	"fmt"
	"strings"
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

func TestWorkIsAlikeByWhatItIsAbout(t *testing.T) {
	t.Parallel()
	like := func(a, b supervise.Work) float64 { return a.Like(&b) }
	limit := supervise.WorkOf("Limit logins", "Answer 429 beyond 5 logins a minute.")
	require.InDelta(t, 1, like(limit, limit), 1e-9)
	pattern := works([2]string{"Page the orders", "Page them by 50."}, [2]string{"Page the users", "Page them by 50."})
	require.Less(t, like(pattern[0], pattern[1]), supervise.Alike, "one pattern of words, two pieces of work")
	opposite := works([2]string{"Add caching to the search", "Cache the search in Redis."}, [2]string{"Remove caching from the search", "No cache in Redis."})
	require.Less(t, like(opposite[0], opposite[1]), supervise.Alike)
	require.Zero(t, like(limit, supervise.WorkOf("Write a poem", "")))
	require.InDelta(t, like(limit, pattern[0]), like(pattern[0], limit), 1e-9, "the order says nothing")

	a := supervise.WorkOf("Sign in with Google", "OAuth", "src/login.go")
	same, other := supervise.WorkOf("Google login", "By OAuth", "/srv/box/workspace/src/login.go"), supervise.WorkOf("Google login", "By OAuth", "src/docs.go")
	require.Greater(t, like(a, same), like(a, other), "files speak where both have changed some")
}

// Who is told not to do something is told the opposite of who is told to; a symptom is the same, however it is worded.
func TestAnOrderIsNotLikeItsRefusal(t *testing.T) {
	t.Parallel()
	for title, opposite := range map[string]string{
		"Fix the login page of the shop":         "Do not fix the login page of the shop",
		"Login page of the shop is broken":       "Don't touch the login page of the shop, it is broken",
		"Remove the cache of the search":         "Do not remove the cache of the search",
		"Add a header to the export of invoices": "Don’t add a header to the export of invoices",
	} {
		list := works([2]string{title, ""}, [2]string{opposite, ""})
		require.Less(t, list[0].Like(&list[1]), supervise.Alike, opposite)
		require.InDelta(t, list[0].Like(&list[1]), list[1].Like(&list[0]), 1e-9)
		require.InDelta(t, 1, list[1].Like(&list[1]), 1e-9, "two refusals are the same")
	}
	for title, same := range map[string]string{
		"Crash on an empty cart at checkout":           "Do not crash on an empty cart at checkout",
		"Crash on the empty cart at checkout":          "Avoid crashing on the empty cart at checkout",
		"The export does not work on Mondays":          "Fix the export: it does not work on Mondays",
		"Checkout must not lose the empty basket":      "Do not lose the empty basket at checkout",
		"Invoices change after they were sent":         "Do not change invoices after they were sent",
		"Sent invoices are changed by the nightly job": "Sent invoices must not be changed by the nightly job",
		"Payments do not retry after a timeout":        "Retry payments after a timeout",
		"Fix the change of invoices after sending":     "Do not change invoices after sending",
		"Cache results of the search":                  "Cache results of the search, but do not cache errors",
		"Mend the login page of the shop":              "Mend the login page of the shop, don't touch the cart",
		"Stop retrying payments after a timeout":       "We should not retry payments after a timeout",
	} {
		list := works([2]string{title, ""}, [2]string{same, ""})
		require.GreaterOrEqual(t, list[0].Like(&list[1]), supervise.Alike, same)
		require.InDelta(t, list[0].Like(&list[1]), list[1].Like(&list[0]), 1e-9)
	}
}

// A negation turns an order round wherever it stands.
func TestEveryFormOfARefusalIsOne(t *testing.T) {
	t.Parallel()
	const about = "What we export of payments after a timeout."
	for _, order := range []string{"Export payments after a timeout", "Please export payments after a timeout", "Payments should be exported after a timeout", "We must export payments after a timeout"} {
		for _, refusal := range []string{
			"Do not export payments after a timeout", "Don't export payments after a timeout", "Don’t ever export payments after a timeout", "Dont export payments after a timeout",
			"Please never export payments after a timeout", "After a timeout do not export payments", "After a timeout, never export payments",
			"You must not export payments after a timeout", "We should not export payments after a timeout", "We shouldn't export payments after a timeout",
			"Payments must never be exported after a timeout", "Payments should no longer be exported after a timeout", "No longer export payments after a timeout",
			"Make sure not to export payments after a timeout", "Ensure that payments are not exported after a timeout", "Let's not export payments after a timeout",
			"Stop exporting payments after a timeout", "Avoid exporting payments after a timeout", "We should stop exporting payments after a timeout",
			"Handle a timeout of payments without exporting", "Payments: do not export after a timeout",
		} {
			list := works([2]string{order, about}, [2]string{refusal, about})
			require.Less(t, list[0].Like(&list[1]), supervise.Alike, "%s / %s", order, refusal)
			require.InDelta(t, list[0].Like(&list[1]), list[1].Like(&list[0]), 1e-9)
			require.InDelta(t, 1, list[1].Like(&list[1]), 1e-9)
		}
	}
	list := works([2]string{"Cache the search of products", ""}, [2]string{"Stop caching the search of products", ""}, [2]string{"Drop the search of products", ""}, [2]string{"Avoid dropping the search of products", ""})
	require.Less(t, list[0].Like(&list[1]), supervise.Alike, "cache, caching")
	require.Less(t, list[2].Like(&list[3]), supervise.Alike, "drop, dropping")
}

// Short words and numbers are what texts of one pattern differ in.
func TestShortWordsTellWorksApart(t *testing.T) {
	t.Parallel()
	for _, pair := range [][2]string{
		{"Translate the checkout page of the shop into FR", "Translate the checkout page of the shop into DE"},
		{"Translate it into IT", "Translate it into US"},
		{"Show prices in EU and UK for the whole catalogue page", "Show prices in EU and US for the whole catalogue page"},
		{"Move the backend from Go to C", "Move the backend from Go to R"},
		{"Upgrade the payment client of the shop to version 3", "Upgrade the payment client of the shop to version 4"},
	} {
		list := works([2]string{pair[0], "As the last time, with tests."}, [2]string{pair[1], "As the last time, with tests."})
		require.Less(t, list[0].Like(&list[1]), supervise.Alike, "%v", pair)
		same := works([2]string{pair[0], "As the last time."}, [2]string{pair[0], "As the last time."})
		require.InDelta(t, 1, same[0].Like(&same[1]), 1e-9)
	}
	list := works([2]string{"Is it an error in the list of orders?", ""}, [2]string{"An error of us: list the orders", ""})
	require.InDelta(t, 1, list[0].Like(&list[1]), 1e-9, "common ones say nothing")
}

func TestWithoutATellingWordOnlyTheSameIsTheSame(t *testing.T) {
	t.Parallel()
	list := works([2]string{"Do it", ""}, [2]string{"Do it!", ""}, [2]string{"Do so", ""})
	require.Equal(t, []supervise.Link{{A: 0, B: 1, Likeness: 1}}, supervise.Links(list, supervise.Alike, 1))
}

func TestSignsAloneAreComparedAsTheyStand(t *testing.T) {
	t.Parallel()
	list := works([2]string{"...", ""}, [2]string{"!!!", ""}, [2]string{" ...", ""}, [2]string{"🚀", ""})
	require.Equal(t, []supervise.Link{{A: 0, B: 2, Likeness: 1}}, supervise.Links(list, supervise.Alike, 1))
	require.Zero(t, list[0].Like(&list[1]))
}

// Capitals make a code of a short word only where other words are not in capitals too.
func TestATitleInCapitalsIsLikeTheSameInSmallLetters(t *testing.T) {
	t.Parallel()
	const title, one, other = "Clean up the list of orders", "It has grown for years.", "Old entries hide what matters."
	small := works([2]string{title, one}, [2]string{title, other})
	loud := works([2]string{strings.ToUpper(title), one}, [2]string{strings.ToUpper(title), other})
	require.InDelta(t, small[0].Like(&small[1]), loud[0].Like(&loud[1]), 1e-9)
	require.InDelta(t, 1, small[0].Like(&loud[0]), 1e-9)
	codes := works([2]string{"US", ""}, [2]string{"IT", ""}, [2]string{"it", ""})
	require.Zero(t, codes[0].Like(&codes[1]))
	require.Zero(t, codes[1].Like(&codes[2]), "a code alone stays one")
}

// Many of one kind are one link each, and who is like none of them has none.
func TestLinksGoToTheMostAlikeBefore(t *testing.T) {
	t.Parallel()
	list := works(
		[2]string{"Export invoices as CSV", "All invoices of a month."}, [2]string{"Rotate the keys", "Of integrations."},
		[2]string{"Export invoices as CSV", "All invoices of a year, with a header."}, [2]string{"Export invoices as CSV", "All invoices of a year, with a header."},
	)
	links := supervise.Links(list, supervise.Alike, 1)
	require.Len(t, links, 2)
	require.Equal(t, [2]int{2, 3}, [2]int{links[0].A, links[0].B}, "the most alike first")
	require.InDelta(t, 1, links[0].Likeness, 1e-9)
	require.Equal(t, [2]int{0, 2}, [2]int{links[1].A, links[1].B})
	require.Len(t, supervise.Links(list, supervise.Alike, 2), 3)
}

// What leads to candidates leaves out nothing that comparing each with each would find.
func TestLinksMissNothing(t *testing.T) {
	t.Parallel()
	list := mixed(90)
	all := 0
	for i := range list {
		for k := range list[:i] {
			if list[k].Like(&list[i]) >= supervise.Alike {
				all++
			}
		}
	}
	require.Positive(t, all)
	require.Len(t, supervise.Links(list, supervise.Alike, len(list)), all)
}

// mixed is n works about some things in some places, a few of them the same.
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
				supervise.Links(list, supervise.Alike, 1)
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

// A fleet that does one and the same is not compared each with each.
func TestManyOfOneKindAreOneLinkEach(t *testing.T) {
	t.Parallel()
	links := supervise.Links(same(1000), supervise.Alike, 1)
	require.Len(t, links, 999)
	for _, l := range links {
		require.Zero(t, l.A, "all with the first")
	}
}
