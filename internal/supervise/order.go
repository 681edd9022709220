package supervise

import "strings"

// orders are what a title wants done and what it forbids, in the form that [verb] gives to words.
type orders struct {
	asked   set    // what is to be done, as far as the place of a word tells it
	says    set    // all words: one that is not asked for tells what happens
	refused string // what must not be done; empty: nothing is forbidden
	whole   bool   // the title forbids, and does not merely set a bound to what it wants
}

// refuse reports whether one title forbids what another one wants: do not retry, and retry. That something is not to be mended
// or changed is the opposite of every work on it. "Do not crash" is no order that could be turned round, and where the other
// title only says that something is done, both are about the same.
func (w *orders) refuse(o *orders) bool {
	verb := setOf([]string{w.refused})
	switch {
	case w.refused == "" || shares(verb, w.asked) > 0:
		return false
	case shares(verb, o.asked) > 0:
		return !symptoms[w.refused]
	}
	return w.whole && o.refused == "" && mending[w.refused] && shares(verb, o.says) == 0
}

// ordersOf reads a title clause by clause.
func ordersOf(title string) orders {
	var o orders
	var asked, says []string
	for i, words := range clauses(title) {
		refused, whole := refusal(words)
		if refused != "" && o.refused == "" {
			o.refused, o.whole = refused, i == 0 && whole
		}
		if !whole {
			asked = append(asked, wanted(words)...)
		}
		for _, word := range words {
			says = append(says, verb(word))
		}
	}
	o.asked, o.says = setOf(asked), setOf(says)
	return o
}

// clauses are the words of a title between its signs, negations in one form, without what only makes an order polite.
func clauses(title string) [][]string {
	title = strings.NewReplacer("n't", " not", "n’t", " not", "no longer", "never").Replace(strings.ToLower(title))
	var out [][]string
	for _, clause := range strings.FieldsFunc(title, func(r rune) bool { return strings.ContainsRune(",;:.!?()–—", r) }) {
		words := wordsIn(clause)
		for len(words) > 0 && polite[words[0]] {
			words = words[1:]
		}
		out = append(out, words)
	}
	return out
}
