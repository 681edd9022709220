package activities

import "regexp"

// gap is a space that nobody sees: it parts what would act at a git host from what is read.
const gap = "\u200b"

var (
	mention = regexp.MustCompile(`@([A-Za-z0-9])`)
	closing = regexp.MustCompile(`(?i)\b(close[sd]?|fix(?:es|ed)?|resolve[sd]?)(:?\s+)((?:[\w.-]+/[\w.-]+)?#\d|gh-\d|https?://)`)
)

// agentText is what an agent says, or somebody at the pull request. It calls nobody, and closes no issue: what omoi writes speaks with omoi's rights.
func agentText(text string, limit int) string {
	text = closing.ReplaceAllString(text, "${1}"+gap+"${2}${3}")
	return plainText(mention.ReplaceAllString(text, "@"+gap+"${1}"), limit)
}
