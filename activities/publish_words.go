package activities

import (
	"regexp"
	"strings"
)

// gap is a space that nobody sees: it parts what would act at a git host from what is read. It does so in code as well, where an
// escape would show.
const gap = "\u200b"

var (
	// closing are the words that close an issue, wherever they stand.
	closing = regexp.MustCompile(`(?i)close[sd]?|fix(?:es|ed)?|resolve[sd]?`)
	// issue is an issue right behind such a word: between them is no letter or digit, but for the words of a link.
	issue = regexp.MustCompile(`(?i)^[^\p{L}\p{N}#]*(?:\[[^\]]{0,300}\][^\p{L}\p{N}#]*)?(?:[\w.\\-]+/[\w.\\-]+)?(?:#\d|gh\W?\d|https?\W)`)
)

// plainText is a text of a person or an agent, which shows as it was written: it cannot end or fake the marks of ours, nor hide what follows it.
func plainText(text string, limit int) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimSpace(text))
	for _, begin := range []string{"<", "&", "![", "[^", "[!"} { // HTML, entities, images, footnotes, notices
		text = strings.ReplaceAll(text, begin, begin[:1]+gap+begin[1:])
	}
	return cutRunes(text, limit)
}

// agentText is what an agent says, or somebody at the pull request. It calls nobody, and closes no issue: what omoi writes speaks with omoi's rights.
func agentText(text string, limit int) string {
	return plainText(strings.ReplaceAll(unclosing(text), "@", "@"+gap), limit)
}

// unclosing parts the words that would close an issue.
func unclosing(text string) string {
	var b strings.Builder
	done := 0
	for _, at := range closing.FindAllStringIndex(text, -1) {
		if issue.MatchString(text[at[1]:]) {
			b.WriteString(text[done:at[0]+1] + gap)
			done = at[0] + 1
		}
	}
	return b.String() + text[done:]
}

// quoted puts a text into a block quote: none of its fences, headings and lists reaches beyond it.
func quoted(text string, limit int) string {
	if text == "" {
		return ""
	}
	return strings.TrimSuffix(cutRunes("> "+strings.ReplaceAll(text, "\n", "\n> "), limit), "\n…")
}
