package supervise

import "strings"

// refuses reports whether a work forbids what another one wants: do not retry, and retry. That something is not to be mended
// or changed is the opposite of every work on it; but "do not crash" is no order that could be turned round.
func (w *Work) refuses(o *Work) bool {
	return w.refused != "" && o.refused == "" && (w.refused == o.order && !symptoms[w.refused] || orders[w.refused])
}

// orderOf answers what a title tells to do, or what it tells not to do.
func orderOf(title string) (order, refused string) {
	words := wordsIn(strings.ToLower(title))
	if len(words) > 0 && words[0] == "please" {
		words = words[1:]
	}
	for _, not := range [][]string{{"do", "not"}, {"don", "t"}, {"dont"}, {"never"}} {
		if rest, ok := behind(words, not); ok {
			return "", stem(rest[0])
		}
	}
	if len(words) == 0 {
		return "", ""
	}
	return stem(words[0]), ""
}

// behind answers what follows some words; not ok where nothing does.
func behind(words, first []string) ([]string, bool) {
	if len(words) <= len(first) {
		return nil, false
	}
	for i, word := range first {
		if words[i] != word {
			return nil, false
		}
	}
	return words[len(first):], true
}

//nolint:gochecknoglobals // tables, of stems
var (
	orders = map[string]bool{
		"fix": true, "mend": true, "repair": true, "solve": true, "change": true, "touch": true, "edit": true, "rewrite": true,
		"refactor": true, "implement": true, "work": true, "improve": true, "update": true,
	}
	symptoms = map[string]bool{
		"crash": true, "fail": true, "hang": true, "panic": true, "leak": true, "break": true, "freeze": true, "lose": true, "block": true,
	}
)
