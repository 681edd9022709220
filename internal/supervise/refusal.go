package supervise

import (
	"slices"
	"strings"
)

// refusal answers what a clause forbids; whole: all of it does, and not only a "without".
func refusal(words []string) (refused string, whole bool) {
	for i, word := range words {
		next, before := after(words[i+1:]), words[:i]
		switch {
		case next == "":
		case negations[word] && binds(before, word), stops[word] && isDoing(next) && starts(before):
			return verb(next), true
		case word == "without" && isDoing(next):
			refused = verb(next)
		}
	}
	return refused, false
}

// binds reports whether a negation behind some words is an order, and not what happens: "payments do not arrive".
func binds(before []string, negation string) bool {
	if len(before) == 0 {
		return negation != "not"
	}
	first, last := before[0], before[len(before)-1]
	return modals[last] || ensures[first] || last == "do" && (len(before) == 1 || leads[first])
}

// starts reports whether an order begins behind some words.
func starts(before []string) bool { return len(before) == 0 || modals[before[len(before)-1]] }

// wanted is the first word of a clause, and what follows a must.
func wanted(words []string) []string {
	var out []string
	for i, word := range words {
		if i == 0 {
			out = append(out, verb(word))
		}
		if modals[word] {
			out = append(out, verb(after(words[i+1:])))
		}
	}
	return out
}

// after is the first word that is no mere link: to be retried, retried.
func after(words []string) string {
	if i := slices.IndexFunc(words, func(word string) bool { return !links[word] }); i >= 0 {
		return words[i]
	}
	return ""
}

// isDoing tells retrying from retry, and from string.
func isDoing(word string) bool { return strings.HasSuffix(word, "ing") && verb(word) != word }

// verb is a word in a form that all forms of a regular verb have: retry, retried, retrying; cache, caching; drop, dropped.
func verb(word string) string {
	for _, end := range []string{"ing", "ed", "es", "s"} {
		short, ok := strings.CutSuffix(word, end)
		if ok && len(short) > 1 && strings.ContainsAny(short, "aeiouy") && !strings.HasSuffix(word, "eed") {
			word = short
			break
		}
	}
	if short, ok := strings.CutSuffix(word, "i"); ok {
		return short + "y"
	}
	word = strings.TrimRight(word, "e")
	if n := len(word); n > 2 && word[n-1] == word[n-2] {
		word = word[:n-1]
	}
	return word
}

//nolint:gochecknoglobals // tables; the first two in the form of verb
var (
	mending = map[string]bool{
		"fix": true, "mend": true, "repair": true, "solv": true, "chang": true, "touch": true, "edit": true, "rewrit": true,
		"refactor": true, "implement": true, "work": true, "improv": true, "updat": true,
	}
	symptoms = map[string]bool{
		"crash": true, "fail": true, "hang": true, "panic": true, "leak": true, "break": true, "freez": true, "los": true, "block": true,
	}
	negations = map[string]bool{"not": true, "never": true, "dont": true}
	modals    = map[string]bool{"must": true, "should": true, "shall": true, "ought": true}
	stops     = map[string]bool{"stop": true, "avoid": true, "quit": true, "cease": true, "prevent": true}
	ensures   = map[string]bool{"ensure": true, "make": true, "let": true, "be": true}
	polite    = map[string]bool{"please": true, "kindly": true, "just": true, "but": true, "and": true, "so": true, "then": true}
	leads     = map[string]bool{"after": true, "on": true, "upon": true, "during": true, "before": true, "in": true, "at": true, "for": true}
	links     = map[string]bool{"to": true, "be": true, "ever": true, "again": true, "get": true, "we": true, "you": true}
)
